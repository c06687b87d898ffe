// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/plugin.c - the backend's interface: text of a whole module, and code for this process. An object is made
 * once, in memory, and linked by LLJIT. */
#include "runtime/plugin.h"

#include "ir/print.h"
#include "runtime/tensor.h"
#include "targets/llvm/abi.h"
#include "targets/llvm/host.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdlib.h>

/* --- emitting a module --- */
struct kernels {
  ir_arena *arena;
  ir_map by_func;  /* ir_func -> emit_kernel */
  ir_map by_text;  /* interned text without the name -> emit_kernel */
  size_t defined;
};

/* The text of a prim_func under a name that all share: equal kernels are compiled once. */
static const ir_string *text_of(ir_func *func) {
  ir_context *context = ir_func_context(func);
  const ir_string *name = func->item.name;
  ir_text text = {0};
  func->item.name = ir_intern(context, ir_lit("_"));
  ir_print_item(&text, &func->item, NULL);
  func->item.name = name;
  const ir_string *key = ir_intern(context, (ir_slice){text.at, text.length});
  ir_text_free(&text);
  return key;
}

static bool define_kernel(emit_unit *const *units, size_t unit_count, struct kernels *k, ir_func *func) {
  const ir_string *key = text_of(func);
  void **slot = ir_map_slot(k->arena, &k->by_text, key);
  emit_kernel *kernel = *slot;
  bool fine = true;
  if (!kernel) {
    kernel = *slot = ir_new(k->arena, emit_kernel);
    const char *name = ir_arena_printf(k->arena, "kernel_%s", emit_mangled(k->arena, func->item.name));
    emit_unit *unit = units[k->defined++ % unit_count];
    emit_kernel_prepare(k->arena, func, name, kernel);
    fine = emit_check_prim(func);
    if (fine) emit_kernel_declare(unit, kernel);
    fine = fine && emit_kernel_define(unit, kernel);
  }
  ir_map_put(k->arena, &k->by_func, func, kernel);
  return fine;
}

/* Kernels go to the units in turn, graph functions to the first, which alone speaks of constants. */
static bool emit_all(emit_unit *const *units, size_t count, ir_arena *arena) {
  struct kernels kernels = {.arena = arena};
  ir_module *source = units[0]->source;
  bool fine = true;
  ir_each_body(prim, source) {
    if (fine && prim->item.kind == IR_ITEM_PRIM_FUNC) fine = define_kernel(units, count, &kernels, prim);
  }
  ir_each_body(func, source) {
    if (fine && func->item.kind == IR_ITEM_FUNC) fine = emit_host_function(units[0], &kernels.by_func, func);
  }
  for (size_t i = 0; i < count && fine; i++) fine = emit_unit_verify(units[i]);
  return fine;
}

static bool translate(ir_module *module, const ir_target_options *options, ir_text *out) {
  ir_arena arena = {0};
  emit_target target;
  const char *cpu = options->cpu ? options->cpu : options->triple ? NULL : "x86-64-v3";
  const char *triple = options->triple ? options->triple : "x86_64-unknown-linux-gnu";
  bool fine = emit_target_find(module->context->diags, &arena, triple, cpu, &target);
  if (fine) {
    emit_unit *unit = emit_unit_new(module, &arena, &target, "rill");
    unit->whole = true;
    unit->checked = options->checked;
    fine = emit_all(&unit, 1, &arena);
    if (fine) {
      char *text = LLVMPrintModuleToString(unit->module);
      ir_text_put(out, text);
      LLVMDisposeMessage(text);
    }
    emit_unit_free(unit);
    emit_target_free(&target);
  }
  ir_arena_free(&arena);
  return fine;
}

/* --- code for this process --- */
struct ir_program {
  ir_module *module;
  ir_arena arena;
  LLVMOrcLLJITRef jit;
  const void **constants;
};

static bool orc_failed(ir_diags *diags, LLVMErrorRef error, const char *what) {
  if (!error) return false;
  char *message = LLVMGetErrorMessage(error);
  ir_error_in(diags, "llvm", "%s: %s", what, message);
  LLVMDisposeErrorMessage(message);
  return true;
}

static void program_free(ir_program *program) {
  if (!program) return;
  if (program->jit) LLVMConsumeError(LLVMOrcDisposeLLJIT(program->jit));
  ir_arena_free(&program->arena);
  ir_heap_free(program);
}

/* One unit on its way to an object. Emission interns in the context and so is done by one thread; what follows touches
 * nothing but its own unit, and may be done by several. */
struct task {
  emit_unit *unit;
  LLVMTargetMachineRef machine;
  LLVMMemoryBufferRef object;
  char *message; /* what went wrong */
  pthread_t thread;
  bool started;
};

static void *make_object(void *user) {
  struct task *task = user;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(task->unit->module, "default<O2>", task->machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (error) {
    char *message = LLVMGetErrorMessage(error);
    task->message = LLVMCreateMessage(message);
    LLVMDisposeErrorMessage(message);
    return NULL;
  }
  LLVMTargetMachineEmitToMemoryBuffer(task->machine, task->unit->module, LLVMObjectFile, &task->message, &task->object);
  return NULL;
}

/* Functions of libm that exact operators come down to (fmod, rint where the processor has none) are those of this process. */
static bool open_jit(ir_program *program) {
  ir_diags *diags = program->module->context->diags;
  if (orc_failed(diags, LLVMOrcCreateLLJIT(&program->jit, NULL), "no JIT")) return false;
  LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(program->jit);
  LLVMOrcDefinitionGeneratorRef process;
  LLVMErrorRef error = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(program->jit), NULL, NULL);
  if (orc_failed(diags, error, "no symbols of the process")) return false;
  LLVMOrcJITDylibAddGenerator(library, process);
  return true;
}

static bool link_object(ir_program *program, struct task *task) {
  ir_diags *diags = program->module->context->diags;
  if (!task->object) {
    ir_error_in(diags, "llvm", "no object: %s", task->message ? task->message : "no reason given");
    return false;
  }
  LLVMMemoryBufferRef object = task->object;
  task->object = NULL;
  return !orc_failed(diags, LLVMOrcLLJITAddObjectFile(program->jit, LLVMOrcLLJITGetMainJITDylib(program->jit), object), "linking");
}

enum { MOST_UNITS = 8 };

static bool build(ir_program *program, emit_unit *const *units, size_t count, const emit_target *target) {
  ir_diags *diags = program->module->context->diags;
  struct task tasks[MOST_UNITS] = {{0}};
  if (!emit_all(units, count, &program->arena)) return false;
  bool fine = true;
  for (size_t i = 0; i < count && fine; i++) {
    tasks[i].unit = units[i];
    tasks[i].machine = emit_target_machine(diags, target);
    fine = tasks[i].machine != NULL;
  }
  for (size_t i = 1; i < count && fine; i++) tasks[i].started = !pthread_create(&tasks[i].thread, NULL, make_object, &tasks[i]);
  for (size_t i = 0; i < count && fine; i++) {
    if (!tasks[i].started) make_object(&tasks[i]);
  }
  for (size_t i = 1; i < count; i++) {
    if (tasks[i].started) pthread_join(tasks[i].thread, NULL);
  }
  emit_unit *first = units[0];
  program->constants = ir_new_array(&program->arena, const void *, first->constants.count + 1);
  for (size_t i = 0; i < first->constants.count; i++) program->constants[i] = first->constants.at[i].bytes;
  fine = fine && open_jit(program);
  for (size_t i = 0; i < count; i++) {
    fine = fine && link_object(program, &tasks[i]);
    if (tasks[i].object) LLVMDisposeMemoryBuffer(tasks[i].object);
    if (tasks[i].message) LLVMDisposeMessage(tasks[i].message);
    if (tasks[i].machine) LLVMDisposeTargetMachine(tasks[i].machine);
  }
  return fine;
}

static ir_program *compile(ir_module *module, const ir_target_options *options) {
  ir_program *program = ir_heap_alloc(sizeof *program);
  *program = (ir_program){.module = module};
  emit_target target;
  if (!emit_target_find(module->context->diags, &program->arena, options->triple, "native", &target)) {
    program_free(program);
    return NULL;
  }
  emit_unit *units[MOST_UNITS];
  size_t count = options->threads ? options->threads : 2;
  if (count > MOST_UNITS) count = MOST_UNITS;
  for (size_t i = 0; i < count; i++) {
    units[i] = emit_unit_new(module, &program->arena, &target, "rill");
    units[i]->checked = options->checked;
  }
  bool fine = build(program, units, count, &target);
  for (size_t i = 0; i < count; i++) emit_unit_free(units[i]);
  emit_target_free(&target);
  if (fine) return program;
  program_free(program);
  return NULL;
}

/* --- running --- */
struct running {
  rill_context base;
  ir_diags *diags;
};

static void *allocate(rill_context *context, int64_t bytes) {
  void *memory = bytes >= 0 ? aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63) : NULL;
  if (!memory) ir_error_in(((struct running *)context)->diags, "llvm", "no memory for %lld bytes", (long long)bytes);
  return memory;
}

static void release(rill_context *context, void *memory) {
  (void)context;
  free(memory);
}

static void fail(rill_context *context, const rill_failure *failure, const int64_t *values) {
  ir_text text = {0};
  ir_text_put(&text, "");
  for (const char *at = failure->text; *at; at++) {
    bool place = at[0] == '{' && at[1] >= '0' && at[1] <= '9' && at[2] == '}';
    if (place) ir_text_printf(&text, "%lld", (long long)values[at[1] - '0']);
    if (!place) ir_text_char(&text, *at);
    if (place) at += 2;
  }
  ir_diags *diags = ((struct running *)context)->diags;
  if (failure->begin) {
    ir_error(diags, (ir_range){failure->begin, failure->end}, "%s", text.at);
  } else if (*failure->where) {
    ir_error_in(diags, failure->where, "%s", text.at);
  } else {
    ir_error_in(diags, "llvm", "%s", text.at);
  }
  ir_text_free(&text);
}

static void free_data(void *memory) { free(memory); }

static bool check_argument(ir_program *program, const ir_param *param, const ir_tensor *tensor) {
  const ir_type *type = param->type;
  bool shape = type->kind == IR_TYPE_SHAPE;
  bool simple = shape || ir_is_scalar(type) || (ir_is_tensor(type) && type->ranked && type->dtype != IR_DTYPE_UNKNOWN);
  ir_text text = {0};
  ir_tensor_describe(&text, tensor);
  const char *name = param->name ? param->name->text : "?", *wanted = ir_type_text(&program->arena, type);
  bool fits = simple && tensor->dtype == (shape ? IR_I64 : type->dtype) && tensor->rank == (shape ? 1 : type->count);
  if (!simple) ir_error_in(program->module->context->diags, "llvm", "not implemented: parameter '%s' of type %s", name, wanted);
  if (simple && !fits) ir_error_in(program->module->context->diags, "llvm", "parameter '%s' is %s, expected %s", name, text.at, wanted);
  ir_text_free(&text);
  return fits;
}

static bool check_result(ir_program *program, const ir_type *type) {
  if (ir_is_scalar(type) || (ir_is_tensor(type) && type->ranked && type->dtype != IR_DTYPE_UNKNOWN)) return true;
  ir_error_in(program->module->context->diags, "llvm", "not implemented: a result of type %s", ir_type_text(&program->arena, type));
  return false;
}

static bool run(ir_program *program, const char *entry, size_t count, ir_tensor *const *arguments, size_t result_count, ir_tensor **results) {
  enum { MOST_RANK = 64 };
  ir_context *context = program->module->context;
  ir_diags *diags = context->diags;
  ir_func *func = ir_item_func(ir_module_find(program->module, ir_intern(context, ir_slice_of(entry))));
  if (!func || func->item.kind != IR_ITEM_FUNC || func->param_count != count || func->result_count != result_count) {
    ir_error_in(diags, "llvm", "no function '@%s' of %zu parameters and %zu results", entry, count, result_count);
    return false;
  }
  ir_arena arena = {0};
  rill_tensor *inputs = ir_new_array(&arena, rill_tensor, count + 1), *outputs = ir_new_array(&arena, rill_tensor, result_count + 1);
  bool fine = true;
  for (size_t i = 0; i < count && fine; i++) {
    fine = check_argument(program, &func->params[i], arguments[i]);
    inputs[i] = (rill_tensor){arguments[i]->data, arguments[i]->dims};
  }
  for (size_t i = 0; i < result_count && fine; i++) {
    fine = check_result(program, func->results[i]);
    outputs[i].dims = ir_new_array(&arena, int64_t, MOST_RANK);
  }
  LLVMOrcExecutorAddress address = 0;
  const char *symbol = emit_host_name(&arena, func);
  fine = fine && !orc_failed(diags, LLVMOrcLLJITLookup(program->jit, &address, symbol), symbol);
  struct running running = {{allocate, release, fail, program->constants}, diags};
  fine = fine && !((rill_entry *)(uintptr_t)address)(&running.base, inputs, outputs);
  for (size_t i = 0; i < result_count && fine; i++) {
    const ir_type *type = func->results[i];
    results[i] = ir_tensor_wrap(ir_type_dtype(type), type->count, outputs[i].dims, outputs[i].data, free_data, outputs[i].data);
  }
  ir_arena_free(&arena);
  return fine;
}

extern const ir_plugin ir_plugin_llvm;
const ir_plugin ir_plugin_llvm = {
    .version = IR_PLUGIN_VERSION, .name = "llvm", .translate = translate, .compile = compile, .run = run, .free = program_free};
