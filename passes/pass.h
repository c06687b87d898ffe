// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_PASSES_PASS_H
#define RILL_PASSES_PASS_H

#include "../base/opt.h"
#include "../ir/rewrite.h"

typedef struct ir_pass ir_pass;

/* What a pass sees while it runs. */
typedef struct ir_pass_run {
  const ir_pass *pass;
  ir_module *module;
  ir_context *context;
  ir_func *func;        /* the function at hand, for each_op and each_func */
  ir_rewriter *rewriter;
  ir_arena *scratch;    /* reset after the pass */
  const void *options;  /* the pass's struct */
  uint64_t *stats;      /* one for each row of pass->stats */
  bool failed;          /* set it after reporting an error: the pipeline stops */
} ir_pass_run;

typedef struct ir_pass_stat {
  const char *name, *doc;
} ir_pass_stat;

/* What a module may be known to satisfy, to check that a pass stands where it can work. */
typedef enum ir_property {
  IR_PROPERTY_LEGAL = 1 << 0,    /* no tensor operator is left that a prim_func could compute: legalize */
  IR_PROPERTY_NO_DATAFLOW = 1 << 1, /* no dataflow regions: to-non-dataflow */
  IR_PROPERTY_LOOPS = 1 << 2,    /* no compute nests, only loops: schedule */
  IR_PROPERTY_BUFFERS = 1 << 3,  /* no call_tir, results have explicit memory: call-tir-rewrite */
} ir_property;

/* A pass: one file, one symbol, one row in passes.def. One of each_op, each_func and run. */
struct ir_pass {
  const char *name, *doc;
  const ir_opt *options; /* ends with OPT_END; NULL: none */
  size_t options_size;
  bool (*each_op)(ir_pass_run *run, ir_op *op);     /* returns whether it changed something; may erase OP */
  bool (*each_func)(ir_pass_run *run, ir_func *func); /* for every func with a body */
  bool (*run)(ir_pass_run *run);
  bool prims;            /* each_op, each_func: prim_funcs too */
  bool repeat;           /* each_op: again until nothing changes */
  ir_order order;        /* of each_op */
  const ir_rule *const *rules; /* for a pass that only applies rules; ends with NULL */
  const ir_pass_stat *stats;   /* ends with a NULL name */
  unsigned needs;        /* properties that the module must have */
  bool inexact;          /* changes bits: off under --exact */
};

#define STATS(...) (const ir_pass_stat[]){__VA_ARGS__, {NULL, NULL}}
/* Counts one event of statistic I and returns true, for `return ir_count(run, ERASED)`. */
static inline bool ir_count(ir_pass_run *run, size_t i) {
  run->stats[i]++;
  return true;
}

#define PASS(id) extern const ir_pass ir_pass_##id;
#include "passes.def"
#undef PASS

/* Every pass, sorted as in passes.def; ends with NULL. */
extern const ir_pass *const ir_passes[];
const ir_pass *ir_pass_find(ir_slice name);

/* The first operation or item of MODULE that lacks PROPERTY; NULL where the module has it. */
const ir_op *ir_property_violation(ir_module *module, ir_property property);

/* --- pipelines --- */
typedef struct ir_pass_instance {
  const ir_pass *pass;
  void *options;
} ir_pass_instance;

typedef struct ir_pipeline {
  ir_pass_instance *at;
  size_t count, capacity;
  bool fma; /* a preset in it wants fp.fma=true where nothing else is said */
} ir_pipeline;

typedef struct ir_fp_options {
  int fma;   /* 0 as the module says, 1 false, 2 true */
  int order; /* 0 as the module says, 1 fixed, 2 free */
  int math;  /* 0 as the module says, 1 own, 2 native */
} ir_fp_options;

typedef struct ir_pipeline_options {
  bool exact;           /* leave inexact passes out, fp.fma=false, fp.order=fixed, fp.math=own unless the text says otherwise */
  bool verify_each;     /* verify the module after each pass */
  bool roundtrip_each;  /* print, parse and compare after each pass */
  bool print_before_all, print_after_all;
  ir_opt_strings print_before, print_after; /* names of passes */
  bool stats;           /* print statistics to standard error at the end */
  ir_fp_options fp;
  /* Parses text for roundtrip_each; set by who links the parser. */
  ir_module *(*parse)(ir_context *context, const char *name, ir_slice text);
} ir_pipeline_options;

/* Appends `canonicalize,fuse-ops{max-depth=256},default{target=llvm}` to PIPELINE, presets expanded. Errors point into
 * SITE's source. */
bool ir_pipeline_parse(const ir_opt_site *site, ir_pipeline *pipeline, ir_slice text);
/* Appends one pass or preset with option text (`{...}` or empty). */
bool ir_pipeline_add(const ir_opt_site *site, ir_pipeline *pipeline, ir_slice name, ir_slice options);
/* The pass called NAME; NULL after an error that suggests a close name, of a preset too where PRESETS. */
const ir_pass *ir_pass_named(const ir_opt_site *site, ir_slice name, bool presets);
bool ir_pipeline_run(ir_module *module, const ir_pipeline *pipeline, const ir_pipeline_options *options);

/* A named list of passes. `{target=...}` chooses among the presets of one name. */
typedef struct ir_preset {
  const char *name, *target, *doc;
  const char *passes; /* pipeline text */
  bool fma;           /* the preset sets fp.fma=true where the module does not say */
} ir_preset;
extern const ir_preset ir_presets[]; /* ends with a NULL name */

/* Offers the names of passes and presets. */
void ir_pass_offer(ir_nearest *nearest);
/* One line for each pass and preset, for --help and --list-passes; MARKDOWN: docs/spec/passes.md. */
void ir_pass_document(ir_text *text, bool markdown);
/* What has to run before PASS, in Markdown. */
void ir_pass_document_needs(ir_text *text, const ir_pass *pass);

#endif
