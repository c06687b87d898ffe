// SPDX-License-Identifier: Apache-2.0
/* tools/ir-opt/split.c - --split-input-file and --verify-diagnostics. */
#include "tools/ir-opt/split.h"

#include "base/vec.h"

struct expected {
  ir_severity severity;
  unsigned line;   /* 0: no place */
  unsigned column; /* 0: any */
  ir_slice text;
  ir_range range; /* of the comment */
  bool seen;
};

struct checking {
  ir_arena arena;
  ir_vec(struct expected) expected;
  size_t wrong;
};

static const char *const names[] = {"error", "warning", "remark", "note"};

static void check_one(struct checking *c, ir_diags *diags, const ir_diag *diag) {
  const ir_source *source;
  unsigned line = 0, column = 0;
  bool placed = ir_range_locate(diags, diag->range, &source, &line, &column);
  if (!placed) line = 0;
  for (const ir_diag *note = diag->notes; note; note = note->next) check_one(c, diags, note);
  ir_slice text = ir_slice_of(diag->text);
  for (size_t i = 0; i < c->expected.count; i++) {
    struct expected *e = &c->expected.at[i];
    if (e->seen || e->severity != diag->severity || e->line != line || (e->column && e->column != column)) continue;
    if (!memmem(text.at, text.length, e->text.at, e->text.length)) continue;
    e->seen = true;
    return;
  }
  /* Remarks and notes that nobody asks about are no fault. */
  if (diag->severity == IR_REMARK || diag->severity == IR_NOTE) return;
  fprintf(stderr, "unexpected %s:\n", names[diag->severity]);
  ir_diag_print(stderr, diags, diag);
  c->wrong++;
}

static void check(void *user, ir_diags *diags, const ir_diag *diag) { check_one(user, diags, diag); }

static unsigned number_at(const char **at) {
  unsigned number = 0;
  while (**at >= '0' && **at <= '9') number = number * 10 + (unsigned)(*(*at)++ - '0');
  return number;
}

/* Reads `@+1`, `@-2`, `@above`, `@below`, `@unknown`; the line meant, 0 for no place. */
static unsigned target_line(const char **at, unsigned line) {
  if (**at != '@') return line;
  ++*at;
  static const struct {
    const char *word;
    int offset;
  } words[] = {{"above", -1}, {"below", 1}, {"unknown", 0}};
  for (size_t i = 0; i < ir_count_of(words); i++) {
    size_t length = strlen(words[i].word);
    if (strncmp(*at, words[i].word, length)) continue;
    *at += length;
    return i == 2 ? 0 : line + (unsigned)words[i].offset;
  }
  bool down = **at == '-';
  if (**at == '+' || **at == '-') ++*at;
  unsigned offset = number_at(at);
  return down ? line - offset : line + offset;
}

/* The severity that *AT begins with, behind which *AT stands then; -1 for another word. */
static int severity_at(const char **at) {
  for (int s = IR_ERROR; s <= IR_NOTE; s++) {
    size_t length = strlen(names[s]);
    if (strncmp(*at, names[s], length)) continue;
    *at += length;
    return s;
  }
  return -1;
}

static void print_error(struct checking *c, ir_tool *tool, ir_range range, const char *text) {
  const ir_diag diag = {.severity = IR_ERROR, .range = range, .text = text};
  ir_diag_print(stderr, tool->diags, &diag);
  c->wrong++;
}

/* `expected-` stands at AT, on LINE, which ends at END. */
static void collect_one(struct checking *c, ir_tool *tool, const ir_source *source, const char *at, const char *end, unsigned line) {
  uint32_t begin = source->base + (uint32_t)(at - source->text);
  const char *rest = at + strlen("expected-");
  int severity = severity_at(&rest);
  unsigned wanted = target_line(&rest, line), column = 0;
  if (*rest == ':') rest++, column = number_at(&rest);
  while (*rest == ' ') rest++;
  const char *close = strncmp(rest, "{{", 2) ? NULL : memmem(rest, (size_t)(end - rest), "}}", 2);
  const ir_range range = {begin, begin + (uint32_t)(rest - at)};
  if (severity < 0 || !close) {
    print_error(c, tool, range, severity < 0 ? "expected 'expected-' with error, warning, remark or note after it"
                                             : "expected '@+N', '@-N', '@above', '@below' or '@unknown', perhaps ':COLUMN', then '{{text}}' on the same line");
    return;
  }
  *ir_push(&c->arena, &c->expected) = (struct expected){(ir_severity)severity, wanted, column, {rest + 2, (size_t)(close - rest - 2)}, range, false};
}

/* Expectations stand in comments, several in one where need be. */
static void collect(struct checking *c, ir_tool *tool, const ir_source *source) {
  unsigned line = source->first_line;
  const char *text = source->text, *last = text + source->length;
  for (const char *end; text < last; text = end + 1, line++) {
    end = memchr(text, '\n', (size_t)(last - text));
    if (!end) end = last;
    const char *comment = memmem(text, (size_t)(end - text), "//", 2);
    while (comment && (comment = memmem(comment, (size_t)(end - comment), "expected-", 9))) {
      collect_one(c, tool, source, comment, end, line);
      comment++;
    }
  }
}

static bool run_piece(ir_tool *tool, const ir_source *source, const char *path, bool expect, ir_split_job *job, void *user,
                      ir_text *out) {
  if (!expect) return job(user, source, path, out);
  struct checking c = {0};
  collect(&c, tool, source);
  ir_diags_flush(tool->diags);
  ir_diags_set_handler(tool->diags, check, &c);
  size_t before = ir_diags_errors(tool->diags);
  bool fine = job(user, source, path, out);
  bool reported = ir_diags_errors(tool->diags) > before;
  ir_diags_flush(tool->diags);
  ir_tool_restore(tool);
  for (size_t i = 0; i < c.expected.count; i++) {
    const struct expected *e = &c.expected.at[i];
    if (e->seen) continue;
    print_error(&c, tool, e->range, ir_arena_printf(&c.arena, "expected %s '%.*s' was not produced", names[e->severity], (int)e->text.length, e->text.at));
  }
  if (!fine && !reported) {
    fprintf(stderr, "%s: failed without an error\n", path);
    c.wrong++;
  }
  ir_diags_forget_errors(tool->diags);
  ir_arena_free(&c.arena);
  return !c.wrong;
}

static const char marker[] = "// -----";

/* The end of the piece at START: the beginning of the next marker line, or the end. */
static const char *piece_end(const char *start, const char *end) {
  for (const char *at = start; at < end; at++) {
    if ((at == start || at[-1] == '\n') && (size_t)(end - at) >= sizeof marker - 1 && !strncmp(at, marker, sizeof marker - 1)) return at;
  }
  return end;
}

bool ir_split_run(ir_tool *tool, const ir_source *source, const char *path, bool split, bool expect, ir_split_job *job,
                  void *user, ir_text *out) {
  if (!split) return run_piece(tool, source, path, expect, job, user, out);
  bool fine = true;
  const char *at = source->text, *end = at + source->length;
  unsigned line = source->first_line;
  for (bool first = true; first || at < end; first = false) {
    const char *stop = piece_end(at, end);
    const char *piece = ir_arena_copy(&tool->arena, at, (size_t)(stop - at));
    const ir_source *part = ir_source_add(tool->diags, source->name, piece, (size_t)(stop - at), line);
    if (!part) return false;
    if (!first) ir_text_printf(out, "%s\n", marker);
    fine &= run_piece(tool, part, path, expect, job, user, out);
    for (; at < stop; at++) line += *at == '\n';
    while (at < end && *at != '\n') at++;
    if (at < end) at++, line++;
  }
  return fine;
}
