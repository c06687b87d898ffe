// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_index.c - what repeats, looks up, scatters, orders and scans elements, and losses. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)
#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)

static const ir_attr *integer(ir_onnx_node *n, int64_t value) { return ir_attr_int(CONTEXT, value); }
static const ir_attr *extent(ir_onnx_node *n, const ir_expr *value) { return ir_attr_expr(CONTEXT, value); }

/* --- repetition and order --- */
bool import_tile(ir_onnx_node *n) {
  const ir_onnx_known *repeats = ir_onnx_in_extents(n, 1);
  if (!repeats) return false;
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_TILE, IR_OPERANDS(ir_onnx_in(n, 0)), IR_SET({"repeats", ir_attr_dims(CONTEXT, repeats->count, repeats->elements)})));
}

/* The number of one element on no axis. */
static ir_value *scalar(ir_onnx_node *n, ir_value *x) {
  int rank = ir_onnx_rank(n, x);
  return rank < 0 ? NULL : rank ? ir_onnx_reshape(n, x, 0, NULL) : x;
}

bool import_trilu(ir_onnx_node *n) {
  ir_opcode code = ir_onnx_int(n, "upper", 1) ? IR_TRIU : IR_TRIL;
  ir_value *operands[2] = {ir_onnx_in(n, 0)};
  size_t count = ir_onnx_present(n, 1) ? 2 : 1;
  if (count == 2) operands[1] = scalar(n, ir_onnx_in(n, 1));
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, code, operands, count, IR_NO_ATTRS));
}

/* How blocks of rows and columns come out of the channels or go into them: the input as six axes, which are permuted and
 * then joined to four. */
enum block_mode { SPACE_TO_DEPTH, DEPTH_COLUMN_ROW, COLUMN_ROW_DEPTH };

static bool move_blocks(ir_onnx_node *n, enum block_mode mode) {
  static const int64_t orders[][6] = {{0, 3, 5, 1, 2, 4}, {0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  int64_t size = ir_onnx_int(n, "blocksize", 0);
  if (rank < 0) return false;
  if (rank != 4 || size < 1 || size > 1 << 20) return ir_onnx_fail(n, "an input of rank %d and blocksize %lld, expected rank 4 and at least 1", rank, (long long)size);
  const ir_expr *block = ir_expr_i64(CONTEXT, size), *square = ir_expr_i64(CONTEXT, size * size), *dims[4], *over[4], *times[4];
  for (size_t i = 0; i < 4; i++) {
    dims[i] = ir_onnx_dim(x, i);
    if (!dims[i]) return ir_onnx_fail(n, "needs known extents");
    over[i] = ir_simplify(CONTEXT, NULL, ir_expr_binary(CONTEXT, IR_S_FLOORDIV, dims[i], i == 1 ? square : block));
    times[i] = ir_dim_mul(CONTEXT, NULL, dims[i], i == 1 ? square : block);
  }
  const ir_expr *split[][6] = {{dims[0], dims[1], over[2], block, over[3], block},
                               {dims[0], block, block, over[1], dims[2], dims[3]},
                               {dims[0], over[1], block, block, dims[2], dims[3]}};
  const ir_expr *inward[] = {dims[0], times[1], over[2], over[3]}, *outward[] = {dims[0], over[1], times[2], times[3]};
  x = ir_onnx_reshape(n, x, 6, split[mode]);
  x = ir_build1(&n->im->b, IR_PERMUTE_DIMS, IR_OPERANDS(x), IR_SET({"axes", ir_attr_ints(CONTEXT, 6, orders[mode])}));
  return x && ir_onnx_out(n, 0, ir_onnx_reshape(n, x, 4, mode == SPACE_TO_DEPTH ? inward : outward));
}

bool import_depth_to_space(ir_onnx_node *n) {
  const char *mode = ir_onnx_string(n, "mode", "DCR");
  bool crd = !strcmp(mode, "CRD");
  if (!crd && strcmp(mode, "DCR")) return ir_onnx_fail(n, "mode '%s'", mode);
  return move_blocks(n, crd ? COLUMN_ROW_DEPTH : DEPTH_COLUMN_ROW);
}

bool import_space_to_depth(ir_onnx_node *n) { return move_blocks(n, SPACE_TO_DEPTH); }

/* X with its extents on AXIS, and ones beside. */
static ir_value *along(ir_onnx_node *n, ir_value *x, size_t rank, size_t axis) {
  const ir_expr *dims[64];
  for (size_t i = 0; i < rank; i++) dims[i] = i == axis ? ir_onnx_dim(x, 0) : ir_expr_i64(CONTEXT, 1);
  return ir_onnx_reshape(n, x, rank, dims);
}

/* Element t comes from length - 1 - t as long as that is there. */
bool import_reverse_sequence(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *lengths = ir_onnx_in(n, 1);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0 || !lengths) return false;
  int time = ir_onnx_axis(n, ir_onnx_int(n, "time_axis", 0), rank), batch = ir_onnx_axis(n, ir_onnx_int(n, "batch_axis", 1), rank);
  if (time < 0 || batch < 0) return false;
  if (time == batch || rank > 64 || ir_onnx_rank(n, lengths) != 1) return ir_onnx_fail(n, "time and batch should be two axes, and sequence_lens have rank 1");
  for (int i = 0; i < rank; i++) {
    if (!ir_onnx_dim(x, (size_t)i)) return ir_onnx_fail(n, "needs known extents");
  }
  ir_value *t = ir_build1(&n->im->b, IR_ARANGE, NULL, 0, IR_SET({"end", extent(n, ir_onnx_dim(x, (size_t)time))}));
  if (!t) return false;
  t = along(n, t, (size_t)rank, (size_t)time);
  lengths = along(n, ir_onnx_cast(n, lengths, IR_I64), (size_t)rank, (size_t)batch);
  ir_value *back = BUILD(IR_SUBTRACT, BUILD(IR_SUBTRACT, lengths, ir_onnx_number(n, t, 1)), t);
  ir_value *index = BUILD(IR_WHERE, BUILD(IR_LESS, t, lengths), back, t);
  index = ir_build1(&n->im->b, IR_BROADCAST_TO, IR_OPERANDS(index), IR_SET({"shape", ir_attr_dims(CONTEXT, (size_t)rank, ir_type_dims(x->type))}));
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_GATHER_ELEMENTS, IR_OPERANDS(x, index), IR_SET({"axis", integer(n, time)})));
}

/* --- look-ups --- */
bool import_one_hot(ir_onnx_node *n) {
  const ir_onnx_known *depth = ir_onnx_in_extents(n, 1);
  if (!depth || depth->count != 1) return depth ? ir_onnx_fail(n, "depth should be one number") : false;
  ir_value *indices = ir_onnx_in(n, 0), *values = ir_onnx_in(n, 2), *ends[2];
  if (!indices || !values) return false;
  if (ir_is_float(ir_type_dtype(indices->type))) indices = ir_onnx_cast(n, indices, IR_I64);
  for (int i = 0; i < 2; i++) {
    ir_value *at = ir_build_scalar(&n->im->b, ir_expr_i64(CONTEXT, i), NULL, 0);
    ends[i] = ir_build1(&n->im->b, IR_TAKE, IR_OPERANDS(values, at), IR_SET({"axis", integer(n, 0)}));
  }
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_ONE_HOT, IR_OPERANDS(indices, ends[1], ends[0]),
                                     IR_SET({"depth", extent(n, depth->elements[0])}, {"axis", integer(n, ir_onnx_int(n, "axis", -1))})));
}

/* A row's operator of operand and indices, along an axis. */
bool import_gather_elements(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *indices = ir_onnx_in(n, 1);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_GATHER_ELEMENTS, IR_OPERANDS(x, indices), IR_SET({"axis", integer(n, ir_onnx_int(n, "axis", 0))})));
}

bool import_gather_nd(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *indices = ir_onnx_in(n, 1);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_GATHER_ND, IR_OPERANDS(x, indices), IR_SET({"batch_dims", integer(n, ir_onnx_int(n, "batch_dims", 0))})));
}

static const ir_attr *reduction(ir_onnx_node *n) {
  const char *name = ir_onnx_string(n, "reduction", "none");
  return ir_attr_string(CONTEXT, ir_slice_of(strcmp(name, "none") ? name : "update"));
}

bool import_scatter_elements(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *indices = ir_onnx_in(n, 1), *updates = ir_onnx_in(n, 2);
  const ir_attr *axis = integer(n, ir_onnx_int(n, "axis", 0));
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_SCATTER_ELEMENTS, IR_OPERANDS(x, indices, updates), IR_SET({"axis", axis}, {"reduction", reduction(n)})));
}

bool import_scatter_nd(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *indices = ir_onnx_in(n, 1), *updates = ir_onnx_in(n, 2);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_SCATTER_ND, IR_OPERANDS(x, indices, updates), IR_SET({"reduction", reduction(n)})));
}

/* --- order --- */
static bool greatest(ir_onnx_node *n, const ir_attr *k) {
  ir_onnx_ignore(n, "sorted"); /* without it any order will do */
  ir_value *x = ir_onnx_in(n, 0);
  ir_op *op = !x ? NULL : ir_build(&n->im->b, IR_TOPK, &x, 1,
                                   IR_SET({"k", k}, {"axis", integer(n, ir_onnx_int(n, "axis", -1))}, {"largest", ir_attr_bool(CONTEXT, ir_onnx_int(n, "largest", 1) != 0)},
                                          {"dtype", ir_attr_dtype(CONTEXT, IR_I64)}));
  return op && ir_onnx_out(n, 0, ir_op_result(op, 0)) && ir_onnx_out(n, 1, ir_op_result(op, 1));
}

bool import_topk_attrs(ir_onnx_node *n) { return greatest(n, integer(n, ir_onnx_int(n, "k", 1))); }

bool import_topk(ir_onnx_node *n) {
  const ir_onnx_known *k = ir_onnx_in_extents(n, 1);
  if (!k || k->count != 1) return k ? ir_onnx_fail(n, "k should be one number") : false;
  return greatest(n, extent(n, k->elements[0]));
}

/* --- scans and numbers --- */
bool import_cumsum(ir_onnx_node *n) {
  const int64_t *given;
  size_t count;
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0 || !ir_onnx_in_ints(n, 1, &given, &count)) return false;
  int axis = count == 1 ? ir_onnx_axis(n, given[0], rank) : -1;
  if (axis < 0) return count == 1 ? false : ir_onnx_fail(n, "axis should be one number");
  bool reverse = ir_onnx_int(n, "reverse", 0) != 0;
  const ir_attr *along_axis = integer(n, axis), *exclusive = ir_attr_bool(CONTEXT, ir_onnx_int(n, "exclusive", 0) != 0);
  if (reverse) x = ir_build1(&n->im->b, IR_FLIP, IR_OPERANDS(x), IR_SET({"axis", along_axis}));
  x = ir_build1(&n->im->b, IR_CUMSUM, IR_OPERANDS(x), IR_SET({"axis", along_axis}, {"exclusive", exclusive}));
  if (reverse) x = ir_build1(&n->im->b, IR_FLIP, IR_OPERANDS(x), IR_SET({"axis", along_axis}));
  return ir_onnx_out(n, 0, x);
}

/* Integers are known as expressions; of floats all must be constants: start + i * step. */
static bool float_range(ir_onnx_node *n) {
  const ir_attr *parts[3];
  double values[3];
  for (size_t i = 0; i < 3; i++) {
    if (!ir_onnx_in_number(n, i, &parts[i])) return false;
    values[i] = parts[i]->kind == IR_ATTR_INT ? (double)parts[i]->i : parts[i]->f;
  }
  double count = (values[1] - values[0]) / values[2];
  if (!(count < 1e9)) return ir_onnx_fail(n, "a range of %g elements", count);
  int64_t whole = count > 0 ? (int64_t)count : 0;
  if ((double)whole < count) whole++;
  ir_value *like = ir_onnx_in(n, 0), *x = ir_build1(&n->im->b, IR_ARANGE, NULL, 0, IR_SET({"end", integer(n, whole)}, {"dtype", ir_attr_dtype(CONTEXT, ir_type_dtype(like->type))}));
  return ir_onnx_out(n, 0, BUILD(IR_ADD, BUILD(IR_MULTIPLY, x, ir_onnx_number(n, like, values[2])), ir_onnx_number(n, like, values[0])));
}

bool import_range(ir_onnx_node *n) {
  const ir_onnx_known *parts[3] = {ir_onnx_in_known(n, 0), ir_onnx_in_known(n, 1), ir_onnx_in_known(n, 2)};
  for (size_t i = 0; i < 3; i++) {
    if (!parts[i]) return float_range(n);
  }
  const ir_attr *dtype = ir_attr_dtype(CONTEXT, parts[0]->dtype);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_ARANGE, NULL, 0, IR_SET({"start", extent(n, parts[0]->elements[0])}, {"end", extent(n, parts[1]->elements[0])},
                                                                          {"step", extent(n, parts[2]->elements[0])}, {"dtype", dtype})));
}

bool import_eye_like(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  if (rank != 2 || !ir_onnx_dim(x, 0) || !ir_onnx_dim(x, 1)) return ir_onnx_fail(n, "an input of rank %d, expected a matrix of known extents", rank);
  ir_dtype dtype = ir_onnx_has(n, "dtype") ? ir_onnx_dtype((int32_t)ir_onnx_int(n, "dtype", 0)) : ir_type_dtype(x->type);
  if (dtype == IR_DTYPE_UNKNOWN) return ir_onnx_fail(n, "not implemented: the element type");
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_EYE, NULL, 0, IR_SET({"n", extent(n, ir_onnx_dim(x, 0))}, {"m", extent(n, ir_onnx_dim(x, 1))},
                                                                       {"k", integer(n, ir_onnx_int(n, "k", 0))}, {"dtype", ir_attr_dtype(CONTEXT, dtype)})));
}

/* --- losses --- */
static ir_value *negative_log_likelihood(ir_onnx_node *n, ir_value *predictions) {
  ir_value *operands[3] = {predictions, ir_onnx_in(n, 1)};
  size_t count = ir_onnx_present(n, 2) ? 3 : 2;
  if (count == 3) operands[2] = ir_onnx_in(n, 2);
  const char *how = ir_onnx_string(n, "reduction", "mean");
  int64_t ignored = ir_onnx_int(n, "ignore_index", INT64_MIN); /* without it every target counts */
  return ir_build1(&n->im->b, IR_NN_NLL_LOSS, operands, count, IR_SET({"reduction", ir_attr_string(CONTEXT, ir_slice_of(how))}, {"ignore_index", integer(n, ignored)}));
}

bool import_nll_loss(ir_onnx_node *n) { return ir_onnx_out(n, 0, negative_log_likelihood(n, ir_onnx_in(n, 0))); }

bool import_softmax_cross_entropy(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  if (ir_onnx_rank(n, x) < 2) return x ? ir_onnx_fail(n, "scores should have at least rank 2") : false;
  x = ir_build1(&n->im->b, IR_NN_LOG_SOFTMAX, IR_OPERANDS(x), IR_SET({"axis", integer(n, 1)}));
  return ir_onnx_out(n, 0, negative_log_likelihood(n, x)) && (!ir_onnx_wants(n, 1) || ir_onnx_out(n, 1, x));
}
