// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_PLUGIN_H
#define RILL_RUNTIME_PLUGIN_H

#include "../base/vec.h"
#include "../ir/module.h"
#include "stats.h"

typedef struct ir_tensor ir_tensor;   /* runtime/tensor.h */
typedef struct ir_program ir_program; /* a module compiled for this machine, the plugin's own */

/* Constants that translated code does not hold: the bytes of the file that it wants when it is opened. */
typedef struct ir_side_file {
  ir_arena arena;
  ir_vec(ir_slice) pieces; /* one after the other; they live as long as the module and ARENA */
} ir_side_file;

typedef enum ir_constants_place { IR_CONSTANTS_AUTO, IR_CONSTANTS_INSIDE, IR_CONSTANTS_BESIDE } ir_constants_place;

typedef struct ir_target_options {
  const char *triple, *cpu; /* NULL: of this machine (compile), x86-64-v3 (translate) */
  unsigned vulkan;          /* translate to SPIR-V: 1, 2 or 3, for Vulkan 1.1, 1.2 or 1.3; 0: 1.1 */
  const char *form;         /* translate: one of the words of the plugin's `forms`; NULL: the first */
  ir_constants_place constants; /* translate: in the code, in a side file, or there where they are too many for code */
  ir_side_file *side;       /* translate: gets the side file; no pieces where there is none */
  bool checked;             /* run-time checks of indices, divisions and bounds beyond memory safety */
  const char *device;       /* compile: which device, a number of `list` or a part of a name; NULL: the first */
  const char *cache;        /* compile: a folder where code is kept for the next time; NULL: none */
  bool measured;            /* `stats` tells launches and kernels; runs are a little slower */
  unsigned threads;         /* compile threads; 0: two */
  unsigned run_threads;     /* threads of a run; 0: as many as there are processors */
  uint64_t max_bytes;       /* compile: memory that a run takes at once, at most; 0: no limit */
} ir_target_options;

enum { IR_PLUGIN_VERSION = 4 };

/* What a backend that lives in a library of its own offers: rill-NAME.so exports `ir_plugin_NAME`. Functions report
 * errors through the module's context and return false or NULL. */
typedef struct ir_plugin {
  uint32_t version; /* IR_PLUGIN_VERSION */
  const char *name;
  const char *forms; /* NULL with `translate`: it only runs. What `translate` writes, "ll|bc|asm|obj|header" */
  /* Appends the target's text or bytes. The module must be lowered: the first operation that is not gets a located error. */
  bool (*translate)(ir_module *module, const ir_target_options *options, ir_text *out);
  ir_program *(*compile)(ir_module *module, const ir_target_options *options);
  /* Runs ENTRY with dense tensors in the order of its parameters; RESULTS are fresh tensors, one a result. Symbols are
   * bound from the extents, bounds checked; messages name parameters. */
  bool (*run)(ir_program *program, const char *entry, size_t count, ir_tensor *const *arguments, size_t result_count,
              ir_tensor **results);
  /* Of the last run of a program that was compiled `measured`. */
  ir_run_stats (*stats)(ir_program *program);
  /* Appends a line for each device and returns their number; NULL where there is nothing to choose. */
  size_t (*list)(ir_text *out);
  void (*free)(ir_program *program);
} ir_plugin;

/* Loads rill-NAME.so from ../lib/rill beside the running executable (or from the folder in RILL_PLUGINS). Reports
 * and returns NULL where it is missing, naming the package whose library it needs. */
const ir_plugin *ir_plugin_load(ir_diags *diags, const char *name);

/* Whether there is a rill-NAME.so. */
bool ir_plugin_is_built(const char *name);

#endif
