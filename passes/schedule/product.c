// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/product.c - sums, and what the factors of products in them depend on. Needs loop form. */
#include "passes/schedule/product.h"

#include "passes/schedule/transform.h"

struct sums {
  const ir_op *loop;
  ir_op *sum;
};

/* The combination of EXPR, of STORE, takes in what is stored already. */
static bool accumulates(const ir_op *store, const ir_expr *expr) {
  for (size_t i = 0; i < expr->count; i++) {
    if (expr->kids[i]->code == IR_S_LOAD && ir_op_operand(store, expr->kids[i]->arg) == ir_op_operand(store, 0)) return true;
  }
  return false;
}

static bool see_sum(void *user, ir_op *op) {
  struct sums *s = user;
  if (!ir_is(op, IR_STORE) || op->region->parent == s->loop) return true;
  if (!accumulates(op, ir_get_expr_at(op, "args", 0))) return true;
  /* Several sums: none of the rules fits. */
  bool first = !s->sum;
  s->sum = first ? op : NULL;
  return first;
}

ir_op *ir_sum_in(ir_op *loop) {
  struct sums s = {.loop = loop};
  ir_walk(ir_op_region(loop, 0), IR_PRE_ORDER, see_sum, &s);
  return s.sum;
}

bool ir_sum_is_product(const ir_op *sum) {
  const ir_expr *value = ir_get_expr_at(sum, "args", 0);
  return value->code == IR_S_MAD || value->code == IR_S_FMA;
}

bool ir_product_shares(const ir_op *sum, const ir_op *lanes, const ir_op *loop) {
  const ir_value *lane = ir_loop_variable(lanes), *round = ir_loop_variable(loop);
  const ir_expr *value = ir_get_expr_at(sum, "args", 0);
  bool vector = false, differs = false;
  for (size_t i = 0; i < 2; i++) {
    bool of_lanes = ir_expr_depends(sum, value->kids[i], lane), of_rounds = ir_expr_depends(sum, value->kids[i], round);
    if (of_lanes && of_rounds) return false;
    vector |= of_lanes;
    differs |= of_rounds;
  }
  for (const ir_op *op = ir_op_parent(sum); op && op != loop; op = ir_op_parent(op)) {
    if ((ir_is(op, IR_IF) || ir_is(op, IR_FOR)) && ir_value_depends(ir_op_operand(op, 0), round)) return false;
  }
  return vector && differs;
}
