// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_CHECK_H
#define RILL_TEST_UNIT_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A unit test is one program: CHECKs in main() or in functions that it calls, and `return check_done("NAME");` last. */
static unsigned check_passed, check_failed;

static inline bool check_count(bool holds, const char *file, int line, const char *what) {
  if (holds) {
    check_passed++;
  } else {
    check_failed++;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  }
  return holds;
}

static inline bool check_text(const char *got, const char *wanted, const char *file, int line) {
  bool equal = got && !strcmp(got, wanted);
  check_count(equal, file, line, wanted);
  if (!equal) fprintf(stderr, "  found: %s\n", got ? got : "(nothing)");
  return equal;
}

/* Both yield whether the check holds, for `if (!CHECK(...)) return;`. */
#define CHECK(condition) check_count((condition), __FILE__, __LINE__, #condition)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), __FILE__, __LINE__)

static inline int check_done(const char *name) {
  printf("%s: %u passed, %u failed\n", name, check_passed, check_failed);
  return check_failed ? 1 : 0;
}

#endif
