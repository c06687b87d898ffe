// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/packed.c - loads and stores of i4 and u4: two elements a byte, the first in the low half. A store reads the
 * byte, changes half of it and writes it back, so whoever writes such elements is one thread that goes one by one: loops
 * that do are not vectorized (lanes.c) and kernels that do are not shared (parallel.c). Loads are vectors as others are. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

/* The number of the byte that holds element FLAT. */
static LLVMValueRef byte_of(emit_function *f, LLVMValueRef flat) {
  return LLVMBuildLShr(B, flat, emit_int_of(LLVMTypeOf(flat), 1), "");
}

/* How far to the left element FLAT stands in its byte, as i8: 0 or 4. */
static LLVMValueRef shift_of(emit_function *f, LLVMValueRef flat) {
  LLVMTypeRef type = emit_type_like(f->unit->i8, flat);
  LLVMValueRef low = LLVMBuildAnd(B, LLVMBuildTrunc(B, flat, type, ""), emit_int_of(type, 1), "");
  return LLVMBuildShl(B, low, emit_int_of(type, 2), "");
}

static LLVMValueRef half_of(emit_function *f, LLVMValueRef bytes, LLVMValueRef shift) {
  return LLVMBuildTrunc(B, LLVMBuildLShr(B, bytes, shift, ""), emit_type_like(f->unit->i4, bytes), "");
}

static LLVMValueRef load_bytes(emit_function *f, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef byte, bool in_bounds) {
  LLVMValueRef value = LLVMBuildLoad2(B, type, emit_element(f, f->unit->i8, base, byte, in_bounds), "");
  LLVMSetAlignment(value, 1);
  return value;
}

LLVMValueRef emit_packed_load(emit_function *f, LLVMValueRef base, LLVMValueRef flat, bool in_bounds) {
  return half_of(f, load_bytes(f, f->unit->i8, base, byte_of(f, flat), in_bounds), shift_of(f, flat));
}

static LLVMValueRef gather(emit_function *f, const emit_place *place, LLVMValueRef flat) {
  unsigned lanes = emit_lanes(flat);
  LLVMTypeRef type = LLVMVectorType(f->unit->i8, lanes);
  LLVMValueRef pointers = emit_element(f, f->unit->i8, place->base, byte_of(f, flat), place->proven && !f->mask);
  LLVMTypeRef types[] = {type, LLVMTypeOf(pointers)};
  LLVMValueRef mask = f->mask ? f->mask : emit_int_of(LLVMVectorType(f->unit->i1, lanes), 1);
  LLVMValueRef args[] = {pointers, LLVMConstInt(f->unit->i32, 1, 0), mask, LLVMConstNull(type)};
  return half_of(f, emit_intrinsic(f, "llvm.masked.gather", 2, types, 4, args), shift_of(f, flat));
}

/* LANES neighbours, an even number, from element FIRST on. The bytes of the even ones and those of the odd ones: the same
 * where FIRST is even, else one further on; nothing outside of the elements' bytes is read. */
static LLVMValueRef neighbours(emit_function *f, const emit_place *place, LLVMValueRef first, unsigned lanes) {
  unsigned half = lanes / 2;
  LLVMTypeRef type = half > 1 ? LLVMVectorType(f->unit->i8, half) : f->unit->i8;
  LLVMValueRef second = LLVMBuildAdd(B, first, emit_i64(f->unit, 1), "");
  LLVMValueRef firsts[] = {first, second}, halves[2];
  for (int i = 0; i < 2; i++) {
    LLVMValueRef bytes = load_bytes(f, type, place->base, byte_of(f, firsts[i]), place->proven);
    halves[i] = half_of(f, bytes, emit_splat(f, shift_of(f, firsts[i]), half));
  }
  if (half == 1) {
    LLVMValueRef pair = LLVMGetPoison(LLVMVectorType(f->unit->i4, 2));
    for (unsigned i = 0; i < 2; i++) pair = LLVMBuildInsertElement(B, pair, halves[i], LLVMConstInt(f->unit->i32, i, 0), "");
    return pair;
  }
  LLVMValueRef *picks = ir_new_array(&f->scratch, LLVMValueRef, lanes);
  for (unsigned i = 0; i < lanes; i++) picks[i] = LLVMConstInt(f->unit->i32, i / 2 + (i & 1 ? half : 0), 0);
  return LLVMBuildShuffleVector(B, halves[0], halves[1], LLVMConstVector(picks, lanes), "");
}

static LLVMValueRef numbers_from(emit_function *f, LLVMValueRef first, unsigned lanes) {
  return LLVMBuildAdd(B, emit_splat(f, first, lanes), emit_iota(f, emit_i64(f->unit, 1), lanes), "");
}

emit_value emit_load_packed(emit_function *f, const emit_place *place) {
  LLVMValueRef flat = place->flat.value;
  if (f->width > 1) {
    int64_t step = 0;
    if (!place->flat.varying && !place->flat.step) return emit_uniform_value(emit_packed_load(f, place->base, flat, place->proven));
    bool next = !place->flat.varying && emit_is_const(place->flat.step, &step) && step == 1 && !f->mask;
    LLVMValueRef value = next ? neighbours(f, place, flat, f->width) : gather(f, place, emit_spread(f, place->flat));
    return (emit_value){.value = value, .varying = true};
  }
  if (place->flat.varying) return emit_uniform_value(gather(f, place, flat));
  if (place->ramp <= 1) return emit_uniform_value(emit_packed_load(f, place->base, flat, place->proven));
  bool even = place->ramp % 2 == 0;
  return emit_uniform_value(even ? neighbours(f, place, flat, place->ramp) : gather(f, place, numbers_from(f, flat, place->ramp)));
}

void emit_packed_store(emit_function *f, LLVMValueRef base, LLVMValueRef flat, LLVMValueRef value, bool in_bounds) {
  LLVMTypeRef i8 = f->unit->i8;
  LLVMValueRef pointer = emit_element(f, i8, base, byte_of(f, flat), in_bounds), shift = shift_of(f, flat);
  LLVMValueRef old = LLVMBuildLoad2(B, i8, pointer, ""), other = LLVMBuildLShr(B, LLVMConstInt(i8, 0xf0, 0), shift, "");
  LLVMValueRef half = LLVMBuildShl(B, LLVMBuildZExt(B, value, i8, ""), shift, "");
  LLVMBuildStore(B, LLVMBuildOr(B, LLVMBuildAnd(B, old, other, ""), half, ""), pointer);
}

static void store_if(emit_function *f, const emit_place *place, LLVMValueRef on, LLVMValueRef flat, LLVMValueRef value) {
  if (!on) {
    emit_packed_store(f, place->base, flat, value, place->proven);
    return;
  }
  LLVMBasicBlockRef then = emit_block(f, "store"), join = emit_block(f, "join");
  LLVMBuildCondBr(B, on, then, join);
  emit_at(f, then);
  emit_packed_store(f, place->base, flat, value, place->proven);
  LLVMBuildBr(B, join);
  emit_at(f, join);
}

static LLVMValueRef lane_of(emit_function *f, LLVMValueRef value, unsigned lane) {
  if (!value || emit_lanes(value) == 1) return value;
  return LLVMBuildExtractElement(B, value, LLVMConstInt(f->unit->i32, lane, 0), "");
}

void emit_store_packed(emit_function *f, const emit_place *place, LLVMValueRef value) {
  LLVMValueRef flat = place->flat.value;
  unsigned lanes = emit_lanes(value);
  if (lanes > 1 && emit_lanes(flat) == 1) flat = numbers_from(f, flat, lanes);
  /* In lane order, so that of several lanes that write one element the last one wins. */
  for (unsigned i = 0; i < lanes; i++) store_if(f, place, lane_of(f, place->on, i), lane_of(f, flat, i), lane_of(f, value, i));
}
