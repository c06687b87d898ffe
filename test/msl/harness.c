/* SPDX-License-Identifier: Apache-2.0
 * Runs kernels of a Metal file that clang has compiled for this machine (metal_stdlib): workgroups one after the other, the
 * invocations of one as fibers, which a barrier switches between. Invocations that wait at different barriers, or where some
 * have ended, are a fault of the kernel. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

typedef struct msl_arguments {
  void **buffers;
  const void *scalars;
} msl_arguments;
/* Made for each kernel beside its text. */
typedef void msl_item(const msl_arguments *arguments, const uint32_t *group, const uint32_t *item);

enum { STACK = 1 << 18, MOST = 1024 };

typedef struct fiber {
  ucontext_t context;
  const void *waits; /* the place of the barrier; NULL: it runs, or has ended */
  int ended;
  uint32_t item[3];
} fiber;

static struct {
  msl_item *kernel;
  const msl_arguments *arguments;
  uint32_t group[3];
  fiber fibers[MOST];
  fiber *current;
  ucontext_t scheduler;
  char *stacks;
} run;

void msl_barrier(void);
void msl_barrier(void) {
  fiber *self = run.current;
  if (!self) return; /* a group of one */
  self->waits = __builtin_return_address(0);
  swapcontext(&self->context, &run.scheduler);
}

static void enter(void) {
  fiber *self = run.current;
  run.kernel(run.arguments, run.group, self->item);
  self->ended = 1;
  swapcontext(&self->context, &run.scheduler);
}

static int diverges(uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    if (run.fibers[i].ended != run.fibers[0].ended || run.fibers[i].waits != run.fibers[0].waits) return 1;
  }
  return 0;
}

static int run_group(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    fiber *f = &run.fibers[i];
    f->waits = NULL;
    f->ended = 0;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = run.stacks + (size_t)i * STACK;
    f->context.uc_stack.ss_size = STACK;
    makecontext(&f->context, enter, 0);
  }
  while (!run.fibers[0].ended) {
    for (uint32_t i = 0; i < count; i++) {
      run.current = &run.fibers[i];
      run.current->waits = NULL;
      swapcontext(&run.scheduler, &run.current->context);
    }
    if (diverges(count)) return fprintf(stderr, "barrier divergence\n"), 1;
  }
  return 0;
}

/* 0, or 1 where a barrier diverges. BARRIERS: the kernel has some; without, invocations need no stacks of their own. */
int msl_launch(msl_item *kernel, const msl_arguments *arguments, const int64_t *groups, const uint32_t *local, int barriers);
int msl_launch(msl_item *kernel, const msl_arguments *arguments, const int64_t *groups, const uint32_t *local, int barriers) {
  uint32_t count = local[0] * local[1] * local[2];
  if (count > MOST) return 1;
  run.kernel = kernel;
  run.arguments = arguments;
  if (barriers && !run.stacks) run.stacks = malloc((size_t)STACK * MOST);
  for (uint32_t i = 0; i < count; i++) {
    run.fibers[i].item[0] = i % local[0];
    run.fibers[i].item[1] = i / local[0] % local[1];
    run.fibers[i].item[2] = i / local[0] / local[1];
  }
  for (run.group[2] = 0; run.group[2] < groups[2]; run.group[2]++) {
    for (run.group[1] = 0; run.group[1] < groups[1]; run.group[1]++) {
      for (run.group[0] = 0; run.group[0] < groups[0]; run.group[0]++) {
        if (barriers && count > 1) {
          if (run_group(count)) return 1;
          continue;
        }
        run.current = NULL;
        for (uint32_t i = 0; i < count; i++) kernel(arguments, run.group, run.fibers[i].item);
      }
    }
  }
  return 0;
}
