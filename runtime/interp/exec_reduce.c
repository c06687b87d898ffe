// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/exec_reduce.c - reductions in the order that ir/reduction.h fixes: rows of accumulators, blocks of
 * 4,096 elements, levels of blocks. Either each lane reduces for itself, or the lanes are elements of one reduction. */
#include "runtime/interp/exec.h"

/* Row ROW of LEVEL. */
static uint8_t *row_at(const ir_exec *exec, const ir_reduce *r, const ir_reduce_state *s, int level, int64_t row) {
  return exec->at[r->acc] + (size_t)((level * (int64_t)r->rows + row) * s->stride) * r->size;
}

static ir_reduce_state *state_of(ir_exec *exec, const ir_reduce *r) { return &exec->reduces[r->number]; }

static void fill(ir_exec *exec, const ir_reduce *r, uint8_t *at, int64_t count) {
  exec->kernels->splat[ir_size_class(r->size)](at, r->identity, NULL, NULL, (size_t)count);
}

void ir_exec_start(ir_exec *exec, const ir_instr *instr) {
  const ir_reduce *r = instr->info;
  ir_reduce_state *s = state_of(exec, r);
  *s = (ir_reduce_state){.stride = instr->varying ? exec->hi : 1};
  exec->at[r->acc] = exec->plan->memory + exec->plan->regs[r->acc].offset;
  fill(exec, r, exec->at[r->acc], (int64_t)r->rows * r->levels * s->stride);
  if (r->seen) memset(exec->at[r->seen], 0, (size_t)s->stride);
}

/* d = d (+) x, or x * y + d */
static void combine(const ir_reduce *r, uint8_t *d, const uint8_t *x, const uint8_t *y, uint8_t *temp, size_t n) {
  if (r->multiply) {
    r->multiply(temp, x, y, NULL, n);
    r->narrow(temp, temp, NULL, NULL, n);
    r->add(d, d, temp, NULL, n);
  } else if (y) {
    r->combine(d, x, y, d, n);
  } else {
    r->combine(d, d, x, NULL, n);
  }
  if (r->narrow) r->narrow(d, d, NULL, NULL, n);
}

/* The next run of active lanes from *LANE on; false where there is none. */
static bool next_run(const ir_exec *exec, int64_t *lane, int64_t *end) {
  int64_t at = *lane;
  if (!exec->mask) {
    *end = exec->hi;
    return at < exec->hi;
  }
  while (at < exec->hi && !exec->mask[at]) at++;
  *lane = at;
  while (at < exec->hi && exec->mask[at]) at++;
  *end = at;
  return *lane < *end;
}

/* --- argmax and argmin --- */
#define ARG_STEP(R, T) \
  static void arg_##R(uint8_t *best_, int64_t *where, uint8_t *seen, const uint8_t *x_, const int64_t *index, bool along, \
                      bool greatest, int64_t lo, int64_t hi) { \
    T *best = (T *)(void *)best_; \
    const T *x = (const T *)(const void *)x_; \
    for (int64_t i = lo; i < hi; i++) { \
      int64_t to = along ? 0 : i; \
      T old = best[to], new = x[i]; \
      bool better = old == old && (new != new || (greatest ? new > old : new < old)); \
      if (seen[to] && !better) continue; \
      best[to] = new; \
      where[to] = index[i]; \
      seen[to] = 1; \
    } \
  }
ARG_STEP(U8, uint8_t)
ARG_STEP(U16, uint16_t)
ARG_STEP(U32, uint32_t)
ARG_STEP(U64, uint64_t)
ARG_STEP(I8, int8_t)
ARG_STEP(I16, int16_t)
ARG_STEP(I32, int32_t)
ARG_STEP(I64, int64_t)
ARG_STEP(F32, float)
ARG_STEP(F64, double)

typedef void arg_step(uint8_t *best, int64_t *where, uint8_t *seen, const uint8_t *x, const int64_t *index, bool along,
                      bool greatest, int64_t lo, int64_t hi);
static arg_step *const arg_steps[IR_REP_COUNT] = {arg_U8, arg_U16, arg_U32, arg_U64, arg_I8,
                                                  arg_I16, arg_I32, arg_I64, arg_F32, arg_F64};

static void step_arg(ir_exec *exec, const ir_reduce *r) {
  int64_t lane = exec->lo, end;
  while (next_run(exec, &lane, &end)) {
    arg_steps[exec->plan->regs[r->x].rep](exec->at[r->acc], (int64_t *)(void *)exec->at[r->where], exec->at[r->seen],
                                          exec->at[r->x], (const int64_t *)(const void *)exec->at[r->index], r->along,
                                          r->how.reducer == IR_REDUCE_ARGMAX, lane, end);
    lane = end;
  }
}

/* --- the others --- */
/* Lanes LANE to END are consecutive elements of one reduction, the first one number POSITION in its block. */
static void step_along(ir_exec *exec, const ir_reduce *r, const ir_reduce_state *s, int64_t lane, int64_t end) {
  const uint8_t *x = exec->at[r->x], *y = r->y ? exec->at[r->y] : NULL;
  uint8_t *temp = exec->at[r->temp];
  size_t size = r->size;
  if (r->rows == 1 && !r->narrow) {
    r->fold(row_at(exec, r, s, 0, 0), x + (size_t)lane * size, y ? y + (size_t)lane * size : NULL, NULL, (size_t)(end - lane));
    return;
  }
  while (lane < end) {
    int64_t row = (s->in_block[0] + lane) % r->rows, count = r->rows - row;
    if (count > end - lane) count = end - lane;
    combine(r, row_at(exec, r, s, 0, row), x + (size_t)lane * size, y ? y + (size_t)lane * size : NULL, temp, (size_t)count);
    lane += count;
  }
}

/* Each lane adds its element to its accumulator. */
static void step_across(ir_exec *exec, const ir_reduce *r, const ir_reduce_state *s) {
  size_t size = r->size, at = (size_t)exec->lo * size, n = (size_t)(exec->hi - exec->lo);
  const uint8_t *x = exec->at[r->x] + at, *y = r->y ? exec->at[r->y] + at : NULL;
  uint8_t *acc = row_at(exec, r, s, 0, s->in_block[0] % r->rows) + at, *temp = exec->at[r->temp] + at;
  if (!exec->mask) {
    combine(r, acc, x, y, temp, n);
    return;
  }
  int64_t lane = exec->lo, end;
  while (next_run(exec, &lane, &end)) {
    size_t skip = (size_t)(lane - exec->lo) * size;
    combine(r, acc + skip, x + skip, y ? y + skip : NULL, temp + skip, (size_t)(end - lane));
    lane = end;
  }
}

void ir_exec_step(ir_exec *exec, const ir_instr *instr) {
  const ir_reduce *r = instr->info;
  ir_reduce_state *s = state_of(exec, r);
  if (r->seen) {
    step_arg(exec, r);
    return;
  }
  if (!r->along) {
    step_across(exec, r, s);
    return;
  }
  int64_t lane = exec->lo, end;
  while (next_run(exec, &lane, &end)) {
    step_along(exec, r, s, lane, end);
    lane = end;
  }
}

/* Combines the rows of LEVEL by halving; the result is in row 0. */
static void halve(ir_exec *exec, const ir_reduce *r, const ir_reduce_state *s, int level) {
  for (int64_t width = r->rows / 2; width; width /= 2) {
    uint8_t *low = row_at(exec, r, s, level, 0), *high = row_at(exec, r, s, level, width);
    r->add(low, low, high, NULL, (size_t)(width * s->stride));
    if (r->narrow) r->narrow(low, low, NULL, NULL, (size_t)(width * s->stride));
  }
}

static void feed(ir_exec *exec, const ir_reduce *r, ir_reduce_state *s, int level, const uint8_t *value);

/* The block at hand of LEVEL is complete: its result is an element of the next level. */
static void close_block(ir_exec *exec, const ir_reduce *r, ir_reduce_state *s, int level) {
  halve(exec, r, s, level);
  feed(exec, r, s, level + 1, row_at(exec, r, s, level, 0));
  fill(exec, r, row_at(exec, r, s, level, 0), r->rows * s->stride);
  s->in_block[level] = 0;
}

static void feed(ir_exec *exec, const ir_reduce *r, ir_reduce_state *s, int level, const uint8_t *value) {
  uint8_t *row = row_at(exec, r, s, level, s->in_block[level] % r->rows);
  r->add(row, row, value, NULL, (size_t)s->stride);
  if (r->narrow) r->narrow(row, row, NULL, NULL, (size_t)s->stride);
  s->fed[level]++;
  if (++s->in_block[level] == IR_REDUCTION_BLOCK && level + 1 < (int)r->levels) close_block(exec, r, s, level);
}

void ir_exec_tick(ir_exec *exec, const ir_instr *instr) {
  const ir_reduce *r = instr->info;
  ir_reduce_state *s = state_of(exec, r);
  s->in_block[0] += r->along ? exec->hi : 1;
  if (s->in_block[0] == IR_REDUCTION_BLOCK && r->levels > 1) close_block(exec, r, s, 0);
}

bool ir_exec_finish(ir_exec *exec, const ir_instr *instr) {
  const ir_reduce *r = instr->info;
  ir_reduce_state *s = state_of(exec, r);
  if (r->seen) {
    int64_t lo = instr->varying ? exec->lo : 0, hi = instr->varying ? exec->hi : 1;
    for (int64_t lane = lo; lane < hi; lane++) {
      if (exec->at[r->seen][lane] || (instr->varying && exec->mask && !exec->mask[lane])) continue;
      return ir_exec_fail(exec, r->op, "%s of nothing has no value", r->how.reducer == IR_REDUCE_ARGMAX ? "argmax" : "argmin");
    }
    return true;
  }
  int level = 0;
  for (; level + 1 < (int)r->levels; level++) {
    bool partial = s->in_block[level] > 0;
    if (partial && s->fed[level + 1] == 0) break;
    if (partial) close_block(exec, r, s, level);
  }
  halve(exec, r, s, level);
  if (level) memcpy(row_at(exec, r, s, 0, 0), row_at(exec, r, s, level, 0), (size_t)s->stride * r->size);
  return true;
}
