// SPDX-License-Identifier: Apache-2.0
/* tools/ir-run/compare.c - two executors behind one: kernel by kernel, until they differ. */
#include "base/vec.h"
#include "ir/print.h"
#include "runtime/interp.h"
#include "tools/ir-run/alone.h"
#include "tools/ir-run/run.h"

#include <errno.h>
#include <sys/stat.h>

/* A kernel with its arguments, and what the sides made of them. */
struct trial {
  const ir_alone *alone;
  ir_tensor **inputs;
  ir_tensor **results[IR_COMPARED];
};

struct comparing {
  ir_executor base;
  ir_tool *tool;
  ir_module *module;
  ir_interp *host;
  ir_executor *sides[IR_COMPARED]; /* the first one is right */
  const char *names[IR_COMPARED];
  ir_module *copies[IR_COMPARED]; /* of a side that has loops of its own */
  ir_map alone; /* ir_func -> ir_alone */
  ir_tolerance tolerance;
  const char *folder;
  size_t launches;
  ir_diag *fault;      /* of the run under way, */
  struct trial faulty; /* and what it is about: kept when nobody looks at the module any more */
};

/* --- what is kept of a kernel that differs --- */

static const char *array_path(struct comparing *c, const char *name, size_t i) {
  return ir_arena_printf(&c->tool->arena, "%s/%s_%zu.npy", c->folder, name, i);
}

static bool write_module(struct comparing *c, const char *path, const ir_alone *alone) {
  ir_each_body(func, c->module) {
    func->item.flags |= IR_ITEM_PRIVATE;
    if (func == alone->func) func->item.flags &= (uint32_t)~IR_ITEM_PRIVATE;
  }
  const ir_opt_site site = {.diags = c->tool->diags, .arena = &c->tool->arena, .where = "ir-run"};
  ir_pipeline pipeline = {0};
  if (!ir_pipeline_parse(&site, &pipeline, ir_lit("dce")) || !ir_pipeline_run(c->module, &pipeline, &(ir_pipeline_options){.verify_each = true})) return false;
  ir_output *output = ir_output_open(c->tool->diags, path);
  if (!output) return false;
  ir_text text = {0};
  ir_print_module(&text, c->module, NULL);
  ir_output_bytes(output, text.at, text.length);
  ir_text_free(&text);
  return ir_output_commit(output);
}

static bool write_arrays(struct comparing *c, const char *name, size_t count, ir_tensor *const *tensors, const char *option, ir_text *command) {
  for (size_t i = 0; i < count; i++) {
    const char *path = array_path(c, name, i);
    if (!tensors[i]) continue;
    if (!ir_run_write(c->tool, 1, &path, &tensors[i])) return false;
    if (option) ir_text_printf(command, " --%s=%s", option, path);
  }
  return true;
}

static void keep(struct comparing *c) {
  const struct trial *t = &c->faulty;
  const ir_func *func = t->alone->func;
  ir_text command = {0};
  const char *path = ir_arena_printf(&c->tool->arena, "%s/kernel.rill", c->folder);
  ir_text_printf(&command, "ir-run %s --entry=%s --target=%s", path, func->item.name->text, c->names[1]);
  bool fine = !mkdir(c->folder, 0777) || errno == EEXIST;
  if (!fine) ir_error_in(c->tool->diags, c->folder, "cannot make this folder: %s", strerror(errno));
  fine = fine && write_arrays(c, "input", func->param_count, t->inputs, "input", &command) &&
         write_arrays(c, c->names[0], func->result_count, t->results[0], "expect", &command) &&
         write_arrays(c, c->names[1], func->result_count, t->results[1], NULL, &command) && write_module(c, path, t->alone);
  if (fine) ir_note(c->tool->diags, c->fault, (ir_range){0, 0}, "the kernel and its inputs are kept: %s", command.at);
  ir_text_free(&command);
}

/* --- one launch --- */

static ir_tensor *scalar_tensor(ir_dtype dtype, uint64_t bits) {
  ir_tensor *tensor = ir_tensor_new(NULL, dtype, 0, NULL);
  if (tensor) ir_tensor_set_bits(tensor, 0, bits);
  return tensor;
}

static ir_tensor *input(const ir_object *argument, int axis) {
  if (axis >= 0) return scalar_tensor(IR_I64, (uint64_t)argument->tensor->dims[axis]);
  if (argument->kind == IR_OBJECT_TENSOR) return ir_tensor_retain(argument->tensor);
  return scalar_tensor(argument->scalar.dtype, argument->scalar.bits);
}

static bool run_side(struct comparing *c, struct trial *t, size_t side) {
  const ir_func *func = t->alone->func;
  return c->sides[side]->run(c->sides[side], func, func->param_count, t->inputs, func->result_count, t->results[side]);
}

/* The report of the first result that differs, or NULL. */
static ir_diag *find_difference(struct comparing *c, const struct trial *t) {
  const ir_func *func = t->alone->func, *kernel = t->alone->kernel;
  ir_diag *fault = NULL;
  for (size_t i = 0; i < func->result_count && !fault; i++) {
    ir_text text = {0};
    if (!ir_run_compare(&text, t->results[1][i], t->results[0][i], c->tolerance)) {
      const ir_string *name = kernel->params[t->alone->to[i]].name;
      fault = ir_error(c->tool->diags, kernel->item.range, "launch %zu, @%s, on %s and %s: %%%s %s", c->launches, kernel->item.name->text, c->names[0],
               c->names[1], name ? name->text : "", text.at);
    }
    ir_text_free(&text);
  }
  return fault;
}

static ir_diag *try(struct comparing *c, struct trial *t) {
  for (size_t side = 0; side < IR_COMPARED; side++) {
    if (run_side(c, t, side)) continue;
    return ir_error(c->tool->diags, t->alone->kernel->item.range, "launch %zu, @%s: does not run on %s", c->launches, t->alone->kernel->item.name->text, c->names[side]);
  }
  return find_difference(c, t);
}

static void free_trial(const struct trial *t) {
  const ir_func *func = t->alone->func;
  for (size_t i = 0; i < func->param_count; i++) ir_tensor_release(t->inputs[i]);
  for (size_t side = 0; side < IR_COMPARED; side++) {
    for (size_t i = 0; i < func->result_count; i++) ir_tensor_release(t->results[side][i]);
  }
}

static bool launch(void *user, ir_func *kernel, size_t count, ir_object *const *arguments) {
  (void)count;
  struct comparing *c = user;
  struct trial t = {.alone = ir_map_get(&c->alone, kernel)};
  const ir_func *func = t.alone->func;
  c->launches++;
  t.inputs = ir_new_array(&c->tool->arena, ir_tensor *, func->param_count + 1);
  for (size_t side = 0; side < IR_COMPARED; side++) t.results[side] = ir_new_array(&c->tool->arena, ir_tensor *, func->result_count + 1);
  for (size_t i = 0; i < func->param_count; i++) t.inputs[i] = input(arguments[t.alone->from[i].argument], t.alone->from[i].axis);
  c->fault = try(c, &t);
  c->faulty = t;
  for (size_t i = 0; i < func->result_count && !c->fault; i++) {
    const ir_tensor *to = arguments[t.alone->to[i]]->tensor;
    memcpy(to->data, t.results[0][i]->data, to->size);
  }
  if (!c->fault) free_trial(&t);
  return !c->fault;
}

/* --- the executor --- */

static bool compare_run(ir_executor *executor, const ir_func *entry, size_t count, ir_tensor *const *inputs, size_t result_count,
                        ir_tensor **results) {
  struct comparing *c = (struct comparing *)executor;
  c->launches = 0;
  bool fine = ir_interp_call(c->host, entry, count, inputs, result_count, results);
  if (c->fault) keep(c), free_trial(&c->faulty);
  if (!fine) return false;
  printf("compare: %zu launch%s %s on %s and %s\n", c->launches, c->launches == 1 ? "" : "es", c->tolerance.bits ? "equal to the bit" : "fit", c->names[0],
         c->names[1]);
  return true;
}

static ir_run_stats compare_stats(ir_executor *executor) { return ir_interp_run_stats(((struct comparing *)executor)->host); }

static void compare_free(ir_executor *executor) {
  struct comparing *c = (struct comparing *)executor;
  ir_interp_free(c->host);
  for (size_t side = 0; side < IR_COMPARED; side++) {
    if (c->sides[side]) c->sides[side]->free(c->sides[side]);
    ir_module_free(c->copies[side]);
  }
}

/* Kernels become functions of their own, the only ones that are compiled. */
static bool set_apart(struct comparing *c) {
  ir_vec(ir_func *) kernels = {0};
  ir_each_body(func, c->module) {
    if (func->item.kind == IR_ITEM_PRIM_FUNC) *ir_push(&c->tool->arena, &kernels) = func;
    func->item.flags |= IR_ITEM_PRIVATE;
  }
  for (size_t i = 0; i < kernels.count; i++) {
    ir_alone *alone = ir_run_alone(&c->tool->arena, kernels.at[i]);
    if (!alone) return false;
    ir_map_put(&c->tool->arena, &c->alone, kernels.at[i], alone);
  }
  return true;
}

/* A copy of the module in the loops of one side. Constants, which only the host program has, are left out. */
static bool copy_for(struct comparing *c, size_t number, const ir_compared *side, const ir_pipeline_options *how) {
  ir_text text = {0};
  ir_print_module(&text, c->module, &(ir_print_options){.elide_above = 64});
  const char *kept = ir_arena_copy(&c->tool->arena, text.at, text.length);
  const ir_source *source = ir_source_add(c->tool->diags, side->name, kept, text.length, 1);
  ir_text_free(&text);
  ir_module *module = source ? ir_tool_parse(c->tool, source, "-", &(ir_parse_options){.allow_elided = true}) : NULL;
  c->copies[number] = module;
  const ir_opt_site site = {.diags = c->tool->diags, .arena = &c->tool->arena, .where = "ir-run"};
  ir_pipeline kernels = {0};
  return module && ir_pipeline_parse(&site, &kernels, ir_lit("dce")) && ir_pipeline_run(module, &kernels, how) && ir_pipeline_run(module, &side->loops, how);
}

static ir_executor *open_side(struct comparing *c, size_t number, const ir_compared *side, const ir_executor_options *options, const ir_pipeline_options *how) {
  if (side->own && !copy_for(c, number, side, how)) return NULL;
  ir_module *module = side->own ? c->copies[number] : c->module;
  return strcmp(side->name, "interp") ? ir_executor_plugin(c->tool, module, side->name, options) : ir_executor_interp(c->tool, module, options);
}

ir_executor *ir_executor_compare(ir_tool *tool, ir_module *module, const ir_compared sides[IR_COMPARED], const ir_executor_options *options, const ir_pipeline_options *how, ir_tolerance tolerance,
                                 const char *folder) {
  struct comparing *c = ir_new(&tool->arena, struct comparing);
  *c = (struct comparing){.base = {compare_run, compare_stats, compare_free}, .tool = tool, .module = module, .tolerance = tolerance, .folder = folder};
  if (!set_apart(c)) return NULL;
  const ir_interp_options settings = {.checked = options->checked != IR_CHECKED_OFF, .measured = options->measured, .launch = launch, .user = c};
  c->host = ir_interp_new(module, &settings);
  bool fine = true;
  for (size_t i = 0; i < IR_COMPARED; i++) {
    c->names[i] = sides[i].name;
    c->sides[i] = fine ? open_side(c, i, &sides[i], options, how) : NULL;
    fine = fine && c->sides[i];
  }
  if (fine) return &c->base;
  compare_free(&c->base);
  return NULL;
}
