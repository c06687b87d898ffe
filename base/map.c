// SPDX-License-Identifier: Apache-2.0
/* base/map.c - hash tables with linear probing, at most two thirds full. Needs base/arena. */
#include "base/map.h"

#include <string.h>

static const char removed_key;

static size_t home(const void *key, size_t capacity) {
  return (size_t)(ir_hash_mix(0x51, (uint64_t)(uintptr_t)key) >> 7) & (capacity - 1);
}

static struct ir_map_entry *find(const ir_map *map, const void *key) {
  if (!map->capacity) return NULL;
  for (size_t i = home(key, map->capacity);; i = (i + 1) & (map->capacity - 1)) {
    struct ir_map_entry *entry = &map->entries[i];
    if (entry->key == key) return entry;
    if (!entry->key) return NULL;
  }
}

void *ir_map_get(const ir_map *map, const void *key) {
  struct ir_map_entry *entry = find(map, key);
  return entry ? entry->value : NULL;
}

bool ir_map_has(const ir_map *map, const void *key) { return find(map, key) != NULL; }

/* KEY is not in the map. It takes the place of a removed key where it meets one: a key that comes and goes, as on a
 * worklist, must not leave a trail for every later search. */
static struct ir_map_entry *insert(ir_map *map, const void *key) {
  size_t i = home(key, map->capacity);
  while (map->entries[i].key && map->entries[i].key != &removed_key) i = (i + 1) & (map->capacity - 1);
  map->used += !map->entries[i].key;
  map->entries[i].key = key;
  map->count++;
  return &map->entries[i];
}

void **ir_map_slot(ir_arena *arena, ir_map *map, const void *key) {
  struct ir_map_entry *entry = find(map, key);
  if (entry) return &entry->value;
  if ((map->used + 1) * 3 > map->capacity * 2) {
    ir_map grown = {.capacity = map->capacity ? map->capacity : 16};
    while ((map->count + 1) * 3 > grown.capacity) grown.capacity *= 2;
    grown.entries = ir_new_array(arena, struct ir_map_entry, grown.capacity);
    for (size_t i = 0; i < map->capacity; i++) {
      const struct ir_map_entry *old = &map->entries[i];
      if (old->key && old->key != &removed_key) insert(&grown, old->key)->value = old->value;
    }
    *map = grown;
  }
  return &insert(map, key)->value;
}

void ir_map_remove(ir_map *map, const void *key) {
  struct ir_map_entry *entry = find(map, key);
  if (!entry) return;
  *entry = (struct ir_map_entry){&removed_key, NULL};
  map->count--;
}

void **ir_intern_slot(ir_arena *arena, ir_interner *table, uint64_t hash, const void *key,
                      bool (*equal)(const void *object, const void *key)) {
  if ((table->count + 1) * 3 > table->capacity * 2) {
    ir_interner grown = {.count = table->count, .capacity = table->capacity ? table->capacity * 2 : 64};
    grown.entries = ir_new_array(arena, struct ir_interner_entry, grown.capacity);
    for (size_t i = 0; i < table->capacity; i++) {
      if (!table->entries[i].object) continue;
      size_t at = (size_t)table->entries[i].hash & (grown.capacity - 1);
      while (grown.entries[at].object) at = (at + 1) & (grown.capacity - 1);
      grown.entries[at] = table->entries[i];
    }
    *table = grown;
  }
  size_t at = (size_t)hash & (table->capacity - 1);
  for (; table->entries[at].object; at = (at + 1) & (table->capacity - 1)) {
    if (table->entries[at].hash == hash && equal(table->entries[at].object, key)) return &table->entries[at].object;
  }
  table->entries[at].hash = hash;
  table->count++;
  return &table->entries[at].object;
}

uint64_t ir_hash_bytes(const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  uint64_t hash = UINT64_C(0x243f6a8885a308d3) ^ size;
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = ir_hash_mix(hash, word);
  }
  uint64_t tail = 0;
  if (size) memcpy(&tail, at, size);
  return ir_hash_mix(ir_hash_mix(hash, tail), size);
}
