// SPDX-License-Identifier: Apache-2.0
/* ir/forms.c - linear forms of simplified expressions. Needs ir/linear, ir/span.c. */
#include "ir/simplify_rules.h"

bool ir_is_number(const ir_expr *expr, int64_t *value) {
  if (expr->code != IR_S_CONST || ir_is_float((ir_dtype)expr->dtype)) return false;
  *value = ir_int_from_bits((ir_dtype)expr->dtype, expr->bits);
  return expr->dtype != IR_U64 || *value >= 0;
}

static const ir_linear *negated(ir_simplifier *s, const ir_linear *form) {
  return ir_linear_combine(&s->arena, form, -1, ir_linear_const(&s->arena, form->dtype, form->lanes, 0), 1);
}

static const ir_linear *form_of_node(ir_simplifier *s, const ir_expr *expr) {
  int64_t number;
  if (!ir_is_integer((ir_dtype)expr->dtype)) return NULL;
  switch ((int)expr->code) {
  case IR_S_CONST:
    return ir_is_number(expr, &number) ? ir_linear_const(&s->arena, (ir_dtype)expr->dtype, expr->lanes, number) : NULL;
  case IR_S_ADD: return ir_linear_combine(&s->arena, ir_form_of(s, expr->kids[0]), 1, ir_form_of(s, expr->kids[1]), 1);
  case IR_S_SUB: return ir_linear_combine(&s->arena, ir_form_of(s, expr->kids[0]), 1, ir_form_of(s, expr->kids[1]), -1);
  case IR_S_NEG: return negated(s, ir_form_of(s, expr->kids[0]));
  case IR_S_MUL: return ir_linear_product(&s->arena, ir_form_of(s, expr->kids[0]), ir_form_of(s, expr->kids[1]));
  case IR_S_MAD: {
    const ir_linear *product = ir_linear_product(&s->arena, ir_form_of(s, expr->kids[0]), ir_form_of(s, expr->kids[1]));
    return product ? ir_linear_combine(&s->arena, product, 1, ir_form_of(s, expr->kids[2]), 1) : NULL;
  }
  default: return NULL;
  }
}

const ir_linear *ir_form_of(ir_simplifier *s, const ir_expr *expr) {
  const ir_linear *form = ir_map_get(&s->forms, expr);
  if (form) return form;
  form = form_of_node(s, expr);
  if (!form || !ir_linear_fits_dtype(form)) form = ir_linear_atom(&s->arena, expr);
  ir_map_put(&s->arena, &s->forms, expr, (void *)(uintptr_t)form);
  return form;
}

const ir_linear *ir_exact_form_of(ir_simplifier *s, const ir_expr *expr) {
  const ir_linear *form = ir_form_of(s, expr);
  return ir_form_is_exact(s, form) ? form : ir_linear_atom(&s->arena, expr);
}

const ir_linear *ir_form_difference(ir_simplifier *s, const ir_expr *a, const ir_expr *b, int64_t value) {
  const ir_linear *form = ir_linear_combine(&s->arena, ir_exact_form_of(s, a), 1, ir_exact_form_of(s, b), -1);
  return form ? ir_linear_add_const(&s->arena, form, value) : NULL;
}
