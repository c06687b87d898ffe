// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/interp.c - making and freeing interpreters. */
#include "ir/print.h"
#include "runtime/interp/graph.h"

ir_interp *ir_interp_new(ir_module *module, const ir_interp_options *options) {
  ir_interp *interp = ir_heap_alloc(sizeof *interp);
  *interp = (ir_interp){.module = module, .context = module->context, .kernels = ir_kernels_get()};
  interp->options = options ? *options : (ir_interp_options){.checked = true};
  interp->meter = ir_meter_new(interp->options.max_bytes);
  interp->meter->memory = interp->options.memory;
  return interp;
}

static void free_plans(ir_map *map) {
  for (size_t i = 0; i < map->capacity; i++) {
    ir_plan *plan = map->entries[i].value;
    while (plan) {
      ir_plan *next = plan->next;
      ir_plan_free(plan);
      plan = next;
    }
  }
}

void ir_interp_free(ir_interp *interp) {
  if (!interp) return;
  free_plans(&interp->prims);
  free_plans(&interp->ops);
  ir_operators_free(interp);
  ir_meter_release(interp->meter);
  ir_recorder_reset(&interp->launches);
  ir_arena_free(&interp->arena);
  ir_heap_free(interp);
}

bool ir_interp_vfail(ir_interp *interp, ir_range range, const ir_attr *loc, const char *format, va_list args) {
  if (interp->options.quiet) return false;
  ir_text text = {0}, place = {0};
  ir_text_vprintf(&text, format, args);
  if (ir_print_place(&place, loc)) ir_text_printf(&text, " (%s)", place.at);
  ir_error(interp->context->diags, range, "%s", text.at);
  ir_text_free(&place);
  ir_text_free(&text);
  return false;
}

bool ir_interp_fail(ir_interp *interp, ir_range range, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_interp_vfail(interp, range, NULL, format, args);
  va_end(args);
  return false;
}

bool ir_op_fail(ir_interp *interp, const ir_op *op, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ir_interp_vfail(interp, op->range, ir_op_loc(op), format, args);
  va_end(args);
  return false;
}

ir_launch ir_launch_begin(const ir_interp *interp, const char *kernel) {
  bool measured = interp->options.measured;
  return (ir_launch){.kernel = measured ? kernel : NULL, .start = measured ? ir_now() : 0};
}

void ir_launch_buffers(ir_launch *launch, size_t count, ir_object *const *objects) {
  for (size_t i = 0; launch->kernel && i < count; i++) launch->bytes += objects[i]->kind == IR_OBJECT_TENSOR ? objects[i]->tensor->size : 0;
}

void ir_launch_end(ir_interp *interp, const ir_launch *launch) {
  if (launch->kernel) ir_recorder_note(&interp->launches, launch->kernel, launch->bytes, ir_now() - launch->start);
}

ir_run_stats ir_interp_run_stats(const ir_interp *interp) {
  return ir_recorder_stats(&interp->launches, (uint64_t)interp->meter->peak);
}

ir_interp_stats ir_interp_get_stats(const ir_interp *interp) {
  return (ir_interp_stats){interp->steps, interp->meter->live, interp->meter->peak};
}
