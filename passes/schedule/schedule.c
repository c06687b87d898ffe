// SPDX-License-Identifier: Apache-2.0
/* passes/schedule/schedule.c - compute nests as loops. Consecutive nests that hand values on through `local`
 * temporaries are joined on their common leading axes, so that the temporary shrinks to what one round needs. Needs
 * prim_funcs in compute form; loops that are there already stay. */
#include "passes/schedule/nest.h"

#include "base/vec.h"
#include "passes/nests.h"
#include "passes/pass.h"
#include "targets/device.h"

#include <limits.h>

enum { NESTS, JOINED };

struct options {
  int target;
};
static const ir_opt options[] = {
    OPT_CHOICE(struct options, target, "target", IR_LOOP_TARGETS, "llvm", "what the loops are for"),
    OPT_END,
};

/* Nests that become one: computes[0] to computes[count - 1], joined on their first `shared` spatial axes. */
struct group {
  ir_op **computes;
  size_t count, shared;
  ir_value **temps; /* local temporaries written in the group */
  size_t temp_count;
};

static bool is_local(const ir_value *buffer) {
  const ir_op *alloc = ir_value_op(buffer);
  return ir_is(alloc, IR_ALLOC) && !strcmp(ir_get_word(alloc, "scope"), "local");
}

/* --- which nests may be joined --- */
/* The leading axes that NEXT and GROUP may share: equal extents, and whatever one of the nests writes and another
 * touches is addressed by these axes alone. */
static size_t shareable(const struct group *group, const ir_op *next, const ir_facts *facts) {
  ir_context *context = ir_op_context(next);
  const ir_op *first = group->computes[0];
  size_t shared = group->count > 1 ? group->shared : ir_op_region(first, 0)->spatial_count;
  size_t axes = ir_op_region(next, 0)->spatial_count, equal = 0;
  while (equal < shared && equal < axes && ir_nest_same_extent(context, facts, ir_op_operand(first, equal), ir_op_operand(next, equal))) equal++;
  shared = equal;
  for (size_t c = 0; c < group->count && shared; c++) {
    const ir_op *before = group->computes[c];
    for (size_t side = 0; side < 2; side++) {
      const ir_op *writer = side ? next : before, *other = side ? before : next;
      ir_each_op(op, ir_op_region(writer, 0)) {
        size_t targets = ir_is(op, IR_STORE) ? (size_t)ir_get_int(op, "targets") : 0;
        for (size_t t = 0; t < targets; t++) {
          const ir_value *buffer = ir_op_operand(op, t);
          if (!ir_nest_touches(other, buffer)) continue;
          size_t here = ir_nest_common_axes(writer, buffer), there = ir_nest_common_axes(other, buffer);
          if (here < shared) shared = here;
          if (there < shared) shared = there;
        }
      }
    }
  }
  return shared;
}

/* NEXT reads a local temporary that the group writes. */
static bool hands_on(const struct group *group, const ir_op *next) {
  for (size_t i = 0; i < group->temp_count; i++) {
    if (ir_nest_touches(next, group->temps[i])) return true;
  }
  return false;
}

static void add_to_group(ir_arena *arena, struct group *group, ir_op *compute, size_t shared) {
  ir_op **computes = ir_new_array(arena, ir_op *, group->count + 1);
  if (group->count) memcpy(computes, group->computes, group->count * sizeof *computes);
  computes[group->count++] = compute;
  group->computes = computes;
  group->shared = shared;
  ir_each_op(op, ir_op_region(compute, 0)) {
    size_t targets = ir_is(op, IR_STORE) ? (size_t)ir_get_int(op, "targets") : 0;
    for (size_t t = 0; t < targets; t++) {
      ir_value *buffer = ir_op_operand(op, t);
      bool known = !is_local(buffer);
      for (size_t i = 0; i < group->temp_count; i++) known |= group->temps[i] == buffer;
      if (known) continue;
      ir_value **temps = ir_new_array(arena, ir_value *, group->temp_count + 1);
      if (group->temp_count) memcpy(temps, group->temps, group->temp_count * sizeof *temps);
      temps[group->temp_count++] = buffer;
      group->temps = temps;
    }
  }
}

/* Nobody outside the group touches BUFFER. */
static bool is_private(const struct group *group, const ir_value *buffer) {
  ir_each_use(use, buffer) {
    bool inside = false;
    for (size_t i = 0; i < group->count; i++) inside |= use->user->region->parent == group->computes[i];
    if (!inside) return false;
  }
  return true;
}

/* --- building --- */
static bool reduces_in_lanes(const ir_op *compute) {
  ir_each_op(op, ir_op_region(compute, 0)) {
    ir_reduction how;
    if (ir_reduction_of(op, &how) && how.lanes > 1) return true;
  }
  return false;
}

static bool is_one(ir_value *extent) {
  int64_t value;
  const ir_expr *expr = ir_value_closed_expr(extent);
  return expr && ir_expr_is_int(expr, &value) && value == 1;
}

/* The spatial axis of COMPUTE to vectorize: the last one of more than one round, from FIRST on; -1: none. */
static int vector_axis(const ir_op *compute, size_t first) {
  if (reduces_in_lanes(compute)) return -1;
  for (size_t i = ir_op_region(compute, 0)->spatial_count; i > first; i--) {
    if (!is_one(ir_op_operand(compute, i - 1))) return (int)i - 1;
  }
  return -1;
}

static void open_axis(ir_nest *nest, ir_builder *b, ir_op *compute, size_t axis, const char *mode) {
  const ir_value *old = ir_op_region(compute, 0)->args[axis];
  ir_value *extent = ir_nest_extent(nest, b, ir_op_operand(compute, axis));
  ir_value *variable = ir_nest_for(nest, b, extent, old->name ? old->name->text : "i", mode);
  ir_map_put(nest->scratch, &nest->values, old, variable);
}

/* On a CPU threads may share the outermost axes: SHARED_AXES of more than one round, up to the vectorized one. *SHARED counts
 * them. A device spreads all of them over its invocations and has no vectors. */
enum { SHARED_AXES = 2, ALL_AXES = INT_MAX };

static const char *mode_of(ir_op *compute, size_t axis, int vector, size_t most, size_t *shared) {
  if ((int)axis == vector) {
    *shared = most;
    return "vectorize";
  }
  if (*shared == most) return "serial";
  *shared += !is_one(ir_op_operand(compute, axis));
  return "parallel";
}

/* The stores of one nest, inside its spatial loops. */
static void build_body(ir_nest *nest, ir_builder b, ir_op *compute) {
  ir_region *region = ir_op_region(compute, 0);
  bool reduces = region->arg_count > region->spatial_count;
  if (!reduces) {
    ir_nest_guards(nest, &b, region);
    ir_nest_bindings(nest, &b, region);
  }
  ir_value **extents = ir_new_array(nest->scratch, ir_value *, compute->operand_count);
  for (size_t i = 0; i < compute->operand_count; i++) extents[i] = ir_op_operand(compute, i);
  ir_each_op(op, region) {
    if (!ir_is(op, IR_STORE)) continue;
    if (reduces) {
      ir_nest_reduce(nest, &b, region, extents, op);
      continue;
    }
    ir_frame frame = ir_nest_frame(nest);
    const ir_expr *value = ir_nest_import(nest, &frame, op, ir_get_expr_at(op, "args", 0));
    ir_nest_store_result(nest, &b, op, 0, &frame, value);
  }
}

static bool constant_dims(const ir_type *type, size_t from) {
  int64_t value;
  for (size_t i = from; i < type->count; i++) {
    if (!ir_type_dim(type, i) || !ir_expr_is_int(ir_type_dim(type, i), &value)) return false;
  }
  return true;
}

static void build_temp(ir_nest *nest, ir_builder *b, ir_value *old, size_t dropped) {
  const ir_type *type = old->type;
  const char *scope = constant_dims(type, dropped) ? "local" : "global";
  ir_nest_temp *temp = ir_new(nest->scratch, ir_nest_temp);
  temp->dropped = dropped;
  temp->buffer = ir_nest_alloc(nest, b, old->name ? old->name->text : "t", scope, ir_type_dtype(type), type->count - dropped, ir_type_dims(type) + dropped);
  ir_map_put(nest->scratch, &nest->temps, old, temp);
}

static void build_group(ir_pass_run *run, struct group *group, const ir_facts *facts) {
  const struct options *given = run->options;
  bool grid = ir_is_grid_target(given->target);
  size_t most = grid ? ALL_AXES : SHARED_AXES;
  ir_nest nest = {.module = run->module, .context = run->context, .scratch = run->scratch, .facts = facts};
  ir_op *first = group->computes[0];
  /* Between the nests stand only allocations, which must come before what is built. */
  ir_builder b = ir_before(group->computes[group->count - 1]);
  size_t shared = group->count > 1 ? group->shared : 0;
  /* The innermost shared axis is vectorized where all nests end with it. */
  int vector = group->count > 1 && !grid ? vector_axis(first, 0) : -1;
  for (size_t i = 0; i < group->count; i++) {
    bool whole = ir_op_region(group->computes[i], 0)->spatial_count == shared && !reduces_in_lanes(group->computes[i]);
    if (!whole) vector = -1;
  }
  size_t threads = 0;
  for (size_t axis = 0; axis < shared; axis++) open_axis(&nest, &b, first, axis, mode_of(first, axis, vector, most, &threads));
  /* A kernel is made of one loop. */
  bool alone = grid && !shared && !ir_op_region(first, 0)->spatial_count;
  if (alone) ir_nest_for(&nest, &b, ir_build_scalar(&b, ir_expr_i64(run->context, 1), NULL, 0), "one", "parallel");
  for (size_t c = 1; c < group->count; c++) {
    for (size_t axis = 0; axis < shared; axis++) {
      ir_value *variable = ir_map_get(&nest.values, ir_op_region(first, 0)->args[axis]);
      ir_map_put(run->scratch, &nest.values, ir_op_region(group->computes[c], 0)->args[axis], variable);
    }
  }
  for (size_t i = 0; i < group->temp_count; i++) {
    if (is_private(group, group->temps[i])) build_temp(&nest, &b, group->temps[i], shared);
  }
  for (size_t c = 0; c < group->count; c++) {
    ir_op *compute = group->computes[c];
    ir_builder inner = b;
    int own = vector >= 0 || grid ? -1 : vector_axis(compute, shared);
    size_t inside = shared && !grid ? most : 0;
    for (size_t axis = shared; axis < ir_op_region(compute, 0)->spatial_count; axis++) {
      open_axis(&nest, &inner, compute, axis, mode_of(compute, axis, own, most, &inside));
    }
    build_body(&nest, inner, compute);
    run->stats[NESTS]++;
  }
  run->stats[JOINED] += group->count - 1;
  for (size_t c = group->count; c > 0; c--) ir_op_erase(group->computes[c - 1]);
}

static const ir_op *top_of(const ir_op *op) {
  while (ir_op_parent(op)) op = ir_op_parent(op);
  return op;
}

/* From one nest to another. What statements outside of nests use stays in the kernel that they and the nests are. */
static bool is_handed_on(const ir_value *buffer) {
  const ir_op *first = buffer->uses ? top_of(buffer->uses->user) : NULL;
  bool handed_on = false;
  ir_each_use(use, buffer) {
    const ir_op *top = top_of(use->user);
    if (!ir_is(top, IR_FOR) && !ir_is(top, IR_COMPUTE)) return false;
    handed_on |= top != first;
  }
  return handed_on;
}

/* A local temporary that stayed whole must have constant extents: else it is global memory. On a device what one nest hands
 * on to another is global as well: they become kernels. */
static void widen_scopes(ir_region *body, bool grid) {
  ir_each_op(op, body) {
    if (!ir_is(op, IR_ALLOC)) continue;
    if (ir_is_unused(op)) {
      ir_op_erase(op);
      continue;
    }
    bool global = !strcmp(ir_get_word(op, "scope"), "global");
    bool widen = !constant_dims(ir_op_result(op, 0)->type, 0) || (grid && is_handed_on(ir_op_result(op, 0)));
    if (!global && widen) ir_set(op, "scope", ir_attr_id(ir_op_context(op), ir_lit("global")));
  }
}

static void flush(ir_pass_run *run, struct group *group, const ir_facts *facts) {
  if (group->count) build_group(run, group, facts);
  *group = (struct group){0};
}

static bool schedule(ir_pass_run *run, ir_func *func) {
  if (func->item.kind != IR_ITEM_PRIM_FUNC) return false;
  const struct options *given = run->options;
  const ir_facts *facts = ir_func_facts(func);
  struct group group = {0};
  bool any = false;
  ir_each_op(op, func->body) {
    bool neutral = ir_is(op, IR_ALLOC) || (op->flags & IR_OP_INLINE);
    if (!ir_is(op, IR_COMPUTE)) {
      if (!neutral) flush(run, &group, facts);
      continue;
    }
    any = true;
    size_t shared = group.count && hands_on(&group, op) ? shareable(&group, op, facts) : 0;
    if (!shared) flush(run, &group, facts);
    add_to_group(run->scratch, &group, op, shared ? shared : ir_op_region(op, 0)->spatial_count);
  }
  flush(run, &group, facts);
  widen_scopes(func->body, ir_is_grid_target(given->target));
  if (!any) return false;
  func->item.attrs = ir_dict_with(run->context, func->item.attrs, "scheduled", ir_attr_string(run->context, ir_slice_of(ir_loop_targets[given->target].name)));
  return true;
}

const ir_pass ir_pass_schedule = {
    .name = "schedule",
    .doc = "Turn compute nests into loops for a target; nests that share local temporaries are joined.",
    .options = options,
    .options_size = sizeof(struct options),
    .each_func = schedule,
    .prims = true,
    .stats = STATS({"nests", "compute nests made into loops"}, {"joined", "nests joined with the one before"}),
};
