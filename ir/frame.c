// SPDX-License-Identifier: Apache-2.0
/* ir/frame.c - operand lists of operations in the making. Needs ir/op. */
#include "ir/frame.h"

#include "base/vec.h"

uint32_t ir_frame_operand(ir_frame *frame, ir_value *value) {
  for (size_t i = 0; i < frame->count; i++) {
    if (frame->operands[i] == value) return (uint32_t)i;
  }
  ir_vec_reserve(frame->arena, (void **)&frame->operands, &frame->capacity, frame->count + 1, sizeof *frame->operands);
  frame->operands[frame->count] = value;
  return (uint32_t)frame->count++;
}

const ir_expr *ir_frame_use(ir_frame *frame, ir_value *scalar) {
  const ir_op *op = ir_value_op(scalar);
  if (op && (op->flags & IR_OP_INLINE)) return ir_frame_import(frame, op, ir_get_expr(op, "value"), NULL, NULL, NULL);
  return ir_expr_arg(frame->context, ir_frame_operand(frame, scalar), ir_type_dtype(scalar->type), scalar->type->lanes);
}

const ir_expr *ir_frame_load(ir_frame *frame, ir_value *buffer, size_t count, const ir_expr *const *indices) {
  const ir_type *type = buffer->type;
  return ir_expr_load(frame->context, ir_frame_operand(frame, buffer), ir_type_dtype(type), type->lanes, count, indices);
}

struct import {
  ir_frame *frame;
  const ir_op *from;
  const ir_map *values;
  ir_frame_map *map;
  void *user;
};

static const ir_expr *import(void *user, ir_context *context, const ir_expr *leaf) {
  (void)context;
  struct import *im = user;
  if (leaf->code == IR_S_SYMBOL) return leaf;
  ir_value *value = ir_op_operand(im->from, leaf->arg);
  ir_value *mapped = im->values ? ir_map_get(im->values, value) : NULL;
  if (mapped) value = mapped;
  const ir_expr *result = im->map ? im->map(im->user, im->frame, value, leaf) : NULL;
  if (result) return result;
  if (leaf->code == IR_S_LOAD) return ir_frame_load(im->frame, value, leaf->count, leaf->kids);
  return ir_frame_use(im->frame, value);
}

const ir_expr *ir_frame_import(ir_frame *frame, const ir_op *from, const ir_expr *expr, const ir_map *values,
                               ir_frame_map *map, void *user) {
  struct import im = {.frame = frame, .from = from, .values = values, .map = map, .user = user};
  return expr->has_args ? ir_expr_replace(frame->context, expr, import, &im) : expr;
}

struct take {
  const ir_frame *frame;
  ir_frame *own;
  uint32_t *map;
};

static void take_operand(void *user, const ir_expr *node) {
  struct take *t = user;
  if (node->code == IR_S_ARG || node->code == IR_S_LOAD) t->map[node->arg] = ir_frame_operand(t->own, t->frame->operands[node->arg]);
}

const ir_expr *ir_frame_take(ir_frame *own, const ir_frame *frame, const ir_expr *expr) {
  struct take t = {frame, own, ir_new_array(own->arena, uint32_t, frame->count)};
  ir_expr_walk(own->context, expr, take_operand, &t);
  return ir_expr_renumber(own->context, expr, t.map);
}
