// SPDX-License-Identifier: Apache-2.0
/* base/output and base/file: what is left in the file system after each way to end an output. */
#include "base/output.h"
#include "base/file.h"
#include "test/unit/check_diags.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static ir_diags *diags;

static bool file_is(const char *path, const char *text) {
  ir_file file;
  if (!ir_file_open(diags, path, &file)) return false;
  bool same = file.size == strlen(text) && !memcmp(file.bytes, text, file.size);
  ir_file_close(&file);
  return same;
}

static void put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
}

static unsigned entries(const char *folder) {
  DIR *listing = opendir(folder);
  unsigned count = 0;
  for (struct dirent *entry; (entry = readdir(listing));) count += entry->d_name[0] != '.' || entry->d_name[1] == 'r';
  closedir(listing);
  return count;
}

static mode_t mode_of(const char *path) {
  struct stat status;
  return stat(path, &status) ? 0 : status.st_mode & 07777;
}

static void test_files(void) {
  umask(022);
  ir_output *output = ir_output_open(diags, "new");
  if (!CHECK(output)) return;
  CHECK_TEXT(ir_output_target(output), "new");
  ir_output_text(output, "one ");
  ir_output_printf(output, "%d", 2);
  CHECK(ir_output_size(output) == 5);
  CHECK(access("new", F_OK));
  CHECK(ir_output_commit(output));
  CHECK(file_is("new", "one 2"));
  CHECK(mode_of("new") == 0644);
  CHECK(entries(".") == 1);

  CHECK(!chmod("new", 0751));
  output = ir_output_open(diags, "./new");
  ir_output_text(output, "three");
  CHECK(file_is("new", "one 2"));
  CHECK(ir_output_commit(output));
  CHECK(file_is("new", "three"));
  CHECK(mode_of("new") == 0751);

  output = ir_output_open(diags, "new");
  ir_output_text(output, "never seen");
  ir_output_discard(output);
  CHECK(file_is("new", "three"));
  output = ir_output_open(diags, "other");
  ir_output_text(output, "never seen");
  ir_output_discard(output);
  CHECK(access("other", F_OK));
  CHECK(entries(".") == 1);

  output = ir_output_open(diags, "empty");
  CHECK(ir_output_commit(output));
  CHECK(file_is("empty", ""));
  CHECK_DIAGS(diags, "");
}

static void test_large(void) {
  enum { PART = 700001, PARTS = 7 };
  char *part = malloc(PART);
  ir_output *output = ir_output_open(diags, "large");
  for (int i = 0; i < PARTS; i++) {
    memset(part, 'a' + i, PART);
    ir_output_bytes(output, part, PART);
  }
  ir_output_zeros(output, 3 * IR_OUTPUT_HOLD + 5);
  CHECK(ir_output_commit(output));
  free(part);
  ir_file file;
  if (!CHECK(ir_file_open(diags, "large", &file))) return;
  CHECK(file.mapped);
  CHECK(file.size == (size_t)PART * PARTS + 3 * IR_OUTPUT_HOLD + 5);
  for (size_t i = 0; i < PARTS; i++) {
    CHECK(file.bytes[i * PART] == 'a' + i && file.bytes[i * PART + PART - 1] == 'a' + i);
  }
  CHECK(file.bytes[(size_t)PART * PARTS] == 0 && file.bytes[file.size - 1] == 0);
  /* The mapping outlives the replacement of the file. */
  output = ir_output_open(diags, "large");
  ir_output_text(output, "small");
  CHECK(ir_output_commit(output));
  CHECK(file.bytes[0] == 'a' && file.bytes[PART] == 'b');
  ir_file_close(&file);
  CHECK(!unlink("large"));
}

static void test_links(void) {
  CHECK(!mkdir("folder", 0755));
  put("folder/real", "old");
  CHECK(!symlink("folder/second", "first"));
  CHECK(!symlink("real", "folder/second"));
  ir_output *output = ir_output_open(diags, "first");
  if (!CHECK(output)) return;
  CHECK_TEXT(ir_output_target(output), "folder/real");
  ir_output_text(output, "new");
  CHECK(ir_output_commit(output));
  CHECK(file_is("folder/real", "new"));
  struct stat status;
  CHECK(!lstat("first", &status) && S_ISLNK(status.st_mode));
  CHECK(!lstat("folder/second", &status) && S_ISLNK(status.st_mode));
  CHECK(entries("folder") == 2);

  CHECK(!symlink("folder/made", "dangling"));
  output = ir_output_open(diags, "dangling");
  ir_output_text(output, "made");
  CHECK(ir_output_commit(output));
  CHECK(file_is("folder/made", "made"));
  CHECK(!lstat("dangling", &status) && S_ISLNK(status.st_mode));

  CHECK(!symlink("loop", "loop"));
  CHECK(!ir_output_open(diags, "loop"));
  CHECK_DIAGS(diags, "loop: cannot open: Too many levels of symbolic links");
}

static void test_refused(void) {
  CHECK(!ir_output_open(diags, "folder"));
  CHECK_DIAGS(diags, "folder: cannot open: Is a directory");
  CHECK(!ir_output_open(diags, "folder/"));
  CHECK_DIAGS(diags, "folder/: cannot open: Is a directory");
  CHECK(!ir_output_open(diags, "."));
  CHECK_DIAGS(diags, ".: cannot open: Is a directory");
  CHECK(!ir_output_open(diags, ""));
  CHECK_DIAGS(diags, ": cannot open: No such file or directory");
  CHECK(!ir_output_open(diags, "missing/file"));
  CHECK_DIAGS(diags, "missing/file: cannot open its folder: No such file or directory");
  CHECK(!ir_output_open(diags, "new/file"));
  CHECK_DIAGS(diags, "new/file: cannot open: Not a directory");
  if (geteuid()) {
    CHECK(!chmod("new", 0444));
    CHECK(!ir_output_open(diags, "new"));
    CHECK_DIAGS(diags, "new: cannot open: Permission denied");
    CHECK(!chmod("new", 0644));
  }
}

static void test_in_place(void) {
  ir_output *output = ir_output_open(diags, "/dev/null");
  if (!CHECK(output)) return;
  CHECK(!ir_output_target(output));
  ir_output_text(output, "gone");
  CHECK(ir_output_commit(output));
  struct stat status;
  CHECK(!stat("/dev/null", &status) && S_ISCHR(status.st_mode));

  CHECK(!mkfifo("fifo", 0644));
  int reader = open("fifo", O_RDONLY | O_NONBLOCK);
  output = ir_output_open(diags, "fifo");
  ir_output_text(output, "through");
  CHECK(ir_output_commit(output));
  char got[16] = {0};
  CHECK(read(reader, got, sizeof got) == 7 && !strcmp(got, "through"));
  CHECK(!lstat("fifo", &status) && S_ISFIFO(status.st_mode));

  /* What was held back is not seen after a discard. */
  output = ir_output_open(diags, "fifo");
  ir_output_text(output, "never seen");
  ir_output_discard(output);
  CHECK(read(reader, got, sizeof got) == 0);

  /* A closed pipe is a report and no signal, now and later. */
  output = ir_output_open(diags, "fifo");
  close(reader);
  ir_output_text(output, "nobody");
  CHECK(!ir_output_commit(output));
  CHECK_DIAGS(diags, "fifo: cannot write: Broken pipe");
  CHECK_DIAGS(diags, "");

  if (!access("/dev/full", W_OK)) {
    output = ir_output_open(diags, "/dev/full");
    ir_output_zeros(output, 3 * IR_OUTPUT_HOLD);
    CHECK(!ir_output_ok(output));
    ir_output_text(output, "more");
    CHECK(!ir_output_commit(output));
    CHECK_DIAGS(diags, "/dev/full: cannot write: No space left on device");
  }
}

/* /dev/stdout redirected to a file continues where the file stands, whatever the shell made of it. */
static void test_standard_output(const char *path) {
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    int fd = open("redirected", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (write(fd, "before ", 7) != 7 || dup2(fd, 1) != 1) _exit(1);
    ir_output *output = ir_output_open(diags, path);
    if (!output || ir_output_target(output)) _exit(2);
    ir_output_text(output, "inside ");
    if (!ir_output_commit(output) || write(1, "after", 5) != 5) _exit(3);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(file_is("redirected", "before inside after"));
}

static void test_size_limit(void) {
  pid_t child = fork();
  if (!child) {
    struct rlimit limit = {1 << 20, 1 << 20};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    ir_output *output = ir_output_open(diags, "new");
    ir_output_zeros(output, 4 << 20);
    bool done = ir_output_commit(output);
    _exit(done || strcmp(check_take(diags), "new: cannot write: File too large"));
  }
  unsigned before = entries(".");
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(file_is("new", "three"));
  CHECK(entries(".") == before);
}

/* Files that belong together: all of them, or none. */
static void test_together(void) {
  ir_output *text = ir_output_open(diags, "text"), *data = ir_output_open(diags, "data");
  ir_output_text(text, "one");
  ir_output_text(data, "1");
  ir_output_attach(text, data);
  CHECK(ir_output_commit(text) && file_is("text", "one") && file_is("data", "1"));
  unsigned before = entries(".");
  text = ir_output_open(diags, "text");
  data = ir_output_open(diags, "data");
  ir_output_text(text, "two");
  ir_output_text(data, "2");
  ir_output_attach(text, data);
  ir_output_discard(text);
  CHECK(file_is("text", "one") && file_is("data", "1") && entries(".") == before);
  if (access("/dev/full", W_OK)) return;
  text = ir_output_open(diags, "/dev/full");
  data = ir_output_open(diags, "data");
  ir_output_text(text, "two");
  ir_output_text(data, "2");
  ir_output_attach(text, data);
  CHECK(!ir_output_commit(text) && file_is("data", "1") && entries(".") == before);
  CHECK_DIAGS(diags, "/dev/full: cannot write: No space left on device");
}

static void test_reading(void) {
  ir_file file;
  CHECK(!ir_file_open(diags, "missing", &file));
  CHECK_DIAGS(diags, "missing: cannot open: No such file or directory");
  CHECK(!ir_file_open(diags, "folder", &file));
  CHECK_DIAGS(diags, "folder: cannot read: Is a directory");
  CHECK(file_is("/dev/null", ""));
}

int main(void) {
  char folder[] = "/tmp/rill-output-XXXXXX";
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  diags = ir_diags_new();
  test_files();
  test_large();
  test_links();
  test_refused();
  test_in_place();
  test_standard_output("/dev/stdout");
  test_standard_output("/dev/fd/1");
  test_standard_output("/proc/self/fd/1");
  test_standard_output("-");
  test_size_limit();
  test_together();
  test_reading();
  CHECK_DIAGS(diags, "");
  ir_diags_free(diags);
  ir_text_free(&check_reported);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(!system(command));
  return CHECK_REPORT("output");
}
