// SPDX-License-Identifier: Apache-2.0
/* parser/node.c - trees of expressions, types and headers. They know whether their dtype is settled (ir/literal.h), and
 * may not grow deeper than the parts of the resolver that recurse over them can bear. */
#include "parser/node.h"

#include "grammar.h"

#include "ir/literal.h"
#include "parser/resolve.h"

static ir_node *new_node(ir_parser *p, ir_node_kind kind, ir_range range) {
  ir_node *node = ir_new(&p->scratch, ir_node);
  node->kind = (uint8_t)kind;
  node->range = range;
  node->name_end = range.end;
  node->typed = true;
  return node;
}

static void above(ir_parser *p, ir_node *node, const ir_node *kid) {
  if (!kid || node->depth > kid->depth) return;
  node->depth = (uint16_t)(kid->depth + 1);
  if (node->depth <= IR_PARSE_MAX_DEPTH || p->stopped) return;
  ir_parse_error(p, node->range, "nested more than %d deep", IR_PARSE_MAX_DEPTH);
  p->stopped = true;
}

static void above_all(ir_parser *p, ir_node *node) { ir_each_node(kid, node->kids) above(p, node, kid); }

static void take_typing(ir_node *node, ir_node *kid) {
  node->typed |= kid->typed;
  node->floats |= kid->floats && !kid->typed;
}

/* The operands of CODE share a dtype from some operand on: it settles that of the result where it is the same. */
static void type_by_rule(ir_node *node, ir_scalar_code code) {
  ir_literal_rule rule = ir_literal_rule_of(code);
  if (!rule.is_result) return;
  node->typed = false;
  int i = 0;
  ir_each_node(kid, node->kids) {
    if (i++ >= rule.common) take_typing(node, kid);
  }
}

ir_node *ir_node_leaf(ir_parser *p, ir_node_kind kind, ir_range range) {
  ir_node *node = new_node(p, kind, range);
  ir_slice text = ir_text_at(p, range);
  bool special = kind == N_ID && (ir_slice_is(text, "inf") || ir_slice_is(text, "nan"));
  node->typed = kind != N_INT && kind != N_FLOAT && !special;
  node->floats = kind == N_FLOAT || special;
  return node;
}

ir_node *ir_node_list(ir_parser *p, ir_node_kind kind, ir_range name, ir_nodes kids, ir_range end) {
  ir_node *node = new_node(p, kind, (ir_range){name.begin, end.end});
  node->name_end = name.end;
  node->kids = kids;
  above_all(p, node);
  if (kind == N_LIST) {
    ir_each_node(kid, kids) node->floats |= kid->floats;
  }
  if (kind != N_CALL) return node;
  ir_slice text = ir_text_at(p, name);
  ir_scalar_code code = ir_scalar_find(p->context, text);
  node->code = (uint8_t)code;
  if (code != IR_S_COUNT) type_by_rule(node, code);
  bool nan = ir_slice_is(text, "nan");
  if (nan) node->typed = false, node->floats = true;
  return node;
}

ir_node *ir_node_named(ir_parser *p, ir_node_kind kind, ir_range name, ir_node *other, ir_range end) {
  ir_node *node = new_node(p, kind, (ir_range){name.begin, end.end});
  node->name_end = name.end;
  node->other = other;
  above(p, node, other);
  return node;
}

ir_node *ir_node_quoted(ir_parser *p, ir_range name, ir_node *value) {
  ir_node *node = ir_node_named(p, N_ENTRY, name, value, value->range);
  node->quoted = true;
  return node;
}

ir_node *ir_node_param(ir_parser *p, ir_node_kind kind, int direction, ir_range name, ir_node *type, ir_node *other) {
  ir_node *node = new_node(p, kind, (ir_range){name.begin, (other ? other : type)->range.end});
  node->name_end = name.end;
  node->code = (uint8_t)direction;
  node->kids = ir_nodes_one(type);
  node->other = other;
  return node;
}

ir_node *ir_node_device(ir_parser *p, ir_node *array, ir_range device) {
  array->other = ir_node_leaf(p, N_GLOBAL, device);
  array->range.end = device.end;
  return array;
}

ir_node *ir_node_fn(ir_parser *p, ir_range begin, ir_range end, bool impure, ir_nodes params, ir_node *results) {
  ir_node *node = new_node(p, N_FN, (ir_range){begin.begin, (results ? results->range : end).end});
  node->code = impure;
  node->kids = params;
  node->other = results;
  above_all(p, node);
  above(p, node, results);
  return node;
}

ir_node *ir_node_prefix(ir_parser *p, ir_node_kind kind, ir_range begin, ir_node *kid) {
  ir_node *node = new_node(p, kind, (ir_range){begin.begin, kid->range.end});
  node->other = kid;
  above(p, node, kid);
  if (kind == N_NEGATE) node->typed = false, take_typing(node, kid);
  return node;
}

ir_node *ir_node_pair(ir_parser *p, ir_node_kind kind, ir_node *a, ir_node *b) {
  ir_node *node = new_node(p, kind, (ir_range){a->range.begin, b->range.end});
  node->kids = ir_nodes_add(ir_nodes_one(a), b);
  above_all(p, node);
  return node;
}

ir_node *ir_node_binary(ir_parser *p, ir_scalar_code code, ir_node *a, ir_node *b) {
  ir_node *node = ir_node_pair(p, N_BINARY, a, b);
  node->code = (uint8_t)code;
  type_by_rule(node, code);
  return node;
}

ir_node *ir_node_where(ir_parser *p, ir_range name, ir_range line, ir_range column) {
  ir_node *node = new_node(p, N_WHERE, (ir_range){name.begin, column.end});
  node->name_end = name.end;
  node->kids = ir_nodes_add(ir_nodes_one(ir_node_leaf(p, N_INT, line)), ir_node_leaf(p, N_INT, column));
  return node;
}

ir_signature *ir_signature_new(ir_parser *p, ir_nodes params, ir_node *results, ir_range range) {
  ir_signature *signature = ir_new(&p->scratch, ir_signature);
  *signature = (ir_signature){params, results, range};
  return signature;
}

bool ir_is_reserved(ir_slice word) {
  static const char *const words[] = {"true", "false", "none", "inf", "nan", "any", "storage"};
  for (size_t i = 0; i < ir_count_of(words); i++) {
    if (ir_slice_is(word, words[i])) return true;
  }
  ir_dtype dtype;
  unsigned lanes;
  return ir_element_find(word, &dtype, &lanes);
}

bool ir_element_find(ir_slice word, ir_dtype *dtype, unsigned *lanes) {
  *lanes = 1;
  *dtype = ir_dtype_find(word);
  if (*dtype != IR_DTYPE_UNKNOWN) return true;
  size_t digits = 0;
  while (digits < word.length && word.at[word.length - 1 - digits] >= '0' && word.at[word.length - 1 - digits] <= '9')
    digits++;
  bool shaped = digits && digits <= 4 && word.length > digits + 1 && word.at[word.length - 1 - digits] == 'x';
  if (!shaped || word.at[word.length - digits] == '0') return false;
  *lanes = 0;
  for (size_t i = word.length - digits; i < word.length; i++) *lanes = *lanes * 10 + (unsigned)(word.at[i] - '0');
  *dtype = ir_dtype_find((ir_slice){word.at, word.length - digits - 1});
  return *dtype != IR_DTYPE_UNKNOWN && *lanes > 1;
}

bool ir_is_symbol_name(ir_slice word) {
  ir_arena arena = {0};
  const ir_source source = {.name = "", .text = ir_arena_copy(&arena, word.at, word.length), .length = word.length, .base = 1, .first_line = 1};
  ir_lexer lexer = ir_lexer_new(&source, 0);
  ir_range range;
  bool fits = ir_lex(&lexer, &range) == T_ID && range.begin == 1 && range.end == word.length + 1 && !ir_is_reserved(word);
  ir_arena_free(&arena);
  return fits;
}
