// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/helper.c - calls of the support code (runtime/llvm/support). */
#include "targets/llvm/llvm.h"

LLVMValueRef emit_call_support(emit_function *f, const char *name, LLVMTypeRef result, size_t count, LLVMValueRef *args) {
  emit_unit *unit = f->unit;
  LLVMTypeRef *params = ir_new_array(unit->arena, LLVMTypeRef, count);
  for (size_t i = 0; i < count; i++) params[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type = LLVMFunctionType(result, params, (unsigned)count, 0);
  LLVMValueRef function = LLVMGetNamedFunction(unit->module, name);
  if (!function) function = LLVMAddFunction(unit->module, name, type);
  return LLVMBuildCall2(f->builder, type, function, args, (unsigned)count, "");
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
  LLVMValueRef args[] = {f->context, list, emit_i64(unit, (int64_t)rank), emit_i64(unit, ir_dtypes[dtype].bits),
                         emit_failure(unit, range, NULL, text.at)};
  ir_text_free(&text);
  LLVMValueRef memory = emit_call_support(f, "rill_support_allocate", unit->ptr, 5, args);
  emit_take(f, slot, memory);
  return memory;
}
