// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_quantize.c - quantization, and products of quantized numbers: differences to zero points are products'
 * operands in i32. */
#include "frontends/onnx/importer.h"

#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)
#define CONTEXT (n->im->context)

static ir_value *cast(ir_onnx_node *n, ir_value *x, ir_dtype dtype) {
  if (!x || ir_type_dtype(x->type) == dtype) return x;
  return ir_build1(&n->im->b, IR_ASTYPE, IR_OPERANDS(x), IR_SET({"dtype", ir_attr_dtype(CONTEXT, dtype)}));
}

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
  if (!ir_is_float(ir_type_dtype(x->type))) x = cast(n, x, ir_type_dtype(scale->type));
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
  ir_value *point = cast(n, BUILD(IR_ROUND, at), IR_U8);
  return ir_onnx_out(n, 0, quantize(n, x, scale, point, IR_U8, 0)) && ir_onnx_out(n, 1, scale) && ir_onnx_out(n, 2, point);
}

/* Input I less the zero point that input ZERO is, in i32. ROWS: a vector of zero points runs along the last axis but one. */
static ir_value *difference(ir_onnx_node *n, size_t i, size_t zero, bool rows) {
  ir_value *x = cast(n, ir_onnx_in(n, i), IR_I32);
  if (!x || !ir_onnx_present(n, zero)) return x;
  ir_value *point = parameter(n, zero);
  int rank = point ? ir_onnx_rank(n, point) : -1;
  if (rank < 0) return NULL;
  const ir_expr *column[] = {rank ? ir_onnx_dim(point, 0) : NULL, ir_expr_i64(CONTEXT, 1)};
  if (rank && rows) point = column[0] ? ir_onnx_reshape(n, point, 2, column) : (ir_onnx_fail(n, "not implemented: zero points of unknown number"), NULL);
  return point ? BUILD(IR_SUBTRACT, x, cast(n, point, IR_I32)) : NULL;
}

bool import_matmul_integer(ir_onnx_node *n) {
  ir_value *a = difference(n, 0, 2, true), *b = difference(n, 1, 3, false);
  return a && b && ir_onnx_out(n, 0, BUILD(IR_MATMUL, a, b));
}

bool import_qlinear_matmul(ir_onnx_node *n) {
  ir_value *a = difference(n, 0, 2, true), *b = difference(n, 3, 5, false);
  ir_value *a_scale = parameter(n, 1), *b_scale = parameter(n, 4), *scale = parameter(n, 6), *zero = parameter(n, 7);
  if (!a || !b || !a_scale || !b_scale || !scale || !zero) return false;
  if (a_scale->type->count) return ir_onnx_fail(n, "not implemented: a scale for each row of a");
  ir_dtype dtype = ir_type_dtype(scale->type);
  ir_value *product = cast(n, BUILD(IR_MATMUL, a, b), dtype);
  ir_value *real = product ? BUILD(IR_MULTIPLY, product, BUILD(IR_MULTIPLY, cast(n, a_scale, dtype), cast(n, b_scale, dtype))) : NULL;
  return ir_onnx_out(n, 0, quantize(n, real, scale, zero, ir_type_dtype(zero->type), -1));
}

bool import_cast_like(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *like = ir_onnx_in(n, 1);
  ir_onnx_ignore(n, "saturate");
  return x && like && ir_onnx_out(n, 0, cast(n, x, ir_type_dtype(like->type)));
}
