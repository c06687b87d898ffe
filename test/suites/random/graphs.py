# SPDX-License-Identifier: Apache-2.0
"""Random valid graph functions. A function is made statement by statement; each is evaluated with reference.py at once, so
that extents and dtypes of all values are at hand. Texts of extents may hold symbols."""

import re

import numpy as np

import reference as ref
import statements
from nodes import Block, Op, Value, constant_text, draw, type_text

SIZES = [0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 13, 17, 33]
MOST_ELEMENTS = statements.MOST_ELEMENTS


class Function:
    def __init__(self, rng, prefix, count, dtypes):
        self.rng, self.prefix, self.dtypes = rng, prefix, dtypes
        self.names, self.params, self.block = 0, [], Block()
        self.scopes = [[]]
        self.symbols = {f"{prefix}{c}": rng.choice(SIZES) for c in "nm"[: rng.randint(0, 2)]}
        self.depth, self.straight = 0, False
        with np.errstate(all="ignore"):
            self.open_params()
            self.grow(self.block, count)
            self.choose_results()

    # --- values ---
    def name(self):
        self.names += 1
        return f"%v{self.names}"

    def visible(self):
        return [v for scope in self.scopes for v in scope]

    def dim(self):
        """Text and size of an extent for a new value."""
        known = [(d, e) for v in self.visible() for d, e in zip(v.dims, v.shape)]
        kind = self.rng.random()
        if kind < 0.45 and known:
            return self.rng.choice(known)
        if kind < 0.75 and self.symbols:
            return self.rng.choice(list(self.symbols.items()))
        size = self.rng.choice(SIZES)
        return str(size), size

    def dims(self, rank):
        while True:
            dims = [self.dim() for _ in range(rank)]
            if np.prod([e for _, e in dims], dtype=np.int64) <= MOST_ELEMENTS // 4:
                return dims

    def size(self, text):
        return int(eval(text, {"__builtins__": {}, "floordiv": lambda a, b: a // b}, self.symbols))

    def param(self, dtype, dims):
        """A new parameter, or a constant where there are many."""
        shape = [self.size(d) for d in dims]
        array = draw(self.rng, dtype, shape)
        value = Value(self.name(), dtype, dims, array, True)
        small = array.size <= 64 and all(d.isdigit() for d in dims)
        if small and (len(self.params) > 6 or self.rng.random() < 0.25):
            op = Op(f"{value.name} = {constant_text(value)}", [], [value], lambda: array)
            self.current.nodes.append(op)
            self.scopes[-1].append(value)
        else:
            value.name = f"%{self.prefix}p{len(self.params)}"
            self.params.append(value)
            self.scopes[0].append(value)
        return value

    def open_params(self):
        self.current = self.block
        for symbol in self.symbols:  # where a symbol is bound
            self.params.append(self.bound(symbol))
            self.scopes[0].append(self.params[-1])
        for _ in range(self.rng.randint(1, 2)):
            self.param(self.rng.choice(self.dtypes), [d for d, _ in self.dims(self.rng.randint(0, 4))])

    def bound(self, symbol):
        dims = [symbol] + [str(self.rng.choice((1, 2, 3, 5)))] * self.rng.randint(0, 2)
        dtype = self.rng.choice(self.dtypes)
        return Value(f"%{self.prefix}p{len(self.params)}", dtype, dims, draw(self.rng, dtype, [self.size(d) for d in dims]), True)

    def emit(self, call, inputs, results, function, exact=True):
        """RESULTS: dtype and texts of extents of each. What comes out is evaluated; new values are returned."""
        arrays = function(*(v.array for v in inputs))
        arrays = arrays if isinstance(arrays, tuple) else (arrays,)
        exact = exact and all(v.exact for v in inputs)
        values = [Value(self.name(), d, dims, a, exact) for (d, dims), a in zip(results, arrays)]
        for v in values:
            assert tuple(self.size(d) for d in v.dims) == v.shape, (call, v.dims, v.shape)
            assert v.array.dtype == ref.STORE[v.dtype], (call, v.dtype, v.array.dtype)
        self.current.nodes.append(Op(", ".join(v.name for v in values) + " = " + call, list(inputs), values, function))
        self.scopes[-1].extend(values)
        return values

    def pick(self, dtypes=None, ranks=None, good=None, largest=MOST_ELEMENTS // 2):
        """A value that is there, or a new one."""
        fits = [v for v in self.visible() if (dtypes is None or v.dtype in dtypes) and (ranks is None or v.rank in ranks)
                and (good is None or good(v)) and v.array.size <= largest]
        if fits and self.rng.random() < 0.85:
            return self.rng.choice(fits[-6:] if self.rng.random() < 0.6 else fits)
        possible = [d for d in self.dtypes if dtypes is None or d in dtypes]
        if not possible:
            return self.rng.choice(fits) if fits else None
        for _ in range(5):
            rank = self.rng.choice(list(ranks)) if ranks else self.rng.randint(0, 4)
            dims = self.dims(rank)
            if good is None or good(Value("", possible[0], [d for d, _ in dims], np.empty([e for _, e in dims], np.bool_), True)):
                return self.param(self.rng.choice(possible), [d for d, _ in dims])
        return self.rng.choice(fits) if fits else None

    def partner(self, x):
        """An operand that broadcasts with X, of its dtype."""
        def fits(v):
            return v.dtype == x.dtype and all(a == b or "1" in (a, b) for a, b in zip(v.dims[::-1], x.dims[::-1])) \
                and np.prod(np.broadcast_shapes(v.shape, x.shape), dtype=np.int64) <= MOST_ELEMENTS
        known = [v for v in self.visible() if fits(v)]
        if known and self.rng.random() < 0.8:
            return self.rng.choice(known)
        if x.dtype not in self.dtypes:
            return self.rng.choice(known)  # x itself is there
        dims = [("1" if self.rng.random() < 0.2 else d) for d in x.dims]
        return self.param(x.dtype, dims[self.rng.randint(0, len(dims)) if self.rng.random() < 0.3 else 0:])

    @staticmethod
    def broadcast(*values):
        rank = max(v.rank for v in values)
        padded = [("1",) * (rank - v.rank) + v.dims for v in values]
        return [next((d for d in column if d != "1"), "1") for column in zip(*padded)]

    # --- statements ---
    def grow(self, block, count):
        outer, self.current = self.current, block
        made = tries = 0
        while made < count and tries < 8 * count:
            tries += 1
            made += bool(self.rng.choices(statements.KINDS, statements.WEIGHTS)[0](self))
        self.current = outer

    def region(self, count, values=()):
        block = Block()
        self.scopes.append(list(values))
        self.depth += 1
        self.grow(block, count)
        self.depth -= 1
        return block, self.scopes.pop()

    def choose_results(self):
        candidates = [v for v in self.scopes[0] if v not in self.params and v.dtype != "bf16"]
        last = candidates[-3:]
        rest = [v for v in candidates[:-3] if self.rng.random() < 0.15]
        self.results = last + rest[:3] or [v for v in self.params if v.dtype != "bf16"][:1]

    # --- text ---
    def body(self):
        return [line for node in self.block.nodes for line in node.lines()] + ["return " + ", ".join(v.name for v in self.results)]

    def where(self):
        clauses = [self.rng.choice((f"{s} >= {self.rng.randint(0, size)}", f"{s} <= {size + self.rng.randint(0, 9)}"))
                   for s, size in self.symbols.items() if self.rng.random() < 0.5]
        return ", ".join(clauses)

    def static(self, text):
        for symbol, size in self.symbols.items():
            text = re.sub(rf"\b{symbol}\b", str(size), text)
        return text


def types_of(printed):
    """For each function of a printed module the types of its values by name."""
    functions, heads = [], []
    for line in printed.splitlines():
        if line.startswith("  func"):
            functions.append({})
        stripped = line.strip()
        names = stripped.split(" = ")[0]
        if stripped == "} else {":
            continue
        if stripped.endswith("{"):
            heads.append(names if stripped.startswith("%") else "")
            continue
        if stripped.startswith("}"):
            names = heads.pop() if heads else ""
        if names.startswith("%") and " : " in stripped:
            types = re.split(r", (?=[\w?]+\[)", stripped.rsplit(" : ", 1)[1])
            functions[-1].update(zip(names.split(", "), types))
    return functions


class Module:
    """Functions and a main that calls each and returns all results. Until `settle` has read the printed module, which
    inference has gone over, results are `any`."""

    DTYPES = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]
    FUNCTIONS = 8

    def __init__(self, rng):
        self.functions = []
        for i in range(self.FUNCTIONS):
            dtypes = rng.sample(self.DTYPES, 3) + ["f32", "i64", "bool"]
            self.functions.append(Function(rng, chr(ord("p") + i), rng.randint(3, 14), sorted(set(dtypes))))
        self.wheres = [f.where() for f in self.functions]
        self.types = [["any"] * len(f.results) for f in self.functions]

    def settle(self, printed):
        known = types_of(printed)
        for f, types, own in zip(self.functions, known, self.types):
            types.update((p.name, type_text(p)) for p in f.params)
            own[:] = [types[r.name] for r in f.results]

    def inputs(self):
        return [(p.name[1:], p.array) for f in self.functions for p in f.params]

    def results(self):
        """Where each stands, what it is, and whether to the bit."""
        return [(f"@f{i} {r.name} : {t}", r.array, r.exact)
                for i, f in enumerate(self.functions) for r, t in zip(f.results, self.types[i])]

    def text(self, static=False, constant=False):
        out, calls, names = ["rill 1", "module {"], "", []
        for i, f in enumerate(self.functions):
            lines = ([f"{p.name} = {constant_text(p)}" for p in f.params] if constant else []) + f.body()
            own = [f"%r{i}_{k}" for k in range(len(f.results))]
            calls += f"    {', '.join(own)} = call({', '.join([f'@f{i}'] + ([] if constant else [p.name for p in f.params]))})\n"
            names += own
            out.append(self.function(f"f{i}", [f], lines, [] if constant else f.params, self.types[i], self.wheres[i : i + 1], static))
        params = [] if constant else [p for f in self.functions for p in f.params]
        types = [t for own in self.types for t in own]
        lines = calls.splitlines() + [f"return {', '.join(names)}"]
        out.append(self.function("main", self.functions, [line.strip() for line in lines], params, types, self.wheres, static))
        return "\n".join(out + ["}\n"])

    @staticmethod
    def function(name, functions, lines, params, types, wheres, static):
        head = ", ".join(f"{p.name}: {type_text(p)}" for p in params)
        clauses = [w for w in wheres if w]
        where = " where " + ", ".join(clauses) if clauses and not static else ""
        text = f"  func @{name}({head}) -> ({', '.join(types)}){where} {{\n" + "".join(f"    {line}\n" for line in lines) + "  }\n"
        for f in functions if static else []:
            text = f.static(text)
        return text
