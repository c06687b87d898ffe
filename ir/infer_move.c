// SPDX-License-Identifier: Apache-2.0
/* ir/infer_move.c - inference of slices, joins, look-ups and padding. Needs ir/infer_dims. */
#include "base/checked.h"
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"

bool infer_concat(ir_infer *in) {
  ir_dtype dtype;
  if (!in->operand_count) return ir_infer_fail(in, "0 operands, expected at least 1");
  if (!ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype)) return false;
  const ir_expr **dims = NULL;
  size_t rank = 0, axis = 0, ranked = 0;
  for (size_t i = 0; i < in->operand_count; i++) {
    ir_view x = ir_infer_view(in, i);
    if (!x.ranked) continue;
    if (!ranked++) {
      rank = x.rank;
      if (!ir_infer_axis(in, ir_infer_int(in, "axis"), rank, &axis)) return false;
      dims = ir_new_array(in->scratch, const ir_expr *, rank);
      memcpy(dims, x.dims, rank * sizeof *dims);
      continue;
    }
    if (!ir_infer_wants_rank(in, i, rank)) return false;
    for (size_t k = 0; k < rank; k++) {
      bool clash = false;
      if (k == axis) dims[k] = ir_infer_add(in, dims[k], x.dims[k]);
      if (k == axis) continue;
      const ir_expr *joined = ir_infer_equal_dims(in, dims[k], x.dims[k], &clash);
      if (clash) {
        return ir_infer_fail(in, "extent %zu of '%s' is %s, expected %s", k, ir_infer_operand_name(in, i),
                             ir_infer_dim_text(in, x.dims[k]), ir_infer_dim_text(in, dims[k]));
      }
      dims[k] = joined;
    }
  }
  if (!ranked) return ir_infer_unranked(in, dtype);
  if (ranked < in->operand_count) dims[axis] = NULL;
  return ir_infer_ranked(in, dtype, rank, dims);
}

enum { MAX_PARTS = 1 << 15 /* results of an operation fit 16 bits */ };

static bool part(ir_infer *in, const ir_view *x, size_t axis, const ir_expr *extent) {
  if (!x->ranked) return ir_infer_unranked(in, x->dtype);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x->rank);
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[axis] = extent;
  return ir_infer_ranked(in, x->dtype, x->rank, dims);
}

/* Parts of ceildiv(extent, sections); the last ones are smaller, down to nothing, where that does not divide. */
static bool split_evenly(ir_infer *in, const ir_view *x, size_t axis, int64_t sections) {
  const ir_expr *extent = x->ranked ? x->dims[axis] : NULL, *zero = ir_infer_i64(in, 0);
  const ir_expr *count = ir_infer_i64(in, sections), *length = ir_infer_op(in, IR_S_CEILDIV, extent, count);
  bool divides = extent && ir_prove_equal(in->context, in->facts, ir_expr_binary(in->context, IR_S_FLOORMOD, extent, count), zero) == IR_PROVEN;
  if (divides) length = ir_infer_op(in, IR_S_FLOORDIV, extent, count);
  for (int64_t i = 0; i < sections; i++) {
    const ir_expr *left = ir_infer_sub(in, extent, ir_infer_mul(in, ir_infer_i64(in, i), length));
    const ir_expr *here = divides || !i ? length : ir_infer_op(in, IR_S_MAX, ir_infer_op(in, IR_S_MIN, left, length), zero);
    part(in, x, axis, here);
  }
  return true;
}

static bool split_at(ir_infer *in, const ir_view *x, size_t axis) {
  const ir_expr *extent = x->ranked ? x->dims[axis] : NULL, *begin = ir_infer_i64(in, 0);
  int64_t last = 0;
  size_t count = ir_infer_count(in, "indices");
  for (size_t i = 0; i <= count; i++) {
    const ir_expr *end = extent;
    if (i < count) {
      int64_t index = ir_infer_int_at(in, "indices", i);
      if (index < last) return ir_infer_fail(in, "attribute 'indices' holds %lld after %lld, expected ascending indices", (long long)index, (long long)last);
      last = index;
      end = ir_infer_op(in, IR_S_MIN, ir_infer_i64(in, index), extent);
    }
    part(in, x, axis, ir_infer_sub(in, end, begin));
    begin = end;
  }
  return true;
}

bool infer_split(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  bool evenly = ir_infer_attr(in, "sections"), at = ir_infer_attr(in, "indices");
  if (evenly == at) return ir_infer_fail(in, "expected one of the attributes 'sections' and 'indices'");
  size_t axis = 0;
  if (x.ranked && !ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  int64_t parts = evenly ? ir_infer_int(in, "sections") : (int64_t)ir_infer_count(in, "indices") + 1;
  if (parts < 1 || parts > MAX_PARTS) return ir_infer_fail(in, "%lld parts, expected 1 to %d", (long long)parts, MAX_PARTS);
  return evenly ? split_evenly(in, &x, axis, parts) : split_at(in, &x, axis);
}

/* BOUND, plus EXTENT where it is negative. */
static const ir_expr *from_beginning(const ir_infer *in, const ir_expr *bound, const ir_expr *extent) {
  const ir_expr *zero = ir_infer_i64(in, 0);
  const ir_expr *is_negative = ir_infer_op(in, IR_S_MIN, ir_infer_op(in, IR_S_MAX, ir_infer_sub(in, zero, bound), zero), ir_infer_i64(in, 1));
  return ir_infer_add(in, bound, ir_infer_op(in, IR_S_MUL, extent, is_negative));
}

/* A bound of a slice counted from the beginning and clamped to [least, most]; NULL where it is not known. OPEN is the bound
 * that means "as far as there is". */
static const ir_expr *clamped(const ir_infer *in, const ir_expr *bound, const ir_expr *extent, const ir_expr *least, const ir_expr *most,
                              int64_t open, const ir_expr *open_value) {
  if (!bound || !extent) return NULL;
  if (ir_dim_is(bound, open)) return open_value;
  const ir_expr *zero = ir_infer_i64(in, 0);
  ir_proof negative = ir_prove_lt(in->context, in->facts, bound, zero);
  if (negative == IR_UNKNOWN) return ir_infer_op(in, IR_S_MIN, ir_infer_op(in, IR_S_MAX, from_beginning(in, bound, extent), least), most);
  if (negative == IR_PROVEN) return ir_infer_op(in, IR_S_MAX, ir_infer_add(in, bound, extent), least);
  return ir_infer_op(in, IR_S_MIN, bound, most);
}

static const ir_expr *slice_extent(const ir_infer *in, const ir_expr *begin, const ir_expr *end, int64_t stride, const ir_expr *extent) {
  if (!extent) return NULL;
  const ir_expr *zero = ir_infer_i64(in, 0), *minus_one = ir_infer_i64(in, -1);
  bool forward = stride > 0;
  const ir_expr *least = forward ? zero : minus_one;
  const ir_expr *most = forward ? extent : ir_infer_add(in, extent, minus_one);
  int64_t open = forward ? INT64_MAX : INT64_MIN;
  const ir_expr *from = clamped(in, begin, extent, least, most, forward ? INT64_MIN : INT64_MAX, forward ? zero : most);
  const ir_expr *to = clamped(in, end, extent, least, most, open, forward ? extent : minus_one);
  const ir_expr *length = forward ? ir_infer_sub(in, to, from) : ir_infer_sub(in, from, to);
  const ir_expr *steps = ir_infer_op(in, IR_S_CEILDIV, length, ir_infer_i64(in, forward ? stride : -stride));
  return ir_infer_op(in, IR_S_MAX, steps, zero);
}

bool infer_strided_slice(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  size_t count = ir_infer_count(in, "begin");
  bool strided = ir_infer_attr(in, "strides"), placed = ir_infer_attr(in, "axes");
  bool even = ir_infer_count(in, "end") == count && (!strided || ir_infer_count(in, "strides") == count) &&
              (!placed || ir_infer_count(in, "axes") == count);
  if (!even) return ir_infer_fail(in, "attributes 'begin', 'end', 'strides' and 'axes' have different lengths");
  if (x.ranked && count > x.rank) return ir_infer_fail(in, "attribute 'begin' has %zu entr%s, operand 'x' has rank %zu", count, count == 1 ? "y" : "ies", x.rank);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x.rank);
  bool *sliced = ir_new_array(in->scratch, bool, x.rank);
  if (x.rank) memcpy(dims, x.dims, x.rank * sizeof *dims);
  if (placed && x.ranked && !ir_infer_axes(in, "axes", x.rank, sliced)) return false;
  for (size_t i = 0; i < count; i++) {
    int64_t stride = strided ? ir_infer_int_at(in, "strides", i) : 1;
    if (!stride || stride == INT64_MIN) return ir_infer_fail(in, "attribute 'strides' holds %lld", (long long)stride);
    size_t axis = i;
    if (!x.ranked) continue;
    if (placed && !ir_infer_axis(in, ir_infer_int_at(in, "axes", i), x.rank, &axis)) return false;
    dims[axis] = slice_extent(in, ir_infer_dim_at(in, "begin", i), ir_infer_dim_at(in, "end", i), stride, x.dims[axis]);
  }
  return x.ranked ? ir_infer_ranked(in, x.dtype, x.rank, dims) : ir_infer_unranked(in, x.dtype);
}

bool infer_take(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), indices = ir_infer_view(in, 1);
  if (!ir_infer_attr(in, "axis")) return ir_infer_tensor(in, x.dtype, &indices);
  if (!x.ranked) return ir_infer_unranked(in, x.dtype);
  size_t axis, rank = 0;
  if (!ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  if (!indices.ranked) return ir_infer_unranked(in, x.dtype);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, x.rank + indices.rank);
  for (size_t i = 0; i < axis; i++) dims[rank++] = x.dims[i];
  for (size_t i = 0; i < indices.rank; i++) dims[rank++] = indices.dims[i];
  for (size_t i = axis + 1; i < x.rank; i++) dims[rank++] = x.dims[i];
  return ir_infer_ranked(in, x.dtype, rank, dims);
}

bool infer_nonzero(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  const ir_attr *attr = ir_infer_attr(in, "size");
  const ir_expr *size = attr ? ir_attr_as_expr(in->context, attr) : NULL;
  const ir_expr *dims[] = {x.ranked ? ir_infer_i64(in, (int64_t)x.rank) : NULL, size};
  if (size && ir_prove_lt(in->context, in->facts, size, ir_infer_i64(in, 0)) == IR_PROVEN) return ir_infer_fail(in, "attribute 'size' is negative");
  return ir_infer_ranked(in, IR_I64, 2, dims);
}

/* Mirrored and repeated elements must be there: the least extent that an axis needs. */
static int64_t needed_extent(const char *mode, int64_t before, int64_t after) {
  int64_t most = before > after ? before : after;
  if (!most || !strcmp(mode, "constant")) return 0;
  if (!strcmp(mode, "reflect")) return most == INT64_MAX ? most : most + 1;
  return !strcmp(mode, "circular") ? most : 1;
}

bool infer_pad(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  size_t count = ir_infer_count(in, "pad_width");
  const char *mode = ir_infer_word(in, "pad_mode");
  if (count % 2 || (x.ranked && count != 2 * x.rank)) {
    return ir_infer_fail(in, "attribute 'pad_width' has %zu entries, expected two an axis", count);
  }
  if (!ir_infer_whole_for(in, "pad_value", x.dtype)) return false;
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, count / 2);
  for (size_t i = 0; i < count / 2; i++) {
    int64_t before = ir_infer_int_at(in, "pad_width", 2 * i), after = ir_infer_int_at(in, "pad_width", 2 * i + 1), both, extent;
    if (before < 0 || after < 0) return ir_infer_fail(in, "attribute 'pad_width' holds %lld, expected at least 0", (long long)(before < 0 ? before : after));
    if (!ir_add_i64(before, after, &both)) return ir_infer_fail(in, "attribute 'pad_width' holds %lld and %lld, too much for one axis", (long long)before, (long long)after);
    const ir_expr *dim = x.ranked ? x.dims[i] : NULL;
    int64_t needed = needed_extent(mode, before, after);
    if (ir_dim_const(dim, &extent) && extent < needed) {
      return ir_infer_fail(in, "axis %zu has extent %lld, \"%s\" padding by %lld and %lld needs at least %lld", i, (long long)extent, mode,
                           (long long)before, (long long)after, (long long)needed);
    }
    if (dim && needed) ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, dim, ir_infer_i64(in, needed)));
    dims[i] = both ? ir_infer_add(in, dim, ir_infer_i64(in, both)) : dim;
  }
  return ir_infer_ranked(in, x.dtype, count / 2, dims);
}

/* A parameter of quantization: one element, or a vector along the axis. */
static bool check_scale(ir_infer *in, const ir_view *x, size_t operand, size_t axis) {
  ir_view view = ir_infer_view(in, operand);
  if (!view.ranked || !view.rank) return true;
  if (!ir_infer_wants_rank(in, operand, 1)) return false;
  const char *what = ir_arena_printf(in->scratch, "extent of '%s'", ir_infer_operand_name(in, operand));
  return !x->ranked || ir_infer_wants_extent(in, what, view.dims[0], x->dims[axis]);
}

bool infer_quantize(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  size_t axis = 0;
  bool scalars = true;
  for (size_t i = 1; i <= 2; i++) {
    ir_view view = ir_infer_view(in, i);
    scalars &= view.ranked && !view.rank;
  }
  if (x.ranked && !scalars && !ir_infer_axis(in, ir_infer_int(in, "axis"), x.rank, &axis)) return false;
  if (!check_scale(in, &x, 1, axis) || !check_scale(in, &x, 2, axis)) return false;
  ir_dtype dtype = ir_infer_dtype(in, "out_dtype");
  bool fits = in->code == IR_QUANTIZE ? dtype != IR_BOOL : ir_is_float(dtype);
  if (!fits) return ir_infer_fail(in, "attribute 'out_dtype' is %s, expected %s", ir_dtype_name(dtype), in->code == IR_QUANTIZE ? "a number" : "a float");
  return ir_infer_tensor(in, dtype, &x);
}
