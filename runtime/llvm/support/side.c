// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/support/side.c - the side file in memory, by what every POSIX system has. Only models that have such a file
 * are linked with this. */
#include "support.h"

int open(const char *path, int flags, ...);
int64_t lseek(int file, int64_t offset, int whence);
void *mmap(void *at, size_t bytes, int protection, int flags, int file, int64_t offset);
int munmap(void *at, size_t bytes);
int close(int file);

enum { READ_ONLY = 0, FROM_END = 2, READABLE = 1, PRIVATE = 2 };

const void *rill_support_map(const char *path, int64_t bytes) {
  int file = open(path, READ_ONLY);
  if (file < 0) return NULL;
  void *memory = lseek(file, 0, FROM_END) == bytes ? mmap(NULL, (size_t)bytes, READABLE, PRIVATE, file, 0) : NULL;
  close(file);
  return memory == (void *)-1 ? NULL : memory;
}

void rill_support_unmap(const void *memory, int64_t bytes) { munmap((void *)(uintptr_t)memory, (size_t)bytes); }
