// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/pad.c - a loop of independent rounds as blocks of constant size: what is too many does what the last round does,
 * but writes nothing that others see. Needs loop form. */
#include "base/vec.h"
#include "ir/simplify.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/transform.h"

struct pad {
  ir_transform *t;
  ir_map own;            /* memory that is allocated in the loop */
  ir_map stored;         /* other buffers that it writes */
  ir_vec(ir_op *) stores; /* into these */
  const ir_op *op;       /* that is looked at */
  bool reads;            /* one of these */
};

static bool see_op(void *user, ir_op *op) {
  struct pad *p = user;
  if (ir_is(op, IR_ALLOC)) ir_map_put(p->t->scratch, &p->own, ir_op_result(op, 0), p);
  if (!ir_is(op, IR_STORE) || ir_map_has(&p->own, ir_op_operand(op, 0))) return true;
  ir_map_put(p->t->scratch, &p->stored, ir_op_operand(op, 0), p);
  *ir_push(p->t->scratch, &p->stores) = op;
  return true;
}

static void see_node(void *user, const ir_expr *node) {
  struct pad *p = user;
  if (node->code == IR_S_LOAD && ir_map_has(&p->stored, ir_op_operand(p->op, node->arg))) p->reads = true;
}

static void see_attr(struct pad *p, const ir_attr *attr) {
  if (!attr) return;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(ir_op_context(p->op), attr->expr, see_node, p);
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) see_attr(p, attr->items[i]);
}

/* Rounds that are too many would read what the last one writes. */
static bool see_load(void *user, ir_op *op) {
  struct pad *p = user;
  p->op = op;
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) see_attr(p, ir_op_slots(op)[i]);
  return !p->reads || ir_transform_refuse(p->t, "it reads a buffer that it writes");
}

/* Stores in LOOP that others see are done only below END of the counter AT. */
static void guard_stores(ir_transform *t, ir_nest *nest, ir_op *loop, ir_frame *frame, const ir_expr *at, const ir_expr *end) {
  struct pad p = {.t = t};
  ir_walk(ir_op_region(loop, 0), IR_PRE_ORDER, see_op, &p);
  for (size_t i = 0; i < p.stores.count; i++) {
    ir_builder b = ir_before(p.stores.at[i]);
    ir_nest_if(nest, &b, frame, ir_expr_binary(nest->context, IR_S_LT, at, end));
    ir_op_unlink(p.stores.at[i]);
    ir_op_insert(b.region, NULL, p.stores.at[i]);
  }
}

bool ir_transform_pad(ir_transform *t, ir_op *loop, int64_t factor) {
  const char *mode = ir_get_word(loop, "mode");
  if (factor < 2) return ir_transform_refuse(t, "the factor must be 2 or more");
  if (strcmp(mode, "parallel") && strcmp(mode, "vectorize")) return ir_transform_refuse(t, "the loop's rounds are not independent (parallel, vectorize)");
  ir_region *body = ir_op_region(loop, 0);
  struct pad p = {.t = t};
  if (!ir_copy_can(body, &t->problem) || !ir_walk(body, IR_PRE_ORDER, see_op, &p) || !ir_walk(body, IR_PRE_ORDER, see_load, &p)) return false;
  ir_module *module = t->func->item.module;
  ir_context *context = module->context;
  ir_copy c = {.nest = {.module = module, .context = context, .scratch = t->scratch, .facts = ir_func_facts(t->func)}};
  const ir_string *given = body->args[0]->name;
  const char *name = given ? given->text : "i";
  ir_frame frame = ir_nest_frame(&c.nest);
  const ir_expr *end = ir_frame_use(&frame, ir_op_operand(loop, 0)), *size = ir_expr_i64(context, factor), *one = ir_expr_i64(context, 1);
  int64_t rest = -1;
  ir_expr_is_int(ir_simplify(context, c.nest.facts, ir_expr_binary(context, IR_S_FLOORMOD, end, size)), &rest);
  ir_builder b = ir_before(loop);
  const ir_expr *blocks = ir_simplify(context, c.nest.facts, ir_expr_binary(context, IR_S_CEILDIV, end, size));
  ir_value *count = ir_nest_scalar(&b, &frame, blocks);
  ir_value *outer = ir_nest_for(&c.nest, &b, count, ir_arena_printf(t->scratch, "%s_o", name), "parallel");
  ir_value *inner = ir_nest_for(&c.nest, &b, ir_nest_scalar(&b, &frame, size), ir_arena_printf(t->scratch, "%s_i", name), mode);
  const ir_expr *block = ir_expr_binary(context, IR_S_MUL, ir_frame_use(&frame, outer), size);
  const ir_expr *at = ir_expr_binary(context, IR_S_ADD, block, ir_frame_use(&frame, inner)), *last = ir_dim_sub(context, c.nest.facts, end, one);
  const ir_expr *kept = rest == 0 ? at : ir_expr_binary(context, IR_S_MIN, at, last);
  ir_value *index = ir_build_scalar(&b, kept, frame.operands, frame.count);
  ir_map_put(t->scratch, &c.nest.values, body->args[0], index);
  ir_copy_region(&c, b, body);
  ir_nest_drop(index);
  if (rest != 0) guard_stores(t, &c.nest, ir_value_region(inner)->parent, &frame, at, end);
  ir_op_erase(loop);
  return true;
}
