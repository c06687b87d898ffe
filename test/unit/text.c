// SPDX-License-Identifier: Apache-2.0
/* parser, ir/print: the samples print as they stand, whatever is done to them ends in a message or in sound text, and
 * the printer takes IR that nothing else would. */
#include "base/vec.h"
#include "check_diags.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "parser/lexer.h"
#include "parser/parser.h"

#include <dirent.h>
#include <stdlib.h>

static ir_diags *diags;
static ir_context *context;

static ir_module *parse(const char *text, size_t length) {
  static const ir_parse_options options = {.allow_elided = true};
  const ir_source *source = ir_source_add(diags, "text", text, length, 1);
  return ir_parse(context, source, &options);
}

static const char *print(ir_text *text, const ir_module *module, const ir_print_options *options) {
  ir_text_free(text);
  ir_print_module(text, module, options);
  return text->at;
}

/* A fresh context for each group, so that memory stays small. */
static void start(void) {
  diags = ir_diags_new();
  ir_diags_set_handler(diags, check_keep, NULL);
  context = ir_context_new(diags);
}

static void end(void) {
  ir_context_free(context);
  ir_diags_free(diags);
}

/* --- the samples --- */

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  static char bytes[1 << 16];
  *length = fread(bytes, 1, sizeof bytes - 1, file);
  bytes[*length] = 0;
  fclose(file);
  return bytes;
}

static const char folder[] = "test/lit/print";

/* Calls TEST with each sample, without the comments at its start. */
static void each_sample(void (*test)(const char *name, const char *text)) {
  DIR *list = opendir(folder);
  CHECK(list != NULL);
  size_t count = 0;
  for (struct dirent *entry; list && (entry = readdir(list));) {
    if (!strstr(entry->d_name, ".rill") || strstr(entry->d_name, "canonical")) continue;
    char path[512];
    size_t length;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    const char *text = read_file(path, &length);
    while (text && !strncmp(text, "//", 2)) text = strchr(text, '\n') + 1;
    if (CHECK(text != NULL)) test(entry->d_name, text);
    count++;
  }
  if (list) closedir(list);
  CHECK(count >= 13);
}

static void test_prints_as_it_stands(const char *name, const char *text) {
  start();
  ir_module *module = parse(text, strlen(text));
  ir_text printed = {0};
  if (CHECK(module && ir_verify_module(module)))
    CHECK_TEXT(print(&printed, module, NULL), text);
  else
    printf("  %s\n", name);
  CHECK_DIAGS(diags, "");
  ir_module_free(module);
  ir_text_free(&printed);
  end();
}

/* --- damage --- */

/* TEXT either does not parse, and something is reported, or prints as text that prints as itself. */
static bool survives(const char *text, size_t length) {
  size_t before = ir_diags_errors(diags);
  char *copy = ir_heap_alloc(length + 1); /* a sanitizer sees reads beyond it */
  if (length) memcpy(copy, text, length);
  copy[length] = 0;
  ir_module *module = parse(copy, length);
  bool reported = ir_diags_errors(diags) > before, same = true;
  if (module) {
    ir_text once = {0}, twice = {0};
    bool sound = ir_verify_module(module);
    print(&once, module, NULL);
    ir_module *again = parse(once.at, once.length);
    if (again) print(&twice, again, NULL);
    same = again ? !strcmp(once.at, twice.at) : !sound;
    ir_module_free(again);
    ir_text_free(&once);
    ir_text_free(&twice);
  }
  bool fine = module ? !reported && same : reported;
  if (!fine) printf("  %.*s\n", (int)length, text);
  ir_module_free(module);
  ir_diags_forget_errors(diags);
  ir_heap_free(copy);
  return fine;
}

struct piece {
  size_t begin, end;
};

static size_t split(const char *text, struct piece *pieces, size_t most) {
  const ir_source source = {.text = text, .length = strlen(text), .base = 1};
  ir_lexer lexer = ir_lexer_new(&source, 0);
  size_t count = 0;
  ir_range range;
  while (count < most && ir_lex(&lexer, &range)) pieces[count++] = (struct piece){range.begin - 1, range.end - 1};
  return count;
}

/* TEXT with the token at AT replaced by COUNT bytes from WITH. */
static bool survives_edit(const char *text, struct piece at, const char *with, size_t count) {
  ir_text edited = {0};
  ir_text_bytes(&edited, text, at.begin);
  ir_text_bytes(&edited, with, count);
  ir_text_put(&edited, text + at.end);
  bool fine = survives(edited.at, edited.length);
  ir_text_free(&edited);
  return fine;
}

static void test_damage(const char *name, const char *text) {
  (void)name;
  enum { MOST = 4000 };
  static struct piece pieces[MOST];
  size_t count = split(text, pieces, MOST);
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) {
    if (i % 64 == 0) {
      if (i) end();
      start();
    }
    struct piece at = pieces[i], next = pieces[i + 1 < count ? i + 1 : 0], other = pieces[(i * 7919 + 13) % count];
    wrong += !survives(text, at.begin + (at.end - at.begin) / 2); /* a text that breaks off */
    wrong += !survives_edit(text, at, "", 0);
    wrong += !survives_edit(text, at, text + next.begin, next.end - next.begin);
    wrong += !survives_edit(text, (struct piece){at.begin, at.begin}, text + at.begin, at.end - at.begin);
    wrong += !survives_edit(text, at, text + other.begin, other.end - other.begin);
    wrong += !survives_edit(text, at, "99999999999999999999", 20);
    wrong += !survives_edit(text, at, "\xff", 1);
  }
  end();
  CHECK(wrong == 0);
}

/* --- limits --- */

static void repeat(ir_text *text, const char *piece, size_t count) {
  for (size_t i = 0; i < count; i++) ir_text_put(text, piece);
}

static void check_nest(const char *before, const char *open, const char *middle, const char *close, const char *after,
                       size_t count, const char *wanted) {
  start();
  ir_text text = {0};
  ir_text_put(&text, before);
  repeat(&text, open, count);
  ir_text_put(&text, middle);
  repeat(&text, close, count);
  ir_text_put(&text, after);
  ir_module *module = parse(text.at, text.length);
  CHECK((module != NULL) == !*wanted);
  CHECK_DIAGS(diags, wanted);
  ir_module_free(module);
  ir_text_free(&text);
  end();
}

static void test_limits(void) {
  static const char head[] = "module {\n func @f(%x: f32[n]) -> f32[n] {\n", tail[] = " return %x } }";
  static const char bound[] = "module {\n func @f(%x: f32[n]) -> f32[n] {\n %a = ";
  static const char brackets[] = "brackets or signs nested more than 250 deep";
  check_nest(head, "if n > 1 {\n", "", "}\n", tail, 999, "");
  check_nest(head, "if n > 1 {\n", "", "}\n", tail, 1000, "regions nested more than 1000 deep");
  check_nest(head, "if n > 1 {\n", "", "}\n", tail, 100000, "regions nested more than 1000 deep");
  check_nest(bound, "(", "1", ")", tail, 250, "");
  check_nest(bound, "(", "1", ")", tail, 1000000, brackets);
  check_nest(bound, "-", "n", "", tail, 200, "");
  check_nest(bound, "-", "n", "", tail, 1000000, brackets);
  check_nest(bound, "n + ", "n", "", tail, 100, "");
  check_nest(bound, "n + ", "n", "", tail, 240,
             "an expression of 481 nodes: bind parts of it to names, at most 256 are allowed");
  check_nest(bound, "n + ", "n", "", tail, 1000000, "nested more than 250 deep");
  check_nest(bound, "9", "", "", tail, 1000000, "9999999999999999999999999999999999999999... is out of range for i64");
  check_nest(bound, "", "0.", "1", tail, 1000000, "");
  check_nest("module with {a=", "{a=", "1", "}", "} {}", 100000, "nested too deep");
  check_nest("module with {a=", "[", "1", "]", "} {}", 100000, brackets);
  check_nest("extern func @f(%x: ", "fn() -> ", "f32", "", ") -> ()", 1000000,
             "expected 'rill' or 'module', found 'extern'");
  check_nest("module { extern func @f(%x: ", "fn() -> ", "f32", "", ") -> () }", 100, "");
  check_nest("module { extern func @f(%x: ", "fn() -> ", "f32", "", ") -> () }", 1000, "nested more than 250 deep");
  check_nest("module { extern func @f(%x: ", "fn() -> ", "f32", "", ") -> () }", 1000000, "nested too deep");
  check_nest("module { extern func @f(%x: f32[1", ", 1", "", "", "]) -> () }", 63, "");
  check_nest("module { extern func @f(%x: f32[1", ", 1", "", "", "]) -> () }", 64, "a type of more than 64 axes");
}

/* --- the printer alone --- */

static const char every_form[] =
    "module {\n  func @f(%x: f32[n], %g: fn(f32[n]) -> f32[n]) -> f32[n] {\n"
    "    %0 = if n > 1 {\n      yield %x\n    } else {\n      yield %x\n    }\n"
    "    %1, %ys = loop (%i < n; %c: f32[n] = %0) while n > 2 {\n      yield %c stack %c while %i < 3\n    }\n"
    "    %2 = func(%v: f32[m]) -> f32[m] where m > 2 {\n      return %v\n    }\n"
    "    %3 = call_pure_packed(\"p\", %1, n + 1, k=2) : f32[n] loc(\"a\")\n    %4 = const([1, 2]) : i8[2]\n"
    "    return %3\n  }\n"
    "  prim_func @p(%x: f32[n], out %y: f32[n]) {\n    compute (i < n; k < 3) where i > 1 {\n      %y[i] = sum(%x[k], "
    "acc=f64)\n    }\n"
    "    for j < n unroll(4) {\n      %y[j:4] = f32x4(%x[j])\n      atomic_add(%y[j], 1.0)\n    }\n    while n > 2 {\n "
    "   }\n  }\n"
    "  resource @r: f32[1] = base64(\"AACAPw==\")\n}\n";

/* Takes one part of OP away, prints the module, puts it back. */
static void break_op(const ir_module *module, ir_op *op) {
  ir_text text = {0};
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) {
    const ir_attr **slot = &ir_op_slots(op)[i], *kept = *slot;
    *slot = NULL;
    CHECK(print(&text, module, NULL) != NULL);
    *slot = ir_attr_list(context, 1, (const ir_attr *const[]){ir_attr_none(context)});
    CHECK(print(&text, module, NULL) != NULL);
    *slot = kept;
  }
  for (size_t i = 0; i < op->result_count; i++) {
    const ir_type *kept = ir_op_result(op, i)->type;
    ir_op_result(op, i)->type = NULL;
    CHECK(strstr(print(&text, module, NULL), "<<no type>>") || op->flags & IR_OP_INLINE);
    ir_op_result(op, i)->type = kept;
  }
  for (size_t i = 0; i < op->operand_count; i++) {
    ir_value *kept = ir_op_uses(op)[i].value;
    ir_op_uses(op)[i].value = NULL;
    CHECK(print(&text, module, NULL) != NULL);
    ir_op_uses(op)[i].value = kept;
  }
  for (size_t i = 0; i < op->region_count; i++) {
    ir_region *kept = ir_op_region(op, i);
    ir_op_regions(op)[i] = NULL;
    CHECK(strstr(print(&text, module, NULL), "<<no region>>") || i);
    ir_op_regions(op)[i] = kept;
  }
  uint32_t operands = op->operand_count;
  op->operand_count = 0;
  CHECK(print(&text, module, NULL) != NULL);
  op->operand_count = operands;
  ir_text_free(&text);
}

static void break_region(const ir_module *module, ir_region *region) {
  for (ir_op *op = region->first; op; op = op->next) {
    break_op(module, op);
    for (size_t i = 0; i < op->region_count; i++) break_region(module, ir_op_region(op, i));
  }
}

static void test_broken(void) {
  start();
  ir_module *module = parse(every_form, strlen(every_form));
  CHECK_DIAGS(diags, "");
  if (!CHECK(module != NULL)) return;
  ir_text before = {0}, after = {0};
  print(&before, module, NULL);
  ir_each_body(func, module) break_region(module, func->body);
  CHECK_TEXT(print(&after, module, NULL), before.at);
  ir_text_free(&before);
  ir_text_free(&after);
  ir_module_free(module);
  end();
}

static void test_options(void) {
  start();
  static const char source[] = "rill 1\nmodule {\n  func @f() -> i8[4] {\n    %0 = const([1, 2, 3, 4]) : i8[4] "
                               "loc(\"a\":1:2)\n    %1 = const(@r) : f32[1]\n"
                               "    return %0\n  }\n\n  resource @r: f32[1] = base64(\"AACAPw==\")\n}\n";
  ir_module *module = parse(source, strlen(source));
  if (!CHECK(module != NULL)) return;
  ir_text text = {0};
  CHECK(strstr(print(&text, module, &(ir_print_options){.elide_above = 3}), "const(...) : i8[4]"));
  CHECK(strstr(text.at, "resource @r: f32[1] = elided"));
  CHECK(strstr(print(&text, module, &(ir_print_options){.elide_above = 4}), "const([1, 2, 3, 4])"));
  CHECK(!strstr(print(&text, module, &(ir_print_options){.strip_locs = true}), "loc("));
  print(&text, module, &(ir_print_options){.locs = true});
  CHECK(strstr(text.at, "i8[4] loc(\"a\":1:2)") && strstr(text.at, "f32[1] loc(\"text\":5:10)") &&
        strstr(text.at, "%0 loc(\"text\":6:5)"));
  ir_text_free(&text);
  const ir_func *func = (const ir_func *)module->first;
  const ir_op *second = func->body->first->next;
  ir_print_op(&text, second, NULL);
  CHECK_TEXT(text.at, "%1 = const(@r) : f32[1]");
  ir_arena arena = {0};
  CHECK_TEXT(ir_value_text(&arena, ir_op_result(second, 0)), "%1");
  CHECK_TEXT(ir_type_text(&arena, ir_func_type(func)), "fn() -> i8[4]");
  ir_arena_free(&arena);
  ir_text_free(&text);
  ir_module_free(module);
  end();
}

/* Names of axes that have none avoid those of symbols and of other axes. */
static void test_unnamed_axes(void) {
  start();
  static const char source[] =
      "module {\n  prim_func @p(%x: f32[i0], out %y: f32[i0]) {\n    compute (i2 < i0, b < 3; c < 2) {\n"
      "      %y[i2] = sum(%x[b] + %x[c])\n    }\n  }\n}\n";
  ir_module *module = parse(source, strlen(source));
  if (!CHECK(module != NULL)) return;
  ir_region *body = ir_op_region(((ir_func *)module->first)->body->last, 0);
  body->args[1]->name = body->args[2]->name = NULL;
  ir_text text = {0}, again = {0};
  print(&text, module, NULL);
  CHECK(strstr(text.at, "compute (i2 < i0, i1 < 3; i3 < 2)") && strstr(text.at, "sum(%x[i1] + %x[i3])"));
  ir_module *other = parse(text.at, text.length);
  if (CHECK(other != NULL)) CHECK_TEXT(print(&again, other, NULL), text.at);
  ir_module_free(other);
  ir_text_free(&text);
  ir_text_free(&again);
  ir_module_free(module);
  end();
}

/* What may name a symbol: importers ask before they make names up. */
static void test_symbol_names(void) {
  static const char *const good[] = {"n", "batch_size", "p2o_DynamicDimension_0", "a.b", "f33", "truex"};
  static const char *const bad[] = {"", "1n", "n-1", "n m", "for", "module", "prim_func", "f32", "f32x8", "i4", "true", "inf", "any", "n "};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) CHECK(ir_is_symbol_name(ir_slice_of(good[i])));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!ir_is_symbol_name(ir_slice_of(bad[i])));
}

int main(void) {
  test_symbol_names();
  each_sample(test_prints_as_it_stands);
  each_sample(test_damage);
  test_limits();
  test_broken();
  test_options();
  test_unnamed_axes();
  ir_text_free(&check_reported);
  return CHECK_REPORT("text");
}
