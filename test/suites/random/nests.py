# SPDX-License-Identifier: Apache-2.0
"""Random tensor programs, as compute nests and as loops, with what they compute: expressions over the elements of buffers,
guards, bindings, reducers of every kind, temporaries. An expression is evaluated for all points of its nest at once, with
reference.py; reads out of range give the clamped element, writes out of range are dropped."""

import re

import numpy as np

from nodes import draw
import reference as ref

SIZES = [0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 33]
DTYPES = ["bool", "i8", "i32", "i64", "u8", "u16", "u64", "f16", "f32", "f64"]
MOST_POINTS = 6000
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}
CALLS = {"min": ref.lesser, "max": ref.greater, "floordiv": ref.floordiv, "floormod": ref.floormod, "truncmod": ref.truncmod}
WHOLE = {"truncdiv": ref.truncdiv, "shl": ref.shift_left, "shr": ref.shift_right, "bitand": np.bitwise_and, "bitxor": np.bitwise_xor}
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, "==": np.equal, "!=": np.not_equal}
UNARY = {"abs": np.abs, "sign": ref.sign}
FLOAT = {"floor": np.floor, "trunc": np.trunc, "rint": np.rint, "sqrt": np.sqrt}


class Buffer:
    """DIMS: texts. ARRAY: what it holds by now; an input's for ever."""

    def __init__(self, name, dtype, dims, array):
        self.name, self.dtype, self.dims, self.array = name, dtype, list(dims), array

    def type(self):
        return f"{self.dtype}[{', '.join(self.dims)}]"


class Expr:
    """LAST: whether its first load walks its buffer's last axis with the innermost reduction axis; None: no load."""

    def __init__(self, text, dtype, array, last=None):
        self.text, self.dtype, self.array, self.last = text, dtype, array, last


def first(*exprs):
    return next((e.last for e in exprs if e.last is not None), None)


class Nest:
    """Spatial axes i0, i1, ..., then reduction axes k0, ...; each a text and an extent."""

    def __init__(self, spatial, reduced):
        self.names = [f"i{n}" for n in range(len(spatial))] + [f"k{n}" for n in range(len(reduced))]
        self.extents = list(spatial) + list(reduced)
        self.spatial = len(spatial)
        self.shape = tuple(e for _, e in self.extents)
        self.axes = []
        for n, name in enumerate(self.names):
            view = [1] * len(self.names)
            view[n] = self.shape[n]
            self.axes.append(Expr(name, "i64", np.arange(self.shape[n], dtype=np.int64).reshape(view)))
        self.lets, self.mask, self.conditions = [], None, []

    def full(self, array):
        return np.broadcast_to(array, self.shape)


class Program:
    def __init__(self, rng, prefix):
        self.rng, self.prefix, self.bound = rng, prefix, 0
        self.symbols = {f"{prefix}{c}": rng.choice(SIZES) for c in "nm"[: rng.randint(0, 2)]}
        self.inputs, self.temps, self.outs, self.lines, self.reducers = [], [], [], [], []
        with np.errstate(all="ignore"):
            for symbol, size in self.symbols.items():
                self.input(["f32", rng.choice(DTYPES)][rng.random() < 0.6], [(symbol, size)] + self.extents(rng.randint(0, 2)))
            for _ in range(rng.randint(1, 3)):
                self.input(rng.choice(DTYPES), self.extents(rng.randint(0, 3)))
            for _ in range(rng.randint(1, 4)):
                self.step()
            if not self.outs:
                self.write(self.outs)

    # --- buffers ---
    def extent(self):
        known = [(d, e) for b in self.inputs for d, e in zip(b.dims, b.array.shape)] + list(self.symbols.items())
        if known and self.rng.random() < 0.7:
            return self.rng.choice(known)
        size = self.rng.choice(SIZES)
        return str(size), size

    def extents(self, rank):
        return [self.extent() for _ in range(rank)]

    def input(self, dtype, extents):
        if np.prod([e for _, e in extents], dtype=np.int64) > 2000:
            extents = extents[:1]
        array = draw(self.rng, dtype, [e for _, e in extents])
        self.inputs.append(Buffer(f"%x{len(self.inputs)}", dtype, [d for d, _ in extents], array))

    def readable(self):
        return self.inputs + self.temps + self.outs

    # --- expressions ---
    def index(self, nest, extent, depth=0):
        """An i64 expression that is often in range of EXTENT, a text and a number."""
        rng, axis = self.rng, self.rng.choice(nest.axes) if nest.axes else None
        fitting = [a for a, (d, _) in zip(nest.axes, nest.extents) if d == extent[0]]
        kind = rng.random()
        if fitting and kind < 0.55:
            return rng.choice(fitting)
        if axis is None or kind < 0.6:
            n = rng.randint(0, max(extent[1] - 1, 0))
            return Expr(str(n), "i64", np.asarray(n, np.int64))
        if fitting and kind < 0.68:
            axis = rng.choice(fitting)
            return Expr(f"{extent[0]} - 1 - {axis.text}", "i64", extent[1] - 1 - axis.array)
        n = rng.randint(1, 3)
        if kind < 0.78:
            return Expr(f"{axis.text} + {n}", "i64", axis.array + n)
        if kind < 0.84:
            return Expr(f"{axis.text} - {n}", "i64", axis.array - n)
        if kind < 0.88:
            return Expr(f"{axis.text} * {n}", "i64", axis.array * n)
        if kind < 0.92:
            return Expr(f"floordiv({axis.text}, {n})", "i64", axis.array // n)
        if kind < 0.96:
            return Expr(f"floormod({axis.text}, {n})", "i64", axis.array % n)
        whole = [b for b in self.readable() if b.dtype in ref.INTS]
        if whole and depth < 1:
            e = self.load(nest, rng.choice(whole), depth + 1)
            return Expr(f"i64({e.text})" if e.dtype != "i64" else e.text, "i64", e.array.astype(np.int64), e.last)
        other = rng.choice(nest.axes)
        return Expr(f"{axis.text} + {other.text}", "i64", axis.array + other.array)

    def load(self, nest, buffer, depth=0):
        extents = list(zip(buffer.dims, buffer.array.shape))
        indices = [self.index(nest, e, depth) for e in extents]
        text = f"{buffer.name}[{', '.join(i.text for i in indices)}]"
        inner = nest.names[-1] if len(nest.names) > nest.spatial else None
        last = bool(indices) and indices[-1].text == inner and not any(re.search(rf"\b{inner}\b", i.text) for i in indices[:-1])
        if 0 in buffer.array.shape:
            return Expr(text, buffer.dtype, np.zeros(np.broadcast_shapes(*(i.array.shape for i in indices)), buffer.array.dtype), last)
        at = tuple(np.clip(i.array, 0, e - 1) for i, (_, e) in zip(indices, extents))
        return Expr(text, buffer.dtype, np.asarray(buffer.array[at]), last)

    def literal(self, dtype):
        if dtype == "bool":
            value = self.rng.random() < 0.5
            return Expr("true" if value else "false", dtype, np.asarray(value))
        value = self.rng.choice([0.0, 1.0, -1.5, 0.1, 3.0]) if ref.is_float(dtype) else self.rng.choice([0, 1, 2, 3, 7])
        array = ref.cast(np.asarray(value), None, dtype)
        return Expr(f"{dtype}({value})", dtype, array)

    def expr(self, nest, dtype, depth=0):
        rng = self.rng
        kind = rng.random()
        lets = [e for e in nest.lets if e.dtype == dtype]
        if lets and kind < 0.2:
            return rng.choice(lets)
        if depth > 2 or kind < 0.35:
            buffers = [b for b in self.readable() if b.dtype == dtype]
            if buffers and rng.random() < 0.85:
                return self.load(nest, rng.choice(buffers))
            if rng.random() < 0.6:
                source = rng.choice(self.readable())
                a = self.load(nest, source)
                return Expr(f"{dtype}({a.text})", dtype, ref.cast(a.array, source.dtype, dtype), a.last) if source.dtype != dtype else a
            if dtype == "i64" and nest.axes and rng.random() < 0.5:
                return rng.choice(nest.axes)
            return self.literal(dtype)
        if kind < 0.45:
            source = rng.choice([d for d in DTYPES if d != dtype])
            a = self.expr(nest, source, depth + 1)
            return Expr(f"{dtype}({a.text})", dtype, ref.cast(a.array, source, dtype), a.last)
        if dtype == "bool":
            return self.condition(nest, depth)
        if kind < 0.55:
            c, a, b = self.condition(nest, depth + 1), self.expr(nest, dtype, depth + 1), self.expr(nest, dtype, depth + 1)
            name = rng.choice(("select", "guard"))
            return Expr(f"{name}({c.text}, {a.text}, {b.text})", dtype, np.where(c.array, a.array, b.array).astype(a.array.dtype), first(c, a, b))
        if kind < 0.68:
            table = {**UNARY, **FLOAT} if ref.is_float(dtype) else UNARY
            name = rng.choice(list(table) + ["-"])
            a = self.expr(nest, dtype, depth + 1)
            if name == "-":
                return Expr(f"neg({a.text})", dtype, np.negative(a.array), a.last)
            return Expr(f"{name}({a.text})", dtype, ref.element(table[name])(dtype, a.array), a.last)
        a, b = self.expr(nest, dtype, depth + 1), self.expr(nest, dtype, depth + 1)
        table = {**CALLS, **({} if ref.is_float(dtype) else WHOLE)}
        if rng.random() < 0.6:
            name = rng.choice(list(ARITHMETIC) + ["/"] * ref.is_float(dtype))
            function = np.divide if name == "/" else ARITHMETIC[name]
            return Expr(f"({a.text} {name} {b.text})", dtype, ref.element(function)(dtype, a.array, b.array), first(a, b))
        name = rng.choice(list(table))
        return Expr(f"{name}({a.text}, {b.text})", dtype, ref.element(table[name])(dtype, a.array, b.array), first(a, b))

    def condition(self, nest, depth=0):
        rng = self.rng
        kind = rng.random()
        if kind < 0.4 and nest.axes:
            a, b = rng.choice(nest.axes), rng.choice(nest.axes + [Expr(str(n), "i64", np.asarray(n, np.int64)) for n in (0, 1, 2)])
        elif kind < 0.55 and depth < 2:
            a, b = self.condition(nest, depth + 1), self.condition(nest, depth + 1)
            name = rng.choice(("&&", "||"))
            function = np.logical_and if name == "&&" else np.logical_or
            return Expr(f"({a.text} {name} {b.text})", "bool", function(a.array, b.array), first(a, b))
        else:
            dtype = rng.choice([d for d in DTYPES if d != "bool"])
            a, b = self.expr(nest, dtype, depth + 1), self.expr(nest, dtype, depth + 1)
        name = rng.choice(list(COMPARE))
        return Expr(f"({a.text} {name} {b.text})", "bool", COMPARE[name](a.array, b.array), first(a, b))

    # --- nests ---
    def nest(self, spatial, reduced):
        while True:
            made = Nest(self.extents(spatial), self.extents(reduced))
            if np.prod(made.shape, dtype=np.int64) <= MOST_POINTS:
                return made

    def bind(self, nest):
        lines = []
        for _ in range(self.rng.choice((0, 0, 0, 1, 2))):
            e = self.expr(nest, self.rng.choice(DTYPES))
            self.bound += 1
            name = f"%t{self.bound}"
            lines.append(f"{name} = {e.text} : {e.dtype}")
            nest.lets.append(Expr(name, e.dtype, e.array))
        return lines

    def target(self, nest, dtype, where):
        """A buffer over the spatial axes in some order, and the texts of its index."""
        order = list(range(nest.spatial))
        self.rng.shuffle(order)
        kinds = {id(self.outs): "y", id(self.temps): "b"}
        extents = [nest.extents[a] for a in order]
        buffer = Buffer(f"%{kinds[id(where)]}{len(where)}", dtype, [d for d, _ in extents], None)
        where.append(buffer)
        return buffer, f"{buffer.name}[{', '.join(nest.names[a] for a in order)}]", order

    def step(self):
        where = self.outs if self.rng.random() < 0.6 else self.temps
        if self.rng.random() < 0.5:
            self.reduce(where)
        else:
            self.write(where)

    def emit_nest(self, nest, lines, loops):
        if not loops:
            axes = [f"{n} < {d}" for n, (d, _) in zip(nest.names, nest.extents)]
            head = ", ".join(axes[: nest.spatial]) + ("; " + ", ".join(axes[nest.spatial :]) if axes[nest.spatial :] else "")
            where = " where " + ", ".join(c.text for c in nest.conditions) if nest.conditions else ""
            self.lines += [f"compute ({head}){where} {{"] + ["  " + line for line in lines] + ["}"]
            return
        for depth, (name, (d, _)) in enumerate(zip(nest.names, nest.extents)):
            inner = depth == len(nest.names) - 1
            mode = self.rng.choice(("", "", "parallel" if not depth else "", "vectorize" if inner else "", "unroll", "unroll(3)"))
            self.lines.append("  " * depth + f"for {name} < {d} {mode} {{".replace("  {", " {"))
        self.lines += ["  " * len(nest.names) + line for line in lines]
        self.lines += ["  " * depth + "}" for depth in range(len(nest.names))][::-1]

    def alloc(self, where):
        if where is self.temps:
            buffer = where[-1]
            scope = self.rng.choice(("global", "global", "local"))
            self.lines.append(f"{buffer.name} = alloc(scope={scope}) : {buffer.type()}")

    def write(self, where):
        """One element a point."""
        nest, dtype = self.nest(self.rng.randint(0, 3), 0), self.rng.choice(DTYPES)
        lines = self.bind(nest)
        value = self.expr(nest, dtype)
        buffer, text, order = self.target(nest, dtype, where)
        self.alloc(where)
        self.emit_nest(nest, lines + [f"{text} = {value.text}"], self.rng.random() < 0.5)
        buffer.array = np.transpose(nest.full(value.array), order).copy()
        if self.rng.random() < 0.25:
            self.overwrite(nest, buffer, text, order)

    def overwrite(self, nest, buffer, text, order):
        """Some elements again, in loops under a condition."""
        nest.lets = []
        points = buffer.array
        # Others may change what is read here, unless it is the element itself.
        buffer.array = None
        hidden = [where for where in (self.outs, self.temps) if buffer in where][0]
        hidden.remove(buffer)
        condition, value = self.condition(nest), self.expr(nest, buffer.dtype)
        hidden.append(buffer)
        self.emit_nest(nest, [f"if {condition.text} {{", f"  {text} = {value.text}", "}"], True)
        chosen, values = (np.transpose(nest.full(a), order) for a in (condition.array, value.array))
        buffer.array = np.where(chosen, values, points).astype(points.dtype)

    def reduce(self, where):
        rng = self.rng
        name = rng.choice(("sum", "sum", "chain", "prod", "max", "min", "dot", "any", "all", "argmax", "argmin", "user"))
        nest = self.nest(rng.randint(0, 2), rng.randint(1, 2))
        dtype = "bool" if name in ("any", "all") else rng.choice([d for d in DTYPES if d != "bool"])
        arg = name.startswith("arg")
        if arg and 0 in nest.shape[nest.spatial :]:
            return
        if rng.random() < 0.35 and not arg:
            nest.conditions = [self.condition(nest) for _ in range(rng.randint(1, 2))]
        lines = self.bind(nest)
        mask = np.ones(nest.shape, bool)
        for c in nest.conditions:
            mask = mask & c.array
        value = self.expr(nest, dtype)
        points = nest.shape[: nest.spatial]
        rows = lambda e: nest.full(e.array).reshape(points + (-1,) if np.prod(nest.shape) else points + (int(np.prod(nest.shape[nest.spatial :])),))
        mask = rows(Expr("", "bool", mask))
        made = getattr(self, "reduce_" + ("arg" if arg else name if name in ("dot", "user") else "lanes"))(nest, name, value, rows, mask, lines)
        call, results = made
        texts = []
        for dtype, array in results:
            buffer, text, order = self.target(nest, dtype, where)
            self.alloc(where)
            buffer.array = np.transpose(array.reshape(points), order).copy()
            texts.append(text)
        self.emit_nest(nest, lines + [f"{', '.join(texts)} = {call}"], False)

    def reduce_lanes(self, nest, name, value, rows, mask, lines):
        dtype, chain, kind = value.dtype, name == "chain", "sum" if name == "chain" else name
        acc = ref.accumulator(dtype) if kind in ("sum", "prod") else ref.STORE[dtype]
        options = ', order="chain"' if chain else ""
        if kind in ("sum", "prod") and ref.is_float(dtype) and self.rng.random() < 0.2:
            acc, options = np.float64, options + ", acc=f64"
        floats = ref.is_float(dtype)
        info = None if floats or dtype == "bool" else np.iinfo(ref.STORE[dtype])
        identity = {"sum": 0, "prod": 1, "any": False, "all": True, "max": -np.inf if floats else info and info.min,
                    "min": np.inf if floats else info and info.max}[kind]
        combine = {"sum": np.add, "prod": np.multiply, "any": np.logical_or, "all": np.logical_and, "max": ref.greater, "min": ref.lesser}[kind]
        data = np.where(mask, rows(value).astype(acc), np.asarray(identity, acc))
        if chain:
            total = np.full(data.shape[:-1], 0, acc)
            for k in range(data.shape[-1]):
                total = total + data[..., k]
        else:
            total = ref.lanes(data, 32 if value.last else 1, combine, identity)
        return f"{kind}({value.text}{options})", [(dtype, ref.rounded(total, dtype) if dtype != "bool" else total)]

    def reduce_dot(self, nest, name, value, rows, mask, lines):
        other = self.expr(nest, value.dtype)
        acc = ref.accumulator(value.dtype)
        a, b = rows(value).astype(acc), rows(other).astype(acc)
        total = np.zeros(a.shape[:-1], acc)
        for k in range(a.shape[-1]):
            total = np.where(mask[..., k], total + a[..., k] * b[..., k], total)
        return f"dot({value.text}, {other.text})", [(value.dtype, ref.rounded(total, value.dtype))]

    def reduce_arg(self, nest, name, value, rows, mask, lines):
        place = self.rng.choice(nest.axes)
        data, places = rows(value), rows(place)
        best, where = data[..., 0], places[..., 0]
        for k in range(1, data.shape[-1]):
            better = (data[..., k] > best) if name == "argmax" else (data[..., k] < best)
            better = (better | (data[..., k] != data[..., k])) & ~(best != best)
            best, where = np.where(better, data[..., k], best), np.where(better, places[..., k], where)
        return f"{name}({place.text}, {value.text})", [("i64", where), (value.dtype, best)]

    def reduce_user(self, nest, name, value, rows, mask, lines):
        """s' = max(s * 2 - v, v), and how many steps there were."""
        dtype = value.dtype
        name = f"@{self.prefix}r{len(self.reducers)}"
        start, two = self.literal(dtype), f"{dtype}(2)" if not ref.is_float(dtype) else f"{dtype}(2.0)"
        self.reducers.append(f"reducer {name}(%s: {dtype} = {start.text}, %c: i64 = 5; %v: {dtype}) {{\n"
                             f"    %0 = %s * {two} - %v : {dtype}\n    yield max(%0, %v), %c + 1\n  }}")
        data = rows(value)
        state, count = np.full(data.shape[:-1], start.array), np.full(data.shape[:-1], 5, np.int64)
        twice, minus = ref.element(lambda a: a * a.dtype.type(2)), ref.element(np.subtract)
        for k in range(data.shape[-1]):
            new = ref.greater(minus(dtype, twice(dtype, state), data[..., k]), data[..., k])
            state, count = np.where(mask[..., k], new, state), np.where(mask[..., k], count + 1, count)
        return f"{name}({value.text})", [(dtype, state), ("i64", count)]

    # --- text ---
    def text(self, name):
        params = [f"{b.name}: {b.type()}" for b in self.inputs] + [f"out {b.name}: {b.type()}" for b in self.outs]
        out = "".join(f"  {r}\n" for r in self.reducers)
        return out + f"  prim_func @{name}({', '.join(params)}) {{\n" + "".join(f"    {line}\n" for line in self.lines) + "  }\n"


class Module:
    """Tensor programs and a main that calls each."""

    PROGRAMS = 12

    def __init__(self, rng):
        self.programs = [Program(rng, chr(ord("a") + i) + "x") for i in range(self.PROGRAMS)]

    def inputs(self):
        return [(f"i{i}_{b.name[1:]}", b.array) for i, p in enumerate(self.programs) for b in p.inputs]

    def results(self):
        return [(f"@f{i} {b.name} : {b.type()}", b.array, True) for i, p in enumerate(self.programs) for b in p.outs]

    def text(self, static=False):
        params, names, types, calls = [], [], [], ""
        for i, p in enumerate(self.programs):
            own, results = [f"%i{i}_{b.name[1:]}" for b in p.inputs], [f"%r{i}_{k}" for k in range(len(p.outs))]
            params += [f"{name}: {b.type()}" for name, b in zip(own, p.inputs)]
            calls += f"    {', '.join(results)} = call_tir({', '.join([f'@f{i}'] + own)}) : {', '.join(b.type() for b in p.outs)}\n"
            names, types = names + results, types + [b.type() for b in p.outs]
        text = "rill 1\nmodule {\n" + "\n".join(p.text(f"f{i}") for i, p in enumerate(self.programs))
        text += f"\n  func @main({', '.join(params)}) -> ({', '.join(types)}) {{\n{calls}    return {', '.join(names)}\n  }}\n}}\n"
        for symbol, size in [item for p in self.programs for item in p.symbols.items()] if static else []:
            text = re.sub(rf"\b{symbol}\b", str(size), text)
        return text
