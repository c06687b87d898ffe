// SPDX-License-Identifier: Apache-2.0
/* What the tools share: a context with its diagnostics, reading modules, writing text. */
#ifndef RILL_TOOLS_TOOL_H
#define RILL_TOOLS_TOOL_H

#include "base/command.h"
#include "base/output.h"
#include "parser/parser.h"
#include "passes/pass.h"

typedef struct ir_tool {
  ir_diags *diags;
  ir_arena arena;
  ir_context *context;
  bool remarks; /* print remarks too */
} ir_tool;

/* Diagnostics go to standard error; remarks only where tool->remarks is set. */
void ir_tool_start(ir_tool *tool);
/* Sets the handler again, after somebody else's. */
void ir_tool_restore(ir_tool *tool);
/* Prints what is pending, frees everything, and returns STATUS, or IR_EXIT_INPUT where there were errors. */
int ir_tool_end(ir_tool *tool, int status);

/* False, reported, where OUTPUT is the file INPUT, which would be lost. */
bool ir_tool_spares(ir_tool *tool, const char *who, const char *output, const char *input);

/* Parses SOURCE and verifies the result. NULL after errors. PATH gives the folder of its resources ("-": none). */
ir_module *ir_tool_parse(ir_tool *tool, const ir_source *source, const char *path, const ir_parse_options *options);
/* For ir_pipeline_options.parse. */
ir_module *ir_tool_reparse(ir_context *context, const char *name, ir_slice text);

/* The rows of ir_fp_options. */
extern const ir_opt ir_tool_fp_rows[];

#endif
