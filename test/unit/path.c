// SPDX-License-Identifier: Apache-2.0
/* base/path: taking paths apart, and every way out of a folder that must be refused. */
#include "base/path.h"
#include "test/unit/check_diags.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static ir_diags *diags;
static ir_arena arena;

static void make(const char *path) {
  FILE *file = fopen(path, "w");
  if (CHECK(file)) fclose(file);
}

static void test_parts(void) {
  CHECK_TEXT(ir_path_folder(&arena, "a/b/c"), "a/b");
  CHECK_TEXT(ir_path_folder(&arena, "a//c"), "a");
  CHECK_TEXT(ir_path_folder(&arena, "/c"), "/");
  CHECK_TEXT(ir_path_folder(&arena, "//c"), "/");
  CHECK_TEXT(ir_path_folder(&arena, "c"), ".");
  CHECK_TEXT(ir_path_folder(&arena, "-"), ".");
  CHECK_TEXT(ir_path_base("a/b.c"), "b.c");
  CHECK_TEXT(ir_path_base("b.c"), "b.c");
  CHECK_TEXT(ir_path_join(&arena, ".", "x"), "x");
  CHECK_TEXT(ir_path_join(&arena, "/", "x"), "/x");
  CHECK_TEXT(ir_path_join(&arena, "a/b", "x"), "a/b/x");
  CHECK_TEXT(ir_path_with_ending(&arena, "m.d/cls.rill", "weights.safetensors"), "m.d/cls.weights.safetensors");
  CHECK_TEXT(ir_path_with_ending(&arena, "m.d/cls", "weights.safetensors"), "m.d/cls.weights.safetensors");
  CHECK_TEXT(ir_path_with_ending(&arena, ".rill", "so"), ".rill.so");
}

static void expect(const char *relative, const char *found, const char *reported) {
  const char *path = ir_path_confined(diags, &arena, "box/model.rill", relative);
  CHECK_TEXT(path ? path : "", found);
  CHECK_DIAGS(diags, reported);
}

static void test_confined(const char *root) {
  CHECK(!mkdir("box", 0755) && !mkdir("box/in", 0755) && !mkdir("box.x", 0755));
  make("box/w"), make("box/in/w"), make("box/..w"), make("secret"), make("box.x/w");
  CHECK(!symlink("../secret", "box/leak") && !symlink("..", "box/up") && !symlink("in/w", "box/fine"));
  CHECK(!symlink("/etc/passwd", "box/etc") && !symlink("../box.x/w", "box/near") && !mkfifo("box/fifo", 0644));
  const char *box = ir_path_join(&arena, root, "box");
  expect("w", ir_path_join(&arena, box, "w"), "");
  expect("in/w", ir_path_join(&arena, box, "in/w"), "");
  expect("./in//../w", ir_path_join(&arena, box, "w"), "");
  expect("..w", ir_path_join(&arena, box, "..w"), "");
  expect("fine", ir_path_join(&arena, box, "in/w"), "");
  expect("", "", "box/model.rill: the path of a file beside it is empty");
  expect("/etc/passwd", "",
         "box/model.rill: '/etc/passwd' is absolute: expected a path relative to this file's folder");
  expect("../secret", "", "box/model.rill: '../secret' leaves this file's folder");
  expect("..", "", "box/model.rill: '..' leaves this file's folder");
  expect("in/../../box/w", "", "box/model.rill: 'in/../../box/w' leaves this file's folder");
  expect("leak", "", "box/model.rill: 'leak' leaves this file's folder through a symbolic link");
  expect("etc", "", "box/model.rill: 'etc' leaves this file's folder through a symbolic link");
  expect("up/secret", "", "box/model.rill: 'up/secret' leaves this file's folder through a symbolic link");
  expect("near", "", "box/model.rill: 'near' leaves this file's folder through a symbolic link");
  expect("missing", "", "box/model.rill: cannot open 'missing' beside it: No such file or directory");
  expect("in", "", "box/model.rill: 'in' is not a regular file");
  expect("fifo", "", "box/model.rill: 'fifo' is not a regular file");
  CHECK_TEXT(ir_path_confined(diags, &arena, "-", "secret"), ir_path_join(&arena, root, "secret"));
  CHECK(!ir_path_confined(diags, &arena, "nowhere/model.rill", "w"));
  CHECK_DIAGS(diags, "nowhere/model.rill: cannot find the folder 'nowhere': No such file or directory");
}

int main(void) {
  char folder[] = "/tmp/rill-path-XXXXXX", command[64];
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  diags = ir_diags_new();
  test_parts();
  char *root = realpath(".", NULL);
  test_confined(root);
  free(root);
  ir_diags_free(diags);
  ir_arena_free(&arena);
  ir_text_free(&check_reported);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(!system(command));
  return CHECK_REPORT("path");
}
