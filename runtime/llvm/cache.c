// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/cache.c - objects kept on disk between processes. A file is found by a hash of everything that its code depends
 * on, and holds all of that itself: two programs of one hash are told apart. Nothing here is an error: what cannot be read is
 * made again, what cannot be written is said as a warning. Needs POSIX files. */
#include "ir/print.h"
#include "runtime/llvm/jit.h"

#include "base/file.h"
#include "base/path.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

extern const ir_plugin ir_plugin_llvm;

static const char header[] = "rill objects 1\n";

/* The plugin that makes the code: another build of it may make other code. */
static void put_build(ir_text *key) {
  Dl_info info;
  struct stat file;
  if (!dladdr(&ir_plugin_llvm, &info) || stat(info.dli_fname, &file)) return;
  ir_text_printf(key, "plugin %lld %lld.%09ld\n", (long long)file.st_size, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

void ir_cache_key(const ir_program *program, size_t units, ir_text *key) {
  const emit_target *target = &program->emitted.target;
  put_build(key);
  ir_text_printf(key, "%s\n%s\n%s\nchecked %d measured %d units %zu\n", target->triple, target->cpu, target->features,
                 program->emitted.checked, program->emitted.measured, units);
  /* Messages of compiled code point into the sources. */
  ir_each_item(item, program->module) ir_text_printf(key, "%u %u\n", item->range.begin, item->range.end);
  ir_print_module(key, program->module, &(ir_print_options){.locs = true});
}

static const char *path_of(ir_arena *arena, const char *folder, const ir_text *key) {
  uint64_t hash = ir_hash_bytes(key->at, key->length);
  return ir_path_join(arena, folder, ir_arena_printf(arena, "%016" PRIx64 ".rillobjects", hash));
}

/* --- reading --- */

typedef struct cursor {
  const uint8_t *at;
  size_t left;
} cursor;

static const uint8_t *take(cursor *c, size_t size) {
  if (size > c->left) return NULL;
  const uint8_t *at = c->at;
  c->at += size;
  c->left -= size;
  return at;
}

static bool take_number(cursor *c, uint64_t *value) {
  const uint8_t *at = take(c, sizeof *value);
  if (at) memcpy(value, at, sizeof *value);
  return at != NULL;
}

static size_t read_objects(cursor c, const ir_text *key, LLVMMemoryBufferRef *objects, size_t most) {
  const uint8_t *start = take(&c, sizeof header - 1), *text = NULL;
  uint64_t size, count = 0;
  if (!start || memcmp(start, header, sizeof header - 1) || !take_number(&c, &size) || size != key->length) return 0;
  text = take(&c, (size_t)size);
  if (!text || memcmp(text, key->at, key->length) || !take_number(&c, &count) || count > most) return 0;
  size_t made = 0;
  for (; made < count; made++) {
    const uint8_t *bytes = take_number(&c, &size) ? take(&c, (size_t)size) : NULL;
    if (!bytes) break;
    objects[made] = LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)bytes, (size_t)size, "object");
  }
  if (made == count && !c.left) return made;
  for (size_t i = 0; i < made; i++) LLVMDisposeMemoryBuffer(objects[i]);
  return 0;
}

size_t ir_cache_read(const char *folder, const ir_text *key, LLVMMemoryBufferRef *objects, size_t most) {
  ir_arena arena = {0};
  const char *path = path_of(&arena, folder, key);
  ir_diags *silent = ir_diags_new();
  size_t made = 0;
  ir_file file;
  if (!access(path, R_OK) && ir_file_open(silent, path, &file)) {
    made = read_objects((cursor){file.bytes, file.size}, key, objects, most);
    ir_file_close(&file);
  }
  ir_diags_free(silent);
  ir_arena_free(&arena);
  return made;
}

/* --- writing --- */

static bool put_number(FILE *out, uint64_t value) { return fwrite(&value, sizeof value, 1, out) == 1; }

static bool put_bytes(FILE *out, const void *bytes, size_t size) { return put_number(out, size) && fwrite(bytes, 1, size, out) == size; }

static bool write_objects(FILE *out, const ir_text *key, LLVMMemoryBufferRef const *objects, size_t count) {
  bool fine = fwrite(header, 1, sizeof header - 1, out) == sizeof header - 1 && put_bytes(out, key->at, key->length) && put_number(out, count);
  for (size_t i = 0; i < count && fine; i++) fine = put_bytes(out, LLVMGetBufferStart(objects[i]), LLVMGetBufferSize(objects[i]));
  return fine;
}

static bool write_file(ir_arena *arena, const char *path, const ir_text *key, LLVMMemoryBufferRef const *objects, size_t count) {
  const char *fresh = ir_arena_printf(arena, "%s.%ld", path, (long)getpid());
  FILE *out = fopen(fresh, "wbx");
  if (!out) return false;
  bool fine = write_objects(out, key, objects, count);
  fine = !fclose(out) && fine && !rename(fresh, path);
  if (!fine) unlink(fresh);
  return fine;
}

void ir_cache_write(ir_diags *diags, const char *folder, const ir_text *key, LLVMMemoryBufferRef const *objects, size_t count) {
  ir_arena arena = {0};
  if (mkdir(folder, 0777) && errno != EEXIST) {
    ir_warning(diags, (ir_range){0, 0}, "no cache folder '%s': %s", folder, strerror(errno));
  } else if (!write_file(&arena, path_of(&arena, folder, key), key, objects, count)) {
    ir_warning(diags, (ir_range){0, 0}, "the cache '%s' cannot be written: %s", folder, strerror(errno));
  }
  ir_arena_free(&arena);
}
