// SPDX-License-Identifier: Apache-2.0
/* runtime/manifest/read.c - a module from a manifest. Needs base/file, base/path, base/sha256, ir/infer, ir/verify. */
#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"
#include "ir/infer.h"
#include "ir/verify.h"
#include "runtime/manifest/codec.h"
#include "runtime/manifest/manifest.h"

/* --- where objects stand in the text: jansson keeps their order, and tells no place --- */

struct scan {
  ir_manifest_reader *r;
  const ir_source *source;
  size_t at;
};

/* The next '{' outside of strings. */
static uint32_t next_object(struct scan *s) {
  bool quoted = false;
  for (; s->at < s->source->length; s->at++) {
    char c = s->source->text[s->at];
    if (c == '\\') s->at++;
    if (c == '"') quoted = !quoted;
    if (c == '{' && !quoted) return s->source->base + (uint32_t)s->at++;
  }
  return s->source->base;
}

static void place_objects(struct scan *s, json_t *json) {
  if (json_is_array(json)) {
    for (size_t i = 0; i < json_array_size(json); i++) place_objects(s, json_array_get(json, i));
  } else if (json_is_object(json)) {
    ir_map_put(&s->r->arena, &s->r->places, json, (void *)(uintptr_t)next_object(s));
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) place_objects(s, json_object_iter_value(at));
  }
}

/* Everything that is reported from here on, and made, stands where OBJECT does. */
static ir_range stand_at(ir_manifest_reader *r, const json_t *object) {
  ir_range around = r->range;
  uint32_t at = (uint32_t)(uintptr_t)ir_map_get(&r->places, object);
  if (at) r->range = (ir_range){at, at + 1};
  return around;
}

static void visit_entry(ir_manifest_reader *r, const json_t *entry, bool (*visit)(ir_manifest_reader *, const json_t *, void *), void *user) {
  ir_range around = stand_at(r, entry);
  if (!json_is_object(entry)) ir_manifest_fail(r, "expected an object");
  if (!r->failed && !visit(r, entry, user)) ir_manifest_fail(r, "it cannot be built");
  r->range = around;
  ir_manifest_leave(r);
}

/* Calls VISIT for every object of the list that is member KEY. */
static bool each(ir_manifest_reader *r, const json_t *object, const char *key, bool (*visit)(ir_manifest_reader *, const json_t *, void *), void *user) {
  const json_t *list = ir_manifest_member(r, object, key, JSON_ARRAY);
  ir_manifest_enter(r, key);
  for (size_t i = 0; list && i < json_array_size(list) && !r->failed; i++) {
    ir_manifest_enter_at(r, i);
    visit_entry(r, json_array_get(list, i), visit, user);
  }
  ir_manifest_leave(r);
  return !r->failed;
}

/* The same for the items of the object that is member KEY, whose names R has then. */
static bool each_item(ir_manifest_reader *r, const json_t *object, const char *key, bool (*visit)(ir_manifest_reader *, const json_t *, void *), void *user) {
  json_t *items = ir_manifest_member(r, object, key, JSON_OBJECT), *entry;
  const char *name;
  ir_manifest_enter(r, key);
  json_object_foreach(items, name, entry) {
    r->item = ir_intern(r->context, ir_slice_of(name));
    ir_manifest_enter(r, name);
    if (!*name) ir_manifest_fail(r, "expected a name");
    visit_entry(r, entry, visit, user);
    if (r->failed) break;
  }
  ir_manifest_leave(r);
  return !r->failed;
}

/* The members of OBJECT are among KEYS: what is not understood is not passed over. */
static bool only(ir_manifest_reader *r, const json_t *object, size_t count, const char *const *keys) {
  for (void *at = json_object_iter((json_t *)(uintptr_t)object); at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
    bool known = false;
    for (size_t i = 0; i < count; i++) known |= !strcmp(keys[i], json_object_iter_key(at));
    if (!known) return ir_manifest_fail(r, "unknown member '%s'", json_object_iter_key(at)), false;
  }
  return true;
}
#define ONLY(r, object, ...) only(r, object, ir_count_of(((const char *const[]){__VA_ARGS__})), (const char *const[]){__VA_ARGS__})

static bool is_set(ir_manifest_reader *r, const json_t *object, const char *key) {
  return json_object_get(object, key) && json_is_true(ir_manifest_member(r, object, key, JSON_TRUE));
}

static const ir_attr *attributes(ir_manifest_reader *r, const json_t *object) {
  if (!json_object_get(object, "attributes")) return NULL;
  const json_t *json = ir_manifest_member(r, object, "attributes", JSON_OBJECT);
  ir_manifest_enter(r, "attributes");
  const ir_attr *dict = json ? ir_manifest_dict(r, json) : NULL;
  ir_manifest_leave(r);
  return dict;
}

/* Names the item that is being read. */
static const ir_string *item_name(ir_manifest_reader *r) {
  if (ir_module_find(r->module, r->item)) return ir_manifest_fail(r, "the name '%s' is taken", r->item->text);
  return r->item;
}

/* --- constants --- */

struct blob {
  ir_file file;
  bool open;
};

static bool integer(ir_manifest_reader *r, const json_t *object, const char *key, uint64_t *value) {
  const json_t *json = ir_manifest_member(r, object, key, JSON_INTEGER);
  if (json && json_integer_value(json) < 0) ir_manifest_fail(r, "'%s' is %lld", key, (long long)json_integer_value(json));
  *value = json ? (uint64_t)json_integer_value(json) : 0;
  return !r->failed;
}

static bool constant(ir_manifest_reader *r, const json_t *json, void *user) {
  const struct blob *blob = user;
  const ir_string *name = item_name(r), *digest = ir_manifest_word(r, json, "sha256");
  uint64_t offset, length;
  if (!ONLY(r, json, "type", "offset", "bytes", "sha256")) return false;
  const ir_type *type = ir_manifest_type(r, json_object_get(json, "type"));
  int64_t count;
  if (!type || !name || !digest || !integer(r, json, "offset", &offset) || !integer(r, json, "bytes", &length)) return false;
  bool sized = ir_is_tensor(type) && ir_type_dtype(type) != IR_DTYPE_UNKNOWN && ir_type_static_dims(type, NULL, &count);
  if (!sized) return ir_manifest_fail(r, "a constant has a tensor type with a dtype and constant extents"), false;
  if (!blob->open) return ir_manifest_fail(r, "there are constants, and no constants_file"), false;
  unsigned bits = ir_dtypes[ir_type_dtype(type)].bits;
  uint64_t wanted = bits < 8 ? ((uint64_t)count * bits + 7) / 8 : (uint64_t)count * (bits / 8);
  if (wanted != length) return ir_manifest_fail(r, "%llu bytes, its elements take %llu", (unsigned long long)length, (unsigned long long)wanted), false;
  if (offset % 64 || offset > blob->file.size || length > blob->file.size - offset) return ir_manifest_fail(r, "it does not lie in the constants' file, at a multiple of 64"), false;
  char own[IR_SHA256_TEXT];
  ir_sha256_text(blob->file.bytes + offset, length, own);
  if (strcmp(own, digest->text)) return ir_manifest_fail(r, "the constants' file holds other bytes: their SHA-256 is %s", own), false;
  ir_resource *resource = ir_arena_alloc(&r->module->arena, sizeof *resource);
  *resource = (ir_resource){.item = {.kind = IR_ITEM_RESOURCE, .name = name, .range = r->range}, .type = type, .kind = IR_RESOURCE_BYTES,
                            .bytes = blob->file.bytes + offset, .size = length};
  ir_module_add(r->module, &resource->item, NULL);
  return true;
}

static void close_file(void *file) { ir_file_close(file); }

/* What the hosts have that run the kernels: nothing of it is needed here. */
static bool check_artifact(ir_manifest_reader *r, const json_t *root) {
  uint64_t bytes;
  const json_t *json = ir_manifest_member(r, root, "artifact", JSON_OBJECT);
  ir_manifest_enter(r, "artifact");
  bool fine = json && integer(r, json, "bytes", &bytes) && ir_manifest_word(r, json, "sha256") && ONLY(r, json, "bytes", "sha256");
  ir_manifest_leave(r);
  return fine;
}

static bool open_blob(ir_manifest_reader *r, const json_t *root, struct blob *blob) {
  if (!json_object_get(root, "constants_file")) return true;
  const json_t *json = ir_manifest_member(r, root, "constants_file", JSON_OBJECT);
  uint64_t bytes = 0;
  ir_manifest_enter(r, "constants_file");
  bool fine = json && ONLY(r, json, "name", "bytes") && integer(r, json, "bytes", &bytes);
  const ir_string *name = fine ? ir_manifest_word(r, json, "name") : NULL;
  const char *path = name ? ir_path_confined(r->context->diags, &r->arena, r->path, name->text) : NULL;
  blob->open = path && ir_file_open(r->context->diags, path, &blob->file);
  r->failed |= !blob->open; /* both have reported */
  if (!blob->open) return false;
  if (blob->file.size != bytes) return ir_manifest_fail(r, "the file has %zu bytes", blob->file.size), ir_file_close(&blob->file), false;
  ir_manifest_leave(r);
  ir_file *kept = ir_arena_alloc(&r->module->arena, sizeof *kept);
  *kept = blob->file;
  ir_module_own(r->module, kept, close_file);
  return true;
}

/* --- values and operations --- */

struct place {
  ir_region *region;
};

static bool define(ir_manifest_reader *r, const ir_string *name, ir_value *value) {
  if (name->text[0] != '%' || !name->text[1]) return ir_manifest_fail(r, "a value's name begins with %%: '%s'", name->text), false;
  if (ir_map_has(&r->values, name)) return ir_manifest_fail(r, "the name '%s' is taken", name->text), false;
  ir_map_put(&r->arena, &r->values, name, value);
  bool number = strspn(name->text + 1, "0123456789") == name->length - 1u;
  value->name = number ? NULL : ir_intern(r->context, ir_slice_of(name->text + 1));
  return true;
}

static ir_value *operand(ir_manifest_reader *r, ir_builder *b, const json_t *json) {
  const char *word = json_string_value(json);
  if (word && *word == '%') {
    ir_value *value = ir_map_get(&r->values, ir_intern(r->context, ir_slice_of(word)));
    return value ? value : ir_manifest_fail(r, "no value is called '%s' here", word);
  }
  ir_frame frame = {.context = r->context, .arena = &r->arena};
  const ir_expr *expr = ir_manifest_expr(r, json, &frame);
  return expr ? ir_build_scalar(b, expr, frame.operands, frame.count) : NULL;
}

struct parts {
  ir_vec(ir_value *) operands;
  ir_vec(ir_named_attr) attrs;
  ir_vec(ir_region *) regions;
  ir_vec(const ir_type *) types;
  ir_vec(const ir_string *) names;
};

static void read_operands(ir_manifest_reader *r, ir_builder *b, const json_t *step, const ir_op_def *row, struct parts *parts) {
  for (size_t i = 0; i < row->operand_def_count && !r->failed; i++) {
    const char *name = row->operands[i].name;
    bool many = row->operands[i].multiplicity == IR_MANY;
    const json_t *json = many ? ir_manifest_member(r, step, name, JSON_ARRAY) : json_object_get(step, name);
    if (!json) ir_manifest_fail(r, "'%s' is missing", name);
    ir_manifest_enter(r, name);
    for (size_t k = 0; k < (many ? json_array_size(json) : 1) && !r->failed; k++) {
      if (many) ir_manifest_enter_at(r, k);
      *ir_push(&r->arena, &parts->operands) = operand(r, b, many ? json_array_get(json, k) : json);
      if (many) ir_manifest_leave(r);
    }
    ir_manifest_leave(r);
  }
}

static const ir_attr *read_extents(ir_manifest_reader *r, const json_t *list) {
  size_t count = json_array_size(list);
  const ir_attr **items = ir_new_array(&r->arena, const ir_attr *, count + 1);
  for (size_t i = 0; i < count; i++) {
    ir_manifest_enter_at(r, i);
    const ir_expr *expr = ir_manifest_expr(r, json_array_get(list, i), NULL);
    ir_manifest_leave(r);
    if (!expr) return NULL;
    items[i] = ir_attr_expr(r->context, expr);
  }
  return ir_attr_list(r->context, count, items);
}

static const ir_attr *read_attr(ir_manifest_reader *r, const ir_attr_def *def, const json_t *json) {
  ir_slice word = json_is_string(json) ? ir_slice_of(json_string_value(json)) : ir_lit("");
  if (def->type == IR_A_ID && json_is_string(json)) return ir_attr_id(r->context, word);
  if (def->type == IR_A_GLOBAL && json_is_string(json)) return ir_attr_global(r->context, ir_intern(r->context, word));
  if (def->type == IR_A_DIMS && json_is_array(json)) return read_extents(r, json);
  if (def->type != IR_A_EXPR) return ir_manifest_attr(r, json);
  const ir_expr *expr = ir_manifest_expr(r, json, NULL);
  return expr ? ir_attr_expr(r->context, expr) : NULL;
}

static void read_attrs(ir_manifest_reader *r, const json_t *step, const ir_op_def *row, struct parts *parts) {
  for (size_t i = 0; i < row->attr_count && !r->failed; i++) {
    const json_t *json = json_object_get(step, row->attrs[i].name);
    if (!json) continue; /* the verifier wants what has no default */
    ir_manifest_enter(r, row->attrs[i].name);
    *ir_push(&r->arena, &parts->attrs) = (ir_named_attr){row->attrs[i].name, read_attr(r, &row->attrs[i], json)};
    ir_manifest_leave(r);
  }
}

static bool typed_name(ir_manifest_reader *r, const json_t *json, void *user) {
  struct parts *parts = user;
  const ir_string *name = ir_manifest_word(r, json, "name");
  const ir_type *type = name ? ir_manifest_type(r, json_object_get(json, "type")) : NULL;
  if (!type || !ONLY(r, json, "name", "type")) return false;
  *ir_push(&r->arena, &parts->names) = name;
  *ir_push(&r->arena, &parts->types) = type;
  return true;
}

static bool read_step(ir_manifest_reader *r, const json_t *step, void *user);

static bool read_region(ir_manifest_reader *r, const json_t *json, void *user) {
  struct parts *parts = user, arguments = {.names = {0}};
  if (!ONLY(r, json, "arguments", "steps") || !each(r, json, "arguments", typed_name, &arguments)) return false;
  ir_region *region = ir_region_new(r->module, r->func, arguments.names.count);
  for (size_t i = 0; i < arguments.names.count; i++) {
    ir_value *value = ir_region_set_arg(region, i, arguments.types.at[i], NULL);
    if (!define(r, arguments.names.at[i], value)) return false;
  }
  *ir_push(&r->arena, &parts->regions) = region;
  return each(r, json, "steps", read_step, &(struct place){region});
}

static void read_constant(ir_manifest_reader *r, const json_t *step, struct parts *parts) {
  const ir_string *name = ir_manifest_word(r, step, "constant");
  const ir_item *item = name ? ir_module_find(r->module, name) : NULL;
  if (name && !(item && item->kind == IR_ITEM_RESOURCE)) ir_manifest_fail(r, "no constant is called '%s'", name->text);
  if (!r->failed) *ir_push(&r->arena, &parts->attrs) = (ir_named_attr){"value", ir_attr_global(r->context, name)};
}

static void read_let(ir_manifest_reader *r, const json_t *step, struct parts *parts) {
  ir_frame frame = {.context = r->context, .arena = &r->arena};
  ir_manifest_enter(r, "value");
  const ir_expr *expr = ir_manifest_expr(r, json_object_get(step, "value"), &frame);
  ir_manifest_leave(r);
  for (size_t i = 0; expr && i < frame.count; i++) *ir_push(&r->arena, &parts->operands) = frame.operands[i];
  if (expr) *ir_push(&r->arena, &parts->attrs) = (ir_named_attr){"value", ir_attr_expr(r->context, expr)};
}

/* An expression over symbols and values that only hosts need. */
static bool check_exprs(ir_manifest_reader *r, const json_t *list, size_t from) {
  for (size_t i = from; i < json_array_size(list) && !r->failed; i++) {
    ir_frame frame = {.context = r->context, .arena = &r->arena};
    ir_manifest_enter_at(r, i);
    ir_manifest_expr(r, json_array_get(list, i), &frame);
    ir_manifest_leave(r);
  }
  return !r->failed;
}

static bool check_groups(ir_manifest_reader *r, const json_t *step) {
  if (!json_object_get(step, "groups")) return true;
  const json_t *groups = ir_manifest_member(r, step, "groups", JSON_ARRAY);
  ir_manifest_enter(r, "groups");
  if (groups && json_array_size(groups) != 3) ir_manifest_fail(r, "expected three axes");
  check_exprs(r, groups, 0);
  ir_manifest_leave(r);
  return !r->failed;
}

/* The arguments of a launch, in the order of the kernel's parameters. */
static void read_launch(ir_manifest_reader *r, ir_builder *b, const json_t *step, struct parts *parts) {
  const ir_string *callee = ir_manifest_word(r, step, "callee");
  const ir_func *func = callee ? ir_item_func(ir_module_find(r->module, callee)) : NULL;
  if (callee && !(func && func->item.kind == IR_ITEM_PRIM_FUNC)) ir_manifest_fail(r, "no kernel is called '%s'", callee->text);
  static const char *const keys[] = {"buffers", "scalars"};
  const json_t *lists[] = {ir_manifest_member(r, step, keys[0], JSON_ARRAY), ir_manifest_member(r, step, keys[1], JSON_ARRAY)};
  size_t taken[] = {0, 0};
  for (size_t i = 0; !r->failed && i < func->param_count; i++) {
    size_t kind = func->params[i].symbol || !ir_is_tensor(func->params[i].type);
    ir_manifest_enter(r, keys[kind]);
    ir_manifest_enter_at(r, taken[kind]);
    const json_t *json = json_array_get(lists[kind], taken[kind]++);
    *ir_push(&r->arena, &parts->operands) = json ? operand(r, b, json) : ir_manifest_fail(r, "'%s' takes more", callee->text);
    ir_manifest_leave(r);
    ir_manifest_leave(r);
  }
  if (r->failed) return;
  if (taken[0] < json_array_size(lists[0])) ir_manifest_fail(r, "'%s' takes %zu buffers, found %zu", callee->text, taken[0], json_array_size(lists[0]));
  ir_manifest_enter(r, keys[1]);
  check_exprs(r, lists[1], taken[1]); /* symbols of types, for devices */
  ir_manifest_leave(r);
  check_groups(r, step);
  if (!r->failed) *ir_push(&r->arena, &parts->attrs) = (ir_named_attr){"callee", ir_attr_global(r->context, callee)};
}

/* Members that the kind of step does not have. */
static bool known_members(ir_manifest_reader *r, const json_t *step, const ir_manifest_step *kind) {
  ir_opcode code = kind->code;
  if (kind->launches) return ONLY(r, step, "step", "callee", "buffers", "scalars", "groups", "results", "at");
  const ir_op_def *row = &ir_op_defs[code];
  const char *keys[16] = {"step", "results", "at", "regions"};
  size_t count = row->regions ? 4 : 3;
  if (code == IR_CONST) keys[count++] = "constant";
  if (code == IR_SCALAR) keys[count++] = "value";
  bool plain = code != IR_CONST && code != IR_SCALAR;
  for (size_t i = 0; plain && i < row->operand_def_count; i++) keys[count++] = row->operands[i].name;
  for (size_t i = 0; plain && i < row->attr_count; i++) keys[count++] = row->attrs[i].name;
  return only(r, step, count, keys);
}

static bool name_results(ir_manifest_reader *r, ir_op *op, const struct parts *parts) {
  if (op->result_count != parts->names.count) return ir_manifest_fail(r, "%zu results, expected %u", parts->names.count, op->result_count), false;
  for (size_t i = 0; i < parts->names.count; i++) {
    if (!define(r, parts->names.at[i], ir_op_result(op, i))) return false;
  }
  return true;
}

static bool read_step(ir_manifest_reader *r, const json_t *step, void *user) {
  const struct place *place = user;
  const ir_string *name = ir_manifest_word(r, step, "step");
  const ir_manifest_step *kind = name ? ir_manifest_step_find(name->text) : NULL;
  if (name && !kind) ir_manifest_fail(r, "no step is called '%s'", name->text);
  if (!kind || !known_members(r, step, kind)) return false;
  ir_builder b = ir_at_end(place->region);
  b.range = r->range;
  struct parts parts = {.names = {0}};
  const ir_op_def *row = &ir_op_defs[kind->code];
  if (kind->code == IR_CONST) {
    read_constant(r, step, &parts);
  } else if (kind->code == IR_SCALAR) {
    read_let(r, step, &parts);
  } else if (kind->launches) {
    read_launch(r, &b, step, &parts);
  } else {
    read_operands(r, &b, step, row, &parts);
    read_attrs(r, step, row, &parts);
  }
  if (!r->failed && row->regions) each(r, step, "regions", read_region, &parts);
  if (!r->failed && json_object_get(step, "results")) each(r, step, "results", typed_name, &parts);
  if (r->failed) return false;
  bool named = json_object_get(step, "results") != NULL;
  ir_op *op = ir_build_with(&b, kind->code, parts.operands.at, parts.operands.count, parts.attrs.at, parts.attrs.count, parts.regions.at,
                            parts.regions.count, named ? parts.types.at : NULL, parts.types.count);
  if (!op) return false;
  if (!named && op->result_count == 1 && ir_is_unit(ir_op_result(op, 0)->type)) {
    op->flags |= IR_OP_NO_TARGETS;
  } else if (!name_results(r, op, &parts)) {
    return false;
  }
  const json_t *at = json_object_get(step, "at");
  const ir_attr *loc = at ? ir_manifest_attr(r, at) : NULL;
  if (loc && loc->kind != IR_ATTR_LIST) return ir_manifest_fail(r, "'at' is [file, line, column]"), false;
  if (loc) ir_op_set_loc(op, loc);
  return true;
}

/* --- functions and kernels --- */

struct signature {
  ir_vec(ir_param) params;
  ir_vec(const ir_string *) names; /* with %, of values */
  bool kernel;
};

static bool read_param(ir_manifest_reader *r, const json_t *json, void *user) {
  struct signature *s = user;
  ir_param param = {.type = ir_type_scalar(r->context, IR_I64, 1)};
  const ir_string *name = NULL;
  if (json_object_get(json, "symbol")) {
    param.symbol = ir_manifest_symbol(r, json);
    if (!param.symbol || !ONLY(r, json, "symbol", "attributes")) return false;
    param.name = param.symbol->symbol;
  } else {
    name = ir_manifest_word(r, json, "name");
    param.type = name ? ir_manifest_type(r, json_object_get(json, "type")) : NULL;
    const ir_string *access = param.type && s->kernel ? ir_manifest_word(r, json, "access") : NULL;
    if (!param.type || (s->kernel && !access) || !ONLY(r, json, "name", "type", "attributes", s->kernel ? "access" : "name")) return false;
    if (access) {
      bool in = !strcmp(access->text, "in"), out = !strcmp(access->text, "out");
      if (!in && !out && strcmp(access->text, "inout")) return ir_manifest_fail(r, "'access' is in, out or inout"), false;
      param.direction = in ? IR_IN : out ? IR_OUT : IR_INOUT;
    }
    if (name->text[0] != '%' || !name->text[1]) return ir_manifest_fail(r, "a value's name begins with %%: '%s'", name->text), false;
    bool number = strspn(name->text + 1, "0123456789") == name->length - 1u;
    param.name = number ? NULL : ir_intern(r->context, ir_slice_of(name->text + 1));
  }
  param.attrs = attributes(r, json);
  *ir_push(&r->arena, &s->params) = param;
  *ir_push(&r->arena, &s->names) = name;
  return !r->failed;
}

static void read_where(ir_manifest_reader *r, const json_t *json, ir_func *func) {
  const json_t *list = ir_manifest_member(r, json, "where", JSON_ARRAY);
  func->where = ir_new_array(&r->module->arena, const ir_expr *, json_array_size(list) + 1);
  ir_manifest_enter(r, "where");
  for (size_t i = 0; i < json_array_size(list) && !r->failed; i++) {
    ir_manifest_enter_at(r, i);
    func->where[i] = ir_manifest_expr(r, json_array_get(list, i), NULL);
    if (func->where[i] && func->where[i]->dtype != IR_BOOL) ir_manifest_fail(r, "expected a condition");
    ir_manifest_leave(r);
  }
  ir_manifest_leave(r);
  func->where_count = json_array_size(list);
}

/* A function, or a kernel, without its steps. NULL after a report. */
static ir_func *declare(ir_manifest_reader *r, const json_t *json, ir_item_kind kind, struct signature *s) {
  const ir_string *name = item_name(r);
  s->kernel = kind == IR_ITEM_PRIM_FUNC;
  if (!name || !each(r, json, "parameters", read_param, s)) return NULL;
  ir_func *func = ir_func_new(r->module, kind, name);
  func->item.range = r->range;
  func->has_signature = true;
  func->has_arrow = !s->kernel;
  if (is_set(r, json, "private")) func->item.flags |= IR_ITEM_PRIVATE;
  func->item.attrs = attributes(r, json);
  read_where(r, json, func);
  ir_func_set_params(func, s->params.count, s->params.at, !s->kernel);
  ir_module_add(r->module, &func->item, NULL);
  return r->failed ? NULL : func;
}

static bool check_asserts(ir_manifest_reader *r, const json_t *grid) {
  if (!json_object_get(grid, "asserts")) return true;
  const json_t *asserts = ir_manifest_member(r, grid, "asserts", JSON_ARRAY), *each;
  size_t i;
  if (!asserts) return false;
  json_array_foreach(asserts, i, each) {
    if (!ir_manifest_word(r, each, "message") || !ONLY(r, each, "message", "at")) return false;
  }
  return true;
}

/* How devices start a kernel is for hosts that have its code: here it is only checked. */
static bool check_grid(ir_manifest_reader *r, const json_t *json) {
  const json_t *grid = json_object_get(json, "grid");
  if (!grid) return true;
  grid = ir_manifest_member(r, json, "grid", JSON_OBJECT);
  if (!grid) return false;
  ir_manifest_enter(r, "grid");
  const json_t *local = ir_manifest_member(r, grid, "local", JSON_ARRAY);
  bool fine = ir_manifest_word(r, grid, "entry") && local;
  bool above = json_array_size(local) == 3;
  for (size_t i = 0; i < 3; i++) above &= json_integer_value(json_array_get(local, i)) > 0;
  if (fine && !above) return ir_manifest_fail(r, "expected three integers above 0 in 'local'");
  if (!fine || !check_asserts(r, grid) || !ONLY(r, grid, "entry", "local", "asserts")) return false;
  ir_manifest_leave(r);
  return true;
}

static bool read_kernel(ir_manifest_reader *r, const json_t *json, void *user) {
  (void)user;
  struct signature s = {.names = {0}};
  ir_func *func = declare(r, json, IR_ITEM_PRIM_FUNC, &s);
  if (func) func->item.flags |= IR_ITEM_EXTERN;
  return func && check_grid(r, json) && ONLY(r, json, "symbols", "where", "parameters", "private", "attributes", "grid");
}

static bool read_header(ir_manifest_reader *r, const json_t *json, void *user) {
  (void)user;
  struct signature s = {.names = {0}};
  ir_func *func = declare(r, json, IR_ITEM_FUNC, &s);
  const json_t *results = func ? ir_manifest_member(r, json, "results", JSON_ARRAY) : NULL;
  if (!results || !ONLY(r, json, "symbols", "where", "parameters", "private", "impure", "attributes", "results", "steps")) return false;
  if (is_set(r, json, "impure")) func->item.flags |= IR_ITEM_IMPURE;
  func->result_count = json_array_size(results);
  func->results = ir_new_array(&r->module->arena, const ir_type *, func->result_count + 1);
  ir_manifest_enter(r, "results");
  for (size_t i = 0; i < func->result_count && !r->failed; i++) {
    ir_manifest_enter_at(r, i);
    func->results[i] = ir_manifest_type(r, json_array_get(results, i));
    ir_manifest_leave(r);
  }
  ir_manifest_leave(r);
  return !r->failed;
}

static bool read_body(ir_manifest_reader *r, const json_t *json, void *user) {
  (void)user;
  ir_func *func = (ir_func *)ir_module_find(r->module, r->item);
  const json_t *params = json_object_get(json, "parameters");
  r->func = func;
  r->values = (ir_map){0};
  for (size_t i = 0; i < func->param_count; i++) {
    if (!func->params[i].value) continue;
    if (!define(r, ir_manifest_word(r, json_array_get(params, i), "name"), func->params[i].value)) return false;
  }
  return each(r, json, "steps", read_step, &(struct place){func->body});
}

/* --- the whole --- */

static bool read_root(ir_manifest_reader *r, const json_t *root) {
  uint64_t version;
  struct blob blob = {.open = false};
  if (!json_is_object(root)) return ir_manifest_fail(r, "expected an object"), false;
  if (!integer(r, root, "manifest", &version)) return false;
  if (version != IR_MANIFEST_VERSION) return ir_manifest_fail(r, "version %llu, only %d is known here", (unsigned long long)version, IR_MANIFEST_VERSION), false;
  if (!ONLY(r, root, "manifest", "artifact", "attributes", "dtypes", "constants_file", "constants", "kernels", "functions")) return false;
  r->module->attrs = attributes(r, root);
  return !r->failed && check_artifact(r, root) && open_blob(r, root, &blob) && each_item(r, root, "constants", constant, &blob) &&
         each_item(r, root, "kernels", read_kernel, NULL) && each_item(r, root, "functions", read_header, NULL) && each_item(r, root, "functions", read_body, NULL);
}

static json_t *load(ir_manifest_reader *r, const ir_source *source) {
  json_error_t error;
  json_t *root = json_loadb(source->text, source->length, JSON_REJECT_DUPLICATES, &error);
  size_t at = error.position > 0 ? (size_t)error.position : 0;
  if (at >= source->length) at = source->length ? source->length - 1 : 0;
  if (!root) ir_error(r->context->diags, (ir_range){source->base + (uint32_t)at, source->base + (uint32_t)at}, "%s", error.text);
  return root;
}

ir_module *ir_manifest_parse(ir_context *context, const ir_source *source) {
  ir_manifest_reader r = {.context = context, .path = source->name, .range = {source->base, source->base}};
  json_t *root = load(&r, source);
  if (root) {
    place_objects(&(struct scan){.r = &r, .source = source}, root);
    r.module = ir_module_new(context);
    stand_at(&r, root);
    if (!read_root(&r, root) || !ir_verify_module(r.module)) {
      ir_module_free(r.module);
      r.module = NULL;
    }
  }
  json_decref(root);
  ir_arena_free(&r.arena);
  return r.module;
}

ir_module *ir_manifest_read(ir_context *context, const char *path) {
  const ir_source *source = ir_source_open(context->diags, path);
  return source ? ir_manifest_parse(context, source) : NULL;
}
