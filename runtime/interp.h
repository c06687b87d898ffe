// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_INTERP_H
#define RILL_RUNTIME_INTERP_H

#include "../ir/module.h"
#include "object.h"
#include "stats.h"

/* The reference executor: runs graph functions operator by operator, and prim_funcs in compute form and in loop form,
 * on this machine, to the bit as docs/spec says. One thread; no library but libm's correctly rounded functions.
 *
 * In checked mode (the default) indices out of range, integer divisions by zero, races and divergent barriers of
 * workgroups are errors; without it reads are clamped, writes dropped, quotients 0. Memory outside of a buffer is
 * touched in neither. */
typedef struct ir_interp ir_interp;

/* Runs KERNEL on one object for each parameter; `out` and `inout` tensors are written to. False after a report. */
typedef bool ir_interp_launcher(void *user, ir_func *kernel, size_t count, ir_object *const *arguments);

typedef struct ir_interp_options {
  bool checked;
  bool measured;      /* for ir_interp_run_stats */
  bool quiet;         /* report nothing: a false result says it all (folding) */
  uint64_t max_steps; /* operations on elements, roughly; 0: no limit */
  int64_t max_bytes;  /* bytes of live tensors; 0: no limit */
  ir_interp_launcher *launch; /* what graph functions start goes here; NULL: to the interpreter itself */
  void *user;                 /* for LAUNCH */
  ir_memory *memory;          /* where tensors that graph functions make are; NULL: in the host's */
} ir_interp_options;

/* OPTIONS may be NULL: checked, without limits. The module must not change while the interpreter lives, apart from additions. */
ir_interp *ir_interp_new(ir_module *module, const ir_interp_options *options);
void ir_interp_free(ir_interp *interp);

/* Runs FUNC (a func) on COUNT inputs, one a parameter (a symbol passed explicitly is an i64 scalar). Symbols are bound
 * from the extents; dtypes, ranks, extents and `where` are checked. RESULTS gets func->result_count new references.
 * False after an error, which names the parameter or stands at the operation. */
bool ir_interp_run(ir_interp *interp, ir_func *func, size_t count, ir_object *const *inputs, ir_object **results);

/* The same for tensors alone: results that are scalars come as tensors without axes, shapes as i64 tensors of one axis;
 * others are an error. */
bool ir_interp_call(ir_interp *interp, const ir_func *func, size_t count, ir_tensor *const *inputs, size_t result_count,
                    ir_tensor **results);

/* Runs a prim_func on one object for each parameter; `out` and `inout` tensors are written to. */
bool ir_interp_prim(ir_interp *interp, ir_func *func, size_t count, ir_object *const *arguments);

/* Runs one operation of a func, which must not have regions, on the values of its operands. RESULTS gets
 * op->result_count new references. */
bool ir_interp_op(ir_interp *interp, ir_op *op, ir_object *const *operands, ir_object **results);

typedef struct ir_interp_stats {
  uint64_t steps;
  int64_t live_bytes, peak_bytes;
} ir_interp_stats;
/* Launches since the interpreter was made; `measured` in the options. */
ir_run_stats ir_interp_run_stats(const ir_interp *interp);
ir_interp_stats ir_interp_get_stats(const ir_interp *interp);

#endif
