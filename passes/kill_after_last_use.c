// SPDX-License-Identifier: Apache-2.0
/* passes/kill_after_last_use.c - memory that plan-memory left to the executor is given back after its last use rather than
 * at the end of its region. Needs call-tir-rewrite; runs after plan-memory. */
#include "base/vec.h"
#include "ir/lifetime.h"
#include "passes/pass.h"

enum { FREED };

struct ending {
  ir_value *value;
  ir_op *last;
};

struct search {
  ir_arena *arena;
  ir_lifetimes lifetimes;
  ir_vec(struct ending) endings;
};

/* OP yields memory of its own: what a graph function returns is its caller's. */
static bool owns(const ir_op *op, const ir_value *value) {
  return ir_is_tensor(value->type) && (ir_is(op, IR_ALLOC) || ir_is(op, IR_CALL));
}

static bool visit(void *user, ir_op *op) {
  struct search *s = user;
  for (size_t i = 0; i < op->result_count; i++) {
    ir_value *value = ir_op_result(op, i);
    if (!owns(op, value)) continue;
    const ir_lifetime life = ir_lifetime_of(&s->lifetimes, value);
    ir_op *last = life.last;
    while (last && last->region != op->region) last = ir_op_parent(last);
    bool ends = !life.escapes && !life.returns && last && !ir_has(last, IR_TERMINATOR) && !ir_is(last, IR_HOST_FREE);
    if (ends) *ir_push(s->arena, &s->endings) = (struct ending){value, last};
  }
  return true;
}

static bool kill(ir_pass_run *run, ir_func *func) {
  struct search s = {.arena = run->scratch};
  ir_lifetimes_of(&s.lifetimes, s.arena, func);
  ir_walk(func->body, IR_PRE_ORDER, visit, &s);
  for (size_t i = 0; i < s.endings.count; i++) {
    ir_builder b = ir_after(s.endings.at[i].last);
    ir_build(&b, IR_HOST_FREE, &s.endings.at[i].value, 1, IR_NO_ATTRS);
    ir_count(run, FREED);
  }
  return s.endings.count > 0;
}

const ir_pass ir_pass_kill_after_last_use = {
    .name = "kill-after-last-use",
    .doc = "Give memory that is not planned back after its last use.",
    .each_func = kill,
    .needs = IR_PROPERTY_BUFFERS,
    .stats = STATS({"freed", "tensors given back early"}),
};
