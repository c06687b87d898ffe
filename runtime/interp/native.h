// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_INTERP_NATIVE_H
#define RILL_RUNTIME_INTERP_NATIVE_H

#include "interp.h"

/* An operation whose results have extents that depend on elements; compiled code has it decomposed. */
typedef bool ir_native(ir_interp *interp, ir_op *op, ir_object *const *operands, ir_object **results);
/* NULL: OP is no such operation. */
ir_native *ir_native_find(const ir_op *op);

#endif
