// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/scalar.c - integer and bool operators, to the bit as ir/eval.c computes them; floats are handed on. Nothing
 * here may be undefined for any operand: guarded divisions and shifts, no remainder of negative numbers. */
#include "targets/spirv/emit.h"

static sv_id compare(sv_function *f, SpvOp op, sv_id a, sv_id b) { return sv_binary(f, op, SV_BOOL, a, b); }

sv_id sv_wrap(sv_function *f, ir_dtype dtype, sv_id value) {
  unsigned bits = ir_dtypes[dtype].bits;
  if (bits >= 32) return value;
  if (!ir_is_signed(dtype)) return sv_binary(f, SpvOpBitwiseAnd, SV_I32, value, sv_word(f->module, (1u << bits) - 1));
  sv_id shift = sv_word(f->module, 32 - bits);
  return sv_binary(f, SpvOpShiftRightArithmetic, SV_I32, sv_binary(f, SpvOpShiftLeftLogical, SV_I32, value, shift), shift);
}

/* --- signs: by shifts, since lavapipe gets `i64(x) < 0` wrong for a narrower x --- */

/* All bits where VALUE is negative, none elsewhere. */
static sv_id sign_mask(sv_function *f, sv_kind kind, sv_id value) {
  return sv_binary(f, SpvOpShiftRightArithmetic, kind, value, sv_int(f->module, kind, kind == SV_I64 ? 63 : 31));
}

static sv_id is_negative(sv_function *f, sv_kind kind, sv_id value) {
  return compare(f, SpvOpINotEqual, sign_mask(f, kind, value), sv_int(f->module, kind, 0));
}

/* --- comparisons --- */

static SpvOp comparison(ir_scalar_code code, bool is_signed) {
  switch ((int)code) {
  case IR_S_EQ: return SpvOpIEqual;
  case IR_S_NE: return SpvOpINotEqual;
  case IR_S_LT: return is_signed ? SpvOpSLessThan : SpvOpULessThan;
  case IR_S_LE: return is_signed ? SpvOpSLessThanEqual : SpvOpULessThanEqual;
  case IR_S_GT: return is_signed ? SpvOpSGreaterThan : SpvOpUGreaterThan;
  case IR_S_GE: return is_signed ? SpvOpSGreaterThanEqual : SpvOpUGreaterThanEqual;
  default: return SpvOpNop;
  }
}

/* --- bools: no integers in SPIR-V --- */

static sv_id logical_not(sv_function *f, sv_id a) { return sv_unary(f, SpvOpLogicalNot, SV_BOOL, a); }

static sv_id bool_operator(sv_function *f, ir_scalar_code code, const sv_id *in) {
  switch ((int)code) {
  case IR_S_EQ: return compare(f, SpvOpLogicalEqual, in[0], in[1]);
  case IR_S_NE:
  case IR_S_BITXOR: return compare(f, SpvOpLogicalNotEqual, in[0], in[1]);
  case IR_S_AND:
  case IR_S_BITAND: return compare(f, SpvOpLogicalAnd, in[0], in[1]);
  case IR_S_OR:
  case IR_S_BITOR: return compare(f, SpvOpLogicalOr, in[0], in[1]);
  case IR_S_NOT:
  case IR_S_BITNOT: return logical_not(f, in[0]);
  case IR_S_LT: return compare(f, SpvOpLogicalAnd, logical_not(f, in[0]), in[1]);
  case IR_S_LE: return compare(f, SpvOpLogicalOr, logical_not(f, in[0]), in[1]);
  case IR_S_GT: return compare(f, SpvOpLogicalAnd, in[0], logical_not(f, in[1]));
  case IR_S_GE: return compare(f, SpvOpLogicalOr, in[0], logical_not(f, in[1]));
  default: return 0;
  }
}

/* --- division --- */

typedef struct divided {
  sv_id quotient, remainder;
  sv_id zero; /* the divisor is 0; 0 where it cannot be */
} divided;

/* Truncating division by a divisor that is replaced by 1 where it is 0 or where the quotient has no room. */
static divided divide(sv_function *f, ir_dtype dtype, sv_id a, sv_id b, sv_hint hint) {
  sv_module *m = f->module;
  sv_kind kind = sv_kind_of(dtype);
  bool is_signed = ir_is_signed(dtype), as_unsigned = !is_signed || hint.natural;
  divided d = {0};
  if (!hint.natural && !hint.has_divisor) {
    d.zero = compare(f, SpvOpIEqual, b, sv_int(m, kind, 0));
    sv_id unsafe = d.zero;
    if (is_signed && ir_dtypes[dtype].bits >= 32) {
      int64_t least = kind == SV_I32 ? INT32_MIN : INT64_MIN;
      sv_id edge = compare(f, SpvOpLogicalAnd, compare(f, SpvOpIEqual, a, sv_int(m, kind, least)), compare(f, SpvOpIEqual, b, sv_int(m, kind, -1)));
      unsafe = compare(f, SpvOpLogicalOr, unsafe, edge);
    }
    b = sv_choose(f, kind, unsafe, sv_int(m, kind, 1), b);
  }
  d.quotient = sv_binary(f, as_unsigned ? SpvOpUDiv : SpvOpSDiv, kind, a, b);
  d.remainder = as_unsigned ? sv_binary(f, SpvOpUMod, kind, a, b)
                            : sv_binary(f, SpvOpISub, kind, a, sv_binary(f, SpvOpIMul, kind, d.quotient, b));
  return d;
}

static sv_id zero_if(sv_function *f, sv_kind kind, sv_id condition, sv_id value) {
  return condition ? sv_choose(f, kind, condition, sv_int(f->module, kind, 0), value) : value;
}

/* The remainder is not 0 and its sign is, or is not, the divisor's. */
static sv_id inexact(sv_function *f, sv_kind kind, sv_id remainder, sv_id b, bool same_sign) {
  sv_id zero = sv_int(f->module, kind, 0), some = compare(f, SpvOpINotEqual, remainder, zero);
  sv_id differ = is_negative(f, kind, sv_binary(f, SpvOpBitwiseXor, kind, remainder, b));
  return compare(f, SpvOpLogicalAnd, some, same_sign ? sv_unary(f, SpvOpLogicalNot, SV_BOOL, differ) : differ);
}

static sv_id divide_by_power(sv_function *f, ir_scalar_code code, ir_dtype dtype, sv_id a, int64_t divisor) {
  sv_kind kind = sv_kind_of(dtype);
  if (code == IR_S_FLOORMOD) return sv_binary(f, SpvOpBitwiseAnd, kind, a, sv_int(f->module, kind, divisor - 1));
  sv_id shift = sv_int(f->module, kind, __builtin_ctzll((uint64_t)divisor));
  return sv_binary(f, ir_is_signed(dtype) ? SpvOpShiftRightArithmetic : SpvOpShiftRightLogical, kind, a, shift);
}

static sv_id division(sv_function *f, ir_scalar_code code, ir_dtype dtype, sv_id a, sv_id b, sv_hint hint) {
  sv_kind kind = sv_kind_of(dtype);
  bool floors = code == IR_S_FLOORDIV || code == IR_S_FLOORMOD, is_signed = ir_is_signed(dtype) && !hint.natural;
  bool power = hint.has_divisor && hint.divisor > 0 && !(hint.divisor & (hint.divisor - 1));
  if (floors && power) return divide_by_power(f, code, dtype, a, hint.divisor);
  divided d = divide(f, dtype, a, b, hint);
  sv_id one = sv_int(f->module, kind, 1), zero = sv_int(f->module, kind, 0);
  switch ((int)code) {
  case IR_S_TRUNCDIV: return zero_if(f, kind, d.zero, d.quotient);
  case IR_S_TRUNCMOD: return zero_if(f, kind, d.zero, d.remainder);
  case IR_S_FLOORDIV: {
    if (!is_signed) return zero_if(f, kind, d.zero, d.quotient);
    sv_id less = sv_choose(f, kind, inexact(f, kind, d.remainder, b, false), one, zero);
    return zero_if(f, kind, d.zero, sv_binary(f, SpvOpISub, kind, d.quotient, less));
  }
  case IR_S_CEILDIV: {
    sv_id above = is_signed ? inexact(f, kind, d.remainder, b, true) : compare(f, SpvOpINotEqual, d.remainder, zero);
    return zero_if(f, kind, d.zero, sv_binary(f, SpvOpIAdd, kind, d.quotient, sv_choose(f, kind, above, one, zero)));
  }
  default: { /* FLOORMOD */
    if (!is_signed) return zero_if(f, kind, d.zero, d.remainder);
    sv_id moved = sv_binary(f, SpvOpIAdd, kind, d.remainder, b);
    return sv_choose(f, kind, inexact(f, kind, d.remainder, b, false), moved, d.remainder);
  }
  }
}

/* --- shifts: an amount of at least the width gives 0, or the sign --- */

static sv_id shift(sv_function *f, ir_scalar_code code, ir_dtype dtype, sv_id a, sv_id amount) {
  sv_kind kind = sv_kind_of(dtype);
  unsigned bits = ir_dtypes[dtype].bits;
  sv_id zero = sv_int(f->module, kind, 0), fits = compare(f, SpvOpULessThan, amount, sv_int(f->module, kind, bits));
  if (code == IR_S_SHR && ir_is_signed(dtype)) {
    return sv_binary(f, SpvOpShiftRightArithmetic, kind, a, sv_choose(f, kind, fits, amount, sv_int(f->module, kind, bits - 1)));
  }
  sv_id inside = sv_choose(f, kind, fits, amount, zero);
  sv_id moved = sv_binary(f, code == IR_S_SHL ? SpvOpShiftLeftLogical : SpvOpShiftRightLogical, kind, a, inside);
  return sv_choose(f, kind, fits, moved, zero);
}

static sv_id sign(sv_function *f, ir_dtype dtype, sv_id a) {
  sv_kind kind = sv_kind_of(dtype);
  sv_id zero = sv_int(f->module, kind, 0);
  sv_id positive = sv_choose(f, kind, compare(f, SpvOpINotEqual, a, zero), sv_int(f->module, kind, 1), zero);
  if (!ir_is_signed(dtype)) return positive;
  return sv_binary(f, SpvOpBitwiseOr, kind, sign_mask(f, kind, a), positive);
}

/* In a register that may be wider than the dtype: the caller wraps the result. */
static sv_id arithmetic(sv_function *f, ir_scalar_code code, ir_dtype dtype, const sv_id *in, sv_hint hint) {
  sv_kind kind = sv_kind_of(dtype);
  switch ((int)code) {
  case IR_S_ADD: return sv_binary(f, SpvOpIAdd, kind, in[0], in[1]);
  case IR_S_SUB: return sv_binary(f, SpvOpISub, kind, in[0], in[1]);
  case IR_S_MUL: return sv_binary(f, SpvOpIMul, kind, in[0], in[1]);
  case IR_S_MAD: return sv_binary(f, SpvOpIAdd, kind, sv_binary(f, SpvOpIMul, kind, in[0], in[1]), in[2]);
  case IR_S_NEG: return sv_unary(f, SpvOpSNegate, kind, in[0]);
  case IR_S_BITNOT: return sv_unary(f, SpvOpNot, kind, in[0]);
  case IR_S_TRUNCDIV:
  case IR_S_FLOORDIV:
  case IR_S_CEILDIV:
  case IR_S_TRUNCMOD:
  case IR_S_FLOORMOD: return division(f, code, dtype, in[0], in[1], hint);
  case IR_S_SHL: return shift(f, code, dtype, in[0], in[1]);
  case IR_S_ABS: {
    if (!ir_is_signed(dtype)) return in[0];
    sv_id mask = sign_mask(f, kind, in[0]);
    return sv_binary(f, SpvOpISub, kind, sv_binary(f, SpvOpBitwiseXor, kind, in[0], mask), mask);
  }
  default: return 0;
  }
}

static sv_id integer_operator(sv_function *f, ir_scalar_code code, ir_dtype dtype, const sv_id *in, sv_hint hint) {
  sv_kind kind = sv_kind_of(dtype);
  bool is_signed = ir_is_signed(dtype);
  sv_id result = arithmetic(f, code, dtype, in, hint);
  if (result) return sv_wrap(f, dtype, result);
  switch ((int)code) {
  case IR_S_MIN:
  case IR_S_MAX: return sv_choose(f, kind, compare(f, comparison(code == IR_S_MIN ? IR_S_LT : IR_S_GT, is_signed), in[0], in[1]), in[0], in[1]);
  case IR_S_BCAST: return sv_choose(f, kind, compare(f, SpvOpIEqual, in[0], sv_int(f->module, kind, 1)), in[1], in[0]);
  case IR_S_SHR: return shift(f, code, dtype, in[0], in[1]);
  case IR_S_BITAND: return sv_binary(f, SpvOpBitwiseAnd, kind, in[0], in[1]);
  case IR_S_BITOR: return sv_binary(f, SpvOpBitwiseOr, kind, in[0], in[1]);
  case IR_S_BITXOR: return sv_binary(f, SpvOpBitwiseXor, kind, in[0], in[1]);
  case IR_S_SIGN: return sign(f, dtype, in[0]);
  default: break;
  }
  SpvOp compares = comparison(code, is_signed);
  return compares == SpvOpNop ? 0 : compare(f, compares, in[0], in[1]);
}

sv_id sv_operator(sv_function *f, ir_scalar_code code, ir_dtype dtype, const sv_id *in, sv_hint hint) {
  if (ir_scalars[code].typing == IR_TYPING_SELECT) return sv_choose(f, sv_kind_of(dtype), in[0], in[1], in[2]);
  if (ir_is_float(dtype)) return sv_real_operator(f, code, dtype, in);
  return dtype == IR_BOOL ? bool_operator(f, code, in) : integer_operator(f, code, dtype, in, hint);
}
