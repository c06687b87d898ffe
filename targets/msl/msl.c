// SPDX-License-Identifier: Apache-2.0
/* targets/msl/msl.c - the Metal Shading Language, a dialect of targets/cfamily. Metal has no f64. */
#include "targets/msl/msl.h"

#include "targets/cfamily/cfamily.h"

#define BIT(d) (UINT32_C(1) << IR_##d)

enum { MOST_BUFFERS = 31, MOST_INVOCATIONS = 1024, MOST_SHARED = 32768 };

static const char *scalar_type(ir_dtype dtype) { return dtype == IR_BOOL ? "uchar" : c_type(dtype); }

static void put_scalars(c_file *file, const ir_kernel *kernel, const char *const *names) {
  ir_text *out = &file->kernels;
  ir_text_printf(out, "struct %s_scalars {\n", kernel->name);
  for (size_t i = 0; i < kernel->scalar_count; i++) ir_text_printf(out, "  %s %s;\n", scalar_type(kernel->scalars[i].dtype), names[kernel->buffer_count + i]);
  ir_text_put(out, "};\n");
}

static void head(const c_function *f, const char *const *names, const char *const *firsts) {
  (void)firsts;
  const ir_kernel *kernel = f->kernel;
  ir_text *out = &f->file->kernels;
  if (kernel->scalar_count) put_scalars(f->file, kernel, names);
  long long size = (long long)(kernel->local[0] * kernel->local[1] * kernel->local[2]);
  ir_text_printf(out, "[[max_total_threads_per_threadgroup(%lld)]]\nkernel void %s(", size, kernel->name);
  for (size_t i = 0; i < kernel->buffer_count; i++) {
    const ir_kernel_buffer *buffer = &kernel->buffers[i];
    ir_text_printf(out, "device %s%s *%s [[buffer(%zu)]], ", buffer->written ? "" : "const ", c_stored_type(ir_type_dtype(buffer->param->type)), names[i], i);
  }
  if (kernel->scalar_count) ir_text_printf(out, "constant %s_scalars &ir_scalars [[buffer(%zu)]], ", kernel->name, kernel->buffer_count);
  if (kernel->asserts.count) ir_text_printf(out, "device atomic_uint *ir_status [[buffer(%zu)]], ", kernel->buffer_count + (kernel->scalar_count > 0));
  ir_text_put(out, "uint3 ir_group [[threadgroup_position_in_grid]], uint3 ir_item [[thread_position_in_threadgroup]]) {\n");
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    const char *name = names[kernel->buffer_count + i];
    if (c_reads(f, &kernel->scalars[i])) ir_text_printf(out, "  const %s %s = ir_scalars.%s;\n", c_type(kernel->scalars[i].dtype), name, name);
  }
}

static bool fits(c_file *file, const ir_kernel *kernel, int64_t shared_bytes) {
  ir_diags *diags = file->context->diags;
  const ir_item *item = &kernel->func->item;
  size_t buffers = kernel->buffer_count + (kernel->scalar_count > 0) + (kernel->asserts.count > 0);
  int64_t size = kernel->local[0] * kernel->local[1] * kernel->local[2];
  if (buffers > MOST_BUFFERS) return ir_error(diags, item->range, "the msl target cannot pass %zu buffers to @%s: Metal takes %d", buffers, item->name->text, MOST_BUFFERS), false;
  if (size > MOST_INVOCATIONS) return ir_error(diags, item->range, "the msl target cannot run workgroups of %lld invocations: Metal takes %d", (long long)size, MOST_INVOCATIONS), false;
  if (shared_bytes <= MOST_SHARED) return true;
  return ir_error(diags, item->range, "the msl target cannot hold %lld bytes of workgroup memory: Metal takes %d", (long long)shared_bytes, MOST_SHARED), false;
}

static const c_dialect dialect = {
    .target = "msl",
    .elements = BIT(BOOL) | BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64) | BIT(F16) | BIT(BF16) | BIT(F8E4M3) |
                BIT(F8E5M2) | BIT(F32),
    .shared = "threadgroup ",
    .barrier = "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
    .as_open = "as_type<",
    .as_close = ">(",
    .root = "precise::sqrt",
    .fails = "atomic_fetch_min_explicit(ir_status, ",
    .fails_end = ", memory_order_relaxed",
    .group = {"(long)ir_group.x", "(long)ir_group.y", "(long)ir_group.z"},
    .local = {"(long)ir_item.x", "(long)ir_item.y", "(long)ir_item.z"},
    .fits = fits,
    .head = head,
};

bool ir_msl_translate(ir_module *module, ir_text *out) {
  ir_arena arena = {0};
  c_file file = {.context = module->context, .arena = &arena, .dialect = &dialect, .fma = ir_module_fma(module)};
  bool fine = c_module(&file, module);
  if (fine) {
    ir_text_put(out, "// Metal Shading Language 2.0; compile without fast math\n#include <metal_stdlib>\nusing namespace metal;\n#pragma clang fp contract(off)\n\n");
    if (file.helpers.length) ir_text_bytes(out, file.helpers.at, file.helpers.length);
    if (file.kernels.length) ir_text_bytes(out, file.kernels.at, file.kernels.length);
  }
  c_file_free(&file);
  ir_arena_free(&arena);
  return fine;
}
