// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose_move.c - operators that move elements, made of simpler ones. */
#include "passes/lower/compose.h"

#include "ir/symbols.h"

/* On one axis, indices out of range clamp to the first and the last element, and messages speak of the index given. */
bool decompose_flat_take(ir_builder *b, ir_op *op) {
  ir_value *flat = ir_build1(b, IR_FLATTEN, IR_OPERANDS(ir_op_operand(op, 0)), IR_NO_ATTRS);
  return IR_COMPOSED(b, op, ir_build1(b, IR_TAKE, IR_OPERANDS(flat, ir_op_operand(op, 1)), IR_SET({"axis", ir_attr_int(b->module->context, 0)})));
}

/* The operator OP over the flattened operand, along its only axis. */
static ir_value *over_flat(ir_builder *b, const ir_op *op, const ir_named_attr *attrs, size_t count) {
  ir_value *flat = IR_MAKE(b, IR_FLATTEN, ir_op_operand(op, 0));
  return ir_build1(b, (ir_opcode)op->code, IR_OPERANDS(flat), attrs, count);
}

bool decompose_flat_repeat(ir_builder *b, ir_op *op) {
  return IR_COMPOSED(b, op, over_flat(b, op, IR_SET({"axis", ir_attr_int(b->module->context, 0)}, {"repeats", ir_get(op, "repeats")})));
}

bool decompose_flat_scan(ir_builder *b, ir_op *op) {
  const ir_attr *axis = ir_attr_int(b->module->context, 0);
  return IR_COMPOSED(b, op, over_flat(b, op, IR_SET({"axis", axis}, {"dtype", ir_get(op, "dtype")}, {"exclusive", ir_get(op, "exclusive")})));
}

bool decompose_stack(ir_builder *b, ir_op *op) {
  int rank = ir_compose_rank(op, 0);
  if (rank < 0) return false;
  ir_context *context = b->module->context;
  const int64_t axis[] = {(int64_t)ir_lower_normal_axis(op, "axis", (size_t)rank + 1)};
  ir_arena scratch = {0};
  ir_value **parts = ir_new_array(&scratch, ir_value *, op->operand_count);
  for (size_t i = 0; i < op->operand_count; i++) {
    parts[i] = ir_build1(b, IR_EXPAND_DIMS, IR_OPERANDS(ir_op_operand(op, i)), IR_SET({"axis", ir_attr_ints(context, 1, axis)}));
  }
  ir_value *y = ir_build1(b, IR_CONCAT, parts, op->operand_count, IR_SET({"axis", ir_attr_int(context, axis[0])}));
  ir_arena_free(&scratch);
  return IR_COMPOSED(b, op, y);
}

/* The elements are counted, the number is read back as a symbol, and so many places are looked for. */
bool decompose_nonzero(ir_builder *b, ir_op *op) {
  if (ir_compose_rank(op, 0) < 0) return false;
  ir_context *context = b->module->context;
  ir_value *x = ir_op_operand(op, 0), *count = ir_make_cast(b, ir_make_cast(b, x, IR_BOOL), IR_I64);
  const ir_expr *one = ir_expr_i64(context, 1), *symbol = ir_func_fresh_symbol(ir_op_func(op), "nonzero");
  const ir_type *type = ir_type_shape(context, 1, &symbol);
  ir_value *shape = IR_MAKE(b, IR_TENSOR_TO_SHAPE, ir_make_reshape(b, IR_MAKE(b, IR_SUM, count), 1, &one));
  if (!shape) return false;
  ir_build_with(b, IR_MATCH_CAST, &shape, 1, IR_NO_ATTRS, NULL, 0, &type, 1);
  return IR_COMPOSED(b, op, ir_build1(b, IR_NONZERO, IR_OPERANDS(x), IR_SET({"size", ir_attr_expr(context, symbol)})));
}
