// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_OP_DEF_H
#define RILL_IR_OP_DEF_H

#include "attr.h"
#include "expr.h"
#include "type.h"

/* The table of tensor operators and structural operations: ir/ops/all.def, one row each,
 *   OP(ID, "name", "documentation", IR(...), LOWER(...), GRAD(...), EXAMPLE(...))
 * ID is the name in capitals, '.' as '_': NN_CONV2D.
 * IR(...) holds designated initialisers of ir_op_def (below) and is expanded by ir/op_def.c; LOWER by
 * passes/lower/lower.c; GRAD by the gradient pass; EXAMPLE(params, text, check) by the generated documentation and
 * tests: a parameter list, the operation (one or more statements), and the outside expression that checks it. */
typedef enum ir_opcode {
#define OP(ID, name, doc, ir, lower, grad, example) IR_##ID,
#include "ops/all.def"
#undef OP
  IR_OP_COUNT
} ir_opcode;

/* What an operand may be. A tensor constraint also takes a scalar (a loop counter, a literal): it is a 0-d tensor. */
typedef enum ir_constraint {
  IR_ANY_VALUE,
  IR_ANY_TENSOR,
  IR_NUMERIC_TENSOR, /* integers and floats, no bool */
  IR_FLOAT_TENSOR,
  IR_INTEGER_TENSOR,
  IR_BOOL_TENSOR,
  IR_INT_OR_BOOL_TENSOR,
  IR_SHAPE_VALUE,
  IR_TUPLE_VALUE,
  IR_FUNC_VALUE,
  IR_STORAGE_VALUE,
  IR_SCALAR_VALUE, /* a scalar of any dtype */
  IR_BUFFER,       /* in a prim_func: a tensor that is memory */
} ir_constraint;

typedef enum ir_multiplicity { IR_ONE, IR_OPTIONAL, IR_MANY } ir_multiplicity;

typedef struct ir_operand_def {
  const char *name;
  ir_constraint constraint;
  ir_multiplicity multiplicity; /* OPTIONAL operands come after the ONEs, at most one MANY, last */
  const char *doc;
} ir_operand_def;

typedef enum ir_attr_want {
  IR_A_INT,
  IR_A_FLOAT, /* an integer literal is taken too, and stays IR_ATTR_INT where no f64 is that integer */
  IR_A_BOOL,
  IR_A_STRING,
  IR_A_ID, /* one of CHOICES where that is given: "valid|same" */
  IR_A_DTYPE,
  IR_A_TYPE,
  IR_A_GLOBAL,
  IR_A_EXPR,
  IR_A_INTS,   /* [1, 2]; for a single axis the builders accept an int: not in text */
  IR_A_FLOATS,
  IR_A_DIMS,   /* [n, 4]: i64 expressions over symbols and constants */
  IR_A_EXPRS,
  IR_A_LIST,
  IR_A_DICT, /* keyword arguments that no attribute of the row has the name of (at most one such attribute) */
  IR_A_DATA, /* the literal of `const` */
} ir_attr_want;

typedef struct ir_attr_def {
  const char *name;
  ir_attr_want type;
  const char *dflt;    /* the default as text ("1", "[1, 1]", "\"NCHW\"", "true", "1e-05", "none" for absent); NULL: required */
  const char *choices; /* STRING and ID: allowed words, joined by '|' */
  enum { IR_NAMED, IR_LEADING, IR_TRAILING, IR_HIDDEN } place;
  /* NAMED: name=value after the operands. LEADING, TRAILING: the value alone, before or after the operands, as in
   * call(@f, %x) and assert(%c, "text"). HIDDEN: set by the grammar's own forms (if, loop, for, stores, yield). */
  const char *doc;
} ir_attr_def;

enum {
  IR_PURE = 1 << 0,        /* no effect; equal operations may be merged, unused ones erased */
  IR_READS = 1 << 1,       /* reads memory */
  IR_WRITES = 1 << 2,      /* writes memory */
  IR_ALLOCATES = 1 << 3,   /* yields fresh memory: never merged, erased when unused */
  IR_IMPURE = 1 << 4,      /* has an effect beyond memory: never erased, merged or moved */
  IR_TERMINATOR = 1 << 5,
  IR_COMMUTATIVE = 1 << 6, /* first two operands may be swapped, the bits stay the same (NaN payloads aside) */
  IR_ELEMENTWISE = 1 << 7, /* result element depends on the operands' broadcast element only: row has `element` */
  IR_VIEW = 1 << 8,        /* the result holds the operand's elements in the same row-major order */
  IR_CHECKS = 1 << 9,      /* checks something at run time: never erased as unused, though pure otherwise */
  IR_GRAPH = 1 << 10,      /* may stand in a func */
  IR_PRIM = 1 << 11,       /* may stand in a prim_func */
  IR_SCALAR_BODY = 1 << 12, /* may stand in a reducer */
  IR_BRANCHES = 1 << 13,   /* has regions that run conditionally or repeatedly */
};

/* STRUCTURE: not a computation, so never legalized: calls, control flow, tuples, shapes, constants. */
typedef enum ir_numerics { IR_STRUCTURE, IR_EXACT, IR_EXPANDED, IR_CHAIN, IR_LANES, IR_BOUNDED } ir_numerics;

/* Inference: given an operation's parts, report its result types. */
typedef struct ir_infer ir_infer; /* ir/infer.h */

struct ir_op_def {
  const char *name, *doc;
  const ir_operand_def *operands;
  const ir_attr_def *attrs;
  uint8_t operand_def_count, attr_count;
  int8_t results;    /* number of results; -1: as inference says */
  int8_t regions;    /* number of regions; -1: any */
  uint32_t traits;
  ir_numerics numerics;
  const char *element;     /* ELEMENTWISE: the scalar expression over the operands' and attributes' names */
  const char *element_int; /* the same for operands that are not floats, where it is another one */
  /* Fills the result types (ir_infer_result), or reports and returns false. NULL: no results. */
  bool (*infer)(ir_infer *in);
  /* Further checks of the verifier, after inference. May be NULL. */
  bool (*verify)(const ir_op *op);
};
typedef struct ir_op_def ir_op_def;

extern const ir_op_def ir_op_defs[IR_OP_COUNT];

/* The operator called NAME; IR_OP_COUNT where there is none. */
ir_opcode ir_op_find(ir_context *context, ir_slice name);
/* The default of attribute SLOT of CODE, NULL where it is required or `none`. */
const ir_attr *ir_op_default(ir_context *context, ir_opcode code, size_t slot);
/* ATTR has the kind that the row wants, after harmless conversion (an int for a float becomes one): the attribute to
 * store, or NULL. *expected (if not NULL) names what is wanted: "a list of integers". */
const ir_attr *ir_attr_conform(ir_context *context, const ir_attr_def *def, const ir_attr *attr, const char **expected);

/* Used inside rows: IR(.operands = OPERANDS({"x", FLOAT_TENSOR}), ...). */
#define OPERANDS(...) \
  (const ir_operand_def[]){__VA_ARGS__}, \
  .operand_def_count = sizeof((const ir_operand_def[]){__VA_ARGS__}) / sizeof(ir_operand_def)
#define ATTRS(...) \
  (const ir_attr_def[]){__VA_ARGS__}, .attr_count = sizeof((const ir_attr_def[]){__VA_ARGS__}) / sizeof(ir_attr_def)

#endif
