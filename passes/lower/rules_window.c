// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_window.c - convolution and pooling over any number of axes. */
#include "passes/lower/lower.h"

static const ir_expr *one(const ir_lowering *l) { return ir_expr_i64(l->context, 1); }

/* [top, left, bottom, right] from one, two or four numbers. */
static void padding_of(const ir_op *op, int64_t pad[4]) {
  size_t count = ir_get_count(op, "padding");
  for (size_t i = 0; i < 4; i++) pad[i] = ir_get_int_at(op, "padding", count == 1 ? 0 : count == 2 ? i % 2 : i);
}

static int64_t pair_at(const ir_op *op, const char *name, size_t i) {
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

bool legalize_conv2d(ir_lowering *l) {
  const ir_op *op = l->op;
  const ir_type *x = ir_lower_type(l, 0), *w = ir_lower_type(l, 1), *result = ir_lower_result(l, 0);
  int64_t pad[4], groups = ir_get_int(op, "groups");
  padding_of(op, pad);
  const ir_expr *taps[3] = {ir_type_dim(w, 1), ir_type_dim(w, 2), ir_type_dim(w, 3)};
  ir_nest_at n = ir_lower_open(l, l->out[0], 4, ir_type_dims(result), 3, taps);
  const ir_expr *oc = ir_lower_axis(&n, 1), *ic = ir_lower_axis(&n, 4);
  const ir_expr *at[2], *conditions[4];
  size_t guards = 0;
  for (size_t i = 0; i < 2; i++) {
    at[i] = tap(&n, ir_lower_axis(&n, 2 + i), ir_lower_axis(&n, 5 + i), pair_at(op, "strides", i), pair_at(op, "dilation", i), pad[i]);
    if (pad[i]) conditions[guards++] = compare(&n, IR_S_GE, at[i], ir_lower_i64(&n, 0));
    if (pad[i + 2] || pad[i]) conditions[guards++] = compare(&n, IR_S_LT, at[i], ir_type_dim(x, 2 + i));
  }
  ir_lower_where(&n, guards, conditions);
  const ir_expr *channel = ic;
  if (groups > 1) {
    const ir_expr *per_group = ir_lower_int(&n, IR_S_FLOORDIV, ir_type_dim(w, 0), ir_lower_i64(&n, groups));
    const ir_expr *group = ir_expr_binary(l->context, IR_S_FLOORDIV, oc, per_group);
    int64_t value;
    if (ir_expr_is_int(per_group, &value) && value == 1) group = oc;
    channel = IR_ADD_(&n, IR_MUL_(&n, group, ir_type_dim(w, 1)), ic);
    if (ir_expr_is_int(ir_type_dim(w, 1), &value) && value == 1) channel = group;
  }
  const ir_expr *ix[] = {ir_lower_axis(&n, 0), channel, at[0], at[1]};
  const ir_expr *iw[] = {oc, ic, ir_lower_axis(&n, 5), ir_lower_axis(&n, 6)};
  ir_lower_store(&n, NULL, "dot", NULL, ir_lower_load(&n, l->in[0], ix), ir_lower_load(&n, l->in[1], iw));
  return true;
}

/* Opens a nest over pooling windows, with the conditions that keep taps inside; INCLUDE lets them into the padding. */
static ir_nest_at open_windows(ir_lowering *l, ir_value *target, bool include, const ir_expr *index[4]) {
  const ir_op *op = l->op;
  const ir_type *x = ir_lower_type(l, 0), *result = ir_lower_result(l, 0);
  int64_t pad[4];
  padding_of(op, pad);
  const ir_expr *size[2] = {ir_expr_i64(l->context, pair_at(op, "pool_size", 0)), ir_expr_i64(l->context, pair_at(op, "pool_size", 1))};
  ir_nest_at n = ir_lower_open(l, target, 4, ir_type_dims(result), 2, size);
  const ir_expr *conditions[4];
  size_t guards = 0;
  index[0] = ir_lower_axis(&n, 0);
  index[1] = ir_lower_axis(&n, 1);
  for (size_t i = 0; i < 2; i++) {
    index[2 + i] = tap(&n, ir_lower_axis(&n, 2 + i), ir_lower_axis(&n, 4 + i), pair_at(op, "strides", i), pair_at(op, "dilation", i), pad[i]);
    const ir_expr *end = ir_type_dim(x, 2 + i);
    if (include) end = IR_ADD_(&n, end, ir_lower_i64(&n, pad[i + 2]));
    if (pad[i] && !include) conditions[guards++] = compare(&n, IR_S_GE, index[2 + i], ir_lower_i64(&n, 0));
    if (pad[i] || pad[i + 2] || ir_get_bool(op, "ceil_mode")) conditions[guards++] = compare(&n, IR_S_LT, index[2 + i], end);
  }
  ir_lower_where(&n, guards, conditions);
  return n;
}

bool legalize_pool2d(ir_lowering *l) {
  const ir_type *result = ir_lower_result(l, 0);
  const ir_expr *index[4];
  if (ir_is(l->op, IR_NN_MAX_POOL2D)) {
    ir_nest_at n = open_windows(l, l->out[0], false, index);
    ir_lower_store(&n, NULL, "max", NULL, ir_lower_load(&n, l->in[0], index), NULL);
    return true;
  }
  ir_dtype wide = ir_lower_wide(ir_type_dtype(result));
  ir_value *sum = ir_lower_temp(l, "sum", wide, 4, ir_type_dims(result)), *count = ir_lower_temp(l, "count", wide, 4, ir_type_dims(result));
  ir_nest_at n = open_windows(l, sum, false, index);
  ir_lower_store(&n, NULL, "sum", "chain", ir_expr_cast(l->context, ir_lower_load(&n, l->in[0], index), wide), NULL);
  ir_nest_at c = open_windows(l, count, ir_get_bool(l->op, "count_include_pad"), index);
  ir_lower_store(&c, NULL, "sum", "chain", ir_expr_float(l->context, wide, 1), NULL);
  ir_nest_at y = ir_lower_open(l, l->out[0], 4, ir_type_dims(result), 0, NULL);
  const ir_expr *at[4];
  for (size_t i = 0; i < 4; i++) at[i] = ir_lower_axis(&y, i);
  ir_lower_store(&y, NULL, NULL, NULL, ir_expr_binary(l->context, IR_S_DIV, ir_lower_load(&y, sum, at), ir_lower_load(&y, count, at)), NULL);
  return true;
}

bool legalize_adaptive_avg_pool2d(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *result = ir_lower_result(l, 0);
  ir_dtype wide = ir_lower_wide(ir_type_dtype(result));
  ir_value *sum = ir_lower_temp(l, "sum", wide, 4, ir_type_dims(result));
  const ir_expr *longest[2], *begin[2], *length[2], *conditions[2];
  for (size_t i = 0; i < 2; i++) {
    const ir_expr *most = ir_expr_binary(l->context, IR_S_CEILDIV, ir_type_dim(x, 2 + i), ir_type_dim(result, 2 + i));
    longest[i] = ir_simplify(l->context, NULL, ir_expr_binary(l->context, IR_S_ADD, most, one(l)));
  }
  ir_nest_at n = ir_lower_open(l, sum, 4, ir_type_dims(result), 2, longest);
  for (int pass = 0; pass < 2; pass++) {
    ir_nest_at y = pass ? ir_lower_open(l, l->out[0], 4, ir_type_dims(result), 0, NULL) : n;
    for (size_t i = 0; i < 2; i++) {
      const ir_expr *o = ir_lower_axis(&y, 2 + i), *in = ir_type_dim(x, 2 + i), *out = ir_type_dim(result, 2 + i);
      begin[i] = ir_lower_int(&y, IR_S_FLOORDIV, IR_MUL_(&y, o, in), out);
      const ir_expr *end = ir_lower_int(&y, IR_S_CEILDIV, IR_MUL_(&y, IR_ADD_(&y, o, one(l)), in), out);
      length[i] = IR_SUB_(&y, end, begin[i]);
      if (!pass) conditions[i] = compare(&y, IR_S_LT, ir_lower_axis(&y, 4 + i), length[i]);
    }
    if (!pass) {
      ir_lower_where(&y, 2, conditions);
      const ir_expr *at[4] = {ir_lower_axis(&y, 0), ir_lower_axis(&y, 1), IR_ADD_(&y, begin[0], ir_lower_axis(&y, 4)), IR_ADD_(&y, begin[1], ir_lower_axis(&y, 5))};
      ir_lower_store(&y, NULL, "sum", "chain", ir_expr_cast(l->context, ir_lower_load(&y, l->in[0], at), wide), NULL);
      continue;
    }
    const ir_expr *at[4];
    for (size_t i = 0; i < 4; i++) at[i] = ir_lower_axis(&y, i);
    const ir_expr *count = ir_expr_cast(l->context, IR_MUL_(&y, length[0], length[1]), wide);
    ir_lower_store(&y, NULL, NULL, NULL, ir_expr_binary(l->context, IR_S_DIV, ir_lower_load(&y, sum, at), count), NULL);
  }
  return true;
}
