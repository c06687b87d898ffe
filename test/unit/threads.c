// SPDX-License-Identifier: Apache-2.0
/* runtime/threads: every index once, whatever the counts; many jobs in a row; pools come and go. */
#include "runtime/threads.h"

#include "test/unit/check.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { MOST = 1000 };
static atomic_int hits[MOST];

static void hit(void *data, size_t i) {
  (void)data;
  atomic_fetch_add(&hits[i], 1);
}

static bool all_are(size_t count, int times) {
  bool fine = true;
  for (size_t i = 0; i < MOST; i++) fine &= hits[i] == (i < count ? times : 0);
  for (size_t i = 0; i < MOST; i++) hits[i] = 0;
  return fine;
}

static void test_counts(unsigned threads) {
  ir_threads *pool = ir_threads_new(threads);
  CHECK(threads ? ir_threads_count(pool) == threads : ir_threads_count(pool) >= 1);
  static const size_t counts[] = {0, 1, 2, 3, 64, MOST};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    ir_threads_run(pool, counts[i], hit, NULL);
    CHECK(all_are(counts[i], 1));
  }
  for (int round = 0; round < 3000; round++) ir_threads_run(pool, 7, hit, NULL);
  CHECK(all_are(7, 3000));
  ir_threads_free(pool);
}

int main(void) {
  static const unsigned threads[] = {0, 1, 2, 3, 7, 16};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) test_counts(threads[i]);
  for (int i = 0; i < 50; i++) ir_threads_free(ir_threads_new(4));
  ir_threads_free(NULL);
  return CHECK_REPORT("threads");
}
