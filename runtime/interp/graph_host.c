// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/graph_host.c - memory of graph functions: allocations, storage, tensors in it. Fresh memory of the host
 * holds NaN (all bits set), so that who reads what nobody wrote is found out. */
#include "base/pack.h"
#include "runtime/interp/graph.h"

#include <inttypes.h>

enum { MAX_RANK = 64 };

static bool extents(ir_activation *a, const ir_step *step, const ir_type *type, int64_t *dims) {
  const char *name = ir_op_row(step->op)->name;
  if (type->count > MAX_RANK) return ir_step_fail(a, step, "%s: too many axes", name);
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    if (!dim || !ir_symbols_evaluate(&a->symbols, dim, &dims[i])) return ir_step_fail(a, step, "%s: the extent of axis %zu is not known", name, i);
  }
  return true;
}

void ir_step_poison(ir_tensor *tensor) {
  if (tensor->size && !ir_tensor_memory(tensor)) memset(tensor->data, tensor->dtype == IR_BOOL ? 1 : 0xff, tensor->size);
}

static bool step_alloc(ir_activation *a, const ir_step *step) {
  const ir_type *type = ir_op_result(step->op, 0)->type;
  int64_t dims[MAX_RANK];
  if (!extents(a, step, type, dims)) return false;
  ir_tensor *tensor = ir_tensor_new(a->interp->meter, ir_type_dtype(type), type->count, dims);
  if (!tensor) return ir_step_fail(a, step, "%s: no memory%s", ir_op_row(step->op)->name, ir_interp_budget(a->interp));
  ir_step_poison(tensor);
  ir_step_result(a, step, 0, ir_object_tensor(tensor));
  return true;
}

/* --- storage --- */

static bool evaluate_sizes(ir_activation *a, const ir_step *step, size_t count, int64_t *bytes, int64_t *live) {
  const ir_attr *pairs = ir_get(step->op, "live");
  for (size_t i = 0; i < count; i++) {
    const ir_expr *size = ir_get_expr_at(step->op, "bytes", i);
    if (!ir_symbols_evaluate(&a->symbols, size, &bytes[i])) return ir_step_fail(a, step, "host.alloc: size %zu is not known, or passes 63 bits", i);
    for (size_t k = 0; k < 2; k++) live[2 * i + k] = pairs ? pairs->items[i]->items[k]->i : 0;
  }
  return true;
}

static bool make_storage(ir_activation *a, const ir_step *step, size_t count, const int64_t *bytes, const int64_t *live, int64_t *offsets) {
  int64_t total;
  if (!ir_pack(count, bytes, live, offsets, &total)) return ir_step_fail(a, step, "host.alloc: a size is negative, or all together pass 60 bits");
  ir_tensor *all = ir_tensor_new(a->interp->meter, IR_U8, 1, &total);
  if (!all) return ir_step_fail(a, step, "host.alloc: no memory for %" PRId64 " bytes%s", total, ir_interp_budget(a->interp));
  ir_step_poison(all);
  for (size_t i = 0; i < count; i++) {
    ir_step_result(a, step, i, ir_object_tensor(ir_tensor_slice(all, offsets[i], IR_U8, 1, &bytes[i])));
  }
  ir_tensor_release(all);
  return true;
}

static bool step_host_alloc(ir_activation *a, const ir_step *step) {
  size_t count = step->op->result_count;
  int64_t *numbers = ir_heap_alloc(ir_size_mul(count, 4 * sizeof *numbers));
  int64_t *bytes = numbers, *live = numbers + count, *offsets = live + 2 * count;
  bool ok = evaluate_sizes(a, step, count, bytes, live) && make_storage(a, step, count, bytes, live, offsets);
  ir_heap_free(numbers);
  return ok;
}

static bool step_host_tensor(ir_activation *a, const ir_step *step) {
  ir_tensor *storage = ir_step_operand(a, step, 0)->tensor;
  const ir_type *type = ir_op_result(step->op, 0)->type;
  int64_t dims[MAX_RANK], offset;
  if (!extents(a, step, type, dims)) return false;
  if (!ir_symbols_evaluate(&a->symbols, ir_attr_as_expr(a->interp->context, ir_get(step->op, "offset")), &offset)) {
    return ir_step_fail(a, step, "host.tensor: the offset is not known, or passes 63 bits");
  }
  ir_tensor *tensor = offset % IR_PACK_ALIGN ? NULL : ir_tensor_slice(storage, offset, ir_type_dtype(type), type->count, dims);
  if (!tensor) {
    int64_t count, bytes;
    if (!ir_tensor_extent(ir_type_dtype(type), type->count, dims, &count, &bytes)) return ir_step_fail(a, step, "host.tensor: no tensor has these extents");
    return ir_step_fail(a, step, "host.tensor: %" PRId64 " bytes at offset %" PRId64 " of storage of %zu: not in it, or not aligned", bytes, offset, storage->size);
  }
  ir_step_poison(tensor);
  ir_step_result(a, step, 0, ir_object_tensor(tensor));
  return true;
}

/* --- tensors --- */

/* Operand I as a tensor; a new reference. */
static ir_tensor *operand(ir_activation *a, const ir_step *step, size_t i) {
  const ir_type *type = ir_op_operand(step->op, i)->type;
  ir_object *object = ir_object_coerce(a->interp, type, ir_object_retain(ir_step_operand(a, step, i)));
  ir_tensor *tensor = object->kind == IR_OBJECT_TENSOR ? ir_tensor_retain(object->tensor) : NULL;
  ir_object_release(object);
  if (!tensor) ir_step_fail(a, step, "%s: operand %zu is no tensor", ir_op_row(step->op)->name, i);
  return tensor;
}

static bool step_host_view(ir_activation *a, const ir_step *step) {
  const ir_type *type = ir_op_result(step->op, 0)->type;
  int64_t dims[MAX_RANK];
  ir_tensor *from = operand(a, step, 0);
  bool ok = from && extents(a, step, type, dims);
  int64_t count, bytes;
  if (ok && (!ir_tensor_extent(ir_type_dtype(type), type->count, dims, &count, &bytes) || count != from->count)) {
    ok = ir_step_fail(a, step, "host.view: the operand has %zu bytes, the result another number", from->size);
  }
  if (ok) ir_step_result(a, step, 0, ir_object_tensor(ir_tensor_view(from, type->count, dims)));
  ir_tensor_release(from);
  return ok;
}

static bool step_host_copy(ir_activation *a, const ir_step *step) {
  ir_tensor *from = operand(a, step, 0), *to = operand(a, step, 1);
  bool ok = from && to;
  if (ok && (from->dtype != to->dtype || from->count != to->count)) {
    ok = ir_step_fail(a, step, "host.copy: %zu bytes to a tensor of %zu bytes", from->size, to->size);
  }
  ok = ok && ir_tensor_move(to, 0, from);
  ir_tensor_release(from);
  ir_tensor_release(to);
  return ok;
}

bool ir_step_host(ir_activation *a, const ir_step *step) {
  switch ((int)step->op->code) {
  case IR_HOST_ALLOC: return step_host_alloc(a, step);
  case IR_HOST_TENSOR: return step_host_tensor(a, step);
  case IR_HOST_VIEW: return step_host_view(a, step);
  case IR_HOST_COPY: return step_host_copy(a, step);
  case IR_HOST_FREE: return true; /* memory goes with its last reference */
  default: return step_alloc(a, step);
  }
}
