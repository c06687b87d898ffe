// SPDX-License-Identifier: Apache-2.0
/* What decompositions are written with: operators made of simpler ones. A failure is reported where it happens and comes
 * back as NULL, which everything here takes as an operand and passes on. */
#ifndef RILL_PASSES_LOWER_COMPOSE_H
#define RILL_PASSES_LOWER_COMPOSE_H

#include "lower.h"

#define IR_MAKE(b, code, ...) ir_build1((b), (code), IR_OPERANDS(__VA_ARGS__), IR_NO_ATTRS)

/* Operand I is a tensor of known rank, at most IR_LOWER_AXES: its rank; -1 after a report. */
int ir_compose_rank(const ir_op *op, size_t i);
ir_value *ir_make_cast(ir_builder *b, ir_value *value, ir_dtype dtype);
/* A 0-d number of DTYPE. */
ir_value *ir_make_number(ir_builder *b, ir_dtype dtype, double value);
/* An i64 expression over symbols as a 0-d number of DTYPE. */
ir_value *ir_make_count(ir_builder *b, ir_dtype dtype, const ir_expr *count);
ir_value *ir_make_reshape(ir_builder *b, ir_value *value, size_t rank, const ir_expr *const *dims);
/* SUM, MEAN, MAX over axes, which stay as extents 1. */
ir_value *ir_make_reduced(ir_builder *b, ir_opcode code, ir_value *value, size_t count, const int64_t *axes);
/* PART, whose axes are the COUNT ascending AXES of a tensor of rank RANK, with ones between, so that it broadcasts. NULL,
 * after a report at OP, where an extent is not known. */
ir_value *ir_make_along(ir_builder *b, const ir_op *op, ir_value *part, size_t rank, size_t count, const int64_t *axes);
/* VALUE with extent EXTENT on AXIS: what inference takes for granted is checked where it is not proven. */
ir_value *ir_make_extent(ir_builder *b, ir_value *value, size_t axis, const ir_expr *extent);
/* The product of extents; NULL, after a report at OP, where one is not known. */
const ir_expr *ir_compose_elements(const ir_op *op, const ir_type *type, size_t count, const int64_t *axes);
/* Results take the place of those of OP, with its extents, which users count on; what is known better makes the
 * types of users more precise. OP goes. False where one is NULL. */
bool ir_composed(ir_builder *b, ir_op *op, size_t count, ir_value *const *results);
#define IR_COMPOSED(b, op, ...) ir_composed((b), (op), sizeof((ir_value *const[]){__VA_ARGS__}) / sizeof(ir_value *), (ir_value *const[]){__VA_ARGS__})

#endif
