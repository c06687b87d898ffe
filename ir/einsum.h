// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_EINSUM_H
#define RILL_IR_EINSUM_H

#include "../base/arena.h"

/* The subscripts of einsum, NumPy's: terms of letters for the operands, `...` for axes without a letter, which broadcast from
 * their end, `->` and the term of the result. Without `->` the result has the axes of `...`, then the letters that stand
 * once, in the order of their codes. */

enum { IR_EINSUM_MOST_AXES = 32, IR_EINSUM_LETTERS = 52, IR_EINSUM_LABELS = IR_EINSUM_LETTERS + IR_EINSUM_MOST_AXES };

/* Labels stand for what is iterated over: letters, then the axes of `...`, counted from the last one. */
typedef struct ir_einsum_term {
  size_t count;
  uint8_t labels[IR_EINSUM_MOST_AXES]; /* one an axis */
} ir_einsum_term;

typedef struct ir_einsum {
  size_t operand_count;
  ir_einsum_term *operands, result;
  size_t reduced_count; /* labels that the result lacks, in the order in which operands name them */
  uint8_t reduced[IR_EINSUM_LABELS];
} ir_einsum;

/* TEXT for operands of RANKS, on ARENA. False with *problem, on ARENA as well. */
bool ir_einsum_parse(ir_arena *arena, const char *text, size_t operand_count, const size_t *ranks, ir_einsum *out, const char **problem);

#endif
