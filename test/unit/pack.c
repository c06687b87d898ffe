// SPDX-License-Identifier: Apache-2.0
/* base/pack: blocks that are live together are apart, whatever the sizes; places by hand. */
#include "base/pack.h"
#include "test/unit/check.h"

static void test_by_hand(void) {
  /* The third fits where the first was, the fourth only behind the second. */
  const int64_t bytes[] = {100, 64, 128, 1, 0}, live[] = {0, 1, 1, 4, 2, 4, 3, 4, 0, 9};
  int64_t offsets[5], total;
  CHECK(ir_pack(5, bytes, live, offsets, &total));
  CHECK(offsets[0] == 0 && offsets[1] == 128 && offsets[2] == 0 && offsets[3] == 192 && total == 256);
  CHECK(ir_pack(4, bytes, NULL, offsets, &total));
  CHECK(offsets[1] == 128 && offsets[2] == 192 && offsets[3] == 320 && total == 384);
  CHECK(ir_pack(0, bytes, NULL, offsets, &total) && total == 0);
  CHECK(!ir_pack(1, (int64_t[]){-1}, NULL, offsets, &total));
  CHECK(!ir_pack(2, (int64_t[]){IR_PACK_MOST, 1}, NULL, offsets, &total));
  CHECK(ir_pack(2, (int64_t[]){IR_PACK_MOST, 1}, (int64_t[]){0, 0, 1, 1}, offsets, &total));
}

static uint64_t state = 1;

static int64_t below(int64_t limit) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((state >> 33) % (uint64_t)limit);
}

static void test_random(void) {
  enum { MOST = 24 };
  for (int round = 0; round < 2000; round++) {
    int64_t bytes[MOST], live[2 * MOST], offsets[MOST], total;
    size_t count = (size_t)below(MOST);
    for (size_t i = 0; i < count; i++) {
      bytes[i] = below(3) ? below(1000) : 64 * below(4);
      live[2 * i] = below(20);
      live[2 * i + 1] = live[2 * i] + below(6);
    }
    CHECK(ir_pack(count, bytes, live, offsets, &total));
    for (size_t i = 0; i < count; i++) {
      CHECK(offsets[i] % IR_PACK_ALIGN == 0 && offsets[i] >= 0 && offsets[i] + bytes[i] <= total);
      for (size_t k = 0; k < i; k++) {
        bool together = live[2 * i] <= live[2 * k + 1] && live[2 * k] <= live[2 * i + 1];
        bool apart = offsets[i] + bytes[i] <= offsets[k] || offsets[k] + bytes[k] <= offsets[i];
        CHECK(!together || apart || !bytes[i] || !bytes[k]);
      }
    }
  }
}

int main(void) {
  test_by_hand();
  test_random();
  return CHECK_REPORT("pack");
}
