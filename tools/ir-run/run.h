// SPDX-License-Identifier: Apache-2.0
/* The parts of ir-run: arrays in and out, comparing, the executors. */
#ifndef RILL_TOOLS_IR_RUN_RUN_H
#define RILL_TOOLS_IR_RUN_RUN_H

#include "runtime/stats.h"
#include "runtime/tensor.h"
#include "tools/tool.h"

/* The inputs of ENTRY from `[NAME=]file.npy` arguments. NAME counts only where an input has that name; the others fill
 * the inputs without one in order. Reports what is missing or too much. */
ir_tensor **ir_run_inputs(ir_tool *tool, const ir_func *entry, const ir_opt_strings *files, size_t *count);
/* Reports more files of --output or --expect than ENTRY has results. */
bool ir_run_check_files(ir_tool *tool, const ir_func *entry, const ir_opt_strings *outputs, const ir_opt_strings *expect);
/* Writes TENSORS to .npy files, all of them or none. */
bool ir_run_write(ir_tool *tool, size_t count, const char *const *paths, ir_tensor *const *tensors);

typedef struct ir_tolerance {
  double relative, absolute;
  bool bits; /* nothing but equal bits, or two NaNs, will do */
} ir_tolerance;
/* Appends how GOT fits WANT, which has its type: `differs, largest error 0.5 at [0, 3]: got 1, expected 1.5; 2 of 8 elements differ`. */
bool ir_run_compare(ir_text *text, const ir_tensor *got, const ir_tensor *want, ir_tolerance tolerance);
/* Compares results with .npy files in order and prints the largest error of each, and where. An element fits where
 * |got - expected| <= absolute + relative * |expected|; NaN fits NaN; integers and bools must be equal. */
bool ir_run_expect(ir_tool *tool, const ir_opt_strings *files, ir_tensor *const *results, ir_tolerance tolerance);
/* `name: f32[2, 3]` and the elements, a few of them where there are many. */
void ir_run_print(const char *name, const ir_tensor *tensor);

/* Something that can run functions of a module. */
typedef struct ir_executor ir_executor;
struct ir_executor {
  bool (*run)(ir_executor *executor, const ir_func *entry, size_t count, ir_tensor *const *inputs, size_t result_count,
              ir_tensor **results);
  ir_run_stats (*stats)(ir_executor *executor); /* of the last run, where it is measured; until the next */
  void (*free)(ir_executor *executor);
};
typedef enum ir_checked { IR_CHECKED_DEFAULT, IR_CHECKED_ON, IR_CHECKED_OFF } ir_checked; /* default: as the executor does */
typedef struct ir_executor_options {
  ir_checked checked;
  const char *cache; /* a folder; NULL: none */
  bool measured;
  uint64_t max_bytes, max_steps; /* budgets of a run; 0: none. Steps are counted by the interpreter alone. */
  const char *device; /* of an executor that has several; NULL: the first */
  unsigned threads; /* 0: as many as there are processors; the interpreter runs on one */
} ir_executor_options;
/* A copy that lives as long as the tool. */
ir_run_stats ir_run_keep_stats(ir_tool *tool, ir_run_stats stats);
void ir_run_print_stats(const ir_run_stats *stats, double compile_seconds, double run_seconds, bool json);
ir_executor *ir_executor_interp(ir_tool *tool, ir_module *module, const ir_executor_options *options);
ir_executor *ir_executor_plugin(ir_tool *tool, ir_module *module, const char *name, const ir_executor_options *options);
enum { IR_COMPARED = 2 };
/* One of two executors that are compared. */
typedef struct ir_compared {
  const char *name;  /* "interp", or a plugin's */
  bool own;          /* it gets a copy of the module, which LOOPS are run on */
  ir_pipeline loops;
} ir_compared;
/* The interpreter runs the host program, and each kernel runs on both SIDES with equal arguments; the first one is right. A run
 * ends with an error at the first kernel whose results differ: FOLDER then has the kernel in a module, its inputs, and both
 * results. */
ir_executor *ir_executor_compare(ir_tool *tool, ir_module *module, const ir_compared sides[IR_COMPARED], const ir_executor_options *options, const ir_pipeline_options *how, ir_tolerance tolerance,
                                 const char *folder);

#endif
