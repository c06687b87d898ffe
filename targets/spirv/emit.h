// SPDX-License-Identifier: Apache-2.0
/* What the files of targets/spirv share: an encoder of SPIR-V and the emission of kernels on top. */
#ifndef RILL_TARGETS_SPIRV_EMIT_H
#define RILL_TARGETS_SPIRV_EMIT_H

#include "../../base/vec.h"
#include "../kernel.h"
#include "../proofs.h"
#include "spirv.h"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

typedef uint32_t sv_id;
typedef ir_vec(uint32_t) sv_words;

/* In the order that a module wants them in. */
typedef enum sv_section {
  SV_CAPABILITIES,
  SV_EXTENSIONS,
  SV_IMPORTS,
  SV_ENTRIES,
  SV_MODES,
  SV_NAMES,
  SV_DECORATIONS,
  SV_GLOBALS, /* types, constants, variables */
  SV_FUNCTIONS,
  SV_SECTION_COUNT
} sv_section;

/* What scalars are held as. Integers below 32 bits stand extended in 32, by their sign or by zeros; f16, bf16 and f8 are f32,
 * rounded after each operation. Integer types have no sign: operations do. */
typedef enum sv_kind { SV_BOOL, SV_I32, SV_I64, SV_F32, SV_F64 } sv_kind;

typedef struct sv_module {
  ir_context *context;
  ir_arena *arena;
  ir_spirv_options options;
  bool fma;           /* mad is fused */
  sv_words sections[SV_SECTION_COUNT];
  uint32_t ids;
  sv_id types[SV_F64 + 1]; /* by kind */
  ir_interner interned; /* types, constants, capabilities, ... by their words */
  ir_map helpers;       /* interned name -> id of a function */
  sv_words entries;     /* functions of entry points */
} sv_module;

/* What a buffer is in a kernel. */
typedef struct sv_buffer {
  sv_id variable;
  SpvStorageClass storage; /* StorageBuffer: elements in memory form in a block; else in the form of registers */
  bool single;             /* no array: rank 0 */
  const ir_type *type;
} sv_buffer;

typedef struct sv_function {
  sv_module *module;
  sv_words variables, body;
  sv_words start; /* of the body, before all that is in it */
  sv_id id, type, first, here; /* labels: of the first block, of the current one */
  sv_id zero; /* +0.0 of f32 that sv_zero has made */
  ir_arena arena;
  ir_proofs proofs;
  ir_map values;  /* ir_value, or the expression of a symbol -> id */
  ir_map buffers; /* ir_value -> sv_buffer */
  sv_words *interface; /* module-scope variables that the entry point uses */
  const sv_id *arguments; /* helpers: what ARG(k) is */
  bool trusted;
  sv_id status;   /* a pointer to the status word; 0 where nothing is checked */
  const ir_kernel *kernel;
} sv_function;

/* One operation's expressions: equal ones are computed once. */
typedef struct sv_scope {
  sv_function *f;
  const ir_op *op;
  ir_map memo;
  ir_vec(const ir_expr *) order;
} sv_scope;

/* What is known of an integer division. */
typedef struct sv_hint {
  bool natural;     /* dividend >= 0, divisor > 0 */
  bool has_divisor; /* a constant that is neither 0 nor -1 */
  int64_t divisor;
} sv_hint;

/* --- words (encode.c) --- */
void sv_put(ir_arena *arena, sv_words *words, SpvOp op, size_t count, const uint32_t *operands);
void sv_put_text(ir_arena *arena, sv_words *words, const char *text);
#define SV_WORDS(...) (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)), (const uint32_t[]){__VA_ARGS__}
/* The instruction OP TYPE (0: none) RESULT OPERANDS in SECTION, once for all that are equal. */
sv_id sv_intern(sv_module *m, sv_section section, SpvOp op, sv_id type, size_t count, const uint32_t *operands, bool *fresh);
void sv_capability(sv_module *m, SpvCapability capability);
void sv_extension(sv_module *m, const char *name);
sv_id sv_import(sv_module *m);
void sv_name(sv_module *m, sv_id id, const char *name);
void sv_decorate(sv_module *m, sv_id id, SpvDecoration decoration, size_t count, const uint32_t *operands);
void sv_write(sv_module *m, ir_text *out);

/* --- types and constants (types.c) --- */
sv_kind sv_kind_of(ir_dtype dtype);
unsigned sv_mantissa(ir_dtype dtype); /* bits that a float stores of it */
bool sv_is_narrow(ir_dtype dtype); /* a float below 32 bits */
sv_id sv_type(sv_module *m, sv_kind kind);
sv_id sv_type_of(sv_module *m, SpvOp op, size_t count, const uint32_t *operands);
sv_id sv_pointer(sv_module *m, SpvStorageClass storage, sv_id type);
sv_id sv_stored_type(sv_module *m, ir_dtype dtype); /* of an element in a storage buffer */
sv_id sv_block_type(sv_module *m, ir_dtype dtype);  /* a struct of a runtime array of these */
sv_id sv_array_type(sv_module *m, sv_id element, int64_t count);
sv_id sv_word(sv_module *m, uint32_t value); /* a 32-bit integer constant */
sv_id sv_int(sv_module *m, sv_kind kind, int64_t value);
sv_id sv_real(sv_module *m, sv_kind kind, double value);
sv_id sv_constant(sv_module *m, ir_dtype dtype, uint64_t bits);
/* The constant as an operand of arithmetic: drivers take `0.0 + x` for x, and 0.0 for `0.0 * x` and `0.0 / x`, where they
 * see that it is zero, so that a zero of a kernel's floats is made of what they cannot know. */
sv_id sv_operand(sv_function *f, ir_dtype dtype, uint64_t bits);

/* --- functions (function.c) --- */
void sv_function_begin(sv_function *f, sv_module *m, sv_id result, size_t count, const sv_id *params, sv_id *ids);
void sv_function_end(sv_function *f);
void sv_do(sv_function *f, SpvOp op, size_t count, const uint32_t *operands);
void sv_emit_as(sv_function *f, sv_id id, SpvOp op, sv_id type, size_t count, const uint32_t *operands);
sv_id sv_emit(sv_function *f, SpvOp op, sv_id type, size_t count, const uint32_t *operands);
sv_id sv_unary(sv_function *f, SpvOp op, sv_kind kind, sv_id a);
/* Float additions, products and quotients are never contracted. */
sv_id sv_binary(sv_function *f, SpvOp op, sv_kind kind, sv_id a, sv_id b);
sv_id sv_choose(sv_function *f, sv_kind kind, sv_id condition, sv_id a, sv_id b);
sv_id sv_glsl(sv_function *f, enum GLSLstd450 instruction, sv_kind kind, size_t count, const sv_id *operands);
sv_id sv_local(sv_function *f, sv_id type); /* a variable of the function */

/* Control flow: if c { ... } and its join; a loop whose test follows the carried values. */
typedef struct sv_when {
  sv_id before, other, end, merge; /* `other`: the block of the other side, or 0; `end`: the last block inside */
} sv_when;
sv_when sv_when_begin(sv_function *f, sv_id condition);
sv_when sv_when_else(sv_function *f, sv_id condition); /* with another side, after sv_when_otherwise */
void sv_when_otherwise(sv_function *f, const sv_when *when);
void sv_when_end(sv_function *f, sv_when *when);
/* In the block after: YES where the condition held. */
sv_id sv_when_value(sv_function *f, const sv_when *when, sv_kind kind, sv_id yes, sv_id no);

typedef struct sv_loop {
  sv_id before, header, next, merge;
} sv_loop;
sv_loop sv_loop_begin(sv_function *f);
/* A value that is START in the first round, and then what *NEXT is made to be in sv_loop_next's block. */
sv_id sv_loop_carry(sv_function *f, const sv_loop *loop, sv_kind kind, sv_id start, sv_id *next);
void sv_loop_test(sv_function *f, const sv_loop *loop, SpvLoopControlMask control);
void sv_loop_enter(sv_function *f, const sv_loop *loop, sv_id condition);
void sv_loop_next(sv_function *f, const sv_loop *loop);
void sv_loop_end(sv_function *f, const sv_loop *loop);

/* --- operators (scalar.c, real.c), conversions (cast.c), functions of our own (helper.c) --- */
/* CODE on operands of DTYPE (SELECT: of its values); 0 where there is no such operator. */
sv_id sv_operator(sv_function *f, ir_scalar_code code, ir_dtype dtype, const sv_id *in, sv_hint hint);
sv_id sv_real_operator(sv_function *f, ir_scalar_code code, ir_dtype dtype, const sv_id *in);
sv_id sv_wrap(sv_function *f, ir_dtype dtype, sv_id value); /* a 32-bit register back into the range of DTYPE */
sv_id sv_bits(sv_function *f, sv_kind kind, sv_id value); /* f32, f64 as an integer */
sv_id sv_from_bits(sv_function *f, sv_kind kind, sv_id bits);
sv_id sv_round(sv_function *f, ir_dtype dtype, sv_id value);  /* f32 to what a narrow DTYPE holds */
sv_id sv_narrow(sv_function *f, ir_dtype dtype, sv_id value); /* f32 -> its bits as DTYPE, in 32 */
sv_id sv_widen(sv_function *f, ir_dtype dtype, sv_id bits);
sv_id sv_convert(sv_function *f, sv_id value, ir_dtype from, ir_dtype to);
sv_id sv_bitcast(sv_function *f, sv_id value, ir_dtype from, ir_dtype to);
sv_id sv_from_memory(sv_function *f, ir_dtype dtype, sv_id value);
sv_id sv_to_memory(sv_function *f, ir_dtype dtype, sv_id value);
sv_id sv_call(sv_function *f, sv_kind kind, sv_id function, size_t count, const sv_id *in);
/* The function that computes an EXPANDED operator; 0 where it is not known for DTYPE. */
sv_id sv_expanded(sv_module *m, ir_scalar_code code, ir_dtype dtype);
sv_id sv_fmod(sv_module *m, sv_kind kind);
/* The helper called NAME: its id, or 0 where it has yet to be made (and then noted with sv_helper_is). */
sv_id sv_helper(sv_module *m, const char *name);
void sv_helper_is(sv_module *m, const char *name, sv_id id);

/* --- expressions and statements --- */
sv_id sv_expr(sv_scope *scope, const ir_expr *expr);
sv_id sv_scalar(sv_function *f, ir_value *value);
sv_id sv_element(sv_scope *scope, const sv_buffer *buffer, const ir_expr *flat); /* a pointer */
sv_id sv_global(sv_function *f, SpvStorageClass storage, sv_id type);     /* a variable of the module that F's kernel uses */
/* A number of the workgroup, or of the invocation in it, on axis 0 to 2: u32. */
sv_id sv_built_in(sv_function *f, SpvBuiltIn which, uint32_t axis);
void sv_region(sv_function *f, ir_region *region);
bool sv_kernel(sv_module *m, const ir_kernel *kernel);

#endif
