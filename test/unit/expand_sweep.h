// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_EXPAND_SWEEP_H
#define RILL_TEST_UNIT_EXPAND_SWEEP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "expand_ops.h"

/* Sweeps of f32 functions of one operand over ranges of patterns, fast enough for all 2^32: both modes are evaluated a
 * block of values at a time by loops that the compiler makes vector code of (where the machine has AVX2 and FMA, those
 * of the second copy: the same bits), and errors are measured likewise. What takes the time is the C library's function
 * that they are compared with. Where it has one of four doubles at once (glibc's libmvec, within 4 ULP of double), that
 * one picks the values which seem to be worse than any before; how bad they are is for the plain one to say. A function
 * that is odd or even is compared for x >= 0 only, and its bits for -x with those for x. */

/* The largest error of a sweep and where it was met. Breaks of symmetry count as infinite errors. */
struct worst {
  double ulps, x, y;
};

static inline void note(struct worst *w, double ulps, double x, double y) {
  if (ulps > w->ulps) *w = (struct worst){ulps, x, y};
}

enum { SWEEP_BLOCK = 1024 };

enum symmetry { NO_SYMMETRY, ODD, EVEN };
static inline enum symmetry symmetry_of(const char *function) {
  static const char *const odd[] = {"sin", "tan", "sinh", "tanh", "erf", "asin", "atan", "asinh", "atanh"};
  static const char *const even[] = {"cos", "cosh"};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
    if (strcmp(function, odd[i]) == 0) return ODD;
  for (size_t i = 0; i < sizeof even / sizeof even[0]; i++)
    if (strcmp(function, even[i]) == 0) return EVEN;
  return NO_SYMMETRY;
}

#if defined(__x86_64__)
#define WIDE_TARGET __attribute__((target("avx2,fma")))
static inline bool has_wide(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
#define WIDE_TARGET
static inline bool has_wide(void) { return false; }
#endif

/* ulps_f32 without branches and calls: a NaN on one side alone gives infinity, as do zeros of different signs. */
static inline double fast_ulps(float got, double want) {
  double limit = 0x1p128, w = want > limit ? limit : want;
  w = w < -limit ? -limit : w;
  double g = got > 0x1.fffffep+127f ? limit : (double)got;
  g = g < -limit ? -limit : g;
  int64_t exponent = (bitcast_f64_i64(w) >> 52) & 0x7ff;
  exponent = exponent < 1023 - 126 ? 1023 - 126 : exponent;
  exponent = exponent > 1023 + 127 ? 1023 + 127 : exponent;
  double ulps = fabs(g - w) * bitcast_i64_f64((1023 + 23 + 1023 - exponent) << 52);
  bool same_sign = (bitcast_f64_i64(g) ^ bitcast_f64_i64(w)) >= 0;
  ulps = (g == 0) & (w == 0) & !same_sign ? (double)INFINITY : ulps;
  return (got != got) | (want != want) ? ((got != got) & (want != want) ? 0 : (double)INFINITY) : ulps;
}

#define BLOCK_OF_ULPS(COPY, TARGET) \
  TARGET static double block_ulps##COPY(const float *got, const double *want, double *ulps) { \
    for (int i = 0; i < SWEEP_BLOCK; i++) ulps[i] = fast_ulps(got[i], want[i]); \
    double most = 0; \
    for (int i = 0; i < SWEEP_BLOCK; i++) most = ulps[i] > most ? ulps[i] : most; \
    return most; \
  } \
  /* The number of values at which `minus` is not `plus` with the sign bit that `flip` says; any NaN equals any other. */ \
  TARGET static int block_breaks##COPY(const float *plus, const float *minus, uint32_t flip) { \
    int breaks = 0; \
    for (int i = 0; i < SWEEP_BLOCK; i++) { \
      bool same = (bitcast_f32_u32(plus[i]) ^ flip) == bitcast_f32_u32(minus[i]); \
      breaks += !(same | ((plus[i] != plus[i]) & (minus[i] != minus[i]))); \
    } \
    return breaks; \
  }
BLOCK_OF_ULPS(_base, )
BLOCK_OF_ULPS(_wide, WIDE_TARGET)

struct sweeper {
  void (*values[2])(const float *x, float *got); /* split, fused */
  void (*reference)(const float *x, double *want);
  double (*exact)(double x);
  double (*ulps)(const float *got, const double *want, double *ulps);
  int (*breaks)(const float *plus, const float *minus, uint32_t flip);
  enum symmetry symmetry;
};

/* Neighbours that all give the same, both ways: outside of a domain, or where the function is flat. It is monotonic between
 * two patterns so near, so that the first, the last and one in the middle tell about all. */
static inline bool judge_constant(const struct sweeper *s, const float *x, float got[2][SWEEP_BLOCK], struct worst out[2]) {
  float same[SWEEP_BLOCK];
  for (int mode = 0; mode < 2; mode++) {
    for (int i = 0; i < SWEEP_BLOCK; i++) same[i] = got[mode][0];
    if (s->breaks(got[mode], same, 0)) return false;
  }
  for (int i = 0; i < SWEEP_BLOCK; i += i ? SWEEP_BLOCK / 2 : SWEEP_BLOCK / 2 - 1) {
    double want = s->exact((double)x[i]);
    for (int mode = 0; mode < 2; mode++) note(&out[mode], fast_ulps(got[mode][i], want), (double)x[i], 0);
  }
  return true;
}

static inline void sweep_block(const struct sweeper *s, const float *x, bool neighbours, struct worst out[2]) {
  float got[2][SWEEP_BLOCK], mirrored[SWEEP_BLOCK], negative[SWEEP_BLOCK];
  double want[SWEEP_BLOCK], ulps[SWEEP_BLOCK];
  for (int i = 0; i < SWEEP_BLOCK; i++) negative[i] = -x[i];
  for (int mode = 0; mode < 2; mode++) {
    s->values[mode](x, got[mode]);
    if (s->symmetry == NO_SYMMETRY) continue;
    s->values[mode](negative, mirrored);
    if (s->breaks(got[mode], mirrored, s->symmetry == ODD ? 0x80000000u : 0)) note(&out[mode], INFINITY, (double)x[0], 0);
  }
  if (neighbours && judge_constant(s, x, got, out)) return;
  s->reference(x, want);
  for (int mode = 0; mode < 2; mode++) {
    if (s->ulps(got[mode], want, ulps) <= out[mode].ulps) continue;
    for (int i = 0; i < SWEEP_BLOCK; i++)
      if (ulps[i] > out[mode].ulps) note(&out[mode], fast_ulps(got[mode][i], s->exact((double)x[i])), (double)x[i], 0);
  }
}

/* The patterns from, from + step ... below to; the last block repeats its last pattern. */
static inline void sweep_patterns(const struct sweeper *s, uint64_t from, uint64_t to, uint64_t step,
                                  struct worst out[2]) {
  uint64_t half = UINT64_C(1) << 31;
  if (s->symmetry != NO_SYMMETRY && to > half) to = half;
  float x[SWEEP_BLOCK];
  for (uint64_t i = from; i < to;) {
    uint64_t last = i;
    for (int j = 0; j < SWEEP_BLOCK; j++) {
      last = i < to ? i : last;
      x[j] = bitcast_u32_f32((uint32_t)last);
      i += step;
    }
    sweep_block(s, x, step == 1, out);
  }
}

#if defined(__x86_64__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define HAS_FOUR
#endif
#endif
#ifdef HAS_FOUR
typedef double four __attribute__((vector_size(32)));
#define FOUR_OF(F) _ZGVdN4v_##F
WIDE_TARGET static four FOUR_OF(sigmoid)(four x) {
  return (four){sigmoid(x[0]), sigmoid(x[1]), sigmoid(x[2]), sigmoid(x[3])};
}
#define REFERENCE_WIDE(F) \
  extern four FOUR_OF(F)(four x); \
  WIDE_TARGET static void F##_reference_wide(const float *x, double *want) { \
    for (int i = 0; i < SWEEP_BLOCK; i += 4) { \
      four result = FOUR_OF(F)((four){(double)x[i], (double)x[i + 1], (double)x[i + 2], (double)x[i + 3]}); \
      memcpy(want + i, &result, sizeof result); \
    } \
  }
#else
#define REFERENCE_WIDE(F) \
  static void F##_reference_wide(const float *x, double *want) { F##_reference_base(x, want); }
#endif

#define VALUES(F, MODE, COPY, TARGET) \
  TARGET static void F##_##MODE##COPY(const float *x, float *got) { \
    for (int i = 0; i < SWEEP_BLOCK; i++) got[i] = F##_f32_##MODE(x[i]); \
  }
#define SWEEP_PATTERNS(F) \
  VALUES(F, split, _base, ) \
  VALUES(F, fused, _base, ) \
  VALUES(F, split, _wide, WIDE_TARGET) \
  VALUES(F, fused, _wide, WIDE_TARGET) \
  static void F##_reference_base(const float *x, double *want) { \
    for (int i = 0; i < SWEEP_BLOCK; i++) want[i] = F((double)x[i]); \
  } \
  REFERENCE_WIDE(F) \
  static void sweep_##F##_f32(uint64_t from, uint64_t to, uint64_t step, struct worst out[2]) { \
    static const struct sweeper sweepers[] = { \
      {{F##_split_base, F##_fused_base}, F##_reference_base, F, block_ulps_base, block_breaks_base, NO_SYMMETRY}, \
      {{F##_split_wide, F##_fused_wide}, F##_reference_wide, F, block_ulps_wide, block_breaks_wide, NO_SYMMETRY}}; \
    struct sweeper s = sweepers[has_wide()]; \
    s.symmetry = symmetry_of(#F); \
    sweep_patterns(&s, from, to, step, out); \
  }

#endif
