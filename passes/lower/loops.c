// SPDX-License-Identifier: Apache-2.0
/* passes/lower/loops.c - what rules are written with that make loops at once. Needs passes/schedule/nest. */
#include "passes/lower/loops.h"

ir_loops ir_loops_open(ir_lowering *l) {
  return (ir_loops){l, {.module = l->func->item.module, .context = l->context, .scratch = l->arena, .facts = ir_func_facts(l->func)}, l->b,
                    {.context = l->context, .arena = l->arena}};
}

const ir_expr *ir_loops_for(ir_loops *s, char letter, size_t i, const ir_expr *extent, const char *mode) {
  ir_frame own = ir_nest_frame(&s->nest);
  extent = ir_frame_take(&own, &s->frame, extent);
  ir_value *axis = ir_nest_for(&s->nest, &s->b, ir_nest_scalar(&s->b, &own, extent), ir_arena_printf(s->l->arena, "%c%zu_", letter, i), mode);
  return ir_frame_use(&s->frame, axis);
}

void ir_loops_alone(ir_loops *s) { ir_loops_for(s, 'o', 0, ir_expr_i64(s->l->context, 1), "parallel"); }

void ir_loops_nest(ir_loops *s, size_t rank, const ir_expr *const *extents, size_t but, bool parallel, const ir_expr **axes) {
  bool shared = parallel && rank > (but < rank);
  if (!shared) ir_loops_alone(s);
  for (size_t i = 0; i < rank; i++) {
    if (i == but) continue;
    axes[i] = ir_loops_for(s, 'i', i, extents[i], parallel ? "parallel" : "serial");
    parallel = false;
  }
}

void ir_loops_if(ir_loops *s, const ir_expr *condition) {
  ir_frame own = ir_nest_frame(&s->nest);
  condition = ir_frame_take(&own, &s->frame, condition);
  ir_nest_if(&s->nest, &s->b, &own, condition);
}

void ir_loops_while(ir_loops *s, const ir_expr *condition) {
  ir_frame own = ir_nest_frame(&s->nest);
  const ir_attr *attr = ir_attr_expr(s->l->context, ir_frame_take(&own, &s->frame, condition));
  ir_region *region = ir_region_new(s->nest.module, s->b.region->func, 0);
  ir_build_with(&s->b, IR_WHILE, own.operands, own.count, IR_SET({"condition", attr}), &region, 1, NULL, 0);
  s->b.region = region;
  s->b.before = NULL;
}

void ir_loops_close(ir_loops *s) {
  s->b.region = s->b.region->parent->region;
  s->b.before = NULL;
}

const ir_expr *ir_loops_let(ir_loops *s, const char *name, const ir_expr *expr) {
  ir_frame own = ir_nest_frame(&s->nest);
  expr = ir_frame_take(&own, &s->frame, expr);
  return ir_frame_use(&s->frame, ir_nest_let(&s->b, &own, name, expr));
}

ir_value *ir_loops_variable(ir_loops *s, const char *name, const ir_expr *start) {
  ir_value *variable = ir_nest_alloc(&s->nest, &s->b, name, "local", (ir_dtype)start->dtype, 0, NULL);
  ir_loops_store(s, variable, NULL, start);
  return variable;
}

const ir_expr *ir_loops_load(ir_loops *s, ir_value *buffer, const ir_expr *const *index) {
  if (ir_is_scalar(buffer->type)) return ir_frame_use(&s->frame, buffer);
  return ir_frame_load(&s->frame, buffer, buffer->type->count, index);
}

void ir_loops_store(ir_loops *s, ir_value *buffer, const ir_expr *const *index, const ir_expr *value) {
  ir_frame own = ir_nest_frame(&s->nest);
  const ir_expr *at[IR_LOWER_AXES];
  size_t rank = buffer->type->count;
  value = ir_expr_cast(s->l->context, ir_frame_take(&own, &s->frame, value), ir_type_dtype(buffer->type));
  for (size_t i = 0; i < rank; i++) at[i] = ir_frame_take(&own, &s->frame, index[i]);
  ir_nest_store(&s->b, &own, buffer, rank, at, value);
}
