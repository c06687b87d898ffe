// SPDX-License-Identifier: Apache-2.0
/* passes/fold_scale.c - a batch norm after a convolution goes into the convolution's weights: w * s and a bias beta -
 * mean * s, with s = gamma / sqrt(variance + epsilon). Inexact: the products round elsewhere. fold-constants then
 * computes the new weights. */
#include "passes/pass.h"

enum { FOLDED };

static bool is_constant(const ir_value *value) { return ir_is_result_of(value, IR_CONST); }

static bool fold(ir_pass_run *run, ir_op *op) {
  ir_context *context = run->context;
  if (!ir_is(op, IR_NN_BATCH_NORM) || ir_get_bool(op, "training") || ir_get_int(op, "axis") != 1) return false;
  ir_op *conv = ir_value_op(ir_op_operand(op, 0));
  if (!ir_is(conv, IR_NN_CONV2D) || ir_value_use_count(ir_op_result(conv, 0)) != 1 || !is_constant(ir_op_operand(conv, 1))) return false;
  for (size_t i = 1; i < 5; i++) {
    if (!is_constant(ir_op_operand(op, i))) return false;
  }
  ir_value *gamma = ir_op_operand(op, 1), *beta = ir_op_operand(op, 2), *mean = ir_op_operand(op, 3), *variance = ir_op_operand(op, 4);
  const ir_type *type = ir_op_result(conv, 0)->type;
  const ir_expr *channels = ir_type_dim(variance->type, 0), *one = ir_expr_i64(context, 1);
  const ir_expr *column[] = {channels, one, one, one};
  ir_builder b = ir_before(op);
  ir_value *epsilon = ir_build_scalar(&b, ir_expr_float(context, ir_type_dtype(type), ir_get_float(op, "epsilon")), NULL, 0);
  ir_value *scale = ir_build1(&b, IR_SQRT, IR_OPERANDS(ir_build1(&b, IR_ADD, IR_OPERANDS(variance, epsilon), IR_NO_ATTRS)), IR_NO_ATTRS);
  ir_value *unit = ir_get_bool(op, "scale") ? gamma : ir_build1(&b, IR_ONES_LIKE, IR_OPERANDS(variance), IR_NO_ATTRS);
  scale = ir_build1(&b, IR_DIVIDE, IR_OPERANDS(unit, scale), IR_NO_ATTRS);
  ir_value *factor = ir_build1(&b, IR_RESHAPE, IR_OPERANDS(scale), IR_SET({"shape", ir_attr_dims(context, 4, column)}));
  ir_value *weight = ir_build1(&b, IR_MULTIPLY, IR_OPERANDS(ir_op_operand(conv, 1), factor), IR_NO_ATTRS);
  ir_value *shift = ir_build1(&b, IR_MULTIPLY, IR_OPERANDS(mean, scale), IR_NO_ATTRS);
  shift = ir_get_bool(op, "center") ? ir_build1(&b, IR_SUBTRACT, IR_OPERANDS(beta, shift), IR_NO_ATTRS) : ir_build1(&b, IR_NEGATIVE, IR_OPERANDS(shift), IR_NO_ATTRS);
  ir_value *bias = ir_build1(&b, IR_RESHAPE, IR_OPERANDS(shift), IR_SET({"shape", ir_attr_dims(context, 3, column)}));
  ir_map values = {0};
  ir_map_put(run->scratch, &values, ir_op_operand(conv, 1), weight);
  ir_op *scaled = ir_op_clone(conv, op->region, op, run->scratch, &values);
  ir_value *y = ir_build1(&b, IR_ADD, IR_OPERANDS(ir_op_result(scaled, 0), bias), IR_NO_ATTRS);
  if (!y) return false;
  ir_op_result(scaled, 0)->name = NULL;
  ir_remark(context->diags, op->range, "fold-scale: batch norm folded into the weights of nn.conv2d");
  ir_value *results[] = {y, mean, variance};
  if (!ir_replace(run->rewriter, op, results, 3)) return false;
  return ir_count(run, FOLDED);
}

const ir_pass ir_pass_fold_scale = {
    .name = "fold-scale",
    .doc = "Fold batch norms with constant parameters into the weights of the convolution before them.",
    .each_op = fold,
    .order = IR_PRE_ORDER,
    .inexact = true,
    .stats = STATS({"folded", "batch norms folded"}),
};
