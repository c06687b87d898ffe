// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_PASSES_NESTS_H
#define RILL_PASSES_NESTS_H

#include "../ir/infer.h"

/* An operation in the nest COMPUTE reads or writes BUFFER. */
bool ir_nest_touches(const ir_op *compute, const ir_value *buffer);
/* How many leading indices of every access to BUFFER in COMPUTE are the nest's leading spatial axes, in order. */
size_t ir_nest_common_axes(const ir_op *compute, const ir_value *buffer);
/* Two extents are provably equal. */
bool ir_nest_same_extent(ir_context *context, const ir_facts *facts, ir_value *a, ir_value *b);

#endif
