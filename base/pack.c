// SPDX-License-Identifier: Apache-2.0
/* base/pack.c - where blocks of memory go that are not all live at the same time. */
#include "base/pack.h"

static bool live_together(const int64_t *live, size_t a, size_t b) {
  return !live || (live[2 * a] <= live[2 * b + 1] && live[2 * b] <= live[2 * a + 1]);
}

static int64_t padded(int64_t bytes) { return (bytes + (IR_PACK_ALIGN - 1)) & -(int64_t)IR_PACK_ALIGN; }

bool ir_pack(size_t count, const int64_t *bytes, const int64_t *live, int64_t *offsets, int64_t *total) {
  *total = 0;
  for (size_t i = 0; i < count; i++) {
    if (bytes[i] < 0 || bytes[i] > IR_PACK_MOST) return false;
    int64_t at = 0;
    for (size_t k = 0; k < i;) {
      int64_t end = offsets[k] + padded(bytes[k]);
      bool meets = live_together(live, i, k) && at < end && offsets[k] < at + padded(bytes[i]);
      /* What was passed already may meet the new place. */
      if (meets) at = end;
      k = meets ? 0 : k + 1;
    }
    offsets[i] = at;
    int64_t end = at + padded(bytes[i]);
    if (end > *total) *total = end;
    if (end > IR_PACK_MOST) return false;
  }
  return true;
}
