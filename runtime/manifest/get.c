// SPDX-License-Identifier: Apache-2.0
/* runtime/manifest/get.c - expressions, types and attributes from JSON. Needs ir/number. */
#include "ir/number.h"
#include "parser/parser.h"
#include "runtime/manifest/codec.h"

#include <math.h>

enum { MOST_EXTENTS = 1024, DEEPEST = 200, MOST_PARTS = 16 /* of a place, in messages */ };

/* --- where it is, and faults --- */

void *ir_manifest_fail(ir_manifest_reader *r, const char *format, ...) {
  if (r->failed) return NULL;
  r->failed = true;
  ir_text text = {0};
  for (size_t i = 0; i < r->at.count && i < MOST_PARTS; i++) ir_text_printf(&text, "%s%s", i && r->at.at[i][0] != '[' ? "." : "", r->at.at[i]);
  if (r->at.count > MOST_PARTS) ir_text_put(&text, "...");
  if (text.length) ir_text_put(&text, ": ");
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(r->context->diags, r->range, "%s", text.at);
  ir_text_free(&text);
  return NULL;
}

void ir_manifest_enter(ir_manifest_reader *r, const char *key) { *ir_push(&r->arena, &r->at) = key; }
void ir_manifest_enter_at(ir_manifest_reader *r, size_t index) { ir_manifest_enter(r, ir_arena_printf(&r->arena, "[%zu]", index)); }
void ir_manifest_leave(ir_manifest_reader *r) { r->at.count--; }

static const char *type_name(json_type type) {
  static const char *const names[] = {"an object", "a list", "a string", "an integer", "a number", "true", "false", "null"};
  return names[type];
}

/* What stands there, of a member that may be missing as well. */
static const char *kind_name(const json_t *json) { return json ? type_name(json_typeof(json)) : "nothing"; }

json_t *ir_manifest_member(ir_manifest_reader *r, const json_t *object, const char *key, json_type want) {
  json_t *member = json_object_get(object, key);
  if (!member) return ir_manifest_fail(r, "'%s' is missing", key);
  if (json_typeof(member) == want || (want == JSON_TRUE && json_is_boolean(member))) return member;
  ir_manifest_enter(r, key);
  return ir_manifest_fail(r, "expected %s, found %s", want == JSON_TRUE ? "true or false" : type_name(want), kind_name(member));
}

static const ir_string *string_of(ir_manifest_reader *r, const json_t *json) {
  return ir_intern(r->context, (ir_slice){json_string_value(json), json_string_length(json)});
}

const ir_string *ir_manifest_word(ir_manifest_reader *r, const json_t *object, const char *key) {
  const json_t *json = ir_manifest_member(r, object, key, JSON_STRING);
  if (json && json_string_length(json) && !memchr(json_string_value(json), 0, json_string_length(json))) return string_of(r, json);
  if (json) ir_manifest_enter(r, key);
  return json ? ir_manifest_fail(r, "expected a name") : NULL;
}

static const ir_expr *symbol(ir_manifest_reader *r, const ir_string *name) {
  if (!ir_is_symbol_name(ir_string_slice(name))) return ir_manifest_fail(r, "'%s' is no name of a symbol", name->text);
  return ir_expr_symbol(r->context, name);
}

const ir_expr *ir_manifest_symbol(ir_manifest_reader *r, const json_t *object) {
  const ir_string *name = ir_manifest_word(r, object, "symbol");
  if (name) ir_manifest_enter(r, "symbol");
  const ir_expr *expr = name ? symbol(r, name) : NULL;
  if (expr) ir_manifest_leave(r);
  return expr;
}

/* --- expressions --- */

static ir_dtype dtype_of(ir_manifest_reader *r, const json_t *json) {
  ir_dtype dtype = json_is_string(json) ? ir_dtype_find(ir_slice_of(json_string_value(json))) : IR_DTYPE_UNKNOWN;
  if (dtype == IR_DTYPE_UNKNOWN) ir_manifest_fail(r, "expected a dtype, found %s", json_is_string(json) ? json_string_value(json) : kind_name(json));
  return dtype;
}

static const ir_expr *constant(ir_manifest_reader *r, const json_t *json) {
  const char *text = json_string_value(json_array_get(json, 2));
  ir_dtype dtype = json_array_size(json) == 3 ? dtype_of(r, json_array_get(json, 1)) : IR_DTYPE_UNKNOWN;
  uint64_t bits;
  bool fits = dtype != IR_DTYPE_UNKNOWN && text && !strncmp(text, "0x", 2) && text[2] && strlen(text) <= 18 &&
              strspn(text + 2, "0123456789abcdef") == strlen(text + 2) && ir_parse_integer(ir_slice_of(text), &bits);
  unsigned width = fits && dtype == IR_BOOL ? 1 : fits ? ir_dtypes[dtype].bits : 0;
  if (fits && width < 64) fits = !(bits >> width);
  if (!fits) return ir_manifest_fail(r, "expected [\"const\", dtype, \"0x...\"], the bits of an element");
  return ir_expr_const(r->context, dtype, 1, bits);
}

/* Operators by their infix spelling where they have one. `-` is two. */
static ir_scalar_code find_code(ir_manifest_reader *r, const char *name, size_t operands) {
  ir_scalar_code code = ir_scalar_find(r->context, ir_slice_of(name));
  for (size_t i = 0; i < IR_S_COUNT; i++) {
    const ir_scalar_def *row = &ir_scalars[i];
    bool infix = *row->infix && !strcmp(row->infix, name);
    if (infix && (code == IR_S_COUNT || row->arity == (int)operands)) code = (ir_scalar_code)i;
  }
  bool single = code == IR_S_CAST || code == IR_S_BITCAST || (code != IR_S_COUNT && ir_scalars[code].typing != IR_TYPING_CONVERT);
  return single ? code : IR_S_COUNT;
}

static const ir_expr *application(ir_manifest_reader *r, const json_t *json, ir_frame *frame) {
  const char *name = json_string_value(json_array_get(json, 0));
  if (name && !strcmp(name, "const")) return constant(r, json);
  size_t count = json_array_size(json), first = 1;
  ir_scalar_code code = name ? find_code(r, name, count - 1) : IR_S_COUNT;
  if (code == IR_S_COUNT) return ir_manifest_fail(r, "expected an operator, found %s", name ? name : "something else");
  bool converts = ir_scalars[code].typing == IR_TYPING_CONVERT;
  if (converts) first = 2;
  if (count < first || (int)(count - first) != ir_scalars[code].arity) return ir_manifest_fail(r, "'%s' takes %d operand%s", name, ir_scalars[code].arity, ir_plural((uint64_t)ir_scalars[code].arity));
  ir_dtype dtype = converts ? dtype_of(r, json_array_get(json, 1)) : IR_DTYPE_UNKNOWN;
  const ir_expr *kids[3];
  for (size_t i = first; i < count; i++) {
    ir_manifest_enter_at(r, i);
    kids[i - first] = ir_manifest_expr(r, json_array_get(json, i), frame);
    ir_manifest_leave(r);
    if (r->failed) return NULL;
  }
  if (r->failed) return NULL;
  const char *problem = NULL;
  if (converts) {
    bool fits = code == IR_S_CAST || ir_dtypes[dtype].bits == ir_dtypes[kids[0]->dtype].bits;
    return fits ? ir_expr_convert(r->context, code, kids[0], dtype, 1) : ir_manifest_fail(r, "bitcast between dtypes of different width");
  }
  if (!ir_expr_check(code, count - first, kids, &problem)) return ir_manifest_fail(r, "'%s' takes %s", name, problem);
  return ir_expr_get(r->context, code, count - first, kids);
}

static const ir_expr *leaf(ir_manifest_reader *r, const json_t *json, ir_frame *frame) {
  const ir_string *name = string_of(r, json);
  if (name->text[0] != '%') return symbol(r, name);
  ir_value *value = ir_map_get(&r->values, name);
  if (!frame) return ir_manifest_fail(r, "'%s' is a value, expected an expression over symbols", name->text);
  if (!value) return ir_manifest_fail(r, "no value is called '%s' here", name->text);
  if (!ir_is_scalar(value->type)) return ir_manifest_fail(r, "'%s' is no scalar", name->text);
  return ir_frame_use(frame, value);
}

const ir_expr *ir_manifest_expr(ir_manifest_reader *r, const json_t *json, ir_frame *frame) {
  if (r->failed) return NULL;
  if (r->at.count > DEEPEST) return ir_manifest_fail(r, "nested too deeply");
  if (json_is_boolean(json)) return ir_expr_bool(r->context, json_is_true(json));
  if (json_is_integer(json)) return ir_expr_i64(r->context, (int64_t)json_integer_value(json));
  if (json_is_string(json)) return leaf(r, json, frame);
  if (!json_is_array(json)) return ir_manifest_fail(r, "expected an expression, found %s", kind_name(json));
  const ir_expr *expr = application(r, json, frame);
  if (expr && expr->size > IR_EXPR_MAX_SIZE) return ir_manifest_fail(r, "an expression of more than %d nodes", IR_EXPR_MAX_SIZE);
  return expr;
}

/* --- types --- */

/* Extents of a tensor or shape; *ranked is false for null. */
static const ir_expr **extents(ir_manifest_reader *r, const json_t *object, const char *key, size_t *count, bool *ranked) {
  const json_t *list = json_object_get(object, key);
  ir_manifest_enter(r, key);
  *count = json_array_size(list);
  *ranked = json_is_array(list);
  if (!list || !(*ranked || json_is_null(list))) return ir_manifest_fail(r, "expected a list of extents or null");
  if (*count > MOST_EXTENTS) return ir_manifest_fail(r, "%zu extents, at most %d", *count, MOST_EXTENTS);
  const ir_expr **dims = ir_new_array(&r->arena, const ir_expr *, *count + 1);
  for (size_t i = 0; i < *count && !r->failed; i++) {
    const json_t *dim = json_array_get(list, i);
    ir_manifest_enter_at(r, i);
    dims[i] = json_is_null(dim) ? NULL : ir_manifest_expr(r, dim, NULL);
    if (dims[i] && dims[i]->dtype != IR_I64) ir_manifest_fail(r, "an extent is an i64");
    ir_manifest_leave(r);
  }
  ir_manifest_leave(r);
  return dims;
}

static const ir_type *tensor(ir_manifest_reader *r, const json_t *json) {
  size_t count;
  bool ranked;
  const json_t *name = json_object_get(json, "dtype"), *device = json_object_get(json, "device");
  ir_dtype dtype = name && json_is_null(name) ? IR_DTYPE_UNKNOWN : dtype_of(r, name);
  const ir_expr **dims = extents(r, json, "shape", &count, &ranked);
  if (json_object_get(json, "lanes")) return ir_manifest_fail(r, "not implemented: buffers of vectors");
  if (r->failed) return NULL;
  const ir_type *type = ranked ? ir_type_tensor(r->context, dtype, count, dims) : ir_type_unranked(r->context, dtype);
  const ir_string *where = device ? ir_manifest_word(r, json, "device") : NULL;
  return where ? ir_type_with_device(r->context, type, where) : type;
}

static const ir_type *tuple(ir_manifest_reader *r, const json_t *list) {
  size_t count = json_array_size(list);
  const ir_type **fields = ir_new_array(&r->arena, const ir_type *, count + 1);
  for (size_t i = 0; i < count; i++) {
    ir_manifest_enter_at(r, i);
    fields[i] = ir_manifest_type(r, json_array_get(list, i));
    ir_manifest_leave(r);
    if (!fields[i]) return NULL;
  }
  return ir_type_tuple(r->context, count, fields);
}

const ir_type *ir_manifest_type(ir_manifest_reader *r, const json_t *json) {
  const char *word = json_string_value(json);
  size_t count;
  bool ranked;
  if (r->failed) return NULL;
  if (r->at.count > DEEPEST) return ir_manifest_fail(r, "nested too deeply");
  if (word && !strcmp(word, "any")) return r->context->any_type;
  if (word && !strcmp(word, "storage")) return r->context->storage_type;
  if (json_object_get(json, "shape")) return tensor(r, json);
  if (json_object_get(json, "scalar")) {
    ir_dtype dtype = dtype_of(r, json_object_get(json, "scalar"));
    return r->failed ? NULL : ir_type_scalar(r->context, dtype, 1);
  }
  if (json_object_get(json, "extents")) {
    const ir_expr **dims = extents(r, json, "extents", &count, &ranked);
    if (r->failed) return NULL;
    return ranked ? ir_type_shape(r->context, count, dims) : ir_type_unranked_shape(r->context);
  }
  const json_t *fields = json_object_get(json, "tuple");
  if (json_is_array(fields)) return tuple(r, fields);
  return ir_manifest_fail(r, "expected a type");
}

/* --- attributes --- */

static const ir_attr *list_of(ir_manifest_reader *r, const json_t *json) {
  size_t count = json_array_size(json);
  const ir_attr **items = ir_new_array(&r->arena, const ir_attr *, count + 1);
  for (size_t i = 0; i < count; i++) {
    ir_manifest_enter_at(r, i);
    items[i] = ir_manifest_attr(r, json_array_get(json, i));
    ir_manifest_leave(r);
    if (!items[i]) return NULL;
  }
  return ir_attr_list(r->context, count, items);
}

const ir_attr *ir_manifest_dict(ir_manifest_reader *r, const json_t *json) {
  size_t count = json_object_size(json), i = 0;
  const ir_attr **items = ir_new_array(&r->arena, const ir_attr *, 2 * count + 1);
  for (void *at = json_object_iter((json_t *)(uintptr_t)json); at && !r->failed; at = json_object_iter_next((json_t *)(uintptr_t)json, at)) {
    const char *key = json_object_iter_key(at);
    ir_manifest_enter(r, key);
    items[i++] = ir_attr_string(r->context, ir_slice_of(key));
    items[i++] = ir_manifest_attr(r, json_object_iter_value(at));
    ir_manifest_leave(r);
  }
  return count && !r->failed ? ir_attr_dict(r->context, count, items) : NULL;
}

/* {"id": "global"}: what JSON has no kind for. */
static const ir_attr *tagged(ir_manifest_reader *r, const json_t *json) {
  void *at = json_object_iter((json_t *)(uintptr_t)json);
  const char *tag = at && json_object_size(json) == 1 ? json_object_iter_key(at) : "";
  const json_t *value = at ? json_object_iter_value(at) : NULL;
  if (!strcmp(tag, "id") && json_is_string(value)) return ir_attr_id(r->context, ir_string_slice(string_of(r, value)));
  if (!strcmp(tag, "global") && json_is_string(value)) return ir_attr_global(r->context, string_of(r, value));
  if (!strcmp(tag, "dict") && json_is_object(value)) {
    const ir_attr *dict = ir_manifest_dict(r, value);
    return dict || r->failed ? dict : ir_attr_dict(r->context, 0, NULL);
  }
  if (!strcmp(tag, "type")) {
    const ir_type *type = ir_manifest_type(r, value);
    return type ? ir_attr_type(r->context, type) : NULL;
  }
  if (!strcmp(tag, "expr")) {
    const ir_expr *expr = ir_manifest_expr(r, value, NULL);
    return expr ? ir_attr_expr(r->context, expr) : NULL;
  }
  uint64_t bits;
  const char *text = json_string_value(value);
  bool minus = text && *text == '-';
  if (!strcmp(tag, "float") && text && !strcmp(text + minus, "inf")) return ir_attr_float(r->context, minus ? -HUGE_VAL : HUGE_VAL);
  if (!strcmp(tag, "float") && text && !strcmp(text + minus, "nan") && ir_nan_bits(IR_F64, ir_nan_payload(IR_F64), &bits)) {
    return ir_attr_float(r->context, ir_float_from_bits(IR_F64, minus ? bits | ir_float_sign_bit(IR_F64) : bits));
  }
  return ir_manifest_fail(r, "expected an attribute");
}

const ir_attr *ir_manifest_attr(ir_manifest_reader *r, const json_t *json) {
  if (r->failed) return NULL;
  if (r->at.count > DEEPEST) return ir_manifest_fail(r, "nested too deeply");
  switch (json ? json_typeof(json) : JSON_NULL) {
  case JSON_NULL: return ir_attr_none(r->context);
  case JSON_TRUE: return ir_attr_bool(r->context, true);
  case JSON_FALSE: return ir_attr_bool(r->context, false);
  case JSON_INTEGER: return ir_attr_int(r->context, (int64_t)json_integer_value(json));
  case JSON_REAL: return ir_attr_float(r->context, json_real_value(json));
  case JSON_STRING: return ir_attr_string(r->context, ir_string_slice(string_of(r, json)));
  case JSON_ARRAY: return list_of(r, json);
  case JSON_OBJECT: return tagged(r, json);
  }
  return NULL;
}
