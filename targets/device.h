// SPDX-License-Identifier: Apache-2.0
/* Devices that run kernels in grids of workgroups, as passes and emitters see them. */
#ifndef RILL_TARGETS_DEVICE_H
#define RILL_TARGETS_DEVICE_H

#include <stdbool.h>

/* What loops are scheduled for; the order of IR_LOOP_TARGETS. */
typedef enum ir_loop_target { IR_LOOP_LLVM, IR_LOOP_OPENCL, IR_LOOP_SPIRV, IR_LOOP_MSL } ir_loop_target;
#define IR_LOOP_TARGETS "llvm|opencl|spirv|msl"
extern const char *const ir_loop_targets[];

static inline bool ir_is_grid_target(int target) { return target != IR_LOOP_LLVM; }

#endif
