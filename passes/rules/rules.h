// SPDX-License-Identifier: Apache-2.0
/* Rule sets: exact rules only. Each ends with a row whose `apply` is NULL. */
#ifndef RILL_PASSES_RULES_RULES_H
#define RILL_PASSES_RULES_RULES_H

#include "../../ir/rewrite.h"

extern const ir_rule ir_rules_layout[];   /* permutations, reshapes, slices, broadcasts that do nothing or combine */
extern const ir_rule ir_rules_arith[];    /* identities of arithmetic that keep every bit */
extern const ir_rule ir_rules_structure[]; /* tuples, casts between types, constant conditions, scalars, shapes */

/* VALUE is a `const` (or an inline scalar constant) whose elements all are the same: their bits. */
bool ir_const_splat(const ir_value *value, uint64_t *bits, ir_dtype *dtype);
/* The types are equal, extents known and proven. */
bool ir_same_type(ir_rewriter *rw, const ir_type *a, const ir_type *b);

#endif
