// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen_loop.c - loop form. Iterations that are independent become lanes: of loops that say so, and of
 * serial ones whose stores provably hit different elements. Loops bound to local axes are lanes of a workgroup. */
#include "runtime/interp/gen.h"

enum { MOST_OWN_BYTES = 16384 /* of local memory that each lane of a loop gets a copy of */ };

static bool is_mode(const ir_op *op, const char *mode) { return ir_is(op, IR_FOR) && !strcmp(ir_get_word(op, "mode"), mode); }

/* --- looking at loops before they are made --- */
struct survey {
  bool bind, compute, barrier, alloc_ok, inner_lanes;
};

static bool look(void *user, ir_op *op) {
  struct survey *s = user;
  s->bind |= is_mode(op, "bind");
  s->inner_lanes |= is_mode(op, "parallel") || is_mode(op, "vectorize");
  s->compute |= ir_is(op, IR_COMPUTE);
  s->barrier |= ir_is(op, IR_BARRIER);
  if (ir_is(op, IR_ALLOC)) {
    int64_t count = 0, bytes = MOST_OWN_BYTES + 1;
    const ir_type *type = ir_op_result(op, 0)->type;
    bool known = ir_type_static_dims(type, NULL, &count) && ir_dtype_bytes(ir_type_dtype(type), count * type->lanes, &bytes);
    if (!known || bytes > MOST_OWN_BYTES) s->alloc_ok = false;
  }
  return true;
}

static struct survey survey_of(const ir_op *loop) {
  struct survey s = {.alloc_ok = true};
  ir_walk(ir_op_region(loop, 0), IR_PRE_ORDER, look, &s);
  return s;
}

struct mention {
  const ir_op *op;
  const ir_value *value;
  const ir_attr *except; /* loads with these indices don't count */
  bool found;
};

static bool same_indices(const ir_expr *load, const ir_attr *index) {
  if (!index || load->count != index->count) return false;
  for (size_t i = 0; i < index->count; i++) {
    if (index->items[i]->kind != IR_ATTR_EXPR || load->kids[i] != index->items[i]->expr) return false;
  }
  return true;
}

static void find_mention(void *user, const ir_expr *node) {
  struct mention *m = user;
  if (node->code != IR_S_LOAD || ir_op_operand(m->op, node->arg) != m->value) return;
  if (!same_indices(node, m->except)) m->found = true;
}

static bool attr_mentions(struct mention *m, const ir_attr *attr) {
  if (!attr) return false;
  if (attr->kind == IR_ATTR_EXPR) ir_expr_walk(ir_op_context(m->op), attr->expr, find_mention, m);
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) attr_mentions(m, attr->items[i]);
  return m->found;
}

/* Whether an operation of REGION reads another element of BUFFER than the one that WRITER stores, or another one than
 * WRITER stores to it. */
static bool is_touched(const ir_region *region, const ir_op *writer, const ir_value *buffer) {
  ir_each_op(op, region) {
    struct mention m = {.op = op, .value = buffer};
    if (op == writer) m.except = ir_get(op, "index")->items[0];
    for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) {
      if (attr_mentions(&m, ir_op_slots(op)[i])) return true;
    }
    if (ir_is(op, IR_STORE) && op != writer && ir_op_operand(op, 0) == buffer) return true;
    if (ir_is(op, IR_IF) && is_touched(ir_op_region(op, 0), writer, buffer)) return true;
  }
  return false;
}

/* VALUE is VARIABLE or computed from it. */
static bool depends(const ir_value *value, const ir_value *variable) {
  if (value == variable) return true;
  const ir_op *op = ir_value_op(value);
  if (!ir_is(op, IR_SCALAR)) return false;
  for (size_t i = 0; i < op->operand_count; i++) {
    if (depends(ir_op_operand(op, i), variable)) return true;
  }
  return false;
}

static bool expr_depends(const ir_op *op, const ir_expr *expr, const ir_value *variable) {
  if (expr->code == IR_S_ARG) return depends(ir_op_operand(op, expr->arg), variable);
  if (expr->code == IR_S_LOAD) return true;
  for (size_t i = 0; i < expr->count; i++) {
    if (expr_depends(op, expr->kids[i], variable)) return true;
  }
  return false;
}

/* EXPR is VARIABLE plus or minus something that doesn't depend on it: different rounds, different values. */
static bool steps_with(const ir_op *op, const ir_expr *expr, const ir_value *variable) {
  if (expr->lanes > 1) return false;
  if (expr->code == IR_S_ARG) return ir_op_operand(op, expr->arg) == variable;
  if (expr->code != IR_S_ADD && expr->code != IR_S_SUB) return false;
  for (size_t i = 0; i < 2; i++) {
    if (steps_with(op, expr->kids[i], variable) && !expr_depends(op, expr->kids[1 - i], variable)) return true;
  }
  return false;
}

static bool stores_apart(const ir_op *store, const ir_value *variable) {
  const ir_attr *index = ir_get(store, "index")->items[0];
  for (size_t i = 0; i < index->count; i++) {
    if (index->items[i]->kind == IR_ATTR_EXPR && steps_with(store, index->items[i]->expr, variable)) return true;
  }
  return false;
}

/* The rounds of a serial loop can't see each other: only values, conditions and stores, to elements of their own. */
static bool is_apart(const ir_op *loop, const ir_region *region, size_t *stores) {
  const ir_region *body = ir_op_region(loop, 0);
  ir_each_op(op, region) {
    if (ir_is(op, IR_SCALAR) || ir_is(op, IR_YIELD)) continue;
    if (ir_is(op, IR_IF) && op->region_count == 1 && is_apart(loop, ir_op_region(op, 0), stores)) continue;
    if (!ir_is(op, IR_STORE)) return false;
    if (!stores_apart(op, body->args[0]) || is_touched(body, op, ir_op_operand(op, 0))) return false;
    ++*stores;
  }
  return true;
}

static bool is_independent(const ir_op *loop) {
  size_t stores = 0;
  return is_apart(loop, ir_op_region(loop, 0), &stores) && stores > 0;
}

static bool find_independent(void *user, ir_op *op) {
  bool *found = user;
  *found |= ir_is(op, IR_FOR) && is_independent(op);
  return !*found;
}

/* The inner loop of two makes the better lanes. */
static bool runs_in_lanes(ir_gen *gen, const ir_op *loop) {
  if (gen->in_lanes || is_mode(loop, "bind")) return false;
  struct survey s = survey_of(loop);
  if (s.bind || s.compute || s.barrier || !s.alloc_ok || s.inner_lanes) return false;
  if (is_independent(loop)) return true;
  if (!is_mode(loop, "parallel") && !is_mode(loop, "vectorize")) return false;
  bool inner = false;
  ir_walk(ir_op_region(loop, 0), IR_PRE_ORDER, find_independent, &inner);
  return !inner;
}

/* --- workgroups --- */
struct workgroup {
  ir_gen *gen;
  int64_t dims[3]; /* x, y, z */
};

static int axis_of(const ir_op *loop) {
  const char *axis = ir_get_word(loop, "axis");
  size_t length = strlen(axis);
  return length ? axis[length - 1] - 'x' : 0;
}

static bool is_local(const ir_op *loop) { return !strncmp(ir_get_word(loop, "axis"), "local", 5); }

static bool measure(void *user, ir_op *op) {
  struct workgroup *w = user;
  if (!is_mode(op, "bind") || !is_local(op)) return true;
  int64_t extent;
  const ir_expr *closed = ir_value_closed_expr(ir_op_operand(op, 0));
  w->gen->op = op;
  if (!closed || !ir_gen_is_constant(w->gen, ir_gen_expr(w->gen, closed), &extent)) {
    ir_gen_fail(w->gen, "the extent of a loop bound to '%s' must not depend on values of the kernel", ir_get_word(op, "axis"));
    return false;
  }
  int64_t *dim = &w->dims[axis_of(op)];
  if (extent > *dim) *dim = extent;
  return true;
}

static ir_node *open_grid(ir_gen *gen, ir_gen_scope *scope, ir_op *loop) {
  struct workgroup w = {.gen = gen, .dims = {1, 1, 1}};
  ir_memo memo = {0}, *outer = gen->memo;
  gen->memo = &memo;
  if (measure(&w, loop)) ir_walk(ir_op_region(loop, 0), IR_PRE_ORDER, measure, &w);
  gen->memo = outer;
  gen->op = loop;
  ir_node *node = ir_gen_node(gen);
  bool fits = true;
  node->lanes = 1;
  for (int i = 0; i < 3; i++) fits &= w.dims[i] <= IR_MAX_WORKGROUP && (node->lanes *= w.dims[i]) <= IR_MAX_WORKGROUP;
  if (!fits) {
    ir_gen_fail(gen, "a workgroup of more than %d invocations", IR_MAX_WORKGROUP);
    node->lanes = 1;
  }
  if (node->lanes > gen->plan->lanes) gen->plan->lanes = node->lanes;
  ir_gen_open(gen, scope, &node->body, &node->before);
  node->axis_count = 3;
  node->axes = ir_new_array(gen->arena, ir_axis, 3);
  for (int i = 0; i < 3; i++) {
    ir_reg reg = ir_gen_reg(gen, IR_I64, 1, true, gen->depth);
    ir_gen_range(gen, reg, 0, w.dims[2 - i] - 1);
    node->axes[i] = (ir_axis){.reg = reg, .extent = w.dims[2 - i], .used = true};
  }
  gen->in_lanes = gen->in_grid = true;
  gen->axes = node->axes;
  gen->axis_count = 3;
  gen->lane_base = 0;
  gen->lane_depth = gen->depth;
  return node;
}

static void gen_for(ir_gen *gen, ir_op *op);

/* A loop bound to a local axis: the lanes are there already; those past the extent stay out. */
static void gen_local(ir_gen *gen, ir_op *op) {
  ir_region *body = ir_op_region(op, 0);
  const ir_axis *axis = &gen->axes[2 - axis_of(op)];
  int64_t extent = 0, dim = axis->extent;
  ir_reg reg = axis->reg, limit = ir_gen_scalar(gen, ir_op_operand(op, 0));
  ir_gen_bind(gen, body->args[0], (ir_origin){.reg = reg});
  if (ir_gen_is_constant(gen, limit, &extent) && extent == dim) {
    gen->local_depth++;
    ir_gen_region(gen, body);
    gen->local_depth--;
    return;
  }
  ir_node *node = ir_gen_node(gen);
  ir_gen_scope scope;
  node->narrow = true;
  node->guard.conds = ir_new_array(gen->arena, ir_cond, 1);
  node->guard.count = 1;
  ir_gen_open(gen, &scope, &node->body, NULL);
  ir_cond *cond = &node->guard.conds[0];
  gen->at = &cond->code;
  cond->kind = IR_COND_LANES;
  cond->reg = ir_gen_pure(gen, gen->kernels->op[IR_S_LT][IR_REP_I64], IR_BOOL, 1, 2, (ir_reg[]){reg, limit});
  node->guard.mask = ir_gen_reg(gen, IR_BOOL, 1, true, gen->depth);
  gen->at = &node->body;
  gen->local_depth++;
  ir_gen_region(gen, body);
  gen->local_depth--;
  ir_gen_close(gen, &scope, false);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_IF, .varying = true, .info = node});
}

static void gen_bound(ir_gen *gen, ir_op *op) {
  if (!gen->in_grid) {
    if (gen->in_lanes) {
      ir_gen_fail(gen, "a loop bound to '%s' inside a parallel loop", ir_get_word(op, "axis"));
      return;
    }
    ir_gen_scope scope;
    ir_node *node = open_grid(gen, &scope, op);
    gen_for(gen, op);
    ir_gen_close_lanes(gen, &scope);
    gen->in_grid = false;
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_GRID, .info = node});
    return;
  }
  if (is_local(op)) {
    gen_local(gen, op);
    return;
  }
  ir_gen_scope scope;
  ir_node *node = ir_gen_for(gen, &scope, ir_op_region(op, 0)->args[0], ir_gen_scalar(gen, ir_op_operand(op, 0)));
  node->group = true;
  if (ir_gen_info(gen, node->extent)->varying) ir_gen_fail(gen, "the extent of a loop bound to '%s' differs between invocations", ir_get_word(op, "axis"));
  ir_gen_region(gen, ir_op_region(op, 0));
  ir_gen_close(gen, &scope, true);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_FOR, .varying = true, .info = node});
}

/* --- statements --- */
static void gen_for(ir_gen *gen, ir_op *op) {
  ir_region *body = ir_op_region(op, 0);
  if (is_mode(op, "bind")) {
    gen_bound(gen, op);
    return;
  }
  ir_reg extent = ir_gen_scalar(gen, ir_op_operand(op, 0));
  if (!extent) return;
  ir_gen_scope scope;
  if (runs_in_lanes(gen, op)) {
    int64_t most = ir_gen_info(gen, extent)->most;
    ir_node *node = ir_gen_lanes(gen, &scope, 1, &most, body->args, extent);
    ir_gen_region(gen, body);
    ir_gen_close_lanes(gen, &scope);
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_LANES, .info = node});
    return;
  }
  ir_node *node = ir_gen_for(gen, &scope, body->args[0], extent);
  if (ir_gen_info(gen, extent)->varying) node->guard.mask = ir_gen_reg(gen, IR_BOOL, 1, true, gen->depth);
  ir_gen_region(gen, body);
  ir_gen_close(gen, &scope, true);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_FOR, .varying = gen->in_lanes, .info = node});
}

static void gen_while(ir_gen *gen, ir_op *op) {
  ir_node *node = ir_gen_node(gen);
  ir_gen_scope scope;
  ir_gen_owner owner;
  ir_gen_open(gen, &scope, &node->body, &node->before);
  ir_gen_enter(gen, &owner, op);
  const ir_expr *condition = ir_get_expr(op, "condition");
  ir_gen_guard(gen, &node->guard, 1, &condition);
  ir_gen_leave(gen, &owner);
  ir_gen_region(gen, ir_op_region(op, 0));
  ir_gen_close(gen, &scope, true);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_WHILE, .varying = gen->in_lanes, .info = node});
}

static void gen_branch(ir_gen *gen, ir_region *region, ir_code *code) {
  ir_gen_scope scope;
  ir_gen_open(gen, &scope, code, NULL);
  ir_gen_region(gen, region);
  ir_gen_close(gen, &scope, false);
}

static void gen_if(ir_gen *gen, ir_op *op) {
  ir_node *node = ir_gen_node(gen);
  ir_value *condition = ir_op_operand(op, 0);
  const ir_op *inner = ir_value_op(condition);
  ir_instr instr = {.kind = IR_I_IF, .varying = gen->in_lanes, .info = node};
  if (op->region_count == 1 && ir_is(inner, IR_SCALAR) && (inner->flags & IR_OP_INLINE)) {
    ir_gen_scope scope;
    ir_gen_owner owner;
    node->narrow = true;
    ir_gen_open(gen, &scope, &node->body, NULL);
    ir_gen_enter(gen, &owner, inner);
    const ir_expr *expr = ir_get_expr(inner, "value");
    ir_gen_guard(gen, &node->guard, 1, &expr);
    ir_gen_leave(gen, &owner);
    ir_gen_region(gen, ir_op_region(op, 0));
    ir_gen_close(gen, &scope, false);
    ir_gen_emit(gen, instr);
    return;
  }
  instr.a = ir_gen_scalar(gen, condition);
  if (!instr.a) return;
  if (ir_gen_info(gen, instr.a)->varying) node->guard.mask = ir_gen_reg(gen, IR_BOOL, 1, true, gen->depth);
  gen_branch(gen, ir_op_region(op, 0), &node->body);
  if (op->region_count > 1) gen_branch(gen, ir_op_region(op, 1), &node->other);
  ir_gen_emit(gen, instr);
}

static void gen_alloc(ir_gen *gen, ir_op *op) {
  ir_value *value = ir_op_result(op, 0);
  const ir_type *type = value->type;
  const char *scope = ir_get_word(op, "scope");
  ir_buffer_kind kind = !strcmp(scope, "shared") ? IR_BUFFER_SHARED : !strcmp(scope, "local") ? IR_BUFFER_LOCAL : IR_BUFFER_GLOBAL;
  int64_t *dims = ir_new_array(&gen->scratch, int64_t, type->count);
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    if (!dim || !ir_gen_is_constant(gen, ir_gen_expr(gen, dim), &dims[i]) || dims[i] < 0) {
      ir_gen_fail(gen, "alloc: the extent of axis %zu is not known", i);
      return;
    }
  }
  int64_t count, bytes;
  if (!ir_tensor_extent(ir_type_dtype(type), type->count, dims, &count, &bytes)) {
    ir_gen_fail(gen, "alloc: the extents overflow");
    return;
  }
  const char *name = value->name ? value->name->text : "buffer";
  uint32_t buffer = ir_gen_add_buffer(gen, value, name, kind, ir_type_dtype(type), type->lanes, type->count, dims);
  ir_buffer *b = &gen->buffers.at[buffer];
  bool grid = ir_map_has(&gen->in_grids, value);
  b->own = kind == IR_BUFFER_LOCAL ? gen->in_lanes || grid : gen->in_lanes && !gen->in_grid;
  b->raced = gen->checked && grid && !b->own && ir_map_has(&gen->raced, value);
  if (ir_map_has(&gen->stored, value)) ir_gen_written(gen, buffer);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_ALLOC, .b = buffer, .info = op});
}

static void gen_store(ir_gen *gen, ir_op *op) {
  ir_gen_owner owner;
  uint32_t buffer;
  if (*ir_get_word(op, "reducer") || ir_get(op, "user_reducer")) {
    ir_gen_fail(gen, "a reduction outside of a compute nest");
    return;
  }
  ir_gen_enter(gen, &owner, op);
  const ir_attr *index = ir_get(op, "index")->items[0];
  const ir_expr **indices = ir_new_array(&gen->scratch, const ir_expr *, index->count);
  for (size_t i = 0; i < index->count; i++) indices[i] = ir_attr_as_expr(gen->context, index->items[i]);
  ir_reg value = ir_gen_expr(gen, ir_get_expr_at(op, "args", 0));
  if (value && ir_gen_buffer(gen, 0, &buffer)) ir_gen_store(gen, buffer, index->count, indices, value);
  ir_gen_leave(gen, &owner);
}

static void gen_statement(ir_gen *gen, ir_op *op) {
  gen->op = op;
  switch ((ir_opcode)op->code) {
  case IR_SCALAR:
    /* A condition is taken apart where it is used. */
    if ((op->flags & IR_OP_INLINE) && ir_op_result(op, 0)->uses && ir_is(ir_op_result(op, 0)->uses->user, IR_IF)) return;
    ir_gen_let(gen, op);
    return;
  case IR_ALLOC: gen_alloc(gen, op); return;
  case IR_STORE: gen_store(gen, op); return;
  case IR_ATOMIC_ADD:
  case IR_ATOMIC_MAX:
  case IR_ATOMIC_MIN: ir_gen_atomic(gen, op); return;
  case IR_FOR: gen_for(gen, op); return;
  case IR_WHILE: gen_while(gen, op); return;
  case IR_IF: gen_if(gen, op); return;
  case IR_COMPUTE:
    if (gen->in_lanes) ir_gen_fail(gen, "a compute nest inside a parallel or bound loop");
    else ir_gen_compute(gen, op);
    return;
  case IR_BARRIER: ir_gen_emit(gen, (ir_instr){.kind = IR_I_BARRIER, .info = op}); return;
  case IR_ASSERT: {
    ir_reg condition = ir_gen_scalar(gen, ir_op_operand(op, 0));
    if (!condition) return;
    bool varying = ir_gen_info(gen, condition)->varying;
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_ASSERT, .varying = varying, .a = condition, .info = op});
    return;
  }
  case IR_YIELD: return;
  default: ir_gen_fail(gen, "the interpreter doesn't run '%s' in a prim_func", ir_op_row(op)->name);
  }
}

void ir_gen_region(ir_gen *gen, ir_region *region) {
  const ir_op *outer = gen->op;
  ir_memo *memo = gen->memo;
  ir_each_op(op, region) {
    ir_memo own = {.outer = NULL};
    gen->memo = &own;
    if (gen->failed) break;
    gen_statement(gen, op);
  }
  gen->memo = memo;
  gen->op = outer;
}

/* --- what a prim_func stores to, and what its kernels touch --- */
struct usage {
  ir_gen *gen;
  bool grid;
};

static bool note_usage(void *user, ir_op *op) {
  struct usage *u = user;
  ir_gen *gen = u->gen;
  bool atomic = ir_is(op, IR_ATOMIC_ADD) || ir_is(op, IR_ATOMIC_MAX) || ir_is(op, IR_ATOMIC_MIN);
  size_t targets = ir_is(op, IR_STORE) ? (size_t)ir_get_int(op, "targets") : atomic ? 1 : 0;
  for (size_t i = 0; i < targets; i++) {
    ir_map_put(&gen->scratch, &gen->stored, ir_op_operand(op, i), gen);
    if (u->grid) ir_map_put(&gen->scratch, &gen->raced, ir_op_operand(op, i), gen);
  }
  for (size_t i = 0; u->grid && i < op->operand_count; i++) {
    ir_map_put(&gen->scratch, &gen->in_grids, ir_op_operand(op, i), gen);
  }
  if (!u->grid && is_mode(op, "bind")) {
    struct usage inner = {.gen = gen, .grid = true};
    ir_walk(ir_op_region(op, 0), IR_PRE_ORDER, note_usage, &inner);
  }
  return true;
}

void ir_gen_usage(ir_gen *gen, ir_region *body) {
  struct usage usage = {.gen = gen};
  ir_walk(body, IR_PRE_ORDER, note_usage, &usage);
}
