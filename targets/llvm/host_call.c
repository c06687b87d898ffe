// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_call.c - calls of kernels, with the symbols of their types, and of graph functions. */
#include "targets/llvm/abi.h"
#include "targets/llvm/host.h"

#include "ir/infer.h"

#define B (h->f.builder)

static ir_func *callee_of(host *h, ir_op *op) {
  const ir_attr *callee = ir_get(op, "callee");
  if (!callee) {
    emit_cannot(&h->f, op->range, "call a function value: not implemented on llvm");
    return NULL;
  }
  ir_func *func = ir_item_func(ir_module_find(h->f.unit->source, callee->string));
  if (func && func->body) return func;
  emit_cannot(&h->f, op->range, "call @%s, which has no body: not implemented on llvm", callee->string->text);
  return NULL;
}

/* --- kernels --- */

typedef struct kernel_call {
  ir_op *op;
  const emit_kernel *kernel;
  host_value **args; /* of the parameters */
  size_t *operands;  /* which of OP's operands each parameter gets; `out` parameters of call_tir: none */
  ir_map symbols;    /* of the callee */
} kernel_call;

/* The callee's symbols stand for extents of the arguments here. */
static void bind_callee(host *h, kernel_call *call) {
  const ir_func *func = call->kernel->func;
  ir_arena *arena = &h->f.arena;
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].symbol) ir_map_put(arena, &call->symbols, func->params[i].symbol, call->args[i]->data);
  }
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_type *type = func->params[i].type;
    if (func->params[i].symbol || !ir_is_tensor(type)) continue;
    for (size_t d = 0; d < type->count; d++) {
      const ir_expr *dim = ir_type_dim(type, d);
      if (dim->code != IR_S_SYMBOL || ir_map_has(&call->symbols, dim)) continue;
      ir_map_put(arena, &call->symbols, dim, call->args[i]->dims[d]);
    }
  }
}

/* Whether the arguments' types prove what the parameter's type asks of extent D. */
static bool proves(host *h, const ir_binding *binding, const ir_type *param, const ir_type *arg, size_t d) {
  const ir_expr *have = ir_is_tensor(arg) ? ir_type_dim(arg, d) : NULL;
  const ir_expr *want = have ? ir_expr_substitute(h->f.unit->context, binding, ir_type_dim(param, d)) : NULL;
  return want && ir_prove_equal(h->f.unit->context, h->f.proofs.facts, want, have) == IR_PROVEN;
}

static void bind_types(host *h, kernel_call *call, ir_binding *binding) {
  const ir_func *func = call->kernel->func;
  for (size_t i = 0; i < func->param_count; i++) {
    if (!func->params[i].symbol) continue;
    const ir_expr *expr = ir_value_closed_expr(ir_op_operand(call->op, call->operands[i]));
    if (expr) ir_map_put(binding->arena, &binding->symbols, func->params[i].symbol, (void *)(uintptr_t)expr);
  }
  for (size_t i = 0; i < func->param_count; i++) {
    const char *why;
    if (!func->params[i].symbol) ir_unify(h->f.unit->context, h->f.proofs.facts, binding, func->params[i].type, call->args[i]->type, &why);
  }
}

/* Extents that the argument's type does not already prove are compared: kernels rely on them. */
static void check_args(host *h, kernel_call *call) {
  emit_function *f = &h->f;
  const ir_func *func = call->kernel->func;
  ir_map symbols = f->symbols;
  const ir_facts *facts = f->proofs.facts;
  ir_binding binding = {.arena = &f->scratch};
  bind_types(h, call, &binding);
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol || !ir_is_tensor(param->type)) continue;
    const char *what = ir_arena_printf(&f->scratch, "argument '%s' of @%s", param->name ? param->name->text : "", func->item.name->text);
    for (size_t d = 0; d < param->type->count; d++) {
      if (proves(h, &binding, param->type, call->args[i]->type, d)) continue;
      f->symbols = call->symbols;
      f->proofs.facts = NULL;
      host_check_extent(h, call->op->range, what, d, ir_type_dim(param->type, d), call->args[i]->dims[d]);
      f->symbols = symbols;
      f->proofs.facts = facts;
    }
  }
}

static LLVMValueRef argument(host *h, kernel_call *call, size_t i) {
  const ir_param *param = &call->kernel->func->params[i];
  host_value *arg = call->args[i];
  ir_dtype dtype = ir_type_dtype(param->type);
  bool buffer = !param->symbol && ir_is_tensor(param->type);
  if (!buffer) return ir_is_scalar(arg->type) ? arg->data : host_load(h, arg->data, dtype);
  if (!ir_is_scalar(arg->type)) return arg->data;
  LLVMValueRef memory = emit_stack(&h->f, emit_memory_type(h->f.unit, dtype, 1), emit_size(dtype), "scalar");
  host_store(h, arg->data, memory, dtype);
  return memory;
}

static void tell_launch(host *h, LLVMValueRef name, LLVMValueRef bytes) {
  emit_unit *unit = h->f.unit;
  LLVMTypeRef params[] = {unit->ptr, unit->ptr, unit->i64};
  LLVMValueRef at = LLVMBuildStructGEP2(B, unit->context_type, h->f.context, 5, "");
  LLVMValueRef args[] = {h->f.context, name, bytes};
  LLVMBuildCall2(B, LLVMFunctionType(unit->nothing, params, 3, 0), LLVMBuildLoad2(B, unit->ptr, at, ""), args, 3, "");
}

static LLVMValueRef buffer_bytes(host *h, const kernel_call *call) {
  LLVMValueRef sum = emit_i64(h->f.unit, 0);
  for (size_t i = 0; i < call->kernel->func->param_count; i++) {
    if (ir_is_tensor(call->args[i]->type)) sum = LLVMBuildAdd(B, sum, host_bytes(h, call->op->range, call->args[i], true), "");
  }
  return sum;
}

static void launch(host *h, kernel_call *call) {
  emit_unit *unit = h->f.unit;
  const emit_kernel *kernel = call->kernel;
  const ir_func *func = kernel->func;
  LLVMValueRef function = emit_kernel_declare(unit, kernel);
  LLVMValueRef *args = ir_new_array(&h->f.scratch, LLVMValueRef, 1 + func->param_count + kernel->symbol_count);
  unsigned count = 0;
  bind_callee(h, call);
  check_args(h, call);
  args[count++] = h->f.context;
  for (size_t i = 0; i < func->param_count; i++) args[count++] = argument(h, call, i);
  for (size_t i = 0; i < kernel->symbol_count; i++) {
    LLVMValueRef value = ir_map_get(&call->symbols, kernel->symbols[i]);
    if (!value) {
      emit_cannot(&h->f, call->op->range, "find symbol '%s' of @%s: no argument has it as an extent", kernel->symbols[i]->symbol->text,
                  func->item.name->text);
      return;
    }
    args[count++] = value;
  }
  LLVMValueRef name = unit->measured ? emit_private_text(unit, func->item.name->text) : NULL;
  if (name) tell_launch(h, name, emit_i64(unit, -1));
  LLVMValueRef status = LLVMBuildCall2(B, LLVMGlobalGetValueType(function), function, args, count, "");
  if (name) tell_launch(h, name, buffer_bytes(h, call));
  if (kernel->can_fail) emit_require_ok(&h->f, status);
}

/* What nobody here owns (parameters, constants) is not written to: the name stands for a copy from now on. */
static host_value *writable(host *h, ir_op *op, ir_value *value, host_value *arg) {
  if (!ir_is_tensor(arg->type) || arg->owners.count || arg->placed) return arg;
  host_value *copy = host_new(h, op->range, arg->type);
  memcpy(copy->dims, arg->dims, arg->count * sizeof *arg->dims);
  host_allocate(h, op->range, copy);
  host_copy(h, copy->data, arg->data, host_bytes(h, op->range, arg, true));
  host_set(h, value, copy);
  return copy;
}

static const emit_kernel *kernel_of(host *h, ir_op *op, ir_func *func) {
  const emit_kernel *kernel = ir_map_get(h->kernels, func);
  if (!kernel) emit_cannot(&h->f, op->range, "call @%s, which is no prim_func", func->item.name->text);
  return kernel;
}

/* Tensors without elements may lie anywhere. */
static bool is_empty(const host *h, const ir_type *type) {
  for (size_t i = 0; i < type->count; i++) {
    int64_t least, most = 1;
    if (ir_type_dim(type, i)) ir_range_of(h->f.unit->context, h->f.proofs.facts, ir_type_dim(type, i), &least, &most);
    if (most == 0) return true;
  }
  return false;
}

static bool same_memory(const host *h, const host_value *a, const host_value *b) {
  return ir_is_tensor(a->type) && ir_is_tensor(b->type) && a->data == b->data && !is_empty(h, a->type) && !is_empty(h, b->type);
}

static bool check_outs(host *h, const kernel_call *call) {
  const ir_func *func = call->kernel->func;
  for (size_t i = 0; i < func->param_count; i++) {
    for (size_t k = 0; func->params[i].direction == IR_OUT && k < func->param_count; k++) {
      if (k == i || !same_memory(h, call->args[i], call->args[k])) continue;
      emit_cannot(&h->f, call->op->range, "pass one buffer to @%s twice: its output aliases nothing", func->item.name->text);
      return false;
    }
  }
  return true;
}

static void call_kernel(host *h, ir_op *op, ir_func *func) {
  kernel_call call = {.op = op, .kernel = kernel_of(h, op, func)};
  call.args = ir_new_array(&h->f.arena, host_value *, func->param_count);
  call.operands = ir_new_array(&h->f.arena, size_t, func->param_count);
  for (size_t i = 0; call.kernel && i < func->param_count; i++) {
    ir_value *operand = ir_op_operand(op, i);
    call.operands[i] = i;
    call.args[i] = host_get(h, operand);
    if (!call.args[i]) return;
    if (func->params[i].direction != IR_IN) call.args[i] = writable(h, op, operand, call.args[i]);
  }
  if (!call.kernel || !check_outs(h, &call)) return;
  launch(h, &call);
  if (op->result_count == 1) host_set(h, ir_op_result(op, 0), host_new(h, op->range, ir_op_result(op, 0)->type));
}

void host_call_tir(host *h, ir_op *op) {
  ir_func *func = callee_of(h, op);
  kernel_call call = {.op = op, .kernel = func ? kernel_of(h, op, func) : NULL};
  if (!call.kernel) return;
  call.args = ir_new_array(&h->f.arena, host_value *, func->param_count);
  call.operands = ir_new_array(&h->f.arena, size_t, func->param_count);
  for (size_t i = 0, in = 0, out = 0; i < func->param_count; i++) {
    if (func->params[i].direction != IR_OUT) {
      call.operands[i] = in;
      call.args[i] = host_get(h, ir_op_operand(op, in++));
      if (!call.args[i]) return;
      continue;
    }
    ir_value *result = ir_op_result(op, out++);
    call.args[i] = host_new(h, op->range, result->type);
    if (!call.args[i] || !host_extents(h, op->range, "a result", call.args[i])) return;
    host_allocate(h, op->range, call.args[i]);
    host_set(h, result, call.args[i]);
  }
  launch(h, &call);
}

/* --- graph functions --- */

/* Fills descriptors from *at on. */
static void pass(host *h, LLVMValueRef tensors, size_t *at, const host_value *value) {
  emit_unit *unit = h->f.unit;
  for (size_t i = 0; value->type->kind == IR_TYPE_TUPLE && i < value->count; i++) pass(h, tensors, at, value->fields[i]);
  if (value->type->kind == IR_TYPE_TUPLE) return;
  LLVMValueRef numbers = LLVMConstNull(unit->ptr), data = value->data;
  if (value->count) {
    numbers = emit_stack(&h->f, LLVMArrayType2(unit->i64, value->count), 8, "dims");
    for (size_t i = 0; i < value->count; i++) LLVMBuildStore(B, value->dims[i], host_number_at(h, numbers, i));
  }
  if (ir_is_scalar(value->type)) {
    ir_dtype dtype = ir_type_dtype(value->type);
    data = emit_stack(&h->f, emit_memory_type(unit, dtype, 1), emit_size(dtype), "scalar");
    host_store(h, value->data, data, dtype);
  }
  size_t index = (*at)++;
  bool shape = value->type->kind == IR_TYPE_SHAPE;
  LLVMBuildStore(B, shape ? numbers : data, host_member(h, tensors, index, 0));
  LLVMBuildStore(B, shape ? LLVMConstNull(unit->ptr) : numbers, host_member(h, tensors, index, 1));
}

/* Empty descriptors with room for the extents. */
static void prepare(host *h, LLVMValueRef tensors, size_t *at, const ir_type *type) {
  emit_unit *unit = h->f.unit;
  for (size_t i = 0; type->kind == IR_TYPE_TUPLE && i < type->count; i++) prepare(h, tensors, at, ir_type_field(type, i));
  if (type->kind == IR_TYPE_TUPLE) return;
  uint64_t room = ir_is_tensor(type) && type->ranked ? type->count : 1;
  LLVMValueRef numbers = emit_stack(&h->f, LLVMArrayType2(unit->i64, room ? room : 1), 8, "dims");
  size_t index = (*at)++;
  LLVMBuildStore(B, LLVMConstNull(unit->ptr), host_member(h, tensors, index, 0));
  LLVMBuildStore(B, numbers, host_member(h, tensors, index, 1));
}

static LLVMValueRef member_value(host *h, LLVMValueRef tensors, size_t index, unsigned which) {
  return LLVMBuildLoad2(B, h->f.unit->ptr, host_member(h, tensors, index, which), "");
}

/* A result that the callee has left in descriptors from *at on; its memory is ours. */
static host_value *receive(host *h, ir_op *op, LLVMValueRef tensors, size_t *at, const ir_type *type) {
  host_value *value = host_new(h, op->range, type);
  if (!value) return NULL;
  for (size_t i = 0; type->kind == IR_TYPE_TUPLE && i < value->count; i++) {
    value->fields[i] = receive(h, op, tensors, at, ir_type_field(type, i));
    if (!value->fields[i]) return NULL;
  }
  if (type->kind == IR_TYPE_TUPLE) return value;
  size_t index = (*at)++;
  host_owner *owner = host_own(h, h->region);
  LLVMValueRef data = member_value(h, tensors, index, 0);
  LLVMBuildStore(B, data, owner->slot);
  value->data = data;
  if (ir_is_scalar(type)) value->data = host_load(h, data, ir_type_dtype(type));
  if (type->kind == IR_TYPE_SHAPE) host_load_numbers(h, data, value);
  if (!ir_is_tensor(type)) return value;
  host_owners_add(h, &value->owners, owner);
  host_load_numbers(h, member_value(h, tensors, index, 1), value);
  return value;
}

static LLVMValueRef descriptors(host *h, size_t count, const char *name) {
  return emit_stack(&h->f, LLVMArrayType2(h->f.unit->tensor_type, count ? count : 1), 8, name);
}

/* Recursion ends with a message, not with the stack. */
static LLVMValueRef enter_call(host *h, const ir_op *op, LLVMValueRef *depth) {
  emit_unit *unit = h->f.unit;
  LLVMValueRef at = LLVMBuildStructGEP2(B, unit->context_type, h->f.context, 6, "");
  *depth = LLVMBuildLoad2(B, unit->i64, at, "depth");
  LLVMValueRef fits = LLVMBuildICmp(B, LLVMIntSLT, *depth, emit_i64(unit, RILL_MOST_CALLS), "");
  const char *text = ir_arena_printf(&h->f.scratch, "calls are nested more than %d deep", RILL_MOST_CALLS);
  emit_require(&h->f, fits, op->range, ir_op_loc(op), text, 0, NULL);
  LLVMBuildStore(B, LLVMBuildAdd(B, *depth, emit_i64(unit, 1), ""), at);
  return at;
}

static void call_function(host *h, ir_op *op, ir_func *func) {
  emit_unit *unit = h->f.unit;
  size_t ins = 0, outs = 0, at = 0;
  for (size_t i = 0; i < op->operand_count; i++) ins += host_leaves(ir_op_operand(op, i)->type);
  for (size_t i = 0; i < op->result_count; i++) outs += host_leaves(ir_op_result(op, i)->type);
  LLVMValueRef inputs = descriptors(h, ins, "inputs"), outputs = descriptors(h, outs, "outputs");
  for (size_t i = 0; i < op->operand_count; i++) {
    const host_value *value = host_get(h, ir_op_operand(op, i));
    if (!value) return;
    pass(h, inputs, &at, value);
  }
  at = 0;
  for (size_t i = 0; i < op->result_count; i++) prepare(h, outputs, &at, ir_op_result(op, i)->type);
  LLVMValueRef args[] = {h->f.context, inputs, outputs};
  LLVMValueRef depth, depth_at = enter_call(h, op, &depth);
  LLVMValueRef status = LLVMBuildCall2(B, unit->entry_type, emit_host_declare(unit, func), args, 3, "");
  LLVMBuildStore(B, depth, depth_at);
  emit_require_ok(&h->f, status);
  at = 0;
  for (size_t i = 0; i < op->result_count; i++) {
    host_value *value = receive(h, op, outputs, &at, ir_op_result(op, i)->type);
    if (!value) return;
    host_set(h, ir_op_result(op, i), value);
  }
}

void host_call(host *h, ir_op *op) {
  ir_func *func = callee_of(h, op);
  if (!func) return;
  if (func->item.kind == IR_ITEM_PRIM_FUNC) {
    call_kernel(h, op, func);
  } else {
    call_function(h, op, func);
  }
}
