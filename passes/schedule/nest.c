// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/nest.c - building loop form. Needs ir/infer, ir/frame. */
#include "passes/schedule/nest.h"

#include "ir/simplify.h"

ir_frame ir_nest_frame(ir_nest *nest) { return (ir_frame){.context = nest->context, .arena = nest->scratch}; }

/* A load of a temporary drops the indices that became loops. */
static const ir_expr *map_load(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  const ir_nest *nest = user;
  const ir_nest_temp *temp = leaf->code == IR_S_LOAD ? ir_map_get(&nest->temps, value) : NULL;
  if (!temp) return NULL;
  return ir_frame_load(frame, temp->buffer, leaf->count - temp->dropped, leaf->kids + temp->dropped);
}

const ir_expr *ir_nest_import(ir_nest *nest, ir_frame *frame, const ir_op *op, const ir_expr *expr) {
  return ir_frame_import(frame, op, expr, &nest->values, map_load, nest);
}

ir_value *ir_nest_scalar(ir_builder *b, const ir_frame *frame, const ir_expr *expr) {
  bool plain = expr->code == IR_S_ARG;
  return plain ? frame->operands[expr->arg] : ir_build_scalar(b, expr, frame->operands, frame->count);
}

void ir_nest_drop(ir_value *value) {
  ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE) && ir_is_unused(op)) ir_op_erase(op);
}

ir_value *ir_nest_extent(ir_nest *nest, ir_builder *b, ir_value *extent) {
  ir_value *mapped = ir_map_get(&nest->values, extent);
  ir_frame frame = ir_nest_frame(nest);
  const ir_op *op = ir_value_op(extent);
  if (mapped || !op || !(op->flags & IR_OP_INLINE)) return mapped ? mapped : extent;
  const ir_expr *expr = ir_nest_import(nest, &frame, op, ir_get_expr(op, "value"));
  return ir_nest_scalar(b, &frame, expr);
}

static const ir_string *name_of(ir_nest *nest, const char *name) {
  return name ? ir_intern(nest->context, ir_slice_of(name)) : NULL;
}

ir_value *ir_nest_for(ir_nest *nest, ir_builder *b, ir_value *extent, const char *name, const char *mode) {
  ir_region *region = ir_region_new(nest->module, b->region->func, 1);
  ir_value *axis = ir_region_set_arg(region, 0, ir_type_scalar(nest->context, IR_I64, 1), name_of(nest, name));
  ir_build_with(b, IR_FOR, &extent, 1, IR_SET({"mode", ir_attr_id(nest->context, ir_slice_of(mode))}), &region, 1, NULL, 0);
  b->region = region;
  b->before = NULL;
  return axis;
}

void ir_nest_if(ir_nest *nest, ir_builder *b, const ir_frame *frame, const ir_expr *condition) {
  ir_region *region = ir_region_new(nest->module, b->region->func, 0);
  ir_value *value = ir_nest_scalar(b, frame, condition);
  ir_build_with(b, IR_IF, &value, 1, IR_NO_ATTRS, &region, 1, NULL, 0);
  b->region = region;
  b->before = NULL;
}

ir_value *ir_nest_alloc(ir_nest *nest, ir_builder *b, const char *name, const char *scope, ir_dtype dtype, size_t rank,
                        const ir_expr *const *dims) {
  const ir_type *type = ir_type_tensor(nest->context, dtype, rank, dims);
  ir_op *op = ir_build_with(b, IR_ALLOC, NULL, 0, IR_SET({"scope", ir_attr_id(nest->context, ir_slice_of(scope))}), NULL, 0, &type, 1);
  ir_op_result(op, 0)->name = name_of(nest, name);
  return ir_op_result(op, 0);
}

ir_value *ir_nest_let(ir_builder *b, const ir_frame *frame, const char *name, const ir_expr *expr) {
  ir_context *context = b->module->context;
  const ir_type *type = ir_type_scalar(context, (ir_dtype)expr->dtype, expr->lanes);
  ir_op *op = ir_build_with(b, IR_SCALAR, frame->operands, frame->count, IR_SET({"value", ir_attr_expr(context, expr)}), NULL, 0, &type, 1);
  if (name) ir_op_result(op, 0)->name = ir_intern(context, ir_slice_of(name));
  return ir_op_result(op, 0);
}

void ir_nest_store(ir_builder *b, ir_frame *frame, ir_value *buffer, size_t count, const ir_expr *const *indices,
                   const ir_expr *value) {
  ir_context *context = frame->context;
  /* The target comes first; what the expressions number moves up by one. */
  ir_value **operands = ir_new_array(frame->arena, ir_value *, frame->count + 1);
  uint32_t *map = ir_new_array(frame->arena, uint32_t, frame->count);
  operands[0] = buffer;
  for (size_t i = 0; i < frame->count; i++) {
    operands[i + 1] = frame->operands[i];
    map[i] = (uint32_t)i + 1;
  }
  const ir_attr **items = ir_new_array(frame->arena, const ir_attr *, count);
  for (size_t i = 0; i < count; i++) items[i] = ir_attr_expr(context, ir_expr_renumber(context, indices[i], map));
  const ir_attr *index = ir_attr_list(context, count, items);
  const ir_attr *args = ir_attr_expr(context, ir_expr_renumber(context, value, map));
  ir_build(b, IR_STORE, operands, frame->count + 1, IR_SET({"index", ir_attr_list(context, 1, &index)}, {"args", ir_attr_list(context, 1, &args)}));
}

void ir_nest_guards(ir_nest *nest, ir_builder *b, ir_region *region) {
  ir_op *guard = region->first;
  if (!ir_is(guard, IR_GUARD)) return;
  size_t count = ir_get_count(guard, "conditions");
  for (size_t i = 0; i < count;) {
    ir_frame frame = ir_nest_frame(nest);
    const ir_expr *all = ir_nest_import(nest, &frame, guard, ir_get_expr_at(guard, "conditions", i));
    bool loads = all->has_loads;
    /* Conditions that load nothing may be evaluated together; the others only where those before them hold. */
    for (i++; i < count && !loads && !ir_get_expr_at(guard, "conditions", i)->has_loads; i++) {
      const ir_expr *next = ir_nest_import(nest, &frame, guard, ir_get_expr_at(guard, "conditions", i));
      all = ir_expr_binary(nest->context, IR_S_AND, all, next);
    }
    ir_nest_if(nest, b, &frame, all);
  }
}

void ir_nest_bindings(ir_nest *nest, ir_builder *b, ir_region *region) {
  ir_each_op(op, region) {
    if (!ir_is(op, IR_SCALAR) || (op->flags & IR_OP_INLINE)) continue;
    ir_frame frame = ir_nest_frame(nest);
    const ir_expr *expr = ir_nest_import(nest, &frame, op, ir_get_expr(op, "value"));
    const ir_string *name = ir_op_result(op, 0)->name;
    ir_map_put(nest->scratch, &nest->values, ir_op_result(op, 0), ir_nest_let(b, &frame, name ? name->text : NULL, expr));
  }
}

void ir_nest_store_result(ir_nest *nest, ir_builder *b, ir_op *store, size_t t, ir_frame *frame, const ir_expr *value) {
  const ir_attr *index = ir_get(store, "index")->items[t];
  ir_value *target = ir_op_operand(store, t);
  const ir_nest_temp *temp = ir_map_get(&nest->temps, target);
  size_t dropped = temp ? temp->dropped : 0;
  const ir_expr **indices = ir_new_array(nest->scratch, const ir_expr *, index->count);
  for (size_t i = dropped; i < index->count; i++) {
    indices[i - dropped] = ir_nest_import(nest, frame, store, ir_attr_as_expr(nest->context, index->items[i]));
  }
  ir_dtype dtype = ir_type_dtype(target->type);
  ir_nest_store(b, frame, temp ? temp->buffer : target, index->count - dropped, indices, ir_expr_cast(nest->context, value, dtype));
}
