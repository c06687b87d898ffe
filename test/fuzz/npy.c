// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a .npy file: read, or refused with exactly one error. */
#include "runtime/npy.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, fuzz_swallow, NULL);
  ir_arena arena = {0};
  ir_npy array;
  if (ir_npy_parse(diags, &arena, "fuzz", data, size, &array)) {
    FUZZ_HOLDS(!ir_diags_errors(diags));
    FUZZ_HOLDS(array.size <= size && array.rank >= 0 && array.rank <= IR_NPY_MAX_RANK);
    ir_output *output = ir_output_open(diags, "/dev/null");
    FUZZ_HOLDS(ir_npy_put(diags, output, "fuzz", &array));
    FUZZ_HOLDS((ir_output_size(output) - array.size) % 64 == 0);
    ir_output_discard(output);
  } else {
    FUZZ_HOLDS(ir_diags_errors(diags) == 1);
  }
  ir_arena_free(&arena);
  ir_diags_free(diags);
  return 0;
}
