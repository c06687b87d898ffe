// SPDX-License-Identifier: Apache-2.0
/* What a program sees of a compiled module. */
#ifndef RILL_TARGETS_LLVM_EXPORT_H
#define RILL_TARGETS_LLVM_EXPORT_H

#include "host.h"

/* A tensor that goes in or comes out: a parameter or a result, or a field of a tuple. */
typedef struct emit_export {
  const char *name;
  const ir_type *type;
  ir_dtype dtype;
  size_t rank;
} emit_export;

typedef struct emit_exports {
  emit_export *at;
  size_t count, capacity;
} emit_exports;

/* Of FUNC, in order. Reports and returns false for what has no form as a tensor. */
bool emit_exports_of(ir_arena *arena, const ir_func *func, emit_exports *inputs, emit_exports *outputs);
/* rill_NAME: the C name of FUNC; its other functions have endings behind it. */
const char *emit_export_name(ir_arena *arena, const ir_func *func);
/* The four functions that a program calls. */
bool emit_export_function(emit_unit *unit, ir_func *func);
/* Puts the functions of runtime/llvm/support into UNIT, internal. */
bool emit_link_support(emit_unit *unit);

/* runtime/llvm/support compiled for an architecture (support_code.c); the last one's ARCH is NULL. */
typedef struct emit_bitcode {
  const char *arch;
  const unsigned char *begin, *end;
} emit_bitcode;
extern const emit_bitcode emit_support[];
extern const char emit_interface_text[]; /* support/interface.h */

#endif
