// SPDX-License-Identifier: Apache-2.0
/* passes/nests.c - how compute nests touch buffers. Needs ir/op. */
#include "passes/nests.h"

struct access_check {
  const ir_op *op;
  const ir_value *buffer;
  const ir_region *region;
  size_t common; /* leading indices that are the leading axes in order */
};

static void check_load(void *user, const ir_expr *node) {
  struct access_check *check = user;
  if (node->code != IR_S_LOAD || ir_op_operand(check->op, node->arg) != check->buffer) return;
  size_t i = 0;
  while (i < node->count && i < check->common) {
    const ir_expr *index = node->kids[i];
    if (index->code != IR_S_ARG || ir_op_operand(check->op, index->arg) != check->region->args[i]) break;
    i++;
  }
  check->common = i;
}

static void check_attr(struct access_check *check, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(ir_op_context(check->op), attr->expr, check_load, check);
  if (attr->kind != IR_ATTR_LIST) return;
  for (size_t i = 0; i < attr->count; i++) check_attr(check, attr->items[i]);
}

bool ir_nest_touches(const ir_op *compute, const ir_value *buffer) {
  ir_each_op(op, ir_op_region(compute, 0)) {
    for (size_t i = 0; i < op->operand_count; i++) {
      if (ir_op_operand(op, i) == buffer) return true;
    }
  }
  return false;
}

size_t ir_nest_common_axes(const ir_op *compute, const ir_value *buffer) {
  const ir_region *region = ir_op_region(compute, 0);
  size_t common = region->spatial_count;
  ir_each_op(op, region) {
    struct access_check check = {.op = op, .buffer = buffer, .region = region, .common = common};
    for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) check_attr(&check, ir_op_slots(op)[i]);
    common = check.common;
    size_t targets = ir_is(op, IR_STORE) ? (size_t)ir_get_int(op, "targets") : 0;
    for (size_t t = 0; t < targets; t++) {
      if (ir_op_operand(op, t) != buffer) continue;
      const ir_attr *index = ir_get(op, "index")->items[t];
      size_t i = 0;
      for (; i < index->count && i < common; i++) {
        const ir_expr *at = ir_attr_as_expr(ir_op_context(op), index->items[i]);
        if (at->code != IR_S_ARG || ir_op_operand(op, at->arg) != region->args[i]) break;
      }
      common = i;
    }
  }
  return common;
}

bool ir_nest_same_extent(ir_context *context, const ir_facts *facts, ir_value *a, ir_value *b) {
  if (a == b) return true;
  const ir_expr *x = ir_value_closed_expr(a), *y = ir_value_closed_expr(b);
  return x && y && ir_prove_equal(context, facts, x, y) == IR_PROVEN;
}
