// SPDX-License-Identifier: Apache-2.0
/* Building loop form: loops, conditions, local memory, stores; what the schedule's rules are written with. */
#ifndef RILL_PASSES_SCHEDULE_NEST_H
#define RILL_PASSES_SCHEDULE_NEST_H

#include "../../ir/frame.h"
#include "../../ir/infer.h"
#include "../../ir/reduction.h"

/* The translation of one compute nest (or of several joined ones) into loops. */
typedef struct ir_nest {
  ir_module *module;
  ir_context *context;
  ir_arena *scratch;
  const ir_facts *facts;
  ir_map values; /* values of the nest (axes, bindings) -> values of the loops */
  ir_map temps;  /* buffers that became smaller -> ir_nest_temp */
} ir_nest;

/* A temporary whose first DROPPED axes are loops around it now. */
typedef struct ir_nest_temp {
  ir_value *buffer;
  size_t dropped;
} ir_nest_temp;

/* An empty frame. */
ir_frame ir_nest_frame(ir_nest *nest);
/* EXPR of OP (in the nest) in terms of FRAME and the loops. */
const ir_expr *ir_nest_import(ir_nest *nest, ir_frame *frame, const ir_op *op, const ir_expr *expr);
/* The extent (an operand of a nest) as a fresh operand at B. */
ir_value *ir_nest_extent(ir_nest *nest, ir_builder *b, ir_value *extent);
/* An i64 expression as an operand at B. */
ir_value *ir_nest_scalar(ir_builder *b, const ir_frame *frame, const ir_expr *expr);
/* VALUE is not wanted here any more: gone, where it is an expression that nothing uses (not a variable or a binding). */
void ir_nest_drop(ir_value *value);

/* `for NAME < EXTENT MODE { ... }`; B then stands in the loop. Returns the loop variable. */
ir_value *ir_nest_for(ir_nest *nest, ir_builder *b, ir_value *extent, const char *name, const char *mode);
/* `if CONDITION { ... }`; B then stands in it. */
void ir_nest_if(ir_nest *nest, ir_builder *b, const ir_frame *frame, const ir_expr *condition);
/* `%NAME = alloc(scope=SCOPE) : DTYPE[dims]` */
ir_value *ir_nest_alloc(ir_nest *nest, ir_builder *b, const char *name, const char *scope, ir_dtype dtype, size_t rank,
                        const ir_expr *const *dims);
/* `%NAME = EXPR : type` */
ir_value *ir_nest_let(ir_builder *b, const ir_frame *frame, const char *name, const ir_expr *expr);
/* `%BUFFER[indices] = VALUE`; the target is appended to the frame, so that its number is not 0: the operands are
 * reordered as a store wants them. */
void ir_nest_store(ir_builder *b, ir_frame *frame, ir_value *buffer, size_t count, const ir_expr *const *indices,
                   const ir_expr *value);

/* Where the where-clause and the bindings of a nest's region go: opens the conditions and clones the bindings; B then
 * stands inside. */
void ir_nest_guards(ir_nest *nest, ir_builder *b, ir_region *region);
void ir_nest_bindings(ir_nest *nest, ir_builder *b, ir_region *region);

/* The loops over the reduction axes of STORE (a reduction in REGION) and the stores of its results. */
void ir_nest_reduce(ir_nest *nest, ir_builder *b, ir_region *region, ir_value *const *extents, ir_op *store);
/* The store of a result into the (mapped) target number T of STORE. */
void ir_nest_store_result(ir_nest *nest, ir_builder *b, ir_op *store, size_t t, ir_frame *frame, const ir_expr *value);

#endif
