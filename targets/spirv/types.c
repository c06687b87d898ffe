// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/types.c - types and constants. What a type needs of the device is declared with it. */
#include "targets/spirv/emit.h"

sv_kind sv_kind_of(ir_dtype dtype) {
  if (dtype == IR_BOOL) return SV_BOOL;
  if (ir_is_float(dtype)) return dtype == IR_F64 ? SV_F64 : SV_F32;
  return ir_dtypes[dtype].bits == 64 ? SV_I64 : SV_I32;
}

unsigned sv_mantissa(ir_dtype dtype) {
  switch ((int)dtype) {
  case IR_F16: return 10;
  case IR_BF16: return 7;
  case IR_F8E4M3: return 3;
  case IR_F8E5M2: return 2;
  default: return dtype == IR_F64 ? 52 : 23;
  }
}

bool sv_is_narrow(ir_dtype dtype) { return ir_is_float(dtype) && ir_dtypes[dtype].bits < 32; }

sv_id sv_type_of(sv_module *m, SpvOp op, size_t count, const uint32_t *operands) { return sv_intern(m, SV_GLOBALS, op, 0, count, operands, NULL); }

/* NaN, infinities and signed zeros are kept as they are: docs/spec/semantics.md speaks of all of them. */
static void float_controls(sv_module *m) {
  if (m->options.vulkan < 2) sv_extension(m, "SPV_KHR_float_controls");
  sv_capability(m, SpvCapabilitySignedZeroInfNanPreserve);
  if (m->options.rounds_to_even) sv_capability(m, SpvCapabilityRoundingModeRTE);
  if (m->options.keeps_denormals) sv_capability(m, SpvCapabilityDenormPreserve);
}

static sv_id make_type(sv_module *m, sv_kind kind) {
  switch (kind) {
  case SV_BOOL: return sv_type_of(m, SpvOpTypeBool, 0, NULL);
  case SV_I32: return sv_type_of(m, SpvOpTypeInt, SV_WORDS(32, 0));
  case SV_I64: sv_capability(m, SpvCapabilityInt64); return sv_type_of(m, SpvOpTypeInt, SV_WORDS(64, 0));
  case SV_F32: float_controls(m); return sv_type_of(m, SpvOpTypeFloat, SV_WORDS(32));
  case SV_F64: float_controls(m); sv_capability(m, SpvCapabilityFloat64); return sv_type_of(m, SpvOpTypeFloat, SV_WORDS(64));
  }
  return 0;
}

sv_id sv_type(sv_module *m, sv_kind kind) {
  if (!m->types[kind]) m->types[kind] = make_type(m, kind);
  return m->types[kind];
}

sv_id sv_pointer(sv_module *m, SpvStorageClass storage, sv_id type) { return sv_type_of(m, SpvOpTypePointer, SV_WORDS((uint32_t)storage, type)); }

/* Integers below 32 bits are moved between storage buffers and registers only, for which no arithmetic on them is needed. */
sv_id sv_stored_type(sv_module *m, ir_dtype dtype) {
  unsigned bits = ir_dtypes[dtype].bits;
  if (bits >= 32) return sv_type(m, sv_kind_of(dtype));
  if (bits == 8 && m->options.vulkan < 2) sv_extension(m, "SPV_KHR_8bit_storage");
  sv_capability(m, bits == 8 ? SpvCapabilityStorageBuffer8BitAccess : SpvCapabilityStorageBuffer16BitAccess);
  return sv_type_of(m, SpvOpTypeInt, SV_WORDS(bits, 0));
}

sv_id sv_block_type(sv_module *m, ir_dtype dtype) {
  bool fresh;
  const sv_id element = sv_stored_type(m, dtype);
  const sv_id array = sv_intern(m, SV_GLOBALS, SpvOpTypeRuntimeArray, 0, 1, &element, &fresh);
  if (fresh) sv_decorate(m, array, SpvDecorationArrayStride, SV_WORDS(ir_dtypes[dtype].bits / 8u));
  const sv_id block = sv_intern(m, SV_GLOBALS, SpvOpTypeStruct, 0, 1, &array, &fresh);
  if (fresh) {
    sv_decorate(m, block, SpvDecorationBlock, 0, NULL);
    sv_put(m->arena, &m->sections[SV_DECORATIONS], SpvOpMemberDecorate, SV_WORDS(block, 0, SpvDecorationOffset, 0));
  }
  return block;
}

/* Without a stride: memory of its own has no layout. */
sv_id sv_array_type(sv_module *m, sv_id element, int64_t count) {
  const sv_id length = sv_word(m, (uint32_t)(count ? count : 1));
  return sv_type_of(m, SpvOpTypeArray, SV_WORDS(element, length));
}

/* --- constants --- */

static sv_id constant(sv_module *m, sv_kind kind, uint64_t bits) {
  const sv_id type = sv_type(m, kind);
  const uint32_t words[] = {(uint32_t)bits, (uint32_t)(bits >> 32)};
  if (kind == SV_BOOL) return sv_intern(m, SV_GLOBALS, bits ? SpvOpConstantTrue : SpvOpConstantFalse, type, 0, NULL, NULL);
  return sv_intern(m, SV_GLOBALS, SpvOpConstant, type, kind == SV_I64 || kind == SV_F64 ? 2 : 1, words, NULL);
}

sv_id sv_word(sv_module *m, uint32_t value) { return constant(m, SV_I32, value); }

sv_id sv_int(sv_module *m, sv_kind kind, int64_t value) { return constant(m, kind, (uint64_t)value); }

sv_id sv_real(sv_module *m, sv_kind kind, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return constant(m, kind, kind == SV_F64 ? bits : ir_float_to_bits(IR_F32, value));
}

/* A narrow NaN keeps its payload. */
static uint64_t widened(ir_dtype dtype, uint64_t bits) {
  double value = ir_float_from_bits(dtype, bits);
  if (value == value) return ir_float_to_bits(IR_F32, value);
  unsigned width = ir_dtypes[dtype].bits, mantissa = sv_mantissa(dtype);
  return (bits >> (width - 1) & 1) << 31 | UINT64_C(0x7f800000) | (bits & ((UINT64_C(1) << mantissa) - 1)) << (23 - mantissa);
}

sv_id sv_constant(sv_module *m, ir_dtype dtype, uint64_t bits) {
  sv_kind kind = sv_kind_of(dtype);
  if (sv_is_narrow(dtype)) return constant(m, kind, widened(dtype, bits));
  if (ir_is_float(dtype)) return constant(m, kind, bits);
  return constant(m, kind, (uint64_t)ir_int_from_bits(dtype, bits));
}
