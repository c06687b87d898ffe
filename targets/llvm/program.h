// SPDX-License-Identifier: Apache-2.0
/* A module made into LLVM modules. */
#ifndef RILL_TARGETS_LLVM_PROGRAM_H
#define RILL_TARGETS_LLVM_PROGRAM_H

#include "host.h"

typedef struct emit_program {
  ir_module *module;
  ir_arena *arena;
  emit_target target;
  bool checked;
  ir_vec(emit_kernel *) kernels; /* to be emitted: equal ones once */
  ir_map by_func;                /* ir_func of a prim_func -> emit_kernel */
  ir_vec(ir_func *) hosts;       /* graph functions with a body */
} emit_program;

/* What is to be emitted: every graph function, and the prim_funcs that they call (EVERY: all prim_funcs). Reports and
 * returns false where the module is not lowered. */
bool emit_program_plan(emit_program *program, bool every);

/* Emits everything into units, COUNT at most (as many as there is work for; *made of them are used), the graph functions
 * into one of them. False after an error; units that were made stay to be freed. */
bool emit_program_units(emit_program *program, size_t count, bool whole, emit_unit **units, size_t *made);

/* LLVM IR as text. */
bool emit_program_text(ir_module *module, const char *triple, const char *cpu, bool checked, ir_text *out);

#endif
