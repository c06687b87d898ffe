// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_reduce.c - reductions over axes, softmax, normalization: several nests in one prim_func, which become one
 * kernel of the CPU. Variances take two passes: the mean of squares of differences, which large means do not spoil. */
#include "passes/lower/lower.h"

static const ir_expr *one(const ir_lowering *l) { return ir_expr_i64(l->context, 1); }

/* --- reductions over axes --- */
struct axes {
  bool reduced[IR_LOWER_AXES];
  const ir_expr *kept[IR_LOWER_AXES], *gone[IR_LOWER_AXES];
  size_t kept_count, gone_count;
};

static void find_axes(const ir_lowering *l, const ir_type *x, const char *name, struct axes *a) {
  const ir_attr *given = ir_get(l->op, name);
  bool single = given && given->kind == IR_ATTR_INT;
  size_t count = single ? 1 : ir_get_count(l->op, name);
  *a = (struct axes){.kept_count = 0};
  for (size_t i = 0; i < x->count; i++) a->reduced[i] = !given;
  for (size_t i = 0; i < count; i++) {
    int64_t axis = single ? given->i : ir_get_int_at(l->op, name, i);
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

/* The place of the reduced axes in the flattened part that is reduced. */
static const ir_expr *reduced_place(ir_nest_at *n, const struct axes *a) {
  const ir_expr *at = ir_lower_i64(n, 0);
  for (size_t i = 0; i < a->gone_count; i++) at = IR_ADD_(n, IR_MUL_(n, at, a->gone[i]), ir_lower_axis(n, n->spatial + i));
  return at;
}

/* A reducer of the operator's name, over elements, or over places and elements (argmax, argmin). */
bool legalize_reduce(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  struct axes a;
  find_axes(l, x, "axis", &a);
  const ir_expr *index[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_open(l, l->out[0], a.kept_count, a.kept, a.gone_count, a.gone);
  bool places = ir_is(l->op, IR_ARGMAX) || ir_is(l->op, IR_ARGMIN);
  const ir_expr *value = reduced_load(&n, &a, x->count), *place = places ? reduced_place(&n, &a) : NULL;
  result_index(&n, &a, x->count, ir_get_bool(l->op, "keepdims"), index);
  const char *reducer = a.gone_count ? ir_op_row(l->op)->name : NULL;
  ir_lower_store(&n, index, reducer, NULL, place ? place : value, place && reducer ? value : NULL);
  return true;
}

bool legalize_mean(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  struct axes a;
  find_axes(l, x, "axis", &a);
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
  struct axes a;
  find_axes(l, x, "axis", &a);
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
  value = ir_expr_binary(l->context, IR_S_SUB, value, ir_lower_load(&y, most, at));
  const ir_expr *total = ir_lower_load(&y, sum, at);
  if (ir_is(l->op, IR_NN_LOG_SOFTMAX)) {
    value = ir_expr_binary(l->context, IR_S_SUB, value, ir_expr_unary(l->context, IR_S_LOG, total));
  } else {
    value = ir_expr_binary(l->context, IR_S_DIV, ir_expr_unary(l->context, IR_S_EXP, value), total);
  }
  ir_lower_store(&y, NULL, NULL, NULL, value, NULL);
  return true;
}

/* --- normalization --- */
/* A statistic of x, or of x less MEAN where there is one, for each of the kept axes: the mean, or, SQUARED, the root of the
 * mean square and epsilon. */
static ir_value *statistic(ir_lowering *l, const struct axes *a, ir_value *mean, bool squared, const char *name) {
  const ir_type *x = ir_lower_type(l, 0);
  ir_dtype wide = ir_lower_wide(ir_type_dtype(x));
  ir_value *sum = ir_lower_temp(l, "sum", wide, a->kept_count, a->kept), *result = ir_lower_temp(l, name, wide, a->kept_count, a->kept);
  const ir_expr *at[IR_LOWER_AXES], *count = one(l);
  ir_nest_at n = ir_lower_open(l, sum, a->kept_count, a->kept, a->gone_count, a->gone);
  for (size_t i = 0; i < a->kept_count; i++) at[i] = ir_lower_axis(&n, i);
  const ir_expr *value = ir_expr_cast(l->context, reduced_load(&n, a, x->count), wide);
  if (mean) value = ir_expr_binary(l->context, IR_S_SUB, value, ir_lower_load(&n, mean, at));
  if (squared) value = ir_expr_binary(l->context, IR_S_MUL, value, value);
  ir_lower_store(&n, NULL, "sum", NULL, value, NULL);
  ir_nest_at r = ir_lower_open(l, result, a->kept_count, a->kept, 0, NULL);
  for (size_t i = 0; i < a->kept_count; i++) at[i] = ir_lower_axis(&r, i);
  for (size_t i = 0; i < a->gone_count; i++) count = IR_MUL_(&r, count, a->gone[i]);
  value = ir_expr_binary(l->context, IR_S_DIV, ir_lower_load(&r, sum, at), ir_expr_cast(l->context, count, wide));
  const ir_expr *epsilon = ir_expr_float(l->context, wide, ir_get_float(l->op, "epsilon"));
  if (squared) value = ir_expr_unary(l->context, IR_S_SQRT, ir_expr_binary(l->context, IR_S_ADD, value, epsilon));
  ir_lower_store(&r, NULL, NULL, NULL, value, NULL);
  return result;
}

/* VALUE combined with parameter OPERAND, which runs along the reduced axes, or, of instance normalization, along the channels. */
static const ir_expr *with_parameter(ir_nest_at *n, const struct axes *a, size_t operand, ir_scalar_code code, const ir_expr *value) {
  ir_lowering *l = n->l;
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *index[IR_LOWER_AXES];
  size_t rank = 0;
  bool channels = ir_is(l->op, IR_NN_INSTANCE_NORM);
  for (size_t i = 0; i < x->count; i++) {
    if (channels ? i == ir_lower_normal_axis(l->op, "channel_axis", x->count) : a->reduced[i]) index[rank++] = ir_lower_axis(n, i);
  }
  const ir_expr *part = ir_expr_cast(l->context, ir_lower_load(n, l->in[operand], index), (ir_dtype)value->dtype);
  return ir_expr_binary(l->context, code, value, part);
}

bool legalize_norm(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  bool rms = ir_is(l->op, IR_NN_RMS_NORM);
  struct axes a;
  find_axes(l, x, "axes", &a);
  ir_value *mean = rms ? NULL : statistic(l, &a, NULL, false, "mean"), *deviation = statistic(l, &a, mean, true, "deviation");
  const ir_expr *index[IR_LOWER_AXES], *at[IR_LOWER_AXES];
  ir_nest_at y = ir_lower_over_result(l, 0, index);
  for (size_t i = 0, kept = 0; i < x->count; i++) {
    if (!a.reduced[i]) at[kept++] = index[i];
  }
  const ir_expr *value = ir_expr_cast(l->context, ir_lower_load(&y, l->in[0], index), ir_lower_wide(ir_type_dtype(x)));
  if (mean) value = ir_expr_binary(l->context, IR_S_SUB, value, ir_lower_load(&y, mean, at));
  value = ir_expr_binary(l->context, IR_S_DIV, value, ir_lower_load(&y, deviation, at));
  if (rms || ir_get_bool(l->op, "scale")) value = with_parameter(&y, &a, 1, IR_S_MUL, value);
  if (!rms && ir_get_bool(l->op, "center") && l->op->operand_count > 2) value = with_parameter(&y, &a, 2, IR_S_ADD, value);
  ir_lower_store(&y, NULL, NULL, NULL, value, NULL);
  return true;
}
