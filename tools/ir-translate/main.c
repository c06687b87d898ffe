// SPDX-License-Identifier: Apache-2.0
/* ir-translate - brings models in and writes programs out. */
#include "base/path.h"
#include "base/vec.h"
#include "frontends/onnx/onnx.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/manifest/manifest.h"
#include "runtime/plugin.h"
#include "runtime/weights.h"
#include "targets/cpu.h"
#include "targets/msl/msl.h"
#include "targets/opencl/opencl.h"
#include "tools/ir-translate/link.h"
#include "tools/tool.h"

#include <stddef.h>

struct options {
  bool from_onnx, from_manifest, list_onnx, to_llvm, to_opencl, to_spirv, to_msl, lower, checked, print_locs, remarks;
  const char *output, *triple, *cpu, *linker, *manifest;
  int emit, constants, environment;
  ir_pipeline_options run;
};

/* What --emit says. */
#define FORMS "ll|bc|cl|spv|metal|asm|obj|so|header"
enum { LL, BC, CL, SPV, METAL, ASM, OBJ, SO, HEADER };

#define ROW(kind, ...) OPT_##kind(struct options, __VA_ARGS__)
static const ir_opt rows[] = {
    ROW(FLAG, from_onnx, "import-onnx", "off", "read an ONNX model and write Rill text; weights go to a safetensors file beside it"),
    ROW(FLAG, from_manifest, "import-manifest", "off", "read a manifest, check it against its constants, and write Rill text: kernels become extern"),
    ROW(FLAG, to_llvm, "to-llvm", "off", "write a lowered module for the CPU, as --emit says"),
    ROW(FLAG, to_opencl, "to-opencl", "off", "write the kernels of a lowered module as OpenCL C 1.2"),
    ROW(FLAG, to_spirv, "to-spirv", "off", "write the kernels of a lowered module as SPIR-V, which the validator has accepted"),
    ROW(FLAG, to_msl, "to-msl", "off", "write the kernels of a lowered module as Metal Shading Language"),
    ROW(CHOICE, emit, "emit", FORMS, "ll", "of --to-llvm: LLVM IR as text (default) or bitcode, assembly, an object, a shared library, the C header; of --to-opencl: cl; of --to-spirv: spv (default) or asm; of --to-msl: metal"),
    ROW(FLAG, lower, "opt", "off", "run the target's default pipeline first"),
    ROW(STRING, output, "output", "-", "where the result goes", .letter = 'o', .value = "FILE"),
    ROW(STRING, triple, "triple", NULL, "target triple of --to-llvm (default: Linux on the processor)"),
    ROW(STRING, cpu, "cpu", NULL, "processor of --to-llvm (default: x86-64-v3, or the triple's plainest); native: this one"),
    ROW(CHOICE, environment, "target-env", "vulkan1.1|vulkan1.2|vulkan1.3", "vulkan1.1", "whom --to-spirv writes for: vulkan1.1 (SPIR-V 1.3), vulkan1.2 (1.5) or vulkan1.3 (1.6)"),
    ROW(FLAG, checked, "checked", "off", "check indices and integer divisions at run time"),
    ROW(STRING, manifest, "manifest", NULL, "also write the host program as JSON here; its constants go to a file beside it", .value = "FILE"),
    ROW(CHOICE, constants, "constants", "auto|inside|beside", "auto", "where the code has its constants; beside: in FILE.side.bin, which the model is opened with; auto: there if they have more than 64 MiB"),
    ROW(STRING, linker, "linker", "cc", "what --emit=so links with", .value = "PROGRAM"),
    ROW(FLAG, run.exact, "exact", "off", "leave inexact passes out; fp.fma=false where the module does not say"),
    OPT_GROUP(struct options, run.fp, "fp", ir_tool_fp_rows, "set module attributes over what the text says: fma=true,order=free"),
    ROW(FLAG, print_locs, "print-locs", "off", "print the names of the model's nodes as loc(...)"),
    ROW(FLAG, remarks, "remarks", "off", "print remarks of passes"),
    ROW(FLAG, list_onnx, "list-onnx", "off", "print the operators of ONNX that are imported, and nothing else"),
    OPT_END,
};

struct job {
  ir_tool tool;
  struct options options;
};

/* The manifest takes its place together with OUTPUT. */
static bool write_manifest(struct job *job, ir_module *module, const char *device, ir_slice artifact, ir_output *output) {
  ir_output *manifest = ir_output_open(job->tool.diags, job->options.manifest);
  if (!manifest) return false;
  ir_output_attach(output, manifest);
  return ir_manifest_write(module, device, artifact, manifest);
}

static bool write_side(struct job *job, const ir_side_file *side, ir_output *output) {
  const char *target = ir_output_target(output);
  if (!target) {
    ir_error_in(job->tool.diags, "ir-translate", "constants go to a side file beside the output, which is a pipe: give --output=FILE or --constants=inside");
    return false;
  }
  ir_output *beside = ir_output_open(job->tool.diags, ir_path_with_ending(&job->tool.arena, target, "side.bin"));
  if (!beside) return false;
  for (size_t i = 0; i < side->pieces.count; i++) ir_output_bytes(beside, side->pieces.at[i].at, side->pieces.at[i].length);
  ir_output_attach(output, beside);
  return true;
}

static bool write_text(struct job *job, ir_module *module, const char *device, const ir_text *text, const ir_side_file *side) {
  ir_output *output = ir_output_open(job->tool.diags, job->options.output);
  if (!output) return false;
  const ir_slice artifact = {text->at, text->length};
  ir_output_bytes(output, artifact.at, artifact.length);
  bool fine = !side->pieces.count || write_side(job, side, output);
  if (fine && (!job->options.manifest || write_manifest(job, module, device, artifact, output))) return ir_output_commit(output);
  ir_output_discard(output);
  return false;
}

static bool import(struct job *job, const char *path) {
  ir_module *module = job->options.from_onnx ? ir_onnx_import(job->tool.context, path) : ir_manifest_read(job->tool.context, path);
  if (!module) return false;
  bool fine = ir_verify_module(module);
  ir_output *output = fine ? ir_output_open(job->tool.diags, job->options.output) : NULL;
  fine = output && ir_weights_place(module, output, true);
  if (fine) {
    ir_text text = {0};
    ir_print_module(&text, module, &(ir_print_options){.strip_locs = !job->options.print_locs});
    ir_output_bytes(output, text.at, text.length);
    ir_text_free(&text);
    fine = ir_output_commit(output);
  } else if (output) {
    ir_output_discard(output);
  }
  ir_module_free(module);
  return fine;
}

static bool to_llvm(struct job *job, ir_module *module, ir_text *text, ir_side_file *side) {
  static const char *const forms[] = {[LL] = "ll", [BC] = "bc", [ASM] = "asm", [OBJ] = "obj", [SO] = "obj", [HEADER] = "header"};
  const struct options *options = &job->options;
  const ir_target_options target = {.triple = options->triple, .cpu = options->cpu, .form = forms[options->emit], .checked = options->checked, .constants = (ir_constants_place)options->constants, .side = side};
  const ir_plugin *plugin = ir_plugin_load(job->tool.diags, "llvm");
  bool fine = plugin && plugin->translate(module, &target, text);
  if (!fine || options->emit != SO) return fine;
  ir_text library = {0};
  fine = ir_link_shared(job->tool.diags, options->linker, (ir_slice){text->at, text->length}, &library);
  ir_text_free(text);
  *text = library;
  return fine;
}

static bool to_opencl(struct job *job, ir_module *module, ir_text *text, ir_side_file *side) {
  (void)job;
  (void)side;
  return ir_opencl_translate(module, text);
}

static bool to_spirv(struct job *job, ir_module *module, ir_text *text, ir_side_file *side) {
  (void)side;
  const ir_target_options target = {.vulkan = (unsigned)job->options.environment + 1, .form = job->options.emit == ASM ? "asm" : "spv"};
  const ir_plugin *plugin = ir_plugin_load(job->tool.diags, "spirv");
  return plugin && plugin->translate(module, &target, text);
}

static bool to_msl(struct job *job, ir_module *module, ir_text *text, ir_side_file *side) {
  (void)job;
  (void)side;
  return ir_msl_translate(module, text);
}

/* What the tool does, one of these at a time. */
static const struct direction {
  const char *name;
  size_t flag; /* in struct options */
  const char *target; /* whose pipeline --opt runs; NULL: an import */
  bool (*translate)(struct job *job, ir_module *module, ir_text *text, ir_side_file *side);
  unsigned forms; /* of --emit, a bit each; the first is the default */
} directions[] = {
    {"import-onnx", offsetof(struct options, from_onnx), NULL, NULL, 0},
    {"import-manifest", offsetof(struct options, from_manifest), NULL, NULL, 0},
    {"to-llvm", offsetof(struct options, to_llvm), "llvm", to_llvm, 1 << LL | 1 << BC | 1 << ASM | 1 << OBJ | 1 << SO | 1 << HEADER},
    {"to-opencl", offsetof(struct options, to_opencl), "opencl", to_opencl, 1 << CL},
    {"to-spirv", offsetof(struct options, to_spirv), "spirv", to_spirv, 1 << SPV | 1 << ASM},
    {"to-msl", offsetof(struct options, to_msl), "msl", to_msl, 1 << METAL},
};

static bool lower(struct job *job, ir_module *module, const char *target) {
  const ir_opt_site site = {.diags = job->tool.diags, .arena = &job->tool.arena, .where = "ir-translate"};
  ir_pipeline pipeline = {0};
  const char *preset = ir_arena_printf(&job->tool.arena, "default{target=%s}", target);
  if (job->options.lower && !ir_pipeline_parse(&site, &pipeline, ir_slice_of(preset))) return false;
  return ir_pipeline_run(module, &pipeline, &job->options.run);
}

static bool translate(struct job *job, const struct direction *direction, const char *path) {
  const ir_source *source = ir_source_open(job->tool.diags, path);
  ir_module *module = source ? ir_tool_parse(&job->tool, source, path, NULL) : NULL;
  if (!module) return false;
  ir_text text = {0};
  ir_side_file side = {.pieces = {0}};
  bool fine = lower(job, module, direction->target) && direction->translate(job, module, &text, &side) && write_text(job, module, direction->forms & 1 << LL ? NULL : direction->target, &text, &side);
  ir_arena_free(&side.arena);
  ir_text_free(&text);
  ir_module_free(module);
  return fine;
}

/* The one direction that was asked for; NULL, reported, where there is none or several. */
static const struct direction *find_direction(struct job *job) {
  const struct direction *found = NULL;
  ir_text names = {0};
  for (size_t i = 0; i < ir_count_of(directions); i++) {
    const struct direction *d = &directions[i];
    ir_text_printf(&names, "%s--%s", !i ? "" : i + 1 < ir_count_of(directions) ? ", " : " and ", d->name);
    if (!*((const bool *)&job->options + d->flag)) continue;
    if (found) {
      ir_error_in(job->tool.diags, "ir-translate", "--%s and --%s do not go together", found->name, d->name);
      ir_text_free(&names);
      return NULL;
    }
    found = d;
  }
  if (!found) ir_error_in(job->tool.diags, "ir-translate", "expected one of %s", names.at);
  ir_text_free(&names);
  return found;
}

/* Options of some directions alone are refused in the others. */
static bool check(struct job *job, const struct direction *direction, const ir_args *args) {
  struct options *options = &job->options;
  enum { IMPORTS = 1, CPU = 2, DEVICES = 4, SPIRV = 8, WRITES = CPU | DEVICES | SPIRV };
  const struct {
    const void *field;
    const char *name;
    unsigned of;
    const char *whose;
  } rules[] = {{&options->emit, "emit", WRITES, "--to-llvm and the like"}, {&options->lower, "opt", WRITES, "--to-llvm and the like"},
               {&options->triple, "triple", CPU, "--to-llvm"}, {&options->cpu, "cpu", CPU, "--to-llvm"}, {&options->checked, "checked", CPU, "--to-llvm"},
               {&options->linker, "linker", CPU, "--to-llvm"}, {&options->constants, "constants", CPU, "--to-llvm"},
               {&options->environment, "target-env", SPIRV, "--to-spirv"},
               {&options->run.exact, "exact", WRITES, "--to-llvm and the like"}, {&options->run.fp.fma, "fp", WRITES, "--to-llvm and the like"},
               {&options->run.fp.order, "fp", WRITES, "--to-llvm and the like"}, {&options->run.fp.math, "fp", WRITES, "--to-llvm and the like"},
               {&options->remarks, "remarks", WRITES, "--to-llvm and the like"}, {&options->manifest, "manifest", WRITES, "--to-llvm and the like"},
               {&options->print_locs, "print-locs", IMPORTS, "--import-onnx"}};
  unsigned is = !direction->target ? IMPORTS : direction->forms & 1 << LL ? CPU : direction->forms & 1 << SPV ? SPIRV : DEVICES;
  for (size_t i = 0; i < ir_count_of(rules); i++) {
    if (rules[i].of & is || !ir_args_given(args, rules[i].field)) continue;
    ir_error_in(job->tool.diags, "ir-translate", "option '--%s' is for %s, not for --%s", rules[i].name, rules[i].whose, direction->name);
    return false;
  }
  if (options->manifest && !strcmp(options->manifest, "-") && !strcmp(options->output, "-")) {
    ir_error_in(job->tool.diags, "ir-translate", "--manifest=- and the code both go to standard output: give one of them a file");
    return false;
  }
  if (!direction->target) return true;
  if (!ir_args_given(args, &options->emit)) {
    options->emit = __builtin_ctz(direction->forms);
  } else if (!(direction->forms >> options->emit & 1)) {
    ir_error_in(job->tool.diags, "ir-translate", "this value of '--emit' is not one of --%s", direction->name);
    return false;
  }
  return is != CPU || ir_cpu_check(job->tool.diags, "ir-translate", options->cpu, options->triple);
}

static bool list_onnx(struct job *job) {
  ir_text text = {0};
  ir_onnx_document(&text);
  ir_output *output = ir_output_open(job->tool.diags, job->options.output);
  if (output) ir_output_bytes(output, text.at, text.length);
  ir_text_free(&text);
  return output && ir_output_commit(output);
}

int main(int argc, char **argv) {
  struct job job = {0};
  ir_tool_start(&job.tool);
  const ir_command command = {.name = "ir-translate",
                              .usage = "--import-onnx model.onnx -o model.rill | --import-manifest m.json -o m.rill | --to-llvm|--to-opencl|--to-spirv|--to-msl [--opt] model.rill -o model.ll",
                              .doc = "Brings models in (ONNX) and writes programs out (LLVM IR, objects, shared libraries with a C header; kernels in OpenCL C, SPIR-V and Metal Shading Language).",
                              .options = rows,
                              .most = 1};
  ir_args args = {0};
  int status = ir_command_parse(&command, job.tool.diags, &job.tool.arena, argc, argv, &job.options, &args);
  if (status >= 0) return ir_tool_end(&job.tool, status);
  job.tool.remarks = job.options.remarks;
  job.options.run.verify_each = true;
  if (job.options.list_onnx) return ir_tool_end(&job.tool, list_onnx(&job) ? IR_EXIT_OK : IR_EXIT_INPUT);
  const struct direction *direction = find_direction(&job);
  if (!direction || !check(&job, direction, &args)) return ir_tool_end(&job.tool, IR_EXIT_USAGE);
  const char *path = args.count ? args.at[0] : "-", *manifest = job.options.manifest;
  bool spared = ir_tool_spares(&job.tool, "ir-translate", job.options.output, path) && (!manifest || ir_tool_spares(&job.tool, "ir-translate", manifest, path));
  if (!spared) return ir_tool_end(&job.tool, IR_EXIT_USAGE);
  bool fine = direction->target ? translate(&job, direction, path) : import(&job, path);
  return ir_tool_end(&job.tool, fine ? IR_EXIT_OK : IR_EXIT_INPUT);
}
