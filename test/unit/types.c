// SPDX-License-Identifier: Apache-2.0
/* ir/type_relate, ir/type_unify: how types relate, what both are, what a call binds. */
#include "check_diags.h"
#include "ir/print.h"
#include "ir_read.h"

static ir_diags *diags;
static ir_context *context;
static ir_arena arena;
static ir_facts *facts; /* n, m in [0, 2^40] */

static const ir_type *type(const char *text) { return read_type(context, &text); }
static const ir_expr *symbol(const char *name) { return ir_expr_symbol(context, ir_intern(context, ir_slice_of(name))); }

static const char *relate(const char *written, const char *inferred) {
  static const char *const names[] = {"equal", "weaker", "stronger", "contradict"};
  return names[ir_type_relate(context, facts, type(written), type(inferred))];
}

static void test_relate(void) {
  CHECK_TEXT(relate("f32[n, 8]", "f32[n, 8]"), "equal");
  CHECK_TEXT(relate("f32[?, 8]", "f32[n, 8]"), "weaker");
  CHECK_TEXT(relate("f32[*]", "f32[n, 8]"), "weaker");
  CHECK_TEXT(relate("?[n]", "f32[n]"), "weaker");
  CHECK_TEXT(relate("any", "f32[n]"), "weaker");
  CHECK_TEXT(relate("f32[n]", "f32[n] @gpu"), "weaker");
  CHECK_TEXT(relate("f32[n, 8]", "f32[?, 8]"), "stronger");
  CHECK_TEXT(relate("f32[n, ?]", "f32[?, 8]"), "stronger");
  CHECK_TEXT(relate("f32[n]", "f32[m]"), "stronger"); /* may be equal: match_cast says so */
  CHECK_TEXT(relate("f32[8]", "f32[n]"), "stronger");
  CHECK_TEXT(relate("f32[n]", "any"), "stronger");
  CHECK_TEXT(relate("f32[n] @gpu", "f32[n]"), "stronger");
  CHECK_TEXT(relate("f32[n*2]", "f32[n]"), "stronger"); /* n may be 0 */
  CHECK_TEXT(relate("f32[8]", "f32[9]"), "contradict");
  CHECK_TEXT(relate("f32[n]", "f32[n, 1]"), "contradict");
  CHECK_TEXT(relate("f32[n]", "f16[n]"), "contradict");
  CHECK_TEXT(relate("f32[]", "f32"), "contradict");
  CHECK_TEXT(relate("i64", "i32"), "contradict");
  CHECK_TEXT(relate("f32[n] @a", "f32[n] @b"), "contradict");
  CHECK_TEXT(relate("shape[n]", "shape[n]"), "equal");
  CHECK_TEXT(relate("shape[*]", "shape[n]"), "weaker");
  const ir_expr *twice = ir_expr_binary(context, IR_S_MUL, symbol("n"), ir_expr_i64(context, 2));
  const ir_expr *sum = ir_expr_binary(context, IR_S_ADD, symbol("n"), symbol("n"));
  const ir_expr *more = ir_expr_binary(context, IR_S_ADD, twice, ir_expr_i64(context, 1));
  const ir_type *a = ir_type_tensor(context, IR_F32, 1, &twice), *b = ir_type_tensor(context, IR_F32, 1, &sum);
  const ir_type *c = ir_type_tensor(context, IR_F32, 1, &more);
  CHECK(ir_type_relate(context, facts, a, b) == IR_TYPES_EQUAL);
  CHECK(ir_type_relate(context, facts, a, c) == IR_TYPES_CONTRADICT);
}

static void test_functions(void) {
  const ir_type *exact = type("f32[n]"), *weak = type("f32[*]");
  const ir_type *takes_any = ir_type_func(context, 1, &weak, 1, &exact, false);
  const ir_type *takes_one = ir_type_func(context, 1, &exact, 1, &weak, false);
  const ir_type *opaque = ir_type_get(context, &(ir_type_key){.kind = IR_TYPE_FUNC, .dtype = IR_DTYPE_UNKNOWN, .impure = true});
  /* Who takes more and gives a more precise result may stand for the other one. */
  CHECK(ir_type_relate(context, facts, takes_one, takes_any) == IR_TYPES_WEAKER);
  CHECK(ir_type_relate(context, facts, takes_any, takes_one) == IR_TYPES_STRONGER);
  CHECK(ir_type_relate(context, facts, opaque, takes_any) == IR_TYPES_WEAKER);
  CHECK(ir_type_relate(context, facts, takes_any, opaque) == IR_TYPES_CONTRADICT); /* pure was promised */
  CHECK(ir_type_join(context, facts, takes_any, opaque) == opaque);
  const ir_type *fields[] = {exact, takes_any}, *others[] = {weak, takes_any};
  const ir_type *tuple = ir_type_tuple(context, 2, fields), *weaker = ir_type_tuple(context, 2, others);
  CHECK(ir_type_relate(context, facts, weaker, tuple) == IR_TYPES_WEAKER);
  CHECK(ir_type_join(context, facts, tuple, weaker) == weaker);
  CHECK(ir_type_relate(context, facts, tuple, ir_type_tuple(context, 1, fields)) == IR_TYPES_CONTRADICT);
}

static const char *join(const char *a, const char *b) { return ir_type_text(&arena, ir_type_join(context, facts, type(a), type(b))); }

static void test_join(void) {
  CHECK_TEXT(join("f32[n, 8]", "f32[n, 8]"), "f32[n, 8]");
  CHECK_TEXT(join("f32[n, 8]", "f32[m, 8]"), "f32[?, 8]");
  CHECK_TEXT(join("f32[n, 8]", "f32[n]"), "f32[*]");
  CHECK_TEXT(join("f32[n]", "f16[n]"), "?[n]");
  CHECK_TEXT(join("f32[n]", "i64"), "any");
  CHECK_TEXT(join("f32[n] @a", "f32[n]"), "f32[n]");
  CHECK_TEXT(join("shape[n]", "shape[4]"), "shape[?]");
}

/* What RESULT becomes when PARAM meets ARGUMENT, or why it cannot. */
static const char *call(const char *param, const char *argument, const char *result) {
  ir_binding binding = {.arena = &arena};
  const char *why = "no reason";
  if (!ir_unify(context, facts, &binding, type(param), type(argument), &why)) return why;
  return ir_type_text(&arena, ir_type_substitute(context, facts, &binding, type(result)));
}

static void test_unify(void) {
  CHECK_TEXT(call("f32[a, b]", "f32[3, n]", "f32[b, a]"), "f32[n, 3]");
  CHECK_TEXT(call("f32[n]", "f32[m]", "f32[n*2]"), "f32[m * 2]"); /* the callee's n is not the caller's */
  CHECK_TEXT(call("f32[a*2, a]", "f32[8, 4]", "f32[a]"), "f32[4]");
  CHECK_TEXT(call("f32[a*2, a]", "f32[9, 4]", "f32[a]"), "extent 0 is 9, expected 'a * 2' = 8");
  CHECK_TEXT(call("f32[a, a]", "f32[3, 4]", "f32[a]"), "extent 1 is 4, expected 'a' = 3");
  CHECK_TEXT(call("f32[a, a]", "f32[n, m]", "f32[a]"), "f32[n]"); /* checked at run time */
  CHECK_TEXT(call("f32[a]", "f32[?]", "f32[a]"), "f32[?]");
  CHECK_TEXT(call("f32[a]", "f32[*]", "f32[a]"), "f32[?]");
  CHECK_TEXT(call("f32[64, 56]", "f32[64, 54]", "f32[1]"), "extent 1 is 54, expected 56");
  CHECK_TEXT(call("f32[a]", "f16[a]", "f32[a]"), "dtype f16, expected f32");
  CHECK_TEXT(call("f32[a]", "f32[a, 2]", "f32[a]"), "rank 2, expected 1");
  CHECK_TEXT(call("f32[a]", "shape[a]", "f32[a]"), "a shape, expected a tensor");
  CHECK_TEXT(call("f32[]", "f32", "f32[]"), "f32[]"); /* a scalar is a 0-d tensor */
  CHECK_TEXT(call("f32", "f32[]", "f32[]"), "a tensor, expected a scalar");
  CHECK_TEXT(call("any", "f32[]", "i64"), "i64");
  CHECK_TEXT(call("f32[a] @x", "f32[a] @y", "i64"), "another device");
}

int main(void) {
  diags = ir_diags_new();
  context = ir_context_new(diags);
  facts = ir_facts_new(context, &arena, NULL);
  ir_facts_range(facts, symbol("n"), 0, INT64_C(1) << 40);
  ir_facts_range(facts, symbol("m"), 0, INT64_C(1) << 40);
  test_relate();
  test_functions();
  test_join();
  test_unify();
  CHECK_DIAGS(diags, "");
  ir_text_free(&check_reported);
  ir_arena_free(&arena);
  ir_context_free(context);
  ir_diags_free(diags);
  return CHECK_REPORT("types");
}
