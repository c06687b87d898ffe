// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/ops_flow.c - If and Loop: their graphs become regions, which see what is around them. */
#include "frontends/onnx/importer.h"

#define CONTEXT (n->im->context)

/* A graph at work as a region. */
struct inner {
  ir_onnx_scope scope;
  ir_builder around;
  ir_region *region;
};

static void enter(ir_onnx_node *n, struct inner *in, size_t args) {
  *in = (struct inner){.scope = {.outer = n->im->scope}, .around = n->im->b, .region = ir_region_new(n->im->module, n->im->func, args)};
  n->im->scope = &in->scope;
  n->im->b = ir_at_end(in->region);
}

static void leave(ir_onnx_node *n, const struct inner *in) {
  n->im->scope = in->scope.outer;
  n->im->b = in->around;
  ir_onnx_at(n->im, n->proto);
}

static const Onnx__GraphProto *graph_of(ir_onnx_node *n, const char *name) {
  const Onnx__AttributeProto *attr = ir_onnx_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
  if (!attr || !attr->g) ir_onnx_fail(n, "attribute '%s' is missing", name);
  return attr ? attr->g : NULL;
}

static bool yield(ir_onnx_node *n, ir_value *const *values, size_t count, size_t stacks, bool again) {
  return ir_build_with(&n->im->b, IR_YIELD, values, count, IR_SET({"stacks", ir_attr_int(CONTEXT, (int64_t)stacks)}, {"again", ir_attr_bool(CONTEXT, again)}), NULL, 0, NULL, 0) != NULL;
}

/* Input I, one element, on no axis. */
static ir_value *single(ir_onnx_node *n, size_t i) {
  ir_value *x = ir_onnx_in(n, i);
  int rank = ir_onnx_rank(n, x);
  return rank < 0 ? NULL : rank ? ir_onnx_reshape(n, x, 0, NULL) : x;
}

static ir_region *branch(ir_onnx_node *n, const char *name) {
  const Onnx__GraphProto *graph = graph_of(n, name);
  if (!graph) return NULL;
  if (graph->n_input) return ir_onnx_fail(n, "'%s' has inputs", name), NULL;
  if (graph->n_output != n->proto->n_output) return ir_onnx_fail(n, "'%s' has %zu outputs, the node %zu", name, graph->n_output, n->proto->n_output), NULL;
  struct inner in;
  enter(n, &in, 0);
  ir_value **values = ir_onnx_import_nodes(n->im, graph) ? ir_onnx_outputs(n->im, graph) : NULL;
  bool fine = values && yield(n, values, graph->n_output, 0, false);
  leave(n, &in);
  return fine ? in.region : NULL;
}

static bool put_results(ir_onnx_node *n, ir_op *op) {
  for (size_t i = 0; op && i < n->proto->n_output; i++) {
    if (ir_onnx_wants(n, i) && !ir_onnx_out(n, i, ir_op_result(op, i))) return false;
  }
  return op != NULL;
}

bool import_if(ir_onnx_node *n) {
  ir_value *condition = single(n, 0);
  ir_region *regions[2] = {condition ? branch(n, "then_branch") : NULL, NULL};
  regions[1] = regions[0] ? branch(n, "else_branch") : NULL;
  return regions[1] && put_results(n, ir_build_with(&n->im->b, IR_IF, &condition, 1, IR_NO_ATTRS, regions, 2, NULL, 0));
}

/* The inputs of the body: the round, the condition, which holds in every round that there is, and the carried values. */
static bool bind_inputs(ir_onnx_node *n, const Onnx__GraphProto *body, const struct inner *in, ir_value *const *starts, ir_value **condition) {
  ir_value *round = ir_region_set_arg(in->region, 0, ir_type_scalar(CONTEXT, IR_I64, 1), ir_intern(CONTEXT, ir_slice_of(body->input[0]->name)));
  round = ir_build1(&n->im->b, IR_FULL, IR_OPERANDS(round), IR_SET({"shape", ir_attr_dims(CONTEXT, 0, NULL)}, {"dtype", ir_attr_dtype(CONTEXT, IR_I64)}));
  static const uint8_t yes = 1;
  *condition = ir_build_const(&n->im->b, ir_type_tensor(CONTEXT, IR_BOOL, 0, NULL), (ir_data){IR_BOOL, &yes, 1});
  for (size_t i = 0; i < body->n_input; i++) {
    ir_onnx_value *value = ir_onnx_define(n->im, body->input[i]->name);
    if (!value) return false;
    value->tensor = i == 0 ? round : i == 1 ? *condition : ir_region_set_arg(in->region, i - 1, starts[i - 2]->type, ir_intern(CONTEXT, ir_slice_of(body->input[i]->name)));
  }
  return true;
}

/* VALUE as what is carried has it; checked when it runs where that is not certain. */
static ir_value *as_carried(ir_onnx_node *n, ir_value *value, const ir_type *type) {
  if (ir_type_relate(CONTEXT, ir_func_facts(n->im->func), type, value->type) != IR_TYPES_STRONGER) return value;
  return ir_op_result(ir_build_with(&n->im->b, IR_MATCH_CAST, &value, 1, IR_NO_ATTRS, NULL, 0, &type, 1), 0);
}

/* Yields what the body gives: first its condition, which Rill has last, and does without where it is always true. */
static bool yield_round(ir_onnx_node *n, const Onnx__GraphProto *body, const ir_value *always) {
  size_t carried = body->n_input - 2, count = body->n_output;
  ir_value **outputs = ir_onnx_outputs(n->im, body), *again = outputs ? outputs[0] : NULL;
  int rank = again ? ir_onnx_rank(n, again) : -1;
  if (rank < 0) return false;
  bool stops = again != always;
  for (size_t i = 0; i < carried; i++) outputs[1 + i] = as_carried(n, outputs[1 + i], n->im->b.region->args[1 + i]->type);
  memmove(outputs, outputs + 1, (count - 1) * sizeof *outputs);
  outputs[count - 1] = rank ? ir_onnx_reshape(n, again, 0, NULL) : again;
  return yield(n, outputs, count - !stops, count - 1 - carried, stops);
}

/* The number of rounds: an expression where it is known, so that what the rounds stack up has a known extent. */
static ir_value *round_count(ir_onnx_node *n) {
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  return known && known->count == 1 ? ir_build_scalar(&n->im->b, known->elements[0], NULL, 0) : single(n, 0);
}

/* Whether the first round depends on input 1. */
static bool is_conditional(ir_onnx_node *n) {
  const ir_attr *number = NULL;
  if (!ir_onnx_present(n, 1)) return false;
  bool constant = ir_onnx_is_literal(n, 1) && ir_onnx_in_number(n, 1, &number) && number->kind == IR_ATTR_INT;
  return !constant || !number->i;
}

bool import_loop(ir_onnx_node *n) {
  const Onnx__GraphProto *body = graph_of(n, "body");
  if (!body) return false;
  size_t given = n->proto->n_input > 2 ? n->proto->n_input - 2 : 0, count = 0;
  bool counted = ir_onnx_present(n, 0), conditional = is_conditional(n);
  if (body->n_input != given + 2 || body->n_output != n->proto->n_output + 1 || n->proto->n_output < given) {
    return ir_onnx_fail(n, "%zu inputs and %zu outputs, the body has %zu and %zu", n->proto->n_input, n->proto->n_output, body->n_input, body->n_output);
  }
  ir_value **operands = ir_new_array(&n->im->arena, ir_value *, given + 2), *always;
  if (counted) operands[count++] = round_count(n);
  for (size_t i = 0; i < given; i++) operands[count++] = ir_onnx_in(n, 2 + i);
  if (conditional) operands[count++] = single(n, 1);
  for (size_t i = 0; i < count; i++) {
    if (!operands[i]) return false;
  }
  struct inner in;
  enter(n, &in, given + 1);
  bool fine = bind_inputs(n, body, &in, operands + counted, &always) && ir_onnx_import_nodes(n->im, body) && yield_round(n, body, always);
  leave(n, &in);
  ir_region *region = in.region;
  return fine && put_results(n, ir_build_with(&n->im->b, IR_LOOP, operands, count, IR_SET({"counted", ir_attr_bool(CONTEXT, counted)}, {"conditional", ir_attr_bool(CONTEXT, conditional)}), &region, 1, NULL, 0));
}
