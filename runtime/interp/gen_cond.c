// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen_cond.c - conditions. A comparison of linear indices selects an interval of a strip's lanes, which
 * costs nothing inside; whatever else varies becomes a mask. */
#include "runtime/interp/gen.h"

struct parts {
  const ir_expr **at;
  size_t count, capacity;
};

/* The operands of a conjunction. One that reads memory is not taken apart: both of its sides are evaluated. */
static void split(ir_gen *gen, struct parts *parts, const ir_expr *expr) {
  if (expr->code == IR_S_AND && expr->lanes == 1 && !expr->has_loads) {
    split(gen, parts, expr->kids[0]);
    split(gen, parts, expr->kids[1]);
    return;
  }
  *ir_push(&gen->scratch, parts) = expr;
}

static bool is_comparison(const ir_expr *expr) {
  return expr->code >= IR_S_EQ && expr->code <= IR_S_GE && expr->kids[0]->dtype == IR_I64 && expr->kids[0]->lanes == 1;
}

/* Far enough from the ends of i64 for a difference, and for what the executor adds to it. */
static bool is_near(ir_gen *gen, const ir_gen_form *form) {
  const int64_t far = INT64_C(1) << 61;
  int64_t least, most;
  return ir_gen_form_range(gen, form, &least, &most) && least > -far && most < far;
}

/* a OP b as a linear form against 0. */
static bool as_interval(ir_gen *gen, const ir_expr *expr, ir_cond *cond) {
  if (!is_comparison(expr)) return false;
  ir_gen_form a, b;
  if (!ir_gen_form_of(gen, expr->kids[0], &a) || !ir_gen_form_of(gen, expr->kids[1], &b)) return false;
  if (!is_near(gen, &a) || !is_near(gen, &b)) return false;
  ir_gen_form_add(gen, &a, &b, -1);
  ir_linear linear = ir_gen_form_finish(gen, &a);
  if (linear.varying || (linear.lane && expr->code == IR_S_NE)) return false;
  cond->kind = IR_COND_RANGE;
  cond->compare = expr->code;
  cond->form = linear;
  return true;
}

void ir_gen_guard(ir_gen *gen, ir_guard *guard, size_t count, const ir_expr *const *conditions) {
  struct parts parts = {0};
  for (size_t i = 0; i < count; i++) split(gen, &parts, conditions[i]);
  guard->conds = ir_new_array(gen->arena, ir_cond, parts.count);
  guard->count = parts.count;
  ir_code *body = gen->at;
  for (size_t i = 0; i < parts.count && !gen->failed; i++) {
    ir_cond *cond = &guard->conds[i];
    gen->at = &cond->code;
    if (as_interval(gen, parts.at[i], cond)) continue;
    cond->reg = ir_gen_expr(gen, parts.at[i]);
    cond->kind = ir_gen_info(gen, cond->reg)->varying ? IR_COND_LANES : IR_COND_UNIFORM;
    if (cond->kind == IR_COND_LANES && !guard->mask) guard->mask = ir_gen_reg(gen, IR_BOOL, 1, true, gen->depth);
  }
  gen->at = body;
}
