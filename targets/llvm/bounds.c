// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/bounds.c - proofs that accesses are in range, from the facts of targets/llvm/facts.c; each is tried once. */
#include "targets/llvm/llvm.h"

/* --- proofs by cases: of select(c, a, b), and of bcast(a, b), where a == b, a == 1 or b == 1 has been checked --- */

enum { MOST_CASES = 3 /* nested */ };

static bool holds(emit_function *f, const ir_facts *facts, const ir_expr *condition, int depth);

static const ir_expr *find_select(const ir_expr *expr) {
  if (expr->code == IR_S_SELECT && expr->lanes == 1 && !expr->kids[0]->has_loads) return expr;
  for (size_t i = 0; i < expr->count; i++) {
    const ir_expr *found = find_select(expr->kids[i]);
    if (found) return found;
  }
  return NULL;
}

static bool either_way(emit_function *f, const ir_facts *facts, const ir_expr *condition, const ir_expr *select, int depth) {
  ir_context *context = f->unit->context;
  for (size_t side = 0; side < 2; side++) {
    const ir_expr *test = side ? ir_expr_unary(context, IR_S_NOT, select->kids[0]) : select->kids[0];
    if (ir_prove(context, facts, test) == IR_REFUTED) continue;
    ir_facts *inner = ir_facts_new(context, &f->arena, facts);
    ir_facts_assume(inner, test);
    const ir_expr *rest = emit_swapped(context, condition, select, select->kids[1 + side]);
    if (!holds(f, inner, rest, depth - 1)) return false;
  }
  return true;
}

/* Each of the ways in which A and B broadcast. */
static bool every_way(emit_function *f, const ir_facts *facts, const ir_expr *condition, size_t next, int depth) {
  ir_context *context = f->unit->context;
  const ir_expr *bcast = f->bcasts.at[next], *a = bcast->kids[0], *b = bcast->kids[1], *one = ir_expr_i64(context, 1);
  const ir_expr *tests[3][2] = {{a, b}, {a, one}, {b, one}}, *extents[3] = {a, b, a};
  for (size_t way = 0; way < 3; way++) {
    ir_facts *inner = ir_facts_new(context, &f->arena, facts);
    ir_facts_assume(inner, ir_expr_binary(context, IR_S_EQ, tests[way][0], tests[way][1]));
    ir_facts_assume(inner, ir_expr_binary(context, IR_S_EQ, bcast, extents[way]));
    bool last = next + 1 == f->bcasts.count;
    bool fine = holds(f, inner, condition, depth - 1) || (!last && depth > 1 && every_way(f, inner, condition, next + 1, depth - 1));
    if (!fine) return false;
  }
  return true;
}

static bool holds(emit_function *f, const ir_facts *facts, const ir_expr *condition, int depth) {
  if (ir_prove(f->unit->context, facts, condition) == IR_PROVEN) return true;
  const ir_expr *select = depth ? find_select(condition) : NULL;
  return select && either_way(f, facts, condition, select, depth);
}

static bool holds_anyway(emit_function *f, const ir_facts *facts, const ir_expr *condition) {
  return holds(f, facts, condition, MOST_CASES) || (f->bcasts.count && every_way(f, facts, condition, 0, MOST_CASES));
}

static bool proven(emit_function *f, const ir_expr *condition) {
  bool fresh;
  emit_known *entry = emit_known_of(f, f->facts, condition, &f->known, &fresh);
  if (!fresh) return entry->found != NULL;
  const ir_facts *twin = emit_twin(f, f->facts);
  bool fine = holds_anyway(f, f->facts, condition) || (twin && holds(f, twin, emit_with_names(f, condition), MOST_CASES));
  entry->found = fine ? f : NULL;
  return fine;
}

bool emit_is_natural(emit_scope *scope, const ir_expr *expr, int64_t least) {
  emit_function *f = scope->f;
  ir_context *context = f->unit->context;
  int64_t number;
  if (ir_expr_is_int(expr, &number)) return number >= least;
  if (!f->facts) return false;
  return proven(f, ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, least), emit_in_frame(f, scope->op, expr)));
}

bool emit_in_range(const emit_scope *scope, const ir_expr *index, const ir_expr *extent, unsigned lanes) {
  emit_function *f = scope->f;
  ir_context *context = f->unit->context;
  if (index->dtype != IR_I64 || !extent || !f->facts) return false;
  const ir_expr *at = emit_in_frame(f, scope->op, index), *last = at;
  if (lanes > 1) last = ir_expr_binary(context, IR_S_ADD, at, ir_expr_i64(context, (int64_t)lanes - 1));
  return proven(f, ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, 0), at)) &&
         proven(f, ir_expr_binary(context, IR_S_LT, last, extent));
}
