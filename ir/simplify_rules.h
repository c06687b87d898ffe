// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_SIMPLIFY_RULES_H
#define RILL_IR_SIMPLIFY_RULES_H

/* Inside the simplifier: what ir/facts.c, ir/span.c, ir/prove.c and the ir/simplify*.c share. */

#include "../base/vec.h"
#include "linear.h"
#include "simplify.h"

/* 128 bits: any sum of two products of 64-bit values. */
__extension__ typedef __int128 ir_wide;

/* Mathematical bounds of a value; those of u64 reach past INT64_MAX. */
typedef struct ir_span {
  ir_wide least, most;
} ir_span;

/* value = residue (mod modulus), 0 <= residue < modulus; modulus 1 says nothing, modulus 0 means value = residue. */
typedef struct ir_congruence {
  int64_t modulus, residue;
} ir_congruence;

typedef struct ir_known {
  ir_span span;
  ir_congruence congruence;
  const ir_term *below; /* the atom is at most this term; or NULL */
  bool unbounded;       /* a symbol that is not an extent */
} ir_known;

/* FORM >= 0, over mathematical integers. */
typedef struct ir_inequality {
  const ir_linear *form;
  struct ir_inequality *next;
} ir_inequality;

/* A tensor has these extents: the product of any of the atoms is at most IR_EXTENT_MAX. */
typedef struct ir_extents {
  const ir_term *product;
  struct ir_extents *next;
} ir_extents;

struct ir_facts {
  ir_context *context;
  ir_arena *arena;
  const ir_facts *parent;
  bool symbols_are_extents; /* a symbol that is not marked unbounded lies in [0, IR_EXTENT_MAX] */
  ir_map known;             /* expression -> ir_known */
  ir_map truths;            /* simplified bool expression -> ir_expr of true or false */
  ir_inequality *first, *last;
  ir_extents *extents;
};

/* One run of the simplifier: everything is remembered by expression, under unchanging facts. */
typedef struct ir_simplifier {
  ir_context *context;
  const ir_facts *facts; /* may be NULL */
  ir_arena arena;
  ir_map done, forms, spans, congruences;
  int budget; /* of the proof under way */
} ir_simplifier;

/* What the facts say of EXPR itself, not of its operands. False where they say nothing. */
bool ir_facts_lookup(const ir_facts *facts, const ir_expr *expr, ir_known *known);
/* The entry of EXPR in FACTS itself, made where it is missing. */
ir_known *ir_facts_known(ir_facts *facts, const ir_expr *expr);
/* The truth of a simplified condition that was assumed; NULL where it is not known. */
const ir_expr *ir_facts_truth(const ir_facts *facts, const ir_expr *condition);

/* --- ir/span.c --- */
ir_span ir_dtype_span(ir_dtype dtype);
bool ir_span_within(ir_span inner, ir_span outer);
/* Of the value of EXPR, an integer or bool expression: within the span of its dtype. */
ir_span ir_span_of(ir_simplifier *s, const ir_expr *expr);
/* Of FORM as a statement about mathematical integers; saturates far outside 64 bits. */
ir_span ir_span_of_form(ir_simplifier *s, const ir_linear *form);
ir_span ir_span_of_term(ir_simplifier *s, const ir_term *term);
/* A better bound for a product of at least two atoms, from the extents of tensors. */
ir_span ir_span_by_extents(ir_simplifier *s, const ir_term *term, ir_span span);
ir_wide ir_bound_mul(ir_wide a, ir_wide b); /* saturates */
/* FORM never leaves its dtype: its value is that of the mathematical sum. */
bool ir_form_is_exact(ir_simplifier *s, const ir_linear *form);
ir_congruence ir_congruence_of(ir_simplifier *s, const ir_expr *expr);
/* Of an exact form. */
ir_congruence ir_congruence_of_form(ir_simplifier *s, const ir_linear *form);
ir_congruence ir_congruence_of_term(ir_simplifier *s, const ir_term *term);
ir_wide ir_wide_floordiv(ir_wide a, ir_wide b); /* b is not 0 */

/* --- ir/forms.c --- */
/* The form of a simplified expression, equal to it under wrapping arithmetic. */
const ir_linear *ir_form_of(ir_simplifier *s, const ir_expr *expr);
/* The same, but exact: EXPR becomes one atom where its form might wrap. */
const ir_linear *ir_exact_form_of(ir_simplifier *s, const ir_expr *expr);
/* A - B + VALUE of the exact forms; NULL on overflow. */
const ir_linear *ir_form_difference(ir_simplifier *s, const ir_expr *a, const ir_expr *b, int64_t value);

/* --- ir/prove.c --- */
/* FORM >= 0 for all values that the facts allow. FORM consists of exact forms. */
bool ir_form_not_negative(ir_simplifier *s, const ir_linear *form);
ir_proof ir_form_is_zero(ir_simplifier *s, const ir_linear *form);
bool ir_is_le(ir_simplifier *s, const ir_expr *a, const ir_expr *b);
bool ir_is_lt(ir_simplifier *s, const ir_expr *a, const ir_expr *b);
bool ir_is_nonzero(ir_simplifier *s, const ir_expr *a);

/* --- the rules: a simpler expression for a node whose operands are simplified; EXPR itself where there is none --- */
typedef const ir_expr *ir_rule(ir_simplifier *s, const ir_expr *expr);
ir_rule ir_rule_linear, ir_rule_floordiv, ir_rule_floormod, ir_rule_ceildiv, ir_rule_truncdiv, ir_rule_truncmod;
ir_rule ir_rule_minmax, ir_rule_bcast, ir_rule_compare, ir_rule_and_or, ir_rule_not, ir_rule_select, ir_rule_cast;
ir_rule ir_rule_bitcast, ir_rule_broadcast, ir_rule_shift, ir_rule_bits, ir_rule_abs, ir_rule_sign, ir_rule_float;

const ir_expr *ir_simplify_with(ir_simplifier *s, const ir_expr *expr);
/* The simplified application of CODE to simplified operands. */
const ir_expr *ir_make(ir_simplifier *s, ir_scalar_code code, const ir_expr *a, const ir_expr *b);
const ir_expr *ir_make_unary(ir_simplifier *s, ir_scalar_code code, const ir_expr *a);
/* A simplified expression for FORM. */
const ir_expr *ir_make_form(ir_simplifier *s, const ir_linear *form);
/* A constant of the dtype and width of LIKE. */
const ir_expr *ir_number_like(ir_simplifier *s, const ir_expr *like, int64_t value);
const ir_expr *ir_truth_like(ir_simplifier *s, const ir_expr *like, bool value);
/* An integer or bool constant of any width that fits int64. */
bool ir_is_number(const ir_expr *expr, int64_t *value);

#endif
