// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_REDUCTION_H
#define RILL_IR_REDUCTION_H

#include "op.h"

typedef enum ir_reducer {
  IR_REDUCE_SUM,
  IR_REDUCE_PROD,
  IR_REDUCE_MAX,
  IR_REDUCE_MIN,
  IR_REDUCE_ANY,
  IR_REDUCE_ALL,
  IR_REDUCE_DOT,
  IR_REDUCE_ARGMAX,
  IR_REDUCE_ARGMIN,
  IR_REDUCE_USER, /* @name(...) */
} ir_reducer;

/* How a reduction must be computed, to the bit: what every executor and schedule asks. */
typedef struct ir_reduction {
  ir_reducer reducer;
  ir_dtype acc;      /* dtype of the accumulator (of the value, for argmax and argmin) */
  unsigned lanes;    /* 32 or 1: the lanes order; 0: one accumulator, ascending, without blocks (chain and USER) */
  const char *name;  /* of a USER reducer, without @ */
} ir_reduction;

enum { IR_REDUCTION_LANES = 32, IR_REDUCTION_BLOCK = 4096 };

/* Whether STORE reduces; then *reduction says how. The order:
 *   dot, sum(order="chain") and user reducers: lanes = 0.
 *   sum, prod, max, min, any, all, argmax, argmin: lanes = 32 where the operand's last axis is reduced: the innermost
 *   reduction axis of the nest, alone and with coefficient 1, is the last index of the first load in the operand, and
 *   is in none of that load's other indices. Else 1.
 * Accumulators: f32 for f16, bf16 and f8, i32 for 8-bit integers and smaller (sum, prod and dot; dot of the operand's
 * dtype), else the operand's dtype; `acc=` overrides. */
bool ir_reduction_of(const ir_op *store, ir_reduction *reduction);
/* The start value of an accumulator of DTYPE: 0, 1, -inf, the least integer, ... Not for USER. */
const ir_expr *ir_reduction_identity(ir_context *context, ir_reducer reducer, ir_dtype dtype);
/* acc (+) x, for SUM, PROD, MAX, MIN, ANY, ALL. */
const ir_expr *ir_reduction_combine(ir_context *context, ir_reducer reducer, const ir_expr *acc, const ir_expr *x);

#endif
