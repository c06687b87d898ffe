// SPDX-License-Identifier: Apache-2.0
/* passes/annotate_op_pattern.c - say of each prim_func how it may be fused: `with {pattern="elementwise"}`. The rules
 * are those of Relax's AnnotateTIROpPattern; a pattern that is written already stays. Needs compute form. */
#include "passes/pattern.h"

#include "base/vec.h"
#include "ir/reduction.h"
#include "passes/pass.h"

enum { ANNOTATED };

static const char *const names[] = {"elementwise", "broadcast", "injective", "reduction", "out-fusable", "opaque"};

const char *ir_pattern_name(ir_op_pattern pattern) { return names[pattern]; }

ir_op_pattern ir_pattern_annotated(const ir_func *func) {
  const ir_attr *attr = ir_dict_get(func->item.attrs, "pattern");
  for (size_t i = 0; attr && attr->kind == IR_ATTR_STRING && i < ir_count_of(names); i++) {
    if (!strcmp(attr->string->text, names[i])) return (ir_op_pattern)i;
  }
  return IR_PATTERN_OPAQUE;
}

struct loads {
  const ir_op *op;
  const ir_region *region;
  const ir_attr *target; /* indices written */
  bool elementwise, broadcast, injective, opaque, mixes_reduction;
  size_t count;
};

static const ir_value *plain_axis(const ir_op *op, const ir_expr *index) {
  return index->code == IR_S_ARG ? ir_op_operand(op, index->arg) : NULL;
}

static bool is_spatial(const ir_region *region, const ir_value *value) {
  return value && ir_value_region(value) == region && value->index < region->spatial_count;
}

static bool is_zero(const ir_expr *index) {
  int64_t value;
  return ir_expr_is_int(index, &value) && value == 0;
}

/* `select(n == 1, 0, i)` is how a symbolic extent that may be 1 is broadcast: as good as i for fusing. */
static const ir_expr *strip_broadcast(const ir_expr *index) {
  return index->code == IR_S_SELECT && is_zero(index->kids[1]) ? index->kids[2] : index;
}

struct axis_use {
  const struct loads *loads;
  bool foreign, reduction;
};

static void see_axis(void *user, const ir_expr *node) {
  struct axis_use *use = user;
  if (node->code == IR_S_LOAD) use->foreign = true;
  if (node->code != IR_S_ARG) return;
  const ir_value *value = ir_op_operand(use->loads->op, node->arg);
  if (ir_value_region(value) != use->loads->region) {
    use->foreign = true;
  } else if (value->index >= use->loads->region->spatial_count) {
    use->reduction = true;
  }
}

static const ir_value *target_axis(const struct loads *loads, size_t i) {
  const ir_attr *item = loads->target->items[i];
  return item->kind == IR_ATTR_EXPR ? plain_axis(loads->op, item->expr) : NULL;
}

static void classify_load(void *user, const ir_expr *load) {
  struct loads *loads = user;
  if (load->code != IR_S_LOAD) return;
  loads->count++;
  size_t rank = loads->target->count;
  bool same = load->count == rank, ordered = true, pure_axes = true;
  size_t at = 0;
  struct axis_use use = {.loads = loads};
  for (size_t i = 0; i < load->count; i++) {
    const ir_expr *index = strip_broadcast(load->kids[i]);
    const ir_value *axis = plain_axis(loads->op, index);
    same &= axis && i < rank && axis == target_axis(loads, i) && index == load->kids[i];
    ir_expr_walk(ir_op_context(loads->op), index, see_axis, &use);
    if (is_zero(index)) continue;
    while (at < rank && axis != target_axis(loads, at)) at++;
    ordered &= axis && at < rank;
    at++;
  }
  for (size_t i = 0; i < rank; i++) pure_axes &= is_spatial(loads->region, target_axis(loads, i));
  if (same) {
    loads->elementwise = true;
  } else if (ordered) {
    loads->broadcast = true;
  } else if (pure_axes && !use.foreign && !use.reduction) {
    loads->injective = true;
  } else {
    loads->opaque = true;
  }
  for (size_t i = 0; i < load->count && use.reduction; i++) {
    if (!plain_axis(loads->op, load->kids[i]) && !is_zero(load->kids[i])) {
      struct axis_use one = {.loads = loads};
      ir_expr_walk(ir_op_context(loads->op), load->kids[i], see_axis, &one);
      loads->mixes_reduction |= one.reduction;
    }
  }
}

static ir_op_pattern worse(ir_op_pattern a, ir_op_pattern b) { return a > b ? a : b; }

static bool is_param(const ir_value *buffer) { return ir_value_region(buffer) && !ir_value_region(buffer)->parent; }

static ir_op_pattern pattern_of_store(const ir_op *store, ir_op_pattern so_far) {
  const ir_region *region = store->region;
  ir_reduction how;
  bool reduces = ir_reduction_of(store, &how);
  if (ir_get_int(store, "targets") != 1 && !reduces) return IR_PATTERN_OPAQUE;
  struct loads loads = {.op = store, .region = region, .target = ir_get(store, "index")->items[0]};
  const ir_attr *args = ir_get(store, "args");
  for (size_t i = 0; i < args->count; i++) {
    if (args->items[i]->kind == IR_ATTR_EXPR) ir_expr_walk(ir_op_context(store), args->items[i]->expr, classify_load, &loads);
  }
  if (reduces) {
    bool reuse = how.reducer == IR_REDUCE_DOT || loads.mixes_reduction;
    return reuse ? IR_PATTERN_OUT_FUSABLE : IR_PATTERN_REDUCTION;
  }
  if (loads.opaque) return IR_PATTERN_OPAQUE;
  ir_op_pattern pattern = IR_PATTERN_ELEMENTWISE;
  if (!loads.count || (loads.broadcast && !loads.elementwise)) pattern = IR_PATTERN_BROADCAST;
  if (loads.injective) pattern = IR_PATTERN_INJECTIVE;
  /* A row of results after a reduction over it, as in softmax. */
  bool after_reduction = so_far == IR_PATTERN_REDUCTION || so_far == IR_PATTERN_OUT_FUSABLE;
  if (after_reduction && is_param(ir_op_operand(store, 0))) return IR_PATTERN_OUT_FUSABLE;
  return pattern;
}

/* What is not recognised is opaque. So is a gather, whose index is loaded: in the place of a buffer, an expression of that
 * index would not be clamped where the buffer is. */
ir_op_pattern ir_pattern_of(const ir_func *func) {
  ir_op_pattern pattern = IR_PATTERN_ELEMENTWISE;
  size_t nests = 0, outs = 0;
  if (!func->body) return IR_PATTERN_OPAQUE;
  ir_each_op(op, func->body) {
    if (ir_is(op, IR_ALLOC) || (op->flags & IR_OP_INLINE)) continue;
    if (!ir_is(op, IR_COMPUTE)) return IR_PATTERN_OPAQUE;
    nests++;
    const ir_region *region = ir_op_region(op, 0);
    if (ir_is(region->first, IR_GUARD) && region->arg_count == region->spatial_count) return IR_PATTERN_OPAQUE;
    bool bindings = false;
    ir_each_op(inner, region) {
      if (ir_is(inner, IR_SCALAR) && !(inner->flags & IR_OP_INLINE)) bindings |= ir_get_expr(inner, "value")->has_loads;
      if (!ir_is(inner, IR_STORE)) continue;
      outs += is_param(ir_op_operand(inner, 0));
      pattern = worse(pattern, pattern_of_store(inner, pattern));
    }
    if (bindings && region->arg_count == region->spatial_count) return IR_PATTERN_OPAQUE;
  }
  /* Several nests that write results (concat) are one tensor program, but not one expression to put elsewhere. */
  if (nests == 0 || (outs > 1 && pattern < IR_PATTERN_REDUCTION)) return IR_PATTERN_OPAQUE;
  return pattern;
}

static bool annotate(ir_pass_run *run, ir_func *func) {
  if (func->item.kind != IR_ITEM_PRIM_FUNC || ir_dict_get(func->item.attrs, "pattern")) return false;
  const ir_attr *value = ir_attr_string(run->context, ir_slice_of(names[ir_pattern_of(func)]));
  func->item.attrs = ir_dict_with(run->context, func->item.attrs, "pattern", value);
  return ir_count(run, ANNOTATED);
}

const ir_pass ir_pass_annotate_op_pattern = {
    .name = "annotate-op-pattern",
    .doc = "Say of each prim_func in compute form how it may be fused.",
    .each_func = annotate,
    .prims = true,
    .stats = STATS({"annotated", "prim_funcs annotated"}),
};
