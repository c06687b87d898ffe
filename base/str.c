// SPDX-License-Identifier: Apache-2.0
/* base/str.c - text building, escapes, UTF-8, near misses. Needs base/arena. */
#include "base/str.h"

#include <stdio.h>

static void reserve(ir_text *text, size_t more) {
  size_t need = ir_size_add(ir_size_add(text->length, more), 1);
  if (need <= text->capacity) return;
  size_t grown = text->capacity ? text->capacity * 2 : 256;
  if (grown < need) grown = need;
  text->at = ir_heap_realloc(text->at, grown);
  text->capacity = grown;
}

ir_slice ir_slice_trim(ir_slice text) {
  static const char blanks[] = {' ', '\t', '\r', '\n'};
  while (text.length && memchr(blanks, text.at[0], sizeof blanks)) text.at++, text.length--;
  while (text.length && memchr(blanks, text.at[text.length - 1], sizeof blanks)) text.length--;
  return text;
}

void ir_text_bytes(ir_text *text, const char *bytes, size_t length) {
  reserve(text, length);
  if (length) memcpy(text->at + text->length, bytes, length);
  text->length += length;
  text->at[text->length] = 0;
}

void ir_text_char(ir_text *text, char c) { ir_text_bytes(text, &c, 1); }

void ir_text_vprintf(ir_text *text, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  reserve(text, (size_t)length);
  vsnprintf(text->at + text->length, (size_t)length + 1, format, again);
  va_end(again);
  text->length += (size_t)length;
}

void ir_text_printf(ir_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_text_vprintf(text, format, args);
  va_end(args);
}

void ir_text_free(ir_text *text) {
  ir_heap_free(text->at);
  *text = (ir_text){0};
}

static uint32_t utf8_code(const uint8_t *at, size_t length) {
  if (length == 1) return at[0];
  uint32_t code = at[0] & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) code = code << 6 | (at[i] & 0x3fu);
  return code;
}

size_t ir_utf8_length(ir_slice text) {
  const uint8_t *at = (const uint8_t *)text.at;
  if (!text.length) return 0;
  if (at[0] < 0x80) return 1;
  size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4 || text.length < length) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  uint32_t code = utf8_code(at, length);
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  return length;
}

size_t ir_utf8_encode(char out[4], uint32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  out[0] = (char)(lead[length] | code);
  return length;
}

static bool misleads(uint32_t code) {
  return (code >= 0x80 && code < 0xa0) || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0x200e || code == 0x200f || code == 0x2028 || code == 0x2029;
}

void ir_text_escaped(ir_text *text, ir_slice bytes) {
  while (bytes.length) {
    uint8_t byte = (uint8_t)bytes.at[0];
    size_t length = ir_utf8_length(bytes);
    if (byte == '"' || byte == '\\') {
      ir_text_char(text, '\\');
      ir_text_char(text, (char)byte);
    } else if (byte == '\n' || byte == '\t') {
      ir_text_put(text, byte == '\n' ? "\\n" : "\\t");
    } else if (!length || byte < 0x20 || byte == 0x7f) {
      ir_text_printf(text, "\\x%02x", byte);
      length = 1;
    } else if (length > 1 && misleads(utf8_code((const uint8_t *)bytes.at, length))) {
      ir_text_printf(text, "\\u{%X}", (unsigned)utf8_code((const uint8_t *)bytes.at, length));
    } else {
      ir_text_bytes(text, bytes.at, length);
    }
    bytes.at += length;
    bytes.length -= length;
  }
}

size_t ir_edit_distance(ir_slice a, ir_slice b, size_t limit) {
  enum { LONGEST = 64 };
  if (a.length > LONGEST || b.length > LONGEST) return ir_slice_equal(a, b) ? 0 : limit + 1;
  size_t rows[3][LONGEST + 1];
  for (size_t j = 0; j <= b.length; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a.length; i++) {
    size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= b.length; j++) {
      size_t best = last[j - 1] + (a.at[i - 1] != b.at[j - 1]);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1];
      if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      now[j] = best;
    }
  }
  size_t distance = rows[a.length % 3][b.length];
  return distance > limit ? limit + 1 : distance;
}

void ir_nearest_offer(ir_nearest *nearest, ir_slice candidate) {
  size_t limit = nearest->wanted.length / 3;
  if (!limit) limit = 1;
  if (nearest->best.at) limit = nearest->distance ? nearest->distance - 1 : 0;
  if (nearest->best.at && !nearest->distance) return;
  size_t distance = ir_edit_distance(nearest->wanted, candidate, limit);
  if (distance > limit || !candidate.length || distance >= candidate.length) return;
  nearest->best = candidate;
  nearest->distance = distance;
}
