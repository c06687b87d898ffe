// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_type.c - types, and the symbols in them. Needs parser/resolve.h. */
#include "ir/literal.h"
#include "parser/resolve.h"

static bool is_word(const ir_parser *p, const ir_node *node, const char *word) {
  return ir_slice_is(ir_node_name(p, node), word);
}

static bool is_shaped(const ir_parser *p, const ir_node *node) {
  return node->kind == N_ARRAY && !is_word(p, node, "tuple");
}

/* A word as an extent that can name a symbol. */
static bool is_lone_symbol(const ir_parser *p, const ir_node *node) {
  return node->kind == N_ID && !ir_is_reserved(ir_node_name(p, node));
}

void ir_bind_type_symbols(ir_parser *p, const ir_node *type, const ir_region *home) {
  if (type->kind != N_ARRAY) return;
  bool shaped = is_shaped(p, type);
  ir_each_node(kid, type->kids) {
    if (!shaped) ir_bind_type_symbols(p, kid, home);
    bool binds = shaped && is_lone_symbol(p, kid);
    if (!binds) continue;
    const ir_string *name = ir_intern(p->context, ir_node_name(p, kid));
    if (ir_find_axis(p, name)) continue; /* refused as an extent */
    ir_define_symbol(p, name, home);
  }
}

static void unknown_type(ir_parser *p, ir_range range) {
  ir_slice word = ir_text_at(p, range);
  ir_diag *diag = ir_parse_error(p, range, "unknown type '%.*s'", (int)word.length, word.at);
  if (!ir_suggests(p)) return;
  ir_nearest nearest = {.wanted = word};
  for (int d = 0; d < IR_DTYPE_COUNT; d++) ir_nearest_offer(&nearest, ir_slice_of(ir_dtypes[d].name));
  static const char *const words[] = {"any", "shape", "tuple", "fn", "storage"};
  for (size_t i = 0; i < ir_count_of(words); i++) ir_nearest_offer(&nearest, ir_slice_of(words[i]));
  ir_suggest(p, diag, range, &nearest);
}

/* An extent: NULL in *dim is `?`. False after an error. */
static bool extent(ir_parser *p, const ir_node *node, const ir_expr **dim) {
  *dim = NULL;
  if (node->kind == N_UNKNOWN) return true;
  bool axis = node->kind == N_ID && ir_find_axis(p, ir_intern(p->context, ir_node_name(p, node)));
  if (axis) {
    ir_parse_error(p, node->range, "an axis cannot be an extent of a type");
    return false;
  }
  *dim = ir_resolve_expr_of(p, NULL, node, IR_I64, "an extent");
  int64_t value;
  if (*dim && ir_expr_is_int(*dim, &value) && value < 0) {
    ir_parse_error(p, node->range, "an extent cannot be negative");
    return false;
  }
  return *dim != NULL;
}

static const ir_type *shaped(ir_parser *p, const ir_node *node, ir_type_key key) {
  bool fine = node->kids.count <= IR_PARSE_MAX_RANK;
  if (!fine) ir_parse_error(p, node->range, "a type of more than %d axes", IR_PARSE_MAX_RANK);
  key.ranked = !(node->kids.first && node->kids.first->kind == N_UNRANKED);
  key.count = key.ranked ? node->kids.count : 0;
  const void **dims = ir_new_array(&p->scratch, const void *, key.count);
  size_t i = 0;
  for (const ir_node *kid = key.ranked ? node->kids.first : NULL; kid; kid = kid->next) {
    const ir_expr *dim;
    fine &= extent(p, kid, &dim);
    dims[i++] = dim;
  }
  key.items = dims;
  if (node->other) {
    key.device = ir_parse_name(p, node->other->range);
    fine &= ir_check_device(p, node->other->range);
  }
  return fine ? ir_type_get(p->context, &key) : NULL;
}

static const ir_type *resolve(ir_parser *p, const ir_node *node);

/* Types of NODES; false where one is wrong. */
static bool resolve_all(ir_parser *p, ir_nodes nodes, const void **types) {
  bool fine = true;
  size_t i = 0;
  ir_each_node(node, nodes) fine &= (types[i++] = resolve(p, node)) != NULL;
  return fine;
}

static const ir_type *array(ir_parser *p, const ir_node *node) {
  ir_slice word = ir_node_name(p, node);
  ir_dtype dtype = IR_DTYPE_UNKNOWN;
  unsigned lanes = 1;
  if (ir_slice_is(word, "tuple")) {
    bool plain = !node->other && !(node->kids.first && (node->kids.first->kind == N_UNRANKED));
    if (!plain) ir_parse_error(p, node->range, "a tuple type lists the types of its fields");
    const void **fields = ir_new_array(&p->scratch, const void *, node->kids.count);
    if (!plain || !resolve_all(p, node->kids, fields)) return NULL;
    return ir_type_tuple(p->context, node->kids.count, (const ir_type *const *)fields);
  }
  if (ir_slice_is(word, "shape")) {
    if (!node->other) return shaped(p, node, (ir_type_key){.kind = IR_TYPE_SHAPE, .dtype = IR_I64, .lanes = 1});
    ir_parse_error(p, node->other->range, "a shape is on no device");
    return NULL;
  }
  if (!ir_slice_is(word, "?") && !ir_element_find(word, &dtype, &lanes)) {
    unknown_type(p, ir_node_name_range(node));
    return NULL;
  }
  return shaped(p, node, (ir_type_key){.kind = IR_TYPE_TENSOR, .dtype = (uint8_t)dtype, .lanes = (uint16_t)lanes});
}

/* Symbols that stand alone in a parameter of a function type, and are not bound around it, are that type's own. */
static const ir_type *function(ir_parser *p, const ir_node *node) {
  ir_type_key key = {.kind = IR_TYPE_FUNC, .dtype = IR_DTYPE_UNKNOWN, .impure = node->code};
  if (!node->other) return ir_type_get(p->context, &key);
  ir_region scope = {0};
  ir_each_node(param, node->kids) ir_bind_type_symbols(p, param, &scope);
  ir_nodes results = node->other->kids;
  key.ranked = true;
  key.count = node->kids.count;
  key.result_count = results.count;
  const void **items = ir_new_array(&p->scratch, const void *, key.count + key.result_count);
  key.items = items;
  bool fine = resolve_all(p, node->kids, items);
  fine &= resolve_all(p, results, items + key.count);
  /* The scope ends here, and its symbols with it. */
  for (size_t i = p->symbol_list.count; i > 0 && p->symbol_list.at[i - 1]->home == &scope; i--) {
    ir_map_remove(&p->symbols, p->symbol_list.at[i - 1]->name);
    p->symbol_list.count--;
  }
  return fine ? ir_type_get(p->context, &key) : NULL;
}

static const ir_type *resolve(ir_parser *p, const ir_node *node) {
  ir_dtype dtype;
  unsigned lanes;
  switch ((ir_node_kind)node->kind) {
  case N_ID:
    if (is_word(p, node, "any")) return p->context->any_type;
    if (is_word(p, node, "storage")) return p->context->storage_type;
    if (ir_element_find(ir_node_name(p, node), &dtype, &lanes)) return ir_type_scalar(p->context, dtype, lanes);
    unknown_type(p, node->range);
    return NULL;
  case N_ARRAY: return array(p, node);
  case N_FN: return function(p, node);
  default: /* every other kind is an expression */
    ir_parse_error(p, node->range, "expected a type, found %s", ir_node_describe(p, node));
    return NULL;
  }
}

const ir_type *ir_resolve_type(ir_parser *p, const ir_node *node, const ir_region *binds) {
  if (binds) ir_bind_type_symbols(p, node, binds);
  return resolve(p, node);
}

static void look(void *user, const ir_expr *node) {
  ir_parser *p = ((void **)user)[0];
  bool *hidden = ((void **)user)[1];
  if (node->code == IR_S_SYMBOL && !ir_find_symbol(p, node->symbol)) *hidden = true;
}

const ir_type *ir_visible_type(ir_parser *p, const ir_type *type) {
  bool is_shape = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE, changed = false;
  if (!is_shape && type->kind != IR_TYPE_TUPLE) return type;
  const void **items = ir_new_array(&p->scratch, const void *, type->count);
  for (size_t i = 0; i < type->count; i++) {
    items[i] = type->items[i];
    bool hidden = false;
    if (!is_shape) items[i] = ir_visible_type(p, items[i]);
    if (is_shape && items[i]) ir_expr_walk(p->context, items[i], look, (void *[]){p, &hidden});
    if (hidden) items[i] = NULL;
    changed |= items[i] != type->items[i];
  }
  if (!changed) return type;
  if (!is_shape) return ir_type_tuple(p->context, type->count, (const ir_type *const *)items);
  return ir_type_with_dims(p->context, type, type->count, (const ir_expr *const *)items);
}
