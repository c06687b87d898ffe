// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/support_code.c - the support code of each architecture and the text of the interface as data of the plugin.
 * The build compiles them into the folder RILL_SUPPORT. */
#include "targets/llvm/export.h"

#define EMBED(name, file) \
  __asm__(".pushsection .rodata\n.balign 16\n.globl " name "\n.hidden " name "\n.globl " name "_end\n.hidden " name "_end\n" name ":\n.incbin \"" RILL_SUPPORT "/" file "\"\n" name "_end:\n.byte 0\n.popsection\n")

EMBED("rill_code_x86_64", "x86_64.bc");
EMBED("rill_code_aarch64", "aarch64.bc");
EMBED("rill_code_riscv64", "riscv64.bc");
EMBED("rill_code_wasm32", "wasm32.bc");
EMBED("emit_interface_text", "interface.h");

#define CODE(arch) \
  extern const unsigned char rill_code_##arch[] __attribute__((visibility("hidden"))), \
      rill_code_##arch##_end[] __attribute__((visibility("hidden")))
CODE(x86_64);
CODE(aarch64);
CODE(riscv64);
CODE(wasm32);

const emit_bitcode emit_support[] = {
    {"x86_64", rill_code_x86_64, rill_code_x86_64_end},
    {"aarch64", rill_code_aarch64, rill_code_aarch64_end},
    {"riscv64", rill_code_riscv64, rill_code_riscv64_end},
    {"wasm32", rill_code_wasm32, rill_code_wasm32_end},
    {NULL, NULL, NULL},
};
