// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/lanes.c - whether the rounds of a `for ... vectorize` can be lanes of vectors: what its body does to memory,
 * and which values differ between rounds. Emits nothing. */
#include "targets/llvm/llvm.h"

enum { LARGEST_PRIVATE = 16384 /* bytes of a body's own memory, times the lanes */, MOST_LANES = 64 };

struct analysis {
  ir_context *context;
  ir_arena arena;
  ir_map varying; /* ir_value of a scalar that differs between lanes */
  ir_map own;     /* buffers of the body: each lane has its own */
  emit_lanes_plan plan;
};

static bool value_varies(struct analysis *a, ir_value *value);

static bool expr_varies(struct analysis *a, const ir_op *op, const ir_expr *expr) {
  if (!expr->has_args) return false;
  if (expr->code == IR_S_ARG) return value_varies(a, ir_op_operand(op, expr->arg));
  if (expr->code == IR_S_LOAD && ir_map_has(&a->own, ir_op_operand(op, expr->arg))) return true;
  for (size_t i = 0; i < expr->count; i++) {
    if (expr_varies(a, op, expr->kids[i])) return true;
  }
  return false;
}

static const ir_expr *scalar_expr(struct analysis *a, const ir_op *op) {
  return ir_attr_as_expr(a->context, ir_get(op, "value"));
}

static bool value_varies(struct analysis *a, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE)) return expr_varies(a, op, scalar_expr(a, op));
  return ir_map_has(&a->varying, value);
}

/* Notes element types; false for vectors of the program and for a lane's own memory at an index that varies. */
static bool scan_expr(struct analysis *a, const ir_op *op, const ir_expr *expr) {
  if (expr->lanes > 1) return false;
  a->plan.size++;
  ir_dtype dtype = (ir_dtype)expr->dtype;
  bool computed = ir_is_float(dtype) || (dtype != IR_I64 && dtype != IR_BOOL);
  unsigned bytes = ir_dtypes[dtype].bits / 8;
  if (computed && bytes > a->plan.bytes) a->plan.bytes = bytes;
  bool own = expr->code == IR_S_LOAD && ir_map_has(&a->own, ir_op_operand(op, expr->arg));
  for (size_t i = 0; i < expr->count; i++) {
    if (!scan_expr(a, op, expr->kids[i])) return false;
    if (own && expr_varies(a, op, expr->kids[i])) return false;
  }
  if (expr->code != IR_S_ARG) return true;
  const ir_op *inner = ir_value_op(ir_op_operand(op, expr->arg));
  return !inner || !(inner->flags & IR_OP_INLINE) || scan_expr(a, inner, scalar_expr(a, inner));
}

static bool scan_value(struct analysis *a, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  return !op || !(op->flags & IR_OP_INLINE) || scan_expr(a, op, scalar_expr(a, op));
}

static bool scan_store(struct analysis *a, const ir_op *op) {
  const ir_attr *index = ir_get(op, "index")->items[0];
  ir_value *target = ir_op_operand(op, 0);
  if (target->type->lanes > 1 || !scan_expr(a, op, ir_get_expr_at(op, "args", 0))) return false;
  bool varies = false, own = ir_map_has(&a->own, target);
  for (size_t i = 0; i < index->count; i++) {
    const ir_expr *at = ir_attr_as_expr(a->context, index->items[i]);
    if (!scan_expr(a, op, at)) return false;
    varies |= expr_varies(a, op, at);
  }
  unsigned bytes = ir_dtypes[target->type->dtype].bits / 8;
  if (bytes > a->plan.bytes) a->plan.bytes = bytes;
  /* Rounds that write the same element are in no order: the loop stays as it is. */
  return own ? !varies : varies;
}

static bool scan_alloc(struct analysis *a, const ir_op *op) {
  const ir_type *type = ir_op_result(op, 0)->type;
  int64_t count, bytes;
  bool local = !strcmp(ir_get_word(op, "scope"), "local") && type->lanes == 1;
  if (!local || !ir_type_static_dims(type, NULL, &count)) return false;
  if (!ir_dtype_bytes(ir_type_dtype(type), count, &bytes) || bytes > LARGEST_PRIVATE / MOST_LANES) return false;
  ir_map_put(&a->arena, &a->own, ir_op_result(op, 0), a);
  return true;
}

static bool scan_region(struct analysis *a, const ir_region *region);

static bool scan_op(struct analysis *a, ir_op *op) {
  if (op->flags & IR_OP_INLINE) return true;
  switch ((int)op->code) {
  case IR_SCALAR: {
    const ir_expr *expr = scalar_expr(a, op);
    if (!scan_expr(a, op, expr)) return false;
    if (expr_varies(a, op, expr)) ir_map_put(&a->arena, &a->varying, ir_op_result(op, 0), a);
    return true;
  }
  case IR_STORE: return scan_store(a, op);
  case IR_ALLOC: return scan_alloc(a, op);
  case IR_FOR:
    a->plan.nested = true;
    return scan_value(a, ir_op_operand(op, 0)) && !value_varies(a, ir_op_operand(op, 0)) && scan_region(a, ir_op_region(op, 0));
  case IR_IF:
    for (size_t i = 0; i < op->region_count; i++) {
      if (!scan_region(a, ir_op_region(op, i))) return false;
    }
    return !op->result_count && scan_value(a, ir_op_operand(op, 0));
  default: return false;
  }
}

static bool scan_region(struct analysis *a, const ir_region *region) {
  ir_each_op(op, region) {
    if (!scan_op(a, op)) return false;
  }
  return true;
}

bool emit_plan_lanes(ir_op *loop, emit_lanes_plan *plan) {
  struct analysis a = {.context = ir_op_context(loop)};
  const ir_region *body = ir_op_region(loop, 0);
  ir_map_put(&a.arena, &a.varying, body->args[0], &a);
  bool fine = scan_region(&a, body);
  *plan = a.plan;
  ir_arena_free(&a.arena);
  return fine && plan->bytes;
}
