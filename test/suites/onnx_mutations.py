#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Broken ONNX models: cut off, with other bits, with fields of other models, with numbers that are too large. Whatever the bytes,
ir-translate ends with status 0 or 1, an error names the file, a refused model leaves neither text nor weights behind, and what is
taken is a module that reads back.

`onnx_mutations.py [SECONDS [SEED [KEEP]]]`: without arguments a fixed number of models; failing ones are kept in the folder KEEP."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
TRANSLATE, OPT = os.path.join(BUILD, "bin/ir-translate"), os.path.join(BUILD, "bin/ir-opt")
NUMBER = 1500
LIMIT = 10
EXTREMES = [0, 1, -1, 2**31 - 1, 2**31, -2**31, 2**40, 2**62, 2**63 - 1, -2**63]


def model(nodes, inputs, outputs, constants, opset=13):
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()]
    return helper.make_model(helper.make_graph(nodes, "g", infos, results, tensors), opset_imports=[helper.make_opsetid("", opset)])


def models():
    node, rng = helper.make_node, np.random.default_rng(3)
    weights = {"w": rng.standard_normal((8, 3, 3, 3)).astype("f4"), "b": rng.standard_normal(8).astype("f4"), "v": np.ones(8, "f4")}
    yield model([node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2], name="conv"),
                 node("BatchNormalization", ["c", "b", "b", "b", "v"], ["n"], epsilon=1e-3), node("Relu", ["n"], ["r"]),
                 node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2], auto_pad="SAME_UPPER")], [("x", ["n", 3, 16, 16])], ["y"], weights)
    yield model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["n"]), node("Unsqueeze", ["n", "a"], ["u"]), node("Concat", ["u", "m"], ["t"], axis=0),
                 node("Reshape", ["x", "t"], ["f"]), node("Gemm", ["f", "k"], ["y"], transB=1, alpha=0.5)], [("x", ["batch", 4, 2])], ["y"],
                {"i": np.array(0), "a": np.array([0]), "m": np.array([-1]), "k": np.ones((300, 8), "f4")})
    yield model([node("Slice", ["x", "p", "q", "a", "d"], ["s"]), node("Pad", ["s", "w"], ["t"], mode="reflect"), node("Split", ["t", "k"], ["a1", "a2"], axis=1),
                 node("Clip", ["a1", "lo"], ["c"]), node("ReduceMean", ["c"], ["m"], axes=[-1], keepdims=0), node("Softmax", ["m"], ["y"], axis=0)],
                [("x", [6, 7])], ["y"], {"p": np.array([0, -1]), "q": np.array([9, -9]), "a": np.array([0, 1]), "d": np.array([2, -1]),
                                         "w": np.array([1, 1, 1, 0]), "k": np.array([3, 5]), "lo": np.array(0.5, "f4")})
    yield model([node("Constant", [], ["c"], value=numpy_helper.from_array(np.arange(600, dtype="f4"))), node("Where", ["b", "c", "x"], ["w"]), node("Cast", ["w"], ["h"], to=10),
                 node("Cast", ["h"], ["g"], to=1), node("Expand", ["g", "e"], ["y"])], [("x", [600])], ["y"], {"b": np.arange(600) % 3 == 0, "e": np.array([2, 600])})
    shared = model([node("Add", ["x", "w"], ["y"])], [("x", [2, 3])], ["y"], {"w": np.ones((2, 3), "f4")})
    tensor = shared.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "16"), ("length", "24")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    yield shared


# --- mutations of bytes ---
def cut(rng, data, _):
    return data[:rng.randrange(len(data))]


def flip(rng, data, _):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def put(rng, data, _):
    at = rng.randrange(len(data))
    return data[:at] + rng.choice([b"\xff" * 10, b"\x00", b"\x80" * 9 + b"\x01", bytes([rng.randrange(256)]) * rng.randint(1, 20)]) + data[at + rng.randint(0, 3):]


def splice(rng, data, others):
    other = rng.choice(others)
    a, b, size = rng.randrange(len(data)), rng.randrange(len(other)), rng.randint(1, 200)
    return data[:a] + other[b:b + size] + data[a + rng.choice([0, size]):]


# --- mutations of what the bytes say ---
def meddle(rng, source):
    proto = type(source)()
    proto.CopyFrom(source)
    graph = proto.graph
    names = [n for node in graph.node for n in [*node.input, *node.output] if n] + [""]
    for _ in range(rng.choice([1, 1, 2, 3])):
        node = rng.choice(graph.node)
        tensor = rng.choice(graph.initializer)
        kind = rng.randrange(11)
        if kind == 0 and node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(names)
        elif kind == 1 and node.output:
            node.output[rng.randrange(len(node.output))] = rng.choice(names)
        elif kind == 2:
            node.op_type = rng.choice([n.op_type for n in graph.node] + ["Relu", "Transpose", "Flatten", "Squeeze", "Size", "Nothing"])
        elif kind == 3 and node.attribute:
            attribute = rng.choice(node.attribute)
            attribute.i = rng.choice(EXTREMES)
            if attribute.ints:
                attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(EXTREMES)
        elif kind == 4:
            node.attribute.append(rng.choice([a for n in graph.node for a in n.attribute]) if any(n.attribute for n in graph.node) else helper.make_attribute("axis", 1))
        elif kind == 5 and tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(EXTREMES)
        elif kind == 6:
            tensor.data_type = rng.randrange(25)
        elif kind == 7:
            values = bytearray(tensor.raw_data)
            if tensor.data_type == TensorProto.INT64 and values:
                at = rng.randrange(len(values) // 8) * 8
                values[at:at + 8] = rng.choice(EXTREMES).to_bytes(8, "little", signed=True)
                tensor.raw_data = bytes(values)
        elif kind == 8:
            dims = graph.input[0].type.tensor_type.shape.dim
            dims[rng.randrange(len(dims))].dim_value = rng.choice(EXTREMES)
        elif kind == 9:
            proto.opset_import[0].version = rng.choice([0, -1, 1, 4, 5, 9, 11, 18, 21, 22, 2**62])
        elif tensor.external_data:
            rng.choice(tensor.external_data).value = rng.choice(["../weights.bin", "/etc/passwd", "/dev/zero", "fifo", "link", ".", "", "weights.bin", "-1", "9" * 30, "64"])
    return proto.SerializeToString()


# --- checks ---
def check(folder, data, place):
    """None, or what is wrong."""
    path, text, weights = (os.path.join(folder, n) for n in ("m.onnx", "out.rill", "out.safetensors"))
    for old in (text, weights):
        if os.path.exists(old):
            os.remove(old)
    with open(path, "wb") as file:
        file.write(data)
    done = subprocess.run([TRANSLATE, "--import-onnx", path, "-o", text], capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    err = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1) or (done.returncode == 1) != ("error: " in err):
        return f"status {done.returncode}\n{err[-1000:]}"
    if done.returncode:
        if not all(ord(c) >= 32 or c in "\n\t" for c in err):
            return f"an error with control characters\n{err!r}"
        if place not in err:
            return f"an error without the file\n{err[-1000:]}"
        return "a refused model has left something" if os.path.exists(text) or os.path.exists(weights) else None
    if not os.path.exists(text):
        return "no text"
    done = subprocess.run([OPT, "--roundtrip-each", "--default{target=llvm}", text, "-o", os.path.join(folder, "low.rill")], capture_output=True, timeout=LIMIT)
    err = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1) or "internal error" in err or (done.returncode and "not implemented" not in err):
        return f"ir-opt: status {done.returncode}\n{err[-1000:]}"
    return None


def main():
    seconds, first, keep = (sys.argv[1:] + [None] * 3)[:3]
    seed, passed, failed, start = int(first or 1), 0, 0, time.monotonic()
    sources = list(models())
    bytes_of = [m.SerializeToString() for m in sources]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "weights.bin"), "wb") as file:
            file.write(bytes(range(64)))
        os.mkfifo(os.path.join(folder, "fifo"))
        os.symlink("/etc/passwd", os.path.join(folder, "link"))
        for i, data in enumerate(bytes_of):
            problem = check(folder, data, "m.onnx")
            failed += bool(problem)
            if problem:
                print(f"model {i} as it is: {problem}")
        while time.monotonic() - start < float(seconds) if seconds else seed <= NUMBER:
            rng = random.Random(seed)
            i = rng.randrange(len(sources))
            data = meddle(rng, sources[i]) if rng.random() < 0.5 else rng.choice([cut, flip, flip, put, splice])(rng, bytes_of[i], bytes_of)
            try:
                problem = check(folder, data, "m.onnx")
            except subprocess.TimeoutExpired as late:
                problem = f"no answer in {LIMIT} s: {late.cmd}"
            passed += not problem
            failed += bool(problem)
            if problem:
                print(f"seed {seed}: {problem}", flush=True)
                if keep:
                    shutil.copy(os.path.join(folder, "m.onnx"), os.path.join(keep, f"{seed}.onnx"))
            seed += 1
    print(f"onnx_mutations: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
