// SPDX-License-Identifier: Apache-2.0
/* ir/build.c - makes operations with inferred types. Needs ir/infer, ir/frame, ir/print. */
#include "base/vec.h"
#include "ir/frame.h"
#include "ir/infer.h"
#include "ir/print.h"

ir_builder ir_before(ir_op *op) {
  return (ir_builder){.module = ir_op_module(op), .region = op->region, .before = op, .range = op->range, .loc = ir_op_loc(op)};
}

ir_builder ir_after(ir_op *op) {
  ir_builder builder = ir_before(op);
  builder.before = op->next;
  return builder;
}

static bool fail(ir_builder *b, ir_opcode code, const char *text) {
  ir_error(b->module->context->diags, b->range, "%s: %s", ir_op_defs[code].name, text);
  return false;
}

/* A single integer stands for a list of one. */
static const ir_attr *as_list(ir_context *context, const ir_attr_def *def, const ir_attr *value) {
  bool list = def->type == IR_A_INTS || def->type == IR_A_DIMS;
  return list && value->kind == IR_ATTR_INT ? ir_attr_list(context, 1, &value) : value;
}

/* Sets SLOTS, one for each attribute of the row, from the named ones. */
static bool place_attrs(ir_builder *b, ir_opcode code, const ir_named_attr *attrs, size_t count, const ir_attr **slots, ir_arena *scratch) {
  const ir_op_def *row = &ir_op_defs[code];
  ir_context *context = b->module->context;
  for (size_t i = 0; i < count; i++) {
    if (!attrs[i].value) continue;
    int slot = ir_attr_index(row, attrs[i].name);
    if (slot < 0) return fail(b, code, ir_arena_printf(scratch, "no attribute '%s'", attrs[i].name));
    const ir_attr_def *def = &row->attrs[slot];
    if (attrs[i].value->kind == IR_ATTR_NONE && def->dflt && !strcmp(def->dflt, "none")) continue;
    const char *expected;
    const ir_attr *value = ir_attr_conform(context, def, as_list(context, def, attrs[i].value), &expected);
    if (!value) {
      return fail(b, code, ir_arena_printf(scratch, "attribute '%s' is %s, expected %s", def->name,
                                           ir_attr_text(scratch, attrs[i].value), expected));
    }
    slots[slot] = value == ir_op_default(context, code, (size_t)slot) ? NULL : value;
  }
  return true;
}

static ir_op *insert(ir_builder *b, const ir_op_spec *spec) {
  ir_op *op = ir_op_new(b->module, spec);
  ir_op_insert(b->region, b->before, op);
  if (b->loc) ir_op_set_loc(op, b->loc);
  return op;
}

ir_op *ir_build_with(ir_builder *b, ir_opcode code, ir_value *const *operands, size_t operand_count, const ir_named_attr *attrs, size_t attr_count,
                     ir_region *const *regions, size_t region_count, const ir_type *const *types, size_t type_count) {
  for (size_t i = 0; i < operand_count; i++) {
    if (!operands[i]) return NULL; /* a failure that has been reported where it happened */
  }
  ir_arena scratch = {0};
  const ir_attr **slots = ir_new_array(&scratch, const ir_attr *, ir_op_defs[code].attr_count);
  bool made = place_attrs(b, code, attrs, attr_count, slots, &scratch);
  if (made && !types) {
    ir_infer in = {.context = b->module->context,
                   .module = b->module,
                   .func = b->region->func,
                   .code = code,
                   .range = b->range,
                   .operand_count = operand_count,
                   .operands = operands,
                   .attrs = slots,
                   .region_count = region_count,
                   .regions = regions,
                   .scratch = &scratch};
    if (region_count) ir_infer_stands_in(&in, b->region);
    made = ir_infer_run(&in);
    types = in.results;
    type_count = in.result_count;
  }
  ir_op *op = !made ? NULL
                    : insert(b, &(ir_op_spec){.code = code,
                                              .range = b->range,
                                              .operand_count = operand_count,
                                              .operands = operands,
                                              .attrs = slots,
                                              .region_count = region_count,
                                              .regions = regions,
                                              .result_count = type_count,
                                              .types = types});
  ir_arena_free(&scratch);
  return op;
}

ir_op *ir_build(ir_builder *b, ir_opcode code, ir_value *const *operands, size_t operand_count, const ir_named_attr *attrs, size_t attr_count) {
  return ir_build_with(b, code, operands, operand_count, attrs, attr_count, NULL, 0, NULL, 0);
}

ir_value *ir_build1(ir_builder *b, ir_opcode code, ir_value *const *operands, size_t operand_count, const ir_named_attr *attrs, size_t attr_count) {
  ir_op *op = ir_build(b, code, operands, operand_count, attrs, attr_count);
  return op && op->result_count ? ir_op_result(op, 0) : NULL;
}

struct taking {
  ir_frame *frame;
  ir_value *const *operands;
};

static const ir_expr *take_in(void *user, ir_context *context, const ir_expr *leaf) {
  (void)context;
  struct taking *t = user;
  if (leaf->code == IR_S_SYMBOL) return leaf;
  ir_value *value = t->operands[leaf->arg];
  return leaf->code == IR_S_LOAD ? ir_frame_load(t->frame, value, leaf->count, leaf->kids) : ir_frame_use(t->frame, value);
}

ir_value *ir_build_scalar(ir_builder *b, const ir_expr *expr, ir_value *const *operands, size_t operand_count) {
  (void)operand_count;
  ir_context *context = b->module->context;
  if (expr->code == IR_S_ARG) return operands[expr->arg];
  ir_arena scratch = {0};
  ir_frame frame = {.context = context, .arena = &scratch};
  if (expr->has_args) expr = ir_expr_replace(context, expr, take_in, &(struct taking){&frame, operands});
  const ir_type *type = ir_type_scalar(context, (ir_dtype)expr->dtype, expr->lanes);
  ir_op *op = ir_build_with(b, IR_SCALAR, frame.operands, frame.count, IR_SET({"value", ir_attr_expr(context, expr)}), NULL, 0, &type, 1);
  ir_arena_free(&scratch);
  if (!op) return NULL;
  op->flags |= IR_OP_INLINE;
  return ir_op_result(op, 0);
}

bool ir_build_check(ir_builder *b, const ir_expr *condition) {
  ir_context *context = b->module->context;
  bool equal = condition->code == IR_S_EQ && condition->kids[0]->dtype == IR_I64;
  const ir_expr *found = equal ? condition->kids[0] : ir_expr_cast(context, condition, IR_I64);
  const ir_expr *wanted = equal ? condition->kids[1] : ir_expr_i64(context, 1);
  ir_value *extent = ir_build_scalar(b, found, NULL, 0), *shape = ir_build1(b, IR_SHAPE, &extent, 1, IR_NO_ATTRS);
  const ir_type *type = ir_type_shape(context, 1, &wanted);
  return shape && ir_build_with(b, IR_MATCH_CAST, &shape, 1, IR_NO_ATTRS, NULL, 0, &type, 1);
}

ir_value *ir_build_const(ir_builder *b, const ir_type *type, ir_data data) {
  const ir_attr *value = ir_attr_data(b->module->context, data);
  ir_op *op = ir_build_with(b, IR_CONST, NULL, 0, IR_SET({"value", value}), NULL, 0, &type, 1);
  return op ? ir_op_result(op, 0) : NULL;
}

static ir_value *build_bits(ir_builder *b, ir_dtype dtype, uint64_t bits) {
  size_t size = (ir_dtypes[dtype].bits + 7u) / 8u;
  const void *bytes = ir_arena_copy(&b->module->arena, &bits, size); /* little endian, as the machine */
  return ir_build_const(b, ir_type_tensor(b->module->context, dtype, 0, NULL), (ir_data){dtype, bytes, size});
}

ir_value *ir_build_const_float(ir_builder *b, ir_dtype dtype, double value) {
  return build_bits(b, dtype, ir_expr_float(b->module->context, dtype, value)->bits);
}

ir_value *ir_build_const_int(ir_builder *b, ir_dtype dtype, int64_t value) {
  return build_bits(b, dtype, ir_expr_int(b->module->context, dtype, value)->bits);
}
