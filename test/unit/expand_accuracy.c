// SPDX-License-Identifier: Apache-2.0
/* expand_accuracy - how far the expanded functions of ir/expand.def are from the real ones, in ULP.
 *
 * Needs expand_rows.h, which expand_to_c.py writes from the table, so that the text of the table is judged and not the
 * code that reads it elsewhere. Without arguments: every 997th f32 pattern and 200,000 f64 samples a row. --all: all
 * 2^32 patterns and 50 million samples, minutes a row. Further arguments pick rows, such as exp.f32. Prints the largest
 * error of each row and mode (split: mad multiplies, then adds; fused: mad is fma). A check fails where an error is
 * above the row's bound, a bound above 4, or a value written by hand missed.
 * The reference is the C library's double for f32 and its long double for f64, within 0.005 ULP of what they judge. */
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

_Static_assert(LDBL_MANT_DIG >= 64, "the f64 reference needs a long double wider than double");

static double sigmoid(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }
static long double sigmoidl(long double x) { return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x)); }

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

/* The largest error of a sweep and where it was met. */
struct worst {
  double ulps, at;
};

static void note(struct worst *w, double ulps, double at) {
  if (ulps > w->ulps) *w = (struct worst){ulps, at};
}

/* xorshift64*, so that the samples are the same everywhere. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* f64 samples: uniform in growing ranges, random patterns, and neighbours of powers of two and of range ends. */
static double sample_f64(uint64_t i, uint64_t *state) {
  static const double scale[] = {1, 2, 6, 20, 40, 710, 746};
  static const double edge[] = {
      0,         1,       -1,     0.5,       -0.5,     709.782712893384, -708.396418532264, -745.133219101941,
      0x1p-1022, 19.0615, 5.9216, 0x1p-1074, INFINITY, -INFINITY,        DBL_MAX,           -DBL_MAX};
  uint64_t r = next_random(state);
  double unit = (double)(r >> 11) * 0x1p-53;
  switch (i % 16) {
  case 7: return bitcast_u64_f64(r);
  case 8: return ldexp(1 + unit, (int)(r % 2098) - 1074) * (r & 4096 ? 1 : -1);
  case 9: {
    uint64_t near = bitcast_f64_u64(edge[r % 16]);
    return bitcast_u64_f64(near + (r >> 32) % 64 - 32);
  }
  case 10: return 1 + (unit - 0.5) * 0x1p-4;
  case 11: return ldexp(1 + (unit - 0.5) * 0x1p-8, (int)(r % 64) - 32);
  case 12: return ((int)(r % 2200) - 1100) * 0.34657359027997264 + (unit - 0.5) * 0x1p-10;
  case 13: return ldexp(unit, -(int)(r % 30)) * (r & 4096 ? 1 : -1);
  case 14: return bitcast_u64_f64((r >> 1) % UINT64_C(0x10000000000000) | (r << 63));
  case 15: return (unit - 0.5) * 2;
  default: return (unit * 2 - 1) * scale[i % 16];
  }
}

#define ROW(F, T, bound, size) SWEEP_##T(F)
#define SWEEP_f32(F) \
  static double at_##F##_f32(double x, int mode) { return mode ? F##_f32_fused((float)x) : F##_f32_split((float)x); } \
  static void sweep_##F##_f32(uint64_t from, uint64_t to, uint64_t step, struct worst out[2]) { \
    for (uint64_t i = from; i < to; i += step) { \
      float x = bitcast_u32_f32((uint32_t)i); \
      double want = F((double)x); \
      note(&out[0], ulps_f32(F##_f32_split(x), want), (double)x); \
      note(&out[1], ulps_f32(F##_f32_fused(x), want), (double)x); \
    } \
  }
#define SWEEP_f64(F) \
  static double at_##F##_f64(double x, int mode) { \
    return mode ? F##_f64_fused((double)x) : F##_f64_split((double)x); \
  } \
  static void sweep_##F##_f64(uint64_t from, uint64_t to, uint64_t step, struct worst out[2]) { \
    uint64_t state = (from + 1) * UINT64_C(0x9e3779b97f4a7c15); \
    for (uint64_t i = from; i < to; i += step) { \
      double x = sample_f64(i / step, &state); \
      long double want = F##l((long double)x); \
      note(&out[0], ulps_f64(F##_f64_split(x), want), x); \
      note(&out[1], ulps_f64(F##_f64_fused(x), want), x); \
    } \
  }
EACH_ROW
#undef ROW

struct row {
  const char *name;
  double bound;
  int operations;
  bool is_f32;
  void (*sweep)(uint64_t from, uint64_t to, uint64_t step, struct worst out[2]);
  double (*at)(double x, int mode);
};
#define IS_f32 true
#define IS_f64 false
#define ROW(F, T, bound, size) {#F "." #T, bound, size, IS_##T, sweep_##F##_##T, at_##F##_##T},
static const struct row rows[] = {EACH_ROW};
#undef ROW

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
    sweeps[i] = (struct sweep){.row = row, .threads = threads, .first = i, .step = row->is_f32 && !all ? 997 : 1};
    sweeps[i].end = row->is_f32 ? UINT64_C(1) << 32 : all ? 50000000 : 200000;
    started[i] = i > 0 && pthread_create(&ids[i], NULL, run_parts, &sweeps[i]) == 0;
  }
  for (int i = 0; i < threads; i++)
    if (!started[i]) run_parts(&sweeps[i]);
  for (int i = 1; i < threads; i++)
    if (started[i]) pthread_join(ids[i], NULL);
  CHECK(row->bound <= 4);
  for (int mode = 0; mode < 2; mode++) {
    struct worst w = {0, 0};
    for (int i = 0; i < threads; i++) note(&w, sweeps[i].worst[mode].ulps, sweeps[i].worst[mode].at);
    printf("%-12s %-5s %3d operations, max %6.3f ULP at %-14.9g (%a)\n", row->name, mode ? "fused" : "split",
           row->operations, w.ulps, w.at, w.at);
    CHECK(w.ulps > 0 && w.ulps <= row->bound);
  }
  fflush(stdout);
}

/* Values written by hand: from the definition, or (the inexact ones) from tables of the functions. */
struct value {
  const char *row;
  double x, want, ulps;
};
#define INF INFINITY
static const struct value values[] = {
    {"exp.f32", 0, 1, 0},
    {"exp.f32", -0.0, 1, 0},
    {"exp.f32", 1, 2.718281828459045, 1},
    {"exp.f32", 89, INF, 0},
    {"exp.f32", 88.72284, INF, 0},
    {"exp.f32", 0x1.62e37cp+6, 3.4004887666492248e38, 2},
    {"exp.f32", -100, 3.720075976020836e-44, 0.6},
    {"exp.f32", -87.5, 9.982350930569248e-39, 1},
    {"exp.f32", -103.5, 0x1p-149, 0.5},
    {"exp.f32", -104, 0, 0},
    {"exp.f32", -INF, 0, 0},
    {"exp.f32", INF, INF, 0},
    {"exp.f32", FLT_MAX, INF, 0},
    {"exp.f32", -FLT_MAX, 0, 0},
    {"exp.f32", NAN, NAN, 0},
    {"log.f32", 1, 0, 0},
    {"log.f32", 0, -INF, 0},
    {"log.f32", -0.0, -INF, 0},
    {"log.f32", -1, NAN, 0},
    {"log.f32", -0x1p-149, NAN, 0},
    {"log.f32", -INF, NAN, 0},
    {"log.f32", INF, INF, 0},
    {"log.f32", NAN, NAN, 0},
    {"log.f32", 10, 2.302585092994046, 1},
    {"log.f32", 0x1p-149, -103.27892990343184, 1},
    {"log.f32", 0x1p-126, -87.33654475055310, 1},
    {"log.f32", FLT_MAX, 88.72283905206835, 1},
    {"tanh.f32", 0, 0, 0},
    {"tanh.f32", -0.0, -0.0, 0},
    {"tanh.f32", 100, 1, 0},
    {"tanh.f32", -100, -1, 0},
    {"tanh.f32", INF, 1, 0},
    {"tanh.f32", -INF, -1, 0},
    {"tanh.f32", NAN, NAN, 0},
    {"tanh.f32", 0x1p-149, 0x1p-149, 0},
    {"tanh.f32", -0x1.8p-140, -0x1.8p-140, 0},
    {"tanh.f32", 0.5, 0.46211715726000976, 2},
    {"erf.f32", 0, 0, 0},
    {"erf.f32", -0.0, -0.0, 0},
    {"erf.f32", 3e-12, 3.385137501286538e-12, 1},
    {"erf.f32", 5e-20, 5.641895835477563e-20, 1},
    {"erf.f32", -0x1p-149, -0x1p-149, 0},
    {"erf.f32", 0x1p-140, 578 * 0x1p-149, 0},
    {"erf.f32", 1, 0.8427007929497149, 1},
    {"erf.f32", 100, 1, 0},
    {"erf.f32", -INF, -1, 0},
    {"erf.f32", INF, 1, 0},
    {"erf.f32", NAN, NAN, 0},
    {"sigmoid.f32", 0, 0.5, 0},
    {"sigmoid.f32", -0.0, 0.5, 0},
    {"sigmoid.f32", 100, 1, 0},
    {"sigmoid.f32", INF, 1, 0},
    {"sigmoid.f32", -INF, 0, 0},
    {"sigmoid.f32", -FLT_MAX, 0, 0},
    {"sigmoid.f32", -103, 0x1p-149, 0.5},
    {"sigmoid.f32", -90, 8.194012623990515e-40, 1},
    {"sigmoid.f32", -1, 0.2689414213699951, 2},
    {"sigmoid.f32", NAN, NAN, 0},
    {"exp.f64", 0, 1, 0},
    {"exp.f64", -0.0, 1, 0},
    {"exp.f64", 1, 2.718281828459045, 1},
    {"exp.f64", 709.7, 1.6549840276802644e308, 2},
    {"exp.f64", 709.79, INF, 0},
    {"exp.f64", 710, INF, 0},
    {"exp.f64", -745, 0x1p-1074, 0},
    {"exp.f64", -746, 0, 0},
    {"exp.f64", INF, INF, 0},
    {"exp.f64", -INF, 0, 0},
    {"exp.f64", DBL_MAX, INF, 0},
    {"exp.f64", -DBL_MAX, 0, 0},
    {"exp.f64", NAN, NAN, 0},
    {"log.f64", 1, 0, 0},
    {"log.f64", 0, -INF, 0},
    {"log.f64", -0.0, -INF, 0},
    {"log.f64", -1, NAN, 0},
    {"log.f64", -0x1p-1074, NAN, 0},
    {"log.f64", -INF, NAN, 0},
    {"log.f64", INF, INF, 0},
    {"log.f64", NAN, NAN, 0},
    {"log.f64", 10, 2.302585092994046, 1},
    {"log.f64", 0x1p-1074, -744.4400719213812, 1},
    {"log.f64", 0x1p-1022, -708.3964185322641, 1},
    {"log.f64", DBL_MAX, 709.782712893384, 1},
    {"tanh.f64", -0.0, -0.0, 0},
    {"tanh.f64", 100, 1, 0},
    {"tanh.f64", -100, -1, 0},
    {"tanh.f64", INF, 1, 0},
    {"tanh.f64", -INF, -1, 0},
    {"tanh.f64", NAN, NAN, 0},
    {"tanh.f64", 0x1p-1074, 0x1p-1074, 0},
    {"tanh.f64", 0.5, 0.46211715726000976, 2},
    {"erf.f64", -0.0, -0.0, 0},
    {"erf.f64", 3e-12, 3.385137501286538e-12, 1},
    {"erf.f64", 5e-20, 5.641895835477563e-20, 1},
    {"erf.f64", -0x1p-1074, -0x1p-1074, 0},
    {"erf.f64", 1, 0.8427007929497149, 1},
    {"erf.f64", 100, 1, 0},
    {"erf.f64", -INF, -1, 0},
    {"erf.f64", NAN, NAN, 0},
    {"sigmoid.f64", 0, 0.5, 0},
    {"sigmoid.f64", 100, 1, 0},
    {"sigmoid.f64", INF, 1, 0},
    {"sigmoid.f64", -INF, 0, 0},
    {"sigmoid.f64", -DBL_MAX, 0, 0},
    {"sigmoid.f64", -745, 0x1p-1074, 0},
    {"sigmoid.f64", -746, 0, 0},
    {"sigmoid.f64", -1, 0.2689414213699951, 2},
    {"sigmoid.f64", NAN, NAN, 0},
};

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
      double got = row->at(v->x, mode);
      double ulps = row->is_f32 ? ulps_f32((float)got, v->want) : ulps_f64(got, (long double)v->want);
      if (CHECK(ulps <= v->ulps)) continue;
      printf("  %s(%a) %s: expected %a, found %a\n", v->row, v->x, mode ? "fused" : "split", v->want, got);
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
