// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host.c - graph functions: parameters, statements, results. Needs legalize, to-non-dataflow and schedule to
 * have run; call-tir-rewrite may have. Control flow is in host_flow.c, calls are in host_call.c. */
#include "targets/llvm/host.h"

#include "ir/print.h"
#include "ir/symbols.h"

#define B (h->f.builder)

const char *emit_host_name(ir_arena *arena, const ir_func *func) {
  return ir_arena_printf(arena, "rill.entry.%s", ir_mangled(arena, func->item.name));
}

LLVMValueRef emit_host_declare(emit_unit *unit, const ir_func *func) {
  const char *name = emit_host_name(unit->arena, func);
  LLVMValueRef function = LLVMGetNamedFunction(unit->module, name);
  if (function) return function;
  function = LLVMAddFunction(unit->module, name, unit->entry_type);
  if (unit->whole) LLVMSetLinkage(function, LLVMInternalLinkage);
  return function;
}

/* --- descriptors --- */

LLVMValueRef host_member(host *h, LLVMValueRef tensors, size_t index, unsigned which) {
  emit_unit *unit = h->f.unit;
  LLVMValueRef tensor = emit_element(&h->f, unit->tensor_type, tensors, emit_i64(unit, (int64_t)index), true);
  return LLVMBuildStructGEP2(B, unit->tensor_type, tensor, which, "");
}

static LLVMValueRef load_member(host *h, LLVMValueRef tensors, size_t index, unsigned which) {
  return LLVMBuildLoad2(B, h->f.unit->ptr, host_member(h, tensors, index, which), "");
}

LLVMValueRef host_number_at(host *h, LLVMValueRef numbers, size_t index) {
  return emit_element(&h->f, h->f.unit->i64, numbers, emit_i64(h->f.unit, (int64_t)index), true);
}

void host_load_numbers(host *h, LLVMValueRef numbers, host_value *value) {
  for (size_t i = 0; i < value->count; i++) value->dims[i] = LLVMBuildLoad2(B, h->f.unit->i64, host_number_at(h, numbers, i), "");
}

/* The value of TYPE that descriptors from *at on hold. */
static host_value *take(host *h, ir_range range, LLVMValueRef tensors, size_t *at, const ir_type *type) {
  host_value *value = host_new(h, range, type);
  if (!value) return NULL;
  if (type->kind == IR_TYPE_TUPLE) {
    for (size_t i = 0; i < value->count; i++) {
      value->fields[i] = take(h, range, tensors, at, ir_type_field(type, i));
      if (!value->fields[i]) return NULL;
    }
    return value;
  }
  size_t index = (*at)++;
  value->data = load_member(h, tensors, index, 0);
  if (ir_is_scalar(type)) value->data = host_load(h, value->data, ir_type_dtype(type));
  if (ir_is_tensor(type) && value->count) host_load_numbers(h, load_member(h, tensors, index, 1), value);
  if (type->kind == IR_TYPE_SHAPE) host_load_numbers(h, value->data, value);
  return value;
}

size_t host_leaves(const ir_type *type) {
  if (type->kind != IR_TYPE_TUPLE) return 1;
  size_t count = 0;
  for (size_t i = 0; i < type->count; i++) count += host_leaves(ir_type_field(type, i));
  return count;
}

/* --- parameters --- */

static const char *param_text(host *h, const ir_func *func, size_t i) {
  const ir_param *param = &func->params[i];
  if (param->name) return ir_arena_printf(&h->f.arena, "parameter '%s' of @%s", param->name->text, func->item.name->text);
  return ir_arena_printf(&h->f.arena, "parameter %zu of @%s", i, func->item.name->text);
}

/* Those of a shape come from anywhere. */
static void check_extents(host *h, ir_range range, const char *what, const host_value *shape) {
  for (size_t i = 0; i < shape->count; i++) {
    const char *text = ir_arena_printf(&h->f.arena, "%s has extent {0} on axis %zu, which is out of range", what, i);
    emit_require(&h->f, emit_is_extent(&h->f, shape->dims[i]), range, NULL, text, 1, &shape->dims[i]);
  }
}

/* Facts of a function take its extents for what ir/simplify.h says of them. */
static void check_sizes(host *h, ir_range range, const char *what, const host_value *value) {
  for (size_t i = 0; value->type->kind == IR_TYPE_TUPLE && i < value->count; i++) check_sizes(h, range, what, value->fields[i]);
  if (value->type->kind == IR_TYPE_SHAPE) check_extents(h, range, what, value);
  if (!value->dims || value->type->kind == IR_TYPE_SHAPE) return;
  /* Tensors of this process are made with extents that are right. */
  if (h->f.unit->whole) emit_bytes(&h->f, range, what, IR_I8, 1, value->count, value->dims, ir_map_has(&h->sized, value->type));
  host_note_size(h, value->type);
}

static bool take_params(host *h) {
  ir_func *func = h->f.source;
  LLVMValueRef inputs = LLVMGetParam(h->f.function, 1);
  host_value **values = ir_new_array(&h->f.arena, host_value *, func->param_count);
  ir_range range = func->item.range;
  size_t at = 0;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    values[i] = take(h, range, inputs, &at, param->type);
    if (!values[i]) return false;
    if (param->symbol) host_bind_symbol(h, param->symbol, values[i]->data);
    if (param->value) host_set(h, param->value, values[i]);
  }
  for (size_t i = 0; i < func->param_count; i++) host_bind(h, func->params[i].type, values[i]);
  for (size_t i = 0; i < func->param_count; i++) {
    const char *what = param_text(h, func, i);
    check_sizes(h, range, what, values[i]);
    if (!func->params[i].symbol) host_check(h, range, what, func->params[i].type, values[i]);
  }
  for (size_t i = 0; i < func->where_count; i++) emit_require_clause(&h->f, func, range, func->where[i]);
  return true;
}

/* --- results --- */

typedef struct result {
  host_value *value;
  LLVMValueRef slot; /* what the caller gets; where it brought memory of its own, or for scalars, NULL in it */
} result;
typedef ir_vec(result) results;

static void flatten(host *h, results *list, host_value *value) {
  if (value->type->kind == IR_TYPE_TUPLE) {
    for (size_t i = 0; i < value->count; i++) flatten(h, list, value->fields[i]);
  } else {
    *ir_push(&h->f.arena, list) = (result){.value = value};
  }
}

static LLVMValueRef result_bytes(host *h, ir_range range, const host_value *value) {
  emit_unit *unit = h->f.unit;
  if (ir_is_tensor(value->type)) return host_bytes(h, range, value, true);
  if (ir_is_scalar(value->type)) return emit_i64(unit, emit_size(ir_type_dtype(value->type)));
  return emit_i64(unit, (int64_t)value->count * 8);
}

/* The elements of VALUE at POINTER. */
static void write_result(host *h, ir_range range, const host_value *value, LLVMValueRef pointer) {
  if (ir_is_tensor(value->type)) {
    host_copy(h, pointer, value->data, host_bytes(h, range, value, true));
  } else if (ir_is_scalar(value->type)) {
    host_store(h, value->data, pointer, ir_type_dtype(value->type));
  } else {
    for (size_t i = 0; i < value->count; i++) LLVMBuildStore(B, value->dims[i], host_number_at(h, pointer, i));
  }
}

/* Makes sure that result I has memory: the caller's, or its own, moved out of the function where the function owns it. */
static void settle(host *h, ir_range range, result *r, LLVMValueRef outputs, size_t i) {
  emit_unit *unit = h->f.unit;
  LLVMValueRef null = LLVMConstNull(unit->ptr), given = load_member(h, outputs, i, 0);
  r->slot = emit_slot(&h->f);
  LLVMBasicBlockRef fresh = emit_block(&h->f, "fresh"), copy = emit_block(&h->f, "copy"), join = emit_block(&h->f, "join");
  LLVMBasicBlockRef allocate = emit_block(&h->f, "allocate");
  LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, given, null, ""), fresh, copy);
  emit_at(&h->f, fresh);
  if (ir_is_tensor(r->value->type)) host_move(h, r->value, h->f.source->body, r->slot);
  LLVMValueRef moved = LLVMBuildLoad2(B, unit->ptr, r->slot, "");
  LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, moved, null, ""), allocate, join);
  emit_at(&h->f, allocate);
  LLVMValueRef memory = emit_allocate(&h->f, r->slot, result_bytes(h, range, r->value));
  write_result(h, range, r->value, memory);
  LLVMBuildBr(B, join);
  emit_at(&h->f, copy);
  if (ir_is_tensor(r->value->type)) {
    LLVMBasicBlockRef move = emit_block(&h->f, "move");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, given, r->value->data, ""), join, move);
    emit_at(&h->f, move);
  }
  write_result(h, range, r->value, given);
  LLVMBuildBr(B, join);
  emit_at(&h->f, join);
}

/* Nothing here can fail any more: hands results over. */
static void hand_over(host *h, const result *r, LLVMValueRef outputs, size_t i) {
  emit_unit *unit = h->f.unit;
  LLVMValueRef null = LLVMConstNull(unit->ptr);
  LLVMValueRef memory = LLVMBuildLoad2(B, unit->ptr, r->slot, "");
  LLVMValueRef given = load_member(h, outputs, i, 0);
  LLVMValueRef own = LLVMBuildICmp(B, LLVMIntNE, memory, null, "");
  LLVMBuildStore(B, LLVMBuildSelect(B, own, memory, given, ""), host_member(h, outputs, i, 0));
  LLVMBuildStore(B, null, r->slot);
  if (ir_is_scalar(r->value->type) || (ir_is_tensor(r->value->type) && !r->value->count)) return;
  LLVMValueRef dims = load_member(h, outputs, i, 1);
  if (r->value->type->kind == IR_TYPE_SHAPE) {
    LLVMBuildStore(B, emit_i64(unit, (int64_t)r->value->count), dims);
    return;
  }
  for (size_t d = 0; d < r->value->count; d++) LLVMBuildStore(B, r->value->dims[d], host_number_at(h, dims, d));
}

static void emit_return(host *h, ir_op *op) {
  LLVMValueRef outputs = LLVMGetParam(h->f.function, 2);
  results list = {0};
  for (size_t i = 0; i < op->operand_count; i++) {
    host_value *value = host_get(h, ir_op_operand(op, i));
    if (!value) return;
    flatten(h, &list, value);
  }
  for (size_t i = 0; i < list.count; i++) settle(h, op->range, &list.at[i], outputs, i);
  for (size_t i = 0; i < list.count; i++) hand_over(h, &list.at[i], outputs, i);
}

/* --- statements --- */

static void emit_const(host *h, ir_op *op) {
  ir_data data;
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!value || !host_extents(h, op->range, "a constant", value)) return;
  if (!ir_const_data(op, &data)) {
    h->f.failed = true;
    return;
  }
  value->data = emit_constant_data(&h->f, &data);
  host_set(h, ir_op_result(op, 0), value);
}

static void emit_tuple(host *h, ir_op *op) {
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  for (size_t i = 0; value && i < op->operand_count; i++) value->fields[i] = host_get(h, ir_op_operand(op, i));
  if (value) host_set(h, ir_op_result(op, 0), value);
}

static void emit_tuple_get(host *h, ir_op *op) {
  const host_value *tuple = host_get(h, ir_op_operand(op, 0));
  if (tuple) host_set(h, ir_op_result(op, 0), tuple->fields[ir_get_int(op, "index")]);
}

static void emit_alloc(host *h, ir_op *op) {
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!value || !host_extents(h, op->range, "memory", value)) return;
  host_allocate(h, op->range, value);
  host_set(h, ir_op_result(op, 0), value);
}

static const ir_expr *size_of(host *h, const ir_type *type) {
  ir_context *context = h->f.unit->context;
  const ir_expr *size = ir_expr_i64(context, 1);
  for (size_t i = 0; ir_is_tensor(type) && i < type->count; i++) {
    if (!ir_type_dim(type, i)) return NULL;
    size = ir_dim_mul(context, h->f.proofs.facts, size, ir_type_dim(type, i));
  }
  return size;
}

/* Two types are proven to have as many elements. */
static bool same_size(host *h, const ir_type *a, const ir_type *b) {
  const ir_expr *x = size_of(h, a), *y = size_of(h, b);
  return x && y && ir_prove_equal(h->f.unit->context, h->f.proofs.facts, x, y) == IR_PROVEN;
}

static void compare_size(host *h, ir_op *op, const host_value *from, const host_value *value) {
  LLVMValueRef have = ir_is_scalar(from->type) ? emit_i64(h->f.unit, emit_size(ir_type_dtype(from->type))) : host_bytes(h, op->range, from, true);
  LLVMValueRef want = host_bytes(h, op->range, value, false);
  LLVMValueRef same = LLVMBuildICmp(B, LLVMIntEQ, have, want, "");
  const char *text = ir_arena_printf(&h->f.arena, "%s: the operand has {0} bytes, the result {1}", ir_op_row(op)->name);
  emit_require(&h->f, same, op->range, ir_op_loc(op), text, 2, (LLVMValueRef[]){have, want});
}

/* The operand's elements in the result's shape. */
static void emit_view(host *h, ir_op *op) {
  host_value *from = host_get(h, ir_op_operand(op, 0));
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!from || !value) return;
  value->data = host_pointer(h, ir_op_operand(op, 0));
  value->owners = from->owners;
  value->placed = from->placed;
  if (!host_extents(h, op->range, ir_op_row(op)->name, value)) return;
  if (!same_size(h, from->type, value->type)) compare_size(h, op, from, value);
  host_set(h, ir_op_result(op, 0), value);
}

static void emit_match_cast(host *h, ir_op *op) {
  host_value *from = host_get(h, ir_op_operand(op, 0));
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!from || !value) return;
  *value = *from;
  value->type = ir_op_result(op, 0)->type;
  host_bind(h, value->type, value);
  host_check(h, op->range, "match_cast: the value", value->type, value);
  host_check_bcasts(h, op->range);
  host_set(h, ir_op_result(op, 0), value);
}

static void emit_scalar_op(host *h, ir_op *op) {
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!value) return;
  value->data = emit_uniform(&h->f, op, ir_attr_as_expr(h->f.unit->context, ir_get(op, "value")));
  host_set(h, ir_op_result(op, 0), value);
}

static void emit_shape(host *h, ir_op *op) {
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  for (size_t i = 0; value && i < value->count; i++) value->dims[i] = host_scalar(h, ir_op_operand(op, i));
  if (value) host_set(h, ir_op_result(op, 0), value);
}

static void emit_shape_of(host *h, ir_op *op) {
  const host_value *from = host_get(h, ir_op_operand(op, 0));
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!from || !value) return;
  value->dims = from->dims;
  host_set(h, ir_op_result(op, 0), value);
}

static void emit_shape_to_tensor(host *h, ir_op *op) {
  const host_value *from = host_get(h, ir_op_operand(op, 0));
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!from || !value) return;
  value->dims[0] = emit_i64(h->f.unit, (int64_t)from->count);
  host_allocate(h, op->range, value);
  for (size_t i = 0; i < from->count; i++) LLVMBuildStore(B, from->dims[i], host_number_at(h, value->data, i));
  host_set(h, ir_op_result(op, 0), value);
}

static void emit_tensor_to_shape(host *h, ir_op *op) {
  const host_value *from = host_get(h, ir_op_operand(op, 0));
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!from || !value) return;
  ir_dtype dtype = ir_type_dtype(from->type);
  LLVMValueRef rank = emit_i64(h->f.unit, (int64_t)value->count);
  LLVMValueRef same = LLVMBuildICmp(B, LLVMIntEQ, from->dims[0], rank, "");
  emit_require(&h->f, same, op->range, ir_op_loc(op), "tensor_to_shape: {0} extents, expected {1}", 2, (LLVMValueRef[]){from->dims[0], rank});
  for (size_t i = 0; i < value->count; i++) {
    LLVMValueRef index = emit_i64(h->f.unit, (int64_t)i);
    LLVMValueRef at = emit_element(&h->f, emit_memory_type(h->f.unit, dtype, 1), from->data, index, true);
    LLVMValueRef element = emit_is_packed(dtype) ? emit_packed_load(&h->f, from->data, index, true) : host_load(h, at, dtype);
    value->dims[i] = emit_cast(&h->f, element, dtype, IR_I64);
    LLVMValueRef fine = emit_is_extent(&h->f, value->dims[i]);
    emit_require(&h->f, fine, op->range, ir_op_loc(op), "tensor_to_shape: {0} is no extent", 1, &value->dims[i]);
  }
  host_set(h, ir_op_result(op, 0), value);
}

static void emit_assert(host *h, ir_op *op) {
  LLVMValueRef condition = host_scalar(h, ir_op_operand(op, 0));
  emit_require(&h->f, condition, op->range, ir_op_loc(op), ir_get_word(op, "message"), 0, NULL);
}

static void emit_device(host *h, ir_op *op) {
  host_value *from = host_get(h, ir_op_operand(op, 0));
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!from || !value) return;
  host_value copy = *from;
  copy.type = value->type;
  copy.data = host_pointer(h, ir_op_operand(op, 0));
  *value = copy;
  host_set(h, ir_op_result(op, 0), value);
}

static void refuse(host *h, ir_op *op) {
  const char *name = ir_op_row(op)->name;
  if (ir_is(op, IR_DATAFLOW)) {
    emit_cannot(&h->f, op->range, "run a dataflow region: run the pass to-non-dataflow");
  } else if (ir_is(op, IR_CLOSURE)) {
    emit_cannot(&h->f, op->range, "make a function value: not implemented on llvm");
  } else if (ir_op_row(op)->numerics == IR_STRUCTURE) {
    emit_cannot(&h->f, op->range, "run '%s': not implemented on llvm", name);
  } else {
    emit_cannot(&h->f, op->range, "run '%s': run the pass legalize", name);
  }
}

static void emit_statement(host *h, ir_op *op) {
  switch ((int)op->code) {
  case IR_SCALAR: emit_scalar_op(h, op); return;
  case IR_CONST: emit_const(h, op); return;
  case IR_TUPLE: emit_tuple(h, op); return;
  case IR_TUPLE_GET: emit_tuple_get(h, op); return;
  case IR_ALLOC: emit_alloc(h, op); return;
  case IR_HOST_ALLOC: host_alloc(h, op); return;
  case IR_HOST_TENSOR: host_tensor(h, op); return;
  case IR_HOST_RESULT: host_result(h, op); return;
  case IR_HOST_COPY: host_copy_op(h, op); return;
  case IR_HOST_FREE: host_free(h, op); return;
  case IR_CALL: host_call(h, op); return;
  case IR_CALL_TIR: host_call_tir(h, op); return;
  case IR_IF: host_if(h, op); return;
  case IR_LOOP: host_loop(h, op); return;
  case IR_MATCH_CAST: emit_match_cast(h, op); return;
  case IR_ASSERT: emit_assert(h, op); return;
  case IR_SHAPE: emit_shape(h, op); return;
  case IR_SHAPE_OF: emit_shape_of(h, op); return;
  case IR_SHAPE_TO_TENSOR: emit_shape_to_tensor(h, op); return;
  case IR_TENSOR_TO_SHAPE: emit_tensor_to_shape(h, op); return;
  case IR_TO_DEVICE: emit_device(h, op); return;
  case IR_RETURN: emit_return(h, op); return;
  case IR_YIELD: return; /* whose region it is takes the operands */
  default:
    if (ir_has(op, IR_VIEW)) {
      emit_view(h, op);
    } else {
      refuse(h, op);
    }
  }
}

void host_region(host *h, ir_region *region) {
  ir_region *around = h->region;
  h->region = region;
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    ir_arena_mark mark = ir_arena_get_mark(&h->f.scratch);
    emit_statement(h, op);
    ir_arena_reset(&h->f.scratch, mark);
    if (h->f.failed) break;
  }
  h->region = around;
}

void host_release(host *h, size_t count) {
  while (h->owners.count > count) emit_release(&h->f, h->owners.at[--h->owners.count]->slot);
}

/* --- extents alone --- */

static bool is_known(host *h, const ir_expr *expr) {
  ir_symbols_used used = {.context = h->f.unit->context, .arena = &h->f.scratch};
  ir_symbols_in_expr(&used, expr);
  for (size_t i = 0; i < used.count; i++) {
    if (!ir_map_has(&h->f.symbols, used.at[i])) return false;
  }
  return true;
}

/* Extents that are known and that no tensor has are refused, as the run would. */
static void write_extents(host *h, LLVMValueRef outputs, size_t *at, const char *what, const ir_type *type) {
  for (size_t i = 0; type->kind == IR_TYPE_TUPLE && i < type->count; i++) write_extents(h, outputs, at, what, ir_type_field(type, i));
  if (type->kind == IR_TYPE_TUPLE) return;
  LLVMValueRef dims = load_member(h, outputs, (*at)++, 1);
  if (type->kind == IR_TYPE_SHAPE) LLVMBuildStore(B, emit_i64(h->f.unit, (int64_t)type->count), dims);
  if (!ir_is_tensor(type)) return;
  ir_range range = h->f.source->item.range;
  LLVMValueRef *extents = ir_new_array(&h->f.arena, LLVMValueRef, type->count + 1);
  size_t count = 0;
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *expr = ir_type_dim(type, i);
    bool known = expr && is_known(h, expr);
    LLVMValueRef extent = known ? host_extent(h, range, expr) : emit_i64(h->f.unit, -1);
    LLVMBuildStore(B, extent, host_number_at(h, dims, i));
    if (known) extents[count++] = extent;
  }
  emit_bytes(&h->f, range, what, IR_I8, 1, count, extents, ir_map_has(&h->sized, type));
}

LLVMValueRef emit_host_shapes(emit_unit *unit, ir_func *func) {
  const char *name = ir_arena_printf(unit->arena, "rill.shapes.%s", ir_mangled(unit->arena, func->item.name));
  LLVMValueRef function = LLVMAddFunction(unit->module, name, unit->entry_type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  emit_function_attributes(unit, function);
  host h = {0};
  emit_function_start(&h.f, unit, func, function);
  h.region = func->body;
  host_collect_bcasts(&h);
  if (take_params(&h)) {
    h.f.proofs.facts = ir_func_facts(func);
    host_check_bcasts(&h, func->item.range);
    size_t at = 0;
    for (size_t i = 0; i < func->result_count; i++) {
      const char *what = ir_arena_printf(&h.f.arena, "result %zu of @%s", i, func->item.name->text);
      write_extents(&h, LLVMGetParam(function, 2), &at, what, func->results[i]);
    }
  }
  bool fine = !h.f.failed;
  emit_function_end(&h.f);
  return fine ? function : NULL;
}

bool emit_host_function(emit_unit *unit, const ir_map *kernels, ir_func *func) {
  LLVMValueRef function = emit_host_declare(unit, func);
  emit_function_attributes(unit, function);
  host h = {.kernels = kernels};
  emit_function_start(&h.f, unit, func, function);
  h.region = func->body;
  host_collect_bcasts(&h);
  if (take_params(&h)) {
    h.f.proofs.facts = ir_func_facts(func); /* they have been checked by now */
    host_check_bcasts(&h, func->item.range);
    host_region(&h, func->body);
    host_release(&h, 0);
  }
  bool fine = !h.f.failed;
  emit_function_end(&h.f);
  return fine;
}
