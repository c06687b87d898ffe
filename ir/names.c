// SPDX-License-Identifier: Apache-2.0
/* ir/names.c - make names distinct, and readable, after operations were made or moved. Needs ir/module. */
#include "base/vec.h"
#include "ir/module.h"

struct naming {
  ir_context *context;
  ir_arena arena;
  ir_map values, bare;             /* visible names, counted: name -> how often */
  ir_vec(const ir_string *) scope; /* what to take back, in order; an entry of `bare` has a NULL before it */
};

static bool is_bare(const ir_region *region) {
  return region->parent && (ir_is(region->parent, IR_COMPUTE) || ir_is(region->parent, IR_FOR));
}

/* A bare word must not read as a dtype: i4, i8. */
static bool is_free(const struct naming *n, const ir_map *taken, const ir_string *name) {
  return !ir_map_get(taken, name) && !(taken == &n->bare && ir_dtype_find(ir_slice_of(name->text)) != IR_DTYPE_UNKNOWN);
}

static const ir_string *fresh(struct naming *n, const ir_map *taken, const ir_string *name) {
  if (is_free(n, taken, name)) return name;
  for (unsigned i = 1;; i++) {
    const char *text = ir_arena_printf(&n->arena, "%s_%u", name->text, i);
    const ir_string *candidate = ir_intern(n->context, ir_slice_of(text));
    if (is_free(n, taken, candidate)) return candidate;
  }
}

static void define(struct naming *n, ir_value *value, bool bare) {
  if (!value->name) return;
  ir_map *taken = bare ? &n->bare : &n->values;
  value->name = fresh(n, taken, value->name);
  ir_map_put(&n->arena, taken, value->name, n);
  if (bare) *ir_push(&n->arena, &n->scope) = NULL;
  *ir_push(&n->arena, &n->scope) = value->name;
}

static void leave(struct naming *n, size_t mark) {
  while (n->scope.count > mark) {
    const ir_string *name = n->scope.at[--n->scope.count];
    bool bare = n->scope.count > mark && !n->scope.at[n->scope.count - 1];
    if (bare) n->scope.count--;
    ir_map_put(&n->arena, bare ? &n->bare : &n->values, name, NULL);
  }
}

static void visit(struct naming *n, ir_region *region) {
  size_t mark = n->scope.count;
  for (size_t i = 0; i < region->arg_count; i++) define(n, region->args[i], is_bare(region));
  ir_each_op(op, region) {
    for (size_t i = 0; i < op->region_count; i++) visit(n, ir_op_region(op, i));
    for (size_t i = 0; i < op->result_count; i++) define(n, ir_op_result(op, i), false);
  }
  leave(n, mark);
}

static void take_symbols(void *user, const ir_expr *node) {
  struct naming *n = user;
  if (node->code == IR_S_SYMBOL) ir_map_put(&n->arena, &n->bare, node->symbol, n);
}

static void take_type(struct naming *n, const ir_type *type) {
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  for (size_t i = 0; i < (size_t)type->count + type->result_count; i++) {
    if (!type->items[i]) continue;
    if (shaped) ir_expr_walk(n->context, type->items[i], take_symbols, n);
    if (!shaped) take_type(n, type->items[i]);
  }
}

void ir_func_make_names_unique(ir_func *func) {
  struct naming n = {.context = ir_func_context(func)};
  for (size_t i = 0; i < func->param_count; i++) {
    take_type(&n, func->params[i].type);
    if (func->params[i].symbol) take_symbols(&n, func->params[i].symbol);
  }
  visit(&n, func->body);
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].value) func->params[i].name = func->params[i].value->name;
  }
  ir_arena_free(&n.arena);
}
