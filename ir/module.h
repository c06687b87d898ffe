// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_MODULE_H
#define RILL_IR_MODULE_H

#include "op.h"

typedef enum ir_item_kind {
  IR_ITEM_FUNC,      /* a graph function */
  IR_ITEM_PRIM_FUNC, /* a tensor program in compute or loop form */
  IR_ITEM_REDUCER,
  IR_ITEM_DEVICE,
  IR_ITEM_RESOURCE,
} ir_item_kind;

enum { IR_ITEM_PRIVATE = 1, IR_ITEM_IMPURE = 2, IR_ITEM_EXTERN = 4 };

/* "func", "prim_func", "reducer", "device", "resource": the word that an item begins with. */
const char *ir_item_word(ir_item_kind kind);

/* Something with a global name. The items of a module keep their order and have distinct names. */
struct ir_item {
  ir_item_kind kind;
  uint32_t flags;
  ir_module *module;
  const ir_string *name; /* without @ */
  const ir_attr *attrs;  /* `with {...}`; DEVICE: its dictionary; may be NULL */
  ir_range range;
  ir_item *prev, *next;
};

typedef enum ir_direction { IR_IN, IR_OUT, IR_INOUT } ir_direction;

/* A parameter: a value (an argument of the body, or a type alone where there is no body), or a symbol passed
 * explicitly (then `symbol` is its expression and there is no value). */
typedef struct ir_param {
  const ir_string *name; /* may be NULL for a value: unnamed */
  const ir_type *type;
  const ir_expr *symbol;
  ir_direction direction;
  const ir_attr *attrs; /* may be NULL */
  ir_value *value;      /* NULL for a symbol or an extern function */
} ir_param;

/* A func, prim_func or reducer. A reducer's parameters are its states, then its operands; `identities` are the
 * states' start values. A func inside a func is not an item: it is a `func` operation with a region (IR_CLOSURE). */
struct ir_func {
  ir_item item;
  bool has_signature; /* false: `extern func @opaque` */
  bool has_arrow;     /* `-> results` was written (always for a func; never for a prim_func) */
  size_t param_count, result_count, where_count;
  ir_param *params;
  const ir_type **results;
  const ir_expr **where;   /* boolean expressions over symbols */
  const ir_expr **identities;
  size_t state_count;      /* reducer */
  ir_region *body;         /* NULL: extern */
  struct ir_facts *facts;  /* what is known of the symbols, made on demand (ir/simplify.h); reset when `where` changes */
};

typedef enum ir_resource_kind { IR_RESOURCE_BYTES, IR_RESOURCE_FILE, IR_RESOURCE_ELIDED } ir_resource_kind;

struct ir_resource {
  ir_item item;
  const ir_type *type; /* a tensor with constant extents */
  ir_resource_kind kind;
  const ir_string *file, *key; /* FILE: the path as written and the key in it; NULL: the name */
  const void *bytes;           /* BYTES: from the start; FILE: once loaded */
  size_t size;
};

struct ir_module {
  ir_context *context;
  ir_arena arena;
  ir_item *first, *last;
  const ir_attr *attrs; /* `module with {...}`; may be NULL */
  ir_range attrs_range;
  const char *folder;   /* where `file(...)` resources are looked up; NULL: nowhere */
  ir_map items;         /* interned name -> ir_item */
  ir_map op_dicts, op_locs;
  ir_map files;         /* interned path -> what loads resources keeps of an open file */
  ir_map shared_prims;  /* interned text of a prim_func that legalize made -> that function */
  ir_op *free_ops[64];  /* erased operations by size / 8 */
  struct ir_owned *owned; /* ir_module_own */
};

ir_module *ir_module_new(ir_context *context);
void ir_module_free(ir_module *module);

/* FREE(THING) is called when the module is freed: mapped files that resources point into. */
void ir_module_own(ir_module *module, void *thing, void (*free)(void *thing));

ir_item *ir_module_find(const ir_module *module, const ir_string *name);
/* Adds an item (its name, kind, flags, range set) after AFTER, or last where AFTER is NULL. The name must be free. */
void ir_module_add(ir_module *module, ir_item *item, ir_item *after);
void ir_module_add_first(ir_module *module, ir_item *item);
void ir_module_remove(ir_module *module, ir_item *item);
/* BASE, or BASE_1, BASE_2, ...: a name that no item has. */
const ir_string *ir_module_fresh_name(ir_module *module, ir_slice base);

/* A function without parameters and body, not yet in the module. */
ir_func *ir_func_new(ir_module *module, ir_item_kind kind, const ir_string *name);
/* Sets the parameters (copied) and, where WITH_BODY, makes the body region whose arguments are the values. */
void ir_func_set_params(ir_func *func, size_t count, const ir_param *params, bool with_body);
static inline bool ir_is_func(const ir_item *item) { return item->kind <= IR_ITEM_REDUCER; }
static inline ir_func *ir_item_func(ir_item *item) { return item && ir_is_func(item) ? (ir_func *)item : NULL; }
static inline ir_context *ir_func_context(const ir_func *func) { return func->item.module->context; }
/* A copy of FUNC under another name, not yet in the module. */
ir_func *ir_func_clone(ir_func *func, const ir_string *name);
/* Renames values whose name is visible already where they are defined, and axes called like a dtype (name_1, ...): after
 * operations have been made, or moved between regions or functions. */
void ir_func_make_names_unique(ir_func *func);
/* The type fn(...) -> ... of FUNC. */
const ir_type *ir_func_type(const ir_func *func);

/* The elements of a constant: of a `const` operation, of a resource. The only way to the bytes: reports and returns
 * false where they cannot be had (elided, missing file). */
bool ir_const_data(const ir_op *op, ir_data *data);
bool ir_resource_data(ir_resource *resource, ir_data *data);

#define ir_each_item(item, module_) \
  for (ir_item *item = (module_)->first, *item##_next = item ? item->next : NULL; item; \
       item = item##_next, item##_next = item ? item->next : NULL)
/* Every func, prim_func and reducer that has a body. */
#define ir_each_body(func_, module_) \
  for (ir_func *func_ = ir_next_body((module_)->first), \
               *func_##_next = func_ ? ir_next_body(func_->item.next) : NULL; \
       func_; func_ = func_##_next, func_##_next = func_ ? ir_next_body(func_->item.next) : NULL)
static inline ir_func *ir_next_body(ir_item *item) {
  while (item && !(ir_is_func(item) && ((ir_func *)item)->body)) item = item->next;
  return (ir_func *)item;
}

/* Module attributes fp.fma, fp.order, fp.math of numerics: see docs/spec. */
bool ir_module_fma(const ir_module *module);

#endif
