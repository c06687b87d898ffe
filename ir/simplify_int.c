// SPDX-License-Identifier: Apache-2.0
/* ir/simplify_int.c - rules for sums, products and divisions of integers. A rule that splits a dividend needs its form
 * to be exact: where the sum could wrap, floordiv(n + 8, 8) is not floordiv(n, 8) + 1. Needs ir/span.c, ir/prove.c. */
#include "ir/simplify_rules.h"

#include "base/checked.h"

static bool is_integer(const ir_expr *expr) { return ir_is_integer((ir_dtype)expr->dtype); }
static const ir_linear *constant_like(ir_simplifier *s, const ir_linear *like, int64_t value) {
  return ir_linear_const(&s->arena, like->dtype, like->lanes, value);
}
static const ir_linear *sum_of(ir_simplifier *s, const ir_linear *a, int64_t x, const ir_linear *b, int64_t y) {
  return a && b ? ir_linear_combine(&s->arena, a, x, b, y) : NULL;
}

/* The only atom of FORM where FORM is nothing else. */
static const ir_expr *single_atom(const ir_linear *form) {
  bool single = form->count == 1 && form->terms[0].degree == 1 && form->terms[0].factor == 1 && !form->constant;
  return single ? form->terms[0].atoms[0] : NULL;
}

/* FORM without term I, plus FACTOR times what stands beside atom K of the term, times VALUE. */
static const ir_linear *replace_atom(ir_simplifier *s, const ir_linear *form, uint32_t i, uint32_t k, int64_t factor,
                                     const ir_linear *value) {
  const ir_term *term = &form->terms[i];
  const ir_expr **others = ir_new_array(&s->arena, const ir_expr *, term->degree);
  for (uint32_t a = 0, b = 0; a < term->degree; a++) {
    if (a != k) others[b++] = term->atoms[a];
  }
  ir_term beside = {.factor = factor, .degree = term->degree - 1, .atoms = others};
  const ir_linear *by =
      beside.degree ? ir_linear_terms(&s->arena, form, 1, &beside, 0) : constant_like(s, form, factor);
  const ir_linear *product = ir_linear_product(&s->arena, by, value);
  const ir_linear *removed = ir_linear_terms(&s->arena, form, 1, term, 0);
  return sum_of(s, sum_of(s, form, 1, removed, -1), 1, product, 1);
}

/* c * floordiv(x, c) + floormod(x, c) = x, and c * floordiv(x, c) = x - r where x = r (mod c). */
static const ir_linear *recombined(ir_simplifier *s, const ir_linear *form, uint32_t i, uint32_t k) {
  const ir_term *term = &form->terms[i];
  const ir_expr *atom = term->atoms[k];
  int64_t by = 0;
  bool number = atom->count == 2 && ir_is_number(atom->kids[1], &by);
  if (atom->code == IR_S_FLOORDIV && number && by > 1 && term->factor % by == 0) {
    ir_congruence c = ir_congruence_of(s, atom->kids[0]);
    if (c.modulus % by) return NULL;
    const ir_linear *value =
        ir_linear_add_const(&s->arena, ir_form_of(s, atom->kids[0]), -ir_floormod_i64(c.residue, by));
    return value ? replace_atom(s, form, i, k, term->factor / by, value) : NULL;
  }
  if (atom->code != IR_S_FLOORMOD || (!number && !ir_is_nonzero(s, atom->kids[1])) || (number && by <= 0)) return NULL;
  const ir_linear *quotient = ir_form_of(s, ir_make(s, IR_S_FLOORDIV, atom->kids[0], atom->kids[1]));
  const ir_linear *product = ir_linear_product(&s->arena, quotient, ir_form_of(s, atom->kids[1]));
  if (!single_atom(quotient) || !product) return NULL;
  /* The term as it is, with the quotient in the place of the remainder, and with the dividend there. */
  const ir_linear *one = ir_linear_terms(&s->arena, form, 1, term, 0);
  const ir_linear *other = replace_atom(s, one, 0, k, term->factor, product);
  const ir_linear *whole = replace_atom(s, one, 0, k, term->factor, ir_form_of(s, atom->kids[0]));
  if (!other || other->count != 1 || ir_linear_factor(form, &other->terms[0]) != other->terms[0].factor) return NULL;
  return sum_of(s, sum_of(s, sum_of(s, form, 1, one, -1), 1, other, -1), 1, whole, 1);
}

const ir_expr *ir_rule_linear(ir_simplifier *s, const ir_expr *expr) {
  if (!is_integer(expr)) return ir_rule_float(s, expr);
  const ir_linear *form = ir_form_of(s, expr);
  for (int changes = 0; changes < IR_LINEAR_MAX_TERMS; changes++) {
    const ir_linear *next = NULL;
    for (uint32_t i = 0; i < form->count && !next; i++) {
      for (uint32_t k = 0; k < form->terms[i].degree && !next; k++) next = recombined(s, form, i, k);
    }
    if (!next || !ir_linear_fits_dtype(next)) break;
    form = next;
  }
  return ir_linear_expr(s->context, form);
}

/* --- divisions --- */

/* DIVIDEND = by * quotient + rest, with the constant of rest in [0, by). */
static bool split(ir_simplifier *s, const ir_linear *dividend, int64_t by, const ir_linear **quotient,
                  const ir_linear **rest) {
  ir_term *whole = ir_new_array(&s->arena, ir_term, (size_t)dividend->count + 1);
  ir_term *left = ir_new_array(&s->arena, ir_term, (size_t)dividend->count + 1);
  uint32_t whole_count = 0, left_count = 0;
  for (uint32_t i = 0; i < dividend->count; i++) {
    ir_term term = dividend->terms[i];
    if (term.factor % by) {
      left[left_count++] = term;
    } else {
      term.factor /= by;
      whole[whole_count++] = term;
    }
  }
  *quotient = ir_linear_terms(&s->arena, dividend, whole_count, whole, ir_floordiv_i64(dividend->constant, by));
  *rest = ir_linear_terms(&s->arena, dividend, left_count, left, ir_floormod_i64(dividend->constant, by));
  return whole_count || (*quotient)->constant;
}

/* FORM / GCD rounded down: the factors divide. */
static const ir_linear *divided(ir_simplifier *s, const ir_linear *form, int64_t gcd) {
  ir_term *terms = ir_new_array(&s->arena, ir_term, (size_t)form->count + 1);
  for (uint32_t i = 0; i < form->count; i++) {
    terms[i] = form->terms[i];
    terms[i].factor /= gcd;
  }
  return ir_linear_terms(&s->arena, form, form->count, terms, ir_floordiv_i64(form->constant, gcd));
}

/* The quotient that all values of FORM divided by BY share. */
static bool same_quotient(ir_simplifier *s, const ir_linear *form, int64_t by, int64_t *quotient) {
  ir_span span = ir_span_of_form(s, form);
  ir_wide least = ir_wide_floordiv(span.least, by), most = ir_wide_floordiv(span.most, by);
  *quotient = (int64_t)least;
  return least == most && least == (ir_wide)*quotient;
}

static const ir_expr *quotient_by(ir_simplifier *s, const ir_linear *form, const ir_expr *expr, int64_t by) {
  return ir_make(s, IR_S_FLOORDIV, ir_make_form(s, form), ir_number_like(s, expr, by));
}

/* A form for floordiv(FORM, BY) that makes it a nested quotient: floordiv(floordiv(x, d) + k, c) = floordiv(x + k * d,
 * c * d). */
static const ir_expr *unnested(ir_simplifier *s, const ir_expr *expr, const ir_linear *form, int64_t by) {
  if (form->count != 1 || form->terms[0].factor != 1 || form->terms[0].degree != 1) return NULL;
  const ir_expr *inner = form->terms[0].atoms[0];
  int64_t inner_by, both, shift;
  if (inner->code != IR_S_FLOORDIV || !ir_is_number(inner->kids[1], &inner_by) || inner_by <= 0) return NULL;
  if (!ir_mul_i64(by, inner_by, &both) || !ir_mul_i64(form->constant, inner_by, &shift)) return NULL;
  if ((ir_wide)both > ir_dtype_span(form->dtype).most) return NULL;
  const ir_linear *dividend = ir_linear_add_const(&s->arena, ir_exact_form_of(s, inner->kids[0]), shift);
  if (!dividend || !ir_form_is_exact(s, dividend)) return NULL;
  return quotient_by(s, dividend, expr, both);
}

static const ir_expr *floordiv_by_number(ir_simplifier *s, const ir_expr *expr, int64_t by) {
  const ir_linear *form = ir_exact_form_of(s, expr->kids[0]), *quotient, *rest;
  if (split(s, form, by, &quotient, &rest) && ir_form_is_exact(s, rest)) {
    const ir_linear *last = ir_form_of(s, quotient_by(s, rest, expr, by));
    const ir_linear *sum = sum_of(s, quotient, 1, last, 1);
    return sum && ir_linear_fits_dtype(sum) ? ir_make_form(s, sum) : expr;
  }
  int64_t value;
  if (same_quotient(s, form, by, &value)) return ir_number_like(s, expr, value);
  int64_t gcd = ir_gcd_i64(ir_linear_gcd(form), by);
  if (gcd > 1) return quotient_by(s, divided(s, form, gcd), expr, by / gcd);
  const ir_expr *flat = unnested(s, expr, form, by);
  if (flat) return flat;
  /* With the terms a multiple of g, the constant counts in steps of g only. */
  const ir_linear *terms = ir_linear_terms(&s->arena, form, form->count, form->terms, 0);
  if (!ir_form_is_exact(s, terms) || form->constant <= 0) return expr;
  ir_congruence c = ir_congruence_of_form(s, terms);
  int64_t step = ir_gcd_i64(c.modulus, by);
  if (step <= 1 || c.residue % step || form->constant % step == 0) return expr;
  const ir_linear *even = ir_linear_add_const(&s->arena, terms, form->constant - form->constant % step);
  return quotient_by(s, even, expr, by);
}

/* The quotient where the divisor is no number: exact, or with a rest that is proven smaller than the divisor. */
static const ir_expr *divided_by_form(ir_simplifier *s, const ir_expr *expr, const ir_linear **rest) {
  const ir_linear *a = ir_exact_form_of(s, expr->kids[0]), *b = ir_exact_form_of(s, expr->kids[1]), *quotient;
  if (!ir_form_is_exact(s, b) || !ir_is_nonzero(s, expr->kids[1])) return NULL;
  if (!ir_linear_divide(&s->arena, a, b, &quotient, rest)) *rest = NULL;
  if (!*rest || !ir_form_is_exact(s, *rest)) return NULL;
  if (ir_linear_is_const(*rest) && !(*rest)->constant) return ir_make_form(s, quotient);
  if (!ir_form_not_negative(s, *rest)) return NULL;
  const ir_linear *room = sum_of(s, b, 1, *rest, -1);
  if (!room || !ir_form_not_negative(s, ir_linear_add_const(&s->arena, room, -1))) return NULL;
  return ir_make_form(s, quotient);
}

const ir_expr *ir_rule_floordiv(ir_simplifier *s, const ir_expr *expr) {
  int64_t by;
  if (!is_integer(expr)) return expr;
  if (ir_is_number(expr->kids[1], &by)) {
    if (by == 1) return expr->kids[0];
    if (by == -1) return ir_make_unary(s, IR_S_NEG, expr->kids[0]);
    return by > 0 ? floordiv_by_number(s, expr, by) : expr;
  }
  const ir_linear *rest = NULL;
  const ir_expr *quotient = divided_by_form(s, expr, &rest);
  return quotient ? quotient : expr;
}

/* FORM modulo BY without what is a multiple of it: whole terms, inner remainders, terms of a known remainder. */
static const ir_linear *remainder_form(ir_simplifier *s, const ir_linear *form, int64_t by) {
  const ir_linear *rest = constant_like(s, form, ir_floormod_i64(form->constant, by));
  for (uint32_t i = 0; rest && i < form->count; i++) {
    ir_term term = form->terms[i];
    ir_congruence c = ir_congruence_of_term(s, &term);
    if (c.modulus % by == 0) {
      rest = ir_linear_add_const(&s->arena, rest, ir_floormod_i64(c.residue, by));
      continue;
    }
    term.factor %= by;
    const ir_linear *part = ir_linear_terms(&s->arena, form, 1, &term, 0);
    int64_t inner_by, product;
    const ir_expr *atom = term.degree == 1 ? term.atoms[0] : NULL;
    if (atom && atom->code == IR_S_FLOORMOD && ir_is_number(atom->kids[1], &inner_by) && inner_by > 0 &&
        ir_mul_i64(term.factor, inner_by, &product) && product % by == 0) {
      const ir_linear *inner = ir_exact_form_of(s, atom->kids[0]);
      part = sum_of(s, inner, term.factor, constant_like(s, form, 0), 1);
    }
    rest = sum_of(s, rest, 1, part, 1);
  }
  return rest ? ir_linear_terms(&s->arena, rest, rest->count, rest->terms, ir_floormod_i64(rest->constant, by)) : NULL;
}

static const ir_expr *floormod_by_number(ir_simplifier *s, const ir_expr *expr, int64_t by) {
  const ir_linear *form = ir_exact_form_of(s, expr->kids[0]);
  const ir_linear *rest = remainder_form(s, form, by);
  if (!rest || !ir_form_is_exact(s, rest)) rest = form;
  if (ir_linear_is_const(rest)) return ir_number_like(s, expr, ir_floormod_i64(rest->constant, by));
  int64_t quotient, drop;
  if (same_quotient(s, rest, by, &quotient) && ir_mul_i64(quotient, by, &drop) && drop != INT64_MIN) {
    const ir_linear *value = ir_linear_add_const(&s->arena, rest, -drop);
    if (value) return ir_make_form(s, value);
  }
  int64_t gcd = ir_gcd_i64(ir_linear_gcd(rest), by);
  if (gcd > 1) {
    const ir_expr *inner =
        ir_make(s, IR_S_FLOORMOD, ir_make_form(s, divided(s, rest, gcd)), ir_number_like(s, expr, by / gcd));
    const ir_linear *value =
        sum_of(s, ir_form_of(s, inner), gcd, constant_like(s, form, ir_floormod_i64(rest->constant, gcd)), 1);
    return value && ir_linear_fits_dtype(value) ? ir_make_form(s, value) : expr;
  }
  ir_congruence c = ir_congruence_of_form(s, rest);
  if (c.modulus % by == 0) return ir_number_like(s, expr, ir_floormod_i64(c.residue, by));
  const ir_expr *dividend = ir_make_form(s, rest);
  return dividend == expr->kids[0] ? expr : ir_make(s, IR_S_FLOORMOD, dividend, expr->kids[1]);
}

const ir_expr *ir_rule_floormod(ir_simplifier *s, const ir_expr *expr) {
  int64_t by;
  if (!is_integer(expr)) return expr;
  if (ir_is_number(expr->kids[1], &by)) {
    if (by == 1 || by == -1) return ir_number_like(s, expr, 0);
    return by > 0 ? floormod_by_number(s, expr, by) : expr;
  }
  const ir_linear *rest = NULL;
  const ir_expr *quotient = divided_by_form(s, expr, &rest);
  if (quotient) return ir_make_form(s, rest);
  if (!rest || ir_exact_form_of(s, expr->kids[0])->count <= rest->count) return expr;
  return ir_is_nonzero(s, expr->kids[1]) && ir_form_is_exact(s, rest)
             ? ir_make(s, IR_S_FLOORMOD, ir_make_form(s, rest), expr->kids[1])
             : expr;
}

/* ceildiv(a, b) = floordiv(a + b - 1, b) for b > 0, where the sum cannot wrap. */
const ir_expr *ir_rule_ceildiv(ir_simplifier *s, const ir_expr *expr) {
  int64_t by;
  if (ir_is_number(expr->kids[1], &by)) {
    if (by == 1) return expr->kids[0];
    if (by == -1) return ir_make_unary(s, IR_S_NEG, expr->kids[0]);
  }
  if (ir_span_of(s, expr->kids[1]).least < 1) return expr;
  const ir_linear *sum = sum_of(s, ir_exact_form_of(s, expr->kids[0]), 1, ir_exact_form_of(s, expr->kids[1]), 1);
  if (sum) sum = ir_linear_add_const(&s->arena, sum, -1);
  if (!sum || !ir_form_is_exact(s, sum) || !ir_linear_fits_dtype(sum)) return expr;
  return ir_make(s, IR_S_FLOORDIV, ir_make_form(s, sum), expr->kids[1]);
}

static bool operands_not_negative(ir_simplifier *s, const ir_expr *expr) {
  return ir_span_of(s, expr->kids[0]).least >= 0 && ir_span_of(s, expr->kids[1]).least >= 0;
}

const ir_expr *ir_rule_truncdiv(ir_simplifier *s, const ir_expr *expr) {
  int64_t by;
  if (operands_not_negative(s, expr)) return ir_make(s, IR_S_FLOORDIV, expr->kids[0], expr->kids[1]);
  if (!ir_is_number(expr->kids[1], &by)) return expr;
  if (by == 1) return expr->kids[0];
  return by == -1 ? ir_make_unary(s, IR_S_NEG, expr->kids[0]) : expr;
}

const ir_expr *ir_rule_truncmod(ir_simplifier *s, const ir_expr *expr) {
  int64_t by;
  if (!is_integer(expr)) return expr;
  if (operands_not_negative(s, expr)) return ir_make(s, IR_S_FLOORMOD, expr->kids[0], expr->kids[1]);
  return ir_is_number(expr->kids[1], &by) && (by == 1 || by == -1) ? ir_number_like(s, expr, 0) : expr;
}
