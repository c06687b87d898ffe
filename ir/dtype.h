// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_DTYPE_H
#define RILL_IR_DTYPE_H

#include "../base/str.h"

typedef enum ir_dtype {
#define DTYPE(ID, name, bits, class) IR_##ID,
#include "dtype.def"
#undef DTYPE
  IR_DTYPE_COUNT,
  IR_DTYPE_UNKNOWN = IR_DTYPE_COUNT, /* `?` */
} ir_dtype;

typedef enum ir_dtype_class { IR_CLASS_BOOL, IR_CLASS_SINT, IR_CLASS_UINT, IR_CLASS_FLOAT } ir_dtype_class;

typedef struct ir_dtype_info {
  const char *name;
  uint8_t bits; /* of storage */
  ir_dtype_class class;
} ir_dtype_info;

extern const ir_dtype_info ir_dtypes[IR_DTYPE_COUNT + 1];

/* Finds a dtype by its name; IR_DTYPE_UNKNOWN where there is none ("?" included). */
ir_dtype ir_dtype_find(ir_slice name);
static inline const char *ir_dtype_name(ir_dtype dtype) { return ir_dtypes[dtype].name; }
static inline bool ir_is_float(ir_dtype d) { return d < IR_DTYPE_COUNT && ir_dtypes[d].class == IR_CLASS_FLOAT; }
static inline bool ir_is_signed(ir_dtype d) { return d < IR_DTYPE_COUNT && ir_dtypes[d].class == IR_CLASS_SINT; }
static inline bool ir_is_unsigned(ir_dtype d) { return d < IR_DTYPE_COUNT && ir_dtypes[d].class == IR_CLASS_UINT; }
static inline bool ir_is_integer(ir_dtype d) { return ir_is_signed(d) || ir_is_unsigned(d); }
/* Bytes that COUNT elements take, i4 and u4 packed; false on overflow, for an unknown dtype or a negative count. */
bool ir_dtype_bytes(ir_dtype dtype, int64_t count, int64_t *bytes);

/* The accumulator of the chain class: f32 for f16, bf16, f8 and f32; f64 for f64; i32 for 8-bit integers and
 * smaller; the dtype itself for other integers. */
ir_dtype ir_dtype_accumulator(ir_dtype dtype);

/* Conversions between a stored element and the nearest double (floats; exact except that f64 passes through) or
 * int64 (integers and bool; u64 keeps its bits). Rounding to nearest even; f8e4m3 and f8e5m2 saturate nothing:
 * overflow gives NaN for e4m3 (which has no infinity) and infinity for e5m2. BITS holds the element in its low bits. */
double ir_float_from_bits(ir_dtype dtype, uint64_t bits);
uint64_t ir_float_to_bits(ir_dtype dtype, double value);
/* Rounds f32 to the dtype (f16, bf16, f8) in one step. */
uint64_t ir_float_to_bits_f32(ir_dtype dtype, float value);
/* Sign- or zero-extends the element of an integer or bool dtype to 64 bits; wraps back. */
int64_t ir_int_from_bits(ir_dtype dtype, uint64_t bits);
uint64_t ir_int_to_bits(ir_dtype dtype, int64_t value);

#endif
