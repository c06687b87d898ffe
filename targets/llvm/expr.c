// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/expr.c - scalar expressions. Every distinct node is computed once where it stands; in the body of a
 * vectorized loop a node is one scalar where all lanes agree, a base and a step where it is linear in the lane, or a
 * vector. Needs ir/formula for expanded functions. */
#include "targets/llvm/llvm.h"

#include "ir/formula.h"

#define B (f->builder)

/* --- values --- */

emit_value emit_uniform_value(LLVMValueRef value) { return (emit_value){.value = value}; }

static emit_value vector_value(LLVMValueRef value) { return (emit_value){.value = value, .varying = true}; }

static bool is_uniform(emit_value v) { return !v.step && !v.varying; }

static emit_value linear_value(LLVMValueRef value, LLVMValueRef step, bool aligned) {
  int64_t known;
  if (emit_is_const(step, &known) && !known) return emit_uniform_value(value);
  return (emit_value){.value = value, .step = step, .aligned = aligned};
}

LLVMValueRef emit_splat(emit_function *f, LLVMValueRef value, unsigned lanes) {
  if (lanes <= 1) return value;
  if (LLVMIsAConstantInt(value) || LLVMIsAConstantFP(value)) {
    LLVMValueRef *elements = ir_new_array(&f->scratch, LLVMValueRef, lanes);
    for (unsigned i = 0; i < lanes; i++) elements[i] = value;
    return LLVMConstVector(elements, lanes);
  }
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(value), lanes);
  LLVMValueRef first = LLVMBuildInsertElement(B, LLVMGetPoison(type), value, LLVMConstInt(f->unit->i32, 0, 0), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(f->unit->i32, lanes));
  return LLVMBuildShuffleVector(B, first, LLVMGetPoison(type), zeros, "");
}

LLVMValueRef emit_iota(emit_function *f, LLVMValueRef step, unsigned lanes) {
  LLVMValueRef *elements = ir_new_array(&f->scratch, LLVMValueRef, lanes);
  int64_t known;
  bool constant = emit_is_const(step, &known);
  for (unsigned i = 0; i < lanes; i++) elements[i] = emit_i64(f->unit, (int64_t)i * (constant ? known : 1));
  LLVMValueRef numbers = LLVMConstVector(elements, lanes);
  return constant ? numbers : LLVMBuildMul(B, numbers, emit_splat(f, step, lanes), "");
}

LLVMValueRef emit_spread(emit_function *f, emit_value v) {
  if (v.varying || f->width == 1) return v.value;
  LLVMValueRef base = emit_splat(f, v.value, f->width);
  return v.step ? LLVMBuildAdd(B, base, emit_iota(f, v.step, f->width), "") : base;
}

void emit_bind(emit_function *f, const ir_value *value, emit_value bound) {
  emit_value *slot = ir_new(&f->arena, emit_value);
  *slot = bound;
  ir_map_put(&f->arena, &f->values, value, slot);
}

/* --- arithmetic on linear values: i64, so that wrapping keeps it exact --- */

emit_value emit_add(emit_function *f, emit_value a, emit_value b) {
  if (a.varying || b.varying) {
    LLVMValueRef x = emit_spread(f, a), y = emit_spread(f, b);
    return vector_value(LLVMBuildAdd(B, x, y, ""));
  }
  LLVMValueRef value = LLVMBuildAdd(B, a.value, b.value, "");
  if (!a.step && !b.step) return emit_uniform_value(value);
  LLVMValueRef step = !a.step ? b.step : !b.step ? a.step : LLVMBuildAdd(B, a.step, b.step, "");
  int64_t moved;
  LLVMValueRef other = a.step ? b.value : a.value;
  bool aligned = (a.aligned != b.aligned) && !(a.step && b.step) && emit_is_const(other, &moved) && moved % f->width == 0;
  return linear_value(value, step, aligned);
}

static emit_value negated(emit_function *f, emit_value a) {
  if (a.varying) return vector_value(LLVMBuildNeg(B, a.value, ""));
  LLVMValueRef value = LLVMBuildNeg(B, a.value, "");
  return a.step ? linear_value(value, LLVMBuildNeg(B, a.step, ""), false) : emit_uniform_value(value);
}

emit_value emit_mul(emit_function *f, emit_value a, emit_value b) {
  int64_t known;
  if (is_uniform(b) && emit_is_const(b.value, &known) && known == 1) return a;
  if (is_uniform(a) && emit_is_const(a.value, &known) && known == 1) return b;
  if (is_uniform(a) || is_uniform(b)) {
    emit_value scale = is_uniform(a) ? a : b, other = is_uniform(a) ? b : a;
    if (!other.varying) {
      LLVMValueRef value = LLVMBuildMul(B, other.value, scale.value, "");
      if (!other.step) return emit_uniform_value(value);
      return linear_value(value, LLVMBuildMul(B, other.step, scale.value, ""), false);
    }
  }
  LLVMValueRef x = emit_spread(f, a), y = emit_spread(f, b);
  return vector_value(LLVMBuildMul(B, x, y, ""));
}

/* Division of base + lane, where base is a multiple of the width, by a multiple of the width: the lanes agree. */
static bool aligned_division(emit_function *f, ir_scalar_code code, emit_value a, const emit_hint *hint, emit_value *result) {
  bool fits = a.aligned && hint->has_divisor && hint->divisor > 0 && hint->divisor % f->width == 0;
  if (!fits) return false;
  LLVMValueRef in[] = {a.value, emit_i64(f->unit, hint->divisor)};
  LLVMValueRef value = emit_operator(f, code, IR_I64, in, hint);
  if (code == IR_S_FLOORDIV) {
    *result = emit_uniform_value(value);
  } else if (code == IR_S_FLOORMOD) {
    *result = linear_value(value, emit_i64(f->unit, 1), true);
  } else {
    return false;
  }
  return true;
}

static bool linear_operator(emit_function *f, const ir_expr *expr, const emit_value *in, const emit_hint *hint, emit_value *result) {
  if (f->width == 1 || expr->dtype != IR_I64) return false;
  switch ((int)expr->code) {
  case IR_S_ADD: *result = emit_add(f, in[0], in[1]); return true;
  case IR_S_SUB: *result = emit_add(f, in[0], negated(f, in[1])); return true;
  case IR_S_MUL: *result = emit_mul(f, in[0], in[1]); return true;
  case IR_S_MAD: *result = emit_add(f, emit_mul(f, in[0], in[1]), in[2]); return true;
  case IR_S_NEG: *result = negated(f, in[0]); return true;
  case IR_S_FLOORDIV:
  case IR_S_FLOORMOD: return aligned_division(f, (ir_scalar_code)expr->code, in[0], hint, result);
  default: return false;
  }
}

/* --- operators --- */

static emit_hint division_hint(emit_scope *scope, const ir_expr *expr) {
  emit_hint hint = {0};
  if (!ir_expr_divides(expr)) return hint;
  const ir_expr *divisor = expr->kids[1];
  if (divisor->code == IR_S_CONST) {
    hint.divisor = ir_int_from_bits((ir_dtype)divisor->dtype, divisor->bits);
    hint.has_divisor = hint.divisor && hint.divisor != -1;
  }
  if (expr->dtype == IR_I64 && expr->lanes == 1) {
    hint.natural = ir_proofs_at_least(&scope->f->proofs, scope->op, divisor, 1) && ir_proofs_at_least(&scope->f->proofs, scope->op, expr->kids[0], 0);
  }
  return hint;
}

static void check_divisor(emit_scope *scope, const ir_expr *expr, const emit_hint *hint, LLVMValueRef divisor) {
  emit_function *f = scope->f;
  bool integer = ir_expr_divides(expr);
  if (!integer || !f->unit->checked || hint->natural || hint->has_divisor || expr->lanes != 1 || !scope->op) return;
  LLVMValueRef fine = LLVMBuildICmp(B, LLVMIntNE, divisor, emit_int_of(LLVMTypeOf(divisor), 0), "");
  emit_require(f, fine, scope->op->range, ir_op_loc(scope->op), "integer division by zero", 0, NULL);
}

/* Facts say that a closed expression is far from overflow. */
static bool fits(emit_function *f, const ir_expr *expr) {
  int64_t least, most, far = INT64_C(1) << 62;
  if (expr->has_args || !f->proofs.facts) return false;
  ir_range_of(f->unit->context, f->proofs.facts, expr, &least, &most);
  return least > -far && most < far;
}

/* i64 arithmetic on sizes that notes when it does not fit. */
static LLVMValueRef overflowing(emit_function *f, const ir_expr *expr, const LLVMValueRef *in) {
  int code = expr->code;
  if (fits(f, expr)) return NULL;
  const char *name = code == IR_S_ADD ? "llvm.sadd.with.overflow" : code == IR_S_SUB ? "llvm.ssub.with.overflow"
                     : code == IR_S_MUL ? "llvm.smul.with.overflow" : NULL;
  if (!name) return NULL;
  LLVMValueRef both = emit_intrinsic(f, name, 1, &f->unit->i64, 2, (LLVMValueRef[]){in[0], in[1]});
  f->overflow = LLVMBuildOr(B, f->overflow, LLVMBuildExtractValue(B, both, 1, ""), "");
  return LLVMBuildExtractValue(B, both, 0, "");
}

static emit_value apply(emit_scope *scope, const ir_expr *expr) {
  emit_function *f = scope->f;
  emit_value in[3], result;
  if (expr->count > 3) return emit_uniform_value(LLVMGetPoison(emit_type(f->unit, (ir_dtype)expr->dtype, expr->lanes)));
  bool uniform = true;
  for (size_t i = 0; i < expr->count; i++) {
    in[i] = emit_expr(scope, expr->kids[i]);
    uniform &= is_uniform(in[i]);
  }
  emit_hint hint = division_hint(scope, expr);
  /* What a condition promises is not true in lanes where it does not hold, and those divide too. */
  if (!uniform && f->mask) hint.natural = false;
  if (!uniform && linear_operator(f, expr, in, &hint, &result)) return result;
  bool selects = ir_scalars[expr->code].typing == IR_TYPING_SELECT;
  LLVMValueRef values[3];
  for (size_t i = 0; i < expr->count; i++) {
    bool condition = selects && i == 0 && is_uniform(in[0]);
    values[i] = uniform || condition ? in[i].value : emit_spread(f, in[i]);
  }
  ir_dtype operand = (ir_dtype)expr->kids[selects ? 1 : 0]->dtype;
  check_divisor(scope, expr, &hint, values[expr->count - 1]);
  LLVMValueRef value = f->overflow && operand == IR_I64 ? overflowing(f, expr, values) : NULL;
  if (!value) value = emit_operator(f, (ir_scalar_code)expr->code, operand, values, &hint);
  return uniform ? emit_uniform_value(value) : vector_value(value);
}

static emit_value convert(emit_scope *scope, const ir_expr *expr) {
  emit_function *f = scope->f;
  emit_value in = emit_expr(scope, expr->kids[0]);
  ir_dtype from = (ir_dtype)expr->kids[0]->dtype, to = (ir_dtype)expr->dtype;
  if (expr->code == IR_S_BROADCAST) return emit_uniform_value(emit_splat(f, in.value, expr->lanes));
  if (expr->code == IR_S_RAMP) {
    LLVMValueRef numbers = emit_iota(f, emit_i64(f->unit, 1), expr->lanes);
    if (to != IR_I64) numbers = LLVMConstTrunc(numbers, emit_type(f->unit, to, expr->lanes));
    return emit_uniform_value(LLVMBuildAdd(B, emit_splat(f, in.value, expr->lanes), numbers, ""));
  }
  bool same = from == to;
  if (same) return in;
  LLVMValueRef value = emit_spread(f, in);
  if (is_uniform(in)) value = in.value;
  value = expr->code == IR_S_BITCAST ? emit_bitcast(f, value, from, to) : emit_cast(f, value, from, to);
  return is_uniform(in) ? emit_uniform_value(value) : vector_value(value);
}

static emit_value expanded(emit_scope *scope, const ir_expr *expr) {
  emit_function *f = scope->f;
  const ir_expr *graph = ir_expand(f->unit->context, expr);
  if (graph) return emit_expr(scope, graph);
  emit_cannot(f, scope->op ? scope->op->range : f->source->item.range, "compute %s of %s: not implemented on llvm",
              ir_scalars[expr->code].name, ir_dtype_name((ir_dtype)expr->dtype));
  return emit_uniform_value(LLVMGetPoison(emit_type(f->unit, (ir_dtype)expr->dtype, expr->lanes)));
}

/* --- guard(c, a, b): what A loads is not loaded where c is false --- */

static void forget(emit_scope *scope, size_t count) {
  while (scope->order.count > count) ir_map_remove(&scope->memo, scope->order.at[--scope->order.count]);
}

static LLVMValueRef any_lane(emit_function *f, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(mask);
  return emit_intrinsic(f, "llvm.vector.reduce.or", 1, &type, 1, &mask);
}

static emit_value guarded(emit_scope *scope, const ir_expr *expr) {
  emit_function *f = scope->f;
  if (!expr->kids[1]->has_loads || expr->lanes > 1) return apply(scope, expr);
  bool differs = false;
  LLVMValueRef counted = f->width > 1 ? emit_counter_mask(scope, expr->kids[0], &differs) : NULL;
  emit_value c = counted && differs ? vector_value(counted) : emit_expr(scope, expr->kids[0]);
  emit_value b = emit_expr(scope, expr->kids[2]);
  LLVMValueRef outer = f->mask, lanes = NULL, enter = c.value;
  if (!is_uniform(c)) {
    lanes = outer ? LLVMBuildAnd(B, outer, c.value, "") : c.value;
    enter = any_lane(f, lanes);
  }
  /* Vectors of both sides are made where each side is, in case they differ between lanes. */
  bool vector = f->width > 1;
  LLVMValueRef no = vector ? emit_spread(f, b) : b.value;
  LLVMBasicBlockRef before = emit_here(f), then = emit_block(f, "guarded"), join = emit_block(f, "join");
  LLVMBuildCondBr(B, enter, then, join);
  emit_at(f, then);
  const ir_facts *facts = f->proofs.facts;
  if (scope->op) f->proofs.facts = ir_proofs_guard(&f->proofs, scope->op, expr->kids[0]);
  if (lanes) f->mask = lanes;
  size_t known = scope->order.count;
  emit_value a = emit_expr(scope, expr->kids[1]);
  LLVMValueRef yes = vector ? emit_spread(f, a) : a.value;
  if (lanes) yes = LLVMBuildSelect(B, c.value, yes, no, "");
  forget(scope, known);
  f->mask = outer;
  f->proofs.facts = facts;
  LLVMBasicBlockRef end = emit_here(f);
  LLVMBuildBr(B, join);
  emit_at(f, join);
  LLVMValueRef phi = LLVMBuildPhi(B, LLVMTypeOf(yes), "");
  LLVMAddIncoming(phi, (LLVMValueRef[]){yes, no}, (LLVMBasicBlockRef[]){end, before}, 2);
  return vector ? vector_value(phi) : emit_uniform_value(phi);
}

/* --- leaves --- */

static emit_value symbol(emit_function *f, const ir_expr *expr) {
  LLVMValueRef value = ir_map_get(&f->symbols, expr);
  if (value) return emit_uniform_value(value);
  emit_cannot(f, f->source->item.range, "find the value of symbol '%s' here: not implemented on llvm: data-dependent extent", expr->symbol->text);
  return emit_uniform_value(LLVMGetPoison(f->unit->i64));
}

emit_value emit_scalar(emit_function *f, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE)) {
    emit_scope inner = {.f = f, .op = op};
    return emit_expr(&inner, ir_attr_as_expr(f->unit->context, ir_get(op, "value")));
  }
  const emit_value *bound = ir_map_get(&f->values, value);
  if (bound) return *bound;
  emit_cannot(f, op ? op->range : f->source->item.range, "use a value that is no scalar here");
  return emit_uniform_value(LLVMGetPoison(f->unit->i64));
}

static emit_value compute(emit_scope *scope, const ir_expr *expr) {
  emit_function *f = scope->f;
  if (ir_scalars[expr->code].expanded) return expanded(scope, expr);
  switch ((int)expr->code) {
  case IR_S_CONST: {
    LLVMValueRef value = emit_constant(f->unit, (ir_dtype)expr->dtype, expr->bits);
    return emit_uniform_value(emit_splat(f, value, expr->lanes));
  }
  case IR_S_SYMBOL: return symbol(f, expr);
  case IR_S_ARG: return emit_scalar(f, scope->framed ? f->proofs.frame.operands[expr->arg] : ir_op_operand(scope->op, expr->arg));
  case IR_S_LOAD: return emit_load(scope, expr);
  case IR_S_CAST:
  case IR_S_BITCAST:
  case IR_S_BROADCAST:
  case IR_S_RAMP: return convert(scope, expr);
  case IR_S_GUARD: return guarded(scope, expr);
  default: return apply(scope, expr);
  }
}

static void see_guard(void *user, const ir_expr *node) { *(bool *)user |= node->code == IR_S_GUARD; }

static bool has_guard(const emit_function *f, const ir_expr *expr) {
  bool found = false;
  ir_expr_walk(f->unit->context, expr, see_guard, &found);
  return found;
}

/* What depends on symbols alone is computed once, at the start of the function. */
static emit_value hoisted(emit_function *f, const ir_expr *expr) {
  LLVMValueRef known = ir_map_get(&f->shared, expr);
  if (known) return emit_uniform_value(known);
  unsigned width = f->width;
  const ir_facts *facts = f->proofs.facts;
  LLVMBasicBlockRef here = emit_here(f);
  LLVMPositionBuilderBefore(B, LLVMGetBasicBlockTerminator(f->entry));
  f->width = 1;
  f->proofs.facts = NULL; /* conditions around it, and checks at the start, come later */
  emit_scope closed = {.f = f};
  emit_value value = compute(&closed, expr);
  f->width = width;
  f->proofs.facts = facts;
  if (here == f->entry) {
    LLVMPositionBuilderBefore(B, LLVMGetBasicBlockTerminator(here)); /* inside another such expression */
  } else {
    LLVMPositionBuilderAtEnd(B, here);
  }
  ir_map_put(&f->arena, &f->shared, expr, value.value);
  return value;
}

emit_value emit_expr(emit_scope *scope, const ir_expr *expr) {
  emit_function *f = scope->f;
  bool closed = !expr->has_args && expr->code != IR_S_CONST && expr->code != IR_S_SYMBOL;
  const emit_value *known = ir_map_get(&scope->memo, expr);
  if (known) return *known;
  if (closed && f->hoists && (ir_map_has(&f->shared, expr) || !has_guard(f, expr))) return hoisted(f, expr);
  emit_value *value = ir_new(&f->scratch, emit_value);
  *value = compute(scope, expr);
  ir_map_put(&f->scratch, &scope->memo, expr, value);
  *ir_push(&f->scratch, &scope->order) = expr;
  return *value;
}

LLVMValueRef emit_uniform(emit_function *f, const ir_op *op, const ir_expr *expr) {
  emit_scope scope = {.f = f, .op = op};
  return emit_expr(&scope, expr).value;
}
