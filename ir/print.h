// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_PRINT_H
#define RILL_IR_PRINT_H

#include "module.h"

typedef struct ir_print_options {
  bool locs;          /* also positions that the parser added */
  bool strip_locs;    /* not even written ones */
  size_t elide_above; /* resources of more bytes print as `elided`; 0: never */
  /* Of ir_print_module: takes away what the text holds, some 64 KiB at a time; NULL: the text gets the whole module. */
  void (*flush)(void *user, ir_text *text);
  void *user;
} ir_print_options;

/* Canonical text. OPTIONS may be NULL. Total: broken IR prints with <<...>> markers. */
void ir_print_module(ir_text *out, const ir_module *module, const ir_print_options *options);
void ir_print_item(ir_text *out, const ir_item *item, const ir_print_options *options);
/* One operation (its regions included) as it stands in its function, without the final newline. */
void ir_print_op(ir_text *out, const ir_op *op, const ir_print_options *options);
void ir_print_type(ir_text *out, const ir_type *type);
void ir_print_attr(ir_text *out, const ir_attr *attr);
/* ARGS are the operands of the owning operation; may be NULL, then ARG(k) prints as <<k>>. */
void ir_print_expr(ir_text *out, const ir_expr *expr, ir_value *const *args, size_t arg_count);
/* `%name`, quoted where needed; unnamed values print as in ir_print_op of their function. */
void ir_print_value(ir_text *out, const ir_value *value);
/* The first place of `loc(...)`, "name:line:column" or "name"; false where LOC (may be NULL) has none. */
bool ir_print_place(ir_text *out, const ir_attr *loc);
/* For messages: the same on an arena. */
const char *ir_type_text(ir_arena *arena, const ir_type *type);
const char *ir_attr_text(ir_arena *arena, const ir_attr *attr);
const char *ir_value_text(ir_arena *arena, const ir_value *value);

#endif
