# SPDX-License-Identifier: Apache-2.0
"""Builds random tensor programs: nests of loops of all modes and compute nests over buffers of random dtypes, with indices that may be
out of range, conditions, guards, local memory and reductions. Rounds of parallel and vectorized loops write elements of their own.
No `copysign` and no `bitcast`: the sign of a NaN that arithmetic has made is not settled."""

import random

import numpy as np

KINDS = {"f32": "f4", "f64": "f8", "f16": "f2", "i8": "i1", "i32": "i4", "i64": "i8", "u8": "u1", "u32": "u4", "bool": "?"}
FLOAT = ["exp", "log", "tanh", "erf", "sigmoid", "sqrt", "floor", "ceil", "trunc", "rint", "abs", "sign"]
BINARY = ["max", "min", "floordiv", "floormod", "truncmod", "+", "-", "*"]
BITS = ["bitand", "bitor", "bitxor", "shl", "shr", "truncdiv", "ceildiv"]


class Kernel:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.big = self.rng.random() < 0.15
        sizes = [0, 1, 2, 3, 7, 8, 9, 16, 31] if not self.big else [300, 517]
        self.symbols = {s: self.rng.choice(sizes) for s in ("n", "m")}
        self.count = 0
        self.inputs = [self.buffer(f"%x{i}") for i in range(self.rng.randint(1, 3))]
        self.outs = [(f"%y{i}", self.rng.choice(list(KINDS)[:8]), self.rng.choice([["n"], ["n", "m"], ["m", "n"], ["n", "m"]])) for i in range(self.rng.randint(1, 2))]
        self.arrays = [self.array(d, [self.size(e) for e in dims]) for _, d, dims in self.inputs]
        self.lines = []
        for out in self.outs:
            (self.compute if self.rng.random() < 0.4 else self.loops)(out)

    def text(self):
        names = {n for _, _, dims in self.inputs for n in dims}
        explicit = [s for s in ("n", "m") if s not in names]
        params = [f"{n}: {d}[{', '.join(dims)}]" for n, d, dims in self.inputs]
        outs = [f"out {n}: {d}[{', '.join(dims)}]" for n, d, dims in self.outs]
        kinds = ", ".join(f"{d}[{', '.join(dims)}]" for _, d, dims in self.outs)
        carriers = [f"%c{s}: i8[{s}]" for s in explicit]
        extra = "".join(f", {s}" for s in explicit)
        given = ", ".join(n for n, _, _ in self.inputs)
        return (f"rill 1\nmodule {{\n  prim_func @f({', '.join(params + [f'{s}: i64' for s in explicit] + outs)}) {{\n" + "\n".join(self.lines) +
                f"\n  }}\n\n  func @main({', '.join(params + carriers)}) -> ({kinds}) {{\n    {', '.join(n for n, _, _ in self.outs)} = "
                f"call_tir(@f, {given}{extra}) : {kinds}\n    return {', '.join(n for n, _, _ in self.outs)}\n  }}\n}}\n")

    def feeds(self):
        names = {n for _, _, dims in self.inputs for n in dims}
        return self.arrays + [np.zeros(self.symbols[s], np.int8) for s in ("n", "m") if s not in names]

    def size(self, extent):
        return self.symbols.get(extent, None) if extent in self.symbols else int(extent)

    def array(self, dtype, shape):
        kind = KINDS[dtype]
        if kind[0] == "f":
            x = self.numbers.standard_normal(shape) * 3
            return np.where(self.numbers.random(shape) < 0.1, self.numbers.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape), x).astype(kind)
        if kind == "?":
            return self.numbers.random(shape) < 0.5
        info = np.iinfo(kind)
        low, high = self.rng.choice([(-3, 40), (info.min, info.max)])
        return self.numbers.integers(max(low, info.min), min(high, info.max), shape, dtype=kind)

    def buffer(self, name):
        dims = [self.rng.choice(["n", "m", "1", "4", "13"]) for _ in range(self.rng.randint(1, 2))]
        return name, self.rng.choice(list(KINDS)), dims

    def line(self, depth, text):
        self.lines.append("  " * (depth + 2) + text)

    # --- expressions ---
    def index(self, axes):
        draw = self.rng.random()
        axis = self.rng.choice(axes) if axes else "0"
        if draw < 0.5:
            return axis
        if draw < 0.75:
            return self.rng.choice([f"{axis} + 1", f"{axis} - 2", f"{axis} * 2", f"n - 1 - {axis}", f"floordiv({axis}, 3)", f"floormod({axis}, 4)", f"m - {axis}", "0", "3", "-1"])
        if draw < 0.9 and len(axes) > 1:
            return f"{axes[0]} + {axes[1]}"
        wanted = [b for b in self.inputs if b[1] in ("i8", "i32", "i64", "u8", "u32")]
        if not wanted:
            return axis
        name, _, dims = self.rng.choice(wanted)
        return f"i64({name}[{', '.join(self.rng.choice(axes or ['0']) for _ in dims)}])"

    def load(self, axes, dtype):
        name, own, dims = self.rng.choice(self.inputs)
        text = f"{name}[{', '.join(self.index(axes) for _ in dims)}]"
        return text if own == dtype else f"{dtype}({text})"

    def literal(self, dtype):
        if dtype == "bool":
            return f"bool({self.rng.choice(['true', 'false'])})"
        if dtype[0] == "f":
            return f"{dtype}({self.rng.choice(['0.0', '1.5', '-2.0', '0.25', 'inf', '-0.0'])})"
        return f"{dtype}({self.rng.choice([0, 1, 2, 3, 7])})"

    def expr(self, axes, dtype, depth=3):
        draw = self.rng.random()
        if depth == 0 or draw < 0.3:
            return self.literal(dtype) if self.rng.random() < 0.25 else self.load(axes, dtype)
        if draw < 0.4:
            return f"select({self.condition(axes, depth - 1)}, {self.expr(axes, dtype, depth - 1)}, {self.expr(axes, dtype, depth - 1)})"
        if draw < 0.5:
            return f"guard({self.condition(axes, depth - 1)}, {self.load(axes, dtype)}, {self.expr(axes, dtype, depth - 1)})"
        if draw < 0.6:
            other = self.rng.choice(list(KINDS))
            return f"{dtype}({self.expr(axes, other, depth - 1)})" if other != dtype else self.load(axes, dtype)
        if dtype == "bool":
            return f"({self.condition(axes, depth - 1)})"
        if dtype[0] == "f" and draw < 0.75:
            return f"{self.rng.choice(FLOAT)}({self.expr(axes, dtype, depth - 1)})"
        op = self.rng.choice(BINARY + (BITS if dtype[0] in "iu" else ["/"]))
        a, b = self.expr(axes, dtype, depth - 1), self.expr(axes, dtype, depth - 1)
        return f"{op}({a}, {b})" if op.isalpha() else f"({a} {op} {b})"

    def condition(self, axes, depth):
        draw = self.rng.random()
        if draw < 0.4 and axes:
            return f"{self.rng.choice(axes)} {self.rng.choice(['<', '>=', '==', '!='])} {self.rng.choice(['n - 1', 'm', '2', '5'])}"
        dtype = self.rng.choice(["f32", "i32", "i64", "f16"])
        text = f"{self.expr(axes, dtype, max(depth, 0) and 1)} {self.rng.choice(['<', '<=', '==', '>'])} {self.expr(axes, dtype, 0)}"
        return text if draw < 0.8 else f"{text} {self.rng.choice(['&&', '||'])} {self.condition(axes, 0)}"

    # --- statements ---
    def fresh(self, base):
        self.count += 1
        return f"{base}{self.count}"

    def compute(self, out):
        name, dtype, dims = out
        axes = [self.fresh("p") for _ in dims]
        head = ", ".join(f"{a} < {e}" for a, e in zip(axes, dims))
        if self.rng.random() < 0.4 or dtype == "bool":
            self.line(0, f"compute ({head}) {{")
            self.line(1, f"{name}[{', '.join(axes)}] = {self.expr(axes, dtype)}")
            self.line(0, "}")
            return
        ks = [self.fresh("k") for _ in range(self.rng.choice([1, 1, 2]) if not self.big else 1)]
        extents = [self.rng.choice(["n", "m", "5", "40"] if not self.big else ["5", "33"]) for _ in ks]
        where = f" where {self.condition(axes + ks, 0)}" if self.rng.random() < 0.3 else ""
        reducer = self.rng.choice(["sum", "prod", "max", "min", "dot"])
        args = f"{self.expr(axes + ks, dtype, 2)}" + (f", {self.expr(axes + ks, dtype, 1)}" if reducer == "dot" else "")
        chain = ', order="chain"' if reducer == "sum" and self.rng.random() < 0.3 else ""
        self.line(0, f"compute ({head}; {', '.join(f'{k} < {e}' for k, e in zip(ks, extents))}){where} {{")
        self.line(1, f"{name}[{', '.join(axes)}] = {reducer}({args}{chain})")
        self.line(0, "}")

    def loops(self, out):
        name, dtype, dims = out
        axes = [self.fresh("i") + "_" for _ in dims]
        modes = [self.rng.choice(["", " parallel", " parallel", " vectorize", " unroll"]) for _ in dims]
        if len(dims) == 2 and modes[0] == " vectorize":
            modes[0] = " parallel"
        for depth, (axis, extent, mode) in enumerate(zip(axes, dims, modes)):
            self.line(depth, f"for {axis} < {extent}{mode} {{")
        depth = len(dims)
        own = f"{name}[{', '.join(axes)}]"
        self.line(depth, f"{own} = {self.expr(axes, dtype)}")
        for _ in range(self.rng.randint(0, 2)):
            self.statement(depth, own, dtype, axes)
        for level in range(depth - 1, -1, -1):
            self.line(level, "}")

    def statement(self, depth, own, dtype, axes):
        draw = self.rng.random()
        if draw < 0.35:
            self.line(depth, f"if {self.condition(axes, 1)} {{")
            self.line(depth + 1, f"{own} = {self.expr(axes, dtype, 2)}")
            if self.rng.random() < 0.5:
                self.line(depth, "} else {")
                self.line(depth + 1, f"{own} = max({own}, {self.expr(axes, dtype, 1)})" if dtype != "bool" else f"{own} = {self.expr(axes, dtype, 1)}")
            self.line(depth, "}")
        elif draw < 0.7 and dtype != "bool":
            k = self.fresh("k")
            self.line(depth, f"for {k} < {self.rng.choice(['0', '1', '3', '6', 'n'] if not self.big else ['0', '3'])}{self.rng.choice(['', ' unroll', ' unroll(2)'])} {{")
            self.line(depth + 1, f"{own} = {own} + {self.expr(axes + [k], dtype, 2)}")
            self.line(depth, "}")
        else:
            t, k = self.fresh("%t"), self.fresh("k")
            self.line(depth, f"{t} = alloc(scope=local) : {dtype}[4]")
            self.line(depth, f"for {k} < 4 {{")
            self.line(depth + 1, f"{t}[{k}] = {self.expr(axes + [k], dtype, 2)}")
            self.line(depth, "}")
            self.line(depth, f"{own} = {t}[{self.rng.choice(['0', '3', self.index(axes)])}]")
