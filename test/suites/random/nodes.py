# SPDX-License-Identifier: Apache-2.0
"""Values of random graph functions, and statements with their text and what they compute."""

import numpy as np

import reference as ref

SPECIAL = {"f16": [np.nan, np.inf, -np.inf, -0.0, 0.0, 6e-8, 65504], "bf16": [np.nan, np.inf, -0.0, 0.0, 1e38],
           "f32": [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, 1e-38, 3e38], "f64": [np.nan, np.inf, -0.0, 5e-324, 1e300]}


class Value:
    """DIMS: the texts of the extents. EXACT: ARRAY holds the bits; else only dtype and shape are known."""

    def __init__(self, name, dtype, dims, array, exact):
        self.name, self.dtype, self.dims, self.array, self.exact = name, dtype, tuple(dims), np.asarray(array), exact

    rank = property(lambda self: self.array.ndim)
    shape = property(lambda self: self.array.shape)


class Op:
    """One statement; FUNCTION computes its results from the arrays of INPUTS."""

    def __init__(self, text, inputs, outputs, function):
        self.text, self.inputs, self.outputs, self.function = text, inputs, outputs, function

    def lines(self):
        return [self.text]

    def run(self, env):
        results = self.function(*(env[v] for v in self.inputs))
        env.update(zip(self.outputs, results if isinstance(results, tuple) else (results,)))


class Block:
    def __init__(self):
        self.nodes, self.yields, self.stacks = [], [], []

    def lines(self):
        end = "yield " + ", ".join(v.name for v in self.yields)
        if self.stacks:
            end += " stack " + ", ".join(v.name for v in self.stacks)
        return ["  " + line for node in self.nodes for line in node.lines()] + ["  " + end]

    def run(self, env):
        for node in self.nodes:
            node.run(env)
        return [env[v] for v in self.yields], [env[v] for v in self.stacks]


class Dataflow:
    def __init__(self, block, outputs):
        self.block, self.outputs = block, outputs

    def lines(self):
        return [", ".join(v.name for v in self.outputs) + " = dataflow {"] + self.block.lines() + ["}"]

    def run(self, env):
        env.update(zip(self.outputs, self.block.run(env)[0]))


class If:
    def __init__(self, condition, branches, outputs):
        self.condition, self.branches, self.outputs = condition, branches, outputs

    def lines(self):
        head = ", ".join(v.name for v in self.outputs) + f" = if {self.condition.name} {{"
        return [head] + self.branches[0].lines() + ["} else {"] + self.branches[1].lines() + ["}"]

    def run(self, env):
        chosen = self.branches[0 if bool(env[self.condition]) else 1]
        env.update(zip(self.outputs, chosen.run(env)[0]))


class Loop:
    def __init__(self, counter, trip, carried, starts, block, outputs):
        self.counter, self.trip, self.carried, self.starts = counter, trip, carried, starts
        self.block, self.outputs = block, outputs

    def lines(self):
        carries = ", ".join(f"{c.name}: {type_text(c)} = {s.name}" for c, s in zip(self.carried, self.starts))
        head = ", ".join(v.name for v in self.outputs) + f" = loop ({self.counter.name} < {self.trip}; {carries}) {{"
        return [head] + self.block.lines() + ["}"]

    def run(self, env):
        state, stacks = [env[s] for s in self.starts], []
        for i in range(self.trip):
            env[self.counter] = np.asarray(i, np.int64)
            env.update(zip(self.carried, state))
            state, stacked = self.block.run(env)
            stacks.append(stacked)
        env.update(zip(self.outputs, state + [np.stack(s) for s in zip(*stacks)]))


def type_text(v):
    return f"{v.dtype}[{', '.join(v.dims)}]"


def number(x, dtype):
    if dtype == "bool":
        return "true" if x else "false"
    if ref.is_float(dtype):
        return repr(float(x))
    return str(int(x))


def literal(array, dtype):
    if array.ndim:
        return "[" + ", ".join(literal(a, dtype) for a in array) + "]"
    return number(array, dtype)


def constant_text(v):
    return f"const({literal(v.array, v.dtype)}) : {v.dtype}[{', '.join(map(str, v.shape))}]"


def draw(rng, dtype, shape):
    """Elements with the values that matter among them."""
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        flat = np.array([rng.random() < 0.5 for _ in range(count)], np.bool_)
    elif ref.is_float(dtype):
        special = SPECIAL[dtype] if rng.random() < 0.5 else [0.0, -0.0, 1.0]
        flat = [rng.choice(special) if rng.random() < 0.15 else rng.choice((rng.gauss(0, 2), rng.randint(-6, 6) / 2)) for _ in range(count)]
        flat = ref.cast(np.array(flat, np.float64), None, dtype)
    else:
        info = np.iinfo(ref.STORE[dtype])
        small = lambda: rng.randint(max(info.min, -9), 9)
        flat = np.array([rng.choice((info.min, info.max)) if rng.random() < 0.1 else small() for _ in range(count)], ref.STORE[dtype])
    return flat.reshape(shape)
