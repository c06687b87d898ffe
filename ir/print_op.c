// SPDX-License-Identifier: Apache-2.0
/* ir/print_op.c - operations and regions as text. Needs ir/print_expr, ir/literal. */
#include "base/vec.h"
#include "ir/literal.h"
#include "ir/printer.h"

void ir_printer_indent(ir_printer *p, unsigned indent) {
  static const char blanks[] = "                                                                ";
  for (; indent >= sizeof blanks - 1; indent -= (unsigned)sizeof blanks - 1)
    ir_text_bytes(p->out, blanks, sizeof blanks - 1);
  ir_text_bytes(p->out, blanks, indent);
}

static void comma(ir_printer *p, bool *more) {
  if (*more) ir_text_put(p->out, ", ");
  *more = true;
}

static const ir_attr *attr_of(const ir_op *op, const char *name) {
  int slot = ir_attr_index(ir_op_row(op), name);
  return slot < 0 ? NULL : ir_op_slots(op)[slot];
}

static bool is_list(const ir_attr *attr) { return attr && attr->kind == IR_ATTR_LIST; }

static int64_t int_of(const ir_op *op, const char *name, int64_t otherwise) {
  const ir_attr *attr = attr_of(op, name);
  return attr && attr->kind == IR_ATTR_INT ? attr->i : otherwise;
}

static bool bool_of(const ir_op *op, const char *name) {
  const ir_attr *attr = attr_of(op, name);
  return attr && attr->kind == IR_ATTR_BOOL && attr->i;
}

static const char *word_of(const ir_op *op, const char *name) {
  const ir_attr *attr = attr_of(op, name);
  bool word = attr && (attr->kind == IR_ATTR_ID || attr->kind == IR_ATTR_GLOBAL || attr->kind == IR_ATTR_STRING);
  return word ? attr->string->text : NULL;
}

static ir_context *context_of(const ir_op *op) { return op->region && op->region->func ? ir_op_context(op) : NULL; }

static const ir_item *callee_of(const ir_op *op, const char *attr) {
  const ir_attr *name = attr_of(op, attr);
  bool known = name && name->kind == IR_ATTR_GLOBAL && context_of(op);
  return known ? ir_module_find(ir_op_module(op), name->string) : NULL;
}

/* An expression that OP owns: the value of an attribute or an entry of a list. */
static void owned(ir_printer *p, const ir_op *op, const ir_attr *attr, ir_dtype want) {
  if (attr && attr->kind == IR_ATTR_INT) {
    if (want == IR_I64 || want == IR_DTYPE_UNKNOWN)
      ir_text_printf(p->out, "%lld", (long long)attr->i);
    else
      ir_text_printf(p->out, "i64(%lld)", (long long)attr->i);
    return;
  }
  bool fits = attr && attr->kind == IR_ATTR_EXPR;
  ir_printer_expr(p, (ir_printed){.expr = fits ? attr->expr : NULL, .op = op}, want);
}

/* --- what stands behind an operation --- */

static void types(ir_printer *p, const ir_op *op) {
  for (size_t i = 0; i < op->result_count; i++) {
    ir_text_put(p->out, i ? ", " : " : ");
    ir_printer_type(p, ir_op_result(op, i)->type);
  }
}

static void where_entry(ir_printer *p, const ir_attr *loc, size_t i) {
  const ir_attr *name = loc->items[i], *line = loc->items[i + 1], *column = loc->items[i + 2];
  ir_printer_attr(p, name);
  if (line->kind != IR_ATTR_INT || column->kind != IR_ATTR_INT || !line->i) return;
  ir_text_printf(p->out, ":%lld:%lld", (long long)line->i, (long long)column->i);
}

/* Line and column of OFFSET. Positions mostly ascend, so that lines are counted from the last one on. */
static bool locate(ir_printer *p, const ir_diags *diags, ir_range range, unsigned *line, unsigned *column) {
  const ir_source *source = p->place.source;
  bool ahead = source && range.begin >= p->place.offset && range.begin - source->base <= source->length;
  if (!ahead) {
    if (!ir_range_locate(diags, range, &source, line, column)) return false;
    p->place.source = source;
    p->place.offset = range.begin;
    p->place.line = *line;
    p->place.line_start = range.begin - (*column - 1);
    return true;
  }
  const char *at = source->text + (p->place.offset - source->base), *end = source->text + (range.begin - source->base);
  for (; at < end; at++) {
    if (*at != '\n') continue;
    p->place.line++;
    p->place.line_start = source->base + (uint32_t)(at - source->text) + 1;
  }
  p->place.offset = range.begin;
  *line = p->place.line;
  *column = range.begin - p->place.line_start + 1;
  return true;
}

static void location(ir_printer *p, const ir_op *op) {
  if (p->options.strip_locs || !context_of(op)) return;
  const ir_attr *loc = ir_op_loc(op);
  unsigned line, column;
  if (is_list(loc) && loc->count && loc->count % 3 == 0) {
    ir_text_put(p->out, " loc(");
    for (size_t i = 0; i < loc->count; i += 3) {
      if (i) ir_text_put(p->out, ", ");
      where_entry(p, loc, i);
    }
    ir_text_char(p->out, ')');
  } else if (p->options.locs && locate(p, context_of(op)->diags, op->range, &line, &column)) {
    ir_text_put(p->out, " loc(\"");
    ir_text_escaped(p->out, ir_slice_of(p->place.source->name));
    ir_text_printf(p->out, "\":%u:%u)", line, column);
  }
}

static void with(ir_printer *p, const ir_op *op) {
  if (context_of(op)) ir_printer_with(p, ir_op_dict(op));
}

/* --- calls: name(attributes, operands, attributes) --- */

/* Keyword arguments can be written one by one where no key is a name that the row uses. */
static bool spreads(const ir_op_def *row, const ir_attr *dict) {
  if (dict->kind != IR_ATTR_DICT || !dict->count) return false;
  for (size_t i = 0; i < dict->count; i++) {
    ir_slice key = ir_string_slice(dict->items[2 * i]->string);
    if (ir_attr_index(row, dict->items[2 * i]->string->text) >= 0 || !ir_printer_is_word(key)) return false;
  }
  return true;
}

static void keyword(ir_printer *p, const ir_op_def *row, const ir_attr_def *def, const ir_attr *value, bool *more) {
  if (def->type == IR_A_DICT && value && spreads(row, value)) {
    for (size_t i = 0; i < value->count; i++) {
      comma(p, more);
      ir_text_printf(p->out, "%s=", value->items[2 * i]->string->text);
      ir_printer_attr(p, value->items[2 * i + 1]);
    }
    return;
  }
  comma(p, more);
  ir_text_printf(p->out, "%s=", def->name);
  ir_printer_attr(p, value);
}

/* Attributes of a row that are written, those at PLACE: not the defaults, but required ones that are missing. */
static void attributes(ir_printer *p, const ir_op *op, int place, bool *more) {
  const ir_op_def *row = ir_op_row(op);
  ir_context *context = context_of(op);
  for (size_t i = 0; i < row->attr_count; i++) {
    const ir_attr_def *def = &row->attrs[i];
    const ir_attr *value = ir_op_slots(op)[i];
    bool is_default = !value ? def->dflt != NULL : context && value == ir_op_default(context, (ir_opcode)op->code, i);
    if ((int)def->place != place || is_default) continue;
    if (place == IR_NAMED) {
      keyword(p, row, def, value, more);
      continue;
    }
    comma(p, more);
    if (value && value->kind == IR_ATTR_DATA)
      ir_printer_data(p, value, op->result_count ? ir_op_result(op, 0)->type : NULL);
    else
      ir_printer_attr(p, value);
  }
}

static void call(ir_printer *p, const ir_op *op, unsigned indent) {
  (void)indent;
  bool more = false;
  ir_text_put(p->out, ir_op_row(op)->name);
  ir_text_char(p->out, '(');
  attributes(p, op, IR_LEADING, &more);
  const ir_type **known = NULL; /* made when the first literal needs it */
  for (size_t i = 0; i < op->operand_count; i++) {
    comma(p, &more);
    if (!ir_printer_is_untyped(op, i)) {
      ir_printer_operand(p, op, i, IR_DTYPE_UNKNOWN);
      continue;
    }
    if (!known) {
      known = ir_new_array(&p->arena, const ir_type *, op->operand_count);
      for (size_t k = 0; k < op->operand_count; k++) {
        const ir_value *value = ir_printer_is_untyped(op, k) ? NULL : ir_op_operand(op, k);
        known[k] = value ? value->type : NULL;
      }
    }
    ir_dtype want = ir_literal_operand((ir_opcode)op->code, callee_of(op, "callee"), op->operand_count, known, i);
    ir_printer_operand(p, op, i, want);
  }
  attributes(p, op, IR_TRAILING, &more);
  attributes(p, op, IR_NAMED, &more);
  ir_text_char(p->out, ')');
  with(p, op);
}

/* --- forms with a syntax of their own --- */

static void scalar(ir_printer *p, const ir_op *op, unsigned indent) {
  (void)indent;
  const ir_attr *value = attr_of(op, "value");
  const ir_type *type = op->result_count ? ir_op_result(op, 0)->type : NULL;
  owned(p, op, value, type && ir_is_scalar(type) ? ir_type_dtype(type) : IR_DTYPE_UNKNOWN);
  with(p, op);
}

static void tuple_get(ir_printer *p, const ir_op *op, unsigned indent) {
  (void)indent;
  ir_printer_operand(p, op, 0, IR_DTYPE_UNKNOWN);
  ir_text_char(p->out, '[');
  ir_printer_attr(p, attr_of(op, "index"));
  ir_text_char(p->out, ']');
  with(p, op);
}

static void region(ir_printer *p, const ir_op *op, size_t i, unsigned indent) {
  ir_text_char(p->out, ' ');
  if (i < op->region_count && ir_op_region(op, i))
    ir_printer_region(p, ir_op_region(op, i), indent);
  else
    ir_text_put(p->out, "<<no region>>");
}

static bool is_empty(const ir_region *body) {
  if (!body || !body->first) return true;
  return body->first == body->last && ir_is(body->first, IR_YIELD) && !body->first->operand_count &&
         !(body->first->flags & IR_OP_HAS_LOC);
}

static void if_(ir_printer *p, const ir_op *op, unsigned indent) {
  ir_text_put(p->out, "if ");
  ir_printer_operand(p, op, 0, IR_BOOL);
  with(p, op);
  region(p, op, 0, indent);
  if (op->region_count < 2 || is_empty(ir_op_region(op, 1))) return;
  ir_text_put(p->out, " else");
  region(p, op, 1, indent);
}

static void value_type(ir_printer *p, const ir_value *value) {
  ir_printer_value(p, value);
  ir_text_put(p->out, ": ");
  ir_printer_type(p, value->type);
}

static void loop(ir_printer *p, const ir_op *op, unsigned indent) {
  const ir_region *body = op->region_count ? ir_op_region(op, 0) : NULL;
  bool counted = bool_of(op, "counted"), conditional = bool_of(op, "conditional");
  size_t at = 0;
  ir_text_put(p->out, "loop (");
  ir_printer_value(p, body && body->arg_count ? body->args[0] : NULL);
  if (counted) {
    ir_text_put(p->out, " < ");
    ir_printer_operand(p, op, at++, IR_I64);
  }
  for (size_t i = 1; body && i < body->arg_count; i++) {
    ir_text_put(p->out, i == 1 ? "; " : ", ");
    value_type(p, body->args[i]);
    ir_text_put(p->out, " = ");
    const ir_type *type = body->args[i]->type;
    bool has_dtype = type && (ir_is_tensor(type) || ir_is_scalar(type));
    ir_printer_operand(p, op, at++, has_dtype ? ir_type_dtype(type) : IR_DTYPE_UNKNOWN);
  }
  ir_text_char(p->out, ')');
  if (conditional) {
    ir_text_put(p->out, " while ");
    ir_printer_operand(p, op, at++, IR_BOOL);
  }
  if (at < op->operand_count) ir_text_put(p->out, " <<more operands>>");
  with(p, op);
  region(p, op, 0, indent);
}

static void dataflow(ir_printer *p, const ir_op *op, unsigned indent) {
  ir_text_put(p->out, "dataflow");
  with(p, op);
  region(p, op, 0, indent);
}

static void closure(ir_printer *p, const ir_op *op, unsigned indent) {
  const ir_region *body = op->region_count ? ir_op_region(op, 0) : NULL;
  const ir_attr *type = attr_of(op, "type"), *where = attr_of(op, "where");
  ir_text_put(p->out, "func(");
  for (size_t i = 0; body && i < body->arg_count; i++) {
    if (i) ir_text_put(p->out, ", ");
    value_type(p, body->args[i]);
  }
  ir_text_put(p->out, ") -> ");
  bool fits = type && type->kind == IR_ATTR_TYPE && type->type->kind == IR_TYPE_FUNC;
  if (fits) {
    const void *const *items = type->type->items + type->type->count;
    ir_printer_results(p, type->type->result_count, (const ir_type *const *)items);
  } else {
    ir_text_put(p->out, "<<results>>");
  }
  for (size_t i = 0; is_list(where) && i < where->count; i++) {
    ir_text_put(p->out, i ? ", " : " where ");
    owned(p, op, where->items[i], IR_BOOL);
  }
  with(p, op);
  region(p, op, 0, indent);
}

static const ir_op *guard_of(const ir_region *body) {
  const ir_op *op = body ? body->first : NULL;
  while (op && (op->flags & IR_OP_INLINE)) op = op->next;
  return ir_is(op, IR_GUARD) && ir_is(body->parent, IR_COMPUTE) ? op : NULL;
}

static void guards(ir_printer *p, const ir_op *guard) {
  const ir_attr *conditions = attr_of(guard, "conditions");
  for (size_t i = 0; is_list(conditions) && i < conditions->count; i++) {
    ir_text_put(p->out, i ? ", " : " where ");
    owned(p, guard, conditions->items[i], IR_BOOL);
  }
}

static void compute(ir_printer *p, const ir_op *op, unsigned indent) {
  const ir_region *body = op->region_count ? ir_op_region(op, 0) : NULL;
  size_t spatial = body ? body->spatial_count : 0, count = body ? body->arg_count : 0;
  ir_text_put(p->out, "compute (");
  for (size_t i = 0; i < count; i++) {
    if (i == spatial)
      ir_text_put(p->out, "; ");
    else if (i)
      ir_text_put(p->out, ", ");
    ir_printer_value(p, body->args[i]);
    ir_text_put(p->out, " < ");
    ir_printer_operand(p, op, i, IR_I64);
  }
  ir_text_char(p->out, ')');
  if (guard_of(body)) guards(p, guard_of(body));
  with(p, op);
  region(p, op, 0, indent);
}

static void for_(ir_printer *p, const ir_op *op, unsigned indent) {
  const ir_region *body = op->region_count ? ir_op_region(op, 0) : NULL;
  ir_text_put(p->out, "for ");
  ir_printer_value(p, body && body->arg_count ? body->args[0] : NULL);
  ir_text_put(p->out, " < ");
  ir_printer_operand(p, op, 0, IR_I64);
  const char *mode = word_of(op, "mode"), *axis = word_of(op, "axis");
  int64_t factor = int_of(op, "factor", 0);
  if (mode && strcmp(mode, "serial")) ir_text_printf(p->out, " %s", mode);
  if (axis) ir_text_printf(p->out, "(%s)", axis);
  if (factor) ir_text_printf(p->out, "(%lld)", (long long)factor);
  with(p, op);
  region(p, op, 0, indent);
}

static void while_(ir_printer *p, const ir_op *op, unsigned indent) {
  ir_text_put(p->out, "while ");
  owned(p, op, attr_of(op, "condition"), IR_BOOL);
  with(p, op);
  region(p, op, 0, indent);
}

static void target(ir_printer *p, const ir_op *op, size_t k) {
  const ir_attr *index = attr_of(op, "index");
  ir_printer_operand(p, op, k, IR_DTYPE_UNKNOWN);
  ir_text_char(p->out, '[');
  const ir_attr *list = is_list(index) && k < index->count ? index->items[k] : NULL;
  for (size_t i = 0; is_list(list) && i < list->count; i++) {
    if (i) ir_text_put(p->out, ", ");
    const ir_attr *entry = list->items[i];
    bool ramp = entry->kind == IR_ATTR_EXPR && entry->expr->code == IR_S_RAMP;
    if (ramp) {
      ir_printer_expr(p, (ir_printed){.expr = entry->expr->kids[0], .op = op}, IR_I64);
      ir_text_printf(p->out, ":%u", entry->expr->lanes);
    } else {
      owned(p, op, entry, IR_I64);
    }
  }
  if (!is_list(list)) ir_text_put(p->out, "<<index>>");
  ir_text_char(p->out, ']');
}

/* The values that a store, a reduction or an atomic operation takes. */
static void stored(ir_printer *p, const ir_op *op, size_t targets, const char *reducer, const ir_item *user,
                   bool *more) {
  const ir_attr *args = attr_of(op, "args");
  enum { MOST = 16 };
  const ir_type *written[MOST];
  if (targets > MOST) targets = MOST;
  if (targets > op->operand_count) targets = op->operand_count;
  for (size_t i = 0; i < targets; i++) {
    const ir_value *buffer = ir_op_operand(op, i);
    written[i] = buffer && buffer->type ? buffer->type : NULL;
    if (!written[i]) targets = i;
  }
  for (size_t i = 0; is_list(args) && i < args->count; i++) {
    comma(p, more);
    owned(p, op, args->items[i], ir_literal_stored(reducer, user, targets, written, i));
  }
  if (!is_list(args)) ir_text_put(p->out, "<<value>>");
}

static void store(ir_printer *p, const ir_op *op, unsigned indent) {
  (void)indent;
  int64_t targets = int_of(op, "targets", 1);
  for (int64_t i = 0; i < targets && i < (int64_t)op->operand_count; i++) {
    if (i) ir_text_put(p->out, ", ");
    target(p, op, (size_t)i);
  }
  ir_text_put(p->out, " = ");
  const char *reducer = word_of(op, "reducer"), *user = word_of(op, "user_reducer");
  bool more = false;
  if (user)
    ir_printer_attr(p, attr_of(op, "user_reducer"));
  else if (reducer)
    ir_text_put(p->out, reducer);
  if (user || reducer) ir_text_char(p->out, '(');
  stored(p, op, targets < 0 ? 0 : (size_t)targets, reducer, callee_of(op, "user_reducer"), &more);
  attributes(p, op, IR_NAMED, &more);
  if (user || reducer) ir_text_char(p->out, ')');
  with(p, op);
}

static void atomic(ir_printer *p, const ir_op *op, unsigned indent) {
  (void)indent;
  bool more = true;
  ir_text_printf(p->out, "%s(", ir_op_row(op)->name);
  target(p, op, 0);
  stored(p, op, 1, NULL, NULL, &more);
  attributes(p, op, IR_NAMED, &more);
  ir_text_char(p->out, ')');
  with(p, op);
}

static void guard(ir_printer *p, const ir_op *op, unsigned indent) { /* stands where it does not belong */
  (void)indent;
  ir_text_put(p->out, "<<guard");
  guards(p, op);
  ir_text_put(p->out, ">>");
}

static void values(ir_printer *p, const ir_op *op, const char *word, size_t begin, size_t end) {
  ir_text_put(p->out, word);
  for (size_t i = begin; i < end; i++) {
    ir_text_put(p->out, i == begin ? " " : ", ");
    ir_printer_operand(p, op, i, IR_DTYPE_UNKNOWN);
  }
}

static void return_(ir_printer *p, const ir_op *op, unsigned indent) {
  (void)indent;
  values(p, op, "return", 0, op->operand_count);
}

static void yield_(ir_printer *p, const ir_op *op, unsigned indent) {
  (void)indent;
  size_t count = op->operand_count;
  bool again = bool_of(op, "again") && count;
  if (again) count--;
  int64_t stacks = int_of(op, "stacks", 0);
  if (stacks < 0 || (uint64_t)stacks > count) stacks = 0;
  size_t carried = count - (size_t)stacks;
  values(p, op, "yield", 0, carried);
  if (stacks) values(p, op, " stack", carried, count);
  if (!again) return;
  ir_text_put(p->out, " while ");
  ir_printer_operand(p, op, count, IR_BOOL);
}

typedef void print_form(ir_printer *p, const ir_op *op, unsigned indent);
static print_form *const forms[IR_OP_COUNT] = {
    [IR_SCALAR] = scalar,   [IR_TUPLE_GET] = tuple_get, [IR_CLOSURE] = closure,   [IR_IF] = if_,
    [IR_LOOP] = loop,       [IR_DATAFLOW] = dataflow,   [IR_YIELD] = yield_,      [IR_RETURN] = return_,
    [IR_COMPUTE] = compute, [IR_GUARD] = guard,         [IR_STORE] = store,       [IR_FOR] = for_,
    [IR_WHILE] = while_,    [IR_ATOMIC_ADD] = atomic,   [IR_ATOMIC_MAX] = atomic, [IR_ATOMIC_MIN] = atomic,
};

bool ir_printer_is_bare(const ir_op *op) {
  if (!(op->flags & IR_OP_NO_TARGETS) || op->result_count != 1) return false;
  const ir_value *result = ir_op_result(op, 0);
  return !result->uses && !result->name && result->type && ir_is_unit(result->type);
}

void ir_printer_op(ir_printer *p, const ir_op *op, unsigned indent) {
  if (op->code >= IR_OP_COUNT) {
    ir_text_put(p->out, "<<operation>>");
    return;
  }
  size_t targets = op->flags & IR_OP_INLINE || ir_printer_is_bare(op) ? 0 : op->result_count;
  for (size_t i = 0; i < targets; i++) {
    if (i) ir_text_put(p->out, ", ");
    ir_printer_value(p, ir_op_result(op, i));
  }
  if (targets) ir_text_put(p->out, " = ");
  print_form *form = forms[op->code] ? forms[op->code] : call;
  form(p, op, indent);
  types(p, op);
  location(p, op);
}

enum { FLUSHED = 1 << 16 /* bytes, about, that are handed on at a time */ };

void ir_printer_region(ir_printer *p, const ir_region *body, unsigned indent) {
  if (p->depth >= IR_PRINT_MAX_DEPTH) {
    ir_text_put(p->out, "<<nested too deep>>");
    return;
  }
  p->depth++;
  const ir_op *guard_op = guard_of(body);
  ir_text_put(p->out, "{\n");
  for (const ir_op *op = body->first; op; op = op->next) {
    if ((op->flags & IR_OP_INLINE) || op == guard_op) continue;
    ir_printer_indent(p, indent + 2);
    ir_printer_op(p, op, indent + 2);
    ir_text_char(p->out, '\n');
    if (p->by_id && p->options.flush && p->out->length >= FLUSHED) p->options.flush(p->options.user, p->out);
  }
  ir_printer_indent(p, indent);
  ir_text_char(p->out, '}');
  p->depth--;
}

bool ir_print_place(ir_text *out, const ir_attr *loc) {
  if (!loc || loc->kind != IR_ATTR_LIST || loc->count < 3 || loc->items[0]->kind != IR_ATTR_STRING) return false;
  ir_text_put(out, loc->items[0]->string->text);
  int64_t line, column;
  bool numbers = ir_attr_is_int(loc->items[1], &line) && ir_attr_is_int(loc->items[2], &column) && line;
  if (numbers) ir_text_printf(out, ":%lld:%lld", (long long)line, (long long)column);
  return true;
}
