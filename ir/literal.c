// SPDX-License-Identifier: Apache-2.0
/* ir/literal.c - the dtypes of bare literals. Needs ir/module and the operator table. */
#include "ir/literal.h"

ir_literal_rule ir_literal_rule_of(ir_scalar_code code) {
  if (code == IR_S_LOAD) return (ir_literal_rule){-1, false, IR_I64};
  switch (ir_scalars[code].typing) {
  case IR_TYPING_LEAF:
  case IR_TYPING_CONVERT: return (ir_literal_rule){-1, false, IR_DTYPE_UNKNOWN};
  case IR_TYPING_LOGIC: return (ir_literal_rule){-1, false, IR_BOOL};
  case IR_TYPING_COMPARE:
  case IR_TYPING_TEST: return (ir_literal_rule){0, false, IR_DTYPE_UNKNOWN};
  case IR_TYPING_SELECT: return (ir_literal_rule){1, true, IR_BOOL};
  case IR_TYPING_SAME:
  case IR_TYPING_SAME_FLOAT:
  case IR_TYPING_SAME_INT:
  case IR_TYPING_BITS:
  case IR_TYPING_SHIFT: return (ir_literal_rule){0, true, IR_DTYPE_UNKNOWN};
  }
  return (ir_literal_rule){-1, false, IR_DTYPE_UNKNOWN};
}

const ir_param *ir_called_param(ir_opcode code, const ir_func *callee, size_t k) {
  bool fresh_outputs = code != IR_CALL; /* `out` buffers are results, not arguments */
  for (size_t i = 0; i < callee->param_count; i++) {
    const ir_param *param = &callee->params[i];
    if (fresh_outputs && param->direction == IR_OUT) continue;
    if (!k--) return param;
  }
  return NULL;
}

static ir_dtype dtype_of(const ir_type *type) {
  return ir_is_tensor(type) || ir_is_scalar(type) ? ir_type_dtype(type) : IR_DTYPE_UNKNOWN;
}

static ir_constraint constraint_of(const ir_op_def *row, size_t k) {
  if (!row->operand_def_count) return IR_ANY_VALUE;
  const ir_operand_def *last = &row->operands[row->operand_def_count - 1];
  if (k < row->operand_def_count) return row->operands[k].constraint;
  return last->multiplicity == IR_MANY ? last->constraint : IR_ANY_VALUE;
}

static bool is_numeric(ir_constraint constraint) {
  return constraint == IR_ANY_TENSOR || constraint == IR_NUMERIC_TENSOR || constraint == IR_FLOAT_TENSOR ||
         constraint == IR_INT_OR_BOOL_TENSOR;
}

ir_dtype ir_literal_operand(ir_opcode code, const ir_item *callee, size_t count, const ir_type *const *types,
                            size_t k) {
  bool calls = code == IR_CALL || code == IR_CALL_TIR || code == IR_CALL_TIR_INPLACE;
  if (calls) {
    bool is_func = callee && ir_is_func(callee);
    const ir_param *param = is_func ? ir_called_param(code, (const ir_func *)callee, k) : NULL;
    if (param) return param->symbol ? IR_I64 : dtype_of(param->type);
    bool by_value = !callee && code == IR_CALL && count && types[0] && types[0]->kind == IR_TYPE_FUNC;
    bool known = by_value && types[0]->ranked && k > 0 && k <= types[0]->count;
    return known ? dtype_of(ir_type_field(types[0], k - 1)) : IR_DTYPE_UNKNOWN;
  }
  if (code == IR_ASSERT) return IR_BOOL;
  const ir_op_def *row = &ir_op_defs[code];
  ir_constraint constraint = constraint_of(row, k);
  if (constraint == IR_SCALAR_VALUE) return IR_I64;
  if (constraint == IR_BOOL_TENSOR) return IR_BOOL;
  bool integers = constraint == IR_INTEGER_TENSOR;
  if (!is_numeric(constraint) && !integers) return IR_DTYPE_UNKNOWN;
  for (size_t i = 0; i < count; i++) {
    ir_constraint other = constraint_of(row, i);
    bool gives = types[i] && ir_is_tensor(types[i]) && (integers ? other == constraint : is_numeric(other));
    if (gives) return ir_type_dtype(types[i]);
  }
  return integers ? IR_I64 : IR_DTYPE_UNKNOWN;
}

ir_dtype ir_literal_stored(const char *reducer, const ir_item *callee, size_t target_count,
                           const ir_type *const *targets, size_t k) {
  if (callee && callee->kind == IR_ITEM_REDUCER) {
    const ir_func *func = (const ir_func *)callee;
    size_t param = func->state_count + k;
    return param < func->param_count ? dtype_of(func->params[param].type) : IR_DTYPE_UNKNOWN;
  }
  bool indexed = reducer && !strncmp(reducer, "arg", 3);
  if (indexed && k == 0) return IR_I64;
  size_t target = indexed ? 1 : 0;
  return target < target_count ? dtype_of(targets[target]) : IR_DTYPE_UNKNOWN;
}
