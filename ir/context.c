// SPDX-License-Identifier: Apache-2.0
/* ir/context.c - the context and its interned strings. Needs base/. */
#include "ir/context.h"

#include "ir/type.h"

ir_context *ir_context_new(ir_diags *diags) {
  ir_context *context = ir_heap_alloc(sizeof *context);
  *context = (ir_context){.diags = diags};
  context->any_type = ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_ANY, .dtype = IR_DTYPE_UNKNOWN});
  context->storage_type = ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_STORAGE, .dtype = IR_DTYPE_UNKNOWN});
  context->unit_type = ir_type_tuple(context, 0, NULL);
  return context;
}

void ir_context_free(ir_context *context) {
  ir_arena_free(&context->arena);
  ir_heap_free(context);
}

static bool same_text(const void *object, const void *key) {
  return ir_slice_equal(ir_string_slice(object), *(const ir_slice *)key);
}

const ir_string *ir_intern(ir_context *context, ir_slice text) {
  uint64_t hash = ir_hash_bytes(text.at, text.length);
  void **slot = ir_intern_slot(&context->arena, &context->strings, hash, &text, same_text);
  if (*slot) return *slot;
  ir_string *string = ir_arena_alloc(&context->arena, sizeof *string + text.length + 1);
  string->length = (uint32_t)text.length;
  string->hash = (uint32_t)hash;
  if (text.length) memcpy(string->text, text.at, text.length);
  return *slot = string;
}
