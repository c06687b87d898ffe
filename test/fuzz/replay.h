// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_FUZZ_REPLAY_H
#define RILL_TEST_FUZZ_REPLAY_H

/* With -DRILL_FUZZ_REPLAY a fuzz target becomes a program of its own that runs once over each file that it is given;
 * without, link it with -fsanitize=fuzzer. */
#include "../../base/diag.h"
#include "../../base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Diagnostics of a fuzz run are formed and thrown away. */
static inline void fuzz_swallow(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)user, (void)diags, (void)diag;
}

/* What must hold whatever the bytes are. */
#define FUZZ_HOLDS(condition) ((condition) ? (void)0 : __builtin_trap())

#ifdef RILL_FUZZ_REPLAY
int main(int count, char **paths) {
  ir_diags *diags = ir_diags_new();
  for (int i = 1; i < count; i++) {
    ir_file file;
    if (!ir_file_open(diags, paths[i], &file)) continue;
    LLVMFuzzerTestOneInput(file.bytes, file.size);
    ir_file_close(&file);
  }
  ir_diags_flush(diags);
  bool failed = ir_diags_errors(diags) > 0;
  ir_diags_free(diags);
  printf("%d inputs replayed\n", count - 1);
  return failed;
}
#endif

#endif
