// SPDX-License-Identifier: Apache-2.0
/* base/diag.c - diagnostics and the source map. Needs base/arena and base/str; reads files. */
#include "base/diag.h"

#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapping {
  void *at;
  size_t size;
  bool heap;
};

struct ir_diags {
  ir_arena arena;
  ir_vec(ir_source *) sources;
  ir_vec(struct mapping) mappings;
  uint64_t next_base;
  ir_diag *first, *last;
  size_t errors, limit, dropped, pending_errors;
  ir_diag_handler *handler;
  void *user;
  const char *where;
};

static void print_to_stderr(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)user;
  ir_diag_print(stderr, diags, diag);
}

ir_diags *ir_diags_new(void) {
  ir_diags *diags = ir_heap_alloc(sizeof *diags);
  *diags = (ir_diags){.next_base = 1, .limit = 20, .handler = print_to_stderr};
  return diags;
}

void ir_diags_free(ir_diags *diags) {
  for (size_t i = 0; i < diags->mappings.count; i++) {
    struct mapping *mapping = &diags->mappings.at[i];
    if (mapping->heap) {
      ir_heap_free(mapping->at);
    } else {
      munmap(mapping->at, mapping->size);
    }
  }
  ir_arena_free(&diags->arena);
  ir_heap_free(diags);
}

void ir_diags_set_handler(ir_diags *diags, ir_diag_handler *handler, void *user) {
  diags->handler = handler ? handler : print_to_stderr;
  diags->user = user;
}

void ir_diags_set_limit(ir_diags *diags, size_t limit) { diags->limit = limit; }
size_t ir_diags_errors(const ir_diags *diags) { return diags->errors; }

void ir_diags_flush(ir_diags *diags) {
  ir_diag *diag = diags->first;
  diags->first = diags->last = NULL;
  diags->pending_errors = 0;
  for (; diag; diag = diag->next) diags->handler(diags->user, diags, diag);
  if (diags->dropped) {
    const ir_diag more = {.severity = IR_NOTE,
                          .text = ir_arena_printf(&diags->arena, "%zu more errors not shown", diags->dropped)};
    diags->dropped = 0;
    diags->handler(diags->user, diags, &more);
  }
}

void ir_diags_discard(ir_diags *diags) {
  diags->errors -= diags->pending_errors + diags->dropped;
  diags->dropped = diags->pending_errors = 0;
  diags->first = diags->last = NULL;
}

void ir_diags_forget_errors(ir_diags *diags) {
  ir_diags_discard(diags);
  diags->errors = 0;
}

void ir_diags_set_where(ir_diags *diags, const char *where) { diags->where = where; }
const char *ir_diags_where(const ir_diags *diags) { return diags->where; }

const ir_source *ir_source_add(ir_diags *diags, const char *name, const char *text, size_t length,
                               uint32_t first_line) {
  if (length >= UINT32_MAX - 1 || diags->next_base + length + 1 > UINT32_MAX) {
    ir_error_in(diags, name, "more than 4 GiB of source text");
    return NULL;
  }
  ir_source *source = ir_new(&diags->arena, ir_source);
  *source = (ir_source){.name = ir_arena_copy(&diags->arena, name, strlen(name)),
                        .text = text,
                        .length = length,
                        .base = (uint32_t)diags->next_base,
                        .first_line = first_line};
  diags->next_base += length + 1;
  *ir_push(&diags->arena, &diags->sources) = source;
  return source;
}

/* Reads to the end of FD into heap memory with a NUL byte behind it. */
static const ir_source *read_all(ir_diags *diags, int fd, const char *name) {
  size_t size = 0, capacity = 1 << 16;
  char *bytes = ir_heap_alloc(capacity);
  for (;;) {
    ssize_t got = read(fd, bytes + size, capacity - size - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      ir_error_in(diags, name, "cannot read: %s", strerror(errno));
      ir_heap_free(bytes);
      return NULL;
    }
    if (!got) break;
    size += (size_t)got;
    if (capacity - size < 2) bytes = ir_heap_realloc(bytes, capacity = ir_size_mul(capacity, 2));
  }
  bytes[size] = 0;
  *ir_push(&diags->arena, &diags->mappings) = (struct mapping){bytes, size, true};
  return ir_source_add(diags, name, bytes, size, 1);
}

/* Maps the file over the front of an anonymous mapping one byte longer, so that a NUL byte follows it. */
static const ir_source *map_file(ir_diags *diags, int fd, const char *name, size_t size) {
  size_t mapped = ir_size_add(size, 1);
  char *bytes = mmap(NULL, mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return read_all(diags, fd, name);
  if (size && mmap(bytes, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    munmap(bytes, mapped);
    return read_all(diags, fd, name);
  }
  *ir_push(&diags->arena, &diags->mappings) = (struct mapping){bytes, mapped, false};
  return ir_source_add(diags, name, bytes, size, 1);
}

const ir_source *ir_source_open(ir_diags *diags, const char *path) {
  if (!strcmp(path, "-")) return read_all(diags, STDIN_FILENO, "<stdin>");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) || S_ISDIR(status.st_mode)) {
    ir_error_in(diags, path, "cannot open: %s", fd >= 0 && S_ISDIR(status.st_mode) ? "is a directory" : strerror(errno));
    if (fd >= 0) close(fd);
    return NULL;
  }
  bool regular = S_ISREG(status.st_mode) && status.st_size >= 1 << 14;
  const ir_source *source =
      regular ? map_file(diags, fd, path, (size_t)status.st_size) : read_all(diags, fd, path);
  close(fd);
  return source;
}

static ir_diag *add(ir_diags *diags, ir_severity severity, ir_range range, const char *where, const char *format,
                    va_list args) {
  ir_text text = {0};
  ir_text_vprintf(&text, format, args);
  if (!where && !range.begin && severity != IR_NOTE) where = diags->where;
  ir_diag *diag = ir_new(&diags->arena, ir_diag);
  *diag = (ir_diag){.severity = severity,
                    .range = range,
                    .where = where ? ir_arena_copy(&diags->arena, where, strlen(where)) : NULL,
                    .text = ir_arena_copy(&diags->arena, text.at, text.length)};
  ir_text_free(&text);
  if (severity == IR_NOTE) return diag;
  if (severity == IR_ERROR) {
    diags->errors++;
    if (diags->limit && diags->errors > diags->limit) {
      diags->dropped++;
      return diag;
    }
    diags->pending_errors++;
  }
  if (diags->last) {
    diags->last->next = diag;
  } else {
    diags->first = diag;
  }
  return diags->last = diag;
}

#define FORWARD(severity, range, where) \
  va_list args; \
  va_start(args, format); \
  ir_diag *diag = add(diags, severity, range, where, format, args); \
  va_end(args); \
  return diag

ir_diag *ir_error(ir_diags *diags, ir_range range, const char *format, ...) { FORWARD(IR_ERROR, range, NULL); }
ir_diag *ir_warning(ir_diags *diags, ir_range range, const char *format, ...) { FORWARD(IR_WARNING, range, NULL); }
ir_diag *ir_remark(ir_diags *diags, ir_range range, const char *format, ...) { FORWARD(IR_REMARK, range, NULL); }
ir_diag *ir_error_in(ir_diags *diags, const char *where, const char *format, ...) {
  FORWARD(IR_ERROR, ((ir_range){0, 0}), where);
}

void ir_note(ir_diags *diags, ir_diag *diag, ir_range range, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_diag *note = add(diags, IR_NOTE, range, NULL, format, args);
  va_end(args);
  ir_diag **at = &diag->notes;
  while (*at) at = &(*at)->next;
  *at = note;
}

void ir_fixit(ir_diags *diags, ir_diag *diag, ir_range range, const char *text) {
  diag->range = range;
  diag->fixit = ir_arena_copy(&diags->arena, text, strlen(text));
}

static const ir_source *source_of(const ir_diags *diags, uint32_t offset) {
  size_t low = 0, high = diags->sources.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (diags->sources.at[middle]->base <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low ? diags->sources.at[low - 1] : NULL;
}

bool ir_range_locate(const ir_diags *diags, ir_range range, const ir_source **source, unsigned *line,
                     unsigned *column) {
  if (!range.begin) return false;
  const ir_source *found = source_of(diags, range.begin);
  if (!found || range.begin - found->base > found->length) return false;
  const char *at = found->text + (range.begin - found->base), *start = found->text;
  *line = found->first_line;
  for (const char *next; (next = memchr(start, '\n', (size_t)(at - start))); start = next + 1) ++*line;
  *column = (unsigned)(at - start) + 1;
  *source = found;
  return true;
}

ir_slice ir_range_text(const ir_diags *diags, ir_range range) {
  const ir_source *source = range.begin ? source_of(diags, range.begin) : NULL;
  if (!source || range.begin - source->base > source->length) return (ir_slice){"", 0};
  size_t end = range.end > range.begin ? range.end - source->base : range.begin - source->base;
  if (end > source->length) end = source->length;
  return (ir_slice){source->text + (range.begin - source->base), end - (range.begin - source->base)};
}

/* Prints the line that AT is in, cut to a window around it, with carets under [at, at + length). */
static void print_excerpt(FILE *out, const ir_source *source, const char *at, size_t length) {
  enum { WINDOW = 160, BEFORE = 80 };
  const char *limit = source->text + source->length, *start = at, *end = at;
  while (start > source->text && start[-1] != '\n') start--;
  while (end < limit && *end != '\n' && *end != '\r') end++;
  if (at - start > BEFORE && end - start > WINDOW) start = at - BEFORE;
  if (end - start > WINDOW) end = start + WINDOW;
  ir_text line = {0}, marks = {0};
  for (const char *c = start; c <= end; c++) {
    size_t bytes = c < end ? ir_utf8_length((ir_slice){c, (size_t)(end - c)}) : 1;
    ir_text shown = {0};
    if (c < end && *c != '\t') ir_text_escaped(&shown, (ir_slice){c, bytes ? bytes : 1});
    if (c < end && *c == '\t') ir_text_char(&shown, ' ');
    if (c < end && (*c == '"' || *c == '\\')) shown = (ir_text_free(&shown), ir_text_char(&shown, *c), shown);
    size_t width = bytes > 1 && shown.length == bytes ? 1 : shown.length;
    if (c == end) width = 1;
    bool marked = c == at || (c > at && (size_t)(c - at) < length && c < end);
    for (size_t i = 0; i < width; i++) ir_text_char(&marks, c == at && !i ? '^' : marked ? '~' : ' ');
    if (shown.at) ir_text_bytes(&line, shown.at, shown.length);
    ir_text_free(&shown);
    if (bytes > 1) c += bytes - 1;
  }
  while (marks.length && marks.at[marks.length - 1] == ' ') marks.length--;
  fprintf(out, "  %.*s\n  %.*s\n", (int)line.length, line.at ? line.at : "", (int)marks.length, marks.at);
  ir_text_free(&line);
  ir_text_free(&marks);
}

void ir_diag_print(FILE *out, const ir_diags *diags, const ir_diag *diag) {
  static const char *const names[] = {"error", "warning", "remark", "note"};
  const ir_source *source;
  unsigned line, column;
  ir_text text = {0};
  ir_text_put(&text, "");
  for (const char *c = diag->text; *c; c++) {
    bool plain = (unsigned char)*c >= 0x20 && *c != 0x7f;
    if (plain || *c == '\n') ir_text_char(&text, *c);
    if (!plain && *c != '\n') ir_text_printf(&text, "\\x%02x", (unsigned char)*c);
  }
  if (ir_range_locate(diags, diag->range, &source, &line, &column)) {
    fprintf(out, "%s:%u:%u: %s: %s\n", source->name, line, column, names[diag->severity], text.at);
    size_t length = diag->range.end > diag->range.begin ? diag->range.end - diag->range.begin : 1;
    print_excerpt(out, source, source->text + (diag->range.begin - source->base), length);
    if (diag->fixit) fprintf(out, "  %*s%s\n", (int)(column <= 160 ? column - 1 : 0), "", diag->fixit);
  } else if (diag->where) {
    fprintf(out, "%s: %s: %s\n", diag->where, names[diag->severity], text.at);
  } else {
    fprintf(out, "%s: %s\n", names[diag->severity], text.at);
  }
  ir_text_free(&text);
  for (const ir_diag *note = diag->notes; note; note = note->next) ir_diag_print(out, diags, note);
}
