// SPDX-License-Identifier: Apache-2.0
/* targets/cfamily/kernel.c - kernels and the module around them. */
#include "targets/cfamily/cfamily.h"

/* --- names --- */

/* What texts of ours use, and what the languages take. Names of ours that could be others' have no small letter first. */
static const char *const reserved[] = {
    "auto", "bool", "break", "case", "char", "const", "constant", "continue", "default", "device", "do", "double", "else", "enum",
    "extern", "float", "for", "global", "goto", "half", "if", "image1d_t", "image2d_t", "image3d_t", "inline", "int", "kernel", "local", "long",
    "private", "register", "restrict", "return", "sampler_t", "short", "signed", "sizeof", "static", "struct", "switch", "thread",
    "threadgroup", "typedef", "uchar", "uint", "ulong", "union", "unsigned", "ushort", "void", "volatile", "while", "true", "false",
    "class", "namespace", "new", "delete", "this", "template", "typename", "operator", "using", "public", "protected", "virtual",
    "vertex", "fragment", "metal", "group", "item", "min", "max", "fabs", "copysign", "floor", "ceil", "trunc", "rint", "sqrt", "fmod",
    "fma", "event_t", "size_t", "pipe", "generic", "complex", "imaginary", "quad", "asm", "alignas", "alignof", "and", "or", "not", "xor",
    "bitand", "bitor", "compl", "and_eq", "or_eq", "xor_eq", "not_eq", "catch", "try", "throw", "friend", "explicit", "export",
    "mutable", "nullptr", "noexcept", "decltype", "constexpr", "wchar_t", "char16_t", "char32_t", "uniform", "read_only",
    "write_only", "read_write", "sampler", "texture", "main", "ptrdiff_t", "intptr_t", "uintptr_t", "NULL", "INFINITY", "NAN", "HUGE_VAL",
    "barrier", "precise", "linux", "unix", "i386", "static_assert", "thread_local", "typeid", "static_cast", "dynamic_cast",
    "const_cast", "reinterpret_cast", "visible", "intersection", "mesh", "object", "ray_data", "object_data", "patch",
};

static bool is_reserved(const char *text) {
  for (size_t i = 0; i < ir_count_of(reserved); i++) {
    if (!strcmp(text, reserved[i])) return true;
  }
  static const char *const starts[] = {"ir_", "rill_", "get_", "as_", "cl_", "CL_", "CLK_", "convert_", "__", "vload", "vstore", "atom"};
  for (size_t i = 0; i < ir_count_of(starts); i++) {
    if (!strncmp(text, starts[i], strlen(starts[i]))) return true;
  }
  /* t0, t1, ... are ours; half4, int2 and the like are types. */
  size_t length = strlen(text), stem = length;
  while (stem && text[stem - 1] >= '0' && text[stem - 1] <= '9') stem--;
  if (stem == length || !stem) return false;
  static const char *const stems[] = {"t", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half", "bool", "packed_float"};
  for (size_t i = 0; i < ir_count_of(stems); i++) {
    if (strlen(stems[i]) == stem && !strncmp(text, stems[i], stem)) return true;
  }
  return false;
}

const char *c_name(c_function *f, const ir_string *wanted, const char *otherwise) {
  ir_context *context = f->file->context;
  const char *base = wanted ? ir_mangled(f->file->arena, wanted) : otherwise;
  bool digit = base[0] >= '0' && base[0] <= '9';
  if (digit || !*base) base = ir_arena_printf(f->file->arena, "v%s", base);
  const char *name = base;
  for (unsigned i = 1;; i++) {
    const ir_string *key = ir_intern(context, ir_slice_of(name));
    if (!is_reserved(name) && !ir_map_has(&f->names, key)) {
      ir_map_put(&f->arena, &f->names, key, f);
      return key->text;
    }
    name = ir_arena_printf(f->file->arena, "%s_%u", base, i);
  }
}

/* --- kernels --- */

static void bind_buffers(c_function *f, const ir_kernel *kernel, const char **names, const char **firsts) {
  for (size_t i = 0; i < kernel->buffer_count; i++) {
    const ir_param *param = kernel->buffers[i].param;
    names[i] = c_name(f, param->name, "buffer");
    firsts[i] = c_name(f, ir_intern(f->file->context, ir_slice_of(ir_arena_printf(f->file->arena, "%s_first", names[i]))), "first");
    c_buffer *buffer = ir_new(&f->arena, c_buffer);
    *buffer = (c_buffer){.name = names[i], .type = param->type};
    ir_map_put(&f->arena, &f->buffers, param->value, buffer);
    f->file->used |= UINT32_C(1) << param->type->dtype;
  }
}

static const void *key_of(const ir_kernel_scalar *scalar) {
  return scalar->symbol ? (const void *)scalar->symbol : (const void *)scalar->param->value;
}

bool c_reads(const c_function *f, const ir_kernel_scalar *scalar) { return ir_map_has(f->read, key_of(scalar)); }

static void bind_scalars(c_function *f, const ir_kernel *kernel, const char **names) {
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    const ir_kernel_scalar *scalar = &kernel->scalars[i];
    names[i] = c_name(f, scalar->name, "n");
    ir_map_put(&f->arena, &f->values, key_of(scalar), (void *)(uintptr_t)names[i]);
    f->file->used |= UINT32_C(1) << scalar->dtype;
  }
}

static bool reads_all(const c_function *f) {
  for (size_t i = 0; i < f->declared.count; i++) {
    if (!ir_map_has(f->read, f->declared.at[i])) return false;
  }
  return true;
}

static bool put_kernel(c_function *f, const char *const *names, const char *const *firsts) {
  c_file *file = f->file;
  if (file->dialect->fits && !file->dialect->fits(file, f->kernel, f->shared_bytes)) return false;
  ir_text_char(&file->kernels, '\n');
  file->dialect->head(f, names, firsts);
  if (f->shared.length) ir_text_bytes(&file->kernels, f->shared.at, f->shared.length);
  if (f->out->length) ir_text_bytes(&file->kernels, f->out->at, f->out->length);
  ir_text_put(&file->kernels, "}\n");
  return true;
}

/* One try at KERNEL with the declarations that *WANTED says (NULL: all). Where nothing reads some of them, nothing is put and
 * *WANTED gets those that are read; else it is NULL afterwards. */
static bool try_kernel(c_file *file, const ir_kernel *kernel, const ir_map **wanted) {
  const ir_attr *trusted = ir_dict_get(kernel->func->item.attrs, "assume_in_bounds");
  size_t errors = ir_diags_errors(file->context->diags);
  uint32_t used = file->used;
  ir_text body = {0};
  c_function f = {.file = file, .out = &body, .depth = 1, .kernel = kernel, .wanted = *wanted, .read = ir_new(file->arena, ir_map)};
  f.proofs = (ir_proofs){.context = file->context, .arena = &f.arena, .frame = {.context = file->context, .arena = &f.arena}};
  f.trusted = trusted && trusted->kind == IR_ATTR_BOOL && trusted->i;
  ir_proofs_start(&f.proofs, kernel->func);
  const char **names = ir_new_array(file->arena, const char *, kernel->buffer_count + kernel->scalar_count + 1);
  const char **firsts = ir_new_array(file->arena, const char *, kernel->buffer_count + 1);
  bind_buffers(&f, kernel, names, firsts);
  bind_scalars(&f, kernel, names + kernel->buffer_count);
  c_region(&f, kernel->func->body);
  bool fine = ir_diags_errors(file->context->diags) == errors, again = fine && !reads_all(&f);
  *wanted = again ? f.read : NULL;
  if (again) file->used = used;
  else fine = fine && put_kernel(&f, names, firsts);
  ir_text_free(&f.shared);
  ir_text_free(&body);
  ir_arena_free(&f.arena);
  return fine;
}

bool c_kernel(c_file *file, const ir_kernel *kernel) {
  const ir_map *wanted = NULL;
  bool fine;
  do fine = try_kernel(file, kernel, &wanted);
  while (wanted);
  return fine;
}

/* --- modules --- */

static bool add_kernel(c_file *file, ir_func *func) {
  ir_kernel kernel;
  const char *target = file->dialect->target;
  return ir_kernel_check(func, target, file->dialect->elements) && ir_kernel_describe(file->arena, func, target, &kernel) && c_kernel(file, &kernel);
}

bool c_module(c_file *file, ir_module *module) {
  ir_funcs kernels;
  if (!ir_kernels_of(file->arena, module, file->dialect->target, &kernels)) return false;
  for (size_t i = 0; i < kernels.count; i++) {
    if (!add_kernel(file, kernels.at[i])) return false;
  }
  return true;
}

void c_file_free(c_file *file) {
  ir_text_free(&file->helpers);
  ir_text_free(&file->kernels);
}
