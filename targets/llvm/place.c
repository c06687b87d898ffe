// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/place.c - where an access goes: the element's number from the indices, clamped or switched off where an index
 * is not proven to be in range. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

/* An index as i64, whatever integer it is. */
static emit_value index_value(emit_scope *scope, const ir_expr *index) {
  emit_function *f = scope->f;
  emit_value v = emit_expr(scope, index);
  if (index->dtype == IR_I64) return v;
  v.value = emit_cast(f, v.value, (ir_dtype)index->dtype, IR_I64);
  return v;
}

static LLVMValueRef like(emit_function *f, LLVMValueRef scalar, LLVMValueRef model) {
  return emit_splat(f, scalar, emit_lanes(model));
}

/* Places where an access of LANES neighbours may begin on an axis. */
static LLVMValueRef places(emit_function *f, LLVMValueRef extent, unsigned lanes) {
  if (lanes == 1) return extent;
  LLVMValueRef zero = emit_i64(f->unit, 0), room = LLVMBuildSub(B, extent, emit_i64(f->unit, (int64_t)lanes - 1), "");
  return LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSGT, room, zero, ""), room, zero, "");
}

/* Index K of an access may be out of range: a read is clamped, a write is switched off. */
static void contain(emit_scope *scope, emit_place *place, emit_value *v, LLVMValueRef extent, bool write, size_t axis) {
  emit_function *f = scope->f;
  LLVMValueRef at = v->step || v->varying ? emit_spread(f, *v) : v->value;
  LLVMValueRef end = like(f, extent, at);
  LLVMValueRef inside = LLVMBuildICmp(B, LLVMIntULT, at, end, "");
  if (f->unit->checked && f->width == 1 && emit_lanes(at) == 1 && scope->op) {
    ir_text text = {0};
    ir_text_printf(&text, "index {0} on axis %zu is out of range: the extent is {1}", axis);
    emit_require(f, inside, scope->op->range, ir_op_loc(scope->op), text.at, 2, (LLVMValueRef[]){at, extent});
    ir_text_free(&text);
    return;
  }
  place->proven = false;
  if (write) {
    if (place->on && emit_lanes(place->on) < emit_lanes(inside)) place->on = like(f, place->on, inside);
    if (place->on && emit_lanes(inside) < emit_lanes(place->on)) inside = like(f, inside, place->on);
    place->on = place->on ? LLVMBuildAnd(B, place->on, inside, "") : inside;
    return;
  }
  LLVMValueRef some = LLVMBuildICmp(B, LLVMIntSGT, extent, emit_i64(f->unit, 0), "");
  place->some = place->some ? LLVMBuildAnd(B, place->some, some, "") : some;
  LLVMValueRef zero = emit_int_of(LLVMTypeOf(at), 0), one = emit_int_of(LLVMTypeOf(at), 1);
  LLVMValueRef last = LLVMBuildSub(B, end, one, "");
  LLVMValueRef up = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, at, zero, ""), zero, at, "");
  LLVMValueRef clamped = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSGT, up, last, ""), last, up, "");
  v->value = clamped;
  v->varying = v->step || v->varying || emit_lanes(at) > 1;
  v->step = NULL;
}

/* Zeros to read where a buffer has no element at all. */
static LLVMValueRef nothing_to_read(emit_unit *unit) {
  enum { SIZE = 8192 };
  LLVMValueRef zeros = LLVMGetNamedGlobal(unit->module, "zeros");
  if (zeros) return zeros;
  LLVMTypeRef type = LLVMArrayType2(unit->i8, SIZE);
  zeros = LLVMAddGlobal(unit->module, type, "zeros");
  LLVMSetInitializer(zeros, LLVMConstNull(type));
  LLVMSetGlobalConstant(zeros, 1);
  LLVMSetLinkage(zeros, LLVMPrivateLinkage);
  LLVMSetAlignment(zeros, 64);
  return zeros;
}

/* A clamped read where there is nothing to read reads zeros. */
static void avoid_empty(emit_function *f, emit_place *place) {
  int64_t sure;
  LLVMValueRef some = place->some;
  if (!some || (emit_is_const(some, &sure) && sure)) return;
  LLVMValueRef zero = emit_int_of(LLVMTypeOf(place->flat.value), 0);
  place->base = LLVMBuildSelect(B, some, place->base, nothing_to_read(f->unit), "");
  place->flat.value = LLVMBuildSelect(B, some, place->flat.value, zero, "");
  int64_t step;
  bool neighbours = place->flat.step && emit_is_const(place->flat.step, &step) && step == 1; /* there are enough zeros */
  if (place->flat.step && !neighbours) place->flat.step = LLVMBuildSelect(B, some, place->flat.step, emit_i64(f->unit, 0), "");
}

/* --- indices that are the digits of one number --- */

static bool is_digit(emit_function *f, const ir_expr *expr, ir_scalar_code code, const ir_expr *extent) {
  return expr->code == code && ir_prove_equal(f->unit->context, f->proofs.facts, expr->kids[1], extent) == IR_PROVEN;
}

/* The number T where the indices A and B, of extents that end with EXTENT, are floordiv(T, extent), floormod(T, extent):
 * then A * extent + B = T. */
static const ir_expr *joined(emit_function *f, const ir_expr *a, const ir_expr *b, const ir_expr *extent) {
  if (!a || !b || !extent || a->dtype != IR_I64) return NULL;
  bool digits = is_digit(f, a, IR_S_FLOORDIV, extent) && is_digit(f, b, IR_S_FLOORMOD, extent);
  return digits && a->kids[0] == b->kids[0] ? a->kids[0] : NULL;
}

/* One index, or several that have been joined. */
typedef struct digit {
  const ir_expr *index;   /* of the operation */
  const ir_expr *spelled; /* joined: the number, in the frame */
  size_t first, last;     /* axes */
  bool fine;              /* in range */
} digit;

static const ir_expr *spell(emit_scope *scope, const ir_expr *index) {
  emit_function *f = scope->f;
  if (index->lanes > 1 || !f->proofs.facts || index->has_loads) return NULL;
  const ir_expr *spelled = ir_proofs_frame(&f->proofs, scope->op, index);
  return spelled->has_loads ? NULL : spelled;
}

static digit single(emit_scope *scope, const emit_buffer *buffer, const ir_expr *index, size_t k) {
  unsigned lanes = index->code == IR_S_RAMP ? index->lanes : 1;
  digit d = {.index = index, .first = k, .last = k};
  d.fine = scope->f->assume_in_bounds || ir_proofs_in_range(&scope->f->proofs, scope->op, lanes > 1 ? index->kids[0] : index, buffer->type_dims[k], lanes);
  return d;
}

/* Indices from K on that are digits of one number which is in range of their extents' product: easier to prove than each
 * by itself. Those of index K alone where there are none. */
static digit longest(emit_scope *scope, const emit_buffer *buffer, size_t count, const ir_expr *const *index, size_t k) {
  emit_function *f = scope->f;
  ir_context *context = f->unit->context;
  const ir_expr *number = k + 1 < count ? spell(scope, index[k]) : NULL, *size = buffer->type_dims[k];
  digit best = {.index = index[k], .first = k, .last = k};
  for (size_t next = k + 1; next < count && number; next++) {
    number = joined(f, number, spell(scope, index[next]), buffer->type_dims[next]);
    if (!number) break;
    size = size ? ir_dim_mul(context, f->proofs.facts, size, buffer->type_dims[next]) : NULL;
    bool fine = f->assume_in_bounds || (size && ir_proofs_in_range(&f->proofs, NULL, number, size, 1));
    if (fine) best = (digit){.index = index[k], .spelled = number, .first = k, .last = next, .fine = true};
  }
  return best.last > k ? best : single(scope, buffer, index[k], k);
}

static void add_digit(emit_scope *scope, emit_place *place, const digit *d, bool write) {
  emit_function *f = scope->f;
  const emit_buffer *buffer = place->buffer;
  unsigned lanes = d->index->code == IR_S_RAMP ? d->index->lanes : 1;
  const ir_expr *first = lanes > 1 ? d->index->kids[0] : d->index;
  emit_scope framed = {.f = f, .framed = true};
  emit_value v = d->last > d->first ? emit_expr(&framed, d->spelled) : index_value(scope, first);
  if (lanes > 1) place->ramp = lanes;
  if (!d->fine) contain(scope, place, &v, places(f, buffer->dims[d->first], lanes), write, d->first);
  if (first->lanes > 1) v.varying = true;
  if (!d->first) {
    place->flat = v;
    return;
  }
  emit_value scale = emit_uniform_value(buffer->dims[d->first]);
  for (size_t k = d->first + 1; k <= d->last; k++) scale = emit_mul(f, scale, emit_uniform_value(buffer->dims[k]));
  if (v.varying && f->width == 1) {
    /* A vector of the program, not of the loop around. */
    LLVMValueRef row = LLVMBuildMul(B, place->flat.value, scale.value, "");
    place->flat.value = LLVMBuildAdd(B, like(f, row, v.value), v.value, "");
    place->flat.varying = true;
  } else {
    place->flat = emit_add(f, emit_mul(f, place->flat, scale), v);
  }
}

emit_place emit_find_place(emit_scope *scope, ir_value *target, size_t count, const ir_expr *const *index, bool write) {
  emit_function *f = scope->f;
  emit_place place = {.proven = true};
  place.buffer = ir_map_get(&f->buffers, target);
  if (!place.buffer) {
    emit_cannot(f, scope->op ? scope->op->range : f->source->item.range, "find the memory of a buffer");
    return place;
  }
  place.base = place.buffer->data;
  place.flat = emit_uniform_value(emit_i64(f->unit, 0));
  for (size_t k = 0; k < count;) {
    const digit d = longest(scope, place.buffer, count, index, k);
    add_digit(scope, &place, &d, write);
    k = d.last + 1;
  }
  if (!place.proven && !write) avoid_empty(f, &place);
  return place;
}
