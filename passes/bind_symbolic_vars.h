// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_PASSES_BIND_SYMBOLIC_VARS_H
#define RILL_PASSES_BIND_SYMBOLIC_VARS_H

#include "../base/opt.h"
#include "../ir/module.h"

/* Reads "n=4"; false after a report by WHO. */
bool ir_bind_parse(ir_diags *diags, const char *who, const char *text, ir_slice *symbol, int64_t *number);

/* Fixes size symbols of every public func: entries such as "n=4". A name may also be that which the symbol had in the
 * model (function attribute `symbols`). Reports a symbol that no function has, a number that is none, and a bound of
 * `where` that the number breaks. WHO begins the messages. */
bool ir_bind_symbols(ir_module *module, const ir_opt_strings *bindings, const char *who);

#endif
