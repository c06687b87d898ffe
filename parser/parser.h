// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_PARSER_PARSER_H
#define RILL_PARSER_PARSER_H

#include "../ir/module.h"

typedef struct ir_parse_options {
  bool allow_elided; /* take `elided` resources */
} ir_parse_options;

/* Parses and resolves SOURCE. Reports every error it can find and returns NULL when there was one. The module is not
 * verified yet, but its operations have inferred types. OPTIONS may be NULL. */
ir_module *ir_parse(ir_context *context, const ir_source *source, const ir_parse_options *options);

/* WORD reads back as the name of a symbol or an axis: an identifier, no keyword, no dtype, no word with a meaning. */
bool ir_is_symbol_name(ir_slice word);

#endif
