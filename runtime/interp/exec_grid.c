// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/exec_grid.c - workgroups. They run one after the other, the invocations of one in lock step, so barriers
 * cost nothing; what a barrier should have ordered and did not is found by remembering who touched each element. */
#include "runtime/interp/exec.h"

#include <inttypes.h>

enum { SEVERAL = UINT32_MAX };

bool ir_exec_grid(ir_exec *exec, const ir_instr *instr) {
  const ir_node *node = instr->info;
  int64_t lo = exec->lo, hi = exec->hi;
  const uint8_t *mask = exec->mask;
  exec->lo = 0;
  exec->hi = exec->grid_lanes = node->lanes;
  exec->mask = NULL;
  exec->grid_epoch = exec->group_epoch = ++exec->epoch;
  ir_exec_fill_axes(exec, node);
  bool ok = ir_exec_code(exec, &node->before) && ir_exec_code(exec, &node->body);
  exec->lo = lo;
  exec->hi = hi;
  exec->mask = mask;
  exec->grid_lanes = 0;
  return ok;
}

void ir_exec_new_group(ir_exec *exec) {
  exec->group_epoch = ++exec->epoch;
  if (!exec->checked) return;
  /* Nothing is left of the group before. */
  for (size_t i = 0; i < exec->plan->buffer_count; i++) {
    const ir_buffer *buffer = &exec->plan->buffers[i];
    if (!exec->owned[i] || (buffer->kind != IR_BUFFER_SHARED && !buffer->own)) continue;
    memset(exec->owned[i]->data, buffer->dtype == IR_BOOL ? 1 : 0xff, exec->owned[i]->size);
  }
}

bool ir_exec_barrier(ir_exec *exec, const ir_op *op) {
  if (!exec->grid_lanes) return true;
  int64_t active = 0;
  for (int64_t lane = exec->lo; lane < exec->hi; lane++) active += !exec->mask || exec->mask[lane];
  bool subgroup = !strcmp(ir_get_word(op, "scope"), "subgroup");
  if (active != exec->grid_lanes) {
    if (subgroup) return true;
    return ir_exec_fail(exec, op, "barrier in divergent control flow: %" PRId64 " of %" PRId64 " invocations reach it", active,
                        exec->grid_lanes);
  }
  exec->epoch++;
  return true;
}

/* Whether what LANE did in EPOCH is not ordered before what LANE ME does now. */
static bool conflicts(const ir_exec *exec, const ir_buffer *buffer, uint32_t epoch, uint32_t lane, uint32_t me) {
  if (epoch < exec->grid_epoch) return false;
  if (epoch < exec->group_epoch) return buffer->kind != IR_BUFFER_SHARED;
  return epoch == exec->epoch && lane != me;
}

static bool report(ir_exec *exec, const ir_access *access, int64_t element, int64_t lane, const char *now, uint32_t other,
                   uint32_t epoch, const char *before) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  ir_text text = {0};
  int64_t rest = element / buffer->width;
  for (uint32_t i = 0; i < buffer->rank; i++) {
    int64_t stride = buffer->strides[i] ? buffer->strides[i] : 1;
    ir_text_printf(&text, "%s%" PRId64, i ? ", " : "", rest / stride);
    rest %= stride;
  }
  bool groups = epoch < exec->group_epoch;
  ir_text who = {0};
  if (groups) ir_text_put(&who, "another workgroup");
  else if (other == SEVERAL) ir_text_put(&who, "other invocations");
  else ir_text_printf(&who, "invocation %u", other);
  bool result = ir_exec_fail(exec, access->op, "race on '%s[%s]': invocation %" PRId64 " %s what %s %s%s", buffer->name,
                             text.at ? text.at : "", lane, now, who.at, before, groups ? "" : " without a barrier in between");
  ir_text_free(&text);
  ir_text_free(&who);
  return result;
}

bool ir_exec_touch(ir_exec *exec, const ir_access *access, int64_t element, int64_t lane, ir_touch_kind kind) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  ir_touch **touches = &exec->touches[access->buffer];
  if (!*touches) {
    size_t size = ir_size_mul((size_t)buffer->count * buffer->width, sizeof **touches);
    *touches = ir_heap_alloc(size);
    memset(*touches, 0, size);
  }
  ir_touch *t = &(*touches)[element];
  uint32_t me = (uint32_t)lane;
  const char *now = kind == IR_TOUCH_READ ? "reads" : "writes";
  bool both_atomic = kind == IR_TOUCH_ATOMIC && t->write_atomic;
  if (t->write_epoch && !both_atomic && conflicts(exec, buffer, t->write_epoch, t->write_lane, me)) {
    return report(exec, access, element, lane, now, t->write_lane, t->write_epoch, "wrote");
  }
  if (kind != IR_TOUCH_READ && t->read_epoch && conflicts(exec, buffer, t->read_epoch, t->read_lane, me)) {
    return report(exec, access, element, lane, now, t->read_lane, t->read_epoch, "read");
  }
  if (kind == IR_TOUCH_READ) {
    bool again = t->read_epoch == exec->epoch && t->read_lane != me;
    t->read_epoch = exec->epoch;
    t->read_lane = again ? SEVERAL : me;
  } else {
    bool again = both_atomic && t->write_epoch == exec->epoch && t->write_lane != me;
    t->write_epoch = exec->epoch;
    t->write_lane = again ? SEVERAL : me;
    t->write_atomic = kind == IR_TOUCH_ATOMIC;
  }
  return true;
}
