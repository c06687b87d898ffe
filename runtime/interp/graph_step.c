// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/graph_step.c - the operations of graph functions: structure here, operators in operators.c. */
#include "runtime/interp/graph.h"

#include "ir/eval.h"
#include "ir/print.h"

#include <inttypes.h>

bool ir_step_fail(ir_activation *a, const ir_step *step, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_interp_vfail(a->interp, step->op->range, ir_op_loc(step->op), format, args);
  va_end(args);
  return false;
}

/* --- scalars --- */
struct scalar {
  ir_activation *a;
  const ir_step *step;
};

static bool divides_by_zero(const ir_expr *expr, const uint64_t *operands) { return ir_expr_divides(expr) && operands[1] == 0; }

static bool evaluate(struct scalar *s, const ir_expr *expr, uint64_t *bits) {
  ir_interp *interp = s->a->interp;
  uint64_t operands[3] = {0};
  int64_t value;
  ir_dtype dtype;
  switch ((ir_scalar_code)expr->code) {
  case IR_S_CONST: *bits = expr->bits; return true;
  case IR_S_SYMBOL:
    if (!ir_symbols_get(&s->a->symbols, expr->symbol, &value)) return ir_step_fail(s->a, s->step, "symbol '%s' has no value here", expr->symbol->text);
    *bits = (uint64_t)value;
    return true;
  case IR_S_ARG: {
    const ir_object *object = ir_step_operand(s->a, s->step, expr->arg);
    return ir_object_as_scalar(object, &dtype, bits) || ir_step_fail(s->a, s->step, "an operand of an expression is no scalar");
  }
  case IR_S_LOAD: return ir_step_fail(s->a, s->step, "an expression of a graph function reads memory");
  default: break;
  }
  if (expr->count > 3) return ir_step_fail(s->a, s->step, "the interpreter doesn't evaluate '%s' here", ir_scalars[expr->code].name);
  for (size_t i = 0; i < expr->count; i++) {
    if (!evaluate(s, expr->kids[i], &operands[i])) return false;
  }
  if (interp->options.checked && divides_by_zero(expr, operands)) return ir_step_fail(s->a, s->step, "integer division by zero");
  ir_dtype operand = (ir_dtype)expr->kids[expr->count - 1]->dtype;
  bool fma = ir_module_fma(interp->module);
  if (ir_scalar_eval(interp->context, (ir_scalar_code)expr->code, operand, (ir_dtype)expr->dtype, fma, operands, bits)) return true;
  return ir_step_fail(s->a, s->step, "the interpreter doesn't evaluate '%s' here", ir_scalars[expr->code].name);
}

static bool step_scalar(ir_activation *a, const ir_step *step) {
  const ir_expr *expr = ir_get_expr(step->op, "value");
  struct scalar s = {a, step};
  uint64_t bits;
  if (!evaluate(&s, expr, &bits)) return false;
  ir_step_result(a, step, 0, ir_object_scalar((ir_dtype)expr->dtype, bits));
  return true;
}

/* --- constants --- */
static bool step_const(ir_activation *a, const ir_step *step) {
  const ir_type *type = ir_op_result(step->op, 0)->type;
  ir_data data;
  enum { SOME = 64 };
  int64_t dims[SOME];
  if (type->count > SOME || !ir_type_static_dims(type, dims, NULL)) return ir_step_fail(a, step, "const: the type has no constant extents");
  if (!ir_const_data(step->op, &data)) return false;
  ir_tensor *tensor = ir_tensor_wrap(data.dtype, type->count, dims, data.bytes, NULL, NULL);
  if (!tensor || tensor->size != data.size) {
    ir_tensor_release(tensor);
    return ir_step_fail(a, step, "const: %zu bytes don't fill the type", data.size);
  }
  ir_step_result(a, step, 0, ir_object_tensor(tensor));
  return true;
}

/* --- tuples and shapes --- */
static bool step_tuple(ir_activation *a, const ir_step *step) {
  size_t count = step->op->operand_count;
  ir_object **fields = ir_heap_alloc(ir_size_mul(count, sizeof *fields));
  for (size_t i = 0; i < count; i++) fields[i] = ir_step_operand(a, step, i);
  ir_step_result(a, step, 0, ir_object_tuple(count, fields));
  ir_heap_free(fields);
  return true;
}

static bool step_tuple_get(ir_activation *a, const ir_step *step) {
  const ir_object *tuple = ir_step_operand(a, step, 0);
  size_t index = (size_t)ir_get_int(step->op, "index");
  if (tuple->kind != IR_OBJECT_TUPLE || index >= tuple->tuple.count) return ir_step_fail(a, step, "no field %zu in the tuple", index);
  ir_step_result(a, step, 0, ir_object_retain(tuple->tuple.fields[index]));
  return true;
}

static bool step_shape(ir_activation *a, const ir_step *step) {
  size_t count = step->op->operand_count;
  int64_t *dims = ir_heap_alloc(ir_size_mul(count, sizeof *dims));
  bool ok = true;
  for (size_t i = 0; i < count && ok; i++) {
    ok = ir_object_as_i64(ir_step_operand(a, step, i), &dims[i]) || ir_step_fail(a, step, "shape: extent %zu is no integer", i);
    if (ok && (dims[i] < 0 || dims[i] > IR_EXTENT_MAX)) ok = ir_step_fail(a, step, "shape: extent %zu is %" PRId64 ", which is out of range", i, dims[i]);
  }
  if (ok) ir_step_result(a, step, 0, ir_object_shape(count, dims));
  ir_heap_free(dims);
  return ok;
}

static bool step_shape_of(ir_activation *a, const ir_step *step) {
  const ir_object *x = ir_step_operand(a, step, 0);
  bool tensor = x->kind == IR_OBJECT_TENSOR;
  ir_step_result(a, step, 0, tensor ? ir_object_shape(x->tensor->rank, x->tensor->dims) : ir_object_shape(0, NULL));
  return true;
}

static bool step_shape_to_tensor(ir_activation *a, const ir_step *step) {
  const ir_object *shape = ir_step_operand(a, step, 0);
  if (shape->kind != IR_OBJECT_SHAPE) return ir_step_fail(a, step, "shape_to_tensor: the operand is no shape");
  int64_t count = (int64_t)shape->shape.count;
  ir_tensor *tensor = ir_tensor_new(a->interp->meter, IR_I64, 1, &count);
  if (!tensor) return ir_step_fail(a, step, "shape_to_tensor: no memory%s", ir_interp_budget(a->interp));
  bool ok = ir_tensor_write(tensor, shape->shape.dims);
  ir_step_result(a, step, 0, ir_object_tensor(tensor));
  return ok;
}

static bool step_tensor_to_shape(ir_activation *a, const ir_step *step) {
  const ir_object *x = ir_step_operand(a, step, 0);
  if (x->kind != IR_OBJECT_TENSOR || x->tensor->rank != 1) return ir_step_fail(a, step, "tensor_to_shape: the operand has no single axis");
  const ir_tensor *tensor = x->tensor;
  int64_t *dims = ir_heap_alloc(ir_size_mul((size_t)tensor->count, sizeof *dims));
  bool ok = true;
  for (int64_t i = 0; i < tensor->count && ok; i++) {
    dims[i] = ir_int_from_bits((ir_dtype)tensor->dtype, ir_tensor_bits(tensor, i));
    if (dims[i] < 0 || dims[i] > IR_EXTENT_MAX) {
      ok = ir_step_fail(a, step, "tensor_to_shape: element %" PRId64 " is %" PRId64 ", which is no extent", i, dims[i]);
    }
  }
  if (ok) ir_step_result(a, step, 0, ir_object_shape((size_t)tensor->count, dims));
  ir_heap_free(dims);
  return ok;
}

/* --- checks --- */
static bool step_match_cast(ir_activation *a, const ir_step *step) {
  const ir_type *type = ir_op_result(step->op, 0)->type;
  ir_object *object = ir_step_operand(a, step, 0);
  /* In a loop the symbols are bound anew. */
  for (size_t i = 0; i < step->bind_count; i++) ir_symbols_unset(&a->symbols, step->binds[i]);
  ir_symbols_bind(&a->symbols, type, object);
  ir_text why = {0}, what = {0};
  bool fits = ir_symbols_check(&a->symbols, type, object, &why);
  if (!fits && !a->interp->options.quiet) {
    ir_arena scratch = {0};
    ir_object_describe(&what, object);
    ir_step_fail(a, step, "match_cast: expected %s, found %s: %s", ir_type_text(&scratch, type), what.at, why.at);
    ir_arena_free(&scratch);
  }
  ir_text_free(&why);
  ir_text_free(&what);
  if (!fits) return false;
  ir_step_result(a, step, 0, ir_object_coerce(a->interp, type, ir_object_retain(object)));
  return true;
}

static bool step_assert(ir_activation *a, const ir_step *step) {
  int64_t holds;
  if (!ir_object_as_i64(ir_step_operand(a, step, 0), &holds)) return ir_step_fail(a, step, "assert: the condition is no bool");
  return holds || ir_step_fail(a, step, "%s", ir_get_word(step->op, "message"));
}

/* --- operators --- */
static bool step_operator(ir_activation *a, const ir_step *step) {
  const ir_op *op = step->op;
  ir_object **operands = ir_heap_alloc(ir_size_mul(op->operand_count, sizeof *operands));
  ir_object **results = ir_heap_alloc(ir_size_mul(op->result_count, sizeof *results));
  for (size_t i = 0; i < op->operand_count; i++) operands[i] = ir_step_operand(a, step, i);
  bool ok = ir_run_operator(a->interp, &a->symbols, step->op, operands, results);
  for (size_t i = 0; ok && i < op->result_count; i++) ir_step_result(a, step, i, results[i]);
  ir_heap_free(operands);
  ir_heap_free(results);
  return ok;
}

bool ir_run_step(ir_activation *a, const ir_step *step) {
  switch ((ir_opcode)step->op->code) {
  case IR_SCALAR: return step_scalar(a, step);
  case IR_CONST: return step_const(a, step);
  case IR_TUPLE: return step_tuple(a, step);
  case IR_TUPLE_GET: return step_tuple_get(a, step);
  case IR_CALL:
  case IR_CALL_TIR:
  case IR_CALL_TIR_INPLACE:
  case IR_CALL_PACKED:
  case IR_CALL_PURE_PACKED:
  case IR_CALL_DPS_PACKED: return ir_step_call(a, step);
  case IR_TO_DEVICE: ir_step_result(a, step, 0, ir_object_retain(ir_step_operand(a, step, 0))); return true;
  case IR_CLOSURE: return ir_step_closure(a, step);
  case IR_IF: return ir_step_if(a, step);
  case IR_LOOP: return ir_step_loop(a, step);
  case IR_DATAFLOW: return ir_step_dataflow(a, step);
  case IR_MATCH_CAST: return step_match_cast(a, step);
  case IR_ASSERT: return step_assert(a, step);
  case IR_SHAPE: return step_shape(a, step);
  case IR_SHAPE_OF: return step_shape_of(a, step);
  case IR_SHAPE_TO_TENSOR: return step_shape_to_tensor(a, step);
  case IR_TENSOR_TO_SHAPE: return step_tensor_to_shape(a, step);
  case IR_ALLOC:
  case IR_HOST_ALLOC:
  case IR_HOST_TENSOR:
  case IR_HOST_RESULT:
  case IR_HOST_VIEW:
  case IR_HOST_COPY:
  case IR_HOST_FREE: return ir_step_host(a, step);
  default: return step_operator(a, step);
  }
}

/* --- the interface --- */
bool ir_interp_run(ir_interp *interp, ir_func *func, size_t count, ir_object *const *inputs, ir_object **results) {
  if (func->item.kind != IR_ITEM_FUNC) return ir_interp_fail(interp, func->item.range, "'@%s' is no func", func->item.name->text);
  return ir_call_func(interp, func, count, inputs, results);
}

static ir_tensor *as_tensor(ir_interp *interp, const ir_object *object) {
  if (object->kind == IR_OBJECT_TENSOR) return ir_tensor_retain(object->tensor);
  bool shape = object->kind == IR_OBJECT_SHAPE;
  if (!shape && object->kind != IR_OBJECT_SCALAR) return NULL;
  int64_t count = shape ? (int64_t)object->shape.count : 1;
  ir_tensor *tensor = ir_tensor_new(interp->meter, shape ? IR_I64 : object->scalar.dtype, shape, &count);
  if (tensor && shape) ir_tensor_write(tensor, object->shape.dims);
  if (tensor && !shape) ir_tensor_set_bits(tensor, 0, object->scalar.bits);
  return tensor;
}

/* What TENSOR is as parameter I of FUNC: extents where that is a shape, as it is one that comes out. */
static ir_object *as_argument(const ir_func *func, size_t i, ir_tensor *tensor) {
  bool shape = i < func->param_count && func->params[i].type->kind == IR_TYPE_SHAPE;
  if (!shape || tensor->dtype != IR_I64 || tensor->rank != 1) return ir_object_tensor(ir_tensor_retain(tensor));
  int64_t *dims = ir_heap_alloc(ir_size_mul((size_t)tensor->count, sizeof *dims));
  for (int64_t k = 0; k < tensor->count; k++) dims[k] = ir_int_from_bits(IR_I64, ir_tensor_bits(tensor, k));
  ir_object *object = ir_object_shape((size_t)tensor->count, dims);
  ir_heap_free(dims);
  return object;
}

bool ir_interp_call(ir_interp *interp, const ir_func *func, size_t count, ir_tensor *const *inputs, size_t result_count, ir_tensor **results) {
  if (result_count != func->result_count) {
    return ir_interp_fail(interp, func->item.range, "'@%s' has %zu results, not %zu", func->item.name->text, func->result_count, result_count);
  }
  ir_object **arguments = ir_heap_alloc(ir_size_mul(count, sizeof *arguments));
  ir_object **objects = ir_heap_alloc(ir_size_mul(result_count, sizeof *objects));
  for (size_t i = 0; i < count; i++) arguments[i] = as_argument(func, i, inputs[i]);
  for (size_t i = 0; i < result_count; i++) objects[i] = NULL;
  bool ran = ir_interp_run(interp, (ir_func *)(uintptr_t)func, count, arguments, objects), ok = ran;
  size_t made = 0;
  for (; ok && made < result_count; made++) {
    results[made] = as_tensor(interp, objects[made]);
    if (results[made]) continue;
    ok = ir_interp_fail(interp, func->item.range, "result %zu of '@%s' is no tensor", made, func->item.name->text);
    break;
  }
  for (size_t i = 0; !ok && i < made; i++) {
    ir_tensor_release(results[i]);
    results[i] = NULL;
  }
  ir_release_objects(arguments, count);
  if (ran) ir_release_objects(objects, result_count);
  else ir_heap_free(objects);
  return ok;
}

bool ir_interp_op(ir_interp *interp, ir_op *op, ir_object *const *operands, ir_object **results) {
  const ir_symbols none = {0};
  if (ir_op_row(op)->numerics == IR_STRUCTURE) return ir_op_fail(interp, op, "'%s' is no tensor operator", ir_op_row(op)->name);
  return ir_run_operator(interp, &none, op, operands, results);
}
