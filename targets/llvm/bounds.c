// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/bounds.c - what is known where: facts of loops and conditions, proofs that accesses are in range. The body
 * of a loop is emitted several times (vectors, remainder), so facts and proofs are kept by what they follow from. */
#include "targets/llvm/llvm.h"

/* --- facts and proofs, by their causes --- */

typedef struct known_entry {
  const void *key[3];
  const void *found;
} known_entry;

static bool same_key(const void *object, const void *key) {
  return !memcmp(((const known_entry *)object)->key, key, sizeof((const known_entry *)object)->key);
}

/* The entry for three causes; *fresh where it is new. */
static known_entry *known(emit_function *f, const void *a, const void *b, const void *c, bool *fresh) {
  const void *key[3] = {a, b, c};
  uint64_t hash = ir_hash_mix(ir_hash_mix(ir_hash_mix(17, (uintptr_t)a), (uintptr_t)b), (uintptr_t)c);
  void **slot = ir_intern_slot(&f->arena, &f->known, hash, key, same_key);
  *fresh = !*slot;
  if (*fresh) {
    known_entry *entry = ir_new(&f->arena, known_entry);
    memcpy(entry->key, key, sizeof key);
    *slot = entry;
  }
  return *slot;
}

/* --- expressions of operations in terms of the function --- */

enum { LARGEST_PROOF = 128 /* nodes: beyond, a binding stays a name */ };

static const ir_expr *spell_out(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  (void)frame;
  if (leaf->code == IR_S_LOAD) return NULL;
  return emit_value_in_frame(user, value);
}

const ir_expr *emit_in_frame(emit_function *f, const ir_op *op, const ir_expr *expr) {
  return op ? ir_frame_import(&f->frame, op, expr, NULL, spell_out, f) : expr;
}

const ir_expr *emit_value_in_frame(emit_function *f, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (ir_is(op, IR_SCALAR)) {
    const ir_expr *expr = ir_attr_as_expr(f->unit->context, ir_get(op, "value"));
    bool inlined = op->flags & IR_OP_INLINE;
    /* What was loaded before may be another element now: the binding stays a name. */
    if (inlined || (!expr->has_loads && expr->size <= LARGEST_PROOF)) {
      expr = emit_in_frame(f, op, expr);
      if (inlined || expr->size <= LARGEST_PROOF) return expr;
    }
  }
  return ir_expr_arg(f->unit->context, ir_frame_operand(&f->frame, value), ir_type_dtype(value->type), value->type->lanes);
}

const ir_facts *emit_facts_loop(emit_function *f, ir_value *variable, ir_value *extent) {
  bool fresh;
  known_entry *entry = known(f, f->facts, variable, extent, &fresh);
  if (!fresh) return entry->found;
  ir_context *context = f->unit->context;
  ir_facts *facts = ir_facts_new(context, &f->arena, f->facts);
  const ir_expr *counter = emit_value_in_frame(f, variable), *end = emit_value_in_frame(f, extent);
  ir_facts_range(facts, counter, 0, INT64_MAX - 1);
  if (!end->has_loads) ir_facts_assume(facts, ir_expr_binary(context, IR_S_LT, counter, end));
  return entry->found = facts;
}

/* Conjunctions in parts, so that a part that loads does not hide the others. */
static void assume(emit_function *f, ir_facts *facts, const ir_expr *condition, bool loads) {
  if (condition->code == IR_S_AND) {
    assume(f, facts, condition->kids[0], loads);
    assume(f, facts, condition->kids[1], loads);
  } else if (loads || !condition->has_loads) {
    ir_facts_assume(facts, condition);
  }
}

const ir_facts *emit_facts_guard(emit_function *f, const ir_op *op, const ir_expr *condition) {
  bool fresh;
  known_entry *entry = known(f, f->facts, op, condition, &fresh);
  if (!fresh) return entry->found;
  ir_facts *facts = ir_facts_new(f->unit->context, &f->arena, f->facts);
  /* Within one operation memory does not change. */
  assume(f, facts, emit_in_frame(f, op, condition), true);
  return entry->found = facts;
}

const ir_facts *emit_facts_if(emit_function *f, const ir_expr *condition, bool holds) {
  bool fresh;
  known_entry *entry = known(f, f->facts, condition, holds ? f : NULL, &fresh);
  if (!fresh) return entry->found;
  ir_context *context = f->unit->context;
  ir_facts *facts = ir_facts_new(context, &f->arena, f->facts);
  assume(f, facts, holds ? condition : ir_expr_unary(context, IR_S_NOT, condition), false);
  return entry->found = facts;
}

/* --- proofs --- */

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

struct swap {
  const ir_expr *from, *to;
  ir_context *context;
};

static const ir_expr *swapped(const struct swap *s, const ir_expr *expr) {
  if (expr == s->from) return s->to;
  const ir_expr *kids[3];
  bool changed = false;
  if (!expr->count || expr->count > 3 || expr->code == IR_S_LOAD) return expr;
  for (size_t i = 0; i < expr->count; i++) {
    kids[i] = swapped(s, expr->kids[i]);
    changed |= kids[i] != expr->kids[i];
  }
  if (!changed) return expr;
  bool converts = ir_scalars[expr->code].typing == IR_TYPING_CONVERT;
  if (converts) return ir_expr_convert(s->context, (ir_scalar_code)expr->code, kids[0], (ir_dtype)expr->dtype, expr->lanes);
  return ir_expr_get(s->context, (ir_scalar_code)expr->code, expr->count, kids);
}

static bool either_way(emit_function *f, const ir_facts *facts, const ir_expr *condition, const ir_expr *select, int depth) {
  ir_context *context = f->unit->context;
  for (size_t side = 0; side < 2; side++) {
    const ir_expr *test = side ? ir_expr_unary(context, IR_S_NOT, select->kids[0]) : select->kids[0];
    if (ir_prove(context, facts, test) == IR_REFUTED) continue;
    ir_facts *inner = ir_facts_new(context, &f->arena, facts);
    ir_facts_assume(inner, test);
    const struct swap swap = {select, select->kids[1 + side], context};
    if (!holds(f, inner, swapped(&swap, condition), depth - 1)) return false;
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

static bool proven(emit_function *f, const ir_expr *condition) {
  bool fresh;
  known_entry *entry = known(f, f->facts, condition, &f->known, &fresh);
  if (!fresh) return entry->found != NULL;
  bool fine = holds(f, f->facts, condition, MOST_CASES);
  if (!fine && f->bcasts.count) fine = every_way(f, f->facts, condition, 0, MOST_CASES);
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

bool emit_in_range(emit_scope *scope, const ir_expr *index, const ir_expr *extent, unsigned lanes) {
  emit_function *f = scope->f;
  ir_context *context = f->unit->context;
  if (index->dtype != IR_I64 || !extent || !f->facts) return false;
  const ir_expr *at = emit_in_frame(f, scope->op, index), *last = at;
  if (lanes > 1) last = ir_expr_binary(context, IR_S_ADD, at, ir_expr_i64(context, (int64_t)lanes - 1));
  return proven(f, ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, 0), at)) &&
         proven(f, ir_expr_binary(context, IR_S_LT, last, extent));
}
