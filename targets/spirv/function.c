// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/function.c - functions, instructions in them, and structured control flow. */
#include "targets/spirv/emit.h"

static sv_id new_id(sv_function *f) { return ++f->module->ids; }

void sv_do(sv_function *f, SpvOp op, size_t count, const uint32_t *operands) { sv_put(&f->arena, &f->body, op, count, operands); }

void sv_emit_as(sv_function *f, sv_id id, SpvOp op, sv_id type, size_t count, const uint32_t *operands) {
  sv_words words = {0};
  *ir_push(&f->arena, &words) = type;
  *ir_push(&f->arena, &words) = id;
  for (size_t i = 0; i < count; i++) *ir_push(&f->arena, &words) = operands[i];
  sv_do(f, op, words.count, words.at);
}

sv_id sv_emit(sv_function *f, SpvOp op, sv_id type, size_t count, const uint32_t *operands) {
  sv_id id = new_id(f);
  sv_emit_as(f, id, op, type, count, operands);
  return id;
}

sv_id sv_unary(sv_function *f, SpvOp op, sv_kind kind, sv_id a) { return sv_emit(f, op, sv_type(f->module, kind), 1, &a); }

static bool contracts(SpvOp op) { return op == SpvOpFAdd || op == SpvOpFSub || op == SpvOpFMul || op == SpvOpFDiv; }

sv_id sv_binary(sv_function *f, SpvOp op, sv_kind kind, sv_id a, sv_id b) {
  sv_id result = sv_emit(f, op, sv_type(f->module, kind), SV_WORDS(a, b));
  if (contracts(op)) sv_decorate(f->module, result, SpvDecorationNoContraction, 0, NULL);
  return result;
}

sv_id sv_choose(sv_function *f, sv_kind kind, sv_id condition, sv_id a, sv_id b) {
  return sv_emit(f, SpvOpSelect, sv_type(f->module, kind), SV_WORDS(condition, a, b));
}

sv_id sv_glsl(sv_function *f, enum GLSLstd450 instruction, sv_kind kind, size_t count, const sv_id *operands) {
  uint32_t words[5] = {sv_import(f->module), (uint32_t)instruction};
  for (size_t i = 0; i < count; i++) words[2 + i] = operands[i];
  return sv_emit(f, SpvOpExtInst, sv_type(f->module, kind), 2 + count, words);
}

sv_id sv_local(sv_function *f, sv_id type) {
  sv_id id = new_id(f), pointer = sv_pointer(f->module, SpvStorageClassFunction, type);
  sv_put(&f->arena, &f->variables, SpvOpVariable, SV_WORDS(pointer, id, SpvStorageClassFunction));
  return id;
}

/* --- whole functions --- */

void sv_function_begin(sv_function *f, sv_module *m, sv_id result, size_t count, const sv_id *params, sv_id *ids) {
  f->module = m;
  f->id = ++m->ids;
  uint32_t words[4] = {result};
  for (size_t i = 0; i < count; i++) {
    words[1 + i] = params[i];
    ids[i] = ++m->ids;
  }
  f->type = sv_type_of(m, SpvOpTypeFunction, 1 + count, words);
  sv_put(&f->arena, &f->variables, SpvOpFunction, SV_WORDS(result, f->id, SpvFunctionControlMaskNone, f->type));
  for (size_t i = 0; i < count; i++) sv_put(&f->arena, &f->variables, SpvOpFunctionParameter, SV_WORDS(params[i], ids[i]));
  f->first = f->here = new_id(f);
  sv_put(&f->arena, &f->variables, SpvOpLabel, 1, &f->first);
}

static void append(sv_module *m, const sv_words *words) {
  for (size_t i = 0; i < words->count; i++) *ir_push(m->arena, &m->sections[SV_FUNCTIONS]) = words->at[i];
}

void sv_function_end(sv_function *f) {
  append(f->module, &f->variables);
  append(f->module, &f->start);
  append(f->module, &f->body);
  sv_put(f->module->arena, &f->module->sections[SV_FUNCTIONS], SpvOpFunctionEnd, 0, NULL);
  ir_arena_free(&f->arena);
}

/* --- control flow --- */

static void begin_block(sv_function *f, sv_id label) {
  sv_do(f, SpvOpLabel, 1, &label);
  f->here = label;
}

static void branch(sv_function *f, sv_id label) { sv_do(f, SpvOpBranch, 1, &label); }

static sv_when select_side(sv_function *f, sv_id condition, bool has_else) {
  sv_when when = {.before = f->here, .merge = new_id(f), .other = has_else ? new_id(f) : 0};
  sv_id inside = new_id(f);
  sv_do(f, SpvOpSelectionMerge, SV_WORDS(when.merge, SpvSelectionControlMaskNone));
  sv_do(f, SpvOpBranchConditional, SV_WORDS(condition, inside, has_else ? when.other : when.merge));
  begin_block(f, inside);
  return when;
}

sv_when sv_when_begin(sv_function *f, sv_id condition) { return select_side(f, condition, false); }

sv_when sv_when_else(sv_function *f, sv_id condition) { return select_side(f, condition, true); }

void sv_when_otherwise(sv_function *f, const sv_when *when) {
  branch(f, when->merge);
  begin_block(f, when->other);
}

void sv_when_end(sv_function *f, sv_when *when) {
  when->end = f->here;
  branch(f, when->merge);
  begin_block(f, when->merge);
}

sv_id sv_when_value(sv_function *f, const sv_when *when, sv_kind kind, sv_id yes, sv_id no) {
  return sv_emit(f, SpvOpPhi, sv_type(f->module, kind), SV_WORDS(yes, when->end, no, when->before));
}

sv_loop sv_loop_begin(sv_function *f) {
  sv_loop loop = {.before = f->here, .header = new_id(f), .next = new_id(f), .merge = new_id(f)};
  branch(f, loop.header);
  begin_block(f, loop.header);
  return loop;
}

sv_id sv_loop_carry(sv_function *f, const sv_loop *loop, sv_kind kind, sv_id start, sv_id *next) {
  *next = new_id(f);
  return sv_emit(f, SpvOpPhi, sv_type(f->module, kind), SV_WORDS(start, loop->before, *next, loop->next));
}

void sv_loop_test(sv_function *f, const sv_loop *loop, SpvLoopControlMask control) {
  sv_id test = new_id(f);
  sv_do(f, SpvOpLoopMerge, SV_WORDS(loop->merge, loop->next, control));
  branch(f, test);
  begin_block(f, test);
}

void sv_loop_enter(sv_function *f, const sv_loop *loop, sv_id condition) {
  sv_id body = new_id(f);
  sv_do(f, SpvOpBranchConditional, SV_WORDS(condition, body, loop->merge));
  begin_block(f, body);
}

void sv_loop_next(sv_function *f, const sv_loop *loop) {
  branch(f, loop->next);
  begin_block(f, loop->next);
}

void sv_loop_end(sv_function *f, const sv_loop *loop) {
  branch(f, loop->header);
  begin_block(f, loop->merge);
}
