// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/transform.c - loops split, exchanged, joined, marked. A transform builds the new loops before the old one,
 * which is erased then. Needs loop form. */
#include "passes/schedule/transform.h"

#include "ir/simplify.h"
#include "passes/schedule/copy.h"

bool ir_transform_refuse(ir_transform *t, const char *why) {
  t->problem = why;
  return false;
}

struct find {
  ir_slice name;
  ir_op *found;
};

static bool see_loop(void *user, ir_op *op) {
  struct find *f = user;
  const ir_string *name = ir_is(op, IR_FOR) ? ir_loop_variable(op)->name : NULL;
  if (name && ir_slice_is(f->name, name->text)) f->found = op;
  return !f->found;
}

ir_op *ir_transform_find(const ir_transform *t, ir_slice name) {
  struct find f = {.name = name};
  ir_walk(t->func->body, IR_PRE_ORDER, see_loop, &f);
  return f.found;
}

bool ir_loop_has_mode(const ir_op *loop, const char *mode) { return !strcmp(ir_get_word(loop, "mode"), mode); }

static bool is_independent(const ir_op *loop) { return ir_loop_has_mode(loop, "parallel") || ir_loop_has_mode(loop, "vectorize"); }

static ir_copy start(ir_transform *t) {
  ir_module *module = t->func->item.module;
  return (ir_copy){.nest = {.module = module, .context = module->context, .scratch = t->scratch, .facts = ir_func_facts(t->func)}};
}

ir_op *ir_loop_only(const ir_region *region) {
  ir_op *only = NULL;
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    if (only || !ir_is(op, IR_FOR)) return NULL;
    only = op;
  }
  return only;
}

ir_value *ir_loop_variable(const ir_op *loop) { return ir_op_region(loop, 0)->args[0]; }

static const char *named(ir_transform *t, const ir_op *loop, const char *end) {
  const ir_string *name = ir_loop_variable(loop)->name;
  return ir_arena_printf(t->scratch, "%s%s", name ? name->text : "i", end);
}

/* --- split --- */
struct split {
  ir_transform *t;
  ir_op *loop;
  int64_t factor;
  const ir_expr *extent; /* in terms of frame */
  ir_frame frame;
};

static const ir_expr *by_factor(const struct split *s, ir_scalar_code code) {
  const ir_expr *expr = ir_expr_binary(s->frame.context, code, s->extent, ir_expr_i64(s->frame.context, s->factor));
  return ir_simplify(s->frame.context, ir_func_facts(s->t->func), expr);
}

/* `for i_END < COUNT { body of OUTER * factor + i_END }` */
static void split_part(struct split *s, ir_builder b, ir_value *outer, const ir_expr *count, const char *end) {
  ir_copy c = start(s->t);
  ir_value *extent = ir_nest_scalar(&b, &s->frame, count);
  ir_value *inner = ir_nest_for(&c.nest, &b, extent, named(s->t, s->loop, end), ir_get_word(s->loop, "mode"));
  ir_set(ir_value_region(inner)->parent, "factor", ir_get(s->loop, "factor"));
  ir_frame frame = ir_nest_frame(&c.nest);
  const ir_expr *base = ir_expr_binary(frame.context, IR_S_MUL, ir_frame_use(&frame, outer), ir_expr_i64(frame.context, s->factor));
  const ir_expr *sum = ir_expr_binary(frame.context, IR_S_ADD, base, ir_frame_use(&frame, inner));
  ir_value *index = ir_build_scalar(&b, sum, frame.operands, frame.count);
  ir_map_put(s->t->scratch, &c.nest.values, ir_loop_variable(s->loop), index);
  ir_copy_region(&c, b, ir_op_region(s->loop, 0));
  ir_nest_drop(index);
}

static bool can_split(ir_transform *t, ir_op *loop, int64_t factor) {
  if (factor < 2) return ir_transform_refuse(t, "the factor must be 2 or more");
  if (ir_loop_has_mode(loop, "bind")) return ir_transform_refuse(t, "the loop is bound");
  return ir_copy_can(ir_op_region(loop, 0), &t->problem);
}

static struct split start_split(ir_copy *c, ir_transform *t, ir_op *loop, int64_t factor) {
  struct split s = {.t = t, .loop = loop, .factor = factor, .frame = ir_nest_frame(&c->nest)};
  s.extent = ir_frame_use(&s.frame, ir_op_operand(loop, 0));
  return s;
}

/* The loop over COUNT times FACTOR rounds; B then stands in it. */
static ir_value *open_outer(struct split *s, ir_copy *c, ir_builder *b, const ir_expr *count) {
  ir_value *extent = ir_nest_scalar(b, &s->frame, count);
  return ir_nest_for(&c->nest, b, extent, named(s->t, s->loop, "_o"), is_independent(s->loop) ? "parallel" : "serial");
}

bool ir_transform_split(ir_transform *t, ir_op *loop, int64_t factor) {
  if (!can_split(t, loop, factor)) return false;
  ir_copy c = start(t);
  struct split s = start_split(&c, t, loop, factor);
  int64_t rounds, rest = -1;
  if (ir_expr_is_int(s.extent, &rounds) && rounds < factor) return ir_transform_refuse(t, "the loop has fewer rounds than the factor");
  ir_expr_is_int(by_factor(&s, IR_S_FLOORMOD), &rest);
  ir_builder b = ir_before(loop);
  ir_value *outer = open_outer(&s, &c, &b, by_factor(&s, rest == 0 ? IR_S_FLOORDIV : IR_S_CEILDIV));
  const ir_expr *whole = ir_expr_i64(s.frame.context, factor);
  if (rest == 0) {
    split_part(&s, b, outer, whole, "_i");
  } else {
    ir_frame frame = s.frame;
    const ir_expr *full = by_factor(&s, IR_S_FLOORDIV);
    ir_value *is_full = ir_nest_scalar(&b, &frame, ir_expr_binary(frame.context, IR_S_LT, ir_frame_use(&frame, outer), full));
    ir_region *parts[] = {ir_region_new(c.nest.module, t->func, 0), ir_region_new(c.nest.module, t->func, 0)};
    ir_build_with(&b, IR_IF, &is_full, 1, IR_NO_ATTRS, parts, 2, NULL, 0);
    split_part(&s, ir_at_end(parts[0]), outer, whole, "_i");
    split_part(&s, ir_at_end(parts[1]), outer, by_factor(&s, IR_S_FLOORMOD), "_t");
  }
  ir_op_erase(loop);
  return true;
}

/* --- blocks --- */
bool ir_transform_block(ir_transform *t, ir_op *loop, int64_t factor) {
  if (!can_split(t, loop, factor)) return false;
  ir_copy c = start(t);
  struct split s = start_split(&c, t, loop, factor);
  ir_context *context = s.frame.context;
  int64_t rest = -1;
  ir_expr_is_int(by_factor(&s, IR_S_FLOORMOD), &rest);
  ir_builder b = ir_before(loop);
  ir_value *outer = open_outer(&s, &c, &b, by_factor(&s, IR_S_CEILDIV));
  const ir_expr *whole = ir_expr_i64(context, factor), *before = ir_expr_binary(context, IR_S_MUL, ir_frame_use(&s.frame, outer), whole);
  const ir_expr *left = ir_dim_sub(context, c.nest.facts, s.extent, before);
  split_part(&s, b, outer, rest == 0 ? whole : ir_expr_binary(context, IR_S_MIN, whole, left), "_i");
  ir_op_erase(loop);
  return true;
}

/* --- reorder and fuse --- */
bool ir_transform_reorder(ir_transform *t, ir_op *loop) {
  ir_op *inner = ir_loop_only(ir_op_region(loop, 0));
  if (!inner) return ir_transform_refuse(t, "the body is not one loop");
  if (!is_independent(loop)) return ir_transform_refuse(t, "the loop's rounds are not independent (parallel, vectorize)");
  if (ir_value_depends(ir_op_operand(inner, 0), ir_loop_variable(loop))) return ir_transform_refuse(t, "the inner loop's extent depends on the outer loop");
  if (!ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  ir_copy c = start(t);
  ir_builder b = ir_before(loop);
  ir_builder inside = ir_at_end(ir_copy_for(&c, &b, inner));
  ir_copy_region(&c, ir_at_end(ir_copy_for(&c, &inside, loop)), ir_op_region(inner, 0));
  ir_op_erase(loop);
  return true;
}

bool ir_transform_fuse(ir_transform *t, ir_op *loop) {
  ir_op *inner = ir_loop_only(ir_op_region(loop, 0));
  if (!inner) return ir_transform_refuse(t, "the body is not one loop");
  if (ir_loop_has_mode(loop, "bind") || ir_loop_has_mode(inner, "bind")) return ir_transform_refuse(t, "the loop is bound");
  if (ir_value_depends(ir_op_operand(inner, 0), ir_loop_variable(loop))) return ir_transform_refuse(t, "the inner loop's extent depends on the outer loop");
  if (!ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  ir_copy c = start(t);
  ir_builder b = ir_before(loop);
  ir_frame frame = ir_nest_frame(&c.nest);
  const ir_expr *rows = ir_frame_use(&frame, ir_op_operand(loop, 0)), *columns = ir_frame_use(&frame, ir_op_operand(inner, 0));
  ir_value *count = ir_nest_scalar(&b, &frame, ir_dim_mul(frame.context, c.nest.facts, rows, columns));
  const char *name = ir_arena_printf(t->scratch, "%s_%s", named(t, loop, ""), named(t, inner, ""));
  bool independent = is_independent(loop) && is_independent(inner);
  ir_value *both = ir_nest_for(&c.nest, &b, count, name, independent ? ir_get_word(inner, "mode") : "serial");
  const ir_expr *at = ir_frame_use(&frame, both);
  ir_value *parts[2];
  for (size_t i = 0; i < 2; i++) {
    const ir_expr *part = ir_expr_binary(frame.context, i ? IR_S_FLOORMOD : IR_S_FLOORDIV, at, columns);
    /* With a name: the expressions of a loop that is joined again would grow with each. */
    parts[i] = ir_nest_let(&b, &frame, ir_loop_variable(i ? inner : loop)->name ? ir_loop_variable(i ? inner : loop)->name->text : "i", part);
    ir_map_put(t->scratch, &c.nest.values, ir_loop_variable(i ? inner : loop), parts[i]);
  }
  ir_copy_region(&c, b, ir_op_region(inner, 0));
  for (size_t i = 0; i < 2; i++) {
    if (!parts[i]->uses) ir_op_erase(ir_value_op(parts[i]));
  }
  ir_op_erase(loop);
  return true;
}

/* --- expand --- */
enum { MOST_ROUNDS = 64 };

bool ir_transform_expand(ir_transform *t, ir_op *loop) {
  int64_t rounds;
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(loop, 0));
  if (ir_loop_has_mode(loop, "bind")) return ir_transform_refuse(t, "the loop is bound");
  if (!extent || !ir_expr_is_int(extent, &rounds) || rounds < 0 || rounds > MOST_ROUNDS) {
    return ir_transform_refuse(t, "the loop's rounds are not a constant number up to 64");
  }
  if (!ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  for (int64_t i = 0; i < rounds; i++) {
    ir_copy c = start(t);
    ir_builder b = ir_before(loop);
    ir_value *number = ir_build_scalar(&b, ir_expr_i64(c.nest.context, i), NULL, 0);
    ir_map_put(t->scratch, &c.nest.values, ir_loop_variable(loop), number);
    ir_copy_region(&c, b, ir_op_region(loop, 0));
    ir_nest_drop(number);
  }
  ir_op_erase(loop);
  return true;
}

/* --- partition --- */
struct partition {
  ir_transform *t;
  ir_op *loop;
  ir_frame frame;
  const ir_facts *facts;
};

static const ir_expr *simple(const struct partition *s, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_simplify(s->frame.context, s->facts, ir_expr_binary(s->frame.context, code, a, b));
}

/* `for i_END < COUNT { body of FROM + i_END }` */
static void partition_part(const struct partition *s, const ir_expr *from, const ir_expr *count, const char *end) {
  int64_t known;
  if (ir_expr_is_int(count, &known) && known <= 0) return;
  ir_copy c = start(s->t);
  ir_builder b = ir_before(s->loop);
  ir_value *extent = ir_nest_scalar(&b, &s->frame, count);
  ir_value *variable = ir_nest_for(&c.nest, &b, extent, named(s->t, s->loop, end), ir_get_word(s->loop, "mode"));
  ir_set(ir_value_region(variable)->parent, "factor", ir_get(s->loop, "factor"));
  ir_frame frame = s->frame;
  const ir_expr *sum = simple(s, IR_S_ADD, from, ir_frame_use(&frame, variable));
  ir_value *index = ir_build_scalar(&b, sum, frame.operands, frame.count);
  ir_map_put(s->t->scratch, &c.nest.values, ir_loop_variable(s->loop), index);
  ir_copy_region(&c, b, ir_op_region(s->loop, 0));
  ir_nest_drop(index);
}

bool ir_transform_partition(ir_transform *t, ir_op *loop, int64_t first, int64_t last) {
  if (ir_loop_has_mode(loop, "bind")) return ir_transform_refuse(t, "the loop is bound");
  if (!ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  ir_copy c = start(t);
  struct partition s = {t, loop, ir_nest_frame(&c.nest), c.nest.facts};
  ir_context *context = c.nest.context;
  const ir_expr *n = ir_frame_use(&s.frame, ir_op_operand(loop, 0)), *zero = ir_expr_i64(context, 0);
  const ir_expr *head = ir_expr_i64(context, first), *tail = ir_expr_i64(context, last);
  const ir_expr *behind = simple(&s, IR_S_SUB, n, head); /* the first */
  partition_part(&s, zero, simple(&s, IR_S_MIN, n, head), "_f");
  partition_part(&s, head, simple(&s, IR_S_MAX, simple(&s, IR_S_SUB, behind, tail), zero), "_m");
  const ir_expr *begin = simple(&s, IR_S_MAX, simple(&s, IR_S_SUB, n, tail), head);
  partition_part(&s, begin, simple(&s, IR_S_MIN, simple(&s, IR_S_MAX, behind, zero), tail), "_l");
  ir_op_erase(loop);
  return true;
}

/* --- specialize --- */
bool ir_transform_specialize(ir_transform *t, ir_op *loop, int64_t first, int64_t last) {
  if (!ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  ir_copy c = start(t);
  ir_context *context = c.nest.context;
  ir_builder b = ir_before(loop);
  ir_builder inside = ir_at_end(ir_copy_for(&c, &b, loop));
  ir_frame frame = ir_nest_frame(&c.nest);
  const ir_expr *at = ir_frame_use(&frame, ir_map_get(&c.nest.values, ir_loop_variable(loop)));
  const ir_expr *end = ir_expr_binary(context, IR_S_SUB, ir_frame_use(&frame, ir_op_operand(loop, 0)), ir_expr_i64(context, last));
  const ir_expr *begun = ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, first), at);
  const ir_expr *going = ir_expr_binary(context, IR_S_LT, at, ir_simplify(context, c.nest.facts, end));
  const ir_expr *middle = !first ? going : !last ? begun : ir_expr_binary(context, IR_S_AND, begun, going);
  ir_value *condition = ir_nest_scalar(&inside, &frame, middle);
  ir_region *parts[] = {ir_region_new(c.nest.module, t->func, 0), ir_region_new(c.nest.module, t->func, 0)};
  ir_build_with(&inside, IR_IF, &condition, 1, IR_NO_ATTRS, parts, 2, NULL, 0);
  for (size_t i = 0; i < 2; i++) ir_copy_region(&c, ir_at_end(parts[i]), ir_op_region(loop, 0));
  ir_op_erase(loop);
  return true;
}

/* --- modes --- */
bool ir_transform_mode(ir_transform *t, ir_op *loop, const char *mode, int64_t factor) {
  if (ir_loop_has_mode(loop, "bind")) return ir_transform_refuse(t, "the loop is bound");
  bool promises = !strcmp(mode, "parallel") || !strcmp(mode, "vectorize");
  if (promises && !is_independent(loop)) return ir_transform_refuse(t, "the loop's rounds are not independent (parallel, vectorize)");
  ir_context *context = ir_op_context(loop);
  ir_set(loop, "mode", ir_attr_id(context, ir_slice_of(mode)));
  ir_set(loop, "factor", factor ? ir_attr_int(context, factor) : NULL);
  return true;
}
