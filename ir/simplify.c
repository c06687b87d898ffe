// SPDX-License-Identifier: Apache-2.0
/* ir/simplify.c - the simplifier: operands first, then the rule of the operator, until nothing changes. Everything is
 * remembered within one call. Rules: ir/simplify_int.c, ir/simplify_logic.c, ir/simplify_float.c. */
#include "ir/simplify_rules.h"

#include "ir/eval.h"

static ir_rule *const rules[IR_S_COUNT] = {
    [IR_S_CAST] = ir_rule_cast,         [IR_S_BITCAST] = ir_rule_bitcast,   [IR_S_BROADCAST] = ir_rule_broadcast,
    [IR_S_OR] = ir_rule_and_or,         [IR_S_AND] = ir_rule_and_or,        [IR_S_NOT] = ir_rule_not,
    [IR_S_EQ] = ir_rule_compare,        [IR_S_NE] = ir_rule_compare,        [IR_S_LT] = ir_rule_compare,
    [IR_S_LE] = ir_rule_compare,        [IR_S_GT] = ir_rule_compare,        [IR_S_GE] = ir_rule_compare,
    [IR_S_ADD] = ir_rule_linear,        [IR_S_SUB] = ir_rule_linear,        [IR_S_MUL] = ir_rule_linear,
    [IR_S_NEG] = ir_rule_linear,        [IR_S_MAD] = ir_rule_linear,        [IR_S_DIV] = ir_rule_float,
    [IR_S_TRUNCDIV] = ir_rule_truncdiv, [IR_S_FLOORDIV] = ir_rule_floordiv, [IR_S_CEILDIV] = ir_rule_ceildiv,
    [IR_S_TRUNCMOD] = ir_rule_truncmod, [IR_S_FLOORMOD] = ir_rule_floormod, [IR_S_MIN] = ir_rule_minmax,
    [IR_S_MAX] = ir_rule_minmax,        [IR_S_BCAST] = ir_rule_bcast,       [IR_S_SELECT] = ir_rule_select,
    [IR_S_GUARD] = ir_rule_select,      [IR_S_SHL] = ir_rule_shift,         [IR_S_SHR] = ir_rule_shift,
    [IR_S_BITAND] = ir_rule_bits,       [IR_S_BITOR] = ir_rule_bits,        [IR_S_BITXOR] = ir_rule_bits,
    [IR_S_BITNOT] = ir_rule_bits,       [IR_S_ABS] = ir_rule_abs,           [IR_S_SIGN] = ir_rule_sign,
};

const ir_expr *ir_number_like(ir_simplifier *s, const ir_expr *like, int64_t value) {
  return ir_expr_const(s->context, (ir_dtype)like->dtype, like->lanes, ir_int_to_bits((ir_dtype)like->dtype, value));
}

const ir_expr *ir_truth_like(ir_simplifier *s, const ir_expr *like, bool value) {
  return ir_expr_const(s->context, IR_BOOL, like->lanes, value);
}

/* A quotient or remainder that checked execution may refuse. */
static bool may_divide_by_zero(ir_simplifier *s, const ir_expr *expr) {
  if (expr->code < IR_S_TRUNCDIV || expr->code > IR_S_FLOORMOD) return false;
  ir_span by = ir_span_of(s, expr->kids[1]);
  return by.least <= 0 && by.most >= 0;
}

/* What holds of integers and bools of any operator: a span of one value, a condition that was assumed. */
static const ir_expr *by_facts(ir_simplifier *s, const ir_expr *expr) {
  if (expr->code == IR_S_CONST || ir_is_float((ir_dtype)expr->dtype)) return expr;
  if (expr->dtype == IR_BOOL) {
    const ir_expr *truth = ir_facts_truth(s->facts, expr);
    return truth ? truth : expr;
  }
  ir_span span = ir_span_of(s, expr);
  if (span.least != span.most || may_divide_by_zero(s, expr)) return expr;
  return ir_expr_const(s->context, (ir_dtype)expr->dtype, expr->lanes,
                       ir_int_to_bits((ir_dtype)expr->dtype, (int64_t)span.least));
}

/* The simplified form of a node whose operands are simplified. */
static const ir_expr *reduced(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *known = ir_map_get(&s->done, expr);
  if (known) return known;
  /* A rule that comes back to where it started gets the node as it is: no rule can run in circles. */
  ir_map_put(&s->arena, &s->done, expr, (void *)(uintptr_t)expr);
  const ir_expr *result = ir_expr_fold(s->context, expr);
  if (result == expr && rules[expr->code]) result = rules[expr->code](s, expr);
  result = by_facts(s, result);
  ir_map_put(&s->arena, &s->done, expr, (void *)(uintptr_t)result);
  if (!ir_map_has(&s->done, result)) ir_map_put(&s->arena, &s->done, result, (void *)(uintptr_t)result);
  return result;
}

const ir_expr *ir_make(ir_simplifier *s, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return reduced(s, ir_expr_binary(s->context, code, a, b));
}

const ir_expr *ir_make_unary(ir_simplifier *s, ir_scalar_code code, const ir_expr *a) {
  return reduced(s, ir_expr_unary(s->context, code, a));
}

const ir_expr *ir_make_form(ir_simplifier *s, const ir_linear *form) {
  return reduced(s, ir_linear_expr(s->context, form));
}

/* EXPR with other operands. */
static const ir_expr *with_kids(ir_simplifier *s, const ir_expr *expr, const ir_expr *const *kids) {
  ir_scalar_code code = (ir_scalar_code)expr->code;
  if (code == IR_S_LOAD) {
    /* The width of a buffer's elements shows where no index is a vector. */
    return ir_expr_load(s->context, expr->arg, (ir_dtype)expr->dtype, expr->lanes, expr->count, kids);
  }
  if (ir_scalars[code].typing == IR_TYPING_CONVERT)
    return ir_expr_convert(s->context, code, kids[0], (ir_dtype)expr->dtype, expr->lanes);
  return ir_expr_get(s->context, code, expr->count, kids);
}

static const ir_expr *visit(ir_simplifier *s, const ir_expr *expr) {
  const ir_expr *known = ir_map_get(&s->done, expr);
  if (known) return known;
  if (!expr->count) return reduced(s, expr);
  const ir_expr **kids = ir_new_array(&s->arena, const ir_expr *, expr->count);
  bool changed = false;
  for (size_t i = 0; i < expr->count; i++) {
    kids[i] = visit(s, expr->kids[i]);
    changed |= kids[i] != expr->kids[i];
  }
  const ir_expr *result = reduced(s, changed ? with_kids(s, expr, kids) : expr);
  if (changed) ir_map_put(&s->arena, &s->done, expr, (void *)(uintptr_t)result);
  return result;
}

const ir_expr *ir_simplify_with(ir_simplifier *s, const ir_expr *expr) {
  enum { MAX_ROUNDS = 12 }; /* two or three are usual: the last finds nothing to do */
  for (int round = 0; round < MAX_ROUNDS; round++) {
    const ir_expr *next = visit(s, expr);
    if (next == expr) break;
    s->done = (ir_map){0};
    expr = next;
  }
  return expr;
}

const ir_expr *ir_simplify(ir_context *context, const ir_facts *facts, const ir_expr *expr) {
  if (expr->code == IR_S_CONST) return expr;
  ir_simplifier s = {.context = context, .facts = facts};
  const ir_expr *result = ir_simplify_with(&s, expr);
  ir_arena_free(&s.arena);
  return result;
}

const ir_expr *ir_simplify_constant(ir_context *context, const ir_expr *expr) {
  if (!expr->count || expr->has_args) return expr;
  const ir_expr *simple = ir_simplify(context, NULL, expr);
  return simple->code == IR_S_CONST ? simple : expr;
}

ir_proof ir_prove(ir_context *context, const ir_facts *facts, const ir_expr *condition) {
  const ir_expr *simple = ir_simplify(context, facts, condition);
  if (simple->code != IR_S_CONST) return IR_UNKNOWN;
  return simple->bits ? IR_PROVEN : IR_REFUTED;
}

static ir_proof prove_comparison(ir_context *context, const ir_facts *facts, ir_scalar_code code, const ir_expr *a,
                                 const ir_expr *b) {
  if (a->dtype != b->dtype || a->lanes != b->lanes) return IR_UNKNOWN;
  return ir_prove(context, facts, ir_expr_binary(context, code, a, b));
}

ir_proof ir_prove_equal(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b) {
  if (a == b && !ir_is_float((ir_dtype)a->dtype)) return IR_PROVEN;
  return prove_comparison(context, facts, IR_S_EQ, a, b);
}

ir_proof ir_prove_le(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b) {
  return prove_comparison(context, facts, IR_S_LE, a, b);
}

ir_proof ir_prove_lt(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b) {
  return prove_comparison(context, facts, IR_S_LT, a, b);
}

void ir_range_of(ir_context *context, const ir_facts *facts, const ir_expr *expr, int64_t *least, int64_t *most) {
  ir_simplifier s = {.context = context, .facts = facts};
  ir_span span = ir_span_of(&s, ir_simplify_with(&s, expr));
  *least = span.least > INT64_MAX ? INT64_MAX : (int64_t)span.least;
  *most = span.most > INT64_MAX ? INT64_MAX : (int64_t)span.most;
  ir_arena_free(&s.arena);
}

static const ir_expr *simplified(ir_context *context, const ir_facts *facts, ir_scalar_code code, const ir_expr *a,
                                 const ir_expr *b) {
  return ir_simplify(context, facts, ir_expr_binary(context, code, a, b));
}

const ir_expr *ir_dim_add(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b) {
  return simplified(context, facts, IR_S_ADD, a, b);
}

const ir_expr *ir_dim_sub(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b) {
  return simplified(context, facts, IR_S_SUB, a, b);
}

const ir_expr *ir_dim_mul(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b) {
  return simplified(context, facts, IR_S_MUL, a, b);
}

const ir_expr *ir_dim_floordiv(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b) {
  return simplified(context, facts, IR_S_FLOORDIV, a, b);
}
