// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/exec.c - runs the instructions of a plan. The set of active lanes is an interval and maybe a mask;
 * conditions make it smaller, loops and the ends of conditions restore it. */
#include "runtime/interp/exec.h"

#include "ir/print.h"

#include "base/checked.h"

bool ir_exec_fail(ir_exec *exec, const ir_op *op, const char *format, ...) {
  if (exec->quiet) return false;
  if (!op) op = exec->plan->op; /* of an operator that runs by itself */
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_range range = op ? op->range : exec->plan->func ? exec->plan->func->item.range : (ir_range){0};
  const ir_attr *loc = op ? ir_op_loc(op) : NULL;
  ir_text place = {0};
  if (ir_print_place(&place, loc)) ir_text_printf(&text, " (%s)", place.at);
  ir_text_free(&place);
  const char *where = exec->plan->func ? exec->plan->func->item.name->text : NULL;
  if (range.end || !where) ir_error(exec->diags, range, "%s", text.at);
  else ir_error_in(exec->diags, where, "%s", text.at);
  ir_text_free(&text);
  return false;
}

bool ir_exec_count(ir_exec *exec, const ir_op *op, uint64_t steps) {
  exec->steps += steps;
  if (!exec->step_limit || exec->steps <= exec->step_limit) return true;
  return ir_exec_fail(exec, op, "gave up after %llu steps, the budget", (unsigned long long)exec->step_limit);
}

struct active {
  int64_t lo, hi;
  const uint8_t *mask;
};
static struct active save(const ir_exec *exec) { return (struct active){exec->lo, exec->hi, exec->mask}; }
static void restore(ir_exec *exec, struct active a) {
  exec->lo = a.lo;
  exec->hi = a.hi;
  exec->mask = a.mask;
}
static bool is_empty(const ir_exec *exec) { return exec->lo >= exec->hi; }

static int64_t read_i64(const ir_exec *exec, ir_reg reg) { return *(const int64_t *)(const void *)exec->at[reg]; }

/* --- plain values --- */
static void pure(ir_exec *exec, const ir_instr *i) {
  uint8_t **at = exec->at;
  if (!i->varying) {
    i->fn(at[i->d], at[i->a], at[i->b], at[i->c], i->width);
    return;
  }
  size_t lo = (size_t)exec->lo, n = (size_t)(exec->hi - exec->lo) * i->width;
  i->fn(at[i->d] + lo * i->step[0], at[i->a] + lo * i->step[1], at[i->b] + lo * i->step[2], at[i->c] + lo * i->step[3], n);
}

static void splat(ir_exec *exec, const ir_instr *i) {
  const ir_reg_info *info = &exec->plan->regs[i->d];
  uint8_t *to = exec->at[i->d] + (size_t)exec->lo * info->size;
  size_t n = (size_t)(exec->hi - exec->lo);
  if (info->width == 1) {
    exec->kernels->splat[ir_size_class(info->size)](to, exec->at[i->a], NULL, NULL, n);
    return;
  }
  for (size_t lane = 0; lane < n; lane++) memcpy(to + lane * info->size, exec->at[i->a], info->size);
}

static void widen(ir_exec *exec, const ir_instr *i) {
  const ir_reg_info *to = &exec->plan->regs[i->d], *from = &exec->plan->regs[i->a];
  int64_t lo = i->varying ? exec->lo : 0, hi = i->varying ? exec->hi : 1;
  for (int64_t lane = lo; lane < hi; lane++) {
    uint8_t *d = exec->at[i->d] + (size_t)lane * to->size;
    const uint8_t *a = exec->at[i->a] + (size_t)lane * from->size;
    if (i->kind == IR_I_RAMP) exec->kernels->iota(d, a, NULL, NULL, i->width);
    else exec->kernels->splat[ir_size_class(from->size)](d, a, NULL, NULL, i->width);
  }
}

static void move(ir_exec *exec, const ir_instr *i) {
  const ir_reg_info *info = &exec->plan->regs[i->d];
  if (!i->varying) {
    memcpy(exec->at[i->d], exec->at[i->a], info->size);
    return;
  }
  uint8_t *d = exec->at[i->d] + (size_t)exec->lo * info->size;
  const uint8_t *a = exec->at[i->a] + (size_t)exec->lo * info->size;
  size_t n = (size_t)(exec->hi - exec->lo);
  if (!exec->mask) {
    memcpy(d, a, n * info->size);
  } else if (info->width == 1) {
    exec->kernels->pick[ir_size_class(info->size)](d, a, NULL, exec->mask + exec->lo, n);
  } else {
    for (size_t lane = 0; lane < n; lane++) {
      if (exec->mask[(size_t)exec->lo + lane]) memcpy(d + lane * info->size, a + lane * info->size, info->size);
    }
  }
}

static bool check_divisor(ir_exec *exec, const ir_instr *i) {
  const ir_reg_info *info = &exec->plan->regs[i->a];
  static const uint8_t zeros[8];
  size_t size = ir_rep_sizes[info->rep];
  int64_t lo = i->varying ? exec->lo : 0, hi = i->varying ? exec->hi : 1;
  for (int64_t lane = lo; lane < hi; lane++) {
    if (i->varying && exec->mask && !exec->mask[lane]) continue;
    const uint8_t *value = exec->at[i->a] + (size_t)lane * info->size;
    for (unsigned k = 0; k < info->width; k++) {
      if (!memcmp(value + k * size, zeros, size)) return ir_exec_fail(exec, i->info, "integer division by zero");
    }
  }
  return true;
}

static bool check_assert(ir_exec *exec, const ir_instr *i) {
  const ir_op *op = i->info;
  int64_t lo = i->varying ? exec->lo : 0, hi = i->varying ? exec->hi : 1;
  for (int64_t lane = lo; lane < hi; lane++) {
    if (i->varying && exec->mask && !exec->mask[lane]) continue;
    if (!exec->at[i->a][lane]) return ir_exec_fail(exec, op, "%s", ir_get_word(op, "message"));
  }
  return true;
}

/* --- conditions --- */
/* Keeps the lanes of [lo, hi) for which first + step * lane COMPARE 0 holds. */
static void keep_interval(ir_exec *exec, int64_t first, int64_t step, unsigned compare) {
  bool holds;
  if (!step) {
    switch (compare) {
    case IR_S_EQ: holds = first == 0; break;
    case IR_S_NE: holds = first != 0; break;
    case IR_S_LT: holds = first < 0; break;
    case IR_S_LE: holds = first <= 0; break;
    case IR_S_GT: holds = first > 0; break;
    default: holds = first >= 0; break;
    }
    if (!holds) exec->hi = exec->lo;
    return;
  }
  if (compare == IR_S_EQ) {
    int64_t lane = first % step ? -1 : -first / step;
    bool inside = lane >= exec->lo && lane < exec->hi;
    exec->lo = inside ? lane : exec->lo;
    exec->hi = inside ? lane + 1 : exec->lo;
    return;
  }
  /* As first + step * lane < 0. */
  if (compare == IR_S_GT || compare == IR_S_GE) {
    first = -first;
    step = -step;
  }
  if (compare == IR_S_LE || compare == IR_S_GE) first -= 1;
  if (step > 0) {
    int64_t end = ir_ceildiv_i64(-first, step);
    if (end < exec->hi) exec->hi = end;
  } else {
    int64_t begin = ir_floordiv_i64(first, -step) + 1;
    if (begin > exec->lo) exec->lo = begin;
  }
}

/* MASK = active lanes for which VALUES holds (where WANTED) or doesn't. */
static void keep_lanes(ir_exec *exec, const uint8_t *values, bool wanted, uint8_t *mask) {
  int64_t lo = exec->lo, hi = exec->hi;
  const uint8_t *old = exec->mask;
  uint8_t flip = wanted ? 0 : 1;
  if (old) {
    for (int64_t l = lo; l < hi; l++) mask[l] = (uint8_t)(old[l] & (values[l] ^ flip));
  } else {
    for (int64_t l = lo; l < hi; l++) mask[l] = (uint8_t)(values[l] ^ flip);
  }
  while (lo < hi && !mask[lo]) lo++;
  while (lo < hi && !mask[hi - 1]) hi--;
  bool all = lo >= hi || !memchr(mask + lo, 0, (size_t)(hi - lo));
  exec->lo = lo;
  exec->hi = hi;
  exec->mask = all ? NULL : mask;
}

static bool apply(ir_exec *exec, const ir_guard *guard) {
  for (size_t i = 0; i < guard->count && !is_empty(exec); i++) {
    const ir_cond *cond = &guard->conds[i];
    if (!ir_exec_code(exec, &cond->code)) return false;
    switch (cond->kind) {
    case IR_COND_UNIFORM:
      if (!*exec->at[cond->reg]) exec->hi = exec->lo;
      break;
    case IR_COND_RANGE: keep_interval(exec, ir_linear_base(exec, &cond->form), cond->form.lane, cond->compare); break;
    case IR_COND_LANES: keep_lanes(exec, exec->at[cond->reg], true, exec->plan->memory + exec->plan->regs[guard->mask].offset); break;
    }
  }
  return true;
}

/* --- control flow --- */
static bool run_if(ir_exec *exec, const ir_instr *i) {
  const ir_node *node = i->info;
  struct active all = save(exec);
  bool ok = true;
  if (node->narrow) {
    ok = apply(exec, &node->guard) && (is_empty(exec) || ir_exec_code(exec, &node->body));
  } else if (!exec->plan->regs[i->a].varying) {
    ok = ir_exec_code(exec, *exec->at[i->a] ? &node->body : &node->other);
  } else {
    uint8_t *mask = exec->plan->memory + exec->plan->regs[node->guard.mask].offset;
    for (int side = 0; side < 2 && ok; side++) {
      const ir_code *code = side ? &node->other : &node->body;
      keep_lanes(exec, exec->at[i->a], !side, mask);
      ok = is_empty(exec) || ir_exec_code(exec, code);
      restore(exec, all);
    }
  }
  restore(exec, all);
  return ok;
}

static bool run_while(ir_exec *exec, const ir_instr *i) {
  const ir_node *node = i->info;
  struct active all = save(exec);
  bool ok = ir_exec_code(exec, &node->before);
  while (ok) {
    ok = apply(exec, &node->guard);
    if (!ok || is_empty(exec)) break;
    ok = ir_exec_count(exec, node->op, 1) && ir_exec_code(exec, &node->body);
  }
  restore(exec, all);
  return ok;
}

/* The greatest extent of an active lane. */
static int64_t greatest(const ir_exec *exec, ir_reg reg) {
  const int64_t *values = (const int64_t *)(const void *)exec->at[reg];
  int64_t most = 0;
  for (int64_t l = exec->lo; l < exec->hi; l++) {
    if ((!exec->mask || exec->mask[l]) && values[l] > most) most = values[l];
  }
  return most;
}

static void keep_below(ir_exec *exec, const ir_node *node, int64_t round) {
  const int64_t *extents = (const int64_t *)(const void *)exec->at[node->extent];
  uint8_t *mask = exec->plan->memory + exec->plan->regs[node->guard.mask].offset;
  for (int64_t l = exec->lo; l < exec->hi; l++) mask[l] = (!exec->mask || exec->mask[l]) && round < extents[l];
  exec->mask = mask;
}

static bool run_for(ir_exec *exec, const ir_instr *i) {
  const ir_node *node = i->info;
  bool varying = exec->plan->regs[node->extent].varying;
  int64_t extent = varying ? greatest(exec, node->extent) : read_i64(exec, node->extent);
  int64_t *variable = (int64_t *)(void *)exec->at[node->variable];
  struct active all = save(exec);
  if (extent > 0 && !ir_exec_code(exec, &node->before)) return false;
  bool ok = true;
  for (int64_t round = 0; round < extent && ok; round++) {
    *variable = round;
    if (varying) keep_below(exec, node, round);
    if (node->group) ir_exec_new_group(exec);
    ok = ir_exec_count(exec, node->op, 1) && ir_exec_code(exec, &node->body);
    restore(exec, all);
  }
  return ok;
}

/* The coordinates of lanes FIRST to FIRST + N - 1 on axes that somebody reads. */
static void fill_axes(ir_exec *exec, const ir_node *node, int64_t first, int64_t n) {
  for (size_t k = 0; k < node->axis_count; k++) {
    const ir_axis *axis = &node->axes[k];
    if (!axis->used) continue;
    int64_t *to = (int64_t *)(void *)exec->at[axis->reg];
    if (node->axis_count == 1) {
      exec->kernels->iota(to, &first, NULL, NULL, (size_t)n);
      continue;
    }
    int64_t inner = 1;
    for (size_t j = k + 1; j < node->axis_count; j++) inner *= node->axes[j].extent;
    int64_t value = first / inner % axis->extent, left = inner - first % inner;
    for (int64_t l = 0; l < n; l++) {
      to[l] = value;
      if (--left) continue;
      left = inner;
      if (++value == axis->extent) value = 0;
    }
  }
}

static bool run_lanes(ir_exec *exec, const ir_instr *i) {
  const ir_node *node = i->info;
  int64_t extent = read_i64(exec, node->extent);
  if (extent <= 0) return true;
  struct active all = save(exec);
  exec->lo = 0;
  exec->hi = extent < IR_STRIP ? extent : IR_STRIP;
  exec->mask = NULL;
  bool ok = ir_exec_code(exec, &node->before);
  for (int64_t first = 0; first < extent && ok; first += IR_STRIP) {
    exec->lo = 0;
    exec->hi = extent - first < IR_STRIP ? extent - first : IR_STRIP;
    exec->mask = NULL;
    *(int64_t *)(void *)exec->at[node->variable] = first;
    fill_axes(exec, node, first, exec->hi);
    ok = ir_exec_count(exec, node->op, (uint64_t)exec->hi * node->body.count) && ir_exec_code(exec, &node->body);
  }
  restore(exec, all);
  return ok;
}

void ir_exec_fill_axes(ir_exec *exec, const ir_node *node) { fill_axes(exec, node, 0, node->lanes); }

bool ir_exec_code(ir_exec *exec, const ir_code *code) {
  const ir_instr *end = code->at + code->count;
  for (const ir_instr *i = code->at; i < end; i++) {
    bool ok = true;
    switch ((ir_instr_kind)i->kind) {
    case IR_I_PURE: pure(exec, i); break;
    case IR_I_SPLAT: splat(exec, i); break;
    case IR_I_BROADCAST:
    case IR_I_RAMP: widen(exec, i); break;
    case IR_I_LOAD: ok = ir_exec_load(exec, i); break;
    case IR_I_STORE: ok = ir_exec_store(exec, i); break;
    case IR_I_ATOMIC: ok = ir_exec_atomic(exec, i); break;
    case IR_I_DIVISOR: ok = check_divisor(exec, i); break;
    case IR_I_ASSERT: ok = check_assert(exec, i); break;
    case IR_I_ALLOC: ok = ir_exec_alloc(exec, i); break;
    case IR_I_BARRIER: ok = ir_exec_barrier(exec, i->info); break;
    case IR_I_FOR: ok = run_for(exec, i); break;
    case IR_I_LANES: ok = run_lanes(exec, i); break;
    case IR_I_WHILE: ok = run_while(exec, i); break;
    case IR_I_IF: ok = run_if(exec, i); break;
    case IR_I_GRID: ok = ir_exec_grid(exec, i); break;
    case IR_I_START: ir_exec_start(exec, i); break;
    case IR_I_STEP: ir_exec_step(exec, i); break;
    case IR_I_TICK: ir_exec_tick(exec, i); break;
    case IR_I_FINISH: ok = ir_exec_finish(exec, i); break;
    case IR_I_MOVE: move(exec, i); break;
    }
    if (!ok) return false;
  }
  return true;
}
