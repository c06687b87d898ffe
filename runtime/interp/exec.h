// SPDX-License-Identifier: Apache-2.0
/* Running plans: what the files exec*.c share. */
#ifndef RILL_RUNTIME_INTERP_EXEC_H
#define RILL_RUNTIME_INTERP_EXEC_H

#include "../interp.h"
#include "code.h"

/* Who touched an element since the last barrier. */
typedef struct ir_touch {
  uint32_t write_epoch, write_lane;
  uint32_t read_epoch, read_lane; /* UINT32_MAX: several lanes */
  bool write_atomic;
} ir_touch;

/* A reduction under way. */
typedef struct ir_reduce_state {
  int64_t in_block[IR_MAX_LEVELS]; /* elements that went to the block at hand */
  int64_t fed[IR_MAX_LEVELS];      /* elements that the level got in all */
  int64_t stride;                  /* lanes in a row */
} ir_reduce_state;

typedef struct ir_exec {
  ir_plan *plan;
  const ir_kernels *kernels;
  ir_diags *diags;
  ir_meter *meter;
  bool checked, quiet;
  uint64_t steps, step_limit; /* 0: no limit */
  uint8_t **at;               /* registers */
  uint8_t **data;             /* buffers */
  ir_tensor **owned;          /* by buffer: memory of allocations */
  /* The active lanes: those of [lo, hi) that MASK (NULL: all) has. */
  int64_t lo, hi;
  const uint8_t *mask;
  ir_reduce_state *reduces;
  int64_t *offsets; /* one a lane */
  uint8_t *raw;     /* 8 bytes a lane and element */
  /* Race detection. An epoch ends at a barrier; group_epoch is the first one of the workgroup. */
  ir_touch **touches; /* by buffer, NULL where not watched */
  uint32_t epoch, group_epoch, grid_epoch;
  int64_t grid_lanes; /* invocations of the workgroup, 0 outside of a grid */
} ir_exec;

/* All return false after an error, which has been reported unless exec->quiet. */
bool ir_exec_fail(ir_exec *exec, const ir_op *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool ir_exec_code(ir_exec *exec, const ir_code *code);
bool ir_exec_count(ir_exec *exec, const ir_op *op, uint64_t steps);

/* exec_memory.c */
int64_t ir_linear_base(const ir_exec *exec, const ir_linear *linear); /* at lane 0, without varying terms */
bool ir_exec_load(ir_exec *exec, const ir_instr *instr);
bool ir_exec_store(ir_exec *exec, const ir_instr *instr);
bool ir_exec_atomic(ir_exec *exec, const ir_instr *instr);
bool ir_exec_alloc(ir_exec *exec, const ir_instr *instr);

/* exec_reduce.c */
void ir_exec_start(ir_exec *exec, const ir_instr *instr);
void ir_exec_step(ir_exec *exec, const ir_instr *instr);
void ir_exec_tick(ir_exec *exec, const ir_instr *instr);
bool ir_exec_finish(ir_exec *exec, const ir_instr *instr);

/* Fills the axes of all lanes of a workgroup. */
void ir_exec_fill_axes(ir_exec *exec, const ir_node *node);

/* exec_grid.c */
typedef enum ir_touch_kind { IR_TOUCH_READ, IR_TOUCH_WRITE, IR_TOUCH_ATOMIC } ir_touch_kind;
bool ir_exec_touch(ir_exec *exec, const ir_access *access, int64_t element, int64_t lane, ir_touch_kind kind);
bool ir_exec_barrier(ir_exec *exec, const ir_op *op);
bool ir_exec_grid(ir_exec *exec, const ir_instr *instr);
void ir_exec_new_group(ir_exec *exec);

#endif
