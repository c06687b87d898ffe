// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_activation.c - activations made of other operators, by the definitions in ONNX's text. */
#include "frontends/onnx/importer.h"

#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)

static ir_value *operand(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  return ir_onnx_in(n, 0);
}

static ir_value *number(ir_onnx_node *n, const ir_value *like, double value) { return ir_onnx_number(n, like, value); }

/* X where it is above 0, OTHER elsewhere. */
static ir_value *above_zero(ir_onnx_node *n, ir_value *x, ir_value *other) {
  ir_value *above = BUILD(IR_GREATER, x, number(n, x, 0));
  return BUILD(IR_WHERE, above, x, other);
}

bool import_elu(ir_onnx_node *n) {
  ir_value *x = operand(n);
  double alpha = ir_onnx_float(n, "alpha", 1);
  return x && ir_onnx_out(n, 0, above_zero(n, x, BUILD(IR_MULTIPLY, BUILD(IR_EXPM1, x), number(n, x, alpha))));
}

bool import_selu(ir_onnx_node *n) {
  ir_value *x = operand(n);
  bool old = n->im->opset < 6;
  double alpha = ir_onnx_float(n, "alpha", old ? 1.6732 : 1.67326319217681884765625);
  double gamma = ir_onnx_float(n, "gamma", old ? 1.0507 : 1.05070102214813232421875);
  if (!x) return false;
  ir_value *y = above_zero(n, x, BUILD(IR_MULTIPLY, BUILD(IR_EXPM1, x), number(n, x, alpha)));
  return ir_onnx_out(n, 0, BUILD(IR_MULTIPLY, y, number(n, x, gamma)));
}

bool import_celu(ir_onnx_node *n) {
  ir_value *x = operand(n);
  double alpha = ir_onnx_float(n, "alpha", 1);
  if (!x) return false;
  ir_value *part = BUILD(IR_EXPM1, BUILD(IR_DIVIDE, x, number(n, x, alpha)));
  ir_value *below = BUILD(IR_MINIMUM, BUILD(IR_MULTIPLY, part, number(n, x, alpha)), number(n, x, 0));
  return ir_onnx_out(n, 0, BUILD(IR_ADD, BUILD(IR_MAXIMUM, x, number(n, x, 0)), below));
}

bool import_thresholded_relu(ir_onnx_node *n) {
  ir_value *x = operand(n);
  double alpha = ir_onnx_float(n, "alpha", 1);
  return x && ir_onnx_out(n, 0, BUILD(IR_WHERE, BUILD(IR_GREATER, x, number(n, x, alpha)), x, number(n, x, 0)));
}

/* Toward 0 by the bias where it is beyond lambda, else 0. */
bool import_shrink(ir_onnx_node *n) {
  ir_value *x = operand(n);
  double bias = ir_onnx_float(n, "bias", 0), lambda = ir_onnx_float(n, "lambd", 0.5);
  if (!x) return false;
  bool whole = bias == (double)(int64_t)bias && lambda == (double)(int64_t)lambda;
  if (!whole && !ir_is_float(ir_type_dtype(x->type))) return ir_onnx_fail(n, "bias %g and lambd %g of integers", bias, lambda);
  ir_value *zero = number(n, x, 0), *low = BUILD(IR_LESS, x, number(n, x, -lambda)), *high = BUILD(IR_GREATER, x, number(n, x, lambda));
  ir_value *inner = BUILD(IR_WHERE, high, BUILD(IR_SUBTRACT, x, number(n, x, bias)), zero);
  return ir_onnx_out(n, 0, BUILD(IR_WHERE, low, BUILD(IR_ADD, x, number(n, x, bias)), inner));
}

bool import_softsign(ir_onnx_node *n) {
  ir_value *x = operand(n);
  return x && ir_onnx_out(n, 0, BUILD(IR_DIVIDE, x, BUILD(IR_ADD, BUILD(IR_ABS, x), number(n, x, 1))));
}

bool import_mish(ir_onnx_node *n) {
  ir_value *x = operand(n);
  return x && ir_onnx_out(n, 0, BUILD(IR_MULTIPLY, x, BUILD(IR_TANH, BUILD(IR_NN_SOFTPLUS, x))));
}

bool import_gelu(ir_onnx_node *n) {
  ir_value *x = operand(n);
  const char *approximate = ir_onnx_string(n, "approximate", "none");
  bool by_tanh = !strcmp(approximate, "tanh");
  if (!by_tanh && strcmp(approximate, "none")) return ir_onnx_fail(n, "approximate '%s': expected none or tanh", approximate);
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, by_tanh ? IR_NN_GELU_TANH : IR_NN_GELU, &x, 1, NULL, 0));
}
