// SPDX-License-Identifier: Apache-2.0
/* ir/verify_op.c - what holds of every operation: uses, dominance, attributes, regions, inferred types. Part of the
 * verifier. */
#include "ir/print.h"
#include "ir/verifier.h"

/* The list of uses of VALUE holds exactly entries of operand lists, and is linked both ways. */
static bool check_uses(ir_verifier *v, ir_range range, const ir_value *value) {
  ir_use *const *link = &value->uses;
  for (ir_use *use = value->uses; use; link = &use->next, use = use->next) {
    bool entry = use->value == value && use->link == link && use->user && !(use->user->flags & IR_OP_ERASED);
    size_t place = entry ? (size_t)(use - ir_op_uses(use->user)) : 0;
    if (!entry || place >= use->user->operand_count) {
      return ir_verify_fail(v, range, "the uses of '%s' are broken", ir_value_text(&v->arena, value));
    }
  }
  return true;
}

/* Each operand is there, has a type, knows of its use, and is visible. */
static bool check_operands(ir_verifier *v, const ir_op *op) {
  for (size_t i = 0; i < op->operand_count; i++) {
    const ir_use *use = &ir_op_uses(op)[i];
    if (!use->value || !use->value->type) return ir_verify_fail_op(v, op, "operand %zu is missing", i);
    if (use->user != op || !use->link || *use->link != use) return ir_verify_fail_op(v, op, "operand %zu is not among the uses of its value", i);
  }
  for (size_t i = 0; i < op->operand_count; i++) {
    const ir_value *value = ir_op_operand(op, i);
    if (ir_verify_sees(v, value)) continue;
    ir_verify_fail_op(v, op, "operand '%s' is not visible here", ir_value_text(&v->arena, value));
  }
  return true;
}

static const struct {
  uint32_t trait;
  const char *name;
} places[] = {
    [IR_ITEM_FUNC] = {IR_GRAPH, "func"},
    [IR_ITEM_PRIM_FUNC] = {IR_PRIM, "prim_func"},
    [IR_ITEM_REDUCER] = {IR_SCALAR_BODY, "reducer"},
};

static void check_place(ir_verifier *v, const ir_op *op) {
  ir_item_kind kind = v->func->item.kind;
  if (ir_has(op, places[kind].trait)) return;
  ir_verify_fail_op(v, op, "not allowed in a %s", places[kind].name);
}

static bool check_attrs(ir_verifier *v, const ir_op *op) {
  const ir_op_def *row = ir_op_row(op);
  bool sound = true;
  ir_verify_place mark = ir_verify_mark(v);
  if (ir_is(op, IR_CLOSURE)) ir_verify_bind_closure(v, op);
  for (size_t i = 0; i < row->attr_count; i++) {
    const ir_attr *attr = ir_op_slots(op)[i];
    if (attr) sound &= ir_verify_attr(v, op->range, op, row->attrs[i].name, attr);
  }
  const ir_attr *dict = ir_op_dict(op);
  if (dict) ir_verify_attr(v, op->range, NULL, ir_arena_printf(&v->arena, "%s: with", ir_op_row(op)->name), dict);
  ir_verify_leave(v, mark);
  return sound;
}

/* Prints inside its user: has one, no name, and what it reads does not change in between. */
static void check_inline(ir_verifier *v, const ir_op *op) {
  if (!ir_is(op, IR_SCALAR) || op->result_count != 1) {
    ir_verify_fail_op(v, op, "an inline operation that is no scalar");
    return;
  }
  const ir_value *result = ir_op_result(op, 0);
  if (!result->uses) ir_verify_fail_op(v, op, "an inline scalar that nothing uses");
  const ir_expr *value = ir_get_expr(op, "value");
  if (!value || !value->has_loads) return;
  const ir_op *next = op->next;
  while (next && (next->flags & IR_OP_INLINE)) next = next->next;
  for (const ir_use *use = result->uses; use; use = use->next) {
    if (use->user == next || (use->user->flags & IR_OP_INLINE)) continue;
    ir_verify_fail_op(v, op, "an inline scalar that loads does not stand before its user");
  }
}

static void check_flags(ir_verifier *v, const ir_op *op) {
  if (op->flags & IR_OP_INLINE) check_inline(v, op);
  if (!(op->flags & IR_OP_NO_TARGETS)) return;
  bool fits = op->result_count == 1 && ir_is_unit(ir_op_result(op, 0)->type) && ir_is_unused(op);
  if (!fits) ir_verify_fail_op(v, op, "marked as without targets, but its result is not an unused tuple[]");
}

static void check_result(ir_verifier *v, const ir_op *op, size_t i, const ir_type *inferred) {
  const ir_type *type = ir_op_result(op, i)->type;
  switch (ir_type_relate(v->context, v->facts, type, inferred)) {
  case IR_TYPES_EQUAL:
  case IR_TYPES_WEAKER: return;
  case IR_TYPES_STRONGER:
    ir_verify_fail_op(v, op, "result %zu has type %s, of which only %s is known: a stronger type needs match_cast", i,
                      ir_type_text(&v->arena, type), ir_type_text(&v->arena, inferred));
    return;
  case IR_TYPES_CONTRADICT:
    ir_verify_fail_op(v, op, "result %zu has type %s, inferred is %s", i, ir_type_text(&v->arena, type), ir_type_text(&v->arena, inferred));
    return;
  }
}

/* Inference again: it reports what does not fit together. */
static bool check_types(ir_verifier *v, ir_op *op) {
  ir_infer in = ir_infer_again(op, v->facts, &v->arena);
  if (!ir_infer_run(&in)) {
    v->errors++;
    return false;
  }
  if (in.result_count != op->result_count) {
    return ir_verify_fail_op(v, op, "%u results, expected %zu", op->result_count, in.result_count);
  }
  for (size_t i = 0; i < in.result_count; i++) check_result(v, op, i, in.results[i]);
  const ir_op_def *row = ir_op_row(op);
  if (row->verify && !row->verify(op)) v->errors++;
  return true;
}

static void define_results(ir_verifier *v, const ir_op *op) {
  for (size_t i = 0; i < op->result_count; i++) {
    ir_value *result = ir_op_result(op, i);
    if (ir_is(op, IR_MATCH_CAST)) ir_verify_bind_type(v, result->type);
    ir_arena_mark mark = ir_arena_get_mark(&v->arena);
    ir_verify_type(v, op->range, ir_arena_printf(&v->arena, "%s: result %zu", ir_op_row(op)->name, i), result->type);
    ir_arena_reset(&v->arena, mark);
    ir_verify_define(v, result, false, op->range);
  }
}

static bool has_sound_results(ir_verifier *v, const ir_op *op) {
  for (size_t i = 0; i < op->result_count; i++) {
    const ir_value *result = ir_op_result(op, i);
    if (!result->type) return ir_verify_fail_op(v, op, "result %zu has no type", i);
    if (ir_value_op(result) != op || result->index != i) return ir_verify_fail_op(v, op, "result %zu belongs to another operation", i);
    if (!check_uses(v, op->range, result)) return false;
  }
  return true;
}

static bool visit_regions(ir_verifier *v, ir_op *op) {
  const ir_op_def *row = ir_op_row(op);
  bool sound = true;
  if (row->regions >= 0 && op->region_count != row->regions) {
    return ir_verify_fail_op(v, op, "%u regions, expected %d", op->region_count, row->regions);
  }
  bool impure = v->impure;
  const ir_attr *type = ir_is(op, IR_CLOSURE) ? ir_get(op, "type") : NULL;
  if (type && type->kind == IR_ATTR_TYPE) v->impure = type->type->impure;
  for (size_t i = 0; i < op->region_count; i++) {
    ir_region *region = ir_op_region(op, i);
    if (!region || region->parent != op) return ir_verify_fail_op(v, op, "region %zu is missing", i);
    sound &= ir_verify_region(v, region);
  }
  v->impure = impure;
  return sound;
}

/* False where nothing may look at the operation any more. */
static bool visit(ir_verifier *v, ir_region *region, ir_op *op) {
  if (op->code >= IR_OP_COUNT) return ir_verify_fail(v, op->range, "an operation of an unknown kind");
  if (op->region != region || (op->next && op->next->prev != op) || op->flags & IR_OP_ERASED) {
    return ir_verify_fail_op(v, op, "the list of operations is broken");
  }
  v->plans |= ir_is(op, IR_HOST_TENSOR) || ir_is(op, IR_HOST_RESULT) || ir_is(op, IR_HOST_FREE);
  bool sound = check_operands(v, op);
  sound &= has_sound_results(v, op);
  check_place(v, op);
  if (sound) sound = check_attrs(v, op);
  sound &= visit_regions(v, op);
  if (sound) check_flags(v, op);
  ir_arena_mark mark = ir_arena_get_mark(&v->arena);
  if (sound && v->infers && check_types(v, op)) {
    ir_verify_prim_op(v, op);
    ir_verify_inplace(v, op);
    ir_verify_written(v, op);
    ir_verify_closure(v, op);
    ir_verify_effects(v, op);
  }
  ir_arena_reset(&v->arena, mark);
  for (size_t i = 0; i < op->result_count; i++) {
    if (!ir_op_result(op, i)->type) return false;
  }
  define_results(v, op);
  return sound;
}

static bool define_args(ir_verifier *v, const ir_region *region, ir_range range) {
  bool bare = region->parent && (ir_is(region->parent, IR_COMPUTE) || ir_is(region->parent, IR_FOR));
  for (size_t i = 0; i < region->arg_count; i++) {
    ir_value *arg = region->args[i];
    if (!arg || !arg->type) return ir_verify_fail(v, range, "argument %zu of the region has no type", i);
    if (ir_value_region(arg) != region || arg->index != i) return ir_verify_fail(v, range, "argument %zu belongs to another region", i);
    if (!check_uses(v, range, arg)) return false;
    if (region->parent && ir_is(region->parent, IR_CLOSURE)) ir_verify_bind_type(v, arg->type);
    if (region->parent) ir_verify_type(v, range, ir_arena_printf(&v->arena, "argument %zu of the region", i), arg->type);
    ir_verify_define(v, arg, bare, range);
  }
  return true;
}

bool ir_verify_region(ir_verifier *v, ir_region *region) {
  ir_range range = region->parent ? region->parent->range : v->func->item.range;
  if (region->func != v->func) return ir_verify_fail(v, range, "a region belongs to another function");
  ir_verify_place mark = ir_verify_mark(v);
  bool sound_args = define_args(v, region, range), sound = sound_args;
  for (ir_op *op = region->first; op && sound_args; op = op->next) {
    bool linked = op->code < IR_OP_COUNT && op->region == region && (!op->next || op->next->prev == op);
    sound &= visit(v, region, op);
    if (!linked) break;
  }
  if (sound) ir_verify_terminator(v, region);
  ir_verify_leave(v, mark);
  return sound;
}
