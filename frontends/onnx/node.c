// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/node.c - attributes, inputs and outputs of a node. Needs the builder. */
#include "frontends/onnx/importer.h"
#include "ir/print.h"

#include <stdlib.h>

bool ir_onnx_fail(ir_onnx_node *n, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(n->im->diags, (ir_range){0, 0}, "%s: %s", n->proto->op_type, text.at);
  ir_text_free(&text);
  return false;
}

/* --- attributes --- */
static int find_attr(const ir_onnx_node *n, const char *name) {
  for (size_t i = 0; i < n->proto->n_attribute; i++) {
    if (!strcmp(n->proto->attribute[i]->name, name)) return (int)i;
  }
  return -1;
}

bool ir_onnx_has(const ir_onnx_node *n, const char *name) { return find_attr(n, name) >= 0; }

void ir_onnx_ignore(ir_onnx_node *n, const char *name) {
  int i = find_attr(n, name);
  if (i >= 0) n->used[i] = true;
}

const Onnx__AttributeProto *ir_onnx_attr(ir_onnx_node *n, const char *name, Onnx__AttributeProto__AttributeType type) {
  int i = find_attr(n, name);
  if (i < 0) return NULL;
  n->used[i] = true;
  const Onnx__AttributeProto *attr = n->proto->attribute[i];
  /* Models of IR version 1 do not write the type. */
  if (!attr->has_type || attr->type == type || attr->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) return attr;
  ir_onnx_fail(n, "attribute '%s' has type %d, expected %d", name, (int)attr->type, (int)type);
  return NULL;
}

int64_t ir_onnx_int(ir_onnx_node *n, const char *name, int64_t dflt) {
  const Onnx__AttributeProto *attr = ir_onnx_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
  return attr ? attr->i : dflt;
}

double ir_onnx_shortest(float value) {
  char text[40];
  for (int digits = 1; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) return strtod(text, NULL);
  }
  return (double)value;
}

double ir_onnx_float(ir_onnx_node *n, const char *name, double dflt) {
  const Onnx__AttributeProto *attr = ir_onnx_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
  return attr ? ir_onnx_shortest(attr->f) : dflt;
}

const char *ir_onnx_string(ir_onnx_node *n, const char *name, const char *dflt) {
  const Onnx__AttributeProto *attr = ir_onnx_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
  return attr ? ir_arena_copy(&n->im->arena, attr->s.data, attr->s.len) : dflt;
}

const int64_t *ir_onnx_ints(ir_onnx_node *n, const char *name, size_t *count) {
  const Onnx__AttributeProto *attr = ir_onnx_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
  static const int64_t none[1];
  *count = attr ? attr->n_ints : 0;
  return attr ? (attr->n_ints ? attr->ints : none) : NULL;
}

/* --- inputs and outputs --- */
bool ir_onnx_present(ir_onnx_node *n, size_t i) {
  bool present = i < n->proto->n_input && *n->proto->input[i];
  if (present) n->read[i] = true;
  return present;
}
bool ir_onnx_wants(const ir_onnx_node *n, size_t i) { return i < n->proto->n_output && *n->proto->output[i]; }

static ir_onnx_value *find_value(ir_onnx_node *n, size_t i) {
  if (!ir_onnx_present(n, i)) {
    ir_onnx_fail(n, "input %zu is missing", i);
    return NULL;
  }
  const char *name = n->proto->input[i];
  ir_onnx_value *value = ir_onnx_find(n->im, name);
  if (!value) ir_onnx_fail(n, "input '%s' is not defined before its use", name);
  return value;
}

ir_value *ir_onnx_in(ir_onnx_node *n, size_t i) {
  ir_onnx_value *value = find_value(n, i);
  if (!value) return NULL;
  if (!value->tensor && value->literal) value->tensor = ir_onnx_constant(n->im, value->literal, value->name);
  if (!value->tensor && value->known) value->tensor = ir_onnx_materialize(n->im, value->known);
  return value->tensor;
}

const ir_onnx_known *ir_onnx_in_known(ir_onnx_node *n, size_t i) {
  if (!ir_onnx_present(n, i)) return NULL;
  ir_onnx_value *value = ir_onnx_find(n->im, n->proto->input[i]);
  if (value && !value->known && value->literal) value->known = ir_onnx_known_of(n->im, value->literal);
  return value ? value->known : NULL;
}

/* A symbol for element or axis I of NAME, which a match_cast of the body binds. */
static const ir_expr *inner_symbol(ir_onnx_node *n, const char *name, size_t i) {
  const ir_expr *symbol = ir_onnx_symbol(n->im, ir_arena_printf(&n->im->arena, "%s[%zu]", name, i));
  for (unsigned k = 2; ir_map_has(&n->im->bound, symbol); k++) { /* graphs beside each other may use the same names */
    symbol = ir_onnx_symbol(n->im, ir_arena_printf(&n->im->arena, "%s[%zu].%u", name, i, k));
  }
  ir_map_put(&n->im->arena, &n->im->bound, symbol, n->im);
  return symbol;
}

ir_value *ir_onnx_with_extents(ir_onnx_node *n, const char *name, ir_value *x) {
  ir_context *context = n->im->context;
  bool open = ir_is_tensor(x->type) && x->type->ranked && ir_type_dtype(x->type) != IR_DTYPE_UNKNOWN && !ir_type_is_sized(x->type);
  if (!open) return x;
  const ir_expr **dims = ir_new_array(&n->im->arena, const ir_expr *, x->type->count);
  for (size_t i = 0; i < x->type->count; i++) dims[i] = ir_onnx_dim(x, i) ? ir_onnx_dim(x, i) : inner_symbol(n, name, i);
  const ir_type *type = ir_type_tensor(context, ir_type_dtype(x->type), x->type->count, dims);
  return ir_op_result(ir_build_with(&n->im->b, IR_MATCH_CAST, &x, 1, IR_NO_ATTRS, NULL, 0, &type, 1), 0);
}

ir_onnx_known *ir_onnx_bind(ir_onnx_node *n, const char *name, ir_value *x) {
  enum { MOST = 64 };
  ir_context *context = n->im->context;
  ir_dtype dtype = ir_type_dtype(x->type);
  int rank = ir_onnx_rank(n, x);
  int64_t count = 1;
  bool fits = rank == 0 || (rank == 1 && ir_onnx_dim(x, 0) && ir_expr_is_int(ir_onnx_dim(x, 0), &count) && count <= MOST);
  if (!fits || (dtype != IR_I64 && dtype != IR_I32)) {
    if (rank >= 0) ir_onnx_fail(n, "not implemented: input '%s' that is only known when it runs", name);
    return NULL;
  }
  const ir_expr *dims[MOST], *length = ir_expr_i64(context, count);
  ir_onnx_known *known = ir_onnx_known_new(n->im, dtype, rank, (size_t)count);
  for (size_t k = 0; k < known->count; k++) dims[k] = known->elements[k] = inner_symbol(n, name, k);
  if (!rank) x = ir_onnx_reshape(n, x, 1, &length);
  x = ir_onnx_cast(n, x, IR_I64);
  ir_value *shape = IR_ONNX_BUILD(n, IR_TENSOR_TO_SHAPE, x);
  const ir_type *type = ir_type_shape(context, known->count, dims);
  return shape && ir_build_with(&n->im->b, IR_MATCH_CAST, &shape, 1, IR_NO_ATTRS, NULL, 0, &type, 1) ? known : NULL;
}

const ir_onnx_known *ir_onnx_in_extents(ir_onnx_node *n, size_t i) {
  const ir_onnx_known *known = ir_onnx_in_known(n, i);
  ir_value *x = known ? NULL : ir_onnx_in(n, i);
  if (known || !x) return known;
  ir_onnx_value *value = find_value(n, i);
  return value->known = ir_onnx_bind(n, value->name, x);
}

bool ir_onnx_in_ints(ir_onnx_node *n, size_t i, const int64_t **values, size_t *count) {
  const ir_onnx_known *known = ir_onnx_in_known(n, i);
  if (!known) {
    if (!find_value(n, i)) return false;
    return ir_onnx_fail(n, "not implemented: input '%s' that is only known when it runs", n->proto->input[i]);
  }
  int64_t *constants = ir_new_array(&n->im->arena, int64_t, known->count + 1);
  for (size_t k = 0; k < known->count; k++) {
    if (!ir_expr_is_int(known->elements[k], &constants[k])) {
      return ir_onnx_fail(n, "not implemented: input '%s' with a symbolic element", n->proto->input[i]);
    }
  }
  *values = constants;
  *count = known->count;
  return true;
}

bool ir_onnx_is_literal(const ir_onnx_node *n, size_t i) {
  const ir_onnx_value *value = ir_onnx_find(n->im, n->proto->input[i]);
  return value && value->literal;
}

/* The number that an attribute holds for an element. NULL for some u64 above i64, which no attribute holds. */
static const ir_attr *number_of(ir_context *context, ir_dtype dtype, uint64_t bits) {
  if (dtype == IR_F32) return ir_attr_float(context, ir_onnx_shortest((float)ir_float_from_bits(IR_F32, bits)));
  if (ir_is_float(dtype)) return ir_attr_float(context, ir_float_from_bits(dtype, bits));
  int64_t value = ir_int_from_bits(dtype, bits);
  if (dtype != IR_U64 || value >= 0) return ir_attr_int(context, value);
  const ir_attr *nearest = ir_attr_float(context, (double)bits);
  return ir_attr_as_number(context, nearest, IR_U64)->bits == bits ? nearest : NULL;
}

/* Input I, and the elements that it was given in the model; NULL after a report. */
static ir_onnx_value *find_constant(ir_onnx_node *n, size_t i, ir_data *data) {
  ir_onnx_value *value = find_value(n, i);
  const ir_type *type;
  if (value && !value->literal) ir_onnx_fail(n, "not implemented: input '%s' that is only known when it runs", value->name);
  return value && value->literal && ir_onnx_tensor_data(n->im, value->literal, data, &type) ? value : NULL;
}

bool ir_onnx_in_number(ir_onnx_node *n, size_t i, const ir_attr **number) {
  ir_data data;
  ir_onnx_value *value = find_constant(n, i, &data);
  if (!value) return false;
  uint64_t bits = 0;
  size_t width = ir_dtypes[data.dtype].bits / 8;
  if (!width || data.size != width) return ir_onnx_fail(n, "input '%s' should be one number", value->name);
  memcpy(&bits, data.bytes, width);
  *number = number_of(n->im->context, data.dtype, bits);
  return *number || ir_onnx_fail(n, "not implemented: the number %llu as input '%s'", (unsigned long long)bits, value->name);
}

bool ir_onnx_in_floats(ir_onnx_node *n, size_t i, const double **values, size_t *count) {
  *values = NULL;
  *count = 0;
  if (!ir_onnx_present(n, i)) return true;
  ir_data data;
  ir_onnx_value *value = find_constant(n, i, &data);
  if (!value) return false;
  if (data.dtype != IR_F32) return ir_onnx_fail(n, "not implemented: input '%s' of dtype %s", value->name, ir_dtype_name(data.dtype));
  *count = data.size / sizeof(float);
  double *numbers = ir_new_array(&n->im->arena, double, *count + 1);
  for (size_t k = 0; k < *count; k++) {
    float number;
    memcpy(&number, (const char *)data.bytes + k * sizeof number, sizeof number);
    numbers[k] = ir_onnx_shortest(number);
  }
  *values = numbers;
  return true;
}

static ir_onnx_value *define(ir_onnx_node *n, size_t i) {
  if (!ir_onnx_wants(n, i)) return ir_new(&n->im->arena, ir_onnx_value);
  const ir_string *name = ir_intern(n->im->context, ir_slice_of(n->proto->output[i]));
  void **slot = ir_map_slot(&n->im->arena, &n->im->scope->values, name);
  if (*slot) {
    ir_onnx_fail(n, "output '%s' is defined twice", name->text);
    return NULL;
  }
  ir_onnx_value *value = *slot = ir_new(&n->im->arena, ir_onnx_value);
  value->name = name->text;
  return value;
}

bool ir_onnx_out(ir_onnx_node *n, size_t i, ir_value *tensor) {
  ir_onnx_value *value = tensor ? define(n, i) : NULL;
  if (!value) return false;
  if (value->name) tensor = ir_onnx_with_extents(n, value->name, tensor);
  value->tensor = tensor;
  const ir_op *def = ir_value_op(tensor);
  if (value->name && def && !tensor->name && !(def->flags & IR_OP_INLINE)) tensor->name = ir_intern(n->im->context, ir_slice_of(value->name));
  return true;
}

bool ir_onnx_out_known(ir_onnx_node *n, size_t i, ir_onnx_known *known) {
  ir_onnx_value *value = define(n, i);
  if (!value) return false;
  value->known = known;
  return true;
}

ir_onnx_known *ir_onnx_known_new(ir_onnx_importer *im, ir_dtype dtype, int rank, size_t count) {
  ir_onnx_known *known = ir_new(&im->arena, ir_onnx_known);
  *known = (ir_onnx_known){dtype, rank, count, ir_new_array(&im->arena, const ir_expr *, count + 1)};
  return known;
}

int ir_onnx_rank(ir_onnx_node *n, const ir_value *tensor) {
  if (!tensor) return -1;
  if (ir_is_tensor(tensor->type) && tensor->type->ranked) return (int)tensor->type->count;
  ir_onnx_fail(n, "needs an operand of known rank");
  return -1;
}

int ir_onnx_axis(ir_onnx_node *n, int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
  ir_onnx_fail(n, "axis %lld of a tensor of rank %d", (long long)axis, rank);
  return -1;
}

const ir_expr *ir_onnx_dims_product(ir_onnx_node *n, const ir_value *tensor, size_t from, size_t to) {
  const ir_expr *product = ir_expr_i64(n->im->context, 1);
  for (size_t i = from; i < to; i++) {
    if (!ir_onnx_dim(tensor, i)) return NULL;
    product = ir_dim_mul(n->im->context, NULL, product, ir_onnx_dim(tensor, i));
  }
  return product;
}

bool ir_onnx_require(ir_onnx_node *n, const ir_expr *condition) {
  ir_proof holds = ir_prove(n->im->context, ir_func_facts(n->im->func), condition);
  if (holds != IR_UNKNOWN) return holds == IR_PROVEN;
  if (n->im->scope->outer || ir_onnx_is_inner(n->im, condition)) return ir_build_check(&n->im->b, condition);
  *ir_push(&n->im->arena, &n->im->where) = condition;
  return true;
}

bool ir_onnx_require_equal(ir_onnx_node *n, const ir_expr *a, const ir_expr *b) {
  return ir_onnx_require(n, ir_expr_binary(n->im->context, IR_S_EQ, a, b));
}

bool ir_onnx_spreads_to(ir_onnx_node *n, const ir_value *one, const ir_value *other, const ir_value *result) {
  bool known = ir_onnx_rank(n, one) >= 0 && ir_onnx_rank(n, other) >= 0 && ir_onnx_rank(n, result) >= 0;
  if (!known) return false;
  bool fits = other->type->count == result->type->count;
  for (size_t i = 0; fits && i < other->type->count; i++) {
    const ir_expr *a = ir_onnx_dim(other, i), *b = ir_onnx_dim(result, i);
    fits = !a || !b || ir_onnx_require_equal(n, a, b);
  }
  if (fits) return true;
  return ir_onnx_fail(n, "an operand of type %s does not broadcast to %s", ir_type_text(&n->im->arena, one->type), ir_type_text(&n->im->arena, other->type));
}

ir_value *ir_onnx_reshape(ir_onnx_node *n, ir_value *x, size_t rank, const ir_expr *const *dims) {
  for (size_t i = 0; i < rank; i++) {
    if (!dims[i]) {
      ir_onnx_fail(n, "needs known extents");
      return NULL;
    }
  }
  return ir_build1(&n->im->b, IR_RESHAPE, IR_OPERANDS(x), IR_SET({"shape", ir_attr_dims(n->im->context, rank, dims)}));
}

bool ir_onnx_remember(ir_onnx_node *n, const Onnx__TensorProto *literal) {
  ir_onnx_value *value = ir_onnx_find(n->im, n->proto->output[0]);
  if (value) value->literal = literal;
  return true;
}

ir_value *ir_onnx_cast(ir_onnx_node *n, ir_value *x, ir_dtype dtype) {
  if (!x || ir_type_dtype(x->type) == dtype) return x;
  return ir_build1(&n->im->b, IR_ASTYPE, IR_OPERANDS(x), IR_SET({"dtype", ir_attr_dtype(n->im->context, dtype)}));
}

ir_value *ir_onnx_number(ir_onnx_node *n, const ir_value *like, double value) {
  if (!like) return NULL;
  ir_dtype dtype = ir_type_dtype(like->type);
  if (!ir_is_float(dtype) && (!(value > -0x1p63 && value < 0x1p63) || value != (double)(int64_t)value)) {
    ir_onnx_fail(n, "not implemented: %g times integers", value);
    return NULL;
  }
  const ir_expr *expr = ir_is_float(dtype) ? ir_expr_float(n->im->context, dtype, value) : ir_expr_int(n->im->context, dtype, (int64_t)value);
  return ir_build_scalar(&n->im->b, expr, NULL, 0);
}

ir_value *ir_onnx_reduce(ir_onnx_node *n, ir_opcode code, ir_value *x, size_t count, const int64_t *axes, bool keep) {
  ir_context *context = n->im->context;
  const ir_attr *axis = count ? ir_attr_ints(context, count, axes) : NULL;
  return ir_build1(&n->im->b, code, IR_OPERANDS(x), IR_SET({"axis", axis}, {"keepdims", ir_attr_bool(context, keep)}));
}
