// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_storage.c - planned memory: storage, tensors placed in it, the memory of results. Where several sizes
 * are packed at run time, code does what ir_pack of base/pack.c does. */
#include "base/pack.h"
#include "targets/llvm/host.h"

#define B (h->f.builder)

/* --- i64 rill.pack(count, bytes, live, offsets): the total, negative where there is none --- */

static LLVMTypeRef pack_type(emit_unit *unit) {
  LLVMTypeRef params[] = {unit->i64, unit->ptr, unit->ptr, unit->ptr};
  return LLVMFunctionType(unit->i64, params, 4, 0);
}

/* The function being made: variables on the stack, which LLVM makes registers of. */
typedef struct packing {
  emit_unit *unit;
  LLVMBuilderRef builder;
  LLVMValueRef function, i, k, at, total; /* the last four: variables */
} packing;

static LLVMValueRef get(const packing *p, LLVMValueRef variable) { return LLVMBuildLoad2(p->builder, p->unit->i64, variable, ""); }

static void set(const packing *p, LLVMValueRef variable, LLVMValueRef value) { LLVMBuildStore(p->builder, value, variable); }

static LLVMValueRef number(const packing *p, int64_t value) { return emit_i64(p->unit, value); }

/* Element INDEX of the list that parameter WHICH is. */
static LLVMValueRef place(const packing *p, unsigned which, LLVMValueRef index) {
  return LLVMBuildInBoundsGEP2(p->builder, p->unit->i64, LLVMGetParam(p->function, which), &index, 1, "");
}

static LLVMValueRef element(const packing *p, unsigned which, LLVMValueRef index) { return get(p, place(p, which, index)); }

static LLVMValueRef compare(const packing *p, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(p->builder, predicate, a, b, "");
}

static LLVMValueRef both(const packing *p, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildAnd(p->builder, a, b, ""); }

/* Element INDEX of the sizes, rounded up. */
static LLVMValueRef padded(const packing *p, LLVMValueRef index) {
  LLVMValueRef sum = LLVMBuildAdd(p->builder, element(p, 1, index), number(p, IR_PACK_ALIGN - 1), "");
  return LLVMBuildAnd(p->builder, sum, number(p, -(int64_t)IR_PACK_ALIGN), "");
}

static LLVMValueRef twice(const packing *p, LLVMValueRef index, int64_t more) {
  return LLVMBuildAdd(p->builder, LLVMBuildMul(p->builder, index, number(p, 2), ""), number(p, more), "");
}

/* Blocks I and K are live together, and the one would begin at AT where the other lies. */
static LLVMValueRef meets(const packing *p, LLVMValueRef i, LLVMValueRef k, LLVMValueRef at) {
  LLVMValueRef live = both(p, compare(p, LLVMIntSLE, element(p, 2, twice(p, i, 0)), element(p, 2, twice(p, k, 1))),
                           compare(p, LLVMIntSLE, element(p, 2, twice(p, k, 0)), element(p, 2, twice(p, i, 1))));
  LLVMValueRef other = element(p, 3, k);
  LLVMValueRef here = both(p, compare(p, LLVMIntSLT, at, LLVMBuildAdd(p->builder, other, padded(p, k), "")),
                           compare(p, LLVMIntSLT, other, LLVMBuildAdd(p->builder, at, padded(p, i), "")));
  return both(p, live, here);
}

static LLVMBasicBlockRef block(const packing *p, const char *name) {
  return LLVMAppendBasicBlockInContext(p->unit->llvm, p->function, name);
}

static void go(const packing *p, LLVMBasicBlockRef to) { LLVMPositionBuilderAtEnd(p->builder, to); }

/* Each round of the inner loop looks at one block that has its place. */
static void define_inner(const packing *p, LLVMBasicBlockRef next, LLVMBasicBlockRef bad) {
  LLVMBuilderRef b = p->builder;
  LLVMBasicBlockRef head = block(p, "others"), look = block(p, "look"), move = block(p, "move"), on = block(p, "on"), found = block(p, "found");
  LLVMValueRef zero = number(p, 0);
  set(p, p->at, zero);
  set(p, p->k, zero);
  LLVMBuildCondBr(b, compare(p, LLVMIntUGT, element(p, 1, get(p, p->i)), number(p, IR_PACK_MOST)), bad, head);
  go(p, head);
  LLVMBuildCondBr(b, compare(p, LLVMIntSLT, get(p, p->k), get(p, p->i)), look, found);
  go(p, look);
  LLVMBuildCondBr(b, meets(p, get(p, p->i), get(p, p->k), get(p, p->at)), move, on);
  go(p, move);
  set(p, p->at, LLVMBuildAdd(b, element(p, 3, get(p, p->k)), padded(p, get(p, p->k)), ""));
  set(p, p->k, zero);
  LLVMBuildBr(b, head);
  go(p, on);
  set(p, p->k, LLVMBuildAdd(b, get(p, p->k), number(p, 1), ""));
  LLVMBuildBr(b, head);
  go(p, found);
  LLVMValueRef end = LLVMBuildAdd(b, get(p, p->at), padded(p, get(p, p->i)), "");
  LLVMBuildStore(b, get(p, p->at), place(p, 3, get(p, p->i)));
  LLVMValueRef more = compare(p, LLVMIntSGT, end, get(p, p->total));
  set(p, p->total, LLVMBuildSelect(b, more, end, get(p, p->total), ""));
  set(p, p->i, LLVMBuildAdd(b, get(p, p->i), number(p, 1), ""));
  /* Sums of two numbers up to IR_PACK_MOST do not overflow. */
  LLVMBuildCondBr(b, compare(p, LLVMIntSGT, end, number(p, IR_PACK_MOST)), bad, next);
}

static void define_pack(emit_unit *unit, LLVMValueRef function) {
  packing p = {.unit = unit, .builder = LLVMCreateBuilderInContext(unit->llvm), .function = function};
  LLVMBasicBlockRef entry = block(&p, "entry"), head = block(&p, "blocks"), body = block(&p, "block");
  LLVMBasicBlockRef done = block(&p, "done"), bad = block(&p, "bad");
  go(&p, entry);
  LLVMValueRef *variables[] = {&p.i, &p.k, &p.at, &p.total};
  for (size_t v = 0; v < ir_count_of(variables); v++) {
    *variables[v] = LLVMBuildAlloca(p.builder, unit->i64, "");
    set(&p, *variables[v], number(&p, 0));
  }
  LLVMBuildBr(p.builder, head);
  go(&p, head);
  LLVMBuildCondBr(p.builder, compare(&p, LLVMIntSLT, get(&p, p.i), LLVMGetParam(function, 0)), body, done);
  go(&p, body);
  define_inner(&p, head, bad);
  go(&p, done);
  LLVMBuildRet(p.builder, get(&p, p.total));
  go(&p, bad);
  LLVMBuildRet(p.builder, number(&p, -1));
  LLVMDisposeBuilder(p.builder);
}

static LLVMValueRef pack_function(emit_unit *unit) {
  LLVMValueRef function = LLVMGetNamedFunction(unit->module, "rill.pack");
  if (function) return function;
  function = LLVMAddFunction(unit->module, "rill.pack", pack_type(unit));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  emit_function_attributes(unit, function);
  define_pack(unit, function);
  return function;
}

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
  LLVMValueRef args[] = {emit_i64(unit, (int64_t)count), sizes, live_list(h, op, count), offsets};
  LLVMValueRef total = LLVMBuildCall2(B, pack_type(unit), pack_function(unit), args, 4, "total");
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
