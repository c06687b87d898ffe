// SPDX-License-Identifier: Apache-2.0
/* What the parts of the printer share (ir/print.c, ir/print_op.c, ir/print_expr.c). */
#ifndef RILL_IR_PRINTER_H
#define RILL_IR_PRINTER_H

#include "../base/vec.h"
#include "print.h"

enum { IR_PRINT_MAX_NODES = 4096, IR_PRINT_MAX_DEPTH = 2000 };

typedef struct ir_printer {
  ir_text *out;
  ir_print_options options;
  const ir_func *func; /* whose values are numbered */
  ir_arena arena;
  ir_map numbers; /* unnamed value -> its number + 1 */
  bool by_id;     /* a whole module is printed, so that nobody else uses the values' ids: these are the numbers + 1, and */
  ir_vec(const ir_value *) numbered; /* this says whose they are */
  ir_map axes;    /* unnamed axis -> ir_string */
  unsigned depth; /* of regions */
  struct {        /* where the last position was found: the next one is mostly behind it */
    const ir_source *source;
    uint32_t offset, line, line_start;
  } place;
} ir_printer;

/* An expression and the operands it speaks of: those of OP, or ARGS. */
typedef struct ir_printed {
  const ir_expr *expr;
  const ir_op *op;
  ir_value *const *args;
  size_t arg_count;
} ir_printed;

/* Numbers the unnamed values of FUNC (may be NULL) in pre-order. */
void ir_printer_number(ir_printer *p, const ir_func *func);
/* The number of an unnamed value + 1; 0 where it has none. */
uintptr_t ir_printer_number_of(const ir_printer *p, const ir_value *value);
/* Words joined by dots: what may stand without quotes. */
bool ir_printer_is_word(ir_slice name);
void ir_printer_value(ir_printer *p, const ir_value *value);
void ir_printer_name(ir_printer *p, char sigil, const ir_string *name);
void ir_printer_type(ir_printer *p, const ir_type *type);
void ir_printer_types(ir_printer *p, size_t count, const ir_type *const *types);
/* One type bare, several or none in parentheses. */
void ir_printer_results(ir_printer *p, size_t count, const ir_type *const *types);
/* WANT is the dtype that a bare literal gets where the expression stands. */
void ir_printer_expr(ir_printer *p, ir_printed printed, ir_dtype want);
void ir_printer_operand(ir_printer *p, const ir_op *op, size_t k, ir_dtype want);
/* Whether operand K of OP prints as an untyped expression. */
bool ir_printer_is_untyped(const ir_op *op, size_t k);
void ir_printer_attr(ir_printer *p, const ir_attr *attr);
/* The elements of a constant of TYPE, as a number or nested lists. */
void ir_printer_data(ir_printer *p, const ir_attr *attr, const ir_type *type);
void ir_printer_with(ir_printer *p, const ir_attr *dict);
void ir_printer_where(ir_printer *p, size_t count, const ir_expr *const *conditions);
void ir_printer_region(ir_printer *p, const ir_region *region, unsigned indent);
/* Whether OP prints without targets. */
bool ir_printer_is_bare(const ir_op *op);
void ir_printer_op(ir_printer *p, const ir_op *op, unsigned indent);
void ir_printer_indent(ir_printer *p, unsigned indent);

#endif
