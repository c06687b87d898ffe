// SPDX-License-Identifier: Apache-2.0
/* ir/op_doc.c - the operator table as documentation. Needs ir/op_def; expands the EXAMPLE column. */
#include "ir/op_doc.h"

/* EXAMPLE(params, statements, check); all NULL where a row has none. */
static const struct {
  const char *params, *statements, *check;
} examples[IR_OP_COUNT] = {
#define EXAMPLE(...) {__VA_ARGS__}
#define OP(ID, name, doc, ir, lower, grad, example) [IR_##ID] = example,
#include "ir/ops/all.def"
#undef OP
};

static const char *const numerics[] = {
    [IR_STRUCTURE] = "structure", [IR_EXACT] = "exact", [IR_EXPANDED] = "expanded",
    [IR_CHAIN] = "chain",         [IR_LANES] = "lanes", [IR_BOUNDED] = "bounded",
};

static const char *const constraints[] = {
    [IR_ANY_VALUE] = "any value",
    [IR_ANY_TENSOR] = "tensor",
    [IR_NUMERIC_TENSOR] = "numeric tensor",
    [IR_FLOAT_TENSOR] = "floating-point tensor",
    [IR_INTEGER_TENSOR] = "integer tensor",
    [IR_BOOL_TENSOR] = "bool tensor",
    [IR_INT_OR_BOOL_TENSOR] = "integer or bool tensor",
    [IR_SHAPE_VALUE] = "shape",
    [IR_TUPLE_VALUE] = "tuple",
    [IR_FUNC_VALUE] = "function",
    [IR_STORAGE_VALUE] = "storage",
    [IR_SCALAR_VALUE] = "scalar",
    [IR_BUFFER] = "buffer",
};

static const char *const wants[] = {
    [IR_A_INT] = "integer",   [IR_A_FLOAT] = "number",       [IR_A_BOOL] = "bool",
    [IR_A_STRING] = "string", [IR_A_ID] = "word",            [IR_A_DTYPE] = "dtype",
    [IR_A_TYPE] = "type",     [IR_A_GLOBAL] = "global name", [IR_A_EXPR] = "scalar expression",
    [IR_A_INTS] = "integers", [IR_A_FLOATS] = "numbers",     [IR_A_DIMS] = "extents",
    [IR_A_EXPRS] = "scalar expressions", [IR_A_LIST] = "list", [IR_A_DICT] = "other keyword arguments",
    [IR_A_DATA] = "constant",
};

/* How an operator is called: name(operands, attributes=...). */
static void put_signature(ir_text *text, const ir_op_def *row) {
  const char *comma = "";
  ir_text_printf(text, "%s(", row->name);
  for (size_t i = 0; i < row->attr_count; i++) {
    if (row->attrs[i].place != IR_LEADING) continue;
    ir_text_printf(text, "%s%s", comma, row->attrs[i].name);
    comma = ", ";
  }
  for (size_t i = 0; i < row->operand_def_count; i++) {
    const ir_operand_def *def = &row->operands[i];
    ir_text_printf(text, "%s%s%s", comma, def->name, def->multiplicity == IR_MANY ? "..." : def->multiplicity == IR_OPTIONAL ? "?" : "");
    comma = ", ";
  }
  for (size_t i = 0; i < row->attr_count; i++) {
    const ir_attr_def *def = &row->attrs[i];
    if (def->place == IR_TRAILING) ir_text_printf(text, "%s%s", comma, def->name);
    if (def->place == IR_NAMED) ir_text_printf(text, "%s%s%s%s", comma, def->name, def->dflt ? "=" : "", def->dflt ? def->dflt : "");
    if (def->place == IR_TRAILING || def->place == IR_NAMED) comma = ", ";
  }
  ir_text_put(text, ")");
}

static void put_operands(ir_text *text, const ir_op_def *row) {
  if (!row->operand_def_count) return;
  ir_text_put(text, "| operand | what | |\n|---|---|---|\n");
  for (size_t i = 0; i < row->operand_def_count; i++) {
    const ir_operand_def *def = &row->operands[i];
    const char *number = def->multiplicity == IR_MANY ? ", any number" : def->multiplicity == IR_OPTIONAL ? ", optional" : "";
    ir_text_printf(text, "| `%s` | %s%s | %s |\n", def->name, constraints[def->constraint], number, def->doc ? def->doc : "");
  }
  ir_text_put(text, "\n");
}

/* Words joined by '|' would end a cell of the table. */
static void put_choices(ir_text *text, const char *choices) {
  ir_text_put(text, ": ");
  for (const char *at = choices; *at; at++) {
    if (*at == '|') {
      ir_text_put(text, ", ");
    } else {
      ir_text_char(text, *at);
    }
  }
}

static void put_attrs(ir_text *text, const ir_op_def *row) {
  bool shown = false;
  for (size_t i = 0; i < row->attr_count; i++) {
    const ir_attr_def *def = &row->attrs[i];
    if (def->place == IR_HIDDEN) continue;
    if (!shown) ir_text_put(text, "| attribute | what | default | |\n|---|---|---|---|\n");
    shown = true;
    ir_text_printf(text, "| `%s` | %s", def->name, wants[def->type]);
    if (def->choices) put_choices(text, def->choices);
    if (def->dflt) ir_text_printf(text, " | `%s`", def->dflt);
    if (!def->dflt) ir_text_put(text, " | required");
    ir_text_printf(text, " | %s |\n", def->doc ? def->doc : "");
  }
  if (shown) ir_text_put(text, "\n");
}

/* The operation has a form of its own in the grammar, which its documentation shows. */
static bool has_own_form(const ir_op_def *row) {
  for (size_t i = 0; i < row->attr_count; i++) {
    if (row->attrs[i].place == IR_HIDDEN) return true;
  }
  return row->regions || row->traits & IR_TERMINATOR;
}

static void put_row(ir_text *text, ir_opcode code) {
  const ir_op_def *row = &ir_op_defs[code];
  ir_text_printf(text, "## `%s`\n\n%s\n\n", row->name, row->doc);
  if (!has_own_form(row)) {
    ir_text_put(text, "    ");
    put_signature(text, row);
    ir_text_put(text, "\n\n");
    put_operands(text, row);
  }
  put_attrs(text, row);
  if (row->numerics != IR_STRUCTURE) ir_text_printf(text, "Numerics: %s.", numerics[row->numerics]);
  if (row->numerics != IR_STRUCTURE && row->traits & IR_COMMUTATIVE) ir_text_put(text, " Commutative.");
  if (row->numerics != IR_STRUCTURE && row->traits & IR_VIEW) ir_text_put(text, " The elements stay in their order.");
  if (row->numerics != IR_STRUCTURE) ir_text_put(text, "\n\n");
  if (row->element) ir_text_printf(text, "Element: `%s`\n\n", row->element);
  if (row->element_int) ir_text_printf(text, "Element of integers and bool: `%s`\n\n", row->element_int);
  if (!examples[code].statements) return;
  ir_text_printf(text, "Example%s%s%s:\n\n    %s\n\n", *examples[code].params ? " with `" : "", examples[code].params,
                 *examples[code].params ? "`" : "", examples[code].statements);
  ir_text_printf(text, "Checked by `%s`.\n\n", examples[code].check);
}

static const char *const typings[] = {
    [IR_TYPING_SAME] = "numeric",  [IR_TYPING_SAME_FLOAT] = "floats",        [IR_TYPING_SAME_INT] = "integers", [IR_TYPING_BITS] = "integers or bool",
    [IR_TYPING_LOGIC] = "bool",    [IR_TYPING_COMPARE] = "any; gives bool", [IR_TYPING_TEST] = "floats; gives bool",
    [IR_TYPING_SELECT] = "bool, then two of any dtype", [IR_TYPING_SHIFT] = "integers",
};

static void put_scalars(ir_text *text) {
  ir_text_put(text,
              "# Scalar functions\n\nWhat stands in scalar expressions (text.md, section 6) beside literals, loads and conversions. Operands have one\n"
              "dtype, which is that of the result, where nothing else is said; vectors of equal width are taken lane by lane.\n\n"
              "| written | operands | what |\n|---|---|---|\n");
  for (int code = 0; code < IR_S_COUNT; code++) {
    const ir_scalar_def *row = &ir_scalars[code];
    const char *names = row->typing == IR_TYPING_SELECT ? "cab" : "abc";
    if (row->typing == IR_TYPING_LEAF || row->typing == IR_TYPING_CONVERT) continue;
    ir_text_printf(text, "| `%s", *row->infix ? row->arity == 2 ? "a " : "" : row->name);
    for (const char *c = row->infix; *c; c++) ir_text_printf(text, "%s%c", *c == '|' ? "\\" : "", *c);
    if (*row->infix) ir_text_put(text, row->arity == 2 ? " b" : "a");
    for (int i = 0; !*row->infix && i < row->arity; i++) ir_text_printf(text, "%s%c", i ? ", " : "(", names[i]);
    ir_text_printf(text, "%s` | %s | %s%s |\n", *row->infix ? "" : ")", typings[row->typing], row->doc, row->expanded ? " (expanded)" : "");
  }
}

static const char introduction[] =
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
    "# Operators\n\n"
    "Made from ir/ops/*.def by `ir-opt --list-ops=md`. Names and attributes are those of Relax, without `relax.`.\n"
    "Operands of element-wise operators broadcast by NumPy's rules and have one dtype. A scalar, such as a literal or a\n"
    "loop counter, is taken where a tensor of rank 0 is; a bare literal gets the dtype of the other operands. The classes\n"
    "of numerics are described in semantics.md, the scalar functions in `Element` lines at the end; `T(x)` converts to the\n"
    "dtype of the result. A check is a Python expression over the parameters, with np, scipy and torch.\n\n";

void ir_ops_document(ir_text *text, bool markdown) {
  if (markdown) ir_text_put(text, introduction);
  for (int code = 0; code < IR_OP_COUNT; code++) {
    if (markdown) {
      put_row(text, (ir_opcode)code);
      continue;
    }
    const ir_op_def *row = &ir_op_defs[code];
    ir_text_printf(text, "%s", has_own_form(row) ? row->name : "");
    if (!has_own_form(row)) put_signature(text, row);
    ir_text_put(text, "\n");
  }
  if (markdown) put_scalars(text);
}
