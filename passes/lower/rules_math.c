// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_math.c - element-wise work, products. Needs ir/element. */
#include "ir/einsum.h"
#include "ir/element.h"
#include "passes/lower/lower.h"

/* Indices of operand OPERAND where the result is at the spatial axes. */
static void broadcast_index(ir_nest_at *n, const ir_type *own, const ir_type *result, const ir_expr **index) {
  size_t shift = result->count - own->count;
  for (size_t i = 0; i < own->count; i++) {
    index[i] = ir_lower_broadcast(n, ir_lower_axis(n, i + shift), ir_type_dim(own, i), ir_type_dim(result, i + shift));
  }
}

static const ir_expr *broadcast_load(ir_nest_at *n, size_t operand, const ir_type *result) {
  const ir_expr *index[IR_LOWER_AXES];
  ir_value *buffer = n->l->in[operand];
  if (ir_is_tensor(buffer->type)) broadcast_index(n, buffer->type, result, index);
  return ir_lower_load(n, buffer, index);
}

bool legalize_elementwise(ir_lowering *l) {
  const ir_type *result = ir_lower_result(l, 0);
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 0, NULL);
  const ir_expr *operands[8];
  if (l->op->operand_count > 8) return ir_lower_missing(l, "more than 8 operands");
  for (size_t i = 0; i < l->op->operand_count; i++) operands[i] = broadcast_load(&n, i, result);
  const ir_expr *value = ir_element(l->context, l->op, ir_type_dtype(result), operands);
  if (value && value->size > IR_EXPR_MAX_SIZE) {
    /* Long indices, and operands that the formula has many times. */
    for (size_t i = 0; i < l->op->operand_count; i++) operands[i] = ir_lower_let(&n, NULL, operands[i]);
    value = ir_element(l->context, l->op, ir_type_dtype(result), operands);
  }
  if (!value) return false;
  ir_lower_store(&n, NULL, NULL, NULL, value, NULL);
  return true;
}

bool legalize_prelu(ir_lowering *l) {
  const ir_type *result = ir_lower_result(l, 0), *slope = ir_lower_type(l, 1);
  int64_t axis = ir_get_int(l->op, "axis"), elements;
  if (axis < 0) axis += (int64_t)result->count;
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 0, NULL);
  bool single = !ir_is_tensor(slope) || (ir_type_static_dims(slope, NULL, &elements) && elements == 1);
  const ir_expr *at = single ? ir_lower_i64(&n, 0) : ir_lower_axis(&n, (size_t)axis);
  if (ir_is_tensor(slope) && slope->count > 1) return ir_lower_missing(l, "a slope of more than one axis");
  ir_dtype wide = ir_lower_wide(ir_type_dtype(result));
  const ir_expr *x = ir_expr_cast(l->context, broadcast_load(&n, 0, result), wide);
  const ir_expr *s = ir_expr_cast(l->context, ir_lower_load(&n, l->in[1], &at), wide);
  const ir_expr *positive = ir_expr_binary(l->context, IR_S_GE, x, ir_expr_float(l->context, wide, 0));
  ir_lower_store(&n, NULL, NULL, NULL, ir_expr_ternary(l->context, IR_S_SELECT, positive, x, ir_expr_binary(l->context, IR_S_MUL, s, x)), NULL);
  return true;
}

bool legalize_matmul(ir_lowering *l) {
  const ir_type *a = ir_lower_type(l, 0), *b = ir_lower_type(l, 1), *result = ir_lower_result(l, 0);
  if (!ir_is_tensor(a) || !ir_is_tensor(b) || !a->count || !b->count) return ir_lower_missing(l, "a scalar operand");
  const ir_expr *depth = ir_type_dim(a, a->count - 1);
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), 1, &depth);
  bool row = a->count > 1, column = b->count > 1;
  size_t batch = result->count - row - column;
  const ir_expr *ia[IR_LOWER_AXES], *ib[IR_LOWER_AXES], *k = ir_lower_axis(&n, result->count);
  for (size_t i = 0; i + 2 < a->count; i++) {
    size_t at = batch - (a->count - 2) + i;
    ia[i] = ir_lower_broadcast(&n, ir_lower_axis(&n, at), ir_type_dim(a, i), ir_type_dim(result, at));
  }
  for (size_t i = 0; i + 2 < b->count; i++) {
    size_t at = batch - (b->count - 2) + i;
    ib[i] = ir_lower_broadcast(&n, ir_lower_axis(&n, at), ir_type_dim(b, i), ir_type_dim(result, at));
  }
  if (row) ia[a->count - 2] = ir_lower_axis(&n, batch);
  ia[a->count - 1] = k;
  ib[column ? b->count - 2 : 0] = k;
  if (column) ib[b->count - 1] = ir_lower_axis(&n, batch + row);
  ir_lower_store(&n, NULL, "dot", NULL, ir_lower_load(&n, l->in[0], ia), ir_lower_load(&n, l->in[1], ib));
  return true;
}

/* What two extents broadcast to; inference has seen to it that they do. */
static const ir_expr *join(ir_lowering *l, const ir_expr *a, const ir_expr *b) {
  int64_t value;
  if (!a || (ir_expr_is_int(a, &value) && value == 1)) return b;
  if (ir_expr_is_int(b, &value)) return value == 1 ? a : b;
  if (ir_expr_is_int(a, &value) || ir_prove_equal(l->context, NULL, a, b) == IR_PROVEN) return a;
  return ir_expr_binary(l->context, IR_S_BCAST, a, b);
}

/* An operand where the axes of its labels are at AT. */
static const ir_expr *einsum_load(ir_nest_at *n, const ir_einsum *einsum, size_t i, const ir_expr *const *at, const ir_expr *const *extents) {
  const ir_type *type = ir_lower_type(n->l, i);
  const ir_expr *index[IR_EINSUM_MOST_AXES];
  if (!ir_is_tensor(type)) return ir_lower_load(n, n->l->in[i], NULL);
  for (size_t k = 0; k < type->count; k++) {
    uint8_t label = einsum->operands[i].labels[k];
    index[k] = ir_lower_broadcast(n, at[label], ir_type_dim(type, k), extents[label]);
  }
  return ir_lower_load(n, n->l->in[i], index);
}

bool legalize_einsum(ir_lowering *l) {
  const ir_type *result = ir_lower_result(l, 0);
  size_t count = l->op->operand_count, *ranks = ir_new_array(l->arena, size_t, count);
  for (size_t i = 0; i < count; i++) ranks[i] = ir_is_tensor(ir_lower_type(l, i)) ? ir_lower_type(l, i)->count : 0;
  ir_einsum einsum;
  const char *problem;
  if (!ir_einsum_parse(l->arena, ir_get_word(l->op, "subscripts"), count, ranks, &einsum, &problem)) return ir_lower_missing(l, problem);
  const ir_expr *extents[IR_EINSUM_LABELS] = {0}, *at[IR_EINSUM_LABELS] = {0}, *reduced[IR_EINSUM_LABELS];
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < ranks[i]; k++) {
      uint8_t label = einsum.operands[i].labels[k];
      extents[label] = join(l, extents[label], ir_type_dim(ir_lower_type(l, i), k));
    }
  }
  for (size_t k = 0; k < result->count; k++) extents[einsum.result.labels[k]] = ir_type_dim(result, k);
  for (size_t k = 0; k < einsum.reduced_count; k++) reduced[k] = extents[einsum.reduced[k]];
  ir_nest_at n = ir_lower_open(l, l->out[0], result->count, ir_type_dims(result), einsum.reduced_count, reduced);
  for (size_t k = 0; k < result->count; k++) at[einsum.result.labels[k]] = ir_lower_axis(&n, k);
  for (size_t k = 0; k < einsum.reduced_count; k++) at[einsum.reduced[k]] = ir_lower_axis(&n, result->count + k);
  ir_dtype dtype = count > 2 || !einsum.reduced_count ? ir_lower_wide(ir_type_dtype(result)) : ir_type_dtype(result);
  const ir_expr *last = NULL, *product = NULL;
  for (size_t i = 0; i < count; i++) {
    if (last) product = product ? ir_expr_binary(l->context, IR_S_MUL, product, last) : last;
    last = ir_expr_cast(l->context, einsum_load(&n, &einsum, i, at, extents), dtype);
  }
  const ir_expr *one = ir_expr_cast(l->context, ir_expr_i64(l->context, 1), dtype);
  bool dot = einsum.reduced_count;
  if (!dot && product) last = ir_expr_binary(l->context, IR_S_MUL, product, last);
  ir_lower_store(&n, NULL, dot ? "dot" : NULL, NULL, dot && product ? product : last, !dot ? NULL : product ? last : one);
  return true;
}
