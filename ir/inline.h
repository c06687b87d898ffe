// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_INLINE_H
#define RILL_IR_INLINE_H

#include "infer.h"

/* Copies the operations of FROM (of any function) to B, its terminator aside. VALUES maps FROM's arguments and outer
 * values to values at B and receives the results; symbols are replaced as BINDING says in types, attributes and
 * expressions. A symbol that is not bound stays. Returns FROM's terminator, or NULL where there is none. */
ir_op *ir_inline_region(ir_builder *b, const ir_region *from, ir_arena *scratch, ir_map *values, const ir_binding *binding);

/* Replacement of bound symbols; others stay. An expression without arguments, an extent say, is simplified where it changed. */
const ir_expr *ir_inline_expr(ir_context *context, const ir_binding *binding, const ir_expr *expr);
const ir_type *ir_inline_type(ir_context *context, const ir_binding *binding, const ir_type *type);

#endif
