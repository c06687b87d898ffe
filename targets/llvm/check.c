// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/check.c - whether a prim_func is in loop form and holds nothing that the target cannot do. What passes here
 * is emitted without further errors. */
#include "targets/llvm/llvm.h"

#include "ir/print.h"
#include "targets/kernel.h"

enum { MOST_LANES = 256 };

struct check {
  ir_context *context;
  ir_func *func;
  const ir_op *op;
  bool failed;
};

__attribute__((format(printf, 3, 4))) static bool fail(struct check *c, const ir_op *op, const char *format, ...) {
  if (c->failed) return false;
  c->failed = true;
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_range range = op && op->range.begin ? op->range : c->func->item.range;
  ir_error(c->context->diags, range, "the llvm target cannot %s", text.at);
  ir_text_free(&text);
  return false;
}

static bool lanes_fit(struct check *c, const ir_op *op, unsigned lanes) {
  if (lanes > MOST_LANES) return fail(c, op, "compute with vectors of %u lanes: at most %d", lanes, MOST_LANES);
  return true;
}

static void check_node(void *user, const ir_expr *node) {
  struct check *c = user;
  if (!lanes_fit(c, c->op, node->lanes) || node->code != IR_S_LOAD) return;
  for (size_t i = 0; i < node->count; i++) {
    bool vector = node->kids[i]->lanes > 1, last = i + 1 == node->count;
    if (vector && !last) fail(c, c->op, "load with a vector as an index that is not the last");
    if (vector && ir_op_operand(c->op, node->arg)->type->lanes > 1) fail(c, c->op, "load several vectors at once");
  }
}

static void check_attr(struct check *c, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(c->context, attr->expr, check_node, c);
  if (attr->kind != IR_ATTR_LIST) return;
  for (size_t i = 0; i < attr->count; i++) check_attr(c, attr->items[i]);
}

static bool check_type(struct check *c, const ir_op *op, const ir_type *type) {
  if (!ir_is_tensor(type) && !ir_is_scalar(type)) return fail(c, op, "use a value of this type in a prim_func");
  if (!lanes_fit(c, op, type->lanes)) return false;
  if (ir_is_tensor(type) && type->lanes > 1 && emit_is_packed(ir_type_dtype(type)))
    return fail(c, op, "hold vectors of %s in a buffer: not implemented on llvm", ir_dtype_name(ir_type_dtype(type)));
  if (ir_is_tensor(type) && !type->ranked) return fail(c, op, "use a buffer of unknown rank");
  for (size_t i = 0; i < (ir_is_tensor(type) ? type->count : 0); i++) {
    if (!ir_type_dim(type, i)) return fail(c, op, "use a buffer of unknown extent");
  }
  return true;
}

static bool check_store(struct check *c, const ir_op *op) {
  bool reduces = ir_has_attr(op, "reducer") || ir_has_attr(op, "user_reducer") || ir_get_int(op, "targets") != 1;
  return reduces ? fail(c, op, "run a reduction outside of loops: run the pass schedule") : true;
}

static bool check_for(struct check *c, const ir_op *op) {
  if (strcmp(ir_get_word(op, "mode"), "bind")) return true;
  return fail(c, op, "run a loop bound to '%s': the function is scheduled for another target", ir_get_word(op, "axis"));
}

static bool check_op(struct check *c, const ir_op *op) {
  switch ((int)op->code) {
  case IR_SCALAR:
  case IR_WHILE:
  case IR_ASSERT:
  case IR_ATOMIC_ADD:
  case IR_ATOMIC_MAX:
  case IR_ATOMIC_MIN: return true;
  case IR_IF: return op->result_count ? fail(c, op, "run an 'if' with results in a prim_func") : true;
  case IR_STORE: return check_store(c, op);
  case IR_FOR: return check_for(c, op);
  case IR_ALLOC:
    if (strcmp(ir_get_word(op, "scope"), "shared")) return true;
    return fail(c, op, "hold 'shared' memory: the function is scheduled for another target");
  case IR_COMPUTE: return fail(c, op, "run a compute nest: run the pass schedule");
  case IR_BARRIER: return fail(c, op, "run a barrier: the function is scheduled for another target");
  default: return fail(c, op, "run '%s' in a prim_func", ir_op_row(op)->name);
  }
}

static bool visit(void *user, ir_op *op) {
  struct check *c = user;
  c->op = op;
  if (!check_op(c, op)) return false;
  for (size_t i = 0; i < op->result_count; i++) {
    if (!check_type(c, op, ir_op_result(op, i)->type)) return false;
  }
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) check_attr(c, ir_op_slots(op)[i]);
  return !c->failed;
}

bool emit_check_prim(ir_func *func) {
  if (!ir_steps_are_taken(func, "llvm")) return false;
  struct check c = {.context = ir_func_context(func), .func = func};
  for (size_t i = 0; i < func->param_count; i++) {
    if (!check_type(&c, NULL, func->params[i].type)) return false;
  }
  ir_walk(func->body, IR_PRE_ORDER, visit, &c);
  return !c.failed;
}
