// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_ATTR_H
#define RILL_IR_ATTR_H

#include "context.h"
#include "dtype.h"

typedef enum ir_attr_kind {
  IR_ATTR_NONE,   /* none */
  IR_ATTR_BOOL,   /* true, false: i */
  IR_ATTR_INT,    /* i */
  IR_ATTR_FLOAT,  /* f, always f64 */
  IR_ATTR_STRING, /* "text": string */
  IR_ATTR_ID,     /* a bare word such as global: string */
  IR_ATTR_GLOBAL, /* @name: string (without @) */
  IR_ATTR_TYPE,   /* type; a dtype alone is the scalar type of one lane */
  IR_ATTR_EXPR,   /* expr that is not a plain integer literal */
  IR_ATTR_LIST,   /* count items */
  IR_ATTR_DICT,   /* count entries: items[2 * i] is the key (STRING), items[2 * i + 1] the value */
  IR_ATTR_DATA,   /* the elements of a constant tensor: data; not interned */
} ir_attr_kind;

/* Elements in row-major order, as ir/dtype.h stores them, little endian. */
typedef struct ir_data {
  ir_dtype dtype;
  const void *bytes;
  size_t size;
} ir_data;

/* Interned (DATA aside): equal value, equal pointer. */
struct ir_attr {
  ir_attr_kind kind;
  uint32_t count; /* LIST, DICT */
  union {
    int64_t i;
    double f;
    const ir_string *string;
    const ir_type *type;
    const ir_expr *expr;
    ir_data data;
  };
  const ir_attr *items[];
};

const ir_attr *ir_attr_none(ir_context *context);
const ir_attr *ir_attr_bool(ir_context *context, bool value);
const ir_attr *ir_attr_int(ir_context *context, int64_t value);
const ir_attr *ir_attr_float(ir_context *context, double value);
const ir_attr *ir_attr_string(ir_context *context, ir_slice text);
const ir_attr *ir_attr_id(ir_context *context, ir_slice text);
const ir_attr *ir_attr_global(ir_context *context, const ir_string *name);
const ir_attr *ir_attr_type(ir_context *context, const ir_type *type);
const ir_attr *ir_attr_dtype(ir_context *context, ir_dtype dtype);
/* An i64 constant becomes IR_ATTR_INT, so that one value has one attribute. */
const ir_attr *ir_attr_expr(ir_context *context, const ir_expr *expr);
const ir_attr *ir_attr_list(ir_context *context, size_t count, const ir_attr *const *items);
/* Keys in the given order; a repeated key is the caller's error. */
const ir_attr *ir_attr_dict(ir_context *context, size_t count, const ir_attr *const *keys_and_values);
/* The bytes are not copied and must outlive the module that uses them. */
const ir_attr *ir_attr_data(ir_context *context, ir_data data);

const ir_attr *ir_attr_ints(ir_context *context, size_t count, const int64_t *values);
/* A list of extents, the form of `shape=[n, 4]`. */
const ir_attr *ir_attr_dims(ir_context *context, size_t count, const ir_expr *const *dims);

/* The value of KEY in a dictionary that may be NULL; NULL where it is missing. */
const ir_attr *ir_dict_get(const ir_attr *dict, const char *key);
/* DICT (may be NULL) with KEY set to VALUE, or without KEY where VALUE is NULL; NULL where nothing is left. */
const ir_attr *ir_dict_with(ir_context *context, const ir_attr *dict, const char *key, const ir_attr *value);

/* INT or EXPR as an i64 expression (an extent); NULL for other kinds. */
const ir_expr *ir_attr_as_expr(ir_context *context, const ir_attr *attr);
/* A number (FLOAT or INT) as a constant of DTYPE: rounded once, integers saturated. */
const ir_expr *ir_attr_as_number(ir_context *context, const ir_attr *attr, ir_dtype dtype);
static inline bool ir_attr_is_int(const ir_attr *attr, int64_t *value) {
  if (!attr || attr->kind != IR_ATTR_INT) return false;
  *value = attr->i;
  return true;
}

#endif
