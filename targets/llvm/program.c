// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/program.c - what of a module is emitted, and into which LLVM module. Prim_funcs that are equal but for
 * their names become one kernel. */
#include "targets/llvm/program.h"

#include "ir/print.h"

/* --- equal kernels --- */

typedef struct kernel_text {
  ir_slice text;
  emit_kernel *kernel;
} kernel_text;

static bool same_text(const void *object, const void *key) {
  return ir_slice_equal(((const kernel_text *)object)->text, ((const kernel_text *)key)->text);
}

struct plan {
  emit_program *program;
  ir_interner texts;
  const ir_string *nameless;
  bool every, failed;
};

static bool find_assert(void *user, ir_op *op) {
  (void)user;
  return !ir_is(op, IR_ASSERT);
}

/* Messages say where something stands: functions that may send some are kept apart. */
static bool may_be_shared(const struct plan *plan, const ir_func *func) {
  return !plan->program->checked && !func->where_count && ir_walk(func->body, IR_PRE_ORDER, find_assert, NULL);
}

/* The text of FUNC without its name. */
static ir_slice text_of(struct plan *plan, ir_func *func) {
  const ir_string *name = func->item.name;
  ir_text text = {0};
  func->item.name = plan->nameless;
  ir_print_item(&text, &func->item, &(ir_print_options){.strip_locs = true});
  func->item.name = name;
  ir_slice copy = {ir_arena_copy(plan->program->arena, text.at, text.length), text.length};
  ir_text_free(&text);
  return copy;
}

static emit_kernel *new_kernel(struct plan *plan, ir_func *func) {
  emit_program *program = plan->program;
  emit_kernel *kernel = ir_new(program->arena, emit_kernel);
  const char *name = ir_arena_printf(program->arena, "kernel.%s", ir_mangled(program->arena, func->item.name));
  emit_kernel_prepare(program->arena, func, name, kernel);
  *ir_push(program->arena, &program->kernels) = kernel;
  return kernel;
}

static void add_prim(struct plan *plan, ir_func *func) {
  emit_program *program = plan->program;
  if (ir_map_has(&program->by_func, func)) return;
  if (!emit_check_prim(func)) {
    plan->failed = true;
    return;
  }
  emit_kernel *kernel = NULL;
  if (may_be_shared(plan, func)) {
    const kernel_text key = {.text = text_of(plan, func)};
    uint64_t hash = ir_hash_bytes(key.text.at, key.text.length);
    void **slot = ir_intern_slot(program->arena, &plan->texts, hash, &key, same_text);
    if (!*slot) {
      kernel_text *entry = ir_new(program->arena, kernel_text);
      *entry = (kernel_text){key.text, new_kernel(plan, func)};
      *slot = entry;
    }
    kernel = ((kernel_text *)*slot)->kernel;
  }
  ir_map_put(program->arena, &program->by_func, func, kernel ? kernel : new_kernel(plan, func));
}

static void add_constant(struct plan *plan, const ir_op *op) {
  emit_program *program = plan->program;
  ir_data data;
  plan->failed |= !ir_const_data(op, &data);
  if (plan->failed || !data.size) return;
  void **slot = ir_map_slot(program->arena, &program->constant_at, data.bytes);
  if (*slot) return;
  *ir_push(program->arena, &program->constants) = data;
  *slot = (void *)(uintptr_t)program->constants.count;
}

static bool add_callee(void *user, ir_op *op) {
  struct plan *plan = user;
  if (ir_is(op, IR_CONST)) add_constant(plan, op);
  bool calls = ir_is(op, IR_CALL) || ir_is(op, IR_CALL_TIR);
  const ir_attr *callee = calls ? ir_get(op, "callee") : NULL;
  ir_func *func = callee ? ir_item_func(ir_module_find(plan->program->module, callee->string)) : NULL;
  if (func && func->body && func->item.kind == IR_ITEM_PRIM_FUNC) add_prim(plan, func);
  return !plan->failed;
}

bool emit_program_plan(emit_program *program, bool every) {
  struct plan plan = {.program = program, .every = every};
  plan.nameless = ir_intern(program->module->context, ir_lit("kernel"));
  ir_each_body(func, program->module) {
    if (func->item.kind == IR_ITEM_PRIM_FUNC && every) add_prim(&plan, func);
    if (func->item.kind != IR_ITEM_FUNC) continue;
    *ir_push(program->arena, &program->hosts) = func;
    ir_walk(func->body, IR_PRE_ORDER, add_callee, &plan);
    if (plan.failed) return false;
  }
  return !plan.failed;
}

/* --- sharing the work --- */

struct cost {
  uint64_t sum;
};

static void add_size(void *user, const ir_expr *node) {
  struct cost *cost = user;
  cost->sum += ir_scalars[node->code].expanded ? 40 : 1;
}

static void attr_cost(ir_context *context, const ir_attr *attr, struct cost *cost) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(context, attr->expr, add_size, cost);
  if (attr->kind != IR_ATTR_LIST) return;
  for (size_t i = 0; i < attr->count; i++) attr_cost(context, attr->items[i], cost);
}

static bool op_cost(void *user, ir_op *op) {
  struct cost *cost = user;
  cost->sum += 5;
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) attr_cost(ir_op_context(op), ir_op_slots(op)[i], cost);
  return true;
}

static uint64_t cost_of(ir_func *func) {
  struct cost cost = {0};
  ir_walk(func->body, IR_PRE_ORDER, op_cost, &cost);
  return cost.sum;
}

static emit_unit *make_unit(emit_program *program, bool whole, const char *name) {
  emit_unit *unit = emit_unit_new(program->module, program->arena, &program->target, name);
  unit->checked = program->checked;
  unit->measured = program->measured;
  unit->constants = &program->constant_at;
  unit->whole = whole;
  unit->side = program->side;
  return unit;
}

static size_t lightest(const uint64_t *loads, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++) {
    if (loads[i] < loads[best]) best = i;
  }
  return best;
}

enum { MOST_UNITS = 16 };

static bool export_all(emit_program *program, emit_unit *unit) {
  for (size_t i = 0; i < program->hosts.count; i++) {
    ir_func *func = program->hosts.at[i];
    if (!(func->item.flags & IR_ITEM_PRIVATE) && !emit_export_function(unit, func)) return false;
  }
  return emit_link_support(unit);
}

bool emit_program_units(emit_program *program, size_t count, bool whole, emit_unit **units, size_t *made) {
  uint64_t loads[MOST_UNITS] = {0};
  if (count > program->kernels.count) count = program->kernels.count;
  if (count > MOST_UNITS) count = MOST_UNITS;
  if (!count) count = 1;
  for (*made = 0; *made < count; (*made)++) units[*made] = make_unit(program, whole, "rill");
  for (size_t i = 0; i < program->kernels.count; i++) {
    emit_kernel *kernel = program->kernels.at[i];
    size_t at = lightest(loads, count);
    loads[at] += cost_of(kernel->func);
    if (!emit_kernel_define(units[at], kernel)) return false;
  }
  /* Last: by now it is known which kernels can fail. */
  size_t at = lightest(loads, count);
  for (size_t i = 0; i < program->hosts.count; i++) {
    if (!emit_host_function(units[at], &program->by_func, program->hosts.at[i])) return false;
  }
  if (whole && !export_all(program, units[at])) return false;
  for (size_t i = 0; i < count; i++) {
    if (!emit_unit_verify(units[i])) return false;
  }
  return true;
}
