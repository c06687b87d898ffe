// SPDX-License-Identifier: Apache-2.0
/* parser/scope.c - strings, names, what they stand for, and near misses. Needs parser/resolve.h.
 * A region that is open has no parent yet; so nothing needs to be taken back when one closes: a name whose region has a
 * parent is not visible any more and may be given again. */
#include "parser/resolve.h"

enum { PAGE = 16 };

ir_diag *ir_parse_error(ir_parser *p, ir_range range, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_text text = {0};
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_diag *diag = ir_error(p->diags, range, "%s", text.at ? text.at : "");
  ir_text_free(&text);
  return diag;
}

bool ir_suggests(const ir_parser *p) { return ir_diags_errors(p->diags) - p->errors_before < 20; }

void ir_suggest(ir_parser *p, ir_diag *diag, ir_range range, const ir_nearest *nearest) {
  if (nearest->best.at)
    ir_note(p->diags, diag, range, "did you mean '%.*s'?", (int)nearest->best.length, nearest->best.at);
}

/* --- strings --- */

static int hex_of(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

/* Appends what the escape at AT (behind its backslash) stands for and returns what follows it. */
static const char *unescape(ir_parser *p, ir_text *text, const char *at, ir_range range) {
  switch (*at) {
  case 'n': ir_text_char(text, '\n'); return at + 1;
  case 't': ir_text_char(text, '\t'); return at + 1;
  case 'x': ir_text_char(text, (char)(hex_of(at[1]) << 4 | hex_of(at[2]))); return at + 3;
  case 'u': break;
  default: ir_text_char(text, *at); return at + 1; /* \" and \\ */
  }
  uint32_t code = 0;
  for (at += 2; *at != '}'; at++) {
    if (code <= 0x10ffff) code = code << 4 | (uint32_t)hex_of(*at);
  }
  char bytes[4];
  size_t length = ir_utf8_encode(bytes, code);
  if (!length) ir_parse_error(p, range, "\\u{...} in a string must be a Unicode scalar value");
  ir_text_bytes(text, bytes, length);
  return at + 1;
}

const ir_string *ir_parse_string(ir_parser *p, ir_range range) {
  ir_slice quoted = ir_text_at(p, range);
  ir_slice body = {quoted.at + 1, quoted.length - 2};
  if (!memchr(body.at, '\\', body.length)) return ir_intern(p->context, body);
  ir_text text = {0};
  const char *end = body.at + body.length;
  for (const char *at = body.at; at < end;) {
    const char *stop = memchr(at, '\\', (size_t)(end - at));
    ir_text_bytes(&text, at, (size_t)((stop ? stop : end) - at));
    at = stop ? unescape(p, &text, stop + 1, range) : end;
  }
  const ir_string *string = ir_intern(p->context, (ir_slice){text.at, text.length});
  ir_text_free(&text);
  return string;
}

const ir_string *ir_parse_name(ir_parser *p, ir_range range) {
  range.begin++;
  ir_slice text = ir_text_at(p, range);
  return *text.at == '"' ? ir_parse_string(p, range) : ir_intern(p->context, text);
}

/* --- values --- */

void ir_scope_begin(ir_parser *p, ir_func *func) {
  ir_arena_free(&p->names);
  p->names = (ir_arena){0};
  p->values = p->pages = p->axes = p->symbols = (ir_map){0};
  p->page_number = 0;
  p->symbol_list.at = NULL;
  p->symbol_list.count = p->symbol_list.capacity = 0;
  p->func = func;
}

static bool is_open(const ir_region *region) { return !region->parent; }

static bool is_visible(const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  return is_open(op ? op->region : ir_value_region(value));
}

static bool is_number(ir_slice name) { return name.length && name.at[0] >= '0' && name.at[0] <= '9'; }

/* Where the value with a number is kept. Numbers need not be dense: a page is small and found by hashing. */
static ir_value **numbered(ir_parser *p, ir_slice digits) {
  uint64_t number = 0;
  for (size_t i = 0; i < digits.length; i++) {
    bool fits = !__builtin_mul_overflow(number, UINT64_C(10), &number) &&
                !__builtin_add_overflow(number, (uint64_t)(digits.at[i] - '0'), &number);
    if (!fits) return NULL;
  }
  uint64_t page = number / PAGE + 1;
  if (page != p->page_number) {
    void **slot = ir_map_slot(&p->names, &p->pages, (const void *)(uintptr_t)page);
    if (!*slot) *slot = ir_new_array(&p->names, ir_value *, PAGE);
    p->page = *slot;
    p->page_number = page;
  }
  return &p->page[number % PAGE];
}

static ir_slice name_of(const ir_parser *p, ir_range token) {
  ir_slice text = ir_text_at(p, token);
  return (ir_slice){text.at + 1, text.length - 1};
}

static ir_range range_of(const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  return op ? op->range : (ir_range){0, 0};
}

static void already(ir_parser *p, ir_range name, const ir_value *known) {
  ir_slice text = ir_text_at(p, name);
  ir_diag *diag = ir_parse_error(p, name, "'%.*s' is already defined", (int)text.length, text.at);
  if (range_of(known).begin) ir_note(p->diags, diag, range_of(known), "it was defined here");
}

void ir_define_value(ir_parser *p, ir_range name, ir_value *value) {
  ir_slice text = name_of(p, name);
  if (is_number(text)) {
    ir_value **slot = numbered(p, text);
    if (!slot) {
      ir_parse_error(p, name, "the number of this value does not fit 64 bits");
      return;
    }
    if (*slot && is_visible(*slot)) already(p, name, *slot);
    *slot = value;
    return;
  }
  value->name = ir_parse_name(p, name);
  void **slot = ir_map_slot(&p->names, &p->values, value->name);
  if (*slot && is_visible(*slot)) already(p, name, *slot);
  *slot = value;
}

/* Offers the names of visible values, inner and late ones first. */
static void offer_values(ir_parser *p, ir_nearest *nearest, bool axes) {
  for (const ir_block *block = p->block; block; block = block->outer) {
    const ir_region *region = block->region;
    for (const ir_op *op = axes ? NULL : region->last; op; op = op->prev) {
      for (size_t i = 0; i < op->result_count; i++) {
        const ir_string *name = ir_op_result(op, i)->name;
        if (name) ir_nearest_offer(nearest, ir_string_slice(name));
      }
    }
    for (size_t i = 0; i < region->arg_count; i++) {
      const ir_string *name = region->args[i]->name;
      bool is_axis = name && ir_map_get(&p->axes, name) == region->args[i];
      if (name && is_axis == axes) ir_nearest_offer(nearest, ir_string_slice(name));
    }
  }
}

/* A value of type any for a name that nothing defines, so that it is reported once. */
static ir_value *stand_in(ir_parser *p) {
  ir_value *value = ir_new(&p->module->arena, ir_value);
  const ir_block *outermost = p->block;
  while (outermost && outermost->outer) outermost = outermost->outer;
  ir_region *region = outermost ? outermost->region : &p->signature;
  *value = (ir_value){.type = p->context->any_type, .owner = (uintptr_t)region | 1};
  return value;
}

void ir_expect_value(ir_parser *p, ir_range name) {
  ir_slice text = name_of(p, name);
  bool number = is_number(text);
  void **slot = number ? (void **)numbered(p, text) : ir_map_slot(&p->names, &p->values, ir_parse_name(p, name));
  if (slot && !(*slot && is_visible(*slot))) *slot = stand_in(p);
}

ir_value *ir_find_value(ir_parser *p, ir_range name) {
  ir_slice text = name_of(p, name);
  bool number = is_number(text);
  ir_value **slot = number ? numbered(p, text) : NULL;
  const ir_string *string = number ? NULL : ir_parse_name(p, name);
  ir_value *value = number ? (slot ? *slot : NULL) : ir_map_get(&p->values, string);
  if (value && is_visible(value)) return value;
  ir_slice shown = ir_text_at(p, name);
  ir_diag *diag = ir_parse_error(p, name, "'%.*s' is not defined", (int)shown.length, shown.at);
  if (value) {
    ir_note(p->diags, diag, range_of(value), "a value of that name ends with the region that it is defined in");
  } else if (ir_suggests(p) && string) {
    ir_nearest nearest = {.wanted = ir_string_slice(string)};
    offer_values(p, &nearest, false);
    if (nearest.best.at)
      ir_note(p->diags, diag, name, "did you mean '%%%.*s'?", (int)nearest.best.length, nearest.best.at);
  }
  value = stand_in(p);
  if (slot) *slot = value;
  if (string) ir_map_put(&p->names, &p->values, string, value);
  return value;
}

/* --- axes and symbols: bare words share one space --- */

void ir_define_axis(ir_parser *p, ir_range name, ir_value *value) {
  value->name = ir_intern(p->context, ir_text_at(p, name));
  if (ir_is_reserved(ir_text_at(p, name))) ir_parse_error(p, name, "'%s' cannot name an axis", value->name->text);
  bool taken = ir_find_axis(p, value->name) || ir_find_symbol(p, value->name);
  if (taken)
    ir_parse_error(p, name, "'%s' is already %s", value->name->text,
                   ir_find_axis(p, value->name) ? "an axis" : "a symbol");
  ir_map_put(&p->names, &p->axes, value->name, value);
}

ir_value *ir_find_axis(ir_parser *p, const ir_string *name) {
  ir_value *value = ir_map_get(&p->axes, name);
  return value && is_visible(value) ? value : NULL;
}

void ir_define_symbol(ir_parser *p, const ir_string *name, const ir_region *home) {
  if (ir_find_symbol(p, name)) return;
  ir_symbol *symbol = ir_new(&p->names, ir_symbol);
  *symbol = (ir_symbol){name, home};
  *ir_push(&p->names, &p->symbol_list) = symbol;
  ir_map_put(&p->names, &p->symbols, name, symbol);
}

const ir_expr *ir_find_symbol(ir_parser *p, const ir_string *name) {
  const ir_symbol *symbol = ir_map_get(&p->symbols, name);
  return symbol && is_open(symbol->home) ? ir_expr_symbol(p->context, name) : NULL;
}

/* Takes the word for a symbol from here on, so that it is reported once. */
static void suppose(ir_parser *p, const ir_string *name) {
  ir_symbol *symbol = ir_new(&p->names, ir_symbol);
  *symbol = (ir_symbol){name, &p->signature};
  ir_map_put(&p->names, &p->symbols, name, symbol);
}

void ir_unknown_word(ir_parser *p, ir_range range, const char *what) {
  ir_slice text = ir_text_at(p, range);
  suppose(p, ir_intern(p->context, text));
  ir_diag *diag = ir_parse_error(p, range, "unknown %s '%.*s'", what, (int)text.length, text.at);
  if (!ir_suggests(p)) return;
  ir_nearest nearest = {.wanted = text};
  for (size_t i = 0; i < p->symbol_list.count; i++) {
    const ir_symbol *symbol = p->symbol_list.at[i];
    if (is_open(symbol->home)) ir_nearest_offer(&nearest, ir_string_slice(symbol->name));
  }
  offer_values(p, &nearest, true);
  ir_suggest(p, diag, range, &nearest);
  ir_value *value = ir_map_get(&p->values, ir_intern(p->context, text));
  if (value && is_visible(value))
    ir_note(p->diags, diag, range, "values are written with a '%%': '%%%.*s'", (int)text.length, text.at);
}

/* --- items --- */

ir_item *ir_find_item(ir_parser *p, const ir_string *name) {
  ir_item *item = ir_module_find(p->module, name);
  if (item || p->rest_declared || p->declaring) return item;
  ir_declare_rest(p);
  return ir_module_find(p->module, name);
}

void ir_unknown_item(ir_parser *p, ir_range range, const char *what, unsigned kinds) {
  if (p->rest_failed) return; /* it may stand where the text could not be read */
  ir_slice text = ir_text_at(p, range);
  const ir_item *other = ir_find_item(p, ir_parse_name(p, range));
  if (other) {
    ir_diag *diag = ir_parse_error(p, range, "'%.*s' is a %s, expected a %s", (int)text.length, text.at, ir_item_word(other->kind), what);
    ir_note(p->diags, diag, other->range, "it is defined here");
    return;
  }
  ir_diag *diag = ir_parse_error(p, range, "there is no %s '%.*s'", what, (int)text.length, text.at);
  if (!ir_suggests(p)) return;
  ir_nearest nearest = {.wanted = name_of(p, range)};
  ir_each_item(item, p->module) {
    if (kinds >> item->kind & 1) ir_nearest_offer(&nearest, ir_string_slice(item->name));
  }
  if (nearest.best.at)
    ir_note(p->diags, diag, range, "did you mean '@%.*s'?", (int)nearest.best.length, nearest.best.at);
}

void ir_taken_item(ir_parser *p, ir_range range, const ir_item *known) {
  if (p->declaring) return; /* the item will be met again */
  ir_slice text = ir_text_at(p, range);
  ir_diag *diag = ir_parse_error(p, range, "'%.*s' is already defined", (int)text.length, text.at);
  ir_note(p->diags, diag, known->range, "it was defined here");
}

bool ir_check_device(ir_parser *p, ir_range range) {
  if (p->declaring) {
    *ir_push(&p->module->arena, &p->devices) = range;
    return true;
  }
  ir_item *item = ir_find_item(p, ir_parse_name(p, range));
  bool known = item && item->kind == IR_ITEM_DEVICE;
  if (!known) ir_unknown_item(p, range, "device", 1 << IR_ITEM_DEVICE);
  return known;
}
