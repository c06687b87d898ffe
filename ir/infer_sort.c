// SPDX-License-Identifier: Apache-2.0
/* ir/infer_sort.c - inference of operators that order elements. Needs ir/infer_dims. */
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"

/* The axis, and the dtype of indices, which hold every place along it. */
static bool check_order(ir_infer *in, const ir_view *x, size_t *axis, ir_dtype *dtype) {
  *dtype = ir_infer_dtype(in, "dtype");
  if (*dtype != IR_I32 && *dtype != IR_I64 && *dtype != IR_DTYPE_UNKNOWN) {
    return ir_infer_fail(in, "attribute 'dtype' is %s, expected i32 or i64", ir_dtype_name(*dtype));
  }
  if (!x->ranked) return true;
  if (!ir_infer_axis(in, ir_infer_int(in, "axis"), x->rank, axis)) return false;
  const ir_expr *extent = x->dims[*axis], *most = ir_infer_i64(in, INT64_C(1) << 31);
  if (*dtype != IR_I32 || !extent) return true;
  if (ir_prove_lt(in->context, in->facts, most, extent) == IR_PROVEN) {
    return ir_infer_fail(in, "i32 indices for an axis of %s elements", ir_infer_dim_text(in, extent));
  }
  ir_infer_need(in, ir_expr_binary(in->context, IR_S_LE, extent, most));
  return true;
}

/* Of sort, too, which has no dtype of indices. */
bool infer_argsort(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  ir_dtype dtype;
  size_t axis;
  if (!check_order(in, &x, &axis, &dtype)) return false;
  return ir_infer_tensor(in, dtype == IR_DTYPE_UNKNOWN ? x.dtype : dtype, &x);
}

bool infer_topk(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), y = x;
  const ir_expr *k = ir_attr_as_expr(in->context, ir_infer_attr(in, "k"));
  const char *what = ir_infer_word(in, "ret_type");
  ir_dtype dtype;
  size_t axis;
  if (!check_order(in, &x, &axis, &dtype)) return false;
  if (ir_prove_lt(in->context, in->facts, k, ir_infer_i64(in, 0)) == IR_PROVEN) {
    return ir_infer_fail(in, "attribute 'k' is %s, expected at least 0", ir_infer_dim_text(in, k));
  }
  ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, k, ir_infer_i64(in, 0)));
  if (x.ranked) {
    const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x.rank), *extent = x.dims[axis];
    memcpy(dims, x.dims, x.rank * sizeof *dims);
    if (extent && ir_prove_lt(in->context, in->facts, extent, k) == IR_PROVEN) {
      return ir_infer_fail(in, "attribute 'k' is %s, expected at most %s", ir_infer_dim_text(in, k), ir_infer_dim_text(in, extent));
    }
    if (extent) ir_infer_need(in, ir_expr_binary(in->context, IR_S_LE, k, extent));
    dims[axis] = k;
    y.dims = dims;
  }
  if (strcmp(what, "indices") && !ir_infer_tensor(in, x.dtype, &y)) return false;
  return !strcmp(what, "values") || ir_infer_tensor(in, dtype, &y);
}
