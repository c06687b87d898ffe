// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_op.c - from the parts of an operation to the operation: result types, names, location. Needs
 * parser/resolve.h, ir/infer. */
#include "ir/infer.h"
#include "ir/number.h"
#include "ir/print.h"
#include "parser/resolve.h"

bool ir_in_graph(const ir_parser *p) { return p->func && p->func->item.kind == IR_ITEM_FUNC; }

ir_making *ir_making_new(ir_parser *p, ir_opcode code, ir_range range, const ir_node *with) {
  ir_making *m = ir_new(&p->scratch, ir_making);
  m->code = code;
  m->range = range;
  m->frame = ir_frame_new(p);
  m->attrs = ir_new_array(&p->scratch, const ir_attr *, ir_op_defs[code].attr_count);
  m->with = ir_resolve_with(p, with);
  return m;
}

void ir_making_set(ir_making *m, const char *attr, const ir_attr *value) {
  int slot = ir_attr_index(&ir_op_defs[m->code], attr);
  bool is_default = value && value == ir_op_default(m->frame.context, m->code, (size_t)slot);
  m->attrs[slot] = is_default ? NULL : value;
}

void ir_making_operand(ir_making *m, ir_value *value) {
  if (!value) {
    m->failed = true;
    return;
  }
  ir_frame *frame = &m->frame;
  ir_vec_reserve(frame->arena, (void **)&frame->operands, &frame->capacity, frame->count + 1, sizeof *frame->operands);
  frame->operands[frame->count++] = value;
}

/* An operand whose own error has been reported. */
static bool is_poisoned(ir_parser *p, const ir_making *m) {
  if (m->failed) return true;
  if (!ir_has_failed(p)) return false;
  for (size_t i = 0; i < m->frame.count; i++) {
    if (m->frame.operands[i]->type == p->context->any_type) return true;
  }
  return false;
}

/* The types written behind an operation; NULL entries where one is wrong. */
static const ir_type **written_types(ir_parser *p, const ir_making *m, ir_nodes nodes) {
  const ir_region *binds = m->code == IR_MATCH_CAST ? p->block->region : NULL;
  const ir_type **types = ir_new_array(&p->scratch, const ir_type *, nodes.count);
  size_t i = 0;
  ir_each_node(node, nodes) types[i++] = ir_resolve_type(p, node, binds);
  return types;
}

static bool check_written(ir_parser *p, const ir_making *m, const ir_node *node, const ir_type *written,
                          const ir_type *inferred) {
  if (written == inferred) return true;
  const ir_facts *facts = ir_func_facts(p->func);
  const char *says = ir_type_text(&p->scratch, written), *is = ir_type_text(&p->scratch, inferred);
  switch (ir_type_relate(p->context, facts, written, inferred)) {
  case IR_TYPES_EQUAL:
  case IR_TYPES_WEAKER: return true;
  case IR_TYPES_STRONGER:
    ir_parse_error(p, node->range, "%s: type %s says more than is known, which is %s%s", ir_op_defs[m->code].name, says,
                   is, ir_in_graph(p) ? ": match_cast checks it at run time" : "");
    return false;
  case IR_TYPES_CONTRADICT: break;
  }
  ir_parse_error(p, node->range, "%s: type %s is written, but the result has type %s", ir_op_defs[m->code].name, says,
                 is);
  return false;
}

/* The result types. False after an error. */
static bool infer(ir_parser *p, ir_making *m, ir_nodes nodes, const ir_type ***types, size_t *count) {
  const ir_type **written = written_types(p, m, nodes);
  for (size_t i = 0; i < nodes.count; i++) {
    if (!written[i]) return false;
  }
  if (is_poisoned(p, m)) {
    *types = written;
    *count = nodes.count;
    return nodes.count > 0;
  }
  ir_infer in = {.context = p->context,
                 .module = p->module,
                 .func = p->func,
                 .facts = ir_func_facts(p->func),
                 .row = &ir_op_defs[m->code],
                 .code = m->code,
                 .range = m->range,
                 .operand_count = m->frame.count,
                 .operands = m->frame.operands,
                 .attrs = m->attrs,
                 .region_count = m->region_count,
                 .regions = m->regions,
                 .declared_count = nodes.count ? nodes.count : m->declared != NULL,
                 .declared = nodes.count   ? written
                             : m->declared ? &m->declared
                                           : NULL,
                 .scratch = &p->scratch};
  for (const ir_block *block = m->region_count ? p->block : NULL; block; block = block->outer) ir_infer_stands_in(&in, block->region);
  if (ir_op_defs[m->code].infer && !ir_infer_run(&in)) return false;
  *types = in.results;
  *count = in.result_count;
  if (!nodes.count) return true;
  if (nodes.count != in.result_count) {
    ir_parse_error(p, (ir_range){nodes.first->range.begin, nodes.last->range.end},
                   "%s has %zu result%s, found %u type%s", ir_op_defs[m->code].name, in.result_count,
                   in.result_count == 1 ? "" : "s", nodes.count, nodes.count == 1 ? "" : "s");
    return false;
  }
  size_t i = 0;
  bool fine = true;
  ir_each_node(node, nodes) {
    fine &= check_written(p, m, node, written[i], in.results[i]);
    i++;
  }
  *types = written;
  return fine;
}

static bool check_targets(ir_parser *p, const ir_making *m, ir_nodes targets, size_t count, const ir_type *const *types,
                          bool *bare) {
  const char *name = ir_op_defs[m->code].name;
  *bare = !targets.count && count == 1 && ir_is_unit(types[0]);
  if (targets.count == count || *bare) return true;
  if (!targets.count) {
    ir_diag *diag =
        ir_parse_error(p, m->range, "%s has %zu result%s that no name is given", name, count, count == 1 ? "" : "s");
    ir_note(p->diags, diag, m->range, "results are named in front: %%x = %s ...", name);
    return false;
  }
  ir_range range = {targets.first->range.begin, targets.last->range.end};
  ir_parse_error(p, range, "%s has %zu result%s, found %u name%s", name, count, count == 1 ? "" : "s", targets.count,
                 targets.count == 1 ? "" : "s");
  return false;
}

static const ir_attr *location(ir_parser *p, ir_nodes nodes) {
  const ir_attr **items = ir_new_array(&p->scratch, const ir_attr *, 3 * (size_t)nodes.count);
  size_t at = 0;
  ir_each_node(node, nodes) {
    const ir_string *name = ir_parse_string(p, ir_node_name_range(node));
    items[at++] = ir_attr_string(p->context, ir_string_slice(name));
    for (int i = 0; i < 2; i++) {
      const ir_node *number = !node->kids.count ? NULL : i ? node->kids.last : node->kids.first;
      uint64_t value = 0;
      bool fits = !number || (ir_parse_integer(ir_node_name(p, number), &value) && value <= INT32_MAX);
      if (!fits) ir_parse_error(p, number->range, "a line or column above 2147483647");
      items[at++] = ir_attr_int(p->context, fits ? (int64_t)value : 0);
    }
  }
  return ir_attr_list(p->context, at, items);
}

void ir_make_op(ir_parser *p, ir_making *m, ir_nodes targets, ir_nodes types, ir_nodes loc) {
  const ir_type **results = NULL;
  size_t count = 0;
  bool bare = false;
  ir_each_node(target, targets) {
    if (target->kind == N_VALUE) continue;
    ir_parse_error(p, target->range, "elements are written by stores only; %s gives whole results",
                   ir_op_defs[m->code].name);
    m->failed = true;
  }
  bool fine = infer(p, m, types, &results, &count) && check_targets(p, m, targets, count, results, &bare);
  if (!fine) {
    /* What follows must find its names, and stays quiet about what comes of them. */
    count = targets.count;
    results = ir_new_array(&p->scratch, const ir_type *, count);
    for (size_t i = 0; i < count; i++) results[i] = p->context->any_type;
  }
  ir_op *op = ir_op_new(p->module, &(ir_op_spec){.code = m->code,
                                                 .range = m->range,
                                                 .operand_count = m->frame.count,
                                                 .operands = m->frame.operands,
                                                 .attrs = m->attrs,
                                                 .region_count = m->region_count,
                                                 .regions = m->regions,
                                                 .result_count = count,
                                                 .types = results});
  if (bare) op->flags |= IR_OP_NO_TARGETS;
  ir_op_insert(p->block->region, NULL, op);
  if (m->with) ir_op_set_dict(op, m->with);
  if (loc.count) ir_op_set_loc(op, location(p, loc));
  for (size_t i = 0; m->region_count && i < count; i++) {
    ir_op_result(op, i)->type = ir_visible_type(p, ir_op_result(op, i)->type);
  }
  size_t i = 0;
  ir_each_node(target, targets) {
    if (i < count && target->kind == N_VALUE) ir_define_value(p, target->range, ir_op_result(op, i));
    i++;
  }
}
