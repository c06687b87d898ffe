// SPDX-License-Identifier: Apache-2.0
/* passes/normalize.c - give every result the most precise type that inference knows, from the operands on. A written
 * type that says less is replaced; one that contradicts is the verifier's matter. Needs nothing. */
#include "ir/infer.h"
#include "passes/pass.h"

enum { REFINED };

static bool refine(ir_pass_run *run, ir_op *op) {
  size_t refined = ir_op_refine(op, run->scratch);
  run->stats[REFINED] += refined;
  return refined > 0;
}

const ir_pass ir_pass_normalize = {
    .name = "normalize",
    .doc = "Give every result the most precise type that inference knows.",
    .each_op = refine,
    .order = IR_PRE_ORDER,
    .repeat = true, /* what a region yields is more precise only after it has been seen */
    .stats = STATS({"refined", "result types made more precise"}),
};
