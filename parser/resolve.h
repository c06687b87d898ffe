// SPDX-License-Identifier: Apache-2.0
/* What the grammar's actions call, and what the parts of the resolver share: the state of one parse. */
#ifndef RILL_PARSER_RESOLVE_H
#define RILL_PARSER_RESOLVE_H

#include "../base/vec.h"
#include "../ir/frame.h"
#include "lexer.h"
#include "node.h"
#include "parser.h"

enum {
  IR_PARSE_MAX_DEPTH = 250,    /* of expressions, types and attributes */
  IR_PARSE_MAX_REGIONS = 1000, /* one in another */
  IR_PARSE_MAX_RANK = 64
};

typedef struct ir_flags {
  uint32_t bits; /* IR_ITEM_PRIVATE, ... */
  ir_range range;
} ir_flags;

typedef struct ir_signature {
  ir_nodes params;
  ir_node *results; /* an N_LIST; NULL where there is no arrow */
  ir_range range;
} ir_signature;

typedef struct ir_header {
  int kind; /* ir_item_kind */
  ir_flags flags;
  ir_range name;
  ir_signature *signature; /* NULL: none */
  ir_nodes where;
  ir_node *with;
} ir_header;

/* An operation in the making, from its header to the types behind its regions. */
typedef struct ir_making {
  ir_opcode code;
  ir_range range;
  ir_frame frame;        /* its operands */
  const ir_attr **attrs; /* one for each attribute of the row */
  ir_region *regions[2];
  size_t region_count;
  const ir_attr *with;
  const ir_type *declared; /* the only result's, where no type is written; may be NULL */
  bool failed;             /* something of it was reported: infer nothing */
} ir_making;

typedef enum ir_block_kind {
  IR_BLOCK_FUNC,
  IR_BLOCK_PRIM_FUNC,
  IR_BLOCK_REDUCER,
  IR_BLOCK_CLOSURE,
  IR_BLOCK_LOOP,
  IR_BLOCK_COMPUTE,
  IR_BLOCK_OTHER,
} ir_block_kind;

/* A region that is open. While it is, it has no parent: that is how names in it are told from names in closed ones. */
typedef struct ir_block {
  struct ir_block *outer;
  ir_block_kind kind;
  ir_region *region;
  ir_making *making;  /* of the operation that it belongs to; NULL: the body of an item */
  ir_arena_mark mark; /* scratch is reset to here after each statement */
} ir_block;

typedef struct ir_symbol {
  const ir_string *name;
  const ir_region *home; /* the region that binds it */
} ir_symbol;

typedef struct ir_parser {
  ir_context *context;
  ir_diags *diags;
  ir_module *module;
  const ir_source *source;
  ir_parse_options options;
  ir_lexer lexer;
  ir_arena scratch;
  bool declaring;           /* headers only: a look ahead for names that are used before they are defined */
  bool rest_declared;       /* that look ahead has been made */
  bool rest_failed;         /* and met an error: what it did not find may exist */
  ir_vec(ir_range) devices; /* that types met on that look ahead name */
  bool rejected;            /* the grammar did not take the last token */
  bool stopped;             /* nothing more is to be read */
  size_t errors_before;
  uint32_t token;            /* where the token stands that the grammar is working on */
  int braces, braces_before; /* { open, with and without that token */
  unsigned regions;          /* open */
  ir_op closed;              /* parent of regions that are closed but not yet in their operation */
  ir_block *block;
  ir_arena_mark item_mark; /* scratch is reset to here after each item */
  ir_func *func;

  /* --- names of the current function --- */
  ir_arena names;
  ir_map values; /* ir_string -> ir_value */
  ir_map pages;  /* number / 16 + 1 -> ir_value *[16]: unnamed values */
  ir_value **page;
  uint64_t page_number; /* of `page`, + 1 */
  ir_map axes;          /* ir_string -> ir_value */
  ir_map symbols;       /* ir_string -> ir_symbol */
  ir_vec(ir_symbol *) symbol_list;
  ir_region signature; /* stands for the scope of the signature's symbols; never closed */
} ir_parser;

/* --- nodes (parser/node.c) --- */
static inline ir_nodes ir_nodes_one(ir_node *node) { return (ir_nodes){node, node, 1}; }
static inline ir_nodes ir_nodes_add(ir_nodes list, ir_node *node) {
  list.last->next = node;
  return (ir_nodes){list.first, node, list.count + 1};
}
ir_node *ir_node_leaf(ir_parser *p, ir_node_kind kind, ir_range range);
/* NAME (or an opening bracket), kids, and the range to END. */
ir_node *ir_node_list(ir_parser *p, ir_node_kind kind, ir_range name, ir_nodes kids, ir_range end);
ir_node *ir_node_named(ir_parser *p, ir_node_kind kind, ir_range name, ir_node *other, ir_range end);
ir_node *ir_node_quoted(ir_parser *p, ir_range name, ir_node *value);
ir_node *ir_node_param(ir_parser *p, ir_node_kind kind, int direction, ir_range name, ir_node *type, ir_node *other);
ir_node *ir_node_device(ir_parser *p, ir_node *array, ir_range device);
ir_node *ir_node_fn(ir_parser *p, ir_range begin, ir_range end, bool impure, ir_nodes params, ir_node *results);
ir_node *ir_node_prefix(ir_parser *p, ir_node_kind kind, ir_range begin, ir_node *kid);
ir_node *ir_node_binary(ir_parser *p, ir_scalar_code code, ir_node *a, ir_node *b);
ir_node *ir_node_pair(ir_parser *p, ir_node_kind kind, ir_node *a, ir_node *b);
ir_node *ir_node_where(ir_parser *p, ir_range name, ir_range line, ir_range column);
ir_signature *ir_signature_new(ir_parser *p, ir_nodes params, ir_node *results, ir_range range);
static inline ir_slice ir_text_at(const ir_parser *p, ir_range range) {
  return (ir_slice){p->source->text + (range.begin - p->source->base), range.end - range.begin};
}
static inline ir_range ir_node_name_range(const ir_node *node) { return (ir_range){node->range.begin, node->name_end}; }
static inline ir_slice ir_node_name(const ir_parser *p, const ir_node *node) {
  return ir_text_at(p, ir_node_name_range(node));
}
static inline bool ir_node_is_literal(const ir_node *node) {
  return node->kind == N_INT || node->kind == N_FLOAT ||
         (node->floats && !node->typed && (node->kind == N_ID || node->kind == N_CALL));
}
/* The type that a word such as f32 or f32x8 names. */
bool ir_element_find(ir_slice word, ir_dtype *dtype, unsigned *lanes);
/* Words that mean something wherever an expression stands, so that no symbol and no axis can have them as a name. */
bool ir_is_reserved(ir_slice word);

/* --- names (parser/scope.c) --- */
ir_diag *ir_parse_error(ir_parser *p, ir_range range, const char *format, ...) __attribute__((format(printf, 3, 4)));
void ir_suggest(ir_parser *p, ir_diag *diag, ir_range range, const ir_nearest *nearest);
/* Suggestions are looked for while there are few errors. */
bool ir_suggests(const ir_parser *p);
/* Errors have been reported: what comes of them stays quiet. */
static inline bool ir_has_failed(const ir_parser *p) { return ir_diags_errors(p->diags) > p->errors_before; }
/* The contents of a string token (its quotes included in RANGE). */
const ir_string *ir_parse_string(ir_parser *p, ir_range range);
/* The name in a VALUE or GLOBAL token, which has a sigil of one byte. */
const ir_string *ir_parse_name(ir_parser *p, ir_range range);
void ir_scope_begin(ir_parser *p, ir_func *func);
void ir_define_value(ir_parser *p, ir_range name, ir_value *value);
/* Axes are bare words. */
void ir_define_axis(ir_parser *p, ir_range name, ir_value *value);
void ir_define_symbol(ir_parser *p, const ir_string *name, const ir_region *home);
/* The value that a VALUE token names. Reports an unknown one once and gives a stand-in of type any. */
ir_value *ir_find_value(ir_parser *p, ir_range name);
/* A statement that cannot be read would have given a value this name: its uses are not reported. */
void ir_expect_value(ir_parser *p, ir_range name);
ir_value *ir_find_axis(ir_parser *p, const ir_string *name);
const ir_expr *ir_find_symbol(ir_parser *p, const ir_string *name);
/* Reports an unknown bare word. */
void ir_unknown_word(ir_parser *p, ir_range range, const char *what);
/* An item; one that stands further down is declared first. NULL where there is none: nothing is reported. */
ir_item *ir_find_item(ir_parser *p, const ir_string *name);
enum { IR_ANY_FUNC = 1 << IR_ITEM_FUNC | 1 << IR_ITEM_PRIM_FUNC, IR_ANY_ITEM = (1 << (IR_ITEM_RESOURCE + 1)) - 1 };
/* Reports that the name at RANGE is that of no item of these KINDS, bits by ir_item_kind: WHAT it should be. */
void ir_unknown_item(ir_parser *p, ir_range range, const char *what, unsigned kinds);
/* Whether RANGE names a device; reports. A look ahead puts this off to its end. */
bool ir_check_device(ir_parser *p, ir_range range);
/* Reports that the name at RANGE is that of KNOWN already. */
void ir_taken_item(ir_parser *p, ir_range range, const ir_item *known);

/* --- types (parser/resolve_type.c): NULL after an error --- */
/* Where BINDS is not NULL, symbols that stand alone and are not bound yet are bound there. */
const ir_type *ir_resolve_type(ir_parser *p, const ir_node *node, const ir_region *binds);
/* Binds the symbols that stand alone in a parameter's type. */
void ir_bind_type_symbols(ir_parser *p, const ir_node *type, const ir_region *home);
/* TYPE with extents that mention symbols of closed regions replaced by `?`. */
const ir_type *ir_visible_type(ir_parser *p, const ir_type *type);

/* --- expressions (parser/resolve_expr.c): NULL after an error --- */
/* FRAME may be NULL: symbols and constants only. WANT is the dtype of an untyped expression (ir/literal.h). */
const ir_expr *ir_resolve_expr(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype want);
/* The same, of one lane and dtype WANT. WHAT names it in messages: "a condition". */
const ir_expr *ir_resolve_expr_of(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype want, const char *what);
/* An index of a load or store: base:lanes is a RAMP. */
const ir_expr *ir_resolve_index(ir_parser *p, ir_frame *frame, const ir_node *node);
/* Whether the indices fit BUFFER's rank; reports. */
bool ir_check_indices(ir_parser *p, const ir_node *element, const ir_value *buffer);
/* An operand: a value, or an expression as an inline scalar. */
ir_value *ir_resolve_operand(ir_parser *p, const ir_node *node, ir_dtype want);
/* A number literal as an element of DTYPE. */
bool ir_resolve_number(ir_parser *p, const ir_node *node, ir_dtype dtype, uint64_t *bits);
static inline ir_frame ir_frame_new(ir_parser *p) { return (ir_frame){.context = p->context, .arena = &p->scratch}; }
const char *ir_node_describe(ir_parser *p, const ir_node *node); /* for messages: "a string" */

/* --- attributes and constants (parser/resolve_attr.c, resolve_const.c): NULL after an error --- */
const ir_attr *ir_resolve_attr(ir_parser *p, const ir_node *node, const ir_attr_def *def); /* DEF may be NULL */
/* `with {...}`: NULL for NULL and an empty one. */
const ir_attr *ir_resolve_with(ir_parser *p, const ir_node *dict);
/* Elements of a constant. *TYPE may be NULL: then it becomes what the literal says. */
const ir_attr *ir_resolve_data(ir_parser *p, const ir_node *node, const ir_type **type);

/* --- operations (parser/resolve_op.c) --- */
ir_making *ir_making_new(ir_parser *p, ir_opcode code, ir_range range, const ir_node *with);
void ir_making_set(ir_making *m, const char *attr, const ir_attr *value);
void ir_making_operand(ir_making *m, ir_value *value);
/* Infers and checks types, makes the operation at the end of the current region, names its results. */
void ir_make_op(ir_parser *p, ir_making *m, ir_nodes targets, ir_nodes types, ir_nodes loc);
/* name(...) as a store, a tensor operation or a scalar one (parser/resolve_call.c). */
void ir_resolve_call(ir_parser *p, ir_nodes targets, const ir_node *call, const ir_node *with, ir_nodes types,
                     ir_nodes loc);
void ir_resolve_store(ir_parser *p, ir_nodes targets, const ir_node *value, const ir_node *with, ir_nodes types,
                      ir_nodes loc);
void ir_resolve_scalar(ir_parser *p, ir_nodes targets, const ir_node *value, const ir_node *with, ir_nodes types,
                       ir_nodes loc);
bool ir_in_graph(const ir_parser *p); /* in a func, not a prim_func or reducer */
bool ir_is_reduction(ir_parser *p, const ir_node *node);

/* --- what the grammar calls --- */
void ir_resolve_version(ir_parser *p, ir_range number);
void ir_resolve_module(ir_parser *p, ir_node *with);
ir_flags ir_flag(ir_parser *p, ir_flags flags, uint32_t flag, ir_range range);
void ir_resolve_extern(ir_parser *p, ir_header *header);
ir_block *ir_open_func(ir_parser *p, ir_header *header);
ir_block *ir_open_reducer(ir_parser *p, ir_range name, ir_nodes states, ir_nodes params, ir_node *with);
void ir_close_func(ir_parser *p, ir_block *block, ir_range end);
void ir_resolve_device(ir_parser *p, ir_range name, ir_node *value);
void ir_resolve_resource(ir_parser *p, ir_range name, ir_node *type, ir_node *value);
void ir_resolve_statement(ir_parser *p, ir_nodes targets, ir_node *value, ir_node *with, ir_nodes types, ir_nodes loc);
void ir_resolve_made(ir_parser *p, ir_nodes targets, ir_making *m, ir_nodes types, ir_nodes loc);
void ir_resolve_nothing(ir_parser *p); /* after a statement that could not be read */
void ir_resolve_yield(ir_parser *p, ir_range word, ir_nodes values, ir_nodes stack, ir_node *again, ir_nodes loc);
void ir_resolve_return(ir_parser *p, ir_range word, ir_nodes values, ir_nodes loc);
ir_block *ir_open_if(ir_parser *p, ir_range word, ir_node *condition, ir_node *with);
ir_block *ir_open_else(ir_parser *p);
ir_making *ir_close_else(ir_parser *p, ir_making *made, ir_block *block);
ir_block *ir_open_loop(ir_parser *p, ir_range word, ir_range counter, ir_node *trip, ir_nodes carries, ir_node *again,
                       ir_node *with);
ir_block *ir_open_dataflow(ir_parser *p, ir_range word, ir_node *with);
ir_block *ir_open_compute(ir_parser *p, ir_range word, ir_nodes spatial, ir_nodes reduction, ir_nodes where,
                          ir_node *with);
ir_block *ir_open_for(ir_parser *p, ir_range word, ir_range axis, ir_node *extent, ir_node *mode, ir_node *with);
ir_block *ir_open_while(ir_parser *p, ir_range word, ir_node *condition, ir_node *with);
ir_block *ir_open_closure(ir_parser *p, ir_range word, ir_signature *signature, ir_nodes where, ir_node *with);
ir_making *ir_block_close(ir_parser *p, ir_block *block);
void ir_block_abandon(ir_parser *p, ir_block *block);
ir_block *ir_block_open(ir_parser *p, ir_block_kind kind, ir_region *region, ir_making *making);

/* --- the driver (parser/parser.c) --- */
/* Declares the items behind the current one. */
void ir_declare_rest(ir_parser *p);

#endif
