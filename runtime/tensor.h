// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_TENSOR_H
#define RILL_RUNTIME_TENSOR_H

#include "../ir/dtype.h"

/* Memory of a device: its addresses are numbers that nobody reads at. Functions that fail have reported it. */
typedef struct ir_memory ir_memory;
struct ir_memory {
  uint8_t *(*take)(ir_memory *memory, size_t bytes); /* NULL: there is none; BYTES may be 0 */
  void (*give)(ir_memory *memory, uint8_t *data);
  bool (*read)(ir_memory *memory, void *to, const uint8_t *from, size_t bytes);
  bool (*write)(ir_memory *memory, uint8_t *to, const void *from, size_t bytes);
  bool (*copy)(ir_memory *memory, uint8_t *to, const uint8_t *from, size_t bytes); /* the ranges don't overlap */
};

/* Counts the bytes that live tensors hold, and refuses more than a limit. Lives as long as its maker or a tensor that
 * it counts needs it. */
typedef struct ir_meter {
  uint32_t refs;
  ir_memory *memory; /* where tensors that it counts are; NULL: in the host's. It must outlive them. */
  int64_t limit; /* 0: none */
  int64_t live, peak;
} ir_meter;
ir_meter *ir_meter_new(int64_t limit);
void ir_meter_release(ir_meter *meter);

/* The memory that one or more tensors (views) look at. Internal to runtime/tensor.c. */
typedef struct ir_storage ir_storage;

/* A dense tensor: elements in row-major order as ir/dtype.h stores them, i4 and u4 packed. Counted: whoever keeps a
 * pointer retains it. Elements of a tensor that somebody else may see are never changed. */
typedef struct ir_tensor {
  uint32_t refs;
  uint8_t dtype; /* ir_dtype */
  uint32_t rank;
  int64_t count; /* elements */
  size_t size;   /* bytes */
  uint8_t *data; /* aligned to 64 where the tensor was made by ir_tensor_new */
  ir_storage *storage;
  int64_t dims[];
} ir_tensor;

/* The number of elements and of bytes of DIMS. False where an extent is negative, or the product of those that are not 0
 * passes IR_EXTENT_MAX of ir/simplify.h: no such tensor may exist. */
bool ir_tensor_extent(ir_dtype dtype, size_t rank, const int64_t *dims, int64_t *count, int64_t *bytes);

/* A tensor whose elements are not initialised. NULL where the extents are not sane or METER (may be NULL) refuses. */
ir_tensor *ir_tensor_new(ir_meter *meter, ir_dtype dtype, size_t rank, const int64_t *dims);
/* A tensor of bytes that belong to somebody else, who is told by RELEASE (may be NULL) when they are not needed any
 * more. DATA must hold the bytes that the extents ask for. Such bytes are never written to. */
ir_tensor *ir_tensor_wrap(ir_dtype dtype, size_t rank, const int64_t *dims, const void *data,
                          void (*release)(void *user), void *user);
/* A tensor of the same elements with other extents (of the same product), sharing memory. */
ir_tensor *ir_tensor_view(ir_tensor *tensor, size_t rank, const int64_t *dims);
/* A tensor at byte OFFSET of TENSOR's memory, sharing it; NULL where it does not fit in. */
ir_tensor *ir_tensor_slice(ir_tensor *tensor, int64_t offset, ir_dtype dtype, size_t rank, const int64_t *dims);
/* A tensor of its own with the same elements; NULL where METER refuses. */
ir_tensor *ir_tensor_copy(ir_meter *meter, const ir_tensor *tensor);
/* Nobody else holds the tensor or looks at its memory, and the memory may be written to. */
bool ir_tensor_is_exclusive(const ir_tensor *tensor);

static inline ir_tensor *ir_tensor_retain(ir_tensor *tensor) {
  tensor->refs++;
  return tensor;
}
void ir_tensor_release(ir_tensor *tensor); /* takes NULL */

/* The device memory that the elements are in; NULL: the host's. */
ir_memory *ir_tensor_memory(const ir_tensor *tensor);
/* The bytes of FROM to byte AT of TO, wherever the two are; false after a report. */
bool ir_tensor_move(ir_tensor *to, size_t at, const ir_tensor *from);
/* All bytes from or to memory of the host. */
bool ir_tensor_read(const ir_tensor *tensor, void *to);
bool ir_tensor_write(ir_tensor *tensor, const void *from);

/* One element, by its number in row-major order. Its bits stand low, as in ir/dtype.h. */
uint64_t ir_tensor_bits(const ir_tensor *tensor, int64_t index);
void ir_tensor_set_bits(ir_tensor *tensor, int64_t index, uint64_t bits);
/* `f32[2, 3]`, for messages. */
void ir_tensor_describe(ir_text *text, const ir_tensor *tensor);

#endif
