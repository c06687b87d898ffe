// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_size.c - symbols of graph functions: bound from extents, everything else about sizes is checked. */
#include "targets/llvm/host.h"

#include "ir/print.h"

#define B (h->f.builder)

/* --- extents --- */

LLVMValueRef host_extent(host *h, ir_range range, const ir_expr *expr) {
  emit_function *f = &h->f;
  f->overflow = LLVMConstInt(f->unit->i1, 0, 0);
  LLVMValueRef value = emit_uniform(f, NULL, expr), overflow = f->overflow;
  f->overflow = NULL;
  int64_t known;
  if (emit_is_const(overflow, &known) && !known) return value;
  ir_text text = {0};
  ir_text_put(&text, "extent '");
  ir_print_expr(&text, expr, NULL, 0);
  ir_text_put(&text, "' passes 63 bits");
  emit_require(f, LLVMBuildNot(B, overflow, ""), range, NULL, text.at, 0, NULL);
  ir_text_free(&text);
  return value;
}

bool host_extents(host *h, ir_range range, const char *what, host_value *value) {
  for (size_t i = 0; i < value->count; i++) {
    const ir_expr *expr = ir_type_dim(value->type, i);
    if (!expr) {
      emit_cannot(&h->f, range, "give %s the type %s: not implemented on llvm: data-dependent extent", what,
                  ir_type_text(&h->f.arena, value->type));
      return false;
    }
    value->dims[i] = host_extent(h, range, expr);
  }
  return true;
}

/* --- symbols --- */

void host_bind_symbol(host *h, const ir_expr *symbol, LLVMValueRef value) {
  ir_map_put(&h->f.arena, &h->f.symbols, symbol, value);
  *ir_push(&h->f.arena, &h->bound) = symbol;
}

void host_forget_symbols(host *h, size_t count) {
  while (h->bound.count > count) ir_map_remove(&h->f.symbols, h->bound.at[--h->bound.count]);
  for (size_t i = 0; i < h->bcasts.count; i++) {
    if (h->bcasts.at[i].done > count + 1) h->bcasts.at[i].done = 0;
  }
}

void host_bind(host *h, const ir_type *type, const host_value *value) {
  if (type->kind == IR_TYPE_TUPLE) {
    for (size_t i = 0; i < value->count; i++) host_bind(h, ir_type_field(type, i), value->fields[i]);
  }
  if (!ir_is_tensor(type) && type->kind != IR_TYPE_SHAPE) return;
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *expr = ir_type_dim(type, i);
    bool binds = expr && expr->code == IR_S_SYMBOL && !ir_map_has(&h->f.symbols, expr);
    if (binds) host_bind_symbol(h, expr, value->dims[i]);
  }
}

void host_check_extent(host *h, ir_range range, const char *what, size_t axis, const ir_expr *expr, LLVMValueRef actual) {
  LLVMValueRef expected = host_extent(h, range, expr);
  if (expected == actual) return;
  ir_text text = {0};
  ir_text_printf(&text, "%s has extent {0} on axis %zu, expected {1}", what, axis);
  int64_t known;
  if (!ir_expr_is_int(expr, &known)) {
    ir_text_put(&text, " = ");
    ir_print_expr(&text, expr, NULL, 0);
  }
  LLVMValueRef same = LLVMBuildICmp(B, LLVMIntEQ, actual, expected, "");
  emit_require(&h->f, same, range, NULL, text.at, 2, (LLVMValueRef[]){actual, expected});
  ir_text_free(&text);
}

void host_check(host *h, ir_range range, const char *what, const ir_type *type, const host_value *value) {
  if (type->kind == IR_TYPE_TUPLE) {
    for (size_t i = 0; i < value->count; i++) host_check(h, range, what, ir_type_field(type, i), value->fields[i]);
  }
  if (!ir_is_tensor(type) && type->kind != IR_TYPE_SHAPE) return;
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *expr = ir_type_dim(type, i);
    if (expr) host_check_extent(h, range, what, i, expr, value->dims[i]);
  }
}

/* --- broadcasting: bcast(a, b) in a type means that a == b, a == 1 or b == 1 --- */

static void collect_node(void *user, const ir_expr *node) {
  host *h = user;
  if (node->code != IR_S_BCAST) return;
  for (size_t i = 0; i < h->bcasts.count; i++) {
    if (h->bcasts.at[i].expr == node) return;
  }
  *ir_push(&h->f.arena, &h->bcasts) = (host_bcast){.expr = node};
}

static void collect_type(host *h, const ir_type *type) {
  if (type->kind == IR_TYPE_TUPLE) {
    for (size_t i = 0; i < type->count; i++) collect_type(h, ir_type_field(type, i));
  }
  if ((!ir_is_tensor(type) && type->kind != IR_TYPE_SHAPE) || !type->ranked) return;
  for (size_t i = 0; i < type->count; i++) {
    if (ir_type_dim(type, i)) ir_expr_walk(h->f.unit->context, ir_type_dim(type, i), collect_node, h);
  }
}

static bool collect_op(void *user, ir_op *op) {
  for (size_t i = 0; i < op->result_count; i++) collect_type(user, ir_op_result(op, i)->type);
  return true;
}

void host_collect_bcasts(host *h) {
  ir_func *func = h->f.source;
  for (size_t i = 0; i < func->param_count; i++) collect_type(h, func->params[i].type);
  for (size_t i = 0; i < func->result_count; i++) collect_type(h, func->results[i]);
  ir_walk(func->body, IR_PRE_ORDER, collect_op, h);
}

struct known {
  host *h;
  bool all;
};

static void is_known(void *user, const ir_expr *node) {
  struct known *k = user;
  if (node->code == IR_S_SYMBOL && !ir_map_has(&k->h->f.symbols, node)) k->all = false;
}

void host_check_bcasts(host *h, ir_range range) {
  emit_function *f = &h->f;
  ir_context *context = f->unit->context;
  for (size_t i = 0; i < h->bcasts.count; i++) {
    const ir_expr *node = h->bcasts.at[i].expr;
    struct known known = {h, true};
    ir_expr_walk(context, node, is_known, &known);
    if (h->bcasts.at[i].done || !known.all) continue;
    h->bcasts.at[i].done = h->bound.count + 1;
    const ir_expr *a = node->kids[0], *b = node->kids[1], *one = ir_expr_i64(context, 1);
    const ir_expr *fits = ir_expr_binary(context, IR_S_OR, ir_expr_binary(context, IR_S_EQ, a, b),
                                         ir_expr_binary(context, IR_S_OR, ir_expr_binary(context, IR_S_EQ, a, one),
                                                        ir_expr_binary(context, IR_S_EQ, b, one)));
    if (ir_prove(context, f->proofs.facts, fits) == IR_PROVEN) continue;
    ir_text text = {0};
    ir_text_put(&text, "extents ");
    ir_print_expr(&text, a, NULL, 0);
    ir_text_put(&text, " = {0} and ");
    ir_print_expr(&text, b, NULL, 0);
    ir_text_put(&text, " = {1} do not broadcast");
    LLVMValueRef extents[] = {host_extent(h, range, a), host_extent(h, range, b)};
    emit_require(f, host_extent(h, range, fits), range, NULL, text.at, 2, extents);
    ir_text_free(&text);
  }
}
