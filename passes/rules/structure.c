// SPDX-License-Identifier: Apache-2.0
/* passes/rules/structure.c - rules for tuples, shapes, scalars and control flow. Needs ir/simplify. */
#include "passes/rules/rules.h"

static bool field_of_tuple(ir_rewriter *rw, ir_op *op) {
  ir_op *tuple = ir_value_op(ir_op_operand(op, 0));
  return ir_is(tuple, IR_TUPLE) && ir_replace1(rw, op, ir_op_operand(tuple, (size_t)ir_get_int(op, "index")));
}

/* tuple(t[0], t[1], ...) is t where it takes all fields in order. */
static bool tuple_of_fields(ir_rewriter *rw, ir_op *op) {
  ir_value *tuple = NULL;
  for (size_t i = 0; i < op->operand_count; i++) {
    ir_op *get = ir_value_op(ir_op_operand(op, i));
    if (!ir_is(get, IR_TUPLE_GET) || ir_get_int(get, "index") != (int64_t)i) return false;
    if (tuple && tuple != ir_op_operand(get, 0)) return false;
    tuple = ir_op_operand(get, 0);
  }
  return tuple && tuple->type->count == op->operand_count && ir_replace1(rw, op, tuple);
}

/* A match_cast to a type that the operand provably has binds nothing and checks nothing. */
static bool cast_to_known(ir_rewriter *rw, ir_op *op) {
  ir_value *x = ir_op_operand(op, 0);
  bool known = ir_type_relate(ir_op_context(op), rw->facts, ir_op_result(op, 0)->type, x->type) == IR_TYPES_EQUAL;
  return known && ir_replace1(rw, op, x);
}

static bool simplify_scalar(ir_rewriter *rw, ir_op *op) {
  const ir_expr *old = ir_get_expr(op, "value");
  const ir_expr *simple = ir_simplify(ir_op_context(op), rw->facts, old);
  if (simple == old) return false;
  ir_set(op, "value", ir_attr_expr(ir_op_context(op), simple));
  return true;
}

static bool if_constant(ir_rewriter *rw, ir_op *op) {
  uint64_t bits;
  ir_dtype dtype;
  if (op->result_count && op->region_count < 2) return false;
  if (!ir_const_splat(ir_op_operand(op, 0), &bits, &dtype)) return false;
  size_t taken = bits ? 0 : 1;
  if (taken >= op->region_count) return ir_replace(rw, op, NULL, 0);
  ir_region *region = ir_op_region(op, taken);
  ir_op *yield = ir_region_terminator(region);
  for (size_t i = 0; i < op->result_count; i++) {
    ir_value *value = ir_op_operand(yield, i);
    switch (ir_type_relate(ir_op_context(op), rw->facts, ir_op_result(op, i)->type, value->type)) {
    case IR_TYPES_EQUAL:
    case IR_TYPES_WEAKER: break;
    case IR_TYPES_STRONGER:
    case IR_TYPES_CONTRADICT: return false;
    }
  }
  for (size_t i = 0; i < op->result_count; i++) ir_value_replace(ir_op_result(op, i), ir_op_operand(yield, i));
  if (yield) ir_op_erase(yield);
  ir_each_op(moved, region) {
    ir_op_unlink(moved);
    ir_op_insert(op->region, op, moved);
  }
  ir_op_erase(op);
  return true;
}

/* The shape of a tensor whose extents are all known expressions. */
static bool known_shape(ir_rewriter *rw, ir_op *op) {
  const ir_type *type = ir_op_operand(op, 0)->type;
  if (!ir_type_is_sized(type)) return false;
  ir_builder b = ir_at(op);
  ir_value **extents = ir_new_array(rw->scratch, ir_value *, type->count);
  for (size_t i = 0; i < type->count; i++) extents[i] = ir_build_scalar(&b, ir_type_dim(type, i), NULL, 0);
  return ir_replace1(rw, op, ir_build1(&b, IR_SHAPE, extents, type->count, IR_NO_ATTRS));
}

const ir_rule ir_rules_structure[] = {
    {IR_TUPLE_GET, field_of_tuple, "tuple(a, b)[1] -> b"},
    {IR_TUPLE, tuple_of_fields, "tuple(t[0], t[1]) -> t"},
    {IR_MATCH_CAST, cast_to_known, "match_cast(x) -> x where x has that type"},
    {IR_SCALAR, simplify_scalar, "scalar expressions are simplified"},
    {IR_IF, if_constant, "if true { ... } -> its operations"},
    {IR_SHAPE_OF, known_shape, "shape_of(x) -> shape(...) where the extents are known"},
    {0},
};
