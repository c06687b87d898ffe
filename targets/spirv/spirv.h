// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TARGETS_SPIRV_SPIRV_H
#define RILL_TARGETS_SPIRV_SPIRV_H

#include "../kernel.h"

/* For whom a module is. */
typedef struct ir_spirv_options {
  unsigned vulkan;     /* 1, 2, 3: Vulkan 1.1 (SPIR-V 1.3), 1.2 (1.5), 1.3 (1.6) */
  bool rounds_to_even; /* ask for that rounding of f32 and f64, which the device must advertise */
  bool keeps_denormals; /* likewise */
} ir_spirv_options;

/* The kernels of MODULE, which is lowered with default{target=spirv}, as one SPIR-V module: an entry point a kernel
 * (ir_kernel.name). What the kernel gets:
 *   - its buffers: storage buffers, descriptor set 0, binding i for ir_kernel.buffers[i]; elements lie dense, bool as a byte
 *     of 0 or 1, f16, bf16 and f8 as their bits;
 *   - its scalars: one block, laid out by ir_spirv_scalars: push constants or, where ir_spirv_pushes says no, a uniform buffer
 *     at the binding behind the buffers';
 *   - where it checks assertions, its status word: a storage buffer at the binding behind all of these.
 * Appends the words in the byte order of this machine; reports and returns false where a kernel cannot be written. */
bool ir_spirv_translate(ir_module *module, const ir_spirv_options *options, ir_text *out);

/* Checks that FUNC is a kernel of what SPIR-V modules can hold; reports what it holds otherwise. */
bool ir_spirv_check(ir_func *func);

/* Where the scalars of KERNEL stand in their block: OFFSETS (may be NULL) gets one a scalar, in bytes. In the order of
 * the kernel, each at the next multiple of its size: 8 bytes for 64-bit dtypes, 4 for all others, whose bits stand low.
 * Returns the size of the block, 0 where there are no scalars. */
size_t ir_spirv_scalars(const ir_kernel *kernel, uint32_t *offsets);

/* Whether that block is small enough to be push constants on every device. */
bool ir_spirv_pushes(const ir_kernel *kernel);

/* Bytes of workgroup memory that KERNEL uses. */
size_t ir_spirv_shared(const ir_kernel *kernel);

#endif
