/* SPDX-License-Identifier: Apache-2.0
 * What host.c needs of a device; opencl.c and vulkan.c give it. Functions that fail say why and end the program. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stddef.h>
#include <stdint.h>

typedef struct memory memory;

typedef struct slice {
  memory *block;
  size_t offset, bytes; /* of a buffer in its block */
  size_t element;       /* bytes of one of its elements */
} slice;

typedef struct launch {
  const char *entry;
  int64_t groups[3], local[3]; /* workgroups, and invocations in each */
  slice buffers[32];
  size_t buffer_count;
  int64_t scalars[16];
  size_t scalar_count;
} launch;

void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

void device_open(const char *code, size_t length);
memory *device_take(size_t bytes); /* 0: something to point to */
void device_write(slice to, const void *from);
void device_read(void *to, slice from);
void device_copy(slice to, slice from);
void device_launch(const launch *l);

#endif
