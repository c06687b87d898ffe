// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/target.c - triples, processors and what they can do. */
#include "targets/llvm/llvm.h"

#include <llvm-c/Target.h>

/* Vector registers that loops are written for, by architecture; on x86 the processor decides. */
static const struct {
  const char *prefix;
  unsigned bytes;
} widths[] = {{"x86_64", 32}, {"i386", 16}, {"i686", 16}, {"aarch64", 16}, {"arm64", 16}, {"riscv64", 16}, {"wasm32", 16}};

static bool narrow_x86(const emit_target *target) {
  static const char *const without_avx[] = {"", "generic", "x86-64", "x86-64-v2", "nehalem", "westmere", "core2", "silvermont"};
  if (*target->features) return !strstr(target->features, "+avx2");
  for (size_t i = 0; i < ir_count_of(without_avx); i++) {
    if (!strcmp(target->cpu, without_avx[i])) return true;
  }
  return false;
}

static unsigned vector_bytes(const emit_target *target) {
  for (size_t i = 0; i < ir_count_of(widths); i++) {
    if (strncmp(target->triple, widths[i].prefix, strlen(widths[i].prefix))) continue;
    bool x86 = i == 0;
    return x86 && narrow_x86(target) ? 16 : widths[i].bytes;
  }
  return 16;
}

static void initialize(bool all) {
  if (!all) {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    return;
  }
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
}

static const char *taken(ir_arena *arena, char *text) {
  const char *copy = ir_arena_copy(arena, text, strlen(text));
  LLVMDisposeMessage(text);
  return copy;
}

LLVMTargetMachineRef emit_target_machine(ir_diags *diags, const emit_target *target) {
  LLVMTargetRef found;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(target->triple, &found, &message)) {
    ir_error_in(diags, "llvm", "unknown target triple '%s': %s", target->triple, message);
    LLVMDisposeMessage(message);
    return NULL;
  }
  LLVMTargetMachineOptionsRef options = LLVMCreateTargetMachineOptions();
  LLVMTargetMachineOptionsSetCPU(options, target->cpu);
  LLVMTargetMachineOptionsSetFeatures(options, target->features);
  LLVMTargetMachineOptionsSetCodeGenOptLevel(options, LLVMCodeGenLevelDefault);
  LLVMTargetMachineOptionsSetRelocMode(options, LLVMRelocPIC);
  LLVMTargetMachineOptionsSetCodeModel(options, LLVMCodeModelDefault);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachineWithOptions(found, target->triple, options);
  LLVMDisposeTargetMachineOptions(options);
  if (!machine) ir_error_in(diags, "llvm", "no code can be made for '%s', cpu '%s'", target->triple, target->cpu);
  return machine;
}

bool emit_target_find(ir_diags *diags, ir_arena *arena, const char *triple, const char *cpu, emit_target *target) {
  bool native = cpu && !strcmp(cpu, "native");
  initialize(triple != NULL);
  *target = (emit_target){.triple = triple, .cpu = cpu ? cpu : "", .features = ""};
  target->triple = triple ? triple : taken(arena, LLVMGetDefaultTargetTriple());
  if (native) {
    target->cpu = taken(arena, LLVMGetHostCPUName());
    target->features = taken(arena, LLVMGetHostCPUFeatures());
  }
  LLVMTargetMachineRef machine = emit_target_machine(diags, target);
  if (!machine) return false;
  LLVMTargetDataRef data = LLVMCreateTargetDataLayout(machine);
  target->layout = LLVMCopyStringRepOfTargetData(data);
  LLVMDisposeTargetData(data);
  LLVMDisposeTargetMachine(machine);
  target->vector_bytes = vector_bytes(target);
  return true;
}

void emit_target_free(emit_target *target) {
  if (target->layout) LLVMDisposeMessage(target->layout);
  target->layout = NULL;
}
