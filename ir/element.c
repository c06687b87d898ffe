// SPDX-License-Identifier: Apache-2.0
/* ir/element.c - what element-wise operators compute, from the formulas in their rows. Needs ir/formula. */
#include "ir/element.h"

#include "base/vec.h"
#include "ir/formula.h"

enum { MOST_INPUTS = 16 };

struct inputs {
  ir_formula_input at[MOST_INPUTS];
  size_t count;
};

static void add_input(struct inputs *inputs, const char *name, const ir_expr *value) {
  if (inputs->count < MOST_INPUTS) inputs->at[inputs->count++] = (ir_formula_input){name, value};
}

static void add_attributes(ir_context *context, const ir_op *op, ir_dtype dtype, struct inputs *inputs) {
  const ir_op_def *row = ir_op_row(op);
  for (size_t i = 0; i < row->attr_count; i++) {
    const ir_attr *attr = ir_op_attr(context, op, i);
    if (!attr) continue;
    const ir_expr *value = NULL;
    if (attr->kind == IR_ATTR_FLOAT) value = ir_expr_float(context, IR_F64, attr->f);
    if (attr->kind == IR_ATTR_INT) value = ir_expr_i64(context, attr->i);
    if (attr->kind == IR_ATTR_BOOL) value = ir_expr_bool(context, attr->i != 0);
    bool saturates = row->attrs[i].type == IR_A_FLOAT && ir_is_integer(dtype);
    if (saturates) value = ir_attr_as_number(context, attr, dtype);
    if (value) add_input(inputs, row->attrs[i].name, value);
  }
}

static const ir_expr *in_dtype(ir_context *context, const ir_op *op, ir_dtype dtype, bool is_float,
                               const ir_expr *const *operands) {
  const ir_op_def *row = ir_op_row(op);
  struct inputs inputs = {.count = 0};
  for (size_t i = 0; i < op->operand_count && i < row->operand_def_count; i++) add_input(&inputs, row->operands[i].name, operands[i]);
  add_attributes(context, op, dtype, &inputs);
  const char *text = !is_float && row->element_int ? row->element_int : row->element;
  return ir_formula(context, text, dtype, inputs.at, inputs.count);
}

static bool is_narrow(ir_dtype dtype) { return ir_is_float(dtype) && ir_dtypes[dtype].bits < 32; }

/* Operators whose result in a narrow dtype needs no rounding. */
static bool is_exact(const ir_expr *node) {
  switch ((int)node->code) {
  case IR_S_CONST:
  case IR_S_SYMBOL:
  case IR_S_ARG:
  case IR_S_LOAD:
  case IR_S_OR:
  case IR_S_AND:
  case IR_S_NOT:
  case IR_S_EQ:
  case IR_S_NE:
  case IR_S_LT:
  case IR_S_LE:
  case IR_S_GT:
  case IR_S_GE:
  case IR_S_NEG:
  case IR_S_MIN:
  case IR_S_MAX:
  case IR_S_SELECT:
  case IR_S_ABS:
  case IR_S_SIGN:
  case IR_S_FLOOR:
  case IR_S_CEIL:
  case IR_S_TRUNC:
  case IR_S_RINT:
  case IR_S_COPYSIGN:
  case IR_S_ISNAN:
  case IR_S_ISINF:
  case IR_S_ISFINITE: return true;
  case IR_S_CAST: return node->kids[0]->code == IR_S_CONST;
  default: return false;
  }
}

static void look(void *user, const ir_expr *node) {
  bool *exact = user;
  *exact &= is_exact(node);
}

/* Whether the element takes no arithmetic, or a single step of it: then it is right as it stands. */
static bool rounds_once(ir_context *context, const ir_expr *expr) {
  bool exact = true;
  ir_expr_walk(context, expr, look, &exact);
  if (exact) return true;
  for (size_t i = 0; i < expr->count; i++) {
    bool leaf = expr->kids[i]->code == IR_S_CONST || expr->kids[i]->code == IR_S_LOAD || expr->kids[i]->code == IR_S_ARG;
    if (!leaf) return false;
  }
  return expr->code != IR_S_MAD && !ir_scalars[expr->code].expanded;
}

const ir_expr *ir_element(ir_context *context, const ir_op *op, ir_dtype result, const ir_expr *const *operands) {
  ir_dtype dtype = (ir_dtype)operands[op->operand_count - 1]->dtype;
  bool is_float = ir_is_float(dtype);
  if (ir_is(op, IR_ASTYPE)) return ir_expr_cast(context, operands[0], result);
  const ir_expr *element = in_dtype(context, op, dtype, is_float, operands);
  if (!element || !is_narrow(dtype) || rounds_once(context, element)) return element;
  const ir_expr *wide[MOST_INPUTS];
  for (size_t i = 0; i < op->operand_count && i < MOST_INPUTS; i++) {
    bool narrow = is_narrow((ir_dtype)operands[i]->dtype);
    wide[i] = narrow ? ir_expr_cast(context, operands[i], IR_F32) : operands[i];
  }
  element = in_dtype(context, op, IR_F32, is_float, wide);
  return element && ir_is_float((ir_dtype)element->dtype) ? ir_expr_cast(context, element, result) : element;
}
