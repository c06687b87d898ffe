// SPDX-License-Identifier: Apache-2.0
/* runtime/weights.c - bytes of resources from and to safetensors files. Needs runtime/safetensors, base/path. */
#include "runtime/weights.h"

#include "base/path.h"
#include "base/vec.h"
#include "runtime/safetensors.h"

#include <stdlib.h>

static void close_file(void *file) { ir_safetensors_close(file); }

/* The mapped file at PATH, opened once a module: its handle is kept under the interned path. */
static ir_safetensors *open_once(ir_module *module, const char *path) {
  const ir_string *key = ir_intern(module->context, ir_slice_of(path));
  void **slot = ir_map_slot(&module->arena, &module->files, key);
  if (*slot) return *slot;
  ir_safetensors *file = ir_safetensors_open(module->context->diags, path);
  if (!file) return NULL;
  ir_module_own(module, file, close_file);
  return *slot = file;
}

static bool fits(const ir_resource *resource, const ir_safetensor *tensor) {
  int64_t dims[IR_SAFETENSORS_MAX_RANK];
  const ir_type *type = resource->type;
  if (type->count > IR_SAFETENSORS_MAX_RANK || !ir_type_static_dims(type, dims, NULL)) return false;
  if (tensor->dtype != ir_type_dtype(type) || tensor->rank != (int)type->count) return false;
  return !type->count || !memcmp(dims, tensor->dims, type->count * sizeof *dims);
}

/* The file that messages are about: the text, where the resource came from one in the module's folder. */
static const char *text_of(ir_arena *arena, const ir_module *module, const ir_resource *resource) {
  const ir_source *source;
  unsigned line, column;
  bool here = ir_range_locate(module->context->diags, resource->item.range, &source, &line, &column) &&
              !strcmp(ir_path_folder(arena, source->name), module->folder);
  return here ? source->name : ir_path_join(arena, module->folder, "module");
}

static bool load(ir_module *module, ir_resource *resource) {
  ir_diags *diags = module->context->diags;
  const char *name = resource->item.name->text;
  if (!module->folder) {
    ir_error(diags, resource->item.range, "resource '@%s' is in the file '%s', but the text was read from a pipe, which has no folder", name, resource->file->text);
    return false;
  }
  ir_arena scratch = {0};
  const char *path = ir_path_confined(diags, &scratch, text_of(&scratch, module, resource), resource->file->text);
  ir_safetensors *file = path ? open_once(module, path) : NULL;
  ir_arena_free(&scratch);
  if (!file) {
    ir_error(diags, resource->item.range, "resource '@%s' cannot be read", name);
    return false;
  }
  const ir_string *key = resource->key ? resource->key : resource->item.name;
  const ir_safetensor *tensor = ir_safetensors_find(file, ir_string_slice(key));
  if (!tensor) {
    ir_error(diags, resource->item.range, "resource '@%s': no tensor '%s' in '%s'", name, key->text, resource->file->text);
    return false;
  }
  if (!fits(resource, tensor)) {
    ir_error(diags, resource->item.range, "resource '@%s': tensor '%s' in '%s' has another dtype or shape", name, key->text, resource->file->text);
    return false;
  }
  /* Foreign files may not align their tensors. */
  size_t width = ir_dtypes[tensor->dtype].bits / 8;
  bool aligned = width < 2 || !((uintptr_t)tensor->bytes % width);
  resource->bytes = aligned ? tensor->bytes : ir_arena_copy(&module->arena, tensor->bytes, tensor->size);
  resource->size = tensor->size;
  return true;
}

void ir_weights_attach(ir_context *context) { context->load_resource = load; }

static bool same_folder(ir_arena *arena, const ir_module *module, const char *target) {
  if (!module->folder) return false;
  char *here = realpath(module->folder, NULL), *there = realpath(ir_path_folder(arena, target), NULL);
  bool same = here && there && !strcmp(here, there);
  ir_heap_free(here);
  ir_heap_free(there);
  return same;
}

static bool stays_in_text(const ir_resource *resource) {
  ir_dtype dtype = ir_type_dtype(resource->type);
  return dtype == IR_I4 || dtype == IR_U4;
}

static bool collect(ir_resource *resource, ir_safetensor *tensor) {
  ir_data data;
  if (!ir_resource_data(resource, &data)) return false;
  *tensor = (ir_safetensor){.name = ir_string_slice(resource->item.name), .dtype = data.dtype, .rank = (int)resource->type->count, .bytes = data.bytes, .size = data.size};
  return resource->type->count <= IR_SAFETENSORS_MAX_RANK && ir_type_static_dims(resource->type, tensor->dims, NULL);
}

/* Beside OUTPUT, taking its place with it. */
static bool write_tensors(ir_diags *diags, ir_output *output, const char *path, const ir_safetensor *tensors, size_t count) {
  ir_output *file = ir_output_open(diags, path);
  if (!file) return false;
  if (ir_safetensors_put(diags, file, path, tensors, count)) {
    ir_output_attach(output, file);
    return true;
  }
  ir_output_discard(file);
  return false;
}

bool ir_weights_place(ir_module *module, ir_output *output, bool copy) {
  const char *target = ir_output_target(output);
  ir_diags *diags = module->context->diags;
  ir_arena scratch = {0};
  ir_vec(ir_safetensor) tensors = {0};
  ir_vec(ir_resource *) placed = {0};
  bool beside = target && same_folder(&scratch, module, target), fine = true;
  ir_each_item(item, module) {
    ir_resource *resource = (ir_resource *)item;
    if (!fine || item->kind != IR_ITEM_RESOURCE || resource->kind == IR_RESOURCE_ELIDED) continue;
    if (resource->kind == IR_RESOURCE_FILE && beside) continue;
    if (resource->kind == IR_RESOURCE_FILE && target && !copy) {
      ir_error(diags, item->range, "resource '@%s' is in '%s', in another folder than the output: copy it with --copy-resources", item->name->text, resource->file->text);
      fine = false;
      continue;
    }
    ir_safetensor tensor;
    fine = collect(resource, &tensor);
    if (!fine || (resource->kind == IR_RESOURCE_BYTES && tensor.size <= IR_WEIGHTS_INLINE)) continue;
    *ir_push(&scratch, &placed) = resource;
    if (target && !stays_in_text(resource)) *ir_push(&scratch, &tensors) = tensor;
  }
  const char *path = target ? ir_path_with_ending(&scratch, target, "weights.safetensors") : NULL;
  if (fine && tensors.count) fine = write_tensors(diags, output, path, tensors.at, tensors.count);
  for (size_t i = 0; fine && i < placed.count; i++) {
    ir_resource *resource = placed.at[i];
    bool to_file = target && !stays_in_text(resource);
    resource->kind = to_file ? IR_RESOURCE_FILE : IR_RESOURCE_BYTES;
    if (!to_file) continue;
    resource->file = ir_intern(module->context, ir_slice_of(ir_path_base(path)));
    resource->key = resource->item.name;
  }
  ir_arena_free(&scratch);
  return fine;
}

bool ir_weights_follow(ir_module *module, ir_output *output, bool copy) {
  const char *target = output ? ir_output_target(output) : NULL;
  ir_arena scratch = {0};
  bool beside = !target || same_folder(&scratch, module, target);
  ir_arena_free(&scratch);
  ir_each_item(item, module) {
    const ir_resource *resource = (const ir_resource *)item;
    if (!beside && item->kind == IR_ITEM_RESOURCE && resource->kind == IR_RESOURCE_FILE) return ir_weights_place(module, output, copy);
  }
  return true;
}
