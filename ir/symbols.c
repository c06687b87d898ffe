// SPDX-License-Identifier: Apache-2.0
/* ir/symbols.c - the symbols that types, attributes and expressions speak of. Needs ir/expr. */
#include "ir/symbols.h"

#include "base/vec.h"
#include "ir/simplify.h"

static void see(void *user, const ir_expr *node) {
  ir_symbols_used *used = user;
  if (node->code != IR_S_SYMBOL || ir_map_has(&used->seen, node)) return;
  ir_map_put(used->arena, &used->seen, node, used);
  *ir_push(used->arena, used) = node;
}

void ir_symbols_in_expr(ir_symbols_used *used, const ir_expr *expr) { ir_expr_walk(used->context, expr, see, used); }

void ir_symbols_in_type(ir_symbols_used *used, const ir_type *type, bool binds) {
  for (size_t i = 0; type->kind == IR_TYPE_TUPLE && i < type->count; i++) ir_symbols_in_type(used, type->items[i], binds);
  if (type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SHAPE) return;
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    if (!dim) continue;
    if (binds && dim->code == IR_S_SYMBOL) ir_map_put(used->arena, &used->bound, dim, used);
    ir_symbols_in_expr(used, dim);
  }
}

void ir_symbols_in_attr(ir_symbols_used *used, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_symbols_in_expr(used, attr->expr);
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) ir_symbols_in_attr(used, attr->items[i]);
}

const ir_expr **ir_symbols_unbound(const ir_symbols_used *used, size_t *count) {
  const ir_expr **unbound = ir_new_array(used->arena, const ir_expr *, used->count + 1);
  *count = 0;
  for (size_t i = 0; i < used->count; i++) {
    if (!ir_map_has(&used->bound, used->at[i])) unbound[(*count)++] = used->at[i];
  }
  return unbound;
}

void ir_symbols_copy_where(const ir_symbols_used *used, const ir_func *from, ir_func *to) {
  for (size_t i = 0; i < from->where_count; i++) {
    ir_symbols_used own = {.context = used->context, .arena = used->arena};
    ir_symbols_in_expr(&own, from->where[i]);
    bool known = true;
    for (size_t s = 0; s < own.count; s++) known &= ir_map_has(&used->seen, own.at[s]);
    if (known) ir_func_add_where(to, from->where[i]);
  }
}

static void see_param(ir_symbols_used *used, const ir_param *param) {
  ir_symbols_in_type(used, param->type, false);
  if (param->symbol) ir_symbols_in_expr(used, param->symbol);
}

void ir_symbols_in_signature(ir_symbols_used *used, const ir_func *func) {
  for (size_t i = 0; i < func->param_count; i++) see_param(used, &func->params[i]);
}

static void see_region(ir_symbols_used *used, ir_region *region) {
  for (size_t i = 0; i < region->arg_count; i++) ir_symbols_in_type(used, region->args[i]->type, false);
  for (ir_op *op = region->first; op; op = op->next) {
    for (size_t i = 0; i < op->result_count; i++) ir_symbols_in_type(used, ir_op_result(op, i)->type, false);
    for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) ir_symbols_in_attr(used, ir_op_slots(op)[i]);
    for (size_t i = 0; i < op->region_count; i++) see_region(used, ir_op_regions(op)[i]);
  }
}

static bool is_used(const ir_symbols_used *used, const ir_string *name) {
  for (size_t i = 0; i < used->count; i++) {
    if (used->at[i]->symbol == name) return true;
  }
  return false;
}

const ir_expr *ir_func_fresh_symbol(ir_func *func, const char *base) {
  ir_arena arena = {0};
  ir_symbols_used used = {.context = ir_func_context(func), .arena = &arena};
  ir_symbols_in_signature(&used, func);
  if (func->body) see_region(&used, func->body);
  const ir_string *name = ir_intern(used.context, ir_slice_of(base));
  for (size_t i = 1; is_used(&used, name); i++) name = ir_intern(used.context, ir_slice_of(ir_arena_printf(&arena, "%s%zu", base, i)));
  ir_arena_free(&arena);
  return ir_expr_symbol(used.context, name);
}
