// SPDX-License-Identifier: Apache-2.0
/* ir/simplify: what becomes of expressions, what is proven and what is not, by hand. */
#include "ir/simplify.h"

#include "ir/formula.h"
#include "ir/module.h"
#include "ir/type.h"
#include "test/unit/check.h"
#include "test/unit/expr_text.h"

#include <stdlib.h>

static ir_diags *diags;
static ir_context *context;
static ir_arena arena;

static const char *text_of(const ir_expr *expr) { return expr_text(&arena, expr); }

/* n, m, k are extents; u, w any integers; i an argument; x an i32 argument; p, q f32 arguments. */
static ir_formula_input names[9];

static void make_names(void) {
  static const char *const texts[] = {"n", "m", "k", "u", "w", "i", "x", "p", "q"};
  for (size_t i = 0; i < 9; i++) {
    const ir_expr *symbol = ir_expr_symbol(context, ir_intern(context, ir_slice_of(texts[i])));
    static const ir_dtype dtypes[] = {[5] = IR_I64, [6] = IR_I32, [7] = IR_F32, [8] = IR_F32};
    names[i] = (ir_formula_input){texts[i], i < 5 ? symbol : ir_expr_arg(context, (uint32_t)i, dtypes[i], 1)};
  }
}

static const ir_expr *parse_as(const char *text, ir_dtype dtype) {
  const ir_expr *expr = ir_formula(context, text, dtype, names, 9);
  ir_diags_flush(diags);
  if (!CHECK(expr)) exit(1);
  return expr;
}
static const ir_expr *parse(const char *text) { return parse_as(text, IR_I64); }

static ir_facts *extents(void) {
  ir_facts *facts = ir_facts_new(context, &arena, NULL);
  for (size_t i = 0; i < 3; i++) ir_facts_range(facts, names[i].value, 0, IR_EXTENT_MAX);
  return facts;
}

static int check_simplified(const ir_facts *facts, const ir_expr *expr, const char *expected, int line) {
  const ir_expr *simple = ir_simplify(context, facts, expr);
  check_that(ir_simplify(context, facts, simple) == simple, __FILE__, line, "a fixed point");
  return check_text(text_of(simple), expected, __FILE__, line);
}
#define SIMPLIFIED(facts, text, expected) check_simplified(facts, parse(text), expected, __LINE__)
#define SIMPLIFIED_AS(facts, dtype, text, expected) check_simplified(facts, parse_as(text, dtype), expected, __LINE__)
#define UNCHANGED(facts, text) check_simplified(facts, parse(text), text_of(parse(text)), __LINE__)
#define PROVES(facts, text) CHECK(ir_prove(context, facts, parse(text)) == IR_PROVEN)
#define REFUTES(facts, text) CHECK(ir_prove(context, facts, parse(text)) == IR_REFUTED)
#define UNKNOWN(facts, text) CHECK(ir_prove(context, facts, parse(text)) == IR_UNKNOWN)

static void test_sums(void) {
  const ir_facts *f = extents();
  SIMPLIFIED(f, "2 * n", "(n * 2)");
  SIMPLIFIED(f, "1 + n - 2", "(n - 1)");
  SIMPLIFIED(f, "4 - n", "(4 - n)");
  SIMPLIFIED(f, "-n", "neg(n)");
  SIMPLIFIED(f, "-n + m", "(m - n)");
  SIMPLIFIED(f, "n - n", "0");
  SIMPLIFIED(f, "(n + 1) * 2 - n", "(n + 2)");
  SIMPLIFIED(f, "(n + 1) * (m + 2)", "((((m * n) + m) + (n * 2)) + 2)");
  SIMPLIFIED(f, "mad(n, m, n) - m * n", "n");
  SIMPLIFIED(NULL, "u * 2 + u", "(u * 3)");
  /* Past 64 bits nothing folds. */
  UNCHANGED(NULL, "9223372036854775807 + 1");
  UNCHANGED(NULL, "4611686018427387904 * 2");
  UNCHANGED(NULL, "(u + 9223372036854775807) + 1");
  SIMPLIFIED(NULL, "floordiv(-9223372036854775807 - 1, -1)", "neg(-9223372036854775808)");
  SIMPLIFIED_AS(NULL, IR_I32, "x + 2147483647 + 1", "(($6 + 2147483647) + 1)");
  SIMPLIFIED_AS(NULL, IR_I32, "x * 2 - x", "$6");
}

static void test_divisions(void) {
  ir_facts *f = extents();
  SIMPLIFIED(f, "floordiv(n * 8, 8)", "n");
  UNCHANGED(NULL, "floordiv(u * 8, 8)");
  SIMPLIFIED(f, "ceildiv(n + 4, 4)", "(floordiv((n + 3), 4) + 1)");
  SIMPLIFIED(f, "ceildiv(n, 4)", "floordiv((n + 3), 4)");
  UNCHANGED(NULL, "ceildiv(u, 4)");
  SIMPLIFIED(f, "floordiv(n * 6 + 3, 4)", "floordiv(((n * 3) + 1), 2)");
  SIMPLIFIED(f, "floordiv(floordiv(n, 4), 8)", "floordiv(n, 32)");
  SIMPLIFIED(f, "floordiv(floordiv(n, 4) + 1, 8)", "floordiv((n + 4), 32)");
  SIMPLIFIED(NULL, "floordiv(floordiv(u, 4), 8)", "floordiv(u, 32)");
  SIMPLIFIED(f, "floormod(n * 6 + 3, 4)", "((floormod((n + 1), 2) * 2) + 1)");
  SIMPLIFIED(f, "floormod(n * 6 + 3, 3)", "0");
  SIMPLIFIED(f, "floormod(n - 1, 8)", "floormod((n + 7), 8)");
  SIMPLIFIED(f, "floormod(floormod(n, 16), 8)", "floormod(n, 8)");
  SIMPLIFIED(f, "floordiv(n, 8) * 8 + floormod(n, 8)", "n");
  SIMPLIFIED(NULL, "floordiv(u, 8) * 8 + floormod(u, 8)", "u");
  SIMPLIFIED(f, "m * (floordiv(n, 6) * 6 + floormod(n, 6))", "(m * n)");
  SIMPLIFIED(f, "truncdiv(n, 4)", "floordiv(n, 4)");
  UNCHANGED(NULL, "truncdiv(u, 4)");
  SIMPLIFIED(f, "truncmod(n, 4)", "floormod(n, 4)");
  UNCHANGED(f, "floordiv(n, 0)");
  UNCHANGED(f, "floordiv(0, n)");
  UNCHANGED(f, "floordiv(5, 0)");
  UNCHANGED(f, "m * floordiv(n, m) + floormod(n, m)");
  /* A dividend that may wrap stays whole: x in [MIN, MAX] at 32 bits. */
  UNCHANGED(NULL, "floordiv(u + 8, 8)");
  SIMPLIFIED_AS(NULL, IR_I32, "ceildiv(x, 10)", "ceildiv($6, 10)");
  SIMPLIFIED_AS(NULL, IR_I32, "(floordiv(x + 1073741826, 3) - 357913942) * 1536",
                "((floordiv(($6 + 1073741826), 3) - 357913942) * 1536)");
  SIMPLIFIED(NULL, "truncdiv(-1, 2)", "0");
  SIMPLIFIED(NULL, "truncdiv(-7, 4)", "-1");
  SIMPLIFIED(NULL, "floordiv(-1, 2)", "-1");
  SIMPLIFIED(NULL, "floordiv(-7, 4)", "-2");
  SIMPLIFIED_AS(NULL, IR_I32, "ceildiv(24, 10)", "3");
}

static void test_facts(void) {
  ir_facts *f = extents();
  ir_facts_assume(f, parse("floormod(n, 8) == 0"));
  SIMPLIFIED(f, "floordiv(n, 8) * 8", "n");
  SIMPLIFIED(f, "floormod(n, 4)", "0");
  SIMPLIFIED(f, "floormod(n + m * 4 + 3, 4)", "3");
  SIMPLIFIED(f, "ceildiv(n, 4)", "floordiv(n, 4)");
  SIMPLIFIED(f, "floordiv(n * 3, 8) * 16", "(n * 6)");
  UNCHANGED(f, "floormod(n, 16)");
  REFUTES(f, "n == 12");
  UNKNOWN(f, "n == 16");
  ir_facts *inner = ir_facts_new(context, &arena, f);
  ir_facts_assume(inner, parse("m < n && n <= 4096"));
  PROVES(inner, "m < 4096");
  PROVES(inner, "m + 1 <= n");
  PROVES(inner, "floordiv(m, 4) * 4 <= n");
  PROVES(inner, "n != m");
  REFUTES(inner, "m >= n");
  SIMPLIFIED(inner, "min(m, n)", "m");
  SIMPLIFIED(inner, "floormod(m, n)", "m");
  UNKNOWN(f, "m < 4096");
  ir_facts_assume(inner, parse("n == k * 2"));
  PROVES(inner, "k <= 2048");
  PROVES(inner, "m < k + k");
  PROVES(inner, "n + 1 == 1 + 2 * k");
  ir_facts *fixed = extents();
  ir_facts_assume(fixed, parse("n == 12"));
  SIMPLIFIED(fixed, "n * m + n", "((m * 12) + 12)");
  ir_facts *divided = extents();
  ir_facts_assume(divided, parse("m >= 1"));
  SIMPLIFIED(divided, "m * floordiv(n, m) + floormod(n, m)", "n");
  PROVES(divided, "floordiv(n, m) * m <= n");
  PROVES(divided, "floormod(n, m) < m");
  SIMPLIFIED(divided, "max(m, 1)", "m");
  ir_facts *opaque = extents();
  ir_facts_assume(opaque, parse("u < w || n > 3"));
  PROVES(opaque, "u < w || n > 3");
  REFUTES(opaque, "!(u < w || n > 3)");
  ir_facts *signs = ir_facts_new(context, &arena, NULL);
  ir_facts_range(signs, parse("u"), -5, 5), ir_facts_range(signs, parse("w"), -5, 5);
  ir_facts_assume(signs, parse("u * w >= 1"));
  UNKNOWN(signs, "u >= 1"); /* or both are negative */
  ir_facts_range(signs, parse("u"), 0, 5), ir_facts_range(signs, parse("w"), 0, 5);
  ir_facts_assume(signs, parse("u * w >= 2"));
  PROVES(signs, "u >= 1");
  int64_t least, most;
  ir_facts_range(fixed, names[5].value, 0, 3);
  ir_range_of(context, fixed, parse("i * 4 + 3 - n"), &least, &most);
  CHECK(least == -9 && most == 3);
}

static void test_order(void) {
  const ir_facts *f = extents();
  PROVES(NULL, "u * 2 == 2 * u");
  PROVES(f, "n < n + 1");
  UNKNOWN(NULL, "u < u + 1");
  REFUTES(NULL, "u + 1 == u");
  PROVES(f, "min(n, 4) <= n");
  PROVES(f, "max(n, m) >= m");
  PROVES(f, "max(n, m) + 1 > n");
  PROVES(f, "floordiv(n, 2) <= n");
  PROVES(f, "bcast(n, m) >= 0");
  PROVES(f, "n >= 0");
  SIMPLIFIED(f, "max(n, 0)", "n");
  SIMPLIFIED(f, "min(min(n, 4), 8)", "min(n, 4)");
  SIMPLIFIED(f, "min(m, min(4, n))", "min(min(m, n), 4)");
  SIMPLIFIED(f, "min(n + 1, n)", "n");
  SIMPLIFIED(NULL, "max(w, u)", "max(u, w)");
  SIMPLIFIED(f, "n * 2 < 5", "(n < 3)");
  SIMPLIFIED(f, "5 > n * 2", "(n < 3)");
  SIMPLIFIED(f, "n > 0", "(n >= 1)");
  SIMPLIFIED(f, "m + 1 <= n", "(m < n)");
  SIMPLIFIED(f, "n >= m", "(m <= n)");
  SIMPLIFIED(f, "n * 2 == m * 2 + 4", "(m == (n - 2))");
  REFUTES(f, "n * 2 == m * 2 + 3");
  SIMPLIFIED(f, "!(n < m)", "(m <= n)");
  SIMPLIFIED(f, "n >= 0 && m > 2", "(m >= 3)");
  SIMPLIFIED(f, "n > 4 || n <= 4", "1");
  SIMPLIFIED(f, "n < 4 && m > 1 && n < 8", "((n < 4) && (m >= 2))");
  SIMPLIFIED(f, "n < 4 || n < 8", "(n < 8)");
  SIMPLIFIED(f, "n < 4 && n >= 9", "0");
  SIMPLIFIED(f, "n >= 4 || n < 9", "1");
  SIMPLIFIED(f, "n >= m && k == 0 && n + 1 >= m", "((m <= n) && (k == 0))");
  SIMPLIFIED(f, "select(n >= 0, m, k)", "m");
  SIMPLIFIED(f, "select(!(u == w), m, k)", "select((u != w), m, k)");
  SIMPLIFIED(NULL, "p < q || !(p < q)", "1");
  SIMPLIFIED(NULL, "!(p < q)", "not(($7 < $8))");
}

/* Index arithmetic over a tensor f32[n, m, k]: i < n * m is split and joined again. */
static void test_indices(void) {
  ir_facts *f = ir_facts_new(context, &arena, NULL);
  const ir_expr *dims[] = {names[0].value, names[1].value, names[2].value};
  ir_facts_tensor(f, ir_type_tensor(context, IR_F32, 3, dims));
  UNCHANGED(f, "floordiv((k * m) * n, n)"); /* 0 for n = 0 */
  ir_facts_assume(f, parse("i >= 0 && i < n * m"));
  ir_facts_assume(f, parse("u >= 0 && u < k"));
  SIMPLIFIED(f, "floordiv(n * m * k, m)", "(k * n)");
  SIMPLIFIED(f, "floordiv(i * k + u, k)", "$5");
  SIMPLIFIED(f, "floormod(i * k + u, k)", "u");
  SIMPLIFIED(f, "floordiv(i, m) * m + floormod(i, m)", "$5");
  SIMPLIFIED(f, "floordiv(i * 768 + 5, 768)", "$5");
  SIMPLIFIED(f, "floordiv((n + 1) * m, m)", "(n + 1)");
  PROVES(f, "floordiv(i, m) < n");
  PROVES(f, "floormod(i, m) < m");
  PROVES(f, "i * k + u < n * m * k");
  PROVES(f, "i * k * 4 + u * 4 + 3 < n * m * k * 4");
  UNKNOWN(f, "i * k + u + 1 < n * m * k");
}

static void test_broadcasts(void) {
  const ir_facts *f = extents();
  SIMPLIFIED(f, "bcast(n, 1)", "n");
  SIMPLIFIED(f, "bcast(1, n)", "n");
  SIMPLIFIED(f, "bcast(3, n)", "3");
  UNCHANGED(f, "bcast(n, 3)");
  SIMPLIFIED(f, "bcast(n, n)", "n");
  SIMPLIFIED(f, "bcast(bcast(n, m), n)", "bcast(n, m)");
  SIMPLIFIED(f, "bcast(n, bcast(m, k))", "bcast(bcast(n, m), k)");
  SIMPLIFIED(f, "bcast(n * 2, m)", "(n * 2)"); /* even, so not 1 */
  SIMPLIFIED(f, "bcast(n + 2, m)", "(n + 2)");
}

static void test_conversions(void) {
  ir_facts *f = extents();
  SIMPLIFIED(f, "i64(i32(n))", "i64(i32(n))");
  ir_facts_assume(f, parse("n < 1000"));
  SIMPLIFIED(f, "i64(i32(n))", "n");
  SIMPLIFIED(NULL, "i32(i64(x))", "$6");
  SIMPLIFIED(NULL, "i64(x) < 0", "($6 < 0)");
  SIMPLIFIED(NULL, "i64(x) == 2147483647", "($6 == 2147483647)");
  SIMPLIFIED(NULL, "i64(x) < n", "(i64($6) < n)");
  SIMPLIFIED(NULL, "i32(bool(x))", "i32(bool($6))");
  SIMPLIFIED(NULL, "bool(i32(u == w))", "(u == w)");
  SIMPLIFIED(NULL, "u8(f32(i16(x)))", "u8(f32(i16($6)))"); /* saturates, where u8(i16(x)) wraps */
  SIMPLIFIED(NULL, "f32(f64(p))", "$7");
  SIMPLIFIED(NULL, "f64(f32(f64(p)))", "f64($7)");
  SIMPLIFIED(NULL, "f32(f16(p))", "f32(f16($7))");
  SIMPLIFIED(NULL, "bitcast(f32, bitcast(i32, p))", "$7");
  SIMPLIFIED(NULL, "i32(bool(-1))", "1");
}

static void test_floats(void) {
  SIMPLIFIED_AS(NULL, IR_F32, "p * 1.0", "$7");
  SIMPLIFIED_AS(NULL, IR_F32, "p + -0.0", "$7");
  SIMPLIFIED_AS(NULL, IR_F32, "p - 0.0", "$7");
  SIMPLIFIED_AS(NULL, IR_F32, "p + 0.0", "($7 + 0x0p+0)");
  SIMPLIFIED_AS(NULL, IR_F32, "p * 0.0", "($7 * 0x0p+0)");
  SIMPLIFIED_AS(NULL, IR_F32, "p - p", "($7 - $7)");
  SIMPLIFIED_AS(NULL, IR_F32, "p == p", "not(isnan($7))");
  SIMPLIFIED_AS(NULL, IR_F32, "p <= p", "not(isnan($7))");
  SIMPLIFIED_AS(NULL, IR_F32, "p != p", "isnan($7)");
  SIMPLIFIED_AS(NULL, IR_F32, "p < p", "0");
  SIMPLIFIED_AS(NULL, IR_F32, "p > p", "0");
  SIMPLIFIED_AS(NULL, IR_F32, "p / 4.0", "($7 * 0x1p-2)");
  SIMPLIFIED_AS(NULL, IR_F32, "p / 3.0", "($7 / 0x1.8p+1)");
  SIMPLIFIED_AS(NULL, IR_F32, "p / 0x1p-127", "($7 / 0x1p-127)");
  SIMPLIFIED_AS(NULL, IR_F32, "-(-p)", "$7");
  SIMPLIFIED_AS(NULL, IR_F32, "0.1 + 0.2", "0x1.333334p-2");
  SIMPLIFIED_AS(NULL, IR_F32, "mad(p, q, -0.0)", "($7 * $8)");
  SIMPLIFIED_AS(NULL, IR_F32, "mad(3.0, 0.5, 1.0)", "0x1.4p+1");
  SIMPLIFIED_AS(NULL, IR_F32, "mad(0.1, 10.0, -1.0)", "mad(0x1.99999ap-4, 0x1.4p+3, -0x1p+0)"); /* fused: 1.49e-8 */
  SIMPLIFIED_AS(NULL, IR_F32, "max(p, q)", "max($7, $8)");
  SIMPLIFIED_AS(NULL, IR_F32, "log(exp(p))", "log(exp($7))");
  SIMPLIFIED_AS(NULL, IR_F32, "sqrt(p * p)", "sqrt(($7 * $7))");
  SIMPLIFIED_AS(NULL, IR_I8, "abs(12 * 12)", "112"); /* 144 wraps to -112 */
  SIMPLIFIED_AS(NULL, IR_I8, "12 * 12 < 0", "1");
}

/* func(%x: f32[n, m], m: i64, k: i64) where n >= 2 */
static void test_function(void) {
  const ir_expr *dims[] = {names[0].value, names[1].value};
  ir_module *module = ir_module_new(context);
  ir_func *func = ir_func_new(module, IR_ITEM_FUNC, ir_intern(context, ir_lit("f")));
  const ir_param params[] = {{.type = ir_type_tensor(context, IR_F32, 2, dims)},
                             {.type = ir_type_scalar(context, IR_I64, 1), .symbol = names[1].value},
                             {.type = ir_type_scalar(context, IR_I64, 1), .symbol = names[2].value}};
  ir_func_set_params(func, 3, params, false);
  const ir_expr *where[] = {parse("n >= 2")};
  func->where = where, func->where_count = 1;
  const ir_facts *f = ir_func_facts(func);
  CHECK(ir_func_facts(func) == f);
  PROVES(f, "n >= 2");
  PROVES(f, "m >= 0");
  UNKNOWN(f, "k >= 0");
  PROVES(f, "u >= 0"); /* not a parameter: bound by a match_cast, so an extent */
  SIMPLIFIED(f, "floordiv(n * m, n)", "m");
  SIMPLIFIED(f, "bcast(n, m)", "n");
  ir_module_free(module);
}

int main(void) {
  diags = ir_diags_new();
  context = ir_context_new(diags);
  make_names();
  test_sums();
  test_divisions();
  test_facts();
  test_order();
  test_indices();
  test_broadcasts();
  test_conversions();
  test_floats();
  test_function();
  ir_context_free(context);
  ir_diags_free(diags);
  ir_arena_free(&arena);
  return CHECK_REPORT("simplify");
}
