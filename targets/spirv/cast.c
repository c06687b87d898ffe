// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/cast.c - conversions between dtypes, and between registers and memory. Narrow floats are taken apart with
 * integers: no device feature is needed for them, and no device flushes their denormals. */
#include "targets/spirv/emit.h"

#include <math.h>

static sv_id compare(sv_function *f, SpvOp op, sv_id a, sv_id b) { return sv_binary(f, op, SV_BOOL, a, b); }

static sv_id word(sv_function *f, uint64_t value) { return sv_word(f->module, (uint32_t)value); }

static sv_id integer(sv_function *f, SpvOp op, sv_id a, sv_id b) { return sv_binary(f, op, SV_I32, a, b); }

/* --- narrow floats in f32 --- */

struct format {
  unsigned width, mantissa;
  int bias;
  uint32_t top; /* the bits of infinity, or of the only NaN */
};

static struct format format_of(ir_dtype dtype) {
  unsigned width = ir_dtypes[dtype].bits, mantissa = sv_mantissa(dtype), exponent = width - 1 - mantissa;
  uint32_t ones = (UINT32_C(1) << (width - 1)) - 1, fraction = (UINT32_C(1) << mantissa) - 1;
  return (struct format){width, mantissa, (1 << (exponent - 1)) - 1, dtype == IR_F8E4M3 ? ones : ones ^ fraction};
}

/* Denormals are a number of smallest steps, normal numbers get another bias. */
static sv_id widen_body(sv_function *f, ir_dtype dtype, sv_id bits) {
  struct format m = format_of(dtype);
  sv_id size = integer(f, SpvOpBitwiseAnd, bits, word(f, (UINT32_C(1) << (m.width - 1)) - 1));
  sv_id sign = integer(f, SpvOpShiftLeftLogical, integer(f, SpvOpShiftRightLogical, bits, word(f, m.width - 1)), word(f, 31));
  sv_id moved = integer(f, SpvOpShiftLeftLogical, size, word(f, 23 - m.mantissa));
  sv_id normal = integer(f, SpvOpIAdd, moved, word(f, (uint64_t)(127 - m.bias) << 23));
  sv_id steps = sv_unary(f, SpvOpConvertUToF, SV_F32, size);
  sv_id small = sv_bits(f, SV_F32, sv_binary(f, SpvOpFMul, SV_F32, steps, sv_real(f->module, SV_F32, ldexp(1, 1 - m.bias - (int)m.mantissa))));
  sv_id special = integer(f, SpvOpBitwiseOr, moved, word(f, 0x7f800000));
  sv_id is_small = compare(f, SpvOpULessThan, size, word(f, UINT32_C(1) << m.mantissa));
  sv_id is_special = compare(f, SpvOpUGreaterThanEqual, size, word(f, m.top));
  sv_id result = sv_choose(f, SV_I32, is_small, small, sv_choose(f, SV_I32, is_special, special, normal));
  return sv_from_bits(f, SV_F32, integer(f, SpvOpBitwiseOr, result, sign));
}

/* A NaN keeps the upper bits of its payload; where these are 0 it becomes the quiet one. */
static sv_id narrow_nan(sv_function *f, struct format m, sv_id size) {
  sv_id kept = integer(f, SpvOpBitwiseAnd, integer(f, SpvOpShiftRightLogical, size, word(f, 23 - m.mantissa)), word(f, (UINT32_C(1) << m.mantissa) - 1));
  sv_id none = compare(f, SpvOpIEqual, kept, word(f, 0));
  sv_id payload = sv_choose(f, SV_I32, none, word(f, UINT32_C(1) << (m.mantissa - 1)), kept);
  return integer(f, SpvOpBitwiseOr, payload, word(f, m.top));
}

/* To the nearest, half to even: (SIZE + half - 1 + last bit) without the bits that are dropped. */
static sv_id rounded_shift(sv_function *f, sv_id size, unsigned drop) {
  sv_id odd = integer(f, SpvOpBitwiseAnd, integer(f, SpvOpShiftRightLogical, size, word(f, drop)), word(f, 1));
  sv_id raised = integer(f, SpvOpIAdd, integer(f, SpvOpIAdd, size, word(f, (UINT32_C(1) << (drop - 1)) - 1)), odd);
  return integer(f, SpvOpShiftRightLogical, raised, word(f, drop));
}

/* Rounds with integers where the result is normal; where not, by adding a number whose last bit is that of denormals. */
static sv_id narrow_body(sv_function *f, ir_dtype dtype, sv_id value) {
  struct format m = format_of(dtype);
  sv_id bits = sv_bits(f, SV_F32, value), size = integer(f, SpvOpBitwiseAnd, bits, word(f, 0x7fffffff));
  sv_id result = rounded_shift(f, size, 23 - m.mantissa);
  if (m.bias < 127) {
    double carrier = ldexp(1, 1 - m.bias - (int)m.mantissa + 23);
    sv_id normal = integer(f, SpvOpISub, result, word(f, (uint64_t)(127 - m.bias) << m.mantissa));
    sv_id sum = sv_binary(f, SpvOpFAdd, SV_F32, sv_from_bits(f, SV_F32, size), sv_real(f->module, SV_F32, carrier));
    sv_id small = integer(f, SpvOpISub, sv_bits(f, SV_F32, sum), word(f, ir_float_to_bits(IR_F32, carrier)));
    sv_id is_small = compare(f, SpvOpULessThan, size, word(f, (uint64_t)(128 - m.bias) << 23));
    sv_id is_large = compare(f, SpvOpUGreaterThanEqual, normal, word(f, m.top));
    result = sv_choose(f, SV_I32, is_small, small, sv_choose(f, SV_I32, is_large, word(f, m.top), normal));
  }
  sv_id is_nan = compare(f, SpvOpUGreaterThan, size, word(f, 0x7f800000));
  result = sv_choose(f, SV_I32, is_nan, dtype == IR_F8E4M3 ? word(f, m.top) : narrow_nan(f, m, size), result);
  sv_id sign = integer(f, SpvOpShiftLeftLogical, integer(f, SpvOpShiftRightLogical, bits, word(f, 31)), word(f, m.width - 1));
  return integer(f, SpvOpBitwiseOr, result, sign);
}

/* Long enough to be a function, of one operand. */
static sv_id called(sv_function *f, const char *what, ir_dtype dtype, sv_kind to, sv_kind from, sv_id in, sv_id (*body)(sv_function *, ir_dtype, sv_id)) {
  sv_module *m = f->module;
  const char *name = ir_arena_printf(m->arena, "%s_%s", what, ir_dtype_name(dtype));
  sv_id function = sv_helper(m, name);
  if (!function) {
    sv_function inner = {0};
    sv_id type = sv_type(m, from), argument;
    sv_function_begin(&inner, m, sv_type(m, to), 1, &type, &argument);
    sv_id result = body(&inner, dtype, argument);
    sv_do(&inner, SpvOpReturnValue, 1, &result);
    sv_function_end(&inner);
    function = inner.id;
    sv_helper_is(m, name, function);
  }
  return sv_call(f, to, function, 1, &in);
}

sv_id sv_widen(sv_function *f, ir_dtype dtype, sv_id bits) {
  if (dtype == IR_BF16) return sv_from_bits(f, SV_F32, integer(f, SpvOpShiftLeftLogical, bits, word(f, 16)));
  return called(f, "widen", dtype, SV_F32, SV_I32, bits, widen_body);
}

sv_id sv_narrow(sv_function *f, ir_dtype dtype, sv_id value) { return called(f, "narrow", dtype, SV_I32, SV_F32, value, narrow_body); }

sv_id sv_round(sv_function *f, ir_dtype dtype, sv_id value) { return sv_is_narrow(dtype) ? sv_widen(f, dtype, sv_narrow(f, dtype, value)) : value; }

/* f64 as f32 rounded to odd: toward zero, then the last bit is set where something was lost. Rounding that again to fewer
 * than 23 bits gives what one rounding would. */
static sv_id narrow_to_odd(sv_function *f, sv_id value) {
  sv_id nearest = sv_unary(f, SpvOpFConvert, SV_F32, value), back = sv_unary(f, SpvOpFConvert, SV_F64, nearest);
  sv_id lost = compare(f, SpvOpFOrdNotEqual, back, value);
  sv_id mask = sv_int(f->module, SV_I64, INT64_MAX);
  sv_id size = sv_binary(f, SpvOpBitwiseAnd, SV_I64, sv_bits(f, SV_F64, value), mask);
  sv_id reached = sv_binary(f, SpvOpBitwiseAnd, SV_I64, sv_bits(f, SV_F64, back), mask);
  sv_id above = compare(f, SpvOpLogicalAnd, lost, compare(f, SpvOpUGreaterThan, reached, size));
  sv_id bits = integer(f, SpvOpISub, sv_bits(f, SV_F32, nearest), sv_choose(f, SV_I32, above, word(f, 1), word(f, 0)));
  return sv_from_bits(f, SV_F32, integer(f, SpvOpBitwiseOr, bits, sv_choose(f, SV_I32, lost, word(f, 1), word(f, 0))));
}

static sv_id float_to_float(sv_function *f, sv_id value, ir_dtype from, ir_dtype to) {
  if (to == IR_F64) return sv_unary(f, SpvOpFConvert, SV_F64, value);
  if (from != IR_F64) return sv_round(f, to, value);
  return to == IR_F32 ? sv_unary(f, SpvOpFConvert, SV_F32, value) : sv_round(f, to, narrow_to_odd(f, value));
}

/* --- integers --- */

/* Integers become narrow floats by way of f32, as those compute. */
static sv_id integer_to_float(sv_function *f, sv_id value, ir_dtype from, ir_dtype to) {
  sv_kind kind = sv_kind_of(to);
  return sv_round(f, to, sv_unary(f, ir_is_signed(from) ? SpvOpConvertSToF : SpvOpConvertUToF, kind, value));
}

/* Saturates; NaN gives 0. What is out of range is not converted: that is undefined. */
static sv_id float_to_integer(sv_function *f, sv_id value, ir_dtype from, ir_dtype to) {
  sv_module *m = f->module;
  sv_kind real = sv_kind_of(from), kind = sv_kind_of(to);
  bool is_signed = ir_is_signed(to);
  int bits = ir_dtypes[to].bits, digits = is_signed ? bits - 1 : bits;
  sv_id least = sv_real(m, real, is_signed ? -ldexp(1, digits) : 0), past = sv_real(m, real, ldexp(1, digits));
  sv_id below = compare(f, SpvOpFOrdLessThan, value, least), above = compare(f, SpvOpFOrdGreaterThanEqual, value, past);
  sv_id inside = compare(f, SpvOpLogicalAnd, compare(f, SpvOpFOrdGreaterThanEqual, value, least), compare(f, SpvOpFOrdLessThan, value, past));
  sv_id safe = sv_choose(f, real, inside, value, sv_real(m, real, 0));
  sv_id whole = sv_unary(f, is_signed ? SpvOpConvertFToS : SpvOpConvertFToU, kind, safe);
  int64_t lowest = is_signed ? (int64_t)(UINT64_MAX << digits) : 0, highest = (int64_t)(UINT64_MAX >> (64 - digits));
  sv_id low = sv_choose(f, kind, below, sv_int(m, kind, lowest), whole);
  return sv_choose(f, kind, above, sv_int(m, kind, highest), low);
}

static sv_id integer_to_integer(sv_function *f, sv_id value, ir_dtype from, ir_dtype to) {
  sv_kind have = sv_kind_of(from), want = sv_kind_of(to);
  if (have != want) value = sv_unary(f, want == SV_I64 && ir_is_signed(from) ? SpvOpSConvert : SpvOpUConvert, want, value);
  return sv_wrap(f, to, value);
}

static sv_id from_bool(sv_function *f, sv_id value, ir_dtype to) {
  sv_kind kind = sv_kind_of(to);
  if (ir_is_float(to)) return sv_choose(f, kind, value, sv_real(f->module, kind, 1), sv_real(f->module, kind, 0));
  return sv_choose(f, kind, value, sv_int(f->module, kind, 1), sv_int(f->module, kind, 0));
}

static sv_id to_bool(sv_function *f, sv_id value, ir_dtype from) {
  sv_kind kind = sv_kind_of(from);
  if (!ir_is_float(from)) return compare(f, SpvOpINotEqual, value, sv_int(f->module, kind, 0));
  return compare(f, SpvOpFUnordNotEqual, value, sv_real(f->module, kind, 0)); /* NaN is true */
}

sv_id sv_convert(sv_function *f, sv_id value, ir_dtype from, ir_dtype to) {
  if (from == to) return value;
  if (from == IR_BOOL) return from_bool(f, value, to);
  if (to == IR_BOOL) return to_bool(f, value, from);
  if (ir_is_float(from)) return ir_is_float(to) ? float_to_float(f, value, from, to) : float_to_integer(f, value, from, to);
  return ir_is_float(to) ? integer_to_float(f, value, from, to) : integer_to_integer(f, value, from, to);
}

/* --- bits --- */

/* The bits of VALUE in an integer register, upper ones undefined where the dtype is narrower. */
static sv_id raw(sv_function *f, sv_id value, ir_dtype dtype) {
  if (dtype == IR_BOOL) return from_bool(f, value, IR_U8);
  if (sv_is_narrow(dtype)) return sv_narrow(f, dtype, value);
  return ir_is_float(dtype) ? sv_bits(f, sv_kind_of(dtype), value) : value;
}

/* What DTYPE's register holds for these bits, whatever stands above them. */
static sv_id cooked(sv_function *f, sv_id bits, ir_dtype dtype) {
  if (dtype == IR_BOOL) return compare(f, SpvOpINotEqual, integer(f, SpvOpBitwiseAnd, bits, word(f, 255)), word(f, 0));
  if (sv_is_narrow(dtype)) return sv_widen(f, dtype, sv_wrap(f, ir_dtypes[dtype].bits == 8 ? IR_U8 : IR_U16, bits));
  return ir_is_float(dtype) ? sv_from_bits(f, sv_kind_of(dtype), bits) : sv_wrap(f, dtype, bits);
}

sv_id sv_bitcast(sv_function *f, sv_id value, ir_dtype from, ir_dtype to) { return from == to ? value : cooked(f, raw(f, value, from), to); }

/* --- memory --- */

sv_id sv_from_memory(sv_function *f, ir_dtype dtype, sv_id value) {
  if (ir_dtypes[dtype].bits >= 32) return value;
  sv_id wide = sv_unary(f, ir_is_signed(dtype) ? SpvOpSConvert : SpvOpUConvert, SV_I32, value);
  if (dtype == IR_BOOL) return compare(f, SpvOpINotEqual, wide, word(f, 0));
  return sv_is_narrow(dtype) ? sv_widen(f, dtype, wide) : wide;
}

sv_id sv_to_memory(sv_function *f, ir_dtype dtype, sv_id value) {
  if (ir_dtypes[dtype].bits >= 32) return value;
  const sv_id wide = raw(f, value, dtype);
  return sv_emit(f, SpvOpUConvert, sv_stored_type(f->module, dtype), 1, &wide);
}
