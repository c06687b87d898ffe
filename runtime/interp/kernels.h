// SPDX-License-Identifier: Apache-2.0
/* The loops that the interpreter spends its time in: one for each scalar operator and register format. */
#ifndef RILL_RUNTIME_INTERP_KERNELS_H
#define RILL_RUNTIME_INTERP_KERNELS_H

#include "../../ir/expr.h"

/* How the elements of a register lie in memory. Each dtype has one format: bool and u4 are u8, i4 is i8, f16, bf16
 * and f8 are f32 values that are rounded after each operation. */
typedef enum ir_rep {
  IR_REP_U8,
  IR_REP_U16,
  IR_REP_U32,
  IR_REP_U64,
  IR_REP_I8,
  IR_REP_I16,
  IR_REP_I32,
  IR_REP_I64,
  IR_REP_F32,
  IR_REP_F64,
  IR_REP_COUNT
} ir_rep;

/* d[i] = op(a[i], b[i], c[i]) for i < n. D may be one of the operands. */
typedef void ir_strip(void *d, const void *a, const void *b, const void *c, size_t n);

enum { IR_SIZES = 4 /* of elements: 1, 2, 4, 8 bytes; index: ir_size_class */ };

typedef struct ir_kernels {
  ir_strip *op[IR_S_COUNT][IR_REP_COUNT]; /* by the format of the last operand; NULL where there is no such operator */
  ir_strip *cast[IR_REP_COUNT][IR_REP_COUNT]; /* from, to: values */
  ir_strip *to_bool[IR_REP_COUNT];
  ir_strip *to_i4[IR_REP_COUNT], *to_u4[IR_REP_COUNT];
  ir_strip *odd;                    /* f64 to f32, rounded to odd: a second rounding is then as good as one */
  ir_strip *narrow[IR_DTYPE_COUNT]; /* what follows an operation: wraps to 4 bits, rounds to f16, ...; NULL: nothing */
  ir_strip *load[IR_DTYPE_COUNT];   /* stored elements (a) to a register (d); NULL: the same format */
  ir_strip *store[IR_DTYPE_COUNT];  /* a register (a) to stored elements (d); i4 and u4: one element a byte */
  ir_strip *fold[IR_S_COUNT][IR_REP_COUNT]; /* d[0] = op(... op(d[0], a[0]) ..., a[n - 1]); MAD, FMA: of a[i], b[i] */
  ir_strip *splat[IR_SIZES];        /* d[i] = a[0] */
  ir_strip *pick[IR_SIZES];         /* d[i] = c[i] ? a[i] : d[i]; c is u8 */
  /* d[i] = a[b[i]]: b is i64, in elements. */
  ir_strip *gather[IR_SIZES];
  /* d[i] = i + a[0], i64 */
  ir_strip *iota;
  /* d[i] += a[i] * b[0], i64 */
  ir_strip *add_scaled;
} ir_kernels;

/* The table for this machine. Both give the same bits. */
const ir_kernels *ir_kernels_get(void);
extern const ir_kernels ir_kernels_base;
#if defined(__x86_64__)
extern const ir_kernels ir_kernels_wide; /* AVX2 and FMA */
#endif

/* d[i] = a[i * step]: elements of 1 << CLASS bytes. */
void ir_copy_strided(unsigned size_class, void *d, const void *a, int64_t step, size_t n);
/* d[i * step] = a[i] */
void ir_store_strided(unsigned size_class, void *d, const void *a, int64_t step, size_t n);
/* COUNT 4-bit elements of PACKED from number FIRST on, each STEP elements after the one before, one a byte. */
void ir_unpack4(bool is_signed, uint8_t *d, const uint8_t *packed, int64_t first, int64_t step, size_t count);

extern const uint8_t ir_rep_sizes[IR_REP_COUNT]; /* bytes */
ir_rep ir_rep_of(ir_dtype dtype);
static inline unsigned ir_size_class(unsigned bytes) { return bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0; }
/* Bytes of an element in memory; i4 and u4 count as 1 here. */
static inline unsigned ir_stored_size(ir_dtype dtype) { return ir_dtypes[dtype].bits < 8 ? 1 : ir_dtypes[dtype].bits / 8u; }

#endif
