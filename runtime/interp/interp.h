// SPDX-License-Identifier: Apache-2.0
/* What the parts of the interpreter share. */
#ifndef RILL_RUNTIME_INTERP_INTERP_H
#define RILL_RUNTIME_INTERP_INTERP_H

#include "../../ir/simplify.h"
#include "../interp.h"
#include "code.h"
#include "gen.h"

enum { IR_MAX_CALLS = 1000 /* nested calls */ };

struct ir_interp {
  ir_module *module;
  ir_context *context;
  ir_interp_options options;
  const ir_kernels *kernels;
  ir_arena arena;
  ir_map prims; /* ir_func -> its plans, linked */
  ir_map ops;   /* ir_op -> its plans, linked */
  ir_map operators;          /* ir_op -> what it was lowered to */
  ir_module *scratch_module; /* where lowering works */
  ir_map bodies; /* ir_region -> what graph.c knows of it */
  ir_meter *meter;
  uint64_t steps;
  unsigned calls; /* under way */
  ir_recorder launches;
};

/* Why there may be no memory, to end a message with; "" where the machine has none. */
static inline const char *ir_interp_budget(const ir_interp *interp) {
  return interp->options.max_bytes ? ": the budget of bytes is spent" : "";
}
/* Reports at RANGE unless quiet; returns false. */
bool ir_interp_fail(ir_interp *interp, ir_range range, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* At OP, with the place that its `loc` names. */
bool ir_op_fail(ir_interp *interp, const ir_op *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool ir_interp_vfail(ir_interp *interp, ir_range range, const ir_attr *loc, const char *format, va_list args) __attribute__((format(printf, 4, 0)));

/* --- symbols.c: the values of symbols --- */
typedef struct ir_symbol_value {
  const ir_string *name;
  int64_t value;
} ir_symbol_value;

typedef struct ir_symbols {
  ir_symbol_value *at;
  size_t count, capacity;
} ir_symbols;

void ir_symbols_free(ir_symbols *symbols);
void ir_symbols_set(ir_symbols *symbols, const ir_string *name, int64_t value);
void ir_symbols_unset(ir_symbols *symbols, const ir_string *name);
bool ir_symbols_get(const ir_symbols *symbols, const ir_string *name, int64_t *value);
/* An i64 or bool expression over symbols. False: a symbol has no value, overflow, division by zero. */
bool ir_symbols_evaluate(const ir_symbols *symbols, const ir_expr *expr, int64_t *value);
/* Binds symbols that stand alone in TYPE and have no value yet. */
void ir_symbols_bind(ir_symbols *symbols, const ir_type *type, const ir_object *object);
/* Symbols of FUNC: those that are passed explicitly first, then those of the types of arguments that are not NULL. */
void ir_symbols_bind_all(ir_symbols *symbols, const ir_func *func, ir_object *const *arguments);
/* Whether OBJECT is an instance of TYPE; WHY says what is not ("axis 1 is 3, expected 4"). */
bool ir_symbols_check(const ir_symbols *symbols, const ir_type *type, const ir_object *object, ir_text *why);
/* OBJECT (a reference that is taken over) as TYPE wants it: a scalar as a tensor without axes or the other way. */
ir_object *ir_object_coerce(ir_interp *interp, const ir_type *type, ir_object *object);
/* Binds and checks the arguments of FUNC, and its `where`. */
bool ir_symbols_enter(ir_interp *interp, ir_symbols *symbols, const ir_func *func, size_t count, ir_object *const *arguments);

/* --- prim.c --- */
/* Runs PLAN on one tensor for each of its buffer parameters (or NULL where SCALARS has the argument). */
bool ir_plan_run(ir_interp *interp, ir_plan *plan, size_t count, ir_object *const *arguments);
ir_gen *ir_plan_begin(ir_interp *interp, ir_func *func, const ir_op *op, size_t argument_count);
/* The finished plan; NULL after an error. Frees GEN. */
ir_plan *ir_plan_end(ir_interp *interp, ir_gen *gen);
void ir_plan_free(ir_plan *plan);
/* The plan with KEY of the list that OWNER has in MAP. */
ir_plan *ir_plan_find(const ir_map *map, const void *owner, size_t count, const int64_t *key);
void ir_plan_keep(ir_interp *interp, ir_map *map, const void *owner, ir_plan *plan, size_t count, const int64_t *key);

/* --- measuring: nothing where the options do not ask for it --- */
typedef struct ir_launch {
  const char *kernel; /* NULL: not measured */
  double start;
  uint64_t bytes;
} ir_launch;
ir_launch ir_launch_begin(const ir_interp *interp, const char *kernel);
void ir_launch_buffers(ir_launch *launch, size_t count, ir_object *const *objects);
void ir_launch_end(ir_interp *interp, const ir_launch *launch);

#endif
