// SPDX-License-Identifier: Apache-2.0
/* targets/device.c - the table of targets that loops are scheduled for. */
#include "targets/device.h"

#include <stddef.h>

const ir_device_limits ir_loop_targets[] = {
#define DEVICE(id, name, invocations, shared_bytes, private_bytes, tiles, doc) {name, invocations, shared_bytes, private_bytes, tiles},
#include "targets/device.def"
#undef DEVICE
};
