// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_LINEAR_H
#define RILL_IR_LINEAR_H

#include "expr.h"

/* A product of atoms times a factor. Atoms are expressions that are no sums or products themselves, in ir_expr_order.
 */
typedef struct ir_term {
  int64_t factor; /* not 0 */
  uint32_t degree;
  const ir_expr *const *atoms;
} ir_term;

/* A sum of terms (distinct, in the order of ir_term_order) and a constant: integer expressions in normal form. As
 * integer arithmetic wraps, such a form stands for the expression it came from whatever the values are; as a statement
 * about mathematical integers it may only be read where its span fits the dtype (ir_simplifier, ir/simplify_rules.h).
 */
typedef struct ir_linear {
  ir_dtype dtype;
  uint16_t lanes;
  uint32_t count;
  int64_t constant;
  ir_term *terms;
} ir_linear;

enum { IR_LINEAR_MAX_TERMS = 24, IR_LINEAR_MAX_PRODUCT = 8, IR_LINEAR_MAX_DEGREE = 8 };

/* A total order of expressions that depends on their structure only: arguments by number, symbols by name, then the
 * rest; constants come last. 0 for the same expression. */
int ir_expr_order(const ir_expr *a, const ir_expr *b);
int ir_term_order(const ir_term *a, const ir_term *b);

const ir_linear *ir_linear_const(ir_arena *arena, ir_dtype dtype, unsigned lanes, int64_t value);
const ir_linear *ir_linear_atom(ir_arena *arena, const ir_expr *expr);
/* x * a + y * b; NULL where a factor overflows 64 bits or the form grows too large. */
const ir_linear *ir_linear_combine(ir_arena *arena, const ir_linear *a, int64_t x, const ir_linear *b, int64_t y);
const ir_linear *ir_linear_product(ir_arena *arena, const ir_linear *a, const ir_linear *b);
const ir_linear *ir_linear_add_const(ir_arena *arena, const ir_linear *a, int64_t value);
/* A form of the given terms, and nothing else. */
const ir_linear *ir_linear_terms(ir_arena *arena, const ir_linear *like, uint32_t count, const ir_term *terms,
                                 int64_t constant);
/* QUOTIENT with dividend = divisor * quotient + REST, by long division of polynomials; false on overflow. */
bool ir_linear_divide(ir_arena *arena, const ir_linear *dividend, const ir_linear *divisor, const ir_linear **quotient,
                      const ir_linear **rest);
const ir_linear *ir_linear_copy(ir_arena *arena, const ir_linear *form);
static inline bool ir_linear_is_const(const ir_linear *form) { return !form->count; }
/* The greatest common divisor of the factors, without the constant; 0 where there are no terms. */
int64_t ir_linear_gcd(const ir_linear *form);
int64_t ir_gcd_i64(int64_t a, int64_t b); /* not negative; MIN counts as not divisible (gives 1) */
/* The factor of the term with these atoms, or 0. */
int64_t ir_linear_factor(const ir_linear *form, const ir_term *atoms);
/* All factors and the constant can be written as constants of the dtype, possibly negated. */
bool ir_linear_fits_dtype(const ir_linear *form);

/* The expression that is written for FORM: `n * 2 - m + 1`. */
const ir_expr *ir_linear_expr(ir_context *context, const ir_linear *form);

#endif
