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
  CHECK(strstr(check_take(diags), "add: operand '%1' is not visible here") != NULL);
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

static void set_index(ir_op *store, const ir_expr *at) {
  const ir_attr *index = ir_attr_dims(context, 1, &at);
  ir_set(store, "index", ir_attr_list(context, 1, &index));
}

static void test_stores(void) {
  ir_op *store;
  const ir_expr *half = ir_expr_float(context, IR_F32, 0.5), *pair[] = {half, half}, *zero = ir_expr_i64(context, 0);
  fresh();
  make_prim(&store);
  ir_set(store, "args", ir_attr_dims(context, 2, pair));
  expect("store: 2 values for one element");
  ir_set(store, "reducer", ir_attr_id(context, ir_lit("sum")));
  expect("store: a reducer in a nest without reduction axes\nstore: 2 operands for 'sum', expected 1");
  ir_set(store, "args", ir_attr_dims(context, 1, pair));
  ir_set(store, "reducer", ir_attr_id(context, ir_lit("mode")));
  expect("store: attribute 'reducer' is mode, expected sum|prod|max|min|any|all|dot|argmax|argmin");
  ir_set(store, "reducer", NULL);
  ir_set(store, "user_reducer", ir_attr_global(context, string("twice")));
  expect("store: a reducer in a nest without reduction axes\nstore: '@twice' is not a reducer");
  ir_set(store, "user_reducer", NULL);
  ir_set(store, "acc", ir_attr_dtype(context, IR_F64));
  expect("store: 'order' and 'acc' belong to reducers");
  ir_set(store, "acc", NULL);
  const ir_attr *at_zero = ir_attr_dims(context, 1, &zero), *twice[] = {at_zero, at_zero}, *old = ir_get(store, "index");
  ir_value *second = ir_op_operand(store, 1);
  ir_op_set_operand(store, 1, ir_op_operand(store, 0));
  ir_set(store, "index", ir_attr_list(context, 2, twice));
  ir_set(store, "targets", ir_attr_int(context, 2));
  expect("store: 2 targets without a reducer");
  ir_op_set_operand(store, 1, second);
  ir_set(store, "targets", ir_attr_int(context, 1));
  ir_set(store, "index", old);
  set_index(store, half);
  expect("store: index 0 into '%y' is not an i64");
  set_index(store, ir_expr_convert(context, IR_S_BROADCAST, zero, IR_I64, 4));
  expect("store: a vector of indices into '%y' of type f32[n]");
  set_index(store, zero);
  ir_set(store, "targets", ir_attr_int(context, 9));
  expect("store: 9 targets, 3 operands, 1 lists of indices");
  ir_set(store, "targets", ir_attr_int(context, 1));
  ir_region *inside = store->region;
  inside->spatial_count = 5;
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "compute: more spatial axes than axes") != NULL);
  inside->spatial_count = 1;
  inside->args[0]->type = type("f32");
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "compute: axis 0 is not an i64") != NULL);
}

/* A reducer's store and a where clause outside of a nest. */
static void test_outside(void) {
  ir_op *store;
  fresh();
  ir_func *func = make_prim(&store);
  const ir_expr *half = ir_expr_float(context, IR_F32, 0.5), *zero = ir_expr_i64(context, 0), *yes = ir_expr_bool(context, true);
  const ir_attr *index = ir_attr_dims(context, 1, &zero);
  ir_builder b = ir_at_end(func->body), last = ir_at_end(store->region);
  ir_op *outside = ir_build(&b, IR_STORE, &func->body->args[1], 1,
                            IR_SET({"index", ir_attr_list(context, 1, &index)}, {"args", ir_attr_dims(context, 1, &half)},
                                   {"reducer", ir_attr_id(context, ir_lit("sum"))}));
  expect("store: a reducer outside of a compute nest");
  ir_op_erase(outside);
  ir_op *guard = ir_build(&b, IR_GUARD, NULL, 0, IR_SET({"conditions", ir_attr_dims(context, 1, &yes)}));
  expect("guard: outside of a compute nest");
  ir_op_erase(guard);
  guard = ir_build(&last, IR_GUARD, NULL, 0, IR_SET({"conditions", ir_attr_dims(context, 1, &yes)}));
  expect("guard: not the first operation of its nest");
  ir_op_erase(guard);
  const ir_type *buffer = type("f32[n]");
  ir_op *foreign = ir_build_with(&b, IR_SCALAR, NULL, 0, IR_SET({"value", ir_attr_expr(context, zero)}), NULL, 0, &buffer, 1);
  ir_value *target = ir_op_result(foreign, 0);
  ir_build(&b, IR_STORE, &target, 1, IR_SET({"index", ir_attr_list(context, 1, &index)}, {"args", ir_attr_dims(context, 1, &half)}));
  expect("scalar: result 0 has type f32[n], inferred is i64\nstore: '%0' is neither a parameter nor allocated here");
}

static void test_loops(void) {
  ir_op *store;
  fresh();
  ir_func *func = make_prim(&store);
  ir_builder b = ir_at_end(func->body);
  ir_value *extent = ir_build_scalar(&b, ir_expr_i64(context, 4), NULL, 0);
  ir_region *body = ir_region_new(module, func, 1);
  ir_region_set_arg(body, 0, type("i64"), string("j"));
  ir_op *loop = ir_build_with(&b, IR_FOR, &extent, 1, IR_NO_ATTRS, &body, 1, NULL, 0);
  expect("");
  ir_set(loop, "factor", ir_attr_int(context, 4));
  expect("for: a factor of 4 in mode 'serial'");
  ir_set(loop, "factor", ir_attr_int(context, 0));
  ir_set(loop, "mode", ir_attr_id(context, ir_lit("bind")));
  expect("for: 'bind' names no axis");
  ir_set(loop, "axis", ir_attr_id(context, ir_lit("group.x")));
  expect("");
  ir_set(loop, "mode", ir_attr_id(context, ir_lit("serial")));
  expect("for: an axis without 'bind'");
  ir_set(loop, "axis", NULL);
  body->args[0]->type = type("f32");
  expect("for: expected one variable, an i64");
  body->args[0]->type = type("i64");
  extent = ir_build_scalar(&b, ir_expr_float(context, IR_F32, 4), NULL, 0);
  ir_op *def = ir_value_op(extent);
  ir_op_unlink(def);
  ir_op_insert(loop->region, loop, def);
  ir_op_set_operand(loop, 0, extent);
  CHECK(!ir_verify_module(module));
  CHECK(strstr(check_take(diags), "for: extent has type f32, expected i64") != NULL);
}

/* Terminators and closures that no text makes. */
static void test_ends(void) {
  fresh();
  ir_func *func = make_main();
  ir_builder b = ir_before(nth(func, 2));
  ir_value *x = func->body->args[0];
  ir_region *region = ir_region_new(module, func, 0);
  ir_builder inner = ir_at_end(region);
  ir_op *yield = ir_build(&inner, IR_YIELD, &x, 1, IR_NO_ATTRS);
  ir_build_with(&b, IR_DATAFLOW, NULL, 0, IR_NO_ATTRS, &region, 1, NULL, 0);
  expect("");
  ir_set(yield, "stacks", ir_attr_int(context, 1));
  expect("yield: 'stack' and 'while' belong to a loop");
  ir_set(yield, "stacks", ir_attr_int(context, 0));
  region = ir_region_new(module, func, 0);
  inner = ir_at_end(region);
  ir_build(&inner, IR_RETURN, &x, 1, IR_NO_ATTRS);
  const ir_type *tensor = type("f32[n, 8]"), *type_of = ir_type_func(context, 1, &tensor, 1, &tensor, false);
  ir_build_with(&b, IR_CLOSURE, NULL, 0, IR_SET({"type", ir_attr_type(context, type_of)}), &region, 1, &type_of, 1);
  expect("func: type fn(f32[n, 8]) -> f32[n, 8] does not fit its parameters");
}

static void test_operations(void) {
  fresh();
  ir_func *func = make_main();
  nth(func, 0)->flags |= IR_OP_INLINE;
  expect("nn.relu: an inline operation that is no scalar");
  nth(func, 0)->flags = IR_OP_NO_TARGETS;
  expect("nn.relu: marked as without targets, but its result is not an unused tuple[]");
  nth(func, 0)->flags = 0;
  ir_builder b = ir_before(nth(func, 0));
  ir_value *unused = ir_build_scalar(&b, ir_expr_i64(context, 1), NULL, 0);
  expect("scalar: an inline scalar that nothing uses");
  ir_op_erase(ir_value_op(unused));
  ir_op_result(nth(func, 0), 0)->index = 4;
  expect("nn.relu: result 0 belongs to another operation");
  ir_op_result(nth(func, 0), 0)->index = 0;
  ir_op *second = nth(func, 1);
  second->prev = second;
  expect("nn.relu: the list of operations is broken");
  second->prev = nth(func, 0);
  ir_builder end = ir_before(nth(func, 2));
  ir_op *early = ir_build(&end, IR_RETURN, IR_OPERANDS(func->body->args[0]), IR_NO_ATTRS);
  expect("return: operations follow it");
  ir_op_erase(early);
  ir_func *twin = make_func(IR_ITEM_FUNC, "other", 0, NULL);
  twin->item.name = func->item.name;
  ir_build(&(ir_builder){.module = module, .region = twin->body}, IR_RETURN, NULL, 0, IR_NO_ATTRS);
  expect("'@main' is defined twice");
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
  test_stores();
  test_outside();
  test_loops();
  test_operations();
  test_ends();
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
