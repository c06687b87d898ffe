// SPDX-License-Identifier: Apache-2.0
/* passes/lower/compose.c - what decompositions are written with. Needs ir/infer. */
#include "passes/lower/compose.h"

int ir_compose_rank(const ir_op *op, size_t i) {
  const ir_type *type = ir_op_operand(op, i)->type;
  const char *name = ir_op_row(op)->name;
  if (ir_is_scalar(type)) return 0;
  if (!ir_is_tensor(type) || !type->ranked) {
    ir_error(ir_op_context(op)->diags, op->range, "%s: not implemented: an operand of unknown rank", name);
    return -1;
  }
  if (type->count <= IR_LOWER_AXES) return (int)type->count;
  ir_error(ir_op_context(op)->diags, op->range, "%s: not implemented: an operand of %u axes, at most %d", name, type->count, IR_LOWER_AXES);
  return -1;
}

ir_value *ir_make_cast(ir_builder *b, ir_value *value, ir_dtype dtype) {
  if (!value || ir_type_dtype(value->type) == dtype) return value;
  return ir_build1(b, IR_ASTYPE, IR_OPERANDS(value), IR_SET({"dtype", ir_attr_dtype(b->module->context, dtype)}));
}

ir_value *ir_make_number(ir_builder *b, ir_dtype dtype, double value) {
  ir_context *context = b->module->context;
  const ir_expr *number = ir_is_float(dtype) ? ir_expr_float(context, dtype, value) : ir_expr_int(context, dtype, (int64_t)value);
  return ir_build_scalar(b, number, NULL, 0);
}

ir_value *ir_make_count(ir_builder *b, ir_dtype dtype, const ir_expr *count) {
  return count ? ir_build_scalar(b, ir_expr_cast(b->module->context, count, dtype), NULL, 0) : NULL;
}

ir_value *ir_make_reshape(ir_builder *b, ir_value *value, size_t rank, const ir_expr *const *dims) {
  return ir_build1(b, IR_RESHAPE, IR_OPERANDS(value), IR_SET({"shape", ir_attr_dims(b->module->context, rank, dims)}));
}

ir_value *ir_make_reduced(ir_builder *b, ir_opcode code, ir_value *value, size_t count, const int64_t *axes) {
  ir_context *context = b->module->context;
  return ir_build1(b, code, IR_OPERANDS(value), IR_SET({"axis", ir_attr_ints(context, count, axes)}, {"keepdims", ir_attr_bool(context, true)}));
}

static const ir_expr *known_dim(const ir_op *op, const ir_type *type, size_t i) {
  const ir_expr *dim = ir_type_dim(type, i);
  if (!dim) ir_error(ir_op_context(op)->diags, op->range, "%s: not implemented: an operand whose extents are not known", ir_op_row(op)->name);
  return dim;
}

ir_value *ir_make_along(ir_builder *b, const ir_op *op, ir_value *part, size_t rank, size_t count, const int64_t *axes) {
  const ir_expr *dims[IR_LOWER_AXES];
  if (!part || !count || count == rank - (size_t)axes[0]) return part; /* the last axes: as it is */
  size_t first = (size_t)axes[0];
  for (size_t i = first, k = 0; i < rank; i++) {
    bool own = k < count && axes[k] == (int64_t)i;
    dims[i - first] = own ? known_dim(op, part->type, k++) : ir_expr_i64(b->module->context, 1);
    if (!dims[i - first]) return NULL;
  }
  return ir_make_reshape(b, part, rank - first, dims);
}

const ir_expr *ir_compose_elements(const ir_op *op, const ir_type *type, size_t count, const int64_t *axes) {
  ir_context *context = ir_op_context(op);
  const ir_expr *product = ir_expr_i64(context, 1);
  for (size_t i = 0; i < count; i++) {
    const ir_expr *dim = known_dim(op, type, (size_t)axes[i]);
    if (!dim) return NULL;
    product = ir_dim_mul(context, ir_func_facts(ir_op_func(op)), product, dim);
  }
  return product;
}

ir_value *ir_make_extent(ir_builder *b, ir_value *value, size_t axis, const ir_expr *extent) {
  ir_context *context = b->module->context;
  if (!value || !extent) return value;
  const ir_expr *own = ir_type_dim(value->type, axis), *dims[IR_LOWER_AXES];
  if (own && ir_prove_equal(context, ir_func_facts(b->region->func), own, extent) == IR_PROVEN) return value;
  for (size_t i = 0; i < value->type->count; i++) dims[i] = i == axis ? extent : ir_type_dim(value->type, i);
  const ir_type *type = ir_type_with_device(context, ir_type_tensor(context, ir_type_dtype(value->type), value->type->count, dims), value->type->device);
  return ir_op_result(ir_build_with(b, IR_MATCH_CAST, &value, 1, IR_NO_ATTRS, NULL, 0, &type, 1), 0);
}

bool ir_composed(ir_builder *b, ir_op *op, size_t count, ir_value *const *results) {
  for (size_t i = 0; i < count; i++) {
    if (!results[i]) return false;
  }
  for (size_t i = 0; i < count; i++) {
    ir_value *old = ir_op_result(op, i), *value = results[i];
    bool same_axes = ir_is_tensor(old->type) && ir_is_tensor(value->type) && old->type->ranked && value->type->ranked &&
                     old->type->count == value->type->count && value->type->count <= IR_LOWER_AXES;
    for (size_t axis = 0; same_axes && axis < value->type->count; axis++) value = ir_make_extent(b, value, axis, ir_type_dim(old->type, axis));
    bool sharper = ir_type_relate(b->module->context, ir_func_facts(ir_op_func(op)), old->type, value->type) == IR_TYPES_WEAKER;
    ir_value_replace(old, value);
    if (sharper) ir_value_refine_users(value);
  }
  ir_op_erase(op);
  return true;
}
