// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/choose_grid.c - the rules for devices: which steps make a grid of the loops of a kernel. Needs loop form.
 *
 * Results that are reduced in lanes from many elements are made by a workgroup each, an invocation a lane. All other
 * results are made by an invocation each. */
#include "ir/infer.h"
#include "ir/simplify.h"
#include "passes/schedule/transform.h"
#include "targets/device.h"

enum {
  MOST_LOOPS = 32,
  GROUP = 64,           /* invocations of a workgroup where each makes results of its own */
  LANES = 32,           /* of a reduction */
  LEAST_ROWS = 4,       /* elements of a lane from which a workgroup is worth its barriers */
  MOST_DEPTH = 2,       /* rows and blocks: blocks of blocks, with barriers in each, take compilers minutes */
  MANY_RESULTS = 65536, /* these keep a device busy, an invocation each, */
  MANY_ROWS = 32,       /* unless each takes this many elements of a lane */
};

static ir_value *variable_of(const ir_op *loop) { return ir_op_region(loop, 0)->args[0]; }

static bool has_mode(const ir_op *loop, const char *mode) { return !strcmp(ir_get_word(loop, "mode"), mode); }

/* The parallel loops that stand outermost, each all of the body of the one around. */
struct tower {
  ir_op *loops[MOST_LOOPS];
  size_t count;
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

static bool is_independent_of(const ir_op *loop, const ir_value *variable) {
  const ir_op *op = ir_value_op(ir_op_operand(loop, 0));
  if (ir_op_operand(loop, 0) == variable) return false;
  for (size_t i = 0; op && i < op->operand_count; i++) {
    if (ir_op_operand(op, i) == variable) return false;
  }
  return true;
}

static struct tower find_tower(ir_func *func) {
  struct tower tower = {0};
  for (ir_op *loop = only_loop(func->body); loop && has_mode(loop, "parallel") && tower.count < MOST_LOOPS; loop = only_loop(ir_op_region(loop, 0))) {
    if (tower.count && !is_independent_of(loop, variable_of(tower.loops[tower.count - 1]))) break;
    tower.loops[tower.count++] = loop;
  }
  return tower;
}

/* --- numbers that are known before the kernel runs --- */

static bool is_known(const ir_value *value, int64_t *number);

static bool leaf_value(void *user, const ir_expr *leaf, int64_t *number) {
  return leaf->code == IR_S_ARG && is_known(ir_op_operand((const ir_op *)user, leaf->arg), number);
}

static bool is_known(const ir_value *value, int64_t *number) {
  const ir_op *op = ir_value_op(value);
  const ir_expr *expr = ir_is(op, IR_SCALAR) ? ir_get_expr(op, "value") : NULL;
  return expr && !expr->has_loads && ir_evaluate(expr, leaf_value, (void *)(uintptr_t)op, number);
}

/* Rounds of LOOP; UNKNOWN where only the run knows. */
enum { UNKNOWN = INT32_MAX };

static int64_t rounds_of(const ir_op *loop) {
  int64_t number;
  return is_known(ir_op_operand(loop, 0), &number) && number < UNKNOWN ? number : UNKNOWN;
}

static int64_t times(int64_t a, int64_t b) { return a == UNKNOWN || b == UNKNOWN || (a && b > UNKNOWN / a) ? UNKNOWN : a * b; }

/* --- reductions in lanes --- */

struct lanes {
  const ir_op *within;
  int64_t rows; /* elements of a lane, in the longest of the reductions; 0: there is none */
  int depth;    /* loops around them */
};

static bool see_lanes(void *user, ir_op *op) {
  struct lanes *l = user;
  if (!ir_is(op, IR_FOR) || !has_mode(op, "vectorize") || rounds_of(op) != LANES) return true;
  int64_t rows = 1;
  int depth = 0;
  for (const ir_op *outer = ir_op_parent(op); outer != l->within; outer = ir_op_parent(outer)) {
    if (!ir_is(outer, IR_FOR)) continue;
    depth++;
    rows = times(rows, rounds_of(outer));
  }
  if (depth && rows > l->rows) l->rows = rows;
  if (depth > l->depth) l->depth = depth;
  return true;
}

static bool suits_workgroup(ir_func *func, ir_arena *arena, const struct tower *tower, const ir_device_limits *device) {
  struct lanes lanes = {.within = tower->loops[tower->count - 1]};
  ir_walk(ir_op_region(lanes.within, 0), IR_PRE_ORDER, see_lanes, &lanes);
  if (lanes.rows < LEAST_ROWS || lanes.depth > MOST_DEPTH) return false;
  int64_t results = 1;
  for (size_t i = 0; i < tower->count; i++) results = times(results, rounds_of(tower->loops[i]));
  if (results != UNKNOWN && results >= MANY_RESULTS && lanes.rows < MANY_ROWS) return false;
  ir_transform t = {.func = func, .scratch = arena};
  int64_t bytes = ir_transform_workgroup_bytes(&t, tower->loops[tower->count - 1], LANES);
  return bytes >= 0 && bytes <= device->shared_bytes && LANES <= device->invocations;
}

/* --- the rules --- */

const char *ir_transform_choose_grid(ir_func *func, ir_arena *arena, const ir_device_limits *device) {
  const struct tower tower = find_tower(func);
  if (!tower.count) return NULL;
  bool workgroup = suits_workgroup(func, arena, &tower, device);
  ir_text steps = {0};
  for (size_t i = tower.count - 1; i > 0; i--) ir_text_printf(&steps, "fuse(%s), ", variable_of(tower.loops[i - 1])->name->text);
  ir_text_put(&steps, workgroup ? "workgroup(" : "bind(");
  for (size_t i = 0; i < tower.count; i++) ir_text_printf(&steps, "%s%s", i ? "_" : "", variable_of(tower.loops[i])->name->text);
  ir_text_printf(&steps, ", %d)", workgroup ? LANES : GROUP);
  const char *copy = ir_arena_copy(arena, steps.at, steps.length);
  ir_text_free(&steps);
  return copy;
}
