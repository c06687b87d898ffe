// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/facts.c - what is known where: facts of loops and conditions, in terms of the whole function. The body of a
 * loop is emitted several times (vectors, remainder), so facts are kept by what they follow from. */
#include "targets/llvm/llvm.h"

#include <stdlib.h>

/* --- facts and proofs, by their causes --- */

static bool same_key(const void *object, const void *key) {
  return !memcmp(((const emit_known *)object)->key, key, sizeof((const emit_known *)object)->key);
}

/* The entry for three causes; *fresh where it is new. */
emit_known *emit_known_of(emit_function *f, const void *a, const void *b, const void *c, bool *fresh) {
  const void *key[3] = {a, b, c};
  uint64_t hash = ir_hash_mix(ir_hash_mix(ir_hash_mix(17, (uintptr_t)a), (uintptr_t)b), (uintptr_t)c);
  void **slot = ir_intern_slot(&f->arena, &f->known, hash, key, same_key);
  *fresh = !*slot;
  if (*fresh) {
    emit_known *entry = ir_new(&f->arena, emit_known);
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

/* --- sizes as names ---
 * The product of two extents such as floordiv(h + 31, 32) and w says little to the prover; that of two names does. So
 * besides the facts there are twins of them, in which extents of the parameters that are no symbols go by names of their
 * own. What is proven from either holds. */

const ir_expr *emit_swapped(ir_context *context, const ir_expr *expr, const ir_expr *from, const ir_expr *to) {
  if (expr == from) return to;
  const ir_expr *kids[3];
  bool changed = false;
  if (!expr->count || expr->count > 3 || expr->code == IR_S_LOAD) return expr;
  for (size_t i = 0; i < expr->count; i++) {
    kids[i] = emit_swapped(context, expr->kids[i], from, to);
    changed |= kids[i] != expr->kids[i];
  }
  if (!changed) return expr;
  bool converts = ir_scalars[expr->code].typing == IR_TYPING_CONVERT;
  if (converts) return ir_expr_convert(context, (ir_scalar_code)expr->code, kids[0], (ir_dtype)expr->dtype, expr->lanes);
  return ir_expr_get(context, (ir_scalar_code)expr->code, expr->count, kids);
}

const ir_expr *emit_with_names(emit_function *f, const ir_expr *expr) {
  for (size_t i = 0; i < f->sizes.count; i++) expr = emit_swapped(f->unit->context, expr, f->sizes.at[i].extent, f->sizes.at[i].name);
  return expr;
}

static void name_size(emit_function *f, const ir_expr *extent) {
  if (extent->code == IR_S_SYMBOL || extent->code == IR_S_CONST) return;
  for (size_t i = 0; i < f->sizes.count; i++) {
    if (f->sizes.at[i].extent == extent) return;
  }
  ir_context *context = f->unit->context;
  /* No symbol of a program looks like this. */
  const char *text = ir_arena_printf(&f->arena, "size %zu", f->sizes.count);
  *ir_push(&f->arena, &f->sizes) = (emit_size_name){extent, ir_expr_symbol(context, ir_intern(context, ir_slice_of(text)))};
}

static int larger_first(const void *a, const void *b) {
  uint32_t x = ((const emit_size_name *)a)->extent->size, y = ((const emit_size_name *)b)->extent->size;
  return (x < y) - (x > y);
}

/* A tensor of TYPE, whose extents go by names. */
static void assume_tensor(emit_function *f, ir_facts *facts, const ir_type *type) {
  const ir_expr **dims = ir_new_array(&f->arena, const ir_expr *, type->count);
  for (size_t d = 0; d < type->count; d++) dims[d] = emit_with_names(f, ir_type_dim(type, d));
  ir_facts_tensor(facts, ir_type_with_dims(f->unit->context, type, type->count, dims));
}

static bool is_buffer(const ir_param *param) { return !param->symbol && ir_is_tensor(param->type); }

void emit_facts_start(emit_function *f) {
  ir_func *func = f->source;
  f->facts = ir_func_facts(func);
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_type *type = func->params[i].type;
    for (size_t d = 0; is_buffer(&func->params[i]) && d < type->count; d++) name_size(f, ir_type_dim(type, d));
  }
  if (!f->sizes.count) return;
  qsort(f->sizes.at, f->sizes.count, sizeof *f->sizes.at, larger_first);
  ir_facts *twin = ir_facts_new(f->unit->context, &f->arena, f->facts);
  for (size_t i = 0; i < func->param_count; i++) {
    if (is_buffer(&func->params[i])) assume_tensor(f, twin, func->params[i].type);
  }
  ir_map_put(&f->arena, &f->twins, f->facts, twin);
}

const ir_facts *emit_twin(const emit_function *f, const ir_facts *facts) { return f->sizes.count ? ir_map_get(&f->twins, facts) : NULL; }

/* --- facts of inner scopes, and their twins --- */

typedef struct scope_facts {
  ir_facts *facts, *twin;
} scope_facts;

static scope_facts open_scope(emit_function *f) {
  const ir_facts *twin = emit_twin(f, f->facts);
  scope_facts scope = {ir_facts_new(f->unit->context, &f->arena, f->facts), NULL};
  if (twin) {
    scope.twin = ir_facts_new(f->unit->context, &f->arena, twin);
    ir_map_put(&f->arena, &f->twins, scope.facts, scope.twin);
  }
  return scope;
}

static void assume_one(emit_function *f, scope_facts scope, const ir_expr *condition) {
  ir_facts_assume(scope.facts, condition);
  if (scope.twin) ir_facts_assume(scope.twin, emit_with_names(f, condition));
}

/* Conjunctions in parts, so that a part that loads does not hide the others. */
static void assume(emit_function *f, scope_facts scope, const ir_expr *condition, bool loads) {
  if (condition->code == IR_S_AND) {
    assume(f, scope, condition->kids[0], loads);
    assume(f, scope, condition->kids[1], loads);
  } else if (loads || !condition->has_loads) {
    assume_one(f, scope, condition);
  }
}

const ir_facts *emit_facts_loop(emit_function *f, ir_value *variable, ir_value *extent) {
  bool fresh;
  emit_known *entry = emit_known_of(f, f->facts, variable, extent, &fresh);
  if (!fresh) return entry->found;
  scope_facts scope = open_scope(f);
  const ir_expr *counter = emit_value_in_frame(f, variable), *end = emit_value_in_frame(f, extent);
  ir_facts_range(scope.facts, counter, 0, INT64_MAX - 1);
  if (scope.twin) ir_facts_range(scope.twin, counter, 0, INT64_MAX - 1);
  if (!end->has_loads) assume_one(f, scope, ir_expr_binary(f->unit->context, IR_S_LT, counter, end));
  return entry->found = scope.facts;
}

const ir_facts *emit_facts_guard(emit_function *f, const ir_op *op, const ir_expr *condition) {
  bool fresh;
  emit_known *entry = emit_known_of(f, f->facts, op, condition, &fresh);
  if (!fresh) return entry->found;
  scope_facts scope = open_scope(f);
  /* Within one operation memory does not change. */
  assume(f, scope, emit_in_frame(f, op, condition), true);
  return entry->found = scope.facts;
}

const ir_facts *emit_facts_if(emit_function *f, const ir_expr *condition, bool holds) {
  bool fresh;
  emit_known *entry = emit_known_of(f, f->facts, condition, holds ? f : NULL, &fresh);
  if (!fresh) return entry->found;
  scope_facts scope = open_scope(f);
  assume(f, scope, holds ? condition : ir_expr_unary(f->unit->context, IR_S_NOT, condition), false);
  return entry->found = scope.facts;
}
