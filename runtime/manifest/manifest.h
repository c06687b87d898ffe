// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_MANIFEST_MANIFEST_H
#define RILL_RUNTIME_MANIFEST_MANIFEST_H

#include "../../base/output.h"
#include "../../ir/module.h"

/* The manifest: a host program as JSON, for hosts that know nothing of Rill. docs/spec/manifest.md says what it holds,
 * docs/spec/manifest.schema.json is its schema. */

enum { IR_MANIFEST_VERSION = 2 };

/* Writes MODULE, whose functions are host programs, to OUTPUT; the elements of its constants go to a file beside it
 * (m.json: m.constants.bin), which takes its place with it. False after a report: a step that no host program has, with
 * the pass that replaces it; constants without a file to put them beside. DEVICE: the target of devices that the kernels are
 * for, whose grids are written too; NULL: they are for the CPU. ARTIFACT: what the module became, whose length and digest are
 * written. OUTPUT is not committed. */
bool ir_manifest_write(ir_module *module, const char *device, ir_slice artifact, ir_output *output);

/* The module that the manifest at PATH describes: its functions, its kernels as extern prim_funcs, its constants as
 * resources, whose digests are checked. NULL after a report, which says where in the JSON: "functions.main.steps[3].bytes".
 * The module has passed the verifier. */
ir_module *ir_manifest_read(ir_context *context, const char *path);
/* The same of a text, whose name is the path that the file of constants stands beside. */
ir_module *ir_manifest_parse(ir_context *context, const ir_source *source);

#endif
