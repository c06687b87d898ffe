// SPDX-License-Identifier: Apache-2.0
/* targets/bounds.c - proofs that accesses are in range, from the facts of targets/facts.c; each is tried once. */
#include "targets/proofs.h"

/* --- proofs by cases: of select(c, a, b), and of bcast(a, b), where a == b, a == 1 or b == 1 has been checked --- */

enum { MOST_CASES = 3 /* nested */ };

static bool holds(ir_proofs *p, const ir_facts *facts, const ir_expr *condition, int depth);

static void see_select(void *user, const ir_expr *expr) {
  if (expr->code == IR_S_SELECT && expr->lanes == 1 && !expr->kids[0]->has_loads) *(const ir_expr **)user = expr;
}

/* An outermost select in EXPR, or NULL. */
static const ir_expr *find_select(ir_context *context, const ir_expr *expr) {
  const ir_expr *found = NULL;
  ir_expr_walk(context, expr, see_select, &found);
  return found;
}

static bool either_way(ir_proofs *p, const ir_facts *facts, const ir_expr *condition, const ir_expr *select, int depth) {
  ir_context *context = p->context;
  for (size_t side = 0; side < 2; side++) {
    const ir_expr *test = side ? ir_expr_unary(context, IR_S_NOT, select->kids[0]) : select->kids[0];
    if (ir_prove(context, facts, test) == IR_REFUTED) continue;
    ir_facts *inner = ir_facts_new(context, p->arena, facts);
    ir_facts_assume(inner, test);
    const ir_expr *rest = ir_expr_swapped(context, condition, select, select->kids[1 + side]);
    if (!holds(p, inner, rest, depth - 1)) return false;
  }
  return true;
}

/* Each of the ways in which A and B broadcast. */
static bool every_way(ir_proofs *p, const ir_facts *facts, const ir_expr *condition, size_t next, int depth) {
  ir_context *context = p->context;
  const ir_expr *bcast = p->bcasts.at[next], *a = bcast->kids[0], *b = bcast->kids[1], *one = ir_expr_i64(context, 1);
  const ir_expr *tests[3][2] = {{a, b}, {a, one}, {b, one}}, *extents[3] = {a, b, a};
  for (size_t way = 0; way < 3; way++) {
    ir_facts *inner = ir_facts_new(context, p->arena, facts);
    ir_facts_assume(inner, ir_expr_binary(context, IR_S_EQ, tests[way][0], tests[way][1]));
    ir_facts_assume(inner, ir_expr_binary(context, IR_S_EQ, bcast, extents[way]));
    bool last = next + 1 == p->bcasts.count;
    bool fine = holds(p, inner, condition, depth - 1) || (!last && depth > 1 && every_way(p, inner, condition, next + 1, depth - 1));
    if (!fine) return false;
  }
  return true;
}

static bool holds(ir_proofs *p, const ir_facts *facts, const ir_expr *condition, int depth) {
  if (ir_prove(p->context, facts, condition) == IR_PROVEN) return true;
  const ir_expr *select = depth ? find_select(p->context, condition) : NULL;
  return select && either_way(p, facts, condition, select, depth);
}

static bool holds_anyway(ir_proofs *p, const ir_facts *facts, const ir_expr *condition) {
  return holds(p, facts, condition, MOST_CASES) || (p->bcasts.count && every_way(p, facts, condition, 0, MOST_CASES));
}

static bool proven(ir_proofs *p, const ir_expr *condition) {
  bool fresh;
  ir_known *entry = ir_known_of(p, p->facts, condition, &p->known, &fresh);
  if (!fresh) return entry->found != NULL;
  const ir_facts *twin = ir_proofs_twin(p, p->facts);
  bool fine = holds_anyway(p, p->facts, condition) || (twin && holds(p, twin, ir_proofs_names(p, condition), MOST_CASES));
  entry->found = fine ? p : NULL;
  return fine;
}

bool ir_proofs_at_least(ir_proofs *p, const ir_op *op, const ir_expr *expr, int64_t least) {
  ir_context *context = p->context;
  int64_t number;
  if (ir_expr_is_int(expr, &number)) return number >= least;
  if (!p->facts) return false;
  return proven(p, ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, least), ir_proofs_frame(p, op, expr)));
}

bool ir_proofs_in_range(ir_proofs *p, const ir_op *op, const ir_expr *index, const ir_expr *extent, unsigned lanes) {
  ir_context *context = p->context;
  if (index->dtype != IR_I64 || !extent || !p->facts) return false;
  const ir_expr *at = ir_proofs_frame(p, op, index), *last = at;
  if (lanes > 1) last = ir_expr_binary(context, IR_S_ADD, at, ir_expr_i64(context, (int64_t)lanes - 1));
  return proven(p, ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, 0), at)) &&
         proven(p, ir_expr_binary(context, IR_S_LT, last, extent));
}
