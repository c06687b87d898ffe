// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/kernels_base.c - the interpreter's loops for every machine, and what chooses among the tables. */
#define KERNELS ir_kernels_base
#define TARGET
#include "runtime/interp/kernels.inc"

const uint8_t ir_rep_sizes[IR_REP_COUNT] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

ir_rep ir_rep_of(ir_dtype dtype) {
  static const uint8_t reps[IR_DTYPE_COUNT + 1] = {
      [IR_BOOL] = IR_REP_U8, [IR_I4] = IR_REP_I8,    [IR_I8] = IR_REP_I8,      [IR_I16] = IR_REP_I16,
      [IR_I32] = IR_REP_I32, [IR_I64] = IR_REP_I64,  [IR_U4] = IR_REP_U8,      [IR_U8] = IR_REP_U8,
      [IR_U16] = IR_REP_U16, [IR_U32] = IR_REP_U32,  [IR_U64] = IR_REP_U64,    [IR_F16] = IR_REP_F32,
      [IR_BF16] = IR_REP_F32, [IR_F32] = IR_REP_F32, [IR_F64] = IR_REP_F64,    [IR_F8E4M3] = IR_REP_F32,
      [IR_F8E5M2] = IR_REP_F32,
  };
  return (ir_rep)reps[dtype];
}

const ir_kernels *ir_kernels_get(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &ir_kernels_wide;
#endif
  return &ir_kernels_base;
}

#define STRIDED(T) \
  { \
    T *to = d; \
    const T *from = a; \
    for (size_t i = 0; i < n; i++) to[i] = from[(ptrdiff_t)i * step]; \
    return; \
  }

void ir_copy_strided(unsigned size_class, void *d, const void *a, int64_t step, size_t n) {
  if (step == 1) {
    memcpy(d, a, n << size_class);
    return;
  }
  if (size_class == 0) STRIDED(uint8_t)
  if (size_class == 1) STRIDED(uint16_t)
  if (size_class == 2) STRIDED(uint32_t)
  STRIDED(uint64_t)
}
#undef STRIDED

#define STRIDED(T) \
  { \
    T *to = d; \
    const T *from = a; \
    for (size_t i = 0; i < n; i++) to[(ptrdiff_t)i * step] = from[i]; \
    return; \
  }

void ir_store_strided(unsigned size_class, void *d, const void *a, int64_t step, size_t n) {
  if (step == 1) {
    memcpy(d, a, n << size_class);
    return;
  }
  if (size_class == 0) STRIDED(uint8_t)
  if (size_class == 1) STRIDED(uint16_t)
  if (size_class == 2) STRIDED(uint32_t)
  STRIDED(uint64_t)
}

void ir_unpack4(bool is_signed, uint8_t *d, const uint8_t *packed, int64_t first, int64_t step, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int64_t at = first + (int64_t)i * step;
    unsigned value = packed[at / 2] >> (at & 1 ? 4 : 0) & 15;
    d[i] = (uint8_t)(is_signed ? (value ^ 8) - 8 : value);
  }
}
