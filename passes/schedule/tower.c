// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/tower.c - the parallel loops that a kernel stands in, and how many rounds they have. Needs loop form. */
#include "passes/schedule/tower.h"

#include "base/vec.h"
#include "ir/infer.h"

bool ir_loop_is_independent(const ir_op *loop, const ir_value *variable) { return !ir_value_depends(ir_op_operand(loop, 0), variable); }

/* Its rounds are as many in all rounds of the loops around it. */
static bool joins(const ir_tower *tower, const ir_op *loop) {
  bool same = tower->count < ir_count_of(tower->loops) && ir_loop_has_mode(loop, "parallel");
  for (size_t i = 0; i < tower->count; i++) same &= ir_loop_is_independent(loop, ir_loop_variable(tower->loops[i]));
  return same;
}

ir_tower ir_tower_find(ir_func *func) {
  ir_tower tower = {0};
  for (ir_op *loop = ir_loop_only(func->body); loop && joins(&tower, loop); loop = ir_loop_only(ir_op_region(loop, 0))) tower.loops[tower.count++] = loop;
  return tower;
}

const char *ir_tower_name(const ir_tower *tower, size_t i) { return ir_loop_variable(tower->loops[i])->name->text; }

static bool is_known(const ir_value *value, int64_t *number);

static bool leaf_value(void *user, const ir_expr *leaf, int64_t *number) {
  return leaf->code == IR_S_ARG && is_known(ir_op_operand((const ir_op *)user, leaf->arg), number);
}

static bool is_known(const ir_value *value, int64_t *number) {
  const ir_op *op = ir_value_op(value);
  const ir_expr *expr = ir_is(op, IR_SCALAR) ? ir_get_expr(op, "value") : NULL;
  return expr && !expr->has_loads && ir_evaluate(expr, leaf_value, (void *)(uintptr_t)op, number);
}

int64_t ir_loop_rounds(const ir_op *loop) {
  int64_t number;
  return is_known(ir_op_operand(loop, 0), &number) && number < IR_ROUNDS_UNKNOWN ? number : IR_ROUNDS_UNKNOWN;
}

int64_t ir_rounds_times(int64_t a, int64_t b) {
  bool known = a != IR_ROUNDS_UNKNOWN && b != IR_ROUNDS_UNKNOWN && !(a && b > IR_ROUNDS_UNKNOWN / a);
  return known ? a * b : IR_ROUNDS_UNKNOWN;
}
