// SPDX-License-Identifier: Apache-2.0
/* Transforms of loop form: what schedules are made of. Each keeps every element's bits: rounds are regrouped, and only
 * rounds that are independent change places. */
#ifndef RILL_PASSES_SCHEDULE_TRANSFORM_H
#define RILL_PASSES_SCHEDULE_TRANSFORM_H

#include "../../base/str.h"
#include "../../ir/frame.h"
#include "../../ir/op.h"
#include "../../ir/simplify.h"

struct ir_device_limits; /* targets/device.h */

typedef struct ir_transform {
  ir_func *func;
  ir_arena *scratch;
  const struct ir_device_limits *device; /* what the steps are for; NULL: any */
  const char *problem; /* why the last one that returned false did; nothing is changed then */
  const ir_op *where;  /* what is in its way; NULL: nothing in particular */
} ir_transform;

bool ir_transform_refuse(ir_transform *t, const char *why); /* false; WHY is the problem */

ir_value *ir_loop_variable(const ir_op *loop);
bool ir_loop_has_mode(const ir_op *loop, const char *mode);
/* The loop that is all that REGION holds; NULL where it holds something else. */
ir_op *ir_loop_only(const ir_region *region);

/* The first loop of T's function whose variable has this name; NULL where there is none. */
ir_op *ir_transform_find(const ir_transform *t, ir_slice name);

/* FACTOR rounds of LOOP i as a loop i_i in a loop i_o; what does not fill a round of i_o is a loop i_t in its else. */
bool ir_transform_split(ir_transform *t, ir_op *loop, int64_t factor);
/* The same without a rest: i_i has fewer rounds in the last round of i_o. */
bool ir_transform_block(ir_transform *t, ir_op *loop, int64_t factor);
/* The same for LOOP of independent rounds, with i_i of constant count: what is too many does what the last round does, and
 * writes nothing but what is local to it. */
bool ir_transform_pad(ir_transform *t, ir_op *loop, int64_t factor);
/* LOOP and the loop that is all its body change places; its rounds must be independent (that the inner
 * loop's are is not enough: they may read what rounds before wrote elsewhere). */
bool ir_transform_reorder(ir_transform *t, ir_op *loop);
/* LOOP i and the loop j that is all its body become one loop i_j. */
bool ir_transform_fuse(ir_transform *t, ir_op *loop);
/* The rounds of LOOP, independent and of constant count, are done side by side: the loop moves inwards, around the stores,
 * where it is unrolled; local memory gets a leading axis for it. */
bool ir_transform_sink(ir_transform *t, ir_op *loop);
/* The same, but the loop stays as it is and moves no further than around loops named AT. */
bool ir_transform_sink_at(ir_transform *t, ir_op *loop, ir_slice at);
/* The same, and the rounds are written out where the loop would be unrolled: each knows its number. */
bool ir_transform_jam(ir_transform *t, ir_op *loop);
/* The rounds of LOOP, of constant count, are written out one after the other. */
bool ir_transform_expand(ir_transform *t, ir_op *loop);
/* LOOP i becomes a loop i_f of its first FIRST rounds, a loop i_m, and a loop i_l of its last LAST rounds (fewer where there
 * are not so many); a loop of no rounds is left out. */
bool ir_transform_partition(ir_transform *t, ir_op *loop, int64_t first, int64_t last);
/* What a round of LOOP loads from the parameter BUFFER is first copied, by a loop of independent rounds, into local memory. */
bool ir_transform_cache(ir_transform *t, ir_op *loop, ir_slice buffer);
/* What LOOP does stands in it twice: under the condition that the round is none of the FIRST first and of the LAST last, and in
 * the else of it. Simplified, the former has no conditions that only they need. */
bool ir_transform_specialize(ir_transform *t, ir_op *loop, int64_t first, int64_t last);
/* LOOP in its simplest words, with what loops and conditions around them say: conditions that hold are dropped, and what
 * stands under those that never do. */
bool ir_transform_simplify(ir_transform *t, ir_op *loop);
/* LOOP's mode: "vectorize", "parallel", "unroll", "serial"; FACTOR as in the text, 0 for none. */
bool ir_transform_mode(ir_transform *t, ir_op *loop, const char *mode, int64_t factor);

/* The rounds of LOOP, independent, become invocations in workgroups of SIZE: `bind` loops over the groups, on two axes where
 * one may not be enough, and over the invocations. LOOP must stand outside of all others. */
bool ir_transform_bind(ir_transform *t, ir_op *loop, int64_t size);
/* Each round of LOOP, independent, is done by a workgroup of SIZE invocations, which share the rounds of the independent loops
 * in it; memory that several of them touch becomes the workgroup's, with barriers. LOOP must stand outside of all others. */
bool ir_transform_workgroup(ir_transform *t, ir_op *loop, int64_t size);
/* The bytes of workgroup memory which that would take; -1 where it cannot be done. */
int64_t ir_transform_workgroup_bytes(ir_transform *t, ir_op *loop, int64_t size);

/* The bytes of ALLOC in a kernel, 0 where the extents are no constants; of all memory of FUNC that an invocation has for itself. */
int64_t ir_alloc_bytes(const ir_op *alloc);
int64_t ir_transform_private_bytes(const ir_func *func);

/* FACTS learn what LOOP says about its variable, in the words of FRAME. */
void ir_loop_count(ir_facts *facts, ir_frame *frame, const ir_op *loop);
/* What the loops around OP say about their variables, in the words of FRAME; conditions around it are left out. */
const ir_facts *ir_transform_facts(ir_transform *t, ir_frame *frame, const ir_op *op);
/* All rounds of LOOP but the FIRST first and the LAST last (few of them) meet what conditions between it and OP ask of its
 * variable. False where there are no such rounds, or it isn't known. */
bool ir_transform_edges(ir_transform *t, const ir_op *loop, const ir_op *op, int64_t *first, int64_t *last);

/* `split(i, 4), sink(i_i), vectorize(j, 2)`: the transforms by name, in order. Stops at what cannot be done. */
bool ir_transform_apply(ir_transform *t, ir_slice steps);

/* The steps that suit the loops of FUNC; NULL where they had better stay as they are. */
const char *ir_transform_choose(ir_func *func, ir_arena *arena);

/* Tiles in workgroup memory for a sum of products; NULL where there is none that they suit. */
const char *ir_transform_choose_tile(ir_func *func, ir_arena *arena, const struct ir_device_limits *device);

/* The same for a device: the parallel loops that stand outermost become a grid. NULL: one invocation does it all. */
const char *ir_transform_choose_grid(ir_func *func, ir_arena *arena, const struct ir_device_limits *device);

#endif
