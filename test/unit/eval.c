// SPDX-License-Identifier: Apache-2.0
/* ir/eval: every operator on every dtype against rows made by eval_rows.py, and what those leave out. */
#include "ir/eval.h"

#include "test/unit/check.h"

static const struct row {
  uint16_t code;
  uint8_t operand, result;
  uint64_t in[3], value;
  const char *text;
} rows[] = {
#define ROW1(CODE, OPERAND, RESULT, a, value) ROW3(CODE, OPERAND, RESULT, a, 0, 0, value)
#define ROW2(CODE, OPERAND, RESULT, a, b, value) ROW3(CODE, OPERAND, RESULT, a, b, 0, value)
#define ROW3(CODE, OPERAND, RESULT, a, b, c, value) \
  {IR_S_##CODE, IR_##OPERAND, IR_##RESULT, {a, b, c}, value, #CODE " " #OPERAND " " #RESULT " " #a " " #b " " #c},
#include "eval_rows.h"
#undef ROW1
#undef ROW2
#undef ROW3
};

static bool is_nan(ir_dtype dtype, uint64_t bits) {
  double value = ir_is_float(dtype) ? ir_float_from_bits(dtype, bits) : 0;
  return value != value;
}

static void test_rows(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *row = &rows[i];
    uint64_t found = 0;
    ir_dtype operand = (ir_dtype)row->operand, result = (ir_dtype)row->result;
    bool done = ir_scalar_eval(NULL, (ir_scalar_code)row->code, operand, result, false, row->in, &found);
    bool same = found == row->value || (is_nan(result, found) && is_nan(result, row->value));
    if (!CHECK(done && same))
      printf("  %s: found 0x%llx, expected 0x%llx\n", row->text, (unsigned long long)found,
             (unsigned long long)row->value);
  }
}

static uint64_t eval(ir_scalar_code code, ir_dtype operand, ir_dtype result, bool fma, uint64_t a, uint64_t b,
                     uint64_t c) {
  uint64_t value = ~UINT64_C(0);
  CHECK(ir_scalar_eval(NULL, code, operand, result, fma, (uint64_t[]){a, b, c}, &value));
  return value;
}

static void test_others(void) {
  uint64_t tenth = ir_float_to_bits(IR_F32, 0.1), ten = ir_float_to_bits(IR_F32, 10),
           minus = ir_float_to_bits(IR_F32, -1);
  /* 0.1f * 10 is 1 + 2^-26 * 0.4: 1 when rounded, and what is left of it when fused (1.4901161e-08). */
  CHECK(eval(IR_S_MAD, IR_F32, IR_F32, false, tenth, ten, minus) == 0);
  CHECK(eval(IR_S_MAD, IR_F32, IR_F32, true, tenth, ten, minus) == 0x32800000);
  CHECK(eval(IR_S_FMA, IR_F32, IR_F32, false, tenth, ten, minus) == 0x32800000);
  /* 257 in bf16 is a tie to even; -128 * -1 in i8 and -8 * -1 in i4 wrap. */
  CHECK(eval(IR_S_CAST, IR_I32, IR_BF16, false, 257, 0, 0) == 0x4380);
  CHECK(eval(IR_S_NEG, IR_I8, IR_I8, false, 0x80, 0, 0) == 0x80);
  CHECK(eval(IR_S_NEG, IR_I4, IR_I4, false, 8, 0, 0) == 8);
  CHECK(eval(IR_S_ADD, IR_U4, IR_U4, false, 9, 9, 0) == 2);
  CHECK(eval(IR_S_FLOORDIV, IR_I4, IR_I4, false, 9, 2, 0) == 12); /* -7 // 2 = -4 */
  /* e4m3 has no infinity: 448 * 2 is NaN; 1.5 + 1.5 = 3; e5m2 overflows to infinity. */
  CHECK(eval(IR_S_MUL, IR_F8E4M3, IR_F8E4M3, false, 0x7e, 0x40, 0) == 0x7f);
  CHECK(eval(IR_S_ADD, IR_F8E4M3, IR_F8E4M3, false, 0x3c, 0x3c, 0) == 0x44);
  CHECK(eval(IR_S_MUL, IR_F8E5M2, IR_F8E5M2, false, 0x7b, 0x7b, 0) == 0x7c);
  CHECK(eval(IR_S_BITCAST, IR_F32, IR_I32, false, 0x7fc01234, 0, 0) == 0x7fc01234);
  CHECK(eval(IR_S_SELECT, IR_F32, IR_F32, false, 1, 0x7fc01234, 2) == 0x7fc01234);
  CHECK(eval(IR_S_SELECT, IR_F32, IR_F32, false, 0, 0x7fc01234, 2) == 2);
  CHECK(eval(IR_S_NEG, IR_F32, IR_F32, false, 0x7fc01234, 0, 0) == 0xffc01234); /* the payload stays */
  CHECK(eval(IR_S_AND, IR_BOOL, IR_BOOL, false, 1, 0, 0) == 0 && eval(IR_S_OR, IR_BOOL, IR_BOOL, false, 1, 0, 0) == 1);
  CHECK(eval(IR_S_NOT, IR_BOOL, IR_BOOL, false, 1, 0, 0) == 0 &&
        eval(IR_S_BITNOT, IR_BOOL, IR_BOOL, false, 0, 0, 0) == 1);
  CHECK(eval(IR_S_CAST, IR_BOOL, IR_F16, false, 1, 0, 0) == 0x3c00);
  uint64_t value;
  CHECK(!ir_scalar_eval(NULL, IR_S_RAMP, IR_I64, IR_I64, false, (uint64_t[3]){0}, &value));
  CHECK(!ir_scalar_eval(NULL, IR_S_EXP, IR_F32, IR_F32, false, (uint64_t[3]){0},
                        &value)); /* an expansion needs a context */
}

/* Folding keeps away from what checked execution refuses and from what a module attribute decides. */
static void test_fold(ir_context *context) {
  const ir_expr *zero = ir_expr_int(context, IR_I32, 0), *seven = ir_expr_int(context, IR_I32, -7),
                *two = ir_expr_int(context, IR_I32, 2);
  const ir_expr *by_zero = ir_expr_binary(context, IR_S_TRUNCDIV, seven, zero);
  CHECK(ir_expr_fold(context, by_zero) == by_zero);
  CHECK(ir_expr_fold(context, ir_expr_binary(context, IR_S_FLOORDIV, seven, two)) == ir_expr_int(context, IR_I32, -4));
  const ir_expr *most = ir_expr_i64(context, INT64_MAX),
                *sum = ir_expr_binary(context, IR_S_ADD, most, ir_expr_i64(context, 1));
  CHECK(ir_expr_fold(context, sum) == sum);
  const ir_expr *wrapped =
      ir_expr_binary(context, IR_S_ADD, ir_expr_int(context, IR_I32, INT32_MAX), ir_expr_int(context, IR_I32, 1));
  CHECK(ir_expr_fold(context, wrapped) == ir_expr_int(context, IR_I32, INT32_MIN));
  const ir_expr *half = ir_expr_float(context, IR_F32, 0.5), *e = ir_expr_unary(context, IR_S_EXP, half);
  CHECK(ir_expr_fold(context, e) == e);
  const ir_expr *vector = ir_expr_const(context, IR_F32, 4, 0x3f000000);
  CHECK(ir_expr_fold(context, ir_expr_binary(context, IR_S_ADD, vector, vector)) ==
        ir_expr_const(context, IR_F32, 4, 0x3f800000));
  const ir_expr *symbol = ir_expr_symbol(context, ir_intern(context, ir_lit("n"))),
                *open = ir_expr_unary(context, IR_S_NEG, symbol);
  CHECK(ir_expr_fold(context, open) == open);
}

int main(void) {
  ir_diags *diags = ir_diags_new();
  ir_context *context = ir_context_new(diags);
  test_rows();
  test_others();
  test_fold(context);
  ir_context_free(context);
  ir_diags_free(diags);
  return CHECK_REPORT("eval");
}
