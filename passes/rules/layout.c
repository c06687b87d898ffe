// SPDX-License-Identifier: Apache-2.0
/* passes/rules/layout.c - rules for operators that only move elements. Needs ir/rewrite. */
#include "passes/rules/rules.h"

bool ir_same_type(ir_rewriter *rw, const ir_type *a, const ir_type *b) {
  return (ir_is_scalar(a) || ir_type_is_sized(a)) && ir_type_relate(ir_func_context(rw->func), rw->facts, a, b) == IR_TYPES_EQUAL;
}

/* An operator whose result has its operand's type, and that then is its operand. */
static bool same_as_operand(ir_rewriter *rw, ir_op *op) {
  ir_value *x = ir_op_operand(op, 0);
  return ir_same_type(rw, ir_op_result(op, 0)->type, x->type) && ir_replace1(rw, op, x);
}

/* The axes of a permute_dims; by default the reverse. */
static size_t axes_of(const ir_op *op, int64_t *axes, size_t most) {
  size_t rank = ir_op_operand(op, 0)->type->count;
  if (!ir_op_operand(op, 0)->type->ranked || rank > most) return 0;
  bool given = ir_get_count(op, "axes") == rank;
  for (size_t i = 0; i < rank; i++) {
    axes[i] = given ? ir_get_int_at(op, "axes", i) : (int64_t)(rank - 1 - i);
    if (axes[i] < 0) axes[i] += (int64_t)rank;
  }
  return rank;
}

enum { MOST_AXES = 32 };

static bool permute_identity(ir_rewriter *rw, ir_op *op) {
  int64_t axes[MOST_AXES];
  ir_value *x = ir_op_operand(op, 0);
  size_t rank = axes_of(op, axes, MOST_AXES);
  if (!rank && !(x->type->ranked && x->type->count == 0)) return false;
  for (size_t i = 0; i < rank; i++) {
    if (axes[i] != (int64_t)i) return false;
  }
  return ir_replace1(rw, op, x);
}

static bool permute_of_permute(ir_rewriter *rw, ir_op *op) {
  ir_value *x;
  ir_op *inner;
  int64_t outer_axes[MOST_AXES], inner_axes[MOST_AXES], axes[MOST_AXES];
  if (!ir_match(op, M_OP(PERMUTE_DIMS, M_BIND(&inner, PERMUTE_DIMS, M_ANY(&x))))) return false;
  size_t rank = axes_of(op, outer_axes, MOST_AXES);
  if (!rank || axes_of(inner, inner_axes, MOST_AXES) != rank) return false;
  for (size_t i = 0; i < rank; i++) axes[i] = inner_axes[outer_axes[i]];
  ir_builder b = ir_at(op);
  return ir_replace1(rw, op, ir_build1(&b, IR_PERMUTE_DIMS, IR_OPERANDS(x), IR_SET({"axes", ir_attr_ints(ir_op_context(op), rank, axes)})));
}

/* A chain of operators that keep the row-major order is one reshape. */
static bool view_of_view(ir_rewriter *rw, ir_op *op) {
  ir_op *inner = ir_value_op(ir_op_operand(op, 0));
  const ir_type *type = ir_op_result(op, 0)->type;
  bool plain = inner && ir_has(inner, IR_VIEW) && !ir_has(inner, IR_CHECKS) && ir_type_is_sized(type);
  if (!plain || !ir_is_tensor(ir_op_operand(inner, 0)->type)) return false;
  ir_value *x = ir_op_operand(inner, 0);
  if (ir_same_type(rw, type, x->type)) return ir_replace1(rw, op, x);
  ir_builder b = ir_at(op);
  const ir_attr *shape = ir_attr_dims(ir_op_context(op), type->count, ir_type_dims(type));
  return ir_replace1(rw, op, ir_build1(&b, IR_RESHAPE, IR_OPERANDS(x), IR_SET({"shape", shape})));
}

static bool concat_of_one(ir_rewriter *rw, ir_op *op) {
  return op->operand_count == 1 && ir_is_tensor(ir_op_operand(op, 0)->type) && ir_replace1(rw, op, ir_op_operand(op, 0));
}

static bool split_into_one(ir_rewriter *rw, ir_op *op) { return op->result_count == 1 && same_as_operand(rw, op); }

static bool whole_slice(ir_rewriter *rw, ir_op *op) {
  size_t count = ir_get_count(op, "begin");
  int64_t begin, stride;
  for (size_t i = 0; i < count; i++) {
    const ir_expr *from = ir_get_expr_at(op, "begin", i);
    const ir_expr *step = i < ir_get_count(op, "strides") ? ir_get_expr_at(op, "strides", i) : NULL;
    bool plain = from && ir_expr_is_int(from, &begin) && begin == 0 && (!step || (ir_expr_is_int(step, &stride) && stride == 1));
    if (!plain) return false;
  }
  return op->operand_count == 1 && same_as_operand(rw, op);
}

static bool pad_by_nothing(ir_rewriter *rw, ir_op *op) {
  for (size_t i = 0; i < ir_get_count(op, "pad_width"); i++) {
    if (ir_get_int_at(op, "pad_width", i)) return false;
  }
  return same_as_operand(rw, op);
}

const ir_rule ir_rules_layout[] = {
    {IR_PERMUTE_DIMS, permute_identity, "permute_dims(x, axes=[0, 1, ...]) -> x"},
    {IR_PERMUTE_DIMS, permute_of_permute, "permute_dims(permute_dims(x)) -> permute_dims(x)"},
    {IR_RESHAPE, same_as_operand, "reshape(x) -> x where the type is the same"},
    {IR_RESHAPE, view_of_view, "reshape(reshape(x)) -> reshape(x), and likewise flatten, expand_dims, squeeze"},
    {IR_FLATTEN, same_as_operand, "flatten(x) -> x where the type is the same"},
    {IR_FLATTEN, view_of_view, "flatten(reshape(x)) -> reshape(x)"},
    {IR_EXPAND_DIMS, same_as_operand, "expand_dims(x, axis=[]) -> x"},
    {IR_EXPAND_DIMS, view_of_view, "expand_dims(squeeze(x)) -> x or reshape(x)"},
    {IR_SQUEEZE, same_as_operand, "squeeze(x) -> x where nothing goes"},
    {IR_SQUEEZE, view_of_view, "squeeze(expand_dims(x)) -> x or reshape(x)"},
    {IR_BROADCAST_TO, same_as_operand, "broadcast_to(x) -> x where the type is the same"},
    {IR_CONCAT, concat_of_one, "concat(x) -> x"},
    {IR_SPLIT, split_into_one, "split(x, sections=1) -> x"},
    {IR_STRIDED_SLICE, whole_slice, "strided_slice(x) -> x where all of it is taken"},
    {IR_NN_PAD, pad_by_nothing, "nn.pad(x, pad_width=[0, ...]) -> x"},
    {0},
};
