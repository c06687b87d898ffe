// SPDX-License-Identifier: Apache-2.0
/* passes/rewrite_dataflow_reshape.c - reshape and the like move nothing: in a host program they are views of memory. Needs
 * nothing; results whose extents only the data tells stay as they are. */
#include "passes/pass.h"

enum { VIEWS };

static bool rewrite(ir_pass_run *run, ir_op *op) {
  if (!ir_is_view_operator(op)) return false;
  const ir_type *type = ir_op_result(op, 0)->type;
  if (!ir_type_is_sized(type)) return false;
  ir_builder b = ir_before(op);
  ir_op *view = ir_build_with(&b, IR_HOST_VIEW, IR_OPERANDS(ir_op_operand(op, 0)), IR_NO_ATTRS, NULL, 0, &type, 1);
  if (ir_op_dict(op)) ir_op_set_dict(view, ir_op_dict(op));
  ir_value_replace(ir_op_result(op, 0), ir_op_result(view, 0));
  ir_op_erase(op);
  return ir_count(run, VIEWS);
}

const ir_pass ir_pass_rewrite_dataflow_reshape = {
    .name = "rewrite-dataflow-reshape",
    .doc = "Turn reshape and other operators that move nothing into views of memory.",
    .each_op = rewrite,
    .order = IR_PRE_ORDER,
    .needs = IR_PROPERTY_BUFFERS,
    .stats = STATS({"views", "operators made into views"}),
};
