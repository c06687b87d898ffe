// SPDX-License-Identifier: Apache-2.0
/* passes/decompose_ops.c - composite operators become simpler ones. Needs nothing. */
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

static bool decompose(ir_pass_run *run, ir_op *op) {
  if (!ir_can_decompose(op)) return false;
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
