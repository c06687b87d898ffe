// SPDX-License-Identifier: Apache-2.0
/* ir/infer_norm.c - inference of normalization and softmax. Needs ir/infer_dims. */
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"

/* A vector with an entry for each channel. */
static bool check_channels(ir_infer *in, size_t operand, const ir_expr **channels) {
  ir_view view = ir_infer_view(in, operand);
  if (!ir_infer_wants_rank(in, operand, 1)) return false;
  if (!view.ranked) return true;
  const char *what = ir_arena_printf(in->scratch, "extent of '%s'", ir_infer_operand_name(in, operand));
  if (!ir_infer_wants_extent(in, what, view.dims[0], *channels)) return false;
  bool clash = false;
  *channels = ir_infer_equal_dims(in, *channels, view.dims[0], &clash);
  return true;
}

/* The unbiased variance of one value is 0 / 0. */
static bool check_training(ir_infer *in, const ir_view *x, size_t axis) {
  const ir_expr *count = ir_infer_i64(in, 1);
  for (size_t i = 0; i < x->rank && count; i++) {
    if (i != axis) count = x->dims[i] ? ir_dim_mul(in->context, in->facts, count, x->dims[i]) : NULL;
  }
  if (!count) return true;
  if (!ir_dim_is(count, 1)) {
    ir_infer_need(in, ir_expr_binary(in->context, IR_S_NE, count, ir_infer_i64(in, 1)));
    return true;
  }
  return ir_infer_fail(in, "training needs more than one value for each channel, operand 'x' has shape %s", ir_infer_shape_text(in, x));
}

bool infer_batch_norm(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  const ir_expr *channels = NULL;
  size_t axis = 0;
  ir_dtype dtype;
  if (!ir_infer_same_dtype(in, 0, 4, &dtype)) return false;
  if (x.ranked && !ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  if (x.ranked) channels = x.dims[axis];
  for (size_t i = 1; i <= 4; i++) {
    if (!check_channels(in, i, &channels)) return false;
  }
  if (x.ranked && ir_infer_bool(in, "training") && !check_training(in, &x, axis)) return false;
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x.rank);
  if (x.rank) memcpy(dims, x.dims, x.rank * sizeof *dims);
  if (x.ranked && !dims[axis]) dims[axis] = channels;
  ir_view result = {.ranked = x.ranked, .rank = x.rank, .dims = dims};
  return ir_infer_tensor(in, dtype, &result) && ir_infer_ranked(in, dtype, 1, &channels) && ir_infer_ranked(in, dtype, 1, &channels);
}

bool infer_softmax(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  size_t axis;
  if (x.ranked && !ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  return ir_infer_tensor(in, x.dtype, &x);
}

bool infer_prelu(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), slope = ir_infer_view(in, 1);
  ir_dtype dtype;
  size_t axis = 0;
  if (!ir_infer_same_dtype(in, 0, 1, &dtype)) return false;
  bool one = slope.ranked && (!slope.rank || (slope.rank == 1 && ir_dim_is(slope.dims[0], 1)));
  if (!one && !ir_infer_wants_rank(in, 1, 1)) return false;
  if (!one && x.ranked && !ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  bool check = !one && x.ranked && slope.ranked;
  if (check && !ir_infer_wants_extent(in, "extent of 'slope'", slope.dims[0], x.dims[axis])) return false;
  return ir_infer_tensor(in, dtype, &x);
}

/* Attribute `axes`: ascending, so that the axes of a parameter stand in the order of those of the operand. */
static bool take_axes(ir_infer *in, const ir_view *x, size_t *axes) {
  size_t count = ir_infer_count(in, "axes");
  if (!count) return ir_infer_fail(in, "attribute 'axes' is empty");
  for (size_t i = 0; i < count && x->ranked; i++) {
    if (!ir_infer_axis(in, ir_infer_int_at(in, "axes", i), x->rank, &axes[i])) return false;
    if (i && axes[i] <= axes[i - 1]) return ir_infer_fail(in, "attribute 'axes' holds axis %zu after %zu, expected ascending axes", axes[i], axes[i - 1]);
  }
  return true;
}

/* Layer and root mean square normalization: the parameters have the extents that are normalized. */
bool infer_layer_norm(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  ir_dtype dtype;
  size_t count = ir_infer_count(in, "axes"), *axes = ir_new_array(in->scratch, size_t, count + 1);
  if (!ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype) || !take_axes(in, &x, axes)) return false;
  bool scales = in->code == IR_NN_LAYER_NORM && ir_infer_bool(in, "scale");
  if (scales && in->operand_count < 2) return ir_infer_fail(in, "operand 'gamma' is missing, expected unless 'scale' is false");
  for (size_t i = 1; i < in->operand_count; i++) {
    ir_view part = ir_infer_view(in, i);
    if (!ir_infer_wants_rank(in, i, count)) return false;
    for (size_t k = 0; k < count && x.ranked && part.ranked; k++) {
      const char *what = ir_arena_printf(in->scratch, "extent %zu of '%s'", k, ir_infer_operand_name(in, i));
      if (!ir_infer_wants_extent(in, what, part.dims[k], x.dims[axes[k]])) return false;
    }
  }
  return ir_infer_tensor(in, dtype, &x);
}

/* Group and instance normalization: the parameters run along the channels, which `axes` does not hold. */
static bool channel_norm(ir_infer *in, int64_t groups) {
  ir_view x = ir_infer_view(in, 0);
  ir_dtype dtype;
  size_t count = ir_infer_count(in, "axes"), *axes = ir_new_array(in->scratch, size_t, count + 1), channel = 0;
  if (!ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype) || !take_axes(in, &x, axes)) return false;
  if (x.ranked && !ir_infer_axis(in, ir_infer_int(in, "channel_axis"), x.rank, &channel)) return false;
  for (size_t i = 0; i < count && x.ranked; i++) {
    if (axes[i] == channel) return ir_infer_fail(in, "attribute 'axes' holds axis %zu, that of the channels", channel);
  }
  const ir_expr *channels = x.ranked ? x.dims[channel] : NULL;
  for (size_t i = 1; i < in->operand_count; i++) {
    if (!check_channels(in, i, &channels)) return false;
  }
  if (groups < 1) return ir_infer_fail(in, "attribute 'num_groups' is %lld, expected at least 1", (long long)groups);
  int64_t extent;
  if (ir_dim_const(channels, &extent) && extent % groups) {
    return ir_infer_fail(in, "%lld channels do not divide into %lld groups", (long long)extent, (long long)groups);
  }
  if (channels && groups > 1) {
    const ir_expr *rest = ir_expr_binary(in->context, IR_S_FLOORMOD, channels, ir_infer_i64(in, groups));
    ir_infer_need(in, ir_expr_binary(in->context, IR_S_EQ, rest, ir_infer_i64(in, 0)));
  }
  return ir_infer_tensor(in, dtype, &x);
}

bool infer_instance_norm(ir_infer *in) { return channel_norm(in, 1); }

bool infer_group_norm(ir_infer *in) { return channel_norm(in, ir_infer_int(in, "num_groups")); }
