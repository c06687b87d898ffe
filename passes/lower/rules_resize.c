// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_resize.c - resampling. The place of an element in the operand is a fraction of two i64 expressions:
 * rounding it is integer division, the same on every target, and only the weights of neighbours are floats. */
#include "ir/number.h"
#include "passes/lower/lower.h"

enum { SPATIAL = 2, MOST_TAPS = 4 };

/* A quotient of i64 expressions; the denominator is positive. */
struct fraction {
  const ir_expr *over, *under;
};

/* What one axis of the result takes: indices of neighbours and their weights. */
struct taps {
  size_t count;
  const ir_expr *index[MOST_TAPS], *weight[MOST_TAPS];
  const ir_expr *outside; /* a condition; NULL: never */
};

struct resize {
  ir_nest_at *n;
  const ir_op *op;
  ir_dtype wide;
};

#define ADD(a, b) IR_ADD_(r->n, (a), (b))
#define SUB(a, b) IR_SUB_(r->n, (a), (b))
#define MUL(a, b) IR_MUL_(r->n, (a), (b))
#define INT(value) ir_lower_i64(r->n, (value))

static const ir_expr *let(const struct resize *r, const char *axis, const char *what, const ir_expr *expr) {
  return ir_lower_let(r->n, ir_arena_printf(r->n->l->arena, "%s_%s", axis, what), expr);
}

static bool mode_is(const struct resize *r, const char *name) { return !strcmp(ir_get_word(r->op, "coordinate_transformation_mode"), name); }

static struct fraction fraction_of(const struct resize *r, double value) {
  int64_t over = 0, under = 1;
  ir_f32_ratio(value, &over, &under); /* inference has checked that it fits */
  return (struct fraction){INT(over), INT(under)};
}

/* Where result element O of axis A lies in the operand. With scale = S / T (S and T the extents, where no scale is given):
 * half_pixel is (o + 1/2) T / S - 1/2, and so on. */
static struct fraction place_of(const struct resize *r, size_t a, const ir_expr *o) {
  const ir_expr *in = ir_type_dim(ir_lower_type(r->n->l, 0), 2 + a), *out = ir_type_dim(ir_lower_result(r->n->l, 0), 2 + a);
  const ir_attr *scales = ir_get(r->op, "scales");
  const ir_expr *one = INT(1), *two = INT(2), *zero = INT(0);
  struct fraction scale = {out, in}, length = {out, one}; /* LENGTH: extent * scale, not rounded */
  if (scales) {
    scale = fraction_of(r, scales->items[a]->f);
    length = (struct fraction){MUL(in, scale.over), scale.under};
  }
  const ir_expr *odd = MUL(ADD(MUL(o, two), one), scale.under), *twice = MUL(scale.over, two);
  if (mode_is(r, "asymmetric")) return (struct fraction){MUL(o, scale.under), scale.over};
  if (mode_is(r, "tf_half_pixel_for_nn")) return (struct fraction){odd, twice};
  if (mode_is(r, "align_corners")) {
    const ir_expr *under = ir_lower_int(r->n, IR_S_MAX, SUB(length.over, length.under), one); /* a single element is at 0 */
    return (struct fraction){MUL(MUL(o, SUB(in, one)), length.under), under};
  }
  if (mode_is(r, "tf_crop_and_resize")) {
    const ir_attr *roi = ir_get(r->op, "roi");
    struct fraction from = fraction_of(r, roi->items[a]->f), to = fraction_of(r, roi->items[2 + a]->f);
    const ir_expr *first = MUL(from.over, to.under), *last = MUL(to.over, from.under), *under = MUL(from.under, to.under);
    const ir_expr *steps = SUB(out, one), *single = ir_expr_binary(r->n->l->context, IR_S_LE, out, one);
    const ir_expr *over = ADD(MUL(first, steps), MUL(o, SUB(last, first)));
    over = ir_expr_ternary(r->n->l->context, IR_S_SELECT, single, ADD(first, last), over); /* one element: the middle */
    steps = ir_expr_ternary(r->n->l->context, IR_S_SELECT, single, two, steps);
    return (struct fraction){MUL(over, SUB(in, one)), MUL(under, steps)};
  }
  struct fraction place = {SUB(odd, scale.over), twice};
  if (mode_is(r, "half_pixel_symmetric")) place.over = ADD(place.over, SUB(MUL(in, scale.over), MUL(out, scale.under)));
  if (!mode_is(r, "pytorch_half_pixel")) return place;
  const ir_expr *single = ir_expr_binary(r->n->l->context, IR_S_LE, out, one);
  place.over = ir_simplify(r->n->l->context, NULL, ir_expr_ternary(r->n->l->context, IR_S_SELECT, single, zero, place.over));
  return place;
}

static const ir_expr *rounded(const struct resize *r, struct fraction place) {
  const char *method = ir_get_word(r->op, "rounding_method");
  const ir_expr *two = INT(2), *twice = MUL(place.under, two);
  if (!strcmp(method, "floor")) return ir_lower_int(r->n, IR_S_FLOORDIV, place.over, place.under);
  if (!strcmp(method, "ceil")) return ir_lower_int(r->n, IR_S_CEILDIV, place.over, place.under);
  if (!strcmp(method, "round_prefer_ceil")) return ir_lower_int(r->n, IR_S_FLOORDIV, ADD(MUL(place.over, two), place.under), twice);
  return ir_lower_int(r->n, IR_S_CEILDIV, SUB(MUL(place.over, two), place.under), twice);
}

/* --- weights, over the distance to the element before the place --- */
static const ir_expr *real(const struct resize *r, double value) { return ir_expr_float(r->n->l->context, r->wide, value); }
static const ir_expr *f(const struct resize *r, ir_scalar_code code, const ir_expr *a, const ir_expr *b) { return ir_expr_binary(r->n->l->context, code, a, b); }

/* ((alpha + 2) d - (alpha + 3)) d d + 1, for the distance d of at most 1: Keys' kernel. */
static const ir_expr *near_weight(const struct resize *r, const ir_expr *d) {
  double alpha = ir_get_float(r->op, "cubic_alpha");
  const ir_expr *y = f(r, IR_S_SUB, f(r, IR_S_MUL, real(r, alpha + 2), d), real(r, alpha + 3));
  return f(r, IR_S_ADD, f(r, IR_S_MUL, f(r, IR_S_MUL, y, d), d), real(r, 1));
}

/* ((alpha d - 5 alpha) d + 8 alpha) d - 4 alpha, for the distance d from 1 to 2. */
static const ir_expr *far_weight(const struct resize *r, const ir_expr *d) {
  double alpha = ir_get_float(r->op, "cubic_alpha");
  const ir_expr *y = f(r, IR_S_SUB, f(r, IR_S_MUL, real(r, alpha), d), real(r, 5 * alpha));
  y = f(r, IR_S_ADD, f(r, IR_S_MUL, y, d), real(r, 8 * alpha));
  return f(r, IR_S_SUB, f(r, IR_S_MUL, y, d), real(r, 4 * alpha));
}

static void leave_out(const struct resize *r, const char *axis, struct taps *t, const ir_expr *const *index, const ir_expr *in) {
  ir_context *context = r->n->l->context;
  const ir_expr *sum = NULL;
  for (size_t k = 0; k < t->count; k++) {
    const ir_expr *inside = ir_expr_binary(context, IR_S_AND, f(r, IR_S_GE, index[k], INT(0)), f(r, IR_S_LT, index[k], in));
    t->weight[k] = let(r, axis, "inside", ir_expr_ternary(context, IR_S_SELECT, inside, t->weight[k], real(r, 0)));
    sum = sum ? f(r, IR_S_ADD, sum, t->weight[k]) : t->weight[k];
  }
  sum = let(r, axis, "sum", sum);
  for (size_t k = 0; k < t->count; k++) t->weight[k] = let(r, axis, "weight", f(r, IR_S_DIV, t->weight[k], sum));
}

static struct taps taps_of(const struct resize *r, size_t a) {
  ir_context *context = r->n->l->context;
  const char *method = ir_get_word(r->op, "method");
  const ir_expr *in = ir_type_dim(ir_lower_type(r->n->l, 0), 2 + a), *last = SUB(in, INT(1)), *index[MOST_TAPS];
  struct taps t = {.count = 1};
  const ir_attr *scales = ir_get(r->op, "scales");
  bool still = scales && scales->items[a]->f == 1 && !ir_has_attr(r->op, "size") && !mode_is(r, "tf_half_pixel_for_nn") && !mode_is(r, "tf_crop_and_resize");
  if (still) { /* every element is where it was */
    t.index[0] = ir_lower_axis(r->n, 2 + a);
    return t;
  }
  const char *axis = a ? "column" : "row";
  struct fraction place = place_of(r, a, ir_lower_axis(r->n, 2 + a));
  place.over = let(r, axis, "over", place.over);
  place.under = let(r, axis, "under", place.under);
  if (!strcmp(method, "nearest_neighbor")) {
    index[0] = rounded(r, place);
  } else {
    const ir_expr *base = ir_lower_int(r->n, IR_S_FLOORDIV, place.over, place.under), *one = real(r, 1);
    base = let(r, axis, "base", base);
    const ir_expr *part = ir_expr_cast(context, SUB(place.over, MUL(base, place.under)), r->wide);
    part = let(r, axis, "part", f(r, IR_S_DIV, part, ir_expr_cast(context, place.under, r->wide)));
    const ir_expr *rest = let(r, axis, "rest", f(r, IR_S_SUB, one, part));
    bool cubic = !strcmp(method, "cubic");
    t.count = cubic ? 4 : 2;
    for (size_t k = 0; k < t.count; k++) index[k] = ADD(base, INT((int64_t)k - cubic));
    t.weight[0] = cubic ? far_weight(r, f(r, IR_S_ADD, part, one)) : rest;
    t.weight[1] = cubic ? near_weight(r, part) : part;
    t.weight[2] = near_weight(r, rest);
    t.weight[3] = far_weight(r, f(r, IR_S_ADD, rest, one));
    for (size_t k = 0; k < t.count && cubic; k++) t.weight[k] = let(r, axis, "weight", t.weight[k]);
    if (cubic && ir_get_bool(r->op, "cubic_exclude")) leave_out(r, axis, &t, index, in);
  }
  for (size_t k = 0; k < t.count; k++) {
    index[k] = ir_lower_int(r->n, IR_S_MIN, ir_lower_int(r->n, IR_S_MAX, index[k], INT(0)), last);
    t.index[k] = let(r, axis, "index", index[k]);
  }
  if (mode_is(r, "tf_crop_and_resize")) {
    const ir_expr *before = f(r, IR_S_LT, place.over, INT(0)), *behind = f(r, IR_S_GT, place.over, MUL(last, place.under));
    t.outside = let(r, axis, "outside", ir_expr_binary(context, IR_S_OR, before, behind));
  }
  return t;
}

bool legalize_resize(ir_lowering *l) {
  ir_context *context = l->context;
  const ir_type *result = ir_lower_result(l, 0);
  ir_dtype dtype = ir_type_dtype(result);
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 0, NULL);
  struct resize whole = {&n, l->op, ir_lower_wide(dtype)}, *r = &whole;
  struct taps rows = taps_of(r, 0), columns = taps_of(r, 1);
  const ir_expr *value = NULL;
  for (size_t i = 0; i < rows.count; i++) {
    const ir_expr *line = NULL;
    for (size_t k = 0; k < columns.count; k++) {
      const ir_expr *at[2 + SPATIAL] = {ir_lower_axis(&n, 0), ir_lower_axis(&n, 1), rows.index[i], columns.index[k]};
      const ir_expr *x = ir_lower_load(&n, l->in[0], at);
      if (columns.count > 1) x = f(r, IR_S_MUL, columns.weight[k], ir_expr_cast(context, x, r->wide));
      line = line ? f(r, IR_S_ADD, line, x) : x;
    }
    if (rows.count > 1) line = f(r, IR_S_MUL, rows.weight[i], line);
    if (columns.count > 1) line = ir_lower_let(&n, "line", line);
    value = value ? f(r, IR_S_ADD, value, line) : line;
  }
  value = ir_expr_cast(context, value, dtype);
  if (rows.outside) {
    const ir_expr *outside = ir_expr_binary(context, IR_S_OR, rows.outside, columns.outside);
    value = ir_expr_ternary(context, IR_S_SELECT, outside, ir_get_number(l->op, "extrapolation_value", dtype), value);
  }
  ir_lower_store(&n, NULL, NULL, NULL, value, NULL);
  return true;
}
