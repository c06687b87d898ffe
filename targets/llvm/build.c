// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/build.c - blocks, loops, memory and failures: what statements are made of. */
#include "targets/llvm/llvm.h"

#include "base/vec.h"
#include "ir/print.h"

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <stdarg.h>

void emit_cannot(emit_function *f, ir_range range, const char *format, ...) {
  if (f->failed) return;
  f->failed = true;
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  if (!range.begin) range = f->source->item.range;
  ir_error(f->unit->context->diags, range, "the llvm target cannot %s", text.at);
  ir_text_free(&text);
}

/* --- blocks --- */

LLVMBasicBlockRef emit_block(emit_function *f, const char *name) {
  return LLVMAppendBasicBlockInContext(f->unit->llvm, f->function, name);
}

void emit_at(emit_function *f, LLVMBasicBlockRef block) {
  /* Blocks read in the order in which they are filled. */
  LLVMMoveBasicBlockAfter(block, LLVMGetLastBasicBlock(f->function));
  LLVMPositionBuilderAtEnd(f->builder, block);
}

LLVMBasicBlockRef emit_here(const emit_function *f) { return LLVMGetInsertBlock(f->builder); }

static LLVMBasicBlockRef go_to_entry(emit_function *f) {
  LLVMBasicBlockRef here = emit_here(f);
  LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(f->entry));
  return here;
}

void emit_function_start(emit_function *f, emit_unit *unit, ir_func *source, LLVMValueRef function) {
  *f = (emit_function){.unit = unit, .source = source, .function = function, .width = 1};
  f->context = LLVMGetParam(function, 0);
  LLVMSetValueName2(f->context, "context", 7);
  f->builder = LLVMCreateBuilderInContext(unit->llvm);
  f->proofs = (ir_proofs){.context = unit->context, .arena = &f->arena, .frame = {.context = unit->context, .arena = &f->arena}};
  f->entry = emit_block(f, "entry");
  LLVMBasicBlockRef body = emit_block(f, "body");
  LLVMPositionBuilderAtEnd(f->builder, f->entry);
  f->slots = LLVMBuildAlloca(f->builder, unit->ptr, "owners");
  LLVMBuildBr(f->builder, body);
  LLVMPositionBuilderAtEnd(f->builder, body);
}

emit_loop emit_loop_begin(emit_function *f, LLVMValueRef first, LLVMValueRef end, int64_t step, const char *name) {
  emit_loop loop = {.head = emit_block(f, "for"), .body = emit_block(f, "round"), .exit = emit_block(f, "done"), .unroll = -1};
  LLVMBasicBlockRef before = emit_here(f);
  LLVMBuildBr(f->builder, loop.head);
  emit_at(f, loop.head);
  loop.counter = LLVMBuildPhi(f->builder, f->unit->i64, name);
  LLVMAddIncoming(loop.counter, &first, &before, 1);
  LLVMValueRef more = LLVMBuildICmp(f->builder, LLVMIntSLT, loop.counter, end, "");
  LLVMBuildCondBr(f->builder, more, loop.body, loop.exit);
  emit_at(f, loop.body);
  loop.next_step = emit_i64(f->unit, step);
  return loop;
}

void emit_loop_end(emit_function *f, emit_loop *loop) {
  /* No overflow: the counter is below the end, from which it is a multiple of the step away. */
  LLVMValueRef next = LLVMBuildNSWAdd(f->builder, loop->counter, loop->next_step, "");
  LLVMBasicBlockRef here = emit_here(f);
  LLVMAddIncoming(loop->counter, &next, &here, 1);
  LLVMValueRef latch = LLVMBuildBr(f->builder, loop->head);
  if (loop->unroll >= 0) emit_unroll_hint(f->unit, latch, loop->unroll);
  emit_at(f, loop->exit);
}

void emit_unroll_hint(emit_unit *unit, LLVMValueRef latch, int64_t factor) {
  LLVMContextRef llvm = unit->llvm;
  const char *name = factor ? "llvm.loop.unroll.count" : "llvm.loop.unroll.full";
  LLVMMetadataRef words[2] = {LLVMMDStringInContext2(llvm, name, strlen(name)), NULL};
  if (factor) words[1] = LLVMValueAsMetadata(LLVMConstInt(unit->i32, (unsigned long long)factor, 0));
  LLVMMetadataRef hint = LLVMMDNodeInContext2(llvm, words, factor ? 2 : 1);
  /* A loop's metadata begins with itself, so that no two loops share it. */
  LLVMMetadataRef self = LLVMTemporaryMDNode(llvm, NULL, 0);
  LLVMMetadataRef members[] = {self, hint};
  LLVMMetadataRef node = LLVMMDNodeInContext2(llvm, members, 2);
  LLVMMetadataReplaceAllUsesWith(self, node);
  LLVMSetMetadata(latch, LLVMGetMDKindIDInContext(llvm, "llvm.loop", 9), LLVMMetadataAsValue(llvm, node));
}

/* --- instructions --- */

LLVMValueRef emit_intrinsic(emit_function *f, const char *name, size_t type_count, LLVMTypeRef *types, size_t count,
                            LLVMValueRef *args) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(f->unit->module, id, types, type_count);
  return LLVMBuildCall2(f->builder, LLVMGlobalGetValueType(function), function, args, (unsigned)count, "");
}

LLVMValueRef emit_element(emit_function *f, LLVMTypeRef element, LLVMValueRef base, LLVMValueRef index, bool in_bounds) {
  int64_t number;
  if (emit_is_const(index, &number) && !number) return base;
  return in_bounds ? LLVMBuildInBoundsGEP2(f->builder, element, base, &index, 1, "")
                   : LLVMBuildGEP2(f->builder, element, base, &index, 1, "");
}

LLVMValueRef emit_stack(emit_function *f, LLVMTypeRef type, unsigned align, const char *name) {
  LLVMBasicBlockRef here = go_to_entry(f);
  LLVMValueRef memory = LLVMBuildAlloca(f->builder, type, name);
  if (align) LLVMSetAlignment(memory, align);
  LLVMPositionBuilderAtEnd(f->builder, here);
  return memory;
}

/* --- failures --- */

static LLVMBasicBlockRef fail_block(emit_function *f) {
  if (!f->fail) f->fail = emit_block(f, "fail");
  return f->fail;
}

/* Member MEMBER of the context. */
static LLVMValueRef context_member(emit_function *f, unsigned member) {
  LLVMValueRef at = LLVMBuildStructGEP2(f->builder, f->unit->context_type, f->context, member, "");
  return LLVMBuildLoad2(f->builder, f->unit->ptr, at, "");
}

void emit_require(emit_function *f, LLVMValueRef condition, ir_range range, const ir_attr *loc, const char *text, size_t count,
                  LLVMValueRef *values) {
  int64_t known;
  emit_unit *unit = f->unit;
  if (emit_is_const(condition, &known) && known) return;
  LLVMBasicBlockRef bad = emit_block(f, "bad"), good = emit_block(f, "good");
  LLVMBuildCondBr(f->builder, condition, good, bad);
  emit_at(f, bad);
  LLVMValueRef list = LLVMConstNull(unit->ptr);
  if (count) {
    list = emit_stack(f, LLVMArrayType2(unit->i64, count), 8, "values");
    for (size_t i = 0; i < count; i++) {
      LLVMBuildStore(f->builder, values[i], emit_element(f, unit->i64, list, emit_i64(unit, (int64_t)i), true));
    }
  }
  LLVMTypeRef params[] = {unit->ptr, unit->ptr, unit->ptr};
  LLVMValueRef args[] = {f->context, emit_failure(unit, range, loc, text), list};
  LLVMBuildCall2(f->builder, LLVMFunctionType(unit->nothing, params, 3, 0), context_member(f, 2), args, 3, "");
  LLVMBuildBr(f->builder, fail_block(f));
  emit_at(f, good);
}

struct named {
  emit_function *f;
  ir_text text;
  LLVMValueRef values[8];
  size_t count;
};

static void name_symbol(void *user, const ir_expr *node) {
  struct named *n = user;
  if (node->code != IR_S_SYMBOL || n->count == ir_count_of(n->values)) return;
  ir_text_printf(&n->text, "%s%s = {%zu}", n->count ? ", " : ": ", node->symbol->text, n->count);
  n->values[n->count++] = emit_uniform(n->f, NULL, node);
}

void emit_require_clause(emit_function *f, const ir_func *func, ir_range range, const ir_expr *clause) {
  struct named named = {.f = f};
  ir_text_printf(&named.text, "@%s: '", func->item.name->text);
  ir_print_expr(&named.text, clause, NULL, 0);
  ir_text_put(&named.text, "' does not hold");
  ir_expr_walk(f->unit->context, clause, name_symbol, &named);
  f->overflow = LLVMConstInt(f->unit->i1, 0, 0);
  LLVMValueRef holds = emit_uniform(f, NULL, clause);
  holds = LLVMBuildAnd(f->builder, holds, LLVMBuildNot(f->builder, f->overflow, ""), "");
  f->overflow = NULL;
  emit_require(f, holds, range, NULL, named.text.at, named.count, named.values);
  ir_text_free(&named.text);
}

void emit_require_ok(emit_function *f, LLVMValueRef status) {
  LLVMBasicBlockRef good = emit_block(f, "good");
  LLVMValueRef ok = LLVMBuildICmp(f->builder, LLVMIntEQ, status, LLVMConstInt(f->unit->i32, 0, 0), "");
  LLVMBuildCondBr(f->builder, ok, good, fail_block(f));
  emit_at(f, good);
}

/* --- memory --- */

LLVMValueRef emit_slot(emit_function *f) {
  LLVMBasicBlockRef here = go_to_entry(f);
  LLVMValueRef slot = emit_element(f, f->unit->ptr, f->slots, emit_i64(f->unit, (int64_t)f->slot_count++), true);
  LLVMPositionBuilderAtEnd(f->builder, here);
  return slot;
}

/* How many slots there are is known at the end: only now the array gets its size. */
static void finish_slots(emit_function *f) {
  emit_unit *unit = f->unit;
  if (!f->slot_count) {
    LLVMReplaceAllUsesWith(f->slots, LLVMGetPoison(unit->ptr));
    LLVMInstructionEraseFromParent(f->slots);
    return;
  }
  LLVMPositionBuilderBefore(f->builder, f->slots);
  LLVMTypeRef type = LLVMArrayType2(unit->ptr, f->slot_count);
  LLVMValueRef slots = LLVMBuildAlloca(f->builder, type, "owners");
  LLVMReplaceAllUsesWith(f->slots, slots);
  LLVMInstructionEraseFromParent(f->slots);
  LLVMPositionBuilderBefore(f->builder, LLVMGetNextInstruction(slots));
  uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(unit->module), type);
  LLVMBuildMemSet(f->builder, slots, LLVMConstInt(unit->i8, 0, 0), emit_i64(unit, (int64_t)size), LLVMGetAlignment(slots));
  f->slots = slots;
}

static void release_all(emit_function *f) {
  emit_loop loop = emit_loop_begin(f, emit_i64(f->unit, 0), emit_i64(f->unit, (int64_t)f->slot_count), 1, "owner");
  emit_release(f, emit_element(f, f->unit->ptr, f->slots, loop.counter, true));
  emit_loop_end(f, &loop);
}

LLVMValueRef emit_allocate(emit_function *f, LLVMValueRef slot, LLVMValueRef bytes) {
  emit_unit *unit = f->unit;
  LLVMTypeRef params[] = {unit->ptr, unit->i64};
  LLVMValueRef args[] = {f->context, bytes};
  LLVMValueRef memory = LLVMBuildCall2(f->builder, LLVMFunctionType(unit->ptr, params, 2, 0), context_member(f, 0), args, 2, "");
  emit_take(f, slot, memory);
  return memory;
}

void emit_take(emit_function *f, LLVMValueRef slot, LLVMValueRef memory) {
  LLVMBasicBlockRef good = emit_block(f, "good");
  LLVMValueRef none = LLVMBuildICmp(f->builder, LLVMIntEQ, memory, LLVMConstNull(f->unit->ptr), "");
  LLVMBuildCondBr(f->builder, none, fail_block(f), good);
  emit_at(f, good);
  LLVMBuildStore(f->builder, memory, slot);
}

void emit_release(emit_function *f, LLVMValueRef slot) {
  emit_unit *unit = f->unit;
  LLVMTypeRef params[] = {unit->ptr, unit->ptr};
  LLVMValueRef args[] = {f->context, LLVMBuildLoad2(f->builder, unit->ptr, slot, "")};
  LLVMBuildCall2(f->builder, LLVMFunctionType(unit->nothing, params, 2, 0), context_member(f, 1), args, 2, "");
  LLVMBuildStore(f->builder, LLVMConstNull(unit->ptr), slot);
}

static LLVMValueRef checked_mul(emit_function *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *overflow) {
  LLVMValueRef args[] = {a, b};
  LLVMValueRef both = emit_intrinsic(f, "llvm.smul.with.overflow", 1, &f->unit->i64, 2, args);
  LLVMValueRef flag = LLVMBuildExtractValue(f->builder, both, 1, "");
  *overflow = LLVMBuildOr(f->builder, *overflow, flag, "");
  return LLVMBuildExtractValue(f->builder, both, 0, "");
}

LLVMValueRef emit_is_extent(emit_function *f, LLVMValueRef value) {
  return LLVMBuildICmp(f->builder, LLVMIntULE, value, emit_i64(f->unit, IR_EXTENT_MAX), "");
}

/* `WHAT cannot have the extents [...]` where BAD. */
static void refuse_extents(emit_function *f, LLVMValueRef bad, ir_range range, const char *what, size_t rank, LLVMValueRef *dims) {
  enum { SHOWN = 8 };
  ir_text text = {0};
  ir_text_printf(&text, "%s cannot have the extents [", what);
  for (size_t i = 0; i < rank && i < SHOWN; i++) ir_text_printf(&text, "%s{%zu}", i ? ", " : "", i);
  ir_text_put(&text, rank > SHOWN ? ", ...]" : "]");
  emit_require(f, LLVMBuildNot(f->builder, bad, ""), range, NULL, text.at, rank < SHOWN ? rank : SHOWN, dims);
  ir_text_free(&text);
}

LLVMValueRef emit_bytes(emit_function *f, ir_range range, const char *what, ir_dtype dtype, unsigned lanes, size_t rank,
                        LLVMValueRef *dims, bool known) {
  emit_unit *unit = f->unit;
  LLVMValueRef zero = emit_i64(unit, 0), one = emit_i64(unit, 1), none = LLVMConstInt(unit->i1, 0, 0);
  LLVMValueRef product = one, bad = none, empty = none;
  for (size_t i = 0; i < rank; i++) {
    if (known) {
      product = i ? LLVMBuildMul(f->builder, product, dims[i], "") : dims[i];
      continue;
    }
    LLVMValueRef is_zero = LLVMBuildICmp(f->builder, LLVMIntEQ, dims[i], zero, "");
    bad = LLVMBuildOr(f->builder, bad, LLVMBuildNot(f->builder, emit_is_extent(f, dims[i]), ""), "");
    empty = LLVMBuildOr(f->builder, empty, is_zero, "");
    /* A zero must not hide extents that overflow together. */
    LLVMValueRef factor = LLVMBuildSelect(f->builder, is_zero, one, dims[i], "");
    int64_t a, b, folded = 0;
    bool constant = emit_is_const(product, &a) && emit_is_const(factor, &b) && !__builtin_mul_overflow(a, b, &folded);
    product = constant ? emit_i64(unit, folded) : i ? checked_mul(f, product, factor, &bad) : factor;
  }
  if (!known) {
    bad = LLVMBuildOr(f->builder, bad, LLVMBuildNot(f->builder, emit_is_extent(f, product), ""), "");
    if (f->overflow) bad = LLVMBuildOr(f->builder, bad, f->overflow, "");
    refuse_extents(f, bad, range, what, rank, dims);
  }
  f->overflow = NULL;
  /* Of 2^48 elements the bytes fit. */
  LLVMValueRef numbers = LLVMBuildMul(f->builder, product, emit_i64(unit, lanes), "");
  LLVMValueRef bytes = emit_size_of(unit, f->builder, dtype, numbers);
  return LLVMBuildSelect(f->builder, empty, zero, bytes, "");
}

void emit_dims(emit_function *f, size_t rank, const ir_expr *const *exprs, LLVMValueRef *dims) {
  bool hoists = f->hoists;
  f->hoists = false; /* the overflow belongs to this place */
  f->overflow = LLVMConstInt(f->unit->i1, 0, 0);
  for (size_t i = 0; i < rank; i++) dims[i] = emit_uniform(f, NULL, exprs[i]);
  f->hoists = hoists;
}

void emit_function_end(emit_function *f) {
  LLVMBuildRet(f->builder, LLVMConstInt(f->unit->i32, 0, 0));
  finish_slots(f);
  if (f->fail) {
    emit_at(f, f->fail);
    if (f->slot_count) release_all(f);
    LLVMBuildRet(f->builder, LLVMConstInt(f->unit->i32, 1, 0));
  }
  LLVMDisposeBuilder(f->builder);
  ir_arena_free(&f->arena);
  ir_arena_free(&f->scratch);
}
