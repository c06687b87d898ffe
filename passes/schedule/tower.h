// SPDX-License-Identifier: Apache-2.0
/* The parallel loops that a kernel stands in: what the rules for devices look at first. */
#ifndef RILL_PASSES_SCHEDULE_TOWER_H
#define RILL_PASSES_SCHEDULE_TOWER_H

#include "transform.h"

/* Outermost first, each all of the body of the one around. */
typedef struct ir_tower {
  ir_op *loops[32];
  size_t count;
} ir_tower;

ir_tower ir_tower_find(ir_func *func);
const char *ir_tower_name(const ir_tower *tower, size_t i); /* of a loop's variable */
/* LOOP has as many rounds in all rounds of the loop of VARIABLE. */
bool ir_loop_is_independent(const ir_op *loop, const ir_value *variable);

/* Rounds of LOOP that are known before the kernel runs. */
enum { IR_ROUNDS_UNKNOWN = INT32_MAX };
int64_t ir_loop_rounds(const ir_op *loop);
int64_t ir_rounds_times(int64_t a, int64_t b);

#endif
