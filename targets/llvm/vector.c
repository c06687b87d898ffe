// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/vector.c - loops over vectors. Rounds become lanes, as many as a register holds elements, and several
 * registers where the body has a loop of its own, so that its chains run side by side. What is left over at the end
 * runs in narrower vectors where the count is constant, else one by one. All operations are exact in every lane, so
 * an element's value does not depend on where it falls. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

enum { MOST_LANES = 64, MOST_COPIES = 8 /* of a body, where the count is constant */, LARGEST_COPIES = 1500 /* their nodes */ };

static void round_of_lanes(emit_function *f, ir_op *loop, LLVMValueRef base, unsigned width) {
  int64_t at;
  bool aligned = !emit_is_const(base, &at) || at % width == 0;
  f->width = width;
  emit_value counter = {.value = base, .step = width > 1 ? emit_i64(f->unit, 1) : NULL, .aligned = width > 1 && aligned};
  emit_round(f, loop, counter);
  f->width = 1;
}

/* Rounds [first, end) in vectors of WIDTH; END - FIRST is a multiple of it, FIRST a multiple as well. */
static void loop_of_lanes(emit_function *f, ir_op *loop, LLVMValueRef first, LLVMValueRef end, unsigned width) {
  const ir_string *name = ir_op_region(loop, 0)->args[0]->name;
  emit_loop rounds = emit_loop_begin(f, first, end, width, name ? name->text : "i");
  round_of_lanes(f, loop, rounds.counter, width);
  emit_loop_end(f, &rounds);
}

static bool power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

static void constant_count(emit_function *f, ir_op *loop, int64_t count, unsigned width, unsigned wide, const emit_lanes_plan *plan) {
  emit_unit *unit = f->unit;
  int64_t at = 0;
  unsigned most = 4 * unit->target->vector_bytes / plan->bytes;
  if (power_of_two(count) && count <= most && count <= MOST_LANES) wide = (unsigned)count;
  for (unsigned step = wide; step; step = step > width && width < wide ? width : step / 2) {
    int64_t rounds = (count - at) / step;
    bool copies = rounds <= MOST_COPIES && (size_t)rounds * plan->size <= LARGEST_COPIES;
    if (!copies && rounds > 1) {
      int64_t end = at + rounds * step;
      loop_of_lanes(f, loop, emit_i64(unit, at), emit_i64(unit, end), step);
      at = end;
      continue;
    }
    for (; rounds > 0; rounds--, at += step) round_of_lanes(f, loop, emit_i64(unit, at), step);
  }
}

static LLVMValueRef rounded_down(emit_function *f, LLVMValueRef count, unsigned width) {
  return LLVMBuildAnd(B, count, emit_i64(f->unit, -(int64_t)width), "");
}

static void any_count(emit_function *f, ir_op *loop, LLVMValueRef count, unsigned width, unsigned wide) {
  LLVMValueRef zero = emit_i64(f->unit, 0), at = zero;
  /* No rounds where the count is negative. */
  LLVMValueRef negative = LLVMBuildICmp(B, LLVMIntSLT, count, zero, "");
  count = LLVMBuildSelect(B, negative, zero, count, "");
  for (unsigned step = wide; step > 1; step = step > width ? width : 1) {
    LLVMValueRef end = rounded_down(f, count, step);
    loop_of_lanes(f, loop, at, end, step);
    at = end;
  }
  loop_of_lanes(f, loop, at, count, 1);
}

bool emit_vector_for(emit_function *f, ir_op *loop) {
  emit_lanes_plan plan;
  if (f->unit->checked || f->width > 1 || !emit_plan_lanes(loop, &plan)) return false;
  unsigned width = f->unit->target->vector_bytes / plan.bytes;
  if (width > 16) width = 16;
  if (width < 2) return false;
  unsigned wide = plan.nested ? 4 * width : width;
  LLVMValueRef count = emit_scalar(f, ir_op_operand(loop, 0)).value;
  int64_t known;
  if (!emit_is_const(count, &known)) {
    any_count(f, loop, count, width, wide);
  } else if (known > 0) {
    constant_count(f, loop, known, width, wide, &plan);
  }
  return true;
}

/* --- if --- */

static LLVMValueRef last_lane(emit_function *f, emit_value v, LLVMValueRef *overflow) {
  int64_t step;
  if (!v.step) return v.value;
  if (!emit_is_const(v.step, &step)) return NULL;
  LLVMValueRef args[] = {v.value, emit_i64(f->unit, step * (int64_t)(f->width - 1))};
  LLVMValueRef both = emit_intrinsic(f, "llvm.sadd.with.overflow", 1, &f->unit->i64, 2, args);
  *overflow = LLVMBuildOr(B, *overflow, LLVMBuildExtractValue(B, both, 1, ""), "");
  return LLVMBuildExtractValue(B, both, 0, "");
}

/* Whether a condition holds in every lane, as a scalar and without making vectors: comparisons of values linear in the
 * lane hold in all lanes where they hold in the first and in the last. NULL where that is not to be had so cheaply. */
static LLVMValueRef all_hold(emit_scope *scope, const ir_expr *expr, bool *differs) {
  emit_function *f = scope->f;
  if (expr->code == IR_S_AND) {
    LLVMValueRef a = all_hold(scope, expr->kids[0], differs), b = a ? all_hold(scope, expr->kids[1], differs) : NULL;
    return b ? LLVMBuildAnd(B, a, b, "") : NULL;
  }
  bool ordered = expr->code == IR_S_LT || expr->code == IR_S_LE || expr->code == IR_S_GT || expr->code == IR_S_GE;
  if (!ordered || expr->kids[0]->dtype != IR_I64 || expr->has_loads) return NULL;
  emit_value a = emit_expr(scope, expr->kids[0]), b = emit_expr(scope, expr->kids[1]);
  if (a.varying || b.varying) return NULL;
  LLVMValueRef overflow = LLVMConstInt(f->unit->i1, 0, 0);
  LLVMValueRef first[] = {a.value, b.value};
  LLVMValueRef holds = emit_operator(f, (ir_scalar_code)expr->code, IR_I64, first, NULL);
  if (!a.step && !b.step) return holds;
  *differs = true;
  LLVMValueRef last[] = {last_lane(f, a, &overflow), last_lane(f, b, &overflow)};
  if (!last[0] || !last[1]) return NULL;
  holds = LLVMBuildAnd(B, holds, emit_operator(f, (ir_scalar_code)expr->code, IR_I64, last, NULL), "");
  return LLVMBuildAnd(B, holds, LLVMBuildNot(B, overflow, ""), "");
}

/* The same of an operand; NULL also where the lanes cannot differ. */
static LLVMValueRef every_lane(emit_function *f, ir_value *condition) {
  const ir_op *op = ir_value_op(condition);
  if (!ir_is(op, IR_SCALAR) || !(op->flags & IR_OP_INLINE)) return NULL;
  emit_scope scope = {.f = f, .op = op};
  bool differs = false;
  LLVMValueRef all = all_hold(&scope, ir_attr_as_expr(f->unit->context, ir_get(op, "value")), &differs);
  return differs ? all : NULL;
}

/* REGION in the lanes of MASK, which may be none. */
static void in_lanes(emit_function *f, ir_region *region, LLVMValueRef mask, const ir_expr *condition, bool holds) {
  LLVMValueRef outer = f->mask;
  if (outer) mask = LLVMBuildAnd(B, outer, mask, "");
  LLVMTypeRef type = LLVMTypeOf(mask);
  LLVMValueRef any = emit_intrinsic(f, "llvm.vector.reduce.or", 1, &type, 1, &mask);
  LLVMBasicBlockRef some = emit_block(f, "lanes"), join = emit_block(f, "join");
  LLVMBuildCondBr(B, any, some, join);
  emit_at(f, some);
  const ir_facts *facts = f->facts;
  f->facts = emit_facts_if(f, condition, holds);
  f->mask = mask;
  emit_region(f, region);
  f->mask = outer;
  f->facts = facts;
  LLVMBuildBr(B, join);
  emit_at(f, join);
}

/* Away from the edges no lane needs to be masked. The block where some do is left open. */
static void whole_lanes(emit_function *f, ir_region *region, LLVMValueRef all, const ir_expr *condition, LLVMBasicBlockRef join) {
  LLVMBasicBlockRef whole = emit_block(f, "whole"), part = emit_block(f, "part");
  LLVMBuildCondBr(B, all, whole, part);
  emit_at(f, whole);
  const ir_facts *facts = f->facts;
  f->facts = emit_facts_if(f, condition, true);
  emit_region(f, region);
  f->facts = facts;
  LLVMBuildBr(B, join);
  emit_at(f, part);
}

void emit_vector_if(emit_function *f, ir_op *op) {
  ir_value *operand = ir_op_operand(op, 0);
  const ir_expr *condition = emit_value_in_frame(f, operand);
  bool alone = op->region_count == 1, outer = f->unswitched;
  LLVMValueRef all = alone && !outer ? every_lane(f, operand) : NULL;
  LLVMBasicBlockRef join = NULL;
  f->unswitched |= all != NULL;
  if (all) {
    join = emit_block(f, "join");
    whole_lanes(f, ir_op_region(op, 0), all, condition, join);
  }
  emit_value value = emit_scalar(f, operand);
  if (!value.step && !value.varying) {
    emit_branches(f, op, value.value);
  } else {
    LLVMValueRef mask = emit_spread(f, value);
    in_lanes(f, ir_op_region(op, 0), mask, condition, true);
    if (!alone) in_lanes(f, ir_op_region(op, 1), LLVMBuildNot(B, mask, ""), condition, false);
  }
  f->unswitched = outer;
  if (!join) return;
  LLVMBuildBr(B, join);
  emit_at(f, join);
}
