// SPDX-License-Identifier: Apache-2.0
/* ir/ops: the example of every row is sound text, and its written types are those that inference gives. */
#include "check_diags.h"
#include "ir/infer.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "parser/parser.h"

static const struct {
  const char *params, *statements, *check;
} examples[IR_OP_COUNT] = {
#define EXAMPLE(...) {__VA_ARGS__}
#define OP(ID, name, doc, ir, lower, grad, example) [IR_##ID] = example,
#include "ir/ops/all.def"
#undef OP
};

static ir_diags *diags;

/* The name of the first result. */
static ir_slice first_result(const char *statements) { return (ir_slice){statements, strcspn(statements, ", =")}; }

static void test_example(ir_opcode code) {
  ir_context *context = ir_context_new(diags);
  ir_text text = {0};
  ir_slice result = first_result(examples[code].statements);
  ir_text_printf(&text, "rill 1\nmodule {\n  func @main(%s) -> any {\n    %s\n    return %.*s\n  }\n}\n", examples[code].params,
                 examples[code].statements, (int)result.length, result.at);
  const ir_source *source = ir_source_add(diags, ir_op_defs[code].name, text.at, text.length, 1);
  ir_module *module = ir_parse(context, source, NULL);
  CHECK(module && ir_verify_module(module));
  CHECK_DIAGS(diags, "");
  ir_op *op = module ? ((ir_func *)module->first)->body->first : NULL;
  while (op && op->code != code) op = op->next;
  CHECK(op != NULL);
  CHECK(*examples[code].check != '\0');
  ir_module_free(module);
  ir_context_free(context);
  ir_text_free(&text);
}

int main(void) {
  diags = ir_diags_new();
  for (int code = 0; code < IR_OP_COUNT; code++) {
    if (examples[code].statements) test_example((ir_opcode)code);
    CHECK(examples[code].statements || ir_op_defs[code].numerics == IR_STRUCTURE);
  }
  ir_text_free(&check_reported);
  ir_diags_free(diags);
  return CHECK_REPORT("examples");
}
