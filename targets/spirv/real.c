// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/real.c - operators on floats, to the bit as ir/eval.c computes them (NaN bits of arithmetic aside). f16, bf16
 * and f8 compute in f32 and round once an operator. */
#include "targets/spirv/emit.h"

#include <math.h>

static sv_id compare(sv_function *f, SpvOp op, sv_id a, sv_id b) { return sv_binary(f, op, SV_BOOL, a, b); }

static sv_id unary(sv_function *f, enum GLSLstd450 instruction, sv_kind kind, sv_id a) { return sv_glsl(f, instruction, kind, 1, &a); }

/* --- on the bits: payloads of NaN stay, and nothing is flushed --- */

static sv_kind bits_kind(sv_kind kind) { return kind == SV_F64 ? SV_I64 : SV_I32; }

sv_id sv_bits(sv_function *f, sv_kind kind, sv_id value) { return sv_unary(f, SpvOpBitcast, bits_kind(kind), value); }

sv_id sv_from_bits(sv_function *f, sv_kind kind, sv_id bits) { return sv_unary(f, SpvOpBitcast, kind, bits); }

static int64_t sign_bit(sv_kind kind) { return kind == SV_F64 ? INT64_MIN : INT64_C(1) << 31; }

static int64_t infinity_bits(sv_kind kind) { return kind == SV_F64 ? INT64_C(0x7ff) << 52 : 0x7f800000; }

static sv_id magnitude(sv_function *f, sv_kind kind, sv_id value) {
  return sv_binary(f, SpvOpBitwiseAnd, bits_kind(kind), sv_bits(f, kind, value), sv_int(f->module, bits_kind(kind), ~sign_bit(kind)));
}

static sv_id copy_sign(sv_function *f, sv_kind kind, sv_id a, sv_id b) {
  sv_kind integer = bits_kind(kind);
  sv_id from = sv_binary(f, SpvOpBitwiseAnd, integer, sv_bits(f, kind, b), sv_int(f->module, integer, sign_bit(kind)));
  return sv_from_bits(f, kind, sv_binary(f, SpvOpBitwiseOr, integer, magnitude(f, kind, a), from));
}

static sv_id negate(sv_function *f, sv_kind kind, sv_id a) {
  sv_kind integer = bits_kind(kind);
  return sv_from_bits(f, kind, sv_binary(f, SpvOpBitwiseXor, integer, sv_bits(f, kind, a), sv_int(f->module, integer, sign_bit(kind))));
}

static sv_id test(sv_function *f, ir_scalar_code code, sv_kind kind, sv_id a) {
  SpvOp op = code == IR_S_ISNAN ? SpvOpUGreaterThan : code == IR_S_ISINF ? SpvOpIEqual : SpvOpULessThan;
  return compare(f, op, magnitude(f, kind, a), sv_int(f->module, bits_kind(kind), infinity_bits(kind)));
}

/* --- zeros --- */

/* No workgroup has a number with the highest bit: that bit of it is +0.0. */
static sv_id hidden_zero(sv_function *f) {
  if (f->zero) return f->zero;
  sv_words body = f->body;
  f->body = (sv_words){0};
  sv_id group = sv_built_in(f, SpvBuiltInWorkgroupId, 0);
  f->zero = sv_from_bits(f, SV_F32, sv_binary(f, SpvOpBitwiseAnd, SV_I32, group, sv_int(f->module, SV_I32, sign_bit(SV_F32))));
  f->start = f->body;
  f->body = body;
  return f->zero;
}

sv_id sv_operand(sv_function *f, ir_dtype dtype, uint64_t bits) {
  double value = ir_is_float(dtype) ? ir_float_from_bits(dtype, bits) : 1;
  if (value != 0 || !f->kernel) return sv_constant(f->module, dtype, bits);
  sv_id zero = hidden_zero(f);
  if (dtype == IR_F64) zero = sv_unary(f, SpvOpFConvert, SV_F64, zero);
  return signbit(value) ? negate(f, sv_kind_of(dtype), zero) : zero;
}

/* --- division rounded down: NumPy's definition, which is Python's where the divisor is not 0 --- */

/* The remainder is not 0 and the divisor has the other sign. */
static sv_id signs_differ(sv_function *f, sv_kind kind, sv_id rest, sv_id b) {
  sv_id zero = sv_real(f->module, kind, 0);
  sv_id differ = compare(f, SpvOpLogicalNotEqual, compare(f, SpvOpFOrdLessThan, b, zero), compare(f, SpvOpFOrdLessThan, rest, zero));
  return compare(f, SpvOpLogicalAnd, differ, compare(f, SpvOpFUnordNotEqual, rest, zero));
}

static sv_id remainder_of(sv_function *f, sv_kind kind, sv_id a, sv_id b) {
  return sv_call(f, kind, sv_fmod(f->module, kind), 2, (const sv_id[]){a, b});
}

static sv_id floor_mod(sv_function *f, sv_kind kind, sv_id a, sv_id b) {
  sv_id zero = sv_real(f->module, kind, 0), rest = remainder_of(f, kind, a, b);
  sv_id moved = sv_choose(f, kind, signs_differ(f, kind, rest, b), sv_binary(f, SpvOpFAdd, kind, rest, b), rest);
  sv_id whole = sv_choose(f, kind, compare(f, SpvOpFOrdEqual, rest, zero), copy_sign(f, kind, zero, b), moved);
  return sv_choose(f, kind, compare(f, SpvOpFOrdEqual, b, zero), rest, whole);
}

static sv_id floor_div(sv_function *f, sv_kind kind, sv_id a, sv_id b) {
  sv_module *m = f->module;
  sv_id zero = sv_real(m, kind, 0), one = sv_real(m, kind, 1), rest = remainder_of(f, kind, a, b);
  sv_id quotient = sv_binary(f, SpvOpFDiv, kind, sv_binary(f, SpvOpFSub, kind, a, rest), b);
  quotient = sv_choose(f, kind, signs_differ(f, kind, rest, b), sv_binary(f, SpvOpFSub, kind, quotient, one), quotient);
  sv_id down = unary(f, GLSLstd450Floor, kind, quotient);
  sv_id far = compare(f, SpvOpFOrdGreaterThan, sv_binary(f, SpvOpFSub, kind, quotient, down), sv_real(m, kind, 0.5));
  sv_id near = sv_choose(f, kind, far, sv_binary(f, SpvOpFAdd, kind, down, one), down);
  sv_id plain = sv_binary(f, SpvOpFDiv, kind, a, b);
  sv_id whole = sv_choose(f, kind, compare(f, SpvOpFOrdEqual, quotient, zero), copy_sign(f, kind, zero, plain), near);
  return sv_choose(f, kind, compare(f, SpvOpFOrdEqual, b, zero), plain, whole);
}

/* --- comparisons and what chooses by them: minimum and maximum instructions may drop NaN --- */

static sv_id extreme(sv_function *f, SpvOp wins, sv_kind kind, sv_id a, sv_id b) {
  sv_id better = sv_choose(f, kind, compare(f, wins, a, b), a, b);
  return sv_choose(f, kind, compare(f, SpvOpFUnordNotEqual, a, a), a, better);
}

static sv_id sign(sv_function *f, sv_kind kind, sv_id a) {
  sv_id zero = sv_real(f->module, kind, 0);
  sv_id below = sv_choose(f, kind, compare(f, SpvOpFOrdLessThan, a, zero), sv_real(f->module, kind, -1), a);
  return sv_choose(f, kind, compare(f, SpvOpFOrdGreaterThan, a, zero), sv_real(f->module, kind, 1), below);
}

static SpvOp comparison(ir_scalar_code code) {
  switch ((int)code) {
  case IR_S_EQ: return SpvOpFOrdEqual;
  case IR_S_NE: return SpvOpFUnordNotEqual;
  case IR_S_LT: return SpvOpFOrdLessThan;
  case IR_S_LE: return SpvOpFOrdLessThanEqual;
  case IR_S_GT: return SpvOpFOrdGreaterThan;
  case IR_S_GE: return SpvOpFOrdGreaterThanEqual;
  default: return SpvOpNop;
  }
}

/* --- f64 to whole numbers: drivers lose the sign of zero there --- */

/* The bits below the point are cleared. */
static sv_id whole_f64(sv_function *f, sv_id a) {
  sv_module *m = f->module;
  enum { BIAS = 1023, MANTISSA = 52 };
  sv_id bits = sv_bits(f, SV_F64, a), zero = sv_int(m, SV_I64, 0), most = sv_int(m, SV_I64, BIAS + MANTISSA);
  sv_id field = sv_binary(f, SpvOpBitwiseAnd, SV_I64, sv_binary(f, SpvOpShiftRightLogical, SV_I64, bits, sv_int(m, SV_I64, MANTISSA)), sv_int(m, SV_I64, 0x7ff));
  sv_id is_small = compare(f, SpvOpULessThan, field, sv_int(m, SV_I64, BIAS)), is_whole = compare(f, SpvOpUGreaterThanEqual, field, most);
  sv_id below = sv_choose(f, SV_I64, compare(f, SpvOpLogicalOr, is_small, is_whole), zero, sv_binary(f, SpvOpISub, SV_I64, most, field));
  sv_id kept = sv_binary(f, SpvOpBitwiseAnd, SV_I64, bits, sv_binary(f, SpvOpShiftLeftLogical, SV_I64, sv_int(m, SV_I64, -1), below));
  sv_id sign = sv_binary(f, SpvOpBitwiseAnd, SV_I64, bits, sv_int(m, SV_I64, INT64_MIN));
  return sv_from_bits(f, SV_F64, sv_choose(f, SV_I64, is_small, sign, kept));
}

/* The sum with 2^52 has no bits below the point. */
static sv_id nearest_f64(sv_function *f, sv_id a) {
  sv_id size = sv_from_bits(f, SV_F64, magnitude(f, SV_F64, a)), large = sv_real(f->module, SV_F64, 0x1p52);
  sv_id near = sv_binary(f, SpvOpFSub, SV_F64, sv_binary(f, SpvOpFAdd, SV_F64, size, large), large);
  return sv_choose(f, SV_F64, compare(f, SpvOpFOrdLessThan, size, large), copy_sign(f, SV_F64, near, a), a);
}

/* f32 and f64 only. */
static sv_id arithmetic(sv_function *f, ir_scalar_code code, sv_kind kind, const sv_id *in) {
  switch ((int)code) {
  case IR_S_ADD: return sv_binary(f, SpvOpFAdd, kind, in[0], in[1]);
  case IR_S_SUB: return sv_binary(f, SpvOpFSub, kind, in[0], in[1]);
  case IR_S_MUL: return sv_binary(f, SpvOpFMul, kind, in[0], in[1]);
  case IR_S_DIV: return sv_binary(f, SpvOpFDiv, kind, in[0], in[1]);
  case IR_S_TRUNCMOD: return remainder_of(f, kind, in[0], in[1]);
  case IR_S_FLOORMOD: return floor_mod(f, kind, in[0], in[1]);
  case IR_S_FLOORDIV: return floor_div(f, kind, in[0], in[1]);
  case IR_S_FMA: return sv_glsl(f, GLSLstd450Fma, kind, 3, in);
  case IR_S_FLOOR: return unary(f, GLSLstd450Floor, kind, in[0]);
  case IR_S_CEIL: return unary(f, GLSLstd450Ceil, kind, in[0]);
  case IR_S_TRUNC: return kind == SV_F64 ? whole_f64(f, in[0]) : unary(f, GLSLstd450Trunc, kind, in[0]);
  case IR_S_RINT: return kind == SV_F64 ? nearest_f64(f, in[0]) : unary(f, GLSLstd450RoundEven, kind, in[0]);
  case IR_S_SQRT: return unary(f, GLSLstd450Sqrt, kind, in[0]);
  default: return 0;
  }
}

/* What makes no new number: a narrow result needs no rounding. */
static sv_id choice(sv_function *f, ir_scalar_code code, sv_kind kind, const sv_id *in) {
  switch ((int)code) {
  case IR_S_NEG: return negate(f, kind, in[0]);
  case IR_S_ABS: return sv_from_bits(f, kind, magnitude(f, kind, in[0]));
  case IR_S_COPYSIGN: return copy_sign(f, kind, in[0], in[1]);
  case IR_S_MIN: return extreme(f, SpvOpFOrdLessThan, kind, in[0], in[1]);
  case IR_S_MAX: return extreme(f, SpvOpFOrdGreaterThan, kind, in[0], in[1]);
  case IR_S_SIGN: return sign(f, kind, in[0]);
  case IR_S_ISNAN:
  case IR_S_ISINF:
  case IR_S_ISFINITE: return test(f, code, kind, in[0]);
  default: break;
  }
  SpvOp compares = comparison(code);
  return compares == SpvOpNop ? 0 : compare(f, compares, in[0], in[1]);
}

sv_id sv_real_operator(sv_function *f, ir_scalar_code code, ir_dtype dtype, const sv_id *in) {
  sv_kind kind = sv_kind_of(dtype);
  if (code == IR_S_MAD && !f->module->fma) {
    sv_id product = sv_real_operator(f, IR_S_MUL, dtype, in);
    return sv_real_operator(f, IR_S_ADD, dtype, (const sv_id[]){product, in[2]});
  }
  sv_id chosen = choice(f, code, kind, in);
  if (chosen) return chosen;
  sv_id result = arithmetic(f, code == IR_S_MAD ? IR_S_FMA : code, kind, in);
  return result ? sv_round(f, dtype, result) : 0;
}
