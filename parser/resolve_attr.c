// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_attr.c - attribute values and dictionaries. Needs parser/resolve.h, ir/number. */
#include "ir/number.h"
#include "parser/resolve.h"

static bool wants(const ir_attr_def *def, ir_attr_want type) { return def && def->type == type; }

static bool offers(const ir_attr_def *def, ir_slice word) {
  for (const char *at = def ? def->choices : NULL; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
    if (strcspn(at, "|") == word.length && !memcmp(at, word.at, word.length)) return true;
  }
  return false;
}

/* Where a float is wanted, an integer outside i64 stands for the f64 that is that number; no other holds it. */
static bool is_large(ir_parser *p, const ir_node *literal, const ir_attr_def *def) {
  uint64_t value;
  if (!wants(def, IR_A_FLOAT) && !wants(def, IR_A_FLOATS)) return false;
  if (!ir_parse_integer(ir_node_name(p, literal), &value)) return true;
  return value > INT64_MAX && (value & 0x7ff) == 0;
}

static const ir_attr *number(ir_parser *p, const ir_node *node, const ir_attr_def *def) {
  const ir_node *literal = node->kind == N_NEGATE ? node->other : node;
  bool whole = literal->kind == N_INT && !is_large(p, literal, def);
  uint64_t bits;
  if (!ir_resolve_number(p, node, whole ? IR_I64 : IR_F64, &bits)) return NULL;
  return whole ? ir_attr_int(p->context, (int64_t)bits) : ir_attr_float(p->context, ir_float_from_bits(IR_F64, bits));
}

static const ir_attr *unknown_dtype(ir_parser *p, const ir_node *node) {
  ir_slice word = ir_node_name(p, node);
  ir_diag *diag = ir_parse_error(p, node->range, "unknown dtype '%.*s'", (int)word.length, word.at);
  ir_nearest nearest = {.wanted = word};
  for (int d = 0; d < IR_DTYPE_COUNT; d++) ir_nearest_offer(&nearest, ir_slice_of(ir_dtypes[d].name));
  ir_suggest(p, diag, node->range, &nearest);
  return NULL;
}

static const ir_attr *word(ir_parser *p, const ir_node *node, const ir_attr_def *def) {
  ir_slice text = ir_node_name(p, node);
  if (wants(def, IR_A_ID) && (offers(def, text) || !ir_slice_is(text, "none"))) return ir_attr_id(p->context, text);
  if (ir_slice_is(text, "none")) return ir_attr_none(p->context);
  if (ir_slice_is(text, "true") || ir_slice_is(text, "false")) return ir_attr_bool(p->context, text.at[0] == 't');
  const ir_expr *symbol = p->func ? ir_find_symbol(p, ir_intern(p->context, text)) : NULL;
  if (symbol) return ir_attr_expr(p->context, symbol);
  ir_dtype dtype;
  unsigned lanes;
  bool is_type = ir_slice_is(text, "any") || ir_element_find(text, &dtype, &lanes);
  if (is_type) return ir_attr_type(p->context, ir_resolve_type(p, node, NULL));
  if (wants(def, IR_A_DTYPE)) return unknown_dtype(p, node);
  bool symbolic = wants(def, IR_A_DIMS) || wants(def, IR_A_EXPR) || wants(def, IR_A_EXPRS);
  if (symbolic) {
    ir_unknown_word(p, node->range, "symbol");
    return NULL;
  }
  return ir_attr_id(p->context, text);
}

static const ir_attr *list(ir_parser *p, const ir_node *node, const ir_attr_def *def) {
  const ir_attr **items = ir_new_array(&p->scratch, const ir_attr *, node->kids.count);
  bool fine = true;
  size_t i = 0;
  ir_each_node(kid, node->kids) fine &= (items[i++] = ir_resolve_attr(p, kid, def)) != NULL;
  return fine ? ir_attr_list(p->context, node->kids.count, items) : NULL;
}

static const ir_attr *dict(ir_parser *p, const ir_node *node) {
  const ir_attr **items = ir_new_array(&p->scratch, const ir_attr *, 2 * (size_t)node->kids.count);
  ir_map seen = {0};
  bool fine = true;
  size_t i = 0;
  ir_each_node(entry, node->kids) {
    ir_range range = ir_node_name_range(entry);
    const ir_string *key = entry->quoted ? ir_parse_string(p, range) : ir_intern(p->context, ir_text_at(p, range));
    void **slot = ir_map_slot(&p->scratch, &seen, key);
    if (*slot) {
      ir_diag *diag = ir_parse_error(p, range, "the key '%s' is given twice", key->text);
      ir_note(p->diags, diag, ir_node_name_range(*slot), "it was given here");
      fine = false;
    }
    *slot = entry;
    items[i++] = ir_attr_string(p->context, ir_string_slice(key));
    fine &= (items[i++] = ir_resolve_attr(p, entry->other, NULL)) != NULL;
  }
  return fine ? ir_attr_dict(p->context, node->kids.count, items) : NULL;
}

static const ir_attr *type(ir_parser *p, const ir_node *node) {
  const ir_type *resolved = ir_resolve_type(p, node, NULL);
  return resolved ? ir_attr_type(p->context, resolved) : NULL;
}

static const ir_attr *expression(ir_parser *p, const ir_node *node) {
  const ir_expr *expr = ir_resolve_expr(p, NULL, node, IR_DTYPE_UNKNOWN);
  return expr ? ir_attr_expr(p->context, expr) : NULL;
}

static bool is_number(const ir_parser *p, const ir_node *node) {
  if (node->kind == N_NEGATE) return is_number(p, node->other) && node->other->kind != N_NEGATE;
  if (node->kind == N_INT || node->kind == N_FLOAT || (node->kind == N_ID && !node->typed)) return true;
  return node->kind == N_CALL && ir_slice_is(ir_node_name(p, node), "nan");
}

const ir_attr *ir_resolve_attr(ir_parser *p, const ir_node *node, const ir_attr_def *def) {
  if (is_number(p, node)) return number(p, node, def);
  switch ((int)node->kind) {
  case N_STRING: {
    const ir_string *text = ir_parse_string(p, node->range);
    return ir_attr_string(p->context, ir_string_slice(text));
  }
  case N_ID: return word(p, node, def);
  case N_GLOBAL: return ir_attr_global(p->context, ir_parse_name(p, node->range));
  case N_ARRAY:
  case N_FN: return type(p, node);
  case N_LIST: return list(p, node, def);
  case N_DICT: return dict(p, node);
  case N_CALL:
  case N_BINARY:
  case N_NEGATE:
  case N_NOT: return expression(p, node);
  }
  ir_parse_error(p, node->range, "expected an attribute value, found %s", ir_node_describe(p, node));
  return NULL;
}

const ir_attr *ir_resolve_with(ir_parser *p, const ir_node *node) {
  return node && node->kids.count ? dict(p, node) : NULL;
}
