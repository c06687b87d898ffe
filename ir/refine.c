// SPDX-License-Identifier: Apache-2.0
/* ir/refine.c - inference of operations that exist: their types made as precise as it knows. Needs ir/infer. */
#include "base/vec.h"
#include "ir/infer.h"

ir_infer ir_infer_again(const ir_op *op, const ir_facts *facts, ir_arena *scratch) {
  ir_value **operands = ir_new_array(scratch, ir_value *, op->operand_count);
  const ir_type **declared = ir_new_array(scratch, const ir_type *, op->result_count);
  for (size_t i = 0; i < op->operand_count; i++) operands[i] = ir_op_operand(op, i);
  for (size_t i = 0; i < op->result_count; i++) declared[i] = ir_op_result(op, i)->type;
  ir_infer in = {.context = ir_op_context(op),
                 .module = ir_op_module(op),
                 .func = ir_op_func(op),
                 .facts = facts,
                 .code = (ir_opcode)op->code,
                 .range = op->range,
                 .operand_count = op->operand_count,
                 .operands = operands,
                 .attrs = ir_op_slots(op),
                 .region_count = op->region_count,
                 .regions = ir_op_regions(op),
                 .declared_count = op->result_count,
                 .declared = declared,
                 .scratch = scratch};
  if (op->region_count) ir_infer_stands_in(&in, op->region);
  return in;
}

size_t ir_op_refine(ir_op *op, ir_arena *scratch) {
  if (!op->result_count) return 0;
  ir_infer in = ir_infer_again(op, ir_func_facts(ir_op_func(op)), scratch);
  in.quiet = true;
  if (!ir_infer_run(&in)) return 0;
  size_t changed = 0;
  for (size_t i = 0; i < op->result_count && i < in.result_count; i++) {
    ir_value *result = ir_op_result(op, i);
    if (result->type == in.results[i]) continue;
    if (ir_type_relate(in.context, in.facts, result->type, in.results[i]) != IR_TYPES_WEAKER) continue;
    result->type = in.results[i];
    changed++;
  }
  return changed;
}

/* What a region yields is the results of the operation around it. */
static ir_op *affected(ir_use *use) {
  ir_op *op = use->user;
  bool ends_region = !op->next && !op->result_count && op->region->parent;
  return ends_region ? op->region->parent : op;
}

void ir_value_refine_users(ir_value *value) {
  ir_arena scratch = {0};
  ir_vec(ir_value *) changed = {0};
  *ir_push(&scratch, &changed) = value;
  for (size_t next = 0; next < changed.count; next++) {
    ir_each_use(use, changed.at[next]) {
      ir_op *op = affected(use);
      if (!ir_op_refine(op, &scratch)) continue;
      for (size_t i = 0; i < op->result_count; i++) *ir_push(&scratch, &changed) = ir_op_result(op, i);
    }
  }
  ir_arena_free(&scratch);
}
