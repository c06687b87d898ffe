// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/elements.c - element-wise operators, straight from their formulas: one plan for each pattern of extents.
 * Axes that all operands walk alike are one axis. */
#include "runtime/interp/elements.h"

#include "ir/element.h"

enum { MOST_OPERANDS = 8, ENOUGH_LANES = 64 };

/* The axes of an element-wise operation, outermost first, and how many elements each operand moves on along each. */
struct shape {
  size_t rank;
  int64_t dims[IR_MAX_AXES];
  bool follows[MOST_OPERANDS][IR_MAX_AXES]; /* false: the operand has extent 1 there */
};

static int64_t dim_of(const ir_object *object, size_t rank, size_t axis) {
  if (object->kind != IR_OBJECT_TENSOR || axis + object->tensor->rank < rank) return 1;
  return object->tensor->dims[axis + object->tensor->rank - rank];
}

bool ir_broadcast(size_t count, ir_object *const *operands, size_t *rank, int64_t *dims, int64_t clash[2]) {
  *rank = 0;
  for (size_t k = 0; k < count; k++) {
    if (operands[k]->kind == IR_OBJECT_TENSOR && operands[k]->tensor->rank > *rank) *rank = operands[k]->tensor->rank;
  }
  if (*rank > IR_MAX_AXES) return false;
  for (size_t i = 0; i < *rank; i++) {
    dims[i] = 1;
    for (size_t k = 0; k < count; k++) {
      int64_t dim = dim_of(operands[k], *rank, i);
      if (dim == 1 || dim == dims[i]) continue;
      clash[0] = dims[i];
      clash[1] = dim;
      if (dims[i] != 1) return false;
      dims[i] = dim;
    }
  }
  return true;
}

static bool alike(const struct shape *s, size_t count, size_t a, size_t b) {
  for (size_t k = 0; k < count; k++) {
    if (s->follows[k][a] != s->follows[k][b]) return false;
  }
  return true;
}

/* Drops axes of extent 1 and joins neighbours that all operands walk alike. */
static struct shape simplest(size_t count, ir_object *const *operands, size_t rank, const int64_t *dims) {
  struct shape s = {.rank = 0};
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] == 1) continue;
    s.dims[s.rank] = dims[i];
    for (size_t k = 0; k < count; k++) s.follows[k][s.rank] = dim_of(operands[k], rank, i) != 1;
    if (s.rank && alike(&s, count, s.rank - 1, s.rank)) s.dims[s.rank - 1] *= dims[i];
    else s.rank++;
  }
  return s;
}

/* --- making the plan --- */
struct making {
  ir_gen *gen;
  const ir_op *op;
  size_t count;
  const struct shape *shape;
  ir_origin *origins; /* operands, the result, the axes */
};

static void add_operand(struct making *m, size_t k, ir_dtype dtype) {
  int64_t dims[IR_MAX_AXES];
  size_t rank = 0;
  for (size_t i = 0; i < m->shape->rank; i++) {
    if (k == m->count || m->shape->follows[k][i]) dims[rank++] = m->shape->dims[i];
  }
  m->origins[k] = (ir_origin){.is_buffer = true};
  const char *name = k < ir_op_row(m->op)->operand_def_count && k < m->count ? ir_op_row(m->op)->operands[k].name : "result";
  m->origins[k].buffer = ir_gen_add_buffer(m->gen, NULL, name, IR_BUFFER_PARAM, dtype, 1, rank, dims);
}

static size_t indices_of(const struct making *m, size_t k, const ir_expr **indices) {
  size_t rank = 0;
  for (size_t i = 0; i < m->shape->rank; i++) {
    if (k == m->count || m->shape->follows[k][i]) indices[rank++] = ir_expr_arg(m->gen->context, (uint32_t)(m->count + 1 + i), IR_I64, 1);
  }
  return rank;
}

static void make_body(struct making *m, ir_dtype result, const ir_dtype *dtypes, ir_object *const *operands) {
  ir_context *context = m->gen->context;
  const ir_expr *elements[MOST_OPERANDS], *indices[IR_MAX_AXES];
  for (size_t k = 0; k < m->count; k++) {
    bool scalar = operands[k]->kind != IR_OBJECT_TENSOR;
    size_t rank = indices_of(m, k, indices);
    elements[k] = scalar ? ir_expr_arg(context, (uint32_t)k, dtypes[k], 1)
                         : ir_expr_load(context, (uint32_t)k, dtypes[k], 1, rank, indices);
  }
  const ir_expr *element = ir_element(context, m->op, result, elements);
  if (!element) {
    m->gen->failed = true;
    return;
  }
  ir_reg value = ir_gen_expr(m->gen, element);
  size_t rank = indices_of(m, m->count, indices);
  ir_gen_store(m->gen, m->origins[m->count].buffer, rank, indices, value);
}

static void make_loops(struct making *m, ir_dtype result, const ir_dtype *dtypes, ir_object *const *operands) {
  ir_gen *gen = m->gen;
  const struct shape *s = m->shape;
  ir_gen_scope scopes[IR_MAX_AXES];
  ir_node *nodes[IR_MAX_AXES];
  size_t merged = s->rank ? 1 : 0;
  int64_t lanes = s->rank ? s->dims[s->rank - 1] : 1;
  while (lanes < ENOUGH_LANES && merged < s->rank) lanes *= s->dims[s->rank - ++merged];
  size_t outer = s->rank - merged;
  for (size_t i = 0; i < outer; i++) {
    nodes[i] = ir_gen_for(gen, &scopes[i], NULL, ir_gen_i64(gen, s->dims[i]));
    m->origins[m->count + 1 + i].reg = nodes[i]->variable;
  }
  ir_node *strips = NULL;
  if (merged) {
    ir_value *none[IR_MAX_AXES] = {0};
    strips = ir_gen_lanes(gen, &scopes[outer], merged, s->dims + outer, none, 0);
    for (size_t i = 0; i < merged; i++) m->origins[m->count + 1 + outer + i].reg = strips->axes[i].reg;
  }
  make_body(m, result, dtypes, operands);
  if (strips) {
    ir_gen_close_lanes(gen, &scopes[outer]);
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_LANES, .info = strips});
  }
  for (size_t i = outer; i > 0; i--) {
    ir_gen_close(gen, &scopes[i - 1], true);
    ir_gen_emit(gen, (ir_instr){.kind = IR_I_FOR, .info = nodes[i - 1]});
  }
}

static ir_plan *make_plan(ir_interp *interp, ir_op *op, ir_dtype result, const struct shape *shape, ir_object *const *operands) {
  size_t count = op->operand_count;
  ir_gen *gen = ir_plan_begin(interp, NULL, op, count + 1);
  ir_memo memo = {0};
  ir_dtype dtypes[MOST_OPERANDS];
  struct making m = {.gen = gen, .op = op, .count = count, .shape = shape};
  m.origins = ir_new_array(&gen->scratch, ir_origin, count + 1 + IR_MAX_AXES);
  gen->memo = &memo;
  gen->op = NULL;
  gen->sources = m.origins;
  uint32_t *params = ir_new_array(gen->arena, uint32_t, count + 1);
  ir_reg *scalars = ir_new_array(gen->arena, ir_reg, count + 1);
  size_t buffers = 0;
  for (size_t k = 0; k < count; k++) {
    bool tensor = operands[k]->kind == IR_OBJECT_TENSOR;
    dtypes[k] = tensor ? (ir_dtype)operands[k]->tensor->dtype : operands[k]->scalar.dtype;
    if (tensor) {
      add_operand(&m, k, dtypes[k]);
      params[buffers++] = (uint32_t)k;
    } else {
      m.origins[k].reg = scalars[k] = ir_gen_reg(gen, dtypes[k], 1, false, 0);
    }
  }
  add_operand(&m, count, result);
  params[buffers++] = (uint32_t)count;
  ir_gen_written(gen, m.origins[count].buffer);
  gen->plan->params = params;
  gen->plan->scalars = scalars;
  gen->plan->param_count = buffers;
  make_loops(&m, result, dtypes, operands);
  return ir_plan_end(interp, gen);
}

/* --- running --- */
/* Everything that the plan depends on but the operator's attributes, which belong to OP. */
static size_t fill_key(int64_t *key, size_t count, ir_object *const *operands, const struct shape *s) {
  size_t at = 0;
  key[at++] = (int64_t)s->rank;
  for (size_t i = 0; i < s->rank; i++) key[at++] = s->dims[i];
  for (size_t k = 0; k < count; k++) {
    uint64_t bits = operands[k]->kind == IR_OBJECT_TENSOR ? operands[k]->tensor->dtype : 64u + operands[k]->scalar.dtype;
    for (size_t i = 0; i < s->rank; i++) bits = bits * 2 + s->follows[k][i];
    key[at++] = (int64_t)bits;
  }
  return at;
}

ir_object *ir_run_elements(ir_interp *interp, ir_op *op, ir_dtype result, ir_object *const *operands) {
  size_t count = op->operand_count, rank;
  int64_t dims[IR_MAX_AXES], clash[2] = {0};
  if (count > MOST_OPERANDS || !ir_broadcast(count, operands, &rank, dims, clash)) {
    ir_op_fail(interp, op, "%s: extents %lld and %lld do not broadcast", ir_op_row(op)->name, (long long)clash[0], (long long)clash[1]);
    return NULL;
  }
  ir_tensor *tensor = ir_tensor_new(interp->meter, result, rank, dims);
  if (!tensor) {
    ir_op_fail(interp, op, "%s: no memory for the result%s", ir_op_row(op)->name, ir_interp_budget(interp));
    return NULL;
  }
  ir_object *object = ir_object_tensor(tensor);
  if (!tensor->count) return object;
  struct shape shape = simplest(count, operands, rank, dims);
  int64_t key[1 + IR_MAX_AXES + MOST_OPERANDS];
  size_t key_count = fill_key(key, count, operands, &shape);
  ir_plan *plan = ir_plan_find(&interp->ops, op, key_count, key);
  if (!plan) {
    plan = make_plan(interp, op, result, &shape, operands);
    if (plan) ir_plan_keep(interp, &interp->ops, op, plan, key_count, key);
  }
  ir_object *arguments[MOST_OPERANDS + 1];
  for (size_t k = 0; k < count; k++) arguments[k] = operands[k];
  arguments[count] = object;
  if (plan && ir_plan_run(interp, plan, count + 1, arguments)) return object;
  ir_object_release(object);
  return NULL;
}
