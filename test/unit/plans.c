// SPDX-License-Identifier: Apache-2.0
/* Plans of memory that compiled code keeps: calls with other extents in turn compute none anew. */
#include "runtime/llvm/support/memory.c"

#include "test/unit/check.h"

static const int64_t live[] = {0, 1, 1, 2, 2, 3}, other[] = {0, 3, 1, 2, 2, 3};

/* Three blocks of A, B and A bytes, the first and the last of which may share memory, as LIVE says. */
static int64_t pack_three(rill_context *context, int64_t a, int64_t b, const int64_t *steps, int64_t offsets[3]) {
  const int64_t bytes[] = {a, b, a};
  return rill_support_pack(context, 3, bytes, steps, offsets);
}

static void alternate(rill_context *context) {
  int64_t offsets[3];
  for (int i = 0; i < 6; i++) {
    int64_t a = i % 2 ? 64 : 100, b = i % 2 ? 640 : 10;
    int64_t total = pack_three(context, a, b, live, offsets);
    CHECK(total == (i % 2 ? 704 : 192));
    CHECK(offsets[0] == 0 && offsets[1] == (i % 2 ? 64 : 128) && offsets[2] == 0);
  }
  CHECK(context->plans->made == 2);
}

static void tell_apart(rill_context *context) {
  int64_t offsets[3], made = context->plans->made;
  CHECK(pack_three(context, 64, 640, other, offsets) == 768); /* another host.alloc: all three at a time */
  CHECK(offsets[1] == 64 && offsets[2] == 704 && context->plans->made == made + 1);
  CHECK(pack_three(context, 64, 641, live, offsets) == 768 && context->plans->made == made + 2);
  CHECK(pack_three(context, -1, 640, live, offsets) == -1);
  CHECK(pack_three(context, -1, 640, live, offsets) == -1 && context->plans->made == made + 4); /* a failure is no plan */
}

/* The oldest plan goes. */
static void replace(rill_context *context) {
  int64_t offsets[3];
  context->plans->made = 0;
  for (int64_t i = 0; i < RILL_PLANS + 1; i++) pack_three(context, 64 * (i + 1000), 64, live, offsets);
  CHECK(context->plans->made == RILL_PLANS + 1);
  for (int64_t i = 1; i < RILL_PLANS + 1; i++) pack_three(context, 64 * (i + 1000), 64, live, offsets);
  CHECK(context->plans->made == RILL_PLANS + 1);
  pack_three(context, 64 * 1000, 64, live, offsets);
  CHECK(context->plans->made == RILL_PLANS + 2);
}

static void many_blocks(rill_context *context) {
  enum { MANY = RILL_PLAN_BLOCKS + 1 };
  int64_t bytes[MANY], steps[2 * MANY], offsets[MANY];
  for (int64_t i = 0; i < MANY; i++) {
    bytes[i] = 1;
    steps[2 * i] = steps[2 * i + 1] = i;
  }
  context->plans->made = 0;
  for (int i = 0; i < 2; i++) CHECK(rill_support_pack(context, MANY, bytes, steps, offsets) == 64);
  CHECK(context->plans->made == 2);
  for (int i = 0; i < 2; i++) CHECK(rill_support_pack(context, MANY - 1, bytes, steps, offsets) == 64);
  CHECK(context->plans->made == 3 && offsets[MANY - 2] == 0);
}

int main(void) {
  rill_plans plans = {.next = 0};
  rill_context context = {.plans = &plans};
  alternate(&context);
  tell_apart(&context);
  replace(&context);
  many_blocks(&context);
  return CHECK_REPORT("plans");
}
