// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_storage.c - planned memory: storage, tensors placed in it, the memory of results. Where several sizes
 * are packed at run time, the support code does what ir_pack of base/pack.c does. */
#include "base/pack.h"
#include "targets/llvm/host.h"

#define B (h->f.builder)

/* --- storage --- */

static const char no_total[] = "host.alloc: a size is negative, or all together pass 60 bits";

/* First and last steps, which every run shares. */
static LLVMValueRef live_list(host *h, const ir_op *op, size_t count) {
  const ir_attr *live = ir_get(op, "live");
  LLVMValueRef *steps = ir_new_array(&h->f.scratch, LLVMValueRef, 2 * count);
  for (size_t i = 0; i < 2 * count; i++) steps[i] = emit_i64(h->f.unit, live ? live->items[i / 2]->items[i % 2]->i : 0);
  return emit_private(h->f.unit, "live", LLVMConstArray2(h->f.unit->i64, steps, 2 * count));
}

static void set_storage(host *h, ir_op *op, size_t i, LLVMValueRef data, LLVMValueRef bytes) {
  host_value *value = host_new(h, op->range, ir_op_result(op, i)->type);
  if (!value) return;
  value->data = data;
  value->dims[0] = bytes;
  host_set(h, ir_op_result(op, i), value);
}

static LLVMValueRef offset_of(host *h, LLVMValueRef offsets, size_t i) {
  return LLVMBuildLoad2(B, h->f.unit->i64, host_number_at(h, offsets, i), "");
}

void host_alloc(host *h, ir_op *op) {
  emit_unit *unit = h->f.unit;
  size_t count = op->result_count;
  if (!count) return;
  LLVMTypeRef list = LLVMArrayType2(unit->i64, count);
  LLVMValueRef sizes = emit_stack(&h->f, list, 8, "sizes"), offsets = emit_stack(&h->f, list, 8, "offsets");
  LLVMValueRef *bytes = ir_new_array(&h->f.scratch, LLVMValueRef, count);
  for (size_t i = 0; i < count; i++) {
    bytes[i] = host_extent(h, op->range, ir_get_expr_at(op, "bytes", i));
    LLVMBuildStore(B, bytes[i], host_number_at(h, sizes, i));
  }
  LLVMValueRef args[] = {h->f.context, emit_i64(unit, (int64_t)count), sizes, live_list(h, op, count), offsets};
  LLVMValueRef total = emit_call_support(&h->f, "rill_support_pack", unit->i64, 5, args);
  LLVMValueRef fits = LLVMBuildICmp(B, LLVMIntSGE, total, emit_i64(unit, 0), "");
  emit_require(&h->f, fits, op->range, ir_op_loc(op), no_total, 0, NULL);
  LLVMValueRef memory = emit_allocate(&h->f, host_own(h, h->region)->slot, total);
  for (size_t i = 0; i < count; i++) set_storage(h, op, i, emit_element(&h->f, unit->i8, memory, offset_of(h, offsets, i), true), bytes[i]);
}

/* --- tensors in it --- */

/* OFFSET is aligned, and the tensor ends inside of the storage. */
static void check_place(host *h, ir_op *op, const host_value *storage, LLVMValueRef offset, LLVMValueRef bytes) {
  emit_unit *unit = h->f.unit;
  LLVMValueRef zero = emit_i64(unit, 0), low = LLVMBuildAnd(B, offset, emit_i64(unit, IR_PACK_ALIGN - 1), "");
  LLVMValueRef room = LLVMBuildSub(B, storage->dims[0], offset, "");
  LLVMValueRef fine = LLVMBuildICmp(B, LLVMIntEQ, low, zero, "");
  fine = LLVMBuildAnd(B, fine, LLVMBuildICmp(B, LLVMIntULE, offset, storage->dims[0], ""), "");
  fine = LLVMBuildAnd(B, fine, LLVMBuildICmp(B, LLVMIntULE, bytes, room, ""), "");
  emit_require(&h->f, fine, op->range, ir_op_loc(op), "host.tensor: {0} bytes at offset {1} of storage of {2}: not in it, or not aligned", 3,
               (LLVMValueRef[]){bytes, offset, storage->dims[0]});
}

void host_tensor(host *h, ir_op *op) {
  const host_value *storage = host_get(h, ir_op_operand(op, 0));
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!storage || !value || !host_extents(h, op->range, "a tensor", value)) return;
  LLVMValueRef offset = host_extent(h, op->range, ir_attr_as_expr(h->f.unit->context, ir_get(op, "offset")));
  check_place(h, op, storage, offset, host_bytes(h, op->range, value, false));
  host_note_size(h, value->type);
  value->data = emit_element(&h->f, h->f.unit->i8, storage->data, offset, true);
  value->placed = true;
  host_set(h, ir_op_result(op, 0), value);
}

/* --- results --- */

void host_result(host *h, ir_op *op) {
  emit_unit *unit = h->f.unit;
  host_value *value = host_new(h, op->range, ir_op_result(op, 0)->type);
  if (!value || !host_extents(h, op->range, "a result", value)) return;
  size_t index = (size_t)ir_get_int(op, "index"), leaf = 0;
  for (size_t i = 0; i < index; i++) leaf += host_leaves(h->f.source->results[i]);
  LLVMValueRef given = LLVMBuildLoad2(B, unit->ptr, host_member(h, LLVMGetParam(h->f.function, 2), leaf, 0), "");
  LLVMValueRef bytes = host_bytes(h, op->range, value, false);
  host_owner *owner = host_own(h, h->region);
  LLVMValueRef variable = emit_stack(&h->f, unit->ptr, 8, "result");
  LLVMBuildStore(B, given, variable);
  LLVMBasicBlockRef make = emit_block(&h->f, "make"), join = emit_block(&h->f, "join");
  LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, given, LLVMConstNull(unit->ptr), ""), make, join);
  emit_at(&h->f, make);
  LLVMBuildStore(B, emit_allocate(&h->f, owner->slot, bytes), variable);
  LLVMBuildBr(B, join);
  emit_at(&h->f, join);
  host_note_size(h, value->type);
  value->data = LLVMBuildLoad2(B, unit->ptr, variable, "");
  host_owners_add(h, &value->owners, owner);
  host_set(h, ir_op_result(op, 0), value);
}

/* --- copies and ends --- */

void host_copy_op(host *h, ir_op *op) {
  const host_value *from = host_get(h, ir_op_operand(op, 0)), *to = host_get(h, ir_op_operand(op, 1));
  if (!from || !to) return;
  for (size_t i = 0; i < from->count; i++) {
    LLVMValueRef extents[] = {from->dims[i], to->dims[i]};
    LLVMValueRef same = LLVMBuildICmp(B, LLVMIntEQ, extents[0], extents[1], "");
    const char *text = ir_arena_printf(&h->f.arena, "host.copy: extent {0} on axis %zu, the target has {1}", i);
    emit_require(&h->f, same, op->range, ir_op_loc(op), text, 2, extents);
  }
  LLVMValueRef source = host_pointer(h, ir_op_operand(op, 0));
  LLVMBuildMemMove(B, to->data, 1, source, 1, host_bytes(h, op->range, to, true));
}

void host_free(host *h, ir_op *op) {
  const host_value *value = host_get(h, ir_op_operand(op, 0));
  if (!value) return;
  if (value->owners.count != 1) {
    emit_cannot(&h->f, op->range, "free what is not known to be memory of its own");
    return;
  }
  host_owner *owner = value->owners.at[0];
  size_t kept = 0;
  emit_release(&h->f, owner->slot);
  for (size_t i = 0; i < h->owners.count; i++) {
    if (h->owners.at[i] != owner) h->owners.at[kept++] = h->owners.at[i];
  }
  h->owners.count = kept;
}
