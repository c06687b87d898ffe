// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/cast.c - conversions between element types. bf16, f8, and f16 on processors without instructions for it, are
 * computed with integers: the functions that LLVM would call are not in every libgcc. */
#include "targets/llvm/llvm.h"

#include <math.h>

#define B (f->builder)

/* --- narrow floats in f32 --- */

/* A format of at most 16 bits: a sign, an exponent with the usual bias, a mantissa. */
struct format {
  unsigned exponent, mantissa;
  bool finite_only; /* no infinities: one NaN, all ones */
};

static struct format format_of(ir_dtype dtype) {
  if (dtype == IR_F16) return (struct format){5, 10, false};
  return dtype == IR_F8E5M2 ? (struct format){5, 2, false} : (struct format){4, 3, true};
}

/* The bits without sign of the largest exponent with no mantissa, or of the only NaN. */
static uint64_t special_of(struct format m) {
  uint64_t ones = (UINT64_C(1) << (m.exponent + m.mantissa)) - 1;
  return m.finite_only ? ones : ones ^ ((UINT64_C(1) << m.mantissa) - 1);
}

static int bias_of(struct format m) { return (1 << (m.exponent - 1)) - 1; }

/* A power of two takes the exponent's bias from one format to the other, denormals included. */
static LLVMValueRef widen_by_integers(emit_function *f, LLVMValueRef value, struct format m) {
  unsigned width = 1 + m.exponent + m.mantissa;
  LLVMTypeRef wide = emit_type_like(f->unit->i32, value), real = emit_type_like(f->unit->f32, value);
  LLVMValueRef narrow = LLVMBuildBitCast(B, value, emit_type_like(width == 16 ? f->unit->i16 : f->unit->i8, value), "");
  narrow = LLVMBuildZExt(B, narrow, wide, "");
  LLVMValueRef sign = LLVMBuildShl(B, LLVMBuildLShr(B, narrow, emit_int_of(wide, width - 1), ""), emit_int_of(wide, 31), "");
  LLVMValueRef size = LLVMBuildAnd(B, narrow, emit_int_of(wide, (UINT64_C(1) << (width - 1)) - 1), "");
  LLVMValueRef bits = LLVMBuildShl(B, size, emit_int_of(wide, 23 - m.mantissa), "");
  LLVMValueRef scaled = LLVMBuildFMul(B, LLVMBuildBitCast(B, bits, real, ""), emit_real_of(real, ldexp(1, 127 - bias_of(m))), "");
  LLVMValueRef finite = LLVMBuildBitCast(B, scaled, wide, ""), other = LLVMBuildOr(B, bits, emit_int_of(wide, 0x7f800000), "");
  LLVMValueRef is_finite = LLVMBuildICmp(B, LLVMIntULT, size, emit_int_of(wide, special_of(m)), "");
  LLVMValueRef result = LLVMBuildOr(B, LLVMBuildSelect(B, is_finite, finite, other, ""), sign, "");
  return LLVMBuildBitCast(B, result, real, "");
}

/* Rounds to even with integers where the result is normal; where not, by adding a number whose last bit is that of denormals. */
static LLVMValueRef narrow_by_integers(emit_function *f, LLVMValueRef value, struct format m) {
  unsigned width = 1 + m.exponent + m.mantissa, drop = 23 - m.mantissa;
  float carrier = ldexpf(1, 1 - bias_of(m) - (int)m.mantissa + 23);
  uint32_t carrier_bits;
  memcpy(&carrier_bits, &carrier, sizeof carrier_bits);
  uint64_t top = special_of(m), nan = m.finite_only ? top : top | UINT64_C(1) << (m.mantissa - 1);
  LLVMTypeRef wide = emit_type_like(f->unit->i32, value), real = emit_type_like(f->unit->f32, value);
  LLVMValueRef bits = LLVMBuildBitCast(B, value, wide, ""), shift = emit_int_of(wide, drop);
  LLVMValueRef size = LLVMBuildAnd(B, bits, emit_int_of(wide, 0x7fffffff), "");
  LLVMValueRef odd = LLVMBuildAnd(B, LLVMBuildLShr(B, size, shift, ""), emit_int_of(wide, 1), "");
  LLVMValueRef rounded = LLVMBuildAdd(B, LLVMBuildAdd(B, size, emit_int_of(wide, (UINT64_C(1) << (drop - 1)) - 1), ""), odd, "");
  LLVMValueRef normal = LLVMBuildSub(B, LLVMBuildLShr(B, rounded, shift, ""), emit_int_of(wide, (uint64_t)(127 - bias_of(m)) << m.mantissa), "");
  LLVMValueRef sum = LLVMBuildFAdd(B, LLVMBuildBitCast(B, size, real, ""), emit_real_of(real, carrier), "");
  LLVMValueRef small = LLVMBuildSub(B, LLVMBuildBitCast(B, sum, wide, ""), emit_int_of(wide, carrier_bits), "");
  LLVMValueRef is_small = LLVMBuildICmp(B, LLVMIntULT, size, emit_int_of(wide, (uint64_t)(128 - bias_of(m)) << 23), "");
  LLVMValueRef is_large = LLVMBuildICmp(B, LLVMIntUGE, normal, emit_int_of(wide, top), "");
  LLVMValueRef is_nan = LLVMBuildICmp(B, LLVMIntUGT, size, emit_int_of(wide, 0x7f800000), "");
  LLVMValueRef result = LLVMBuildSelect(B, is_small, small, LLVMBuildSelect(B, is_large, emit_int_of(wide, top), normal, ""), "");
  result = LLVMBuildSelect(B, is_nan, emit_int_of(wide, nan), result, "");
  LLVMValueRef sign = LLVMBuildShl(B, LLVMBuildLShr(B, bits, emit_int_of(wide, 31), ""), emit_int_of(wide, width - 1), "");
  return LLVMBuildTrunc(B, LLVMBuildOr(B, result, sign, ""), emit_type_like(width == 16 ? f->unit->i16 : f->unit->i8, value), "");
}

LLVMValueRef emit_widen(emit_function *f, LLVMValueRef value, ir_dtype dtype) {
  bool half = dtype == IR_F16 && f->unit->target->halves;
  if (!half && ir_is_float(dtype) && ir_dtypes[dtype].bits < 32 && dtype != IR_BF16) return widen_by_integers(f, value, format_of(dtype));
  if (half) return LLVMBuildFPExt(B, value, emit_type_like(f->unit->f32, value), "");
  if (dtype != IR_BF16) return value;
  LLVMTypeRef wide = emit_type_like(f->unit->i32, value);
  LLVMValueRef bits = LLVMBuildShl(B, LLVMBuildZExt(B, value, wide, ""), emit_int_of(wide, 16), "");
  return LLVMBuildBitCast(B, bits, emit_type_like(f->unit->f32, value), "");
}

static LLVMValueRef narrow_bf16(emit_function *f, LLVMValueRef value) {
  LLVMTypeRef wide = emit_type_like(f->unit->i32, value);
  LLVMValueRef bits = LLVMBuildBitCast(B, value, wide, ""), sixteen = emit_int_of(wide, 16);
  LLVMValueRef high = LLVMBuildLShr(B, bits, sixteen, "");
  LLVMValueRef odd = LLVMBuildAnd(B, high, emit_int_of(wide, 1), "");
  LLVMValueRef half = LLVMBuildAdd(B, odd, emit_int_of(wide, 0x7fff), "");
  LLVMValueRef rounded = LLVMBuildLShr(B, LLVMBuildAdd(B, bits, half, ""), sixteen, "");
  LLVMValueRef quiet = LLVMBuildOr(B, high, emit_int_of(wide, 0x40), "");
  LLVMValueRef is_nan = LLVMBuildFCmp(B, LLVMRealUNO, value, value, "");
  return LLVMBuildTrunc(B, LLVMBuildSelect(B, is_nan, quiet, rounded, ""), emit_type_like(f->unit->i16, value), "");
}

LLVMValueRef emit_narrow(emit_function *f, LLVMValueRef value, ir_dtype dtype) {
  if (dtype == IR_F16 && f->unit->target->halves) return LLVMBuildFPTrunc(B, value, emit_type_like(f->unit->half, value), "");
  if (dtype == IR_BF16) return narrow_bf16(f, value);
  if (!ir_is_float(dtype) || ir_dtypes[dtype].bits >= 32) return value;
  LLVMValueRef bits = narrow_by_integers(f, value, format_of(dtype));
  return dtype == IR_F16 ? LLVMBuildBitCast(B, bits, emit_type_like(f->unit->half, value), "") : bits;
}

/* f64 as f32 rounded to odd: toward zero, then the last bit is set where something was lost. Rounding that again to
 * fewer than 23 bits gives what one rounding would. */
static LLVMValueRef narrow_to_odd(emit_function *f, LLVMValueRef value) {
  LLVMTypeRef narrow = emit_type_like(f->unit->f32, value), integer = emit_type_like(f->unit->i32, value);
  LLVMTypeRef wide = LLVMTypeOf(value);
  LLVMValueRef nearest = LLVMBuildFPTrunc(B, value, narrow, "");
  LLVMValueRef back = LLVMBuildFPExt(B, nearest, wide, "");
  LLVMValueRef lost = LLVMBuildFCmp(B, LLVMRealONE, back, value, "");
  LLVMValueRef size = emit_intrinsic(f, "llvm.fabs", 1, &wide, 1, &value);
  LLVMValueRef reached = emit_intrinsic(f, "llvm.fabs", 1, &wide, 1, &back);
  LLVMValueRef above = LLVMBuildFCmp(B, LLVMRealOGT, reached, size, "");
  LLVMValueRef bits = LLVMBuildBitCast(B, nearest, integer, "");
  bits = LLVMBuildSub(B, bits, LLVMBuildZExt(B, above, integer, ""), "");
  bits = LLVMBuildOr(B, bits, LLVMBuildZExt(B, lost, integer, ""), "");
  return LLVMBuildBitCast(B, bits, narrow, "");
}

static LLVMValueRef float_to_float(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to) {
  LLVMValueRef wide = emit_widen(f, value, from);
  if (to == IR_F64) return LLVMBuildFPExt(B, wide, emit_type_like(f->unit->f64, value), "");
  if (from != IR_F64) return emit_narrow(f, wide, to);
  if (to == IR_F32) return LLVMBuildFPTrunc(B, wide, emit_type_like(f->unit->f32, value), "");
  return emit_narrow(f, narrow_to_odd(f, wide), to);
}

/* --- integers --- */

/* Integers become narrow floats by way of f32, as those compute. */
static LLVMValueRef integer_to_float(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to) {
  LLVMTypeRef type = emit_type_like(to == IR_F64 ? f->unit->f64 : f->unit->f32, value);
  LLVMValueRef wide = ir_is_signed(from) ? LLVMBuildSIToFP(B, value, type, "") : LLVMBuildUIToFP(B, value, type, "");
  return emit_narrow(f, wide, to);
}

/* Saturates; NaN gives 0. */
static LLVMValueRef float_to_integer(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to) {
  LLVMValueRef wide = emit_widen(f, value, from);
  LLVMTypeRef types[] = {emit_type_like(emit_type(f->unit, to, 1), value), LLVMTypeOf(wide)};
  return emit_intrinsic(f, ir_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", 2, types, 1, &wide);
}

static LLVMValueRef integer_to_integer(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to) {
  unsigned have = from == IR_BOOL ? 1 : ir_dtypes[from].bits, want = ir_dtypes[to].bits;
  LLVMTypeRef type = emit_type_like(emit_type(f->unit, to, 1), value);
  if (have == want) return value;
  if (have > want) return LLVMBuildTrunc(B, value, type, "");
  return ir_is_signed(from) ? LLVMBuildSExt(B, value, type, "") : LLVMBuildZExt(B, value, type, "");
}

static LLVMValueRef to_bool(emit_function *f, LLVMValueRef value, ir_dtype from) {
  if (!ir_is_float(from)) return LLVMBuildICmp(B, LLVMIntNE, value, emit_int_of(LLVMTypeOf(value), 0), "");
  LLVMValueRef wide = emit_widen(f, value, from);
  return LLVMBuildFCmp(B, LLVMRealUNE, wide, emit_real_of(LLVMTypeOf(wide), 0), ""); /* NaN is true */
}

LLVMValueRef emit_cast(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to) {
  if (from == to) return value;
  if (to == IR_BOOL) return to_bool(f, value, from);
  if (ir_is_float(from)) return ir_is_float(to) ? float_to_float(f, value, from, to) : float_to_integer(f, value, from, to);
  return ir_is_float(to) ? integer_to_float(f, value, from, to) : integer_to_integer(f, value, from, to);
}

LLVMValueRef emit_bitcast(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to) {
  if (from == to) return value;
  if (to == IR_BOOL) return to_bool(f, value, from);
  if (from == IR_BOOL) return LLVMBuildZExt(B, value, emit_type_like(emit_type(f->unit, to, 1), value), "");
  return LLVMBuildBitCast(B, value, emit_type_like(emit_type(f->unit, to, 1), value), "");
}

/* --- memory: bool is a byte there, and so is a single i4 or u4 --- */

LLVMValueRef emit_from_memory(emit_function *f, LLVMValueRef value, ir_dtype dtype) {
  if (emit_is_packed(dtype)) return LLVMBuildTrunc(B, value, emit_type_like(f->unit->i4, value), "");
  if (dtype != IR_BOOL) return value;
  return LLVMBuildICmp(B, LLVMIntNE, value, emit_int_of(LLVMTypeOf(value), 0), "");
}

LLVMValueRef emit_to_memory(emit_function *f, LLVMValueRef value, ir_dtype dtype) {
  return dtype == IR_BOOL || emit_is_packed(dtype) ? LLVMBuildZExt(B, value, emit_type_like(f->unit->i8, value), "") : value;
}
