// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_PASSES_PATTERN_H
#define RILL_PASSES_PATTERN_H

#include "../ir/module.h"

/* How a prim_func in compute form touches its buffers; the order is that of generality. */
typedef enum ir_op_pattern {
  IR_PATTERN_ELEMENTWISE,  /* some input is read at the index written */
  IR_PATTERN_BROADCAST,    /* inputs are read at some of the written indices, in order */
  IR_PATTERN_INJECTIVE,    /* one input element for each output element, elsewhere: a change of layout */
  IR_PATTERN_REDUCTION,    /* reduces, each input element used once */
  IR_PATTERN_OUT_FUSABLE,  /* reduces with reuse (matmul, convolution, pooling, softmax): element-wise work may follow */
  IR_PATTERN_OPAQUE,
} ir_op_pattern;

/* Looks at the body. OPAQUE for whatever is not in compute form. */
ir_op_pattern ir_pattern_of(const ir_func *func);
/* What `with {pattern="..."}` says; OPAQUE where it is missing or unknown. */
ir_op_pattern ir_pattern_annotated(const ir_func *func);
const char *ir_pattern_name(ir_op_pattern pattern);

#endif
