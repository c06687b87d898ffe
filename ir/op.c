// SPDX-License-Identifier: Apache-2.0
/* ir/op.c - operations, regions, use lists. Needs ir/module. Checks nothing: that is the verifier's part. */
#include "ir/op.h"

#include "ir/module.h"

enum { LARGEST_REUSED = 8 * 63 };

static size_t op_size(size_t results, size_t attrs, size_t regions, size_t operands) {
  return sizeof(ir_op) + ir_size_mul(results, sizeof(ir_value)) + ir_size_mul(attrs, sizeof(ir_attr *)) +
         ir_size_mul(regions, sizeof(ir_region *)) + ir_size_mul(operands, sizeof(ir_use));
}

static void link_use(ir_use *use, ir_value *value) {
  use->value = value;
  use->next = value->uses;
  use->link = &value->uses;
  if (use->next) use->next->link = &use->next;
  value->uses = use;
}

static void unlink_use(ir_use *use) {
  *use->link = use->next;
  if (use->next) use->next->link = use->link;
  use->next = NULL;
}

ir_op *ir_op_new(ir_module *module, const ir_op_spec *spec) {
  const ir_op_def *row = &ir_op_defs[spec->code];
  size_t size = op_size(spec->result_count, row->attr_count, spec->region_count, spec->operand_count);
  ir_op *op = NULL;
  if (size <= LARGEST_REUSED && module->free_ops[size / 8]) {
    op = module->free_ops[size / 8];
    module->free_ops[size / 8] = op->next;
    memset(op, 0, size);
  } else {
    op = ir_arena_alloc_aligned(&module->arena, size, 8);
  }
  op->range = spec->range;
  op->code = (uint16_t)spec->code;
  op->operand_count = (uint32_t)spec->operand_count;
  op->result_count = (uint16_t)spec->result_count;
  op->region_count = (uint16_t)spec->region_count;
  for (size_t i = 0; i < spec->result_count; i++) {
    *ir_op_result(op, i) = (ir_value){.type = spec->types[i], .owner = (uintptr_t)op, .index = (uint32_t)i};
  }
  if (spec->attrs && row->attr_count) memcpy(ir_op_slots(op), spec->attrs, row->attr_count * sizeof *spec->attrs);
  for (size_t i = 0; i < spec->region_count; i++) {
    ir_op_regions(op)[i] = spec->regions[i];
    spec->regions[i]->parent = op;
  }
  for (size_t i = 0; i < spec->operand_count; i++) {
    ir_op_uses(op)[i].user = op;
    link_use(&ir_op_uses(op)[i], spec->operands[i]);
  }
  return op;
}

ir_region *ir_region_new(ir_module *module, ir_func *func, size_t arg_count) {
  ir_region *region = ir_new(&module->arena, ir_region);
  region->func = func;
  region->arg_count = region->spatial_count = (uint32_t)arg_count;
  if (!arg_count) return region;
  region->args = ir_new_array(&module->arena, ir_value *, arg_count);
  ir_value *values = ir_new_array(&module->arena, ir_value, arg_count);
  for (size_t i = 0; i < arg_count; i++) {
    region->args[i] = &values[i];
    values[i].owner = (uintptr_t)region | 1;
    values[i].index = (uint32_t)i;
  }
  return region;
}

ir_value *ir_region_set_arg(ir_region *region, size_t i, const ir_type *type, const ir_string *name) {
  region->args[i]->type = type;
  region->args[i]->name = name;
  return region->args[i];
}

static void set_func(ir_region *region, ir_func *func) {
  if (region->func == func) return;
  region->func = func;
  ir_each_op(op, region) {
    for (size_t i = 0; i < op->region_count; i++) set_func(ir_op_region(op, i), func);
  }
}

void ir_op_insert(ir_region *region, ir_op *before, ir_op *op) {
  op->region = region;
  op->next = before;
  op->prev = before ? before->prev : region->last;
  *(op->prev ? &op->prev->next : &region->first) = op;
  *(before ? &before->prev : &region->last) = op;
  for (size_t i = 0; i < op->region_count; i++) set_func(ir_op_region(op, i), region->func);
}

void ir_op_unlink(ir_op *op) {
  *(op->prev ? &op->prev->next : &op->region->first) = op->next;
  *(op->next ? &op->next->prev : &op->region->last) = op->prev;
  op->prev = op->next = NULL;
}

bool ir_is_unused(const ir_op *op) {
  for (size_t i = 0; i < op->result_count; i++) {
    if (ir_op_result(op, i)->uses) return false;
  }
  return true;
}

size_t ir_value_use_count(const ir_value *value) {
  size_t count = 0;
  ir_each_use(use, value) count++;
  return count;
}

ir_module *ir_op_module(const ir_op *op) { return op->region->func->item.module; }
ir_context *ir_op_context(const ir_op *op) { return ir_op_module(op)->context; }

/* Drops the operands of OP, and inline scalars that nothing else uses. */
static void drop_operands(ir_op *op) {
  for (size_t i = 0; i < op->operand_count; i++) {
    ir_use *use = &ir_op_uses(op)[i];
    ir_op *def = ir_value_op(use->value);
    unlink_use(use);
    if (def && (def->flags & IR_OP_INLINE) && ir_is_unused(def)) ir_op_erase(def);
  }
  op->operand_count = 0;
}

static void erase_contents(ir_region *region) {
  while (region->last) ir_op_erase(region->last);
}

void ir_op_erase(ir_op *op) {
  ir_module *module = ir_op_module(op);
  size_t size = op_size(op->result_count, ir_op_row(op)->attr_count, op->region_count, op->operand_count);
  for (size_t i = op->region_count; i > 0; i--) erase_contents(ir_op_region(op, i - 1));
  ir_op_unlink(op);
  drop_operands(op);
  if (op->flags & IR_OP_HAS_DICT) ir_map_remove(&module->op_dicts, op);
  if (op->flags & IR_OP_HAS_LOC) ir_map_remove(&module->op_locs, op);
  op->flags = IR_OP_ERASED;
  if (size > LARGEST_REUSED) return;
  op->next = module->free_ops[size / 8];
  module->free_ops[size / 8] = op;
}

void ir_op_set_operand(ir_op *op, size_t i, ir_value *value) {
  ir_use *use = &ir_op_uses(op)[i];
  if (use->value == value) return;
  ir_op *def = ir_value_op(use->value);
  unlink_use(use);
  link_use(use, value);
  if (def && (def->flags & IR_OP_INLINE) && ir_is_unused(def)) ir_op_erase(def);
}

void ir_value_replace(ir_value *from, ir_value *to) {
  if (from == to) return;
  while (from->uses) {
    ir_use *use = from->uses;
    unlink_use(use);
    link_use(use, to);
  }
  if (!to->name && from->name && ir_value_op(to) && !(ir_value_op(to)->flags & IR_OP_INLINE)) {
    to->name = from->name;
    from->name = NULL;
  }
}

const ir_expr *ir_value_expr(const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  return ir_is(op, IR_SCALAR) ? ir_get_expr(op, "value") : NULL;
}

const ir_expr *ir_value_closed_expr(const ir_value *value) {
  const ir_expr *expr = ir_value_expr(value);
  return expr && !expr->has_args ? expr : NULL;
}

struct depends {
  const ir_op *op;
  const ir_value *variable;
  bool found;
};

static void see_node(void *user, const ir_expr *node) {
  struct depends *d = user;
  if (node->code == IR_S_ARG) d->found |= ir_value_depends(ir_op_operand(d->op, node->arg), d->variable);
}

bool ir_expr_depends(const ir_op *op, const ir_expr *expr, const ir_value *variable) {
  struct depends d = {op, variable, false};
  ir_expr_walk(ir_op_context(op), expr, see_node, &d);
  return d.found;
}

bool ir_value_depends(const ir_value *value, const ir_value *variable) {
  const ir_op *op = ir_value_op(value);
  if (value == variable) return true;
  return ir_is(op, IR_SCALAR) && ir_expr_depends(op, ir_get_expr(op, "value"), variable);
}

static ir_value *lookup(const ir_map *values, ir_value *value) {
  ir_value *mapped = ir_map_get(values, value);
  return mapped ? mapped : value;
}

static ir_region *clone_region(ir_region *region, ir_module *module, ir_func *func, ir_arena *scratch, ir_map *values) {
  ir_region *copy = ir_region_new(module, func, region->arg_count);
  copy->spatial_count = region->spatial_count;
  for (size_t i = 0; i < region->arg_count; i++) {
    const ir_value *arg = region->args[i];
    ir_map_put(scratch, values, arg, ir_region_set_arg(copy, i, arg->type, arg->name));
  }
  ir_each_op(op, region) ir_op_clone(op, copy, NULL, scratch, values);
  return copy;
}

ir_op *ir_op_clone(ir_op *op, ir_region *region, ir_op *before, ir_arena *scratch, ir_map *values) {
  ir_module *module = region->func->item.module;
  ir_value **operands = ir_new_array(scratch, ir_value *, op->operand_count);
  const ir_type **types = ir_new_array(scratch, const ir_type *, op->result_count);
  ir_region **regions = ir_new_array(scratch, ir_region *, op->region_count);
  for (size_t i = 0; i < op->operand_count; i++) operands[i] = lookup(values, ir_op_operand(op, i));
  for (size_t i = 0; i < op->result_count; i++) types[i] = ir_op_result(op, i)->type;
  for (size_t i = 0; i < op->region_count; i++) {
    regions[i] = clone_region(ir_op_region(op, i), module, region->func, scratch, values);
  }
  ir_op *copy = ir_op_new(module, &(ir_op_spec){.code = (ir_opcode)op->code,
                                                .range = op->range,
                                                .operand_count = op->operand_count,
                                                .operands = operands,
                                                .attrs = ir_op_slots(op),
                                                .region_count = op->region_count,
                                                .regions = regions,
                                                .result_count = op->result_count,
                                                .types = types});
  copy->flags = op->flags & (IR_OP_INLINE | IR_OP_NO_TARGETS);
  ir_op_insert(region, before, copy);
  if (op->flags & IR_OP_HAS_DICT) ir_op_set_dict(copy, ir_op_dict(op));
  if (op->flags & IR_OP_HAS_LOC) ir_op_set_loc(copy, ir_op_loc(op));
  for (size_t i = 0; i < op->result_count; i++) {
    ir_op_result(copy, i)->name = ir_op_result(op, i)->name;
    ir_map_put(scratch, values, ir_op_result(op, i), ir_op_result(copy, i));
  }
  return copy;
}

/* The operation around OP (or OP itself) that stands directly in REGION; NULL where REGION is not around it. */
static const ir_op *within(const ir_op *op, const ir_region *region) {
  while (op && op->region != region) op = ir_op_parent(op);
  return op;
}

bool ir_op_is_before(const ir_op *a, const ir_op *b) {
  for (const ir_op *outer = a; outer; outer = ir_op_parent(outer)) {
    const ir_op *other = within(b, outer->region);
    if (!other) continue;
    if (other == outer) return outer == a && b != a;
    for (const ir_op *at = outer->next; at; at = at->next) {
      if (at == other) return true;
    }
    return false;
  }
  return false;
}

bool ir_value_dominates(const ir_value *value, const ir_region *region, const ir_op *before) {
  const ir_op *def = ir_value_op(value);
  const ir_region *home = def ? def->region : ir_value_region(value);
  const ir_op *point = before;
  for (const ir_region *at = region; at != home; at = at->parent->region) {
    if (!at->parent) return false;
    point = at->parent;
  }
  if (!def) return true;
  if (!point) return true;
  for (const ir_op *op = def->next; op; op = op->next) {
    if (op == point) return true;
  }
  return false;
}

bool ir_walk(ir_region *region, ir_order order, bool (*visit)(void *user, ir_op *op), void *user) {
  if (order == IR_PRE_ORDER) {
    ir_each_op(op, region) {
      if (!visit(user, op)) return false;
      if (op->flags & IR_OP_ERASED) continue;
      for (size_t i = 0; i < op->region_count; i++) {
        if (!ir_walk(ir_op_region(op, i), order, visit, user)) return false;
      }
    }
    return true;
  }
  ir_each_op_reverse(op, region) {
    for (size_t i = op->region_count; i > 0; i--) {
      if (!ir_walk(ir_op_region(op, i - 1), order, visit, user)) return false;
    }
    if (!visit(user, op)) return false;
  }
  return true;
}
