#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX operators and forms for which ONNX's own data has no case: models of one node, made here, run through ir-run on both
executors, and compared with what ONNX's text defines, written in NumPy. Inputs behind the first are initializers."""

import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
F = np.float32
random = np.random.default_rng(7)


def normal(*shape):
    return random.normal(size=shape).astype(F)


def group_norm(x, groups, scale, bias, eps=1e-5):
    """Scale and bias are those of channels."""
    parts = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    parts = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + eps)
    along = (1, -1) + (1,) * (x.ndim - 2)
    return parts.reshape(x.shape) * scale.reshape(along) + bias.reshape(along)


def lp_pool(x, size, stride, before, after, p):
    """Over the last axes, one number each for all of them."""
    axes = x.ndim - 2
    padded = np.pad(np.abs(x.astype(np.float64)) ** p, [(0, 0)] * 2 + [(before, after)] * axes)
    extents = [(e - size) // stride + 1 for e in padded.shape[2:]]
    y = np.zeros(x.shape[:2] + tuple(extents))
    for at in np.ndindex(*extents):
        window = padded[(slice(None),) * 2 + tuple(slice(i * stride, i * stride + size) for i in at)]
        y[(slice(None),) * 2 + at] = window.sum(axis=tuple(range(2, x.ndim))) ** (1 / p)
    return y


def flattened(function, x, axis):
    """How softmax and its like worked before opset 13."""
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
    return np.stack([function(row) for row in rows]).reshape(x.shape)


def log_softmax(row):
    return row - row.max() - np.log(np.exp(row.astype(np.float64) - row.max()).sum())


def first_greatest(row):
    return (np.arange(row.size) == row.argmax()).astype(F)


def conv2d(x, weight, pads=(0, 0, 0, 0), strides=(1, 1)):
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))[:, :, ::strides[0], ::strides[1]]
    return np.einsum("nchwij,ocij->nohw", windows, weight)


X3, X4, X5 = normal(2, 6, 5), normal(2, 6, 4, 3), normal(1, 2, 3, 4, 5)
G, C = normal(2), normal(6)
ROW = np.array([[[1, 2, 3, 4]]], F)
QUANTA, KERNEL = random.integers(0, 256, (1, 3, 5, 6), np.uint8), random.integers(-128, 128, (2, 3, 2, 3), np.int8)
DIGITS = random.integers(0, 2, (2, 2, 9))
INFINITE = np.array([[-np.inf, -np.inf], [np.inf, 1], [1000, 1000]], F)

# Operator, opset, inputs, attributes, expected results.
CASES = [
    ("GroupNormalization", 18, [X4, G, G], {"num_groups": 2}, group_norm(X4, 2, np.repeat(G, 3), np.repeat(G, 3))),
    ("GroupNormalization", 21, [X3, C, C], {"num_groups": 3, "epsilon": 0.5}, group_norm(X3, 3, C, C, 0.5)),
    ("LpPool", 18, [X3], {"kernel_shape": [2], "p": 1}, lp_pool(X3, 2, 1, 0, 0, 1)),
    ("LpPool", 11, [X4], {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 0, 0]}, lp_pool(X4, 2, 2, 1, 0, 2)),
    ("LpPool", 11, [X5], {"kernel_shape": [3, 3, 3]}, lp_pool(X5, 3, 1, 0, 0, 2)),
    ("GlobalLpPool", 2, [X4], {}, np.sqrt((X4.astype(np.float64) ** 2).sum((2, 3), keepdims=True))),
    ("GlobalLpPool", 2, [X3], {"p": 1}, np.abs(X3.astype(np.float64)).sum(2, keepdims=True)),
    ("GlobalMaxPool", 1, [X5], {}, X5.max((2, 3, 4), keepdims=True)),
    ("MaxPool", 12, [ROW], {"kernel_shape": [2], "auto_pad": "SAME_LOWER"}, np.array([[[1, 2, 3, 4]]], F)),
    ("MaxPool", 12, [ROW], {"kernel_shape": [2], "auto_pad": "SAME_UPPER"}, np.array([[[2, 3, 4, 4]]], F)),
    ("ConvTranspose", 11, [ROW, np.array([[[1, 10]]], F), np.array([5], F)], {"strides": [2], "output_shape": [9], "output_padding": [1]},
     np.array([[[1, 10, 2, 20, 3, 30, 4, 40, 0]]], F) + 5),
    ("ConvTranspose", 11, [ROW, np.array([[[1, 10, 100]]], F)], {"auto_pad": "SAME_UPPER"}, np.array([[[12, 123, 234, 340]]], F)),
    ("Upsample", 7, [ROW[None]], {"scales": [1.0, 1.0, 2.0, 1.0], "mode": "nearest"}, np.repeat(ROW[None], 2, 2)),
    ("Upsample", 9, [ROW, np.array([1, 1, 1.5], F)], {"mode": "nearest"}, np.array([[[1, 1, 2, 3, 3, 4]]], F)),
    ("Resize", 10, [ROW, np.array([1, 1, 2], F)], {"mode": "linear"}, np.array([[[1, 1.5, 2, 2.5, 3, 3.5, 4, 4]]], F)),
    ("Resize", 13, [ROW[0], np.array([], F), np.array([1, 0.5], F)], {"mode": "linear"}, np.array([[1.5, 3.5]], F)),
    ("Hardmax", 11, [X3], {}, flattened(first_greatest, X3, 1)),
    ("LogSoftmax", 11, [X3], {}, flattened(log_softmax, X3, 1)),
    ("Range", 11, [np.array(1, F), np.array(2.1, F), np.array(0.25, F)], {}, np.array([1, 1.25, 1.5, 1.75, 2], F)),
    ("Range", 11, [np.array(5), np.array(-2), np.array(-3)], {}, np.array([5, 2, -1])),
    ("CumSum", 14, [ROW[0], np.array(1)], {"reverse": 1, "exclusive": 1}, np.array([[9, 7, 4, 0]], F)),
    ("ScatterElements", 18, [ROW[0], np.array([[0, 0, -1]]), np.array([[7, 5, 2]], F)], {"axis": 1, "reduction": "max"}, np.array([[7, 2, 3, 4]], F)),
    ("ScatterND", 18, [ROW[0], np.array([[0, 3], [0, 3]]), np.array([7, -1], F)], {"reduction": "min"}, np.array([[1, 2, 3, -1]], F)),
    ("ReduceLogSumExp", 18, [INFINITE, np.array([1])], {"keepdims": 0}, np.array([-np.inf, np.inf, 1000 + np.log(2)], F)),
    ("ReduceLogSumExp", 13, [INFINITE], {"axes": [1]}, np.array([[-np.inf], [np.inf], [1000 + np.log(2)]], F)),
    ("ArgMax", 13, [np.array([[3, 1, 3]], F)], {"axis": 1, "select_last_index": 1, "keepdims": 0}, np.array([2])),
    ("ReduceProd", 13, [X4], {"axes": [-1, 0]}, X4.astype(np.float64).prod((0, 3), keepdims=True)),
    ("MeanVarianceNormalization", 13, [X3], {"axes": [2]}, (X3 - X3.mean(2, keepdims=True)) / (X3.std(2, keepdims=True) + 1e-9)),
    ("Mish", 18, [X3], {}, X3 * np.tanh(np.log1p(np.exp(X3.astype(np.float64))))),
    ("Gelu", 20, [X3], {}, X3 * 0.5 * (1 + np.vectorize(math.erf)(X3 / math.sqrt(2)))),
    ("Gelu", 20, [X3], {"approximate": "tanh"}, X3 * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (X3 + 0.044715 * X3.astype(np.float64) ** 3)))),
    ("Shrink", 9, [np.array([-3, -1, 0, 2, 5])], {"bias": 1.0, "lambd": 2.0}, np.array([-2, 0, 0, 0, 4])),
    ("Selu", 1, [X3], {}, 1.0507 * np.where(X3 > 0, X3, 1.6732 * np.expm1(X3.astype(np.float64)))),
    ("Pow", 15, [np.array([3.0, -1.0], F), np.array([2, 2**24 + 1])], {}, np.array([9.0, -1.0], F)),
    ("Pow", 15, [np.array([2.0], F), np.array([0.5])], {}, np.array([math.sqrt(2)], F)),
    ("Pow", 1, [np.abs(X4), C], {"broadcast": 1, "axis": 1}, np.power(np.abs(X4.astype(np.float64)), C.reshape(1, 6, 1, 1))),
    ("Pow", 15, [np.array([3, -7, -1]), np.array([39, 3, -3])], {}, np.array([3**39, -343, -1])),
    ("Pow", 15, [np.array([2, 3], np.int32), np.array([3, 40])], {}, np.array([8, 3**40 % 2**32], np.int32)),
    ("Pow", 15, [np.array([4, 100000], np.int32), np.array([0.5, 1.5], F)], {}, np.array([2, 31622776], np.int32)),
    ("ReduceMean", 18, [np.array([[7, -9, 3], [-1, 0, -1]])], {}, np.array([[0]])),
    ("ReduceMean", 13, [np.array([[7, -9, 3], [2**31 - 1, 2**31 - 1, 2**31 - 1]], np.int32)], {"axes": [1], "keepdims": 0}, np.array([0, 2**31 - 1], np.int32)),
    ("Pad", 13, [ROW, np.array([0, 0, -1, 0, 1, 2])], {}, np.array([[[2, 3, 4, 0, 0], [0] * 5]], F)),
    ("Pad", 13, [ROW, np.array([0, 0, -6, 0, 0, 4]), np.array(9, F)], {}, np.array([[[9, 9]]], F)),
    ("Pad", 13, [ROW, np.array([0, 0, -1, 0, 0, 1])], {"mode": "edge"}, np.array([[[2, 3, 4, 4]]], F)),
    ("Pad", 13, [ROW, np.array([0, 0, -1, 0, 0, 2])], {"mode": "reflect"}, np.array([[[2, 3, 4, 3, 2]]], F)),
    ("ReduceMax", 20, [np.array([[True, False], [False, False]]), np.array([0])], {"keepdims": 0}, np.array([True, False])),
    ("ReduceMin", 20, [np.array([[True, False], [True, True]]), np.array([0])], {"keepdims": 0}, np.array([True, False])),
    ("Reshape", 14, [np.zeros((0, 3), F), np.array([3, 0])], {"allowzero": 1}, np.zeros((3, 0), F)),
    ("Pad", 2, [ROW], {"pads": [0, 0, -1, 0, 0, -2], "value": 5.0}, np.array([[[2]]], F)),
    ("ConvInteger", 10, [QUANTA, KERNEL, np.uint8(3), np.array([1, -2], np.int8)], {"pads": [1, 0, 0, 1], "strides": [1, 2]},
     conv2d(QUANTA.astype(int) - 3, KERNEL.astype(int) - np.array([1, -2]).reshape(2, 1, 1, 1), (1, 0, 0, 1), (1, 2)).astype(np.int32)),
    ("QLinearConv", 10, [QUANTA, F(0.25), np.uint8(3), KERNEL, np.array([0.5, 0.125], F), np.array([1, -2], np.int8), F(2), np.int8(5), np.array([40, -7], np.int32)], {},
     np.clip(np.rint((conv2d(QUANTA.astype(int) - 3, KERNEL.astype(int) - np.array([1, -2]).reshape(2, 1, 1, 1)) + np.array([[40], [-7]])[:, :, None])
                     * np.array([0.125, 0.03125])[:, None, None] / 2) + 5, -128, 127).astype(np.int8)),
    ("Tile", 13, [ROW, np.array([1, 2, 3])], {}, np.tile(ROW, (1, 2, 3))),
    ("DepthToSpace", 11, [X4[:, :4]], {"blocksize": 2, "mode": "CRD"},
     X4[:, :4].reshape(2, 1, 2, 2, 4, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 8, 6)),
    ("Unique", 11, [np.array([np.nan, 2, -0.0, np.nan, 0.0, 2], F)], {}, np.unique(np.array([np.nan, 2, -0.0, np.nan, 0.0, 2], F))),
    ("Unique", 11, [np.array([[3, 1], [1, 3]])], {"sorted": 0}, np.array([3, 1])),
    ("Unique", 11, [np.zeros((0, 2), F)], {}, np.zeros(0, F)),
    ("Unique", 11, [DIGITS], {"axis": -1}, np.unique(DIGITS, axis=-1)),
    ("Compress", 11, [X4, np.array([False, True, True])], {"axis": -3}, X4[:, 1:3]),
    ("Compress", 9, [X3, np.zeros(60, bool)], {}, np.zeros(0, F)),
    ("Compress", 11, [X4, np.array([False, True, True, True, True, True, True])], {"axis": -3}, np.compress([False] + [True] * (X4.shape[1] - 1), X4, -3)),
    ("NonZero", 13, [np.array([[0.0, np.nan], [-0.0, 1]], F)], {}, np.array([[0, 1], [1, 1]])),
]

# What is not there says so.
REFUSED = [
    ("Resize", 18, [ROW[None], np.array([], F), np.array([1, 1, 1, 2], F)], {"mode": "linear", "antialias": 1}, "not implemented: antialias"),
    ("Resize", 13, [ROW, np.array([], F), np.array([1, 2, 2], F)], {"mode": "linear"}, None),
    ("Resize", 13, [X5, np.array([], F), np.array([1, 1, 1, 1, 2], F)], {}, "not implemented: an input of rank 5"),
    ("Resize", 13, [X4, np.array([], F), np.array([1, 2, 1, 1], F)], {}, "not implemented: axis 1 of 4 resized"),
    ("Pow", 15, [np.array([3]), np.array([2], np.uint64)], {}, "not implemented: powers of i64 with exponents of u64"),
    ("Reshape", 14, [np.zeros((0, 3), F), np.array([-1, 0])], {"allowzero": 1}, "a shape with 0 and -1, which 'allowzero' leaves open"),
    ("ConvInteger", 10, [QUANTA, KERNEL, np.arange(3, dtype=np.uint8)], {}, "not implemented: a scale or zero point for each channel of x"),
    ("Shrink", 9, [np.array([1])], {}, "bias 0 and lambd 0.5 of integers"),
    ("Gelu", 20, [X3], {"approximate": "sine"}, "approximate 'sine': expected none or tanh"),
    ("LpPool", 11, [X3], {"kernel_shape": [2], "p": 3}, "not implemented: p = 3"),
    ("Conv", 11, [normal(1, 1, 2, 2, 2, 2), normal(1, 1, 1, 1, 1, 1)], {}, "not implemented: 4 axes"),
]


def model_of(op, opset, inputs, attributes, path, given):
    """GIVEN: 1 where the first input is one of the graph, else 0."""
    names = [f"i{i}" for i in range(len(inputs))]
    first = helper.make_tensor_value_info("i0", numpy_helper.from_array(inputs[0]).data_type, inputs[0].shape)
    constants = [numpy_helper.from_array(a, n) for a, n in zip(inputs, names)]
    node = helper.make_node(op, names, ["y"], **attributes)
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    output.ClearField("type")  # whatever it is
    graph = helper.make_graph([node], "g", [first] * given, [output], constants[given:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def run(folder, case, target):
    op, opset, inputs, attributes, expected = case
    path = os.path.join(folder, "model.onnx")
    given = int(inputs[0].ndim > 0)  # a number alone is an initializer, too
    model_of(op, opset, inputs, attributes, path, given)
    x, y = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
    np.save(x, inputs[0])
    done = subprocess.run([os.path.join(BUILD, "bin/ir-run"), path, "--target=" + target, "--output=" + y] + ["--input=" + x] * given,
                          capture_output=True, text=True)
    if isinstance(expected, str):
        return None if done.returncode == 1 and expected in done.stderr else f"exit status {done.returncode}: {done.stderr}"
    if done.returncode:
        return done.stderr
    if expected is None:
        return None
    found = np.load(y)
    same = found.shape == expected.shape and np.allclose(found, expected, 1e-5, 1e-6, equal_nan=True)
    return None if same else f"found\n{found}\nexpected\n{expected}"


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES + REFUSED:
            for target in ("interp", "llvm"):
                problem = run(folder, case, target)
                passed += problem is None
                failed += problem is not None
                if problem is not None:
                    print(f"{case[0]} {case[3]} at opset {case[1]} on {target}: {problem}")
    print(f"onnx_made: {passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
