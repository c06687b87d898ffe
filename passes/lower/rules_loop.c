// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_loop.c - operators that compute form cannot say, since the order of their steps matters: scans,
 * scatters, and the places of elements. They become loops at once; what is independent is marked parallel. */
#include "passes/lower/loops.h"

/* --- scans --- */
bool legalize_scan(ir_lowering *l) {
  const ir_type *type = ir_lower_result(l, 0);
  if (!ir_has_attr(l->op, "axis")) return ir_lower_missing(l, "no axis: run decompose-ops before");
  size_t rank = type->count, axis = ir_lower_normal_axis(l->op, "axis", rank);
  bool product = ir_is(l->op, IR_CUMPROD), exclusive = ir_get_bool(l->op, "exclusive");
  ir_dtype wide = ir_lower_wide(ir_type_dtype(type));
  ir_loops s = ir_loops_open(l);
  const ir_expr *axes[IR_LOWER_AXES];
  ir_loops_nest(&s, rank, ir_type_dims(type), axis, true, axes);
  ir_value *acc = ir_loops_variable(&s, "acc", ir_expr_cast(l->context, ir_expr_int(l->context, IR_I32, product), wide));
  axes[axis] = ir_loops_for(&s, 'k', axis, ir_type_dim(type, axis), "serial");
  const ir_expr *so_far = ir_loops_load(&s, acc, NULL), *x = ir_expr_cast(l->context, ir_loops_load(&s, l->in[0], axes), wide);
  if (exclusive) ir_loops_store(&s, l->out[0], axes, so_far);
  ir_loops_store(&s, acc, NULL, ir_expr_binary(l->context, product ? IR_S_MUL : IR_S_ADD, so_far, x));
  if (!exclusive) ir_loops_store(&s, l->out[0], axes, so_far);
  return true;
}

/* --- scatters --- */
static void copy_operand(ir_lowering *l) {
  const ir_expr *axes[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], axes), NULL);
}

/* result[index] = result[index] combined with UPDATE */
static void put(ir_loops *s, const ir_expr *const *index, const ir_expr *update) {
  static const struct {
    const char *name;
    ir_scalar_code code;
  } codes[] = {{"add", IR_S_ADD}, {"mul", IR_S_MUL}, {"max", IR_S_MAX}, {"min", IR_S_MIN}};
  ir_value *y = s->l->out[0];
  for (size_t i = 0; i < ir_count_of(codes); i++) {
    if (strcmp(codes[i].name, ir_get_word(s->l->op, "reduction"))) continue;
    update = ir_expr_binary(s->l->context, codes[i].code, ir_loops_load(s, y, index), update);
  }
  ir_loops_store(s, y, index, update);
}

/* The loop over the axis of indices is the innermost: the others lead to different elements. */
bool legalize_scatter_elements(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *indices = ir_lower_type(l, 1);
  size_t rank = x->count, axis = ir_lower_normal_axis(l->op, "axis", rank);
  copy_operand(l);
  ir_loops s = ir_loops_open(l);
  const ir_expr *axes[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  ir_loops_nest(&s, rank, ir_type_dims(indices), axis, true, axes);
  axes[axis] = ir_loops_for(&s, 'k', axis, ir_type_dim(indices, axis), "serial");
  memcpy(index, axes, rank * sizeof *index);
  index[axis] = ir_lower_index(l->context, ir_loops_load(&s, l->in[1], axes), ir_type_dim(x, axis));
  put(&s, index, ir_loops_load(&s, l->in[2], axes));
  return true;
}

bool legalize_scatter_nd(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *indices = ir_lower_type(l, 1), *updates = ir_lower_type(l, 2);
  size_t rows = indices->count - 1, count = ir_is_tensor(updates) ? updates->count : 0;
  int64_t depth = 0;
  ir_expr_is_int(ir_type_dim(indices, rows), &depth);
  copy_operand(l);
  ir_loops s = ir_loops_open(l);
  const ir_expr *axes[IR_LOWER_AXES], *row[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  ir_loops_nest(&s, count, ir_type_dims(updates), count, false, axes);
  memcpy(row, axes, rows * sizeof *row);
  for (size_t i = 0; i < x->count; i++) {
    bool led = i < (size_t)depth;
    if (led) row[rows] = ir_expr_i64(l->context, (int64_t)i);
    index[i] = led ? ir_lower_index(l->context, ir_loops_load(&s, l->in[1], row), ir_type_dim(x, i)) : axes[rows + i - (size_t)depth];
  }
  put(&s, index, ir_loops_load(&s, l->in[2], axes));
  return true;
}

/* --- places --- */
/* Y[r, AT] for all rows, then AT counts on. */
static void put_column(ir_loops *s, ir_value *at, size_t rank, const ir_expr *const *rows) {
  ir_context *context = s->l->context;
  const ir_expr *place = ir_loops_load(s, at, NULL);
  for (size_t r = 0; r < rank; r++) {
    const ir_expr *index[] = {ir_expr_i64(context, (int64_t)r), place};
    ir_loops_store(s, s->l->out[0], index, rows ? rows[r] : ir_expr_i64(context, 0));
  }
  ir_loops_store(s, at, NULL, ir_expr_binary(context, IR_S_ADD, place, ir_expr_i64(context, 1)));
}

bool legalize_nonzero(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  size_t rank = ir_is_scalar(x) ? 0 : x->count;
  if (!rank) { /* no row, whatever the number of columns is */
    ir_nest_at none = ir_lower_open(l, l->out[0], 2, ir_type_dims(ir_lower_result(l, 0)), 0, NULL);
    ir_lower_store(&none, NULL, NULL, NULL, ir_lower_i64(&none, 0), NULL);
    return true;
  }
  ir_loops s = ir_loops_open(l);
  ir_loops_alone(&s);
  ir_value *at = ir_loops_variable(&s, "at", ir_expr_i64(l->context, 0));
  const ir_expr *axes[IR_LOWER_AXES], *size = ir_get_expr(l->op, "size");
  const ir_expr *room = ir_expr_binary(l->context, IR_S_LT, ir_loops_load(&s, at, NULL), size);
  for (size_t i = 0; i < rank; i++) axes[i] = ir_loops_for(&s, 'i', i, ir_type_dim(x, i), "serial");
  ir_loops_if(&s, ir_expr_binary(l->context, IR_S_AND, ir_expr_cast(l->context, ir_loops_load(&s, l->in[0], axes), IR_BOOL), room));
  put_column(&s, at, rank, axes);
  for (size_t i = 0; i <= rank; i++) ir_loops_close(&s);
  ir_loops_while(&s, room);
  put_column(&s, at, rank, NULL);
  return true;
}
