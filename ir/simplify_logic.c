// SPDX-License-Identifier: Apache-2.0
/* ir/simplify_logic.c - rules for min, max, bcast, comparisons, logic and selection. Needs ir/prove.c. */
#include "ir/simplify_rules.h"

#include "base/checked.h"

enum { MAX_LIST = 16 };

struct list {
  const ir_expr *at[MAX_LIST];
  size_t count;
};

/* The operands of a tree of one operator, left to right; false where there are too many. */
static bool collect(struct list *list, ir_scalar_code code, const ir_expr *expr) {
  if (expr->code == code) return collect(list, code, expr->kids[0]) && collect(list, code, expr->kids[1]);
  if (list->count == MAX_LIST) return false;
  list->at[list->count++] = expr;
  return true;
}

static void drop(struct list *list, size_t i) {
  list->count--;
  memmove(&list->at[i], &list->at[i + 1], (list->count - i) * sizeof *list->at);
}

static const ir_expr *chain(ir_simplifier *s, ir_scalar_code code, const struct list *list) {
  const ir_expr *result = list->at[0];
  for (size_t i = 1; i < list->count; i++) result = ir_expr_binary(s->context, code, result, list->at[i]);
  return result;
}

static void sort(struct list *list) {
  for (size_t i = 1; i < list->count; i++) {
    const ir_expr *moved = list->at[i];
    size_t at = i;
    for (; at && ir_expr_order(list->at[at - 1], moved) > 0; at--) list->at[at] = list->at[at - 1];
    list->at[at] = moved;
  }
}

/* Whether A never decides the min (or max) of A and B. */
static bool is_dominated(ir_simplifier *s, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return code == IR_S_MIN ? ir_is_le(s, b, a) : ir_is_le(s, a, b);
}

/* VALUE as the i64(x) of a narrower x, and whether CONSTANT is a number of x's dtype, *BITS there. */
static bool fits_narrow(const ir_expr *value, const ir_expr *constant, ir_dtype *from, uint64_t *bits) {
  if (value->code != IR_S_CAST || constant->code != IR_S_CONST || value->lanes != 1) return false;
  ir_dtype to = (ir_dtype)value->dtype;
  *from = (ir_dtype)value->kids[0]->dtype;
  if (!ir_is_integer(*from) || ir_dtypes[*from].bits >= ir_dtypes[to].bits || (ir_is_signed(*from) && !ir_is_signed(to))) return false;
  int64_t number = ir_int_from_bits(to, constant->bits);
  *bits = ir_int_to_bits(*from, number);
  return ir_int_from_bits(*from, *bits) == number;
}

/* min(i64(x), 5) is i64(min(x, 5)): see compare_narrow. */
static const ir_expr *narrow_minmax(ir_simplifier *s, ir_scalar_code code, const struct list *list) {
  for (size_t i = 0; i < 2; i++) {
    const ir_expr *wide = list->at[i], *constant = list->at[1 - i];
    ir_dtype from;
    uint64_t bits;
    if (!fits_narrow(wide, constant, &from, &bits)) continue;
    const ir_expr *narrow = ir_make(s, code, wide->kids[0], ir_expr_const(s->context, from, 1, bits));
    return ir_expr_cast(s->context, narrow, (ir_dtype)wide->dtype);
  }
  return chain(s, code, list);
}

const ir_expr *ir_rule_minmax(ir_simplifier *s, const ir_expr *expr) {
  if (expr->kids[0] == expr->kids[1]) return expr->kids[0];
  if (!ir_is_integer((ir_dtype)expr->dtype)) return expr;
  ir_scalar_code code = (ir_scalar_code)expr->code;
  struct list list = {0};
  if (!collect(&list, code, expr)) return expr;
  sort(&list);
  for (size_t i = 0; i < list.count; i++) {
    for (size_t k = 0; k < list.count; k++) {
      if (i == k || !is_dominated(s, code, list.at[i], list.at[k])) continue;
      drop(&list, i--);
      break;
    }
  }
  return list.count == 2 ? narrow_minmax(s, code, &list) : chain(s, code, &list);
}

static bool is_one(ir_simplifier *s, const ir_expr *expr) {
  ir_span span = ir_span_of(s, expr);
  return span.least == 1 && span.most == 1;
}

static bool is_not_one(ir_simplifier *s, const ir_expr *expr) {
  ir_span span = ir_span_of(s, expr);
  if (span.least > 1 || span.most < 1) return true;
  const ir_linear *form = ir_linear_add_const(&s->arena, ir_exact_form_of(s, expr), -1);
  return form && ir_form_is_zero(s, form) == IR_REFUTED;
}

/* bcast(a, b) is the first operand that is not 1, or the last: associative, so that a tree is a list. */
const ir_expr *ir_rule_bcast(ir_simplifier *s, const ir_expr *expr) {
  struct list list = {0};
  if (!collect(&list, IR_S_BCAST, expr)) return expr;
  for (size_t i = 0; i < list.count; i++) {
    for (size_t k = i + 1; k < list.count; k++) {
      if (list.at[k] == list.at[i]) drop(&list, k--);
    }
  }
  for (size_t i = 0; i < list.count && list.count > 1; i++) {
    if (is_one(s, list.at[i]))
      drop(&list, i--);
    else if (is_not_one(s, list.at[i]))
      list.count = i + 1;
  }
  return chain(s, IR_S_BCAST, &list);
}

static ir_scalar_code opposite(ir_scalar_code code) {
  switch ((int)code) {
  case IR_S_EQ: return IR_S_NE;
  case IR_S_NE: return IR_S_EQ;
  case IR_S_LT: return IR_S_GE;
  case IR_S_LE: return IR_S_GT;
  case IR_S_GT: return IR_S_LE;
  default: return IR_S_LT;
  }
}

/* FORM < 0, <= 0, > 0 or >= 0, for all values or for none. */
static ir_proof sign_proof(ir_simplifier *s, ir_scalar_code code, const ir_linear *form) {
  bool less = code == IR_S_LT || code == IR_S_LE, strict = code == IR_S_LT || code == IR_S_GT;
  const ir_linear *zero = ir_linear_const(&s->arena, form->dtype, form->lanes, 0);
  const ir_linear *upright = ir_linear_combine(&s->arena, form, less ? -1 : 1, zero, 1);
  const ir_linear *reverse = ir_linear_combine(&s->arena, form, less ? 1 : -1, zero, 1);
  if (!upright || !reverse) return IR_UNKNOWN;
  if (ir_form_not_negative(s, ir_linear_add_const(&s->arena, upright, strict ? -1 : 0))) return IR_PROVEN;
  return ir_form_not_negative(s, ir_linear_add_const(&s->arena, reverse, strict ? 0 : -1)) ? IR_REFUTED : IR_UNKNOWN;
}

/* The terms of FORM with positive factors, or the negative ones negated; with CONSTANT. */
static const ir_linear *side(ir_simplifier *s, const ir_linear *form, bool negative, int64_t constant) {
  ir_term *terms = ir_new_array(&s->arena, ir_term, (size_t)form->count + 1);
  uint32_t count = 0;
  for (uint32_t i = 0; i < form->count; i++) {
    if ((form->terms[i].factor < 0) != negative) continue;
    terms[count] = form->terms[i];
    if (negative) terms[count].factor = -terms[count].factor;
    count++;
  }
  return ir_linear_terms(&s->arena, form, count, terms, constant);
}

static bool has_extreme_factor(const ir_linear *form) {
  for (uint32_t i = 0; i < form->count; i++) {
    if (form->terms[i].factor == INT64_MIN) return true;
  }
  return form->constant <= INT64_MIN + 1;
}

/* The term that a comparison puts on its left: an index rather than an extent, `i < n * 4`. */
static const ir_term *leading(const ir_linear *form) {
  for (uint32_t i = 0; i < form->count; i++) {
    for (uint32_t k = 0; k < form->terms[i].degree; k++) {
      if (form->terms[i].atoms[k]->code != IR_S_SYMBOL) return &form->terms[i];
    }
  }
  return &form->terms[0];
}

/* FORM code 0 as a comparison of two sides: the leading term on the left, with a positive factor, and the constant on
 * the right. NULL where a side might wrap, unless EXACT is not needed (equality wraps alike on both sides). */
static const ir_expr *as_sides(ir_simplifier *s, ir_scalar_code code, const ir_linear *form, bool exact) {
  if (!form->count) return NULL;
  const ir_linear *zero = ir_linear_const(&s->arena, form->dtype, form->lanes, 0);
  bool flip = leading(form)->factor < 0;
  if (flip && !(form = ir_linear_combine(&s->arena, form, -1, zero, 1))) return NULL;
  if (has_extreme_factor(form)) return NULL;
  static const uint16_t flipped[] = {IR_S_GT, IR_S_GE, IR_S_LT, IR_S_LE};
  bool equality = code == IR_S_EQ || code == IR_S_NE;
  if (flip && !equality) code = (ir_scalar_code)flipped[code - IR_S_LT];
  int64_t right = -form->constant, gcd = ir_linear_gcd(form);
  if (!equality) {
    /* As x < k or x >= k, and then with the factors reduced: x * 2 < 5 is x < 3. */
    if (code == IR_S_LE || code == IR_S_GT) right++;
    code = code == IR_S_LE || code == IR_S_LT ? IR_S_LT : IR_S_GE;
    right = ir_ceildiv_i64(right, gcd);
  } else if (!exact || right % gcd) {
    gcd = 1;
  } else {
    right /= gcd;
  }
  ir_term *terms = ir_new_array(&s->arena, ir_term, form->count);
  for (uint32_t i = 0; i < form->count; i++) terms[i] = form->terms[i], terms[i].factor /= gcd;
  form = ir_linear_terms(&s->arena, form, form->count, terms, 0);
  const ir_linear *left_side = side(s, form, false, 0), *right_side = side(s, form, true, right);
  if (right_side->count && right == 1 && !equality) {
    right_side = side(s, form, true, 0);
    code = code == IR_S_LT ? IR_S_LE : IR_S_GT;
  }
  if (!ir_linear_fits_dtype(left_side) || !ir_linear_fits_dtype(right_side)) return NULL;
  if (exact && !(ir_form_is_exact(s, left_side) && ir_form_is_exact(s, right_side))) return NULL;
  return ir_expr_binary(s->context, code, ir_linear_expr(s->context, left_side),
                        ir_linear_expr(s->context, right_side));
}

static const ir_expr *compare_integers(ir_simplifier *s, const ir_expr *expr) {
  ir_scalar_code code = (ir_scalar_code)expr->code;
  bool equality = code == IR_S_EQ || code == IR_S_NE;
  const ir_linear *form = ir_form_difference(s, expr->kids[0], expr->kids[1], 0);
  if (!form) return expr;
  if (equality) {
    ir_proof zero = ir_form_is_zero(s, form);
    if (zero != IR_UNKNOWN) return ir_truth_like(s, expr, (zero == IR_PROVEN) == (code == IR_S_EQ));
    const ir_linear *a = ir_form_of(s, expr->kids[0]), *b = ir_form_of(s, expr->kids[1]);
    const ir_linear *wrapping = ir_linear_combine(&s->arena, a, 1, b, -1);
    if (wrapping && !ir_linear_fits_dtype(wrapping)) wrapping = NULL;
    if (wrapping && !wrapping->count) return ir_truth_like(s, expr, (wrapping->constant == 0) == (code == IR_S_EQ));
    const ir_expr *exact = as_sides(s, code, form, true);
    if (exact || !wrapping) return exact ? exact : expr;
    const ir_expr *sides = as_sides(s, code, wrapping, false);
    return sides ? sides : expr;
  }
  ir_proof proof = sign_proof(s, code, form);
  if (proof != IR_UNKNOWN) return ir_truth_like(s, expr, proof == IR_PROVEN);
  const ir_expr *sides = as_sides(s, code, form, true);
  return sides ? sides : expr;
}

/* a < b of bools is !a && b, and so on. */
static const ir_expr *order_bools(ir_simplifier *s, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  bool less = code == IR_S_LT || code == IR_S_LE, strict = code == IR_S_LT || code == IR_S_GT;
  const ir_expr *low = less ? a : b, *high = less ? b : a, *not_low = ir_make_unary(s, IR_S_NOT, low);
  return ir_make(s, strict ? IR_S_AND : IR_S_OR, less ? not_low : high, less ? high : not_low);
}

static const ir_expr *compare_bools(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *a = expr->kids[0], *b = expr->kids[1];
  bool equal = expr->code == IR_S_EQ;
  if (!equal && expr->code != IR_S_NE) return order_bools(s, (ir_scalar_code)expr->code, a, b);
  if (a == b) return ir_truth_like(s, expr, equal);
  if (a->code == IR_S_CONST) {
    const ir_expr *swapped = a;
    a = b, b = swapped;
  }
  if (b->code != IR_S_CONST) return expr;
  return (b->bits != 0) == equal ? a : ir_make_unary(s, IR_S_NOT, a);
}

/* A float compared with itself: NaN is not equal to itself, everything else is. */
static const ir_expr *compare_floats(ir_simplifier *s, const ir_expr *expr) {
  if (expr->kids[0] != expr->kids[1]) return expr;
  if (expr->code == IR_S_LT || expr->code == IR_S_GT) return ir_truth_like(s, expr, false);
  const ir_expr *nan = ir_make_unary(s, IR_S_ISNAN, expr->kids[0]);
  return expr->code == IR_S_NE ? nan : ir_make_unary(s, IR_S_NOT, nan);
}

/* i64(x) < 5 is x < 5 for an i32: a narrow comparison is cheaper, and not every driver gets the wide one right. */
static const ir_expr *compare_narrow(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *wide = expr->kids[0], *constant = expr->kids[1];
  ir_dtype from;
  uint64_t bits;
  if (!fits_narrow(wide, constant, &from, &bits)) return expr;
  return ir_expr_binary(s->context, (ir_scalar_code)expr->code, wide->kids[0], ir_expr_const(s->context, from, 1, bits));
}

const ir_expr *ir_rule_compare(ir_simplifier *s, const ir_expr *expr) {
  ir_dtype dtype = (ir_dtype)expr->kids[0]->dtype;
  if (dtype == IR_BOOL) return compare_bools(s, expr);
  if (!ir_is_integer(dtype)) return compare_floats(s, expr);
  const ir_expr *simple = compare_integers(s, expr);
  return simple->code >= IR_S_EQ && simple->code <= IR_S_GE ? compare_narrow(s, simple) : simple;
}

/* The form that is not negative exactly where CONDITION, a comparison of integers, holds; NULL for other conditions. */
static const ir_linear *condition_form(ir_simplifier *s, const ir_expr *condition, bool negated) {
  ir_scalar_code code = (ir_scalar_code)condition->code;
  if (code < IR_S_LT || code > IR_S_GE || !ir_is_integer((ir_dtype)condition->kids[0]->dtype)) return NULL;
  if (negated) code = opposite(code);
  bool less = code == IR_S_LT || code == IR_S_LE, strict = code == IR_S_LT || code == IR_S_GT;
  const ir_expr *a = condition->kids[0], *b = condition->kids[1];
  return ir_form_difference(s, less ? b : a, less ? a : b, strict ? -1 : 0);
}

/* x * A + B is never negative, or always, by its span. */
static bool combination_is(ir_simplifier *s, const ir_linear *a, int64_t x, const ir_linear *b, bool negative) {
  const ir_linear *sum = a && b && a->dtype == b->dtype ? ir_linear_combine(&s->arena, a, x, b, 1) : NULL;
  if (!sum) return false;
  ir_span span = ir_span_of_form(s, sum);
  return negative ? span.most < 0 : span.least >= 0;
}

/* A holds only where B does: n < 4 and n < 8. */
static bool implies(ir_simplifier *s, const ir_expr *a, const ir_expr *b) {
  return a == b || combination_is(s, condition_form(s, a, false), -1, condition_form(s, b, false), false);
}

/* A and B never hold together (or, NEGATED, never fail together). */
static bool exclude(ir_simplifier *s, const ir_expr *a, const ir_expr *b, bool negated) {
  if (a->code != IR_S_CONST && ir_make_unary(s, IR_S_NOT, a) == b) return true;
  return combination_is(s, condition_form(s, a, negated), 1, condition_form(s, b, negated), true);
}

const ir_expr *ir_rule_and_or(ir_simplifier *s, const ir_expr *expr) {
  ir_scalar_code code = (ir_scalar_code)expr->code;
  bool deciding = code == IR_S_OR; /* the constant that decides */
  struct list list = {0};
  if (!collect(&list, code, expr)) return expr;
  for (size_t i = 0; i < list.count; i++) {
    if (list.at[i]->code != IR_S_CONST) continue;
    if ((list.at[i]->bits != 0) == deciding) return ir_truth_like(s, expr, deciding);
    drop(&list, i--);
  }
  for (size_t i = 0; i < list.count; i++) {
    for (size_t k = 0; k < list.count; k++) {
      if (i == k) continue;
      const ir_expr *a = list.at[i], *b = list.at[k];
      if (i < k && exclude(s, a, b, deciding)) return ir_truth_like(s, expr, deciding);
      if (!(deciding ? implies(s, b, a) : implies(s, a, b))) continue;
      drop(&list, k--);
      if (k + 1 < i) i--;
    }
  }
  return list.count ? chain(s, code, &list) : ir_truth_like(s, expr, !deciding);
}

const ir_expr *ir_rule_not(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *kid = expr->kids[0];
  ir_scalar_code code = (ir_scalar_code)kid->code;
  if (code == IR_S_NOT) return kid->kids[0];
  if (code == IR_S_AND || code == IR_S_OR)
    return ir_make(s, code == IR_S_AND ? IR_S_OR : IR_S_AND, ir_make_unary(s, IR_S_NOT, kid->kids[0]),
                   ir_make_unary(s, IR_S_NOT, kid->kids[1]));
  if (ir_scalars[code].typing != IR_TYPING_COMPARE) return expr;
  /* With NaN, not less is something else than greater or equal; equality has no such gap. */
  bool equality = code == IR_S_EQ || code == IR_S_NE;
  if (ir_is_float((ir_dtype)kid->kids[0]->dtype) && !equality) return expr;
  return ir_make(s, opposite(code), kid->kids[0], kid->kids[1]);
}

const ir_expr *ir_rule_select(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *condition = expr->kids[0], *a = expr->kids[1], *b = expr->kids[2];
  if (condition->code == IR_S_CONST) return condition->bits ? a : b;
  if (a == b && (expr->code == IR_S_SELECT || !a->has_loads)) return a;
  if (expr->code == IR_S_GUARD) return expr;
  if (condition->code == IR_S_NOT) return ir_expr_ternary(s->context, IR_S_SELECT, condition->kids[0], b, a);
  if (expr->dtype != IR_BOOL) return expr;
  if (a->code == IR_S_CONST)
    return a->bits ? ir_make(s, IR_S_OR, condition, b) : ir_make(s, IR_S_AND, ir_make_unary(s, IR_S_NOT, condition), b);
  if (b->code == IR_S_CONST)
    return b->bits ? ir_make(s, IR_S_OR, ir_make_unary(s, IR_S_NOT, condition), a) : ir_make(s, IR_S_AND, condition, a);
  return expr;
}
