// SPDX-License-Identifier: Apache-2.0
/* tools/ir-run/executors.c - the interpreter and backends behind one interface. */
#include "runtime/interp.h"
#include "runtime/plugin.h"
#include "tools/ir-run/run.h"

struct on_interp {
  ir_executor base;
  ir_interp *interp;
};

static bool interp_run(ir_executor *executor, const ir_func *entry, size_t count, ir_tensor *const *inputs, size_t result_count,
                       ir_tensor **results) {
  struct on_interp *self = (struct on_interp *)executor;
  return ir_interp_call(self->interp, entry, count, inputs, result_count, results);
}

static ir_run_stats interp_stats(ir_executor *executor) { return ir_interp_run_stats(((struct on_interp *)executor)->interp); }

static void interp_free(ir_executor *executor) { ir_interp_free(((struct on_interp *)executor)->interp); }

ir_executor *ir_executor_interp(ir_tool *tool, ir_module *module, const ir_executor_options *options) {
  struct on_interp *self = ir_new(&tool->arena, struct on_interp);
  self->base = (ir_executor){interp_run, interp_stats, interp_free};
  const ir_interp_options settings = {.checked = options->checked != IR_CHECKED_OFF, .measured = options->measured, .max_bytes = (int64_t)options->max_bytes, .max_steps = options->max_steps};
  self->interp = ir_interp_new(module, &settings);
  return &self->base;
}

struct on_plugin {
  ir_executor base;
  const ir_plugin *plugin;
  ir_program *program;
};

static bool plugin_run(ir_executor *executor, const ir_func *entry, size_t count, ir_tensor *const *inputs, size_t result_count,
                       ir_tensor **results) {
  struct on_plugin *self = (struct on_plugin *)executor;
  return self->plugin->run(self->program, entry->item.name->text, count, inputs, result_count, results);
}

static ir_run_stats plugin_stats(ir_executor *executor) {
  struct on_plugin *self = (struct on_plugin *)executor;
  return self->plugin->stats(self->program);
}

static void plugin_free(ir_executor *executor) {
  struct on_plugin *self = (struct on_plugin *)executor;
  self->plugin->free(self->program);
}

ir_executor *ir_executor_plugin(ir_tool *tool, ir_module *module, const char *name, const ir_executor_options *options) {
  struct on_plugin *self = ir_new(&tool->arena, struct on_plugin);
  self->base = (ir_executor){plugin_run, plugin_stats, plugin_free};
  self->plugin = ir_plugin_load(tool->diags, name);
  if (!self->plugin) return NULL;
  const ir_target_options settings = {.checked = options->checked == IR_CHECKED_ON, .run_threads = options->threads, .measured = options->measured, .cache = options->cache, .device = options->device, .max_bytes = options->max_bytes};
  self->program = self->plugin->compile(module, &settings);
  return self->program ? &self->base : NULL;
}
