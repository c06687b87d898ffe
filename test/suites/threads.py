#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled code on 1, 2, 3 and 7 threads gives equal bits, for sizes that are worth sharing, and what the interpreter gives. The pool
itself is unit/threads."""

import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
RUN = os.path.join(BUILD, "bin/ir-run")

# Function, parameters, results, body, shapes of the inputs.
FUNCTIONS = [
    ("elementwise", "%x: f32[n]", "f32[n]", "%y = exp(%x)", [(300001,)]),
    ("half", "%x: f16[n]", "f16[n]", "%y = multiply(%x, %x)", [(400009,)]),
    ("wide", "%x: f64[n, m]", "f64[n, m]", "%y = sqrt(%x)", [(3, 90001)]),
    ("bools", "%x: f32[n]", "bool[n]", "%y = greater(%x, 0.5)", [(1000003,)]),
    ("turned", "%x: f32[a, b, c]", "f32[c, a, b]", "%y = permute_dims(%x, axes=[2, 0, 1])", [(61, 97, 53)]),
    ("matmul", "%x: f32[n, k], %w: f32[k, m]", "f32[n, m]", "%y = matmul(%x, %w)", [(131, 67), (67, 113)]),
    ("one_row", "%x: f32[1, k], %w: f32[k, 4096]", "f32[1, 4096]", "%y = matmul(%x, %w)", [(1, 257), (257, 4096)]),
    ("batches", "%x: f32[b, n, k], %w: f32[b, k, m]", "f32[b, n, m]", "%y = matmul(%x, %w)", [(5, 31, 33), (5, 33, 29)]),
    ("conv", "%x: f32[n, 8, h, w], %w: f32[12, 8, 3, 3]", "f32[n, 12, h, w]", "%y = nn.conv2d(%x, %w, padding=[1, 1, 1, 1])", [(2, 8, 37, 41), (12, 8, 3, 3)]),
    ("softmax", "%x: f32[n, m]", "f32[n, m]", "%y = nn.softmax(%x)", [(257, 301)]),
    ("columns", "%x: f32[n, m]", "f32[m]", "%y = sum(%x, axis=[0])", [(257, 1301)]),
    ("rows", "%x: f32[n, m]", "f32[n]", "%y = max(%x, axis=[1])", [(1257, 301)]),
    ("pool", "%x: f32[n, c, 64, 64]", "f32[n, c, 32, 32]", "%y = nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])", [(2, 17, 64, 64)]),
    ("joined", "%x: f32[n, a], %b: f32[n, c]", "f32[n, a + c]", "%y = concat(%x, %b, axis=1)", [(801, 201), (801, 101)]),
]


def module():
    functions = ["func @%s(%s) -> %s {\n    %s\n    return %%y\n  }" % f[:4] for f in FUNCTIONS]
    return "rill 1\nmodule {\n  " + "\n\n  ".join(functions) + "\n}\n"


def inputs_of(params, shapes, folder):
    rng = np.random.default_rng(7)
    for i, (param, shape) in enumerate(zip(params.split(", %"), shapes)):
        dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[param.split(": ")[1][:3]]
        array = rng.standard_normal(shape).astype(dtype)
        path = os.path.join(folder, f"in{i}.npy")
        np.save(path, np.abs(array) if dtype == np.float64 else array)
        yield "--input=" + path


def main():
    if not os.path.exists(os.path.join(BUILD, "lib/rill/rill-llvm.so")):
        print("threads: 0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "m.rill"), os.path.join(folder, "out.npy")
        with open(path, "w") as file:
            file.write(module())
        for name, params, _, _, shapes in FUNCTIONS:
            inputs = list(inputs_of(params, shapes, folder))
            found = []
            for how in (["--target=interp"], *(["--target=llvm", f"--threads={n}"] for n in (1, 2, 3, 7))):
                subprocess.run([RUN, path, "--entry=" + name, "--exact", "--output=" + out] + how + inputs, check=True)
                found.append(np.load(out).tobytes())
            same = len(set(found)) == 1
            passed += same
            failed += not same
            if not same:
                print(f"{name}: interp and 1, 2, 3, 7 threads are alike: {[f == found[0] for f in found]}")
    print(f"threads: {passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
