// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a manifest: refused with a report, or a module that the verifier takes and that prints. */
#include "ir/print.h"
#include "runtime/manifest/manifest.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, fuzz_swallow, NULL);
  ir_context *context = ir_context_new(diags);
  char *text = ir_heap_alloc(size + 1);
  if (size) memcpy(text, data, size);
  text[size] = 0;
  const ir_source *source = ir_source_add(diags, "/nowhere/input", text, size, 1);
  ir_module *module = source ? ir_manifest_parse(context, source) : NULL;
  FUZZ_HOLDS(!module == !!ir_diags_errors(diags));
  if (module) {
    ir_text printed = {0};
    ir_print_module(&printed, module, NULL);
    ir_text_free(&printed);
    ir_module_free(module);
  }
  ir_context_free(context);
  ir_diags_free(diags);
  ir_heap_free(text);
  return 0;
}
