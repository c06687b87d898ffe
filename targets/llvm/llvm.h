// SPDX-License-Identifier: Apache-2.0
/* What the parts of the LLVM target share: a module being filled, a function being emitted, values of expressions. */
#ifndef RILL_TARGETS_LLVM_LLVM_H
#define RILL_TARGETS_LLVM_LLVM_H

#include "../../base/vec.h"
#include "../../ir/module.h"
#include "../kernel.h"
#include "../proofs.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

typedef struct emit_function emit_function;

/* --- what code is made for (target.c) --- */
typedef struct emit_target {
  const char *triple, *cpu, *features;
  char *layout;          /* the data layout as text; LLVMDisposeMessage frees it */
  unsigned vector_bytes; /* width of the vectors that loops are turned into */
  bool masks;            /* accesses under a mask are instructions: of 4 and 8 bytes, contiguous */
  bool all_masks;        /* of any width, gathers and scatters too */
  bool halves;           /* f16 is converted by an instruction */
} emit_target;

/* CPU: a name of targets/cpu.def, or "native", this machine's; NULL: the first of TRIPLE's architecture. TRIPLE NULL: Linux
 * on that processor. Reports and returns false for what is not known. */
bool emit_target_find(ir_diags *diags, ir_arena *arena, const char *triple, const char *cpu, emit_target *target);
void emit_target_free(emit_target *target);
/* NULL, reported, where LLVM cannot make one. */
LLVMTargetMachineRef emit_target_machine(ir_diags *diags, const emit_target *target);

/* --- one LLVM module (unit.c) --- */
typedef struct emit_side emit_side; /* side.h */
typedef struct emit_unit {
  LLVMContextRef llvm;
  LLVMModuleRef module;
  const emit_target *target;
  ir_module *source;
  ir_context *context;
  ir_arena *arena; /* lives as long as the unit */
  bool checked;    /* run-time checks beyond memory safety */
  bool fma;        /* mad on floats is fused */
  bool measured;   /* context->launch is told of every kernel */
  bool whole;      /* this module is all there is: constants live in it, functions that nobody outside calls are internal */
  LLVMTypeRef i1, i4, i8, i16, i32, i64, half, f32, f64, ptr, nothing;
  LLVMTypeRef tensor_type, context_type, failure_type; /* of targets/llvm/abi.h */
  LLVMTypeRef entry_type; /* i32 (context, inputs, outputs): a graph function */
  const emit_side *side; /* whole: constants are there and not in this module; NULL: here */
  const ir_map *constants; /* not whole, or with a side file: bytes of a constant -> its place in context->constants, plus 1 */
  ir_map globals;         /* whole: bytes of a constant -> global */
} emit_unit;

emit_unit *emit_unit_new(ir_module *source, ir_arena *arena, const emit_target *target, const char *name);
void emit_unit_free(emit_unit *unit); /* the LLVM context and module with it */
/* Attributes that every function of ours has. */
void emit_function_attributes(emit_unit *unit, LLVMValueRef function);
void emit_param_attribute(emit_unit *unit, LLVMValueRef function, unsigned param, const char *name);
/* A constant of this unit alone. */
LLVMValueRef emit_private(emit_unit *unit, const char *name, LLVMValueRef value);
LLVMValueRef emit_private_text(emit_unit *unit, const char *text);
/* A private constant whose address identifies what went wrong (rill_failure). {N} in TEXT stands for value N. */
LLVMValueRef emit_failure(emit_unit *unit, ir_range range, const ir_attr *loc, const char *text);
/* A pointer to the elements of a constant. */
LLVMValueRef emit_constant_data(emit_function *f, const ir_data *data);
/* Verifies the module; what LLVM finds wrong is reported as a fault of ours. */
bool emit_unit_verify(emit_unit *unit);

/* --- types (types.c) --- */
/* i4 and u4: two elements a byte. */
bool emit_is_packed(ir_dtype dtype);
/* Of 4, 8, 16, 32 or 64 bits. */
LLVMTypeRef emit_integer_type(const emit_unit *unit, unsigned bits);
/* The type of a value in registers: bool is i1, bf16 is i16, f8 is i8, u4 is i4. */
LLVMTypeRef emit_type(const emit_unit *unit, ir_dtype dtype, unsigned lanes);
/* The type of an element in memory: bool is i8; of i4 and u4 it is the byte that holds one, or two of an array. */
LLVMTypeRef emit_memory_type(const emit_unit *unit, ir_dtype dtype, unsigned lanes);
unsigned emit_size(ir_dtype dtype); /* bytes of a single element in memory */
/* Those of COUNT elements of an array, an i64. */
LLVMValueRef emit_size_of(const emit_unit *unit, LLVMBuilderRef builder, ir_dtype dtype, LLVMValueRef count);
LLVMValueRef emit_constant(const emit_unit *unit, ir_dtype dtype, uint64_t bits);
unsigned emit_lanes(LLVMValueRef value); /* 1 for what is no vector */
/* ELEMENT, or a vector of it with as many lanes as MODEL has. */
LLVMTypeRef emit_type_like(LLVMTypeRef element, LLVMValueRef model);
/* An integer constant of TYPE, the same in every lane. */
LLVMValueRef emit_int_of(LLVMTypeRef type, uint64_t value);
LLVMValueRef emit_real_of(LLVMTypeRef type, double value);
LLVMValueRef emit_i64(const emit_unit *unit, int64_t value);
bool emit_is_const(LLVMValueRef value, int64_t *number);

/* --- a function being emitted --- */

/* A scalar as vectorized loops see it: the same in every lane (step NULL, not varying); base + lane * step; or a vector. */
typedef struct emit_value {
  LLVMValueRef value; /* NULL: none */
  LLVMValueRef step;  /* i64, uniform */
  bool varying;
  bool aligned; /* step 1, and the value of lane 0 is a multiple of the width */
} emit_value;

/* Memory: dense, row-major. */
typedef struct emit_buffer {
  LLVMValueRef data;
  ir_dtype dtype;
  unsigned lanes; /* of an element */
  size_t rank;
  LLVMValueRef *dims;         /* i64 */
  const ir_expr *const *type_dims;
  unsigned width;             /* above 1: memory of a vectorized loop's body, every element is a vector over its lanes */
  int64_t on_stack;           /* elements of memory that nobody else sees; 0: other memory */
} emit_buffer;

/* Where an access goes. */
typedef struct emit_place {
  emit_buffer *buffer;
  LLVMValueRef base;
  emit_value flat;  /* element number */
  LLVMValueRef on;  /* NULL, or whether the access is in range (a store that is not is dropped); i1, or a vector */
  LLVMValueRef some; /* NULL, or whether there is anything to read at all */
  bool proven;
  unsigned ramp;    /* lanes of a `base:lanes` access, else 0 */
} emit_place;

/* Stores that wait for each other (interleave.c). */
enum { EMIT_MOST_STRIDED = 4 };
typedef struct emit_strided {
  const ir_op *ops[EMIT_MOST_STRIDED];
  emit_place places[EMIT_MOST_STRIDED];
  LLVMValueRef values[EMIT_MOST_STRIDED];
  size_t count, filled; /* 0: none wait */
} emit_strided;

struct emit_function {
  emit_unit *unit;
  ir_func *source;
  LLVMValueRef function, context; /* the context parameter */
  LLVMBuilderRef builder;
  LLVMBasicBlockRef entry, fail; /* ENTRY holds what the whole function shares; FAIL is NULL until somebody needs it */
  ir_arena arena, scratch;       /* SCRATCH is reset after each statement */
  ir_map values;                 /* ir_value of a scalar -> emit_value */
  ir_map buffers;                /* ir_value of a buffer -> emit_buffer */
  ir_map symbols;                /* ir_expr SYMBOL -> LLVMValueRef */
  ir_map shared;                 /* closed ir_expr -> LLVMValueRef in ENTRY; only where `hoists` */
  bool hoists;                   /* symbols are known in ENTRY */
  LLVMValueRef overflow;         /* i1: where not NULL, i64 arithmetic adds to it */
  ir_proofs proofs;              /* what is known here */
  bool assume_in_bounds;
  const ir_op *ranged;           /* the loop of which this function runs rounds FIRST to LAST only */
  LLVMValueRef first, last;
  unsigned width;                /* lanes of the vectorized loop around; 1: none */
  LLVMValueRef mask;             /* i1 vector: lanes that are on; NULL: all */
  emit_strided strided;
  bool unswitched;               /* inside a copy of a condition's body for whole vectors: no further copies */
  LLVMValueRef slots;            /* owners of memory: an array of pointers, NULL or what is to be freed */
  size_t slot_count;
  LLVMValueRef extents;          /* what emit_allocate_tensor passes extents in */
  size_t room;
  ir_vec(LLVMValueRef) owned;    /* those of the regions around, in a prim_func */
  bool failed;
};

void emit_function_start(emit_function *f, emit_unit *unit, ir_func *source, LLVMValueRef function);
/* Returns 0 here; builds the failure exit where one is needed. */
void emit_function_end(emit_function *f);
/* Reports "the llvm target cannot ..." (FORMAT goes on from there) and marks the function as failed. */
void emit_cannot(emit_function *f, ir_range range, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* --- building blocks (build.c) --- */
LLVMBasicBlockRef emit_block(emit_function *f, const char *name);
void emit_at(emit_function *f, LLVMBasicBlockRef block);
LLVMBasicBlockRef emit_here(const emit_function *f);
LLVMValueRef emit_intrinsic(emit_function *f, const char *name, size_t type_count, LLVMTypeRef *types, size_t count, LLVMValueRef *args);
/* Memory on the stack, made once, in ENTRY. */
LLVMValueRef emit_stack(emit_function *f, LLVMTypeRef type, unsigned align, const char *name);
/* Asks LLVM to unroll the loop that the branch LATCH goes back to: FACTOR times, or in full where it is 0. */
void emit_unroll_hint(emit_unit *unit, LLVMValueRef latch, int64_t factor);
LLVMValueRef emit_element(emit_function *f, LLVMTypeRef element, LLVMValueRef base, LLVMValueRef index, bool in_bounds);
/* Stops with the failure of RANGE and TEXT where CONDITION does not hold. */
void emit_require(emit_function *f, LLVMValueRef condition, ir_range range, const ir_attr *loc, const char *text, size_t count,
                  LLVMValueRef *values);
/* The same for a clause of FUNC's `where`; the message has the values of its symbols. */
void emit_require_clause(emit_function *f, const ir_func *func, ir_range range, const ir_expr *clause);
/* Goes on only where STATUS (an i32) is 0. */
void emit_require_ok(emit_function *f, LLVMValueRef status);
/* A slot that owns memory, empty at the start of the function; what is in it at a failure is freed. */
LLVMValueRef emit_slot(emit_function *f);
/* BYTES of fresh memory, owned by SLOT. */
LLVMValueRef emit_allocate(emit_function *f, LLVMValueRef slot, LLVMValueRef bytes);
/* The same for a tensor with these extents, which are checked first. */
LLVMValueRef emit_allocate_tensor(emit_function *f, LLVMValueRef slot, ir_range range, const char *what, ir_dtype dtype, size_t rank,
                                  LLVMValueRef *dims);
/* Calls a function of runtime/llvm/support. */
LLVMValueRef emit_call_support(emit_function *f, const char *name, LLVMTypeRef result, size_t count, LLVMValueRef *args);
/* SLOT takes MEMORY, unless it is NULL: then the function has failed. */
void emit_take(emit_function *f, LLVMValueRef slot, LLVMValueRef memory);
void emit_release(emit_function *f, LLVMValueRef slot);
/* Extents, with f->overflow noting where one does not fit: emit_bytes takes it in. */
void emit_dims(emit_function *f, size_t rank, const ir_expr *const *exprs, LLVMValueRef *dims);
/* 0 <= value <= IR_EXTENT_MAX */
LLVMValueRef emit_is_extent(emit_function *f, LLVMValueRef value);
/* The bytes of a buffer with these extents; what is no extent, or too much together (ir/simplify.h), fails at run time,
 * unless it is KNOWN that there is a tensor with these extents. */
LLVMValueRef emit_bytes(emit_function *f, ir_range range, const char *what, ir_dtype dtype, unsigned lanes, size_t rank,
                        LLVMValueRef *dims, bool known);
/* A loop of COUNT rounds in steps of STEP, from FIRST; emit_loop_end closes it and yields the counter past the end. */
typedef struct emit_loop {
  LLVMBasicBlockRef head, body, exit;
  LLVMValueRef counter, next_step;
  int64_t unroll; /* a hint, see emit_unroll_hint; below 0: none */
} emit_loop;
emit_loop emit_loop_begin(emit_function *f, LLVMValueRef first, LLVMValueRef end, int64_t step, const char *name);
void emit_loop_end(emit_function *f, emit_loop *loop);

/* --- scalar operators (arith.c, arith_float.c, cast.c) --- */
typedef struct emit_hint {
  bool natural;      /* integer division: dividend >= 0, divisor > 0 */
  bool has_divisor;  /* the divisor is a constant, not 0 and not -1 */
  int64_t divisor;
} emit_hint;
/* Operators of numerics.md on scalars or on vectors; the lanes of all operands (but a SELECT's condition) are equal. */
LLVMValueRef emit_operator(emit_function *f, ir_scalar_code code, ir_dtype operand, const LLVMValueRef *in, const emit_hint *hint);
LLVMValueRef emit_float_operator(emit_function *f, ir_scalar_code code, ir_dtype dtype, const LLVMValueRef *in);
LLVMValueRef emit_cast(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to);
LLVMValueRef emit_bitcast(emit_function *f, LLVMValueRef value, ir_dtype from, ir_dtype to);
/* f16 and bf16 as f32; others stay. */
LLVMValueRef emit_widen(emit_function *f, LLVMValueRef value, ir_dtype dtype);
LLVMValueRef emit_narrow(emit_function *f, LLVMValueRef value, ir_dtype dtype);

/* --- expressions (expr.c) --- */
typedef struct emit_scope {
  emit_function *f;
  const ir_op *op; /* whose operands ARG and LOAD number; NULL for a closed expression */
  bool framed;     /* ARGs are of the function's frame instead */
  ir_map memo;     /* ir_expr -> emit_value */
  ir_vec(const ir_expr *) order; /* keys of the memo as they came */
} emit_scope;

emit_value emit_expr(emit_scope *scope, const ir_expr *expr);
/* The scalar operand VALUE: what it was bound to, or the expression of an inline scalar. */
emit_value emit_scalar(emit_function *f, ir_value *value);
/* A closed expression, or one of OP, outside of vectorized loops or uniform in them. */
LLVMValueRef emit_uniform(emit_function *f, const ir_op *op, const ir_expr *expr);
emit_value emit_uniform_value(LLVMValueRef value);
/* VALUE as a vector over the lanes of the loop around (itself where there is none). */
LLVMValueRef emit_spread(emit_function *f, emit_value value);
LLVMValueRef emit_splat(emit_function *f, LLVMValueRef value, unsigned lanes);
/* 0, step, 2 * step, ... */
LLVMValueRef emit_iota(emit_function *f, LLVMValueRef step, unsigned lanes);
/* i64; linear in the lane where the operands are. */
emit_value emit_add(emit_function *f, emit_value a, emit_value b);
emit_value emit_mul(emit_function *f, emit_value a, emit_value b);
void emit_bind(emit_function *f, const ir_value *value, emit_value bound);

/* --- memory (access.c, place.c) --- */
emit_value emit_load(emit_scope *scope, const ir_expr *load);
/* `index` and `value` are expressions of the scope's operation. */
void emit_store(emit_scope *scope, ir_value *target, size_t count, const ir_expr *const *index, const ir_expr *value);
/* VALUE, a vector over the lanes, at PLACE; BLOCK, a vector, in the elements from PLACE on. */
void emit_store_lanes(emit_function *f, const emit_place *place, LLVMValueRef value);
void emit_store_block(emit_function *f, const emit_place *place, LLVMValueRef block);
/* Takes the store OP if others beside it fill the gaps between its lanes. */
bool emit_interleave(emit_function *f, const ir_op *op, const emit_place *place, LLVMValueRef value);
LLVMValueRef emit_from_memory(emit_function *f, LLVMValueRef value, ir_dtype dtype);
LLVMValueRef emit_to_memory(emit_function *f, LLVMValueRef value, ir_dtype dtype);

/* Arrays of i4 and u4 (packed.c): element FLAT of those at BASE, and the accesses of access.c. */
LLVMValueRef emit_packed_load(emit_function *f, LLVMValueRef base, LLVMValueRef flat, bool in_bounds);
void emit_packed_store(emit_function *f, LLVMValueRef base, LLVMValueRef flat, LLVMValueRef value, bool in_bounds);
emit_value emit_load_packed(emit_function *f, const emit_place *place);
void emit_store_packed(emit_function *f, const emit_place *place, LLVMValueRef value);
/* Reads are clamped, writes get `on`. */
emit_place emit_find_place(emit_scope *scope, ir_value *buffer, size_t count, const ir_expr *const *index, bool write);

/* --- statements (stmt.c, vector.c, lanes.c) --- */
void emit_region(emit_function *f, ir_region *region);
/* One round of a `for`. */
void emit_round(emit_function *f, ir_op *loop, emit_value counter);
/* The loops that OP and what stands alone in it are, while they are `parallel` and their extents are known before OP begins:
 * rounds of all of them are counted as one. */
size_t emit_parallel_depth(ir_op *op);
/* A `for ... vectorize`; false where it has to be a scalar loop. */
bool emit_vector_for(emit_function *f, ir_op *loop);
/* Rounds f->first to f->last of f->ranged, which is `parallel`. */
void emit_ranged_for(emit_function *f, ir_op *loop);
/* --- kernels shared between threads (parallel.c) --- */
/* The loop of FUNC whose rounds may be shared; NULL where there is none. */
ir_op *emit_shared_loop(const emit_unit *unit, ir_func *func);
/* Rounds of LOOP that make one of those which are counted: more than one of a vectorized loop. */
int64_t emit_round_block(ir_op *loop);
/* The body of a kernel whose rounds RANGE runs, a function with the kernel's parameters and the first and the last round. */
void emit_share_rounds(emit_function *f, ir_op *loop, LLVMValueRef range, const char *name);
/* The regions of an `if` under a condition that is one bit. */
void emit_branches(emit_function *f, ir_op *op, LLVMValueRef condition);
/* The lanes in which a condition holds, without making a vector of the counter; NULL where the condition is of another
 * kind. Sets *differs where the lanes are not all alike. */
LLVMValueRef emit_counter_mask(emit_scope *scope, const ir_expr *condition, bool *differs);
/* An `if` in the body of a vectorized loop. */
void emit_vector_if(emit_function *f, ir_op *op);

/* What a loop's body allows. */
typedef struct emit_lanes_plan {
  unsigned bytes; /* the widest element that is computed with */
  bool nested;    /* there is a loop in it */
  bool awkward;   /* under a mask some accesses come apart: narrow elements, and lanes that are no neighbours */
  size_t size;    /* nodes of expressions */
} emit_lanes_plan;
/* Whether the rounds of LOOP can be lanes. */
bool emit_plan_lanes(ir_op *loop, emit_lanes_plan *plan);

/* --- functions (check.c, kernel.c, host.c) --- */
/* Reports the first operation of a prim_func that is not in loop form or that nothing here can do. */
bool emit_check_prim(ir_func *func);

/* A prim_func as a function: i32 (context, then for each parameter a pointer, a scalar or an explicit symbol, then the
 * symbols of the types as i64). */
typedef struct emit_kernel {
  ir_func *func;
  const char *name; /* of the function */
  bool can_fail;    /* it may return something else than 0; known once it is emitted */
  const ir_expr **symbols;
  size_t symbol_count;
} emit_kernel;

void emit_kernel_prepare(ir_arena *arena, ir_func *func, const char *name, emit_kernel *kernel);
LLVMValueRef emit_kernel_declare(emit_unit *unit, const emit_kernel *kernel);
bool emit_kernel_define(emit_unit *unit, emit_kernel *kernel);

#endif
