#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Write the rows of eval.c: `eval_rows.py > eval_rows.h`.
ROW2(code, operand dtype, result dtype, a, b, value) and so on, in bits.

Values come from exact rational arithmetic and from NumPy (division and remainder of floats), by the rules of the numeric
specification: nothing here was read off our own output. A NaN is written as some NaN of the dtype.
"""
import math
import random
from fractions import Fraction

import numpy as np

# name: (exponent bits, mantissa bits)
FLOATS = {"F16": (5, 10), "BF16": (8, 7), "F32": (8, 23), "F64": (11, 52)}
INTS = {"I8": 8, "I32": 32, "I64": 64, "U8": 8, "U32": 32, "U64": 64}
random.seed(7)


def encode(value, dtype, sign=False):
    """Bits of a Fraction, or of a float that is inf, nan or a signed zero, rounded to nearest even."""
    e_bits, m_bits = FLOATS[dtype]
    top = (1 << e_bits) - 1
    if isinstance(value, float):
        if math.isnan(value):
            return top << m_bits | 1 << (m_bits - 1)
        sign = math.copysign(1, value) < 0
        if math.isinf(value):
            return int(sign) << (e_bits + m_bits) | top << m_bits
        value = Fraction(value)
    if value:
        sign = value < 0
    value = abs(value)
    bias = (1 << (e_bits - 1)) - 1
    shift = int(sign) << (e_bits + m_bits)
    if not value:
        return shift
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while value < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    scaled = value / Fraction(2) ** (exponent - m_bits)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)
    bits = whole + ((exponent + bias - 1) << m_bits)
    return shift | min(bits, top << m_bits)


def decode(bits, dtype):
    e_bits, m_bits = FLOATS[dtype]
    sign = -1 if bits >> (e_bits + m_bits) else 1
    exponent, mantissa = bits >> m_bits & ((1 << e_bits) - 1), bits & ((1 << m_bits) - 1)
    bias = (1 << (e_bits - 1)) - 1
    if exponent == (1 << e_bits) - 1:
        return math.nan if mantissa else sign * math.inf
    if not exponent:
        return sign * math.ldexp(mantissa, 1 - bias - m_bits)
    return sign * math.ldexp(mantissa | 1 << m_bits, exponent - bias - m_bits)


def finite(*values):
    return all(math.isfinite(v) for v in values)


def python_float(function, *values):
    with np.errstate(all="ignore"):
        return float(function(*(np.float64(v) for v in values)))


def multiply_add(a, b, c, dtype):
    """fma; f16 and bf16: that of f32, rounded once more."""
    wide = "F64" if dtype == "F64" else "F32"
    if not finite(a, b, c):
        return encode(python_float(lambda x, y, z: x * y + z, a, b, c), dtype)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        bits = encode(exact, wide)
    else:
        bits = encode(python_float(lambda x, y, z: x * y + z, *(math.copysign(min(abs(v), 1), v) if v == 0 else v
                                                             for v in (a, b, c))), wide)
    return encode(decode(bits, wide), dtype)


def arithmetic(code, a, b, dtype):
    """One operation, rounded to f32 (or f64) and then to the dtype."""
    wide = "F64" if dtype == "F64" else "F32"
    real = np.float64 if dtype == "F64" else np.float32
    functions = {"ADD": lambda x, y: x + y, "SUB": lambda x, y: x - y, "MUL": lambda x, y: x * y, "DIV": lambda x, y: x / y,
                 "FLOORDIV": np.floor_divide, "FLOORMOD": np.remainder, "TRUNCMOD": np.fmod}
    with np.errstate(all="ignore"):
        result = float(functions[code](real(a), real(b)))
    if code in ("ADD", "SUB", "MUL", "DIV") and finite(a, b) and not (code == "DIV" and b == 0):
        exact = {"ADD": lambda: Fraction(a) + Fraction(b), "SUB": lambda: Fraction(a) - Fraction(b),
                 "MUL": lambda: Fraction(a) * Fraction(b), "DIV": lambda: Fraction(a) / Fraction(b)}[code]()
        assert not exact or encode(exact, wide) == encode(result, wide)
    return encode(decode(encode(result, wide), wide), dtype)


def rounding(code, a, dtype):
    wide = {"FLOOR": np.floor, "CEIL": np.ceil, "TRUNC": np.trunc, "RINT": np.rint, "SQRT": np.sqrt}[code]
    real = np.float64 if dtype == "F64" else np.float32
    with np.errstate(all="ignore"):
        return encode(float(wide(real(a))), dtype)


def float_operands(dtype):
    e_bits, m_bits = FLOATS[dtype]
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 7.0, math.inf, -math.inf, math.nan]
    bits = [encode(v, dtype) for v in special]
    bits += [1, 1 << (e_bits + m_bits) | 3, ((1 << e_bits) - 1 << m_bits) - 1, 1 << m_bits]
    return bits + [random.getrandbits(e_bits + m_bits + 1) for _ in range(6)]


def float_rows(dtype):
    operands = float_operands(dtype)
    sign = 1 << sum(FLOATS[dtype])
    pick = lambda: random.choice(operands)
    for code in ("ADD", "SUB", "MUL", "DIV", "FLOORDIV", "FLOORMOD", "TRUNCMOD"):
        for _ in range(7):
            a, b = pick(), pick()
            yield code, dtype, dtype, (a, b), arithmetic(code, decode(a, dtype), decode(b, dtype), dtype)
    for a, b in ((-7.0, 2.0), (7.0, -2.0), (-7.5, -2.0), (5.0, math.inf), (-5.0, math.inf), (6.0, 3.0), (-6.0, 3.0)):
        for code in ("FLOORDIV", "FLOORMOD", "TRUNCMOD"):
            yield code, dtype, dtype, (encode(a, dtype), encode(b, dtype)), arithmetic(code, a, b, dtype)
    for code in ("FLOOR", "CEIL", "TRUNC", "RINT", "SQRT"):
        for a in operands[4:8] + random.sample(operands, 3):
            yield code, dtype, dtype, (a,), rounding(code, decode(a, dtype), dtype)
    for _ in range(8):
        a, b, c = pick(), pick(), pick()
        yield "FMA", dtype, dtype, (a, b, c), multiply_add(decode(a, dtype), decode(b, dtype), decode(c, dtype), dtype)
    for _ in range(8):
        a, b = pick(), pick()
        x, y = decode(a, dtype), decode(b, dtype)
        yield "MIN", dtype, dtype, (a, b), a if x < y or math.isnan(x) else b
        yield "MAX", dtype, dtype, (a, b), a if x > y or math.isnan(x) else b
        yield "COPYSIGN", dtype, dtype, (a, b), a & ~sign | b & sign
        for code, holds in (("EQ", x == y), ("NE", x != y), ("LT", x < y), ("LE", x <= y), ("GT", x > y), ("GE", x >= y)):
            if random.random() < 0.4:
                yield code, dtype, "BOOL", (a, b), int(holds)
    for a in operands[:2] + operands[7:11]:
        x = decode(a, dtype)
        yield "NEG", dtype, dtype, (a,), a ^ sign
        yield "ABS", dtype, dtype, (a,), a & ~sign
        yield "SIGN", dtype, dtype, (a,), a if x == 0 or math.isnan(x) else encode(math.copysign(1.0, x), dtype)
        yield "ISNAN", dtype, "BOOL", (a,), int(math.isnan(x))
        yield "ISINF", dtype, "BOOL", (a,), int(math.isinf(x))
        yield "ISFINITE", dtype, "BOOL", (a,), int(math.isfinite(x))
        yield "CAST", dtype, "BOOL", (a,), int(x != 0)
    for to in FLOATS:
        for a in random.sample(operands, 6):
            yield "CAST", dtype, to, (a,), a if to == dtype else encode(decode(a, dtype), to)
    for to, width in INTS.items():
        for a in random.sample(operands, 4) + [encode(300.7, dtype), encode(-1.5, dtype)]:
            x = decode(a, dtype)
            least, most = (0, (1 << width) - 1) if to[0] == "U" else (-1 << width - 1, (1 << width - 1) - 1)
            value = 0 if math.isnan(x) else least if x < least else most if x > most else int(x)
            yield "CAST", dtype, to, (a,), value & ((1 << width) - 1)


def int_rows(dtype):
    width, signed = INTS[dtype], dtype[0] == "I"
    mask = (1 << width) - 1
    value_of = lambda bits: bits - (1 << width) if signed and bits >> (width - 1) else bits
    operands = [0, 1, 2, 3, 7, mask, mask - 1, 1 << width - 1, (1 << width - 1) - 1, random.getrandbits(width)]
    trunc = lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    table = {
        "ADD": lambda a, b: a + b, "SUB": lambda a, b: a - b, "MUL": lambda a, b: a * b,
        "TRUNCDIV": lambda a, b: trunc(a, b) if b else 0, "FLOORDIV": lambda a, b: a // b if b else 0,
        "CEILDIV": lambda a, b: -(-a // b) if b else 0, "TRUNCMOD": lambda a, b: a - b * trunc(a, b) if b else 0,
        "FLOORMOD": lambda a, b: a % b if b else 0, "MIN": min, "MAX": max, "BCAST": lambda a, b: b if a == 1 else a,
        "BITAND": lambda a, b: a & b, "BITOR": lambda a, b: a | b, "BITXOR": lambda a, b: a ^ b,
        "SHL": lambda a, b: a << b if 0 <= b < width else 0,
        "SHR": lambda a, b: a >> b if 0 <= b < width else -int(a < 0),
    }
    for code, function in table.items():
        for _ in range(5):
            a, b = random.choice(operands), random.choice(operands)
            yield code, dtype, dtype, (a, b), function(value_of(a), value_of(b)) & mask
    if signed:
        least = 1 << width - 1
        for code, value in (("TRUNCDIV", least), ("FLOORDIV", least), ("CEILDIV", least), ("TRUNCMOD", 0), ("FLOORMOD", 0)):
            yield code, dtype, dtype, (least, mask), value
    for code, function in (("NEG", lambda a: -a), ("ABS", abs), ("SIGN", lambda a: (a > 0) - (a < 0)), ("BITNOT", lambda a: ~a)):
        for a in operands[5:9]:
            yield code, dtype, dtype, (a,), function(value_of(a)) & mask
    for _ in range(10):
        a, b, c = (random.choice(operands) for _ in range(3))
        yield "MAD", dtype, dtype, (a, b, c), value_of(a) * value_of(b) + value_of(c) & mask
        x, y = value_of(a), value_of(b)
        for code, holds in (("EQ", x == y), ("NE", x != y), ("LT", x < y), ("LE", x <= y), ("GT", x > y), ("GE", x >= y)):
            if random.random() < 0.4:
                yield code, dtype, "BOOL", (a, b), int(holds)
    for to, to_width in INTS.items():
        for a in random.sample(operands, 3):
            yield "CAST", dtype, to, (a,), value_of(a) & ((1 << to_width) - 1)
    for to in FLOATS:
        for a in random.sample(operands, 4):
            wide = "F64" if to == "F64" else "F32"
            yield "CAST", dtype, to, (a,), encode(decode(encode(Fraction(value_of(a)), wide), wide), to)
    for a in operands[:3]:
        yield "CAST", dtype, "BOOL", (a,), int(a != 0)


def main():
    print("// SPDX-License-Identifier: Apache-2.0\n// Written by eval_rows.py.")
    line, seen = "", set()
    for rows in [float_rows(d) for d in FLOATS] + [int_rows(d) for d in INTS]:
        for code, operand, result, operands, value in rows:
            numbers = ["%d" % v if v < 10 else "0x%x" % v for v in list(operands) + [value]]
            text = "ROW%d(%s)" % (len(operands), ", ".join([code, operand, result] + numbers))
            if text in seen:
                continue
            seen.add(text)
            if len(line) + len(text) > 119:
                print(line)
                line = ""
            line += (" " if line else "") + text
    print(line)


main()
