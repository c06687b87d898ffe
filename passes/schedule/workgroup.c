// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/workgroup.c - each round of a parallel loop is done by a workgroup: its invocations share the rounds of the
 * independent loops inside. Everything else is done by all of them alike, but for stores that others see, which the first one
 * does. Memory that several invocations touch becomes the workgroup's; barriers stand where one invocation touches what another
 * has written, or writes what another has touched. Needs loop form. */
#include "base/vec.h"
#include "ir/simplify.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/grid.h"

/* Which invocation touches an element. */
enum who {
  OWNER, /* number e mod size touches element e of the first axis */
  FIRST, /* invocation 0 */
  ANY,
};
static unsigned reads(enum who who) { return 1u << who; }
static unsigned writes(enum who who) { return 8u << who; }

/* A buffer that is allocated in the body. */
struct memory {
  ir_op *alloc;
  enum { SAME, OWNED, SHARED } kind; /* each invocation has a copy; each has its elements of the first axis; there is one */
  unsigned touched; /* in the whole body */
  unsigned next;    /* by what is looked at */
  unsigned since;   /* the last barrier */
};

struct team {
  ir_transform *t;
  ir_op *loop;
  int64_t size;
  ir_copy copy;
  ir_map memory;                   /* ir_value -> struct memory */
  ir_vec(struct memory *) all;
  ir_map inner;                    /* what is allocated in shared rounds */
  ir_map loaded, stored;           /* other buffers */
  const ir_value *round;           /* of the loop whose rounds are shared; NULL: outside of one */
  ir_value *me;
};

static bool refuse(struct team *m, const char *why) {
  m->t->problem = why;
  return false;
}

static bool is_independent(const ir_op *op) {
  return ir_is(op, IR_FOR) && (!strcmp(ir_get_word(op, "mode"), "parallel") || !strcmp(ir_get_word(op, "mode"), "vectorize"));
}

static bool constant_extent(const ir_op *loop, int64_t *rounds) {
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(loop, 0));
  return extent && ir_expr_is_int(extent, rounds);
}

/* --- who touches what --- */

struct looking {
  struct team *m;
  const ir_op *op;
  enum who who;
};

static enum who who_at(const struct looking *l, size_t count, const ir_expr *first) {
  bool owner = l->m->round && count && first->code == IR_S_ARG && ir_op_operand(l->op, first->arg) == l->m->round;
  return owner ? OWNER : l->who;
}

static void see_node(void *user, const ir_expr *node) {
  struct looking *l = user;
  if (node->code != IR_S_LOAD) return;
  ir_value *buffer = ir_op_operand(l->op, node->arg);
  struct memory *memory = ir_map_get(&l->m->memory, buffer);
  if (memory) memory->next |= reads(who_at(l, node->count, node->count ? node->kids[0] : NULL));
  if (!memory) ir_map_put(l->m->t->scratch, &l->m->loaded, buffer, l->m);
}

static void see_attr(struct looking *l, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(ir_op_context(l->op), attr->expr, see_node, l);
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) see_attr(l, attr->items[i]);
}

/* What is stored outside of shared rounds where all see it. */
static bool is_for_first(const struct team *m, const ir_op *op) {
  if (!ir_is(op, IR_STORE)) return false;
  const struct memory *memory = ir_map_get(&m->memory, ir_op_operand(op, 0));
  return !memory || memory->kind != SAME;
}

/* Adds to `next` what OP touches, without what stands in its regions. */
static void look(struct team *m, const ir_op *op) {
  struct looking l = {m, op, m->round || !is_for_first(m, op) ? ANY : FIRST};
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) see_attr(&l, ir_op_slots(op)[i]);
  struct memory *memory = ir_is(op, IR_STORE) ? ir_map_get(&m->memory, ir_op_operand(op, 0)) : NULL;
  if (!memory) return;
  const ir_attr *index = ir_get(op, "index")->items[0];
  memory->next |= writes(who_at(&l, index->count, index->count ? ir_attr_as_expr(ir_op_context(op), index->items[0]) : NULL));
}

static bool look_inside(void *user, ir_op *op) {
  look(user, op);
  return true;
}

static void look_region(struct team *m, ir_region *region);

static void look_all(struct team *m, ir_op *op) {
  look(m, op);
  bool shares = is_independent(op);
  if (shares) m->round = ir_loop_variable(op);
  for (size_t i = 0; i < op->region_count; i++) {
    if (shares) ir_walk(ir_op_region(op, i), IR_PRE_ORDER, look_inside, m);
    if (!shares) look_region(m, ir_op_region(op, i));
  }
  if (shares) m->round = NULL;
}

static void look_region(struct team *m, ir_region *region) {
  ir_each_op(op, region) look_all(m, op);
}

/* --- whether it can be done --- */

static bool add_memory(struct team *m, ir_op *alloc) {
  bool local = !strcmp(ir_get_word(alloc, "scope"), "local") && ir_type_static_dims(ir_op_result(alloc, 0)->type, NULL, NULL);
  if (!local) return refuse(m, "memory in it is not local or not of constant extents");
  struct memory *memory = ir_new(m->t->scratch, struct memory);
  memory->alloc = alloc;
  *ir_push(m->t->scratch, &m->all) = memory;
  ir_map_put(m->t->scratch, &m->memory, ir_op_result(alloc, 0), memory);
  return true;
}

/* Stores in shared rounds tell which memory is not the same in all invocations. */
static bool see_store(void *user, ir_op *op) {
  struct team *m = user;
  if (ir_is(op, IR_ALLOC)) ir_map_put(m->t->scratch, &m->inner, ir_op_result(op, 0), m);
  if (!ir_is(op, IR_STORE) || ir_map_has(&m->inner, ir_op_operand(op, 0))) return true;
  struct memory *memory = ir_map_get(&m->memory, ir_op_operand(op, 0));
  if (memory) memory->kind = SHARED;
  if (memory) return true;
  if (ir_map_has(&m->stored, ir_op_operand(op, 0))) return refuse(m, "several stores write the same buffer");
  ir_map_put(m->t->scratch, &m->stored, ir_op_operand(op, 0), m);
  return true;
}

static bool collect(struct team *m, ir_region *region) {
  ir_each_op(op, region) {
    bool fine = true;
    if (ir_is(op, IR_ALLOC)) fine = add_memory(m, op);
    if (ir_is(op, IR_WHILE)) fine = refuse(m, "a while loop is in it");
    if (ir_is(op, IR_BARRIER)) fine = refuse(m, "a barrier is in it");
    if (ir_is(op, IR_FOR) && !strcmp(ir_get_word(op, "mode"), "bind")) fine = refuse(m, "a loop in it is bound");
    if (ir_is(op, IR_STORE) && !ir_map_has(&m->memory, ir_op_operand(op, 0))) fine = see_store(m, op);
    if (!fine) return false;
    for (size_t i = 0; i < op->region_count; i++) {
      ir_region *inner = ir_op_region(op, i);
      if (is_independent(op) ? !ir_walk(inner, IR_PRE_ORDER, see_store, m) : !collect(m, inner)) return false;
    }
  }
  return true;
}

/* Memory of which each invocation touches its own elements alone, one of the first axis, is local. */
static void find_owned(struct team *m) {
  for (size_t i = 0; i < m->all.count; i++) {
    struct memory *memory = m->all.at[i];
    int64_t first = INT64_MAX;
    const ir_type *type = ir_op_result(memory->alloc, 0)->type;
    if (type->count) ir_expr_is_int(ir_type_dim(type, 0), &first);
    bool owned = !(memory->touched & ~(reads(OWNER) | writes(OWNER))) && first <= m->size;
    if (memory->kind == SHARED && owned) memory->kind = OWNED;
  }
}

static bool can_share(struct team *m) {
  ir_region *body = ir_op_region(m->loop, 0);
  if (strcmp(ir_get_word(m->loop, "mode"), "parallel")) return refuse(m, "the loop's rounds are not independent (parallel)");
  if (!ir_copy_can(body, &m->t->problem) || !collect(m, body)) return false;
  look_region(m, body);
  for (size_t i = 0; i < m->all.count; i++) {
    m->all.at[i]->touched = m->all.at[i]->next;
    m->all.at[i]->next = 0;
  }
  ir_each_op(op, m->t->func->body) {
    for (size_t i = 0; i < op->result_count; i++) {
      if (ir_map_has(&m->stored, ir_op_result(op, i))) return refuse(m, "it writes memory that is allocated around it");
    }
  }
  for (size_t i = 0; i < m->t->func->param_count; i++) {
    const ir_value *buffer = m->t->func->params[i].value;
    if (buffer && ir_map_has(&m->stored, buffer) && ir_map_has(&m->loaded, buffer)) return refuse(m, "it reads a buffer that it writes");
  }
  find_owned(m);
  return true;
}

/* --- barriers --- */

static bool conflict(unsigned before, unsigned now) {
  for (enum who a = OWNER; a <= ANY; a++) {
    for (enum who b = OWNER; b <= ANY; b++) {
      if (a == b && a != ANY) continue; /* the same invocation */
      bool first_writes = before & writes(a), second_writes = now & writes(b);
      if (first_writes && (second_writes || now & reads(b))) return true;
      if (second_writes && before & reads(a)) return true;
    }
  }
  return false;
}

/* A barrier, where what `next` says must wait for what was done since the last one. */
static void wait_for_others(struct team *m, ir_builder *b) {
  bool wait = false;
  for (size_t i = 0; i < m->all.count; i++) wait |= m->all.at[i]->kind == SHARED && conflict(m->all.at[i]->since, m->all.at[i]->next);
  if (wait) ir_build(b, IR_BARRIER, NULL, 0, IR_NO_ATTRS);
  for (size_t i = 0; i < m->all.count; i++) {
    struct memory *memory = m->all.at[i];
    memory->since = wait ? memory->next : memory->since | memory->next;
    memory->next = 0;
  }
}

/* What a round of LOOP does may come before another one. */
static void expect_rounds(struct team *m, ir_op *loop) {
  look_region(m, ir_op_region(loop, 0));
  for (size_t i = 0; i < m->all.count; i++) {
    m->all.at[i]->since |= m->all.at[i]->next;
    m->all.at[i]->next = 0;
  }
}

/* --- doing it --- */

static const ir_expr *simple_count(struct team *m, const ir_expr *extent) {
  ir_context *context = m->copy.nest.context;
  return ir_simplify(context, m->copy.nest.facts, ir_expr_binary(context, IR_S_CEILDIV, extent, ir_expr_i64(context, m->size)));
}

/* `if VALUE < END`, where both are of FRAME. */
static void only_below(struct team *m, ir_builder *b, ir_frame *frame, ir_value *value, const ir_expr *end) {
  ir_nest_if(&m->copy.nest, b, frame, ir_expr_binary(frame->context, IR_S_LT, ir_frame_use(frame, value), end));
}

/* The rounds of LOOP that are this invocation's: number me, me + size, ... */
static void share_rounds(struct team *m, ir_builder b, ir_op *loop) {
  ir_nest *nest = &m->copy.nest;
  int64_t rounds = INT64_MAX;
  bool known = constant_extent(loop, &rounds);
  ir_value *extent = ir_copy_operand(&m->copy, &b, ir_op_operand(loop, 0)), *round = m->me;
  if (rounds > m->size) {
    const char *name = ir_loop_variable(loop)->name ? ir_loop_variable(loop)->name->text : "i";
    ir_frame outer = ir_nest_frame(nest);
    ir_value *count = ir_nest_scalar(&b, &outer, simple_count(m, ir_frame_use(&outer, extent)));
    ir_value *turn = ir_nest_for(nest, &b, count, ir_arena_printf(m->t->scratch, "%s_r", name), "serial");
    ir_frame frame = ir_nest_frame(nest);
    const ir_expr *base = ir_expr_binary(nest->context, IR_S_MUL, ir_frame_use(&frame, turn), ir_expr_i64(nest->context, m->size));
    round = ir_nest_let(&b, &frame, name, ir_expr_binary(nest->context, IR_S_ADD, base, ir_frame_use(&frame, m->me)));
  }
  ir_frame frame = ir_nest_frame(nest);
  if (!known || rounds % m->size) only_below(m, &b, &frame, round, ir_frame_use(&frame, extent));
  ir_map_put(m->t->scratch, &nest->values, ir_loop_variable(loop), round);
  ir_copy_region(&m->copy, b, ir_op_region(loop, 0));
}

static void emit_region(struct team *m, ir_builder b, ir_region *region);

static void emit_if(struct team *m, ir_builder *b, ir_op *op) {
  unsigned *before = ir_new_array(m->t->scratch, unsigned, m->all.count + 1), *after = ir_new_array(m->t->scratch, unsigned, m->all.count + 1);
  for (size_t i = 0; i < m->all.count; i++) after[i] = before[i] = m->all.at[i]->since;
  ir_op *branch = ir_copy_if(&m->copy, b, op);
  for (size_t side = 0; side < op->region_count; side++) {
    for (size_t i = 0; i < m->all.count; i++) m->all.at[i]->since = before[i];
    emit_region(m, ir_at_end(ir_op_region(branch, side)), ir_op_region(op, side));
    for (size_t i = 0; i < m->all.count; i++) after[i] |= m->all.at[i]->since;
  }
  for (size_t i = 0; i < m->all.count; i++) m->all.at[i]->since = after[i];
}

static void emit_op(struct team *m, ir_builder *b, ir_op *op) {
  const struct memory *memory = ir_is(op, IR_ALLOC) ? ir_map_get(&m->memory, ir_op_result(op, 0)) : NULL;
  if (memory && memory->kind != SAME) return;
  bool shares = is_independent(op);
  shares ? look_all(m, op) : look(m, op);
  wait_for_others(m, b);
  if (shares) {
    share_rounds(m, *b, op);
  } else if (ir_is(op, IR_FOR)) {
    expect_rounds(m, op);
    emit_region(m, ir_at_end(ir_copy_for(&m->copy, b, op)), ir_op_region(op, 0));
  } else if (ir_is(op, IR_IF)) {
    emit_if(m, b, op);
  } else {
    ir_builder at = *b;
    ir_frame frame = ir_nest_frame(&m->copy.nest);
    if (is_for_first(m, op)) ir_nest_if(&m->copy.nest, &at, &frame, ir_expr_binary(frame.context, IR_S_EQ, ir_frame_use(&frame, m->me), ir_expr_i64(frame.context, 0)));
    ir_copy_op(&m->copy, &at, op);
  }
}

static void emit_region(struct team *m, ir_builder b, ir_region *region) {
  ir_each_op(op, region) emit_op(m, &b, op);
}

/* Memory of KIND stands before everything else; OWNED loses its first axis. */
static void allocate(struct team *m, ir_builder *b, int kind) {
  for (size_t i = 0; i < m->all.count; i++) {
    if ((int)m->all.at[i]->kind != kind) continue;
    ir_value *old = ir_op_result(m->all.at[i]->alloc, 0);
    const ir_type *type = old->type;
    size_t drop = kind == OWNED;
    ir_value *fresh = ir_nest_alloc(&m->copy.nest, b, old->name ? old->name->text : "t", drop ? "local" : "shared", ir_type_dtype(type),
                                    type->count - drop, ir_type_dims(type) + drop);
    ir_map_put(m->t->scratch, drop ? &m->copy.narrow : &m->copy.nest.values, old, fresh);
  }
}

static struct team start(ir_transform *t, ir_op *loop, int64_t size) {
  ir_module *module = t->func->item.module;
  struct team m = {.t = t, .loop = loop, .size = size};
  m.copy.nest = (ir_nest){.module = module, .context = module->context, .scratch = t->scratch, .facts = ir_func_facts(t->func)};
  return m;
}

bool ir_transform_workgroup(ir_transform *t, ir_op *loop, int64_t size) {
  struct team m = start(t, loop, size);
  if (!ir_grid_can_bind(t, loop) || !can_share(&m)) return false;
  const ir_expr *rounds;
  ir_grid g = ir_grid_before(&m.copy.nest, loop, &rounds);
  ir_value *round = ir_grid_round(&g, ir_grid_groups(&g, rounds, 1), rounds, ir_grid_is_whole(rounds, 1));
  ir_map_put(t->scratch, &m.copy.nest.values, ir_loop_variable(loop), round);
  allocate(&m, &g.b, SHARED);
  m.me = ir_grid_bind(&g, ir_expr_i64(m.copy.nest.context, size), "l", "local.x");
  allocate(&m, &g.b, OWNED);
  emit_region(&m, g.b, ir_op_region(loop, 0));
  ir_op_erase(loop);
  return true;
}

int64_t ir_transform_workgroup_bytes(ir_transform *t, ir_op *loop, int64_t size) {
  struct team m = start(t, loop, size);
  int64_t total = 0;
  if (!can_share(&m)) return -1;
  for (size_t i = 0; i < m.all.count; i++) {
    if (m.all.at[i]->kind == SHARED) total += ir_alloc_bytes(m.all.at[i]->alloc);
  }
  return total;
}
