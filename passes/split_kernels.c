// SPDX-License-Identifier: Apache-2.0
/* passes/split_kernels.c - a prim_func of several nests becomes a kernel for each of them, called one after the other; the
 * global memory that they share becomes the caller's. Needs call-tir-rewrite; schedule has made the nests. */
#include "base/vec.h"
#include "ir/infer.h"
#include "ir/inline.h"
#include "ir/symbols.h"
#include "passes/pass.h"

enum { SPLIT, KERNELS, HOISTED };

/* One nest of a prim_func as a prim_func of its own. */
typedef struct kernel {
  ir_op *nest;
  ir_func *func;
  ir_vec(ir_value *) values;  /* of the whole: what the parameters stand for */
  const ir_expr **symbols;    /* passed behind them */
  size_t symbol_count;
} kernel;

/* How a prim_func is taken apart. */
typedef struct recipe {
  ir_func *func;
  ir_vec(ir_op *) allocs; /* global: hoisted */
  ir_vec(kernel) kernels;
} recipe;

/* --- what can be taken apart --- */

static bool is_nest(const ir_op *op) { return ir_is(op, IR_FOR) || ir_is(op, IR_COMPUTE); }

static bool is_global(const ir_op *op) { return ir_is(op, IR_ALLOC) && !strcmp(ir_get_word(op, "scope"), "global"); }

/* A scalar that is the same wherever it is computed. */
static bool is_constant(const ir_op *op) {
  const ir_expr *expr = ir_is(op, IR_SCALAR) ? ir_get_expr(op, "value") : NULL;
  return expr && !expr->has_loads;
}

/* The operation of BODY that OP is, or is in. */
static const ir_op *top_of(const ir_op *op) {
  while (ir_op_parent(op)) op = ir_op_parent(op);
  return op;
}

/* Memory of one nest goes with it. */
static bool is_of_one_nest(const ir_op *alloc) {
  const ir_op *nest = NULL;
  for (const ir_use *use = ir_op_result(alloc, 0)->uses; use; use = use->next) {
    const ir_op *top = top_of(use->user);
    if (nest && nest != top) return false;
    nest = top;
  }
  return true;
}

static recipe *make_recipe(ir_pass_run *run, ir_func *func) {
  recipe *r = ir_new(run->scratch, recipe);
  r->func = func;
  ir_each_op(op, func->body) {
    if (is_nest(op)) {
      ir_push(run->scratch, &r->kernels)->nest = op;
    } else if (is_global(op)) {
      *ir_push(run->scratch, &r->allocs) = op;
    } else if (!is_constant(op) && !(ir_is(op, IR_ALLOC) && is_of_one_nest(op))) {
      return NULL;
    }
  }
  return r->kernels.count + r->allocs.count > 1 && r->kernels.count ? r : NULL;
}

/* --- what a nest uses --- */

struct using {
  ir_arena *arena;
  const ir_op *nest;
  ir_map used;              /* values from outside of the nest */
  ir_vec(ir_value *) work;
  ir_map read, written;     /* buffers */
};

static void use(struct using *u, ir_value *value) {
  if (ir_map_has(&u->used, value)) return;
  ir_map_put(u->arena, &u->used, value, value);
  *ir_push(u->arena, &u->work) = value;
}

struct loads {
  struct using *u;
  const ir_op *op;
};

static void see_load(void *user, const ir_expr *node) {
  struct loads *l = user;
  if (node->code == IR_S_LOAD) ir_map_put(l->u->arena, &l->u->read, ir_op_operand(l->op, node->arg), l);
}

static void see_attr(struct loads *l, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(ir_op_context(l->op), attr->expr, see_load, l);
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) see_attr(l, attr->items[i]);
}

static bool see_op(void *user, ir_op *op) {
  struct using *u = user;
  for (size_t i = 0; i < op->operand_count; i++) use(u, ir_op_operand(op, i));
  struct loads loads = {u, op};
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) see_attr(&loads, ir_op_slots(op)[i]);
  bool atomic = ir_is(op, IR_ATOMIC_ADD) || ir_is(op, IR_ATOMIC_MAX) || ir_is(op, IR_ATOMIC_MIN);
  size_t targets = ir_is(op, IR_STORE) ? (size_t)ir_get_int(op, "targets") : atomic;
  for (size_t i = 0; i < targets; i++) {
    ir_map_put(u->arena, &u->written, ir_op_operand(op, i), u);
    if (atomic) ir_map_put(u->arena, &u->read, ir_op_operand(op, i), u);
  }
  return true;
}

/* Everything that NEST needs, through scalars too. */
static struct using uses_of(ir_arena *arena, ir_op *nest) {
  struct using u = {.arena = arena, .nest = nest};
  see_op(&u, nest);
  for (size_t i = 0; i < nest->region_count; i++) ir_walk(ir_op_region(nest, i), IR_PRE_ORDER, see_op, &u);
  for (size_t i = 0; i < u.work.count; i++) {
    ir_op *op = ir_value_op(u.work.at[i]);
    if (!op || top_of(op) == nest || !ir_is(op, IR_SCALAR)) continue;
    for (size_t k = 0; k < op->operand_count; k++) use(&u, ir_op_operand(op, k));
  }
  return u;
}

/* --- making kernels --- */

static size_t writers_of(ir_pass_run *run, const recipe *r, const ir_value *buffer) {
  size_t count = 0;
  for (size_t i = 0; i < r->kernels.count; i++) {
    struct using u = uses_of(run->scratch, r->kernels.at[i].nest);
    count += ir_map_has(&u.written, buffer);
  }
  return count;
}

/* What is written in full by this nest alone keeps its `out`. */
static ir_direction direction_of(ir_pass_run *run, const recipe *r, const struct using *u, ir_value *value, ir_direction whole) {
  if (!ir_map_has(&u->written, value)) return IR_IN;
  bool out = whole == IR_OUT && !ir_map_has(&u->read, value) && writers_of(run, r, value) == 1;
  return out ? IR_OUT : IR_INOUT;
}

static bool see_symbols(void *user, ir_op *op) {
  ir_symbols_used *used = user;
  for (size_t i = 0; i < op->result_count; i++) ir_symbols_in_type(used, ir_op_result(op, i)->type, false);
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) ir_symbols_in_attr(used, ir_op_slots(op)[i]);
  return true;
}

/* A parameter for VALUE of the whole, where the nest uses it. */
static void add_param(ir_pass_run *run, recipe *r, kernel *k, const struct using *u, ir_param param, ir_value *value, void *params) {
  ir_vec(ir_param) *list = params;
  if (!ir_map_has(&u->used, value)) return;
  param.direction = direction_of(run, r, u, value, param.direction);
  param.value = NULL;
  *ir_push(run->scratch, list) = param;
  *ir_push(run->scratch, &k->values) = value;
}

static void clone_body(ir_pass_run *run, const recipe *r, kernel *k, const struct using *u) {
  ir_map values = {0};
  for (size_t i = 0; i < k->values.count; i++) ir_map_put(run->scratch, &values, k->values.at[i], k->func->params[i].value);
  ir_each_op(op, r->func->body) {
    bool needed = op == k->nest;
    for (size_t i = 0; i < op->result_count; i++) needed |= ir_map_has(&u->used, ir_op_result(op, i)) && !is_global(op);
    if (needed) ir_op_clone(op, k->func->body, NULL, run->scratch, &values);
  }
}

/* Returns the new item, which stands after AFTER. */
static ir_item *make_kernel(ir_pass_run *run, recipe *r, kernel *k, ir_item *after) {
  struct using u = uses_of(run->scratch, k->nest);
  ir_vec(ir_param) params = {0};
  for (size_t i = 0; i < r->func->param_count; i++) {
    const ir_param *param = &r->func->params[i];
    if (!param->symbol) add_param(run, r, k, &u, *param, param->value, &params);
  }
  for (size_t i = 0; i < r->allocs.count; i++) {
    ir_value *value = ir_op_result(r->allocs.at[i], 0);
    const ir_string *name = value->name ? value->name : ir_intern(run->context, ir_slice_of(ir_arena_printf(run->scratch, "w%zu", i)));
    add_param(run, r, k, &u, (ir_param){.name = name, .type = value->type}, value, &params);
  }
  ir_symbols_used used = {.context = run->context, .arena = run->scratch};
  for (size_t i = 0; i < params.count; i++) ir_symbols_in_type(&used, params.at[i].type, true);
  see_symbols(&used, k->nest);
  for (size_t i = 0; i < u.work.count; i++) {
    if (ir_value_op(u.work.at[i])) see_symbols(&used, ir_value_op(u.work.at[i]));
  }
  for (size_t i = 0; i < k->nest->region_count; i++) ir_walk(ir_op_region(k->nest, i), IR_PRE_ORDER, see_symbols, &used);
  for (size_t i = 0; k == r->kernels.at && i < r->func->where_count; i++) ir_symbols_in_expr(&used, r->func->where[i]);
  k->symbols = ir_symbols_unbound(&used, &k->symbol_count);
  for (size_t i = 0; i < k->symbol_count; i++) {
    *ir_push(run->scratch, &params) = (ir_param){.name = k->symbols[i]->symbol, .type = ir_type_scalar(run->context, IR_I64, 1), .symbol = k->symbols[i]};
  }
  const ir_string *whole = r->func->item.name;
  k->func = ir_func_new(run->module, IR_ITEM_PRIM_FUNC, ir_module_fresh_name(run->module, ir_string_slice(whole)));
  k->func->item.flags = IR_ITEM_PRIVATE;
  k->func->item.attrs = r->func->item.attrs;
  k->func->item.range = r->func->item.range;
  k->func->has_signature = true;
  ir_func_set_params(k->func, params.count, params.at, true);
  ir_symbols_copy_where(&used, r->func, k->func); /* for the first kernel, all */
  clone_body(run, r, k, &u);
  ir_func_make_names_unique(k->func);
  ir_module_add(run->module, &k->func->item, after);
  ir_count(run, KERNELS);
  return &k->func->item;
}

/* --- calls --- */

struct calling {
  ir_pass_run *run;
  ir_map recipes; /* ir_func -> recipe, or the map itself: stays whole */
};

static recipe *recipe_of(struct calling *c, ir_func *func) {
  void **slot = ir_map_slot(c->run->scratch, &c->recipes, func);
  if (!*slot) {
    recipe *r = make_recipe(c->run, func);
    ir_item *after = &func->item;
    for (size_t i = 0; r && i < r->kernels.count; i++) after = make_kernel(c->run, r, &r->kernels.at[i], after);
    *slot = r ? (void *)r : c;
    if (r) ir_count(c->run, SPLIT);
  }
  return *slot == (void *)c ? NULL : *slot;
}

/* The callee's symbols as the caller knows them; false where one is not told by the arguments' types. */
static bool bind(struct calling *c, const ir_op *call, const ir_func *func, ir_binding *binding) {
  const ir_facts *facts = ir_func_facts(ir_op_func(call));
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_expr *expr = func->params[i].symbol ? ir_value_closed_expr(ir_op_operand(call, i)) : NULL;
    if (expr) ir_map_put(binding->arena, &binding->symbols, func->params[i].symbol, (void *)(uintptr_t)expr);
  }
  for (size_t i = 0; i < func->param_count; i++) {
    const char *why;
    if (!func->params[i].symbol) ir_unify(c->run->context, facts, binding, func->params[i].type, ir_op_operand(call, i)->type, &why);
  }
  ir_symbols_used used = {.context = c->run->context, .arena = c->run->scratch};
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].symbol) ir_symbols_in_expr(&used, func->params[i].symbol);
    if (!func->params[i].symbol) ir_symbols_in_type(&used, func->params[i].type, false);
  }
  for (size_t i = 0; i < used.count; i++) {
    if (!ir_map_has(&binding->symbols, used.at[i])) return false;
  }
  return true;
}

static void call_kernel(ir_pass_run *run, ir_builder *b, const kernel *k, const ir_map *values, const ir_binding *binding) {
  size_t count = k->values.count + k->symbol_count;
  ir_value **operands = ir_new_array(run->scratch, ir_value *, count + 1);
  for (size_t i = 0; i < k->values.count; i++) operands[i] = ir_map_get(values, k->values.at[i]);
  for (size_t i = 0; i < k->symbol_count; i++) {
    operands[k->values.count + i] = ir_build_scalar(b, ir_inline_expr(run->context, binding, k->symbols[i]), NULL, 0);
  }
  ir_op *call = ir_build(b, IR_CALL, operands, count, IR_SET({"callee", ir_attr_global(run->context, k->func->item.name)}));
  if (call) call->flags |= IR_OP_NO_TARGETS;
  run->failed |= !call;
}

static bool visit(void *user, ir_op *op) {
  struct calling *c = user;
  const ir_attr *callee = ir_is(op, IR_CALL) ? ir_get(op, "callee") : NULL;
  ir_func *func = callee ? ir_item_func(ir_module_find(c->run->module, callee->string)) : NULL;
  if (!func || func->item.kind != IR_ITEM_PRIM_FUNC || !func->body || op->operand_count != func->param_count) return true;
  ir_binding binding = {.arena = c->run->scratch};
  if (!bind(c, op, func, &binding)) return true;
  const recipe *r = recipe_of(c, func);
  if (!r) return true;
  ir_builder b = ir_before(op);
  ir_map values = {0};
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].value) ir_map_put(c->run->scratch, &values, func->params[i].value, ir_op_operand(op, i));
  }
  for (size_t i = 0; i < r->allocs.count; i++) {
    const ir_type *type = ir_inline_type(c->run->context, &binding, ir_op_result(r->allocs.at[i], 0)->type);
    ir_op *alloc = ir_build_with(&b, IR_ALLOC, NULL, 0, IR_NO_ATTRS, NULL, 0, &type, 1);
    ir_map_put(c->run->scratch, &values, ir_op_result(r->allocs.at[i], 0), ir_op_result(alloc, 0));
    ir_count(c->run, HOISTED);
  }
  for (size_t i = 0; i < r->kernels.count; i++) call_kernel(c->run, &b, &r->kernels.at[i], &values, &binding);
  if (op->flags & IR_OP_NO_TARGETS || ir_is_unused(op)) ir_op_erase(op);
  return !c->run->failed;
}

static bool split(ir_pass_run *run) {
  struct calling c = {.run = run};
  ir_each_body(func, run->module) {
    if (func->item.kind == IR_ITEM_FUNC) ir_walk(func->body, IR_PRE_ORDER, visit, &c);
  }
  return run->stats[SPLIT] > 0;
}

const ir_pass ir_pass_split_kernels = {
    .name = "split-kernels",
    .doc = "Make each nest of a prim_func a kernel of its own, and the global memory between them the caller's.",
    .run = split,
    .needs = IR_PROPERTY_BUFFERS,
    .stats = STATS({"split", "prim_funcs taken apart"}, {"kernels", "kernels made of their nests"}, {"hoisted", "allocations moved to callers"}),
};
