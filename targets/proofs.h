// SPDX-License-Identifier: Apache-2.0
/* What is known inside a prim_func while its text is walked from outside in, and proofs from that: for emitters that leave
 * out checks of what cannot happen. */
#ifndef RILL_TARGETS_PROOFS_H
#define RILL_TARGETS_PROOFS_H

#include "../base/vec.h"
#include "../ir/frame.h"
#include "../ir/infer.h"

/* An extent and the symbol that proofs know it by. */
typedef struct ir_size_name {
  const ir_expr *extent, *name;
} ir_size_name;

typedef struct ir_proofs {
  ir_context *context;
  ir_arena *arena;
  const ir_facts *facts;          /* what holds here, of symbols and of the values in `frame`; NULL: nothing is known */
  ir_frame frame;
  ir_interner known;              /* facts and proofs, by what they follow from */
  ir_vec(ir_size_name) sizes;     /* extents of the parameters that are no symbols, the larger expressions first */
  ir_map twins;                   /* ir_facts -> the same in terms of the names of `sizes` */
  ir_vec(const ir_expr *) bcasts; /* bcast(a, b) of the parameters' types, which have been checked */
} ir_proofs;

/* --- facts (facts.c) --- */
/* The facts of the prim_func FUNC, to start with. Where bcast(a, b) is an extent of its buffers, whoever calls FUNC checks
 * that a and b broadcast. */
void ir_proofs_start(ir_proofs *p, ir_func *func);
/* EXPR of OP over the symbols and the frame: what facts speak of. OP is NULL where EXPR is in these words already. */
const ir_expr *ir_proofs_frame(ir_proofs *p, const ir_op *op, const ir_expr *expr);
/* A scalar value in the same words. */
const ir_expr *ir_proofs_value(ir_proofs *p, ir_value *value);
/* What is known inside: 0 <= VARIABLE < EXTENT; CONDITION (of OP) holds; CONDITION (in the frame) holds or does not, as
 * far as it speaks of no memory. The caller puts it into p->facts and, at the end of the scope, the old facts back. */
const ir_facts *ir_proofs_loop(ir_proofs *p, ir_value *variable, ir_value *extent);
const ir_facts *ir_proofs_guard(ir_proofs *p, const ir_op *op, const ir_expr *condition);
const ir_facts *ir_proofs_if(ir_proofs *p, const ir_expr *condition, bool holds);
/* FACTS in terms of the names of p->sizes; NULL where there are none. */
const ir_facts *ir_proofs_twin(const ir_proofs *p, const ir_facts *facts);
const ir_expr *ir_proofs_names(ir_proofs *p, const ir_expr *expr);
/* EXPR with FROM replaced by TO. */
const ir_expr *ir_expr_swapped(ir_context *context, const ir_expr *expr, const ir_expr *from, const ir_expr *to);

/* What has been found out, by three causes. */
typedef struct ir_known {
  const void *key[3];
  const void *found;
} ir_known;
/* The entry of A, B and C; *fresh where it is new. */
ir_known *ir_known_of(ir_proofs *p, const void *a, const void *b, const void *c, bool *fresh);

/* --- proofs (bounds.c) --- */
/* Proves 0 <= INDEX and INDEX + LANES <= EXTENT; INDEX is of OP (NULL: in the frame). */
bool ir_proofs_in_range(ir_proofs *p, const ir_op *op, const ir_expr *index, const ir_expr *extent, unsigned lanes);
/* EXPR (i64, of OP) is proven to be at least LEAST. */
bool ir_proofs_at_least(ir_proofs *p, const ir_op *op, const ir_expr *expr, int64_t least);

#endif
