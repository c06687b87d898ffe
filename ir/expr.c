// SPDX-License-Identifier: Apache-2.0
/* ir/expr.c - hash-consed scalar expressions. Needs ir/context, ir/dtype. Simplification is in ir/simplify.c. */
#include "ir/expr.h"

#include "base/vec.h"

const ir_scalar_def ir_scalars[IR_S_COUNT] = {
#define SCALAR(ID, text, n, kind, class, spelling, words) \
  [IR_S_##ID] = {.name = text, .infix = spelling, .doc = words, .arity = n, .typing = IR_TYPING_##kind, .expanded = CLASS_##class},
#define CLASS_EXACT false
#define CLASS_EXPANDED true
#include "ir/scalar.def"
#undef SCALAR
};

static bool same_expr(const void *object, const void *key) {
  const ir_expr *a = object, *b = key;
  return a->code == b->code && a->dtype == b->dtype && a->lanes == b->lanes && a->count == b->count &&
         a->arg == b->arg && a->bits == b->bits && (!a->count || !memcmp(a->kids, b->kids, a->count * sizeof *a->kids));
}

enum { MAX_KIDS = 255 };

/* A node with room for its operands, to look it up before it exists. */
union probe {
  ir_expr node;
  char space[sizeof(ir_expr) + MAX_KIDS * sizeof(const ir_expr *)];
};

static const ir_expr *get(ir_context *context, const ir_expr *fields, size_t count, const ir_expr *const *kids) {
  union probe probe;
  ir_expr head = *fields;
  head.count = (uint8_t)count;
  uint64_t size = 1;
  for (size_t i = 0; i < count; i++) {
    size += kids[i]->size;
    head.has_args |= kids[i]->has_args;
    head.has_loads |= kids[i]->has_loads;
  }
  head.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
  memcpy(&probe.node, &head, sizeof head);
  if (count) memcpy(probe.node.kids, kids, count * sizeof *kids);
  uint64_t hash = ir_hash_mix((uint64_t)head.code << 32 | (uint64_t)head.dtype << 16 | head.lanes, head.bits);
  hash = ir_hash_mix(hash, (uint64_t)head.arg << 8 | count);
  for (size_t i = 0; i < count; i++) hash = ir_hash_mix(hash, (uint64_t)(uintptr_t)kids[i]);
  void **slot = ir_intern_slot(&context->arena, &context->exprs, hash, &probe.node, same_expr);
  if (*slot) return *slot;
  ir_expr *expr = ir_arena_alloc(&context->arena, sizeof *expr + count * sizeof *kids);
  memcpy(expr, &probe.node, sizeof *expr + count * sizeof *kids);
  return *slot = expr;
}

const ir_expr *ir_expr_const(ir_context *context, ir_dtype dtype, unsigned lanes, uint64_t bits) {
  return get(context, &(ir_expr){.code = IR_S_CONST, .dtype = (uint8_t)dtype, .lanes = (uint16_t)lanes, .bits = bits}, 0, NULL);
}

const ir_expr *ir_expr_i64(ir_context *context, int64_t value) {
  return ir_expr_const(context, IR_I64, 1, (uint64_t)value);
}

const ir_expr *ir_expr_bool(ir_context *context, bool value) { return ir_expr_const(context, IR_BOOL, 1, value); }

const ir_expr *ir_expr_float(ir_context *context, ir_dtype dtype, double value) {
  return ir_expr_const(context, dtype, 1, ir_float_to_bits(dtype, value));
}

const ir_expr *ir_expr_int(ir_context *context, ir_dtype dtype, int64_t value) {
  if (ir_is_float(dtype)) return ir_expr_float(context, dtype, (double)value);
  return ir_expr_const(context, dtype, 1, ir_int_to_bits(dtype, value));
}

const ir_expr *ir_expr_symbol(ir_context *context, const ir_string *name) {
  return get(context, &(ir_expr){.code = IR_S_SYMBOL, .dtype = IR_I64, .lanes = 1, .symbol = name}, 0, NULL);
}

const ir_expr *ir_expr_arg(ir_context *context, uint32_t operand, ir_dtype dtype, unsigned lanes) {
  return get(context,
             &(ir_expr){.code = IR_S_ARG, .dtype = (uint8_t)dtype, .lanes = (uint16_t)lanes, .arg = operand, .has_args = true},
             0, NULL);
}

const ir_expr *ir_expr_load(ir_context *context, uint32_t buffer, ir_dtype dtype, unsigned buffer_lanes, size_t count,
                            const ir_expr *const *indices) {
  unsigned lanes = buffer_lanes;
  for (size_t i = 0; i < count; i++) {
    if (indices[i]->lanes > 1) lanes = indices[i]->lanes;
  }
  return get(context,
             &(ir_expr){.code = IR_S_LOAD,
                       .dtype = (uint8_t)dtype,
                       .lanes = (uint16_t)lanes,
                       .arg = buffer,
                       .has_args = true,
                       .has_loads = true},
             count, indices);
}

const ir_expr *ir_expr_get(ir_context *context, ir_scalar_code code, size_t count, const ir_expr *const *kids) {
  ir_scalar_typing typing = ir_scalars[code].typing;
  bool is_bool = typing == IR_TYPING_COMPARE || typing == IR_TYPING_TEST || typing == IR_TYPING_LOGIC;
  const ir_expr *like = kids[typing == IR_TYPING_SELECT ? 1 : 0];
  uint8_t dtype = is_bool ? (uint8_t)IR_BOOL : like->dtype;
  return get(context, &(ir_expr){.code = (uint16_t)code, .dtype = dtype, .lanes = kids[0]->lanes}, count, kids);
}

const ir_expr *ir_expr_convert(ir_context *context, ir_scalar_code code, const ir_expr *kid, ir_dtype dtype,
                               unsigned lanes) {
  return get(context, &(ir_expr){.code = (uint16_t)code, .dtype = (uint8_t)dtype, .lanes = (uint16_t)lanes}, 1, &kid);
}

static bool all_same(size_t first, size_t count, const ir_expr *const *kids) {
  for (size_t i = first + 1; i < count; i++) {
    if (kids[i]->dtype != kids[first]->dtype || kids[i]->lanes != kids[first]->lanes) return false;
  }
  return true;
}

bool ir_expr_check(ir_scalar_code code, size_t count, const ir_expr *const *kids, const char **problem) {
  const char *ignored;
  if (!problem) problem = &ignored;
  const ir_scalar_def *def = &ir_scalars[code];
  *problem = "another number of operands";
  if (def->arity >= 0 && (size_t)def->arity != count) return false;
  if (!count) return true;
  ir_dtype dtype = (ir_dtype)kids[0]->dtype;
  bool is_bool = dtype == IR_BOOL;
  *problem = "operands of one dtype and width";
  if (def->typing == IR_TYPING_SELECT) {
    if (!all_same(1, count, kids)) return false;
    *problem = "a bool condition of the same width";
    return is_bool && kids[0]->lanes == kids[1]->lanes;
  }
  if (def->typing != IR_TYPING_LEAF && def->typing != IR_TYPING_CONVERT && !all_same(0, count, kids)) return false;
  switch (def->typing) {
  case IR_TYPING_LEAF:
  case IR_TYPING_CONVERT:
  case IR_TYPING_COMPARE:
  case IR_TYPING_SELECT: return true;
  case IR_TYPING_SAME: *problem = "numeric operands"; return !is_bool;
  case IR_TYPING_SAME_FLOAT:
  case IR_TYPING_TEST: *problem = "floating-point operands"; return ir_is_float(dtype);
  case IR_TYPING_SAME_INT:
  case IR_TYPING_SHIFT: *problem = "integer operands"; return ir_is_integer(dtype);
  case IR_TYPING_BITS: *problem = "integer or bool operands"; return ir_is_integer(dtype) || is_bool;
  case IR_TYPING_LOGIC: *problem = "bool operands"; return is_bool;
  }
  return false;
}

ir_scalar_code ir_scalar_find(ir_context *context, ir_slice name) {
  if (!context->scalar_names.count) {
    for (int code = 0; code < IR_S_COUNT; code++) {
      if (!*ir_scalars[code].name) continue;
      const ir_string *key = ir_intern(context, ir_slice_of(ir_scalars[code].name));
      ir_map_put(&context->arena, &context->scalar_names, key, (void *)(uintptr_t)(code + 1));
    }
  }
  uintptr_t found = (uintptr_t)ir_map_get(&context->scalar_names, ir_intern(context, name));
  return found ? (ir_scalar_code)(found - 1) : IR_S_COUNT;
}

bool ir_expr_divides(const ir_expr *expr) {
  switch ((int)expr->code) {
  case IR_S_TRUNCDIV:
  case IR_S_FLOORDIV:
  case IR_S_CEILDIV:
  case IR_S_TRUNCMOD:
  case IR_S_FLOORMOD: return !ir_is_float((ir_dtype)expr->dtype);
  default: return false;
  }
}

bool ir_expr_is_int(const ir_expr *expr, int64_t *value) {
  if (expr->code != IR_S_CONST || expr->lanes != 1 || ir_is_float((ir_dtype)expr->dtype)) return false;
  *value = ir_int_from_bits((ir_dtype)expr->dtype, expr->bits);
  return true;
}

struct replacing {
  ir_context *context;
  ir_expr_replacer *replace;
  void *user;
  ir_arena arena;
  ir_map done;
};

static const ir_expr *replaced(struct replacing *r, const ir_expr *expr) {
  bool leaf = expr->code == IR_S_SYMBOL || expr->code == IR_S_ARG;
  if (leaf) return r->replace(r->user, r->context, expr);
  if (!expr->count && expr->code != IR_S_LOAD) return expr;
  const ir_expr *known = ir_map_get(&r->done, expr);
  if (known) return known;
  const ir_expr *kids[MAX_KIDS];
  bool changed = false;
  for (size_t i = 0; i < expr->count; i++) {
    kids[i] = replaced(r, expr->kids[i]);
    changed |= kids[i] != expr->kids[i];
  }
  const ir_expr *result = expr;
  if (changed) {
    ir_expr head = {.code = expr->code, .dtype = expr->dtype, .lanes = expr->lanes, .arg = expr->arg, .bits = expr->bits};
    head.has_args = head.has_loads = expr->code == IR_S_LOAD;
    result = get(r->context, &head, expr->count, kids);
  }
  if (expr->code == IR_S_LOAD) result = r->replace(r->user, r->context, result);
  ir_map_put(&r->arena, &r->done, expr, (void *)(uintptr_t)result);
  return result;
}

const ir_expr *ir_expr_replace(ir_context *context, const ir_expr *expr, ir_expr_replacer *replace, void *user) {
  struct replacing r = {.context = context, .replace = replace, .user = user};
  const ir_expr *result = replaced(&r, expr);
  ir_arena_free(&r.arena);
  return result;
}

static const ir_expr *renumbered(void *user, ir_context *context, const ir_expr *leaf) {
  if (leaf->code == IR_S_SYMBOL) return leaf;
  ir_expr head = *leaf;
  head.arg = ((const uint32_t *)user)[leaf->arg];
  return get(context, &head, leaf->count, leaf->kids);
}

const ir_expr *ir_expr_renumber(ir_context *context, const ir_expr *expr, const uint32_t *map) {
  return expr->has_args ? ir_expr_replace(context, expr, renumbered, (void *)(uintptr_t)map) : expr;
}

struct walking {
  void (*visit)(void *user, const ir_expr *node);
  void *user;
  ir_arena arena;
  ir_map seen;
};

static void walk(struct walking *w, const ir_expr *expr) {
  if (ir_map_has(&w->seen, expr)) return;
  ir_map_put(&w->arena, &w->seen, expr, w);
  for (size_t i = 0; i < expr->count; i++) walk(w, expr->kids[i]);
  w->visit(w->user, expr);
}

void ir_expr_walk(ir_context *context, const ir_expr *expr, void (*visit)(void *user, const ir_expr *node), void *user) {
  (void)context;
  struct walking w = {.visit = visit, .user = user};
  walk(&w, expr);
  ir_arena_free(&w.arena);
}
