// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/copy.c - copies of loop form. Needs ir/frame, passes/schedule/nest. */
#include "passes/schedule/copy.h"

static bool can(void *user, ir_op *op) {
  const char **problem = user;
  const char *why = NULL;
  if (op->flags & IR_OP_HAS_DICT) why = "an operation in it has attributes of its own (with)";
  switch ((int)op->code) {
  case IR_SCALAR:
  case IR_ALLOC:
  case IR_STORE:
  case IR_WHILE:
  case IR_ASSERT:
  case IR_BARRIER: break;
  case IR_FOR:
  case IR_IF:
    if (op->result_count) why = "something in it has results";
    break;
  default: why = "it holds more than loops, conditions, scalars, memory, stores and assertions";
  }
  if (why) *problem = why;
  return !why;
}

bool ir_copy_can(ir_region *region, const char **problem) { return ir_walk(region, IR_PRE_ORDER, can, problem); }

static const ir_expr *map_load(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  const ir_copy *c = user;
  if (leaf->code != IR_S_LOAD) return NULL;
  ir_value *wide = ir_map_get(&c->wide, value), *narrow = ir_map_get(&c->narrow, value);
  if (narrow) return ir_frame_load(frame, narrow, leaf->count - 1u, leaf->kids + 1);
  if (!wide) return NULL;
  const ir_expr **indices = ir_new_array(c->nest.scratch, const ir_expr *, leaf->count + 1u);
  indices[0] = ir_frame_use(frame, c->round);
  for (size_t i = 0; i < leaf->count; i++) indices[i + 1] = leaf->kids[i];
  return ir_frame_load(frame, wide, leaf->count + 1u, indices);
}

const ir_expr *ir_copy_expr(ir_copy *c, ir_frame *frame, const ir_op *op, const ir_expr *expr) {
  return ir_frame_import(frame, op, expr, &c->nest.values, map_load, c);
}

ir_value *ir_copy_operand(ir_copy *c, ir_builder *b, ir_value *value) {
  ir_value *mapped = ir_map_get(&c->nest.values, value);
  if (mapped) value = mapped;
  const ir_op *op = ir_value_op(value);
  if (!op || !(op->flags & IR_OP_INLINE)) return value;
  ir_frame frame = ir_nest_frame(&c->nest);
  const ir_expr *expr = mapped ? ir_frame_use(&frame, mapped) : ir_copy_expr(c, &frame, op, ir_get_expr(op, "value"));
  return ir_nest_scalar(b, &frame, expr);
}

static void copy_store(ir_copy *c, ir_builder *b, const ir_op *op) {
  ir_frame frame = ir_nest_frame(&c->nest);
  const ir_attr *index = ir_get(op, "index")->items[0];
  ir_value *target = ir_op_operand(op, 0), *wide = ir_map_get(&c->wide, target);
  ir_value *mapped = ir_map_get(&c->nest.values, target), *narrow = ir_map_get(&c->narrow, target);
  const ir_expr **indices = ir_new_array(c->nest.scratch, const ir_expr *, index->count + 1);
  size_t count = 0;
  if (wide) indices[count++] = ir_frame_use(&frame, c->round);
  for (size_t i = narrow ? 1 : 0; i < index->count; i++) {
    indices[count++] = ir_copy_expr(c, &frame, op, ir_attr_as_expr(c->nest.context, index->items[i]));
  }
  const ir_expr *value = ir_copy_expr(c, &frame, op, ir_get_expr_at(op, "args", 0));
  ir_nest_store(b, &frame, wide ? wide : narrow ? narrow : mapped ? mapped : target, count, indices, value);
}

ir_region *ir_copy_for(ir_copy *c, ir_builder *b, ir_op *loop) {
  const ir_value *old = ir_op_region(loop, 0)->args[0];
  ir_region *region = ir_region_new(c->nest.module, b->region->func, 1);
  ir_map_put(c->nest.scratch, &c->nest.values, old, ir_region_set_arg(region, 0, old->type, old->name));
  ir_value *extent = ir_copy_operand(c, b, ir_op_operand(loop, 0));
  ir_build_with(b, IR_FOR, &extent, 1, IR_SET({"mode", ir_get(loop, "mode")}, {"factor", ir_get(loop, "factor")}, {"axis", ir_get(loop, "axis")}),
                &region, 1, NULL, 0);
  return region;
}

ir_op *ir_copy_if(ir_copy *c, ir_builder *b, ir_op *branch) {
  ir_region **regions = ir_new_array(c->nest.scratch, ir_region *, branch->region_count);
  for (size_t i = 0; i < branch->region_count; i++) regions[i] = ir_region_new(c->nest.module, b->region->func, 0);
  ir_value *condition = ir_copy_operand(c, b, ir_op_operand(branch, 0));
  return ir_build_with(b, IR_IF, &condition, 1, IR_NO_ATTRS, regions, branch->region_count, NULL, 0);
}

static void copy_while(ir_copy *c, ir_builder *b, ir_op *op) {
  ir_frame frame = ir_nest_frame(&c->nest);
  ir_region *region = ir_region_new(c->nest.module, b->region->func, 0);
  const ir_expr *condition = ir_copy_expr(c, &frame, op, ir_get_expr(op, "condition"));
  ir_build_with(b, IR_WHILE, frame.operands, frame.count, IR_SET({"condition", ir_attr_expr(c->nest.context, condition)}), &region, 1, NULL, 0);
  ir_copy_region(c, ir_at_end(region), ir_op_region(op, 0));
}

void ir_copy_op(ir_copy *c, ir_builder *b, ir_op *op) {
  if (op->flags & IR_OP_INLINE) return;
  b->range = op->range;
  b->loc = ir_op_loc(op);
  if (ir_is(op, IR_STORE)) {
    copy_store(c, b, op);
  } else if (ir_is(op, IR_SCALAR)) {
    ir_frame frame = ir_nest_frame(&c->nest);
    const ir_expr *expr = ir_copy_expr(c, &frame, op, ir_get_expr(op, "value"));
    const ir_string *name = ir_op_result(op, 0)->name;
    ir_map_put(c->nest.scratch, &c->nest.values, ir_op_result(op, 0), ir_nest_let(b, &frame, name ? name->text : NULL, expr));
  } else if (ir_is(op, IR_FOR)) {
    ir_region *region = ir_copy_for(c, b, op);
    ir_copy_region(c, ir_at_end(region), ir_op_region(op, 0));
  } else if (ir_is(op, IR_IF)) {
    ir_op *branch = ir_copy_if(c, b, op);
    for (size_t i = 0; i < op->region_count; i++) ir_copy_region(c, ir_at_end(ir_op_region(branch, i)), ir_op_region(op, i));
  } else if (ir_is(op, IR_WHILE)) {
    copy_while(c, b, op);
  } else if (ir_is(op, IR_ASSERT)) {
    ir_value *condition = ir_copy_operand(c, b, ir_op_operand(op, 0));
    ir_build_with(b, IR_ASSERT, &condition, 1, IR_SET({"message", ir_get(op, "message")}), NULL, 0, NULL, 0);
  } else {
    ir_op_clone(op, b->region, b->before, c->nest.scratch, &c->nest.values);
  }
}

void ir_copy_region(ir_copy *c, ir_builder b, ir_region *region) {
  ir_each_op(op, region) ir_copy_op(c, &b, op);
}
