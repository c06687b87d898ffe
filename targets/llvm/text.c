// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/text.c - a whole module as LLVM IR text: graph functions with the interface of abi.h, prim_funcs inside,
 * constants in read-only data. */
#include "targets/llvm/program.h"

static bool emit_text(emit_program *program, ir_text *out) {
  emit_unit *unit = NULL;
  size_t made = 0;
  bool fine = emit_program_plan(program, true) && emit_program_units(program, 1, true, &unit, &made);
  if (fine) {
    char *text = LLVMPrintModuleToString(unit->module);
    ir_text_put(out, text);
    LLVMDisposeMessage(text);
  }
  if (made) emit_unit_free(unit);
  return fine;
}

bool emit_program_text(ir_module *module, const char *triple, const char *cpu, bool checked, ir_text *out) {
  ir_arena arena = {0};
  emit_program program = {.module = module, .arena = &arena, .checked = checked};
  bool native = triple == NULL && cpu && !strcmp(cpu, "native");
  if (!triple && !native) triple = "x86_64-unknown-linux-gnu";
  bool x86 = triple && !strncmp(triple, "x86_64", 6);
  if (!cpu && x86) cpu = "x86-64-v3";
  bool fine = emit_target_find(module->context->diags, &arena, triple, cpu, &program.target) && emit_text(&program, out);
  emit_target_free(&program.target);
  ir_arena_free(&arena);
  return fine;
}
