// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_move.c - operators that only move elements: index maps. */
#include "passes/lower/lower.h"

static const ir_expr *i64(const ir_lowering *l, int64_t value) { return ir_expr_i64(l->context, value); }

bool legalize_permute_dims(ir_lowering *l) {
  const ir_expr *axes[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  size_t rank = ir_lower_result(l, 0)->count;
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  bool given = ir_has_attr(l->op, "axes");
  for (size_t i = 0; i < rank; i++) {
    int64_t from = given ? ir_get_int_at(l->op, "axes", i) : (int64_t)(rank - 1 - i);
    index[from < 0 ? from + (int64_t)rank : from] = axes[i];
  }
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

static const ir_expr *linear(ir_nest_at *n, const ir_type *type, const ir_expr *const *index) {
  const ir_expr *at = ir_lower_i64(n, 0);
  for (size_t i = 0; i < type->count; i++) at = IR_ADD_(n, IR_MUL_(n, at, ir_type_dim(type, i)), index[i]);
  return at;
}

static void delinear(ir_nest_at *n, const ir_type *type, const ir_expr *at, const ir_expr **index) {
  for (size_t i = type->count; i > 0; i--) {
    const ir_expr *extent = ir_type_dim(type, i - 1);
    index[i - 1] = i > 1 ? ir_lower_int(n, IR_S_FLOORMOD, at, extent) : at;
    if (i > 1) at = ir_lower_int(n, IR_S_FLOORDIV, at, extent);
  }
}

bool legalize_reshape(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *axes[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  if (ir_is_tensor(x)) delinear(&n, x, linear(&n, ir_lower_result(l, 0), axes), index);
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_broadcast_to(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *result = ir_lower_result(l, 0);
  const ir_expr *axes[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  for (size_t i = 0; ir_is_tensor(x) && i < x->count; i++) {
    size_t at = result->count - x->count + i;
    index[i] = ir_lower_broadcast(&n, axes[at], ir_type_dim(x, i), ir_type_dim(result, at));
  }
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_concat(ir_lowering *l) {
  size_t rank = ir_lower_result(l, 0)->count;
  size_t axis = ir_lower_normal_axis(l->op, "axis", rank);
  const ir_expr *offset = i64(l, 0);
  for (size_t k = 0; k < l->op->operand_count; k++) {
    const ir_type *x = ir_lower_type(l, k);
    if (!ir_is_tensor(x)) return ir_lower_missing(l, "a scalar operand");
    ir_nest_at n = ir_lower_open(l, l->out[0], rank, ir_type_dims(x), 0, NULL);
    const ir_expr *from[IR_LOWER_AXES], *to[IR_LOWER_AXES];
    for (size_t i = 0; i < rank; i++) {
      from[i] = ir_lower_axis(&n, i);
      to[i] = i == axis ? IR_ADD_(&n, from[i], offset) : from[i];
    }
    ir_lower_store(&n, to, NULL, NULL, ir_lower_load(&n, l->in[k], from), NULL);
    offset = IR_ADD_(&n, offset, ir_type_dim(x, axis));
  }
  return true;
}

bool legalize_split(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  size_t axis = ir_lower_normal_axis(l->op, "axis", x->count);
  const ir_expr *offset = i64(l, 0);
  for (size_t k = 0; k < l->op->result_count; k++) {
    const ir_expr *index[IR_LOWER_AXES];
    ir_nest_at n = ir_lower_over_result(l, k, index);
    index[axis] = IR_ADD_(&n, index[axis], offset);
    ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
    offset = IR_ADD_(&n, offset, ir_type_dim(ir_lower_result(l, k), axis));
  }
  return true;
}

/* Where a slice begins on an axis of EXTENT: negative counts from the end, then clamped. */
static const ir_expr *slice_begin(ir_nest_at *n, const ir_expr *begin, const ir_expr *extent, bool forward) {
  ir_context *context = n->l->context;
  const ir_expr *zero = ir_lower_i64(n, 0);
  int64_t value;
  const ir_expr *at = begin;
  if (!ir_expr_is_int(begin, &value)) {
    at = ir_expr_ternary(context, IR_S_SELECT, ir_expr_binary(context, IR_S_LT, begin, zero), IR_ADD_(n, begin, extent), begin);
  } else if (value < 0) {
    at = value == INT64_MIN ? zero : IR_ADD_(n, begin, extent);
  }
  const ir_expr *last = forward ? extent : IR_SUB_(n, extent, ir_lower_i64(n, 1));
  return ir_lower_int(n, IR_S_MIN, ir_lower_int(n, IR_S_MAX, at, zero), last);
}

bool legalize_strided_slice(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *index[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, index);
  size_t count = ir_get_count(l->op, "begin");
  for (size_t k = 0; k < count; k++) {
    int64_t axis = ir_has_attr(l->op, "axes") ? ir_get_int_at(l->op, "axes", k) : (int64_t)k;
    int64_t step = ir_has_attr(l->op, "strides") ? ir_get_int_at(l->op, "strides", k) : 1;
    if (axis < 0) axis += (int64_t)x->count;
    const ir_expr *begin = slice_begin(&n, ir_get_expr_at(l->op, "begin", k), ir_type_dim(x, (size_t)axis), step > 0);
    index[axis] = IR_ADD_(&n, begin, IR_MUL_(&n, index[axis], ir_lower_i64(&n, step)));
  }
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_take(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *indices = ir_lower_type(l, 1);
  const ir_expr *axes[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  if (!ir_has_attr(l->op, "axis")) return ir_lower_missing(l, "no axis: run decompose-ops before");
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  size_t axis = ir_lower_normal_axis(l->op, "axis", x->count), inner = ir_is_tensor(indices) ? indices->count : 0;
  const ir_expr *at = ir_lower_index(l->context, ir_lower_load(&n, l->in[1], axes + axis), ir_type_dim(x, axis));
  for (size_t i = 0; i < x->count; i++) index[i] = i < axis ? axes[i] : i == axis ? at : axes[i - 1 + inner];
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], index), NULL);
  return true;
}

bool legalize_pad(ir_lowering *l) {
  ir_context *context = l->context;
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *index[IR_LOWER_AXES], *inside = ir_expr_bool(context, true);
  ir_nest_at n = ir_lower_over_result(l, 0, index);
  const char *mode = ir_get_word(l->op, "pad_mode");
  const ir_expr *zero = ir_lower_i64(&n, 0), *one = ir_lower_i64(&n, 1);
  for (size_t i = 0; i < x->count; i++) {
    int64_t before = ir_get_int_at(l->op, "pad_width", 2 * i), after = ir_get_int_at(l->op, "pad_width", 2 * i + 1);
    if (!before && !after) continue;
    const ir_expr *extent = ir_type_dim(x, i), *at = IR_SUB_(&n, index[i], ir_lower_i64(&n, before));
    if (*mode == 'c' && mode[1] == 'o') {
      inside = ir_expr_binary(context, IR_S_AND, inside, ir_expr_binary(context, IR_S_GE, at, zero));
      inside = ir_expr_binary(context, IR_S_AND, inside, ir_expr_binary(context, IR_S_LT, at, extent));
    } else if (*mode == 'c') {
      at = ir_lower_int(&n, IR_S_FLOORMOD, at, extent);
    } else if (!strcmp(mode, "replicate")) {
      at = ir_lower_int(&n, IR_S_MIN, ir_lower_int(&n, IR_S_MAX, at, zero), IR_SUB_(&n, extent, one));
    } else {
      const ir_expr *low = ir_lower_int(&n, IR_S_MAX, at, IR_SUB_(&n, zero, at));
      const ir_expr *high = IR_SUB_(&n, IR_MUL_(&n, ir_lower_i64(&n, 2), IR_SUB_(&n, extent, one)), low);
      at = ir_lower_int(&n, IR_S_MIN, low, high);
    }
    index[i] = at;
  }
  const ir_expr *value = ir_lower_load(&n, l->in[0], index);
  ir_dtype dtype = ir_type_dtype(x);
  const ir_expr *constant = ir_get_number(l->op, "pad_value", dtype);
  inside = ir_simplify(context, NULL, inside);
  int64_t everywhere;
  if (!ir_expr_is_int(inside, &everywhere)) {
    value = ir_expr_ternary(context, IR_S_GUARD, inside, value, constant);
  } else if (!everywhere) { /* an operand without elements */
    value = constant;
  }
  ir_lower_store(&n, NULL, NULL, NULL, value, NULL);
  return true;
}

bool legalize_fill(ir_lowering *l) {
  ir_context *context = l->context;
  const ir_expr *axes[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  ir_dtype dtype = ir_type_dtype(ir_lower_result(l, 0));
  const ir_expr *value;
  if (ir_is(l->op, IR_FULL) || ir_is(l->op, IR_FULL_LIKE)) {
    size_t i = l->op->operand_count - 1;
    const ir_type *fill = ir_lower_type(l, i);
    if (ir_is_tensor(fill) && fill->count) return ir_lower_missing(l, "a fill value with axes");
    value = ir_expr_cast(context, ir_lower_load(&n, l->in[i], NULL), dtype);
  } else {
    bool ones = ir_is(l->op, IR_ONES) || ir_is(l->op, IR_ONES_LIKE);
    value = ir_expr_int(context, dtype, ones);
  }
  ir_lower_store(&n, NULL, NULL, NULL, value, NULL);
  return true;
}
