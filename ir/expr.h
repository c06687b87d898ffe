// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_EXPR_H
#define RILL_IR_EXPR_H

#include "context.h"
#include "dtype.h"

typedef enum ir_scalar_code {
#define SCALAR(ID, name, arity, typing, class, infix, doc) IR_S_##ID,
#include "scalar.def"
#undef SCALAR
  IR_S_COUNT
} ir_scalar_code;

typedef enum ir_scalar_typing {
  IR_TYPING_LEAF,
  IR_TYPING_SAME,
  IR_TYPING_SAME_FLOAT,
  IR_TYPING_SAME_INT,
  IR_TYPING_BITS,
  IR_TYPING_LOGIC,
  IR_TYPING_COMPARE,
  IR_TYPING_TEST,
  IR_TYPING_SELECT,
  IR_TYPING_SHIFT,
  IR_TYPING_CONVERT,
} ir_scalar_typing;

typedef struct ir_scalar_def {
  const char *name, *infix, *doc;
  int8_t arity; /* -1: any number */
  ir_scalar_typing typing;
  bool expanded;
} ir_scalar_def;

extern const ir_scalar_def ir_scalars[IR_S_COUNT];

/* One node of a scalar expression: hash-consed, immutable, closed. Leaves are constants, symbols and numbered
 * arguments: ARG(k) and LOAD(k, ...) speak of operand number k of the operation that owns the expression. In the
 * extents of types and in `where` clauses there are no arguments. Equal structure, equal pointer. */
struct ir_expr {
  uint16_t code;  /* ir_scalar_code */
  uint8_t dtype;  /* ir_dtype of the value */
  uint8_t count;  /* operands in kids (a LOAD: its indices) */
  uint16_t lanes; /* 1, or the width of a vector */
  bool has_args;  /* an ARG or a LOAD is in it */
  bool has_loads; /* a LOAD is in it */
  uint32_t size;  /* nodes of the tree it prints as, saturating */
  uint32_t arg;   /* ARG, LOAD: the operand number */
  union {
    uint64_t bits;           /* CONST: the element's bits, see ir/dtype.h; the same in every lane */
    const ir_string *symbol; /* SYMBOL */
  };
  const ir_expr *kids[];
};

enum { IR_EXPR_MAX_SIZE = 256 /* the largest expression that an operation may own, in printed nodes */ };

const ir_expr *ir_expr_const(ir_context *context, ir_dtype dtype, unsigned lanes, uint64_t bits);
const ir_expr *ir_expr_i64(ir_context *context, int64_t value);
const ir_expr *ir_expr_bool(ir_context *context, bool value);
/* A constant of DTYPE from a number: rounded (floats), wrapped (integers). */
const ir_expr *ir_expr_float(ir_context *context, ir_dtype dtype, double value);
const ir_expr *ir_expr_int(ir_context *context, ir_dtype dtype, int64_t value);
const ir_expr *ir_expr_symbol(ir_context *context, const ir_string *name);
const ir_expr *ir_expr_arg(ir_context *context, uint32_t operand, ir_dtype dtype, unsigned lanes);
/* An element of operand BUFFER, whose element has DTYPE and BUFFER_LANES. The last index may be a RAMP: then the
 * load yields as many lanes. */
const ir_expr *ir_expr_load(ir_context *context, uint32_t buffer, ir_dtype dtype, unsigned buffer_lanes, size_t count,
                            const ir_expr *const *indices);
/* An operator application; the caller has made sure that the operands fit the typing (ir_expr_check). CONVERT codes
 * go through the next function. No simplification takes place. */
const ir_expr *ir_expr_get(ir_context *context, ir_scalar_code code, size_t count, const ir_expr *const *kids);
const ir_expr *ir_expr_convert(ir_context *context, ir_scalar_code code, const ir_expr *kid, ir_dtype dtype,
                               unsigned lanes);
static inline const ir_expr *ir_expr_cast(ir_context *context, const ir_expr *kid, ir_dtype dtype) {
  return kid->dtype == dtype ? kid : ir_expr_convert(context, IR_S_CAST, kid, dtype, kid->lanes);
}
static inline const ir_expr *ir_expr_unary(ir_context *context, ir_scalar_code code, const ir_expr *a) {
  return ir_expr_get(context, code, 1, &a);
}
static inline const ir_expr *ir_expr_binary(ir_context *context, ir_scalar_code code, const ir_expr *a,
                                            const ir_expr *b) {
  return ir_expr_get(context, code, 2, (const ir_expr *const[]){a, b});
}
static inline const ir_expr *ir_expr_ternary(ir_context *context, ir_scalar_code code, const ir_expr *a,
                                             const ir_expr *b, const ir_expr *c) {
  return ir_expr_get(context, code, 3, (const ir_expr *const[]){a, b, c});
}
/* Whether the operands fit the typing of CODE. Where they do not, *problem (if not NULL) says why: "integer operands". */
bool ir_expr_check(ir_scalar_code code, size_t count, const ir_expr *const *kids, const char **problem);
/* The scalar operator called NAME (calls only, not infix spellings); IR_S_COUNT where there is none. */
ir_scalar_code ir_scalar_find(ir_context *context, ir_slice name);

static inline bool ir_expr_is(const ir_expr *expr, ir_scalar_code code) { return expr->code == code; }
/* A quotient or a remainder of integers, whose divisor may be 0. */
bool ir_expr_divides(const ir_expr *expr);
/* An integer or bool constant of one lane. */
bool ir_expr_is_int(const ir_expr *expr, int64_t *value);

/* EXPR with its leaves replaced by what REPLACE returns for them (SYMBOL, ARG, LOAD; a LOAD is offered after its
 * indices have been replaced); returning the leaf keeps it. Nothing else is changed or simplified. */
typedef const ir_expr *ir_expr_replacer(void *user, ir_context *context, const ir_expr *leaf);
const ir_expr *ir_expr_replace(ir_context *context, const ir_expr *expr, ir_expr_replacer *replace, void *user);
/* EXPR with ARG(k) and LOAD(k) renumbered to map[k]. */
const ir_expr *ir_expr_renumber(ir_context *context, const ir_expr *expr, const uint32_t *map);
/* Calls VISIT for every distinct node once, operands before their users. */
void ir_expr_walk(ir_context *context, const ir_expr *expr, void (*visit)(void *user, const ir_expr *node), void *user);

#endif
