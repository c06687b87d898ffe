// SPDX-License-Identifier: Apache-2.0
/* ir/verify_host.c - the memory of host programs: tensors that share bytes are never needed at the same time, nothing is
 * used after it was given back, results have one place each. Part of the verifier; the lives are worked out anew. */
#include "base/pack.h"
#include "ir/lifetime.h"
#include "ir/print.h"
#include "ir/verifier.h"

/* A tensor in storage. */
typedef struct placed {
  ir_op *op;
  const ir_value *storage;
  ir_lifetime life;
} placed;

struct host_check {
  ir_verifier *v;
  ir_lifetimes lifetimes;
  ir_vec(placed) placed;
  ir_vec(ir_op *) results;
};

static const char *name_of(const struct host_check *c, const ir_op *op) { return ir_value_text(&c->v->arena, ir_op_result(op, 0)); }

static void check_free(struct host_check *c, ir_op *op) {
  ir_value *value = ir_op_operand(op, 0);
  const ir_op *origin = ir_value_op(value);
  if (!ir_is(origin, IR_ALLOC) && !ir_is(origin, IR_CALL)) {
    ir_verify_fail_op(c->v, op, "'%s' is no memory of its own: neither 'alloc' nor a call has yielded it", ir_value_text(&c->v->arena, value));
    return;
  }
  const ir_lifetime life = ir_lifetime_of(&c->lifetimes, value);
  bool last = !life.escapes && !life.returns && life.end == ir_lifetime_step(&c->lifetimes, op);
  if (!last) ir_verify_fail_op(c->v, op, "'%s' is needed after it was given back", ir_value_text(&c->v->arena, value));
}

static bool visit(void *user, ir_op *op) {
  struct host_check *c = user;
  if (ir_is(op, IR_HOST_FREE)) check_free(c, op);
  if (ir_is(op, IR_HOST_RESULT)) *ir_push(&c->v->arena, &c->results) = op;
  if (!ir_is(op, IR_HOST_TENSOR)) return true;
  if (!ir_is_result_of(ir_op_operand(op, 0), IR_HOST_ALLOC)) return ir_verify_fail_op(c->v, op, "storage is what 'host.alloc' yields, directly");
  const ir_lifetime life = ir_lifetime_of(&c->lifetimes, ir_op_result(op, 0));
  const ir_op *storage = ir_value_op(ir_op_operand(op, 0));
  if (ir_op_parent(storage) && !ir_lifetime_ends_in(&c->lifetimes, &life, storage->region)) return ir_verify_fail_op(c->v, op, "'%s' is needed after its storage has been given back", name_of(c, op));
  *ir_push(&c->v->arena, &c->placed) = (placed){op, ir_op_operand(op, 0), life};
  return true;
}

/* --- places --- */

static const ir_expr *offset_of(const struct host_check *c, const ir_op *op) {
  return ir_attr_as_expr(c->v->context, ir_get(op, "offset"));
}

static const ir_expr *end_of(const struct host_check *c, const ir_op *op) {
  ir_context *context = c->v->context;
  const ir_type *type = ir_op_result(op, 0)->type;
  const ir_expr *bits = ir_expr_i64(context, (int64_t)ir_dtypes[type->dtype].bits * type->lanes);
  for (size_t i = 0; i < type->count; i++) bits = ir_dim_mul(context, c->v->facts, bits, ir_type_dim(type, i));
  const ir_expr *bytes = ir_expr_binary(context, IR_S_CEILDIV, bits, ir_expr_i64(context, 8));
  return ir_dim_add(context, c->v->facts, offset_of(c, op), bytes);
}

/* A ends where B begins, or before. Offsets are multiples of the alignment, so that A may be rounded up to whole units,
 * as plan-memory does: extents that might overflow prove nothing else. */
static bool is_below(const struct host_check *c, const placed *a, const placed *b) {
  ir_context *context = c->v->context;
  const ir_expr *bytes = ir_place_bytes(context, c->v->facts, ir_op_result(a->op, 0)->type);
  return ir_prove_le(context, c->v->facts, end_of(c, a->op), offset_of(c, b->op)) == IR_PROVEN ||
         ir_prove_le(context, c->v->facts, ir_dim_add(context, c->v->facts, offset_of(c, a->op), bytes), offset_of(c, b->op)) == IR_PROVEN;
}

static bool declared_apart(const ir_value *a, const ir_value *b) {
  const ir_attr *live = ir_get(ir_value_op(a), "live");
  if (!live) return false;
  const ir_attr *x = live->items[a->index], *y = live->items[b->index];
  return x->items[0]->i > y->items[1]->i || y->items[0]->i > x->items[1]->i;
}

static void check_pair(struct host_check *c, const placed *a, const placed *b) {
  if (!ir_lifetimes_meet(&a->life, &b->life)) return;
  const ir_op *from = ir_value_op(a->storage);
  if (ir_value_op(b->storage) != from) return;
  bool apart = a->storage != b->storage ? !declared_apart(a->storage, b->storage) : is_below(c, a, b) || is_below(c, b, a);
  if (!apart) ir_verify_fail_op(c->v, b->op, "'%s' may lie where '%s' does, which is needed at the same time", name_of(c, b->op), name_of(c, a->op));
}

static void check_result(struct host_check *c, const ir_op *op) {
  const ir_lifetime life = ir_lifetime_of(&c->lifetimes, ir_op_result(op, 0));
  bool top = !ir_op_parent(op);
  bool returned = life.returns == 1 && life.direct && !life.escapes && (int64_t)life.result == ir_get_int(op, "index");
  if (!top || !returned) ir_verify_fail_op(c->v, op, "the function does not return it as result %lld", (long long)ir_get_int(op, "index"));
}

void ir_verify_host(ir_verifier *v, ir_func *func) {
  struct host_check c = {.v = v};
  ir_lifetimes_of(&c.lifetimes, &v->arena, func);
  ir_walk(func->body, IR_PRE_ORDER, visit, &c);
  for (size_t i = 0; i < c.placed.count; i++) {
    for (size_t k = 0; k < i; k++) check_pair(&c, &c.placed.at[k], &c.placed.at[i]);
  }
  for (size_t i = 0; i < c.results.count; i++) check_result(&c, c.results.at[i]);
}
