// SPDX-License-Identifier: Apache-2.0
/* ir/reduction.c - the order and the accumulators of reductions. Needs ir/op. */
#include "ir/reduction.h"

#include "base/vec.h"

#include <math.h>

static const struct {
  const char *name;
  ir_reducer reducer;
  ir_scalar_code combine;
  double identity; /* floats */
  bool widens;     /* the accumulator is the chain class's */
} rows[] = {
    {"sum", IR_REDUCE_SUM, IR_S_ADD, 0, true},          {"prod", IR_REDUCE_PROD, IR_S_MUL, 1, true},
    {"max", IR_REDUCE_MAX, IR_S_MAX, -INFINITY, false}, {"min", IR_REDUCE_MIN, IR_S_MIN, INFINITY, false},
    {"any", IR_REDUCE_ANY, IR_S_OR, 0, false},          {"all", IR_REDUCE_ALL, IR_S_AND, 1, false},
    {"dot", IR_REDUCE_DOT, IR_S_MAD, 0, true},          {"argmax", IR_REDUCE_ARGMAX, IR_S_MAX, -INFINITY, false},
    {"argmin", IR_REDUCE_ARGMIN, IR_S_MIN, INFINITY, false},
};

static const ir_expr *find_load(const ir_expr *expr) {
  if (expr->code == IR_S_LOAD) return expr;
  for (size_t i = 0; i < expr->count; i++) {
    const ir_expr *found = expr->kids[i]->has_loads ? find_load(expr->kids[i]) : NULL;
    if (found) return found;
  }
  return NULL;
}

static bool mentions(const ir_expr *expr, uint32_t operand) {
  if (expr->code == IR_S_ARG) return expr->arg == operand;
  for (size_t i = 0; i < expr->count; i++) {
    if (mentions(expr->kids[i], operand)) return true;
  }
  return false;
}

/* Whether the innermost reduction axis walks the last axis of the first load of VALUE. */
static bool reduces_last_axis(const ir_op *store, const ir_expr *value) {
  const ir_region *region = store->region;
  const ir_expr *load = find_load(value);
  if (!load || !load->count || region->arg_count == region->spatial_count) return false;
  const ir_expr *last = load->kids[load->count - 1];
  const ir_value *inner = region->args[region->arg_count - 1];
  if (last->code != IR_S_ARG || ir_op_operand(store, last->arg) != inner) return false;
  for (size_t i = 0; i + 1 < load->count; i++) {
    if (mentions(load->kids[i], last->arg)) return false;
  }
  return true;
}

bool ir_reduction_of(const ir_op *store, ir_reduction *reduction) {
  if (!ir_is(store, IR_STORE)) return false;
  const ir_attr *user = ir_get(store, "user_reducer");
  if (user) {
    *reduction = (ir_reduction){.reducer = IR_REDUCE_USER, .acc = IR_DTYPE_UNKNOWN, .name = user->string->text};
    return true;
  }
  const char *name = ir_get_word(store, "reducer");
  for (size_t i = 0; i < ir_count_of(rows); i++) {
    if (strcmp(rows[i].name, name)) continue;
    bool indexed = rows[i].reducer == IR_REDUCE_ARGMAX || rows[i].reducer == IR_REDUCE_ARGMIN;
    const ir_expr *value = ir_get_expr_at(store, "args", indexed ? 1 : 0);
    if (!value) return false;
    ir_dtype dtype = (ir_dtype)value->dtype, wanted = ir_get_dtype(store, "acc");
    bool chain = rows[i].reducer == IR_REDUCE_DOT || !strcmp(ir_get_word(store, "order"), "chain");
    *reduction = (ir_reduction){.reducer = rows[i].reducer,
                                .acc = wanted != IR_DTYPE_UNKNOWN ? wanted : rows[i].widens ? ir_dtype_accumulator(dtype) : dtype,
                                .lanes = chain ? 0 : reduces_last_axis(store, value) ? IR_REDUCTION_LANES : 1};
    return true;
  }
  return false;
}

const ir_expr *ir_reduction_identity(ir_context *context, ir_reducer reducer, ir_dtype dtype) {
  if (ir_is_float(dtype)) return ir_expr_float(context, dtype, rows[reducer].identity);
  if (rows[reducer].identity == 0 || rows[reducer].identity == 1) {
    return ir_expr_int(context, dtype, (int64_t)rows[reducer].identity);
  }
  bool least = rows[reducer].identity < 0;
  unsigned bits = dtype == IR_BOOL ? 1 : ir_dtypes[dtype].bits;
  uint64_t ones = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
  uint64_t top = ir_is_signed(dtype) ? ones >> 1 : ones;
  return ir_expr_const(context, dtype, 1, least ? (ir_is_signed(dtype) ? ones ^ top : 0) : top);
}

const ir_expr *ir_reduction_combine(ir_context *context, ir_reducer reducer, const ir_expr *acc, const ir_expr *x) {
  return ir_expr_binary(context, rows[reducer].combine, acc, x);
}
