# SPDX-License-Identifier: Apache-2.0
"""A host for manifests (docs/spec/manifest.md) that knows nothing of Rill. How a kernel is launched is its users' affair: they
define `launch(name, buffers, scalars, groups)`."""

import os

import numpy as np

DTYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "bool": "?", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8"}


class Stop(Exception):
    pass


class Host:
    """Runs the functions of a manifest."""

    def __init__(self, manifest, folder):
        self.manifest, self.folder = manifest, folder
        self.functions, self.kernels = manifest["functions"], manifest["kernels"]
        blob = open(os.path.join(folder, manifest["constants_file"]["name"]), "rb").read() if "constants_file" in manifest else b""
        self.constants = {name: np.frombuffer(blob, DTYPES[c["type"]["dtype"]], offset=c["offset"], count=int(np.prod(c["type"]["shape"], dtype=int))).reshape(c["type"]["shape"]) for name, c in manifest["constants"].items()}

    OPERATORS = {
        "+": lambda a, b: a + b, "*": lambda a, b: a * b, "floordiv": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b),
        "floormod": lambda a, b: a % b, "max": max, "min": min, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b,
        ">": lambda a, b: a > b, "==": lambda a, b: a == b, "&&": lambda a, b: a and b, "||": lambda a, b: a or b, "!": lambda a: not a,
        "select": lambda c, a, b: a if c else b,
    }

    def expr(self, e, symbols, values):
        if isinstance(e, str):
            return values[e] if e.startswith("%") else symbols[e]
        if not isinstance(e, list):
            return e
        if e[0] == "-":
            parts = [self.expr(x, symbols, values) for x in e[1:]]
            return -parts[0] if len(parts) == 1 else parts[0] - parts[1]
        if e[0] == "const":
            return np.array(int(e[2], 16), "u%d" % np.dtype(DTYPES[e[1]]).itemsize).view(DTYPES[e[1]])[()]
        return self.OPERATORS[e[0]](*(self.expr(x, symbols, values) for x in e[1:]))

    def shape(self, type, symbols):
        return [self.expr(d, symbols, {}) for d in type["shape"]]

    def bind(self, extents, shape, symbols):
        for dim, extent in zip(extents, shape):
            if isinstance(dim, str) and dim not in symbols:
                symbols[dim] = int(extent)
        for dim, extent in zip(extents, shape):
            if dim is not None and self.expr(dim, symbols, {}) != extent:
                raise Stop("extents")

    def call(self, name, arguments):
        function = self.functions[name]
        symbols, values = {}, {}
        for parameter, argument in zip(function["parameters"], arguments):
            values[parameter["name"]] = argument
            self.bind(parameter["type"]["shape"], argument.shape, symbols)
        for condition in function["where"]:
            if not self.expr(condition, symbols, {}):
                raise Stop("where")
        return self.steps(function["steps"], symbols, values)

    def steps(self, steps, symbols, values):
        for step in steps:
            ends = getattr(self, "step_" + step["step"])(step, symbols, values)
            if step["step"] in ("return", "yield"):
                return ends
            for result, value in zip(step.get("results", []), ends or []):
                values[result["name"]] = value

    def operands(self, step, key, symbols, values):
        return [self.expr(e, symbols, values) for e in step[key]]

    def step_constant(self, step, symbols, values):
        return [self.constants[step["constant"]]]

    def step_storage(self, step, symbols, values):
        sizes = self.operands(step, "bytes", symbols, values)
        if "live" not in step:
            return [np.full(size, 0xFF, "u1") for size in sizes]
        offsets = []
        for i, (size, (first, last)) in enumerate(zip(sizes, step["live"])):
            taken = sorted((offsets[j], sizes[j]) for j, (f, l) in enumerate(step["live"][:i]) if f <= last and first <= l and sizes[j])
            at = 0
            for offset, length in taken:
                if size and at + size > offset:
                    at = max(at, -(-(offset + length) // 64) * 64)
            offsets.append(at)
        block = np.full(max([o + s for o, s in zip(offsets, sizes)], default=0), 0xFF, "u1")
        return [block[o : o + s] for o, s in zip(offsets, sizes)]

    def step_tensor(self, step, symbols, values):
        type = step["results"][0]["type"]
        shape, dtype = self.shape(type, symbols), np.dtype(DTYPES[type["dtype"]])
        offset = self.expr(step["offset"], symbols, values)
        length = int(np.prod(shape, dtype=int)) * dtype.itemsize
        assert offset + length <= values[step["storage"]].size, "the tensor leaves its storage"
        return [values[step["storage"]][offset : offset + length].view(dtype).reshape(shape)]

    def step_alloc(self, step, symbols, values):
        type = step["results"][0]["type"]
        return [np.full(self.shape(type, symbols), np.nan if type["dtype"][0] == "f" else 0, DTYPES[type["dtype"]])]

    step_result = step_alloc

    def step_view(self, step, symbols, values):
        return [values[step["x"]].reshape(self.shape(step["results"][0]["type"], symbols))]

    def step_copy(self, step, symbols, values):
        values[step["to"]][...] = values[step["from"]]

    def step_free(self, step, symbols, values):
        pass

    def step_launch(self, step, symbols, values):
        buffers, scalars, groups = (self.operands(step, key, symbols, values) if key in step else None for key in ("buffers", "scalars", "groups"))
        self.launch(step["callee"], buffers, scalars, groups)

    def step_call(self, step, symbols, values):
        return self.call(step["callee"], self.operands(step, "arguments", symbols, values))

    def step_let(self, step, symbols, values):
        return [self.expr(step["value"], symbols, values)]

    def step_assert(self, step, symbols, values):
        if not self.expr(step["condition"], symbols, values):
            raise Stop(step["message"])

    def step_match(self, step, symbols, values):
        value, type = values[step["x"]], step["results"][0]["type"]
        self.bind(type.get("extents", type.get("shape")), value if "extents" in type else value.shape, symbols)
        return [value]

    def step_shape(self, step, symbols, values):
        return [self.operands(step, "extents", symbols, values)]

    def step_shape_of(self, step, symbols, values):
        return [list(values[step["x"]].shape)]

    def step_shape_to_tensor(self, step, symbols, values):
        return [np.array(values[step["shape"]], "i8")]

    def step_read_back(self, step, symbols, values):
        return [[int(i) for i in values[step["x"]]]]

    def step_tuple(self, step, symbols, values):
        return [self.operands(step, "fields", symbols, values)]

    def step_field(self, step, symbols, values):
        return [values[step["tuple"]][step["index"]]]

    def step_if(self, step, symbols, values):
        region = step["regions"][0 if self.expr(step["condition"], symbols, values) else 1]
        return self.steps(region["steps"], dict(symbols), dict(values))

    def step_loop(self, step, symbols, values):
        operands, region = self.operands(step, "operands", symbols, values), step["regions"][0]
        trip = operands.pop(0) if step["counted"] else None
        again = operands.pop() if step["conditional"] else True
        rounds, stacked = 0, []
        names = [a["name"] for a in region["arguments"]]
        while again and (trip is None or rounds < trip):
            inner = dict(values)
            inner.update(zip(names, ([rounds] if step["counted"] else []) + operands))
            out = self.steps(region["steps"], dict(symbols), inner)
            end = region["steps"][-1]
            again = out.pop() if end["again"] else True
            stacked.append([np.array(v) for v in out[len(out) - end["stacks"] :]])
            operands = [np.array(v) for v in out[: len(out) - end["stacks"]]]
            rounds += 1
        return operands + [np.stack(column) for column in zip(*stacked)]

    def step_yield(self, step, symbols, values):
        return self.operands(step, "values", symbols, values)

    step_return = step_yield
