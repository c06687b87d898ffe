// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/types.c - element types and constants in LLVM's words. */
#include "targets/llvm/llvm.h"

bool emit_is_packed(ir_dtype dtype) { return ir_dtypes[dtype].bits < 8; }

LLVMTypeRef emit_integer_type(const emit_unit *unit, unsigned bits) {
  return bits == 4 ? unit->i4 : bits == 8 ? unit->i8 : bits == 16 ? unit->i16 : bits == 32 ? unit->i32 : unit->i64;
}

static LLVMTypeRef element_type(const emit_unit *unit, ir_dtype dtype) {
  if (dtype == IR_BOOL) return unit->i1;
  if (dtype == IR_F16) return unit->half;
  if (dtype == IR_F32) return unit->f32;
  if (dtype == IR_F64) return unit->f64;
  return emit_integer_type(unit, ir_dtypes[dtype].bits);
}

LLVMTypeRef emit_type(const emit_unit *unit, ir_dtype dtype, unsigned lanes) {
  LLVMTypeRef type = element_type(unit, dtype);
  return lanes > 1 ? LLVMVectorType(type, lanes) : type;
}

LLVMTypeRef emit_memory_type(const emit_unit *unit, ir_dtype dtype, unsigned lanes) {
  LLVMTypeRef type = dtype == IR_BOOL || emit_is_packed(dtype) ? unit->i8 : element_type(unit, dtype);
  return lanes > 1 ? LLVMVectorType(type, lanes) : type;
}

unsigned emit_size(ir_dtype dtype) { return emit_is_packed(dtype) ? 1 : ir_dtypes[dtype].bits / 8; }

LLVMValueRef emit_size_of(const emit_unit *unit, LLVMBuilderRef builder, ir_dtype dtype, LLVMValueRef count) {
  if (!emit_is_packed(dtype)) return LLVMBuildMul(builder, count, emit_i64(unit, emit_size(dtype)), "");
  return LLVMBuildLShr(builder, LLVMBuildAdd(builder, count, emit_i64(unit, 1), ""), emit_i64(unit, 1), "");
}

LLVMValueRef emit_constant(const emit_unit *unit, ir_dtype dtype, uint64_t bits) {
  if (dtype == IR_BOOL) return LLVMConstInt(unit->i1, (bits & 0xff) != 0, 0);
  LLVMTypeRef integer = emit_integer_type(unit, ir_dtypes[dtype].bits);
  LLVMValueRef value = LLVMConstInt(integer, bits, 0);
  /* By way of the bits: NaN payloads and signed zeros stay. */
  return LLVMConstBitCast(value, element_type(unit, dtype));
}

unsigned emit_lanes(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

LLVMTypeRef emit_type_like(LLVMTypeRef element, LLVMValueRef model) {
  unsigned lanes = emit_lanes(model);
  return lanes > 1 ? LLVMVectorType(element, lanes) : element;
}

enum { MOST_LANES = 1024 };

static LLVMValueRef splat_constant(LLVMTypeRef type, LLVMValueRef element) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return element;
  LLVMValueRef elements[MOST_LANES];
  unsigned lanes = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < lanes; i++) elements[i] = element;
  return LLVMConstVector(elements, lanes);
}

static LLVMTypeRef element_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

LLVMValueRef emit_int_of(LLVMTypeRef type, uint64_t value) {
  return splat_constant(type, LLVMConstInt(element_of(type), value, 0));
}

LLVMValueRef emit_real_of(LLVMTypeRef type, double value) {
  return splat_constant(type, LLVMConstReal(element_of(type), value));
}

LLVMValueRef emit_i64(const emit_unit *unit, int64_t value) { return LLVMConstInt(unit->i64, (uint64_t)value, 1); }

bool emit_is_const(LLVMValueRef value, int64_t *number) {
  if (!LLVMIsAConstantInt(value)) return false;
  *number = LLVMConstIntGetSExtValue(value);
  return true;
}
