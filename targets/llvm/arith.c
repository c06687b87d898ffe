// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/arith.c - integer and bool operators, to the bit as ir/eval.c computes them; floats are handed on. All of
 * them work on scalars and on vectors alike. Nothing here may be undefined for any operand: no nsw, guarded divisions,
 * guarded shifts. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

static LLVMValueRef compare(emit_function *f, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(B, predicate, a, b, "");
}

static LLVMValueRef choose(emit_function *f, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(B, c, a, b, "");
}

static LLVMValueRef constant(LLVMValueRef like, int64_t value) { return emit_int_of(LLVMTypeOf(like), (uint64_t)value); }

static LLVMIntPredicate predicate_of(ir_scalar_code code, bool is_signed) {
  switch ((int)code) {
  case IR_S_EQ: return LLVMIntEQ;
  case IR_S_NE: return LLVMIntNE;
  case IR_S_LT: return is_signed ? LLVMIntSLT : LLVMIntULT;
  case IR_S_LE: return is_signed ? LLVMIntSLE : LLVMIntULE;
  case IR_S_GT: return is_signed ? LLVMIntSGT : LLVMIntUGT;
  default: return is_signed ? LLVMIntSGE : LLVMIntUGE;
  }
}

/* --- division --- */

typedef struct divided {
  LLVMValueRef quotient, remainder;
  LLVMValueRef zero; /* i1: the divisor is 0; NULL where it cannot be */
} divided;

static bool power_of_two(int64_t value) { return value > 0 && !(value & (value - 1)); }

/* Truncating division by a divisor that is replaced by 1 where it is 0 or where the quotient has no room. */
static divided divide(emit_function *f, bool is_signed, LLVMValueRef a, LLVMValueRef b, const emit_hint *hint) {
  divided d = {0};
  bool safe = hint && (hint->natural || hint->has_divisor);
  if (!safe) {
    d.zero = compare(f, LLVMIntEQ, b, constant(b, 0));
    LLVMValueRef unsafe = d.zero;
    /* MIN / -1; x / -1 for every x is as well given by x / 1 with the sign changed, which callers do not want. */
    if (is_signed) {
      unsigned bits = LLVMGetIntTypeWidth(emit_lanes(a) > 1 ? LLVMGetElementType(LLVMTypeOf(a)) : LLVMTypeOf(a));
      LLVMValueRef least = compare(f, LLVMIntEQ, a, constant(a, (int64_t)(UINT64_C(1) << (bits - 1))));
      LLVMValueRef minus = compare(f, LLVMIntEQ, b, constant(b, -1));
      unsafe = LLVMBuildOr(B, unsafe, LLVMBuildAnd(B, least, minus, ""), "");
    }
    b = choose(f, unsafe, constant(b, 1), b);
  }
  bool as_unsigned = !is_signed || (hint && hint->natural);
  d.quotient = as_unsigned ? LLVMBuildUDiv(B, a, b, "") : LLVMBuildSDiv(B, a, b, "");
  d.remainder = as_unsigned ? LLVMBuildURem(B, a, b, "") : LLVMBuildSRem(B, a, b, "");
  return d;
}

static LLVMValueRef zero_if(emit_function *f, LLVMValueRef condition, LLVMValueRef value) {
  return condition ? choose(f, condition, constant(value, 0), value) : value;
}

/* The remainder is not 0 and its sign is, or is not, the divisor's. */
static LLVMValueRef inexact(emit_function *f, LLVMValueRef remainder, LLVMValueRef b, bool is_signed, bool same_sign) {
  LLVMValueRef some = compare(f, LLVMIntNE, remainder, constant(remainder, 0));
  if (!is_signed) return same_sign ? some : constant(some, 0);
  LLVMValueRef signs = LLVMBuildXor(B, remainder, b, "");
  LLVMValueRef fits = compare(f, same_sign ? LLVMIntSGE : LLVMIntSLT, signs, constant(signs, 0));
  return LLVMBuildAnd(B, some, fits, "");
}

static LLVMValueRef divide_by_power(emit_function *f, ir_scalar_code code, bool is_signed, LLVMValueRef a, int64_t divisor) {
  LLVMValueRef shift = constant(a, __builtin_ctzll((uint64_t)divisor));
  if (code == IR_S_FLOORMOD) return LLVMBuildAnd(B, a, constant(a, divisor - 1), "");
  return is_signed ? LLVMBuildAShr(B, a, shift, "") : LLVMBuildLShr(B, a, shift, "");
}

static LLVMValueRef division(emit_function *f, ir_scalar_code code, bool is_signed, LLVMValueRef a, LLVMValueRef b,
                             const emit_hint *hint) {
  bool floors = code == IR_S_FLOORDIV || code == IR_S_FLOORMOD;
  if (floors && hint && hint->has_divisor && power_of_two(hint->divisor)) {
    return divide_by_power(f, code, is_signed, a, hint->divisor);
  }
  divided d = divide(f, is_signed, a, b, hint);
  if (hint && hint->natural) is_signed = false;
  switch ((int)code) {
  case IR_S_TRUNCDIV: return zero_if(f, d.zero, d.quotient);
  case IR_S_TRUNCMOD: return d.remainder; /* x rem 1 = 0: right for both guarded cases */
  case IR_S_FLOORDIV: {
    if (!is_signed) return zero_if(f, d.zero, d.quotient);
    LLVMValueRef less = LLVMBuildSExt(B, inexact(f, d.remainder, b, true, false), LLVMTypeOf(a), "");
    return zero_if(f, d.zero, LLVMBuildAdd(B, d.quotient, less, ""));
  }
  case IR_S_CEILDIV: {
    LLVMValueRef more = LLVMBuildZExt(B, inexact(f, d.remainder, b, is_signed, true), LLVMTypeOf(a), "");
    return zero_if(f, d.zero, LLVMBuildAdd(B, d.quotient, more, ""));
  }
  default: { /* FLOORMOD */
    if (!is_signed) return d.remainder;
    LLVMValueRef wrong = inexact(f, d.remainder, b, true, false);
    return choose(f, wrong, LLVMBuildAdd(B, d.remainder, b, ""), d.remainder);
  }
  }
}

/* --- shifts: an amount of at least the width gives 0, or the sign --- */

static LLVMValueRef shift(emit_function *f, ir_scalar_code code, ir_dtype dtype, LLVMValueRef a, LLVMValueRef amount) {
  unsigned bits = ir_dtypes[dtype].bits;
  LLVMValueRef fits = compare(f, LLVMIntULT, amount, constant(amount, bits));
  if (code == IR_S_SHR && ir_is_signed(dtype)) {
    return LLVMBuildAShr(B, a, choose(f, fits, amount, constant(amount, bits - 1)), "");
  }
  LLVMValueRef inside = choose(f, fits, amount, constant(amount, 0));
  LLVMValueRef moved = code == IR_S_SHL ? LLVMBuildShl(B, a, inside, "") : LLVMBuildLShr(B, a, inside, "");
  return choose(f, fits, moved, constant(a, 0));
}

static LLVMValueRef sign(emit_function *f, bool is_signed, LLVMValueRef a) {
  LLVMValueRef zero = constant(a, 0);
  LLVMValueRef positive = LLVMBuildZExt(B, compare(f, LLVMIntNE, a, zero), LLVMTypeOf(a), "");
  if (!is_signed) return positive;
  return choose(f, compare(f, LLVMIntSLT, a, zero), constant(a, -1), positive);
}

static LLVMValueRef integer_operator(emit_function *f, ir_scalar_code code, ir_dtype dtype, const LLVMValueRef *in,
                                     const emit_hint *hint) {
  bool is_signed = ir_is_signed(dtype);
  LLVMValueRef a = in[0], b = ir_scalars[code].arity > 1 ? in[1] : NULL;
  switch ((int)code) {
  case IR_S_ADD: return LLVMBuildAdd(B, a, b, "");
  case IR_S_SUB: return LLVMBuildSub(B, a, b, "");
  case IR_S_MUL: return LLVMBuildMul(B, a, b, "");
  case IR_S_MAD: return LLVMBuildAdd(B, LLVMBuildMul(B, a, b, ""), in[2], "");
  case IR_S_NEG: return LLVMBuildNeg(B, a, "");
  case IR_S_TRUNCDIV:
  case IR_S_FLOORDIV:
  case IR_S_CEILDIV:
  case IR_S_TRUNCMOD:
  case IR_S_FLOORMOD: return division(f, code, is_signed, a, b, hint);
  case IR_S_MIN: return choose(f, compare(f, is_signed ? LLVMIntSLT : LLVMIntULT, a, b), a, b);
  case IR_S_MAX: return choose(f, compare(f, is_signed ? LLVMIntSGT : LLVMIntUGT, a, b), a, b);
  case IR_S_BCAST: return choose(f, compare(f, LLVMIntEQ, a, constant(a, 1)), b, a);
  case IR_S_SHL:
  case IR_S_SHR: return shift(f, code, dtype, a, b);
  case IR_S_AND:
  case IR_S_BITAND: return LLVMBuildAnd(B, a, b, "");
  case IR_S_OR:
  case IR_S_BITOR: return LLVMBuildOr(B, a, b, "");
  case IR_S_BITXOR: return LLVMBuildXor(B, a, b, "");
  case IR_S_NOT:
  case IR_S_BITNOT: return LLVMBuildNot(B, a, "");
  case IR_S_ABS:
    return is_signed ? choose(f, compare(f, LLVMIntSLT, a, constant(a, 0)), LLVMBuildNeg(B, a, ""), a) : a;
  case IR_S_SIGN: return sign(f, is_signed, a);
  case IR_S_EQ:
  case IR_S_NE:
  case IR_S_LT:
  case IR_S_LE:
  case IR_S_GT:
  case IR_S_GE: return compare(f, predicate_of(code, is_signed), a, b);
  default: return NULL;
  }
}

LLVMValueRef emit_operator(emit_function *f, ir_scalar_code code, ir_dtype operand, const LLVMValueRef *in, const emit_hint *hint) {
  if (ir_scalars[code].typing == IR_TYPING_SELECT) {
    /* A condition that is the same in every lane may stay one bit. */
    return LLVMBuildSelect(B, in[0], in[1], in[2], "");
  }
  LLVMValueRef result = ir_is_float(operand) ? emit_float_operator(f, code, operand, in)
                                             : integer_operator(f, code, operand, in, hint);
  if (result) return result;
  emit_cannot(f, f->source->item.range, "compute %s of %s: not implemented on llvm", ir_scalars[code].name, ir_dtype_name(operand));
  return LLVMGetPoison(LLVMTypeOf(in[0]));
}
