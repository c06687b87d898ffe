// SPDX-License-Identifier: Apache-2.0
/* ir/eval.c - what scalar operators compute, on the bits of one element. Needs ir/dtype, ir/formula for expansions. */
#include "ir/eval.h"

#include "base/checked.h"
#include "ir/formula.h"

#include <math.h>

typedef struct ir_scalar_call {
  ir_scalar_code code;
  ir_dtype operand, result;
  bool fma;
  const uint64_t *in;
} ir_scalar_call;

/* --- integers --- */

static uint64_t divide_unsigned(ir_scalar_code code, uint64_t a, uint64_t b) {
  if (!b) return 0;
  switch ((int)code) {
  case IR_S_TRUNCMOD:
  case IR_S_FLOORMOD: return a % b;
  case IR_S_CEILDIV: return a / b + (a % b != 0);
  default: return a / b;
  }
}

static int64_t divide_signed(ir_scalar_code code, int64_t a, int64_t b) {
  bool remainder = code == IR_S_TRUNCMOD || code == IR_S_FLOORMOD;
  if (!b) return 0;
  if (b == -1) return remainder ? 0 : (int64_t)(0 - (uint64_t)a);
  switch ((int)code) {
  case IR_S_TRUNCMOD: return a % b;
  case IR_S_FLOORMOD: return ir_floormod_i64(a, b);
  case IR_S_CEILDIV: return ir_ceildiv_i64(a, b);
  case IR_S_FLOORDIV: return ir_floordiv_i64(a, b);
  default: return a / b;
  }
}

static uint64_t shifted(const ir_scalar_call *call, int64_t a, uint64_t amount) {
  unsigned width = ir_dtypes[call->operand].bits;
  bool left = call->code == IR_S_SHL;
  if (amount >= width) return !left && a < 0 && ir_is_signed(call->operand) ? ~UINT64_C(0) : 0;
  if (left) return (uint64_t)a << amount;
  return ir_is_signed(call->operand) ? (uint64_t)(a >> amount) : (uint64_t)a >> amount;
}

/* The low bits of the result, not yet cut to the dtype. A and B are extended to 64 bits as the dtype says. */
static bool integer_value(const ir_scalar_call *call, uint64_t *value) {
  int arity = ir_scalars[call->code].arity;
  int64_t a = ir_int_from_bits(call->operand, call->in[0]);
  int64_t b = arity > 1 ? ir_int_from_bits(call->operand, call->in[1]) : 0;
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  bool is_signed = ir_is_signed(call->operand), less = is_signed ? a < b : x < y;
  switch ((int)call->code) {
  case IR_S_ADD: *value = x + y; return true;
  case IR_S_SUB: *value = x - y; return true;
  case IR_S_MUL: *value = x * y; return true;
  case IR_S_MAD: *value = x * y + (uint64_t)ir_int_from_bits(call->operand, call->in[2]); return true;
  case IR_S_NEG: *value = 0 - x; return true;
  case IR_S_TRUNCDIV:
  case IR_S_FLOORDIV:
  case IR_S_CEILDIV:
  case IR_S_TRUNCMOD:
  case IR_S_FLOORMOD:
    *value = is_signed ? (uint64_t)divide_signed(call->code, a, b) : divide_unsigned(call->code, x, y);
    return true;
  case IR_S_MIN: *value = less ? x : y; return true;
  case IR_S_MAX: *value = less ? y : x; return true;
  case IR_S_BCAST: *value = a == 1 ? y : x; return true;
  case IR_S_SHL:
  case IR_S_SHR: *value = shifted(call, a, call->in[1]); return true;
  case IR_S_BITAND: *value = x & y; return true;
  case IR_S_BITOR: *value = x | y; return true;
  case IR_S_BITXOR: *value = x ^ y; return true;
  case IR_S_BITNOT: *value = call->operand == IR_BOOL ? !x : ~x; return true;
  case IR_S_ABS: *value = is_signed && a < 0 ? 0 - x : x; return true;
  case IR_S_SIGN: *value = !x ? 0 : is_signed && a < 0 ? ~UINT64_C(0) : 1; return true;
  case IR_S_EQ: *value = x == y; return true;
  case IR_S_NE: *value = x != y; return true;
  case IR_S_LT: *value = less; return true;
  case IR_S_GE: *value = !less; return true;
  case IR_S_GT: *value = !less && x != y; return true;
  case IR_S_LE: *value = less || x == y; return true;
  case IR_S_AND: *value = x && y; return true;
  case IR_S_OR: *value = x || y; return true;
  case IR_S_NOT: *value = !x; return true;
  default: return false;
  }
}

/* --- floats: f64 in double, everything else in float, rounded once at the end --- */

/* NumPy's definition, which is Python's where the divisor is not 0. */
#define DEFINE_DIVISION(suffix, real, FMOD, FLOOR, COPYSIGN) \
  static real floormod_##suffix(real a, real b) { \
    real rest = FMOD(a, b); \
    if (b == 0) return rest; \
    if (rest == 0) return COPYSIGN(0, b); \
    return (b < 0) != (rest < 0) ? rest + b : rest; \
  } \
  static real floordiv_##suffix(real a, real b) { \
    if (b == 0) return a / b; \
    real rest = FMOD(a, b), quotient = (a - rest) / b; \
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1; \
    if (quotient == 0) return COPYSIGN(0, a / b); \
    real whole = FLOOR(quotient); \
    return quotient - whole > (real)0.5 ? whole + 1 : whole; \
  }
DEFINE_DIVISION(f32, float, fmodf, floorf, copysignf)
DEFINE_DIVISION(f64, double, fmod, floor, copysign)

#define DEFINE_ARITHMETIC(suffix, real, FMOD, FLOOR, CEIL, TRUNC, RINT, SQRT, FMA) \
  static bool arithmetic_##suffix(ir_scalar_code code, real a, real b, real c, real *value) { \
    switch ((int)code) { \
    case IR_S_ADD: *value = a + b; return true; \
    case IR_S_SUB: *value = a - b; return true; \
    case IR_S_MUL: *value = a * b; return true; \
    case IR_S_DIV: *value = a / b; return true; \
    case IR_S_FLOORDIV: *value = floordiv_##suffix(a, b); return true; \
    case IR_S_FLOORMOD: *value = floormod_##suffix(a, b); return true; \
    case IR_S_TRUNCMOD: *value = FMOD(a, b); return true; \
    case IR_S_FMA: *value = FMA(a, b, c); return true; \
    case IR_S_FLOOR: *value = FLOOR(a); return true; \
    case IR_S_CEIL: *value = CEIL(a); return true; \
    case IR_S_TRUNC: *value = TRUNC(a); return true; \
    case IR_S_RINT: *value = RINT(a); return true; \
    case IR_S_SQRT: *value = SQRT(a); return true; \
    default: return false; \
    } \
  }
DEFINE_ARITHMETIC(f32, float, fmodf, floorf, ceilf, truncf, rintf, sqrtf, fmaf)
DEFINE_ARITHMETIC(f64, double, fmod, floor, ceil, trunc, rint, sqrt, fma)

static bool float_arithmetic(ir_dtype dtype, ir_scalar_code code, uint64_t p, uint64_t q, uint64_t r, uint64_t *value) {
  double a = ir_float_from_bits(dtype, p), b = ir_float_from_bits(dtype, q), c = ir_float_from_bits(dtype, r), wide;
  float narrow;
  if (dtype == IR_F64) {
    if (!arithmetic_f64(code, a, b, c, &wide)) return false;
    *value = ir_float_to_bits(IR_F64, wide);
    return true;
  }
  if (!arithmetic_f32(code, (float)a, (float)b, (float)c, &narrow)) return false;
  *value = ir_float_to_bits_f32(dtype, narrow);
  return true;
}

static bool float_value(const ir_scalar_call *call, uint64_t *value) {
  ir_dtype dtype = call->operand;
  int arity = ir_scalars[call->code].arity;
  uint64_t p = call->in[0], q = arity > 1 ? call->in[1] : 0, r = arity > 2 ? call->in[2] : 0;
  uint64_t sign = UINT64_C(1) << (ir_dtypes[dtype].bits - 1);
  double a = ir_float_from_bits(dtype, p), b = ir_float_from_bits(dtype, q);
  switch ((int)call->code) {
  case IR_S_NEG: *value = p ^ sign; return true;
  case IR_S_ABS: *value = p & ~sign; return true;
  case IR_S_COPYSIGN: *value = (p & ~sign) | (q & sign); return true;
  case IR_S_SIGN: *value = a > 0 ? ir_float_to_bits(dtype, 1) : a < 0 ? ir_float_to_bits(dtype, -1) : p; return true;
  case IR_S_MIN: *value = a < b || a != a ? p : q; return true;
  case IR_S_MAX: *value = a > b || a != a ? p : q; return true;
  case IR_S_EQ: *value = a == b; return true;
  case IR_S_NE: *value = a != b; return true;
  case IR_S_LT: *value = a < b; return true;
  case IR_S_LE: *value = a <= b; return true;
  case IR_S_GT: *value = a > b; return true;
  case IR_S_GE: *value = a >= b; return true;
  case IR_S_ISNAN: *value = a != a; return true;
  case IR_S_ISINF: *value = fabs(a) == INFINITY; return true;
  case IR_S_ISFINITE: *value = fabs(a) < INFINITY; return true;
  case IR_S_MAD:
    if (call->fma) return float_arithmetic(dtype, IR_S_FMA, p, q, r, value);
    return float_arithmetic(dtype, IR_S_MUL, p, q, 0, value) && float_arithmetic(dtype, IR_S_ADD, *value, r, 0, value);
  default: return float_arithmetic(dtype, call->code, p, q, r, value);
  }
}

/* --- conversions --- */

static int64_t saturated(ir_dtype to, double a) {
  if (a != a) return 0;
  unsigned width = ir_dtypes[to].bits - ir_is_signed(to);
  double most = (double)(UINT64_C(1) << (width - 1)) * 2, least = ir_is_signed(to) ? -most : 0; /* exact */
  if (a >= most) return width == 64 ? -1 : (int64_t)((UINT64_C(1) << width) - 1);
  if (a <= least) return ir_is_signed(to) ? (int64_t)(~UINT64_C(0) << width) : 0;
  return ir_is_signed(to) ? (int64_t)a : (int64_t)(uint64_t)a;
}

/* Integers become f16, bf16 and f8 by way of f32, as those compute; f64 becomes them in one rounding. */
static uint64_t float_of_integer(ir_dtype from, ir_dtype to, uint64_t bits) {
  int64_t a = ir_int_from_bits(from, bits);
  bool is_signed = ir_is_signed(from);
  if (to == IR_F64) return ir_float_to_bits(to, is_signed ? (double)a : (double)(uint64_t)a);
  return ir_float_to_bits_f32(to, is_signed ? (float)a : (float)(uint64_t)a);
}

static uint64_t cast_value(ir_dtype from, ir_dtype to, uint64_t bits) {
  if (from == to) return bits;
  if (!ir_is_float(from))
    return ir_is_float(to) ? float_of_integer(from, to, bits) : ir_int_to_bits(to, ir_int_from_bits(from, bits));
  double a = ir_float_from_bits(from, bits);
  if (ir_is_float(to)) return ir_float_to_bits(to, a);
  return to == IR_BOOL ? a != 0 : ir_int_to_bits(to, saturated(to, a));
}

/* --- expressions --- */

struct evaluation {
  ir_context *context;
  bool fma;
  const uint64_t *operands;
  ir_arena arena;
  ir_map done;
};

/* The value of an expansion of operands. */
static bool expansion_value(struct evaluation *e, const ir_expr *expr, uint64_t *value) {
  if (expr->code == IR_S_CONST || expr->code == IR_S_ARG) {
    *value = expr->code == IR_S_CONST ? expr->bits : e->operands[expr->arg];
    return true;
  }
  uint64_t *known = ir_map_get(&e->done, expr), in[3];
  if (known) {
    *value = *known;
    return true;
  }
  if (expr->count > 3) return false;
  for (size_t i = 0; i < expr->count; i++) {
    if (!expansion_value(e, expr->kids[i], &in[i])) return false;
  }
  bool selects = ir_scalars[expr->code].typing == IR_TYPING_SELECT;
  ir_dtype operand = (ir_dtype)expr->kids[selects ? 1 : 0]->dtype;
  if (!ir_scalar_eval(e->context, (ir_scalar_code)expr->code, operand, (ir_dtype)expr->dtype, e->fma, in, value))
    return false;
  known = ir_new(&e->arena, uint64_t);
  *known = *value;
  ir_map_put(&e->arena, &e->done, expr, known);
  return true;
}

static bool expanded_value(ir_context *context, const ir_scalar_call *call, uint64_t *value) {
  size_t count = (size_t)ir_scalars[call->code].arity;
  const ir_expr *operands[3];
  if (!context) return false;
  for (size_t i = 0; i < count; i++) operands[i] = ir_expr_arg(context, (uint32_t)i, call->operand, 1);
  const ir_expr *expansion = ir_expand(context, ir_expr_get(context, call->code, count, operands));
  if (!expansion) return false;
  struct evaluation e = {.context = context, .fma = call->fma, .operands = call->in};
  bool done = expansion_value(&e, expansion, value);
  ir_arena_free(&e.arena);
  return done;
}

bool ir_scalar_eval(ir_context *context, ir_scalar_code code, ir_dtype operand, ir_dtype result, bool fma,
                    const uint64_t *operands, uint64_t *value) {
  if (operand >= IR_DTYPE_COUNT) return false;
  ir_scalar_call call = {.code = code, .operand = operand, .result = result, .fma = fma, .in = operands};
  ir_scalar_typing typing = ir_scalars[code].typing;
  if (typing == IR_TYPING_LEAF || code == IR_S_BROADCAST || code == IR_S_RAMP) return false;
  if (typing == IR_TYPING_SELECT) {
    *value = operands[0] & 0xff ? operands[1] : operands[2];
    return true;
  }
  if (code == IR_S_BITCAST) {
    *value = operands[0];
    return true;
  }
  if (code == IR_S_CAST) {
    *value = cast_value(operand, result, operands[0]);
    return true;
  }
  if (ir_scalars[code].expanded) return expanded_value(context, &call, value);
  if (ir_is_float(operand)) return float_value(&call, value);
  if (!integer_value(&call, value)) return false;
  bool test = typing == IR_TYPING_COMPARE || typing == IR_TYPING_LOGIC;
  if (!test) *value = ir_int_to_bits(operand, (int64_t)*value);
  return true;
}

/* --- folding --- */

/* What 64-bit arithmetic on sizes would refuse. */
static bool overflows(const ir_expr *expr) {
  int64_t a = (int64_t)expr->kids[0]->bits, b = expr->count > 1 ? (int64_t)expr->kids[1]->bits : 0, out;
  switch ((int)expr->code) {
  case IR_S_ADD: return !ir_add_i64(a, b, &out);
  case IR_S_SUB: return !ir_sub_i64(a, b, &out);
  case IR_S_MUL: return !ir_mul_i64(a, b, &out);
  case IR_S_MAD: return !ir_mul_i64(a, b, &out) || !ir_add_i64(out, (int64_t)expr->kids[2]->bits, &out);
  case IR_S_NEG:
  case IR_S_ABS: return a == INT64_MIN;
  case IR_S_TRUNCDIV:
  case IR_S_FLOORDIV:
  case IR_S_CEILDIV: return a == INT64_MIN && b == -1;
  default: return false;
  }
}

static bool is_division(ir_scalar_code code) { return code >= IR_S_TRUNCDIV && code <= IR_S_FLOORMOD; }

const ir_expr *ir_expr_fold(ir_context *context, const ir_expr *expr) {
  ir_scalar_code code = (ir_scalar_code)expr->code;
  uint64_t in[3], value, fused;
  if (!expr->count || expr->count > 3 || ir_scalars[code].typing == IR_TYPING_LEAF || ir_scalars[code].expanded)
    return expr;
  for (size_t i = 0; i < expr->count; i++) {
    if (expr->kids[i]->code != IR_S_CONST || expr->kids[i]->lanes != expr->lanes) return expr;
    in[i] = expr->kids[i]->bits;
  }
  ir_dtype operand = (ir_dtype)expr->kids[ir_scalars[code].typing == IR_TYPING_SELECT ? 1 : 0]->dtype;
  if (operand == IR_I64 && overflows(expr)) return expr;
  if (!ir_is_float(operand) && is_division(code) && !in[1]) return expr;
  if (!ir_scalar_eval(context, code, operand, (ir_dtype)expr->dtype, false, in, &value)) return expr;
  if (code == IR_S_MAD && ir_scalar_eval(context, code, operand, operand, true, in, &fused) && fused != value)
    return expr;
  return ir_expr_const(context, (ir_dtype)expr->dtype, expr->lanes, value);
}
