// SPDX-License-Identifier: Apache-2.0
/* runtime/manifest/put.c - names, expressions, types and attributes as JSON. Needs ir/number. */
#include "ir/number.h"
#include "runtime/manifest/codec.h"

#include <inttypes.h>

/* Bytes that are no UTF-8 are written as \\xNN. */
static json_t *put_string(const ir_string *string) {
  json_t *json = json_stringn(string->text, string->length);
  if (json) return json;
  ir_text text = {0};
  ir_text_escaped(&text, ir_string_slice(string));
  json = json_stringn(text.at, text.length);
  ir_text_free(&text);
  return json;
}

/* --- names --- */

static const ir_string *try_name(ir_manifest_writer *w, const char *name) {
  ir_text text = {0};
  json_t *fits = json_string(name);
  if (!fits) ir_text_escaped(&text, ir_slice_of(name));
  json_decref(fits);
  const ir_string *string = ir_intern(w->context, text.at ? (ir_slice){text.at, text.length} : ir_slice_of(name));
  ir_text_free(&text);
  return ir_map_has(&w->taken, string) ? NULL : string;
}

static const ir_string *fresh_name(ir_manifest_writer *w, const ir_string *own) {
  const ir_string *name = own ? try_name(w, ir_arena_printf(&w->arena, "%%%s", own->text)) : NULL;
  for (unsigned i = 1; own && !name; i++) name = try_name(w, ir_arena_printf(&w->arena, "%%%s_%u", own->text, i));
  while (!name) name = try_name(w, ir_arena_printf(&w->arena, "%%%u", w->unnamed++));
  return name;
}

const char *ir_manifest_name(ir_manifest_writer *w, const ir_value *value) {
  void **slot = ir_map_slot(&w->arena, &w->values, value);
  if (!*slot) {
    const ir_string *name = fresh_name(w, value->name);
    ir_map_put(&w->arena, &w->taken, name, w);
    *slot = (void *)(uintptr_t)name->text;
  }
  return *slot;
}

/* --- expressions --- */

static json_t *put_constant(const ir_expr *expr) {
  ir_dtype dtype = (ir_dtype)expr->dtype;
  if (dtype == IR_BOOL) return json_boolean(expr->bits);
  if (dtype == IR_I64) return json_integer((json_int_t)ir_int_from_bits(dtype, expr->bits));
  char bits[24];
  snprintf(bits, sizeof bits, "0x%0*" PRIx64, (int)(ir_dtypes[dtype].bits + 3) / 4, expr->bits);
  return json_pack("[sss]", "const", ir_dtype_name(dtype), bits);
}

json_t *ir_manifest_put_expr(ir_manifest_writer *w, const ir_op *op, const ir_expr *expr) {
  if (expr->code == IR_S_CONST) return put_constant(expr);
  if (expr->code == IR_S_SYMBOL) {
    json_t *bound = json_object_get(w->bound, expr->symbol->text);
    return bound ? json_incref(bound) : put_string(expr->symbol);
  }
  if (expr->code == IR_S_ARG) return ir_manifest_put_operand(w, ir_op_operand(op, expr->arg));
  const ir_scalar_def *row = &ir_scalars[expr->code];
  json_t *list = json_array();
  json_array_append_new(list, json_string(*row->infix ? row->infix : row->name));
  if (row->typing == IR_TYPING_CONVERT) json_array_append_new(list, json_string(ir_dtype_name((ir_dtype)expr->dtype)));
  for (size_t i = 0; i < expr->count; i++) json_array_append_new(list, ir_manifest_put_expr(w, op, expr->kids[i]));
  return list;
}

json_t *ir_manifest_put_operand(ir_manifest_writer *w, const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE)) return ir_manifest_put_expr(w, op, ir_get_expr(op, "value"));
  return json_string(ir_manifest_name(w, value));
}

/* --- types --- */

static json_t *put_extents(ir_manifest_writer *w, const ir_type *type) {
  if (!type->ranked) return json_null();
  json_t *list = json_array();
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    json_array_append_new(list, dim ? ir_manifest_put_expr(w, NULL, dim) : json_null());
  }
  return list;
}

static json_t *put_dtype(const ir_type *type) {
  ir_dtype dtype = ir_type_dtype(type);
  return dtype == IR_DTYPE_UNKNOWN ? json_null() : json_string(ir_dtype_name(dtype));
}

static json_t *put_tensor(ir_manifest_writer *w, const ir_type *type) {
  json_t *json = json_pack("{so so}", "dtype", put_dtype(type), "shape", put_extents(w, type));
  if (type->lanes > 1) json_object_set_new(json, "lanes", json_integer(type->lanes));
  if (type->device) json_object_set_new(json, "device", put_string(type->device));
  return json;
}

json_t *ir_manifest_put_type(ir_manifest_writer *w, const ir_type *type) {
  json_t *fields;
  switch (type->kind) {
  case IR_TYPE_ANY: return json_string("any");
  case IR_TYPE_STORAGE: return json_string("storage");
  case IR_TYPE_SCALAR: return json_pack("{so}", "scalar", put_dtype(type));
  case IR_TYPE_TENSOR: return put_tensor(w, type);
  case IR_TYPE_SHAPE: return json_pack("{so}", "extents", put_extents(w, type));
  case IR_TYPE_TUPLE:
    fields = json_array();
    for (size_t i = 0; i < type->count; i++) {
      if (json_array_append_new(fields, ir_manifest_put_type(w, ir_type_field(type, i)))) return json_decref(fields), NULL;
    }
    return json_pack("{so}", "tuple", fields);
  case IR_TYPE_FUNC: break;
  }
  return NULL;
}

/* --- attributes --- */

static json_t *put_float(double value) {
  if (value - value == 0) return json_real(value);
  ir_text text = {0};
  ir_print_number(&text, IR_F64, ir_float_to_bits(IR_F64, value));
  json_t *json = json_pack("{ss}", "float", text.at);
  ir_text_free(&text);
  return json;
}

json_t *ir_manifest_put_dict(ir_manifest_writer *w, const ir_attr *attr) {
  json_t *json = json_object();
  for (size_t i = 0; attr && i < attr->count; i++) json_object_set_new(json, attr->items[2 * i]->string->text, ir_manifest_put_attr(w, attr->items[2 * i + 1]));
  return json;
}

json_t *ir_manifest_put_attr(ir_manifest_writer *w, const ir_attr *attr) {
  json_t *list;
  switch (attr->kind) {
  case IR_ATTR_NONE: return json_null();
  case IR_ATTR_BOOL: return json_boolean(attr->i);
  case IR_ATTR_INT: return json_integer((json_int_t)attr->i);
  case IR_ATTR_FLOAT: return put_float(attr->f);
  case IR_ATTR_STRING: return put_string(attr->string);
  case IR_ATTR_ID: return json_pack("{so}", "id", put_string(attr->string));
  case IR_ATTR_GLOBAL: return json_pack("{so}", "global", put_string(attr->string));
  case IR_ATTR_TYPE: return json_pack("{so}", "type", ir_manifest_put_type(w, attr->type));
  case IR_ATTR_EXPR: return json_pack("{so}", "expr", ir_manifest_put_expr(w, NULL, attr->expr));
  case IR_ATTR_DICT: return json_pack("{so}", "dict", ir_manifest_put_dict(w, attr));
  case IR_ATTR_LIST:
    list = json_array();
    for (size_t i = 0; i < attr->count; i++) json_array_append_new(list, ir_manifest_put_attr(w, attr->items[i]));
    return list;
  case IR_ATTR_DATA: break;
  }
  return NULL;
}
