// SPDX-License-Identifier: Apache-2.0
/* What a tensor program is compiled to for the interpreter: instructions over registers. A register holds one value (it
 * is uniform), or one for each lane (it varies): lanes are the iterations of a loop that run together, at most
 * ir_plan.lanes at a time, or the invocations of a workgroup. Sizes are constants here: a plan is made for given
 * extents. */
#ifndef RILL_RUNTIME_INTERP_CODE_H
#define RILL_RUNTIME_INTERP_CODE_H

#include "../../ir/module.h"
#include "../../ir/reduction.h"
#include "kernels.h"
#include "../tensor.h"

typedef uint32_t ir_reg; /* 0 is a register that nobody reads */

typedef struct ir_reg_info {
  uint8_t dtype; /* ir_dtype */
  uint8_t rep;   /* ir_rep */
  bool varying;
  bool splat;     /* varies by form only: CONSTANT in every lane */
  uint16_t width; /* elements of a vector value */
  uint32_t size;  /* bytes of a value */
  uint32_t depth; /* of the loops around its definition */
  uint32_t rows;  /* that many registers in one */
  const void *constant;  /* the value, where it is known */
  int64_t least, most;   /* of integers */
  size_t offset;         /* in the plan's memory */
} ir_reg_info;

/* constant + sum of scale * register + lane * (number of the lane in the strip). The first UNIFORM terms are uniform
 * registers, the next VARYING ones vary; all are i64. */
typedef struct ir_term {
  ir_reg reg;
  int64_t scale;
} ir_term;

typedef struct ir_linear {
  int64_t constant, lane;
  uint32_t uniform, varying;
  const ir_term *terms;
} ir_linear;

typedef enum ir_buffer_kind { IR_BUFFER_PARAM, IR_BUFFER_GLOBAL, IR_BUFFER_SHARED, IR_BUFFER_LOCAL } ir_buffer_kind;

typedef struct ir_buffer {
  const ir_value *value; /* NULL: an operand without a value, for elements of an operator */
  const char *name;      /* for messages */
  ir_buffer_kind kind;
  uint8_t dtype;
  uint16_t width; /* elements of a vector */
  bool own;       /* one for each lane */
  bool raced;     /* accesses are watched: it is written in a grid */
  uint32_t rank;
  const int64_t *dims, *strides; /* in vectors */
  int64_t count;                 /* vectors */
} ir_buffer;

/* An index that is not known to be in range. */
typedef struct ir_check {
  uint32_t dim;
  ir_linear index;
} ir_check;

/* Elements of a buffer: WIDTH consecutive ones for each lane. */
typedef struct ir_access {
  uint32_t buffer;
  uint16_t width;
  bool direct;  /* the register may point into the buffer */
  bool vector;  /* a ramp along the last axis of a buffer of scalars */
  bool watched; /* race detection */
  bool own;     /* each lane has a buffer of its own */
  const ir_op *op;
  ir_linear offset; /* in elements */
  uint32_t check_count;
  const ir_check *checks;
  const ir_linear *indices; /* one for each axis */
} ir_access;

typedef struct ir_instr ir_instr;
typedef struct ir_code {
  ir_instr *at;
  size_t count, capacity;
} ir_code;

/* A condition: of the whole strip, of an interval of its lanes, or of each lane. CODE computes what it needs. */
typedef struct ir_cond {
  enum { IR_COND_UNIFORM, IR_COND_RANGE, IR_COND_LANES } kind;
  ir_code code;
  ir_reg reg;
  uint16_t compare; /* RANGE: the linear form against 0, an ir_scalar_code */
  ir_linear form;
} ir_cond;

typedef struct ir_guard {
  size_t count;
  ir_cond *conds;
  ir_reg mask; /* where the lanes' mask goes */
} ir_guard;

typedef enum ir_instr_kind {
  IR_I_PURE,      /* fn(d, a, b, c) */
  IR_I_SPLAT,     /* d = a in every lane */
  IR_I_BROADCAST, /* every element of d's vector = a */
  IR_I_RAMP,      /* d's vector = a, a + 1, ... */
  IR_I_LOAD,      /* info: ir_access */
  IR_I_STORE,
  IR_I_ATOMIC,    /* info: ir_atomic */
  IR_I_DIVISOR,   /* an error where a is 0; info: the operation */
  IR_I_ASSERT,    /* info: the operation */
  IR_I_ALLOC,     /* b: the buffer */
  IR_I_BARRIER,
  IR_I_FOR, /* info: the ir_node */
  IR_I_LANES,
  IR_I_WHILE,
  IR_I_IF,
  IR_I_GRID,
  IR_I_START,  /* of a reduction; info: ir_reduce */
  IR_I_STEP,   /* one element a lane */
  IR_I_TICK,   /* one more position, whether or not it was stepped on */
  IR_I_FINISH, /* leaves the result in the reduction's first row */
  IR_I_MOVE,   /* d = a, in active lanes only */
} ir_instr_kind;

struct ir_instr {
  uint8_t kind;
  bool varying;
  uint16_t width; /* PURE: elements a lane */
  ir_reg d, a, b, c;
  uint16_t step[4]; /* PURE, MOVE: bytes from lane to lane in d, a, b, c */
  union {
    ir_strip *fn;
    const void *info;
  };
};

typedef struct ir_atomic {
  ir_access access;
  ir_strip *combine, *narrow;
} ir_atomic;

/* A lane's coordinate: axis values of a strip of flattened axes. */
typedef struct ir_axis {
  ir_reg reg;
  int64_t extent;
  bool used; /* the register must be filled */
} ir_axis;

typedef struct ir_node {
  const ir_op *op;
  ir_code before; /* what doesn't change in the loop; in LANES: with all lanes active */
  ir_code body, other;
  ir_reg extent;   /* FOR, LANES: i64 */
  ir_reg variable; /* FOR; LANES: the number of the strip's first lane */
  bool group;      /* FOR over workgroups */
  size_t axis_count;
  ir_axis *axes; /* LANES, GRID: the last one is fastest */
  ir_guard guard; /* IF, WHILE */
  bool narrow;    /* IF: CONDS are applied one after the other; there is no else */
  int64_t lanes;  /* GRID */
} ir_node;

/* A reduction that is under way: 32 or 1 rows of accumulators for each level of blocks, see numerics. Rows hold one
 * accumulator a lane, or, where ALONG, lanes are elements of one reduction and a row is one accumulator. */
typedef struct ir_reduce {
  ir_reduction how;
  uint32_t number; /* of the state in ir_exec */
  bool along;
  uint32_t rows, levels;
  ir_reg acc;  /* rows * levels registers in one; ARG: the best value */
  ir_reg temp; /* a register like a row */
  ir_reg x, y; /* operands, in the accumulator's dtype */
  ir_reg where, index, seen; /* ARG: the best one's index, this one's, whether there was one */
  const void *identity;
  ir_strip *combine, *fold, *narrow; /* acc (+) x; dot: x * y + acc */
  ir_strip *multiply, *add;          /* dot in a narrow dtype, rounded twice; else NULL */
  uint32_t size; /* bytes of an accumulator */
  const ir_op *op;
} ir_reduce;

enum { IR_MAX_LEVELS = 6, IR_STRIP = 256, IR_MAX_WORKGROUP = 4096 };

typedef struct ir_plan ir_plan;
struct ir_plan {
  ir_arena arena;
  ir_plan *next;          /* for other sizes */
  const int64_t *key;     /* what it was made for */
  size_t key_count;
  ir_func *func;          /* NULL: of an operation */
  const ir_op *op;
  ir_buffer *buffers;
  size_t buffer_count, param_count; /* the first buffers are parameters */
  const uint32_t *params; /* the argument that each of them is */
  const ir_reg *scalars;  /* by argument: the register of a scalar parameter, 0 for others */
  size_t argument_count;
  ir_reg_info *regs;
  size_t reg_count;
  ir_code code;
  int64_t lanes;          /* greatest number */
  uint32_t reduce_count;
  uint16_t width;         /* of the widest vector */
  uint8_t *allocation, *memory; /* of the registers */
  uint8_t **at;           /* where each register lies */
  bool busy;
};

#endif
