// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_FRONTENDS_ONNX_ONNX_H
#define RILL_FRONTENDS_ONNX_ONNX_H

#include "../../ir/module.h"

/* Imports the model at PATH ("-": standard input) as a module with one func @main: inputs that are no initializers
 * become parameters with symbolic extents kept, initializers become constants (up to 1 KB) and resources, whose bytes
 * stay slices of the mapped file. Symbols get the model's names made into identifiers; the function attribute `symbols`
 * has the old ones. Reports and returns NULL: malformed bytes, data outside the model's folder, unsupported operators
 * (all of them at once, with counts and node names), attributes that are left over, types that contradict. */
ir_module *ir_onnx_import(ir_context *context, const char *path);

/* The operators that are imported, and of which opsets, in Markdown: docs/spec/onnx.md. */
void ir_onnx_document(ir_text *text);

enum { IR_ONNX_TENSOR_RANK = 32 };
/* Reads a file that is one TensorProto, as ONNX's test data has them (input_0.pb). DIMS has room for IR_ONNX_TENSOR_RANK
 * extents; the bytes are on ARENA. Reports and returns false for everything else. */
bool ir_onnx_read_tensor(ir_context *context, ir_arena *arena, const char *path, ir_dtype *dtype, size_t *rank, int64_t *dims,
                         const void **bytes);

#endif
