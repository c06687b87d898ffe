// SPDX-License-Identifier: Apache-2.0
/* runtime/threads.c - a small pool of threads. Needs pthreads. A worker that has found nothing for a while sleeps; one that
 * wakes up late finds the work done and nobody waiting for it. */
#include "runtime/threads.h"

#include "base/arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST_THREADS = 256, SPINS = 2000 };

struct ir_threads {
  pthread_mutex_t lock;
  pthread_cond_t work;
  pthread_t *workers;
  unsigned count; /* the caller included */
  bool ends;
  /* What is being done. A worker joins under the lock, so that the job cannot end before it is counted. */
  atomic_size_t job; /* number; even: none is open */
  atomic_uint active; /* workers in it */
  atomic_size_t next;
  size_t total;
  void (*body)(void *data, size_t i);
  void *data;
};

static void take_all(ir_threads *t) {
  size_t i;
  while ((i = atomic_fetch_add(&t->next, 1)) < t->total) t->body(t->data, i);
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Looks for a job other than SEEN for a moment. */
static bool finds_job(ir_threads *t, size_t seen) {
  for (int i = 0; i < SPINS; i++) {
    size_t job = atomic_load_explicit(&t->job, memory_order_acquire);
    if (job != seen && job % 2) return true;
    relax();
  }
  return false;
}

static void *work(void *data) {
  ir_threads *t = data;
  size_t seen = 0;
  for (;;) {
    finds_job(t, seen);
    pthread_mutex_lock(&t->lock);
    while (!t->ends && (t->job == seen || t->job % 2 == 0)) pthread_cond_wait(&t->work, &t->lock);
    bool ends = t->ends;
    seen = t->job;
    if (!ends) atomic_fetch_add(&t->active, 1);
    pthread_mutex_unlock(&t->lock);
    if (ends) return NULL;
    take_all(t);
    atomic_fetch_sub_explicit(&t->active, 1, memory_order_release);
  }
}

ir_threads *ir_threads_new(unsigned count) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (!count) count = processors > 0 ? (unsigned)processors : 1;
  if (count > MOST_THREADS) count = MOST_THREADS;
  ir_threads *t = ir_heap_alloc(sizeof *t);
  *t = (ir_threads){.workers = ir_heap_alloc(ir_size_mul(count, sizeof *t->workers)), .count = 1};
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->work, NULL);
  while (t->count < count && !pthread_create(&t->workers[t->count - 1], NULL, work, t)) t->count++;
  return t;
}

void ir_threads_free(ir_threads *t) {
  if (!t) return;
  pthread_mutex_lock(&t->lock);
  t->ends = true;
  pthread_cond_broadcast(&t->work);
  pthread_mutex_unlock(&t->lock);
  for (unsigned i = 0; i + 1 < t->count; i++) pthread_join(t->workers[i], NULL);
  pthread_cond_destroy(&t->work);
  pthread_mutex_destroy(&t->lock);
  ir_heap_free(t->workers);
  ir_heap_free(t);
}

unsigned ir_threads_count(const ir_threads *t) { return t->count; }

void ir_threads_run(ir_threads *t, size_t count, void (*body)(void *data, size_t i), void *data) {
  if (t->count == 1 || count < 2) {
    for (size_t i = 0; i < count; i++) body(data, i);
    return;
  }
  pthread_mutex_lock(&t->lock);
  t->total = count;
  t->body = body;
  t->data = data;
  atomic_store(&t->next, 0);
  atomic_fetch_add_explicit(&t->job, 1, memory_order_release);
  pthread_cond_broadcast(&t->work);
  pthread_mutex_unlock(&t->lock);
  take_all(t);
  /* Closed: who comes now finds nothing and is not waited for. */
  pthread_mutex_lock(&t->lock);
  atomic_fetch_add(&t->job, 1);
  pthread_mutex_unlock(&t->lock);
  while (atomic_load_explicit(&t->active, memory_order_acquire)) relax();
}
