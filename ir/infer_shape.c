// SPDX-License-Identifier: Apache-2.0
/* ir/infer_shape.c - inference of operators that make, reshape and rearrange tensors. Slices, joins and look-ups:
 * ir/infer_move.c. Needs ir/infer_dims. */
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"

static const ir_expr *product(const ir_infer *in, const ir_view *view) {
  if (!view->ranked) return NULL;
  const ir_expr *count = ir_infer_i64(in, 1);
  for (size_t i = 0; i < view->rank; i++) {
    if (ir_dim_is(view->dims[i], 0)) return view->dims[i];
    count = ir_infer_mul(in, count, view->dims[i]);
  }
  return count;
}

/* The attribute `shape`. With WILD, -1 is taken once: its place in *wild (SIZE_MAX for none), its extent NULL. */
static bool shape_attr(ir_infer *in, ir_view *view, size_t *wild) {
  size_t rank = ir_infer_count(in, "shape");
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, rank);
  if (wild) *wild = SIZE_MAX;
  for (size_t i = 0; i < rank; i++) {
    int64_t extent;
    dims[i] = ir_infer_dim_at(in, "shape", i);
    if (!ir_dim_const(dims[i], &extent) || extent >= 0) continue;
    if (!wild || extent != -1) return ir_infer_fail(in, "extent %zu of the shape is %lld", i, (long long)extent);
    if (*wild != SIZE_MAX) return ir_infer_fail(in, "the shape holds -1 twice");
    *wild = i;
    dims[i] = NULL;
  }
  *view = (ir_view){.ranked = true, .rank = rank, .dims = dims};
  return true;
}

static bool same_extent(const ir_infer *in, const ir_expr *a, const ir_expr *b) {
  return a && b && (a == b || ir_prove_equal(in->context, in->facts, a, b) == IR_PROVEN);
}

/* What -1 stands for, so that the elements fit: the quotient of the extents after those that stand on both sides are
 * left out, so that [n, 8] as [n, 2, -1] has 4 whatever n is. */
static bool remaining(ir_infer *in, const ir_view *x, const ir_view *shape, size_t wild, const ir_expr **extent) {
  const ir_expr *rest = ir_infer_i64(in, 1), *count = x->ranked ? rest : NULL;
  bool *used = ir_new_array(in->scratch, bool, x->rank);
  for (size_t i = 0; i < shape->rank; i++) {
    size_t k = 0;
    while (k < x->rank && (used[k] || !same_extent(in, x->dims[k], shape->dims[i]))) k++;
    if (k < x->rank) used[k] = true;
    if (i != wild && k == x->rank) rest = ir_infer_mul(in, rest, shape->dims[i]);
  }
  for (size_t k = 0; k < x->rank; k++) {
    if (!used[k]) count = ir_infer_mul(in, count, x->dims[k]);
  }
  if (ir_dim_is(rest, 0)) return ir_infer_fail(in, "-1 stands for nothing definite beside an extent 0");
  *extent = NULL;
  if (!count) return true;
  if (ir_dim_is(rest, 1)) {
    *extent = count;
    return true;
  }
  const ir_expr *over = ir_expr_binary(in->context, IR_S_FLOORMOD, count, rest);
  const ir_expr *fits = ir_expr_binary(in->context, IR_S_EQ, over, ir_infer_i64(in, 0));
  if (ir_prove(in->context, in->facts, fits) == IR_REFUTED) {
    return ir_infer_fail(in, "the elements of shape %s do not divide by %s", ir_infer_shape_text(in, x), ir_infer_dim_text(in, rest));
  }
  *extent = ir_infer_op(in, IR_S_FLOORDIV, count, rest);
  return true;
}

bool infer_reshape(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), shape;
  size_t wild;
  if (!shape_attr(in, &shape, &wild)) return false;
  const ir_expr *count = product(in, &x);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, shape.rank);
  if (shape.rank) memcpy(dims, shape.dims, shape.rank * sizeof *dims);
  if (wild != SIZE_MAX) {
    if (!remaining(in, &x, &shape, wild, &dims[wild])) return false;
    return ir_infer_ranked(in, x.dtype, shape.rank, dims);
  }
  bool clash = false;
  ir_infer_equal_dims(in, count, product(in, &shape), &clash);
  if (clash) {
    return ir_infer_fail(in, "shape %s cannot become %s: another number of elements", ir_infer_shape_text(in, &x),
                         ir_infer_shape_text(in, &shape));
  }
  return ir_infer_ranked(in, x.dtype, shape.rank, dims);
}

bool infer_flatten(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  const ir_expr *count = product(in, &x);
  return ir_infer_ranked(in, x.dtype, 1, &count);
}

bool infer_permute_dims(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  bool reversed = !ir_infer_attr(in, "axes");
  size_t rank = reversed ? x.rank : ir_infer_count(in, "axes");
  if (!x.ranked && reversed) return ir_infer_unranked(in, x.dtype);
  if (x.ranked && rank != x.rank) return ir_infer_fail(in, "%zu axes for rank %zu", rank, x.rank);
  bool *taken = ir_new_array(in->scratch, bool, rank);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, rank);
  for (size_t i = 0; i < rank; i++) {
    size_t axis = rank - 1 - i;
    if (!reversed && !ir_infer_axis(in, ir_infer_int_at(in, "axes", i), rank, &axis)) return false;
    if (taken[axis]) return ir_infer_fail(in, "axis %zu is given twice", axis);
    taken[axis] = true;
    dims[i] = x.ranked ? x.dims[axis] : NULL;
  }
  return ir_infer_ranked(in, x.dtype, rank, dims);
}

bool infer_expand_dims(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  if (!x.ranked) return ir_infer_unranked(in, x.dtype);
  size_t rank = x.rank + ir_infer_count(in, "axis");
  bool *added = ir_new_array(in->scratch, bool, rank);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, rank);
  if (!ir_infer_axes(in, "axis", rank, added)) return false;
  for (size_t i = 0, at = 0; i < rank; i++) dims[i] = added[i] ? ir_infer_i64(in, 1) : x.dims[at++];
  return ir_infer_ranked(in, x.dtype, rank, dims);
}

/* Whether the extent is 1; UNKNOWN where that is only seen at run time. */
static ir_proof is_one(const ir_infer *in, const ir_expr *dim) {
  return dim ? ir_prove_equal(in->context, in->facts, dim, ir_infer_i64(in, 1)) : IR_UNKNOWN;
}

bool infer_squeeze(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  if (!x.ranked) return ir_infer_unranked(in, x.dtype);
  bool all = !ir_infer_attr(in, "axis");
  bool *dropped = ir_new_array(in->scratch, bool, x.rank);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x.rank);
  if (!ir_infer_axes(in, "axis", x.rank, dropped)) return false;
  size_t rank = 0;
  for (size_t i = 0; i < x.rank; i++) {
    ir_proof one = dropped[i] ? is_one(in, x.dims[i]) : IR_REFUTED;
    if (!all && dropped[i] && one == IR_REFUTED) {
      return ir_infer_fail(in, "axis %zu has extent %s, expected 1", i, ir_infer_dim_text(in, x.dims[i]));
    }
    if (all && one == IR_UNKNOWN) return ir_infer_unranked(in, x.dtype);
    if (all ? one == IR_REFUTED : !dropped[i]) dims[rank++] = x.dims[i];
  }
  return ir_infer_ranked(in, x.dtype, rank, dims);
}

static const ir_expr *one_or(const ir_infer *in, const ir_expr *from, const ir_expr *to) {
  const ir_expr *one = ir_expr_binary(in->context, IR_S_EQ, from, ir_infer_i64(in, 1));
  return ir_expr_binary(in->context, IR_S_OR, ir_expr_binary(in->context, IR_S_EQ, from, to), one);
}

bool infer_broadcast_to(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), shape;
  if (!shape_attr(in, &shape, NULL)) return false;
  if (x.ranked && x.rank > shape.rank) {
    return ir_infer_fail(in, "operand 'x' has rank %zu, expected at most %zu", x.rank, shape.rank);
  }
  for (size_t i = 0; i < x.rank; i++) {
    const ir_expr *from = x.dims[i], *to = shape.dims[shape.rank - x.rank + i];
    bool clash = false;
    if (is_one(in, from) == IR_REFUTED) ir_infer_equal_dims(in, from, to, &clash);
    if (from && to) ir_infer_need(in, one_or(in, from, to));
    if (clash) {
      return ir_infer_fail(in, "shape %s does not broadcast to %s: extent %s against %s", ir_infer_shape_text(in, &x),
                           ir_infer_shape_text(in, &shape), ir_infer_dim_text(in, from), ir_infer_dim_text(in, to));
    }
  }
  return ir_infer_tensor(in, x.dtype, &shape);
}

static bool check_fill(ir_infer *in, size_t operand) { return ir_infer_wants_rank(in, operand, 0); }

bool infer_full(ir_infer *in) {
  ir_view shape;
  if (in->operand_count && !check_fill(in, 0)) return false;
  if (!shape_attr(in, &shape, NULL)) return false;
  ir_dtype dtype = ir_infer_dtype(in, "dtype");
  if (dtype == IR_DTYPE_UNKNOWN && in->operand_count) dtype = ir_infer_view(in, 0).dtype;
  return ir_infer_tensor(in, dtype, &shape);
}

bool infer_full_like(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  if (in->operand_count > 1 && !check_fill(in, 1)) return false;
  ir_dtype dtype = ir_infer_dtype(in, "dtype");
  return ir_infer_tensor(in, dtype == IR_DTYPE_UNKNOWN ? x.dtype : dtype, &x);
}
