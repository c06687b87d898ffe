// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_VEC_H
#define RILL_BASE_VEC_H

#include "arena.h"

#include <string.h>

/* A growable array on an arena: `ir_vec(int) v = {0}; *ir_push(&arena, &v) = 3;`. Growing copies, so pointers into
 * it do not survive a push. Arrays that grow large should live on an arena that is reset soon. */
#define ir_vec(type) \
  struct { \
    type *at; \
    size_t count, capacity; \
  }

/* Yields a pointer to a new zeroed last element. */
#define ir_push(arena, vec) \
  (ir_vec_reserve((arena), (void **)&(vec)->at, &(vec)->capacity, (vec)->count + 1, sizeof *(vec)->at), \
   &(vec)->at[(vec)->count++])

static inline void ir_vec_reserve(ir_arena *arena, void **at, size_t *capacity, size_t need, size_t size) {
  if (need <= *capacity) return;
  size_t grown = *capacity ? *capacity * 2 : 8;
  if (grown < need) grown = need;
  void *moved = ir_arena_alloc(arena, ir_size_mul(grown, size));
  if (*capacity) memcpy(moved, *at, *capacity * size);
  *at = moved;
  *capacity = grown;
}

#define ir_count_of(array) (sizeof(array) / sizeof *(array))

#endif
