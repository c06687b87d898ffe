// SPDX-License-Identifier: Apache-2.0
/* targets/cfamily/scalar.c - scalar operators as text, to the bit as ir/eval.c computes them. What is longer than a line of
 * arithmetic, or uses an operand twice, is a helper function. Signed arithmetic goes through unsigned types, which wrap. */
#include "targets/cfamily/cfamily.h"

const char *c_helper(c_file *file, const char *name, const char *format, ...) {
  const ir_string *key = ir_intern(file->context, ir_slice_of(name));
  if (ir_map_has(&file->helped, key)) return key->text;
  ir_map_put(file->arena, &file->helped, key, file);
  va_list args;
  va_start(args, format);
  ir_text_put(&file->helpers, "static inline ");
  ir_text_vprintf(&file->helpers, format, args);
  va_end(args);
  return key->text;
}

#define text(...) ir_arena_printf(file->arena, __VA_ARGS__)

/* The helper CODE on DTYPE: NAME(T a, T b) { return BODY; }, called with IN. */
static const char *helped(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in, const char *body) {
  const char *name = text("ir_%s_%s", ir_scalars[code].name, ir_dtype_name(dtype)), *type = c_type(dtype);
  int arity = ir_scalars[code].arity;
  if (arity == 1) {
    c_helper(file, name, "%s %s(%s a) {\n  return %s;\n}\n", type, name, type, body);
    return text("%s(%s)", name, in[0]);
  }
  c_helper(file, name, "%s %s(%s a, %s b) {\n  return %s;\n}\n", type, name, type, type, body);
  return text("%s(%s, %s)", name, in[0], in[1]);
}

/* --- integers --- */

/* The unsigned type that arithmetic on DTYPE wraps in. */
static const char *wrapping(ir_dtype dtype) { return ir_dtypes[dtype].bits > 32 ? "ulong" : "uint"; }

static bool wraps_itself(ir_dtype dtype) { return dtype == IR_U32 || dtype == IR_U64; }

static const char *infix(c_file *file, ir_dtype dtype, const char *const *in, const char *sign, bool fits) {
  if (fits || wraps_itself(dtype)) return text("(%s %s %s)", in[0], sign, in[1]);
  const char *u = wrapping(dtype);
  return text("(%s)((%s)%s %s (%s)%s)", c_type(dtype), u, in[0], sign, u, in[1]);
}

static const char *division(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in, c_hint hint) {
  bool is_signed = ir_is_signed(dtype), narrow = ir_dtypes[dtype].bits < 32;
  const char *type = c_type(dtype), *u = wrapping(dtype);
  if (hint.natural && code != IR_S_CEILDIV) {
    bool rest = code == IR_S_TRUNCMOD || code == IR_S_FLOORMOD;
    return text(narrow ? "(%s)(%s %s %s)" : "%.0s(%s %s %s)", type, in[0], rest ? "%" : "/", in[1]);
  }
  const char *minus = is_signed ? text("b == -1 ? (%s)(0u - (%s)a) : ", type, u) : "", *none = is_signed ? "b == -1 ? 0 : " : "";
  const char *down = is_signed ? text(" - (%s)(a %% b != 0 && (a < 0) != (b < 0))", type) : "";
  const char *up = is_signed ? text(" + (%s)(a %% b != 0 && (a < 0) == (b < 0))", type) : text(" + (%s)(a %% b != 0)", type);
  const char *back = is_signed ? text(" + (a %% b != 0 && (a < 0) != (b < 0) ? b : (%s)0)", type) : "";
  switch ((int)code) {
  case IR_S_TRUNCDIV: return helped(file, code, dtype, in, text("(%s)(b == 0 ? 0 : %sa / b)", type, minus));
  case IR_S_FLOORDIV: return helped(file, code, dtype, in, text("(%s)(b == 0 ? 0 : %sa / b%s)", type, minus, down));
  case IR_S_CEILDIV: return helped(file, code, dtype, in, text("(%s)(b == 0 ? 0 : %sa / b%s)", type, minus, up));
  case IR_S_TRUNCMOD: return helped(file, code, dtype, in, text("(%s)(b == 0 ? 0 : %sa %% b)", type, none));
  default: return helped(file, code, dtype, in, text("(%s)(b == 0 ? 0 : %sa %% b%s)", type, none, back));
  }
}

static const char *shift(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in) {
  unsigned bits = ir_dtypes[dtype].bits;
  const char *type = c_type(dtype), *u = wrapping(dtype);
  const char *far = bits < 32 ? text("((uint)b & 0x%xu) >= %uu", (1u << bits) - 1, bits) : text("(%s)b >= %u", u, bits);
  if (code == IR_S_SHL) return helped(file, code, dtype, in, text("(%s)(%s ? 0 : (%s)a << b)", type, far, u));
  return helped(file, code, dtype, in, text("(%s)(%s ? %s : a >> b)", type, far, ir_is_signed(dtype) ? "(a < 0 ? -1 : 0)" : "0"));
}

static const char *integer_operator(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in, c_hint hint) {
  const char *type = c_type(dtype), *u = wrapping(dtype);
  bool is_signed = ir_is_signed(dtype), is_bool = dtype == IR_BOOL, narrow = ir_dtypes[dtype].bits < 32;
  switch ((int)code) {
  case IR_S_ADD: return infix(file, dtype, in, "+", hint.fits);
  case IR_S_SUB: return infix(file, dtype, in, "-", hint.fits);
  case IR_S_MUL: return infix(file, dtype, in, "*", hint.fits);
  case IR_S_MAD: {
    const char *product = infix(file, dtype, in, "*", hint.fits);
    return infix(file, dtype, (const char *const[]){product, in[2]}, "+", hint.fits);
  }
  case IR_S_NEG: return hint.fits ? text("(-%s)", in[0]) : text("(%s)(0u - (%s)%s)", type, u, in[0]);
  case IR_S_TRUNCDIV:
  case IR_S_FLOORDIV:
  case IR_S_CEILDIV:
  case IR_S_TRUNCMOD:
  case IR_S_FLOORMOD: return division(file, code, dtype, in, hint);
  case IR_S_MIN: return is_bool ? text("(%s && %s)", in[0], in[1]) : text("min(%s, %s)", text("(%s)%s", type, in[0]), text("(%s)%s", type, in[1]));
  case IR_S_MAX: return is_bool ? text("(%s || %s)", in[0], in[1]) : text("max(%s, %s)", text("(%s)%s", type, in[0]), text("(%s)%s", type, in[1]));
  case IR_S_BCAST: return helped(file, code, dtype, in, "a == 1 ? b : a");
  case IR_S_SHL:
  case IR_S_SHR: return shift(file, code, dtype, in);
  case IR_S_AND: return text("(%s && %s)", in[0], in[1]);
  case IR_S_OR: return text("(%s || %s)", in[0], in[1]);
  case IR_S_NOT: return text("(!%s)", in[0]);
  case IR_S_BITAND: return is_bool ? text("(%s && %s)", in[0], in[1]) : text(narrow ? "(%s)(%s & %s)" : "%.0s(%s & %s)", type, in[0], in[1]);
  case IR_S_BITOR: return is_bool ? text("(%s || %s)", in[0], in[1]) : text(narrow ? "(%s)(%s | %s)" : "%.0s(%s | %s)", type, in[0], in[1]);
  case IR_S_BITXOR: return is_bool ? text("(%s != %s)", in[0], in[1]) : text(narrow ? "(%s)(%s ^ %s)" : "%.0s(%s ^ %s)", type, in[0], in[1]);
  case IR_S_BITNOT: return is_bool ? text("(!%s)", in[0]) : text(narrow ? "(%s)(~%s)" : "%.0s(~%s)", type, in[0]);
  case IR_S_ABS: return is_signed ? helped(file, code, dtype, in, text("(%s)(a < 0 ? (%s)(0u - (%s)a) : a)", type, type, u)) : in[0];
  case IR_S_SIGN: return helped(file, code, dtype, in, text(is_signed ? "(%s)(a > 0 ? 1 : a < 0 ? -1 : 0)" : "(%s)(a != 0)", type));
  default: return NULL;
  }
}

/* --- floats --- */

/* On f32 and f64. */
static const char *real_operator(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in) {
  const char *zero = dtype == IR_F64 ? "0.0" : "0.0f", *one = dtype == IR_F64 ? "1.0" : "1.0f", *half = dtype == IR_F64 ? "0.5" : "0.5f";
  const char *type = c_type(dtype);
  switch ((int)code) {
  case IR_S_ADD: return text("(%s + %s)", in[0], in[1]);
  case IR_S_SUB: return text("(%s - %s)", in[0], in[1]);
  case IR_S_MUL: return text("(%s * %s)", in[0], in[1]);
  case IR_S_DIV: return text("(%s / %s)", in[0], in[1]);
  case IR_S_NEG: return text("(-%s)", in[0]);
  case IR_S_ABS: return text("fabs(%s)", in[0]);
  case IR_S_COPYSIGN: return text("copysign(%s, %s)", in[0], in[1]);
  case IR_S_FLOOR: return text("floor(%s)", in[0]);
  case IR_S_CEIL: return text("ceil(%s)", in[0]);
  case IR_S_TRUNC: return text("trunc(%s)", in[0]);
  case IR_S_RINT: return text("rint(%s)", in[0]);
  case IR_S_SQRT: return text("%s(%s)", file->dialect->root, in[0]);
  case IR_S_TRUNCMOD: return text("fmod(%s, %s)", in[0], in[1]);
  case IR_S_FMA: return text("fma(%s, %s, %s)", in[0], in[1], in[2]);
  case IR_S_MAD: return text(file->fma ? "fma(%s, %s, %s)" : "(%s * %s + %s)", in[0], in[1], in[2]);
  case IR_S_MIN: return helped(file, code, dtype, in, "a < b || a != a ? a : b");
  case IR_S_MAX: return helped(file, code, dtype, in, "a > b || a != a ? a : b");
  case IR_S_SIGN: return helped(file, code, dtype, in, text("a > %s ? %s : a < %s ? -%s : a", zero, one, zero, one));
  case IR_S_FLOORMOD: {
    const char *name = text("ir_floormod_%s", ir_dtype_name(dtype));
    c_helper(file, name, "%s %s(%s a, %s b) {\n  %s rest = fmod(a, b);\n  %s whole = rest == %s ? copysign(%s, b) : rest;\n"
             "  return rest != %s && (b < %s) != (rest < %s) ? rest + b : whole;\n}\n", type, name, type, type, type, type, zero, zero, zero, zero, zero);
    return text("%s(%s, %s)", name, in[0], in[1]);
  }
  case IR_S_FLOORDIV: {
    const char *name = text("ir_floordiv_%s", ir_dtype_name(dtype));
    c_helper(file, name, "%s %s(%s a, %s b) {\n  %s plain = a / b, rest = fmod(a, b);\n"
             "  %s quotient = (a - rest) / b - (rest != %s && (b < %s) != (rest < %s) ? %s : %s), below = floor(quotient);\n"
             "  %s near = quotient - below > %s ? below + %s : below;\n"
             "  return b == %s ? plain : quotient == %s ? copysign(%s, plain) : near;\n}\n",
             type, name, type, type, type, type, zero, zero, zero, one, zero, type, half, one, zero, zero, zero);
    return text("%s(%s, %s)", name, in[0], in[1]);
  }
  default: return NULL;
  }
}

/* Operators whose result on narrow floats is one of them without rounding. */
static bool stays_narrow(ir_scalar_code code) {
  switch ((int)code) {
  case IR_S_NEG:
  case IR_S_ABS:
  case IR_S_COPYSIGN:
  case IR_S_MIN:
  case IR_S_MAX:
  case IR_S_SIGN: return true;
  default: return false;
  }
}

static const char *float_operator(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in) {
  switch ((int)code) {
  case IR_S_ISNAN: {
    const char *type = c_type(dtype), *name = c_helper(file, text("ir_isnan_%s", type), "bool ir_isnan_%s(%s a) {\n  return a != a;\n}\n", type, type);
    return text("%s(%s)", name, in[0]);
  }
  case IR_S_ISINF: return text("(fabs(%s) == INFINITY)", in[0]);
  case IR_S_ISFINITE: return text("(fabs(%s) < INFINITY)", in[0]);
  default: break;
  }
  if (!c_is_narrow(dtype)) return real_operator(file, code, dtype, in);
  if (code == IR_S_MAD && !file->fma) {
    const char *product = float_operator(file, IR_S_MUL, dtype, in);
    return float_operator(file, IR_S_ADD, dtype, (const char *const[]){product, in[2]});
  }
  const char *wide = real_operator(file, code, IR_F32, in);
  return !wide || stays_narrow(code) ? wide : c_convert(file, IR_F32, dtype, wide);
}

/* --- all --- */

static const char *comparison(ir_scalar_code code) {
  switch ((int)code) {
  case IR_S_EQ: return "==";
  case IR_S_NE: return "!=";
  case IR_S_LT: return "<";
  case IR_S_LE: return "<=";
  case IR_S_GT: return ">";
  case IR_S_GE: return ">=";
  default: return NULL;
  }
}

const char *c_operator(c_file *file, ir_scalar_code code, ir_dtype dtype, const char *const *in, c_hint hint) {
  const char *compares = comparison(code);
  if (compares) return text("(%s %s %s)", in[0], compares, in[1]);
  if (ir_scalars[code].typing == IR_TYPING_SELECT) return text("(%s ? %s : %s)", in[0], in[1], in[2]);
  return ir_is_float(dtype) ? float_operator(file, code, dtype, in) : integer_operator(file, code, dtype, in, hint);
}
