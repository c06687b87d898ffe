// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_OP_DOC_H
#define RILL_IR_OP_DOC_H

#include "op_def.h"

/* The operator table for people: a line each, or with MARKDOWN docs/spec/operators.md. */
void ir_ops_document(ir_text *text, bool markdown);

#endif
