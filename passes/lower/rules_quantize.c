// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_quantize.c - numbers as steps of a scale, and back. */
#include "passes/lower/lower.h"

static const ir_expr *binary(const ir_lowering *l, ir_scalar_code code, const ir_expr *a, const ir_expr *b) { return ir_expr_binary(l->context, code, a, b); }

/* Operand I (the scale, the zero point) where x is at AXES, in DTYPE. */
static const ir_expr *parameter(ir_nest_at *n, size_t i, const ir_expr *const *axes, ir_dtype dtype) {
  const ir_lowering *l = n->l;
  const ir_type *type = ir_lower_type(l, i);
  const ir_expr *at = NULL;
  if (ir_is_tensor(type) && type->count) at = axes[ir_lower_normal_axis(l->op, "axis", ir_lower_result(l, 0)->count)];
  return ir_expr_cast(l->context, ir_lower_load(n, l->in[i], &at), dtype);
}

static const ir_expr *operand(ir_nest_at *n, const ir_expr *const *axes, ir_dtype dtype) {
  return ir_expr_cast(n->l->context, ir_lower_load(n, n->l->in[0], axes), dtype);
}

/* f64 where one of the dtypes is, else f32. */
static ir_dtype wide_of(ir_dtype a, ir_dtype b) { return a == IR_F64 || b == IR_F64 ? IR_F64 : IR_F32; }

static double largest(ir_dtype dtype) {
  switch ((int)dtype) {
  case IR_F8E4M3: return 448;
  case IR_F8E5M2: return 57344;
  case IR_F16: return 65504;
  case IR_BF16: return 0x1.fep+127;
  default: return 0x1.fffffep+127;
  }
}

/* VALUE, of dtype WIDE, in a narrower float: what is beyond becomes the largest number. */
static const ir_expr *saturated(const ir_lowering *l, const ir_expr *value, ir_dtype wide, ir_dtype dtype) {
  if (dtype == wide || dtype == IR_F64) return ir_expr_cast(l->context, value, dtype);
  const ir_expr *high = ir_expr_float(l->context, wide, largest(dtype)), *low = ir_expr_float(l->context, wide, -largest(dtype));
  return ir_expr_cast(l->context, binary(l, IR_S_MIN, binary(l, IR_S_MAX, value, low), high), dtype);
}

bool legalize_quantize(ir_lowering *l) {
  ir_dtype dtype = ir_type_dtype(ir_lower_result(l, 0)), zero = ir_type_dtype(ir_lower_type(l, 2));
  ir_dtype wide = wide_of(ir_type_dtype(ir_lower_type(l, 0)), ir_type_dtype(ir_lower_type(l, 1)));
  const ir_expr *axes[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  const ir_expr *steps = binary(l, IR_S_DIV, operand(&n, axes, wide), parameter(&n, 1, axes, wide));
  const ir_expr *value;
  if (ir_is_float(dtype)) {
    value = saturated(l, binary(l, IR_S_ADD, steps, parameter(&n, 2, axes, wide)), wide, dtype);
  } else {
    /* Exact where it doesn't saturate: f32 holds sums of numbers of 16 bits, f64 those of 32. */
    bool large = ir_dtypes[dtype].bits > 16 || ir_dtypes[zero].bits > 16;
    ir_dtype sum = large ? IR_F64 : wide;
    const ir_expr *whole = ir_expr_cast(l->context, ir_expr_unary(l->context, IR_S_RINT, steps), sum);
    value = ir_expr_cast(l->context, binary(l, IR_S_ADD, whole, parameter(&n, 2, axes, sum)), dtype);
  }
  ir_lower_store(&n, NULL, NULL, NULL, value, NULL);
  return true;
}

bool legalize_dequantize(ir_lowering *l) {
  ir_dtype dtype = ir_type_dtype(ir_lower_result(l, 0));
  ir_dtype wide = wide_of(dtype, ir_type_dtype(ir_lower_type(l, 1)));
  const ir_expr *axes[IR_LOWER_AXES];
  ir_nest_at n = ir_lower_over_result(l, 0, axes);
  const ir_expr *steps = binary(l, IR_S_SUB, operand(&n, axes, wide), parameter(&n, 2, axes, wide));
  ir_lower_store(&n, NULL, NULL, NULL, ir_expr_cast(l->context, binary(l, IR_S_MUL, steps, parameter(&n, 1, axes, wide)), dtype), NULL);
  return true;
}
