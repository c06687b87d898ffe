// SPDX-License-Identifier: Apache-2.0
/* tools/tool.c - what the tools share. */
#include "tools/tool.h"

#include "ir/verify.h"
#include "runtime/weights.h"

#include <errno.h>
#include <sys/stat.h>

static void handle(void *user, ir_diags *diags, const ir_diag *diag) {
  const ir_tool *tool = user;
  if (diag->severity == IR_REMARK && !tool->remarks) return;
  ir_diag_print(stderr, diags, diag);
}

void ir_tool_restore(ir_tool *tool) { ir_diags_set_handler(tool->diags, handle, tool); }

void ir_tool_start(ir_tool *tool) {
  *tool = (ir_tool){.diags = ir_diags_new()};
  ir_tool_restore(tool);
  tool->context = ir_context_new(tool->diags);
  ir_weights_attach(tool->context);
}

int ir_tool_end(ir_tool *tool, int status) {
  if (fflush(stdout) || ferror(stdout)) ir_error_in(tool->diags, "<stdout>", "cannot write: %s", strerror(errno));
  ir_diags_flush(tool->diags);
  if (status == IR_EXIT_OK && ir_diags_errors(tool->diags)) status = IR_EXIT_INPUT;
  ir_context_free(tool->context);
  ir_diags_free(tool->diags);
  ir_arena_free(&tool->arena);
  return status;
}

static const char *folder_of(ir_tool *tool, const char *path) {
  if (!strcmp(path, "-")) return NULL;
  const char *slash = strrchr(path, '/');
  if (!slash) return ".";
  return ir_arena_copy(&tool->arena, path, slash == path ? 1 : (size_t)(slash - path));
}

bool ir_tool_spares(ir_tool *tool, const char *who, const char *output, const char *input) {
  struct stat a, b;
  bool same = !stat(output, &a) && !stat(input, &b) && S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  if (same) ir_error_in(tool->diags, who, "the output '%s' is the input '%s', which would be lost", output, input);
  return !same;
}

ir_module *ir_tool_parse(ir_tool *tool, const ir_source *source, const char *path, const ir_parse_options *options) {
  ir_module *module = ir_parse(tool->context, source, options);
  if (!module) return NULL;
  module->folder = folder_of(tool, path);
  if (ir_verify_module(module)) return module;
  ir_module_free(module);
  return NULL;
}

ir_module *ir_tool_reparse(ir_context *context, const char *name, ir_slice text) {
  const ir_source *source = ir_source_add(context->diags, name, text.at, text.length, 1);
  return source ? ir_parse(context, source, NULL) : NULL;
}

const ir_opt ir_tool_fp_rows[] = {
    OPT_CHOICE(ir_fp_options, fma, "fma", "module|false|true", "module", "fuse the multiply-adds of chain and expanded operators"),
    OPT_CHOICE(ir_fp_options, order, "order", "module|fixed|free", "module", "order of reductions"),
    OPT_CHOICE(ir_fp_options, math, "math", "module|own|native", "module", "transcendental functions"),
    OPT_END,
};
