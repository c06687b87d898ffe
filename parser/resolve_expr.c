// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_expr.c - scalar expressions and operands. Nothing is folded; only a minus sign before a literal
 * belongs to the literal. The dtypes of bare literals are those of ir/literal.h. Needs parser/resolve.h, ir/number. */
#include "ir/literal.h"
#include "ir/number.h"
#include "ir/print.h"
#include "parser/resolve.h"

const char *ir_node_describe(ir_parser *p, const ir_node *node) {
  ir_slice text = ir_text_at(p, node->range);
  if (text.length > 40) text.length = 40;
  switch ((ir_node_kind)node->kind) {
  case N_INT:
  case N_FLOAT:
  case N_ID:
  case N_VALUE:
  case N_GLOBAL: return ir_arena_printf(&p->scratch, "'%.*s'", (int)text.length, text.at);
  case N_STRING: return "a string";
  case N_ELLIPSIS: return "'...'";
  case N_CALL: return "a call";
  case N_GLOBAL_CALL: return "a call of a global name";
  case N_ELEMENT: return "an element";
  case N_LANES: return "a vector index";
  case N_ARRAY:
  case N_FN: return "a type";
  case N_UNKNOWN: return "'?'";
  case N_UNRANKED: return "'*'";
  case N_LIST: return "a list";
  case N_DICT: return "a dictionary";
  case N_ENTRY: return "a keyword argument";
  case N_NEGATE:
  case N_NOT:
  case N_BINARY: return "an expression";
  case N_PARAM:
  case N_CARRY:
  case N_AXIS:
  case N_WHERE: break;
  }
  return "something else";
}

/* --- literals --- */

static bool is_bare_literal(const ir_parser *p, const ir_node *node) {
  if (node->kind == N_INT || node->kind == N_FLOAT) return true;
  if (node->kind == N_CALL) return ir_slice_is(ir_node_name(p, node), "nan");
  return node->kind == N_ID && !node->typed; /* inf, nan */
}

/* A literal, with its minus sign where it has one. */
static bool is_literal(const ir_parser *p, const ir_node *node) {
  return is_bare_literal(p, node->kind == N_NEGATE ? node->other : node);
}

static bool out_of_range(ir_parser *p, const ir_node *node, ir_dtype dtype) {
  ir_slice text = ir_text_at(p, node->range);
  bool is_long = text.length > 40;
  ir_parse_error(p, node->range, "%.*s%s is out of range for %s", is_long ? 40 : (int)text.length, text.at,
                 is_long ? "..." : "", ir_dtype_name(dtype));
  return false;
}

static bool float_bits(ir_parser *p, const ir_node *node, ir_dtype dtype, uint64_t *bits) {
  ir_slice name = ir_node_name(p, node);
  if (node->kind == N_INT || node->kind == N_FLOAT) {
    return ir_parse_float(dtype, name, bits) == IR_NUMBER_FINE || out_of_range(p, node, dtype);
  }
  if (ir_slice_is(name, "inf")) {
    if (dtype == IR_F8E4M3) return out_of_range(p, node, dtype);
    *bits = ir_float_to_bits(dtype, __builtin_inf());
    return true;
  }
  uint64_t payload = ir_nan_payload(dtype);
  if (node->kind == N_CALL) {
    const ir_node *arg = node->kids.first;
    bool fine =
        node->kids.count == 1 && arg->kind == N_INT && ir_parse_integer(ir_node_name(p, arg), &payload) && payload;
    if (!fine) {
      ir_parse_error(p, node->range, "nan(...) takes the mantissa of a NaN, an integer above 0");
      return false;
    }
  }
  return ir_nan_bits(dtype, payload, bits) || out_of_range(p, node, dtype);
}

static bool integer_bits(ir_parser *p, const ir_node *node, bool negative, ir_dtype dtype, uint64_t *bits) {
  const ir_node *literal = negative ? node->other : node;
  if (literal->kind != N_INT) {
    ir_slice text = ir_text_at(p, node->range);
    ir_parse_error(p, node->range, "expected %s, found '%.*s'", ir_dtype_name(dtype),
                   text.length > 40 ? 40 : (int)text.length, text.at);
    return false;
  }
  uint64_t value;
  unsigned width = ir_dtypes[dtype].bits;
  uint64_t most = ir_is_signed(dtype) ? (UINT64_C(1) << (width - 1)) - !negative
                  : width == 64       ? UINT64_MAX
                                      : (UINT64_C(1) << width) - 1;
  if (negative && !ir_is_signed(dtype)) most = 0;
  if (!ir_parse_integer(ir_node_name(p, literal), &value) || value > most) return out_of_range(p, node, dtype);
  *bits = ir_int_to_bits(dtype, (int64_t)(negative ? 0 - value : value));
  return true;
}

bool ir_resolve_number(ir_parser *p, const ir_node *node, ir_dtype dtype, uint64_t *bits) {
  if (dtype == IR_BOOL) {
    ir_slice name = ir_node_name(p, node);
    bool is_true = node->kind == N_ID && ir_slice_is(name, "true"),
         is_false = node->kind == N_ID && ir_slice_is(name, "false");
    if (!is_true && !is_false)
      ir_parse_error(p, node->range, "expected true or false, found %s", ir_node_describe(p, node));
    *bits = is_true;
    return is_true || is_false;
  }
  if (!is_literal(p, node)) {
    ir_parse_error(p, node->range, "expected a number, found %s", ir_node_describe(p, node));
    return false;
  }
  bool negative = node->kind == N_NEGATE;
  if (!ir_is_float(dtype)) return integer_bits(p, node, negative, dtype, bits);
  if (!float_bits(p, negative ? node->other : node, dtype, bits)) return false;
  if (negative) *bits |= ir_float_sign_bit(dtype);
  return true;
}

/* --- expressions --- */

static const ir_expr *resolve(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype want);

static ir_dtype default_of(const ir_node *node) { return node->floats ? IR_F32 : IR_I64; }

/* The operands of an operator, each with the dtype that its siblings or the context give it. */
static bool operands(ir_parser *p, ir_frame *frame, ir_scalar_code code, ir_nodes nodes, ir_dtype want,
                     const ir_expr **kids) {
  ir_literal_rule rule = ir_literal_rule_of(code);
  const ir_node *known = NULL;
  ir_dtype common = rule.is_result ? want : IR_DTYPE_UNKNOWN;
  bool floats = false, fine = true;
  int i = 0, known_at = -1;
  ir_each_node(node, nodes) {
    bool shares = rule.common >= 0 && i >= rule.common;
    if (shares && node->typed && !known) known = node, known_at = i;
    if (shares) floats |= node->floats;
    i++;
  }
  if (known) {
    kids[known_at] = resolve(p, frame, known, want);
    fine = kids[known_at] != NULL;
    common = fine ? (ir_dtype)kids[known_at]->dtype : IR_DTYPE_UNKNOWN;
  } else if (common == IR_DTYPE_UNKNOWN) {
    common = floats ? IR_F32 : IR_I64;
  }
  i = 0;
  ir_each_node(node, nodes) {
    bool shares = rule.common >= 0 && i >= rule.common;
    if (i != known_at) fine &= (kids[i] = resolve(p, frame, node, shares ? common : rule.others)) != NULL;
    i++;
  }
  return fine;
}

static const char *type_text(ir_parser *p, const ir_expr *expr) {
  return ir_type_text(&p->scratch, ir_type_scalar(p->context, (ir_dtype)expr->dtype, expr->lanes));
}

static void refuse(ir_parser *p, const ir_node *node, ir_scalar_code code, size_t count, const ir_expr *const *kids,
                   const char *problem) {
  const ir_scalar_def *def = &ir_scalars[code];
  ir_text text = {0};
  for (size_t i = 0; i < count; i++)
    ir_text_printf(&text, "%s%s", !i ? "" : i + 1 == count ? " and " : ", ", type_text(p, kids[i]));
  ir_diag *diag = ir_parse_error(p, node->range, "'%s' takes %s, found %s", *def->infix ? def->infix : def->name,
                                 problem, text.at ? text.at : "nothing");
  ir_text_free(&text);
  bool divides = code == IR_S_DIV && ir_is_integer((ir_dtype)kids[0]->dtype);
  if (divides) ir_note(p->diags, diag, node->range, "integers name their rounding: floordiv, truncdiv or ceildiv");
  bool vectors = false, scalars = false;
  for (size_t i = 0; i < count; i++) *(kids[i]->lanes > 1 ? &vectors : &scalars) = true;
  if (vectors && scalars) ir_note(p->diags, diag, node->range, "a scalar becomes a vector by a call, as in f32x8(x)");
}

static const ir_expr *apply(ir_parser *p, ir_frame *frame, const ir_node *node, ir_scalar_code code, ir_nodes nodes,
                            ir_dtype want) {
  const ir_scalar_def *def = &ir_scalars[code];
  if (def->arity >= 0 && nodes.count != (uint32_t)def->arity) {
    ir_parse_error(p, node->range, "'%s' takes %d operand%s, found %u", def->name, def->arity,
                   def->arity == 1 ? "" : "s", nodes.count);
    return NULL;
  }
  const ir_expr *kids[4] = {0};
  if (!operands(p, frame, code, nodes, want, kids)) return NULL;
  const char *problem;
  if (!ir_expr_check(code, nodes.count, kids, &problem)) {
    refuse(p, node, code, nodes.count, kids, problem);
    return NULL;
  }
  return ir_expr_get(p->context, code, nodes.count, kids);
}

static const ir_expr *literal(ir_parser *p, const ir_node *node, ir_dtype want) {
  ir_dtype dtype = want != IR_DTYPE_UNKNOWN ? want : default_of(node);
  uint64_t bits;
  return ir_resolve_number(p, node, dtype, &bits) ? ir_expr_const(p->context, dtype, 1, bits) : NULL;
}

static bool refuse_keywords(ir_parser *p, ir_nodes nodes) {
  ir_each_node(node, nodes) {
    if (node->kind != N_ENTRY) continue;
    ir_slice name = ir_node_name(p, node);
    ir_parse_error(p, node->range, "a scalar operator has no attribute '%.*s'", (int)name.length, name.at);
    return true;
  }
  return false;
}

/* f32(x), f32x8(x): a constant where x is a literal, else a cast or, of a scalar to a vector, a broadcast. */
static const ir_expr *conversion(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype dtype, unsigned lanes) {
  if (refuse_keywords(p, node->kids)) return NULL;
  if (node->kids.count != 1) {
    ir_slice name = ir_node_name(p, node);
    ir_parse_error(p, node->range, "%.*s(...) converts one value, found %u", (int)name.length, name.at,
                   node->kids.count);
    return NULL;
  }
  const ir_node *arg = node->kids.first;
  bool is_bool =
      arg->kind == N_ID && (ir_slice_is(ir_node_name(p, arg), "true") || ir_slice_is(ir_node_name(p, arg), "false"));
  uint64_t bits;
  if (is_literal(p, arg) || (dtype == IR_BOOL && is_bool)) {
    return ir_resolve_number(p, arg, dtype, &bits) ? ir_expr_const(p->context, dtype, lanes, bits) : NULL;
  }
  const ir_expr *kid = resolve(p, frame, arg, IR_DTYPE_UNKNOWN);
  if (!kid) return NULL;
  if (kid->lanes == lanes) return ir_expr_convert(p->context, IR_S_CAST, kid, dtype, lanes);
  if (kid->lanes == 1 && kid->dtype == dtype) return ir_expr_convert(p->context, IR_S_BROADCAST, kid, dtype, lanes);
  ir_diag *diag = ir_parse_error(p, node->range, "%s does not convert to %.*s", type_text(p, kid),
                                 (int)ir_node_name(p, node).length, ir_node_name(p, node).at);
  if (kid->lanes == 1) ir_note(p->diags, diag, arg->range, "convert the element first: %s(...)", ir_dtype_name(dtype));
  return NULL;
}

/* The value of keyword NAME of bitcast and ramp, which must be the second argument. */
static const ir_node *keyword_of(ir_parser *p, const ir_node *node, const char *name) {
  const ir_node *second = node->kids.count == 2 ? node->kids.first->next : NULL;
  bool fine = second && node->kids.first->kind != N_ENTRY && second->kind == N_ENTRY &&
              ir_slice_is(ir_node_name(p, second), name);
  if (fine) return second->other;
  ir_slice word = ir_node_name(p, node);
  ir_parse_error(p, node->range, "expected %.*s(x, %s=...)", (int)word.length, word.at, name);
  return NULL;
}

static const ir_expr *bitcast(ir_parser *p, ir_frame *frame, const ir_node *node) {
  const ir_node *word = keyword_of(p, node, "dtype");
  ir_dtype dtype = word && word->kind == N_ID ? ir_dtype_find(ir_node_name(p, word)) : IR_DTYPE_UNKNOWN;
  if (!word) return NULL;
  if (dtype == IR_DTYPE_UNKNOWN) {
    ir_parse_error(p, word->range, "expected a dtype, found %s", ir_node_describe(p, word));
    return NULL;
  }
  const ir_expr *kid = resolve(p, frame, node->kids.first, IR_DTYPE_UNKNOWN);
  if (!kid) return NULL;
  if (ir_dtypes[kid->dtype].bits == ir_dtypes[dtype].bits)
    return ir_expr_convert(p->context, IR_S_BITCAST, kid, dtype, kid->lanes);
  ir_parse_error(p, node->range, "bitcast keeps the width: %s has %u bits, %s %u", ir_dtype_name((ir_dtype)kid->dtype),
                 ir_dtypes[kid->dtype].bits, ir_dtype_name(dtype), ir_dtypes[dtype].bits);
  return NULL;
}

static const ir_expr *ramp_of(ir_parser *p, ir_frame *frame, const ir_node *base, const ir_node *width, ir_dtype want) {
  uint64_t lanes;
  bool fine = width->kind == N_INT && ir_parse_integer(ir_node_name(p, width), &lanes) && lanes > 1 && lanes < 10000;
  if (!fine) {
    ir_parse_error(p, width->range, "the number of lanes must be a constant above 1");
    return NULL;
  }
  const ir_expr *kid = resolve(p, frame, base, want);
  if (!kid) return NULL;
  if (kid->lanes == 1 && ir_is_integer((ir_dtype)kid->dtype))
    return ir_expr_convert(p->context, IR_S_RAMP, kid, (ir_dtype)kid->dtype, (unsigned)lanes);
  ir_parse_error(p, base->range, "expected an integer, found %s", type_text(p, kid));
  return NULL;
}

static void unknown_function(ir_parser *p, const ir_node *node) {
  ir_slice name = ir_node_name(p, node);
  ir_range range = ir_node_name_range(node);
  static const char *const reducers[] = {"sum", "prod", "any", "all", "dot", "argmax", "argmin"};
  for (size_t i = 0; i < ir_count_of(reducers); i++) {
    if (!ir_slice_is(name, reducers[i])) continue;
    ir_parse_error(p, range, "'%s' reduces: it is the whole right side of a store in a compute nest", reducers[i]);
    return;
  }
  if (ir_op_find(p->context, name) != IR_OP_COUNT) {
    ir_parse_error(p, range, "'%.*s' is an operation: bind its result to a name first", (int)name.length, name.at);
    return;
  }
  ir_diag *diag = ir_parse_error(p, range, "unknown scalar operator '%.*s'", (int)name.length, name.at);
  if (!ir_suggests(p)) return;
  ir_nearest nearest = {.wanted = name};
  for (int code = 0; code < IR_S_COUNT; code++) ir_nearest_offer(&nearest, ir_slice_of(ir_scalars[code].name));
  for (int d = 0; d < IR_DTYPE_COUNT; d++) ir_nearest_offer(&nearest, ir_slice_of(ir_dtypes[d].name));
  ir_suggest(p, diag, range, &nearest);
}

static const ir_expr *call(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype want) {
  ir_slice name = ir_node_name(p, node);
  ir_dtype dtype;
  unsigned lanes;
  if (is_bare_literal(p, node)) return literal(p, node, want);
  ir_scalar_code code = (ir_scalar_code)node->code;
  if (code == IR_S_COUNT) {
    if (ir_element_find(name, &dtype, &lanes)) return conversion(p, frame, node, dtype, lanes);
    unknown_function(p, node);
    return NULL;
  }
  if (code == IR_S_BITCAST) return bitcast(p, frame, node);
  if (code == IR_S_RAMP) {
    const ir_node *width = keyword_of(p, node, "lanes");
    return width ? ramp_of(p, frame, node->kids.first, width, IR_DTYPE_UNKNOWN) : NULL;
  }
  if (code == IR_S_CAST || code == IR_S_BROADCAST) {
    ir_parse_error(p, node->range, "conversions are written with the dtype: f32(x), f32x8(x)");
    return NULL;
  }
  return refuse_keywords(p, node->kids) ? NULL : apply(p, frame, node, code, node->kids, want);
}

static const ir_expr *word(ir_parser *p, ir_frame *frame, const ir_node *node) {
  ir_slice text = ir_node_name(p, node);
  if (ir_slice_is(text, "true") || ir_slice_is(text, "false")) return ir_expr_bool(p->context, text.at[0] == 't');
  const ir_string *name = ir_intern(p->context, text);
  ir_value *axis = frame ? ir_find_axis(p, name) : NULL;
  if (axis) return ir_frame_use(frame, axis);
  const ir_expr *symbol = ir_find_symbol(p, name);
  if (symbol) return symbol;
  if (ir_is_reserved(text))
    ir_parse_error(p, node->range, "expected a scalar expression, found '%.*s'", (int)text.length, text.at);
  else
    ir_unknown_word(p, node->range, "symbol");
  return NULL;
}

static const ir_expr *scalar_value(ir_parser *p, ir_frame *frame, const ir_node *node) {
  ir_value *value = ir_find_value(p, node->range);
  if (ir_is_scalar(value->type)) return ir_frame_use(frame, value);
  if (value->type == p->context->any_type && ir_has_failed(p)) return NULL;
  ir_slice text = ir_node_name(p, node);
  bool buffer = !ir_in_graph(p) && ir_is_tensor(value->type);
  ir_diag *diag = ir_parse_error(p, node->range, "expected a scalar, found '%.*s' of type %s", (int)text.length,
                                 text.at, ir_type_text(&p->scratch, value->type));
  if (buffer)
    ir_note(p->diags, diag, node->range, "a buffer is read by index: '%.*s[%s]'", (int)text.length, text.at,
            value->type->count ? "..." : "");
  return NULL;
}

bool ir_check_indices(ir_parser *p, const ir_node *element, const ir_value *buffer) {
  const ir_type *type = buffer->type;
  if (type == p->context->any_type && ir_has_failed(p)) return false;
  ir_slice name = ir_node_name(p, element);
  if (!ir_is_tensor(type) || !type->ranked || type->dtype == IR_DTYPE_UNKNOWN) {
    ir_parse_error(p, element->range, "'%.*s' is no buffer: it has type %s", (int)name.length, name.at,
                   ir_type_text(&p->scratch, type));
    return false;
  }
  if (type->count == element->kids.count) return true;
  ir_parse_error(p, element->range, "'%.*s' has %u ax%s, found %u ind%s", (int)name.length, name.at, type->count,
                 type->count == 1 ? "is" : "es", element->kids.count, element->kids.count == 1 ? "ex" : "ices");
  return false;
}

const ir_expr *ir_resolve_index(ir_parser *p, ir_frame *frame, const ir_node *node) {
  const ir_expr *index = node->kind == N_LANES ? ramp_of(p, frame, node->kids.first, node->kids.last, IR_I64)
                                               : resolve(p, frame, node, IR_I64);
  if (!index || (index->dtype == IR_I64 && (index->lanes == 1 || index->code == IR_S_RAMP))) return index;
  ir_parse_error(p, node->range, "expected an index of type i64, found %s", type_text(p, index));
  return NULL;
}

static const ir_expr *element(ir_parser *p, ir_frame *frame, const ir_node *node) {
  ir_value *buffer = ir_find_value(p, ir_node_name_range(node));
  if (ir_in_graph(p) && !(buffer->type == p->context->any_type && ir_has_failed(p))) {
    bool is_tuple = buffer->type->kind == IR_TYPE_TUPLE;
    ir_parse_error(p, node->range,
                   is_tuple ? "a field of a tuple is no scalar: bind it to a name first"
                            : "elements are read in a prim_func; here take or strided_slice select");
    return NULL;
  }
  if (!ir_check_indices(p, node, buffer)) return NULL;
  const ir_expr **indices = ir_new_array(&p->scratch, const ir_expr *, node->kids.count);
  bool fine = true;
  size_t i = 0;
  ir_each_node(kid, node->kids) {
    indices[i] = ir_resolve_index(p, frame, kid);
    bool early = indices[i] && indices[i]->lanes > 1 && kid->next;
    if (early) ir_parse_error(p, kid->range, "only the last index can be a vector");
    fine &= indices[i++] != NULL && !early;
  }
  return fine ? ir_frame_load(frame, buffer, node->kids.count, indices) : NULL;
}

static const ir_expr *resolve(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype want) {
  if (is_literal(p, node)) return literal(p, node, want);
  bool mentions = node->kind == N_VALUE || node->kind == N_ELEMENT;
  if (mentions && !frame) {
    ir_parse_error(p, node->range, "a value cannot stand here: only symbols and constants can");
    return NULL;
  }
  switch ((int)node->kind) {
  case N_ID: return word(p, frame, node);
  case N_VALUE: return scalar_value(p, frame, node);
  case N_ELEMENT: return element(p, frame, node);
  case N_CALL: return call(p, frame, node, want);
  case N_NEGATE: return apply(p, frame, node, IR_S_NEG, ir_nodes_one(node->other), want);
  case N_NOT: return apply(p, frame, node, IR_S_NOT, ir_nodes_one(node->other), want);
  case N_BINARY: return apply(p, frame, node, (ir_scalar_code)node->code, node->kids, want);
  }
  ir_parse_error(p, node->range, "expected a scalar expression, found %s", ir_node_describe(p, node));
  return NULL;
}

const ir_expr *ir_resolve_expr(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype want) {
  const ir_expr *expr = resolve(p, frame, node, want);
  if (!expr || expr->size <= IR_EXPR_MAX_SIZE) return expr;
  ir_parse_error(p, node->range, "an expression of %u nodes: bind parts of it to names, at most %d are allowed",
                 expr->size, IR_EXPR_MAX_SIZE);
  return NULL;
}

const ir_expr *ir_resolve_expr_of(ir_parser *p, ir_frame *frame, const ir_node *node, ir_dtype want, const char *what) {
  const ir_expr *expr = ir_resolve_expr(p, frame, node, want);
  if (!expr || (expr->dtype == want && expr->lanes == 1)) return expr;
  ir_parse_error(p, node->range, "%s must be of type %s, found %s", what, ir_dtype_name(want), type_text(p, expr));
  return NULL;
}

/* --- operands --- */

ir_value *ir_resolve_operand(ir_parser *p, const ir_node *node, ir_dtype want) {
  if (node->kind == N_VALUE) return ir_find_value(p, node->range);
  ir_frame frame = ir_frame_new(p);
  const ir_expr *expr = ir_resolve_expr(p, &frame, node, want);
  if (!expr) return NULL;
  if (expr->code == IR_S_ARG) return frame.operands[expr->arg];
  const ir_attr *value = ir_attr_expr(p->context, expr);
  const ir_type *type = ir_type_scalar(p->context, (ir_dtype)expr->dtype, expr->lanes);
  ir_op *op = ir_op_new(p->module, &(ir_op_spec){.code = IR_SCALAR,
                                                 .range = node->range,
                                                 .operand_count = frame.count,
                                                 .operands = frame.operands,
                                                 .attrs = &value,
                                                 .result_count = 1,
                                                 .types = &type});
  op->flags |= IR_OP_INLINE;
  ir_op_insert(p->block->region, NULL, op);
  return ir_op_result(op, 0);
}
