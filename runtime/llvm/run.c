// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/run.c - calls compiled graph functions with tensors; and what the plugin offers. */
#include "ir/print.h"
#include "runtime/llvm/jit.h"
#include "runtime/tensor.h"

#include <stdatomic.h>

extern const ir_plugin ir_plugin_llvm;

typedef struct ir_run {
  rill_context context; /* first: callbacks get it */
  ir_program *program;
  ir_arena arena;
  double started; /* of the kernel that runs, where it is measured */
} ir_run;

/* --- callbacks --- */

static void *take(rill_context *context, int64_t bytes) {
  ir_run *run = (ir_run *)context;
  ir_pool *pool = &run->program->pool;
  uint64_t most = run->program->max_bytes;
  bool within = !most || (uint64_t)bytes + pool->used <= most;
  void *memory = within ? ir_pool_take(pool, (size_t)bytes) : NULL;
  if (!memory) {
    ir_error_in(run->program->module->context->diags, "llvm", "no memory for %lld bytes%s", (long long)bytes, within ? "" : ": the budget of bytes is spent");
  }
  return memory;
}

static void give(rill_context *context, void *memory) { ir_pool_give(&((ir_run *)context)->program->pool, memory); }

/* TEXT with {0}, {1}, ... replaced. */
static const char *filled(ir_arena *arena, const char *text, const int64_t *values) {
  ir_text out = {0};
  for (const char *at = text; *at; at++) {
    bool value = at[0] == '{' && at[1] >= '0' && at[1] <= '9' && at[2] == '}';
    if (value) {
      ir_text_printf(&out, "%lld", (long long)values[at[1] - '0']);
      at += 2;
    } else {
      ir_text_char(&out, *at);
    }
  }
  const char *copy = ir_arena_copy(arena, out.at ? out.at : "", out.length);
  ir_text_free(&out);
  return copy;
}

static void fail(rill_context *context, const rill_failure *failure, const int64_t *values) {
  ir_run *run = (ir_run *)context;
  ir_diags *diags = run->program->module->context->diags;
  /* Without values braces are part of the text. */
  const char *text = values ? filled(&run->arena, failure->text, values) : failure->text;
  const ir_range range = {failure->begin, failure->end};
  if (range.begin) {
    ir_error(diags, range, "%s", text);
  } else if (*failure->where) {
    ir_error_in(diags, NULL, "%s (%s)", text, failure->where);
  } else {
    ir_error_in(diags, ir_diags_where(diags) ? NULL : "llvm", "%s", text);
  }
}

/* --- measuring --- */

static void launch(rill_context *context, const char *kernel, int64_t bytes) {
  ir_run *run = (ir_run *)context;
  if (bytes < 0) run->started = ir_now();
  if (bytes >= 0) ir_recorder_note(&run->program->launches, kernel, (uint64_t)bytes, ir_now() - run->started);
}

static void start_measuring(ir_program *program) {
  program->pool.used = program->pool.peak = 0;
  ir_recorder_reset(&program->launches);
}

static ir_run_stats stats(ir_program *program) { return ir_recorder_stats(&program->launches, program->pool.peak); }

/* --- threads --- */

struct sharing {
  rill_context context; /* for the threads: without a voice, so that what a failure says does not depend on who came first */
  rill_body *body;
  void *data;
  int64_t count, chunks;
  atomic_int failed;
};

static void run_chunk(void *data, size_t i) {
  struct sharing *s = data;
  int64_t begin = s->count * (int64_t)i / s->chunks, end = s->count * ((int64_t)i + 1) / s->chunks;
  if (s->body(&s->context, s->data, begin, end)) atomic_store(&s->failed, 1);
}

static void say_nothing(rill_context *context, const rill_failure *failure, const int64_t *values) {
  (void)context;
  (void)failure;
  (void)values;
}

static int32_t parallel(rill_context *context, int64_t count, int64_t cost, rill_body *body, void *data) {
  enum { LEAST = 1 << 15, CHUNKS = 4 /* for each thread, so that nobody waits long for the last one */ };
  const ir_run *run = (ir_run *)context;
  int64_t rounds = cost >= LEAST ? 1 : LEAST / (cost > 0 ? cost : 1), chunks = count / rounds;
  int64_t most = CHUNKS * (int64_t)ir_threads_count(run->program->threads);
  if (chunks > most) chunks = most;
  if (chunks < 2) return body(context, data, 0, count);
  struct sharing s = {.context = *context, .body = body, .data = data, .count = count, .chunks = chunks};
  s.context.fail = say_nothing;
  ir_threads_run(run->program->threads, (size_t)chunks, run_chunk, &s);
  /* Once more in order: the first failure is the one that is told. */
  return s.failed ? body(context, data, 0, count) : 0;
}

/* --- arguments --- */

static const char *name_of(ir_run *run, const ir_func *func, size_t i) {
  const ir_string *name = func->params[i].name;
  return name ? name->text : ir_arena_printf(&run->arena, "%zu", i);
}

static bool fits(const ir_type *type, const ir_tensor *tensor) {
  if (type->kind == IR_TYPE_SHAPE) return tensor->dtype == IR_I64 && tensor->rank == 1 && tensor->dims[0] == (int64_t)type->count;
  if (!ir_is_tensor(type) && !ir_is_scalar(type)) return false;
  bool rank = ir_is_scalar(type) ? !tensor->rank : !type->ranked || tensor->rank == type->count;
  return tensor->dtype == type->dtype && rank;
}

static bool check_argument(ir_run *run, const ir_func *func, size_t i, const ir_tensor *tensor) {
  const ir_type *type = func->params[i].type;
  if (fits(type, tensor)) return true;
  ir_text found = {0};
  ir_tensor_describe(&found, tensor);
  ir_error(run->program->module->context->diags, func->item.range, "parameter '%s' of @%s: expected %s, found %s", name_of(run, func, i),
           func->item.name->text, ir_type_text(&run->arena, type), found.at);
  ir_text_free(&found);
  return false;
}

/* The elements at an address that they may stand at. */
static void *aligned_data(ir_run *run, const ir_tensor *tensor) {
  size_t align = ir_dtypes[tensor->dtype].bits / 8;
  if (!align || (uintptr_t)tensor->data % align == 0) return tensor->data;
  return ir_arena_copy(&run->arena, tensor->data, tensor->size);
}

/* --- results --- */

static size_t rank_of(const ir_type *type) {
  if (type->kind == IR_TYPE_SHAPE) return 1;
  return ir_is_tensor(type) ? type->count : 0;
}

static bool returns_tensors(ir_run *run, const ir_func *func) {
  for (size_t i = 0; i < func->result_count; i++) {
    const ir_type *type = func->results[i];
    bool tensor = ir_is_tensor(type) || ir_is_scalar(type) || type->kind == IR_TYPE_SHAPE;
    bool known = !ir_is_tensor(type) || (type->ranked && ir_type_dtype(type) != IR_DTYPE_UNKNOWN);
    if (tensor && known) continue;
    ir_error(run->program->module->context->diags, func->item.range, "result %zu of @%s has type %s: only tensors%s come out of a run", i,
             func->item.name->text, ir_type_text(&run->arena, type), tensor ? " of known rank and dtype" : "");
    return false;
  }
  return true;
}

static bool wrap_results(const ir_func *func, const rill_tensor *outputs, ir_tensor **results) {
  bool fine = true;
  for (size_t i = 0; i < func->result_count; i++) {
    const ir_type *type = func->results[i];
    ir_dtype dtype = type->kind == IR_TYPE_SHAPE ? IR_I64 : ir_type_dtype(type);
    results[i] = ir_tensor_wrap(dtype, rank_of(type), outputs[i].dims, outputs[i].data, ir_pool_drop, outputs[i].data);
    if (!results[i]) ir_pool_drop(outputs[i].data);
    fine &= results[i] != NULL;
  }
  for (size_t i = 0; i < func->result_count && !fine; i++) {
    ir_tensor_release(results[i]);
    results[i] = NULL;
  }
  return fine;
}

static bool call(ir_run *run, ir_func *func, size_t count, ir_tensor *const *arguments, ir_tensor **results) {
  rill_tensor *inputs = ir_new_array(&run->arena, rill_tensor, count + 1);
  rill_tensor *outputs = ir_new_array(&run->arena, rill_tensor, func->result_count + 1);
  for (size_t i = 0; i < count; i++) {
    if (!check_argument(run, func, i, arguments[i])) return false;
    inputs[i] = (rill_tensor){aligned_data(run, arguments[i]), arguments[i]->dims};
  }
  for (size_t i = 0; i < func->result_count; i++) {
    outputs[i].dims = ir_new_array(&run->arena, int64_t, rank_of(func->results[i]) + 1);
  }
  rill_entry *entry;
  uintptr_t address = (uintptr_t)ir_map_get(&run->program->entries, func);
  memcpy(&entry, &address, sizeof entry);
  return !entry(&run->context, inputs, outputs) && wrap_results(func, outputs, results);
}

bool ir_llvm_run(ir_program *program, const char *entry, size_t count, ir_tensor *const *arguments, size_t result_count,
                 ir_tensor **results) {
  ir_context *context = program->module->context;
  ir_func *func = ir_item_func(ir_module_find(program->module, ir_intern(context, ir_slice_of(entry))));
  if (!func || !ir_map_has(&program->entries, func)) {
    ir_error_in(context->diags, "llvm", "no func '@%s' was compiled", entry);
    return false;
  }
  if (count != func->param_count || result_count != func->result_count) {
    ir_error(context->diags, func->item.range, "@%s takes %zu inputs and gives %zu results: called with %zu and %zu", entry,
             func->param_count, func->result_count, count, result_count);
    return false;
  }
  ir_run run = {.context = {take, give, fail, program->constants, program->threads ? parallel : NULL, launch, 0, &program->plans}, .program = program};
  start_measuring(program);
  bool fine = returns_tensors(&run, func) && call(&run, func, count, arguments, results);
  ir_arena_free(&run.arena);
  return fine;
}

/* --- the plugin --- */

static bool translate(ir_module *module, const ir_target_options *options, ir_text *out) {
  return emit_program_bytes(module, options, out);
}

const ir_plugin ir_plugin_llvm = {
    .version = IR_PLUGIN_VERSION,
    .name = "llvm",
    .forms = emit_forms,
    .translate = translate,
    .compile = ir_llvm_compile,
    .run = ir_llvm_run,
    .stats = stats,
    .free = ir_llvm_free,
};
