// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_shape.c - constants, shapes, and what moves elements. On known elements these compute at once. */
#include "base/checked.h"
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)
#define KNOWN(values) ((ir_onnx_known *)(uintptr_t)(values))

bool import_constant(ir_onnx_node *n) {
  const Onnx__AttributeProto *attr = ir_onnx_attr(n, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
  if (!attr || !attr->t) return ir_onnx_fail(n, "not implemented: a constant that is no tensor");
  /* Made when something needs it: a shape may never become a tensor. */
  ir_onnx_known *known = ir_onnx_known_of(n->im, attr->t);
  if (known) return ir_onnx_out_known(n, 0, known);
  ir_value *value = ir_onnx_constant(n->im, attr->t, n->proto->n_output ? n->proto->output[0] : NULL);
  return value && ir_onnx_out(n, 0, value) && ir_onnx_remember(n, attr->t);
}

/* A short vector of integers, which shapes are made of. */
static bool known_fill(ir_onnx_node *n, const ir_onnx_known *shape, ir_dtype dtype, uint64_t bits) {
  int64_t count;
  bool short_vector = (dtype == IR_I64 || dtype == IR_I32) && shape->count == 1 && ir_expr_is_int(shape->elements[0], &count) && count >= 0 && count <= 64;
  if (!short_vector) return false;
  ir_onnx_known *known = ir_onnx_known_new(n->im, dtype, 1, (size_t)count);
  for (size_t i = 0; i < known->count; i++) known->elements[i] = ir_expr_i64(CONTEXT, ir_int_from_bits(dtype, bits));
  return ir_onnx_out_known(n, 0, known);
}

bool import_constant_of_shape(ir_onnx_node *n) {
  const ir_onnx_known *shape = ir_onnx_in_extents(n, 0);
  if (!shape) return false;
  const Onnx__AttributeProto *attr = ir_onnx_attr(n, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
  ir_data data = {.dtype = IR_F32};
  const ir_type *type;
  uint64_t bits = 0;
  if (attr && attr->t) {
    if (!ir_onnx_tensor_data(n->im, attr->t, &data, &type)) return false;
    size_t width = ir_dtypes[data.dtype].bits / 8;
    if (data.size != width) return ir_onnx_fail(n, "value should be one element");
    memcpy(&bits, data.bytes, width);
  }
  if (known_fill(n, shape, data.dtype, bits)) return true;
  ir_value *fill = ir_build_scalar(&n->im->b, ir_expr_const(CONTEXT, data.dtype, 1, bits), NULL, 0);
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_FULL, IR_OPERANDS(fill), IR_SET({"shape", ir_attr_dims(CONTEXT, shape->count, shape->elements)})));
}

bool import_shape(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  int64_t start = ir_onnx_int(n, "start", 0), end = ir_onnx_int(n, "end", rank);
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  if (start < 0) start = 0;
  if (end > rank) end = rank;
  if (end < start) end = start;
  ir_onnx_known *known = ir_onnx_known_new(n->im, IR_I64, 1, (size_t)(end - start));
  for (int64_t i = start; i < end; i++) {
    if (!ir_onnx_dim(x, (size_t)i)) return ir_onnx_fail(n, "not implemented: an extent that is only known when it runs");
    known->elements[i - start] = ir_onnx_dim(x, (size_t)i);
  }
  return ir_onnx_out_known(n, 0, known);
}

bool import_size(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  ir_onnx_known *known = ir_onnx_known_new(n->im, IR_I64, 0, 1);
  known->elements[0] = rank < 0 ? NULL : ir_onnx_dims_product(n, x, 0, (size_t)rank);
  return known->elements[0] ? ir_onnx_out_known(n, 0, known) : ir_onnx_fail(n, "needs known extents");
}

static bool known_as(ir_onnx_node *n, const ir_onnx_known *known, int rank) {
  ir_onnx_known *copy = ir_onnx_known_new(n->im, known->dtype, rank, known->count);
  memcpy(copy->elements, known->elements, known->count * sizeof *known->elements);
  return ir_onnx_out_known(n, 0, copy);
}

/* The one axis of one axis. */
static bool is_first(const int64_t *axes, size_t count) { return count == 1 && (axes[0] == 0 || axes[0] == -1); }

static bool reshape_to(ir_onnx_node *n, const ir_expr *const *shape, size_t count, bool zero_copies) {
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  int64_t value = 1;
  bool flat = known && (count == 0 || (count == 1 && ir_expr_is_int(shape[0], &value)));
  if (flat && (value == -1 || value == (int64_t)known->count || (count && !value && zero_copies))) return known_as(n, known, (int)count);
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  const ir_expr **dims = ir_new_array(&n->im->arena, const ir_expr *, count + 1);
  for (size_t i = 0; i < count; i++) {
    dims[i] = shape[i];
    bool zero = ir_expr_is_int(shape[i], &value) && value == 0 && zero_copies;
    if (!zero) continue;
    if (i >= (size_t)rank || !ir_onnx_dim(x, i)) return ir_onnx_fail(n, "0 at %zu copies an extent that is not there", i);
    dims[i] = ir_onnx_dim(x, i);
  }
  return ir_onnx_out(n, 0, ir_onnx_reshape(n, x, count, dims));
}

static const ir_expr *const *as_exprs(ir_onnx_node *n, const int64_t *values, size_t count) {
  const ir_expr **exprs = ir_new_array(&n->im->arena, const ir_expr *, count + 1);
  for (size_t i = 0; i < count; i++) exprs[i] = ir_expr_i64(CONTEXT, values[i]);
  return exprs;
}

bool import_reshape_attrs(ir_onnx_node *n) {
  size_t count;
  ir_onnx_ignore(n, "consumed_inputs");
  const int64_t *shape = ir_onnx_ints(n, "shape", &count);
  return reshape_to(n, as_exprs(n, shape, count), count, true);
}

/* Expressions as an i64 vector. */
static ir_value *vector_of(ir_onnx_node *n, size_t count, const ir_expr *const *elements) {
  ir_onnx_known *known = ir_onnx_known_new(n->im, IR_I64, 1, count);
  memcpy(known->elements, elements, count * sizeof *elements);
  return ir_onnx_materialize(n->im, known);
}

/* Input I, an integer vector of constant length, as i64; NULL after a report. */
static ir_value *run_time_vector(ir_onnx_node *n, size_t i, size_t *count) {
  ir_value *x = ir_onnx_in(n, i);
  int rank = ir_onnx_rank(n, x);
  int64_t length;
  if (rank < 0) return NULL;
  if (rank != 1 || !ir_onnx_dim(x, 0) || !ir_expr_is_int(ir_onnx_dim(x, 0), &length)) {
    return ir_onnx_fail(n, "not implemented: input '%s' of unknown length that is only known when it runs", n->proto->input[i]), NULL;
  }
  *count = (size_t)length;
  return ir_onnx_cast(n, x, IR_I64);
}

#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)

/* A shape that is only known when it runs: 0 gives way to the extent of x where it copies, -1 to what is left for it. */
static const ir_onnx_known *run_time_shape(ir_onnx_node *n, bool zero_copies) {
  size_t count;
  ir_value *x = ir_onnx_in(n, 0), *shape = run_time_vector(n, 1, &count);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0 || !shape) return NULL;
  const ir_expr *total = ir_onnx_dims_product(n, x, 0, (size_t)rank), **own = ir_new_array(&n->im->arena, const ir_expr *, count + 1);
  if (!total) return ir_onnx_fail(n, "needs known extents"), NULL;
  for (size_t i = 0; i < count; i++) own[i] = i < (size_t)rank ? ir_onnx_dim(x, i) : ir_expr_i64(CONTEXT, 0);
  ir_value *one = ir_onnx_number(n, shape, 1);
  if (zero_copies) shape = BUILD(IR_WHERE, BUILD(IR_EQUAL, shape, ir_onnx_number(n, shape, 0)), vector_of(n, count, own), shape);
  ir_value *open = BUILD(IR_EQUAL, shape, ir_onnx_number(n, shape, -1));
  ir_value *others = ir_onnx_reduce(n, IR_PROD, BUILD(IR_WHERE, open, one, shape), 0, NULL, false);
  ir_value *left = BUILD(IR_DIVIDE, ir_build_scalar(&n->im->b, total, NULL, 0), BUILD(IR_MAXIMUM, others, one));
  shape = BUILD(IR_WHERE, open, left, shape);
  return shape ? ir_onnx_bind(n, n->proto->output[0], shape) : NULL;
}

bool import_reshape(ir_onnx_node *n) {
  const ir_onnx_known *shape = ir_onnx_in_known(n, 1);
  bool zero_copies = !ir_onnx_int(n, "allowzero", 0);
  if (!shape) {
    shape = run_time_shape(n, zero_copies);
    return shape && ir_onnx_out(n, 0, ir_onnx_reshape(n, ir_onnx_in(n, 0), shape->count, shape->elements));
  }
  bool empty = false, open = false;
  for (size_t i = 0; i < shape->count; i++) {
    int64_t extent;
    bool constant = ir_expr_is_int(shape->elements[i], &extent);
    empty |= constant && !extent;
    open |= constant && extent == -1;
  }
  if (!zero_copies && empty && open) return ir_onnx_fail(n, "a shape with 0 and -1, which 'allowzero' leaves open");
  return reshape_to(n, shape->elements, shape->count, zero_copies);
}

bool import_flatten(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0) return false;
  int64_t axis = ir_onnx_int(n, "axis", 1);
  if (axis < -rank || axis > rank) return ir_onnx_fail(n, "axis %lld of a tensor of rank %d", (long long)axis, rank);
  if (axis < 0) axis += rank;
  const ir_expr *dims[] = {ir_onnx_dims_product(n, x, 0, (size_t)axis), ir_onnx_dims_product(n, x, (size_t)axis, (size_t)rank)};
  return ir_onnx_out(n, 0, ir_onnx_reshape(n, x, 2, dims));
}

bool import_transpose(ir_onnx_node *n) {
  size_t count;
  const int64_t *perm = ir_onnx_ints(n, "perm", &count);
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_PERMUTE_DIMS, IR_OPERANDS(x), IR_SET({"axes", perm ? ir_attr_ints(CONTEXT, count, perm) : NULL})));
}

/* Axes from an attribute, or from input 1. */
static bool axes_of(ir_onnx_node *n, const int64_t **axes, size_t *count) {
  *axes = ir_onnx_ints(n, "axes", count);
  return !ir_onnx_present(n, 1) || ir_onnx_in_ints(n, 1, axes, count);
}

bool import_squeeze(ir_onnx_node *n) {
  const int64_t *axes;
  size_t count;
  if (!axes_of(n, &axes, &count)) return false;
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  if (known && known->rank == 1 && known->count == 1 && (!count || is_first(axes, count))) return known_as(n, known, 0);
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_SQUEEZE, IR_OPERANDS(x), IR_SET({"axis", count ? ir_attr_ints(CONTEXT, count, axes) : NULL})));
}

bool import_unsqueeze(ir_onnx_node *n) {
  const int64_t *axes;
  size_t count;
  if (!axes_of(n, &axes, &count)) return false;
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  if (known && known->rank == 0 && is_first(axes, count)) return known_as(n, known, 1);
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_EXPAND_DIMS, IR_OPERANDS(x), IR_SET({"axis", ir_attr_ints(CONTEXT, count, axes)})));
}

bool import_expand(ir_onnx_node *n) {
  const ir_onnx_known *shape = ir_onnx_in_extents(n, 1);
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0 || !shape) return false;
  size_t own = (size_t)rank, out = own > shape->count ? own : shape->count;
  const ir_expr **dims = ir_new_array(&n->im->arena, const ir_expr *, out + 1);
  for (size_t i = 0; i < out; i++) {
    const ir_expr *a = i + own >= out ? ir_onnx_dim(x, i + own - out) : NULL, *b = i + shape->count >= out ? shape->elements[i + shape->count - out] : NULL;
    int64_t value;
    bool one = b && ir_expr_is_int(b, &value) && value == 1;
    dims[i] = a && (!b || one) ? a : b;
    bool unit = a && ir_expr_is_int(a, &value) && value == 1;
    if (a && b && !one && !unit && ir_prove_equal(CONTEXT, NULL, a, b) != IR_PROVEN) dims[i] = ir_simplify(CONTEXT, NULL, ir_expr_binary(CONTEXT, IR_S_BCAST, b, a));
  }
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_BROADCAST_TO, IR_OPERANDS(x), IR_SET({"shape", ir_attr_dims(CONTEXT, out, dims)})));
}

bool import_concat(ir_onnx_node *n) {
  if (n->im->opset >= 4 && !ir_onnx_has(n, "axis")) return ir_onnx_fail(n, "axis is missing");
  int64_t axis = ir_onnx_int(n, "axis", 1);
  size_t count = n->proto->n_input, total = 0;
  bool all = true;
  for (size_t i = 0; all && i < count; i++) {
    const ir_onnx_known *known = ir_onnx_in_known(n, i);
    all &= known && known->rank == 1 && is_first(&axis, 1) && known->dtype == ir_onnx_in_known(n, 0)->dtype;
    total += known ? known->count : 0;
  }
  if (all && count) {
    ir_onnx_known *joined = ir_onnx_known_new(n->im, ir_onnx_in_known(n, 0)->dtype, 1, total);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
      const ir_onnx_known *known = ir_onnx_in_known(n, i);
      memcpy(joined->elements + at, known->elements, known->count * sizeof *known->elements);
      at += known->count;
    }
    return ir_onnx_out_known(n, 0, joined);
  }
  ir_value **values = ir_new_array(&n->im->arena, ir_value *, count + 1);
  for (size_t i = 0; i < count; i++) {
    values[i] = ir_onnx_in(n, i);
    if (!values[i]) return false;
  }
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_CONCAT, values, count, IR_SET({"axis", ir_attr_int(CONTEXT, axis)})));
}

/* Cuts at the ends of PARTS, which make up the axis. */
static ir_op *split_at(ir_onnx_node *n, ir_value *x, int64_t axis, const int64_t *parts, size_t count) {
  int64_t *cuts = ir_new_array(&n->im->arena, int64_t, count + 1), at = 0;
  int along = ir_onnx_axis(n, axis, ir_onnx_rank(n, x));
  if (along < 0) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (parts[i] < 0 || !ir_add_i64(at, parts[i], &at)) return ir_onnx_fail(n, "a part of %lld", (long long)parts[i]), NULL;
    cuts[i] = at;
  }
  const ir_expr *extent = ir_onnx_dim(x, (size_t)along);
  if (!extent || !ir_onnx_require_equal(n, extent, ir_expr_i64(CONTEXT, at))) {
    ir_onnx_fail(n, "the parts have %lld elements together, the axis another number", (long long)at);
    return NULL;
  }
  return ir_build(&n->im->b, IR_SPLIT, &x, 1, IR_SET({"indices", ir_attr_ints(CONTEXT, count - 1, cuts)}, {"axis", ir_attr_int(CONTEXT, axis)}));
}

/* Equal parts; since opset 18 the last may be smaller. */
static ir_op *split_evenly(ir_onnx_node *n, ir_value *x, int64_t axis, int64_t count) {
  int along = ir_onnx_axis(n, axis, ir_onnx_rank(n, x));
  const ir_expr *extent = along < 0 ? NULL : ir_onnx_dim(x, (size_t)along), *zero = ir_expr_i64(CONTEXT, 0);
  if (along < 0) return NULL;
  bool even = n->im->opset >= 18 || !extent || ir_onnx_require_equal(n, ir_expr_binary(CONTEXT, IR_S_FLOORMOD, extent, ir_expr_i64(CONTEXT, count)), zero);
  if (!even) return ir_onnx_fail(n, "the axis does not divide into %lld equal parts", (long long)count), NULL;
  return ir_build(&n->im->b, IR_SPLIT, &x, 1, IR_SET({"sections", ir_attr_int(CONTEXT, count)}, {"axis", ir_attr_int(CONTEXT, axis)}));
}

bool import_split(ir_onnx_node *n) {
  size_t count, outputs = n->proto->n_output;
  const int64_t *parts = ir_onnx_ints(n, "split", &count);
  int64_t wanted = ir_onnx_int(n, "num_outputs", (int64_t)outputs), axis = ir_onnx_int(n, "axis", 0);
  if (ir_onnx_present(n, 1) && !ir_onnx_in_ints(n, 1, &parts, &count)) return false;
  ir_value *x = ir_onnx_in(n, 0);
  if (!x) return false;
  if (count && count != outputs) return ir_onnx_fail(n, "%zu parts for %zu outputs", count, outputs);
  if (wanted != (int64_t)outputs) return ir_onnx_fail(n, "num_outputs is %lld, there are %zu outputs", (long long)wanted, outputs);
  ir_op *op = count ? split_at(n, x, axis, parts, count) : split_evenly(n, x, axis, wanted);
  for (size_t i = 0; op && i < outputs; i++) {
    if (i >= op->result_count) return ir_onnx_fail(n, "%zu outputs of %u parts", outputs, op->result_count);
    if (ir_onnx_wants(n, i) && !ir_onnx_out(n, i, ir_op_result(op, i))) return false;
  }
  return op != NULL;
}

struct slice {
  const ir_expr *const *starts, *const *ends;
  const int64_t *axes, *steps;
  size_t count, axis_count, step_count;
};

/* Known elements sliced with constants. */
static bool known_slice(ir_onnx_node *n, const ir_onnx_known *known, const struct slice *s) {
  int64_t start, end, step = s->step_count ? s->steps[0] : 1, size = (int64_t)known->count;
  if (s->count != 1 || known->rank != 1 || (s->axis_count && !is_first(s->axes, s->axis_count)) || step == 0 || !ir_expr_is_int(s->starts[0], &start) || !ir_expr_is_int(s->ends[0], &end)) return false;
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  if (start < 0) start += size;
  if (end < 0) end = end < -size ? low : end + size;
  if (start < 0) start = 0;
  if (start > high) start = high; /* -1 where there are no elements */
  end = end < low ? low : end > high ? high : end;
  ir_onnx_known *result = ir_onnx_known_new(n->im, known->dtype, 1, known->count);
  size_t count = 0;
  bool more = step > 0 ? start < end : start > end;
  for (int64_t i = start; more; i += step) {
    result->elements[count++] = known->elements[i];
    more = step > 0 ? step < end - i : step > end - i;
  }
  result->count = count;
  return ir_onnx_out_known(n, 0, result);
}

/* Going backwards, a start before the first element is the first element; NumPy, and strided_slice, have nothing then. */
static const ir_expr *backward_start(ir_onnx_node *n, const struct slice *s, size_t i, const ir_value *x, int rank) {
  int64_t start;
  bool backward = s->step_count && s->steps[i] < 0;
  if (!backward || !ir_expr_is_int(s->starts[i], &start) || start >= 0) return s->starts[i];
  int axis = ir_onnx_axis(n, s->axis_count ? s->axes[i] : (int64_t)i, rank);
  if (axis < 0) return NULL;
  const ir_expr *extent = ir_onnx_dim(x, (size_t)axis);
  if (!extent) {
    ir_onnx_fail(n, "not implemented: a start of %lld on an axis whose extent is only known when it runs", (long long)start);
    return NULL;
  }
  return ir_simplify(CONTEXT, NULL, ir_expr_binary(CONTEXT, IR_S_MAX, s->starts[i], ir_dim_sub(CONTEXT, NULL, ir_expr_i64(CONTEXT, 0), extent)));
}

static bool slice(ir_onnx_node *n, const struct slice *s) {
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  if (known && known_slice(n, known, s)) return true;
  ir_value *x = ir_onnx_in(n, 0);
  int rank = ir_onnx_rank(n, x);
  const ir_expr **starts = ir_new_array(&n->im->arena, const ir_expr *, s->count + 1);
  for (size_t i = 0; i < s->count; i++) {
    starts[i] = rank < 0 ? NULL : backward_start(n, s, i, x, rank);
    if (!starts[i]) return false;
  }
  return rank >= 0 && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_STRIDED_SLICE, IR_OPERANDS(x),
                                          IR_SET({"begin", ir_attr_dims(CONTEXT, s->count, starts)}, {"end", ir_attr_dims(CONTEXT, s->count, s->ends)},
                                                 {"strides", s->step_count ? ir_attr_ints(CONTEXT, s->step_count, s->steps) : NULL},
                                                 {"axes", s->axis_count ? ir_attr_ints(CONTEXT, s->axis_count, s->axes) : NULL})));
}

bool import_slice_attrs(ir_onnx_node *n) {
  struct slice s = {.count = 0};
  size_t ends;
  const int64_t *start = ir_onnx_ints(n, "starts", &s.count), *end = ir_onnx_ints(n, "ends", &ends);
  s.axes = ir_onnx_ints(n, "axes", &s.axis_count);
  if (!start || !end || ends != s.count || (s.axes && s.axis_count != s.count)) return ir_onnx_fail(n, "starts, ends and axes of different lengths");
  s.starts = as_exprs(n, start, s.count);
  s.ends = as_exprs(n, end, s.count);
  return slice(n, &s);
}

/* Input I, starts or ends: known, or bound when it runs, counted from the beginning and within the axis. */
static const ir_expr *const *slice_ends(ir_onnx_node *n, size_t i, const struct slice *s, size_t *count) {
  const ir_onnx_known *known = ir_onnx_in_known(n, i);
  if (known) {
    *count = known->count;
    return known->elements;
  }
  ir_value *x = ir_onnx_in(n, 0), *ends = run_time_vector(n, i, count);
  int rank = ir_onnx_rank(n, x);
  if (rank < 0 || !ends) return NULL;
  for (size_t k = 0; k < s->step_count; k++) {
    if (s->steps[k] < 0) return ir_onnx_fail(n, "not implemented: input '%s' that is only known when it runs, with a negative step", n->proto->input[i]), NULL;
  }
  const ir_expr **extents = ir_new_array(&n->im->arena, const ir_expr *, *count + 1);
  for (size_t k = 0; k < *count; k++) {
    int axis = ir_onnx_axis(n, k < s->axis_count ? s->axes[k] : (int64_t)k, rank);
    extents[k] = axis < 0 ? NULL : ir_onnx_dim(x, (size_t)axis);
    if (!extents[k]) return ir_onnx_fail(n, "needs known extents"), NULL;
  }
  ir_value *zero = ir_onnx_number(n, ends, 0), *most = vector_of(n, *count, extents);
  ends = BUILD(IR_WHERE, BUILD(IR_LESS, ends, zero), BUILD(IR_ADD, ends, most), ends);
  ends = BUILD(IR_MINIMUM, BUILD(IR_MAXIMUM, ends, zero), most);
  known = ends ? ir_onnx_bind(n, ir_arena_printf(&n->im->arena, "%s_%s", n->proto->output[0], i == 1 ? "start" : "end"), ends) : NULL;
  return known ? known->elements : NULL;
}

bool import_slice(ir_onnx_node *n) {
  struct slice s = {.count = 0};
  size_t ends;
  if (ir_onnx_present(n, 3) && !ir_onnx_in_ints(n, 3, &s.axes, &s.axis_count)) return false;
  if (ir_onnx_present(n, 4) && !ir_onnx_in_ints(n, 4, &s.steps, &s.step_count)) return false;
  s.starts = slice_ends(n, 1, &s, &s.count);
  s.ends = s.starts ? slice_ends(n, 2, &s, &ends) : NULL;
  if (!s.ends) return false;
  if (ends != s.count) return ir_onnx_fail(n, "starts and ends of different lengths");
  if ((s.axis_count && s.axis_count != s.count) || (s.step_count && s.step_count != s.count)) return ir_onnx_fail(n, "axes or steps of another length than starts");
  return slice(n, &s);
}

bool import_gather(ir_onnx_node *n) {
  int64_t axis = ir_onnx_int(n, "axis", 0), at;
  const ir_onnx_known *known = ir_onnx_in_known(n, 0), *index = ir_onnx_in_known(n, 1);
  if (known && index && known->rank == 1 && is_first(&axis, 1)) {
    ir_onnx_known *picked = ir_onnx_known_new(n->im, known->dtype, index->rank, index->count);
    for (size_t i = 0; i < index->count; i++) {
      bool fits = ir_expr_is_int(index->elements[i], &at) && at >= -(int64_t)known->count && at < (int64_t)known->count;
      if (!fits) return ir_onnx_fail(n, "an index that is not within the %zu elements", known->count);
      picked->elements[i] = known->elements[at < 0 ? at + (int64_t)known->count : at];
    }
    return ir_onnx_out_known(n, 0, picked);
  }
  ir_value *x = ir_onnx_in(n, 0), *indices = ir_onnx_in(n, 1);
  return x && indices && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_TAKE, IR_OPERANDS(x, indices), IR_SET({"axis", ir_attr_int(CONTEXT, axis)})));
}
