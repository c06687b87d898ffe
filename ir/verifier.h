// SPDX-License-Identifier: Apache-2.0
/* The parts of the verifier: ir/verify.c (items), ir/verify_scope.c (names and symbols), ir/verify_op.c (operations),
 * ir/verify_flow.c (effects, terminators), ir/verify_prim.c (tensor programs), ir/verify_expr.c (expressions, types),
 * ir/verify_host.c (planned memory). */
#ifndef RILL_IR_VERIFIER_H
#define RILL_IR_VERIFIER_H

#include "../base/vec.h"
#include "infer.h"

/* A name that is visible at a point. Entered when what it names is defined, left with its region, like the values. */
typedef struct ir_visible {
  const ir_expr *symbol;   /* a SYMBOL; NULL: a value has the name */
  const ir_string *name;   /* of the value when it was entered */
  bool bare;               /* an axis or a loop variable: printed without % */
} ir_visible;

typedef struct ir_verify_place {
  size_t values, names;
} ir_verify_place;

typedef struct ir_verifier {
  ir_module *module;
  ir_context *context;
  ir_func *func;          /* being looked at; NULL between functions */
  const ir_facts *facts;
  ir_arena arena;         /* of one function, reset behind each operation */
  ir_arena scope;         /* of one function: what stands in `visible` and the maps */
  size_t errors;
  const ir_value **values; /* that are visible; on the heap. A value's id is its place here, plus 1; true only where it stands there */
  size_t value_count, value_capacity;
  ir_vec(ir_visible) visible;
  ir_map symbol_at, name_at, bare_at; /* symbol or name -> its place in `visible`, plus 1; true only where it stands there */
  bool impure;            /* the function or closure around may have effects */
  bool plans;             /* the function has planned memory */
  bool infers;            /* the signature is sound, so that types can be inferred */
} ir_verifier;

/* An error at RANGE; counts. Returns false. */
bool ir_verify_fail(ir_verifier *v, ir_range range, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with "OPERATOR: " before it. */
bool ir_verify_fail_op(ir_verifier *v, const ir_op *op, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* --- names and symbols --- */
/* Enters VALUE; reports a visible name. BARE: it prints without %. */
void ir_verify_define(ir_verifier *v, ir_value *value, bool bare, ir_range range);
bool ir_verify_sees(const ir_verifier *v, const ir_value *value);
bool ir_verify_sees_symbol(const ir_verifier *v, const ir_expr *symbol);
/* Enters the symbols that stand alone in TYPE (in tensors, shapes and tuples of them) and are not visible yet. */
void ir_verify_bind_type(ir_verifier *v, const ir_type *type);
void ir_verify_bind_symbol(ir_verifier *v, const ir_expr *symbol);
static inline ir_verify_place ir_verify_mark(const ir_verifier *v) { return (ir_verify_place){v->value_count, v->visible.count}; }
static inline void ir_verify_leave(ir_verifier *v, ir_verify_place mark) {
  v->value_count = mark.values;
  v->visible.count = mark.names;
}

/* --- expressions and types --- */
/* TYPE speaks of visible symbols, existing devices, and i64 extents that are not negative. WHAT: "result 0". */
bool ir_verify_type(ir_verifier *v, ir_range range, const char *what, const ir_type *type);
/* EXPR is well typed, not too large, speaks of visible symbols; its arguments are operands of OP (NULL: it has none). */
bool ir_verify_expr(ir_verifier *v, ir_range range, const ir_op *op, const char *what, const ir_expr *expr);
/* The same for every expression, type and global name in an attribute. */
bool ir_verify_attr(ir_verifier *v, ir_range range, const ir_op *op, const char *what, const ir_attr *attr);
bool ir_verify_condition(ir_verifier *v, ir_range range, const ir_op *op, const char *what, const ir_expr *expr);

/* --- operations --- */
/* Everything in REGION; its arguments are visible inside. False where an operation is broken so badly that nothing
 * around may look at the region. */
bool ir_verify_region(ir_verifier *v, ir_region *region);
/* Whether the operation may stand where it stands, and how its region ends. */
void ir_verify_effects(ir_verifier *v, const ir_op *op);
void ir_verify_terminator(ir_verifier *v, const ir_region *region);
void ir_verify_returns(ir_verifier *v, const ir_op *op, size_t count, const ir_type *const *results, const char *whose);
/* Enters the symbols of a closure's parameters; the rules of its type, parameters and where clause. */
void ir_verify_bind_closure(ir_verifier *v, const ir_op *op);
void ir_verify_closure(ir_verifier *v, const ir_op *op);
void ir_verify_inplace(ir_verifier *v, const ir_op *op);
void ir_verify_written(ir_verifier *v, const ir_op *op); /* what a call of a prim_func writes */
/* The rules of tensor programs for one operation. */
void ir_verify_prim_op(ir_verifier *v, const ir_op *op);
/* The memory of a graph function: what shares bytes, what is given back. */
void ir_verify_host(ir_verifier *v, ir_func *func);
/* What a prim_func promises of its parameters. */
void ir_verify_outputs(ir_verifier *v, const ir_func *func);

#endif
