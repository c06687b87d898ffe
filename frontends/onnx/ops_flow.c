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
  int64_t count = 1;
  bool many = rank > 0 && ir_type_static_dims(x->type, NULL, &count) && count != 1;
  if (many) return ir_onnx_fail(n, "input '%s' has %lld elements, expected one", n->proto->input[i], (long long)count), NULL;
  return rank < 0 ? NULL : rank ? ir_onnx_reshape(n, x, 0, NULL) : x;
}

/* The graph of a branch, as it should be; NULL after a report. */
static const Onnx__GraphProto *branch_of(ir_onnx_node *n, const char *name) {
  const Onnx__GraphProto *graph = graph_of(n, name);
  if (!graph) return NULL;
  if (graph->n_input) return ir_onnx_fail(n, "'%s' has inputs", name), NULL;
  if (graph->n_output == n->proto->n_output) return graph;
  return ir_onnx_fail(n, "'%s' has %zu outputs, the node %zu", name, graph->n_output, n->proto->n_output), NULL;
}

static ir_region *branch(ir_onnx_node *n, const Onnx__GraphProto *graph) {
  struct inner in;
  enter(n, &in, 0);
  ir_value **values = ir_onnx_import_nodes(n->im, graph) ? ir_onnx_outputs(n->im, graph) : NULL;
  bool fine = values && yield(n, values, graph->n_output, 0, false);
  leave(n, &in);
  return fine ? in.region : NULL;
}

/* The condition is known: the other branch, which need not fit, is left out, and this one stands where the node does. */
static bool import_taken(ir_onnx_node *n, const Onnx__GraphProto *graph) {
  ir_onnx_scope scope = {.outer = n->im->scope};
  n->im->scope = &scope;
  ir_value **values = ir_onnx_import_nodes(n->im, graph) ? ir_onnx_outputs(n->im, graph) : NULL;
  ir_onnx_known **known = ir_new_array(&n->im->arena, ir_onnx_known *, graph->n_output + 1);
  for (size_t i = 0; values && i < graph->n_output; i++) known[i] = ir_onnx_find(n->im, graph->output[i]->name)->known;
  n->im->scope = scope.outer;
  ir_onnx_at(n->im, n->proto);
  for (size_t i = 0; values && i < graph->n_output; i++) {
    if (!ir_onnx_wants(n, i)) continue;
    if (!(known[i] ? ir_onnx_out_known(n, i, known[i]) : ir_onnx_out(n, i, values[i]))) return false;
  }
  return values != NULL;
}

static bool put_results(ir_onnx_node *n, ir_op *op) {
  for (size_t i = 0; op && i < n->proto->n_output; i++) {
    if (ir_onnx_wants(n, i) && !ir_onnx_out(n, i, ir_op_result(op, i))) return false;
  }
  return op != NULL;
}

bool import_if(ir_onnx_node *n) {
  const Onnx__GraphProto *then = branch_of(n, "then_branch"), *other = then ? branch_of(n, "else_branch") : NULL;
  ir_value *condition = other ? single(n, 0) : NULL;
  if (!condition) return false;
  int64_t yes;
  const ir_onnx_known *known = ir_onnx_in_known(n, 0);
  if (known && ir_expr_is_int(known->elements[0], &yes)) return import_taken(n, yes ? then : other);
  ir_region *regions[2] = {branch(n, then), NULL};
  regions[1] = regions[0] ? branch(n, other) : NULL;
  return regions[1] && put_results(n, ir_build_with(&n->im->b, IR_IF, &condition, 1, IR_NO_ATTRS, regions, 2, NULL, 0));
}

/* The inputs of the body: the round, the condition, which holds in every round that there is, and the carried values. */
static bool bind_inputs(ir_onnx_node *n, const Onnx__GraphProto *body, const struct inner *in, const ir_type *const *types, ir_value **condition) {
  ir_value *round = ir_region_set_arg(in->region, 0, ir_type_scalar(CONTEXT, IR_I64, 1), ir_intern(CONTEXT, ir_slice_of(body->input[0]->name)));
  round = ir_build1(&n->im->b, IR_FULL, IR_OPERANDS(round), IR_SET({"shape", ir_attr_dims(CONTEXT, 0, NULL)}, {"dtype", ir_attr_dtype(CONTEXT, IR_I64)}));
  static const uint8_t yes = 1;
  *condition = ir_build_const(&n->im->b, ir_type_tensor(CONTEXT, IR_BOOL, 0, NULL), (ir_data){IR_BOOL, &yes, 1});
  for (size_t i = 0; i < body->n_input; i++) {
    ir_onnx_value *value = ir_onnx_define(n->im, body->input[i]->name);
    if (!value) return false;
    if (i < 2) {
      value->tensor = i ? *condition : round;
      continue;
    }
    const char *name = body->input[i]->name;
    value->tensor = ir_onnx_with_extents(n, name, ir_region_set_arg(in->region, i - 1, types[i - 2], ir_intern(CONTEXT, ir_slice_of(name))));
  }
  return true;
}

/* The graph says itself that all extents of INPUT are constants. */
static bool is_declared_fixed(const Onnx__ValueInfoProto *input) {
  const Onnx__TypeProto__Tensor *type = input->type ? input->type->tensor_type : NULL;
  if (!type || !type->shape) return false;
  for (size_t i = 0; i < type->shape->n_dim; i++) {
    if (type->shape->dim[i]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) return false;
  }
  return true;
}

/* What is carried into INPUT with *TYPE and goes on as VALUE: where their extents differ, or may and the graph does not say
 * that they are fixed, *TYPE becomes one that has both. Else VALUE is checked when it runs. */
static bool loosen(ir_onnx_node *n, const Onnx__ValueInfoProto *input, const ir_type **type, ir_value **value) {
  const ir_facts *facts = ir_func_facts(n->im->func);
  const ir_type *next = (*value)->type;
  ir_type_relation relation = ir_type_relate(CONTEXT, facts, *type, next);
  bool fits = relation == IR_TYPES_EQUAL || relation == IR_TYPES_WEAKER;
  bool same_axes = ir_is_tensor(*type) && ir_is_tensor(next) && (*type)->ranked && next->ranked && (*type)->count == next->count;
  if (fits || !same_axes || ir_type_dtype(*type) != ir_type_dtype(next)) return false;
  if (relation == IR_TYPES_STRONGER && is_declared_fixed(input)) {
    *value = ir_op_result(ir_build_with(&n->im->b, IR_MATCH_CAST, value, 1, IR_NO_ATTRS, NULL, 0, type, 1), 0);
    return false;
  }
  *type = ir_type_join(CONTEXT, facts, *type, next);
  return true;
}

/* A body at work: types that are carried, and what it yields, its condition first. */
struct rounds {
  const Onnx__GraphProto *body;
  struct inner in;
  size_t carried;
  const ir_type **types;
  ir_value *always, **outputs;
  size_t where; /* conditions that there were before */
};

static bool begin_body(ir_onnx_node *n, struct rounds *r) {
  enter(n, &r->in, r->carried + 1);
  r->where = n->im->where.count;
  r->outputs = bind_inputs(n, r->body, &r->in, r->types, &r->always) && ir_onnx_import_nodes(n->im, r->body) ? ir_onnx_outputs(n->im, r->body) : NULL;
  return r->outputs;
}

/* Takes back what the body became. */
static void drop_body(ir_onnx_node *n, struct rounds *r) {
  leave(n, &r->in);
  while (r->in.region->last) ir_op_erase(r->in.region->last);
  n->im->where.count = r->where;
}

/* Types can only become less precise: this ends. */
static bool import_body(ir_onnx_node *n, struct rounds *r) {
  for (;;) {
    if (!begin_body(n, r)) return false;
    bool loosened = false;
    for (size_t i = 0; i < r->carried; i++) loosened |= loosen(n, r->body->input[2 + i], &r->types[i], &r->outputs[1 + i]);
    if (!loosened) return true;
    drop_body(n, r);
  }
}

/* Yields what the body gives: first its condition, which Rill has last, and does without where it is always true. */
static bool yield_round(ir_onnx_node *n, const struct rounds *r) {
  size_t count = r->body->n_output;
  ir_value **outputs = r->outputs, *again = outputs[0];
  int rank = ir_onnx_rank(n, again);
  if (rank < 0) return false;
  bool stops = again != r->always;
  memmove(outputs, outputs + 1, (count - 1) * sizeof *outputs);
  outputs[count - 1] = rank ? ir_onnx_reshape(n, again, 0, NULL) : again;
  return yield(n, outputs, count - !stops, count - 1 - r->carried, stops);
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
  if (body->n_input != given + 2) return ir_onnx_fail(n, "'body' has %zu inputs, expected %zu: the round, the condition and what is carried", body->n_input, given + 2);
  if (n->proto->n_output < given) return ir_onnx_fail(n, "%zu outputs, %zu values are carried", n->proto->n_output, given);
  if (body->n_output != n->proto->n_output + 1) {
    return ir_onnx_fail(n, "'body' has %zu outputs, expected %zu: the condition and one for each output of the node", body->n_output, n->proto->n_output + 1);
  }
  ir_value **operands = ir_new_array(&n->im->arena, ir_value *, given + 2);
  if (counted) operands[count++] = round_count(n);
  for (size_t i = 0; i < given; i++) operands[count++] = ir_onnx_in(n, 2 + i);
  if (conditional) operands[count++] = single(n, 1);
  for (size_t i = 0; i < count; i++) {
    if (!operands[i]) return false;
  }
  struct rounds r = {.body = body, .carried = given, .types = ir_new_array(&n->im->arena, const ir_type *, given + 1)};
  for (size_t i = 0; i < given; i++) r.types[i] = operands[counted + i]->type;
  bool fine = import_body(n, &r) && yield_round(n, &r);
  leave(n, &r.in);
  return fine && put_results(n, ir_build_with(&n->im->b, IR_LOOP, operands, count, IR_SET({"counted", ir_attr_bool(CONTEXT, counted)}, {"conditional", ir_attr_bool(CONTEXT, conditional)}), &r.in.region, 1, NULL, 0));
}
