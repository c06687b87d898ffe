// SPDX-License-Identifier: Apache-2.0
/* test/fuzz/replay.c - the main of a fuzz target built without libFuzzer: runs it over the files that its arguments
 * name, folders included, each in a process of its own with a time limit, and prints `fuzz-NAME: N passed, N failed`.
 */
#include "base/str.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct tally {
  int passed, failed;
} tally;

static int run(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return 1;
  uint8_t *bytes = NULL;
  size_t size = 0, capacity = 0, got = 1;
  while (got) {
    if (size == capacity) bytes = ir_heap_realloc(bytes, capacity = capacity ? capacity * 2 : 4096);
    got = fread(bytes + size, 1, capacity - size, file);
    size += got;
  }
  fclose(file);
  /* The target sees a block of exactly this size, so that a sanitizer notices a read past its end. */
  uint8_t *exact = ir_heap_alloc(size);
  memcpy(exact, bytes, size);
  ir_heap_free(bytes);
  LLVMFuzzerTestOneInput(exact, size);
  ir_heap_free(exact);
  return 0;
}

static void replay(tally *counts, const char *path) {
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    alarm(SECONDS);
    exit(run(path));
  }
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  if (!status) {
    counts->passed++;
  } else {
    counts->failed++;
    bool signalled = child > 0 && WIFSIGNALED(status);
    printf("%s: %s %d\n", path, signalled ? "ended by signal" : "ended with status",
           signalled ? WTERMSIG(status) : WEXITSTATUS(status));
  }
}

static void replay_all(tally *counts, const char *path) {
  struct stat status;
  if (stat(path, &status) || !S_ISDIR(status.st_mode)) {
    replay(counts, path);
    return;
  }
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    if (entries[i]->d_name[0] != '.') {
      ir_text inner = {0};
      ir_text_printf(&inner, "%s/%s", path, entries[i]->d_name);
      replay_all(counts, inner.at);
      ir_text_free(&inner);
    }
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}

int main(int argc, char **argv) {
  tally counts = {0};
  for (int i = 1; i < argc; i++) replay_all(&counts, argv[i]);
  const char *slash = strrchr(argv[0], '/');
  printf("fuzz-%s: %d passed, %d failed\n", slash ? slash + 1 : argv[0], counts.passed, counts.failed);
  return counts.failed || !counts.passed;
}
