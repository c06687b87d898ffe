// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_CHECK_H
#define RILL_TEST_UNIT_CHECK_H

#include <stdio.h>
#include <string.h>

/* Each CHECK counts; a failing one says where it stands and the test goes on. `return CHECK_REPORT("name");` ends main:
 * it prints `name: N passed, N failed` and yields the exit status. */
static int check_passed, check_failed;

static inline int check_that(int holds, const char *file, int line, const char *text) {
  if (holds) {
    check_passed++;
  } else {
    check_failed++;
    printf("%s:%d: check failed: %s\n", file, line, text);
  }
  return holds;
}

static inline int check_text(const char *found, const char *expected, const char *file, int line) {
  int same = found && expected ? !strcmp(found, expected) : found == expected;
  check_that(same, file, line, "texts are equal");
  if (!same) printf("  found:    '%s'\n  expected: '%s'\n", found ? found : "(none)", expected ? expected : "(none)");
  return same;
}

static inline int check_report(const char *name) {
  printf("%s: %d passed, %d failed\n", name, check_passed, check_failed);
  return check_failed || !check_passed;
}

#define CHECK(condition) check_that(!!(condition), __FILE__, __LINE__, #condition)
#define CHECK_TEXT(found, expected) check_text((found), (expected), __FILE__, __LINE__)
#define CHECK_REPORT(name) check_report(name)

#endif
