// SPDX-License-Identifier: Apache-2.0
/* passes/to_non_dataflow.c - put what is in dataflow regions in the place of the region. Needs nothing. */
#include "passes/pass.h"

enum { DISSOLVED };

static bool dissolve(ir_pass_run *run, ir_op *op) {
  if (!ir_is(op, IR_DATAFLOW)) return false;
  ir_region *inner = ir_op_region(op, 0);
  ir_op *yield = ir_region_terminator(inner);
  for (size_t i = 0; i < op->result_count; i++) ir_value_replace(ir_op_result(op, i), ir_op_operand(yield, i));
  ir_op_erase(yield);
  ir_each_op(moved, inner) {
    ir_op_unlink(moved);
    ir_op_insert(op->region, op, moved);
  }
  ir_op_erase(op);
  return ir_count(run, DISSOLVED);
}

const ir_pass ir_pass_to_non_dataflow = {
    .name = "to-non-dataflow",
    .doc = "Put the operations of dataflow regions in the place of the region.",
    .each_op = dissolve,
    .order = IR_POST_ORDER,
    .stats = STATS({"dissolved", "dataflow regions"}),
};
