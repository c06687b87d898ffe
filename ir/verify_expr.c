// SPDX-License-Identifier: Apache-2.0
/* ir/verify_expr.c - expressions, types and attributes. Part of the verifier. */
#include "ir/print.h"
#include "ir/verifier.h"

struct checking {
  ir_verifier *v;
  ir_range range;
  const ir_op *op;
  const char *what;
  bool sound;
};

static void problem(struct checking *c, const char *text) {
  if (c->sound && c->op) ir_verify_fail_op(c->v, c->op, "%s: %s", c->what, text);
  if (c->sound && !c->op) ir_verify_fail(c->v, c->range, "%s: %s", c->what, text);
  c->sound = false;
}

static void check_arg(struct checking *c, const ir_expr *node) {
  ir_arena *arena = &c->v->arena;
  const ir_value *operand = c->op && node->arg < c->op->operand_count ? ir_op_operand(c->op, node->arg) : NULL;
  const ir_type *type = operand ? operand->type : NULL;
  if (!type) {
    problem(c, ir_arena_printf(arena, "it speaks of operand %u, which is not there", node->arg));
    return;
  }
  bool fits = ir_is_scalar(type) && type->dtype == node->dtype && type->lanes == node->lanes;
  if (!fits) problem(c, ir_arena_printf(arena, "operand %u of type %s is used as another scalar", node->arg, ir_type_text(arena, type)));
}

static void check_load(struct checking *c, const ir_expr *node) {
  ir_arena *arena = &c->v->arena;
  const ir_value *operand = c->op && node->arg < c->op->operand_count ? ir_op_operand(c->op, node->arg) : NULL;
  const ir_type *type = operand ? operand->type : NULL;
  if (!type || !ir_is_tensor(type)) {
    problem(c, ir_arena_printf(arena, "it loads from operand %u, which is no buffer", node->arg));
    return;
  }
  if (c->v->func && c->v->func->item.kind != IR_ITEM_PRIM_FUNC) {
    problem(c, "elements of tensors can be read in a prim_func only");
    return;
  }
  const char *text = ir_type_text(arena, type);
  if (!type->ranked || type->count != node->count) {
    problem(c, ir_arena_printf(arena, "%u indices into a buffer of type %s", node->count, text));
    return;
  }
  unsigned lanes = type->lanes;
  for (size_t i = 0; i < node->count; i++) {
    const ir_expr *index = node->kids[i];
    bool ramp = index->lanes > 1;
    if (ramp) lanes = index->lanes;
    if (index->dtype != IR_I64) problem(c, ir_arena_printf(arena, "index %zu has dtype %s, expected i64", i, ir_dtype_name((ir_dtype)index->dtype)));
    if (ramp && (i + 1 < node->count || index->code != IR_S_RAMP || type->lanes > 1)) {
      problem(c, ir_arena_printf(arena, "a vector of indices into a buffer of type %s", text));
    }
  }
  if (type->dtype != node->dtype || lanes != node->lanes) problem(c, ir_arena_printf(arena, "a load of another type than %s", text));
}

static void check_convert(struct checking *c, const ir_expr *node) {
  const ir_expr *kid = node->kids[0];
  unsigned from = ir_dtypes[kid->dtype].bits * kid->lanes, to = ir_dtypes[node->dtype].bits * node->lanes;
  switch (node->code) {
  case IR_S_CAST:
    if (kid->lanes != node->lanes) problem(c, "a cast changes the width of a vector");
    return;
  case IR_S_BITCAST:
    if (from != to || kid->lanes != node->lanes) problem(c, "a bitcast changes the number of bits");
    return;
  case IR_S_BROADCAST:
    if (kid->lanes != 1 || kid->dtype != node->dtype) problem(c, "a broadcast of something else than one element");
    return;
  case IR_S_RAMP:
    if (kid->lanes != 1 || kid->dtype != IR_I64 || node->dtype != IR_I64) problem(c, "a range of indices that is not i64");
    return;
  }
}

static void check_node(void *user, const ir_expr *node) {
  struct checking *c = user;
  if (!c->sound) return;
  if (node->code >= IR_S_COUNT || node->dtype >= IR_DTYPE_COUNT || !node->lanes) {
    problem(c, "a broken expression");
    return;
  }
  const char *why;
  switch (node->code) {
  case IR_S_CONST: return;
  case IR_S_SYMBOL:
    if (ir_verify_sees_symbol(c->v, node)) return;
    problem(c, ir_arena_printf(&c->v->arena, "no symbol '%s' here", node->symbol->text));
    return;
  case IR_S_ARG: check_arg(c, node); return;
  case IR_S_LOAD: check_load(c, node); return;
  case IR_S_CAST:
  case IR_S_BITCAST:
  case IR_S_BROADCAST:
  case IR_S_RAMP:
    if (node->count != 1) problem(c, "a conversion of another number of operands than 1");
    if (node->count == 1) check_convert(c, node);
    return;
  }
  if (ir_expr_check((ir_scalar_code)node->code, node->count, node->kids, &why)) return;
  problem(c, ir_arena_printf(&c->v->arena, "'%s' expects %s", ir_scalars[node->code].name, why));
}

/* Inline operands print inside the expression. */
static size_t printed_size(const ir_op *op, const ir_expr *expr) {
  size_t size = expr->size;
  for (size_t i = 0; op && i < op->operand_count; i++) {
    const ir_value *operand = ir_op_operand(op, i);
    const ir_op *def = operand ? ir_value_op(operand) : NULL;
    const ir_expr *inner = def && (def->flags & IR_OP_INLINE) ? ir_value_expr(operand) : NULL;
    if (inner && expr->has_args) size += inner->size;
  }
  return size;
}

bool ir_verify_expr(ir_verifier *v, ir_range range, const ir_op *op, const char *what, const ir_expr *expr) {
  struct checking c = {v, range, op, what, true};
  size_t size = printed_size(op, expr);
  if (size > IR_EXPR_MAX_SIZE) {
    problem(&c, ir_arena_printf(&v->arena, "an expression of %zu nodes, expected at most %d: bind its parts to names", size, IR_EXPR_MAX_SIZE));
    return false;
  }
  if (!expr->count) {
    check_node(&c, expr);
  } else {
    ir_expr_walk(v->context, expr, check_node, &c);
  }
  return c.sound;
}

bool ir_verify_condition(ir_verifier *v, ir_range range, const ir_op *op, const char *what, const ir_expr *expr) {
  if (!ir_verify_expr(v, range, op, what, expr)) return false;
  if (expr->dtype == IR_BOOL && expr->lanes == 1) return true;
  struct checking c = {v, range, op, what, true};
  problem(&c, ir_arena_printf(&v->arena, "the condition has dtype %s, expected bool", ir_dtype_name((ir_dtype)expr->dtype)));
  return false;
}

static bool check_dim(ir_verifier *v, ir_range range, const char *what, size_t axis, const ir_expr *dim) {
  int64_t extent;
  if (dim->dtype != IR_I64 || dim->lanes != 1 || dim->has_args) {
    return ir_verify_fail(v, range, "%s: extent %zu is not an i64 expression over symbols", what, axis);
  }
  if (ir_expr_is_int(dim, &extent) && extent < 0) {
    return ir_verify_fail(v, range, "%s: extent %zu is %lld", what, axis, (long long)extent);
  }
  if (dim->code == IR_S_CONST || (dim->code == IR_S_SYMBOL && ir_verify_sees_symbol(v, dim))) return true;
  return ir_verify_expr(v, range, NULL, ir_arena_printf(&v->arena, "%s, extent %zu", what, axis), dim);
}

static bool check_device(ir_verifier *v, ir_range range, const char *what, const ir_string *device) {
  const ir_item *item = ir_module_find(v->module, device);
  if (item && item->kind == IR_ITEM_DEVICE) return true;
  return ir_verify_fail(v, range, "%s: no device '@%s'", what, device->text);
}

bool ir_verify_type(ir_verifier *v, ir_range range, const char *what, const ir_type *type) {
  bool sound = true;
  if (type->device) sound = check_device(v, range, what, type->device);
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  ir_verify_place mark = ir_verify_mark(v);
  if (type->kind == IR_TYPE_FUNC) {
    for (size_t i = 0; i < type->count; i++) ir_verify_bind_type(v, ir_type_field(type, i));
  }
  for (size_t i = 0; i < (size_t)type->count + type->result_count; i++) {
    const void *item = type->items[i];
    if (!item && !shaped) sound = ir_verify_fail(v, range, "%s: a part of its type is missing", what);
    if (!item) continue;
    sound &= shaped ? check_dim(v, range, what, i, item) : ir_verify_type(v, range, what, item);
  }
  ir_verify_leave(v, mark);
  return sound;
}

bool ir_verify_attr(ir_verifier *v, ir_range range, const ir_op *op, const char *what, const ir_attr *attr) {
  bool sound = true;
  switch (attr->kind) {
  case IR_ATTR_NONE:
  case IR_ATTR_BOOL:
  case IR_ATTR_INT:
  case IR_ATTR_FLOAT:
  case IR_ATTR_STRING:
  case IR_ATTR_ID:
  case IR_ATTR_DATA: return true;
  case IR_ATTR_GLOBAL:
    return ir_module_find(v->module, attr->string) || ir_verify_fail(v, range, "%s: there is no item '@%s'", what, attr->string->text);
  case IR_ATTR_TYPE: return ir_verify_type(v, range, what, attr->type);
  case IR_ATTR_EXPR: return ir_verify_expr(v, range, op, what, attr->expr);
  case IR_ATTR_LIST:
    for (size_t i = 0; i < attr->count; i++) sound &= ir_verify_attr(v, range, op, what, attr->items[i]);
    return sound;
  case IR_ATTR_DICT:
    for (size_t i = 0; i < attr->count; i++) sound &= ir_verify_attr(v, range, op, ir_arena_printf(&v->arena, "%s: '%s'", what, attr->items[2 * i]->string->text), attr->items[2 * i + 1]);
    return sound;
  }
  return false;
}
