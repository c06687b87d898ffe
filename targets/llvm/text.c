// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/text.c - a whole module in each form that can be written: graph functions with the interface of
 * support/interface.h, prim_funcs inside, constants in read-only data or in a side file. */
#include "ir/print.h"
#include "targets/llvm/program.h"
#include "targets/llvm/side.h"

const char emit_forms[] = "ll|bc|asm|obj|header";

static bool write_code(const emit_program *program, emit_unit *unit, emit_form form, ir_text *out) {
  char *error = NULL;
  LLVMMemoryBufferRef code = emit_code(unit, form, &error);
  if (code) ir_text_bytes(out, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
  if (!code) ir_error_in(program->module->context->diags, "llvm", "no code was made: %s", error ? error : "LLVM does not say why");
  if (code) LLVMDisposeMemoryBuffer(code);
  LLVMDisposeMessage(error);
  return code != NULL;
}

static bool write(emit_program *program, const ir_target_options *options, emit_form form, ir_text *out) {
  emit_unit *unit = NULL;
  size_t made = 0;
  bool fine = emit_program_plan(program, true) && emit_side_plan(program, options) && emit_program_units(program, 1, true, &unit, &made);
  if (fine && form != EMIT_TEXT) fine = write_code(program, unit, form, out);
  if (fine && form == EMIT_TEXT) {
    char *text = LLVMPrintModuleToString(unit->module);
    ir_text_put(out, text);
    LLVMDisposeMessage(text);
  }
  if (made) emit_unit_free(unit);
  return fine;
}

/* --- the header --- */

/* TEXT inside of a comment. */
static void put_comment(ir_text *out, const char *text) {
  for (const char *at = text; *at; at++) {
    ir_text_char(out, *at);
    if (at[0] == '*' && at[1] == '/') ir_text_char(out, ' ');
  }
}

static void describe(ir_text *out, ir_arena *arena, const char *kind, const emit_exports *list) {
  for (size_t i = 0; i < list->count; i++) {
    ir_text_printf(out, " *   %s %zu: ", kind, i);
    put_comment(out, list->at[i].name);
    put_comment(out, ir_arena_printf(arena, ", %s\n", ir_type_text(arena, list->at[i].type)));
  }
}

static void put_ranks(ir_text *out, const char *name, const char *kind, const emit_exports *list) {
  for (size_t i = 0; i < list->count; i++) ir_text_printf(out, ",\n  %s_%s_%zu_RANK = %zu", name, kind, i, list->at[i].rank);
}

static bool declare(ir_text *out, ir_arena *arena, const ir_func *func) {
  emit_exports inputs = {0}, outputs = {0};
  if (!emit_exports_of(arena, func, &inputs, &outputs)) return false;
  const char *name = emit_export_name(arena, func);
  ir_text_put(out, "/* @");
  put_comment(out, func->item.name->text);
  ir_text_put(out, "\n");
  describe(out, arena, "input", &inputs);
  describe(out, arena, "output", &outputs);
  for (size_t i = 0; i < func->where_count; i++) {
    ir_text where = {0};
    ir_print_expr(&where, func->where[i], NULL, 0);
    ir_text_put(out, " *   where ");
    put_comment(out, where.at);
    ir_text_put(out, "\n");
    ir_text_free(&where);
  }
  ir_text_put(out, " */\n");
  ir_text_printf(out, "enum {\n  %s_INPUTS = %zu,\n  %s_OUTPUTS = %zu", name, inputs.count, name, outputs.count);
  put_ranks(out, name, "INPUT", &inputs);
  put_ranks(out, name, "OUTPUT", &outputs);
  ir_text_put(out, "\n};\n");
  ir_text_printf(out, "int32_t %s_open(const rill_env *env, const char *side_file, rill_model **model);\n", name);
  ir_text_printf(out, "int32_t %s_shapes(rill_model *model, DLTensor *const *in, DLTensor *const *out);\n", name);
  ir_text_printf(out, "int32_t %s(rill_model *model, DLTensor *const *in, DLTensor *const *out);\n", name);
  ir_text_printf(out, "void %s_close(rill_model *model);\n", name);
  return true;
}

static const char using_it[] =
    "\n/* For a function NAME of the model:\n"
    " *   rill_NAME_open    a model for calls; ENV may be NULL, SIDE_FILE is NULL where all constants are inside,\n"
    " *                     else the path of the .side.bin that was written with the code\n"
    " *   rill_NAME_shapes  fills the shapes of OUT from those of IN, computes nothing; -1: only a run can tell\n"
    " *   rill_NAME         computes; an output whose data is NULL gets memory of ENV, which the caller gives back (free()\n"
    " *                     where ENV has none), others are written in place; shapes of OUT are filled\n"
    " *   rill_NAME_close   gives back what the model holds; takes NULL\n"
    " * Each returns RILL_OK or another code, and then has told ENV->error why. `shape` arrays are the caller's, as long as\n"
    " * the rank; inputs may be strided and unaligned, outputs are dense and lie apart from everything else. */\n";

static bool is_shown(const ir_func *func) { return func->item.kind == IR_ITEM_FUNC && !(func->item.flags & IR_ITEM_PRIVATE); }

/* Two models with functions of one name cannot be linked into one program; their headers say so. */
static bool declare_once(ir_text *out, ir_arena *arena, const ir_func *func) {
  const char *name = emit_export_name(arena, func);
  ir_text_printf(out, "\n#ifdef RILL_DECLARED_%s\n", name);
  ir_text_printf(out, "#error \"%s is declared twice: headers of two models that name a function alike do not go into one program\"\n", name);
  ir_text_printf(out, "#else\n#define RILL_DECLARED_%s\n", name);
  bool fine = declare(out, arena, func);
  ir_text_put(out, "#endif\n");
  return fine;
}

/* False, reported, where MODULE offers nothing to a program. */
static bool has_public(ir_module *module) {
  ir_each_body(func, module) {
    if (is_shown(func)) return true;
  }
  static const char text[] = "no public graph function: a program could call nothing of this module";
  ir_diags *diags = module->context->diags;
  /* Passes may have removed all that there was. */
  if (module->first && module->first->range.begin) ir_error(diags, module->first->range, "%s", text);
  else ir_error_in(diags, "llvm", "%s", text);
  return false;
}

static bool write_header(ir_module *module, ir_text *out) {
  ir_arena arena = {0};
  ir_text body = {0};
  bool fine = true;
  ir_each_body(func, module) {
    if (is_shown(func) && fine) fine = declare_once(&body, &arena, func);
  }
  /* A name that only headers with the same contents have. */
  unsigned long long guard = ir_hash_bytes(body.at, body.length);
  ir_text_put(out, emit_interface_text);
  ir_text_printf(out, "\n#ifndef RILL_HEADER_%016llx\n#define RILL_HEADER_%016llx\n", guard, guard);
  ir_text_put(out, using_it);
  ir_text_put(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
  ir_text_bytes(out, body.at, body.length);
  ir_text_put(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  ir_text_free(&body);
  ir_arena_free(&arena);
  return fine;
}

/* --- what a caller asks for --- */

bool emit_program_bytes(ir_module *module, const ir_target_options *options, ir_text *out) {
  static const char *const forms[] = {[EMIT_TEXT] = "ll", [EMIT_BITCODE] = "bc", [EMIT_ASSEMBLY] = "asm", [EMIT_OBJECT] = "obj"};
  size_t form = 0;
  while (options->form && form < ir_count_of(forms) && strcmp(options->form, forms[form])) form++;
  /* Other forms are for looking at, too. */
  if (form >= EMIT_OBJECT && !has_public(module)) return false;
  if (form == ir_count_of(forms)) return write_header(module, out);
  ir_arena arena = {0};
  emit_program program = {.module = module, .arena = &arena, .checked = options->checked};
  bool fine = emit_target_find(module->context->diags, &arena, options->triple, options->cpu, &program.target) &&
              write(&program, options, (emit_form)form, out);
  emit_target_free(&program.target);
  ir_arena_free(&arena);
  return fine;
}
