// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose_sort.c - sorting and picking, made of the order of elements. */
#include "passes/lower/compose.h"

/* The indices that order the operand; as i64, for look-ups. */
static ir_value *order(ir_builder *b, const ir_op *op, const ir_attr *axis, bool descending) {
  ir_context *context = b->module->context;
  return ir_build1(b, IR_ARGSORT, IR_OPERANDS(ir_op_operand(op, 0)),
                   IR_SET({"axis", axis}, {"descending", ir_attr_bool(context, descending)}, {"dtype", ir_attr_dtype(context, IR_I64)}));
}

bool decompose_sort(ir_builder *b, ir_op *op) {
  ir_value *indices = order(b, op, ir_get(op, "axis"), ir_get_bool(op, "descending"));
  return IR_COMPOSED(b, op, ir_build1(b, IR_GATHER_ELEMENTS, IR_OPERANDS(ir_op_operand(op, 0), indices), IR_SET({"axis", ir_get(op, "axis")})));
}

bool decompose_topk(ir_builder *b, ir_op *op) {
  ir_context *context = b->module->context;
  int rank = ir_compose_rank(op, 0);
  if (rank < 0) return false;
  const ir_attr *axis = ir_get(op, "axis");
  size_t at = ir_lower_normal_axis(op, "axis", (size_t)rank);
  const ir_expr *none = ir_expr_i64(context, 0), *k = ir_get_expr(op, "k");
  const char *what = ir_get_word(op, "ret_type");
  ir_value *indices = ir_build1(b, IR_STRIDED_SLICE, IR_OPERANDS(order(b, op, axis, ir_get_bool(op, "largest"))),
                                IR_SET({"begin", ir_attr_dims(context, 1, &none)}, {"end", ir_attr_dims(context, 1, &k)},
                                       {"axes", ir_attr_ints(context, 1, (const int64_t[]){(int64_t)at})}));
  indices = ir_make_extent(b, indices, at, k); /* there are k */
  ir_value *values = ir_build1(b, IR_GATHER_ELEMENTS, IR_OPERANDS(ir_op_operand(op, 0), indices), IR_SET({"axis", axis}));
  if (!strcmp(what, "values")) return IR_COMPOSED(b, op, values);
  indices = ir_make_cast(b, indices, ir_get_dtype(op, "dtype"));
  return !strcmp(what, "indices") ? IR_COMPOSED(b, op, indices) : IR_COMPOSED(b, op, values, indices);
}
