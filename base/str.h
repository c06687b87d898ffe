// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_STR_H
#define RILL_BASE_STR_H

#include "arena.h"

#include <stdarg.h>
#include <string.h>

/* A piece of text somewhere else; not NUL-terminated. */
typedef struct ir_slice {
  const char *at;
  size_t length;
} ir_slice;

#define ir_lit(text) ((ir_slice){"" text, sizeof(text) - 1})
static inline ir_slice ir_slice_of(const char *text) { return (ir_slice){text, strlen(text)}; }
static inline bool ir_slice_equal(ir_slice a, ir_slice b) {
  return a.length == b.length && (!a.length || !memcmp(a.at, b.at, a.length));
}
static inline bool ir_slice_is(ir_slice a, const char *text) { return ir_slice_equal(a, ir_slice_of(text)); }

/* The ending of a counted noun: `ir_error(..., "%zu result%s", count, ir_plural(count))`. */
static inline const char *ir_plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* Without the blanks, tabs and line ends around it. */
ir_slice ir_slice_trim(ir_slice text);

/* An interned string (ir_intern of ir/context.h): equal text, equal pointer. The text ends with NUL. */
typedef struct ir_string {
  uint32_t length, hash;
  char text[];
} ir_string;

/* A growing text on the heap; ir_text_free releases it. The text ends with NUL where it is not empty. */
typedef struct ir_text {
  char *at;
  size_t length, capacity;
} ir_text;

void ir_text_bytes(ir_text *text, const char *bytes, size_t length);
void ir_text_char(ir_text *text, char c);
static inline void ir_text_put(ir_text *text, const char *string) { ir_text_bytes(text, string, strlen(string)); }
void ir_text_printf(ir_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ir_text_vprintf(ir_text *text, const char *format, va_list args);
void ir_text_free(ir_text *text);

/* The body of a double-quoted literal: \" \\ \n \t, \xNN for control bytes, DEL and bytes that are not UTF-8;
 * other UTF-8 stays raw, except U+0080-U+009F and the bidirectional controls, which become \u{...}. */
void ir_text_escaped(ir_text *text, ir_slice bytes);

/* The number of bytes of the UTF-8 sequence at the start of TEXT, 0 where it is not well formed. */
size_t ir_utf8_length(ir_slice text);
/* Writes the UTF-8 form of CODE (at most 0x10ffff, no surrogate) and returns its length, 0 where CODE is invalid. */
size_t ir_utf8_encode(char out[4], uint32_t code);

/* The edit distance (insert, delete, replace, swap of neighbours) of two texts, counted up to LIMIT. */
size_t ir_edit_distance(ir_slice a, ir_slice b, size_t limit);

/* Keeps the closest of the candidates offered to it: `did you mean`. Distance at most a third of the length, at
 * least 1. Start with {.wanted = ...}; best.at is NULL where nothing was near. */
typedef struct ir_nearest {
  ir_slice wanted, best;
  size_t distance;
} ir_nearest;
void ir_nearest_offer(ir_nearest *nearest, ir_slice candidate);

#endif
