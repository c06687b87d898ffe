// SPDX-License-Identifier: Apache-2.0
/* Graph functions as code: values, who owns their memory, control flow. */
#ifndef RILL_TARGETS_LLVM_HOST_H
#define RILL_TARGETS_LLVM_HOST_H

#include "llvm.h"

/* An owner of memory: a slot (an alloca that holds the memory, or NULL once it has moved away) that is released at the end
 * of the region that it belongs to. */
typedef struct host_owner {
  LLVMValueRef slot;
  ir_region *home;
} host_owner;

/* The owners that a value's memory may belong to; none for parameters and constants. Which one it is is decided at run
 * time, where it matters, by comparing pointers: views start where what they look at starts. */
typedef struct host_owners {
  host_owner **at;
  size_t count, capacity;
} host_owners;

typedef struct host_value host_value;
struct host_value {
  const ir_type *type;
  LLVMValueRef data;   /* TENSOR: the pointer; SCALAR: the value */
  size_t count;        /* TENSOR: rank; SHAPE: extents; TUPLE: fields; STORAGE: 1 */
  LLVMValueRef *dims;  /* TENSOR, SHAPE; STORAGE: its bytes */
  host_value **fields; /* TUPLE */
  host_owners owners;
  bool placed; /* in planned storage, which may be written to though no owner is known */
};

/* bcast(a, b) of a type, which is checked once its symbols have values. */
typedef struct host_bcast {
  const ir_expr *expr;
  size_t done; /* 0: not checked yet; else one more than the number of symbols that were bound then */
} host_bcast;

typedef struct host {
  emit_function f;
  const ir_map *kernels;   /* ir_func -> emit_kernel */
  ir_region *region;       /* the one at hand */
  host_owners owners;      /* of the regions around, innermost last */
  ir_map values;           /* ir_value -> host_value */
  ir_vec(const ir_expr *) bound;   /* symbols in the order in which they got values */
  ir_vec(host_bcast) bcasts;
  ir_map sized;                    /* types without `?` of tensors that are known to exist: their extents have been checked */
} host;

/* A function of FUNC's name: rill_entry of targets/llvm/abi.h. Kernels must have been emitted. */
bool emit_host_function(emit_unit *unit, const ir_map *kernels, ir_func *func);
/* A function like it that checks the inputs' extents and writes those of the outputs, -1 where only a run can tell. */
LLVMValueRef emit_host_shapes(emit_unit *unit, ir_func *func);
const char *emit_host_name(ir_arena *arena, const ir_func *func);
LLVMValueRef emit_host_declare(emit_unit *unit, const ir_func *func);

/* --- values (host_value.c) --- */
host_value *host_get(host *h, ir_value *value);
void host_set(host *h, const ir_value *value, host_value *found);
/* A value without contents; NULL, reported, for a type that has no fixed form (unknown rank or dtype, any, functions). */
host_value *host_new(host *h, ir_range range, const ir_type *type);
host_owner *host_own(host *h, ir_region *home);
void host_owners_add(host *h, host_owners *owners, host_owner *owner);
/* Fresh memory for TENSOR (whose dims are set), owned by the region at hand. */
void host_allocate(host *h, ir_range range, host_value *tensor);
/* The bytes of TENSOR; where it does not EXIST yet its extents are checked, once a type. */
LLVMValueRef host_bytes(host *h, ir_range range, const host_value *tensor, bool exists);
/* From here on a tensor of TYPE exists. */
void host_note_size(host *h, const ir_type *type);
/* An extent; overflow fails at run time. */
LLVMValueRef host_extent(host *h, ir_range range, const ir_expr *expr);
/* The dims of a value of TYPE from its expressions; false, reported, where an extent is `?`. */
bool host_extents(host *h, ir_range range, const char *what, host_value *value);
/* A scalar, or the element of a 0-d tensor. */
LLVMValueRef host_scalar(host *h, ir_value *value);
/* A pointer to the elements of a tensor, or to a copy of a scalar. */
LLVMValueRef host_pointer(host *h, ir_value *value);
void host_copy(host *h, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes);
LLVMValueRef host_load(host *h, LLVMValueRef pointer, ir_dtype dtype);
void host_store(host *h, LLVMValueRef value, LLVMValueRef pointer, ir_dtype dtype);

/* --- planned memory (host_storage.c) --- */
void host_alloc(host *h, ir_op *op);
void host_tensor(host *h, ir_op *op);
void host_result(host *h, ir_op *op);
void host_copy_op(host *h, ir_op *op);
void host_free(host *h, ir_op *op);

/* --- descriptors (host.c) --- */
/* The address of member WHICH (0: data, 1: dims) of descriptor INDEX. */
LLVMValueRef host_member(host *h, LLVMValueRef tensors, size_t index, unsigned which);
LLVMValueRef host_number_at(host *h, LLVMValueRef numbers, size_t index);
/* The extents of VALUE from memory. */
void host_load_numbers(host *h, LLVMValueRef numbers, host_value *value);
/* Descriptors that a value of TYPE takes. */
size_t host_leaves(const ir_type *type);

/* --- sizes (host_size.c) --- */
void host_bind_symbol(host *h, const ir_expr *symbol, LLVMValueRef value);
void host_forget_symbols(host *h, size_t count);
/* Binds symbols that stand alone in TYPE, then (host_check) compares every other extent of VALUE with TYPE. */
void host_bind(host *h, const ir_type *type, const host_value *value);
void host_check(host *h, ir_range range, const char *what, const ir_type *type, const host_value *value);
/* Extent ACTUAL on AXIS must be EXPR. */
void host_check_extent(host *h, ir_range range, const char *what, size_t axis, const ir_expr *expr, LLVMValueRef actual);
void host_collect_bcasts(host *h);
/* Checks of bcast(a, b) whose symbols have values now. */
void host_check_bcasts(host *h, ir_range range);

/* --- what rounds of a loop stack up (host_stack.c) --- */
typedef struct host_stack host_stack;
/* For a result of TYPE. ROUNDS: how many there will be; NULL where only the run can tell. NULL, reported, where TYPE has no
 * fixed form. */
host_stack *host_stack_begin(host *h, ir_range range, const ir_type *type, LLVMValueRef rounds);
void host_stack_push(host *h, host_stack *stack, LLVMValueRef round, const host_value *value);
host_value *host_stack_end(host *h, host_stack *stack, LLVMValueRef rounds);

/* --- statements (host.c, host_call.c, host_flow.c) --- */
void host_region(host *h, ir_region *region);
/* Releases all but the first COUNT owners. */
void host_release(host *h, size_t count);
void host_call(host *h, ir_op *op);
void host_call_tir(host *h, ir_op *op);
void host_if(host *h, ir_op *op);
void host_loop(host *h, ir_op *op);
/* Moves the memory of VALUE, where one of the owners of region HOME has it, into SLOT; SLOT holds NULL after this where
 * none has. */
void host_move(host *h, const host_value *value, const ir_region *home, LLVMValueRef slot);

#endif
