// SPDX-License-Identifier: Apache-2.0
/* parser/lexer.re - bytes to tokens. No allocation: tokens are ranges of the source. Needs the grammar's token codes. */
#include "parser/lexer.h"

#include "grammar.h"

ir_lexer ir_lexer_new(const ir_source *source, size_t at) {
  bool marked = !at && source->length >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3);
  return (ir_lexer){.text = source->text,
                    .at = source->text + (marked ? 3 : at),
                    .end = source->text + source->length,
                    .base = source->base};
}

static int bad(ir_lexer *lexer, const char *problem) {
  lexer->problem = problem;
  return T_BAD;
}

/* A string that does not end: why. */
static int bad_string(ir_lexer *lexer) {
  unsigned char next = lexer->at < lexer->end ? (unsigned char)*lexer->at : '\n';
  if (next == '\n' || next == '\r') return bad(lexer, "the string does not end on its line");
  if (next == '\\') return bad(lexer, "the string does not end");
  if (next < 0x20 || next == 0x7f) return bad(lexer, "a control character in a string: write it as \\xNN");
  return bad(lexer, "a string that is not UTF-8: write the byte as \\xNN");
}

int ir_lex(ir_lexer *lexer, ir_range *range) {
  const char *start;
  int kind;
again:
  start = lexer->at;
#define TOKEN(code) { kind = code; goto done; }
  /*!re2c
  re2c:define:YYCTYPE = "unsigned char";
  re2c:define:YYCURSOR = "lexer->at";
  re2c:define:YYLIMIT = "lexer->end";
  re2c:define:YYMARKER = "lexer->marker";
  re2c:yyfill:enable = 0;
  re2c:eof = 0;

  digit = [0-9];
  hex = [0-9a-fA-F];
  word = [a-zA-Z_][a-zA-Z0-9_]*;
  id = word ("." word)*;
  plain = [\x20-\x7e]\["\\] | [\u0080-\ud7ff] | [\ue000-\uffff] | [\U00010000-\U0010ffff];
  escape = "\\" (["\\nt] | "x" hex hex | "u{" hex+ "}");
  anything = plain | "\\" [\x20-\x7e];
  string = "\"" (plain | escape)* "\"";

  [ \t\r\n]+ { goto again; }
  "//" { goto comment; }

  "rill" { TOKEN(T_RILL) }
  "module" { TOKEN(T_MODULE) }
  "func" { TOKEN(T_FUNC) }
  "prim_func" { TOKEN(T_PRIM_FUNC) }
  "reducer" { TOKEN(T_REDUCER) }
  "device" { TOKEN(T_DEVICE) }
  "resource" { TOKEN(T_RESOURCE) }
  "private" { TOKEN(T_PRIVATE) }
  "impure" { TOKEN(T_IMPURE) }
  "extern" { TOKEN(T_EXTERN) }
  "out" { TOKEN(T_OUT) }
  "inout" { TOKEN(T_INOUT) }
  "where" { TOKEN(T_WHERE) }
  "with" { TOKEN(T_WITH) }
  "yield" { TOKEN(T_YIELD) }
  "return" { TOKEN(T_RETURN) }
  "stack" { TOKEN(T_STACK) }
  "while" { TOKEN(T_WHILE) }
  "if" { TOKEN(T_IF) }
  "else" { TOKEN(T_ELSE) }
  "loop" { TOKEN(T_LOOP) }
  "dataflow" { TOKEN(T_DATAFLOW) }
  "compute" { TOKEN(T_COMPUTE) }
  "for" { TOKEN(T_FOR) }
  "fn" { TOKEN(T_FN) }
  "loc" { TOKEN(T_LOC) }
  id { TOKEN(T_ID) }

  "%" digit+ { TOKEN(T_VALUE) }
  "%" id { TOKEN(T_VALUE) }
  "%" string { TOKEN(T_VALUE) }
  "@" id { TOKEN(T_GLOBAL) }
  "@" string { TOKEN(T_GLOBAL) }
  "%" digit+ [a-zA-Z_] [a-zA-Z0-9_.]* { kind = bad(lexer, "a name that starts with a digit: quote it, as in %\"1x\""); goto done; }
  "%" { kind = bad(lexer, "a name must follow '%' directly"); goto done; }
  "@" { kind = bad(lexer, "a name must follow '@' directly"); goto done; }

  digit+ { TOKEN(T_INT) }
  "0" [xX] hex+ { TOKEN(T_INT) }
  digit+ "." digit+ ([eE] [+-]? digit+)? { TOKEN(T_FLOAT) }
  digit+ [eE] [+-]? digit+ { TOKEN(T_FLOAT) }
  "0" [xX] hex+ ("." hex*)? [pP] [+-]? digit+ { TOKEN(T_FLOAT) }
  digit [a-zA-Z0-9_.]* { kind = bad(lexer, "a malformed number"); goto done; }

  string { TOKEN(T_STRING) }
  [%@]? "\"" anything* "\"" { kind = bad(lexer, "an unknown escape in a string: there are \\\" \\\\ \\n \\t \\xNN \\u{N}"); goto done; }
  [%@]? "\"" anything* { kind = bad_string(lexer); goto done; }
  "'" { kind = bad(lexer, "strings stand in double quotes"); goto done; }

  "..." { TOKEN(T_ELLIPSIS) }
  "->" { TOKEN(T_ARROW) }
  "==" { TOKEN(T_EQ) }
  "!=" { TOKEN(T_NE) }
  "<=" { TOKEN(T_LE) }
  ">=" { TOKEN(T_GE) }
  "&&" { TOKEN(T_AND) }
  "||" { TOKEN(T_OR) }
  "<" { TOKEN(T_LT) }
  ">" { TOKEN(T_GT) }
  "+" { TOKEN(T_PLUS) }
  "-" { TOKEN(T_MINUS) }
  "*" { TOKEN(T_STAR) }
  "/" { TOKEN(T_SLASH) }
  "!" { TOKEN(T_BANG) }
  "?" { TOKEN(T_QUESTION) }
  "=" { TOKEN(T_ASSIGN) }
  "," { TOKEN(T_COMMA) }
  ":" { TOKEN(T_COLON) }
  ";" { TOKEN(T_SEMI) }
  "(" { TOKEN(T_LP) }
  ")" { TOKEN(T_RP) }
  "[" { TOKEN(T_LB) }
  "]" { TOKEN(T_RB) }
  "{" { TOKEN(T_LBRACE) }
  "}" { TOKEN(T_RBRACE) }

  "\x00" { kind = bad(lexer, "a NUL byte"); goto done; }
  [\u0080-\ud7ff] | [\ue000-\uffff] | [\U00010000-\U0010ffff] { kind = bad(lexer, "a character that may stand in strings and comments only: names that have it are quoted"); goto done; }
  [\x01-\x7f] { kind = bad(lexer, "a character that starts no token"); goto done; }
  $ { kind = 0; start = lexer->at; goto done; }
  * { kind = bad(lexer, "a byte that is not UTF-8"); goto done; }
  */
comment: {
  const char *line_end = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
  if (!line_end) line_end = lexer->end;
  const char *nul = memchr(lexer->at, 0, (size_t)(line_end - lexer->at));
  lexer->at = nul ? nul : line_end;
  goto again;
}
done:
  *range = (ir_range){lexer->base + (uint32_t)(start - lexer->text), lexer->base + (uint32_t)(lexer->at - lexer->text)};
  return kind;
}
