// SPDX-License-Identifier: Apache-2.0
/* base/opt.c - option tables: finding, checking and storing values, reading option text, help. Needs base/diag. */
#include "base/opt.h"

#include "base/vec.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* The size of a field, and what help calls a value. */
static const struct {
  size_t size;
  const char *word;
} kinds[] = {
    [IR_OPT_FLAG] = {sizeof(bool), "on|off"},
    [IR_OPT_INT] = {sizeof(int64_t), "N"},
    [IR_OPT_UINT] = {sizeof(uint64_t), "N"},
    [IR_OPT_FLOAT] = {sizeof(double), "X"},
    [IR_OPT_STRING] = {sizeof(const char *), "TEXT"},
    [IR_OPT_CHOICE] = {sizeof(int), NULL},
    [IR_OPT_STRINGS] = {sizeof(ir_opt_strings), "TEXT"},
    [IR_OPT_INTS] = {sizeof(ir_opt_ints), "N,..."},
    [IR_OPT_GROUP] = {0, "NAME=VALUE,..."},
};

/* VALUE as it may stand in a message: escaped, and not too long. */
static const char *shown(const ir_opt_site *site, ir_slice value) {
  enum { LONGEST = 80 };
  bool cut = value.length > LONGEST;
  if (cut) value.length = LONGEST;
  ir_text text = {0};
  ir_text_put(&text, "");
  ir_text_escaped(&text, value);
  const char *kept = ir_arena_printf(site->arena, "%s%s", text.at, cut ? "..." : "");
  ir_text_free(&text);
  return kept;
}

/* Reports an error at AT, a piece of the site's source where it has one. */
static void report(const ir_opt_site *site, ir_slice at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void report(const ir_opt_site *site, ir_slice at, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  const ir_source *source = site->source;
  if (source && at.at >= source->text && at.at + at.length <= source->text + source->length) {
    uint32_t begin = source->base + (uint32_t)(at.at - source->text);
    ir_error(site->diags, (ir_range){begin, begin + (uint32_t)at.length}, "%s", text.at);
  } else if (site->where) {
    ir_error_in(site->diags, site->where, "%s", text.at);
  } else {
    ir_error(site->diags, (ir_range){0, 0}, "%s", text.at);
  }
  ir_text_free(&text);
}

/* "option '--mode'" or "option 'mode' of pass 'fuse-ops'". */
static const char *naming(const ir_opt_site *site, const ir_opt *row) {
  if (!site->owner) return ir_arena_printf(site->arena, "option '--%s'", row->name);
  return ir_arena_printf(site->arena, "option '%s' of %s", row->name, site->owner);
}

/* Takes the piece before the next '|' or ',' (SEPARATOR) off the front of *REST; false at its end. */
static bool next_word(ir_slice *rest, char separator, ir_slice *word) {
  if (!rest->at) return false;
  const char *end = rest->length ? memchr(rest->at, separator, rest->length) : NULL;
  *word = (ir_slice){rest->at, end ? (size_t)(end - rest->at) : rest->length};
  *rest = end ? (ir_slice){end + 1, rest->length - word->length - 1} : (ir_slice){0};
  return true;
}

static void put_choices(ir_text *text, const char *choices) {
  ir_slice rest = ir_slice_of(choices), word;
  for (bool first = true; next_word(&rest, '|', &word); first = false) {
    ir_text_put(text, first ? "" : rest.at ? ", " : " or ");
    ir_text_printf(text, "'%.*s'", (int)word.length, word.at);
  }
}

static void put_bounds(ir_text *text, const char *noun, int64_t min, int64_t max) {
  ir_text_put(text, noun);
  if (!min && !max) return;
  if (max == INT64_MAX) {
    ir_text_printf(text, " of at least %lld", (long long)min);
  } else {
    ir_text_printf(text, " from %lld to %lld", (long long)min, (long long)max);
  }
}

void ir_opt_expected(const ir_opt *row, ir_text *text) {
  bool bounded = row->min || row->max;
  switch (row->kind) {
  case IR_OPT_FLAG: ir_text_put(text, "'on' or 'off'"); break;
  case IR_OPT_INT: put_bounds(text, "an integer", row->min, row->max); break;
  case IR_OPT_UINT: put_bounds(text, "an integer", row->min, bounded ? row->max : INT64_MAX); break;
  case IR_OPT_FLOAT: put_bounds(text, "a number", row->min, row->max); break;
  case IR_OPT_STRING:
  case IR_OPT_STRINGS: ir_text_put(text, row->value ? row->value : "text"); break;
  case IR_OPT_CHOICE: put_choices(text, row->choices); break;
  case IR_OPT_INTS:
    ir_text_put(text, "a list such as [1, 2], each ");
    put_bounds(text, "an integer", row->min, row->max);
    break;
  case IR_OPT_GROUP: ir_text_put(text, "options such as a=b,c=d"); break;
  }
}

static bool refuse(const ir_opt_site *site, const ir_opt *row, ir_slice value, const char *hint) {
  ir_text expected = {0};
  ir_opt_expected(row, &expected);
  const char *found = value.length ? ir_arena_printf(site->arena, "'%s'", shown(site, value)) : "nothing";
  report(site, value, "%s: expected %s, found %s%s", naming(site, row), expected.at, found, hint);
  ir_text_free(&expected);
  return false;
}

/* Decimal or 0x hexadecimal digits with an optional sign; false where TEXT is anything else or passes 64 bits. */
static bool parse_magnitude(ir_slice text, bool *negative, uint64_t *out) {
  *negative = text.length && text.at[0] == '-';
  if (text.length && (text.at[0] == '-' || text.at[0] == '+')) text.at++, text.length--;
  bool hex = text.length > 2 && text.at[0] == '0' && (text.at[1] | 0x20) == 'x';
  if (hex) text.at += 2, text.length -= 2;
  uint64_t base = hex ? 16 : 10, value = 0;
  for (size_t i = 0; i < text.length; i++) {
    const char *digits = "0123456789abcdef",
               *at = text.at[i] ? strchr(digits, tolower((unsigned char)text.at[i])) : NULL;
    if (!at || (uint64_t)(at - digits) >= base) return false;
    uint64_t digit = (uint64_t)(at - digits);
    if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value)) return false;
  }
  *out = value;
  return text.length > 0;
}

static bool parse_int(const ir_opt *row, ir_slice text, int64_t *out) {
  bool negative;
  uint64_t magnitude;
  if (!parse_magnitude(text, &negative, &magnitude)) return false;
  if (magnitude > (uint64_t)INT64_MAX + negative) return false;
  *out = (int64_t)(negative ? 0 - magnitude : magnitude);
  return (!row->min && !row->max) || (*out >= row->min && *out <= row->max);
}

static bool parse_uint(const ir_opt *row, ir_slice text, uint64_t *out) {
  bool negative;
  if (!parse_magnitude(text, &negative, out) || (negative && *out)) return false;
  bool bounded = row->min || (row->max && row->max != INT64_MAX);
  return !bounded || (*out >= (uint64_t)row->min && (row->max == INT64_MAX || *out <= (uint64_t)row->max));
}

static bool parse_float(const ir_opt *row, ir_slice text, double *out) {
  char copy[64], *end;
  if (!text.length || text.length >= sizeof copy || !strchr("+-.0123456789", text.at[0])) return false;
  memcpy(copy, text.at, text.length);
  copy[text.length] = 0;
  *out = strtod(copy, &end);
  if (end != copy + text.length || !isfinite(*out)) return false;
  return (!row->min && !row->max) || (*out >= (double)row->min && (row->max == INT64_MAX || *out <= (double)row->max));
}

static bool parse_flag(ir_slice text, bool *out) {
  *out = ir_slice_is(text, "on") || ir_slice_is(text, "true");
  return *out || ir_slice_is(text, "off") || ir_slice_is(text, "false");
}

static bool set_choice(const ir_opt_site *site, const ir_opt *row, void *field, ir_slice value) {
  ir_nearest nearest = {.wanted = value};
  ir_slice rest = ir_slice_of(row->choices), word;
  for (int i = 0; next_word(&rest, '|', &word); i++) {
    if (ir_slice_equal(word, value)) return memcpy(field, &i, sizeof i), true;
    ir_nearest_offer(&nearest, word);
  }
  ir_slice pairs = row->instead ? ir_slice_of(row->instead) : (ir_slice){0}, theirs;
  while (next_word(&pairs, ',', &word)) {
    if (next_word(&word, '=', &theirs) && ir_slice_equal(theirs, value)) nearest.best = word;
  }
  const char *hint = "";
  if (nearest.best.at) {
    hint = ir_arena_printf(site->arena, "; did you mean '%.*s'?", (int)nearest.best.length, nearest.best.at);
  }
  return refuse(site, row, value, hint);
}

/* Takes what stands before the next comma outside brackets and quotes off the front of *REST. False at its end, and,
 * with *OPEN set to it, where a bracket or quote has no partner. */
static bool next_item(ir_slice *rest, ir_slice *item, const char **open) {
  enum { DEEPEST = 64 };
  const char *opened[DEEPEST], *end = rest->at + rest->length, *at = rest->at;
  size_t depth = 0;
  *open = NULL;
  if (!rest->at) return false;
  for (; at < end && (depth || *at != ','); at++) {
    if (*at == '"') {
      const char *quote = at++;
      while (at < end && *at != '"') at += *at == '\\' && at + 1 < end ? 2 : 1;
      if (at >= end) return *open = quote, false;
    } else if (strchr("[{(", *at) && *at) {
      if (depth == DEEPEST) return *open = at, false;
      opened[depth++] = at;
    } else if (strchr("]})", *at) && *at) {
      char partner = *at == ']' ? '[' : *at == '}' ? '{' : '(';
      if (!depth || *opened[--depth] != partner) return *open = at, false;
    }
  }
  if (depth) return *open = opened[depth - 1], false;
  *item = ir_slice_trim((ir_slice){rest->at, (size_t)(at - rest->at)});
  *rest = at < end ? (ir_slice){at + 1, (size_t)(end - at - 1)} : (ir_slice){0};
  return true;
}

static bool report_open(const ir_opt_site *site, const char *open) {
  static const char *const names[] = {"'[' without ']'", "'{' without '}'", "'(' without ')'",  "']' without '['",
                                      "'}' without '{'", "')' without '('", "'\"' without '\"'"};
  const char *marks = "[{(]})\"";
  report(site, (ir_slice){open, 1}, "options%s%s: found %s", site->owner ? " of " : "", site->owner ? site->owner : "",
         names[strchr(marks, *open) - marks]);
  return false;
}

/* Strips one pair of brackets around TEXT. */
static bool unwrapped(ir_slice *text, char open, char close) {
  if (text->length < 2 || text->at[0] != open || text->at[text->length - 1] != close) return false;
  *text = ir_slice_trim((ir_slice){text->at + 1, text->length - 2});
  return true;
}

static bool set_ints(const ir_opt_site *site, const ir_opt *row, ir_opt_ints *list, ir_slice value) {
  ir_slice rest = value, item;
  const char *open;
  if (unwrapped(&rest, '[', ']') && !rest.length) return true;
  while (next_item(&rest, &item, &open)) {
    if (!parse_int(row, item, ir_push(site->arena, list))) return refuse(site, row, value, "");
  }
  return open ? refuse(site, row, value, "") : true;
}

/* A text as it stands, or, in option text, the body of a quoted one. NULL, with an error, for an unknown escape. */
static const char *unquoted(const ir_opt_site *site, ir_slice value) {
  if (!site->owner || value.length < 2 || value.at[0] != '"') return ir_arena_copy(site->arena, value.at, value.length);
  char *out = ir_arena_copy(site->arena, value.at, value.length), *to = out;
  for (size_t i = 1; i + 1 < value.length; i++) {
    if (value.at[i] == '"') {
      report(site, (ir_slice){value.at + i + 1, value.length - i - 1},
             "expected ',' or the end of the options, found '%s'",
             shown(site, (ir_slice){value.at + i + 1, value.length - i - 1}));
      return NULL;
    }
    if (value.at[i] == '\\' && value.at[++i] != '"' && value.at[i] != '\\') {
      report(site, (ir_slice){value.at + i - 1, 2}, "unknown escape '\\%c' in an option: expected '\\\"' or '\\\\'",
             value.at[i]);
      return NULL;
    }
    *to++ = value.at[i];
  }
  *to = 0;
  return out;
}

static bool add_string(const ir_opt_site *site, ir_opt_strings *list, ir_slice value) {
  const char *kept = unquoted(site, value);
  if (kept) *ir_push(site->arena, list) = kept;
  return kept;
}

static bool set_strings(const ir_opt_site *site, ir_opt_strings *list, ir_slice value) {
  if (!site->owner || !unwrapped(&value, '[', ']')) return add_string(site, list, value);
  ir_slice item;
  const char *open;
  if (!value.length) return true;
  while (next_item(&value, &item, &open)) {
    if (!add_string(site, list, item)) return false;
  }
  return !open;
}

static bool set_group(const ir_opt_site *site, const ir_opt *row, void *field, ir_slice value) {
  ir_opt_site inner = *site;
  inner.owner = naming(site, row);
  return ir_opt_parse(&inner, row->group, field, value);
}

static bool store(const ir_opt_site *site, const ir_opt *row, void *field, ir_slice value) {
  switch (row->kind) {
  case IR_OPT_FLAG: return parse_flag(value, field) || refuse(site, row, value, "");
  case IR_OPT_INT: return parse_int(row, value, field) || refuse(site, row, value, "");
  case IR_OPT_UINT: return parse_uint(row, value, field) || refuse(site, row, value, "");
  case IR_OPT_FLOAT: return parse_float(row, value, field) || refuse(site, row, value, "");
  case IR_OPT_STRING: return (*(const char **)field = unquoted(site, value)) != NULL;
  case IR_OPT_CHOICE: return set_choice(site, row, field, value);
  case IR_OPT_STRINGS: return set_strings(site, field, value);
  case IR_OPT_INTS: return set_ints(site, row, field, value);
  case IR_OPT_GROUP: return set_group(site, row, field, value);
  }
  return false;
}

static bool is_given(const ir_opt_site *site, const void *field) {
  for (size_t i = 0; i < site->given->count; i++) {
    if (site->given->at[i] == field) return true;
  }
  return false;
}

static void clear(const ir_opt *row, void *field) { memset(field, 0, kinds[row->kind].size); }

bool ir_opt_set(const ir_opt_site *site, const ir_opt *row, void *into, ir_slice value) {
  void *field = (char *)into + row->offset;
  if (row->kind == IR_OPT_GROUP) return store(site, row, field, value);
  if (site->given && is_given(site, field)) {
    if (row->kind != IR_OPT_STRINGS) return report(site, value, "%s is given twice", naming(site, row)), false;
  } else if (site->given) {
    clear(row, field);
    *ir_push(site->arena, site->given) = field;
  }
  return store(site, row, field, value);
}

bool ir_opt_defaults(const ir_opt_site *site, const ir_opt *rows, void *into) {
  bool ok = true;
  ir_opt_site quiet = *site;
  quiet.given = NULL;
  for (const ir_opt *row = rows; row->name; row++) {
    void *field = (char *)into + row->offset;
    if (row->kind == IR_OPT_GROUP) {
      ok &= ir_opt_defaults(site, row->group, field);
      continue;
    }
    clear(row, field);
    if (row->text) ok &= store(&quiet, row, field, ir_slice_of(row->text));
  }
  return ok;
}

const ir_opt *ir_opt_find(const ir_opt *rows, ir_slice name) {
  for (const ir_opt *row = rows; row->name; row++) {
    if (ir_slice_is(name, row->name)) return row;
  }
  return NULL;
}

void ir_opt_offer(const ir_opt *rows, ir_nearest *nearest) {
  for (const ir_opt *row = rows; row->name; row++) ir_nearest_offer(nearest, ir_slice_of(row->name));
}

static void report_unknown(const ir_opt_site *site, const ir_opt *rows, ir_slice name) {
  ir_nearest nearest = {.wanted = name};
  ir_opt_offer(rows, &nearest);
  ir_text text = {0};
  ir_text_printf(&text, "%s has no option '%s'", site->owner, shown(site, name));
  if (nearest.best.at) {
    ir_text_printf(&text, "; did you mean '%.*s'?", (int)nearest.best.length, nearest.best.at);
  } else {
    for (const ir_opt *row = rows; row->name; row++) {
      ir_text_printf(&text, "%s '%s'", row == rows ? "; it has" : row[1].name ? "," : " and", row->name);
    }
    if (!rows->name) ir_text_put(&text, "; it takes none");
  }
  report(site, name, "%s", text.at);
  ir_text_free(&text);
}

/* `name=value` or a bare name. */
static bool parse_entry(const ir_opt_site *site, const ir_opt *rows, void *into, ir_slice entry) {
  const char *equals = entry.length ? memchr(entry.at, '=', entry.length) : NULL;
  ir_slice name = ir_slice_trim((ir_slice){entry.at, equals ? (size_t)(equals - entry.at) : entry.length});
  if (!name.length) {
    report(site, entry, "options of %s: expected a name, found '%s'", site->owner, shown(site, entry));
    return false;
  }
  const ir_opt *row = ir_opt_find(rows, name);
  if (!row) return report_unknown(site, rows, name), false;
  if (!equals && !row->bare) return refuse(site, row, (ir_slice){name.at + name.length, 0}, "");
  if (!equals) return ir_opt_set(site, row, into, ir_slice_of(row->bare));
  return ir_opt_set(site, row, into, ir_slice_trim((ir_slice){equals + 1, (size_t)(entry.at + entry.length - equals - 1)}));
}

bool ir_opt_parse(const ir_opt_site *site, const ir_opt *rows, void *into, ir_slice text) {
  ir_opt_fields given = {0};
  ir_opt_site inner = *site;
  if (!inner.given) inner.given = &given;
  ir_slice rest = ir_slice_trim(text), entry;
  unwrapped(&rest, '{', '}');
  if (!rest.length) return true;
  bool ok = true;
  const char *open;
  while (next_item(&rest, &entry, &open)) {
    if (!entry.length && !rest.at && ok) break; /* after a last comma */
    ok &= parse_entry(&inner, rows, into, entry);
  }
  return open ? report_open(&inner, open) : ok;
}

static void put_value(const ir_opt *row, ir_text *text) {
  if (row->kind == IR_OPT_FLAG && !row->text) return;
  const char *word = row->value ? row->value : row->kind == IR_OPT_CHOICE ? row->choices : kinds[row->kind].word;
  ir_text_printf(text, row->bare ? "[=%s]" : "=%s", word);
}

/* Appends WORDS, broken at blanks, in the columns from INDENT on. */
static void put_wrapped(ir_text *text, const char *words, size_t indent, size_t column) {
  enum { WIDTH = 100 };
  ir_slice rest = ir_slice_of(words), word;
  while (next_word(&rest, ' ', &word)) {
    if (column > indent && column + 1 + word.length > WIDTH) {
      ir_text_printf(text, "\n%*s", (int)indent, "");
      column = indent;
    }
    if (column > indent) ir_text_char(text, ' '), column++;
    ir_text_bytes(text, word.at, word.length);
    column += word.length;
  }
  ir_text_char(text, '\n');
}

void ir_opt_help(const ir_opt *rows, const char *dashes, ir_text *text) {
  enum { COLUMN = 30 };
  for (const ir_opt *row = rows; row->name; row++) {
    size_t start = text->length;
    ir_text_put(text, "  ");
    if (row->letter && *dashes) ir_text_printf(text, "-%c, ", row->letter);
    ir_text_printf(text, "%s%s", dashes, row->name);
    put_value(row, text);
    size_t width = text->length - start;
    bool fits = width + 2 <= COLUMN;
    ir_text_printf(text, "%s%*s", fits ? "" : "\n", (int)(fits ? COLUMN - width : COLUMN), "");
    ir_text doc = {0};
    ir_text_put(&doc, row->doc);
    if (row->text) ir_text_printf(&doc, " (default %s)", row->text);
    put_wrapped(text, doc.at, COLUMN, COLUMN);
    ir_text_free(&doc);
    if (row->kind != IR_OPT_GROUP) continue;
    for (const ir_opt *inner = row->group; inner->name; inner++) {
      ir_text_printf(text, "%*s%s", COLUMN, "", inner->name);
      put_value(inner, text);
      ir_text_put(text, ": ");
      put_wrapped(text, inner->doc, COLUMN + 2, COLUMN + 20);
    }
  }
}
