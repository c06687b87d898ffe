// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/beside.c - what stands beside a loop that becomes a grid. Every invocation runs it, so it may write
 * nothing, and touch nothing that the loop writes. Needs loop form. */
#include "passes/schedule/grid.h"

struct beside {
  ir_transform *t;
  ir_op *loop;
  ir_map inner;  /* memory that is allocated in the loop */
  ir_map stored; /* what the loop writes, but for that */
};

static bool see_inner(void *user, ir_op *op) {
  struct beside *s = user;
  if (ir_is(op, IR_ALLOC)) ir_map_put(s->t->scratch, &s->inner, ir_op_result(op, 0), s);
  if (ir_is(op, IR_STORE) && !ir_map_has(&s->inner, ir_op_operand(op, 0))) ir_map_put(s->t->scratch, &s->stored, ir_op_operand(op, 0), s);
  return true;
}

static bool refuse(struct beside *s, const ir_op *op, const char *why) {
  s->t->where = op;
  return ir_transform_refuse(s->t, why);
}

static bool is_harmless(struct beside *s, ir_op *op) {
  for (size_t i = 0; i < op->operand_count; i++) {
    if (ir_map_has(&s->stored, ir_op_operand(op, i))) return refuse(s, op, "what stands beside the loop touches what the loop writes");
  }
  switch ((int)op->code) {
  case IR_SCALAR:
  case IR_ASSERT:
  case IR_FOR:
  case IR_IF:
  case IR_WHILE:
  case IR_ALLOC: return true;
  default: return refuse(s, op, "something else stands beside the loop, which every invocation would do");
  }
}

static bool are_harmless(struct beside *s, ir_region *region) {
  ir_each_op(op, region) {
    if (op == s->loop) continue;
    if (!is_harmless(s, op)) return false;
    for (size_t i = 0; i < op->region_count; i++) {
      if (!are_harmless(s, ir_op_region(op, i))) return false;
    }
  }
  return true;
}

bool ir_grid_can_bind(ir_transform *t, ir_op *loop) {
  if (strcmp(ir_get_word(loop, "mode"), "parallel")) return ir_transform_refuse(t, "the loop's rounds are not independent (parallel)");
  if (ir_op_parent(loop)) return ir_transform_refuse(t, "the loop is inside of another");
  struct beside s = {.t = t, .loop = loop};
  ir_walk(ir_op_region(loop, 0), IR_PRE_ORDER, see_inner, &s);
  return are_harmless(&s, t->func->body);
}
