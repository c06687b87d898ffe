// SPDX-License-Identifier: Apache-2.0
/* passes/bind_symbolic_vars.c - fix size symbols: the public funcs that have them get a body with numbers. Needs nothing. */
#include "passes/bind_symbolic_vars.h"

#include "ir/inline.h"
#include "passes/pass.h"

#include <errno.h>
#include <stdlib.h>

struct binding {
  ir_context *context;
  const char *who;
  ir_arena arena;
  ir_binding bound;
  ir_map used; /* symbols that a function had */
};

static bool read_binding(struct binding *b, const char *text, const ir_string **name, const ir_expr **value) {
  const char *equals = strchr(text, '=');
  char *end = NULL;
  errno = 0;
  long long number = equals ? strtoll(equals + 1, &end, 10) : 0;
  if (!equals || equals == text || end == equals + 1 || *end || errno || number < 0) {
    ir_error_in(b->context->diags, b->who, "expected SYMBOL=N with a number from 0 on, found '%s'", text);
    return false;
  }
  *name = ir_intern(b->context, (ir_slice){text, (size_t)(equals - text)});
  *value = ir_expr_i64(b->context, number);
  return true;
}

/* Whether FUNC's parameters have a symbol that is to be fixed. */
static bool binds_here(struct binding *b, const ir_func *func) {
  bool found = false;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_type *type = func->params[i].type;
    bool dims = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
    for (size_t d = 0; dims && d < type->count; d++) {
      const ir_expr *dim = ir_type_dim(type, d);
      if (dim && dim->code == IR_S_SYMBOL && ir_map_has(&b->bound.symbols, dim)) {
        ir_map_put(&b->arena, &b->used, dim, b);
        found = true;
      }
    }
  }
  return found;
}

/* What the model called the symbols: `symbols = {p2o_0="p2o.0"}`. */
static void add_old_names(struct binding *b, const ir_func *func, const ir_string *name, const ir_expr *value) {
  const ir_attr *symbols = ir_dict_get(func->item.attrs, "symbols");
  for (size_t i = 0; symbols && symbols->kind == IR_ATTR_DICT && i < symbols->count; i++) {
    const ir_attr *old = symbols->items[2 * i + 1];
    if (old->kind != IR_ATTR_STRING || old->string != name) continue;
    ir_map_put(&b->arena, &b->bound.symbols, ir_expr_symbol(b->context, symbols->items[2 * i]->string), (void *)(uintptr_t)value);
  }
}

static bool rebuild(struct binding *b, ir_func *func) {
  ir_module *module = func->item.module;
  ir_func *copy = ir_func_new(module, IR_ITEM_FUNC, func->item.name);
  copy->item.flags = func->item.flags;
  copy->item.attrs = func->item.attrs;
  copy->item.range = func->item.range;
  ir_param *params = ir_new_array(&b->arena, ir_param, func->param_count);
  size_t count = 0;
  for (size_t i = 0; i < func->param_count; i++) {
    ir_param param = func->params[i];
    if (param.symbol && ir_map_has(&b->bound.symbols, param.symbol)) continue;
    param.type = ir_inline_type(b->context, &b->bound, param.type);
    params[count++] = param;
  }
  ir_func_set_params(copy, count, params, true);
  copy->result_count = func->result_count;
  copy->results = ir_new_array(&module->arena, const ir_type *, func->result_count);
  for (size_t i = 0; i < func->result_count; i++) {
    copy->results[i] = ir_inline_type(b->context, &b->bound, func->results[i]);
  }
  copy->where = ir_new_array(&module->arena, const ir_expr *, func->where_count);
  for (size_t i = 0; i < func->where_count; i++) {
    const ir_expr *fact = ir_simplify(b->context, NULL, ir_inline_expr(b->context, &b->bound, func->where[i]));
    int64_t holds;
    if (!ir_expr_is_int(fact, &holds)) {
      copy->where[copy->where_count++] = fact;
    } else if (!holds) {
      ir_error_in(b->context->diags, b->who, "a bound of @%s does not hold for the given symbols", func->item.name->text);
      return false;
    }
  }
  ir_map values = {0};
  for (size_t i = 0; i < func->body->arg_count; i++) ir_map_put(&b->arena, &values, func->body->args[i], copy->body->args[i]);
  ir_builder at = ir_at_end(copy->body);
  ir_op *end = ir_inline_region(&at, func->body, &b->arena, &values, &b->bound);
  ir_value **results = ir_new_array(&b->arena, ir_value *, end->operand_count);
  for (size_t i = 0; i < end->operand_count; i++) {
    ir_value *mapped = ir_map_get(&values, ir_op_operand(end, i));
    results[i] = mapped ? mapped : ir_op_operand(end, i);
  }
  ir_build_with(&at, IR_RETURN, results, end->operand_count, IR_NO_ATTRS, NULL, 0, NULL, 0);
  ir_item *after = func->item.prev;
  ir_module_remove(module, &func->item);
  ir_module_add(module, &copy->item, after);
  return true;
}

bool ir_bind_symbols(ir_module *module, const ir_opt_strings *bindings, const char *who) {
  if (!bindings->count) return true;
  struct binding b = {.context = module->context, .who = who};
  b.bound.arena = &b.arena;
  bool fine = true;
  for (size_t i = 0; i < bindings->count && fine; i++) {
    const ir_string *name;
    const ir_expr *value;
    fine = read_binding(&b, bindings->at[i], &name, &value);
    if (!fine) break;
    ir_map_put(&b.arena, &b.bound.symbols, ir_expr_symbol(b.context, name), (void *)(uintptr_t)value);
    ir_each_body(func, module) add_old_names(&b, func, name, value);
  }
  size_t rebuilt = 0;
  ir_each_body(func, module) {
    bool wanted = fine && func->item.kind == IR_ITEM_FUNC && !(func->item.flags & IR_ITEM_PRIVATE) && binds_here(&b, func);
    if (!wanted) continue;
    fine = rebuild(&b, func);
    rebuilt++;
  }
  if (fine && !rebuilt) {
    ir_error_in(b.context->diags, who, "no public func has a symbol '%s'", bindings->at[0]);
    fine = false;
  }
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
