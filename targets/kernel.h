// SPDX-License-Identifier: Apache-2.0
/* A scheduled prim_func as a device sees it: buffers, scalars, a grid. Emitters, executors and the manifest go by this. */
#ifndef RILL_TARGETS_KERNEL_H
#define RILL_TARGETS_KERNEL_H

#include "../base/vec.h"
#include "../ir/module.h"

typedef struct ir_kernel_buffer {
  const ir_param *param;
  bool written;
} ir_kernel_buffer;

/* A number that the host passes: an explicit symbol or a scalar parameter, or a symbol of the buffers' types, which the host
 * knows from their extents. */
typedef struct ir_kernel_scalar {
  const ir_param *param;  /* NULL: a symbol of types */
  const ir_expr *symbol;  /* NULL: a scalar parameter */
  ir_dtype dtype;         /* i64 for symbols */
  const ir_string *name;
} ir_kernel_scalar;

typedef struct ir_kernel {
  ir_func *func;
  const char *name; /* of the entry point */
  ir_kernel_buffer *buffers; /* in the order of the parameters */
  size_t buffer_count;
  ir_kernel_scalar *scalars; /* explicit ones in the order of the parameters, then the symbols of types as they appear */
  size_t scalar_count;
  const ir_expr *groups[3]; /* workgroups on each axis, over the symbols; 1 where no loop is bound */
  int64_t local[3];         /* invocations of a workgroup on each axis */
  bool shares;              /* there is workgroup memory, or a barrier */
  ir_vec(const ir_op *) asserts; /* in order; where there are any, the kernel gets a status word (docs/spec/devices.md) */
} ir_kernel;

/* What FUNC, a prim_func in loop form, is for a device. TARGET is for messages: "the opencl target cannot ...". Reports and
 * returns false where extents of bound loops are not known before it starts. */
bool ir_kernel_describe(ir_arena *arena, ir_func *func, const char *target, ir_kernel *kernel);

/* The number of OP among the kernel's assertions, which has to be one of them. */
size_t ir_kernel_assert(const ir_kernel *kernel, const ir_op *op);

/* Whether OP, a loop, is written with an extent of which it has no rounds: what stands in it is no code. */
bool ir_loop_is_empty(const ir_op *op);

/* Rounds of all loops of one invocation together, where the kernel's scalars that are symbols have these VALUES (bits, one a
 * scalar): as far as it is known before it starts; what hangs on data does not count. Loops that compilers may unroll: if UNROLLED not. */
int64_t ir_kernel_rounds(const ir_kernel *kernel, const uint64_t *values, bool unrolled);

/* False, reported, where FUNC still names steps: transform-loops takes them, and calls what it did `transformed`. */
bool ir_steps_are_taken(ir_func *func, const char *target);

/* Checks that FUNC is in loop form and has nothing that no device can do; reports the first operation that has. ELEMENTS says
 * which dtypes there are, a bit each. */
bool ir_kernel_check(ir_func *func, const char *target, uint32_t elements);

typedef struct ir_funcs {
  ir_func **at;
  size_t count, capacity;
  ir_map twins; /* ir_func of a kernel -> the one of the list that is equal but for the name: itself, or one before it */
} ir_funcs;
/* The kernels of MODULE in its order, equal ones once: the prim_funcs that its graph functions call; every prim_func where it
 * has no graph function with a body. Reports and returns false where a graph function is no host program (docs/spec/host.md). */
bool ir_kernels_of(ir_arena *arena, ir_module *module, const char *target, ir_funcs *kernels);

/* `a.b` -> `a_x2eb`: identifiers stay as they are but for what looks like an escape or like another name of
 * a compiled model; different names stay different. */
const char *ir_mangled(ir_arena *arena, const ir_string *name);

#endif
