// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/support/memory.c - sizes and places of memory that emitted code asks for. */
#include "support.h"

static bool live_together(const int64_t *live, int64_t a, int64_t b) {
  return live[2 * a] <= live[2 * b + 1] && live[2 * b] <= live[2 * a + 1];
}

static int64_t padded(int64_t bytes) { return (bytes + (RILL_ALIGN - 1)) & -(int64_t)RILL_ALIGN; }

static int64_t pack(int64_t count, const int64_t *bytes, const int64_t *live, int64_t *offsets) {
  const int64_t most = INT64_C(1) << 60;
  int64_t total = 0;
  for (int64_t i = 0; i < count; i++) {
    if (bytes[i] < 0 || bytes[i] > most) return -1;
    int64_t at = 0, size = padded(bytes[i]);
    for (int64_t k = 0; k < i;) {
      int64_t end = offsets[k] + padded(bytes[k]);
      bool meets = live_together(live, i, k) && at < end && offsets[k] < at + size;
      if (meets) at = end;
      k = meets ? 0 : k + 1;
    }
    offsets[i] = at;
    if (at + size > total) total = at + size;
    if (total > most) return -1;
  }
  return total;
}

static bool is_plan_of(const struct rill_plan *plan, int64_t count, const int64_t *bytes, const int64_t *live) {
  if (plan->live != live || plan->count != count) return false;
  for (int64_t i = 0; i < count; i++) {
    if (plan->bytes[i] != bytes[i]) return false;
  }
  return true;
}

int64_t rill_support_pack(rill_context *context, int64_t count, const int64_t *bytes, const int64_t *live, int64_t *offsets) {
  rill_plans *plans = context->plans;
  for (int64_t i = 0; i < RILL_PLANS; i++) {
    const struct rill_plan *plan = &plans->at[i];
    if (!is_plan_of(plan, count, bytes, live)) continue;
    memcpy(offsets, plan->offsets, (size_t)count * sizeof *offsets);
    return plan->total;
  }
  plans->made++;
  int64_t total = pack(count, bytes, live, offsets);
  if (total < 0 || count > RILL_PLAN_BLOCKS) return total;
  struct rill_plan *plan = &plans->at[plans->next];
  plans->next = (plans->next + 1) % RILL_PLANS;
  plan->live = live;
  plan->count = count;
  plan->total = total;
  memcpy(plan->bytes, bytes, (size_t)count * sizeof *bytes);
  memcpy(plan->offsets, offsets, (size_t)count * sizeof *offsets);
  return total;
}

void *rill_support_allocate(rill_context *context, const int64_t *dims, int64_t rank, int64_t bits, const rill_failure *failure) {
  int64_t product = 1;
  bool empty = false, bad = false;
  for (int64_t i = 0; i < rank; i++) {
    empty |= dims[i] == 0;
    /* A zero must not hide extents that overflow together. */
    int64_t extent = dims[i] ? dims[i] : 1;
    bad |= extent < 0 || extent > RILL_MOST_ELEMENTS || __builtin_mul_overflow(product, extent, &product) || product > RILL_MOST_ELEMENTS;
  }
  if (bad) {
    context->fail(context, failure, dims);
    return NULL;
  }
  return context->alloc(context, empty ? 0 : (product * bits + 7) / 8);
}
