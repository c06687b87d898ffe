// SPDX-License-Identifier: Apache-2.0
/* ir/facts.c - what is known about symbols and arguments. Needs ir/span.c, ir/prove.c. */
#include "ir/simplify_rules.h"

#include "base/checked.h"

ir_facts *ir_facts_new(ir_context *context, ir_arena *arena, const ir_facts *parent) {
  ir_facts *facts = ir_new(arena, ir_facts);
  *facts = (ir_facts){.context = context, .arena = arena, .parent = parent};
  return facts;
}

static const ir_known nothing = {.span = {INT64_MIN, UINT64_MAX}, .congruence = {1, 0}};

ir_known *ir_facts_known(ir_facts *facts, const ir_expr *expr) {
  void **slot = ir_map_slot(facts->arena, &facts->known, expr);
  if (*slot) return *slot;
  ir_known *known = ir_new(facts->arena, ir_known);
  *known = nothing;
  return *slot = known;
}

static void narrow(ir_known *known, ir_span span) {
  if (span.least > known->span.least) known->span.least = span.least;
  if (span.most < known->span.most) known->span.most = span.most;
}

static void refine(ir_known *known, ir_congruence with) {
  if (!known->congruence.modulus || with.modulus == 1) return;
  /* Of two moduli the larger is kept, unless one includes the other or both residues are 0: then both hold. */
  int64_t gcd = ir_gcd_i64(known->congruence.modulus, with.modulus), both;
  if (with.modulus && !with.residue && !known->congruence.residue &&
      ir_mul_i64(known->congruence.modulus / gcd, with.modulus, &both))
    known->congruence.modulus = both;
  else if (!with.modulus || with.modulus > known->congruence.modulus)
    known->congruence = with;
}

bool ir_facts_lookup(const ir_facts *facts, const ir_expr *expr, ir_known *known) {
  bool found = false, extents = false;
  *known = nothing;
  for (; facts; facts = facts->parent) {
    extents |= facts->symbols_are_extents;
    const ir_known *here = ir_map_get(&facts->known, expr);
    if (!here) continue;
    found = true;
    narrow(known, here->span);
    refine(known, here->congruence);
    if (here->below && !known->below) known->below = here->below;
    known->unbounded |= here->unbounded;
  }
  if (expr->code != IR_S_SYMBOL || !extents || known->unbounded) return found;
  narrow(known, (ir_span){0, IR_EXTENT_MAX});
  return true;
}

const ir_expr *ir_facts_truth(const ir_facts *facts, const ir_expr *condition) {
  for (; facts; facts = facts->parent) {
    const ir_expr *truth = ir_map_get(&facts->truths, condition);
    if (truth) return truth;
  }
  return NULL;
}

void ir_facts_range(ir_facts *facts, const ir_expr *leaf, int64_t least, int64_t most) {
  ir_wide top = most == INT64_MAX ? (ir_wide)UINT64_MAX : most;
  narrow(ir_facts_known(facts, leaf), (ir_span){least, top});
}

/* A product of at least 1 has no factor 0: where none is negative, each is at least 1. */
static bool narrow_product(ir_facts *facts, ir_simplifier *s, const ir_linear *form, uint32_t i) {
  const ir_term *term = &form->terms[i];
  ir_linear alone = {.dtype = form->dtype, .lanes = form->lanes, .count = 1, .terms = &form->terms[i]};
  const ir_linear *rest = term->factor > 0 ? ir_linear_combine(&s->arena, form, 1, &alone, -1) : NULL;
  if (!rest || ir_span_of_form(s, rest).most >= 0) return false;
  bool changed = false;
  for (uint32_t k = 0; k < term->degree; k++) {
    if (ir_span_of(s, term->atoms[k]).least < 0) return false;
  }
  for (uint32_t k = 0; k < term->degree; k++) {
    if (ir_span_of(s, term->atoms[k]).least > 0) continue;
    narrow(ir_facts_known(facts, term->atoms[k]), (ir_span){1, UINT64_MAX});
    changed = true;
  }
  return changed;
}

/* The bounds that FORM >= 0 puts on each atom that stands alone, given the spans of the others. */
static bool narrow_atoms(ir_facts *facts, ir_simplifier *s, const ir_linear *form) {
  bool changed = false;
  for (uint32_t i = 0; i < form->count; i++) {
    const ir_term *term = &form->terms[i];
    ir_linear alone = {.dtype = form->dtype, .lanes = form->lanes, .count = 1, .terms = &form->terms[i]};
    if (term->degree > 1) changed |= narrow_product(facts, s, form, i);
    const ir_linear *rest = term->degree == 1 ? ir_linear_combine(&s->arena, form, 1, &alone, -1) : NULL;
    if (!rest) continue;
    ir_wide most = ir_span_of_form(s, rest).most; /* factor * atom >= -most */
    ir_span span = ir_span_of(s, term->atoms[0]), bound = span;
    ir_wide factor = term->factor, limit = ir_wide_floordiv(most, factor > 0 ? factor : -factor);
    if (factor > 0)
      bound.least = -limit;
    else
      bound.most = limit;
    if (bound.least <= span.least && bound.most >= span.most) continue;
    narrow(ir_facts_known(facts, term->atoms[0]), bound);
    changed = true;
  }
  return changed;
}

static bool are_symbols(const ir_term *term) {
  for (uint32_t i = 0; i < term->degree; i++) {
    if (term->atoms[i]->code != IR_S_SYMBOL) return false;
  }
  return true;
}

/* argument <= product of symbols, from product - argument - k >= 0: an index below the extents of tensors. */
static void note_below(ir_facts *facts, const ir_linear *form) {
  if (form->count != 2 || form->constant > 0) return;
  for (uint32_t i = 0; i < 2; i++) {
    const ir_term *atom = &form->terms[i], *product = &form->terms[1 - i];
    if (atom->degree != 1 || atom->factor != -1 || atom->atoms[0]->code != IR_S_ARG) continue;
    if (product->factor < 1 || !are_symbols(product)) continue;
    ir_facts_known(facts, atom->atoms[0])->below = product;
  }
}

static ir_simplifier simplifier_of(ir_facts *facts) {
  return (ir_simplifier){.context = facts->context, .facts = facts};
}

static void add_inequality(ir_facts *facts, const ir_linear *form) {
  ir_inequality *inequality = ir_new(facts->arena, ir_inequality);
  inequality->form = ir_linear_copy(facts->arena, form);
  if (facts->last)
    facts->last->next = inequality;
  else
    facts->first = inequality;
  facts->last = inequality;
  note_below(facts, inequality->form);
  /* Bounds of one atom bound others: a few rounds over everything known here. */
  bool changed = true;
  for (int round = 0; changed && round < 4; round++) {
    changed = false;
    for (const ir_inequality *q = facts->first; q; q = q->next) {
      ir_simplifier s = simplifier_of(facts);
      changed |= narrow_atoms(facts, &s, q->form);
      ir_arena_free(&s.arena);
    }
  }
}

/* FORM == 0 as a divisibility: floormod(atom + k, c) = r, or atom = k. */
static void note_equality(ir_facts *facts, ir_simplifier *s, const ir_linear *form) {
  if (form->count != 1 || form->terms[0].degree != 1) return;
  int64_t factor = form->terms[0].factor, value, by, residue;
  if ((factor != 1 && factor != -1) || form->constant == INT64_MIN) return;
  value = factor > 0 ? -form->constant : form->constant;
  const ir_expr *atom = form->terms[0].atoms[0];
  narrow(ir_facts_known(facts, atom), (ir_span){value, value});
  if (atom->code != IR_S_FLOORMOD || !ir_is_number(atom->kids[1], &by) || by <= 0 || value < 0 || value >= by) return;
  const ir_linear *dividend = ir_exact_form_of(s, atom->kids[0]);
  if (dividend->count != 1 || dividend->terms[0].degree != 1 || dividend->terms[0].factor != 1) return;
  if (!ir_sub_i64(value, dividend->constant, &residue)) return;
  refine(ir_facts_known(facts, dividend->terms[0].atoms[0]), (ir_congruence){by, ir_floormod_i64(residue, by)});
}

static void assume_comparison(ir_facts *facts, ir_simplifier *s, const ir_expr *condition) {
  if (ir_scalars[condition->code].typing != IR_TYPING_COMPARE) return;
  const ir_expr *a = condition->kids[0], *b = condition->kids[1];
  if (!ir_is_integer((ir_dtype)a->dtype)) return;
  const ir_linear *form = NULL;
  switch ((int)condition->code) {
  case IR_S_LT: form = ir_form_difference(s, b, a, -1); break;
  case IR_S_LE: form = ir_form_difference(s, b, a, 0); break;
  case IR_S_GT: form = ir_form_difference(s, a, b, -1); break;
  case IR_S_GE: form = ir_form_difference(s, a, b, 0); break;
  case IR_S_EQ:
    form = ir_form_difference(s, a, b, 0);
    if (form) note_equality(facts, s, form);
    const ir_linear *other = ir_form_difference(s, b, a, 0);
    if (other) add_inequality(facts, other);
    break;
  default: return;
  }
  if (form) add_inequality(facts, form);
}

static void set_truth(ir_facts *facts, const ir_expr *condition, bool value) {
  const ir_expr *truth = ir_expr_const(facts->context, IR_BOOL, condition->lanes, value);
  ir_map_put(facts->arena, &facts->truths, condition, (void *)(uintptr_t)truth);
}

void ir_facts_assume(ir_facts *facts, const ir_expr *condition) {
  ir_simplifier s = simplifier_of(facts);
  const ir_expr *simple = ir_simplify_with(&s, condition);
  if (simple->code == IR_S_AND) {
    for (size_t i = 0; i < 2; i++) ir_facts_assume(facts, simple->kids[i]);
  } else if (simple->code != IR_S_CONST) {
    const ir_expr *opposite = ir_make_unary(&s, IR_S_NOT, simple);
    if (simple->lanes == 1) assume_comparison(facts, &s, simple);
    set_truth(facts, simple, true);
    set_truth(facts, opposite, false);
  }
  ir_arena_free(&s.arena);
}

static void assume_below(ir_facts *facts, ir_context *context, const ir_expr *counter, const ir_expr *end) {
  int64_t least;
  if (end->code == IR_S_MIN) {
    for (size_t i = 0; i < 2; i++) assume_below(facts, context, counter, end->kids[i]);
    return;
  }
  for (size_t i = 0; end->code == IR_S_MAX && i < 2; i++) {
    if (!ir_expr_is_int(end->kids[i], &least) || least > 0) continue;
    assume_below(facts, context, counter, end->kids[1 - i]);
    return;
  }
  ir_facts_assume(facts, ir_expr_binary(context, IR_S_LT, counter, end));
}

void ir_facts_count(ir_facts *facts, ir_context *context, const ir_expr *counter, const ir_expr *end) {
  ir_facts_range(facts, counter, 0, INT64_MAX - 1);
  if (!end->has_loads) assume_below(facts, context, counter, end);
}
