// SPDX-License-Identifier: Apache-2.0
/* runtime/manifest/write.c - a host program as JSON. Needs base/path, base/sha256, ir/symbols. */
#include "base/path.h"
#include "base/sha256.h"
#include "ir/symbols.h"
#include "runtime/manifest/codec.h"
#include "targets/kernel.h"
#include "runtime/manifest/manifest.h"

enum { ALIGNMENT = 64, WIDTH = 150 };

typedef struct writer {
  ir_manifest_writer w;
  ir_module *module;
  ir_diags *diags;
  json_t *constants;
  ir_map named;      /* what a constant is (an item, an operation) -> its name */
  ir_map names;      /* interned names of constants */
  ir_map places;     /* interned digest -> offset + 1 */
  ir_output *blob;   /* NULL until there is a constant */
  ir_output *output;
  const char *device; /* NULL: kernels have no grid */
  ir_funcs kernels;   /* with it */
  bool dtypes[IR_DTYPE_COUNT + 1];
} writer;

/* --- constants --- */

static ir_output *open_blob(writer *w, const ir_op *op) {
  const char *target = ir_output_target(w->output);
  if (!target) {
    ir_error(w->diags, op->range, "the manifest has constants, which go to a file beside it: it cannot be written to a pipe");
    return NULL;
  }
  w->blob = ir_output_open(w->diags, ir_path_with_ending(&w->w.arena, target, "constants.bin"));
  if (w->blob) ir_output_attach(w->output, w->blob);
  return w->blob;
}

/* The place of the bytes in the file, equal bytes once. */
static bool place(writer *w, const ir_op *op, ir_data data, const char *digest, uint64_t *offset) {
  void **slot = ir_map_slot(&w->w.arena, &w->places, ir_intern(w->w.context, ir_slice_of(digest)));
  if (*slot) return *offset = (uint64_t)(uintptr_t)*slot - 1, true;
  if (!w->blob && !open_blob(w, op)) return false;
  ir_output_zeros(w->blob, (size_t)(-ir_output_size(w->blob) % ALIGNMENT));
  *offset = ir_output_size(w->blob);
  ir_output_bytes(w->blob, data.bytes, data.size);
  *slot = (void *)(uintptr_t)(*offset + 1);
  return ir_output_ok(w->blob);
}

static const char *fresh_constant(writer *w, const ir_string *own) {
  const char *base = own ? own->text : "constant", *name = base;
  for (unsigned i = own ? 1 : 0;; i++) {
    if (!own || i > 1) name = ir_arena_printf(&w->w.arena, "%s_%u", base, own ? i - 1 : i);
    const ir_string *string = ir_intern(w->w.context, ir_slice_of(name));
    if (ir_map_has(&w->names, string)) continue;
    ir_map_put(&w->w.arena, &w->names, string, w);
    return string->text;
  }
}

/* The name of the constant that OP is, which the list of constants has then. NULL after a report. */
static const char *constant_of(writer *w, ir_op *op) {
  const ir_attr *value = ir_get(op, "value");
  bool shared = value->kind == IR_ATTR_GLOBAL;
  const void *key = shared ? (const void *)value->string : op;
  void **slot = ir_map_slot(&w->w.arena, &w->named, key);
  if (*slot) return *slot;
  ir_data data;
  uint64_t offset;
  char digest[IR_SHA256_TEXT];
  if (!ir_const_data(op, &data)) return NULL;
  ir_sha256_text(data.bytes, data.size, digest);
  if (!place(w, op, data, digest, &offset)) return NULL;
  const char *name = fresh_constant(w, shared ? value->string : ir_op_result(op, 0)->name);
  json_t *json = json_pack("{so sI sI ss}", "type", ir_manifest_put_type(&w->w, ir_op_result(op, 0)->type), "offset",
                           (json_int_t)offset, "bytes", (json_int_t)data.size, "sha256", digest);
  json_object_set_new(w->constants, name, json);
  *slot = (void *)(uintptr_t)name;
  return name;
}

/* --- steps --- */

static json_t *put_region(writer *w, const ir_region *region);

static json_t *put_values(writer *w, size_t count, ir_value *(*at)(const void *of, size_t i), const void *of) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) {
    ir_value *value = at(of, i);
    json_t *type = ir_manifest_put_type(&w->w, value->type);
    if (!type) return json_decref(list), NULL;
    json_array_append_new(list, json_pack("{ss so}", "name", ir_manifest_name(&w->w, value), "type", type));
  }
  return list;
}

static ir_value *result_at(const void *op, size_t i) { return ir_op_result(op, i); }
static ir_value *argument_at(const void *region, size_t i) { return ((const ir_region *)region)->args[i]; }

static void put_operands(writer *w, json_t *step, const ir_op *op) {
  const ir_op_def *row = ir_op_row(op);
  for (size_t i = 0; i < row->operand_def_count; i++) {
    if (row->operands[i].multiplicity != IR_MANY) {
      json_object_set_new(step, row->operands[i].name, ir_manifest_put_operand(&w->w, ir_op_operand(op, i)));
      continue;
    }
    json_t *list = json_array();
    for (size_t k = i; k < op->operand_count; k++) json_array_append_new(list, ir_manifest_put_operand(&w->w, ir_op_operand(op, k)));
    json_object_set_new(step, row->operands[i].name, list);
  }
}

static json_t *put_extents(writer *w, const ir_attr *list) {
  json_t *json = json_array();
  for (size_t i = 0; i < list->count; i++) {
    json_array_append_new(json, ir_manifest_put_expr(&w->w, NULL, ir_attr_as_expr(w->w.context, list->items[i])));
  }
  return json;
}

static json_t *put_attr(writer *w, const ir_attr_def *def, const ir_attr *attr) {
  bool bare = attr->kind == IR_ATTR_ID || attr->kind == IR_ATTR_GLOBAL;
  if (bare) return json_stringn(attr->string->text, attr->string->length);
  if (def->type == IR_A_DIMS) return put_extents(w, attr);
  const ir_expr *expr = def->type == IR_A_EXPR ? ir_attr_as_expr(w->w.context, attr) : NULL;
  return expr ? ir_manifest_put_expr(&w->w, NULL, expr) : ir_manifest_put_attr(&w->w, attr);
}

static void put_attrs(writer *w, json_t *step, const ir_op *op) {
  const ir_op_def *row = ir_op_row(op);
  for (size_t i = 0; i < row->attr_count; i++) {
    const ir_attr *attr = ir_op_attr(w->w.context, op, i);
    if (attr) json_object_set_new(step, row->attrs[i].name, put_attr(w, &row->attrs[i], attr));
  }
}

/* [file, line, column], as the text has it, or where the text of the step stands. */
static json_t *put_place(writer *w, const ir_op *op) {
  const ir_attr *loc = ir_op_loc(op);
  const ir_source *source;
  unsigned line, column;
  if (loc) return ir_manifest_put_attr(&w->w, loc);
  return ir_range_locate(w->diags, op->range, &source, &line, &column) ? json_pack("[sii]", source->name, line, column) : NULL;
}

static json_t *refuse(writer *w, const ir_op *op) {
  const char *name = ir_op_row(op)->name;
  bool known = ir_is(op, IR_CLOSURE) || ir_is(op, IR_TO_DEVICE) || ir_has_any(op, IR_IMPURE);
  ir_error(w->diags, op->range, known ? "not implemented: '%s' in a manifest" : "'%s' is no step of a host program: run the target's default pipeline first", name);
  return NULL;
}

static bool put_regions(writer *w, json_t *step, const ir_op *op) {
  json_t *list = json_array();
  json_object_set_new(step, "regions", list);
  for (size_t i = 0; i < op->region_count; i++) {
    json_t *region = put_region(w, ir_op_region(op, i));
    if (!region) return false;
    json_array_append_new(list, region);
  }
  return true;
}

/* The kernel that OP launches; NULL where it launches none. */
static ir_func *launched(const writer *w, const ir_op *op) {
  const ir_attr *callee = ir_is(op, IR_CALL) ? ir_get(op, "callee") : NULL;
  ir_item *item = callee ? ir_module_find(w->module, callee->string) : NULL;
  return item && item->kind == IR_ITEM_PRIM_FUNC ? (ir_func *)item : NULL;
}

/* What FUNC is for the device; false after a report. */
static bool describe(writer *w, ir_func *func, ir_kernel *kernel) {
  ir_func *twin = ir_map_get(&w->kernels.twins, func); /* NULL: nothing starts it */
  return ir_kernel_describe(&w->w.arena, twin ? twin : func, w->device, kernel);
}

/* What stands for the kernel's symbols where OP launches it: its arguments, then the extents that are known. */
static json_t *bind_symbols(writer *w, const ir_func *func, const ir_op *op) {
  json_t *bound = json_object();
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol) json_object_set_new(bound, param->name->text, ir_manifest_put_operand(&w->w, ir_op_operand(op, i)));
  }
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_type *type = func->params[i].type, *given = ir_op_operand(op, i)->type;
    for (size_t k = 0; ir_is_tensor(type) && given->ranked && k < type->count; k++) {
      const ir_expr *symbol = ir_type_dim(type, k), *extent = ir_type_dim(given, k);
      bool open = symbol->code == IR_S_SYMBOL && extent && !json_object_get(bound, symbol->symbol->text);
      if (open) json_object_set_new(bound, symbol->symbol->text, ir_manifest_put_expr(&w->w, NULL, extent));
    }
  }
  return bound;
}

/* How a device starts the kernel there: workgroups, and the symbols of types as further scalars. */
static bool put_start(writer *w, json_t *step, json_t *scalars, ir_func *func, const ir_op *op) {
  ir_kernel kernel;
  if (!describe(w, func, &kernel)) return false;
  json_t *groups = json_array();
  w->w.bound = bind_symbols(w, func, op);
  for (size_t i = 0; i < 3; i++) json_array_append_new(groups, ir_manifest_put_expr(&w->w, NULL, kernel.groups[i]));
  bool known = true;
  for (size_t i = 0; i < kernel.scalar_count; i++) {
    const ir_expr *symbol = kernel.scalars[i].param ? NULL : kernel.scalars[i].symbol;
    if (symbol) known &= !json_array_append(scalars, json_object_get(w->w.bound, symbol->symbol->text));
  }
  json_decref(w->w.bound);
  w->w.bound = NULL;
  json_object_set_new(step, "groups", groups);
  if (!known) ir_error(w->diags, op->range, "not implemented: a launch on a device whose extents only the run tells, in a manifest");
  return known;
}

static bool put_launch(writer *w, json_t *step, ir_func *func, const ir_op *op) {
  json_t *buffers = json_array(), *scalars = json_array();
  for (size_t i = 0; i < func->param_count; i++) {
    bool buffer = !func->params[i].symbol && ir_is_tensor(func->params[i].type);
    json_array_append_new(buffer ? buffers : scalars, ir_manifest_put_operand(&w->w, ir_op_operand(op, i)));
  }
  json_object_set_new(step, "callee", json_string(func->item.name->text));
  json_object_set_new(step, "buffers", buffers);
  json_object_set_new(step, "scalars", scalars);
  return !w->device || !func->body || put_start(w, step, scalars, func, op);
}

/* What is particular about a kind of step. */
static bool put_contents(writer *w, json_t *step, ir_op *op) {
  if (ir_is(op, IR_CONST)) {
    const char *name = constant_of(w, op);
    return name && !json_object_set_new(step, "constant", json_string(name));
  }
  if (ir_is(op, IR_SCALAR)) return !json_object_set_new(step, "value", ir_manifest_put_expr(&w->w, op, ir_get_expr(op, "value")));
  if (ir_is(op, IR_CALL) && !ir_has_attr(op, "callee")) return refuse(w, op);
  ir_func *kernel = launched(w, op);
  if (kernel) return put_launch(w, step, kernel, op);
  put_attrs(w, step, op);
  put_operands(w, step, op);
  return !op->region_count || put_regions(w, step, op);
}

static json_t *put_step(writer *w, ir_op *op) {
  const char *name = ir_manifest_step_name(op, launched(w, op));
  if (!name) return refuse(w, op);
  json_t *step = json_pack("{ss}", "step", name), *at = put_place(w, op);
  if (!put_contents(w, step, op)) return json_decref(step), json_decref(at), NULL;
  bool named = op->result_count && !(op->flags & IR_OP_NO_TARGETS);
  json_t *results = named ? put_values(w, op->result_count, result_at, op) : NULL;
  if (named && !results) return json_decref(step), json_decref(at), refuse(w, op);
  if (results) json_object_set_new(step, "results", results);
  if (at) json_object_set_new(step, "at", at);
  return step;
}

static json_t *put_steps(writer *w, const ir_region *region) {
  json_t *list = json_array();
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    json_t *step = put_step(w, op);
    if (!step) return json_decref(list), NULL;
    json_array_append_new(list, step);
  }
  return list;
}

static json_t *put_region(writer *w, const ir_region *region) {
  json_t *arguments = put_values(w, region->arg_count, argument_at, region), *steps = arguments ? put_steps(w, region) : NULL;
  if (!steps) return json_decref(arguments), NULL;
  return json_pack("{so so}", "arguments", arguments, "steps", steps);
}

/* --- functions and kernels --- */

static const char *param_name(writer *w, const ir_param *param, size_t i) {
  if (param->value) return ir_manifest_name(&w->w, param->value);
  return param->name ? ir_arena_printf(&w->w.arena, "%%%s", param->name->text) : ir_arena_printf(&w->w.arena, "%%%zu", i);
}

static json_t *put_params(writer *w, const ir_func *func, bool kernel) {
  static const char *const access[] = {"in", "out", "inout"};
  json_t *list = json_array();
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    json_t *json, *type = param->symbol ? NULL : ir_manifest_put_type(&w->w, param->value ? param->value->type : param->type);
    if (!param->symbol && !type) return json_decref(list), NULL;
    json = param->symbol ? json_pack("{ss}", "symbol", param->name->text) : json_pack("{ss so}", "name", param_name(w, param, i), "type", type);
    if (kernel && !param->symbol) json_object_set_new(json, "access", json_string(access[param->direction]));
    if (param->attrs) json_object_set_new(json, "attributes", ir_manifest_put_dict(&w->w, param->attrs));
    json_array_append_new(list, json);
  }
  return list;
}

static json_t *put_where(writer *w, const ir_func *func) {
  json_t *list = json_array();
  for (size_t i = 0; i < func->where_count; i++) json_array_append_new(list, ir_manifest_put_expr(&w->w, NULL, func->where[i]));
  return list;
}

/* The symbols of the signature, in the order in which they appear. */
static json_t *put_symbols(writer *w, const ir_func *func) {
  ir_symbols_used used = {.context = w->w.context, .arena = &w->w.arena};
  json_t *list = json_array();
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol) ir_symbols_in_expr(&used, param->symbol);
    if (!param->symbol) ir_symbols_in_type(&used, param->value ? param->value->type : param->type, true);
  }
  for (size_t i = 0; i < used.count; i++) json_array_append_new(list, json_string(used.at[i]->symbol->text));
  return list;
}

static json_t *refuse_item(writer *w, const ir_item *item, const char *what) {
  ir_error(w->diags, item->range, "not implemented: %s in a manifest", what);
  return NULL;
}

static void start_func(writer *w) {
  w->w.values = w->w.taken = (ir_map){0};
  w->w.unnamed = 0;
}

/* Members that functions and kernels have in common. */
static json_t *put_signature(writer *w, const ir_func *func, bool kernel) {
  start_func(w);
  json_t *params = func->has_signature ? put_params(w, func, kernel) : NULL;
  if (!params) return refuse_item(w, &func->item, "a function that takes function values, or has no signature,");
  json_t *json = json_pack("{so so so}", "symbols", put_symbols(w, func), "where", put_where(w, func), "parameters", params);
  if (func->item.flags & IR_ITEM_PRIVATE) json_object_set_new(json, "private", json_true());
  if (func->item.attrs) json_object_set_new(json, "attributes", ir_manifest_put_dict(&w->w, func->item.attrs));
  return json;
}

static void see_expr(void *user, const ir_expr *node) {
  writer *w = user;
  w->dtypes[node->dtype] = true;
}

static void see_attr(writer *w, const ir_attr *attr) {
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(w->w.context, attr->expr, see_expr, w);
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) see_attr(w, attr->items[i]);
}

static void see_type(writer *w, const ir_type *type) {
  if (ir_is_tensor(type) || ir_is_scalar(type)) w->dtypes[type->dtype] = true;
}

static bool see_op(void *user, ir_op *op) {
  writer *w = user;
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) {
    if (ir_op_slots(op)[i]) see_attr(w, ir_op_slots(op)[i]);
  }
  for (size_t i = 0; i < op->result_count; i++) see_type(w, ir_op_result(op, i)->type);
  return true;
}

static json_t *put_assert(writer *w, const ir_op *op) {
  json_t *json = json_pack("{so}", "message", ir_manifest_put_attr(&w->w, ir_get(op, "message"))), *at = put_place(w, op);
  if (at) json_object_set_new(json, "at", at);
  return json;
}

/* What all starts of the kernel on a device have in common; NULL after a report. */
static json_t *put_grid(writer *w, const ir_func *func) {
  ir_kernel kernel;
  if (!describe(w, (ir_func *)(uintptr_t)func, &kernel)) return NULL;
  json_t *asserts = json_array();
  for (size_t i = 0; i < kernel.asserts.count; i++) json_array_append_new(asserts, put_assert(w, kernel.asserts.at[i]));
  json_t *grid = json_pack("{ss s[III]}", "entry", kernel.name, "local", (json_int_t)kernel.local[0], (json_int_t)kernel.local[1], (json_int_t)kernel.local[2]);
  if (kernel.asserts.count) json_object_set(grid, "asserts", asserts);
  json_decref(asserts);
  return grid;
}

static json_t *put_kernel(writer *w, const ir_func *func) {
  json_t *json = put_signature(w, func, true);
  if (!json) return NULL;
  bool device = w->device && func->body;
  json_t *grid = device ? put_grid(w, func) : NULL;
  if (device && !grid) return json_decref(json), NULL;
  if (grid) json_object_set_new(json, "grid", grid);
  for (size_t i = 0; i < func->param_count; i++) see_type(w, func->params[i].type);
  if (func->body) ir_walk(func->body, IR_PRE_ORDER, see_op, w);
  return json;
}

static json_t *put_func(writer *w, const ir_func *func) {
  if (!func->body) return refuse_item(w, &func->item, "an extern func");
  json_t *json = put_signature(w, func, false), *results = json_array(), *steps = NULL;
  for (size_t i = 0; json && i < func->result_count; i++) {
    json_t *type = ir_manifest_put_type(&w->w, func->results[i]);
    if (!type) {
      json_decref(json);
      json = refuse_item(w, &func->item, "a function that returns function values");
      break;
    }
    json_array_append_new(results, type);
  }
  if (json) steps = put_steps(w, func->body);
  if (!steps) return json_decref(json), json_decref(results), NULL;
  if (func->item.flags & IR_ITEM_IMPURE) json_object_set_new(json, "impure", json_true());
  json_object_set_new(json, "results", results);
  json_object_set_new(json, "steps", steps);
  return json;
}

/* --- the whole --- */

static json_t *put_items(writer *w, ir_item_kind kind, json_t *(*put)(writer *, const ir_func *)) {
  json_t *items = json_object();
  ir_each_item(item, w->module) {
    if (item->kind == IR_ITEM_DEVICE) return json_decref(items), refuse_item(w, item, "devices");
    if (item->kind != kind) continue;
    json_t *json = put(w, (ir_func *)item);
    if (!json) return json_decref(items), NULL;
    json_object_set_new(items, item->name->text, json);
  }
  return items;
}

static json_t *put_dtypes(const writer *w) {
  json_t *list = json_array();
  for (size_t i = 0; i < IR_DTYPE_COUNT; i++) {
    if (w->dtypes[i] && i != IR_DTYPE_UNKNOWN) json_array_append_new(list, json_string(ir_dtype_name((ir_dtype)i)));
  }
  return list;
}

static json_t *put_artifact(ir_slice artifact) {
  char digest[IR_SHA256_TEXT];
  ir_sha256_text(artifact.at, artifact.length, digest);
  return json_pack("{sI ss}", "bytes", (json_int_t)artifact.length, "sha256", digest);
}

static json_t *put_blob(const ir_output *blob) {
  return json_pack("{ss sI}", "name", ir_path_base(ir_output_target(blob)), "bytes", (json_int_t)ir_output_size(blob));
}

static json_t *put_module(writer *w, ir_slice artifact) {
  json_t *functions = put_items(w, IR_ITEM_FUNC, put_func), *kernels = functions ? put_items(w, IR_ITEM_PRIM_FUNC, put_kernel) : NULL;
  if (!kernels) return json_decref(functions), NULL;
  json_t *root = json_pack("{si so so so}", "manifest", IR_MANIFEST_VERSION, "artifact", put_artifact(artifact), "attributes", ir_manifest_put_dict(&w->w, w->module->attrs), "dtypes", put_dtypes(w));
  if (w->blob) json_object_set_new(root, "constants_file", put_blob(w->blob));
  json_object_set(root, "constants", w->constants);
  json_object_set_new(root, "kernels", kernels);
  json_object_set_new(root, "functions", functions);
  return root;
}

static void put_text(ir_text *out, const json_t *json, size_t indent);

static void put_member(ir_text *out, json_t *key, const json_t *json, bool first, size_t indent) {
  ir_text_printf(out, "%s\n%*s", first ? "" : ",", (int)indent + 1, "");
  if (key) {
    put_text(out, key, 0);
    ir_text_put(out, ": ");
  }
  put_text(out, json, indent + 1);
}

static bool has_objects(const json_t *json) {
  bool found = json_is_object(json);
  for (size_t i = 0; !found && i < json_array_size(json); i++) found = has_objects(json_array_get(json, i));
  return found;
}

/* On one line what fits there, and expressions, else a line a member. */
static void put_text(ir_text *out, const json_t *json, size_t indent) {
  char *line = json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
  bool whole = !has_objects(json);
  if (!line || whole || indent + strlen(line) <= WIDTH || !(json_object_size(json) || json_array_size(json))) {
    ir_text_put(out, line ? line : "null");
    ir_heap_free(line);
    return;
  }
  ir_heap_free(line);
  bool object = json_is_object(json);
  ir_text_char(out, object ? '{' : '[');
  void *at = object ? json_object_iter((json_t *)(uintptr_t)json) : NULL;
  for (size_t i = 0; object && at; i++, at = json_object_iter_next((json_t *)(uintptr_t)json, at)) {
    json_t *key = json_string(json_object_iter_key(at));
    put_member(out, key, json_object_iter_value(at), !i, indent);
    json_decref(key);
  }
  for (size_t i = 0; !object && i < json_array_size(json); i++) put_member(out, NULL, json_array_get(json, i), !i, indent);
  ir_text_printf(out, "\n%*s%c", (int)indent, "", object ? '}' : ']');
}

bool ir_manifest_write(ir_module *module, const char *device, ir_slice artifact, ir_output *output) {
  writer w = {.device = device, .w = {.context = module->context}, .module = module, .diags = module->context->diags, .constants = json_object(), .output = output};
  bool known = !device || ir_kernels_of(&w.w.arena, module, device, &w.kernels);
  json_t *root = known ? put_module(&w, artifact) : NULL;
  if (root) {
    ir_text text = {0};
    put_text(&text, root, 0);
    ir_text_char(&text, '\n');
    ir_output_bytes(output, text.at, text.length);
    ir_text_free(&text);
  }
  bool fine = root != NULL;
  json_decref(root);
  json_decref(w.constants);
  ir_arena_free(&w.w.arena);
  return fine;
}
