// SPDX-License-Identifier: Apache-2.0
/* passes/pass.c - the pass manager: runs pipelines, verifies and prints between passes. Needs ir/, knows no target. */
#include "passes/pass.h"

#include "base/vec.h"
#include "ir/print.h"
#include "ir/verify.h"

const ir_pass *const ir_passes[] = {
#define PASS(id) &ir_pass_##id,
#include "passes/passes.def"
#undef PASS
    NULL,
};

const ir_pass *ir_pass_find(ir_slice name) {
  for (const ir_pass *const *pass = ir_passes; *pass; pass++) {
    if (ir_slice_is(name, (*pass)->name)) return *pass;
  }
  return NULL;
}

/* --- properties --- */
static bool lacks(const ir_op *op, ir_property property) {
  switch (property) {
  case IR_PROPERTY_LEGAL: return ir_has(op, IR_GRAPH) && ir_op_row(op)->numerics != IR_STRUCTURE && !ir_has(op, IR_VIEW);
  case IR_PROPERTY_NO_DATAFLOW: return ir_is(op, IR_DATAFLOW);
  case IR_PROPERTY_LOOPS: return ir_is(op, IR_COMPUTE);
  case IR_PROPERTY_BUFFERS: return ir_is(op, IR_CALL_TIR) || ir_is(op, IR_CALL_TIR_INPLACE);
  }
  return false;
}

struct search {
  ir_property property;
  const ir_op *found;
};

static bool look(void *user, ir_op *op) {
  struct search *search = user;
  if (lacks(op, search->property)) search->found = op;
  return !search->found;
}

const ir_op *ir_property_violation(ir_module *module, ir_property property) {
  struct search search = {.property = property};
  ir_each_body(func, module) {
    if (!ir_walk(func->body, IR_PRE_ORDER, look, &search)) break;
  }
  return search.found;
}

static const struct {
  ir_property property;
  const char *pass;
} makers[] = {
    {IR_PROPERTY_LEGAL, "legalize"}, {IR_PROPERTY_NO_DATAFLOW, "to-non-dataflow"}, {IR_PROPERTY_LOOPS, "schedule"},
    {IR_PROPERTY_BUFFERS, "call-tir-rewrite"}};

void ir_pass_document_needs(ir_text *text, const ir_pass *pass) {
  for (size_t i = 0; i < ir_count_of(makers); i++) {
    if (pass->needs & makers[i].property) ir_text_printf(text, "\nRuns after `%s`.\n", makers[i].pass);
  }
}

static bool check_needs(ir_module *module, const ir_pass *pass) {
  for (size_t i = 0; i < ir_count_of(makers); i++) {
    if (!(pass->needs & makers[i].property)) continue;
    const ir_op *op = ir_property_violation(module, makers[i].property);
    if (!op) continue;
    ir_error(module->context->diags, op->range, "%s: '%s' must be lowered first: run %s before", pass->name,
             ir_op_row(op)->name, makers[i].pass);
    return false;
  }
  return true;
}

/* --- one pass --- */
struct visit {
  ir_pass_run *run;
  bool changed;
};

/* A module that has no text, such as an imported model: messages name the node that OP comes from. */
static const char *node_of(const struct visit *visit, const ir_op *op) {
  const char *where = ir_diags_where(visit->run->context->diags);
  const ir_attr *loc = where ? ir_op_loc(op) : NULL;
  return loc ? ir_arena_printf(visit->run->scratch, "%s: node '%s'", where, loc->items[0]->string->text) : where;
}

static bool visit_op(void *user, ir_op *op) {
  struct visit *visit = user;
  ir_diags *diags = visit->run->context->diags;
  const char *where = ir_diags_where(diags);
  if (where) ir_diags_set_where(diags, node_of(visit, op));
  visit->changed |= visit->run->pass->each_op(visit->run, op);
  ir_diags_set_where(diags, where);
  return !visit->run->failed;
}

static bool run_on_func(ir_pass_run *run, ir_func *func) {
  const ir_pass *pass = run->pass;
  ir_rewriter rewriter = {.func = func, .facts = ir_func_facts(func), .scratch = run->scratch, .pass = pass->name, .options = run->options};
  run->func = func;
  run->rewriter = &rewriter;
  bool changed = false;
  if (pass->each_func) changed = pass->each_func(run, func);
  if (pass->each_op) {
    struct visit visit = {.run = run};
    do {
      visit.changed = false;
      ir_walk(func->body, pass->order, visit_op, &visit);
      changed |= visit.changed;
    } while (visit.changed && pass->repeat && !run->failed);
  }
  if (pass->rules) {
    size_t sets = 0;
    while (pass->rules[sets]) sets++;
    size_t applied = ir_rewrite(&rewriter, pass->rules, sets, 0, NULL);
    if (pass->stats) run->stats[0] += applied;
    changed |= applied > 0;
  }
  run->failed |= rewriter.failed;
  run->rewriter = NULL;
  run->func = NULL;
  return changed;
}

static bool wants(const ir_pass *pass, const ir_func *func) {
  return func->item.kind == IR_ITEM_FUNC || (pass->prims && func->item.kind == IR_ITEM_PRIM_FUNC);
}

/* Inline scalars that a pass made and then did not need. */
static void sweep_inline(ir_region *region) {
  ir_each_op(op, region) {
    for (size_t i = 0; i < op->region_count; i++) sweep_inline(ir_op_region(op, i));
    if ((op->flags & IR_OP_INLINE) && ir_is_unused(op)) ir_op_erase(op);
  }
}

/* Runs one pass; false where it failed. */
static bool run_pass(ir_module *module, const ir_pass_instance *instance, uint64_t *stats) {
  const ir_pass *pass = instance->pass;
  ir_arena scratch = {0};
  ir_pass_run run = {.pass = pass,
                     .module = module,
                     .context = module->context,
                     .scratch = &scratch,
                     .options = instance->options,
                     .stats = stats};
  size_t errors = ir_diags_errors(module->context->diags);
  if (!check_needs(module, pass)) return false;
  if (pass->run) pass->run(&run);
  if (!pass->run) {
    ir_each_body(func, module) {
      if (wants(pass, func) && !run.failed) run_on_func(&run, func);
    }
  }
  ir_arena_free(&scratch);
  ir_each_body(func, module) {
    sweep_inline(func->body);
    ir_func_make_names_unique(func);
  }
  return !run.failed && ir_diags_errors(module->context->diags) == errors;
}

/* --- between passes --- */
static bool named(const ir_opt_strings *names, const ir_pass *pass) {
  for (size_t i = 0; i < names->count; i++) {
    if (!strcmp(names->at[i], pass->name)) return true;
  }
  return false;
}

static void print_ir(ir_module *module, const char *when, const ir_pass *pass) {
  ir_text text = {0};
  ir_print_module(&text, module, NULL);
  fprintf(stderr, "// --- %s %s ---\n%.*s", when, pass->name, (int)text.length, text.at ? text.at : "");
  ir_text_free(&text);
}

static bool check_roundtrip(ir_module *module, const ir_pass *pass, const ir_pipeline_options *options) {
  ir_text once = {0}, twice = {0};
  ir_print_module(&once, module, NULL);
  char *kept = ir_arena_copy(&module->context->arena, once.at, once.length);
  ir_module *again = options->parse(module->context, "<round trip>", (ir_slice){kept, once.length});
  if (again) ir_print_module(&twice, again, NULL);
  bool same = again && once.length == twice.length && !memcmp(once.at, twice.at, once.length);
  if (!same) {
    ir_error_in(module->context->diags, pass->name, "internal error: the text after this pass does not read back the same");
  }
  if (again) ir_module_free(again);
  ir_text_free(&once);
  ir_text_free(&twice);
  return same;
}

static bool check_after(ir_module *module, const ir_pass *pass, const ir_pipeline_options *options) {
  ir_diags *diags = module->context->diags;
  if (options->verify_each && !ir_verify_module(module)) {
    ir_error_in(diags, pass->name, "the module is not valid after this pass");
    return false;
  }
  return !options->roundtrip_each || check_roundtrip(module, pass, options);
}

static void set_fp(ir_module *module, const char *key, const ir_attr *value, bool over_text) {
  if (!value || (!over_text && ir_dict_get(module->attrs, key))) return;
  module->attrs = ir_dict_with(module->context, module->attrs, key, value);
}

/* --fp wins over the text; a preset and --exact fill in what the text leaves open. What is left open is the exact value. */
static void apply_fp(ir_module *module, const ir_pipeline *pipeline, const ir_pipeline_options *options) {
  ir_context *context = module->context;
  static const char *const orders[] = {NULL, "fixed", "free"}, *const maths[] = {NULL, "own", "native"};
  if (options->fp.fma) set_fp(module, "fp.fma", ir_attr_bool(context, options->fp.fma == 2), true);
  if (options->fp.order) set_fp(module, "fp.order", ir_attr_string(context, ir_slice_of(orders[options->fp.order])), true);
  if (options->fp.math) set_fp(module, "fp.math", ir_attr_string(context, ir_slice_of(maths[options->fp.math])), true);
  if (pipeline->fma) set_fp(module, "fp.fma", ir_attr_bool(context, !options->exact), false);
}

static void print_stats(const ir_pass *pass, const uint64_t *stats) {
  for (size_t i = 0; pass->stats && pass->stats[i].name; i++) {
    if (stats[i]) fprintf(stderr, "%s: %s: %llu\n", pass->name, pass->stats[i].name, (unsigned long long)stats[i]);
  }
}

bool ir_pipeline_run(ir_module *module, const ir_pipeline *pipeline, const ir_pipeline_options *options) {
  enum { MOST_STATS = 64 };
  apply_fp(module, pipeline, options);
  for (size_t i = 0; i < pipeline->count; i++) {
    const ir_pass_instance *instance = &pipeline->at[i];
    const ir_pass *pass = instance->pass;
    if (pass->inexact && options->exact) continue;
    if (options->print_before_all || named(&options->print_before, pass)) print_ir(module, "before", pass);
    uint64_t stats[MOST_STATS] = {0};
    if (!run_pass(module, instance, stats)) {
      ir_diags *diags = module->context->diags;
      if (!ir_diags_errors(diags)) ir_error_in(diags, pass->name, "failed without saying why");
      return false;
    }
    if (options->print_after_all || named(&options->print_after, pass)) print_ir(module, "after", pass);
    if (!check_after(module, pass, options)) return false;
    if (options->stats) print_stats(pass, stats);
  }
  return true;
}
