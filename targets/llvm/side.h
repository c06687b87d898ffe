// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TARGETS_LLVM_SIDE_H
#define RILL_TARGETS_LLVM_SIDE_H

#include "program.h"

/* The file of a module's constants: a head that names it, then each constant at a multiple of 64. */
struct emit_side {
  uint8_t head[64]; /* what the file is, and a digest of all constants */
  int64_t bytes;
  size_t count;
  int64_t *offsets; /* in the order of emit_program's constants */
};

/* Decides whether PROGRAM, which is planned, has a side file, lays it out and gives it to OPTIONS->side. False after a report:
 * constants that may not go there, or a target that cannot read files. */
bool emit_side_plan(emit_program *program, const ir_target_options *options);
/* A constant rill_side; NULL pointer where UNIT has no side file. */
LLVMValueRef emit_side_describe(emit_unit *unit);

#endif
