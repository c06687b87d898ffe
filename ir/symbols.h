// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_SYMBOLS_H
#define RILL_IR_SYMBOLS_H

#include "module.h"

/* The symbols that something speaks of, in the order of their first appearance, and which of them the types of parameters
 * tell by standing alone: what is left has to be passed explicitly. */
typedef struct ir_symbols_used {
  ir_context *context;
  ir_arena *arena;
  ir_map seen, bound;
  const ir_expr **at;
  size_t count, capacity;
} ir_symbols_used;

void ir_symbols_in_expr(ir_symbols_used *used, const ir_expr *expr);
/* The extents of a tensor or shape type, and of the fields of a tuple; BINDS: of a parameter. */
void ir_symbols_in_type(ir_symbols_used *used, const ir_type *type, bool binds);
void ir_symbols_in_signature(ir_symbols_used *used, const ir_func *func); /* binds none */
void ir_symbols_in_attr(ir_symbols_used *used, const ir_attr *attr); /* takes NULL */
/* The symbols that no type binds, on the arena; *count of them. */
const ir_expr **ir_symbols_unbound(const ir_symbols_used *used, size_t *count);
/* Adds to TO, which has the symbols USED, the bounds of FROM that speak of no others: what was inferred in FROM holds in TO. */
void ir_symbols_copy_where(const ir_symbols_used *used, const ir_func *from, ir_func *to);

/* A symbol that nothing in FUNC speaks of: BASE, or BASE and a number. */
const ir_expr *ir_func_fresh_symbol(ir_func *func, const char *base);

#endif
