// SPDX-License-Identifier: Apache-2.0
/* base/path.c - taking paths apart, and following paths that a file names without leaving its folder. Needs
 * base/diag; asks the file system. */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *ir_path_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

const char *ir_path_folder(ir_arena *arena, const char *path) {
  size_t length = (size_t)(ir_path_base(path) - path);
  while (length > 1 && path[length - 1] == '/') length--;
  return length ? ir_arena_copy(arena, path, length) : ".";
}

const char *ir_path_join(ir_arena *arena, const char *folder, const char *name) {
  if (!*folder || !strcmp(folder, ".")) return ir_arena_copy(arena, name, strlen(name));
  bool slashed = folder[strlen(folder) - 1] == '/';
  return ir_arena_printf(arena, "%s%s%s", folder, slashed ? "" : "/", name);
}

const char *ir_path_with_ending(ir_arena *arena, const char *path, const char *ending) {
  const char *base = ir_path_base(path), *dot = strrchr(base, '.');
  size_t length = dot && dot > base ? (size_t)(dot - path) : strlen(path);
  return ir_arena_printf(arena, "%.*s.%s", (int)length, path, ending);
}

/* Whether walking RELATIVE from a folder, taken as text, goes above that folder on the way. */
static bool climbs_out(const char *relative) {
  long depth = 0;
  for (const char *at = relative; *at;) {
    size_t length = strcspn(at, "/");
    if (length == 2 && at[0] == '.' && at[1] == '.') {
      if (--depth < 0) return true;
    } else if (length && !(length == 1 && at[0] == '.')) {
      depth++;
    }
    at += length;
    at += strspn(at, "/");
  }
  return false;
}

static bool is_inside(const char *path, const char *folder) {
  size_t length = strlen(folder);
  if (!strcmp(folder, "/")) return true;
  return !strncmp(path, folder, length) && path[length] == '/';
}

const char *ir_path_confined(ir_diags *diags, ir_arena *arena, const char *folder_of, const char *relative) {
  if (!*relative) {
    ir_error_in(diags, folder_of, "the path of a file beside it is empty");
    return NULL;
  }
  if (relative[0] == '/') {
    ir_error_in(diags, folder_of, "'%s' is absolute: expected a path relative to this file's folder", relative);
    return NULL;
  }
  if (climbs_out(relative)) {
    ir_error_in(diags, folder_of, "'%s' leaves this file's folder", relative);
    return NULL;
  }
  const char *folder = ir_path_folder(arena, folder_of);
  char inside[PATH_MAX], found[PATH_MAX];
  struct stat status;
  if (!realpath(folder, inside)) {
    ir_error_in(diags, folder_of, "cannot find the folder '%s': %s", folder, strerror(errno));
    return NULL;
  }
  if (!realpath(ir_path_join(arena, inside, relative), found)) {
    ir_error_in(diags, folder_of, "cannot open '%s' beside it: %s", relative, strerror(errno));
    return NULL;
  }
  if (!is_inside(found, inside)) {
    ir_error_in(diags, folder_of, "'%s' leaves this file's folder through a symbolic link", relative);
    return NULL;
  }
  if (stat(found, &status) || !S_ISREG(status.st_mode)) {
    ir_error_in(diags, folder_of, "'%s' is not a regular file", relative);
    return NULL;
  }
  return ir_arena_copy(arena, found, strlen(found));
}
