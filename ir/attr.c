// SPDX-License-Identifier: Apache-2.0
/* ir/attr.c - interned attributes. Needs ir/context, ir/type, ir/expr. */
#include "ir/attr.h"

#include "ir/eval.h"
#include "ir/expr.h"
#include "ir/type.h"

struct key {
  ir_attr_kind kind;
  uint32_t count; /* of items */
  uint64_t payload;
  const ir_attr *const *items;
};

static uint64_t payload_of(const ir_attr *attr) {
  uint64_t payload;
  memcpy(&payload, &attr->i, sizeof payload);
  return payload;
}

static size_t items_of(const ir_attr *attr) { return attr->kind == IR_ATTR_DICT ? 2 * (size_t)attr->count : attr->count; }

static bool same_attr(const void *object, const void *wanted) {
  const ir_attr *a = object;
  const struct key *b = wanted;
  return a->kind == b->kind && items_of(a) == b->count && payload_of(a) == b->payload &&
         (!b->count || !memcmp(a->items, b->items, b->count * sizeof *b->items));
}

static const ir_attr *get(ir_context *context, ir_attr_kind kind, uint64_t payload, size_t count,
                          const ir_attr *const *items) {
  struct key key = {kind, (uint32_t)count, payload, items};
  uint64_t hash = ir_hash_mix(ir_hash_mix(kind, payload), count);
  for (size_t i = 0; i < count; i++) hash = ir_hash_mix(hash, (uint64_t)(uintptr_t)items[i]);
  void **slot = ir_intern_slot(&context->arena, &context->attrs, hash, &key, same_attr);
  if (*slot) return *slot;
  ir_attr *attr = ir_arena_alloc(&context->arena, sizeof *attr + count * sizeof *attr->items);
  attr->kind = kind;
  attr->count = (uint32_t)(kind == IR_ATTR_DICT ? count / 2 : count);
  memcpy(&attr->i, &payload, sizeof payload);
  if (count) memcpy(attr->items, items, count * sizeof *items);
  return *slot = attr;
}

const ir_attr *ir_attr_none(ir_context *context) { return get(context, IR_ATTR_NONE, 0, 0, NULL); }
const ir_attr *ir_attr_bool(ir_context *context, bool value) { return get(context, IR_ATTR_BOOL, value, 0, NULL); }
const ir_attr *ir_attr_int(ir_context *context, int64_t value) {
  return get(context, IR_ATTR_INT, (uint64_t)value, 0, NULL);
}

const ir_attr *ir_attr_float(ir_context *context, double value) {
  uint64_t payload;
  memcpy(&payload, &value, sizeof payload);
  return get(context, IR_ATTR_FLOAT, payload, 0, NULL);
}

static const ir_attr *named(ir_context *context, ir_attr_kind kind, const ir_string *text) {
  return get(context, kind, (uint64_t)(uintptr_t)text, 0, NULL);
}

const ir_attr *ir_attr_string(ir_context *context, ir_slice text) {
  return named(context, IR_ATTR_STRING, ir_intern(context, text));
}
const ir_attr *ir_attr_id(ir_context *context, ir_slice text) {
  return named(context, IR_ATTR_ID, ir_intern(context, text));
}
const ir_attr *ir_attr_global(ir_context *context, const ir_string *name) {
  return named(context, IR_ATTR_GLOBAL, name);
}

const ir_attr *ir_attr_type(ir_context *context, const ir_type *type) {
  return get(context, IR_ATTR_TYPE, (uint64_t)(uintptr_t)type, 0, NULL);
}

const ir_attr *ir_attr_dtype(ir_context *context, ir_dtype dtype) {
  return ir_attr_type(context, ir_type_scalar(context, dtype, 1));
}

const ir_attr *ir_attr_expr(ir_context *context, const ir_expr *expr) {
  int64_t value;
  if (ir_expr_is_int(expr, &value) && expr->dtype == IR_I64) return ir_attr_int(context, value);
  return get(context, IR_ATTR_EXPR, (uint64_t)(uintptr_t)expr, 0, NULL);
}

const ir_attr *ir_attr_list(ir_context *context, size_t count, const ir_attr *const *items) {
  return get(context, IR_ATTR_LIST, 0, count, items);
}

const ir_attr *ir_attr_dict(ir_context *context, size_t count, const ir_attr *const *keys_and_values) {
  return get(context, IR_ATTR_DICT, 0, 2 * count, keys_and_values);
}

const ir_attr *ir_attr_data(ir_context *context, ir_data data) {
  ir_attr *attr = ir_new(&context->arena, ir_attr);
  attr->kind = IR_ATTR_DATA;
  attr->data = data;
  return attr;
}

const ir_attr *ir_attr_ints(ir_context *context, size_t count, const int64_t *values) {
  const ir_attr **items = ir_new_array(&context->arena, const ir_attr *, count);
  for (size_t i = 0; i < count; i++) items[i] = ir_attr_int(context, values[i]);
  return ir_attr_list(context, count, items);
}

const ir_attr *ir_attr_dims(ir_context *context, size_t count, const ir_expr *const *dims) {
  const ir_attr **items = ir_new_array(&context->arena, const ir_attr *, count);
  for (size_t i = 0; i < count; i++) items[i] = ir_attr_expr(context, dims[i]);
  return ir_attr_list(context, count, items);
}

const ir_attr *ir_dict_get(const ir_attr *dict, const char *key) {
  if (!dict) return NULL;
  for (size_t i = 0; i < dict->count; i++) {
    if (!strcmp(dict->items[2 * i]->string->text, key)) return dict->items[2 * i + 1];
  }
  return NULL;
}

const ir_attr *ir_dict_with(ir_context *context, const ir_attr *dict, const char *key, const ir_attr *value) {
  size_t count = dict ? dict->count : 0, kept = 0;
  const ir_attr **items = ir_new_array(&context->arena, const ir_attr *, 2 * count + 2);
  bool placed = false;
  for (size_t i = 0; i < count; i++) {
    bool here = !strcmp(dict->items[2 * i]->string->text, key);
    if (here && !value) continue;
    items[2 * kept] = dict->items[2 * i];
    items[2 * kept++ + 1] = here ? value : dict->items[2 * i + 1];
    placed |= here;
  }
  if (value && !placed) {
    items[2 * kept] = ir_attr_string(context, ir_slice_of(key));
    items[2 * kept++ + 1] = value;
  }
  return kept ? ir_attr_dict(context, kept, items) : NULL;
}

const ir_expr *ir_attr_as_expr(ir_context *context, const ir_attr *attr) {
  if (attr->kind == IR_ATTR_INT) return ir_expr_i64(context, attr->i);
  return attr->kind == IR_ATTR_EXPR ? attr->expr : NULL;
}

/* An i64 as an integer of DTYPE, saturated. */
static const ir_expr *saturated(ir_context *context, ir_dtype dtype, int64_t value) {
  unsigned width = ir_dtypes[dtype].bits - ir_is_signed(dtype);
  int64_t most = width >= 63 ? INT64_MAX : (INT64_C(1) << width) - 1, least = ir_is_signed(dtype) ? -most - 1 : 0;
  return ir_expr_int(context, dtype, value < least ? least : value > most ? most : value);
}

const ir_expr *ir_attr_as_number(ir_context *context, const ir_attr *attr, ir_dtype dtype) {
  bool whole = attr->kind == IR_ATTR_INT;
  if (whole && ir_is_integer(dtype)) return saturated(context, dtype, attr->i);
  const ir_expr *value = whole ? ir_expr_i64(context, attr->i) : ir_expr_float(context, IR_F64, attr->f);
  return ir_expr_fold(context, ir_expr_cast(context, value, dtype));
}
