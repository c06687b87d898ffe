// SPDX-License-Identifier: Apache-2.0
/* ir/verify_prim.c - the rules of tensor programs: compute nests, reductions, stores, loops, memory. Part of the
 * verifier. Operands and expressions are sound when these functions see them. */
#include "ir/print.h"
#include "ir/reduction.h"
#include "ir/verifier.h"

static const ir_region *nest_of(const ir_op *op) {
  const ir_op *parent = ir_op_parent(op);
  return parent && ir_is(parent, IR_COMPUTE) ? op->region : NULL;
}

static bool reduces(const ir_region *nest) { return nest && nest->spatial_count < nest->arg_count; }

/* The parameter that VALUE is; NULL where it is none. */
static const ir_param *param_of(const ir_verifier *v, const ir_value *value) {
  for (size_t i = 0; i < v->func->param_count; i++) {
    if (v->func->params[i].value == value) return &v->func->params[i];
  }
  return NULL;
}

/* Looks for operands of OP that depend on a reduction axis of NEST: the axes, and bindings that speak of them. */
struct mention {
  const ir_op *op;
  const ir_region *nest;
  const ir_map *dependent;
  bool found;
};

static void look_for_axis(void *user, const ir_expr *node) {
  struct mention *m = user;
  if (node->code != IR_S_ARG && node->code != IR_S_LOAD) return;
  const ir_value *value = ir_op_operand(m->op, node->arg);
  bool axis = ir_value_region(value) == m->nest && value->index >= m->nest->spatial_count;
  m->found |= axis || ir_map_has(m->dependent, value);
}

static bool mentions_axis(ir_verifier *v, const ir_op *op, const ir_map *dependent, const ir_region *nest, const ir_expr *expr) {
  struct mention m = {op, nest, dependent, false};
  if (expr->has_args) ir_expr_walk(v->context, expr, look_for_axis, &m);
  return m.found;
}

static void check_reduced_index(ir_verifier *v, const ir_op *op, const ir_region *nest, const ir_map *dependent) {
  const ir_attr *index = ir_get(op, "index");
  for (size_t t = 0; index && t < index->count; t++) {
    const ir_attr *list = index->items[t];
    for (size_t i = 0; list->kind == IR_ATTR_LIST && i < list->count; i++) {
      const ir_expr *at = ir_attr_as_expr(v->context, list->items[i]);
      if (at && mentions_axis(v, op, dependent, nest, at)) ir_verify_fail_op(v, op, "index %zu of a target speaks of a reduction axis", i);
    }
  }
}

/* What a reduction stores to must not depend on the axes that it reduces. */
static void check_reduced_indices(ir_verifier *v, const ir_region *nest) {
  ir_map dependent = {0};
  for (const ir_op *op = nest->first; op; op = op->next) {
    const ir_expr *value = ir_is(op, IR_SCALAR) ? ir_get_expr(op, "value") : NULL;
    bool depends = value && mentions_axis(v, op, &dependent, nest, value);
    if (depends) ir_map_put(&v->arena, &dependent, ir_op_result(op, 0), v);
    if (ir_is(op, IR_STORE)) check_reduced_index(v, op, nest, &dependent);
  }
}

static bool is_i64(const ir_type *type) { return ir_is_scalar(type) && type->dtype == IR_I64 && type->lanes == 1; }

/* --- compute --- */
static void check_axes(ir_verifier *v, const ir_op *op) {
  const ir_region *region = ir_op_region(op, 0);
  if (region->arg_count != op->operand_count) {
    ir_verify_fail_op(v, op, "%u axes, %u extents", region->arg_count, op->operand_count);
  }
  if (region->spatial_count > region->arg_count) ir_verify_fail_op(v, op, "more spatial axes than axes");
  for (size_t i = 0; i < op->operand_count; i++) {
    if (!is_i64(ir_op_operand(op, i)->type)) {
      ir_verify_fail_op(v, op, "extent %zu has type %s, expected i64", i, ir_type_text(&v->arena, ir_op_operand(op, i)->type));
    }
  }
  for (size_t i = 0; i < region->arg_count; i++) {
    if (!is_i64(region->args[i]->type)) ir_verify_fail_op(v, op, "axis %zu is not an i64", i);
  }
}

static void check_compute(ir_verifier *v, const ir_op *op) {
  check_axes(v, op);
  bool first = true;
  for (const ir_op *inner = ir_op_region(op, 0)->first; inner; inner = inner->next) {
    if (inner->flags & IR_OP_INLINE) continue;
    bool fits = ir_is(inner, IR_SCALAR) || ir_is(inner, IR_STORE) || ir_is(inner, IR_GUARD);
    if (!fits) ir_verify_fail_op(v, inner, "not allowed in a compute nest, which holds bindings and stores");
    if (ir_is(inner, IR_GUARD) && !first) ir_verify_fail_op(v, inner, "not the first operation of its nest");
    first = false;
  }
  if (reduces(ir_op_region(op, 0))) check_reduced_indices(v, ir_op_region(op, 0));
}

static void check_guard(ir_verifier *v, const ir_op *op) {
  const ir_region *nest = nest_of(op);
  if (!nest) {
    ir_verify_fail_op(v, op, "outside of a compute nest");
    return;
  }
  for (size_t i = 0; i < ir_get_count(op, "conditions"); i++) {
    const ir_expr *condition = ir_get_expr_at(op, "conditions", i);
    if (condition) ir_verify_condition(v, op->range, op, "where", condition);
  }
}

/* A nest without reduction axes skips points where a guard is false. */
static bool is_guarded(const ir_region *nest) {
  const ir_op *op = nest->first;
  while (op && (op->flags & IR_OP_INLINE)) op = op->next;
  return ir_is(op, IR_GUARD) && ir_get_count(op, "conditions");
}

/* --- stores --- */
struct target {
  const ir_value *buffer;
  const ir_type *type;
  unsigned lanes; /* of the element that is stored */
};

/* Checks the indices of target NUMBER; false where nothing more can be said. */
static bool check_target(ir_verifier *v, const ir_op *op, size_t number, const ir_attr *index, struct target *target) {
  const ir_value *buffer = ir_op_operand(op, number);
  const ir_type *type = buffer->type;
  const char *name = ir_value_text(&v->arena, buffer);
  *target = (struct target){buffer, type, type->lanes};
  if (!ir_is_tensor(type) || !type->ranked) return ir_verify_fail_op(v, op, "'%s' of type %s is no buffer", name, ir_type_text(&v->arena, type));
  if (index->kind != IR_ATTR_LIST || index->count != type->count) {
    return ir_verify_fail_op(v, op, "%u indices into '%s' of type %s", index->kind == IR_ATTR_LIST ? index->count : 0, name, ir_type_text(&v->arena, type));
  }
  for (size_t i = 0; i < index->count; i++) {
    const ir_expr *at = ir_attr_as_expr(v->context, index->items[i]);
    if (!at || at->dtype != IR_I64) return ir_verify_fail_op(v, op, "index %zu into '%s' is not an i64", i, name);
    if (at->lanes == 1) continue;
    if (i + 1 < index->count || at->code != IR_S_RAMP || type->lanes > 1) {
      return ir_verify_fail_op(v, op, "a vector of indices into '%s' of type %s", name, ir_type_text(&v->arena, type));
    }
    target->lanes = at->lanes;
  }
  const ir_param *param = param_of(v, buffer);
  if (param && param->direction == IR_IN) return ir_verify_fail_op(v, op, "'%s' is read only: 'out' or 'inout' would let it be written", name);
  if (!param && !ir_is_result_of(buffer, IR_ALLOC)) return ir_verify_fail_op(v, op, "'%s' is neither a parameter nor allocated here", name);
  return true;
}

static void check_plain_store(ir_verifier *v, const ir_op *op, const struct target *target) {
  const ir_region *nest = nest_of(op);
  if (reduces(nest)) ir_verify_fail_op(v, op, "a nest with reduction axes stores the results of reducers only");
  const ir_param *param = param_of(v, target->buffer);
  if (nest && !reduces(nest) && is_guarded(nest) && param && param->direction == IR_OUT) {
    ir_verify_fail_op(v, op, "'%s' is not written where the guard is false: it must be 'inout'", ir_value_text(&v->arena, target->buffer));
  }
  const ir_expr *value = ir_get_expr_at(op, "args", 0);
  if (ir_get_count(op, "args") != 1 || !value) {
    ir_verify_fail_op(v, op, "%zu values for one element", ir_get_count(op, "args"));
    return;
  }
  if (value->dtype == target->type->dtype && value->lanes == target->lanes) return;
  const char *found = ir_type_text(&v->arena, ir_type_scalar(v->context, (ir_dtype)value->dtype, value->lanes));
  const char *wanted = ir_type_text(&v->arena, ir_type_scalar(v->context, ir_type_dtype(target->type), target->lanes));
  ir_verify_fail_op(v, op, "a value of type %s for an element of type %s", found, wanted);
}

/* What a reducer of the language takes. */
static const struct {
  const char *name;
  uint8_t args, least_targets, targets;
  bool logic, index; /* bool operands; the first operand is an index */
  bool orders, accumulates;
} reducers[] = {
    {"sum", 1, 1, 1, .orders = true, .accumulates = true},
    {"prod", 1, 1, 1, .accumulates = true},
    {"max", 1, 1, 1},
    {"min", 1, 1, 1},
    {"any", 1, 1, 1, .logic = true},
    {"all", 1, 1, 1, .logic = true},
    {"dot", 2, 1, 1, .accumulates = true},
    {"argmax", 2, 1, 2, .index = true},
    {"argmin", 2, 1, 2, .index = true},
};

static void check_known_reducer(ir_verifier *v, const ir_op *op, const char *name, size_t targets) {
  size_t k = 0;
  while (k < ir_count_of(reducers) && strcmp(reducers[k].name, name)) k++;
  if (k == ir_count_of(reducers)) {
    ir_verify_fail_op(v, op, "no reducer '%s'", name);
    return;
  }
  size_t count = ir_get_count(op, "args");
  if (count != reducers[k].args) {
    ir_verify_fail_op(v, op, "%zu operand%s for '%s', expected %d", count, ir_plural(count), name, reducers[k].args);
    return;
  }
  if (targets < reducers[k].least_targets || targets > reducers[k].targets) {
    ir_verify_fail_op(v, op, "%zu target%s for '%s', expected at most %d", targets, ir_plural(targets), name, reducers[k].targets);
  }
  const ir_expr *first = ir_get_expr_at(op, "args", 0), *last = ir_get_expr_at(op, "args", count - 1);
  if (!first || !last) return;
  if (first->lanes > 1 || last->lanes > 1) ir_verify_fail_op(v, op, "'%s' of vectors", name);
  bool bools = last->dtype == IR_BOOL;
  if (bools != reducers[k].logic) ir_verify_fail_op(v, op, "'%s' expects %s operands", name, reducers[k].logic ? "bool" : "numeric");
  if (reducers[k].index && !ir_is_integer((ir_dtype)first->dtype)) ir_verify_fail_op(v, op, "'%s' expects an integer index first", name);
  if (!reducers[k].index && first->dtype != last->dtype) {
    ir_verify_fail_op(v, op, "'%s' expects operands of one dtype, found %s and %s", name, ir_dtype_name((ir_dtype)first->dtype),
                      ir_dtype_name((ir_dtype)last->dtype));
  }
  if (ir_has_attr(op, "order") && !reducers[k].orders) ir_verify_fail_op(v, op, "'order' belongs to 'sum'");
  if (!ir_has_attr(op, "acc")) return;
  ir_dtype acc = ir_get_dtype(op, "acc");
  if (!reducers[k].accumulates) ir_verify_fail_op(v, op, "'acc' belongs to 'sum', 'prod' and 'dot'");
  if (acc == IR_BOOL || ir_is_float(acc) != ir_is_float((ir_dtype)last->dtype)) {
    ir_verify_fail_op(v, op, "accumulator of dtype %s for operands of dtype %s", ir_dtype_name(acc), ir_dtype_name((ir_dtype)last->dtype));
  }
}

static void check_user_reducer(ir_verifier *v, const ir_op *op, const ir_string *name, size_t targets) {
  ir_item *item = ir_module_find(v->module, name);
  if (!item) return; /* reported with the attribute */
  if (item->kind != IR_ITEM_REDUCER) {
    ir_verify_fail_op(v, op, "'@%s' is not a reducer", name->text);
    return;
  }
  const ir_func *reducer = ir_item_func(item);
  size_t count = ir_get_count(op, "args"), wanted = reducer->param_count - reducer->state_count;
  if (targets != reducer->state_count) {
    ir_verify_fail_op(v, op, "%zu target%s for '@%s', which has %zu state%s", targets, ir_plural(targets), name->text, reducer->state_count, ir_plural(reducer->state_count));
  }
  if (count != wanted) {
    ir_verify_fail_op(v, op, "%zu operand%s for '@%s', expected %zu", count, ir_plural(count), name->text, wanted);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const ir_expr *arg = ir_get_expr_at(op, "args", i);
    const ir_type *type = reducer->params[reducer->state_count + i].type;
    if (!arg || (arg->dtype == type->dtype && arg->lanes == type->lanes)) continue;
    ir_verify_fail_op(v, op, "operand %zu of '@%s' has dtype %s, expected %s", i, name->text, ir_dtype_name((ir_dtype)arg->dtype),
                      ir_type_text(&v->arena, type));
  }
}

static void check_reduction(ir_verifier *v, const ir_op *op, size_t targets, const ir_attr *index) {
  const ir_region *nest = nest_of(op);
  if (!nest) {
    ir_verify_fail_op(v, op, "a reducer outside of a compute nest");
    return;
  }
  if (!reduces(nest)) ir_verify_fail_op(v, op, "a reducer in a nest without reduction axes");
  const ir_attr *user = ir_get(op, "user_reducer");
  if (user && user->kind == IR_ATTR_GLOBAL) check_user_reducer(v, op, user->string, targets);
  if (!user) check_known_reducer(v, op, ir_get_word(op, "reducer"), targets);
  for (size_t t = 0; t < targets; t++) {
    for (size_t i = 0; i < index->items[t]->count; i++) {
      const ir_expr *at = ir_attr_as_expr(v->context, index->items[t]->items[i]);
      if (at && at->lanes > 1) ir_verify_fail_op(v, op, "a reducer stores no vectors");
    }
  }
}

static void check_store(ir_verifier *v, const ir_op *op) {
  int64_t targets = ir_get_int(op, "targets");
  const ir_attr *index = ir_get(op, "index");
  if (targets < 1 || targets > (int64_t)op->operand_count || index->count != (uint64_t)targets) {
    ir_verify_fail_op(v, op, "%lld targets, %u operands, %u lists of indices", (long long)targets, op->operand_count, index->count);
    return;
  }
  bool reducing = ir_has_attr(op, "reducer") || ir_has_attr(op, "user_reducer");
  struct target target = {0};
  bool sound = true;
  for (size_t t = 0; t < (size_t)targets; t++) sound &= check_target(v, op, t, index->items[t], &target);
  if (!sound) return;
  if (reducing) {
    check_reduction(v, op, (size_t)targets, index);
    return;
  }
  if (targets != 1) ir_verify_fail_op(v, op, "%lld targets without a reducer", (long long)targets);
  if (ir_has_attr(op, "order") || ir_has_attr(op, "acc")) ir_verify_fail_op(v, op, "'order' and 'acc' belong to reducers");
  check_plain_store(v, op, &target);
}

static void check_atomic(ir_verifier *v, const ir_op *op) {
  const ir_attr *index = ir_get(op, "index");
  struct target target;
  if (!op->operand_count || index->count != 1) {
    ir_verify_fail_op(v, op, "%u target%s, expected 1", index->count, ir_plural(index->count));
    return;
  }
  if (!check_target(v, op, 0, index->items[0], &target)) return;
  const ir_expr *value = ir_get_expr_at(op, "args", 0);
  if (ir_get_count(op, "args") != 1 || !value) {
    ir_verify_fail_op(v, op, "%zu values, expected 1", ir_get_count(op, "args"));
    return;
  }
  if (target.type->dtype == IR_BOOL) {
    ir_verify_fail_op(v, op, "'%s' has type %s, expected numbers", ir_value_text(&v->arena, target.buffer), ir_type_text(&v->arena, target.type));
    return;
  }
  bool fits = value->dtype == target.type->dtype && value->lanes == 1 && target.lanes == 1;
  if (!fits) {
    ir_verify_fail_op(v, op, "a value of dtype %s for '%s' of type %s", ir_dtype_name((ir_dtype)value->dtype),
                      ir_value_text(&v->arena, target.buffer), ir_type_text(&v->arena, target.type));
  }
}

/* --- loops --- */
static void check_for(ir_verifier *v, const ir_op *op) {
  const ir_region *region = ir_op_region(op, 0);
  const ir_type *extent = ir_op_operand(op, 0)->type;
  const char *mode = ir_get_word(op, "mode"), *axis = ir_get_word(op, "axis");
  int64_t factor = ir_get_int(op, "factor");
  bool binds = !strcmp(mode, "bind"), counts = !strcmp(mode, "unroll") || !strcmp(mode, "vectorize");
  if (!is_i64(extent)) ir_verify_fail_op(v, op, "extent has type %s, expected i64", ir_type_text(&v->arena, extent));
  if (region->arg_count != 1 || !is_i64(region->args[0]->type)) ir_verify_fail_op(v, op, "expected one variable, an i64");
  if (factor < 0 || (factor && !counts)) ir_verify_fail_op(v, op, "a factor of %lld in mode '%s'", (long long)factor, mode);
  if (binds != ir_has_attr(op, "axis")) ir_verify_fail_op(v, op, binds ? "'bind' names no axis" : "an axis without 'bind'");
  if (!binds) return;
  for (const ir_op *outer = ir_op_parent(op); outer; outer = ir_op_parent(outer)) {
    bool same = ir_is(outer, IR_FOR) && !strcmp(ir_get_word(outer, "mode"), "bind") && !strcmp(ir_get_word(outer, "axis"), axis);
    if (same) ir_verify_fail_op(v, op, "'%s' is bound by a loop around already", axis);
  }
}

static void check_while(ir_verifier *v, const ir_op *op) {
  const ir_expr *condition = ir_get_expr(op, "condition");
  if (condition) ir_verify_condition(v, op->range, op, "while", condition);
}

static void check_alloc(ir_verifier *v, const ir_op *op) {
  bool global = !strcmp(ir_get_word(op, "scope"), "global");
  if (v->func->item.kind != IR_ITEM_PRIM_FUNC) {
    if (!global) ir_verify_fail_op(v, op, "scope '%s' belongs to a prim_func", ir_get_word(op, "scope"));
    return;
  }
  bool scheduled = ir_dict_get(v->func->item.attrs, "scheduled") != NULL;
  const ir_type *type = ir_op_result(op, 0)->type;
  if (global || !scheduled || ir_type_static_dims(type, NULL, NULL)) return;
  ir_verify_fail_op(v, op, "%s memory of type %s in a scheduled function, expected constant extents", ir_get_word(op, "scope"),
                    ir_type_text(&v->arena, type));
}

static const struct {
  ir_opcode code;
  void (*check)(ir_verifier *v, const ir_op *op);
} rules[] = {
    {IR_COMPUTE, check_compute},    {IR_GUARD, check_guard},        {IR_STORE, check_store},
    {IR_ATOMIC_ADD, check_atomic},  {IR_ATOMIC_MAX, check_atomic},  {IR_ATOMIC_MIN, check_atomic},
    {IR_FOR, check_for},            {IR_WHILE, check_while},        {IR_ALLOC, check_alloc},
};

void ir_verify_prim_op(ir_verifier *v, const ir_op *op) {
  for (size_t i = 0; i < ir_count_of(rules); i++) {
    if (rules[i].code == op->code) rules[i].check(v, op);
  }
}

static bool writes(const ir_use *use) {
  const ir_op *user = use->user;
  size_t place = (size_t)(use - ir_op_uses(user));
  if (ir_is(user, IR_STORE)) return (int64_t)place < ir_get_int(user, "targets");
  return place == 0 && (ir_is(user, IR_ATOMIC_ADD) || ir_is(user, IR_ATOMIC_MAX) || ir_is(user, IR_ATOMIC_MIN));
}

/* Index AXIS of a store (the only one into its buffer, in a nest of its own) provably leaves elements of EXTENT out. */
static bool leaves_out(ir_verifier *v, const ir_op *store, const ir_region *nest, const ir_expr *index, const ir_expr *extent) {
  const ir_expr *covered = ir_expr_i64(v->context, 1);
  int64_t constant;
  if (index->code == IR_S_ARG) {
    const ir_value *axis = ir_op_operand(store, index->arg);
    if (ir_value_region(axis) != nest) return false;
    covered = ir_value_closed_expr(ir_op_operand(nest->parent, axis->index));
  } else if (!ir_expr_is_int(index, &constant)) {
    return false;
  }
  return covered && ir_prove_lt(v->context, v->facts, covered, extent) == IR_PROVEN;
}

/* Outputs are written in full, as far as that can be refuted: one store in an outermost nest is looked at. */
static void check_coverage(ir_verifier *v, const ir_param *param, const ir_op *store) {
  const ir_region *nest = nest_of(store);
  const ir_attr *index = ir_get(store, "index");
  if (!ir_is(store, IR_STORE) || !nest || nest->parent->region->parent || index->count != 1) return;
  for (size_t i = 0; i < param->type->count; i++) {
    const ir_expr *at = ir_attr_as_expr(v->context, index->items[0]->items[i]), *extent = ir_type_dim(param->type, i);
    if (!leaves_out(v, store, nest, at, extent)) continue;
    ir_verify_fail_op(v, store, "not all of output '%s' of type %s is written, see axis %zu", ir_value_text(&v->arena, param->value),
                      ir_type_text(&v->arena, param->type), i);
    return;
  }
}

static void check_output(ir_verifier *v, const ir_param *param) {
  const ir_op *writer = NULL;
  size_t writers = 0;
  int64_t count;
  for (const ir_use *use = param->value->uses; use; use = use->next) {
    if (!writes(use)) continue;
    writer = use->user;
    writers++;
  }
  bool empty = ir_type_static_dims(param->type, NULL, &count) && !count;
  if (!writers && !empty) {
    ir_verify_fail(v, v->func->item.range, "'@%s' never writes its output '%s'", v->func->item.name->text, ir_value_text(&v->arena, param->value));
  }
  if (writers == 1) check_coverage(v, param, writer);
}

void ir_verify_outputs(ir_verifier *v, const ir_func *func) {
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->direction == IR_OUT && param->value) check_output(v, param);
  }
}
