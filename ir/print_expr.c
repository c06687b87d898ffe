// SPDX-License-Identifier: Apache-2.0
/* ir/print_expr.c - names, scalar expressions, types and attributes as text. Needs ir/literal, ir/number. */
#include "ir/literal.h"
#include "ir/number.h"
#include "ir/printer.h"

/* --- names --- */

static bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool ir_printer_is_word(ir_slice name) {
  bool start = true;
  for (size_t i = 0; i < name.length; i++) {
    char c = name.at[i];
    bool dot = c == '.' && !start;
    if (!dot && !starts_word(c) && (start || c < '0' || c > '9')) return false;
    start = dot;
  }
  return !start;
}

static void quoted(ir_printer *p, ir_slice text) {
  ir_text_char(p->out, '"');
  ir_text_escaped(p->out, text);
  ir_text_char(p->out, '"');
}

void ir_printer_name(ir_printer *p, char sigil, const ir_string *name) {
  ir_text_char(p->out, sigil);
  ir_slice text = ir_string_slice(name);
  if (ir_printer_is_word(text))
    ir_text_bytes(p->out, text.at, text.length);
  else
    quoted(p, text);
}

/* Axes of compute nests and variables of `for`: bare words. */
static bool is_axis(const ir_value *value) {
  const ir_region *region = ir_value_region(value);
  return region && region->parent && (ir_is(region->parent, IR_FOR) || ir_is(region->parent, IR_COMPUTE));
}

void ir_printer_value(ir_printer *p, const ir_value *value) {
  if (!value) {
    ir_text_put(p->out, "<<no value>>");
    return;
  }
  const ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE)) {
    ir_printer_expr(p, (ir_printed){.expr = ir_value_expr(value), .op = op}, IR_DTYPE_UNKNOWN);
    return;
  }
  if (is_axis(value)) {
    const ir_string *name = value->name ? value->name : ir_map_get(&p->axes, value);
    ir_text_put(p->out, name ? name->text : "<<axis>>");
    return;
  }
  if (value->name) {
    ir_printer_name(p, '%', value->name);
    return;
  }
  uintptr_t number = ir_printer_number_of(p, value);
  if (number)
    ir_text_printf(p->out, "%%%zu", (size_t)(number - 1));
  else
    ir_text_put(p->out, "%<<unknown>>");
}

/* --- expressions --- */

static ir_value *operand_of(ir_printed e, uint32_t k) {
  if (e.op) return k < e.op->operand_count ? ir_op_operand(e.op, k) : NULL;
  return k < e.arg_count ? e.args[k] : NULL;
}

/* An argument that is an inline scalar prints as what that is made of. */
static ir_printed through(ir_printed e) {
  while (e.expr->code == IR_S_ARG) {
    const ir_value *value = operand_of(e, e.expr->arg);
    const ir_op *op = value ? ir_value_op(value) : NULL;
    const ir_expr *inner = op && (op->flags & IR_OP_INLINE) ? ir_value_expr(value) : NULL;
    if (!inner) break;
    e = (ir_printed){.expr = inner, .op = op};
  }
  return e;
}

static ir_printed kid_of(ir_printed e, size_t i) {
  e.expr = e.expr->kids[i];
  return through(e);
}

/* Nodes that E prints as, counted up to LIMIT. */
static size_t size_of(ir_printed e, size_t limit) {
  if (!limit || e.expr->size > limit) return limit + 1;
  size_t size = 1;
  for (size_t i = 0; i < e.expr->count && size <= limit; i++) size += size_of(kid_of(e, i), limit - size);
  return size;
}

static bool is_typed(ir_printed e) {
  const ir_expr *expr = e.expr;
  if (expr->code == IR_S_CONST) return expr->dtype == IR_BOOL || expr->lanes > 1;
  ir_literal_rule rule = ir_literal_rule_of((ir_scalar_code)expr->code);
  if (!rule.is_result) return true;
  for (size_t i = (size_t)rule.common; i < expr->count; i++) {
    if (is_typed(kid_of(e, i))) return true;
  }
  return false;
}

bool ir_printer_is_untyped(const ir_op *op, size_t k) {
  const ir_value *value = ir_op_operand(op, k);
  const ir_op *def = value ? ir_value_op(value) : NULL;
  const ir_expr *expr = def && (def->flags & IR_OP_INLINE) ? ir_value_expr(value) : NULL;
  if (!expr) return false;
  ir_printed e = through((ir_printed){.expr = expr, .op = def});
  return size_of(e, IR_PRINT_MAX_NODES) <= IR_PRINT_MAX_NODES && !is_typed(e);
}

/* What an untyped E gets where nothing around it says more. */
static ir_dtype default_of(const ir_expr *expr) { return ir_is_float((ir_dtype)expr->dtype) ? IR_F32 : IR_I64; }

enum { LOOSEST = 0, OR, AND, COMPARE, SUM, PRODUCT, UNARY, TIGHTEST };

static int precedence_of(ir_scalar_code code) {
  const char *infix = ir_scalars[code].infix;
  if (ir_scalars[code].arity != 2 || !*infix) return TIGHTEST;
  switch (*infix) {
  case '|': return OR;
  case '&': return AND;
  case '+':
  case '-': return SUM;
  case '*':
  case '/': return PRODUCT;
  }
  return COMPARE;
}

static void element_type(ir_printer *p, ir_dtype dtype, unsigned lanes) {
  ir_text_put(p->out, dtype <= IR_DTYPE_COUNT ? ir_dtype_name(dtype) : "<<dtype>>");
  if (lanes != 1) ir_text_printf(p->out, "x%u", lanes);
}

/* FORCE: the literal, or the first one in an untyped expression, is written with its dtype. */
static void print(ir_printer *p, ir_printed e, ir_dtype want, int tightness, bool force);

static void constant(ir_printer *p, const ir_expr *expr, bool call) {
  call = (call && expr->dtype != IR_BOOL) || expr->lanes != 1;
  if (call) {
    element_type(p, (ir_dtype)expr->dtype, expr->lanes);
    ir_text_char(p->out, '(');
  }
  ir_print_number(p->out, (ir_dtype)expr->dtype, expr->bits);
  if (call) ir_text_char(p->out, ')');
}

/* The dtype that operand I of E is read with, and whether it must be written out there. */
static ir_dtype want_of(ir_printed e, size_t i, ir_dtype want, bool force, bool *force_kid) {
  const ir_expr *expr = e.expr;
  ir_literal_rule rule = ir_literal_rule_of((ir_scalar_code)expr->code);
  *force_kid = false;
  if (rule.common < 0 || i < (size_t)rule.common) return rule.others;
  for (size_t k = (size_t)rule.common; k < expr->count; k++) {
    if (is_typed(kid_of(e, k))) return (ir_dtype)expr->kids[k]->dtype;
  }
  const ir_expr *first = expr->kids[rule.common];
  bool misread = force || (!rule.is_result && default_of(first) != first->dtype);
  if (misread) {
    *force_kid = i == (size_t)rule.common;
    return (ir_dtype)first->dtype;
  }
  return rule.is_result ? want : IR_DTYPE_UNKNOWN;
}

static void print_kid(ir_printer *p, ir_printed e, size_t i, ir_dtype want, int tightness, bool force) {
  bool force_kid;
  ir_dtype kid_want = want_of(e, i, want, force, &force_kid);
  print(p, kid_of(e, i), kid_want, tightness, force_kid);
}

static void load(ir_printer *p, ir_printed e) {
  const ir_expr *expr = e.expr;
  ir_printer_value(p, operand_of(e, expr->arg));
  ir_text_char(p->out, '[');
  for (size_t i = 0; i < expr->count; i++) {
    if (i) ir_text_put(p->out, ", ");
    ir_printed index = kid_of(e, i);
    bool ramp = index.expr->code == IR_S_RAMP;
    print(p, ramp ? kid_of(index, 0) : index, IR_I64, LOOSEST, false);
    if (ramp) ir_text_printf(p->out, ":%u", index.expr->lanes);
  }
  ir_text_char(p->out, ']');
}

/* f32(x), f32x8(x), bitcast(x, dtype=f32), ramp(x, lanes=8) */
static void conversion(ir_printer *p, ir_printed e) {
  const ir_expr *expr = e.expr;
  bool named = expr->code == IR_S_BITCAST || expr->code == IR_S_RAMP;
  if (named)
    ir_text_put(p->out, ir_scalars[expr->code].name);
  else
    element_type(p, (ir_dtype)expr->dtype, expr->lanes);
  ir_text_char(p->out, '(');
  ir_printed kid = kid_of(e, 0);
  bool misread = !is_typed(kid) && default_of(kid.expr) != kid.expr->dtype;
  bool literal = kid.expr->code == IR_S_CONST && !named; /* f32(1) is a constant, not a conversion */
  if (literal && kid.expr->dtype == IR_BOOL && kid.expr->lanes == 1) {
    ir_text_printf(p->out, "bool(%s)", kid.expr->bits & 0xff ? "true" : "false");
  } else {
    print(p, kid, IR_DTYPE_UNKNOWN, LOOSEST, misread || literal);
  }
  if (expr->code == IR_S_BITCAST) ir_text_printf(p->out, ", dtype=%s", ir_dtype_name((ir_dtype)expr->dtype));
  if (expr->code == IR_S_RAMP) ir_text_printf(p->out, ", lanes=%u", expr->lanes);
  ir_text_char(p->out, ')');
}

static void application(ir_printer *p, ir_printed e, ir_dtype want, int tightness, bool force) {
  const ir_expr *expr = e.expr;
  ir_scalar_code code = (ir_scalar_code)expr->code;
  const ir_scalar_def *def = &ir_scalars[code];
  int level = precedence_of(code);
  bool prefix = def->arity == 1 && *def->infix && expr->count == 1 && kid_of(e, 0).expr->code != IR_S_CONST;
  if (prefix) {
    if (tightness > UNARY) ir_text_char(p->out, '(');
    ir_text_put(p->out, def->infix);
    print_kid(p, e, 0, want, TIGHTEST, force);
    if (tightness > UNARY) ir_text_char(p->out, ')');
    return;
  }
  if (level != TIGHTEST && expr->count == 2) {
    if (tightness > level) ir_text_char(p->out, '(');
    print_kid(p, e, 0, want, level == COMPARE ? level + 1 : level, force);
    ir_text_printf(p->out, " %s ", def->infix);
    print_kid(p, e, 1, want, level + 1, force);
    if (tightness > level) ir_text_char(p->out, ')');
    return;
  }
  ir_text_put(p->out, def->name);
  ir_text_char(p->out, '(');
  for (size_t i = 0; i < expr->count; i++) {
    if (i) ir_text_put(p->out, ", ");
    print_kid(p, e, i, want, LOOSEST, force);
  }
  ir_text_char(p->out, ')');
}

static void print(ir_printer *p, ir_printed e, ir_dtype want, int tightness, bool force) {
  const ir_expr *expr = e.expr;
  if (!force && !is_typed(e)) force = (want == IR_DTYPE_UNKNOWN ? default_of(expr) : want) != expr->dtype;
  if (expr->code >= IR_S_COUNT) {
    ir_text_put(p->out, "<<expression>>");
    return;
  }
  switch ((int)expr->code) {
  case IR_S_CONST: constant(p, expr, force); return;
  case IR_S_SYMBOL: ir_text_bytes(p->out, expr->symbol->text, expr->symbol->length); return;
  case IR_S_ARG:
    if (operand_of(e, expr->arg))
      ir_printer_value(p, operand_of(e, expr->arg));
    else
      ir_text_printf(p->out, "<<%u>>", expr->arg);
    return;
  case IR_S_LOAD: load(p, e); return;
  case IR_S_CAST:
  case IR_S_BITCAST:
  case IR_S_BROADCAST:
  case IR_S_RAMP: conversion(p, e); return;
  }
  application(p, e, want, tightness, force);
}

void ir_printer_expr(ir_printer *p, ir_printed printed, ir_dtype want) {
  if (!printed.expr) {
    ir_text_put(p->out, "<<no expression>>");
    return;
  }
  ir_printed e = through(printed);
  if (size_of(e, IR_PRINT_MAX_NODES) > IR_PRINT_MAX_NODES)
    ir_text_put(p->out, "<<expression too large>>");
  else
    print(p, e, want, LOOSEST, false);
}

void ir_printer_operand(ir_printer *p, const ir_op *op, size_t k, ir_dtype want) {
  const ir_value *value = k < op->operand_count ? ir_op_operand(op, k) : NULL;
  const ir_op *def = value ? ir_value_op(value) : NULL;
  if (def && (def->flags & IR_OP_INLINE))
    ir_printer_expr(p, (ir_printed){.expr = ir_value_expr(value), .op = def}, want);
  else
    ir_printer_value(p, value);
}

void ir_printer_where(ir_printer *p, size_t count, const ir_expr *const *conditions) {
  for (size_t i = 0; i < count; i++) {
    ir_text_put(p->out, i ? ", " : " where ");
    ir_printer_expr(p, (ir_printed){.expr = conditions[i]}, IR_BOOL);
  }
}

/* --- types --- */

static void dims(ir_printer *p, const ir_type *type) {
  ir_text_char(p->out, '[');
  if (!type->ranked) ir_text_char(p->out, '*');
  for (size_t i = 0; type->ranked && i < type->count; i++) {
    if (i) ir_text_put(p->out, ", ");
    if (ir_type_dim(type, i))
      ir_printer_expr(p, (ir_printed){.expr = ir_type_dim(type, i)}, IR_I64);
    else
      ir_text_char(p->out, '?');
  }
  ir_text_char(p->out, ']');
}

void ir_printer_types(ir_printer *p, size_t count, const ir_type *const *types) {
  for (size_t i = 0; i < count; i++) {
    if (i) ir_text_put(p->out, ", ");
    ir_printer_type(p, types[i]);
  }
}

void ir_printer_results(ir_printer *p, size_t count, const ir_type *const *types) {
  if (count != 1) ir_text_char(p->out, '(');
  ir_printer_types(p, count, types);
  if (count != 1) ir_text_char(p->out, ')');
}

void ir_printer_type(ir_printer *p, const ir_type *type) {
  if (!type) {
    ir_text_put(p->out, "<<no type>>");
    return;
  }
  const ir_type *const *items = (const ir_type *const *)(const void *)type->items;
  switch (type->kind) {
  case IR_TYPE_ANY: ir_text_put(p->out, "any"); return;
  case IR_TYPE_STORAGE: ir_text_put(p->out, "storage"); return;
  case IR_TYPE_SCALAR: element_type(p, ir_type_dtype(type), type->lanes); return;
  case IR_TYPE_TENSOR:
    element_type(p, ir_type_dtype(type), type->lanes);
    dims(p, type);
    if (type->device) ir_text_char(p->out, ' '), ir_printer_name(p, '@', type->device);
    return;
  case IR_TYPE_SHAPE:
    ir_text_put(p->out, "shape");
    dims(p, type);
    return;
  case IR_TYPE_TUPLE:
    ir_text_put(p->out, "tuple[");
    ir_printer_types(p, type->count, items);
    ir_text_char(p->out, ']');
    return;
  case IR_TYPE_FUNC:
    ir_text_put(p->out, type->impure ? "impure fn" : "fn");
    if (!type->ranked) return;
    ir_text_char(p->out, '(');
    ir_printer_types(p, type->count, items);
    ir_text_put(p->out, ") -> ");
    ir_printer_results(p, type->result_count, items + type->count);
    return;
  }
  ir_text_put(p->out, "<<type>>");
}

/* --- attributes --- */

static void dict(ir_printer *p, const ir_attr *attr) {
  ir_text_char(p->out, '{');
  for (size_t i = 0; i < attr->count; i++) {
    if (i) ir_text_put(p->out, ", ");
    ir_slice key = ir_string_slice(attr->items[2 * i]->string);
    if (ir_printer_is_word(key))
      ir_text_bytes(p->out, key.at, key.length);
    else
      quoted(p, key);
    ir_text_char(p->out, '=');
    ir_printer_attr(p, attr->items[2 * i + 1]);
  }
  ir_text_char(p->out, '}');
}

static void double_number(ir_printer *p, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  ir_print_number(p->out, IR_F64, bits);
}

/* An element of DATA as its bits. */
static uint64_t element(const ir_data *data, size_t i) {
  unsigned width = ir_dtypes[data->dtype].bits;
  const uint8_t *bytes = data->bytes;
  if (width == 4) return bytes[i / 2] >> (i % 2 * 4) & 15;
  uint64_t bits = 0;
  memcpy(&bits, bytes + i * (width / 8), width / 8);
  return bits;
}

/* Elements from *at on, as lists along the axes from AXIS on. */
static void lists(ir_printer *p, const ir_data *data, size_t rank, const int64_t *extents, size_t axis, size_t *at) {
  if (axis == rank) {
    ir_print_number(p->out, data->dtype, element(data, (*at)++));
    return;
  }
  ir_text_char(p->out, '[');
  for (int64_t i = 0; i < extents[axis]; i++) {
    if (i) ir_text_put(p->out, ", ");
    lists(p, data, rank, extents, axis + 1, at);
  }
  ir_text_char(p->out, ']');
}

void ir_printer_data(ir_printer *p, const ir_attr *attr, const ir_type *type) {
  const ir_data *data = &attr->data;
  if (p->options.elide_above && data->size > p->options.elide_above) {
    ir_text_put(p->out, "...");
    return;
  }
  enum { MAX_RANK = 256 };
  int64_t extents[MAX_RANK], count, bytes;
  bool fits = type && ir_is_tensor(type) && type->ranked && type->count <= MAX_RANK && data->dtype < IR_DTYPE_COUNT &&
              ir_type_static_dims(type, extents, &count) && ir_dtype_bytes(data->dtype, count, &bytes) &&
              (uint64_t)bytes == data->size;
  size_t at = 0;
  if (!fits)
    ir_text_printf(p->out, "<<%zu bytes>>", data->size);
  else if (!count)
    ir_text_put(p->out, "[]");
  else
    lists(p, data, type->count, extents, 0, &at);
}

void ir_printer_attr(ir_printer *p, const ir_attr *attr) {
  if (!attr) {
    ir_text_put(p->out, "<<missing>>");
    return;
  }
  switch (attr->kind) {
  case IR_ATTR_NONE: ir_text_put(p->out, "none"); return;
  case IR_ATTR_BOOL: ir_text_put(p->out, attr->i ? "true" : "false"); return;
  case IR_ATTR_INT: ir_text_printf(p->out, "%lld", (long long)attr->i); return;
  case IR_ATTR_FLOAT: double_number(p, attr->f); return;
  case IR_ATTR_STRING: quoted(p, ir_string_slice(attr->string)); return;
  case IR_ATTR_ID: ir_text_bytes(p->out, attr->string->text, attr->string->length); return;
  case IR_ATTR_GLOBAL: ir_printer_name(p, '@', attr->string); return;
  case IR_ATTR_TYPE: ir_printer_type(p, attr->type); return;
  case IR_ATTR_EXPR:
    /* A lone constant would be read as a number or a bool of the attribute. */
    if (attr->expr->code == IR_S_CONST) {
      element_type(p, (ir_dtype)attr->expr->dtype, attr->expr->lanes);
      ir_text_char(p->out, '(');
      ir_print_number(p->out, (ir_dtype)attr->expr->dtype, attr->expr->bits);
      ir_text_char(p->out, ')');
    } else {
      ir_printer_expr(p, (ir_printed){.expr = attr->expr}, IR_DTYPE_UNKNOWN);
    }
    return;
  case IR_ATTR_LIST:
    ir_text_char(p->out, '[');
    for (size_t i = 0; i < attr->count; i++) {
      if (i) ir_text_put(p->out, ", ");
      ir_printer_attr(p, attr->items[i]);
    }
    ir_text_char(p->out, ']');
    return;
  case IR_ATTR_DICT: dict(p, attr); return;
  case IR_ATTR_DATA:
    ir_text_printf(p->out, "<<%zu bytes of %s>>", attr->data.size, ir_dtype_name(attr->data.dtype));
    return;
  }
  ir_text_put(p->out, "<<attribute>>");
}

void ir_printer_with(ir_printer *p, const ir_attr *attrs) {
  if (!attrs) return;
  ir_text_put(p->out, " with ");
  ir_printer_attr(p, attrs);
}
