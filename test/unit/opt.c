// SPDX-License-Identifier: Apache-2.0
/* Option tables and command lines: values, defaults, order, and the words of each error. */
#include "base/command.h"
#include "base/vec.h"
#include "test/unit/check.h"

#include <stdlib.h>

typedef enum mode { INFERENCE, TRAINING } mode;

typedef struct fp_options {
  bool fma;
  mode order;
} fp_options;

typedef struct options {
  bool exact, checked;
  int64_t shift;
  uint64_t depth, bench;
  double rtol;
  const char *entry, *output;
  mode mode;
  ir_opt_strings inputs;
  ir_opt_ints tile;
  fp_options fp;
  ir_text passes; /* names of unknown flags that were accepted */
} options;

static const ir_opt fp_rows[] = {
    OPT_FLAG(fp_options, fma, "fma", "off", "fuse multiply and add"),
    OPT_CHOICE(fp_options, order, "order", "fixed|free", "fixed", "order of sums"),
    OPT_END,
};

static const ir_opt rows[] = {
    OPT_FLAG(options, exact, "exact", NULL, "no pass that changes bits"),
    OPT_FLAG(options, checked, "checked", "on", "check indices"),
    OPT_INT(options, shift, "shift", "-3", "a signed number"),
    OPT_UINT(options, depth, "max-depth", "256", "operators in a group", .min = 1, .max = 4096),
    OPT_UINT(options, bench, "bench", NULL, "measure N runs", .bare = "30"),
    OPT_FLOAT(options, rtol, "rtol", "1e-3", "relative tolerance", .min = 0, .max = 1),
    OPT_STRING(options, entry, "entry", "main", "function to run"),
    OPT_STRING(options, output, "output", NULL, "where to write", .letter = 'o', .value = "FILE"),
    OPT_CHOICE(options, mode, "mode", "inference|training", "inference", "what for", .instead = "learning=training"),
    OPT_STRINGS(options, inputs, "input", NULL, "an input"),
    OPT_INTS(options, tile, "tile", "[8, 8]", "extents", .min = 1, .max = INT64_MAX),
    OPT_GROUP(options, fp, "fp", fp_rows, "floating-point contract"),
    OPT_END,
};

/* What one parse said, as text that lives until the next. */
static ir_text said;

static void keep(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)user;
  char *line = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&line, &size);
  ir_diag_print(out, diags, diag);
  fclose(out);
  ir_text_bytes(&said, line, size);
  free(line);
}

static ir_flag_result pass_flag(void *user, const ir_opt_site *site, ir_slice name, ir_slice value) {
  options *o = user;
  if (ir_slice_is(name, "broken")) {
    ir_error_in(site->diags, site->where, "pass 'broken' does not exist any more");
    return IR_FLAG_FAILED;
  }
  if (!ir_slice_is(name, "cse") && !ir_slice_is(name, "fuse-ops")) return IR_FLAG_UNKNOWN;
  ir_text_printf(&o->passes, "%.*s", (int)name.length, name.at);
  if (value.at) ir_text_printf(&o->passes, "<%.*s>", (int)value.length, value.at);
  ir_text_put(&o->passes, " ");
  return IR_FLAG_TAKEN;
}

static void offer_passes(void *user, ir_nearest *nearest) {
  (void)user;
  ir_nearest_offer(nearest, ir_lit("cse"));
  ir_nearest_offer(nearest, ir_lit("fuse-ops"));
}

static ir_arena arena;
static options parsed;
static ir_args args;

#define ARGV_MAX 16
/* Parses the blank-separated words of LINE. */
static int command(const char *line) {
  static char words[512];
  char *argv[ARGV_MAX + 1] = {"tool"};
  int argc = 1;
  snprintf(words, sizeof words, "%s", line);
  for (char *word = strtok(words, " "); word && argc < ARGV_MAX; word = strtok(NULL, " ")) argv[argc++] = word;
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, keep, NULL);
  said.length = 0;
  ir_text_put(&said, "");
  ir_text_free(&parsed.passes);
  memset(&parsed, 0xa5, sizeof parsed);
  parsed.passes = (ir_text){0};
  const ir_command tool = {.name = "tool",
                           .usage = "[options] [file]",
                           .doc = "A tool.",
                           .options = rows,
                           .most = 2,
                           .flag = pass_flag,
                           .offer = offer_passes,
                           .user = &parsed};
  int status = ir_command_parse(&tool, diags, &arena, argc, argv, &parsed, &args);
  for (size_t i = 0; i < args.count; i++) args.at[i] = ir_arena_copy(&arena, args.at[i], strlen(args.at[i]));
  ir_diags_free(diags);
  return status;
}

static void check_error(const char *line, const char *message) {
  CHECK(command(line) == IR_EXIT_USAGE);
  CHECK_TEXT(said.at, message);
}

static void test_defaults(void) {
  CHECK(command("") == -1);
  CHECK(!parsed.exact && parsed.checked);
  CHECK(parsed.shift == -3 && parsed.depth == 256 && parsed.bench == 0 && parsed.rtol == 1e-3);
  CHECK_TEXT(parsed.entry, "main");
  CHECK(!parsed.output && parsed.mode == INFERENCE && parsed.inputs.count == 0);
  CHECK(parsed.tile.count == 2 && parsed.tile.at[0] == 8 && parsed.tile.at[1] == 8);
  CHECK(!parsed.fp.fma && parsed.fp.order == 0);
  CHECK(args.count == 0 && args.given.count == 0);
}

static void test_values(void) {
  CHECK(command("--exact --checked=off --shift=-9223372036854775808 --max-depth 0x10 --rtol=.5 m.rill") == -1);
  CHECK(parsed.exact && !parsed.checked && parsed.shift == INT64_MIN && parsed.depth == 16 && parsed.rtol == 0.5);
  CHECK(args.count == 1 && !strcmp(args.at[0], "m.rill"));
  CHECK(ir_args_given(&args, &parsed.exact) && ir_args_given(&args, &parsed.rtol));
  CHECK(!ir_args_given(&args, &parsed.entry));

  CHECK(command("a --bench -o out.rill --input=x=[1].npy --input y.npy b --entry=f") == -1);
  CHECK(parsed.bench == 30 && args.count == 2 && !strcmp(args.at[1], "b"));
  CHECK_TEXT(parsed.output, "out.rill");
  CHECK_TEXT(parsed.entry, "f");
  CHECK(parsed.inputs.count == 2);
  CHECK_TEXT(parsed.inputs.at[0], "x=[1].npy");
  CHECK_TEXT(parsed.inputs.at[1], "y.npy");

  CHECK(command("--bench=7 -oout.rill - -- --strange") == -1);
  CHECK(parsed.bench == 7 && args.count == 2 && !strcmp(args.at[0], "-") && !strcmp(args.at[1], "--strange"));

  CHECK(command("--tile=4,1 --mode training --fp=fma=true,order=free --shift -1") == -1);
  CHECK(parsed.tile.count == 2 && parsed.tile.at[0] == 4 && parsed.tile.at[1] == 1 && parsed.mode == TRAINING);
  CHECK(parsed.fp.fma && parsed.fp.order == 1 && parsed.shift == -1);

  CHECK(command("--fp={fma} --tile=[] --max-depth=4096") == -1);
  CHECK(parsed.fp.fma && parsed.tile.count == 0 && parsed.depth == 4096);
}

static void test_flags_in_order(void) {
  CHECK(command("--fuse-ops{max-depth=3} x.rill --cse --exact --fuse-ops=a=b --cse") == -1);
  CHECK_TEXT(parsed.passes.at, "fuse-ops<{max-depth=3}> cse fuse-ops<a=b> cse ");
  CHECK(args.count == 1 && parsed.exact);
}

static void test_errors(void) {
  check_error("--exat", "tool: error: unknown option '--exat'; did you mean '--exact'?\n");
  check_error("--csee=1", "tool: error: unknown option '--csee'; did you mean '--cse'?\n");
  check_error("-cse", "tool: error: unknown option '-cse'; did you mean '--cse'?\n");
  check_error("--zzzzzz", "tool: error: unknown option '--zzzzzz'; 'tool --help' lists them\n");
  check_error("--broken", "tool: error: pass 'broken' does not exist any more\n");
  check_error("--mode=infrence", "tool: error: option '--mode': expected 'inference' or 'training', found 'infrence'; "
                                 "did you mean 'inference'?\n");
  check_error("--mode=learning", "tool: error: option '--mode': expected 'inference' or 'training', found 'learning'; "
                                 "did you mean 'training'?\n");
  check_error("--max-depth=0", "tool: error: option '--max-depth': expected an integer from 1 to 4096, found '0'\n");
  check_error("--max-depth=-1", "tool: error: option '--max-depth': expected an integer from 1 to 4096, found '-1'\n");
  check_error("--bench=18446744073709551616",
              "tool: error: option '--bench': expected an integer of at least 0, found '18446744073709551616'\n");
  check_error("--shift=9223372036854775808",
              "tool: error: option '--shift': expected an integer, found '9223372036854775808'\n");
  check_error("--shift=1x", "tool: error: option '--shift': expected an integer, found '1x'\n");
  check_error("--shift=", "tool: error: option '--shift': expected an integer, found nothing\n");
  check_error("--rtol=nan", "tool: error: option '--rtol': expected a number from 0 to 1, found 'nan'\n");
  check_error("--rtol=1e999", "tool: error: option '--rtol': expected a number from 0 to 1, found '1e999'\n");
  check_error("--checked=yes", "tool: error: option '--checked': expected 'on' or 'off', found 'yes'\n");
  check_error(
      "--tile=4,0",
      "tool: error: option '--tile': expected a list such as [1, 2], each an integer of at least 1, found '4,0'\n");
  check_error("--output", "tool: error: option '--output': expected FILE, found nothing\n");
  check_error("--output --exact", "tool: error: option '--output': expected FILE, found option '--exact'\n");
  check_error("--output=", "tool: error: option '--output': expected FILE, found nothing\n");
  check_error("--entry=a --entry=b", "tool: error: option '--entry' is given twice\n");
  check_error("--fp=fmaa=on", "tool: error: option '--fp' has no option 'fmaa'; did you mean 'fma'?\n");
  check_error("--fp=fma=on --fp=fma=off", "tool: error: option 'fma' of option '--fp' is given twice\n");
  check_error("a b c", "tool: error: unexpected argument 'c'; usage: tool [options] [file]\n");
  check_error("--exat --shift=q", "tool: error: unknown option '--exat'; did you mean '--exact'?\n"
                                  "tool: error: option '--shift': expected an integer, found 'q'\n");
  check_error("--mode=\x1b[31m", "tool: error: option '--mode': expected 'inference' or 'training', found "
                                 "'\\x1b[31m'\n");
}

/* Parses TEXT as the options of a pass; whole errors stand in `said`. */
static bool option_text(const char *text, bool located) {
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, keep, NULL);
  said.length = 0;
  ir_text_put(&said, "");
  const ir_source *source = located ? ir_source_add(diags, "<pipeline>", text, strlen(text), 1) : NULL;
  const ir_opt_site site = {.diags = diags, .arena = &arena, .source = source, .owner = "pass 'fuse-ops'"};
  bool ok = ir_opt_defaults(&site, rows, &parsed) && ir_opt_parse(&site, rows, &parsed, ir_slice_of(text));
  CHECK(ok == !ir_diags_errors(diags));
  ir_diags_flush(diags);
  ir_diags_free(diags);
  return ok;
}

static void check_text_error(const char *text, const char *message) {
  CHECK(!option_text(text, false));
  CHECK_TEXT(said.at, message);
}

static void test_option_text(void) {
  CHECK(option_text("{max-depth=8,mode=training}", false));
  CHECK(parsed.depth == 8 && parsed.mode == TRAINING);
  CHECK(option_text(" exact , tile = [1, 2,3] , input=[a, \"b, \\\"c\\\\\"], entry=llvm{cpu=x,y=[1,2]},", false));
  CHECK(parsed.exact && parsed.tile.count == 3 && parsed.tile.at[2] == 3 && parsed.inputs.count == 2);
  CHECK_TEXT(parsed.inputs.at[1], "b, \"c\\");
  CHECK_TEXT(parsed.entry, "llvm{cpu=x,y=[1,2]}");
  CHECK(option_text("fp={fma=on, order=free}, bench", false));
  CHECK(parsed.fp.fma && parsed.fp.order == 1 && parsed.bench == 30);
  CHECK(option_text("", false) && option_text("{}", false) && option_text(" { } ", false));

  check_text_error("max-dept=8", "error: pass 'fuse-ops' has no option 'max-dept'; did you mean 'max-depth'?\n");
  check_text_error("mode",
                   "error: option 'mode' of pass 'fuse-ops': expected 'inference' or 'training', found nothing\n");
  check_text_error("=3", "error: options of pass 'fuse-ops': expected a name, found '=3'\n");
  check_text_error("exact,,bench", "error: options of pass 'fuse-ops': expected a name, found ''\n");
  check_text_error("tile=[1,2", "error: options of pass 'fuse-ops': found '[' without ']'\n");
  check_text_error("tile=1]", "error: options of pass 'fuse-ops': found ']' without '['\n");
  check_text_error("entry=\"a", "error: options of pass 'fuse-ops': found '\"' without '\"'\n");
  check_text_error("entry=\"a\"b", "error: expected ',' or the end of the options, found 'b'\n");
  check_text_error("entry=\"\\n\"", "error: unknown escape '\\n' in an option: expected '\\\"' or '\\\\'\n");
  check_text_error("shift=1,shift=2", "error: option 'shift' of pass 'fuse-ops' is given twice\n");
  check_text_error("fp={qqqqqq=1}",
                   "error: option 'fp' of pass 'fuse-ops' has no option 'qqqqqq'; it has 'fma' and 'order'\n");
  CHECK(!option_text("exact, mode=infer", true));
  CHECK_TEXT(said.at, "<pipeline>:1:13: error: option 'mode' of pass 'fuse-ops': expected 'inference' or 'training', "
                      "found 'infer'\n  exact, mode=infer\n              ^~~~~\n");
}

static void test_help(void) {
  ir_text text = {0};
  ir_opt_help(rows, "--", &text);
  CHECK(strstr(text.at, "  -o, --output=FILE           where to write\n"));
  CHECK(strstr(text.at, "  --exact                     no pass that changes bits\n"));
  CHECK(strstr(text.at, "  --bench[=N]                 measure N runs\n"));
  CHECK(strstr(text.at, "  --checked[=on|off]          check indices (default on)\n"));
  CHECK(strstr(text.at, "  --mode=inference|training   what for (default inference)\n"));
  ir_text_free(&text);
}

int main(void) {
  test_defaults();
  test_values();
  test_flags_in_order();
  test_errors();
  test_option_text();
  test_help();
  ir_text_free(&said);
  ir_text_free(&parsed.passes);
  ir_arena_free(&arena);
  return CHECK_REPORT("opt");
}
