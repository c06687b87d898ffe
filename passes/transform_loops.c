// SPDX-License-Identifier: Apache-2.0
/* passes/transform_loops.c - loops get the shape that the processor likes: by steps given by hand (the attribute `steps` of a
 * prim_func, or the option), else by rules. Needs loop form; split-kernels makes one nest of each kernel first. */
#include "passes/pass.h"
#include "passes/schedule/transform.h"
#include "targets/device.h"

enum { CHOSEN, GIVEN };

struct options {
  int target, tile;
  const char *steps;
};
static const ir_opt options[] = {
    OPT_CHOICE(struct options, target, "target", IR_LOOP_TARGETS, "llvm", "what the loops are for"),
    OPT_CHOICE(struct options, tile, "tile", "target|registers|workgroup", "target", "where devices keep tiles of sums of products: as suits the target, in an invocation, or in workgroup memory"),
    OPT_STRING(struct options, steps, "steps", NULL, "what to do to every prim_func that names no steps itself", .value = "STEPS"),
    OPT_END,
};

enum { TILE_OF_TARGET, TILE_REGISTERS, TILE_WORKGROUP };

static const char *choose(ir_pass_run *run, ir_func *func, const struct options *given) {
  if (!ir_is_grid_target(given->target)) return ir_transform_choose(func, run->scratch);
  const ir_device_limits *device = &ir_loop_targets[given->target];
  bool shared = given->tile == TILE_WORKGROUP || (given->tile == TILE_OF_TARGET && device->tiles);
  const char *tile = shared ? ir_transform_choose_tile(func, run->scratch, device) : NULL;
  return tile ? tile : ir_transform_choose_grid(func, run->scratch, device);
}

static bool transform(ir_pass_run *run, ir_func *func) {
  if (func->item.kind != IR_ITEM_PRIM_FUNC) return false;
  const struct options *given = run->options;
  const ir_attr *own = ir_dict_get(func->item.attrs, "steps");
  if (!own && ir_dict_get(func->item.attrs, "transformed")) return false;
  if (own && own->kind != IR_ATTR_STRING) {
    ir_error(run->context->diags, func->item.range, "transform-loops: 'steps' of @%s is not a string", func->item.name->text);
    run->failed = true;
    return false;
  }
  ir_func_make_names_unique(func);
  const char *steps = own ? own->string->text : given->steps ? given->steps : choose(run, func, given);
  if (!steps) return false;
  ir_transform t = {.func = func, .scratch = run->scratch, .device = &ir_loop_targets[given->target]};
  if (!ir_transform_apply(&t, ir_slice_of(steps))) {
    ir_diag *diag = ir_error(run->context->diags, func->item.range, "transform-loops: in @%s, %s", func->item.name->text, t.problem);
    if (t.where && t.where->range.begin) ir_note(run->context->diags, diag, t.where->range, "it stands here");
    run->failed = true;
    return false;
  }
  run->stats[own || given->steps ? GIVEN : CHOSEN]++;
  func->item.attrs = ir_dict_with(run->context, func->item.attrs, "steps", NULL);
  func->item.attrs = ir_dict_with(run->context, func->item.attrs, "transformed", ir_attr_string(run->context, ir_slice_of(steps)));
  return true;
}

const ir_pass ir_pass_transform_loops = {
    .name = "transform-loops",
    .doc = "Split, exchange, join, sink and mark loops: by the steps that a prim_func names (`with {steps=\"split(i, 4), sink(i_i)\"}`), "
           "by those of the option, else by the rules of the target. What was done is the attribute `transformed`. Steps: `split(i, n)` into "
           "`i_o` and `i_i` (and `i_t`, the rest), `block(i, n)` with a shorter `i_i` in the last round, `pad(i, n)` with rounds too many that "
           "write nothing; `reorder(i)`, `fuse(i)` with the loop inside; `sink(i)` around the stores, `jam(i)` the "
           "same and written out, `sink_at(i, j)` around loops j; `cache(i, x)` copies what a round of i loads from x to local memory; "
           "`expand(i)` writes rounds out; `partition(i, first, last)` into `i_f`, `i_m` and `i_l`; `simplify(i)` "
           "drops conditions that hold; `specialize(i, first, last)` has a branch for all rounds but these, which `simplify` can make simpler; "
           "`vectorize(i, registers)`, `unroll(i, times)`, `parallel(i)`, `serial(i)`; `bind(i, 64)` makes a grid of the outermost loop, an "
           "invocation a round; `workgroup(i, 32)` gives each round a workgroup, whose invocations share the independent loops inside.",
    .options = options,
    .options_size = sizeof(struct options),
    .each_func = transform,
    .prims = true,
    .needs = IR_PROPERTY_LOOPS,
    .stats = STATS({"chosen", "prim_funcs transformed by rule"}, {"given", "prim_funcs transformed by steps given"}),
};
