// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/reduce.c - reductions as loops, in the order that ir/reduction.h fixes. */
#include "passes/schedule/nest.h"

#include "ir/simplify.h"

struct reduce {
  ir_nest *nest;
  ir_region *region;
  ir_value *const *extents; /* of all axes of the nest */
  ir_op *store;
  ir_reduction how;
};

static ir_value *extent_at(struct reduce *r, ir_builder *b, size_t axis) {
  return ir_nest_extent(r->nest, b, r->extents[axis]);
}

/* The reduction axes as serial loops, then the guards and bindings. */
static void open_axes(struct reduce *r, ir_builder *b) {
  for (size_t i = r->region->spatial_count; i < r->region->arg_count; i++) {
    const ir_value *axis = r->region->args[i];
    ir_value *variable = ir_nest_for(r->nest, b, extent_at(r, b, i), axis->name ? axis->name->text : "k", "serial");
    ir_map_put(r->nest->scratch, &r->nest->values, axis, variable);
  }
  ir_nest_guards(r->nest, b, r->region);
  ir_nest_bindings(r->nest, b, r->region);
}

static const ir_expr *operand(struct reduce *r, ir_frame *frame, size_t i) {
  return ir_nest_import(r->nest, frame, r->store, ir_get_expr_at(r->store, "args", i));
}

static const ir_expr *load0(ir_frame *frame, ir_value *buffer) { return ir_frame_load(frame, buffer, 0, NULL); }

static void set0(struct reduce *r, ir_builder *b, ir_value *buffer, const ir_expr *value) {
  ir_frame frame = ir_nest_frame(r->nest);
  ir_nest_store(b, &frame, buffer, 0, NULL, value);
}

static void store_from(struct reduce *r, ir_builder *b, size_t target, ir_value *buffer) {
  ir_frame frame = ir_nest_frame(r->nest);
  ir_nest_store_result(r->nest, b, r->store, target, &frame, load0(&frame, buffer));
}

/* --- one accumulator, ascending --- */
static void reduce_chain(struct reduce *r, ir_builder b) {
  ir_context *context = r->nest->context;
  ir_dtype acc_type = r->how.acc;
  ir_value *acc = ir_nest_alloc(r->nest, &b, "acc", "local", acc_type, 0, NULL);
  set0(r, &b, acc, ir_reduction_identity(context, r->how.reducer, acc_type));
  ir_builder inner = b;
  open_axes(r, &inner);
  ir_frame frame = ir_nest_frame(r->nest);
  const ir_expr *x = ir_expr_cast(context, operand(r, &frame, 0), acc_type), *next;
  if (r->how.reducer == IR_REDUCE_DOT) {
    const ir_expr *y = ir_expr_cast(context, operand(r, &frame, 1), acc_type);
    next = ir_expr_ternary(context, IR_S_MAD, x, y, load0(&frame, acc));
  } else {
    next = ir_reduction_combine(context, r->how.reducer, load0(&frame, acc), x);
  }
  ir_nest_store(&inner, &frame, acc, 0, NULL, next);
  store_from(r, &b, 0, acc);
}

/* --- lanes and blocks --- */
struct levels {
  struct reduce *r;
  ir_dtype dtype;
  unsigned lanes;
  const ir_expr *identity;
};

static const ir_expr *i64(struct levels *l, int64_t value) { return ir_expr_i64(l->r->nest->context, value); }
static const ir_expr *binary(struct levels *l, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  const ir_expr *expr = ir_expr_binary(l->r->nest->context, code, a, b);
  return expr->dtype == IR_I64 ? ir_simplify(l->r->nest->context, l->r->nest->facts, expr) : expr;
}

static ir_value *alloc_lanes(struct levels *l, ir_builder *b) {
  const ir_expr *extent = i64(l, l->lanes);
  return ir_nest_alloc(l->r->nest, b, "lane", "local", l->dtype, 1, &extent);
}

static ir_value *loop(struct levels *l, ir_builder *b, const ir_frame *frame, const ir_expr *extent, const char *name, const char *mode) {
  ir_value *value = ir_nest_scalar(b, frame, extent);
  return ir_nest_for(l->r->nest, b, value, name, mode);
}

static void fill_identity(struct levels *l, ir_builder b, ir_value *lane) {
  ir_frame frame = ir_nest_frame(l->r->nest);
  ir_value *at = loop(l, &b, &frame, i64(l, l->lanes), "l", "vectorize");
  const ir_expr *index = ir_frame_use(&frame, at);
  ir_nest_store(&b, &frame, lane, 1, &index, l->identity);
}

/* lane[at] = lane[at] (+) x */
static void update(struct levels *l, ir_builder *b, ir_frame *frame, ir_value *lane, const ir_expr *at, const ir_expr *x) {
  const ir_expr *old = ir_frame_load(frame, lane, 1, &at);
  ir_nest_store(b, frame, lane, 1, &at, ir_reduction_combine(l->r->nest->context, l->r->how.reducer, old, x));
}

static void halve(struct levels *l, ir_builder b, ir_value *lane) {
  for (unsigned width = l->lanes / 2; width; width /= 2) {
    ir_builder inner = b;
    ir_frame frame = ir_nest_frame(l->r->nest);
    ir_value *at = loop(l, &inner, &frame, i64(l, width), "l", "vectorize");
    const ir_expr *index = ir_frame_use(&frame, at);
    const ir_expr *other = binary(l, IR_S_ADD, index, i64(l, width));
    update(l, &inner, &frame, lane, index, ir_frame_load(&frame, lane, 1, &other));
  }
}

/* Binds the reduction axes to the parts of the flattened index ITEM and updates the lane AT with that element. */
static void add_element(struct levels *l, ir_builder b, ir_value *item, ir_value *lane, ir_value *at) {
  struct reduce *r = l->r;
  size_t first = r->region->spatial_count, count = r->region->arg_count - first;
  ir_frame frame = ir_nest_frame(r->nest);
  const ir_expr *rest = ir_frame_use(&frame, item);
  for (size_t i = count; i > 0; i--) {
    const ir_value *axis = r->region->args[first + i - 1];
    const ir_expr *extent = ir_frame_use(&frame, extent_at(r, &b, first + i - 1));
    const ir_expr *part = i > 1 ? ir_expr_binary(r->nest->context, IR_S_FLOORMOD, rest, extent) : rest;
    const char *name = axis->name ? axis->name->text : "k";
    ir_map_put(r->nest->scratch, &r->nest->values, axis, ir_nest_let(&b, &frame, name, part));
    if (i > 1) rest = ir_expr_binary(r->nest->context, IR_S_FLOORDIV, rest, extent);
  }
  ir_nest_guards(r->nest, &b, r->region);
  ir_nest_bindings(r->nest, &b, r->region);
  ir_frame inner = ir_nest_frame(r->nest);
  const ir_expr *x = ir_expr_cast(r->nest->context, operand(r, &inner, 0), l->dtype);
  const ir_expr *index = at ? ir_frame_use(&inner, at) : i64(l, 0);
  update(l, &b, &inner, lane, index, x);
}

/* Elements [start, start + count) of a block go to their lanes. */
static void add_elements(struct levels *l, ir_builder b, ir_value *start, ir_value *count, ir_value *lane) {
  ir_nest *nest = l->r->nest;
  ir_frame frame = ir_nest_frame(nest);
  const ir_expr *n = ir_frame_use(&frame, count);
  if (l->lanes == 1) {
    ir_value *i = loop(l, &b, &frame, n, "i", "serial");
    ir_frame inner = ir_nest_frame(nest);
    const ir_expr *item = binary(l, IR_S_ADD, ir_frame_use(&inner, start), ir_frame_use(&inner, i));
    add_element(l, b, ir_nest_let(&b, &inner, "item", item), lane, NULL);
    return;
  }
  const ir_expr *lanes = i64(l, l->lanes);
  ir_value *row = loop(l, &b, &frame, binary(l, IR_S_CEILDIV, n, lanes), "row", "serial");
  ir_frame outer = ir_nest_frame(nest);
  ir_value *at = loop(l, &b, &outer, lanes, "l", "vectorize");
  ir_frame inner = ir_nest_frame(nest);
  const ir_expr *in_block = binary(l, IR_S_ADD, binary(l, IR_S_MUL, ir_frame_use(&inner, row), lanes), ir_frame_use(&inner, at));
  const ir_expr *here = ir_expr_binary(nest->context, IR_S_LT, in_block, ir_frame_use(&inner, count));
  if (ir_prove(nest->context, nest->facts, here) != IR_PROVEN) ir_nest_if(nest, &b, &inner, here);
  ir_frame last = ir_nest_frame(nest);
  in_block = binary(l, IR_S_ADD, binary(l, IR_S_MUL, ir_frame_use(&last, row), lanes), ir_frame_use(&last, at));
  ir_value *item = ir_nest_let(&b, &last, "item", binary(l, IR_S_ADD, ir_frame_use(&last, start), in_block));
  add_element(l, b, item, lane, at);
}

/* Reduces block BLOCK of level LEVEL, TOTAL[level] items in all, into the result's lane 0. */
static ir_value *reduce_block(struct levels *l, ir_builder *b, int level, ir_value *block, ir_value *const *total) {
  ir_nest *nest = l->r->nest;
  ir_value *lane = alloc_lanes(l, b);
  fill_identity(l, *b, lane);
  ir_frame frame = ir_nest_frame(nest);
  const ir_expr *size = i64(l, IR_REDUCTION_BLOCK);
  const ir_expr *first = block ? binary(l, IR_S_MUL, ir_frame_use(&frame, block), size) : i64(l, 0);
  const ir_expr *left = binary(l, IR_S_SUB, ir_frame_use(&frame, total[level]), first);
  ir_value *start = ir_nest_let(b, &frame, "start", first);
  ir_value *count = ir_nest_let(b, &frame, "count", binary(l, IR_S_MIN, left, size));
  if (level == 0) {
    add_elements(l, *b, start, count, lane);
  } else {
    ir_builder inner = *b;
    ir_value *i = ir_nest_for(nest, &inner, count, "i", "serial");
    ir_frame in = ir_nest_frame(nest);
    const ir_expr *number = binary(l, IR_S_ADD, ir_frame_use(&in, start), ir_frame_use(&in, i));
    ir_value *below = reduce_block(l, &inner, level - 1, ir_nest_let(&inner, &in, "block", number), total);
    ir_frame up = ir_nest_frame(nest);
    const ir_expr *zero = i64(l, 0), *at = zero;
    if (l->lanes > 1) at = binary(l, IR_S_FLOORMOD, ir_frame_use(&up, i), i64(l, l->lanes));
    update(l, &inner, &up, lane, at, ir_frame_load(&up, below, 1, &zero));
  }
  halve(l, *b, lane);
  return lane;
}

enum { MOST_LEVELS = 4 };

static void reduce_lanes(struct reduce *r, ir_builder b) {
  ir_nest *nest = r->nest;
  struct levels l = {.r = r, .dtype = r->how.acc, .lanes = r->how.lanes};
  l.identity = ir_reduction_identity(nest->context, r->how.reducer, r->how.acc);
  ir_frame frame = ir_nest_frame(nest);
  const ir_expr *items = i64(&l, 1);
  for (size_t i = r->region->spatial_count; i < r->region->arg_count; i++) {
    items = binary(&l, IR_S_MUL, items, ir_frame_use(&frame, extent_at(r, &b, i)));
  }
  /* Items of each level until one block takes them all: 4,096^4 elements are more than any memory holds. */
  ir_value *total[MOST_LEVELS];
  int level = 0;
  for (;; level++) {
    total[level] = ir_nest_let(&b, &frame, "items", items);
    bool fits = ir_prove_le(nest->context, nest->facts, items, i64(&l, IR_REDUCTION_BLOCK)) == IR_PROVEN;
    if (fits || level + 1 == MOST_LEVELS) break;
    items = binary(&l, IR_S_CEILDIV, items, i64(&l, IR_REDUCTION_BLOCK));
  }
  ir_value *lane = reduce_block(&l, &b, level, NULL, total);
  ir_frame out = ir_nest_frame(nest);
  const ir_expr *zero = i64(&l, 0);
  ir_nest_store_result(nest, &b, r->store, 0, &out, ir_frame_load(&out, lane, 1, &zero));
}

/* --- argmax, argmin: the first NaN, else the first of equals --- */
static bool may_be_empty(struct reduce *r, ir_builder *b) {
  ir_context *context = r->nest->context;
  if (ir_is(r->region->first, IR_GUARD)) return true;
  for (size_t i = r->region->spatial_count; i < r->region->arg_count; i++) {
    ir_frame frame = ir_nest_frame(r->nest);
    const ir_expr *extent = ir_frame_use(&frame, extent_at(r, b, i));
    if (ir_prove_lt(context, r->nest->facts, ir_expr_i64(context, 0), extent) != IR_PROVEN) return true;
  }
  return false;
}

static void require_some(struct reduce *r, ir_builder *b, ir_value *none) {
  ir_frame frame = ir_nest_frame(r->nest);
  ir_value *some = ir_nest_scalar(b, &frame, ir_expr_unary(r->nest->context, IR_S_NOT, load0(&frame, none)));
  const char *message = r->how.reducer == IR_REDUCE_ARGMAX ? "argmax of nothing has no value" : "argmin of nothing has no value";
  b->range = r->store->range;
  ir_build(b, IR_ASSERT, &some, 1, IR_SET({"message", ir_attr_string(r->nest->context, ir_slice_of(message))}));
}

static void reduce_arg(struct reduce *r, ir_builder b) {
  ir_context *context = r->nest->context;
  ir_dtype dtype = r->how.acc;
  ir_value *best = ir_nest_alloc(r->nest, &b, "best", "local", dtype, 0, NULL);
  ir_value *where = ir_nest_alloc(r->nest, &b, "where", "local", IR_I64, 0, NULL);
  ir_value *empty = ir_nest_alloc(r->nest, &b, "none", "local", IR_BOOL, 0, NULL);
  set0(r, &b, best, ir_reduction_identity(context, r->how.reducer, dtype));
  set0(r, &b, where, ir_expr_i64(context, 0));
  set0(r, &b, empty, ir_expr_bool(context, true));
  ir_builder inner = b;
  open_axes(r, &inner);
  ir_frame bind = ir_nest_frame(r->nest);
  ir_value *index = ir_nest_let(&inner, &bind, "index", ir_expr_cast(context, operand(r, &bind, 0), IR_I64));
  ir_value *value = ir_nest_let(&inner, &bind, "value", ir_expr_cast(context, operand(r, &bind, 1), dtype));
  ir_frame frame = ir_nest_frame(r->nest);
  const ir_expr *x = ir_frame_use(&frame, value), *old = load0(&frame, best);
  ir_scalar_code beats = r->how.reducer == IR_REDUCE_ARGMAX ? IR_S_GT : IR_S_LT;
  const ir_expr *better = ir_expr_binary(context, beats, x, old);
  if (ir_is_float(dtype)) {
    const ir_expr *is_nan = ir_expr_binary(context, IR_S_NE, x, x), *known = ir_expr_binary(context, IR_S_EQ, old, old);
    better = ir_expr_binary(context, IR_S_AND, known, ir_expr_binary(context, IR_S_OR, better, is_nan));
  }
  ir_nest_if(r->nest, &inner, &frame, ir_expr_binary(context, IR_S_OR, load0(&frame, empty), better));
  ir_frame out = ir_nest_frame(r->nest);
  ir_nest_store(&inner, &out, best, 0, NULL, ir_frame_use(&out, value));
  ir_frame out2 = ir_nest_frame(r->nest);
  ir_nest_store(&inner, &out2, where, 0, NULL, ir_frame_use(&out2, index));
  set0(r, &inner, empty, ir_expr_bool(context, false));
  if (may_be_empty(r, &b)) require_some(r, &b, empty);
  store_from(r, &b, 0, where);
  if (ir_get_int(r->store, "targets") > 1) store_from(r, &b, 1, best);
}

/* --- reducers of the module --- */
static void reduce_user(struct reduce *r, ir_builder b) {
  ir_nest *nest = r->nest;
  ir_func *reducer = ir_item_func(ir_module_find(nest->module, ir_intern(nest->context, ir_slice_of(r->how.name))));
  size_t states = reducer->state_count;
  ir_value **state = ir_new_array(nest->scratch, ir_value *, states);
  for (size_t i = 0; i < states; i++) {
    state[i] = ir_nest_alloc(nest, &b, "state", "local", ir_type_dtype(reducer->body->args[i]->type), 0, NULL);
    set0(r, &b, state[i], reducer->identities[i]);
  }
  ir_builder inner = b;
  open_axes(r, &inner);
  for (size_t i = 0; i < reducer->body->arg_count; i++) {
    const ir_value *arg = reducer->body->args[i];
    ir_frame frame = ir_nest_frame(nest);
    const ir_expr *value = i < states ? load0(&frame, state[i]) : operand(r, &frame, i - states);
    value = ir_expr_cast(nest->context, value, ir_type_dtype(arg->type));
    ir_map_put(nest->scratch, &nest->values, arg, ir_nest_let(&inner, &frame, arg->name ? arg->name->text : NULL, value));
  }
  ir_nest_bindings(nest, &inner, reducer->body);
  const ir_op *yield = ir_region_terminator(reducer->body);
  for (size_t i = 0; i < states; i++) {
    ir_frame frame = ir_nest_frame(nest);
    ir_value *next = ir_nest_extent(nest, &inner, ir_op_operand(yield, i));
    ir_nest_store(&inner, &frame, state[i], 0, NULL, ir_frame_use(&frame, next));
  }
  for (size_t i = 0; i < states; i++) store_from(r, &b, i, state[i]);
}

/* One lane and one block: the order is that of one accumulator. */
static bool is_ascending(struct reduce *r, ir_builder *b) {
  if (r->how.lanes > 1) return false;
  if (!r->how.lanes) return true;
  ir_frame frame = ir_nest_frame(r->nest);
  const ir_expr *items = ir_expr_i64(r->nest->context, 1);
  for (size_t i = r->region->spatial_count; i < r->region->arg_count; i++) {
    items = ir_expr_binary(r->nest->context, IR_S_MUL, items, ir_frame_use(&frame, extent_at(r, b, i)));
  }
  return ir_prove_le(r->nest->context, r->nest->facts, items, ir_expr_i64(r->nest->context, IR_REDUCTION_BLOCK)) == IR_PROVEN;
}

void ir_nest_reduce(ir_nest *nest, ir_builder *b, ir_region *region, ir_value *const *extents, ir_op *store) {
  struct reduce r = {.nest = nest, .region = region, .extents = extents, .store = store};
  ir_reduction_of(store, &r.how);
  switch (r.how.reducer) {
  case IR_REDUCE_ARGMAX:
  case IR_REDUCE_ARGMIN: reduce_arg(&r, *b); return;
  case IR_REDUCE_USER: reduce_user(&r, *b); return;
  case IR_REDUCE_SUM:
  case IR_REDUCE_PROD:
  case IR_REDUCE_MAX:
  case IR_REDUCE_MIN:
  case IR_REDUCE_ANY:
  case IR_REDUCE_ALL:
  case IR_REDUCE_DOT: break;
  }
  if (is_ascending(&r, b)) {
    reduce_chain(&r, *b);
  } else {
    reduce_lanes(&r, *b);
  }
}
