// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_IR_VERIFY_H
#define RILL_IR_VERIFY_H

#include "module.h"

/* Checks every rule of the IR (docs/spec) on all levels, reports each violation at its range, goes on to the next
 * operation, and returns whether there was none. Never crashes on broken IR. */
bool ir_verify_module(ir_module *module);
bool ir_verify_func(ir_func *func);

#endif
