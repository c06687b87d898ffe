// SPDX-License-Identifier: Apache-2.0
/* ir/simplify: cases by hand, then random expressions under random facts, whose values before and after are compared by
 * an evaluator of the test's own (128-bit arithmetic, cut to the dtype). `simplify CASES SEED` runs more of them. */
#include "ir/simplify.h"

#include "base/vec.h"
#include "ir/eval.h"
#include "ir/formula.h"
#include "ir/type.h"
#include "test/unit/check.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

static ir_diags *diags;
static ir_context *context;
static ir_arena arena;

/* --- writing, for messages and expectations --- */

static void write_expr(ir_text *out, const ir_expr *expr) {
  const ir_scalar_def *def = &ir_scalars[expr->code];
  if (expr->code == IR_S_CONST && ir_is_float((ir_dtype)expr->dtype)) {
    ir_text_printf(out, "%a", ir_float_from_bits((ir_dtype)expr->dtype, expr->bits));
  } else if (expr->code == IR_S_CONST) {
    ir_text_printf(out, "%lld", (long long)ir_int_from_bits((ir_dtype)expr->dtype, expr->bits));
  } else if (expr->code == IR_S_SYMBOL) {
    ir_text_put(out, expr->symbol->text);
  } else if (expr->code == IR_S_ARG) {
    ir_text_printf(out, "$%u", expr->arg);
  } else if (*def->infix && expr->count == 2) {
    ir_text_char(out, '(');
    write_expr(out, expr->kids[0]);
    ir_text_printf(out, " %s ", def->infix);
    write_expr(out, expr->kids[1]);
    ir_text_char(out, ')');
  } else {
    ir_text_printf(out, "%s(", expr->code == IR_S_CAST ? ir_dtype_name((ir_dtype)expr->dtype) : def->name);
    for (size_t i = 0; i < expr->count; i++) {
      if (i) ir_text_put(out, ", ");
      write_expr(out, expr->kids[i]);
    }
    ir_text_char(out, ')');
  }
}

static const char *text_of(const ir_expr *expr) {
  ir_text text = {0};
  write_expr(&text, expr);
  const char *copy = ir_arena_copy(&arena, text.at, text.length);
  ir_text_free(&text);
  return copy;
}

/* --- by hand --- */

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
  SIMPLIFIED(f, "select(n >= 0, m, k)", "m");
  SIMPLIFIED(f, "select(!(u == w), m, k)", "select((u != w), m, k)");
  SIMPLIFIED(NULL, "p < q || !(p < q)", "1");
  SIMPLIFIED(NULL, "!(p < q)", "not(($7 < $8))");
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
  SIMPLIFIED_AS(NULL, IR_F32, "p == p", "($7 == $7)");
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

/* --- the test's own evaluator --- */

static wide cut(ir_dtype dtype, wide number) {
  if (dtype == IR_BOOL) return number != 0;
  int width = ir_dtypes[dtype].bits;
  wide modulus = (wide)1 << width, low = ((number % modulus) + modulus) % modulus;
  return ir_is_signed(dtype) && low >= modulus / 2 ? low - modulus : low;
}

static wide floor_of(wide a, wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static wide leaf_values[8]; /* of the leaves, by number */
static const ir_expr *leaves[8];
static size_t leaf_count;

static wide two_power(wide by, wide number) { return by >= 64 ? 0 : number * ((wide)1 << by); }

static wide times(ir_dtype dtype, wide a, wide b) { return dtype == IR_U64 ? (wide)((uint64_t)a * (uint64_t)b) : a * b; }

static wide operate(const ir_expr *expr, const wide *in) {
  wide a = in[0], b = in[1];
  int width = ir_dtypes[expr->dtype].bits;
  wide amount = b < 0 ? width : b;
  switch ((int)expr->code) {
  case IR_S_CAST: return a;
  case IR_S_OR: return a || b;
  case IR_S_AND: return a && b;
  case IR_S_NOT: return !a;
  case IR_S_EQ: return a == b;
  case IR_S_NE: return a != b;
  case IR_S_LT: return a < b;
  case IR_S_LE: return a <= b;
  case IR_S_GT: return a > b;
  case IR_S_GE: return a >= b;
  case IR_S_ADD: return a + b;
  case IR_S_SUB: return a - b;
  case IR_S_MUL: return times((ir_dtype)expr->dtype, a, b);
  case IR_S_NEG: return -a;
  case IR_S_MAD: return times((ir_dtype)expr->dtype, a, b) + in[2];
  case IR_S_TRUNCDIV: return b ? a / b : 0;
  case IR_S_FLOORDIV: return b ? floor_of(a, b) : 0;
  case IR_S_CEILDIV: return b ? -floor_of(-a, b) : 0;
  case IR_S_TRUNCMOD: return b ? a % b : 0;
  case IR_S_FLOORMOD: return b ? a - floor_of(a, b) * b : 0;
  case IR_S_MIN: return a < b ? a : b;
  case IR_S_MAX: return a > b ? a : b;
  case IR_S_BCAST: return a == 1 ? b : a;
  case IR_S_SELECT:
  case IR_S_GUARD: return a ? b : in[2];
  case IR_S_SHL: return amount >= width ? 0 : two_power(amount, a % ((wide)1 << (width - (int)amount)));
  case IR_S_SHR: return amount >= width ? (a < 0 ? -1 : 0) : floor_of(a, (wide)1 << amount);
  case IR_S_BITAND: return a & b;
  case IR_S_BITOR: return a | b;
  case IR_S_BITXOR: return a ^ b;
  case IR_S_BITNOT: return expr->dtype == IR_BOOL ? !a : ~a;
  case IR_S_ABS: return a < 0 ? -a : a;
  case IR_S_SIGN: return (a > 0) - (a < 0);
  default: printf("no rule for %s\n", ir_scalars[expr->code].name); exit(1);
  }
}

static wide evaluate(const ir_expr *expr, bool *overflow) {
  if (expr->code == IR_S_CONST) {
    return cut((ir_dtype)expr->dtype, ir_int_from_bits((ir_dtype)expr->dtype, expr->bits));
  }
  for (size_t i = 0; i < leaf_count; i++) {
    if (leaves[i] == expr) return leaf_values[i];
  }
  wide in[3] = {0};
  for (size_t i = 0; i < expr->count; i++) in[i] = evaluate(expr->kids[i], overflow);
  wide exact = operate(expr, in), result = cut((ir_dtype)expr->dtype, exact);
  bool division = expr->code >= IR_S_TRUNCDIV && expr->code <= IR_S_FLOORMOD;
  bool bits = expr->code == IR_S_SHL || expr->code == IR_S_CAST;
  if (expr->code == IR_S_MAD) exact = in[0] * in[1] == cut(IR_I64, in[0] * in[1]) ? exact : result + 1;
  *overflow |= (expr->dtype == IR_I64 && exact != result && !bits) || (division && !in[1]);
  /* ir_scalar_eval says the same of this operator. */
  uint64_t operands[3], found;
  for (size_t i = 0; i < expr->count; i++) operands[i] = ir_int_to_bits((ir_dtype)expr->kids[i]->dtype, (int64_t)in[i]);
  ir_dtype operand = (ir_dtype)expr->kids[expr->code == IR_S_SELECT || expr->code == IR_S_GUARD]->dtype;
  bool same = ir_scalar_eval(context, (ir_scalar_code)expr->code, operand, (ir_dtype)expr->dtype, false, operands, &found) &&
              found == ir_int_to_bits((ir_dtype)expr->dtype, (int64_t)result);
  if (!same && !CHECK(same)) printf("  ir_scalar_eval of %s\n", text_of(expr));
  return result;
}

/* --- random expressions --- */

static uint64_t state;

static uint32_t next(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % below);
}

static const ir_dtype integer_dtypes[] = {IR_I64, IR_I64, IR_I64, IR_I64, IR_I32, IR_I32, IR_I8, IR_U8, IR_U32, IR_U64, IR_I16};

static ir_dtype random_dtype(void) { return integer_dtypes[next(11)]; }

static int64_t random_number(ir_dtype dtype) {
  int width = ir_dtypes[dtype].bits;
  int64_t value;
  switch (next(8)) {
  case 0: value = (int64_t)(UINT64_C(1) << next((uint32_t)width)); break;
  case 1: value = (int64_t)((UINT64_C(1) << (width - 1)) - 1) - (int64_t)next(3); break;
  case 2: value = (int64_t)(~UINT64_C(0) << (width - 1)) + (int64_t)next(3); break;
  case 3: value = -(int64_t)next(20); break;
  case 4: value = (int64_t)next(300) - 150; break;
  default: value = (int64_t)next(10); break;
  }
  return ir_int_from_bits(dtype, ir_int_to_bits(dtype, value));
}

static const ir_expr *random_leaf(ir_dtype dtype) {
  if (dtype == IR_BOOL) return ir_expr_bool(context, next(2));
  for (int tries = 0; tries < 8 && next(4); tries++) {
    const ir_expr *leaf = leaves[next((uint32_t)leaf_count)];
    if (leaf->dtype == dtype) return leaf;
  }
  return ir_expr_int(context, dtype, random_number(dtype));
}

static const ir_expr *random_expr(ir_dtype dtype, int depth);

static const ir_expr *random_bool(int depth) {
  static const ir_scalar_code compare[] = {IR_S_EQ, IR_S_NE, IR_S_LT, IR_S_LE, IR_S_GT, IR_S_GE};
  static const ir_scalar_code logic[] = {IR_S_AND, IR_S_OR, IR_S_EQ, IR_S_NE, IR_S_BITAND, IR_S_BITOR, IR_S_BITXOR};
  uint32_t which = next(12);
  if (which == 0) return ir_expr_unary(context, next(4) ? IR_S_NOT : IR_S_BITNOT, random_expr(IR_BOOL, depth - 1));
  if (which < 4)
    return ir_expr_binary(context, logic[next(next(4) ? 2 : 7)], random_expr(IR_BOOL, depth - 1), random_expr(IR_BOOL, depth - 1));
  ir_dtype dtype = random_dtype();
  if (which == 4) return ir_expr_cast(context, random_expr(dtype, depth - 1), IR_BOOL);
  return ir_expr_binary(context, compare[next(6)], random_expr(dtype, depth - 1), random_expr(dtype, depth - 1));
}

static const ir_expr *random_expr(ir_dtype dtype, int depth) {
  if (depth <= 0 || !next(7)) return random_leaf(dtype);
  if (dtype == IR_BOOL && next(8)) return random_bool(depth);
  if (!next(12)) return ir_expr_ternary(context, next(4) ? IR_S_SELECT : IR_S_GUARD, random_expr(IR_BOOL, depth - 1),
                                        random_expr(dtype, depth - 1), random_expr(dtype, depth - 1));
  if (dtype == IR_BOOL) return random_bool(depth);
  if (!next(12)) return ir_expr_cast(context, random_expr(next(5) ? random_dtype() : IR_BOOL, depth - 1), dtype);
  static const ir_scalar_code codes[] = {
      IR_S_ADD, IR_S_ADD, IR_S_ADD, IR_S_SUB, IR_S_SUB, IR_S_MUL, IR_S_MUL, IR_S_MUL, IR_S_FLOORDIV, IR_S_FLOORDIV,
      IR_S_FLOORMOD, IR_S_FLOORMOD, IR_S_CEILDIV, IR_S_CEILDIV, IR_S_TRUNCDIV, IR_S_TRUNCMOD, IR_S_MIN, IR_S_MAX,
      IR_S_BCAST, IR_S_SHL, IR_S_SHR, IR_S_BITAND, IR_S_BITOR, IR_S_BITXOR};
  static const ir_scalar_code unary[] = {IR_S_NEG, IR_S_NEG, IR_S_ABS, IR_S_SIGN, IR_S_BITNOT};
  if (!next(10)) return ir_expr_unary(context, unary[next(5)], random_expr(dtype, depth - 1));
  if (!next(20))
    return ir_expr_ternary(context, IR_S_MAD, random_expr(dtype, depth - 1), random_expr(dtype, depth - 1),
                           random_expr(dtype, depth - 1));
  ir_scalar_code code = codes[next(24)];
  const ir_expr *a = random_expr(dtype, depth - 1), *b = random_expr(dtype, next(2) ? 0 : depth - 1);
  /* Divisors and factors that meet: where the rules are. */
  if (next(2) && ir_scalars[code].typing != IR_TYPING_LEAF)
    b = next(3) ? ir_expr_int(context, dtype, (int64_t)(UINT64_C(1) << next(5))) : ir_expr_int(context, dtype, 1 + (int64_t)next(12));
  return ir_expr_binary(context, code, a, b);
}

struct range {
  int64_t least, most;
};
static struct range ranges[8];

static wide random_value(size_t i) {
  ir_dtype dtype = (ir_dtype)leaves[i]->dtype;
  uint64_t span = (uint64_t)ranges[i].most - (uint64_t)ranges[i].least;
  int64_t drawn;
  switch (next(5)) {
  case 0: drawn = ranges[i].least; break;
  case 1: drawn = ranges[i].most; break;
  case 2: drawn = random_number(dtype); break;
  default: drawn = (int64_t)((uint64_t)ranges[i].least + next(12)); break;
  }
  bool inside = drawn >= ranges[i].least && drawn <= ranges[i].most;
  if (!inside) drawn = (int64_t)((uint64_t)ranges[i].least + (span == UINT64_MAX ? next(100) : next(100) % (span + 1)));
  return cut(dtype, drawn);
}

static void random_leaves(ir_facts *facts) {
  leaf_count = 5;
  for (size_t i = 0; i < leaf_count; i++) {
    ir_dtype dtype = i < 3 ? IR_I64 : random_dtype();
    const char *name = ir_arena_printf(&arena, "%c", (char)('a' + i));
    leaves[i] = i < 2 ? ir_expr_symbol(context, ir_intern(context, ir_slice_of(name))) : ir_expr_arg(context, (uint32_t)i, dtype, 1);
    int64_t least = dtype == IR_U64 ? 0 : ir_int_from_bits(dtype, ir_is_signed(dtype) ? UINT64_C(1) << (ir_dtypes[dtype].bits - 1) : 0);
    int64_t most = dtype == IR_U64 ? INT64_MAX : ir_int_from_bits(dtype, (UINT64_C(1) << (ir_dtypes[dtype].bits - ir_is_signed(dtype))) - 1);
    ranges[i] = (struct range){least, most};
    uint32_t kind = next(6);
    if (kind < 4) {
      ranges[i].least = kind == 3 ? random_number(dtype) : 0;
      ranges[i].most = kind == 0 ? most : kind == 1 ? least + 0 : ranges[i].least + (int64_t)next(100);
      if (kind == 1) ranges[i].most = dtype == IR_I64 ? IR_EXTENT_MAX : most;
      if (ranges[i].least < least || ranges[i].most > most || ranges[i].most < ranges[i].least) ranges[i] = (struct range){least, most};
    }
    if (ranges[i].least != least || ranges[i].most != most || dtype == IR_U64) ir_facts_range(facts, leaves[i], ranges[i].least, ranges[i].most);
  }
}

static const ir_expr *conditions[4];
static size_t condition_count;

static const ir_expr *random_condition(void) {
  ir_dtype dtype = IR_I64;
  const ir_expr *leaf = leaves[next(3)];
  if (!next(3)) {
    const ir_expr *by = ir_expr_int(context, dtype, 1 + (int64_t)next(8));
    bool ignored;
    const ir_expr *mod = ir_expr_binary(context, IR_S_FLOORMOD, leaf, by);
    return ir_expr_binary(context, IR_S_EQ, mod, ir_expr_int(context, dtype, (int64_t)evaluate(mod, &ignored)));
  }
  return next(2) ? random_bool(2) : random_bool(1);
}

static void random_facts(ir_facts *facts) {
  condition_count = 0;
  for (size_t i = 0; i < leaf_count; i++) leaf_values[i] = random_value(i);
  for (uint32_t n = next(4); n-- > 0;) {
    bool ignored;
    const ir_expr *condition = random_condition();
    if (!evaluate(condition, &ignored)) condition = ir_expr_unary(context, IR_S_NOT, condition);
    conditions[condition_count++] = condition;
    ir_facts_assume(facts, condition);
  }
}

/* Moves to other values that the facts allow. */
static wide index_value(size_t i);

static bool move(bool index) {
  wide kept[8];
  memcpy(kept, leaf_values, sizeof kept);
  for (size_t i = 0; i < leaf_count; i++) {
    if (next(2)) leaf_values[i] = index ? index_value(i) : random_value(i);
  }
  bool ignored, holds = !index || leaf_values[0] * leaf_values[1] <= IR_EXTENT_MAX;
  for (size_t i = 0; i < condition_count && holds; i++) holds = evaluate(conditions[i], &ignored) != 0;
  if (!holds) memcpy(leaf_values, kept, sizeof kept);
  return holds;
}

/* --- random index arithmetic: extents a, b of a tensor, arguments below products of them --- */

static const ir_expr *index_leaf(void) {
  return next(3) ? leaves[next((uint32_t)leaf_count)] : ir_expr_i64(context, next(4) ? (int64_t)next(9) : random_number(IR_I64));
}

static const ir_expr *index_expr(int depth) {
  static const ir_scalar_code codes[] = {IR_S_ADD, IR_S_ADD, IR_S_ADD, IR_S_SUB, IR_S_MUL, IR_S_MUL, IR_S_MUL, IR_S_FLOORDIV,
                                         IR_S_FLOORDIV, IR_S_FLOORMOD, IR_S_FLOORMOD, IR_S_CEILDIV, IR_S_MIN, IR_S_MAX};
  if (depth <= 0 || !next(6)) return index_leaf();
  if (!next(5)) {
    /* y * floordiv(x, y) + floormod(x, y), and pieces of it */
    const ir_expr *x = index_expr(depth - 2), *y = next(2) ? ir_expr_i64(context, 1 + (int64_t)next(8)) : index_leaf();
    const ir_expr *quotient = ir_expr_binary(context, IR_S_FLOORDIV, x, y), *by = next(4) ? y : index_leaf();
    const ir_expr *product = ir_expr_binary(context, IR_S_MUL, quotient, by);
    return ir_expr_binary(context, IR_S_ADD, product, next(3) ? ir_expr_binary(context, IR_S_FLOORMOD, x, y) : index_leaf());
  }
  return ir_expr_binary(context, codes[next(14)], index_expr(depth - 1), next(2) ? index_leaf() : index_expr(depth - 1));
}

static const ir_expr *index_condition(int depth) {
  static const ir_scalar_code compare[] = {IR_S_LT, IR_S_LT, IR_S_LE, IR_S_GE, IR_S_GT, IR_S_EQ, IR_S_NE};
  return ir_expr_binary(context, compare[next(7)], index_expr(depth), index_expr(depth));
}

/* Values below MOST, such that the extents multiply to IR_EXTENT_MAX at most. */
static wide index_value(size_t i) {
  static const int64_t extents_of[] = {0, 1, 2, 3, 4, 5, 8, 12, 16, 100, 1 << 12, 1 << 24};
  if (i == 1 && next(8) == 0 && leaf_values[0] < 2) return IR_EXTENT_MAX;
  if (i < 2) return extents_of[next(12)];
  wide most = i == 2 ? leaf_values[0] * leaf_values[1] : i == 3 ? leaf_values[1] : 1000;
  if (!next(4)) return most ? most - 1 : 0;
  return next(3) || most < 1 ? (wide)next(20) : (wide)next(1u << 30) % most;
}

static void index_facts(ir_facts *facts) {
  leaf_count = 5, condition_count = 0;
  for (size_t i = 0; i < leaf_count; i++) {
    const char *name = ir_arena_printf(&arena, "%c", (char)('a' + i));
    leaves[i] = i < 2 ? ir_expr_symbol(context, ir_intern(context, ir_slice_of(name))) : ir_expr_arg(context, (uint32_t)i, IR_I64, 1);
    leaf_values[i] = index_value(i);
    ranges[i] = (struct range){0, INT64_MAX};
  }
  ir_facts_tensor(facts, ir_type_tensor(context, IR_F32, 2, leaves));
  for (uint32_t n = next(5); n-- > 0 && condition_count < 4;) {
    bool ignored;
    const ir_expr *bounds[] = {
        ir_expr_binary(context, IR_S_LT, leaves[2], ir_expr_binary(context, IR_S_MUL, leaves[0], leaves[1])),
        ir_expr_binary(context, IR_S_LT, leaves[3], leaves[1]),
        ir_expr_binary(context, IR_S_GE, leaves[2 + next(3)], ir_expr_i64(context, 0)),
        ir_expr_binary(context, IR_S_GE, leaves[2 + next(3)], ir_expr_i64(context, 0)),
        index_condition(1)};
    const ir_expr *condition = bounds[next(5)];
    if (!evaluate(condition, &ignored)) condition = ir_expr_unary(context, IR_S_NOT, condition);
    conditions[condition_count++] = condition;
    ir_facts_assume(facts, condition);
  }
}

static bool leaf_value(void *user, const ir_expr *leaf, int64_t *value) {
  (void)user;
  for (size_t i = 0; i < leaf_count; i++) {
    if (leaves[i] == leaf) *value = (int64_t)leaf_values[i];
  }
  return true;
}

static void report(const char *what, const ir_expr *before, const ir_expr *after) {
  printf("  %s: %s\n  becomes: %s\n", what, text_of(before), text_of(after));
  for (size_t i = 0; i < leaf_count; i++)
    printf("  %s: %s = %lld in [%lld, %lld]\n", text_of(leaves[i]), ir_dtype_name((ir_dtype)leaves[i]->dtype),
           (long long)leaf_values[i], (long long)ranges[i].least, (long long)ranges[i].most);
  for (size_t i = 0; i < condition_count; i++) printf("  assumed: %s\n", text_of(conditions[i]));
}

static size_t changed, proven;

static void test_random(void) {
  ir_facts *facts = ir_facts_new(context, &arena, NULL);
  bool index = next(3) == 0;
  const ir_expr *expr;
  if (index) {
    index_facts(facts);
    expr = next(2) ? index_expr(2 + (int)next(4)) : index_condition(1 + (int)next(4));
  } else {
    random_leaves(facts);
    random_facts(facts);
    expr = random_expr(next(3) ? random_dtype() : IR_BOOL, 2 + (int)next(5));
  }
  if (expr->size > 200) return;
  const ir_expr *simple = ir_simplify(context, facts, expr);
  changed += simple != expr;
  if (!CHECK(ir_simplify(context, facts, simple) == simple)) {
    report("not a fixed point", expr, simple);
    report("then", simple, ir_simplify(context, facts, simple));
  }
  CHECK(simple->dtype == expr->dtype);
  int64_t least, most;
  ir_proof proof = IR_UNKNOWN;
  if (expr->dtype == IR_BOOL) proof = ir_prove(context, facts, expr);
  else ir_range_of(context, facts, expr, &least, &most);
  proven += proof != IR_UNKNOWN;
  for (int sample = 0; sample < 12; sample++) {
    if (sample && !move(index)) continue;
    bool overflow = false, ignored;
    wide before = evaluate(expr, &overflow), after = evaluate(simple, &ignored);
    int64_t computed;
    if (!CHECK(before == after)) return report("another value", expr, simple);
    if (!CHECK(proof == IR_UNKNOWN || (proof == IR_PROVEN) == (before != 0))) return report("wrong proof", expr, simple);
    if (expr->dtype != IR_BOOL && !CHECK((before >= least || least == INT64_MAX) && (before <= most || most == INT64_MAX)))
      return report("out of range", expr, simple);
    bool has_value = ir_evaluate(expr, leaf_value, NULL, &computed);
    if (!CHECK(has_value || overflow)) return report("no value", expr, simple);
    if (has_value && !CHECK(cut((ir_dtype)expr->dtype, computed) == before)) return report("ir_evaluate", expr, simple);
  }
}

int main(int argc, char **argv) {
  long cases = argc > 1 ? atol(argv[1]) : 30000;
  state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  diags = ir_diags_new();
  context = ir_context_new(diags);
  make_names();
  test_sums();
  test_divisions();
  test_facts();
  test_order();
  test_broadcasts();
  test_conversions();
  test_floats();
  for (long i = 0; i < cases && check_failed < 20; i++) {
    if (i % 500 == 0) { /* expressions live as long as their context */
      ir_context_free(context);
      context = ir_context_new(diags);
    }
    ir_arena_mark mark = ir_arena_get_mark(&arena);
    test_random();
    ir_arena_reset(&arena, mark);
  }
  printf("%ld cases: %zu simpler, %zu decided\n", cases, changed, proven);
  ir_context_free(context);
  ir_diags_free(diags);
  ir_arena_free(&arena);
  return CHECK_REPORT("simplify");
}
