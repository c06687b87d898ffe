/* SPDX-License-Identifier: Apache-2.0
 * The interface of compiled models: what a program needs to run one. Every generated header begins with this text. */
#ifndef RILL_INTERFACE_1
#define RILL_INTERFACE_1

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors as DLPack has them; a program that uses dlpack.h includes it before this. */
#ifndef DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type; /* 1: the CPU, the only one here */
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code; /* 0 signed, 1 unsigned, 2 float (f16, f32, f64), 4 bf16, 6 bool (8 bits; unsigned of 8 bits is taken for it),
                   10 f8e4m3 (DLPack's float8_e4m3fn), 12 f8e5m2 */
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;   /* ndim extents */
  int64_t *strides; /* in elements; NULL: dense, row-major */
  uint64_t byte_offset;
} DLTensor;
#endif

enum {
  RILL_OK = 0,
  RILL_INVALID = 1, /* an argument is not what the model takes: dtype, axes, extents, `where` */
  RILL_MEMORY = 2,  /* there was none */
  RILL_FAILED = 3   /* a check of the model failed while it ran, or parallel_for did not do what it has to */
};

/* What a model takes from its host. A member that is NULL stands for a plain default; so does a NULL rill_env. */
typedef struct rill_env {
  uint32_t version; /* RILL_ENV_VERSION */
  void *user;       /* passed to each function */
  /* At least BYTES, aligned to ALIGN (a power of two, at most 64); NULL where there are none. */
  void *(*alloc)(void *user, size_t bytes, size_t align);
  void (*free)(void *user, void *memory);
  /* Calls BODY(data, i) exactly once for every i below COUNT, in any order, from any thread, and returns when all are done. */
  void (*parallel_for)(void *user, size_t count, void (*body)(void *data, size_t i), void *data);
  /* Told about every failure: one of the codes above, and what is wrong. */
  void (*error)(void *user, int code, const char *message);
} rill_env;
enum { RILL_ENV_VERSION = 1 };

/* An opened model: memory that runs reuse. One call at a time; any number of models. */
typedef struct rill_model rill_model;

#ifdef __cplusplus
}
#endif
#endif
