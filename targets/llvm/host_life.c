// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_life.c - gives memory back after its last use rather than at the end of the region, so that the next
 * allocation gets it while it is in the cache. Values that may be handed on under another name stay. */
#include "targets/llvm/host.h"

/* The operation of REGION that OP is, or is inside of; NULL where it is not under REGION. */
static ir_op *ancestor(ir_op *op, const ir_region *region) {
  while (op && op->region != region) op = op->region->parent;
  return op;
}

static bool renames(const ir_op *op) { return ir_has(op, IR_VIEW) || ir_is(op, IR_TO_DEVICE); }

static bool only_reads(const ir_op *op) {
  return ir_is(op, IR_CALL) || ir_is(op, IR_CALL_TIR) || ir_is(op, IR_SHAPE_OF) || ir_is(op, IR_TENSOR_TO_SHAPE) || ir_is(op, IR_ASSERT) ||
         ir_is(op, IR_SCALAR) || ir_is(op, IR_IF);
}

/* Moves *last on to the last use of VALUE, under any name; false where the memory may outlive them. */
static bool find_last(ir_value *value, const ir_region *region, ir_op **last) {
  ir_each_use(use, value) {
    ir_op *user = use->user, *here = ancestor(user, region);
    if (!here) return false;
    if (ir_op_is_before(*last, here)) *last = here;
    if (renames(user)) {
      if (!find_last(ir_op_result(user, 0), region, last)) return false;
    } else if (!only_reads(user)) {
      return false;
    }
  }
  return true;
}

typedef struct ending {
  host_owner *owner;
  struct ending *next;
} ending;

void host_plan_end(host *h, ir_op *op, ir_value *value, host_owner *owner) {
  ir_op *last = op;
  if (!find_last(value, op->region, &last)) return;
  ending *end = ir_new(&h->f.arena, ending);
  ending **slot = (ending **)ir_map_slot(&h->f.arena, &h->endings, last);
  *end = (ending){owner, *slot};
  *slot = end;
}

static void forget_owner(host *h, const host_owner *owner) {
  size_t kept = 0;
  for (size_t i = 0; i < h->owners.count; i++) {
    if (h->owners.at[i] != owner) h->owners.at[kept++] = h->owners.at[i];
  }
  h->owners.count = kept;
}

void host_end_lives(host *h, const ir_op *op) {
  for (const ending *end = ir_map_get(&h->endings, op); end; end = end->next) {
    emit_release(&h->f, end->owner->slot);
    forget_owner(h, end->owner);
  }
}
