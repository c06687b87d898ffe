// SPDX-License-Identifier: Apache-2.0
/* runtime/stats.c - launches of a run, by kernel. */
#include "runtime/stats.h"

#include "base/vec.h"

#include <time.h>

/* A kernel's name and its place. */
struct named {
  const char *name;
  size_t place;
};

static bool same_name(const void *object, const void *key) { return !strcmp(((const struct named *)object)->name, key); }

double ir_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void ir_recorder_reset(ir_recorder *recorder) {
  ir_arena_free(&recorder->arena);
  *recorder = (ir_recorder){0};
}

void ir_recorder_note(ir_recorder *r, const char *kernel, uint64_t bytes, double seconds) {
  void **slot = ir_intern_slot(&r->arena, &r->names, ir_hash_bytes(kernel, strlen(kernel)), kernel, same_name);
  if (!*slot) {
    struct named *named = ir_new(&r->arena, struct named);
    *named = (struct named){ir_arena_copy(&r->arena, kernel, strlen(kernel)), r->count};
    *ir_push(&r->arena, r) = (ir_kernel_stats){.name = named->name};
    *slot = named;
  }
  ir_kernel_stats *stats = &r->at[((const struct named *)*slot)->place];
  stats->launches++;
  stats->bytes_moved += bytes;
  stats->seconds += seconds;
}

ir_run_stats ir_recorder_stats(const ir_recorder *r, uint64_t peak) {
  ir_run_stats all = {.peak_bytes = peak, .kernels = r->at, .kernel_count = r->count};
  for (size_t i = 0; i < r->count; i++) {
    all.launches += r->at[i].launches;
    all.bytes_moved += r->at[i].bytes_moved;
  }
  return all;
}
