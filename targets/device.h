// SPDX-License-Identifier: Apache-2.0
/* Devices that run kernels in grids of workgroups, as passes and emitters see them. */
#ifndef RILL_TARGETS_DEVICE_H
#define RILL_TARGETS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

/* What loops are scheduled for; the order of IR_LOOP_TARGETS. */
typedef enum ir_loop_target {
#define DEVICE(id, ...) IR_LOOP_##id,
#include "device.def"
#undef DEVICE
} ir_loop_target;
#define IR_LOOP_TARGETS "llvm|opencl|spirv|msl"

/* What kernels may count on, see device.def. */
typedef struct ir_device_limits {
  const char *name;
  int64_t invocations;  /* of a workgroup */
  int64_t shared_bytes; /* of workgroup memory */
  int64_t private_bytes; /* that steps may give an invocation for itself; 0: no limit */
  bool tiles;           /* in workgroup memory pay */
} ir_device_limits;

extern const ir_device_limits ir_loop_targets[];

static inline bool ir_is_grid_target(int target) { return target != IR_LOOP_LLVM; }

#endif
