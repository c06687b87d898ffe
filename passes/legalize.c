// SPDX-License-Identifier: Apache-2.0
/* passes/legalize.c - each tensor operator becomes a call of a prim_func in compute form; equal ones are shared. Views
 * (reshape and the like) stay: they move nothing. What an operator asks of extents that only the run knows becomes the
 * `where` of its prim_func. Needs decompose-ops for what has no tensor program of its own. */
#include "ir/print.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"

enum { CALLS, FUNCTIONS };

/* A name for the prim_func: the operator's without its prefix. */
static ir_slice base_name(const ir_op *op) {
  const char *name = ir_op_row(op)->name, *dot = strrchr(name, '.');
  return ir_slice_of(dot ? dot + 1 : name);
}

/* The prim_func of this text that is there already, or FUNC, now an item under a name of its own. */
static ir_func *shared(ir_pass_run *run, ir_func *func, ir_op *op) {
  ir_text text = {0};
  ir_print_item(&text, &func->item, NULL);
  const ir_string *key = ir_intern(run->context, (ir_slice){text.at, text.length});
  ir_text_free(&text);
  void **slot = ir_map_slot(&run->module->arena, &run->module->shared_prims, key);
  if (*slot && ir_module_find(run->module, ((ir_func *)*slot)->item.name) == *slot) return *slot;
  ir_item *home = &ir_op_func(op)->item;
  func->item.name = ir_module_fresh_name(run->module, base_name(op));
  if (home->prev) {
    ir_module_add(run->module, &func->item, home->prev);
  } else {
    ir_module_add_first(run->module, &func->item);
  }
  run->stats[FUNCTIONS]++;
  return *slot = func;
}

static bool legalize(ir_pass_run *run, ir_op *op) {
  if (ir_op_row(op)->numerics == IR_STRUCTURE || ir_has(op, IR_VIEW) || !ir_has(op, IR_GRAPH)) return false;
  ir_lowering l;
  ir_func *func = ir_legalize_op(op, run->module, ir_intern(run->context, ir_lit("_")), run->scratch, &l);
  if (!func) {
    run->failed = true;
    return false;
  }
  func = shared(run, func, op);
  ir_builder b = ir_before(op);
  ir_value **operands = ir_new_array(run->scratch, ir_value *, op->operand_count + l.symbol_count);
  const ir_type **types = ir_new_array(run->scratch, const ir_type *, op->result_count);
  for (size_t i = 0; i < op->operand_count; i++) operands[i] = ir_op_operand(op, i);
  for (size_t i = 0; i < l.symbol_count; i++) operands[op->operand_count + i] = ir_build_scalar(&b, l.symbols[i], NULL, 0);
  for (size_t i = 0; i < op->result_count; i++) types[i] = ir_op_result(op, i)->type;
  ir_op *call = ir_build_with(&b, IR_CALL_TIR, operands, op->operand_count + l.symbol_count, IR_SET({"callee", ir_attr_global(run->context, func->item.name)}), NULL, 0, types, op->result_count);
  if (ir_op_dict(op)) ir_op_set_dict(call, ir_op_dict(op));
  for (size_t i = 0; i < op->result_count; i++) {
    ir_op_result(call, i)->name = ir_op_result(op, i)->name;
    ir_value_replace(ir_op_result(op, i), ir_op_result(call, i));
  }
  ir_op_erase(op);
  return ir_count(run, CALLS);
}

const ir_pass ir_pass_legalize = {
    .name = "legalize",
    .doc = "Turn tensor operators into calls of prim_funcs in compute form; views stay.",
    .each_op = legalize,
    .order = IR_PRE_ORDER,
    .stats = STATS({"calls", "operators made into calls"}, {"functions", "prim_funcs made"}),
};
