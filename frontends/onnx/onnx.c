// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/onnx.c - a model as a module. The bytes are checked (wire.c) before protobuf-c sees them. */
#include "frontends/onnx/importer.h"
#include "ir/print.h"
#include "parser/parser.h"

#include <stdlib.h>

static const ir_onnx_row rows[] = {
#define ONNX(text, from, to, handler, ...) {text, from, to, handler, __VA_ARGS__},
#include "frontends/onnx/onnx.def"
#undef ONNX
};

const ir_onnx_row *ir_onnx_find_row(const char *name, int64_t opset) {
  for (size_t i = 0; i < ir_count_of(rows); i++) {
    if (strcmp(rows[i].name, name)) continue;
    if (!opset || (opset >= rows[i].first && opset <= rows[i].last)) return &rows[i];
  }
  return NULL;
}

static int by_name(const void *a, const void *b) {
  const ir_onnx_row *x = *(const ir_onnx_row *const *)a, *y = *(const ir_onnx_row *const *)b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x->first > y->first) - (x->first < y->first);
}

void ir_onnx_document(ir_text *text) {
  const ir_onnx_row *sorted[ir_count_of(rows)];
  for (size_t i = 0; i < ir_count_of(rows); i++) sorted[i] = &rows[i];
  qsort(sorted, ir_count_of(rows), sizeof *sorted, by_name);
  ir_text_put(text, "# ONNX operators\n\n"
                    "What `ir-translate --import-onnx` and `ir-run model.onnx` take of the default domain, by the opset that the model asks for.\n"
                    "Tensors only: no strings, sequences, maps and optionals. What an operator does not take (an attribute, an input that is\n"
                    "known only when it runs) is refused by name, with the node's.\n\n"
                    "| operator | opsets |\n|---|---|\n");
  for (size_t i = 0; i < ir_count_of(rows); i++) {
    bool more = i && !strcmp(sorted[i]->name, sorted[i - 1]->name);
    int64_t last = sorted[i]->last;
    if (more) continue;
    for (size_t k = i + 1; k < ir_count_of(rows) && !strcmp(sorted[k]->name, sorted[i]->name) && sorted[k]->first <= last + 1; k++) last = sorted[k]->last;
    ir_text_printf(text, "| %s | %lld to %lld |\n", sorted[i]->name, (long long)sorted[i]->first, (long long)last);
  }
}

static bool fail(ir_onnx_importer *im, const char *text) {
  ir_error(im->diags, (ir_range){0, 0}, "%s", text);
  return false;
}

static const char *text_or(const char *text, const char *other) { return *text ? text : other; }

static bool is_default_domain(const char *domain) { return !*domain || !strcmp(domain, "ai.onnx"); }

/* --- what is not there, all at once --- */
typedef ir_vec(const Onnx__NodeProto *) node_list;

/* The nodes of the graph and of those within; how deep these lie has been checked (wire.c). */
static void list_nodes(ir_onnx_importer *im, const Onnx__GraphProto *graph, node_list *nodes) {
  for (size_t i = 0; i < graph->n_node; i++) {
    const Onnx__NodeProto *node = graph->node[i];
    *ir_push(&im->arena, nodes) = node;
    for (size_t k = 0; k < node->n_attribute; k++) {
      if (node->attribute[k]->g) list_nodes(im, node->attribute[k]->g, nodes);
    }
  }
}

static bool check_operators(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  ir_text text = {0};
  ir_map seen = {0};
  node_list nodes = {0};
  list_nodes(im, graph, &nodes);
  for (size_t i = 0; i < nodes.count; i++) {
    const Onnx__NodeProto *node = nodes.at[i];
    if (is_default_domain(node->domain) && ir_onnx_find_row(node->op_type, im->opset)) continue;
    const char *full = !*node->op_type ? "no operator at all" : is_default_domain(node->domain) ? node->op_type : ir_arena_printf(&im->arena, "%s.%s", node->domain, node->op_type);
    const ir_string *key = ir_intern(im->context, ir_slice_of(full));
    if (ir_map_has(&seen, key)) continue;
    ir_map_put(&im->arena, &seen, key, im);
    size_t count = 0;
    ir_text names = {0};
    for (size_t k = i; k < nodes.count; k++) {
      const Onnx__NodeProto *other = nodes.at[k];
      if (strcmp(other->op_type, node->op_type) || strcmp(other->domain, node->domain)) continue;
      if (count < 3) ir_text_printf(&names, "%s'%s'", count ? ", " : "", text_or(other->name, other->n_output ? other->output[0] : ""));
      if (count++ == 3) ir_text_put(&names, ", ...");
    }
    ir_text_printf(&text, "%s%s (%zu node%s: %s)", text.length ? ", " : "", full, count, count == 1 ? "" : "s", names.at);
    ir_text_free(&names);
  }
  bool fine = !text.length;
  if (!fine) ir_error_in(im->diags, im->path, "unsupported operators at opset %lld: %s", (long long)im->opset, text.at);
  ir_text_free(&text);
  return fine;
}

static bool find_opset(ir_onnx_importer *im, const Onnx__ModelProto *model) {
  enum { NEWEST = 21 };
  const int64_t none = INT64_MIN;
  im->opset = none;
  for (size_t i = 0; i < model->n_opset_import; i++) {
    if (is_default_domain(model->opset_import[i]->domain)) im->opset = model->opset_import[i]->version;
  }
  if (im->opset == none) im->opset = 1; /* models of IR version 1, and those that use other domains alone */
  if (im->opset >= 1 && im->opset <= NEWEST) return true;
  ir_error_in(im->diags, im->path, "opset %lld of the default domain: expected 1 to %d", (long long)im->opset, NEWEST);
  return false;
}

/* --- symbols and parameters --- */
const ir_expr *ir_onnx_symbol(ir_onnx_importer *im, const char *name) {
  const ir_string *key = ir_intern(im->context, ir_slice_of(name));
  const ir_expr *known = ir_map_get(&im->symbols, key);
  if (known) return known;
  size_t length = strlen(name);
  char *text = ir_arena_alloc(&im->arena, length + 32);
  for (size_t i = 0; i < length; i++) {
    char c = name[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (i && c >= '0' && c <= '9');
    text[i] = plain ? c : '_';
  }
  const ir_string *identifier = ir_intern(im->context, (ir_slice){text, length});
  bool taken = !ir_is_symbol_name(ir_string_slice(identifier));
  for (unsigned i = 0; taken || ir_map_has(&im->identifiers, identifier); i++, taken = false) {
    int full = snprintf(text + length, 32, "_%u", i);
    identifier = ir_intern(im->context, (ir_slice){text, length + (size_t)full});
  }
  ir_map_put(&im->arena, &im->identifiers, identifier, im);
  const ir_expr *symbol = ir_expr_symbol(im->context, identifier);
  ir_map_put(&im->arena, &im->symbols, key, (void *)(uintptr_t)symbol);
  if (strcmp(identifier->text, name)) {
    *ir_push(&im->arena, &im->symbol_names) = ir_attr_string(im->context, ir_string_slice(identifier));
    *ir_push(&im->arena, &im->symbol_names) = ir_attr_string(im->context, ir_string_slice(key));
  }
  return symbol;
}

static const ir_type *type_of(ir_onnx_importer *im, const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto__Tensor *tensor = info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? info->type->tensor_type : NULL;
  ir_dtype dtype = tensor ? ir_onnx_dtype(tensor->elem_type) : IR_DTYPE_UNKNOWN;
  if (dtype == IR_DTYPE_UNKNOWN) {
    ir_error_in(im->diags, im->path, "input '%s': not implemented: a type that is no tensor of a known element type", info->name);
    return NULL;
  }
  if (!tensor->shape) return ir_type_unranked(im->context, dtype);
  const ir_expr **dims = ir_new_array(&im->arena, const ir_expr *, tensor->shape->n_dim + 1);
  for (size_t i = 0; i < tensor->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
      if (dim->dim_value < 0) {
        ir_error_in(im->diags, im->path, "input '%s': extent %lld", info->name, (long long)dim->dim_value);
        return NULL;
      }
      dims[i] = ir_expr_i64(im->context, dim->dim_value);
    } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *dim->dim_param) {
      dims[i] = ir_onnx_symbol(im, dim->dim_param);
    } else {
      dims[i] = ir_onnx_symbol(im, ir_arena_printf(&im->arena, "%s_%zu", info->name, i));
    }
  }
  return ir_type_tensor(im->context, dtype, tensor->shape->n_dim, dims);
}

ir_onnx_value *ir_onnx_find(ir_onnx_importer *im, const char *name) {
  const ir_string *key = ir_intern(im->context, ir_slice_of(name));
  for (const ir_onnx_scope *scope = im->scope; scope; scope = scope->outer) {
    ir_onnx_value *value = ir_map_get(&scope->values, key);
    if (value && scope == im->scope) return value;
    if (!value) continue;
    ir_onnx_value *own = ir_arena_copy(&im->arena, value, sizeof *value);
    ir_map_put(&im->arena, &im->scope->values, key, own);
    return own;
  }
  return NULL;
}

ir_onnx_value *ir_onnx_define(ir_onnx_importer *im, const char *name) {
  const ir_string *key = ir_intern(im->context, ir_slice_of(name));
  void **slot = ir_map_slot(&im->arena, &im->scope->values, key);
  if (*slot) {
    ir_error_in(im->diags, im->path, "'%s' is defined twice", name);
    return NULL;
  }
  ir_onnx_value *value = *slot = ir_new(&im->arena, ir_onnx_value);
  value->name = key->text;
  return value;
}

static bool add_initializers(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  if (graph->n_sparse_initializer) return fail(im, "not implemented: sparse initializers");
  for (size_t i = 0; i < graph->n_initializer; i++) {
    ir_onnx_value *value = ir_onnx_define(im, graph->initializer[i]->name);
    if (!value) return false;
    value->literal = graph->initializer[i];
  }
  return true;
}

static bool add_inputs(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  if (!add_initializers(im, graph)) return false;
  ir_param *params = ir_new_array(&im->arena, ir_param, graph->n_input + 1);
  const char **names = ir_new_array(&im->arena, const char *, graph->n_input + 1);
  size_t count = 0;
  for (size_t i = 0; i < graph->n_input; i++) {
    const char *name = graph->input[i]->name;
    const ir_onnx_value *known = ir_onnx_find(im, name);
    if (known && known->literal) continue; /* models of IR version 3 list initializers as inputs */
    params[count] = (ir_param){.name = ir_intern(im->context, ir_slice_of(name)), .type = type_of(im, graph->input[i])};
    if (!params[count].type || !ir_onnx_define(im, name)) return false;
    names[count++] = name;
  }
  ir_func_set_params(im->func, count, params, true);
  for (size_t i = 0; i < count; i++) {
    ir_onnx_value *value = ir_onnx_find(im, names[i]);
    value->tensor = im->func->params[i].value;
  }
  im->b = ir_at_end(im->func->body);
  return true;
}

void ir_onnx_at(ir_onnx_importer *im, const Onnx__NodeProto *proto) {
  const char *name = text_or(proto->name, proto->n_output ? proto->output[0] : "");
  ir_diags_set_where(im->diags, ir_arena_printf(&im->arena, "%s: node '%s'", im->path, name));
  const ir_attr *zero = ir_attr_int(im->context, 0);
  const ir_attr *place[] = {ir_attr_string(im->context, ir_slice_of(name)), zero, zero};
  im->b.loc = *name ? ir_attr_list(im->context, 3, place) : NULL;
}

static bool import_node(ir_onnx_importer *im, const Onnx__NodeProto *proto) {
  ir_onnx_at(im, proto);
  ir_onnx_node n = {.im = im, .proto = proto, .row = ir_onnx_find_row(proto->op_type, im->opset)};
  n.used = ir_new_array(&im->arena, bool, proto->n_attribute + 1);
  n.read = ir_new_array(&im->arena, bool, proto->n_input + 1);
  size_t errors = ir_diags_errors(im->diags);
  bool fine = n.row->import(&n);
  if (!fine && ir_diags_errors(im->diags) == errors) ir_onnx_fail(&n, "cannot be imported");
  for (size_t i = 0; fine && i < proto->n_attribute; i++) {
    if (!n.used[i]) fine = ir_onnx_fail(&n, "attribute '%s' is not supported", proto->attribute[i]->name);
  }
  for (size_t i = 0; fine && i < proto->n_input; i++) {
    if (*proto->input[i] && !n.read[i]) fine = ir_onnx_fail(&n, "input %zu ('%s') is not supported", i, proto->input[i]);
  }
  for (size_t i = 0; fine && i < proto->n_output; i++) {
    bool made = !ir_onnx_wants(&n, i) || ir_onnx_find(im, proto->output[i]) != NULL;
    if (!made) fine = ir_onnx_fail(&n, "output %zu ('%s') is not supported", i, proto->output[i]);
  }
  return fine && ir_diags_errors(im->diags) == errors;
}

static bool check_output(ir_onnx_importer *im, const Onnx__ValueInfoProto *info, const ir_type *type) {
  const Onnx__TypeProto__Tensor *tensor = info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? info->type->tensor_type : NULL;
  if (!tensor || !ir_is_tensor(type)) return true;
  ir_dtype dtype = ir_onnx_dtype(tensor->elem_type);
  bool fits = dtype == IR_DTYPE_UNKNOWN || dtype == ir_type_dtype(type);
  fits &= !tensor->shape || !type->ranked || tensor->shape->n_dim == type->count;
  for (size_t i = 0; fits && tensor->shape && type->ranked && i < type->count; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    int64_t extent;
    bool constant = ir_type_dim(type, i) && ir_expr_is_int(ir_type_dim(type, i), &extent);
    if (constant && dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) fits = extent == dim->dim_value;
  }
  if (fits) return true;
  ir_text declared = {0};
  ir_text_put(&declared, dtype == IR_DTYPE_UNKNOWN ? "?" : ir_dtype_name(dtype));
  for (size_t i = 0; tensor->shape && i < tensor->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    bool constant = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    ir_text_put(&declared, i ? ", " : "[");
    if (constant) ir_text_printf(&declared, "%lld", (long long)dim->dim_value);
    else ir_text_put(&declared, dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ? dim->dim_param : "?");
  }
  if (tensor->shape) ir_text_put(&declared, tensor->shape->n_dim ? "]" : "[]");
  ir_error_in(im->diags, im->path, "output '%s': declared as %s, the graph computes %s", info->name, declared.at, ir_type_text(&im->arena, type));
  ir_text_free(&declared);
  return false;
}

struct outward {
  const ir_onnx_importer *im;
  bool inside; /* the expression speaks of a symbol that is bound in the function */
};

static void see_symbol(void *user, const ir_expr *node) {
  struct outward *o = user;
  o->inside |= node->code == IR_S_SYMBOL && ir_map_has(&o->im->bound, node);
}

bool ir_onnx_is_inner(const ir_onnx_importer *im, const ir_expr *expr) {
  struct outward o = {.im = im};
  ir_expr_walk(im->context, expr, see_symbol, &o);
  return o.inside;
}

/* TYPE as the function's callers see it: extents that only its body knows are `?`. */
static const ir_type *type_outside(ir_onnx_importer *im, const ir_type *type) {
  if (!ir_is_tensor(type) || !type->ranked) return type;
  const ir_expr **dims = ir_new_array(&im->arena, const ir_expr *, type->count + 1u);
  for (size_t i = 0; i < type->count; i++) {
    dims[i] = ir_type_dim(type, i);
    if (dims[i] && ir_onnx_is_inner(im, dims[i])) dims[i] = NULL;
  }
  return ir_type_tensor(im->context, ir_type_dtype(type), type->count, dims);
}

ir_value **ir_onnx_outputs(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  Onnx__NodeProto outputs = ONNX__NODE_PROTO__INIT;
  outputs.op_type = (char *)(uintptr_t) "output";
  outputs.n_input = graph->n_output;
  outputs.input = ir_new_array(&im->arena, char *, graph->n_output + 1);
  for (size_t i = 0; i < graph->n_output; i++) outputs.input[i] = graph->output[i]->name;
  ir_onnx_node n = {.im = im, .proto = &outputs, .read = ir_new_array(&im->arena, bool, graph->n_output + 1)};
  ir_value **values = ir_new_array(&im->arena, ir_value *, graph->n_output + 1);
  for (size_t i = 0; i < graph->n_output; i++) {
    values[i] = ir_onnx_in(&n, i);
    if (!values[i] || !check_output(im, graph->output[i], values[i]->type)) return NULL;
  }
  return values;
}

static bool add_outputs(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  ir_diags_set_where(im->diags, im->path);
  ir_value **values = ir_onnx_outputs(im, graph);
  if (!values) return false;
  im->func->result_count = graph->n_output;
  im->func->results = ir_new_array(&im->module->arena, const ir_type *, graph->n_output + 1);
  for (size_t i = 0; i < graph->n_output; i++) im->func->results[i] = type_outside(im, values[i]->type);
  return ir_build_with(&im->b, IR_RETURN, values, graph->n_output, IR_NO_ATTRS, NULL, 0, NULL, 0) != NULL;
}

static bool import_each_node(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_node; i++) {
    if (!import_node(im, graph->node[i])) return false;
  }
  return true;
}

bool ir_onnx_import_nodes(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  return add_initializers(im, graph) && import_each_node(im, graph);
}

static bool import_graph(ir_onnx_importer *im, const Onnx__GraphProto *graph) {
  if (!check_operators(im, graph) || !add_inputs(im, graph) || !import_each_node(im, graph) || !add_outputs(im, graph)) return false;
  for (size_t i = 0; i < im->where.count; i++) ir_func_add_where(im->func, im->where.at[i]);
  if (im->symbol_names.count) {
    const ir_attr *symbols = ir_attr_dict(im->context, im->symbol_names.count / 2, im->symbol_names.at);
    im->func->item.attrs = ir_dict_with(im->context, im->func->item.attrs, "symbols", symbols);
  }
  return true;
}

static void close_file(void *file) { ir_file_close(file); }

static bool import(ir_onnx_importer *im) {
  ir_file *file = ir_new(&im->module->arena, ir_file);
  if (!ir_file_open(im->diags, im->path, file)) return false;
  ir_module_own(im->module, file, close_file);
  enum { KEEP = 256 };
  size_t size;
  if (!ir_onnx_wire_check(im->diags, &im->arena, im->path, file->bytes, file->size, KEEP, &im->wire)) return false;
  const uint8_t *bytes = ir_onnx_wire_strip(im->diags, &im->arena, &im->wire, &size);
  const Onnx__ModelProto *model = bytes ? ir_onnx_unpack(&im->arena, &onnx__model_proto__descriptor, size, bytes) : NULL;
  if (bytes && !model) ir_error_in(im->diags, im->path, "not an ONNX model: the bytes do not unpack");
  if (!model) return false;
  bool fine = model->graph != NULL;
  if (!fine) ir_error_in(im->diags, im->path, "the model has no graph");
  return fine && find_opset(im, model) && import_graph(im, model->graph);
}

ir_module *ir_onnx_import(ir_context *context, const char *path) {
  ir_onnx_scope scope = {.outer = NULL};
  ir_onnx_importer im = {.context = context, .scope = &scope, .diags = context->diags, .path = path, .module = ir_module_new(context)};
  im.func = ir_func_new(im.module, IR_ITEM_FUNC, ir_intern(context, ir_lit("main")));
  ir_module_add(im.module, &im.func->item, NULL);
  ir_diags_set_where(im.diags, path);
  bool fine = import(&im);
  ir_diags_set_where(im.diags, NULL);
  ir_arena_free(&im.arena);
  if (fine) return im.module;
  ir_module_free(im.module);
  return NULL;
}
