// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_data.c - operators whose results have as many elements as the data tells. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)
#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)

static ir_value *take(ir_onnx_node *n, ir_value *x, ir_value *indices, int64_t axis) {
  return ir_build1(&n->im->b, IR_TAKE, IR_OPERANDS(x, indices), IR_SET({"axis", ir_attr_int(CONTEXT, axis)}));
}

static ir_value *over(ir_onnx_node *n, ir_opcode code, ir_value *x, const char *name, int64_t axis) {
  return ir_build1(&n->im->b, code, IR_OPERANDS(x), IR_SET({name, ir_attr_ints(CONTEXT, 1, &axis)}));
}

/* The places in a vector where it is not zero. */
static ir_value *places(ir_onnx_node *n, ir_value *x) { return over(n, IR_SQUEEZE, BUILD(IR_NONZERO, x), "axis", 0); }

/* The stable order of the elements of a vector. Of a permutation it is the inverse one. */
static ir_value *order(ir_onnx_node *n, ir_value *x) {
  return ir_build1(&n->im->b, IR_ARGSORT, IR_OPERANDS(x), IR_SET({"dtype", ir_attr_dtype(CONTEXT, IR_I64)}));
}

bool import_nonzero(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, BUILD(IR_NONZERO, x));
}

/* The first elements of a vector, as many as AXIS of X has at most: what it says behind that is of nothing. */
static ir_value *up_to(ir_onnx_node *n, ir_value *vector, const ir_value *x, int axis) {
  const ir_expr *own = ir_onnx_dim(vector, 0), *most = ir_onnx_dim(x, (size_t)axis), *zero = ir_expr_i64(CONTEXT, 0);
  const ir_facts *facts = ir_func_facts(n->im->func);
  if (!own || !most || ir_prove_le(CONTEXT, facts, own, most) == IR_PROVEN) return vector;
  const ir_expr *end = ir_simplify(CONTEXT, facts, ir_expr_binary(CONTEXT, IR_S_MIN, own, most));
  return ir_build1(&n->im->b, IR_STRIDED_SLICE, IR_OPERANDS(vector), IR_SET({"begin", ir_attr_dims(CONTEXT, 1, &zero)}, {"end", ir_attr_dims(CONTEXT, 1, &end)}));
}

bool import_compress(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *condition = ir_onnx_in(n, 1);
  int rank = ir_onnx_rank(n, x), axis = 0;
  if (rank < 0 || !condition) return false;
  if (ir_onnx_rank(n, condition) != 1) return ir_onnx_fail(n, "condition should have rank 1");
  if (ir_onnx_has(n, "axis")) {
    axis = ir_onnx_axis(n, ir_onnx_int(n, "axis", 0), rank);
  } else {
    x = BUILD(IR_FLATTEN, x);
  }
  if (axis < 0 || !x) return false;
  condition = up_to(n, condition, x, axis);
  return condition && ir_onnx_out(n, 0, take(n, x, places(n, condition), axis));
}

/* --- Unique --- */
static ir_value *is_nan(ir_onnx_node *n, ir_value *x) { return ir_is_float(ir_type_dtype(x->type)) ? BUILD(IR_ISNAN, x) : NULL; }

/* NaN equals NaN, as in numpy.unique. */
static ir_value *differ(ir_onnx_node *n, ir_value *a, ir_value *b) {
  ir_value *nan_a = is_nan(n, a), *nan_b = is_nan(n, b), *differ = BUILD(IR_NOT_EQUAL, a, b);
  return nan_a ? BUILD(IR_LOGICAL_AND, differ, BUILD(IR_LOGICAL_NOT, BUILD(IR_LOGICAL_AND, nan_a, nan_b))) : differ;
}

/* A < B, where NaN is greater than all else. */
static ir_value *less(ir_onnx_node *n, ir_value *a, ir_value *b) {
  ir_value *nan_a = is_nan(n, a), *nan_b = is_nan(n, b), *less = BUILD(IR_LESS, a, b);
  return nan_a ? BUILD(IR_LOGICAL_OR, less, BUILD(IR_LOGICAL_AND, nan_b, BUILD(IR_LOGICAL_NOT, nan_a))) : less;
}

/* The stable lexicographic order of rows, [count, width]: each row counts those that come before it. */
static ir_value *order_of_rows(ir_onnx_node *n, ir_value *rows, ir_value *at, const ir_expr *count, const ir_expr *width) {
  const ir_expr *one = ir_expr_i64(CONTEXT, 1), *down[] = {count, one, width}, *across[] = {one, count, width}, *column[] = {count, one};
  const ir_expr *single[] = {count, count, one};
  ir_value *a = ir_onnx_reshape(n, rows, 3, down), *b = ir_onnx_reshape(n, rows, 3, across);
  if (!a || !b) return NULL;
  ir_value *differs = ir_onnx_cast(n, differ(n, a, b), IR_I32);
  ir_value *where = ir_build1(&n->im->b, IR_ARGMAX, IR_OPERANDS(differs), IR_SET({"axis", ir_attr_int(CONTEXT, 2)}));
  ir_value *deciding[2], *parts[] = {b, a};
  const ir_expr *square[] = {count, count, width}, *flat[] = {count, count};
  for (int i = 0; i < 2; i++) {
    ir_value *all = ir_build1(&n->im->b, IR_BROADCAST_TO, IR_OPERANDS(parts[i]), IR_SET({"shape", ir_attr_dims(CONTEXT, 3, square)}));
    ir_value *picked = ir_build1(&n->im->b, IR_GATHER_ELEMENTS, IR_OPERANDS(all, ir_onnx_reshape(n, where, 3, single)), IR_SET({"axis", ir_attr_int(CONTEXT, 2)}));
    deciding[i] = ir_onnx_reshape(n, picked, 2, flat);
    if (!deciding[i]) return NULL;
  }
  ir_value *earlier = BUILD(IR_LESS, at, ir_onnx_reshape(n, at, 2, column));
  ir_value *same = BUILD(IR_LOGICAL_NOT, differ(n, deciding[0], deciding[1]));
  ir_value *before = BUILD(IR_LOGICAL_OR, less(n, deciding[0], deciding[1]), BUILD(IR_LOGICAL_AND, same, earlier));
  return order(n, over(n, IR_SUM, ir_onnx_cast(n, before, IR_I64), "axis", 1));
}

/* The operand with AXIS in front and the others joined behind it. */
static ir_value *rows_of(ir_onnx_node *n, ir_value *x, int rank, int axis, const ir_expr **width) {
  int64_t *axes = ir_new_array(&n->im->arena, int64_t, (size_t)rank);
  axes[0] = axis;
  for (int i = 0, k = 1; i < rank; i++) {
    if (i != axis) axes[k++] = i;
  }
  ir_value *front = ir_build1(&n->im->b, IR_PERMUTE_DIMS, IR_OPERANDS(x), IR_SET({"axes", ir_attr_ints(CONTEXT, (size_t)rank, axes)}));
  *width = front ? ir_onnx_dims_product(n, front, 1, (size_t)rank) : NULL;
  const ir_expr *dims[] = {ir_onnx_dim(x, (size_t)axis), *width};
  return *width ? ir_onnx_reshape(n, front, 2, dims) : NULL;
}

/* The sorted elements, or rows, fall into groups of equal ones; of each vector the entries for the groups. */
struct groups {
  ir_value *first;   /* where in the operand the first of a group stands */
  ir_value *inverse; /* the group of an element of the operand */
  ir_value *counts;
};

/* SORTING sorts the operand; NEWS: whether a sorted element differs from the one before it. */
static bool find_groups(ir_onnx_node *n, ir_value *sorting, ir_value *news, struct groups *g) {
  const ir_attr *axis = ir_attr_int(CONTEXT, 0);
  g->first = take(n, sorting, places(n, news), 0);
  ir_value *so_far = ir_build1(&n->im->b, IR_CUMSUM, IR_OPERANDS(ir_onnx_cast(n, news, IR_I64)), IR_SET({"axis", axis}));
  if (!g->first || !so_far) return false;
  ir_value *one = ir_onnx_number(n, so_far, 1), *group = BUILD(IR_SUBTRACT, so_far, one);
  g->inverse = take(n, group, order(n, sorting), 0);
  ir_value *none = BUILD(IR_SUBTRACT, g->first, g->first), *ones = BUILD(IR_ADD, BUILD(IR_SUBTRACT, group, group), one);
  g->counts = ir_build1(&n->im->b, IR_SCATTER_ELEMENTS, IR_OPERANDS(none, group, ones), IR_SET({"axis", axis}, {"reduction", ir_attr_string(CONTEXT, ir_lit("add"))}));
  return g->inverse && g->counts;
}

/* The groups in the order of their first elements. */
static bool by_appearance(ir_onnx_node *n, struct groups *g) {
  ir_value *sorting = order(n, g->first);
  g->inverse = take(n, order(n, sorting), g->inverse, 0);
  g->first = take(n, g->first, sorting, 0);
  g->counts = take(n, g->counts, sorting, 0);
  return g->inverse && g->first && g->counts;
}

bool import_unique(ir_onnx_node *n) {
  bool sorted = ir_onnx_int(n, "sorted", 1) != 0, flat = !ir_onnx_has(n, "axis");
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x), axis = flat || rank < 0 ? 0 : ir_onnx_axis(n, ir_onnx_int(n, "axis", 0), rank);
  if (rank < 0 || axis < 0) return false;
  if (flat) x = BUILD(IR_FLATTEN, x);
  const ir_expr *count = x ? ir_onnx_dim(x, (size_t)axis) : NULL, *width = NULL;
  if (!count) return ir_onnx_fail(n, "needs known extents");
  ir_value *at = ir_build1(&n->im->b, IR_ARANGE, NULL, 0, IR_SET({"end", ir_attr_expr(CONTEXT, count)}));
  ir_value *rows = flat ? x : rows_of(n, x, rank, axis, &width);
  if (!at || !rows) return flat ? false : ir_onnx_fail(n, "needs known extents");
  ir_value *sorting = flat ? order(n, rows) : order_of_rows(n, rows, at, count, width), *zero = ir_onnx_number(n, at, 0);
  ir_value *before = BUILD(IR_MAXIMUM, BUILD(IR_SUBTRACT, at, ir_onnx_number(n, at, 1)), zero);
  ir_value *own = take(n, rows, sorting, 0), *last = take(n, own, before, 0);
  ir_value *news = own && last ? differ(n, own, last) : NULL;
  if (!flat && news) news = ir_onnx_cast(n, over(n, IR_MAX, ir_onnx_cast(n, news, IR_I32), "axis", 1), IR_BOOL);
  struct groups g;
  if (!news || !find_groups(n, sorting, BUILD(IR_LOGICAL_OR, news, BUILD(IR_EQUAL, at, zero)), &g) || (!sorted && !by_appearance(n, &g))) return false;
  ir_value *const outputs[] = {take(n, x, g.first, axis), g.first, g.inverse, g.counts};
  for (size_t i = 0; i < ir_count_of(outputs); i++) {
    if (ir_onnx_wants(n, i) && !ir_onnx_out(n, i, outputs[i])) return false;
  }
  return true;
}
