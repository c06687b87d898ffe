#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example of every operator compiled, from shared libraries that hold all of them: for the plainest processor and
for one with wide vectors, on one thread and on seven, with symbols of 0, 1, 2, 17 and of more, and with these sizes written
in the place of the symbols. The bits have to be the interpreter's, and what it refuses, such as a window larger than what it
slides over, has to end as an error everywhere."""

import concurrent.futures
import ctypes
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
BIN = os.path.join(BUILD, "bin")
sys.path[:0] = [os.path.join(ROOT, "test/suites/lib"), os.path.join(ROOT, "test/suites")]
import examples  # noqa: E402
from checks import check, report  # noqa: E402
from library import OK, Host, Model, read, tensor  # noqa: E402

SIZES = {str(n): dict.fromkeys("nmbhw", n) for n in (0, 1, 2, 17)}
SIZES["many"] = {"n": 257, "m": 131, "b": 3, "h": 40, "w": 37}
CPUS = ("x86-64", "x86-64-v3")
# What the interpreter says where indices or divisors are wrong: compiled code stops there only when it is asked to check.
UNCHECKED = re.compile("out of range|division by zero|is no class|not below")


def module(functions):
    return "rill 1\nmodule {\n" + "".join(functions) + "}\n"


def tool(*command):
    return subprocess.run([os.path.join(BIN, command[0]), *command[1:]], capture_output=True, text=True, errors="replace")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def build(folder, name, functions, cpu):
    source, target = write(os.path.join(folder, name + ".rill"), module(functions)), os.path.join(folder, name + ".so")
    done = tool("ir-translate", "--to-llvm", "--opt", "--exact", "--emit=so", "--cpu=" + cpu, source, "-o", target)
    return ctypes.CDLL(target) if check(not done.returncode, f"{name}: {done.stderr[:600]}") else None


class Example:
    def __init__(self, number, op, params, statements):
        self.name, self.op, self.params, self.statements = f"e{number}", op, params, statements
        self.types = examples.result_types(statements)

    def values(self, sizes):
        return [v for _, v in examples.inputs(np.random.default_rng(len(self.op)), self.params, sizes)]

    def text(self, sizes=None):
        params, statements = (examples.numbers(t, sizes) if sizes else t for t in (self.params, self.statements))
        return examples.function(self.name, params, statements)


def interpret(folder, example, arrays, sizes):
    """The interpreter's results, or its message; and whether the verifier takes the sizes in the place of symbols."""
    source = write(os.path.join(folder, example.name + ".rill"), module([example.text()]))
    static = write(os.path.join(folder, example.name + "_static.rill"), module([example.text(sizes)]))
    files = [os.path.join(folder, f"{example.name}_{i}.npy") for i in range(len(arrays))]
    outputs = [os.path.join(folder, f"{example.name}_out{i}.npy") for i in range(len(example.types))]
    for path, array in zip(files, arrays):
        np.save(path, array)
    done = tool("ir-run", source, "--exact", "--entry=" + example.name, *("--input=" + f for f in files), *("--output=" + o for o in outputs))
    sound = not tool("ir-opt", static, "-o", "/dev/null").returncode
    check(done.returncode in (0, 1), f"{example.name} {example.op} {sizes}: {done.stderr[-600:]}")
    return (done.stderr if done.returncode else [np.load(o) for o in outputs]), sound


def bits(array):
    """The bytes, all NaNs alike."""
    array = np.array(array)
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array.shape, array.dtype.str, array.tobytes()


def empty(text):
    """A tensor of a type, to be filled."""
    dtype, dims = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    return tensor(shape=[0] * len([d for d in dims.split(", ") if d]), dtype=examples.DTYPES[dtype])


def run(library, example, arrays, expected, threads, what):
    host = Host(threads)
    model = Model(library, example.name, host)
    outputs = [empty(t) for t in example.types]
    status = model.run([tensor(np.array(a, order="C")) for a in arrays], outputs)
    what = f"{example.name} {example.op}, {what}: {host.messages}"
    if isinstance(expected, str):
        check(status != OK or UNCHECKED.search(expected), f"{what}: the interpreter refuses: {expected[:300]}")
    elif check(status == OK, what):
        for i, array in enumerate(expected):
            check(bits(read(outputs[i], array.dtype)) == bits(array), f"{what}: result {i} has other bits than the interpreter's")
    for output in outputs if status == OK else ():
        host.free(None, output.data)
    model.close()
    check(not host.live, f"{what}: memory is left")
    return host.chunks


def main():
    if not os.path.exists(os.path.join(BUILD, "lib/rill/rill-llvm.so")):
        print("examples_sizes: 0 passed, 0 failed, 1 skipped")
        return 0
    rows = [Example(i, *row[:3]) for i, row in enumerate(examples.examples())]
    chunks = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        libraries = dict(zip(CPUS, pool.map(lambda cpu: build(folder, "symbolic_" + cpu, [e.text() for e in rows], cpu), CPUS)))
        for label, sizes in SIZES.items():
            arrays = [e.values(sizes) for e in rows]
            known = list(pool.map(lambda e, a: interpret(folder, e, a, sizes), rows, arrays))
            for example, (expected, sound) in zip(rows, known):
                check(sound or isinstance(expected, str), f"{example.name} {example.op}: runs with {label}, which the verifier refuses")
            sound = [e for e, (_, fine) in zip(rows, known) if fine]
            static = build(folder, "static_" + label, [e.text(sizes) for e in sound], CPUS[1])
            for example, values, (expected, fine) in zip(rows, arrays, known):
                for cpu, library in libraries.items():
                    for threads in (1, 7):
                        chunks += library is not None and run(library, example, values, expected, threads, f"{label}, {cpu}, {threads} threads")
                if fine and static:
                    run(static, example, values, expected, 7, f"{label}, written")

    check(chunks > 100, f"work was split {chunks} times")
    return report("examples_sizes")


sys.exit(main())
