// SPDX-License-Identifier: Apache-2.0
/* parser/parser.c - drives the lexer and the grammar. A text without syntax errors is parsed once, with no more checks
 * than the automaton makes. At the first syntax error everything is dropped and the text is parsed again, asking before
 * each token whether it can come: so the stack is still whole when one cannot, and the message can name exactly what
 * could have come. Then the parser goes on behind the damage, to report what is wrong elsewhere. */
#include "parser/parser.h"

#include "grammar.h"
#include "parser/resolve.h"

void *ir_grammarAlloc(void *(*alloc)(size_t), ir_parser *p);
void ir_grammarFree(void *grammar, void (*release)(void *));
void ir_grammar(void *grammar, int kind, ir_range range);
bool ir_grammar_accepts(void *grammar, int kind);
size_t ir_grammar_height(const void *grammar);

enum {
  TOKENS = 64,        /* more than there are */
  MAX_HEIGHT = 16384, /* of the automaton's stack */
  MAX_SYNTAX_ERRORS = 20
};

/* --- reading --- */

struct reader {
  ir_parser *p;
  void *grammar;
  int kind; /* the current token */
  ir_range range;
  ir_range last;     /* the one before */
  unsigned brackets; /* ( and [ open */
  unsigned prefixes; /* - and ! in a row */
  unsigned errors;
};

static void read(struct reader *r) {
  r->last = r->range;
  r->kind = ir_lex(&r->p->lexer, &r->range);
}

static void stop(struct reader *r, const char *why) {
  if (!r->p->stopped) ir_parse_error(r->p, r->range, "%s", why);
  r->p->stopped = true;
}

/* Notes the nesting that the current token opens and closes. */
static void nest(struct reader *r) {
  r->p->token = r->range.begin;
  r->p->braces_before = r->p->braces;
  bool prefix = r->kind == T_MINUS || r->kind == T_BANG;
  r->prefixes = prefix ? r->prefixes + 1 : 0;
  switch (r->kind) {
  case T_LP:
  case T_LB: r->brackets++; break;
  case T_RP:
  case T_RB: r->brackets -= r->brackets > 0; break;
  case T_LBRACE: r->p->braces++; break;
  case T_RBRACE: r->p->braces--; break;
  }
  if (r->brackets > IR_PARSE_MAX_DEPTH || r->prefixes > IR_PARSE_MAX_DEPTH)
    stop(r, "brackets or signs nested more than 250 deep");
  if (ir_grammar_height(r->grammar) > MAX_HEIGHT) stop(r, "nested too deep");
}

static void feed(struct reader *r) {
  nest(r);
  r->p->rejected |= r->kind == T_BAD; /* which the grammar takes: it ends what is damaged */
  if (!r->p->stopped && !r->p->rejected) ir_grammar(r->grammar, r->kind, r->range);
}

/* The current token can come. */
static bool accepts(const struct reader *r) { return r->kind != T_BAD && ir_grammar_accepts(r->grammar, r->kind); }

/* --- what was expected --- */

/* How tokens are named in messages; NULL: its group is named. */
static const char *const names[TOKENS] = {
    [0] = "end of file",
    [T_OR] = "'||'",
    [T_AND] = "'&&'",
    [T_EQ] = "'=='",
    [T_NE] = "'!='",
    [T_LT] = "'<'",
    [T_LE] = "'<='",
    [T_GT] = "'>'",
    [T_GE] = "'>='",
    [T_PLUS] = "'+'",
    [T_MINUS] = "'-'",
    [T_STAR] = "'*'",
    [T_SLASH] = "'/'",
    [T_BANG] = "'!'",
    [T_RBRACE] = "'}'",
    [T_RILL] = "'rill'",
    [T_INT] = "an integer",
    [T_MODULE] = "'module'",
    [T_LBRACE] = "'{'",
    [T_DEVICE] = "'device'",
    [T_GLOBAL] = "'@name'",
    [T_ASSIGN] = "'='",
    [T_RESOURCE] = "'resource'",
    [T_COLON] = "':'",
    [T_FUNC] = "'func'",
    [T_PRIM_FUNC] = "'prim_func'",
    [T_PRIVATE] = "'private'",
    [T_IMPURE] = "'impure'",
    [T_EXTERN] = "'extern'",
    [T_REDUCER] = "'reducer'",
    [T_LP] = "'('",
    [T_SEMI] = "';'",
    [T_RP] = "')'",
    [T_ARROW] = "'->'",
    [T_COMMA] = "','",
    [T_VALUE] = "'%name'",
    [T_ID] = "a word",
    [T_OUT] = "'out'",
    [T_INOUT] = "'inout'",
    [T_WHERE] = "'where'",
    [T_WITH] = "'with'",
    [T_YIELD] = "'yield'",
    [T_WHILE] = "'while'",
    [T_RETURN] = "'return'",
    [T_STACK] = "'stack'",
    [T_LB] = "'['",
    [T_RB] = "']'",
    [T_LOC] = "'loc'",
    [T_STRING] = "a string",
    [T_IF] = "'if'",
    [T_ELSE] = "'else'",
    [T_LOOP] = "'loop'",
    [T_DATAFLOW] = "'dataflow'",
    [T_COMPUTE] = "'compute'",
    [T_FOR] = "'for'",
    [T_QUESTION] = "'?'",
    [T_FN] = "'fn'",
    [T_FLOAT] = "a number",
    [T_ELLIPSIS] = "'...'",
};

/* The spelling of a token that has only one; NULL otherwise. */
static const char *spelling(int kind, char text[16]) {
  const char *name = names[kind];
  if (!name || *name != '\'' || kind == T_GLOBAL || kind == T_VALUE) return NULL;
  size_t length = strlen(name) - 2;
  memcpy(text, name + 1, length);
  text[length] = 0;
  return text;
}

/* Tokens that are named together where all of them can come. */
static const struct group {
  const char *name;
  int tokens[24];  /* all must be possible; 0 ends */
  int dropped[40]; /* and then these go unnamed, too */
} groups[] = {
    {"a name",
     {T_ID, T_RILL, T_MODULE, T_FUNC, T_LOC, T_YIELD},
     {T_PRIM_FUNC, T_REDUCER, T_DEVICE, T_RESOURCE, T_PRIVATE, T_IMPURE, T_EXTERN,
      T_OUT,       T_INOUT,   T_WHERE,  T_WITH,     T_RETURN,  T_STACK,  T_WHILE,
      T_IF,        T_ELSE,    T_LOOP,   T_DATAFLOW, T_COMPUTE, T_FOR,    T_FN}},
    {"an expression",
     {T_INT, T_FLOAT, T_LP, T_VALUE, T_MINUS},
     {T_BANG, T_ID, T_GLOBAL, T_STRING, T_ELLIPSIS, T_LBRACE, T_LB, T_IMPURE, T_FN, T_QUESTION, T_WHERE, T_STACK}},
    {"a statement", {T_VALUE, T_ID, T_IF, T_LOOP, T_DATAFLOW, T_COMPUTE, T_FOR, T_WHILE}, {T_WHERE, T_YIELD, T_RETURN}},
    {"an item", {T_FUNC, T_PRIM_FUNC, T_DEVICE, T_RESOURCE, T_REDUCER}, {T_PRIVATE, T_IMPURE, T_EXTERN}},
    {"a type", {T_ID, T_QUESTION, T_FN, T_IMPURE}, {0}},
    {"an operator", {T_OR, T_AND, T_PLUS, T_MINUS, T_STAR, T_SLASH}, {T_EQ, T_NE, T_LT, T_LE, T_GT, T_GE}},
};

/* The words for what can come, as a list: "',', ')' or an operator". *only: the one token, or -1. */
static void expected(struct reader *r, ir_text *text, int *only) {
  bool can[TOKENS] = {0};
  const char *words[TOKENS];
  size_t count = 0, tokens = 0;
  *only = -1;
  for (int kind = 0; kind < TOKENS; kind++) {
    if (kind == T_BAD || !names[kind] || !ir_grammar_accepts(r->grammar, kind)) continue;
    can[kind] = true;
    *only = tokens++ ? -1 : kind;
  }
  const char *grouped[ir_count_of(groups)];
  size_t group_count = 0;
  for (size_t g = 0; g < ir_count_of(groups); g++) {
    bool all = true;
    for (const int *token = groups[g].tokens; *token; token++) all &= can[*token];
    if (!all) continue;
    for (const int *token = groups[g].tokens; *token; token++) can[*token] = false;
    for (const int *token = groups[g].dropped; *token; token++) can[*token] = false;
    grouped[group_count++] = groups[g].name;
  }
  for (int kind = 0; kind < TOKENS; kind++) {
    if (can[kind]) words[count++] = names[kind];
  }
  for (size_t g = 0; g < group_count; g++) words[count++] = grouped[g];
  for (size_t i = 0; i < count; i++) ir_text_printf(text, "%s%s", !i ? "" : i + 1 == count ? " or " : ", ", words[i]);
  if (!count) ir_text_put(text, "nothing more");
}

static void describe(struct reader *r, ir_text *text) {
  ir_slice found = ir_text_at(r->p, r->range);
  bool is_long = found.length > 40;
  size_t length = is_long ? 40 : found.length;
  for (; is_long && length && ((uint8_t)found.at[length] & 0xc0) == 0x80; length--) {
  }
  if (!r->kind)
    ir_text_put(text, "end of file");
  else
    ir_text_printf(text, "'%.*s%s'", (int)length, found.at, is_long ? "..." : "");
}

static bool is_first_on_line(const struct reader *r) {
  ir_slice between = ir_text_at(r->p, (ir_range){r->last.end, r->range.begin});
  return !r->last.end || memchr(between.at, '\n', between.length);
}

static void report(struct reader *r) {
  ir_parser *p = r->p;
  if (++r->errors > MAX_SYNTAX_ERRORS) {
    ir_parse_error(p, r->range, "more than %d syntax errors: the rest is not read", MAX_SYNTAX_ERRORS);
    p->stopped = true;
    return;
  }
  if (r->kind == T_BAD) {
    ir_parse_error(p, r->range, "%s", p->lexer.problem);
    return;
  }
  ir_text wanted = {0}, found = {0};
  int only;
  char text[16];
  expected(r, &wanted, &only);
  describe(r, &found);
  const char *missing = only > 0 ? spelling(only, text) : NULL;
  /* What is missing at the end of a line is noticed on the next. */
  bool behind = missing && r->last.end && (is_first_on_line(r) || !r->kind);
  ir_range range = behind ? (ir_range){r->last.end, r->last.end} : r->range;
  ir_diag *diag = ir_parse_error(p, range, "expected %s, found %s", wanted.at, found.at);
  if (behind) ir_fixit(p->diags, diag, range, missing);
  ir_text_free(&wanted);
  ir_text_free(&found);
}

/* --- going on after an error --- */

static bool starts_item(int kind) {
  return kind == T_FUNC || kind == T_PRIM_FUNC || kind == T_REDUCER || kind == T_RESOURCE || kind == T_DEVICE ||
         kind == T_PRIVATE || kind == T_EXTERN || kind == T_IMPURE;
}

/* Ends the blocks that are open, as far as the grammar lets them end. */
static void close_blocks(struct reader *r) {
  while (!r->p->stopped && !accepts(r) && ir_grammar_accepts(r->grammar, T_RBRACE)) {
    ir_grammar(r->grammar, T_RBRACE, r->range);
  }
}

/* `%a, %b = ...` on the line that the damage begins on: what follows may use these names. */
static void expect_targets(struct reader *r) {
  ir_parser *p = r->p;
  const char *text = p->source->text, *line = text + (r->last.begin - p->source->base);
  while (line > text && line[-1] != '\n') line--;
  ir_lexer lexer = ir_lexer_new(p->source, (size_t)(line - text));
  ir_range targets[16];
  size_t count = 0;
  int kind;
  do {
    if (count == ir_count_of(targets) || ir_lex(&lexer, &targets[count++]) != T_VALUE) return;
    ir_range separator;
    kind = ir_lex(&lexer, &separator);
  } while (kind == T_COMMA);
  for (size_t i = 0; kind == T_ASSIGN && i < count; i++) ir_expect_value(p, targets[i]);
}

/* The token that no other grammar rule takes ends what is on the stack. A statement that seems complete, but has more on
 * its line, is not what was meant: nothing is said of what it means. */
static void end_damaged(struct reader *r) {
  ir_parser *p = r->p;
  ir_diags *diags = p->diags;
  bool quiet = !is_first_on_line(r);
  if (quiet) p->diags = p->context->diags = ir_diags_new();
  ir_grammar(r->grammar, T_BAD, r->range);
  if (quiet) {
    ir_diags_discard(p->diags);
    ir_diags_free(p->diags);
    p->diags = p->context->diags = diags;
  }
  if (p->block) {
    expect_targets(r);
  } else {
    p->rest_failed = true; /* an item that others speak of */
  }
}

/* Drops what the damaged statement or item has on the stack, and skips to where another can start: a token that can
 * come and is the first on its line, or a closing brace. What stands in braces that open on the way is skipped whole.
 */
static void recover(struct reader *r) {
  ir_parser *p = r->p;
  end_damaged(r);
  p->rejected = false;
  int depth = 1 + (int)p->regions; /* braces that are open where the innermost block stands */
  r->brackets = 0;
  while (r->kind && !p->stopped) {
    bool first = is_first_on_line(r);
    if (first && starts_item(r->kind) && (r->kind != T_IMPURE || r->p->braces <= 1)) {
      close_blocks(r);
      if (accepts(r)) {
        r->p->braces = 1;
        return;
      }
    }
    bool here = r->p->braces <= depth;
    if (here && (first || r->kind == T_RBRACE) && accepts(r)) return;
    nest(r);
    read(r);
  }
}

static void parse_carefully(struct reader *r) {
  ir_parser *p = r->p;
  for (;;) {
    if (!accepts(r)) {
      report(r);
      if (p->stopped || !r->kind) return;
      recover(r);
      if (p->stopped) return;
      if (!accepts(r)) return;
    }
    feed(r);
    if (p->rejected) ir_parse_error(p, r->range, "syntax error"); /* the two disagree */
    if (p->stopped || p->rejected || !r->kind) return;
    read(r);
  }
}

static void parse_fast(struct reader *r) {
  ir_parser *p = r->p;
  for (;;) {
    feed(r);
    if (p->stopped || p->rejected || !r->kind) return;
    read(r);
  }
}

/* --- looking ahead for items --- */

/* Passes over a body whose `{` has been read, to its `}`. */
static void skip_body(struct reader *r) {
  for (int depth = 1; r->kind; read(r)) {
    if (r->kind == T_LBRACE) depth++;
    if (r->kind == T_RBRACE && !--depth) return;
  }
}

static void parse_headers(struct reader *r) {
  ir_parser *p = r->p;
  for (;;) {
    feed(r);
    if (p->stopped || p->rejected || !r->kind) return;
    bool opened = r->kind == T_LBRACE && ir_grammar_accepts(r->grammar, T_VALUE); /* no dictionary */
    read(r);
    if (opened) skip_body(r);
  }
}

/* Passes over the rest of an item, DEPTH braces of which are open. */
static void leave_item(ir_lexer *lexer, int depth) {
  ir_range range;
  for (int kind; depth > 0 && (kind = ir_lex(lexer, &range));) {
    if (kind == T_LBRACE) depth++;
    if (kind == T_RBRACE) depth--;
  }
}

void ir_declare_rest(ir_parser *p) {
  p->rest_declared = true;
  ir_parser ahead = {.context = p->context,
                     .diags = p->diags,
                     .module = p->module,
                     .source = p->source,
                     .options = p->options,
                     .lexer = p->lexer,
                     .declaring = true,
                     .rest_declared = true,
                     .errors_before = p->errors_before};
  ahead.lexer.at = p->source->text + (p->token - p->source->base); /* the current token has been read already */
  leave_item(&ahead.lexer, p->braces_before - 1);
  struct reader r = {.p = &ahead, .grammar = ir_grammarAlloc(ir_heap_alloc, &ahead)};
  ir_grammar(r.grammar, T_MODULE, (ir_range){0, 0});
  ir_grammar(r.grammar, T_LBRACE, (ir_range){0, 0});
  read(&r);
  parse_headers(&r);
  p->rest_failed |= ahead.rejected || ahead.stopped;
  for (size_t i = 0; i < ahead.devices.count; i++) ir_check_device(p, ahead.devices.at[i]);
  ir_grammarFree(r.grammar, ir_heap_free);
  ir_arena_free(&ahead.scratch);
  ir_arena_free(&ahead.names);
}

/* --- a parse --- */

static ir_parser start(ir_context *context, const ir_source *source, const ir_parse_options *options) {
  return (ir_parser){.context = context,
                     .diags = context->diags,
                     .module = ir_module_new(context),
                     .source = source,
                     .options = options ? *options : (ir_parse_options){0},
                     .lexer = ir_lexer_new(source, 0),
                     .errors_before = ir_diags_errors(context->diags)};
}

static void finish(ir_parser *p, void *grammar) {
  ir_grammarFree(grammar, ir_heap_free);
  ir_arena_free(&p->scratch);
  ir_arena_free(&p->names);
}

ir_module *ir_parse(ir_context *context, const ir_source *source, const ir_parse_options *options) {
  ir_diags_flush(context->diags); /* what was reported before stays when a first attempt is dropped */
  ir_parser p = start(context, source, options);
  struct reader r = {.p = &p, .grammar = ir_grammarAlloc(ir_heap_alloc, &p)};
  read(&r);
  parse_fast(&r);
  finish(&p, r.grammar);
  if (p.rejected) {
    ir_diags_discard(context->diags);
    ir_module_free(p.module);
    p = start(context, source, options);
    r = (struct reader){.p = &p, .grammar = ir_grammarAlloc(ir_heap_alloc, &p)};
    read(&r);
    parse_carefully(&r);
    finish(&p, r.grammar);
  }
  if (ir_diags_errors(context->diags) == p.errors_before) return p.module;
  ir_module_free(p.module);
  return NULL;
}
