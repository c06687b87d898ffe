// SPDX-License-Identifier: Apache-2.0
/* ir/span.c - bounds and congruences of integer expressions under facts. Needs ir/forms.c, ir/facts.c. */
#include "ir/simplify_rules.h"

#include "base/checked.h"

/* Beyond this a bound is as good as infinite; it stays there, so that nothing is ever added to a cut-off number. */
#define INFINITE ((ir_wide)1 << 125)

static ir_wide bound_add(ir_wide a, ir_wide b, int direction) {
  ir_wide infinite = direction * INFINITE;
  if (a == infinite || b == infinite) return infinite;
  ir_wide sum = a + b; /* both are at most 2^125 in size */
  if (sum >= INFINITE) return direction > 0 ? INFINITE : INFINITE - 1;
  if (sum <= -INFINITE) return direction < 0 ? -INFINITE : 1 - INFINITE;
  return sum;
}

ir_wide ir_bound_mul(ir_wide a, ir_wide b) {
  ir_wide product;
  bool over = __builtin_mul_overflow(a, b, &product);
  if (over || product >= INFINITE || product <= -INFINITE) return (a < 0) == (b < 0) ? INFINITE : -INFINITE;
  return product;
}

static ir_wide least_of(ir_wide a, ir_wide b) { return a < b ? a : b; }
static ir_wide most_of(ir_wide a, ir_wide b) { return a > b ? a : b; }
static ir_span joined(ir_span a, ir_span b) { return (ir_span){least_of(a.least, b.least), most_of(a.most, b.most)}; }

static ir_span product_of(ir_span a, ir_span b) {
  ir_wide p = ir_bound_mul(a.least, b.least), q = ir_bound_mul(a.least, b.most);
  ir_wide r = ir_bound_mul(a.most, b.least), t = ir_bound_mul(a.most, b.most);
  return (ir_span){least_of(least_of(p, q), least_of(r, t)), most_of(most_of(p, q), most_of(r, t))};
}

ir_span ir_dtype_span(ir_dtype dtype) {
  if (dtype == IR_BOOL) return (ir_span){0, 1};
  if (!ir_is_integer(dtype)) return (ir_span){-INFINITE, INFINITE};
  int width = ir_dtypes[dtype].bits;
  if (ir_is_unsigned(dtype)) return (ir_span){0, ((ir_wide)1 << width) - 1};
  return (ir_span){-((ir_wide)1 << (width - 1)), ((ir_wide)1 << (width - 1)) - 1};
}

bool ir_span_within(ir_span inner, ir_span outer) { return inner.least >= outer.least && inner.most <= outer.most; }

ir_span ir_span_of_term(ir_simplifier *s, const ir_term *term) {
  ir_span product = {term->factor, term->factor};
  for (uint32_t i = 0; i < term->degree;) {
    uint32_t same = i + 1;
    while (same < term->degree && term->atoms[same] == term->atoms[i]) same++;
    ir_span atom = ir_span_of(s, term->atoms[i]), power = atom;
    for (uint32_t k = i + 1; k < same; k++) power = product_of(power, atom);
    if ((same - i) % 2 == 0 && power.least < 0) power.least = 0;
    product = product_of(product, power);
    i = same;
  }
  bool wraps = product.least < INT64_MIN || product.most > INT64_MAX;
  return wraps && term->degree > 1 ? ir_span_by_extents(s, term, product) : product;
}

ir_span ir_span_of_form(ir_simplifier *s, const ir_linear *form) {
  ir_span sum = {form->constant, form->constant};
  for (uint32_t i = 0; i < form->count; i++) {
    ir_span term = ir_span_of_term(s, &form->terms[i]);
    sum.least = bound_add(sum.least, term.least, -1);
    sum.most = bound_add(sum.most, term.most, 1);
  }
  return sum;
}

bool ir_form_is_exact(ir_simplifier *s, const ir_linear *form) {
  return ir_span_within(ir_span_of_form(s, form), ir_dtype_span(form->dtype));
}

ir_wide ir_wide_floordiv(ir_wide a, ir_wide b) {
  ir_wide quotient = a / b, rest = a % b;
  return quotient - (rest != 0 && (rest < 0) != (b < 0));
}

static ir_wide wide_ceildiv(ir_wide a, ir_wide b) { return -ir_wide_floordiv(-a, b); }

static ir_wide divide(ir_scalar_code code, ir_wide a, ir_wide b) {
  if (code == IR_S_FLOORDIV) return ir_wide_floordiv(a, b);
  return code == IR_S_CEILDIV ? wide_ceildiv(a, b) : a / b;
}

/* Division is monotonic in each operand while the divisor keeps its sign: the corners bound it. */
static ir_span quotient_part(ir_scalar_code code, ir_span a, ir_span b) {
  ir_wide p = divide(code, a.least, b.least), q = divide(code, a.least, b.most);
  ir_wide r = divide(code, a.most, b.least), t = divide(code, a.most, b.most);
  return (ir_span){least_of(least_of(p, q), least_of(r, t)), most_of(most_of(p, q), most_of(r, t))};
}

static ir_span remainder_part(ir_scalar_code code, ir_span a, ir_span b) {
  ir_wide size = most_of(b.most, -b.least) - 1; /* of the largest remainder */
  bool negative = b.most < 0;
  if (code == IR_S_FLOORMOD) {
    if (!negative && a.least >= 0 && a.most < b.least) return a;
    if (negative) return (ir_span){-size, 0};
    return (ir_span){0, a.least >= 0 ? least_of(size, a.most) : size};
  }
  return (ir_span){a.least >= 0 ? 0 : most_of(-size, a.least), a.most <= 0 ? 0 : least_of(size, a.most)};
}

/* A quotient or a remainder; a divisor of 0 gives 0. */
static ir_span span_of_division(ir_scalar_code code, ir_span a, ir_span b) {
  bool quotient = code == IR_S_FLOORDIV || code == IR_S_CEILDIV || code == IR_S_TRUNCDIV;
  ir_span (*part)(ir_scalar_code, ir_span, ir_span) = quotient ? quotient_part : remainder_part;
  ir_span result = {0, 0};
  bool some = b.least <= 0 && b.most >= 0;
  if (b.most > 0) {
    ir_span positive = part(code, a, (ir_span){most_of(b.least, 1), b.most});
    result = some ? joined(result, positive) : positive;
    some = true;
  }
  if (b.least < 0) {
    ir_span negative = part(code, a, (ir_span){b.least, least_of(b.most, -1)});
    result = some ? joined(result, negative) : negative;
  }
  return result;
}

static ir_span span_of_bcast(ir_span a, ir_span b) {
  if (a.least == 1 && a.most == 1) return b;
  return a.least > 1 || a.most < 1 ? a : joined(a, b);
}

static ir_span span_of_abs(ir_span a) {
  ir_span negated = {-a.most, -a.least};
  if (a.least >= 0) return a;
  return a.most <= 0 ? negated : (ir_span){0, most_of(a.most, -a.least)};
}

/* The span of what EXPR computes, before it is cut to the dtype. */
static ir_span span_of_node(ir_simplifier *s, const ir_expr *expr) {
  ir_span all = ir_dtype_span((ir_dtype)expr->dtype), none = {0, 0};
  ir_span a = expr->count > 0 && !ir_is_float((ir_dtype)expr->kids[0]->dtype) ? ir_span_of(s, expr->kids[0]) : none;
  ir_span b = expr->count > 1 && !ir_is_float((ir_dtype)expr->kids[1]->dtype) ? ir_span_of(s, expr->kids[1]) : none;
  ir_scalar_code code = (ir_scalar_code)expr->code;
  int64_t number;
  switch ((int)code) {
  case IR_S_CONST: {
    ir_wide value = ir_int_from_bits((ir_dtype)expr->dtype, expr->bits);
    if (expr->dtype == IR_U64) value = (ir_wide)expr->bits;
    return (ir_span){value, value};
  }
  case IR_S_ADD:
  case IR_S_SUB:
  case IR_S_MUL:
  case IR_S_NEG:
  case IR_S_MAD: {
    const ir_linear *form = ir_form_of(s, expr);
    bool itself = form->count == 1 && form->terms[0].degree == 1 && form->terms[0].atoms[0] == expr;
    return itself ? all : ir_span_of_form(s, form);
  }
  case IR_S_FLOORDIV:
  case IR_S_CEILDIV:
  case IR_S_TRUNCDIV:
  case IR_S_FLOORMOD:
  case IR_S_TRUNCMOD: return span_of_division(code, a, b);
  case IR_S_MIN: return (ir_span){least_of(a.least, b.least), least_of(a.most, b.most)};
  case IR_S_MAX: return (ir_span){most_of(a.least, b.least), most_of(a.most, b.most)};
  case IR_S_BCAST: return span_of_bcast(a, b);
  case IR_S_SELECT:
  case IR_S_GUARD: return joined(b, ir_span_of(s, expr->kids[2]));
  case IR_S_CAST: return ir_is_float((ir_dtype)expr->kids[0]->dtype) || expr->dtype == IR_BOOL ? all : a;
  case IR_S_BROADCAST: return a;
  case IR_S_RAMP: return (ir_span){a.least, bound_add(a.most, expr->lanes - 1, 1)};
  case IR_S_ABS: return span_of_abs(a);
  case IR_S_SIGN: return (ir_span){(a.least > 0) - (a.least < 0), (a.most > 0) - (a.most < 0)};
  case IR_S_BITAND:
    if (a.least >= 0 && b.least >= 0) return (ir_span){0, least_of(a.most, b.most)};
    return a.least >= 0 ? (ir_span){0, a.most} : b.least >= 0 ? (ir_span){0, b.most} : all;
  case IR_S_SHR:
    if (!ir_is_number(expr->kids[1], &number) || number < 0 || number >= ir_dtypes[expr->dtype].bits) return all;
    return (ir_span){ir_wide_floordiv(a.least, (ir_wide)1 << number), ir_wide_floordiv(a.most, (ir_wide)1 << number)};
  default: return all;
  }
}

ir_span ir_span_of(ir_simplifier *s, const ir_expr *expr) {
  ir_span *memo = ir_map_get(&s->spans, expr);
  if (memo) return *memo;
  ir_span all = ir_dtype_span((ir_dtype)expr->dtype), span = span_of_node(s, expr);
  if (!ir_span_within(span, all)) span = all;
  ir_known known;
  if (ir_facts_lookup(s->facts, expr, &known)) {
    span.least = most_of(span.least, known.span.least);
    span.most = least_of(span.most, known.span.most);
    /* Facts that contradict each other allow no value: anything may be said then, but nothing odd computed. */
    if (span.least > span.most) span.most = span.least;
  }
  memo = ir_new(&s->arena, ir_span);
  *memo = span;
  ir_map_put(&s->arena, &s->spans, expr, memo);
  return span;
}

static const ir_congruence anything = {1, 0};

static int64_t residue_of(int64_t value, int64_t modulus) { return modulus ? ir_floormod_i64(value, modulus) : value; }

static ir_congruence congruence(int64_t modulus, int64_t value) {
  if (modulus == 1) return anything;
  return (ir_congruence){modulus, residue_of(value, modulus)};
}

static ir_congruence congruence_sum(ir_congruence a, ir_congruence b) {
  int64_t sum;
  return ir_add_i64(a.residue, b.residue, &sum) ? congruence(ir_gcd_i64(a.modulus, b.modulus), sum) : anything;
}

static ir_congruence congruence_product(ir_congruence a, ir_congruence b) {
  int64_t both, left, right, product;
  if (!ir_mul_i64(a.modulus, b.modulus, &both) || !ir_mul_i64(a.modulus, b.residue, &left) ||
      !ir_mul_i64(b.modulus, a.residue, &right) || !ir_mul_i64(a.residue, b.residue, &product))
    return anything;
  return congruence(ir_gcd_i64(both, ir_gcd_i64(left, right)), product);
}

/* What holds of a value that is one or the other. */
static ir_congruence congruence_join(ir_congruence a, ir_congruence b) {
  int64_t between;
  if (!ir_sub_i64(a.residue, b.residue, &between)) return anything;
  return congruence(ir_gcd_i64(ir_gcd_i64(a.modulus, b.modulus), between), a.residue);
}

static ir_congruence congruence_of_division(ir_scalar_code code, ir_congruence a, int64_t by) {
  bool divides = a.modulus % by == 0;
  if (code == IR_S_FLOORMOD) {
    if (divides) return (ir_congruence){0, residue_of(a.residue, by)};
    return congruence(ir_gcd_i64(a.modulus, by), a.residue);
  }
  return divides ? congruence(a.modulus / by, ir_floordiv_i64(a.residue, by)) : anything;
}

static ir_congruence congruence_of_node(ir_simplifier *s, const ir_expr *expr) {
  int64_t number;
  switch ((int)expr->code) {
  case IR_S_CONST: return ir_is_number(expr, &number) ? congruence(0, number) : anything;
  case IR_S_ADD:
  case IR_S_SUB:
  case IR_S_MUL:
  case IR_S_NEG:
  case IR_S_MAD: {
    const ir_linear *form = ir_exact_form_of(s, expr);
    bool itself = form->count == 1 && form->terms[0].degree == 1 && form->terms[0].atoms[0] == expr;
    return itself ? anything : ir_congruence_of_form(s, form);
  }
  case IR_S_FLOORDIV:
  case IR_S_FLOORMOD:
    if (!ir_is_number(expr->kids[1], &number) || number <= 0) return anything;
    return congruence_of_division((ir_scalar_code)expr->code, ir_congruence_of(s, expr->kids[0]), number);
  case IR_S_MIN:
  case IR_S_MAX:
  case IR_S_BCAST: return congruence_join(ir_congruence_of(s, expr->kids[0]), ir_congruence_of(s, expr->kids[1]));
  case IR_S_SELECT:
  case IR_S_GUARD: return congruence_join(ir_congruence_of(s, expr->kids[1]), ir_congruence_of(s, expr->kids[2]));
  case IR_S_CAST:
    if (ir_is_float((ir_dtype)expr->kids[0]->dtype) || expr->dtype == IR_BOOL) return anything;
    return ir_span_within(ir_span_of(s, expr->kids[0]), ir_dtype_span((ir_dtype)expr->dtype))
               ? ir_congruence_of(s, expr->kids[0])
               : anything;
  default: return anything;
  }
}

ir_congruence ir_congruence_of(ir_simplifier *s, const ir_expr *expr) {
  ir_congruence *memo = ir_map_get(&s->congruences, expr);
  if (memo) return *memo;
  ir_congruence result = congruence_of_node(s, expr);
  ir_known known;
  if (result.modulus && ir_facts_lookup(s->facts, expr, &known) &&
      (!known.congruence.modulus || known.congruence.modulus > result.modulus))
    result = known.congruence;
  memo = ir_new(&s->arena, ir_congruence);
  *memo = result;
  ir_map_put(&s->arena, &s->congruences, expr, memo);
  return result;
}

ir_congruence ir_congruence_of_term(ir_simplifier *s, const ir_term *term) {
  ir_congruence product = congruence(0, term->factor);
  for (uint32_t i = 0; i < term->degree; i++)
    product = congruence_product(product, ir_congruence_of(s, term->atoms[i]));
  return product;
}

ir_congruence ir_congruence_of_form(ir_simplifier *s, const ir_linear *form) {
  ir_congruence sum = congruence(0, form->constant);
  for (uint32_t i = 0; i < form->count; i++) sum = congruence_sum(sum, ir_congruence_of_term(s, &form->terms[i]));
  return sum;
}
