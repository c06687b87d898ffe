// SPDX-License-Identifier: Apache-2.0
/* ir/simplify_misc.c - rules for conversions, bits and floats. On floats only identities that hold for every value, NaN
 * and signed zero included; a NaN that arithmetic returns may be any NaN. Needs ir/span.c. */
#include "ir/simplify_rules.h"

/* Every value of FROM is one of TO. */
static bool includes(ir_dtype to, ir_dtype from) {
  if (to == from) return true;
  if (to == IR_BOOL) return false;
  if (!ir_is_float(from)) {
    if (!ir_is_float(to)) return ir_span_within(ir_dtype_span(from), ir_dtype_span(to));
    int exact = to == IR_F64 ? 53 : to == IR_F32 ? 24 : to == IR_F16 ? 11 : to == IR_BF16 ? 8 : 0;
    return from == IR_BOOL ? exact > 0 : ir_dtypes[from].bits - ir_is_signed(from) <= exact;
  }
  if (!ir_is_float(to)) return false;
  if (to == IR_F64) return true;
  if (to == IR_F32) return from != IR_F64;
  return (to == IR_F16 && (from == IR_F8E4M3 || from == IR_F8E5M2)) || (to == IR_BF16 && from == IR_F8E4M3) ||
         (to == IR_BF16 && from == IR_F8E5M2);
}

const ir_expr *ir_rule_cast(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *kid = expr->kids[0];
  ir_dtype dtype = (ir_dtype)expr->dtype;
  if (kid->dtype == dtype) return kid;
  if (kid->code != IR_S_CAST) return expr;
  const ir_expr *inner = kid->kids[0];
  ir_dtype from = (ir_dtype)inner->dtype, middle = (ir_dtype)kid->dtype;
  bool kept = includes(middle, from);
  /* From an integer by way of a float: the last step saturates, while the direct way would wrap. */
  if (ir_is_float(middle) && !ir_is_float(from) && !ir_is_float(dtype) && dtype != IR_BOOL && !includes(dtype, from))
    kept = false;
  if (!kept && ir_is_integer(from) && ir_is_integer(middle))
    kept = ir_span_within(ir_span_of(s, inner), ir_dtype_span(middle)) || /* wraps twice to the same */
           (ir_is_integer(dtype) && ir_dtypes[dtype].bits <= ir_dtypes[middle].bits);
  if (!kept) return expr;
  return from == dtype ? inner : ir_expr_convert(s->context, IR_S_CAST, inner, dtype, expr->lanes);
}

const ir_expr *ir_rule_bitcast(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *kid = expr->kids[0];
  if (kid->dtype == expr->dtype && kid->lanes == expr->lanes) return kid;
  if (kid->code != IR_S_BITCAST || kid->kids[0]->lanes != expr->lanes) return expr;
  const ir_expr *inner = kid->kids[0];
  return inner->dtype == expr->dtype
             ? inner
             : ir_expr_convert(s->context, IR_S_BITCAST, inner, (ir_dtype)expr->dtype, expr->lanes);
}

const ir_expr *ir_rule_broadcast(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *kid = expr->kids[0];
  if (kid->lanes == expr->lanes) return kid;
  return kid->code == IR_S_CONST ? ir_expr_const(s->context, (ir_dtype)expr->dtype, expr->lanes, kid->bits) : expr;
}

static bool is_bits(const ir_expr *expr, uint64_t bits) { return expr->code == IR_S_CONST && expr->bits == bits; }
static bool is_all_ones(const ir_expr *expr) {
  ir_dtype dtype = (ir_dtype)expr->dtype;
  return is_bits(expr, dtype == IR_BOOL ? 1 : ir_int_to_bits(dtype, -1));
}

const ir_expr *ir_rule_shift(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *a = expr->kids[0], *amount = expr->kids[1];
  if (is_bits(amount, 0) || is_bits(a, 0)) return a;
  bool whole = amount->code == IR_S_CONST && amount->bits >= ir_dtypes[expr->dtype].bits;
  bool zero = expr->code == IR_S_SHL || ir_is_unsigned((ir_dtype)expr->dtype);
  return whole && zero ? ir_number_like(s, expr, 0) : expr;
}

const ir_expr *ir_rule_bits(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *a = expr->kids[0];
  if (expr->code == IR_S_BITNOT) return a->code == IR_S_BITNOT ? a->kids[0] : expr;
  const ir_expr *b = expr->kids[1];
  if (ir_expr_order(a, b) > 0) {
    const ir_expr *first = b;
    b = a, a = first;
  }
  bool xor = expr->code == IR_S_BITXOR, and = expr->code == IR_S_BITAND;
  if (a == b) return xor? ir_expr_const(s->context, (ir_dtype)expr->dtype, expr->lanes, 0) : a;
  if (is_bits(b, 0)) return and? b : a;
  if (is_all_ones(b)) return xor? ir_make_unary(s, IR_S_BITNOT, a) : and? a : b;
  return ir_expr_binary(s->context, (ir_scalar_code)expr->code, a, b);
}

const ir_expr *ir_rule_abs(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *kid = expr->kids[0];
  if (kid->code == IR_S_ABS) return kid;
  bool has_sign = !ir_is_unsigned((ir_dtype)expr->dtype); /* -x of an unsigned x is another number */
  if (kid->code == IR_S_NEG && has_sign) return ir_make_unary(s, IR_S_ABS, kid->kids[0]);
  if (ir_is_float((ir_dtype)expr->dtype)) return expr;
  ir_span span = ir_span_of(s, kid);
  if (span.least >= 0) return kid;
  return span.most <= 0 ? ir_make_unary(s, IR_S_NEG, kid) : expr;
}

const ir_expr *ir_rule_sign(ir_simplifier *s, const ir_expr *expr) {
  (void)s;
  return expr->kids[0]->code == IR_S_SIGN ? expr->kids[0] : expr;
}

static bool is_float(const ir_expr *expr, double value) {
  return expr->code == IR_S_CONST && expr->bits == ir_float_to_bits((ir_dtype)expr->dtype, value);
}

/* 1 / CONSTANT where that is exact and normal: then dividing and multiplying round the same real number. */
static const ir_expr *exact_reciprocal(ir_simplifier *s, const ir_expr *expr) {
  ir_dtype dtype = (ir_dtype)expr->dtype;
  if (expr->code != IR_S_CONST || (dtype != IR_F32 && dtype != IR_F64)) return NULL;
  uint64_t fraction = dtype == IR_F32 ? (UINT64_C(1) << 23) - 1 : (UINT64_C(1) << 52) - 1;
  uint64_t exponent = dtype == IR_F32 ? 254 : 2046,
           of = (expr->bits & ~fraction) >> (dtype == IR_F32 ? 23 : 52) & (exponent + 1);
  if ((expr->bits & fraction) || !of || of >= exponent) return NULL;
  return ir_expr_const(s->context, dtype, expr->lanes,
                       ir_float_to_bits(dtype, 1 / ir_float_from_bits(dtype, expr->bits)));
}

const ir_expr *ir_rule_float(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *a = expr->kids[0], *b = expr->count > 1 ? expr->kids[1] : NULL;
  switch ((int)expr->code) {
  case IR_S_ADD:
    if (is_float(b, -0.0)) return a;
    return is_float(a, -0.0) ? b : expr;
  case IR_S_SUB: return is_float(b, 0.0) ? a : expr;
  case IR_S_MUL:
    if (is_float(b, 1)) return a;
    return is_float(a, 1) ? b : expr;
  case IR_S_DIV: {
    if (is_float(b, 1)) return a;
    const ir_expr *reciprocal = exact_reciprocal(s, b);
    return reciprocal ? ir_make(s, IR_S_MUL, a, reciprocal) : expr;
  }
  case IR_S_NEG: return a->code == IR_S_NEG ? a->kids[0] : expr;
  case IR_S_MAD: {
    const ir_expr *c = expr->kids[2];
    if (is_float(c, -0.0)) return ir_make(s, IR_S_MUL, a, b);
    if (is_float(b, 1)) return ir_make(s, IR_S_ADD, a, c);
    return is_float(a, 1) ? ir_make(s, IR_S_ADD, b, c) : expr;
  }
  default: return expr;
  }
}
