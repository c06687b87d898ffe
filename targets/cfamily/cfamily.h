// SPDX-License-Identifier: Apache-2.0
/* Kernels as text of a language of the C family: what its dialects (OpenCL C, Metal Shading Language) share. */
#ifndef RILL_TARGETS_CFAMILY_CFAMILY_H
#define RILL_TARGETS_CFAMILY_CFAMILY_H

#include "../kernel.h"
#include "../proofs.h"

typedef struct c_file c_file;
typedef struct c_function c_function;

/* How a dialect says what the others say too. */
typedef struct c_dialect {
  const char *target;    /* "opencl", for messages */
  uint32_t elements;     /* dtypes that there are, a bit each */
  const char *shared;    /* qualifier of memory of a workgroup, with a blank */
  const char *barrier;   /* statement */
  const char *as_open, *as_close; /* a bitcast is as_open TYPE as_close VALUE ")" */
  const char *root;      /* the correctly rounded square root */
  const char *fails, *fails_end; /* opens the call that makes the status word the number between them, where that is less */
  const char *group[3], *local[3]; /* numbers of a workgroup and of an invocation in it, on each axis */
  /* Whether the kernel keeps the language's limits, with so many bytes of workgroup memory; reports where not. NULL: it has none. */
  bool (*fits)(c_file *file, const ir_kernel *kernel, int64_t shared_bytes);
  /* Appends the head of the entry point, up to and with "{". NAMES: of buffers, then of scalars; FIRSTS (may be unused): of
   * the numbers of the buffers' first elements. */
  void (*head)(const c_function *f, const char *const *names, const char *const *firsts);
} c_dialect;

/* A file in the making. */
struct c_file {
  ir_context *context;
  ir_arena *arena;
  const c_dialect *dialect;
  bool fma;          /* mad is fused */
  ir_text helpers;   /* functions that kernels call, each once */
  ir_text kernels;
  ir_map helped;     /* name of a helper -> itself */
  uint32_t used;     /* dtypes in kernels, a bit each */
};

/* A function in the making. */
struct c_function {
  c_file *file;
  ir_arena arena;
  ir_proofs proofs;
  ir_text *out;
  ir_text shared;    /* declarations that must stand outermost */
  int64_t shared_bytes;
  unsigned depth, temps;
  const ir_kernel *kernel; /* NULL in a helper */
  ir_map *read; /* ir_value of a scalar or of own memory, or ir_expr of a symbol, that something written so far reads */
  const ir_map *wanted; /* the ones that are read at all, and shall be written; NULL: all */
  ir_vec(ir_value *) declared;
  ir_map values;     /* ir_value of a scalar, or ir_expr of a symbol -> its name */
  ir_map buffers;    /* ir_value -> c_buffer */
  ir_map names;      /* interned identifiers that are taken */
  const char *const *arguments; /* of a helper: what ARG(k) is called; NULL in a kernel */
  bool trusted;      /* accesses are in range: the function says so */
};

typedef struct c_buffer {
  const char *name;
  const ir_type *type;
  bool own;   /* elements are as they are computed with, not as they are stored */
  bool plain; /* a variable, no array */
} c_buffer;

/* --- types (types.c) --- */
/* The type that values of DTYPE are computed in: f16, bf16, f8 as f32, rounded after each operation. */
const char *c_type(ir_dtype dtype);
/* How they stand in a buffer. */
const char *c_stored_type(ir_dtype dtype);
static inline bool c_is_narrow(ir_dtype d) { return ir_is_float(d) && ir_dtypes[d].bits < 32; }
const char *c_constant(c_file *file, ir_dtype dtype, uint64_t bits);
/* VALUE, computed with, as it is stored, and the other way. */
const char *c_store_form(c_file *file, ir_dtype dtype, const char *value);
const char *c_load_form(c_file *file, ir_dtype dtype, const char *element);
const char *c_convert(c_file *file, ir_dtype from, ir_dtype to, const char *value);
const char *c_bitcast(c_file *file, ir_dtype from, ir_dtype to, const char *value);
/* VALUE as TYPE, the same bits. */
const char *c_as(c_file *file, const char *type, const char *value);

/* --- operators (scalar.c) --- */
typedef struct c_hint {
  bool natural; /* division: dividend >= 0, divisor > 0 */
  bool fits;    /* i64: no overflow */
} c_hint;
/* An operator on the texts IN, which are atoms or in parentheses, of operands of DTYPE. */
const char *c_operator(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in, c_hint hint);
/* The name of the helper NAME, whose text is made from FORMAT where it is new. */
const char *c_helper(c_file *file, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* --- expressions (expr.c) --- */
typedef struct c_scope {
  c_function *f;
  const ir_op *op; /* whose operands ARG and LOAD number; NULL: a closed expression */
  ir_map memo;     /* ir_expr -> text */
  ir_map uses;     /* ir_expr -> how often it is used, as an address */
  ir_vec(const ir_expr *) order;
} c_scope;
/* Counts what EXPR uses; before c_expr, for each expression of the statement. */
void c_count(c_scope *scope, const ir_expr *expr);
/* The text of EXPR, an atom or in parentheses; what it needs is declared before. */
const char *c_expr(c_scope *scope, const ir_expr *expr);
/* The scalar operand VALUE. */
const char *c_scalar(c_function *f, ir_value *value);
const char *c_print(c_function *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* TEXT without a pair of parentheses around all of it: for where none are needed. */
const char *c_bare(c_function *f, const char *text);
/* A line at the current depth. */
void c_line(c_function *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* WANTED as an identifier that nothing else has. */
const char *c_name(c_function *f, const ir_string *wanted, const char *otherwise);
/* The function that computes the EXPANDED operator CODE on DTYPE; NULL where there is no expansion. */
const char *c_expanded(c_file *file, ir_scalar_code code, ir_dtype dtype);

/* --- statements (stmt.c) and kernels (kernel.c) --- */
void c_region(c_function *f, ir_region *region);
/* Appends KERNEL to file->kernels; it must have passed ir_kernel_check. False after a report. */
bool c_kernel(c_file *file, const ir_kernel *kernel);
/* Whether what was written of the kernel reads SCALAR. */
bool c_reads(const c_function *f, const ir_kernel_scalar *scalar);
/* All kernels of a module: those that its graph functions call, every prim_func where it has no graph function. Reports and
 * returns false where one cannot be made. */
bool c_module(c_file *file, ir_module *module);
void c_file_free(c_file *file);

#endif
