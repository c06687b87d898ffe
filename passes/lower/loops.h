// SPDX-License-Identifier: Apache-2.0
/* What rules are written with that make loops at once, since the order of their steps matters. Expressions may speak of all
 * values that there have been; each operation takes as operands those that it needs. */
#ifndef RILL_PASSES_LOWER_LOOPS_H
#define RILL_PASSES_LOWER_LOOPS_H

#include "../schedule/nest.h"
#include "lower.h"

typedef struct ir_loops {
  ir_lowering *l;
  ir_nest nest;
  ir_builder b;   /* where the next operation goes */
  ir_frame frame; /* of all expressions */
} ir_loops;

ir_loops ir_loops_open(ir_lowering *l);

/* `for LETTERi_ < EXTENT`; what follows goes into it. Its variable. */
const ir_expr *ir_loops_for(ir_loops *s, char letter, size_t i, const ir_expr *extent, const char *mode);
/* What follows is one invocation's work, from first to last: a parallel loop of one round, without which it is no kernel of a device. */
void ir_loops_alone(ir_loops *s);
/* One over each extent but that of axis BUT, the outermost parallel where PARALLEL; their variables in AXES. Where none is
 * parallel, one invocation does it all. */
void ir_loops_nest(ir_loops *s, size_t rank, const ir_expr *const *extents, size_t but, bool parallel, const ir_expr **axes);
/* What follows happens only where it holds. */
void ir_loops_if(ir_loops *s, const ir_expr *condition);
void ir_loops_while(ir_loops *s, const ir_expr *condition);
/* What follows goes behind the innermost loop or condition. */
void ir_loops_close(ir_loops *s);

/* `%NAME = EXPR`, for what is used more than once. */
const ir_expr *ir_loops_let(ir_loops *s, const char *name, const ir_expr *expr);
/* A scalar in memory. */
ir_value *ir_loops_variable(ir_loops *s, const char *name, const ir_expr *start);
/* An element; a scalar, whether value or in memory, takes no index. */
const ir_expr *ir_loops_load(ir_loops *s, ir_value *buffer, const ir_expr *const *index);
void ir_loops_store(ir_loops *s, ir_value *buffer, const ir_expr *const *index, const ir_expr *value);

#endif
