// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/side.c - constants beside the code: their file, and what the code says of it. */
#include "targets/llvm/side.h"

#include "base/sha256.h"
#include "targets/llvm/abi.h"

enum { ALIGNMENT = 64, DIGEST_AT = 32, MOST_INSIDE = 64 << 20 };
static const char magic[DIGEST_AT] = "rill constants 1\n";

/* A digest of the constants' digests. */
static void put_head(emit_program *program, emit_side *side) {
  uint8_t *digests = ir_new_array(program->arena, uint8_t, (side->count + 1) * IR_SHA256_SIZE);
  for (size_t i = 0; i < side->count; i++) ir_sha256(program->constants.at[i].bytes, program->constants.at[i].size, digests + i * IR_SHA256_SIZE);
  memcpy(side->head, magic, sizeof magic);
  ir_sha256(digests, side->count * IR_SHA256_SIZE, side->head + DIGEST_AT);
}

static void put_piece(ir_side_file *file, const void *bytes, size_t size) { *ir_push(&file->arena, &file->pieces) = (ir_slice){bytes, size}; }

static void lay_out(emit_program *program, emit_side *side, ir_side_file *file) {
  static const char zeros[ALIGNMENT];
  put_head(program, side);
  put_piece(file, ir_arena_copy(&file->arena, (const char *)side->head, sizeof side->head), sizeof side->head);
  side->bytes = sizeof side->head;
  for (size_t i = 0; i < side->count; i++) {
    const ir_data *data = &program->constants.at[i];
    side->offsets[i] = side->bytes;
    put_piece(file, data->bytes, data->size);
    put_piece(file, zeros, (size_t)(-data->size % ALIGNMENT));
    side->bytes += (int64_t)(data->size + -data->size % ALIGNMENT);
  }
}

bool emit_side_plan(emit_program *program, const ir_target_options *options) {
  uint64_t total = 0;
  for (size_t i = 0; i < program->constants.count; i++) total += program->constants.at[i].size;
  bool wanted = options->constants == IR_CONSTANTS_BESIDE ? total > 0 : total > MOST_INSIDE;
  if (!wanted) return true;
  ir_diags *diags = program->module->context->diags;
  if (options->constants == IR_CONSTANTS_INSIDE || !options->side) {
    ir_error_in(diags, "llvm", "constants of %llu bytes: at most %d fit into the code, more need a side file", (unsigned long long)total, MOST_INSIDE);
    return false;
  }
  if (strstr(program->target.triple, "wasm") || strstr(program->target.triple, "windows")) {
    ir_error_in(diags, "llvm", "not implemented: constants of %llu bytes in a side file, which code for '%s' cannot map", (unsigned long long)total,
                program->target.triple);
    return false;
  }
  program->side = ir_new(program->arena, emit_side);
  program->side->count = program->constants.count;
  program->side->offsets = ir_new_array(program->arena, int64_t, program->side->count);
  lay_out(program, program->side, options->side);
  return true;
}

static LLVMValueRef function(emit_unit *unit, const char *name, LLVMTypeRef result, LLVMTypeRef first) {
  LLVMValueRef known = LLVMGetNamedFunction(unit->module, name);
  LLVMTypeRef params[] = {first, unit->i64};
  return known ? known : LLVMAddFunction(unit->module, name, LLVMFunctionType(result, params, 2, 0));
}

LLVMValueRef emit_side_describe(emit_unit *unit) {
  const emit_side *side = unit->side;
  if (!side) return LLVMConstNull(unit->ptr);
  LLVMValueRef *offsets = ir_new_array(unit->arena, LLVMValueRef, side->count);
  for (size_t i = 0; i < side->count; i++) offsets[i] = emit_i64(unit, side->offsets[i]);
  LLVMValueRef members[] = {
      emit_private(unit, "head", LLVMConstStringInContext2(unit->llvm, (const char *)side->head, sizeof side->head, 1)),
      emit_i64(unit, side->bytes),
      emit_i64(unit, (int64_t)side->count),
      emit_private(unit, "offsets", LLVMConstArray2(unit->i64, offsets, side->count)),
      function(unit, "rill_support_map", unit->ptr, unit->ptr),
      function(unit, "rill_support_unmap", unit->nothing, unit->ptr),
  };
  return emit_private(unit, "side", LLVMConstStructInContext(unit->llvm, members, ir_count_of(members), 0));
}
