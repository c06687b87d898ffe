// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_PARSER_LEXER_H
#define RILL_PARSER_LEXER_H

#include "../base/diag.h"

typedef struct ir_lexer {
  const char *text, *at, *end, *marker;
  uint32_t base;       /* range offset of text[0] */
  const char *problem; /* of the last bad token */
} ir_lexer;

/* Starts at offset AT of SOURCE; a byte order mark at its very start is passed over. */
ir_lexer ir_lexer_new(const ir_source *source, size_t at);
/* The next token: its kind (T_... of the grammar, 0 at the end) and where it stands. A bad one is T_BAD and
 * lexer->problem says why. */
int ir_lex(ir_lexer *lexer, ir_range *range);

#endif
