// SPDX-License-Identifier: Apache-2.0
/* targets/cpu.c - the table of processors. */
#include "targets/cpu.h"

#include <string.h>

const ir_cpu ir_cpus[] = {
#define CPU(...) {__VA_ARGS__},
#include "targets/cpu.def"
#undef CPU
    {NULL, NULL, NULL, NULL, 0, 0, false, NULL},
};

static bool is_of(const ir_cpu *cpu, const char *triple) { return !triple || !strncmp(triple, cpu->arch, strlen(cpu->arch)); }

static const ir_cpu *unknown(ir_diags *diags, const char *where, const char *name) {
  ir_nearest nearest = {.wanted = ir_slice_of(name)};
  ir_text all = {0};
  for (const ir_cpu *cpu = ir_cpus; cpu->name; cpu++) {
    ir_nearest_offer(&nearest, ir_slice_of(cpu->name));
    ir_text_printf(&all, "%s%s", all.length ? ", " : "", cpu->name);
  }
  ir_nearest_offer(&nearest, ir_lit("native"));
  if (nearest.best.at) {
    ir_error_in(diags, where, "unknown processor '%s'; did you mean '%.*s'?", name, (int)nearest.best.length, nearest.best.at);
  } else {
    ir_error_in(diags, where, "unknown processor '%s': there are native, %s", name, all.at);
  }
  ir_text_free(&all);
  return NULL;
}

const ir_cpu *ir_cpu_find(ir_diags *diags, const char *where, const char *name, const char *triple) {
  for (const ir_cpu *cpu = ir_cpus; cpu->name; cpu++) {
    if (name ? strcmp(cpu->name, name) != 0 : !is_of(cpu, triple)) continue;
    if (is_of(cpu, triple)) return cpu;
    ir_error_in(diags, where, "processor '%s' is %s, the triple is '%s'", name, cpu->arch, triple);
    return NULL;
  }
  if (name) return unknown(diags, where, name);
  ir_error_in(diags, where, "unknown target triple '%s': x86_64, aarch64, riscv64 and wasm32 are known", triple);
  return NULL;
}

bool ir_cpu_check(ir_diags *diags, const char *where, const char *name, const char *triple) {
  bool native = name && !strcmp(name, "native");
  if (!native) return ir_cpu_find(diags, where, name, triple) != NULL;
  if (triple) ir_error_in(diags, where, "processor 'native' is this machine's: no triple goes with it");
  return !triple;
}
