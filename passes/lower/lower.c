// SPDX-License-Identifier: Apache-2.0
/* passes/lower/lower.c - the driver and the helpers of the rules. Needs ir/infer, ir/frame. */
#include "passes/lower/lower.h"

#include "ir/print.h"
#include "ir/symbols.h"

const ir_lower_def ir_lower_defs[IR_OP_COUNT] = {
#define OP(ID, name, doc, ir, lower, grad, example) [IR_##ID] = {lower},
#define LOWER(...) __VA_ARGS__
#include "ir/ops/all.def"
#undef OP
};

bool ir_can_legalize(const ir_op *op) { return ir_has(op, IR_ELEMENTWISE) || ir_lower_defs[op->code].legalize; }
bool ir_can_decompose(const ir_op *op) {
  const ir_lower_def *row = &ir_lower_defs[op->code];
  return row->decompose && !(row->unless && ir_has_attr(op, row->unless));
}

bool ir_decompose_op(ir_op *op) {
  ir_builder b = ir_before(op);
  return ir_can_decompose(op) && ir_lower_defs[op->code].decompose(&b, op);
}

/* Symbols that operands' types do not tell. */
static void find_symbols(ir_lowering *l) {
  ir_symbols_used used = {.context = l->context, .arena = l->arena};
  for (size_t i = 0; i < l->op->operand_count; i++) ir_symbols_in_type(&used, ir_op_operand(l->op, i)->type, true);
  for (size_t i = 0; i < l->op->result_count; i++) ir_symbols_in_type(&used, ir_op_result(l->op, i)->type, false);
  for (size_t i = 0; i < ir_op_row(l->op)->attr_count; i++) ir_symbols_in_attr(&used, ir_op_slots(l->op)[i]);
  l->symbols = ir_symbols_unbound(&used, &l->symbol_count);
}

static bool sized(const ir_lowering *l, const ir_type *type, const char *what) {
  if (ir_is_tensor(type) && type->count > IR_LOWER_AXES) {
    ir_error(l->context->diags, l->op->range, "%s: not implemented: %s of %u axes, at most %d", ir_op_row(l->op)->name, what, type->count, IR_LOWER_AXES);
    return false;
  }
  bool known = ir_is_scalar(type) || ir_type_is_sized(type);
  if (known) return true;
  const char *lacks = ir_is_tensor(type) && type->dtype == IR_DTYPE_UNKNOWN ? "its dtype is not known" : "its extents are not known";
  ir_error(l->context->diags, l->op->range, "%s: not implemented: %s of type %s: %s%s", ir_op_row(l->op)->name, what,
           ir_type_text(l->arena, type), lacks, ir_can_decompose(l->op) ? ": run decompose-ops before" : "");
  return false;
}

static const char *param_name(ir_lowering *l, const char *base, size_t i, size_t count) {
  return count > 1 ? ir_arena_printf(l->arena, "%s%zu", base, i) : base;
}

static bool make_params(ir_lowering *l, ir_module *module, const ir_string *name) {
  ir_op *op = l->op;
  find_symbols(l);
  size_t total = op->operand_count + l->symbol_count + op->result_count, at = 0;
  ir_param *params = ir_new_array(l->arena, ir_param, total);
  for (size_t i = 0; i < op->operand_count; i++) {
    const ir_type *type = ir_op_operand(op, i)->type;
    if (!sized(l, type, "an operand")) return false;
    if (ir_is_tensor(type) && type->device) type = ir_type_with_device(l->context, type, NULL);
    params[at++] = (ir_param){.name = ir_intern(l->context, ir_slice_of(param_name(l, "x", i, op->operand_count))), .type = type};
  }
  for (size_t i = 0; i < l->symbol_count; i++) {
    params[at++] = (ir_param){.name = l->symbols[i]->symbol, .type = ir_type_scalar(l->context, IR_I64, 1), .symbol = l->symbols[i]};
  }
  for (size_t i = 0; i < op->result_count; i++) {
    const ir_type *type = ir_op_result(op, i)->type;
    if (!sized(l, type, "a result")) return false;
    if (type->device) type = ir_type_with_device(l->context, type, NULL);
    params[at++] = (ir_param){.name = ir_intern(l->context, ir_slice_of(param_name(l, "y", i, op->result_count))), .type = type, .direction = IR_OUT};
  }
  l->func = ir_func_new(module, IR_ITEM_PRIM_FUNC, name);
  l->func->item.flags = IR_ITEM_PRIVATE;
  l->func->item.range = op->range;
  ir_func_set_params(l->func, total, params, true);
  l->in = ir_new_array(l->arena, ir_value *, op->operand_count + 1);
  l->out = ir_new_array(l->arena, ir_value *, op->result_count + 1);
  for (size_t i = 0; i < op->operand_count; i++) l->in[i] = l->func->params[i].value;
  for (size_t i = 0; i < op->result_count; i++) l->out[i] = l->func->params[op->operand_count + l->symbol_count + i].value;
  l->b = ir_at_end(l->func->body);
  l->b.range = op->range;
  return true;
}

/* What must hold of the extents where only the run can tell becomes the `where` of the prim_func. */
static void take_needs(ir_lowering *l) {
  ir_infer in = ir_infer_again(l->op, NULL, l->arena); /* what the caller knows of its symbols, the prim_func does not */
  in.quiet = in.collect = true;
  if (!ir_infer_run(&in)) return;
  for (size_t i = 0; i < in.needs.count; i++) ir_func_add_where(l->func, in.needs.at[i]);
}

ir_func *ir_legalize_op(ir_op *op, ir_module *module, const ir_string *name, ir_arena *arena, ir_lowering *l) {
  *l = (ir_lowering){.op = op, .context = module->context, .arena = arena};
  bool (*rule)(ir_lowering *) = ir_lower_defs[op->code].legalize;
  if (!rule && ir_has(op, IR_ELEMENTWISE)) rule = legalize_elementwise;
  if (!rule) {
    ir_error(l->context->diags, op->range, "not implemented: %s as a tensor program%s", ir_op_row(op)->name,
             ir_can_decompose(op) ? ": run decompose-ops before" : "");
    return NULL;
  }
  if (!make_params(l, module, name)) return NULL;
  take_needs(l);
  return rule(l) ? l->func : NULL;
}

/* --- helpers --- */
const ir_type *ir_lower_type(const ir_lowering *l, size_t operand) { return ir_op_operand(l->op, operand)->type; }
const ir_type *ir_lower_result(const ir_lowering *l, size_t result) { return ir_op_result(l->op, result)->type; }

bool ir_lower_missing(ir_lowering *l, const char *what) {
  ir_error(l->context->diags, l->op->range, "not implemented: %s with %s", ir_op_row(l->op)->name, what);
  return false;
}

ir_value *ir_lower_temp(ir_lowering *l, const char *name, ir_dtype dtype, size_t rank, const ir_expr *const *dims) {
  const ir_type *type = ir_type_tensor(l->context, dtype, rank, dims);
  ir_op *op = ir_build_with(&l->b, IR_ALLOC, NULL, 0, IR_SET({"scope", ir_attr_id(l->context, ir_lit("local"))}), NULL, 0, &type, 1);
  ir_op_result(op, 0)->name = ir_intern(l->context, ir_slice_of(name));
  return ir_op_result(op, 0);
}

ir_nest_at ir_lower_open(ir_lowering *l, ir_value *target, size_t spatial, const ir_expr *const *extents, size_t reduced,
                         const ir_expr *const *reduced_extents) {
  ir_value *operands[2 * IR_LOWER_AXES];
  ir_region *region = ir_region_new(l->func->item.module, l->func, spatial + reduced);
  region->spatial_count = (uint32_t)spatial;
  for (size_t i = 0; i < spatial + reduced; i++) {
    operands[i] = ir_build_scalar(&l->b, i < spatial ? extents[i] : reduced_extents[i - spatial], NULL, 0);
    const char *name = i < spatial ? ir_arena_printf(l->arena, "i%zu", i) : ir_arena_printf(l->arena, "k%zu", i - spatial);
    ir_region_set_arg(region, i, ir_type_scalar(l->context, IR_I64, 1), ir_intern(l->context, ir_slice_of(name)));
  }
  ir_build_with(&l->b, IR_COMPUTE, operands, spatial + reduced, IR_NO_ATTRS, &region, 1, NULL, 0);
  ir_nest_at n = {.l = l, .region = region, .frame = {.context = l->context, .arena = l->arena}, .spatial = spatial, .reduced = reduced};
  ir_frame_operand(&n.frame, target);
  return n;
}

const ir_expr *ir_lower_axis(ir_nest_at *n, size_t i) { return ir_frame_use(&n->frame, n->region->args[i]); }

const ir_expr *ir_lower_load(ir_nest_at *n, ir_value *buffer, const ir_expr *const *index) {
  if (ir_is_scalar(buffer->type)) return ir_frame_use(&n->frame, buffer);
  return ir_frame_load(&n->frame, buffer, buffer->type->count, index);
}

const ir_expr *ir_lower_let(ir_nest_at *n, const char *name, const ir_expr *expr) {
  ir_context *context = n->l->context;
  if (!expr->has_args || expr->code == IR_S_ARG) return expr;
  ir_frame own = {.context = context, .arena = n->l->arena};
  expr = ir_frame_take(&own, &n->frame, expr);
  const ir_type *type = ir_type_scalar(context, (ir_dtype)expr->dtype, expr->lanes);
  ir_builder b = ir_at_end(n->region);
  b.range = n->l->op->range;
  ir_op *op = ir_build_with(&b, IR_SCALAR, own.operands, own.count, IR_SET({"value", ir_attr_expr(context, expr)}), NULL, 0, &type, 1);
  if (name) ir_op_result(op, 0)->name = ir_intern(context, ir_slice_of(name));
  return ir_frame_use(&n->frame, ir_op_result(op, 0));
}

void ir_lower_where(ir_nest_at *n, size_t count, const ir_expr *const *conditions) {
  const ir_attr **items = ir_new_array(n->l->arena, const ir_attr *, count);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t value;
    if (ir_expr_is_int(ir_simplify(n->l->context, NULL, conditions[i]), &value) && value) continue;
    items[kept++] = ir_attr_expr(n->l->context, conditions[i]);
  }
  if (!kept) return;
  ir_frame own = {.context = n->l->context, .arena = n->l->arena};
  for (size_t i = 0; i < kept; i++) items[i] = ir_attr_expr(n->l->context, ir_frame_take(&own, &n->frame, items[i]->expr));
  ir_builder b = ir_at_end(n->region);
  ir_build_with(&b, IR_GUARD, own.operands, own.count, IR_SET({"conditions", ir_attr_list(n->l->context, kept, items)}), NULL, 0, NULL, 0);
}

void ir_lower_store(ir_nest_at *n, const ir_expr *const *index, const char *reducer, const char *order, const ir_expr *a, const ir_expr *b) {
  ir_context *context = n->l->context;
  ir_value *target = n->frame.operands[0];
  size_t rank = target->type->count;
  const ir_attr *items[IR_LOWER_AXES];
  for (size_t i = 0; i < rank; i++) items[i] = ir_attr_expr(context, index ? index[i] : ir_lower_axis(n, i));
  const ir_attr *where = ir_attr_list(context, rank, items);
  if (!reducer) a = ir_expr_cast(context, a, ir_type_dtype(target->type));
  const ir_attr *args[2] = {ir_attr_expr(context, a), b ? ir_attr_expr(context, b) : NULL};
  ir_builder at = ir_at_end(n->region);
  at.range = n->l->op->range;
  ir_build_with(&at, IR_STORE, n->frame.operands, n->frame.count,
                IR_SET({"index", ir_attr_list(context, 1, &where)}, {"args", ir_attr_list(context, b ? 2 : 1, args)},
                       {"reducer", reducer ? ir_attr_id(context, ir_slice_of(reducer)) : NULL},
                       {"order", order ? ir_attr_string(context, ir_slice_of(order)) : NULL}),
                NULL, 0, NULL, 0);
}

size_t ir_lower_normal_axis(const ir_op *op, const char *name, size_t rank) {
  int64_t axis = ir_get_int(op, name);
  return (size_t)(axis < 0 ? axis + (int64_t)rank : axis);
}

ir_nest_at ir_lower_over_result(ir_lowering *l, size_t r, const ir_expr **axes) {
  const ir_type *type = ir_lower_result(l, r);
  ir_nest_at n = ir_lower_open(l, l->out[r], type->count, ir_type_dims(type), 0, NULL);
  for (size_t i = 0; i < type->count; i++) axes[i] = ir_lower_axis(&n, i);
  return n;
}

/* Those of u64 that i64 does not hold are out of range either way. */
const ir_expr *ir_lower_index(ir_context *context, const ir_expr *index, const ir_expr *extent) {
  if (index->dtype == IR_U64) index = ir_expr_binary(context, IR_S_MIN, index, ir_expr_int(context, IR_U64, INT64_MAX));
  const ir_expr *at = ir_expr_cast(context, index, IR_I64);
  if (!ir_is_signed((ir_dtype)index->dtype)) return at;
  const ir_expr *negative = ir_expr_binary(context, IR_S_LT, at, ir_expr_i64(context, 0));
  return ir_expr_ternary(context, IR_S_SELECT, negative, ir_expr_binary(context, IR_S_ADD, at, extent), at);
}

const ir_expr *ir_lower_i64(const ir_nest_at *n, int64_t value) { return ir_expr_i64(n->l->context, value); }

const ir_expr *ir_lower_int(ir_nest_at *n, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_simplify(n->l->context, NULL, ir_expr_binary(n->l->context, code, a, b));
}

const ir_expr *ir_lower_broadcast(ir_nest_at *n, const ir_expr *axis, const ir_expr *own, const ir_expr *extent) {
  ir_context *context = n->l->context;
  int64_t value;
  if (ir_expr_is_int(own, &value) && value == 1) return ir_lower_i64(n, 0);
  if (ir_expr_is_int(own, &value) || ir_prove_equal(context, NULL, own, extent) == IR_PROVEN) return axis;
  const ir_expr *is_one = ir_expr_binary(context, IR_S_EQ, own, ir_lower_i64(n, 1));
  return ir_expr_ternary(context, IR_S_SELECT, is_one, ir_lower_i64(n, 0), axis);
}
