// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/stmt.c - the statements of kernels, as structured control flow. Needs ir_kernel_check to have passed. */
#include "targets/place.h"
#include "targets/spirv/emit.h"

static void bind(sv_function *f, const ir_value *value, sv_id id) { ir_map_put(&f->arena, &f->values, value, (void *)(uintptr_t)id); }

static void name(sv_function *f, sv_id id, const ir_string *given) {
  if (given) sv_name(f->module, id, given->text);
}

/* --- loops --- */

static void emit_body(sv_function *f, ir_op *op, sv_id counter) {
  ir_region *body = ir_op_region(op, 0);
  const ir_facts *facts = f->proofs.facts;
  bind(f, body->args[0], counter);
  name(f, counter, body->args[0]->name);
  f->proofs.facts = ir_proofs_loop(&f->proofs, body->args[0], ir_op_operand(op, 0));
  sv_region(f, body);
  f->proofs.facts = facts;
}

/* The number of the workgroup, or of the invocation in it, on an axis. */
static sv_id built_in(sv_function *f, const char *axis) {
  bool group = !strncmp(axis, "group.", 6);
  const uint32_t number = (uint32_t)(axis[strlen(axis) - 1] - 'x');
  return sv_unary(f, SpvOpUConvert, SV_I64, sv_built_in(f, group ? SpvBuiltInWorkgroupId : SpvBuiltInLocalInvocationId, number));
}

static void emit_for(sv_function *f, ir_op *op) {
  if (ir_loop_is_empty(op)) return;
  const char *mode = ir_get_word(op, "mode");
  if (!strcmp(mode, "bind")) {
    emit_body(f, op, built_in(f, ir_get_word(op, "axis")));
    return;
  }
  sv_id extent = sv_scalar(f, ir_op_operand(op, 0)), next;
  sv_loop loop = sv_loop_begin(f);
  sv_id counter = sv_loop_carry(f, &loop, SV_I64, sv_int(f->module, SV_I64, 0), &next);
  sv_loop_test(f, &loop, strcmp(mode, "unroll") ? SpvLoopControlMaskNone : SpvLoopControlUnrollMask);
  sv_loop_enter(f, &loop, sv_binary(f, SpvOpSLessThan, SV_BOOL, counter, extent));
  emit_body(f, op, counter);
  sv_loop_next(f, &loop);
  sv_emit_as(f, next, SpvOpIAdd, sv_type(f->module, SV_I64), SV_WORDS(counter, sv_int(f->module, SV_I64, 1)));
  sv_loop_end(f, &loop);
}

static void emit_while(sv_function *f, ir_op *op) {
  sv_loop loop = sv_loop_begin(f);
  sv_loop_test(f, &loop, SpvLoopControlMaskNone);
  sv_scope scope = {.f = f, .op = op};
  sv_loop_enter(f, &loop, sv_expr(&scope, ir_get_expr(op, "condition")));
  sv_region(f, ir_op_region(op, 0));
  sv_loop_next(f, &loop);
  sv_loop_end(f, &loop);
}

/* --- conditions --- */

static void emit_side(sv_function *f, ir_op *op, size_t side, const ir_expr *condition) {
  const ir_facts *facts = f->proofs.facts;
  f->proofs.facts = ir_proofs_if(&f->proofs, condition, side == 0);
  sv_region(f, ir_op_region(op, side));
  f->proofs.facts = facts;
}

static void emit_if(sv_function *f, ir_op *op) {
  const ir_expr *spelled = ir_proofs_value(&f->proofs, ir_op_operand(op, 0));
  sv_id condition = sv_scalar(f, ir_op_operand(op, 0));
  sv_when when = op->region_count > 1 ? sv_when_else(f, condition) : sv_when_begin(f, condition);
  emit_side(f, op, 0, spelled);
  if (op->region_count > 1) {
    sv_when_otherwise(f, &when);
    emit_side(f, op, 1, spelled);
  }
  sv_when_end(f, &when);
}

/* --- memory --- */

static void emit_alloc(sv_function *f, ir_op *op) {
  sv_module *m = f->module;
  ir_value *result = ir_op_result(op, 0);
  const ir_type *type = result->type;
  int64_t count = 1;
  ir_type_static_dims(type, NULL, &count);
  bool shared = !strcmp(ir_get_word(op, "scope"), "shared");
  sv_id element = sv_type(m, sv_kind_of(ir_type_dtype(type))), held = type->count ? sv_array_type(m, element, count) : element;
  sv_buffer *buffer = ir_new(&f->arena, sv_buffer);
  *buffer = (sv_buffer){.storage = shared ? SpvStorageClassWorkgroup : SpvStorageClassFunction, .single = !type->count, .type = type};
  buffer->variable = shared ? sv_global(f, SpvStorageClassWorkgroup, held) : sv_local(f, held);
  name(f, buffer->variable, result->name);
  ir_map_put(&f->arena, &f->buffers, result, buffer);
}

static void emit_store(sv_function *f, ir_op *op) {
  ir_context *context = f->module->context;
  const ir_attr *index = ir_get(op, "index")->items[0];
  const ir_expr **exprs = ir_new_array(&f->arena, const ir_expr *, index->count);
  for (size_t i = 0; i < index->count; i++) exprs[i] = ir_attr_as_expr(context, index->items[i]);
  const sv_buffer *buffer = ir_map_get(&f->buffers, ir_op_operand(op, 0));
  ir_place place = ir_place_find(&f->proofs, op, buffer->type, index->count, exprs, true, f->trusted);
  if (place.never) return;
  sv_scope scope = {.f = f, .op = op};
  sv_id value = sv_expr(&scope, ir_get_expr_at(op, "args", 0));
  sv_when when = {0};
  if (place.on) when = sv_when_begin(f, sv_expr(&scope, place.on));
  sv_id pointer = sv_element(&scope, buffer, place.flat);
  if (buffer->storage == SpvStorageClassStorageBuffer) value = sv_to_memory(f, ir_type_dtype(buffer->type), value);
  sv_do(f, SpvOpStore, SV_WORDS(pointer, value));
  if (place.on) sv_when_end(f, &when);
}

static void emit_scalar(sv_function *f, ir_op *op) {
  sv_scope scope = {.f = f, .op = op};
  sv_id value = sv_expr(&scope, ir_attr_as_expr(f->module->context, ir_get(op, "value")));
  bind(f, ir_op_result(op, 0), value);
}

/* Of the workgroup's memory and the buffers. */
static void emit_barrier(sv_function *f, ir_op *op) {
  sv_module *m = f->module;
  bool subgroup = !strcmp(ir_get_word(op, "scope"), "subgroup");
  uint32_t memory = SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask | SpvMemorySemanticsUniformMemoryMask;
  sv_id waits = sv_word(m, subgroup ? SpvScopeSubgroup : SpvScopeWorkgroup), sees = sv_word(m, SpvScopeWorkgroup);
  sv_do(f, SpvOpControlBarrier, SV_WORDS(waits, sees, sv_word(m, memory)));
}

static void emit_assert(sv_function *f, ir_op *op) {
  sv_module *m = f->module;
  sv_id condition = sv_scalar(f, ir_op_operand(op, 0));
  sv_when when = sv_when_begin(f, sv_unary(f, SpvOpLogicalNot, SV_BOOL, condition));
  const sv_id scope = sv_word(m, SpvScopeDevice), relaxed = sv_word(m, SpvMemorySemanticsMaskNone);
  sv_emit(f, SpvOpAtomicUMin, sv_type(m, SV_I32), SV_WORDS(f->status, scope, relaxed, sv_word(m, (uint32_t)ir_kernel_assert(f->kernel, op))));
  sv_when_end(f, &when);
}

void sv_region(sv_function *f, ir_region *region) {
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    switch ((int)op->code) {
    case IR_SCALAR: emit_scalar(f, op); break;
    case IR_ALLOC: emit_alloc(f, op); break;
    case IR_STORE: emit_store(f, op); break;
    case IR_FOR: emit_for(f, op); break;
    case IR_WHILE: emit_while(f, op); break;
    case IR_IF: emit_if(f, op); break;
    case IR_ASSERT: emit_assert(f, op); break;
    case IR_BARRIER: emit_barrier(f, op); break;
    default: break; /* ir_kernel_check has refused it */
    }
  }
}
