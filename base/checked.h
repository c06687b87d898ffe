// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_CHECKED_H
#define RILL_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* 64-bit arithmetic on extents and byte counts: false on overflow, then *out is not to be used. */
static inline bool ir_add_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool ir_sub_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_sub_overflow(a, b, out); }
static inline bool ir_mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* Division rounding down or up, and the remainder with the divisor's sign. B is not 0 and not (MIN, -1). */
static inline int64_t ir_floordiv_i64(int64_t a, int64_t b) { return a / b - ((a % b != 0) & ((a < 0) != (b < 0))); }
static inline int64_t ir_floormod_i64(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r + (r != 0 && (r < 0) != (b < 0) ? b : 0);
}
static inline int64_t ir_ceildiv_i64(int64_t a, int64_t b) { return a / b + ((a % b != 0) & ((a < 0) == (b < 0))); }

#endif
