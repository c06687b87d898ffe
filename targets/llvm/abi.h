// SPDX-License-Identifier: Apache-2.0
/* The interface between emitted code and who runs it. Emitted code holds no state: everything comes through the context,
 * whose layout emit_unit_new repeats for LLVM. */
#ifndef RILL_TARGETS_LLVM_ABI_H
#define RILL_TARGETS_LLVM_ABI_H

#include <stdint.h>

/* A dense tensor, row-major. A scalar parameter is a tensor of rank 0, a shape one of i64 and rank 1, an explicit symbol
 * an i64 of rank 0; a tuple is passed as its fields. Outputs: DIMS has room for the rank and is filled; where DATA is
 * NULL it becomes memory of context->alloc that the caller frees, else it must hold the result. */
typedef struct rill_tensor {
  void *data;
  int64_t *dims;
} rill_tensor;

/* What went wrong. `{0}`, `{1}` in the text stand for values. */
typedef struct rill_failure {
  const char *where; /* file:line:column, or "" */
  const char *text;
  uint32_t begin, end; /* the source range; 0 in code that outlives the process */
} rill_failure;

typedef struct rill_context rill_context;

enum { RILL_PLANS = 8, RILL_PLAN_BLOCKS = 256 };
/* Where blocks of memory were placed: the last few answers, so that calls with other extents in turn compute none anew. Plans
 * of more blocks are not kept. */
typedef struct rill_plans {
  struct rill_plan {
    const int64_t *live; /* which host.alloc; NULL: none */
    int64_t count, total, bytes[RILL_PLAN_BLOCKS], offsets[RILL_PLAN_BLOCKS];
  } at[RILL_PLANS];
  int64_t next;  /* to be replaced */
  int64_t made;  /* how many have been computed */
} rill_plans;

/* Rounds BEGIN to END of a loop whose rounds are independent; 0, or not where a check failed. */
typedef int32_t rill_body(rill_context *context, void *data, int64_t begin, int64_t end);

struct rill_context {
  /* At least BYTES (>= 0) aligned to 64; NULL after having reported that there are none. */
  void *(*alloc)(rill_context *context, int64_t bytes);
  void (*free)(rill_context *context, void *memory); /* takes NULL */
  void (*fail)(rill_context *context, const rill_failure *failure, const int64_t *values);
  const void *const *constants; /* by number, where they are not in the code */
  /* Runs BODY over COUNT rounds, on several threads where that pays; COST: of one round, in operations on elements or
   * thereabouts. What it returns is BODY's. Bodies neither allocate nor free. */
  int32_t (*parallel)(rill_context *context, int64_t count, int64_t cost, rill_body *body, void *data);
  /* Only in code that is measured: before a kernel runs, with BYTES below 0, and after it, with the bytes of its buffers. */
  void (*launch)(rill_context *context, const char *kernel, int64_t bytes);
  int64_t depth; /* of calls of graph functions in each other; 0 where none runs */
  rill_plans *plans; /* of this program or model */
};
enum { RILL_MOST_CALLS = 1000 }; /* in each other, as the interpreter takes them */

/* A graph function: 0, or not after `fail` or `alloc` reported something; then no output holds memory. */
typedef int32_t rill_entry(rill_context *context, const rill_tensor *inputs, rill_tensor *outputs);

/* --- what a compiled model says of itself (runtime/llvm/support) --- */

/* A tensor that goes in or comes out. */
typedef struct rill_value {
  const char *name, *expected; /* EXPECTED: "has another dtype than f32" */
  int32_t rank;
  int32_t extents; /* a shape: how many it has; a tensor: -1 */
  uint8_t code, bits; /* of its dtype, as DLPack has them; bool takes 8 bits */
} rill_value;

/* The file of constants that a model wants; PATH is the caller's. */
typedef struct rill_side {
  const char *head;       /* its first 64 bytes: no other file has these */
  int64_t bytes;          /* of the whole file */
  int64_t count;          /* of constants */
  const int64_t *offsets; /* of each */
  /* The file in memory, NULL where it cannot be read or has another size; and away with it. */
  const void *(*map)(const char *path, int64_t bytes);
  void (*unmap)(const void *memory, int64_t bytes);
} rill_side;
enum { RILL_SIDE_HEAD = 64 };

typedef struct rill_info {
  const char *name; /* of the function */
  int64_t input_count, output_count;
  const rill_value *inputs, *outputs;
  rill_entry *run;
  rill_entry *shapes; /* checks the inputs' extents, fills those of the outputs, computes nothing; -1: only a run can tell */
  const rill_side *side; /* NULL: all constants are in the code */
} rill_info;

#endif
