#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tensor programs compiled for this machine against the interpreter, bit for bit, over sizes that vectors divide and do not:
loops as written and nests as scheduled. Where NumPy says what comes out, it is asked too."""

import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "random"))
from ways import same  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
RUN = os.path.join(BUILD, "bin/ir-run")
SIZES = [0, 1, 7, 8, 9, 31, 33, 65]
REDUCED = SIZES + [32, 64, 100, 4095, 4096, 4097, 9001]


def f32(*shape, seed=0, zeros=0.2):
    rng = np.random.default_rng(seed + sum(shape) * 31)
    x = rng.standard_normal(shape).astype(np.float32)
    x[rng.random(shape) < zeros] = 0
    flat = x.reshape(-1)
    flat[3::17], flat[5::23] = -0.0, np.inf
    return x


def finite(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def ints(dtype, low, high, *shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).integers(low, high, shape, dtype=dtype)


PROGRAMS = []


def program(name, params, results, body, sizes, make, numpy=None, tolerance=1e-5, call="call_tir", where=""):
    """BODY: a prim_func's statements; PARAMS: its inputs, RESULTS its `out` buffers."""
    PROGRAMS.append((name, params, results, body, sizes, make, numpy, tolerance, call, where))


# --- masks ---
program("condition on data", "%x: f32[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = 1.0
      if %x[i] > 0.0 {
        %y[i] = %x[i] * 2.0
      } else {
        if %x[i] < -1.0 {
          %y[i] = %x[i]
        }
      }
    }""", SIZES, lambda n: [f32(n)], lambda x: [np.where(x > 0, x * 2, np.where(x < -1, x, np.float32(1)))])
program("condition on the counter", "%x: f32[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = 0.0
      if i >= 3 && i < n - 2 {
        %y[i] = %x[i - 3] + %x[i + 2]
      }
    }""", SIZES, lambda n: [f32(n)])
program("guard", "%x: f32[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = guard(i >= 1, %x[i - 1], 0.5) + guard(i + 1 < n, %x[i + 1], 0.25)
    }""", SIZES, lambda n: [f32(n)])
program("guard on data", "%x: f32[n], %k: i64[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = guard(%k[i] >= 0 && %k[i] < n, %x[%k[i]], -1.0)
    }""", SIZES, lambda n: [f32(n), ints(np.int64, -3, n + 3, n)])
program("loop under a condition", "%x: f32[n, 5]", "%y: f32[n]", """
    for i < n vectorize {
      %acc = alloc(scope=local) : f32[]
      %acc[] = 0.0
      if %x[i, 0] > 0.0 {
        for k < 5 {
          if %x[i, k] < 2.0 {
            %acc[] = mad(%x[i, k], %x[i, 4 - k], %acc[])
          }
        }
      }
      %y[i] = %acc[]
    }""", SIZES, lambda n: [finite(n, 5)])
program("condition that all lanes share", "%x: f32[n], %s: f32[4]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = %x[i]
      for k < 4 {
        if %s[k] > 0.0 {
          %y[i] = %y[i] + %s[k]
        } else {
          %y[i] = %y[i] * 0.5
        }
      }
    }""", SIZES, lambda n: [f32(n), finite(4)])
program("division under a condition", "%x: i32[n], %d: i32[n]", "%y: i32[n]", """
    for i < n vectorize {
      %y[i] = -7
      if %d[i] > 0 {
        %y[i] = floordiv(%x[i], %d[i]) + floormod(%x[i], %d[i])
      }
    }""", SIZES, lambda n: [ints(np.int32, -99, 99, n), ints(np.int32, -3, 4, n)])
# --- memory ---
program("reversed", "%x: f32[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[n - 1 - i] = %x[n - 1 - i] + %x[i]
    }""", SIZES, lambda n: [f32(n)], lambda x: [x + x[::-1]])
program("transposed", "%x: f32[n, 13]", "%y: f32[13, n]", """
    for i < 13 {
      for j < n vectorize {
        %y[i, j] = %x[j, i]
      }
    }""", SIZES, lambda n: [f32(n, 13)], lambda x: [x.T])
program("every other", "%x: f32[n * 2, 3], %z: f32[n]", "%y: f32[n, 2]", """
    for i < n vectorize {
      %y[i, 0] = %x[i * 2, 1] - %z[i]
      %y[i, 1] = %x[i * 2 + 1, 2]
    }""", SIZES, lambda n: [f32(n * 2, 3), f32(n)])
program("gather", "%x: f32[n], %k: i32[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = %x[i64(%k[i])]
    }""", SIZES, lambda n: [f32(n), ints(np.int32, -5, n + 5, n)],
        lambda x, k: [x[np.clip(k, 0, len(x) - 1)] if len(x) else x])
program("scatter", "%x: f32[n], %k: i64[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = 9.0
    }
    for i < n {
      %y[%k[i]] = %x[i]
    }""", SIZES, lambda n: [f32(n), np.random.default_rng(n).permutation(n + 4)[:n] - 2])
program("read of an empty buffer", "%x: f32[m], %k: i64[n]", "%y: f32[n]", """
    for i < n vectorize {
      %y[i] = %x[%k[i]] + 1.0
    }""", SIZES, lambda n: [f32(0), ints(np.int64, -3, 3, n)], lambda x, k: [np.ones(len(k), np.float32)])
program("flat index", "%x: f32[n, 3, 20]", "%y: f32[n * 60]", """
    for i < n * 60 vectorize {
      %y[i] = %x[floordiv(i, 60), floordiv(floormod(i, 60), 20), floormod(i, 20)]
    }""", [0, 1, 3, 7], lambda n: [f32(n, 3, 20)], lambda x: [x.reshape(-1)])
program("flat index, aligned", "%x: f32[n, 64]", "%y: f32[n * 64]", """
    for i < n * 64 vectorize {
      %y[i] = %x[floordiv(i, 64), floormod(i, 64)] * 3.0
    }""", [0, 1, 3, 7], lambda n: [f32(n, 64)], lambda x: [x.reshape(-1) * np.float32(3)])
program("own memory", "%x: f32[n, 6]", "%y: f32[n, 6]", """
    for i < n vectorize {
      %t = alloc(scope=local) : f32[6]
      for k < 6 {
        %t[k] = %x[i, k] * 2.0
      }
      for k < 6 {
        %y[i, k] = %t[5 - k] + %t[k]
      }
    }""", SIZES, lambda n: [finite(n, 6)])
program("own memory at an index of its own", "%x: f32[n, 6], %k: i64[n]", "%y: f32[n]", """
    for i < n vectorize {
      %t = alloc(scope=local) : f32[6]
      for k < 6 {
        %t[k] = %x[i, k] + 1.0
      }
      %y[i] = %t[%k[i]]
    }""", SIZES, lambda n: [finite(n, 6), ints(np.int64, -2, 8, n)])
program("bool memory", "%x: f32[n], %b: bool[n]", "%y: bool[n]", """
    for i < n vectorize {
      %y[i] = %b[i] && %x[i] > 0.0 || !%b[i] && isnan(%x[i])
    }""", SIZES, lambda n: [f32(n), ints(np.int8, 0, 2, n).astype(bool)], lambda x, b: [b & (x > 0)])
program("f16 and u8", "%x: f16[n], %u: u8[n]", "%y: f16[n], %v: u8[n]", """
    for i < n vectorize {
      if %x[i] > 0.0 {
        %y[i] = %x[i] * f16(%u[i])
      } else {
        %y[i] = -%x[i]
      }
      %v[i] = %u[i] + 200
    }""", SIZES, lambda n: [f32(n).astype(np.float16), ints(np.uint8, 0, 255, n)],
        lambda x, u: [np.where(x > 0, x * u.astype(np.float16), -x), u + np.uint8(200)])
program("global memory in a loop", "%x: f32[n, m]", "%y: f32[n, m]", """
    for i < n {
      %t = alloc(scope=global) : f32[m]
      for j < m vectorize {
        %t[j] = %x[i, j] + 1.0
      }
      for j < m vectorize {
        %y[i, j] = %t[m - 1 - j]
      }
    }""", SIZES, lambda n: [f32(3, n)], lambda x: [x[:, ::-1] + np.float32(1)])
program("atomics", "%x: f32[n], %k: i64[n]", "%y: f32[8], %z: i32[8]", """
    for i < 8 vectorize {
      %y[i] = 0.0
      %z[i] = -2147483648
    }
    for i < n {
      atomic_add(%y[%k[i]], %x[i])
      atomic_max(%z[%k[i]], i32(%k[i]))
    }""", SIZES, lambda n: [finite(n), ints(np.int64, -1, 9, n)])
program("while", "%key: f32[n], %x: f32[m]", "%pos: i64[m]", """
    for j < m {
      %lo = alloc(scope=local) : i64[]
      %hi = alloc(scope=local) : i64[]
      %lo[] = 0
      %hi[] = n
      while %lo[] < %hi[] {
        %mid = floordiv(%lo[] + %hi[], 2) : i64
        if %key[%mid] < %x[j] {
          %lo[] = %mid + 1
        } else {
          %hi[] = %mid
        }
      }
      %pos[j] = %lo[]
    }""", SIZES, lambda n: [np.sort(finite(n)), finite(20, seed=3)], lambda key, x: [np.searchsorted(key, x)])
program("unrolled", "%x: f32[n, 7]", "%y: f32[n]", """
    for i < n {
      %s = alloc(scope=local) : f32[7]
      for k < 7 unroll {
        %s[k] = %x[i, k] * 0.5
      }
      for k < 7 unroll(3) {
        %s[0] = %s[0] + %s[k]
      }
      %y[i] = %s[0]
    }""", SIZES, lambda n: [finite(n, 7)])
program("vectors of the program", "%a: f32[m, 24], %b: f32[24, 48]", "%c: f32[m, 48]", """
    for io < ceildiv(m, 4) parallel {
      for jo < 6 {
        %acc = alloc(scope=local) : f32x8[4]
        for ii < 4 unroll {
          %acc[ii] = f32x8(0.0)
        }
        for k < 24 {
          %vb = %b[k, jo * 8:8] : f32x8
          for ii < 4 unroll(4) {
            if io * 4 + ii < m {
              %acc[ii] = fma(f32x8(%a[io * 4 + ii, k]), %vb, %acc[ii])
            }
          }
        }
        for ii < 4 unroll {
          if io * 4 + ii < m {
            %c[io * 4 + ii, jo * 8:8] = %acc[ii]
          }
        }
      }
    }""", SIZES, lambda n: [finite(n, 24), finite(24, 48)], lambda a, b: [a @ b])
program("vectors that may be out of range", "%x: f32[n]", "%y: f32[n]", """
    for i < n {
      %y[i] = 0.0
    }
    for i < ceildiv(n, 4) {
      %y[i * 4:4] = %x[i * 4 + 1:4] * f32x4(2.0)
    }""", SIZES, lambda n: [finite(n)])
# --- nests, scheduled ---
for reducer, check in (("sum", np.sum), ("max", None), ("min", None), ("prod", None)):
    program(f"{reducer} of the last axis", "%x: f32[n, c]", "%y: f32[n]", f"""
    compute (i < n; k < c) {{
      %y[i] = {reducer}(%x[i, k])
    }}""", REDUCED, lambda c: [finite(3, c)], (lambda f: lambda x: [f(x, axis=1)])(check) if check else None, 1e-3)
    program(f"{reducer} of the first axis", "%x: f32[n, c]", "%y: f32[c]", f"""
    compute (j < c; k < n) {{
      %y[j] = {reducer}(%x[k, j])
    }}""", SIZES + [4097], lambda n: [f32(n, 11)])
program("sum of two axes", "%x: f32[n, b, c]", "%y: f32[b]", """
    compute (j < b; i < n, k < c) {
      %y[j] = sum(%x[i, j, k])
    }""", [0, 1, 7, 33, 700], lambda n: [finite(n, 3, 13)], lambda x: [x.sum(axis=(0, 2))], 1e-3)
program("sum of f16", "%x: f16[n, c]", "%y: f16[n]", """
    compute (i < n; k < c) {
      %y[i] = sum(%x[i, k])
    }""", REDUCED, lambda c: [finite(2, c).astype(np.float16)])
program("sum of i8", "%x: i8[n, c]", "%y: i32[n]", """
    compute (i < n; k < c) {
      %y[i] = sum(%x[i, k])
    }""", REDUCED, lambda c: [ints(np.int8, -128, 127, 2, c)], lambda x: [x.astype(np.int32).sum(axis=1)])
program("sum of f64", "%x: f64[n, c]", "%y: f64[n]", """
    compute (i < n; k < c) {
      %y[i] = sum(exp(%x[i, k]))
    }""", REDUCED, lambda c: [finite(2, c).astype(np.float64)], lambda x: [np.exp(x).sum(axis=1)])
program("any and all", "%x: bool[n, c]", "%y: bool[n], %z: bool[n]", """
    compute (i < n; k < c) {
      %y[i] = any(%x[i, k])
    }
    compute (i < n; k < c) {
      %z[i] = all(%x[i, k])
    }""", REDUCED, lambda c: [finite(3, c) > np.array([[-9], [0], [9]])], lambda x: [x.any(axis=1), x.all(axis=1)])
program("argmax", "%x: f32[n, c]", "%k: i64[n], %y: f32[n]", """
    compute (i < n; k < c) {
      %k[i], %y[i] = argmax(k, %x[i, k])
    }""", [s for s in REDUCED if s], lambda c: [f32(3, c)], lambda x: [x.argmax(axis=1), x.max(axis=1)])
program("matmul", "%a: f32[m, k0], %b: f32[k0, n]", "%c: f32[m, n]", """
    compute (i < m, j < n; k < k0) {
      %c[i, j] = dot(%a[i, k], %b[k, j])
    }""", SIZES, lambda n: [finite(5, 17), finite(17, n)], lambda a, b: [a @ b])
program("matmul of i8", "%a: i8[m, k0], %b: i8[k0, n]", "%c: i32[m, n]", """
    compute (i < m, j < n; k < k0) {
      %c[i, j] = dot(%a[i, k], %b[k, j])
    }""", SIZES, lambda n: [ints(np.int8, -128, 127, 5, 300), ints(np.int8, -128, 127, 300, n)],
        lambda a, b: [a.astype(np.int32) @ b.astype(np.int32)])
program("convolution with padding", "%x: f32[ci, h, w], %k: f32[co, ci, 3, 3]", "%y: f32[co, h, w]", """
    compute (o < co, i < h, j < w; c < ci, r < 3, s < 3) where i + r - 1 >= 0, i + r - 1 < h, j + s - 1 >= 0, j + s - 1 < w {
      %y[o, i, j] = dot(%x[c, i + r - 1, j + s - 1], %k[o, c, r, s])
    }""", SIZES, lambda n: [finite(3, 4, n), finite(2, 3, 3, 3)])
program("softmax", "%x: f32[n, c]", "%y: f32[n, c]", """
    %m = alloc(scope=local) : f32[n]
    %s = alloc(scope=local) : f32[n]
    compute (i < n; k < c) {
      %m[i] = max(%x[i, k])
    }
    compute (i < n; k < c) {
      %s[i] = sum(exp(%x[i, k] - %m[i]))
    }
    compute (i < n, j < c) {
      %y[i, j] = exp(%x[i, j] - %m[i]) / %s[i]
    }""", REDUCED, lambda c: [finite(3, c)],
        lambda x: [np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)]
        if x.shape[1] else [x])


def types(params):
    return [p.split(": ", 1)[1] for p in split(params)]


def split(params):
    return [p for p in params.replace("], ", "]\n").split("\n") if p]


def write(path, case, scheduled):
    name, params, results, body, _, _, _, _, call, where = case
    outs = ", ".join("out " + r for r in split(results))
    names = [p.split(":")[0] for p in split(params)]
    yields = [r.split(":")[0] for r in split(results)]
    with open(path, "w") as file:
        file.write(f"""rill 1
module {{
  prim_func @f({params}, {outs}){where} {{{body}
  }}
  func @main({params}) -> ({', '.join(types(results))}) {{
    {', '.join(yields)} = {call}(@f, {', '.join(names)}) : {', '.join(types(results))}
    return {', '.join(yields)}
  }}
}}
""")


def run(path, target, inputs, count, folder, *options):
    outputs = [os.path.join(folder, f"{target}{i}.npy") for i in range(count)]
    command = [RUN, path, f"--target={target}", "--exact", "--checked=off", *options]
    command += [f"--input={i}" for i in inputs] + [f"--output={o}" for o in outputs]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip() or f"status {done.returncode}"
    return [np.load(o) for o in outputs], None


def check(case, size, folder):
    """None, or what is wrong."""
    name, params, results, body, _, make, numpy, tolerance, _, _ = case
    arrays = make(size)
    inputs = []
    for i, array in enumerate(arrays):
        inputs.append(os.path.join(folder, f"in{i}.npy"))
        np.save(inputs[-1], np.ascontiguousarray(array))
    path = os.path.join(folder, "m.rill")
    write(path, case, False)
    count = len(split(results))
    want, problem = run(path, "interp", inputs, count, folder)
    if problem:
        return "interpreter: " + problem
    got, problem = run(path, "llvm", inputs, count, folder)
    if problem:
        return problem
    for i in range(count):
        if not same(got[i], want[i]):
            where = np.argwhere(got[i] != want[i])[:1]
            return f"result {i} differs at {where.tolist()}:\n{got[i]}\nexpected\n{want[i]}"
    with np.errstate(all="ignore"):
        expected = numpy(*arrays) if numpy else []
    for i, e in enumerate(expected):
        if not np.allclose(got[i].astype(np.float64), e.astype(np.float64), tolerance, tolerance, equal_nan=True):
            return f"result {i} is\n{got[i]}\nNumPy says\n{e}"
    return None


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in PROGRAMS:
            if sys.argv[1:] and not any(a in case[0] for a in sys.argv[1:]):
                continue
            for size in case[4]:
                problem = check(case, size, folder)
                passed += problem is None
                failed += problem is not None
                if problem:
                    print(f"{case[0]}, size {size}: {problem[:1500]}")
    print(f"llvm_programs: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
