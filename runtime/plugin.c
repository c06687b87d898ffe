// SPDX-License-Identifier: Apache-2.0
/* runtime/plugin.c - loads a backend on demand. Needs dlopen and /proc/self/exe. */
#include "runtime/plugin.h"

#include "base/vec.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static const struct {
  const char *name, *package;
} packages[] = {{"llvm", "libllvm19"}, {"spirv", "libstdc++6"}, {"opencl", "ocl-icd-libopencl1"}, {"vulkan", "libvulkan1"}};

static const char *package_of(const char *name) {
  for (size_t i = 0; i < ir_count_of(packages); i++) {
    if (!strcmp(packages[i].name, name)) return packages[i].package;
  }
  return NULL;
}

/* The folder of plugins, on the arena; NULL where the executable's path is not to be had. */
static const char *folder(ir_arena *arena) {
  const char *given = getenv("RILL_PLUGINS");
  if (given) return given;
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  char *slash = strrchr(path, '/');
  if (!slash) return NULL;
  return ir_arena_printf(arena, "%.*s/../lib/rill", (int)(slash - path), path);
}

static const char *path_of(ir_arena *arena, const char *name) {
  const char *from = folder(arena);
  return ir_arena_printf(arena, "%s/rill-%s.so", from ? from : ".", name);
}

bool ir_plugin_is_built(const char *name) {
  ir_arena arena = {0};
  bool found = !access(path_of(&arena, name), F_OK);
  ir_arena_free(&arena);
  return found;
}

const ir_plugin *ir_plugin_load(ir_diags *diags, const char *name) {
  ir_arena arena = {0};
  const char *path = path_of(&arena, name), *package = package_of(name);
  const ir_plugin *plugin = NULL;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    ir_error_in(diags, path, "cannot load the %s backend: %s%s%s%s", name, dlerror(), package ? " (it needs the package '" : "",
                package ? package : "", package ? "')" : "");
  } else {
    const char *symbol = ir_arena_printf(&arena, "ir_plugin_%s", name);
    plugin = dlsym(library, symbol);
    if (!plugin || plugin->version != IR_PLUGIN_VERSION) {
      ir_error_in(diags, path, "not a %s backend of this version", name);
      plugin = NULL;
    }
  }
  ir_arena_free(&arena);
  return plugin;
}
