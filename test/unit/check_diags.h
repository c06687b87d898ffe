// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_CHECK_DIAGS_H
#define RILL_TEST_UNIT_CHECK_DIAGS_H

#include "../../base/diag.h"
#include "check.h"

/* Takes what was reported as one text, `where: text` a line, and empties the list. The text lives until the next
 * call; "" where nothing was reported. */
static ir_text check_reported;

static inline void check_keep(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)user, (void)diags;
  if (check_reported.length) ir_text_char(&check_reported, '\n');
  if (diag->where) ir_text_printf(&check_reported, "%s: ", diag->where);
  ir_text_put(&check_reported, diag->text);
}

static inline const char *check_take(ir_diags *diags) {
  ir_text_free(&check_reported);
  ir_text_put(&check_reported, "");
  ir_diags_set_handler(diags, check_keep, NULL);
  ir_diags_flush(diags);
  return check_reported.at;
}

/* What was reported is WANTED, and nothing else. */
#define CHECK_DIAGS(diags, wanted) check_text(check_take(diags), (wanted), __FILE__, __LINE__)

#endif
