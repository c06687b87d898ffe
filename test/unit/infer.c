// SPDX-License-Identifier: Apache-2.0
/* ir/infer: the result types and the errors of operators. Expected shapes come from NumPy's and PyTorch's rules, by hand. */
#include "ir/print.h"

#include "check_diags.h"
#include "ir_read.h"

enum { MAX_OPERANDS = 8 };

static ir_diags *diags;
static ir_context *context;
static ir_module *module;
static ir_func *func; /* its symbols: n, m, h, w, k are extents, n >= 0 and so on; big >= 2 */
static ir_arena scratch;

/* Infers OP on operands of the types in TYPES with the attributes in ATTRS; the types of the results, joined by commas,
 * or what was reported. */
static const char *infer(const char *op, const char *types, const char *attrs) {
  ir_value values[MAX_OPERANDS] = {0}, *operands[MAX_OPERANDS];
  ir_opcode code = ir_op_find(context, ir_slice_of(op));
  if (code == IR_OP_COUNT) return "no such operator";
  const ir_op_def *row = &ir_op_defs[code];
  const ir_attr **slots = ir_new_array(&scratch, const ir_attr *, row->attr_count);
  ir_infer in = {.context = context, .module = module, .func = func, .code = code, .operands = operands, .attrs = slots, .scratch = &scratch};
  while (read_space(&types), *types) {
    operands[in.operand_count] = &values[in.operand_count];
    values[in.operand_count++].type = read_type(context, &types);
  }
  while (read_space(&attrs), *attrs) {
    ir_slice name = read_word(&attrs);
    int slot = ir_attr_index(row, ir_arena_copy(&scratch, name.at, name.length));
    if (slot < 0) return "no such attribute";
    attrs++;
    slots[slot] = read_value(context, &attrs);
  }
  bool inferred = ir_infer_run(&in);
  const char *reported = check_take(diags);
  if (!inferred) return *reported ? reported : "failed in silence";
  if (*reported) return "reported, but succeeded";
  ir_text text = {0};
  ir_text_put(&text, "");
  for (size_t i = 0; i < in.result_count; i++) {
    if (i) ir_text_put(&text, ", ");
    ir_print_type(&text, in.results[i]);
  }
  const char *copy = ir_arena_copy(&scratch, text.at, text.length);
  ir_text_free(&text);
  return copy;
}

#define INFER(op, types, attrs, expected) CHECK_TEXT(infer(op, types, attrs), expected)

static void test_elementwise(void) {
  INFER("add", "f32[n, 1] f32[8]", "", "f32[n, 8]");
  INFER("add", "f32[2, n] f32[3]", "", "f32[2, 3]");      /* B016: n is checked at run time to be 1 or 3 */
  INFER("minimum", "f32[n, 4] f32[2, 4]", "", "f32[2, 4]"); /* B017 */
  INFER("add", "f32[n] f32[m]", "", "f32[bcast(n, m)]");
  INFER("add", "f32[n] f32[big]", "", "f32[big]");        /* big is at least 2 */
  INFER("add", "f32[n] f32[n]", "", "f32[n]");
  INFER("add", "f32[n*2] f32[n*2, 1]", "", "f32[n * 2, n * 2]");
  INFER("add", "f32[?] f32[4]", "", "f32[4]");
  INFER("add", "f32[?] f32[1]", "", "f32[?]");
  INFER("add", "f32[?] f32[n]", "", "f32[?]");
  INFER("add", "f32[*] f32[4]", "", "f32[*]");
  INFER("add", "f32[] f32[0, 4]", "", "f32[0, 4]");
  INFER("add", "f32[1] f32[0]", "", "f32[0]");
  INFER("add", "f32[4] f32", "", "f32[4]");               /* a scalar is a 0-d tensor */
  INFER("add", "?[4] f32[4]", "", "f32[4]");
  INFER("add", "f32[2] f32[3]", "", "add: operands do not broadcast: extent 3 of 'x2' on axis 0 against 2");
  INFER("add", "f32[2] i32[2]", "", "add: operands 'x1' and 'x2' have dtypes f32 and i32, expected equal ones");
  INFER("add", "bool[2] bool[2]", "", "add: operand 'x1' has type bool[2], expected a numeric tensor");
  INFER("add", "f32[2] any", "", "add: operand 'x2' has type any, expected a numeric tensor");
  INFER("add", "f32[2]", "", "add: 1 operands, expected 2");
  INFER("less", "i32[n] i32[]", "", "bool[n]");
  INFER("where", "bool[n, 1] f32[4] f32[]", "", "f32[n, 4]");
  INFER("where", "f32[n] f32[4] f32[]", "", "where: operand 'condition' has type f32[n], expected a bool tensor");
  INFER("astype", "f32[n]", "dtype=f16", "f16[n]");
  INFER("astype", "f32[n]", "", "astype: attribute 'dtype' is missing");
  INFER("clip", "f32[n]", "min=-0.5, max=2", "f32[n]");
  INFER("clip", "i32[n]", "min=0.5", "clip: attribute 'min' is 0.5, expected an integer for dtype i32");
  INFER("isnan", "f32[n]", "", "bool[n]");
  INFER("exp", "i32[n]", "", "exp: operand 'x' has type i32[n], expected a floating-point tensor");
  INFER("add", "f32[n] @a f32[n]", "", "f32[n] @a");
  INFER("add", "f32[n] @a f32[n] @b", "", "add: operands lie on different devices, '@a' and '@b'");
}

static void test_products(void) {
  INFER("matmul", "f32[n, 784] f32[784, 512]", "", "f32[n, 512]");
  INFER("matmul", "f16[n, 8] f16[8, 4]", "out_dtype=f32", "f32[n, 4]");
  INFER("matmul", "f32[5, 1, n, 8] f32[3, 8, 4]", "", "f32[5, 3, n, 4]");
  INFER("matmul", "f32[8] f32[8]", "", "f32[]");
  INFER("matmul", "f32[8] f32[5, 8, 4]", "", "f32[5, 4]");
  INFER("matmul", "f32[5, 3, 8] f32[8]", "", "f32[5, 3]");
  INFER("matmul", "f32[n, ?] f32[8, 4]", "", "f32[n, 4]");
  INFER("matmul", "f32[*] f32[8, 4]", "", "f32[*]");
  INFER("matmul", "f32[] f32[8, 4]", "", "matmul: operand 'x1' has rank 0, expected at least 1");
  INFER("matmul", "f32[2, 3] f32[4, 5]", "", "matmul: operands of shapes [2, 3] and [4, 5] do not multiply: 3 columns against 4 rows");
  INFER("matmul", "f32[2, 3, 3] f32[5, 3, 3]", "", "matmul: batch extents 2 and 5 do not broadcast");
  INFER("sum", "f32[n, 8, 3]", "axis=[1, -1]", "f32[n]");
  INFER("sum", "f32[n, 8, 3]", "axis=[1], keepdims=true", "f32[n, 1, 3]");
  INFER("max", "i32[n, 8]", "", "i32[]");
  INFER("max", "f32[*]", "", "f32[]");
  INFER("mean", "f32[*]", "axis=[0]", "f32[*]");
  INFER("sum", "f32[n, 8]", "axis=[2]", "sum: axis 2 is out of range for rank 2");
  INFER("sum", "f32[n, 8]", "axis=[1, -1]", "sum: axis 1 is given twice");
  INFER("sum", "f32[n, 8]", "axis=1", "sum: attribute 'axis' is 1, expected a list of integers");
}

static void test_shapes(void) {
  INFER("reshape", "f32[n, 8]", "shape=[n, 2, 4]", "f32[n, 2, 4]");
  INFER("reshape", "f32[n, 8]", "shape=[n, 2, -1]", "f32[n, 2, 4]");
  INFER("reshape", "f32[n, 8]", "shape=[-1, 4]", "f32[n * 2, 4]");
  INFER("reshape", "f32[b, 0, 4]", "shape=[0, 4]", "f32[0, 4]"); /* B019: zero is zero */
  INFER("reshape", "f32[2, 0]", "shape=[0, 2]", "f32[0, 2]"); /* B020 */
  INFER("reshape", "f32[?, 8]", "shape=[-1, 4]", "f32[?, 4]");
  INFER("reshape", "f32[*]", "shape=[-1]", "f32[?]");
  INFER("reshape", "f32[3, 2]", "shape=[4]", "reshape: shape [3, 2] cannot become [4]: another number of elements");
  INFER("reshape", "f32[3, 2]", "shape=[-1, 4]", "reshape: the elements of shape [3, 2] do not divide by 4");
  INFER("reshape", "f32[3, 2]", "shape=[-1, -1]", "reshape: the shape holds -1 twice");
  INFER("reshape", "f32[3, 2]", "shape=[-2]", "reshape: extent 0 of the shape is -2");
  INFER("reshape", "f32[0, 8]", "shape=[0, 2, -1]", "f32[0, 2, 4]"); /* as with n: equal extents cancel */
  INFER("reshape", "f32[n, 2]", "shape=[m, -1]", "f32[m, floordiv(n * 2, m)]");
  INFER("reshape", "f32[4]", "shape=[0, -1]", "reshape: -1 stands for nothing definite beside an extent 0");
  INFER("flatten", "f32[2, n, 4]", "", "f32[n * 8]");
  INFER("flatten", "f32[]", "", "f32[1]");
  INFER("flatten", "f32[*]", "", "f32[?]");
  INFER("permute_dims", "f32[n, 3, 8]", "axes=[2, 0, 1]", "f32[8, n, 3]");
  INFER("permute_dims", "f32[n, 3, 8]", "", "f32[8, 3, n]");
  INFER("permute_dims", "f32[*]", "axes=[1, 0]", "f32[?, ?]");
  INFER("permute_dims", "f32[n, 3]", "axes=[0, 0]", "permute_dims: axis 0 is given twice");
  INFER("permute_dims", "f32[n, 3]", "axes=[0]", "permute_dims: 1 axes for rank 2");
  INFER("expand_dims", "f32[n, 8]", "axis=[0, -1]", "f32[1, n, 8, 1]");
  INFER("squeeze", "f32[1, n, 1]", "axis=[0]", "f32[n, 1]");
  INFER("squeeze", "f32[1, 4, 1]", "", "f32[4]");
  INFER("squeeze", "f32[1, big, 1]", "", "f32[big]");
  INFER("squeeze", "f32[1, n, 1]", "", "f32[*]"); /* n may be 1 */
  INFER("squeeze", "f32[2, 1]", "axis=[0]", "squeeze: axis 0 has extent 2, expected 1");
  INFER("broadcast_to", "f32[1, 8]", "shape=[4, n, 8]", "f32[4, n, 8]");
  INFER("broadcast_to", "f32[3]", "shape=[4]", "broadcast_to: shape [3] does not broadcast to [4]: extent 3 against 4");
  INFER("broadcast_to", "f32[3, 3]", "shape=[3]", "broadcast_to: operand 'x' has rank 2, expected at most 1");
  INFER("full", "f32", "shape=[n, 4]", "f32[n, 4]");
  INFER("full", "f32[]", "shape=[2], dtype=i8", "i8[2]");
  INFER("full", "f32[1]", "shape=[2]", "full: operand 'fill_value' has rank 1, expected 0");
  INFER("zeros", "", "shape=[n, 0], dtype=f16", "f16[n, 0]");
  INFER("zeros_like", "f32[n, ?]", "", "f32[n, ?]");
  INFER("full_like", "f32[*] f32", "dtype=i8", "i8[*]");
}

static void test_movement(void) {
  INFER("concat", "f32[n, 3] f32[n, 5] f32[n, m]", "axis=1", "f32[n, m + 8]");
  INFER("concat", "f32[?, 3] f32[4, 3]", "axis=-1", "f32[4, 6]");
  INFER("concat", "f32[*] f32[4, 3]", "axis=0", "f32[?, 3]");
  INFER("concat", "f32[2, 3] f32[3, 3]", "axis=1", "concat: extent 0 of 'tensors[1]' is 3, expected 2");
  INFER("concat", "f32[2, 3] f32[3]", "axis=1", "concat: operand 'tensors[1]' has rank 1, expected 2");
  INFER("split", "f32[b, 512]", "sections=4, axis=-1", "f32[b, 128], f32[b, 128], f32[b, 128], f32[b, 128]");
  INFER("split", "f32[7]", "sections=3", "f32[3], f32[3], f32[1]");
  INFER("split", "f32[5]", "sections=4", "f32[2], f32[2], f32[1], f32[0]");
  INFER("split", "f32[8]", "indices=[3, 3, 9]", "f32[3], f32[0], f32[5], f32[0]");
  INFER("split", "f32[*]", "sections=2", "f32[*], f32[*]");
  INFER("split", "f32[8]", "", "split: expected one of the attributes 'sections' and 'indices'");
  INFER("split", "f32[8]", "sections=0", "split: 0 parts, expected 1 to 32768");
  INFER("strided_slice", "f32[10]", "begin=[0], end=[5], strides=[-1]", "f32[0]");
  INFER("strided_slice", "f32[10]", "begin=[-3], end=[9223372036854775807]", "f32[3]");
  INFER("strided_slice", "f32[10]", "begin=[9], end=[-9223372036854775808], strides=[-3]", "f32[4]"); /* 9 6 3 0 */
  INFER("strided_slice", "f32[10]", "begin=[8], end=[-100], strides=[-3]", "f32[3]");                   /* 8 5 2 */
  INFER("strided_slice", "f32[10]", "begin=[2], end=[100], strides=[3]", "f32[3]");                     /* 2 5 8 */
  INFER("strided_slice", "f32[n, 8]", "begin=[1], end=[7], strides=[2], axes=[1]", "f32[n, 3]");
  INFER("strided_slice", "f32[n, 8]", "begin=[0], end=[n], axes=[0]", "f32[n, 8]");
  INFER("strided_slice", "f32[n, 8]", "begin=[0], end=[9223372036854775807]", "f32[n, 8]");
  INFER("strided_slice", "f32[?, 8]", "begin=[1], end=[3]", "f32[?, 8]");
  INFER("strided_slice", "f32[8]", "begin=[1], end=[3], strides=[0]", "strided_slice: attribute 'strides' holds 0");
  INFER("take", "f32[n, 8] i64[k]", "axis=0", "f32[k, 8]");
  INFER("take", "i64[2, k] i64", "axis=0", "i64[k]"); /* a scalar index drops the axis */
  INFER("take", "f32[n, 8] i32[2, 3]", "", "f32[2, 3]");
  INFER("take", "f32[n, 8] f32[2]", "axis=0", "take: operand 'indices' has type f32[2], expected an integer tensor");
  INFER("nonzero", "f32[n, 8]", "", "i64[2, ?]");
  INFER("nn.pad", "f32[n, 8]", "pad_width=[0, 0, 1, 2], pad_mode=\"reflect\"", "f32[n, 11]");
  INFER("nn.pad", "f32[2]", "pad_width=[2, 0], pad_mode=\"reflect\"",
        "nn.pad: axis 0 has extent 2, \"reflect\" padding by 2 and 0 needs at least 3");
  INFER("nn.pad", "f32[2]", "pad_width=[2]", "nn.pad: attribute 'pad_width' has 1 entries, expected two an axis");
  INFER("nn.pad", "f32[2]", "pad_width=[1, 1], pad_mode=\"edge\"",
        "nn.pad: attribute 'pad_mode' is \"edge\", expected constant|reflect|replicate|circular");
  INFER("dequantize", "i4[4, 4] f16[4] i4[]", "axis=-1, out_dtype=f16", "f16[4, 4]");
  INFER("dequantize", "i8[4, 3] f32[4] i8[]", "", "dequantize: extent of 'scale' is 4, expected 3");
  INFER("quantize", "f32[n, 3] f32[] u8[]", "out_dtype=u8", "u8[n, 3]");
}

static void test_nn(void) {
  INFER("nn.conv2d", "f32[n, 3, h, w] f32[16, 3, 3, 3]", "padding=[1, 1, 1, 1]", "f32[n, 16, h, w]");
  INFER("nn.conv2d", "f32[1, 3, 224, 224] f32[64, 3, 7, 7]", "strides=[2, 2], padding=[3, 3]", "f32[1, 64, 112, 112]");
  INFER("nn.conv2d", "f32[1, 4, 10, 10] f32[6, 2, 3, 3]", "dilation=[2, 2], groups=2", "f32[1, 6, 6, 6]");
  INFER("nn.conv2d", "f32[n, 3, ?, 8] f32[16, 3, 3, 3]", "", "f32[n, 16, ?, 6]");
  INFER("nn.conv2d", "f32[*] f32[16, 3, 3, 3]", "", "f32[?, 16, ?, ?]");
  INFER("nn.conv2d", "f16[1, 3, 8, 8] f16[4, 3, 3, 3]", "out_dtype=f32", "f32[1, 4, 6, 6]");
  INFER("nn.conv2d", "f32[7, 6, 1, 5] f32[]", "", "nn.conv2d: operand 'weight' has rank 0, expected 4");
  INFER("nn.conv2d", "f32[1, 3, 8, 8] f32[4, 3, 3]", "", "nn.conv2d: operand 'weight' has rank 3, expected 4");
  INFER("nn.conv2d", "f32[1, 3, 8, 8] f32[4, 2, 3, 3]", "",
        "nn.conv2d: operand 'x' has 3 channels, expected 2: 2 a group in the weight, 1 groups");
  INFER("nn.conv2d", "f32[1, 4, 8, 8] f32[3, 2, 3, 3]", "groups=2", "nn.conv2d: 3 output channels do not divide into 2 groups");
  INFER("nn.conv2d", "f32[1, 3, 2, 2] f32[4, 3, 3, 3]", "",
        "nn.conv2d: the window covers 3 elements on axis 2, more than the 2 that are there with the padding");
  INFER("nn.conv2d", "f32[1, 3, 8, 8] f32[4, 3, 3, 3]", "data_layout=\"NHWC\"",
        "nn.conv2d: attribute 'data_layout' is \"NHWC\", expected NCHW");
  INFER("nn.conv2d", "f32[1, 3, 8, 8] f32[4, 3, 3, 3]", "strides=[0]", "nn.conv2d: attribute 'strides' holds 0, expected at least 1");
  INFER("nn.conv2d", "f32[1, 3, 8, 8] f32[4, 3, 3, 3]", "padding=[1, 1, 1]",
        "nn.conv2d: attribute 'padding' has 3 entries, expected 1, 2 or 4");
  /* B014: a window that starts in the padding behind is dropped. */
  INFER("nn.avg_pool2d", "f32[1, 3, 17, 17]", "pool_size=[2, 2], strides=[2, 2], padding=[1, 1], ceil_mode=true", "f32[1, 3, 9, 9]");
  INFER("nn.avg_pool2d", "f32[1, 1, 4, 4]", "pool_size=[3, 3], strides=[2, 2], ceil_mode=true", "f32[1, 1, 2, 2]");
  INFER("nn.max_pool2d", "f32[n, 3, 112, 112]", "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]", "f32[n, 3, 56, 56]");
  INFER("nn.max_pool2d", "f32[n, 3, 8, 8]", "pool_size=[2, 2], padding=[2, 2]",
        "nn.max_pool2d: padding by 2 and 2 on axis 2, expected less than the 2 elements that the window covers");
  INFER("nn.adaptive_avg_pool2d", "f32[n, 3, h, w]", "output_size=[4, 3]", "f32[n, 3, 4, 3]");
  INFER("nn.adaptive_avg_pool2d", "f32[n, 3, h, w]", "", "f32[n, 3, h, w]");
  INFER("nn.batch_norm", "f32[n, 16, h, w] f32[16] f32[16] f32[16] f32[16]", "training=true", "f32[n, 16, h, w], f32[16], f32[16]");
  INFER("nn.batch_norm", "f32[n, h, w, 16] f32[16] f32[16] f32[16] f32[16]", "axis=-1", "f32[n, h, w, 16], f32[16], f32[16]");
  INFER("nn.batch_norm", "f32[*] f32[16] f32[16] f32[16] f32[16]", "", "f32[*], f32[16], f32[16]");
  INFER("nn.batch_norm", "f32[1, 3] f32[3] f32[3] f32[3] f32[3]", "training=true",
        "nn.batch_norm: training needs more than one value for each channel, operand 'x' has shape [1, 3]");
  INFER("nn.batch_norm", "f32[2, 3] f32[3] f32[3] f32[4] f32[3]", "", "nn.batch_norm: extent of 'moving_mean' is 4, expected 3");
  INFER("nn.softmax", "f32[n, 8]", "axis=1", "f32[n, 8]");
  INFER("nn.softmax", "f32[n, 8]", "axis=2", "nn.softmax: axis 2 is out of range for rank 2");
  INFER("nn.prelu", "f32[n, 8, 3] f32[8]", "", "f32[n, 8, 3]");
  INFER("nn.prelu", "f32[n, 8, 3] f32[3]", "", "nn.prelu: extent of 'slope' is 3, expected 8");
  INFER("nn.prelu", "f32[n] f32[1]", "", "f32[n]");
}

static void test_values(void) {
  INFER("tuple", "f32[n] i64", "", "tuple[f32[n], i64]");
  INFER("shape_of", "f32[n, 4]", "", "shape[n, 4]");
  INFER("shape_of", "f32[*]", "", "shape[*]");
  INFER("shape_to_tensor", "shape[n, 4]", "", "i64[2]");
  INFER("shape_to_tensor", "shape[*]", "", "i64[?]");
  INFER("tensor_to_shape", "i64[2]", "", "shape[?, ?]");
  INFER("tensor_to_shape", "i64[n]", "", "shape[*]");
  INFER("tensor_to_shape", "i32[2]", "", "tensor_to_shape: operand 'x' has dtype i32, expected i64");
  INFER("assert", "f32[]", "", "assert: condition has type f32[], expected bool or bool[]");
}

/* B022: every operator with every rank of every operand, known and unknown extents: a type or an error, never a crash. */
static const ir_attr *some_value(const ir_attr_def *def, size_t variant) {
  static const char *const lists[] = {"[]", "[1]", "[-1, 0]", "[2, 2, 2, 2]", "[0, 9223372036854775807]", "[-9223372036854775808]"};
  const char *text = lists[variant % ir_count_of(lists)];
  static const int64_t numbers[] = {0, 1, -1, 3, INT64_MAX, INT64_MIN};
  switch (def->type) {
  case IR_A_INT: return ir_attr_int(context, numbers[variant % ir_count_of(numbers)]);
  case IR_A_FLOAT: return ir_attr_float(context, (double)numbers[variant % ir_count_of(numbers)]);
  case IR_A_BOOL: return ir_attr_bool(context, variant % 2);
  case IR_A_DTYPE: return ir_attr_dtype(context, IR_F16);
  case IR_A_INTS:
  case IR_A_DIMS: return read_value(context, &text);
  case IR_A_STRING:
  case IR_A_ID:
  case IR_A_TYPE:
  case IR_A_GLOBAL:
  case IR_A_EXPR:
  case IR_A_FLOATS:
  case IR_A_EXPRS:
  case IR_A_LIST:
  case IR_A_DICT:
  case IR_A_DATA: break;
  }
  return NULL;
}

static const ir_type *some_type(ir_constraint constraint, size_t shape) {
  static const char *const extents[] = {"2", "n", "?", "0", "1"};
  ir_text text = {0};
  const char *dtype = constraint == IR_BOOL_TENSOR ? "bool" : constraint == IR_INTEGER_TENSOR || constraint == IR_INT_OR_BOOL_TENSOR ? "i64" : "f32";
  if (constraint == IR_SHAPE_VALUE) dtype = "shape";
  ir_text_printf(&text, "%s[", dtype);
  if (shape == 30) ir_text_put(&text, "*");
  for (size_t i = 0; shape < 30 && i < shape / 5; i++) ir_text_printf(&text, "%s%s", i ? ", " : "", extents[(shape + i) % 5]);
  ir_text_put(&text, "]");
  const char *at = text.at;
  const ir_type *type = read_type(context, &at);
  ir_text_free(&text);
  return type;
}

enum { SHAPES = 31, VARIANTS = 6 };

static void try_operator(ir_opcode code, const size_t *shapes, size_t count, size_t variant) {
  const ir_op_def *row = &ir_op_defs[code];
  ir_value values[MAX_OPERANDS] = {0}, *operands[MAX_OPERANDS];
  const ir_attr *slots[16] = {0};
  for (size_t i = 0; i < count; i++) {
    const ir_operand_def *def = &row->operands[i < row->operand_def_count ? i : row->operand_def_count - 1u];
    values[i].type = some_type(def->constraint, shapes[i]);
    operands[i] = &values[i];
  }
  for (size_t i = 0; i < row->attr_count; i++) {
    if (variant || !row->attrs[i].dflt) slots[i] = some_value(&row->attrs[i], variant + i);
  }
  ir_infer in = {.context = context, .module = module, .func = func, .code = code, .operand_count = count, .operands = operands,
                 .attrs = slots, .scratch = &scratch};
  bool inferred = ir_infer_run(&in);
  const char *reported = check_take(diags);
  if (inferred != !*reported) printf("%s: %s\n", row->name, inferred ? "succeeded with a report" : "failed in silence");
  check_failed += inferred != !*reported;
  check_passed++;
}

static void test_every_rank(void) {
  for (int code = IR_ADD; code < IR_OP_COUNT; code++) {
    const ir_op_def *row = &ir_op_defs[code];
    size_t count = row->operand_def_count;
    if (count && row->operands[count - 1].multiplicity == IR_MANY) count += 1;
    size_t shapes[MAX_OPERANDS] = {0}, step = count <= 2 ? 1 : count == 3 ? 3 : 10;
    for (;;) {
      for (size_t variant = 0; variant < VARIANTS; variant++) {
        ir_arena_mark mark = ir_arena_get_mark(&scratch);
        try_operator((ir_opcode)code, shapes, count, variant);
        ir_arena_reset(&scratch, mark);
      }
      size_t i = 0;
      while (i < count && (shapes[i] += step) >= SHAPES) shapes[i++] = 0;
      if (i == count) break;
    }
  }
}

static void set_up(void) {
  diags = ir_diags_new();
  ir_diags_set_limit(diags, 0);
  context = ir_context_new(diags);
  module = ir_module_new(context);
  func = ir_func_new(module, IR_ITEM_FUNC, ir_intern(context, ir_lit("f")));
  ir_param params[8] = {0};
  const char *types[] = {"f32[n, m, h, w, k, b]", "f32[big]"};
  for (size_t i = 0; i < ir_count_of(types); i++) params[i].type = read_type(context, &types[i]);
  ir_func_set_params(func, ir_count_of(types), params, true);
  const ir_expr *big = ir_expr_symbol(context, ir_intern(context, ir_lit("big")));
  static const ir_expr *where[1];
  where[0] = ir_expr_binary(context, IR_S_GE, big, ir_expr_i64(context, 2));
  func->where = where;
  func->where_count = 1;
  ir_module_add(module, &func->item, NULL);
}

int main(void) {
  set_up();
  test_elementwise();
  test_products();
  test_shapes();
  test_movement();
  test_nn();
  test_values();
  test_every_rank();
  ir_text_free(&check_reported);
  ir_arena_free(&scratch);
  ir_module_free(module);
  ir_context_free(context);
  ir_diags_free(diags);
  return CHECK_REPORT("infer");
}
