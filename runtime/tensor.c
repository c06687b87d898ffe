// SPDX-License-Identifier: Apache-2.0
/* runtime/tensor.c - dense tensors with counted references. Needs base/ and ir/dtype. */
#include "runtime/tensor.h"

#include "base/checked.h"
#include "ir/simplify.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ALIGNMENT = 64 };

struct ir_storage {
  uint32_t refs;
  bool foreign;
  int64_t size;
  ir_meter *meter;
  void (*release)(void *user);
  void *user;
};

bool ir_tensor_extent(ir_dtype dtype, size_t rank, const int64_t *dims, int64_t *count, int64_t *bytes) {
  int64_t product = 1, size;
  bool empty = false;
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    /* A zero must not hide extents that overflow together. */
    if (dims[i] && (!ir_mul_i64(product, dims[i], &product) || product > IR_EXTENT_MAX)) return false;
    empty |= dims[i] == 0;
  }
  if (!ir_dtype_bytes(dtype, product, &size)) return false;
  *count = empty ? 0 : product;
  *bytes = empty ? 0 : size;
  return true;
}

ir_meter *ir_meter_new(int64_t limit) {
  ir_meter *meter = ir_heap_alloc(sizeof *meter);
  *meter = (ir_meter){.refs = 1, .limit = limit};
  return meter;
}

void ir_meter_release(ir_meter *meter) {
  if (meter && !--meter->refs) ir_heap_free(meter);
}

static ir_tensor *make(ir_storage *storage, uint8_t *data, ir_dtype dtype, size_t rank, const int64_t *dims,
                       int64_t count, int64_t bytes) {
  ir_tensor *tensor = ir_heap_alloc(ir_size_add(sizeof *tensor, ir_size_mul(rank, sizeof *dims)));
  *tensor = (ir_tensor){.refs = 1,
                        .dtype = (uint8_t)dtype,
                        .rank = (uint32_t)rank,
                        .count = count,
                        .size = (size_t)bytes,
                        .data = data,
                        .storage = storage};
  if (rank) memcpy(tensor->dims, dims, rank * sizeof *dims);
  return tensor;
}

static bool admit(ir_meter *meter, int64_t bytes) {
  int64_t total;
  if (!meter) return true;
  if (!ir_add_i64(meter->live, bytes, &total)) return false;
  if (meter->limit && total > meter->limit) return false;
  meter->refs++;
  meter->live = total;
  if (total > meter->peak) meter->peak = total;
  return true;
}

ir_tensor *ir_tensor_new(ir_meter *meter, ir_dtype dtype, size_t rank, const int64_t *dims) {
  int64_t count, bytes;
  if (!ir_tensor_extent(dtype, rank, dims, &count, &bytes)) return NULL;
  /* Not ir_heap_alloc: a model that asks for too much is no reason to end. */
  ir_storage *storage = malloc(ir_size_add(sizeof *storage + 2 * ALIGNMENT, (size_t)bytes));
  if (storage && !admit(meter, bytes)) {
    free(storage);
    storage = NULL;
  }
  if (!storage) return NULL;
  *storage = (ir_storage){.refs = 1, .size = bytes, .meter = meter};
  uintptr_t data = ((uintptr_t)(storage + 1) + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
  return make(storage, (uint8_t *)data, dtype, rank, dims, count, bytes);
}

ir_tensor *ir_tensor_wrap(ir_dtype dtype, size_t rank, const int64_t *dims, const void *data,
                          void (*release)(void *user), void *user) {
  int64_t count, bytes;
  if (!ir_tensor_extent(dtype, rank, dims, &count, &bytes)) return NULL;
  ir_storage *storage = malloc(sizeof *storage);
  if (!storage) return NULL;
  *storage = (ir_storage){.refs = 1, .foreign = true, .release = release, .user = user};
  return make(storage, (uint8_t *)(uintptr_t)data, dtype, rank, dims, count, bytes);
}

ir_tensor *ir_tensor_view(ir_tensor *tensor, size_t rank, const int64_t *dims) {
  tensor->storage->refs++;
  return make(tensor->storage, tensor->data, (ir_dtype)tensor->dtype, rank, dims, tensor->count, (int64_t)tensor->size);
}

ir_tensor *ir_tensor_slice(ir_tensor *tensor, int64_t offset, ir_dtype dtype, size_t rank, const int64_t *dims) {
  int64_t count, bytes;
  if (!ir_tensor_extent(dtype, rank, dims, &count, &bytes)) return NULL;
  int64_t size = (int64_t)tensor->size;
  if (offset < 0 || offset > size || bytes > size - offset) return NULL;
  tensor->storage->refs++;
  return make(tensor->storage, tensor->data + offset, dtype, rank, dims, count, bytes);
}

ir_tensor *ir_tensor_copy(ir_meter *meter, const ir_tensor *tensor) {
  ir_tensor *copy = ir_tensor_new(meter, (ir_dtype)tensor->dtype, tensor->rank, tensor->dims);
  if (copy && tensor->size) memcpy(copy->data, tensor->data, tensor->size);
  return copy;
}

bool ir_tensor_is_exclusive(const ir_tensor *tensor) {
  return tensor->refs == 1 && tensor->storage->refs == 1 && !tensor->storage->foreign;
}

void ir_tensor_release(ir_tensor *tensor) {
  if (!tensor || --tensor->refs) return;
  ir_storage *storage = tensor->storage;
  ir_heap_free(tensor);
  if (--storage->refs) return;
  if (storage->meter) storage->meter->live -= storage->size;
  ir_meter_release(storage->meter);
  if (storage->release) storage->release(storage->user);
  free(storage);
}

uint64_t ir_tensor_bits(const ir_tensor *tensor, int64_t index) {
  unsigned bits = ir_dtypes[tensor->dtype].bits;
  if (bits == 4) return (tensor->data[index / 2] >> (index & 1 ? 4 : 0)) & 15;
  uint64_t value = 0;
  memcpy(&value, tensor->data + (size_t)index * (bits / 8), bits / 8);
  return value;
}

void ir_tensor_set_bits(ir_tensor *tensor, int64_t index, uint64_t value) {
  unsigned bits = ir_dtypes[tensor->dtype].bits;
  if (bits == 4) {
    uint8_t *byte = &tensor->data[index / 2];
    *byte = index & 1 ? (uint8_t)((*byte & 0x0f) | (value & 15) << 4) : (uint8_t)((*byte & 0xf0) | (value & 15));
    return;
  }
  memcpy(tensor->data + (size_t)index * (bits / 8), &value, bits / 8);
}

void ir_tensor_describe(ir_text *text, const ir_tensor *tensor) {
  ir_text_printf(text, "%s[", ir_dtype_name((ir_dtype)tensor->dtype));
  for (size_t i = 0; i < tensor->rank; i++) ir_text_printf(text, "%s%" PRId64, i ? ", " : "", tensor->dims[i]);
  ir_text_char(text, ']');
}
