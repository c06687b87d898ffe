// SPDX-License-Identifier: Apache-2.0
/* ir/type_unify.c - parameter types against argument types, and what a binding makes of a type. Needs ir/type,
 * ir/simplify, ir/print. */
#include "base/vec.h"
#include "ir/infer.h"
#include "ir/print.h"

struct unify {
  ir_context *context;
  const ir_facts *facts;
  ir_binding *binding;
  const char **why;
  bool binds; /* the first of two rounds: symbols are bound, nothing is compared */
};

static bool conflict(struct unify *u, const char *why) {
  if (u->why) *u->why = why;
  return false;
}

static const char *expr_text(ir_arena *arena, const ir_expr *expr) {
  ir_text text = {0};
  ir_print_expr(&text, expr, NULL, 0);
  const char *copy = ir_arena_copy(arena, text.at, text.length);
  ir_text_free(&text);
  return copy;
}

static bool unify_dim(struct unify *u, size_t axis, const ir_expr *param, const ir_expr *argument) {
  if (!param || !argument) return true;
  if (u->binds) {
    if (param->code != IR_S_SYMBOL) return true;
    void **slot = ir_map_slot(u->binding->arena, &u->binding->symbols, param);
    if (!*slot) *slot = (void *)(uintptr_t)argument;
    return true;
  }
  const ir_expr *expected = ir_expr_substitute(u->context, u->binding, param);
  if (!expected || ir_prove_equal(u->context, u->facts, expected, argument) != IR_REFUTED) return true;
  ir_arena *arena = u->binding->arena;
  if (!u->why) return false;
  const char *found = expr_text(arena, argument), *wanted = expr_text(arena, ir_simplify(u->context, u->facts, expected));
  if (expected == param) return conflict(u, ir_arena_printf(arena, "extent %zu is %s, expected %s", axis, found, wanted));
  return conflict(u, ir_arena_printf(arena, "extent %zu is %s, expected '%s' = %s", axis, found, expr_text(arena, param), wanted));
}

static bool unify_dims(struct unify *u, const ir_type *param, const ir_type *argument) {
  if (!param->ranked || !argument->ranked) return true;
  if (param->count != argument->count) {
    if (!u->why) return false;
    return conflict(u, ir_arena_printf(u->binding->arena, "rank %u, expected %u", argument->count, param->count));
  }
  for (size_t i = 0; i < param->count; i++) {
    if (!unify_dim(u, i, ir_type_dim(param, i), ir_type_dim(argument, i))) return false;
  }
  return true;
}

static bool unify(struct unify *u, const ir_type *param, const ir_type *argument);

static bool unify_tensors(struct unify *u, const ir_type *param, const ir_type *argument) {
  bool known = param->dtype != IR_DTYPE_UNKNOWN && argument->dtype != IR_DTYPE_UNKNOWN;
  if (known && param->dtype != argument->dtype) {
    if (!u->why) return false;
    return conflict(u, ir_arena_printf(u->binding->arena, "dtype %s, expected %s", ir_dtype_name(ir_type_dtype(argument)),
                                       ir_dtype_name(ir_type_dtype(param))));
  }
  if (param->lanes != argument->lanes) return conflict(u, "vector elements of another width");
  if (param->device && argument->device && param->device != argument->device) return conflict(u, "another device");
  return unify_dims(u, param, argument);
}

static bool unify_functions(struct unify *u, const ir_type *param, const ir_type *argument) {
  if (argument->impure && !param->impure) return conflict(u, "an impure function, expected a pure one");
  if (!param->ranked || !argument->ranked) return true;
  if (param->count != argument->count) return conflict(u, "a function with another number of parameters");
  if (param->result_count != argument->result_count) return conflict(u, "a function with another number of results");
  for (size_t i = 0; i < (size_t)param->count + param->result_count; i++) {
    if (!unify(u, param->items[i], argument->items[i])) return false;
  }
  return true;
}

static bool unify(struct unify *u, const ir_type *param, const ir_type *argument) {
  if (param->kind == IR_TYPE_ANY || argument->kind == IR_TYPE_ANY) return true;
  if (ir_is_tensor(param) && ir_is_scalar(argument)) {
    /* A scalar is taken where a 0-d tensor is. */
    const ir_type *as_tensor = ir_type_tensor(u->context, ir_type_dtype(argument), 0, NULL);
    return argument->lanes == 1 ? unify_tensors(u, param, as_tensor) : conflict(u, "a vector, expected a tensor");
  }
  if (param->kind != argument->kind) {
    static const char *const kinds[] = {"anything", "a scalar", "a tensor", "a shape", "a tuple", "a function", "storage"};
    if (!u->why) return false;
    return conflict(u, ir_arena_printf(u->binding->arena, "%s, expected %s", kinds[argument->kind], kinds[param->kind]));
  }
  switch (param->kind) {
  case IR_TYPE_ANY:
  case IR_TYPE_STORAGE: return true;
  case IR_TYPE_SCALAR: return param == argument || conflict(u, "a scalar of another dtype");
  case IR_TYPE_TENSOR: return unify_tensors(u, param, argument);
  case IR_TYPE_SHAPE: return unify_dims(u, param, argument);
  case IR_TYPE_FUNC: return unify_functions(u, param, argument);
  case IR_TYPE_TUPLE:
    if (param->count != argument->count) return conflict(u, "a tuple with another number of fields");
    for (size_t i = 0; i < param->count; i++) {
      if (!unify(u, ir_type_field(param, i), ir_type_field(argument, i))) return false;
    }
    return true;
  }
  return true;
}

bool ir_unify(ir_context *context, const ir_facts *facts, ir_binding *binding, const ir_type *param, const ir_type *argument, const char **why) {
  struct unify u = {.context = context, .facts = facts, .binding = binding, .why = why, .binds = true};
  if (!unify(&u, param, argument)) return false;
  u.binds = false;
  return unify(&u, param, argument);
}

struct substitution {
  const ir_binding *binding;
  bool unbound;
};

static const ir_expr *bound(void *user, ir_context *context, const ir_expr *leaf) {
  (void)context;
  struct substitution *s = user;
  if (leaf->code != IR_S_SYMBOL) return leaf;
  const ir_expr *value = ir_map_get(&s->binding->symbols, leaf);
  if (!value) s->unbound = true;
  return value ? value : leaf;
}

const ir_expr *ir_expr_substitute(ir_context *context, const ir_binding *binding, const ir_expr *expr) {
  struct substitution s = {.binding = binding};
  const ir_expr *result = ir_expr_replace(context, expr, bound, &s);
  return s.unbound ? NULL : result;
}

const ir_type *ir_type_substitute(ir_context *context, const ir_facts *facts, const ir_binding *binding, const ir_type *type) {
  size_t count = (size_t)type->count + type->result_count;
  if (!count) return type;
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  ir_arena scratch = {0};
  const void **items = ir_new_array(&scratch, const void *, count);
  for (size_t i = 0; i < count; i++) {
    if (!type->items[i]) continue;
    if (!shaped) {
      items[i] = ir_type_substitute(context, facts, binding, type->items[i]);
      continue;
    }
    const ir_expr *dim = ir_expr_substitute(context, binding, type->items[i]);
    items[i] = dim ? ir_simplify(context, facts, dim) : NULL;
  }
  ir_type_key key = {type->kind,  type->dtype,        type->ranked, type->impure, type->lanes,
                     type->count, type->result_count, type->device, items};
  const ir_type *result = ir_type_get(context, &key);
  ir_arena_free(&scratch);
  return result;
}
