// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen_nest.c - compute nests. The innermost spatial axes, flattened, become lanes where that is enough
 * work for a strip; the others are loops. Long reductions of few results, and those whose order has 32 lanes, run along
 * the reduction instead. */
#include "runtime/interp/gen.h"

#include "base/checked.h"

enum {
  ENOUGH_LANES = 64, /* lanes of a strip that are worth it */
  FEW_RESULTS = 16,  /* fewer results than this are reduced one by one */
  LONG = 32,         /* elements of a reduction that are worth a strip */
};

int64_t ir_gen_product(const int64_t *sizes, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t i = from; i < to; i++) {
    if (sizes[i] < 0 || !ir_mul_i64(product, sizes[i], &product)) return -1;
  }
  return product;
}

/* --- what depends on a reduction axis --- */
static bool value_reduces(const ir_gen_nest *nest, const ir_value *value) {
  if (ir_value_region(value) == nest->region) return value->index >= nest->spatial;
  const ir_op *op = ir_value_op(value);
  if (!op || op->region != nest->region) return false;
  for (size_t i = 0; i < op->operand_count; i++) {
    if (value_reduces(nest, ir_op_operand(op, i))) return true;
  }
  return false;
}

static bool is_reducing(const ir_gen_nest *nest) { return nest->count > nest->spatial; }

/* Conditions skip the steps of a reduction; the element is overwritten even where they skip all. */
static void sort_conditions(ir_gen *gen, ir_gen_nest *nest) {
  ir_each_op(op, nest->region) {
    if (ir_is(op, IR_GUARD)) nest->guard = op;
  }
  size_t count = nest->guard ? ir_get_count(nest->guard, "conditions") : 0;
  nest->outer = ir_new_array(&gen->scratch, const ir_expr *, count);
  nest->inner = ir_new_array(&gen->scratch, const ir_expr *, count);
  for (size_t i = 0; i < count; i++) {
    const ir_expr *condition = ir_get_expr_at(nest->guard, "conditions", i);
    if (is_reducing(nest)) nest->inner[nest->inner_count++] = condition;
    else nest->outer[nest->outer_count++] = condition;
  }
}

/* --- one way of making a nest --- */
static bool is_reduction(const ir_op *store) { return *ir_get_word(store, "reducer") || ir_get(store, "user_reducer"); }

void ir_gen_store_result(ir_gen *gen, ir_op *store, size_t target, ir_reg value) {
  uint32_t buffer;
  ir_gen_owner owner;
  ir_gen_enter(gen, &owner, store);
  const ir_attr *index = ir_get(store, "index")->items[target];
  const ir_expr **indices = ir_new_array(&gen->scratch, const ir_expr *, index->count);
  for (size_t i = 0; i < index->count; i++) indices[i] = ir_attr_as_expr(gen->context, index->items[i]);
  if (value && ir_gen_buffer(gen, (uint32_t)target, &buffer)) {
    value = ir_gen_cast(gen, value, (ir_dtype)gen->buffers.at[buffer].dtype);
    ir_gen_store(gen, buffer, index->count, indices, value);
  }
  ir_gen_leave(gen, &owner);
}

static void gen_body(ir_gen *gen, const ir_gen_nest *nest, bool along) {
  ir_each_op(op, nest->region) {
    if (gen->failed) return;
    ir_memo memo = {0}, *outer = gen->memo;
    gen->memo = &memo;
    gen->op = op;
    if (ir_is(op, IR_SCALAR)) {
      /* Under a condition, and in steps, it is computed where it is used. */
      if (!nest->inner_count && !value_reduces(nest, ir_op_result(op, 0))) ir_gen_let(gen, op);
    } else if (ir_is(op, IR_STORE) && is_reduction(op)) {
      ir_gen_reduction(gen, nest, op, along);
    } else if (ir_is(op, IR_STORE)) {
      if (is_reducing(nest)) ir_gen_fail(gen, "a store without a reducer in a nest with reduction axes");
      ir_gen_owner owner;
      ir_gen_enter(gen, &owner, op);
      ir_reg value = ir_gen_expr(gen, ir_get_expr_at(op, "args", 0));
      ir_gen_leave(gen, &owner);
      ir_gen_store_result(gen, op, 0, value);
    } else if (!ir_is(op, IR_GUARD) && !ir_is(op, IR_YIELD)) {
      ir_gen_fail(gen, "'%s' in a compute nest", ir_op_row(op)->name);
    }
    gen->memo = outer;
  }
  gen->op = nest->op;
}

/* What doesn't depend on reduction axes and must be known before the first condition. */
static void gen_guarded(ir_gen *gen, const ir_gen_nest *nest, bool along) {
  if (!nest->outer_count) {
    gen_body(gen, nest, along);
    return;
  }
  ir_node *node = ir_gen_node(gen);
  ir_gen_scope scope;
  ir_gen_owner owner;
  bool lazy = gen->lazy;
  node->narrow = true;
  ir_gen_open(gen, &scope, &node->body, NULL);
  gen->lazy = true;
  ir_gen_enter(gen, &owner, nest->guard);
  ir_gen_guard(gen, &node->guard, nest->outer_count, nest->outer);
  ir_gen_leave(gen, &owner);
  gen_body(gen, nest, along);
  gen->lazy = lazy;
  ir_gen_close(gen, &scope, false);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_IF, .varying = gen->in_lanes, .info = node});
}

/* The last MERGED spatial axes are lanes. */
static void generate(ir_gen *gen, const ir_gen_nest *nest, size_t merged, bool along) {
  ir_gen_scope *scopes = ir_new_array(&gen->scratch, ir_gen_scope, nest->spatial + 1);
  ir_node **nodes = ir_new_array(&gen->scratch, ir_node *, nest->spatial + 1);
  size_t outer = nest->spatial - merged;
  for (size_t i = 0; i < outer; i++) {
    ir_value *axis = nest->region->args[i];
    if (nest->sizes[i] == 1) ir_gen_bind(gen, axis, (ir_origin){.reg = ir_gen_i64(gen, 0)});
    else nodes[i] = ir_gen_for(gen, &scopes[i], axis, nest->extents[i]);
  }
  ir_node *lanes = NULL;
  if (merged) {
    bool known = merged > 1 || nest->sizes[outer] >= 0;
    int64_t most = ir_gen_info(gen, nest->extents[outer])->most;
    lanes = ir_gen_lanes(gen, &scopes[outer], merged, known ? nest->sizes + outer : &most, nest->region->args + outer,
                         known ? 0 : nest->extents[outer]);
  }
  gen_guarded(gen, nest, along);
  if (lanes) {
    ir_gen_close_lanes(gen, &scopes[outer]);
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_LANES, .info = lanes});
  }
  for (size_t i = outer; i > 0; i--) {
    if (!nodes[i - 1]) continue;
    ir_gen_close(gen, &scopes[i - 1], true);
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_FOR, .info = nodes[i - 1]});
  }
}

/* --- choosing --- */
/* Where a plan stood, to take back what a try has made. */
struct mark {
  size_t code, regs, gathers, *before;
  uint32_t reduces;
};

static struct mark mark_of(ir_gen *gen) {
  struct mark m = {gen->at->count, gen->regs.count, gen->gathers, NULL, gen->plan->reduce_count};
  m.before = ir_new_array(&gen->scratch, size_t, gen->depth + 1);
  for (size_t i = 1; i <= gen->depth; i++) m.before[i] = gen->before.at[i]->count;
  return m;
}

static void take_back(ir_gen *gen, const struct mark *m) {
  gen->at->count = m->code;
  for (size_t i = 1; i <= gen->depth; i++) gen->before.at[i]->count = m->before[i];
  gen->gathers = m->gathers;
  gen->plan->reduce_count = m->reduces;
  /* Constants stay: others may share them. */
  for (size_t i = m->regs; i < gen->regs.count; i++) {
    if (!gen->regs.at[i].constant || gen->regs.at[i].splat) gen->regs.at[i].rows = 0;
  }
}

static bool reduces_along(const ir_gen_nest *nest) {
  int64_t results = ir_gen_product(nest->sizes, 0, nest->spatial), length = ir_gen_product(nest->sizes, nest->spatial, nest->count);
  if (nest->count == nest->spatial || length < LONG || results < 0) return false;
  bool along = false;
  ir_each_op(op, nest->region) {
    ir_reduction how;
    if (!ir_reduction_of(op, &how)) continue;
    if (how.reducer == IR_REDUCE_USER) return false;
    along |= results < FEW_RESULTS || (how.lanes == IR_REDUCTION_LANES && length >= 2 * LONG);
  }
  return along;
}

static size_t enough_axes(const ir_gen_nest *nest) {
  size_t merged = 1;
  int64_t lanes = nest->sizes[nest->spatial - 1];
  while (lanes < ENOUGH_LANES && merged < nest->spatial && nest->sizes[nest->spatial - merged - 1] >= 0) {
    lanes *= nest->sizes[nest->spatial - ++merged];
  }
  return merged;
}

static void choose(ir_gen *gen, const ir_gen_nest *nest) {
  if (reduces_along(nest)) {
    generate(gen, nest, 0, true);
    return;
  }
  if (!nest->spatial || ir_gen_product(nest->sizes, 0, nest->spatial) < 0) {
    generate(gen, nest, nest->spatial ? 1 : 0, false);
    return;
  }
  size_t enough = enough_axes(nest);
  if (nest->spatial > enough) {
    /* All axes at once, where every access then walks memory evenly and no condition does worse. */
    struct mark m = mark_of(gen);
    if (!nest->guard) {
      generate(gen, nest, nest->spatial, false);
      if (gen->failed || gen->gathers == m.gathers) return;
      take_back(gen, &m);
    }
  }
  generate(gen, nest, enough, false);
}

void ir_gen_compute(ir_gen *gen, ir_op *compute) {
  ir_region *region = ir_op_region(compute, 0);
  ir_gen_nest nest = {.op = compute, .region = region, .spatial = region->spatial_count, .count = region->arg_count};
  nest.extents = ir_new_array(&gen->scratch, ir_reg, nest.count);
  nest.sizes = ir_new_array(&gen->scratch, int64_t, nest.count);
  for (size_t i = 0; i < nest.count; i++) {
    nest.extents[i] = ir_gen_scalar(gen, ir_op_operand(compute, i));
    if (!nest.extents[i]) return;
    if (!ir_gen_is_constant(gen, nest.extents[i], &nest.sizes[i])) nest.sizes[i] = -1;
    else if (nest.sizes[i] < 0) nest.sizes[i] = 0;
    if (i < nest.spatial && nest.sizes[i] == 0) return;
  }
  sort_conditions(gen, &nest);
  ir_map written = gen->written;
  gen->written = (ir_map){0};
  ir_each_op(op, region) {
    size_t targets = ir_is(op, IR_STORE) ? (size_t)ir_get_int(op, "targets") : 0;
    gen->op = op;
    for (size_t t = 0; t < targets; t++) {
      uint32_t buffer;
      if (!ir_gen_buffer(gen, (uint32_t)t, &buffer)) return;
      ir_gen_written(gen, buffer);
    }
  }
  gen->op = compute;
  bool lazy = gen->lazy;
  gen->lazy = false;
  choose(gen, &nest);
  gen->lazy = lazy;
  gen->written = written;
}
