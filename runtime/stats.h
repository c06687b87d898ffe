// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_STATS_H
#define RILL_RUNTIME_STATS_H

#include "../base/map.h"
#include "../base/str.h"

typedef struct ir_kernel_stats {
  const char *name;
  uint64_t launches, bytes_moved;
  double seconds;
} ir_kernel_stats;

/* What a run did. Bytes moved are those of the kernels' buffers, read or written; the peak is the most memory at a time, inputs
 * and constants aside. A kernel is a prim_func, or an operator that runs as it stands. */
typedef struct ir_run_stats {
  uint64_t launches, bytes_moved, peak_bytes;
  const ir_kernel_stats *kernels; /* in the order of their first launch */
  size_t kernel_count;
} ir_run_stats;

/* Collects launches. Zeroed: empty. */
typedef struct ir_recorder {
  ir_arena arena;
  ir_interner names;
  ir_kernel_stats *at;
  size_t count, capacity;
} ir_recorder;

void ir_recorder_reset(ir_recorder *recorder); /* gives its memory back too */
void ir_recorder_note(ir_recorder *recorder, const char *kernel, uint64_t bytes, double seconds);
/* The sums, PEAK with them; valid until the next note or reset. */
ir_run_stats ir_recorder_stats(const ir_recorder *recorder, uint64_t peak);
/* Seconds of a clock that only goes forward. */
double ir_now(void);

#endif
