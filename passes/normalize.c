// SPDX-License-Identifier: Apache-2.0
/* passes/normalize.c - give every result the most precise type that inference knows, from the operands on. A written
 * type that says less is replaced; one that contradicts is the verifier's matter. Needs nothing. */
#include "passes/pass.h"

enum { REFINED };

static bool refine(ir_pass_run *run, ir_op *op) {
  if (!op->result_count) return false;
  const ir_type **declared = ir_new_array(run->scratch, const ir_type *, op->result_count);
  ir_region **regions = ir_op_regions(op);
  ir_value **operands = ir_new_array(run->scratch, ir_value *, op->operand_count);
  for (size_t i = 0; i < op->result_count; i++) declared[i] = ir_op_result(op, i)->type;
  for (size_t i = 0; i < op->operand_count; i++) operands[i] = ir_op_operand(op, i);
  ir_infer in = {.context = run->context,
                 .module = run->module,
                 .func = ir_op_func(op),
                 .facts = ir_func_facts(ir_op_func(op)),
                 .code = (ir_opcode)op->code,
                 .range = op->range,
                 .operand_count = op->operand_count,
                 .operands = operands,
                 .attrs = ir_op_slots(op),
                 .region_count = op->region_count,
                 .regions = regions,
                 .declared_count = op->result_count,
                 .declared = declared,
                 .quiet = true,
                 .scratch = run->scratch};
  if (!ir_infer_run(&in)) return false;
  bool changed = false;
  for (size_t i = 0; i < op->result_count && i < in.result_count; i++) {
    ir_value *result = ir_op_result(op, i);
    if (result->type == in.results[i]) continue;
    if (ir_type_relate(run->context, in.facts, result->type, in.results[i]) != IR_TYPES_WEAKER) continue;
    result->type = in.results[i];
    changed = ir_count(run, REFINED);
  }
  return changed;
}

const ir_pass ir_pass_normalize = {
    .name = "normalize",
    .doc = "Give every result the most precise type that inference knows.",
    .each_op = refine,
    .order = IR_PRE_ORDER,
    .repeat = true, /* what a region yields is more precise only after it has been seen */
    .stats = STATS({"refined", "result types made more precise"}),
};
