// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/bind.c - loops as grids: the rounds of a parallel loop are spread over workgroups and the invocations in
 * them, and the steps that do so for a kernel. Needs loop form. */
#include "ir/simplify.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/transform.h"

enum {
  MOST_GROUPS = 65535, /* on one axis, on every device */
  GROUP = 64,          /* invocations of a workgroup */
};

static bool refuse(ir_transform *t, const char *why) {
  t->problem = why;
  return false;
}

static ir_value *variable_of(const ir_op *loop) { return ir_op_region(loop, 0)->args[0]; }

static bool is_parallel(const ir_op *loop) { return !strcmp(ir_get_word(loop, "mode"), "parallel"); }

/* --- the transform --- */

struct bind {
  ir_transform *t;
  ir_nest *nest;
  ir_builder b;
  ir_frame frame;
  const char *name;
};

static const ir_expr *simple(struct bind *k, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_simplify(k->frame.context, k->nest->facts, ir_expr_binary(k->frame.context, code, a, b));
}

static const ir_expr *number(struct bind *k, int64_t value) { return ir_expr_i64(k->frame.context, value); }

/* `for NAME_END < EXTENT bind(AXIS)`; its variable as an expression. */
static const ir_expr *open(struct bind *k, const ir_expr *extent, const char *end, const char *axis) {
  ir_value *rounds = ir_nest_scalar(&k->b, &k->frame, extent);
  const char *name = ir_arena_printf(k->t->scratch, "%s_%s", k->name, end);
  ir_value *variable = ir_nest_for(k->nest, &k->b, rounds, name, "bind");
  ir_set(ir_value_region(variable)->parent, "axis", ir_attr_id(k->frame.context, ir_slice_of(axis)));
  return ir_frame_use(&k->frame, variable);
}

/* Which round GROUP of SIZE invocations begins with; the loops over groups are opened. */
static const ir_expr *open_groups(struct bind *k, const ir_expr *extent, int64_t size) {
  const ir_expr *groups = simple(k, IR_S_CEILDIV, extent, number(k, size));
  int64_t count;
  bool few = ir_expr_is_int(groups, &count) && count <= MOST_GROUPS;
  if (few) return simple(k, IR_S_MUL, open(k, groups, "g", "group.x"), number(k, size));
  const ir_expr *most = number(k, MOST_GROUPS);
  const ir_expr *row = open(k, simple(k, IR_S_CEILDIV, groups, most), "r", "group.y");
  const ir_expr *column = open(k, simple(k, IR_S_MIN, groups, most), "g", "group.x");
  const ir_expr *group = simple(k, IR_S_ADD, simple(k, IR_S_MUL, row, most), column);
  return simple(k, IR_S_MUL, group, number(k, size));
}

bool ir_transform_bind(ir_transform *t, ir_op *loop, int64_t size) {
  if (!is_parallel(loop)) return refuse(t, "the loop's rounds are not independent (parallel)");
  if (ir_op_parent(loop)) return refuse(t, "the loop is inside of another");
  if (!ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  ir_module *module = t->func->item.module;
  ir_copy c = {.nest = {.module = module, .context = module->context, .scratch = t->scratch, .facts = ir_func_facts(t->func)}};
  struct bind k = {.t = t, .nest = &c.nest, .b = ir_before(loop), .frame = ir_nest_frame(&c.nest)};
  const ir_string *name = variable_of(loop)->name;
  k.name = name ? name->text : "i";
  const ir_expr *extent = ir_frame_use(&k.frame, ir_op_operand(loop, 0));
  int64_t rounds = 0;
  bool known = ir_expr_is_int(extent, &rounds);
  if (known && rounds < size) size = rounds > 0 ? rounds : 1;
  const ir_expr *base = open_groups(&k, extent, size);
  const ir_expr *at = size > 1 ? simple(&k, IR_S_ADD, base, open(&k, number(&k, size), "l", "local.x")) : base;
  ir_value *index = ir_nest_let(&k.b, &k.frame, k.name, at);
  bool whole = known && rounds % size == 0 && rounds / size <= MOST_GROUPS;
  ir_frame frame = ir_nest_frame(&c.nest);
  const ir_expr *here = ir_frame_use(&frame, index), *end = ir_frame_use(&frame, ir_op_operand(loop, 0));
  if (!whole) ir_nest_if(&c.nest, &k.b, &frame, ir_expr_binary(frame.context, IR_S_LT, here, end));
  ir_map_put(t->scratch, &c.nest.values, variable_of(loop), index);
  ir_copy_region(&c, k.b, ir_op_region(loop, 0));
  ir_op_erase(loop);
  return true;
}

/* --- the rule --- */

static ir_op *only_loop(const ir_region *region) {
  ir_op *only = NULL;
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    if (only || !ir_is(op, IR_FOR)) return NULL;
    only = op;
  }
  return only;
}

static bool is_independent_of(const ir_op *loop, const ir_value *variable) {
  const ir_op *op = ir_value_op(ir_op_operand(loop, 0));
  if (ir_op_operand(loop, 0) == variable) return false;
  for (size_t i = 0; op && i < op->operand_count; i++) {
    if (ir_op_operand(op, i) == variable) return false;
  }
  return true;
}

enum { MOST_LOOPS = 32 };

const char *ir_transform_choose_grid(ir_func *func, ir_arena *arena) {
  const ir_string *names[MOST_LOOPS];
  size_t count = 0;
  for (ir_op *loop = only_loop(func->body), *outer = NULL; loop && is_parallel(loop) && count < MOST_LOOPS; loop = only_loop(ir_op_region(loop, 0))) {
    if (outer && !is_independent_of(loop, variable_of(outer))) break;
    names[count++] = variable_of(loop)->name;
    outer = loop;
  }
  if (!count) return NULL;
  ir_text steps = {0};
  for (size_t i = count - 1; i > 0; i--) ir_text_printf(&steps, "fuse(%s), ", names[i - 1]->text);
  ir_text_put(&steps, "bind(");
  for (size_t i = 0; i < count; i++) ir_text_printf(&steps, "%s%s", i ? "_" : "", names[i]->text);
  ir_text_printf(&steps, ", %d)", GROUP);
  const char *copy = ir_arena_copy(arena, steps.at, steps.length);
  ir_text_free(&steps);
  return copy;
}
