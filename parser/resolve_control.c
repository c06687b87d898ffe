// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_control.c - operations with regions, and what ends a region. Headers are resolved where the region
 * opens; the operation is made once the statement is complete. Needs parser/resolve.h, ir/number. */
#include "ir/number.h"
#include "ir/print.h"
#include "parser/resolve.h"

ir_block *ir_block_open(ir_parser *p, ir_block_kind kind, ir_region *region, ir_making *making) {
  ir_block *block = ir_new(&p->scratch, ir_block);
  *block = (ir_block){
      .outer = p->block, .kind = kind, .region = region, .making = making, .mark = ir_arena_get_mark(&p->scratch)};
  p->block = block;
  if (++p->regions <= IR_PARSE_MAX_REGIONS || p->stopped) return block;
  ir_parse_error(p, making ? making->range : (ir_range){0, 0}, "regions nested more than %d deep",
                 IR_PARSE_MAX_REGIONS);
  p->stopped = true;
  return block;
}

/* A region opens for the next region of MAKING. */
static ir_block *open(ir_parser *p, ir_block_kind kind, size_t arg_count, ir_making *making) {
  ir_region *region = ir_region_new(p->module, p->func, arg_count);
  making->regions[making->region_count++] = region;
  return ir_block_open(p, kind, region, making);
}

static void close(ir_parser *p, ir_block *block) {
  /* Its names are not visible any more; the operation becomes its parent once it exists. The body of an item never has one. */
  if (block->outer) block->region->parent = &p->closed;
  p->block = block->outer;
  p->regions--;
}

ir_making *ir_block_close(ir_parser *p, ir_block *block) {
  ir_making *making = block->making;
  close(p, block);
  return making;
}

void ir_block_abandon(ir_parser *p, ir_block *block) {
  while (p->block && p->block != block) close(p, p->block);
  if (p->block) close(p, block);
}

void ir_resolve_made(ir_parser *p, ir_nodes targets, ir_making *m, ir_nodes types, ir_nodes loc) {
  ir_make_op(p, m, targets, types, loc);
  ir_resolve_nothing(p);
}

/* --- graph level --- */

ir_block *ir_open_if(ir_parser *p, ir_range word, ir_node *condition, ir_node *with) {
  ir_making *m = ir_making_new(p, IR_IF, (ir_range){word.begin, condition->range.end}, with);
  ir_making_operand(m, ir_resolve_operand(p, condition, IR_BOOL));
  return open(p, IR_BLOCK_OTHER, 0, m);
}

ir_block *ir_open_else(ir_parser *p) {
  /* The `if` that it belongs to has closed its first region and is handed over at the end. */
  return ir_block_open(p, IR_BLOCK_OTHER, ir_region_new(p->module, p->func, 0), NULL);
}

ir_making *ir_close_else(ir_parser *p, ir_making *made, ir_block *block) {
  made->regions[made->region_count++] = block->region;
  ir_block_close(p, block);
  return made;
}

static ir_dtype dtype_of(const ir_type *type) {
  return ir_is_tensor(type) || ir_is_scalar(type) ? ir_type_dtype(type) : IR_DTYPE_UNKNOWN;
}

ir_block *ir_open_loop(ir_parser *p, ir_range word, ir_range counter, ir_node *trip, ir_nodes carries, ir_node *again,
                       ir_node *with) {
  ir_making *m = ir_making_new(p, IR_LOOP, word, with);
  const ir_type **types = ir_new_array(&p->scratch, const ir_type *, carries.count);
  if (trip) ir_making_operand(m, ir_resolve_operand(p, trip, IR_I64));
  size_t i = 0;
  ir_each_node(carry, carries) {
    const ir_type *type = ir_resolve_type(p, carry->kids.first, NULL);
    types[i++] = type ? type : p->context->any_type;
    ir_making_operand(m, ir_resolve_operand(p, carry->other, type ? dtype_of(type) : IR_DTYPE_UNKNOWN));
    m->failed |= !type;
  }
  if (again) ir_making_operand(m, ir_resolve_operand(p, again, IR_BOOL));
  ir_making_set(m, "counted", ir_attr_bool(p->context, trip != NULL));
  ir_making_set(m, "conditional", ir_attr_bool(p->context, again != NULL));
  ir_block *block = open(p, IR_BLOCK_LOOP, 1 + (size_t)carries.count, m);
  ir_region *region = block->region;
  ir_define_value(p, counter, ir_region_set_arg(region, 0, ir_type_scalar(p->context, IR_I64, 1), NULL));
  i = 0;
  ir_each_node(carry, carries) {
    ir_value *arg = ir_region_set_arg(region, 1 + i, types[i], NULL);
    ir_define_value(p, ir_node_name_range(carry), arg);
    i++;
  }
  return block;
}

ir_block *ir_open_dataflow(ir_parser *p, ir_range word, ir_node *with) {
  return open(p, IR_BLOCK_OTHER, 0, ir_making_new(p, IR_DATAFLOW, word, with));
}

/* Boolean expressions over symbols. */
static const ir_attr *conditions(ir_parser *p, ir_frame *frame, ir_nodes nodes) {
  const ir_expr **exprs = ir_new_array(&p->scratch, const ir_expr *, nodes.count);
  bool fine = true;
  size_t i = 0;
  ir_each_node(node, nodes) fine &= (exprs[i++] = ir_resolve_expr_of(p, frame, node, IR_BOOL, "a condition")) != NULL;
  return fine ? ir_attr_dims(p->context, i, exprs) : NULL;
}

ir_block *ir_open_closure(ir_parser *p, ir_range word, ir_signature *signature, ir_nodes where, ir_node *with) {
  ir_making *m = ir_making_new(p, IR_CLOSURE, word, with);
  ir_nodes params = signature ? signature->params : (ir_nodes){0};
  ir_block *block = open(p, IR_BLOCK_CLOSURE, params.count, m);
  ir_region *region = block->region;
  if (!signature || !signature->results) {
    ir_parse_error(p, word, "a func needs parameters and results: func(...) -> type");
    m->failed = true;
  }
  ir_each_node(param, params) ir_bind_type_symbols(p, param->kids.first, region);
  ir_nodes results = signature && signature->results ? signature->results->kids : (ir_nodes){0};
  const ir_type **types = ir_new_array(&p->scratch, const ir_type *, (size_t)params.count + results.count);
  size_t i = 0;
  ir_each_node(param, params) {
    const ir_type *type = ir_resolve_type(p, param->kids.first, NULL);
    m->failed |= !type;
    types[i] = type ? type : p->context->any_type;
    ir_value *arg = ir_region_set_arg(region, i++, type ? type : p->context->any_type, NULL);
    bool plain = ir_text_at(p, param->range).at[0] == '%' && param->code == IR_IN && !param->other;
    if (!plain)
      ir_parse_error(p, param->range, "a parameter of a func inside a func is a value with a type, nothing more");
    else
      ir_define_value(p, ir_node_name_range(param), arg);
    m->failed |= !plain;
  }
  ir_each_node(result, results) {
    const ir_type *type = ir_resolve_type(p, result, NULL);
    m->failed |= !type;
    types[i++] = type ? type : p->context->any_type;
  }
  const ir_type *type = ir_type_func(p->context, params.count, types, results.count, types + params.count, false);
  ir_making_set(m, "type", ir_attr_type(p->context, type));
  if (where.count) {
    const ir_attr *list = conditions(p, NULL, where);
    if (list) ir_making_set(m, "where", list);
    m->failed |= !list;
  }
  block->mark = ir_arena_get_mark(&p->scratch);
  return block;
}

/* --- tensor programs --- */

ir_block *ir_open_compute(ir_parser *p, ir_range word, ir_nodes spatial, ir_nodes reduction, ir_nodes where,
                          ir_node *with) {
  ir_making *m = ir_making_new(p, IR_COMPUTE, word, with);
  ir_each_node(axis, spatial) ir_making_operand(m, ir_resolve_operand(p, axis->other, IR_I64));
  ir_each_node(axis, reduction) ir_making_operand(m, ir_resolve_operand(p, axis->other, IR_I64));
  ir_block *block = open(p, IR_BLOCK_COMPUTE, (size_t)spatial.count + reduction.count, m);
  ir_region *region = block->region;
  region->spatial_count = spatial.count;
  const ir_type *type = ir_type_scalar(p->context, IR_I64, 1);
  size_t i = 0;
  ir_each_node(axis, spatial) ir_define_axis(p, ir_node_name_range(axis), ir_region_set_arg(region, i++, type, NULL));
  ir_each_node(axis, reduction) ir_define_axis(p, ir_node_name_range(axis), ir_region_set_arg(region, i++, type, NULL));
  if (where.count) {
    ir_making *guard = ir_making_new(p, IR_GUARD, (ir_range){where.first->range.begin, where.last->range.end}, NULL);
    const ir_attr *list = conditions(p, &guard->frame, where);
    if (list) ir_making_set(guard, "conditions", list);
    guard->failed |= !list;
    if (list) ir_make_op(p, guard, (ir_nodes){0}, (ir_nodes){0}, (ir_nodes){0});
  }
  block->mark = ir_arena_get_mark(&p->scratch);
  return block;
}

static void mode(ir_parser *p, ir_making *m, const ir_node *node) {
  static const char *const words[] = {"parallel", "vectorize", "unroll", "bind"};
  ir_slice name = ir_node_name(p, node);
  bool known = false, bind = ir_slice_is(name, "bind"), counts = ir_slice_is(name, "unroll") || ir_slice_is(name, "vectorize");
  for (size_t i = 0; i < ir_count_of(words); i++) known |= ir_slice_is(name, words[i]);
  m->failed = true;
  if (!known) {
    ir_diag *diag = ir_parse_error(p, ir_node_name_range(node), "unknown loop mode '%.*s'", (int)name.length, name.at);
    ir_nearest nearest = {.wanted = name};
    for (size_t i = 0; i < ir_count_of(words); i++) ir_nearest_offer(&nearest, ir_slice_of(words[i]));
    ir_suggest(p, diag, ir_node_name_range(node), &nearest);
    return;
  }
  const ir_node *arg = node->kind == N_CALL ? node->kids.first : NULL;
  uint64_t factor = 0;
  bool fine = node->kind == N_CALL ? node->kids.count == 1 && (bind || counts) : !bind;
  if (fine && counts && arg)
    fine = arg->kind == N_INT && ir_parse_integer(ir_node_name(p, arg), &factor) && factor > 0 && factor <= INT32_MAX;
  if (fine && bind) fine = arg->kind == N_ID;
  if (!fine) {
    ir_parse_error(p, node->range, "expected parallel, vectorize, vectorize(2), unroll, unroll(4) or bind(group.x)");
    return;
  }
  ir_making_set(m, "mode", ir_attr_id(p->context, name));
  if (factor) ir_making_set(m, "factor", ir_attr_int(p->context, (int64_t)factor));
  m->failed = false;
  if (!bind) return;
  const ir_attr_def *def = &ir_op_defs[IR_FOR].attrs[ir_attr_index(&ir_op_defs[IR_FOR], "axis")];
  const char *expected;
  const ir_attr *axis = ir_attr_conform(p->context, def, ir_attr_id(p->context, ir_node_name(p, arg)), &expected);
  if (!axis) ir_parse_error(p, arg->range, "expected one of %s", expected);
  if (axis) ir_making_set(m, "axis", axis);
  m->failed = !axis;
}

ir_block *ir_open_for(ir_parser *p, ir_range word, ir_range axis, ir_node *extent, ir_node *mode_node, ir_node *with) {
  ir_making *m = ir_making_new(p, IR_FOR, (ir_range){word.begin, extent->range.end}, with);
  if (mode_node) mode(p, m, mode_node);
  ir_making_operand(m, ir_resolve_operand(p, extent, IR_I64));
  ir_block *block = open(p, IR_BLOCK_OTHER, 1, m);
  ir_define_axis(p, axis, ir_region_set_arg(block->region, 0, ir_type_scalar(p->context, IR_I64, 1), NULL));
  return block;
}

ir_block *ir_open_while(ir_parser *p, ir_range word, ir_node *condition, ir_node *with) {
  ir_making *m = ir_making_new(p, IR_WHILE, (ir_range){word.begin, condition->range.end}, with);
  const ir_expr *expr = ir_resolve_expr_of(p, &m->frame, condition, IR_BOOL, "a condition");
  if (expr) ir_making_set(m, "condition", ir_attr_expr(p->context, expr));
  m->failed |= !expr;
  return open(p, IR_BLOCK_OTHER, 0, m);
}

/* --- the ends of regions --- */

void ir_resolve_yield(ir_parser *p, ir_range word, ir_nodes values, ir_nodes stack, ir_node *again, ir_nodes loc) {
  ir_making *m = ir_making_new(p, IR_YIELD, word, NULL);
  ir_each_node(value, values) ir_making_operand(m, ir_resolve_operand(p, value, IR_DTYPE_UNKNOWN));
  ir_each_node(value, stack) ir_making_operand(m, ir_resolve_operand(p, value, IR_DTYPE_UNKNOWN));
  if (again) ir_making_operand(m, ir_resolve_operand(p, again, IR_BOOL));
  if ((stack.count || again) && p->block->kind != IR_BLOCK_LOOP) {
    ir_parse_error(p, word, "only a loop has stacked outputs and a condition to go on");
    m->failed = true;
  }
  ir_making_set(m, "stacks", ir_attr_int(p->context, stack.count));
  ir_making_set(m, "again", ir_attr_bool(p->context, again != NULL));
  ir_make_op(p, m, (ir_nodes){0}, (ir_nodes){0}, loc);
  ir_resolve_nothing(p);
}

void ir_resolve_return(ir_parser *p, ir_range word, ir_nodes values, ir_nodes loc) {
  ir_making *m = ir_making_new(p, IR_RETURN, word, NULL);
  ir_each_node(value, values) ir_making_operand(m, ir_resolve_operand(p, value, IR_DTYPE_UNKNOWN));
  ir_make_op(p, m, (ir_nodes){0}, (ir_nodes){0}, loc);
  ir_resolve_nothing(p);
}
