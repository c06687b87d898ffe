// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TARGETS_CPU_H
#define RILL_TARGETS_CPU_H

#include "../base/diag.h"
#include "../base/str.h"

/* A processor as passes and emitters see it; no backend library is needed to ask for one. */
typedef struct ir_cpu {
  const char *name;         /* for --cpu */
  const char *arch;         /* what its triples begin with */
  const char *llvm_cpu, *features; /* as LLVM names them */
  unsigned vector_bytes;    /* width of the vectors that loops are turned into */
  unsigned masks;           /* see cpu.def */
  bool halves;              /* f16 is converted by an instruction */
  const char *doc;
} ir_cpu;

extern const ir_cpu ir_cpus[]; /* ends with a NULL name */

/* The processor NAME; with NAME NULL the first one of the architecture that TRIPLE begins with (NULL: x86-64). Reports in
 * the name of WHERE and returns NULL for one that is not known or not of TRIPLE's architecture. */
const ir_cpu *ir_cpu_find(ir_diags *diags, const char *where, const char *name, const char *triple);
/* Whether code can be asked for with these names: a processor of the table, or `native`, which no triple goes with. Reports. */
bool ir_cpu_check(ir_diags *diags, const char *where, const char *name, const char *triple);

#endif
