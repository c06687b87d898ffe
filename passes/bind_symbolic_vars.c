// SPDX-License-Identifier: Apache-2.0
/* passes/bind_symbolic_vars.c - fix size symbols: the public funcs that have them get a body with numbers. Needs nothing. */
#include "passes/bind_symbolic_vars.h"

#include "base/vec.h"
#include "ir/inline.h"
#include "ir/print.h"
#include "ir/symbols.h"
#include "passes/pass.h"

#include <errno.h>
#include <stdlib.h>

struct request {
  const ir_string *name;
  const ir_expr *value;
  bool used;
};

/* A func that was rebuilt: calls of it are made to fit. */
struct rebuilt {
  ir_func *func, *old;
  ir_binding bound;
};

struct binding {
  ir_module *module;
  ir_context *context;
  const char *who;
  ir_arena arena;
  struct request *requests;
  size_t request_count;
  ir_vec(struct rebuilt) funcs;
};

bool ir_bind_parse(ir_diags *diags, const char *who, const char *text, ir_slice *symbol, int64_t *number) {
  const char *equals = strchr(text, '=');
  char *end = NULL;
  errno = 0;
  *number = equals ? strtoll(equals + 1, &end, 10) : 0;
  if (!equals || equals == text || end == equals + 1 || *end || errno || *number < 0 || *number > IR_EXTENT_MAX) {
    ir_error_in(diags, who, "expected SYMBOL=N with a number from 0 to 2^48, found '%s'", text);
    return false;
  }
  *symbol = (ir_slice){text, (size_t)(equals - text)};
  return true;
}

static bool read_request(struct binding *b, const char *text) {
  ir_slice symbol;
  int64_t number;
  if (!ir_bind_parse(b->context->diags, b->who, text, &symbol, &number)) return false;
  const ir_string *name = ir_intern(b->context, symbol);
  for (size_t i = 0; i < b->request_count; i++) {
    if (b->requests[i].name != name) continue;
    ir_error_in(b->context->diags, b->who, "symbol '%s' is given twice", name->text);
    return false;
  }
  b->requests[b->request_count++] = (struct request){name, ir_expr_i64(b->context, number), false};
  return true;
}

/* The symbols that parameters of FUNC speak of. */
static ir_symbols_used symbols_of(struct binding *b, const ir_func *func) {
  ir_symbols_used used = {.context = b->context, .arena = &b->arena};
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].symbol) ir_symbols_in_expr(&used, func->params[i].symbol);
    ir_symbols_in_type(&used, func->params[i].type, true);
  }
  return used;
}

/* What the model called SYMBOL: `symbols = {p2o_0="p2o.0"}`; else its own name. */
static const ir_string *model_name(const ir_func *func, const ir_string *symbol) {
  const ir_attr *symbols = ir_dict_get(func->item.attrs, "symbols");
  for (size_t i = 0; symbols && symbols->kind == IR_ATTR_DICT && i < symbols->count; i++) {
    const ir_attr *old = symbols->items[2 * i + 1];
    if (old->kind == IR_ATTR_STRING && symbols->items[2 * i]->string == symbol) return old->string;
  }
  return symbol;
}

/* Collects what is asked for FUNC's symbols; whether anything is. */
static bool find_requests(struct binding *b, const ir_func *func, ir_binding *bound) {
  ir_symbols_used used = symbols_of(b, func);
  *bound = (ir_binding){.arena = &b->arena};
  for (size_t i = 0; i < used.count; i++) {
    const ir_string *name = used.at[i]->symbol, *old = model_name(func, name);
    for (size_t r = 0; r < b->request_count; r++) {
      struct request *request = &b->requests[r];
      if (request->name != name && request->name != old) continue;
      request->used = true;
      ir_map_put(&b->arena, &bound->symbols, used.at[i], (void *)(uintptr_t)request->value);
    }
  }
  return bound->symbols.count > 0;
}

/* The clauses of `where` that numbers do not settle. */
static bool copy_where(struct binding *b, const ir_func *from, const ir_binding *bound, ir_func *to) {
  to->where = ir_new_array(&b->module->arena, const ir_expr *, from->where_count);
  for (size_t i = 0; i < from->where_count; i++) {
    const ir_expr *fact = ir_inline_expr(b->context, bound, from->where[i]);
    int64_t holds;
    if (!ir_expr_is_int(fact, &holds)) {
      to->where[to->where_count++] = fact;
    } else if (!holds) {
      ir_text clause = {0};
      ir_print_expr(&clause, from->where[i], NULL, 0);
      ir_error(b->context->diags, from->item.range, "%s: '%s' of @%s does not hold for the given symbols", b->who, clause.at,
               from->item.name->text);
      ir_text_free(&clause);
      return false;
    }
  }
  return true;
}

static void copy_body(struct binding *b, const ir_func *from, const ir_binding *bound, ir_func *to) {
  ir_map values = {0};
  for (size_t i = 0; i < from->body->arg_count; i++) ir_map_put(&b->arena, &values, from->body->args[i], to->body->args[i]);
  ir_builder at = ir_at_end(to->body);
  ir_op *end = ir_inline_region(&at, from->body, &b->arena, &values, bound);
  ir_value **results = ir_new_array(&b->arena, ir_value *, end->operand_count);
  for (size_t i = 0; i < end->operand_count; i++) {
    ir_value *mapped = ir_map_get(&values, ir_op_operand(end, i));
    results[i] = mapped ? mapped : ir_op_operand(end, i);
  }
  ir_build_with(&at, IR_RETURN, results, end->operand_count, IR_NO_ATTRS, NULL, 0, NULL, 0);
}

static bool rebuild(struct binding *b, ir_func *func, const ir_binding *bound) {
  ir_func *copy = ir_func_new(b->module, IR_ITEM_FUNC, func->item.name);
  copy->item.flags = func->item.flags;
  copy->item.attrs = func->item.attrs;
  copy->item.range = func->item.range;
  ir_param *params = ir_new_array(&b->arena, ir_param, func->param_count);
  size_t count = 0;
  for (size_t i = 0; i < func->param_count; i++) {
    ir_param param = func->params[i];
    if (param.symbol && ir_map_has(&bound->symbols, param.symbol)) continue;
    param.type = ir_inline_type(b->context, bound, param.type);
    params[count++] = param;
  }
  ir_func_set_params(copy, count, params, true);
  copy->result_count = func->result_count;
  copy->results = ir_new_array(&b->module->arena, const ir_type *, func->result_count);
  for (size_t i = 0; i < func->result_count; i++) copy->results[i] = ir_inline_type(b->context, bound, func->results[i]);
  if (!copy_where(b, func, bound, copy)) return false;
  copy_body(b, func, bound, copy);
  ir_item *after = func->item.prev;
  ir_module_remove(b->module, &func->item);
  if (after) {
    ir_module_add(b->module, &copy->item, after);
  } else {
    ir_module_add_first(b->module, &copy->item);
  }
  *ir_push(&b->arena, &b->funcs) = (struct rebuilt){copy, func, *bound};
  return true;
}

/* --- calls of what was rebuilt --- */
/* The operands without those that hand over a symbol that is a number now; false where the caller's is another one. */
static bool remaining(struct binding *b, const struct rebuilt *to, const ir_op *call, ir_value **operands, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < call->operand_count; i++) {
    const ir_expr *symbol = to->old->params[i].symbol;
    const ir_expr *number = symbol ? ir_map_get(&to->bound.symbols, symbol) : NULL;
    ir_value *operand = ir_op_operand(call, i);
    if (!number) {
      operands[(*count)++] = operand;
    } else if (ir_value_closed_expr(operand) != number) {
      ir_error(b->context->diags, call->range, "%s: '%s' of @%s is fixed, but the call hands over another value", b->who,
               symbol->symbol->text, to->func->item.name->text);
      return false;
    }
  }
  return true;
}

static bool fit_call(struct binding *b, const struct rebuilt *to, ir_op *call) {
  size_t count;
  ir_value **operands = ir_new_array(&b->arena, ir_value *, call->operand_count);
  if (!remaining(b, to, call, operands, &count)) return false;
  ir_builder at = ir_before(call);
  ir_op *fitting = ir_build(&at, IR_CALL, operands, count, IR_SET({"callee", ir_get(call, "callee")}));
  if (!fitting) return false;
  fitting->flags |= call->flags & IR_OP_NO_TARGETS;
  if (ir_op_dict(call)) ir_op_set_dict(fitting, ir_op_dict(call));
  for (size_t i = 0; i < call->result_count; i++) {
    ir_value *old = ir_op_result(call, i), *result = ir_op_result(fitting, i);
    /* What a caller without numbers counts on has to be checked. */
    bool known = ir_type_relate(b->context, ir_func_facts(ir_op_func(call)), old->type, result->type) <= IR_TYPES_WEAKER;
    if (!known) {
      ir_op *cast = ir_build_with(&at, IR_MATCH_CAST, &result, 1, IR_NO_ATTRS, NULL, 0, &old->type, 1);
      result = ir_op_result(cast, 0);
    }
    result->name = old->name;
    ir_value_replace(old, result);
  }
  ir_op_erase(call);
  return true;
}

struct calls {
  struct binding *b;
  bool fine;
};

static bool see_call(void *user, ir_op *op) {
  struct calls *calls = user;
  const ir_attr *callee = ir_is(op, IR_CALL) ? ir_get(op, "callee") : NULL;
  for (size_t i = 0; callee && i < calls->b->funcs.count; i++) {
    const struct rebuilt *to = &calls->b->funcs.at[i];
    if (to->func->item.name != callee->string) continue;
    calls->fine = fit_call(calls->b, to, op);
    break;
  }
  return calls->fine;
}

static bool fit_calls(struct binding *b) {
  struct calls calls = {b, true};
  ir_each_body(func, b->module) {
    if (func->item.kind == IR_ITEM_FUNC && calls.fine) ir_walk(func->body, IR_PRE_ORDER, see_call, &calls);
  }
  return calls.fine;
}

/* Every symbol asked for is some func's. */
static bool check_used(struct binding *b) {
  for (size_t i = 0; i < b->request_count; i++) {
    const struct request *request = &b->requests[i];
    if (request->used) continue;
    ir_nearest nearest = {.wanted = ir_string_slice(request->name)};
    ir_each_body(func, b->module) {
      if (func->item.kind != IR_ITEM_FUNC || (func->item.flags & IR_ITEM_PRIVATE)) continue;
      ir_symbols_used used = symbols_of(b, func);
      for (size_t k = 0; k < used.count; k++) ir_nearest_offer(&nearest, ir_string_slice(model_name(func, used.at[k]->symbol)));
    }
    const char *hint = "";
    if (nearest.best.at) hint = ir_arena_printf(&b->arena, ": did you mean '%.*s'?", (int)nearest.best.length, nearest.best.at);
    ir_error_in(b->context->diags, b->who, "no public func has a parameter with the symbol '%s'%s", request->name->text, hint);
    return false;
  }
  return true;
}

static bool bind_all(struct binding *b, const ir_opt_strings *bindings) {
  for (size_t i = 0; i < bindings->count; i++) {
    if (!read_request(b, bindings->at[i])) return false;
  }
  ir_each_body(func, b->module) {
    ir_binding bound;
    bool public = func->item.kind == IR_ITEM_FUNC && !(func->item.flags & IR_ITEM_PRIVATE);
    if (public && find_requests(b, func, &bound) && !rebuild(b, func, &bound)) return false;
  }
  return check_used(b) && fit_calls(b);
}

bool ir_bind_symbols(ir_module *module, const ir_opt_strings *bindings, const char *who) {
  struct binding b = {.module = module, .context = module->context, .who = who};
  b.requests = ir_new_array(&b.arena, struct request, bindings->count);
  bool fine = bind_all(&b, bindings);
  ir_arena_free(&b.arena);
  return fine;
}

struct options {
  ir_opt_strings bindings;
};
static const ir_opt options[] = {
    OPT_STRINGS(struct options, bindings, "bindings", NULL, "symbols and numbers: [n=1, m=4]", .value = "SYMBOL=N"),
    OPT_END,
};

static bool bind(ir_pass_run *run) {
  const struct options *given = run->options;
  run->failed = !ir_bind_symbols(run->module, &given->bindings, "bind-symbolic-vars");
  return true;
}

const ir_pass ir_pass_bind_symbolic_vars = {
    .name = "bind-symbolic-vars",
    .doc = "Fix size symbols of public functions.",
    .options = options,
    .options_size = sizeof(struct options),
    .run = bind,
};
