// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose_attention.c - attention made of matrix products and a softmax whose empty rows are 0. */
#include "passes/lower/compose.h"

#include <math.h>

enum { BATCH, SEQUENCE, HEADS, DEPTH, AXES };

/* Operand I with its axes in the order ORDER, wide. */
static ir_value *turned(ir_builder *b, const ir_op *op, size_t i, const int64_t *order) {
  ir_value *x = ir_op_operand(op, i);
  x = ir_build1(b, IR_PERMUTE_DIMS, IR_OPERANDS(x), IR_SET({"axes", ir_attr_ints(b->module->context, AXES, order)}));
  return x ? ir_make_cast(b, x, ir_lower_wide(ir_type_dtype(x->type))) : NULL;
}

/* first, first + 1, ..., COUNT of them, as a vector or a column. */
static ir_value *places(ir_builder *b, const ir_expr *first, const ir_expr *count, bool column) {
  ir_context *context = b->module->context;
  const ir_facts *facts = ir_func_facts(b->region->func);
  const ir_expr *end = ir_simplify(context, facts, ir_expr_binary(context, IR_S_ADD, first, count));
  ir_value *vector = ir_build1(b, IR_ARANGE, NULL, 0, IR_SET({"start", ir_attr_expr(context, first)}, {"end", ir_attr_expr(context, end)}));
  return column ? ir_make_reshape(b, vector, 2, (const ir_expr *const[]){count, ir_expr_i64(context, 1)}) : vector;
}

/* Whether each query sees each key. */
static ir_value *sight(ir_builder *b, const ir_op *op, const ir_expr *queries, const ir_expr *keys) {
  ir_context *context = b->module->context;
  const ir_expr *zero = ir_expr_i64(context, 0), *first = zero;
  bool last_to_last = !strcmp(ir_get_word(op, "causal_mask"), "bottom_right");
  if (last_to_last) first = ir_simplify(context, ir_func_facts(ir_op_func(op)), ir_expr_binary(context, IR_S_SUB, keys, queries));
  ir_value *query = places(b, first, queries, true), *key = places(b, zero, keys, false);
  ir_value *behind = IR_MAKE(b, IR_LESS_EQUAL, key, query);
  if (!ir_has_attr(op, "window_size")) return behind;
  ir_value *width = ir_make_count(b, IR_I64, ir_expr_i64(context, ir_get_int(op, "window_size")));
  return IR_MAKE(b, IR_LOGICAL_AND, behind, IR_MAKE(b, IR_GREATER, key, IR_MAKE(b, IR_SUBTRACT, query, width)));
}

/* softmax along the last axis; a row of -inf gives zeros, where softmax gives NaN. */
static ir_value *weights(ir_builder *b, ir_value *scores) {
  static const int64_t last[] = {-1};
  if (!scores) return NULL;
  ir_dtype dtype = ir_type_dtype(scores->type);
  ir_value *zero = ir_make_number(b, dtype, 0), *one = ir_make_number(b, dtype, 1), *least = ir_make_number(b, dtype, -INFINITY);
  ir_value *most = ir_make_reduced(b, IR_MAX, scores, 1, last);
  most = IR_MAKE(b, IR_WHERE, IR_MAKE(b, IR_EQUAL, most, least), zero, most);
  ir_value *parts = IR_MAKE(b, IR_EXP, IR_MAKE(b, IR_SUBTRACT, scores, most));
  ir_value *sum = ir_make_reduced(b, IR_SUM, parts, 1, last);
  return IR_MAKE(b, IR_DIVIDE, parts, IR_MAKE(b, IR_WHERE, IR_MAKE(b, IR_EQUAL, sum, zero), one, sum));
}

static ir_value *scaled(ir_builder *b, const ir_op *op, ir_value *scores, const ir_expr *depth) {
  if (!scores) return NULL;
  ir_dtype dtype = ir_type_dtype(scores->type);
  if (ir_has_attr(op, "scale")) return IR_MAKE(b, IR_MULTIPLY, scores, ir_make_number(b, dtype, ir_get_float(op, "scale")));
  return IR_MAKE(b, IR_DIVIDE, scores, IR_MAKE(b, IR_SQRT, ir_make_count(b, dtype, depth)));
}

bool decompose_attention(ir_builder *b, ir_op *op) {
  static const int64_t heads_first[] = {BATCH, HEADS, SEQUENCE, DEPTH}, keys_last[] = {BATCH, HEADS, DEPTH, SEQUENCE}, all[] = {0, 1, 2, 3};
  for (size_t i = 0; i < 3; i++) {
    if (ir_compose_rank(op, i) < 0 || !ir_compose_elements(op, ir_op_operand(op, i)->type, AXES, all)) return false;
  }
  const ir_type *query = ir_op_operand(op, 0)->type, *key = ir_op_operand(op, 1)->type;
  ir_value *scores = IR_MAKE(b, IR_MATMUL, turned(b, op, 0, heads_first), turned(b, op, 1, keys_last));
  scores = scaled(b, op, scores, ir_type_dim(query, DEPTH));
  if (op->operand_count > 3 && scores) scores = IR_MAKE(b, IR_ADD, scores, ir_make_cast(b, ir_op_operand(op, 3), ir_type_dtype(scores->type)));
  if (ir_has_attr(op, "causal_mask") && scores) {
    ir_value *least = ir_make_number(b, ir_type_dtype(scores->type), -INFINITY);
    scores = IR_MAKE(b, IR_WHERE, sight(b, op, ir_type_dim(query, SEQUENCE), ir_type_dim(key, SEQUENCE)), scores, least);
  }
  ir_value *y = IR_MAKE(b, IR_MATMUL, weights(b, scores), turned(b, op, 2, heads_first));
  y = ir_build1(b, IR_PERMUTE_DIMS, IR_OPERANDS(y), IR_SET({"axes", ir_attr_ints(b->module->context, AXES, heads_first)}));
  return IR_COMPOSED(b, op, y ? ir_make_cast(b, y, ir_type_dtype(query)) : NULL);
}
