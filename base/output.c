// SPDX-License-Identifier: Apache-2.0
/* base/output.c - output files: a temporary beside the target, renamed over it at the end. Where the file system can,
 * the temporary has no name until the commit, so that a killed process leaves nothing behind. Needs base/diag and
 * base/path; writes files. */
#include "base/output.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINKS = 40, PROC_MAGIC = 0x9fa0 };

struct ir_output {
  ir_diags *diags;
  ir_arena arena;
  const char *name;      /* as the user wrote it */
  const char *target;    /* the file to replace, links resolved; NULL where written in place */
  const char *base;      /* the last component of target, relative to folder */
  const char *temporary; /* a name in folder; NULL while there is none */
  int fd, folder;        /* folder is -1 where written in place */
  bool replaces, failed;
  mode_t mode;
  uid_t uid;
  gid_t gid;
  uint64_t size;
  uint8_t *held;
  size_t holds;
  ir_output *attached; /* what takes its place with this one */
};

static bool fail(ir_output *output, const char *doing, int error) {
  if (!output->failed) ir_error_in(output->diags, output->name, "cannot %s: %s", doing, strerror(error));
  output->failed = true;
  return false;
}

/* write() with SIGPIPE kept from the process: blocked for this thread, and taken back if this write raised it. */
static ssize_t write_quietly(int fd, const void *bytes, size_t size) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t wrote = write(fd, bytes, size);
  int error = errno;
  if (wrote < 0 && error == EPIPE && !was_pending) {
    const struct timespec now = {0, 0};
    while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return wrote;
}

static void write_out(ir_output *output, const uint8_t *bytes, size_t size) {
  while (size && !output->failed) {
    ssize_t wrote = write_quietly(output->fd, bytes, size > (size_t)1 << 30 ? (size_t)1 << 30 : size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      fail(output, "write", errno);
      return;
    }
    bytes += wrote;
    size -= (size_t)wrote;
  }
}

static void flush(ir_output *output) {
  write_out(output, output->held, output->holds);
  output->holds = 0;
}

void ir_output_bytes(ir_output *output, const void *bytes, size_t size) {
  output->size += size;
  if (output->failed || !size) return;
  if (size > IR_OUTPUT_HOLD - output->holds) flush(output);
  if (size >= IR_OUTPUT_HOLD) {
    write_out(output, bytes, size);
    return;
  }
  memcpy(output->held + output->holds, bytes, size);
  output->holds += size;
}

void ir_output_text(ir_output *output, const char *text) { ir_output_bytes(output, text, strlen(text)); }

void ir_output_printf(ir_output *output, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_output_bytes(output, text.at, text.length);
  ir_text_free(&text);
}

void ir_output_zeros(ir_output *output, size_t count) {
  static const uint8_t zeros[4096];
  for (; count > sizeof zeros; count -= sizeof zeros) ir_output_bytes(output, zeros, sizeof zeros);
  ir_output_bytes(output, zeros, count);
}

uint64_t ir_output_size(const ir_output *output) { return output->size; }
bool ir_output_ok(const ir_output *output) { return !output->failed; }
const char *ir_output_target(const ir_output *output) { return output->target; }

/* The descriptor that a link /proc/self/fd/N stands for, -1 for other links. Opening such a link anew would lose the
 * position in the file, and following it by name would replace the file that a shell redirected to. */
static int linked_descriptor(ir_arena *arena, const char *path) {
  struct statfs system;
  if (statfs(ir_path_folder(arena, path), &system) || system.f_type != PROC_MAGIC) return -1;
  const char *digits = ir_path_base(path);
  char *end;
  long number = strtol(digits, &end, 10);
  if (*end || end == digits || number < 0 || number > INT_MAX) return -1;
  struct stat linked, open_here;
  if (stat(path, &linked) || fstat((int)number, &open_here)) return -1;
  return linked.st_dev == open_here.st_dev && linked.st_ino == open_here.st_ino ? (int)number : -1;
}

/* Follows the links at the end of PATH, which need not lead to anything. *status has st_mode 0 where nothing is
 * there; *descriptor is set where the path stands for one. NULL after a report. */
static const char *resolve(ir_output *output, const char *path, struct stat *status, int *descriptor) {
  for (int links = 0; links < MAX_LINKS; links++) {
    *status = (struct stat){0};
    if (lstat(path, status)) {
      if (errno == ENOENT) return *status = (struct stat){0}, path;
      return fail(output, "open", errno), NULL;
    }
    if (!S_ISLNK(status->st_mode)) return path;
    *descriptor = linked_descriptor(&output->arena, path);
    if (*descriptor >= 0) return path;
    char to[PATH_MAX] = {0};
    ssize_t length = readlink(path, to, sizeof to - 1);
    if (length < 0) return fail(output, "open", errno), NULL;
    path = ir_path_join(&output->arena, to[0] == '/' ? "" : ir_path_folder(&output->arena, path), to);
  }
  return fail(output, "open", ELOOP), NULL;
}

static bool open_in_place(ir_output *output, const char *path, int descriptor) {
  output->fd = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  return output->fd >= 0 || fail(output, "open", errno);
}

/* Makes a file of a name that is free, or links the nameless file FROM to such a name. */
static int claim_name(ir_output *output, int from) {
  for (unsigned attempt = 0; attempt < 10000; attempt++) {
    const char *name = ir_arena_printf(&output->arena, ".rill-%ld-%u.tmp", (long)getpid(), attempt);
    int made = 0;
    if (from < 0) {
      made = openat(output->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    } else {
      char link[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", from);
      made = linkat(AT_FDCWD, link, output->folder, name, AT_SYMLINK_FOLLOW);
    }
    if (made >= 0) return output->temporary = name, made;
    if (errno != EEXIST) return -1;
  }
  return -1;
}

static bool open_beside(ir_output *output, const char *path, const struct stat *status) {
  output->base = ir_path_base(path);
  if (!*output->base) return fail(output, "open", *path ? EISDIR : ENOENT);
  output->folder = open(ir_path_folder(&output->arena, path), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (output->folder < 0) return fail(output, "open its folder", errno);
  output->replaces = status->st_mode != 0;
  if (output->replaces && faccessat(output->folder, output->base, W_OK, AT_EACCESS)) return fail(output, "open", errno);
  output->mode = status->st_mode & 07777;
  output->uid = status->st_uid;
  output->gid = status->st_gid;
  output->fd = access("/proc/self/fd", X_OK) ? -1 : openat(output->folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (output->fd < 0) output->fd = claim_name(output, -1);
  if (output->fd < 0) return fail(output, "create a file in its folder", errno);
  output->target = path;
  return true;
}

static bool open_path(ir_output *output, const char *path) {
  struct stat status = {0};
  int descriptor = -1;
  if (!strcmp(path, "-")) {
    output->name = "<stdout>";
    return open_in_place(output, path, STDOUT_FILENO);
  }
  path = resolve(output, path, &status, &descriptor);
  if (!path) return false;
  if (descriptor >= 0) return open_in_place(output, path, descriptor);
  if (S_ISDIR(status.st_mode)) return fail(output, "open", EISDIR);
  if (S_ISBLK(status.st_mode)) {
    ir_error_in(output->diags, output->name, "cannot open: is a block device");
    return false;
  }
  return status.st_mode && !S_ISREG(status.st_mode) ? open_in_place(output, path, -1)
                                                    : open_beside(output, path, &status);
}

static void release(ir_output *output) {
  if (output->attached) release(output->attached);
  if (output->fd >= 0) close(output->fd);
  if (output->temporary) unlinkat(output->folder, output->temporary, 0);
  if (output->folder >= 0) close(output->folder);
  ir_arena_free(&output->arena);
  ir_heap_free(output->held);
  ir_heap_free(output);
}

ir_output *ir_output_open(ir_diags *diags, const char *path) {
  ir_output *output = ir_heap_alloc(sizeof *output);
  *output = (ir_output){.diags = diags, .fd = -1, .folder = -1, .held = ir_heap_alloc(IR_OUTPUT_HOLD)};
  output->name = path = ir_arena_copy(&output->arena, path, strlen(path));
  if (open_path(output, path)) return output;
  release(output);
  return NULL;
}

/* The owner may be out of our power; then the bits that run a program as its owner must not pass to the new file. */
static bool keep_mode(ir_output *output) {
  struct stat status;
  if (!output->replaces) return true;
  if (fstat(output->fd, &status)) return fail(output, "write", errno);
  bool same = status.st_uid == output->uid && status.st_gid == output->gid;
  bool owned = same || !fchown(output->fd, output->uid, output->gid);
  if (fchmod(output->fd, owned ? output->mode : output->mode & 01777)) return fail(output, "keep the mode", errno);
  return true;
}

/* Everything but taking its place. */
static bool complete(ir_output *output) {
  flush(output);
  if (output->failed) return false;
  if (output->target && !keep_mode(output)) return false;
  if (output->target && !output->temporary && claim_name(output, output->fd) < 0) {
    return fail(output, "create a file in its folder", errno);
  }
  int fd = output->fd;
  output->fd = -1;
  return !close(fd) || errno == EINTR || fail(output, "write", errno);
}

static bool take_place(ir_output *output) {
  if (!output->target) return true;
  if (renameat(output->folder, output->temporary, output->folder, output->base)) return fail(output, "replace", errno);
  output->temporary = NULL;
  return true;
}

/* Both replace the file of one name in one folder. */
static bool is_same_place(const ir_output *a, const ir_output *b) {
  struct stat x, y;
  bool folders = a->target && b->target && !fstat(a->folder, &x) && !fstat(b->folder, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return folders && !strcmp(a->base, b->base);
}

void ir_output_attach(ir_output *output, ir_output *other) {
  for (ir_output *each = output; each && !other->failed; each = each->attached) {
    if (!is_same_place(each, other)) continue;
    ir_error_in(other->diags, other->name, "is written already: each output needs a file of its own");
    other->failed = true;
  }
  other->attached = output->attached;
  output->attached = other;
}

bool ir_output_commit(ir_output *output) {
  bool done = true;
  for (ir_output *each = output; each && done; each = each->attached) done = complete(each);
  for (ir_output *each = output->attached; each && done; each = each->attached) done = take_place(each);
  done = done && take_place(output);
  release(output);
  return done;
}

void ir_output_discard(ir_output *output) { release(output); }
