// SPDX-License-Identifier: Apache-2.0
/* Making plans: what the files gen*.c share. */
#ifndef RILL_RUNTIME_INTERP_GEN_H
#define RILL_RUNTIME_INTERP_GEN_H

#include "../../base/vec.h"
#include "../../ir/infer.h"
#include "code.h"

enum { IR_MAX_TERMS = 12 };

/* An i64 value as a linear combination of registers, modulo 2^64. */
typedef struct ir_gen_form {
  int64_t constant;
  uint32_t count;
  ir_term terms[IR_MAX_TERMS];
} ir_gen_form;

/* What a value of the program is in the plan. */
typedef struct ir_origin {
  bool is_buffer;
  uint32_t buffer;
  ir_reg reg;
  const ir_gen_form *form; /* i64 scalars: what REG was computed as; may be NULL */
} ir_origin;

typedef struct ir_memo ir_memo;
struct ir_memo {
  ir_memo *outer;
  ir_map regs; /* ir_expr -> register + 1 */
};

/* The value of ARG(k) and the buffer of LOAD(k) when there is no operation: of a formula. */
typedef struct ir_gen {
  ir_module *module;
  ir_context *context;
  ir_plan *plan;
  ir_arena *arena;  /* the plan's */
  ir_arena scratch; /* of this making */
  const ir_kernels *kernels;
  bool fma, checked;
  bool failed;
  ir_vec(ir_reg_info) regs;
  ir_vec(ir_buffer) buffers;
  ir_map symbols; /* name -> ir_origin */
  ir_map values;  /* ir_value -> ir_origin */
  ir_map written; /* buffers (number + 1) that are stored to while the code at hand runs */
  const ir_op *op;          /* whose expressions are compiled */
  const ir_origin *sources; /* by operand number, where OP is NULL */
  ir_memo *memo;
  ir_code *at; /* where instructions go */
  uint32_t depth;
  ir_vec(ir_code *) before; /* by depth: what runs before the loop of that depth */
  ir_interner constants;    /* registers + 1 */
  ir_map stored, raced, in_grids; /* buffers (ir_value) that are stored to; in workgroups; used in workgroups */
  /* The lanes at hand. */
  bool in_lanes, in_grid;
  ir_axis *axes;
  size_t axis_count;
  ir_reg lane_base; /* 0: the first lane is number 0 */
  uint32_t lane_depth;
  uint32_t local_depth; /* loops bound to local axes around the code at hand */
  size_t gathers; /* accesses that need an index for each lane */
  bool lazy;      /* loads stay where they are written: conditions stand around them */
} ir_gen;

/* Reports at the operation at hand and marks the plan as failed; returns false. */
bool ir_gen_fail(ir_gen *gen, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- gen.c: registers and instructions --- */
ir_reg ir_gen_reg(ir_gen *gen, ir_dtype dtype, unsigned width, bool varying, uint32_t depth);
/* A register of one constant; VALUE has the form of a register of DTYPE. */
ir_reg ir_gen_constant(ir_gen *gen, ir_dtype dtype, unsigned width, const void *value);
ir_reg ir_gen_i64(ir_gen *gen, int64_t value);
/* The value of a constant uniform i64 register. */
bool ir_gen_is_constant(ir_gen *gen, ir_reg reg, int64_t *value);
/* A constant as a register holds it: the bits of DTYPE. */
void ir_gen_format(ir_gen *gen, ir_dtype dtype, uint64_t bits, void *out);
static inline ir_reg_info *ir_gen_info(ir_gen *gen, ir_reg reg) { return &gen->regs.at[reg]; }
/* REG, or a varying register with its value in every lane. */
ir_reg ir_gen_vary(ir_gen *gen, ir_reg reg);
void ir_gen_emit(ir_gen *gen, ir_instr instr);                     /* here */
void ir_gen_emit_at(ir_gen *gen, uint32_t depth, ir_instr instr);  /* as far out as DEPTH */
/* DTYPE d = fn(args...): made uniform and moved out of loops where possible, folded where constant. */
ir_reg ir_gen_pure(ir_gen *gen, ir_strip *fn, ir_dtype dtype, unsigned width, size_t count, const ir_reg *args);
void ir_gen_range(ir_gen *gen, ir_reg reg, int64_t least, int64_t most);

/* Loops: what is made until the close goes to NODE's body, invariants to NODE's before. */
typedef struct ir_gen_scope {
  ir_code *at;
  ir_memo *memo;
  ir_memo inner;
} ir_gen_scope;
void ir_gen_open(ir_gen *gen, ir_gen_scope *scope, ir_code *body, ir_code *before); /* BEFORE NULL: no loop */
void ir_gen_close(ir_gen *gen, ir_gen_scope *scope, bool loop);
ir_node *ir_gen_node(ir_gen *gen);
/* `for variable < extent`, serial; the variable becomes VALUE (may be NULL). */
ir_node *ir_gen_for(ir_gen *gen, ir_gen_scope *scope, const ir_value *value, ir_reg extent);
/* Lanes over COUNT flattened axes, in strips. EXTENT: of a single axis whose extent is not constant (EXTENTS then holds
 * the greatest it may be); else 0. */
ir_node *ir_gen_lanes(ir_gen *gen, ir_gen_scope *scope, size_t count, const int64_t *extents, ir_value *const *values,
                      ir_reg extent);
void ir_gen_close_lanes(ir_gen *gen, ir_gen_scope *scope);
void ir_gen_bind(ir_gen *gen, const ir_value *value, ir_origin source);

/* --- gen_form.c: linear forms --- */
bool ir_gen_form_of(ir_gen *gen, const ir_expr *expr, ir_gen_form *form); /* false: failed */
void ir_gen_form_add(ir_gen *gen, ir_gen_form *form, const ir_gen_form *other, int64_t scale);
/* The least and greatest value; false where it may wrap. */
bool ir_gen_form_range(ir_gen *gen, const ir_gen_form *form, int64_t *least, int64_t *most);
ir_linear ir_gen_form_finish(ir_gen *gen, const ir_gen_form *form);
bool ir_gen_form_is_constant(const ir_gen_form *form, int64_t *value);

/* --- gen_expr.c --- */
/* The value of EXPR, whose arguments are the operands of gen->op. 0 after a failure. */
ir_reg ir_gen_expr(ir_gen *gen, const ir_expr *expr);
ir_reg ir_gen_cast(ir_gen *gen, ir_reg reg, ir_dtype dtype);
/* d = a in the active lanes. */
void ir_gen_move(ir_gen *gen, ir_reg d, ir_reg a);
/* A scalar value of the program. */
bool ir_gen_value(ir_gen *gen, ir_value *value, ir_origin *source);
ir_reg ir_gen_scalar(ir_gen *gen, ir_value *value);
/* `scalar` operations: binds the result. */
void ir_gen_let(ir_gen *gen, ir_op *op);
/* Expressions of OP from here on. */
typedef struct ir_gen_owner {
  const ir_op *op;
  ir_memo *memo;
  ir_memo own;
} ir_gen_owner;
void ir_gen_enter(ir_gen *gen, ir_gen_owner *owner, const ir_op *op);
void ir_gen_leave(ir_gen *gen, ir_gen_owner *owner);

/* --- gen_access.c --- */
ir_reg ir_gen_load(ir_gen *gen, const ir_expr *load);
/* Elements of a buffer; INDEX holds its expressions. */
bool ir_gen_access(ir_gen *gen, uint32_t buffer, size_t count, const ir_expr *const *index, unsigned width,
                   ir_access *access, bool *varying);
void ir_gen_store(ir_gen *gen, uint32_t buffer, size_t count, const ir_expr *const *index, ir_reg value);
void ir_gen_atomic(ir_gen *gen, ir_op *op);
/* BUFFER is stored to while the code at hand runs: loads from it stay in place. */
void ir_gen_written(ir_gen *gen, uint32_t buffer);
/* The buffer that operand K of the operation at hand is; false after a report. */
bool ir_gen_buffer(ir_gen *gen, uint32_t operand, uint32_t *buffer);
uint32_t ir_gen_add_buffer(ir_gen *gen, const ir_value *value, const char *name, ir_buffer_kind kind, ir_dtype dtype,
                           unsigned width, size_t rank, const int64_t *dims);

/* --- gen_cond.c --- */
/* Splits a boolean expression into conditions. */
void ir_gen_guard(ir_gen *gen, ir_guard *guard, size_t count, const ir_expr *const *conditions);

/* --- gen_nest.c, gen_reduce.c --- */
typedef struct ir_gen_nest {
  ir_op *op;
  ir_region *region;
  size_t spatial, count; /* axes */
  ir_reg *extents;
  int64_t *sizes;        /* of the axes, -1 where not constant */
  ir_op *guard;          /* NULL: no `where` */
  const ir_expr **outer, **inner; /* its conditions: without, with reduction axes */
  size_t outer_count, inner_count;
} ir_gen_nest;
void ir_gen_compute(ir_gen *gen, ir_op *compute);
/* STORE, a reduction of NEST. ALONG: lanes are elements of the reduction (then none are at hand yet). */
void ir_gen_reduction(ir_gen *gen, const ir_gen_nest *nest, ir_op *store, bool along);
/* The product of SIZES[from .. to); -1 where one is not known, or on overflow. */
int64_t ir_gen_product(const int64_t *sizes, size_t from, size_t to);
void ir_gen_store_result(ir_gen *gen, ir_op *store, size_t target, ir_reg value);

/* --- gen_loop.c --- */
void ir_gen_region(ir_gen *gen, ir_region *region);
/* Fills gen->stored, raced and in_grids. */
void ir_gen_usage(ir_gen *gen, ir_region *body);

#endif
