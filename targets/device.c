// SPDX-License-Identifier: Apache-2.0
/* targets/device.c - the targets that loops are scheduled for. */
#include "targets/device.h"

const char *const ir_loop_targets[] = {"llvm", "opencl", "spirv", "msl"};
