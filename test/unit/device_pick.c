// SPDX-License-Identifier: Apache-2.0
/* runtime/device: which device a number or a part of a name means. */
#include "runtime/device/device.h"
#include "test/unit/check_diags.h"

static ir_diags *diags;

static size_t pick(const char *wanted) {
  static const char *const names[] = {"Portable Computing Language: cpu", "rusticl: llvmpipe (LLVM 15)", "2"};
  return ir_device_pick(diags, "opencl", 3, names, wanted);
}

static void refused(const char *wanted, const char *said) {
  CHECK(pick(wanted) == 3);
  CHECK_DIAGS(diags, said);
}

int main(void) {
  diags = ir_diags_new();
  CHECK(pick("0") == 0);
  CHECK(pick("2") == 2); /* a number, not a part of a name */
  CHECK(pick("Portable") == 0);
  CHECK(pick("llvmpipe") == 1);
  CHECK(pick("15)") == 1);
  CHECK_DIAGS(diags, "");
  refused("3", "opencl: no device '3': --list-devices names them");
  refused("", "opencl: no device '': --list-devices names them");
  refused("gpu", "opencl: no device 'gpu': --list-devices names them");
  refused("p", "opencl: 'p' is a part of several devices' names: 'Portable Computing Language: cpu', 'rusticl: llvmpipe (LLVM 15)'");
  CHECK(ir_device_most_rounds("rusticl: llvmpipe (LLVM 15)") == 65535 && !ir_device_most_rounds("Portable Computing Language: cpu"));
  ir_diags_free(diags);
  ir_text_free(&check_reported);
  return CHECK_REPORT("device_pick");
}
