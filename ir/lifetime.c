// SPDX-License-Identifier: Apache-2.0
/* ir/lifetime.c - how long memory is needed, under which names, and how much of it. Needs ir/module. */
#include "ir/lifetime.h"

#include "base/pack.h"
#include "base/vec.h"

struct numbering {
  ir_lifetimes *lifetimes;
  size_t count;
};

static bool number(void *user, ir_op *op) {
  struct numbering *n = user;
  ir_map_put(n->lifetimes->arena, &n->lifetimes->steps, op, (void *)(uintptr_t)++n->count);
  return true;
}

void ir_lifetimes_of(ir_lifetimes *lifetimes, ir_arena *arena, ir_func *func) {
  *lifetimes = (ir_lifetimes){.arena = arena};
  ir_walk(func->body, IR_PRE_ORDER, number, &(struct numbering){lifetimes, 0});
}

size_t ir_lifetime_step(const ir_lifetimes *lifetimes, const ir_op *op) {
  return (size_t)(uintptr_t)ir_map_get(&lifetimes->steps, op) - 1;
}

/* The last operation in OP's regions, or OP. */
static const ir_op *end_of(const ir_op *op) {
  for (size_t i = op->region_count; i > 0; i--) {
    const ir_region *region = ir_op_region(op, i - 1);
    if (region->last) return end_of(region->last);
  }
  return op;
}

static bool is_within(const ir_op *op, const ir_op *around) {
  while (op && op != around) op = ir_op_parent(op);
  return op != NULL;
}

struct following {
  const ir_lifetimes *lifetimes;
  const ir_op *origin;
  ir_lifetime life;
  ir_arena scratch;
  ir_map seen;
  ir_vec(ir_value *) names;
};

static void follow(struct following *f, ir_value *value) {
  if (ir_map_has(&f->seen, value)) return;
  ir_map_put(&f->scratch, &f->seen, value, value);
  *ir_push(&f->scratch, &f->names) = value;
}

static void follow_indirectly(struct following *f, ir_value *value) {
  f->life.direct = false;
  follow(f, value);
}

static void follow_results(struct following *f, ir_op *op) {
  for (size_t i = 0; i < op->result_count; i++) follow_indirectly(f, ir_op_result(op, i));
}

static size_t counted(const ir_op *loop) { return ir_get_bool(loop, "counted"); }

static size_t carried(const ir_op *loop) { return ir_op_region(loop, 0)->arg_count - 1; }

/* Start value I, or the next one, of a loop: the value of a round, and the result. */
static void follow_carried(struct following *f, ir_op *loop, size_t i) {
  if (i >= carried(loop)) return;
  follow_indirectly(f, ir_op_region(loop, 0)->args[i + 1]);
  follow_indirectly(f, ir_op_result(loop, i));
}

static void follow_yield(struct following *f, ir_op *yield, size_t operand) {
  ir_op *parent = ir_op_parent(yield);
  if (!parent) return;
  if (!ir_is(parent, IR_LOOP)) {
    follow_indirectly(f, ir_op_result(parent, operand));
    return;
  }
  /* What is stacked is copied. */
  if (operand < carried(parent) && is_within(f->origin, parent)) f->life.escapes = true;
  follow_carried(f, parent, operand);
}

static void follow_call(struct following *f, ir_op *call) {
  const ir_attr *callee = ir_get(call, "callee");
  const ir_item *item = callee ? ir_module_find(ir_op_module(call), callee->string) : NULL;
  if (!item || item->kind != IR_ITEM_PRIM_FUNC) follow_results(f, call);
}

static void see_return(struct following *f, const ir_op *op, size_t operand) {
  f->life.returns++;
  f->life.result = operand;
  if (ir_op_parent(op)) f->life.escapes = true;
}

static void see_user(struct following *f, ir_op *user, size_t operand) {
  switch ((ir_opcode)user->code) {
  case IR_TUPLE:
  case IR_TUPLE_GET: follow_indirectly(f, ir_op_result(user, 0)); return;
  case IR_TO_DEVICE: follow(f, ir_op_result(user, 0)); return;
  case IR_YIELD: follow_yield(f, user, operand); return;
  case IR_RETURN: see_return(f, user, operand); return;
  case IR_LOOP:
    if (operand >= counted(user)) follow_carried(f, user, operand - counted(user));
    return;
  case IR_CALL: follow_call(f, user); return;
  case IR_CALL_TIR_INPLACE: follow_results(f, user); return;
  case IR_CALL_PACKED:
  case IR_CALL_PURE_PACKED:
  case IR_CALL_DPS_PACKED: f->life.escapes = true; return;
  default:
    if (ir_has(user, IR_VIEW)) follow(f, ir_op_result(user, 0));
  }
}

static void extend(struct following *f, ir_op *op, const ir_op *end) {
  size_t step = ir_lifetime_step(f->lifetimes, end);
  if (step < f->life.end) return;
  f->life.end = step;
  f->life.last = op;
}

static void see_uses(struct following *f, const ir_value *value) {
  for (const ir_use *use = value->uses; use; use = use->next) {
    ir_op *user = use->user;
    if (ir_is(user, IR_HOST_FREE) && ir_value_op(value) != f->origin) continue; /* another name of the memory ends */
    extend(f, user, user);
    for (ir_op *outer = ir_op_parent(user); outer; outer = ir_op_parent(outer)) {
      if (is_within(f->origin, outer)) break;
      if (ir_is(outer, IR_LOOP)) extend(f, outer, end_of(outer));
      if (ir_is(outer, IR_CLOSURE)) f->life.escapes = true;
    }
    see_user(f, user, (size_t)(use - ir_op_uses(user)));
  }
}

ir_lifetime ir_lifetime_of(const ir_lifetimes *lifetimes, ir_value *value) {
  ir_op *origin = ir_value_op(value);
  size_t begin = ir_lifetime_step(lifetimes, origin);
  struct following f = {.lifetimes = lifetimes, .origin = origin};
  f.life = (ir_lifetime){.begin = begin, .end = begin, .direct = true, .last = origin};
  follow(&f, value);
  for (size_t i = 0; i < f.names.count; i++) see_uses(&f, f.names.at[i]);
  ir_arena_free(&f.scratch);
  return f.life;
}

bool ir_lifetime_ends_in(const ir_lifetimes *lifetimes, const ir_lifetime *life, const ir_region *region) {
  return !life->escapes && !life->returns && life->end <= ir_lifetime_step(lifetimes, end_of(region->last));
}

const ir_expr *ir_place_bytes(ir_context *context, const ir_facts *facts, const ir_type *type) {
  const ir_expr *count = ir_expr_i64(context, 1);
  for (size_t i = 0; i < type->count; i++) count = ir_dim_mul(context, facts, count, ir_type_dim(type, i));
  int64_t bits = (int64_t)ir_dtypes[type->dtype].bits * type->lanes, unit = IR_PACK_ALIGN * 8;
  if (unit % bits) count = ir_expr_binary(context, IR_S_MUL, count, ir_expr_i64(context, bits / 8));
  const ir_expr *units = ir_expr_binary(context, IR_S_CEILDIV, count, ir_expr_i64(context, unit % bits ? IR_PACK_ALIGN : unit / bits));
  return ir_simplify(context, facts, ir_expr_binary(context, IR_S_MUL, units, ir_expr_i64(context, IR_PACK_ALIGN)));
}
