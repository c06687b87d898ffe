// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/prim.c - plans: made once for the extents at hand, kept, and run. Needs the gen and exec files. */
#include "runtime/interp/exec.h"
#include "runtime/interp/interp.h"

enum { PLANS_KEPT = 8 /* of one function, for different extents */ };

/* --- making --- */
ir_gen *ir_plan_begin(ir_interp *interp, ir_func *func, const ir_op *op, size_t argument_count) {
  ir_gen *gen = ir_heap_alloc(sizeof *gen);
  ir_plan *plan = ir_heap_alloc(sizeof *plan);
  *plan = (ir_plan){.func = func, .op = op, .lanes = 1, .argument_count = argument_count};
  *gen = (ir_gen){.module = interp->module,
                  .context = interp->context,
                  .plan = plan,
                  .arena = &plan->arena,
                  .kernels = interp->kernels,
                  .fma = ir_module_fma(interp->module),
                  .checked = interp->options.checked,
                  .at = &plan->code,
                  .op = op};
  *ir_push(&gen->scratch, &gen->before) = NULL;
  ir_gen_reg(gen, IR_I64, 1, false, 0); /* nobody reads register 0 */
  return gen;
}

static size_t rounded_up(size_t size) { return ir_size_add(size, 63) & ~(size_t)63; }

static void fill_splat(const ir_plan *plan, const ir_reg_info *info, uint8_t *at) {
  for (int64_t lane = 0; lane < plan->lanes; lane++) memcpy(at + (size_t)lane * info->size, info->constant, info->size);
}

/* Gives every register its place. */
static void lay_out(ir_plan *plan) {
  size_t total = 0;
  for (size_t i = 0; i < plan->reg_count; i++) {
    ir_reg_info *info = &plan->regs[i];
    if (info->constant && !info->splat) continue;
    info->offset = total;
    size_t lanes = info->varying ? (size_t)plan->lanes : 1;
    total = ir_size_add(total, rounded_up(ir_size_mul(ir_size_mul(info->size, lanes), info->rows)));
  }
  uint8_t *memory = ir_heap_alloc(ir_size_add(total, 64));
  memset(memory, 0, total + 64);
  plan->allocation = memory;
  plan->memory = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  plan->at = ir_new_array(&plan->arena, uint8_t *, plan->reg_count);
  for (size_t i = 0; i < plan->reg_count; i++) {
    const ir_reg_info *info = &plan->regs[i];
    plan->at[i] = info->constant && !info->splat ? (uint8_t *)(uintptr_t)info->constant : plan->memory + info->offset;
    if (info->splat && info->rows) fill_splat(plan, info, plan->at[i]);
    if (info->width > plan->width) plan->width = info->width;
  }
}

ir_plan *ir_plan_end(ir_interp *interp, ir_gen *gen) {
  (void)interp;
  ir_plan *plan = gen->plan;
  bool failed = gen->failed;
  if (!failed) {
    plan->buffers = ir_new_array(&plan->arena, ir_buffer, gen->buffers.count);
    if (gen->buffers.count) memcpy(plan->buffers, gen->buffers.at, gen->buffers.count * sizeof *plan->buffers);
    plan->buffer_count = gen->buffers.count;
    plan->regs = ir_new_array(&plan->arena, ir_reg_info, gen->regs.count);
    memcpy(plan->regs, gen->regs.at, gen->regs.count * sizeof *plan->regs);
    plan->reg_count = gen->regs.count;
    lay_out(plan);
  }
  ir_arena_free(&gen->scratch);
  ir_heap_free(gen);
  if (!failed) return plan;
  ir_plan_free(plan);
  return NULL;
}

void ir_plan_free(ir_plan *plan) {
  ir_heap_free(plan->allocation);
  ir_arena_free(&plan->arena);
  ir_heap_free(plan);
}

ir_plan *ir_plan_find(const ir_map *map, const void *owner, size_t count, const int64_t *key) {
  ir_plan *plan = ir_map_get(map, owner);
  while (plan && (plan->key_count != count || (count && memcmp(plan->key, key, count * sizeof *key)))) plan = plan->next;
  return plan;
}

void ir_plan_keep(ir_interp *interp, ir_map *map, const void *owner, ir_plan *plan, size_t count, const int64_t *key) {
  int64_t *copy = ir_new_array(&plan->arena, int64_t, count);
  if (count) memcpy(copy, key, count * sizeof *key);
  plan->key = copy;
  plan->key_count = count;
  ir_plan **first = (ir_plan **)ir_map_slot(&interp->arena, map, owner);
  plan->next = *first;
  *first = plan;
  ir_plan **link = first;
  for (int i = 0; *link && i < PLANS_KEPT; i++) link = &(*link)->next;
  if (!*link || (*link)->busy) return;
  ir_plan *old = *link;
  *link = NULL;
  while (old) {
    ir_plan *next = old->next;
    ir_plan_free(old);
    old = next;
  }
}

/* --- prim_funcs --- */
static ir_plan *make_prim(ir_interp *interp, ir_func *func, const ir_symbols *symbols, ir_object *const *arguments) {
  ir_gen *gen = ir_plan_begin(interp, func, NULL, func->param_count);
  ir_memo memo = {0};
  gen->memo = &memo;
  for (size_t i = 0; i < symbols->count; i++) {
    ir_origin *source = ir_new(&gen->scratch, ir_origin);
    source->reg = ir_gen_i64(gen, symbols->at[i].value);
    ir_map_put(&gen->scratch, &gen->symbols, symbols->at[i].name, source);
  }
  ir_gen_usage(gen, func->body);
  uint32_t *params = ir_new_array(gen->arena, uint32_t, func->param_count);
  ir_reg *scalars = ir_new_array(gen->arena, ir_reg, func->param_count);
  size_t count = 0;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol) continue;
    if (param->type->kind == IR_TYPE_SCALAR) {
      scalars[i] = ir_gen_reg(gen, ir_type_dtype(param->type), param->type->lanes, false, 0);
      ir_gen_bind(gen, param->value, (ir_origin){.reg = scalars[i]});
      continue;
    }
    const ir_tensor *tensor = arguments[i]->tensor;
    uint32_t buffer = ir_gen_add_buffer(gen, param->value, param->name ? param->name->text : "parameter", IR_BUFFER_PARAM,
                                        (ir_dtype)tensor->dtype, 1, tensor->rank, tensor->dims);
    if (ir_map_has(&gen->stored, param->value)) ir_gen_written(gen, buffer);
    gen->buffers.at[buffer].raced = gen->checked && ir_map_has(&gen->raced, param->value);
    params[count++] = (uint32_t)i;
  }
  gen->plan->params = params;
  gen->plan->scalars = scalars;
  gen->plan->param_count = count;
  gen->lazy = true;
  ir_gen_region(gen, func->body);
  return ir_plan_end(interp, gen);
}

static size_t key_size(size_t count, ir_object *const *arguments) {
  size_t size = 0;
  for (size_t i = 0; i < count; i++) size += 1 + (arguments[i]->kind == IR_OBJECT_TENSOR ? arguments[i]->tensor->rank : 0);
  return size;
}

/* What a plan depends on: extents, and symbols that are passed explicitly. */
static void fill_key(const ir_func *func, ir_object *const *arguments, int64_t *key) {
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_object *object = arguments[i];
    if (object->kind != IR_OBJECT_TENSOR) {
      *key = 0;
      if (func->params[i].symbol) ir_object_as_i64(object, key);
      key++;
      continue;
    }
    *key++ = object->tensor->rank;
    if (object->tensor->rank) memcpy(key, object->tensor->dims, object->tensor->rank * sizeof *key);
    key += object->tensor->rank;
  }
}

static bool run_prim(ir_interp *interp, ir_func *func, const ir_symbols *symbols, size_t count, ir_object *const *arguments) {
  size_t size = key_size(count, arguments);
  int64_t *key = ir_heap_alloc(ir_size_mul(size, sizeof *key));
  fill_key(func, arguments, key);
  ir_plan *plan = ir_plan_find(&interp->prims, func, size, key);
  if (!plan) {
    plan = make_prim(interp, func, symbols, arguments);
    if (plan) ir_plan_keep(interp, &interp->prims, func, plan, size, key);
  }
  ir_heap_free(key);
  return plan && ir_plan_run(interp, plan, count, arguments);
}

bool ir_interp_prim(ir_interp *interp, ir_func *func, size_t count, ir_object *const *arguments) {
  if (func->item.kind != IR_ITEM_PRIM_FUNC || !func->body) {
    return ir_interp_fail(interp, func->item.range, "'@%s' is no prim_func with a body", func->item.name->text);
  }
  ir_symbols symbols = {0};
  ir_object **coerced = ir_heap_alloc(ir_size_mul(count, sizeof *coerced));
  for (size_t i = 0; i < count; i++) {
    bool fits = i < func->param_count && func->params[i].type;
    coerced[i] = ir_object_retain(arguments[i]);
    if (fits) coerced[i] = ir_object_coerce(interp, func->params[i].type, coerced[i]);
  }
  bool ok = ir_symbols_enter(interp, &symbols, func, count, coerced) && run_prim(interp, func, &symbols, count, coerced);
  for (size_t i = 0; i < count; i++) ir_object_release(coerced[i]);
  ir_heap_free(coerced);
  ir_symbols_free(&symbols);
  return ok;
}

/* --- running --- */
static void set_scalar(const ir_exec *exec, ir_reg reg, const ir_object *object) {
  const ir_reg_info *info = &exec->plan->regs[reg];
  ir_dtype dtype = (ir_dtype)info->dtype;
  uint64_t bits = 0;
  ir_dtype given;
  ir_object_as_scalar(object, &given, &bits);
  if (exec->kernels->load[dtype]) {
    exec->kernels->load[dtype](exec->at[reg], &bits, NULL, NULL, 1);
    return;
  }
  if (!ir_is_float(dtype)) bits = (uint64_t)ir_int_from_bits(dtype, bits);
  memcpy(exec->at[reg], &bits, info->size);
}

bool ir_plan_run(ir_interp *interp, ir_plan *plan, size_t count, ir_object *const *arguments) {
  size_t buffers = plan->buffer_count;
  ir_exec exec = {.plan = plan,
                  .kernels = interp->kernels,
                  .diags = interp->context->diags,
                  .meter = interp->meter,
                  .checked = interp->options.checked,
                  .quiet = interp->options.quiet,
                  .steps = interp->steps,
                  .step_limit = interp->options.max_steps,
                  .at = plan->at,
                  .hi = 1};
  ir_arena arena = {0};
  exec.data = ir_new_array(&arena, uint8_t *, buffers);
  exec.owned = ir_new_array(&arena, ir_tensor *, buffers);
  exec.touches = ir_new_array(&arena, ir_touch *, buffers);
  exec.reduces = ir_new_array(&arena, ir_reduce_state, plan->reduce_count);
  exec.offsets = ir_new_array(&arena, int64_t, (size_t)plan->lanes);
  exec.raw = ir_new_array(&arena, uint8_t, ir_size_mul((size_t)plan->lanes * 8, plan->width));
  for (size_t i = 0; i < plan->param_count; i++) exec.data[i] = arguments[plan->params[i]]->tensor->data;
  for (size_t i = 0; i < count && i < plan->argument_count; i++) {
    if (plan->scalars && plan->scalars[i]) set_scalar(&exec, plan->scalars[i], arguments[i]);
  }
  bool ok = ir_exec_code(&exec, &plan->code);
  for (size_t i = 0; i < buffers; i++) {
    ir_tensor_release(exec.owned[i]);
    ir_heap_free(exec.touches[i]);
  }
  ir_arena_free(&arena);
  interp->steps = exec.steps;
  return ok;
}
