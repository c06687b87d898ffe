// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_SIMPLIFY_H
#define RILL_IR_SIMPLIFY_H

#include "expr.h"

/* What is known about symbols and arguments: ranges, divisibility, and boolean facts from `where`, guards and loops.
 * Nothing is assumed of a symbol but what the facts say: those of a function (ir_func_facts) say that a symbol which is
 * an extent lies in [0, IR_EXTENT_MAX]. That bound is far above any tensor that exists, and low enough that sums and
 * small multiples of extents never overflow: n < n + 1 holds of an extent, not of an arbitrary integer. Whoever binds
 * symbols at run time refuses larger extents, and tensors whose extents, those of 0 left out, multiply to more. */
typedef struct ir_facts ir_facts;

#define IR_EXTENT_MAX (INT64_C(1) << 48)

/* PARENT (may be NULL) is consulted too and must outlive the new one: facts of an inner scope. */
ir_facts *ir_facts_new(ir_context *context, ir_arena *arena, const ir_facts *parent);
/* LEAF (a SYMBOL or an ARG) lies in [least, most]; INT64_MIN and INT64_MAX are no bound. */
void ir_facts_range(ir_facts *facts, const ir_expr *leaf, int64_t least, int64_t most);
/* There is a tensor of TYPE (or a tuple of such): the symbols among its extents lie in [0, IR_EXTENT_MAX], and so does
 * the product of any of its extents. Other types say nothing. */
void ir_facts_tensor(ir_facts *facts, const ir_type *type);
/* CONDITION (boolean) holds. Comparisons of linear forms, divisibility (floormod(n, 8) == 0) and conjunctions are
 * understood; others are kept and match only themselves. */
void ir_facts_assume(ir_facts *facts, const ir_expr *condition);
/* COUNTER (an ARG) counts from 0 to below END: also below both where END is a min, and below a where it is max(a, 0). */
void ir_facts_count(ir_facts *facts, ir_context *context, const ir_expr *counter, const ir_expr *end);

/* An equal expression in canonical form: constants folded (never past overflow: then the operation stays), linear
 * forms collected (i64), floordiv, floormod, ceildiv, min, max, bcast, comparisons and logic reduced where the facts
 * prove it, exact identities on other dtypes (never changing NaN, signed zero or rounding). The result is the same
 * for structurally equal input: deterministic, and a fixed point. FACTS may be NULL. */
const ir_expr *ir_simplify(ir_context *context, const ir_facts *facts, const ir_expr *expr);
/* The constant that EXPR is where nothing in it varies; else EXPR as it is. */
const ir_expr *ir_simplify_constant(ir_context *context, const ir_expr *expr);

typedef enum ir_proof { IR_UNKNOWN, IR_PROVEN, IR_REFUTED } ir_proof;
/* Whether CONDITION holds for every (PROVEN) or no (REFUTED) value that the facts allow. */
ir_proof ir_prove(ir_context *context, const ir_facts *facts, const ir_expr *condition);
ir_proof ir_prove_equal(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b);
/* a <= b, a < b */
ir_proof ir_prove_le(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b);
ir_proof ir_prove_lt(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b);
/* The tightest known range of an i64 expression. */
void ir_range_of(ir_context *context, const ir_facts *facts, const ir_expr *expr, int64_t *least, int64_t *most);

/* i64 helpers that simplify at once. */
const ir_expr *ir_dim_add(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b);
const ir_expr *ir_dim_sub(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b);
const ir_expr *ir_dim_mul(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b);
const ir_expr *ir_dim_floordiv(ir_context *context, const ir_facts *facts, const ir_expr *a, const ir_expr *b);

/* The value of EXPR for given leaves; false where a leaf has none, on overflow, or where it divides by zero.
 * Integer and bool expressions only. */
typedef bool ir_leaf_value(void *user, const ir_expr *leaf, int64_t *value);
bool ir_evaluate(const ir_expr *expr, ir_leaf_value *leaf, void *user, int64_t *value);

/* Facts of a function: its `where` clause, that there are tensors of its parameters' types, and that its symbols are
 * extents, but for those that are passed explicitly and are not an extent of a parameter's type: these are any integer.
 * Cached in func->facts. */
struct ir_func;
const ir_facts *ir_func_facts(struct ir_func *func);
/* Adds a clause to FUNC's `where`, unless what is known of its symbols proves it. */
void ir_func_add_where(struct ir_func *func, const ir_expr *condition);

#endif
