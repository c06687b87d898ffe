// SPDX-License-Identifier: Apache-2.0
/* ir/verify.c - the verifier: items, signatures, attributes of the module. Needs ir/infer, ir/print. The other parts are
 * listed in ir/verifier.h. */
#include "ir/verify.h"

#include "ir/print.h"
#include "ir/verifier.h"

static const char *name_of(const ir_func *func) { return func->item.name->text; }

static const char *param_text(ir_verifier *v, size_t i) {
  const ir_string *name = v->func->params[i].name;
  return name ? ir_arena_printf(&v->arena, "'%s'", name->text) : ir_arena_printf(&v->arena, "%zu", i);
}

/* A prim_func's parameters are memory and scalars. */
static bool check_memory(ir_verifier *v, size_t i, const ir_type *type, ir_direction direction) {
  ir_range range = v->func->item.range;
  if (ir_is_scalar(type)) {
    return direction == IR_IN || ir_verify_fail(v, range, "'@%s': parameter %s is a scalar, which cannot be written", name_of(v->func), param_text(v, i));
  }
  if (ir_type_is_sized(type)) return true;
  return ir_verify_fail(v, range, "'@%s': parameter %s has type %s, expected a scalar or a tensor of known dtype and extents",
                        name_of(v->func), param_text(v, i), ir_type_text(&v->arena, type));
}

static bool check_param(ir_verifier *v, size_t i, size_t *argument) {
  const ir_func *func = v->func;
  const ir_param *param = &func->params[i];
  ir_range range = func->item.range;
  if (!param->type) return ir_verify_fail(v, range, "'@%s': parameter %s has no type", name_of(func), param_text(v, i));
  const char *what = ir_arena_printf(&v->arena, "'@%s': parameter %s", name_of(func), param_text(v, i));
  bool sound = ir_verify_type(v, range, what, param->type);
  if (param->attrs) sound &= ir_verify_attr(v, range, NULL, what, param->attrs);
  if (param->symbol) {
    bool fits = param->symbol->code == IR_S_SYMBOL && param->type == ir_type_scalar(v->context, IR_I64, 1) && !param->value;
    return fits ? sound : ir_verify_fail(v, range, "%s has type %s, expected i64", what, ir_type_text(&v->arena, param->type));
  }
  bool prim = func->item.kind == IR_ITEM_PRIM_FUNC;
  if (param->direction != IR_IN && !prim) return ir_verify_fail(v, range, "%s: 'out' and 'inout' belong to a prim_func", what);
  if (prim) sound &= check_memory(v, i, param->type, param->direction);
  if (func->item.kind == IR_ITEM_REDUCER && !ir_is_scalar(param->type)) {
    sound = ir_verify_fail(v, range, "%s has type %s, expected a scalar", what, ir_type_text(&v->arena, param->type));
  }
  if (!func->body) return sound;
  size_t place = (*argument)++;
  bool matches = place < func->body->arg_count && func->body->args[place] == param->value && param->value->type == param->type;
  return matches ? sound : ir_verify_fail(v, range, "%s is not argument %zu of the body", what, place);
}

/* Symbols may be bound by any parameter, so all are bound before a type is looked at. */
static bool check_params(ir_verifier *v) {
  const ir_func *func = v->func;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol && param->symbol->code == IR_S_SYMBOL) ir_verify_bind_symbol(v, param->symbol);
    if (!param->symbol && param->type) ir_verify_bind_type(v, param->type);
  }
  size_t argument = 0;
  bool sound = true;
  for (size_t i = 0; i < func->param_count; i++) sound &= check_param(v, i, &argument);
  if (func->body && sound && argument != func->body->arg_count) {
    sound = ir_verify_fail(v, func->item.range, "'@%s': the body has %u argument%s for %zu parameter%s", name_of(func), func->body->arg_count, ir_plural(func->body->arg_count), argument, ir_plural(argument));
  }
  return sound;
}

static bool check_states(ir_verifier *v) {
  const ir_func *func = v->func;
  bool sound = func->state_count <= func->param_count;
  if (!sound || (!func->state_count && func->item.kind == IR_ITEM_REDUCER)) {
    return ir_verify_fail(v, func->item.range, "'@%s': %zu states, %zu parameters", name_of(func), func->state_count, func->param_count);
  }
  for (size_t i = 0; i < func->state_count; i++) {
    const ir_expr *identity = func->identities[i];
    const ir_type *type = func->params[i].type;
    bool fits = identity && type && identity->dtype == type->dtype && identity->lanes == type->lanes;
    if (!fits) sound = ir_verify_fail(v, func->item.range, "'@%s': the start of state %s has another type", name_of(func), param_text(v, i));
    if (fits) sound &= ir_verify_expr(v, func->item.range, NULL, "the start of a state", identity);
  }
  return sound;
}

static bool check_flags(ir_verifier *v) {
  const ir_func *func = v->func;
  bool is_extern = func->item.flags & IR_ITEM_EXTERN;
  ir_range range = func->item.range;
  if (is_extern && func->body) return ir_verify_fail(v, range, "'@%s' is extern, but has a body", name_of(func));
  if (!is_extern && !func->body) return ir_verify_fail(v, range, "'@%s' has no body and is not extern", name_of(func));
  if (!is_extern && !func->has_signature) return ir_verify_fail(v, range, "'@%s' has no signature", name_of(func));
  if (func->item.flags & IR_ITEM_IMPURE && func->item.kind != IR_ITEM_FUNC) return ir_verify_fail(v, range, "'@%s' is impure, but not a func", name_of(func));
  if (func->item.kind != IR_ITEM_FUNC && func->result_count) {
    return ir_verify_fail(v, range, "'@%s' has results, which only a func has", name_of(func));
  }
  return true;
}

static bool check_signature(ir_verifier *v) {
  const ir_func *func = v->func;
  bool sound = check_flags(v);
  sound &= check_params(v);
  sound &= check_states(v);
  for (size_t i = 0; i < func->result_count; i++) {
    const char *what = ir_arena_printf(&v->arena, "'@%s': result %zu", name_of(func), i);
    if (!func->results[i]) sound = ir_verify_fail(v, func->item.range, "%s has no type", what);
    if (func->results[i]) sound &= ir_verify_type(v, func->item.range, what, func->results[i]);
  }
  for (size_t i = 0; i < func->where_count; i++) {
    sound &= ir_verify_condition(v, func->item.range, NULL, ir_arena_printf(&v->arena, "'@%s': where", name_of(func)), func->where[i]);
  }
  if (func->item.attrs) ir_verify_attr(v, func->item.range, NULL, "with", func->item.attrs);
  return sound;
}

static void check_func(ir_verifier *v, ir_func *func) {
  v->func = func;
  v->facts = NULL;
  v->plans = false;
  v->impure = func->item.flags & IR_ITEM_IMPURE;
  v->infers = check_signature(v);
  if (v->infers) v->facts = ir_func_facts(func);
  size_t before = v->errors;
  bool sound = !func->body || ir_verify_region(v, func->body);
  if (sound && v->infers && v->errors == before && func->body && func->item.kind == IR_ITEM_PRIM_FUNC) ir_verify_outputs(v, func);
  if (sound && v->errors == before && func->body && func->item.kind == IR_ITEM_FUNC && v->plans) ir_verify_host(v, func);
  v->func = NULL;
  v->visible.count = v->visible.capacity = 0;
  v->visible.at = NULL;
  v->symbol_at = v->name_at = v->bare_at = (ir_map){0};
  ir_heap_free(v->values);
  v->values = NULL;
  v->value_count = v->value_capacity = 0;
  ir_arena_free(&v->scope);
  ir_arena_free(&v->arena);
}

static void check_resource(ir_verifier *v, const ir_resource *resource) {
  const ir_type *type = resource->type;
  const char *name = resource->item.name->text;
  int64_t count, bytes;
  if (!type || !ir_is_tensor(type) || type->lanes != 1 || type->dtype == IR_DTYPE_UNKNOWN || !ir_type_static_dims(type, NULL, &count)) {
    ir_verify_fail(v, resource->item.range, "resource '@%s' has type %s, expected a tensor of known dtype and constant extents", name,
                   type ? ir_type_text(&v->arena, type) : "(none)");
    return;
  }
  if (!ir_verify_type(v, resource->item.range, ir_arena_printf(&v->arena, "resource '@%s'", name), type)) return;
  bool known = ir_dtype_bytes(ir_type_dtype(type), count, &bytes);
  if (!known) {
    ir_verify_fail(v, resource->item.range, "resource '@%s' of type %s is too large", name, ir_type_text(&v->arena, type));
  } else if (resource->kind == IR_RESOURCE_BYTES && resource->size != (uint64_t)bytes) {
    ir_verify_fail(v, resource->item.range, "resource '@%s' has %zu bytes, type %s takes %lld", name, resource->size,
                   ir_type_text(&v->arena, type), (long long)bytes);
  } else if (resource->kind == IR_RESOURCE_FILE && !resource->file) {
    ir_verify_fail(v, resource->item.range, "resource '@%s' names no file", name);
  }
}

static void check_item(ir_verifier *v, ir_item *item) {
  if (ir_module_find(v->module, item->name) != item) ir_verify_fail(v, item->range, "'@%s' is defined twice", item->name->text);
  switch (item->kind) {
  case IR_ITEM_FUNC:
  case IR_ITEM_PRIM_FUNC:
  case IR_ITEM_REDUCER: check_func(v, (ir_func *)item); break;
  case IR_ITEM_DEVICE:
    if (!item->attrs || item->attrs->kind != IR_ATTR_DICT) ir_verify_fail(v, item->range, "device '@%s' is no dictionary", item->name->text);
    break;
  case IR_ITEM_RESOURCE: check_resource(v, (const ir_resource *)item); break;
  }
}

/* Attributes of the module that have a meaning, and what they may be. */
static const struct {
  const char *name;
  ir_attr_kind kind;
  const char *words[2];
} known_attrs[] = {
    {"fp.fma", IR_ATTR_BOOL, {"false", "true"}},
    {"fp.order", IR_ATTR_STRING, {"fixed", "free"}},
    {"fp.math", IR_ATTR_STRING, {"own", "native"}},
};

static void check_module_attrs(ir_verifier *v) {
  for (size_t i = 0; i < ir_count_of(known_attrs); i++) {
    const ir_attr *attr = ir_dict_get(v->module->attrs, known_attrs[i].name);
    if (!attr || (attr->kind == known_attrs[i].kind && attr->kind == IR_ATTR_BOOL)) continue;
    const char *const *words = known_attrs[i].words;
    bool known = attr->kind == known_attrs[i].kind && (!strcmp(attr->string->text, words[0]) || !strcmp(attr->string->text, words[1]));
    if (known) continue;
    const char *quote = known_attrs[i].kind == IR_ATTR_STRING ? "\"" : "";
    ir_verify_fail(v, v->module->attrs_range, "module attribute '%s' is %s, expected %s%s%s or %s%s%s", known_attrs[i].name,
                   ir_attr_text(&v->arena, attr), quote, words[0], quote, quote, words[1], quote);
  }
}

bool ir_verify_func(ir_func *func) {
  ir_verifier v = {.module = func->item.module, .context = ir_func_context(func)};
  check_func(&v, func);
  return !v.errors;
}

bool ir_verify_module(ir_module *module) {
  ir_verifier v = {.module = module, .context = module->context};
  check_module_attrs(&v);
  ir_each_item(item, module) check_item(&v, item);
  ir_arena_free(&v.arena);
  return !v.errors;
}
