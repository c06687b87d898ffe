// SPDX-License-Identifier: Apache-2.0
/* passes/call_tir_rewrite.c - make the memory of call_tir explicit: an alloc for each result, then a call with the
 * buffers in the order of the callee's parameters. Needs no dataflow regions: calls that write may not stand there. */
#include "passes/pass.h"

#include "ir/print.h"

enum { REWRITTEN };

static bool sized(const ir_type *type) {
  if (!ir_is_tensor(type) || !type->ranked || type->dtype == IR_DTYPE_UNKNOWN) return false;
  for (size_t i = 0; i < type->count; i++) {
    if (!ir_type_dim(type, i)) return false;
  }
  return true;
}

static ir_value *allocate(ir_pass_run *run, ir_builder *b, ir_op *op, size_t result) {
  const ir_type *type = ir_op_result(op, result)->type;
  if (!sized(type)) {
    ir_error(run->context->diags, op->range, "%s: the size of result %zu, %s, is not known before it runs", ir_op_row(op)->name, result, ir_type_text(run->scratch, type));
    run->failed = true;
    return NULL;
  }
  ir_op *alloc = ir_build_with(b, IR_ALLOC, NULL, 0, IR_NO_ATTRS, NULL, 0, &type, 1);
  return ir_op_result(alloc, 0);
}

static bool rewrite(ir_pass_run *run, ir_op *op) {
  bool inplace = ir_is(op, IR_CALL_TIR_INPLACE);
  if (!ir_is(op, IR_CALL_TIR) && !inplace) return false;
  const ir_attr *name = ir_get(op, "callee");
  ir_func *callee = ir_item_func(ir_module_find(run->module, name->string));
  ir_builder b = ir_before(op);
  ir_value **results = ir_new_array(run->scratch, ir_value *, op->result_count);
  ir_value **operands = ir_new_array(run->scratch, ir_value *, callee->param_count);
  size_t taken = inplace ? ir_get_count(op, "inplace") : 0;
  for (size_t i = 0; i < op->result_count; i++) {
    results[i] = i < taken ? ir_op_operand(op, (size_t)ir_get_int_at(op, "inplace", i)) : allocate(run, &b, op, i);
    if (!results[i]) return false;
  }
  for (size_t i = 0, in = 0, out = taken; i < callee->param_count; i++) {
    operands[i] = callee->params[i].direction == IR_OUT ? results[out++] : ir_op_operand(op, in++);
  }
  ir_op *call = ir_build(&b, IR_CALL, operands, callee->param_count, IR_SET({"callee", name}));
  if (!call) {
    run->failed = true;
    return false;
  }
  call->flags |= IR_OP_NO_TARGETS;
  if (ir_op_dict(op)) ir_op_set_dict(call, ir_op_dict(op));
  ir_replace(run->rewriter, op, results, op->result_count);
  return ir_count(run, REWRITTEN);
}

const ir_pass ir_pass_call_tir_rewrite = {
    .name = "call-tir-rewrite",
    .doc = "Give each result of call_tir an explicit allocation and pass it to the callee.",
    .each_op = rewrite,
    .order = IR_PRE_ORDER,
    .needs = IR_PROPERTY_NO_DATAFLOW,
    .stats = STATS({"rewritten", "calls rewritten"}),
};
