// SPDX-License-Identifier: Apache-2.0
/* ir/infer_core.c - inference of values, tuples, shapes, constants and casts. Calls: ir/infer_call.c; control flow:
 * ir/infer_region.c. Needs ir/infer_dims, ir/print. */
#include "base/vec.h"
#include "ir/infer_dims.h"
#include "ir/ops/infer_ops.h"
#include "ir/print.h"

bool infer_nothing(ir_infer *in) {
  (void)in;
  return true;
}

/* The type that the text gives is the only one there is. */
bool infer_declared(ir_infer *in) {
  if (!in->declared_count) return ir_infer_fail(in, "the type of the result must be written");
  for (size_t i = 0; i < in->declared_count; i++) ir_infer_result(in, in->declared[i]);
  return true;
}

static bool fits_constant(ir_infer *in, const ir_type *type, const ir_data *data) {
  int64_t count, bytes;
  if (!ir_is_tensor(type) || type->lanes != 1) {
    return ir_infer_fail(in, "result has type %s, expected a tensor", ir_type_text(in->scratch, type));
  }
  if (!ir_type_static_dims(type, NULL, &count)) {
    return ir_infer_fail(in, "result has type %s, expected constant extents", ir_type_text(in->scratch, type));
  }
  if (ir_type_dtype(type) != data->dtype) {
    return ir_infer_fail(in, "elements have dtype %s, the result has type %s", ir_dtype_name(data->dtype), ir_type_text(in->scratch, type));
  }
  if (!ir_dtype_bytes(data->dtype, count, &bytes) || (uint64_t)bytes != data->size) {
    return ir_infer_fail(in, "%zu bytes of elements do not fill type %s", data->size, ir_type_text(in->scratch, type));
  }
  return true;
}

bool infer_const(ir_infer *in) {
  const ir_attr *value = ir_infer_attr(in, "value");
  if (value->kind == IR_ATTR_DATA) {
    return infer_declared(in) && fits_constant(in, in->results[0], &value->data);
  }
  /* A resource may stand later in the text: whether it exists is the verifier's question. */
  const ir_item *item = in->module ? ir_module_find(in->module, value->string) : NULL;
  if (!item) return infer_declared(in);
  if (item->kind != IR_ITEM_RESOURCE) return ir_infer_fail(in, "'@%s' is not a resource", value->string->text);
  return ir_infer_result(in, ((const ir_resource *)item)->type);
}

bool infer_alloc(ir_infer *in) {
  if (!infer_declared(in)) return false;
  const ir_type *type = in->results[0];
  if (!ir_is_tensor(type) || !type->ranked || type->dtype == IR_DTYPE_UNKNOWN) {
    return ir_infer_fail(in, "result has type %s, expected a tensor of known dtype and rank", ir_type_text(in->scratch, type));
  }
  for (size_t i = 0; i < type->count; i++) {
    if (!ir_type_dim(type, i)) return ir_infer_fail(in, "extent %zu of the result is unknown", i);
  }
  return true;
}

struct leaves {
  ir_infer *in;
  const char *problem;
};

static void check_leaf(void *user, const ir_expr *node) {
  struct leaves *l = user;
  if (l->problem || (node->code != IR_S_ARG && node->code != IR_S_LOAD)) return;
  ir_arena *scratch = l->in->scratch;
  if (node->arg >= l->in->operand_count) {
    l->problem = ir_arena_printf(scratch, "the expression speaks of operand %u of %zu", node->arg, l->in->operand_count);
    return;
  }
  const ir_type *type = ir_infer_type(l->in, node->arg);
  const char *text = ir_type_text(scratch, type);
  bool same_element = type->dtype == node->dtype;
  if (node->code == IR_S_ARG) {
    bool fits = ir_is_scalar(type) && same_element && type->lanes == node->lanes;
    if (!fits) l->problem = ir_arena_printf(scratch, "operand %u of type %s is used as a scalar of another type", node->arg, text);
    return;
  }
  if (!ir_is_tensor(type) || !same_element) {
    l->problem = ir_arena_printf(scratch, "operand %u of type %s is used as a buffer of another type", node->arg, text);
  } else if (!type->ranked || type->count != node->count) {
    l->problem = ir_arena_printf(scratch, "%u indices into operand %u of type %s", node->count, node->arg, text);
  }
}

bool infer_scalar(ir_infer *in) {
  const ir_expr *value = ir_attr_as_expr(in->context, ir_infer_attr(in, "value"));
  struct leaves leaves = {.in = in};
  ir_expr_walk(in->context, value, check_leaf, &leaves);
  if (leaves.problem) return ir_infer_fail(in, "%s", leaves.problem);
  return ir_infer_result(in, ir_type_scalar(in->context, (ir_dtype)value->dtype, value->lanes));
}

bool infer_tuple(ir_infer *in) {
  const ir_type **fields = ir_new_array(in->scratch, const ir_type *, in->operand_count);
  for (size_t i = 0; i < in->operand_count; i++) fields[i] = ir_infer_type(in, i);
  return ir_infer_result(in, ir_type_tuple(in->context, in->operand_count, fields));
}

bool infer_tuple_get(ir_infer *in) {
  const ir_type *type = ir_infer_type(in, 0);
  int64_t index = ir_infer_int(in, "index");
  if (index < 0 || index >= (int64_t)type->count) {
    return ir_infer_fail(in, "no field %lld in type %s", (long long)index, ir_type_text(in->scratch, type));
  }
  return ir_infer_result(in, ir_type_field(type, (size_t)index));
}

bool infer_to_device(ir_infer *in) {
  const ir_type *type = ir_infer_type(in, 0);
  const ir_string *device = ir_infer_attr(in, "device")->string;
  if (ir_is_scalar(type)) type = ir_type_tensor(in->context, ir_type_dtype(type), 0, NULL);
  return ir_infer_result(in, ir_type_with_device(in->context, type, device));
}

bool infer_match_cast(ir_infer *in) {
  if (!infer_declared(in)) return false;
  const ir_type *found = ir_infer_type(in, 0);
  if (ir_type_relate(in->context, in->facts, in->results[0], found) != IR_TYPES_CONTRADICT) return true;
  return ir_infer_fail(in, "a value of type %s can never be of type %s", ir_type_text(in->scratch, found),
                       ir_type_text(in->scratch, in->results[0]));
}

bool infer_assert(ir_infer *in) {
  const ir_type *type = ir_infer_type(in, 0);
  bool is_bool = type->dtype == IR_BOOL && type->lanes == 1;
  if (is_bool && (ir_is_scalar(type) || (ir_is_tensor(type) && type->ranked && !type->count))) return true;
  return ir_infer_fail(in, "condition has type %s, expected bool or bool[]", ir_type_text(in->scratch, type));
}

bool infer_shape(ir_infer *in) {
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, in->operand_count);
  for (size_t i = 0; i < in->operand_count; i++) {
    if (ir_infer_type(in, i)->dtype != IR_I64) {
      return ir_infer_fail(in, "operand '%s' has type %s, expected i64", ir_infer_operand_name(in, i),
                           ir_type_text(in->scratch, ir_infer_type(in, i)));
    }
    dims[i] = ir_value_closed_expr(in->operands[i]);
  }
  return ir_infer_result(in, ir_type_shape(in->context, in->operand_count, dims));
}

bool infer_shape_of(ir_infer *in) {
  ir_view view = ir_infer_view(in, 0);
  return ir_infer_result(in, view.ranked ? ir_type_shape(in->context, view.rank, view.dims) : ir_type_unranked_shape(in->context));
}

bool infer_shape_to_tensor(ir_infer *in) {
  ir_view view = ir_infer_view(in, 0);
  const ir_expr *rank = view.ranked ? ir_infer_i64(in, (int64_t)view.rank) : NULL;
  return ir_infer_ranked(in, IR_I64, 1, &rank);
}

bool infer_tensor_to_shape(ir_infer *in) {
  ir_view view = ir_infer_view(in, 0);
  if (view.dtype != IR_I64 && view.dtype != IR_DTYPE_UNKNOWN) {
    return ir_infer_fail(in, "operand 'x' has dtype %s, expected i64", ir_dtype_name(view.dtype));
  }
  if (!ir_infer_wants_rank(in, 0, 1)) return false;
  int64_t rank;
  if (!view.ranked || !ir_dim_const(view.dims[0], &rank)) return ir_infer_result(in, ir_type_unranked_shape(in->context));
  enum { MAX_RANK = 1 << 16 };
  if (rank < 0 || rank > MAX_RANK) return ir_infer_fail(in, "a shape of %lld extents, expected at most %d", (long long)rank, MAX_RANK);
  const ir_expr **dims = ir_new_array(in->scratch, const ir_expr *, (size_t)rank);
  return ir_infer_result(in, ir_type_shape(in->context, (size_t)rank, dims));
}
