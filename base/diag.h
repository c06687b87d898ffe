// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_DIAG_H
#define RILL_BASE_DIAG_H

#include "arena.h"
#include "str.h"

#include <stdio.h>

/* A piece of source text: two offsets into the source map of an ir_diags. {0, 0} is no place. */
typedef struct ir_range {
  uint32_t begin, end;
} ir_range;

/* One text that diagnostics can point into. TEXT is followed by a NUL byte that LENGTH does not count. */
typedef struct ir_source {
  const char *name;
  const char *text;
  size_t length;
  uint32_t base;       /* range offset of text[0] */
  uint32_t first_line; /* number of the line that text[0] is on: not 1 for later chunks of a split file */
} ir_source;

typedef enum ir_severity { IR_ERROR, IR_WARNING, IR_REMARK, IR_NOTE } ir_severity;

typedef struct ir_diag ir_diag;
struct ir_diag {
  ir_severity severity;
  ir_range range;
  const char *where;  /* a place in words, where there is no range: "model.onnx: node 'Conv_3'"; else NULL */
  const char *text;   /* lower case, no full stop */
  const char *fixit;  /* the text that should stand at RANGE, or NULL */
  ir_diag *notes;     /* attached notes, first to last, linked by next */
  ir_diag *next;
};

typedef struct ir_diags ir_diags;
typedef void ir_diag_handler(void *user, ir_diags *diags, const ir_diag *diag);

/* Diagnostics collect until ir_diags_flush hands them to the handler (ir_diag_print on standard error by default). */
ir_diags *ir_diags_new(void);
void ir_diags_free(ir_diags *diags);
void ir_diags_set_handler(ir_diags *diags, ir_diag_handler *handler, void *user);
/* Errors beyond the limit (20 by default, 0 for none) are counted, not kept. */
void ir_diags_set_limit(ir_diags *diags, size_t limit);
void ir_diags_flush(ir_diags *diags);
size_t ir_diags_errors(const ir_diags *diags);
/* Drops diagnostics that have not been flushed and takes their errors out of the count: for a second attempt. */
void ir_diags_discard(ir_diags *diags);
/* Sets the count of errors back to 0: they were expected. */
void ir_diags_forget_errors(ir_diags *diags);

/* TEXT must outlive DIAGS and end with a NUL byte at text[length]. NULL where the offsets would pass 32 bits. */
const ir_source *ir_source_add(ir_diags *diags, const char *name, const char *text, size_t length, uint32_t first_line);
/* Maps the file at PATH ("-" is standard input). Reports and returns NULL where it cannot be read. */
const ir_source *ir_source_open(ir_diags *diags, const char *path);

/* What is being worked on, for diagnostics without a range or words of their own: "model.onnx: node 'Conv_3'". WHERE must
 * stay until it is set again; NULL: nothing. */
void ir_diags_set_where(ir_diags *diags, const char *where);
const char *ir_diags_where(const ir_diags *diags);
/* Each returns the diagnostic, to attach notes to; never NULL. */
ir_diag *ir_error(ir_diags *diags, ir_range range, const char *format, ...) __attribute__((format(printf, 3, 4)));
ir_diag *ir_warning(ir_diags *diags, ir_range range, const char *format, ...) __attribute__((format(printf, 3, 4)));
ir_diag *ir_remark(ir_diags *diags, ir_range range, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An error in something that is not text: WHERE names it. */
ir_diag *ir_error_in(ir_diags *diags, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));
void ir_note(ir_diags *diags, ir_diag *diag, ir_range range, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void ir_fixit(ir_diags *diags, ir_diag *diag, ir_range range, const char *text);

/* Line and column count from 1; the column is in bytes. False for {0, 0}. */
bool ir_range_locate(const ir_diags *diags, ir_range range, const ir_source **source, unsigned *line, unsigned *column);
/* The text at RANGE; empty where there is none. */
ir_slice ir_range_text(const ir_diags *diags, ir_range range);

/* `file:line:column: error: text`, the line (at most 160 columns of it), carets; then the notes. */
void ir_diag_print(FILE *out, const ir_diags *diags, const ir_diag *diag);

#endif
