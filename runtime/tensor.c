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
  ir_memory *memory; /* of a device, with DATA its address */
  uint8_t *data;
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
  ir_memory *memory = meter ? meter->memory : NULL;
  /* Not ir_heap_alloc: a model that asks for too much is no reason to end. */
  ir_storage *storage = malloc(memory ? sizeof *storage : ir_size_add(sizeof *storage + 2 * ALIGNMENT, (size_t)bytes));
  if (storage && !admit(meter, bytes)) {
    free(storage);
    storage = NULL;
  }
  if (!storage) return NULL;
  *storage = (ir_storage){.refs = 1, .size = bytes, .meter = meter, .memory = memory};
  if (memory) {
    storage->data = memory->take(memory, (size_t)bytes);
    if (storage->data) return make(storage, storage->data, dtype, rank, dims, count, bytes);
    meter->live -= bytes;
    ir_meter_release(meter);
    free(storage);
    return NULL;
  }
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
  if (!copy || ir_tensor_move(copy, 0, tensor)) return copy;
  ir_tensor_release(copy);
  return NULL;
}

bool ir_tensor_is_exclusive(const ir_tensor *tensor) {
  return tensor->refs == 1 && tensor->storage->refs == 1 && !tensor->storage->foreign;
}

void ir_tensor_release(ir_tensor *tensor) {
  if (!tensor || --tensor->refs) return;
  ir_storage *storage = tensor->storage;
  ir_heap_free(tensor);
  if (--storage->refs) return;
  if (storage->memory) storage->memory->give(storage->memory, storage->data);
  if (storage->meter) storage->meter->live -= storage->size;
  ir_meter_release(storage->meter);
  if (storage->release) storage->release(storage->user);
  free(storage);
}

ir_memory *ir_tensor_memory(const ir_tensor *tensor) { return tensor->storage->memory; }

bool ir_tensor_move(ir_tensor *to, size_t at, const ir_tensor *from) {
  ir_memory *there = to->storage->memory, *here = from->storage->memory;
  if (!from->size) return true;
  if (there && here) return there->copy(there, to->data + at, from->data, from->size);
  if (there) return there->write(there, to->data + at, from->data, from->size);
  if (here) return here->read(here, to->data + at, from->data, from->size);
  memmove(to->data + at, from->data, from->size);
  return true;
}

bool ir_tensor_read(const ir_tensor *tensor, void *to) {
  ir_memory *memory = tensor->storage->memory;
  if (memory && tensor->size) return memory->read(memory, to, tensor->data, tensor->size);
  if (tensor->size) memcpy(to, tensor->data, tensor->size);
  return true;
}

bool ir_tensor_write(ir_tensor *tensor, const void *from) {
  ir_memory *memory = tensor->storage->memory;
  if (memory && tensor->size) return memory->write(memory, tensor->data, from, tensor->size);
  if (tensor->size) memcpy(tensor->data, from, tensor->size);
  return true;
}

/* BYTES bytes at byte AT, as far as the device gives them: a failure has been reported, and the run ends with it. */
static uint64_t fetch(const ir_tensor *tensor, size_t at, size_t bytes) {
  uint64_t value = 0;
  ir_memory *memory = tensor->storage->memory;
  if (memory) memory->read(memory, &value, tensor->data + at, bytes);
  else memcpy(&value, tensor->data + at, bytes);
  return value;
}

uint64_t ir_tensor_bits(const ir_tensor *tensor, int64_t index) {
  unsigned bits = ir_dtypes[tensor->dtype].bits;
  if (bits == 4) return (fetch(tensor, (size_t)index / 2, 1) >> (index & 1 ? 4 : 0)) & 15;
  return fetch(tensor, (size_t)index * (bits / 8), bits / 8);
}

void ir_tensor_set_bits(ir_tensor *tensor, int64_t index, uint64_t value) {
  unsigned bits = ir_dtypes[tensor->dtype].bits;
  size_t at = (size_t)index * bits / 8, bytes = bits == 4 ? 1 : bits / 8;
  if (bits == 4) {
    uint64_t byte = fetch(tensor, at, 1);
    value = index & 1 ? (byte & 0x0f) | (value & 15) << 4 : (byte & 0xf0) | (value & 15);
  }
  ir_memory *memory = tensor->storage->memory;
  if (memory) memory->write(memory, tensor->data + at, &value, bytes);
  else memcpy(tensor->data + at, &value, bytes);
}

void ir_tensor_describe(ir_text *text, const ir_tensor *tensor) {
  ir_text_printf(text, "%s[", ir_dtype_name((ir_dtype)tensor->dtype));
  for (size_t i = 0; i < tensor->rank; i++) ir_text_printf(text, "%s%" PRId64, i ? ", " : "", tensor->dims[i]);
  ir_text_char(text, ']');
}
