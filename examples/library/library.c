// SPDX-License-Identifier: Apache-2.0
/* A program that works on modules with the library: reads one from standard input, checks it, and prints it. With Rill installed
 * in PREFIX:
 *
 *   cc -std=c11 -IPREFIX/include library.c -LPREFIX/lib -lrill -lm -o library
 *   ./library <m.rill
 */
#include <rill/ir/print.h>
#include <rill/ir/verify.h>
#include <rill/parser/parser.h>

#include <stdio.h>

int main(void) {
  static char text[1 << 16];
  size_t length = fread(text, 1, sizeof text, stdin);
  ir_diags *diags = ir_diags_new();
  ir_context *context = ir_context_new(diags);
  const ir_source *source = ir_source_add(diags, "<stdin>", text, length, 1);
  ir_module *module = source ? ir_parse(context, source, NULL) : NULL;
  int status = !module || !ir_verify_module(module);
  if (!status) {
    ir_text out = {0};
    ir_print_module(&out, module, NULL);
    fwrite(out.at, 1, out.length, stdout);
    ir_text_free(&out);
  }
  ir_diags_flush(diags); /* messages go to standard error */
  ir_context_free(context);
  ir_diags_free(diags);
  return status;
}
