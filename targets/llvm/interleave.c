// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/interleave.c - stores of lanes that stand a few elements apart, and beside each other fill the gaps: the first
 * wait for the last, then all go to memory as one vector. Between them stand only scalars and stores that touch other memory. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

/* Whether EXPR (of OP) loads from BUFFER. */
struct loads {
  const ir_op *op;
  const ir_value *buffer;
  bool found;
};

static void see_node(void *user, const ir_expr *node) {
  struct loads *l = user;
  if (node->code == IR_S_LOAD) l->found |= ir_op_operand(l->op, node->arg) == l->buffer;
}

static bool loads_from(emit_function *f, const ir_op *op, const ir_value *buffer) {
  struct loads l = {op, buffer, false};
  if (ir_is(op, IR_SCALAR)) ir_expr_walk(f->unit->context, ir_get_expr(op, "value"), see_node, &l);
  if (!ir_is(op, IR_STORE)) return l.found;
  ir_expr_walk(f->unit->context, ir_get_expr_at(op, "args", 0), see_node, &l);
  const ir_attr *index = ir_get(op, "index")->items[0];
  for (size_t i = 0; i < index->count; i++) ir_expr_walk(f->unit->context, ir_attr_as_expr(f->unit->context, index->items[i]), see_node, &l);
  return l.found;
}

static const ir_expr *index_at(emit_function *f, const ir_op *store, size_t i) {
  const ir_attr *index = ir_get(store, "index")->items[0];
  return ir_proofs_frame(&f->proofs, store, ir_attr_as_expr(f->unit->context, index->items[i]));
}

/* B stores BY elements behind A. */
static bool is_behind(emit_function *f, const ir_op *a, const ir_op *b, int64_t by) {
  ir_context *context = f->unit->context;
  size_t rank = ir_get(a, "index")->items[0]->count;
  for (size_t i = 0; i + 1 < rank; i++) {
    if (index_at(f, a, i) != index_at(f, b, i)) return false;
  }
  const ir_expr *last = ir_expr_binary(context, IR_S_ADD, index_at(f, a, rank - 1), ir_expr_i64(context, by));
  return ir_prove_equal(context, f->proofs.facts, last, index_at(f, b, rank - 1)) == IR_PROVEN;
}

/* Finds the stores that belong to FIRST, whose lanes are STEP elements apart. */
static bool find_group(emit_function *f, const ir_op *first, int64_t step, emit_strided *group) {
  const ir_value *buffer = ir_op_operand(first, 0);
  *group = (emit_strided){.ops = {first}, .count = 1};
  if (!ir_get(first, "index")->items[0]->count || loads_from(f, first, buffer)) return false;
  for (const ir_op *op = first->next; op && group->count < (size_t)step; op = op->next) {
    bool member = ir_is(op, IR_STORE) && ir_op_operand(op, 0) == buffer;
    if ((!ir_is(op, IR_SCALAR) && !ir_is(op, IR_STORE)) || loads_from(f, op, buffer)) return false;
    if (!member) continue;
    if (!is_behind(f, first, op, (int64_t)group->count)) return false;
    group->ops[group->count++] = op;
  }
  return group->count == (size_t)step;
}

/* A and B behind each other. */
static LLVMValueRef both(emit_function *f, LLVMValueRef a, LLVMValueRef b) {
  unsigned lanes = emit_lanes(a);
  LLVMValueRef *picks = ir_new_array(&f->scratch, LLVMValueRef, 2 * lanes);
  for (unsigned i = 0; i < 2 * lanes; i++) picks[i] = LLVMConstInt(f->unit->i32, i, 0);
  return LLVMBuildShuffleVector(B, a, b, LLVMConstVector(picks, 2 * lanes), "");
}

static LLVMValueRef interleaved(emit_function *f, const emit_strided *group) {
  unsigned width = f->width, count = (unsigned)group->count;
  LLVMValueRef low = group->values[0], high = group->values[1];
  if (count > 2) {
    low = both(f, low, high);
    high = both(f, group->values[2], group->values[count - 1]);
  }
  LLVMValueRef *picks = ir_new_array(&f->scratch, LLVMValueRef, count * width);
  for (unsigned i = 0; i < count * width; i++) picks[i] = LLVMConstInt(f->unit->i32, i % count * width + i / count, 0);
  return LLVMBuildShuffleVector(B, low, high, LLVMConstVector(picks, count * width), "");
}

static bool is_plain(const emit_place *place, int64_t step) {
  int64_t known;
  return !place->on && !place->flat.varying && place->flat.step && emit_is_const(place->flat.step, &known) && known == step;
}

static void finish(emit_function *f) {
  emit_strided group = f->strided;
  f->strided.count = 0;
  bool plain = true;
  for (size_t i = 0; i < group.count; i++) plain &= is_plain(&group.places[i], (int64_t)group.count);
  if (plain) {
    emit_store_block(f, &group.places[0], interleaved(f, &group));
    return;
  }
  for (size_t i = 0; i < group.count; i++) emit_store_lanes(f, &group.places[i], group.values[i]);
}

bool emit_interleave(emit_function *f, const ir_op *op, const emit_place *place, LLVMValueRef value) {
  emit_strided *group = &f->strided;
  if (!group->count) {
    int64_t step;
    bool fits = !f->mask && place->buffer->width == 1 && place->flat.step && emit_is_const(place->flat.step, &step) && step > 1 &&
                step <= EMIT_MOST_STRIDED && is_plain(place, step);
    if (!fits || !ir_is(op, IR_STORE) || !find_group(f, op, step, group)) {
      group->count = 0;
      return false;
    }
    group->filled = 0;
  }
  if (group->ops[group->filled] != op) return false;
  group->places[group->filled] = *place;
  group->values[group->filled++] = value;
  if (group->filled == group->count) finish(f);
  return true;
}
