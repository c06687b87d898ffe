// SPDX-License-Identifier: Apache-2.0
/* ir/verify: sound modules pass; modules broken in ways that no text can be are reported and crash nothing. Rules that
 * text can break are tested in test/lit/verify. */
#include "ir/verify.h"

#include "check_diags.h"
#include "ir/frame.h"
#include "ir_read.h"

static ir_diags *diags;
static ir_context *context;
static ir_module *module;

static const ir_type *type(const char *text) { return read_type(context, &text); }
static const ir_string *string(const char *text) { return ir_intern(context, ir_slice_of(text)); }

static ir_func *make_func(ir_item_kind kind, const char *name, size_t count, const ir_param *params) {
  ir_func *func = ir_func_new(module, kind, string(name));
  ir_func_set_params(func, count, params, true);
  ir_module_add(module, &func->item, NULL);
  return func;
}

static void set_results(ir_func *func, const ir_type *result) {
  const ir_type **results = ir_new_array(&module->arena, const ir_type *, 1);
  results[0] = result;
  func->results = results;
  func->result_count = 1;
}

/* func @main(%x: f32[n, 8]) -> f32[n, 8] { %0 = nn.relu(%x); %1 = add(%0, %x); return %1 } */
static ir_func *make_main(void) {
  ir_func *func = make_func(IR_ITEM_FUNC, "main", 1, &(ir_param){.name = string("x"), .type = type("f32[n, 8]")});
  set_results(func, type("f32[n, 8]"));
  ir_builder b = ir_at_end(func->body);
  ir_value *x = func->body->args[0];
  ir_value *relu = ir_build1(&b, IR_NN_RELU, IR_OPERANDS(x), IR_NO_ATTRS);
  ir_value *sum = ir_build1(&b, IR_ADD, IR_OPERANDS(relu, x), IR_NO_ATTRS);
  ir_build(&b, IR_RETURN, IR_OPERANDS(sum), IR_NO_ATTRS);
  return func;
}

/* prim_func @twice(%x: f32[n], out %y: f32[n]) { compute (i < n) { %y[i] = %x[i] * 2.0 } } */
static ir_func *make_prim(ir_op **store) {
  ir_param params[] = {{.name = string("x"), .type = type("f32[n]")}, {.name = string("y"), .type = type("f32[n]"), .direction = IR_OUT}};
  ir_func *func = make_func(IR_ITEM_PRIM_FUNC, "twice", 2, params);
  ir_builder b = ir_at_end(func->body);
  ir_value *extent = ir_build_scalar(&b, ir_expr_symbol(context, string("n")), NULL, 0);
  ir_region *nest = ir_region_new(module, func, 1);
  ir_value *i = ir_region_set_arg(nest, 0, type("i64"), string("i"));
  ir_build_with(&b, IR_COMPUTE, IR_OPERANDS(extent), IR_NO_ATTRS, &nest, 1, NULL, 0);
  ir_arena scratch = {0};
  ir_frame frame = {.context = context, .arena = &scratch};
  ir_frame_operand(&frame, func->body->args[1]);
  const ir_expr *at = ir_frame_use(&frame, i);
  const ir_expr *value = ir_expr_binary(context, IR_S_MUL, ir_frame_load(&frame, func->body->args[0], 1, &at), ir_expr_float(context, IR_F32, 2));
  const ir_attr *index = ir_attr_dims(context, 1, &at);
  ir_builder inner = ir_at_end(nest);
  *store = ir_build(&inner, IR_STORE, frame.operands, frame.count,
                    IR_SET({"index", ir_attr_list(context, 1, &index)}, {"args", ir_attr_dims(context, 1, &value)}));
  ir_arena_free(&scratch);
  return func;
}

static void fresh(void) {
  ir_module_free(module);
  module = ir_module_new(context);
}

static void expect(const char *reported) {
  bool sound = ir_verify_module(module);
  CHECK(sound == !*reported);
  CHECK_DIAGS(diags, reported);
}

static ir_op *nth(ir_func *func, size_t n) {
  ir_op *op = func->body->first;
  while (op && n--) op = op->next;
  return op;
}

static void test_sound(void) {
  fresh();
  make_main();
  ir_op *store;
  make_prim(&store);
  expect("");
}

static void test_uses(void) {
  fresh();
  ir_func *func = make_main();
  ir_op *add = nth(func, 1);
  ir_value *kept = ir_op_uses(add)[1].value;
  ir_op_uses(add)[1].value = NULL;
  expect("the uses of '%x' are broken");
  ir_op_uses(add)[1].value = kept;
  expect("");
  /* The list of uses forgets one. */
  ir_use *use = &ir_op_uses(add)[1], **link = use->link;
  *link = use->next;
  if (use->next) use->next->link = link;
  expect("add: operand 1 is not among the uses of its value");
}

static void test_dominance(void) {
  fresh();
  ir_func *func = make_main();
  ir_op *relu = nth(func, 0), *add = nth(func, 1);
  ir_op_unlink(relu);
  ir_op_insert(func->body, add->next, relu);
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "add: operand '%") != NULL);
}

static void test_types(void) {
  fresh();
  ir_func *func = make_main();
  ir_value *relu = ir_op_result(nth(func, 0), 0);
  relu->type = type("f32[n, ?]");
  expect(""); /* a weaker type may be written, and an extent of 8 against `?` is 8 */
  relu->type = type("f32[n, 4]");
  expect("nn.relu: result 0 has type f32[n, 4], inferred is f32[n, 8]\n"
         "add: operands do not broadcast: extent 8 of 'x2' on axis 1 against 4");
}

static void test_result_types(void) {
  fresh();
  ir_func *func = make_main();
  ir_value *sum = ir_op_result(nth(func, 1), 0);
  sum->type = type("f32[n, 9]");
  expect("add: result 0 has type f32[n, 9], inferred is f32[n, 8]\n"
         "return: value 0 has type f32[n, 9], result 0 of '@main' is f32[n, 8]");
  sum->type = type("f32[m, 8]");
  expect("add: result 0 has type f32[m, 8], of which only f32[n, 8] is known: a stronger type needs match_cast\n"
         "add: result 0, extent 0: no symbol 'm' here\n"
         "return: value 0 has type f32[m, 8], result 0 of '@main' is f32[n, 8]");
  sum->type = NULL;
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "add: result 0 has no type") != NULL);
}

static void test_attributes(void) {
  fresh();
  ir_func *func = make_main();
  ir_builder b = ir_before(nth(func, 2));
  ir_op *sum = ir_build(&b, IR_SUM, IR_OPERANDS(func->body->args[0]), IR_SET({"axis", ir_attr_int(context, 1)}));
  expect("");
  ir_op_slots(sum)[0] = ir_attr_bool(context, true);
  expect("sum: attribute 'axis' is true, expected a list of integers");
  CHECK(!ir_build(&b, IR_SUM, IR_OPERANDS(func->body->args[0]), IR_SET({"axes", ir_attr_int(context, 1)})));
  CHECK_DIAGS(diags, "sum: no attribute 'axes'");
  CHECK(!ir_build(&b, IR_SUM, IR_OPERANDS(func->body->args[0]), IR_SET({"axis", ir_attr_int(context, 2)})));
  CHECK_DIAGS(diags, "sum: axis 2 is out of range for rank 2");
}

static void test_terminators(void) {
  fresh();
  ir_func *func = make_main();
  ir_op_erase(nth(func, 2));
  expect("the region does not end in 'return'");
  ir_builder b = ir_at_end(func->body);
  ir_build(&b, IR_YIELD, IR_OPERANDS(func->body->args[0]), IR_NO_ATTRS);
  expect("yield: the region must end in 'return'");
}

static void test_prim(void) {
  fresh();
  ir_op *store;
  ir_func *func = make_prim(&store);
  func->params[1].direction = IR_IN;
  expect("store: '%y' is read only: 'out' or 'inout' would let it be written");
  func->params[1].direction = IR_OUT;
  func->body->args[1]->type = func->params[1].type = type("f16[n]");
  expect("store: a value of type f32 for an element of type f16");
  func->body->args[1]->type = func->params[1].type = type("f32[n, n]");
  expect("store: 1 indices into '%y' of type f32[n, n]");
  func->body->args[1]->type = func->params[1].type = type("f32[n]");
  /* The value speaks of an operand that is not there. */
  const ir_expr *far = ir_expr_arg(context, 9, IR_F32, 1);
  ir_set(store, "args", ir_attr_dims(context, 1, &far));
  expect("store: args: it speaks of operand 9, which is not there");
  /* An operand of the wrong kind. */
  const ir_expr *mixed = ir_expr_binary(context, IR_S_ADD, ir_expr_i64(context, 1), ir_expr_float(context, IR_F32, 1));
  ir_set(store, "args", ir_attr_dims(context, 1, &mixed));
  expect("store: args: 'add' expects operands of one dtype and width");
  ir_op_erase(store);
  expect("'@twice' never writes its output '%y'");
}

static void test_large_expressions(void) {
  fresh();
  ir_op *store;
  make_prim(&store);
  const ir_expr *value = ir_expr_float(context, IR_F32, 1);
  for (int i = 0; i < 8; i++) value = ir_expr_binary(context, IR_S_ADD, value, value);
  ir_set(store, "args", ir_attr_dims(context, 1, &value));
  expect("store: args: an expression of 511 nodes, expected at most 256: bind its parts to names");
}

static void test_items(void) {
  fresh();
  ir_func *func = make_main();
  func->item.flags |= IR_ITEM_EXTERN;
  expect("'@main' is extern, but has a body");
  func->item.flags = 0;
  func->body->args[0]->type = type("f32[n, 9]");
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "'@main': parameter 'x' is not argument 0 of the body") != NULL);
  fresh();
  const ir_attr *entries[] = {ir_attr_string(context, ir_lit("fp.fma")), ir_attr_int(context, 1)};
  module->attrs = ir_attr_dict(context, 1, entries);
  expect("module attribute 'fp.fma' is 1, expected false or true");
  module->attrs = NULL;
  ir_resource *resource = ir_new(&module->arena, ir_resource);
  resource->item = (ir_item){.kind = IR_ITEM_RESOURCE, .name = string("w")};
  resource->type = type("i4[3]");
  resource->bytes = "xyz";
  resource->size = 3;
  ir_module_add(module, &resource->item, NULL);
  expect("resource '@w' has 3 bytes, type i4[3] takes 2");
  resource->type = type("i4[n]");
  expect("resource '@w' has type i4[n], expected a tensor of known dtype and constant extents");
}

static void test_flags(void) {
  fresh();
  ir_func *func = make_main();
  func->params[0].direction = IR_OUT;
  expect("'@main': parameter 'x': 'out' and 'inout' belong to a prim_func");
  func->params[0].direction = IR_IN;
  ir_region *body = func->body;
  func->body = NULL;
  expect("'@main' has no body and is not extern");
  func->body = body;
  func->param_count = 0;
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "'@main': the body has 1 argument for 0 parameters") != NULL);
  fresh();
  ir_op *store;
  func = make_prim(&store);
  func->item.flags = IR_ITEM_IMPURE;
  expect("'@twice' is impure, but not a func");
  func->item.flags = 0;
  set_results(func, type("f32[n]"));
  expect("'@twice' has results, which only a func has");
  func->result_count = 0;
  func->has_signature = false;
  expect("'@twice' has no signature");
}

static void test_other_items(void) {
  fresh();
  ir_resource *resource = ir_new(&module->arena, ir_resource);
  resource->item = (ir_item){.kind = IR_ITEM_RESOURCE, .name = string("w")};
  resource->type = type("f32[3]");
  resource->kind = IR_RESOURCE_FILE;
  ir_module_add(module, &resource->item, NULL);
  expect("resource '@w' names no file");
  fresh();
  ir_item *device = ir_new(&module->arena, ir_item);
  *device = (ir_item){.kind = IR_ITEM_DEVICE, .name = string("d"), .attrs = ir_attr_int(context, 1)};
  ir_module_add(module, device, NULL);
  expect("device '@d' is no dictionary");
  fresh();
  ir_param params[] = {{.name = string("s"), .type = type("f32")}, {.name = string("x"), .type = type("f32")}};
  ir_func *reducer = make_func(IR_ITEM_REDUCER, "r", 2, params);
  const ir_expr *start = ir_expr_i64(context, 0);
  reducer->identities = &start;
  reducer->state_count = 1;
  ir_builder b = ir_at_end(reducer->body);
  ir_build(&b, IR_YIELD, IR_OPERANDS(reducer->body->args[0]), IR_NO_ATTRS);
  expect("'@r': the start of state 's' has another type");
}

/* What a store in a compute nest writes, in place of %x[i] * 2.0; operand 1 is %x, operand 2 the axis. */
static void expect_value(const ir_expr *value, const char *reported) {
  fresh();
  ir_op *store;
  make_prim(&store);
  ir_set(store, "args", ir_attr_dims(context, 1, &value));
  expect(reported);
}

static void test_expressions(void) {
  const ir_expr *i64 = ir_expr_i64(context, 0), *f32 = ir_expr_float(context, IR_F32, 1), *wide = ir_expr_convert(context, IR_S_BROADCAST, f32, IR_F32, 4);
  fresh();
  ir_op *store;
  make_prim(&store);
  uint32_t x = 0, axis = 0;
  while (ir_op_operand(store, x)->type != type("f32[n]") || !x) x++;
  while (!ir_is_scalar(ir_op_operand(store, axis)->type)) axis++;
  expect_value(ir_expr_arg(context, axis, IR_F32, 1), "store: args: operand 1 of type i64 is used as another scalar");
  expect_value(ir_expr_load(context, axis, IR_F32, 1, 1, &i64), "store: args: it loads from operand 1, which is no buffer");
  expect_value(ir_expr_load(context, x, IR_F32, 1, 0, NULL), "store: args: 0 indices into a buffer of type f32[n]");
  expect_value(ir_expr_load(context, x, IR_F16, 1, 1, &i64), "store: args: a load of another type than f32[n]");
  expect_value(ir_expr_convert(context, IR_S_CAST, wide, IR_F32, 1), "store: args: a cast changes the width of a vector");
  expect_value(ir_expr_convert(context, IR_S_BITCAST, i64, IR_F32, 1), "store: args: a bitcast changes the number of bits");
  expect_value(ir_expr_convert(context, IR_S_BROADCAST, i64, IR_F32, 4), "store: args: a broadcast of something else than one element");
  expect_value(ir_expr_convert(context, IR_S_RAMP, f32, IR_I64, 4), "store: args: a range of indices that is not i64");
  expect_value(ir_expr_symbol(context, string("k")), "store: args: no symbol 'k' here");
}

static void test_regions(void) {
  fresh();
  ir_func *func = make_main(), *other = make_func(IR_ITEM_FUNC, "other", 0, NULL);
  ir_region *region = func->body;
  region->func = other;
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "a region belongs to another function") != NULL);
  region->func = func;
  ir_module_remove(module, &other->item);
  const ir_value value = *func->body->args[0];
  func->body->args[0]->index = 3;
  expect("argument 0 belongs to another region");
  *func->body->args[0] = value;
  nth(func, 0)->code = IR_OP_COUNT;
  expect("an operation of an unknown kind");
}

/* Operations that the builder is given the wrong parts of. */
static void test_building(void) {
  fresh();
  ir_func *func = make_main();
  ir_builder b = ir_before(nth(func, 2));
  const float half = 0.5f;
  ir_value *constant = ir_build_const(&b, type("i32[1]"), (ir_data){IR_F32, &half, sizeof half});
  expect("const: elements have dtype f32, the result has type i32[1]");
  constant->type = type("f32[2]");
  expect("const: 4 bytes of elements do not fill type f32[2]");
  ir_op_erase(ir_value_op(constant));
  ir_value *condition = ir_build_scalar(&b, ir_expr_bool(context, true), NULL, 0);
  CHECK(!ir_build_with(&b, IR_IF, &condition, 1, IR_NO_ATTRS, NULL, 0, NULL, 0));
  CHECK_DIAGS(diags, "if: 0 regions, expected 1 or 2");
  CHECK(!ir_build_with(&b, IR_DATAFLOW, NULL, 0, IR_NO_ATTRS, NULL, 0, NULL, 0));
  CHECK_DIAGS(diags, "dataflow: 0 regions, expected 1");
  CHECK(!ir_build_with(&b, IR_LOOP, NULL, 0, IR_NO_ATTRS, NULL, 0, NULL, 0));
  CHECK_DIAGS(diags, "loop: no counter");
  ir_region *body = ir_region_new(module, func, 1);
  ir_region_set_arg(body, 0, type("f32"), string("i"));
  CHECK(!ir_build_with(&b, IR_LOOP, NULL, 0, IR_NO_ATTRS, &body, 1, NULL, 0));
  CHECK_DIAGS(diags, "loop: the counter is not an i64");
  body = ir_region_new(module, func, 2);
  ir_region_set_arg(body, 0, type("i64"), string("i"));
  ir_region_set_arg(body, 1, type("f32"), string("s"));
  CHECK(!ir_build_with(&b, IR_LOOP, NULL, 0, IR_NO_ATTRS, &body, 1, NULL, 0));
  CHECK_DIAGS(diags, "loop: 0 operands for 1 carried values");
}

static void test_types_of_items(void) {
  fresh();
  ir_func *func = make_main();
  const ir_expr *half = ir_expr_float(context, IR_F32, 0.5);
  const ir_type *odd = ir_type_tensor(context, IR_F32, 1, &half);
  func->results[0] = odd;
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "'@main': result 0: extent 0 is not an i64 expression over symbols") != NULL);
  func->results[0] = ir_type_with_device(context, type("f32[n, 8]"), string("nowhere"));
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "'@main': result 0: no device '@nowhere'") != NULL);
  func->results[0] = type("f32[n, 8]");
  const ir_expr *number = ir_expr_i64(context, 1);
  func->where = &number;
  func->where_count = 1;
  expect("'@main': where: the condition has dtype i64, expected bool");
}

/* Erases, moves, retypes and rewires at random; only that nothing crashes is asked. */
static uint32_t state = 1;
static uint32_t next_random(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

static void break_something(ir_func *func) {
  static const char *const types[] = {"f32[n, 8]", "i64", "f32[*]", "bool[]", "any", "shape[n]", "?[?]", "f32[k]"};
  ir_op *op = nth(func, next_random(3)), *other = nth(func, next_random(2));
  if (!op) return; /* an operation taken for inline went with its last user */
  switch (next_random(6)) {
  case 0:
    if (op->result_count) ir_op_result(op, 0)->type = type(types[next_random(8)]);
    break;
  case 1:
    if (op->operand_count && other && other->result_count) ir_op_set_operand(op, next_random(op->operand_count), ir_op_result(other, 0));
    break;
  case 2: op->code = (uint16_t)next_random(IR_OP_COUNT); break; /* the slots are another row's, so only among rows without */
  case 3: op->flags ^= (uint16_t)(1u << next_random(2)); break;
  case 4: func->params[0].type = type(types[next_random(8)]); break;
  case 5: func->body->args[0]->type = type(types[next_random(8)]); break;
  }
}

static void test_anything(void) {
  for (int round = 0; round < 2000; round++) {
    fresh();
    ir_func *func = make_main();
    for (uint32_t i = next_random(4) + 1; i; i--) {
      ir_op *op = nth(func, 0);
      break_something(func);
      /* Code changes keep to rows of the same layout. */
      for (; op; op = op->next) {
        if (ir_op_row(op)->attr_count) op->code = op->result_count ? IR_EXP : IR_RETURN;
      }
    }
    bool sound = ir_verify_module(module);
    CHECK(sound == !*check_take(diags));
  }
}

int main(void) {
  diags = ir_diags_new();
  ir_diags_set_limit(diags, 0);
  context = ir_context_new(diags);
  test_sound();
  test_uses();
  test_dominance();
  test_types();
  test_result_types();
  test_attributes();
  test_terminators();
  test_prim();
  test_large_expressions();
  test_items();
  test_flags();
  test_other_items();
  test_expressions();
  test_regions();
  test_building();
  test_types_of_items();
  test_anything();
  ir_text_free(&check_reported);
  ir_module_free(module);
  ir_context_free(context);
  ir_diags_free(diags);
  return CHECK_REPORT("verify");
}
