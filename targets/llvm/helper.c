// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/helper.c - functions that emitted code calls, emitted themselves: what would otherwise be repeated at every
 * allocation. */
#include "targets/llvm/llvm.h"

#define B (builder)

/* ptr rill.allocate(context, dims, rank, bytes of an element, failure): memory for a tensor, NULL after a report. */
static LLVMTypeRef allocate_type(emit_unit *unit) {
  LLVMTypeRef params[] = {unit->ptr, unit->ptr, unit->i64, unit->i64, unit->ptr};
  return LLVMFunctionType(unit->ptr, params, 5, 0);
}

/* One round: multiplies the extents that are not 0, notes zeros and what is no extent. */
typedef struct product_state {
  LLVMValueRef product, empty, bad;
} product_state;

static product_state multiply(emit_unit *unit, LLVMBuilderRef builder, product_state in, LLVMValueRef extent) {
  LLVMModuleRef module = unit->module;
  LLVMValueRef zero = emit_i64(unit, 0), one = emit_i64(unit, 1), most = emit_i64(unit, IR_EXTENT_MAX);
  LLVMValueRef is_zero = LLVMBuildICmp(B, LLVMIntEQ, extent, zero, "");
  LLVMValueRef factor = LLVMBuildSelect(B, is_zero, one, extent, "");
  unsigned id = LLVMLookupIntrinsicID("llvm.smul.with.overflow", 23);
  LLVMValueRef mul = LLVMGetIntrinsicDeclaration(module, id, &unit->i64, 1);
  LLVMValueRef both = LLVMBuildCall2(B, LLVMGlobalGetValueType(mul), mul, (LLVMValueRef[]){in.product, factor}, 2, "");
  LLVMValueRef product = LLVMBuildExtractValue(B, both, 0, "");
  LLVMValueRef bad = LLVMBuildOr(B, in.bad, LLVMBuildExtractValue(B, both, 1, ""), "");
  bad = LLVMBuildOr(B, bad, LLVMBuildICmp(B, LLVMIntUGT, extent, most, ""), "");
  bad = LLVMBuildOr(B, bad, LLVMBuildICmp(B, LLVMIntUGT, product, most, ""), "");
  return (product_state){product, LLVMBuildOr(B, in.empty, is_zero, ""), bad};
}

static LLVMValueRef callback(emit_unit *unit, LLVMBuilderRef builder, LLVMValueRef function, unsigned member) {
  LLVMValueRef at = LLVMBuildStructGEP2(B, unit->context_type, LLVMGetParam(function, 0), member, "");
  return LLVMBuildLoad2(B, unit->ptr, at, "");
}

static void define_allocate(emit_unit *unit, LLVMValueRef function) {
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(unit->llvm);
  LLVMValueRef context = LLVMGetParam(function, 0), dims = LLVMGetParam(function, 1), rank = LLVMGetParam(function, 2);
  LLVMValueRef size = LLVMGetParam(function, 3), failure = LLVMGetParam(function, 4);
  LLVMBasicBlockRef blocks[6];
  static const char *const names[6] = {"entry", "for", "round", "done", "good", "bad"};
  for (size_t i = 0; i < 6; i++) blocks[i] = LLVMAppendBasicBlockInContext(unit->llvm, function, names[i]);
  LLVMValueRef none = LLVMConstInt(unit->i1, 0, 0), zero = emit_i64(unit, 0), one = emit_i64(unit, 1);
  LLVMPositionBuilderAtEnd(B, blocks[0]);
  LLVMBuildBr(B, blocks[1]);
  LLVMPositionBuilderAtEnd(B, blocks[1]);
  LLVMValueRef i = LLVMBuildPhi(B, unit->i64, "i");
  const product_state state = {LLVMBuildPhi(B, unit->i64, "product"), LLVMBuildPhi(B, unit->i1, "empty"), LLVMBuildPhi(B, unit->i1, "bad")};
  LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, i, rank, ""), blocks[2], blocks[3]);
  LLVMPositionBuilderAtEnd(B, blocks[2]);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(B, unit->i64, dims, &i, 1, "");
  const product_state next = multiply(unit, builder, state, LLVMBuildLoad2(B, unit->i64, at, ""));
  LLVMValueRef step = LLVMBuildAdd(B, i, one, "");
  LLVMBuildBr(B, blocks[1]);
  LLVMBasicBlockRef from[] = {blocks[0], blocks[2]};
  LLVMAddIncoming(i, (LLVMValueRef[]){zero, step}, from, 2);
  LLVMAddIncoming(state.product, (LLVMValueRef[]){one, next.product}, from, 2);
  LLVMAddIncoming(state.empty, (LLVMValueRef[]){none, next.empty}, from, 2);
  LLVMAddIncoming(state.bad, (LLVMValueRef[]){none, next.bad}, from, 2);
  LLVMPositionBuilderAtEnd(B, blocks[3]);
  LLVMBuildCondBr(B, state.bad, blocks[5], blocks[4]);
  LLVMPositionBuilderAtEnd(B, blocks[4]);
  LLVMValueRef bytes = LLVMBuildSelect(B, state.empty, zero, LLVMBuildMul(B, state.product, size, ""), "");
  LLVMTypeRef alloc_type = LLVMFunctionType(unit->ptr, (LLVMTypeRef[]){unit->ptr, unit->i64}, 2, 0);
  LLVMBuildRet(B, LLVMBuildCall2(B, alloc_type, callback(unit, builder, function, 0), (LLVMValueRef[]){context, bytes}, 2, ""));
  LLVMPositionBuilderAtEnd(B, blocks[5]);
  LLVMTypeRef fail_type = LLVMFunctionType(unit->nothing, (LLVMTypeRef[]){unit->ptr, unit->ptr, unit->ptr}, 3, 0);
  LLVMBuildCall2(B, fail_type, callback(unit, builder, function, 2), (LLVMValueRef[]){context, failure, dims}, 3, "");
  LLVMBuildRet(B, LLVMConstNull(unit->ptr));
  LLVMDisposeBuilder(builder);
}

static LLVMValueRef allocate_function(emit_unit *unit) {
  LLVMValueRef function = LLVMGetNamedFunction(unit->module, "rill.allocate");
  if (function) return function;
  function = LLVMAddFunction(unit->module, "rill.allocate", allocate_type(unit));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  emit_function_attributes(unit, function);
  define_allocate(unit, function);
  return function;
}

LLVMValueRef emit_allocate_tensor(emit_function *f, LLVMValueRef slot, ir_range range, const char *what, ir_dtype dtype, size_t rank,
                                  LLVMValueRef *dims) {
  emit_unit *unit = f->unit;
  enum { SHOWN = 8 };
  ir_text text = {0};
  ir_text_printf(&text, "%s cannot have the extents [", what);
  for (size_t i = 0; i < rank && i < SHOWN; i++) ir_text_printf(&text, "%s{%zu}", i ? ", " : "", i);
  ir_text_put(&text, rank > SHOWN ? ", ...]" : "]");
  if (rank > f->room) {
    /* All calls share the room: it is written right before each. */
    f->extents = emit_stack(f, LLVMArrayType2(unit->i64, rank), 8, "extents");
    f->room = rank;
  }
  for (size_t i = 0; i < rank; i++) {
    LLVMBuildStore(f->builder, dims[i], emit_element(f, unit->i64, f->extents, emit_i64(unit, (int64_t)i), true));
  }
  LLVMValueRef list = rank ? f->extents : LLVMConstNull(unit->ptr);
  LLVMValueRef args[] = {f->context, list, emit_i64(unit, (int64_t)rank), emit_i64(unit, emit_size(dtype)),
                         emit_failure(unit, range, NULL, text.at)};
  ir_text_free(&text);
  LLVMValueRef memory = LLVMBuildCall2(f->builder, allocate_type(unit), allocate_function(unit), args, 5, "");
  emit_take(f, slot, memory);
  return memory;
}
