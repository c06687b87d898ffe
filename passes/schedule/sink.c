// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/sink.c - a loop of independent rounds moves inwards (unroll and jam): around what depends on it, so that its
 * rounds are done side by side and what they share is loaded once. Needs loop form. */
#include "base/vec.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/transform.h"

enum { MOST_ROUNDS = 64, /* what is written out when it is unrolled */ MOST_KEPT = 1024 };

struct sink {
  ir_transform *t;
  ir_op *loop;
  int64_t rounds;
  ir_slice at;      /* the loops that it stops at; empty: none, and it is unrolled */
  bool stops;       /* there is one */
  ir_copy copy;
  ir_map varying;   /* scalars that differ between the rounds, the variable among them */
  ir_vec(ir_op *) lets; /* those among them that stand in statements; computed again where they are used */
  size_t done;      /* of these, in the leaf that is open */
  ir_builder leaf;  /* in the loop that was opened last; no region: none is open */
  ir_vec(ir_op *) leaves; /* the loops of rounds */
};

/* --- what differs between rounds --- */
struct differs {
  struct sink *s;
  const ir_op *op;
  bool found;
};

static bool value_differs(struct sink *s, const ir_value *value);

static void see_node(void *user, const ir_expr *node) {
  struct differs *d = user;
  if (node->code == IR_S_ARG) d->found |= value_differs(d->s, ir_op_operand(d->op, node->arg));
  if (node->code == IR_S_LOAD) d->found |= ir_map_has(&d->s->copy.wide, ir_op_operand(d->op, node->arg));
}

static bool expr_differs(struct sink *s, const ir_op *op, const ir_expr *expr) {
  struct differs d = {s, op, false};
  ir_expr_walk(s->copy.nest.context, expr, see_node, &d);
  return d.found;
}

static bool value_differs(struct sink *s, const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE)) return expr_differs(s, op, ir_get_expr(op, "value"));
  return ir_map_has(&s->varying, value);
}

/* --- whether it can be done --- */
static bool refuse(struct sink *s, const char *why) {
  s->t->problem = why;
  return false;
}

static bool stops_at(const struct sink *s, const ir_op *op) {
  const ir_string *name = ir_is(op, IR_FOR) ? ir_loop_variable(op)->name : NULL;
  return name && s->at.length && ir_slice_is(s->at, name->text);
}

static bool check(void *user, ir_op *op) {
  struct sink *s = user;
  if (op->flags & IR_OP_INLINE) return true;
  s->stops |= stops_at(s, op);
  if (ir_is(op, IR_ALLOC)) {
    bool local = !strcmp(ir_get_word(op, "scope"), "local") && ir_type_static_dims(ir_op_result(op, 0)->type, NULL, NULL);
    if (!local) return refuse(s, "memory in it is not local or not of constant extents");
    ir_map_put(s->t->scratch, &s->copy.wide, ir_op_result(op, 0), s);
  }
  bool differs = ir_is(op, IR_SCALAR) && expr_differs(s, op, ir_get_expr(op, "value"));
  if (differs) ir_map_put(s->t->scratch, &s->varying, ir_op_result(op, 0), s);
  return true;
}

static bool can_sink(struct sink *s) {
  bool independent = !strcmp(ir_get_word(s->loop, "mode"), "parallel") || !strcmp(ir_get_word(s->loop, "mode"), "vectorize");
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(s->loop, 0));
  if (!independent) return refuse(s, "the loop's rounds are not independent (parallel, vectorize)");
  int64_t most = s->at.length ? MOST_KEPT : MOST_ROUNDS;
  if (!extent || !ir_expr_is_int(extent, &s->rounds) || s->rounds < 1 || s->rounds > most) {
    return refuse(s, ir_arena_printf(s->t->scratch, "the loop's rounds are not a constant number from 1 to %lld", (long long)most));
  }
  ir_region *body = ir_op_region(s->loop, 0);
  ir_map_put(s->t->scratch, &s->varying, body->args[0], s);
  bool fine = ir_copy_can(body, &s->t->problem) && ir_walk(body, IR_PRE_ORDER, check, s);
  s->copy.wide = (ir_map){0};
  if (fine && s->at.length && !s->stops) return refuse(s, "there is no loop of that name in it");
  return fine;
}

/* --- doing it --- */
/* `for i < rounds unroll { ... }` at B, unless what came before OP is in such a loop there already. */
static void add_leaf(struct sink *s, ir_builder *b, ir_op *op) {
  if (!s->leaf.region) {
    ir_nest *nest = &s->copy.nest;
    const ir_value *old = ir_op_region(s->loop, 0)->args[0];
    s->leaf = *b;
    ir_frame none = ir_nest_frame(nest);
    ir_value *extent = ir_nest_scalar(&s->leaf, &none, ir_expr_i64(nest->context, s->rounds));
    s->copy.round = ir_nest_for(nest, &s->leaf, extent, old->name ? old->name->text : "i", s->at.length ? "parallel" : "unroll");
    *ir_push(s->t->scratch, &s->leaves) = ir_value_region(s->copy.round)->parent;
    ir_map_put(nest->scratch, &nest->values, old, s->copy.round);
    s->done = 0;
  }
  for (; s->done < s->lets.count; s->done++) ir_copy_op(&s->copy, &s->leaf, s->lets.at[s->done]);
  ir_copy_op(&s->copy, &s->leaf, op);
}

static void widen(struct sink *s, ir_builder *b, ir_op *alloc) {
  ir_value *old = ir_op_result(alloc, 0);
  const ir_type *type = old->type;
  const ir_expr **dims = ir_new_array(s->t->scratch, const ir_expr *, type->count + 1u);
  dims[0] = ir_expr_i64(s->copy.nest.context, s->rounds);
  for (size_t i = 0; i < type->count; i++) dims[i + 1] = ir_type_dim(type, i);
  ir_value *wide = ir_nest_alloc(&s->copy.nest, b, old->name ? old->name->text : NULL, "local", ir_type_dtype(type), type->count + 1u, dims);
  ir_map_put(s->t->scratch, &s->copy.wide, old, wide);
}

static void sink_region(struct sink *s, ir_builder b, ir_region *region);

/* OP is the same in all rounds but for what stands in it: it is kept, and the rounds go on inside. */
static void pass_through(struct sink *s, ir_builder *b, ir_op *op) {
  s->leaf.region = NULL;
  if (ir_is(op, IR_FOR)) {
    sink_region(s, ir_at_end(ir_copy_for(&s->copy, b, op)), ir_op_region(op, 0));
  } else if (ir_is(op, IR_IF)) {
    ir_op *branch = ir_copy_if(&s->copy, b, op);
    for (size_t i = 0; i < op->region_count; i++) sink_region(s, ir_at_end(ir_op_region(branch, i)), ir_op_region(op, i));
  } else if (ir_is(op, IR_ALLOC)) {
    widen(s, b, op);
  } else {
    ir_copy_op(&s->copy, b, op);
  }
}

static void sink_region(struct sink *s, ir_builder b, ir_region *region) {
  size_t outer = s->lets.count;
  bool together = false; /* behind a scalar loaded in each round, the rest is done round by round */
  s->leaf.region = NULL;
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    bool let = ir_is(op, IR_SCALAR), nest = ir_is(op, IR_FOR) || ir_is(op, IR_IF);
    bool differs = let ? ir_map_has(&s->varying, ir_op_result(op, 0)) : nest && value_differs(s, ir_op_operand(op, 0));
    together |= let && differs && ir_get_expr(op, "value")->has_loads;
    if (together || ir_is(op, IR_STORE) || ir_is(op, IR_ASSERT) || (nest && differs) || stops_at(s, op)) {
      add_leaf(s, &b, op);
    } else if (differs) {
      *ir_push(s->t->scratch, &s->lets) = op;
    } else {
      pass_through(s, &b, op);
    }
  }
  s->leaf.region = NULL;
  s->lets.count = outer;
}

static bool sink(ir_transform *t, ir_op *loop, bool expand, ir_slice at) {
  ir_module *module = t->func->item.module;
  struct sink s = {.t = t, .loop = loop, .at = at};
  s.copy.nest = (ir_nest){.module = module, .context = module->context, .scratch = t->scratch, .facts = ir_func_facts(t->func)};
  if (!can_sink(&s)) return false;
  sink_region(&s, ir_before(loop), ir_op_region(loop, 0));
  ir_op_erase(loop);
  for (size_t i = 0; expand && i < s.leaves.count; i++) ir_transform_expand(t, s.leaves.at[i]);
  return true;
}

bool ir_transform_sink(ir_transform *t, ir_op *loop) { return sink(t, loop, false, (ir_slice){0}); }

bool ir_transform_sink_at(ir_transform *t, ir_op *loop, ir_slice at) { return sink(t, loop, false, at); }

bool ir_transform_jam(ir_transform *t, ir_op *loop) { return sink(t, loop, true, (ir_slice){0}); }
