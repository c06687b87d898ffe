// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_OBJECT_H
#define RILL_RUNTIME_OBJECT_H

#include "../ir/type.h"
#include "tensor.h"

typedef enum ir_object_kind {
  IR_OBJECT_TENSOR,
  IR_OBJECT_SCALAR,
  IR_OBJECT_SHAPE,
  IR_OBJECT_TUPLE,
  IR_OBJECT_FUNCTION, /* of the executor that made it */
} ir_object_kind;

/* A value at run time. Counted: whoever keeps a pointer retains it; making one gives one reference. */
typedef struct ir_object ir_object;
struct ir_object {
  ir_object_kind kind;
  uint32_t refs;
  union {
    ir_tensor *tensor;
    struct {
      ir_dtype dtype;
      uint64_t bits; /* as ir/dtype.h stores an element */
    } scalar;
    struct {
      size_t count;
      int64_t *dims;
    } shape;
    struct {
      size_t count;
      ir_object **fields;
    } tuple;
    struct {
      void *data;
      void (*release)(void *data);
    } function;
  };
};

/* Takes over the caller's reference to TENSOR. */
ir_object *ir_object_tensor(ir_tensor *tensor);
ir_object *ir_object_scalar(ir_dtype dtype, uint64_t bits);
ir_object *ir_object_i64(int64_t value);
ir_object *ir_object_shape(size_t count, const int64_t *dims);
/* Retains FIELDS. */
ir_object *ir_object_tuple(size_t count, ir_object *const *fields);
ir_object *ir_object_function(void *data, void (*release)(void *data));
static inline ir_object *ir_object_retain(ir_object *object) {
  object->refs++;
  return object;
}
void ir_object_release(ir_object *object); /* takes NULL */

/* A scalar, or a tensor without axes, as the bits of its element. */
bool ir_object_as_scalar(const ir_object *object, ir_dtype *dtype, uint64_t *bits);
/* The same for integers and bool, as a number. */
bool ir_object_as_i64(const ir_object *object, int64_t *value);
/* `f32[2, 3]`, `i64`, `shape[2]`, `tuple[...]`, for messages. */
void ir_object_describe(ir_text *text, const ir_object *object);

#endif
