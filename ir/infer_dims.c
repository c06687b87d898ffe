// SPDX-License-Identifier: Apache-2.0
/* ir/infer_dims.c - what inference functions share: operands as tensors, extents with `?`. Needs ir/infer. */
#include "ir/infer_dims.h"

#include "base/vec.h"
#include "ir/print.h"

ir_view ir_view_of(const ir_type *type) {
  ir_view view = {.dtype = ir_type_dtype(type), .ranked = true};
  if (type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SHAPE) return view;
  view.ranked = type->ranked;
  view.rank = type->count;
  view.dims = ir_type_dims(type);
  return view;
}

bool ir_infer_ranked(ir_infer *in, ir_dtype dtype, size_t rank, const ir_expr *const *dims) {
  return ir_infer_result(in, ir_type_tensor(in->context, dtype, rank, dims));
}

bool ir_infer_unranked(ir_infer *in, ir_dtype dtype) { return ir_infer_result(in, ir_type_unranked(in->context, dtype)); }

bool ir_infer_tensor(ir_infer *in, ir_dtype dtype, const ir_view *view) {
  return view->ranked ? ir_infer_ranked(in, dtype, view->rank, view->dims) : ir_infer_unranked(in, dtype);
}

bool ir_infer_wants_rank(ir_infer *in, size_t operand, size_t rank) {
  ir_view view = ir_infer_view(in, operand);
  if (!view.ranked || view.rank == rank) return true;
  return ir_infer_fail(in, "operand '%s' has rank %zu, expected %zu", ir_infer_operand_name(in, operand), view.rank, rank);
}

bool ir_infer_same_dtype(ir_infer *in, size_t first, size_t last, ir_dtype *dtype) {
  *dtype = IR_DTYPE_UNKNOWN;
  size_t known = first;
  for (size_t i = first; i <= last; i++) {
    ir_dtype found = ir_infer_view(in, i).dtype;
    if (found == IR_DTYPE_UNKNOWN) continue;
    if (*dtype == IR_DTYPE_UNKNOWN) {
      *dtype = found;
      known = i;
    } else if (*dtype != found) {
      return ir_infer_fail(in, "operands '%s' and '%s' have dtypes %s and %s, expected equal ones",
                           ir_infer_operand_name(in, known), ir_infer_operand_name(in, i), ir_dtype_name(*dtype),
                           ir_dtype_name(found));
    }
  }
  return true;
}

const char *ir_infer_dim_text(const ir_infer *in, const ir_expr *dim) {
  if (!dim) return "?";
  ir_text text = {0};
  ir_print_expr(&text, dim, NULL, 0);
  const char *copy = ir_arena_copy(in->scratch, text.at, text.length);
  ir_text_free(&text);
  return copy;
}

const char *ir_infer_shape_text(const ir_infer *in, const ir_view *view) {
  if (!view->ranked) return "[*]";
  const char *text = "[";
  for (size_t i = 0; i < view->rank; i++) {
    text = ir_arena_printf(in->scratch, "%s%s%s", text, i ? ", " : "", ir_infer_dim_text(in, view->dims[i]));
  }
  return ir_arena_printf(in->scratch, "%s]", text);
}

static bool is_not_one(const ir_infer *in, const ir_expr *dim) {
  int64_t value;
  if (!dim) return false;
  if (ir_expr_is_int(dim, &value)) return value != 1;
  return ir_prove_equal(in->context, in->facts, dim, ir_expr_i64(in->context, 1)) == IR_REFUTED;
}

/* Either may be 1, or they are equal. */
static void need_broadcast(ir_infer *in, const ir_expr *a, const ir_expr *b) {
  ir_context *context = in->context;
  const ir_expr *one = ir_infer_i64(in, 1), *needed = ir_expr_binary(context, IR_S_EQ, a, b);
  needed = ir_expr_binary(context, IR_S_OR, needed, ir_expr_binary(context, IR_S_EQ, a, one));
  ir_infer_need(in, ir_expr_binary(context, IR_S_OR, needed, ir_expr_binary(context, IR_S_EQ, b, one)));
}

const ir_expr *ir_infer_broadcast_dim(ir_infer *in, const ir_expr *a, const ir_expr *b, bool *clash) {
  if (a == b || ir_dim_is(b, 1)) return a;
  if (ir_dim_is(a, 1)) return b;
  bool a_fixed = is_not_one(in, a), b_fixed = is_not_one(in, b);
  if (!a || !b) return a_fixed ? a : b_fixed ? b : NULL;
  switch (ir_prove_equal(in->context, in->facts, a, b)) {
  case IR_PROVEN: return a;
  case IR_REFUTED: *clash |= a_fixed && b_fixed; break;
  case IR_UNKNOWN: break;
  }
  need_broadcast(in, a, b);
  int64_t value; /* `1 + 1` is a constant too */
  if (a_fixed && ir_expr_is_int(ir_simplify(in->context, in->facts, a), &value)) return a;
  if (b_fixed && ir_expr_is_int(ir_simplify(in->context, in->facts, b), &value)) return b;
  if (a_fixed || b_fixed) return a_fixed ? a : b;
  return ir_infer_op(in, IR_S_BCAST, a, b);
}

bool ir_infer_broadcast(ir_infer *in, size_t first, size_t last, ir_view *result) {
  *result = (ir_view){.dtype = ir_infer_view(in, first).dtype, .ranked = true};
  size_t rank = 0;
  for (size_t i = first; i <= last; i++) {
    ir_view view = ir_infer_view(in, i);
    if (!view.ranked) result->ranked = false;
    if (view.rank > rank) rank = view.rank;
  }
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, rank);
  for (size_t axis = 0; axis < rank; axis++) dims[axis] = ir_expr_i64(in->context, 1);
  for (size_t i = first; i <= last; i++) {
    ir_view view = ir_infer_view(in, i);
    for (size_t k = 0; k < view.rank; k++) {
      const ir_expr **dim = &dims[rank - view.rank + k];
      bool clash = false;
      const ir_expr *joined = ir_infer_broadcast_dim(in, *dim, view.dims[k], &clash);
      if (clash) {
        return ir_infer_fail(in, "operands do not broadcast: extent %s of '%s' on axis %zu against %s",
                             ir_infer_dim_text(in, view.dims[k]), ir_infer_operand_name(in, i), k, ir_infer_dim_text(in, *dim));
      }
      *dim = joined;
    }
  }
  if (!result->ranked) return true;
  result->rank = rank;
  result->dims = dims;
  return true;
}

const ir_expr *ir_infer_equal_dims(ir_infer *in, const ir_expr *a, const ir_expr *b, bool *clash) {
  if (!a || !b) return a ? a : b;
  int64_t value;
  if (a != b) ir_infer_need(in, ir_expr_binary(in->context, IR_S_EQ, a, b));
  if (a != b && ir_prove_equal(in->context, in->facts, a, b) == IR_REFUTED) *clash = true;
  return ir_expr_is_int(b, &value) ? b : a;
}

bool ir_infer_wants_extent(ir_infer *in, const char *what, const ir_expr *found, const ir_expr *expected) {
  bool clash = false;
  ir_infer_equal_dims(in, found, expected, &clash);
  if (!clash) return true;
  return ir_infer_fail(in, "%s is %s, expected %s", what, ir_infer_dim_text(in, found), ir_infer_dim_text(in, expected));
}

const ir_expr *ir_infer_add(const ir_infer *in, const ir_expr *a, const ir_expr *b) {
  return a && b ? ir_dim_add(in->context, in->facts, a, b) : NULL;
}

const ir_expr *ir_infer_sub(const ir_infer *in, const ir_expr *a, const ir_expr *b) {
  return a && b ? ir_dim_sub(in->context, in->facts, a, b) : NULL;
}

const ir_expr *ir_infer_mul(const ir_infer *in, const ir_expr *a, const ir_expr *b) {
  return a && b ? ir_dim_mul(in->context, in->facts, a, b) : NULL;
}

const ir_expr *ir_infer_op(const ir_infer *in, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  if (!a || !b) return NULL;
  return ir_simplify(in->context, in->facts, ir_expr_binary(in->context, code, a, b));
}

size_t ir_infer_count(const ir_infer *in, const char *name) {
  const ir_attr *attr = ir_infer_attr(in, name);
  return attr && attr->kind == IR_ATTR_LIST ? attr->count : 0;
}

int64_t ir_infer_int_at(const ir_infer *in, const char *name, size_t i) {
  const ir_attr *item = ir_infer_attr(in, name)->items[i];
  return item->kind == IR_ATTR_INT ? item->i : 0;
}

const ir_expr *ir_infer_dim_at(const ir_infer *in, const char *name, size_t i) {
  return ir_attr_as_expr(in->context, ir_infer_attr(in, name)->items[i]);
}

bool ir_infer_axes(ir_infer *in, const char *name, size_t rank, bool *marked) {
  if (!ir_infer_attr(in, name)) {
    for (size_t i = 0; i < rank; i++) marked[i] = true;
    return true;
  }
  for (size_t i = 0; i < ir_infer_count(in, name); i++) {
    size_t axis;
    if (!ir_infer_axis(in, ir_infer_int_at(in, name, i), rank, &axis)) return false;
    if (marked[axis]) return ir_infer_fail(in, "axis %zu is given twice", axis);
    marked[axis] = true;
  }
  return true;
}

bool ir_infer_spread(ir_infer *in, const char *name, size_t count, int64_t least, int64_t most, int64_t *values) {
  size_t given = ir_infer_count(in, name);
  if (given != 1 && given != count) {
    return ir_infer_fail(in, "attribute '%s' has %zu entries, expected 1 or %zu", name, given, count);
  }
  for (size_t i = 0; i < count; i++) {
    values[i] = ir_infer_int_at(in, name, given == 1 ? 0 : i);
    if (values[i] < least || values[i] > most) {
      return ir_infer_fail(in, "attribute '%s' holds %lld, expected at %s %lld", name, (long long)values[i], values[i] < least ? "least" : "most",
                           (long long)(values[i] < least ? least : most));
    }
  }
  return true;
}
