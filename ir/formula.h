// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_FORMULA_H
#define RILL_IR_FORMULA_H

#include "expr.h"

/* Formulas: scalar expressions written as text in tables, such as the element of `nn.gelu` or an expansion of exp.
 *
 *   formula   = { name "=" expr ";" } expr
 *   expr      infix || && == != < <= > >= + - * / (as in the module text), prefix - and !, parentheses, names, numbers
 *   numbers   1, 0x3f, 0.5, 1e-5, 0x1.8p-3, inf, nan, true, false
 *   calls     of scalar operators by name: select(c, a, b), mad(a, b, c), floordiv(a, b), exp(x), ...
 *             of a dtype, or T for the formula's dtype: f32(e) casts; bitcast(i32, e) keeps the bits
 *
 * A number takes its dtype from the other operands of its operator, where one has a dtype, else the formula's. */
typedef struct ir_formula_input {
  const char *name;
  const ir_expr *value;
} ir_formula_input;

/* The expression that TEXT means for the dtype T of numbers that nothing else decides. Nothing is simplified, except
 * that the minus of a number belongs to it and that casts of constants are done. A text that is no formula is an error
 * in a table of ours: it is reported, and the result is NULL. Results are remembered by text, dtype and inputs. */
const ir_expr *ir_formula(ir_context *context, const char *text, ir_dtype dtype, const ir_formula_input *inputs,
                          size_t count);

/* The expansion (ir/expand.def) of CALL, an EXPANDED operator applied to its operand: a graph of EXACT operators, in
 * which common parts are shared. f16, bf16 and f8 expand in f32. NULL where CALL is no EXPANDED operator or there is no
 * expansion for its dtype. */
const ir_expr *ir_expand(ir_context *context, const ir_expr *call);

#endif
