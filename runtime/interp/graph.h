// SPDX-License-Identifier: Apache-2.0
/* Running graph functions: what the files graph*.c share. */
#ifndef RILL_RUNTIME_INTERP_GRAPH_H
#define RILL_RUNTIME_INTERP_GRAPH_H

#include "interp.h"

typedef struct ir_block ir_block;
typedef struct ir_body ir_body;

/* An operation with its operands and results as numbers of slots. */
typedef struct ir_step {
  ir_op *op;
  const uint32_t *operands;
  uint32_t result;      /* the first one; the others follow */
  const uint32_t *drops; /* slots that nobody reads after this step */
  uint32_t drop_count;
  ir_block **blocks;    /* of its regions; not of a closure */
  ir_body *closure;     /* the body of a closure: OPERANDS are the values that it captures */
  const ir_string **binds; /* match_cast: symbols that it binds */
  size_t bind_count;
} ir_step;

struct ir_block {
  ir_region *region;
  ir_step *steps;
  size_t step_count;
  uint32_t first_arg;
  const uint32_t *drops; /* arguments that nobody reads */
  uint32_t drop_count;
};

/* A function or closure. Slots 0 to capture_count - 1 hold captured values. */
struct ir_body {
  ir_block *block;
  uint32_t slot_count;
  ir_value **captures;
  size_t capture_count;
};

/* A call under way. */
typedef struct ir_activation {
  ir_interp *interp;
  const ir_body *body;
  ir_object **slots;
  ir_symbols symbols;
} ir_activation;

/* A function value. */
typedef struct ir_closure {
  ir_op *op;           /* a closure operation, or NULL: FUNC */
  ir_func *func;
  const ir_body *body; /* of the closure */
  ir_object **captured;
  size_t captured_count;
  ir_symbols symbols;
} ir_closure;

/* graph.c */
const ir_body *ir_body_of(ir_interp *interp, ir_region *region);
/* Runs BLOCK with arguments already in their slots; *values are new references to what its terminator yields, on the
 * heap, for the caller to release and free. NULL where the block has no terminator. */
bool ir_run_block(ir_activation *a, const ir_block *block, ir_object ***values, size_t *count);
void ir_release_objects(ir_object **objects, size_t count); /* frees OBJECTS too */
void ir_set_slot(ir_activation *a, uint32_t slot, ir_object *object); /* takes over the reference */

/* graph_call.c */
bool ir_call_func(ir_interp *interp, ir_func *func, size_t count, ir_object *const *arguments, ir_object **results);
bool ir_step_call(ir_activation *a, const ir_step *step);
bool ir_step_closure(ir_activation *a, const ir_step *step);

/* graph_control.c */
bool ir_step_if(ir_activation *a, const ir_step *step);
bool ir_step_loop(ir_activation *a, const ir_step *step);
bool ir_step_dataflow(ir_activation *a, const ir_step *step);

/* graph_host.c */
/* Fills fresh memory with what nobody has written: NaN, -1, true. */
void ir_step_poison(ir_tensor *tensor);
bool ir_step_host(ir_activation *a, const ir_step *step);

/* graph_step.c */
bool ir_run_step(ir_activation *a, const ir_step *step);
bool ir_step_fail(ir_activation *a, const ir_step *step, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline ir_object *ir_step_operand(const ir_activation *a, const ir_step *step, size_t i) {
  return a->slots[step->operands[i]];
}
/* Result I, taking over the reference. */
static inline void ir_step_result(ir_activation *a, const ir_step *step, size_t i, ir_object *object) {
  ir_set_slot(a, step->result + (uint32_t)i, object);
}

/* operators.c */
/* Runs a tensor operator on OPERANDS: RESULTS gets new references. */
bool ir_run_operator(ir_interp *interp, const ir_symbols *symbols, ir_op *op, ir_object *const *operands, ir_object **results);
void ir_operators_free(ir_interp *interp);

#endif
