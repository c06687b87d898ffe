// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_MANIFEST_CODEC_H
#define RILL_RUNTIME_MANIFEST_CODEC_H

#include "../../base/vec.h"
#include "../../ir/frame.h"
#include "../../ir/module.h"

#include <jansson.h>

/* --- both ways --- */

/* A kind of step: an operation under the name that hosts know it by. */
typedef struct ir_manifest_step {
  ir_opcode code;
  const char *name;
  bool launches; /* a call of a kernel */
} ir_manifest_step;
/* NULL where no host program has such an operation, or a step called so. LAUNCHES: a `call` of a kernel. */
const char *ir_manifest_step_name(const ir_op *op, bool launches);
const ir_manifest_step *ir_manifest_step_find(const char *name);

/* --- to JSON; every function returns a new reference --- */
typedef struct ir_manifest_writer {
  ir_context *context;
  ir_arena arena;
  ir_map values; /* ir_value -> its name: "%x" */
  ir_map taken;  /* interned names */
  json_t *bound; /* what stands for the symbols of a kernel where it is launched; NULL: they stand for themselves */
  unsigned unnamed;
} ir_manifest_writer;

/* The name of VALUE in its function, "%x" or "%0": no other value of the function has it. */
const char *ir_manifest_name(ir_manifest_writer *w, const ir_value *value);
/* EXPR, whose arguments are the operands of OP (NULL: it has none). */
json_t *ir_manifest_put_expr(ir_manifest_writer *w, const ir_op *op, const ir_expr *expr);
/* A value, or the expression of an inline scalar. */
json_t *ir_manifest_put_operand(ir_manifest_writer *w, const ir_value *value);
/* NULL for function types, which no host program has. */
json_t *ir_manifest_put_type(ir_manifest_writer *w, const ir_type *type);
json_t *ir_manifest_put_attr(ir_manifest_writer *w, const ir_attr *attr);
/* A DICT, or NULL for an empty one, as an object. */
json_t *ir_manifest_put_dict(ir_manifest_writer *w, const ir_attr *dict);

/* --- from JSON --- */
typedef struct ir_manifest_reader {
  ir_context *context;
  ir_module *module;
  ir_arena arena;
  const char *path;                /* of the file */
  ir_vec(const char *) at;         /* where in it: "functions", "[0]", ... */
  ir_map places;                   /* json_t of an object -> the offset of its bracket in the source map */
  ir_range range;                  /* the object that is being read */
  const ir_string *item;           /* the name of the constant, kernel or function that is */
  ir_func *func;                   /* whose steps are being read */
  bool failed;                     /* something has been reported */
  ir_map values;                   /* interned name -> ir_value, of one function */
} ir_manifest_reader;

/* Reports at the place in the JSON and returns NULL. Only the first fault is reported. */
void *ir_manifest_fail(ir_manifest_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Goes to a member or an element, and back. */
void ir_manifest_enter(ir_manifest_reader *r, const char *key);
void ir_manifest_enter_at(ir_manifest_reader *r, size_t index);
void ir_manifest_leave(ir_manifest_reader *r);
/* A member of OBJECT of type WANT; reports where it is missing or is another. */
json_t *ir_manifest_member(ir_manifest_reader *r, const json_t *object, const char *key, json_type want);
const ir_string *ir_manifest_word(ir_manifest_reader *r, const json_t *object, const char *key);
/* The member "symbol", which is a name that text could hold. */
const ir_expr *ir_manifest_symbol(ir_manifest_reader *r, const json_t *object);
/* An expression; its arguments are operands of FRAME (NULL: it may have none). */
const ir_expr *ir_manifest_expr(ir_manifest_reader *r, const json_t *json, ir_frame *frame);
const ir_type *ir_manifest_type(ir_manifest_reader *r, const json_t *json);
const ir_attr *ir_manifest_attr(ir_manifest_reader *r, const json_t *json);
const ir_attr *ir_manifest_dict(ir_manifest_reader *r, const json_t *json); /* NULL for an empty object */

#endif
