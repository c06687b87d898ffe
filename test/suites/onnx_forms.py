#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models in forms that exporters seldom write: what they compute by the specification (worked out by hand or by NumPy),
and what is refused, with the message."""

import os
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
RUN = os.path.join(BUILD, "bin/ir-run")
SQUARE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
PAIR = np.array([[1, 2], [3, 4]], np.float32)
KINDS = {np.dtype("f4"): TensorProto.FLOAT, np.dtype("i4"): TensorProto.INT32, np.dtype("i8"): TensorProto.INT64}

CASES = []


def case(name, nodes, inputs, constants, expected, opset=13, dims=None):
    """INPUTS, CONSTANTS: name -> array. EXPECTED: output -> array, or a piece of the message. DIMS: other extents of an input."""
    CASES.append((name, nodes, inputs, constants, expected, opset, dims or {}))


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def i64(*values):
    return np.array(values, np.int64)


# --- windows ---
case("a stride of 0", [node("MaxPool", "x", "y", kernel_shape=[2, 2], strides=[0, 1], auto_pad="SAME_UPPER")], {"x": SQUARE}, {},
     "strides and dilations are from 1")
case("a kernel that is too large", [node("MaxPool", "x", "y", kernel_shape=[2**62, 2], dilations=[2**61, 1], auto_pad="SAME_LOWER")],
     {"x": SQUARE}, {}, "strides and dilations are from 1")
case("VALID takes no padding", [node("MaxPool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1], auto_pad="VALID")], {"x": SQUARE}, {},
     {"y": np.array([[[[10, 11], [14, 15]]]], np.float32)})
case("no group at all", [node("Conv", "x x", "y", group=0)], {"x": SQUARE}, {}, "'groups' is 0")
# --- parts ---
case("parts that leave something", [node("Split", "x p", "a b")], {"x": PAIR}, {"p": i64(1, 0)}, "the parts have 1 elements together, the axis another number")
case("parts of a symbol that leave something", [node("Split", "x p", "a b", axis=1)], {"x": PAIR}, {"p": i64(1, 2)}, "'n == 3' does not hold with n = 2",
     dims={"x": [2, "n"]})
case("parts of a symbol", [node("Split", "x p", "a b", axis=-1)], {"x": PAIR}, {"p": i64(1, 1)}, {"a": PAIR[:, :1], "b": PAIR[:, 1:]}, dims={"x": [2, "n"]})
case("a part below 0", [node("Split", "x p", "a b")], {"x": PAIR}, {"p": i64(-1, 3)}, "a part of -1")
# --- arithmetic on what is known when the model is read ---
case("i8 wraps", [node("Add", "p q", "a"), node("Div", "a q", "b")], {}, {"p": np.array([127, 5], np.int8), "q": np.array([2, 2], np.int8)},
     {"a": np.array([-127, 7], np.int8), "b": np.array([-63, 3], np.int8)}, opset=14)
case("u64 divides", [node("Div", "p q", "y")], {}, {"p": np.array([2**63 + 4], np.uint64), "q": np.array([2], np.uint64)},
     {"y": np.array([2**62 + 2], np.uint64)}, opset=14)
case("i32 wraps", [node("Add", "p q", "a"), node("Div", "a r", "b")], {}, {"p": np.int32([2**31 - 1]), "q": np.int32([1]), "r": np.int32([3])},
     {"a": np.int32([-2**31]), "b": np.int32([-715827882])})
case("i64 wraps", [node("Add", "p q", "a"), node("Div", "a r", "b")], {}, {"p": i64(2**63 - 1), "q": i64(1), "r": i64(3)},
     {"a": i64(-2**63), "b": i64(-3074457345618258602)})
case("an extent as i32 does not wrap", [node("Shape", "x", "s"), node("Cast", "s", "c", to=TensorProto.INT32), node("Mul", "c q", "a"), node("Div", "a q", "b")],
     {"x": np.zeros(4, np.float32)}, {"q": np.int32([2**30])}, "does not hold with n = 4", dims={"x": ["n"]})
case("dtypes that differ", [node("Add", "p q", "y")], {}, {"p": i64(5), "q": np.int32([6])}, "dtypes i64 and i32")
case("dtypes that differ, joined", [node("Concat", "p q", "y", axis=0)], {}, {"p": i64(5), "q": np.int32([6])}, "dtypes i64 and i32")
case("Concat, axis 3", [node("Concat", "p p", "y", axis=3)], {}, {"p": i64(5)}, "axis 3 is out of range for rank 1")
case("Gather, axis 4", [node("Gather", "p q", "y", axis=4)], {}, {"p": i64(5, 6), "q": i64(1)}, "axis 4 is out of range for rank 1")
case("Slice, axis 3", [node("Slice", "p s e a", "y")], {}, {"p": i64(5, 6), "s": i64(0), "e": i64(1), "a": i64(3)}, "axis 3 is out of range for rank 1")
case("Slice, axis -1", [node("Slice", "p s e a", "y")], {}, {"p": i64(5, 6), "s": i64(1), "e": i64(9), "a": i64(-1)}, {"y": i64(6)})
case("Squeeze, axis 7", [node("Squeeze", "p a", "y")], {}, {"p": i64(5), "a": i64(7)}, "axis 7 is out of range for rank 1")
case("Unsqueeze, axis 7", [node("Unsqueeze", "p a", "y")], {}, {"p": np.array(5), "a": i64(7)}, "axis 7 is out of range for rank 1")
case("Unsqueeze, axis -1", [node("Unsqueeze", "p a", "y")], {}, {"p": np.array(5), "a": i64(-1)}, {"y": i64(5)})
case("a shape of too many elements", [node("Reshape", "p s", "y")], {}, {"p": i64(5, 6), "s": i64(3)}, "shape [2] cannot become [3]")
case("a shape of no axis", [node("Reshape", "p s", "y")], {}, {"p": i64(5, 6), "s": i64()}, "shape [2] cannot become []")
case("a shape of the same", [node("Reshape", "p s", "y")], {}, {"p": i64(5, 6), "s": i64(2)}, {"y": i64(5, 6)})
# --- slices: a start is clamped to the elements there are, also backwards ---
case("backwards from before the first", [node("Slice", "x s e a d", "y")], {"x": PAIR}, {"s": i64(-5), "e": i64(-2**31), "a": i64(1), "d": i64(-2)}, {"y": PAIR[:, :1]})
case("backwards from before the first of a symbol", [node("Slice", "x s e a d", "y")], {"x": PAIR},
     {"s": i64(-5), "e": i64(-2**63), "a": i64(-1), "d": i64(-1)}, {"y": PAIR[:, :1]}, dims={"x": [2, "n"]})
case("backwards from the last of a symbol", [node("Slice", "x s e a d", "y")], {"x": PAIR},
     {"s": i64(-1), "e": i64(-2**63), "a": i64(-1), "d": i64(-1)}, {"y": PAIR[:, ::-1]}, dims={"x": [2, "n"]})
case("backwards, known", [node("Slice", "p s e a d", "y")], {}, {"p": i64(5, 6), "s": i64(-9), "e": i64(-2**63), "a": i64(0), "d": i64(-1)}, {"y": i64(5)})
# --- what is given but not taken ---
case("an input too many", [node("Relu", "x x", "y")], {"x": PAIR}, {}, "Relu: input 1 ('x') is not supported")
case("an output too many", [node("Relu", "x", "y z")], {"x": PAIR}, {}, "Relu: output 1 ('z') is not supported")
case("an attribute too many", [node("Relu", "x", "y", slope=1.0)], {"x": PAIR}, {}, "attribute 'slope' is not supported")
case("Concat without an axis", [node("Concat", "x x", "y")], {"x": PAIR}, {}, "Concat: axis is missing")
case("a ratio that only training uses", [node("Dropout", "x r", "y")], {"x": PAIR}, {"r": np.array(0.5, np.float32)}, {"y": PAIR})
case("alpha of integers", [node("Gemm", "x x", "y", alpha=0.5)], {"x": PAIR.astype(np.int32)}, {}, "alpha 0.5 and beta 1 of integers")
# --- reductions ---
case("nothing to reduce, squares", [node("ReduceSumSquare", "x", "y", noop_with_empty_axes=1)], {"x": PAIR}, {}, {"y": PAIR * PAIR}, opset=18)
case("nothing to reduce, absolutes", [node("ReduceL1", "x", "y", noop_with_empty_axes=1)], {"x": -PAIR}, {}, {"y": PAIR}, opset=18)
case("nothing to reduce", [node("ReduceSum", "x", "y", noop_with_empty_axes=1)], {"x": PAIR}, {}, {"y": PAIR})


def write(path, nodes, inputs, constants, outputs, opset, dims):
    infos = [helper.make_tensor_value_info(n, KINDS[a.dtype], dims.get(n, a.shape)) for n, a in inputs.items()]
    results = [helper.make_empty_tensor_value_info(n) for n in outputs]
    graph = helper.make_graph(nodes, "g", infos, results, [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    with open(path, "wb") as file:
        file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]).SerializeToString())


def check(folder, name, nodes, inputs, constants, expected, opset, dims):
    refused = isinstance(expected, str)
    outputs = [o for n in nodes for o in n.output] if refused else list(expected)
    path = os.path.join(folder, "m.onnx")
    write(path, nodes, inputs, constants, outputs, opset, dims)
    command = [RUN, path]
    for n, array in inputs.items():
        np.save(os.path.join(folder, n + ".npy"), array)
        command.append(f"--input={n}={folder}/{n}.npy")
    files = [f"{folder}/out{i}.npy" for i in range(len(outputs))]
    done = subprocess.run(command + [f"--output={f}" for f in files], capture_output=True, text=True, errors="replace", timeout=60)
    if refused:
        fine = done.returncode == 1 and expected in done.stderr and done.stderr.count("error: ") == 1
        return None if fine else f"status {done.returncode}, expected '{expected}'\n{done.stderr}"
    if done.returncode:
        return f"status {done.returncode}\n{done.stderr}"
    for file, want in zip(files, expected.values()):
        got = np.load(file)
        if got.dtype != want.dtype or got.shape != want.shape or not np.array_equal(got, want):
            return f"{got.dtype}{got.shape} {got.tolist()}, expected {want.dtype}{want.shape} {want.tolist()}"
    return None


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for each in CASES:
            problem = check(folder, *each)
            passed += not problem
            failed += bool(problem)
            if problem:
                print(f"{each[0]}: {problem}")
    print(f"onnx_forms: {passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
