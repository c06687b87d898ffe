// SPDX-License-Identifier: Apache-2.0
/* passes/name_extents.c - extents that only the run knows become symbols, so that programs can be made for them: those of
 * parameters and carried values, of what `if`, `loop` and calls give. What depends on them is inferred
 * again; inference is what knows it all otherwise, so that a name is given only where a chain of `?` begins. Needs nothing. */
#include "ir/infer.h"
#include "ir/symbols.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"

enum { NAMED };

static bool can_name(const ir_type *type) {
  return ir_is_tensor(type) && ir_type_dtype(type) != IR_DTYPE_UNKNOWN && type->ranked && !ir_type_is_sized(type);
}

/* Who computes with VALUE needs its extents; who hands it on does not. */
static bool is_computed_with(ir_value *value) {
  ir_each_use(use, value) {
    if (ir_op_row(use->user)->numerics != IR_STRUCTURE) return true;
  }
  return false;
}

static const ir_type *with_dims(ir_context *context, const ir_type *type, const ir_expr *const *dims) {
  return ir_type_with_device(context, ir_type_tensor(context, ir_type_dtype(type), type->count, dims), type->device);
}

/* TYPE with a symbol that is new in FUNC as extent AXIS. */
static const ir_type *named(ir_func *func, const ir_type *type, size_t axis, ir_arena *scratch) {
  const ir_expr **dims = ir_new_array(scratch, const ir_expr *, type->count);
  for (size_t i = 0; i < type->count; i++) dims[i] = ir_type_dim(type, i);
  dims[axis] = ir_func_fresh_symbol(func, "n");
  return with_dims(ir_func_context(func), type, dims);
}

/* A with the extents of B where it has none. */
static const ir_type *completed(ir_context *context, const ir_type *a, const ir_type *b, ir_arena *scratch) {
  if (!a->ranked || !b->ranked || a->count != b->count) return a;
  const ir_expr **dims = ir_new_array(scratch, const ir_expr *, a->count);
  for (size_t i = 0; i < a->count; i++) dims[i] = ir_type_dim(a, i) ? ir_type_dim(a, i) : ir_type_dim(b, i);
  return with_dims(context, a, dims);
}

/* A match_cast of VALUE to TYPE at B takes the place of VALUE, which keeps its name. */
static ir_value *cast(ir_builder b, ir_value *value, const ir_type *type) {
  ir_op *op = ir_build_with(&b, IR_MATCH_CAST, &value, 1, IR_NO_ATTRS, NULL, 0, &type, 1);
  const ir_string *own = value->name;
  ir_value_replace(value, ir_op_result(op, 0));
  ir_op_result(op, 0)->name = NULL;
  value->name = own;
  ir_op_set_operand(op, 0, value);
  return ir_op_result(op, 0);
}

static void name(ir_pass_run *run, ir_builder b, ir_value *value) {
  if (!can_name(value->type) || !is_computed_with(value)) return;
  ir_value *known = cast(b, value, value->type);
  for (size_t axis = 0; axis < value->type->count; axis++) {
    if (!ir_type_dim(value->type, axis)) known->type = named(run->func, known->type, axis, run->scratch);
  }
  ir_count(run, NAMED);
}

/* The results of OP from what its operands are now. Where one was known by another operand's extent, which inference took while
 * this one's had no name, it stays known so: by a match_cast. */
static void infer_results(ir_pass_run *run, ir_op *op) {
  const ir_facts *facts = ir_func_facts(run->func);
  ir_infer in = ir_infer_again(op, facts, run->scratch);
  in.quiet = true;
  if (!ir_infer_run(&in)) return;
  for (size_t i = 0; i < op->result_count && i < in.result_count; i++) {
    ir_value *result = ir_op_result(op, i);
    const ir_type *old = result->type;
    ir_type_relation relation = ir_type_relate(run->context, facts, old, in.results[i]);
    bool loses = relation == IR_TYPES_STRONGER && ir_is_tensor(old);
    if (relation == IR_TYPES_WEAKER || loses) result->type = in.results[i];
    if (loses) cast(ir_after(op), result, completed(run->context, old, result->type, run->scratch));
  }
}

/* What the data size has an operator that counts it first. */
static bool is_counted(const ir_op *op) {
  bool counted = ir_can_decompose(op);
  for (size_t i = 0; i < op->result_count; i++) counted &= !ir_type_is_sized(ir_op_result(op, i)->type);
  for (size_t i = 0; i < op->operand_count; i++) counted &= ir_is_scalar(ir_op_operand(op, i)->type) || ir_type_is_sized(ir_op_operand(op, i)->type);
  return counted;
}

static void name_region(ir_pass_run *run, ir_region *region) {
  for (size_t i = 0; i < region->arg_count; i++) {
    ir_builder b = region->first ? ir_before(region->first) : ir_at_end(region);
    name(run, b, region->args[i]);
  }
  ir_each_op(op, region) {
    for (size_t i = 0; i < op->region_count; i++) name_region(run, ir_op_region(op, i));
    infer_results(run, op);
    if (is_counted(op) && ir_decompose_op(op)) {
      ir_count(run, NAMED);
      continue;
    }
    for (size_t i = 0; i < op->result_count; i++) name(run, ir_after(op), ir_op_result(op, i));
  }
}

static bool name_func(ir_pass_run *run, ir_func *func) {
  uint64_t before = run->stats[NAMED];
  for (size_t i = func->param_count; i-- > 0;) {
    ir_builder b = func->body->first ? ir_before(func->body->first) : ir_at_end(func->body);
    if (func->params[i].value) name(run, b, func->params[i].value);
  }
  name_region(run, func->body);
  return run->stats[NAMED] > before;
}

const ir_pass ir_pass_name_extents = {
    .name = "name-extents",
    .doc = "Give extents that only the run knows a symbol, by match_cast: of parameters, carried values, results of control flow and calls; count what the data size.",
    .each_func = name_func,
    .stats = STATS({"named", "values whose extents are symbols now"}),
};
