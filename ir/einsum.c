// SPDX-License-Identifier: Apache-2.0
/* ir/einsum.c - subscripts of einsum. */
#include "ir/einsum.h"

#include <string.h>

struct reading {
  ir_arena *arena;
  const char *at;
  ir_einsum *out;
  size_t ellipsis; /* axes of `...` in the operand that has most of them */
  const char *problem;
  unsigned uses[IR_EINSUM_LETTERS];
};

static bool fail(struct reading *r, const char *problem) {
  r->problem = problem;
  return false;
}

static void skip_spaces(struct reading *r) { r->at += strspn(r->at, " "); }

static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/* Capital letters come first, as their codes do. */
static uint8_t label_of(char c) { return (uint8_t)(c <= 'Z' ? c - 'A' : c - 'a' + IR_EINSUM_LETTERS / 2); }

static char letter_of(size_t label) { return (char)(label < IR_EINSUM_LETTERS / 2 ? 'A' + label : 'a' + label - IR_EINSUM_LETTERS / 2); }

/* One term; `...` stands for HIDDEN axes. */
static bool put_term(struct reading *r, ir_einsum_term *term, const char *text, size_t length, size_t hidden) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == ' ') continue;
    size_t count = text[i] == '.' ? hidden : 1;
    if (term->count + count > IR_EINSUM_MOST_AXES) return fail(r, ir_arena_printf(r->arena, "more than %d axes", IR_EINSUM_MOST_AXES));
    for (size_t k = 0; k < count; k++) term->labels[term->count++] = text[i] == '.' ? (uint8_t)(IR_EINSUM_LETTERS + hidden - 1 - k) : label_of(text[i]);
    if (text[i] == '.') i += 2;
  }
  return true;
}

/* The extent of a term in the text: its letters, and whether it has `...`. */
static bool scan_term(struct reading *r, size_t *length, size_t *letters, bool *hidden) {
  const char *start = r->at;
  *letters = 0;
  *hidden = false;
  for (skip_spaces(r); *r->at; skip_spaces(r)) {
    if (is_letter(*r->at)) {
      ++*letters;
      r->at++;
    } else if (!strncmp(r->at, "...", 3)) {
      if (*hidden) return fail(r, "'...' stands twice in a term");
      *hidden = true;
      r->at += 3;
    } else {
      break;
    }
  }
  *length = (size_t)(r->at - start);
  return true;
}

static bool read_operand(struct reading *r, size_t i, size_t rank) {
  const char *start = r->at;
  size_t length, letters;
  bool hidden;
  if (!scan_term(r, &length, &letters, &hidden)) return false;
  if (letters > rank || (letters < rank && !hidden)) {
    return fail(r, ir_arena_printf(r->arena, "operand %zu has %zu ax%s, its term '%.*s' %s%zu", i, rank, rank == 1 ? "is" : "es", (int)length, start,
                                   hidden ? "at least " : "", letters));
  }
  if (hidden && rank - letters > r->ellipsis) r->ellipsis = rank - letters;
  ir_einsum_term *term = &r->out->operands[i];
  if (!put_term(r, term, start, length, rank - letters)) return false;
  for (size_t k = 0; k < term->count; k++) {
    if (term->labels[k] < IR_EINSUM_LETTERS) r->uses[term->labels[k]]++;
  }
  return true;
}

static bool read_operands(struct reading *r, const size_t *ranks) {
  for (size_t i = 0; i < r->out->operand_count; i++) {
    if (!read_operand(r, i, ranks[i])) return false;
    if (i + 1 == r->out->operand_count) break;
    if (*r->at != ',') return fail(r, ir_arena_printf(r->arena, "the term of operand %zu is missing", i + 1));
    r->at++;
  }
  return true;
}

static void imply_result(struct reading *r) {
  ir_einsum_term *result = &r->out->result;
  for (size_t k = r->ellipsis; k > 0; k--) result->labels[result->count++] = (uint8_t)(IR_EINSUM_LETTERS + k - 1);
  for (size_t label = 0; label < IR_EINSUM_LETTERS && result->count < IR_EINSUM_MOST_AXES; label++) {
    if (r->uses[label] == 1) result->labels[result->count++] = (uint8_t)label;
  }
}

static bool read_result(struct reading *r) {
  const char *start = r->at;
  size_t length, letters;
  bool hidden, seen[IR_EINSUM_LETTERS] = {0};
  ir_einsum_term *result = &r->out->result;
  if (!scan_term(r, &length, &letters, &hidden) || !put_term(r, result, start, length, r->ellipsis)) return false;
  if (!hidden && r->ellipsis) return fail(r, "the result has no '...', which operands have");
  for (size_t k = 0; k < result->count; k++) {
    size_t label = result->labels[k];
    if (label >= IR_EINSUM_LETTERS) continue;
    if (seen[label]) return fail(r, ir_arena_printf(r->arena, "'%c' stands twice in the result", letter_of(label)));
    if (!r->uses[label]) return fail(r, ir_arena_printf(r->arena, "no operand has the '%c' of the result", letter_of(label)));
    seen[label] = true;
  }
  return true;
}

static void find_reduced(ir_einsum *out) {
  bool known[IR_EINSUM_LABELS] = {0};
  for (size_t k = 0; k < out->result.count; k++) known[out->result.labels[k]] = true;
  for (size_t i = 0; i < out->operand_count; i++) {
    for (size_t k = 0; k < out->operands[i].count; k++) {
      uint8_t label = out->operands[i].labels[k];
      if (!known[label]) out->reduced[out->reduced_count++] = label;
      known[label] = true;
    }
  }
}

bool ir_einsum_parse(ir_arena *arena, const char *text, size_t operand_count, const size_t *ranks, ir_einsum *out, const char **problem) {
  *out = (ir_einsum){.operand_count = operand_count, .operands = ir_new_array(arena, ir_einsum_term, operand_count + 1)};
  struct reading r = {.arena = arena, .at = text, .out = out};
  bool fine = read_operands(&r, ranks);
  bool arrow = fine && !strncmp(r.at, "->", 2);
  if (arrow) r.at += 2;
  if (fine && arrow) fine = read_result(&r);
  if (fine && !arrow) imply_result(&r);
  if (fine && *r.at == ',') fine = fail(&r, "more terms than operands");
  if (fine && *r.at) fine = fail(&r, ir_arena_printf(arena, "unexpected '%c'", *r.at));
  if (fine) find_reduced(out);
  *problem = r.problem;
  return fine;
}
