// SPDX-License-Identifier: Apache-2.0
/* ir/formula.c - reads the formulas of tables. Recursive descent; a number stays open until an operand beside it gives
 * it a dtype. Needs ir/expr. Expansions are in ir/expand.c. */
#include "ir/formula.h"

#include "base/vec.h"
#include "ir/eval.h"

#include <stdlib.h>

/* A parsed part: an expression, or a number that has no dtype yet. */
typedef struct ir_part {
  const ir_expr *expr; /* NULL: a number, or nothing after an error */
  bool is_number, is_float, negative;
  uint64_t integer;
  const char *text;  /* of a float, without its sign */
  const char *start; /* where it stands in the formula */
} ir_part;

struct name {
  ir_slice name;
  const ir_expr *expr;
};

typedef struct ir_reader {
  ir_context *context;
  ir_dtype dtype;
  unsigned lanes;
  const char *text, *at;
  int depth;
  bool failed;
  ir_arena arena;
  ir_vec(struct name) names;
} ir_reader;

enum { MAX_DEPTH = 200, MAX_CALL = 3 };

static ir_part fail(ir_reader *r, const char *what, ir_slice found) {
  if (!r->failed) {
    const char *where = ir_arena_printf(&r->arena, "formula '%s'", r->text);
    ir_error_in(r->context->diags, where, "%s at '%.*s'", what, (int)found.length, found.at);
  }
  r->failed = true;
  return (ir_part){0};
}

static ir_slice rest(const ir_reader *r) {
  size_t length = strlen(r->at);
  return (ir_slice){r->at, length < 24 ? length : 24};
}

static ir_part fail_here(ir_reader *r, const char *what) { return fail(r, what, rest(r)); }

static void skip_blanks(ir_reader *r) { r->at += strspn(r->at, " \t\n"); }

/* Takes PUNCTUATION where it comes next; `<` is not taken from `<=`. */
static bool take(ir_reader *r, const char *punctuation) {
  skip_blanks(r);
  size_t length = strlen(punctuation);
  if (strncmp(r->at, punctuation, length)) return false;
  if (length == 1 && strchr("<>=!", *punctuation) && r->at[1] == '=') return false;
  r->at += length;
  return true;
}

static bool expect(ir_reader *r, const char *punctuation) {
  if (take(r, punctuation)) return true;
  fail_here(r, ir_arena_printf(&r->arena, "expected '%s'", punctuation));
  return false;
}

static ir_slice take_name(ir_reader *r) {
  static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  skip_blanks(r);
  ir_slice name = {r->at, *r->at >= '0' && *r->at <= '9' ? 0 : strspn(r->at, letters)};
  r->at += name.length;
  return name;
}

static ir_part part_of(const ir_expr *expr) { return (ir_part){.expr = expr}; }

/* What has been read since START. */
static ir_slice read_since(const ir_reader *r, const char *start) {
  size_t length = (size_t)(r->at - start);
  while (length && start[length - 1] == ' ') length--;
  return (ir_slice){start, length};
}

static double number_value(const ir_part *part, bool narrow) {
  double size = !part->text ? (double)part->integer
                : narrow    ? (double)strtof(part->text, NULL)
                            : strtod(part->text, NULL);
  return part->negative ? -size : size;
}

/* PART as an expression; a number becomes a constant of DTYPE. */
static const ir_expr *settled(ir_reader *r, const ir_part *part, ir_dtype dtype) {
  if (!part->is_number) return part->expr;
  if (ir_is_float(dtype))
    return ir_expr_const(r->context, dtype, r->lanes, ir_float_to_bits(dtype, number_value(part, dtype == IR_F32)));
  if (part->is_float || dtype == IR_BOOL) {
    fail(r, part->is_float ? "a float stands where an integer is needed" : "a number stands where a bool is needed",
         (ir_slice){part->start, strspn(part->start, "-.+0123456789abcdefinpx")});
    return NULL;
  }
  int64_t value = (int64_t)(part->negative ? 0 - part->integer : part->integer);
  return ir_expr_const(r->context, dtype, r->lanes, ir_int_to_bits(dtype, value));
}

static ir_part apply(ir_reader *r, ir_scalar_code code, size_t count, const ir_part *parts) {
  ir_dtype dtype = r->dtype;
  size_t first = ir_scalars[code].typing == IR_TYPING_SELECT;
  for (size_t i = count; i-- > first;) {
    if (parts[i].expr) dtype = (ir_dtype)parts[i].expr->dtype;
  }
  const ir_expr *kids[MAX_CALL];
  for (size_t i = 0; i < count; i++) kids[i] = settled(r, &parts[i], i < first ? IR_BOOL : dtype);
  if (r->failed) return (ir_part){0};
  const char *problem;
  if (ir_expr_check(code, count, kids, &problem)) return part_of(ir_expr_get(r->context, code, count, kids));
  return fail(r, ir_arena_printf(&r->arena, "'%s' needs %s", ir_scalars[code].name, problem),
              read_since(r, parts[0].start));
}

static ir_part read_level(ir_reader *r, int level);

static ir_part read_number(ir_reader *r) {
  char *end, *whole;
  ir_part part = {.is_number = true};
  part.integer = strtoull(r->at, &whole, 0);
  const char *digits = r->at;
  strtod(digits, &end);
  bool leading_zero = digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'; /* never octal */
  part.is_float = end > whole || leading_zero;
  if (part.is_float) part.text = ir_arena_copy(&r->arena, digits, (size_t)(end - digits));
  r->at = part.is_float ? end : whole;
  return part;
}

static ir_part read_cast(ir_reader *r, ir_dtype dtype) {
  ir_part part = read_level(r, 0);
  if (r->failed || !expect(r, ")")) return part;
  bool direct = part.is_number && dtype != IR_BOOL && (ir_is_float(dtype) || !part.is_float);
  const ir_expr *expr = settled(r, &part, direct ? dtype : r->dtype);
  /* A constant, such as an attribute in f64, is cast here: no target needs to know its dtype. */
  return r->failed ? part : part_of(ir_expr_fold(r->context, ir_expr_cast(r->context, expr, dtype)));
}

static ir_dtype find_dtype(const ir_reader *r, ir_slice name) {
  return ir_slice_is(name, "T") ? r->dtype : ir_dtype_find(name);
}

static ir_part read_bitcast(ir_reader *r) {
  ir_slice name = take_name(r);
  ir_dtype dtype = find_dtype(r, name);
  if (dtype == IR_DTYPE_UNKNOWN) return fail(r, "expected a dtype", name);
  if (!expect(r, ",")) return (ir_part){0};
  ir_part part = read_level(r, 0);
  if (r->failed || !expect(r, ")")) return part;
  const ir_expr *expr = settled(r, &part, r->dtype);
  if (r->failed) return part;
  if (ir_dtypes[expr->dtype].bits != ir_dtypes[dtype].bits)
    return fail(r, "bitcast to another width", read_since(r, part.start));
  return part_of(expr->dtype == dtype ? expr : ir_expr_convert(r->context, IR_S_BITCAST, expr, dtype, expr->lanes));
}

static ir_part read_call(ir_reader *r, ir_slice name) {
  ir_dtype dtype = find_dtype(r, name);
  if (dtype != IR_DTYPE_UNKNOWN) return read_cast(r, dtype);
  ir_scalar_code code = ir_scalar_find(r->context, name);
  if (code == IR_S_BITCAST) return read_bitcast(r);
  if (code == IR_S_COUNT || ir_scalars[code].typing == IR_TYPING_CONVERT) return fail(r, "unknown function", name);
  ir_part parts[MAX_CALL];
  size_t count = 0;
  do {
    if (count == MAX_CALL) return fail(r, "too many operands", name);
    parts[count++] = read_level(r, 0);
    if (r->failed) return (ir_part){0};
  } while (take(r, ","));
  return expect(r, ")") ? apply(r, code, count, parts) : (ir_part){0};
}

static ir_part read_name(ir_reader *r) {
  ir_slice name = take_name(r);
  if (!name.length) return fail_here(r, "expected an expression");
  if (take(r, "(")) return read_call(r, name);
  for (size_t i = r->names.count; i-- > 0;) {
    if (ir_slice_equal(r->names.at[i].name, name)) return part_of(r->names.at[i].expr);
  }
  bool is_true = ir_slice_is(name, "true");
  if (is_true || ir_slice_is(name, "false")) return part_of(ir_expr_const(r->context, IR_BOOL, r->lanes, is_true));
  if (ir_slice_is(name, "inf") || ir_slice_is(name, "nan"))
    return (ir_part){.is_number = true, .is_float = true, .text = *name.at == 'i' ? "inf" : "nan"};
  return fail(r, "unknown name", name);
}

static ir_part read_prefix(ir_reader *r) {
  if (++r->depth > MAX_DEPTH) return fail_here(r, "nested too deeply");
  skip_blanks(r);
  const char *start = r->at;
  ir_part part;
  if (take(r, "-")) {
    part = read_prefix(r);
    if (part.is_number)
      part.negative = !part.negative;
    else if (!r->failed)
      part = apply(r, IR_S_NEG, 1, &part);
  } else if (take(r, "!")) {
    part = read_prefix(r);
    if (!r->failed) part = apply(r, IR_S_NOT, 1, &part);
  } else if (take(r, "(")) {
    part = read_level(r, 0);
    if (!r->failed) expect(r, ")");
  } else {
    part = *r->at >= '0' && *r->at <= '9' ? read_number(r) : read_name(r);
  }
  r->depth--;
  part.start = start;
  return part;
}

/* Infix operators from loose to tight; comparisons do not chain. A longer spelling stands before its prefix. */
static const struct level {
  uint16_t codes[7];
} levels[] = {
    {{IR_S_OR}},
    {{IR_S_AND}},
    {{IR_S_EQ, IR_S_NE, IR_S_LE, IR_S_GE, IR_S_LT, IR_S_GT}},
    {{IR_S_ADD, IR_S_SUB}},
    {{IR_S_MUL, IR_S_DIV}},
};

static ir_scalar_code take_infix(ir_reader *r, const struct level *level) {
  for (size_t i = 0; level->codes[i]; i++) {
    if (take(r, ir_scalars[level->codes[i]].infix)) return (ir_scalar_code)level->codes[i];
  }
  return IR_S_COUNT;
}

static ir_part read_level(ir_reader *r, int level) {
  if (level == (int)ir_count_of(levels)) return read_prefix(r);
  ir_part left = read_level(r, level + 1);
  ir_scalar_code code;
  while (!r->failed && (code = take_infix(r, &levels[level])) != IR_S_COUNT) {
    ir_part both[2] = {left, read_level(r, level + 1)};
    if (r->failed) break;
    const char *start = left.start;
    left = apply(r, code, 2, both);
    left.start = start;
    if (ir_scalars[code].typing != IR_TYPING_COMPARE || r->failed) continue;
    const char *again = r->at;
    if (take_infix(r, &levels[level]) == IR_S_COUNT) break;
    r->at = again;
    return fail_here(r, "comparisons do not chain");
  }
  return left;
}

/* `name =` at the start of a statement. */
static ir_slice take_definition(ir_reader *r) {
  const char *start = r->at;
  ir_slice name = take_name(r);
  if (name.length && take(r, "=")) return name;
  r->at = start;
  return (ir_slice){NULL, 0};
}

static void define(ir_reader *r, ir_slice name, const ir_expr *expr) {
  for (size_t i = 0; i < r->names.count; i++) {
    if (ir_slice_equal(r->names.at[i].name, name)) fail(r, "a second definition", name);
  }
  *ir_push(&r->arena, &r->names) = (struct name){name, expr};
}

static const ir_expr *read_formula(ir_reader *r) {
  for (ir_slice name; !r->failed && (name = take_definition(r)).length;) {
    ir_part part = read_level(r, 0);
    const ir_expr *expr = r->failed ? NULL : settled(r, &part, r->dtype);
    if (!r->failed && expect(r, ";")) define(r, name, expr);
  }
  if (r->failed) return NULL;
  ir_part part = read_level(r, 0);
  const ir_expr *expr = r->failed ? NULL : settled(r, &part, r->dtype);
  skip_blanks(r);
  if (!r->failed && *r->at) fail_here(r, "unexpected text");
  return r->failed ? NULL : expr;
}

/* One remembered formula; those of the same text are a list. */
struct remembered {
  struct remembered *next;
  ir_dtype dtype;
  size_t count;
  const ir_expr *result, *inputs[];
};

static bool same_inputs(const struct remembered *known, ir_dtype dtype, const ir_formula_input *inputs, size_t count) {
  if (known->dtype != dtype || known->count != count) return false;
  for (size_t i = 0; i < count; i++) {
    if (known->inputs[i] != inputs[i].value) return false;
  }
  return true;
}

static void **remembered_slot(ir_context *context, const char *text, const ir_formula_input *inputs, size_t count) {
  ir_text key = {0};
  ir_text_put(&key, text);
  for (size_t i = 0; i < count; i++) ir_text_printf(&key, ";%s", inputs[i].name);
  const ir_string *name = ir_intern(context, (ir_slice){key.at, key.length});
  ir_text_free(&key);
  return ir_map_slot(&context->arena, &context->formulas, name);
}

const ir_expr *ir_formula(ir_context *context, const char *text, ir_dtype dtype, const ir_formula_input *inputs,
                          size_t count) {
  void **slot = remembered_slot(context, text, inputs, count);
  for (const struct remembered *known = *slot; known; known = known->next) {
    if (same_inputs(known, dtype, inputs, count)) return known->result;
  }
  ir_reader r = {
      .context = context, .dtype = dtype, .lanes = count ? inputs[0].value->lanes : 1, .text = text, .at = text};
  bool closed = true;
  for (size_t i = 0; i < count; i++) {
    define(&r, ir_slice_of(inputs[i].name), inputs[i].value);
    if (inputs[i].value->lanes > r.lanes) r.lanes = inputs[i].value->lanes;
    closed &= inputs[i].value->code == IR_S_ARG || inputs[i].value->code == IR_S_CONST;
  }
  const ir_expr *result = read_formula(&r);
  ir_arena_free(&r.arena);
  if (!result || !closed) return result;
  struct remembered *made = ir_arena_alloc(&context->arena, sizeof *made + count * sizeof *made->inputs);
  *made = (struct remembered){.next = *slot, .dtype = dtype, .count = count, .result = result};
  for (size_t i = 0; i < count; i++) made->inputs[i] = inputs[i].value;
  *slot = made;
  return result;
}
