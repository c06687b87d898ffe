// SPDX-License-Identifier: Apache-2.0
/* passes/fold_constants.c - compute pure operations on constants with the interpreter, which gives the bits that running
 * them would give. What checked execution would reject is left for the run. Bounded: bytes of a result, growth over
 * the operands, steps. Needs the interpreter; keeps everything. */
#include "base/vec.h"
#include "passes/pass.h"
#include "runtime/interp.h"

enum { FOLDED, SKIPPED };

struct options {
  uint64_t max_bytes, max_growth, max_steps;
};
static const ir_opt options[] = {
    OPT_UINT(struct options, max_bytes, "max-bytes", "67108864", "bytes of one result at most"),
    OPT_UINT(struct options, max_growth, "max-growth", "4096", "bytes by which a result may be larger than its operands together"),
    OPT_UINT(struct options, max_steps, "max-steps", "1000000000", "element operations for one fold at most; 0: no limit"),
    OPT_END,
};

/* A shape whose type tells it. */
static bool is_known_shape(const ir_value *value) { return value->type->kind == IR_TYPE_SHAPE && ir_type_static_dims(value->type, NULL, NULL); }

/* A value that is known without running anything. */
static bool is_constant(const ir_value *value) {
  const ir_expr *expr = ir_value_closed_expr(value);
  return ir_is_result_of(value, IR_CONST) || is_known_shape(value) || (expr && expr->code == IR_S_CONST);
}

static bool foldable(const ir_op *op) {
  bool computes = ir_op_row(op)->numerics != IR_STRUCTURE || ir_is(op, IR_SHAPE_TO_TENSOR);
  if (!computes || op->region_count || !op->result_count || !ir_op_is_pure(op)) return false;
  for (size_t i = 0; i < op->operand_count; i++) {
    if (!is_constant(ir_op_operand(op, i))) return false;
  }
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) {
    const ir_attr *attr = ir_op_slots(op)[i];
    for (size_t k = 0; attr && attr->kind == IR_ATTR_LIST && k < attr->count; k++) {
      if (attr->items[k]->kind == IR_ATTR_EXPR) return false; /* a symbolic extent */
    }
  }
  return true;
}

static bool bytes_of(const ir_type *type, int64_t *bytes) {
  int64_t count;
  return ir_is_tensor(type) && ir_type_static_dims(type, NULL, &count) && ir_dtype_bytes(ir_type_dtype(type), count, bytes);
}

__attribute__((format(printf, 3, 4))) static bool skip(ir_pass_run *run, const ir_op *op, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_remark(run->context->diags, op->range, "fold-constants: %s is not folded: %s", ir_op_row(op)->name, text.at);
  ir_text_free(&text);
  run->stats[SKIPPED]++;
  return false;
}

/* Operand I is an earlier one, too: it frees its bytes once. */
static bool is_repeated(const ir_op *op, size_t i) {
  for (size_t k = 0; k < i; k++) {
    if (ir_op_operand(op, k) == ir_op_operand(op, i)) return true;
  }
  return false;
}

static bool within_budget(ir_pass_run *run, const ir_op *op) {
  const struct options *given = run->options;
  int64_t in = 0, out = 0, bytes;
  for (size_t i = 0; i < op->operand_count; i++) {
    if (!is_repeated(op, i) && bytes_of(ir_op_operand(op, i)->type, &bytes)) in += bytes;
  }
  for (size_t i = 0; i < op->result_count; i++) {
    if (!bytes_of(ir_op_result(op, i)->type, &bytes)) return false;
    if ((uint64_t)bytes > given->max_bytes) return skip(run, op, "its result has %lld bytes (max-bytes %llu)", (long long)bytes, (unsigned long long)given->max_bytes);
    out += bytes;
  }
  if (out > in && (uint64_t)(out - in) > given->max_growth) {
    return skip(run, op, "its results have %lld bytes more than its operands (max-growth %llu)", (long long)(out - in), (unsigned long long)given->max_growth);
  }
  return true;
}

static ir_value *shape_again(ir_pass_run *run, ir_builder *b, const ir_type *type) {
  ir_value **extents = ir_new_array(run->scratch, ir_value *, type->count + 1);
  for (size_t i = 0; i < type->count; i++) extents[i] = ir_build_scalar(b, ir_type_dim(type, i), NULL, 0);
  return ir_build1(b, IR_SHAPE, extents, type->count, IR_NO_ATTRS);
}

/* OP alone in a function without parameters. */
static ir_func *function_of(ir_pass_run *run, ir_op *op) {
  ir_func *func = ir_func_new(run->module, IR_ITEM_FUNC, ir_intern(run->context, ir_lit("fold")));
  ir_func_set_params(func, 0, NULL, true);
  ir_map values = {0};
  ir_builder at = ir_at_end(func->body);
  for (size_t i = 0; i < op->operand_count; i++) {
    ir_value *operand = ir_op_operand(op, i);
    if (ir_map_has(&values, operand)) continue;
    if (is_known_shape(operand)) {
      ir_map_put(run->scratch, &values, operand, shape_again(run, &at, operand->type));
    } else {
      ir_op_clone(ir_value_op(operand), func->body, NULL, run->scratch, &values);
    }
  }
  ir_op *copy = ir_op_clone(op, func->body, NULL, run->scratch, &values);
  ir_value **results = ir_new_array(run->scratch, ir_value *, op->result_count);
  func->result_count = op->result_count;
  func->results = ir_new_array(run->scratch, const ir_type *, op->result_count);
  for (size_t i = 0; i < op->result_count; i++) {
    results[i] = ir_op_result(copy, i);
    func->results[i] = results[i]->type;
  }
  ir_build_with(&at, IR_RETURN, results, op->result_count, IR_NO_ATTRS, NULL, 0, NULL, 0);
  return func;
}

struct reason {
  ir_arena *scratch;
  const char *text; /* of the first error */
};

static void keep_reason(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)diags;
  struct reason *reason = user;
  if (diag->severity == IR_ERROR && !reason->text) reason->text = ir_arena_copy(reason->scratch, diag->text, strlen(diag->text));
}

/* Runs FUNC with diagnostics of its own: an error there only means that the operation is not folded. NULL, or why not. */
static const char *evaluate(ir_pass_run *run, ir_func *func, ir_tensor **results) {
  const struct options *given = run->options;
  ir_diags *outer = run->context->diags;
  ir_diags *quiet = run->context->diags = ir_diags_new();
  const ir_interp_options settings = {.checked = true, .max_steps = given->max_steps};
  ir_interp *interp = ir_interp_new(run->module, &settings);
  bool fine = ir_interp_call(interp, func, 0, NULL, func->result_count, results);
  ir_interp_free(interp);
  struct reason reason = {.scratch = run->scratch};
  ir_diags_set_handler(quiet, keep_reason, &reason);
  ir_diags_flush(quiet);
  ir_diags_free(quiet);
  run->context->diags = outer;
  return fine ? NULL : reason.text ? reason.text : "it does not run";
}

static ir_value *constant_of(ir_pass_run *run, ir_builder *b, const ir_type *type, const ir_tensor *tensor) {
  enum { INLINE_BYTES = 1024 };
  void *bytes = ir_arena_copy(&run->module->arena, tensor->data, tensor->size);
  const ir_data data = {(ir_dtype)tensor->dtype, bytes, tensor->size};
  if (tensor->size <= INLINE_BYTES) return ir_build_const(b, type, data);
  ir_resource *resource = ir_new(&run->module->arena, ir_resource);
  resource->item.kind = IR_ITEM_RESOURCE;
  resource->item.name = ir_module_fresh_name(run->module, ir_lit("folded"));
  resource->type = type;
  resource->bytes = bytes;
  resource->size = tensor->size;
  ir_module_add(run->module, &resource->item, NULL);
  ir_op *op = ir_build_with(b, IR_CONST, NULL, 0, IR_SET({"value", ir_attr_global(run->context, resource->item.name)}), NULL, 0, &type, 1);
  return ir_op_result(op, 0);
}

static bool fold(ir_pass_run *run, ir_op *op) {
  if (!foldable(op) || ir_is_unused(op) || !within_budget(run, op)) return false;
  ir_tensor **results = ir_new_array(run->scratch, ir_tensor *, op->result_count);
  const char *why = evaluate(run, function_of(run, op), results);
  if (why) return skip(run, op, "%s", why);
  ir_builder b = ir_before(op);
  ir_value **values = ir_new_array(run->scratch, ir_value *, op->result_count);
  for (size_t i = 0; i < op->result_count; i++) {
    const ir_type *type = ir_op_result(op, i)->type;
    values[i] = constant_of(run, &b, type, results[i]);
    ir_tensor_release(results[i]);
  }
  return ir_replace(run->rewriter, op, values, op->result_count) && ir_count(run, FOLDED);
}

const ir_pass ir_pass_fold_constants = {
    .name = "fold-constants",
    .doc = "Compute pure operations on constants with the interpreter, within budgets.",
    .options = options,
    .options_size = sizeof(struct options),
    .each_op = fold,
    .order = IR_PRE_ORDER,
    .stats = STATS({"folded", "operations folded"}, {"skipped", "operations left because of a budget or an error"}),
};
