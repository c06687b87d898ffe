// SPDX-License-Identifier: Apache-2.0
/* Tensor programs in the interpreter: compute nests and loops, reductions to the bit, workgroups, and what is an error. */
#include "interp_run.h"

static const char *const nests =
    "rill 1 module {\n"
    "  reducer @online(%m0: f32 = -inf, %s0: f32 = 0.0; %m1: f32, %s1: f32) {\n"
    "    %m = max(%m0, %m1) : f32\n"
    "    %s = %s0 * exp(%m0 - %m) + %s1 * exp(%m1 - %m) : f32\n"
    "    yield %m, %s\n"
    "  }\n"
    "  prim_func @softmax(%x: f32[n, c], out %out: f32[n, c]) {\n"
    "    %m = alloc(scope=local) : f32[n]\n"
    "    %s = alloc(scope=local) : f32[n]\n"
    "    compute (i < n; k < c) { %m[i], %s[i] = @online(%x[i, k], 1.0) }\n"
    "    compute (i < n, j < c) { %out[i, j] = exp(%x[i, j] - %m[i]) / %s[i] }\n"
    "  }\n"
    "  prim_func @argmax(%x: f32[n, c], out %idx: i64[n], out %val: f32[n]) {\n"
    "    compute (i < n; k < c) { %idx[i], %val[i] = argmax(k, %x[i, k]) }\n"
    "  }\n"
    "  prim_func @argmin(%x: i16[n, c], out %idx: i32[n]) {\n"
    "    compute (i < n; k < c) { %idx[i] = argmin(k, %x[i, k]) }\n"
    "  }\n"
    "  prim_func @masked_pool(%x: f16[n, h], %len: i32[n], out %out: f32[n], out %all: bool[]) {\n"
    "    compute (i < n; r < 3) where 2 * i + r < h, r < i64(%len[i]) || !(i >= 1 && i != 4) {\n"
    "      %out[i] = sum(select(%x[i, 2 * i + r] > f16(0.0), f32(%x[i, 2 * i + r]), -(1.0 - 0.5)))\n"
    "    }\n"
    "    compute (; i < n) { %all[] = all(%out[i] == %out[i]) }\n"
    "  }\n"
    "  prim_func @sum_rows(%x: f32[n, c], out %y: f32[n]) {\n"
    "    compute (i < n; k < c) { %y[i] = sum(%x[i, k]) }\n"
    "  }\n"
    "  prim_func @sum_columns(%x: f32[n, c], out %y: f32[c]) {\n"
    "    compute (j < c; k < n) { %y[j] = sum(%x[k, j]) }\n"
    "  }\n"
    "  prim_func @sum_all(%x: f32[n, c], out %y: f32[]) {\n"
    "    compute (; i < n, k < c) { %y[] = sum(%x[i, k]) }\n"
    "  }\n"
    "  prim_func @sum_some(%x: f32[n, c], out %y: f32[n]) {\n"
    "    compute (i < n; k < c) where floormod(k, 3) != 1 { %y[i] = sum(%x[i, k]) }\n"
    "  }\n"
    "  prim_func @sum_half(%x: f16[n, c], out %y: f16[n]) {\n"
    "    compute (i < n; k < c) { %y[i] = sum(%x[i, k]) }\n"
    "  }\n"
    "  prim_func @chain(%x: f32[n, c], out %y: f32[n]) {\n"
    "    compute (i < n; k < c) { %y[i] = sum(%x[i, k], order=\"chain\") }\n"
    "  }\n"
    "  prim_func @most(%x: f32[n, c], out %y: f32[n], out %z: f32[c]) {\n"
    "    compute (i < n; k < c) { %y[i] = max(%x[i, k]) }\n"
    "    compute (j < c; k < n) { %z[j] = max(%x[k, j]) }\n"
    "  }\n"
    "  prim_func @matmul(%a: f32[n, k], %b: f32[k, m], out %c: f32[n, m]) {\n"
    "    compute (i < n, j < m; l < k) { %c[i, j] = dot(%a[i, l], %b[l, j]) }\n"
    "  }\n"
    "  prim_func @matmul_i8(%a: i8[n, k], %b: i8[k, m], out %c: i32[n, m]) {\n"
    "    compute (i < n, j < m; l < k) { %c[i, j] = dot(%a[i, l], %b[l, j]) }\n"
    "  }\n"
    "  prim_func @conv(%x: f32[h, w], %k: f32[3, 3], out %y: f32[h, w]) {\n"
    "    compute (i < h, j < w; r < 3, s < 3) where i + r >= 1, i + r <= h, j + s >= 1, j + s <= w {\n"
    "      %y[i, j] = dot(%x[i + r - 1, j + s - 1], %k[r, s])\n"
    "    }\n"
    "  }\n"
    "  prim_func @pad(%x: f32[n, m], out %y: f32[n + 2, m + 3]) {\n"
    "    compute (i < n + 2, j < m + 3) {\n"
    "      %y[i, j] = guard(i >= 1 && i <= n && j >= 2 && j < m + 2, %x[i - 1, j - 2], -1.0)\n"
    "    }\n"
    "  }\n"
    "  prim_func @transpose(%x: i4[a, b, c], out %y: i4[c, a, b]) {\n"
    "    compute (i < c, j < a, k < b) { %y[i, j, k] = %x[j, k, i] }\n"
    "  }\n"
    "  prim_func @flat(%x: u8[a, b, c], out %y: u8[a * b * c]) {\n"
    "    compute (i < a * b * c) { %y[i] = %x[floordiv(i, b * c), floordiv(floormod(i, b * c), c), floormod(i, c)] }\n"
    "  }\n"
    "  prim_func @part(%x: f32[n], inout %y: f32[n], %alpha: f32, m: i64) {\n"
    "    compute (i < m) where i != 2 { %y[i] = %alpha * %x[i] + %y[i] }\n"
    "  }\n"
    "  prim_func @take(%x: f32[n], %i: i64[m], out %y: f32[m]) {\n"
    "    compute (k < m) { %y[k] = %x[%i[k]] }\n"
    "  }\n"
    "  prim_func @put(%i: i64[m], %v: f32[m], inout %y: f32[n]) {\n"
    "    for k < m { %y[%i[k]] = %v[k] }\n"
    "  }\n"
    "  prim_func @quotient(%a: i32[n], %b: i32[n], out %y: i32[n]) {\n"
    "    compute (k < n) where %b[k] != 7 { %y[k] = truncdiv(%a[k], %b[k]) }\n"
    "  }\n"
    "}\n";

/* The order of sums over the last axis: lanes, then halving, then the same for the blocks. */
static float lanes_sum(float *x, int64_t count, int lanes) {
  do {
    int64_t blocks = (count + 4095) / 4096;
    for (int64_t b = 0; b < blocks; b++) {
      float lane[32] = {0};
      for (int64_t i = b * 4096; i < count && i < (b + 1) * 4096; i++) lane[(i - b * 4096) % lanes] += x[i];
      for (int w = lanes / 2; w; w /= 2) {
        for (int l = 0; l < w; l++) lane[l] += lane[l + w];
      }
      x[b] = lane[0];
    }
    count = blocks;
  } while (count > 1);
  return x[0];
}

static uint32_t state = 12345;
static double noise(void) {
  state = state * 1664525u + 1013904223u;
  return ((double)(int32_t)state / 2147483648.0) * exp2((double)((int)(state >> 8 & 15) - 8));
}

static void randomize(ir_object *object) {
  for (int64_t i = 0; i < object->tensor->count; i++) set(object, i, noise());
}

static void test_sums(run *r) {
  static const int sizes[][2] = {{3, 4097}, {2, 8192}, {40, 33}, {1, 70000}, {300, 20}, {5, 1}};
  enum { MOST = 70000 };
  static float items[MOST];
  for (size_t s = 0; s < ir_count_of(sizes); s++) {
    int n = sizes[s][0], c = sizes[s][1];
    ir_object *x = array(IR_F32, 2, n, c), *y = array(IR_F32, 1, n), *z = array(IR_F32, 1, c), *all = array(IR_F32, 0);
    randomize(x);
    CHECK(PRIM(r, "sum_rows", x, y) && PRIM(r, "sum_columns", x, z) && PRIM(r, "sum_all", x, all));
    bool rows = true, columns = true;
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < c; k++) items[k] = (float)get(x, i * c + k);
      rows &= lanes_sum(items, c, 32) == (float)get(y, i);
    }
    for (int j = 0; j < c; j++) {
      for (int k = 0; k < n; k++) items[k] = (float)get(x, k * c + j);
      columns &= lanes_sum(items, n, 1) == (float)get(z, j);
    }
    if (n * c <= MOST) {
      for (int i = 0; i < n * c; i++) items[i] = (float)get(x, i);
      CHECK(lanes_sum(items, n * c, 32) == (float)get(all, 0));
    }
    CHECK(rows);
    CHECK(columns);
    CHECK(PRIM(r, "chain", x, y));
    float chain = 0;
    for (int k = 0; k < c; k++) chain += (float)get(x, (n - 1) * c + k);
    CHECK((float)get(y, n - 1) == chain);
    /* A guard leaves elements out, not positions. */
    CHECK(PRIM(r, "sum_some", x, y));
    for (int k = 0; k < c; k++) items[k] = k % 3 == 1 ? 0.0f : (float)get(x, k);
    CHECK(lanes_sum(items, c, 32) == (float)get(y, 0));
    DROP(x, y, z, all);
  }
}

static void test_half_sum(run *r) {
  ir_object *x = array(IR_F16, 2, 2, 4096), *y = array(IR_F16, 1, 2);
  for (int i = 0; i < 2 * 4096; i++) set(x, i, i < 4096 ? 1.0 / 4096 : 1.0);
  CHECK(PRIM(r, "sum_half", x, y));
  CHECK(holds(y, VALUES(1, 4096)));
  DROP(x, y);
}

static void test_empty(run *r) {
  ir_object *x = array(IR_F32, 2, 2, 0), *y = array(IR_F32, 1, 2), *none = array(IR_F32, 1, 0), *i = array(IR_I64, 1, 2);
  CHECK(PRIM(r, "sum_rows", x, y) && holds(y, VALUES(0, 0)));
  CHECK(PRIM(r, "most", x, y, none) && holds(y, VALUES(-INFINITY, -INFINITY)));
  CHECK(!PRIM(r, "argmax", x, i, y));
  CHECK_TEXT(r->said, "argmax of nothing has no value");
  DROP(x, y, none, i);
}

static void test_nan(run *r) {
  ir_object *x = array(IR_F32, 2, 4, 5), *i = array(IR_I64, 1, 4), *y = array(IR_F32, 1, 4), *z = array(IR_F32, 1, 5);
  filled(x, VALUES(2, NAN, 7, 4, 1, NAN, 2, 7, 4, 1, 2, 4, 7, 1, NAN, 3, 9, -1, 9, 0));
  CHECK(PRIM(r, "argmax", x, i, y) && holds(i, VALUES(1, 0, 4, 1)) && holds(y, VALUES(NAN, NAN, NAN, 9)));
  CHECK(PRIM(r, "most", x, y, z) && holds(y, VALUES(NAN, NAN, NAN, 9)) && holds(z, VALUES(NAN, NAN, 7, 9, NAN)));
  DROP(x, i, y, z);
  /* Long enough to go in strips along the reduction; the first of equals. */
  x = array(IR_I16, 2, 1, 1000), i = array(IR_I32, 1, 1);
  for (int k = 0; k < 1000; k++) set(x, k, k == 300 || k == 700 ? -32768 : k);
  CHECK(PRIM(r, "argmin", x, i) && holds(i, VALUES(300)));
  DROP(x, i);
}

static void test_dot(run *r, bool fma) {
  /* 1 + 2^-12 squared needs 25 bits: the fused product keeps the last one. */
  ir_object *a = array(IR_F32, 2, 1, 2), *b = array(IR_F32, 2, 2, 1), *c = array(IR_F32, 2, 1, 1);
  double x = 1 + 0x1p-12;
  filled(a, VALUES(-1, x)), filled(b, VALUES(1, x));
  CHECK(PRIM(r, "matmul", a, b, c));
  CHECK(get(c, 0) == (fma ? 0x1p-11 + 0x1p-24 : 0x1p-11));
  DROP(a, b, c);
  a = array(IR_F32, 2, 3, 70), b = array(IR_F32, 2, 70, 130), c = array(IR_F32, 2, 3, 130);
  randomize(a), randomize(b);
  CHECK(PRIM(r, "matmul", a, b, c));
  bool same = true;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 130; j++) {
      float acc = 0;
      for (int l = 0; l < 70; l++) {
        float p = (float)get(a, i * 70 + l), q = (float)get(b, l * 130 + j);
        acc = fma ? fmaf(p, q, acc) : acc + p * q;
      }
      same &= acc == (float)get(c, i * 130 + j);
    }
  }
  CHECK(same);
  DROP(a, b, c);
}

static void test_integers(run *r) {
  ir_object *a = array(IR_I8, 2, 1, 3), *b = array(IR_I8, 2, 3, 2), *c = array(IR_I32, 2, 1, 2);
  filled(a, VALUES(-128, 127, 100)), filled(b, VALUES(-128, 127, 127, -1, 100, 2));
  CHECK(PRIM(r, "matmul_i8", a, b, c) && holds(c, VALUES(16384 + 16129 + 10000, -16256 - 127 + 200)));
  DROP(a, b, c);
  ir_object *x = array(IR_I4, 3, 2, 3, 5), *y = array(IR_I4, 3, 5, 2, 3);
  for (int i = 0; i < 30; i++) set(x, i, i % 16 - 8);
  CHECK(PRIM(r, "transpose", x, y));
  bool same = true;
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 2; j++) {
      for (int k = 0; k < 3; k++) same &= get(y, (i * 2 + j) * 3 + k) == get(x, (j * 3 + k) * 5 + i);
    }
  }
  CHECK(same);
  DROP(x, y);
  x = array(IR_U8, 3, 3, 4, 5), y = array(IR_U8, 1, 60);
  for (int i = 0; i < 60; i++) set(x, i, i * 4);
  CHECK(PRIM(r, "flat", x, y) && get(y, 59) == 236 && get(y, 37) == 148);
  DROP(x, y);
}

static void test_nests(run *r) {
  ir_object *x = array(IR_F32, 2, 2, 3), *y = array(IR_F32, 2, 2, 3);
  filled(x, VALUES(1, 2, 3, -100, 0, 100));
  CHECK(PRIM(r, "softmax", x, y));
  /* numpy: e = np.exp(x - x.max(1)); e / e.sum(1) */
  static const double want[] = {0.09003057317038046, 0.24472847105479764, 0.6652409557748218, 0, 3.720076e-44, 1};
  for (int i = 0; i < 6; i++) CHECK(fabs(get(y, i) - want[i]) < 1e-7);
  DROP(x, y);
  x = array(IR_F16, 2, 3, 7);
  ir_object *len = filled(array(IR_I32, 1, 3), VALUES(0, 2, 3)), *out = array(IR_F32, 1, 3), *all = array(IR_BOOL, 0);
  for (int i = 0; i < 21; i++) set(x, i, i % 4 == 3 ? -1 : i * 0.25);
  /* Row 0 takes columns 0 to 2 (0, 0.25, 0.5: zero counts as -0.5); row 1 columns 2, 3 (index 9, 10); row 2 columns 4 to 6 (18, -1, 20). */
  CHECK(PRIM(r, "masked_pool", x, len, out, all));
  CHECK(holds(out, VALUES(0.25, 2.25 + 2.5, 4.5 - 0.5 + 5)) && holds(all, VALUES(1)));
  DROP(x, len, out, all);
  x = array(IR_F32, 2, 3, 4), y = array(IR_F32, 2, 3, 4);
  ir_object *k = array(IR_F32, 2, 3, 3);
  for (int i = 0; i < 12; i++) set(x, i, i + 1);
  for (int i = 0; i < 9; i++) set(k, i, i == 4 ? 1 : 10);
  /* NumPy: sums of 3 x 3 windows of np.pad(x, 1) times k */
  CHECK(PRIM(r, "conv", x, k, y));
  CHECK(holds(y, VALUES(131, 222, 273, 184, 285, 486, 567, 378, 219, 390, 441, 272)));
  DROP(x, y, k);
  x = array(IR_F32, 2, 2, 2), y = array(IR_F32, 2, 4, 5);
  filled(x, VALUES(1, 2, 3, 4));
  CHECK(PRIM(r, "pad", x, y));
  CHECK(holds(y, VALUES(-1, -1, -1, -1, -1, -1, -1, 1, 2, -1, -1, -1, 3, 4, -1, -1, -1, -1, -1, -1)));
  DROP(x, y);
  x = filled(array(IR_F32, 1, 5), VALUES(1, 2, 3, 4, 5)), y = filled(array(IR_F32, 1, 5), VALUES(10, 20, 30, 40, 50));
  ir_object *alpha = ir_object_scalar(IR_F32, ir_float_to_bits(IR_F32, 2)), *m = ir_object_i64(4);
  CHECK(PRIM(r, "part", x, y, alpha, m) && holds(y, VALUES(12, 24, 30, 48, 50)));
  DROP(x, y, alpha, m);
}

/* Out of range and division by zero: errors, or settled values where nothing is checked. */
static void test_checks(run *checked, run *unchecked) {
  ir_object *x = filled(array(IR_F32, 1, 3), VALUES(1, 2, 3)), *i = filled(array(IR_I64, 1, 4), VALUES(2, -1, 1000000000, 0)), *y = array(IR_F32, 1, 4);
  CHECK(!PRIM(checked, "take", x, i, y));
  CHECK_TEXT(checked->said, "index -1 is out of range for axis 0 of 'x', whose extent is 3");
  CHECK(PRIM(unchecked, "take", x, i, y) && holds(y, VALUES(3, 1, 3, 1)));
  ir_object *v = filled(array(IR_F32, 1, 4), VALUES(7, 8, 9, 10)), *z = filled(array(IR_F32, 1, 3), VALUES(0, 0, 0));
  CHECK(!PRIM(checked, "put", i, v, z));
  CHECK_TEXT(checked->said, "index -1 is out of range for axis 0 of 'y', whose extent is 3");
  CHECK(PRIM(unchecked, "put", i, v, z) && holds(z, VALUES(10, 0, 7)));
  DROP(x, i, y, v, z);
  ir_object *a = filled(array(IR_I32, 1, 4), VALUES(7, -2147483648.0, 9, 5)), *b = filled(array(IR_I32, 1, 4), VALUES(-2, -1, 7, 0)), *q = filled(array(IR_I32, 1, 4), VALUES(0, 0, 1, 1));
  CHECK(!PRIM(checked, "quotient", a, b, q));
  CHECK_TEXT(checked->said, "integer division by zero");
  CHECK(PRIM(unchecked, "quotient", a, b, q) && holds(q, VALUES(-3, -2147483648.0, 1, 0)));
  set(b, 3, 7);
  CHECK(PRIM(checked, "quotient", a, b, q));
  DROP(a, b, q);
}

static void test_arguments(run *r) {
  ir_object *x = array(IR_F32, 2, 2, 3), *y = array(IR_F32, 1, 4), *h = array(IR_F16, 2, 2, 3);
  CHECK(!PRIM(r, "sum_rows", x, y));
  CHECK_TEXT(r->said, "parameter '%y' of '@sum_rows': expected f32[n], found f32[4]: axis 0 has extent 4 instead of 2");
  CHECK(!PRIM(r, "sum_rows", h, y));
  CHECK_TEXT(r->said, "parameter '%x' of '@sum_rows': expected f32[n, c], found f16[2, 3]: dtype f16 instead of f32");
  CHECK(!PRIM(r, "sum_rows", y, y));
  CHECK_TEXT(r->said, "parameter '%x' of '@sum_rows': expected f32[n, c], found f32[4]: 1 axes instead of 2");
  CHECK(!PRIM(r, "sum_rows", x));
  CHECK_TEXT(r->said, "'@sum_rows' takes 2 arguments, found 1");
  DROP(x, y, h);
}

int main(void) {
  const ir_interp_options unchecked = {.checked = false};
  run r = run_open(nests, NULL), u = run_open(nests, &unchecked);
  if (!r.module) return CHECK_REPORT("interp_prim");
  test_sums(&r);
  test_half_sum(&r);
  test_empty(&r);
  test_nan(&r);
  test_dot(&r, false);
  test_integers(&r);
  test_nests(&r);
  test_checks(&r, &u);
  test_arguments(&r);
  run_close(&r);
  run_close(&u);
  ir_text fused = {0};
  ir_text_put(&fused, "rill 1 module with {fp.fma=true} ");
  ir_text_put(&fused, strchr(nests, '{'));
  r = run_open(fused.at, NULL);
  if (r.module) test_dot(&r, true);
  run_close(&r);
  ir_text_free(&fused);
  return CHECK_REPORT("interp_prim");
}
