// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/choose.c - the rules: which steps suit the loops of a kernel. Needs loop form.
 *
 * Sums of products whose lanes load what does not depend on one of the parallel loops around them (matmul: the rows;
 * convolution: the output channels) are done for several rounds of that loop side by side: each vector that is loaded is used
 * so many times.
 *
 * Sums of which each lane takes only the taps that hit it (transposed convolution: those a multiple of the stride away) are
 * done for as many neighbours side by side as the stride has phases: in each, all lanes take the same taps.
 *
 * Windows that reach into the padding (convolution, pooling) do so in the first and last rounds of the loops over places: the
 * other rounds have loops of their own, without conditions. */
#include "base/str.h"
#include "ir/infer.h"
#include "ir/simplify.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/product.h"
#include "passes/schedule/transform.h"

enum {
  MOST_LOOPS = 8,
  REGISTERS = 2,  /* of a round of lanes */
  SUMS = 12,      /* registers that hold sums, of 16 */
  IN_FLIGHT = 8,  /* multiply-adds that a processor has under way at a time */
  ANY_TILE = 4,   /* rounds side by side where their number is not known */
  MOST_PHASES = 8,
  MOST_TAPS = 16, /* that are written out */
  FEW_LANES = 16, /* so few are not worth loops for the first and the last ones */
};

/* A nest of loops, each all of the body of the one around; the innermost is vectorized. */
struct tower {
  ir_op *loops[MOST_LOOPS];
  size_t count;
  ir_op *sum;    /* the store of the sum in it */
  bool products; /* it is one of products */
  int64_t stride;   /* phases of the lanes; 1: all lanes take all taps */
  const ir_op *tap; /* the loop whose variable says which phase a tap hits */
};

static bool find_tower(ir_func *func, struct tower *tower) {
  ir_op *loop = ir_loop_only(func->body);
  for (; loop && tower->count < MOST_LOOPS; loop = ir_loop_only(ir_op_region(loop, 0))) {
    tower->loops[tower->count++] = loop;
    if (ir_loop_has_mode(loop, "vectorize")) break;
  }
  const char *problem;
  if (!loop || !ir_loop_has_mode(loop, "vectorize") || ir_get_int(loop, "factor")) return false;
  if (!ir_copy_can(func->body, &problem)) return false;
  tower->sum = ir_sum_in(loop);
  tower->products = tower->sum && ir_sum_is_product(tower->sum);
  return tower->sum != NULL;
}

/* --- phases --- */
/* EXPR of OP is `floormod(of the lane and of a loop around the sum, stride) == 0`. */
static bool is_phase(struct tower *tower, const ir_op *op, const ir_expr *expr) {
  if (expr->code != IR_S_EQ || expr->kids[0]->code != IR_S_FLOORMOD) return false;
  const ir_expr *mod = expr->kids[0];
  const ir_op *lanes = tower->loops[tower->count - 1];
  int64_t zero, stride;
  if (!ir_expr_is_int(expr->kids[1], &zero) || zero || !ir_expr_is_int(mod->kids[1], &stride)) return false;
  if (stride < 2 || stride > MOST_PHASES || !ir_expr_depends(op, mod->kids[0], ir_loop_variable(lanes))) return false;
  for (const ir_op *loop = ir_op_parent(tower->sum); loop && loop != lanes; loop = ir_op_parent(loop)) {
    int64_t taps;
    if (!ir_is(loop, IR_FOR) || !ir_expr_depends(op, mod->kids[0], ir_loop_variable(loop))) continue;
    const ir_expr *extent = ir_value_closed_expr(ir_op_operand(loop, 0));
    if (!extent || !ir_expr_is_int(extent, &taps) || taps > MOST_TAPS) return false;
    tower->tap = loop;
    tower->stride = stride;
    return true;
  }
  return false;
}

static bool find_phase(struct tower *tower, const ir_op *op, const ir_expr *condition) {
  if (condition->code != IR_S_AND) return is_phase(tower, op, condition);
  return find_phase(tower, op, condition->kids[0]) || find_phase(tower, op, condition->kids[1]);
}

static void find_phases(struct tower *tower) {
  tower->stride = 1;
  const ir_op *lanes = tower->loops[tower->count - 1];
  for (const ir_op *op = ir_op_parent(tower->sum); op && op != lanes; op = ir_op_parent(op)) {
    const ir_op *condition = ir_is(op, IR_IF) ? ir_value_op(ir_op_operand(op, 0)) : NULL;
    if (ir_is(condition, IR_SCALAR) && find_phase(tower, condition, ir_get_expr(condition, "value"))) return;
  }
}

/* What is left of the lanes' rounds when the phases are taken from them; -1: not known, or too few of them. */
static int64_t phases_rest(const ir_func *func, const struct tower *tower) {
  ir_op *lanes = tower->loops[tower->count - 1];
  ir_context *context = ir_op_context(lanes);
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(lanes, 0));
  int64_t rounds, rest;
  if (!extent || (ir_expr_is_int(extent, &rounds) && rounds < 2 * tower->stride)) return -1;
  const ir_expr *mod = ir_expr_binary(context, IR_S_FLOORMOD, extent, ir_expr_i64(context, tower->stride));
  return ir_expr_is_int(ir_simplify(context, ir_func_facts((ir_func *)func), mod), &rest) ? rest : -1;
}

/* The steps that take the lanes apart by phase; *LANES is the name of the loop that is left. */
static bool add_phases(ir_text *steps, ir_arena *arena, const ir_func *func, struct tower *tower, const char **lanes) {
  find_phases(tower);
  int64_t rest = tower->stride > 1 ? phases_rest(func, tower) : -1;
  const ir_string *tap = rest >= 0 ? ir_loop_variable(tower->tap)->name : NULL;
  if (!tap) {
    tower->stride = 1;
    return false;
  }
  ir_text_printf(steps, "expand(%s), ", tap->text);
  if (rest) {
    ir_text_printf(steps, "partition(%s, 0, %lld), serial(%s_l), ", *lanes, (long long)rest, *lanes);
    *lanes = ir_arena_printf(arena, "%s_m", *lanes);
  }
  ir_text_printf(steps, "split(%s, %lld), jam(%s_i), ", *lanes, (long long)tower->stride, *lanes);
  *lanes = ir_arena_printf(arena, "%s_o", *lanes);
  return true;
}

/* --- tiles --- */
/* Time of ROUNDS rounds, TILE of them side by side, in units of what one round adds: fewer than LEAST wait for their sums. */
static int64_t cost_of(int64_t rounds, int64_t tile, int64_t least) {
  int64_t rest = rounds % tile, whole = tile > least ? tile : least;
  return rounds / tile * whole + (rest > least ? rest : rest ? least : 0);
}

/* How many rounds of LOOP side by side; 0: none. */
static int64_t tile_of(const struct tower *tower, const ir_op *loop) {
  int64_t rounds, sums = REGISTERS * tower->stride, most = SUMS / sums, least = (IN_FLIGHT + sums - 1) / sums;
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(loop, 0));
  if (!extent || most < 2) return 0;
  if (!ir_expr_is_int(extent, &rounds)) return most < ANY_TILE ? most : ANY_TILE;
  if (rounds <= most) return rounds < 2 ? 0 : rounds;
  int64_t best = most;
  for (int64_t tile = most - 1; tile >= 2; tile--) {
    int64_t more = cost_of(rounds, tile, least) - cost_of(rounds, best, least);
    if (more < 0 || (more == 0 && rounds % best && rounds % tile == 0)) best = tile;
  }
  return best;
}

/* The loop whose rounds are done side by side: the innermost that shares what the lanes load. NONE: the lanes. */
static size_t tiled_loop(const struct tower *tower) {
  size_t none = tower->count - 1;
  for (size_t i = none; tower->products && i > 0; i--) {
    const ir_op *loop = tower->loops[i - 1];
    if (ir_loop_has_mode(loop, "parallel") && ir_product_shares(tower->sum, tower->loops[none], loop) && tile_of(tower, loop)) return i - 1;
  }
  return none;
}

static void add_tile(ir_text *steps, const struct tower *tower, const ir_op *loop) {
  const char *name = ir_loop_variable(loop)->name->text;
  ir_text_printf(steps, "split(%s, %lld), sink(%s_i), ", name, (long long)tile_of(tower, loop), name);
}

/* --- edges --- */
/* The loops inside of loop FROM whose first and last rounds are special. */
static bool add_edges(ir_text *steps, ir_transform *t, const struct tower *tower, size_t from) {
  bool added = false;
  int64_t first, last;
  for (size_t i = tower->count - 1; i > from; i--) {
    const ir_op *loop = tower->loops[i - 1];
    if (!ir_transform_edges(t, loop, tower->sum, &first, &last) || first + last == 0) continue;
    ir_text_printf(steps, "specialize(%s, %lld, %lld), ", ir_loop_variable(loop)->name->text, (long long)first, (long long)last);
    added = true;
  }
  return added;
}

static bool add_lane_edges(ir_text *steps, ir_transform *t, const struct tower *tower) {
  const ir_op *lanes = tower->loops[tower->count - 1];
  const char *name = ir_loop_variable(lanes)->name->text;
  int64_t first, last, rounds;
  const ir_expr *extent = ir_value_closed_expr(ir_op_operand(lanes, 0));
  bool few = tower->count < 2 || (extent && ir_expr_is_int(extent, &rounds) && rounds < FEW_LANES);
  if (few || !ir_transform_edges(t, lanes, tower->sum, &first, &last) || first + last == 0) return false;
  ir_text_printf(steps, "partition(%s, %lld, %lld), ", name, (long long)first, (long long)last);
  if (first) ir_text_printf(steps, "serial(%s_f), ", name);
  if (last) ir_text_printf(steps, "serial(%s_l), ", name);
  return true;
}

static bool have_names(const struct tower *tower) {
  for (size_t i = 0; i < tower->count; i++) {
    if (!ir_loop_variable(tower->loops[i])->name) return false;
  }
  return true;
}

const char *ir_transform_choose(ir_func *func, ir_arena *arena) {
  ir_transform t = {.func = func, .scratch = arena};
  struct tower tower = {0};
  if (!find_tower(func, &tower) || !have_names(&tower)) return NULL;
  const char *lanes = ir_loop_variable(tower.loops[tower.count - 1])->name->text;
  ir_text steps = {0};
  bool tidy = tower.products && add_phases(&steps, arena, func, &tower, &lanes);
  size_t tiled = tiled_loop(&tower);
  bool tile = tiled + 1 < tower.count;
  if (tidy || tile) ir_text_printf(&steps, "vectorize(%s, %d), ", lanes, REGISTERS);
  if (!tidy && !tile) tidy = add_lane_edges(&steps, &t, &tower);
  tidy |= add_edges(&steps, &t, &tower, tile ? tiled + 1 : 0);
  if (tile) add_tile(&steps, &tower, tower.loops[tiled]);
  if (tidy) {
    const char *outermost = tower.count > 1 ? ir_loop_variable(tower.loops[0])->name->text : lanes;
    ir_text_printf(&steps, "simplify(%s%s), ", outermost, tile && tiled == 0 ? "_o" : "");
  }
  const char *chosen = steps.length ? ir_arena_copy(arena, steps.at, steps.length - 2) : NULL;
  ir_text_free(&steps);
  return chosen;
}
