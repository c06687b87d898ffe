// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TOOLS_IR_TRANSLATE_LINK_H
#define RILL_TOOLS_IR_TRANSLATE_LINK_H

#include "base/diag.h"
#include "base/str.h"

/* Makes the bytes of a shared library from those of an object file: LINKER (a name for PATH, or a path) is started with
 * -shared on temporary files. Reports and returns false where it is missing or fails; what it says goes to standard
 * error. */
bool ir_link_shared(ir_diags *diags, const char *linker, ir_slice object, ir_text *library);

#endif
