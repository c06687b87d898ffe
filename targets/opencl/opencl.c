// SPDX-License-Identifier: Apache-2.0
/* targets/opencl/opencl.c - OpenCL C 1.2, the dialect of targets/cfamily. */
#include "targets/opencl/opencl.h"

#include "targets/cfamily/cfamily.h"

#define BIT(d) (UINT32_C(1) << IR_##d)

static void head(const c_function *f, const char *const *names, const char *const *firsts) {
  const ir_kernel *kernel = f->kernel;
  ir_text *out = &f->file->kernels;
  ir_text_printf(out, "__kernel __attribute__((reqd_work_group_size(%lld, %lld, %lld)))\nvoid %s(", (long long)kernel->local[0], (long long)kernel->local[1],
                 (long long)kernel->local[2], kernel->name);
  bool inout = false;
  for (size_t i = 0; i < kernel->buffer_count; i++) inout |= kernel->buffers[i].param->direction == IR_INOUT;
  const char *comma = "";
  for (size_t i = 0; i < kernel->buffer_count; i++) {
    const ir_kernel_buffer *buffer = &kernel->buffers[i];
    bool alone = buffer->param->direction == IR_OUT || (buffer->param->direction == IR_IN && !inout);
    ir_text_printf(out, "%s__global %s%s *%s%s", comma, buffer->written ? "" : "const ", c_stored_type(ir_type_dtype(buffer->param->type)),
                   alone ? "restrict " : "", names[i]);
    comma = ", ";
  }
  for (size_t i = 0; i < kernel->buffer_count; i++, comma = ", ") ir_text_printf(out, "%slong %s", comma, firsts[i]);
  for (size_t i = 0; i < kernel->scalar_count; i++, comma = ", ") {
    ir_dtype dtype = kernel->scalars[i].dtype;
    ir_text_printf(out, "%s%s %s", comma, dtype == IR_BOOL ? "uchar" : c_type(dtype), names[kernel->buffer_count + i]);
  }
  if (kernel->asserts.count) ir_text_printf(out, "%svolatile __global uint *ir_status", comma);
  ir_text_put(out, ") {\n");
  for (size_t i = 0; i < kernel->buffer_count; i++) {
    if (kernel->buffers[i].param->value->uses) ir_text_printf(out, "  %s += %s;\n", names[i], firsts[i]);
  }
}

static const c_dialect dialect = {
    .target = "opencl",
    .elements = BIT(BOOL) | BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64) | BIT(F16) | BIT(BF16) | BIT(F8E4M3) |
                BIT(F8E5M2) | BIT(F32) | BIT(F64),
    .shared = "__local ",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .as_open = "as_",
    .as_close = "(",
    .root = "sqrt",
    .fails = "atomic_min(ir_status, ",
    .fails_end = "",
    .group = {"(long)get_group_id(0)", "(long)get_group_id(1)", "(long)get_group_id(2)"},
    .local = {"(long)get_local_id(0)", "(long)get_local_id(1)", "(long)get_local_id(2)"},
    .head = head,
};

bool ir_opencl_translate(ir_module *module, ir_text *out) {
  ir_arena arena = {0};
  c_file file = {.context = module->context, .arena = &arena, .dialect = &dialect, .fma = ir_module_fma(module)};
  bool fine = c_module(&file, module);
  if (fine) {
    ir_text_put(out, "/* OpenCL C 1.2 */\n");
    if (file.used & BIT(F64)) ir_text_put(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    ir_text_put(out, "#pragma OPENCL FP_CONTRACT OFF\n\n");
    if (file.helpers.length) ir_text_bytes(out, file.helpers.at, file.helpers.length);
    if (file.kernels.length) ir_text_bytes(out, file.kernels.at, file.kernels.length);
  }
  c_file_free(&file);
  ir_arena_free(&arena);
  return fine;
}
