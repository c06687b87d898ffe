// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_WEIGHTS_H
#define RILL_RUNTIME_WEIGHTS_H

#include "../base/output.h"
#include "../ir/module.h"

enum { IR_WEIGHTS_INLINE = 1024 /* resources of at most so many bytes stay in the text */ };

/* Lets resources of modules of CONTEXT be read from safetensors files in the module's folder (and nowhere else). Each
 * file is mapped once a module and lives as long as that. */
void ir_weights_attach(ir_context *context);

/* Writes every resource of more than IR_WEIGHTS_INLINE bytes to BASE.weights.safetensors beside the text that OUTPUT is
 * (cls.rill gives cls.weights.safetensors; it appears when OUTPUT is committed, not before) and makes the resources refer
 * to that file. Resources that are in a file in the same folder already stay there; those in another folder are refused
 * unless COPY. Where OUTPUT is no file (a pipe) all bytes are taken in instead, for the text to hold as base64. i4 and u4
 * stay in the text. False after a report, with the module unchanged. */
bool ir_weights_place(ir_module *module, ir_output *output, bool copy);

/* Before text that refers to weights in files is written to OUTPUT (NULL, or a pipe: references stay as they are): in the
 * module's own folder nothing has to be done; elsewhere the references would lead nowhere, so that is refused unless
 * COPY, which places the weights there. */
bool ir_weights_follow(ir_module *module, ir_output *output, bool copy);

#endif
