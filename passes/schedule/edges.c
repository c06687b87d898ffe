// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/edges.c - which rounds of a loop need the conditions in it: windows that reach into the padding do so in the
 * first and the last rounds alone. Needs loop form. */
#include "ir/frame.h"
#include "ir/module.h"
#include "ir/simplify.h"
#include "passes/schedule/transform.h"

enum { MOST_EDGE = 8 }; /* rounds on a side */

struct edges {
  ir_context *context;
  ir_arena *arena;
  ir_frame all;
  const ir_facts *facts;
  const ir_expr *at, *end; /* the loop's variable, its number of rounds */
};

static bool speaks_of(const ir_expr *expr, const ir_expr *variable) {
  if (expr == variable) return true;
  for (size_t i = 0; i < expr->count; i++) {
    if (speaks_of(expr->kids[i], variable)) return true;
  }
  return false;
}

/* The parts of the conjunction that speak of the loop's variable hold in all rounds but the FIRST first and the LAST last. */
static bool holds_in(struct edges *e, const ir_facts *facts, const ir_expr *condition) {
  if (condition->code == IR_S_AND) return holds_in(e, facts, condition->kids[0]) && holds_in(e, facts, condition->kids[1]);
  return !speaks_of(condition, e->at) || ir_prove(e->context, facts, condition) == IR_PROVEN;
}

static bool holds_but(struct edges *e, const ir_op *loop, const ir_op *op, int64_t first, int64_t last) {
  ir_facts *facts = ir_facts_new(e->context, e->arena, e->facts);
  ir_facts_assume(facts, ir_expr_binary(e->context, IR_S_LE, ir_expr_i64(e->context, first), e->at));
  const ir_expr *end = ir_expr_binary(e->context, IR_S_SUB, e->end, ir_expr_i64(e->context, last));
  ir_facts_assume(facts, ir_expr_binary(e->context, IR_S_LT, e->at, end));
  for (op = ir_op_parent(op); op != loop; op = ir_op_parent(op)) {
    if (ir_is(op, IR_IF) && !holds_in(e, facts, ir_frame_use(&e->all, ir_op_operand(op, 0)))) return false;
  }
  return true;
}

bool ir_transform_edges(ir_transform *t, const ir_op *loop, const ir_op *op, int64_t *first, int64_t *last) {
  struct edges e = {.context = t->func->item.module->context, .arena = t->scratch};
  e.all = (ir_frame){.context = e.context, .arena = e.arena};
  e.facts = ir_transform_facts(t, &e.all, op);
  e.at = ir_frame_use(&e.all, ir_loop_variable(loop));
  e.end = ir_frame_use(&e.all, ir_op_operand(loop, 0));
  int64_t rounds;
  bool few = ir_expr_is_int(e.end, &rounds) && rounds <= 2 * MOST_EDGE;
  *first = *last = few ? (rounds - 1) / 2 : MOST_EDGE;
  if (!holds_but(&e, loop, op, *first, *last)) return false;
  while (*first && holds_but(&e, loop, op, *first - 1, *last)) --*first;
  while (*last && holds_but(&e, loop, op, *first, *last - 1)) --*last;
  return true;
}
