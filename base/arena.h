// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_ARENA_H
#define RILL_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bump allocator. Memory is released as a whole (ir_arena_free), or back to a mark (ir_arena_reset).
 * All memory comes back zeroed and aligned to 16 bytes (8 for sizes below 16). Out of memory ends the process
 * with a message: library code never checks for NULL. Alignment of larger blocks: ir_arena_alloc_aligned. */
typedef struct ir_arena_chunk ir_arena_chunk;

typedef struct ir_arena {
  ir_arena_chunk *chunk;
  uint8_t *at, *end;
  size_t allocated; /* bytes handed out since creation, not counting resets */
} ir_arena;

typedef struct ir_arena_mark {
  ir_arena_chunk *chunk;
  uint8_t *at, *end;
} ir_arena_mark;

void *ir_arena_alloc(ir_arena *arena, size_t size);
/* ALIGN is a power of two, at most 4096. */
void *ir_arena_alloc_aligned(ir_arena *arena, size_t size, size_t align);
/* Copies SIZE bytes; a NUL byte follows them. */
void *ir_arena_copy(ir_arena *arena, const void *bytes, size_t size);
char *ir_arena_printf(ir_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
ir_arena_mark ir_arena_get_mark(const ir_arena *arena);
void ir_arena_reset(ir_arena *arena, ir_arena_mark mark);
void ir_arena_free(ir_arena *arena);

#define ir_new(arena, type) ((type *)ir_arena_alloc((arena), sizeof(type)))
#define ir_new_array(arena, type, count) ((type *)ir_arena_alloc((arena), ir_size_mul(sizeof(type), (count))))

/* Product and sum of sizes; overflow ends the process like running out of memory does. */
size_t ir_size_mul(size_t a, size_t b);
size_t ir_size_add(size_t a, size_t b);

/* For the few places that need memory with its own lifetime (base/ and runtime/ only). Never return NULL. */
void *ir_heap_alloc(size_t size);
void *ir_heap_realloc(void *memory, size_t size);
void ir_heap_free(void *memory);

#endif
