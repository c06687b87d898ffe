// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_OUTPUT_H
#define RILL_BASE_OUTPUT_H

#include "diag.h"

/* An output file that appears as a whole or not at all.
 *
 * A regular file or a new path is written beside its target and renamed over it by ir_output_commit, keeping mode and
 * (where permitted) owner of a file that was there; a symbolic link stays and the file that it leads to is replaced.
 * "-", and /dev/stdout and the like, write to the open descriptor; pipes and character devices are written in
 * place. There, what stays below IR_OUTPUT_HOLD bytes is held back until the commit, so that a discarded output leaves
 * no trace; more cannot be taken back. Directories, block devices and files without write permission are refused.
 *
 * The first failed write (disk full, closed pipe) is reported, the writes after it do nothing, and ir_output_commit
 * returns false. SIGPIPE does not reach the process. Nothing is synchronized to disk. */
typedef struct ir_output ir_output;

#define IR_OUTPUT_HOLD ((size_t)1 << 20)

/* Reports and returns NULL where nothing can be written at PATH. DIAGS must live until the output ends; each output
 * ends with exactly one commit or discard. */
ir_output *ir_output_open(ir_diags *diags, const char *path);
void ir_output_bytes(ir_output *output, const void *bytes, size_t size);
void ir_output_text(ir_output *output, const char *text);
void ir_output_printf(ir_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* COUNT zero bytes. */
void ir_output_zeros(ir_output *output, size_t count);

/* The bytes given so far, written or not. */
uint64_t ir_output_size(const ir_output *output);
/* False once a write failed. */
bool ir_output_ok(const ir_output *output);
/* The path of the file that will be replaced or made, links resolved: files that belong to the output go beside it.
 * NULL where the output is no file (a pipe, a terminal, "-" even when redirected to a file). */
const char *ir_output_target(const ir_output *output);

/* OTHER belongs to OUTPUT from now on: files that are there together or not at all. All of them are complete before the first
 * takes its place; OUTPUT is the last. Two of them at one path is an error. */
void ir_output_attach(ir_output *output, ir_output *other);

/* Both free OUTPUT. Commit reports what went wrong and returns false; the old file is then as it was. */
bool ir_output_commit(ir_output *output);
void ir_output_discard(ir_output *output);

#endif
