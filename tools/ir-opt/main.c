// SPDX-License-Identifier: Apache-2.0
/* ir-opt - reads a module, runs passes in the order of the flags, prints the module. */
#include "tools/ir-opt/split.h"

#include "ir/print.h"
#include "ir/op_doc.h"
#include "runtime/weights.h"

struct options {
  const char *output, *pipeline;
  int list_ops, list_passes;
  bool split, verify_diagnostics, no_print, print_locs, strip_locs, allow_elided;
  uint64_t elide_above, max_errors;
  bool remarks, copy_resources;
  ir_pipeline_options run;
};

enum { LIST_OFF, LIST_TEXT, LIST_MD };

#define ROW(kind, ...) OPT_##kind(struct options, __VA_ARGS__)
static const ir_opt rows[] = {
    ROW(STRING, output, "output", "-", "where the text goes", .letter = 'o', .value = "FILE"),
    ROW(STRING, pipeline, "pipeline", NULL, "passes and presets: 'simplify,decompose-ops{mode=inference},default{target=llvm}'", .value = "PASSES", .empty = true, .in_order = true),
    ROW(FLAG, run.exact, "exact", "off", "leave inexact passes out; fp.fma=false where the module does not say"),
    OPT_GROUP(struct options, run.fp, "fp", ir_tool_fp_rows, "set module attributes over what the text says: fma=true,order=free"),
    ROW(FLAG, run.verify_each, "verify-each", "on", "verify the module after each pass"),
    ROW(FLAG, run.roundtrip_each, "roundtrip-each", "off", "print, parse and compare after each pass"),
    ROW(STRINGS, run.print_before, "print-ir-before", NULL, "print the module before a pass, to standard error", .value = "PASS"),
    ROW(STRINGS, run.print_after, "print-ir-after", NULL, "print the module after a pass, to standard error", .value = "PASS"),
    ROW(FLAG, run.print_before_all, "print-ir-before-all", "off", "print the module before each pass"),
    ROW(FLAG, run.print_after_all, "print-ir-after-all", "off", "print the module after each pass"),
    ROW(FLAG, run.stats, "stats", "off", "print what each pass counted, to standard error"),
    ROW(FLAG, remarks, "remarks", "off", "print remarks of passes"),
    ROW(FLAG, split, "split-input-file", "off", "take pieces between lines `// -----` as files of their own"),
    ROW(FLAG, verify_diagnostics, "verify-diagnostics", "off", "compare diagnostics with `// expected-error@+1:COLUMN {{text}}` comments (the column may be left out), and print no module"),
    ROW(FLAG, no_print, "no-print", "off", "check only: print no module"),
    ROW(FLAG, print_locs, "print-locs", "off", "print where each operation came from"),
    ROW(FLAG, strip_locs, "strip-locs", "off", "print no locations, written ones neither"),
    ROW(FLAG, allow_elided, "allow-elided", "off", "take resources whose bytes are elided"),
    ROW(FLAG, copy_resources, "copy-resources", "off", "copy weights to the output where that is in another folder"),
    ROW(UINT, elide_above, "elide-above", "0", "print resources of more bytes as elided; 0: never", .value = "BYTES"),
    ROW(UINT, max_errors, "max-errors", "20", "errors to show; 0: all"),
    ROW(CHOICE, list_ops, "list-ops", "off|text|md", "off", "list the operators and end; =md: docs/spec/operators.md", .bare = "text"),
    ROW(CHOICE, list_passes, "list-passes", "off|text|md", "off", "list the passes and presets and end; =md: docs/spec/passes.md", .bare = "text"),
    OPT_END,
};

struct job {
  ir_tool tool;
  struct options options;
  ir_pipeline pipeline;
  ir_output *to; /* where the text goes; NULL: nowhere */
};

static ir_flag_result add_pipeline(struct job *job, ir_slice text) {
  const ir_source *source = ir_source_add(job->tool.diags, "--pipeline", text.at, text.length, 1);
  const ir_opt_site site = {.diags = job->tool.diags, .arena = &job->tool.arena, .source = source, .where = "ir-opt"};
  return source && ir_pipeline_parse(&site, &job->pipeline, text) ? IR_FLAG_TAKEN : IR_FLAG_FAILED;
}

static ir_flag_result pass_flag(void *user, const ir_opt_site *site, ir_slice name, ir_slice value) {
  struct job *job = user;
  if (ir_slice_is(name, "pipeline")) return add_pipeline(job, value);
  ir_nearest nearest = {.wanted = name};
  ir_pass_offer(&nearest);
  bool known = nearest.best.at && ir_slice_equal(nearest.best, name);
  if (!known) return IR_FLAG_UNKNOWN;
  return ir_pipeline_add(site, &job->pipeline, name, value) ? IR_FLAG_TAKEN : IR_FLAG_FAILED;
}

static void offer(void *user, ir_nearest *nearest) {
  (void)user;
  ir_pass_offer(nearest);
}

static void more_help(void *user, ir_text *text) {
  (void)user;
  ir_text_put(text, "\npasses, run in the order of the flags; options as --pass{name=value}:\n");
  ir_pass_document(text, false);
}

static void hand_on(void *user, ir_text *text) {
  struct job *job = user;
  ir_output_bytes(job->to, text->at, text->length);
  text->length = 0;
}

/* Parses, transforms and prints one piece. Without others nothing can fail any more once it prints. */
static bool process(void *user, const ir_source *source, const char *path, ir_text *out) {
  struct job *job = user;
  const ir_parse_options parse = {.allow_elided = job->options.allow_elided};
  ir_module *module = ir_tool_parse(&job->tool, source, path, &parse);
  if (!module) return false;
  bool fine = ir_pipeline_run(module, &job->pipeline, &job->options.run);
  const ir_print_options print = {.locs = job->options.print_locs,
                                  .strip_locs = job->options.strip_locs,
                                  .elide_above = job->options.elide_above,
                                  .flush = job->to && !job->options.split ? hand_on : NULL,
                                  .user = job};
  fine = fine && ir_weights_follow(module, job->to, job->options.copy_resources);
  if (fine && !job->options.no_print) ir_print_module(out, module, &print);
  ir_module_free(module);
  return fine;
}

static int list(struct job *job) {
  ir_text text = {0};
  if (job->options.list_ops) ir_ops_document(&text, job->options.list_ops == LIST_MD);
  if (job->options.list_passes) ir_pass_document(&text, job->options.list_passes == LIST_MD);
  ir_output *output = ir_output_open(job->tool.diags, job->options.output);
  if (output) ir_output_bytes(output, text.at, text.length);
  bool fine = output && ir_output_commit(output);
  ir_text_free(&text);
  return fine ? IR_EXIT_OK : IR_EXIT_INPUT;
}

static bool run(struct job *job, const char *path) {
  const struct options *options = &job->options;
  const ir_source *source = ir_source_open(job->tool.diags, path);
  ir_output *output = NULL;
  if (source && !options->verify_diagnostics && !(output = ir_output_open(job->tool.diags, options->output))) return false;
  if (!source) return false;
  job->to = output;
  ir_text text = {0};
  bool fine = ir_split_run(&job->tool, source, path, options->split, options->verify_diagnostics, process, job, &text);
  if (output && fine) {
    ir_output_bytes(output, text.at, text.length);
    fine = ir_output_commit(output);
  } else if (output) {
    ir_output_discard(output);
  }
  ir_text_free(&text);
  return fine;
}

static bool check_names(struct job *job, const ir_opt_strings *names) {
  const ir_opt_site site = {.diags = job->tool.diags, .arena = &job->tool.arena, .where = "ir-opt"};
  for (size_t i = 0; i < names->count; i++) {
    if (!ir_pass_named(&site, ir_slice_of(names->at[i]), false)) return false;
  }
  return true;
}

/* What no single option can see. */
static bool check(struct job *job) {
  const struct options *options = &job->options;
  if (options->print_locs && options->strip_locs) {
    ir_error_in(job->tool.diags, "ir-opt", "expected at most one of --print-locs and --strip-locs");
    return false;
  }
  return check_names(job, &options->run.print_before) && check_names(job, &options->run.print_after);
}

int main(int argc, char **argv) {
  struct job job = {0};
  ir_tool_start(&job.tool);
  const ir_command command = {.name = "ir-opt",
                              .usage = "[options] [passes] [file]",
                              .doc = "Reads a module (from standard input where no file is given), runs passes on it in the order of the flags, and prints it.",
                              .options = rows,
                              .most = 1,
                              .flag = pass_flag,
                              .offer = offer,
                              .help = more_help,
                              .user = &job};
  ir_args args = {0};
  int status = ir_command_parse(&command, job.tool.diags, &job.tool.arena, argc, argv, &job.options, &args);
  if (status >= 0) return ir_tool_end(&job.tool, status);
  job.tool.remarks = job.options.remarks;
  job.options.run.parse = ir_tool_reparse;
  if (!check(&job)) return ir_tool_end(&job.tool, IR_EXIT_USAGE);
  /* Each error that is expected must be seen. */
  ir_diags_set_limit(job.tool.diags, job.options.verify_diagnostics ? 0 : job.options.max_errors);
  if (job.options.list_ops || job.options.list_passes) return ir_tool_end(&job.tool, list(&job));
  bool fine = run(&job, args.count ? args.at[0] : "-");
  return ir_tool_end(&job.tool, fine ? IR_EXIT_OK : IR_EXIT_INPUT);
}
