// SPDX-License-Identifier: Apache-2.0
/* ir/infer_region.c - results of `if`, `loop` and `dataflow` from what their regions yield. Needs ir/infer. */
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"
#include "ir/print.h"

/* Symbols that match_casts bind; names of a region do not leave it. */
struct symbols {
  ir_infer *in;
  ir_map known;
};

static void take_symbols(struct symbols *s, const ir_type *type) {
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  for (size_t i = 0; i < (size_t)type->count + type->result_count; i++) {
    const void *item = type->items[i];
    if (!item) continue;
    if (!shaped) take_symbols(s, item);
    if (shaped && ((const ir_expr *)item)->code == IR_S_SYMBOL) ir_map_put(s->in->scratch, &s->known, item, s);
  }
}

static void take_casts(struct symbols *s, const ir_region *region) {
  for (const ir_op *op = region->first; op; op = op->next) {
    if (ir_is(op, IR_MATCH_CAST) && op->result_count) take_symbols(s, ir_op_result(op, 0)->type);
  }
}

/* The symbols that are visible around the operation and so may stay: of the signature, of casts in the regions around it. */
static void take_outer(struct symbols *s) {
  const ir_func *func = s->in->func;
  for (size_t i = 0; func && i < func->param_count; i++) {
    if (func->params[i].symbol) ir_map_put(s->in->scratch, &s->known, func->params[i].symbol, s);
    take_symbols(s, func->params[i].type);
  }
  for (size_t i = 0; i < s->in->around.count; i++) take_casts(s, s->in->around.at[i]);
}

void ir_infer_stands_in(ir_infer *in, const ir_region *region) {
  for (; region; region = region->parent ? region->parent->region : NULL) *ir_push(in->scratch, &in->around) = region;
}

struct erasure {
  const struct symbols *inner, *outer;
  bool leaks;
};

static const ir_expr *look(void *user, ir_context *context, const ir_expr *leaf) {
  (void)context;
  struct erasure *e = user;
  bool inner = leaf->code == IR_S_SYMBOL && ir_map_has(&e->inner->known, leaf);
  if (inner && !ir_map_has(&e->outer->known, leaf)) e->leaks = true;
  return leaf;
}

static const ir_type *erased(ir_infer *in, const ir_type *type, const struct symbols *inner, const struct symbols *outer) {
  size_t count = (size_t)type->count + type->result_count;
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  const void **items = ir_new_array(in->scratch, const void *, count);
  bool changed = false;
  for (size_t i = 0; i < count; i++) {
    items[i] = type->items[i];
    if (!items[i]) continue;
    struct erasure e = {inner, outer, false};
    if (shaped) ir_expr_replace(in->context, items[i], look, &e);
    if (e.leaks) items[i] = NULL;
    if (!shaped) items[i] = erased(in, items[i], inner, outer);
    changed |= items[i] != type->items[i];
  }
  if (!changed) return type;
  ir_type_key key = {type->kind,  type->dtype,        type->ranked, type->impure, type->lanes,
                     type->count, type->result_count, type->device, items};
  return ir_type_get(in->context, &key);
}

/* TYPE as it is known outside of REGION. */
static const ir_type *outside(ir_infer *in, const ir_region *region, const ir_type *type) {
  struct symbols inner = {.in = in}, outer = {.in = in};
  take_casts(&inner, region);
  if (!inner.known.count) return type;
  take_outer(&outer);
  return erased(in, type, &inner, &outer);
}

/* What REGION yields; a region without terminator yields nothing. */
static size_t yield_count(const ir_region *region) {
  const ir_op *yield = ir_region_terminator(region);
  return yield ? yield->operand_count : 0;
}

static const ir_type *yield_type(const ir_region *region, size_t i) {
  return ir_op_operand(ir_region_terminator(region), i)->type;
}

static bool is_condition(const ir_type *type) {
  if (type->dtype != IR_BOOL || type->lanes != 1) return false;
  return ir_is_scalar(type) || (ir_is_tensor(type) && type->ranked && !type->count);
}

static bool check_condition(ir_infer *in, const ir_type *type) {
  bool memory = ir_is_tensor(type) && in->func && in->func->item.kind == IR_ITEM_PRIM_FUNC;
  if (memory) return ir_infer_fail(in, "condition has type %s, expected bool", ir_type_text(in->scratch, type));
  if (is_condition(type)) return true;
  return ir_infer_fail(in, "condition has type %s, expected bool or bool[]", ir_type_text(in->scratch, type));
}

bool infer_if(ir_infer *in) {
  if (!check_condition(in, ir_infer_type(in, 0))) return false;
  if (in->region_count < 1 || in->region_count > 2) return ir_infer_fail(in, "%zu regions, expected 1 or 2", in->region_count);
  const ir_region *then = in->regions[0], *other = in->region_count > 1 ? in->regions[1] : NULL;
  size_t count = yield_count(then);
  if (!other && count) return ir_infer_fail(in, "yields %zu value%s without an 'else'", count, ir_plural(count));
  if (other && yield_count(other) != count) {
    return ir_infer_fail(in, "the branches yield %zu and %zu values", count, yield_count(other));
  }
  for (size_t i = 0; i < count; i++) {
    const ir_type *a = outside(in, then, yield_type(then, i)), *b = outside(in, other, yield_type(other, i));
    ir_infer_result(in, ir_type_join(in->context, in->facts, a, b));
  }
  return true;
}

bool infer_dataflow(ir_infer *in) {
  if (in->region_count != 1) return ir_infer_fail(in, "%zu regions, expected 1", in->region_count);
  for (size_t i = 0; i < yield_count(in->regions[0]); i++) {
    ir_infer_result(in, outside(in, in->regions[0], yield_type(in->regions[0], i)));
  }
  return true;
}

/* VALUE of type FOUND becomes the carried argument ARG. */
static bool check_carried(ir_infer *in, const ir_value *arg, size_t number, const char *what, const ir_type *found) {
  ir_type_relation relation = ir_type_relate(in->context, in->facts, arg->type, found);
  if (relation == IR_TYPES_EQUAL || relation == IR_TYPES_WEAKER) return true;
  return ir_infer_fail(in, "%s of carried value %zu has type %s, expected %s", what, number, ir_type_text(in->scratch, found),
                       ir_type_text(in->scratch, arg->type));
}

/* One output for each round, stacked. */
static const ir_type *stacked(ir_infer *in, const ir_type *type, const ir_expr *rounds) {
  ir_view view = ir_view_of(type);
  if (!view.ranked) return ir_type_unranked(in->context, view.dtype);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, view.rank + 1);
  dims[0] = rounds;
  if (view.rank) memcpy(dims + 1, view.dims, view.rank * sizeof *dims);
  return ir_type_tensor(in->context, view.dtype, view.rank + 1, dims);
}

static const ir_expr *round_count(ir_infer *in, bool counted, bool may_stop) {
  const ir_expr *trip = counted && !may_stop ? ir_value_closed_expr(in->operands[0]) : NULL;
  if (!trip || trip->dtype != IR_I64) return NULL;
  const ir_expr *zero = ir_infer_i64(in, 0);
  if (ir_prove_le(in->context, in->facts, zero, trip) == IR_PROVEN) return trip;
  return ir_infer_op(in, IR_S_MAX, trip, zero);
}

static bool is_count(const ir_type *type) {
  if (type->lanes != 1 || type->dtype != IR_I64) return false;
  return ir_is_scalar(type) || (ir_is_tensor(type) && type->ranked && !type->count);
}

bool infer_loop(ir_infer *in) {
  bool counted = ir_infer_bool(in, "counted"), conditional = ir_infer_bool(in, "conditional");
  if (in->region_count != 1 || !in->regions[0]->arg_count) return ir_infer_fail(in, "no counter");
  const ir_region *body = in->regions[0];
  if (body->args[0]->type != ir_type_scalar(in->context, IR_I64, 1)) return ir_infer_fail(in, "the counter is not an i64");
  const ir_op *yield = ir_region_terminator(body);
  size_t carried = body->arg_count - 1, extra = (size_t)counted + conditional;
  if (in->operand_count != carried + extra) {
    return ir_infer_fail(in, "%zu operands for %zu carried values", in->operand_count, carried);
  }
  if (counted && !is_count(ir_infer_type(in, 0))) {
    return ir_infer_fail(in, "trip count has type %s, expected i64 or i64[]", ir_type_text(in->scratch, ir_infer_type(in, 0)));
  }
  if (conditional && !check_condition(in, ir_infer_type(in, in->operand_count - 1))) return false;
  bool again = yield && ir_get_bool(yield, "again");
  int64_t stacks = yield ? ir_get_int(yield, "stacks") : 0;
  size_t yields = yield_count(body);
  if (stacks < 0 || yields != carried + (size_t)stacks + again) {
    return ir_infer_fail(in, "yields %zu value%s, expected %zu: %zu carried, %lld stacked%s", yields, ir_plural(yields),
                         carried + (size_t)stacks + again, carried, (long long)stacks, again ? ", a condition" : "");
  }
  if (again && !check_condition(in, yield_type(body, yields - 1))) return false;
  for (size_t i = 0; i < carried; i++) {
    const ir_value *arg = body->args[i + 1];
    if (!check_carried(in, arg, i, "the start", ir_infer_type(in, counted + i))) return false;
    if (!check_carried(in, arg, i, "the next value", yield_type(body, i))) return false;
    ir_infer_result(in, arg->type);
  }
  const ir_expr *rounds = round_count(in, counted, conditional || again);
  for (size_t i = carried; i < carried + (size_t)stacks; i++) {
    const ir_type *type = outside(in, body, yield_type(body, i));
    if (!ir_is_tensor(type) && !ir_is_scalar(type)) {
      return ir_infer_fail(in, "a stacked output has type %s, expected a tensor", ir_type_text(in->scratch, type));
    }
    ir_infer_result(in, stacked(in, type, rounds));
  }
  return true;
}
