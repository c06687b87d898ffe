// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/operators.c - tensor operators. An operation is copied with the extents at hand in place of symbols,
 * inferred, and then is a view, or is legalized (passes/lower) and run as the tensor program that compiled code would run,
 * or is decomposed into other operators. What it became is kept with the operation. */
#include "base/vec.h"
#include "passes/lower/lower.h"
#include "runtime/interp/elements.h"
#include "runtime/interp/graph.h"
#include "runtime/interp/native.h"

/* What an operation became for given operands. */
typedef struct ir_lowered ir_lowered;
struct ir_lowered {
  ir_lowered *next;
  const int64_t *key;
  size_t key_count;
  const ir_type **types; /* of the results: constant extents */
  ir_func *prim;         /* NULL: a view, or GRAPH */
  ir_func *graph;        /* the operators that it decomposes into */
};

/* --- keys --- */
typedef struct ir_key {
  int64_t *at;
  size_t count, capacity;
} ir_key;

static void put(ir_arena *arena, ir_key *key, int64_t value) { *ir_push(arena, key) = value; }

static void put_object(ir_arena *arena, ir_key *key, const ir_object *object) {
  put(arena, key, object->kind);
  switch (object->kind) {
  case IR_OBJECT_TENSOR:
    put(arena, key, object->tensor->dtype);
    put(arena, key, object->tensor->rank);
    for (size_t i = 0; i < object->tensor->rank; i++) put(arena, key, object->tensor->dims[i]);
    return;
  case IR_OBJECT_SCALAR: put(arena, key, object->scalar.dtype); return;
  case IR_OBJECT_SHAPE:
    put(arena, key, (int64_t)object->shape.count);
    for (size_t i = 0; i < object->shape.count; i++) put(arena, key, object->shape.dims[i]);
    return;
  case IR_OBJECT_TUPLE:
    put(arena, key, (int64_t)object->tuple.count);
    for (size_t i = 0; i < object->tuple.count; i++) put_object(arena, key, object->tuple.fields[i]);
    return;
  case IR_OBJECT_FUNCTION: return;
  }
}

/* --- attributes with numbers in place of symbols --- */
struct concrete {
  ir_interp *interp;
  const ir_symbols *symbols;
  ir_op *op;
  ir_arena *scratch;
  ir_key *key; /* gets the numbers */
  bool failed;
};

static const ir_expr *concrete_expr(struct concrete *c, const ir_expr *expr) {
  int64_t value;
  if (expr->dtype != IR_I64 || !ir_symbols_evaluate(c->symbols, expr, &value)) {
    if (!c->failed) ir_op_fail(c->interp, c->op, "%s: an extent among the attributes has no value", ir_op_row(c->op)->name);
    c->failed = true;
    return expr;
  }
  put(c->scratch, c->key, value);
  return ir_expr_i64(c->interp->context, value);
}

static const ir_type *concrete_type(struct concrete *c, const ir_type *type) {
  if (!ir_is_tensor(type) || !type->ranked) return type;
  const ir_expr **dims = ir_new_array(c->scratch, const ir_expr *, type->count);
  for (size_t i = 0; i < type->count; i++) dims[i] = ir_type_dim(type, i) ? concrete_expr(c, ir_type_dim(type, i)) : NULL;
  return ir_type_with_dims(c->interp->context, type, type->count, dims);
}

static const ir_attr *concrete_attr(struct concrete *c, const ir_attr *attr) {
  ir_context *context = c->interp->context;
  if (!attr) return NULL;
  if (attr->kind == IR_ATTR_EXPR) return ir_attr_expr(context, concrete_expr(c, attr->expr));
  if (attr->kind == IR_ATTR_TYPE) return ir_attr_type(context, concrete_type(c, attr->type));
  if (attr->kind != IR_ATTR_LIST) return attr;
  const ir_attr **items = ir_new_array(c->scratch, const ir_attr *, attr->count);
  for (size_t i = 0; i < attr->count; i++) items[i] = concrete_attr(c, attr->items[i]);
  return ir_attr_list(context, attr->count, items);
}

/* --- types of operands --- */
static const ir_type *type_with(ir_interp *interp, ir_arena *scratch, ir_type_kind kind, ir_dtype dtype, size_t rank, const int64_t *dims) {
  const ir_expr **exprs = ir_new_array(scratch, const ir_expr *, rank);
  for (size_t i = 0; i < rank; i++) exprs[i] = ir_expr_i64(interp->context, dims[i]);
  if (kind == IR_TYPE_SHAPE) return ir_type_shape(interp->context, rank, exprs);
  return ir_type_tensor(interp->context, dtype, rank, exprs);
}

static const ir_type *type_of(ir_interp *interp, ir_arena *scratch, const ir_object *object) {
  switch (object->kind) {
  case IR_OBJECT_TENSOR:
    return type_with(interp, scratch, IR_TYPE_TENSOR, (ir_dtype)object->tensor->dtype, object->tensor->rank, object->tensor->dims);
  case IR_OBJECT_SCALAR: return ir_type_scalar(interp->context, object->scalar.dtype, 1);
  case IR_OBJECT_SHAPE: return type_with(interp, scratch, IR_TYPE_SHAPE, IR_DTYPE_UNKNOWN, object->shape.count, object->shape.dims);
  case IR_OBJECT_TUPLE: {
    const ir_type **fields = ir_new_array(scratch, const ir_type *, object->tuple.count);
    for (size_t i = 0; i < object->tuple.count; i++) fields[i] = type_of(interp, scratch, object->tuple.fields[i]);
    return ir_type_tuple(interp->context, object->tuple.count, fields);
  }
  case IR_OBJECT_FUNCTION: break;
  }
  return interp->context->any_type;
}

/* --- the copy --- */
/* A func of the scratch module that is OP alone. NULL after a report. */
static ir_func *copy_of(struct concrete *c, const ir_attr *const *attrs, ir_object *const *operands, ir_op **copy) {
  ir_interp *interp = c->interp;
  ir_op *op = c->op;
  const ir_op_def *row = ir_op_row(op);
  if (!interp->scratch_module) {
    interp->scratch_module = ir_module_new(interp->context);
    interp->scratch_module->attrs = interp->module->attrs;
  }
  ir_module *module = interp->scratch_module;
  ir_func *func = ir_func_new(module, IR_ITEM_FUNC, ir_module_fresh_name(module, ir_slice_of(row->name)));
  func->item.range = op->range;
  ir_param *params = ir_new_array(c->scratch, ir_param, op->operand_count);
  for (size_t i = 0; i < op->operand_count; i++) {
    size_t k = i < row->operand_def_count ? i : row->operand_def_count - 1u;
    params[i] = (ir_param){.name = ir_intern(interp->context, ir_slice_of(row->operands[k].name)), .type = type_of(interp, c->scratch, operands[i])};
  }
  ir_func_set_params(func, op->operand_count, params, true);
  ir_module_add(module, &func->item, NULL);
  ir_builder b = ir_at_end(func->body);
  b.range = op->range;
  b.loc = ir_op_loc(op);
  ir_named_attr *named = ir_new_array(c->scratch, ir_named_attr, row->attr_count);
  for (size_t i = 0; i < row->attr_count; i++) named[i] = (ir_named_attr){row->attrs[i].name, attrs[i]};
  *copy = ir_build(&b, (ir_opcode)op->code, func->body->args, op->operand_count, named, row->attr_count);
  if (!*copy) return NULL;
  ir_value **values = ir_new_array(c->scratch, ir_value *, (*copy)->result_count);
  func->result_count = (*copy)->result_count;
  func->results = ir_new_array(&module->arena, const ir_type *, func->result_count);
  for (size_t i = 0; i < func->result_count; i++) {
    values[i] = ir_op_result(*copy, i);
    func->results[i] = values[i]->type;
  }
  ir_build_with(&b, IR_RETURN, values, func->result_count, IR_NO_ATTRS, NULL, 0, NULL, 0);
  return func;
}

/* --- what it becomes --- */
static bool lower(ir_interp *interp, ir_lowered *lowered, ir_func *func, ir_op *copy) {
  if (ir_can_decompose(copy)) {
    lowered->graph = func;
    return ir_decompose_op(copy);
  }
  ir_lowering l;
  const ir_string *name = ir_module_fresh_name(interp->scratch_module, ir_lit("prim"));
  lowered->prim = ir_legalize_op(copy, interp->scratch_module, name, &interp->arena, &l);
  if (lowered->prim) ir_module_add(interp->scratch_module, &lowered->prim->item, NULL);
  return lowered->prim != NULL;
}

static ir_lowered *make(struct concrete *c, const ir_attr *const *attrs, ir_object *const *operands) {
  ir_op *copy;
  ir_func *func = copy_of(c, attrs, operands, &copy);
  if (!func) return NULL;
  ir_lowered *lowered = ir_new(&c->interp->arena, ir_lowered);
  lowered->types = ir_new_array(&c->interp->arena, const ir_type *, copy->result_count);
  for (size_t i = 0; i < copy->result_count; i++) lowered->types[i] = ir_op_result(copy, i)->type;
  if (ir_has(copy, IR_VIEW)) return lowered;
  return lower(c->interp, lowered, func, copy) ? lowered : NULL;
}

/* Reports of inference and lowering are not for a quiet interpreter. */
static ir_lowered *make_quietly(struct concrete *c, const ir_attr *const *attrs, ir_object *const *operands) {
  ir_context *context = c->interp->context;
  if (!c->interp->options.quiet) return make(c, attrs, operands);
  ir_diags *diags = context->diags;
  context->diags = ir_diags_new();
  ir_lowered *lowered = make(c, attrs, operands);
  ir_diags_discard(context->diags);
  ir_diags_free(context->diags);
  context->diags = diags;
  return lowered;
}

static ir_lowered *find(const ir_lowered *list, const ir_key *key) {
  while (list && (list->key_count != key->count || memcmp(list->key, key->at, key->count * sizeof *key->at))) list = list->next;
  return (ir_lowered *)(uintptr_t)list;
}

static ir_lowered *lowered_for(ir_interp *interp, const ir_symbols *symbols, ir_op *op, ir_object *const *operands) {
  const ir_op_def *row = ir_op_row(op);
  ir_arena scratch = {0};
  ir_key key = {0};
  struct concrete c = {.interp = interp, .symbols = symbols, .op = op, .scratch = &scratch, .key = &key};
  const ir_attr **attrs = ir_new_array(&scratch, const ir_attr *, row->attr_count);
  put(&scratch, &key, op->operand_count);
  for (size_t i = 0; i < op->operand_count; i++) put_object(&scratch, &key, operands[i]);
  for (size_t i = 0; i < row->attr_count; i++) attrs[i] = concrete_attr(&c, ir_op_slots(op)[i]);
  ir_lowered *lowered = NULL;
  if (!c.failed) {
    ir_lowered **list = (ir_lowered **)ir_map_slot(&interp->arena, &interp->operators, op);
    lowered = find(*list, &key);
    if (!lowered) {
      lowered = make_quietly(&c, attrs, operands);
      if (lowered) {
        lowered->key = ir_arena_copy(&interp->arena, key.at, key.count * sizeof *key.at);
        lowered->key_count = key.count;
        /* Making may have run operators of its own: the list may be elsewhere now. */
        list = (ir_lowered **)ir_map_slot(&interp->arena, &interp->operators, op);
        lowered->next = *list;
        *list = lowered;
      }
    }
  }
  ir_arena_free(&scratch);
  return lowered;
}

/* --- running --- */
static bool extents_of(ir_interp *interp, const ir_op *op, const ir_type *type, int64_t *dims, int64_t *count) {
  const char *name = ir_op_row(op)->name;
  if (ir_is_tensor(type) && type->count > IR_MAX_AXES) {
    return ir_op_fail(interp, op, "%s: not implemented: a result of %u axes, at most %d", name, type->count, IR_MAX_AXES);
  }
  if (ir_is_tensor(type) && ir_type_static_dims(type, dims, count)) return true;
  int64_t extent;
  bool known = ir_is_tensor(type);
  for (size_t i = 0; known && i < type->count; i++) known = ir_type_dim(type, i) && ir_expr_is_int(ir_type_dim(type, i), &extent);
  return ir_op_fail(interp, op, known ? "%s: a result has too many elements" : "%s: the extents of a result are not known", name);
}

static ir_object *fresh(ir_interp *interp, ir_op *op, const ir_type *type) {
  int64_t dims[IR_MAX_AXES];
  if (!extents_of(interp, op, type, dims, NULL)) return NULL;
  ir_tensor *tensor = ir_tensor_new(interp->meter, ir_type_dtype(type), type->count, dims);
  if (!tensor) ir_op_fail(interp, op, "%s: no memory for a result%s", ir_op_row(op)->name, ir_interp_budget(interp));
  return tensor ? ir_object_tensor(tensor) : NULL;
}

static bool run_view(ir_interp *interp, ir_op *op, const ir_type *type, ir_object *x, ir_object **result) {
  int64_t dims[IR_MAX_AXES], count;
  if (!extents_of(interp, op, type, dims, &count)) return false;
  ir_object *tensor = ir_object_coerce(interp, type, ir_object_retain(x));
  bool fits = tensor->kind == IR_OBJECT_TENSOR && tensor->tensor->count == count;
  if (fits) *result = ir_object_tensor(ir_tensor_view(tensor->tensor, type->count, dims));
  ir_object_release(tensor);
  return fits || ir_op_fail(interp, op, "%s: the elements don't fill the result", ir_op_row(op)->name);
}

static bool run_prim(ir_interp *interp, ir_op *op, const ir_lowered *lowered, ir_object *const *operands, ir_object **results) {
  size_t count = (size_t)op->operand_count + op->result_count;
  ir_object **arguments = ir_heap_alloc(ir_size_mul(count, sizeof *arguments));
  bool ok = true;
  size_t made = 0;
  for (size_t i = 0; i < op->operand_count; i++) arguments[i] = operands[i];
  for (; made < op->result_count && ok; made++) {
    results[made] = fresh(interp, op, lowered->types[made]);
    arguments[op->operand_count + made] = results[made];
    ok = results[made] != NULL;
  }
  ok = ok && ir_interp_prim(interp, lowered->prim, count, arguments);
  for (size_t i = 0; i < made && !ok; i++) ir_object_release(results[i]);
  ir_heap_free(arguments);
  return ok;
}

static bool run_operator(ir_interp *interp, const ir_symbols *symbols, ir_op *op, ir_object *const *operands, ir_object **results) {
  if (ir_has(op, IR_ELEMENTWISE) && op->result_count == 1 && ir_op_result(op, 0)->type->dtype < IR_DTYPE_COUNT) {
    results[0] = ir_run_elements(interp, op, ir_type_dtype(ir_op_result(op, 0)->type), operands);
    return results[0] != NULL;
  }
  ir_native *native = ir_native_find(op);
  if (native) return native(interp, op, operands, results);
  const ir_lowered *lowered = lowered_for(interp, symbols, op, operands);
  if (!lowered) return false;
  if (lowered->prim) return run_prim(interp, op, lowered, operands, results);
  if (lowered->graph) return ir_call_func(interp, lowered->graph, op->operand_count, operands, results);
  return run_view(interp, op, lowered->types[0], operands[0], &results[0]);
}

bool ir_run_operator(ir_interp *interp, const ir_symbols *symbols, ir_op *op, ir_object *const *operands, ir_object **results) {
  ir_launch launch = ir_launch_begin(interp, ir_op_row(op)->name);
  if (!run_operator(interp, symbols, op, operands, results)) return false;
  /* Views launch nothing; what an operator is decomposed into counts for itself. */
  if (ir_has(op, IR_VIEW) || ir_can_decompose(op)) return true;
  ir_launch_buffers(&launch, op->operand_count, operands);
  ir_launch_buffers(&launch, op->result_count, results);
  ir_launch_end(interp, &launch);
  return true;
}

void ir_operators_free(ir_interp *interp) {
  if (interp->scratch_module) ir_module_free(interp->scratch_module);
}
