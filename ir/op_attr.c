// SPDX-License-Identifier: Apache-2.0
/* ir/op_attr.c - attributes of operations by name, `with` and `loc`. Needs ir/op, ir/module. */
#include "ir/module.h"

int ir_attr_index(const ir_op_def *row, const char *name) {
  for (int i = 0; i < row->attr_count; i++) {
    if (!strcmp(row->attrs[i].name, name)) return i;
  }
  return -1;
}

const ir_attr *ir_op_attr(ir_context *context, const ir_op *op, size_t slot) {
  const ir_attr *value = ir_op_slots(op)[slot];
  return value ? value : ir_op_default(context, (ir_opcode)op->code, slot);
}

const ir_attr *ir_get(const ir_op *op, const char *name) {
  int slot = ir_attr_index(ir_op_row(op), name);
  if (slot < 0) return NULL;
  const ir_attr *value = ir_op_slots(op)[slot];
  return value ? value : ir_op_default(ir_op_context(op), (ir_opcode)op->code, (size_t)slot);
}

void ir_set(ir_op *op, const char *name, const ir_attr *value) {
  int slot = ir_attr_index(ir_op_row(op), name);
  if (slot < 0) return;
  bool is_default = value && value == ir_op_default(ir_op_context(op), (ir_opcode)op->code, (size_t)slot);
  ir_op_slots(op)[slot] = is_default ? NULL : value;
}

int64_t ir_get_int(const ir_op *op, const char *name) {
  const ir_attr *attr = ir_get(op, name);
  return attr && attr->kind == IR_ATTR_INT ? attr->i : 0;
}

bool ir_get_bool(const ir_op *op, const char *name) {
  const ir_attr *attr = ir_get(op, name);
  return attr && attr->kind == IR_ATTR_BOOL && attr->i;
}

double ir_get_float(const ir_op *op, const char *name) {
  const ir_attr *attr = ir_get(op, name);
  return attr && attr->kind == IR_ATTR_FLOAT ? attr->f : attr && attr->kind == IR_ATTR_INT ? (double)attr->i : 0.0;
}

const ir_expr *ir_get_number(const ir_op *op, const char *name, ir_dtype dtype) {
  const ir_attr *attr = ir_get(op, name);
  bool number = attr && (attr->kind == IR_ATTR_FLOAT || attr->kind == IR_ATTR_INT);
  return number ? ir_attr_as_number(ir_op_context(op), attr, dtype) : NULL;
}

const char *ir_get_word(const ir_op *op, const char *name) {
  const ir_attr *attr = ir_get(op, name);
  bool word = attr && (attr->kind == IR_ATTR_STRING || attr->kind == IR_ATTR_ID || attr->kind == IR_ATTR_GLOBAL);
  return word ? attr->string->text : "";
}

ir_dtype ir_get_dtype(const ir_op *op, const char *name) {
  const ir_attr *attr = ir_get(op, name);
  return attr && attr->kind == IR_ATTR_TYPE ? ir_type_dtype(attr->type) : IR_DTYPE_UNKNOWN;
}

const ir_expr *ir_get_expr(const ir_op *op, const char *name) {
  const ir_attr *attr = ir_get(op, name);
  return attr ? ir_attr_as_expr(ir_op_context(op), attr) : NULL;
}

size_t ir_get_count(const ir_op *op, const char *name) {
  const ir_attr *attr = ir_get(op, name);
  return attr && attr->kind == IR_ATTR_LIST ? attr->count : 0;
}

int64_t ir_get_int_at(const ir_op *op, const char *name, size_t i) {
  const ir_attr *attr = ir_get(op, name);
  return attr && attr->kind == IR_ATTR_LIST && i < attr->count ? attr->items[i]->i : 0;
}

const ir_expr *ir_get_expr_at(const ir_op *op, const char *name, size_t i) {
  const ir_attr *attr = ir_get(op, name);
  return attr && attr->kind == IR_ATTR_LIST && i < attr->count ? ir_attr_as_expr(ir_op_context(op), attr->items[i]) : NULL;
}

const ir_attr *ir_op_dict(const ir_op *op) {
  return op->flags & IR_OP_HAS_DICT ? ir_map_get(&ir_op_module(op)->op_dicts, op) : NULL;
}

static void set_side(ir_op *op, ir_map *map, uint16_t flag, const ir_attr *attr) {
  ir_module *module = ir_op_module(op);
  if (attr) {
    ir_map_put(&module->arena, map, op, (void *)(uintptr_t)attr);
    op->flags |= flag;
  } else if (op->flags & flag) {
    ir_map_remove(map, op);
    op->flags &= (uint16_t)~flag;
  }
}

void ir_op_set_dict(ir_op *op, const ir_attr *dict) { set_side(op, &ir_op_module(op)->op_dicts, IR_OP_HAS_DICT, dict); }

const ir_attr *ir_op_loc(const ir_op *op) {
  return op->flags & IR_OP_HAS_LOC ? ir_map_get(&ir_op_module(op)->op_locs, op) : NULL;
}

void ir_op_set_loc(ir_op *op, const ir_attr *loc) { set_side(op, &ir_op_module(op)->op_locs, IR_OP_HAS_LOC, loc); }
