// SPDX-License-Identifier: Apache-2.0
/* ir/number: floats from text are rounded once, and print as the shortest text that reads back. The bits below were
 * computed with exact fractions, the texts are what NumPy
 * prints for the bits (but for f32 0.0001, where NumPy compares the value and we its digits). */
#include "check.h"
#include "ir/number.h"

enum { DTYPES = 6 };
static const ir_dtype dtypes[DTYPES] = {IR_F16, IR_BF16, IR_F32, IR_F64, IR_F8E4M3, IR_F8E5M2};
#define NO UINT64_MAX /* out of range */

static const struct {
  const char *text;
  uint64_t bits[DTYPES];
} reads[] = {
    {"0.0", {0x0, 0x0, 0x0, 0x0, 0x0, 0x0}},
    {"1", {0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000, 0x38, 0x3c}},
    {"0.1", {0x2e66, 0x3dcd, 0x3dcccccd, 0x3fb999999999999a, 0x1d, 0x2e}},
    {"0.1875", {0x3200, 0x3e40, 0x3e400000, 0x3fc8000000000000, 0x24, 0x32}},
    {"3.4028235e+38", {NO, NO, 0x7f7fffff, 0x47efffffe54daff8, NO, NO}},
    {"3.4028236e+38", {NO, NO, NO, 0x47effffff514a7bc, NO, NO}},
    {"1e-45", {0x0, 0x0, 0x1, 0x3696d601ad376ab9, 0x0, 0x0}},
    {"1e-46", {0x0, 0x0, 0x0, 0x366244ce242c5561, 0x0, 0x0}},
    {"65504", {0x7bff, 0x4780, 0x477fe000, 0x40effc0000000000, NO, NO}},
    {"65519.999", {0x7bff, 0x4780, 0x477ff000, 0x40effdfff7ced917, NO, NO}},
    {"65520", {NO, 0x4780, 0x477ff000, 0x40effe0000000000, NO, NO}},
    {"448", {0x5f00, 0x43e0, 0x43e00000, 0x407c000000000000, 0x7e, 0x5f}},
    {"464.0", {0x5f40, 0x43e8, 0x43e80000, 0x407d000000000000, 0x7e, 0x5f}},
    {"465", {0x5f44, 0x43e8, 0x43e88000, 0x407d100000000000, NO, 0x5f}},
    {"57344", {0x7b00, 0x4760, 0x47600000, 0x40ec000000000000, NO, 0x7b}},
    {"1e400", {NO, NO, NO, NO, NO, NO}},
    {"5e-324", {0x0, 0x0, 0x0, 0x1, 0x0, 0x0}},
    {"2.5e-324", {0x0, 0x0, 0x0, 0x1, 0x0, 0x0}},
    {"2.4e-324", {0x0, 0x0, 0x0, 0x0, 0x0, 0x0}},
    {"9007199254740993", {NO, 0x5a00, 0x5a000000, 0x4340000000000000, NO, NO}},
    {"1.00048828125", {0x3c00, 0x3f80, 0x3f801000, 0x3ff0020000000000, 0x38, 0x3c}},
    {"1.0004882812500000000000000000000000000000000000001", {0x3c01, 0x3f80, 0x3f801000, 0x3ff0020000000000, 0x38, 0x3c}},
    {"1.0014648437500", {0x3c02, 0x3f80, 0x3f803000, 0x3ff0060000000000, 0x38, 0x3c}},
    {"0x1.8p-3", {0x3200, 0x3e40, 0x3e400000, 0x3fc8000000000000, 0x24, 0x32}},
    {"0x1.ffffffp+127", {NO, NO, NO, 0x47effffff0000000, NO, NO}},
    {"0x1.0000010000000000001p0", {0x3c00, 0x3f80, 0x3f800001, 0x3ff0000010000000, 0x38, 0x3c}},
    {"0x1.000001p0", {0x3c00, 0x3f80, 0x3f800000, 0x3ff0000010000000, 0x38, 0x3c}},
    {"0x1p-150", {0x0, 0x0, 0x0, 0x3690000000000000, 0x0, 0x0}},
    {"0x1.0000001p-150", {0x0, 0x0, 0x1, 0x3690000001000000, 0x0, 0x0}},
    {"123456789012345678901234567890", {NO, 0x6fc7, 0x6fc77488, 0x45f8ee90ff6c373e, NO, NO}},
    {"1.7976931348623157e+308", {NO, NO, NO, 0x7fefffffffffffff, NO, NO}},
    {"1.7976931348623159e+308", {NO, NO, NO, NO, NO, NO}},
    {"33554433", {NO, 0x4c00, 0x4c000000, 0x4180000008000000, NO, NO}},
    {"0.000000059604644775390625", {0x1, 0x3380, 0x33800000, 0x3e70000000000000, 0x0, 0x0}},
    {"0.00000002980232238769531250000000000000000001", {0x1, 0x3300, 0x33000000, 0x3e60000000000000, 0x0, 0x0}},
    {"0.0009765625", {0x1400, 0x3a80, 0x3a800000, 0x3f50000000000000, 0x0, 0x14}},
    {"6.103515625e-05", {0x400, 0x3880, 0x38800000, 0x3f10000000000000, 0x0, 0x4}},
    {"1.0039062500", {0x3c04, 0x3f80, 0x3f808000, 0x3ff0100000000000, 0x38, 0x3c}},
    {"1.0039062500000000000000001", {0x3c04, 0x3f81, 0x3f808000, 0x3ff0100000000000, 0x38, 0x3c}},
    {"3.39e+38", {NO, 0x7f7f, 0x7f7f0906, 0x47efe120cdbd668c, NO, NO}},
    {"3.3961775292304601e+38", {NO, NO, 0x7f7f8000, 0x47eff00000000000, NO, NO}},
    {"9.0e-41", {0x0, 0x1, 0xfae2, 0x379f5c44ad706a80, 0x0, 0x0}},
};

static const struct {
  ir_dtype dtype;
  uint64_t bits;
  const char *text;
} prints[] = {
    {IR_F16, UINT64_C(0x0), "0.0"},
    {IR_F16, UINT64_C(0x8000), "-0.0"},
    {IR_F16, UINT64_C(0x1), "6e-08"},
    {IR_F16, UINT64_C(0x3ff), "6.1e-05"},
    {IR_F16, UINT64_C(0x400), "6.104e-05"},
    {IR_F16, UINT64_C(0x3c00), "1.0"},
    {IR_F16, UINT64_C(0x3555), "0.3333"},
    {IR_F16, UINT64_C(0x7bff), "65500.0"},
    {IR_F16, UINT64_C(0x7c00), "inf"},
    {IR_F16, UINT64_C(0xfc00), "-inf"},
    {IR_F16, UINT64_C(0x1400), "0.000977"},
    {IR_F16, UINT64_C(0x4248), "3.14"},
    {IR_F16, UINT64_C(0x6400), "1024.0"},
    {IR_F16, UINT64_C(0x6800), "2048.0"},
    {IR_F16, UINT64_C(0x3800), "0.5"},
    {IR_F16, UINT64_C(0x2e66), "0.1"},
    {IR_F32, UINT64_C(0x0), "0.0"},
    {IR_F32, UINT64_C(0x80000000), "-0.0"},
    {IR_F32, UINT64_C(0x1), "1e-45"},
    {IR_F32, UINT64_C(0x7f7fffff), "3.4028235e+38"},
    {IR_F32, UINT64_C(0x800000), "1.1754944e-38"},
    {IR_F32, UINT64_C(0x7fffff), "1.1754942e-38"},
    {IR_F32, UINT64_C(0x3dcccccd), "0.1"},
    {IR_F32, UINT64_C(0x3e400000), "0.1875"},
    {IR_F32, UINT64_C(0x4b800000), "16777216.0"},
    {IR_F32, UINT64_C(0x4b800001), "16777218.0"},
    {IR_F32, UINT64_C(0x5a0e1bca), "1e+16"},
    {IR_F32, UINT64_C(0x59800000), "4503599600000000.0"},
    {IR_F32, UINT64_C(0x7f800000), "inf"},
    {IR_F32, UINT64_C(0x3f800001), "1.0000001"},
    {IR_F32, UINT64_C(0x38d1b716), "9.999999e-05"},
    {IR_F32, UINT64_C(0xda24260), "1e-30"},
    {IR_F32, UINT64_C(0x4f000000), "2147483600.0"},
    {IR_F32, UINT64_C(0xc2f6e979), "-123.456"},
    {IR_F32, UINT64_C(0x33800000), "5.9604645e-08"},
    {IR_F32, UINT64_C(0x6f000000), "3.9614081e+28"},
    {IR_F64, UINT64_C(0x0), "0.0"},
    {IR_F64, UINT64_C(0x8000000000000000), "-0.0"},
    {IR_F64, UINT64_C(0x1), "5e-324"},
    {IR_F64, UINT64_C(0x7fefffffffffffff), "1.7976931348623157e+308"},
    {IR_F64, UINT64_C(0x10000000000000), "2.2250738585072014e-308"},
    {IR_F64, UINT64_C(0xfffffffffffff), "2.225073858507201e-308"},
    {IR_F64, UINT64_C(0x3fb999999999999a), "0.1"},
    {IR_F64, UINT64_C(0x4340000000000000), "9007199254740992.0"},
    {IR_F64, UINT64_C(0x4340000000000001), "9007199254740994.0"},
    {IR_F64, UINT64_C(0x4341c37937e08000), "1e+16"},
    {IR_F64, UINT64_C(0x4341c37937e07fff), "9999999999999998.0"},
    {IR_F64, UINT64_C(0x7ff0000000000000), "inf"},
    {IR_F64, UINT64_C(0x3ff0000000000001), "1.0000000000000002"},
    {IR_F64, UINT64_C(0x3f1a36e2eb1c432d), "0.0001"},
    {IR_F64, UINT64_C(0x3f1a36e2eb1c432c), "9.999999999999999e-05"},
    {IR_F64, UINT64_C(0x44b52d02c7e14af6), "1e+23"},
    {IR_F64, UINT64_C(0x405edd2f1a9fbe77), "123.456"},
    {IR_F64, UINT64_C(0x3e10000000000000), "9.313225746154785e-10"},
    {IR_F64, UINT64_C(0x350000000000000), "1.0020841800044864e-292"},
    {IR_F32, 0x7fc00000, "nan"},
    {IR_F32, 0xffc00000, "-nan"},
    {IR_F32, 0x7f800001, "nan(0x1)"},
    {IR_F32, 0xffc00001, "-nan(0x400001)"},
    {IR_F64, UINT64_C(0x7ff8000000000000), "nan"},
    {IR_F16, 0x7e00, "nan"},
    {IR_BF16, 0x7fc0, "nan"},
    {IR_BF16, 0x3f80, "1.0"},
    {IR_BF16, 0x7f7f, "3.39e+38"},
    {IR_F8E4M3, 0x7f, "nan"},
    {IR_F8E4M3, 0x08, "0.016"}, /* 2^-6 = 0.015625; the neighbours are 0.0137 and 0.0176 */
    {IR_F8E5M2, 0x7c, "inf"},
    {IR_F8E5M2, 0x7d, "nan(0x1)"},
    {IR_BOOL, 1, "true"},
    {IR_I4, 0x8, "-8"},
    {IR_U4, 0xf, "15"},
    {IR_I64, UINT64_C(0x8000000000000000), "-9223372036854775808"},
    {IR_U64, UINT64_MAX, "18446744073709551615"},
};

static void test_reads(void) {
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
    for (size_t d = 0; d < DTYPES; d++) {
      uint64_t bits;
      ir_number_result result = ir_parse_float(dtypes[d], ir_slice_of(reads[i].text), &bits);
      bool fine = reads[i].bits[d] == NO ? result == IR_NUMBER_RANGE : result == IR_NUMBER_FINE && bits == reads[i].bits[d];
      if (!CHECK(fine)) printf("  %s as %s gives %llx\n", reads[i].text, ir_dtype_name(dtypes[d]), (unsigned long long)bits);
    }
  }
}

static const char *printed(ir_text *text, ir_dtype dtype, uint64_t bits) {
  ir_text_free(text);
  ir_print_number(text, dtype, bits);
  return text->at;
}

static void test_prints(void) {
  ir_text text = {0};
  for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
    CHECK_TEXT(printed(&text, prints[i].dtype, prints[i].bits), prints[i].text);
  }
  ir_text_free(&text);
}

/* Every float of 16 bits or less, and a stride through the others, reads back from what it prints as. */
static void test_round_trip(void) {
  ir_text text = {0};
  for (size_t d = 0; d < DTYPES; d++) {
    unsigned width = ir_dtypes[dtypes[d]].bits;
    uint64_t step = width <= 16 ? 1 : width == 32 ? 104729 : UINT64_C(461168601842739);
    uint64_t end = ir_float_sign_bit(dtypes[d]), wrong = 0;
    for (uint64_t bits = 0; bits < end; bits += step) {
      printed(&text, dtypes[d], bits);
      uint64_t read;
      bool number = text.at[0] >= '0' && text.at[0] <= '9';
      wrong += number && (ir_parse_float(dtypes[d], (ir_slice){text.at, text.length}, &read) != IR_NUMBER_FINE || read != bits);
    }
    CHECK(wrong == 0);
  }
  ir_text_free(&text);
}

static void test_integers(void) {
  uint64_t value;
  CHECK(ir_parse_integer(ir_lit("18446744073709551615"), &value) && value == UINT64_MAX);
  CHECK(!ir_parse_integer(ir_lit("18446744073709551616"), &value));
  CHECK(ir_parse_integer(ir_lit("0xffffFFFF"), &value) && value == UINT32_MAX);
  CHECK(!ir_parse_integer(ir_lit("0x10000000000000000"), &value));
  CHECK(ir_parse_integer(ir_lit("007"), &value) && value == 7);
}

int main(void) {
  test_reads();
  test_prints();
  test_round_trip();
  test_integers();
  return CHECK_REPORT("number");
}
