// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_norm.c - normalization and softmax. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)
#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)

enum { MOST_AXES = 64 };

static const ir_attr *epsilon(ir_onnx_node *n) { return ir_attr_float(CONTEXT, ir_onnx_float(n, "epsilon", 1e-5)); }

/* [FROM, RANK) */
static const ir_attr *axes_from(ir_onnx_node *n, int from, int rank) {
  int64_t axes[MOST_AXES];
  for (int i = from; i < rank; i++) axes[i - from] = i;
  return ir_attr_ints(CONTEXT, (size_t)(rank - from), axes);
}

/* FACTOR * a + (1 - FACTOR) * b */
static ir_value *blend(ir_onnx_node *n, double factor, ir_value *a, ir_value *b) {
  ir_value *x = BUILD(IR_MULTIPLY, a, ir_onnx_number(n, a, factor)), *y = BUILD(IR_MULTIPLY, b, ir_onnx_number(n, b, 1 - factor));
  return BUILD(IR_ADD, x, y);
}

/* ONNX moves the variance by the biased one, so what moves is written out; the result is that of inference with the
 * statistics of x. */
static bool train(ir_onnx_node *n, ir_value *parts[5], double momentum, ir_value *moved[2]) {
  int rank = ir_onnx_rank(n, parts[0]);
  int64_t axes[MOST_AXES];
  size_t count = 0;
  if (rank < 2 || rank > MOST_AXES) return rank < 0 ? false : ir_onnx_fail(n, "an input of rank %d, expected at least 2", rank);
  for (int i = 0; i < rank; i++) {
    if (i != 1) axes[count++] = i;
  }
  ir_value *fresh[2] = {ir_onnx_reduce(n, IR_MEAN, parts[0], count, axes, false), ir_onnx_reduce(n, IR_VARIANCE, parts[0], count, axes, false)};
  for (size_t i = 0; i < 2; i++) {
    moved[i] = blend(n, momentum, parts[3 + i], fresh[i]);
    parts[3 + i] = fresh[i];
    if (!moved[i]) return false;
  }
  return true;
}

bool import_batch_norm(ir_onnx_node *n) {
  ir_value *parts[5], *moved[2];
  double momentum = ir_onnx_float(n, "momentum", 0.9);
  ir_onnx_ignore(n, "consumed_inputs");
  /* Models from before training_mode come with the outputs of training where they train. */
  bool outputs = ir_onnx_wants(n, 1) || ir_onnx_wants(n, 2), training = ir_onnx_int(n, "training_mode", 0) != 0;
  ir_onnx_ignore(n, "is_test");
  if (!ir_onnx_int(n, "spatial", 1)) return ir_onnx_fail(n, "not implemented: spatial = 0");
  if ((outputs && n->im->opset < 14) || ir_onnx_wants(n, 3)) return ir_onnx_fail(n, "not implemented: the outputs of training before opset 14");
  if (outputs && !training) return ir_onnx_fail(n, "the outputs of training without training_mode");
  for (size_t i = 0; i < 5; i++) {
    parts[i] = ir_onnx_in(n, i);
    if (!parts[i]) return false;
  }
  if (training && !train(n, parts, momentum, moved)) return false;
  ir_op *op = ir_build(&n->im->b, IR_NN_BATCH_NORM, parts, 5, IR_SET({"epsilon", epsilon(n)}));
  for (size_t i = 0; i < 2; i++) {
    if (ir_onnx_wants(n, 1 + i) && !ir_onnx_out(n, 1 + i, moved[i])) return false;
  }
  return op && ir_onnx_out(n, 0, ir_op_result(op, 0));
}

/* Results 1 and 2 are what the normalization used: the mean and 1 / sqrt(variance + epsilon), in f32. */
static bool layer_statistics(ir_onnx_node *n, ir_value *x, const ir_attr *axes) {
  if (!ir_onnx_wants(n, 1) && !ir_onnx_wants(n, 2)) return true;
  const ir_attr *keep = ir_attr_bool(CONTEXT, true);
  if (ir_type_dtype(x->type) != IR_F32) x = ir_build1(&n->im->b, IR_ASTYPE, IR_OPERANDS(x), IR_SET({"dtype", ir_attr_dtype(CONTEXT, IR_F32)}));
  ir_value *mean = ir_build1(&n->im->b, IR_MEAN, IR_OPERANDS(x), IR_SET({"axis", axes}, {"keepdims", keep}));
  ir_value *variance = ir_build1(&n->im->b, IR_VARIANCE, IR_OPERANDS(x), IR_SET({"axis", axes}, {"keepdims", keep}));
  if (ir_onnx_wants(n, 1) && !ir_onnx_out(n, 1, mean)) return false;
  if (!ir_onnx_wants(n, 2)) return true;
  ir_value *deviation = BUILD(IR_SQRT, BUILD(IR_ADD, variance, ir_onnx_number(n, variance, ir_onnx_float(n, "epsilon", 1e-5))));
  return ir_onnx_out(n, 2, BUILD(IR_DIVIDE, ir_onnx_number(n, deviation, 1), deviation));
}

bool import_layer_norm(ir_onnx_node *n) {
  ir_value *parts[3] = {ir_onnx_in(n, 0), ir_onnx_in(n, 1)};
  int rank = ir_onnx_rank(n, parts[0]);
  if (rank < 0 || !parts[1]) return false;
  int axis = ir_onnx_axis(n, ir_onnx_int(n, "axis", -1), rank);
  if (ir_onnx_int(n, "stash_type", 1) != 1) return ir_onnx_fail(n, "not implemented: a stash_type other than f32");
  if (axis < 0 || rank > MOST_AXES) return false;
  size_t count = ir_onnx_present(n, 2) ? 3 : 2;
  if (count == 3) parts[2] = ir_onnx_in(n, 2);
  const ir_attr *axes = axes_from(n, axis, rank);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_NN_LAYER_NORM, parts, count, IR_SET({"axes", axes}, {"epsilon", epsilon(n)}))) &&
         layer_statistics(n, parts[0], axes);
}

bool import_instance_norm(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *scale = ir_onnx_in(n, 1), *bias = ir_onnx_in(n, 2);
  ir_onnx_ignore(n, "consumed_inputs");
  int rank = ir_onnx_rank(n, x);
  if (rank < 3 || rank > MOST_AXES) return rank < 0 ? false : ir_onnx_fail(n, "an input of rank %d, expected at least 3", rank);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_NN_INSTANCE_NORM, IR_OPERANDS(x, scale, bias), IR_SET({"axes", axes_from(n, 2, rank)}, {"epsilon", epsilon(n)})));
}

/* Before opset 21 scale and bias are those of groups: repeated for the channels of each. */
static ir_value *for_channels(ir_onnx_node *n, ir_value *part, const ir_expr *channels, int64_t groups) {
  if (!part || n->im->opset >= 21) return part;
  const ir_expr *count = ir_expr_i64(CONTEXT, groups), *one = ir_expr_i64(CONTEXT, 1);
  const ir_expr *each = ir_simplify(CONTEXT, NULL, ir_expr_binary(CONTEXT, IR_S_FLOORDIV, channels, count));
  const ir_expr *column[] = {count, one}, *table[] = {count, each}, *row[] = {channels};
  part = ir_onnx_reshape(n, part, 2, column);
  part = ir_build1(&n->im->b, IR_BROADCAST_TO, IR_OPERANDS(part), IR_SET({"shape", ir_attr_dims(CONTEXT, 2, table)}));
  return part ? ir_onnx_reshape(n, part, 1, row) : NULL;
}

bool import_group_norm(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *scale = ir_onnx_in(n, 1), *bias = ir_onnx_in(n, 2);
  int rank = ir_onnx_rank(n, x);
  int64_t groups = ir_onnx_int(n, "num_groups", 0);
  if (rank < 3 || rank > MOST_AXES) return rank < 0 ? false : ir_onnx_fail(n, "an input of rank %d, expected at least 3", rank);
  if (ir_onnx_int(n, "stash_type", 1) != 1) return ir_onnx_fail(n, "not implemented: a stash_type other than f32");
  if (!ir_onnx_dim(x, 1)) return ir_onnx_fail(n, "needs a known number of channels");
  scale = for_channels(n, scale, ir_onnx_dim(x, 1), groups);
  bias = for_channels(n, bias, ir_onnx_dim(x, 1), groups);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_NN_GROUP_NORM, IR_OPERANDS(x, scale, bias),
                                     IR_SET({"num_groups", ir_attr_int(CONTEXT, groups)}, {"axes", axes_from(n, 2, rank)}, {"epsilon", epsilon(n)})));
}

/* (x - mean) / (deviation + 1e-9) */
bool import_mean_variance_norm(ir_onnx_node *n) {
  static const int64_t usual[] = {0, 2, 3};
  size_t count;
  const int64_t *axes = ir_onnx_ints(n, "axes", &count);
  if (!axes) axes = usual, count = ir_count_of(usual);
  if (!count) return ir_onnx_fail(n, "not implemented: no axes");
  ir_value *x = ir_onnx_in(n, 0), *mean = ir_onnx_reduce(n, IR_MEAN, x, count, axes, true), *deviation = ir_onnx_reduce(n, IR_STD, x, count, axes, true);
  deviation = BUILD(IR_ADD, deviation, ir_onnx_number(n, deviation, 1e-9));
  return ir_onnx_out(n, 0, BUILD(IR_DIVIDE, BUILD(IR_SUBTRACT, x, mean), deviation));
}

/* One at the first of the greatest elements, zeros elsewhere. */
static ir_value *hardmax(ir_onnx_node *n, ir_value *x, const ir_attr *axis) {
  const ir_expr *depth = ir_onnx_dim(x, (size_t)axis->i);
  if (!depth) {
    ir_onnx_fail(n, "needs known extents");
    return NULL;
  }
  ir_value *at = ir_build1(&n->im->b, IR_ARGMAX, IR_OPERANDS(x), IR_SET({"axis", axis}));
  return ir_build1(&n->im->b, IR_ONE_HOT, IR_OPERANDS(at, ir_onnx_number(n, x, 1), ir_onnx_number(n, x, 0)), IR_SET({"depth", ir_attr_expr(CONTEXT, depth)}, {"axis", axis}));
}

bool import_softmax(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  bool flat = n->im->opset < 13;
  int axis = ir_onnx_axis(n, ir_onnx_int(n, "axis", flat ? 1 : -1), rank);
  if (axis < 0) return false;
  bool direct = !flat || axis == rank - 1;
  ir_value *y = x;
  if (!direct) {
    const ir_expr *dims[] = {ir_onnx_dims_product(n, x, 0, (size_t)axis), ir_onnx_dims_product(n, x, (size_t)axis, (size_t)rank)};
    y = ir_onnx_reshape(n, x, 2, dims);
  }
  const ir_attr *along = ir_attr_int(CONTEXT, direct ? axis : 1);
  bool hard = n->row->code == IR_ONE_HOT;
  if (y) y = hard ? hardmax(n, y, along) : ir_build1(&n->im->b, n->row->code, IR_OPERANDS(y), IR_SET({"axis", along}));
  if (y && !direct) y = ir_onnx_reshape(n, y, (size_t)rank, ir_type_dims(x->type));
  return ir_onnx_out(n, 0, y);
}
