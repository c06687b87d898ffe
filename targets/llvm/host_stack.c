// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_stack.c - what the rounds of a loop stack up: memory for all rounds where their number and the extents
 * are known before the first, else memory that grows. */
#include "ir/print.h"
#include "targets/llvm/host.h"

#define B (h->f.builder)

struct host_stack {
  const ir_type *type; /* of all rounds */
  ir_range range;
  host_owner *owner;
  LLVMValueRef data, rows; /* variables: the memory, and for how many rounds there is room */
  LLVMValueRef *dims;      /* variables, one for each axis of a round's output; -1: not known yet */
  bool grows;
};

static LLVMValueRef number(host *h, LLVMValueRef variable) { return LLVMBuildLoad2(B, h->f.unit->i64, variable, ""); }

/* Memory for ROWS rounds, in SLOT. */
static LLVMValueRef allocate(host *h, const host_stack *s, LLVMValueRef slot, LLVMValueRef rows) {
  LLVMValueRef *dims = ir_new_array(&h->f.scratch, LLVMValueRef, s->type->count);
  dims[0] = rows;
  for (size_t i = 1; i < s->type->count; i++) dims[i] = number(h, s->dims[i - 1]);
  return emit_allocate_tensor(&h->f, slot, s->range, ir_type_text(&h->f.scratch, s->type), ir_type_dtype(s->type), s->type->count, dims);
}

host_stack *host_stack_begin(host *h, ir_range range, const ir_type *type, LLVMValueRef rounds) {
  emit_unit *unit = h->f.unit;
  if (!host_new(h, range, type)) return NULL;
  host_stack *s = ir_new(&h->f.arena, host_stack);
  *s = (host_stack){.type = type, .range = range, .owner = host_own(h, h->region), .grows = !rounds};
  s->data = emit_stack(&h->f, unit->ptr, 0, "stacked");
  s->rows = emit_stack(&h->f, unit->i64, 0, "room");
  s->dims = ir_new_array(&h->f.arena, LLVMValueRef, type->count);
  for (size_t i = 1; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    s->dims[i - 1] = emit_stack(&h->f, unit->i64, 0, "extent");
    LLVMBuildStore(B, dim ? host_extent(h, range, dim) : emit_i64(unit, -1), s->dims[i - 1]);
    s->grows |= !dim;
  }
  LLVMValueRef rows = s->grows ? emit_i64(unit, 0) : rounds;
  LLVMValueRef memory = s->grows ? emit_allocate(&h->f, s->owner->slot, rows) : allocate(h, s, s->owner->slot, rows);
  LLVMBuildStore(B, memory, s->data);
  LLVMBuildStore(B, rows, s->rows);
  return s;
}

/* The first round tells extents that are not known; every other one must have them. Returns the number of elements. */
static LLVMValueRef check_extents(host *h, const host_stack *s, const host_value *value) {
  emit_unit *unit = h->f.unit;
  LLVMValueRef count = emit_i64(unit, 1);
  for (size_t d = 0; d < value->count; d++) {
    LLVMValueRef expected = number(h, s->dims[d]), actual = value->dims[d];
    if (!ir_type_dim(s->type, d + 1)) {
      expected = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, expected, emit_i64(unit, 0), ""), actual, expected, "");
      LLVMBuildStore(B, expected, s->dims[d]);
    }
    const char *text = ir_arena_printf(&h->f.arena, "a stacked output has extent {0} on axis %zu, expected {1}", d);
    emit_require(&h->f, LLVMBuildICmp(B, LLVMIntEQ, actual, expected, ""), s->range, NULL, text, 2, (LLVMValueRef[]){actual, expected});
    count = LLVMBuildMul(B, count, actual, "");
  }
  return count;
}

/* Twice the room where round ROUND has none; it is known that ROUND times COUNT elements are a size. */
static void grow(host *h, const host_stack *s, LLVMValueRef round, LLVMValueRef count) {
  enum { FIRST_ROWS = 16 };
  emit_unit *unit = h->f.unit;
  LLVMBasicBlockRef more = emit_block(&h->f, "grow"), join = emit_block(&h->f, "grown");
  LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, round, number(h, s->rows), ""), join, more);
  emit_at(&h->f, more);
  LLVMValueRef none = LLVMBuildICmp(B, LLVMIntEQ, round, emit_i64(unit, 0), "");
  LLVMValueRef rows = LLVMBuildSelect(B, none, emit_i64(unit, FIRST_ROWS), LLVMBuildMul(B, round, emit_i64(unit, 2), ""), "");
  LLVMValueRef slot = emit_slot(&h->f), memory = allocate(h, s, slot, rows);
  LLVMValueRef old = LLVMBuildLoad2(B, unit->ptr, s->data, "");
  host_copy(h, memory, old, emit_size_of(unit, B, ir_type_dtype(s->type), LLVMBuildMul(B, round, count, "")));
  emit_release(&h->f, s->owner->slot);
  LLVMBuildStore(B, memory, s->owner->slot);
  LLVMBuildStore(B, LLVMConstNull(unit->ptr), slot);
  LLVMBuildStore(B, memory, s->data);
  LLVMBuildStore(B, rows, s->rows);
  LLVMBuildBr(B, join);
  emit_at(&h->f, join);
}

/* Element by element: a round's output may begin in the middle of a byte. */
static void push_packed(host *h, LLVMValueRef data, LLVMValueRef first, LLVMValueRef count, const host_value *value) {
  emit_function *f = &h->f;
  if (ir_is_scalar(value->type)) {
    emit_packed_store(f, data, first, value->data, true);
    return;
  }
  emit_loop loop = emit_loop_begin(f, emit_i64(f->unit, 0), count, 1, "element");
  LLVMValueRef element = emit_packed_load(f, value->data, loop.counter, true);
  emit_packed_store(f, data, LLVMBuildAdd(B, first, loop.counter, ""), element, true);
  emit_loop_end(f, &loop);
}

void host_stack_push(host *h, host_stack *s, LLVMValueRef round, const host_value *value) {
  emit_unit *unit = h->f.unit;
  ir_dtype dtype = ir_type_dtype(s->type);
  LLVMValueRef count = check_extents(h, s, value);
  if (s->grows) grow(h, s, round, count);
  LLVMValueRef data = LLVMBuildLoad2(B, unit->ptr, s->data, "");
  if (emit_is_packed(dtype)) {
    push_packed(h, data, LLVMBuildMul(B, round, count, ""), count, value);
    return;
  }
  LLVMValueRef bytes = emit_size_of(unit, B, dtype, count);
  LLVMValueRef at = emit_element(&h->f, unit->i8, data, LLVMBuildMul(B, round, bytes, ""), true);
  if (ir_is_scalar(value->type)) {
    host_store(h, value->data, at, dtype);
  } else {
    host_copy(h, at, value->data, bytes);
  }
}

host_value *host_stack_end(host *h, host_stack *s, LLVMValueRef rounds) {
  emit_unit *unit = h->f.unit;
  host_value *value = host_new(h, s->range, s->type);
  value->dims[0] = rounds;
  for (size_t d = 1; d < value->count; d++) {
    value->dims[d] = number(h, s->dims[d - 1]);
    if (ir_type_dim(s->type, d)) continue;
    const char *text = ir_arena_printf(&h->f.arena, "loop: no rounds, and the extent of axis %zu of a stacked output is not known", d);
    emit_require(&h->f, LLVMBuildICmp(B, LLVMIntSGE, value->dims[d], emit_i64(unit, 0), ""), s->range, NULL, text, 0, NULL);
  }
  value->data = LLVMBuildLoad2(B, unit->ptr, s->data, "");
  host_owners_add(h, &value->owners, s->owner);
  return value;
}
