// SPDX-License-Identifier: Apache-2.0
/* passes/lower/rules_sort.c - the order of elements along an axis, by merging sorted runs of 1, 2, 4, ... places: stable, in
 * n log n steps. Sorting and picking the greatest are made of it (compose_sort.c). */
#include "passes/lower/loops.h"

/* `places` is twice as long as the axis: runs are read from one half and merged into the other. */
struct merge {
  ir_loops s;
  size_t rank, axis;
  const ir_expr *axes[IR_LOWER_AXES]; /* loop variables; none for AXIS */
  const ir_expr *extent;              /* of AXIS */
  ir_value *places;
  ir_value *from, *to;    /* where the two halves begin; variables, as are the next: */
  ir_value *width;        /* of sorted runs */
  ir_value *heads[2];     /* the places of two runs to be compared next */
};

static const ir_expr *get(struct merge *m, ir_value *variable) { return ir_loops_load(&m->s, variable, NULL); }
static void set(struct merge *m, ir_value *variable, const ir_expr *value) { ir_loops_store(&m->s, variable, NULL, value); }
static const ir_expr *number(const struct merge *m, int64_t value) { return ir_expr_i64(m->s.l->context, value); }
static const ir_expr *binary(const struct merge *m, ir_scalar_code code, const ir_expr *a, const ir_expr *b) {
  return ir_expr_binary(m->s.l->context, code, a, b);
}
static const ir_expr *choose(const struct merge *m, const ir_expr *condition, const ir_expr *a, const ir_expr *b) {
  return ir_expr_ternary(m->s.l->context, IR_S_SELECT, condition, a, b);
}

/* The indices of place AT along the axis. */
static const ir_expr *const *along(struct merge *m, const ir_expr *at) {
  m->axes[m->axis] = at;
  return m->axes;
}

static const ir_expr *in_half(struct merge *m, ir_value *half, const ir_expr *at) { return binary(m, IR_S_ADD, get(m, half), at); }

/* Whether element A, which stands behind B, must come before it: never where they are equal. A NaN is greater than all else. */
static const ir_expr *overtakes(struct merge *m, const ir_expr *a, const ir_expr *b) {
  ir_context *context = m->s.l->context;
  bool descending = ir_get_bool(m->s.l->op, "descending");
  const ir_expr *strictly = binary(m, descending ? IR_S_GT : IR_S_LT, a, b);
  if (!ir_is_float((ir_dtype)a->dtype)) return strictly;
  const ir_expr *great = ir_expr_unary(context, IR_S_ISNAN, descending ? a : b), *less = ir_expr_unary(context, IR_S_ISNAN, descending ? b : a);
  return binary(m, IR_S_OR, strictly, binary(m, IR_S_AND, great, ir_expr_unary(context, IR_S_NOT, less)));
}

/* Place AT of the merged run comes from one of two runs with these ends. The one that is at its end is read at its last
 * place, and loses. */
static void merge_step(struct merge *m, const ir_expr *at, const ir_expr *const ends[2]) {
  const ir_expr *place[2], *x[2], *one = number(m, 1), *zero = number(m, 0);
  for (int i = 0; i < 2; i++) {
    const ir_expr *within = binary(m, IR_S_MIN, get(m, m->heads[i]), binary(m, IR_S_SUB, ends[i], one));
    place[i] = ir_loops_let(&m->s, i ? "b" : "a", ir_loops_load(&m->s, m->places, along(m, in_half(m, m->from, within))));
  }
  for (int i = 0; i < 2; i++) x[i] = ir_loops_load(&m->s, m->s.l->in[0], along(m, place[i]));
  const ir_expr *first_ended = binary(m, IR_S_GE, get(m, m->heads[0]), ends[0]), *second_there = binary(m, IR_S_LT, get(m, m->heads[1]), ends[1]);
  const ir_expr *second = binary(m, IR_S_AND, second_there, binary(m, IR_S_OR, first_ended, overtakes(m, x[1], x[0])));
  second = ir_loops_let(&m->s, "second", second);
  ir_loops_store(&m->s, m->places, along(m, in_half(m, m->to, at)), choose(m, second, place[1], place[0]));
  for (int i = 0; i < 2; i++) {
    const ir_expr *step = i ? choose(m, second, one, zero) : choose(m, second, zero, one);
    set(m, m->heads[i], binary(m, IR_S_ADD, get(m, m->heads[i]), step));
  }
}

/* All pairs of runs, then the halves change. */
static void merge_runs(struct merge *m) {
  const ir_expr *two = binary(m, IR_S_MUL, get(m, m->width), number(m, 2));
  const ir_expr *pair = ir_loops_for(&m->s, 'r', 0, binary(m, IR_S_CEILDIV, m->extent, two), "serial");
  const ir_expr *start = ir_loops_let(&m->s, "start", binary(m, IR_S_MUL, pair, two)), *ends[2], *end = start;
  for (int i = 0; i < 2; i++) {
    set(m, m->heads[i], end);
    end = ends[i] = ir_loops_let(&m->s, i ? "end" : "middle", binary(m, IR_S_MIN, binary(m, IR_S_ADD, end, get(m, m->width)), m->extent));
  }
  const ir_expr *at = ir_loops_for(&m->s, 'k', m->axis, binary(m, IR_S_SUB, end, start), "serial");
  merge_step(m, binary(m, IR_S_ADD, start, at), ends);
  ir_loops_close(&m->s);
  ir_loops_close(&m->s);
  set(m, m->from, get(m, m->to));
  set(m, m->to, binary(m, IR_S_SUB, m->extent, get(m, m->from)));
  set(m, m->width, two);
}

bool legalize_argsort(ir_lowering *l) {
  const ir_type *x = ir_lower_type(l, 0);
  const ir_expr *dims[IR_LOWER_AXES];
  struct merge m = {.rank = x->count, .axis = ir_lower_normal_axis(l->op, "axis", x->count)};
  m.extent = ir_type_dim(x, m.axis);
  memcpy(dims, ir_type_dims(x), m.rank * sizeof *dims);
  dims[m.axis] = ir_dim_mul(l->context, ir_func_facts(l->func), m.extent, ir_expr_i64(l->context, 2));
  m.places = ir_lower_temp(l, "places", IR_I64, m.rank, dims);
  m.s = ir_loops_open(l);
  ir_loops_nest(&m.s, m.rank, ir_type_dims(x), m.axis, true, m.axes);
  m.from = ir_loops_variable(&m.s, "from", number(&m, 0));
  m.to = ir_loops_variable(&m.s, "to", m.extent);
  m.width = ir_loops_variable(&m.s, "width", number(&m, 1));
  for (int i = 0; i < 2; i++) m.heads[i] = ir_loops_variable(&m.s, i ? "right" : "left", number(&m, 0));
  const ir_expr *at = ir_loops_for(&m.s, 'k', m.axis, m.extent, "serial");
  ir_loops_store(&m.s, m.places, along(&m, at), at);
  ir_loops_close(&m.s);
  ir_loops_while(&m.s, binary(&m, IR_S_LT, get(&m, m.width), m.extent));
  merge_runs(&m);
  ir_loops_close(&m.s);
  at = ir_loops_for(&m.s, 'k', m.axis, m.extent, "serial");
  const ir_expr *place = ir_loops_load(&m.s, m.places, along(&m, in_half(&m, m.from, at)));
  ir_loops_store(&m.s, l->out[0], along(&m, at), place);
  return true;
}
