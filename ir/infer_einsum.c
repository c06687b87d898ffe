// SPDX-License-Identifier: Apache-2.0
/* ir/infer_einsum.c - inference of einsum. Needs ir/infer_dims, ir/einsum. */
#include "ir/einsum.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"

/* Extents of labels: what all operands that have one broadcast to. */
static bool join_extents(ir_infer *in, const ir_einsum *einsum, const ir_expr **extents, bool *named) {
  for (size_t i = 0; i < einsum->operand_count; i++) {
    ir_view view = ir_infer_view(in, i);
    for (size_t k = 0; k < view.rank; k++) {
      uint8_t label = einsum->operands[i].labels[k];
      bool clash = false;
      const ir_expr *before = extents[label];
      extents[label] = named[label] ? ir_infer_broadcast_dim(in, before, view.dims[k], &clash) : view.dims[k];
      named[label] = true;
      if (clash) {
        return ir_infer_fail(in, "axis %zu of operand %zu has extent %s, where others have %s", k, i, ir_infer_dim_text(in, view.dims[k]),
                             ir_infer_dim_text(in, before));
      }
    }
  }
  return true;
}

bool infer_einsum(ir_infer *in) {
  ir_dtype dtype;
  if (!in->operand_count) return ir_infer_fail(in, "no operands");
  if (!ir_infer_same_dtype(in, 0, in->operand_count - 1, &dtype)) return false;
  size_t *ranks = ir_new_array(in->scratch, size_t, in->operand_count);
  for (size_t i = 0; i < in->operand_count; i++) {
    ir_view view = ir_infer_view(in, i);
    if (!view.ranked) return ir_infer_unranked(in, dtype);
    ranks[i] = view.rank;
  }
  ir_einsum einsum;
  const char *problem;
  if (!ir_einsum_parse(in->scratch, ir_infer_word(in, "subscripts"), in->operand_count, ranks, &einsum, &problem)) {
    return ir_infer_fail(in, "subscripts: %s", problem);
  }
  const ir_expr *extents[IR_EINSUM_LABELS] = {0}, *dims[IR_EINSUM_MOST_AXES];
  bool named[IR_EINSUM_LABELS] = {0};
  if (!join_extents(in, &einsum, extents, named)) return false;
  for (size_t k = 0; k < einsum.result.count; k++) dims[k] = extents[einsum.result.labels[k]];
  return ir_infer_ranked(in, dtype, einsum.result.count, dims);
}
