// SPDX-License-Identifier: Apache-2.0
/* base/arena.c - bump allocation from chunks that double up to 1 MiB. Needs nothing. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ir_arena_chunk {
  ir_arena_chunk *previous;
  size_t size;
  uint8_t data[];
};

static void *out_of_memory(void) {
  fputs("rill: out of memory\n", stderr);
  abort();
}

void *ir_heap_alloc(size_t size) {
  void *memory = malloc(size ? size : 1);
  return memory ? memory : out_of_memory();
}

void *ir_heap_realloc(void *memory, size_t size) {
  void *moved = realloc(memory, size ? size : 1);
  return moved ? moved : out_of_memory();
}

void ir_heap_free(void *memory) { free(memory); }

size_t ir_size_mul(size_t a, size_t b) {
  size_t product;
  if (__builtin_mul_overflow(a, b, &product)) out_of_memory();
  return product;
}

size_t ir_size_add(size_t a, size_t b) {
  size_t sum;
  if (__builtin_add_overflow(a, b, &sum)) out_of_memory();
  return sum;
}

static void grow(ir_arena *arena, size_t need) {
  size_t size = arena->chunk ? arena->chunk->size * 2 : 4096;
  if (size > (size_t)1 << 20) size = (size_t)1 << 20;
  if (size < need) size = need;
  ir_arena_chunk *chunk = ir_heap_alloc(ir_size_add(sizeof *chunk, size));
  chunk->previous = arena->chunk;
  chunk->size = size;
  arena->chunk = chunk;
  arena->at = chunk->data;
  arena->end = chunk->data + size;
}

void *ir_arena_alloc_aligned(ir_arena *arena, size_t size, size_t align) {
  uintptr_t at = ((uintptr_t)arena->at + align - 1) & ~(uintptr_t)(align - 1);
  if (!arena->at || at > (uintptr_t)arena->end || (uintptr_t)arena->end - at < size) {
    grow(arena, ir_size_add(size, align));
    at = ((uintptr_t)arena->at + align - 1) & ~(uintptr_t)(align - 1);
  }
  arena->at = (uint8_t *)at + size;
  arena->allocated += size;
  return memset((void *)at, 0, size);
}

void *ir_arena_alloc(ir_arena *arena, size_t size) {
  return ir_arena_alloc_aligned(arena, size, size < 16 ? 8 : 16);
}

void *ir_arena_copy(ir_arena *arena, const void *bytes, size_t size) {
  char *copy = ir_arena_alloc(arena, ir_size_add(size, 1));
  if (size) memcpy(copy, bytes, size);
  return copy;
}

char *ir_arena_printf(ir_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = ir_arena_alloc(arena, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

ir_arena_mark ir_arena_get_mark(const ir_arena *arena) {
  return (ir_arena_mark){arena->chunk, arena->at, arena->end};
}

void ir_arena_reset(ir_arena *arena, ir_arena_mark mark) {
  while (arena->chunk != mark.chunk) {
    ir_arena_chunk *chunk = arena->chunk;
    arena->chunk = chunk->previous;
    ir_heap_free(chunk);
  }
  arena->at = mark.at;
  arena->end = mark.end;
}

void ir_arena_free(ir_arena *arena) {
  ir_arena_reset(arena, (ir_arena_mark){0});
  *arena = (ir_arena){0};
}
