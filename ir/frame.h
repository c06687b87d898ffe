// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_FRAME_H
#define RILL_IR_FRAME_H

#include "op.h"

/* The operands of an operation in the making, and the expressions that speak of them by number. */
typedef struct ir_frame {
  ir_context *context;
  ir_arena *arena;
  ir_value **operands;
  size_t count, capacity;
} ir_frame;

/* The number of VALUE among the operands, appended where it was missing. */
uint32_t ir_frame_operand(ir_frame *frame, ir_value *value);
/* A scalar value as an expression. An inline scalar's expression is taken in rather than the value. */
const ir_expr *ir_frame_use(ir_frame *frame, ir_value *scalar);
/* An element of BUFFER. */
const ir_expr *ir_frame_load(ir_frame *frame, ir_value *buffer, size_t count, const ir_expr *const *indices);

/* What an ARG or a LOAD of another operation becomes in FRAME: VALUE is the operand it speaks of, LEAF the expression
 * (a LOAD with its indices already in terms of FRAME and the number still the old one). NULL: the same value. */
typedef const ir_expr *ir_frame_map(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf);
/* EXPR of operation FROM in terms of FRAME. VALUES (may be NULL) maps values of FROM to others first; MAP may be NULL.
 * Inline scalars among the operands are taken in. */
const ir_expr *ir_frame_import(ir_frame *frame, const ir_op *from, const ir_expr *expr, const ir_map *values,
                               ir_frame_map *map, void *user);

/* EXPR, numbered in FRAME, in terms of OWN, which gets only the operands that EXPR uses. */
const ir_expr *ir_frame_take(ir_frame *own, const ir_frame *frame, const ir_expr *expr);

#endif
