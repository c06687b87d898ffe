// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose_norm.c - statistics and normalization made of means, differences and quotients. Everything is
 * computed in f32 where the operands are narrower, and rounded once at the end. Variances take two passes: the mean of
 * squares of differences, which large means do not spoil. */
#include "passes/lower/compose.h"

#include "base/vec.h"

/* Axes of an operand of rank RANK, ascending. */
struct axes {
  int64_t at[IR_LOWER_AXES];
  size_t count;
};

static struct axes axes_of(const ir_op *op, const char *name, size_t rank) {
  struct axes axes = {.count = 0};
  bool marked[IR_LOWER_AXES] = {0};
  for (size_t i = 0; i < ir_get_count(op, name); i++) {
    int64_t axis = ir_get_int_at(op, name, i);
    marked[axis < 0 ? axis + (int64_t)rank : axis] = true;
  }
  for (size_t i = 0; i < rank; i++) {
    if (marked[i] || !ir_has_attr(op, name)) axes.at[axes.count++] = (int64_t)i;
  }
  return axes;
}

static ir_value *add_epsilon(ir_builder *b, ir_value *value, const ir_op *op) {
  return value ? IR_MAKE(b, IR_ADD, value, ir_make_number(b, ir_type_dtype(value->type), ir_get_float(op, "epsilon"))) : NULL;
}

/* x - mean, over AXES. */
static ir_value *centered(ir_builder *b, ir_value *x, const struct axes *axes) {
  return IR_MAKE(b, IR_SUBTRACT, x, ir_make_reduced(b, IR_MEAN, x, axes->count, axes->at));
}

/* A parameter that runs along AXES of X, in X's dtype. */
static ir_value *parameter(ir_builder *b, const ir_op *op, size_t operand, const ir_value *x, const struct axes *axes) {
  ir_value *part = ir_op_operand(op, operand);
  if (!x || ir_compose_rank(op, operand) < 0) return NULL;
  for (size_t i = 0; i < axes->count; i++) part = ir_make_extent(b, part, i, ir_type_dim(x->type, (size_t)axes->at[i]));
  return ir_make_along(b, op, ir_make_cast(b, part, ir_type_dtype(x->type)), x->type->count, axes->count, axes->at);
}

/* y * gamma + beta, as the attributes ask. */
static ir_value *scaled(ir_builder *b, const ir_op *op, ir_value *y, const struct axes *axes) {
  if (ir_get_bool(op, "scale")) y = IR_MAKE(b, IR_MULTIPLY, y, parameter(b, op, 1, y, axes));
  bool center = ir_get_bool(op, "center") && op->operand_count > 2;
  return center ? IR_MAKE(b, IR_ADD, y, parameter(b, op, 2, y, axes)) : y;
}

static ir_value *wide_operand(ir_builder *b, const ir_op *op) {
  ir_value *x = ir_op_operand(op, 0);
  return ir_make_cast(b, x, ir_lower_wide(ir_type_dtype(x->type)));
}

static bool finish(ir_builder *b, ir_op *op, ir_value *y) {
  return IR_COMPOSED(b, op, ir_make_cast(b, y, ir_type_dtype(ir_op_result(op, 0)->type)));
}

/* The axis of channels becomes two, groups and what is in a group; the latter is normalized over with AXES. */
bool decompose_group_norm(ir_builder *b, ir_op *op) {
  ir_context *context = b->module->context;
  int rank = ir_compose_rank(op, 0);
  if (rank < 0) return false;
  if (rank == IR_LOWER_AXES) {
    ir_error(context->diags, op->range, "%s: not implemented: an operand of %d axes, at most %d", ir_op_row(op)->name, rank, rank - 1);
    return false;
  }
  const ir_type *type = ir_op_operand(op, 0)->type;
  size_t at = ir_lower_normal_axis(op, "channel_axis", (size_t)rank);
  struct axes axes = axes_of(op, "axes", (size_t)rank), inner = {.count = 0}, channel = {{(int64_t)at}, 1}, all = {{0}, 0};
  for (int i = 0; i < rank; i++) all.at[all.count++] = i;
  if (!ir_compose_elements(op, type, all.count, all.at)) return false;
  const ir_expr *dims[IR_LOWER_AXES], *groups = ir_expr_i64(context, ir_get_int(op, "num_groups"));
  for (size_t i = 0; i < (size_t)rank; i++) dims[i + (i > at)] = ir_type_dim(type, i);
  dims[at] = groups;
  dims[at + 1] = ir_simplify(context, ir_func_facts(ir_op_func(op)), ir_expr_binary(context, IR_S_FLOORDIV, ir_type_dim(type, at), groups));
  for (size_t i = 0; i < axes.count && axes.at[i] < (int64_t)at; i++) inner.at[inner.count++] = axes.at[i];
  inner.at[inner.count++] = (int64_t)at + 1;
  for (size_t i = inner.count - 1; i < axes.count; i++) inner.at[inner.count++] = axes.at[i] + 1;
  const ir_attr *over = ir_attr_ints(context, inner.count, inner.at), *no = ir_attr_bool(context, false);
  ir_value *x = ir_make_reshape(b, wide_operand(b, op), (size_t)rank + 1, dims);
  ir_value *y = ir_build1(b, IR_NN_LAYER_NORM, IR_OPERANDS(x), IR_SET({"axes", over}, {"epsilon", ir_get(op, "epsilon")}, {"scale", no}, {"center", no}));
  return finish(b, op, scaled(b, op, ir_make_reshape(b, y, (size_t)rank, ir_type_dims(type)), &channel));
}

/* The sum of squares of differences from the mean, by the number of elements less `correction`. */
bool decompose_variance(ir_builder *b, ir_op *op) {
  int rank = ir_compose_rank(op, 0);
  if (rank < 0) return false;
  const ir_type *type = ir_op_operand(op, 0)->type;
  struct axes axes = axes_of(op, "axis", (size_t)rank);
  ir_value *x = centered(b, wide_operand(b, op), &axes), *square = IR_MAKE(b, IR_MULTIPLY, x, x);
  const ir_expr *count = x ? ir_compose_elements(op, type, axes.count, axes.at) : NULL;
  if (!count) return false;
  ir_context *context = b->module->context;
  ir_dtype wide = ir_type_dtype(x->type);
  const ir_attr *axis = ir_attr_ints(context, axes.count, axes.at), *keep = ir_get(op, "keepdims");
  const ir_expr *free = ir_expr_binary(context, IR_S_SUB, count, ir_expr_i64(context, ir_get_int(op, "correction")));
  free = ir_simplify(context, ir_func_facts(ir_op_func(op)), ir_expr_binary(context, IR_S_MAX, free, ir_expr_i64(context, 0)));
  ir_value *y = ir_build1(b, IR_SUM, IR_OPERANDS(square), IR_SET({"axis", axis}, {"keepdims", keep}));
  y = IR_MAKE(b, IR_DIVIDE, y, ir_make_count(b, wide, free));
  return finish(b, op, ir_is(op, IR_STD) ? IR_MAKE(b, IR_SQRT, y) : y);
}

/* (1 - momentum) * old + momentum * new. */
static ir_value *moved(ir_builder *b, const ir_op *op, ir_value *old, ir_value *fresh) {
  ir_dtype wide = ir_type_dtype(old->type);
  double momentum = ir_get_float(op, "momentum");
  ir_value *kept = IR_MAKE(b, IR_MULTIPLY, old, ir_make_number(b, wide, 1 - momentum));
  return IR_MAKE(b, IR_ADD, kept, IR_MAKE(b, IR_MULTIPLY, fresh, ir_make_number(b, wide, momentum)));
}

/* What training takes from x: the mean and the biased variance, and the moving ones with the unbiased variance. A channel
 * of one value, which inference refuses where it sees it, has the variance 0 / 1. */
static bool batch_statistics(ir_builder *b, ir_op *op, ir_value *x, size_t axis, ir_value *mean[2], ir_value *moving[2]) {
  ir_context *context = b->module->context;
  struct axes others = {.count = 0};
  const ir_type *type = x->type;
  for (size_t i = 0; i < type->count; i++) {
    if (i != axis) others.at[others.count++] = (int64_t)i;
  }
  const ir_expr *count = ir_compose_elements(op, type, others.count, others.at);
  if (!count) return false;
  const ir_expr *one = ir_expr_i64(context, 1), *less = ir_expr_binary(context, IR_S_SUB, count, one);
  less = ir_simplify(context, ir_func_facts(ir_op_func(op)), ir_expr_binary(context, IR_S_MAX, less, one));
  const ir_attr *over = ir_attr_ints(context, others.count, others.at);
  ir_dtype wide = ir_type_dtype(type);
  ir_value *average = ir_build1(b, IR_MEAN, IR_OPERANDS(x), IR_SET({"axis", over}));
  ir_value *difference = IR_MAKE(b, IR_SUBTRACT, x, ir_make_along(b, op, average, type->count, 1, (const int64_t[]){(int64_t)axis}));
  ir_value *square = IR_MAKE(b, IR_MULTIPLY, difference, difference);
  ir_value *sum = ir_build1(b, IR_SUM, IR_OPERANDS(square), IR_SET({"axis", over}));
  mean[0] = average;
  mean[1] = IR_MAKE(b, IR_DIVIDE, sum, ir_make_count(b, wide, count));
  moving[0] = moved(b, op, moving[0], average);
  moving[1] = moved(b, op, moving[1], IR_MAKE(b, IR_DIVIDE, sum, ir_make_count(b, wide, less)));
  return mean[1] && moving[0] && moving[1];
}

/* (x - mean) / sqrt(variance + epsilon) * gamma + beta, the parameters along the axis of channels. */
bool decompose_batch_norm(ir_builder *b, ir_op *op) {
  int rank = ir_compose_rank(op, 0);
  if (rank < 0) return false;
  size_t axis = ir_lower_normal_axis(op, "axis", (size_t)rank);
  const ir_expr *channels = ir_compose_elements(op, ir_op_result(op, 1)->type, 1, (const int64_t[]){0});
  if (!channels) return false;
  ir_dtype dtype = ir_type_dtype(ir_op_result(op, 0)->type), wide = ir_lower_wide(dtype);
  ir_value *x = ir_make_cast(b, ir_make_extent(b, ir_op_operand(op, 0), axis, channels), wide), *parts[4], *moving[2], *statistics[2];
  for (size_t i = 0; i < 4; i++) {
    parts[i] = ir_make_cast(b, ir_make_extent(b, ir_op_operand(op, i + 1), 0, channels), wide);
    if (!parts[i]) return false;
  }
  bool training = ir_get_bool(op, "training");
  for (size_t i = 0; i < 2; i++) moving[i] = statistics[i] = parts[i + 2];
  if (!x || (training && !batch_statistics(b, op, x, axis, statistics, moving))) return false;
  const int64_t at[] = {(int64_t)axis};
  ir_value *y = IR_MAKE(b, IR_SUBTRACT, x, ir_make_along(b, op, statistics[0], (size_t)rank, 1, at));
  ir_value *deviation = IR_MAKE(b, IR_SQRT, add_epsilon(b, ir_make_along(b, op, statistics[1], (size_t)rank, 1, at), op));
  y = IR_MAKE(b, IR_DIVIDE, y, deviation);
  if (ir_get_bool(op, "scale")) y = IR_MAKE(b, IR_MULTIPLY, y, ir_make_along(b, op, parts[0], (size_t)rank, 1, at));
  if (ir_get_bool(op, "center")) y = IR_MAKE(b, IR_ADD, y, ir_make_along(b, op, parts[1], (size_t)rank, 1, at));
  ir_value *mean = training ? ir_make_cast(b, moving[0], dtype) : ir_op_operand(op, 3);
  ir_value *variance = training ? ir_make_cast(b, moving[1], dtype) : ir_op_operand(op, 4);
  return IR_COMPOSED(b, op, ir_make_cast(b, y, dtype), mean, variance);
}
