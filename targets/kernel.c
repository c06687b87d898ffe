// SPDX-License-Identifier: Apache-2.0
/* targets/kernel.c - what a prim_func is for a device. Needs schedule and transform-loops for a grid target. */
#include "targets/kernel.h"

#include "base/vec.h"
#include "ir/print.h"
#include "ir/symbols.h"

__attribute__((format(printf, 4, 5))) static bool cannot(ir_func *func, const ir_op *op, const char *target, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_range range = op && op->range.begin ? op->range : func->item.range;
  ir_error(ir_func_context(func)->diags, range, "the %s target cannot %s", target, text.at);
  ir_text_free(&text);
  return false;
}

/* --- names --- */

/* What may stand behind rill_NAME; `#` is a number. */
static const char *const endings[] = {"_open", "_shapes", "_close", "_INPUTS", "_OUTPUTS", "_INPUT_#_RANK", "_OUTPUT_#_RANK"};
/* What else is called rill_X: types of runtime/llvm/support/interface.h. */
static const char *const taken[] = {"env", "model"};

static bool fits(const char *pattern, ir_slice text) {
  size_t at = 0;
  for (; *pattern; pattern++) {
    size_t first = at;
    while (*pattern == '#' && at < text.length && text.at[at] >= '0' && text.at[at] <= '9') at++;
    if (*pattern == '#' && at == first) return false;
    if (*pattern != '#' && (at == text.length || text.at[at++] != *pattern)) return false;
  }
  return at == text.length;
}

/* Byte I of NAME is a letter, digit or underscore that would make another name of it: what looks like an escape, or like the
 * end of a name of another function; the last of a name that is taken, or of `support` where functions of runtime/llvm/support
 * are called so. */
static bool needs_escape(ir_slice name, size_t i) {
  const ir_slice rest = {name.at + i, name.length - i};
  for (size_t k = 0; k < ir_count_of(taken) && rest.length == 1; k++) {
    if (ir_slice_is(name, taken[k])) return true;
  }
  if (i == 6 && rest.length > 1 && ir_slice_is((ir_slice){name.at, 8}, "support_")) return true;
  if (rest.at[0] != '_') return false;
  for (size_t k = 0; k < ir_count_of(endings); k++) {
    if (fits(endings[k], rest)) return true;
  }
  return rest.length > 1 && rest.at[1] == 'x';
}

const char *ir_mangled(ir_arena *arena, const ir_string *name) {
  char *text = ir_arena_alloc(arena, ir_size_add(ir_size_mul(name->length, 4), 1));
  const ir_slice whole = {name->text, name->length};
  size_t at = 0;
  for (size_t i = 0; i < name->length; i++) {
    char c = name->text[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain && !needs_escape(whole, i)) {
      text[at++] = c;
      continue;
    }
    text[at++] = '_';
    text[at++] = 'x';
    text[at++] = "0123456789abcdef"[(uint8_t)c >> 4];
    text[at++] = "0123456789abcdef"[(uint8_t)c & 15];
  }
  return text;
}

/* --- parameters --- */

static bool is_explicit(const ir_func *func, const ir_expr *symbol) {
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].symbol == symbol) return true;
  }
  return false;
}

static void list_buffers(ir_arena *arena, ir_kernel *kernel) {
  const ir_func *func = kernel->func;
  kernel->buffers = ir_new_array(arena, ir_kernel_buffer, func->param_count + 1);
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (param->symbol || !ir_is_tensor(param->type)) continue;
    kernel->buffers[kernel->buffer_count++] = (ir_kernel_buffer){param, param->direction != IR_IN};
  }
}

static void list_scalars(ir_arena *arena, ir_kernel *kernel) {
  const ir_func *func = kernel->func;
  ir_symbols_used used = {.context = ir_func_context(func), .arena = arena};
  for (size_t i = 0; i < kernel->buffer_count; i++) ir_symbols_in_type(&used, kernel->buffers[i].param->type, false);
  kernel->scalars = ir_new_array(arena, ir_kernel_scalar, func->param_count + used.count + 1);
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    if (!param->symbol && ir_is_tensor(param->type)) continue;
    ir_dtype dtype = param->symbol ? IR_I64 : ir_type_dtype(param->type);
    kernel->scalars[kernel->scalar_count++] = (ir_kernel_scalar){param, param->symbol, dtype, param->name};
  }
  for (size_t i = 0; i < used.count; i++) {
    if (is_explicit(func, used.at[i])) continue;
    kernel->scalars[kernel->scalar_count++] = (ir_kernel_scalar){NULL, used.at[i], IR_I64, used.at[i]->symbol};
  }
}

/* --- the grid --- */

struct grid {
  ir_kernel *kernel;
  ir_arena *arena;
  const char *target;
  ir_op *loops[6]; /* that bind an axis first */
  bool failed;
};

static const char *const axes[6] = {"group.x", "group.y", "group.z", "local.x", "local.y", "local.z"};

static bool see_loop(void *user, ir_op *op) {
  struct grid *g = user;
  g->kernel->shares |= ir_is(op, IR_BARRIER) || (ir_is(op, IR_ALLOC) && !strcmp(ir_get_word(op, "scope"), "shared"));
  if (ir_is(op, IR_ASSERT)) *ir_push(g->arena, &g->kernel->asserts) = op;
  if (!ir_is(op, IR_FOR) || strcmp(ir_get_word(op, "mode"), "bind")) return true;
  size_t axis = 0;
  while (strcmp(axes[axis], ir_get_word(op, "axis"))) axis++;
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(op, 0));
  int64_t count = 0;
  bool local = axis >= 3;
  if (!extent) return g->failed = true, cannot(g->kernel->func, op, g->target, "bind a loop to '%s' whose extent is not known before the kernel starts", axes[axis]);
  if (local && (!ir_expr_is_int(extent, &count) || count < 1)) {
    return g->failed = true, cannot(g->kernel->func, op, g->target, "bind a loop to '%s' whose extent is not a constant above 0", axes[axis]);
  }
  const ir_expr *first = g->loops[axis] ? ir_value_closed_expr(ir_op_operand(g->loops[axis], 0)) : extent;
  if (first != extent) return g->failed = true, cannot(g->kernel->func, op, g->target, "bind two loops of different extents to '%s'", axes[axis]);
  g->loops[axis] = op;
  if (local) g->kernel->local[axis - 3] = count;
  if (!local) g->kernel->groups[axis] = extent;
  return true;
}

size_t ir_kernel_assert(const ir_kernel *kernel, const ir_op *op) {
  size_t number = 0;
  while (kernel->asserts.at[number] != op) number++;
  return number;
}

bool ir_loop_is_empty(const ir_op *op) {
  int64_t rounds;
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(op, 0));
  return extent && ir_expr_is_int(extent, &rounds) && rounds <= 0;
}

bool ir_kernel_describe(ir_arena *arena, ir_func *func, const char *target, ir_kernel *kernel) {
  const ir_expr *one = ir_expr_i64(ir_func_context(func), 1);
  *kernel = (ir_kernel){.func = func, .name = ir_arena_printf(arena, "rill_%s", ir_mangled(arena, func->item.name)), .groups = {one, one, one}, .local = {1, 1, 1}};
  list_buffers(arena, kernel);
  list_scalars(arena, kernel);
  struct grid g = {.arena = arena, .kernel = kernel, .target = target};
  ir_walk(func->body, IR_PRE_ORDER, see_loop, &g);
  return !g.failed;
}

/* --- what devices can do --- */

struct check {
  ir_func *func;
  const char *target;
  uint32_t elements;
  const ir_op *op;
  bool failed;
};

/* REFUSED is what `cannot` returns: false. */
static bool fail(struct check *c, bool refused) {
  c->failed = true;
  return refused;
}

static bool element(struct check *c, ir_dtype dtype, unsigned lanes) {
  if (c->failed) return false;
  if (dtype >= IR_DTYPE_COUNT || !(c->elements >> dtype & 1)) return fail(c, cannot(c->func, c->op, c->target, "compute with %s", ir_dtype_name(dtype)));
  if (lanes > 1) return fail(c, cannot(c->func, c->op, c->target, "compute with vectors of %u lanes: not implemented", lanes));
  return true;
}

static void check_node(void *user, const ir_expr *node) { element(user, (ir_dtype)node->dtype, node->lanes); }

static void check_attr(struct check *c, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(ir_func_context(c->func), attr->expr, check_node, c);
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) check_attr(c, attr->items[i]);
}

static bool check_type(struct check *c, const ir_type *type) {
  if (!ir_is_tensor(type) && !ir_is_scalar(type)) return fail(c, cannot(c->func, c->op, c->target, "use a value of this type in a prim_func"));
  return element(c, ir_type_dtype(type), type->lanes);
}

static bool check_alloc(struct check *c, const ir_op *op) {
  int64_t count;
  bool global = !strcmp(ir_get_word(op, "scope"), "global");
  if (global) return fail(c, cannot(c->func, op, c->target, "hold global memory in a kernel: run the pass split-kernels"));
  if (ir_type_static_dims(ir_op_result(op, 0)->type, NULL, &count)) return true;
  return fail(c, cannot(c->func, op, c->target, "hold '%s' memory whose extents are no constants", ir_get_word(op, "scope")));
}

/* What OUTER runs, or how often, is not the same for all rounds of LOOP. */
static bool depends_on(const ir_op *outer, const ir_op *loop) {
  const ir_value *item = ir_op_region(loop, 0)->args[0];
  if (ir_is(outer, IR_WHILE)) return ir_expr_depends(outer, ir_get_expr(outer, "condition"), item);
  return (ir_is(outer, IR_IF) || ir_is(outer, IR_FOR)) && ir_value_depends(ir_op_operand(outer, 0), item);
}

static bool is_spread(const ir_op *op) {
  int64_t count;
  if (!ir_is(op, IR_FOR) || strncmp(ir_get_word(op, "mode"), "bind", 4) || strncmp(ir_get_word(op, "axis"), "local.", 6)) return false;
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(op, 0));
  return !(extent && ir_expr_is_int(extent, &count) && count <= 1);
}

/* A device may wait forever for invocations that do not come. */
static bool check_barrier(struct check *c, const ir_op *op) {
  if (strcmp(ir_get_word(op, "scope"), "workgroup")) return true;
  for (const ir_op *outer = ir_op_parent(op); outer; outer = ir_op_parent(outer)) {
    for (const ir_op *loop = ir_op_parent(outer); loop; loop = ir_op_parent(loop)) {
      if (!is_spread(loop) || !depends_on(outer, loop)) continue;
      return fail(c, cannot(c->func, op, c->target, "wait at a barrier that invocations may not reach: the '%s' around it depends on their number", ir_op_row(outer)->name));
    }
  }
  return true;
}

static bool check_op(struct check *c, const ir_op *op) {
  switch ((int)op->code) {
  case IR_SCALAR:
  case IR_WHILE:
  case IR_FOR:
  case IR_ASSERT: return true;
  case IR_BARRIER: return check_barrier(c, op);
  case IR_ALLOC: return check_alloc(c, op);
  case IR_IF: return op->result_count ? fail(c, cannot(c->func, op, c->target, "run an 'if' with results in a prim_func")) : true;
  case IR_STORE: {
    bool reduces = ir_has_attr(op, "reducer") || ir_has_attr(op, "user_reducer") || ir_get_int(op, "targets") != 1;
    return reduces ? fail(c, cannot(c->func, op, c->target, "run a reduction outside of loops: run the pass schedule")) : true;
  }
  case IR_COMPUTE: return fail(c, cannot(c->func, op, c->target, "run a compute nest: run the pass schedule"));
  default: return fail(c, cannot(c->func, op, c->target, "run '%s' in a prim_func", ir_op_row(op)->name));
  }
}

static bool check_visit(void *user, ir_op *op) {
  struct check *c = user;
  c->op = op;
  if (!check_op(c, op)) return false;
  for (size_t i = 0; i < op->result_count; i++) {
    if (!check_type(c, ir_op_result(op, i)->type)) return false;
  }
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) check_attr(c, ir_op_slots(op)[i]);
  return !c->failed;
}

bool ir_steps_are_taken(ir_func *func, const char *target) {
  if (!ir_dict_get(func->item.attrs, "steps")) return true;
  return cannot(func, NULL, target, "run @%s, whose steps were not taken: run the pass transform-loops before", func->item.name->text);
}

bool ir_kernel_check(ir_func *func, const char *target, uint32_t elements) {
  if (!ir_steps_are_taken(func, target)) return false;
  struct check c = {.func = func, .target = target, .elements = elements};
  for (size_t i = 0; i < func->param_count; i++) {
    if (!check_type(&c, func->params[i].type)) return false;
  }
  ir_walk(func->body, IR_PRE_ORDER, check_visit, &c);
  return !c.failed;
}

/* --- what a module needs --- */

struct collect {
  ir_arena *arena;
  ir_module *module;
  const char *target;
  ir_map called; /* ir_func -> itself */
  bool failed;
};

static bool see_step(void *user, ir_op *op) {
  struct collect *c = user;
  bool lowered = ir_op_row(op)->numerics == IR_STRUCTURE && !ir_is(op, IR_CALL_TIR) && !ir_is(op, IR_CALL_TIR_INPLACE) && !ir_is(op, IR_DATAFLOW);
  if (!lowered) {
    ir_error(c->module->context->diags, op->range, "the %s target cannot run '%s' in a graph function: lower it first (default{target=%s})", c->target,
             ir_op_row(op)->name, c->target);
    c->failed = true;
    return false;
  }
  const ir_attr *callee = ir_is(op, IR_CALL) ? ir_get(op, "callee") : NULL;
  ir_func *func = callee ? ir_item_func(ir_module_find(c->module, callee->string)) : NULL;
  if (func && func->item.kind == IR_ITEM_PRIM_FUNC) ir_map_put(c->arena, &c->called, func, func);
  return true;
}

/* --- equal kernels --- */

typedef struct text_of_kernel {
  ir_slice text;
  ir_func *func;
} text_of_kernel;

static bool same_text(const void *object, const void *key) { return ir_slice_equal(((const text_of_kernel *)object)->text, *(const ir_slice *)key); }

static bool is_no_assert(void *user, ir_op *op) {
  (void)user;
  return !ir_is(op, IR_ASSERT);
}

/* FUNC, or the one before it with the same text. Kernels that check something stay apart: each says where. */
static ir_func *first_twin(struct collect *c, ir_interner *texts, ir_func *func) {
  const ir_string *name = func->item.name;
  ir_text text = {0};
  if (!ir_walk(func->body, IR_PRE_ORDER, is_no_assert, NULL)) return func;
  func->item.name = ir_intern(c->module->context, ir_lit("kernel"));
  ir_print_item(&text, &func->item, &(ir_print_options){.strip_locs = true});
  func->item.name = name;
  const ir_slice key = {text.at, text.length};
  void **slot = ir_intern_slot(c->arena, texts, ir_hash_bytes(key.at, key.length), &key, same_text);
  if (!*slot) {
    text_of_kernel *entry = ir_new(c->arena, text_of_kernel);
    *entry = (text_of_kernel){{ir_arena_copy(c->arena, text.at, text.length), text.length}, func};
    *slot = entry;
  }
  ir_text_free(&text);
  return ((text_of_kernel *)*slot)->func;
}

bool ir_kernels_of(ir_arena *arena, ir_module *module, const char *target, ir_funcs *kernels) {
  struct collect c = {.arena = arena, .module = module, .target = target};
  *kernels = (ir_funcs){0};
  bool hosts = false;
  ir_each_body(func, module) {
    if (func->item.kind != IR_ITEM_FUNC) continue;
    hosts = true;
    ir_walk(func->body, IR_PRE_ORDER, see_step, &c);
  }
  ir_interner texts = {0};
  ir_each_body(func, module) {
    if (func->item.kind != IR_ITEM_PRIM_FUNC || (hosts && !ir_map_has(&c.called, func))) continue;
    /* By its name alone a kernel can be asked for where there are no graph functions. */
    ir_func *twin = hosts ? first_twin(&c, &texts, func) : func;
    ir_map_put(arena, &kernels->twins, func, twin);
    if (twin == func) *ir_push(arena, kernels) = func;
  }
  return !c.failed;
}
