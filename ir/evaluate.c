// SPDX-License-Identifier: Apache-2.0
/* ir/evaluate.c - the value of an integer expression for given leaves, with checked 64-bit arithmetic. Needs ir/eval.
 */
#include "ir/simplify.h"

#include "base/checked.h"
#include "ir/eval.h"

struct evaluating {
  ir_leaf_value *leaf;
  void *user;
  ir_arena arena;
  ir_map done; /* expression -> int64_t */
};

static bool evaluate(struct evaluating *e, const ir_expr *expr, int64_t *value);

/* i64, where what overflows has no value. */
static bool checked(const ir_expr *expr, const int64_t *in, int64_t *value) {
  switch ((int)expr->code) {
  case IR_S_ADD: return ir_add_i64(in[0], in[1], value);
  case IR_S_SUB: return ir_sub_i64(in[0], in[1], value);
  case IR_S_MUL: return ir_mul_i64(in[0], in[1], value);
  case IR_S_MAD: return ir_mul_i64(in[0], in[1], value) && ir_add_i64(*value, in[2], value);
  case IR_S_NEG: return ir_sub_i64(0, in[0], value);
  case IR_S_ABS: return in[0] >= 0 ? (*value = in[0], true) : ir_sub_i64(0, in[0], value);
  default: return false;
  }
}

static bool is_division(ir_scalar_code code) { return code >= IR_S_TRUNCDIV && code <= IR_S_FLOORMOD; }

static bool compute(const ir_expr *expr, const int64_t *in, int64_t *value) {
  ir_scalar_code code = (ir_scalar_code)expr->code;
  ir_dtype operand = (ir_dtype)expr->kids[0]->dtype;
  if (is_division(code) && !in[1]) return false;
  bool quotient = code == IR_S_TRUNCDIV || code == IR_S_FLOORDIV || code == IR_S_CEILDIV;
  if (quotient && operand == IR_I64 && in[0] == INT64_MIN && in[1] == -1) return false;
  bool arithmetic = (code >= IR_S_ADD && code <= IR_S_NEG) || code == IR_S_MAD || code == IR_S_ABS;
  if (operand == IR_I64 && arithmetic) return checked(expr, in, value);
  uint64_t bits[3], result;
  for (size_t i = 0; i < expr->count; i++) bits[i] = ir_int_to_bits((ir_dtype)expr->kids[i]->dtype, in[i]);
  if (!ir_scalar_eval(NULL, code, operand, (ir_dtype)expr->dtype, false, bits, &result)) return false;
  *value = ir_int_from_bits((ir_dtype)expr->dtype, result);
  return true;
}

/* GUARD performs only what it chooses; everything else is evaluated in full. */
static bool evaluate_node(struct evaluating *e, const ir_expr *expr, int64_t *value) {
  int64_t in[3];
  if (expr->code == IR_S_GUARD)
    return evaluate(e, expr->kids[0], &in[0]) && evaluate(e, expr->kids[in[0] ? 1 : 2], value);
  if (!expr->count || expr->count > 3) return false;
  for (size_t i = 0; i < expr->count; i++) {
    if (!evaluate(e, expr->kids[i], &in[i])) return false;
  }
  if (expr->code != IR_S_SELECT) return compute(expr, in, value);
  *value = in[0] ? in[1] : in[2];
  return true;
}

static bool evaluate(struct evaluating *e, const ir_expr *expr, int64_t *value) {
  if (expr->lanes != 1 || ir_is_float((ir_dtype)expr->dtype)) return false;
  if (ir_expr_is_int(expr, value)) return true;
  if (expr->code == IR_S_SYMBOL || expr->code == IR_S_ARG || expr->code == IR_S_LOAD)
    return e->leaf && e->leaf(e->user, expr, value);
  /* Only a large expression is worth remembering parts of: small ones share little. */
  bool remember = expr->size > 32;
  int64_t *known = remember ? ir_map_get(&e->done, expr) : NULL;
  if (known) {
    *value = *known;
    return true;
  }
  if (!evaluate_node(e, expr, value)) return false;
  if (!remember) return true;
  known = ir_new(&e->arena, int64_t);
  *known = *value;
  ir_map_put(&e->arena, &e->done, expr, known);
  return true;
}

bool ir_evaluate(const ir_expr *expr, ir_leaf_value *leaf, void *user, int64_t *value) {
  struct evaluating e = {.leaf = leaf, .user = user};
  bool done = evaluate(&e, expr, value);
  ir_arena_free(&e.arena);
  return done;
}
