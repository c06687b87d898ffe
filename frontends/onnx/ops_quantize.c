// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_quantize.c - quantization, and products of quantized numbers: differences to zero points are products'
 * operands in i32. */
#include "frontends/onnx/importer.h"

#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)
#define CONTEXT (n->im->context)

/* A scale or a zero point: one element of an axis counts for all. NULL after a report. */
static ir_value *parameter(ir_onnx_node *n, size_t i) {
  ir_value *value = ir_onnx_in(n, i);
  int rank = value ? ir_onnx_rank(n, value) : -1;
  int64_t extent;
  if (rank < 0) return NULL;
  if (rank > 1) return ir_onnx_fail(n, "not implemented: scales or zero points of more than one axis"), NULL;
  bool single = rank && ir_onnx_dim(value, 0) && ir_expr_is_int(ir_onnx_dim(value, 0), &extent) && extent == 1;
  return single ? ir_onnx_reshape(n, value, 0, NULL) : value;
}

static ir_value *zero_of(ir_onnx_node *n, ir_dtype dtype) {
  const ir_expr *zero = ir_is_float(dtype) ? ir_expr_float(CONTEXT, dtype, 0) : ir_expr_int(CONTEXT, dtype, 0);
  return ir_build_scalar(&n->im->b, zero, NULL, 0);
}

static bool check_blocks(ir_onnx_node *n) {
  int64_t block = ir_onnx_int(n, "block_size", 0);
  return !block || ir_onnx_fail(n, "not implemented: block_size = %lld", (long long)block);
}

/* The dtype of y: that of the zero point, else what the attribute says, else u8. */
static ir_dtype quantized_dtype(ir_onnx_node *n, const ir_value *zero) {
  int64_t asked = ir_onnx_int(n, "output_dtype", 0);
  if (zero) return ir_type_dtype(zero->type);
  return asked ? ir_onnx_dtype((int32_t)asked) : IR_U8;
}

static ir_value *quantize(ir_onnx_node *n, ir_value *x, ir_value *scale, ir_value *zero, ir_dtype dtype, int64_t axis) {
  if (!x || !scale || !zero) return NULL;
  return ir_build1(&n->im->b, IR_QUANTIZE, IR_OPERANDS(x, scale, zero),
                   IR_SET({"out_dtype", ir_attr_dtype(CONTEXT, dtype)}, {"axis", ir_attr_int(CONTEXT, axis)}));
}

bool import_quantize(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *scale = parameter(n, 1), *zero = ir_onnx_present(n, 2) ? parameter(n, 2) : NULL;
  if (!x || !scale || (ir_onnx_present(n, 2) && !zero) || !check_blocks(n)) return false;
  ir_dtype dtype = quantized_dtype(n, zero);
  if (dtype == IR_DTYPE_UNKNOWN) return ir_onnx_fail(n, "not implemented: the element type that output_dtype says");
  bool saturates = ir_onnx_int(n, "saturate", 1) != 0;
  if (!saturates && ir_is_float(dtype)) return ir_onnx_fail(n, "not implemented: saturate = 0");
  if (!ir_is_float(ir_type_dtype(x->type))) x = ir_onnx_cast(n, x, ir_type_dtype(scale->type));
  return ir_onnx_out(n, 0, quantize(n, x, scale, zero ? zero : zero_of(n, dtype), dtype, ir_onnx_int(n, "axis", 1)));
}

bool import_dequantize(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *scale = parameter(n, 1), *zero = ir_onnx_present(n, 2) ? parameter(n, 2) : NULL;
  if (!x || !scale || (ir_onnx_present(n, 2) && !zero) || !check_blocks(n)) return false;
  if (!zero) zero = zero_of(n, ir_type_dtype(x->type));
  ir_value *y = ir_build1(&n->im->b, IR_DEQUANTIZE, IR_OPERANDS(x, scale, zero),
                          IR_SET({"out_dtype", ir_attr_dtype(CONTEXT, ir_type_dtype(scale->type))}, {"axis", ir_attr_int(CONTEXT, ir_onnx_int(n, "axis", 1))}));
  return ir_onnx_out(n, 0, y);
}

/* The definition in ONNX's text: 256 steps from the least to the greatest element, 0 among them. */
bool import_dynamic_quantize(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  if (!x) return false;
  ir_value *zero = ir_onnx_number(n, x, 0), *most = ir_onnx_number(n, x, 255);
  ir_value *high = BUILD(IR_MAXIMUM, ir_onnx_reduce(n, IR_MAX, x, 0, NULL, false), zero);
  ir_value *low = BUILD(IR_MINIMUM, ir_onnx_reduce(n, IR_MIN, x, 0, NULL, false), zero);
  ir_value *scale = BUILD(IR_DIVIDE, BUILD(IR_SUBTRACT, high, low), most);
  ir_value *at = BUILD(IR_MINIMUM, BUILD(IR_MAXIMUM, BUILD(IR_SUBTRACT, zero, BUILD(IR_DIVIDE, low, scale)), zero), most);
  ir_value *point = ir_onnx_cast(n, BUILD(IR_ROUND, at), IR_U8);
  return ir_onnx_out(n, 0, quantize(n, x, scale, point, IR_U8, 0)) && ir_onnx_out(n, 1, scale) && ir_onnx_out(n, 2, point);
}

/* PART, a number or a vector, which runs along the axis that has BEHIND others behind it. */
static ir_value *along(ir_onnx_node *n, ir_value *part, size_t behind) {
  const ir_expr *dims[8];
  int rank = part ? ir_onnx_rank(n, part) : -1;
  if (rank <= 0 || !behind) return rank < 0 ? NULL : part;
  if (!ir_onnx_dim(part, 0) || behind >= ir_count_of(dims)) return ir_onnx_fail(n, "not implemented: scales or zero points of unknown number"), NULL;
  for (size_t i = 0; i <= behind; i++) dims[i] = i ? ir_expr_i64(CONTEXT, 1) : ir_onnx_dim(part, 0);
  return ir_onnx_reshape(n, part, behind + 1, dims);
}

/* Input I less the zero point that input ZERO is, in i32; a vector of zero points as `along`. */
static ir_value *difference(ir_onnx_node *n, size_t i, size_t zero, size_t behind) {
  ir_value *x = ir_onnx_cast(n, ir_onnx_in(n, i), IR_I32);
  if (!x || !ir_onnx_present(n, zero)) return x;
  ir_value *point = along(n, parameter(n, zero), behind);
  return point ? BUILD(IR_SUBTRACT, x, ir_onnx_cast(n, point, IR_I32)) : NULL;
}

/* How many axes a weight has behind that of the output channels; 0 after a report. */
static size_t weight_axes(ir_onnx_node *n, size_t i) {
  ir_value *weight = ir_onnx_in(n, i);
  int rank = weight ? ir_onnx_rank(n, weight) : -1;
  return rank > 0 ? (size_t)rank - 1 : 0;
}

bool import_matmul_integer(ir_onnx_node *n) {
  ir_value *a = difference(n, 0, 2, 1), *b = difference(n, 1, 3, 0);
  return a && b && ir_onnx_out(n, 0, BUILD(IR_MATMUL, a, b));
}

/* An i32 product as numbers, quantized anew. */
static ir_value *requantized(ir_onnx_node *n, ir_value *product, ir_value *a_scale, ir_value *b_scale, ir_value *scale, ir_value *zero) {
  ir_dtype dtype = ir_type_dtype(scale->type);
  ir_value *number = ir_onnx_cast(n, product, dtype);
  ir_value *real = number ? BUILD(IR_MULTIPLY, number, BUILD(IR_MULTIPLY, ir_onnx_cast(n, a_scale, dtype), ir_onnx_cast(n, b_scale, dtype))) : NULL;
  return quantize(n, real, scale, zero, ir_type_dtype(zero->type), -1);
}

bool import_qlinear_matmul(ir_onnx_node *n) {
  ir_value *a = difference(n, 0, 2, 1), *b = difference(n, 3, 5, 0);
  ir_value *a_scale = parameter(n, 1), *b_scale = parameter(n, 4), *scale = parameter(n, 6), *zero = parameter(n, 7);
  if (!a || !b || !a_scale || !b_scale || !scale || !zero) return false;
  if (a_scale->type->count) return ir_onnx_fail(n, "not implemented: a scale for each row of a");
  return ir_onnx_out(n, 0, requantized(n, BUILD(IR_MATMUL, a, b), a_scale, b_scale, scale, zero));
}

/* Padding is the zero point of x: the difference 0. */
bool import_conv_integer(ir_onnx_node *n) {
  ir_value *zero = ir_onnx_present(n, 2) ? parameter(n, 2) : NULL;
  if (zero && ir_is_tensor(zero->type) && zero->type->count) return ir_onnx_fail(n, "not implemented: a scale or zero point for each channel of x");
  ir_value *x = difference(n, 0, 2, 0), *weight = difference(n, 1, 3, weight_axes(n, 1));
  return x && weight && ir_onnx_out(n, 0, ir_onnx_conv(n, x, weight));
}

bool import_qlinear_conv(ir_onnx_node *n) {
  size_t behind = weight_axes(n, 3);
  ir_value *x_scale = parameter(n, 1), *x_zero = parameter(n, 2), *scale = parameter(n, 6), *zero = parameter(n, 7);
  ir_value *weight_scale = behind ? along(n, parameter(n, 4), behind - 1) : NULL;
  if (!x_scale || !x_zero || !weight_scale || !scale || !zero) return false;
  if (x_scale->type->count || x_zero->type->count) return ir_onnx_fail(n, "not implemented: a scale or zero point for each channel of x");
  ir_value *x = difference(n, 0, 2, 0), *weight = difference(n, 3, 5, behind);
  ir_value *y = x && weight ? ir_onnx_conv(n, x, weight) : NULL;
  if (y && ir_onnx_present(n, 8)) {
    ir_value *bias = along(n, ir_onnx_in(n, 8), behind - 1);
    y = bias ? BUILD(IR_ADD, y, bias) : NULL;
  }
  return y && ir_onnx_out(n, 0, requantized(n, y, x_scale, weight_scale, scale, zero));
}

bool import_cast_like(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *like = ir_onnx_in(n, 1);
  ir_onnx_ignore(n, "saturate");
  return x && like && ir_onnx_out(n, 0, ir_onnx_cast(n, x, ir_type_dtype(like->type)));
}
