// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_INTERP_NATIVE_H
#define RILL_RUNTIME_INTERP_NATIVE_H

#include "interp.h"

/* An operator that no tensor program computes, because the extents of its results depend on elements. */
typedef bool ir_native(ir_interp *interp, ir_op *op, ir_object *const *operands, ir_object **results);
/* NULL: CODE is no such operator. */
ir_native *ir_native_find(ir_opcode code);

#endif
