// SPDX-License-Identifier: Apache-2.0
/* Devices that run a host program's kernels (docs/spec/host.md): what a driver (OpenCL, Vulkan) does for them, and the executor
 * of host programs on top. The program is interpreted here, its kernels run there. */
#ifndef RILL_RUNTIME_DEVICE_DEVICE_H
#define RILL_RUNTIME_DEVICE_DEVICE_H

#include "../../targets/kernel.h"
#include "../plugin.h"
#include "../tensor.h"

typedef struct ir_device ir_device; /* the driver's; it begins with an ir_device_base */

/* A piece of device memory; the driver's. */
typedef struct ir_device_block ir_device_block;

typedef struct ir_device_slice {
  ir_device_block *block;
  size_t offset, bytes; /* the offset is a multiple of 64, or where a tensor of the caller's begins */
} ir_device_slice;

/* Functions report what goes wrong and return false or NULL. Work is done in the order in which it is handed on; reading waits
 * for it. */
typedef struct ir_device_driver {
  const char *name;   /* "opencl": of the executor */
  const char *target; /* "opencl", "spirv": of the pipeline and of messages about kernels */
  ir_device_block *(*take)(ir_device *device, size_t bytes); /* bytes > 0 */
  void (*give)(ir_device *device, ir_device_block *block);
  bool (*read)(ir_device *device, void *to, ir_device_slice from);
  bool (*write)(ir_device *device, ir_device_slice to, const void *from);
  bool (*copy)(ir_device *device, ir_device_slice to, ir_device_slice from); /* equal bytes */
  /* Kernel number KERNEL of the program on one slice a buffer, behind them that of its status word where it checks something, and one value a scalar (its bits stand low); no group is 0. */
  bool (*launch)(ir_device *device, size_t kernel, const ir_device_slice *buffers, const uint64_t *scalars, const int64_t groups[3]);
  bool (*finish)(ir_device *device);
  int64_t (*most_rounds)(const ir_device *device); /* of the loops of an invocation together, which the device ends then without a word; 0: no limit */
  void (*free)(ir_device *device);
} ir_device_driver;

/* Makes the device ready for KERNELS, which are MODULE's. */
typedef ir_device *ir_device_open(ir_module *module, const ir_kernel *kernels, size_t count, const ir_target_options *options);

/* The device that is WANTED, a number or a part of one's name, among COUNT: its index, COUNT after a report as WHO. */
size_t ir_device_pick(ir_diags *diags, const char *who, size_t count, const char *const *names, const char *wanted);

/* What ir_device_driver.most_rounds is for a device of that NAME. */
int64_t ir_device_most_rounds(const char *name);

/* What a plugin's functions are made of. */
ir_program *ir_device_compile(ir_module *module, const ir_target_options *options, const ir_device_driver *driver, ir_device_open *open);
bool ir_device_run(ir_program *program, const char *entry, size_t count, ir_tensor *const *arguments, size_t result_count, ir_tensor **results);
ir_run_stats ir_device_stats(ir_program *program);
void ir_device_program_free(ir_program *program);

#endif
