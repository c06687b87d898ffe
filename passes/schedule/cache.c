// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/cache.c - what a round of a loop loads from a buffer is first copied into local memory, by independent
 * rounds; a workgroup shares them and the memory. Needs loop form.
 *
 * An index is a sum of what is fixed in a round of the loop and of what the loops inside add, a number in a range that must be
 * known; the copy has an axis as long as that range. Bounds that such a sum is kept to (min, max) are kept by the copying, which
 * keeps to the buffer as well. */
#include "ir/simplify.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/transform.h"

enum { MOST_ELEMENTS = 1 << 14, MOST_AXES = 8, MOST_BOUNDS = 4 };

/* An index: FIXED plus MOVING, which is at least 0 and below EXTENT, kept to bounds, the innermost last. */
struct part {
  const ir_expr *fixed, *moving;
  int64_t extent; /* 0: not known */
  size_t bound_count;
  struct bound {
    ir_scalar_code code; /* min, max */
    const ir_expr *with;
  } bounds[MOST_BOUNDS];
};

struct cache {
  ir_transform *t;
  ir_nest nest;
  ir_op *loop;
  ir_value *buffer, *copy;
  size_t rank;
  ir_map inner;  /* values that differ in a round of LOOP */
  ir_facts *facts;
  ir_frame all;  /* the words of facts: values have one number in the whole function */
  struct part parts[MOST_AXES]; /* of all loads; nothing is fixed: none has been seen */
  const char *problem;
};

static const ir_expr *number(struct cache *c, int64_t value) { return ir_expr_i64(c->nest.context, value); }

static const ir_expr *simple(struct cache *c, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_simplify(c->nest.context, c->facts, ir_expr_binary(c->nest.context, code, a, b));
}

/* --- what is known of values --- */

static bool see_inner(void *user, ir_op *op) {
  struct cache *c = user;
  if (ir_is(op, IR_STORE) && ir_op_operand(op, 0) == c->buffer) return ir_transform_refuse(c->t, "the buffer is written in the loop");
  if (ir_is(op, IR_FOR)) {
    ir_map_put(c->t->scratch, &c->inner, ir_loop_variable(op), c);
    ir_loop_count(c->facts, &c->all, op);
  }
  if (!ir_is(op, IR_SCALAR) || (op->flags & IR_OP_INLINE)) return true;
  ir_map_put(c->t->scratch, &c->inner, ir_op_result(op, 0), c);
  const ir_expr *value = ir_frame_import(&c->all, op, ir_get_expr(op, "value"), NULL, NULL, NULL);
  if (value->dtype != IR_I64 || value->lanes != 1 || value->has_loads) return true;
  int64_t least, most;
  ir_range_of(c->nest.context, c->facts, value, &least, &most);
  ir_facts_range(c->facts, ir_frame_use(&c->all, ir_op_result(op, 0)), least, most);
  return true;
}

/* --- an index taken apart --- */

struct varies {
  struct cache *c;
  bool found;
};

static void see_node(void *user, const ir_expr *node) {
  struct varies *v = user;
  if (node->code == IR_S_LOAD) v->found = true;
  if (node->code == IR_S_ARG) v->found |= ir_map_has(&v->c->inner, v->c->all.operands[node->arg]);
}

static bool varies(struct cache *c, const ir_expr *expr) {
  struct varies v = {c, false};
  ir_expr_walk(c->nest.context, expr, see_node, &v);
  return v.found;
}

static void add_terms(struct cache *c, const ir_expr *expr, bool negative, const ir_expr **fixed, const ir_expr **moving) {
  if (expr->code == IR_S_ADD || expr->code == IR_S_SUB) {
    add_terms(c, expr->kids[0], negative, fixed, moving);
    add_terms(c, expr->kids[1], negative != (expr->code == IR_S_SUB), fixed, moving);
    return;
  }
  const ir_expr **sum = varies(c, expr) ? moving : fixed;
  *sum = simple(c, negative ? IR_S_SUB : IR_S_ADD, *sum, expr);
}

static const ir_expr *take_bounds(struct cache *c, const ir_expr *expr, struct part *part) {
  while ((expr->code == IR_S_MIN || expr->code == IR_S_MAX) && part->bound_count < MOST_BOUNDS) {
    bool first = varies(c, expr->kids[0]), second = varies(c, expr->kids[1]);
    if (first == second) break;
    part->bounds[part->bound_count++] = (struct bound){(ir_scalar_code)expr->code, expr->kids[first ? 1 : 0]};
    expr = expr->kids[first ? 0 : 1];
  }
  return expr;
}

static struct part part_of(struct cache *c, const ir_expr *index) {
  struct part part = {.fixed = number(c, 0), .moving = number(c, 0)};
  const ir_expr *sum = take_bounds(c, ir_simplify(c->nest.context, c->facts, index), &part);
  add_terms(c, sum, false, &part.fixed, &part.moving);
  int64_t least, most;
  ir_range_of(c->nest.context, c->facts, part.moving, &least, &most);
  if (least < -MOST_ELEMENTS || most > MOST_ELEMENTS) return part;
  part.extent = most - least + 1;
  part.fixed = simple(c, IR_S_ADD, part.fixed, number(c, least));
  part.moving = simple(c, IR_S_SUB, part.moving, number(c, least));
  return part;
}

/* Equal but for what moves. */
static bool begin_alike(const struct part *a, const struct part *b) {
  if (a->fixed != b->fixed || a->bound_count != b->bound_count) return false;
  for (size_t i = 0; i < a->bound_count; i++) {
    if (a->bounds[i].code != b->bounds[i].code || a->bounds[i].with != b->bounds[i].with) return false;
  }
  return true;
}

/* --- the loads --- */

static const ir_expr *measure(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  struct cache *c = user;
  (void)frame;
  if (leaf->code != IR_S_LOAD || value != c->buffer) return NULL;
  for (size_t i = 0; i < c->rank; i++) {
    struct part part = part_of(c, leaf->kids[i]), *all = &c->parts[i];
    if (!part.extent) c->problem = "how far the loop's rounds reach in the buffer is not known";
    if (all->fixed && !begin_alike(all, &part)) c->problem = "the loop's rounds load several parts of the buffer";
    int64_t extent = part.extent > all->extent ? part.extent : all->extent;
    *all = part;
    all->extent = extent;
  }
  return NULL;
}

static const ir_expr *replace(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  struct cache *c = user;
  if (leaf->code != IR_S_LOAD || value != c->buffer) return NULL;
  const ir_expr *indices[MOST_AXES];
  for (size_t i = 0; i < c->rank; i++) indices[i] = part_of(c, leaf->kids[i]).moving;
  return ir_frame_load(frame, c->copy, c->rank, indices);
}

static bool loads_it(const struct cache *c, const ir_op *op) {
  for (size_t i = ir_is(op, IR_STORE); i < op->operand_count; i++) {
    const ir_op *word = ir_value_op(ir_op_operand(op, i));
    if (ir_op_operand(op, i) == c->buffer || (word && (word->flags & IR_OP_INLINE) && loads_it(c, word))) return true;
  }
  return false;
}

static bool measure_op(void *user, ir_op *op) {
  struct cache *c = user;
  if ((op->flags & IR_OP_INLINE) || !loads_it(c, op)) return true;
  if (!ir_is(op, IR_STORE) && !ir_is(op, IR_SCALAR)) return ir_transform_refuse(c->t, "a loop or a condition depends on the buffer");
  const char *name = ir_is(op, IR_STORE) ? "args" : "value";
  const ir_expr *value = ir_is(op, IR_STORE) ? ir_get_expr_at(op, name, 0) : ir_get_expr(op, name);
  ir_frame_import(&c->all, op, value, NULL, measure, c);
  return !c->problem || ir_transform_refuse(c->t, c->problem);
}

static void replace_in(struct cache *c, ir_region *region) {
  ir_each_op(op, region) {
    for (size_t i = 0; i < op->region_count; i++) replace_in(c, ir_op_region(op, i));
    if ((op->flags & IR_OP_INLINE) || !loads_it(c, op)) continue;
    ir_builder b = ir_before(op);
    ir_frame own = ir_nest_frame(&c->nest);
    if (ir_is(op, IR_SCALAR)) {
      const ir_expr *value = ir_frame_import(&c->all, op, ir_get_expr(op, "value"), NULL, replace, c);
      const ir_string *name = ir_op_result(op, 0)->name;
      ir_value *fresh = ir_nest_let(&b, &own, name ? name->text : NULL, ir_frame_take(&own, &c->all, value));
      ir_value_replace(ir_op_result(op, 0), fresh);
      ir_map_put(c->t->scratch, &c->inner, fresh, c);
    } else {
      const ir_attr *index = ir_get(op, "index")->items[0];
      const ir_expr **indices = ir_new_array(c->t->scratch, const ir_expr *, index->count + 1);
      for (size_t i = 0; i < index->count; i++) {
        const ir_expr *old = ir_frame_import(&c->all, op, ir_attr_as_expr(c->nest.context, index->items[i]), NULL, NULL, NULL);
        indices[i] = ir_frame_take(&own, &c->all, old);
      }
      const ir_expr *value = ir_frame_import(&c->all, op, ir_get_expr_at(op, "args", 0), NULL, replace, c);
      ir_nest_store(&b, &own, ir_op_operand(op, 0), index->count, indices, ir_frame_take(&own, &c->all, value));
    }
    ir_op_erase(op);
  }
}

/* --- the copying --- */

/* Everything that is copied stands in the buffer: where an axis may be empty, nothing is. */
static void only_where_any(struct cache *c, ir_builder *b) {
  for (size_t i = 0; i < c->rank; i++) {
    const ir_expr *dim = ir_type_dim(c->buffer->type, i);
    ir_frame own = ir_nest_frame(&c->nest);
    const ir_expr *any = ir_expr_binary(c->nest.context, IR_S_LT, number(c, 0), dim);
    if (ir_prove(c->nest.context, c->facts, any) != IR_PROVEN) ir_nest_if(&c->nest, b, &own, any);
  }
}

/* The index for what moved to AT. */
static const ir_expr *bounded(struct cache *c, const struct part *part, const ir_expr *at) {
  const ir_expr *index = simple(c, IR_S_ADD, part->fixed, at);
  for (size_t i = part->bound_count; i-- > 0;) index = simple(c, part->bounds[i].code, index, part->bounds[i].with);
  return index;
}

static void fill(struct cache *c, ir_builder b) {
  int64_t count = 1;
  for (size_t i = 0; i < c->rank; i++) count *= c->parts[i].extent;
  only_where_any(c, &b);
  ir_frame none = ir_nest_frame(&c->nest);
  const char *name = ir_arena_printf(c->t->scratch, "%s_f", c->copy->name->text);
  ir_value *round = ir_nest_for(&c->nest, &b, ir_nest_scalar(&b, &none, number(c, count)), name, "parallel");
  const ir_expr *rest = ir_frame_use(&c->all, round), *at[MOST_AXES], *from[MOST_AXES];
  ir_facts_range(c->facts, rest, 0, count - 1);
  for (size_t i = c->rank; i-- > 0;) {
    at[i] = simple(c, IR_S_FLOORMOD, rest, number(c, c->parts[i].extent));
    rest = simple(c, IR_S_FLOORDIV, rest, number(c, c->parts[i].extent));
    const ir_expr *last = simple(c, IR_S_SUB, ir_type_dim(c->buffer->type, i), number(c, 1));
    from[i] = simple(c, IR_S_MAX, simple(c, IR_S_MIN, bounded(c, &c->parts[i], at[i]), last), number(c, 0));
  }
  ir_frame own = ir_nest_frame(&c->nest);
  for (size_t i = 0; i < c->rank; i++) at[i] = ir_frame_take(&own, &c->all, at[i]);
  const ir_expr *value = ir_frame_take(&own, &c->all, ir_frame_load(&c->all, c->buffer, c->rank, from));
  ir_nest_store(&b, &own, c->copy, c->rank, at, value);
}

static ir_value *find_buffer(const ir_func *func, ir_slice name) {
  for (size_t i = 0; i < func->param_count; i++) {
    ir_value *value = func->params[i].value;
    if (value && value->name && ir_is_tensor(value->type) && value->type->lanes == 1 && ir_slice_is(name, value->name->text)) return value;
  }
  return NULL;
}

bool ir_transform_cache(ir_transform *t, ir_op *loop, ir_slice name) {
  ir_module *module = t->func->item.module;
  struct cache c = {.t = t, .loop = loop, .buffer = find_buffer(t->func, name)};
  c.nest = (ir_nest){.module = module, .context = module->context, .scratch = t->scratch, .facts = ir_func_facts(t->func)};
  c.facts = ir_facts_new(module->context, t->scratch, c.nest.facts);
  c.all = ir_nest_frame(&c.nest);
  if (!c.buffer) return ir_transform_refuse(t, "there is no such buffer of scalars among the parameters");
  c.rank = c.buffer->type->count;
  if (c.rank > MOST_AXES) return ir_transform_refuse(t, "the buffer has more than 8 axes");
  if (!ir_copy_can(ir_op_region(loop, 0), &t->problem)) return false;
  for (const ir_op *outer = loop; outer; outer = ir_op_parent(outer)) {
    if (ir_is(outer, IR_FOR)) ir_loop_count(c.facts, &c.all, outer);
  }
  ir_region *body = ir_op_region(loop, 0);
  if (!ir_walk(body, IR_PRE_ORDER, see_inner, &c) || !ir_walk(body, IR_PRE_ORDER, measure_op, &c)) return false;
  int64_t count = 1;
  const ir_expr *dims[MOST_AXES];
  for (size_t i = 0; i < c.rank; i++) {
    if (!c.parts[i].fixed) return ir_transform_refuse(t, "the loop does not load from the buffer");
    if (c.parts[i].extent > MOST_ELEMENTS / count) return ir_transform_refuse(t, "a round of the loop loads more than 16384 elements");
    count *= c.parts[i].extent;
    dims[i] = number(&c, c.parts[i].extent);
  }
  ir_builder b = ir_before(body->first);
  c.copy = ir_nest_alloc(&c.nest, &b, ir_arena_printf(t->scratch, "%s_c", c.buffer->name->text), "local", ir_type_dtype(c.buffer->type), c.rank, dims);
  replace_in(&c, body);
  fill(&c, ir_before(ir_value_op(c.copy)->next));
  return true;
}
