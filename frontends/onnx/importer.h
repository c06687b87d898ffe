// SPDX-License-Identifier: Apache-2.0
/* What the handlers of ONNX operators work with. */
#ifndef RILL_FRONTENDS_ONNX_IMPORTER_H
#define RILL_FRONTENDS_ONNX_IMPORTER_H

#include "../../base/file.h"
#include "../../base/vec.h"
#include "onnx.h"
#include "wire.h"
#include "../../ir/infer.h"

#include "onnx.pb-c.h"

/* An integer tensor of rank 0 or 1 whose elements are known as expressions: constants and extents. Shape arithmetic
 * works on these, so that it ends up in types instead of in tensors. */
typedef struct ir_onnx_known {
  ir_dtype dtype;
  int rank;
  size_t count;
  const ir_expr **elements; /* i64 expressions, whatever the dtype; bools are the constants 0 and 1 */
} ir_onnx_known;

/* A value of the ONNX graph: a tensor, elements that are known, or both. The tensor is made when something needs it. */
typedef struct ir_onnx_value {
  const char *name;
  ir_value *tensor;
  ir_onnx_known *known;
  const Onnx__TensorProto *literal; /* not made yet */
} ir_onnx_value;

/* The names of a graph; those of the graphs around it are known in it too. */
typedef struct ir_onnx_scope {
  struct ir_onnx_scope *outer;
  ir_map values; /* interned name -> ir_onnx_value */
} ir_onnx_scope;

typedef struct ir_onnx_importer {
  ir_context *context;
  ir_diags *diags;
  ir_arena arena;
  const char *path;
  ir_onnx_wire wire;
  ir_module *module;
  ir_func *func;
  ir_builder b;
  int64_t opset;
  ir_onnx_scope *scope;
  ir_vec(const ir_expr *) where;
  ir_map symbols;    /* interned model name -> symbol expression */
  ir_map identifiers; /* interned identifier -> taken */
  ir_map bound;       /* symbols that a match_cast binds -> taken: no type outside the function speaks of them */
  ir_vec(const ir_attr *) symbol_names; /* identifier, old name, ... */
} ir_onnx_importer;

/* The value of that name; NULL where none is defined yet. What a graph within takes from around it is its own: what is made of
 * it on demand is made there. */
ir_onnx_value *ir_onnx_find(ir_onnx_importer *im, const char *name);
/* A new value; NULL, after a report, where it is defined already. */
ir_onnx_value *ir_onnx_define(ir_onnx_importer *im, const char *name);
/* The initializers and nodes of GRAPH, where the builder stands. */
bool ir_onnx_import_nodes(ir_onnx_importer *im, const Onnx__GraphProto *graph);
/* The outputs of GRAPH as tensors, on the arena; NULL after a report. */
ir_value **ir_onnx_outputs(ir_onnx_importer *im, const Onnx__GraphProto *graph);
/* Messages are about the node from here on. */
void ir_onnx_at(ir_onnx_importer *im, const Onnx__NodeProto *proto);

/* One node at work. */
typedef struct ir_onnx_node {
  ir_onnx_importer *im;
  const Onnx__NodeProto *proto;
  const struct ir_onnx_row *row;
  bool *used; /* attributes that have been looked at */
  bool *read; /* inputs that have been looked at */
} ir_onnx_node;

/* A row of onnx.def: an operator from one opset to another. */
typedef struct ir_onnx_row {
  const char *name;
  int first, last; /* opsets, both included */
  bool (*import)(ir_onnx_node *n);
  ir_opcode code;    /* for handlers that serve several operators */
  ir_opcode variant; /* likewise: the operator for a second case */
} ir_onnx_row;

/* The row for NAME at OPSET; NULL where there is none. Any row of that name, where OPSET is 0. */
const ir_onnx_row *ir_onnx_find_row(const char *name, int64_t opset);

/* Reports at the node and returns false. */
bool ir_onnx_fail(ir_onnx_node *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- unpack.c --- */
/* The message on ARENA, its strings never NULL; NULL where the bytes do not unpack. */
void *ir_onnx_unpack(ir_arena *arena, const ProtobufCMessageDescriptor *kind, size_t size, const uint8_t *bytes);

/* --- attributes: each getter marks the attribute as used; what is left over at the end is an error. So with inputs. --- */
const Onnx__AttributeProto *ir_onnx_attr(ir_onnx_node *n, const char *name, Onnx__AttributeProto__AttributeType type);
bool ir_onnx_has(const ir_onnx_node *n, const char *name);
int64_t ir_onnx_int(ir_onnx_node *n, const char *name, int64_t dflt);
/* f32 attributes come as the shortest decimal that reads back as that f32. */
double ir_onnx_float(ir_onnx_node *n, const char *name, double dflt);
const char *ir_onnx_string(ir_onnx_node *n, const char *name, const char *dflt);
/* NULL and *count 0 where it is absent. */
const int64_t *ir_onnx_ints(ir_onnx_node *n, const char *name, size_t *count);
/* Looks at an attribute that means nothing here (momentum of inference). */
void ir_onnx_ignore(ir_onnx_node *n, const char *name);
double ir_onnx_shortest(float value);

/* --- inputs and outputs --- */
/* Input I is there: neither left out nor named "". */
bool ir_onnx_present(ir_onnx_node *n, size_t i);
/* Input I as a tensor; NULL after a report where it is missing. */
ir_value *ir_onnx_in(ir_onnx_node *n, size_t i);
/* Input I as known elements, NULL where they are not known (no report). */
const ir_onnx_known *ir_onnx_in_known(ir_onnx_node *n, size_t i);
/* Input I as extents or counts: its known elements, or symbols that stand for the elements of a vector of constant length
 * and are bound when it runs, where none may be negative. NULL after a report. */
const ir_onnx_known *ir_onnx_in_extents(ir_onnx_node *n, size_t i);
/* The elements of X, a vector of constant length or a number, as new symbols of that NAME, bound when it runs, where none may be
 * negative. NULL after a report. */
ir_onnx_known *ir_onnx_bind(ir_onnx_node *n, const char *name, ir_value *x);
/* Input I as constant integers; reports what is not constant. */
bool ir_onnx_in_ints(ir_onnx_node *n, size_t i, const int64_t **values, size_t *count);
/* Input I as one constant number, INT or FLOAT. */
bool ir_onnx_in_number(ir_onnx_node *n, size_t i, const ir_attr **number);
/* Input I as constant f32 numbers; *count is 0 where it is absent or empty. */
bool ir_onnx_in_floats(ir_onnx_node *n, size_t i, const double **values, size_t *count);
/* Input I is a constant of the model. */
bool ir_onnx_is_literal(const ir_onnx_node *n, size_t i);
/* X with symbols for extents that only the run knows, bound where the builder stands; for what is called NAME. */
ir_value *ir_onnx_with_extents(ir_onnx_node *n, const char *name, ir_value *x);
/* Sets output I, its extents all named. A NULL tensor is an error that has been reported: false. */
bool ir_onnx_out(ir_onnx_node *n, size_t i, ir_value *tensor);
bool ir_onnx_out_known(ir_onnx_node *n, size_t i, ir_onnx_known *known);
/* Output 0 is this constant: for those who ask for its number (ir_onnx_in_number). True. */
bool ir_onnx_remember(ir_onnx_node *n, const Onnx__TensorProto *literal);
/* Output I is wanted. */
bool ir_onnx_wants(const ir_onnx_node *n, size_t i);

/* The symbol for a name of the model. */
const ir_expr *ir_onnx_symbol(ir_onnx_importer *im, const char *name);
ir_onnx_known *ir_onnx_known_new(ir_onnx_importer *im, ir_dtype dtype, int rank, size_t count);

/* The rank of a tensor; -1 after a report where it is unknown. */
int ir_onnx_rank(ir_onnx_node *n, const ir_value *tensor);
/* AXIS in [0, RANK); -1 after a report. */
int ir_onnx_axis(ir_onnx_node *n, int64_t axis, int rank);
/* Extent I of a tensor; NULL where it is `?`. */
static inline const ir_expr *ir_onnx_dim(const ir_value *tensor, size_t i) { return ir_type_dim(tensor->type, i); }
/* The product of extents [from, to). NULL where one is `?`. */
const ir_expr *ir_onnx_dims_product(ir_onnx_node *n, const ir_value *tensor, size_t from, size_t to);
/* X in that dtype. */
ir_value *ir_onnx_cast(ir_onnx_node *n, ir_value *x, ir_dtype dtype);
/* A 0-d number of the dtype of LIKE. */
ir_value *ir_onnx_number(ir_onnx_node *n, const ir_value *like, double value);
/* X reduced over axes; over all where COUNT is 0. */
ir_value *ir_onnx_reduce(ir_onnx_node *n, ir_opcode code, ir_value *x, size_t count, const int64_t *axes, bool keep);
/* An operator without attributes. An operand NULL, after a report, makes it NULL. */
#define IR_ONNX_BUILD(n, code, ...) ir_build1(&(n)->im->b, code, IR_OPERANDS(__VA_ARGS__), IR_NO_ATTRS)
/* EXPR speaks of a symbol that the body binds. */
bool ir_onnx_is_inner(const ir_onnx_importer *im, const ir_expr *expr);
/* CONDITION, over symbols: false where it can never hold; where it is not proven, it is checked when the function is entered,
 * or where the builder stands if it can't be told before. */
bool ir_onnx_require(ir_onnx_node *n, const ir_expr *condition);
bool ir_onnx_require_equal(ir_onnx_node *n, const ir_expr *a, const ir_expr *b);
/* ONE broadcasts to the shape of OTHER, whose extents RESULT, both of them together, has; false after a report. */
bool ir_onnx_spreads_to(ir_onnx_node *n, const ir_value *one, const ir_value *other, const ir_value *result);
/* The convolution that the node's attributes describe; NULL after a report. */
ir_value *ir_onnx_conv(ir_onnx_node *n, ir_value *x, ir_value *weight);
ir_value *ir_onnx_reshape(ir_onnx_node *n, ir_value *x, size_t rank, const ir_expr *const *dims);

/* --- tensors (tensor.c) --- */
/* The element type of a TensorProto or TypeProto; IR_DTYPE_UNKNOWN for those that Rill lacks. */
ir_dtype ir_onnx_dtype(int32_t type);
/* Elements of a TensorProto: row-major, little-endian, maybe not aligned; checked against its extents. Reports. */
bool ir_onnx_tensor_data(ir_onnx_importer *im, const Onnx__TensorProto *tensor, ir_data *data, const ir_type **type);
/* The tensor as a constant operation. */
ir_value *ir_onnx_constant(ir_onnx_importer *im, const Onnx__TensorProto *tensor, const char *name);
/* Its elements, where it holds at most 64 integers on at most one axis. */
ir_onnx_known *ir_onnx_known_of(ir_onnx_importer *im, const Onnx__TensorProto *tensor);
/* Known elements as a tensor. */
ir_value *ir_onnx_materialize(ir_onnx_importer *im, const ir_onnx_known *known);

#define ONNX(name, first, last, handler, ...) bool handler(ir_onnx_node *n);
#include "onnx.def"
#undef ONNX

#endif
