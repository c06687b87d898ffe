// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/helper.c - functions of a module that kernels call: EXPANDED operators, and the remainder of floats, which the
 * instruction only approximates. Each is made once, by the first that asks for it. */
#include "targets/spirv/emit.h"

#include "ir/formula.h"

static const ir_string *key_of(sv_module *m, const char *name) { return ir_intern(m->context, ir_slice_of(name)); }

sv_id sv_helper(sv_module *m, const char *name) { return (sv_id)(uintptr_t)ir_map_get(&m->helpers, key_of(m, name)); }

void sv_helper_is(sv_module *m, const char *name, sv_id id) {
  ir_map_put(m->arena, &m->helpers, key_of(m, name), (void *)(uintptr_t)id);
  sv_name(m, id, name);
}

sv_id sv_call(sv_function *f, sv_kind kind, sv_id function, size_t count, const sv_id *in) {
  uint32_t words[3] = {function};
  for (size_t i = 0; i < count; i++) words[1 + i] = in[i];
  return sv_emit(f, SpvOpFunctionCall, sv_type(f->module, kind), 1 + count, words);
}

static void begin_real(sv_function *f, sv_module *m, sv_kind kind, size_t count, sv_id *arguments) {
  const sv_id type = sv_type(m, kind), types[2] = {type, type};
  sv_function_begin(f, m, type, count, types, arguments);
}

static sv_id end(sv_function *f, const char *name, sv_id result) {
  sv_do(f, SpvOpReturnValue, 1, &result);
  sv_function_end(f);
  sv_helper_is(f->module, name, f->id);
  return f->id;
}

sv_id sv_expanded(sv_module *m, ir_scalar_code code, ir_dtype dtype) {
  const char *name = ir_arena_printf(m->arena, "%s_%s", ir_scalars[code].name, ir_dtype_name(dtype));
  sv_id known = sv_helper(m, name);
  if (known) return known;
  const ir_expr *args[2];
  size_t arity = (size_t)ir_scalars[code].arity;
  for (size_t i = 0; i < arity && i < ir_count_of(args); i++) args[i] = ir_expr_arg(m->context, (uint32_t)i, dtype, 1);
  const ir_expr *body = ir_expand(m->context, ir_expr_get(m->context, code, arity, args));
  if (!body) return 0;
  sv_function f = {0};
  sv_id arguments[2];
  begin_real(&f, m, sv_kind_of(dtype), arity, arguments);
  f.arguments = arguments;
  sv_scope scope = {.f = &f};
  return end(&f, name, sv_expr(&scope, body));
}

/* --- fmod: long division of the mantissas --- */

struct dividing {
  sv_function *f;
  sv_kind kind, integer;
  unsigned mantissa, step; /* step: quotient bits that fit beside the remainder */
};

static sv_id number(const struct dividing *d, int64_t value) { return sv_int(d->f->module, d->integer, value); }

static sv_id on(const struct dividing *d, SpvOp op, sv_id a, sv_id b) { return sv_binary(d->f, op, d->integer, a, b); }

static sv_id is(const struct dividing *d, SpvOp op, sv_id a, sv_id b) { return sv_binary(d->f, op, SV_BOOL, a, b); }

/* BITS (no sign) is fraction * 2^(exponent - 1) of the smallest steps, exponent >= 1. */
static void take_apart(const struct dividing *d, sv_id bits, sv_id *exponent, sv_id *fraction) {
  sv_id field = on(d, SpvOpShiftRightLogical, bits, number(d, d->mantissa)), zero = number(d, 0), one = number(d, 1);
  sv_id is_small = is(d, SpvOpIEqual, field, zero), leading = number(d, INT64_C(1) << d->mantissa);
  sv_id rest = on(d, SpvOpBitwiseAnd, bits, number(d, (INT64_C(1) << d->mantissa) - 1));
  *exponent = sv_choose(d->f, d->integer, is_small, one, field);
  *fraction = on(d, SpvOpBitwiseOr, rest, sv_choose(d->f, d->integer, is_small, zero, leading));
}

/* (REST << COUNT) mod DIVISOR, a few bits a round; REST < DIVISOR. */
static sv_id shifted_remainder(const struct dividing *d, sv_id rest, sv_id count, sv_id divisor) {
  sv_function *f = d->f;
  sv_id next_rest, next_count, step = number(d, d->step);
  sv_loop loop = sv_loop_begin(f);
  sv_id now = sv_loop_carry(f, &loop, d->integer, rest, &next_rest), left = sv_loop_carry(f, &loop, d->integer, count, &next_count);
  sv_loop_test(f, &loop, SpvLoopControlMaskNone);
  sv_loop_enter(f, &loop, is(d, SpvOpUGreaterThan, left, number(d, 0)));
  sv_id bits = sv_choose(f, d->integer, is(d, SpvOpULessThan, left, step), left, step);
  sv_id moved = on(d, SpvOpShiftLeftLogical, now, bits);
  sv_loop_next(f, &loop);
  sv_emit_as(f, next_rest, SpvOpUMod, sv_type(f->module, d->integer), SV_WORDS(moved, divisor));
  sv_emit_as(f, next_count, SpvOpISub, sv_type(f->module, d->integer), SV_WORDS(left, bits));
  sv_loop_end(f, &loop);
  return now;
}

/* FRACTION * 2^(EXPONENT - 1) of the smallest steps as bits: the fraction goes up until its leading bit is the hidden one. */
static sv_id put_together(const struct dividing *d, sv_id fraction, sv_id exponent) {
  sv_function *f = d->f;
  sv_id next_fraction, next_exponent, one = number(d, 1), type = sv_type(f->module, d->integer);
  sv_loop loop = sv_loop_begin(f);
  sv_id now = sv_loop_carry(f, &loop, d->integer, fraction, &next_fraction), at = sv_loop_carry(f, &loop, d->integer, exponent, &next_exponent);
  sv_loop_test(f, &loop, SpvLoopControlMaskNone);
  sv_id is_short = is(d, SpvOpULessThan, now, number(d, INT64_C(1) << d->mantissa));
  sv_id more = is(d, SpvOpLogicalAnd, is_short, is(d, SpvOpUGreaterThan, at, one));
  sv_loop_enter(f, &loop, more);
  sv_loop_next(f, &loop);
  sv_emit_as(f, next_fraction, SpvOpShiftLeftLogical, type, SV_WORDS(now, one));
  sv_emit_as(f, next_exponent, SpvOpISub, type, SV_WORDS(at, one));
  sv_loop_end(f, &loop);
  return on(d, SpvOpIAdd, now, on(d, SpvOpShiftLeftLogical, on(d, SpvOpISub, at, one), number(d, d->mantissa)));
}

/* |X| mod |Y| as bits, for finite X and Y, Y no 0, |X| >= |Y|. */
static sv_id remainder_bits(const struct dividing *d, sv_id x, sv_id y) {
  sv_id high, low, dividend, divisor;
  take_apart(d, x, &high, &dividend);
  take_apart(d, y, &low, &divisor);
  sv_id rest = shifted_remainder(d, on(d, SpvOpUMod, dividend, divisor), on(d, SpvOpISub, high, low), divisor);
  return put_together(d, rest, low);
}

sv_id sv_fmod(sv_module *m, sv_kind kind) {
  const char *name = kind == SV_F64 ? "fmod_f64" : "fmod_f32";
  sv_id known = sv_helper(m, name);
  if (known) return known;
  sv_function f = {0};
  sv_id in[2];
  begin_real(&f, m, kind, 2, in);
  const struct dividing d = kind == SV_F64 ? (struct dividing){&f, kind, SV_I64, 52, 11} : (struct dividing){&f, kind, SV_I32, 23, 8};
  int64_t top = kind == SV_F64 ? INT64_MIN : INT64_C(1) << 31, infinity = kind == SV_F64 ? INT64_C(0x7ff) << 52 : 0x7f800000;
  sv_id mask = number(&d, ~top), zero = number(&d, 0), limit = number(&d, infinity);
  sv_id bits = sv_bits(&f, kind, in[0]), sign = on(&d, SpvOpBitwiseAnd, bits, number(&d, top)), x = on(&d, SpvOpBitwiseAnd, bits, mask);
  sv_id y = on(&d, SpvOpBitwiseAnd, sv_bits(&f, kind, in[1]), mask);
  sv_id none = is(&d, SpvOpLogicalOr, is(&d, SpvOpIEqual, y, zero), is(&d, SpvOpUGreaterThan, y, limit));
  none = is(&d, SpvOpLogicalOr, none, is(&d, SpvOpUGreaterThanEqual, x, limit));
  sv_id divides = is(&d, SpvOpLogicalAnd, sv_unary(&f, SpvOpLogicalNot, SV_BOOL, none), is(&d, SpvOpUGreaterThanEqual, x, y));
  sv_when when = sv_when_begin(&f, divides);
  sv_id rest = remainder_bits(&d, x, y);
  sv_when_end(&f, &when);
  sv_id size = sv_when_value(&f, &when, d.integer, rest, x);
  size = sv_choose(&f, d.integer, none, number(&d, infinity + (infinity & -infinity) / 2), size);
  return end(&f, name, sv_from_bits(&f, kind, on(&d, SpvOpBitwiseOr, size, sign)));
}
