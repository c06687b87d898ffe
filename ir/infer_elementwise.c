// SPDX-License-Identifier: Apache-2.0
/* ir/infer_elementwise.c - inference of element-wise operators, matrix products, reductions. Needs ir/infer_dims. */
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"

#include <math.h>

static bool broadcast_all(ir_infer *in, ir_view *view) { return ir_infer_broadcast(in, 0, in->operand_count - 1, view); }

bool infer_elementwise(ir_infer *in) {
  ir_view view;
  ir_dtype dtype;
  return ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype) && broadcast_all(in, &view) && ir_infer_tensor(in, dtype, &view);
}

bool infer_compare(ir_infer *in) {
  ir_view view;
  ir_dtype dtype;
  return ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype) && broadcast_all(in, &view) && ir_infer_tensor(in, IR_BOOL, &view);
}

bool infer_where(ir_infer *in) {
  ir_view view;
  ir_dtype dtype;
  return ir_infer_same_dtype(in, 1, 2, &dtype) && broadcast_all(in, &view) && ir_infer_tensor(in, dtype, &view);
}

bool infer_astype(ir_infer *in) {
  ir_view view = ir_infer_view(in, 0);
  return ir_infer_tensor(in, ir_infer_dtype(in, "dtype"), &view);
}

bool infer_clip(ir_infer *in) {
  ir_view view = ir_infer_view(in, 0);
  static const char *const bounds[] = {"min", "max"};
  for (size_t i = 0; i < 2; i++) {
    if (isnan(ir_infer_float(in, bounds[i]))) return ir_infer_fail(in, "attribute '%s' is NaN", bounds[i]);
    if (!ir_infer_whole_for(in, bounds[i], view.dtype)) return false;
  }
  return ir_infer_tensor(in, view.dtype, &view);
}

/* The batch extents of both operands, aligned at their ends. */
static bool join_batches(ir_infer *in, const ir_view *a, size_t a_rank, const ir_view *b, size_t b_rank, const ir_expr **dims) {
  size_t rank = a_rank > b_rank ? a_rank : b_rank;
  for (size_t i = 0; i < rank; i++) {
    bool in_a = i + a_rank >= rank, in_b = i + b_rank >= rank, clash = false;
    const ir_expr *x = in_a ? a->dims[i + a_rank - rank] : NULL, *y = in_b ? b->dims[i + b_rank - rank] : NULL;
    dims[i] = in_a && in_b ? ir_infer_broadcast_dim(in, x, y, &clash) : in_a ? x : y;
    if (clash) {
      return ir_infer_fail(in, "batch extents %s and %s do not broadcast", ir_infer_dim_text(in, x), ir_infer_dim_text(in, y));
    }
  }
  return true;
}

bool infer_matmul(ir_infer *in) {
  ir_view a = ir_infer_view(in, 0), b = ir_infer_view(in, 1);
  ir_dtype dtype;
  if (!ir_infer_same_dtype(in, 0, 1, &dtype)) return false;
  for (size_t i = 0; i < 2; i++) {
    ir_view view = i ? b : a;
    if (view.ranked && !view.rank) return ir_infer_fail(in, "operand '%s' has rank 0, expected at least 1", i ? "x2" : "x1");
  }
  if (ir_infer_dtype(in, "out_dtype") != IR_DTYPE_UNKNOWN) dtype = ir_infer_dtype(in, "out_dtype");
  if (!a.ranked || !b.ranked) return ir_infer_unranked(in, dtype);
  bool row = a.rank == 1, column = b.rank == 1, clash = false;
  const ir_expr *k1 = a.dims[a.rank - 1], *k2 = b.dims[column ? 0 : b.rank - 2];
  ir_infer_equal_dims(in, k1, k2, &clash);
  if (clash) {
    return ir_infer_fail(in, "operands of shapes %s and %s do not multiply: %s columns against %s rows", ir_infer_shape_text(in, &a),
                         ir_infer_shape_text(in, &b), ir_infer_dim_text(in, k1), ir_infer_dim_text(in, k2));
  }
  size_t a_batch = row ? 0 : a.rank - 2, b_batch = column ? 0 : b.rank - 2, rank = a_batch > b_batch ? a_batch : b_batch;
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, rank + 2);
  if (!join_batches(in, &a, a_batch, &b, b_batch, dims)) return false;
  if (!row) dims[rank++] = a.dims[a.rank - 2];
  if (!column) dims[rank++] = b.dims[b.rank - 1];
  return ir_infer_ranked(in, dtype, rank, dims);
}

bool infer_reduce(ir_infer *in) {
  ir_view view = ir_infer_view(in, 0);
  bool keep = ir_infer_bool(in, "keepdims"), all = !ir_infer_attr(in, "axis");
  if (!view.ranked) return all && !keep ? ir_infer_ranked(in, view.dtype, 0, NULL) : ir_infer_unranked(in, view.dtype);
  bool *reduced = ir_new_array(in->scratch, bool, view.rank);
  if (!ir_infer_axes(in, "axis", view.rank, reduced)) return false;
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, view.rank);
  size_t rank = 0;
  for (size_t i = 0; i < view.rank; i++) {
    if (!reduced[i]) dims[rank++] = view.dims[i];
    if (reduced[i] && keep) dims[rank++] = ir_infer_i64(in, 1);
  }
  return ir_infer_ranked(in, view.dtype, rank, dims);
}

static bool check_filled(ir_infer *in, size_t axis, const ir_expr *extent) {
  if (!extent) return true;
  if (ir_dim_is(extent, 0)) return ir_infer_fail(in, "axis %zu has extent 0: nothing has no greatest or least element", axis);
  ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, extent, ir_infer_i64(in, 1)));
  return true;
}

bool infer_argreduce(ir_infer *in) {
  ir_view view = ir_infer_view(in, 0);
  bool keep = ir_infer_bool(in, "keepdims"), all = !ir_infer_attr(in, "axis");
  if (!view.ranked) return all && !keep ? ir_infer_ranked(in, IR_I64, 0, NULL) : ir_infer_unranked(in, IR_I64);
  size_t axis = 0, rank = 0;
  if (!all && !ir_infer_axis(in, ir_infer_int(in, "axis"), view.rank, &axis)) return false;
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, view.rank);
  for (size_t i = 0; i < view.rank; i++) {
    bool reduced = all || i == axis;
    if (reduced && !check_filled(in, i, view.dims[i])) return false;
    if (!reduced) dims[rank++] = view.dims[i];
    if (reduced && keep) dims[rank++] = ir_infer_i64(in, 1);
  }
  return ir_infer_ranked(in, IR_I64, rank, dims);
}
