// SPDX-License-Identifier: Apache-2.0
/* passes/fuse_ops.c - group calls of annotated prim_funcs into private functions that fuse-tir makes into one kernel.
 * A call joins the call that everything made from it flows into (its immediate post-dominator), by the patterns of the
 * calls on the way; rules as in docs/spec/passes.md. Needs annotate-op-pattern. */
#include "base/vec.h"
#include "ir/symbols.h"
#include "passes/pass.h"
#include "passes/pattern.h"

enum { GROUPS, FUSED };

struct options {
  uint64_t max_depth, max_buffers;
};
static const ir_opt options[] = {
    OPT_UINT(struct options, max_depth, "max-depth", "256", "calls in a group at most", .min = 1, .max = 100000),
    OPT_UINT(struct options, max_buffers, "max-buffers", "0", "tensors that a group of several calls takes and gives at most; 0: no limit", .max = 100000),
    OPT_END,
};

struct node {
  ir_op *op;
  ir_op_pattern pattern;
  int post_dominator;          /* node that all uses flow into; -1: none */
  int depth;                   /* in the tree of post-dominators */
  ir_op_pattern path_pattern;  /* the most general pattern on the way there, that node included */
  int parent;                  /* union-find */
  size_t size;                 /* calls in the group, at its root */
  size_t operands;             /* of these calls, at the root */
  unsigned stretch;            /* calls on two sides of something that writes in place are not brought together */
  bool has_anchor;             /* the group holds a call that reduces with reuse, or reduces, at its root */
};

struct graph {
  ir_pass_run *run;
  ir_vec(struct node) nodes;
  unsigned stretch;
  uint64_t max_depth, max_buffers;
};

static int root_of(struct graph *g, int i) {
  while (g->nodes.at[i].parent != i) i = g->nodes.at[i].parent = g->nodes.at[g->nodes.at[i].parent].parent;
  return i;
}

static ir_op_pattern pattern_of(ir_pass_run *run, const ir_op *op) {
  ir_func *callee = ir_item_func(ir_module_find(run->module, ir_get(op, "callee")->string));
  return callee ? ir_pattern_annotated(callee) : IR_PATTERN_OPAQUE;
}

/* The node of the operation that uses a value; -1 where the value goes elsewhere. */
static int user_node(struct graph *g, const ir_op *user, const ir_region *region) {
  bool node = user->region == region && user->id < g->nodes.count && g->nodes.at[user->id].op == user;
  return node ? (int)user->id : -1;
}

/* The nearest node that both A and B flow into; the pattern of the way is kept in *pattern. */
static int common(struct graph *g, int a, int b, ir_op_pattern *pattern) {
  while (a != b) {
    if (a < 0 || b < 0) return -1;
    int *deeper = g->nodes.at[a].depth >= g->nodes.at[b].depth ? &a : &b;
    const struct node *node = &g->nodes.at[*deeper];
    if (node->path_pattern > *pattern) *pattern = node->path_pattern;
    *deeper = node->post_dominator;
  }
  return a;
}

static void find_post_dominator(struct graph *g, int i, const ir_region *region) {
  struct node *node = &g->nodes.at[i];
  int sink = -2;
  ir_op_pattern pattern = IR_PATTERN_ELEMENTWISE;
  for (size_t r = 0; r < node->op->result_count; r++) {
    ir_each_use(use, ir_op_result(node->op, r)) {
      int user = user_node(g, use->user, region);
      if (user >= 0 && g->nodes.at[user].pattern > pattern) pattern = g->nodes.at[user].pattern;
      sink = sink == -2 ? user : sink < 0 || user < 0 ? -1 : common(g, sink, user, &pattern);
    }
  }
  node->post_dominator = sink < 0 ? -1 : sink;
  node->path_pattern = pattern;
  node->depth = sink < 0 ? 0 : g->nodes.at[sink].depth + 1;
}

struct path {
  struct graph *g;
  const ir_region *region;
  int sink;
  ir_op_pattern most_inside, most_sink; /* patterns allowed on the way and at its end */
  const ir_type *type;                  /* what results on the way must have, NULL for any: one loop nest holds it all */
  ir_vec(int) nodes;                    /* seen: source first, without the sink */
  ir_map seen;
};

static bool same_type(const struct path *p, int i) {
  const ir_type *type = ir_op_result(p->g->nodes.at[i].op, 0)->type;
  if (!ir_is_tensor(type) || !type->ranked || !p->type->ranked || type->count != p->type->count) return false;
  for (size_t d = 0; d < type->count; d++) {
    const ir_expr *a = ir_type_dim(type, d), *b = ir_type_dim(p->type, d);
    if (!a || !b || ir_prove_equal(p->g->run->context, p->g->run->rewriter->facts, a, b) != IR_PROVEN) return false;
  }
  return true;
}

/* Collects the nodes between I and the sink; false where one is too general. */
static bool walk_path(struct path *p, int i) {
  struct node *node = &p->g->nodes.at[i];
  if (ir_map_has(&p->seen, node->op)) return true;
  ir_map_put(p->g->run->scratch, &p->seen, node->op, node->op);
  *ir_push(p->g->run->scratch, &p->nodes) = i;
  for (size_t r = 0; r < node->op->result_count; r++) {
    ir_each_use(use, ir_op_result(node->op, r)) {
      int user = user_node(p->g, use->user, p->region);
      if (user == p->sink) continue;
      if (user < 0 || p->g->nodes.at[user].pattern > p->most_inside) return false;
      if (p->type && !same_type(p, user)) return false;
      if (!walk_path(p, user)) return false;
    }
  }
  return true;
}

/* What may lie between a call of pattern P and the call that it joins, and at the end; false: it joins none. */
static bool rule(const struct node *node, const struct node *sink, bool sink_has_anchor, ir_op_pattern *inside, ir_op_pattern *end) {
  switch (node->pattern) {
  case IR_PATTERN_OUT_FUSABLE:
  case IR_PATTERN_REDUCTION:
    /* Element-wise work after the result, in the same kernel. */
    *inside = *end = IR_PATTERN_ELEMENTWISE;
    return !sink_has_anchor && node->path_pattern == IR_PATTERN_ELEMENTWISE;
  case IR_PATTERN_ELEMENTWISE:
  case IR_PATTERN_BROADCAST:
    /* Into element-wise work, a change of layout, or the operand of a plain reduction; into a group that already has
     * its reduction only along an element-wise way. */
    *inside = IR_PATTERN_INJECTIVE;
    *end = IR_PATTERN_REDUCTION;
    if (sink_has_anchor && sink->pattern <= IR_PATTERN_BROADCAST) *inside = IR_PATTERN_BROADCAST;
    return true;
  case IR_PATTERN_INJECTIVE:
    *inside = *end = IR_PATTERN_INJECTIVE;
    return !sink_has_anchor;
  case IR_PATTERN_OPAQUE: return false;
  }
  return false;
}

/* Whether the group of I, and those of the nodes of PATH with it, take and give no more tensors than a kernel may have. OPERANDS: of
 * all their calls. */
static bool fits_buffers(struct graph *g, struct path *path, int group, size_t operands) {
  const ir_op *sink = g->nodes.at[group].op;
  if (!g->max_buffers || operands + sink->result_count <= g->max_buffers) return true;
  ir_map roots = {0}, seen = {0};
  ir_arena *scratch = g->run->scratch;
  ir_map_put(scratch, &roots, g->nodes.at[group].op, g);
  for (size_t k = 0; k < path->nodes.count; k++) ir_map_put(scratch, &roots, g->nodes.at[root_of(g, path->nodes.at[k])].op, g);
  size_t buffers = sink->result_count;
  for (size_t i = 0; i < g->nodes.count; i++) {
    const ir_op *op = g->nodes.at[i].op;
    if (!ir_map_has(&roots, g->nodes.at[root_of(g, (int)i)].op)) continue;
    for (size_t k = 0; k < op->operand_count; k++) {
      ir_value *value = ir_op_operand(op, k);
      const ir_op *from = ir_value_op(value);
      int node = from ? user_node(g, from, path->region) : -1;
      bool inside = node >= 0 && ir_map_has(&roots, g->nodes.at[root_of(g, node)].op);
      if (inside || !ir_is_tensor(value->type) || ir_map_has(&seen, value)) continue;
      ir_map_put(scratch, &seen, value, g);
      buffers++;
    }
  }
  return buffers <= g->max_buffers;
}

static void try_fuse(struct graph *g, int i, const ir_region *region) {
  struct node *node = &g->nodes.at[i];
  if (node->post_dominator < 0 || node->op->result_count != 1) return;
  struct node *sink = &g->nodes.at[node->post_dominator];
  int group = root_of(g, node->post_dominator), own = root_of(g, i);
  if (group == own || sink->stretch != node->stretch) return;
  bool both = g->nodes.at[group].has_anchor && g->nodes.at[own].has_anchor;
  struct path path = {.g = g, .region = region, .sink = node->post_dominator};
  if (both || !rule(node, sink, g->nodes.at[group].has_anchor, &path.most_inside, &path.most_sink)) return;
  if (node->has_anchor) path.type = ir_op_result(node->op, 0)->type;
  if (sink->pattern > path.most_sink || !walk_path(&path, i)) return;
  if (path.type && !same_type(&path, path.sink)) return;
  size_t size = g->nodes.at[group].size, operands = g->nodes.at[group].operands;
  for (size_t k = 0; k < path.nodes.count; k++) {
    int other = root_of(g, path.nodes.at[k]);
    if (other == group) continue;
    if (g->nodes.at[other].has_anchor && (other != own || both)) return;
    size += g->nodes.at[other].size;
    operands += g->nodes.at[other].operands;
  }
  if (size > g->max_depth || !fits_buffers(g, &path, group, operands)) return;
  for (size_t k = 0; k < path.nodes.count; k++) {
    int other = root_of(g, path.nodes.at[k]);
    if (other == group) continue;
    g->nodes.at[other].parent = group;
    g->nodes.at[group].size += g->nodes.at[other].size;
    g->nodes.at[group].operands += g->nodes.at[other].operands;
    g->nodes.at[group].has_anchor |= g->nodes.at[other].has_anchor;
  }
}

/* --- building the functions --- */
static void add_name(ir_text *name, ir_op *op) {
  ir_text_printf(name, "_%s", ir_get_word(op, "callee"));
}

static ir_value *outside(ir_map *inputs, ir_pass_run *run, ir_value *value, ir_value ***list, size_t *count, size_t *capacity) {
  ir_value *known = ir_map_get(inputs, value);
  if (known) return known;
  ir_map_put(run->scratch, inputs, value, value);
  ir_vec_reserve(run->scratch, (void **)list, capacity, *count + 1, sizeof **list);
  return (*list)[(*count)++] = value;
}

/* Moves the calls of a group, in order, the last one being SINK, into a private function and calls it. */
static void build_group(ir_pass_run *run, ir_op **ops, size_t count) {
  ir_op *sink = ops[count - 1];
  ir_map inside = {0}, inputs = {0};
  ir_value **list = NULL;
  size_t input_count = 0, capacity = 0;
  ir_text name = {0};
  ir_text_put(&name, "fused");
  for (size_t i = 0; i < count; i++) {
    if (i < 8) add_name(&name, ops[i]);
    ir_map_put(run->scratch, &inside, ops[i], ops[i]);
    for (size_t k = 0; k < ops[i]->operand_count; k++) {
      ir_value *value = ir_op_operand(ops[i], k);
      ir_op *def = ir_value_op(value);
      bool inline_closed = def && (def->flags & IR_OP_INLINE) && !def->operand_count;
      if (!(def && ir_map_has(&inside, def)) && !inline_closed) outside(&inputs, run, value, &list, &input_count, &capacity);
    }
  }
  ir_func *func = ir_func_new(run->module, IR_ITEM_FUNC, ir_module_fresh_name(run->module, (ir_slice){name.at, name.length}));
  ir_text_free(&name);
  func->item.flags = IR_ITEM_PRIVATE;
  func->item.range = sink->range;
  func->item.attrs = ir_dict_with(run->context, NULL, "primitive", ir_attr_bool(run->context, true));
  ir_symbols_used used = {.context = run->context, .arena = run->scratch};
  for (size_t i = 0; i < input_count; i++) ir_symbols_in_type(&used, list[i]->type, true);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < ops[i]->result_count; k++) ir_symbols_in_type(&used, ir_op_result(ops[i], k)->type, false);
    for (size_t k = 0; k < ops[i]->operand_count; k++) {
      const ir_expr *closed = ir_value_closed_expr(ir_op_operand(ops[i], k));
      if (closed) ir_symbols_in_expr(&used, closed);
    }
  }
  size_t symbol_count;
  const ir_expr **symbols = ir_symbols_unbound(&used, &symbol_count);
  ir_param *params = ir_new_array(run->scratch, ir_param, input_count + symbol_count);
  for (size_t i = 0; i < input_count; i++) {
    params[i] = (ir_param){.name = ir_intern(run->context, ir_slice_of(ir_arena_printf(run->scratch, "p%zu", i))), .type = list[i]->type};
  }
  ir_builder b = ir_before(sink);
  size_t param_count = input_count;
  for (size_t i = 0; i < symbol_count; i++) {
    const ir_expr *symbol = symbols[i];
    params[param_count++] = (ir_param){.name = symbol->symbol, .type = ir_type_scalar(run->context, IR_I64, 1), .symbol = symbol};
    ir_vec_reserve(run->scratch, (void **)&list, &capacity, param_count, sizeof *list);
    list[param_count - 1] = ir_build_scalar(&b, symbol, NULL, 0);
  }
  ir_func_set_params(func, param_count, params, true);
  ir_symbols_copy_where(&used, ir_op_func(sink), func);
  func->result_count = sink->result_count;
  func->results = ir_new_array(&run->module->arena, const ir_type *, sink->result_count);
  for (size_t i = 0; i < sink->result_count; i++) func->results[i] = ir_op_result(sink, i)->type;
  ir_map values = {0};
  for (size_t i = 0; i < input_count; i++) ir_map_put(run->scratch, &values, list[i], func->body->args[i]);
  ir_op *last = NULL;
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < ops[i]->operand_count; k++) {
      ir_op *def = ir_value_op(ir_op_operand(ops[i], k));
      bool copy = def && (def->flags & IR_OP_INLINE) && !ir_map_has(&values, ir_op_operand(ops[i], k));
      if (copy) ir_op_clone(def, func->body, NULL, run->scratch, &values);
    }
    last = ir_op_clone(ops[i], func->body, NULL, run->scratch, &values);
  }
  ir_value **results = ir_new_array(run->scratch, ir_value *, sink->result_count);
  for (size_t i = 0; i < sink->result_count; i++) results[i] = ir_op_result(last, i);
  ir_builder at_end = ir_at_end(func->body);
  ir_build_with(&at_end, IR_RETURN, results, sink->result_count, IR_NO_ATTRS, NULL, 0, NULL, 0);
  ir_item *home = &ir_op_func(sink)->item;
  ir_module_add(run->module, &func->item, home->prev ? home->prev : home);
  ir_op *call = ir_build_with(&b, IR_CALL, list, param_count, IR_SET({"callee", ir_attr_global(run->context, func->item.name)}), NULL, 0, func->results, func->result_count);
  for (size_t i = 0; i < sink->result_count; i++) ir_value_replace(ir_op_result(sink, i), ir_op_result(call, i));
  for (size_t i = count; i > 0; i--) ir_op_erase(ops[i - 1]);
  run->stats[GROUPS]++;
  run->stats[FUSED] += count;
}

/* A call that moved past this might read what it has overwritten by then. */
static bool writes_in_place(const ir_op *op) {
  return !ir_op_is_pure(op) && !ir_op_is_removable(op) && !ir_has(op, IR_TERMINATOR) && !ir_has(op, IR_CHECKS);
}

static void fuse_region(ir_pass_run *run, ir_region *region) {
  const struct options *given = run->options;
  struct graph g = {.run = run, .max_depth = given->max_depth, .max_buffers = given->max_buffers};
  ir_each_op(op, region) {
    for (size_t i = 0; i < op->region_count; i++) fuse_region(run, ir_op_region(op, i));
    op->id = UINT32_MAX;
    if (writes_in_place(op)) g.stretch++;
    if (!ir_is(op, IR_CALL_TIR)) continue;
    op->id = (uint32_t)g.nodes.count;
    ir_op_pattern pattern = pattern_of(run, op);
    bool anchor = pattern == IR_PATTERN_OUT_FUSABLE || pattern == IR_PATTERN_REDUCTION;
    const struct node node = {.op = op, .pattern = pattern, .post_dominator = -1, .parent = (int)g.nodes.count, .size = 1, .operands = op->operand_count, .stretch = g.stretch, .has_anchor = anchor};
    *ir_push(run->scratch, &g.nodes) = node;
  }
  int count = (int)g.nodes.count;
  for (int i = count - 1; i >= 0; i--) find_post_dominator(&g, i, region);
  /* What reduces takes its element-wise followers first; then producers join. */
  for (int phase = 0; phase < 2; phase++) {
    for (int i = 0; i < count; i++) {
      if ((phase == 0) == g.nodes.at[i].has_anchor || phase == 1) try_fuse(&g, i, region);
    }
  }
  for (int i = 0; i < count; i++) {
    if (root_of(&g, i) != i || g.nodes.at[i].size < 2) continue;
    ir_op **ops = ir_new_array(run->scratch, ir_op *, g.nodes.at[i].size);
    size_t n = 0;
    for (int k = 0; k < count; k++) {
      if (root_of(&g, k) == i) ops[n++] = g.nodes.at[k].op;
    }
    build_group(run, ops, n);
  }
}

static bool fuse(ir_pass_run *run, ir_func *func) {
  if (ir_dict_get(func->item.attrs, "primitive")) return false;
  fuse_region(run, func->body);
  return run->stats[GROUPS] > 0;
}

const ir_pass ir_pass_fuse_ops = {
    .name = "fuse-ops",
    .doc = "Group calls of annotated prim_funcs into private functions, one for each future kernel.",
    .options = options,
    .options_size = sizeof(struct options),
    .each_func = fuse,
    .needs = IR_PROPERTY_LEGAL,
    .stats = STATS({"groups", "functions made"}, {"fused", "calls moved into them"}),
};
