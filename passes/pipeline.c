// SPDX-License-Identifier: Apache-2.0
/* passes/pipeline.c - pipeline text and presets. Needs base/opt. */
#include "passes/pass.h"

#include "base/vec.h"

/* What is in a preset stands in docs/spec/passes.md, made from this table. */
#define GRAPH_PASSES "canonicalize,fold-scale,name-extents,decompose-ops,fold-constants,canonicalize,cse,dce,"
/* Metal has room for 31 buffers, one of them for scalars; Vulkan promises 4, desktop drivers have more than 16;
 * the executor names a device that has fewer than a kernel wants. */
#define DEVICE_PASSES(target, buffers) \
  GRAPH_PASSES "legalize,annotate-op-pattern,fuse-ops{max-buffers=" buffers "},fuse-tir,dce,to-non-dataflow,call-tir-rewrite,schedule{target=" target "}," \
  "split-kernels,transform-loops{target=" target "},dce,rewrite-dataflow-reshape,plan-memory,kill-after-last-use"
const ir_preset ir_presets[] = {
    {"default", "llvm", "From a graph to loops for the CPU.",
     GRAPH_PASSES "legalize,annotate-op-pattern,fuse-ops,fuse-tir,dce,to-non-dataflow,call-tir-rewrite,schedule{target=llvm},"
     "split-kernels,transform-loops{target=llvm},dce,rewrite-dataflow-reshape,plan-memory,kill-after-last-use",
     true},
    {"default", "opencl", "From a graph to kernels in OpenCL C.", DEVICE_PASSES("opencl", "64"), true},
    {"default", "spirv", "From a graph to kernels in SPIR-V.", DEVICE_PASSES("spirv", "16"), true},
    {"default", "msl", "From a graph to kernels in the Metal Shading Language.", DEVICE_PASSES("msl", "30"), true},
    {"default", "interp", "What the interpreter may run instead of a graph: fused tensor programs in compute form.",
     GRAPH_PASSES "legalize,annotate-op-pattern,fuse-ops,fuse-tir,dce", false},
    {"simplify", "", "Clean-up of graph functions.", "canonicalize,fold-constants,canonicalize,cse,dce", false},
    {NULL, NULL, NULL, NULL, false},
};

struct preset_options {
  const char *target;
};
static const ir_opt preset_options[] = {
    OPT_STRING(struct preset_options, target, "target", NULL, "target of the preset", .value = "TARGET"),
    OPT_END,
};

static const ir_preset *find_preset(ir_slice name) {
  for (const ir_preset *preset = ir_presets; preset->name; preset++) {
    if (ir_slice_is(name, preset->name)) return preset;
  }
  return NULL;
}

static void offer_passes(ir_nearest *nearest) {
  for (const ir_pass *const *pass = ir_passes; *pass; pass++) ir_nearest_offer(nearest, ir_slice_of((*pass)->name));
}

static void offer_presets(ir_nearest *nearest) {
  for (const ir_preset *preset = ir_presets; preset->name; preset++) ir_nearest_offer(nearest, ir_slice_of(preset->name));
}

void ir_pass_offer(ir_nearest *nearest) {
  offer_passes(nearest);
  offer_presets(nearest);
}

static ir_range range_of(const ir_opt_site *site, ir_slice text) {
  const ir_source *source = site->source;
  if (!source || text.at < source->text || text.at > source->text + source->length) return (ir_range){0, 0};
  uint32_t begin = source->base + (uint32_t)(text.at - source->text);
  return (ir_range){begin, begin + (uint32_t)text.length};
}

__attribute__((format(printf, 3, 4))) static bool fail(const ir_opt_site *site, ir_slice at, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_range range = range_of(site, at);
  if (range.begin || !site->where) {
    ir_error(site->diags, range, "%s", text.at);
  } else {
    ir_error_in(site->diags, site->where, "%s", text.at);
  }
  ir_text_free(&text);
  return false;
}

static bool add_preset(const ir_opt_site *site, ir_pipeline *pipeline, ir_slice name, ir_slice options) {
  struct preset_options parsed;
  ir_opt_site named = *site;
  named.owner = ir_arena_printf(site->arena, "preset '%.*s'", (int)name.length, name.at);
  if (!ir_opt_defaults(&named, preset_options, &parsed) || !ir_opt_parse(&named, preset_options, &parsed, options)) return false;
  ir_text choices = {0};
  for (const ir_preset *preset = ir_presets; preset->name; preset++) {
    if (!ir_slice_is(name, preset->name)) continue;
    if (!strcmp(preset->target, parsed.target ? parsed.target : "")) {
      ir_text_free(&choices);
      pipeline->fma |= preset->fma;
      return ir_pipeline_parse(site, pipeline, ir_slice_of(preset->passes));
    }
    if (*preset->target) ir_text_printf(&choices, "%s'%s'", choices.length ? ", " : "", preset->target);
  }
  if (!choices.length) return fail(site, options, "preset '%.*s' takes no target, found '%s'", (int)name.length, name.at, parsed.target);
  if (parsed.target) fail(site, options, "preset '%.*s' has no target '%s': it has %s", (int)name.length, name.at, parsed.target, choices.at);
  if (!parsed.target) fail(site, name, "preset '%.*s' needs a target: {target=...}, one of %s", (int)name.length, name.at, choices.at);
  ir_text_free(&choices);
  return false;
}

const ir_pass *ir_pass_named(const ir_opt_site *site, ir_slice name, bool presets) {
  const ir_pass *pass = ir_pass_find(name);
  if (pass) return pass;
  ir_nearest nearest = {.wanted = name};
  offer_passes(&nearest);
  if (presets) offer_presets(&nearest);
  if (nearest.best.at) {
    fail(site, name, "unknown pass '%.*s': did you mean '%.*s'?", (int)name.length, name.at, (int)nearest.best.length, nearest.best.at);
  } else {
    fail(site, name, "unknown pass '%.*s' (--list-passes lists them)", (int)name.length, name.at);
  }
  return NULL;
}

bool ir_pipeline_add(const ir_opt_site *site, ir_pipeline *pipeline, ir_slice name, ir_slice options) {
  if (find_preset(name)) return add_preset(site, pipeline, name, options);
  const ir_pass *pass = ir_pass_named(site, name, true);
  if (!pass) return false;
  ir_opt_site named = *site;
  named.owner = ir_arena_printf(site->arena, "pass '%s'", pass->name);
  static const ir_opt none[] = {OPT_END};
  const ir_opt *rows = pass->options ? pass->options : none;
  void *into = ir_arena_alloc(site->arena, pass->options_size ? pass->options_size : 1);
  if (!ir_opt_defaults(&named, rows, into) || !ir_opt_parse(&named, rows, into, options)) return false;
  *ir_push(site->arena, pipeline) = (ir_pass_instance){pass, into};
  return true;
}

/* The end of a name or of `{...}`: a comma outside brackets and quotes, or the end. */
static size_t piece_length(ir_slice text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.length; i++) {
    char c = text.at[i];
    if (c == '"') quoted = !quoted;
    if (c == '\\' && quoted) i++;
    if (quoted) continue;
    if (c == '{' || c == '[' || c == '(') depth++;
    if (c == '}' || c == ']' || c == ')') depth--;
    if (c == ',' && depth <= 0) return i;
  }
  return text.length;
}

bool ir_pipeline_parse(const ir_opt_site *site, ir_pipeline *pipeline, ir_slice text) {
  while (text.length) {
    size_t length = piece_length(text);
    ir_slice piece = ir_slice_trim((ir_slice){text.at, length});
    bool more = length < text.length;
    text.at += length + more;
    text.length -= length + more;
    const char *brace = memchr(piece.at, '{', piece.length);
    ir_slice name = ir_slice_trim((ir_slice){piece.at, brace ? (size_t)(brace - piece.at) : piece.length});
    ir_slice options = brace ? (ir_slice){brace, piece.length - (size_t)(brace - piece.at)} : (ir_slice){"", 0};
    if (!name.length) return fail(site, piece, "expected the name of a pass");
    if (brace && piece.at[piece.length - 1] != '}') return fail(site, options, "expected '}' at the end of the options of '%.*s'", (int)name.length, name.at);
    if (!ir_pipeline_add(site, pipeline, name, options)) return false;
    if (more && !text.length) return fail(site, text, "expected the name of a pass after ','");
  }
  return true;
}

void ir_pass_document(ir_text *text, bool markdown) {
  if (markdown) ir_text_put(text, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n# Passes\n\nMade from the table of passes: `ir-opt --list-passes=md`. Each is a flag of `ir-opt` and a word in `--pipeline=`.\n");
  for (const ir_pass *const *at = ir_passes; *at; at++) {
    const ir_pass *pass = *at;
    if (!markdown) {
      ir_text_printf(text, "  --%-24s %s%s\n", pass->name, pass->doc, pass->inexact ? " (inexact)" : "");
      continue;
    }
    ir_text_printf(text, "\n## %s\n\n%s\n", pass->name, pass->doc);
    ir_pass_document_needs(text, pass);
    if (pass->inexact) ir_text_put(text, "\nInexact: it may change bits, reports each use as a remark, and is left out under `--exact`.\n");
    if (pass->options) {
      ir_text_put(text, "\nOptions:\n\n```\n");
      ir_opt_help(pass->options, "", text);
      ir_text_put(text, "```\n");
    }
    if (pass->stats) ir_text_put(text, "\nStatistics:\n\n");
    for (size_t i = 0; pass->stats && pass->stats[i].name; i++) {
      ir_text_printf(text, "- `%s`: %s\n", pass->stats[i].name, pass->stats[i].doc);
    }
  }
  ir_text_put(text, markdown ? "\n# Presets\n" : "presets:\n");
  for (const ir_preset *preset = ir_presets; preset->name; preset++) {
    const char *target = preset->target;
    ir_text_printf(text, markdown ? "\n## %s%s%s%s\n\n%s\n\n    " : "  --%s%s%s%s: %s\n      ", preset->name,
                   *target ? "{target=" : "", target, *target ? "}" : "", preset->doc);
    ir_text_printf(text, "%s\n", preset->passes);
    if (markdown && preset->fma) ir_text_put(text, "\nSets `fp.fma=true` where the module does not say, unless `--exact` is given.\n");
  }
}
