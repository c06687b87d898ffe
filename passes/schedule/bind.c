// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/bind.c - loops as grids: the rounds of a parallel loop are spread over workgroups and the invocations in
 * them. Needs loop form. */
#include "ir/simplify.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/grid.h"

enum { MOST_GROUPS = 65535 /* on one axis, on every device */ };

static const ir_expr *simple(ir_grid *g, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_simplify(g->frame.context, g->nest->facts, ir_expr_binary(g->frame.context, code, a, b));
}

static const ir_expr *number(ir_grid *g, int64_t value) { return ir_expr_i64(g->frame.context, value); }

ir_grid ir_grid_before(ir_nest *nest, ir_op *loop, const ir_expr **rounds) {
  const ir_string *name = ir_loop_variable(loop)->name;
  ir_grid grid = {.nest = nest, .b = ir_before(loop), .frame = ir_nest_frame(nest), .name = name ? name->text : "i"};
  *rounds = ir_frame_use(&grid.frame, ir_op_operand(loop, 0));
  return grid;
}

ir_value *ir_grid_bind(ir_grid *g, const ir_expr *extent, const char *end, const char *axis) {
  ir_value *rounds = ir_nest_scalar(&g->b, &g->frame, extent);
  ir_value *variable = ir_nest_for(g->nest, &g->b, rounds, ir_arena_printf(g->nest->scratch, "%s_%s", g->name, end), "bind");
  ir_set(ir_value_region(variable)->parent, "axis", ir_attr_id(g->frame.context, ir_slice_of(axis)));
  return variable;
}

static const ir_expr *bound(ir_grid *g, const ir_expr *extent, const char *end, const char *axis) {
  return ir_frame_use(&g->frame, ir_grid_bind(g, extent, end, axis));
}

const ir_expr *ir_grid_groups(ir_grid *g, const ir_expr *rounds, int64_t size) {
  const ir_expr *groups = simple(g, IR_S_CEILDIV, rounds, number(g, size));
  int64_t count;
  bool few = ir_expr_is_int(groups, &count) && count <= MOST_GROUPS;
  if (few) return simple(g, IR_S_MUL, bound(g, groups, "g", "group.x"), number(g, size));
  const ir_expr *most = number(g, MOST_GROUPS);
  const ir_expr *row = bound(g, simple(g, IR_S_CEILDIV, groups, most), "r", "group.y");
  const ir_expr *column = bound(g, simple(g, IR_S_MIN, groups, most), "g", "group.x");
  const ir_expr *group = simple(g, IR_S_ADD, simple(g, IR_S_MUL, row, most), column);
  return simple(g, IR_S_MUL, group, number(g, size));
}

bool ir_grid_is_whole(const ir_expr *rounds, int64_t size) {
  int64_t count;
  return ir_expr_is_int(rounds, &count) && count % size == 0 && count / size <= MOST_GROUPS;
}

ir_value *ir_grid_round(ir_grid *g, const ir_expr *expr, const ir_expr *rounds, bool whole) {
  ir_value *round = ir_nest_let(&g->b, &g->frame, g->name, expr);
  ir_frame own = ir_nest_frame(g->nest);
  const ir_expr *end = ir_frame_take(&own, &g->frame, rounds);
  if (!whole) ir_nest_if(g->nest, &g->b, &own, ir_expr_binary(own.context, IR_S_LT, ir_frame_use(&own, round), end));
  return round;
}

bool ir_transform_bind(ir_transform *t, ir_op *loop, int64_t size) {
  if (!ir_grid_can_bind(t, loop) || !ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  ir_module *module = t->func->item.module;
  ir_copy c = {.nest = {.module = module, .context = module->context, .scratch = t->scratch, .facts = ir_func_facts(t->func)}};
  const ir_expr *rounds;
  ir_grid g = ir_grid_before(&c.nest, loop, &rounds);
  int64_t count = 0;
  bool known = ir_expr_is_int(rounds, &count);
  if (known && count < size) size = count > 0 ? count : 1;
  const ir_expr *at = ir_grid_groups(&g, rounds, size);
  if (size > 1) at = simple(&g, IR_S_ADD, at, bound(&g, number(&g, size), "l", "local.x"));
  ir_map_put(t->scratch, &c.nest.values, ir_loop_variable(loop), ir_grid_round(&g, at, rounds, ir_grid_is_whole(rounds, size)));
  ir_copy_region(&c, g.b, ir_op_region(loop, 0));
  ir_op_erase(loop);
  return true;
}
