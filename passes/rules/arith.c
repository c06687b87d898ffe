// SPDX-License-Identifier: Apache-2.0
/* passes/rules/arith.c - identities that keep every bit: never x + 0.0 -> x (x may be -0.0), x * 0 -> 0 (NaN), x - x. */
#include "passes/rules/rules.h"

#include <math.h>

bool ir_const_splat(const ir_value *value, uint64_t *bits, ir_dtype *dtype) {
  const ir_expr *expr = ir_value_closed_expr(value);
  if (expr && expr->code == IR_S_CONST) {
    *bits = expr->bits;
    *dtype = (ir_dtype)expr->dtype;
    return true;
  }
  const ir_op *op = ir_value_op(value);
  if (!ir_is(op, IR_CONST)) return false;
  const ir_attr *literal = ir_get(op, "value");
  if (literal->kind != IR_ATTR_DATA || ir_dtypes[literal->data.dtype].bits < 8) return false;
  size_t width = ir_dtypes[literal->data.dtype].bits / 8, count = literal->data.size / width;
  const uint8_t *bytes = literal->data.bytes;
  if (!count) return false;
  for (size_t i = 1; i < count; i++) {
    if (memcmp(bytes, bytes + i * width, width)) return false;
  }
  *bits = 0;
  memcpy(bits, bytes, width);
  *dtype = literal->data.dtype;
  return true;
}

/* VALUE is a constant of this number in every element: for floats the sign of zero counts. */
static bool is_number(const ir_value *value, double number) {
  uint64_t bits;
  ir_dtype dtype;
  if (!ir_const_splat(value, &bits, &dtype)) return false;
  if (!ir_is_float(dtype)) return number == floor(number) && !signbit(number) && ir_int_from_bits(dtype, bits) == (int64_t)number;
  return bits == ir_float_to_bits(dtype, number);
}

static bool is_float(const ir_op *op) { return ir_is_float(ir_type_dtype(ir_op_result(op, 0)->type)); }

/* OP(x, c) -> x where c is NUMBER and the type stays; SWAP allows OP(c, x). */
static bool drop_operand(ir_rewriter *rw, ir_op *op, double number, bool swap) {
  for (size_t i = 0; i < 2; i++) {
    if (i == 0 && !swap) continue;
    ir_value *kept = ir_op_operand(op, i == 0 ? 1 : 0);
    if (is_number(ir_op_operand(op, i), number) && ir_same_type(rw, ir_op_result(op, 0)->type, kept->type)) {
      return ir_replace1(rw, op, kept);
    }
  }
  return false;
}

static bool add_zero(ir_rewriter *rw, ir_op *op) { return drop_operand(rw, op, is_float(op) ? -0.0 : 0.0, true); }
static bool subtract_zero(ir_rewriter *rw, ir_op *op) { return drop_operand(rw, op, 0.0, false); }
static bool multiply_one(ir_rewriter *rw, ir_op *op) { return drop_operand(rw, op, 1.0, true); }
static bool divide_one(ir_rewriter *rw, ir_op *op) { return drop_operand(rw, op, 1.0, false); }

/* Dividing by a power of two is multiplying by its inverse, where the dtype has that: both are the same real number
 * rounded once. */
static bool divide_by_power(ir_rewriter *rw, ir_op *op) {
  uint64_t bits;
  ir_dtype dtype;
  ir_value *x = ir_op_operand(op, 0), *c = ir_op_operand(op, 1);
  if (!is_float(op) || !ir_const_splat(c, &bits, &dtype)) return false;
  double value = ir_float_from_bits(dtype, bits);
  int exponent;
  bool power = isfinite(value) && value != 0 && value != 1.0 && fabs(frexp(value, &exponent)) == 0.5;
  if (!power || !isfinite(1.0 / value) || ir_float_from_bits(dtype, ir_float_to_bits(dtype, 1.0 / value)) != 1.0 / value) return false;
  ir_builder b = ir_at(op);
  ir_value *inverse;
  if (ir_value_closed_expr(c)) {
    inverse = ir_build_scalar(&b, ir_expr_float(ir_op_context(op), dtype, 1.0 / value), NULL, 0);
  } else {
    int64_t count = 0;
    if (!ir_type_static_dims(c->type, NULL, &count) || count != 1) return false;
    size_t width = ir_dtypes[dtype].bits / 8;
    uint64_t inverse_bits = ir_float_to_bits(dtype, 1.0 / value);
    void *bytes = ir_arena_copy(&ir_op_module(op)->arena, &inverse_bits, sizeof inverse_bits);
    inverse = ir_build_const(&b, c->type, (ir_data){dtype, bytes, width});
  }
  return ir_replace1(rw, op, ir_build1(&b, IR_MULTIPLY, IR_OPERANDS(x, inverse), IR_NO_ATTRS));
}

static bool twice_undone(ir_rewriter *rw, ir_op *op) {
  ir_op *inner = ir_value_op(ir_op_operand(op, 0));
  return ir_is(inner, (ir_opcode)op->code) && ir_replace1(rw, op, ir_op_operand(inner, 0));
}

/* f(f(x)) = f(x). */
static bool twice_is_once(ir_rewriter *rw, ir_op *op) {
  ir_op *inner = ir_value_op(ir_op_operand(op, 0));
  return ir_is(inner, (ir_opcode)op->code) && ir_replace1(rw, op, ir_op_operand(op, 0));
}

static bool cast_to_same(ir_rewriter *rw, ir_op *op) {
  ir_value *x = ir_op_operand(op, 0);
  return ir_is_tensor(x->type) && x->type->dtype == ir_op_result(op, 0)->type->dtype && x->type->dtype != IR_DTYPE_UNKNOWN && ir_replace1(rw, op, x);
}

static bool where_constant(ir_rewriter *rw, ir_op *op) {
  uint64_t bits;
  ir_dtype dtype;
  if (!ir_const_splat(ir_op_operand(op, 0), &bits, &dtype)) return false;
  ir_value *chosen = ir_op_operand(op, bits ? 1 : 2);
  return ir_same_type(rw, ir_op_result(op, 0)->type, chosen->type) && ir_replace1(rw, op, chosen);
}

const ir_rule ir_rules_arith[] = {
    {IR_ADD, add_zero, "add(x, -0.0) -> x; integers: add(x, 0) -> x"},
    {IR_SUBTRACT, subtract_zero, "subtract(x, 0) -> x"},
    {IR_MULTIPLY, multiply_one, "multiply(x, 1) -> x"},
    {IR_DIVIDE, divide_one, "divide(x, 1) -> x"},
    {IR_DIVIDE, divide_by_power, "divide(x, 2.0) -> multiply(x, 0.5), for powers of two"},
    {IR_NEGATIVE, twice_undone, "negative(negative(x)) -> x"},
    {IR_LOGICAL_NOT, twice_undone, "logical_not(logical_not(x)) -> x"},
    {IR_BITWISE_NOT, twice_undone, "bitwise_not(bitwise_not(x)) -> x"},
    {IR_ABS, twice_is_once, "abs(abs(x)) -> abs(x)"},
    {IR_FLOOR, twice_is_once, "floor(floor(x)) -> floor(x)"},
    {IR_CEIL, twice_is_once, "ceil(ceil(x)) -> ceil(x)"},
    {IR_TRUNC, twice_is_once, "trunc(trunc(x)) -> trunc(x)"},
    {IR_ROUND, twice_is_once, "round(round(x)) -> round(x)"},
    {IR_NN_RELU, twice_is_once, "nn.relu(nn.relu(x)) -> nn.relu(x)"},
    {IR_ASTYPE, cast_to_same, "astype(x) -> x where the dtype is the same"},
    {IR_WHERE, where_constant, "where(true, a, b) -> a"},
    {0},
};
