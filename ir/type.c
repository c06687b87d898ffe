// SPDX-License-Identifier: Apache-2.0
/* ir/type.c - interned types. Needs ir/context and ir/expr (for constant extents). */
#include "ir/type.h"

#include "base/checked.h"
#include "ir/expr.h"

static bool same_type(const void *object, const void *key) {
  const ir_type *a = object;
  const ir_type_key *b = key;
  return a->kind == b->kind && a->dtype == b->dtype && a->ranked == b->ranked && a->impure == b->impure &&
         a->lanes == b->lanes && a->count == b->count && a->result_count == b->result_count && a->device == b->device &&
         (a->count + a->result_count == 0 ||
          !memcmp(a->items, b->items, (a->count + a->result_count) * sizeof *a->items));
}

const ir_type *ir_type_get(ir_context *context, const ir_type_key *key) {
  size_t items = (size_t)key->count + key->result_count;
  uint64_t hash = ir_hash_mix((uint64_t)key->kind << 8 | key->dtype, (uint64_t)key->lanes << 2 | (uint64_t)key->ranked << 1 | key->impure);
  hash = ir_hash_mix(ir_hash_mix(hash, key->count), (uint64_t)(uintptr_t)key->device ^ key->result_count);
  for (size_t i = 0; i < items; i++) hash = ir_hash_mix(hash, (uint64_t)(uintptr_t)key->items[i]);
  void **slot = ir_intern_slot(&context->arena, &context->types, hash, key, same_type);
  if (*slot) return *slot;
  ir_type *type = ir_arena_alloc(&context->arena, sizeof *type + items * sizeof *type->items);
  *type = (ir_type){.kind = key->kind,
                    .dtype = key->dtype,
                    .ranked = key->ranked,
                    .impure = key->impure,
                    .lanes = key->lanes,
                    .count = key->count,
                    .result_count = key->result_count,
                    .device = key->device};
  if (items) memcpy(type->items, key->items, items * sizeof *type->items);
  return *slot = type;
}

const ir_type *ir_type_scalar(ir_context *context, ir_dtype dtype, unsigned lanes) {
  return ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_SCALAR, .dtype = (uint8_t)dtype, .lanes = (uint16_t)lanes});
}

static const ir_type *with_dims(ir_context *context, ir_type_kind kind, ir_dtype dtype, size_t rank,
                                const ir_expr *const *dims) {
  return ir_type_get(context, &(ir_type_key){.kind = kind,
                                             .dtype = (uint8_t)dtype,
                                             .ranked = true,
                                             .lanes = 1,
                                             .count = (uint32_t)rank,
                                             .items = (const void *const *)dims});
}

const ir_type *ir_type_tensor(ir_context *context, ir_dtype dtype, size_t rank, const ir_expr *const *dims) {
  return with_dims(context, IR_TYPE_TENSOR, dtype, rank, dims);
}

const ir_type *ir_type_unranked(ir_context *context, ir_dtype dtype) {
  return ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_TENSOR, .dtype = (uint8_t)dtype, .lanes = 1});
}

const ir_type *ir_type_shape(ir_context *context, size_t rank, const ir_expr *const *dims) {
  return with_dims(context, IR_TYPE_SHAPE, IR_I64, rank, dims);
}

const ir_type *ir_type_unranked_shape(ir_context *context) {
  return ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_SHAPE, .dtype = IR_I64, .lanes = 1});
}

const ir_type *ir_type_tuple(ir_context *context, size_t count, const ir_type *const *fields) {
  return ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_TUPLE,
                                             .dtype = IR_DTYPE_UNKNOWN,
                                             .count = (uint32_t)count,
                                             .items = (const void *const *)fields});
}

const ir_type *ir_type_func(ir_context *context, size_t count, const ir_type *const *params, size_t result_count,
                            const ir_type *const *results, bool impure) {
  const void **items = ir_new_array(&context->arena, const void *, count + result_count);
  if (count) memcpy(items, params, count * sizeof *items);
  if (result_count) memcpy(items + count, results, result_count * sizeof *items);
  return ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_FUNC,
                                             .dtype = IR_DTYPE_UNKNOWN,
                                             .ranked = true,
                                             .impure = impure,
                                             .count = (uint32_t)count,
                                             .result_count = (uint32_t)result_count,
                                             .items = items});
}

static ir_type_key key_of(const ir_type *type) {
  return (ir_type_key){type->kind,  type->dtype,        type->ranked, type->impure, type->lanes,
                       type->count, type->result_count, type->device, type->items};
}

const ir_type *ir_type_with_dtype(ir_context *context, const ir_type *type, ir_dtype dtype) {
  ir_type_key key = key_of(type);
  key.dtype = (uint8_t)dtype;
  return ir_type_get(context, &key);
}

const ir_type *ir_type_with_dims(ir_context *context, const ir_type *type, size_t rank, const ir_expr *const *dims) {
  ir_type_key key = key_of(type);
  key.ranked = true;
  key.count = (uint32_t)rank;
  key.items = (const void *const *)dims;
  return ir_type_get(context, &key);
}

const ir_type *ir_type_with_device(ir_context *context, const ir_type *type, const ir_string *device) {
  ir_type_key key = key_of(type);
  key.device = device;
  return ir_type_get(context, &key);
}

bool ir_type_is_sized(const ir_type *type) {
  if (!ir_is_tensor(type) || !type->ranked || type->dtype == IR_DTYPE_UNKNOWN) return false;
  for (size_t i = 0; i < type->count; i++) {
    if (!ir_type_dim(type, i)) return false;
  }
  return true;
}

bool ir_type_static_dims(const ir_type *type, int64_t *dims, int64_t *count) {
  if (!type->ranked || (type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SHAPE)) return false;
  int64_t product = 1, extent;
  bool zero = false, fits = true;
  for (size_t i = 0; i < type->count; i++) {
    if (!ir_type_dim(type, i) || !ir_expr_is_int(ir_type_dim(type, i), &extent)) return false;
    if (dims) dims[i] = extent;
    if (extent == 0) zero = true;
    if (fits) fits = ir_mul_i64(product, extent, &product);
  }
  if (count) *count = zero ? 0 : product;
  return zero || fits;
}
