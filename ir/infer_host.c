// SPDX-License-Identifier: Apache-2.0
/* ir/infer_host.c - the operations of host programs. */
#include "ir/infer.h"
#include "ir/ops/infer_ops.h"
#include "ir/print.h"

/* One pair of steps for each size, the first not behind the last. */
static bool check_live(ir_infer *in, const ir_attr *live, size_t count) {
  if (live->count != count) return ir_infer_fail(in, "attribute 'live' has %zu entries for %zu sizes", (size_t)live->count, count);
  for (size_t i = 0; i < count; i++) {
    const ir_attr *pair = live->items[i];
    bool fits = pair->kind == IR_ATTR_LIST && pair->count == 2 && pair->items[0]->kind == IR_ATTR_INT && pair->items[1]->kind == IR_ATTR_INT;
    fits = fits && pair->items[0]->i >= 0 && pair->items[0]->i <= pair->items[1]->i;
    if (!fits) return ir_infer_fail(in, "entry %zu of 'live' is %s, expected a first and a last step", i, ir_attr_text(in->scratch, pair));
  }
  return true;
}

bool infer_host_alloc(ir_infer *in) {
  const ir_attr *bytes = ir_infer_attr(in, "bytes"), *live = ir_infer_attr(in, "live");
  for (size_t i = 0; i < bytes->count; i++) {
    const ir_expr *size = ir_attr_as_expr(in->context, bytes->items[i]);
    const ir_expr *zero = ir_expr_i64(in->context, 0);
    if (ir_prove_lt(in->context, in->facts, size, zero) == IR_PROVEN) return ir_infer_fail(in, "size %zu is negative", i);
    ir_infer_result(in, in->context->storage_type);
  }
  return !live || check_live(in, live, bytes->count);
}

bool infer_host_result(ir_infer *in) {
  if (!infer_alloc(in)) return false;
  int64_t index = ir_infer_int(in, "index");
  if (!in->func) return true;
  if (index < 0 || (size_t)index >= in->func->result_count) {
    return ir_infer_fail(in, "index %lld, the function has %zu result%s", (long long)index, in->func->result_count, ir_plural(in->func->result_count));
  }
  return true;
}

/* The number of elements as an expression; NULL where an extent is not known. */
static const ir_expr *count_of(ir_infer *in, const ir_type *type) {
  const ir_expr *count = ir_expr_i64(in->context, 1);
  if (ir_is_scalar(type)) return count;
  for (size_t i = 0; i < type->count; i++) {
    if (!type->ranked || !ir_type_dim(type, i)) return NULL;
    count = ir_dim_mul(in->context, in->facts, count, ir_type_dim(type, i));
  }
  return type->ranked ? count : NULL;
}

bool infer_host_view(ir_infer *in) {
  if (!infer_alloc(in)) return false;
  const ir_type *from = ir_infer_type(in, 0), *to = in->results[0];
  if (from->dtype != to->dtype && from->dtype != IR_DTYPE_UNKNOWN) {
    return ir_infer_fail(in, "operand 'x' has type %s, the result %s", ir_type_text(in->scratch, from), ir_type_text(in->scratch, to));
  }
  const ir_expr *have = count_of(in, from), *want = count_of(in, to);
  if (!have || !want || ir_prove_equal(in->context, in->facts, have, want) != IR_REFUTED) return true;
  return ir_infer_fail(in, "operand 'x' has type %s: not as many elements as the result, %s", ir_type_text(in->scratch, from),
                       ir_type_text(in->scratch, to));
}

bool infer_host_copy(ir_infer *in) {
  const ir_type *from = ir_infer_type(in, 0), *to = ir_infer_type(in, 1);
  ir_type_relation relation = ir_type_relate(in->context, in->facts, to, from);
  if (relation != IR_TYPES_CONTRADICT) return true;
  return ir_infer_fail(in, "operand 'from' has type %s, 'to' %s", ir_type_text(in->scratch, from), ir_type_text(in->scratch, to));
}
