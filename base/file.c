// SPDX-License-Identifier: Apache-2.0
/* base/file.c - whole files as bytes, mapped where large. Needs base/diag; reads files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAP_FROM = 1 << 16 };

static bool read_all(ir_diags *diags, int fd, const char *name, size_t expected, ir_file *file) {
  size_t size = 0, capacity = expected + 1;
  uint8_t *bytes = ir_heap_alloc(capacity);
  for (;;) {
    if (size == capacity) bytes = ir_heap_realloc(bytes, capacity = ir_size_mul(capacity, 2));
    ssize_t got = read(fd, bytes + size, capacity - size);
    if (got < 0 && errno == EINTR) continue;
    if (!got) break;
    if (got > 0) size += (size_t)got;
    if (got > 0 && size <= IR_FILE_MAX_STREAM) continue;
    if (got < 0) {
      ir_error_in(diags, name, "cannot read: %s", strerror(errno));
    } else {
      ir_error_in(diags, name, "more than %zu bytes from something that is not a regular file", IR_FILE_MAX_STREAM);
    }
    ir_heap_free(bytes);
    return false;
  }
  *file = (ir_file){bytes, size, 0};
  return true;
}

static bool read_open(ir_diags *diags, int fd, const char *name, ir_file *file) {
  struct stat status;
  if (fstat(fd, &status)) {
    ir_error_in(diags, name, "cannot read: %s", strerror(errno));
    return false;
  }
  if (S_ISREG(status.st_mode) && status.st_size >= MAP_FROM && lseek(fd, 0, SEEK_CUR) == 0) {
    size_t size = (size_t)status.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED) {
      *file = (ir_file){bytes, size, size};
      return true;
    }
  }
  return read_all(diags, fd, name, MAP_FROM, file);
}

bool ir_file_open(ir_diags *diags, const char *path, ir_file *file) {
  if (!strcmp(path, "-")) return read_open(diags, STDIN_FILENO, "<stdin>", file);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    ir_error_in(diags, path, "cannot open: %s", strerror(errno));
    return false;
  }
  bool read = read_open(diags, fd, path, file);
  close(fd);
  return read;
}

void ir_file_close(ir_file *file) {
  if (file->mapped) {
    munmap((void *)(uintptr_t)file->bytes, file->mapped);
  } else {
    ir_heap_free((void *)(uintptr_t)file->bytes);
  }
  *file = (ir_file){0};
}
