// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an ONNX model: refused with exactly one error, or unpacked by protobuf-c, with every raw_data leading
 * back into the file. */
#include "frontends/onnx/wire.h"
#include "test/fuzz/fuzz.h"

#include <onnx.pb-c.h>

static void check_tensors(const ir_onnx_wire *wire, Onnx__TensorProto *const *tensors, size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t length;
    const uint8_t *bytes = ir_onnx_wire_payload(wire, tensors[i]->raw_data.data, tensors[i]->raw_data.len, &length);
    FUZZ_HOLDS(tensors[i]->raw_data.len <= 16 || length == tensors[i]->raw_data.len);
    bool in_file = bytes >= wire->bytes && bytes + length <= wire->bytes + wire->size;
    FUZZ_HOLDS(in_file || bytes == tensors[i]->raw_data.data);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, fuzz_swallow, NULL);
  ir_arena arena = {0};
  ir_onnx_wire wire, again;
  size_t stripped_size;
  if (ir_onnx_wire_check(diags, &arena, "fuzz", data, size, 16, &wire)) {
    FUZZ_HOLDS(!ir_diags_errors(diags));
    const uint8_t *stripped = ir_onnx_wire_strip(diags, &arena, &wire, &stripped_size);
    FUZZ_HOLDS(stripped && stripped_size <= size);
    FUZZ_HOLDS(ir_onnx_wire_check(diags, &arena, "fuzz", stripped, stripped_size, 16, &again));
    FUZZ_HOLDS(again.messages == wire.messages && again.slice_count == wire.slice_count);
    Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, stripped_size, stripped);
    FUZZ_HOLDS(model);
    if (model->graph) check_tensors(&wire, model->graph->initializer, model->graph->n_initializer);
    onnx__model_proto__free_unpacked(model, NULL);
  } else {
    FUZZ_HOLDS(ir_diags_errors(diags) == 1);
  }
  ir_arena_free(&arena);
  ir_diags_free(diags);
  return 0;
}
