// SPDX-License-Identifier: Apache-2.0
/* test/fuzz/parse.c - any bytes: parsing, verifying and printing end without a crash, and what was parsed prints to
 * text that parses to the same text. */
#include "ir/print.h"
#include "ir/verify.h"
#include "parser/lexer.h"
#include "parser/parser.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* libFuzzer's; absent where files are replayed. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static void ignore(void *user, ir_diags *diags, const ir_diag *diag) { (void)user, (void)diags, (void)diag; }

static ir_module *parse(ir_context *context, const char *text, size_t length) {
  static const ir_parse_options options = {.allow_elided = true};
  const ir_source *source = ir_source_add(context->diags, "input", text, length, 1);
  return source ? ir_parse(context, source, &options) : NULL;
}

static void fail(const char *what, const ir_text *first, const ir_text *second) {
  fprintf(stderr, "%s\n--- first\n%s--- second\n%s", what, first->at, second->at ? second->at : "");
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = ir_heap_alloc(size + 1);
  if (size) memcpy(text, data, size);
  text[size] = 0;
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, ignore, NULL);
  ir_context *context = ir_context_new(diags);
  ir_module *module = parse(context, text, size);
  if (module) {
    bool sound = ir_verify_module(module);
    ir_text first = {0}, second = {0};
    ir_print_module(&first, module, NULL);
    ir_module *again = parse(context, first.at, first.length);
    if (!again && sound) {
      ir_diags_set_handler(diags, NULL, NULL);
      ir_diags_flush(diags);
      fail("printed text does not parse", &first, &second);
    }
    if (again) ir_print_module(&second, again, NULL);
    bool same = !again || (first.length == second.length && !memcmp(first.at, second.at, first.length));
    if (!same) fail("printed text differs when printed again", &first, &second);
    ir_module_free(again);
    ir_module_free(module);
    ir_text_free(&first);
    ir_text_free(&second);
  }
  ir_context_free(context);
  ir_diags_free(diags);
  ir_heap_free(text);
  return 0;
}

/* --- mutations of whole tokens: more of what they make is still a program --- */

enum { MOST_TOKENS = 4096 };

struct tokens {
  size_t count;
  struct {
    size_t begin, end;
  } at[MOST_TOKENS];
};

static void split(const char *text, size_t size, struct tokens *tokens) {
  const ir_source source = {.text = text, .length = size, .base = 1};
  ir_lexer lexer = ir_lexer_new(&source, 0);
  ir_range range;
  tokens->count = 0;
  while (tokens->count < MOST_TOKENS && ir_lex(&lexer, &range)) {
    tokens->at[tokens->count].begin = range.begin - 1;
    tokens->at[tokens->count++].end = range.end - 1;
  }
}

/* Replaces [begin, end) of the SIZE bytes at DATA by MORE (elsewhere). */
static size_t splice(uint8_t *data, size_t size, size_t max_size, size_t begin, size_t end, const char *more,
                     size_t length) {
  if (size - (end - begin) + length > max_size) return size;
  memmove(data + begin + length, data + end, size - end);
  if (length) memcpy(data + begin, more, length);
  return size - (end - begin) + length;
}

static size_t pick(uint64_t *state, size_t below) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (size_t)(*state >> 33) % below;
}

/* One token away, a run of tokens copied to another place, one token put for another, or changed in itself. */
static size_t mutate(uint8_t *data, size_t size, size_t max_size, const char *text, const struct tokens *tokens,
                     uint64_t *state) {
  size_t to = pick(state, tokens->count), from = pick(state, tokens->count);
  size_t begin = tokens->at[to].begin, end = tokens->at[to].end, first = tokens->at[from].begin;
  size_t run = from + pick(state, pick(state, 8) ? 2 : 16), last = tokens->at[run < tokens->count ? run : from].end;
  uint8_t word[64];
  switch (pick(state, 4)) {
  case 0: return splice(data, size, max_size, begin, end, NULL, 0);
  case 1: return splice(data, size, max_size, begin, begin, text + first, last - first);
  case 2: return splice(data, size, max_size, begin, end, text + first, tokens->at[from].end - first);
  }
  if (end - begin > sizeof word) return size;
  memcpy(word, text + begin, end - begin);
  size_t changed = LLVMFuzzerMutate(word, end - begin, sizeof word);
  return splice(data, size, max_size, begin, end, (const char *)word, changed);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  char *text = ir_heap_alloc(size + 1);
  if (size) memcpy(text, data, size);
  text[size] = 0;
  struct tokens *tokens = ir_heap_alloc(sizeof *tokens);
  split(text, size, tokens);
  uint64_t state = seed;
  if (tokens->count) size = mutate(data, size, max_size, text, tokens, &state);
  ir_heap_free(tokens);
  ir_heap_free(text);
  return size;
}
