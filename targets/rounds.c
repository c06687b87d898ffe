// SPDX-License-Identifier: Apache-2.0
/* targets/rounds.c - how often an invocation of a kernel goes through its loops. */
#include "ir/simplify.h"
#include "targets/kernel.h"
#include "targets/proofs.h"

#define MOST (INT64_C(1) << 40) /* rounds: where counting ends */

static int64_t sum(int64_t a, int64_t b) { return a + b < MOST ? a + b : MOST; }
static int64_t product(int64_t a, int64_t b) { return !a || b < MOST / a ? a * b : MOST; }

struct counting {
  ir_proofs proofs;
  bool unrolled; /* loops that compilers may unroll are */
};

static int64_t rounds_of(struct counting *c, const ir_region *region);

static int64_t rounds_of_loop(struct counting *c, ir_op *loop) {
  ir_proofs *p = &c->proofs;
  const char *mode = ir_get_word(loop, "mode");
  ir_value *extent = ir_op_operand(loop, 0);
  const ir_facts *outer = p->facts;
  p->facts = ir_proofs_loop(p, ir_op_region(loop, 0)->args[0], extent);
  int64_t inner = rounds_of(c, ir_op_region(loop, 0)), least, most;
  p->facts = outer;
  if (!strcmp(mode, "bind")) return inner;
  ir_range_of(p->context, p->facts, ir_proofs_value(p, extent), &least, &most);
  if (most >= MOST) return inner;
  bool unrolled = c->unrolled && (!strcmp(mode, "unroll") || !strcmp(mode, "vectorize"));
  return most < 0 ? 0 : product(most, unrolled ? inner : sum(inner, 1));
}

static int64_t rounds_of(struct counting *c, const ir_region *region) {
  int64_t all = 0;
  for (ir_op *op = region->first; op; op = op->next) {
    if (ir_is(op, IR_FOR)) {
      all = sum(all, rounds_of_loop(c, op));
      continue;
    }
    int64_t most = 0; /* of two branches; a `while` counts once */
    for (size_t i = 0; i < op->region_count; i++) {
      int64_t inner = rounds_of(c, ir_op_region(op, i));
      most = inner > most ? inner : most;
    }
    all = sum(all, most);
  }
  return all;
}

int64_t ir_kernel_rounds(const ir_kernel *kernel, const uint64_t *values, bool unrolled) {
  ir_arena arena = {0};
  ir_context *context = ir_func_context(kernel->func);
  struct counting c = {.proofs = {.context = context, .arena = &arena, .frame = {.context = context, .arena = &arena}}, .unrolled = unrolled};
  ir_proofs_start(&c.proofs, kernel->func);
  ir_facts *facts = ir_facts_new(context, &arena, c.proofs.facts);
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    const ir_expr *symbol = kernel->scalars[i].symbol;
    if (symbol) ir_facts_assume(facts, ir_expr_binary(context, IR_S_EQ, symbol, ir_expr_i64(context, (int64_t)values[i])));
  }
  c.proofs.facts = facts;
  int64_t rounds = rounds_of(&c, kernel->func->body);
  ir_arena_free(&arena);
  return rounds;
}
