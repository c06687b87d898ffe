// SPDX-License-Identifier: Apache-2.0
/* ir/type_relate.c - how two types relate, and what both are instances of. Needs ir/type, ir/simplify. */
#include "base/vec.h"
#include "ir/infer.h"

static ir_type_relation worst(ir_type_relation a, ir_type_relation b) { return a > b ? a : b; }

/* WRITTEN is missing where it says less, INFERRED where the written one says more. */
static ir_type_relation relate_known(bool written, bool inferred) {
  if (written == inferred) return IR_TYPES_EQUAL;
  return inferred ? IR_TYPES_WEAKER : IR_TYPES_STRONGER;
}

static ir_type_relation relate_dim(ir_context *context, const ir_facts *facts, const ir_expr *written, const ir_expr *inferred) {
  if (written == inferred) return IR_TYPES_EQUAL;
  if (!written || !inferred) return relate_known(written, inferred);
  switch (ir_prove_equal(context, facts, written, inferred)) {
  case IR_PROVEN: return IR_TYPES_EQUAL;
  case IR_REFUTED: return IR_TYPES_CONTRADICT;
  case IR_UNKNOWN: return IR_TYPES_STRONGER;
  }
  return IR_TYPES_CONTRADICT;
}

static ir_type_relation relate_dims(ir_context *context, const ir_facts *facts, const ir_type *written, const ir_type *inferred) {
  if (!written->ranked || !inferred->ranked) return relate_known(written->ranked, inferred->ranked);
  if (written->count != inferred->count) return IR_TYPES_CONTRADICT;
  ir_type_relation result = IR_TYPES_EQUAL;
  for (size_t i = 0; i < written->count; i++) {
    result = worst(result, relate_dim(context, facts, ir_type_dim(written, i), ir_type_dim(inferred, i)));
  }
  return result;
}

static ir_type_relation relate_tensors(ir_context *context, const ir_facts *facts, const ir_type *written, const ir_type *inferred) {
  if (written->lanes != inferred->lanes) return IR_TYPES_CONTRADICT;
  ir_type_relation result = relate_dims(context, facts, written, inferred);
  if (written->dtype != inferred->dtype) {
    bool both = written->dtype != IR_DTYPE_UNKNOWN && inferred->dtype != IR_DTYPE_UNKNOWN;
    result = both ? IR_TYPES_CONTRADICT
                  : worst(result, relate_known(written->dtype != IR_DTYPE_UNKNOWN, inferred->dtype != IR_DTYPE_UNKNOWN));
  }
  if (written->device == inferred->device) return result;
  if (written->device && inferred->device) return IR_TYPES_CONTRADICT;
  return worst(result, relate_known(written->device, inferred->device));
}

static ir_type_relation relate_functions(ir_context *context, const ir_facts *facts, const ir_type *written, const ir_type *inferred) {
  if (!written->impure && inferred->impure) return IR_TYPES_CONTRADICT;
  ir_type_relation result = written->impure == inferred->impure ? IR_TYPES_EQUAL : IR_TYPES_WEAKER;
  if (!written->ranked || !inferred->ranked) return worst(result, relate_known(written->ranked, inferred->ranked));
  if (written->count != inferred->count || written->result_count != inferred->result_count) return IR_TYPES_CONTRADICT;
  /* Parameters the other way around: who takes more says more. */
  for (size_t i = 0; i < written->count; i++) {
    result = worst(result, ir_type_relate(context, facts, ir_type_field(inferred, i), ir_type_field(written, i)));
  }
  for (size_t i = 0; i < written->result_count; i++) {
    result = worst(result, ir_type_relate(context, facts, ir_type_result(written, i), ir_type_result(inferred, i)));
  }
  return result;
}

ir_type_relation ir_type_relate(ir_context *context, const ir_facts *facts, const ir_type *written, const ir_type *inferred) {
  if (written == inferred) return IR_TYPES_EQUAL;
  if (written->kind == IR_TYPE_ANY) return IR_TYPES_WEAKER;
  if (inferred->kind == IR_TYPE_ANY) return IR_TYPES_STRONGER;
  if (written->kind != inferred->kind) return IR_TYPES_CONTRADICT;
  switch (written->kind) {
  case IR_TYPE_ANY:
  case IR_TYPE_STORAGE:
  case IR_TYPE_SCALAR: break; /* interned: another scalar type contradicts */
  case IR_TYPE_TENSOR: return relate_tensors(context, facts, written, inferred);
  case IR_TYPE_SHAPE: return relate_dims(context, facts, written, inferred);
  case IR_TYPE_FUNC: return relate_functions(context, facts, written, inferred);
  case IR_TYPE_TUPLE: {
    if (written->count != inferred->count) break;
    ir_type_relation result = IR_TYPES_EQUAL;
    for (size_t i = 0; i < written->count; i++) {
      result = worst(result, ir_type_relate(context, facts, ir_type_field(written, i), ir_type_field(inferred, i)));
    }
    return result;
  }
  }
  return IR_TYPES_CONTRADICT;
}

/* Tensors and shapes of the same kind. */
static const ir_type *join_shaped(ir_context *context, const ir_facts *facts, const ir_type *a, const ir_type *b) {
  if (a->lanes != b->lanes) return context->any_type;
  ir_type_key key = {.kind = a->kind, .dtype = a->dtype, .lanes = a->lanes, .device = a->device};
  if (a->dtype != b->dtype) key.dtype = IR_DTYPE_UNKNOWN;
  if (a->device != b->device) key.device = NULL;
  if (!a->ranked || !b->ranked || a->count != b->count) return ir_type_get(context, &key);
  ir_arena scratch = {0};
  const void **dims = ir_new_array(&scratch, const void *, a->count);
  for (size_t i = 0; i < a->count; i++) {
    const ir_expr *x = ir_type_dim(a, i), *y = ir_type_dim(b, i);
    bool same = x == y || (x && y && ir_prove_equal(context, facts, x, y) == IR_PROVEN);
    dims[i] = same ? x : NULL;
  }
  key.ranked = true;
  key.count = a->count;
  key.items = dims;
  const ir_type *result = ir_type_get(context, &key);
  ir_arena_free(&scratch);
  return result;
}

static const ir_type *join_tuples(ir_context *context, const ir_facts *facts, const ir_type *a, const ir_type *b) {
  if (a->count != b->count) return context->any_type;
  ir_arena scratch = {0};
  const ir_type **fields = ir_new_array(&scratch, const ir_type *, a->count);
  for (size_t i = 0; i < a->count; i++) fields[i] = ir_type_join(context, facts, ir_type_field(a, i), ir_type_field(b, i));
  const ir_type *result = ir_type_tuple(context, a->count, fields);
  ir_arena_free(&scratch);
  return result;
}

/* The signature survives where both have the same; a function is impure where one of the two is. */
static const ir_type *join_functions(ir_context *context, const ir_facts *facts, const ir_type *a, const ir_type *b) {
  ir_type_key key = {.kind = IR_TYPE_FUNC, .dtype = IR_DTYPE_UNKNOWN, .impure = a->impure || b->impure};
  bool same = a->ranked && b->ranked && a->count == b->count && a->result_count == b->result_count;
  for (size_t i = 0; same && i < a->count; i++) {
    same = ir_type_relate(context, facts, ir_type_field(a, i), ir_type_field(b, i)) == IR_TYPES_EQUAL;
  }
  for (size_t i = 0; same && i < a->result_count; i++) {
    same = ir_type_relate(context, facts, ir_type_result(a, i), ir_type_result(b, i)) == IR_TYPES_EQUAL;
  }
  if (!same) return ir_type_get(context, &key);
  key.ranked = true;
  key.count = a->count;
  key.result_count = a->result_count;
  key.items = a->items;
  return ir_type_get(context, &key);
}

const ir_type *ir_type_join(ir_context *context, const ir_facts *facts, const ir_type *a, const ir_type *b) {
  if (a == b) return a;
  if (a->kind != b->kind) return context->any_type;
  switch (a->kind) {
  case IR_TYPE_ANY:
  case IR_TYPE_STORAGE:
  case IR_TYPE_SCALAR: break;
  case IR_TYPE_TENSOR:
  case IR_TYPE_SHAPE: return join_shaped(context, facts, a, b);
  case IR_TYPE_TUPLE: return join_tuples(context, facts, a, b);
  case IR_TYPE_FUNC: return join_functions(context, facts, a, b);
  }
  return context->any_type;
}
