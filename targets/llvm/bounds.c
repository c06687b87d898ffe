// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/bounds.c - what is known where: facts of loops and conditions, proofs that accesses are in range. The body
 * of a loop is emitted several times (vectors, remainder), so facts and proofs are kept by what they follow from. */
#include "targets/llvm/llvm.h"

/* --- facts and proofs, by their causes --- */

typedef struct known_entry {
  const void *key[3];
  const void *found;
} known_entry;

static bool same_key(const void *object, const void *key) {
  return !memcmp(((const known_entry *)object)->key, key, sizeof((const known_entry *)object)->key);
}

/* The entry for three causes; *fresh where it is new. */
static known_entry *known(emit_function *f, const void *a, const void *b, const void *c, bool *fresh) {
  const void *key[3] = {a, b, c};
  uint64_t hash = ir_hash_mix(ir_hash_mix(ir_hash_mix(17, (uintptr_t)a), (uintptr_t)b), (uintptr_t)c);
  void **slot = ir_intern_slot(&f->arena, &f->known, hash, key, same_key);
  *fresh = !*slot;
  if (*fresh) {
    known_entry *entry = ir_new(&f->arena, known_entry);
    memcpy(entry->key, key, sizeof key);
    *slot = entry;
  }
  return *slot;
}

/* --- expressions of operations in terms of the function --- */

enum { LARGEST_PROOF = 128 /* nodes: beyond, a binding stays a name */ };

static const ir_expr *spell_out(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  (void)frame;
  if (leaf->code == IR_S_LOAD) return NULL;
  return emit_value_in_frame(user, value);
}

const ir_expr *emit_in_frame(emit_function *f, const ir_op *op, const ir_expr *expr) {
  return op ? ir_frame_import(&f->frame, op, expr, NULL, spell_out, f) : expr;
}

const ir_expr *emit_value_in_frame(emit_function *f, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (ir_is(op, IR_SCALAR)) {
    const ir_expr *expr = ir_attr_as_expr(f->unit->context, ir_get(op, "value"));
    bool inlined = op->flags & IR_OP_INLINE;
    /* What was loaded before may be another element now: the binding stays a name. */
    if (inlined || (!expr->has_loads && expr->size <= LARGEST_PROOF)) {
      expr = emit_in_frame(f, op, expr);
      if (inlined || expr->size <= LARGEST_PROOF) return expr;
    }
  }
  return ir_expr_arg(f->unit->context, ir_frame_operand(&f->frame, value), ir_type_dtype(value->type), value->type->lanes);
}

const ir_facts *emit_facts_loop(emit_function *f, ir_value *variable, ir_value *extent) {
  bool fresh;
  known_entry *entry = known(f, f->facts, variable, extent, &fresh);
  if (!fresh) return entry->found;
  ir_context *context = f->unit->context;
  ir_facts *facts = ir_facts_new(context, &f->arena, f->facts);
  const ir_expr *counter = emit_value_in_frame(f, variable), *end = emit_value_in_frame(f, extent);
  ir_facts_range(facts, counter, 0, INT64_MAX - 1);
  if (!end->has_loads) ir_facts_assume(facts, ir_expr_binary(context, IR_S_LT, counter, end));
  return entry->found = facts;
}

/* Conjunctions in parts, so that a part that loads does not hide the others. */
static void assume(emit_function *f, ir_facts *facts, const ir_expr *condition, bool loads) {
  if (condition->code == IR_S_AND) {
    assume(f, facts, condition->kids[0], loads);
    assume(f, facts, condition->kids[1], loads);
  } else if (loads || !condition->has_loads) {
    ir_facts_assume(facts, condition);
  }
}

const ir_facts *emit_facts_guard(emit_function *f, const ir_op *op, const ir_expr *condition) {
  bool fresh;
  known_entry *entry = known(f, f->facts, op, condition, &fresh);
  if (!fresh) return entry->found;
  ir_facts *facts = ir_facts_new(f->unit->context, &f->arena, f->facts);
  /* Within one operation memory does not change. */
  assume(f, facts, emit_in_frame(f, op, condition), true);
  return entry->found = facts;
}

const ir_facts *emit_facts_if(emit_function *f, const ir_expr *condition, bool holds) {
  bool fresh;
  known_entry *entry = known(f, f->facts, condition, holds ? f : NULL, &fresh);
  if (!fresh) return entry->found;
  ir_context *context = f->unit->context;
  ir_facts *facts = ir_facts_new(context, &f->arena, f->facts);
  assume(f, facts, holds ? condition : ir_expr_unary(context, IR_S_NOT, condition), false);
  return entry->found = facts;
}

/* --- proofs --- */

/* --- proofs by cases: of select(c, a, b), and of bcast(a, b), where a == b, a == 1 or b == 1 has been checked --- */

enum { MOST_CASES = 3 /* nested */ };

static bool holds(emit_function *f, const ir_facts *facts, const ir_expr *condition, int depth);

static const ir_expr *find_select(const ir_expr *expr) {
  if (expr->code == IR_S_SELECT && expr->lanes == 1 && !expr->kids[0]->has_loads) return expr;
  for (size_t i = 0; i < expr->count; i++) {
    const ir_expr *found = find_select(expr->kids[i]);
    if (found) return found;
  }
  return NULL;
}

struct swap {
  const ir_expr *from, *to;
  ir_context *context;
};

static const ir_expr *swapped(const struct swap *s, const ir_expr *expr) {
  if (expr == s->from) return s->to;
  const ir_expr *kids[3];
  bool changed = false;
  if (!expr->count || expr->count > 3 || expr->code == IR_S_LOAD) return expr;
  for (size_t i = 0; i < expr->count; i++) {
    kids[i] = swapped(s, expr->kids[i]);
    changed |= kids[i] != expr->kids[i];
  }
  if (!changed) return expr;
  bool converts = ir_scalars[expr->code].typing == IR_TYPING_CONVERT;
  if (converts) return ir_expr_convert(s->context, (ir_scalar_code)expr->code, kids[0], (ir_dtype)expr->dtype, expr->lanes);
  return ir_expr_get(s->context, (ir_scalar_code)expr->code, expr->count, kids);
}

static bool either_way(emit_function *f, const ir_facts *facts, const ir_expr *condition, const ir_expr *select, int depth) {
  ir_context *context = f->unit->context;
  for (size_t side = 0; side < 2; side++) {
    const ir_expr *test = side ? ir_expr_unary(context, IR_S_NOT, select->kids[0]) : select->kids[0];
    if (ir_prove(context, facts, test) == IR_REFUTED) continue;
    ir_facts *inner = ir_facts_new(context, &f->arena, facts);
    ir_facts_assume(inner, test);
    const struct swap swap = {select, select->kids[1 + side], context};
    if (!holds(f, inner, swapped(&swap, condition), depth - 1)) return false;
  }
  return true;
}

/* Each of the ways in which A and B broadcast. */
static bool every_way(emit_function *f, const ir_facts *facts, const ir_expr *condition, size_t next, int depth) {
  ir_context *context = f->unit->context;
  const ir_expr *bcast = f->bcasts.at[next], *a = bcast->kids[0], *b = bcast->kids[1], *one = ir_expr_i64(context, 1);
  const ir_expr *tests[3][2] = {{a, b}, {a, one}, {b, one}}, *extents[3] = {a, b, a};
  for (size_t way = 0; way < 3; way++) {
    ir_facts *inner = ir_facts_new(context, &f->arena, facts);
    ir_facts_assume(inner, ir_expr_binary(context, IR_S_EQ, tests[way][0], tests[way][1]));
    ir_facts_assume(inner, ir_expr_binary(context, IR_S_EQ, bcast, extents[way]));
    bool last = next + 1 == f->bcasts.count;
    bool fine = holds(f, inner, condition, depth - 1) || (!last && depth > 1 && every_way(f, inner, condition, next + 1, depth - 1));
    if (!fine) return false;
  }
  return true;
}

static bool holds(emit_function *f, const ir_facts *facts, const ir_expr *condition, int depth) {
  if (ir_prove(f->unit->context, facts, condition) == IR_PROVEN) return true;
  const ir_expr *select = depth ? find_select(condition) : NULL;
  return select && either_way(f, facts, condition, select, depth);
}

static bool proven(emit_function *f, const ir_expr *condition) {
  bool fresh;
  known_entry *entry = known(f, f->facts, condition, &f->known, &fresh);
  if (!fresh) return entry->found != NULL;
  bool fine = holds(f, f->facts, condition, MOST_CASES);
  if (!fine && f->bcasts.count) fine = every_way(f, f->facts, condition, 0, MOST_CASES);
  entry->found = fine ? f : NULL;
  return fine;
}

bool emit_is_natural(emit_scope *scope, const ir_expr *expr, int64_t least) {
  emit_function *f = scope->f;
  ir_context *context = f->unit->context;
  int64_t number;
  if (ir_expr_is_int(expr, &number)) return number >= least;
  if (!f->facts) return false;
  return proven(f, ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, least), emit_in_frame(f, scope->op, expr)));
}

/* 0 <= index and index + lanes <= extent */
static bool in_range(emit_scope *scope, const ir_expr *index, const ir_expr *extent, unsigned lanes) {
  emit_function *f = scope->f;
  ir_context *context = f->unit->context;
  if (index->dtype != IR_I64 || !extent || !f->facts) return false;
  const ir_expr *at = emit_in_frame(f, scope->op, index), *last = at;
  if (lanes > 1) last = ir_expr_binary(context, IR_S_ADD, at, ir_expr_i64(context, (int64_t)lanes - 1));
  return proven(f, ir_expr_binary(context, IR_S_LE, ir_expr_i64(context, 0), at)) &&
         proven(f, ir_expr_binary(context, IR_S_LT, last, extent));
}

/* --- accesses --- */

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
  for (size_t k = 0; k < count; k++) {
    unsigned lanes = index[k]->code == IR_S_RAMP ? index[k]->lanes : 1;
    const ir_expr *first = lanes > 1 ? index[k]->kids[0] : index[k];
    emit_value v = index_value(scope, first);
    bool fine = f->assume_in_bounds || in_range(scope, first, place.buffer->type_dims[k], lanes);
    if (lanes > 1) place.ramp = lanes;
    if (!fine) contain(scope, &place, &v, places(f, place.buffer->dims[k], lanes), write, k);
    if (first->lanes > 1) v.varying = true;
    emit_value scale = emit_uniform_value(k ? place.buffer->dims[k] : emit_i64(f->unit, 1));
    if (v.varying && f->width == 1) {
      /* A vector of the program, not of the loop around. */
      LLVMValueRef row = LLVMBuildMul(B, place.flat.value, scale.value, "");
      place.flat.value = LLVMBuildAdd(B, like(f, row, v.value), v.value, "");
      place.flat.varying = true;
    } else {
      place.flat = k ? emit_add(f, emit_mul(f, place.flat, scale), v) : v;
    }
  }
  if (!place.proven && !write) avoid_empty(f, &place);
  return place;
}
