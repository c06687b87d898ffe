/* SPDX-License-Identifier: Apache-2.0
 * What host.c needs of a device; opencl.c and vulkan.c give it. What fails says why and ends the program. */
#include <err.h>
#include <string.h>

/* Bytes of device memory; between buffers; buffers, and scalars, of a kernel. */
enum { ROOM = 256 << 20, ALIGN = 256, MOST = 16 };

typedef struct slice { long long at, bytes, element; } slice; /* where in the memory; bytes of one element */

typedef struct launch {
  const char *entry;
  long long groups[3], local[3]; /* workgroups, and invocations in each */
  slice buffers[MOST];
  long long scalars[MOST];
  unsigned buffer_count, scalar_count;
} launch;

void device_open(const char *code, size_t length);
void device_write(slice to, const void *from);
void device_read(void *to, slice from);
void device_launch(const launch *l); /* after all that came before it */
