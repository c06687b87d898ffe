// SPDX-License-Identifier: Apache-2.0
/* tools/ir-opt/split.c - --split-input-file and --verify-diagnostics. */
#include "tools/ir-opt/split.h"

#include "base/vec.h"

struct expected {
  ir_severity severity;
  unsigned line; /* 0: no place */
  ir_slice text;
  ir_range range; /* of the comment */
  bool seen;
};

struct checking {
  ir_arena arena;
  ir_vec(struct expected) expected;
  size_t wrong;
  size_t errors;
};

static const char *const names[] = {"error", "warning", "remark", "note"};

static void check_one(struct checking *c, ir_diags *diags, const ir_diag *diag) {
  const ir_source *source;
  unsigned line = 0, column;
  bool placed = ir_range_locate(diags, diag->range, &source, &line, &column);
  if (!placed) line = 0;
  for (const ir_diag *note = diag->notes; note; note = note->next) check_one(c, diags, note);
  ir_slice text = ir_slice_of(diag->text);
  for (size_t i = 0; i < c->expected.count; i++) {
    struct expected *e = &c->expected.at[i];
    if (e->seen || e->severity != diag->severity || e->line != line) continue;
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
  unsigned offset = 0;
  while (**at >= '0' && **at <= '9') offset = offset * 10 + (unsigned)(*(*at)++ - '0');
  return down ? line - offset : line + offset;
}

static void collect(struct checking *c, const ir_source *source) {
  unsigned line = source->first_line;
  for (const char *at = source->text, *end = at + source->length; at < end; at++) {
    if (*at == '\n') line++;
    if (strncmp(at, "expected-", 9)) continue;
    const char *start = at;
    const char *word = at + 9;
    for (int s = IR_ERROR; s <= IR_NOTE; s++) {
      size_t length = strlen(names[s]);
      if (strncmp(word, names[s], length)) continue;
      const char *rest = word + length;
      unsigned wanted = target_line(&rest, line);
      while (*rest == ' ') rest++;
      const char *close = strncmp(rest, "{{", 2) ? NULL : strstr(rest, "}}");
      if (!close) break;
      uint32_t begin = source->base + (uint32_t)(start - source->text);
      *ir_push(&c->arena, &c->expected) = (struct expected){(ir_severity)s, wanted, {rest + 2, (size_t)(close - rest - 2)}, {begin, begin + 1}, false};
    }
  }
}

static bool run_piece(ir_tool *tool, const ir_source *source, const char *path, bool expect, ir_split_job *job, void *user,
                      ir_text *out) {
  if (!expect) return job(user, source, path, out);
  struct checking c = {0};
  collect(&c, source);
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
    const ir_diag missing = {.severity = IR_ERROR, .range = e->range, .text = ir_arena_printf(&c.arena, "expected %s '%.*s' was not produced", names[e->severity], (int)e->text.length, e->text.at)};
    ir_diag_print(stderr, tool->diags, &missing);
    c.wrong++;
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
