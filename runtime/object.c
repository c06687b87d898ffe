// SPDX-License-Identifier: Apache-2.0
/* runtime/object.c - values at run time. Needs runtime/tensor. */
#include "runtime/object.h"

#include <inttypes.h>

static ir_object *make(ir_object fields) {
  ir_object *object = ir_heap_alloc(sizeof *object);
  fields.refs = 1;
  *object = fields;
  return object;
}

ir_object *ir_object_tensor(ir_tensor *tensor) { return make((ir_object){.kind = IR_OBJECT_TENSOR, .tensor = tensor}); }

ir_object *ir_object_scalar(ir_dtype dtype, uint64_t bits) {
  return make((ir_object){.kind = IR_OBJECT_SCALAR, .scalar = {dtype, bits}});
}

ir_object *ir_object_i64(int64_t value) { return ir_object_scalar(IR_I64, (uint64_t)value); }

ir_object *ir_object_shape(size_t count, const int64_t *dims) {
  int64_t *copy = ir_heap_alloc(ir_size_mul(count, sizeof *dims));
  if (count) memcpy(copy, dims, count * sizeof *dims);
  return make((ir_object){.kind = IR_OBJECT_SHAPE, .shape = {count, copy}});
}

ir_object *ir_object_tuple(size_t count, ir_object *const *fields) {
  ir_object **copy = ir_heap_alloc(ir_size_mul(count, sizeof *fields));
  for (size_t i = 0; i < count; i++) copy[i] = ir_object_retain(fields[i]);
  return make((ir_object){.kind = IR_OBJECT_TUPLE, .tuple = {count, copy}});
}

ir_object *ir_object_function(void *data, void (*release)(void *data)) {
  return make((ir_object){.kind = IR_OBJECT_FUNCTION, .function = {data, release}});
}

void ir_object_release(ir_object *object) {
  if (!object || --object->refs) return;
  switch (object->kind) {
  case IR_OBJECT_TENSOR: ir_tensor_release(object->tensor); break;
  case IR_OBJECT_SCALAR: break;
  case IR_OBJECT_SHAPE: ir_heap_free(object->shape.dims); break;
  case IR_OBJECT_TUPLE:
    for (size_t i = 0; i < object->tuple.count; i++) ir_object_release(object->tuple.fields[i]);
    ir_heap_free(object->tuple.fields);
    break;
  case IR_OBJECT_FUNCTION: object->function.release(object->function.data); break;
  }
  ir_heap_free(object);
}

bool ir_object_as_scalar(const ir_object *object, ir_dtype *dtype, uint64_t *bits) {
  if (object->kind == IR_OBJECT_SCALAR) {
    *dtype = object->scalar.dtype;
    *bits = object->scalar.bits;
    return true;
  }
  if (object->kind != IR_OBJECT_TENSOR || object->tensor->count != 1) return false;
  *dtype = (ir_dtype)object->tensor->dtype;
  *bits = ir_tensor_bits(object->tensor, 0);
  return true;
}

bool ir_object_as_i64(const ir_object *object, int64_t *value) {
  ir_dtype dtype;
  uint64_t bits;
  if (!ir_object_as_scalar(object, &dtype, &bits) || ir_is_float(dtype)) return false;
  *value = ir_int_from_bits(dtype, bits);
  return true;
}

void ir_object_describe(ir_text *text, const ir_object *object) {
  switch (object->kind) {
  case IR_OBJECT_TENSOR: ir_tensor_describe(text, object->tensor); return;
  case IR_OBJECT_SCALAR: ir_text_put(text, ir_dtype_name(object->scalar.dtype)); return;
  case IR_OBJECT_SHAPE:
    ir_text_put(text, "shape[");
    for (size_t i = 0; i < object->shape.count; i++) ir_text_printf(text, "%s%" PRId64, i ? ", " : "", object->shape.dims[i]);
    ir_text_char(text, ']');
    return;
  case IR_OBJECT_TUPLE:
    ir_text_put(text, "tuple[");
    for (size_t i = 0; i < object->tuple.count; i++) {
      if (i) ir_text_put(text, ", ");
      ir_object_describe(text, object->tuple.fields[i]);
    }
    ir_text_char(text, ']');
    return;
  case IR_OBJECT_FUNCTION: ir_text_put(text, "a function"); return;
  }
}
