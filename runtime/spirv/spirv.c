// SPDX-License-Identifier: Apache-2.0
/* runtime/spirv/spirv.c - what the plugin offers: SPIR-V that the validator has accepted, as a binary or as text. Needs
 * SPIRV-Tools. */
#include "targets/spirv/spirv.h"

#include "runtime/plugin.h"

#include <spirv-tools/libspirv.h>

extern const ir_plugin ir_plugin_spirv;

static bool validate(ir_diags *diags, spv_const_context context, unsigned vulkan, spv_const_binary binary) {
  spv_diagnostic found = NULL;
  bool fine = spvValidate(context, binary, &found) == SPV_SUCCESS;
  if (!fine) {
    ir_error_in(diags, "spirv", "internal error: the validator refuses the module for Vulkan 1.%u: %s (word %zu)", vulkan,
                found ? found->error : "no reason given", found ? found->position.index : 0);
  }
  spvDiagnosticDestroy(found);
  return fine;
}

static bool disassemble(ir_diags *diags, spv_const_context context, spv_const_binary binary, ir_text *out) {
  spv_text text = NULL;
  spv_diagnostic found = NULL;
  const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES | SPV_BINARY_TO_TEXT_OPTION_INDENT;
  bool fine = spvBinaryToText(context, binary->code, binary->wordCount, options, &text, &found) == SPV_SUCCESS;
  if (fine) ir_text_bytes(out, text->str, text->length);
  if (!fine) ir_error_in(diags, "spirv", "internal error: the module has no text: %s", found ? found->error : "no reason given");
  spvTextDestroy(text);
  spvDiagnosticDestroy(found);
  return fine;
}

static bool translate(ir_module *module, const ir_target_options *options, ir_text *out) {
  static const spv_target_env environments[] = {SPV_ENV_VULKAN_1_1, SPV_ENV_VULKAN_1_2, SPV_ENV_VULKAN_1_3};
  ir_diags *diags = module->context->diags;
  const ir_spirv_options settings = {.vulkan = options->vulkan ? options->vulkan : 1};
  ir_text words = {0};
  bool fine = ir_spirv_translate(module, &settings, &words);
  spv_context context = spvContextCreate(environments[settings.vulkan - 1]);
  spv_const_binary_t binary = {(const uint32_t *)(const void *)words.at, words.length / sizeof(uint32_t)};
  fine = fine && validate(diags, context, settings.vulkan, &binary);
  if (fine && options->form && !strcmp(options->form, "asm")) {
    fine = disassemble(diags, context, &binary, out);
  } else if (fine) {
    ir_text_bytes(out, words.at, words.length);
  }
  spvContextDestroy(context);
  ir_text_free(&words);
  return fine;
}

const ir_plugin ir_plugin_spirv = {.version = IR_PLUGIN_VERSION, .name = "spirv", .forms = "spv|asm", .translate = translate};
