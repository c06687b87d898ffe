// SPDX-License-Identifier: Apache-2.0
/* ir/op_def.c - the operator table's IR columns, defaults and conformity of attributes. Needs ir/attr. */
#include "ir/op_def.h"

#include "base/vec.h"
#include "ir/ops/infer_ops.h"

#include <errno.h>
#include <stdlib.h>

const ir_op_def ir_op_defs[IR_OP_COUNT] = {
#define OP(ID, text, words, ir, lower, grad, example) [IR_##ID] = {.name = text, .doc = words, ir},
#define IR(...) __VA_ARGS__
#include "ir/ops/all.def"
#undef OP
};

ir_opcode ir_op_find(ir_context *context, ir_slice name) {
  if (!context->op_names.count) {
    for (int code = 0; code < IR_OP_COUNT; code++) {
      const ir_string *key = ir_intern(context, ir_slice_of(ir_op_defs[code].name));
      ir_map_put(&context->arena, &context->op_names, key, (void *)(uintptr_t)(code + 1));
    }
  }
  uintptr_t found = (uintptr_t)ir_map_get(&context->op_names, ir_intern(context, name));
  return found ? (ir_opcode)(found - 1) : IR_OP_COUNT;
}

/* Reads one value of a row's default text. */
static const ir_attr *parse_default(ir_context *context, const char **at) {
  while (**at == ' ' || **at == ',') ++*at;
  if (**at == '[') {
    ++*at;
    ir_vec(const ir_attr *) items = {0};
    while (**at != ']') *ir_push(&context->arena, &items) = parse_default(context, at);
    ++*at;
    return ir_attr_list(context, items.count, items.at);
  }
  size_t length = strcspn(*at, ",] ");
  ir_slice word = {*at, length};
  const char *text = *at;
  *at += length;
  if (*text == '"') return ir_attr_string(context, (ir_slice){text + 1, length - 2});
  if (ir_slice_is(word, "true") || ir_slice_is(word, "false")) return ir_attr_bool(context, *text == 't');
  if (ir_dtype_find(word) != IR_DTYPE_UNKNOWN) return ir_attr_dtype(context, ir_dtype_find(word));
  bool number = *text == '-' || *text == '.' || (*text >= '0' && *text <= '9') || ir_slice_is(word, "inf");
  if (!number) return ir_attr_id(context, word);
  bool whole = !memchr(text, '.', length) && !memchr(text, 'e', length) && !memchr(text, 'i', length);
  return whole ? ir_attr_int(context, strtoll(text, NULL, 10)) : ir_attr_float(context, strtod(text, NULL));
}

const ir_attr *ir_op_default(ir_context *context, ir_opcode code, size_t slot) {
  const ir_op_def *row = &ir_op_defs[code];
  const char *text = row->attrs[slot].dflt;
  if (!text || !strcmp(text, "none")) return NULL;
  if (!context->default_attrs) context->default_attrs = ir_new_array(&context->arena, const ir_attr **, IR_OP_COUNT);
  const ir_attr ***known = &context->default_attrs[code];
  if (!*known) *known = ir_new_array(&context->arena, const ir_attr *, row->attr_count);
  if ((*known)[slot]) return (*known)[slot];
  const ir_attr *value = parse_default(context, &text);
  return (*known)[slot] = ir_attr_conform(context, &row->attrs[slot], value, NULL);
}

static bool is_one_of(const char *choices, const ir_string *word) {
  for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
    if (strcspn(at, "|") == word->length && !memcmp(at, word->text, word->length)) return true;
  }
  return false;
}

static bool fits_list(ir_attr_want type, const ir_attr *item) {
  bool is_int = item->kind == IR_ATTR_INT;
  if (type == IR_A_INTS) return is_int;
  if (type == IR_A_FLOATS) return item->kind == IR_ATTR_FLOAT;
  if (type == IR_A_DIMS) return is_int || (item->kind == IR_ATTR_EXPR && item->expr->dtype == IR_I64 && !item->expr->has_args);
  return type != IR_A_EXPRS || is_int || item->kind == IR_ATTR_EXPR;
}

static const ir_attr *as_floats(ir_context *context, const ir_attr *attr) {
  ir_arena scratch = {0};
  const ir_attr **items = ir_new_array(&scratch, const ir_attr *, attr->count);
  for (size_t i = 0; i < attr->count; i++) {
    const ir_attr *item = attr->items[i];
    items[i] = item->kind == IR_ATTR_INT ? ir_attr_float(context, (double)item->i) : item;
  }
  const ir_attr *result = ir_attr_list(context, attr->count, items);
  ir_arena_free(&scratch);
  return result;
}

static const ir_attr *conform_list(ir_context *context, ir_attr_want type, const ir_attr *attr) {
  if (attr->kind != IR_ATTR_LIST) return NULL;
  if (type == IR_A_FLOATS) attr = as_floats(context, attr);
  for (size_t i = 0; i < attr->count; i++) {
    if (!fits_list(type, attr->items[i])) return NULL;
  }
  return attr;
}

static bool is_f64(int64_t value) {
  double nearest = (double)value;
  return nearest < 0x1p63 && (int64_t)nearest == value;
}

const ir_attr *ir_attr_conform(ir_context *context, const ir_attr_def *def, const ir_attr *attr, const char **expected) {
  static const char *const wanted[] = {
      [IR_A_INT] = "an integer",       [IR_A_FLOAT] = "a number",         [IR_A_BOOL] = "true or false",
      [IR_A_STRING] = "a string",      [IR_A_ID] = "a word",              [IR_A_DTYPE] = "a dtype",
      [IR_A_TYPE] = "a type",          [IR_A_GLOBAL] = "a global name",   [IR_A_EXPR] = "a scalar expression",
      [IR_A_INTS] = "a list of integers", [IR_A_FLOATS] = "a list of numbers", [IR_A_DIMS] = "a list of extents",
      [IR_A_EXPRS] = "a list of scalar expressions", [IR_A_LIST] = "a list", [IR_A_DICT] = "a dictionary",
      [IR_A_DATA] = "a constant",
  };
  if (expected) *expected = def->choices ? def->choices : wanted[def->type];
  bool word = attr->kind == (def->type == IR_A_ID ? IR_ATTR_ID : IR_ATTR_STRING);
  switch (def->type) {
  case IR_A_INT: return attr->kind == IR_ATTR_INT ? attr : NULL;
  case IR_A_FLOAT:
    /* One value has one attribute: an integer only where no f64 is that integer. */
    if (attr->kind == IR_ATTR_INT && is_f64(attr->i)) return ir_attr_float(context, (double)attr->i);
    return attr->kind == IR_ATTR_FLOAT || attr->kind == IR_ATTR_INT ? attr : NULL;
  case IR_A_BOOL: return attr->kind == IR_ATTR_BOOL ? attr : NULL;
  case IR_A_STRING:
  case IR_A_ID: return word && (!def->choices || is_one_of(def->choices, attr->string)) ? attr : NULL;
  case IR_A_DTYPE: return attr->kind == IR_ATTR_TYPE && ir_is_scalar(attr->type) && attr->type->lanes == 1 ? attr : NULL;
  case IR_A_TYPE: return attr->kind == IR_ATTR_TYPE ? attr : NULL;
  case IR_A_GLOBAL: return attr->kind == IR_ATTR_GLOBAL ? attr : NULL;
  case IR_A_EXPR: return attr->kind == IR_ATTR_INT || attr->kind == IR_ATTR_EXPR ? attr : NULL;
  case IR_A_INTS:
  case IR_A_FLOATS:
  case IR_A_DIMS:
  case IR_A_EXPRS:
  case IR_A_LIST: return conform_list(context, def->type, attr);
  case IR_A_DICT: return attr->kind == IR_ATTR_DICT ? attr : NULL;
  case IR_A_DATA: return attr->kind == IR_ATTR_DATA || attr->kind == IR_ATTR_GLOBAL ? attr : NULL;
  }
  return NULL;
}
