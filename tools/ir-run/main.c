// SPDX-License-Identifier: Apache-2.0
/* ir-run - executes a function of a module on arrays. */
#include "tools/ir-run/run.h"

#include "base/vec.h"
#include "frontends/onnx/onnx.h"
#include "ir/verify.h"
#include "passes/bind_symbolic_vars.h"
#include "runtime/plugin.h"

#include <stdlib.h>
#include <time.h>

enum { ON_INTERP, ON_LLVM, ON_OPENCL, ON_VULKAN };
/* What --target names, and whose pipeline makes a module ready for it. */
static const struct {
  const char *name, *pipeline;
} targets[] = {{"interp", NULL}, {"llvm", "llvm"}, {"opencl", "opencl"}, {"vulkan", "spirv"}};
/* What --compare names: who is right, and who is looked at. */
static const int pairs[][IR_COMPARED] = {
    {ON_INTERP, ON_INTERP}, {ON_INTERP, ON_LLVM}, {ON_INTERP, ON_OPENCL}, {ON_INTERP, ON_VULKAN}, {ON_LLVM, ON_OPENCL}, {ON_LLVM, ON_VULKAN}, {ON_OPENCL, ON_VULKAN},
};
enum { STATS_OFF, STATS_TEXT, STATS_JSON };

struct options {
  int target;
  int compare;
  const char *entry, *cache, *keep, *device;
  bool list_devices;
  ir_opt_strings inputs, outputs, expect, bind;
  double rtol, atol;
  uint64_t bench, threads, max_bytes, max_steps;
  int checked;
  int stats;
  bool remarks, allow_elided;
  ir_pipeline_options run;
};

#define ROW(kind, ...) OPT_##kind(struct options, __VA_ARGS__)
static const ir_opt rows[] = {
    OPT_CHOICE(struct options, target, "target", "interp|llvm|opencl|vulkan", "interp", "what executes it", .instead = "cpu=llvm,interpreter=interp,spirv=vulkan"),
    ROW(STRING, entry, "entry", "main", "the function to run", .value = "NAME"),
    ROW(STRINGS, inputs, "input", NULL, "an input, in order or by name; also a TensorProto (.pb)", .value = "[NAME=]FILE.npy"),
    ROW(STRINGS, outputs, "output", NULL, "where results go, in order; without any they are printed", .value = "FILE.npy"),
    ROW(STRINGS, expect, "expect", NULL, "what the results should be, in order", .value = "FILE.npy"),
    ROW(FLOAT, rtol, "rtol", "1e-3", "relative tolerance of --expect, and of --compare, which wants equal bits where neither is given", .max = INT64_MAX),
    ROW(FLOAT, atol, "atol", "1e-5", "absolute tolerance of both", .max = INT64_MAX),
    ROW(CHOICE, compare, "compare", "off|interp,llvm|interp,opencl|interp,vulkan|llvm,opencl|llvm,vulkan|opencl,vulkan", "off", "run each kernel on both with equal arguments, up to the first that differs"),
    ROW(STRING, keep, "keep", "differs", "the folder where --compare keeps a kernel that differs, with its inputs", .value = "FOLDER"),
    ROW(UINT, bench, "bench", "0", "run this often more, 30 times without a number, and print the median time", .bare = "30", .max = 1000000),
    ROW(STRING, cache, "cache", NULL, "a folder where compiled code is kept for the next time", .value = "FOLDER"),
    ROW(STRING, device, "device", NULL, "the device of --target=opencl or vulkan: its number in --list-devices, or a part of its name"),
    ROW(FLAG, list_devices, "list-devices", "off", "print the devices of the executors that are there, and nothing else"),
    ROW(UINT, threads, "threads", "0", "threads that compiled code runs on; 0: as many as there are processors", .max = 256),
    ROW(UINT, max_bytes, "max-bytes", "0", "memory that a run may hold at once, besides inputs and constants; 0: no limit", .max = INT64_MAX),
    ROW(UINT, max_steps, "max-steps", "0", "operations on elements that the interpreter does at most; 0: no limit"),
    OPT_CHOICE(struct options, checked, "checked", "default|on|off", "default", "stop at indices out of range and divisions by zero; on by default in the interpreter, off in compiled code"),
    ROW(STRINGS, bind, "bind", NULL, "fix a size symbol before anything else", .value = "SYMBOL=N"),
    ROW(FLAG, run.exact, "exact", "off", "leave inexact passes out; fp.fma=false where the module does not say"),
    OPT_GROUP(struct options, run.fp, "fp", ir_tool_fp_rows, "set module attributes over what the text says: fma=true,order=free"),
    OPT_CHOICE(struct options, stats, "stats", "off|text|json", "off", "print launches, memory and times, a name: value a line, then the kernels", .bare = "text", .instead = "on=text"),
    ROW(FLAG, remarks, "remarks", "off", "print remarks of passes"),
    ROW(FLAG, allow_elided, "allow-elided", "off", "take resources whose bytes are elided, as long as nothing needs them"),
    OPT_END,
};

struct job {
  ir_tool tool;
  struct options options;
  ir_args args;
  double compile_seconds, run_seconds;
  ir_run_stats stats; /* of the first run */
  bool lowered;       /* the module was, when it came */
};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static ir_func *find_entry(struct job *job, ir_module *module) {
  const char *name = job->options.entry;
  if (*name == '@') name++;
  ir_item *item = ir_module_find(module, ir_intern(job->tool.context, ir_slice_of(name)));
  ir_func *func = item && item->kind == IR_ITEM_FUNC ? (ir_func *)item : NULL;
  if (func && func->body) return func;
  if (item) {
    ir_error(job->tool.diags, item->range, "ir-run: '@%s' %s (--entry=NAME)", name, func ? "has no body to run" : "is not a func: only these are run");
    return NULL;
  }
  ir_nearest nearest = {.wanted = ir_slice_of(name)};
  ir_each_body(each, module) {
    if (each->item.kind == IR_ITEM_FUNC) ir_nearest_offer(&nearest, ir_string_slice(each->item.name));
  }
  if (nearest.best.at) {
    ir_error_in(job->tool.diags, "ir-run", "no func '@%s': did you mean '@%.*s'?", name, (int)nearest.best.length, nearest.best.at);
  } else {
    ir_error_in(job->tool.diags, "ir-run", "no func '@%s' in the module (--entry=NAME)", name);
  }
  return NULL;
}

/* What ENTRY does not reach is not compiled: it may hold what the target cannot do. */
static void hide_others(ir_module *module, const ir_func *entry) {
  ir_each_body(func, module) {
    if (func != entry) func->item.flags |= IR_ITEM_PRIVATE;
  }
}

static const int *pair_of(const struct job *job) { return pairs[job->options.compare]; }

/* Two compiled executors have loops of their own for each kernel: they part where loops are made. */
static bool parts(const struct job *job) { return pair_of(job)[0] != ON_INTERP; }

/* The default pipeline of TARGET, behind a clean-up. */
static bool pipeline_of(struct job *job, int target, ir_pipeline *pipeline) {
  const ir_opt_site site = {.diags = job->tool.diags, .arena = &job->tool.arena, .where = "ir-run"};
  const char *preset = ir_arena_printf(&job->tool.arena, "dce,default{target=%s}", targets[target].pipeline);
  *pipeline = (ir_pipeline){0};
  return ir_pipeline_parse(&site, pipeline, ir_slice_of(preset));
}

/* How many of its passes make kernels, whose loops the others make. */
static size_t kernels_made(const ir_pipeline *pipeline) {
  size_t at = 0;
  while (strcmp(pipeline->at[at].pass->name, "call-tir-rewrite")) at++;
  return at + 1;
}

static bool is_view(void *user, ir_op *op) {
  if (ir_is_view_operator(op)) *(bool *)user = true;
  return true;
}

/* A graph function has views as operators: rewrite-dataflow-reshape has not run. */
static bool has_views(ir_module *module) {
  bool found = false;
  ir_each_item(item, module) {
    if (item->kind == IR_ITEM_FUNC && ((ir_func *)item)->body) ir_walk(((ir_func *)item)->body, IR_PRE_ORDER, is_view, &found);
  }
  return found;
}

/* The default pipeline of a compiled target, unless the module is lowered already. */
static bool lower(struct job *job, ir_module *module, const ir_func *entry) {
  ir_pipeline pipeline = {0};
  int target = job->options.compare ? pair_of(job)[1] : job->options.target;
  if (target == ON_INTERP) return ir_pipeline_run(module, &pipeline, &job->options.run);
  if (!pipeline_of(job, target, &pipeline)) return false;
  hide_others(module, entry);
  job->lowered = !has_views(module) && !ir_property_violation(module, IR_PROPERTY_LEGAL) && !ir_property_violation(module, IR_PROPERTY_LOOPS) &&
                 !ir_property_violation(module, IR_PROPERTY_NO_DATAFLOW) && !ir_property_violation(module, IR_PROPERTY_BUFFERS);
  if (parts(job)) pipeline.count = kernels_made(&pipeline);
  if (job->lowered) pipeline.count = 1;
  return ir_pipeline_run(module, &pipeline, &job->options.run);
}

static bool measure(struct job *job, ir_executor *executor, const ir_func *entry, size_t count, ir_tensor **inputs) {
  size_t rounds = job->options.bench;
  double *times = ir_new_array(&job->tool.arena, double, rounds ? rounds : 1);
  for (size_t i = 0; i < rounds; i++) {
    ir_tensor **again = ir_new_array(&job->tool.arena, ir_tensor *, entry->result_count);
    double start = ir_now();
    if (!executor->run(executor, entry, count, inputs, entry->result_count, again)) return false;
    times[i] = ir_now() - start;
    for (size_t k = 0; k < entry->result_count; k++) ir_tensor_release(again[k]);
  }
  if (!rounds) return true;
  qsort(times, rounds, sizeof *times, by_value);
  printf("bench: median %.6g s, least %.6g s, most %.6g s of %zu runs\n", times[rounds / 2], times[0], times[rounds - 1], rounds);
  return true;
}

static bool report(struct job *job, const ir_func *entry, ir_tensor **results) {
  const struct options *options = &job->options;
  size_t count = entry->result_count;
  if (!ir_run_write(&job->tool, options->outputs.count, options->outputs.at, results)) return false;
  const ir_tolerance tolerance = {options->rtol, options->atol, false};
  if (!ir_run_expect(&job->tool, &options->expect, results, tolerance)) return false;
  if (!options->outputs.count && !options->expect.count) {
    for (size_t i = 0; i < count; i++) ir_run_print(ir_arena_printf(&job->tool.arena, "%zu", i), results[i]);
  }
  if (options->stats) ir_run_print_stats(&job->stats, job->compile_seconds, job->run_seconds, options->stats == STATS_JSON);
  return true;
}

static ir_executor *comparison(struct job *job, ir_module *module, const ir_executor_options *settings, ir_tolerance tolerance) {
  ir_compared sides[IR_COMPARED] = {0};
  for (size_t i = 0; i < IR_COMPARED; i++) {
    int target = pair_of(job)[i];
    sides[i].name = targets[target].name;
    if (!parts(job)) continue;
    if (!pipeline_of(job, target, &sides[i].loops)) return NULL;
    size_t skipped = job->lowered ? sides[i].loops.count : kernels_made(&sides[i].loops);
    sides[i].loops.at += skipped;
    sides[i].loops.count -= skipped;
    sides[i].own = true;
  }
  return ir_executor_compare(&job->tool, module, sides, settings, &job->options.run, tolerance, job->options.keep);
}

static ir_executor *executor_of(struct job *job, ir_module *module) {
  const struct options *options = &job->options;
  const ir_executor_options settings = {.checked = (ir_checked)options->checked, .cache = options->cache, .measured = options->stats != STATS_OFF, .threads = (unsigned)options->threads, .max_bytes = options->max_bytes, .max_steps = options->max_steps, .device = options->device};
  bool loose = ir_args_given(&job->args, &options->rtol) || ir_args_given(&job->args, &options->atol);
  const ir_tolerance tolerance = {options->rtol, options->atol, !loose};
  if (options->compare) return comparison(job, module, &settings, tolerance);
  return options->target == ON_INTERP ? ir_executor_interp(&job->tool, module, &settings) : ir_executor_plugin(&job->tool, module, targets[options->target].name, &settings);
}

static bool run_module(struct job *job, ir_module *module) {
  const struct options *options = &job->options;
  if (!ir_bind_symbols(module, &options->bind, "ir-run")) return false;
  ir_func *entry = find_entry(job, module);
  if (!entry || !ir_run_check_files(&job->tool, entry, &options->outputs, &options->expect)) return false;
  size_t count = 0;
  ir_tensor **inputs = ir_run_inputs(&job->tool, entry, &options->inputs, &count);
  double start = ir_now();
  if (!inputs || !lower(job, module, entry) || !(entry = find_entry(job, module))) return false;
  ir_executor *executor = executor_of(job, module);
  if (!executor) return false;
  job->compile_seconds = ir_now() - start;
  ir_tensor **results = ir_new_array(&job->tool.arena, ir_tensor *, entry->result_count);
  start = ir_now();
  bool fine = executor->run(executor, entry, count, inputs, entry->result_count, results);
  job->run_seconds = ir_now() - start;
  if (fine && options->stats) job->stats = ir_run_keep_stats(&job->tool, executor->stats(executor));
  fine = fine && measure(job, executor, entry, count, inputs) && report(job, entry, results);
  for (size_t i = 0; i < entry->result_count; i++) ir_tensor_release(results[i]);
  for (size_t i = 0; i < count; i++) ir_tensor_release(inputs[i]);
  executor->free(executor);
  return fine;
}

/* Options that --compare has no use for, and one that only it has. */
static bool check(struct job *job) {
  const struct options *options = &job->options;
  const struct {
    const void *field;
    const char *name;
    bool with;
  } rules[] = {{&options->target, "target", false}, {&options->bench, "bench", false}, {&options->keep, "keep", true}};
  for (size_t i = 0; i < ir_count_of(rules); i++) {
    if (!ir_args_given(&job->args, rules[i].field) || rules[i].with == !!options->compare) continue;
    ir_error_in(job->tool.diags, "ir-run", "option '--%s' %s --compare", rules[i].name, rules[i].with ? "is for" : "does not go with");
    return false;
  }
  if (options->device && pair_of(job)[0] >= ON_OPENCL) {
    ir_error_in(job->tool.diags, "ir-run", "option '--device' names one device, and --compare=opencl,vulkan has two");
    return false;
  }
  for (size_t i = 0; i < options->bind.count; i++) {
    ir_slice symbol;
    int64_t number;
    if (!ir_bind_parse(job->tool.diags, "ir-run", options->bind.at[i], &symbol, &number)) return false;
  }
  /* The first of a pair is the one that can check. */
  int first = options->compare ? pair_of(job)[0] : options->target, last = options->compare ? pair_of(job)[1] : options->target;
  if (options->device && last < ON_OPENCL && !options->list_devices) {
    ir_error_in(job->tool.diags, "ir-run", "option '--device' is for --target=opencl and vulkan");
    return false;
  }
  if (first >= ON_OPENCL && options->checked == IR_CHECKED_ON) {
    ir_error_in(job->tool.diags, "ir-run", "option '--checked=on' is for interp and llvm: kernels of devices do not check indices and divisors");
    return false;
  }
  if (options->target != ON_INTERP && options->max_steps) {
    ir_error_in(job->tool.diags, "ir-run", "option '--max-steps' is for --target=interp: compiled code counts none");
    return false;
  }
  return true;
}

/* No output takes the place of the model; that of an array it may. */
static bool spares(struct job *job) {
  for (size_t i = 0; i < job->options.outputs.count; i++) {
    if (!ir_tool_spares(&job->tool, "ir-run", job->options.outputs.at[i], job->args.at[0])) return false;
  }
  return true;
}

/* Text, or a model where the name says so. */
static ir_module *load(struct job *job, const char *path) {
  size_t length = strlen(path);
  if (length > 5 && !strcmp(path + length - 5, ".onnx")) {
    ir_module *module = ir_onnx_import(job->tool.context, path);
    ir_diags_set_where(job->tool.diags, path);
    if (!module || ir_verify_module(module)) return module;
    ir_module_free(module);
    return NULL;
  }
  const ir_parse_options parse = {.allow_elided = job->options.allow_elided};
  const ir_source *source = ir_source_open(job->tool.diags, path);
  return source ? ir_tool_parse(&job->tool, source, path, &parse) : NULL;
}

static bool list_devices(struct job *job) {
  ir_text text = {0};
  size_t count = 0;
  for (size_t i = 0; i < ir_count_of(targets); i++) {
    if (strcmp(targets[i].name, "opencl") && strcmp(targets[i].name, "vulkan")) continue;
    if (!ir_plugin_is_built(targets[i].name)) continue;
    const ir_plugin *plugin = ir_plugin_load(job->tool.diags, targets[i].name);
    if (!plugin) return false;
    if (plugin->list) count += plugin->list(&text);
  }
  if (count) fputs(text.at, stdout);
  else puts("no devices");
  ir_text_free(&text);
  return true;
}

int main(int argc, char **argv) {
  struct job job = {0};
  ir_tool_start(&job.tool);
  const ir_command command = {.name = "ir-run",
                              .usage = "[options] model.rill|model.onnx",
                              .doc = "Runs a function of a module on .npy arrays. A module that is not lowered gets the target's default pipeline; the interpreter runs a graph as it stands.",
                              .options = rows,
                              .least = 0,
                              .most = 1};
  int status = ir_command_parse(&command, job.tool.diags, &job.tool.arena, argc, argv, &job.options, &job.args);
  if (status >= 0) return ir_tool_end(&job.tool, status);
  if (!check(&job)) return ir_tool_end(&job.tool, IR_EXIT_USAGE);
  if (!job.options.list_devices && !job.args.count) {
    ir_error_in(job.tool.diags, "ir-run", "expected 1 argument, found 0; usage: ir-run %s", command.usage);
    return ir_tool_end(&job.tool, IR_EXIT_USAGE);
  }
  if (job.options.list_devices) return ir_tool_end(&job.tool, list_devices(&job) ? IR_EXIT_OK : IR_EXIT_INPUT);
  if (!spares(&job)) return ir_tool_end(&job.tool, IR_EXIT_USAGE);
  job.tool.remarks = job.options.remarks;
  job.options.run.verify_each = true;
  ir_module *module = load(&job, job.args.at[0]);
  bool fine = module && run_module(&job, module);
  ir_module_free(module);
  return ir_tool_end(&job.tool, fine ? IR_EXIT_OK : IR_EXIT_INPUT);
}
