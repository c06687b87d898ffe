// SPDX-License-Identifier: Apache-2.0
/* targets/facts.c - what is known where: facts of loops and conditions, in terms of the whole function. The body of a
 * loop is emitted several times (vectors, remainder), so facts are kept by what they follow from. */
#include "targets/proofs.h"

#include <stdlib.h>

/* --- facts and proofs, by their causes --- */

static bool same_key(const void *object, const void *key) {
  return !memcmp(((const ir_known *)object)->key, key, sizeof((const ir_known *)object)->key);
}

/* The entry for three causes; *fresh where it is new. */
ir_known *ir_known_of(ir_proofs *p, const void *a, const void *b, const void *c, bool *fresh) {
  const void *key[3] = {a, b, c};
  uint64_t hash = ir_hash_mix(ir_hash_mix(ir_hash_mix(17, (uintptr_t)a), (uintptr_t)b), (uintptr_t)c);
  void **slot = ir_intern_slot(p->arena, &p->known, hash, key, same_key);
  *fresh = !*slot;
  if (*fresh) {
    ir_known *entry = ir_new(p->arena, ir_known);
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
  return ir_proofs_value(user, value);
}

const ir_expr *ir_proofs_frame(ir_proofs *p, const ir_op *op, const ir_expr *expr) {
  return op ? ir_frame_import(&p->frame, op, expr, NULL, spell_out, p) : expr;
}

const ir_expr *ir_proofs_value(ir_proofs *p, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (ir_is(op, IR_SCALAR)) {
    const ir_expr *expr = ir_attr_as_expr(p->context, ir_get(op, "value"));
    bool inlined = op->flags & IR_OP_INLINE;
    /* What was loaded before may be another element now: the binding stays a name. */
    if (inlined || (!expr->has_loads && expr->size <= LARGEST_PROOF)) {
      expr = ir_proofs_frame(p, op, expr);
      if (inlined || expr->size <= LARGEST_PROOF) return expr;
    }
  }
  return ir_expr_arg(p->context, ir_frame_operand(&p->frame, value), ir_type_dtype(value->type), value->type->lanes);
}

/* --- sizes as names ---
 * The product of two extents such as floordiv(h + 31, 32) and w says little to the prover; that of two names does. So
 * besides the facts there are twins of them, in which extents of the parameters that are no symbols go by names of their
 * own. What is proven from either holds. */

const ir_expr *ir_expr_swapped(ir_context *context, const ir_expr *expr, const ir_expr *from, const ir_expr *to) {
  if (expr == from) return to;
  const ir_expr *kids[3];
  bool changed = false;
  if (!expr->count || expr->count > 3 || expr->code == IR_S_LOAD) return expr;
  for (size_t i = 0; i < expr->count; i++) {
    kids[i] = ir_expr_swapped(context, expr->kids[i], from, to);
    changed |= kids[i] != expr->kids[i];
  }
  if (!changed) return expr;
  bool converts = ir_scalars[expr->code].typing == IR_TYPING_CONVERT;
  if (converts) return ir_expr_convert(context, (ir_scalar_code)expr->code, kids[0], (ir_dtype)expr->dtype, expr->lanes);
  return ir_expr_get(context, (ir_scalar_code)expr->code, expr->count, kids);
}

const ir_expr *ir_proofs_names(ir_proofs *p, const ir_expr *expr) {
  for (size_t i = 0; i < p->sizes.count; i++) expr = ir_expr_swapped(p->context, expr, p->sizes.at[i].extent, p->sizes.at[i].name);
  return expr;
}

static void name_size(ir_proofs *p, const ir_expr *extent) {
  if (extent->code == IR_S_SYMBOL || extent->code == IR_S_CONST) return;
  for (size_t i = 0; i < p->sizes.count; i++) {
    if (p->sizes.at[i].extent == extent) return;
  }
  ir_context *context = p->context;
  /* No symbol of a program looks like this. */
  const char *text = ir_arena_printf(p->arena, "size %zu", p->sizes.count);
  *ir_push(p->arena, &p->sizes) = (ir_size_name){extent, ir_expr_symbol(context, ir_intern(context, ir_slice_of(text)))};
}

static int larger_first(const void *a, const void *b) {
  uint32_t x = ((const ir_size_name *)a)->extent->size, y = ((const ir_size_name *)b)->extent->size;
  return (x < y) - (x > y);
}

/* A tensor of TYPE, whose extents go by names. */
static void assume_tensor(ir_proofs *p, ir_facts *facts, const ir_type *type) {
  const ir_expr **dims = ir_new_array(p->arena, const ir_expr *, type->count);
  for (size_t d = 0; d < type->count; d++) dims[d] = ir_proofs_names(p, ir_type_dim(type, d));
  ir_facts_tensor(facts, ir_type_with_dims(p->context, type, type->count, dims));
}

static bool is_buffer(const ir_param *param) { return !param->symbol && ir_is_tensor(param->type); }

static void collect_bcast(void *user, const ir_expr *node) {
  ir_proofs *p = user;
  if (node->code != IR_S_BCAST) return;
  for (size_t i = 0; i < p->bcasts.count; i++) {
    if (p->bcasts.at[i] == node) return;
  }
  *ir_push(p->arena, &p->bcasts) = node;
}

void ir_proofs_start(ir_proofs *p, ir_func *func) {
  p->facts = ir_func_facts(func);
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_type *type = func->params[i].type;
    for (size_t d = 0; is_buffer(&func->params[i]) && d < type->count; d++) ir_expr_walk(p->context, ir_type_dim(type, d), collect_bcast, p);
  }
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_type *type = func->params[i].type;
    for (size_t d = 0; is_buffer(&func->params[i]) && d < type->count; d++) name_size(p, ir_type_dim(type, d));
  }
  if (!p->sizes.count) return;
  qsort(p->sizes.at, p->sizes.count, sizeof *p->sizes.at, larger_first);
  ir_facts *twin = ir_facts_new(p->context, p->arena, p->facts);
  for (size_t i = 0; i < func->param_count; i++) {
    if (is_buffer(&func->params[i])) assume_tensor(p, twin, func->params[i].type);
  }
  ir_map_put(p->arena, &p->twins, p->facts, twin);
}

const ir_facts *ir_proofs_twin(const ir_proofs *p, const ir_facts *facts) { return p->sizes.count ? ir_map_get(&p->twins, facts) : NULL; }

/* --- facts of inner scopes, and their twins --- */

typedef struct scope_facts {
  ir_facts *facts, *twin;
} scope_facts;

static scope_facts open_scope(ir_proofs *p) {
  const ir_facts *twin = ir_proofs_twin(p, p->facts);
  scope_facts scope = {ir_facts_new(p->context, p->arena, p->facts), NULL};
  if (twin) {
    scope.twin = ir_facts_new(p->context, p->arena, twin);
    ir_map_put(p->arena, &p->twins, scope.facts, scope.twin);
  }
  return scope;
}

static void assume_one(ir_proofs *p, scope_facts scope, const ir_expr *condition) {
  ir_facts_assume(scope.facts, condition);
  if (scope.twin) ir_facts_assume(scope.twin, ir_proofs_names(p, condition));
}

/* Conjunctions in parts, so that a part that loads does not hide the others. */
static void assume(ir_proofs *p, scope_facts scope, const ir_expr *condition, bool loads) {
  if (condition->code == IR_S_AND) {
    assume(p, scope, condition->kids[0], loads);
    assume(p, scope, condition->kids[1], loads);
  } else if (loads || !condition->has_loads) {
    assume_one(p, scope, condition);
  }
}

const ir_facts *ir_proofs_loop(ir_proofs *p, ir_value *variable, ir_value *extent) {
  bool fresh;
  ir_known *entry = ir_known_of(p, p->facts, variable, extent, &fresh);
  if (!fresh) return entry->found;
  scope_facts scope = open_scope(p);
  const ir_expr *counter = ir_proofs_value(p, variable), *end = ir_proofs_value(p, extent);
  ir_facts_count(scope.facts, p->context, counter, end);
  if (scope.twin) ir_facts_count(scope.twin, p->context, counter, ir_proofs_names(p, end));
  return entry->found = scope.facts;
}

const ir_facts *ir_proofs_guard(ir_proofs *p, const ir_op *op, const ir_expr *condition) {
  bool fresh;
  ir_known *entry = ir_known_of(p, p->facts, op, condition, &fresh);
  if (!fresh) return entry->found;
  scope_facts scope = open_scope(p);
  /* Within one operation memory does not change. */
  assume(p, scope, ir_proofs_frame(p, op, condition), true);
  return entry->found = scope.facts;
}

const ir_facts *ir_proofs_if(ir_proofs *p, const ir_expr *condition, bool holds) {
  bool fresh;
  ir_known *entry = ir_known_of(p, p->facts, condition, holds ? p : NULL, &fresh);
  if (!fresh) return entry->found;
  scope_facts scope = open_scope(p);
  assume(p, scope, holds ? condition : ir_expr_unary(p->context, IR_S_NOT, condition), false);
  return entry->found = scope.facts;
}
