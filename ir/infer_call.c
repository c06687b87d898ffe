// SPDX-License-Identifier: Apache-2.0
/* ir/infer_call.c - calls: arguments against a signature, results after substitution. Needs ir/infer, ir/print. */
#include "base/vec.h"
#include "ir/infer.h"
#include "ir/ops/infer_ops.h"
#include "ir/print.h"

static bool argument_fails(ir_infer *in, const char *callee, size_t argument, const ir_type *param, const char *why) {
  return ir_infer_fail(in, "argument %zu of %s has type %s, expected %s: %s", argument, callee,
                       ir_type_text(in->scratch, in->operands[argument]->type), ir_type_text(in->scratch, param), why);
}

static bool takes_operand(const ir_param *param, bool skip_out) { return !(skip_out && param->direction == IR_OUT); }

static const char *callee_text(const ir_infer *in, const ir_func *func) {
  return ir_arena_printf(in->scratch, "'@%s'", func->item.name->text);
}

/* Explicit symbols first: they may stand in any type. */
static bool bind_symbols(ir_infer *in, const ir_func *func, size_t first, bool skip_out, ir_binding *binding) {
  size_t operand = first;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (!takes_operand(param, skip_out)) continue;
    ir_value *value = in->operands[operand++];
    if (!param->symbol) continue;
    if (value->type != param->type) return argument_fails(in, callee_text(in, func), operand - 1, param->type, "an explicit size");
    const ir_expr *expr = ir_value_closed_expr(value);
    if (expr) ir_map_put(binding->arena, &binding->symbols, param->symbol, (void *)(uintptr_t)expr);
  }
  return true;
}

/* What a graph function's signature asks of the sizes. */
static bool check_where(ir_infer *in, const ir_func *func, const ir_binding *binding) {
  for (size_t i = 0; i < func->where_count; i++) {
    const ir_expr *condition = ir_expr_substitute(in->context, binding, func->where[i]);
    if (!condition || ir_prove(in->context, in->facts, condition) != IR_REFUTED) continue;
    ir_text text = {0};
    ir_print_expr(&text, func->where[i], NULL, 0);
    ir_infer_fail(in, "'@%s' requires '%s', which never holds here", func->item.name->text, text.at);
    ir_text_free(&text);
    return false;
  }
  return true;
}

bool ir_infer_unify_call(ir_infer *in, const ir_func *func, size_t first, bool skip_out, ir_binding *binding) {
  size_t wanted = 0, given = in->operand_count - first;
  for (size_t i = 0; i < func->param_count; i++) wanted += takes_operand(&func->params[i], skip_out);
  if (wanted != given) return ir_infer_fail(in, "%zu argument%s for '@%s', expected %zu", given, ir_plural(given), func->item.name->text, wanted);
  if (!bind_symbols(in, func, first, skip_out, binding)) return false;
  /* Twice: a compound extent may speak of symbols that a later parameter binds. */
  for (int round = 0; round < 2; round++) {
    size_t operand = first;
    for (size_t i = 0; i < func->param_count; i++) {
      const ir_param *param = &func->params[i];
      if (!takes_operand(param, skip_out)) continue;
      const ir_type *type = in->operands[operand++]->type;
      const char *why;
      if (param->symbol) continue;
      bool memory = func->item.kind != IR_ITEM_PRIM_FUNC || ir_is_tensor(param->type) == ir_is_tensor(type);
      if (!memory) return argument_fails(in, callee_text(in, func), operand - 1, param->type, "a buffer is a tensor, a scalar is none");
      if (!ir_unify(in->context, in->facts, binding, param->type, type, &why)) {
        return argument_fails(in, callee_text(in, func), operand - 1, param->type, why);
      }
    }
  }
  return check_where(in, func, binding);
}

static bool declared_or_any(ir_infer *in) {
  if (!in->declared_count) return ir_infer_result(in, in->context->any_type);
  for (size_t i = 0; i < in->declared_count; i++) ir_infer_result(in, in->declared[i]);
  return true;
}

struct candidates {
  const ir_type *type;
  ir_binding *binding;
};

static const ir_expr *keep_symbol(void *user, ir_context *context, const ir_expr *leaf) {
  (void)context;
  struct candidates *c = user;
  if (leaf->code != IR_S_SYMBOL || ir_map_has(&c->binding->symbols, leaf)) return leaf;
  /* A symbol that no parameter could have bound is one of the function around. */
  for (size_t i = 0; i < c->type->count; i++) {
    const ir_type *param = ir_type_field(c->type, i);
    bool shaped = param->kind == IR_TYPE_TENSOR || param->kind == IR_TYPE_SHAPE;
    for (size_t k = 0; shaped && k < param->count; k++) {
      if (ir_type_dim(param, k) == leaf) return leaf;
    }
  }
  ir_map_put(c->binding->arena, &c->binding->symbols, leaf, (void *)(uintptr_t)leaf);
  return leaf;
}

static void keep_outer_symbols(ir_context *context, const ir_type *type, struct candidates *c) {
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  for (size_t i = 0; i < (size_t)type->count + type->result_count; i++) {
    if (!type->items[i]) continue;
    if (shaped) ir_expr_replace(context, type->items[i], keep_symbol, c);
    if (!shaped) keep_outer_symbols(context, type->items[i], c);
  }
}

static bool infer_call_value(ir_infer *in) {
  if (!in->operand_count) return ir_infer_fail(in, "no function to call");
  const ir_type *type = ir_infer_type(in, 0);
  if (type->kind != IR_TYPE_FUNC) {
    return ir_infer_fail(in, "operand 0 has type %s, expected a function", ir_type_text(in->scratch, type));
  }
  if (!type->ranked) return declared_or_any(in);
  if (in->operand_count - 1 != type->count) {
    size_t given = in->operand_count - 1;
    return ir_infer_fail(in, "%zu argument%s for a function of type %s", given, ir_plural(given), ir_type_text(in->scratch, type));
  }
  ir_binding binding = {.arena = in->scratch};
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < type->count; i++) {
      const char *why;
      const ir_type *param = ir_type_field(type, i);
      if (ir_unify(in->context, in->facts, &binding, param, ir_infer_type(in, i + 1), &why)) continue;
      return argument_fails(in, "the function value", i + 1, param, why);
    }
  }
  for (size_t i = 0; i < type->result_count; i++) {
    keep_outer_symbols(in->context, ir_type_result(type, i), &(struct candidates){type, &binding});
    ir_infer_result(in, ir_type_substitute(in->context, in->facts, &binding, ir_type_result(type, i)));
  }
  return true;
}

/* The function item that `callee` names; NULL with *missing where no item has the name (yet). */
static const ir_func *find_callee(ir_infer *in, bool *missing) {
  const ir_string *name = ir_infer_attr(in, "callee")->string;
  ir_item *item = in->module ? ir_module_find(in->module, name) : NULL;
  *missing = !item;
  if (item && ir_is_func(item) && item->kind != IR_ITEM_REDUCER) return ir_item_func(item);
  if (item) ir_infer_fail(in, "'@%s' is not a function", name->text);
  return NULL;
}

static bool callee_missing(ir_infer *in) {
  /* An item may stand later in the text; whether it exists is the verifier's question. */
  if (in->declared_count) return declared_or_any(in);
  return ir_infer_fail(in, "no function '@%s'", ir_infer_attr(in, "callee")->string->text);
}

bool infer_call(ir_infer *in) {
  if (!ir_infer_attr(in, "callee")) return infer_call_value(in);
  bool missing;
  const ir_func *func = find_callee(in, &missing);
  if (!func) return missing && callee_missing(in);
  if (!func->has_signature) return declared_or_any(in);
  ir_binding binding = {.arena = in->scratch};
  if (!ir_infer_unify_call(in, func, 0, false, &binding)) return false;
  if (func->item.kind == IR_ITEM_PRIM_FUNC) return ir_infer_result(in, in->context->unit_type);
  for (size_t i = 0; i < func->result_count; i++) {
    ir_infer_result(in, ir_type_substitute(in->context, in->facts, &binding, func->results[i]));
  }
  return true;
}

/* The operand that a result takes the place of must be an `inout` parameter of the callee, each once. */
static bool infer_inplace(ir_infer *in, const ir_func *func, bool *taken) {
  const ir_attr *inplace = ir_infer_attr(in, "inplace");
  for (size_t k = 0; k < inplace->count; k++) {
    int64_t operand = inplace->items[k]->i;
    if (operand < 0 || operand >= (int64_t)in->operand_count) {
      return ir_infer_fail(in, "attribute 'inplace' names operand %lld, the call has %zu", (long long)operand, in->operand_count);
    }
    if (taken[operand]) return ir_infer_fail(in, "attribute 'inplace' names operand %lld twice", (long long)operand);
    taken[operand] = true;
    size_t index = 0, at = 0;
    while (func->params[index].direction == IR_OUT || at++ != (size_t)operand) index++;
    if (func->params[index].direction != IR_INOUT) {
      return ir_infer_fail(in, "attribute 'inplace' names operand %lld, which '@%s' does not overwrite", (long long)operand,
                           func->item.name->text);
    }
    ir_infer_result(in, ir_infer_type(in, (size_t)operand));
  }
  return true;
}

bool infer_call_tir(ir_infer *in) {
  bool missing;
  const ir_func *func = find_callee(in, &missing);
  if (!func) return missing && callee_missing(in);
  if (func->item.kind != IR_ITEM_PRIM_FUNC) return ir_infer_fail(in, "'@%s' is not a prim_func", func->item.name->text);
  if (!func->has_signature) return ir_infer_fail(in, "'@%s' has no signature", func->item.name->text);
  ir_binding binding = {.arena = in->scratch};
  if (!ir_infer_unify_call(in, func, 0, true, &binding)) return false;
  bool *taken = ir_new_array(in->scratch, bool, in->operand_count);
  if (in->code == IR_CALL_TIR_INPLACE && !infer_inplace(in, func, taken)) return false;
  size_t operand = 0;
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].direction == IR_INOUT && !taken[operand]) {
      return ir_infer_fail(in, "'@%s' overwrites operand %zu, which no result takes the place of", func->item.name->text, operand);
    }
    if (func->params[i].direction != IR_OUT) operand++;
  }
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].direction != IR_OUT) continue;
    ir_infer_result(in, ir_type_substitute(in->context, in->facts, &binding, func->params[i].type));
  }
  return true;
}

bool infer_call_packed(ir_infer *in) {
  const ir_attr *result = ir_infer_attr(in, "result");
  if (result) return ir_infer_result(in, result->type);
  return infer_declared(in);
}

bool infer_closure(ir_infer *in) { return ir_infer_result(in, ir_infer_attr(in, "type")->type); }
