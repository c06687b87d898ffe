# SPDX-License-Identifier: Apache-2.0
"""Builds random modules that run: a graph function of mixed operators, dtypes, and static or symbolic extents, with the
arrays to run it on. Each value is tracked with the extents it has on these arrays, so that nearly every module is valid."""

import random

import numpy as np

FLOATS = ["f32", "f32", "f32", "f16", "f64", "bf16"]
INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
SMALL = ["i4", "u4", "f8e4m3", "f8e5m2"]  # no array of NumPy has them
ARRAYS = {"bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
          "f16": "f2", "f32": "f4", "f64": "f8"}
UNARY_FLOAT = ["exp", "log", "tanh", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "exp2", "expm1", "log2", "log10", "log1p", "erf", "sigmoid", "sqrt", "rsqrt", "nn.gelu", "nn.gelu_tanh", "nn.silu", "nn.selu",
               "nn.softplus", "nn.hard_sigmoid", "nn.hard_swish", "nn.leakyrelu", "nn.softmax"]
UNARY_ANY = ["abs", "negative", "sign", "floor", "ceil", "round", "trunc", "square", "nn.relu", "nn.relu6"]
BINARY = ["add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod", "maximum", "minimum"]
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-7, 3.0e4, float("inf"), float("-inf"), float("nan")]


class Value:
    def __init__(self, name, dtype, shape, text=None, storable=True):
        self.name, self.dtype, self.shape = name, dtype, tuple(shape)
        # How each extent is written, a number where nobody knows.
        self.text = tuple(text) if text else tuple(str(d) for d in shape)

    def is_float(self):
        return self.dtype.startswith(("f", "bf"))

    def is_int(self):
        return self.dtype[0] in "iu"

    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))


class Program:
    """`text()` is the module, `arrays` are its inputs, `symbols` what the extents' names stand for in them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.count = 0
        self.lines = []
        self.private = []
        self.depth = 0
        self.extra = []  # symbols that no parameter binds
        self.symbols = {s: self.rng.choice([1, 1, 2, 3, 5, 7, 8, 17]) for s in ("n", "m", "k")}
        self.params, self.arrays, values = [], [], []
        for i in range(self.rng.randint(1, 4)):
            value = self.parameter(f"%p{i}")
            values.append(value)
        values += [self.constant() for _ in range(self.rng.randint(0, 2))]
        self.scope = values
        self.statements(self.rng.randint(2, 11))
        late = self.scope[-6:] if self.rng.random() < 0.7 else self.scope
        self.results = self.storable(self.rng.sample(late, min(len(late), self.rng.randint(1, 4))))
        bound = sorted(d for d in self.symbols if d in self.bound())
        self.where = [f"{s} {op} {limit}" for s in bound for op, limit in
                      [self.rng.choice([(">=", 1), ("<=", 64), ("==", self.symbols[s]), (">=", 0)])] if self.rng.random() < 0.4]

    # --- text ---

    def text(self, results=None):
        if results is None:
            results = [f"{r.dtype}[{', '.join('?' for _ in r.shape)}]" for r in self.results]
        params = ", ".join(f"{v.name}: {v.dtype}[{', '.join(v.text)}]" for v in self.params)
        lines = "\n".join(self.lines)
        where = " where " + ", ".join(self.where) if self.where else ""
        text = "rill 1\nmodule {\n" + "".join(self.private)
        text += f"  func @main({params}) -> ({', '.join(results)}){where} {{\n"
        text += f"{lines}\n    return {', '.join(r.name for r in self.results)}\n  }}\n}}\n"
        return text

    def bound(self):
        return {d for v in self.params for d in v.text if d in self.symbols}

    def emit(self, text, *results):
        """A statement that gives values: (dtype, shape[, text])."""
        values = []
        for result in results:
            values.append(Value(self.name(), *result))
        names = ", ".join(v.name for v in values)
        self.lines.append("  " * (self.depth + 2) + f"{names} = {text}")
        self.scope.extend(values)
        return values[0] if len(values) == 1 else values

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def storable(self, values):
        """Dtypes that .npy lacks are widened, which keeps their bits apart."""
        return [v if v.dtype in ARRAYS else self.emit(f"astype({v.name}, dtype=f32)", ("f32", v.shape, v.text)) for v in values]

    # --- choices ---

    def pick(self, wanted=lambda v: True):
        """A value, the newer the likelier; None where there is none."""
        found = [v for v in self.scope if wanted(v)]
        if not found:
            return None
        return self.rng.choice(found[-4:] if self.rng.random() < 0.6 else found)

    def extent(self):
        if self.rng.random() < 0.45:
            symbol = self.rng.choice(["n", "m", "k"])
            return self.symbols[symbol], symbol
        value = self.rng.choice([1, 1, 2, 3, 4, 5, 8, 13, 16, 33]) if self.rng.random() > 0.04 else 0
        return value, str(value)

    def array(self, dtype, shape):
        kind = ARRAYS[dtype]
        if kind[0] == "f":
            x = self.numbers.standard_normal(shape) * self.rng.choice([0.3, 1.0, 4.0])
            if self.rng.random() < 0.5:
                mask = self.numbers.random(shape) < 0.15
                x = np.where(mask, self.numbers.choice(SPECIAL, shape), x)
            with np.errstate(over="ignore"):
                return np.asarray(x).astype(kind)
        if kind == "?":
            return np.asarray(self.numbers.random(shape) < 0.5)
        info = np.iinfo(kind)
        low, high = self.rng.choice([(0, 4), (-3, 9), (info.min, info.max)])
        return np.asarray(self.numbers.integers(max(low, info.min), min(high, info.max), shape, dtype=kind, endpoint=True))

    def dtype(self):
        draw = self.rng.random()
        return self.rng.choice(FLOATS if draw < 0.65 else INTS if draw < 0.9 else ["bool"])

    def parameter(self, name):
        dtype = self.dtype()
        dtype = dtype if dtype in ARRAYS else "f32"
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 4])
        dims = [self.extent() for _ in range(rank)]
        value = Value(name, dtype, [d for d, _ in dims], [t for _, t in dims])
        self.params.append(value)
        self.arrays.append(self.array(dtype, value.shape))
        return value

    def constant(self):
        dtype = self.dtype()
        shape = [self.rng.choice([1, 2, 3, 5]) for _ in range(self.rng.randint(0, 2))]
        return self.literal(dtype, shape)

    def literal(self, dtype, shape):
        def one():
            if dtype == "bool":
                return self.rng.choice(["true", "false"])
            if dtype[0] in "iu":
                return str(self.rng.choice([0, 1, 2, 3, 7, -1 if dtype[0] == "i" else 5]))
            return self.rng.choice(["0.0", "-0.0", "1.0", "-1.5", "0.25", "nan", "inf", "-inf", "3.0", "1e-05", "100.0"])

        def nested(dims):
            return "[" + ", ".join(nested(dims[1:]) for _ in range(dims[0])) + "]" if dims else one()

        self.scope = getattr(self, "scope", [])
        return self.emit(f"const({nested(list(shape))}) : {dtype}[{', '.join(map(str, shape))}]", (dtype, shape))

    # --- statements ---

    def statements(self, count):
        kinds = [(self.test, 2), (self.pair, 2), (self.data_extent, 1), (self.tuples, 1), (self.slope, 1), (self.adaptive, 1), (self.unary, 5), (self.binary, 6), (self.compare, 2), (self.cast, 2), (self.reduce, 4), (self.matmul, 3),
                 (self.move, 7), (self.join, 2), (self.cut, 3), (self.take, 2), (self.fill, 2), (self.window, 2), (self.choose, 2),
                 (self.pad, 2), (self.norm, 1), (self.quantize, 0.1), (self.shapes, 1), (self.nonzero, 0.5)]
        nests = [(self.branch, 1), (self.rounds, 1), (self.flow, 1), (self.function, 1), (self.closure, 0.3)]
        for _ in range(count):
            offered = kinds + (nests if self.depth < 2 and not getattr(self, "flowing", False) else [])
            for _ in range(20):
                make = self.rng.choices([k for k, _ in offered], [w for _, w in offered])[0]
                if make():
                    break

    def unary(self):
        x = self.pick(lambda v: v.dtype != "bool")
        if not x:
            return False
        if x.is_float() and self.rng.random() < 0.6:
            op = self.rng.choice(UNARY_FLOAT)
            if op == "nn.softmax" and not x.shape:
                return False
            axis = f", axis={self.axis(x)}" if op == "nn.softmax" else ""
            return self.emit(f"{op}({x.name}{axis})", (x.dtype, x.shape, x.text))
        if self.rng.random() < 0.2:
            low, high = ("-0.5", "2.0") if x.is_float() else ("0", "3")
            return self.emit(f"clip({x.name}, min={low}, max={high})", (x.dtype, x.shape, x.text))
        return self.emit(f"{self.rng.choice(UNARY_ANY)}({x.name})", (x.dtype, x.shape, x.text))

    @staticmethod
    def broadcast(*values):
        """Shape and text of what broadcasts together, or None."""
        rank = max(len(v.shape) for v in values)
        shape, text = [], []
        for axis in range(-rank, 0):
            dims = [(v.shape[axis], v.text[axis]) for v in values if len(v.shape) >= -axis]
            other = [d for d in dims if d[0] != 1] or dims[:1]
            if any(d[0] != other[0][0] for d in other):
                return None
            shape.append(other[0][0])
            text.append(other[0][1])
        return shape, text

    def partner(self, x):
        """A value that broadcasts against x, made where there is none."""
        y = self.pick(lambda v: v.dtype == x.dtype and self.broadcast(x, v) and self.bounded_size(x, v))
        return y or self.literal(x.dtype, self.rng.choice([[], [1], x.shape[-1:] if x.size() < 20 else []]))

    def bounded_size(self, *values):
        return int(np.prod(self.broadcast(*values)[0], dtype=np.int64)) < 4000

    def binary(self):
        x = self.pick()
        y = self.partner(x)
        pair = [x, y] if self.rng.random() < 0.5 else [y, x]
        shape, text = self.broadcast(*pair)
        ops = BITS if x.dtype == "bool" else BINARY + (BITS + ["left_shift", "right_shift"] if x.is_int() else [])
        if x.dtype == "bool":
            ops = BITS + ["logical_and", "logical_or", "logical_xor"]
        if self.rng.random() < 0.1 and x.dtype != "bool":
            z = self.partner(x)
            if self.broadcast(x, y, z):
                return self.emit(f"ewise_fma({x.name}, {y.name}, {z.name})", (x.dtype, *self.broadcast(x, y, z)))
        return self.emit(f"{self.rng.choice(ops)}({pair[0].name}, {pair[1].name})", (x.dtype, shape, text))

    def test(self):
        x = self.pick(lambda v: v.dtype not in SMALL)
        if x.dtype == "bool":
            return self.emit(f"{self.rng.choice(['logical_not', 'bitwise_not'])}({x.name})", ("bool", x.shape, x.text))
        if x.is_int() and self.rng.random() < 0.5:
            return self.emit(f"bitwise_not({x.name})", (x.dtype, x.shape, x.text))
        return self.emit(f"{self.rng.choice(['isnan', 'isinf', 'isfinite'])}({x.name})", ("bool", x.shape, x.text))

    def pair(self):
        x = self.pick(lambda v: v.is_float() and v.dtype not in SMALL)
        if not x:
            return False
        y = self.partner(x)
        return self.emit(f"log_add_exp({x.name}, {y.name})", (x.dtype, *self.broadcast(x, y)))

    def slope(self):
        x = self.pick(lambda v: v.is_float() and v.dtype not in SMALL and v.shape)
        if not x:
            return False
        axis = self.rng.randrange(len(x.shape))
        a = self.emit(f"full({self.scalar(x.dtype)}, shape=[{x.text[axis]}])", (x.dtype, [x.shape[axis]], [x.text[axis]]))
        return self.emit(f"nn.prelu({x.name}, {a.name}, axis={axis - len(x.shape) if self.rng.random() < 0.5 else axis})", (x.dtype, x.shape, x.text))

    def adaptive(self):
        x = self.pick(lambda v: len(v.shape) == 4 and v.is_float() and v.dtype not in SMALL and min(v.shape) >= 1)
        if not x:
            return False
        size = [self.rng.randint(1, 4), self.rng.randint(1, 4)]
        return self.emit(f"nn.adaptive_avg_pool2d({x.name}, output_size={size})", (x.dtype, [*x.shape[:2], *size], [*x.text[:2], *map(str, size)]))

    def tuples(self):
        """A tuple taken apart again, or one that a condition chooses."""
        a, b = self.pick(), self.pick()
        name = self.name()
        self.lines.append("  " * (self.depth + 2) + f"{name} = tuple({a.name}, {b.name})")
        i, v = self.rng.choice([(0, a), (1, b)])
        return self.emit(f"{name}[{i}]", (v.dtype, v.shape, v.text))

    def data_extent(self):
        """Extents that only the data tells, as symbols of their own."""
        if self.depth or getattr(self, "flowing", False):
            return False
        value, symbol = self.rng.choice([1, 2, 5, 9]), self.name().replace("%v", "s")
        c, shape = self.emit(f"const([{value}]) : i64[1]", ("i64", [1])), self.name()
        cast = self.name()
        pad = "  " * (self.depth + 2)
        self.lines += [pad + f"{shape} = tensor_to_shape({c.name})", pad + f"{cast} = match_cast({shape}) : shape[{symbol}]"]
        self.symbols[symbol] = value
        self.extra.append(symbol)
        return self.emit(f"full({self.scalar('f32')}, shape=[{symbol}])", ("f32", [value], [symbol]))

    def closure(self):
        """A function value that uses a value around it."""
        x = self.pick(lambda v: v.dtype == "f32" and all(t.isdigit() for t in v.text))
        if not x:
            return False
        name, own = self.name(), self.name()
        kind = f"f32[{', '.join(x.text)}]"
        pad = "  " * (self.depth + 2)
        inner = self.name()
        self.lines += [pad + f"{name} = func(%p{own[1:]}: {kind}) -> {kind} {{", pad + f"  {inner} = add(%p{own[1:]}, {x.name}) : {kind}", pad + f"  return {inner}", pad + "}"]
        return self.emit(f"call({name}, {x.name})", ("f32", x.shape, x.text))

    def compare(self):
        x = self.pick()
        y = self.partner(x)
        return self.emit(f"{self.rng.choice(COMPARE)}({x.name}, {y.name})", ("bool", *self.broadcast(x, y)))

    def cast(self):
        x = self.pick()
        dtype = self.dtype() if self.rng.random() < 0.95 else self.rng.choice(SMALL)
        return self.emit(f"astype({x.name}, dtype={dtype})", (dtype, x.shape, x.text))

    def choose(self):
        c, x = self.pick(lambda v: v.dtype == "bool"), self.pick()
        if not c:
            return False
        y = self.partner(x)
        shape = self.broadcast(c, x, y) if self.broadcast(c, x) else None
        if not shape or np.prod(shape[0]) > 4000:
            return False
        return self.emit(f"where({c.name}, {x.name}, {y.name})", (x.dtype, *shape))

    def axis(self, x):
        axis = self.rng.randrange(len(x.shape))
        return axis - len(x.shape) if self.rng.random() < 0.4 else axis

    def reduce(self):
        x = self.pick(lambda v: v.dtype != "bool")
        if not x:
            return False
        op = self.rng.choice(["sum", "max", "min"] + (["mean"] if x.is_float() else []))
        if self.rng.random() < 0.25:
            axes, text = list(range(len(x.shape))), ""
        else:
            axes = self.rng.sample(range(len(x.shape)), self.rng.randint(0, len(x.shape)))
            text = f", axis=[{', '.join(str(a - len(x.shape) if self.rng.random() < 0.3 else a) for a in axes)}]"
        keep = self.rng.random() < 0.4
        left = [i for i in range(len(x.shape)) if keep or i not in axes]
        shape = [1 if i in axes else x.shape[i] for i in left]
        return self.emit(f"{op}({x.name}{text}{', keepdims=true' if keep else ''})",
                         (x.dtype, shape, ["1" if i in axes else x.text[i] for i in left]))

    def matmul(self):
        x = self.pick(lambda v: v.dtype != "bool" and 1 <= len(v.shape) <= 3)
        if not x:
            return False
        y = self.pick(lambda v: v.dtype == x.dtype and v.shape and v.shape[max(len(v.shape) - 2, 0)] == x.shape[-1])
        if not y:
            cols = self.rng.choice([1, 3, 8])
            if x.shape[-1] > 40:
                return False
            y = self.emit(f"full({self.scalar(x.dtype)}, shape=[{x.text[-1]}, {cols}])",
                          (x.dtype, [x.shape[-1], cols], [x.text[-1], str(cols)]))
        left, right = Value("", "f32", x.shape[:-2], x.text[:-2]), Value("", "f32", y.shape[:-2], y.text[:-2])
        batch = self.broadcast(left, right)
        if not batch:
            return False
        rows = [i for i in [len(x.shape) - 2] if i >= 0]
        cols = [len(y.shape) - 1] if len(y.shape) > 1 else []
        shape = batch[0] + [x.shape[i] for i in rows] + [y.shape[i] for i in cols]
        if np.prod(shape) * x.shape[-1] > 30000:
            return False
        text = batch[1] + [x.text[i] for i in rows] + [y.text[i] for i in cols]
        return self.emit(f"matmul({x.name}, {y.name})", (x.dtype, shape, text))

    def scalar(self, dtype):
        return self.literal(dtype, []).name

    def move(self):
        x = self.pick()
        rank = len(x.shape)
        kind = self.rng.choice(["permute", "expand", "squeeze", "broadcast", "flatten", "reshape", "split_axis"])
        if kind == "permute":
            axes = self.rng.sample(range(rank), rank)
            return self.emit(f"permute_dims({x.name}, axes=[{', '.join(map(str, axes))}])",
                             (x.dtype, [x.shape[a] for a in axes], [x.text[a] for a in axes]))
        if kind == "expand" and rank < 5:
            at = self.rng.randint(0, rank)
            return self.emit(f"expand_dims({x.name}, axis=[{at - rank - 1 if self.rng.random() < 0.4 else at}])",
                             (x.dtype, x.shape[:at] + (1,) + x.shape[at:], x.text[:at] + ("1",) + x.text[at:]))
        if kind == "squeeze":
            ones = [i for i, d in enumerate(x.shape) if d == 1]
            if not ones:
                return False
            at = self.rng.choice(ones)
            return self.emit(f"squeeze({x.name}, axis=[{at}])", (x.dtype, x.shape[:at] + x.shape[at + 1:], x.text[:at] + x.text[at + 1:]))
        if kind == "broadcast" and rank < 5:
            extent, text = self.extent()
            if x.size() * extent > 3000 or (text in self.symbols and text not in self.bound() and text not in self.extra):
                return False
            return self.emit(f"broadcast_to({x.name}, shape=[{', '.join((text,) + x.text)}])",
                             (x.dtype, (extent,) + x.shape, (text,) + x.text))
        if kind == "flatten":
            return self.emit(f"flatten({x.name})", (x.dtype, [x.size()], [self.product(x.text)]))
        if kind == "reshape" and rank >= 2:
            at = self.rng.randrange(rank - 1)
            merged = x.shape[at] * x.shape[at + 1]
            shape = x.shape[:at] + (merged,) + x.shape[at + 2:]
            known = x.text[:at] + (self.product(x.text[at:at + 2]),) + x.text[at + 2:]
            given = list(known)
            if self.rng.random() < 0.5 and 0 not in shape:
                given[self.rng.randrange(len(given))] = "-1"
            return self.emit(f"reshape({x.name}, shape=[{', '.join(given)}])", (x.dtype, shape, known))
        if kind == "split_axis" and rank:
            at = self.rng.randrange(rank)
            if not x.text[at].isdigit() or rank > 4:
                return False
            factors = [f for f in range(1, x.shape[at] + 1) if x.shape[at] % f == 0]
            if not factors:
                return False
            f = self.rng.choice(factors)
            parts = (f, x.shape[at] // f)
            return self.emit(f"reshape({x.name}, shape=[{', '.join(x.text[:at] + tuple(map(str, parts)) + x.text[at + 1:])}])",
                             (x.dtype, x.shape[:at] + parts + x.shape[at + 1:], x.text[:at] + tuple(map(str, parts)) + x.text[at + 1:]))
        return False

    @staticmethod
    def product(texts):
        return " * ".join(f"({t})" if not t.isalnum() else t for t in texts) or "1"

    def join(self):
        x = self.pick(lambda v: v.shape)
        if not x:
            return False
        axis = self.rng.randrange(len(x.shape))
        fits = [v for v in self.scope if v.dtype == x.dtype and len(v.shape) == len(x.shape)
                and all(i == axis or (a == b) for i, (a, b) in enumerate(zip(v.shape, x.shape)))]
        parts = [self.rng.choice(fits) for _ in range(self.rng.randint(1, 3))]
        extent = sum(p.shape[axis] for p in parts)
        if np.prod(parts[0].shape) * len(parts) > 4000:
            return False
        shape = parts[0].shape[:axis] + (extent,) + parts[0].shape[axis + 1:]
        text = parts[0].text[:axis] + (" + ".join(p.text[axis] for p in parts),) + parts[0].text[axis + 1:]
        return self.emit(f"concat({', '.join(p.name for p in parts)}, axis={axis})", (parts[0].dtype, shape, text))

    def cut(self):
        x = self.pick(lambda v: v.shape)
        if not x:
            return False
        axis = self.rng.randrange(len(x.shape))
        extent = x.shape[axis]
        if self.rng.random() < 0.3 and extent >= 2 and x.text[axis].isdigit():
            at = self.rng.randint(1, extent - 1)
            def part(size):
                return (x.dtype, x.shape[:axis] + (size,) + x.shape[axis + 1:], x.text[:axis] + (str(size),) + x.text[axis + 1:])
            return self.emit(f"split({x.name}, indices=[{at}], axis={axis})", part(at), part(extent - at))
        step = self.rng.choice([1, 1, 2, 3, -1, -2])
        begin, end = self.rng.randint(-extent - 1, extent + 1), self.rng.choice([self.rng.randint(-extent - 1, extent + 1), 2**63 - 1 if step > 0 else -2**63])
        size = len(range(extent)[begin:None if abs(end) >= 2**63 - 1 else end:step])
        # Where the extent is a symbol, nobody here writes what the rest is called.
        if not x.text[axis].isdigit() and (begin < 0 or abs(end) < 2**62):
            begin, end = (0, 2**63 - 1) if step > 0 else (-1, -2**63)
            size = len(range(extent)[::step])
        shape = x.shape[:axis] + (size,) + x.shape[axis + 1:]
        return self.emit(f"strided_slice({x.name}, begin=[{begin}], end=[{end}], strides=[{step}], axes=[{axis}])",
                         (x.dtype, shape, x.text[:axis] + (str(size),) + x.text[axis + 1:]))

    def take(self):
        x, i = self.pick(lambda v: v.size() and len(v.shape) < 4), self.pick(lambda v: v.is_int() and v.dtype not in SMALL and len(v.shape) < 3)
        if not x or not i or x.size() * max(i.size(), 1) > 4000:
            return False
        if not x.shape or self.rng.random() < 0.15:
            return self.emit(f"take({x.name}, {i.name})", (x.dtype, i.shape, i.text))
        axis = self.rng.randrange(len(x.shape))
        return self.emit(f"take({x.name}, {i.name}, axis={axis})", (x.dtype, x.shape[:axis] + i.shape + x.shape[axis + 1:],
                                                                  x.text[:axis] + i.text + x.text[axis + 1:]))

    def fill(self):
        x = self.pick()
        dtype = self.dtype()
        op = self.rng.choice(["zeros_like", "ones_like", "full_like"])
        if op == "full_like":
            v = self.pick(lambda v: not v.shape)
            if not v:
                return False
            return self.emit(f"full_like({x.name}, {v.name}, dtype={dtype})", (dtype, x.shape, x.text))
        return self.emit(f"{op}({x.name}, dtype={dtype})", (dtype, x.shape, x.text))

    def window(self):
        x = self.pick(lambda v: len(v.shape) == 4 and v.dtype != "bool" and min(v.shape[2:]) >= 1 and v.size() < 1500)
        if not x:
            base = self.pick(lambda v: len(v.shape) == 2 and min(v.shape) >= 1 and v.dtype != "bool" and v.size() < 400)
            if not base:
                return False
            x = self.emit(f"expand_dims({base.name}, axis=[0, 1])", (base.dtype, (1, 1) + base.shape, ("1", "1") + base.text))
        size = [self.rng.randint(1, 3), self.rng.randint(1, 3)]
        stride = [self.rng.randint(1, 2), self.rng.randint(1, 3)]
        pad = [self.rng.randint(0, s // 2) for s in size] * 2
        out = [(d + pad[i] + pad[i + 2] - size[i]) // stride[i] + 1 for i, d in enumerate(x.shape[2:])]
        if min(d + 2 * pad[i] - size[i] for i, d in enumerate(x.shape[2:])) < 0:
            return False
        attributes = f"strides={stride}, padding={pad}"
        dilation = [self.rng.randint(1, 2), self.rng.randint(1, 2)] if self.rng.random() < 0.3 else [1, 1]
        reach = [(s - 1) * d + 1 for s, d in zip(size, dilation)]
        if min(d + 2 * pad[i] - reach[i] for i, d in enumerate(x.shape[2:])) < 0:
            return False
        out = [(d + pad[i] + pad[i + 2] - reach[i]) // stride[i] + 1 for i, d in enumerate(x.shape[2:])]
        attributes += f", dilation={dilation}"
        if self.rng.random() < 0.5:
            channels = self.rng.choice([1, 2, 5])
            w = self.emit(f"full({self.scalar(x.dtype)}, shape=[{channels}, {x.text[1]}, {size[0]}, {size[1]}])",
                          (x.dtype, [channels, x.shape[1], *size], [str(channels), x.text[1], *map(str, size)]))
            return self.emit(f"nn.conv2d({x.name}, {w.name}, {attributes})", (x.dtype, [x.shape[0], channels, *out], [x.text[0], str(channels), *map(str, out)]))
        op = "nn.avg_pool2d" if x.is_float() and self.rng.random() < 0.5 else "nn.max_pool2d"
        attributes += f", count_include_pad={self.rng.choice(['true', 'false'])}"
        if self.rng.random() < 0.3:  # the last window counts where it starts before the padding behind
            attributes += ", ceil_mode=true"
            for i, d in enumerate(x.shape[2:]):
                out[i] = -((reach[i] - d - pad[i] - pad[i + 2]) // stride[i]) + 1
                out[i] -= (out[i] - 1) * stride[i] >= d + pad[i]
        return self.emit(f"{op}({x.name}, pool_size={size}, {attributes})", (x.dtype, [*x.shape[:2], *out], [*x.text[:2], *map(str, out)]))

    def pad(self):
        x = self.pick(lambda v: v.shape and v.size() < 1000)
        if not x:
            return False
        mode = self.rng.choice(["constant", "constant", "reflect", "replicate", "circular"])
        if mode != "constant" and 0 in x.shape:
            return False
        most = [2 if mode in ("constant", "replicate") else d - (mode == "reflect") for d in x.shape]
        most = [m if x.text[i].isdigit() or mode in ("constant", "replicate") else 0 for i, m in enumerate(most)]
        width = [self.rng.randint(0, min(2, most[i // 2])) for i in range(2 * len(x.shape))]
        value = ", pad_value=" + self.rng.choice(["0.0", "1.0"] + (["-inf", "nan"] if x.is_float() else [])) if mode == "constant" and x.dtype != "bool" else ""
        value = value.replace(".0", "") if not x.is_float() else value
        grown = [width[2 * i] + width[2 * i + 1] for i in range(len(x.shape))]
        return self.emit(f'nn.pad({x.name}, pad_width={width}, pad_mode="{mode}"{value})',
                         (x.dtype, [d + g for d, g in zip(x.shape, grown)], [f"{t} + {g}" if g else t for t, g in zip(x.text, grown)]))

    def norm(self):
        x = self.pick(lambda v: v.is_float() and v.dtype not in SMALL and len(v.shape) >= 2 and v.shape[1] < 40)
        if not x:
            return False
        given = [self.emit(f"full({self.scalar(x.dtype)}, shape=[{x.text[1]}])", (x.dtype, [x.shape[1]], [x.text[1]])).name for _ in range(4)]
        channel = (x.dtype, [x.shape[1]], [x.text[1]])
        return self.emit(f"nn.batch_norm({x.name}, {', '.join(given)})", (x.dtype, x.shape, x.text), channel, channel)

    def quantize(self):
        x = self.pick(lambda v: v.dtype == "f32" and v.shape)
        if not x:
            return False
        scale, zero = self.emit("const(0.125) : f32[]", ("f32", [])).name, self.emit("const(3) : i8[]", ("i8", [])).name
        q = self.emit(f"quantize({x.name}, {scale}, {zero})", ("i8", x.shape, x.text))
        return self.emit(f"dequantize({q.name}, {scale}, {zero})", ("f32", x.shape, x.text))

    def shapes(self):
        x = self.pick(lambda v: v.shape)
        if not x:
            return False
        name = self.name()
        self.lines.append("  " * (self.depth + 2) + f"{name} = shape_of({x.name})")
        return self.emit(f"shape_to_tensor({name})", ("i64", [len(x.shape)]))

    def nonzero(self):
        """What only the data tells: reduced at once, so that extents are known again."""
        x = self.pick(lambda v: v.shape and v.size() < 200 and v.dtype not in SMALL)
        if not x:
            return False
        name = self.name()
        self.lines.append("  " * (self.depth + 2) + f"{name} = nonzero({x.name})")
        return self.emit(f"sum({name}, axis=[1])", ("i64", [len(x.shape)]))

    # --- regions ---

    def region(self, count, extra=()):
        """Statements one level deeper; their lines and the values that they made."""
        lines, scope = self.lines, list(self.scope)
        self.lines, self.depth = [], self.depth + 1
        self.scope = scope + list(extra)
        self.statements(count)
        inner, made = self.lines, [v for v in self.scope if v not in scope]
        self.lines, self.scope, self.depth = lines, scope, self.depth - 1
        return inner, made

    def write_region(self, head, inner, last, tail="}"):
        pad = "  " * (self.depth + 2)
        self.lines += [pad + head] + inner + [pad + "  " + last, pad + tail]

    def condition(self):
        c = self.pick(lambda v: v.dtype == "bool" and not v.shape)
        if c:
            return c
        x = self.pick(lambda v: v.dtype != "bool")
        if not x:
            return None
        flat = self.emit(f"max({x.name})", (x.dtype, []))
        return self.emit(f"greater({flat.name}, {self.scalar(x.dtype)})", ("bool", []))

    def branch(self):
        c = self.condition()
        if not c:
            return False
        then, made = self.region(self.rng.randint(1, 3))
        other, others = self.region(self.rng.randint(1, 3))
        offered = made + [v for v in self.scope]
        a = self.rng.choice(offered)
        fits = [v for v in others + self.scope if v.dtype == a.dtype and v.shape == a.shape]
        if not fits:
            a = self.rng.choice(self.scope)
            fits = [a]
        b = self.rng.choice(fits)
        result = Value(self.name(), a.dtype, a.shape, [x if x == y and not (a in made and x not in self.symbols and not x.isdigit()) else str(d)
                                                       for x, y, d in zip(a.text, b.text, a.shape)])
        self.write_region(f"{result.name} = if {c.name} {{", then, f"yield {a.name}", "} else {")
        self.lines += other + ["  " * (self.depth + 3) + f"yield {b.name}", "  " * (self.depth + 2) + "}"]
        self.scope.append(result)
        return True

    def rounds(self):
        x = self.pick(lambda v: v.size() < 300)
        if not x:
            return False
        carried = Value(self.name(), x.dtype, x.shape, x.text)
        inner, made = self.region(self.rng.randint(1, 3), [carried])
        fits = [v for v in made if v.dtype == x.dtype and v.shape == x.shape and v.text == x.text]
        following = self.rng.choice(fits or [carried])
        result, trips = Value(self.name(), x.dtype, x.shape, x.text), self.rng.choice([0, 1, 2, 3])
        stacked = self.rng.choice(made) if made and self.rng.random() < 0.4 else None
        names = result.name
        last = f"yield {following.name}"
        if stacked and stacked.size() < 200 and all(t.isdigit() or t in self.symbols for t in stacked.text):
            stack = Value(self.name(), stacked.dtype, (trips, *stacked.shape), (str(trips), *stacked.text))
            names, last = f"{result.name}, {stack.name}", f"{last} stack {stacked.name}"
        else:
            stack = None
        counter = self.name()
        self.write_region(f"{names} = loop ({counter} < {trips}; {carried.name}: {x.dtype}[{', '.join(x.text)}] = {x.name}) {{", inner, last)
        self.scope += [result] + ([stack] if stack else [])
        return True

    def flow(self):
        self.flowing = True
        inner, made = self.region(self.rng.randint(1, 4))
        self.flowing = False
        if not made:
            return False
        value = self.rng.choice(made)
        result = Value(self.name(), value.dtype, value.shape, value.text)
        self.write_region(f"{result.name} = dataflow {{", inner, f"yield {value.name}")
        self.scope.append(result)
        return True

    def function(self):
        """A private function of some values, called twice perhaps."""
        if self.depth:
            return False
        args = [self.pick() for _ in range(self.rng.randint(1, 2))]
        if any(not t.isdigit() and t not in self.symbols for a in args for t in a.text) or args[0] is args[-1] and len(args) == 2:
            return False
        own = [Value(self.name(), a.dtype, a.shape, a.text) for a in args]
        lines, scope, params = self.lines, self.scope, self.params
        self.lines, self.scope, self.params, self.depth = [], list(own), own, 1
        self.statements(self.rng.randint(1, 3))
        value = self.rng.choice(self.scope)
        inner = self.lines
        bound = self.bound()
        self.lines, self.scope, self.params, self.depth = lines, scope, params, 0
        if any(not t.isdigit() and t not in bound for t in value.text):
            return False
        name = f"@f{self.count}"
        kind = f"{value.dtype}[{', '.join('?' for _ in value.text)}]"
        text = f"  private func {name}({', '.join(f'{o.name}: {o.dtype}[' + ', '.join(o.text) + ']' for o in own)}) -> {kind} {{\n"
        self.private.append(text + "\n".join(line[2:] for line in inner) + f"\n    return {value.name}\n  }}\n")
        return self.emit(f"call({name}, {', '.join(a.name for a in args)})", (value.dtype, value.shape, value.text if bound <= self.bound() else None))
