// SPDX-License-Identifier: Apache-2.0
/* targets/place.c - element numbers from indices, clamped or switched off where an index is not proven to be in range. Needs
 * accesses of one lane. */
#include "targets/place.h"

struct finding {
  ir_proofs *p;
  const ir_op *op;
  const ir_type *type;
  size_t count;
  const ir_expr *const *index;
  bool store;
  ir_place place;
};

static bool says(const ir_expr *conjunction, const ir_expr *condition) {
  if (!conjunction || conjunction == condition) return conjunction != NULL;
  return conjunction->code == IR_S_AND && (says(conjunction->kids[0], condition) || says(conjunction->kids[1], condition));
}

static void require(struct finding *f, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  const ir_expr *condition = ir_expr_binary(f->p->context, code, a, b);
  if (says(f->place.on, condition)) return;
  f->place.on = f->place.on ? ir_expr_binary(f->p->context, IR_S_AND, f->place.on, condition) : condition;
}

/* --- indices that are the digits of one number: easier to prove than each by itself --- */

static bool is_digit(const struct finding *f, const ir_expr *expr, ir_scalar_code code, const ir_expr *extent) {
  return expr->code == code && ir_prove_equal(f->p->context, f->p->facts, expr->kids[1], extent) == IR_PROVEN;
}

static const ir_expr *spell(const struct finding *f, const ir_expr *index) {
  if (index->has_loads || index->dtype != IR_I64) return NULL;
  const ir_expr *spelled = ir_proofs_frame(f->p, f->op, index);
  return spelled->has_loads ? NULL : spelled;
}

/* The number T where A and B are floordiv(T, extent), floormod(T, extent), EXTENT that of B: then A * extent + B = T. */
static const ir_expr *joined(const struct finding *f, const ir_expr *a, const ir_expr *b, const ir_expr *extent) {
  if (!a || !b) return NULL;
  bool digits = is_digit(f, a, IR_S_FLOORDIV, extent) && is_digit(f, b, IR_S_FLOORMOD, extent);
  return digits && a->kids[0] == b->kids[0] ? a->kids[0] : NULL;
}

/* The last of the axes from FIRST on whose indices together are proven to be in range; FIRST - 1: not even that one. */
static size_t proven_until(const struct finding *f, size_t first) {
  const ir_expr *number = spell(f, f->index[first]), *size = ir_type_dim(f->type, first);
  size_t last = ir_proofs_in_range(f->p, f->op, f->index[first], size, 1) ? first : first - 1;
  for (size_t next = first + 1; next < f->count && number; next++) {
    number = joined(f, number, spell(f, f->index[next]), ir_type_dim(f->type, next));
    if (!number) break;
    size = ir_dim_mul(f->p->context, f->p->facts, size, ir_type_dim(f->type, next));
    if (ir_proofs_in_range(f->p, NULL, number, size, 1)) last = next;
  }
  return last;
}

/* --- what is not proven --- */

static const ir_expr *contained(struct finding *f, const ir_expr *index, const ir_expr *extent) {
  ir_context *context = f->p->context;
  const ir_expr *zero = ir_expr_i64(context, 0), *one = ir_expr_i64(context, 1);
  bool natural = ir_proofs_at_least(f->p, f->op, index, 0);
  if (f->store) {
    if (!natural) require(f, IR_S_LE, zero, index);
    require(f, IR_S_LT, index, extent);
    return index;
  }
  if (!ir_proofs_at_least(f->p, NULL, extent, 1)) require(f, IR_S_LT, zero, extent);
  const ir_expr *last = ir_simplify(context, NULL, ir_expr_binary(context, IR_S_SUB, extent, one));
  const ir_expr *within = ir_expr_binary(context, IR_S_MIN, index, last);
  return natural ? within : ir_expr_binary(context, IR_S_MAX, within, zero);
}

static bool has_no_elements(const ir_type *type) {
  for (size_t i = 0; i < type->count; i++) {
    int64_t extent;
    if (ir_expr_is_int(ir_type_dim(type, i), &extent) && !extent) return true;
  }
  return false;
}

ir_place ir_place_find(ir_proofs *p, const ir_op *op, const ir_type *type, size_t count, const ir_expr *const *index, bool store, bool trusted) {
  struct finding f = {p, op, type, count, index, store, {ir_expr_i64(p->context, 0), NULL, false}};
  if (has_no_elements(type)) return f.place.never = true, f.place;
  ir_context *context = p->context;
  size_t fine = 0; /* axes before this one are proven */
  for (size_t k = 0; k < count; k++) {
    const ir_expr *extent = ir_type_dim(type, k);
    if (!trusted && k >= fine) fine = proven_until(&f, k) + 1;
    const ir_expr *at = ir_expr_cast(context, index[k], IR_I64);
    if (!trusted && k >= fine) at = contained(&f, at, extent);
    f.place.flat = k ? ir_expr_binary(context, IR_S_ADD, ir_expr_binary(context, IR_S_MUL, f.place.flat, extent), at) : at;
  }
  f.place.flat = ir_simplify(context, NULL, f.place.flat);
  return f.place;
}
