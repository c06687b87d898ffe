// SPDX-License-Identifier: Apache-2.0
/* ir/verify_flow.c - effects, ends of regions, results of functions, operands that are overwritten. Part of the
 * verifier. */
#include "ir/print.h"
#include "ir/verifier.h"

/* What a call does to the world, in words; NULL where it is pure. */
static const char *effect_of_call(const ir_verifier *v, const ir_op *op) {
  const ir_attr *callee = ir_get(op, "callee");
  if (!callee) {
    const ir_type *type = op->operand_count ? ir_op_operand(op, 0)->type : NULL;
    return type && type->kind == IR_TYPE_FUNC && type->impure ? "calls an impure function" : NULL;
  }
  const ir_item *item = callee->kind == IR_ATTR_GLOBAL ? ir_module_find(v->module, callee->string) : NULL;
  return item && item->flags & IR_ITEM_IMPURE ? "calls an impure function" : NULL;
}

static const char *effect_of(const ir_verifier *v, const ir_op *op) {
  if (ir_is(op, IR_CALL)) return effect_of_call(v, op);
  return ir_has(op, IR_IMPURE) ? "has an effect" : NULL;
}

static bool calls_prim_func(const ir_verifier *v, const ir_op *op) {
  const ir_attr *callee = ir_is(op, IR_CALL) ? ir_get(op, "callee") : NULL;
  const ir_item *item = callee && callee->kind == IR_ATTR_GLOBAL ? ir_module_find(v->module, callee->string) : NULL;
  return item && item->kind == IR_ITEM_PRIM_FUNC;
}

static void check_dataflow(ir_verifier *v, const ir_op *op) {
  bool control = op->region_count && !ir_is(op, IR_CLOSURE);
  if (control) {
    ir_verify_fail_op(v, op, "control flow in a dataflow region");
  } else if (ir_has_any(op, IR_WRITES | IR_ALLOCATES) || calls_prim_func(v, op)) {
    ir_verify_fail_op(v, op, "explicit memory in a dataflow region");
  } else if (effect_of(v, op)) {
    ir_verify_fail_op(v, op, "%s, in a dataflow region", effect_of(v, op));
  }
}

void ir_verify_effects(ir_verifier *v, const ir_op *op) {
  if (v->func->item.kind != IR_ITEM_FUNC) return;
  if (ir_is(ir_op_parent(op), IR_DATAFLOW) && !ir_has(op, IR_TERMINATOR)) check_dataflow(v, op);
  const char *effect = v->impure ? NULL : effect_of(v, op);
  if (effect) ir_verify_fail_op(v, op, "%s, in a function that is not impure", effect);
}

void ir_verify_returns(ir_verifier *v, const ir_op *op, size_t count, const ir_type *const *results, const char *whose) {
  if (op->operand_count != count) {
    ir_verify_fail_op(v, op, "%u value%s, %s has %zu result%s", op->operand_count, ir_plural(op->operand_count), whose, count, ir_plural(count));
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const ir_type *type = ir_op_operand(op, i)->type;
    ir_type_relation relation = ir_type_relate(v->context, v->facts, results[i], type);
    if (relation == IR_TYPES_EQUAL || relation == IR_TYPES_WEAKER) continue;
    ir_verify_fail_op(v, op, "value %zu has type %s, result %zu of %s is %s", i, ir_type_text(&v->arena, type), i, whose,
                      ir_type_text(&v->arena, results[i]));
  }
}

/* The operation that a region has to end in; IR_OP_COUNT for none. *optional: it may be missing where it had nothing. */
static ir_opcode wanted_terminator(const ir_verifier *v, const ir_region *region, bool *optional) {
  const ir_op *parent = region->parent;
  *optional = false;
  if (!parent) {
    if (v->func->item.kind == IR_ITEM_FUNC) return IR_RETURN;
    return v->func->item.kind == IR_ITEM_REDUCER ? IR_YIELD : IR_OP_COUNT;
  }
  if (ir_is(parent, IR_CLOSURE)) return IR_RETURN;
  if (!ir_has(parent, IR_GRAPH) || v->func->item.kind == IR_ITEM_PRIM_FUNC) return IR_OP_COUNT;
  *optional = !parent->result_count;
  return IR_YIELD;
}

static void check_reducer_yield(ir_verifier *v, const ir_op *yield) {
  const ir_func *reducer = v->func;
  if (yield->operand_count != reducer->state_count) {
    ir_verify_fail_op(v, yield, "%u value%s, the reducer has %zu state%s", yield->operand_count, ir_plural(yield->operand_count), reducer->state_count, ir_plural(reducer->state_count));
    return;
  }
  for (size_t i = 0; i < reducer->state_count; i++) {
    const ir_type *type = ir_op_operand(yield, i)->type, *state = reducer->params[i].type;
    if (type == state) continue;
    ir_verify_fail_op(v, yield, "value %zu has type %s, state %zu is %s", i, ir_type_text(&v->arena, type), i, ir_type_text(&v->arena, state));
  }
}

static void check_return(ir_verifier *v, const ir_op *op) {
  const ir_op *closure = ir_op_parent(op);
  if (!closure) {
    ir_verify_returns(v, op, v->func->result_count, v->func->results, ir_arena_printf(&v->arena, "'@%s'", v->func->item.name->text));
    return;
  }
  const ir_attr *attr = ir_get(closure, "type");
  const ir_type *type = attr && attr->kind == IR_ATTR_TYPE ? attr->type : NULL;
  if (!type || type->kind != IR_TYPE_FUNC || !type->ranked) return; /* reported at the closure */
  ir_verify_returns(v, op, type->result_count, (const ir_type *const *)(type->items + type->count), "the function");
}

static void check_early(ir_verifier *v, const ir_region *region) {
  for (const ir_op *op = region->first; op && op->next; op = op->next) {
    if (ir_has(op, IR_TERMINATOR)) ir_verify_fail_op(v, op, "operations follow it");
  }
}

void ir_verify_terminator(ir_verifier *v, const ir_region *region) {
  check_early(v, region);
  bool optional;
  ir_opcode wanted = wanted_terminator(v, region, &optional);
  const ir_op *end = ir_region_terminator(region);
  ir_range range = end ? end->range : region->parent ? region->parent->range : v->func->item.range;
  if (!end) {
    if (wanted != IR_OP_COUNT && !optional) ir_verify_fail(v, range, "the region does not end in '%s'", ir_op_defs[wanted].name);
    return;
  }
  if (end->code != wanted) { /* where nothing is wanted, nothing is allowed */
    if (wanted != IR_OP_COUNT) ir_verify_fail_op(v, end, "the region must end in '%s'", ir_op_defs[wanted].name);
    return;
  }
  if (wanted == IR_RETURN) check_return(v, end);
  if (wanted != IR_YIELD) return;
  if (!region->parent) check_reducer_yield(v, end);
  bool loops = region->parent && ir_is(region->parent, IR_LOOP);
  if (!loops && (ir_get_int(end, "stacks") || ir_get_bool(end, "again"))) {
    ir_verify_fail_op(v, end, "'stack' and 'while' belong to a loop");
  }
}

void ir_verify_bind_closure(ir_verifier *v, const ir_op *op) {
  const ir_region *region = op->region_count ? ir_op_region(op, 0) : NULL;
  for (size_t i = 0; region && i < region->arg_count; i++) {
    if (region->args[i] && region->args[i]->type) ir_verify_bind_type(v, region->args[i]->type);
  }
}

void ir_verify_closure(ir_verifier *v, const ir_op *op) {
  if (!ir_is(op, IR_CLOSURE)) return;
  const ir_type *type = ir_get(op, "type")->type;
  const ir_region *region = ir_op_region(op, 0);
  bool fits = type->kind == IR_TYPE_FUNC && type->ranked && type->count == region->arg_count;
  for (size_t i = 0; fits && i < region->arg_count; i++) fits = region->args[i]->type == ir_type_field(type, i);
  if (!fits) ir_verify_fail_op(v, op, "type %s does not fit its parameters", ir_type_text(&v->arena, type));
  ir_verify_place mark = ir_verify_mark(v);
  ir_verify_bind_closure(v, op);
  for (size_t i = 0; i < ir_get_count(op, "where"); i++) {
    const ir_expr *condition = ir_get_expr_at(op, "where", i);
    if (condition) ir_verify_condition(v, op->range, NULL, "where", condition);
  }
  ir_verify_leave(v, mark);
}

/* VALUE is defined inside of LOOP or of an operation in it. */
static bool defined_within(const ir_value *value, const ir_op *loop) {
  const ir_op *def = ir_value_op(value);
  const ir_region *region = def ? def->region : ir_value_region(value);
  while (region && region->parent != loop) region = region->parent ? region->parent->region : NULL;
  return region != NULL;
}

void ir_verify_inplace(ir_verifier *v, const ir_op *op) {
  if (!ir_is(op, IR_CALL_TIR_INPLACE)) return;
  for (size_t i = 0; i < ir_get_count(op, "inplace"); i++) {
    const ir_value *value = ir_op_operand(op, (size_t)ir_get_int_at(op, "inplace", i));
    const char *name = ir_value_text(&v->arena, value);
    for (const ir_use *use = value->uses; use; use = use->next) {
      size_t place = (size_t)(use - ir_op_uses(use->user));
      bool twice = use->user == op && place != (size_t)ir_get_int_at(op, "inplace", i);
      if (twice) ir_verify_fail_op(v, op, "'%s' is overwritten and read by the same call", name);
      if (use->user == op || !ir_op_is_before(op, use->user)) continue;
      ir_verify_fail_op(v, op, "'%s' is overwritten, but used again later", name);
      break;
    }
    for (const ir_op *outer = ir_op_parent(op); outer; outer = ir_op_parent(outer)) {
      if (!ir_is(outer, IR_LOOP) || defined_within(value, outer)) continue;
      ir_verify_fail_op(v, op, "'%s' is overwritten in each round of a loop", name);
      break;
    }
  }
}

static const ir_value *memory_of(const ir_value *value) {
  const ir_op *op;
  while ((op = ir_value_op(value)) && ir_has(op, IR_VIEW)) value = ir_op_operand(op, 0);
  return value;
}

/* VALUE stays what it is: a parameter of the function, or a constant. */
static bool never_changes(const ir_verifier *v, const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  for (size_t i = 0; !op && i < v->func->param_count; i++) {
    if (v->func->params[i].value == value) return true;
  }
  return ir_is(op, IR_CONST);
}

void ir_verify_written(ir_verifier *v, const ir_op *op) {
  const ir_attr *callee = ir_is(op, IR_CALL) && v->func->item.kind == IR_ITEM_FUNC ? ir_get(op, "callee") : NULL;
  const ir_item *item = callee ? ir_module_find(ir_op_module(op), callee->string) : NULL;
  const ir_func *func = item && item->kind == IR_ITEM_PRIM_FUNC ? (const ir_func *)item : NULL;
  for (size_t i = 0; func && i < func->param_count && i < op->operand_count; i++) {
    if (func->params[i].direction == IR_IN) continue;
    const ir_value *memory = memory_of(ir_op_operand(op, i));
    const char *name = ir_value_text(&v->arena, ir_op_operand(op, i));
    if (never_changes(v, memory)) {
      ir_verify_fail_op(v, op, "'%s' is overwritten, and %s", name, ir_value_op(memory) ? "is a constant" : "belongs to the caller");
      continue;
    }
    for (size_t k = 0; k < op->operand_count; k++) {
      if (k == i || memory_of(ir_op_operand(op, k)) != memory) continue;
      ir_verify_fail_op(v, op, "'%s' is overwritten and operand %zu of the same call", name, k);
      break;
    }
  }
}
