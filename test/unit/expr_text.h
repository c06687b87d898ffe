// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_EXPR_TEXT_H
#define RILL_TEST_UNIT_EXPR_TEXT_H

#include "../../ir/expr.h"

/* An expression with every pair of parentheses, so that its structure shows: ((n * 2) + $3). */
static inline void write_expr(ir_text *out, const ir_expr *expr) {
  const ir_scalar_def *def = &ir_scalars[expr->code];
  if (expr->code == IR_S_CONST && ir_is_float((ir_dtype)expr->dtype)) {
    ir_text_printf(out, "%a", ir_float_from_bits((ir_dtype)expr->dtype, expr->bits));
  } else if (expr->code == IR_S_CONST) {
    ir_text_printf(out, "%lld", (long long)ir_int_from_bits((ir_dtype)expr->dtype, expr->bits));
  } else if (expr->code == IR_S_SYMBOL) {
    ir_text_put(out, expr->symbol->text);
  } else if (expr->code == IR_S_ARG) {
    ir_text_printf(out, "$%u", expr->arg);
  } else if (*def->infix && expr->count == 2) {
    ir_text_char(out, '(');
    write_expr(out, expr->kids[0]);
    ir_text_printf(out, " %s ", def->infix);
    write_expr(out, expr->kids[1]);
    ir_text_char(out, ')');
  } else {
    ir_text_printf(out, "%s(", expr->code == IR_S_CAST ? ir_dtype_name((ir_dtype)expr->dtype) : def->name);
    for (size_t i = 0; i < expr->count; i++) {
      if (i) ir_text_put(out, ", ");
      write_expr(out, expr->kids[i]);
    }
    ir_text_char(out, ')');
  }
}

static inline const char *expr_text(ir_arena *arena, const ir_expr *expr) {
  ir_text text = {0};
  write_expr(&text, expr);
  const char *copy = ir_arena_copy(arena, text.at, text.length);
  ir_text_free(&text);
  return copy;
}

#endif
