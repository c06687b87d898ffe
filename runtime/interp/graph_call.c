// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/graph_call.c - calls: of graph functions, closures and tensor programs. */
#include "runtime/interp/graph.h"

static void free_activation(ir_activation *a) {
  ir_release_objects(a->slots, a->body->slot_count);
  ir_symbols_free(&a->symbols);
}

static ir_activation activate(ir_interp *interp, const ir_body *body) {
  ir_activation a = {.interp = interp, .body = body};
  a.slots = ir_heap_alloc(ir_size_mul(body->slot_count, sizeof *a.slots));
  for (size_t i = 0; i < body->slot_count; i++) a.slots[i] = NULL;
  return a;
}

static bool enter_call(ir_interp *interp, ir_range range) {
  if (interp->calls < IR_MAX_CALLS) return interp->calls++, true;
  return ir_interp_fail(interp, range, "calls are nested more than %d deep", IR_MAX_CALLS);
}

/* Runs the body's block; RESULTS gets what it returns. */
static bool run_body(ir_activation *a, ir_object **results, size_t result_count) {
  ir_object **values;
  size_t count;
  if (!ir_run_block(a, a->body->block, &values, &count)) return false;
  for (size_t i = 0; i < result_count && i < count; i++) results[i] = ir_object_retain(values[i]);
  ir_release_objects(values, count);
  return true;
}

static bool check_results(ir_activation *a, const ir_func *func, ir_object **results) {
  for (size_t i = 0; i < func->result_count; i++) {
    results[i] = ir_object_coerce(a->interp, func->results[i], results[i]);
    ir_text why = {0};
    bool fits = ir_symbols_check(&a->symbols, func->results[i], results[i], &why);
    if (!fits) ir_interp_fail(a->interp, func->item.range, "result %zu of '@%s': %s", i, func->item.name->text, why.at);
    ir_text_free(&why);
    if (fits) continue;
    for (size_t k = 0; k < func->result_count; k++) ir_object_release(results[k]);
    return false;
  }
  return true;
}

bool ir_call_func(ir_interp *interp, ir_func *func, size_t count, ir_object *const *arguments, ir_object **results) {
  if (!func->body) {
    return ir_interp_fail(interp, func->item.range, "'@%s' is extern: nobody offers it to the interpreter", func->item.name->text);
  }
  if (!enter_call(interp, func->item.range)) return false;
  ir_activation a = activate(interp, ir_body_of(interp, func->body));
  bool ok = ir_symbols_enter(interp, &a.symbols, func, count, arguments);
  uint32_t slot = a.body->block->first_arg;
  for (size_t i = 0; ok && i < count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol) continue;
    ir_set_slot(&a, slot++, ir_object_coerce(interp, param->type, ir_object_retain(arguments[i])));
  }
  ok = ok && run_body(&a, results, func->result_count) && check_results(&a, func, results);
  free_activation(&a);
  interp->calls--;
  return ok;
}

/* --- closures --- */
static void release_closure(void *data) {
  ir_closure *closure = data;
  ir_release_objects(closure->captured, closure->captured_count);
  ir_symbols_free(&closure->symbols);
  ir_heap_free(closure);
}

bool ir_step_closure(ir_activation *a, const ir_step *step) {
  ir_closure *closure = ir_heap_alloc(sizeof *closure);
  *closure = (ir_closure){.op = step->op, .body = step->closure, .captured_count = step->closure->capture_count};
  closure->captured = ir_heap_alloc(ir_size_mul(closure->captured_count, sizeof *closure->captured));
  for (size_t i = 0; i < closure->captured_count; i++) closure->captured[i] = ir_object_retain(ir_step_operand(a, step, i));
  for (size_t i = 0; i < a->symbols.count; i++) ir_symbols_set(&closure->symbols, a->symbols.at[i].name, a->symbols.at[i].value);
  ir_step_result(a, step, 0, ir_object_function(closure, release_closure));
  return true;
}

static bool enter_closure(ir_activation *a, const ir_closure *closure, size_t count, ir_object *const *arguments) {
  const ir_region *region = closure->body->block->region;
  const ir_op *op = closure->op;
  if (count != region->arg_count) return ir_op_fail(a->interp, op, "a function of %u parameters is called with %zu", region->arg_count, count);
  for (size_t i = 0; i < closure->symbols.count; i++) ir_symbols_set(&a->symbols, closure->symbols.at[i].name, closure->symbols.at[i].value);
  for (size_t i = 0; i < count; i++) ir_symbols_bind(&a->symbols, region->args[i]->type, arguments[i]);
  for (size_t i = 0; i < count; i++) {
    ir_text why = {0};
    bool fits = ir_symbols_check(&a->symbols, region->args[i]->type, arguments[i], &why);
    if (!fits) ir_op_fail(a->interp, op, "argument %zu of the function: %s", i, why.at);
    ir_text_free(&why);
    if (!fits) return false;
    ir_set_slot(a, a->body->block->first_arg + (uint32_t)i, ir_object_coerce(a->interp, region->args[i]->type, ir_object_retain(arguments[i])));
  }
  for (size_t i = 0; i < ir_get_count(op, "where"); i++) {
    int64_t holds;
    if (ir_symbols_evaluate(&a->symbols, ir_get_expr_at(op, "where", i), &holds) && holds) continue;
    return ir_op_fail(a->interp, op, "bound number %zu of the function does not hold", i + 1);
  }
  for (size_t i = 0; i < closure->captured_count; i++) ir_set_slot(a, (uint32_t)i, ir_object_retain(closure->captured[i]));
  return true;
}

static bool call_closure(ir_activation *outer, const ir_step *step, ir_closure *closure, size_t count, ir_object *const *arguments,
                         ir_object **results) {
  ir_interp *interp = outer->interp;
  if (closure->func) return ir_call_func(interp, closure->func, count, arguments, results);
  if (!enter_call(interp, step->op->range)) return false;
  ir_activation a = activate(interp, closure->body);
  bool ok = enter_closure(&a, closure, count, arguments) && run_body(&a, results, step->op->result_count);
  free_activation(&a);
  interp->calls--;
  return ok;
}

/* --- tensor programs --- */
static ir_tensor *fresh(ir_activation *a, const ir_step *step, const ir_symbols *symbols, const ir_type *type) {
  int64_t *dims = ir_heap_alloc(ir_size_mul(type->count, sizeof *dims));
  bool known = type->kind == IR_TYPE_TENSOR && type->ranked && type->dtype != IR_DTYPE_UNKNOWN;
  for (size_t i = 0; known && i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    known = dim && ir_symbols_evaluate(symbols, dim, &dims[i]);
  }
  ir_tensor *tensor = known ? ir_tensor_new(a->interp->meter, ir_type_dtype(type), type->count, dims) : NULL;
  ir_heap_free(dims);
  if (!known) ir_step_fail(a, step, "%s: the extents of a result are not known", ir_op_row(step->op)->name);
  else if (!tensor) ir_step_fail(a, step, "%s: no memory for a result%s", ir_op_row(step->op)->name, ir_interp_budget(a->interp));
  else ir_step_poison(tensor);
  return tensor;
}

/* The tensor that operand I is overwritten in: the caller's own where nobody else can see it. */
static ir_object *overwritable(ir_activation *a, const ir_step *step, size_t i) {
  ir_object **slot = &a->slots[step->operands[i]];
  ir_object *object = *slot;
  bool dropped = false;
  size_t times = 0;
  for (size_t k = 0; k < step->drop_count; k++) dropped |= step->drops[k] == step->operands[i];
  for (size_t k = 0; k < step->op->operand_count; k++) times += step->operands[k] == step->operands[i];
  if (dropped && times == 1 && object->kind == IR_OBJECT_TENSOR && object->refs == 1 && ir_tensor_is_exclusive(object->tensor)) return ir_object_retain(object);
  if (object->kind != IR_OBJECT_TENSOR) {
    ir_step_fail(a, step, "call_tir_inplace: operand %zu is no tensor", i);
    return NULL;
  }
  ir_tensor *copy = ir_tensor_copy(a->interp->meter, object->tensor);
  if (!copy) ir_step_fail(a, step, "call_tir_inplace: no memory for a copy%s", ir_interp_budget(a->interp));
  return copy ? ir_object_tensor(copy) : NULL;
}

static int inplace_of(const ir_op *op, size_t operand) {
  for (size_t i = 0; i < ir_get_count(op, "inplace"); i++) {
    if (ir_get_int_at(op, "inplace", i) == (int64_t)operand) return (int)i;
  }
  return -1;
}

static bool run_kernel(ir_interp *interp, ir_func *func, size_t count, ir_object *const *arguments) {
  ir_launch launch = ir_launch_begin(interp, func->item.name->text);
  const ir_interp_options *options = &interp->options;
  if (!(options->launch ? options->launch(options->user, func, count, arguments) : ir_interp_prim(interp, func, count, arguments))) return false;
  ir_launch_buffers(&launch, count, arguments);
  ir_launch_end(interp, &launch);
  return true;
}

static bool call_tir(ir_activation *a, const ir_step *step, ir_func *func) {
  const ir_op *op = step->op;
  bool inplace = ir_is(op, IR_CALL_TIR_INPLACE), ok = true;
  ir_object **arguments = ir_heap_alloc(ir_size_mul(func->param_count, sizeof *arguments));
  ir_object **results = ir_heap_alloc(ir_size_mul(op->result_count, sizeof *results));
  for (size_t i = 0; i < func->param_count; i++) arguments[i] = NULL;
  for (size_t i = 0; i < op->result_count; i++) results[i] = NULL;
  size_t operand = 0, result = inplace ? ir_get_count(op, "inplace") : 0;
  for (size_t i = 0; i < func->param_count && ok; i++) {
    if (func->params[i].direction == IR_OUT) continue;
    if (operand >= op->operand_count) {
      ok = ir_step_fail(a, step, "%s: too few operands for '@%s'", ir_op_row(op)->name, func->item.name->text);
      break;
    }
    int place = inplace ? inplace_of(op, operand) : -1;
    arguments[i] = place < 0 ? ir_object_retain(ir_step_operand(a, step, operand)) : overwritable(a, step, operand);
    ok = arguments[i] != NULL;
    if (ok && place >= 0 && place < op->result_count) results[place] = ir_object_retain(arguments[i]);
    operand++;
  }
  ir_symbols symbols = {0};
  if (ok) ir_symbols_bind_all(&symbols, func, arguments);
  for (size_t i = 0; i < func->param_count && ok; i++) {
    if (func->params[i].direction != IR_OUT) continue;
    ir_tensor *tensor = fresh(a, step, &symbols, func->params[i].type);
    ok = tensor != NULL;
    if (!ok) break;
    arguments[i] = ir_object_tensor(tensor);
    if (result < op->result_count) results[result++] = ir_object_retain(arguments[i]);
  }
  ok = ok && run_kernel(a->interp, func, func->param_count, arguments);
  for (size_t i = 0; i < op->result_count; i++) {
    if (ok && results[i]) ir_step_result(a, step, i, ir_object_retain(results[i]));
  }
  ir_symbols_free(&symbols);
  ir_release_objects(arguments, func->param_count);
  ir_release_objects(results, op->result_count);
  return ok;
}

/* --- the operations --- */
static ir_func *callee_of(ir_activation *a, const ir_step *step) {
  const ir_attr *name = ir_get(step->op, "callee");
  ir_func *func = ir_item_func(ir_module_find(ir_op_module(step->op), name->string));
  if (!func) ir_step_fail(a, step, "%s: there is no function '@%s'", ir_op_row(step->op)->name, name->string->text);
  return func;
}

static bool call_function(ir_activation *a, const ir_step *step) {
  const ir_op *op = step->op;
  ir_func *func = NULL;
  size_t first = ir_has_attr(op, "callee") ? 0 : 1, count = op->operand_count - first;
  if (!first && !(func = callee_of(a, step))) return false;
  ir_object **arguments = ir_heap_alloc(ir_size_mul(count, sizeof *arguments));
  ir_object **results = ir_heap_alloc(ir_size_mul(op->result_count, sizeof *results));
  for (size_t i = 0; i < count; i++) arguments[i] = ir_step_operand(a, step, i + first);
  for (size_t i = 0; i < op->result_count; i++) results[i] = NULL;
  bool ok;
  if (func && func->item.kind == IR_ITEM_PRIM_FUNC) {
    ok = run_kernel(a->interp, func, count, arguments);
    if (ok && op->result_count) results[0] = ir_object_tuple(0, NULL);
  } else if (func) {
    ok = ir_call_func(a->interp, func, count, arguments, results);
  } else {
    ir_object *callee = ir_step_operand(a, step, 0);
    ok = callee->kind == IR_OBJECT_FUNCTION ? call_closure(a, step, callee->function.data, count, arguments, results)
                                            : ir_step_fail(a, step, "call: the callee is no function");
  }
  for (size_t i = 0; ok && i < op->result_count; i++) {
    ir_step_result(a, step, i, results[i] ? results[i] : ir_object_tuple(0, NULL));
  }
  ir_heap_free(arguments);
  ir_heap_free(results);
  return ok;
}

bool ir_step_call(ir_activation *a, const ir_step *step) {
  switch ((ir_opcode)step->op->code) {
  case IR_CALL: return call_function(a, step);
  case IR_CALL_TIR:
  case IR_CALL_TIR_INPLACE: {
    ir_func *func = callee_of(a, step);
    return func && call_tir(a, step, func);
  }
  default:
    return ir_step_fail(a, step, "%s: nobody offers a function '%s' to the interpreter", ir_op_row(step->op)->name,
                        ir_get_word(step->op, "name"));
  }
}
