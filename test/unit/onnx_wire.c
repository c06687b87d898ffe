// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/wire: models encoded by hand. What the check lets through protobuf-c must unpack, and every payload
 * must be found again from the stripped copy. */
#include "frontends/onnx/wire.h"
#include "test/unit/check_diags.h"

#include <onnx.pb-c.h>
#include <stdlib.h>

static ir_diags *diags;
static ir_arena arena;

/* Encoding: each function appends to its message. */

static void put_number(ir_text *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) ir_text_char(to, (char)(value | 0x80));
  ir_text_char(to, (char)value);
}

static void put_varint(ir_text *to, uint32_t number, uint64_t value) {
  put_number(to, number << 3);
  put_number(to, value);
}

static void put_bytes(ir_text *to, uint32_t number, const void *bytes, size_t length) {
  put_number(to, number << 3 | 2);
  put_number(to, length);
  ir_text_bytes(to, bytes, length);
}

static void put_string(ir_text *to, uint32_t number, const char *string) {
  put_bytes(to, number, string, strlen(string));
}

/* Appends INNER as a message, and frees it. */
static void put_message(ir_text *to, uint32_t number, ir_text *inner) {
  put_bytes(to, number, inner->at, inner->length);
  ir_text_free(inner);
}

static ir_text tensor_of(const char *name, char fill, size_t length) {
  ir_text tensor = {0};
  char *raw = malloc(length + 1);
  memset(raw, fill, length);
  put_varint(&tensor, 1, length);
  put_varint(&tensor, 2, 2);
  put_bytes(&tensor, 9, raw, length);
  put_string(&tensor, 8, name);
  free(raw);
  return tensor;
}

/* Checking. */

static bool check(const ir_text *file, size_t keep, ir_onnx_wire *wire) {
  return ir_onnx_wire_check(diags, &arena, "m.onnx", (const uint8_t *)file->at, file->length, keep, wire);
}

static Onnx__ModelProto *unpack(const ir_onnx_wire *wire, size_t *size) {
  const uint8_t *bytes = ir_onnx_wire_strip(diags, &arena, wire, size);
  return bytes ? onnx__model_proto__unpack(NULL, *size, bytes) : NULL;
}

/* Checks a heap copy of exactly the bytes, so that a sanitizer sees every read beyond the end; what passes unpacks. */
static bool passes(ir_text file) {
  uint8_t *copy = malloc(file.length + !file.length);
  if (file.length) memcpy(copy, file.at, file.length);
  ir_onnx_wire wire;
  bool passed = ir_onnx_wire_check(diags, &arena, "m.onnx", copy, file.length, 0, &wire);
  if (passed) {
    size_t size;
    Onnx__ModelProto *model = unpack(&wire, &size);
    CHECK(model);
    if (model) onnx__model_proto__free_unpacked(model, NULL);
  }
  free(copy);
  return passed;
}

static void expect(ir_text *file, const char *error) {
  ir_text wanted = {0};
  ir_text_printf(&wanted, *error ? "m.onnx: not a well-formed ONNX model: %s" : "%s", error);
  CHECK(passes(*file) == !*error);
  CHECK_DIAGS(diags, wanted.at);
  ir_text_free(&wanted);
  ir_text_free(file);
}

static bool holds(const ir_onnx_wire *wire, const Onnx__TensorProto *tensor, char fill, size_t wanted) {
  size_t length;
  const uint8_t *bytes = ir_onnx_wire_payload(wire, tensor->raw_data.data, tensor->raw_data.len, &length);
  bool same = length == wanted;
  for (size_t i = 0; same && i < length; i++) same = bytes[i] == (uint8_t)fill;
  return same;
}

/* graph { initializer c; node { attribute { t: a }, attribute { g { initializer b } } }; initializer d, e }: tensors of
 * one message stand before and after those of another, as protobuf-c does not keep them. */
static ir_text model_of(size_t large) {
  ir_text model = {0}, graph = {0}, node = {0}, attribute = {0}, inner = {0};
  ir_text a = tensor_of("a", 'a', large), b = tensor_of("b", 'b', large * 40), c = tensor_of("c", 'c', large * 3),
          d = tensor_of("d", 'd', 4), e = tensor_of("e", 'e', 0);
  put_varint(&model, 1, 8);
  put_message(&graph, 5, &c);
  put_string(&attribute, 1, "value");
  put_message(&attribute, 5, &a);
  put_message(&node, 5, &attribute);
  put_message(&inner, 5, &b);
  put_string(&attribute, 1, "body");
  put_message(&attribute, 6, &inner);
  put_message(&node, 5, &attribute);
  put_string(&node, 4, "Loop");
  put_message(&graph, 1, &node);
  put_message(&graph, 5, &d);
  put_message(&graph, 5, &e);
  put_string(&graph, 2, "g");
  put_message(&model, 7, &graph);
  put_string(&model, 2, "by hand");
  return model;
}

static void test_payloads(size_t large) {
  ir_text file = model_of(large);
  ir_onnx_wire wire;
  if (!CHECK(check(&file, 16, &wire))) return;
  CHECK(wire.slice_count == 5 && wire.messages == 11);
  const char order[] = {'c', 'a', 'b', 'd', 'e'};
  const size_t lengths[] = {large * 3, large, large * 40, 4, 0};
  for (size_t i = 0; i < 5; i++) {
    CHECK(wire.slices[i].length == lengths[i]);
    CHECK(!lengths[i] ||
          (file.at[wire.slices[i].offset] == order[i] && file.at[wire.slices[i].offset + lengths[i] - 1] == order[i]));
    CHECK(file.at[wire.slices[i].tensor] == 1 << 3 && wire.slices[i].tensor < wire.slices[i].offset);
  }
  size_t size;
  Onnx__ModelProto *model = unpack(&wire, &size);
  if (!CHECK(model)) return;
  size_t saved = large * 44 - 3 * 16;
  CHECK(size < file.length - saved && size + 40 > file.length - saved);
  CHECK(model->ir_version == 8 && !strcmp(model->producer_name, "by hand"));
  Onnx__GraphProto *graph = model->graph;
  CHECK(graph->n_node == 1 && graph->n_initializer == 3 && !strcmp(graph->name, "g"));
  Onnx__NodeProto *node = graph->node[0];
  CHECK(node->n_attribute == 2 && !strcmp(node->op_type, "Loop"));
  CHECK(holds(&wire, graph->initializer[0], 'c', large * 3) && graph->initializer[0]->raw_data.len == 16);
  CHECK(holds(&wire, node->attribute[0]->t, 'a', large) && !strcmp(node->attribute[0]->t->name, "a"));
  CHECK(holds(&wire, node->attribute[1]->g->initializer[0], 'b', large * 40));
  CHECK(holds(&wire, graph->initializer[1], 'd', 4) && graph->initializer[1]->raw_data.len == 4);
  CHECK(holds(&wire, graph->initializer[2], 'e', 0));
  onnx__model_proto__free_unpacked(model, NULL);

  /* Nothing to take out: the file itself. */
  CHECK(check(&file, large * 40, &wire));
  CHECK(ir_onnx_wire_strip(diags, &arena, &wire, &size) == (const uint8_t *)file.at && size == file.length);
  CHECK_DIAGS(diags, "");
  ir_text_free(&file);
}

/* A payload of 16 bytes that looks like a mark is still what the file says. */
static void test_false_mark(void) {
  static const char mark[16] = "\x93rillraw\1\0\0\0\0\0\0";
  for (int number = 0; number < 4; number++) {
    char raw[16];
    memcpy(raw, mark, 16);
    raw[8] = (char)number;
    ir_text file = {0}, graph = {0}, tensor = {0}, other = tensor_of("o", 'o', 100);
    put_message(&graph, 5, &other);
    put_bytes(&tensor, 9, raw, 16);
    put_message(&graph, 5, &tensor);
    put_message(&file, 7, &graph);
    ir_onnx_wire wire;
    CHECK(check(&file, 1000, &wire) && wire.slice_count == 2);
    size_t size, length;
    Onnx__ModelProto *model = unpack(&wire, &size);
    if (!CHECK(model)) return;
    Onnx__TensorProto *found = model->graph->initializer[1];
    const uint8_t *bytes = ir_onnx_wire_payload(&wire, found->raw_data.data, found->raw_data.len, &length);
    CHECK(length == 16 && !memcmp(bytes, raw, 16));
    CHECK(holds(&wire, model->graph->initializer[0], 'o', 100));
    onnx__model_proto__free_unpacked(model, NULL);
    ir_text_free(&file);
  }
}

/* Lengths written longer than need be, as encoders that fill them in later do. */
static void test_padded_lengths(void) {
  ir_text file = {0}, graph = {0}, tensor = tensor_of("t", 't', 200);
  ir_text_bytes(&graph, "\x2a", 1);
  ir_text_char(&graph, (char)(tensor.length | 0x80));
  ir_text_char(&graph, (char)(tensor.length >> 7 | 0x80));
  ir_text_bytes(&graph, "\x80\x80\x00", 3);
  ir_text_bytes(&graph, tensor.at, tensor.length);
  put_message(&file, 7, &graph);
  ir_onnx_wire wire;
  CHECK(check(&file, 16, &wire));
  size_t size;
  Onnx__ModelProto *model = unpack(&wire, &size);
  if (!CHECK(model)) return;
  CHECK(model->graph->n_initializer == 1 && holds(&wire, model->graph->initializer[0], 't', 200));
  onnx__model_proto__free_unpacked(model, NULL);
  ir_text_free(&tensor);
  ir_text_free(&file);
}

static ir_text nested_graphs(int count) {
  ir_text graph = {0};
  ir_text_put(&graph, "");
  for (int i = 1; i < count; i++) {
    ir_text attribute = {0}, node = {0}, outer = {0};
    put_message(&attribute, 6, &graph);
    put_message(&node, 5, &attribute);
    put_message(&outer, 1, &node);
    graph = outer;
  }
  ir_text model = {0};
  put_message(&model, 7, &graph);
  return model;
}

static void test_depth(void) {
  ir_text file = nested_graphs(IR_ONNX_MAX_GRAPHS);
  expect(&file, "");
  file = nested_graphs(IR_ONNX_MAX_GRAPHS + 1);
  CHECK(!passes(file));
  CHECK(strstr(check_take(diags), ".attribute[0].g: more than 64 graphs within each other"));
  ir_text_free(&file);
  file = nested_graphs(3000);
  CHECK(file.length > 25000 && !passes(file));
  /* 4 bytes of key and length a message: the first graph starts at 4, the 64th at 4 + 63 * 12. */
  CHECK_DIAGS(diags, "m.onnx: not a well-formed ONNX model: at byte 768, in graph.node[0].attribute[0].g.node[0]."
                     "attribute[0].g....node[0].attribute[0].g.node[0].attribute[0].g: more than 64 graphs within each "
                     "other");
  ir_text_free(&file);
  for (int depth = 100; depth < 200; depth += 90) {
    ir_text type = {0}, value = {0}, graph = {0};
    ir_text_put(&type, "");
    for (int i = 0; i < depth; i++) {
      ir_text sequence = {0}, outer = {0};
      put_message(&sequence, 1, &type);
      put_message(&outer, 4, &sequence);
      type = outer;
    }
    put_message(&value, 2, &type);
    put_message(&graph, 11, &value);
    file = (ir_text){0};
    put_message(&file, 7, &graph);
    CHECK(passes(file) == (depth == 100));
    const char *said = check_take(diags);
    CHECK(depth == 100 ? !*said : !!strstr(said, "more than 256 messages within each other"));
    ir_text_free(&file);
  }
}

/* A model of one graph of these bytes. */
static void expect_in_graph(const char *bytes, size_t length, const char *error) {
  ir_text file = {0};
  put_bytes(&file, 7, bytes, length);
  expect(&file, error);
}

static void expect_bytes(const char *bytes, size_t length, const char *error) {
  ir_text file = {0};
  ir_text_bytes(&file, bytes, length);
  expect(&file, error);
}

#define OF(text) text, sizeof(text) - 1

static void test_hostile(void) {
  expect_bytes(OF(""), "");
  expect_bytes(OF("\x80"), "at byte 0: a field key that does not end");
  expect_bytes(OF("\xff\xff\xff\xff\xff\x01"), "at byte 0: a field key that does not end");
  expect_bytes(OF("\xff\xff\xff\xff\x7f\x01"), "at byte 0: a field key that does not end");
  expect_bytes(OF("\x00\x00"), "at byte 0: field number 0");
  expect_bytes(OF("\x08"), "at byte 1, in ir_version: a varint that does not end");
  expect_bytes(OF("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "");
  expect_bytes(OF("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
               "at byte 1, in ir_version: a varint that does not end");
  expect_bytes(OF("\x0b\x0c"), "at byte 0, in ir_version: a group, which ONNX does not use");
  expect_bytes(OF("\x0c"), "at byte 0, in ir_version: a group, which ONNX does not use");
  expect_bytes(OF("\x0e"), "at byte 0, in ir_version: a wire type that does not exist");
  expect_bytes(OF("\x0d\x01\x02\x03"),
               "at byte 1, in ir_version: a 32-bit number that does not fit the message around it");
  expect_bytes(OF("\x09\x01\x02\x03\x04\x05\x06\x07"),
               "at byte 1, in ir_version: a 64-bit number that does not fit the message around it");
  expect_bytes(OF("\x0d\x01\x02\x03\x04"), "at byte 0, in ir_version: wire type 5, expected 0");
  expect_bytes(OF("\x38\x01"), "at byte 0, in graph: wire type 0, expected 2");
  expect_bytes(OF("\x3a\x05\x00"), "at byte 1, in graph: a length that passes the end of the message around it");
  expect_bytes(OF("\x3a\xff\xff\xff\xff\x7f"),
               "at byte 1, in graph: a length that passes the end of the message around it");
  expect_bytes(OF("\x3a\x80\x80\x80\x80\x80\x00"), "at byte 1, in graph: a length that does not end");
  expect_bytes(OF("\x3a\x00\x3a\x00"), "at byte 2, in graph: a field that may occur once, again");
  expect_bytes(OF("\x12\x03x\x00y"), "at byte 3, in producer_name: a NUL byte in a string");
  expect_bytes(OF("\x32\x03x\x00y"), "");
  /* Unknown fields of every type are passed over, whole. */
  expect_bytes(OF("\xf8\x3f\x01\xfa\x3f\x02xy\xfd\x3f"
                  "abcd\xf9\x3f"
                  "abcdefgh"),
               "");
  expect_bytes(OF("\xfa\x3f\x03xy"), "at byte 2: a length that passes the end of the message around it");
  expect_bytes(OF("rill 1\nmodule {}\n"),
               "at byte 1, in metadata_props: a length that passes the end of the message around it");

  expect_in_graph(OF("\x0a\x00\x0a\x02\x2a\x05"),
                  "at byte 7, in graph.node[1].attribute: a length that passes the end of the message around it");
  /* The length of an attribute stays in the graph but leaves its node. */
  expect_in_graph(OF("\x0a\x02\x2a\x01\x00"),
                  "at byte 5, in graph.node[0].attribute: a length that passes the end of the message around it");
  expect_in_graph(OF("\x2a\x04\x0a\x02\x01\x80"),
                  "at byte 7, in graph.initializer[0].dims: a varint that does not end");
  expect_in_graph(OF("\x2a\x04\x0a\x02\x01\x02"), "");
  expect_in_graph(OF("\x2a\x04\x08\x02\x08\x01"), "");
  expect_in_graph(OF("\x2a\x05\x22\x03xyz"),
                  "at byte 5, in graph.initializer[0].float_data: a length that is no multiple of 4");
  expect_in_graph(OF("\x2a\x06\x52\x04wxyz"),
                  "at byte 5, in graph.initializer[0].double_data: a length that is no multiple of 8");
  expect_in_graph(OF("\x2a\x05\x25wxyz"), "");
  expect_in_graph(OF("\x2a\x04\x4a\x00\x4a\x00"),
                  "at byte 6, in graph.initializer[0].raw_data: a field that may occur once, again");
  expect_in_graph(OF("\x5a\x06\x12\x04\x0a\x00\x22\x00"),
                  "at byte 8, in graph.input[0].type.sequence_type: a second type in one place");
}

/* Every beginning of a model, and every model with one byte changed: refused once, or unpacked. */
static void test_damaged(void) {
  ir_text file = model_of(20);
  size_t whole = file.length;
  bool fine = true;
  for (size_t cut = 0; cut < whole; cut++) {
    file.length = cut;
    bool passed = passes(file);
    fine = fine && ir_diags_errors(diags) == !passed;
    ir_diags_discard(diags);
  }
  file.length = whole;
  for (size_t at = 0; at < whole; at++) {
    for (int bit = 0; bit < 8; bit++) {
      file.at[at] ^= (char)(1 << bit);
      bool passed = passes(file);
      fine = fine && ir_diags_errors(diags) == !passed;
      ir_diags_discard(diags);
      file.at[at] ^= (char)(1 << bit);
    }
  }
  CHECK(fine);
  ir_text_free(&file);
}

int main(void) {
  diags = ir_diags_new();
  ir_diags_set_limit(diags, 0);
  test_damaged();
  test_payloads(17);
  test_payloads(100);
  test_payloads(20000);
  test_false_mark();
  test_padded_lengths();
  test_depth();
  test_hostile();
  ir_diags_free(diags);
  ir_arena_free(&arena);
  ir_text_free(&check_reported);
  return CHECK_REPORT("onnx_wire");
}
