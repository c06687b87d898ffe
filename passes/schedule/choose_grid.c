// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/choose_grid.c - the rules for devices: which steps make a grid of the loops of a kernel. Needs loop form.
 *
 * Results that are reduced in lanes from many elements are made by a workgroup each, an invocation a lane. Sums of products
 * that load the same for neighbours on an axis (matmul: the rows; convolution: the output channels) are made for several of them
 * by one invocation, where that leaves enough invocations. All other results are made by an invocation each. */
#include "ir/infer.h"
#include "ir/simplify.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/product.h"
#include "passes/schedule/tower.h"
#include "targets/device.h"

enum {
  GROUP = 64,           /* invocations of a workgroup where each makes results of its own */
  LANES = 32,           /* of a reduction */
  LEAST_ROWS = 4,       /* elements of a lane from which a workgroup is worth its barriers */
  MOST_DEPTH = 2,       /* rows and blocks: blocks of blocks, with barriers in each, take compilers minutes */
  MANY_RESULTS = 65536, /* these keep a device busy, an invocation each, */
  MANY_ROWS = 32,       /* unless each takes this many elements of a lane */
  MOST_TILE = 8,        /* sums that an invocation makes side by side */
  ANY_TILE = 4,         /* where only the run knows how many there are */
  BUSY = 8192,          /* invocations that must be left */
};

/* --- reductions in lanes --- */

struct lanes {
  const ir_op *within;
  int64_t rows; /* elements of a lane, in the longest of the reductions; 0: there is none */
  int depth;    /* loops around them */
};

static bool see_lanes(void *user, ir_op *op) {
  struct lanes *l = user;
  if (!ir_is(op, IR_FOR) || !ir_loop_has_mode(op, "vectorize") || ir_loop_rounds(op) != LANES) return true;
  int64_t rows = 1;
  int depth = 0;
  for (const ir_op *outer = ir_op_parent(op); outer != l->within; outer = ir_op_parent(outer)) {
    if (!ir_is(outer, IR_FOR)) continue;
    depth++;
    rows = ir_rounds_times(rows, ir_loop_rounds(outer));
  }
  if (depth && rows > l->rows) l->rows = rows;
  if (depth > l->depth) l->depth = depth;
  return true;
}

static bool suits_workgroup(ir_func *func, ir_arena *arena, const ir_tower *tower, const ir_device_limits *device) {
  struct lanes lanes = {.within = tower->loops[tower->count - 1]};
  ir_walk(ir_op_region(lanes.within, 0), IR_PRE_ORDER, see_lanes, &lanes);
  if (lanes.rows < LEAST_ROWS || lanes.depth > MOST_DEPTH) return false;
  int64_t results = 1;
  for (size_t i = 0; i < tower->count; i++) results = ir_rounds_times(results, ir_loop_rounds(tower->loops[i]));
  if (results != IR_ROUNDS_UNKNOWN && results >= MANY_RESULTS && lanes.rows < MANY_ROWS) return false;
  ir_transform t = {.func = func, .scratch = arena};
  int64_t bytes = ir_transform_workgroup_bytes(&t, tower->loops[tower->count - 1], LANES);
  return bytes >= 0 && bytes <= device->shared_bytes && LANES <= device->invocations;
}

/* --- tiles --- */

static bool see_memory(void *user, ir_op *op) {
  (void)user;
  if (!ir_is(op, IR_ALLOC)) return true;
  return !strcmp(ir_get_word(op, "scope"), "local") && ir_type_static_dims(ir_op_result(op, 0)->type, NULL, NULL);
}

/* Rounds side by side of ROUNDS, of which MOST leave enough to do; 0: none. */
static int64_t tile_of(int64_t rounds, int64_t most) {
  if (rounds < 2 || most < 2) return 0;
  if (rounds <= most) return rounds;
  for (int64_t tile = most; tile > most / 2; tile--) {
    if (rounds % tile == 0) return tile;
  }
  return most;
}

/* The loop of TOWER, not the last, of which *TILE rounds are done side by side; its index, or the number of loops: none. */
static size_t find_tile(ir_func *func, const ir_tower *tower, int64_t *tile) {
  const char *problem;
  ir_op *last = tower->loops[tower->count - 1];
  const ir_op *sum = ir_sum_in(last);
  if (!sum || !ir_sum_is_product(sum) || !ir_copy_can(func->body, &problem) || !ir_walk(ir_op_region(last, 0), IR_PRE_ORDER, see_memory, NULL)) return tower->count;
  int64_t results = 1;
  for (size_t i = 0; i < tower->count; i++) results = ir_rounds_times(results, ir_loop_rounds(tower->loops[i]));
  for (size_t i = tower->count - 1; i > 0; i--) {
    const ir_op *loop = tower->loops[i - 1];
    bool free = ir_product_shares(sum, last, loop);
    for (size_t inner = i; inner < tower->count; inner++) free &= ir_loop_is_independent(tower->loops[inner], ir_loop_variable(loop));
    if (!free) continue;
    int64_t rounds = ir_loop_rounds(loop), most = results == IR_ROUNDS_UNKNOWN ? ANY_TILE : results / BUSY;
    *tile = tile_of(rounds, most < MOST_TILE ? most : MOST_TILE);
    if (*tile) return i - 1;
  }
  return tower->count;
}

/* The loop AT goes inside of the others, where TILE of its rounds move on into the loops of the sums, and back. */
static void add_tile(ir_text *steps, const ir_tower *tower, size_t at, int64_t tile) {
  const char *name = ir_tower_name(tower, at);
  for (size_t i = at + 1; i < tower->count; i++) ir_text_printf(steps, "reorder(%s), ", name);
  ir_text_printf(steps, "split(%s, %lld), sink(%s_i), ", name, (long long)tile, name);
  for (size_t i = tower->count - 1; i > at; i--) ir_text_printf(steps, "reorder(%s), ", ir_tower_name(tower, i));
}

/* --- the rules --- */

const char *ir_transform_choose_grid(ir_func *func, ir_arena *arena, const ir_device_limits *device) {
  const ir_tower tower = ir_tower_find(func);
  if (!tower.count) return NULL;
  bool workgroup = suits_workgroup(func, arena, &tower, device);
  int64_t tile;
  size_t tiled = workgroup ? tower.count : find_tile(func, &tower, &tile);
  ir_text steps = {0};
  if (tiled < tower.count) add_tile(&steps, &tower, tiled, tile);
  for (size_t i = tower.count - 1; i > 0; i--) ir_text_printf(&steps, "fuse(%s%s), ", ir_tower_name(&tower, i - 1), i - 1 == tiled ? "_o" : "");
  ir_text_put(&steps, workgroup ? "workgroup(" : "bind(");
  for (size_t i = 0; i < tower.count; i++) ir_text_printf(&steps, "%s%s%s", i ? "_" : "", ir_tower_name(&tower, i), i == tiled ? "_o" : "");
  ir_text_printf(&steps, ", %d)", workgroup ? LANES : GROUP);
  const char *copy = ir_arena_copy(arena, steps.at, steps.length);
  ir_text_free(&steps);
  return copy;
}
