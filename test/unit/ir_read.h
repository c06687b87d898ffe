// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_IR_READ_H
#define RILL_TEST_UNIT_IR_READ_H

/* Types and attributes from a few words of text, so that tests of the IR need no parser: `f32[n, 8]`, `f32[*]`,
 * `f32[?, 4] @gpu`, `i64`, `shape[n]`, `any`; `axis=[1, -1]`, `dtype=f16`, `layout="NCHW"`, `keepdims=true`,
 * `shape=[n, 4]`. An extent is a number, a symbol, `?`, or `symbol*number`. */
#include "../../base/vec.h"
#include "../../ir/infer.h"

#include <ctype.h>
#include <stdlib.h>

static inline void read_space(const char **at) {
  while (**at == ' ' || **at == ',') ++*at;
}

static inline ir_slice read_word(const char **at) {
  ir_slice word = {*at, 0};
  while (isalnum((unsigned char)**at) || **at == '_' || **at == '.') ++*at, word.length++;
  return word;
}

static inline const ir_expr *read_extent(ir_context *context, const char **at) {
  if (**at == '?') return ++*at, NULL;
  if (isdigit((unsigned char)**at) || **at == '-') {
    char *end;
    const ir_expr *number = ir_expr_i64(context, strtoll(*at, &end, 10));
    *at = end;
    return number;
  }
  const ir_expr *symbol = ir_expr_symbol(context, ir_intern(context, read_word(at)));
  if (**at != '*') return symbol;
  ++*at;
  return ir_expr_binary(context, IR_S_MUL, symbol, read_extent(context, at));
}

/* Reads one type and moves on to the next. */
static inline const ir_type *read_type(ir_context *context, const char **at) {
  const ir_expr *dims[16];
  read_space(at);
  ir_slice word = read_word(at);
  if (ir_slice_is(word, "any")) return context->any_type;
  bool shape = ir_slice_is(word, "shape");
  ir_dtype dtype = ir_dtype_find(word);
  if (**at == '?') ++*at;
  if (**at != '[') return ir_type_scalar(context, dtype, 1);
  ++*at;
  size_t rank = 0;
  bool ranked = **at != '*';
  if (!ranked) ++*at;
  while (**at != ']') {
    read_space(at);
    dims[rank++] = read_extent(context, at);
  }
  ++*at;
  if (shape) return ranked ? ir_type_shape(context, rank, dims) : ir_type_unranked_shape(context);
  const ir_type *type = ranked ? ir_type_tensor(context, dtype, rank, dims) : ir_type_unranked(context, dtype);
  while (**at == ' ') ++*at;
  if (**at != '@') return type;
  ++*at;
  return ir_type_with_device(context, type, ir_intern(context, read_word(at)));
}

static inline const ir_attr *read_value(ir_context *context, const char **at) {
  read_space(at);
  if (**at == '[') {
    const ir_attr *items[16];
    size_t count = 0;
    ++*at;
    for (read_space(at); **at != ']'; read_space(at)) items[count++] = read_value(context, at);
    ++*at;
    return ir_attr_list(context, count, items);
  }
  if (**at == '"') {
    size_t length = strcspn(*at + 1, "\"");
    const ir_attr *string = ir_attr_string(context, (ir_slice){*at + 1, length});
    *at += length + 2;
    return string;
  }
  if (isdigit((unsigned char)**at) || **at == '-') {
    char *end;
    double number = strtod(*at, &end);
    bool whole = !memchr(*at, '.', (size_t)(end - *at)) && !memchr(*at, 'e', (size_t)(end - *at));
    const ir_attr *value = whole ? ir_attr_int(context, strtoll(*at, &end, 10)) : ir_attr_float(context, number);
    *at = end;
    return value;
  }
  ir_slice word = read_word(at);
  if (ir_slice_is(word, "none")) return ir_attr_none(context);
  if (ir_slice_is(word, "true") || ir_slice_is(word, "false")) return ir_attr_bool(context, word.at[0] == 't');
  if (ir_dtype_find(word) != IR_DTYPE_UNKNOWN) return ir_attr_dtype(context, ir_dtype_find(word));
  const ir_expr *symbol = ir_expr_symbol(context, ir_intern(context, word));
  if (**at != '*') return ir_attr_expr(context, symbol);
  ++*at;
  return ir_attr_expr(context, ir_expr_binary(context, IR_S_MUL, symbol, read_extent(context, at)));
}

#endif
