// SPDX-License-Identifier: Apache-2.0
/* A program that runs a model which `ir-translate` has made a shared library of. For any model whose function @main takes one
 * f32 tensor and gives one; here the classifier that the README's commands make:
 *
 *   ir-translate --import-onnx model.onnx -o model.rill
 *   ir-translate --to-llvm --opt --cpu=native --emit=so model.rill -o libmodel.so
 *   ir-translate --to-llvm --emit=header model.rill -o model.h
 *   cc embed.c -I. -L. -lmodel -Wl,-rpath,'$ORIGIN' -o embed
 *   ./embed 1 3 48 96 <input.raw >output.raw
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

static void say(void *user, int code, const char *message) {
  (void)user;
  fprintf(stderr, "embed: error %d: %s\n", code, message);
}

int main(int argc, char **argv) {
  int64_t in_shape[8], out_shape[8];
  size_t count = 1;
  for (int i = 1; i < argc && i <= 8; i++) count *= (size_t)(in_shape[i - 1] = atoll(argv[i]));
  float *elements = malloc(count * sizeof *elements + 1);
  if (fread(elements, sizeof *elements, count, stdin) != count) return fputs("embed: too little input\n", stderr), 1;

  const rill_env env = {RILL_ENV_VERSION, NULL, NULL, NULL, NULL, say};
  DLTensor in = {elements, {1, 0}, argc - 1, {2, 32, 1}, in_shape, NULL, 0};
  DLTensor out = {NULL, {1, 0}, rill_main_OUTPUT_0_RANK, {2, 32, 1}, out_shape, NULL, 0};
  DLTensor *inputs[] = {&in}, *outputs[] = {&out};
  rill_model *model;
  if (rill_main_open(&env, NULL, &model) || rill_main(model, inputs, outputs)) return 1;

  size_t size = 1;
  for (int i = 0; i < out.ndim; i++) size *= (size_t)out_shape[i];
  fwrite(out.data, sizeof(float), size, stdout);
  free(out.data);
  rill_main_close(model);
  free(elements);
  return 0;
}
