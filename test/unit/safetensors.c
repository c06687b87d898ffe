// SPDX-License-Identifier: Apache-2.0
/* runtime/safetensors: files typed in by hand, what is refused, and the bytes that are written. */
#include "runtime/safetensors.h"
#include "base/file.h"
#include "base/vec.h"
#include "test/unit/check_diags.h"

#include <stdlib.h>
#include <unistd.h>

static ir_diags *diags;

static ir_text made(const char *header, size_t length, const char *data, size_t size) {
  ir_text file = {0};
  for (int i = 0; i < 8; i++) ir_text_char(&file, (char)((uint64_t)length >> (8 * i) & 0xff));
  ir_text_put(&file, header);
  ir_text_bytes(&file, data, size);
  return file;
}

/* An exact heap copy lets a sanitizer see every read beyond the end. */
static bool parses(ir_text file) {
  uint8_t *copy = malloc(file.length + !file.length);
  memcpy(copy, file.at, file.length);
  ir_safetensors *parsed = ir_safetensors_parse(diags, "w", copy, file.length);
  if (parsed) ir_safetensors_close(parsed);
  free(copy);
  return parsed;
}

static void expect(const char *header, const char *data, size_t size, const char *error) {
  ir_text file = made(header, strlen(header), data, size), wanted = {0};
  ir_text_printf(&wanted, *error ? "w: %s" : "%s", error);
  CHECK(parses(file) == !*error);
  CHECK_DIAGS(diags, wanted.at);
  ir_text_free(&file);
  ir_text_free(&wanted);
}

static void test_reading(void) {
  const char *header = "{\"__metadata__\":{\"format\":\"pt\"},"
                       "\"b\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[3,11]},"
                       "\"a\\\"\\u00e9\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                       "\"\":{\"dtype\":\"F8_E4M3\",\"shape\":[0,5],\"data_offsets\":[11,11]},"
                       "\"s\":{\"shape\":[],\"data_offsets\":[11,12],\"dtype\":\"BOOL\"}}   ";
  ir_text text = made(header, strlen(header), "abc\0\0\x80\x3f\0\0\0\xc0\1", 12);
  ir_safetensors *file = ir_safetensors_parse(diags, "w", (const uint8_t *)text.at, text.length);
  CHECK_DIAGS(diags, "");
  if (!CHECK(file)) return;
  CHECK(ir_safetensors_count(file) == 4);
  const ir_safetensor *b = ir_safetensors_find(file, ir_lit("b"));
  CHECK(b && b == ir_safetensors_at(file, 0));
  CHECK(b->dtype == IR_F32 && b->rank == 2 && b->dims[0] == 1 && b->dims[1] == 2 && b->size == 8);
  CHECK(!memcmp(b->bytes, "\0\0\x80\x3f\0\0\0\xc0", 8));
  CHECK((const char *)b->bytes == text.at + text.length - 9);
  CHECK_TEXT(b->name.at, "b");
  const ir_safetensor *a = ir_safetensors_find(file, ir_lit("a\"\xc3\xa9"));
  CHECK(a && a->dtype == IR_U8 && a->size == 3 && !memcmp(a->bytes, "abc", 3));
  const ir_safetensor *empty = ir_safetensors_find(file, ir_lit(""));
  CHECK(empty && empty->dtype == IR_F8E4M3 && empty->size == 0 && empty->rank == 2);
  const ir_safetensor *s = ir_safetensors_find(file, ir_lit("s"));
  CHECK(s && s->dtype == IR_BOOL && s->rank == 0 && s->bytes[0] == 1);
  CHECK(!ir_safetensors_find(file, ir_lit("c")) && !ir_safetensors_find(file, ir_lit("__metadata__")));
  ir_safetensors_close(file);
  for (size_t whole = text.length, cut = 0; cut < whole; cut++) {
    text.length = cut;
    CHECK(!parses(text) && ir_diags_errors(diags) == 1);
    ir_diags_discard(diags);
  }
  ir_text_free(&text);
}

#define TENSOR(dtype, shape, offsets) "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_hostile(void) {
  expect("{}", "", 0, "");
  expect("{}", "x", 1, "the last 1 bytes of the data belong to no tensor");
  expect("", "", 0, "not a safetensors file: expected '{' at byte 8");
  expect(" {}", "", 0, "not a safetensors file: expected '{' at byte 8");
  expect("{}}", "", 0, "at byte 11 of the header: end of file expected near '}'");
  expect("{\"a\":1}", "", 0, "tensor 'a': expected an object of 'dtype', 'shape' and 'data_offsets'");
  expect("{\"a\":{}}", "", 0, "tensor 'a': expected an object of 'dtype', 'shape' and 'data_offsets'");
  expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"x\":1}}", "x", 1,
         "tensor 'a': expected an object of 'dtype', 'shape' and 'data_offsets'");
  expect("{\"a\":1,\"a\":1}", "", 0, "at byte 18 of the header: duplicate object key near '\\\"a\\\"'");
  expect("{\"\xff\":1}", "", 0, "at byte 10 of the header: unable to decode byte 0xff near '\\\"'");
  expect("{\"a\\u0000\":1}", "", 0,
         "at byte 18 of the header: NUL byte in object key not supported near '\\\"a\\\\u0000\\\"'");
  expect("{\"__metadata__\":[]}", "", 0, "expected '__metadata__' to be an object");
  expect("{\"__metadata__\":{\"k\":1}}", "", 0, "expected 'k' of '__metadata__' to be a string");
  expect(TENSOR("4", "[1]", "[0,1]"), "x", 1, "tensor 'a': expected 'dtype' to be a string");
  expect(TENSOR("\"C64\"", "[1]", "[0,8]"), "12345678", 8, "tensor 'a': element type 'C64' has no counterpart in Rill");
  expect(TENSOR("\"U8\"", "1", "[0,1]"), "x", 1, "tensor 'a': expected 'shape' to be an array");
  expect(TENSOR("\"U8\"", "[-1]", "[0,1]"), "x", 1, "tensor 'a': extent 0 is not an integer of at least 0");
  expect(TENSOR("\"U8\"", "[1,1.0]", "[0,1]"), "x", 1, "tensor 'a': extent 1 is not an integer of at least 0");
  expect(TENSOR("\"U8\"", "[99999999999999999999]", "[0,1]"), "x", 1,
         "at byte 56 of the header: too big integer near '99999999999999999999'");
  expect(TENSOR("\"U8\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), "x", 1,
         "tensor 'a': rank 33, at most 32 is possible");
  expect(TENSOR("\"F32\"", "[4611686018427387904]", "[0,1]"), "x", 1, "tensor 'a': its size passes 63 bits");
  expect(TENSOR("\"U8\"", "[4611686018427387904,4,0]", "[0,0]"), "", 0, "tensor 'a': its size passes 63 bits");
  expect(TENSOR("\"U8\"", "[1]", "[0]"), "x", 1, "tensor 'a': expected 'data_offsets' to be two integers");
  expect(TENSOR("\"U8\"", "[1]", "[0,1,1]"), "x", 1, "tensor 'a': expected 'data_offsets' to be two integers");
  expect(TENSOR("\"U8\"", "[1]", "{}"), "x", 1, "tensor 'a': expected 'data_offsets' to be two integers");
  expect(TENSOR("\"U8\"", "[2]", "[0,2]"), "x", 1, "tensor 'a': offsets 0 to 2 are out of the 1 bytes of data");
  expect(TENSOR("\"U8\"", "[1]", "[-1,0]"), "x", 1, "tensor 'a': offsets -1 to 0 are out of the 1 bytes of data");
  expect(TENSOR("\"U8\"", "[1]", "[1,0]"), "x", 1, "tensor 'a': offsets 1 to 0 are out of the 1 bytes of data");
  expect(TENSOR("\"F32\"", "[1]", "[0,3]"), "abc", 3,
         "tensor 'a': shape and element type ask for 4 bytes, its offsets give 3");
  expect(TENSOR("\"BOOL\"", "[2]", "[0,2]"), "\1\2", 2, "tensor 'a': element 1 is 2, expected 0 or 1 for a bool");
  expect(TENSOR("\"U8\"", "[1]", "[1,2]"), "xy", 2, "bytes 0 to 1 of the data, before tensor 'a', belong to no tensor");
  expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         "xyz", 3, "tensor 'b' overlaps 'a'");
  ir_text file = made("{}", (uint64_t)-1, "", 0);
  CHECK(!parses(file));
  CHECK_DIAGS(diags, "w: not a safetensors file: it starts with a header length of 18446744073709551615, the file has "
                     "10 bytes");
  ir_text_free(&file);
  ir_text deep = {0};
  ir_text_put(&deep, "{\"a\":");
  for (int i = 0; i < 100000; i++) ir_text_char(&deep, '[');
  file = made(deep.at, deep.length, "", 0);
  CHECK(!parses(file));
  CHECK(strstr(check_take(diags), "maximum parsing depth reached"));
  ir_text_free(&file);
  ir_text_free(&deep);
}

static void test_writing(void) {
  static const uint8_t f32[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, ones[64] = {1, 2, 3};
  const ir_safetensor tensors[] = {
      {ir_lit("z"), IR_F32, 2, {1, 2}, f32, 8},     {ir_lit("a\"\\\n\xc3\xa9"), IR_BF16, 1, {3}, ones, 6},
      {ir_lit("none"), IR_I64, 1, {0}, ones, 0},    {ir_lit("full"), IR_F8E5M2, 3, {2, 4, 8}, ones, 64},
      {ir_lit("scalar"), IR_BOOL, 0, {0}, ones, 1},
  };
  CHECK(ir_safetensors_write(diags, "out", tensors, 5));
  CHECK_DIAGS(diags, "");
  ir_file bytes;
  if (!CHECK(ir_file_open(diags, "out", &bytes))) return;
  const char *header = "{\"z\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                       "\"__padding__.0\":{\"dtype\":\"U8\",\"shape\":[56],\"data_offsets\":[8,64]},"
                       "\"a\\\"\\\\\\u000a\xc3\xa9\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[64,70]},"
                       "\"none\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[70,70]},"
                       "\"__padding__.1\":{\"dtype\":\"U8\",\"shape\":[58],\"data_offsets\":[70,128]},"
                       "\"full\":{\"dtype\":\"F8_E5M2\",\"shape\":[2,4,8],\"data_offsets\":[128,192]},"
                       "\"scalar\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[192,193]}}";
  size_t length = bytes.bytes[0] | (size_t)bytes.bytes[1] << 8;
  CHECK(!memcmp(bytes.bytes + 2, "\0\0\0\0\0\0", 6) && (length + 8) % 64 == 0 && length - strlen(header) < 64);
  CHECK(!memcmp(bytes.bytes + 8, header, strlen(header)));
  CHECK(bytes.size == 8 + length + 193);
  ir_file_close(&bytes);

  ir_safetensors *file = ir_safetensors_open(diags, "out");
  if (!CHECK(file)) return;
  for (size_t i = 0; i < ir_count_of(tensors); i++) {
    const ir_safetensor *found = ir_safetensors_find(file, tensors[i].name), *wanted = &tensors[i];
    if (!CHECK(found)) continue;
    CHECK(found->dtype == wanted->dtype && found->rank == wanted->rank && found->size == wanted->size);
    CHECK(!memcmp(found->dims, wanted->dims, sizeof found->dims) && !memcmp(found->bytes, wanted->bytes, wanted->size));
  }
  ir_safetensors_close(file);
  CHECK(ir_safetensors_write(diags, "out", NULL, 0));
  file = ir_safetensors_open(diags, "out");
  CHECK(file && !ir_safetensors_count(file));
  if (file) ir_safetensors_close(file);
  CHECK(!unlink("out"));
}

static void test_mapped(void) {
  enum { SIZE = 1 << 20 };
  uint8_t *many = malloc(SIZE);
  for (int i = 0; i < SIZE; i++) many[i] = (uint8_t)(i % 251);
  const ir_safetensor tensors[] = {{ir_lit("a"), IR_U8, 1, {SIZE - 1}, many, SIZE - 1},
                                   {ir_lit("b"), IR_F32, 1, {SIZE / 4}, many, SIZE}};
  CHECK(ir_safetensors_write(diags, "out", tensors, 2));
  ir_safetensors *file = ir_safetensors_open(diags, "out");
  if (!CHECK(file)) return;
  const ir_safetensor *b = ir_safetensors_find(file, ir_lit("b"));
  CHECK(b && (uintptr_t)b->bytes % 64 == 0 && !memcmp(b->bytes, many, SIZE));
  /* Writing the file anew from its own mapping. */
  CHECK(ir_safetensors_write(diags, "out", b, 1));
  CHECK(!memcmp(b->bytes, many, SIZE));
  ir_safetensors_close(file);
  free(many);
}

static void refuse(ir_safetensor second, const char *error) {
  const ir_safetensor tensors[] = {{ir_lit("a"), IR_U8, 1, {1}, (const uint8_t *)"x", 1}, second};
  CHECK(!ir_safetensors_write(diags, "bad", tensors, 2));
  CHECK_DIAGS(diags, error);
  CHECK(access("bad", F_OK));
}

static void test_refused(void) {
  static const uint8_t bytes[8];
  refuse((ir_safetensor){ir_lit("q"), IR_I4, 1, {2}, bytes, 1},
         "bad: tensor 'q': safetensors has no element type for i4");
  refuse((ir_safetensor){ir_lit("q"), IR_U4, 1, {2}, bytes, 1},
         "bad: tensor 'q': safetensors has no element type for u4");
  refuse((ir_safetensor){ir_lit("q"), IR_F32, 1, {2}, bytes, 4},
         "bad: tensor 'q': its shape does not fit 4 bytes of f32");
  refuse((ir_safetensor){ir_lit("a"), IR_U8, 1, {2}, bytes, 2}, "bad: tensor 'a' occurs twice");
  refuse((ir_safetensor){ir_lit("a\0b"), IR_U8, 1, {2}, bytes, 2},
         "bad: tensor 'a\\x00b': a name in safetensors is UTF-8 without NUL");
  refuse((ir_safetensor){ir_lit("\xff"), IR_U8, 1, {2}, bytes, 2},
         "bad: tensor '\\xff': a name in safetensors is UTF-8 without NUL");
  refuse((ir_safetensor){ir_lit("__metadata__"), IR_U8, 1, {2}, bytes, 2},
         "bad: tensor '__metadata__': safetensors files keep this name for themselves");
  refuse((ir_safetensor){ir_lit("__padding__.7"), IR_U8, 1, {2}, bytes, 2},
         "bad: tensor '__padding__.7': safetensors files keep this name for themselves");
}

int main(void) {
  char folder[] = "/tmp/rill-safetensors-XXXXXX", command[64];
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  diags = ir_diags_new();
  ir_diags_set_limit(diags, 0);
  test_reading();
  test_hostile();
  test_writing();
  test_mapped();
  test_refused();
  ir_diags_free(diags);
  ir_text_free(&check_reported);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(!system(command));
  return CHECK_REPORT("safetensors");
}
