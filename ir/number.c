// SPDX-License-Identifier: Apache-2.0
/* ir/number.c - numbers from text: integers, and floats of every dtype with one rounding. Needs ir/dtype.
 * Short decimals are exact products or quotients of doubles; the rest is divided as big integers. */
#include "ir/number.h"

#include <math.h>
#include <stdio.h>

struct format {
  int exponent_bits, mantissa_bits;
  bool finite_only; /* no infinity, one NaN */
};

static struct format format_of(ir_dtype dtype) {
  static const struct format formats[IR_DTYPE_COUNT] = {
      [IR_F16] = {5, 10, false},  [IR_BF16] = {8, 7, false},  [IR_F32] = {8, 23, false},
      [IR_F64] = {11, 52, false}, [IR_F8E4M3] = {4, 3, true}, [IR_F8E5M2] = {5, 2, false},
  };
  return formats[dtype];
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_hex(ir_slice text) { return text.length > 2 && text.at[0] == '0' && (text.at[1] | 32) == 'x'; }

bool ir_parse_integer(ir_slice text, uint64_t *value) {
  uint64_t base = is_hex(text) ? 16 : 10, result = 0;
  for (size_t i = base == 16 ? 2 : 0; i < text.length; i++) {
    if (__builtin_mul_overflow(result, base, &result)) return false;
    if (__builtin_add_overflow(result, (uint64_t)digit_of(text.at[i]), &result)) return false;
  }
  *value = result;
  return true;
}

/* The element nearest to MANTISSA * 2^EXPONENT, or to a little more where INEXACT. *halfway: it was a tie. */
static ir_number_result round_to(struct format f, uint64_t mantissa, int64_t exponent, bool inexact, uint64_t *bits,
                                 bool *halfway) {
  *halfway = false;
  *bits = 0;
  if (!mantissa) return IR_NUMBER_FINE;
  int shift = __builtin_clzll(mantissa);
  mantissa <<= shift;
  int64_t top = exponent - shift + 63, bias = (1 << (f.exponent_bits - 1)) - 1; /* the value is in [2^top, 2^(top+1)) */
  if (top > bias + 1) return IR_NUMBER_RANGE;
  bool subnormal = top < 1 - bias;
  int64_t drop = 63 - f.mantissa_bits + (subnormal ? 1 - bias - top : 0);
  if (drop > 64) return IR_NUMBER_FINE;
  uint64_t kept = drop == 64 ? 0 : mantissa >> drop;
  uint64_t rest = drop == 64 ? mantissa : mantissa & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
  *halfway = rest == half && !inexact;
  kept += rest > half || (rest == half && (inexact || (kept & 1)));
  /* The carry of rounding moves into the exponent by itself. */
  *bits = subnormal ? kept : kept + ((uint64_t)(top + bias - 1) << f.mantissa_bits);
  uint64_t mask = (UINT64_C(1) << f.mantissa_bits) - 1;
  uint64_t limit = ((UINT64_C(1) << f.exponent_bits) - 1) << f.mantissa_bits | (f.finite_only ? mask : 0);
  return *bits >= limit ? IR_NUMBER_RANGE : IR_NUMBER_FINE;
}

enum { MOST_DIGITS = 800 /* more decide nothing but whether something follows */, WORDS = 96 };

typedef struct big {
  size_t count;
  uint64_t at[WORDS];
} big;

static void big_multiply(big *n, uint64_t factor, uint64_t add) {
  unsigned __int128 carry = add;
  for (size_t i = 0; i < n->count; i++) {
    carry += (unsigned __int128)n->at[i] * factor;
    n->at[i] = (uint64_t)carry;
    carry >>= 64;
  }
  if (carry) n->at[n->count++] = (uint64_t)carry;
}

static void big_power_of_ten(big *n, int64_t power) {
  for (; power >= 19; power -= 19) big_multiply(n, UINT64_C(10000000000000000000), 0);
  for (; power > 0; power--) big_multiply(n, 10, 0);
}

static int64_t big_bits(const big *n) {
  return n->count ? (int64_t)n->count * 64 - __builtin_clzll(n->at[n->count - 1]) : 0;
}

static void big_shift(big *n, int64_t by) {
  size_t words = (size_t)(by / 64);
  int bits = (int)(by % 64);
  for (size_t i = n->count; i > 0; i--) n->at[i - 1 + words] = n->at[i - 1];
  for (size_t i = 0; i < words; i++) n->at[i] = 0;
  n->count += words;
  if (!bits) return;
  uint64_t carry = 0;
  for (size_t i = 0; i < n->count; i++) {
    uint64_t word = n->at[i];
    n->at[i] = word << bits | carry;
    carry = word >> (64 - bits);
  }
  if (carry) n->at[n->count++] = carry;
}

/* N / M, which is below 2^64, where M has the top bit of its top word set and N at most one word more; N becomes the
 * remainder. */
static uint64_t big_divide(big *n, const big *m) {
  while (n->count < m->count + 1) n->at[n->count++] = 0;
  uint64_t top = m->at[m->count - 1];
  unsigned __int128 high = (unsigned __int128)n->at[m->count] << 64 | n->at[m->count - 1];
  uint64_t quotient = (uint64_t)(high / top);
  unsigned __int128 carry = 0;
  uint64_t borrow = 0;
  for (size_t i = 0; i <= m->count; i++) {
    carry += (unsigned __int128)quotient * (i < m->count ? m->at[i] : 0);
    unsigned __int128 less = (unsigned __int128)(uint64_t)carry + borrow;
    borrow = n->at[i] < less;
    n->at[i] -= (uint64_t)less;
    carry >>= 64;
  }
  while (borrow) { /* the estimate was one or two too large */
    quotient--;
    unsigned __int128 sum = 0;
    for (size_t i = 0; i <= m->count; i++) {
      sum += (unsigned __int128)n->at[i] + (i < m->count ? m->at[i] : 0);
      n->at[i] = (uint64_t)sum;
      sum >>= 64;
    }
    if (sum) borrow = 0;
  }
  return quotient;
}

/* The digits of a number without its leading zeros, and the power of ten that the last one stands for. */
struct decimal {
  size_t count;
  bool more; /* something other than zero follows */
  int64_t exponent;
  char digits[MOST_DIGITS];
};

static int64_t read_exponent(ir_slice text, size_t at) {
  bool negative = at < text.length && text.at[at] == '-';
  if (negative || (at < text.length && text.at[at] == '+')) at++;
  int64_t value = 0;
  for (; at < text.length; at++) {
    if (value < 100000000) value = value * 10 + digit_of(text.at[at]);
  }
  return negative ? -value : value;
}

static void read_decimal(ir_slice text, struct decimal *d) {
  d->count = 0;
  d->more = false;
  d->exponent = 0;
  bool fraction = false;
  size_t i = 0;
  for (; i < text.length && (text.at[i] | 32) != 'e'; i++) {
    if (text.at[i] == '.') {
      fraction = true;
      continue;
    }
    bool keep = d->count < MOST_DIGITS;
    if (!keep && text.at[i] != '0') d->more = true;
    if (keep && (d->count || text.at[i] != '0')) d->digits[d->count++] = (char)(text.at[i] - '0');
    d->exponent += (keep ? 0 : 1) - (fraction ? 1 : 0);
  }
  if (i < text.length) d->exponent += read_exponent(text, i + 1);
}

/* Digits times a small power of ten, where both are exact as doubles: one rounding. */
static bool quick_value(const struct decimal *d, double *value, bool *exact) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (d->count > 15 || d->exponent < -22 || d->exponent > 22) return false;
  uint64_t digits = 0;
  for (size_t i = 0; i < d->count; i++) digits = digits * 10 + (uint64_t)d->digits[i];
  *value = d->exponent < 0 ? (double)digits / powers[-d->exponent] : (double)digits * powers[d->exponent];
  *exact = d->exponent == 0;
  return true;
}

static ir_number_result round_double(ir_dtype dtype, double value, uint64_t *bits, bool *halfway) {
  uint64_t wide; /* VALUE is normal, its sign clear */
  memcpy(&wide, &value, sizeof wide);
  uint64_t mantissa = (wide & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  return round_to(format_of(dtype), mantissa, (int64_t)(wide >> 52) - 1075, false, bits, halfway);
}

static ir_number_result parse_decimal(ir_dtype dtype, ir_slice text, uint64_t *bits) {
  struct decimal d;
  read_decimal(text, &d);
  *bits = 0;
  if (!d.count) return IR_NUMBER_FINE;
  if ((int64_t)d.count + d.exponent > 400) return IR_NUMBER_RANGE;
  if ((int64_t)d.count + d.exponent < -400) return IR_NUMBER_FINE;
  double quick;
  bool exact, halfway;
  if (quick_value(&d, &quick, &exact)) {
    ir_number_result result = round_double(dtype, quick, bits, &halfway);
    /* A double rounded onto the middle between two elements does not say on which side the number was. */
    if (dtype == IR_F64 || exact || !halfway) return result;
  }
  big n = {0}, m = {.count = 1, .at = {1}};
  for (size_t i = 0; i < d.count; i++) {
    if (!n.count)
      n = (big){.count = 1, .at = {(uint64_t)d.digits[i]}};
    else
      big_multiply(&n, 10, (uint64_t)d.digits[i]);
  }
  if (d.exponent >= 0) big_power_of_ten(&n, d.exponent);
  if (d.exponent < 0) big_power_of_ten(&m, -d.exponent);
  /* Scaled so that the quotient has 63 or 64 bits and M a full top word. */
  int64_t scale = big_bits(&m) + 63 - big_bits(&n), lower = scale < 0 ? -scale : 0;
  int64_t align = -(big_bits(&m) + lower) & 63;
  big_shift(&m, lower + align);
  big_shift(&n, (scale > 0 ? scale : 0) + align);
  uint64_t quotient = big_divide(&n, &m);
  bool rest = d.more;
  for (size_t i = 0; i < n.count && !rest; i++) rest = n.at[i] != 0;
  return round_to(format_of(dtype), quotient, -scale, rest, bits, &halfway);
}

static ir_number_result parse_hexadecimal(ir_dtype dtype, ir_slice text, uint64_t *bits) {
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  bool rest = false, fraction = false, halfway;
  size_t i = 2;
  for (; i < text.length && (text.at[i] | 32) != 'p'; i++) {
    if (text.at[i] == '.') {
      fraction = true;
      continue;
    }
    bool keep = mantissa >> 60 == 0;
    if (keep) mantissa = mantissa << 4 | (uint64_t)digit_of(text.at[i]);
    if (!keep) rest |= text.at[i] != '0';
    exponent += (keep ? 0 : 4) - (fraction ? 4 : 0);
  }
  if (i < text.length) exponent += read_exponent(text, i + 1);
  return round_to(format_of(dtype), mantissa, exponent, rest, bits, &halfway);
}

ir_number_result ir_parse_float(ir_dtype dtype, ir_slice text, uint64_t *bits) {
  return is_hex(text) ? parse_hexadecimal(dtype, text, bits) : parse_decimal(dtype, text, bits);
}

uint64_t ir_nan_payload(ir_dtype dtype) {
  struct format f = format_of(dtype);
  return f.finite_only ? (UINT64_C(1) << f.mantissa_bits) - 1 : UINT64_C(1) << (f.mantissa_bits - 1);
}

bool ir_nan_bits(ir_dtype dtype, uint64_t payload, uint64_t *bits) {
  struct format f = format_of(dtype);
  if (!payload || payload >> f.mantissa_bits || (f.finite_only && payload != ir_nan_payload(dtype))) return false;
  *bits = ((UINT64_C(1) << f.exponent_bits) - 1) << f.mantissa_bits | payload;
  return true;
}

/* The first COUNT digits of VALUE, correctly rounded, and the power of ten of the first one. */
static int digits_of(double value, int count, char digits[20]) {
  char text[64];
  snprintf(text, sizeof text, "%.*e", count - 1, value);
  int found = 0;
  const char *at = text;
  for (; *at != 'e'; at++) { /* whatever the locale puts for the point is passed over */
    if (*at >= '0' && *at <= '9') digits[found++] = *at;
  }
  int exponent = 0;
  for (const char *c = at + 2; *c; c++) exponent = exponent * 10 + (*c - '0');
  digits[count] = 0;
  return at[1] == '-' ? -exponent : exponent;
}

static bool reads_back(ir_dtype dtype, const char *digits, int count, int exponent, uint64_t bits) {
  char text[40];
  uint64_t read;
  int length = snprintf(text, sizeof text, "%se%d", digits, exponent - (count - 1));
  return ir_parse_float(dtype, (ir_slice){text, (size_t)length}, &read) == IR_NUMBER_FINE && read == bits;
}

/* Digits that read back, COUNT of them, if there are any. Below a power of two the elements lie closer together than
 * above it: then the nearest decimal may miss where the next larger one hits. */
static bool find_digits(ir_dtype dtype, double value, uint64_t bits, int count, char digits[20], int *exponent) {
  *exponent = digits_of(value, count, digits);
  if (reads_back(dtype, digits, count, *exponent, bits)) return true;
  if (bits & ((UINT64_C(1) << format_of(dtype).mantissa_bits) - 1)) return false;
  int i = count - 1;
  while (i >= 0 && digits[i] == '9') digits[i--] = '0';
  if (i < 0) return false;
  digits[i]++;
  return reads_back(dtype, digits, count, *exponent, bits);
}

static void print_digits(ir_text *out, const char *digits, int count, int exponent) {
  while (count > 1 && digits[count - 1] == '0') count--;
  if (exponent < -4 || exponent >= 16) {
    ir_text_char(out, digits[0]);
    if (count > 1) ir_text_char(out, '.');
    ir_text_bytes(out, digits + 1, (size_t)count - 1);
    ir_text_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
    return;
  }
  if (exponent < 0) {
    ir_text_put(out, "0.");
    for (int i = -1; i > exponent; i--) ir_text_char(out, '0');
    ir_text_bytes(out, digits, (size_t)count);
    return;
  }
  int whole = exponent + 1;
  ir_text_bytes(out, digits, (size_t)(whole < count ? whole : count));
  for (int i = count; i < whole; i++) ir_text_char(out, '0');
  ir_text_char(out, '.');
  if (whole >= count)
    ir_text_char(out, '0');
  else
    ir_text_bytes(out, digits + whole, (size_t)(count - whole));
}

static void print_float(ir_text *out, ir_dtype dtype, uint64_t bits) {
  struct format f = format_of(dtype);
  if (bits & ir_float_sign_bit(dtype)) ir_text_char(out, '-');
  bits &= ir_float_sign_bit(dtype) - 1;
  uint64_t mantissa = bits & ((UINT64_C(1) << f.mantissa_bits) - 1), all = (UINT64_C(1) << f.exponent_bits) - 1;
  bool special = bits >> f.mantissa_bits == all && (!f.finite_only || mantissa == ir_nan_payload(dtype));
  if (special) {
    bool plain = !mantissa || mantissa == ir_nan_payload(dtype);
    if (plain) ir_text_put(out, mantissa ? "nan" : "inf");
    if (!plain) ir_text_printf(out, "nan(0x%llx)", (unsigned long long)mantissa);
    return;
  }
  double value = ir_float_from_bits(dtype, bits);
  if (value < (double)(UINT64_C(2) << f.mantissa_bits) && value < 1e15 && value == floor(value)) {
    ir_text_printf(out, "%llu.0", (unsigned long long)value);
    return;
  }
  char digits[20];
  int low = 0, high = 17, exponent; /* LOW digits are too few, HIGH suffice */
  for (int guess = dtype == IR_F64 ? 15 : 4; low + 1 < high; guess = (low + high) / 2) {
    *(find_digits(dtype, value, bits, guess, digits, &exponent) ? &high : &low) = guess;
  }
  find_digits(dtype, value, bits, high, digits, &exponent);
  print_digits(out, digits, high, exponent);
}

void ir_print_number(ir_text *out, ir_dtype dtype, uint64_t bits) {
  if (dtype >= IR_DTYPE_COUNT) {
    ir_text_put(out, "<<number>>");
    return;
  }
  switch (ir_dtypes[dtype].class) {
  case IR_CLASS_BOOL: ir_text_put(out, bits & 0xff ? "true" : "false"); return;
  case IR_CLASS_SINT: ir_text_printf(out, "%lld", (long long)ir_int_from_bits(dtype, bits)); return;
  case IR_CLASS_UINT: ir_text_printf(out, "%llu", (unsigned long long)ir_int_from_bits(dtype, bits)); return;
  case IR_CLASS_FLOAT: print_float(out, dtype, bits); return;
  }
}

bool ir_f32_ratio(double value, int64_t *numerator, int64_t *denominator) {
  enum { MOST = 40 };
  double rest = (double)(float)value;
  int64_t below = 1;
  while (rest != floor(rest) && below < INT64_C(1) << MOST) {
    rest *= 2;
    below *= 2;
  }
  bool fits = rest == floor(rest) && fabs(rest) < (double)(INT64_C(1) << MOST);
  if (!fits) return false;
  *numerator = (int64_t)rest;
  *denominator = below;
  return true;
}
