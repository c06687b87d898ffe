// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a safetensors file: read, or refused with exactly one error. */
#include "runtime/safetensors.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, fuzz_swallow, NULL);
  ir_safetensors *file = ir_safetensors_parse(diags, "fuzz", data, size);
  FUZZ_HOLDS(ir_diags_errors(diags) == !file);
  size_t total = 0;
  for (size_t i = 0; file && i < ir_safetensors_count(file); i++) {
    const ir_safetensor *tensor = ir_safetensors_at(file, i);
    FUZZ_HOLDS(ir_safetensors_find(file, tensor->name) == tensor);
    FUZZ_HOLDS(tensor->bytes >= data && tensor->bytes + tensor->size <= data + size);
    total += tensor->size;
  }
  FUZZ_HOLDS(total <= size);
  if (file) ir_safetensors_close(file);
  ir_diags_free(diags);
  return 0;
}
