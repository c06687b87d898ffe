// SPDX-License-Identifier: Apache-2.0
/* A module made into LLVM modules. */
#ifndef RILL_TARGETS_LLVM_PROGRAM_H
#define RILL_TARGETS_LLVM_PROGRAM_H

#include "../../runtime/plugin.h"
#include "export.h"

#include <llvm-c/Error.h>

typedef struct emit_program {
  ir_module *module;
  ir_arena *arena;
  emit_target target;
  bool checked, measured;
  ir_vec(emit_kernel *) kernels; /* to be emitted: equal ones once */
  ir_map by_func;                /* ir_func of a prim_func -> emit_kernel */
  ir_vec(ir_func *) hosts;       /* graph functions with a body */
  ir_vec(ir_data) constants;     /* of the hosts, in their order: what context->constants must hold */
  ir_map constant_at;            /* their bytes -> place, plus 1 */
  emit_side *side;               /* NULL: constants are in the code, or it is for this process */
} emit_program;

/* What is to be emitted: every graph function, and the prim_funcs that they call (EVERY: all prim_funcs). Reports and
 * returns false where the module is not lowered. */
bool emit_program_plan(emit_program *program, bool every);

/* Emits everything into units, COUNT at most (as many as there is work for; *made of them are used), the graph functions
 * into one of them. False after an error; units that were made stay to be freed. */
bool emit_program_units(emit_program *program, size_t count, bool whole, emit_unit **units, size_t *made);

/* What a unit can be written as. */
typedef enum emit_form { EMIT_TEXT, EMIT_BITCODE, EMIT_ASSEMBLY, EMIT_OBJECT } emit_form;

/* UNIT as anything but text. Assembly and objects are optimized first, which changes the unit. NULL with *error (for
 * LLVMDisposeMessage; it may stay NULL) where LLVM makes none. */
LLVMMemoryBufferRef emit_code(emit_unit *unit, emit_form form, char **error);
/* NULL where there is no error; LLVMDisposeMessage frees it. */
char *emit_error_text(LLVMErrorRef error);

extern const char emit_forms[]; /* of `translate`, see runtime/plugin.h */
/* A whole module in one of the forms of ir_plugin's `translate`; false after a report. */
bool emit_program_bytes(ir_module *module, const ir_target_options *options, ir_text *out);

#endif
