// SPDX-License-Identifier: Apache-2.0
/* ir/extents.c - what the extents of tensors that exist say about their products, and the facts of a function. Needs
 * ir/facts.c, ir/span.c, ir/module.h. */
#include "ir/simplify_rules.h"

#include "base/checked.h"
#include "ir/module.h"

enum { MAX_ATOMS = 2 * IR_LINEAR_MAX_DEGREE };

/* A product under way: atoms in order, and a number. */
struct product {
  const ir_expr *atoms[MAX_ATOMS];
  size_t count;
  ir_wide factor;
};

static bool multiply(struct product *product, const ir_expr *atom) {
  if (product->count == MAX_ATOMS) return false;
  size_t at = product->count++;
  for (; at && ir_expr_order(product->atoms[at - 1], atom) > 0; at--) product->atoms[at] = product->atoms[at - 1];
  product->atoms[at] = atom;
  return true;
}

static bool is_part_of(const struct product *part, const ir_term *whole) {
  size_t found = 0;
  for (uint32_t i = 0; i < whole->degree && found < part->count; i++) found += whole->atoms[i] == part->atoms[found];
  return found == part->count;
}

static bool is_bounded(const ir_facts *facts, const struct product *product) {
  for (; facts; facts = facts->parent) {
    for (const ir_extents *extents = facts->extents; extents; extents = extents->next) {
      if (is_part_of(product, extents->product)) return true;
    }
  }
  return false;
}

/* PRODUCT with each argument replaced by the symbols above it: i < n * 4 becomes n * 4. */
static bool raised(ir_simplifier *s, const struct product *product, struct product *result) {
  *result = (struct product){.factor = product->factor};
  for (size_t i = 0; i < product->count; i++) {
    ir_known known;
    const ir_expr *atom = product->atoms[i];
    bool above = atom->code == IR_S_ARG && ir_facts_lookup(s->facts, atom, &known) && known.below;
    if (!above && !multiply(result, atom)) return false;
    for (uint32_t k = 0; above && k < known.below->degree; k++) {
      if (ir_span_of(s, known.below->atoms[k]).least < 0 || !multiply(result, known.below->atoms[k])) return false;
    }
    if (above) result->factor = ir_bound_mul(result->factor, known.below->factor);
  }
  return true;
}

/* The bound of floordiv(x, y) * y and whatever stands beside it: x for the two. */
static ir_wide bound_of_quotients(ir_simplifier *s, const struct product *product) {
  bool used[MAX_ATOMS] = {false};
  ir_wide bound = 1;
  for (size_t i = 0; i < product->count; i++) {
    const ir_expr *atom = product->atoms[i];
    if (atom->code != IR_S_FLOORDIV || ir_span_of(s, atom->kids[0]).least < 0) continue;
    for (size_t k = 0; k < product->count; k++) {
      if (k == i || used[k] || product->atoms[k] != atom->kids[1]) continue;
      used[i] = used[k] = true;
      bound = ir_bound_mul(bound, ir_span_of(s, atom->kids[0]).most);
      break;
    }
  }
  for (size_t i = 0; i < product->count; i++) {
    if (!used[i]) bound = ir_bound_mul(bound, ir_span_of(s, product->atoms[i]).most);
  }
  return bound;
}

ir_span ir_span_by_extents(ir_simplifier *s, const ir_term *term, ir_span span) {
  struct product product = {.factor = 1}, above;
  for (uint32_t i = 0; i < term->degree; i++) {
    if (ir_span_of(s, term->atoms[i]).least < 0 || !multiply(&product, term->atoms[i])) return span;
  }
  ir_wide bound = bound_of_quotients(s, &product);
  if (is_bounded(s->facts, &product))
    bound = IR_EXTENT_MAX;
  else if (raised(s, &product, &above) && is_bounded(s->facts, &above)) {
    ir_wide raised_bound = ir_bound_mul(above.factor, IR_EXTENT_MAX);
    if (raised_bound < bound) bound = raised_bound;
  }
  bound = ir_bound_mul(bound, term->factor);
  if (term->factor > 0 && bound < span.most) span.most = bound;
  if (term->factor < 0 && bound > span.least) span.least = bound;
  return span;
}

/* Multiplies the atoms of an extent that is one term; an extent of another kind is left out. */
static void multiply_extent(ir_simplifier *s, struct product *product, const ir_expr *extent) {
  const ir_linear *form = ir_form_of(s, ir_simplify_with(s, extent));
  if (form->count != 1 || form->constant || form->terms[0].factor < 1) return;
  for (uint32_t i = 0; i < form->terms[0].degree; i++) {
    if (ir_span_of(s, form->terms[0].atoms[i]).least < 0) return;
  }
  for (uint32_t i = 0; i < form->terms[0].degree; i++) multiply(product, form->terms[0].atoms[i]);
}

void ir_facts_tensor(ir_facts *facts, const ir_type *type) {
  if (type->kind == IR_TYPE_TUPLE) {
    for (uint32_t i = 0; i < type->count; i++) ir_facts_tensor(facts, ir_type_field(type, i));
  }
  if (type->kind != IR_TYPE_TENSOR || !type->ranked) return;
  for (uint32_t i = 0; i < type->count; i++) {
    const ir_expr *extent = ir_type_dim(type, i);
    if (extent && extent->code == IR_S_SYMBOL) ir_facts_range(facts, extent, 0, IR_EXTENT_MAX);
  }
  ir_simplifier s = {.context = facts->context, .facts = facts};
  struct product product = {0};
  for (uint32_t i = 0; i < type->count; i++) {
    if (ir_type_dim(type, i)) multiply_extent(&s, &product, ir_type_dim(type, i));
  }
  ir_arena_free(&s.arena);
  if (product.count < 2) return;
  ir_term *term = ir_new(facts->arena, ir_term);
  *term = (ir_term){.factor = 1,
                    .degree = (uint32_t)product.count,
                    .atoms = ir_arena_copy(facts->arena, product.atoms, product.count * sizeof *product.atoms)};
  ir_extents *extents = ir_new(facts->arena, ir_extents);
  *extents = (ir_extents){term, facts->extents};
  facts->extents = extents;
}

static bool stands_alone(const ir_type *type, const ir_expr *symbol) {
  if (type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SHAPE && type->kind != IR_TYPE_TUPLE) return false;
  for (uint32_t i = 0; i < type->count; i++) {
    if (type->kind == IR_TYPE_TUPLE ? stands_alone(ir_type_field(type, i), symbol) : ir_type_dim(type, i) == symbol)
      return true;
  }
  return false;
}

static bool is_extent(const ir_func *func, const ir_expr *symbol) {
  for (size_t i = 0; i < func->param_count; i++) {
    if (!func->params[i].symbol && stands_alone(func->params[i].type, symbol)) return true;
  }
  return false;
}

const ir_facts *ir_func_facts(ir_func *func) {
  if (func->facts) return func->facts;
  ir_facts *facts = ir_facts_new(ir_func_context(func), &func->item.module->arena, NULL);
  facts->symbols_are_extents = true;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_expr *symbol = func->params[i].symbol;
    if (symbol && !is_extent(func, symbol)) ir_facts_known(facts, symbol)->unbounded = true;
  }
  for (size_t i = 0; i < func->param_count; i++) {
    if (!func->params[i].symbol) ir_facts_tensor(facts, func->params[i].type);
  }
  for (size_t i = 0; i < func->where_count; i++) ir_facts_assume(facts, func->where[i]);
  return func->facts = facts;
}

void ir_func_add_where(ir_func *func, const ir_expr *condition) {
  if (ir_prove(ir_func_context(func), ir_func_facts(func), condition) == IR_PROVEN) return;
  const ir_expr **where = ir_new_array(&func->item.module->arena, const ir_expr *, func->where_count + 1);
  if (func->where_count) memcpy(where, func->where, func->where_count * sizeof *where);
  where[func->where_count++] = condition;
  func->where = where;
  func->facts = NULL;
}
