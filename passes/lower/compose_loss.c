// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose_loss.c - losses made of simpler ones, in f32 where the operands are narrower. */
#include "passes/lower/compose.h"

struct loss {
  ir_builder *b;
  const ir_op *op;
  ir_value *parts[3]; /* logarithms of probabilities, targets, weights */
  ir_dtype dtype;
  int64_t axis; /* the classes */
};

static ir_value *nll(const struct loss *l, ir_value *predictions, const char *reduction) {
  ir_value *operands[] = {predictions, l->parts[1], l->parts[2]};
  return ir_build1(l->b, IR_NN_NLL_LOSS, operands, l->op->operand_count,
                   IR_SET({"reduction", ir_attr_string(l->b->module->context, ir_slice_of(reduction))}, {"ignore_index", ir_get(l->op, "ignore_index")}));
}

/* The sum of the weights of the targets that count: what predictions of -1 would lose. */
static ir_value *total_weight(const struct loss *l) {
  return nll(l, IR_MAKE(l->b, IR_FULL_LIKE, l->parts[0], ir_make_number(l->b, l->dtype, -1)), "sum");
}

/* (1 - smoothing) * the loss + smoothing / classes * the losses of all classes, where the target counts. */
static ir_value *smoothed(const struct loss *l, const ir_expr *classes, double smoothing) {
  ir_builder *b = l->b;
  ir_value *all = l->parts[0], *weights = l->parts[2];
  size_t rank = all->type->count;
  if (weights) all = IR_MAKE(b, IR_MULTIPLY, all, ir_make_along(b, l->op, weights, rank, 1, &l->axis));
  all = ir_build1(b, IR_SUM, IR_OPERANDS(all), IR_SET({"axis", ir_attr_ints(b->module->context, 1, &l->axis)}));
  ir_value *part = IR_MAKE(b, IR_DIVIDE, ir_make_number(b, l->dtype, -smoothing), ir_make_count(b, l->dtype, classes));
  ir_value *ignored = ir_build_scalar(b, ir_expr_i64(b->module->context, ir_get_int(l->op, "ignore_index")), NULL, 0);
  ir_value *counts = IR_MAKE(b, IR_NOT_EQUAL, ir_make_cast(b, l->parts[1], IR_I64), ignored);
  all = IR_MAKE(b, IR_WHERE, counts, IR_MAKE(b, IR_MULTIPLY, all, part), ir_make_number(b, l->dtype, 0));
  return IR_MAKE(b, IR_ADD, IR_MAKE(b, IR_MULTIPLY, nll(l, l->parts[0], "none"), ir_make_number(b, l->dtype, 1 - smoothing)), all);
}

bool decompose_cross_entropy(ir_builder *b, ir_op *op) {
  int rank = ir_compose_rank(op, 0);
  if (rank < 0) return false;
  struct loss l = {.b = b, .op = op, .axis = rank > 1};
  ir_dtype dtype = ir_type_dtype(ir_op_operand(op, 0)->type);
  const ir_expr *classes = ir_compose_elements(op, ir_op_operand(op, 0)->type, 1, &l.axis);
  l.dtype = ir_lower_wide(dtype);
  for (size_t i = 0; i < op->operand_count; i++) l.parts[i] = i == 1 ? ir_op_operand(op, i) : ir_make_cast(b, ir_op_operand(op, i), l.dtype);
  l.parts[0] = ir_build1(b, IR_NN_LOG_SOFTMAX, IR_OPERANDS(l.parts[0]), IR_SET({"axis", ir_attr_int(b->module->context, l.axis)}));
  if (!l.parts[0] || !classes) return false;
  const char *reduction = ir_get_word(op, "reduction");
  double smoothing = ir_get_float(op, "label_smoothing");
  if (smoothing == 0) return IR_COMPOSED(b, op, ir_make_cast(b, nll(&l, l.parts[0], reduction), dtype));
  ir_value *y = smoothed(&l, classes, smoothing);
  bool mean = !strcmp(reduction, "mean");
  if (mean || !strcmp(reduction, "sum")) y = IR_MAKE(b, IR_SUM, y);
  if (mean) y = IR_MAKE(b, IR_DIVIDE, y, total_weight(&l));
  return IR_COMPOSED(b, op, ir_make_cast(b, y, dtype));
}
