// SPDX-License-Identifier: Apache-2.0
/* From tensor operators to tensor programs in compute form: the LOWER column of the operator table. */
#ifndef RILL_PASSES_LOWER_LOWER_H
#define RILL_PASSES_LOWER_LOWER_H

#include "../../ir/frame.h"
#include "../../ir/infer.h"

/* One operation on its way to a prim_func. The parameters are the operands in order (tensors as buffers, scalars as
 * scalars), then symbols that no operand's type tells, then a buffer for each result. */
typedef struct ir_lowering {
  ir_op *op;
  ir_context *context;
  ir_arena *arena;
  ir_func *func;
  ir_value **in, **out; /* parameters of operands and results */
  const ir_expr **symbols; /* passed explicitly, as the caller knows them */
  size_t symbol_count;
  ir_builder b;
} ir_lowering;

typedef struct ir_lower_def {
  bool (*legalize)(ir_lowering *l);            /* builds the body; reports and returns false what is not there */
  bool (*decompose)(ir_builder *b, ir_op *op); /* replaces the operation by simpler ones */
  const char *unless;                          /* the attribute with which it is not decomposed but legalized */
} ir_lower_def;
extern const ir_lower_def ir_lower_defs[IR_OP_COUNT];

/* A private prim_func of MODULE (not yet an item) that computes OP; NULL after a report. NAME is its name. */
ir_func *ir_legalize_op(ir_op *op, ir_module *module, const ir_string *name, ir_arena *arena, ir_lowering *l);
bool ir_can_legalize(const ir_op *op);
bool ir_can_decompose(const ir_op *op);
bool ir_decompose_op(ir_op *op);

/* --- for the rules --- */
enum { IR_LOWER_AXES = 32 };
/* A nest being built: its axes, and the frame of the store in it. */
typedef struct ir_nest_at {
  ir_lowering *l;
  ir_region *region;
  ir_frame frame;
  size_t spatial, reduced;
} ir_nest_at;

const ir_type *ir_lower_type(const ir_lowering *l, size_t operand);
const ir_type *ir_lower_result(const ir_lowering *l, size_t result);
bool ir_lower_missing(ir_lowering *l, const char *what);
ir_value *ir_lower_temp(ir_lowering *l, const char *name, ir_dtype dtype, size_t rank, const ir_expr *const *dims);
/* Opens `compute (spatial; reduced)`, its store going to TARGET. */
ir_nest_at ir_lower_open(ir_lowering *l, ir_value *target, size_t spatial, const ir_expr *const *extents, size_t reduced,
                         const ir_expr *const *reduced_extents);
const ir_expr *ir_lower_axis(ir_nest_at *n, size_t i);  /* spatial, then reduced */
const ir_expr *ir_lower_load(ir_nest_at *n, ir_value *buffer, const ir_expr *const *index); /* scalars as they are */
/* `%NAME = EXPR`, bound before the store: the name (NULL: a number). For what is used more than once, and for expressions that grow large. */
const ir_expr *ir_lower_let(ir_nest_at *n, const char *name, const ir_expr *expr);
/* Adds conditions to the where clause; the expressions are over the axes alone. */
void ir_lower_where(ir_nest_at *n, size_t count, const ir_expr *const *conditions);
/* The store; INDEX has the target's rank (NULL: the spatial axes in order). REDUCER may be NULL. */
void ir_lower_store(ir_nest_at *n, const ir_expr *const *index, const char *reducer, const char *order, const ir_expr *a, const ir_expr *b);

/* The axis that attribute NAME says, of RANK. */
size_t ir_lower_normal_axis(const ir_op *op, const char *name, size_t rank);
/* Opens a nest over the whole of result R; AXES gets its axes. */
ir_nest_at ir_lower_over_result(ir_lowering *l, size_t r, const ir_expr **axes);
/* An index as i64, counted from the end of EXTENT where negative. */
const ir_expr *ir_lower_index(ir_context *context, const ir_expr *index, const ir_expr *extent);
/* i64 expressions, simplified. */
const ir_expr *ir_lower_i64(const ir_nest_at *n, int64_t value);
const ir_expr *ir_lower_int(ir_nest_at *n, ir_scalar_code code, const ir_expr *a, const ir_expr *b);
#define IR_ADD_(n, a, b) ir_lower_int((n), IR_S_ADD, (a), (b))
#define IR_SUB_(n, a, b) ir_lower_int((n), IR_S_SUB, (a), (b))
#define IR_MUL_(n, a, b) ir_lower_int((n), IR_S_MUL, (a), (b))

/* The dtype that an operator computes in: f32 for f16, bf16 and f8. */
static inline ir_dtype ir_lower_wide(ir_dtype dtype) {
  return ir_is_float(dtype) && ir_dtypes[dtype].bits < 32 ? IR_F32 : dtype;
}
/* The index of an operand's axis that broadcasts to result axis I with extent EXTENT. */
const ir_expr *ir_lower_broadcast(ir_nest_at *n, const ir_expr *axis, const ir_expr *own, const ir_expr *extent);

#define LOWERING(name) bool name(ir_lowering *l);
LOWERING(legalize_elementwise)
LOWERING(legalize_matmul)
LOWERING(legalize_einsum)
LOWERING(legalize_conv)
LOWERING(legalize_conv_transpose)
LOWERING(legalize_max_pool)
LOWERING(legalize_avg_pool)
LOWERING(legalize_adaptive_avg_pool)
LOWERING(legalize_reduce)
LOWERING(legalize_mean)
LOWERING(legalize_softmax)
LOWERING(legalize_permute_dims)
LOWERING(legalize_reshape)
LOWERING(legalize_broadcast_to)
LOWERING(legalize_concat)
LOWERING(legalize_split)
LOWERING(legalize_strided_slice)
LOWERING(legalize_take)
LOWERING(legalize_resize)
LOWERING(legalize_pad)
LOWERING(legalize_tile)
LOWERING(legalize_repeat)
LOWERING(legalize_flip)
LOWERING(legalize_triangle)
LOWERING(legalize_one_hot)
LOWERING(legalize_gather_elements)
LOWERING(legalize_gather_nd)
LOWERING(legalize_scatter_elements)
LOWERING(legalize_scatter_nd)
LOWERING(legalize_nonzero)
LOWERING(legalize_norm)
LOWERING(legalize_scan)
LOWERING(legalize_arange)
LOWERING(legalize_eye)
LOWERING(legalize_nll_loss)
LOWERING(legalize_fill)
LOWERING(legalize_prelu)
LOWERING(legalize_argsort)
LOWERING(legalize_quantize)
LOWERING(legalize_dequantize)
#undef LOWERING
#define DECOMPOSITION(name) bool name(ir_builder *b, ir_op *op);
DECOMPOSITION(decompose_attention)
DECOMPOSITION(decompose_batch_norm)
DECOMPOSITION(decompose_cross_entropy)
DECOMPOSITION(decompose_flat_repeat)
DECOMPOSITION(decompose_flat_scan)
DECOMPOSITION(decompose_flat_take)
DECOMPOSITION(decompose_group_norm)
DECOMPOSITION(decompose_nonzero)
DECOMPOSITION(decompose_sort)
DECOMPOSITION(decompose_stack)
DECOMPOSITION(decompose_topk)
DECOMPOSITION(decompose_variance)
#undef DECOMPOSITION

#endif
