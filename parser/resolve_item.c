// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_item.c - the module, functions and reducers. Needs parser/resolve.h, ir/number. */
#include "ir/number.h"
#include "parser/resolve.h"

enum { NEWEST_VERSION = 1 };

void ir_resolve_version(ir_parser *p, ir_range number) {
  ir_slice text = ir_text_at(p, number);
  uint64_t version;
  bool fits = ir_parse_integer(text, &version);
  if (fits && version >= 1 && version <= NEWEST_VERSION) return;
  bool is_long = text.length > 20;
  ir_parse_error(p, number, "this text has version %.*s%s of the format, and only %s is known here",
                 is_long ? 20 : (int)text.length, text.at, is_long ? "..." : "", "version 1");
  p->stopped = true;
}

void ir_resolve_module(ir_parser *p, ir_node *with) {
  p->item_mark = ir_arena_get_mark(&p->scratch);
  if (p->declaring) return;
  p->module->attrs = ir_resolve_with(p, with);
  if (with) p->module->attrs_range = with->range;
}

ir_flags ir_flag(ir_parser *p, ir_flags flags, uint32_t flag, ir_range range) {
  if (flags.bits & flag)
    ir_parse_error(p, range, "'%.*s' is written twice", (int)(range.end - range.begin), ir_text_at(p, range).at);
  if (!flags.bits) flags.range = range;
  flags.range.end = range.end;
  flags.bits |= flag;
  return flags;
}

/* --- signatures --- */

static bool is_symbol_param(const ir_parser *p, const ir_node *param) {
  return ir_text_at(p, param->range).at[0] != '%';
}

static void bind_signature(ir_parser *p, ir_nodes states, ir_nodes params) {
  ir_nodes lists[] = {states, params};
  for (size_t i = 0; i < 2; i++) {
    ir_each_node(param, lists[i]) {
      if (is_symbol_param(p, param))
        ir_define_symbol(p, ir_intern(p->context, ir_node_name(p, param)), &p->signature);
      else
        ir_bind_type_symbols(p, param->kids.first, &p->signature);
    }
  }
}

static void check_param(ir_parser *p, const ir_node *node, const ir_param *param, ir_item_kind kind) {
  bool wrong_symbol =
      param->symbol && param->type != p->context->any_type && param->type != ir_type_scalar(p->context, IR_I64, 1);
  if (wrong_symbol) ir_parse_error(p, node->kids.first->range, "a symbol has type i64");
  if (param->direction != IR_IN && kind != IR_ITEM_PRIM_FUNC)
    ir_parse_error(p, node->range, "only a prim_func has out and inout parameters");
  if (param->direction != IR_IN && param->symbol) ir_parse_error(p, node->range, "a symbol is read only");
}

static void resolve_param(ir_parser *p, const ir_node *node, ir_param *param, ir_item_kind kind) {
  const ir_type *type = ir_resolve_type(p, node->kids.first, NULL);
  param->type = type ? type : p->context->any_type;
  param->direction = (ir_direction)node->code;
  if (node->kind == N_PARAM) param->attrs = ir_resolve_with(p, node->other);
  ir_range name = ir_node_name_range(node);
  if (is_symbol_param(p, node)) {
    if (ir_is_reserved(ir_text_at(p, name)))
      ir_parse_error(p, name, "'%.*s' cannot name a symbol", (int)(name.end - name.begin), ir_text_at(p, name).at);
    param->name = ir_intern(p->context, ir_text_at(p, name));
    param->symbol = ir_expr_symbol(p->context, param->name);
  } else {
    char first = ir_text_at(p, name).at[1];
    bool number = first >= '0' && first <= '9';
    param->name = number ? NULL : ir_parse_name(p, name);
  }
  check_param(p, node, param, kind);
}

/* The values of FUNC under the names that HEADER gives them. */
static void name_params(ir_parser *p, ir_func *func, ir_nodes states, ir_nodes params) {
  size_t i = 0;
  ir_nodes lists[] = {states, params};
  for (size_t k = 0; k < 2; k++) {
    ir_each_node(node, lists[k]) {
      ir_param *param = &func->params[i++];
      if (param->value) ir_define_value(p, ir_node_name_range(node), param->value);
    }
  }
}

/* Parameters of a function without a body are in no scope, but their names differ. */
static void check_names(ir_parser *p, ir_nodes params) {
  ir_map seen = {0};
  ir_each_node(param, params) {
    ir_range name = ir_node_name_range(param);
    void **slot = ir_map_slot(&p->scratch, &seen, ir_intern(p->context, ir_text_at(p, name)));
    if (*slot) {
      ir_slice text = ir_text_at(p, name);
      ir_diag *diag = ir_parse_error(p, name, "'%.*s' is already defined", (int)text.length, text.at);
      ir_note(p->diags, diag, ir_node_name_range(*slot), "it was defined here");
    }
    *slot = param;
  }
}

static void resolve_where(ir_parser *p, ir_func *func, ir_nodes where) {
  const ir_expr **conditions = ir_new_array(&p->module->arena, const ir_expr *, where.count);
  size_t count = 0;
  ir_each_node(node, where) {
    const ir_expr *condition = ir_resolve_expr_of(p, NULL, node, IR_BOOL, "a condition");
    if (condition) conditions[count++] = condition;
  }
  func->where = conditions;
  func->where_count = count;
}

static void resolve_results(ir_parser *p, ir_func *func, const ir_node *results) {
  func->results = ir_new_array(&p->module->arena, const ir_type *, results->kids.count);
  ir_each_node(node, results->kids) {
    const ir_type *type = ir_resolve_type(p, node, NULL);
    func->results[func->result_count++] = type ? type : p->context->any_type;
  }
}

/* --- functions --- */

/* The function declared ahead at RANGE; else a new one with *fresh set. One whose name is taken is kept out of the
 * module. */
static ir_func *func_at(ir_parser *p, ir_range range, ir_item_kind kind, bool *fresh) {
  const ir_string *name = ir_parse_name(p, range);
  ir_item *known = ir_module_find(p->module, name);
  *fresh = false;
  if (known && known->range.begin == range.begin) return (ir_func *)known;
  *fresh = true;
  ir_func *func = ir_func_new(p->module, kind, name);
  func->item.range = range;
  if (!known) ir_module_add(p->module, &func->item, NULL);
  if (known) ir_taken_item(p, range, known);
  return func;
}

static void check_header(ir_parser *p, const ir_header *header, bool has_body) {
  bool external = header->flags.bits & IR_ITEM_EXTERN, graph = header->kind == IR_ITEM_FUNC;
  const char *word = graph ? "func" : "prim_func";
  if (external && has_body) ir_parse_error(p, header->flags.range, "an extern %s has no body", word);
  if (!external && !has_body)
    ir_parse_error(p, header->name, "expected '{' and a body, or 'extern' in front of %s", word);
  bool impure = header->flags.bits & IR_ITEM_IMPURE;
  if (impure && !graph)
    ir_parse_error(p, header->flags.range,
                   "a prim_func writes its out and inout buffers and has no other effect: it is not impure");
  const ir_signature *signature = header->signature;
  if (!signature && has_body) ir_parse_error(p, header->name, "a %s with a body has parameters: '(...)'", word);
  if (!signature && !graph && !has_body) ir_parse_error(p, header->name, "a prim_func has parameters: '(...)'");
  if (signature && graph && !signature->results)
    ir_parse_error(p, signature->range, "expected '->' and the types of the results behind the parameters");
  if (signature && !graph && signature->results)
    ir_parse_error(p, signature->results->range, "a prim_func has no results: it writes to out parameters");
}

/* Makes or finds the function of HEADER and opens its scope. */
static ir_func *declare(ir_parser *p, const ir_header *header, bool has_body) {
  bool fresh;
  ir_func *func = func_at(p, header->name, (ir_item_kind)header->kind, &fresh);
  ir_nodes params = header->signature ? header->signature->params : (ir_nodes){0};
  ir_scope_begin(p, func);
  bind_signature(p, (ir_nodes){0}, params);
  if (!fresh) return func;
  check_header(p, header, has_body);
  func->item.flags = header->flags.bits;
  func->has_signature = header->signature != NULL;
  func->has_arrow = header->signature && header->kind == IR_ITEM_FUNC;
  ir_param *resolved = ir_new_array(&p->scratch, ir_param, params.count);
  size_t i = 0;
  ir_each_node(node, params) resolve_param(p, node, &resolved[i++], func->item.kind);
  if (header->signature && header->signature->results) resolve_results(p, func, header->signature->results);
  resolve_where(p, func, header->where);
  func->item.attrs = ir_resolve_with(p, header->with);
  ir_func_set_params(func, i, resolved, has_body);
  if (!has_body) check_names(p, params);
  return func;
}

void ir_resolve_extern(ir_parser *p, ir_header *header) {
  declare(p, header, false);
  ir_arena_reset(&p->scratch, p->item_mark);
}

static ir_block *open_body(ir_parser *p, ir_func *func, ir_block_kind kind, ir_nodes states, ir_nodes params) {
  ir_block *block = ir_block_open(p, kind, func->body, NULL);
  if (!p->declaring) name_params(p, func, states, params);
  return block;
}

ir_block *ir_open_func(ir_parser *p, ir_header *header) {
  ir_func *func = declare(p, header, true);
  ir_block_kind kind = header->kind == IR_ITEM_FUNC ? IR_BLOCK_FUNC : IR_BLOCK_PRIM_FUNC;
  return open_body(p, func, kind, (ir_nodes){0}, header->signature ? header->signature->params : (ir_nodes){0});
}

ir_block *ir_open_reducer(ir_parser *p, ir_range name, ir_nodes states, ir_nodes params, ir_node *with) {
  bool fresh;
  ir_func *func = func_at(p, name, IR_ITEM_REDUCER, &fresh);
  ir_scope_begin(p, func);
  bind_signature(p, states, params);
  if (fresh) {
    ir_param *resolved = ir_new_array(&p->scratch, ir_param, (size_t)states.count + params.count);
    func->identities = ir_new_array(&p->module->arena, const ir_expr *, states.count);
    size_t i = 0;
    ir_each_node(node, states) {
      resolve_param(p, node, &resolved[i], IR_ITEM_REDUCER);
      const ir_type *type = resolved[i].type;
      ir_dtype dtype = ir_is_scalar(type) || ir_is_tensor(type) ? ir_type_dtype(type) : IR_DTYPE_UNKNOWN;
      const ir_expr *identity = ir_resolve_expr(p, NULL, node->other, dtype);
      func->identities[i++] = identity ? identity : ir_expr_i64(p->context, 0);
    }
    ir_each_node(node, params) {
      if (is_symbol_param(p, node)) ir_parse_error(p, node->range, "a reducer takes no symbols");
      resolve_param(p, node, &resolved[i++], IR_ITEM_REDUCER);
    }
    func->state_count = states.count;
    func->item.attrs = ir_resolve_with(p, with);
    ir_func_set_params(func, i, resolved, true);
  }
  return open_body(p, func, IR_BLOCK_REDUCER, states, params);
}

void ir_close_func(ir_parser *p, ir_block *block, ir_range end) {
  (void)end;
  p->block = block->outer;
  p->regions--;
  ir_arena_reset(&p->scratch, p->item_mark);
}
