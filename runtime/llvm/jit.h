// SPDX-License-Identifier: Apache-2.0
/* A module compiled for this machine and loaded into this process. */
#ifndef RILL_RUNTIME_LLVM_JIT_H
#define RILL_RUNTIME_LLVM_JIT_H

#include "../../targets/llvm/abi.h"
#include "../../targets/llvm/program.h"
#include "../plugin.h"
#include "../threads.h"

#include <llvm-c/LLJIT.h>

/* Memory of programs: blocks that were given back are kept for the next run. */
typedef struct ir_block ir_block;
typedef struct ir_pool {
  ir_block *free;
  size_t kept; /* bytes in it */
  size_t used, peak; /* bytes handed out, and the most since somebody set it */
} ir_pool;

/* Aligned to 64; NULL where there is none. */
void *ir_pool_take(ir_pool *pool, size_t bytes);
void ir_pool_give(ir_pool *pool, void *memory); /* takes NULL */
void ir_pool_empty(ir_pool *pool);
/* Frees memory that came from any pool. */
void ir_pool_drop(void *memory);

struct ir_program {
  ir_arena arena;
  ir_module *module;
  emit_program emitted;
  LLVMOrcLLJITRef jit;
  const void **constants;
  ir_map entries; /* ir_func -> address */
  ir_pool pool;
  rill_plans plans;
  ir_threads *threads; /* NULL: the caller alone */
  ir_recorder launches; /* of the last run */
  uint64_t max_bytes; /* 0: no limit */
};

/* --- objects on disk (cache.c) --- */
/* Everything that the code of PROGRAM, made in so many units, depends on. */
void ir_cache_key(const ir_program *program, size_t units, ir_text *key);
/* The objects that FOLDER has for KEY; 0 where it has none. */
size_t ir_cache_read(const char *folder, const ir_text *key, LLVMMemoryBufferRef *objects, size_t most);
void ir_cache_write(ir_diags *diags, const char *folder, const ir_text *key, LLVMMemoryBufferRef const *objects, size_t count);

ir_program *ir_llvm_compile(ir_module *module, const ir_target_options *options);
bool ir_llvm_run(ir_program *program, const char *entry, size_t count, ir_tensor *const *arguments, size_t result_count,
                 ir_tensor **results);
void ir_llvm_free(ir_program *program);

#endif
