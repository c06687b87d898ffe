// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/private.c - the memory that an invocation has for itself. Needs loop form. */
#include "ir/infer.h"
#include "passes/schedule/transform.h"

int64_t ir_alloc_bytes(const ir_op *alloc) {
  int64_t count, bytes = 0;
  const ir_type *type = ir_op_result(alloc, 0)->type;
  ir_dtype dtype = ir_type_dtype(type);
  if (!ir_type_static_dims(type, NULL, &count)) return 0;
  /* Floats of fewer bits are f32 outside of buffers. */
  bool fits = ir_dtype_bytes(ir_is_float(dtype) && dtype != IR_F64 ? IR_F32 : dtype, count, &bytes);
  return fits ? bytes : INT64_MAX;
}

static bool add_private(void *user, ir_op *op) {
  int64_t *total = user;
  if (!ir_is(op, IR_ALLOC) || strcmp(ir_get_word(op, "scope"), "local")) return true;
  int64_t bytes = ir_alloc_bytes(op);
  *total = bytes > INT64_MAX - *total ? INT64_MAX : *total + bytes;
  return true;
}

int64_t ir_transform_private_bytes(const ir_func *func) {
  int64_t total = 0;
  ir_walk(func->body, IR_PRE_ORDER, add_private, &total);
  return total;
}
