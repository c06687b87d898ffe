// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/tidy.c - loop form in its simplest words: indices, extents and conditions, with what the loops and the
 * conditions around them say. Conditions that always hold, and what stands under those that never do, are gone. */
#include "ir/frame.h"
#include "ir/simplify.h"
#include "passes/schedule/nest.h"
#include "passes/schedule/transform.h"

struct tidy {
  ir_transform *t;
  ir_context *context;
  ir_frame all; /* the words of facts: values have one number in the whole function */
};

static ir_frame own_frame(struct tidy *s) { return (ir_frame){.context = s->context, .arena = s->t->scratch}; }

static const ir_expr *seen(struct tidy *s, const ir_op *op, const ir_expr *expr) {
  return ir_frame_import(&s->all, op, expr, NULL, NULL, NULL);
}

/* CONDITION holds in FACTS, as far as it speaks of no memory. */
static void assume(ir_facts *facts, const ir_expr *condition) {
  if (condition->code == IR_S_AND) {
    assume(facts, condition->kids[0]);
    assume(facts, condition->kids[1]);
  } else if (!condition->has_loads) {
    ir_facts_assume(facts, condition);
  }
}

static ir_facts *inner_facts(struct tidy *s, const ir_facts *facts) { return ir_facts_new(s->context, s->t->scratch, facts); }

void ir_loop_count(ir_facts *facts, ir_frame *frame, const ir_op *loop) {
  ir_facts_count(facts, frame->context, ir_frame_use(frame, ir_loop_variable(loop)), ir_frame_use(frame, ir_op_operand(loop, 0)));
}

static const ir_facts *facts_in_loop(ir_transform *t, ir_frame *frame, const ir_facts *facts, const ir_op *loop) {
  ir_facts *inside = ir_facts_new(frame->context, t->scratch, facts);
  ir_loop_count(inside, frame, loop);
  return inside;
}

/* The parts of a conjunction, each in the light of those before it. */
static const ir_expr *simple_condition(struct tidy *s, ir_facts *facts, const ir_expr *condition) {
  if (condition->code != IR_S_AND) {
    const ir_expr *simple = ir_simplify(s->context, facts, condition);
    assume(facts, condition);
    return simple;
  }
  const ir_expr *a = simple_condition(s, facts, condition->kids[0]), *b = simple_condition(s, facts, condition->kids[1]);
  return ir_simplify(s->context, NULL, ir_expr_binary(s->context, IR_S_AND, a, b));
}

/* Operand I of OP, an expression, becomes SIMPLE. */
static void set_operand(struct tidy *s, ir_op *op, size_t i, const ir_expr *simple) {
  ir_frame own = own_frame(s);
  ir_builder b = ir_before(op);
  ir_op_set_operand(op, i, ir_nest_scalar(&b, &own, ir_frame_take(&own, &s->all, simple)));
}

static void tidy_scalar(struct tidy *s, const ir_facts *facts, ir_op *op) {
  const ir_expr *before = seen(s, op, ir_get_expr(op, "value")), *simple = ir_simplify(s->context, facts, before);
  if (simple == before) return;
  ir_frame own = own_frame(s);
  ir_builder b = ir_before(op);
  const ir_string *name = ir_op_result(op, 0)->name;
  ir_value *value = ir_nest_let(&b, &own, name ? name->text : NULL, ir_frame_take(&own, &s->all, simple));
  ir_value_replace(ir_op_result(op, 0), value);
  ir_op_erase(op);
}

static void tidy_store(struct tidy *s, const ir_facts *facts, ir_op *op) {
  const ir_attr *index = ir_get(op, "index")->items[0];
  ir_frame own = own_frame(s);
  const ir_expr **indices = ir_new_array(s->t->scratch, const ir_expr *, index->count + 1);
  for (size_t i = 0; i < index->count; i++) {
    const ir_expr *simple = ir_simplify(s->context, facts, seen(s, op, ir_attr_as_expr(s->context, index->items[i])));
    indices[i] = ir_frame_take(&own, &s->all, simple);
  }
  const ir_expr *value = ir_simplify(s->context, facts, seen(s, op, ir_get_expr_at(op, "args", 0)));
  ir_builder b = ir_before(op);
  value = ir_frame_take(&own, &s->all, value);
  ir_nest_store(&b, &own, ir_op_operand(op, 0), index->count, indices, value);
  ir_op_erase(op);
}

static void tidy_region(struct tidy *s, const ir_facts *facts, ir_region *region);

static void tidy_for(struct tidy *s, const ir_facts *facts, ir_op *loop) {
  const ir_expr *extent = ir_frame_use(&s->all, ir_op_operand(loop, 0)), *simple = ir_simplify(s->context, facts, extent);
  if (simple != extent) set_operand(s, loop, 0, simple);
  tidy_region(s, facts_in_loop(s->t, &s->all, facts, loop), ir_op_region(loop, 0));
}

/* What stands in REGION of BRANCH takes its place; nothing where there is no such region. */
static void replace_by_part(ir_op *branch, size_t part) {
  if (part < branch->region_count) {
    ir_each_op(op, ir_op_region(branch, part)) {
      ir_op_unlink(op);
      ir_op_insert(branch->region, branch, op);
    }
  }
  ir_op_erase(branch);
}

static void tidy_if(struct tidy *s, const ir_facts *facts, ir_op *branch) {
  const ir_expr *condition = ir_frame_use(&s->all, ir_op_operand(branch, 0));
  ir_facts *then = inner_facts(s, facts);
  const ir_expr *simple = simple_condition(s, then, condition);
  bool constant = simple->code == IR_S_CONST, holds = constant && simple->bits;
  if (!constant || holds) tidy_region(s, then, ir_op_region(branch, 0));
  if (branch->region_count > 1 && !holds) {
    ir_facts *otherwise = inner_facts(s, facts);
    assume(otherwise, ir_expr_unary(s->context, IR_S_NOT, condition));
    tidy_region(s, otherwise, ir_op_region(branch, 1));
  }
  if (constant) {
    replace_by_part(branch, holds ? 0 : 1);
  } else if (simple != condition) {
    set_operand(s, branch, 0, simple);
  }
}

static void tidy_region(struct tidy *s, const ir_facts *facts, ir_region *region) {
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    switch ((int)op->code) {
    case IR_SCALAR: tidy_scalar(s, facts, op); break;
    case IR_STORE: tidy_store(s, facts, op); break;
    case IR_FOR: tidy_for(s, facts, op); break;
    case IR_IF: tidy_if(s, facts, op); break;
    default: break;
    }
  }
}

const ir_facts *ir_transform_facts(ir_transform *t, ir_frame *frame, const ir_op *op) {
  const ir_op *parent = ir_op_parent(op);
  if (!parent) return ir_func_facts(t->func);
  const ir_facts *facts = ir_transform_facts(t, frame, parent);
  return ir_is(parent, IR_FOR) ? facts_in_loop(t, frame, facts, parent) : facts;
}

bool ir_transform_simplify(ir_transform *t, ir_op *loop) {
  struct tidy s = {.t = t, .context = t->func->item.module->context};
  s.all = own_frame(&s);
  tidy_for(&s, ir_transform_facts(t, &s.all, loop), loop);
  return true;
}
