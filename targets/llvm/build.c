// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/build.c - blocks, loops, memory and failures: what statements are made of. */
#include "targets/llvm/llvm.h"

#include <llvm-c/DebugInfo.h>
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
  f->frame = (ir_frame){.context = unit->context, .arena = &f->arena};
  f->entry = emit_block(f, "entry");
  LLVMBasicBlockRef body = emit_block(f, "body");
  LLVMPositionBuilderAtEnd(f->builder, f->entry);
  LLVMBuildBr(f->builder, body);
  LLVMPositionBuilderAtEnd(f->builder, body);
}

void emit_function_end(emit_function *f) {
  LLVMBuildRet(f->builder, LLVMConstInt(f->unit->i32, 0, 0));
  if (f->fail) {
    emit_at(f, f->fail);
    for (size_t i = f->slots.count; i > 0; i--) emit_release(f, f->slots.at[i - 1]);
    LLVMBuildRet(f->builder, LLVMConstInt(f->unit->i32, 1, 0));
  }
  LLVMDisposeBuilder(f->builder);
  ir_arena_free(&f->arena);
  ir_arena_free(&f->scratch);
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

void emit_require_ok(emit_function *f, LLVMValueRef status) {
  LLVMBasicBlockRef good = emit_block(f, "good");
  LLVMValueRef ok = LLVMBuildICmp(f->builder, LLVMIntEQ, status, LLVMConstInt(f->unit->i32, 0, 0), "");
  LLVMBuildCondBr(f->builder, ok, good, fail_block(f));
  emit_at(f, good);
}

/* --- memory --- */

LLVMValueRef emit_slot(emit_function *f) {
  LLVMValueRef slot = emit_stack(f, f->unit->ptr, 0, "owner");
  LLVMBasicBlockRef here = go_to_entry(f);
  LLVMBuildStore(f->builder, LLVMConstNull(f->unit->ptr), slot);
  LLVMPositionBuilderAtEnd(f->builder, here);
  *ir_push(&f->arena, &f->slots) = slot;
  return slot;
}

LLVMValueRef emit_allocate(emit_function *f, LLVMValueRef slot, LLVMValueRef bytes) {
  emit_unit *unit = f->unit;
  LLVMTypeRef params[] = {unit->ptr, unit->i64};
  LLVMValueRef args[] = {f->context, bytes};
  LLVMValueRef memory = LLVMBuildCall2(f->builder, LLVMFunctionType(unit->ptr, params, 2, 0), context_member(f, 0), args, 2, "");
  LLVMBasicBlockRef good = emit_block(f, "good");
  LLVMValueRef none = LLVMBuildICmp(f->builder, LLVMIntEQ, memory, LLVMConstNull(unit->ptr), "");
  LLVMBuildCondBr(f->builder, none, fail_block(f), good);
  emit_at(f, good);
  LLVMBuildStore(f->builder, memory, slot);
  return memory;
}

void emit_release(emit_function *f, LLVMValueRef slot) {
  emit_unit *unit = f->unit;
  LLVMValueRef memory = LLVMBuildLoad2(f->builder, unit->ptr, slot, "");
  LLVMBasicBlockRef drop = emit_block(f, "free"), done = emit_block(f, "done");
  LLVMValueRef none = LLVMBuildICmp(f->builder, LLVMIntEQ, memory, LLVMConstNull(unit->ptr), "");
  LLVMBuildCondBr(f->builder, none, done, drop);
  emit_at(f, drop);
  LLVMTypeRef params[] = {unit->ptr, unit->ptr};
  LLVMValueRef args[] = {f->context, memory};
  LLVMBuildCall2(f->builder, LLVMFunctionType(unit->nothing, params, 2, 0), context_member(f, 1), args, 2, "");
  LLVMBuildStore(f->builder, LLVMConstNull(unit->ptr), slot);
  LLVMBuildBr(f->builder, done);
  emit_at(f, done);
}

static LLVMValueRef checked_mul(emit_function *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *overflow) {
  LLVMValueRef args[] = {a, b};
  LLVMValueRef both = emit_intrinsic(f, "llvm.smul.with.overflow", 1, &f->unit->i64, 2, args);
  LLVMValueRef flag = LLVMBuildExtractValue(f->builder, both, 1, "");
  *overflow = LLVMBuildOr(f->builder, *overflow, flag, "");
  return LLVMBuildExtractValue(f->builder, both, 0, "");
}

/* The product of constants, and of what is not known yet; false where the constants alone overflow. */
static bool fold_product(const LLVMValueRef *dims, size_t rank, int64_t *product) {
  for (size_t i = 0; i < rank; i++) {
    int64_t number;
    if (!emit_is_const(dims[i], &number)) continue;
    if (number < 0 || __builtin_mul_overflow(*product, number, product)) return false;
  }
  return true;
}

LLVMValueRef emit_bytes(emit_function *f, ir_range range, const char *what, ir_dtype dtype, unsigned lanes, size_t rank,
                        LLVMValueRef *dims) {
  emit_unit *unit = f->unit;
  int64_t constant = (int64_t)emit_size(dtype) * lanes, number;
  if (!fold_product(dims, rank, &constant)) {
    emit_cannot(f, range, "hold %s: its size passes 63 bits", what);
    return emit_i64(unit, 0);
  }
  LLVMValueRef bytes = emit_i64(unit, constant), bad = LLVMConstInt(unit->i1, 0, 0);
  LLVMValueRef given[8];
  size_t shown = 0;
  for (size_t i = 0; i < rank; i++) {
    if (emit_is_const(dims[i], &number)) continue;
    LLVMValueRef negative = LLVMBuildICmp(f->builder, LLVMIntSLT, dims[i], emit_i64(unit, 0), "");
    bad = LLVMBuildOr(f->builder, bad, negative, "");
    bytes = checked_mul(f, bytes, dims[i], &bad);
  }
  if (f->overflow) bad = LLVMBuildOr(f->builder, bad, f->overflow, "");
  f->overflow = NULL;
  ir_text text = {0};
  ir_text_printf(&text, "%s cannot have the extents [", what);
  for (size_t i = 0; i < rank && i < ir_count_of(given); i++) {
    ir_text_printf(&text, "%s{%zu}", i ? ", " : "", i);
    given[shown++] = dims[i];
  }
  ir_text_put(&text, rank > ir_count_of(given) ? ", ...]" : "]");
  emit_require(f, LLVMBuildNot(f->builder, bad, ""), range, NULL, text.at, shown, given);
  ir_text_free(&text);
  return bytes;
}

void emit_dims(emit_function *f, size_t rank, const ir_expr *const *exprs, LLVMValueRef *dims) {
  bool hoists = f->hoists;
  f->hoists = false; /* the overflow belongs to this place */
  f->overflow = LLVMConstInt(f->unit->i1, 0, 0);
  for (size_t i = 0; i < rank; i++) dims[i] = emit_uniform(f, NULL, exprs[i]);
  f->hoists = hoists;
}
