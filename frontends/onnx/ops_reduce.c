// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_reduce.c - reductions. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)
#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)

/* Axes from an attribute or from input 1, and what to do without any. */
struct reduction {
  const int64_t *axes;
  size_t count;
  bool keep, nothing; /* NOTHING: no axes means no reduction */
};

static bool read_reduction(ir_onnx_node *n, struct reduction *r) {
  r->axes = ir_onnx_ints(n, "axes", &r->count);
  r->keep = ir_onnx_int(n, "keepdims", 1) != 0;
  r->nothing = ir_onnx_int(n, "noop_with_empty_axes", 0) != 0;
  if (ir_onnx_present(n, 1) && !ir_onnx_in_ints(n, 1, &r->axes, &r->count)) return false;
  r->nothing &= !r->count;
  return true;
}

static ir_value *reduced(ir_onnx_node *n, ir_opcode code, ir_value *x, const struct reduction *r) {
  return r->nothing ? x : ir_onnx_reduce(n, code, x, r->count, r->axes, r->keep);
}

/* The number of elements that are reduced to one; NULL where an extent is not known. */
static const ir_expr *reduced_count(ir_onnx_node *n, const ir_value *x, const struct reduction *r) {
  int rank = ir_onnx_rank(n, x);
  if (rank < 0 || !r->count) return rank < 0 ? NULL : ir_onnx_dims_product(n, x, 0, (size_t)rank);
  const ir_expr *product = ir_expr_i64(CONTEXT, 1);
  for (size_t i = 0; i < r->count && product; i++) {
    int axis = ir_onnx_axis(n, r->axes[i], rank);
    const ir_expr *dim = axis < 0 ? NULL : ir_onnx_dim(x, (size_t)axis);
    product = dim ? ir_dim_mul(CONTEXT, NULL, product, dim) : NULL;
  }
  return product;
}

/* The mean of integers, truncated; the sum has 64 bits. */
static ir_value *mean_of_integers(ir_onnx_node *n, ir_value *x, const struct reduction *r) {
  ir_dtype dtype = ir_type_dtype(x->type), wide = dtype == IR_U64 ? IR_U64 : IR_I64;
  const ir_expr *count = reduced_count(n, x, r);
  if (!count) return ir_onnx_fail(n, "needs known extents"), NULL;
  ir_value *number = ir_build_scalar(&n->im->b, ir_expr_cast(CONTEXT, count, wide), NULL, 0);
  ir_value *sum = reduced(n, IR_SUM, ir_onnx_cast(n, x, wide), r);
  return sum ? ir_onnx_cast(n, BUILD(IR_DIVIDE, sum, number), dtype) : NULL;
}

bool import_reduce(ir_onnx_node *n) {
  struct reduction r;
  if (!read_reduction(n, &r)) return false;
  ir_value *x = ir_onnx_in(n, 0);
  if (n->row->variant && x) x = BUILD(n->row->variant, x);
  bool truncates = x && n->row->code == IR_MEAN && ir_is_integer(ir_type_dtype(x->type)) && !r.nothing;
  if (truncates) return ir_onnx_out(n, 0, mean_of_integers(n, x, &r));
  bool is_bool = x && ir_type_dtype(x->type) == IR_BOOL && (n->row->code == IR_MAX || n->row->code == IR_MIN);
  ir_value *y = reduced(n, n->row->code, is_bool ? ir_onnx_cast(n, x, IR_U8) : x, &r);
  return ir_onnx_out(n, 0, is_bool ? ir_onnx_cast(n, y, IR_BOOL) : y);
}

/* ReduceLogSum, ReduceL2: a function (the row's variant) of a sum of elements or squares (its code). */
bool import_reduce_then(ir_onnx_node *n) {
  struct reduction r;
  if (!read_reduction(n, &r)) return false;
  ir_value *x = ir_onnx_in(n, 0);
  if (n->row->code == IR_SQUARE && x) x = BUILD(IR_SQUARE, x);
  ir_value *sum = reduced(n, IR_SUM, x, &r);
  return ir_onnx_out(n, 0, BUILD(n->row->variant, sum));
}

/* max + log(sum(exp(x - max))); 0 for a maximum that is not finite, from which nothing can be subtracted. */
bool import_reduce_log_sum_exp(ir_onnx_node *n) {
  struct reduction r, kept;
  if (!read_reduction(n, &r)) return false;
  ir_value *x = ir_onnx_in(n, 0);
  kept = r;
  kept.keep = true;
  ir_value *most = reduced(n, IR_MAX, x, &kept), *zero = ir_onnx_number(n, x, 0), *finite = BUILD(IR_ISFINITE, most);
  most = BUILD(IR_WHERE, finite, most, zero);
  ir_value *sum = reduced(n, IR_SUM, BUILD(IR_EXP, BUILD(IR_SUBTRACT, x, most)), &r);
  ir_value *base = r.keep ? most : reduced(n, IR_MAX, most, &r); /* of one element each */
  return ir_onnx_out(n, 0, BUILD(IR_ADD, BUILD(IR_LOG, sum), base));
}

/* The last of equals is the first of them from behind. */
static ir_value *arg_from_behind(ir_onnx_node *n, ir_value *x, size_t axis, const ir_attr *keep) {
  const int64_t at[] = {(int64_t)axis}, back[] = {-1};
  const ir_expr *extent = ir_onnx_dim(x, axis), *open[] = {ir_expr_i64(CONTEXT, INT64_MAX)}, *end[] = {ir_expr_i64(CONTEXT, INT64_MIN)};
  if (!extent) {
    ir_onnx_fail(n, "needs known extents");
    return NULL;
  }
  x = ir_build1(&n->im->b, IR_STRIDED_SLICE, IR_OPERANDS(x), IR_SET({"begin", ir_attr_dims(CONTEXT, 1, open)}, {"end", ir_attr_dims(CONTEXT, 1, end)},
                {"strides", ir_attr_ints(CONTEXT, 1, back)}, {"axes", ir_attr_ints(CONTEXT, 1, at)}));
  x = ir_build1(&n->im->b, n->row->code, IR_OPERANDS(x), IR_SET({"axis", ir_attr_int(CONTEXT, at[0])}, {"keepdims", keep}));
  ir_value *last = ir_build_scalar(&n->im->b, ir_dim_sub(CONTEXT, NULL, extent, ir_expr_i64(CONTEXT, 1)), NULL, 0);
  return BUILD(IR_SUBTRACT, last, x);
}

bool import_argreduce(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  int axis = ir_onnx_axis(n, ir_onnx_int(n, "axis", 0), rank);
  const ir_attr *keep = ir_attr_bool(CONTEXT, ir_onnx_int(n, "keepdims", 1) != 0);
  if (axis < 0) return false;
  if (ir_onnx_int(n, "select_last_index", 0)) return ir_onnx_out(n, 0, arg_from_behind(n, x, (size_t)axis, keep));
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, n->row->code, IR_OPERANDS(x), IR_SET({"axis", ir_attr_int(CONTEXT, axis)}, {"keepdims", keep})));
}
