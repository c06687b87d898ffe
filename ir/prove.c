// SPDX-License-Identifier: Apache-2.0
/* ir/prove.c - proofs that a linear form is not negative: by its span, by subtracting multiples of known inequalities,
 * by cases of min, max, bcast and select. A search with a budget; what it does not find is unknown. Needs ir/span.c. */
#include "ir/simplify_rules.h"

#include "base/checked.h"

enum { MAX_DEPTH = 4, BUDGET = 150 };

static bool search(ir_simplifier *s, const ir_linear *form, int depth);

/* The atoms of TERM that PART lacks, into *beside; false where PART has others, or where one left may be negative. */
static bool left_beside(ir_simplifier *s, const ir_term *term, const ir_term *part, ir_term *beside) {
  if (part->degree > term->degree || (part->factor < 0) != (term->factor < 0)) return false;
  uint32_t found = 0;
  for (uint32_t i = 0; i < term->degree && found < part->degree; i++) found += term->atoms[i] == part->atoms[found];
  if (found < part->degree) return false;
  *beside = (ir_term){.factor = 1};
  if (term->degree == part->degree) return true;
  const ir_expr **atoms = ir_new_array(&s->arena, const ir_expr *, term->degree);
  beside->atoms = atoms;
  for (uint32_t i = found = 0; i < term->degree; i++) {
    if (found < part->degree && term->atoms[i] == part->atoms[found])
      found++;
    else
      atoms[beside->degree++] = term->atoms[i];
  }
  for (uint32_t i = 0; i < beside->degree; i++) {
    if (ir_span_of(s, atoms[i]).least < 0) return false;
  }
  return true;
}

static bool has_negative_term(ir_simplifier *s, const ir_linear *form) {
  for (uint32_t i = 0; i < form->count; i++) {
    if (ir_span_of_term(s, &form->terms[i]).least < 0) return true;
  }
  return false;
}

/* Whether FORM >= 0 follows from FACT >= 0 by way of FORM - k * FACT >= 0 with k >= 0, a number times atoms that are
 * not negative, where that removes a term: one that may be negative, while there is such a term. */
static bool by_fact(ir_simplifier *s, const ir_linear *form, const ir_linear *fact, int depth) {
  bool negative = has_negative_term(s, form);
  for (uint32_t i = 0; i < form->count; i++) {
    if (negative && ir_span_of_term(s, &form->terms[i]).least >= 0) continue;
    for (uint32_t k = 0; k < fact->count; k++) {
      ir_term beside;
      if (!left_beside(s, &form->terms[i], &fact->terms[k], &beside)) continue;
      int64_t gcd = ir_gcd_i64(form->terms[i].factor, fact->terms[k].factor);
      int64_t mine = fact->terms[k].factor / gcd, other = form->terms[i].factor / gcd;
      if (mine == INT64_MIN || other == INT64_MIN) continue;
      if (mine < 0) mine = -mine, other = -other;
      const ir_linear *scaled = fact;
      if (beside.degree) scaled = ir_linear_product(&s->arena, fact, ir_linear_terms(&s->arena, fact, 1, &beside, 0));
      const ir_linear *left = scaled ? ir_linear_combine(&s->arena, form, mine, scaled, -other) : NULL;
      if (left && search(s, left, depth - 1)) return true;
    }
  }
  return false;
}

static bool by_difference(ir_simplifier *s, const ir_linear *form, const ir_linear *more, const ir_linear *less,
                          int64_t constant, int depth) {
  const ir_linear *fact = more && less ? ir_linear_combine(&s->arena, more, 1, less, -1) : NULL;
  if (fact) fact = ir_linear_add_const(&s->arena, fact, constant);
  return fact && by_fact(s, form, fact, depth);
}

/* What a quotient promises: b * (a / b) <= a < b * (a / b) + b for a positive divisor. */
static bool by_quotient(ir_simplifier *s, const ir_linear *form, const ir_expr *atom, int depth) {
  const ir_linear *a = ir_exact_form_of(s, atom->kids[0]), *b = ir_exact_form_of(s, atom->kids[1]);
  if (ir_span_of(s, atom->kids[1]).least < 1) return false;
  /* For b >= 1 and integers, form >= 0 where b * form + b - 1 >= 0: the quotient meets its dividend without rounding.
   */
  const ir_linear *scaled = depth > 1 ? ir_linear_product(&s->arena, form, b) : NULL;
  if (scaled) scaled = ir_linear_combine(&s->arena, scaled, 1, b, 1);
  if (scaled) scaled = ir_linear_add_const(&s->arena, scaled, -1);
  if (scaled && search(s, scaled, depth - 1)) return true;
  const ir_linear *product = ir_linear_product(&s->arena, ir_linear_atom(&s->arena, atom), b);
  const ir_linear *beyond = product ? ir_linear_combine(&s->arena, product, 1, b, 1) : NULL;
  const ir_linear *before = product ? ir_linear_combine(&s->arena, product, 1, b, -1) : NULL;
  if (atom->code == IR_S_FLOORDIV)
    return by_difference(s, form, a, product, 0, depth) || by_difference(s, form, beyond, a, -1, depth);
  return by_difference(s, form, product, a, 0, depth) || by_difference(s, form, a, before, -1, depth);
}

/* FORM with every factor of ATOM, which stands alone, replaced by VALUE. */
static const ir_linear *with_atom(ir_simplifier *s, const ir_linear *form, uint32_t term, const ir_expr *value) {
  int64_t factor = form->terms[term].factor;
  ir_linear alone = {.dtype = form->dtype, .lanes = form->lanes, .count = 1, .terms = &form->terms[term]};
  const ir_linear *rest = ir_linear_combine(&s->arena, form, 1, &alone, -1);
  return rest ? ir_linear_combine(&s->arena, rest, 1, ir_exact_form_of(s, value), factor) : NULL;
}

static bool by_cases(ir_simplifier *s, const ir_linear *form, uint32_t term, const ir_expr *a, const ir_expr *b,
                     int depth) {
  const ir_linear *first = with_atom(s, form, term, a), *second = with_atom(s, form, term, b);
  return first && second && search(s, first, depth - 1) && search(s, second, depth - 1);
}

static bool by_atom(ir_simplifier *s, const ir_linear *form, uint32_t term, int depth) {
  const ir_expr *atom = form->terms[term].atoms[0];
  bool alone = form->terms[term].degree == 1;
  const ir_linear *self = ir_linear_atom(&s->arena, atom);
  switch ((int)atom->code) {
  case IR_S_MIN:
  case IR_S_MAX:
    for (size_t i = 0; i < 2; i++) {
      const ir_linear *kid = ir_exact_form_of(s, atom->kids[i]);
      bool max = atom->code == IR_S_MAX;
      if (by_difference(s, form, max ? self : kid, max ? kid : self, 0, depth)) return true;
    }
    return alone && by_cases(s, form, term, atom->kids[0], atom->kids[1], depth);
  case IR_S_FLOORMOD: {
    if (ir_span_of(s, atom->kids[1]).least < 1) return false;
    const ir_linear *a = ir_exact_form_of(s, atom->kids[0]), *b = ir_exact_form_of(s, atom->kids[1]);
    if (by_difference(s, form, b, self, -1, depth)) return true;
    return ir_span_of(s, atom->kids[0]).least >= 0 && by_difference(s, form, a, self, 0, depth);
  }
  case IR_S_BCAST: return alone && by_cases(s, form, term, atom->kids[0], atom->kids[1], depth);
  case IR_S_SELECT:
  case IR_S_GUARD: return alone && by_cases(s, form, term, atom->kids[1], atom->kids[2], depth);
  default: return false;
  }
}

static bool search(ir_simplifier *s, const ir_linear *form, int depth) {
  if (ir_span_of_form(s, form).least >= 0) return true;
  if (depth <= 0 || !form->count || s->budget-- <= 0) return false;
  for (const ir_facts *facts = s->facts; facts; facts = facts->parent) {
    for (const ir_inequality *q = facts->first; q; q = q->next) {
      if (q->form->dtype == form->dtype && by_fact(s, form, q->form, depth)) return true;
    }
  }
  for (uint32_t i = 0; i < form->count; i++) {
    for (uint32_t k = 0; k < form->terms[i].degree; k++) {
      const ir_expr *atom = form->terms[i].atoms[k];
      if ((atom->code == IR_S_FLOORDIV || atom->code == IR_S_CEILDIV) && by_quotient(s, form, atom, depth)) return true;
    }
    if (by_atom(s, form, i, depth)) return true;
  }
  return false;
}

bool ir_form_not_negative(ir_simplifier *s, const ir_linear *form) {
  s->budget = BUDGET;
  return form && search(s, form, MAX_DEPTH);
}

static bool not_negative(ir_simplifier *s, const ir_linear *form, int64_t sign, int64_t plus) {
  const ir_linear *zero = ir_linear_const(&s->arena, form->dtype, form->lanes, plus);
  return ir_form_not_negative(s, ir_linear_combine(&s->arena, form, sign, zero, 1));
}

ir_proof ir_form_is_zero(ir_simplifier *s, const ir_linear *form) {
  if (!form) return IR_UNKNOWN;
  if (!form->count) return form->constant ? IR_REFUTED : IR_PROVEN;
  ir_congruence c = ir_congruence_of_form(s, form);
  if (c.residue) return IR_REFUTED;
  if (not_negative(s, form, 1, -1) || not_negative(s, form, -1, -1)) return IR_REFUTED;
  return not_negative(s, form, 1, 0) && not_negative(s, form, -1, 0) ? IR_PROVEN : IR_UNKNOWN;
}

bool ir_is_le(ir_simplifier *s, const ir_expr *a, const ir_expr *b) {
  return a == b || ir_form_not_negative(s, ir_form_difference(s, b, a, 0));
}

bool ir_is_lt(ir_simplifier *s, const ir_expr *a, const ir_expr *b) {
  return ir_form_not_negative(s, ir_form_difference(s, b, a, -1));
}

bool ir_is_nonzero(ir_simplifier *s, const ir_expr *a) {
  ir_span span = ir_span_of(s, a);
  return span.least > 0 || span.most < 0 || ir_form_is_zero(s, ir_exact_form_of(s, a)) == IR_REFUTED;
}
