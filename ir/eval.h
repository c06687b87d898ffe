// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_EVAL_H
#define RILL_IR_EVAL_H

#include "expr.h"

/* The one definition of what scalar operators compute. Elements are bits as in ir/dtype.h: in the low bits, the rest
 * zero. OPERAND is the dtype of the operands (of SELECT and GUARD: of the two that follow the condition), RESULT that
 * of the result, which only CAST and BITCAST need. FMA says whether MAD on floats is fused.
 *
 * f16, bf16 and f8 compute in f32 and round once; their fma is the f32 fma rounded once. Integers wrap, x / 0 = 0 and
 * x mod 0 = 0. EXPANDED operators go through their expansion (ir/formula.h).
 * False where there is nothing to compute: leaves, BROADCAST and RAMP (whose operands are numbers already), and an
 * EXPANDED operator without an expansion for the dtype. */
bool ir_scalar_eval(ir_context *context, ir_scalar_code code, ir_dtype operand, ir_dtype result, bool fma,
                    const uint64_t *operands, uint64_t *value);

/* The constant that EXPR, an operator applied to constants, always yields; EXPR itself where it is no such thing, where
 * i64 arithmetic overflows, where checked execution would refuse it (division by zero), and where the value depends on
 * an attribute of the module (EXPANDED operators; MAD where fusing matters). */
const ir_expr *ir_expr_fold(ir_context *context, const ir_expr *expr);

#endif
