// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/native.c - operators whose results have as many elements as their operands' values say. */
#include "runtime/interp/native.h"

static bool is_zero(const ir_tensor *x, int64_t i) {
  uint64_t bits = ir_tensor_bits(x, i);
  ir_dtype dtype = (ir_dtype)x->dtype;
  return ir_is_float(dtype) ? ir_float_from_bits(dtype, bits) == 0 : ir_int_from_bits(dtype, bits) == 0;
}

static bool run_nonzero(ir_interp *interp, ir_op *op, ir_object *const *operands, ir_object **results) {
  const ir_type tensor_type = {.kind = IR_TYPE_TENSOR};
  ir_object *object = ir_object_coerce(interp, &tensor_type, ir_object_retain(operands[0]));
  const ir_tensor *x = object->tensor;
  int64_t found = 0;
  for (int64_t i = 0; i < x->count; i++) found += !is_zero(x, i);
  const int64_t dims[2] = {x->rank, found};
  ir_tensor *result = ir_tensor_new(interp->meter, IR_I64, 2, dims);
  if (!result) {
    ir_object_release(object);
    return ir_op_fail(interp, op, "nonzero: no memory for the result%s", ir_interp_budget(interp));
  }
  int64_t *to = (int64_t *)(void *)result->data, at = 0;
  for (int64_t i = 0; i < x->count; i++) {
    if (is_zero(x, i)) continue;
    int64_t rest = i;
    for (size_t axis = x->rank; axis > 0; axis--) {
      to[(int64_t)(axis - 1) * found + at] = rest % x->dims[axis - 1];
      rest /= x->dims[axis - 1];
    }
    at++;
  }
  ir_object_release(object);
  results[0] = ir_object_tensor(result);
  return true;
}

ir_native *ir_native_find(const ir_op *op) { return ir_is(op, IR_NONZERO) && !ir_has_attr(op, "size") ? run_nonzero : NULL; }
