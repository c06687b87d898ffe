// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_loop.c - operators that compute form cannot say, since the order of their steps matters: scans and
 * scatters. They become loops at once; what is independent is marked parallel. */
#include "passes/lower/lower.h"
#include "passes/schedule/nest.h"

/* Loops being built: where the next operation goes. */
struct loops {
  ir_lowering *l;
  ir_nest nest;
  ir_builder b;
};

static struct loops open_loops(ir_lowering *l) {
  return (struct loops){l, {.module = l->func->item.module, .context = l->context, .scratch = l->arena, .facts = ir_func_facts(l->func)}, l->b};
}

static ir_value *loop(struct loops *s, char letter, size_t i, const ir_expr *extent, const char *mode) {
  const char *name = ir_arena_printf(s->l->arena, "%c%zu_", letter, i);
  return ir_nest_for(&s->nest, &s->b, ir_build_scalar(&s->b, extent, NULL, 0), name, mode);
}

/* Loads and stores at loop variables. */
static const ir_expr *load(ir_frame *frame, ir_value *buffer, ir_value *const *axes) {
  const ir_expr *index[IR_LOWER_AXES];
  if (ir_is_scalar(buffer->type)) return ir_frame_use(frame, buffer);
  for (size_t i = 0; i < buffer->type->count; i++) index[i] = ir_frame_use(frame, axes[i]);
  return ir_frame_load(frame, buffer, buffer->type->count, index);
}

/* --- scans --- */
bool legalize_scan(ir_lowering *l) {
  const ir_type *type = ir_lower_result(l, 0);
  if (!ir_has_attr(l->op, "axis")) return ir_lower_missing(l, "no axis, which decompose-ops replaces");
  size_t rank = type->count, axis = ir_lower_normal_axis(l->op, "axis", rank);
  bool product = ir_is(l->op, IR_CUMPROD), exclusive = ir_get_bool(l->op, "exclusive");
  ir_dtype dtype = ir_type_dtype(type), wide = ir_lower_wide(dtype);
  struct loops s = open_loops(l);
  ir_value *axes[IR_LOWER_AXES];
  for (size_t i = 0, outer = 0; i < rank; i++) {
    if (i != axis) axes[i] = loop(&s, 'i', i, ir_type_dim(type, i), outer++ ? "serial" : "parallel");
  }
  ir_value *acc = ir_nest_alloc(&s.nest, &s.b, "acc", "local", wide, 0, NULL);
  ir_frame start = ir_nest_frame(&s.nest);
  ir_nest_store(&s.b, &start, acc, 0, NULL, ir_expr_cast(l->context, ir_expr_int(l->context, IR_I32, product), wide));
  axes[axis] = loop(&s, 'k', axis, ir_type_dim(type, axis), "serial");
  for (int step = 0; step < 2; step++) {
    ir_frame frame = ir_nest_frame(&s.nest);
    const ir_expr *value = ir_frame_load(&frame, acc, 0, NULL), *index[IR_LOWER_AXES];
    if (step == exclusive) { /* the element joins, before or after the result is stored */
      const ir_expr *x = ir_expr_cast(l->context, load(&frame, l->in[0], axes), wide);
      ir_nest_store(&s.b, &frame, acc, 0, NULL, ir_expr_binary(l->context, product ? IR_S_MUL : IR_S_ADD, value, x));
      continue;
    }
    for (size_t i = 0; i < rank; i++) index[i] = ir_frame_use(&frame, axes[i]);
    ir_nest_store(&s.b, &frame, l->out[0], rank, index, ir_expr_cast(l->context, value, dtype));
  }
  return true;
}

/* --- scatters --- */
static void copy_operand(ir_lowering *l) {
  const ir_expr *axes[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  ir_lower_store(&n, NULL, NULL, NULL, ir_lower_load(&n, l->in[0], axes), NULL);
}

/* result[index] = result[index] combined with UPDATE */
static void put(struct loops *s, ir_frame *frame, const ir_expr *const *index, const ir_expr *update) {
  static const struct {
    const char *name;
    ir_scalar_code code;
  } codes[] = {{"add", IR_S_ADD}, {"mul", IR_S_MUL}, {"max", IR_S_MAX}, {"min", IR_S_MIN}};
  ir_value *y = s->l->out[0];
  size_t rank = y->type->count;
  for (size_t i = 0; i < ir_count_of(codes); i++) {
    if (strcmp(codes[i].name, ir_get_word(s->l->op, "reduction"))) continue;
    update = ir_expr_binary(s->l->context, codes[i].code, ir_frame_load(frame, y, rank, index), update);
  }
  ir_nest_store(&s->b, frame, y, rank, index, update);
}

/* The loop over the axis of indices is the innermost: the others lead to different elements. */
bool legalize_scatter_elements(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *indices = ir_lower_type(l, 1);
  size_t rank = x->count, axis = ir_lower_normal_axis(l->op, "axis", rank);
  copy_operand(l);
  struct loops s = open_loops(l);
  ir_value *axes[IR_LOWER_AXES];
  for (size_t i = 0, outer = 0; i < rank; i++) {
    if (i != axis) axes[i] = loop(&s, 'i', i, ir_type_dim(indices, i), outer++ ? "serial" : "parallel");
  }
  axes[axis] = loop(&s, 'k', axis, ir_type_dim(indices, axis), "serial");
  ir_frame frame = ir_nest_frame(&s.nest);
  const ir_expr *index[IR_LOWER_AXES];
  for (size_t i = 0; i < rank; i++) index[i] = ir_frame_use(&frame, axes[i]);
  index[axis] = ir_lower_index(l->context, load(&frame, l->in[1], axes), ir_type_dim(x, axis));
  put(&s, &frame, index, load(&frame, l->in[2], axes));
  return true;
}

bool legalize_scatter_nd(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0), *indices = ir_lower_type(l, 1), *updates = ir_lower_type(l, 2);
  size_t rows = indices->count - 1, count = ir_is_tensor(updates) ? updates->count : 0;
  int64_t depth = 0;
  ir_expr_is_int(ir_type_dim(indices, rows), &depth);
  copy_operand(l);
  struct loops s = open_loops(l);
  ir_value *axes[IR_LOWER_AXES];
  for (size_t i = 0; i < count; i++) axes[i] = loop(&s, 'i', i, ir_type_dim(updates, i), "serial");
  ir_frame frame = ir_nest_frame(&s.nest);
  const ir_expr *row[IR_LOWER_AXES], *index[IR_LOWER_AXES];
  for (size_t i = 0; i < rows; i++) row[i] = ir_frame_use(&frame, axes[i]);
  for (size_t i = 0; i < x->count; i++) {
    if (i >= (size_t)depth) {
      index[i] = ir_frame_use(&frame, axes[rows + i - (size_t)depth]);
      continue;
    }
    row[rows] = ir_expr_i64(l->context, (int64_t)i);
    index[i] = ir_lower_index(l->context, ir_frame_load(&frame, l->in[1], rows + 1, row), ir_type_dim(x, i));
  }
  put(&s, &frame, index, load(&frame, l->in[2], axes));
  return true;
}
