// SPDX-License-Identifier: Apache-2.0
/* ir/infer.c - runs the inference of a row: attributes and operands are checked against the row first. Needs
 * ir/op_def, ir/print, ir/simplify. */
#include "ir/infer.h"

#include "base/vec.h"
#include "ir/print.h"

#include <math.h>

bool ir_infer_result(ir_infer *in, const ir_type *type) {
  if (!type) return false;
  size_t count = in->result_count;
  /* Room grows at powers of two. */
  if (!(count & (count - 1))) {
    const ir_type **moved = ir_new_array(in->scratch, const ir_type *, count ? count * 2 : 1);
    if (count) memcpy(moved, in->results, count * sizeof *moved);
    in->results = moved;
  }
  in->results[in->result_count++] = type;
  return true;
}

bool ir_infer_fail(ir_infer *in, const char *format, ...) {
  if (in->quiet) return false;
  va_list args;
  va_start(args, format);
  ir_text text = {0};
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(in->context->diags, in->range, "%s: %s", in->row->name, text.at);
  ir_text_free(&text);
  return false;
}

void ir_infer_need(ir_infer *in, const ir_expr *condition) {
  if (!in->collect || ir_prove(in->context, in->facts, condition) == IR_PROVEN) return;
  condition = ir_simplify(in->context, in->facts, condition);
  for (size_t i = 0; i < in->needs.count; i++) {
    if (in->needs.at[i] == condition) return;
  }
  *ir_push(in->scratch, &in->needs) = condition;
}

const ir_attr *ir_infer_attr(const ir_infer *in, const char *name) {
  int slot = ir_attr_index(in->row, name);
  return slot < 0 ? NULL : in->attrs[slot];
}

int64_t ir_infer_int(const ir_infer *in, const char *name) {
  const ir_attr *attr = ir_infer_attr(in, name);
  return attr && attr->kind == IR_ATTR_INT ? attr->i : 0;
}

bool ir_infer_bool(const ir_infer *in, const char *name) {
  const ir_attr *attr = ir_infer_attr(in, name);
  return attr && attr->kind == IR_ATTR_BOOL && attr->i;
}

double ir_infer_float(const ir_infer *in, const char *name) {
  const ir_attr *attr = ir_infer_attr(in, name);
  return attr && attr->kind == IR_ATTR_FLOAT ? attr->f : attr && attr->kind == IR_ATTR_INT ? (double)attr->i : 0.0;
}

bool ir_infer_whole_for(ir_infer *in, const char *name, ir_dtype dtype) {
  double value = ir_infer_float(in, name);
  if (!ir_is_integer(dtype) || isinf(value) || rint(value) == value) return true;
  return ir_infer_fail(in, "attribute '%s' is %g, expected an integer for dtype %s", name, value, ir_dtype_name(dtype));
}

const char *ir_infer_word(const ir_infer *in, const char *name) {
  const ir_attr *attr = ir_infer_attr(in, name);
  bool word = attr && (attr->kind == IR_ATTR_STRING || attr->kind == IR_ATTR_ID || attr->kind == IR_ATTR_GLOBAL);
  return word ? attr->string->text : "";
}

ir_dtype ir_infer_dtype(const ir_infer *in, const char *name) {
  const ir_attr *attr = ir_infer_attr(in, name);
  return attr && attr->kind == IR_ATTR_TYPE ? ir_type_dtype(attr->type) : IR_DTYPE_UNKNOWN;
}

bool ir_infer_axis(ir_infer *in, int64_t axis, size_t rank, size_t *out) {
  int64_t counted = axis < 0 ? axis + (int64_t)rank : axis;
  if (counted < 0 || counted >= (int64_t)rank) {
    return ir_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)axis, rank);
  }
  *out = (size_t)counted;
  return true;
}

/* The definition of operand OPERAND; NULL where the row has none for it. */
static const ir_operand_def *operand_def(const ir_op_def *row, size_t operand) {
  size_t count = row->operand_def_count;
  if (operand < count) return &row->operands[operand];
  return count && row->operands[count - 1].multiplicity == IR_MANY ? &row->operands[count - 1] : NULL;
}

const char *ir_infer_operand_name(const ir_infer *in, size_t operand) {
  const ir_operand_def *def = operand_def(in->row, operand);
  if (!def) return "?";
  if (def->multiplicity != IR_MANY) return def->name;
  return ir_arena_printf(in->scratch, "%s[%zu]", def->name, operand - (in->row->operand_def_count - 1u));
}

/* What a constraint wants, in words; the tensor ones with the dtypes they take. */
static const struct {
  const char *words;
  bool tensor, bools, integers, floats;
} constraints[] = {
    [IR_ANY_VALUE] = {"a value"},
    [IR_ANY_TENSOR] = {"a tensor", true, true, true, true},
    [IR_NUMERIC_TENSOR] = {"a numeric tensor", true, false, true, true},
    [IR_FLOAT_TENSOR] = {"a floating-point tensor", true, false, false, true},
    [IR_INTEGER_TENSOR] = {"an integer tensor", true, false, true, false},
    [IR_BOOL_TENSOR] = {"a bool tensor", true, true, false, false},
    [IR_INT_OR_BOOL_TENSOR] = {"an integer or bool tensor", true, true, true, false},
    [IR_SHAPE_VALUE] = {"a shape"},
    [IR_TUPLE_VALUE] = {"a tuple"},
    [IR_FUNC_VALUE] = {"a function"},
    [IR_STORAGE_VALUE] = {"storage"},
    [IR_SCALAR_VALUE] = {"a scalar"},
    [IR_BUFFER] = {"a buffer"},
};

static bool takes_dtype(ir_constraint constraint, ir_dtype dtype) {
  if (dtype == IR_DTYPE_UNKNOWN) return true;
  if (dtype == IR_BOOL) return constraints[constraint].bools;
  return ir_is_float(dtype) ? constraints[constraint].floats : constraints[constraint].integers;
}

static bool satisfies(ir_constraint constraint, const ir_type *type) {
  bool one_lane = type->lanes == 1;
  switch (constraint) {
  case IR_ANY_VALUE: return true;
  case IR_ANY_TENSOR:
  case IR_NUMERIC_TENSOR:
  case IR_FLOAT_TENSOR:
  case IR_INTEGER_TENSOR:
  case IR_BOOL_TENSOR:
  case IR_INT_OR_BOOL_TENSOR:
    return (ir_is_tensor(type) || ir_is_scalar(type)) && one_lane && takes_dtype(constraint, ir_type_dtype(type));
  case IR_SHAPE_VALUE: return type->kind == IR_TYPE_SHAPE;
  case IR_TUPLE_VALUE: return type->kind == IR_TYPE_TUPLE;
  case IR_FUNC_VALUE: return type->kind == IR_TYPE_FUNC;
  case IR_STORAGE_VALUE: return type->kind == IR_TYPE_STORAGE;
  case IR_SCALAR_VALUE: return ir_is_scalar(type) && one_lane;
  case IR_BUFFER: return ir_is_tensor(type);
  }
  return false;
}

static bool check_operands(ir_infer *in) {
  size_t least = 0, most = in->row->operand_def_count;
  for (size_t i = 0; i < in->row->operand_def_count; i++) {
    ir_multiplicity multiplicity = in->row->operands[i].multiplicity;
    if (multiplicity == IR_ONE) least++;
    if (multiplicity == IR_MANY) most = SIZE_MAX;
  }
  if (in->operand_count < least || in->operand_count > most) {
    if (least == most) return ir_infer_fail(in, "%zu operands, expected %zu", in->operand_count, least);
    if (most == SIZE_MAX) return ir_infer_fail(in, "%zu operands, expected at least %zu", in->operand_count, least);
    return ir_infer_fail(in, "%zu operands, expected %zu to %zu", in->operand_count, least, most);
  }
  for (size_t i = 0; i < in->operand_count; i++) {
    ir_constraint constraint = operand_def(in->row, i)->constraint;
    const ir_type *type = in->operands[i] ? in->operands[i]->type : NULL;
    if (!type) return ir_infer_fail(in, "operand '%s' has no type", ir_infer_operand_name(in, i));
    if (satisfies(constraint, type)) continue;
    return ir_infer_fail(in, "operand '%s' has type %s, expected %s", ir_infer_operand_name(in, i),
                         ir_type_text(in->scratch, type), constraints[constraint].words);
  }
  return true;
}

/* Fills in defaults and converts; required attributes must be there. */
static bool conform_attrs(ir_infer *in) {
  size_t count = in->row->attr_count;
  const ir_attr **attrs = ir_new_array(in->scratch, const ir_attr *, count);
  for (size_t i = 0; i < count; i++) {
    const ir_attr_def *def = &in->row->attrs[i];
    const ir_attr *given = in->attrs ? in->attrs[i] : NULL;
    bool none = given && given->kind == IR_ATTR_NONE && def->dflt && !strcmp(def->dflt, "none");
    if (none) continue;
    if (!given) {
      attrs[i] = ir_op_default(in->context, in->code, i);
      if (!attrs[i] && !def->dflt) return ir_infer_fail(in, "attribute '%s' is missing", def->name);
      continue;
    }
    const char *expected;
    attrs[i] = ir_attr_conform(in->context, def, given, &expected);
    if (!attrs[i]) {
      return ir_infer_fail(in, "attribute '%s' is %s, expected %s", def->name, ir_attr_text(in->scratch, given), expected);
    }
  }
  in->attrs = attrs;
  return true;
}

static bool is_on_device(const ir_type *type) { return ir_is_tensor(type) && type->device; }

/* What tensor operators yield lies where their operands lie. */
static bool place_results(ir_infer *in) {
  const ir_string *device = NULL;
  for (size_t i = 0; i < in->operand_count; i++) {
    const ir_type *type = ir_infer_type(in, i);
    if (!is_on_device(type)) continue;
    if (device && device != type->device) {
      return ir_infer_fail(in, "operands lie on different devices, '@%s' and '@%s'", device->text, type->device->text);
    }
    device = type->device;
  }
  for (size_t i = 0; device && i < in->result_count; i++) {
    if (ir_is_tensor(in->results[i])) in->results[i] = ir_type_with_device(in->context, in->results[i], device);
  }
  return true;
}

bool ir_infer_run(ir_infer *in) {
  in->row = &ir_op_defs[in->code];
  in->result_count = 0;
  in->results = NULL;
  if (!in->module && in->func) in->module = in->func->item.module;
  if (!in->context) in->context = in->module->context;
  if (!in->facts && in->func) in->facts = ir_func_facts(in->func);
  if (!conform_attrs(in) || !check_operands(in)) return false;
  if (in->row->infer && !in->row->infer(in)) return false;
  if (in->row->numerics != IR_STRUCTURE && !place_results(in)) return false;
  size_t wanted = in->row->results < 0 ? in->result_count : (size_t)in->row->results;
  if (in->result_count == wanted) return true;
  return ir_infer_fail(in, "%zu results, expected %zu", in->result_count, wanted);
}
