// SPDX-License-Identifier: Apache-2.0
/* ir/infer_nn.c - inference of convolution and pooling over one to three axes. Needs ir/infer_dims. */
#include "base/checked.h"
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/number.h"
#include "ir/ops/infer_ops.h"

/* The window along one axis. */
struct window {
  const ir_expr *size; /* of the kernel, NULL for `?` */
  int64_t stride, dilation, before, after;
  bool ceil;
};

enum { MOST_SPATIAL = 3, MAX_WINDOW = 1 << 30 };

static bool fits_window(int64_t width) { return width >= 0 && width <= MAX_WINDOW; }

/* The axes that the layout has behind N and C. */
static size_t spatial_of(const ir_infer *in, const char *layout) { return strlen(ir_infer_word(in, layout)) - 2; }

/* [all], one an axis, or all before and then all after. */
static bool take_padding(ir_infer *in, size_t spatial, struct window *windows) {
  size_t count = ir_infer_count(in, "padding");
  if (count != 1 && count != spatial && count != 2 * spatial) {
    if (spatial == 1) return ir_infer_fail(in, "attribute 'padding' has %zu entries, expected 1 or 2", count);
    return ir_infer_fail(in, "attribute 'padding' has %zu entries, expected 1, %zu or %zu", count, spatial, 2 * spatial);
  }
  for (size_t i = 0; i < spatial; i++) {
    windows[i].before = ir_infer_int_at(in, "padding", count == 1 ? 0 : i);
    windows[i].after = ir_infer_int_at(in, "padding", count == 1 ? 0 : count == spatial ? i : i + spatial);
    bool fits = fits_window(windows[i].before) && fits_window(windows[i].after);
    if (!fits) return ir_infer_fail(in, "attribute 'padding' holds %lld, expected 0 to %d", (long long)(fits_window(windows[i].before) ? windows[i].after : windows[i].before), MAX_WINDOW);
  }
  return true;
}

static bool take_windows(ir_infer *in, size_t spatial, struct window *windows) {
  int64_t strides[MOST_SPATIAL], dilation[MOST_SPATIAL];
  if (!ir_infer_spread(in, "strides", spatial, 1, MAX_WINDOW, strides)) return false;
  if (!ir_infer_spread(in, "dilation", spatial, 1, MAX_WINDOW, dilation)) return false;
  for (size_t i = 0; i < spatial; i++) {
    windows[i].stride = strides[i];
    windows[i].dilation = dilation[i];
  }
  return take_padding(in, spatial, windows);
}

/* dilation * (size - 1) + 1 */
static const ir_expr *reach(const ir_infer *in, const struct window *w) {
  if (w->dilation == 1) return w->size;
  const ir_expr *steps = ir_infer_sub(in, w->size, ir_infer_i64(in, 1));
  return ir_infer_add(in, ir_infer_mul(in, steps, ir_infer_i64(in, w->dilation)), ir_infer_i64(in, 1));
}

/* How many windows fit: (extent + padding - reach) / stride + 1, rounded down, or up where ceil; then a window that
 * starts in the padding behind is dropped, as PyTorch and ONNX do: at most ceildiv(extent + before, stride). */
static bool count_windows(ir_infer *in, size_t axis, const ir_expr *extent, const struct window *w, const ir_expr **count) {
  const ir_expr *one = ir_infer_i64(in, 1), *stride = ir_infer_i64(in, w->stride), *covered = reach(in, w);
  const ir_expr *least = ir_infer_i64(in, w->ceil ? 1 - w->stride : 0); /* the first window of ceil need not be full */
  const ir_expr *padded = ir_infer_add(in, extent, ir_infer_i64(in, w->before + w->after));
  const ir_expr *room = ir_infer_sub(in, padded, covered);
  *count = NULL;
  if (!room) return true;
  if (ir_prove_lt(in->context, in->facts, room, least) == IR_PROVEN) {
    return ir_infer_fail(in, "the window covers %s elements on axis %zu, more than the %s that are there with the padding",
                         ir_infer_dim_text(in, covered), axis, ir_infer_dim_text(in, padded));
  }
  ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, room, least));
  const ir_expr *steps = w->stride == 1 ? room : ir_infer_op(in, w->ceil ? IR_S_CEILDIV : IR_S_FLOORDIV, room, stride);
  *count = ir_infer_add(in, steps, one);
  if (!w->ceil || w->stride == 1) return true;
  const ir_expr *before = ir_infer_add(in, extent, ir_infer_i64(in, w->before));
  *count = ir_infer_op(in, IR_S_MIN, *count, ir_infer_op(in, IR_S_CEILDIV, before, stride));
  return true;
}

static bool check_groups(ir_infer *in, const ir_view *x, const ir_view *weight, int64_t groups) {
  if (groups < 1) return ir_infer_fail(in, "attribute 'groups' is %lld, expected at least 1", (long long)groups);
  const ir_expr *count = ir_infer_i64(in, groups);
  if (x->ranked && weight->ranked) {
    const ir_expr *channels = ir_infer_mul(in, weight->dims[1], count);
    bool clash = false;
    ir_infer_equal_dims(in, x->dims[1], channels, &clash);
    if (clash) {
      return ir_infer_fail(in, "operand 'x' has %s channels, expected %s: %s a group in the weight, %lld groups",
                           ir_infer_dim_text(in, x->dims[1]), ir_infer_dim_text(in, channels), ir_infer_dim_text(in, weight->dims[1]),
                           (long long)groups);
    }
  }
  int64_t outputs;
  if (weight->ranked && weight->dims[0] && groups > 1) {
    const ir_expr *over = ir_expr_binary(in->context, IR_S_FLOORMOD, weight->dims[0], count);
    ir_infer_need(in, ir_expr_binary(in->context, IR_S_EQ, over, ir_infer_i64(in, 0)));
  }
  if (weight->ranked && ir_dim_const(weight->dims[0], &outputs) && outputs % groups) {
    return ir_infer_fail(in, "%lld output channels do not divide into %lld groups", (long long)outputs, (long long)groups);
  }
  return true;
}

bool infer_conv(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), weight = ir_infer_view(in, 1);
  struct window windows[MOST_SPATIAL] = {0};
  size_t spatial = spatial_of(in, "data_layout");
  ir_dtype dtype;
  if (!ir_infer_same_dtype(in, 0, 1, &dtype)) return false;
  if (!ir_infer_wants_rank(in, 0, 2 + spatial) || !ir_infer_wants_rank(in, 1, 2 + spatial)) return false;
  if (!take_windows(in, spatial, windows) || !check_groups(in, &x, &weight, ir_infer_int(in, "groups"))) return false;
  if (ir_infer_dtype(in, "out_dtype") != IR_DTYPE_UNKNOWN) dtype = ir_infer_dtype(in, "out_dtype");
  const ir_expr *dims[2 + MOST_SPATIAL] = {x.ranked ? x.dims[0] : NULL, weight.ranked ? weight.dims[0] : NULL};
  for (size_t i = 0; i < spatial; i++) {
    windows[i].size = weight.ranked ? weight.dims[2 + i] : NULL;
    if (windows[i].size) ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, windows[i].size, ir_infer_i64(in, 1)));
    if (ir_dim_is(windows[i].size, 0)) return ir_infer_fail(in, "axis %zu of operand 'weight' has extent 0, expected at least 1", 2 + i);
    if (!count_windows(in, 2 + i, x.ranked ? x.dims[2 + i] : NULL, &windows[i], &dims[2 + i])) return false;
  }
  return ir_infer_ranked(in, dtype, 2 + spatial, dims);
}

bool infer_pool(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  struct window windows[MOST_SPATIAL] = {0};
  size_t spatial = spatial_of(in, "layout");
  int64_t sizes[MOST_SPATIAL];
  if (!ir_infer_wants_rank(in, 0, 2 + spatial) || !take_windows(in, spatial, windows)) return false;
  if (!ir_infer_spread(in, "pool_size", spatial, 1, MAX_WINDOW, sizes)) return false;
  const ir_expr *dims[2 + MOST_SPATIAL] = {x.ranked ? x.dims[0] : NULL, x.ranked ? x.dims[1] : NULL};
  for (size_t i = 0; i < spatial; i++) {
    struct window *w = &windows[i];
    w->size = ir_infer_i64(in, sizes[i]);
    w->ceil = ir_infer_bool(in, "ceil_mode");
    int64_t covered = (sizes[i] - 1) * w->dilation + 1;
    if (w->before >= covered || w->after >= covered) {
      return ir_infer_fail(in, "padding by %lld and %lld on axis %zu, expected less than the %lld elements that the window covers",
                           (long long)w->before, (long long)w->after, 2 + i, (long long)covered);
    }
    if (!count_windows(in, 2 + i, x.ranked ? x.dims[2 + i] : NULL, w, &dims[2 + i])) return false;
  }
  return ir_infer_ranked(in, x.dtype, 2 + spatial, dims);
}

bool infer_adaptive_pool(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  size_t spatial = spatial_of(in, "layout");
  int64_t sizes[MOST_SPATIAL];
  if (!ir_infer_wants_rank(in, 0, 2 + spatial)) return false;
  const ir_expr *dims[2 + MOST_SPATIAL] = {0};
  if (x.ranked) memcpy(dims, x.dims, (2 + spatial) * sizeof *dims);
  if (ir_infer_attr(in, "output_size")) {
    if (!ir_infer_spread(in, "output_size", spatial, 1, INT64_MAX, sizes)) return false;
    for (size_t i = 0; i < spatial; i++) {
      if (ir_dim_is(dims[2 + i], 0)) return ir_infer_fail(in, "axis %zu of operand 'x' has extent 0, expected at least 1", 2 + i);
      if (dims[2 + i]) ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, dims[2 + i], ir_infer_i64(in, 1)));
      dims[2 + i] = ir_infer_i64(in, sizes[i]);
    }
  }
  return ir_infer_ranked(in, x.dtype, 2 + spatial, dims);
}

/* The weight is [input channels, output channels of a group, kernel]. */
static bool check_transposed_groups(ir_infer *in, const ir_view *x, const ir_view *weight, int64_t groups, const ir_expr **channels) {
  int64_t inputs;
  if (groups < 1) return ir_infer_fail(in, "attribute 'groups' is %lld, expected at least 1", (long long)groups);
  *channels = weight->ranked ? ir_infer_mul(in, weight->dims[1], ir_infer_i64(in, groups)) : NULL;
  const ir_expr *first = weight->ranked ? weight->dims[0] : NULL;
  if (x->ranked && weight->ranked && !ir_infer_wants_extent(in, "the number of input channels of 'weight'", first, x->dims[1])) return false;
  if (first && groups > 1) {
    const ir_expr *over = ir_expr_binary(in->context, IR_S_FLOORMOD, first, ir_infer_i64(in, groups));
    ir_infer_need(in, ir_expr_binary(in->context, IR_S_EQ, over, ir_infer_i64(in, 0)));
  }
  if (!ir_dim_const(first, &inputs) || inputs % groups == 0) return true;
  return ir_infer_fail(in, "%lld input channels do not divide into %lld groups", (long long)inputs, (long long)groups);
}

/* (extent - 1) * stride - padding + reach + EXTRA */
static bool spread(ir_infer *in, size_t axis, const ir_expr *extent, const struct window *w, int64_t extra, const ir_expr **result) {
  const ir_expr *zero = ir_infer_i64(in, 0), *one = ir_infer_i64(in, 1);
  if (w->size) ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, w->size, one));
  if (ir_dim_is(w->size, 0)) return ir_infer_fail(in, "axis %zu of operand 'weight' has extent 0, expected at least 1", axis);
  if (extent) ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, extent, one));
  if (ir_dim_is(extent, 0)) return ir_infer_fail(in, "axis %zu of operand 'x' has extent 0, expected at least 1", axis);
  const ir_expr *steps = ir_infer_mul(in, ir_infer_sub(in, extent, one), ir_infer_i64(in, w->stride));
  *result = ir_infer_add(in, ir_infer_add(in, steps, reach(in, w)), ir_infer_i64(in, extra - w->before - w->after));
  if (!*result) return true;
  if (ir_prove_lt(in->context, in->facts, *result, zero) == IR_PROVEN) {
    return ir_infer_fail(in, "the padding takes more than there is on axis %zu: extent %s", axis, ir_infer_dim_text(in, *result));
  }
  ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, *result, zero));
  return true;
}

bool infer_conv_transpose(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0), weight = ir_infer_view(in, 1);
  struct window windows[MOST_SPATIAL] = {0};
  size_t spatial = spatial_of(in, "data_layout");
  int64_t extra[MOST_SPATIAL];
  ir_dtype dtype;
  const ir_expr *dims[2 + MOST_SPATIAL] = {x.ranked ? x.dims[0] : NULL};
  if (!ir_infer_same_dtype(in, 0, 1, &dtype)) return false;
  if (!ir_infer_wants_rank(in, 0, 2 + spatial) || !ir_infer_wants_rank(in, 1, 2 + spatial) || !take_windows(in, spatial, windows)) return false;
  if (!check_transposed_groups(in, &x, &weight, ir_infer_int(in, "groups"), &dims[1])) return false;
  if (!ir_infer_spread(in, "output_padding", spatial, 0, MAX_WINDOW, extra)) return false;
  if (ir_infer_dtype(in, "out_dtype") != IR_DTYPE_UNKNOWN) dtype = ir_infer_dtype(in, "out_dtype");
  for (size_t i = 0; i < spatial; i++) {
    struct window *w = &windows[i];
    int64_t most = w->stride > w->dilation ? w->stride : w->dilation;
    if (extra[i] >= most) {
      return ir_infer_fail(in, "attribute 'output_padding' holds %lld, expected less than %lld, the greater of stride and dilation",
                           (long long)extra[i], (long long)most);
    }
    w->size = weight.ranked ? weight.dims[2 + i] : NULL;
    if (!spread(in, 2 + i, x.ranked ? x.dims[2 + i] : NULL, w, extra[i], &dims[2 + i])) return false;
  }
  return ir_infer_ranked(in, dtype, 2 + spatial, dims);
}

/* What a resized extent is, where the scale says so: floor(extent * scale), the scale exactly as given. */
static bool scaled_extent(ir_infer *in, const ir_attr *scale, const ir_expr *extent, const ir_expr **result) {
  int64_t numerator, denominator;
  if (!(scale->f > 0) || !ir_f32_ratio(scale->f, &numerator, &denominator) || !numerator) {
    return ir_infer_fail(in, "attribute 'scales' holds %g, expected a positive number, a multiple of 2^-40 below 2^40", scale->f);
  }
  *result = ir_infer_op(in, IR_S_FLOORDIV, ir_infer_mul(in, extent, ir_infer_i64(in, numerator)), ir_infer_i64(in, denominator));
  return true;
}

static bool check_roi(ir_infer *in, bool cropped) {
  const ir_attr *roi = ir_infer_attr(in, "roi");
  int64_t numerator, denominator;
  if (cropped && !roi) return ir_infer_fail(in, "attribute 'roi' is missing, which tf_crop_and_resize needs");
  if (!roi) return true;
  if (roi->count != 4) return ir_infer_fail(in, "attribute 'roi' has %u entries, expected 4", (unsigned)roi->count);
  for (size_t i = 0; i < 4; i++) {
    bool fits = ir_f32_ratio(roi->items[i]->f, &numerator, &denominator);
    if (!fits) return ir_infer_fail(in, "attribute 'roi' holds %g, expected a multiple of 2^-40 below 2^40", roi->items[i]->f);
  }
  return true;
}

bool infer_resize(ir_infer *in) {
  ir_view x = ir_infer_view(in, 0);
  enum { AXES = 2 };
  const ir_attr *scales = ir_infer_attr(in, "scales");
  bool sized = ir_infer_attr(in, "size") != NULL, nearest = !strcmp(ir_infer_word(in, "method"), "nearest_neighbor");
  if (!ir_infer_wants_rank(in, 0, 2 + AXES)) return false;
  if (!sized && !scales) return ir_infer_fail(in, "expected one of the attributes 'size' and 'scales'");
  if (sized && ir_infer_count(in, "size") != AXES) return ir_infer_fail(in, "attribute 'size' has %zu entries, expected %d", ir_infer_count(in, "size"), AXES);
  if (scales && scales->count != AXES) return ir_infer_fail(in, "attribute 'scales' has %u entries, expected %d", (unsigned)scales->count, AXES);
  if (!check_roi(in, !strcmp(ir_infer_word(in, "coordinate_transformation_mode"), "tf_crop_and_resize"))) return false;
  if (!nearest && x.dtype != IR_DTYPE_UNKNOWN && !ir_is_float(x.dtype)) {
    return ir_infer_fail(in, "operand 'x' has dtype %s, expected a float for method \"%s\"", ir_dtype_name(x.dtype), ir_infer_word(in, "method"));
  }
  const ir_expr *dims[2 + AXES] = {0}, *scaled = NULL;
  for (size_t i = 0; i < 2 + AXES; i++) dims[i] = x.ranked ? x.dims[i] : NULL;
  for (size_t i = 0; i < AXES; i++) {
    const ir_expr *extent = dims[2 + i];
    int64_t size;
    if (ir_dim_is(extent, 0)) return ir_infer_fail(in, "axis %zu has extent 0", 2 + i);
    if (extent) ir_infer_need(in, ir_expr_binary(in->context, IR_S_GE, extent, ir_infer_i64(in, 1)));
    if (scales && !scaled_extent(in, scales->items[i], extent, &scaled)) return false;
    dims[2 + i] = sized ? ir_infer_dim_at(in, "size", i) : scaled;
    if (ir_dim_const(dims[2 + i], &size) && size < 0) return ir_infer_fail(in, "attribute 'size' holds %lld, expected at least 0", (long long)size);
  }
  return ir_infer_ranked(in, x.dtype, 2 + AXES, dims);
}

/* --- attention --- */

/* Axis AXIS of operand I, which has four, is *extent, or says what that is. */
static bool take_extent(ir_infer *in, size_t i, size_t axis, const char *what, const ir_expr **extent) {
  ir_view view = ir_infer_view(in, i);
  bool clash = false;
  if (!view.ranked) return true;
  const char *name = ir_arena_printf(in->scratch, "%s of '%s'", what, ir_infer_operand_name(in, i));
  if (!ir_infer_wants_extent(in, name, view.dims[axis], *extent)) return false;
  *extent = ir_infer_equal_dims(in, *extent, view.dims[axis], &clash);
  return true;
}

static bool check_bias(ir_infer *in, const ir_expr *const *scores) {
  ir_view bias = ir_infer_view(in, 3);
  if (!ir_infer_wants_rank(in, 3, 4)) return false;
  for (size_t i = 0; i < bias.rank; i++) {
    bool clash = false;
    const ir_expr *joined = ir_infer_broadcast_dim(in, scores[i], bias.dims[i], &clash);
    int64_t own, wanted;
    if (ir_dim_const(joined, &own) && ir_dim_const(scores[i], &wanted)) clash |= own != wanted;
    if (!clash) continue;
    const char *other = ir_dim_is(scores[i], 1) ? "" : ir_arena_printf(in->scratch, " or %s", ir_infer_dim_text(in, scores[i]));
    return ir_infer_fail(in, "axis %zu of 'bias' has extent %s, expected 1%s", i, ir_infer_dim_text(in, bias.dims[i]), other);
  }
  return true;
}

bool infer_attention(ir_infer *in) {
  ir_dtype dtype;
  const ir_expr *batch = NULL, *queries = NULL, *keys = NULL, *heads = NULL, *depth = NULL, *width = NULL;
  if (!ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype)) return false;
  const struct {
    size_t operand, axis;
    const char *what;
    const ir_expr **extent;
  } axes[] = {{0, 0, "batch", &batch}, {1, 0, "batch", &batch}, {2, 0, "batch", &batch}, {0, 1, "queries", &queries},
              {1, 1, "keys", &keys},   {2, 1, "keys", &keys},   {0, 2, "heads", &heads}, {1, 2, "heads", &heads},
              {2, 2, "heads", &heads}, {0, 3, "depth", &depth}, {1, 3, "depth", &depth}, {2, 3, "width", &width}};
  for (size_t i = 0; i < 3; i++) {
    if (!ir_infer_wants_rank(in, i, 4)) return false;
  }
  for (size_t i = 0; i < ir_count_of(axes); i++) {
    if (!take_extent(in, axes[i].operand, axes[i].axis, axes[i].what, axes[i].extent)) return false;
  }
  if (in->operand_count > 3 && !check_bias(in, (const ir_expr *const[]){batch, heads, queries, keys})) return false;
  bool window = ir_infer_attr(in, "window_size");
  if (window && !ir_infer_attr(in, "causal_mask")) return ir_infer_fail(in, "attribute 'window_size' needs 'causal_mask'");
  if (window && ir_infer_int(in, "window_size") < 1) return ir_infer_fail(in, "attribute 'window_size' is %lld, expected at least 1", (long long)ir_infer_int(in, "window_size"));
  return ir_infer_ranked(in, dtype, 4, (const ir_expr *const[]){batch, queries, heads, width});
}
