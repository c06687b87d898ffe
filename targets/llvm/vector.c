// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/vector.c - loops over vectors. Rounds become lanes, as many as a register holds elements, and several
 * registers where the body has a loop of its own, so that its chains run side by side. What is left over at the end
 * runs under a mask where the processor has masks, else in narrower vectors or one by one. All operations are exact in every lane, so
 * an element's value does not depend on where it falls. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

enum { NESTED_FACTOR = 4, MOST_LANES = 64, MOST_COPIES = 8 /* of a body, where the count is constant */, LARGEST_COPIES = 1500 /* their nodes */ };

typedef struct shape {
  ir_op *loop;
  emit_lanes_plan plan;
  unsigned width; /* of the main loop */
  bool masks;     /* the rest can run under a mask */
  bool given;     /* the program says how wide */
} shape;

/* Rounds BASE to BASE + WIDTH, those below END where END is not NULL. */
static void round_of_lanes(emit_function *f, const shape *s, LLVMValueRef base, unsigned width, LLVMValueRef end) {
  int64_t at;
  bool aligned = !emit_is_const(base, &at) || at % width == 0;
  f->width = width;
  emit_value counter = {.value = base, .step = width > 1 ? emit_i64(f->unit, 1) : NULL, .aligned = width > 1 && aligned};
  if (end) {
    /* Compared with what is left, which fits into 32 bits and cannot overflow. */
    LLVMTypeRef narrow = LLVMVectorType(f->unit->i32, width);
    LLVMValueRef left = LLVMBuildTrunc(B, LLVMBuildSub(B, end, base, ""), f->unit->i32, "");
    LLVMValueRef numbers = LLVMConstTrunc(emit_iota(f, emit_i64(f->unit, 1), width), narrow);
    f->mask = LLVMBuildICmp(B, LLVMIntULT, numbers, emit_splat(f, left, width), "");
  }
  emit_round(f, s->loop, counter);
  f->mask = NULL;
  f->width = 1;
}

/* Rounds [first, end) in vectors of WIDTH; END - FIRST is a multiple of it, FIRST a multiple as well. */
static void loop_of_lanes(emit_function *f, const shape *s, LLVMValueRef first, LLVMValueRef end, unsigned width) {
  const ir_string *name = ir_op_region(s->loop, 0)->args[0]->name;
  emit_loop rounds = emit_loop_begin(f, first, end, width, name ? name->text : "i");
  round_of_lanes(f, s, rounds.counter, width, NULL);
  emit_loop_end(f, &rounds);
}

static bool power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

/* Fewer rounds than the width, from AT on. */
static void constant_rest(emit_function *f, const shape *s, int64_t at, int64_t count) {
  if (s->masks && !power_of_two(count)) {
    unsigned width = 2;
    while (width < count) width *= 2;
    round_of_lanes(f, s, emit_i64(f->unit, at), width, emit_i64(f->unit, at + count));
    return;
  }
  for (unsigned width = MOST_LANES; width; width /= 2) {
    if (!(count & width)) continue;
    round_of_lanes(f, s, emit_i64(f->unit, at), width, NULL);
    at += width;
  }
}

static void constant_count(emit_function *f, const shape *s, int64_t count) {
  emit_unit *unit = f->unit;
  unsigned width = s->width, most = 4 * unit->target->vector_bytes / s->plan.bytes;
  if (s->given) most = width;
  if (power_of_two(count) && count <= most && count <= MOST_LANES) width = (unsigned)count;
  int64_t rounds = count / width, end = rounds * width;
  if (rounds <= MOST_COPIES && (size_t)rounds * s->plan.size <= LARGEST_COPIES) {
    for (int64_t i = 0; i < rounds; i++) round_of_lanes(f, s, emit_i64(unit, i * width), width, NULL);
  } else {
    loop_of_lanes(f, s, emit_i64(unit, 0), emit_i64(unit, end), width);
  }
  if (count > end) constant_rest(f, s, end, count - end);
}

/* What is left, if anything is, in one masked round. */
static void masked_rest(emit_function *f, const shape *s, LLVMValueRef at, LLVMValueRef count) {
  LLVMBasicBlockRef rest = emit_block(f, "rest"), join = emit_block(f, "join");
  LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, at, count, ""), rest, join);
  emit_at(f, rest);
  round_of_lanes(f, s, at, s->width, count);
  LLVMBuildBr(B, join);
  emit_at(f, join);
}

/* Rounds FROM to COUNT, FROM a multiple of any width. */
static void any_count(emit_function *f, const shape *s, LLVMValueRef from, LLVMValueRef count) {
  emit_unit *unit = f->unit;
  /* No rounds where the count is negative. */
  LLVMValueRef negative = LLVMBuildICmp(B, LLVMIntSLT, count, from, "");
  count = LLVMBuildSelect(B, negative, from, count, "");
  LLVMValueRef whole = LLVMBuildAnd(B, count, emit_i64(unit, -(int64_t)s->width), "");
  loop_of_lanes(f, s, from, whole, s->width);
  if (s->masks) {
    masked_rest(f, s, whole, count);
  } else {
    loop_of_lanes(f, s, whole, count, 1);
  }
}

bool emit_vector_for(emit_function *f, ir_op *loop) {
  shape s = {.loop = loop};
  if (f->unit->checked || f->width > 1 || !emit_plan_lanes(loop, &s.plan)) return false;
  const emit_target *target = f->unit->target;
  s.width = target->vector_bytes / s.plan.bytes;
  if (s.width > 16) s.width = 16;
  if (s.width < 2) return false;
  int64_t registers = ir_get_int(loop, "factor");
  s.given = registers > 0;
  if (!s.given && s.plan.nested) registers = NESTED_FACTOR;
  for (; registers > 1 && s.width < MOST_LANES; registers /= 2) s.width *= 2;
  s.masks = target->all_masks || (target->masks && !s.plan.awkward);
  LLVMValueRef count = emit_scalar(f, ir_op_operand(loop, 0)).value;
  int64_t known;
  if (f->ranged == loop) {
    any_count(f, &s, f->first, f->last);
  } else if (!emit_is_const(count, &known)) {
    any_count(f, &s, emit_i64(f->unit, 0), count);
  } else if (known > 0) {
    constant_count(f, &s, known);
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

static LLVMValueRef saturating_sub(emit_function *f, LLVMValueRef a, LLVMValueRef b) {
  return emit_intrinsic(f, "llvm.ssub.sat", 1, &f->unit->i64, 2, (LLVMValueRef[]){a, b});
}

/* Lanes below LEFT, or from it on. */
static LLVMValueRef lanes_below(emit_function *f, LLVMValueRef left, bool below) {
  LLVMValueRef zero = emit_i64(f->unit, 0), width = emit_i64(f->unit, f->width);
  LLVMValueRef up = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, left, zero, ""), zero, left, "");
  LLVMValueRef bound = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSGT, up, width, ""), width, up, "");
  /* As wide as masks are in registers. */
  LLVMTypeRef narrow = f->unit->target->all_masks ? f->unit->i8 : f->unit->i32;
  LLVMValueRef numbers = LLVMConstTrunc(emit_iota(f, emit_i64(f->unit, 1), f->width), LLVMVectorType(narrow, f->width));
  LLVMValueRef all = emit_splat(f, LLVMBuildTrunc(B, bound, narrow, ""), f->width);
  return LLVMBuildICmp(B, below ? LLVMIntULT : LLVMIntUGE, numbers, all, "");
}

static LLVMValueRef part_mask(emit_scope *scope, const ir_expr *condition, bool *differs) {
  LLVMValueRef mask = emit_counter_mask(scope, condition, differs);
  if (mask) return mask;
  emit_value value = emit_expr(scope, condition);
  *differs |= value.varying;
  return emit_spread(scope->f, value);
}

LLVMValueRef emit_counter_mask(emit_scope *scope, const ir_expr *condition, bool *differs) {
  emit_function *f = scope->f;
  if (condition->code == IR_S_AND) {
    LLVMValueRef a = part_mask(scope, condition->kids[0], differs), b = part_mask(scope, condition->kids[1], differs);
    return LLVMBuildAnd(B, a, b, "");
  }
  bool less = condition->code == IR_S_LT || condition->code == IR_S_LE, more = condition->code == IR_S_GT || condition->code == IR_S_GE;
  if ((!less && !more) || condition->kids[0]->dtype != IR_I64 || condition->has_loads) return NULL;
  emit_value a = emit_expr(scope, condition->kids[less ? 0 : 1]), b = emit_expr(scope, condition->kids[less ? 1 : 0]);
  bool strict = condition->code == IR_S_LT || condition->code == IR_S_GT;
  if (a.varying || b.varying) return NULL;
  if (!a.step && !b.step) {
    /* The same in every lane. */
    LLVMValueRef holds = LLVMBuildICmp(B, strict ? LLVMIntSLT : LLVMIntSLE, a.value, b.value, "");
    return emit_splat(f, holds, f->width);
  }
  int64_t step;
  emit_value moves = a.step ? a : b;
  if ((a.step && b.step) || !emit_is_const(moves.step, &step) || step != 1) return NULL;
  *differs = true;
  LLVMValueRef one = emit_i64(f->unit, 1);
  if (a.step) {
    /* a + lane < b: lane < b - a, and one more lane where they may be equal. */
    LLVMValueRef from = strict ? a.value : saturating_sub(f, a.value, one);
    return lanes_below(f, saturating_sub(f, b.value, from), true);
  }
  /* a <= b + lane: lane >= a - b; one later where they may not be equal. */
  LLVMValueRef from = strict ? saturating_sub(f, b.value, one) : b.value;
  return lanes_below(f, saturating_sub(f, a.value, from), false);
}

/* The lanes in which an operand holds; NULL where it is one bit, which is in *same then. */
static LLVMValueRef condition_mask(emit_function *f, ir_value *operand, LLVMValueRef *same) {
  const ir_op *op = ir_value_op(operand);
  if (ir_is(op, IR_SCALAR) && (op->flags & IR_OP_INLINE)) {
    emit_scope scope = {.f = f, .op = op};
    bool differs = false;
    const ir_expr *expr = ir_attr_as_expr(f->unit->context, ir_get(op, "value"));
    LLVMValueRef mask = emit_counter_mask(&scope, expr, &differs);
    if (mask && differs) return mask;
  }
  emit_value value = emit_scalar(f, operand);
  *same = value.value;
  return value.step || value.varying ? emit_spread(f, value) : NULL;
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
  const ir_facts *facts = f->proofs.facts;
  f->proofs.facts = ir_proofs_if(&f->proofs, condition, holds);
  f->mask = mask;
  emit_region(f, region);
  f->mask = outer;
  f->proofs.facts = facts;
  LLVMBuildBr(B, join);
  emit_at(f, join);
}

/* Away from the edges no lane needs to be masked. The block where some do is left open. */
static void whole_lanes(emit_function *f, ir_region *region, LLVMValueRef all, const ir_expr *condition, LLVMBasicBlockRef join) {
  LLVMBasicBlockRef whole = emit_block(f, "whole"), part = emit_block(f, "part");
  LLVMBuildCondBr(B, all, whole, part);
  emit_at(f, whole);
  const ir_facts *facts = f->proofs.facts;
  f->proofs.facts = ir_proofs_if(&f->proofs, condition, true);
  emit_region(f, region);
  f->proofs.facts = facts;
  LLVMBuildBr(B, join);
  emit_at(f, part);
}

void emit_vector_if(emit_function *f, ir_op *op) {
  ir_value *operand = ir_op_operand(op, 0);
  const ir_expr *condition = ir_proofs_value(&f->proofs, operand);
  bool alone = op->region_count == 1, outer = f->unswitched;
  LLVMValueRef all = alone && !outer ? every_lane(f, operand) : NULL;
  LLVMBasicBlockRef join = NULL;
  f->unswitched |= all != NULL;
  if (all) {
    join = emit_block(f, "join");
    whole_lanes(f, ir_op_region(op, 0), all, condition, join);
  }
  LLVMValueRef same, mask = condition_mask(f, operand, &same);
  if (!mask) {
    emit_branches(f, op, same);
  } else {
    in_lanes(f, ir_op_region(op, 0), mask, condition, true);
    if (!alone) in_lanes(f, ir_op_region(op, 1), LLVMBuildNot(B, mask, ""), condition, false);
  }
  f->unswitched = outer;
  if (!join) return;
  LLVMBuildBr(B, join);
  emit_at(f, join);
}
