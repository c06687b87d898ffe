// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_FUZZ_FUZZ_H
#define RILL_TEST_FUZZ_FUZZ_H

#include "../../base/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A handler for diagnostics that are formed and thrown away. */
static inline void fuzz_swallow(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)user, (void)diags, (void)diag;
}

/* What must hold whatever the bytes are. */
#define FUZZ_HOLDS(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
