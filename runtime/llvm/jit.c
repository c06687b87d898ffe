// SPDX-License-Identifier: Apache-2.0
/* runtime/llvm/jit.c - from a lowered module to code in this process: emitted on this thread, then optimized and made into
 * objects on several, each with an LLVM context of its own, then loaded. */
#include "runtime/llvm/jit.h"

#include "runtime/llvm/support/support.h"

#include <math.h>
#include <pthread.h>

/* --- optimizing and code generation: one job a unit --- */

typedef struct compile_job {
  emit_unit *unit;
  LLVMMemoryBufferRef object;
  char *error; /* of LLVM; NULL: none */
} compile_job;

static void compile_unit(compile_job *job) { job->object = emit_code(job->unit, EMIT_OBJECT, &job->error); }

static void *compile_thread(void *job) {
  compile_unit(job);
  return NULL;
}

/* The first job runs here. */
static void compile_all(compile_job *jobs, size_t count) {
  pthread_t threads[16];
  bool started[16] = {false};
  for (size_t i = 1; i < count; i++) {
    started[i] = !pthread_create(&threads[i], NULL, compile_thread, &jobs[i]);
  }
  compile_unit(&jobs[0]);
  for (size_t i = 1; i < count; i++) {
    if (started[i]) {
      pthread_join(threads[i], NULL);
    } else {
      compile_unit(&jobs[i]);
    }
  }
}

/* --- loading --- */

/* Functions that LLVM calls where the processor has no instruction. Code finds these and nothing else. */
#define ADDRESS(function) {#function, (uintptr_t)(void (*)(void))function}
static const struct {
  const char *name;
  uintptr_t address;
} library[] = {
    ADDRESS(memcpy), ADDRESS(memset),  ADDRESS(memmove), ADDRESS(fmodf), ADDRESS(fmod),   ADDRESS(fmaf),
    ADDRESS(fma),    ADDRESS(floorf),  ADDRESS(floor),   ADDRESS(ceilf), ADDRESS(ceil),   ADDRESS(truncf),
    ADDRESS(rill_support_pack), ADDRESS(rill_support_allocate),
    ADDRESS(trunc),  ADDRESS(rintf),   ADDRESS(rint),    ADDRESS(sqrtf), ADDRESS(sqrt),
};

static LLVMErrorRef define_library(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef dylib) {
  LLVMOrcCSymbolMapPair pairs[ir_count_of(library)];
  for (size_t i = 0; i < ir_count_of(library); i++) {
    const LLVMJITSymbolFlags flags = {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    pairs[i] = (LLVMOrcCSymbolMapPair){LLVMOrcLLJITMangleAndIntern(jit, library[i].name), {library[i].address, flags}};
  }
  LLVMOrcMaterializationUnitRef symbols = LLVMOrcAbsoluteSymbols(pairs, ir_count_of(library));
  LLVMErrorRef error = LLVMOrcJITDylibDefine(dylib, symbols);
  if (error) LLVMOrcDisposeMaterializationUnit(symbols);
  return error;
}

/* Takes the objects over. */
static char *load(ir_program *program, LLVMMemoryBufferRef *objects, size_t count) {
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&program->jit, NULL);
  size_t taken = 0;
  LLVMOrcJITDylibRef dylib = error ? NULL : LLVMOrcLLJITGetMainJITDylib(program->jit);
  if (!error) error = define_library(program->jit, dylib);
  while (taken < count && !error) error = LLVMOrcLLJITAddObjectFile(program->jit, dylib, objects[taken++]);
  for (size_t i = taken; i < count; i++) LLVMDisposeMemoryBuffer(objects[i]);
  for (size_t i = 0; i < program->emitted.hosts.count && !error; i++) {
    ir_func *func = program->emitted.hosts.at[i];
    LLVMOrcExecutorAddress address = 0;
    error = LLVMOrcLLJITLookup(program->jit, &address, emit_host_name(&program->arena, func));
    if (!error) ir_map_put(&program->arena, &program->entries, func, (void *)(uintptr_t)address);
  }
  return emit_error_text(error);
}

/* --- constants --- */

static void gather_constants(ir_program *program) {
  program->constants = ir_new_array(&program->arena, const void *, program->emitted.constants.count);
  for (size_t i = 0; i < program->emitted.constants.count; i++) {
    const ir_data *data = &program->emitted.constants.at[i];
    /* Elements of mapped files may stand anywhere. */
    bool aligned = (uintptr_t)data->bytes % emit_size(data->dtype) == 0;
    program->constants[i] = aligned ? data->bytes : ir_arena_copy(&program->arena, data->bytes, data->size);
  }
}

/* --- all of it --- */

static bool report(ir_program *program, char *error) {
  if (!error) return true;
  ir_error_in(program->module->context->diags, "llvm", "%s", error);
  LLVMDisposeMessage(error);
  return false;
}

enum { MOST_OBJECTS = 16 };

/* Emits and compiles; OBJECTS are to be disposed. 0 after a report. */
static size_t make_objects(ir_program *program, size_t threads, LLVMMemoryBufferRef *objects) {
  emit_unit *units[MOST_OBJECTS];
  compile_job jobs[MOST_OBJECTS] = {0};
  size_t made = 0;
  bool fine = emit_program_units(&program->emitted, threads, false, units, &made);
  for (size_t i = 0; i < made; i++) jobs[i] = (compile_job){.unit = units[i]};
  if (fine) compile_all(jobs, made);
  for (size_t i = 0; i < made; i++) {
    if (fine && !jobs[i].object && !jobs[i].error) ir_error_in(program->module->context->diags, "llvm", "no code was made for this machine");
    fine = fine && report(program, jobs[i].error) && jobs[i].object;
    objects[i] = jobs[i].object;
    emit_unit_free(units[i]);
  }
  for (size_t i = 0; i < made && !fine; i++) {
    if (objects[i]) LLVMDisposeMemoryBuffer(objects[i]);
  }
  return fine ? made : 0;
}

static size_t find_objects(ir_program *program, size_t threads, const char *cache, LLVMMemoryBufferRef *objects) {
  if (!cache) return make_objects(program, threads, objects);
  ir_text key = {0};
  ir_cache_key(program, threads, &key);
  size_t count = ir_cache_read(cache, &key, objects, MOST_OBJECTS);
  if (!count && (count = make_objects(program, threads, objects))) {
    ir_cache_write(program->module->context->diags, cache, &key, objects, count);
  }
  ir_text_free(&key);
  return count;
}

static bool build(ir_program *program, size_t threads, const char *cache) {
  LLVMMemoryBufferRef objects[MOST_OBJECTS];
  size_t count = find_objects(program, threads, cache, objects);
  if (!count) return false;
  gather_constants(program);
  return report(program, load(program, objects, count));
}

ir_program *ir_llvm_compile(ir_module *module, const ir_target_options *options) {
  ir_program *program = ir_heap_alloc(sizeof *program);
  *program = (ir_program){.module = module, .max_bytes = options->max_bytes};
  program->emitted = (emit_program){.module = module, .arena = &program->arena, .checked = options->checked, .measured = options->measured};
  size_t threads = options->threads ? options->threads : 2;
  bool fine = emit_target_find(module->context->diags, &program->arena, options->triple, options->cpu ? options->cpu : "native",
                               &program->emitted.target) &&
              emit_program_plan(&program->emitted, false) && build(program, threads, options->cache);
  if (fine && options->run_threads != 1) program->threads = ir_threads_new(options->run_threads);
  if (fine) return program;
  ir_llvm_free(program);
  return NULL;
}

void ir_llvm_free(ir_program *program) {
  if (!program) return;
  if (program->jit) LLVMConsumeError(LLVMOrcDisposeLLJIT(program->jit));
  ir_threads_free(program->threads);
  ir_recorder_reset(&program->launches);
  ir_pool_empty(&program->pool);
  emit_target_free(&program->emitted.target);
  ir_arena_free(&program->arena);
  ir_heap_free(program);
}
