// SPDX-License-Identifier: Apache-2.0
/* Opening the loops of a grid: what the transforms that bind loops are written with. */
#ifndef RILL_PASSES_SCHEDULE_GRID_H
#define RILL_PASSES_SCHEDULE_GRID_H

#include "nest.h"
#include "transform.h"

typedef struct ir_grid {
  ir_nest *nest;
  ir_builder b;
  ir_frame frame;
  const char *name; /* what the loops are named after */
} ir_grid;

/* LOOP stands outside of all others, its rounds are independent, and each invocation may do what stands beside it. */
bool ir_grid_can_bind(ir_transform *t, ir_op *loop);
/* A grid that stands before LOOP and is named after its variable; *rounds gets the extent. */
ir_grid ir_grid_before(ir_nest *nest, ir_op *loop, const ir_expr **rounds);
/* `for NAME_END < EXTENT bind(AXIS)`; its variable. */
ir_value *ir_grid_bind(ir_grid *grid, const ir_expr *extent, const char *end, const char *axis);
/* Opens the loops over groups of SIZE of ROUNDS: on two axes where one may not be enough. Returns the group's first round. */
const ir_expr *ir_grid_groups(ir_grid *grid, const ir_expr *rounds, int64_t size);
/* Every group that is opened for ROUNDS has SIZE rounds. */
bool ir_grid_is_whole(const ir_expr *rounds, int64_t size);
/* `%NAME = EXPR`, and, unless WHOLE, `if NAME < ROUNDS`. */
ir_value *ir_grid_round(ir_grid *grid, const ir_expr *expr, const ir_expr *rounds, bool whole);

#endif
