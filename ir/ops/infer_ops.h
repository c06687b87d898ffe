// SPDX-License-Identifier: Apache-2.0
/* The inference functions that rows of the operator table name. Expanded by ir/op_def.c only. */
#ifndef RILL_IR_OPS_INFER_OPS_H
#define RILL_IR_OPS_INFER_OPS_H

#include "../infer.h"

#define INFER(name) bool name(ir_infer *in);
#include "infer_ops.def"
#undef INFER

#endif
