// SPDX-License-Identifier: Apache-2.0
/* tools/ir-run/alone.c - a host program around one kernel. Needs ir/infer, ir/symbols. */
#include "tools/ir-run/alone.h"

#include "base/vec.h"
#include "ir/infer.h"
#include "ir/symbols.h"

#include <stdlib.h>

struct making {
  ir_arena *arena;
  ir_context *context;
  ir_alone *alone;
  ir_vec(ir_param) params;
  ir_vec(ir_alone_source) from;
};

/* What tells SYMBOL: a parameter that is the symbol, or an extent that is nothing else. The verifier sees to it that there is one. */
static ir_alone_source find_symbol(const ir_func *kernel, const ir_expr *symbol) {
  for (size_t i = 0; i < kernel->param_count; i++) {
    const ir_param *param = &kernel->params[i];
    if (param->symbol == symbol) return (ir_alone_source){i, -1};
    if (param->symbol || !ir_is_tensor(param->type)) continue;
    for (size_t axis = 0; axis < param->type->count; axis++) {
      if (ir_type_dim(param->type, axis) == symbol) return (ir_alone_source){i, (int)axis};
    }
  }
  abort();
}

static void add_symbols(struct making *m) {
  const ir_func *kernel = m->alone->kernel;
  ir_symbols_used used = {.context = m->context, .arena = m->arena};
  for (size_t i = 0; i < kernel->param_count; i++) {
    if (kernel->params[i].symbol) ir_symbols_in_expr(&used, kernel->params[i].symbol);
    if (!kernel->params[i].symbol) ir_symbols_in_type(&used, kernel->params[i].type, true);
  }
  for (size_t i = 0; i < used.count; i++) {
    *ir_push(m->arena, &m->from) = find_symbol(kernel, used.at[i]);
    *ir_push(m->arena, &m->params) = (ir_param){.name = used.at[i]->symbol, .symbol = used.at[i], .type = ir_type_scalar(m->context, IR_I64, 1)};
  }
}

/* What the kernel reads becomes parameters, what it writes results. */
static void add_buffers(struct making *m) {
  const ir_func *kernel = m->alone->kernel;
  ir_func *func = m->alone->func;
  func->results = ir_new_array(&kernel->item.module->arena, const ir_type *, kernel->param_count + 1);
  m->alone->to = ir_new_array(m->arena, size_t, kernel->param_count + 1);
  for (size_t i = 0; i < kernel->param_count; i++) {
    const ir_param *param = &kernel->params[i];
    if (param->symbol) continue;
    if (param->direction != IR_OUT) {
      *ir_push(m->arena, &m->params) = (ir_param){.name = param->name, .type = param->type};
      *ir_push(m->arena, &m->from) = (ir_alone_source){i, -1};
    }
    if (param->direction != IR_IN) {
      m->alone->to[func->result_count] = i;
      func->results[func->result_count++] = param->type;
    }
  }
}

static ir_value *write_to(struct making *m, ir_builder *b, const ir_type *type, size_t index, ir_value *start) {
  ir_op *made = ir_build_with(b, IR_HOST_RESULT, NULL, 0, IR_SET({"index", ir_attr_int(m->context, (int64_t)index)}), NULL, 0, &type, 1);
  if (made && start && !ir_build(b, IR_HOST_COPY, IR_OPERANDS(start, ir_op_result(made, 0)), IR_NO_ATTRS)) return NULL;
  return made ? ir_op_result(made, 0) : NULL;
}

static bool fill(struct making *m) {
  ir_alone *alone = m->alone;
  const ir_func *kernel = alone->kernel;
  ir_builder b = ir_at_end(alone->func->body);
  b.range = kernel->item.range;
  ir_value **arguments = ir_new_array(m->arena, ir_value *, kernel->param_count + 1);
  ir_value **results = ir_new_array(m->arena, ir_value *, alone->func->result_count + 1);
  size_t result = 0, given = 0;
  while (given < alone->func->param_count && !alone->func->params[given].value) given++; /* the symbols come first */
  for (size_t i = 0; i < kernel->param_count; i++) {
    const ir_param *param = &kernel->params[i];
    if (param->symbol) {
      arguments[i] = ir_build_scalar(&b, param->symbol, NULL, 0);
      continue;
    }
    ir_value *read = param->direction != IR_OUT ? alone->func->params[given++].value : NULL;
    arguments[i] = param->direction == IR_IN ? read : write_to(m, &b, param->type, result, read);
    if (param->direction != IR_IN) results[result++] = arguments[i];
  }
  ir_op *call = ir_build(&b, IR_CALL, arguments, kernel->param_count, IR_SET({"callee", ir_attr_global(m->context, kernel->item.name)}));
  if (call) call->flags |= IR_OP_NO_TARGETS;
  return call && ir_build(&b, IR_RETURN, results, result, IR_NO_ATTRS);
}

ir_alone *ir_run_alone(ir_arena *arena, ir_func *kernel) {
  ir_module *module = kernel->item.module;
  struct making m = {.arena = arena, .context = module->context, .alone = ir_new(arena, ir_alone)};
  const char *name = ir_arena_printf(arena, "%s.alone", kernel->item.name->text);
  ir_func *func = ir_func_new(module, IR_ITEM_FUNC, ir_module_fresh_name(module, ir_slice_of(name)));
  *m.alone = (ir_alone){.kernel = kernel, .func = func};
  func->item.range = kernel->item.range;
  func->has_signature = func->has_arrow = true;
  func->where = kernel->where;
  func->where_count = kernel->where_count;
  add_symbols(&m);
  add_buffers(&m);
  ir_func_set_params(func, m.params.count, m.params.at, true);
  m.alone->from = m.from.at;
  ir_module_add(module, &func->item, NULL);
  return fill(&m) ? m.alone : NULL;
}
