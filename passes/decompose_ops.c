// SPDX-License-Identifier: Apache-2.0
/* passes/decompose_ops.c - composite operators become simpler ones. Needs nothing. */
#include "ir/symbols.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"

enum { DECOMPOSED };

struct options {
  int mode;
};
static const ir_opt options[] = {
    OPT_CHOICE(struct options, mode, "mode", "inference", "inference", "what for; the attribute `training` of an operator is honoured either way"),
    OPT_END,
};

/* OP runs whenever its function does. */
static bool always_runs(const ir_op *op) {
  while (op->region->parent && ir_is(op->region->parent, IR_DATAFLOW)) op = op->region->parent;
  return !op->region->parent;
}

/* The signature tells all symbols of CONDITION. */
static bool is_of_signature(const ir_pass_run *run, const ir_expr *condition) {
  ir_symbols_used used = {.context = run->context, .arena = run->scratch};
  ir_symbols_in_signature(&used, run->func);
  size_t known = used.count;
  ir_symbols_in_expr(&used, condition);
  return used.count == known;
}

/* What OP asks of extents and only the run can tell: its parts would not ask it all. It becomes a condition of the function,
 * or, where OP may not run or the function's callers cannot know, a check before OP. */
static void keep_needs(ir_pass_run *run, ir_op *op) {
  ir_infer in = ir_infer_again(op, ir_func_facts(run->func), run->scratch);
  in.quiet = in.collect = true;
  if (!ir_infer_run(&in)) return;
  for (size_t i = 0; i < in.needs.count; i++) {
    const ir_expr *need = in.needs.at[i];
    if (always_runs(op) && is_of_signature(run, need)) {
      ir_func_add_where(run->func, need);
      continue;
    }
    ir_builder b = ir_before(op);
    ir_build_check(&b, need);
  }
}

static bool decompose(ir_pass_run *run, ir_op *op) {
  if (!ir_can_decompose(op)) return false;
  keep_needs(run, op);
  if (ir_decompose_op(op)) return ir_count(run, DECOMPOSED);
  run->failed = ir_diags_errors(run->context->diags) > 0;
  return false;
}

const ir_pass ir_pass_decompose_ops = {
    .name = "decompose-ops",
    .doc = "Replace composite operators by simpler ones: variance, batch and group normalization, losses, stack, sorting, what is given no axis, and what the data sizes.",
    .options = options,
    .options_size = sizeof(struct options),
    .each_op = decompose,
    .order = IR_PRE_ORDER,
    .stats = STATS({"decomposed", "operators decomposed"}),
};
