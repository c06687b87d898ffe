// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_math.c - element-wise work, reductions, products, convolution, pooling. Needs ir/element. */
#include "ir/element.h"
#include "passes/lower/lower.h"

static const ir_expr *one(const ir_lowering *l) { return ir_expr_i64(l->context, 1); }

/* Indices of operand OPERAND where the result is at the spatial axes. */
static void broadcast_index(ir_nest_at *n, const ir_type *own, const ir_type *result, const ir_expr **index) {
  size_t shift = result->count - own->count;
  for (size_t i = 0; i < own->count; i++) {
    index[i] = ir_lower_broadcast(n, ir_lower_axis(n, i + shift), ir_type_dim(own, i), ir_type_dim(result, i + shift));
  }
}

static const ir_expr *broadcast_load(ir_nest_at *n, size_t operand, const ir_type *result) {
  const ir_expr *index[IR_LOWER_AXES];
  ir_value *buffer = n->l->in[operand];
  if (ir_is_tensor(buffer->type)) broadcast_index(n, buffer->type, result, index);
  return ir_lower_load(n, buffer, index);
}

bool legalize_elementwise(ir_lowering *l) {
  const ir_type *result = ir_lower_result(l, 0);
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 0, NULL);
  const ir_expr *operands[8];
  if (l->op->operand_count > 8) return ir_lower_missing(l, "more than 8 operands");
  for (size_t i = 0; i < l->op->operand_count; i++) operands[i] = broadcast_load(&n, i, result);
  const ir_expr *value = ir_element(l->context, l->op, ir_type_dtype(result), operands);
  if (!value) return false;
  ir_lower_store(&n, NULL, NULL, NULL, value, NULL);
  return true;
}

bool legalize_prelu(ir_lowering *l) {
  const ir_type *result = ir_lower_result(l, 0), *slope = ir_lower_type(l, 1);
  int64_t axis = ir_get_int(l->op, "axis"), elements;
  if (axis < 0) axis += (int64_t)result->count;
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 0, NULL);
  bool single = !ir_is_tensor(slope) || (ir_type_static_dims(slope, NULL, &elements) && elements == 1);
  const ir_expr *at = single ? ir_lower_i64(&n, 0) : ir_lower_axis(&n, (size_t)axis);
  if (ir_is_tensor(slope) && slope->count > 1) return ir_lower_missing(l, "a slope of more than one axis");
  ir_dtype wide = ir_lower_wide(ir_type_dtype(result));
  const ir_expr *x = ir_expr_cast(l->context, broadcast_load(&n, 0, result), wide);
  const ir_expr *s = ir_expr_cast(l->context, ir_lower_load(&n, l->in[1], &at), wide);
  const ir_expr *positive = ir_expr_binary(l->context, IR_S_GE, x, ir_expr_float(l->context, wide, 0));
  ir_lower_store(&n, NULL, NULL, NULL, ir_expr_ternary(l->context, IR_S_SELECT, positive, x, ir_expr_binary(l->context, IR_S_MUL, s, x)), NULL);
  return true;
}

bool legalize_matmul(ir_lowering *l) {
  const ir_type *a = ir_lower_type(l, 0), *b = ir_lower_type(l, 1), *result = ir_lower_result(l, 0);
  if (!ir_is_tensor(a) || !ir_is_tensor(b) || !a->count || !b->count) return ir_lower_missing(l, "a scalar operand");
  const ir_expr *depth = ir_type_dim(a, a->count - 1);
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 1, &depth);
  bool row = a->count > 1, column = b->count > 1;
  size_t batch = result->count - row - column;
  const ir_expr *ia[IR_LOWER_AXES], *ib[IR_LOWER_AXES], *k = ir_lower_axis(&n, result->count);
  for (size_t i = 0; i + 2 < a->count; i++) {
    size_t at = batch - (a->count - 2) + i;
    ia[i] = ir_lower_broadcast(&n, ir_lower_axis(&n, at), ir_type_dim(a, i), ir_type_dim(result, at));
  }
  for (size_t i = 0; i + 2 < b->count; i++) {
    size_t at = batch - (b->count - 2) + i;
    ib[i] = ir_lower_broadcast(&n, ir_lower_axis(&n, at), ir_type_dim(b, i), ir_type_dim(result, at));
  }
  if (row) ia[a->count - 2] = ir_lower_axis(&n, batch);
  ia[a->count - 1] = k;
  ib[column ? b->count - 2 : 0] = k;
  if (column) ib[b->count - 1] = ir_lower_axis(&n, batch + row);
  ir_lower_store(&n, NULL, "dot", NULL, ir_lower_load(&n, l->in[0], ia), ir_lower_load(&n, l->in[1], ib));
  return true;
}

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

/* --- reductions over axes --- */
struct axes {
  bool reduced[IR_LOWER_AXES];
  const ir_expr *kept[IR_LOWER_AXES], *gone[IR_LOWER_AXES];
  size_t kept_count, gone_count;
};

static void find_axes(const ir_lowering *l, const ir_type *x, struct axes *a) {
  size_t count = ir_get_count(l->op, "axis");
  *a = (struct axes){.kept_count = 0};
  for (size_t i = 0; i < x->count; i++) a->reduced[i] = !ir_has_attr(l->op, "axis");
  for (size_t i = 0; i < count; i++) {
    int64_t axis = ir_get_int_at(l->op, "axis", i);
    a->reduced[axis < 0 ? axis + (int64_t)x->count : axis] = true;
  }
  for (size_t i = 0; i < x->count; i++) {
    if (a->reduced[i]) a->gone[a->gone_count++] = ir_type_dim(x, i);
    if (!a->reduced[i]) a->kept[a->kept_count++] = ir_type_dim(x, i);
  }
}

/* The operand's element: kept axes are the spatial ones in order, the others the reduced ones. */
static const ir_expr *reduced_load(ir_nest_at *n, const struct axes *a, size_t rank) {
  const ir_expr *index[IR_LOWER_AXES];
  for (size_t i = 0, kept = 0, gone = 0; i < rank; i++) index[i] = ir_lower_axis(n, a->reduced[i] ? n->spatial + gone++ : kept++);
  return ir_lower_load(n, n->l->in[0], index);
}

/* Where the spatial axes go in the result: ones stand in for reduced axes where keepdims. */
static void result_index(ir_nest_at *n, const struct axes *a, size_t rank, bool keep, const ir_expr **index) {
  size_t at = 0;
  for (size_t i = 0, kept = 0; i < rank; i++) {
    if (!a->reduced[i]) index[at++] = ir_lower_axis(n, kept++);
    if (a->reduced[i] && keep) index[at++] = ir_lower_i64(n, 0);
  }
}

bool legalize_reduce(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  if (!ir_is_tensor(x)) return ir_lower_missing(l, "a scalar operand");
  struct axes a;
  find_axes(l, x, &a);
  const ir_expr *index[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_open(l, l->out[0], a.kept_count, a.kept, a.gone_count, a.gone);
  const ir_expr *value = reduced_load(&n, &a, x->count);
  result_index(&n, &a, x->count, ir_get_bool(l->op, "keepdims"), index);
  ir_lower_store(&n, index, a.gone_count ? ir_op_row(l->op)->name : NULL, NULL, value, NULL);
  return true;
}

bool legalize_mean(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  if (!ir_is_tensor(x)) return ir_lower_missing(l, "a scalar operand");
  struct axes a;
  find_axes(l, x, &a);
  ir_dtype wide = ir_lower_wide(ir_type_dtype(x));
  ir_value *sum = ir_lower_temp(l, "sum", wide, a.kept_count, a.kept);
  ir_nest_at n = ir_lower_open(l, sum, a.kept_count, a.kept, a.gone_count, a.gone);
  const ir_expr *value = reduced_load(&n, &a, x->count);
  ir_lower_store(&n, NULL, a.gone_count ? "sum" : NULL, NULL, value, NULL);
  ir_nest_at y = ir_lower_open(l, l->out[0], a.kept_count, a.kept, 0, NULL);
  const ir_expr *at[IR_LOWER_AXES], *index[IR_LOWER_AXES], *count = one(l);
  for (size_t i = 0; i < a.kept_count; i++) at[i] = ir_lower_axis(&y, i);
  for (size_t i = 0; i < a.gone_count; i++) count = IR_MUL_(&y, count, a.gone[i]);
  result_index(&y, &a, x->count, ir_get_bool(l->op, "keepdims"), index);
  const ir_expr *mean = ir_expr_binary(l->context, IR_S_DIV, ir_lower_load(&y, sum, at), ir_expr_cast(l->context, count, wide));
  ir_lower_store(&y, index, NULL, NULL, mean, NULL);
  return true;
}

bool legalize_softmax(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  if (!ir_is_tensor(x) || !x->count) return ir_lower_missing(l, "a scalar operand");
  int64_t axis = ir_get_int(l->op, "axis");
  if (axis < 0) axis += (int64_t)x->count;
  struct axes a = {.gone_count = 1};
  a.reduced[axis] = true;
  a.gone[0] = ir_type_dim(x, (size_t)axis);
  for (size_t i = 0; i < x->count; i++) {
    if (!a.reduced[i]) a.kept[a.kept_count++] = ir_type_dim(x, i);
  }
  ir_dtype wide = ir_lower_wide(ir_type_dtype(x));
  ir_value *most = ir_lower_temp(l, "most", wide, a.kept_count, a.kept), *sum = ir_lower_temp(l, "sum", wide, a.kept_count, a.kept);
  const ir_expr *at[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_open(l, most, a.kept_count, a.kept, 1, a.gone);
  ir_lower_store(&n, NULL, "max", NULL, ir_expr_cast(l->context, reduced_load(&n, &a, x->count), wide), NULL);
  ir_nest_at s = ir_lower_open(l, sum, a.kept_count, a.kept, 1, a.gone);
  for (size_t i = 0; i < a.kept_count; i++) at[i] = ir_lower_axis(&s, i);
  const ir_expr *value = ir_expr_cast(l->context, reduced_load(&s, &a, x->count), wide);
  value = ir_expr_binary(l->context, IR_S_SUB, value, ir_lower_load(&s, most, at));
  ir_lower_store(&s, NULL, "sum", NULL, ir_expr_unary(l->context, IR_S_EXP, value), NULL);
  ir_nest_at y = ir_lower_open(l, l->out[0], x->count, ir_type_dims(x), 0, NULL);
  const ir_expr *index[IR_LOWER_AXES];
  for (size_t i = 0, kept = 0; i < x->count; i++) {
    index[i] = ir_lower_axis(&y, i);
    if (!a.reduced[i]) at[kept++] = index[i];
  }
  value = ir_expr_cast(l->context, ir_lower_load(&y, l->in[0], index), wide);
  value = ir_expr_unary(l->context, IR_S_EXP, ir_expr_binary(l->context, IR_S_SUB, value, ir_lower_load(&y, most, at)));
  ir_lower_store(&y, NULL, NULL, NULL, ir_expr_binary(l->context, IR_S_DIV, value, ir_lower_load(&y, sum, at)), NULL);
  return true;
}
