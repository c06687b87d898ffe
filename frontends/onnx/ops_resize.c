// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_resize.c - Resize and Upsample of the last two axes. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)

enum { RANK = 4, SPATIAL = 2 };

/* For each axis of the input: scales, or sizes, and the region. */
struct resize {
  const double *scales, *roi;
  const ir_expr *const *sizes;
  size_t scale_count, size_count, roi_count;
  const char *mode, *place, *rounding;
};

static const char *translate(ir_onnx_node *n, const char *mode) {
  static const char *const names[][2] = {{"nearest", "nearest_neighbor"}, {"linear", "linear"}, {"bilinear", "linear"}, {"cubic", "cubic"}};
  for (size_t i = 0; i < ir_count_of(names); i++) {
    if (!strcmp(names[i][0], mode)) return names[i][1];
  }
  ir_onnx_fail(n, "mode '%s'", mode);
  return NULL;
}

/* The axes in front of the last two stay as they are. */
static bool only_spatial(ir_onnx_node *n, const ir_value *x, size_t rank, const struct resize *r) {
  for (size_t i = 0; i + SPATIAL < rank; i++) {
    bool same = r->scales ? r->scales[i] == 1 : r->sizes[i] == ir_onnx_dim(x, i);
    if (!same) return ir_onnx_fail(n, "not implemented: axis %zu of %zu resized, which is not one of the last two", i, rank);
  }
  return true;
}

static const ir_attr *numbers(ir_onnx_node *n, size_t count, const double *values) {
  const ir_attr *items[2 * RANK];
  for (size_t i = 0; i < count; i++) items[i] = ir_attr_float(CONTEXT, values[i]);
  return ir_attr_list(CONTEXT, count, items);
}

static ir_value *resize(ir_onnx_node *n, ir_value *x, size_t rank, const struct resize *r) {
  size_t first = rank - SPATIAL;
  double roi[2 * SPATIAL];
  if (r->roi_count) memcpy(roi, r->roi + first, SPATIAL * sizeof *roi), memcpy(roi + SPATIAL, r->roi + rank + first, SPATIAL * sizeof *roi);
  return ir_build1(&n->im->b, IR_IMAGE_RESIZE2D, IR_OPERANDS(x),
                   IR_SET({"size", r->sizes ? ir_attr_dims(CONTEXT, SPATIAL, r->sizes + first) : NULL},
                          {"scales", r->scales ? numbers(n, SPATIAL, r->scales + first) : NULL}, {"roi", r->roi_count ? numbers(n, 2 * SPATIAL, roi) : NULL},
                          {"method", ir_attr_string(CONTEXT, ir_slice_of(r->mode))},
                          {"coordinate_transformation_mode", ir_attr_string(CONTEXT, ir_slice_of(r->place))},
                          {"rounding_method", ir_attr_string(CONTEXT, ir_slice_of(r->rounding))},
                          {"cubic_alpha", ir_attr_float(CONTEXT, ir_onnx_float(n, "cubic_coeff_a", -0.75))},
                          {"cubic_exclude", ir_attr_bool(CONTEXT, ir_onnx_int(n, "exclude_outside", 0) != 0)},
                          {"extrapolation_value", ir_attr_float(CONTEXT, ir_onnx_float(n, "extrapolation_value", 0))}));
}

/* With ones in front up to rank 4, and back. */
static bool resized(ir_onnx_node *n, ir_value *x, struct resize *r) {
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  if (rank < SPATIAL || rank > RANK) return ir_onnx_fail(n, "not implemented: an input of rank %d", rank);
  size_t given = r->scales ? r->scale_count : r->size_count;
  if (given != (size_t)rank) return ir_onnx_fail(n, "%zu scales or sizes for rank %d", given, rank);
  if (r->roi_count && r->roi_count != 2 * (size_t)rank) return ir_onnx_fail(n, "%zu numbers in roi for rank %d", r->roi_count, rank);
  r->mode = translate(n, ir_onnx_string(n, "mode", "nearest"));
  if (!r->mode || !only_spatial(n, x, (size_t)rank, r)) return false;
  const ir_expr *dims[RANK];
  for (int i = 0; i < RANK; i++) dims[i] = i < RANK - rank ? ir_expr_i64(CONTEXT, 1) : ir_onnx_dim(x, (size_t)(i - RANK + rank));
  ir_value *y = resize(n, rank < RANK ? ir_onnx_reshape(n, x, RANK, dims) : x, (size_t)rank, r);
  if (y && rank < RANK) y = ir_onnx_reshape(n, y, (size_t)rank, ir_type_dims(y->type) + RANK - rank);
  return ir_onnx_out(n, 0, y);
}

/* Upsample, and Resize at opset 10: scales alone; places are o / scale, rounded down. */
bool import_upsample(ir_onnx_node *n) {
  struct resize r = {.place = "asymmetric", .rounding = "floor"};
  ir_value *x = ir_onnx_in(n, 0);
  if (!x || !ir_onnx_in_floats(n, 1, &r.scales, &r.scale_count)) return false;
  const Onnx__AttributeProto *attr = n->im->opset < 9 ? ir_onnx_attr(n, "scales", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS) : NULL;
  if (attr) {
    double *scales = ir_new_array(&n->im->arena, double, attr->n_floats + 1);
    for (size_t i = 0; i < attr->n_floats; i++) scales[i] = ir_onnx_shortest(attr->floats[i]);
    r.scales = scales;
    r.scale_count = attr->n_floats;
  }
  return r.scales ? resized(n, x, &r) : ir_onnx_fail(n, "scales are missing");
}

static bool is_one_of(const char *word, const char *const *words, size_t count) {
  size_t i = 0;
  while (i < count && strcmp(words[i], word)) i++;
  return i < count;
}

bool import_resize(ir_onnx_node *n) {
  static const char *const places[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                                       "tf_crop_and_resize"};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  struct resize r = {.place = ir_onnx_string(n, "coordinate_transformation_mode", "half_pixel"),
                     .rounding = ir_onnx_string(n, "nearest_mode", "round_prefer_floor")};
  if (!is_one_of(r.place, places, ir_count_of(places))) return ir_onnx_fail(n, "coordinate_transformation_mode '%s'", r.place);
  if (!is_one_of(r.rounding, roundings, ir_count_of(roundings))) return ir_onnx_fail(n, "nearest_mode '%s'", r.rounding);
  if (ir_onnx_int(n, "antialias", 0)) return ir_onnx_fail(n, "not implemented: antialias");
  if (strcmp(ir_onnx_string(n, "keep_aspect_ratio_policy", "stretch"), "stretch")) return ir_onnx_fail(n, "not implemented: keep_aspect_ratio_policy");
  if (ir_onnx_has(n, "axes")) return ir_onnx_fail(n, "not implemented: axes");
  ir_value *x = ir_onnx_in(n, 0);
  if (!x || !ir_onnx_in_floats(n, 2, &r.scales, &r.scale_count)) return false;
  if (!r.scale_count) {
    const ir_onnx_known *sizes = ir_onnx_in_known(n, 3);
    if (!ir_onnx_present(n, 3)) return ir_onnx_fail(n, "neither scales nor sizes");
    if (!sizes) return ir_onnx_fail(n, "not implemented: input '%s' that is only known when it runs", n->proto->input[3]);
    r.scales = NULL;
    r.sizes = sizes->elements;
    r.size_count = sizes->count;
  }
  /* Nothing else looks at the region. */
  bool region = ir_onnx_present(n, 1) && !strcmp(r.place, "tf_crop_and_resize");
  if (region && !ir_onnx_in_floats(n, 1, &r.roi, &r.roi_count)) return false;
  return resized(n, x, &r);
}
