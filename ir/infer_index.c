// SPDX-License-Identifier: Apache-2.0
/* ir/infer_index.c - inference of operators that repeat, look up, scatter and scan elements, and of losses. Needs
 * ir/infer_dims. */
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"

static const ir_expr **copy_dims(const ir_infer *in, const ir_view *x, size_t more) {
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x->rank + more);
  if (x->rank) memcpy(dims, x->dims, x->rank * sizeof *dims);
  return dims;
}

/* An attribute that is an i64 expression. */
static const ir_expr *number(const ir_infer *in, const char *name) {
  const ir_attr *attr = ir_infer_attr(in, name);
  return attr ? ir_attr_as_expr(in->context, attr) : NULL;
}

static bool check_not_negative(ir_infer *in, const char *name, const ir_expr *value) {
  if (!value) return true;
  const ir_expr *zero = ir_infer_i64(in, 0);
  if (ir_prove_lt(in->context, in->facts, value, zero) == IR_PROVEN) {
    return ir_infer_fail(in, "attribute '%s' is %s, expected at least 0", name, ir_infer_dim_text(in, value));
  }
  ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, value, zero));
  return true;
}

bool infer_tile(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  size_t count = ir_infer_count(in, "repeats"), rank = count > x.rank ? count : x.rank;
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, rank), *one = ir_infer_i64(in, 1);
  for (size_t i = 0; i < count; i++) {
    if (!check_not_negative(in, "repeats", ir_infer_dim_at(in, "repeats", i))) return false;
  }
  if (!x.ranked) return ir_infer_unranked(in, x.dtype);
  for (size_t i = 0; i < rank; i++) {
    const ir_expr *extent = i + x.rank >= rank ? x.dims[i + x.rank - rank] : one;
    dims[i] = ir_infer_mul(in, extent, i + count >= rank ? ir_infer_dim_at(in, "repeats", i + count - rank) : one);
  }
  return ir_infer_ranked(in, x.dtype, rank, dims);
}

bool infer_repeat(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  const ir_expr *times = ir_infer_i64(in, ir_infer_int(in, "repeats")), *count = ir_infer_i64(in, 1);
  size_t axis;
  if (!check_not_negative(in, "repeats", times)) return false;
  if (!ir_infer_attr(in, "axis")) {
    if (!x.ranked) count = NULL;
    for (size_t i = 0; i < x.rank; i++) count = ir_infer_mul(in, count, x.dims[i]);
    const ir_expr *dims[] = {ir_infer_mul(in, count, times)};
    return ir_infer_ranked(in, x.dtype, 1, dims);
  }
  if (!x.ranked) return ir_infer_unranked(in, x.dtype);
  if (!ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  const ir_expr **dims = copy_dims(in, &x, 0);
  dims[axis] = ir_infer_mul(in, dims[axis], times);
  return ir_infer_ranked(in, x.dtype, x.rank, dims);
}

bool infer_flip(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  size_t axis;
  if (x.ranked && !ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  return ir_infer_tensor(in, x.dtype, &x);
}

bool infer_stack(ir_infer *in) {
  ir_dtype dtype;
  ir_view first = {.ranked = false};
  const ir_expr **dims = NULL;
  size_t axis;
  if (!in->operand_count) return ir_infer_fail(in, "no operands");
  if (!ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype)) return false;
  for (size_t i = 0; i < in->operand_count; i++) {
    ir_view x = ir_infer_view(in, i);
    if (!x.ranked) continue;
    if (!first.ranked) {
      first = x;
      dims = copy_dims(in, &x, 1);
    }
    if (!ir_infer_wants_rank(in, i, first.rank)) return false;
    for (size_t k = 0; k < x.rank; k++) {
      const char *what = ir_arena_printf(in->scratch, "extent %zu of '%s'", k, ir_infer_operand_name(in, i));
      if (!ir_infer_wants_extent(in, what, x.dims[k], dims[k])) return false;
      if (!dims[k]) dims[k] = x.dims[k];
    }
  }
  if (!first.ranked) return ir_infer_unranked(in, dtype);
  if (!ir_infer_axis(in, ir_infer_int(in, "axis"), first.rank + 1, &axis)) return false;
  for (size_t i = first.rank; i > axis; i--) dims[i] = dims[i - 1];
  dims[axis] = ir_infer_i64(in, (int64_t)in->operand_count);
  return ir_infer_ranked(in, dtype, first.rank + 1, dims);
}

bool infer_triangle(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  if (x.ranked && x.rank < 2) return ir_infer_fail(in, "operand 'x' has rank %zu, expected at least 2", x.rank);
  if (in->operand_count > 1 && !ir_infer_wants_rank(in, 1, 0)) return false;
  return ir_infer_tensor(in, x.dtype, &x);
}

bool infer_one_hot(ir_infer *in) {
  ir_view indices = ir_infer_view(in, 0);
  const ir_expr *depth = number(in, "depth");
  ir_dtype dtype;
  size_t axis;
  if (!ir_infer_same_dtype(in, 1, 2, &dtype) || !ir_infer_wants_rank(in, 1, 0) || !ir_infer_wants_rank(in, 2, 0)) return false;
  if (!check_not_negative(in, "depth", depth)) return false;
  if (!indices.ranked) return ir_infer_unranked(in, dtype);
  if (!ir_infer_axis(in, ir_infer_int(in, "axis"), indices.rank + 1, &axis)) return false;
  const ir_expr **dims = copy_dims(in, &indices, 1);
  for (size_t i = indices.rank; i > axis; i--) dims[i] = dims[i - 1];
  dims[axis] = depth;
  return ir_infer_ranked(in, dtype, indices.rank + 1, dims);
}

/* Behind the axis of indices nothing reaches over the end of x. */
static bool check_beside_axis(ir_infer *in, const ir_view *x, const ir_view *indices, size_t axis) {
  for (size_t i = 0; i < x->rank; i++) {
    const ir_expr *own = indices->dims[i], *most = x->dims[i];
    if (i == axis || !own || !most) continue;
    if (ir_prove_lt(in->context, in->facts, most, own) == IR_PROVEN) {
      return ir_infer_fail(in, "extent %zu of 'indices' is %s, expected at most %s", i, ir_infer_dim_text(in, own), ir_infer_dim_text(in, most));
    }
    ir_infer_need(in, ir_expr_binary(in->context, IR_S_LE, own, most));
  }
  return true;
}

static bool check_elements(ir_infer *in, ir_view *x, ir_view *indices) {
  size_t axis;
  *x = ir_infer_view(in, 0);
  *indices = ir_infer_view(in, 1);
  if (!x->ranked) return true;
  if (!x->rank) return ir_infer_fail(in, "operand 'x' has rank 0, expected at least 1");
  if (!ir_infer_axis(in, ir_infer_int(in, "axis"), x->rank, &axis) || !ir_infer_wants_rank(in, 1, x->rank)) return false;
  return !indices->ranked || check_beside_axis(in, x, indices, axis);
}

bool infer_gather_elements(ir_infer *in) {
  ir_view x, indices;
  return check_elements(in, &x, &indices) && ir_infer_tensor(in, x.dtype, &indices);
}

static bool check_reduction(ir_infer *in, ir_dtype dtype) {
  bool combines = strcmp(ir_infer_word(in, "reduction"), "update") != 0;
  if (!combines || dtype != IR_BOOL) return true;
  return ir_infer_fail(in, "reduction \"%s\" of bool", ir_infer_word(in, "reduction"));
}

/* Operands 0 and 2 have one dtype. */
static bool same_updates(ir_infer *in, ir_dtype *dtype) {
  ir_dtype a = ir_infer_view(in, 0).dtype, b = ir_infer_view(in, 2).dtype;
  *dtype = a == IR_DTYPE_UNKNOWN ? b : a;
  if (a == b || a == IR_DTYPE_UNKNOWN || b == IR_DTYPE_UNKNOWN) return check_reduction(in, *dtype);
  return ir_infer_fail(in, "operands 'x' and 'updates' have dtypes %s and %s, expected equal ones", ir_dtype_name(a), ir_dtype_name(b));
}

static bool wants_extents(ir_infer *in, size_t operand, const ir_view *found, size_t from, size_t count, const ir_expr *const *expected) {
  for (size_t i = 0; i < count; i++) {
    const char *what = ir_arena_printf(in->scratch, "extent %zu of '%s'", from + i, ir_infer_operand_name(in, operand));
    if (!ir_infer_wants_extent(in, what, found->dims[from + i], expected[i])) return false;
  }
  return true;
}

bool infer_scatter_elements(ir_infer *in) {
  ir_view x, indices, updates = ir_infer_view(in, 2);
  ir_dtype dtype;
  if (!same_updates(in, &dtype) || !check_elements(in, &x, &indices)) return false;
  if (indices.ranked && !ir_infer_wants_rank(in, 2, indices.rank)) return false;
  if (indices.ranked && updates.ranked && !wants_extents(in, 2, &updates, 0, indices.rank, indices.dims)) return false;
  return ir_infer_tensor(in, dtype, &x);
}

/* How many axes of x a row of indices leads through, behind BATCH axes; false after a report. *depth is -1 where that is
 * not known. */
static bool depth_of(ir_infer *in, const ir_view *x, const ir_view *indices, size_t batch, int64_t *depth) {
  *depth = -1;
  if (!indices->ranked) return true;
  if (indices->rank < batch + 1) return ir_infer_fail(in, "operand 'indices' has rank %zu, expected at least %zu", indices->rank, batch + 1);
  const ir_expr *last = indices->dims[indices->rank - 1];
  int64_t count;
  if (!last) return true;
  if (!ir_dim_const(last, &count)) return ir_infer_fail(in, "the last extent of 'indices' is %s, expected a constant", ir_infer_dim_text(in, last));
  if (x->ranked && count > (int64_t)(x->rank - batch)) {
    return ir_infer_fail(in, "%lld indices a row for the %zu axes of 'x'", (long long)count, x->rank - batch);
  }
  *depth = count;
  return true;
}

bool infer_gather_nd(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), indices = ir_infer_view(in, 1);
  int64_t batch = ir_infer_int(in, "batch_dims"), depth;
  if (batch < 0 || (x.ranked && batch > (int64_t)x.rank)) return ir_infer_fail(in, "attribute 'batch_dims' is %lld, expected 0 to the rank of 'x'", (long long)batch);
  if (!depth_of(in, &x, &indices, (size_t)batch, &depth)) return false;
  if (depth < 0 || !x.ranked) return ir_infer_unranked(in, x.dtype);
  if (!wants_extents(in, 1, &indices, 0, (size_t)batch, x.dims)) return false;
  const ir_expr **dims = copy_dims(in, &indices, x.rank);
  size_t rank = indices.rank - 1;
  for (size_t i = (size_t)(batch + depth); i < x.rank; i++) dims[rank++] = x.dims[i];
  return ir_infer_ranked(in, x.dtype, rank, dims);
}

bool infer_scatter_nd(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), indices = ir_infer_view(in, 1), updates = ir_infer_view(in, 2);
  ir_dtype dtype;
  int64_t depth;
  if (!same_updates(in, &dtype) || !depth_of(in, &x, &indices, 0, &depth)) return false;
  if (depth < 0 || !x.ranked) return ir_infer_tensor(in, dtype, &x);
  size_t rows = indices.rank - 1, rest = x.rank - (size_t)depth;
  if (!ir_infer_wants_rank(in, 2, rows + rest)) return false;
  bool known = updates.ranked;
  if (known && !(wants_extents(in, 2, &updates, 0, rows, indices.dims) && wants_extents(in, 2, &updates, rows, rest, x.dims + depth))) return false;
  return ir_infer_tensor(in, dtype, &x);
}

bool infer_scan(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  ir_dtype dtype = ir_infer_dtype(in, "dtype");
  size_t axis;
  if (dtype == IR_DTYPE_UNKNOWN) dtype = x.dtype;
  if (dtype == IR_BOOL) return ir_infer_fail(in, "attribute 'dtype' is bool, expected a numeric dtype");
  if (ir_infer_attr(in, "axis")) {
    if (x.ranked && !ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
    return ir_infer_tensor(in, dtype, &x);
  }
  const ir_expr *count = x.ranked ? ir_infer_i64(in, 1) : NULL;
  for (size_t i = 0; i < x.rank; i++) count = ir_infer_mul(in, count, x.dims[i]);
  return ir_infer_ranked(in, dtype, 1, &count);
}

bool infer_arange(ir_infer *in) {
  const ir_expr *start = number(in, "start"), *end = number(in, "end"), *step = number(in, "step"), *zero = ir_infer_i64(in, 0);
  if (ir_dim_is(step, 0)) return ir_infer_fail(in, "attribute 'step' is 0");
  if (ir_infer_dtype(in, "dtype") == IR_BOOL) return ir_infer_fail(in, "attribute 'dtype' is bool, expected a numeric dtype");
  ir_infer_need(in, ir_expr_binary(in->context, IR_S_NE, step, zero));
  const ir_expr *count = ir_infer_op(in, IR_S_CEILDIV, ir_infer_sub(in, end, start), step);
  count = ir_infer_op(in, IR_S_MAX, count, zero);
  return ir_infer_ranked(in, ir_infer_dtype(in, "dtype"), 1, &count);
}

bool infer_eye(ir_infer *in) {
  const ir_expr *rows = number(in, "n"), *columns = ir_infer_attr(in, "m") ? number(in, "m") : rows;
  if (!check_not_negative(in, "n", rows) || !check_not_negative(in, "m", columns)) return false;
  const ir_expr *dims[] = {rows, columns};
  return ir_infer_ranked(in, ir_infer_dtype(in, "dtype"), 2, dims);
}

/* Targets have the extents of the predictions without the classes, weights that of the classes. */
bool infer_nll_loss(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), targets = ir_infer_view(in, 1);
  ir_dtype dtype = x.dtype;
  if (in->operand_count > 2) {
    ir_view weights = ir_infer_view(in, 2);
    if (weights.dtype != IR_DTYPE_UNKNOWN && dtype != IR_DTYPE_UNKNOWN && weights.dtype != dtype) {
      return ir_infer_fail(in, "operands 'predictions' and 'weights' have dtypes %s and %s, expected equal ones", ir_dtype_name(dtype), ir_dtype_name(weights.dtype));
    }
    if (!ir_infer_wants_rank(in, 2, 1)) return false;
    bool check = x.ranked && weights.ranked && x.rank;
    if (check && !ir_infer_wants_extent(in, "extent of 'weights'", weights.dims[0], x.dims[x.rank > 1])) return false;
  }
  bool whole = strcmp(ir_infer_word(in, "reduction"), "none") != 0;
  if (!x.ranked) return whole ? ir_infer_ranked(in, dtype, 0, NULL) : ir_infer_tensor(in, dtype, &targets);
  if (!x.rank) return ir_infer_fail(in, "operand 'predictions' has rank 0, expected at least 1");
  if (!ir_infer_wants_rank(in, 1, x.rank - 1)) return false;
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x.rank);
  size_t rank = 0;
  for (size_t i = 0; i < x.rank; i++) {
    if (i != (x.rank > 1)) dims[rank++] = x.dims[i];
  }
  if (targets.ranked && !wants_extents(in, 1, &targets, 0, rank, dims)) return false;
  return ir_infer_ranked(in, dtype, whole ? 0 : rank, dims);
}

bool infer_cross_entropy(ir_infer *in) {
  double smoothing = ir_infer_float(in, "label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) return ir_infer_fail(in, "attribute 'label_smoothing' is %g, expected 0 to 1", smoothing);
  return infer_nll_loss(in);
}
