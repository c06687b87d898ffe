# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models for tests, written by hand: what a test needs of onnx.proto, with NumPy alone.

    m = Model(opset=13)
    x = m.input([[1.0, 2.0]], "f4", dims=("n", 2))
    m.output(m.node("Softmax", x, axis=1), expected)
    m.check()

`check` runs the model on every executor (RILL_TARGETS) and compares. `refused(text)` wants one error with TEXT in it,
from the importer or from the run. `imported()` is the text that it becomes."""

import itertools
import os
import re
import struct
import subprocess
import tempfile

import numpy as np

# TensorProto.DataType
DTYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
          "float64": 11, "uint32": 12, "uint64": 13}
TARGETS = os.environ.get("RILL_TARGETS", "interp,llvm").split(",")


# --- protocol buffers ---
def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """A field of a message: bytes, text, an integer, or a float (fixed32)."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, (bytes, str)):
        data = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(data)) + data
    return varint(number << 3) + varint(int(value))


def fields(number, values):
    return b"".join(field(number, v) for v in values)


def tensor(array, name=""):
    array = np.asarray(array)
    return fields(1, array.shape) + field(2, DTYPES[array.dtype.name]) + field(8, name) + field(9, array.tobytes())


def attribute(name, value):
    if isinstance(value, np.ndarray):
        return field(1, name) + field(5, tensor(value)) + field(20, 4)
    if isinstance(value, Model):
        return field(1, name) + field(6, value.graph()) + field(20, 5)
    if isinstance(value, (list, tuple)):
        floats = any(isinstance(v, float) for v in value)
        number, kind = (7, 6) if floats else (8, 7)
        return field(1, name) + fields(number, value) + field(20, kind)
    number, kind = {float: (2, 1), str: (4, 3)}.get(type(value), (3, 2))
    return field(1, name) + field(number, value) + field(20, kind)


def value_info(name, dtype, dims):
    shape = b"".join(field(1, field(2 if isinstance(d, str) else 1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, DTYPES[dtype]) + field(2, shape)))


# --- models ---
class Model:
    def __init__(self, opset, names=None):
        self.names = names or itertools.count(1)
        self.opset, self.nodes, self.initializers, self.inputs, self.outputs = opset, [], [], [], []
        self.arrays, self.expected = [], []

    def name(self):
        return f"v{next(self.names)}"

    def within(self):
        """A graph for an attribute of a node; it may use the names that there are."""
        return Model(self.opset, self.names)

    def argument(self, dtype, dims):
        """An input of such a graph."""
        name = self.name()
        self.inputs.append(value_info(name, dtype, dims))
        return name

    def input(self, value, dtype=None, dims=None):
        array, name = np.asarray(value, dtype), self.name()
        self.inputs.append(value_info(name, array.dtype.name, array.shape if dims is None else dims))
        self.arrays.append(array)
        return name

    def const(self, value, dtype=None):
        """An initializer."""
        name = self.name()
        self.initializers.append(tensor(np.asarray(value, dtype), name))
        return name

    def node(self, kind, *inputs, outputs=1, **attributes):
        """Inputs are names, "" for one that is left out. One name comes back, or a list where OUTPUTS is not 1."""
        names = [self.name() for _ in range(outputs)]
        data = fields(1, inputs) + fields(2, names) + field(4, kind)
        data += b"".join(field(5, attribute(k, v)) for k, v in attributes.items())
        self.nodes.append(data)
        return names[0] if outputs == 1 else names

    def output(self, name, expected=None, dtype=None):
        self.outputs.append(field(1, name))
        self.expected.append(None if expected is None else np.asarray(expected, dtype))

    def graph(self):
        return fields(1, self.nodes) + field(2, "g") + fields(5, self.initializers) + fields(11, self.inputs) + fields(12, self.outputs)

    def bytes(self):
        return field(1, 8) + field(7, self.graph()) + field(8, field(1, "") + field(2, self.opset))

    def save(self, folder):
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(self.bytes())
        return path

    def imported(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["ir-translate", "--import-onnx", self.save(folder)], capture_output=True, text=True)
            assert not done.returncode, done.stderr
            return done.stdout

    def runs(self):
        """What each executor says, and the arrays that it gives."""
        for target in TARGETS:
            with tempfile.TemporaryDirectory() as folder:
                command = ["ir-run", self.save(folder), "--exact", "--target=" + target]
                for i, array in enumerate(self.arrays):
                    np.save(os.path.join(folder, f"in{i}.npy"), array)
                    command.append(f"--input={folder}/in{i}.npy")
                command += [f"--output={folder}/out{i}.npy" for i in range(len(self.outputs))]
                done = subprocess.run(command, capture_output=True, text=True)
                found = [np.load(f"{folder}/out{i}.npy") for i in range(len(self.outputs))] if not done.returncode else []
                yield target, done, found

    def check(self, rtol=1e-6):
        for target, done, found in self.runs():
            assert not done.returncode, f"{target}: {done.stderr}"
            for array, expected in zip(found, self.expected):
                said = f"{target}: {array.dtype}{list(array.shape)} {array.tolist()}, expected {expected.dtype}{list(expected.shape)} {expected.tolist()}"
                assert array.dtype == expected.dtype and array.shape == expected.shape, said
                assert np.allclose(array, expected, rtol, 0, equal_nan=True), said
                assert array.dtype.kind != "f" or np.array_equal(np.signbit(array[array == 0]), np.signbit(expected[array == 0])), said

    def refused(self, text):
        for target, done, _ in self.runs():
            said = f"{target}: exit status {done.returncode}: {done.stderr}"
            assert done.returncode == 1 and done.stderr.count("error: ") == 1 and text in done.stderr, said
