// SPDX-License-Identifier: Apache-2.0
/* Copies of loop form in which variables and buffers are others: what the transforms are written with. */
#ifndef RILL_PASSES_SCHEDULE_COPY_H
#define RILL_PASSES_SCHEDULE_COPY_H

#include "nest.h"

typedef struct ir_copy {
  ir_nest nest;    /* nest.values: values of the old loops -> values of the new ones */
  ir_map wide;     /* local buffers of the old loops -> their counterparts with an axis in front of the others */
  ir_value *round; /* the index on that axis */
  ir_map narrow;   /* buffers of the old loops -> their counterparts without the first axis */
} ir_copy;

/* Everything in the region can be copied; else *problem says what cannot. */
bool ir_copy_can(ir_region *region, const char **problem);
/* OP, the operations of REGION, at B. */
void ir_copy_op(ir_copy *c, ir_builder *b, ir_op *op);
void ir_copy_region(ir_copy *c, ir_builder b, ir_region *region);
/* The head of a loop or a condition; REGION is the new one, to be filled. */
ir_region *ir_copy_for(ir_copy *c, ir_builder *b, ir_op *loop);
ir_op *ir_copy_if(ir_copy *c, ir_builder *b, ir_op *branch);
/* EXPR of OP in terms of FRAME; the operand VALUE at B. */
const ir_expr *ir_copy_expr(ir_copy *c, ir_frame *frame, const ir_op *op, const ir_expr *expr);
ir_value *ir_copy_operand(ir_copy *c, ir_builder *b, ir_value *value);

#endif
