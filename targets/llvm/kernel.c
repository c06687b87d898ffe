// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/kernel.c - prim_funcs as functions. Needs check.c to have passed. */
#include "targets/llvm/llvm.h"

#include "ir/print.h"

/* --- symbols: those of the types, explicit ones aside, in the order in which they appear --- */

struct symbols {
  emit_kernel *kernel;
  ir_arena *arena;
  size_t capacity;
};

static bool is_explicit(const ir_func *func, const ir_expr *symbol) {
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].symbol == symbol) return true;
  }
  return false;
}

static void note_symbol(void *user, const ir_expr *node) {
  struct symbols *s = user;
  emit_kernel *kernel = s->kernel;
  if (node->code != IR_S_SYMBOL || is_explicit(kernel->func, node)) return;
  for (size_t i = 0; i < kernel->symbol_count; i++) {
    if (kernel->symbols[i] == node) return;
  }
  ir_vec_reserve(s->arena, (void **)(uintptr_t)&kernel->symbols, &s->capacity, kernel->symbol_count + 1, sizeof *kernel->symbols);
  kernel->symbols[kernel->symbol_count++] = node;
}

void emit_kernel_prepare(ir_arena *arena, ir_func *func, const char *name, emit_kernel *kernel) {
  *kernel = (emit_kernel){.func = func, .name = name};
  struct symbols s = {.kernel = kernel, .arena = arena};
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_type *type = func->params[i].type;
    if (func->params[i].symbol || !ir_is_tensor(type)) continue;
    for (size_t d = 0; d < type->count; d++) ir_expr_walk(ir_func_context(func), ir_type_dim(type, d), note_symbol, &s);
  }
}

/* MORE: i64 parameters behind the kernel's own. */
static LLVMValueRef declare(emit_unit *unit, const emit_kernel *kernel, const char *name, size_t more) {
  LLVMValueRef function = LLVMGetNamedFunction(unit->module, name);
  if (function) return function;
  const ir_func *func = kernel->func;
  LLVMTypeRef *types = ir_new_array(unit->arena, LLVMTypeRef, 1 + func->param_count + kernel->symbol_count + more);
  unsigned count = 0;
  types[count++] = unit->ptr;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    bool buffer = !param->symbol && ir_is_tensor(param->type);
    types[count++] = buffer ? unit->ptr : emit_type(unit, ir_type_dtype(param->type), param->type->lanes);
  }
  for (size_t i = 0; i < kernel->symbol_count + more; i++) types[count++] = unit->i64;
  return LLVMAddFunction(unit->module, name, LLVMFunctionType(unit->i32, types, count, 0));
}

LLVMValueRef emit_kernel_declare(emit_unit *unit, const emit_kernel *kernel) {
  LLVMValueRef function = declare(unit, kernel, kernel->name, 0);
  if (unit->whole) LLVMSetLinkage(function, LLVMInternalLinkage);
  return function;
}

/* OUT buffers alias nothing; where no buffer is both read and written, what is only read may be treated alike. */
static void param_attributes(emit_unit *unit, const ir_func *func, LLVMValueRef function) {
  bool inout = false;
  for (size_t i = 0; i < func->param_count; i++) inout |= func->params[i].direction == IR_INOUT;
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol || !ir_is_tensor(param->type)) continue;
    if (param->direction == IR_OUT || (param->direction == IR_IN && !inout)) emit_param_attribute(unit, function, (unsigned)i + 1, "noalias");
    if (param->direction == IR_IN) emit_param_attribute(unit, function, (unsigned)i + 1, "readonly");
  }
}

static void bind_buffer(emit_function *f, const ir_param *param, LLVMValueRef data) {
  const ir_type *type = param->type;
  emit_buffer *buffer = ir_new(&f->arena, emit_buffer);
  *buffer = (emit_buffer){.data = data,
                          .dtype = ir_type_dtype(type),
                          .lanes = type->lanes,
                          .rank = type->count,
                          .dims = ir_new_array(&f->arena, LLVMValueRef, type->count),
                          .type_dims = ir_type_dims(type),
                          .width = 1};
  for (size_t d = 0; d < type->count; d++) buffer->dims[d] = emit_uniform(f, NULL, ir_type_dim(type, d));
  ir_map_put(&f->arena, &f->buffers, param->value, buffer);
}

static void name_param(LLVMValueRef value, const ir_string *name) {
  if (name) LLVMSetValueName2(value, name->text, name->length);
}

static void bind_params(emit_function *f, const emit_kernel *kernel) {
  const ir_func *func = kernel->func;
  for (size_t i = 0; i < kernel->symbol_count; i++) {
    LLVMValueRef value = LLVMGetParam(f->function, (unsigned)(1 + func->param_count + i));
    name_param(value, kernel->symbols[i]->symbol);
    ir_map_put(&f->arena, &f->symbols, kernel->symbols[i], value);
  }
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    LLVMValueRef value = LLVMGetParam(f->function, (unsigned)i + 1);
    name_param(value, param->name);
    if (param->symbol) ir_map_put(&f->arena, &f->symbols, param->symbol, value);
    if (!param->symbol && ir_is_scalar(param->type)) emit_bind(f, param->value, emit_uniform_value(value));
  }
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (!param->symbol && ir_is_tensor(param->type)) bind_buffer(f, param, LLVMGetParam(f->function, (unsigned)i + 1));
  }
}

/* --- what the function's facts take for granted --- */

static void check_where(emit_function *f, const ir_func *func) {
  for (size_t i = 0; i < func->where_count; i++) emit_require_clause(f, func, func->item.range, func->where[i]);
}

struct mention {
  const ir_expr *symbol;
  bool found;
};

static void mention(void *user, const ir_expr *node) {
  struct mention *m = user;
  m->found |= node == m->symbol;
}

/* Symbols of shapes are extents; those passed explicitly may be anything. */
static void check_symbols(emit_function *f, const ir_func *func) {
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    struct mention m = {.symbol = param->symbol};
    for (size_t k = 0; param->symbol && k < func->param_count; k++) {
      const ir_type *type = func->params[k].type;
      if (func->params[k].symbol || !ir_is_tensor(type)) continue;
      for (size_t d = 0; d < type->count; d++) ir_expr_walk(f->unit->context, ir_type_dim(type, d), mention, &m);
    }
    if (!m.found) continue;
    LLVMValueRef value = ir_map_get(&f->symbols, param->symbol);
    LLVMValueRef fine = emit_is_extent(f, value);
    const char *text = ir_arena_printf(&f->arena, "@%s: %s = {0} is no extent", func->item.name->text, param->symbol->symbol->text);
    emit_require(f, fine, func->item.range, NULL, text, 1, &value);
  }
}

/* bcast(a, b) in a type says that a and b broadcast. */
static void check_bcasts(emit_function *f, const ir_func *func) {
  for (size_t i = 0; i < f->proofs.bcasts.count; i++) {
    const ir_expr *node = f->proofs.bcasts.at[i];
    LLVMValueRef one = emit_i64(f->unit, 1), a = emit_uniform(f, NULL, node->kids[0]), b = emit_uniform(f, NULL, node->kids[1]);
    LLVMValueRef fits = LLVMBuildICmp(f->builder, LLVMIntEQ, a, b, "");
    fits = LLVMBuildOr(f->builder, fits, LLVMBuildICmp(f->builder, LLVMIntEQ, a, one, ""), "");
    fits = LLVMBuildOr(f->builder, fits, LLVMBuildICmp(f->builder, LLVMIntEQ, b, one, ""), "");
    const char *text = ir_arena_printf(&f->arena, "@%s: extents {0} and {1} do not broadcast", func->item.name->text);
    emit_require(f, fits, func->item.range, NULL, text, 2, (LLVMValueRef[]){a, b});
  }
}

/* A function with the kernel's parameters, which are bound. */
static void start(emit_function *f, emit_unit *unit, const emit_kernel *kernel, LLVMValueRef function) {
  ir_func *func = kernel->func;
  emit_function_attributes(unit, function);
  param_attributes(unit, func, function);
  emit_function_start(f, unit, func, function);
  f->hoists = true;
  ir_proofs_start(&f->proofs, f->source);
  const ir_attr *trusted = ir_dict_get(func->item.attrs, "assume_in_bounds");
  f->assume_in_bounds = trusted && trusted->kind == IR_ATTR_BOOL && trusted->i;
  bind_params(f, kernel);
}

/* Some of the rounds of LOOP, which is all that KERNEL does; what its facts say has been checked. NULL after a report. */
static LLVMValueRef define_range(emit_unit *unit, emit_kernel *kernel, ir_op *loop) {
  LLVMValueRef range = declare(unit, kernel, ir_arena_printf(unit->arena, "%s.rounds", kernel->name), 2);
  LLVMSetLinkage(range, LLVMInternalLinkage);
  emit_function f;
  start(&f, unit, kernel, range);
  unsigned count = LLVMCountParams(range);
  LLVMValueRef block = emit_i64(unit, emit_round_block(loop));
  f.ranged = loop;
  f.first = LLVMBuildMul(f.builder, LLVMGetParam(range, count - 2), block, "first");
  f.last = LLVMBuildMul(f.builder, LLVMGetParam(range, count - 1), block, "last");
  if (emit_round_block(loop) > 1) {
    LLVMValueRef extent = emit_scalar(&f, ir_op_operand(loop, 0)).value;
    LLVMValueRef ends = LLVMBuildICmp(f.builder, LLVMIntSLT, extent, f.last, "");
    f.last = LLVMBuildSelect(f.builder, ends, extent, f.last, "");
  }
  emit_region(&f, kernel->func->body);
  bool fine = !f.failed;
  emit_function_end(&f);
  return fine ? range : NULL;
}

bool emit_kernel_define(emit_unit *unit, emit_kernel *kernel) {
  ir_func *func = kernel->func;
  ir_op *loop = emit_shared_loop(unit, func);
  LLVMValueRef range = loop ? define_range(unit, kernel, loop) : NULL;
  if (loop && !range) return false;
  emit_function f;
  start(&f, unit, kernel, emit_kernel_declare(unit, kernel));
  check_symbols(&f, func);
  check_where(&f, func);
  check_bcasts(&f, func);
  if (range) {
    emit_share_rounds(&f, loop, range, ir_arena_printf(unit->arena, "%s.thread", kernel->name));
  } else {
    emit_region(&f, func->body);
  }
  kernel->can_fail = f.fail != NULL;
  bool fine = !f.failed;
  emit_function_end(&f);
  return fine;
}
