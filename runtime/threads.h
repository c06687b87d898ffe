// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_THREADS_H
#define RILL_RUNTIME_THREADS_H

#include <stddef.h>

/* Threads that wait for work. The caller of ir_threads_run works too, waits only for threads that have taken something, and
 * is done alone where none woke up in time. One call at a time. */
typedef struct ir_threads ir_threads;

/* COUNT threads, the caller included; fewer where the system gives no more. 0: as many as there are processors. */
ir_threads *ir_threads_new(unsigned count);
void ir_threads_free(ir_threads *threads); /* takes NULL */
unsigned ir_threads_count(const ir_threads *threads);

/* Calls BODY(data, i) once for every i below COUNT, in any order, and returns when all are done. */
void ir_threads_run(ir_threads *threads, size_t count, void (*body)(void *data, size_t i), void *data);

#endif
