// SPDX-License-Identifier: Apache-2.0
/* ir/linear.c - sums of products in normal form, with checked 64-bit factors. Needs ir/expr. */
#include "ir/linear.h"

#include "base/checked.h"
#include "base/vec.h"

static int compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int kind_order(const ir_expr *expr) {
  switch (expr->code) {
  case IR_S_ARG: return 0;
  case IR_S_SYMBOL: return 1;
  case IR_S_CONST: return 4;
  case IR_S_LOAD: return 2;
  default: return 3;
  }
}

int ir_expr_order(const ir_expr *a, const ir_expr *b) {
  if (a == b) return 0;
  int order = kind_order(a) - kind_order(b);
  if (order) return order;
  if (a->code == IR_S_SYMBOL) return strcmp(a->symbol->text, b->symbol->text);
  if ((order = compare(a->code, b->code)) || (order = compare(a->arg, b->arg)) ||
      (order = compare(a->dtype, b->dtype)) || (order = compare(a->lanes, b->lanes)) ||
      (order = compare(a->count, b->count)) || (order = compare(a->bits, b->bits)))
    return order;
  for (size_t i = 0; i < a->count; i++) {
    if ((order = ir_expr_order(a->kids[i], b->kids[i]))) return order;
  }
  return 0;
}

int ir_term_order(const ir_term *a, const ir_term *b) {
  if (a->degree != b->degree) return a->degree > b->degree ? -1 : 1;
  for (uint32_t i = 0; i < a->degree; i++) {
    int order = ir_expr_order(a->atoms[i], b->atoms[i]);
    if (order) return order;
  }
  return 0;
}

static ir_linear *new_form(ir_arena *arena, ir_dtype dtype, unsigned lanes, size_t capacity) {
  ir_linear *form = ir_new(arena, ir_linear);
  *form = (ir_linear){.dtype = dtype, .lanes = (uint16_t)lanes};
  if (capacity) form->terms = ir_new_array(arena, ir_term, capacity);
  return form;
}

const ir_linear *ir_linear_const(ir_arena *arena, ir_dtype dtype, unsigned lanes, int64_t value) {
  ir_linear *form = new_form(arena, dtype, lanes, 0);
  form->constant = value;
  return form;
}

const ir_linear *ir_linear_atom(ir_arena *arena, const ir_expr *expr) {
  ir_linear *form = new_form(arena, (ir_dtype)expr->dtype, expr->lanes, 1);
  const ir_expr **atoms = ir_new_array(arena, const ir_expr *, 1);
  atoms[0] = expr;
  form->count = 1;
  form->terms[0] = (ir_term){.factor = 1, .degree = 1, .atoms = atoms};
  return form;
}

const ir_linear *ir_linear_terms(ir_arena *arena, const ir_linear *like, uint32_t count, const ir_term *terms,
                                 int64_t constant) {
  ir_linear *form = new_form(arena, like->dtype, like->lanes, count);
  form->count = count;
  form->constant = constant;
  if (count) memcpy(form->terms, terms, count * sizeof *terms);
  return form;
}

const ir_linear *ir_linear_copy(ir_arena *arena, const ir_linear *form) {
  ir_linear *copy = new_form(arena, form->dtype, form->lanes, form->count);
  copy->count = form->count;
  copy->constant = form->constant;
  for (uint32_t i = 0; i < form->count; i++) {
    const ir_term *term = &form->terms[i];
    copy->terms[i] = *term;
    copy->terms[i].atoms = ir_arena_copy(arena, term->atoms, term->degree * sizeof *term->atoms);
  }
  return copy;
}

static bool put(ir_linear *form, const ir_term *term, int64_t factor) {
  if (!factor) return true;
  if (form->count == IR_LINEAR_MAX_TERMS) return false;
  form->terms[form->count] = *term;
  form->terms[form->count++].factor = factor;
  return true;
}

const ir_linear *ir_linear_combine(ir_arena *arena, const ir_linear *a, int64_t x, const ir_linear *b, int64_t y) {
  size_t capacity = (size_t)a->count + b->count;
  ir_linear *sum = new_form(arena, a->dtype, a->lanes, capacity < IR_LINEAR_MAX_TERMS ? capacity : IR_LINEAR_MAX_TERMS);
  int64_t left, right;
  if (!ir_mul_i64(a->constant, x, &left) || !ir_mul_i64(b->constant, y, &right)) return NULL;
  if (!ir_add_i64(left, right, &sum->constant)) return NULL;
  for (uint32_t i = 0, j = 0; i < a->count || j < b->count;) {
    int order = i == a->count ? 1 : j == b->count ? -1 : ir_term_order(&a->terms[i], &b->terms[j]);
    const ir_term *term = order <= 0 ? &a->terms[i] : &b->terms[j];
    int64_t factor;
    left = right = 0;
    if (order <= 0 && !ir_mul_i64(a->terms[i++].factor, x, &left)) return NULL;
    if (order >= 0 && !ir_mul_i64(b->terms[j++].factor, y, &right)) return NULL;
    if (!ir_add_i64(left, right, &factor) || !put(sum, term, factor)) return NULL;
  }
  return sum;
}

const ir_linear *ir_linear_add_const(ir_arena *arena, const ir_linear *a, int64_t value) {
  int64_t constant;
  if (!ir_add_i64(a->constant, value, &constant)) return NULL;
  return ir_linear_terms(arena, a, a->count, a->terms, constant);
}

/* FORM times one term (of degree 0 for a number). */
static const ir_linear *times_term(ir_arena *arena, const ir_linear *form, const ir_term *by) {
  ir_linear *product = new_form(arena, form->dtype, form->lanes, (size_t)form->count + 1);
  for (uint32_t i = 0; i <= form->count; i++) {
    static const ir_term none;
    const ir_term *term = i < form->count ? &form->terms[i] : &none;
    int64_t factor;
    if (!ir_mul_i64(i < form->count ? term->factor : form->constant, by->factor, &factor)) return NULL;
    if (!factor) continue;
    uint32_t degree = term->degree + by->degree;
    if (degree > IR_LINEAR_MAX_DEGREE) return NULL;
    if (!degree) {
      product->constant = factor;
      continue;
    }
    const ir_expr **atoms = ir_new_array(arena, const ir_expr *, degree);
    for (uint32_t a = 0, b = 0; a + b < degree;) {
      bool first = b == by->degree || (a < term->degree && ir_expr_order(term->atoms[a], by->atoms[b]) <= 0);
      atoms[a + b] = first ? term->atoms[a] : by->atoms[b];
      if (first)
        a++;
      else
        b++;
    }
    /* Insertion keeps the order, which multiplication by a term may change. */
    ir_term made = {.factor = factor, .degree = degree, .atoms = atoms};
    uint32_t at = product->count++;
    for (; at && ir_term_order(&product->terms[at - 1], &made) > 0; at--) product->terms[at] = product->terms[at - 1];
    product->terms[at] = made;
  }
  return product;
}

const ir_linear *ir_linear_product(ir_arena *arena, const ir_linear *a, const ir_linear *b) {
  size_t left = a->count + (a->constant != 0), right = b->count + (b->constant != 0);
  if (left > 1 && right > 1 && left * right > IR_LINEAR_MAX_PRODUCT) return NULL;
  const ir_linear *sum = times_term(arena, a, &(ir_term){.factor = b->constant});
  for (uint32_t i = 0; sum && i < b->count; i++) {
    const ir_linear *part = times_term(arena, a, &b->terms[i]);
    sum = part ? ir_linear_combine(arena, sum, 1, part, 1) : NULL;
  }
  return sum;
}

/* TERM divided by BY into *out: atoms are removed, the factor divides. */
static bool divide_term(ir_arena *arena, const ir_term *term, const ir_term *by, ir_term *out) {
  if (by->degree > term->degree || by->factor == -1 || term->factor % by->factor) return false;
  const ir_expr **atoms = ir_new_array(arena, const ir_expr *, (size_t)term->degree + 1);
  uint32_t degree = 0, removed = 0;
  for (uint32_t i = 0; i < term->degree; i++) {
    if (removed < by->degree && term->atoms[i] == by->atoms[removed])
      removed++;
    else
      atoms[degree++] = term->atoms[i];
  }
  *out = (ir_term){.factor = term->factor / by->factor, .degree = degree, .atoms = atoms};
  return removed == by->degree;
}

bool ir_linear_divide(ir_arena *arena, const ir_linear *dividend, const ir_linear *divisor, const ir_linear **quotient,
                      const ir_linear **rest) {
  if (!divisor->count) return false;
  const ir_linear *left = dividend;
  const ir_linear *none = ir_linear_const(arena, dividend->dtype, dividend->lanes, 0);
  *quotient = *rest = none;
  for (int steps = 0; left->count && steps < IR_LINEAR_MAX_TERMS; steps++) {
    ir_term part;
    ir_linear head = *left;
    head.count = 1, head.constant = 0;
    if (divide_term(arena, &left->terms[0], &divisor->terms[0], &part)) {
      ir_linear one = {.dtype = left->dtype,
                       .lanes = left->lanes,
                       .constant = part.degree ? 0 : part.factor,
                       .count = part.degree ? 1 : 0,
                       .terms = &part};
      const ir_linear *product = times_term(arena, divisor, &part);
      if (!product || !(left = ir_linear_combine(arena, left, 1, product, -1))) return false;
      if (!(*quotient = ir_linear_combine(arena, *quotient, 1, ir_linear_copy(arena, &one), 1))) return false;
    } else {
      if (!(*rest = ir_linear_combine(arena, *rest, 1, &head, 1))) return false;
      if (!(left = ir_linear_combine(arena, left, 1, &head, -1))) return false;
    }
  }
  return (*rest = ir_linear_combine(arena, *rest, 1, left, 1)) != NULL;
}

int64_t ir_gcd_i64(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN) return 1;
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b) {
    int64_t next = a % b;
    a = b;
    b = next;
  }
  return a;
}

int64_t ir_linear_gcd(const ir_linear *form) {
  int64_t gcd = 0;
  for (uint32_t i = 0; i < form->count; i++) gcd = ir_gcd_i64(gcd, form->terms[i].factor);
  return gcd;
}

int64_t ir_linear_factor(const ir_linear *form, const ir_term *atoms) {
  for (uint32_t i = 0; i < form->count; i++) {
    if (!ir_term_order(&form->terms[i], atoms)) return form->terms[i].factor;
  }
  return 0;
}

static bool fits(ir_dtype dtype, int64_t value) {
  int width = ir_dtypes[dtype].bits;
  if (width == 64) return ir_is_signed(dtype) || value != INT64_MIN;
  int64_t most = (INT64_C(1) << (ir_is_signed(dtype) ? width - 1 : width)) - 1;
  return value <= most && value >= (ir_is_signed(dtype) ? -most - 1 : -most);
}

bool ir_linear_fits_dtype(const ir_linear *form) {
  bool all = fits(form->dtype, form->constant);
  for (uint32_t i = 0; i < form->count; i++) all &= fits(form->dtype, form->terms[i].factor);
  return all;
}

struct writing {
  ir_context *context;
  const ir_linear *form;
};

static const ir_expr *number(const struct writing *w, int64_t value) {
  return ir_expr_const(w->context, w->form->dtype, w->form->lanes, ir_int_to_bits(w->form->dtype, value));
}

static const ir_expr *term_expr(const struct writing *w, const ir_term *term, int64_t factor) {
  const ir_expr *product = term->atoms[0];
  for (uint32_t i = 1; i < term->degree; i++) product = ir_expr_binary(w->context, IR_S_MUL, product, term->atoms[i]);
  return factor == 1 ? product : ir_expr_binary(w->context, IR_S_MUL, product, number(w, factor));
}

static bool can_negate(const struct writing *w, int64_t value) {
  return value != INT64_MIN && fits(w->form->dtype, -value);
}

/* The first term of a sum that has no positive one. */
static const ir_expr *negative_head(const struct writing *w, const ir_term *term) {
  if (term->factor != -1 && ir_is_signed(w->form->dtype)) return term_expr(w, term, term->factor);
  return ir_expr_unary(w->context, IR_S_NEG, term_expr(w, term, -term->factor));
}

const ir_expr *ir_linear_expr(ir_context *context, const ir_linear *form) {
  struct writing w = {context, form};
  if (!form->count) return number(&w, form->constant);
  uint32_t head = 0;
  while (head < form->count && form->terms[head].factor < 0) head++;
  bool positive = head < form->count, constant = !positive && form->constant > 0;
  if (!positive) head = 0;
  const ir_expr *sum = constant   ? number(&w, form->constant)
                       : positive ? term_expr(&w, &form->terms[head], form->terms[head].factor)
                                  : negative_head(&w, &form->terms[0]);
  for (uint32_t i = 0; i < form->count; i++) {
    if (!constant && i == head) continue;
    int64_t factor = form->terms[i].factor;
    bool minus = factor < 0 && can_negate(&w, factor);
    const ir_expr *term = term_expr(&w, &form->terms[i], minus ? -factor : factor);
    sum = ir_expr_binary(context, minus ? IR_S_SUB : IR_S_ADD, sum, term);
  }
  if (constant || !form->constant) return sum;
  bool minus = form->constant < 0 && can_negate(&w, form->constant);
  return ir_expr_binary(context, minus ? IR_S_SUB : IR_S_ADD, sum,
                        number(&w, minus ? -form->constant : form->constant));
}
