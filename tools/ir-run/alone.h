// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TOOLS_IR_RUN_ALONE_H
#define RILL_TOOLS_IR_RUN_ALONE_H

#include "ir/module.h"

/* Where a parameter of a function made by ir_run_alone comes from: argument ARGUMENT of the kernel, or its extent at AXIS. */
typedef struct ir_alone_source {
  size_t argument;
  int axis; /* -1: the argument itself */
} ir_alone_source;

/* A function that runs a kernel and nothing else. */
typedef struct ir_alone {
  const ir_func *kernel;
  ir_func *func;          /* takes the kernel's symbols and what it reads; its results are what the kernel writes, in order */
  ir_alone_source *from;  /* one a parameter of FUNC */
  size_t *to;             /* one a result of FUNC: the kernel's argument */
} ir_alone;

/* Adds `@KERNEL.alone` to the kernel's module. On ARENA; NULL after a report. */
ir_alone *ir_run_alone(ir_arena *arena, ir_func *kernel);

#endif
