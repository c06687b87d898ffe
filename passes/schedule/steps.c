// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/steps.c - transforms by name: `split(i, 4), sink(i_i)`. */
#include "base/vec.h"
#include "ir/module.h"
#include "passes/schedule/transform.h"

typedef bool step_action(ir_transform *t, ir_op *loop, int64_t number);

static bool split(ir_transform *t, ir_op *loop, int64_t factor) { return ir_transform_split(t, loop, factor); }
static bool reorder(ir_transform *t, ir_op *loop, int64_t none) { return (void)none, ir_transform_reorder(t, loop); }
static bool fuse(ir_transform *t, ir_op *loop, int64_t none) { return (void)none, ir_transform_fuse(t, loop); }
static bool sink(ir_transform *t, ir_op *loop, int64_t none) { return (void)none, ir_transform_sink(t, loop); }
static bool vectorize(ir_transform *t, ir_op *loop, int64_t registers) { return ir_transform_mode(t, loop, "vectorize", registers); }
static bool unroll(ir_transform *t, ir_op *loop, int64_t times) { return ir_transform_mode(t, loop, "unroll", times); }
static bool parallel(ir_transform *t, ir_op *loop, int64_t none) { return ir_transform_mode(t, loop, "parallel", none); }
static bool serial(ir_transform *t, ir_op *loop, int64_t none) { return ir_transform_mode(t, loop, "serial", none); }

static bool bind(ir_transform *t, ir_op *loop, int64_t size) { return ir_transform_bind(t, loop, size); }

static const struct step {
  const char *name;
  enum { NO_NUMBER, MAY_HAVE_NUMBER, NEEDS_NUMBER } number;
  step_action *apply;
} steps[] = {
    {"split", NEEDS_NUMBER, split}, {"reorder", NO_NUMBER, reorder},          {"fuse", NO_NUMBER, fuse},
    {"sink", NO_NUMBER, sink},      {"vectorize", MAY_HAVE_NUMBER, vectorize}, {"unroll", MAY_HAVE_NUMBER, unroll},
    {"parallel", NO_NUMBER, parallel}, {"serial", NO_NUMBER, serial}, {"bind", NEEDS_NUMBER, bind},
};

enum { LARGEST_NUMBER = 1024 };

static bool fail(ir_transform *t, const char *why) {
  t->problem = why;
  return false;
}

static bool parse_number(ir_slice text, int64_t *number) {
  *number = 0;
  for (size_t i = 0; i < text.length; i++) {
    if (text.at[i] < '0' || text.at[i] > '9') return false;
    *number = *number * 10 + (text.at[i] - '0');
    if (*number > LARGEST_NUMBER) return false;
  }
  return *number > 0;
}

static ir_slice up_to(ir_slice text, size_t end) { return ir_slice_trim((ir_slice){text.at, end}); }

static ir_slice behind(ir_slice text, size_t end) {
  return ir_slice_trim((ir_slice){text.at + end, text.length - end});
}

static size_t find_char(ir_slice text, char c) {
  const char *found = text.length ? memchr(text.at, c, text.length) : NULL;
  return found ? (size_t)(found - text.at) : text.length;
}

/* `name(loop)` or `name(loop, number)` */
static bool apply_one(ir_transform *t, ir_slice text) {
  size_t open = find_char(text, '(');
  ir_slice name = up_to(text, open), inside = behind(text, open);
  const struct step *step = NULL;
  for (size_t i = 0; i < ir_count_of(steps); i++) {
    if (ir_slice_is(name, steps[i].name)) step = &steps[i];
  }
  if (!step) return fail(t, "no such step: there are split, reorder, fuse, sink, vectorize, unroll, parallel, serial and bind");
  inside = up_to(behind(inside, 1), inside.length - 2); /* it ends with ')' */
  size_t comma = find_char(inside, ',');
  int64_t number = 0;
  bool has_number = comma < inside.length;
  if (has_number && !parse_number(behind(inside, comma + 1), &number)) return fail(t, "expected a number from 1 to 1024");
  if (has_number && step->number == NO_NUMBER) return fail(t, "this step takes no number");
  if (!has_number && step->number == NEEDS_NUMBER) return fail(t, "this step needs a number");
  ir_op *loop = ir_transform_find(t, up_to(inside, comma));
  if (!loop) return fail(t, "there is no such loop");
  bool done = step->apply(t, loop, number);
  if (done) ir_func_make_names_unique(t->func);
  return done;
}

bool ir_transform_apply(ir_transform *t, ir_slice text) {
  ir_func_make_names_unique(t->func);
  for (text = ir_slice_trim(text); text.length;) {
    size_t close = find_char(text, ')');
    ir_slice step = up_to(text, close < text.length ? close + 1 : close);
    if (close == text.length || !apply_one(t, step)) {
      if (close == text.length) t->problem = "expected ')'";
      t->problem = ir_arena_printf(t->scratch, "'%.*s': %s", (int)step.length, step.at, t->problem);
      return false;
    }
    text = behind(text, close + 1);
    if (!text.length) break;
    if (text.at[0] != ',') return fail(t, ir_arena_printf(t->scratch, "expected ',' before '%.*s'", (int)text.length, text.at));
    text = behind(text, 1);
  }
  return true;
}
