// SPDX-License-Identifier: Apache-2.0
/* ir/rewrite: what replaces an operation has its type, or the pass is named and nothing changes (B013: folding gives a
 * value of another dtype, and the tool falls over later). */
#include "ir/rewrite.h"

#include "check_diags.h"
#include "ir_read.h"

static ir_diags *diags;
static ir_context *context;
static ir_module *module;
static ir_arena scratch;

static const ir_type *type(const char *text) { return read_type(context, &text); }

/* less(%x, %y) of parameters of these types, whose result is used; its replacement is %z. */
static bool replace(const char *x, const char *z, const char *message) {
  const ir_string *name = ir_module_fresh_name(module, ir_lit("f"));
  ir_func *func = ir_func_new(module, IR_ITEM_FUNC, name);
  ir_param params[] = {{.type = type(x)}, {.type = type(x)}, {.type = type(z)}};
  ir_func_set_params(func, 3, params, true);
  ir_module_add(module, &func->item, NULL);
  ir_builder b = ir_at_end(func->body);
  ir_value *less = ir_build1(&b, IR_LESS, func->body->args, 2, IR_NO_ATTRS);
  ir_value *use = ir_build1(&b, IR_LOGICAL_NOT, IR_OPERANDS(less), IR_NO_ATTRS);
  ir_op *op = ir_value_op(less), *user = ir_value_op(use);
  ir_rewriter rw = {.func = func, .facts = ir_func_facts(func), .scratch = &scratch, .pass = "guess"};
  bool replaced = ir_replace1(&rw, op, func->body->args[2]);
  CHECK_DIAGS(diags, message);
  CHECK(rw.failed == (*message != 0));
  CHECK(ir_op_operand(user, 0) == (replaced ? func->body->args[2] : less));
  CHECK((func->body->first == user) == replaced);
  return replaced;
}

int main(void) {
  diags = ir_diags_new();
  context = ir_context_new(diags);
  module = ir_module_new(context);
  CHECK(replace("i32[n]", "bool[n]", ""));
  CHECK(!replace("i32[n]", "i32[n]", "internal error in guess: 'less' has type bool[n], its replacement i32[n]"));
  CHECK(!replace("i32[n]", "i8[n]", "internal error in guess: 'less' has type bool[n], its replacement i8[n]"));
  CHECK(!replace("i64[4]", "bool[3]", "internal error in guess: 'less' has type bool[4], its replacement bool[3]"));
  CHECK(!replace("i64[4]", "bool[4, 1]", "internal error in guess: 'less' has type bool[4], its replacement bool[4, 1]"));
  CHECK(!replace("i64[4]", "bool[?]", "")); /* says less: not replaced, no error */
  CHECK(!replace("i64[4]", "any", ""));
  CHECK(replace("i64[?]", "bool[4]", ""));
  ir_text_free(&check_reported);
  ir_arena_free(&scratch);
  ir_module_free(module);
  ir_context_free(context);
  ir_diags_free(diags);
  return CHECK_REPORT("rewrite");
}
