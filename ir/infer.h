// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_INFER_H
#define RILL_IR_INFER_H

#include "../base/vec.h"
#include "module.h"
#include "simplify.h"

/* What an operator's inference sees: an operation that may not exist yet. Types of operands are known; attributes
 * have been conformed to the row (defaults in place; NULL only where the row says `none`). */
struct ir_infer {
  ir_context *context;
  ir_module *module;
  ir_func *func;              /* the function around; may be NULL in tests */
  const ir_facts *facts;      /* of its symbols; may be NULL */
  const ir_op_def *row;
  ir_opcode code;
  ir_range range;
  size_t operand_count;
  ir_value *const *operands;
  const ir_attr *const *attrs; /* row->attr_count */
  size_t region_count;
  ir_region *const *regions;
  ir_vec(const ir_region *) around; /* the regions that it stands in, on scratch: what their match_casts name is known there */
  size_t declared_count;          /* result types written in the text, or those the operation has; 0: none known */
  const ir_type *const *declared; /* for operators whose result type only the text can give (const, alloc, match_cast) */
  bool quiet;                     /* do not report: a pass only wants to know */
  bool collect;                   /* fill NEEDS */
  ir_arena *scratch;
  size_t result_count; /* out */
  const ir_type **results; /* out, on scratch */
  ir_vec(const ir_expr *) needs; /* out, where COLLECT: what must hold of the extents and only the run can tell */
};

/* Appends a result type. */
bool ir_infer_result(ir_infer *in, const ir_type *type); /* returns true, for `return ir_infer_result(...)` */
/* CONDITION, over extents, must hold when it runs: for who collects that (ir_infer.needs), where it is not proven. */
void ir_infer_need(ir_infer *in, const ir_expr *condition);
/* Reports "OPERATOR: ..." at the operation and returns false. */
bool ir_infer_fail(ir_infer *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline const ir_type *ir_infer_type(const ir_infer *in, size_t operand) { return in->operands[operand]->type; }
const ir_attr *ir_infer_attr(const ir_infer *in, const char *name);
int64_t ir_infer_int(const ir_infer *in, const char *name);
bool ir_infer_bool(const ir_infer *in, const char *name);
double ir_infer_float(const ir_infer *in, const char *name);
/* The number stands for an element of DTYPE: reports and returns false where that is an integer and it is not whole. */
bool ir_infer_whole_for(ir_infer *in, const char *name, ir_dtype dtype);
const char *ir_infer_word(const ir_infer *in, const char *name);
ir_dtype ir_infer_dtype(const ir_infer *in, const char *name);
/* The name of an operand for messages: 'x', 'tensors[2]' (without the quotes). */
const char *ir_infer_operand_name(const ir_infer *in, size_t operand);
/* An axis attribute value counted from the end where negative, checked against RANK. */
bool ir_infer_axis(ir_infer *in, int64_t axis, size_t rank, size_t *out);

/* The operation stands in REGION and in what is around that. */
void ir_infer_stands_in(ir_infer *in, const ir_region *region);

/* Runs the row's inference and checks operands against the row's constraints first. On success the result types are
 * in in->results. Fills context, row and defaults itself from code, attrs (may be NULL or hold NULLs) and func. */
bool ir_infer_run(ir_infer *in);

/* How WRITTEN relates to INFERRED: equal (proven), weaker (says less, allowed), stronger (says more: needs
 * match_cast), contradicting. */
typedef enum ir_type_relation { IR_TYPES_EQUAL, IR_TYPES_WEAKER, IR_TYPES_STRONGER, IR_TYPES_CONTRADICT } ir_type_relation;
ir_type_relation ir_type_relate(ir_context *context, const ir_facts *facts, const ir_type *written, const ir_type *inferred);
/* The least upper bound of two types: what both are instances of (`?` where extents differ; any). */
const ir_type *ir_type_join(ir_context *context, const ir_facts *facts, const ir_type *a, const ir_type *b);

/* The inference of OP once more, its result types the declared ones; the arrays lie on SCRATCH. */
ir_infer ir_infer_again(const ir_op *op, const ir_facts *facts, ir_arena *scratch);
/* Gives the results of OP the most precise types that inference knows; how many changed. A written type that contradicts is the
 * verifier's matter. */
size_t ir_op_refine(ir_op *op, ir_arena *scratch);
/* VALUE's type has become more precise: so do those of what is made of it. */
void ir_value_refine_users(ir_value *value);

/* A binding of a callee's symbols to expressions of the caller. */
typedef struct ir_binding {
  ir_arena *arena;
  ir_map symbols; /* ir_expr SYMBOL -> ir_expr */
} ir_binding;
/* Matches a parameter type with an argument type: symbols standing alone in PARAM are bound, everything else must not
 * provably differ. False with *why (static text or on the arena) on a conflict. An argument extent `?` binds nothing. */
bool ir_unify(ir_context *context, const ir_facts *facts, ir_binding *binding, const ir_type *param, const ir_type *argument, const char **why);
/* Binds the explicit symbol parameters and unifies the types of FUNC's parameters with the operands FIRST.. of IN, in
 * order (SKIP_OUT: without `out` parameters); reports what does not fit. */
bool ir_infer_unify_call(ir_infer *in, const ir_func *func, size_t first, bool skip_out, ir_binding *binding);
/* TYPE with bound symbols replaced and simplified; extents that still hold an unbound symbol become `?`. */
const ir_type *ir_type_substitute(ir_context *context, const ir_facts *facts, const ir_binding *binding, const ir_type *type);
const ir_expr *ir_expr_substitute(ir_context *context, const ir_binding *binding, const ir_expr *expr); /* NULL where a symbol is unbound */

/* --- the builder: makes operations with inferred types --- */
typedef struct ir_builder {
  ir_module *module;
  ir_region *region;
  ir_op *before; /* new operations go before it; NULL: at the end of REGION */
  ir_range range;
  const ir_attr *loc; /* `loc(...)` that new operations get; may be NULL */
} ir_builder;
static inline ir_builder ir_at_end(ir_region *region) { return (ir_builder){.module = region->func->item.module, .region = region}; }
/* Before OP, with its range and location. */
ir_builder ir_before(ir_op *op);
ir_builder ir_after(ir_op *op);

typedef struct ir_named_attr {
  const char *name;
  const ir_attr *value; /* NULL: leave the default */
} ir_named_attr;
#define IR_SET(...) (const ir_named_attr[]){__VA_ARGS__}, sizeof((const ir_named_attr[]){__VA_ARGS__}) / sizeof(ir_named_attr)
#define IR_NO_ATTRS NULL, 0
#define IR_OPERANDS(...) (ir_value *const[]){__VA_ARGS__}, sizeof((ir_value *const[]){__VA_ARGS__}) / sizeof(ir_value *)
/* Builds CODE with inferred result types: ir_build(&b, IR_MATMUL, IR_OPERANDS(x, w), IR_NO_ATTRS). An attribute that
 * the row lacks or that does not conform, and failing inference, are reported; then NULL comes back. */
ir_op *ir_build(ir_builder *b, ir_opcode code, ir_value *const *operands, size_t operand_count, const ir_named_attr *attrs, size_t attr_count);
/* The same with regions and given result types (NULL: inferred). */
ir_op *ir_build_with(ir_builder *b, ir_opcode code, ir_value *const *operands, size_t operand_count, const ir_named_attr *attrs, size_t attr_count,
                     ir_region *const *regions, size_t region_count, const ir_type *const *types, size_t type_count);
/* The only result of ir_build. */
ir_value *ir_build1(ir_builder *b, ir_opcode code, ir_value *const *operands, size_t operand_count, const ir_named_attr *attrs, size_t attr_count);
/* An inline scalar operation for EXPR, whose ARG(k) is operands[k]: an operand such as `n - 1` or `2.0`. */
ir_value *ir_build_scalar(ir_builder *b, const ir_expr *expr, ir_value *const *operands, size_t operand_count);
/* Checks CONDITION, over symbols, when what is built runs: a match_cast, which is pure, but does not fit where it fails. */
bool ir_build_check(ir_builder *b, const ir_expr *condition);
/* A `const` with the given elements (not copied) and type. */
ir_value *ir_build_const(ir_builder *b, const ir_type *type, ir_data data);
/* A 0-d constant of DTYPE. */
ir_value *ir_build_const_float(ir_builder *b, ir_dtype dtype, double value);
ir_value *ir_build_const_int(ir_builder *b, ir_dtype dtype, int64_t value);

#endif
