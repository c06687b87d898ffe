// SPDX-License-Identifier: Apache-2.0
/* ir/formula: what formulas mean, what is refused, that every formula of a table can be read, and expansions. */
#include "ir/formula.h"

#include "base/vec.h"
#include "ir/eval.h"
#include "ir/op_def.h"
#include "test/unit/check_diags.h"

static ir_diags *diags;
static ir_context *context;

static const ir_expr *x, *i, *c, *alpha;

static const ir_expr *parse(const char *text, ir_dtype dtype) {
  ir_formula_input inputs[] = {{"x", x}, {"i", i}, {"c", c}, {"alpha", alpha}};
  return ir_formula(context, text, dtype, inputs, 4);
}

static const ir_expr *f32(double value) { return ir_expr_float(context, IR_F32, value); }
static const ir_expr *two(ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_expr_binary(context, code, a, b);
}
static const ir_expr *one(ir_scalar_code code, const ir_expr *a) { return ir_expr_unary(context, code, a); }
#define MEANS(text, expected) CHECK(parse(text, IR_F32) == (expected))

static void test_meaning(void) {
  const ir_expr *square = two(IR_S_MUL, x, x);
  MEANS("x", x);
  MEANS(" x+1 ", two(IR_S_ADD, x, f32(1)));
  MEANS("1.0 + x * x", two(IR_S_ADD, f32(1), square));
  MEANS("(1.0 + x) * x", two(IR_S_MUL, two(IR_S_ADD, f32(1), x), x));
  MEANS("x - x - x", two(IR_S_SUB, two(IR_S_SUB, x, x), x));
  MEANS("-x", one(IR_S_NEG, x));
  MEANS("-1.5", f32(-1.5));
  MEANS("x - -0.0", two(IR_S_SUB, x, f32(-0.0)));
  MEANS("0.1", ir_expr_const(context, IR_F32, 1, 0x3dcccccd));
  MEANS("0x1.8p+1", f32(3));
  MEANS("1e-3 * x", two(IR_S_MUL, f32(1e-3), x));
  MEANS("-inf", f32(-1.0 / 0.0));
  MEANS("select(x < 0.0, 1, x)", ir_expr_ternary(context, IR_S_SELECT, two(IR_S_LT, x, f32(0)), f32(1), x));
  MEANS("select(c, 0.0, 1)", ir_expr_ternary(context, IR_S_SELECT, c, f32(0), f32(1)));
  MEANS("c && !(x >= 1 || c)", two(IR_S_AND, c, one(IR_S_NOT, two(IR_S_OR, two(IR_S_GE, x, f32(1)), c))));
  MEANS("c == true", two(IR_S_EQ, c, ir_expr_bool(context, true)));
  MEANS("i + 0x7f", two(IR_S_ADD, i, ir_expr_int(context, IR_I32, 127)));
  MEANS("-0x800000 + i", two(IR_S_ADD, ir_expr_int(context, IR_I32, -0x800000), i));
  MEANS("f32(i)", ir_expr_cast(context, i, IR_F32));
  MEANS("i32(3)", ir_expr_int(context, IR_I32, 3));
  MEANS("T(i)", ir_expr_cast(context, i, IR_F32));
  MEANS("T(alpha) * x", two(IR_S_MUL, f32(0.01), x)); /* an f64 attribute, cast at once */
  MEANS("bool(x)", ir_expr_cast(context, x, IR_BOOL));
  MEANS("bitcast(i32, x)", ir_expr_convert(context, IR_S_BITCAST, x, IR_I32, 1));
  MEANS("bitcast(f32, shl(i, 23))",
        ir_expr_convert(context, IR_S_BITCAST, two(IR_S_SHL, i, ir_expr_int(context, IR_I32, 23)), IR_F32, 1));
  MEANS("mad(x, 2, 1)", ir_expr_ternary(context, IR_S_MAD, x, f32(2), f32(1)));
  MEANS("max(x, 0)", two(IR_S_MAX, x, f32(0)));
  MEANS("exp(x)", one(IR_S_EXP, x));
  MEANS("q = x * x; r = q + q; r * q", two(IR_S_MUL, two(IR_S_ADD, square, square), square));
  MEANS("t = 2; t * x", two(IR_S_MUL, f32(2), x));
  CHECK(parse("x + x", IR_F32) == parse("x + x", IR_F32));
  CHECK(parse("2", IR_I8) == ir_expr_int(context, IR_I8, 2) && parse("2", IR_F16) == ir_expr_float(context, IR_F16, 2));
  const ir_expr *vector = ir_expr_arg(context, 0, IR_F32, 4);
  const ir_expr *sum = ir_formula(context, "x + 1.0", IR_F32, &(ir_formula_input){"x", vector}, 1);
  CHECK(sum == two(IR_S_ADD, vector, ir_expr_const(context, IR_F32, 4, 0x3f800000)));
}

static void refuse(const char *text, const char *reported) {
  CHECK(!parse(text, IR_F32));
  CHECK_DIAGS(diags, reported);
}

static void test_refusals(void) {
  refuse("x +", "formula 'x +': expected an expression at ''");
  refuse("x x", "formula 'x x': unexpected text at 'x'");
  refuse("(x", "formula '(x': expected ')' at ''");
  refuse("y", "formula 'y': unknown name at 'y'");
  refuse("foo(x)", "formula 'foo(x)': unknown function at 'foo'");
  refuse("i + 0.5", "formula 'i + 0.5': a float stands where an integer is needed at '0.5'");
  refuse("c && 1", "formula 'c && 1': a number stands where a bool is needed at '1'");
  refuse("x + i", "formula 'x + i': 'add' needs operands of one dtype and width at 'x + i'");
  refuse("i / i", "formula 'i / i': 'div' needs floating-point operands at 'i / i'");
  refuse("max(x)", "formula 'max(x)': 'max' needs another number of operands at 'x)'");
  refuse("max(x, x, x, x)", "formula 'max(x, x, x, x)': too many operands at 'max'");
  refuse("bitcast(i64, x)", "formula 'bitcast(i64, x)': bitcast to another width at 'x)'");
  refuse("q = x; q = x; q", "formula 'q = x; q = x; q': a second definition at 'q'");
  refuse("q = x q", "formula 'q = x q': expected ';' at 'q'");
  refuse("x == x == c", "formula 'x == x == c': comparisons do not chain at '== c'");
}

/* The formula of an operator's row can be read for some dtype of its operands. */
static bool can_be_read(const ir_op_def *row, const char *text, ir_dtype dtype) {
  ir_formula_input inputs[16];
  size_t count = 0;
  for (size_t k = 0; k < row->operand_def_count; k++) {
    bool condition = !strcmp(row->operands[k].name, "condition");
    inputs[count++] =
        (ir_formula_input){row->operands[k].name, ir_expr_arg(context, (uint32_t)k, condition ? IR_BOOL : dtype, 1)};
  }
  for (size_t k = 0; k < row->attr_count; k++)
    inputs[count++] = (ir_formula_input){row->attrs[k].name, ir_expr_float(context, IR_F64, 0.5)};
  const ir_expr *expr = ir_formula(context, text, dtype, inputs, count);
  ir_diags_discard(diags);
  return expr;
}

static void test_rows(void) {
  for (int code = 0; code < IR_OP_COUNT; code++) {
    const ir_op_def *row = &ir_op_defs[code];
    const char *texts[] = {row->element, row->element_int};
    for (size_t k = 0; k < 2; k++) {
      if (!texts[k]) continue;
      bool read = k == 0 && (can_be_read(row, texts[k], IR_F32) || can_be_read(row, texts[k], IR_BOOL));
      if (!CHECK(read || can_be_read(row, texts[k], IR_I32))) printf("  %s: %s\n", row->name, texts[k]);
    }
  }
}

static double value_of(ir_scalar_code code, ir_dtype dtype, double operand) {
  uint64_t in = ir_float_to_bits(dtype, operand), value = 0;
  CHECK(ir_scalar_eval(context, code, dtype, dtype, false, &in, &value));
  return ir_float_from_bits(dtype, value);
}

static bool is_near(double found, double expected, double relative) {
  double error = found - expected, bound = relative * (expected < 0 ? -expected : expected);
  return error <= bound && error >= -bound;
}

static void count_expanded(void *user, const ir_expr *node) { *(size_t *)user += ir_scalars[node->code].expanded; }

static void test_expansions(void) {
  /* To 17 digits, from tables. */
  static const struct {
    ir_scalar_code code;
    double operand, value;
  } known[] = {{IR_S_EXP, 1, 2.7182818284590452},
               {IR_S_LOG, 10, 2.3025850929940457},
               {IR_S_TANH, 0.5, 0.46211715726000975},
               {IR_S_ERF, 0.5, 0.52049987781304654},
               {IR_S_SIGMOID, -1, 0.26894142136999512},
               {IR_S_EXP2, 0.5, 1.4142135623730950},
               {IR_S_EXPM1, 1, 1.7182818284590452},
               {IR_S_LOG2, 10, 3.3219280948873623},
               {IR_S_LOG10, 2, 0.30102999566398120},
               {IR_S_LOG1P, 1, 0.69314718055994531},
               {IR_S_SIN, 1, 0.84147098480789651},
               {IR_S_COS, 1, 0.54030230586813972},
               {IR_S_TAN, 1, 1.5574077246549022},
               {IR_S_SINH, 1, 1.1752011936438015},
               {IR_S_COSH, 1, 1.5430806348152438},
               {IR_S_ASINH, 1, 0.88137358701954303},
               {IR_S_ACOSH, 2, 1.3169578969248167},
               {IR_S_ATANH, 0.5, 0.54930614433405485},
               {IR_S_ASIN, 0.5, 0.52359877559829887},
               {IR_S_ACOS, 0.5, 1.0471975511965979},
               {IR_S_ATAN, 1, 0.78539816339744831}};
  for (size_t k = 0; k < ir_count_of(known); k++) {
    CHECK(is_near(value_of(known[k].code, IR_F64, known[k].operand), known[k].value, 4 * 0x1p-52));
    CHECK(is_near(value_of(known[k].code, IR_F32, known[k].operand), known[k].value, 4 * 0x1p-23));
    CHECK(is_near(value_of(known[k].code, IR_F16, known[k].operand), known[k].value, 0x1p-11));
    CHECK(is_near(value_of(known[k].code, IR_BF16, known[k].operand), known[k].value, 0x1p-8));
    for (int dtype = IR_F16; dtype <= IR_F64; dtype++) {
      const ir_expr *operand = ir_expr_arg(context, 3, (ir_dtype)dtype, 8);
      const ir_expr *expansion = ir_expand(context, one(known[k].code, two(IR_S_MUL, operand, operand)));
      size_t expanded = 0;
      if (!CHECK(expansion)) continue;
      ir_expr_walk(context, expansion, count_expanded, &expanded);
      CHECK(!expanded && expansion->dtype == dtype && expansion->lanes == 8);
    }
  }
  CHECK(!ir_expand(context, one(IR_S_SQRT, x)));
}

int main(void) {
  diags = ir_diags_new();
  context = ir_context_new(diags);
  x = ir_expr_arg(context, 0, IR_F32, 1), i = ir_expr_arg(context, 1, IR_I32, 1),
  c = ir_expr_arg(context, 2, IR_BOOL, 1);
  alpha = ir_expr_float(context, IR_F64, 0.01);
  test_meaning();
  CHECK_DIAGS(diags, "");
  test_refusals();
  test_rows();
  test_expansions();
  CHECK_DIAGS(diags, "");
  ir_text_free(&check_reported);
  ir_context_free(context);
  ir_diags_free(diags);
  return CHECK_REPORT("formula");
}
