// SPDX-License-Identifier: Apache-2.0
/* Sums of products in loop form, and which loops load what they multiply again: what the rules for tiles ask. */
#ifndef RILL_PASSES_SCHEDULE_PRODUCT_H
#define RILL_PASSES_SCHEDULE_PRODUCT_H

#include "../../ir/op.h"

/* The store of the sum (or maximum, ...) that stands in loops in LOOP; NULL where there is none or more than one. */
ir_op *ir_sum_in(ir_op *loop);
bool ir_sum_is_product(const ir_op *sum);
/* What the rounds of LANES load for SUM is the same in all rounds of LOOP around it, something else is not, and no condition
 * tells the rounds of LOOP apart. */
bool ir_product_shares(const ir_op *sum, const ir_op *lanes, const ir_op *loop);

#endif
