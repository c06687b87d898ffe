// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_ELEMENT_H
#define RILL_IR_ELEMENT_H

#include "op.h"

/* One element of the result of OP, an element-wise operator (its row has `element`), from one element of each operand,
 * each of the operand's dtype. RESULT is the dtype of the result.
 *
 * f16, bf16 and f8 compute in f32 and are rounded once, where the operator rounds at all; otherwise the expression stays
 * in the dtype, so that moving and comparing keep every bit. NULL, after a report, where the row's text is at fault. */
const ir_expr *ir_element(ir_context *context, const ir_op *op, ir_dtype result, const ir_expr *const *operands);

#endif
