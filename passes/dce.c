// SPDX-License-Identifier: Apache-2.0
/* passes/dce.c - erase what nobody can see: unused pure operations, then private functions, reducers and resources
 * that nothing refers to. Needs nothing, keeps everything. */
#include "passes/pass.h"

#include "base/vec.h"

enum { OPERATIONS, FUNCTIONS, RESOURCES };

static bool erase_unused(void *user, ir_op *op) {
  ir_pass_run *run = user;
  if (!ir_is_unused(op) || !ir_op_is_removable(op) || ir_has(op, IR_TERMINATOR)) return true;
  ir_op_erase(op);
  ir_count(run, OPERATIONS);
  return true;
}

struct marking {
  ir_module *module;
  ir_arena *arena;
  ir_map live;
  ir_vec(ir_item *) work;
};

static void mark(struct marking *m, const ir_string *name) {
  ir_item *item = ir_module_find(m->module, name);
  if (!item || ir_map_has(&m->live, item)) return;
  ir_map_put(m->arena, &m->live, item, item);
  *ir_push(m->arena, &m->work) = item;
}

static void mark_attr(struct marking *m, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_GLOBAL) mark(m, attr->string);
  size_t items = attr->kind == IR_ATTR_LIST ? attr->count : attr->kind == IR_ATTR_DICT ? 2 * (size_t)attr->count : 0;
  for (size_t i = 0; i < items; i++) mark_attr(m, attr->items[i]);
}

static void mark_type(struct marking *m, const ir_type *type) {
  if (type->device) mark(m, type->device);
  if (type->kind != IR_TYPE_TUPLE && type->kind != IR_TYPE_FUNC) return;
  for (size_t i = 0; i < (size_t)type->count + type->result_count; i++) mark_type(m, type->items[i]);
}

static bool mark_op(void *user, ir_op *op) {
  struct marking *m = user;
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) mark_attr(m, ir_op_slots(op)[i]);
  mark_attr(m, ir_op_dict(op));
  for (size_t i = 0; i < op->result_count; i++) mark_type(m, ir_op_result(op, i)->type);
  return true;
}

static void mark_item(struct marking *m, ir_item *item) {
  mark_attr(m, item->attrs);
  ir_func *func = ir_item_func(item);
  if (!func) return;
  for (size_t i = 0; i < func->param_count; i++) {
    mark_attr(m, func->params[i].attrs);
    mark_type(m, func->params[i].type);
  }
  for (size_t i = 0; i < func->result_count; i++) mark_type(m, func->results[i]);
  if (func->body) ir_walk(func->body, IR_PRE_ORDER, mark_op, m);
}

/* Reducers and resources are only ever named from inside; functions are visible unless they are private; a device may
 * be what a host asks for. */
static bool is_root(const ir_item *item) {
  if (item->kind == IR_ITEM_DEVICE) return true;
  bool function = item->kind == IR_ITEM_FUNC || item->kind == IR_ITEM_PRIM_FUNC;
  return function && !(item->flags & IR_ITEM_PRIVATE);
}

static void remove_unreachable(ir_pass_run *run) {
  struct marking m = {.module = run->module, .arena = run->scratch};
  mark_attr(&m, run->module->attrs);
  ir_each_item(item, run->module) {
    if (is_root(item)) mark(&m, item->name);
  }
  for (size_t i = 0; i < m.work.count; i++) mark_item(&m, m.work.at[i]);
  ir_each_item(item, run->module) {
    if (ir_map_has(&m.live, item)) continue;
    ir_count(run, item->kind == IR_ITEM_RESOURCE ? RESOURCES : FUNCTIONS);
    ir_module_remove(run->module, item);
  }
}

static bool dce(ir_pass_run *run) {
  ir_each_body(func, run->module) ir_walk(func->body, IR_POST_ORDER, erase_unused, run);
  remove_unreachable(run);
  return run->stats[OPERATIONS] + run->stats[FUNCTIONS] + run->stats[RESOURCES] > 0;
}

const ir_pass ir_pass_dce = {
    .name = "dce",
    .doc = "Erase pure operations whose results are unused, and private items that nothing refers to.",
    .run = dce,
    .stats = STATS({"erased", "operations erased"}, {"functions", "private functions and reducers removed"},
                   {"resources", "resources removed"}),
};
