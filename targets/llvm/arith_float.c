// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/arith_float.c - operators on floats, to the bit as ir/eval.c computes them (NaN bits of arithmetic aside).
 * f16, bf16 and f8 compute in f32 and round once an operator. No fast-math flag is ever set, so that LLVM neither reorders
 * nor contracts. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

static LLVMValueRef unary(emit_function *f, const char *name, LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return emit_intrinsic(f, name, 1, &type, 1, &a);
}

static LLVMValueRef fused(emit_function *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return emit_intrinsic(f, "llvm.fma", 1, &type, 3, (LLVMValueRef[]){a, b, c});
}

static LLVMValueRef real(LLVMValueRef like, double value) { return emit_real_of(LLVMTypeOf(like), value); }

static LLVMValueRef compare(emit_function *f, LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(B, predicate, a, b, "");
}

static LLVMValueRef choose(emit_function *f, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(B, c, a, b, "");
}

/* --- on the bits, so that payloads of NaN stay --- */

static LLVMTypeRef bits_type(emit_function *f, ir_dtype dtype, LLVMValueRef like) {
  return emit_type_like(emit_integer_type(f->unit, ir_dtypes[dtype].bits), like);
}

static LLVMValueRef on_sign(emit_function *f, ir_scalar_code code, ir_dtype dtype, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = bits_type(f, dtype, a), back = LLVMTypeOf(a);
  uint64_t top = UINT64_C(1) << (ir_dtypes[dtype].bits - 1);
  LLVMValueRef x = LLVMBuildBitCast(B, a, type, ""), mask = emit_int_of(type, top), rest = emit_int_of(type, top - 1);
  if (code == IR_S_NEG) {
    x = LLVMBuildXor(B, x, mask, "");
  } else {
    x = LLVMBuildAnd(B, x, rest, "");
  }
  if (code == IR_S_COPYSIGN) {
    LLVMValueRef other = LLVMBuildAnd(B, LLVMBuildBitCast(B, b, type, ""), mask, "");
    x = LLVMBuildOr(B, x, other, "");
  }
  return LLVMBuildBitCast(B, x, back, "");
}

/* --- division rounded down: NumPy's definition, which is Python's where the divisor is not 0 --- */

/* The remainder is not 0 and the divisor has the other sign. */
static LLVMValueRef signs_differ(emit_function *f, LLVMValueRef rest, LLVMValueRef b) {
  LLVMValueRef zero = real(rest, 0), below = compare(f, LLVMRealOLT, b, zero);
  LLVMValueRef differ = LLVMBuildXor(B, below, compare(f, LLVMRealOLT, rest, zero), "");
  return LLVMBuildAnd(B, differ, compare(f, LLVMRealUNE, rest, zero), "");
}

static LLVMValueRef floor_mod(emit_function *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = real(a, 0), rest = LLVMBuildFRem(B, a, b, "");
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef moved = choose(f, signs_differ(f, rest, b), LLVMBuildFAdd(B, rest, b, ""), rest);
  LLVMValueRef signed_zero = emit_intrinsic(f, "llvm.copysign", 1, &type, 2, (LLVMValueRef[]){zero, b});
  LLVMValueRef whole = choose(f, compare(f, LLVMRealOEQ, rest, zero), signed_zero, moved);
  return choose(f, compare(f, LLVMRealOEQ, b, zero), rest, whole);
}

static LLVMValueRef floor_div(emit_function *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = real(a, 0), one = real(a, 1), rest = LLVMBuildFRem(B, a, b, "");
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef quotient = LLVMBuildFDiv(B, LLVMBuildFSub(B, a, rest, ""), b, "");
  quotient = choose(f, signs_differ(f, rest, b), LLVMBuildFSub(B, quotient, one, ""), quotient);
  LLVMValueRef down = unary(f, "llvm.floor", quotient);
  LLVMValueRef far = compare(f, LLVMRealOGT, LLVMBuildFSub(B, quotient, down, ""), real(a, 0.5));
  LLVMValueRef near = choose(f, far, LLVMBuildFAdd(B, down, one, ""), down);
  LLVMValueRef plain = LLVMBuildFDiv(B, a, b, "");
  LLVMValueRef signed_zero = emit_intrinsic(f, "llvm.copysign", 1, &type, 2, (LLVMValueRef[]){zero, plain});
  LLVMValueRef whole = choose(f, compare(f, LLVMRealOEQ, quotient, zero), signed_zero, near);
  return choose(f, compare(f, LLVMRealOEQ, b, zero), plain, whole);
}

/* --- comparisons and what chooses by them: A and B are the operands as they came, X and Y widened --- */

static LLVMValueRef extreme(emit_function *f, LLVMRealPredicate wins, LLVMValueRef a, LLVMValueRef b, LLVMValueRef x,
                            LLVMValueRef y) {
  LLVMValueRef better = choose(f, compare(f, wins, x, y), a, b);
  /* The sum is that NaN. Were it A, LLVM would make one condition of the two, and four instructions on the way from one
   * accumulator to the next instead of a maximum and a blend [154 against 104 us for 2^20 elements]. */
  LLVMValueRef nan = a == x ? LLVMBuildFAdd(B, a, a, "") : a;
  return choose(f, compare(f, LLVMRealUNO, x, x), nan, better);
}

static LLVMValueRef sign(emit_function *f, ir_dtype dtype, LLVMValueRef a, LLVMValueRef x) {
  LLVMValueRef zero = real(x, 0);
  LLVMValueRef one = emit_narrow(f, real(x, 1), dtype), minus = emit_narrow(f, real(x, -1), dtype);
  LLVMValueRef below = choose(f, compare(f, LLVMRealOLT, x, zero), minus, a);
  return choose(f, compare(f, LLVMRealOGT, x, zero), one, below);
}

static LLVMValueRef test(emit_function *f, ir_scalar_code code, LLVMValueRef a, LLVMValueRef b) {
  switch ((int)code) {
  case IR_S_EQ: return compare(f, LLVMRealOEQ, a, b);
  case IR_S_NE: return compare(f, LLVMRealUNE, a, b);
  case IR_S_LT: return compare(f, LLVMRealOLT, a, b);
  case IR_S_LE: return compare(f, LLVMRealOLE, a, b);
  case IR_S_GT: return compare(f, LLVMRealOGT, a, b);
  case IR_S_GE: return compare(f, LLVMRealOGE, a, b);
  case IR_S_ISNAN: return compare(f, LLVMRealUNO, a, a);
  case IR_S_ISINF: return compare(f, LLVMRealOEQ, unary(f, "llvm.fabs", a), real(a, __builtin_inf()));
  case IR_S_ISFINITE: return compare(f, LLVMRealOLT, unary(f, "llvm.fabs", a), real(a, __builtin_inf()));
  default: return NULL;
  }
}

/* f32 and f64 only. */
static LLVMValueRef arithmetic(emit_function *f, ir_scalar_code code, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  switch ((int)code) {
  case IR_S_ADD: return LLVMBuildFAdd(B, a, b, "");
  case IR_S_SUB: return LLVMBuildFSub(B, a, b, "");
  case IR_S_MUL: return LLVMBuildFMul(B, a, b, "");
  case IR_S_DIV: return LLVMBuildFDiv(B, a, b, "");
  case IR_S_TRUNCMOD: return LLVMBuildFRem(B, a, b, "");
  case IR_S_FLOORMOD: return floor_mod(f, a, b);
  case IR_S_FLOORDIV: return floor_div(f, a, b);
  case IR_S_FMA: return fused(f, a, b, c);
  case IR_S_FLOOR: return unary(f, "llvm.floor", a);
  case IR_S_CEIL: return unary(f, "llvm.ceil", a);
  case IR_S_TRUNC: return unary(f, "llvm.trunc", a);
  case IR_S_RINT: return unary(f, "llvm.rint", a);
  case IR_S_SQRT: return unary(f, "llvm.sqrt", a);
  default: return NULL;
  }
}

LLVMValueRef emit_float_operator(emit_function *f, ir_scalar_code code, ir_dtype dtype, const LLVMValueRef *in) {
  int arity = ir_scalars[code].arity;
  LLVMValueRef a = in[0], b = arity > 1 ? in[1] : NULL, c = arity > 2 ? in[2] : NULL;
  if (code == IR_S_NEG || code == IR_S_ABS || code == IR_S_COPYSIGN) return on_sign(f, code, dtype, a, b);
  if (code == IR_S_MAD && !f->unit->fma) {
    LLVMValueRef product = emit_float_operator(f, IR_S_MUL, dtype, in);
    return emit_float_operator(f, IR_S_ADD, dtype, (LLVMValueRef[]){product, c});
  }
  LLVMValueRef x = emit_widen(f, a, dtype), y = b ? emit_widen(f, b, dtype) : NULL, z = c ? emit_widen(f, c, dtype) : NULL;
  if (code == IR_S_MIN) return extreme(f, LLVMRealOLT, a, b, x, y);
  if (code == IR_S_MAX) return extreme(f, LLVMRealOGT, a, b, x, y);
  if (code == IR_S_SIGN) return sign(f, dtype, a, x);
  LLVMValueRef tested = test(f, code, x, y);
  if (tested) return tested;
  LLVMValueRef result = arithmetic(f, code == IR_S_MAD ? IR_S_FMA : code, x, y, z);
  return result ? emit_narrow(f, result, dtype) : NULL;
}
