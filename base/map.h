// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_MAP_H
#define RILL_BASE_MAP_H

#include "arena.h"

/* An open-addressing map from non-NULL pointers to pointers, on an arena. A zeroed map is empty. Iteration order is
 * not defined, so nothing that prints may iterate over one. */
typedef struct ir_map {
  struct ir_map_entry {
    const void *key;
    void *value;
  } *entries;
  size_t count, used, capacity; /* used counts removed entries too */
} ir_map;

void *ir_map_get(const ir_map *map, const void *key);
bool ir_map_has(const ir_map *map, const void *key);
/* The slot of KEY, made with a NULL value where it was missing. Valid until the next insertion. */
void **ir_map_slot(ir_arena *arena, ir_map *map, const void *key);
static inline void ir_map_put(ir_arena *arena, ir_map *map, const void *key, void *value) {
  *ir_map_slot(arena, map, key) = value;
}
void ir_map_remove(ir_map *map, const void *key);

/* A table of interned objects found by a hash and a comparison; the hash is stored with each. */
typedef struct ir_interner {
  struct ir_interner_entry {
    uint64_t hash;
    void *object;
  } *entries;
  size_t count, capacity;
} ir_interner;

/* The slot for an object with HASH for which EQUAL(object, key) holds; *slot is NULL where none exists yet, and the
 * caller must then store the new object there. */
void **ir_intern_slot(ir_arena *arena, ir_interner *table, uint64_t hash, const void *key,
                      bool (*equal)(const void *object, const void *key));

static inline uint64_t ir_hash_mix(uint64_t hash, uint64_t value) {
  hash ^= value;
  hash *= UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}
uint64_t ir_hash_bytes(const void *bytes, size_t size);

#endif
