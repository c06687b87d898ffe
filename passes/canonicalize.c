// SPDX-License-Identifier: Apache-2.0
/* passes/canonicalize.c - apply the exact rules until none applies. Needs nothing, keeps everything; a second run
 * changes nothing. */
#include "passes/pass.h"
#include "passes/rules/rules.h"

const ir_pass ir_pass_canonicalize = {
    .name = "canonicalize",
    .doc = "Apply exact simplifications until none applies.",
    .rules = (const ir_rule *const[]){ir_rules_structure, ir_rules_layout, ir_rules_arith, NULL},
    .stats = STATS({"applied", "rules applied"}),
};
