// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_EXPAND_OPS_H
#define RILL_TEST_UNIT_EXPAND_OPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The operations of the formulas of ir/expand.def in C, one function an operation and dtype, as ir/scalar.def defines
 * them. Written apart from the interpreter on purpose: the accuracy test rests on nothing that it might share a fault
 * with. */

#define BITCAST(FROM, TO, from, to) \
  static inline to bitcast_##FROM##_##TO(from v) { \
    to r; \
    memcpy(&r, &v, sizeof r); \
    return r; \
  }
BITCAST(f32, i32, float, int32_t)
BITCAST(i32, f32, int32_t, float)
BITCAST(f32, u32, float, uint32_t)
BITCAST(u32, f32, uint32_t, float)
BITCAST(f64, i64, double, int64_t)
BITCAST(i64, f64, int64_t, double)
BITCAST(f64, u64, double, uint64_t)
BITCAST(u64, f64, uint64_t, double)
BITCAST(u64, i64, uint64_t, int64_t)
BITCAST(i64, u64, int64_t, uint64_t)

#define FLOAT_OPS(T, type, suffix) \
  static inline type mad_split_##T(type a, type b, type c) { return a * b + c; } \
  static inline type mad_fused_##T(type a, type b, type c) { return fma##suffix(a, b, c); } \
  static inline type fma_##T(type a, type b, type c) { return fma##suffix(a, b, c); } \
  static inline type sqrt_##T(type a) { return sqrt##suffix(a); } \
  static inline type rint_##T(type a) { return rint##suffix(a); } \
  static inline type floor_##T(type a) { return floor##suffix(a); } \
  static inline type ceil_##T(type a) { return ceil##suffix(a); } \
  static inline type trunc_##T(type a) { return trunc##suffix(a); } \
  static inline type abs_##T(type a) { return fabs##suffix(a); } \
  static inline type copysign_##T(type a, type b) { return copysign##suffix(a, b); } \
  static inline type max_##T(type a, type b) { return a > b || a != a ? a : b; } \
  static inline type min_##T(type a, type b) { return a < b || a != a ? a : b; } \
  static inline bool isnan_##T(type a) { return a != a; } \
  static inline bool isinf_##T(type a) { return a - a != a - a && a == a; }
FLOAT_OPS(f32, float, f)
FLOAT_OPS(f64, double, )

#define INT_OPS(T, type, unsigned_type, bits, right) \
  static inline type shl_##T(type a, type n) { return (unsigned_type)n >= bits ? 0 : (type)((unsigned_type)a << n); } \
  static inline type shr_##T(type a, type n) { return (unsigned_type)n >= bits ? right : (type)(a >> n); } \
  static inline type bitand_##T(type a, type b) { return a & b; } \
  static inline type bitor_##T(type a, type b) { return a | b; } \
  static inline type bitxor_##T(type a, type b) { return a ^ b; }
INT_OPS(i32, int32_t, uint32_t, 32, a < 0 ? -1 : 0)
INT_OPS(i64, int64_t, uint64_t, 64, a < 0 ? -1 : 0)
INT_OPS(u32, uint32_t, uint32_t, 32, 0)
INT_OPS(u64, uint64_t, uint64_t, 64, 0)

#define INT_CAST(FROM, TO, from, to) \
  static inline to cast_##FROM##_##TO(from a) { return (to)a; }
INT_CAST(u32, i32, uint32_t, int32_t)
INT_CAST(u32, u64, uint32_t, uint64_t)
INT_CAST(u64, u32, uint64_t, uint32_t)
INT_CAST(u64, i64, uint64_t, int64_t)

static inline float cast_i32_f32(int32_t a) { return (float)a; }
static inline double cast_i64_f64(int64_t a) { return (double)a; }

#endif
