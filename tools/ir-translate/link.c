// SPDX-License-Identifier: Apache-2.0
/* tools/ir-translate/link.c - starts a linker. Needs POSIX processes. */
#include "tools/ir-translate/link.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/output.h"
#include "base/path.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool start(ir_diags *diags, const char *linker, const char *object, const char *library) {
  const char *args[] = {linker, "-shared", "-Wl,-z,noexecstack", "-o", library, object, "-Wl,--as-needed", "-lm", NULL};
  pid_t child;
  int error = posix_spawnp(&child, linker, NULL, NULL, (char *const *)(uintptr_t)args, environ);
  if (error) {
    ir_error_in(diags, "ir-translate", "the linker '%s' cannot be started: %s; --linker names another one", linker, strerror(error));
    return false;
  }
  int status;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  if (WIFEXITED(status) && !WEXITSTATUS(status)) return true;
  ir_error_in(diags, "ir-translate", "the linker '%s' failed with status %d", linker, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return false;
}

static bool write_file(ir_diags *diags, const char *path, ir_slice bytes) {
  ir_output *output = ir_output_open(diags, path);
  if (!output) return false;
  ir_output_bytes(output, bytes.at, bytes.length);
  return ir_output_commit(output);
}

static bool read_file(ir_diags *diags, const char *path, ir_text *bytes) {
  ir_file file;
  if (!ir_file_open(diags, path, &file)) return false;
  ir_text_bytes(bytes, (const char *)file.bytes, file.size);
  ir_file_close(&file);
  return true;
}

bool ir_link_shared(ir_diags *diags, const char *linker, ir_slice object, ir_text *library) {
  ir_arena arena = {0};
  const char *place = getenv("TMPDIR");
  char *folder = ir_arena_printf(&arena, "%s/rill-XXXXXX", place && *place ? place : "/tmp");
  bool made = mkdtemp(folder) != NULL;
  if (!made) ir_error_in(diags, "ir-translate", "no temporary folder '%s': %s", folder, strerror(errno));
  const char *from = ir_path_join(&arena, folder, "model.o"), *to = ir_path_join(&arena, folder, "model.so");
  bool fine = made && write_file(diags, from, object) && start(diags, linker, from, to) && read_file(diags, to, library);
  if (made) {
    unlink(from);
    unlink(to);
    rmdir(folder);
  }
  ir_arena_free(&arena);
  return fine;
}
