#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Shared libraries that ir-translate writes, called through their C interface: the bits of ir-run, memory of both sides, strided
and unaligned inputs, what a caller does wrong, and that nothing is leaked or left from an earlier run."""

import ctypes as c
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/suites/lib"))
from checks import check, report  # noqa: E402
from library import FAILED, INVALID, MEMORY, OK, Host, Model, read, same_bits, tensor  # noqa: E402

BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
BIN = os.path.join(BUILD, "bin")

MODULE = """
rill 1
module {
  func @chain(%x: f32[n, m], %w: f32[m, 5]) -> (f32[n, 5], f32[n]) where m >= 1 {
    %0 = matmul(%x, %w)
    %1 = nn.softmax(%0)
    %2 = exp(%1)
    %3 = add(%2, %0)
    %4 = sum(%3, axis=[1])
    return %3, %4
  }
  func @views(%x: i64[a, b]) -> (i64[a * b], i64[b, a], i64[a, b]) {
    %0 = reshape(%x, shape=[a * b])
    %1 = permute_dims(%x)
    return %0, %1, %x
  }
  func @kinds(%b: bool[n], %h: f16[n], %d: f64[n], %s: f32[], k: i64, %t: tuple[u8[n], i32[2]]) -> (bool[n], f16[n], f64[n], f32[], tuple[u8[n], i32[2]], i64[k]) {
    %0 = logical_not(%b)
    %1 = add(%h, %h)
    %2 = multiply(%d, %d)
    %3 = negative(%s)
    %4 = full(1, shape=[k], dtype=i64)
    return %0, %1, %2, %3, %t, %4
  }
  func @later(%x: f32[n]) -> f32[?] {
    %y = match_cast(%x) : f32[m]
    %z = add(%y, %y) : f32[m]
    return %z
  }
  func @"odd name"(%"a b": f32[n], %c: f32[n]) -> f32[n] {
    %0 = add(%"a b", %c)
    return %0
  }
  func @chain_open(%x: f32[n]) -> f32[n] {
    return %x
  }
  func @hidden_by_loop(%x: f32[n]) -> f32[n] {
    %y = loop (%i < 4; %c: f32[n] = %x) {
      %0 = add(%c, %x) : f32[n]
      %1 = exp(%0) : f32[n]
      %2 = log(%1) : f32[n]
      yield %2
    } : f32[n]
    return %y
  }
}
"""


def strided(array):
    return tensor(array, strides=[s // array.itemsize for s in array.strides])


def f32(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ir_run(folder, entry, inputs):
    args = [os.path.join(BIN, "ir-run"), os.path.join(folder, "m.rill"), "--entry=" + entry, "--target=llvm"]
    for i, array in enumerate(inputs):
        np.save(os.path.join(folder, f"in{i}.npy"), array)
        args.append("--input=" + os.path.join(folder, f"in{i}.npy"))
    outputs = [os.path.join(folder, f"out{i}.npy") for i in range(2)]
    subprocess.run(args + ["--output=" + o for o in outputs], check=True)
    return [np.load(o) for o in outputs]


def test_values(library, folder):
    host = Host()
    model, other = Model(library, "chain", host), Model(library, "chain", host)
    for n, m in [(3, 4), (1, 1), (0, 2), (17, 9), (3, 4), (64, 33)]:
        x, w = f32(n, m), f32(m, 5, seed=2)
        expected = ir_run(folder, "chain", [x, w])
        a, b = tensor(shape=[9, 9], dtype=np.float32), tensor(shape=[9], dtype=np.float32)
        check(model.shapes([tensor(x), tensor(w)], [a, b]) == OK and list(a.shape[:2]) == [n, 5] and b.shape[0] == n, f"shapes {n} {m}")
        check(model.run([tensor(x), tensor(w)], [a, b]) == OK, f"run {n} {m}: {host.messages}")
        check(same_bits(read(a, np.float32), expected[0]) and same_bits(read(b, np.float32), expected[1]), f"made outputs {n} {m}")
        for t in (a, b):
            host.free(None, t.data)
        ya, yb = np.full((n, 5), np.nan, np.float32), np.full(n, np.nan, np.float32)
        check(other.run([tensor(x), tensor(w)], [tensor(ya), tensor(yb)]) == OK, "given outputs")
        check(same_bits(ya, expected[0]) and same_bits(yb, expected[1]), f"values in given outputs {n} {m}")
        ya[:], yb[:] = np.nan, np.nan
        unaligned = np.frombuffer(b"\1" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(n, m) if x.size else x
        wide, turned = np.repeat(w, 2, axis=1)[:, ::2], np.asfortranarray(w)
        for what, tensors in [("strides", [strided(x[::-1][::-1]), strided(wide)]), ("turned", [tensor(x), strided(turned)]),
                              ("reversed", [strided(np.ascontiguousarray(x[::-1])[::-1]), tensor(w)]),
                              ("unaligned", [tensor(unaligned), tensor(w)]), ("byte_offset", [tensor(x, offset=32), tensor(w)])]:
            check(model.run(tensors, [tensor(ya), tensor(yb)]) == OK, what)
            check(same_bits(ya, expected[0]) and same_bits(yb, expected[1]), f"values: {what} {n} {m}")
            ya[:], yb[:] = np.nan, np.nan
    before = len(host.live)
    x, w, ya, yb = f32(64, 33), f32(33, 5), np.zeros((64, 5), np.float32), np.zeros(64, np.float32)
    model.run([tensor(x), tensor(w)], [tensor(ya), tensor(yb)])
    total = host.total
    for _ in range(3):
        model.run([tensor(x), tensor(w)], [tensor(ya), tensor(yb)])
    check(host.total == total, "a run that repeats another takes no memory")
    check(len(host.live) <= before + 2, "memory of other extents is given back")
    model.close()
    other.close()
    check(not host.live, "closing gives everything back")
    model = Model(library, "chain", None)
    check(model.status == OK and model.run([tensor(x), tensor(w)], [tensor(ya), tensor(yb)]) == OK, "without an environment")
    model.close()


def test_threads(library):
    x, w = f32(700, 300), f32(300, 5, seed=2)
    found = []
    for threads in (0, 1, 2, 7):
        host = Host(threads)
        model = Model(library, "chain", host)
        ya, yb = np.full((700, 5), np.nan, np.float32), np.full(700, np.nan, np.float32)
        check(model.run([tensor(x), tensor(w)], [tensor(ya), tensor(yb)]) == OK, f"{threads} threads")
        check((host.chunks > 1) == (threads > 0), f"{threads} threads: {host.chunks} chunks")
        found.append(ya.tobytes() + yb.tobytes())
        model.close()
    check(len(set(found)) == 1, "equal bits on any number of threads")


def test_kinds(library):
    host = Host()
    n, k = 5, 3
    inputs = [np.array([1, 0, 1, 0, 0], np.bool_), np.arange(n, dtype=np.float16), np.linspace(0, 1, n), np.array(2.5, np.float32),
              np.array(k, np.int64), np.arange(n, dtype=np.uint8), np.array([7, -8], np.int32)]
    expected = [~inputs[0], inputs[1] * 2, inputs[2] ** 2, -inputs[3], inputs[5], inputs[6], np.ones(k, np.int64)]
    model = Model(library, "kinds", host)
    outputs = [tensor(shape=e.shape, dtype=e.dtype) for e in expected]
    check(model.run([tensor(a) for a in inputs], outputs) == OK, f"kinds: {host.messages}")
    for i, (t, e) in enumerate(zip(outputs, expected)):
        check(same_bits(read(t, e.dtype), e.astype(e.dtype)), f"kinds: output {i}")
        host.free(None, t.data)
    as_bytes = inputs[0].view(np.uint8)
    outputs = [tensor(np.zeros_like(e)) for e in expected]
    check(model.run([tensor(as_bytes)] + [tensor(a) for a in inputs[1:]], outputs) == OK, "u8 for bool")
    model.close()
    check(not host.live, "kinds: nothing left")
    model = Model(library, "views", host)
    x = np.arange(6).reshape(2, 3)
    outputs = [tensor(shape=s, dtype=np.int64) for s in ([6], [3, 2], [2, 3])]
    check(model.run([tensor(x)], outputs) == OK, "views")
    for t, e in zip(outputs, (x.reshape(6), x.T, x)):
        check(np.array_equal(read(t, np.int64), e), "views: values")
        host.free(None, t.data)
    model.close()
    model = Model(library, "hidden_by_loop", host)
    x, y = f32(33), np.zeros(33, np.float32)
    check(model.run([tensor(x)], [tensor(y)]) == OK and np.allclose(y, 5 * x, rtol=1e-5), "a loop")
    model.close()
    check(not host.live, "views, loop: nothing left")


def test_later(library):
    host = Host()
    model = Model(library, "later", host)
    x, t = f32(7), tensor(shape=[1], dtype=np.float32)
    check(model.shapes([tensor(x)], [t]) == OK and t.shape[0] == -1, "an extent that only the data tells")
    check(model.run([tensor(x)], [t]) == OK and np.array_equal(read(t, np.float32), 2 * x), f"later: {host.messages}")
    host.free(None, t.data)
    check(model.run([tensor(x)], [tensor(np.zeros(7, np.float32))]) == INVALID and "its data must be NULL" in host.messages[-1][1], "later, given")
    model.close()
    check(not host.live, "later: nothing left")


def test_refused(library):
    host = Host()
    model = Model(library, "chain", host)
    x, w, a, b = f32(3, 4), f32(4, 5), np.zeros((3, 5), np.float32), np.zeros(3, np.float32)
    device = tensor(x)
    device.device_type = 2
    both = np.zeros(40, np.float32)
    over = both[:15].reshape(3, 5)
    cases = [
        ("input 'x' is missing", [None, tensor(w)], None),
        ("input 'w' has axes 1, expected 2", [tensor(x), tensor(w.reshape(20))], None),
        ("input 'x' has another dtype than f32", [tensor(x.astype(np.float64)), tensor(w)], None),
        ("input 'x' is not in the memory of the CPU", [device, tensor(w)], None),
        ("input 'x' has extents that no tensor has", [tensor(x, shape=[-1, 4]), tensor(w)], None),
        ("input 'x' has extents that no tensor has", [tensor(x, shape=[1 << 40, 1 << 40]), tensor(w)], None),
        ("input 'x' has no data", [tensor(shape=[3, 4], dtype=np.float32), tensor(w)], None),
        ("output '0' has extent 4, expected 3", None, [tensor(np.zeros((4, 5), np.float32)), tensor(b)]),
        ("output '1' has another dtype than f32", None, [tensor(a), tensor(b.astype(np.int32))]),
        ("output '0' has axes 1, expected 2", None, [tensor(np.zeros(15, np.float32)), tensor(b)]),
        ("output '0' is not dense or not aligned", None, [strided(np.zeros((3, 10), np.float32)[:, ::2]), tensor(b)]),
        ("output '0' lies where an input does", [tensor(both[14:26].reshape(3, 4)), tensor(w)], [tensor(over), tensor(b)]),
        ("output '1' lies where another output does", None, [tensor(over), tensor(both[14:17])]),
        ("output '1' is missing", None, [tensor(a), None]),
    ]
    for message, inputs, outputs in cases:
        host.messages.clear()
        status = model.run(inputs or [tensor(x), tensor(w)], outputs or [tensor(a), tensor(b)])
        check(status == INVALID and [code for code, _ in host.messages] == [INVALID] and message in host.messages[0][1],
              f"{message}: {status} {host.messages}")
    host.messages.clear()
    made = [tensor(shape=[0, 0], dtype=np.float32), tensor(shape=[0], dtype=np.float32)]
    for run in (model.run, model.shapes):
        host.messages.clear()
        check(run([tensor(x), tensor(f32(3, 5))], made) == INVALID and [code for code, _ in host.messages] == [INVALID], f"extents that contradict: {run}")
    check(len(host.messages) == 1 and "has extent 3 on axis 0, expected 4 = m" in host.messages[0][1], f"contradiction: {host.messages}")
    check(made[0].data is None and made[1].data is None, "nothing is made for a failed call")
    host.messages.clear()
    check(model.run([tensor(f32(3, 0)), tensor(f32(0, 5))], made) == INVALID and "'m >= 1' does not hold" in host.messages[0][1], f"where: {host.messages}")
    check(model.run([tensor(x), tensor(w)], [tensor(a), tensor(b)]) == OK, "a model works on after failures")
    model.close()
    check(not host.live, "refused: nothing left")
    for at in range(1, 12):
        host = Host()
        host.fail_at = at
        model = Model(library, "chain", host)
        made = [tensor(shape=[0, 0], dtype=np.float32), tensor(shape=[0], dtype=np.float32)]
        status = model.status or model.run([tensor(x), tensor(w)], made)
        check(status == (MEMORY if host.total >= at else OK), f"allocation {at} refused: {status} {host.messages}")
        check((status == MEMORY) == any(code == MEMORY for code, _ in host.messages), f"allocation {at}: message")
        for t in made:
            if t.data:
                host.free(None, t.data)
        if not model.status:
            model.close()
        check(not host.live, f"allocation {at} refused: nothing left")
    host = Host()
    host.env.version = 2
    check(Model(library, "chain", host).status == INVALID, "another version of the environment")
    host = Host()
    handle = c.c_void_p()
    check(library.rill_chain_open(c.byref(host.env), b"side", c.byref(handle)) == INVALID and "side file" in host.messages[0][1], "a side file")


SIZES = """
rill 1
module {
  func @of(%s: shape[n, m], %x: f32[n]) -> (f32[n, m], shape[m, n]) {
    %0 = expand_dims(%x, axis=[1])
    %1 = broadcast_to(%0, shape=[n, m])
    %2 = shape(m, n)
    return %1, %2
  }
  func @spread(%x: f32[], n: i64) -> f32[n] {
    %0 = broadcast_to(%x, shape=[n])
    return %0
  }
}
"""


def test_sizes(folder):
    """Extents that come as data: as many as the type has are read, and what no tensor has is refused, by both functions."""
    library, host = build(folder, "sizes", SIZES, "native"), Host()
    model, x = Model(library, "of", host), np.array([1.5, -2.0], np.float32)

    def outputs():
        return [tensor(shape=[-7, -7], dtype=np.float32), tensor(shape=[-7], dtype=np.int64)]

    wide = np.array([2, 9, 3, 9])
    for s in (tensor(np.array([2, 3])), strided(wide[::2]), tensor(np.frombuffer(b"1" + np.array([2, 3]).tobytes(), np.uint8)[1:].view(np.int64))):
        made = outputs()
        check(model.shapes([s, tensor(x)], made) == OK and list(made[0].shape[:2]) == [2, 3] and made[1].shape[0] == 2, f"shapes: {host.messages}")
        check(model.run([s, tensor(x)], made) == OK and np.array_equal(read(made[0], np.float32), [[1.5] * 3, [-2.0] * 3]), f"run: {host.messages}")
        check(np.array_equal(read(made[1], np.int64), [3, 2]), "a shape comes out")
        for t in made:
            host.free(None, t.data)
    refused = [(np.array([2]), "input 's' has extent 1, expected 2"), (np.array([], np.int64), "input 's' has extent 0, expected 2"),
               (np.array([2, 3, 1]), "input 's' has extent 3, expected 2"), (np.array([2, -3]), "'s' of @of has extent -3 on axis 1, which is out of range"),
               (np.array([2, 1 << 60]), f"'s' of @of has extent {1 << 60} on axis 1, which is out of range"),
               (np.array([3, 3]), "'x' of @of has extent 2 on axis 0, expected 3 = n")]
    for s, message in refused:
        for run in (model.shapes, model.run):
            host.messages.clear()
            made = outputs()
            status = run([tensor(s), tensor(x)], made)
            check(status == INVALID and len(host.messages) == 1 and message in host.messages[0][1], f"{message}: {status} {host.messages}")
            check(made[0].data is None and made[0].shape[0] == -7, f"{message}: outputs stay as they are")
    host.messages.clear()
    none = tensor(shape=[2], dtype=np.int64)
    check(model.shapes([none, tensor(x)], outputs()) == INVALID and "input 's' has no data" in host.messages[0][1], "a shape without data")
    model.close()
    model = Model(library, "spread", host)
    for n, code in ((4, OK), (0, OK), (-1, INVALID), (1 << 60, INVALID), (-(1 << 63), INVALID)):
        made = [tensor(shape=[-7], dtype=np.float32)]
        for run in (model.shapes, model.run):
            host.messages.clear()
            status = run([tensor(np.array(2.5, np.float32)), tensor(np.array(n))], made)
            check(status == code and made[0].shape[0] == (-7 if code else n), f"n = {n}: {status} {host.messages}")
            check(not code or f"result 0 of @spread cannot have the extents [{n}]" in host.messages[0][1], f"n = {n}: {host.messages}")
        if not code:
            check(np.array_equal(read(made[0], np.float32), [2.5] * n), f"n = {n}: values")
            host.free(None, made[0].data)
    model.close()
    check(not host.live, "sizes: nothing left")


# DLPack's codes, as dlpack.h numbers them, with the bits of an element.
CODES = {"bool": (6, 8), "i4": (0, 4), "i8": (0, 8), "i16": (0, 16), "i32": (0, 32), "i64": (0, 64), "u4": (1, 4), "u8": (1, 8), "u16": (1, 16),
         "u32": (1, 32), "u64": (1, 64), "f16": (2, 16), "bf16": (4, 16), "f32": (2, 32), "f64": (2, 64), "f8e4m3": (10, 8), "f8e5m2": (12, 8)}


def test_codes(folder):
    """Each dtype goes in and comes out under its code, and under no other."""
    functions = "".join(f"  func @{name}(%x: {name}[n]) -> {name}[n] {{\n    return %x\n  }}\n" for name in CODES)
    library, host = build(folder, "codes", f"rill 1\nmodule {{\n{functions}}}\n", "native"), Host()
    for name, (code, bits) in CODES.items():
        model, data = Model(library, name, host), np.arange(6 * bits // 8, dtype=np.uint8) & 1
        for given in range(16):
            result = np.full_like(data, 255)
            x, y = tensor(data, shape=[6]), tensor(result, shape=[6])
            x.code, x.bits, y.code, y.bits = given, bits, code, bits
            fits = given == code or (name, given) == ("bool", 1)
            check(model.run([x], [y]) == (OK if fits else INVALID), f"{name} under code {given}: {host.messages[-1:]}")
            check(np.array_equal(result, data) == fits, f"{name} under code {given}: bits")
        model.close()
    check(not host.live, "codes: nothing left")


def test_careless_hosts(library):
    """A parallel_for that calls other bodies than it was told to is found out."""
    ways = {"none": lambda n: [], "all but one": lambda n: range(n - 1), "one twice": lambda n: [*range(n), 0], "one for another": lambda n: [*range(1, n), 1],
            "one too many": lambda n: range(n + 1), "each once": lambda n: [*range(1, n), 0]}
    x, w = f32(700, 300), f32(300, 5, seed=2)
    for what, order in ways.items():
        host = Host(1)
        host.order = order
        model = Model(library, "chain", host)
        status = model.run([tensor(x), tensor(w)], [tensor(shape=[0, 0], dtype=np.float32), tensor(np.zeros(700, np.float32))])
        told = [message for code, message in host.messages if code == FAILED and "parallel_for did not run each of" in message]
        check((status, len(told), len(host.messages)) == ((OK, 0, 0) if what == "each once" else (FAILED, 1, 1)), f"{what}: {status} {host.messages}")
        model.close()
        check(len(host.live) == (status == OK), f"{what}: nothing left")


HALVES = """
rill 1
module {
  func @narrow(%x: f32[n]) -> f16[n] {
    %0 = astype(%x, dtype=f16)
    return %0
  }
  func @widen(%x: f16[n]) -> f32[n] {
    %0 = astype(%x, dtype=f32)
    return %0
  }
}
"""


def same_numbers(a, b):
    bits = {2: np.uint16, 4: np.uint32}[a.dtype.itemsize]
    return np.array_equal(np.isnan(a), np.isnan(b)) and np.array_equal(a.view(bits)[~np.isnan(a)], b.view(bits)[~np.isnan(b)])


def test_halves(folder):
    """Conversions by integers, on a processor without instructions for them, against NumPy's."""
    library = build(folder, "h", HALVES, "x86-64")
    host = Host()
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    edges = halves[np.isfinite(halves)].astype(np.float32)
    middles = (edges[:-1].astype(np.float64) + edges[1:]).astype(np.float32) / 2
    beside = [np.nextafter(middles, np.float32(way)) for way in (np.inf, -np.inf)]
    random = np.random.default_rng(1).integers(0, 1 << 32, 1 << 20, dtype=np.uint32).view(np.float32)
    special = np.array([65504, 65519.996, 65520, 65536, np.inf, -np.inf, np.nan, 1e-8, 2.98e-8, 2.9802322e-8, 1e-45, -0.0], np.float32)
    x = np.concatenate([edges, middles, *beside, random, special])
    y, z = np.zeros(x.shape, np.float16), np.zeros(halves.shape, np.float32)
    model = Model(library, "narrow", host)
    check(model.run([tensor(x)], [tensor(y)]) == OK, "narrow")
    with np.errstate(over="ignore"):
        check(same_numbers(y, x.astype(np.float16)), "f32 to f16")
    model.close()
    model = Model(library, "widen", host)
    check(model.run([tensor(halves)], [tensor(z)]) == OK and same_numbers(z, halves.astype(np.float32)), "f16 to f32")
    model.close()


SIDE = """
rill 1
module {
  func @first(%x: f32[n, 3]) -> f32[n, 5] {
    %w = const([[1.0, 2.0, 3.0, 4.0, 5.0], [0.5, 0.25, 0.125, -1.0, -2.0], [7.0, 8.0, 9.0, 10.0, 11.0]]) : f32[3, 5]
    %b = const([1.0, -1.0, 0.0, 2.0, 4.0]) : f32[5]
    %0 = matmul(%x, %w)
    %1 = add(%0, %b)
    return %1
  }
  func @second(%x: i64[n, 4]) -> (i64[n, 4], f32[5]) {
    %o = const([1, 2, 3, -4]) : i64[4]
    %b = const([1.0, -1.0, 0.0, 2.0, 4.0]) : f32[5]
    %0 = add(%x, %o)
    return %0, %b
  }
  func @nothing(%x: f32[n]) -> f32[n] {
    %0 = add(%x, %x)
    return %0
  }
}
"""


def test_side(folder):
    """Constants in a file of their own: the same bits, for every function of the module; no other file is taken for it."""
    inside, beside = build(folder, "inside", SIDE, "native"), build(folder, "beside", SIDE, "native", "--constants=beside")
    side, host = os.path.join(folder, "beside.side.bin"), Host()
    check(not os.path.exists(os.path.join(folder, "inside.side.bin")), "constants inside: no side file")
    with open(side, "rb") as file:
        content = file.read()
    check(content[:16] == b"rill constants 1" and len(content) % 64 == 0 and np.array([1, 2, 3, -4]).tobytes() in content, "the side file")
    x, k = f32(7, 3), np.arange(8).reshape(2, 4)
    found = []
    for library, path in ((inside, None), (beside, side)):
        a, b, d = np.zeros((7, 5), np.float32), np.zeros((2, 4), np.int64), np.zeros(5, np.float32)
        first, second = Model(library, "first", host, path), Model(library, "second", host, path)
        check(first.status == OK and second.status == OK, f"open with {path}: {host.messages}")
        check(first.run([tensor(x)], [tensor(a)]) == OK and second.run([tensor(k)], [tensor(b), tensor(d)]) == OK, "run with a side file")
        found.append((a, b, d))
        first.close()
        second.close()
    check(all(same_bits(p, q) for p, q in zip(*found)), "bits with a side file")
    check(np.array_equal(found[1][1], k + [1, 2, 3, -4]) and np.array_equal(found[1][2], [1, -1, 0, 2, 4]), "values with a side file")
    other, short = os.path.join(folder, "other.bin"), os.path.join(folder, "short.bin")
    with open(other, "wb") as file:
        file.write(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    with open(short, "wb") as file:
        file.write(content[:-1])
    for path, message in ((None, "constants are in a side file, which is NULL"), (other, "not this model's side file"), (short, "no side file of the right size"),
                          (os.path.join(folder, "missing"), "no side file of the right size"), (folder, "no side file of the right size")):
        host.messages.clear()
        check(Model(beside, "first", host, path).status == INVALID and message in host.messages[0][1], f"{path}: {host.messages}")
    check(Model(inside, "first", host, side).status == INVALID, "a side file that nobody wants")
    check(Model(beside, "nothing", host, side).status == OK, "a function without constants, of a module with a side file")
    for at in range(1, 8):
        few = Host()
        few.fail_at = at
        model = Model(beside, "first", few, side)
        check(model.status == (MEMORY if few.total >= at else OK), f"side file: allocation {at} refused")
        if not model.status:
            model.close()
        check(not few.live, f"side file: allocation {at} refused, nothing left")


def build(folder, name, text, cpu, *options):
    path, library = os.path.join(folder, name + ".rill"), os.path.join(folder, name + ".so")
    with open(path, "w") as file:
        file.write(text)
    subprocess.run([os.path.join(BIN, "ir-translate"), "--to-llvm", "--opt", "--cpu=" + cpu, "--emit=so", *options, path, "-o", library], check=True)
    return c.CDLL(library)


def main():
    plugin = os.path.join(BUILD, "lib/rill/rill-llvm.so")
    if not os.path.exists(plugin):
        print("abi: 0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder, "m", MODULE, "native")
        check(hasattr(library, "rill_odd_x20name"), "a name that is no C identifier")
        check(hasattr(library, "rill_chain_x5fopen_open"), "a name that looks like another function's")
        test_values(library, folder)
        test_threads(library)
        test_kinds(library)
        test_later(library)
        test_refused(library)
        test_careless_hosts(library)
        test_sizes(folder)
        test_codes(folder)
        test_halves(folder)
        test_side(folder)
    return report("abi")


sys.exit(main())
