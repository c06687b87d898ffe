// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen_form.c - i64 expressions as linear forms of registers, so that the interpreter knows how an access
 * walks memory from lane to lane. */
#include "runtime/interp/gen.h"

#include "base/checked.h"

static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

bool ir_gen_form_is_constant(const ir_gen_form *form, int64_t *value) {
  *value = form->constant;
  return !form->count;
}

/* False where FORM has no room left. */
static bool add_term(ir_gen_form *form, ir_reg reg, int64_t scale) {
  if (!scale) return true;
  for (uint32_t i = 0; i < form->count; i++) {
    if (form->terms[i].reg != reg) continue;
    form->terms[i].scale = wrap_add(form->terms[i].scale, scale);
    if (!form->terms[i].scale) form->terms[i] = form->terms[--form->count];
    return true;
  }
  if (form->count == IR_MAX_TERMS) return false;
  form->terms[form->count++] = (ir_term){reg, scale};
  return true;
}

static bool add_scaled(ir_gen_form *form, const ir_gen_form *other, int64_t scale) {
  form->constant = wrap_add(form->constant, wrap_mul(other->constant, scale));
  for (uint32_t i = 0; i < other->count; i++) {
    if (!add_term(form, other->terms[i].reg, wrap_mul(other->terms[i].scale, scale))) return false;
  }
  return true;
}

static bool of_register(ir_gen *gen, ir_reg reg, ir_gen_form *form) {
  *form = (ir_gen_form){0};
  if (!reg) return false;
  if (ir_gen_is_constant(gen, reg, &form->constant)) return true;
  return add_term(form, reg, 1);
}

/* REG = the value of FORM, to make room. */
static ir_reg collapse(ir_gen *gen, const ir_gen_form *form) {
  ir_strip *add = gen->kernels->op[IR_S_ADD][IR_REP_I64], *mul = gen->kernels->op[IR_S_MUL][IR_REP_I64];
  ir_reg sum = ir_gen_i64(gen, form->constant);
  for (uint32_t i = 0; i < form->count; i++) {
    ir_reg part = ir_gen_pure(gen, mul, IR_I64, 1, 2, (ir_reg[]){form->terms[i].reg, ir_gen_i64(gen, form->terms[i].scale)});
    sum = ir_gen_pure(gen, add, IR_I64, 1, 2, (ir_reg[]){sum, part});
  }
  int64_t least, most;
  if (sum && ir_gen_form_range(gen, form, &least, &most)) ir_gen_range(gen, sum, least, most);
  return sum;
}

void ir_gen_form_add(ir_gen *gen, ir_gen_form *form, const ir_gen_form *other, int64_t scale) {
  ir_gen_form sum = *form;
  if (!add_scaled(&sum, other, scale)) {
    of_register(gen, collapse(gen, form), &sum);
    ir_gen_form small;
    if (other->count > IR_MAX_TERMS - 2) {
      of_register(gen, collapse(gen, other), &small);
      other = &small;
    }
    add_scaled(&sum, other, scale);
  }
  *form = sum;
}

/* FORM = divisor * whole + rest, where rest has what the divisor does not divide. */
static bool divide(ir_gen *gen, const ir_gen_form *form, int64_t divisor, ir_gen_form *whole, ir_gen_form *rest) {
  int64_t least, most;
  if (divisor <= 0 || !ir_gen_form_range(gen, form, &least, &most)) return false;
  *whole = *rest = (ir_gen_form){0};
  rest->constant = ir_floormod_i64(form->constant, divisor);
  whole->constant = ir_floordiv_i64(form->constant, divisor);
  for (uint32_t i = 0; i < form->count; i++) {
    ir_term term = form->terms[i];
    if (term.scale % divisor) rest->terms[rest->count++] = term;
    else whole->terms[whole->count++] = (ir_term){term.reg, term.scale / divisor};
  }
  return ir_gen_form_range(gen, rest, &least, &most) && least >= 0 && most < divisor;
}

/* floordiv(a, b) and floormod(a, b) where they are linear after all. */
static bool quotient_of(ir_gen *gen, const ir_expr *expr, ir_gen_form *form) {
  ir_gen_form a, b, whole, rest;
  if (!ir_gen_form_of(gen, expr->kids[0], &a) || !ir_gen_form_of(gen, expr->kids[1], &b) || b.count) return false;
  if (!divide(gen, &a, b.constant, &whole, &rest)) return false;
  *form = expr->code == IR_S_FLOORDIV ? whole : rest;
  return true;
}

/* min(a, b) and max(a, b) where one of them always is it. */
static bool extreme_of(ir_gen *gen, const ir_expr *expr, ir_gen_form *form) {
  ir_gen_form a, b;
  int64_t a_least, a_most, b_least, b_most;
  if (!ir_gen_form_of(gen, expr->kids[0], &a) || !ir_gen_form_of(gen, expr->kids[1], &b)) return false;
  if (!ir_gen_form_range(gen, &a, &a_least, &a_most) || !ir_gen_form_range(gen, &b, &b_least, &b_most)) return false;
  bool below = a_most <= b_least, above = a_least >= b_most;
  if (!below && !above) return false;
  *form = below == (expr->code == IR_S_MIN) ? a : b;
  return true;
}

/* select and bcast where the choice is known. */
static bool choice_of(ir_gen *gen, const ir_expr *expr, ir_gen_form *form) {
  if (expr->code == IR_S_BCAST) {
    ir_gen_form a;
    int64_t least, most;
    if (!ir_gen_form_of(gen, expr->kids[0], &a) || !ir_gen_form_range(gen, &a, &least, &most)) return false;
    if (least <= 1 && most >= 1 && least != most) return false;
    return ir_gen_form_of(gen, expr->kids[least == 1 && most == 1 ? 1 : 0], form);
  }
  if (expr->has_loads) return false;
  ir_reg condition = ir_gen_expr(gen, expr->kids[0]);
  const ir_reg_info *info = ir_gen_info(gen, condition);
  if (!condition || !info->constant) return false;
  return ir_gen_form_of(gen, expr->kids[*(const uint8_t *)info->constant ? 1 : 2], form);
}

bool ir_gen_form_of(ir_gen *gen, const ir_expr *expr, ir_gen_form *form) {
  *form = (ir_gen_form){0};
  ir_gen_form a, b;
  switch ((ir_scalar_code)expr->code) {
  case IR_S_CONST: form->constant = (int64_t)expr->bits; return true;
  case IR_S_ADD:
  case IR_S_SUB:
    if (!ir_gen_form_of(gen, expr->kids[0], form) || !ir_gen_form_of(gen, expr->kids[1], &b)) return false;
    ir_gen_form_add(gen, form, &b, expr->code == IR_S_ADD ? 1 : -1);
    return true;
  case IR_S_NEG:
    if (!ir_gen_form_of(gen, expr->kids[0], &a)) return false;
    ir_gen_form_add(gen, form, &a, -1);
    return true;
  case IR_S_MUL: {
    if (!ir_gen_form_of(gen, expr->kids[0], &a) || !ir_gen_form_of(gen, expr->kids[1], &b)) return false;
    if (a.count && b.count) break;
    ir_gen_form_add(gen, form, a.count ? &a : &b, a.count ? b.constant : a.constant);
    return true;
  }
  case IR_S_ARG: {
    ir_origin source;
    if (gen->op) {
      if (!ir_gen_value(gen, ir_op_operand(gen->op, expr->arg), &source)) return false;
    } else {
      source = gen->sources[expr->arg];
    }
    if (source.form) {
      *form = *source.form;
      return true;
    }
    return of_register(gen, source.reg, form);
  }
  case IR_S_FLOORDIV:
  case IR_S_FLOORMOD:
    if (quotient_of(gen, expr, form)) return true;
    break;
  case IR_S_MIN:
  case IR_S_MAX:
    if (extreme_of(gen, expr, form)) return true;
    break;
  case IR_S_SELECT:
  case IR_S_BCAST:
    if (choice_of(gen, expr, form)) return true;
    break;
  default: break; /* not linear: a value of its own */
  }
  return of_register(gen, ir_gen_expr(gen, expr), form);
}

bool ir_gen_form_range(ir_gen *gen, const ir_gen_form *form, int64_t *least, int64_t *most) {
  int64_t low = form->constant, high = form->constant;
  for (uint32_t i = 0; i < form->count; i++) {
    const ir_reg_info *info = ir_gen_info(gen, form->terms[i].reg);
    int64_t scale = form->terms[i].scale, x, y;
    if (!ir_mul_i64(info->least, scale, &x) || !ir_mul_i64(info->most, scale, &y)) return false;
    if (!ir_add_i64(low, x < y ? x : y, &low) || !ir_add_i64(high, x < y ? y : x, &high)) return false;
  }
  *least = low;
  *most = high;
  return true;
}

static int64_t scale_of(const ir_gen_form *form, ir_reg reg) {
  for (uint32_t i = 0; i < form->count; i++) {
    if (form->terms[i].reg == reg) return form->terms[i].scale;
  }
  return 0;
}

/* Whether the lane axes' part of FORM is STEP times the flattened number of the lane. */
static bool follows_lanes(ir_gen *gen, const ir_gen_form *form, int64_t *step) {
  int64_t inner = 1;
  bool found = false;
  *step = 0;
  for (size_t i = gen->axis_count; i > 0; i--) {
    const ir_axis *axis = &gen->axes[i - 1];
    if (axis->extent == 1) continue;
    int64_t scale = scale_of(form, axis->reg);
    if (!found) *step = scale;
    found = true;
    if (scale != wrap_mul(*step, inner)) return false;
    inner = wrap_mul(inner, axis->extent);
  }
  return true;
}

static bool is_axis(ir_gen *gen, ir_reg reg) {
  for (size_t i = 0; i < gen->axis_count; i++) {
    if (gen->axes[i].reg == reg) return true;
  }
  return false;
}

ir_linear ir_gen_form_finish(ir_gen *gen, const ir_gen_form *form) {
  ir_linear linear = {.constant = form->constant};
  int64_t step = 0;
  bool flat = gen->in_lanes && follows_lanes(gen, form, &step);
  ir_term *terms = ir_new_array(gen->arena, ir_term, form->count + 1);
  if (flat && step) {
    linear.lane = step;
    if (gen->lane_base) terms[linear.uniform++] = (ir_term){gen->lane_base, step};
  }
  for (uint32_t i = 0; i < form->count; i++) {
    if (!ir_gen_info(gen, form->terms[i].reg)->varying) terms[linear.uniform++] = form->terms[i];
  }
  for (uint32_t i = 0; i < form->count; i++) {
    ir_reg reg = form->terms[i].reg;
    if (!ir_gen_info(gen, reg)->varying) continue;
    bool axis = is_axis(gen, reg);
    if (axis && flat) continue;
    for (size_t k = 0; axis && k < gen->axis_count; k++) {
      if (gen->axes[k].reg == reg) gen->axes[k].used = true;
    }
    terms[linear.uniform + linear.varying++] = form->terms[i];
  }
  linear.terms = terms;
  return linear;
}
