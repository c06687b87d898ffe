// SPDX-License-Identifier: Apache-2.0
/* targets/cfamily/types.c - types, constants and conversions. Narrow floats are made of integers, so that no device needs
 * them, and none of it relies on denormal floats. */
#include "targets/cfamily/cfamily.h"

#include <math.h>

static const struct {
  const char *value, *stored;
} types[IR_DTYPE_COUNT] = {
    [IR_BOOL] = {"bool", "uchar"},   [IR_I8] = {"char", "char"},     [IR_I16] = {"short", "short"},
    [IR_I32] = {"int", "int"},       [IR_I64] = {"long", "long"},    [IR_U8] = {"uchar", "uchar"},
    [IR_U16] = {"ushort", "ushort"}, [IR_U32] = {"uint", "uint"},    [IR_U64] = {"ulong", "ulong"},
    [IR_F16] = {"float", "ushort"},  [IR_BF16] = {"float", "ushort"}, [IR_F8E4M3] = {"float", "uchar"},
    [IR_F8E5M2] = {"float", "uchar"}, [IR_F32] = {"float", "float"}, [IR_F64] = {"double", "double"},
};

const char *c_type(ir_dtype dtype) { return types[dtype].value; }
const char *c_stored_type(ir_dtype dtype) { return types[dtype].stored; }

/* --- constants --- */

static const char *real_text(c_file *file, double value, bool wide) {
  const char *infinity = wide ? "HUGE_VAL" : "INFINITY";
  if (isinf(value)) return value < 0 ? ir_arena_printf(file->arena, "(-%s)", infinity) : infinity;
  ir_text text = {0};
  ir_text_printf(&text, wide ? "%.17g" : "%.9g", value);
  if (!strpbrk(text.at, ".e")) ir_text_put(&text, ".0");
  if (!wide) ir_text_char(&text, 'f');
  const char *copy = ir_arena_printf(file->arena, signbit(value) ? "(%s)" : "%s", text.at);
  ir_text_free(&text);
  return copy;
}

static const char *real_constant(c_file *file, ir_dtype dtype, uint64_t bits) {
  double value = ir_float_from_bits(dtype, bits);
  bool wide = dtype == IR_F64;
  if (!isnan(value)) return real_text(file, value, wide);
  if (wide) return c_as(file, "double", ir_arena_printf(file->arena, "0x%llxul", (unsigned long long)bits));
  uint32_t narrow = 0x7fc00000;
  if (dtype == IR_F32) narrow = (uint32_t)bits;
  if (c_is_narrow(dtype)) narrow |= (uint32_t)(bits >> (ir_dtypes[dtype].bits - 1) & 1) << 31;
  return c_as(file, "float", ir_arena_printf(file->arena, "0x%xu", narrow));
}

const char *c_constant(c_file *file, ir_dtype dtype, uint64_t bits) {
  if (ir_is_float(dtype)) return real_constant(file, dtype, bits);
  if (dtype == IR_BOOL) return bits ? "true" : "false";
  int64_t value = ir_int_from_bits(dtype, bits);
  if (dtype == IR_U32) return ir_arena_printf(file->arena, "%uu", (unsigned)value);
  if (dtype == IR_U64) return ir_arena_printf(file->arena, "%lluul", (unsigned long long)bits);
  if (value == INT64_MIN) return "(-9223372036854775807l - 1l)";
  if (dtype == IR_I32 && value == INT32_MIN) return "(-2147483647 - 1)";
  bool large = value > INT32_MAX || value < -INT32_MAX;
  return ir_arena_printf(file->arena, value < 0 ? "(%lld%s)" : "%lld%s", (long long)value, large ? "l" : "");
}

/* --- bits --- */

const char *c_as(c_file *file, const char *type, const char *value) {
  return ir_arena_printf(file->arena, "%s%s%s%s)", file->dialect->as_open, type, file->dialect->as_close, value);
}

/* --- narrow floats --- */

/* A sign, an exponent with the usual bias, a mantissa. */
struct format {
  int exponent, mantissa;
  bool finite_only; /* no infinities: one NaN, all ones */
};

static struct format format_of(ir_dtype dtype) {
  if (dtype == IR_F16) return (struct format){5, 10, false};
  if (dtype == IR_BF16) return (struct format){8, 7, false};
  return dtype == IR_F8E5M2 ? (struct format){5, 2, false} : (struct format){4, 3, true};
}

static const char *as_float(c_file *file, const char *value) { return c_as(file, "float", value); }

static const char *widening(c_file *file, ir_dtype dtype) {
  const char *name = ir_arena_printf(file->arena, "ir_widen_%s", ir_dtype_name(dtype)), *stored = c_stored_type(dtype);
  if (dtype == IR_BF16) return c_helper(file, name, "float %s(ushort x) {\n  return %s;\n}\n", name, as_float(file, "(uint)x << 16"));
  struct format m = format_of(dtype);
  int width = 1 + m.exponent + m.mantissa, bias = (1 << (m.exponent - 1)) - 1;
  unsigned ones = (1u << (width - 1)) - 1, special = m.finite_only ? ones : ones ^ ((1u << m.mantissa) - 1);
  return c_helper(file, name,
                  "float %s(%s x) {\n  uint size = x & 0x%xu, sign = ((uint)x >> %d) << 31;\n"
                  "  uint small = %s, normal = (size << %d) + 0x%xu, other = (size << %d) | 0x7f800000u;\n"
                  "  return %s;\n}\n",
                  name, stored, ones, width - 1, c_as(file, "uint", ir_arena_printf(file->arena, "(float)size * %s", real_text(file, ldexp(1, 1 - bias - m.mantissa), false))),
                  23 - m.mantissa, (unsigned)(127 - bias) << 23, 23 - m.mantissa,
                  as_float(file, ir_arena_printf(file->arena, "(size >= 0x%xu ? other : size < 0x%xu ? small : normal) | sign", special, 1u << m.mantissa)));
}

/* Rounds to even with integers where the result is normal; where not, by adding a number whose last bit is that of the
 * narrow format's smallest number. */
static const char *narrowing(c_file *file, ir_dtype dtype) {
  const char *name = ir_arena_printf(file->arena, "ir_narrow_%s", ir_dtype_name(dtype)), *stored = c_stored_type(dtype);
  if (dtype == IR_BF16) {
    return c_helper(file, name,
                    "ushort %s(float x) {\n  uint bits = %s;\n"
                    "  return (ushort)((x != x ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);\n}\n",
                    name, c_as(file, "uint", "x"));
  }
  struct format m = format_of(dtype);
  int width = 1 + m.exponent + m.mantissa, bias = (1 << (m.exponent - 1)) - 1, drop = 23 - m.mantissa;
  unsigned ones = (1u << (width - 1)) - 1, top = m.finite_only ? ones : ones ^ ((1u << m.mantissa) - 1);
  unsigned nan = m.finite_only ? top : top | 1u << (m.mantissa - 1);
  float carrier = ldexpf(1, 1 - bias - m.mantissa + 23);
  uint32_t carrier_bits;
  memcpy(&carrier_bits, &carrier, sizeof carrier_bits);
  const char *sum = ir_arena_printf(file->arena, "%s + %s", as_float(file, "size"), real_text(file, carrier, false));
  return c_helper(file, name,
                  "%s %s(float x) {\n  uint bits = %s, size = bits & 0x7fffffffu, sign = bits >> 31 << %d;\n"
                  "  uint small = %s - 0x%xu, normal = ((size + 0x%xu + (size >> %d & 1u)) >> %d) - 0x%xu;\n"
                  "  uint rounded = size < 0x%xu ? small : normal < 0x%xu ? normal : 0x%xu;\n"
                  "  return (%s)((size > 0x7f800000u ? 0x%xu : rounded) | sign);\n}\n",
                  stored, name, c_as(file, "uint", "x"), width - 1, c_as(file, "uint", sum), carrier_bits, (1u << (drop - 1)) - 1, drop, drop,
                  (unsigned)(127 - bias) << m.mantissa, (unsigned)(128 - bias) << 23, top, top, stored, nan);
}

static const char *call(c_file *file, const char *function, const char *value) {
  return ir_arena_printf(file->arena, "%s(%s)", function, value);
}

/* f32 rounded to the narrow DTYPE, as f32. */
static const char *rounded(c_file *file, ir_dtype dtype, const char *value) {
  return call(file, widening(file, dtype), call(file, narrowing(file, dtype), value));
}

/* X where VALUE is FUNCTION(X) as a whole; NULL where it is something else. */
static const char *argument_of(c_file *file, const char *value, const char *function) {
  size_t length = strlen(function), depth = 0;
  if (strncmp(value, function, length) || value[length] != '(') return NULL;
  const char *at = value + length;
  for (; *at; at++) {
    depth += *at == '(';
    depth -= *at == ')';
    if (!depth) break;
  }
  return *at && !at[1] ? ir_arena_printf(file->arena, "%.*s", (int)(at - value - (ptrdiff_t)length - 1), value + length + 1) : NULL;
}

const char *c_store_form(c_file *file, ir_dtype dtype, const char *value) {
  if (c_is_narrow(dtype)) {
    const char *bits = argument_of(file, value, widening(file, dtype));
    return bits ? bits : call(file, narrowing(file, dtype), value);
  }
  return dtype == IR_BOOL ? ir_arena_printf(file->arena, "(uchar)%s", value) : value;
}

const char *c_load_form(c_file *file, ir_dtype dtype, const char *element) {
  if (c_is_narrow(dtype)) return call(file, widening(file, dtype), element);
  return dtype == IR_BOOL ? ir_arena_printf(file->arena, "(%s != 0)", element) : element;
}

/* --- conversions --- */

/* f64 as f32 rounded to odd: rounding that again to fewer than 23 bits gives what one rounding would. */
static const char *to_odd(c_file *file) {
  return c_helper(file, "ir_odd_f64",
                  "float ir_odd_f64(double x) {\n  float near = (float)x;\n  double back = (double)near;\n"
                  "  uint bits = %s - (uint)(fabs(back) > fabs(x));\n  return %s;\n}\n",
                  c_as(file, "uint", "near"), as_float(file, "bits | (uint)(back < x || back > x)"));
}

static const char *float_to_float(c_file *file, ir_dtype from, ir_dtype to, const char *value) {
  if (to == IR_F64) return ir_arena_printf(file->arena, "(double)%s", value);
  if (from == IR_F64 && to == IR_F32) return ir_arena_printf(file->arena, "(float)%s", value);
  if (from == IR_F64) value = call(file, to_odd(file), value);
  return to == IR_F32 ? value : rounded(file, to, value);
}

/* Saturates; NaN gives 0. Limits that floats don't have are the next ones that they have. */
static const char *float_to_integer(c_file *file, ir_dtype from, ir_dtype to, const char *value) {
  ir_dtype wide = from == IR_F64 ? IR_F64 : IR_F32;
  unsigned bits = ir_dtypes[to].bits;
  bool is_signed = ir_is_signed(to);
  const char *name = ir_arena_printf(file->arena, "ir_%s_from_%s", ir_dtype_name(to), ir_dtype_name(wide));
  const char *least = c_constant(file, to, is_signed ? UINT64_C(1) << (bits - 1) : 0);
  const char *most = c_constant(file, to, (is_signed ? UINT64_C(1) << (bits - 1) : UINT64_C(1) << (bits - 1) << 1) - 1);
  const char *above = real_text(file, ldexp(1, (int)bits - is_signed), wide == IR_F64);
  const char *below = real_text(file, is_signed ? -ldexp(1, (int)bits - 1) : 0, wide == IR_F64);
  /* By way of 32 bits: compilers of drivers die of conversions to fewer. */
  const char *through = bits < 32 ? "int" : c_type(to);
  c_helper(file, name, "%s %s(%s x) {\n  return (%s)(x != x ? 0 : x <= %s ? %s : x >= %s ? %s : (%s)x);\n}\n", c_type(to), name, c_type(wide),
           c_type(to), below, least, above, most, through);
  return call(file, name, value);
}

const char *c_convert(c_file *file, ir_dtype from, ir_dtype to, const char *value) {
  if (from == to) return value;
  if (to == IR_BOOL) return ir_arena_printf(file->arena, "(%s != 0)", value);
  if (ir_is_float(from) && ir_is_float(to)) return float_to_float(file, from, to, value);
  if (ir_is_float(from)) return float_to_integer(file, from, to, value);
  const char *cast = ir_arena_printf(file->arena, "(%s)%s", c_type(to), value);
  return c_is_narrow(to) ? rounded(file, to, cast) : cast;
}

const char *c_bitcast(c_file *file, ir_dtype from, ir_dtype to, const char *value) {
  if (from == to) return value;
  if (to == IR_BOOL) return ir_arena_printf(file->arena, "(%s != 0)", value);
  if (c_is_narrow(from)) value = ir_arena_printf(file->arena, "%s", call(file, narrowing(file, from), value));
  if (c_is_narrow(to)) return call(file, widening(file, to), ir_arena_printf(file->arena, "(%s)%s", c_stored_type(to), value));
  bool floats = (ir_is_float(from) && !c_is_narrow(from)) || ir_is_float(to);
  if (floats) return c_as(file, c_type(to), value);
  return ir_arena_printf(file->arena, "(%s)%s", c_type(to), value);
}
