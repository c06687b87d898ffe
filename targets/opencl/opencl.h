// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TARGETS_OPENCL_OPENCL_H
#define RILL_TARGETS_OPENCL_OPENCL_H

#include "../../ir/module.h"

/* The kernels of MODULE, which is lowered with default{target=opencl}, as OpenCL C 1.2. The arguments of a kernel are: its
 * buffers, then for each of them the number of the first element (long), then its scalars, as ir_kernel lists them. Reports
 * and returns false where one cannot be written. */
bool ir_opencl_translate(ir_module *module, ir_text *out);

#endif
