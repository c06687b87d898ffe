// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_REWRITE_H
#define RILL_IR_REWRITE_H

#include "infer.h"

/* --- matching: ir_match(op, M_OP(PERMUTE_DIMS, M_OP(PERMUTE_DIMS, M_ANY(&x)))) --- */
typedef struct ir_pattern ir_pattern;
struct ir_pattern {
  enum { IR_MATCH_ANY, IR_MATCH_OP } kind;
  ir_opcode code;
  const ir_pattern *const *kids; /* one for each leading operand; further operands are not looked at */
  size_t kid_count;
  ir_value **value; /* filled with what matched; may be NULL */
  ir_op **op;       /* the operation that matched; may be NULL */
  bool single_use;  /* the operation's only result has one use */
};
#define M_KIDS(...) (const ir_pattern *const[]){__VA_ARGS__}, sizeof((const ir_pattern *const[]){__VA_ARGS__}) / sizeof(ir_pattern *)
/* Any value. */
#define M_ANY(bind) (&(const ir_pattern){.kind = IR_MATCH_ANY, .value = (bind)})
/* The result of an operation with at least these operands. A commutative one is tried both ways. */
#define M_OP(ID, ...) (&(const ir_pattern){IR_MATCH_OP, IR_##ID, M_KIDS(__VA_ARGS__)})
/* The same, binding the operation; M_ONLY also wants nobody else to use it. */
#define M_BIND(bind, ID, ...) (&(const ir_pattern){IR_MATCH_OP, IR_##ID, M_KIDS(__VA_ARGS__), NULL, (bind)})
#define M_ONLY(bind, ID, ...) (&(const ir_pattern){IR_MATCH_OP, IR_##ID, M_KIDS(__VA_ARGS__), NULL, (bind), true})
/* Bindings are written as matching goes: they mean something only where it succeeded. */
bool ir_match(ir_op *op, const ir_pattern *pattern);
bool ir_match_value(ir_value *value, const ir_pattern *pattern);

/* --- rewriting by rules --- */
typedef struct ir_rewriter {
  ir_func *func;
  const ir_facts *facts;
  ir_arena *scratch;      /* reset when the rewriting ends */
  const char *pass;       /* for messages */
  const void *options;    /* of the pass */
  bool failed;            /* an internal error was reported */
} ir_rewriter;

/* A rule looks at OP and either changes nothing and returns false, or replaces or changes it and returns true. It
 * keeps values' types (or makes them more precise), keeps bits unless it belongs to an inexact pass, makes
 * progress (rules applied forever would not end), and erases no operation but the one it is given. */
typedef struct ir_rule {
  ir_opcode code;
  bool (*apply)(ir_rewriter *rw, ir_op *op);
  const char *doc; /* "permute_dims(permute_dims(x)) -> permute_dims(x)" */
} ir_rule;

/* Applies RULES until none applies (or LIMIT applications, 0 for no limit), but not at values that are overwritten in place:
 * who takes another's place, or reads past an operation, is read longer than before. HITS (may be NULL) counts each rule's uses.
 * Returns the number of applications. */
size_t ir_rewrite(ir_rewriter *rw, const ir_rule *const *sets, size_t set_count, size_t limit, uint64_t *hits);

/* A builder before OP. */
static inline ir_builder ir_at(ir_op *op) { return ir_before(op); }
/* Puts VALUES in the place of OP's results and erases OP. False, with nothing changed, where a type would become less
 * precise; a contradicting type is reported as the pass's fault. */
bool ir_replace(ir_rewriter *rw, ir_op *op, ir_value *const *values, size_t count);
static inline bool ir_replace1(ir_rewriter *rw, ir_op *op, ir_value *value) { return value && ir_replace(rw, op, &value, 1); }

/* --- effects --- */
/* Erasing, merging or moving OP (what is in its regions included) changes nothing that anybody can see. */
bool ir_op_is_pure(const ir_op *op);
/* A call_tir_inplace overwrites VALUE: nobody may use it behind that, nor may it stand for another value. */
bool ir_value_is_overwritten(const ir_value *value);
/* OP may be erased when its results are unused: pure, or a fresh allocation, and checks nothing. */
bool ir_op_is_removable(const ir_op *op);

#endif
