// SPDX-License-Identifier: Apache-2.0
/* What base/ promises: arenas, vectors, maps, interning, checked arithmetic, text, near misses, diagnostics. */
#include "base/checked.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/vec.h"
#include "test/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

static bool all_zero(const uint8_t *at, size_t size) {
  while (size && !*at) at++, size--;
  return !size;
}

static void test_arena(void) {
  ir_arena arena = {0};
  uint8_t *small = ir_arena_alloc(&arena, 3), *large = ir_arena_alloc(&arena, 100);
  CHECK((uintptr_t)small % 8 == 0 && (uintptr_t)large % 16 == 0);
  CHECK(all_zero(small, 3) && all_zero(large, 100));
  CHECK((uintptr_t)ir_arena_alloc_aligned(&arena, 10, 4096) % 4096 == 0);
  CHECK_TEXT(ir_arena_copy(&arena, "abcdef", 3), "abc");
  CHECK_TEXT(ir_arena_printf(&arena, "%d and %s", 7, "more"), "7 and more");

  uint8_t *huge = ir_arena_alloc(&arena, 10u << 20);
  CHECK(all_zero(huge, 10u << 20));
  memset(huge, 1, 10u << 20);

  ir_arena_alloc(&arena, 64);
  ir_arena_mark mark = ir_arena_get_mark(&arena);
  uint8_t *first = ir_arena_alloc(&arena, 64);
  memset(first, 0xff, 64);
  for (int i = 0; i < 1000; i++) memset(ir_arena_alloc(&arena, 4000), 0xff, 4000);
  ir_arena_reset(&arena, mark);
  uint8_t *again = ir_arena_alloc(&arena, 64);
  CHECK(again == first);
  CHECK(all_zero(again, 64));
  CHECK(all_zero(ir_arena_alloc(&arena, 100000), 100000));
  ir_arena_free(&arena);
}

static void test_vec(void) {
  ir_arena arena = {0};
  ir_vec(int) numbers = {0};
  for (int i = 0; i < 1000; i++) *ir_push(&arena, &numbers) = i;
  int sum = 0;
  for (size_t i = 0; i < numbers.count; i++) sum += numbers.at[i];
  CHECK(numbers.count == 1000 && sum == 499500);
  CHECK(*ir_push(&arena, &numbers) == 0);
  ir_arena_free(&arena);
}

static void test_map(void) {
  enum { COUNT = 5000 };
  static char keys[COUNT];
  ir_arena arena = {0};
  ir_map map = {0};
  CHECK(!ir_map_get(&map, &keys[0]) && !ir_map_has(&map, &keys[0]));
  for (int i = 0; i < COUNT; i++) ir_map_put(&arena, &map, &keys[i], &keys[COUNT - 1 - i]);
  int right = 0;
  for (int i = 0; i < COUNT; i++) right += ir_map_get(&map, &keys[i]) == &keys[COUNT - 1 - i];
  CHECK(right == COUNT && map.count == COUNT);

  for (int i = 0; i < COUNT; i += 2) ir_map_remove(&map, &keys[i]);
  ir_map_remove(&map, &map);
  right = 0;
  for (int i = 0; i < COUNT; i++) right += ir_map_has(&map, &keys[i]) == (i % 2 == 1);
  CHECK(right == COUNT && map.count == COUNT / 2);

  void **slot = ir_map_slot(&arena, &map, &keys[0]);
  CHECK(!*slot && ir_map_has(&map, &keys[0]));
  *slot = &map;
  CHECK(ir_map_get(&map, &keys[0]) == &map);
  for (int round = 0; round < 100 * COUNT; round++) {
    ir_map_put(&arena, &map, &keys[0], NULL);
    ir_map_remove(&map, &keys[0]);
  }
  CHECK(map.count == COUNT / 2 && map.capacity < 8 * COUNT);
  ir_arena_free(&arena);
}

static bool same_text(const void *object, const void *key) { return !strcmp(object, key); }

static const char *intern(ir_arena *arena, ir_interner *table, const char *text, uint64_t hash) {
  void **slot = ir_intern_slot(arena, table, hash, text, same_text);
  if (!*slot) *slot = ir_arena_copy(arena, text, strlen(text));
  return *slot;
}

static void test_interner(void) {
  ir_arena arena = {0};
  ir_interner table = {0};
  const char *a = intern(&arena, &table, "a", 1), *b = intern(&arena, &table, "b", 1);
  CHECK(a != b); /* equal hashes, different texts */
  for (int i = 0; i < 1000; i++) {
    const char *text = ir_arena_printf(&arena, "name%d", i);
    intern(&arena, &table, text, ir_hash_bytes(text, strlen(text)));
  }
  CHECK(intern(&arena, &table, "a", 1) == a && intern(&arena, &table, "b", 1) == b);
  CHECK_TEXT(intern(&arena, &table, "name7", ir_hash_bytes("name7", 5)), "name7");
  CHECK(table.count == 1002);
  ir_arena_free(&arena);
}

static void test_checked(void) {
  int64_t out;
  CHECK(ir_add_i64(INT64_MAX - 1, 1, &out) && out == INT64_MAX);
  CHECK(!ir_add_i64(INT64_MAX, 1, &out) && !ir_sub_i64(INT64_MIN, 1, &out));
  CHECK(ir_mul_i64(INT64_C(3037000499), INT64_C(3037000499), &out) && out == INT64_C(9223372030926249001));
  CHECK(!ir_mul_i64(INT64_C(3037000500), INT64_C(3037000500), &out) && !ir_mul_i64(INT64_MIN, -1, &out));
  CHECK(ir_floordiv_i64(7, 2) == 3 && ir_floordiv_i64(-7, 2) == -4 && ir_floordiv_i64(7, -2) == -4);
  CHECK(ir_floordiv_i64(-7, -2) == 3 && ir_floordiv_i64(-6, 2) == -3 && ir_floordiv_i64(0, -5) == 0);
  CHECK(ir_floormod_i64(7, 3) == 1 && ir_floormod_i64(-7, 3) == 2 && ir_floormod_i64(7, -3) == -2);
  CHECK(ir_floormod_i64(-7, -3) == -1 && ir_floormod_i64(6, -3) == 0);
  CHECK(ir_ceildiv_i64(7, 2) == 4 && ir_ceildiv_i64(-7, 2) == -3 && ir_ceildiv_i64(8, 2) == 4);
}

static void check_escaped(ir_slice bytes, const char *expected) {
  ir_text text = {0};
  ir_text_put(&text, "");
  ir_text_escaped(&text, bytes);
  CHECK_TEXT(text.at, expected);
  ir_text_free(&text);
}

static void test_text(void) {
  ir_text text = {0};
  for (int i = 0; i < 300; i++) ir_text_printf(&text, "%d,", i % 10);
  CHECK(text.length == 600 && text.at[600] == 0 && !strncmp(text.at, "0,1,2,", 6));
  ir_text_free(&text);
  CHECK(!text.at && !text.length);

  check_escaped(ir_lit("plain"), "plain");
  check_escaped(ir_lit("a\"b\\c\n\t"), "a\\\"b\\\\c\\n\\t");
  check_escaped(ir_lit("\0\x1b\x7f\r"), "\\x00\\x1b\\x7f\\x0d");
  check_escaped(ir_lit("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
                "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  check_escaped(ir_lit("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82");
  check_escaped(ir_lit("\xc2\x85\xe2\x80\xae"), "\\u{85}\\u{202E}");
}

static size_t utf8(const char *text) { return ir_utf8_length(ir_slice_of(text)); }

static void test_utf8(void) {
  CHECK(utf8("") == 0 && utf8("a") == 1 && utf8("\x7f") == 1);
  CHECK(utf8("\xc2\x80") == 2 && utf8("\xe0\xa0\x80") == 3 && utf8("\xf0\x90\x80\x80") == 4);
  CHECK(utf8("\xf4\x8f\xbf\xbf") == 4 && utf8("\xed\x9f\xbf") == 3 && utf8("\xee\x80\x80") == 3);
  CHECK(!utf8("\x80") && !utf8("\xc3") && !utf8("\xe2\x82")); /* stray and cut short */
  CHECK(!utf8("\xc0\x80") && !utf8("\xc1\xbf") && !utf8("\xe0\x9f\xbf") && !utf8("\xf0\x8f\xbf\xbf")); /* overlong */
  CHECK(!utf8("\xed\xa0\x80") && !utf8("\xf4\x90\x80\x80") && !utf8("\xf5\x80\x80\x80"));
  char out[5] = {0};
  CHECK(ir_utf8_encode(out, 'A') == 1 && !memcmp(out, "A", 1));
  CHECK(ir_utf8_encode(out, 0xfc) == 2 && !memcmp(out, "\xc3\xbc", 2));
  CHECK(ir_utf8_encode(out, 0x20ac) == 3 && !memcmp(out, "\xe2\x82\xac", 3));
  CHECK(ir_utf8_encode(out, 0x1f600) == 4 && !memcmp(out, "\xf0\x9f\x98\x80", 4));
  CHECK(!ir_utf8_encode(out, 0xd800) && !ir_utf8_encode(out, 0xdfff) && !ir_utf8_encode(out, 0x110000));
}

static size_t distance(const char *a, const char *b) { return ir_edit_distance(ir_slice_of(a), ir_slice_of(b), 20); }

static const char *nearest(const char *wanted, const char *const *candidates) {
  ir_nearest found = {.wanted = ir_slice_of(wanted)};
  for (; *candidates; candidates++) ir_nearest_offer(&found, ir_slice_of(*candidates));
  return found.best.at;
}

static void test_distance(void) {
  CHECK(distance("", "") == 0 && distance("abc", "") == 3 && distance("", "ab") == 2);
  CHECK(distance("kitten", "sitting") == 3);
  CHECK(distance("relu", "rleu") == 1 && distance("ab", "ba") == 1);
  CHECK(ir_edit_distance(ir_lit("kitten"), ir_lit("sitting"), 2) == 3);
  const char *const names[] = {"nn.relu", "nn.gelu", "matmul", "add", NULL};
  CHECK_TEXT(nearest("nn.rleu", names), "nn.relu");
  CHECK_TEXT(nearest("matmull", names), "matmul");
  CHECK_TEXT(nearest("ad", names), "add");
  CHECK(!nearest("subtract", names) && !nearest("", names));
}

static ir_range range_of(const ir_source *source, size_t begin, size_t end) {
  return (ir_range){source->base + (uint32_t)begin, source->base + (uint32_t)end};
}

static void check_printed(const ir_diags *diags, const ir_diag *diag, const char *expected) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  ir_diag_print(out, diags, diag);
  fclose(out);
  CHECK_TEXT(text, expected);
  free(text);
}

static void test_diag_text(void) {
  ir_diags *diags = ir_diags_new();
  const char *text = "func @f() {\n  %y = addd(%x)\n}\n";
  const ir_source *source = ir_source_add(diags, "m.rill", text, strlen(text), 1);
  ir_diag *diag = ir_error(diags, range_of(source, 19, 23), "unknown operator '%s'", "addd");
  ir_note(diags, diag, range_of(source, 5, 7), "in this function");
  check_printed(diags, diag,
                "m.rill:2:8: error: unknown operator 'addd'\n"
                "    %y = addd(%x)\n"
                "         ^~~~\n"
                "m.rill:1:6: note: in this function\n"
                "  func @f() {\n"
                "       ^~\n");
  check_printed(diags, ir_warning(diags, range_of(source, 30, 30), "at the end"),
                "m.rill:4:1: warning: at the end\n  \n  ^\n");
  check_printed(diags, ir_error(diags, (ir_range){0, 0}, "no place"), "error: no place\n");
  check_printed(diags, ir_error_in(diags, "m.onnx: node 'a'", "a \x1b[31m b"),
                "m.onnx: node 'a': error: a \\x1b[31m b\n");
  CHECK(ir_slice_is(ir_range_text(diags, range_of(source, 19, 23)), "addd"));
  CHECK(ir_range_text(diags, (ir_range){0, 0}).length == 0);

  /* A later chunk of a split file keeps the file's line numbers; a tab is one column wide in the excerpt. */
  const ir_source *chunk = ir_source_add(diags, "m.rill", "\t\"\xc3\xbc\" x\x01\n", 8, 41);
  check_printed(diags, ir_remark(diags, range_of(chunk, 6, 7), "here"),
                "m.rill:41:7: remark: here\n   \"\xc3\xbc\" x\\x01\n       ^\n");
  ir_diags_discard(diags);
  ir_diags_free(diags);
}

static void test_diag_long_line(void) {
  enum { LENGTH = 20000 };
  char *text = malloc(LENGTH + 1);
  memset(text, 'x', LENGTH);
  text[LENGTH] = 0;
  ir_diags *diags = ir_diags_new();
  const ir_source *source = ir_source_add(diags, "long", text, LENGTH, 1);
  const ir_diag *diag = ir_error(diags, range_of(source, 10000, 10003), "wrong");
  char *printed = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&printed, &size);
  ir_diag_print(out, diags, diag);
  fclose(out);
  CHECK(!strncmp(printed, "long:1:10001: error: wrong\n  xxx", 32));
  CHECK(size < 500);
  CHECK(strstr(printed, " ^~~\n"));
  free(printed);
  ir_diags_discard(diags);
  ir_diags_free(diags);
  free(text);
}

static void count(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)diags;
  int *counts = user;
  counts[diag->severity]++;
}

static void test_diag_collecting(void) {
  int counts[4] = {0};
  ir_diags *diags = ir_diags_new();
  ir_diags_set_handler(diags, count, counts);
  for (int i = 0; i < 30; i++) ir_error(diags, (ir_range){0, 0}, "error %d", i);
  ir_warning(diags, (ir_range){0, 0}, "one");
  CHECK(ir_diags_errors(diags) == 30 && !counts[IR_ERROR]);
  ir_diags_flush(diags);
  CHECK(counts[IR_ERROR] == 20 && counts[IR_WARNING] == 1 && counts[IR_NOTE] == 1);
  ir_diags_flush(diags);
  CHECK(counts[IR_ERROR] == 20);
  ir_error(diags, (ir_range){0, 0}, "dropped");
  ir_diags_discard(diags);
  ir_diags_flush(diags);
  CHECK(ir_diags_errors(diags) == 30 && counts[IR_ERROR] == 20);
  ir_diags_free(diags);
}

/* Files whose size is and is not a multiple of a page, small ones that are read and large ones that are mapped. */
static void test_source_open(void) {
  ir_diags *diags = ir_diags_new();
  int counts[4] = {0};
  ir_diags_set_handler(diags, count, counts);
  static const size_t sizes[] = {0, 1, 4096, 1 << 14, (1 << 16) - 1, 1 << 16, (1 << 17) + 3};
  for (size_t i = 0; i < ir_count_of(sizes); i++) {
    char path[] = "/tmp/rill-base-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "wb");
    for (size_t n = 0; n < sizes[i]; n++) fputc('a' + (int)(n % 7), file);
    fclose(file);
    const ir_source *source = ir_source_open(diags, path);
    bool right = source && source->length == sizes[i] && !source->text[sizes[i]];
    CHECK(right && (!sizes[i] || source->text[sizes[i] - 1] == 'a' + (char)((sizes[i] - 1) % 7)));
    unlink(path);
  }
  CHECK(!ir_source_open(diags, "/tmp"));
  CHECK(!ir_source_open(diags, "/nonexistent/file"));
  CHECK(ir_diags_errors(diags) == 2);
  ir_diags_flush(diags);
  CHECK(counts[IR_ERROR] == 2);
  ir_diags_free(diags);
}

/* The examples of FIPS 180-4's test vectors: one block, none, two, many; and each length about a block's end. */
static void test_sha256(void) {
  char text[IR_SHA256_TEXT];
  ir_sha256_text("abc", 3, text);
  CHECK_TEXT(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  ir_sha256_text("", 0, text);
  CHECK_TEXT(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  ir_sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, text);
  CHECK_TEXT(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  enum { MILLION = 1000000 };
  char *many = malloc(MILLION);
  memset(many, 'a', MILLION);
  ir_sha256_text(many, MILLION, text);
  CHECK_TEXT(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  const struct {
    size_t length;
    const char *digest;
  } ends[] = {{55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
              {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
              {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
              {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"}};
  for (size_t i = 0; i < ir_count_of(ends); i++) {
    ir_sha256_text(many, ends[i].length, text);
    CHECK_TEXT(text, ends[i].digest);
  }
  free(many);
}

int main(void) {
  test_sha256();
  test_arena();
  test_vec();
  test_map();
  test_interner();
  test_checked();
  test_text();
  test_utf8();
  test_distance();
  test_diag_text();
  test_diag_long_line();
  test_diag_collecting();
  test_source_open();
  return CHECK_REPORT("base");
}
