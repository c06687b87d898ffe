// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/expr.c - scalar expressions: every distinct node is computed once where it stands. */
#include "targets/place.h"
#include "targets/spirv/emit.h"

/* --- operators --- */

static sv_hint hint_of(sv_scope *scope, const ir_expr *expr) {
  sv_hint hint = {0};
  ir_proofs *p = &scope->f->proofs;
  if (!ir_expr_divides(expr)) return hint;
  const ir_expr *divisor = expr->kids[1];
  if (divisor->code == IR_S_CONST) {
    hint.divisor = ir_int_from_bits((ir_dtype)divisor->dtype, divisor->bits);
    hint.has_divisor = hint.divisor && hint.divisor != -1;
  }
  if (expr->dtype == IR_I64 && p->facts) hint.natural = ir_proofs_at_least(p, scope->op, divisor, 1) && ir_proofs_at_least(p, scope->op, expr->kids[0], 0);
  return hint;
}

/* What an operation that cannot be written says. */
static sv_id refuse(sv_scope *scope, const ir_expr *expr) {
  const sv_module *m = scope->f->module;
  ir_range range = scope->op ? scope->op->range : (ir_range){0, 0};
  ir_error(m->context->diags, range, "the spirv target cannot compute %s of %s", ir_scalars[expr->code].name,
           ir_dtype_name((ir_dtype)(expr->count ? expr->kids[0]->dtype : expr->dtype)));
  return 0;
}

static bool may_be_cast(const ir_expr *expr) { return expr->code == IR_S_CAST || expr->code == IR_S_MIN || expr->code == IR_S_MAX; }

/* i64(x) against a constant: in the dtype of x, since lavapipe gets `i64(x) < 20` wrong. EXPR itself where there is no such form. */
static const ir_expr *narrowed(sv_scope *scope, const ir_expr *expr) {
  bool orders = expr->code == IR_S_MIN || expr->code == IR_S_MAX || ir_scalars[expr->code].typing == IR_TYPING_COMPARE;
  bool wide = orders && (may_be_cast(expr->kids[0]) || may_be_cast(expr->kids[1])) && ir_dtypes[expr->kids[0]->dtype].bits == 64;
  return wide ? ir_simplify(scope->f->module->context, NULL, expr) : expr;
}

/* An operator that does no arithmetic with its operands; what it makes of a zero is right everywhere. */
static bool only_compares(const ir_expr *expr) {
  return ir_scalars[expr->code].typing == IR_TYPING_COMPARE || expr->code == IR_S_MIN || expr->code == IR_S_MAX;
}

static sv_id operand(sv_scope *scope, const ir_expr *expr, size_t i) {
  const ir_expr *kid = expr->kids[i];
  if (kid->code == IR_S_CONST && only_compares(expr)) return sv_constant(scope->f->module, (ir_dtype)kid->dtype, kid->bits);
  return sv_expr(scope, kid);
}

static sv_id apply(sv_scope *scope, const ir_expr *expr) {
  sv_function *f = scope->f;
  const ir_expr *simple = narrowed(scope, expr);
  if (simple != expr) return sv_expr(scope, simple);
  sv_id in[3] = {0};
  for (size_t i = 0; i < expr->count && i < ir_count_of(in); i++) in[i] = operand(scope, expr, i);
  bool selects = ir_scalars[expr->code].typing == IR_TYPING_SELECT;
  ir_dtype operand = (ir_dtype)expr->kids[selects ? 1 : 0]->dtype;
  ir_scalar_code code = (ir_scalar_code)expr->code;
  if (!ir_scalars[code].expanded) return sv_operator(f, code, operand, in, hint_of(scope, expr));
  sv_id function = sv_expanded(f->module, code, operand);
  return function ? sv_call(f, sv_kind_of(operand), function, expr->count, in) : 0;
}

/* --- memory --- */

sv_id sv_element(sv_scope *scope, const sv_buffer *buffer, const ir_expr *flat) {
  sv_function *f = scope->f;
  sv_module *m = f->module;
  if (buffer->single) return buffer->variable;
  ir_dtype dtype = ir_type_dtype(buffer->type);
  bool in_block = buffer->storage == SpvStorageClassStorageBuffer;
  sv_id element = in_block ? sv_stored_type(m, dtype) : sv_type(m, sv_kind_of(dtype));
  sv_id pointer = sv_pointer(m, buffer->storage, element), at = sv_expr(scope, flat);
  if (in_block) return sv_emit(f, SpvOpAccessChain, pointer, SV_WORDS(buffer->variable, sv_word(m, 0), at));
  return sv_emit(f, SpvOpAccessChain, pointer, SV_WORDS(buffer->variable, at));
}

static sv_id load_at(sv_scope *scope, const sv_buffer *buffer, const ir_expr *flat) {
  sv_function *f = scope->f;
  sv_module *m = f->module;
  ir_dtype dtype = ir_type_dtype(buffer->type);
  bool in_block = buffer->storage == SpvStorageClassStorageBuffer;
  sv_id pointer = sv_element(scope, buffer, flat), type = in_block ? sv_stored_type(m, dtype) : sv_type(m, sv_kind_of(dtype));
  sv_id value = sv_emit(f, SpvOpLoad, type, 1, &pointer);
  return in_block ? sv_from_memory(f, dtype, value) : value;
}

static void forget(sv_scope *scope, size_t count) {
  while (scope->order.count > count) ir_map_remove(&scope->memo, scope->order.at[--scope->order.count]);
}

static sv_id load(sv_scope *scope, const ir_expr *expr) {
  sv_function *f = scope->f;
  const sv_buffer *buffer = ir_map_get(&f->buffers, ir_op_operand(scope->op, expr->arg));
  ir_place place = ir_place_find(&f->proofs, scope->op, buffer->type, expr->count, expr->kids, false, f->trusted);
  ir_dtype dtype = ir_type_dtype(buffer->type);
  if (place.never) return sv_operand(f, dtype, 0);
  if (!place.on) return load_at(scope, buffer, place.flat);
  sv_id condition = sv_expr(scope, place.on), none = sv_operand(f, dtype, 0);
  sv_when when = sv_when_begin(f, condition);
  size_t known = scope->order.count;
  sv_id value = load_at(scope, buffer, place.flat);
  forget(scope, known);
  sv_when_end(f, &when);
  return sv_when_value(f, &when, sv_kind_of(dtype), value, none);
}

/* --- guard(c, a, b): what A loads is not loaded where c is false --- */

static sv_id guarded(sv_scope *scope, const ir_expr *expr) {
  sv_function *f = scope->f;
  if (!expr->kids[1]->has_loads) return apply(scope, expr);
  sv_id condition = sv_expr(scope, expr->kids[0]), otherwise = sv_expr(scope, expr->kids[2]);
  sv_when when = sv_when_begin(f, condition);
  const ir_facts *facts = f->proofs.facts;
  if (scope->op) f->proofs.facts = ir_proofs_guard(&f->proofs, scope->op, expr->kids[0]);
  size_t known = scope->order.count;
  sv_id value = sv_expr(scope, expr->kids[1]);
  forget(scope, known);
  f->proofs.facts = facts;
  sv_when_end(f, &when);
  return sv_when_value(f, &when, sv_kind_of((ir_dtype)expr->dtype), value, otherwise);
}

/* --- leaves --- */

static sv_id bound(const sv_function *f, const void *key) { return (sv_id)(uintptr_t)ir_map_get(&f->values, key); }

sv_id sv_scalar(sv_function *f, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (!op || !(op->flags & IR_OP_INLINE)) return bound(f, value);
  sv_scope inner = {.f = f, .op = op};
  return sv_expr(&inner, ir_attr_as_expr(f->module->context, ir_get(op, "value")));
}

static sv_id compute(sv_scope *scope, const ir_expr *expr) {
  sv_function *f = scope->f;
  const ir_expr *known = ir_simplify_constant(f->module->context, expr);
  if (known != expr) return sv_expr(scope, known);
  ir_dtype from = expr->count ? (ir_dtype)expr->kids[0]->dtype : IR_I64, to = (ir_dtype)expr->dtype;
  switch ((int)expr->code) {
  case IR_S_CONST: return sv_operand(f, to, expr->bits);
  case IR_S_SYMBOL: return bound(f, expr);
  case IR_S_ARG: return f->arguments ? f->arguments[expr->arg] : sv_scalar(f, ir_op_operand(scope->op, expr->arg));
  case IR_S_LOAD: return load(scope, expr);
  case IR_S_CAST: return sv_convert(f, sv_expr(scope, expr->kids[0]), from, to);
  case IR_S_BITCAST: return sv_bitcast(f, sv_expr(scope, expr->kids[0]), from, to);
  case IR_S_GUARD: return guarded(scope, expr);
  default: return apply(scope, expr);
  }
}

sv_id sv_expr(sv_scope *scope, const ir_expr *expr) {
  sv_id known = (sv_id)(uintptr_t)ir_map_get(&scope->memo, expr);
  if (known) return known;
  sv_id value = compute(scope, expr);
  if (!value) value = refuse(scope, expr);
  ir_map_put(&scope->f->arena, &scope->memo, expr, (void *)(uintptr_t)value);
  *ir_push(&scope->f->arena, &scope->order) = expr;
  return value;
}
