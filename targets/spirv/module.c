// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/module.c - kernels as entry points, and modules of them. Needs loops for a grid (schedule, transform-loops). */
#include "targets/spirv/emit.h"

#define BIT(d) (UINT32_C(1) << IR_##d)
static const uint32_t elements = BIT(BOOL) | BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64) | BIT(F16) |
                                 BIT(BF16) | BIT(F8E4M3) | BIT(F8E5M2) | BIT(F32) | BIT(F64);

/* --- variables of the module --- */

static sv_id put_variable(sv_module *m, SpvStorageClass storage, sv_id type) {
  sv_id id = ++m->ids, pointer = sv_pointer(m, storage, type);
  sv_put(m->arena, &m->sections[SV_GLOBALS], SpvOpVariable, SV_WORDS(pointer, id, (uint32_t)storage));
  return id;
}

/* Entry points name the built-ins that they use, and from SPIR-V 1.4 on every variable. */
static void list(sv_function *f, SpvStorageClass storage, sv_id id) {
  if (storage == SpvStorageClassInput || f->module->options.vulkan > 1) *ir_push(&f->arena, f->interface) = id;
}

sv_id sv_global(sv_function *f, SpvStorageClass storage, sv_id type) {
  sv_id id = put_variable(f->module, storage, type);
  list(f, storage, id);
  return id;
}

static sv_id built_in(sv_function *f, SpvBuiltIn which, sv_id type) {
  sv_module *m = f->module;
  const char *name = which == SpvBuiltInWorkgroupId ? "group" : "item";
  sv_id id = sv_helper(m, name);
  if (!id) {
    id = put_variable(m, SpvStorageClassInput, type);
    sv_decorate(m, id, SpvDecorationBuiltIn, SV_WORDS((uint32_t)which));
    sv_helper_is(m, name, id);
  }
  for (size_t i = 0; i < f->interface->count; i++) {
    if (f->interface->at[i] == id) return id;
  }
  list(f, SpvStorageClassInput, id);
  return id;
}

sv_id sv_built_in(sv_function *f, SpvBuiltIn which, uint32_t axis) {
  sv_module *m = f->module;
  const sv_id word = sv_type(m, SV_I32), vector = sv_type_of(m, SpvOpTypeVector, SV_WORDS(word, 3)), variable = built_in(f, which, vector);
  const sv_id all = sv_emit(f, SpvOpLoad, vector, 1, &variable);
  return sv_emit(f, SpvOpCompositeExtract, word, SV_WORDS(all, axis));
}

/* --- parameters --- */

/* A buffer that no other one overlaps where something is written. */
static bool is_alone(const ir_kernel *kernel, const ir_param *param) {
  bool inout = false;
  for (size_t i = 0; i < kernel->buffer_count; i++) inout |= kernel->buffers[i].param->direction == IR_INOUT;
  return param->direction == IR_OUT || (param->direction == IR_IN && !inout);
}

static void bind_buffer(sv_function *f, const ir_kernel *kernel, size_t number) {
  sv_module *m = f->module;
  const ir_param *param = kernel->buffers[number].param;
  sv_buffer *buffer = ir_new(&f->arena, sv_buffer);
  *buffer = (sv_buffer){.storage = SpvStorageClassStorageBuffer, .type = param->type};
  buffer->variable = sv_global(f, SpvStorageClassStorageBuffer, sv_block_type(m, ir_type_dtype(param->type)));
  sv_decorate(m, buffer->variable, SpvDecorationDescriptorSet, SV_WORDS(0));
  sv_decorate(m, buffer->variable, SpvDecorationBinding, SV_WORDS((uint32_t)number));
  if (is_alone(kernel, param)) sv_decorate(m, buffer->variable, SpvDecorationRestrict, 0, NULL);
  if (!kernel->buffers[number].written) sv_decorate(m, buffer->variable, SpvDecorationNonWritable, 0, NULL);
  if (param->name) sv_name(m, buffer->variable, param->name->text);
  ir_map_put(&f->arena, &f->buffers, param->value, buffer);
}

enum { MOST_PUSHED = 128 /* bytes that every device takes as push constants */ };

static uint32_t size_of(ir_dtype dtype) { return ir_dtypes[dtype].bits == 64 ? 8 : 4; }

size_t ir_spirv_scalars(const ir_kernel *kernel, uint32_t *offsets) {
  uint32_t end = 0;
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    uint32_t size = size_of(kernel->scalars[i].dtype);
    uint32_t at = (end + size - 1) / size * size;
    if (offsets) offsets[i] = at;
    end = at + size;
  }
  return end;
}

bool ir_spirv_pushes(const ir_kernel *kernel) { return ir_spirv_scalars(kernel, NULL) <= MOST_PUSHED; }

static bool add_shared(void *user, ir_op *op) {
  size_t *bytes = user;
  int64_t count;
  bool shared = ir_is(op, IR_ALLOC) && !strcmp(ir_get_word(op, "scope"), "shared");
  const ir_type *type = shared ? ir_op_result(op, 0)->type : NULL;
  if (shared && ir_type_static_dims(type, NULL, &count)) *bytes = ir_size_add(*bytes, ir_size_mul((size_t)(count ? count : 1), size_of(ir_type_dtype(type))));
  return true;
}

size_t ir_spirv_shared(const ir_kernel *kernel) {
  size_t bytes = 0;
  ir_walk(kernel->func->body, IR_PRE_ORDER, add_shared, &bytes);
  return bytes;
}

/* f32, f64 and the 64-bit integers as they are, all others as a word. */
static sv_kind passed(ir_dtype dtype) {
  sv_kind kind = sv_kind_of(dtype);
  return kind == SV_BOOL || sv_is_narrow(dtype) ? SV_I32 : kind;
}

static sv_id constants_block(sv_function *f, const ir_kernel *kernel) {
  sv_module *m = f->module;
  sv_id *types = ir_new_array(&f->arena, sv_id, kernel->scalar_count);
  uint32_t *offsets = ir_new_array(&f->arena, uint32_t, kernel->scalar_count);
  ir_spirv_scalars(kernel, offsets);
  for (size_t i = 0; i < kernel->scalar_count; i++) types[i] = sv_type(m, passed(kernel->scalars[i].dtype));
  bool fresh;
  sv_id block = sv_intern(m, SV_GLOBALS, SpvOpTypeStruct, 0, kernel->scalar_count, types, &fresh);
  if (!fresh) return block;
  sv_decorate(m, block, SpvDecorationBlock, 0, NULL);
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    sv_put(m->arena, &m->sections[SV_DECORATIONS], SpvOpMemberDecorate, SV_WORDS(block, (uint32_t)i, SpvDecorationOffset, offsets[i]));
  }
  return block;
}

/* A word of a scalar as the register that its dtype has: what stands above its bits does not count. */
static sv_id received(sv_function *f, ir_dtype dtype, sv_id word) {
  if (dtype == IR_BOOL) return sv_convert(f, word, IR_U32, IR_BOOL);
  unsigned bits = ir_dtypes[dtype].bits;
  if (bits >= 32) return word;
  return sv_bitcast(f, sv_wrap(f, bits == 8 ? IR_U8 : IR_U16, word), bits == 8 ? IR_U8 : IR_U16, dtype);
}

static void bind_scalars(sv_function *f, const ir_kernel *kernel) {
  sv_module *m = f->module;
  if (!kernel->scalar_count) return;
  const bool pushed = ir_spirv_pushes(kernel);
  const SpvStorageClass storage = pushed ? SpvStorageClassPushConstant : SpvStorageClassUniform;
  sv_id block = sv_global(f, storage, constants_block(f, kernel));
  if (!pushed) {
    sv_decorate(m, block, SpvDecorationDescriptorSet, SV_WORDS(0));
    sv_decorate(m, block, SpvDecorationBinding, SV_WORDS((uint32_t)kernel->buffer_count));
  }
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    const ir_kernel_scalar *scalar = &kernel->scalars[i];
    sv_id type = sv_type(m, passed(scalar->dtype)), pointer = sv_pointer(m, storage, type);
    const sv_id at = sv_emit(f, SpvOpAccessChain, pointer, SV_WORDS(block, sv_word(m, (uint32_t)i)));
    sv_id value = received(f, scalar->dtype, sv_emit(f, SpvOpLoad, type, 1, &at));
    const void *key = scalar->symbol ? (const void *)scalar->symbol : scalar->param->value;
    if (scalar->name) sv_name(m, value, scalar->name->text);
    ir_map_put(&f->arena, &f->values, key, (void *)(uintptr_t)value);
  }
}

/* The status word: the buffer behind all others. */
static void bind_status(sv_function *f, const ir_kernel *kernel) {
  sv_module *m = f->module;
  if (!kernel->asserts.count) return;
  const sv_id buffer = sv_global(f, SpvStorageClassStorageBuffer, sv_block_type(m, IR_U32)), word = sv_word(m, 0);
  sv_decorate(m, buffer, SpvDecorationDescriptorSet, SV_WORDS(0));
  sv_decorate(m, buffer, SpvDecorationBinding, SV_WORDS((uint32_t)kernel->buffer_count + !ir_spirv_pushes(kernel)));
  sv_name(m, buffer, "status");
  f->status = sv_emit(f, SpvOpAccessChain, sv_pointer(m, SpvStorageClassStorageBuffer, sv_type(m, SV_I32)), SV_WORDS(buffer, word, word));
}

/* --- entry points --- */

static void float_modes(sv_module *m, sv_id entry, sv_kind kind) {
  const uint32_t width = kind == SV_F64 ? 64 : 32;
  if (!m->types[kind]) return;
  sv_put(m->arena, &m->sections[SV_MODES], SpvOpExecutionMode, SV_WORDS(entry, SpvExecutionModeSignedZeroInfNanPreserve, width));
  if (m->options.rounds_to_even) sv_put(m->arena, &m->sections[SV_MODES], SpvOpExecutionMode, SV_WORDS(entry, SpvExecutionModeRoundingModeRTE, width));
  if (m->options.keeps_denormals) sv_put(m->arena, &m->sections[SV_MODES], SpvOpExecutionMode, SV_WORDS(entry, SpvExecutionModeDenormPreserve, width));
}

static void put_entry(sv_function *f, const ir_kernel *kernel) {
  sv_module *m = f->module;
  sv_words words = {0};
  *ir_push(m->arena, &words) = SpvExecutionModelGLCompute;
  *ir_push(m->arena, &words) = f->id;
  sv_put_text(m->arena, &words, kernel->name);
  for (size_t i = 0; i < f->interface->count; i++) *ir_push(m->arena, &words) = f->interface->at[i];
  sv_put(m->arena, &m->sections[SV_ENTRIES], SpvOpEntryPoint, words.count, words.at);
  const int64_t *local = kernel->local;
  sv_put(m->arena, &m->sections[SV_MODES], SpvOpExecutionMode, SV_WORDS(f->id, SpvExecutionModeLocalSize, (uint32_t)local[0], (uint32_t)local[1], (uint32_t)local[2]));
  sv_name(m, f->id, kernel->name);
}

bool sv_kernel(sv_module *m, const ir_kernel *kernel) {
  const ir_func *func = kernel->func;
  size_t errors = ir_diags_errors(m->context->diags);
  sv_words interface = {0};
  sv_function f = {.module = m, .kernel = kernel, .interface = &interface};
  f.proofs = (ir_proofs){.context = m->context, .arena = &f.arena, .frame = {.context = m->context, .arena = &f.arena}};
  const ir_attr *trusted = ir_dict_get(func->item.attrs, "assume_in_bounds");
  f.trusted = trusted && trusted->kind == IR_ATTR_BOOL && trusted->i;
  ir_proofs_start(&f.proofs, kernel->func);
  sv_function_begin(&f, m, sv_type_of(m, SpvOpTypeVoid, 0, NULL), 0, NULL, NULL);
  for (size_t i = 0; i < kernel->buffer_count; i++) bind_buffer(&f, kernel, i);
  bind_scalars(&f, kernel);
  bind_status(&f, kernel);
  sv_region(&f, func->body);
  sv_do(&f, SpvOpReturn, 0, NULL);
  put_entry(&f, kernel);
  *ir_push(m->arena, &m->entries) = f.id;
  sv_function_end(&f);
  return ir_diags_errors(m->context->diags) == errors;
}

/* --- modules --- */

static bool write_kernels(ir_module *module, const ir_spirv_options *options, size_t count, const ir_kernel *kernels, ir_arena *arena, ir_text *out) {
  sv_module m = {.context = module->context, .arena = arena, .options = *options, .fma = ir_module_fma(module)};
  sv_capability(&m, SpvCapabilityShader);
  for (size_t i = 0; i < count; i++) {
    if (!sv_kernel(&m, &kernels[i])) return false;
  }
  for (size_t i = 0; i < m.entries.count; i++) {
    float_modes(&m, m.entries.at[i], SV_F32);
    float_modes(&m, m.entries.at[i], SV_F64);
  }
  sv_write(&m, out);
  return true;
}

bool ir_spirv_check(ir_func *func) { return ir_kernel_check(func, "spirv", elements); }

bool ir_spirv_translate(ir_module *module, const ir_spirv_options *options, ir_text *out) {
  ir_arena arena = {0};
  ir_funcs funcs;
  bool fine = ir_kernels_of(&arena, module, "spirv", &funcs);
  ir_kernel *kernels = fine ? ir_new_array(&arena, ir_kernel, funcs.count) : NULL;
  for (size_t i = 0; fine && i < funcs.count; i++) {
    fine = ir_spirv_check(funcs.at[i]) && ir_kernel_describe(&arena, funcs.at[i], "spirv", &kernels[i]);
  }
  fine = fine && write_kernels(module, options, funcs.count, kernels, &arena, out);
  ir_arena_free(&arena);
  return fine;
}
