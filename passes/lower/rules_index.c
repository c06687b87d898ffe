// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_index.c - operators that repeat and look up elements, that make numbers, and losses that look up. */
#include "passes/lower/lower.h"

static const ir_expr *binary(const ir_lowering *l, ir_scalar_code code, const ir_expr *a, const ir_expr *b) { return ir_expr_binary(l->context, code, a, b); }

static const ir_expr *choose(const ir_lowering *l, const ir_expr *condition, const ir_expr *a, const ir_expr *b) {
  return ir_expr_ternary(l->context, IR_S_SELECT, condition, a, b);
}

bool legalize_tile(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *axes[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  size_t rank = ir_lower_result(l, 0)->count, own = ir_is_tensor(x) ? x->count : 0;
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  for (size_t i = 0; i < own; i++) {
    const ir_expr *at = axes[rank - own + i], *extent = ir_type_dim(x, i);
    bool once = ir_prove_equal(l->context, ir_func_facts(l->func), extent, ir_type_dim(ir_lower_result(l, 0), rank - own + i)) == IR_PROVEN;
    index[i] = once ? at : ir_lower_int(&n, IR_S_FLOORMOD, at, extent);
  }
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_repeat(ir_lowering *l) {
  const ir_expr *index[IR_LOWER_AXES];
  if (!ir_has_attr(l->op, "axis")) return ir_lower_missing(l, "no axis: run decompose-ops before");
  ir_nest_at n = ir_lower_over_result(l, 0, index);
  size_t axis = ir_lower_normal_axis(l->op, "axis", ir_lower_result(l, 0)->count);
  index[axis] = ir_lower_int(&n, IR_S_FLOORDIV, index[axis], ir_lower_i64(&n, ir_get_int(l->op, "repeats")));
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_flip(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *index[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, index);
  size_t axis = ir_lower_normal_axis(l->op, "axis", x->count);
  index[axis] = IR_SUB_(&n, IR_SUB_(&n, ir_type_dim(x, axis), ir_lower_i64(&n, 1)), index[axis]);
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_triangle(ir_lowering *l) {
  const ir_expr *axes[IR_LOWER_AXES];
  size_t rank = ir_lower_result(l, 0)->count;
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  const ir_expr *k = l->op->operand_count > 1 ? ir_expr_cast(l->context, ir_lower_load(&n, l->in[1], NULL), IR_I64) : ir_lower_i64(&n, 0);
  const ir_expr *x = ir_lower_load(&n, l->in[0], axes), *diagonal = IR_SUB_(&n, axes[rank - 1], axes[rank - 2]);
  const ir_expr *kept = binary(l, ir_is(l->op, IR_TRIL) ? IR_S_LE : IR_S_GE, diagonal, k);
  ir_lower_store(&n, NULL, NULL, NULL, choose(l, kept, x, ir_expr_cast(l->context, ir_expr_int(l->context, IR_I32, 0), (ir_dtype)x->dtype)), NULL);
  return true;
}

bool legalize_one_hot(ir_lowering *l) {
  const ir_expr *axes[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  size_t rank = ir_lower_result(l, 0)->count, axis = ir_lower_normal_axis(l->op, "axis", rank);
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  for (size_t i = 0, k = 0; i < rank; i++) {
    if (i != axis) index[k++] = axes[i];
  }
  const ir_expr *at = ir_lower_index(l->context, ir_lower_load(&n, l->in[0], index), ir_type_dim(ir_lower_result(l, 0), axis));
  const ir_expr *on = ir_lower_load(&n, l->in[1], NULL), *off = ir_lower_load(&n, l->in[2], NULL);
  ir_lower_store(&n, NULL, NULL, NULL, choose(l, binary(l, IR_S_EQ, at, axes[axis]), on, off), NULL);
  return true;
}

bool legalize_gather_elements(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *index[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, index);
  size_t axis = ir_lower_normal_axis(l->op, "axis", x->count);
  index[axis] = ir_lower_index(l->context, ir_lower_load(&n, l->in[1], index), ir_type_dim(x, axis));
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_gather_nd(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *indices = ir_lower_type(l, 1);
  const ir_expr *axes[IR_LOWER_AXES], *row[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  int64_t depth = 0;
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  size_t batch = (size_t)ir_get_int(l->op, "batch_dims"), rows = indices->count - 1;
  ir_expr_is_int(ir_type_dim(indices, rows), &depth);
  memcpy(row, axes, rows * sizeof *row);
  for (size_t i = 0; i < x->count; i++) {
    bool led = i >= batch && i < batch + (size_t)depth;
    if (led) row[rows] = ir_lower_i64(&n, (int64_t)(i - batch));
    if (led) index[i] = ir_lower_index(l->context, ir_lower_load(&n, l->in[1], row), ir_type_dim(x, i));
    if (!led) index[i] = i < batch ? axes[i] : axes[rows + i - batch - (size_t)depth];
  }
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_arange(ir_lowering *l) {
  const ir_expr *axis;
  ir_nest_at n = ir_lower_over_result(l, 0, &axis);
  ir_lower_store(&n, NULL, NULL, NULL, IR_ADD_(&n, ir_get_expr(l->op, "start"), IR_MUL_(&n, axis, ir_get_expr(l->op, "step"))), NULL);
  return true;
}

bool legalize_eye(ir_lowering *l) {
  const ir_expr *axes[2];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  ir_dtype dtype = ir_type_dtype(ir_lower_result(l, 0));
  const ir_expr *on = binary(l, IR_S_EQ, IR_SUB_(&n, axes[1], axes[0]), ir_lower_i64(&n, ir_get_int(l->op, "k")));
  ir_lower_store(&n, NULL, NULL, NULL, ir_expr_cast(l->context, on, dtype), NULL);
  return true;
}

/* --- losses --- */

/* The target at the nest's axes as i64, and whether it counts. */
static const ir_expr *target_at(ir_nest_at *n, const ir_expr *const *at, const ir_expr **counts) {
  ir_lowering *l = n->l;
  const ir_expr *target = ir_expr_cast(l->context, ir_lower_load(n, l->in[1], at), IR_I64);
  *counts = binary(l, IR_S_NE, target, ir_lower_i64(n, ir_get_int(l->op, "ignore_index")));
  return target;
}

/* The weight of each target, or with LOSSES what it loses; 0 where it does not count, and then nothing else is read. */
static void store_targets(ir_lowering *l, ir_value *to, bool losses) {
  const ir_type *x = ir_lower_type(l, 0), *type = to->type;
  const ir_expr *at[IR_LOWER_AXES], *index[IR_LOWER_AXES], *counts;
  ir_dtype wide = ir_lower_wide(ir_type_dtype(x));
  ir_nest_at n = ir_lower_open(l, to, type->count, ir_type_dims(type), 0, NULL);
  for (size_t i = 0; i < type->count; i++) at[i] = ir_lower_axis(&n, i);
  const ir_expr *target = target_at(&n, at, &counts), *value = NULL;
  size_t classes = x->count > 1;
  for (size_t i = 0; i < x->count; i++) index[i] = i == classes ? target : at[i - (i > classes)];
  if (losses) value = ir_expr_unary(l->context, IR_S_NEG, ir_expr_cast(l->context, ir_lower_load(&n, l->in[0], index), wide));
  if (l->op->operand_count > 2) {
    const ir_expr *weight = ir_expr_cast(l->context, ir_lower_load(&n, l->in[2], &target), wide);
    value = value ? binary(l, IR_S_MUL, value, weight) : weight;
  }
  if (!value) value = ir_expr_float(l->context, wide, 1);
  ir_lower_store(&n, NULL, NULL, NULL, ir_expr_ternary(l->context, IR_S_GUARD, counts, value, ir_expr_float(l->context, wide, 0)), NULL);
}

static void store_sum(ir_lowering *l, ir_value *to, ir_value *from) {
  const ir_expr *at[IR_LOWER_AXES];
  size_t rank = from->type->count;
  ir_nest_at n = ir_lower_open(l, to, 0, NULL, rank, ir_type_dims(from->type));
  for (size_t i = 0; i < rank; i++) at[i] = ir_lower_axis(&n, i);
  ir_lower_store(&n, NULL, rank ? "sum" : NULL, NULL, ir_lower_load(&n, from, at), NULL);
}

bool legalize_nll_loss(ir_lowering *l) {
  const char *reduction = ir_get_word(l->op, "reduction");
  const ir_type *x = ir_lower_type(l, 0), *targets = ir_lower_type(l, 1);
  size_t rank = ir_is_tensor(targets) ? targets->count : 0;
  ir_dtype wide = ir_lower_wide(ir_type_dtype(x));
  if (!strcmp(reduction, "none")) {
    store_targets(l, l->out[0], true);
    return true;
  }
  bool mean = !strcmp(reduction, "mean");
  ir_value *losses = ir_lower_temp(l, "losses", wide, rank, ir_type_dims(targets)), *sum = mean ? ir_lower_temp(l, "sum", wide, 0, NULL) : l->out[0];
  store_targets(l, losses, true);
  store_sum(l, sum, losses);
  if (!mean) return true;
  ir_value *weights = ir_lower_temp(l, "weights", wide, rank, ir_type_dims(targets)), *weight = ir_lower_temp(l, "weight", wide, 0, NULL);
  store_targets(l, weights, false);
  store_sum(l, weight, weights);
  ir_nest_at y = ir_lower_open(l, l->out[0], 0, NULL, 0, NULL);
  ir_lower_store(&y, NULL, NULL, NULL, binary(l, IR_S_DIV, ir_lower_load(&y, sum, NULL), ir_lower_load(&y, weight, NULL)), NULL);
  return true;
}
