// SPDX-License-Identifier: Apache-2.0
/* ir/module.c - modules, their items, functions, and the bytes of constants. Needs ir/op. */
#include "ir/module.h"

#include "ir/simplify.h"

struct ir_owned {
  void *thing;
  void (*free)(void *thing);
  struct ir_owned *next;
};

void ir_module_own(ir_module *module, void *thing, void (*free)(void *thing)) {
  struct ir_owned *owned = ir_new(&module->arena, struct ir_owned);
  *owned = (struct ir_owned){thing, free, module->owned};
  module->owned = owned;
}

ir_module *ir_module_new(ir_context *context) {
  ir_module *module = ir_heap_alloc(sizeof *module);
  *module = (ir_module){.context = context};
  return module;
}

void ir_module_free(ir_module *module) {
  if (!module) return;
  for (const struct ir_owned *owned = module->owned; owned; owned = owned->next) owned->free(owned->thing);
  ir_arena_free(&module->arena);
  ir_heap_free(module);
}

const char *ir_item_word(ir_item_kind kind) {
  static const char *const words[] = {[IR_ITEM_FUNC] = "func",
                                      [IR_ITEM_PRIM_FUNC] = "prim_func",
                                      [IR_ITEM_REDUCER] = "reducer",
                                      [IR_ITEM_DEVICE] = "device",
                                      [IR_ITEM_RESOURCE] = "resource"};
  return words[kind];
}

ir_item *ir_module_find(const ir_module *module, const ir_string *name) { return ir_map_get(&module->items, name); }

static void insert(ir_module *module, ir_item *item, ir_item *after) {
  item->module = module;
  item->prev = after;
  item->next = after ? after->next : module->first;
  *(item->prev ? &item->prev->next : &module->first) = item;
  *(item->next ? &item->next->prev : &module->last) = item;
  ir_map_put(&module->arena, &module->items, item->name, item);
}

void ir_module_add(ir_module *module, ir_item *item, ir_item *after) {
  insert(module, item, after ? after : module->last);
}

void ir_module_add_first(ir_module *module, ir_item *item) { insert(module, item, NULL); }

void ir_module_remove(ir_module *module, ir_item *item) {
  *(item->prev ? &item->prev->next : &module->first) = item->next;
  *(item->next ? &item->next->prev : &module->last) = item->prev;
  item->prev = item->next = NULL;
  ir_map_remove(&module->items, item->name);
}

const ir_string *ir_module_fresh_name(ir_module *module, ir_slice base) {
  const ir_string *name = ir_intern(module->context, base);
  char *text = ir_arena_alloc(&module->arena, base.length + 24);
  for (size_t i = 1; ir_module_find(module, name); i++) {
    int length = snprintf(text, base.length + 24, "%.*s_%zu", (int)base.length, base.at, i);
    name = ir_intern(module->context, (ir_slice){text, (size_t)length});
  }
  return name;
}

ir_func *ir_func_new(ir_module *module, ir_item_kind kind, const ir_string *name) {
  ir_func *func = ir_new(&module->arena, ir_func);
  func->item.kind = kind;
  func->item.name = name;
  func->item.module = module;
  func->has_signature = true;
  func->has_arrow = kind == IR_ITEM_FUNC;
  return func;
}

void ir_func_set_params(ir_func *func, size_t count, const ir_param *params, bool with_body) {
  ir_module *module = func->item.module;
  func->param_count = count;
  func->params = ir_new_array(&module->arena, ir_param, count);
  if (count) memcpy(func->params, params, count * sizeof *params);
  if (!with_body) return;
  size_t values = 0;
  for (size_t i = 0; i < count; i++) values += !params[i].symbol;
  func->body = ir_region_new(module, func, values);
  for (size_t i = 0, at = 0; i < count; i++) {
    if (params[i].symbol) continue;
    func->params[i].value = ir_region_set_arg(func->body, at++, params[i].type, params[i].name);
  }
}

static const void *copy_array(ir_module *module, const void *at, size_t count, size_t size) {
  return count ? ir_arena_copy(&module->arena, at, count * size) : NULL;
}

ir_func *ir_func_clone(ir_func *func, const ir_string *name) {
  ir_module *module = func->item.module;
  ir_func *copy = ir_func_new(module, func->item.kind, name);
  copy->item.flags = func->item.flags;
  copy->item.attrs = func->item.attrs;
  copy->item.range = func->item.range;
  copy->has_signature = func->has_signature;
  copy->has_arrow = func->has_arrow;
  copy->result_count = func->result_count;
  copy->results = (const ir_type **)(uintptr_t)copy_array(module, func->results, func->result_count, sizeof *func->results);
  copy->where_count = func->where_count;
  copy->where = (const ir_expr **)(uintptr_t)copy_array(module, func->where, func->where_count, sizeof *func->where);
  copy->state_count = func->state_count;
  copy->identities = (const ir_expr **)(uintptr_t)copy_array(module, func->identities, func->state_count, sizeof *func->identities);
  ir_func_set_params(copy, func->param_count, func->params, func->body != NULL);
  if (!func->body) return copy;
  ir_arena scratch = {0};
  ir_map values = {0};
  for (size_t i = 0; i < func->body->arg_count; i++) {
    ir_map_put(&scratch, &values, func->body->args[i], copy->body->args[i]);
  }
  ir_each_op(op, func->body) ir_op_clone(op, copy->body, NULL, &scratch, &values);
  ir_arena_free(&scratch);
  return copy;
}

const ir_type *ir_func_type(const ir_func *func) {
  ir_module *module = func->item.module;
  ir_context *context = module->context;
  bool impure = func->item.flags & IR_ITEM_IMPURE;
  if (!func->has_signature) {
    return ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_FUNC, .dtype = IR_DTYPE_UNKNOWN, .impure = impure});
  }
  const ir_type **params = ir_new_array(&module->arena, const ir_type *, func->param_count);
  for (size_t i = 0; i < func->param_count; i++) params[i] = func->params[i].type;
  return ir_type_func(context, func->param_count, params, func->result_count, func->results, impure);
}

bool ir_resource_data(ir_resource *resource, ir_data *data) {
  ir_module *module = resource->item.module;
  ir_diags *diags = module->context->diags;
  if (resource->kind == IR_RESOURCE_ELIDED) {
    ir_error(diags, resource->item.range, "resource '@%s' is elided: its bytes are not in the text", resource->item.name->text);
    return false;
  }
  if (!resource->bytes && resource->size == 0 && resource->kind == IR_RESOURCE_FILE) {
    if (!module->context->load_resource) {
      ir_error(diags, resource->item.range, "resource '@%s' needs a file and nothing here can read files", resource->item.name->text);
      return false;
    }
    if (!module->context->load_resource(module, resource)) return false;
  }
  *data = (ir_data){ir_type_dtype(resource->type), resource->bytes, resource->size};
  return true;
}

bool ir_const_data(const ir_op *op, ir_data *data) {
  const ir_attr *value = ir_get(op, "value");
  if (value->kind == IR_ATTR_DATA) {
    *data = value->data;
    return true;
  }
  ir_item *item = ir_module_find(ir_op_module(op), value->string);
  if (!item || item->kind != IR_ITEM_RESOURCE) {
    ir_error(ir_op_context(op)->diags, op->range, "const: no resource '@%s'", value->string->text);
    return false;
  }
  return ir_resource_data((ir_resource *)item, data);
}

bool ir_module_fma(const ir_module *module) {
  const ir_attr *fma = ir_dict_get(module->attrs, "fp.fma");
  return fma && fma->kind == IR_ATTR_BOOL && fma->i;
}
