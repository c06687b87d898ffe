// SPDX-License-Identifier: Apache-2.0
/* ir/rewrite.c - matching, rules, effects of whole operations. Needs ir/infer, ir/print. */
#include "ir/rewrite.h"

#include "base/vec.h"
#include "ir/print.h"

static bool match_kids(ir_op *op, const ir_pattern *pattern, bool swapped) {
  for (size_t i = 0; i < pattern->kid_count; i++) {
    size_t at = swapped && i < 2 ? 1 - i : i;
    if (!ir_match_value(ir_op_operand(op, at), pattern->kids[i])) return false;
  }
  return true;
}

bool ir_match(ir_op *op, const ir_pattern *pattern) {
  if (!op || op->code != pattern->code || op->operand_count < pattern->kid_count) return false;
  if (pattern->single_use && (op->result_count != 1 || ir_value_use_count(ir_op_result(op, 0)) != 1)) return false;
  bool both = pattern->kid_count == 2 && ir_has(op, IR_COMMUTATIVE);
  if (!match_kids(op, pattern, false) && !(both && match_kids(op, pattern, true))) return false;
  if (pattern->op) *pattern->op = op;
  return true;
}

bool ir_match_value(ir_value *value, const ir_pattern *pattern) {
  if (pattern->value) *pattern->value = value;
  if (pattern->kind == IR_MATCH_ANY) return true;
  ir_op *op = ir_value_op(value);
  return op && value->index == 0 && ir_match(op, pattern);
}

bool ir_replace(ir_rewriter *rw, ir_op *op, ir_value *const *values, size_t count) {
  ir_context *context = ir_op_context(op);
  for (size_t i = 0; i < count && i < op->result_count; i++) {
    if (!values[i]) return false;
    ir_value *result = ir_op_result(op, i);
    switch (ir_type_relate(context, rw->facts, result->type, values[i]->type)) {
    case IR_TYPES_EQUAL:
    case IR_TYPES_WEAKER: break;
    case IR_TYPES_STRONGER: return false;
    case IR_TYPES_CONTRADICT:
      ir_error(context->diags, op->range, "internal error in %s: '%s' has type %s, its replacement %s", rw->pass,
               ir_op_row(op)->name, ir_type_text(rw->scratch, result->type), ir_type_text(rw->scratch, values[i]->type));
      rw->failed = true;
      return false;
    }
  }
  for (size_t i = 0; i < op->result_count; i++) {
    if (i < count) ir_value_replace(ir_op_result(op, i), values[i]);
  }
  ir_op_erase(op);
  return true;
}

struct sweep {
  ir_rewriter *rw;
  const ir_rule *const *sets;
  size_t set_count, limit, applied;
  uint64_t *hits;
  bool overwrites; /* the function has calls that do */
};

bool ir_value_is_overwritten(const ir_value *value) {
  for (const ir_use *use = value->uses; use; use = use->next) {
    if (!ir_is(use->user, IR_CALL_TIR_INPLACE)) continue;
    int64_t place = use - ir_op_uses(use->user);
    for (size_t i = 0; i < ir_get_count(use->user, "inplace"); i++) {
      if (ir_get_int_at(use->user, "inplace", i) == place) return true;
    }
  }
  return false;
}

/* The results of OP, its operands, or those that they are made of, LEVELS up. */
static bool touches_overwritten(const ir_op *op, unsigned levels) {
  for (size_t i = 0; i < op->result_count; i++) {
    if (ir_value_is_overwritten(ir_op_result(op, i))) return true;
  }
  for (size_t i = 0; i < op->operand_count; i++) {
    const ir_value *operand = ir_op_operand(op, i);
    if (ir_value_is_overwritten(operand)) return true;
    const ir_op *maker = ir_value_op(operand);
    if (maker && levels && touches_overwritten(maker, levels - 1)) return true;
  }
  return false;
}

static bool note_overwriting(void *user, ir_op *op) {
  struct sweep *s = user;
  s->overwrites |= ir_is(op, IR_CALL_TIR_INPLACE);
  return true;
}

/* Applies the first rule that fits; whether one did. */
static bool apply_one(struct sweep *s, ir_op *op) {
  enum { LEVELS = 2 }; /* rules look no further up */
  if (s->overwrites && touches_overwritten(op, LEVELS)) return false;
  size_t index = 0;
  for (size_t k = 0; k < s->set_count; k++) {
    for (const ir_rule *rule = s->sets[k]; rule->apply; rule++, index++) {
      if (rule->code != op->code || !rule->apply(s->rw, op)) continue;
      s->applied++;
      if (s->hits) s->hits[index]++;
      return true;
    }
  }
  return false;
}

static bool sweep_region(struct sweep *s, ir_region *region) {
  bool changed = false;
  ir_each_op(op, region) {
    if (s->rw->failed || (s->limit && s->applied >= s->limit)) return changed;
    if (apply_one(s, op)) {
      changed = true;
      continue;
    }
    for (size_t i = 0; i < op->region_count; i++) changed |= sweep_region(s, ir_op_region(op, i));
  }
  return changed;
}

size_t ir_rewrite(ir_rewriter *rw, const ir_rule *const *sets, size_t set_count, size_t limit, uint64_t *hits) {
  struct sweep s = {.rw = rw, .sets = sets, .set_count = set_count, .limit = limit, .hits = hits};
  ir_walk(rw->func->body, IR_PRE_ORDER, note_overwriting, &s);
  while (sweep_region(&s, rw->func->body) && !rw->failed) {
    if (limit && s.applied >= limit) break;
  }
  return s.applied;
}

/* A call has the effects of what it calls. */
static bool call_is_pure(const ir_op *op) {
  const ir_attr *callee = ir_get(op, "callee");
  if (!callee) {
    const ir_type *type = op->operand_count ? ir_op_operand(op, 0)->type : NULL;
    return type && type->kind == IR_TYPE_FUNC && !type->impure;
  }
  const ir_item *item = ir_module_find(ir_op_module(op), callee->string);
  return item && item->kind == IR_ITEM_FUNC && !(item->flags & IR_ITEM_IMPURE);
}

static bool is_pure(const ir_op *op, bool inside) {
  if (ir_is(op, IR_CALL)) return call_is_pure(op);
  if (ir_has(op, IR_TERMINATOR)) return inside;
  if (ir_is(op, IR_SCALAR)) {
    const ir_expr *value = ir_get_expr(op, "value");
    return value && !value->has_loads;
  }
  if (ir_is(op, IR_CLOSURE)) return true;
  bool structural = ir_is(op, IR_IF) || ir_is(op, IR_LOOP) || ir_is(op, IR_DATAFLOW);
  if (!structural) return ir_has(op, IR_PURE) && !ir_has(op, IR_CHECKS);
  for (size_t i = 0; i < op->region_count; i++) {
    ir_each_op(inner, ir_op_region(op, i)) {
      if (!is_pure(inner, true)) return false;
    }
  }
  return true;
}

bool ir_op_is_pure(const ir_op *op) { return is_pure(op, false); }

bool ir_op_is_removable(const ir_op *op) {
  if (ir_has(op, IR_ALLOCATES)) return true;
  return ir_op_is_pure(op);
}
