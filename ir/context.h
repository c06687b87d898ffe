// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_CONTEXT_H
#define RILL_IR_CONTEXT_H

#include "../base/diag.h"
#include "../base/map.h"

typedef struct ir_type ir_type;
typedef struct ir_attr ir_attr;
typedef struct ir_expr ir_expr;
typedef struct ir_value ir_value;
typedef struct ir_use ir_use;
typedef struct ir_op ir_op;
typedef struct ir_region ir_region;
typedef struct ir_item ir_item;
typedef struct ir_func ir_func;
typedef struct ir_resource ir_resource;
typedef struct ir_module ir_module;
typedef struct ir_context ir_context;

/* The root of everything: interned strings, types, attributes and expressions, which live as long as it does.
 * One context per thread. */
struct ir_context {
  ir_diags *diags; /* not owned */
  ir_arena arena;
  ir_interner strings, types, attrs, exprs;
  const ir_type *any_type, *unit_type, *storage_type; /* any, tuple[] and storage */
  const ir_attr ***default_attrs;      /* by opcode, made on first use (ir/op_def.c) */
  ir_map op_names;                     /* interned name -> opcode + 1 (ir/op_def.c) */
  ir_map scalar_names;                 /* interned name -> scalar code + 1 (ir/expr.c) */
  ir_map formulas;                     /* text -> parsed formula (ir/formula.c) */
  /* Reads the bytes of a `file(...)` resource of MODULE. Set by whoever can read files; reports and returns false. */
  bool (*load_resource)(ir_module *module, ir_resource *resource);
};

ir_context *ir_context_new(ir_diags *diags);
void ir_context_free(ir_context *context);

const ir_string *ir_intern(ir_context *context, ir_slice text);
static inline ir_slice ir_string_slice(const ir_string *string) { return (ir_slice){string->text, string->length}; }

#endif
