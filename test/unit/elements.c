// SPDX-License-Identifier: Apache-2.0
/* ir/ops: every element formula is a well-typed expression, for each class of dtypes that the row takes. */
#include "check_diags.h"
#include "ir/formula.h"
#include "ir/infer.h"
#include "ir/ops/infer_ops.h"

static ir_diags *diags;
static ir_context *context;

static bool takes(ir_constraint constraint, ir_dtype dtype) {
  switch (constraint) {
  case IR_ANY_TENSOR: return true;
  case IR_NUMERIC_TENSOR: return dtype != IR_BOOL;
  case IR_FLOAT_TENSOR: return ir_is_float(dtype);
  case IR_INTEGER_TENSOR: return ir_is_integer(dtype);
  case IR_INT_OR_BOOL_TENSOR: return !ir_is_float(dtype);
  case IR_BOOL_TENSOR: return dtype == IR_BOOL;
  case IR_ANY_VALUE:
  case IR_SHAPE_VALUE:
  case IR_TUPLE_VALUE:
  case IR_FUNC_VALUE:
  case IR_STORAGE_VALUE:
  case IR_SCALAR_VALUE:
  case IR_BUFFER: break;
  }
  return false;
}

static void test_row(const ir_op_def *row, ir_dtype dtype) {
  ir_formula_input inputs[16];
  size_t count = 0;
  for (size_t i = 0; i < row->operand_def_count; i++) {
    bool condition = row->operands[i].constraint == IR_BOOL_TENSOR;
    if (!condition && !takes(row->operands[i].constraint, dtype)) return;
    inputs[count++] = (ir_formula_input){row->operands[i].name, ir_expr_arg(context, (uint32_t)i, condition ? IR_BOOL : dtype, 1)};
  }
  if (row->operands[0].constraint == IR_BOOL_TENSOR && row->operand_def_count < 3 && dtype != IR_BOOL) return;
  for (size_t i = 0; i < row->attr_count; i++) {
    if (row->attrs[i].type != IR_A_FLOAT) continue;
    inputs[count++] = (ir_formula_input){row->attrs[i].name, ir_expr_float(context, IR_F64, 0.5)};
  }
  bool compares = row->infer == infer_compare;
  const char *text = !ir_is_float(dtype) && row->element_int ? row->element_int : row->element;
  const ir_expr *expr = ir_formula(context, text, dtype, inputs, count);
  if (!CHECK(expr && expr->dtype == (compares ? IR_BOOL : dtype) && expr->size <= IR_EXPR_MAX_SIZE)) {
    printf("  %s of %s: %s\n", row->name, ir_dtype_name(dtype), text);
  }
}

int main(void) {
  diags = ir_diags_new();
  context = ir_context_new(diags);
  static const ir_dtype dtypes[] = {IR_BOOL, IR_U8, IR_I64, IR_F32, IR_F64};
  for (int code = 0; code < IR_OP_COUNT; code++) {
    const ir_op_def *row = &ir_op_defs[code];
    CHECK(!(row->traits & IR_ELEMENTWISE) == !row->element);
    for (size_t i = 0; row->element && i < 5; i++) test_row(row, dtypes[i]);
  }
  CHECK_DIAGS(diags, "");
  ir_text_free(&check_reported);
  ir_context_free(context);
  ir_diags_free(diags);
  return CHECK_REPORT("elements");
}
