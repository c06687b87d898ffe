// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_nn.c - convolution, pooling, padding. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)

enum { MOST_SPATIAL = 3 };

/* What convolution and pooling have in common, for each axis; pads: all before, then all after. */
struct window {
  size_t spatial;
  int64_t size[MOST_SPATIAL], strides[MOST_SPATIAL], dilation[MOST_SPATIAL], pads[2 * MOST_SPATIAL];
  const char *auto_pad;
};

/* The operator for the number of axes of a row's operator, which is the one for two axes. */
static ir_opcode for_axes(ir_opcode code, size_t spatial) {
  static const ir_opcode codes[][MOST_SPATIAL] = {
      {IR_NN_CONV1D, IR_NN_CONV2D, IR_NN_CONV3D},
      {IR_NN_CONV1D_TRANSPOSE, IR_NN_CONV2D_TRANSPOSE, IR_NN_CONV3D_TRANSPOSE},
      {IR_NN_MAX_POOL1D, IR_NN_MAX_POOL2D, IR_NN_MAX_POOL3D},
      {IR_NN_AVG_POOL1D, IR_NN_AVG_POOL2D, IR_NN_AVG_POOL3D},
  };
  size_t i = 0;
  while (codes[i][1] != code) i++;
  return codes[i][spatial - 1];
}

static bool entries(ir_onnx_node *n, const char *name, int64_t *into, size_t wanted) {
  size_t count;
  const int64_t *values = ir_onnx_ints(n, name, &count);
  if (!values) return true;
  if (count != wanted) return ir_onnx_fail(n, "'%s' has %zu numbers, expected %zu", name, count, wanted);
  for (size_t i = 0; i < wanted; i++) into[i] = values[i];
  return true;
}

/* The number of axes behind N and C. */
static bool read_spatial(ir_onnx_node *n, const ir_value *x, struct window *w) {
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  if (rank < 3) return ir_onnx_fail(n, "an input of rank %d, expected at least 3", rank);
  if (rank > 2 + MOST_SPATIAL) return ir_onnx_fail(n, "not implemented: %d axes", rank - 2);
  *w = (struct window){.spatial = (size_t)rank - 2};
  return true;
}

static bool read_window(ir_onnx_node *n, struct window *w) {
  for (size_t i = 0; i < w->spatial; i++) w->strides[i] = w->dilation[i] = 1;
  w->auto_pad = ir_onnx_string(n, "auto_pad", "NOTSET");
  if (!entries(n, "strides", w->strides, w->spatial) || !entries(n, "dilations", w->dilation, w->spatial) || !entries(n, "pads", w->pads, 2 * w->spatial)) return false;
  for (size_t i = 0; i < w->spatial; i++) {
    const int64_t numbers[] = {w->size[i], w->strides[i], w->dilation[i]};
    for (size_t k = 0; k < ir_count_of(numbers); k++) {
      if (numbers[k] < 1 || numbers[k] > INT32_MAX) return ir_onnx_fail(n, "sizes, strides and dilations are from 1 to %d", INT32_MAX);
    }
  }
  if (strcmp(w->auto_pad, "NOTSET")) memset(w->pads, 0, sizeof w->pads);
  return true;
}

/* Whether the padding is computed; *upper: the odd one goes behind. */
static bool is_same(ir_onnx_node *n, const struct window *w, bool *same, bool *upper) {
  *upper = !strcmp(w->auto_pad, "SAME_UPPER");
  *same = *upper || !strcmp(w->auto_pad, "SAME_LOWER");
  if (*same || !strcmp(w->auto_pad, "NOTSET") || !strcmp(w->auto_pad, "VALID")) return true;
  return ir_onnx_fail(n, "auto_pad '%s'", w->auto_pad);
}

static void share_padding(struct window *w, size_t i, int64_t total, bool upper) {
  if (total < 0) total = 0;
  w->pads[i] = upper ? total / 2 : total - total / 2;
  w->pads[i + w->spatial] = total - w->pads[i];
}

static bool pad_to_same(ir_onnx_node *n, const ir_value *x, struct window *w) {
  bool same, upper;
  if (!is_same(n, w, &same, &upper)) return false;
  for (size_t i = 0; i < w->spatial && same; i++) {
    int64_t extent;
    const ir_expr *dim = ir_onnx_dim(x, 2 + i);
    if (!dim || !ir_expr_is_int(dim, &extent)) return ir_onnx_fail(n, "not implemented: auto_pad '%s' of a symbolic extent", w->auto_pad);
    int64_t out = (extent + w->strides[i] - 1) / w->strides[i];
    share_padding(w, i, (out - 1) * w->strides[i] + (w->size[i] - 1) * w->dilation[i] + 1 - extent, upper);
  }
  return true;
}

static const ir_attr *list(ir_onnx_node *n, const struct window *w, const int64_t *values) { return ir_attr_ints(CONTEXT, w->spatial, values); }
static const ir_attr *padding(ir_onnx_node *n, const struct window *w) { return ir_attr_ints(CONTEXT, 2 * w->spatial, w->pads); }

/* Operand and weight, and the size of the kernel. */
static bool read_kernel(ir_onnx_node *n, ir_value *x, ir_value *weight, struct window *w) {
  if (!x || !weight || !read_spatial(n, x, w)) return false;
  int own = ir_onnx_rank(n, weight);
  if (own != 2 + (int)w->spatial) return own < 0 ? false : ir_onnx_fail(n, "the input has rank %zu, the weight %d: expected equal ranks", 2 + w->spatial, own);
  int64_t given[MOST_SPATIAL];
  for (size_t i = 0; i < w->spatial; i++) {
    const ir_expr *dim = ir_onnx_dim(weight, 2 + i);
    if (!dim || !ir_expr_is_int(dim, &w->size[i])) return ir_onnx_fail(n, "not implemented: a kernel of symbolic size");
    given[i] = w->size[i];
  }
  if (!entries(n, "kernel_shape", given, w->spatial)) return false;
  for (size_t i = 0; i < w->spatial; i++) {
    if (given[i] != w->size[i]) return ir_onnx_fail(n, "kernel_shape contradicts the weight");
  }
  return read_window(n, w);
}

/* y + bias, which runs along the channels. */
static ir_value *with_bias(ir_onnx_node *n, ir_value *y, const struct window *w) {
  if (!y || !ir_onnx_present(n, 2)) return y;
  ir_value *bias = ir_onnx_in(n, 2);
  int rank = ir_onnx_rank(n, bias);
  if (rank != 1) {
    if (rank >= 0) ir_onnx_fail(n, "the bias should have rank 1");
    return NULL;
  }
  const ir_expr *channels = ir_onnx_dim(y, 1), *have = ir_onnx_dim(bias, 0);
  if (channels && have && !ir_onnx_require_equal(n, have, channels)) {
    ir_onnx_fail(n, "the bias should have an entry for each output channel");
    return NULL;
  }
  const ir_expr *one = ir_expr_i64(CONTEXT, 1), *dims[1 + MOST_SPATIAL] = {have, one, one, one};
  return IR_ONNX_BUILD(n, IR_ADD, y, ir_onnx_reshape(n, bias, 1 + w->spatial, dims));
}

static ir_value *conv(ir_onnx_node *n, ir_value *x, ir_value *weight, struct window *w) {
  if (!read_kernel(n, x, weight, w) || !pad_to_same(n, x, w)) return NULL;
  const ir_attr *groups = ir_attr_int(CONTEXT, ir_onnx_int(n, "group", 1));
  return ir_build1(&n->im->b, for_axes(IR_NN_CONV2D, w->spatial), IR_OPERANDS(x, weight),
                   IR_SET({"strides", list(n, w, w->strides)}, {"padding", padding(n, w)}, {"dilation", list(n, w, w->dilation)}, {"groups", groups}));
}

ir_value *ir_onnx_conv(ir_onnx_node *n, ir_value *x, ir_value *weight) {
  struct window w;
  return conv(n, x, weight, &w);
}

bool import_conv(ir_onnx_node *n) {
  struct window w;
  ir_value *y = conv(n, ir_onnx_in(n, 0), ir_onnx_in(n, 1), &w);
  return ir_onnx_out(n, 0, with_bias(n, y, &w));
}

/* output_shape, or the input's extents times the strides, decide about the padding; where they ask for more than there is
 * without any, the rest is output padding. */
static bool pad_transposed(ir_onnx_node *n, const ir_value *x, struct window *w, int64_t *extra) {
  bool same, upper, shaped = ir_onnx_has(n, "output_shape");
  int64_t wanted[MOST_SPATIAL];
  if (!is_same(n, w, &same, &upper) || !entries(n, "output_shape", wanted, w->spatial)) return false;
  for (size_t i = 0; i < w->spatial && (same || shaped); i++) {
    int64_t extent;
    const ir_expr *dim = ir_onnx_dim(x, 2 + i);
    if (!dim || !ir_expr_is_int(dim, &extent)) return ir_onnx_fail(n, "not implemented: padding computed from a symbolic extent");
    if (!shaped) wanted[i] = extent * w->strides[i];
    int64_t total = (extent - 1) * w->strides[i] + extra[i] + (w->size[i] - 1) * w->dilation[i] + 1 - wanted[i];
    if (total < 0) extra[i] -= total;
    share_padding(w, i, total, upper);
  }
  return true;
}

bool import_conv_transpose(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *weight = ir_onnx_in(n, 1);
  struct window w;
  int64_t extra[MOST_SPATIAL] = {0};
  if (!read_kernel(n, x, weight, &w) || !entries(n, "output_padding", extra, w.spatial) || !pad_transposed(n, x, &w, extra)) return false;
  const ir_attr *groups = ir_attr_int(CONTEXT, ir_onnx_int(n, "group", 1));
  ir_value *y = ir_build1(&n->im->b, for_axes(n->row->code, w.spatial), IR_OPERANDS(x, weight),
                          IR_SET({"strides", list(n, &w, w.strides)}, {"padding", padding(n, &w)}, {"dilation", list(n, &w, w.dilation)},
                                 {"output_padding", list(n, &w, extra)}, {"groups", groups}));
  return ir_onnx_out(n, 0, with_bias(n, y, &w));
}

static ir_value *pool(ir_onnx_node *n, ir_value *x, ir_opcode code, struct window *w, bool ceil, bool include) {
  if (!ir_onnx_has(n, "kernel_shape")) {
    ir_onnx_fail(n, "kernel_shape is missing");
    return NULL;
  }
  if (!entries(n, "kernel_shape", w->size, w->spatial) || !read_window(n, w) || !pad_to_same(n, x, w)) return NULL;
  return ir_build1(&n->im->b, for_axes(code, w->spatial), IR_OPERANDS(x),
                   IR_SET({"pool_size", list(n, w, w->size)}, {"strides", list(n, w, w->strides)}, {"padding", padding(n, w)},
                          {"dilation", list(n, w, w->dilation)}, {"ceil_mode", ir_attr_bool(CONTEXT, ceil)},
                          {"count_include_pad", ir_attr_bool(CONTEXT, include)}));
}

bool import_pool(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  struct window w;
  if (!read_spatial(n, x, &w)) return false;
  if (ir_onnx_wants(n, 1)) return ir_onnx_fail(n, "not implemented: the Indices output");
  ir_onnx_ignore(n, "storage_order"); /* only says how Indices would count */
  bool average = n->row->code == IR_NN_AVG_POOL2D, include = average && ir_onnx_int(n, "count_include_pad", 0);
  return ir_onnx_out(n, 0, pool(n, x, n->row->code, &w, ir_onnx_int(n, "ceil_mode", 0) != 0, include));
}

/* |x|^p for p of 1 or 2, and the root that belongs to it. */
static ir_value *power_of_size(ir_onnx_node *n, ir_value *x, double p) { return IR_ONNX_BUILD(n, p == 1 ? IR_ABS : IR_SQUARE, x); }
static ir_value *root(ir_onnx_node *n, ir_value *x, double p) { return p == 1 ? x : IR_ONNX_BUILD(n, IR_SQRT, x); }

/* p was a float once. */
static bool norm_order(ir_onnx_node *n, double *p) {
  *p = n->im->opset < 2 ? ir_onnx_float(n, "p", 2) : (double)ir_onnx_int(n, "p", 2);
  return *p == 1 || *p == 2 || ir_onnx_fail(n, "not implemented: p = %g", *p);
}

/* The mean over whole windows, zeros in the padding, times the size of a window is the sum. */
bool import_lp_pool(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  struct window w;
  double p, size = 1;
  if (!read_spatial(n, x, &w) || !norm_order(n, &p)) return false;
  if (ir_onnx_int(n, "ceil_mode", 0)) return ir_onnx_fail(n, "not implemented: ceil_mode");
  ir_value *mean = pool(n, power_of_size(n, x, p), IR_NN_AVG_POOL2D, &w, false, true);
  for (size_t i = 0; i < w.spatial; i++) size *= (double)w.size[i];
  return ir_onnx_out(n, 0, root(n, IR_ONNX_BUILD(n, IR_MULTIPLY, mean, ir_onnx_number(n, mean, size)), p));
}

/* A reduction over all axes behind N and C. */
static ir_value *globally(ir_onnx_node *n, ir_opcode code, ir_value *x) {
  int rank = ir_onnx_rank(n, x);
  int64_t axes[64];
  if (rank < 0) return NULL;
  if (rank < 3 || rank > 64) {
    ir_onnx_fail(n, "an input of rank %d, expected at least 3", rank);
    return NULL;
  }
  for (int i = 2; i < rank; i++) axes[i - 2] = i;
  return ir_onnx_reduce(n, code, x, (size_t)rank - 2, axes, true);
}

bool import_global_pool(ir_onnx_node *n) { return ir_onnx_out(n, 0, globally(n, n->row->code, ir_onnx_in(n, 0))); }

bool import_global_lp_pool(ir_onnx_node *n) {
  double p;
  if (!norm_order(n, &p)) return false;
  return ir_onnx_out(n, 0, root(n, globally(n, IR_SUM, power_of_size(n, ir_onnx_in(n, 0), p)), p));
}

enum { MOST_AXES = 64 };

/* Pads of some axes as [before 0, after 0, before 1, ...] of all. */
static bool pad_widths(ir_onnx_node *n, const int64_t *pads, size_t count, const int64_t *axes, size_t axis_count, int rank, int64_t *widths) {
  bool seen[MOST_AXES] = {false};
  if (rank > MOST_AXES || count != 2 * axis_count) return ir_onnx_fail(n, "%zu pads for %zu axes", count, axis_count);
  memset(widths, 0, 2 * (size_t)rank * sizeof *widths);
  for (size_t i = 0; i < axis_count; i++) {
    int axis = ir_onnx_axis(n, axes ? axes[i] : (int64_t)i, rank);
    if (axis < 0) return false;
    if (seen[axis]) return ir_onnx_fail(n, "axis %d is given twice", axis);
    seen[axis] = true;
    widths[2 * axis] = pads[i];
    widths[2 * axis + 1] = pads[i + axis_count];
  }
  return true;
}

/* X, padded by the widths that are positive, without what the negative ones cut off its ends. */
static ir_value *cropped(ir_onnx_node *n, ir_value *x, size_t rank, const int64_t *widths) {
  const ir_expr *begin[MOST_AXES], *end[MOST_AXES];
  bool crops = false;
  for (size_t i = 0; i < rank; i++) {
    int64_t before = widths[2 * i], after = widths[2 * i + 1];
    crops |= before < 0 || after < 0;
    begin[i] = ir_expr_i64(CONTEXT, before < 0 ? -before : 0);
    end[i] = ir_expr_i64(CONTEXT, after < 0 ? after : INT64_MAX);
  }
  if (!x || !crops) return x;
  return ir_build1(&n->im->b, IR_STRIDED_SLICE, IR_OPERANDS(x), IR_SET({"begin", ir_attr_dims(CONTEXT, rank, begin)}, {"end", ir_attr_dims(CONTEXT, rank, end)}));
}

static bool pad(ir_onnx_node *n, const int64_t *pads, size_t count, const int64_t *axes, size_t axis_count, const ir_attr *fill) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  int64_t widths[2 * MOST_AXES];
  const char *mode = ir_onnx_string(n, "mode", "constant");
  if (rank < 0 || !pad_widths(n, pads, count, axes, axes ? axis_count : (size_t)rank, rank, widths)) return false;
  static const char *const modes[][2] = {{"constant", "constant"}, {"reflect", "reflect"}, {"edge", "replicate"}, {"wrap", "circular"}};
  const char *own = NULL;
  for (size_t i = 0; i < ir_count_of(modes); i++) own = strcmp(modes[i][0], mode) ? own : modes[i][1];
  if (!own) return ir_onnx_fail(n, "mode '%s'", mode);
  int64_t grown[2 * MOST_AXES];
  for (int i = 0; i < 2 * rank; i++) {
    if (widths[i] <= INT32_MIN) return ir_onnx_fail(n, "a pad of %lld", (long long)widths[i]);
    grown[i] = widths[i] < 0 ? 0 : widths[i];
  }
  bool before = strcmp(mode, "constant") != 0; /* copies are those of what is left */
  if (before) x = cropped(n, x, (size_t)rank, widths);
  x = ir_build1(&n->im->b, IR_NN_PAD, IR_OPERANDS(x),
                IR_SET({"pad_width", ir_attr_ints(CONTEXT, 2 * (size_t)rank, grown)}, {"pad_mode", ir_attr_string(CONTEXT, ir_slice_of(own))}, {"pad_value", fill}));
  return ir_onnx_out(n, 0, before ? x : cropped(n, x, (size_t)rank, widths));
}

bool import_pad_attrs(ir_onnx_node *n) {
  size_t count;
  const int64_t *pads = ir_onnx_ints(n, ir_onnx_has(n, "pads") ? "pads" : "paddings", &count);
  return pads ? pad(n, pads, count, NULL, 0, ir_attr_float(CONTEXT, ir_onnx_float(n, "value", 0))) : ir_onnx_fail(n, "pads are missing");
}

bool import_pad(ir_onnx_node *n) {
  const int64_t *pads, *axes = NULL;
  size_t count, axis_count = 0;
  const ir_attr *fill = NULL;
  if (!ir_onnx_in_ints(n, 1, &pads, &count)) return false;
  if (ir_onnx_present(n, 2) && !ir_onnx_in_number(n, 2, &fill)) return false;
  if (ir_onnx_present(n, 3) && !ir_onnx_in_ints(n, 3, &axes, &axis_count)) return false;
  return pad(n, pads, count, axes, axis_count, fill);
}
