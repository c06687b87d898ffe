// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TARGETS_MSL_MSL_H
#define RILL_TARGETS_MSL_MSL_H

#include "../../ir/module.h"

/* The kernels of MODULE, which is lowered with default{target=msl}, as Metal Shading Language 2.0. The arguments of a kernel are
 * its buffers, from [[buffer(0)]] on, and behind them, where it has scalars, a structure of them as ir_kernel lists them, 64 bits
 * each for symbols. To be compiled without fast math. Reports and returns false where one cannot be written. */
bool ir_msl_translate(ir_module *module, ir_text *out);

#endif
