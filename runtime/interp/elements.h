// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_INTERP_ELEMENTS_H
#define RILL_RUNTIME_INTERP_ELEMENTS_H

#include "interp.h"

enum { IR_MAX_AXES = 32 };

/* The extents that COUNT operands broadcast to, as NumPy does it. False with the two extents that clash. DIMS has room
 * for IR_MAX_AXES. */
bool ir_broadcast(size_t count, ir_object *const *operands, size_t *rank, int64_t *dims, int64_t clash[2]);
/* The result of OP, an element-wise operator; NULL after an error. */
ir_object *ir_run_elements(ir_interp *interp, ir_op *op, ir_dtype result, ir_object *const *operands);

#endif
