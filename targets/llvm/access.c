// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/access.c - loads and stores; packed.c has those of i4 and u4. In a vectorized loop an access is one vector where neighbouring lanes touch
 * neighbouring elements, one element where they all touch the same, else a gather or a scatter. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

static LLVMTypeRef memory_type(emit_function *f, const emit_buffer *buffer, unsigned lanes) {
  return emit_memory_type(f->unit, buffer->dtype, lanes > 1 ? lanes : buffer->lanes);
}

static unsigned alignment(const emit_buffer *buffer) { return emit_size(buffer->dtype); }

static emit_value vector_value(LLVMValueRef value) { return (emit_value){.value = value, .varying = true}; }

static LLVMValueRef pointer_at(emit_function *f, const emit_place *place, LLVMValueRef flat) {
  LLVMTypeRef element = memory_type(f, place->buffer, place->buffer->width);
  return emit_element(f, element, place->base, flat, place->proven && !f->mask);
}

static LLVMValueRef load_at(emit_function *f, LLVMTypeRef type, LLVMValueRef pointer, unsigned align) {
  LLVMValueRef value = LLVMBuildLoad2(B, type, pointer, "");
  if (align) LLVMSetAlignment(value, align);
  return value;
}

static void store_at(emit_function *f, LLVMValueRef value, LLVMValueRef pointer, unsigned align) {
  LLVMValueRef store = LLVMBuildStore(B, value, pointer);
  if (align) LLVMSetAlignment(store, align);
}

static LLVMValueRef all_on(emit_function *f, unsigned lanes) {
  return emit_int_of(LLVMVectorType(f->unit->i1, lanes), 1);
}

static LLVMValueRef lane_number(emit_function *f, unsigned lane) { return LLVMConstInt(f->unit->i32, lane, 0); }

/* --- loads --- */

static LLVMValueRef masked_load(emit_function *f, LLVMTypeRef type, LLVMValueRef pointer, unsigned align, LLVMValueRef mask) {
  LLVMTypeRef types[] = {type, f->unit->ptr};
  LLVMValueRef args[] = {pointer, LLVMConstInt(f->unit->i32, align, 0), mask, LLVMConstNull(type)};
  return emit_intrinsic(f, "llvm.masked.load", 2, types, 4, args);
}

static LLVMValueRef gather(emit_function *f, const emit_place *place, LLVMValueRef flat, LLVMValueRef mask) {
  unsigned lanes = emit_lanes(flat);
  LLVMTypeRef type = memory_type(f, place->buffer, lanes);
  LLVMValueRef pointers = pointer_at(f, place, flat);
  LLVMTypeRef types[] = {type, LLVMTypeOf(pointers)};
  LLVMValueRef align = LLVMConstInt(f->unit->i32, alignment(place->buffer), 0);
  LLVMValueRef args[] = {pointers, align, mask ? mask : all_on(f, lanes), LLVMConstNull(type)};
  return emit_intrinsic(f, "llvm.masked.gather", 2, types, 4, args);
}

static LLVMValueRef reversed(emit_function *f, LLVMValueRef value) {
  LLVMValueRef *picks = ir_new_array(&f->scratch, LLVMValueRef, f->width);
  for (unsigned i = 0; i < f->width; i++) picks[i] = lane_number(f, f->width - 1 - i);
  return LLVMBuildShuffleVector(B, value, LLVMGetPoison(LLVMTypeOf(value)), LLVMConstVector(picks, f->width), "");
}

/* The place of lane 0 moved by OFFSET elements. */
static LLVMValueRef moved_pointer(emit_function *f, const emit_place *place, int64_t offset) {
  return pointer_at(f, place, LLVMBuildAdd(B, place->flat.value, emit_i64(f->unit, offset), ""));
}

/* Every other element: two vectors of neighbours, the second of which ends with the last element, so that nothing outside
 * is touched. */
static LLVMValueRef load_every_other(emit_function *f, const emit_place *place) {
  LLVMTypeRef type = memory_type(f, place->buffer, f->width);
  unsigned align = alignment(place->buffer), half = f->width / 2;
  LLVMValueRef low = load_at(f, type, moved_pointer(f, place, 0), align);
  LLVMValueRef high = load_at(f, type, moved_pointer(f, place, (int64_t)f->width - 1), align);
  LLVMValueRef *picks = ir_new_array(&f->scratch, LLVMValueRef, f->width);
  for (unsigned i = 0; i < f->width; i++) picks[i] = lane_number(f, i < half ? 2 * i : f->width + 2 * (i - half) + 1);
  return LLVMBuildShuffleVector(B, low, high, LLVMConstVector(picks, f->width), "");
}

static LLVMValueRef load_backwards(emit_function *f, const emit_place *place) {
  LLVMTypeRef type = memory_type(f, place->buffer, f->width);
  LLVMValueRef pointer = moved_pointer(f, place, 1 - (int64_t)f->width);
  return reversed(f, load_at(f, type, pointer, alignment(place->buffer)));
}

/* Elements a step apart, one by one where nothing better is known. */
static LLVMValueRef strided_load(emit_function *f, const emit_place *place) {
  int64_t known;
  bool constant = emit_is_const(place->flat.step, &known);
  if (constant && known == 2) return load_every_other(f, place);
  if (constant && known == -1) return load_backwards(f, place);
  LLVMTypeRef element = memory_type(f, place->buffer, 1);
  LLVMValueRef base = pointer_at(f, place, place->flat.value), step = place->flat.step;
  LLVMValueRef result = LLVMGetPoison(LLVMVectorType(element, f->width));
  for (unsigned i = 0; i < f->width; i++) {
    LLVMValueRef offset = LLVMBuildMul(B, step, emit_i64(f->unit, i), "");
    LLVMValueRef at = emit_element(f, element, base, offset, place->proven);
    result = LLVMBuildInsertElement(B, result, load_at(f, element, at, alignment(place->buffer)), lane_number(f, i), "");
  }
  return result;
}

/* Lanes that are off may be read and written back too: the memory is ours and they are inside. Plain accesses can become
 * registers, masked ones cannot. */
static bool whole_on_stack(const emit_function *f, const emit_place *place) {
  int64_t first;
  const emit_buffer *buffer = place->buffer;
  return emit_is_const(place->flat.value, &first) && first >= 0 && first + (int64_t)f->width <= buffer->on_stack;
}

static LLVMValueRef contiguous_load(emit_function *f, const emit_place *place) {
  LLVMTypeRef type = memory_type(f, place->buffer, f->width);
  LLVMValueRef pointer = pointer_at(f, place, place->flat.value);
  unsigned align = alignment(place->buffer);
  bool plain = !f->mask || whole_on_stack(f, place);
  return plain ? load_at(f, type, pointer, align) : masked_load(f, type, pointer, align, f->mask);
}

static emit_value load_lanes(emit_function *f, const emit_place *place) {
  int64_t step;
  if (place->buffer->width > 1) {
    LLVMTypeRef type = memory_type(f, place->buffer, place->buffer->width);
    return vector_value(load_at(f, type, pointer_at(f, place, place->flat.value), 0));
  }
  if (place->flat.varying) return vector_value(gather(f, place, place->flat.value, f->mask));
  if (!place->flat.step) {
    return emit_uniform_value(load_at(f, memory_type(f, place->buffer, 1), pointer_at(f, place, place->flat.value), alignment(place->buffer)));
  }
  if (emit_is_const(place->flat.step, &step) && step == 1) return vector_value(contiguous_load(f, place));
  if (f->mask) return vector_value(gather(f, place, emit_spread(f, place->flat), f->mask));
  return vector_value(strided_load(f, place));
}

emit_value emit_load(emit_scope *scope, const ir_expr *load) {
  emit_function *f = scope->f;
  emit_place place = emit_find_place(scope, ir_op_operand(scope->op, load->arg), load->count, load->kids, false);
  if (!place.buffer) return emit_uniform_value(LLVMGetPoison(emit_type(f->unit, (ir_dtype)load->dtype, load->lanes)));
  emit_value result;
  if (emit_is_packed(place.buffer->dtype) && place.buffer->width <= 1) return emit_load_packed(f, &place);
  if (f->width > 1) {
    result = load_lanes(f, &place);
  } else if (place.flat.varying) {
    result = emit_uniform_value(gather(f, &place, place.flat.value, NULL));
  } else {
    LLVMTypeRef type = memory_type(f, place.buffer, place.ramp);
    result = emit_uniform_value(load_at(f, type, pointer_at(f, &place, place.flat.value), alignment(place.buffer)));
  }
  result.value = emit_from_memory(f, result.value, place.buffer->dtype);
  return result;
}

/* --- stores --- */

static void scatter(emit_function *f, const emit_place *place, LLVMValueRef flat, LLVMValueRef value, LLVMValueRef mask) {
  LLVMValueRef pointers = pointer_at(f, place, flat);
  LLVMTypeRef types[] = {LLVMTypeOf(value), LLVMTypeOf(pointers)};
  LLVMValueRef align = LLVMConstInt(f->unit->i32, alignment(place->buffer), 0);
  LLVMValueRef args[] = {value, pointers, align, mask ? mask : all_on(f, emit_lanes(value))};
  emit_intrinsic(f, "llvm.masked.scatter", 2, types, 4, args);
}

static void strided_store(emit_function *f, const emit_place *place, LLVMValueRef value) {
  int64_t known;
  if (emit_is_const(place->flat.step, &known) && known == -1) {
    store_at(f, reversed(f, value), moved_pointer(f, place, 1 - (int64_t)f->width), alignment(place->buffer));
    return;
  }
  LLVMTypeRef element = memory_type(f, place->buffer, 1);
  LLVMValueRef base = pointer_at(f, place, place->flat.value), step = place->flat.step;
  for (unsigned i = 0; i < f->width; i++) {
    LLVMValueRef offset = LLVMBuildMul(B, step, emit_i64(f->unit, i), "");
    LLVMValueRef at = emit_element(f, element, base, offset, place->proven);
    store_at(f, LLVMBuildExtractElement(B, value, lane_number(f, i), ""), at, alignment(place->buffer));
  }
}

/* Lanes that write: those that are on and whose access is in range. NULL: all. */
static LLVMValueRef writing(emit_function *f, const emit_place *place) {
  LLVMValueRef on = place->on;
  if (on && emit_lanes(on) == 1) on = emit_splat(f, on, f->width);
  if (on && f->mask) return LLVMBuildAnd(B, on, f->mask, "");
  return on ? on : f->mask;
}

void emit_store_lanes(emit_function *f, const emit_place *place, LLVMValueRef value) {
  LLVMValueRef mask = writing(f, place);
  unsigned align = alignment(place->buffer);
  int64_t step;
  if (place->buffer->width > 1) {
    LLVMValueRef pointer = pointer_at(f, place, place->flat.value);
    if (mask) {
      LLVMValueRef old = load_at(f, LLVMTypeOf(value), pointer, 0);
      value = LLVMBuildSelect(B, mask, value, old, "");
    }
    store_at(f, value, pointer, 0);
    return;
  }
  bool next = place->flat.step && emit_is_const(place->flat.step, &step) && step == 1;
  if (next && mask && whole_on_stack(f, place)) {
    LLVMValueRef pointer = pointer_at(f, place, place->flat.value);
    LLVMValueRef old = load_at(f, LLVMTypeOf(value), pointer, align);
    store_at(f, LLVMBuildSelect(B, mask, value, old, ""), pointer, align);
  } else if (next && mask) {
    LLVMTypeRef types[] = {LLVMTypeOf(value), f->unit->ptr};
    LLVMValueRef pointer = pointer_at(f, place, place->flat.value);
    LLVMValueRef args[] = {value, pointer, LLVMConstInt(f->unit->i32, align, 0), mask};
    emit_intrinsic(f, "llvm.masked.store", 2, types, 4, args);
  } else if (next) {
    store_at(f, value, pointer_at(f, place, place->flat.value), align);
  } else if (place->flat.step && !mask) {
    strided_store(f, place, value);
  } else {
    /* In lane order, so that of several lanes that write one element the last one wins, as in the loop. */
    scatter(f, place, emit_spread(f, place->flat), value, mask);
  }
}

void emit_store_block(emit_function *f, const emit_place *place, LLVMValueRef block) {
  store_at(f, block, pointer_at(f, place, place->flat.value), alignment(place->buffer));
}

/* Under a condition that is a scalar. */
static void store_if(emit_function *f, LLVMValueRef on, LLVMValueRef value, LLVMValueRef pointer, unsigned align) {
  LLVMBasicBlockRef then = emit_block(f, "store"), join = emit_block(f, "join");
  LLVMBuildCondBr(B, on, then, join);
  emit_at(f, then);
  store_at(f, value, pointer, align);
  LLVMBuildBr(B, join);
  emit_at(f, join);
}

void emit_store(emit_scope *scope, ir_value *target, size_t count, const ir_expr *const *index, const ir_expr *value) {
  emit_function *f = scope->f;
  emit_value v = emit_expr(scope, value);
  emit_place place = emit_find_place(scope, target, count, index, true);
  if (!place.buffer) return;
  if (emit_is_packed(place.buffer->dtype) && place.buffer->width <= 1) {
    emit_store_packed(f, &place, v.value);
    return;
  }
  if (f->width > 1) {
    LLVMValueRef lanes = emit_to_memory(f, emit_spread(f, v), place.buffer->dtype);
    if (!emit_interleave(f, scope->op, &place, lanes)) emit_store_lanes(f, &place, lanes);
    return;
  }
  LLVMValueRef stored = emit_to_memory(f, v.value, place.buffer->dtype);
  if (place.flat.varying) {
    LLVMValueRef on = place.on && emit_lanes(place.on) == 1 ? emit_splat(f, place.on, emit_lanes(stored)) : place.on;
    scatter(f, &place, place.flat.value, stored, on);
    return;
  }
  LLVMValueRef pointer = pointer_at(f, &place, place.flat.value);
  unsigned align = alignment(place.buffer);
  if (place.on) {
    store_if(f, place.on, stored, pointer, align);
  } else {
    store_at(f, stored, pointer, align);
  }
}
