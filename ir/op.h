// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_OP_H
#define RILL_IR_OP_H

#include "op_def.h"

/* One use of a value: an entry of the user's operand array and a link in the value's list of uses. */
struct ir_use {
  ir_value *value;
  ir_op *user;
  ir_use *next, **link;
};

/* A result of an operation, or an argument of a region (a parameter, a loop counter, an axis, a carried value). */
struct ir_value {
  ir_use *uses;
  const ir_type *type;
  const ir_string *name; /* NULL: unnamed, numbered by the printer */
  uintptr_t owner;       /* an ir_op, or an ir_region with the low bit set: ir_value_op, ir_value_region */
  uint32_t index;        /* among the results or arguments of the owner */
  uint32_t id;           /* scratch: dense within one pass */
};

enum {
  IR_OP_INLINE = 1,     /* a `scalar` operation that prints inside its users instead of as a statement */
  IR_OP_NO_TARGETS = 2, /* printed without targets: the only result has type tuple[] and is not used */
  IR_OP_HAS_DICT = 4,   /* `with {...}` stands in module->op_dicts */
  IR_OP_HAS_LOC = 8,    /* a written `loc(...)` stands in module->op_locs */
  IR_OP_ERASED = 16,    /* on a free list; nothing may look at it any more */
};

/* An operation. Results, attribute slots, regions and operands follow it in one allocation. The number of attribute
 * slots is that of its row; a NULL slot means the default. */
struct ir_op {
  ir_op *prev, *next;
  ir_region *region;
  ir_range range; /* where the text that it came from stands */
  uint32_t id;    /* scratch: dense within one pass */
  uint32_t operand_count;
  uint16_t code; /* ir_opcode */
  uint16_t result_count;
  uint16_t region_count;
  uint16_t flags;
};

/* A list of operations ending in a terminator, with arguments. Every region is one straight block. */
struct ir_region {
  ir_op *first, *last;
  ir_op *parent;  /* the operation it belongs to; NULL for the body of a function */
  ir_func *func;  /* the item it belongs to (a reducer has one too) */
  ir_value **args;
  uint32_t arg_count;
  uint32_t spatial_count; /* body of a `compute`: arguments before this one are spatial axes, the rest reduction axes */
};

static inline ir_value *ir_op_result(const ir_op *op, size_t i) { return (ir_value *)(op + 1) + i; }
static inline const ir_attr **ir_op_slots(const ir_op *op) { return (const ir_attr **)(ir_op_result(op, op->result_count)); }
static inline const ir_op_def *ir_op_row(const ir_op *op) { return &ir_op_defs[op->code]; }
static inline ir_region **ir_op_regions(const ir_op *op) { return (ir_region **)(ir_op_slots(op) + ir_op_row(op)->attr_count); }
static inline ir_use *ir_op_uses(const ir_op *op) { return (ir_use *)(ir_op_regions(op) + op->region_count); }
static inline ir_value *ir_op_operand(const ir_op *op, size_t i) { return ir_op_uses(op)[i].value; }
static inline ir_region *ir_op_region(const ir_op *op, size_t i) { return ir_op_regions(op)[i]; }
static inline bool ir_is(const ir_op *op, ir_opcode code) { return op && op->code == code; }
static inline bool ir_has(const ir_op *op, uint32_t traits) { return (ir_op_row(op)->traits & traits) == traits; }
static inline bool ir_has_any(const ir_op *op, uint32_t traits) { return (ir_op_row(op)->traits & traits) != 0; }
/* An operator whose result is a view of its operand, as rewrite-dataflow-reshape makes it. */
static inline bool ir_is_view_operator(const ir_op *op) { return ir_has(op, IR_VIEW) && ir_op_row(op)->numerics != IR_STRUCTURE; }
/* No result is used. */
bool ir_is_unused(const ir_op *op);

/* The operation that defines VALUE; NULL for an argument of a region. */
static inline ir_op *ir_value_op(const ir_value *value) { return value->owner & 1 ? NULL : (ir_op *)value->owner; }
static inline ir_region *ir_value_region(const ir_value *value) {
  return value->owner & 1 ? (ir_region *)(value->owner & ~(uintptr_t)1) : NULL;
}
/* VALUE is defined by an operation with this code. */
static inline bool ir_is_result_of(const ir_value *value, ir_opcode code) { return ir_is(ir_value_op(value), code); }
size_t ir_value_use_count(const ir_value *value);
/* The expression of an inline or bound `scalar` operation that VALUE is the result of; NULL otherwise. Its arguments
 * are operands of that operation. */
const ir_expr *ir_value_expr(const ir_value *value);
/* The same, where the expression has no arguments: a constant, or an expression over symbols. NULL otherwise. */
const ir_expr *ir_value_closed_expr(const ir_value *value);
/* EXPR of OP, VALUE: computed from VARIABLE (what memory holds is not looked at). */
bool ir_expr_depends(const ir_op *op, const ir_expr *expr, const ir_value *variable);
bool ir_value_depends(const ir_value *value, const ir_value *variable);

static inline ir_func *ir_op_func(const ir_op *op) { return op->region->func; }
ir_module *ir_op_module(const ir_op *op);
ir_context *ir_op_context(const ir_op *op);
static inline ir_op *ir_op_parent(const ir_op *op) { return op->region->parent; }
static inline ir_op *ir_region_terminator(const ir_region *region) {
  return region->last && (ir_op_row(region->last)->traits & IR_TERMINATOR) ? region->last : NULL;
}

/* --- attributes: by the name in the row. The value, or the row's default; NULL where there is neither. --- */
int ir_attr_index(const ir_op_def *row, const char *name); /* -1 where the row has no such attribute */
const ir_attr *ir_get(const ir_op *op, const char *name);
const ir_attr *ir_op_attr(ir_context *context, const ir_op *op, size_t slot); /* by slot, default applied */
void ir_set(ir_op *op, const char *name, const ir_attr *value);               /* the default becomes NULL */
/* Typed access. The attribute must have that kind (the verifier has seen to it) or be absent: then 0, false, 0.0, "". */
int64_t ir_get_int(const ir_op *op, const char *name);
bool ir_get_bool(const ir_op *op, const char *name);
double ir_get_float(const ir_op *op, const char *name);
/* A number as a constant of DTYPE: rounded once, integers saturated; NULL where absent. */
const ir_expr *ir_get_number(const ir_op *op, const char *name, ir_dtype dtype);
const char *ir_get_word(const ir_op *op, const char *name); /* STRING, ID or GLOBAL */
ir_dtype ir_get_dtype(const ir_op *op, const char *name);   /* IR_DTYPE_UNKNOWN where absent */
const ir_expr *ir_get_expr(const ir_op *op, const char *name);
size_t ir_get_count(const ir_op *op, const char *name);                   /* entries of a list, 0 where absent */
int64_t ir_get_int_at(const ir_op *op, const char *name, size_t i);       /* of a list of integers */
const ir_expr *ir_get_expr_at(const ir_op *op, const char *name, size_t i); /* of a list of extents or expressions */
static inline bool ir_has_attr(const ir_op *op, const char *name) { return ir_get(op, name) != NULL; }

/* `with {...}` and `loc(...)` of an operation. A location is a list: name, line, column, name, line, column, ... */
const ir_attr *ir_op_dict(const ir_op *op);
void ir_op_set_dict(ir_op *op, const ir_attr *dict);
const ir_attr *ir_op_loc(const ir_op *op);
void ir_op_set_loc(ir_op *op, const ir_attr *loc);

/* --- making and changing. Everything keeps the use lists true. --- */

/* What an operation is to be made of. */
typedef struct ir_op_spec {
  ir_opcode code;
  ir_range range;
  size_t operand_count;
  ir_value *const *operands;
  const ir_attr *const *attrs; /* one for each attribute of the row, NULL for the default; NULL for all defaults */
  size_t region_count;
  ir_region *const *regions; /* made by ir_region_new; they become the operation's */
  size_t result_count;
  const ir_type *const *types; /* of the results */
} ir_op_spec;

/* Makes an operation that is in no region yet. Checks nothing. */
ir_op *ir_op_new(ir_module *module, const ir_op_spec *spec);
ir_region *ir_region_new(ir_module *module, ir_func *func, size_t arg_count);
/* Gives argument I its type and name. */
ir_value *ir_region_set_arg(ir_region *region, size_t i, const ir_type *type, const ir_string *name);
/* Puts OP before BEFORE, or at the end where BEFORE is NULL. Its regions get REGION's function. */
void ir_op_insert(ir_region *region, ir_op *before, ir_op *op);
/* Takes OP out of its region, without erasing it. */
void ir_op_unlink(ir_op *op);
/* Erases OP, everything in its regions, and inline scalars that only it used. Its results must have no uses. */
void ir_op_erase(ir_op *op);
void ir_op_set_operand(ir_op *op, size_t i, ir_value *value);
/* Every use of FROM becomes a use of TO; a name moves along where TO has none. */
void ir_value_replace(ir_value *from, ir_value *to);
/* A copy of OP (regions included) whose operands are looked up in VALUES (old -> new; missing: the same value) and
 * whose results are entered there. Put before BEFORE or at the end of REGION. Symbols are not renamed. */
ir_op *ir_op_clone(ir_op *op, ir_region *region, ir_op *before, ir_arena *scratch, ir_map *values);
/* A ends before B begins, both in the same region, or around. Inner operations count as where their parent stands. */
bool ir_op_is_before(const ir_op *a, const ir_op *b);
/* VALUE may be used by an operation placed directly before BEFORE in REGION (NULL: at the end). */
bool ir_value_dominates(const ir_value *value, const ir_region *region, const ir_op *before);

/* --- iteration; all of these survive the removal of the current element. --- */
#define ir_each_op(op, region_) \
  for (ir_op *op = (region_)->first, *op##_next = op ? op->next : NULL; op; \
       op = op##_next, op##_next = op ? op->next : NULL)
/* Skips inline scalars: they go with their last user. */
#define ir_each_op_reverse(op, region_) \
  for (ir_op *op = ir_not_inline((region_)->last), *op##_next = op ? ir_not_inline(op->prev) : NULL; op; \
       op = op##_next, op##_next = op ? ir_not_inline(op->prev) : NULL)
static inline ir_op *ir_not_inline(ir_op *op) {
  while (op && (op->flags & IR_OP_INLINE)) op = op->prev;
  return op;
}
#define ir_each_use(use, value_) \
  for (ir_use *use = (value_)->uses, *use##_next = use ? use->next : NULL; use; \
       use = use##_next, use##_next = use ? use->next : NULL)

typedef enum ir_order { IR_PRE_ORDER, IR_POST_ORDER /* reversed: users before producers, inner before outer */ } ir_order;
/* Calls VISIT for every operation under REGION. It may erase the operation it is given. Stops at false. */
bool ir_walk(ir_region *region, ir_order order, bool (*visit)(void *user, ir_op *op), void *user);

#endif
