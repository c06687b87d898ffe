// SPDX-License-Identifier: Apache-2.0
/* Pieces of an input file, and comparing their diagnostics with what comments expect. */
#ifndef RILL_TOOLS_IR_OPT_SPLIT_H
#define RILL_TOOLS_IR_OPT_SPLIT_H

#include "tools/tool.h"

typedef bool ir_split_job(void *user, const ir_source *source, const char *path, ir_text *out);

/* Runs JOB on SOURCE, or with SPLIT on each piece between lines `// -----`; texts are joined with such lines. With EXPECT
 * every diagnostic must match a comment `// expected-error {{text}}` (or -warning, -remark, -note; `@+1`, `@+1:7` with a column, `@-2` or
 * `@above`, `@below` name another line, `@unknown` a diagnostic without a place) and every comment a diagnostic; then
 * the result says whether they did. */
bool ir_split_run(ir_tool *tool, const ir_source *source, const char *path, bool split, bool expect, ir_split_job *job,
                  void *user, ir_text *out);

#endif
