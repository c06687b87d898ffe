// SPDX-License-Identifier: Apache-2.0
/* ir/verify_scope.c - what is visible where: values, names, symbols. Part of the verifier. */
#include "ir/print.h"
#include "ir/verifier.h"

bool ir_verify_fail(ir_verifier *v, ir_range range, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_text text = {0};
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(v->context->diags, range, "%s", text.at);
  ir_text_free(&text);
  v->errors++;
  return false;
}

bool ir_verify_fail_op(ir_verifier *v, const ir_op *op, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_text text = {0};
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(v->context->diags, op->range, "%s: %s", ir_op_row(op)->name, text.at);
  ir_text_free(&text);
  v->errors++;
  return false;
}

/* The entry that MAP remembers for KEY, where it is still there. */
static const ir_visible *entry(const ir_verifier *v, const ir_map *map, const void *key) {
  size_t place = (size_t)(uintptr_t)ir_map_get(map, key);
  return place && place <= v->visible.count ? &v->visible.at[place - 1] : NULL;
}

static void enter(ir_verifier *v, ir_map *map, const void *key) {
  ir_map_put(&v->scope, map, key, (void *)(uintptr_t)v->visible.count);
}

bool ir_verify_sees(const ir_verifier *v, const ir_value *value) {
  return value->id && value->id <= v->value_count && v->values[value->id - 1] == value;
}

bool ir_verify_sees_symbol(const ir_verifier *v, const ir_expr *symbol) {
  const ir_visible *found = entry(v, &v->symbol_at, symbol);
  return found && found->symbol == symbol;
}

/* The one thing here that grows with a function without names: 8 bytes a value, and no copies left behind. */
static void enter_value(ir_verifier *v, ir_value *value) {
  if (v->value_count == v->value_capacity) {
    v->value_capacity = v->value_capacity ? ir_size_mul(v->value_capacity, 2) : 64;
    v->values = ir_heap_realloc(v->values, ir_size_mul(v->value_capacity, sizeof *v->values));
  }
  v->values[v->value_count++] = value;
  value->id = (uint32_t)v->value_count;
}

void ir_verify_define(ir_verifier *v, ir_value *value, bool bare, ir_range range) {
  enter_value(v, value);
  if (!value->name) return;
  ir_map *names = bare ? &v->bare_at : &v->name_at;
  const ir_visible *other = entry(v, names, value->name);
  bool clash = other && other->name == value->name && other->bare == bare;
  if (clash) ir_verify_fail(v, range, "'%s%s' is defined already", bare ? "" : "%", value->name->text);
  *ir_push(&v->scope, &v->visible) = (ir_visible){.name = value->name, .bare = bare};
  enter(v, names, value->name);
}

void ir_verify_bind_symbol(ir_verifier *v, const ir_expr *symbol) {
  if (ir_verify_sees_symbol(v, symbol)) return;
  *ir_push(&v->scope, &v->visible) = (ir_visible){.symbol = symbol, .name = symbol->symbol, .bare = true};
  enter(v, &v->symbol_at, symbol);
  enter(v, &v->bare_at, symbol->symbol);
}

void ir_verify_bind_type(ir_verifier *v, const ir_type *type) {
  if (type->kind == IR_TYPE_FUNC) return; /* its symbols are its own */
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  for (size_t i = 0; i < type->count; i++) {
    const void *item = type->items[i];
    if (!item) continue;
    if (!shaped) ir_verify_bind_type(v, item);
    if (shaped && ((const ir_expr *)item)->code == IR_S_SYMBOL) ir_verify_bind_symbol(v, item);
  }
}
