// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_NUMBER_H
#define RILL_IR_NUMBER_H

#include "dtype.h"

/* Numbers as text, independent of the locale: exact in both directions for every element type. */

typedef enum ir_number_result { IR_NUMBER_FINE, IR_NUMBER_RANGE /* too large for the dtype */ } ir_number_result;

/* The unsigned integer TEXT (decimal, or hexadecimal after 0x; well formed). False where it does not fit 64 bits. */
bool ir_parse_integer(ir_slice text, uint64_t *value);
/* The unsigned number TEXT (1, 1.0, 1e-05, 0x1.8p-3; well formed) as the nearest element of DTYPE, halves to even,
 * rounded once. RANGE where it rounds past the largest finite element. */
ir_number_result ir_parse_float(ir_dtype dtype, ir_slice text, uint64_t *bits);
/* The NaN of DTYPE with a mantissa of PAYLOAD; false where PAYLOAD is 0 or does not fit (f8e4m3 has one NaN). */
bool ir_nan_bits(ir_dtype dtype, uint64_t payload, uint64_t *bits);
/* The mantissa of the NaN that `nan` stands for: the quiet bit alone. */
uint64_t ir_nan_payload(ir_dtype dtype);
static inline uint64_t ir_float_sign_bit(ir_dtype dtype) { return UINT64_C(1) << (ir_dtypes[dtype].bits - 1); }

/* The element as a literal: true, -3, the shortest decimal that reads back as the same float and of these the nearest
 * (0.1875, 1e-05), inf, -0.0, nan, -nan, nan(0x400001). */
void ir_print_number(ir_text *out, ir_dtype dtype, uint64_t bits);

/* The finite f32 nearest to VALUE as numerator / 2^k in lowest terms, k at most 40 and the numerator below 2^40: exact.
 * False for what does not fit. */
bool ir_f32_ratio(double value, int64_t *numerator, int64_t *denominator);

#endif
