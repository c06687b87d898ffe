// SPDX-License-Identifier: Apache-2.0
/* ir/dtype.c - the element types and their conversions. Needs base/. */
#include "ir/dtype.h"

#include "base/checked.h"

const ir_dtype_info ir_dtypes[IR_DTYPE_COUNT + 1] = {
#define DTYPE(ID, text, width, kind) [IR_##ID] = {.name = text, .bits = width, .class = IR_CLASS_##kind},
#include "ir/dtype.def"
#undef DTYPE
    [IR_DTYPE_UNKNOWN] = {.name = "?"},
};

ir_dtype ir_dtype_find(ir_slice name) {
  for (int d = 0; d < IR_DTYPE_COUNT; d++) {
    if (ir_slice_is(name, ir_dtypes[d].name)) return (ir_dtype)d;
  }
  return IR_DTYPE_UNKNOWN;
}

bool ir_dtype_bytes(ir_dtype dtype, int64_t count, int64_t *bytes) {
  if (dtype >= IR_DTYPE_COUNT || count < 0) return false;
  if (ir_dtypes[dtype].bits == 4) {
    *bytes = count / 2 + count % 2;
    return true;
  }
  return ir_mul_i64(count, ir_dtypes[dtype].bits / 8, bytes);
}

ir_dtype ir_dtype_accumulator(ir_dtype dtype) {
  if (ir_is_float(dtype)) return dtype == IR_F64 ? IR_F64 : IR_F32;
  if (ir_is_integer(dtype) && ir_dtypes[dtype].bits <= 8) return IR_I32;
  return dtype;
}

/* Exponent and mantissa bits of the small float formats; e4m3 has no infinity and one NaN. */
struct format {
  int exponent_bits, mantissa_bits;
  bool finite_only;
};

static struct format format_of(ir_dtype dtype) {
  switch (dtype) {
  case IR_F16: return (struct format){5, 10, false};
  case IR_BF16: return (struct format){8, 7, false};
  case IR_F8E4M3: return (struct format){4, 3, true};
  case IR_F8E5M2: return (struct format){5, 2, false};
  case IR_F32: return (struct format){8, 23, false};
  default: return (struct format){11, 52, false};
  }
}

double ir_float_from_bits(ir_dtype dtype, uint64_t bits) {
  if (dtype == IR_F64) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
  }
  struct format f = format_of(dtype);
  uint64_t exponent_mask = (UINT64_C(1) << f.exponent_bits) - 1, mantissa_mask = (UINT64_C(1) << f.mantissa_bits) - 1;
  uint64_t sign = bits >> (f.exponent_bits + f.mantissa_bits) & 1;
  uint64_t exponent = bits >> f.mantissa_bits & exponent_mask, mantissa = bits & mantissa_mask;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  uint64_t wide = sign << 63;
  bool special = exponent == exponent_mask && (!f.finite_only || mantissa == mantissa_mask);
  if (special) {
    wide |= UINT64_C(0x7ff) << 52 | mantissa << (52 - f.mantissa_bits);
    if (f.finite_only) wide |= UINT64_C(1) << 51;
  } else if (exponent) {
    wide |= (exponent - (uint64_t)bias + 1023) << 52 | mantissa << (52 - f.mantissa_bits);
  } else if (mantissa) {
    int shift = 0;
    while (!(mantissa >> f.mantissa_bits & 1)) mantissa <<= 1, shift++;
    wide |= (uint64_t)(1 - bias - shift + 1023) << 52 | (mantissa & mantissa_mask) << (52 - f.mantissa_bits);
  }
  double value;
  memcpy(&value, &wide, 8);
  return value;
}

uint64_t ir_float_to_bits(ir_dtype dtype, double value) {
  uint64_t wide;
  memcpy(&wide, &value, 8);
  if (dtype == IR_F64) return wide;
  struct format f = format_of(dtype);
  uint64_t exponent_mask = (UINT64_C(1) << f.exponent_bits) - 1, mantissa_mask = (UINT64_C(1) << f.mantissa_bits) - 1;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  uint64_t sign = (wide >> 63) << (f.exponent_bits + f.mantissa_bits);
  int exponent = (int)(wide >> 52 & 0x7ff) - 1023;
  uint64_t mantissa = wide & ((UINT64_C(1) << 52) - 1);
  if (exponent == 1024) {
    if (!mantissa) return sign | (f.finite_only ? exponent_mask << f.mantissa_bits | mantissa_mask
                                                : exponent_mask << f.mantissa_bits);
    uint64_t payload = mantissa >> (52 - f.mantissa_bits) | UINT64_C(1) << (f.mantissa_bits - 1);
    return sign | exponent_mask << f.mantissa_bits | (f.finite_only ? mantissa_mask : payload);
  }
  if (exponent == -1023) return sign; /* zero, or far below every smallest value */
  mantissa |= UINT64_C(1) << 52;
  int drop = 52 - f.mantissa_bits, least = 1 - bias;
  if (exponent < least) drop += least - exponent;
  if (drop > 54) return sign;
  uint64_t kept = mantissa >> drop, rest = mantissa & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
  kept += rest > half || (rest == half && (kept & 1));
  /* The carry of rounding moves into the exponent by itself. */
  uint64_t result = exponent < least ? kept : kept + ((uint64_t)(exponent + bias - 1) << f.mantissa_bits);
  uint64_t top = f.finite_only ? exponent_mask << f.mantissa_bits | mantissa_mask : exponent_mask << f.mantissa_bits;
  return sign | (result >= top ? top : result);
}

uint64_t ir_float_to_bits_f32(ir_dtype dtype, float value) { return ir_float_to_bits(dtype, (double)value); }

int64_t ir_int_from_bits(ir_dtype dtype, uint64_t bits) {
  int width = ir_dtypes[dtype].bits;
  if (dtype == IR_BOOL) return bits & 0xff ? 1 : 0;
  if (width == 64) return (int64_t)bits;
  uint64_t low = bits & ((UINT64_C(1) << width) - 1);
  if (ir_is_signed(dtype) && low >> (width - 1)) low |= ~UINT64_C(0) << width;
  return (int64_t)low;
}

uint64_t ir_int_to_bits(ir_dtype dtype, int64_t value) {
  int width = ir_dtypes[dtype].bits;
  if (dtype == IR_BOOL) return value != 0;
  return width == 64 ? (uint64_t)value : (uint64_t)value & ((UINT64_C(1) << width) - 1);
}
