// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/graph_control.c - if, loop and dataflow of graph functions. */
#include "runtime/interp/graph.h"

#include <inttypes.h>

static bool condition_of(ir_activation *a, const ir_step *step, const ir_object *object, bool *holds) {
  int64_t value;
  if (!ir_object_as_i64(object, &value)) return ir_step_fail(a, step, "%s: the condition is no bool", ir_op_row(step->op)->name);
  *holds = value != 0;
  return true;
}

static bool deliver(ir_activation *a, const ir_step *step, ir_object **values, size_t count) {
  for (size_t i = 0; i < step->op->result_count && i < count; i++) ir_step_result(a, step, i, ir_object_retain(values[i]));
  ir_release_objects(values, count);
  return true;
}

bool ir_step_dataflow(ir_activation *a, const ir_step *step) {
  ir_object **values;
  size_t count;
  return ir_run_block(a, step->blocks[0], &values, &count) && deliver(a, step, values, count);
}

bool ir_step_if(ir_activation *a, const ir_step *step) {
  bool holds = false;
  ir_object **values;
  size_t count;
  if (!condition_of(a, step, ir_step_operand(a, step, 0), &holds)) return false;
  size_t side = holds ? 0 : 1;
  if (side >= step->op->region_count) return true;
  return ir_run_block(a, step->blocks[side], &values, &count) && deliver(a, step, values, count);
}

/* --- loops --- */
/* Outputs of all rounds: tensors that must have one type, and their elements one after the other. */
typedef struct stack {
  ir_tensor **at;
  size_t count, capacity;
} stack;

static void free_stacks(stack *stacks, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < stacks[i].count; k++) ir_tensor_release(stacks[i].at[k]);
    ir_heap_free(stacks[i].at);
  }
  ir_heap_free(stacks);
}

/* What a round stacks is what it is now: later rounds may write to memory that somebody else has a hold of. */
static bool push_output(ir_activation *a, const ir_step *step, stack *s, const ir_object *object) {
  const ir_type element = {.kind = IR_TYPE_TENSOR};
  ir_object *tensor = ir_object_coerce(a->interp, &element, ir_object_retain((ir_object *)(uintptr_t)object));
  if (tensor->kind != IR_OBJECT_TENSOR) {
    ir_object_release(tensor);
    return ir_step_fail(a, step, "loop: a stacked output is no tensor");
  }
  if (s->count == s->capacity) {
    s->capacity = s->capacity ? s->capacity * 2 : 16;
    s->at = ir_heap_realloc(s->at, ir_size_mul(s->capacity, sizeof *s->at));
  }
  bool own = tensor->refs == 1 && ir_tensor_is_exclusive(tensor->tensor);
  ir_tensor *kept = own ? ir_tensor_retain(tensor->tensor) : ir_tensor_copy(a->interp->meter, tensor->tensor);
  ir_object_release(tensor);
  if (!kept) return ir_step_fail(a, step, "loop: no memory for a stacked output%s", ir_interp_budget(a->interp));
  s->at[s->count++] = kept;
  return true;
}

static bool same_dims(const ir_tensor *x, const ir_tensor *y) {
  return x->rank == y->rank && x->dtype == y->dtype && (!x->rank || !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims));
}

/* The extents of an output of no rounds come from its type. */
static bool empty_dims(ir_activation *a, const ir_step *step, const ir_type *type, int64_t *dims) {
  for (size_t i = 1; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    if (!dim || !ir_symbols_evaluate(&a->symbols, dim, &dims[i])) {
      return ir_step_fail(a, step, "loop: no rounds, and the extent of axis %zu of a stacked output is not known", i);
    }
  }
  return true;
}

static bool deliver_stack(ir_activation *a, const ir_step *step, size_t result, const stack *s) {
  const ir_type *type = ir_op_result(step->op, result)->type;
  size_t rank = s->count ? s->at[0]->rank + 1u : type->count;
  ir_dtype dtype = s->count ? (ir_dtype)s->at[0]->dtype : ir_type_dtype(type);
  if (!rank || dtype >= IR_DTYPE_COUNT) return ir_step_fail(a, step, "loop: no rounds, and a stacked output of unknown type");
  int64_t *dims = ir_heap_alloc(ir_size_mul(rank, sizeof *dims));
  dims[0] = (int64_t)s->count;
  bool ok = true;
  if (s->count) memcpy(dims + 1, s->at[0]->dims, (rank - 1) * sizeof *dims);
  else ok = empty_dims(a, step, type, dims);
  ir_tensor *all = ok ? ir_tensor_new(a->interp->meter, dtype, rank, dims) : NULL;
  ir_heap_free(dims);
  if (!ok) return false;
  if (!all) return ir_step_fail(a, step, "loop: no memory for a stacked output%s", ir_interp_budget(a->interp));
  int64_t at = 0;
  bool packed = ir_dtypes[dtype].bits == 4;
  for (size_t i = 0; i < s->count; i++) {
    if (!same_dims(s->at[0], s->at[i])) {
      ir_tensor_release(all);
      return ir_step_fail(a, step, "loop: a stacked output changes its extents in round %zu", i);
    }
    for (int64_t k = 0; packed && k < s->at[i]->count; k++) ir_tensor_set_bits(all, at + k, ir_tensor_bits(s->at[i], k));
    if (!packed && !ir_tensor_move(all, i * s->at[i]->size, s->at[i])) {
      ir_tensor_release(all);
      return false;
    }
    at += s->at[i]->count;
  }
  ir_step_result(a, step, result, ir_object_tensor(all));
  return true;
}

/* One round. VALUES (carried, on the heap) are used up and replaced by the next ones. */
static bool run_round(ir_activation *a, const ir_step *step, int64_t round, ir_object **carried, size_t count, stack *stacks,
                      size_t stack_count, bool *again) {
  const ir_block *block = step->blocks[0];
  ir_set_slot(a, block->first_arg, ir_object_i64(round));
  for (size_t i = 0; i < count; i++) {
    ir_object *value = ir_object_coerce(a->interp, block->region->args[i + 1]->type, carried[i]);
    carried[i] = NULL;
    ir_set_slot(a, block->first_arg + 1 + (uint32_t)i, value);
  }
  ir_object **values;
  size_t yielded;
  if (!ir_run_block(a, block, &values, &yielded)) return false;
  bool ok = true;
  for (size_t i = 0; i < count; i++) carried[i] = ir_object_retain(values[i]);
  for (size_t i = 0; i < stack_count && ok; i++) ok = push_output(a, step, &stacks[i], values[count + i]);
  bool conditional = yielded > count + stack_count;
  if (ok && conditional) ok = condition_of(a, step, values[yielded - 1], again);
  ir_release_objects(values, yielded);
  return ok;
}

bool ir_step_loop(ir_activation *a, const ir_step *step) {
  const ir_op *op = step->op;
  const ir_op *yield = ir_region_terminator(step->blocks[0]->region);
  bool counted = ir_get_bool(op, "counted"), conditional = ir_get_bool(op, "conditional"), go_on = true, ok = true;
  size_t count = step->blocks[0]->region->arg_count - 1, stack_count = (size_t)ir_get_int(yield, "stacks");
  int64_t trip = INT64_MAX;
  if (counted && !ir_object_as_i64(ir_step_operand(a, step, 0), &trip)) return ir_step_fail(a, step, "loop: the trip count is no integer");
  if (conditional && !condition_of(a, step, ir_step_operand(a, step, op->operand_count - 1u), &go_on)) return false;
  ir_object **carried = ir_heap_alloc(ir_size_mul(count, sizeof *carried));
  for (size_t i = 0; i < count; i++) carried[i] = ir_object_retain(ir_step_operand(a, step, i + counted));
  stack *stacks = ir_heap_alloc(ir_size_mul(stack_count, sizeof *stacks));
  for (size_t i = 0; i < stack_count; i++) stacks[i] = (stack){0};
  for (int64_t round = 0; ok && go_on && round < trip; round++) {
    a->interp->steps++;
    if (a->interp->options.max_steps && a->interp->steps > a->interp->options.max_steps) {
      ok = ir_step_fail(a, step, "gave up after %" PRIu64 " steps, the budget", a->interp->options.max_steps);
      break;
    }
    ok = run_round(a, step, round, carried, count, stacks, stack_count, &go_on);
  }
  for (size_t i = 0; ok && i < count; i++) ir_step_result(a, step, i, ir_object_retain(carried[i]));
  for (size_t i = 0; ok && i < stack_count; i++) ok = deliver_stack(a, step, count + i, &stacks[i]);
  ir_release_objects(carried, count);
  free_stacks(stacks, stack_count);
  return ok;
}
