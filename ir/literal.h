// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_LITERAL_H
#define RILL_IR_LITERAL_H

#include "module.h"

/* Where the dtype of a bare literal (`2.0`, `-1`, `inf`) comes from. The parser gives literals their dtypes by these
 * rules, and the printer writes a constant bare exactly where they give its dtype back; else as a call: `f16(2.0)`.
 *
 * An expression is untyped where all leaves that could give it a dtype are bare literals. An untyped operand takes the
 * dtype of the first typed one that shares a dtype with it; where there is none, that of the context; where that says
 * nothing either, f32 if a literal in it is written as a float, else i64. Bools are always typed. */

typedef struct ir_literal_rule {
  int common;      /* operands from this one on share one dtype; -1: they do not */
  bool is_result;  /* which is the dtype of the result, too */
  ir_dtype others; /* the dtype of the other operands; IR_DTYPE_UNKNOWN: any */
} ir_literal_rule;

ir_literal_rule ir_literal_rule_of(ir_scalar_code code);

/* The dtype that an untyped operand K of an operation written as a call takes. TYPES holds the operands' types, NULL
 * where they are untyped; CALLEE (may be NULL) is the function called. IR_DTYPE_UNKNOWN: the default. */
ir_dtype ir_literal_operand(ir_opcode code, const ir_item *callee, size_t count, const ir_type *const *types, size_t k);

/* Of an untyped operand of a reducer (may be NULL: the value of a plain store). TARGETS are the types of the buffers
 * written to; CALLEE is the `reducer` item of a user's reducer. */
ir_dtype ir_literal_stored(const char *reducer, const ir_item *callee, size_t target_count,
                           const ir_type *const *targets, size_t k);

/* The parameter that argument K of a call-like operation is passed to; NULL where there is none. */
const ir_param *ir_called_param(ir_opcode code, const ir_func *callee, size_t k);

#endif
