// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/steps.c - transforms by name: `split(i, 4), sink(i_i)`. */
#include "base/vec.h"
#include "ir/module.h"
#include "passes/schedule/transform.h"
#include "targets/device.h"

enum { MOST_NUMBERS = 2 };

/* What stands behind the loop: numbers, those that are not given 0, or a name. */
struct arguments {
  int64_t number[MOST_NUMBERS];
  ir_slice name;
};
typedef bool step_action(ir_transform *t, ir_op *loop, const struct arguments *a);

static bool split(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_split(t, loop, a->number[0]); }
static bool reorder(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_reorder(t, loop); }
static bool fuse(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_fuse(t, loop); }
static bool sink(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_sink(t, loop); }
static bool block(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_block(t, loop, a->number[0]); }
static bool pad(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_pad(t, loop, a->number[0]); }
static bool sink_at(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_sink_at(t, loop, a->name); }
static bool cache(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_cache(t, loop, a->name); }
static bool jam(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_jam(t, loop); }
static bool expand(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_expand(t, loop); }
static bool simplify(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_simplify(t, loop); }
static bool partition(ir_transform *t, ir_op *loop, const struct arguments *a) {
  return ir_transform_partition(t, loop, a->number[0], a->number[1]);
}
static bool specialize(ir_transform *t, ir_op *loop, const struct arguments *a) {
  return ir_transform_specialize(t, loop, a->number[0], a->number[1]);
}
static bool vectorize(ir_transform *t, ir_op *loop, const struct arguments *a) {
  return ir_transform_mode(t, loop, "vectorize", a->number[0]);
}
static bool unroll(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_mode(t, loop, "unroll", a->number[0]); }
static bool parallel(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_mode(t, loop, "parallel", 0); }
static bool serial(ir_transform *t, ir_op *loop, const struct arguments *a) { return (void)a, ir_transform_mode(t, loop, "serial", 0); }

static bool bind(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_bind(t, loop, a->number[0]); }
static bool workgroup(ir_transform *t, ir_op *loop, const struct arguments *a) { return ir_transform_workgroup(t, loop, a->number[0]); }

static const struct step {
  const char *name;
  size_t least, most; /* numbers */
  int64_t smallest;   /* that a number may be */
  step_action *apply;
  bool named;         /* a name instead */
} steps[] = {
    {"split", 1, 1, 1, split},   {"reorder", 0, 0, 0, reorder},     {"fuse", 0, 0, 0, fuse},         {"sink", 0, 0, 0, sink},
    {"jam", 0, 0, 0, jam},       {"expand", 0, 0, 0, expand},       {"partition", 2, 2, 0, partition}, {"simplify", 0, 0, 0, simplify},
    {"specialize", 2, 2, 0, specialize}, {"vectorize", 0, 1, 1, vectorize}, {"unroll", 0, 1, 1, unroll},
    {"parallel", 0, 0, 0, parallel}, {"serial", 0, 0, 0, serial}, {"bind", 1, 1, 1, bind},
    {"workgroup", 1, 1, 1, workgroup},
    {"block", 1, 1, 1, block},   {"pad", 1, 1, 1, pad},             {"sink_at", 0, 0, 0, sink_at, true}, {"cache", 0, 0, 0, cache, true},
};

enum { LARGEST_NUMBER = 1024 };

static bool parse_number(ir_slice text, int64_t *number) {
  *number = 0;
  for (size_t i = 0; i < text.length; i++) {
    if (text.at[i] < '0' || text.at[i] > '9') return false;
    *number = *number * 10 + (text.at[i] - '0');
    if (*number > LARGEST_NUMBER) return false;
  }
  return text.length > 0;
}

static ir_slice up_to(ir_slice text, size_t end) { return ir_slice_trim((ir_slice){text.at, end}); }

static ir_slice behind(ir_slice text, size_t end) {
  return ir_slice_trim((ir_slice){text.at + end, text.length - end});
}

static size_t find_char(ir_slice text, char c) {
  const char *found = text.length ? memchr(text.at, c, text.length) : NULL;
  return found ? (size_t)(found - text.at) : text.length;
}

/* `, 4, 2`: as many as STEP takes. */
static bool parse_numbers(ir_transform *t, const struct step *step, ir_slice text, int64_t numbers[MOST_NUMBERS]) {
  size_t count = 0;
  while (text.length) {
    text = behind(text, 1); /* ',' */
    size_t comma = find_char(text, ',');
    if (count == step->most) return ir_transform_refuse(t, step->most == 0 ? "this step takes no number" : "this step takes fewer numbers");
    if (!parse_number(up_to(text, comma), &numbers[count]) || numbers[count] < step->smallest) {
      return ir_transform_refuse(t, ir_arena_printf(t->scratch, "expected a number from %lld to 1024", (long long)step->smallest));
    }
    count++;
    text = behind(text, comma);
  }
  if (count >= step->least) return true;
  return ir_transform_refuse(t, step->least == 1 ? "this step needs a number" : "this step needs two numbers");
}

/* `name(loop)` or `name(loop, number, number)` */
static bool apply_one(ir_transform *t, ir_slice text) {
  size_t open = find_char(text, '(');
  ir_slice name = up_to(text, open), inside = behind(text, open);
  const struct step *step = NULL;
  for (size_t i = 0; i < ir_count_of(steps); i++) {
    if (ir_slice_is(name, steps[i].name)) step = &steps[i];
  }
  if (!step) {
    ir_text names = {0};
    for (size_t i = 0; i < ir_count_of(steps); i++) {
      ir_text_printf(&names, "%s%s", i == 0 ? "" : i + 1 < ir_count_of(steps) ? ", " : " and ", steps[i].name);
    }
    const char *why = ir_arena_printf(t->scratch, "no such step: there are %s", names.at);
    ir_text_free(&names);
    return ir_transform_refuse(t, why);
  }
  inside = up_to(behind(inside, 1), inside.length - 2); /* it ends with ')' */
  size_t comma = find_char(inside, ',');
  struct arguments given = {0};
  if (step->named) {
    if (comma == inside.length) return ir_transform_refuse(t, "this step needs a name behind the loop");
    given.name = behind(inside, comma + 1);
  } else if (!parse_numbers(t, step, behind(inside, comma), given.number)) {
    return false;
  }
  ir_op *loop = ir_transform_find(t, up_to(inside, comma));
  if (!loop) return ir_transform_refuse(t, "there is no such loop");
  bool done = step->apply(t, loop, &given);
  if (done) ir_func_make_names_unique(t->func);
  return done;
}

/* Counted when all is done: memory that a step adds may become the workgroup's by a later one. GREW is the one that added most. */
static bool has_room(ir_transform *t, ir_slice grew) {
  int64_t most = t->device ? t->device->private_bytes : 0, bytes = ir_transform_private_bytes(t->func);
  if (!most || !grew.length || bytes <= most) return true;
  const char *format = "'%.*s': an invocation would have %lld bytes of memory for itself, more than private_bytes of %s, %lld";
  return ir_transform_refuse(t, ir_arena_printf(t->scratch, format, (int)grew.length, grew.at, (long long)bytes, t->device->name, (long long)most));
}

bool ir_transform_apply(ir_transform *t, ir_slice text) {
  ir_slice grew = {0};
  ir_func_make_names_unique(t->func);
  int64_t bytes = ir_transform_private_bytes(t->func), most = 0;
  for (text = ir_slice_trim(text); text.length;) {
    size_t close = find_char(text, ')');
    ir_slice step = up_to(text, close < text.length ? close + 1 : close);
    if (close == text.length || !apply_one(t, step)) {
      if (close == text.length) t->problem = "expected ')'";
      t->problem = ir_arena_printf(t->scratch, "'%.*s': %s", (int)step.length, step.at, t->problem);
      return false;
    }
    int64_t now = ir_transform_private_bytes(t->func);
    if (now - bytes > most) {
      most = now - bytes;
      grew = step;
    }
    bytes = now;
    text = behind(text, close + 1);
    if (!text.length) break;
    if (text.at[0] != ',') return ir_transform_refuse(t, ir_arena_printf(t->scratch, "expected ',' before '%.*s'", (int)text.length, text.at));
    text = behind(text, 1);
    if (!text.length) return ir_transform_refuse(t, "expected a step behind the last ','");
  }
  return has_room(t, grew);
}
