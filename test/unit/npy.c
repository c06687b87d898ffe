// SPDX-License-Identifier: Apache-2.0
/* runtime/npy: the headers and element bytes here are what np.save of NumPy 1.24 writes, and headers made to harm. */
#include "runtime/npy.h"
#include "base/file.h"
#include "base/vec.h"
#include "test/unit/check_diags.h"

#include <stdlib.h>
#include <unistd.h>

static ir_diags *diags;
static ir_arena arena;

/* A file of format MAJOR.0 with HEADER as it stands, and the elements. */
static ir_text made(int major, const char *header, const void *data, size_t size) {
  ir_text file = {0};
  size_t length = strlen(header);
  ir_text_bytes(&file, "\x93NUMPY", 6);
  ir_text_char(&file, (char)major);
  ir_text_char(&file, 0);
  for (int i = 0; i < (major == 1 ? 2 : 4); i++) ir_text_char(&file, (char)(length >> (8 * i) & 0xff));
  ir_text_bytes(&file, header, length);
  ir_text_bytes(&file, data, size);
  return file;
}

static bool parse(ir_text file, ir_npy *array) {
  /* An exact heap copy lets a sanitizer see every read beyond the end. */
  uint8_t *copy = malloc(file.length + !file.length);
  memcpy(copy, file.at, file.length);
  bool parsed = ir_npy_parse(diags, &arena, "x.npy", copy, file.length, array);
  free(copy);
  return parsed;
}

static bool read_as(int major, const char *header, const void *data, size_t size, ir_npy *array) {
  ir_text file = made(major, header, data, size);
  bool parsed = parse(file, array);
  ir_text_free(&file);
  return parsed;
}

static void test_elements(void) {
  static const struct {
    const char *descr;
    ir_dtype dtype;
    size_t size;
    const char *file, *memory; /* two elements; NULL for zeros */
  } rows[] = {
      {"|b1", IR_BOOL, 2, "\x00\x07", "\x00\x01"},
      {"?1", IR_DTYPE_UNKNOWN, 2, "\x00\x01", ""},
      {"|i1", IR_I8, 2, "\x80\x7f", "\x80\x7f"},
      {"<u1", IR_U8, 2, "\x80\x7f", "\x80\x7f"},
      {">i1", IR_I8, 2, "\x80\x7f", "\x80\x7f"},
      {"<i2", IR_I16, 4, "\x01\x02\x03\x04", "\x01\x02\x03\x04"},
      {">i2", IR_I16, 4, "\x01\x02\x03\x04", "\x02\x01\x04\x03"},
      {">u2", IR_U16, 4, "\x01\x02\x03\x04", "\x02\x01\x04\x03"},
      {"=u2", IR_U16, 4, "\x01\x02\x03\x04", "\x01\x02\x03\x04"},
      {"|u2", IR_DTYPE_UNKNOWN, 4, "\x01\x02\x03\x04", ""},
      {">i4", IR_I32, 8, "\x01\x02\x03\x04\x05\x06\x07\x08", "\x04\x03\x02\x01\x08\x07\x06\x05"},
      {"<u4", IR_U32, 8, "\x01\x02\x03\x04\x05\x06\x07\x08", "\x01\x02\x03\x04\x05\x06\x07\x08"},
      {">f4", IR_F32, 8, "\x3f\x80\x00\x00\xc0\x00\x00\x00", "\x00\x00\x80\x3f\x00\x00\x00\xc0"},
      {"f4", IR_F32, 8, "\x00\x00\x80\x3f\x00\x00\x00\xc0", "\x00\x00\x80\x3f\x00\x00\x00\xc0"},
      {"<f2", IR_F16, 4, "\x00\x3c\x00\xc0", "\x00\x3c\x00\xc0"},
      {">i8", IR_I64, 16, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", "\10\7\6\5\4\3\2\1\20\17\16\15\14\13\12\11"},
      {"<u8", IR_U64, 16, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20"},
      {"<f8", IR_F64, 16, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20"},
      {"|V1", IR_DTYPE_UNKNOWN, 2, "\x01\x02", ""},
      {"<f16", IR_DTYPE_UNKNOWN, 32, NULL, ""},
      {"<c8", IR_DTYPE_UNKNOWN, 16, NULL, ""},
  };
  for (size_t i = 0; i < ir_count_of(rows); i++) {
    char header[128], data[32] = {0};
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }\n", rows[i].descr);
    if (rows[i].file) memcpy(data, rows[i].file, rows[i].size);
    ir_npy array;
    bool known = rows[i].dtype != IR_DTYPE_UNKNOWN;
    if (!CHECK(read_as(1, header, data, rows[i].size, &array) == known)) fprintf(stderr, "  %s\n", rows[i].descr);
    CHECK(ir_diags_errors(diags) == !known);
    ir_diags_discard(diags);
    if (!known) continue;
    CHECK(array.dtype == rows[i].dtype && array.rank == 1 && array.dims[0] == 2 && array.size == rows[i].size);
    if (!CHECK(!memcmp(array.bytes, rows[i].memory, array.size))) fprintf(stderr, "  %s\n", rows[i].descr);
  }
}

static void test_orders(void) {
  ir_npy array;
  /* np.asfortranarray(np.arange(6).reshape(2, 3)), big-endian 16-bit. */
  CHECK(read_as(1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", "\0\0\0\3\0\1\0\4\0\2\0\5", 12,
                &array));
  CHECK(array.rank == 2 && array.dims[0] == 2 && array.dims[1] == 3);
  CHECK(!memcmp(array.bytes, "\0\0\1\0\2\0\3\0\4\0\5\0", 12));
  /* np.asfortranarray(np.arange(24).reshape(2, 3, 4)).tobytes('F') */
  static const char columns[] = {0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23};
  CHECK(read_as(2, "{'shape': (2, 3, 4), 'fortran_order': True, 'descr': '|u1'}", columns, 24, &array));
  bool counts = true;
  for (int i = 0; i < 24; i++) counts = counts && array.bytes[i] == i;
  CHECK(counts);
  CHECK(read_as(3, "{\"descr\":\"<f4\",\"fortran_order\":True,\"shape\":()}", "\1\2\3\4", 4, &array));
  CHECK(array.rank == 0 && array.size == 4 && !memcmp(array.bytes, "\1\2\3\4", 4));
  CHECK(read_as(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3L, 0L, 2L), }", "", 0, &array));
  CHECK(array.rank == 3 && array.size == 0 && array.dims[0] == 3 && array.dims[1] == 0);
  CHECK((uintptr_t)array.bytes % 64 == 0);
  CHECK_DIAGS(diags, "");
}

static void test_hostile(void) {
  static const struct {
    const char *header, *error;
  } rows[] = {
      {"", "at byte 10 of the header: expected '{', found its end"},
      {"{}", "the header lacks 'descr'"},
      {"{'descr': '<f4'}", "the header lacks 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False}", "the header lacks 'shape'"},
      {"{'descr': '<f4', 'descr': '<f4'}", "the header has 'descr' twice"},
      {"{'descr' '<f4'}", "at byte 19 of the header: expected ':', found '''"},
      {"{'descr': '<f4' 'shape': ()}", "at byte 26 of the header: expected ',' or '}', found '''"},
      {"{'desc': '<f4'}", "at byte 11 of the header: expected the key 'descr', 'fortran_order' or 'shape', found '''"},
      {"{'descr", "at byte 17 of the header: expected the quote that ends a string, found its end"},
      {"{descr: 1}", "at byte 11 of the header: expected a key, found 'd'"},
      {"{'descr': 4}", "at byte 20 of the header: expected the element type as a string, found '4'"},
      {"{'descr': '<f\\x34'}", "at byte 23 of the header: expected the quote that ends a string, found '\\\\'"},
      {"{'descr': [('a', '<f4')]}", "structured element type: expected a single b1, i1 to i8, u1 to u8, f2, f4 or f8"},
      {"{'descr': ('<f4', (2,))}", "structured element type: expected a single b1, i1 to i8, u1 to u8, f2, f4 or f8"},
      {"{'descr': '|O'}", "element type '|O' (Python objects, which only unpickling could read): expected b1, i1 to "
                          "i8, u1 to u8, f2, f4 or f8"},
      {"{'descr': '|V1'}", "element type '|V1' (raw bytes, as NumPy saves bf16, f8 and 4-bit integers): expected b1, "
                           "i1 to i8, u1 to u8, f2, f4 or f8"},
      {"{'descr': '<c8'}", "element type '<c8' (complex numbers): expected b1, i1 to i8, u1 to u8, f2, f4 or f8"},
      {"{'descr': '<U5'}", "element type '<U5' (text): expected b1, i1 to i8, u1 to u8, f2, f4 or f8"},
      {"{'descr': ''}", "element type '' (not an element type of Rill): expected b1, i1 to i8, u1 to u8, f2, f4 or f8"},
      {"{'fortran_order': 0}", "at byte 28 of the header: expected True or False, found '0'"},
      {"{'shape': 3}", "at byte 20 of the header: expected '(' of the shape, found '3'"},
      {"{'shape': (3)}", "at byte 22 of the header: expected ',' after the only extent, found ')'"},
      {"{'shape': ((2, 3))}", "at byte 21 of the header: expected an extent or ')', found '('"},
      {"{'shape': (2 3)}", "at byte 23 of the header: expected ',' or ')', found '3'"},
      {"{'shape': (2,,3)}", "at byte 23 of the header: expected an extent or ')', found ','"},
      {"{'shape': (2, 1.5)}", "at byte 25 of the header: expected ',' or ')', found '.'"},
      {"{'shape': (2, -1)}", "extent 1 of the shape is negative"},
      {"{'shape': (9223372036854775808,)}", "extent 0 of the shape passes 63 bits"},
      {"{'shape': (99999999999999999999999,)}", "extent 0 of the shape passes 63 bits"},
      {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
       "the shape has more than 32 extents"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2), }",
       "the size of the array passes 63 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2, 0), }",
       "the size of the array passes 63 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952,), }",
       "the size of the array passes 63 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
       "the header asks for 4000000000000 bytes of elements, the file has 0"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x",
       "at byte 68 of the header: expected nothing after '}', found 'x'"},
  };
  for (size_t i = 0; i < ir_count_of(rows); i++) {
    ir_npy array;
    ir_text wanted = {0};
    ir_text_printf(&wanted, "x.npy: %s", rows[i].error);
    CHECK(!read_as(1, rows[i].header, "", 0, &array));
    CHECK_DIAGS(diags, wanted.at);
    ir_text_free(&wanted);
  }
  ir_npy array;
  const char *good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  CHECK(!read_as(1, good, "1234567", 7, &array));
  CHECK_DIAGS(diags, "x.npy: the header asks for 8 bytes of elements, the file has 7");
  CHECK(!read_as(1, good, "123456789", 9, &array));
  CHECK_DIAGS(diags, "x.npy: the header asks for 8 bytes of elements, the file has 9");
  CHECK(!read_as(4, good, "12345678", 8, &array));
  CHECK_DIAGS(diags, "x.npy: format 4.0 of .npy: expected 1.0, 2.0 or 3.0");
  CHECK(!read_as(3, "{'shape': (2L,)}", "", 0, &array));
  CHECK_DIAGS(diags, "x.npy: at byte 24 of the header: expected ',' or ')', found 'L'");
}

static void test_truncated(void) {
  ir_text file = made(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "12345678", 8);
  size_t whole = file.length;
  ir_npy array;
  CHECK(parse(file, &array));
  for (file.length = 0; file.length < whole; file.length++) {
    CHECK(!parse(file, &array) && ir_diags_errors(diags) == 1);
    ir_diags_discard(diags);
  }
  file.at[8] = file.at[9] = file.at[10] = file.at[11] = (char)0xff;
  CHECK(!parse(file, &array));
  CHECK_DIAGS(diags, "x.npy: the header says that it has 4294967295 bytes, the file has 66 after its start");
  file.at[0] = 'N';
  CHECK(!parse(file, &array));
  CHECK_DIAGS(diags, "x.npy: not a .npy file: it does not start with \\x93NUMPY");
  ir_text_free(&file);

  char *blank = malloc(70001);
  memset(blank, ' ', 70000);
  blank[70000] = 0;
  CHECK(!read_as(2, blank, "", 0, &array));
  CHECK_DIAGS(diags, "x.npy: a header of 70000 bytes: expected at most 65535");
  free(blank);
}

static bool write_array(const ir_npy *array) {
  ir_output *output = ir_output_open(diags, "out.npy");
  if (!CHECK(output)) return false;
  if (ir_npy_put(diags, output, "out.npy", array)) return ir_output_commit(output);
  ir_output_discard(output);
  return false;
}

static void expect_written(ir_npy array, size_t header_size, const char *header) {
  CHECK(write_array(&array));
  ir_file file;
  if (!CHECK(ir_file_open(diags, "out.npy", &file))) return;
  size_t length = strlen(header);
  CHECK(file.size == header_size + array.size);
  CHECK(!memcmp(file.bytes, "\x93NUMPY\x01\x00", 8));
  CHECK((size_t)(file.bytes[8] | file.bytes[9] << 8) == header_size - 10);
  CHECK(!memcmp(file.bytes + 10, header, length));
  bool blank = true;
  for (size_t i = 10 + length; i < header_size - 1; i++) blank = blank && file.bytes[i] == ' ';
  CHECK(blank && file.bytes[header_size - 1] == '\n');
  CHECK(!memcmp(file.bytes + header_size, array.bytes, array.size));
  ir_file_close(&file);
  ir_npy again;
  CHECK(ir_npy_read(diags, &arena, "out.npy", &again));
  CHECK(again.dtype == array.dtype && again.rank == array.rank && again.size == array.size);
  CHECK(!memcmp(again.dims, array.dims, sizeof array.dims) && !memcmp(again.bytes, array.bytes, array.size));
  CHECK_DIAGS(diags, "");
}

static void test_writing(void) {
  static uint8_t bytes[111] = {1, 0, 1, 1};
  expect_written((ir_npy){IR_F32, 2, {3, 4}, bytes, 48}, 128,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
  expect_written((ir_npy){IR_I8, 0, {0}, bytes, 1}, 128, "{'descr': '|i1', 'fortran_order': False, 'shape': (), }");
  expect_written((ir_npy){IR_BOOL, 1, {2}, bytes, 2}, 128, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }");
  expect_written((ir_npy){IR_U64, 2, {0, 7}, bytes, 0}, 128,
                 "{'descr': '<u8', 'fortran_order': False, 'shape': (0, 7), }");
  expect_written((ir_npy){IR_F16, 11, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, bytes, 2}, 128,
                 "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }");
  /* Here the header ends on a multiple of 64 by itself, and NumPy adds another 64. */
  expect_written((ir_npy){IR_I8, 14, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 111}, bytes, 111}, 192,
                 "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 111), }");

  ir_npy array = {IR_BF16, 1, {2}, bytes, 4};
  CHECK(!unlink("out.npy"));
  CHECK(!write_array(&array));
  CHECK_DIAGS(diags, "out.npy: NumPy has no element type for bf16: convert it first (f32 holds bf16 and f8, i8 "
                     "holds i4, u8 holds u4)");
  array.dtype = IR_I4;
  CHECK(!write_array(&array));
  CHECK(strstr(check_take(diags), "no element type for i4"));
  array = (ir_npy){IR_F32, 1, {2}, bytes, 4};
  CHECK(!write_array(&array));
  CHECK_DIAGS(diags, "out.npy: the shape does not fit 4 bytes of f32");
  CHECK(access("out.npy", F_OK));
}

int main(void) {
  char folder[] = "/tmp/rill-npy-XXXXXX", command[64];
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  diags = ir_diags_new();
  ir_diags_set_limit(diags, 0);
  test_elements();
  test_orders();
  test_hostile();
  ir_diags_free(diags);
  diags = ir_diags_new();
  test_truncated();
  test_writing();
  ir_diags_free(diags);
  ir_arena_free(&arena);
  ir_text_free(&check_reported);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(!system(command));
  return CHECK_REPORT("npy");
}
