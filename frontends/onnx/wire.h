// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_FRONTENDS_ONNX_WIRE_H
#define RILL_FRONTENDS_ONNX_WIRE_H

#include "../../base/diag.h"

/* What is done to the bytes of an ONNX model before protobuf-c unpacks them. protobuf-c recurses as deep as the bytes
 * say and copies every `bytes` field; so first the encoding is checked as a whole, without recursion, and then a copy
 * is made in which the payloads of large raw_data fields (weights) are replaced by short marks. Unpack that copy, and
 * give each raw_data to ir_onnx_wire_payload: it leads from the mark back to the bytes of the file.
 *
 *     ir_onnx_wire wire;
 *     if (!ir_onnx_wire_check(diags, arena, path, file.bytes, file.size, 256, &wire)) return false;
 *     size_t size;
 *     const uint8_t *bytes = ir_onnx_wire_strip(diags, arena, &wire, &size);
 *     if (!bytes) return false;
 *     Onnx__ModelProto *model = onnx__model_proto__unpack(allocator, size, bytes);
 *     ...
 *     const uint8_t *weights = ir_onnx_wire_payload(&wire, tensor->raw_data.data, tensor->raw_data.len, &length); */

/* The raw_data of one TensorProto, as offsets in the file. The payload has no alignment. */
typedef struct ir_onnx_wire_slice {
  size_t tensor; /* where the TensorProto starts, behind its length */
  size_t offset, length;
} ir_onnx_wire_slice;

typedef struct ir_onnx_wire_edit ir_onnx_wire_edit;

typedef struct ir_onnx_wire {
  const char *name;
  const uint8_t *bytes;
  size_t size;
  const ir_onnx_wire_slice *slices; /* every raw_data there is, in document order */
  size_t slice_count;
  size_t messages;                /* messages in the file, the model itself included */
  const ir_onnx_wire_edit *edits; /* what ir_onnx_wire_strip changes */
  size_t edit_count;
} ir_onnx_wire;

enum {
  IR_ONNX_MAX_GRAPHS = 64,       /* graphs within each other */
  IR_ONNX_MAX_DEPTH = 256,       /* messages within each other: some 300 KB of stack in protobuf-c */
  IR_ONNX_MAX_MESSAGES = 1 << 24 /* in all: some 2 GB in protobuf-c */
};

/* Checks that BYTES are a ModelProto that protobuf-c unpacks in bounded stack: varints, lengths within their parents,
 * wire types that fit the fields, no groups, no field number 0, limits as above, no string with NUL inside, a message
 * field that may occur once occurring once. Reports one error, with the offset and the path of fields to it, and
 * returns false otherwise. Payloads of more than KEEP bytes (at least 16) will be taken out by ir_onnx_wire_strip.
 * BYTES and NAME must outlive WIRE; its tables are on ARENA. */
bool ir_onnx_wire_check(ir_diags *diags, ir_arena *arena, const char *name, const uint8_t *bytes, size_t size,
                        size_t keep, ir_onnx_wire *wire);

/* The model with each raw_data of more than KEEP bytes replaced by a mark: 8 fixed bytes and the number of the slice, 8
 * bytes little-endian. Payloads that look like a mark are replaced too, so that every mark is ours. Lengths of
 * the messages around follow. NULL after a report where 2 GiB and more remain, which no reader of Protocol Buffers
 * takes. Points into the file where there is nothing to replace. */
const uint8_t *ir_onnx_wire_strip(ir_diags *diags, ir_arena *arena, const ir_onnx_wire *wire, size_t *size);

/* The payload that the raw_data of a message unpacked from the stripped bytes stands for: itself, or, for a mark, bytes
 * of the file. */
const uint8_t *ir_onnx_wire_payload(const ir_onnx_wire *wire, const uint8_t *raw, size_t raw_length, size_t *length);

#endif
