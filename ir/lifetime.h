// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_LIFETIME_H
#define RILL_IR_LIFETIME_H

#include "module.h"
#include "simplify.h"

/* From where to where the memory of a graph function's values is needed. Steps are the operations of the function,
 * numbered in the order of the text; what is needed in a round of a loop is needed in every round. */
typedef struct ir_lifetimes {
  ir_arena *arena;
  ir_map steps; /* ir_op -> its number, plus 1 */
} ir_lifetimes;

/* What becomes of memory that an operation yields, under whatever name: views, tuples, values that regions hand on,
 * results of functions that it was passed to. */
typedef struct ir_lifetime {
  size_t begin, end; /* the first and the last step that need it */
  bool escapes;      /* nobody knows until when: captured, carried into the next round, or passed to the host */
  size_t returns;    /* how often the function returns it */
  size_t result;     /* of which it is the last such result */
  bool direct;       /* only views stand between the memory and what is returned */
  ir_op *last;       /* the last user, END's operation or one that ends there */
} ir_lifetime;

/* FUNC must not change while the lifetimes are used. */
void ir_lifetimes_of(ir_lifetimes *lifetimes, ir_arena *arena, ir_func *func);
size_t ir_lifetime_step(const ir_lifetimes *lifetimes, const ir_op *op);
/* Of the memory that VALUE, an operation's result, is made with. */
ir_lifetime ir_lifetime_of(const ir_lifetimes *lifetimes, ir_value *value);

/* Nothing behind REGION needs the memory. */
bool ir_lifetime_ends_in(const ir_lifetimes *lifetimes, const ir_lifetime *life, const ir_region *region);

static inline bool ir_lifetimes_meet(const ir_lifetime *a, const ir_lifetime *b) {
  return a->escapes || b->escapes || (a->begin <= b->end && b->begin <= a->end);
}

/* The bytes that a tensor of TYPE, whose extents are known, takes in storage: whole units of alignment. */
const ir_expr *ir_place_bytes(ir_context *context, const ir_facts *facts, const ir_type *type);

#endif
