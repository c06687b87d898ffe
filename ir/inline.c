// SPDX-License-Identifier: Apache-2.0
/* ir/inline.c - copies of regions with other symbols. Needs ir/infer. */
#include "ir/inline.h"

static const ir_expr *bound(void *user, ir_context *context, const ir_expr *leaf) {
  (void)context;
  const ir_binding *binding = user;
  const ir_expr *found = leaf->code == IR_S_SYMBOL ? ir_map_get(&binding->symbols, leaf) : NULL;
  return found ? found : leaf;
}

const ir_expr *ir_inline_expr(ir_context *context, const ir_binding *binding, const ir_expr *expr) {
  const ir_expr *replaced = ir_expr_replace(context, expr, bound, (void *)(uintptr_t)binding);
  /* What is an extent stays one: 2 * 3 is 6 where n * 3 was. */
  return replaced == expr || replaced->has_args ? replaced : ir_simplify(context, NULL, replaced);
}

const ir_type *ir_inline_type(ir_context *context, const ir_binding *binding, const ir_type *type) {
  size_t items = (size_t)type->count + type->result_count;
  bool dims = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  if (!items || (!dims && type->kind != IR_TYPE_TUPLE && type->kind != IR_TYPE_FUNC)) return type;
  ir_arena scratch = {0};
  const void **replaced = ir_new_array(&scratch, const void *, items);
  for (size_t i = 0; i < items; i++) {
    const void *item = type->items[i];
    replaced[i] = !item ? NULL : dims ? (const void *)ir_inline_expr(context, binding, item) : ir_inline_type(context, binding, item);
  }
  const ir_type *result = ir_type_get(context, &(ir_type_key){type->kind, type->dtype, type->ranked, type->impure, type->lanes,
                                                              type->count, type->result_count, type->device, replaced});
  ir_arena_free(&scratch);
  return result;
}

static const ir_attr *inline_attr(ir_context *context, const ir_binding *binding, const ir_attr *attr) {
  if (!attr) return NULL;
  if (attr->kind == IR_ATTR_EXPR) return ir_attr_expr(context, ir_inline_expr(context, binding, attr->expr));
  if (attr->kind == IR_ATTR_TYPE) return ir_attr_type(context, ir_inline_type(context, binding, attr->type));
  size_t items = attr->kind == IR_ATTR_LIST ? attr->count : attr->kind == IR_ATTR_DICT ? 2 * (size_t)attr->count : 0;
  if (!items) return attr;
  ir_arena scratch = {0};
  const ir_attr **replaced = ir_new_array(&scratch, const ir_attr *, items);
  for (size_t i = 0; i < items; i++) replaced[i] = inline_attr(context, binding, attr->items[i]);
  const ir_attr *result = attr->kind == IR_ATTR_LIST ? ir_attr_list(context, items, replaced) : ir_attr_dict(context, items / 2, replaced);
  ir_arena_free(&scratch);
  return result;
}

static ir_value *lookup(const ir_map *values, ir_value *value) {
  ir_value *mapped = ir_map_get(values, value);
  return mapped ? mapped : value;
}

static void inline_op(ir_builder *b, const ir_op *op, ir_arena *scratch, ir_map *values, const ir_binding *binding) {
  ir_context *context = b->module->context;
  size_t slots = ir_op_row(op)->attr_count;
  ir_value **operands = ir_new_array(scratch, ir_value *, op->operand_count);
  const ir_type **types = ir_new_array(scratch, const ir_type *, op->result_count);
  const ir_attr **attrs = ir_new_array(scratch, const ir_attr *, slots);
  ir_region **regions = ir_new_array(scratch, ir_region *, op->region_count);
  for (size_t i = 0; i < op->operand_count; i++) operands[i] = lookup(values, ir_op_operand(op, i));
  for (size_t i = 0; i < op->result_count; i++) types[i] = ir_inline_type(context, binding, ir_op_result(op, i)->type);
  for (size_t i = 0; i < slots; i++) attrs[i] = inline_attr(context, binding, ir_op_slots(op)[i]);
  for (size_t i = 0; i < op->region_count; i++) {
    const ir_region *old = ir_op_region(op, i);
    ir_region *region = regions[i] = ir_region_new(b->module, b->region->func, old->arg_count);
    region->spatial_count = old->spatial_count;
    for (size_t k = 0; k < old->arg_count; k++) {
      const ir_value *arg = old->args[k];
      ir_map_put(scratch, values, arg, ir_region_set_arg(region, k, ir_inline_type(context, binding, arg->type), arg->name));
    }
    ir_builder inner = ir_at_end(region);
    ir_op *end = ir_inline_region(&inner, old, scratch, values, binding);
    if (end) inline_op(&inner, end, scratch, values, binding);
  }
  ir_op *copy = ir_op_new(b->module, &(ir_op_spec){.code = (ir_opcode)op->code, .range = op->range, .operand_count = op->operand_count,
                                                   .operands = operands, .attrs = attrs, .region_count = op->region_count,
                                                   .regions = regions, .result_count = op->result_count, .types = types});
  copy->flags = op->flags & (IR_OP_INLINE | IR_OP_NO_TARGETS);
  ir_op_insert(b->region, b->before, copy);
  if (op->flags & IR_OP_HAS_DICT) ir_op_set_dict(copy, inline_attr(context, binding, ir_op_dict(op)));
  if (op->flags & IR_OP_HAS_LOC) ir_op_set_loc(copy, ir_op_loc(op));
  for (size_t i = 0; i < op->result_count; i++) {
    ir_op_result(copy, i)->name = ir_op_result(op, i)->name;
    ir_map_put(scratch, values, ir_op_result(op, i), ir_op_result(copy, i));
  }
}

ir_op *ir_inline_region(ir_builder *b, const ir_region *from, ir_arena *scratch, ir_map *values, const ir_binding *binding) {
  ir_each_op(op, from) {
    if (ir_has(op, IR_TERMINATOR)) return op;
    inline_op(b, op, scratch, values, binding);
  }
  return NULL;
}
