// SPDX-License-Identifier: Apache-2.0
/* passes/plan_memory.c - place what graph functions allocate: in the memory of a result, or in storage that tensors whose
 * lives do not meet share. Needs call-tir-rewrite. Where the sizes are provably ordered the places are settled here;
 * elsewhere the executor packs the sizes when it knows them. What lives on in unknown ways stays as it is. */
#include "base/pack.h"
#include "base/vec.h"
#include "ir/lifetime.h"
#include "ir/symbols.h"
#include "passes/pass.h"

#include <stdlib.h>

enum { PLANNED, RESULTS, KEPT, DEFERRED };

/* An allocation that gets a place. */
typedef struct slot {
  ir_op *alloc;
  ir_lifetime life;
  const ir_expr *bytes; /* a multiple of IR_PACK_ALIGN */
  int64_t nominal;      /* BYTES for usual extents: what the order of placing goes by */
  size_t number;        /* as they stand in the function */
  const ir_expr *offset, *end;
  int64_t nominal_offset;
} slot;

/* Slots whose sizes are known at one place: at the start of the function, or behind a match_cast that binds symbols. */
typedef struct group {
  ir_op *anchor; /* NULL: the start */
  ir_vec(slot) slots;
} group;

/* A symbol that a match_cast binds. */
typedef struct bound_symbol {
  const ir_expr *symbol;
  ir_op *op;
} bound_symbol;

typedef struct plan {
  ir_pass_run *run;
  ir_context *context;
  ir_arena *arena;
  ir_func *func;
  const ir_facts *facts;
  ir_lifetimes lifetimes;
  ir_map known; /* symbols of the parameters */
  ir_vec(bound_symbol) bound;
  ir_vec(group) groups;
  ir_vec(slot) results;
} plan;

/* --- symbols --- */

static void see_type(plan *p, const ir_type *type, ir_op *op) {
  for (size_t i = 0; type->kind == IR_TYPE_TUPLE && i < type->count; i++) see_type(p, ir_type_field(type, i), op);
  if ((type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SHAPE) || !type->ranked) return;
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    if (!dim || dim->code != IR_S_SYMBOL || ir_map_has(&p->known, dim)) continue;
    if (!op) ir_map_put(p->arena, &p->known, dim, p);
    if (op) *ir_push(p->arena, &p->bound) = (bound_symbol){dim, op};
  }
}

static bool see_cast(void *user, ir_op *op) {
  if (ir_is(op, IR_MATCH_CAST)) see_type(user, ir_op_result(op, 0)->type, op);
  return true;
}

static void find_symbols(plan *p) {
  for (size_t i = 0; i < p->func->param_count; i++) {
    const ir_param *param = &p->func->params[i];
    if (param->symbol) ir_map_put(p->arena, &p->known, param->symbol, p);
    if (!param->symbol) see_type(p, param->type, NULL);
  }
  ir_walk(p->func->body, IR_PRE_ORDER, see_cast, p);
}

/* The match_cast that gives SYMBOL its value at OP; NULL where none does. */
static ir_op *binder_of(const plan *p, const ir_expr *symbol, const ir_op *op) {
  for (size_t i = p->bound.count; i > 0; i--) {
    const bound_symbol *b = &p->bound.at[i - 1];
    if (b->symbol == symbol && ir_value_dominates(ir_op_result(b->op, 0), op->region, op)) return b->op;
  }
  return NULL;
}

/* Where all symbols of ALLOC's size are known first; false where that is nowhere that can be found. */
static bool find_anchor(const plan *p, const ir_op *alloc, ir_op **anchor) {
  ir_symbols_used used = {.context = p->context, .arena = p->arena};
  ir_symbols_in_type(&used, ir_op_result(alloc, 0)->type, false);
  *anchor = NULL;
  for (size_t i = 0; i < used.count; i++) {
    if (ir_map_has(&p->known, used.at[i])) continue;
    ir_op *op = binder_of(p, used.at[i], alloc);
    if (!op) return false;
    if (!*anchor || ir_lifetime_step(&p->lifetimes, op) > ir_lifetime_step(&p->lifetimes, *anchor)) *anchor = op;
  }
  return true;
}

/* --- sizes --- */

static const ir_expr *i64(const plan *p, int64_t value) { return ir_expr_i64(p->context, value); }

/* A symbol's usual value: between its bounds. */
static bool nominal_value(void *user, const ir_expr *leaf, int64_t *value) {
  enum { USUAL = 64 };
  const plan *p = user;
  int64_t least, most;
  ir_range_of(p->context, p->facts, leaf, &least, &most);
  *value = USUAL < least ? least : USUAL > most ? most : USUAL;
  return true;
}

static int64_t nominal(plan *p, const ir_expr *expr) {
  int64_t value;
  return ir_evaluate(expr, nominal_value, p, &value) && value >= 0 ? value : 0;
}

/* --- what can be planned --- */

static group *group_at(plan *p, ir_op *anchor) {
  for (size_t i = 0; i < p->groups.count; i++) {
    if (p->groups.at[i].anchor == anchor) return &p->groups.at[i];
  }
  group *g = ir_push(p->arena, &p->groups);
  g->anchor = anchor;
  return g;
}

static bool in_closure(const ir_op *op) {
  while (op && !ir_is(op, IR_CLOSURE)) op = ir_op_parent(op);
  return op != NULL;
}

static bool visit(void *user, ir_op *op) {
  plan *p = user;
  if (!ir_is(op, IR_ALLOC) || in_closure(op)) return true;
  slot s = {.alloc = op, .life = ir_lifetime_of(&p->lifetimes, ir_op_result(op, 0))};
  ir_op *anchor;
  bool is_result = s.life.returns == 1 && s.life.direct && !ir_op_parent(op);
  if (s.life.escapes || (s.life.returns && !is_result) || !find_anchor(p, op, &anchor)) {
    return ir_count(p->run, KEPT);
  }
  /* Storage is given back where the region ends that knows its size. */
  if (anchor && !is_result && !ir_lifetime_ends_in(&p->lifetimes, &s.life, anchor->region)) return ir_count(p->run, KEPT);
  if (is_result) {
    *ir_push(p->arena, &p->results) = s;
    return true;
  }
  group *g = group_at(p, anchor);
  s.bytes = ir_place_bytes(p->context, p->facts, ir_op_result(op, 0)->type);
  s.nominal = nominal(p, s.bytes);
  s.number = g->slots.count;
  *ir_push(p->arena, &g->slots) = s;
  return true;
}

/* MADE's result takes the place of the allocation's; nobody gives it back any more. */
static void replace(plan *p, const slot *s, ir_op *made, size_t stat) {
  ir_each_use(use, ir_op_result(s->alloc, 0)) {
    if (ir_is(use->user, IR_HOST_FREE)) ir_op_erase(use->user);
  }
  ir_value_replace(ir_op_result(s->alloc, 0), ir_op_result(made, 0));
  ir_op_erase(s->alloc);
  ir_count(p->run, stat);
}

static void place_result(plan *p, const slot *s) {
  ir_builder b = ir_before(s->alloc);
  const ir_type *type = ir_op_result(s->alloc, 0)->type;
  const ir_attr *index = ir_attr_int(p->context, (int64_t)s->life.result);
  replace(p, s, ir_build_with(&b, IR_HOST_RESULT, NULL, 0, IR_SET({"index", index}), NULL, 0, &type, 1), RESULTS);
}

/* --- places that are settled here --- */

static bool le(const plan *p, const ir_expr *a, const ir_expr *b) { return ir_prove_le(p->context, p->facts, a, b) == IR_PROVEN; }

/* The lowest place for S at usual extents, among 0 and the ends of what is placed already. */
static void find_place(const plan *p, slot *s, const group *g, size_t placed) {
  s->offset = i64(p, 0);
  s->nominal_offset = 0;
  for (size_t k = 0; k < placed;) {
    const slot *other = &g->slots.at[k];
    bool meets = ir_lifetimes_meet(&s->life, &other->life) && s->nominal_offset < other->nominal_offset + other->nominal &&
                 other->nominal_offset < s->nominal_offset + s->nominal;
    if (meets) {
      s->offset = other->end;
      s->nominal_offset = other->nominal_offset + other->nominal;
    }
    k = meets ? 0 : k + 1;
  }
  s->end = ir_dim_add(p->context, p->facts, s->offset, s->bytes);
}

/* What is right at usual extents has to be right at all of them. */
static bool settle(const plan *p, group *g) {
  for (size_t i = 0; i < g->slots.count; i++) {
    slot *s = &g->slots.at[i];
    find_place(p, s, g, i);
    for (size_t k = 0; k < i; k++) {
      const slot *other = &g->slots.at[k];
      if (!ir_lifetimes_meet(&s->life, &other->life)) continue;
      bool apart = s->nominal_offset < other->nominal_offset ? le(p, s->end, other->offset) : le(p, other->end, s->offset);
      if (!apart) return false;
    }
  }
  return true;
}

/* The end that no other end passes; NULL where none is sure to be it. */
static const ir_expr *total_of(const plan *p, const group *g) {
  const slot *most = &g->slots.at[0];
  for (size_t i = 1; i < g->slots.count; i++) {
    const slot *s = &g->slots.at[i];
    if (s->nominal_offset + s->nominal > most->nominal_offset + most->nominal) most = s;
  }
  for (size_t i = 0; i < g->slots.count; i++) {
    if (!le(p, g->slots.at[i].end, most->end)) return NULL;
  }
  return most->end;
}

/* --- making --- */

static ir_builder builder_of(const plan *p, const group *g) {
  return g->anchor ? ir_after(g->anchor) : ir_before(p->func->body->first);
}

static void place_in(plan *p, const slot *s, ir_value *storage, const ir_expr *offset, size_t stat) {
  ir_builder b = ir_before(s->alloc);
  const ir_type *type = ir_op_result(s->alloc, 0)->type;
  const ir_attr *at = ir_attr_expr(p->context, offset);
  replace(p, s, ir_build_with(&b, IR_HOST_TENSOR, IR_OPERANDS(storage), IR_SET({"offset", at}), NULL, 0, &type, 1), stat);
}

static void make_settled(plan *p, group *g, const ir_expr *total) {
  ir_builder b = builder_of(p, g);
  ir_op *alloc = ir_build(&b, IR_HOST_ALLOC, NULL, 0, IR_SET({"bytes", ir_attr_dims(p->context, 1, &total)}));
  for (size_t i = 0; i < g->slots.count; i++) {
    place_in(p, &g->slots.at[i], ir_op_result(alloc, 0), g->slots.at[i].offset, PLANNED);
  }
}

static int by_step(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return x < y ? -1 : x > y;
}

/* The steps that matter, numbered without gaps. */
static const ir_attr *live_of(const plan *p, const group *g) {
  size_t count = g->slots.count, kept = 0;
  size_t *steps = ir_new_array(p->arena, size_t, 2 * count);
  for (size_t i = 0; i < count; i++) {
    steps[2 * i] = g->slots.at[i].life.begin;
    steps[2 * i + 1] = g->slots.at[i].life.end;
  }
  qsort(steps, 2 * count, sizeof *steps, by_step);
  for (size_t i = 0; i < 2 * count; i++) {
    if (!kept || steps[kept - 1] != steps[i]) steps[kept++] = steps[i];
  }
  const ir_attr **pairs = ir_new_array(p->arena, const ir_attr *, count);
  for (size_t i = 0; i < count; i++) {
    const ir_lifetime *life = &g->slots.at[i].life;
    const size_t *begin = bsearch(&life->begin, steps, kept, sizeof *steps, by_step);
    const size_t *end = bsearch(&life->end, steps, kept, sizeof *steps, by_step);
    pairs[i] = ir_attr_ints(p->context, 2, (int64_t[]){begin - steps, end - steps});
  }
  return ir_attr_list(p->context, count, pairs);
}

static void make_deferred(plan *p, group *g) {
  const ir_expr **bytes = ir_new_array(p->arena, const ir_expr *, g->slots.count);
  for (size_t i = 0; i < g->slots.count; i++) bytes[i] = g->slots.at[i].bytes;
  ir_builder b = builder_of(p, g);
  ir_op *alloc = ir_build(&b, IR_HOST_ALLOC, NULL, 0,
                          IR_SET({"bytes", ir_attr_dims(p->context, g->slots.count, bytes)}, {"live", live_of(p, g)}));
  for (size_t i = 0; i < g->slots.count; i++) place_in(p, &g->slots.at[i], ir_op_result(alloc, i), i64(p, 0), DEFERRED);
}

/* Large ones first, then in the order of the function. */
static int by_size(const void *a, const void *b) {
  const slot *x = a, *y = b;
  if (x->nominal != y->nominal) return x->nominal > y->nominal ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static void make_group(plan *p, group *g) {
  qsort(g->slots.at, g->slots.count, sizeof *g->slots.at, by_size);
  const ir_expr *total = settle(p, g) ? total_of(p, g) : NULL;
  if (total) make_settled(p, g, total);
  if (!total) make_deferred(p, g);
}

static bool plan_func(ir_pass_run *run, ir_func *func) {
  plan p = {.run = run, .context = run->context, .arena = run->scratch, .func = func, .facts = ir_func_facts(func)};
  ir_lifetimes_of(&p.lifetimes, p.arena, func);
  find_symbols(&p);
  ir_walk(func->body, IR_PRE_ORDER, visit, &p);
  for (size_t i = 0; i < p.results.count; i++) place_result(&p, &p.results.at[i]);
  for (size_t i = 0; i < p.groups.count; i++) make_group(&p, &p.groups.at[i]);
  return p.results.count || p.groups.count;
}

const ir_pass ir_pass_plan_memory = {
    .name = "plan-memory",
    .doc = "Place what graph functions allocate in their results' memory, or in storage that tensors share whose lives do not meet.",
    .each_func = plan_func,
    .needs = IR_PROPERTY_BUFFERS,
    .stats = STATS({"planned", "tensors that got an offset"}, {"results", "tensors in the memory of a result"},
                   {"kept", "allocations left to the executor"}, {"deferred", "tensors packed when the extents are known"}),
};
