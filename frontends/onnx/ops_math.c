// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_math.c - element-wise operators and products. */
#include "frontends/onnx/importer.h"
#include "ir/eval.h"

#include <math.h>

#define CONTEXT (n->im->context)
#define BUILD(code, ...) IR_ONNX_BUILD(n, code, __VA_ARGS__)

/* Whether a COMPARISON b: an i64 of 0 or 1; NULL where that is not decided for all extents. */
static const ir_expr *decided(ir_onnx_node *n, ir_scalar_code comparison, const ir_expr *a, const ir_expr *b) {
  ir_proof holds = ir_prove(CONTEXT, ir_func_facts(n->im->func), ir_expr_binary(CONTEXT, comparison, a, b));
  return holds == IR_UNKNOWN ? NULL : ir_expr_i64(CONTEXT, holds == IR_PROVEN);
}

/* The output is whether the elements compare so with NUMBER; false where that is not decided. */
static bool known_conditions(ir_onnx_node *n, ir_scalar_code comparison, const ir_onnx_known *known, int64_t number) {
  ir_onnx_known *result = ir_onnx_known_new(n->im, IR_BOOL, known->rank, known->count);
  for (size_t i = 0; i < known->count; i++) {
    result->elements[i] = decided(n, comparison, known->elements[i], ir_expr_i64(CONTEXT, number));
    if (!result->elements[i]) return false;
  }
  return ir_onnx_out_known(n, 0, result);
}

bool import_unary(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  if (known && known->dtype == IR_BOOL && known_conditions(n, IR_S_EQ, known, 0)) return true;
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, BUILD(n->row->code, x));
}

bool import_reciprocal(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, BUILD(IR_DIVIDE, ir_onnx_number(n, x, 1), x));
}

bool import_identity(ir_onnx_node *n) {
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  if (known) return ir_onnx_out_known(n, 0, (ir_onnx_known *)(uintptr_t)known);
  return ir_onnx_out(n, 0, ir_onnx_in(n, 0));
}

bool import_dropout(ir_onnx_node *n) {
  ir_onnx_ignore(n, "ratio");
  ir_onnx_ignore(n, "is_test");
  ir_onnx_ignore(n, "seed");
  ir_onnx_ignore(n, "consumed_inputs");
  (void)ir_onnx_present(n, 1); /* the ratio, of training */
  const ir_attr *training = NULL;
  if (ir_onnx_present(n, 2) && !ir_onnx_in_number(n, 2, &training)) return false;
  if (training && training != ir_attr_int(CONTEXT, 0)) return ir_onnx_fail(n, "not implemented: training_mode");
  ir_value *x = ir_onnx_in(n, 0);
  if (!x || !ir_onnx_out(n, 0, x)) return false;
  if (!ir_onnx_wants(n, 1)) return true;
  /* Nothing is dropped. Before opset 10 the mask had the dtype of the data. */
  const ir_attr *dtype = n->im->opset < 10 ? NULL : ir_attr_dtype(CONTEXT, IR_BOOL);
  return ir_onnx_out(n, 1, ir_build1(&n->im->b, IR_ONES_LIKE, IR_OPERANDS(x), IR_SET({"dtype", dtype})));
}

static const ir_attr *real(ir_onnx_node *n, double value) { return ir_attr_float(CONTEXT, value); }

bool import_hard_sigmoid(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  ir_value *x = ir_onnx_in(n, 0);
  double alpha = ir_onnx_float(n, "alpha", 0.2), beta = ir_onnx_float(n, "beta", 0.5);
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_NN_HARD_SIGMOID, IR_OPERANDS(x), IR_SET({"alpha", real(n, alpha)}, {"beta", real(n, beta)})));
}

bool import_leaky_relu(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_NN_LEAKYRELU, IR_OPERANDS(x), IR_SET({"alpha", real(n, ir_onnx_float(n, "alpha", 0.01))})));
}

bool import_prelu(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  ir_value *x = ir_onnx_in(n, 0), *slope = ir_onnx_in(n, 1);
  if (!x || !slope) return false;
  bool by_channel = n->im->opset < 7 && ir_onnx_rank(n, slope) == 1; /* later the slope broadcasts as usual */
  if (by_channel) return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_NN_PRELU, IR_OPERANDS(x, slope), IR_SET({"axis", ir_attr_int(CONTEXT, 1)})));
  ir_value *positive = BUILD(IR_GREATER_EQUAL, x, ir_onnx_number(n, x, 0)), *scaled = BUILD(IR_MULTIPLY, x, slope);
  ir_value *y = positive && scaled ? BUILD(IR_WHERE, positive, x, scaled) : NULL;
  return y && ir_onnx_spreads_to(n, slope, x, y) && ir_onnx_out(n, 0, y);
}

bool import_isinf(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  int64_t up = ir_onnx_int(n, "detect_positive", 1), down = ir_onnx_int(n, "detect_negative", 1);
  ir_value *y = x ? BUILD(IR_ISINF, x) : NULL;
  if (!y) return false;
  /* The number itself tells the sign. */
  if (!up || !down) {
    ir_value *side = BUILD(up ? IR_GREATER : IR_LESS, x, ir_onnx_number(n, x, 0));
    y = side ? BUILD(IR_LOGICAL_AND, y, side) : NULL;
  }
  if (y && !up && !down) y = BUILD(IR_ZEROS_LIKE, y);
  return ir_onnx_out(n, 0, y);
}

static bool clip(ir_onnx_node *n, ir_value *x, const ir_attr *least, const ir_attr *most) {
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_CLIP, IR_OPERANDS(x), IR_SET({"min", least}, {"max", most})));
}

bool import_clip_attrs(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  return clip(n, ir_onnx_in(n, 0), real(n, ir_onnx_float(n, "min", -INFINITY)), real(n, ir_onnx_float(n, "max", INFINITY)));
}

/* Bounds that only the run knows: min(most, max(least, x)), as clip is. */
static bool clip_by_values(ir_onnx_node *n) {
  ir_value *x = ir_onnx_in(n, 0);
  for (size_t i = 1; i < 3 && x; i++) {
    ir_value *bound = ir_onnx_present(n, i) ? ir_onnx_in(n, i) : NULL;
    if (bound) x = i == 1 ? BUILD(IR_MAXIMUM, x, bound) : BUILD(IR_MINIMUM, x, bound);
    if (ir_onnx_present(n, i) && !bound) return false;
  }
  return ir_onnx_out(n, 0, x);
}

bool import_clip(ir_onnx_node *n) {
  const ir_attr *least = NULL, *most = NULL;
  for (size_t i = 1; i < 3; i++) {
    if (ir_onnx_present(n, i) && !ir_onnx_is_literal(n, i)) return clip_by_values(n);
  }
  if (ir_onnx_present(n, 1) && !ir_onnx_in_number(n, 1, &least)) return false;
  if (ir_onnx_present(n, 2) && !ir_onnx_in_number(n, 2, &most)) return false;
  return clip(n, ir_onnx_in(n, 0), least, most);
}

/* The result is an extent in DTYPE as long as it fits, which is checked when it runs; false where it never does. */
static bool bound_known(ir_onnx_node *n, ir_dtype dtype, const ir_expr *value) {
  if (dtype == IR_I64) return true;
  unsigned width = ir_dtypes[dtype].bits - ir_is_signed(dtype);
  int64_t most = (INT64_C(1) << width) - 1, least = ir_is_signed(dtype) ? -most - 1 : 0;
  return ir_onnx_require(n, ir_expr_binary(CONTEXT, IR_S_LE, value, ir_expr_i64(CONTEXT, most))) &&
         ir_onnx_require(n, ir_expr_binary(CONTEXT, IR_S_GE, value, ir_expr_i64(CONTEXT, least)));
}

bool import_cast(ir_onnx_node *n) {
  if (!ir_onnx_has(n, "to")) return ir_onnx_fail(n, "attribute 'to' is missing");
  int64_t to = ir_onnx_int(n, "to", 0);
  ir_onnx_ignore(n, "saturate");
  ir_dtype dtype = ir_onnx_dtype((int32_t)to);
  if (dtype == IR_DTYPE_UNKNOWN) return ir_onnx_fail(n, "not implemented: element type %lld", (long long)to);
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  if (known && dtype == IR_BOOL && known_conditions(n, IR_S_NE, known, 0)) return true;
  if (known && (dtype == IR_I64 || dtype == IR_I32)) {
    ir_onnx_known *cast = ir_onnx_known_new(n->im, dtype, known->rank, known->count);
    for (size_t i = 0; i < known->count; i++) {
      int64_t value;
      cast->elements[i] = known->elements[i];
      bool fits = dtype == IR_I64 || (ir_expr_is_int(known->elements[i], &value) && value == (int32_t)value);
      if (fits) continue;
      if (ir_expr_is_int(known->elements[i], &value)) return ir_onnx_fail(n, "%lld does not fit into i32", (long long)value);
      if (!bound_known(n, dtype, known->elements[i])) return ir_onnx_fail(n, "an extent that never fits into %s", ir_dtype_name(dtype));
    }
    return ir_onnx_out_known(n, 0, cast);
  }
  ir_value *x = ir_onnx_in(n, 0);
  return x && ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_ASTYPE, IR_OPERANDS(x), IR_SET({"dtype", ir_attr_dtype(CONTEXT, dtype)})));
}

/* Constants wrap as elements of the dtype do; comparisons are 0 or 1, as bools are here. NULL for a division by zero, which is
 * left for the run, and for what is not decided. */
static const ir_expr *known_element(ir_onnx_node *n, ir_scalar_code code, ir_dtype dtype, const ir_expr *a, const ir_expr *b) {
  if (ir_scalars[code].typing == IR_TYPING_COMPARE) return decided(n, code, a, b);
  int64_t x, y;
  bool constant = ir_expr_is_int(b, &y);
  if (code == IR_S_TRUNCDIV && (!constant || !y)) return NULL;
  constant &= ir_expr_is_int(a, &x);
  if (!constant) {
    const ir_expr *value = ir_simplify(CONTEXT, NULL, ir_expr_binary(CONTEXT, code, a, b));
    return bound_known(n, dtype, value) ? value : NULL;
  }
  const uint64_t in[] = {ir_int_to_bits(dtype, x), ir_int_to_bits(dtype, y)};
  uint64_t bits = 0;
  if (!ir_scalar_eval(CONTEXT, code, dtype, dtype, false, in, &bits)) return NULL;
  return ir_expr_i64(CONTEXT, ir_int_from_bits(dtype, bits));
}

/* Arithmetic on extents, and conditions of them that are decided. Bools are 0 or 1. */
static bool known_binary(ir_onnx_node *n, const ir_onnx_known *a, const ir_onnx_known *b) {
  static const struct {
    ir_opcode code;
    ir_scalar_code scalar;
  } codes[] = {{IR_ADD, IR_S_ADD},          {IR_SUBTRACT, IR_S_SUB},       {IR_MULTIPLY, IR_S_MUL},         {IR_DIVIDE, IR_S_TRUNCDIV},
               {IR_EQUAL, IR_S_EQ},         {IR_LESS, IR_S_LT},            {IR_LESS_EQUAL, IR_S_LE},        {IR_GREATER, IR_S_GT},
               {IR_GREATER_EQUAL, IR_S_GE}, {IR_LOGICAL_AND, IR_S_BITAND}, {IR_LOGICAL_OR, IR_S_BITOR}, {IR_LOGICAL_XOR, IR_S_NE}};
  size_t at = 0;
  while (at < ir_count_of(codes) && codes[at].code != n->row->code) at++;
  if (at == ir_count_of(codes) || a->dtype != b->dtype || (a->count != b->count && a->count != 1 && b->count != 1)) return false;
  size_t count = a->count == 1 ? b->count : a->count;
  ir_scalar_code code = codes[at].scalar;
  ir_dtype dtype = ir_scalars[code].typing == IR_TYPING_COMPARE ? IR_BOOL : a->dtype;
  ir_onnx_known *result = ir_onnx_known_new(n->im, dtype, a->rank > b->rank ? a->rank : b->rank, count);
  for (size_t i = 0; i < count; i++) {
    const ir_expr *x = a->elements[a->count == 1 ? 0 : i], *y = b->elements[b->count == 1 ? 0 : i];
    result->elements[i] = known_element(n, code, a->dtype, x, y);
    if (!result->elements[i]) return false;
  }
  return ir_onnx_out_known(n, 0, result);
}

/* The second operand as it broadcasts: before opset 7 attributes said where its axes are. NULL after a report. */
static ir_value *second_operand(ir_onnx_node *n, ir_value *a, ir_value *b) {
  if (!a || !b || n->im->opset >= 7) return a ? b : NULL;
  int64_t broadcast = ir_onnx_int(n, "broadcast", 0), rank = ir_onnx_rank(n, a), own = ir_onnx_rank(n, b);
  int64_t axis = ir_onnx_has(n, "axis") ? ir_onnx_int(n, "axis", 0) : rank - own;
  if (rank < 0 || own < 0) return NULL;
  if (axis < 0) axis += rank;
  if (!broadcast || axis == rank - own) return b;
  const ir_expr *dims[64];
  if (axis < 0 || axis + own > rank || rank > 64) return ir_onnx_fail(n, "axis %lld", (long long)axis), NULL;
  for (int64_t i = 0; i < rank - axis; i++) dims[i] = i < own ? ir_onnx_dim(b, (size_t)i) : ir_expr_i64(CONTEXT, 1);
  return ir_onnx_reshape(n, b, (size_t)(rank - axis), dims);
}

bool import_binary(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  const ir_onnx_known *ka = ir_onnx_in_known(n, 0), *kb = ir_onnx_in_known(n, 1);
  if (ka && kb && known_binary(n, ka, kb)) return true;
  ir_value *a = ir_onnx_in(n, 0), *b = second_operand(n, a, ir_onnx_in(n, 1));
  return b && ir_onnx_out(n, 0, BUILD(n->row->code, a, b));
}

/* What powers are computed in: it holds the base and the exponents. IR_DTYPE_UNKNOWN where there is none. */
static ir_dtype power_dtype(ir_dtype base, ir_dtype exponent) {
  bool floats = ir_is_float(base), wide = ir_dtypes[exponent].bits > (ir_is_float(exponent) ? ir_dtypes[base].bits : 16);
  if (floats && wide) return ir_is_float(exponent) ? exponent : IR_F64;
  if (floats || base == exponent) return base;
  if (ir_is_float(exponent)) return ir_dtypes[base].bits > 16 ? IR_F64 : exponent == IR_F64 ? IR_F64 : IR_F32;
  bool is_signed = ir_is_signed(base) || ir_is_signed(exponent);
  if (!is_signed) return IR_U64;
  return base == IR_U64 || exponent == IR_U64 ? IR_DTYPE_UNKNOWN : IR_I64;
}

/* The result has the base's dtype. */
bool import_pow(ir_onnx_node *n) {
  ir_value *a = ir_onnx_in(n, 0), *b = second_operand(n, a, ir_onnx_in(n, 1));
  if (!b) return false;
  ir_dtype dtype = ir_type_dtype(a->type), other = ir_type_dtype(b->type), wide = power_dtype(dtype, other);
  if (wide == IR_DTYPE_UNKNOWN) return ir_onnx_fail(n, "not implemented: powers of %s with exponents of %s", ir_dtype_name(dtype), ir_dtype_name(other));
  ir_value *y = BUILD(IR_POWER, ir_onnx_cast(n, a, wide), ir_onnx_cast(n, b, wide));
  return ir_onnx_out(n, 0, ir_onnx_cast(n, y, dtype));
}

bool import_bitshift(ir_onnx_node *n) {
  const char *direction = ir_onnx_string(n, "direction", "");
  ir_value *a = ir_onnx_in(n, 0), *b = ir_onnx_in(n, 1);
  bool left = !strcmp(direction, "LEFT");
  if (!left && strcmp(direction, "RIGHT")) return ir_onnx_fail(n, "direction '%s': expected LEFT or RIGHT", direction);
  return a && b && ir_onnx_out(n, 0, BUILD(left ? IR_LEFT_SHIFT : IR_RIGHT_SHIFT, a, b));
}

bool import_mod(ir_onnx_node *n) {
  int64_t fmod_form = ir_onnx_int(n, "fmod", 0);
  ir_value *a = ir_onnx_in(n, 0), *b = ir_onnx_in(n, 1);
  if (!a || !b) return false;
  if (!fmod_form && ir_is_float(ir_type_dtype(a->type))) return ir_onnx_fail(n, "floats need fmod = 1");
  return ir_onnx_out(n, 0, BUILD(fmod_form ? IR_MOD : IR_FLOOR_MOD, a, b));
}

bool import_where(ir_onnx_node *n) {
  ir_value *c = ir_onnx_in(n, 0), *a = ir_onnx_in(n, 1), *b = ir_onnx_in(n, 2);
  return c && a && b && ir_onnx_out(n, 0, BUILD(IR_WHERE, c, a, b));
}

bool import_variadic(ir_onnx_node *n) {
  ir_onnx_ignore(n, "consumed_inputs");
  ir_value *sum = ir_onnx_in(n, 0);
  for (size_t i = 1; sum && i < n->proto->n_input; i++) {
    ir_value *next = ir_onnx_in(n, i);
    sum = next ? BUILD(n->row->code, sum, next) : NULL;
  }
  if (sum && !strcmp(n->row->name, "Mean") && n->proto->n_input > 1) sum = BUILD(IR_DIVIDE, sum, ir_onnx_number(n, sum, (double)n->proto->n_input));
  return ir_onnx_out(n, 0, sum);
}

bool import_matmul(ir_onnx_node *n) {
  ir_value *a = ir_onnx_in(n, 0), *b = ir_onnx_in(n, 1);
  return a && b && ir_onnx_out(n, 0, BUILD(IR_MATMUL, a, b));
}

bool import_einsum(ir_onnx_node *n) {
  const char *equation = ir_onnx_string(n, "equation", NULL);
  size_t count = n->proto->n_input;
  ir_value **operands = ir_new_array(&n->im->arena, ir_value *, count + 1);
  if (!equation) return ir_onnx_fail(n, "attribute 'equation' is missing");
  for (size_t i = 0; i < count; i++) {
    if (!(operands[i] = ir_onnx_in(n, i))) return false;
  }
  return ir_onnx_out(n, 0, ir_build1(&n->im->b, IR_EINSUM, operands, count, IR_SET({"subscripts", ir_attr_string(n->im->context, ir_slice_of(equation))})));
}

bool import_gemm(ir_onnx_node *n) {
  ir_onnx_ignore(n, "broadcast");
  double alpha = ir_onnx_float(n, "alpha", 1), beta = ir_onnx_float(n, "beta", 1);
  ir_value *a = ir_onnx_in(n, 0), *b = ir_onnx_in(n, 1);
  int64_t ta = ir_onnx_int(n, "transA", 0), tb = ir_onnx_int(n, "transB", 0);
  if (!a || !b) return false;
  if (ir_onnx_rank(n, a) != 2 || ir_onnx_rank(n, b) != 2) return ir_onnx_fail(n, "operands of rank %d and %d, expected 2 and 2", ir_onnx_rank(n, a), ir_onnx_rank(n, b));
  bool whole = alpha == rint(alpha) && beta == rint(beta);
  if (!whole && !ir_is_float(ir_type_dtype(a->type))) return ir_onnx_fail(n, "alpha %g and beta %g of integers", alpha, beta);
  if (ta) a = BUILD(IR_PERMUTE_DIMS, a);
  if (tb) b = BUILD(IR_PERMUTE_DIMS, b);
  ir_value *y = a && b ? BUILD(IR_MATMUL, a, b) : NULL;
  if (y && alpha != 1) y = BUILD(IR_MULTIPLY, y, ir_onnx_number(n, y, alpha));
  if (y && ir_onnx_present(n, 2)) {
    ir_value *c = ir_onnx_in(n, 2);
    if (c && beta != 1) c = BUILD(IR_MULTIPLY, c, ir_onnx_number(n, c, beta));
    ir_value *product = y;
    y = c ? BUILD(IR_ADD, y, c) : NULL;
    if (y && !ir_onnx_spreads_to(n, c, product, y)) return false;
  }
  return ir_onnx_out(n, 0, y);
}
