// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose_move.c - operators that move elements, made of simpler ones. */
#include "passes/lower/compose.h"

/* On one axis, indices out of range clamp to the first and the last element, and messages speak of the index given. */
bool decompose_flat_take(ir_builder *b, ir_op *op) {
  ir_value *flat = ir_build1(b, IR_FLATTEN, IR_OPERANDS(ir_op_operand(op, 0)), IR_NO_ATTRS);
  return IR_COMPOSED(op, ir_build1(b, IR_TAKE, IR_OPERANDS(flat, ir_op_operand(op, 1)), IR_SET({"axis", ir_attr_int(b->module->context, 0)})));
}
