// SPDX-License-Identifier: Apache-2.0
/* expand_accuracy - how far the expanded functions of ir/expand.def are from the real ones, in ULP.
 *
 * Needs expand_rows.h, which expand_to_c.py writes from the table, so that the text of the table is judged and not the
 * code that reads it elsewhere. Without arguments: every 997th f32 pattern, and 200,000 samples a row of f64 or of two
 * operands. --all: all 2^32 patterns and 50 million samples, a minute a row. Further arguments pick rows, such as
 * exp.f32. Prints the largest error of each row and mode (split: mad multiplies, then adds; fused: mad is fma). A check
 * fails where an error is above the row's bound, a bound above 4, a function that is odd or even does not give the same
 * bits on both sides, or a value written by hand is missed.
 * The reference is the C library's double for f32 (expand_sweep.h) and its long double for f64, within 0.005 ULP of what they judge. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "expand_ops.h"
#include "expand_rows.h"
#include "expand_values.h"

_Static_assert(LDBL_MANT_DIG >= 64, "the f64 reference needs a long double wider than double");

static double sigmoid(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }
static long double sigmoidl(long double x) { return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x)); }

#include "expand_sweep.h"

/* Error of `got` in units of the last place of the binade of `want`; infinity counts as the first number beyond. */
static double ulps_f32(float got, double want) {
  if (want != want || got != got) return want != want && got != got ? 0 : INFINITY;
  double limit = 0x1p128;
  double clamped = fmin(fmax(want, -limit), limit);
  double value = isinf(got) ? copysign(limit, got) : (double)got;
  int exponent = clamped == 0 ? -126 : ilogb(clamped);
  exponent = exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
  if (value == 0 && clamped == 0) return !signbit(got) == !signbit(want) ? 0 : INFINITY;
  return ldexp(fabs(value - clamped), 23 - exponent);
}

static double ulps_f64(double got, long double want) {
  if (want != want || got != got) return want != want && got != got ? 0 : INFINITY;
  long double limit = 0x1p1024L;
  long double clamped = fminl(fmaxl(want, -limit), limit);
  long double value = isinf(got) ? copysignl(limit, got) : (long double)got;
  int exponent = clamped == 0 ? -1022 : ilogbl(clamped);
  exponent = exponent < -1022 ? -1022 : exponent > 1023 ? 1023 : exponent;
  if (value == 0 && clamped == 0) return !signbit(got) == !signbit(want) ? 0 : INFINITY;
  return (double)ldexpl(fabsl(value - clamped), 52 - exponent);
}

/* xorshift64*, so that the samples are the same everywhere. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static double unit_of(uint64_t r) { return (double)(r >> 11) * 0x1p-53; }

/* f64 samples: uniform in growing ranges, random patterns, and neighbours of powers of two, of range ends, of 1 and of
 * multiples of pi / 2. */
static double sample_f64(uint64_t i, uint64_t *state) {
  static const double scale[] = {1, 2, 6, 20, 40, 710, 746};
  static const double edge[] = {0,        1,         -1,      0.5,      -0.5,    709.782712893384, -708.396418532264,
                                0x1p-1022, 19.0615,  5.9216,  0x1p-1074, INFINITY, -INFINITY,       DBL_MAX,
                                -DBL_MAX, -745.133219101941, 710.4758600739439, 1024, -1022, -1074, 308.2547155599167,
                                2,        10,        1000,    0x1p27,   0x1p52, 0x1p63,           0.7853981633974483,
                                0.4142135623730951, 2.414213562373095, 1.5707963267948966, 3.141592653589793};
  uint64_t r = next_random(state);
  double unit = unit_of(r), sign = r & 4096 ? 1 : -1;
  switch (i % 18) {
  case 7: return bitcast_u64_f64(r);
  case 8: return ldexp(1 + unit, (int)(r % 2098) - 1074) * sign;
  case 9: {
    uint64_t near = bitcast_f64_u64(edge[r % 32]);
    return bitcast_u64_f64(near + (r >> 32) % 64 - 32);
  }
  case 10: return 1 + (unit - 0.5) * 0x1p-4;
  case 11: return ldexp(1 + (unit - 0.5) * 0x1p-8, (int)(r % 64) - 32);
  case 12: return ((int)(r % 2200) - 1100) * 0.34657359027997264 + (unit - 0.5) * 0x1p-10;
  case 13: return ldexp(unit, -(int)(r % 30)) * sign;
  case 14: return bitcast_u64_f64((r >> 1) % UINT64_C(0x10000000000000) | (r << 63));
  case 15: return (unit - 0.5) * 2;
  case 16: return (double)(floorl(ldexpl(unit, (int)(r % 62))) * 1.570796326794896619231L);
  case 17: return sign * (1 + ldexp(unit - 0.5, -(int)(r % 50)));
  default: return (unit * 2 - 1) * scale[i % 18];
  }
}

/* Pairs: both like the samples above; powers x^y = 2^p that spread over the exponents, of x near 1 and others; small
 * integral exponents; quotients near those at which atan changes its course. `size` is the greatest exponent. */
static void sample_pair(uint64_t i, uint64_t *state, double size, double *x, double *y) {
  static const double near[] = {0, 1, -1, 0.5, 2, -0.0, 3, -2, INFINITY, -INFINITY, NAN, 0.4142135623730951, -3, 1e300, 7, 10};
  uint64_t r = next_random(state), q = next_random(state);
  double p = (unit_of(q) * 2 - 1) * size * 1.1;
  *x = sample_f64(r >> 8, state);
  *y = sample_f64(q >> 8, state);
  switch (i % 8) {
  case 0: break;
  case 1: *x = near[r % 16]; break;
  case 2: *y = near[q % 16]; break;
  case 3: *x = near[r % 16], *y = near[q % 16]; break;
  case 4: *x = exp2((unit_of(r) * 2 - 1) * size), *y = p / log2(*x); break;
  case 5: *x = 1 + ldexp(unit_of(r) - 0.5, -(int)(r % 24)), *y = p / log2(*x); break;
  case 6: *x = (unit_of(r) * 2 - 1) * 20, *y = (double)(q % 128) - 64; break;
  case 7: *x = (unit_of(r) * 2 - 1) * exp2(p), *y = *x * near[q % 16] * (1 + ldexp(unit_of(q) - 0.5, -(int)(q % 40)));
  }
}

#define SIZE_f32 150
#define SIZE_f64 1075
#define REFERENCE_f32(F, ...) F(__VA_ARGS__)
#define REFERENCE_f64(F, ...) F##l(__VA_ARGS__)
#define WIDE_f32 double
#define WIDE_f64 long double
#define TYPE_f32 float
#define TYPE_f64 double
static uint64_t seed_of(uint64_t from) { return (from + 1) * UINT64_C(0x9e3779b97f4a7c15); }

#define AT(F, T) \
  static double at_##F##_##T(double x, double y, int mode) { \
    (void)y; \
    return mode ? F##_##T##_fused((TYPE_##T)x) : F##_##T##_split((TYPE_##T)x); \
  }
#define SWEEP_f32(F) \
  AT(F, f32) \
  SWEEP_PATTERNS(F)
#define SWEEP_f64(F) \
  AT(F, f64) \
  static void sweep_##F##_f64(uint64_t from, uint64_t to, uint64_t step, struct worst out[2]) { \
    uint64_t state = seed_of(from); \
    for (uint64_t i = from; i < to; i += step) { \
      double x = sample_f64(i, &state); \
      long double want = F##l(x); \
      note(&out[0], ulps_f64(F##_f64_split(x), want), x, 0); \
      note(&out[1], ulps_f64(F##_f64_fused(x), want), x, 0); \
    } \
  }
#define ROW1(F, T, bound, size) SWEEP_##T(F)
#define ROW2(F, T, bound, size) \
  static double at_##F##_##T(double x, double y, int mode) { \
    return mode ? F##_##T##_fused((TYPE_##T)x, (TYPE_##T)y) : F##_##T##_split((TYPE_##T)x, (TYPE_##T)y); \
  } \
  static void sweep_##F##_##T(uint64_t from, uint64_t to, uint64_t step, struct worst out[2]) { \
    uint64_t state = seed_of(from); \
    for (uint64_t i = from; i < to; i += step) { \
      double a, b; \
      sample_pair(i, &state, SIZE_##T, &a, &b); \
      TYPE_##T x = (TYPE_##T)a, y = (TYPE_##T)b; \
      WIDE_##T want = REFERENCE_##T(F, (WIDE_##T)x, (WIDE_##T)y); \
      note(&out[0], ulps_##T(F##_##T##_split(x, y), want), x, y); \
      note(&out[1], ulps_##T(F##_##T##_fused(x, y), want), x, y); \
    } \
  }
EACH_ROW
#undef ROW1
#undef ROW2

struct row {
  const char *name;
  double bound;
  int operations;
  bool is_f32, is_binary;
  void (*sweep)(uint64_t from, uint64_t to, uint64_t step, struct worst out[2]);
  double (*at)(double x, double y, int mode);
};
#define IS_f32 true
#define IS_f64 false
#define ROW1(F, T, bound, size) {#F "." #T, bound, size, IS_##T, false, sweep_##F##_##T, at_##F##_##T},
#define ROW2(F, T, bound, size) {#F "." #T, bound, size, IS_##T, true, sweep_##F##_##T, at_##F##_##T},
static const struct row rows[] = {EACH_ROW};
#undef ROW1
#undef ROW2

/* A sweep is cut into equal parts whatever the number of threads, so that the samples are the same everywhere. */
enum { PARTS = 16 };

struct sweep {
  const struct row *row;
  uint64_t end, step;
  int threads, first;
  struct worst worst[2];
};

static void *run_parts(void *data) {
  struct sweep *s = data;
  for (int part = s->first; part < PARTS; part += s->threads) {
    uint64_t from = s->end / PARTS * (uint64_t)part;
    uint64_t to = part == PARTS - 1 ? s->end : s->end / PARTS * (uint64_t)(part + 1);
    s->row->sweep((from + s->step - 1) / s->step * s->step, to, s->step, s->worst);
  }
  return NULL;
}

/* Sweeps one row on all processors. */
static void check_row(const struct row *row, bool all) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  int threads = online < 1 ? 1 : online > PARTS ? PARTS : (int)online;
  struct sweep sweeps[PARTS];
  pthread_t ids[PARTS];
  bool started[PARTS] = {false};
  for (int i = 0; i < threads; i++) {
    bool patterns = row->is_f32 && !row->is_binary;
    sweeps[i] = (struct sweep){.row = row, .threads = threads, .first = i, .step = patterns && !all ? 997 : 1};
    sweeps[i].end = patterns ? UINT64_C(1) << 32 : all ? 50000000 : 200000;
    started[i] = i > 0 && pthread_create(&ids[i], NULL, run_parts, &sweeps[i]) == 0;
  }
  for (int i = 0; i < threads; i++)
    if (!started[i]) run_parts(&sweeps[i]);
  for (int i = 1; i < threads; i++)
    if (started[i]) pthread_join(ids[i], NULL);
  CHECK(row->bound <= 4);
  for (int mode = 0; mode < 2; mode++) {
    struct worst w = {0};
    for (int i = 0; i < threads; i++) {
      const struct worst *part = &sweeps[i].worst[mode];
      note(&w, part->ulps, part->x, part->y);
    }
    printf("%-12s %-5s %3d operations, max %6.3f ULP at %-14.9g (%a)", row->name, mode ? "fused" : "split",
           row->operations, w.ulps, w.x, w.x);
    if (row->is_binary) printf(", %-14.9g (%a)", w.y, w.y);
    putchar('\n');
    CHECK(w.ulps > 0 && w.ulps <= row->bound);
  }
  fflush(stdout);
}

static const struct row *find_row(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

static void check_values(void) {
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    const struct value *v = &values[i];
    const struct row *row = find_row(v->row);
    for (int mode = 0; CHECK(row) && mode < 2; mode++) {
      double got = row->at(v->x, v->y, mode);
      double ulps = row->is_f32 ? ulps_f32((float)got, v->want) : ulps_f64(got, (long double)v->want);
      if (CHECK(ulps <= v->ulps)) continue;
      printf("  %s(%a, %a) %s: expected %a, found %a\n", v->row, v->x, v->y, mode ? "fused" : "split", v->want, got);
    }
  }
}

static bool picked(const char *name, int argc, char **argv) {
  bool any = false;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-') continue;
    any = true;
    if (strcmp(argv[i], name) == 0) return true;
  }
  return !any;
}

int main(int argc, char **argv) {
  bool all = false;
  for (int i = 1; i < argc; i++) all = all || strcmp(argv[i], "--all") == 0;
  check_values();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (picked(rows[i].name, argc, argv)) check_row(&rows[i], all);
  return CHECK_REPORT("expand_accuracy");
}
