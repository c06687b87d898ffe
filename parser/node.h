// SPDX-License-Identifier: Apache-2.0
/* What the grammar makes of expressions, types and headers: short-lived trees over the source text, on the parser's
 * scratch arena. Statements are resolved to operations as soon as they are complete, and their trees are gone then. */
#ifndef RILL_PARSER_NODE_H
#define RILL_PARSER_NODE_H

#include "../ir/expr.h"

typedef enum ir_node_kind {
  N_INT,
  N_FLOAT,
  N_STRING,
  N_ELLIPSIS,
  N_ID,
  N_VALUE,       /* %x */
  N_GLOBAL,      /* @f */
  N_CALL,        /* name(kids) */
  N_GLOBAL_CALL, /* @name(kids) */
  N_ELEMENT,     /* %x[kids] */
  N_LANES,       /* kids[0]:kids[1], an index */
  N_ARRAY,       /* name[kids], a type; other: its device, an N_GLOBAL */
  N_UNKNOWN,     /* ? as an extent */
  N_UNRANKED,    /* * as the only extent */
  N_FN,          /* fn(kids) -> other, an N_LIST of types; other NULL: fn alone */
  N_LIST,        /* [kids]; also lists of types, parameters and so on */
  N_DICT,        /* {kids}, N_ENTRY each */
  N_ENTRY,       /* name = other: an entry of a dictionary, a keyword argument */
  N_NEGATE,      /* -other */
  N_NOT,         /* !other */
  N_BINARY,      /* kids[0] code kids[1] */
  N_PARAM,       /* name: kids[0], other: its `with`; code: an ir_direction */
  N_CARRY,       /* name: kids[0] = other */
  N_AXIS,        /* name < other */
  N_WHERE,       /* "name":line:column; line and column are kids */
} ir_node_kind;

typedef struct ir_node ir_node;

typedef struct ir_nodes {
  ir_node *first, *last;
  uint32_t count;
} ir_nodes;

struct ir_node {
  uint8_t kind;
  uint8_t code;      /* BINARY: an ir_scalar_code; PARAM: an ir_direction; FN: impure */
  bool typed;        /* its dtype does not depend on where it stands (ir/literal.h) */
  bool floats;       /* a literal in it is written as a float */
  uint16_t depth;    /* of the tree */
  bool quoted;       /* ENTRY: the name is a string */
  uint32_t name_end; /* the name is the text from range.begin to here */
  ir_range range;
  ir_node *next; /* in the list that it stands in */
  ir_nodes kids;
  ir_node *other;
};

#define ir_each_node(node, nodes) for (ir_node *node = (nodes).first; node; node = node->next)

#endif
