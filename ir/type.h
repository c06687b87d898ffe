// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_TYPE_H
#define RILL_IR_TYPE_H

#include "context.h"
#include "dtype.h"

typedef enum ir_type_kind {
  IR_TYPE_ANY,    /* any */
  IR_TYPE_SCALAR, /* i64, f32x8 */
  IR_TYPE_TENSOR, /* f32[n, 4], f32[*], ?[2], f32x8[4] (a buffer of vectors), f32[n] @gpu0 */
  IR_TYPE_SHAPE,  /* shape[n, 4], shape[*] */
  IR_TYPE_TUPLE,  /* tuple[A, B] */
  IR_TYPE_FUNC,   /* fn(A) -> B, impure fn(A) -> (B, C), fn */
  IR_TYPE_STORAGE, /* storage: bytes that tensors are placed in */
} ir_type_kind;

/* Interned: equal structure, equal pointer. Extents are expressions over constants and symbols only, of type i64;
 * a NULL extent is `?`. They are kept as written: `n * 2` and `2 * n` are different types that prove equal. */
struct ir_type {
  ir_type_kind kind;
  uint8_t dtype;           /* SCALAR, TENSOR: an ir_dtype; IR_DTYPE_UNKNOWN is `?` (tensors only) */
  bool ranked;             /* TENSOR, SHAPE: false is [*]; FUNC: false is an opaque `fn` without a signature */
  bool impure;             /* FUNC */
  uint16_t lanes;          /* SCALAR, TENSOR: 1, or the width of a vector element */
  uint32_t count;          /* TENSOR, SHAPE: rank (0 where unranked); TUPLE: fields; FUNC: parameters */
  uint32_t result_count;   /* FUNC */
  const ir_string *device; /* TENSOR: name of a device item, or NULL */
  const void *items[];     /* ir_type_dim, ir_type_field, ir_type_result read it */
};

typedef struct ir_type_key {
  ir_type_kind kind;
  uint8_t dtype;
  bool ranked, impure;
  uint16_t lanes;
  uint32_t count, result_count;
  const ir_string *device;
  const void *const *items; /* count + result_count of them */
} ir_type_key;

const ir_type *ir_type_get(ir_context *context, const ir_type_key *key);

const ir_type *ir_type_scalar(ir_context *context, ir_dtype dtype, unsigned lanes);
/* DIMS has RANK entries, NULL for `?`. */
const ir_type *ir_type_tensor(ir_context *context, ir_dtype dtype, size_t rank, const ir_expr *const *dims);
const ir_type *ir_type_unranked(ir_context *context, ir_dtype dtype);
const ir_type *ir_type_shape(ir_context *context, size_t rank, const ir_expr *const *dims);
const ir_type *ir_type_unranked_shape(ir_context *context);
const ir_type *ir_type_tuple(ir_context *context, size_t count, const ir_type *const *fields);
const ir_type *ir_type_func(ir_context *context, size_t count, const ir_type *const *params, size_t result_count,
                            const ir_type *const *results, bool impure);
/* TYPE (a tensor) with another dtype, other extents, or another device. */
const ir_type *ir_type_with_dtype(ir_context *context, const ir_type *type, ir_dtype dtype);
const ir_type *ir_type_with_dims(ir_context *context, const ir_type *type, size_t rank, const ir_expr *const *dims);
const ir_type *ir_type_with_device(ir_context *context, const ir_type *type, const ir_string *device);

static inline const ir_expr *ir_type_dim(const ir_type *type, size_t i) { return type->items[i]; }
static inline const ir_expr *const *ir_type_dims(const ir_type *type) { return (const ir_expr *const *)type->items; }
static inline const ir_type *ir_type_field(const ir_type *type, size_t i) { return type->items[i]; }
static inline const ir_type *ir_type_result(const ir_type *type, size_t i) { return type->items[type->count + i]; }
static inline bool ir_is_tensor(const ir_type *type) { return type->kind == IR_TYPE_TENSOR; }
static inline bool ir_is_scalar(const ir_type *type) { return type->kind == IR_TYPE_SCALAR; }
static inline bool ir_is_unit(const ir_type *type) { return type->kind == IR_TYPE_TUPLE && !type->count; }
static inline ir_dtype ir_type_dtype(const ir_type *type) { return (ir_dtype)type->dtype; }
/* A tensor of known dtype, rank and extents, be they symbols: its size can be computed, and two of equal types are equal
 * in every extent, which two of type f32[?] need not be. */
bool ir_type_is_sized(const ir_type *type);
/* Every extent is known to be a constant; then DIMS (of type->count) and COUNT (their product) are filled where they
 * are not NULL. False also where the product overflows. */
bool ir_type_static_dims(const ir_type *type, int64_t *dims, int64_t *count);

#endif
