// SPDX-License-Identifier: Apache-2.0
/* tools/ir-run/stats.c - what a run did, as lines or as JSON. Needs jansson. */
#include "tools/ir-run/run.h"

#include <jansson.h>
#include <stdio.h>

ir_run_stats ir_run_keep_stats(ir_tool *tool, ir_run_stats stats) {
  ir_kernel_stats *kernels = ir_new_array(&tool->arena, ir_kernel_stats, stats.kernel_count + 1);
  for (size_t i = 0; i < stats.kernel_count; i++) {
    kernels[i] = stats.kernels[i];
    kernels[i].name = ir_arena_copy(&tool->arena, kernels[i].name, strlen(kernels[i].name));
  }
  stats.kernels = kernels;
  return stats;
}

static void print_text(const ir_run_stats *s, double compile_seconds, double run_seconds) {
  printf("launches: %llu\nbytes_moved: %llu\npeak_bytes: %llu\n", (unsigned long long)s->launches, (unsigned long long)s->bytes_moved,
         (unsigned long long)s->peak_bytes);
  printf("compile_seconds: %.6f\nrun_seconds: %.6f\n", compile_seconds, run_seconds);
  for (size_t i = 0; i < s->kernel_count; i++) {
    const ir_kernel_stats *k = &s->kernels[i];
    printf("kernel %s: launches %llu, bytes_moved %llu, seconds %.9f\n", k->name, (unsigned long long)k->launches,
           (unsigned long long)k->bytes_moved, k->seconds);
  }
}

static json_t *number(uint64_t value) { return json_integer((json_int_t)value); }

static void print_json(const ir_run_stats *s, double compile_seconds, double run_seconds) {
  json_t *kernels = json_array();
  for (size_t i = 0; i < s->kernel_count; i++) {
    const ir_kernel_stats *k = &s->kernels[i];
    json_t *name = json_string(k->name);
    if (!name) name = json_string("?"); /* not UTF-8 */
    json_array_append_new(kernels, json_pack("{s:o, s:o, s:o, s:f}", "name", name, "launches", number(k->launches), "bytes_moved",
                                             number(k->bytes_moved), "seconds", k->seconds));
  }
  json_t *all = json_pack("{s:o, s:o, s:o, s:f, s:f, s:o}", "launches", number(s->launches), "bytes_moved", number(s->bytes_moved),
                          "peak_bytes", number(s->peak_bytes), "compile_seconds", compile_seconds, "run_seconds", run_seconds,
                          "kernels", kernels);
  json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(all);
}

void ir_run_print_stats(const ir_run_stats *stats, double compile_seconds, double run_seconds, bool json) {
  (json ? print_json : print_text)(stats, compile_seconds, run_seconds);
}
