// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/pool.c - memory of compiled programs. A run takes and gives back the same blocks as the one before it, so
 * they are kept: fresh pages cost more than most kernels. */
#include "runtime/llvm/jit.h"

#include <stdlib.h>

struct ir_block {
  ir_block *next;
  size_t size; /* of what follows the header */
};

enum { HEADER = 64, ALIGNMENT = 64 };

static ir_block *block_of(void *memory) { return (ir_block *)(void *)((uint8_t *)memory - HEADER); }

static void *memory_of(ir_block *block) { return (uint8_t *)block + HEADER; }

/* The smallest block of at least SIZE bytes, taken out of the list; not one that would mostly stay unused. */
static ir_block *find(ir_pool *pool, size_t size) {
  ir_block **best = NULL;
  for (ir_block **at = &pool->free; *at; at = &(*at)->next) {
    bool fits = (*at)->size >= size && (*at)->size / 2 <= size;
    if (fits && (!best || (*at)->size < (*best)->size)) best = at;
    if (fits && (*at)->size == size) break;
  }
  if (!best) return NULL;
  ir_block *found = *best;
  *best = found->next;
  pool->kept -= found->size;
  return found;
}

static void *handed_out(ir_pool *pool, ir_block *block) {
  pool->used += block->size;
  if (pool->used > pool->peak) pool->peak = pool->used;
  return memory_of(block);
}

void *ir_pool_take(ir_pool *pool, size_t bytes) {
  size_t size = bytes < ALIGNMENT ? ALIGNMENT : bytes;
  ir_block *block = find(pool, size);
  if (block) return handed_out(pool, block);
  void *raw = NULL;
  if (size > SIZE_MAX - HEADER || posix_memalign(&raw, ALIGNMENT, size + HEADER)) return NULL;
  block = raw;
  *block = (ir_block){.size = size};
  return handed_out(pool, block);
}

void ir_pool_give(ir_pool *pool, void *memory) {
  if (!memory) return;
  ir_block *block = block_of(memory);
  block->next = pool->free;
  pool->free = block;
  pool->kept += block->size;
  pool->used -= block->size < pool->used ? block->size : pool->used;
}

void ir_pool_drop(void *memory) {
  if (memory) free(block_of(memory));
}

void ir_pool_empty(ir_pool *pool) {
  while (pool->free) {
    ir_block *block = pool->free;
    pool->free = block->next;
    free(block);
  }
  pool->kept = 0;
}
