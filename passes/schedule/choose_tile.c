// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/choose_tile.c - the rule for tiles in workgroup memory. Needs loop form.
 *
 * A sum of products whose two factors are each the same in all rounds of one of two axes (matmul: rows and columns;
 * convolution: output channels and columns) is made by workgroups of 128 invocations for 32 times 32 results, 8 side by side in
 * each invocation. Block by block of the products, what the block takes of both factors is copied to workgroup memory first. */
#include "base/vec.h"
#include "ir/infer.h"
#include "passes/schedule/copy.h"
#include "passes/schedule/product.h"
#include "passes/schedule/tower.h"
#include "targets/device.h"

enum {
  TILE = 32,          /* rows and columns */
  SIDE_BY_SIDE = 8,   /* rows in an invocation */
  TEAM = TILE / SIDE_BY_SIDE * TILE,
  LEAST_PRODUCTS = 16,
  LEAST_TILES = 16,   /* fewer keep no device busy */
};
static const int blocks[] = {16, 8, 4}; /* rounds of the products' outermost loop; the first that fits */

struct plan {
  ir_tower tower;
  size_t row;                 /* the loop of rows; that of columns is the last */
  const char *products;       /* the outermost loop of the products */
  const char *buffers[2];
};

/* The loops of the products, in LAST: no others, no conditions. */
static bool find_products(struct plan *plan, const ir_op *sum, const ir_op *last) {
  int64_t rounds = 1;
  for (const ir_op *op = ir_op_parent(sum); op != last; op = ir_op_parent(op)) {
    if (!ir_is(op, IR_FOR) || !ir_loop_has_mode(op, "serial")) return false;
    rounds = ir_rounds_times(rounds, ir_loop_rounds(op));
    plan->products = ir_loop_variable(op)->name->text;
  }
  return plan->products && rounds >= LEAST_PRODUCTS;
}

struct loads {
  const ir_op *sum;
  const ir_value *buffer;
  size_t count;
};

static void see_load(void *user, const ir_expr *node) {
  struct loads *l = user;
  if (node->code != IR_S_LOAD) return;
  l->buffer = ir_op_operand(l->sum, node->arg);
  l->count++;
}

/* Each factor is one element of a buffer, in words that a copy can be made from. */
static bool find_buffers(struct plan *plan, const ir_op *sum) {
  const ir_expr *value = ir_get_expr_at(sum, "args", 0);
  for (size_t i = 0; i < 2; i++) {
    struct loads l = {.sum = sum};
    ir_expr_walk(ir_op_context(sum), value->kids[i], see_load, &l);
    if (l.count != 1 || ir_value_op(l.buffer) || !l.buffer->name) return false;
    plan->buffers[i] = l.buffer->name->text;
  }
  return strcmp(plan->buffers[0], plan->buffers[1]) != 0;
}

static bool find_rows(struct plan *plan, const ir_op *sum) {
  const ir_tower *tower = &plan->tower;
  const ir_op *last = tower->loops[tower->count - 1];
  for (plan->row = tower->count - 1; plan->row-- > 0;) {
    const ir_op *loop = tower->loops[plan->row];
    bool fits = ir_loop_rounds(loop) >= TILE && ir_product_shares(sum, last, loop);
    for (size_t inner = plan->row + 1; inner < tower->count; inner++) fits &= ir_loop_is_independent(tower->loops[inner], ir_loop_variable(loop));
    if (fits) return true;
  }
  return false;
}

static bool find_plan(ir_func *func, struct plan *plan) {
  const char *problem;
  *plan = (struct plan){.tower = ir_tower_find(func)};
  const ir_tower *tower = &plan->tower;
  if (tower->count < 2 || !ir_copy_can(func->body, &problem)) return false;
  ir_op *last = tower->loops[tower->count - 1];
  const ir_op *sum = ir_sum_in(last);
  int64_t columns = ir_loop_rounds(last), results = 1;
  for (size_t i = 0; i < tower->count; i++) results = ir_rounds_times(results, ir_loop_rounds(tower->loops[i]));
  bool worth = columns != IR_ROUNDS_UNKNOWN && columns >= TILE && results >= LEAST_TILES * TILE * TILE;
  return worth && sum && ir_sum_is_product(sum) && find_products(plan, sum, last) && find_buffers(plan, sum) && find_rows(plan, sum);
}

static void put_steps(ir_text *steps, const struct plan *plan, int block) {
  const ir_tower *tower = &plan->tower;
  const char *row = ir_tower_name(tower, plan->row), *column = ir_tower_name(tower, tower->count - 1);
  for (size_t i = plan->row + 1; i + 1 < tower->count; i++) ir_text_printf(steps, "reorder(%s), ", row);
  ir_text_printf(steps, "pad(%s, %d), pad(%s, %d), reorder(%s_i), split(%s_i, %d), reorder(%s_i_i), sink(%s_i_i), fuse(%s_i_o), ", row, TILE, column, TILE, row, row, SIDE_BY_SIDE, row, row, row);
  ir_text_printf(steps, "block(%s, %d), sink_at(%s_i_o_%s_i, %s_i), ", plan->products, block, row, column, plan->products);
  for (size_t i = 0; i < 2; i++) ir_text_printf(steps, "cache(%s_o, %s), ", plan->products, plan->buffers[i]);
  ir_text_printf(steps, "fuse(%s_o), ", row);
  for (size_t i = tower->count - 1; i-- > 0;) {
    if (i != plan->row) ir_text_printf(steps, "fuse(%s), ", ir_tower_name(tower, i));
  }
  ir_text_put(steps, "workgroup(");
  for (size_t i = 0; i + 1 < tower->count; i++) {
    if (i != plan->row) ir_text_printf(steps, "%s_", ir_tower_name(tower, i));
  }
  ir_text_printf(steps, "%s_o_%s_o, %d)", row, column, TEAM);
}

static bool see_shared(void *user, ir_op *op) {
  int64_t *bytes = user;
  if (ir_is(op, IR_ALLOC) && !strcmp(ir_get_word(op, "scope"), "shared")) *bytes += ir_alloc_bytes(op);
  return true;
}

/* The steps can be taken, and the workgroup's memory is enough: tried on a copy. */
static bool fits(ir_func *func, ir_arena *arena, const char *steps, const ir_device_limits *device) {
  ir_func *copy = ir_func_clone(func, func->item.name);
  ir_transform t = {.func = copy, .scratch = arena, .device = device};
  int64_t bytes = 0;
  if (!ir_transform_apply(&t, ir_slice_of(steps))) return false;
  ir_walk(copy->body, IR_PRE_ORDER, see_shared, &bytes);
  return bytes <= device->shared_bytes;
}

const char *ir_transform_choose_tile(ir_func *func, ir_arena *arena, const ir_device_limits *device) {
  struct plan plan;
  if (TEAM > device->invocations || !find_plan(func, &plan)) return NULL;
  for (size_t i = 0; i < ir_count_of(blocks); i++) {
    ir_text steps = {0};
    put_steps(&steps, &plan, blocks[i]);
    const char *copy = ir_arena_copy(arena, steps.at, steps.length);
    ir_text_free(&steps);
    if (fits(func, arena, copy, device)) return copy;
  }
  return NULL;
}
