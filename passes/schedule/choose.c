// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/choose.c - the rules: which steps suit the loops of a kernel. Sums of products whose lanes load what does not
 * depend on one of the parallel loops around them (matmul: the rows; convolution: the output channels) are done for several
 * rounds of that loop side by side: each vector that is loaded is used so many times. Needs loop form. */
#include "ir/infer.h"
#include "passes/schedule/transform.h"

enum {
  MOST_LOOPS = 8,
  TILE = 6,      /* rounds side by side: with two registers each, 12 of 16 hold sums */
  TILE_EVEN = 4, /* where the extent is a multiple of it and not of TILE */
  FEW = 24,      /* rounds from which a rest of them costs little */
};

/* A nest of loops, each all of the body of the one around; the innermost is vectorized. */
struct tower {
  ir_op *loops[MOST_LOOPS];
  size_t count;
  ir_op *sum; /* the store of the sum of products in it */
};

static ir_op *only_loop(const ir_region *region) {
  ir_op *only = NULL;
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    if (only || !ir_is(op, IR_FOR)) return NULL;
    only = op;
  }
  return only;
}

static bool has_mode(const ir_op *loop, const char *mode) { return !strcmp(ir_get_word(loop, "mode"), mode); }

static bool see_sum(void *user, ir_op *op) {
  struct tower *tower = user;
  if (!ir_is(op, IR_STORE) || op->region->parent == tower->loops[tower->count - 1]) return true;
  const ir_expr *value = ir_get_expr_at(op, "args", 0);
  bool sum = value->code == IR_S_MAD || value->code == IR_S_FMA;
  if (!sum) return true;
  /* Several sums: none of the rules fits. */
  bool first = !tower->sum;
  tower->sum = first ? op : NULL;
  return first;
}

static bool find_tower(ir_func *func, struct tower *tower) {
  ir_op *loop = only_loop(func->body);
  for (; loop && tower->count < MOST_LOOPS; loop = only_loop(ir_op_region(loop, 0))) {
    tower->loops[tower->count++] = loop;
    if (has_mode(loop, "vectorize")) break;
  }
  if (!loop || !has_mode(loop, "vectorize") || ir_get_int(loop, "factor")) return false;
  ir_walk(ir_op_region(loop, 0), IR_PRE_ORDER, see_sum, tower);
  return tower->sum != NULL;
}

/* --- what depends on a variable --- */
struct depends {
  const ir_op *op;
  const ir_value *variable;
  bool found;
};

static bool value_depends(const ir_value *value, const ir_value *variable);

static void see_node(void *user, const ir_expr *node) {
  struct depends *d = user;
  if (node->code == IR_S_ARG) d->found |= value_depends(ir_op_operand(d->op, node->arg), d->variable);
}

static bool expr_depends(const ir_op *op, const ir_expr *expr, const ir_value *variable) {
  struct depends d = {op, variable, false};
  ir_expr_walk(ir_op_context(op), expr, see_node, &d);
  return d.found;
}

static bool value_depends(const ir_value *value, const ir_value *variable) {
  const ir_op *op = ir_value_op(value);
  if (value == variable) return true;
  return ir_is(op, IR_SCALAR) && expr_depends(op, ir_get_expr(op, "value"), variable);
}

static const ir_value *variable_of(const ir_op *loop) { return ir_op_region(loop, 0)->args[0]; }

/* What the lanes load is the same in all rounds of LOOP, something else is not, and no condition tells the rounds apart. */
static bool shares_lanes(const struct tower *tower, const ir_op *loop) {
  const ir_value *lane = variable_of(tower->loops[tower->count - 1]), *round = variable_of(loop);
  const ir_expr *sum = ir_get_expr_at(tower->sum, "args", 0);
  bool vector = false, differs = false;
  for (size_t i = 0; i < 2; i++) {
    bool lanes = expr_depends(tower->sum, sum->kids[i], lane), rounds = expr_depends(tower->sum, sum->kids[i], round);
    if (lanes && rounds) return false;
    vector |= lanes;
    differs |= rounds;
  }
  for (const ir_op *op = ir_op_parent(tower->sum); op && op != loop; op = ir_op_parent(op)) {
    if ((ir_is(op, IR_IF) || ir_is(op, IR_FOR)) && value_depends(ir_op_operand(op, 0), round)) return false;
  }
  return vector && differs;
}

/* How many rounds of LOOP side by side; 0: none. */
static int64_t tile_of(const ir_op *loop) {
  int64_t rounds;
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(loop, 0));
  if (!extent) return 0;
  if (!ir_expr_is_int(extent, &rounds)) return TILE_EVEN;
  if (rounds < 2) return 0;
  if (rounds <= TILE) return rounds;
  if (rounds % TILE == 0) return TILE;
  return rounds % TILE_EVEN == 0 || rounds < FEW ? TILE_EVEN : TILE;
}

const char *ir_transform_choose(ir_func *func, ir_arena *arena) {
  struct tower tower = {0};
  if (!find_tower(func, &tower)) return NULL;
  const ir_string *lanes = variable_of(tower.loops[tower.count - 1])->name;
  for (size_t i = tower.count - 1; i > 0; i--) {
    const ir_op *loop = tower.loops[i - 1];
    const ir_string *name = variable_of(loop)->name;
    int64_t tile = has_mode(loop, "parallel") && shares_lanes(&tower, loop) ? tile_of(loop) : 0;
    if (!tile || !name || !lanes) continue;
    return ir_arena_printf(arena, "vectorize(%s, 2), split(%s, %lld), sink(%s_i)", lanes->text, name->text, (long long)tile, name->text);
  }
  return NULL;
}
