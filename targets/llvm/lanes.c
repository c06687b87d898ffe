// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/lanes.c - whether the rounds of a `for ... vectorize` can be lanes of vectors: what its body does to memory,
 * and which values differ between rounds. Emits nothing. */
#include "targets/llvm/llvm.h"

enum { LARGEST_PRIVATE = 16384 /* bytes of a body's own memory, times the lanes */, MOST_LANES = 64 };

struct analysis {
  ir_context *context;
  ir_arena arena;
  ir_map varying; /* ir_value of a scalar that differs between lanes -> how */
  ir_map own;     /* buffers of the body: each lane has its own */
  ir_map varied, scanned; /* ir_op -> a map of what is known of its expressions: equal parts are looked at once */
  emit_lanes_plan plan;
};

/* How a value differs between lanes: not at all, by 1 from each to the next, otherwise. */
typedef enum variation { SAME, NEXT, OTHER } variation;

static variation value_variation(struct analysis *a, ir_value *value);

/* The entry of EXPR of OP in KNOWN. */
static void **entry_of(struct analysis *a, ir_map *known, const ir_op *op, const ir_expr *expr) {
  void **slot = ir_map_slot(&a->arena, known, op);
  if (!*slot) *slot = ir_new(&a->arena, ir_map);
  return ir_map_slot(&a->arena, *slot, expr);
}

static variation find_variation(struct analysis *a, const ir_op *op, const ir_expr *expr);

static variation expr_variation(struct analysis *a, const ir_op *op, const ir_expr *expr) {
  if (!expr->has_args) return SAME;
  void *known = *entry_of(a, &a->varied, op, expr);
  if (known) return (variation)((uintptr_t)known - 1);
  variation found = find_variation(a, op, expr);
  *entry_of(a, &a->varied, op, expr) = (void *)((uintptr_t)found + 1);
  return found;
}

static variation find_variation(struct analysis *a, const ir_op *op, const ir_expr *expr) {
  if (expr->code == IR_S_ARG) return value_variation(a, ir_op_operand(op, expr->arg));
  if (expr->code == IR_S_LOAD && ir_map_has(&a->own, ir_op_operand(op, expr->arg))) return OTHER;
  variation found = SAME;
  for (size_t i = 0; i < expr->count; i++) {
    variation kid = expr_variation(a, op, expr->kids[i]);
    if (kid == SAME) continue;
    bool sum = expr->code == IR_S_ADD || (expr->code == IR_S_SUB && i == 0);
    found = sum && kid == NEXT && found == SAME ? NEXT : OTHER;
  }
  return found;
}

static bool expr_varies(struct analysis *a, const ir_op *op, const ir_expr *expr) { return expr_variation(a, op, expr) != SAME; }

static const ir_expr *scalar_expr(struct analysis *a, const ir_op *op) {
  return ir_attr_as_expr(a->context, ir_get(op, "value"));
}

static variation value_variation(struct analysis *a, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE)) return expr_variation(a, op, scalar_expr(a, op));
  return (variation)(uintptr_t)ir_map_get(&a->varying, value);
}

static void set_variation(struct analysis *a, const ir_value *value, variation how) {
  if (how != SAME) ir_map_put(&a->arena, &a->varying, value, (void *)(uintptr_t)how);
}

/* What an access to memory around the loop is under a mask. */
static void note_access(struct analysis *a, const ir_op *op, const ir_type *type, size_t count, const ir_expr *const *index) {
  variation whole = SAME;
  for (size_t i = 0; i < count; i++) {
    variation how = expr_variation(a, op, index[i]);
    if (how != SAME) whole = how == NEXT && i + 1 == count && whole == SAME ? NEXT : OTHER;
  }
  a->plan.awkward |= whole == OTHER || (whole == NEXT && ir_dtypes[type->dtype].bits < 32);
}

/* Notes element types; false for vectors of the program and for a lane's own memory at an index that varies. */
static bool scan_expr(struct analysis *a, const ir_op *op, const ir_expr *expr) {
  if (expr->lanes > 1) return false;
  void **seen = entry_of(a, &a->scanned, op, expr);
  if (*seen) return true;
  *seen = a;
  a->plan.size++;
  ir_dtype dtype = (ir_dtype)expr->dtype;
  bool computed = ir_is_float(dtype) || (dtype != IR_I64 && dtype != IR_BOOL);
  unsigned bytes = emit_size(dtype);
  if (computed && bytes > a->plan.bytes) a->plan.bytes = bytes;
  bool own = expr->code == IR_S_LOAD && ir_map_has(&a->own, ir_op_operand(op, expr->arg));
  for (size_t i = 0; i < expr->count; i++) {
    if (!scan_expr(a, op, expr->kids[i])) return false;
    if (own && expr_varies(a, op, expr->kids[i])) return false;
  }
  if (expr->code == IR_S_LOAD && !own) note_access(a, op, ir_op_operand(op, expr->arg)->type, expr->count, expr->kids);
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
  const ir_expr **at = ir_new_array(&a->arena, const ir_expr *, index->count);
  for (size_t i = 0; i < index->count; i++) {
    at[i] = ir_attr_as_expr(a->context, index->items[i]);
    if (!scan_expr(a, op, at[i])) return false;
    varies |= expr_varies(a, op, at[i]);
  }
  /* Neighbours share a byte, which is read, changed and written back. */
  if (!own && emit_is_packed(ir_type_dtype(target->type))) return false;
  if (!own) note_access(a, op, target->type, index->count, at);
  unsigned bytes = emit_size(ir_type_dtype(target->type));
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
    set_variation(a, ir_op_result(op, 0), expr_variation(a, op, expr));
    return true;
  }
  case IR_STORE: return scan_store(a, op);
  case IR_ALLOC: return scan_alloc(a, op);
  case IR_FOR:
    a->plan.nested = true;
    return scan_value(a, ir_op_operand(op, 0)) && value_variation(a, ir_op_operand(op, 0)) == SAME && scan_region(a, ir_op_region(op, 0));
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
  set_variation(&a, body->args[0], NEXT);
  bool fine = scan_region(&a, body);
  *plan = a.plan;
  ir_arena_free(&a.arena);
  return fine && plan->bytes;
}
