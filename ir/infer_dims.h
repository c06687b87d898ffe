// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_INFER_DIMS_H
#define RILL_IR_INFER_DIMS_H

#include "infer.h"

/* What inference functions share: operands as tensors, extents with `?`. Everything that takes extents takes NULL for
 * an unknown one and then yields NULL. */

/* The shape of an operand. A scalar is a tensor of rank 0; a shape value is looked at the same way. */
typedef struct ir_view {
  ir_dtype dtype;
  bool ranked;
  size_t rank;                 /* 0 where not ranked */
  const ir_expr *const *dims;
} ir_view;

ir_view ir_view_of(const ir_type *type);
static inline ir_view ir_infer_view(const ir_infer *in, size_t operand) { return ir_view_of(ir_infer_type(in, operand)); }
/* A result: a tensor of VIEW's shape. */
bool ir_infer_tensor(ir_infer *in, ir_dtype dtype, const ir_view *view);
bool ir_infer_ranked(ir_infer *in, ir_dtype dtype, size_t rank, const ir_expr *const *dims);
bool ir_infer_unranked(ir_infer *in, ir_dtype dtype);

/* The operand has rank RANK, or an unknown one. */
bool ir_infer_wants_rank(ir_infer *in, size_t operand, size_t rank);
/* Operands FIRST to LAST have one dtype, unknown ones aside: *dtype. */
bool ir_infer_same_dtype(ir_infer *in, size_t first, size_t last, ir_dtype *dtype);
/* Operands FIRST to LAST broadcast together by NumPy's rules. An extent n against m becomes bcast(n, m); against a
 * constant other than 1, or an extent known not to be 1, it becomes that one, and n is checked at run time. */
bool ir_infer_broadcast(ir_infer *in, size_t first, size_t last, ir_view *result);
/* One axis of that; *clash where no run could do it. */
const ir_expr *ir_infer_broadcast_dim(ir_infer *in, const ir_expr *a, const ir_expr *b, bool *clash);
/* The two extents must be equal at run time: the one that says more; *clash where they provably are not. */
const ir_expr *ir_infer_equal_dims(ir_infer *in, const ir_expr *a, const ir_expr *b, bool *clash);
/* The same, reporting "WHAT is 4, expected 5". */
bool ir_infer_wants_extent(ir_infer *in, const char *what, const ir_expr *found, const ir_expr *expected);

const char *ir_infer_dim_text(const ir_infer *in, const ir_expr *dim);
const char *ir_infer_shape_text(const ir_infer *in, const ir_view *view);
static inline bool ir_dim_is(const ir_expr *dim, int64_t value) {
  int64_t known;
  return dim && ir_expr_is_int(dim, &known) && known == value;
}
/* The extent is constant. */
static inline bool ir_dim_const(const ir_expr *dim, int64_t *value) { return dim && ir_expr_is_int(dim, value); }

const ir_expr *ir_infer_add(const ir_infer *in, const ir_expr *a, const ir_expr *b);
const ir_expr *ir_infer_sub(const ir_infer *in, const ir_expr *a, const ir_expr *b);
const ir_expr *ir_infer_mul(const ir_infer *in, const ir_expr *a, const ir_expr *b);
/* CODE is any binary integer operator of ir/scalar.def: FLOORDIV, CEILDIV, MIN, MAX. */
const ir_expr *ir_infer_op(const ir_infer *in, ir_scalar_code code, const ir_expr *a, const ir_expr *b);
static inline const ir_expr *ir_infer_i64(const ir_infer *in, int64_t value) { return ir_expr_i64(in->context, value); }

/* An attribute that is a list of integers; false where it is absent. */
size_t ir_infer_count(const ir_infer *in, const char *name);
int64_t ir_infer_int_at(const ir_infer *in, const char *name, size_t i);
const ir_expr *ir_infer_dim_at(const ir_infer *in, const char *name, size_t i);
/* Marks the axes that attribute NAME lists; absent means all. Reports an axis out of range or given twice. */
bool ir_infer_axes(ir_infer *in, const char *name, size_t rank, bool *marked);
/* VALUES gets COUNT entries of attribute NAME: as many are given, or one for all. Each is at least LEAST. */
bool ir_infer_spread(ir_infer *in, const char *name, size_t count, int64_t least, int64_t most, int64_t *values);

#endif
