// SPDX-License-Identifier: Apache-2.0
/* passes/call_tir_rewrite.c - make the memory of call_tir explicit: an alloc for each result, then a call with the
 * buffers in the order of the callee's parameters. What call_tir_inplace overwrites is copied first, unless it is memory
 * that nothing else looks at. Needs no dataflow regions: calls that write may not stand there. */
#include "passes/pass.h"

#include "ir/print.h"

enum { REWRITTEN, COPIED };

/* --- memory that one value alone looks at --- */

/* USER, of a value defined in HOME, reads the elements and no more: it makes no other name for their memory. */
static bool only_reads(const ir_op *user, const ir_region *home) {
  for (const ir_op *inner = user; inner && inner->region != home; inner = ir_op_parent(inner)) {
    if (ir_is(ir_op_parent(inner), IR_CLOSURE)) return false;
  }
  if (ir_is(user, IR_CALL_TIR) || ir_is(user, IR_CALL_TIR_INPLACE) || ir_is(user, IR_SHAPE_OF)) return true;
  if (ir_is(user, IR_HOST_COPY)) return true;
  const ir_attr *callee = ir_is(user, IR_CALL) ? ir_get(user, "callee") : NULL;
  const ir_item *item = callee ? ir_module_find(ir_op_module(user), callee->string) : NULL;
  return item && item->kind == IR_ITEM_PRIM_FUNC;
}

/* All users of VALUE only read it, but for ONE, which uses it once (NULL: none is excepted). */
static bool is_alone(const ir_value *value, const ir_region *home, const ir_op *one) {
  size_t excepted = 0;
  for (const ir_use *use = value->uses; use; use = use->next) {
    if (use->user == one)
      excepted++;
    else if (!only_reads(use->user, home))
      return false;
  }
  return excepted <= 1;
}

/* NEXT, which a round of a loop hands on as the next ARG, is memory made in the round, or ARG's own overwritten. */
static bool hands_on(const ir_value *next, const ir_value *arg, const ir_op *yield) {
  const ir_op *op = ir_value_op(next);
  if (next == arg) return true;
  if (!op || op->region != yield->region || !is_alone(next, yield->region, yield)) return false;
  if (ir_is(op, IR_ALLOC)) return true;
  if (!ir_is(op, IR_CALL_TIR_INPLACE)) return ir_is(op, IR_CALL_TIR);
  if (next->index >= ir_get_count(op, "inplace")) return true;
  const ir_value *before = ir_op_operand(op, (size_t)ir_get_int_at(op, "inplace", next->index));
  for (const ir_use *use = before->uses; use; use = use->next) {
    if (!only_reads(use->user, yield->region)) return false;
  }
  return before == arg || (ir_value_op(before) && hands_on(before, arg, yield));
}

/* A loop's carried value that starts in memory of its own and whose rounds hand such memory on. */
static bool is_own_of_loop(const ir_value *arg) {
  const ir_region *body = ir_value_region(arg);
  ir_op *loop = body ? body->parent : NULL;
  if (!ir_is(loop, IR_LOOP) || !arg->index) return false;
  const ir_op *yield = ir_region_terminator(body);
  const ir_value *next = ir_op_operand(yield, arg->index - 1), *start = ir_op_operand(loop, arg->index - 1 + (size_t)ir_get_bool(loop, "counted"));
  if (!is_alone(arg, body, next == arg ? yield : NULL) || !hands_on(next, arg, yield)) return false;
  const ir_op *made = ir_value_op(start);
  if (!ir_is(made, IR_ALLOC) || made->region != loop->region || !is_alone(start, loop->region, loop)) return false;
  for (const ir_use *use = start->uses; use; use = use->next) {
    if (use->user != loop && !ir_op_is_before(use->user, loop)) return false;
  }
  return true;
}

static bool is_own(const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  return ir_is(op, IR_ALLOC) ? is_alone(value, op->region, NULL) : is_own_of_loop(value);
}

static ir_value *allocate(ir_pass_run *run, ir_builder *b, ir_op *op, size_t result) {
  const ir_type *type = ir_op_result(op, result)->type;
  if (!ir_type_is_sized(type)) {
    ir_error(run->context->diags, op->range, "%s: the size of result %zu, %s, is not known before it runs", ir_op_row(op)->name, result, ir_type_text(run->scratch, type));
    run->failed = true;
    return NULL;
  }
  ir_op *alloc = ir_build_with(b, IR_ALLOC, NULL, 0, IR_NO_ATTRS, NULL, 0, &type, 1);
  return ir_op_result(alloc, 0);
}

/* What OP may overwrite in the place of operand AT, for RESULT. */
static ir_value *overwritable(ir_pass_run *run, ir_builder *b, ir_op *op, size_t at, size_t result) {
  ir_value *value = ir_op_operand(op, at);
  if (is_own(value)) return value;
  ir_value *copy = allocate(run, b, op, result);
  if (!copy || !ir_build(b, IR_HOST_COPY, IR_OPERANDS(value, copy), IR_NO_ATTRS)) return NULL;
  ir_count(run, COPIED);
  return copy;
}

static bool rewrite(ir_pass_run *run, ir_op *op) {
  bool inplace = ir_is(op, IR_CALL_TIR_INPLACE);
  if (!ir_is(op, IR_CALL_TIR) && !inplace) return false;
  const ir_attr *name = ir_get(op, "callee");
  ir_func *callee = ir_item_func(ir_module_find(run->module, name->string));
  ir_builder b = ir_before(op);
  ir_value **results = ir_new_array(run->scratch, ir_value *, op->result_count);
  ir_value **operands = ir_new_array(run->scratch, ir_value *, callee->param_count);
  size_t taken = inplace ? ir_get_count(op, "inplace") : 0;
  for (size_t i = 0; i < op->result_count; i++) {
    results[i] = i < taken ? overwritable(run, &b, op, (size_t)ir_get_int_at(op, "inplace", i), i) : allocate(run, &b, op, i);
    if (!results[i]) {
      run->failed = true;
      return false;
    }
  }
  ir_value **given = ir_new_array(run->scratch, ir_value *, op->operand_count);
  for (size_t i = 0; i < op->operand_count; i++) given[i] = ir_op_operand(op, i);
  for (size_t i = 0; i < taken; i++) given[ir_get_int_at(op, "inplace", i)] = results[i];
  for (size_t i = 0, in = 0, out = taken; i < callee->param_count; i++) {
    operands[i] = callee->params[i].direction == IR_OUT ? results[out++] : given[in++];
  }
  ir_op *call = ir_build(&b, IR_CALL, operands, callee->param_count, IR_SET({"callee", name}));
  if (!call) {
    run->failed = true;
    return false;
  }
  call->flags |= IR_OP_NO_TARGETS;
  if (ir_op_dict(op)) ir_op_set_dict(call, ir_op_dict(op));
  ir_replace(run->rewriter, op, results, op->result_count);
  return ir_count(run, REWRITTEN);
}

const ir_pass ir_pass_call_tir_rewrite = {
    .name = "call-tir-rewrite",
    .doc = "Give each result of call_tir an explicit allocation and pass it to the callee.",
    .each_op = rewrite,
    .order = IR_PRE_ORDER,
    .needs = IR_PROPERTY_NO_DATAFLOW,
    .stats = STATS({"rewritten", "calls rewritten"}, {"copied", "operands copied before they are overwritten"}),
};
