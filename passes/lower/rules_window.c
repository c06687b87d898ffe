// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_window.c - convolution and pooling over any number of axes. */
#include "passes/lower/lower.h"

enum { MOST_SPATIAL = 3 };

/* Before and after each axis, from one number, one an axis, or all before and then all after. */
static void padding_of(const ir_op *op, size_t spatial, int64_t before[MOST_SPATIAL], int64_t after[MOST_SPATIAL]) {
  size_t count = ir_get_count(op, "padding");
  for (size_t i = 0; i < spatial; i++) {
    before[i] = ir_get_int_at(op, "padding", count == 1 ? 0 : i);
    after[i] = ir_get_int_at(op, "padding", count == 1 ? 0 : count == spatial ? i : i + spatial);
  }
}

/* The entry for axis I of a list that has one for each, or one for all. */
static int64_t entry_at(const ir_op *op, const char *name, size_t i) {
  return ir_get_int_at(op, name, ir_get_count(op, name) == 1 ? 0 : i);
}

/* o * stride + k * dilation - pad */
static const ir_expr *tap(ir_nest_at *n, const ir_expr *o, const ir_expr *k, int64_t stride, int64_t dilation, int64_t pad) {
  const ir_expr *at = IR_ADD_(n, IR_MUL_(n, o, ir_lower_i64(n, stride)), IR_MUL_(n, k, ir_lower_i64(n, dilation)));
  return pad ? IR_SUB_(n, at, ir_lower_i64(n, pad)) : at;
}

static const ir_expr *compare(ir_nest_at *n, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_expr_binary(n->l->context, code, a, b);
}

/* The group of the output channel OC, of which there are PER_GROUP in each. */
static const ir_expr *group_of(const ir_lowering *l, const ir_expr *oc, const ir_expr *per_group) {
  int64_t value;
  return ir_expr_is_int(per_group, &value) && value == 1 ? oc : ir_expr_binary(l->context, IR_S_FLOORDIV, oc, per_group);
}

/* group * per_group + c */
static const ir_expr *channel_in(ir_nest_at *n, const ir_expr *group, const ir_expr *per_group, const ir_expr *c) {
  int64_t value;
  if (ir_expr_is_int(per_group, &value) && value == 1) return group;
  return IR_ADD_(n, IR_MUL_(n, group, per_group), c);
}

bool legalize_conv(ir_lowering *l) {
  const ir_op *op = l->op;
  const ir_type *x = ir_lower_type(l, 0), *w = ir_lower_type(l, 1), *result = ir_lower_result(l, 0);
  size_t rank = result->count, spatial = rank - 2, guards = 0;
  int64_t before[MOST_SPATIAL], after[MOST_SPATIAL], groups = ir_get_int(op, "groups");
  padding_of(op, spatial, before, after);
  ir_nest_at n = ir_lower_open(l, l->out[0], rank, ir_type_dims(result), rank - 1, ir_type_dims(w) + 1);
  const ir_expr *oc = ir_lower_axis(&n, 1), *ic = ir_lower_axis(&n, rank), *conditions[2 * MOST_SPATIAL];
  const ir_expr *ix[2 + MOST_SPATIAL] = {ir_lower_axis(&n, 0), ic}, *iw[2 + MOST_SPATIAL] = {oc, ic};
  for (size_t i = 0; i < spatial; i++) {
    iw[2 + i] = ir_lower_axis(&n, rank + 1 + i);
    ix[2 + i] = tap(&n, ir_lower_axis(&n, 2 + i), iw[2 + i], entry_at(op, "strides", i), entry_at(op, "dilation", i), before[i]);
    if (before[i]) conditions[guards++] = compare(&n, IR_S_GE, ix[2 + i], ir_lower_i64(&n, 0));
    if (after[i] || before[i]) conditions[guards++] = compare(&n, IR_S_LT, ix[2 + i], ir_type_dim(x, 2 + i));
  }
  ir_lower_where(&n, guards, conditions);
  if (groups > 1) {
    const ir_expr *per_group = ir_lower_int(&n, IR_S_FLOORDIV, ir_type_dim(w, 0), ir_lower_i64(&n, groups));
    ix[1] = channel_in(&n, group_of(l, oc, per_group), ir_type_dim(w, 1), ic);
  }
  ir_lower_store(&n, NULL, "dot", NULL, ir_lower_load(&n, l->in[0], ix), ir_lower_load(&n, l->in[1], iw));
  return true;
}

/* Element o gets x[i] * weight[k] from every tap with i * stride + k * dilation - before = o: those k for which
 * o + before - k * dilation is a multiple of the stride that x has. */
bool legalize_conv_transpose(ir_lowering *l) {
  const ir_op *op = l->op;
  const ir_type *x = ir_lower_type(l, 0), *w = ir_lower_type(l, 1), *result = ir_lower_result(l, 0);
  size_t rank = result->count, spatial = rank - 2, guards = 0;
  int64_t before[MOST_SPATIAL], after[MOST_SPATIAL], groups = ir_get_int(op, "groups");
  padding_of(op, spatial, before, after);
  const ir_expr *taps[1 + MOST_SPATIAL], *conditions[3 * MOST_SPATIAL];
  taps[0] = ir_simplify(l->context, NULL, ir_expr_binary(l->context, IR_S_FLOORDIV, ir_type_dim(w, 0), ir_expr_i64(l->context, groups)));
  for (size_t i = 0; i < spatial; i++) taps[1 + i] = ir_type_dim(w, 2 + i);
  ir_nest_at n = ir_lower_open(l, l->out[0], rank, ir_type_dims(result), rank - 1, taps);
  const ir_expr *oc = ir_lower_axis(&n, 1), *ic = ir_lower_axis(&n, rank), *channel = ic;
  const ir_expr *ix[2 + MOST_SPATIAL] = {ir_lower_axis(&n, 0)}, *iw[2 + MOST_SPATIAL] = {NULL, oc};
  if (groups > 1) {
    const ir_expr *group = group_of(l, oc, ir_type_dim(w, 1));
    channel = channel_in(&n, group, taps[0], ic);
    iw[1] = IR_SUB_(&n, oc, IR_MUL_(&n, group, ir_type_dim(w, 1)));
  }
  ix[1] = iw[0] = channel;
  for (size_t i = 0; i < spatial; i++) {
    const ir_expr *stride = ir_lower_i64(&n, entry_at(op, "strides", i)), *zero = ir_lower_i64(&n, 0), *k = ir_lower_axis(&n, rank + 1 + i);
    const ir_expr *at = IR_ADD_(&n, ir_lower_axis(&n, 2 + i), ir_lower_i64(&n, before[i]));
    at = IR_SUB_(&n, at, IR_MUL_(&n, k, ir_lower_i64(&n, entry_at(op, "dilation", i))));
    iw[2 + i] = k;
    ix[2 + i] = ir_lower_int(&n, IR_S_FLOORDIV, at, stride);
    conditions[guards++] = compare(&n, IR_S_GE, at, zero);
    conditions[guards++] = compare(&n, IR_S_EQ, ir_lower_int(&n, IR_S_FLOORMOD, at, stride), zero);
    conditions[guards++] = compare(&n, IR_S_LT, ix[2 + i], ir_type_dim(x, 2 + i));
  }
  ir_lower_where(&n, guards, conditions);
  ir_lower_store(&n, NULL, "dot", NULL, ir_lower_load(&n, l->in[0], ix), ir_lower_load(&n, l->in[1], iw));
  return true;
}

/* Opens a nest over pooling windows, with the conditions that keep taps inside. */
static ir_nest_at open_windows(ir_lowering *l, ir_value *target, const ir_expr **index) {
  const ir_op *op = l->op;
  const ir_type *x = ir_lower_type(l, 0), *result = ir_lower_result(l, 0);
  size_t rank = result->count, spatial = rank - 2, guards = 0;
  int64_t before[MOST_SPATIAL], after[MOST_SPATIAL];
  padding_of(op, spatial, before, after);
  const ir_expr *size[MOST_SPATIAL], *conditions[2 * MOST_SPATIAL];
  for (size_t i = 0; i < spatial; i++) size[i] = ir_expr_i64(l->context, entry_at(op, "pool_size", i));
  ir_nest_at n = ir_lower_open(l, target, rank, ir_type_dims(result), spatial, size);
  index[0] = ir_lower_axis(&n, 0);
  index[1] = ir_lower_axis(&n, 1);
  for (size_t i = 0; i < spatial; i++) {
    const ir_expr *o = ir_lower_axis(&n, 2 + i), *end = ir_type_dim(x, 2 + i);
    index[2 + i] = tap(&n, o, ir_lower_axis(&n, rank + i), entry_at(op, "strides", i), entry_at(op, "dilation", i), before[i]);
    if (before[i]) conditions[guards++] = compare(&n, IR_S_GE, index[2 + i], ir_lower_i64(&n, 0));
    if (before[i] || after[i] || ir_get_bool(op, "ceil_mode")) conditions[guards++] = compare(&n, IR_S_LT, index[2 + i], end);
  }
  ir_lower_where(&n, guards, conditions);
  return n;
}

bool legalize_max_pool(ir_lowering *l) {
  const ir_expr *index[2 + MOST_SPATIAL];
  ir_nest_at n = open_windows(l, l->out[0], index);
  ir_lower_store(&n, NULL, "max", NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

/* How many taps of the window at the result's place of axis I are elements, or in the padding where INCLUDE says so. */
static const ir_expr *taps_inside(ir_nest_at *y, size_t i, bool include) {
  const ir_op *op = y->l->op;
  size_t spatial = ir_lower_result(y->l, 0)->count - 2;
  int64_t before[MOST_SPATIAL], after[MOST_SPATIAL];
  padding_of(op, spatial, before, after);
  int64_t size = entry_at(op, "pool_size", i), dilation = entry_at(op, "dilation", i);
  const ir_expr *zero = ir_lower_i64(y, 0), *end = ir_type_dim(ir_lower_type(y->l, 0), 2 + i), *by = ir_lower_i64(y, dilation);
  const ir_expr *first = tap(y, ir_lower_axis(y, 2 + i), zero, entry_at(op, "strides", i), dilation, before[i]);
  if (include) end = IR_ADD_(y, end, ir_lower_i64(y, after[i]));
  const ir_expr *to = ir_lower_int(y, IR_S_MIN, ir_lower_int(y, IR_S_CEILDIV, IR_SUB_(y, end, first), by), ir_lower_i64(y, size));
  const ir_expr *from = include ? zero : ir_lower_int(y, IR_S_MAX, ir_lower_int(y, IR_S_CEILDIV, IR_SUB_(y, zero, first), by), zero);
  return ir_lower_int(y, IR_S_MAX, IR_SUB_(y, to, from), zero);
}

/* The nest that divides SUM by the number of elements in it; at its axes. */
static ir_nest_at open_means(ir_lowering *l, const ir_expr **at) {
  const ir_type *result = ir_lower_result(l, 0);
  ir_nest_at y = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 0, NULL);
  for (size_t i = 0; i < result->count; i++) at[i] = ir_lower_axis(&y, i);
  return y;
}

static void store_mean(ir_nest_at *y, ir_value *sum, const ir_expr *const *at, const ir_expr *count) {
  ir_context *context = y->l->context;
  const ir_expr *x = ir_lower_load(y, sum, at);
  ir_lower_store(y, NULL, NULL, NULL, ir_expr_binary(context, IR_S_DIV, x, ir_expr_cast(context, count, x->dtype)), NULL);
}

bool legalize_avg_pool(ir_lowering *l) {
  const ir_type *result = ir_lower_result(l, 0);
  const ir_expr *at[2 + MOST_SPATIAL];
  ir_dtype wide = ir_lower_wide(ir_type_dtype(result));
  ir_value *sum = ir_lower_temp(l, "sum", wide, result->count, ir_type_dims(result));
  ir_nest_at n = open_windows(l, sum, at);
  ir_lower_store(&n, NULL, "sum", "chain", ir_expr_cast(l->context, ir_lower_load(&n, l->in[0], at), wide), NULL);
  ir_nest_at y = open_means(l, at);
  const ir_expr *count = ir_lower_i64(&y, 1);
  for (size_t i = 0; i + 2 < result->count; i++) count = IR_MUL_(&y, count, taps_inside(&y, i, ir_get_bool(l->op, "count_include_pad")));
  store_mean(&y, sum, at, count);
  return true;
}

/* Where the window of the result's axis I begins, and how many elements it has. */
static void adaptive_window(ir_nest_at *n, size_t i, const ir_expr **begin, const ir_expr **length) {
  const ir_expr *o = ir_lower_axis(n, i), *in = ir_type_dim(ir_lower_type(n->l, 0), i), *out = ir_type_dim(ir_lower_result(n->l, 0), i);
  *begin = ir_lower_int(n, IR_S_FLOORDIV, IR_MUL_(n, o, in), out);
  const ir_expr *end = ir_lower_int(n, IR_S_CEILDIV, IR_MUL_(n, IR_ADD_(n, o, ir_lower_i64(n, 1)), in), out);
  *length = IR_SUB_(n, end, *begin);
}

bool legalize_adaptive_avg_pool(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *result = ir_lower_result(l, 0);
  size_t rank = result->count, spatial = rank - 2;
  ir_dtype wide = ir_lower_wide(ir_type_dtype(result));
  ir_value *sum = ir_lower_temp(l, "sum", wide, rank, ir_type_dims(result));
  const ir_expr *longest[MOST_SPATIAL], *conditions[MOST_SPATIAL], *at[2 + MOST_SPATIAL], *begin, *length;
  for (size_t i = 0; i < spatial; i++) {
    const ir_expr *most = ir_expr_binary(l->context, IR_S_CEILDIV, ir_type_dim(x, 2 + i), ir_type_dim(result, 2 + i));
    longest[i] = ir_simplify(l->context, NULL, ir_expr_binary(l->context, IR_S_ADD, most, ir_expr_i64(l->context, 1)));
  }
  ir_nest_at n = ir_lower_open(l, sum, rank, ir_type_dims(result), spatial, longest);
  for (size_t i = 0; i < 2; i++) at[i] = ir_lower_axis(&n, i);
  for (size_t i = 0; i < spatial; i++) {
    adaptive_window(&n, 2 + i, &begin, &length);
    at[2 + i] = IR_ADD_(&n, begin, ir_lower_axis(&n, rank + i));
    conditions[i] = compare(&n, IR_S_LT, ir_lower_axis(&n, rank + i), length);
  }
  ir_lower_where(&n, spatial, conditions);
  ir_lower_store(&n, NULL, "sum", "chain", ir_expr_cast(l->context, ir_lower_load(&n, l->in[0], at), wide), NULL);
  ir_nest_at y = open_means(l, at);
  const ir_expr *count = ir_lower_i64(&y, 1);
  for (size_t i = 0; i < spatial; i++) {
    adaptive_window(&y, 2 + i, &begin, &length);
    count = IR_MUL_(&y, count, length);
  }
  store_mean(&y, sum, at, count);
  return true;
}
