// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/stmt.c - the statements of prim_funcs: loops, conditions, stores, memory, assertions. Needs loop form. */
#include "targets/llvm/llvm.h"

#include "ir/print.h"

#define B (f->builder)

enum {
  LARGEST_STACK = 1 << 16, /* bytes of one local buffer; above, it is memory of the caller's allocator */
  MOST_ROUNDS = 64,        /* of an unrolled loop that is written out */
};

/* --- loops --- */

void emit_round(emit_function *f, ir_op *loop, emit_value counter) {
  ir_region *body = ir_op_region(loop, 0);
  const ir_facts *facts = f->proofs.facts;
  emit_bind(f, body->args[0], counter);
  f->proofs.facts = ir_proofs_loop(&f->proofs, body->args[0], ir_op_operand(loop, 0));
  emit_region(f, body);
  f->proofs.facts = facts;
}

static void emit_for(emit_function *f, ir_op *op) {
  emit_unit *unit = f->unit;
  const char *mode = ir_get_word(op, "mode");
  bool unroll = !strcmp(mode, "unroll");
  if (f->ranged == op && !strcmp(mode, "parallel")) {
    emit_ranged_for(f, op);
    return;
  }
  if (!strcmp(mode, "vectorize") && emit_vector_for(f, op)) return;
  LLVMValueRef extent = emit_scalar(f, ir_op_operand(op, 0)).value;
  int64_t count, factor = ir_get_int(op, "factor");
  bool constant = emit_is_const(extent, &count);
  if (constant && f->ranged != op && ((unroll && !factor && count <= MOST_ROUNDS) || count <= 1)) {
    for (int64_t i = 0; i < count; i++) emit_round(f, op, emit_uniform_value(emit_i64(unit, i)));
    return;
  }
  const ir_string *name = ir_op_region(op, 0)->args[0]->name;
  bool ranged = f->ranged == op;
  emit_loop loop = emit_loop_begin(f, ranged ? f->first : emit_i64(unit, 0), ranged ? f->last : extent, 1, name ? name->text : "i");
  if (unroll) loop.unroll = factor;
  emit_round(f, op, emit_uniform_value(loop.counter));
  emit_loop_end(f, &loop);
}

static void emit_while(emit_function *f, ir_op *op) {
  LLVMBasicBlockRef head = emit_block(f, "while"), body = emit_block(f, "round"), exit = emit_block(f, "done");
  LLVMBuildBr(B, head);
  emit_at(f, head);
  const ir_expr *condition = ir_get_expr(op, "condition");
  LLVMBuildCondBr(B, emit_uniform(f, op, condition), body, exit);
  emit_at(f, body);
  emit_region(f, ir_op_region(op, 0));
  LLVMBuildBr(B, head);
  emit_at(f, exit);
}

/* --- conditions --- */

void emit_branches(emit_function *f, ir_op *op, LLVMValueRef condition) {
  bool has_else = op->region_count > 1;
  const ir_expr *spelled = ir_proofs_value(&f->proofs, ir_op_operand(op, 0));
  const ir_facts *facts = f->proofs.facts;
  LLVMBasicBlockRef then = emit_block(f, "then"), join = emit_block(f, "join");
  LLVMBasicBlockRef otherwise = has_else ? emit_block(f, "else") : join;
  LLVMBuildCondBr(B, condition, then, otherwise);
  for (size_t i = 0; i < op->region_count; i++) {
    emit_at(f, i ? otherwise : then);
    f->proofs.facts = ir_proofs_if(&f->proofs, spelled, i == 0);
    emit_region(f, ir_op_region(op, i));
    f->proofs.facts = facts;
    LLVMBuildBr(B, join);
  }
  emit_at(f, join);
}

static void emit_if(emit_function *f, ir_op *op) {
  if (f->width > 1) {
    emit_vector_if(f, op);
  } else {
    emit_branches(f, op, emit_scalar(f, ir_op_operand(op, 0)).value);
  }
}

static void emit_assert(emit_function *f, ir_op *op) {
  LLVMValueRef condition = emit_scalar(f, ir_op_operand(op, 0)).value;
  emit_require(f, condition, op->range, ir_op_loc(op), ir_get_word(op, "message"), 0, NULL);
}

/* --- memory --- */

static void emit_alloc(emit_function *f, ir_op *op) {
  emit_unit *unit = f->unit;
  ir_value *result = ir_op_result(op, 0);
  const ir_type *type = result->type;
  emit_buffer *buffer = ir_new(&f->arena, emit_buffer);
  *buffer = (emit_buffer){.dtype = ir_type_dtype(type),
                          .lanes = type->lanes,
                          .rank = type->count,
                          .dims = ir_new_array(&f->arena, LLVMValueRef, type->count),
                          .type_dims = ir_type_dims(type),
                          .width = f->width};
  unsigned lanes = f->width > 1 ? f->width : type->lanes;
  int64_t count, bytes;
  bool known = ir_type_static_dims(type, NULL, &count) && ir_dtype_bytes(buffer->dtype, count, &bytes);
  bool local = strcmp(ir_get_word(op, "scope"), "global") != 0;
  emit_dims(f, type->count, ir_type_dims(type), buffer->dims);
  if (known && (f->width > 1 || (local && bytes <= LARGEST_STACK / lanes))) {
    LLVMTypeRef element = emit_memory_type(unit, buffer->dtype, lanes);
    f->overflow = NULL;
    buffer->on_stack = count;
    buffer->data = emit_stack(f, LLVMArrayType2(element, (uint64_t)(count ? count : 1)), 64, result->name ? result->name->text : "local");
  } else {
    LLVMValueRef size = emit_bytes(f, op->range, "a buffer", buffer->dtype, type->lanes, type->count, buffer->dims, false);
    LLVMValueRef slot = emit_slot(f);
    *ir_push(&f->arena, &f->owned) = slot;
    buffer->data = emit_allocate(f, slot, size);
  }
  ir_map_put(&f->arena, &f->buffers, result, buffer);
}

static const ir_expr **index_exprs(emit_function *f, ir_op *op, size_t *count) {
  const ir_attr *index = ir_get(op, "index")->items[0];
  const ir_expr **exprs = ir_new_array(&f->scratch, const ir_expr *, index->count);
  for (size_t i = 0; i < index->count; i++) exprs[i] = ir_attr_as_expr(f->unit->context, index->items[i]);
  *count = index->count;
  return exprs;
}

static void emit_store_op(emit_function *f, ir_op *op) {
  emit_scope scope = {.f = f, .op = op};
  size_t count;
  const ir_expr **index = index_exprs(f, op, &count);
  emit_store(&scope, ir_op_operand(op, 0), count, index, ir_get_expr_at(op, "args", 0));
}

/* One thread runs, so that nobody interferes: load, combine, store. */
static void emit_atomic(emit_function *f, ir_op *op, ir_scalar_code code) {
  emit_scope scope = {.f = f, .op = op};
  size_t count;
  const ir_expr **index = index_exprs(f, op, &count);
  const ir_type *type = ir_op_operand(op, 0)->type;
  const ir_expr *old = ir_expr_load(f->unit->context, 0, ir_type_dtype(type), type->lanes, count, index);
  const ir_expr *value = ir_expr_binary(f->unit->context, code, old, ir_get_expr_at(op, "args", 0));
  emit_store(&scope, ir_op_operand(op, 0), count, index, value);
}

/* --- regions --- */

static void emit_statement(emit_function *f, ir_op *op) {
  switch ((int)op->code) {
  case IR_SCALAR: {
    emit_scope scope = {.f = f, .op = op};
    emit_bind(f, ir_op_result(op, 0), emit_expr(&scope, ir_attr_as_expr(f->unit->context, ir_get(op, "value"))));
    return;
  }
  case IR_ALLOC: emit_alloc(f, op); return;
  case IR_STORE: emit_store_op(f, op); return;
  case IR_ATOMIC_ADD: emit_atomic(f, op, IR_S_ADD); return;
  case IR_ATOMIC_MAX: emit_atomic(f, op, IR_S_MAX); return;
  case IR_ATOMIC_MIN: emit_atomic(f, op, IR_S_MIN); return;
  case IR_FOR: emit_for(f, op); return;
  case IR_WHILE: emit_while(f, op); return;
  case IR_IF: emit_if(f, op); return;
  case IR_ASSERT: emit_assert(f, op); return;
  default: emit_cannot(f, op->range, "run '%s' in a prim_func", ir_op_row(op)->name);
  }
}

void emit_region(emit_function *f, ir_region *region) {
  size_t owned = f->owned.count;
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    ir_arena_mark mark = ir_arena_get_mark(&f->scratch);
    emit_statement(f, op);
    ir_arena_reset(&f->scratch, mark);
    if (f->failed) return;
  }
  /* Memory made here in one round is gone in the next. */
  while (f->owned.count > owned) emit_release(f, f->owned.at[--f->owned.count]);
}
