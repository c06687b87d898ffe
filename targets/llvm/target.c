// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/target.c - triples, processors and what they can do. */
#include "targets/cpu.h"
#include "targets/llvm/llvm.h"

#include <llvm-c/Target.h>

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

/* What this machine's features mean for loops. Without AVX-512: LLVM 19 makes of select(c, (x & m) | (z & ~m), x), which is what
 * a copied sign under a condition looks like, a masked vpternlog whose operands are in the wrong places. */
static void find_native(ir_arena *arena, emit_target *target) {
  target->triple = taken(arena, LLVMGetDefaultTargetTriple());
  target->cpu = taken(arena, LLVMGetHostCPUName());
  const char *features = taken(arena, LLVMGetHostCPUFeatures());
  bool avx2 = strstr(features, "+avx2"), avx512 = strstr(features, "+avx512f");
  target->features = avx512 ? ir_arena_printf(arena, "%s,-avx512f", features) : features;
  target->vector_bytes = avx2 ? 32 : 16;
  target->masks = avx2;
  target->halves = strncmp(target->triple, "x86", 3) != 0 || strstr(target->features, "+f16c");
}

static bool find_described(ir_diags *diags, ir_arena *arena, const char *triple, const char *name, emit_target *target) {
  const ir_cpu *cpu = ir_cpu_find(diags, "llvm", name, triple);
  if (!cpu) return false;
  bool system = strcmp(cpu->arch, "wasm32") != 0;
  target->triple = triple ? triple : ir_arena_printf(arena, system ? "%s-unknown-linux-gnu" : "%s-unknown-unknown", cpu->arch);
  target->cpu = cpu->llvm_cpu;
  target->features = cpu->features;
  target->vector_bytes = cpu->vector_bytes;
  target->masks = cpu->masks > 0;
  target->halves = cpu->halves;
  target->all_masks = cpu->masks > 1;
  return true;
}

bool emit_target_find(ir_diags *diags, ir_arena *arena, const char *triple, const char *cpu, emit_target *target) {
  bool native = cpu && !strcmp(cpu, "native");
  initialize(!native);
  *target = (emit_target){0};
  if (!ir_cpu_check(diags, "llvm", cpu, triple)) return false;
  if (native) find_native(arena, target);
  if (!native && !find_described(diags, arena, triple, cpu, target)) return false;
  LLVMTargetMachineRef machine = emit_target_machine(diags, target);
  if (!machine) return false;
  LLVMTargetDataRef data = LLVMCreateTargetDataLayout(machine);
  target->layout = LLVMCopyStringRepOfTargetData(data);
  LLVMDisposeTargetData(data);
  LLVMDisposeTargetMachine(machine);
  return true;
}

void emit_target_free(emit_target *target) {
  if (target->layout) LLVMDisposeMessage(target->layout);
  target->layout = NULL;
}
