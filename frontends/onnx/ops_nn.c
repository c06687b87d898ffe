// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_nn.c - convolution, pooling, padding. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)

/* What convolution and pooling have in common: [top, left, bottom, right] padding, strides, dilations of two axes. */
struct window {
  int64_t size[2], strides[2], dilation[2], pads[4];
};

static bool pair(ir_onnx_node *n, const char *name, int64_t *into, size_t wanted) {
  size_t count;
  const int64_t *values = ir_onnx_ints(n, name, &count);
  if (!values) return true;
  if (count != wanted) return ir_onnx_fail(n, "not implemented: '%s' of %zu numbers, expected %zu (two axes)", name, count, wanted);
  for (size_t i = 0; i < wanted; i++) into[i] = values[i];
  return true;
}

static bool read_window(ir_onnx_node *n, const ir_value *x, struct window *w) {
  for (int i = 0; i < 2; i++) w->strides[i] = w->dilation[i] = 1;
  if (!pair(n, "strides", w->strides, 2) || !pair(n, "dilations", w->dilation, 2) || !pair(n, "pads", w->pads, 4)) return false;
  const char *mode = ir_onnx_string(n, "auto_pad", "NOTSET");
  if (!strcmp(mode, "NOTSET") || !strcmp(mode, "VALID")) return true;
  bool upper = !strcmp(mode, "SAME_UPPER");
  if (!upper && strcmp(mode, "SAME_LOWER")) return ir_onnx_fail(n, "auto_pad '%s'", mode);
  for (size_t i = 0; i < 2; i++) {
    int64_t extent;
    const ir_expr *dim = ir_onnx_dim(x, 2 + i);
    if (!dim || !ir_expr_is_int(dim, &extent)) return ir_onnx_fail(n, "not implemented: auto_pad '%s' of a symbolic extent", mode);
    int64_t out = (extent + w->strides[i] - 1) / w->strides[i];
    int64_t total = (out - 1) * w->strides[i] + (w->size[i] - 1) * w->dilation[i] + 1 - extent;
    if (total < 0) total = 0;
    w->pads[i] = upper ? total / 2 : total - total / 2;
    w->pads[i + 2] = total - w->pads[i];
  }
  return true;
}

static const ir_attr *two(ir_onnx_node *n, const int64_t *values) { return ir_attr_ints(CONTEXT, 2, values); }

bool import_conv(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0), *w = ir_onnx_in(n, 1);
  if (!x || !w) return false;
  int rank = ir_onnx_rank(n, x), own = ir_onnx_rank(n, w);
  if (rank < 3 || own != rank) return ir_onnx_fail(n, "the input has rank %d, the weight %d: expected equal ranks of at least 3", rank, own);
  if (rank != 4) return ir_onnx_fail(n, "not implemented: convolution over %d axes", rank - 2);
  struct window window = {.pads = {0}};
  for (size_t i = 0; i < 2; i++) {
    if (!ir_onnx_dim(w, 2 + i) || !ir_expr_is_int(ir_onnx_dim(w, 2 + i), &window.size[i])) return ir_onnx_fail(n, "not implemented: a kernel of symbolic size");
  }
  int64_t given[2] = {window.size[0], window.size[1]};
  if (!pair(n, "kernel_shape", given, 2) || !read_window(n, x, &window)) return false;
  if (given[0] != window.size[0] || given[1] != window.size[1]) return ir_onnx_fail(n, "kernel_shape contradicts the weight");
  int64_t groups = ir_onnx_int(n, "group", 1);
  ir_value *y = ir_build1(&n->im->b, IR_NN_CONV2D, IR_OPERANDS(x, w),
                          IR_SET({"strides", two(n, window.strides)}, {"padding", ir_attr_ints(CONTEXT, 4, window.pads)},
                                 {"dilation", two(n, window.dilation)}, {"groups", ir_attr_int(CONTEXT, groups)}));
  if (y && ir_onnx_present(n, 2)) {
    ir_value *bias = ir_onnx_in(n, 2);
    if (!bias || ir_onnx_rank(n, bias) != 1) return ir_onnx_fail(n, "the bias should have rank 1");
    const ir_expr *one = ir_expr_i64(CONTEXT, 1), *dims[] = {ir_onnx_dim(bias, 0), one, one};
    bias = ir_onnx_reshape(n, bias, 3, dims);
    y = bias ? ir_build1(&n->im->b, IR_ADD, IR_OPERANDS(y, bias), IR_NO_ATTRS) : NULL;
  }
  return ir_onnx_out(n, 0, y);
}

bool import_pool(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  if (rank != 4) return ir_onnx_fail(n, "not implemented: pooling over %d axes", rank - 2);
  if (ir_onnx_wants(n, 1)) return ir_onnx_fail(n, "not implemented: the Indices output");
  ir_onnx_ignore(n, "storage_order"); /* only says how Indices would count */
  struct window window = {.pads = {0}};
  if (!ir_onnx_has(n, "kernel_shape")) return ir_onnx_fail(n, "kernel_shape is missing");
  if (!pair(n, "kernel_shape", window.size, 2) || !read_window(n, x, &window)) return false;
  bool average = n->row->code == IR_NN_AVG_POOL2D, include = average && ir_onnx_int(n, "count_include_pad", 0);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, n->row->code, IR_OPERANDS(x),
                                     IR_SET({"pool_size", two(n, window.size)}, {"strides", two(n, window.strides)},
                                            {"padding", ir_attr_ints(CONTEXT, 4, window.pads)}, {"dilation", two(n, window.dilation)},
                                            {"ceil_mode", ir_attr_bool(CONTEXT, ir_onnx_int(n, "ceil_mode", 0) != 0)},
                                            {"count_include_pad", ir_attr_bool(CONTEXT, include)})));
}

bool import_global_pool(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  int64_t axes[64];
  if (rank < 0) return false;
  if (rank < 3 || rank > 64) return ir_onnx_fail(n, "an input of rank %d, expected at least 3", rank);
  for (int i = 2; i < rank; i++) axes[i - 2] = i;
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, n->row->code, IR_OPERANDS(x),
                                     IR_SET({"axis", ir_attr_ints(CONTEXT, (size_t)rank - 2, axes)}, {"keepdims", ir_attr_bool(CONTEXT, true)})));
}

static bool pad(ir_onnx_node *n, const int64_t *pads, size_t count, const ir_attr *fill) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  int64_t widths[128];
  const char *mode = ir_onnx_string(n, "mode", "constant");
  if (rank < 0) return false;
  if (rank > 64 || count != 2 * (size_t)rank) return ir_onnx_fail(n, "%zu pads for rank %d", count, rank);
  static const char *const modes[][2] = {{"constant", "constant"}, {"reflect", "reflect"}, {"edge", "replicate"}, {"wrap", "circular"}};
  const char *own = NULL;
  for (size_t i = 0; i < ir_count_of(modes); i++) own = strcmp(modes[i][0], mode) ? own : modes[i][1];
  if (!own) return ir_onnx_fail(n, "mode '%s'", mode);
  for (int i = 0; i < rank; i++) {
    widths[2 * i] = pads[i];
    widths[2 * i + 1] = pads[i + rank];
    if (pads[i] < 0 || pads[i + rank] < 0) return ir_onnx_fail(n, "not implemented: negative pads");
  }
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_NN_PAD, IR_OPERANDS(x),
                                     IR_SET({"pad_width", ir_attr_ints(CONTEXT, count, widths)},
                                            {"pad_mode", ir_attr_string(CONTEXT, ir_slice_of(own))}, {"pad_value", fill})));
}

bool import_pad_attrs(ir_onnx_node *n) {
  size_t count;
  const int64_t *pads = ir_onnx_ints(n, ir_onnx_has(n, "pads") ? "pads" : "paddings", &count);
  return pads ? pad(n, pads, count, ir_attr_float(CONTEXT, ir_onnx_float(n, "value", 0))) : ir_onnx_fail(n, "pads are missing");
}

bool import_pad(ir_onnx_node *n) {
  const int64_t *pads;
  size_t count;
  const ir_attr *fill = NULL;
  if (!ir_onnx_in_ints(n, 1, &pads, &count)) return false;
  if (ir_onnx_present(n, 2) && !ir_onnx_in_number(n, 2, &fill)) return false;
  if (ir_onnx_present(n, 3)) return ir_onnx_fail(n, "not implemented: the axes input");
  return pad(n, pads, count, fill);
}
