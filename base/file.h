// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_FILE_H
#define RILL_BASE_FILE_H

#include "diag.h"

/* The bytes of a file that is no source text (models, weights, tensors): not in the source map, no limit of 4 GiB.
 * Large regular files are mapped, private and read-only; whoever replaces such a file by renaming (as ir_output does)
 * leaves the mapping as it was, but one that is truncated in place takes the mapped bytes away. */
typedef struct ir_file {
  const uint8_t *bytes; /* never NULL, aligned to 16 bytes */
  size_t size;
  size_t mapped; /* length of the mapping, 0 for heap memory; of no interest outside */
} ir_file;

/* Pipes and devices ("-" is standard input) are read to their end, at most this many bytes. */
#define IR_FILE_MAX_STREAM ((size_t)4 << 30)

/* Reports and returns false where PATH cannot be read; *file is to be closed only after true. */
bool ir_file_open(ir_diags *diags, const char *path, ir_file *file);
void ir_file_close(ir_file *file);

#endif
