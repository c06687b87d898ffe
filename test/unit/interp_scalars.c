// SPDX-License-Identifier: Apache-2.0
/* Every scalar operator on every dtype: the interpreter's vector loops give the bits that ir/eval.c gives, on values where
 * they might not: zeros, limits, neighbours of limits, NaN, infinities, denormals, ties. Both tables of loops. */
#include "base/vec.h"
#include "ir/eval.h"
#include "ir/frame.h"
#include "runtime/interp.h"
#include "runtime/interp/kernels.h"
#include "test/unit/check.h"

#include <math.h>

static ir_context *context;
static ir_module *module;
static ir_arena arena;
static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* --- values --- */
enum { VALUES = 48 };

static uint64_t value_of(ir_dtype dtype, size_t i) {
  unsigned bits = ir_dtypes[dtype].bits;
  uint64_t mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
  if (dtype == IR_BOOL) return i & 1;
  if (ir_is_float(dtype)) {
    static const double numbers[] = {0.0,    -0.0,    1,      -1,     0.5,   -0.5, 1.5, 2.5,    -2.5,    3,         -7,      0.1, 1e-3, 448,
                                     464,    465,     57344,  61440,  65504, 65519, 65520, 1e-8, 6e-8,   -5.9604644775390625e-08, 1e-45, 1e30, -1e30, 1e300,
                                     1e-300, 2147483647.0, 2147483648.0, -2147483648.0, 9.3e18, 1.9e19, 127.5, -128.5, 255.4, 7.6};
    if (i < ir_count_of(numbers)) return ir_float_to_bits(dtype, numbers[i]);
    if (i == 40) return ir_float_to_bits(dtype, INFINITY);
    if (i == 41) return ir_float_to_bits(dtype, -INFINITY);
    if (i == 42) return ir_float_to_bits(dtype, NAN);
    return random_bits() & mask;
  }
  uint64_t sign = UINT64_C(1) << (bits - 1);
  const uint64_t numbers[] = {0, 1, 2, 3, 7, mask, mask - 1, mask - 6, sign, sign - 1, sign + 1, sign | 2, bits, bits - 1, bits + 1, 20,
                              UINT64_C(0x01010001), UINT64_C(0x1000001), UINT64_C(0x2000003), UINT64_C(9007199254740993), UINT64_C(0x8000008000000001)};
  return (i < ir_count_of(numbers) ? numbers[i] : random_bits()) & mask;
}

static bool is_nan(ir_dtype dtype, uint64_t bits) {
  return ir_is_float(dtype) && isnan(ir_float_from_bits(dtype, bits));
}

/* --- a prim_func that computes EXPR of its parameters' elements --- */
static const ir_type *vector_type(ir_dtype dtype) {
  const ir_expr *n = ir_expr_symbol(context, ir_intern(context, ir_lit("n")));
  return ir_type_tensor(context, dtype, 1, &n);
}

static ir_func *begin(size_t count, const ir_dtype *dtypes, ir_frame *frame, const ir_expr **elements, ir_region **nest) {
  ir_func *func = ir_func_new(module, IR_ITEM_PRIM_FUNC, ir_module_fresh_name(module, ir_lit("f")));
  ir_param params[4] = {0};
  for (size_t i = 0; i <= count; i++) {
    const char names[4][2] = {"a", "b", "c", "d"};
    params[i] = (ir_param){.name = ir_intern(context, ir_slice_of(names[i])), .type = vector_type(dtypes[i]), .direction = i < count ? IR_IN : IR_OUT};
  }
  ir_func_set_params(func, count + 1, params, true);
  const ir_type *i64 = ir_type_scalar(context, IR_I64, 1);
  const ir_attr *extent = ir_attr_expr(context, ir_expr_symbol(context, ir_intern(context, ir_lit("n"))));
  ir_op *scalar = ir_op_new(module, &(ir_op_spec){.code = IR_SCALAR, .attrs = &extent, .result_count = 1, .types = &i64});
  scalar->flags |= IR_OP_INLINE;
  ir_op_insert(func->body, NULL, scalar);
  *nest = ir_region_new(module, func, 1);
  (*nest)->spatial_count = 1;
  ir_region_set_arg(*nest, 0, i64, ir_intern(context, ir_lit("i")));
  ir_value *operand = ir_op_result(scalar, 0);
  ir_op_insert(func->body, NULL, ir_op_new(module, &(ir_op_spec){.code = IR_COMPUTE, .operand_count = 1, .operands = &operand, .region_count = 1, .regions = nest}));
  *frame = (ir_frame){.context = context, .arena = &arena};
  ir_frame_operand(frame, func->params[count].value);
  const ir_expr *index = ir_frame_use(frame, (*nest)->args[0]);
  for (size_t i = 0; i < count; i++) elements[i] = ir_frame_load(frame, func->params[i].value, 1, &index);
  return func;
}

static void finish(ir_frame *frame, ir_region *nest, const ir_expr *value) {
  const ir_attr *at = ir_attr_expr(context, ir_frame_use(frame, nest->args[0])), *result = ir_attr_expr(context, value);
  const ir_attr *inner = ir_attr_list(context, 1, &at);
  ir_op *store = ir_op_new(module, &(ir_op_spec){.code = IR_STORE, .operand_count = frame->count, .operands = frame->operands});
  ir_op_insert(nest, NULL, store);
  ir_set(store, "index", ir_attr_list(context, 1, &inner));
  ir_set(store, "args", ir_attr_list(context, 1, &result));
}

static size_t cases_of(size_t arity) { return arity == 1 ? VALUES : VALUES * VALUES; }

static void fill(ir_object **objects, size_t arity, const ir_dtype *dtypes) {
  int64_t n = (int64_t)cases_of(arity);
  for (size_t k = 0; k <= arity; k++) objects[k] = ir_object_tensor(ir_tensor_new(NULL, dtypes[k], 1, &n));
  for (size_t i = 0; i < (size_t)n; i++) {
    size_t at[3] = {i % VALUES, i / VALUES % VALUES, (i * 7 + i / VALUES) % VALUES};
    if (arity == 3 && dtypes[0] == IR_BOOL) at[0] = i & 1;
    for (size_t k = 0; k < arity; k++) ir_tensor_set_bits(objects[k]->tensor, (int64_t)i, value_of(dtypes[k], at[k]));
  }
}

/* Runs and compares; the first difference of an operator is printed. */
static void compare(ir_func *func, size_t arity, const ir_dtype *dtypes, ir_scalar_code code, bool fma) {
  ir_object *objects[4];
  fill(objects, arity, dtypes);
  ir_interp *interp = ir_interp_new(module, &(ir_interp_options){.checked = false});
  bool ran = ir_interp_prim(interp, func, arity + 1, objects);
  CHECK(ran);
  ir_diags_flush(context->diags);
  size_t wrong = 0;
  for (size_t i = 0; ran && i < cases_of(arity); i++) {
    uint64_t operands[3] = {0}, want = 0, got = ir_tensor_bits(objects[arity]->tensor, (int64_t)i);
    for (size_t k = 0; k < arity; k++) operands[k] = ir_tensor_bits(objects[k]->tensor, (int64_t)i);
    if (!ir_scalar_eval(context, code, dtypes[arity - 1], dtypes[arity], fma, operands, &want)) break;
    if (want == got || (is_nan(dtypes[arity], want) && is_nan(dtypes[arity], got))) continue;
    if (!wrong++) {
      printf("%s of %s to %s (%llx, %llx, %llx): found %llx, expected %llx\n", ir_scalars[code].name, ir_dtype_name(dtypes[arity - 1]),
             ir_dtype_name(dtypes[arity]), (unsigned long long)operands[0], (unsigned long long)operands[1], (unsigned long long)operands[2],
             (unsigned long long)got, (unsigned long long)want);
    }
  }
  CHECK(wrong == 0);
  ir_interp_free(interp);
  for (size_t k = 0; k <= arity; k++) ir_object_release(objects[k]);
}

static void try_operator(ir_scalar_code code, ir_dtype dtype, bool fma) {
  size_t arity = (size_t)ir_scalars[code].arity;
  ir_scalar_typing typing = ir_scalars[code].typing;
  ir_dtype dtypes[4] = {dtype, dtype, dtype, dtype};
  if (typing == IR_TYPING_SELECT) dtypes[0] = IR_BOOL;
  if (typing == IR_TYPING_COMPARE || typing == IR_TYPING_TEST || typing == IR_TYPING_LOGIC) dtypes[arity] = IR_BOOL;
  ir_frame frame;
  ir_region *nest;
  const ir_expr *elements[3];
  ir_func *func = begin(arity, dtypes, &frame, elements, &nest);
  if (!ir_expr_check(code, arity, elements, NULL)) return;
  finish(&frame, nest, ir_expr_get(context, code, arity, elements));
  compare(func, arity, dtypes, code, fma);
}

static void try_conversion(ir_scalar_code code, ir_dtype from, ir_dtype to) {
  ir_dtype dtypes[4] = {from, to};
  ir_frame frame;
  ir_region *nest;
  const ir_expr *element;
  bool unlike = ir_dtypes[from].bits != ir_dtypes[to].bits || to == IR_BOOL; /* not every byte is a bool */
  if (from == to || (code == IR_S_BITCAST && unlike)) return;
  ir_func *func = begin(1, dtypes, &frame, &element, &nest);
  finish(&frame, nest, ir_expr_convert(context, code, element, to, 1));
  compare(func, 1, dtypes, code, false);
}

static void start(ir_diags *diags, bool fma) {
  context = ir_context_new(diags);
  module = ir_module_new(context);
  if (fma) module->attrs = ir_dict_with(context, NULL, "fp.fma", ir_attr_bool(context, true));
}

static void stop(void) {
  ir_module_free(module);
  ir_context_free(context);
}

static void try_all(ir_diags *diags, bool fma) {
  for (int dtype = 0; dtype < IR_DTYPE_COUNT; dtype++) {
    start(diags, fma);
    for (int code = IR_S_OR; code < IR_S_COUNT; code++) try_operator((ir_scalar_code)code, (ir_dtype)dtype, fma);
    for (int to = 0; to < IR_DTYPE_COUNT && !fma; to++) {
      try_conversion(IR_S_CAST, (ir_dtype)dtype, (ir_dtype)to);
      try_conversion(IR_S_BITCAST, (ir_dtype)dtype, (ir_dtype)to);
    }
    stop();
  }
}

/* The loops for this machine and those for every machine differ in nothing. */
static void compare_tables(void) {
  const ir_kernels *wide = ir_kernels_get(), *base = &ir_kernels_base;
  static const ir_dtype dtypes[IR_REP_COUNT] = {IR_U8, IR_U16, IR_U32, IR_U64, IR_I8, IR_I16, IR_I32, IR_I64, IR_F32, IR_F64};
  enum { N = VALUES * VALUES };
  static uint64_t a[N], b[N], c[N], x[N], y[N];
  for (int rep = 0; rep < IR_REP_COUNT; rep++) {
    unsigned size = ir_rep_sizes[rep];
    for (size_t i = 0; i < N; i++) {
      uint64_t values[3] = {value_of(dtypes[rep], i % VALUES), value_of(dtypes[rep], i / VALUES), value_of(dtypes[rep], i * 5 % VALUES)};
      memcpy((char *)a + i * size, &values[0], size);
      memcpy((char *)b + i * size, &values[1], size);
      memcpy((char *)c + i * size, &values[2], size);
    }
    for (int code = 0; code < IR_S_COUNT; code++) {
      if (!base->op[code][rep] || code == IR_S_SELECT) continue;
      memset(x, 0, sizeof x);
      memset(y, 0, sizeof y);
      wide->op[code][rep](x, a, b, c, N);
      base->op[code][rep](y, a, b, c, N);
      bool same = true, compares = ir_scalars[code].typing == IR_TYPING_COMPARE || ir_scalars[code].typing == IR_TYPING_TEST;
      unsigned step = compares ? 1 : size;
      for (size_t i = 0; i < N; i++) {
        uint64_t p = 0, q = 0;
        memcpy(&p, (char *)x + i * step, step);
        memcpy(&q, (char *)y + i * step, step);
        bool nans = !compares && is_nan(dtypes[rep], p) && is_nan(dtypes[rep], q);
        same &= p == q || nans;
      }
      CHECK(same);
    }
  }
}

int main(void) {
  ir_diags *diags = ir_diags_new();
  try_all(diags, false);
  try_all(diags, true);
  compare_tables();
  ir_arena_free(&arena);
  ir_diags_free(diags);
  return CHECK_REPORT("interp_scalars");
}
