// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose_move.c - operators that move elements, made of simpler ones. */
#include "passes/lower/compose.h"

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
