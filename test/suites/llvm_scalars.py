#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every scalar operator on every element type, over special values and random bits: compiled code against the interpreter,
bit for bit, as vectors (an odd count, so that the remainder runs too) and one by one. NaN equals NaN where arithmetic
made it; operators that move bits must keep them."""

import os
import random
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
RUN = os.path.join(BUILD, "bin/ir-run")

BITS = {"bool": 8, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "u4": 4, "u8": 8, "u16": 16, "u32": 32, "u64": 64,
        "f8e4m3": 8, "f8e5m2": 8, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
FORMAT = {"f8e4m3": (4, 3), "f8e5m2": (5, 2), "f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}  # exponent and mantissa bits
FLOATS = list(FORMAT)
INTS = [d for d in BITS if d[0] in "iu"]
COUNT = 1043

SAME = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "-{a}", "floordiv({a}, {b})", "truncmod({a}, {b})", "floormod({a}, {b})",
        "min({a}, {b})", "max({a}, {b})", "mad({a}, {b}, {c})", "abs({a})", "sign({a})"]
FLOAT = ["{a} / {b}", "fma({a}, {b}, {c})", "floor({a})", "ceil({a})", "trunc({a})", "rint({a})", "sqrt({a})",
         "copysign({a}, {b})", "exp({a})", "log({a})", "tanh({a})", "erf({a})", "sigmoid({a})",
         *(f + "({a})" for f in ("exp2", "expm1", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "asinh", "acosh",
                                 "atanh", "asin", "acos", "atan")), "atan2({a}, {b})", "pow({a}, {b})"]
# Compilers know rules for zero, and not all of them are true of signed zeros, infinities and NaN.
ZERO = [f"{a} {op} {b}" for op in "+-*/" for zero in ("{o}", "{m}") for a, b in ((zero, "{a}"), ("{a}", zero))]
ZERO += [f"{op}({a}, {b})" for op in ("truncmod", "min", "max", "copysign") for zero in ("{o}", "{m}") for a, b in ((zero, "{a}"), ("{a}", zero))]
INT = ["truncdiv({a}, {b})", "ceildiv({a}, {b})", "bcast({a}, {b})", "shl({a}, {b})", "shr({a}, {b})", "floordiv({a}, {p})",
       "floormod({a}, {p})", "truncdiv({a}, {p})", "truncmod({a}, {p})", "ceildiv({a}, {p})", "floordiv({a}, {q})",
       "floormod({a}, {q})", "ceildiv({a}, {q})"]
BITWISE = ["bitand({a}, {b})", "bitor({a}, {b})", "bitxor({a}, {b})", "bitnot({a})"]
COMPARE = ["{a} == {b}", "{a} != {b}", "{a} < {b}", "{a} <= {b}", "{a} > {b}", "{a} >= {b}"]
TEST = ["isnan({a})", "isinf({a})", "isfinite({a})"]
LOGIC = ["{a} && {b}", "{a} || {b}", "!{a}"]
SELECT = ["select({a} < {b}, {c}, {a})"]
KEEPS_BITS = ("-{a}", "abs(", "copysign(", "select(")


def special(dtype):
    """Bit patterns that matter."""
    width = BITS[dtype]
    if dtype == "bool":
        return [0, 1]
    if dtype not in FORMAT:
        top = 1 << (width - 1)
        small = [0, 1, 2, 3, 4, 7, 8, 9, 10, 31, 32, 33, 63, 64, 65, 100, 127]
        numbers = small + [-n for n in small] + [top, top - 1, top + 1, top - 2, top >> 1]
        return [n & ((1 << width) - 1) for n in numbers]
    exponent, mantissa = FORMAT[dtype]
    one = ((1 << (exponent - 1)) - 1) << mantissa
    inf = ((1 << exponent) - 1) << mantissa
    positive = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, one - 1, one + (1 << mantissa), one - (1 << mantissa),
                inf - 1, inf, inf | 1 << (mantissa - 1), inf | 1 << (mantissa - 1) | (5 if mantissa > 3 else 1), one + (1 << (mantissa - 1)),
                one + (2 << mantissa) + (1 << (mantissa - 2))]
    if dtype in ("f32", "f64"):
        make = np.float32 if dtype == "f32" else np.float64
        word = np.uint32 if dtype == "f32" else np.uint64
        for x in (0.5, 1.5, 2.5, 3.5, 10, 88.8, 104, 127, 128, 255, 256, 32767.5, 65504, 65519, 65520, 65536, 2**24 + 1, 2**31, 2**31 - 1,
                  2**32, 2**53 + 1, 2.0**63, 2.0**64, 1e-5, 6e-8, 2.9e-8, 1e-45, 3e38):
            positive.append(int(make(x).view(word)))
    return positive + [p | 1 << (width - 1) for p in positive]


def data(dtype, seed):
    """COUNT elements as unsigned numbers: pairs of special values meet, random bits, small numbers."""
    rng = random.Random(seed)
    width, values = BITS[dtype], special(dtype)
    out = []
    for i in range(COUNT):
        kind = i % 8
        if kind < 5:
            out.append(values[(i * (1 + 7 * seed) + i // len(values)) % len(values)])
        elif dtype == "bool":
            out.append(rng.getrandbits(1))
        elif kind < 7:
            out.append(rng.getrandbits(width))
        else:
            out.append(values[rng.randrange(len(values))])
    return np.array(out, dtype=f"u{max(width // 8, 1)}")


def operators(dtype):
    if dtype == "bool":
        return BITWISE + COMPARE[:2] + LOGIC + ["select({a}, {b}, {c})"]
    if dtype in FORMAT:
        return SAME + FLOAT + COMPARE + TEST + SELECT + ZERO
    return SAME + INT + BITWISE + COMPARE + SELECT


def is_test(op):
    return op in COMPARE + TEST + LOGIC


def word(dtype):
    """What stands in memory: no array of NumPy has elements of half a byte."""
    return f"u{max(BITS[dtype], 8)}"


def read(dtype, name):
    if dtype == "bool":
        return f"%{name}[i] != 0"
    if BITS[dtype] == 4:
        return f"bitcast(u4(%{name}[i]), dtype=i4)" if dtype == "i4" else f"u4(%{name}[i])"
    return f"bitcast(%{name}[i], dtype={dtype})" if dtype != word(dtype) else f"%{name}[i]"


def write(dtype, value):
    if dtype == "bool":
        return f"u8({value})"
    if BITS[dtype] == 4:
        return f"u8(bitcast({value}, dtype=u4))" if dtype == "i4" else f"u8({value})"
    return f"bitcast({value}, dtype={word(dtype)})" if dtype != word(dtype) else value


class Case:
    def __init__(self, name, dtype, result, text, loose):
        self.name, self.dtype, self.result, self.text, self.loose = name, dtype, result, text, loose


def cases_of(dtype):
    for k, op in enumerate(operators(dtype)):
        result = "bool" if is_test(op) or dtype == "bool" else dtype
        p, q = 4 if BITS[dtype] == 4 else 8, 10 if dtype == "bool" or dtype[0] == "u" else -3
        text = op.format(a="%a", b="%b", c="%c", p=f"{dtype}({p})", q=f"{dtype}({q})", o=f"{dtype}(0.0)", m=f"{dtype}(-0.0)")
        yield Case(f"f{k}", dtype, result, text, not op.startswith(KEEPS_BITS))
    for to in BITS:
        if to != dtype:
            yield Case(f"to_{to}", dtype, to, f"{to}(%a)", True)
        if BITS[to] == BITS[dtype] and "bool" not in (to, dtype) and to != dtype:
            yield Case(f"as_{to}", dtype, to, f"bitcast(%a, dtype={to})", False)


def module(cases, fma, scalar):
    """One prim_func a case; SCALAR: in a loop that is not vectorized."""
    lines = ["rill 1", f"module with {{fp.fma={'true' if fma else 'false'}}} {{"]
    calls, types = [], []
    for case in cases:
        u, v = word(case.dtype), word(case.result)
        lines += [f"  prim_func @{case.name}(%x: {u}[n], %y: {u}[n], %z: {u}[n], out %out: {v}[n]) {{",
                  f"    for i < n{'' if scalar else ' vectorize'} {{"]
        for name, source in zip("abc", "xyz"):
            if "%" + name in case.text:
                lines.append(f"      %{name} = {read(case.dtype, source)} : {case.dtype}")
        lines += [f"      %out[i] = {write(case.result, case.text)}", "    }", "  }"]
        calls.append(f"    %{case.name} = call_tir(@{case.name}, %x, %y, %z) : {v}[n]")
        types.append(f"{v}[n]")
    u = word(cases[0].dtype)
    lines += [f"  func @main(%x: {u}[n], %y: {u}[n], %z: {u}[n]) -> ({', '.join(types)}) {{"] + calls
    lines += ["    return " + ", ".join("%" + c.name for c in cases), "  }", "}"]
    return "\n".join(lines) + "\n"


def run(folder, text, inputs, count, target):
    path = os.path.join(folder, "m.rill")
    with open(path, "w") as file:
        file.write(text)
    outputs = [os.path.join(folder, f"{target}{i}.npy") for i in range(count)]
    command = [RUN, path, f"--target={target}", "--checked=off"]
    command += [f"--input={i}" for i in inputs] + [f"--output={o}" for o in outputs]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[:2000])
        return None
    return [np.load(o) for o in outputs]


def is_nan(dtype, bits):
    exponent, mantissa = FORMAT[dtype]
    magnitude = bits & bits.dtype.type((1 << (BITS[dtype] - 1)) - 1)
    if dtype == "f8e4m3":
        return magnitude == 0x7F  # all other bits are numbers
    return magnitude > bits.dtype.type(((1 << exponent) - 1) << mantissa)


def differing(case, got, want):
    same = got == want
    if case.loose and case.result in FORMAT:
        same |= is_nan(case.result, got) & is_nan(case.result, want)
    return np.flatnonzero(~same)


def main():
    passed = failed = 0
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for dtype in BITS:
            if wanted and dtype not in wanted:
                continue
            arrays = [data(dtype, seed) for seed in range(3)]
            inputs = []
            for name, array in zip("xyz", arrays):
                inputs.append(os.path.join(folder, name + ".npy"))
                np.save(inputs[-1], array)
            cases = list(cases_of(dtype))
            for fma in (False, True) if dtype in FORMAT else (False,):
                want = run(folder, module(cases, fma, True), inputs, len(cases), "interp")
                for scalar in (False, True):
                    got = run(folder, module(cases, fma, scalar), inputs, len(cases), "llvm")
                    if want is None or got is None:
                        print(f"{dtype}: did not run")
                        failed += len(cases)
                        continue
                    for case, g, w in zip(cases, got, want):
                        bad = differing(case, g, w)
                        passed += not len(bad)
                        failed += bool(len(bad))
                        if len(bad):
                            i = bad[0]
                            print(f"{dtype}{', fma' if fma else ''}, {'scalar' if scalar else 'vector'}: {case.text}: {len(bad)} differ; "
                                  f"a={arrays[0][i]:#x} b={arrays[1][i]:#x} c={arrays[2][i]:#x}: {g[i]:#x}, expected {w[i]:#x}")
    print(f"llvm_scalars: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
