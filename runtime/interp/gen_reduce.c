// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen_reduce.c - reductions of a compute nest: loops over the reduction axes around one step, or lanes
 * along them. ir/reduction.h says in which order, exec_reduce.c keeps it. */
#include "runtime/interp/gen.h"

struct making {
  ir_gen *gen;
  const ir_gen_nest *nest;
  ir_op *store;
  ir_reduction how;
  bool along;
  ir_reduce *reduce; /* NULL for a reducer of the module */
  ir_func *reducer;
  ir_reg *states;
};

static ir_instr instr_of(const struct making *m, ir_instr_kind kind) {
  return (ir_instr){.kind = (uint8_t)kind, .varying = m->gen->in_lanes && !m->along, .info = m->reduce};
}

/* --- the accumulators --- */
static const ir_scalar_code merges[] = {
    [IR_REDUCE_SUM] = IR_S_ADD, [IR_REDUCE_PROD] = IR_S_MUL, [IR_REDUCE_MAX] = IR_S_MAX,    [IR_REDUCE_MIN] = IR_S_MIN,
    [IR_REDUCE_ANY] = IR_S_OR,  [IR_REDUCE_ALL] = IR_S_AND,  [IR_REDUCE_DOT] = IR_S_ADD,
};

static uint32_t levels_of(const struct making *m) {
  int64_t left = ir_gen_product(m->nest->sizes, m->nest->spatial, m->nest->count);
  uint32_t levels = 1;
  if (!m->how.lanes) return 1;
  if (left < 0) return IR_MAX_LEVELS;
  for (; left > IR_REDUCTION_BLOCK; levels++) left = (left + IR_REDUCTION_BLOCK - 1) / IR_REDUCTION_BLOCK;
  return levels;
}

static bool is_arg(const struct making *m) { return m->how.reducer == IR_REDUCE_ARGMAX || m->how.reducer == IR_REDUCE_ARGMIN; }

static bool make_accumulators(struct making *m) {
  ir_gen *gen = m->gen;
  const ir_kernels *k = gen->kernels;
  ir_reduce *r = m->reduce = ir_new(gen->arena, ir_reduce);
  ir_rep rep = ir_rep_of(m->how.acc);
  const ir_expr *identity = ir_reduction_identity(gen->context, m->how.reducer, m->how.acc);
  uint64_t *value = ir_new(gen->arena, uint64_t);
  ir_gen_format(gen, m->how.acc, identity->bits, value);
  *r = (ir_reduce){.how = m->how, .number = gen->plan->reduce_count++, .along = m->along, .rows = m->how.lanes ? m->how.lanes : 1,
                   .levels = levels_of(m), .identity = value, .size = ir_rep_sizes[rep], .op = m->store};
  bool varying = gen->in_lanes;
  r->acc = ir_gen_reg(gen, m->how.acc, 1, varying, gen->depth);
  ir_gen_info(gen, r->acc)->rows = r->rows * r->levels;
  if (is_arg(m)) {
    r->rows = r->levels = 1;
    ir_gen_info(gen, r->acc)->rows = 1;
    r->where = ir_gen_reg(gen, IR_I64, 1, varying, gen->depth);
    r->seen = ir_gen_reg(gen, IR_BOOL, 1, varying, gen->depth);
    return true;
  }
  r->temp = ir_gen_reg(gen, m->how.acc, 1, varying, gen->depth);
  ir_gen_info(gen, r->temp)->rows = m->along ? IR_REDUCTION_LANES : 1;
  bool dot = m->how.reducer == IR_REDUCE_DOT, is_float = ir_is_float(m->how.acc);
  ir_scalar_code merge = merges[m->how.reducer], step = dot ? (gen->fma && is_float ? IR_S_FMA : IR_S_MAD) : merge;
  r->add = k->op[merge][rep];
  r->combine = k->op[step][rep];
  r->fold = k->fold[step][rep];
  bool rounds = merge == IR_S_ADD || merge == IR_S_MUL;
  r->narrow = rounds ? k->narrow[m->how.acc] : NULL;
  if (dot && is_float && r->narrow && !gen->fma) r->multiply = k->op[IR_S_MUL][rep];
  if (!r->add || !r->combine) return ir_gen_fail(gen, "the interpreter has no such reduction of %s", ir_dtype_name(m->how.acc));
  return true;
}

static ir_reg operand(struct making *m, size_t i, ir_dtype dtype) {
  ir_reg reg = ir_gen_cast(m->gen, ir_gen_expr(m->gen, ir_get_expr_at(m->store, "args", i)), dtype);
  if (reg && m->gen->in_lanes) reg = ir_gen_vary(m->gen, reg);
  for (size_t k = 0; k < m->gen->axis_count; k++) {
    if (m->gen->axes[k].reg == reg) m->gen->axes[k].used = true;
  }
  return reg;
}

static void make_step(struct making *m) {
  ir_reduce *r = m->reduce;
  ir_gen_owner owner;
  ir_gen_enter(m->gen, &owner, m->store);
  if (is_arg(m)) {
    r->index = operand(m, 0, IR_I64);
    r->x = operand(m, 1, m->how.acc);
  } else {
    r->x = operand(m, 0, m->how.acc);
    if (m->how.reducer == IR_REDUCE_DOT) r->y = operand(m, 1, m->how.acc);
  }
  ir_gen_leave(m->gen, &owner);
  ir_gen_emit(m->gen, instr_of(m, IR_I_STEP));
}

/* --- reducers of the module --- */
static bool make_states(struct making *m) {
  ir_gen *gen = m->gen;
  ir_item *item = ir_module_find(gen->module, ir_intern(gen->context, ir_slice_of(m->how.name)));
  m->reducer = item && item->kind == IR_ITEM_REDUCER ? ir_item_func(item) : NULL;
  if (!m->reducer || !m->reducer->body) return ir_gen_fail(gen, "there is no reducer '@%s'", m->how.name);
  m->states = ir_new_array(&gen->scratch, ir_reg, m->reducer->state_count);
  for (size_t i = 0; i < m->reducer->state_count; i++) {
    const ir_type *type = m->reducer->body->args[i]->type;
    m->states[i] = ir_gen_reg(gen, ir_type_dtype(type), 1, gen->in_lanes, gen->depth);
    ir_gen_move(gen, m->states[i], ir_gen_cast(gen, ir_gen_expr(gen, m->reducer->identities[i]), ir_type_dtype(type)));
  }
  return true;
}

static bool is_state(const struct making *m, ir_reg reg) {
  for (size_t i = 0; i < m->reducer->state_count; i++) {
    if (m->states[i] == reg) return true;
  }
  return false;
}

static void make_user_step(struct making *m) {
  ir_gen *gen = m->gen;
  ir_region *body = m->reducer->body;
  size_t states = m->reducer->state_count;
  ir_gen_owner owner;
  ir_gen_enter(gen, &owner, m->store);
  /* States change each round: what is made of them alone belongs inside, too. */
  for (size_t i = 0; i < states; i++) ir_gen_info(gen, m->states[i])->depth = gen->depth;
  for (size_t i = 0; i < body->arg_count; i++) {
    ir_dtype dtype = ir_type_dtype(body->args[i]->type);
    ir_reg reg = i < states ? m->states[i] : ir_gen_cast(gen, ir_gen_expr(gen, ir_get_expr_at(m->store, "args", i - states)), dtype);
    if (!reg) break;
    ir_gen_bind(gen, body->args[i], (ir_origin){.reg = reg});
  }
  ir_gen_leave(gen, &owner);
  const ir_op *yield = ir_region_terminator(body);
  ir_each_op(op, body) {
    if (gen->failed) return;
    if (ir_is(op, IR_SCALAR)) ir_gen_let(gen, op);
  }
  ir_reg *next = ir_new_array(&gen->scratch, ir_reg, states);
  for (size_t i = 0; i < states; i++) {
    next[i] = ir_gen_scalar(gen, ir_op_operand(yield, i));
    if (!next[i]) return;
    /* A state may become what another one was. */
    if (!is_state(m, next[i])) continue;
    ir_reg copy = ir_gen_reg(gen, (ir_dtype)ir_gen_info(gen, next[i])->dtype, 1, gen->in_lanes, gen->depth);
    ir_gen_move(gen, copy, next[i]);
    next[i] = copy;
  }
  for (size_t i = 0; i < states; i++) ir_gen_move(gen, m->states[i], next[i]);
}

/* --- the loops --- */
static void make_element(struct making *m) {
  ir_gen *gen = m->gen;
  if (!m->nest->inner_count) {
    if (m->reducer) make_user_step(m);
    else make_step(m);
    return;
  }
  ir_node *node = ir_gen_node(gen);
  ir_gen_scope scope;
  ir_gen_owner owner;
  bool lazy = gen->lazy;
  node->narrow = true;
  ir_gen_open(gen, &scope, &node->body, NULL);
  gen->lazy = true;
  ir_gen_enter(gen, &owner, m->nest->guard);
  ir_gen_guard(gen, &node->guard, m->nest->inner_count, m->nest->inner);
  ir_gen_leave(gen, &owner);
  if (m->reducer) make_user_step(m);
  else make_step(m);
  gen->lazy = lazy;
  ir_gen_close(gen, &scope, false);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_IF, .varying = gen->in_lanes, .info = node});
}

static void make_loops(struct making *m) {
  const ir_gen_nest *nest = m->nest;
  ir_gen *gen = m->gen;
  size_t count = nest->count - nest->spatial;
  ir_gen_scope *scopes = ir_new_array(&gen->scratch, ir_gen_scope, count + 1);
  ir_node **nodes = ir_new_array(&gen->scratch, ir_node *, count + 1);
  for (size_t i = 0; i < count; i++) {
    size_t axis = nest->spatial + i;
    ir_value *value = nest->region->args[axis];
    if (nest->sizes[axis] == 1) ir_gen_bind(gen, value, (ir_origin){.reg = ir_gen_i64(gen, 0)});
    else nodes[i] = ir_gen_for(gen, &scopes[i], value, nest->extents[axis]);
  }
  make_element(m);
  if (m->how.lanes && m->reduce && !is_arg(m)) ir_gen_emit(gen, instr_of(m, IR_I_TICK));
  for (size_t i = count; i > 0; i--) {
    if (!nodes[i - 1]) continue;
    ir_gen_close(gen, &scopes[i - 1], true);
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_FOR, .varying = gen->in_lanes, .info = nodes[i - 1]});
  }
}

static void make_strips(struct making *m) {
  const ir_gen_nest *nest = m->nest;
  ir_gen *gen = m->gen;
  ir_gen_scope scope;
  ir_node *node = ir_gen_lanes(gen, &scope, nest->count - nest->spatial, nest->sizes + nest->spatial,
                               nest->region->args + nest->spatial, 0);
  make_element(m);
  if (m->how.lanes && !is_arg(m)) ir_gen_emit(gen, instr_of(m, IR_I_TICK));
  ir_gen_close_lanes(gen, &scope);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_LANES, .info = node});
}

void ir_gen_reduction(ir_gen *gen, const ir_gen_nest *nest, ir_op *store, bool along) {
  struct making m = {.gen = gen, .nest = nest, .store = store, .along = along};
  if (!ir_reduction_of(store, &m.how)) {
    ir_gen_fail(gen, "a reduction that the interpreter doesn't know");
    return;
  }
  bool user = m.how.reducer == IR_REDUCE_USER;
  if (user ? !make_states(&m) : !make_accumulators(&m)) return;
  if (!user) ir_gen_emit(gen, instr_of(&m, IR_I_START));
  bool empty = false;
  for (size_t i = nest->spatial; i < nest->count; i++) empty |= nest->sizes[i] == 0;
  if (!empty) {
    if (along) make_strips(&m);
    else make_loops(&m);
  }
  size_t targets = (size_t)ir_get_int(store, "targets");
  if (user) {
    for (size_t i = 0; i < targets && i < m.reducer->state_count; i++) ir_gen_store_result(gen, store, i, m.states[i]);
    return;
  }
  ir_gen_emit(gen, instr_of(&m, IR_I_FINISH));
  ir_gen_store_result(gen, store, 0, is_arg(&m) ? m.reduce->where : m.reduce->acc);
  if (targets > 1) ir_gen_store_result(gen, store, 1, m.reduce->acc);
}
