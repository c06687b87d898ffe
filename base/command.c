// SPDX-License-Identifier: Apache-2.0
/* base/command.c - command lines: reads argv with an option table, prints help. Needs base/opt. */
#include "base/command.h"

#include "base/output.h"
#include "base/vec.h"

typedef struct reader {
  const ir_command *command;
  const ir_opt_site *site;
  void *into;
  ir_args *args;
  char **at, **end; /* what is left of argv */
} reader;

bool ir_args_given(const ir_args *args, const void *field) {
  for (size_t i = 0; i < args->given.count; i++) {
    if (args->given.at[i] == field) return true;
  }
  return false;
}

static const char *escaped(const reader *r, ir_slice bytes) {
  ir_text text = {0};
  ir_text_put(&text, "");
  ir_text_escaped(&text, bytes);
  const char *kept = ir_arena_copy(r->site->arena, text.at, text.length);
  ir_text_free(&text);
  return kept;
}

static bool unknown(const reader *r, const char *dashes, ir_slice name) {
  ir_nearest nearest = {.wanted = name};
  ir_opt_offer(r->command->options, &nearest);
  if (r->command->offer) r->command->offer(r->command->user, &nearest);
  ir_nearest_offer(&nearest, ir_lit("help"));
  ir_nearest_offer(&nearest, ir_lit("version"));
  const char *hint = ir_arena_printf(r->site->arena, "'%s --help' lists them", r->command->name);
  if (nearest.best.at) {
    hint = ir_arena_printf(r->site->arena, "did you mean '--%.*s'?", (int)nearest.best.length, nearest.best.at);
  }
  ir_error_in(r->site->diags, r->site->where, "unknown option '%s%s'; %s", dashes, escaped(r, name), hint);
  return false;
}

/* NEXT is the argument behind ROW's that cannot be its value; NULL: there is none. */
static bool lacks_value(reader *r, const ir_opt *row, const char *next) {
  ir_text expected = {0};
  ir_opt_expected(row, &expected);
  ir_error_in(r->site->diags, r->site->where, "option '--%s': expected %s, found %s%s%s", row->name, expected.at, next ? "option '" : "nothing",
              next ? escaped(r, ir_slice_of(next)) : "", next ? "'" : "");
  ir_text_free(&expected);
  return false;
}

/* Sets ROW to VALUE, to what its bare name stands for, or to the next argument. */
static bool set(reader *r, const ir_opt *row, ir_slice value) {
  if (!value.at && row->bare) value = ir_slice_of(row->bare);
  if (!value.at) {
    if (r->at == r->end) return lacks_value(r, row, NULL);
    if (!strncmp(*r->at, "--", 2)) return lacks_value(r, row, *r->at);
    value = ir_slice_of(*r->at++);
  }
  bool text = row->kind == IR_OPT_STRING || row->kind == IR_OPT_STRINGS;
  if (text && !value.length && !row->empty) return lacks_value(r, row, NULL);
  if (!ir_opt_set(r->site, row, r->into, value)) return false;
  return !row->in_order || r->command->flag(r->command->user, r->site, ir_slice_of(row->name), value) == IR_FLAG_TAKEN;
}

/* TEXT is what follows the two dashes. */
static bool read_long(reader *r, const char *text) {
  const ir_command *command = r->command;
  size_t name_length = strcspn(text, "=");
  ir_slice name = {text, name_length};
  ir_slice value = text[name_length] ? ir_slice_of(text + name_length + 1) : (ir_slice){0};
  const ir_opt *row = ir_opt_find(command->options, name);
  if (row) return set(r, row, value);
  name.length = strcspn(text, "={");
  if (text[name.length] == '{') value = ir_slice_of(text + name.length);
  if (!command->flag) return unknown(r, "--", name);
  switch (command->flag(command->user, r->site, name, value)) {
  case IR_FLAG_UNKNOWN: return unknown(r, "--", name);
  case IR_FLAG_TAKEN: return true;
  case IR_FLAG_FAILED: return false;
  }
  return false;
}

/* TEXT is what follows the one dash: a letter, then its value or nothing. */
static bool read_short(reader *r, const char *text) {
  for (const ir_opt *row = r->command->options; row->name; row++) {
    if (!row->letter || row->letter != text[0]) continue;
    if (row->bare && text[1]) break;
    ir_slice value = text[1] ? ir_slice_of(text + 1) : (ir_slice){0};
    return set(r, row, value);
  }
  return unknown(r, "-", (ir_slice){text, strcspn(text, "=")});
}

static bool read_all(reader *r) {
  bool ok = true, options = true;
  while (r->at < r->end) {
    const char *text = *r->at++;
    if (!options || text[0] != '-' || !text[1]) {
      *ir_push(r->site->arena, r->args) = text;
    } else if (!strcmp(text, "--")) {
      options = false;
    } else {
      ok &= text[1] == '-' ? read_long(r, text + 2) : read_short(r, text + 1);
    }
  }
  return ok;
}

static bool check_count(const reader *r) {
  const ir_command *command = r->command;
  size_t count = r->args->count;
  if (count >= command->least && count <= command->most) return true;
  if (count > command->most) {
    ir_error_in(r->site->diags, r->site->where, "unexpected argument '%s'; usage: %s %s",
                escaped(r, ir_slice_of(r->args->at[command->most])), command->name, command->usage);
  } else {
    ir_error_in(r->site->diags, r->site->where, "expected %zu %s, found %zu; usage: %s %s", command->least,
                command->least == 1 ? "argument" : "arguments", count, command->name, command->usage);
  }
  return false;
}

void ir_command_help(const ir_command *command, ir_text *text) {
  static const ir_opt common[] = {{.name = "help", .bare = "", .doc = "print this page"},
                                  {.name = "version", .bare = "", .doc = "print the version"},
                                  OPT_END};
  ir_text_printf(text, "usage: %s %s\n\n%s\n\noptions:\n", command->name, command->usage, command->doc);
  ir_opt_help(command->options, "--", text);
  ir_opt_help(common, "--", text);
  if (command->help) command->help(command->user, text);
}

static int answer(ir_diags *diags, ir_text *text) {
  ir_output *output = ir_output_open(diags, "-");
  if (output) ir_output_text(output, text->at);
  ir_text_free(text);
  bool fine = output && ir_output_commit(output);
  ir_diags_flush(diags);
  return fine ? IR_EXIT_OK : IR_EXIT_INPUT;
}

/* Answers `--help` and `--version` wherever they stand before `--`; -1 where neither does. */
static int answered(const ir_command *command, ir_diags *diags, int argc, char **argv) {
  ir_text text = {0};
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
    if (!strcmp(argv[i], "--version")) {
      ir_text_printf(&text, "%s %s\n", command->name, RILL_VERSION);
      return answer(diags, &text);
    }
    if (strcmp(argv[i], "--help") && strcmp(argv[i], "-h")) continue;
    ir_command_help(command, &text);
    return answer(diags, &text);
  }
  return -1;
}

int ir_command_parse(const ir_command *command, ir_diags *diags, ir_arena *arena, int argc, char **argv, void *into,
                     ir_args *args) {
  *args = (ir_args){0};
  int status = answered(command, diags, argc, argv);
  if (status >= 0) return status;
  ir_opt_site site = {.diags = diags, .arena = arena, .where = command->name, .given = &args->given};
  reader r = {command, &site, into, args, argv + (argc > 0), argv + argc};
  bool ok = ir_opt_defaults(&site, command->options, into);
  ok &= read_all(&r);
  if (ok) ok = check_count(&r);
  if (ok) return -1;
  ir_diags_flush(diags);
  return IR_EXIT_USAGE;
}
