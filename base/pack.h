// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_PACK_H
#define RILL_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IR_PACK_ALIGN = 64 };
#define IR_PACK_MOST (INT64_C(1) << 60)

/* Places COUNT blocks of bytes in one: in their order, each at the lowest multiple of IR_PACK_ALIGN where it meets no
 * block before it in the list that is live with it. LIVE holds a first and a last step for each; NULL: all are live all
 * the time. False, with nothing promised of the results, where a size is negative or the total passes IR_PACK_MOST.
 * Compiled code (runtime/llvm/support/memory.c) does the same. */
bool ir_pack(size_t count, const int64_t *bytes, const int64_t *live, int64_t *offsets, int64_t *total);

#endif
