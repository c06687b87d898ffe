#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The example of every operator, and kernels with barriers, in Metal Shading Language: clang checks the types with address
spaces (test/msl/metal_stdlib), attributes and limits are checked here, and the kernels run on the CPU under a host that knows
the manifest alone; the bits have to be the interpreter's."""

import concurrent.futures
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
sys.path[:0] = [os.path.join(ROOT, "test/suites/lib"), os.path.join(ROOT, "test/suites")]
import devices  # noqa: E402
from checks import check, report  # noqa: E402
from host import DTYPES, Host  # noqa: E402
from strict import CLANG, MSL, SHIM, warnings  # noqa: E402

ATTRIBUTES = re.compile(r"buffer\(\d+\)|threadgroup_position_in_grid|thread_position_in_threadgroup|max_total_threads_per_threadgroup\(\d+\)")
SIZES = (0, 1, 17, 65)
tool = devices.tool

ASSERTIONS = """rill 1
module {
  prim_func @checked(%x: f32[n], out %y: f32[n]) {
    for i < n bind(group.x) {
      assert(%x[i] > 0.0, "not positive")
      assert(%x[i] < 100.0, "too large")
      %y[i] = %x[i]
    }
  }
  func @main(%x: f32[3]) -> f32[3] {
    %0 = alloc() : f32[3]
    call(@checked, %x, %0)
    return %0
  }
}
"""
REDUCTION = """rill 1
module {
  prim_func @group_sums(%x: f32[n], out %y: f32[m]) where m * 16 == n {
    for g < m bind(group.x) {
      %part = alloc(scope=shared) : f32[16]
      for l < 16 bind(local.x) {
        %part[l] = %x[g * 16 + l]
        barrier()
        for s < 4 {
          %far = shr(8, s) : i64
          if l < %far {
            %part[l] = %part[l] + %part[l + %far]
          }
          barrier()
        }
        if l == 0 {
          %y[g] = %part[0]
        }
      }
    }
  }
  func @main(%x: f32[48]) -> f32[3] {
    %0 = alloc() : f32[3]
    call(@group_sums, %x, %0)
    return %0
  }
}
"""


def signatures(text):
    """Name, pointer types of the buffers, type of the scalars (or None) of each kernel; checks what Metal would."""
    for name, params in re.findall(r"^kernel void (\w+)\((.*)\) \{$", text, re.M):
        numbers = re.findall(r"\[\[buffer\((\d+)\)\]\]", params)
        check(len(set(numbers)) == len(numbers) and all(int(n) < 31 for n in numbers), f"{name}: buffers {numbers}")
        scalars = re.search(r"constant (\w+) &", params)
        yield name, re.findall(r"(device (?:const )?\w+ \*)\w+ \[\[buffer", params), scalars and scalars.group(1)
    for attribute in re.findall(r"\[\[([^\]]*)\]\]", text):
        check(ATTRIBUTES.fullmatch(attribute), f"attribute [[{attribute}]]")


def entries(text):
    out = ["struct msl_arguments { device char *device *buffers; constant char *scalars; };\n"]
    for name, buffers, scalars in signatures(text):
        args = [f"({t})a->buffers[{i}]" for i, t in enumerate(buffers)]
        status = [args.pop()] if "atomic_uint" in "".join(buffers) else []  # of assertions: behind the scalars
        args += ([f"*(constant {scalars} *)a->scalars"] if scalars else []) + status
        out.append(f'extern "C" void item_{name}(device const msl_arguments *a, device const uint *g, device const uint *l) {{\n'
                   f"  {name}({', '.join(args + ['(uint3)(g[0], g[1], g[2])', '(uint3)(l[0], l[1], l[2])'])});\n}}\n")
    return "".join(out)


def strict(name, source):
    said = warnings(MSL, source)
    check(not said, f"{name}: {said[:800]}")


def compiled(folder, name, text, looks=strict):
    """A library of the kernels and entries in TEXT, after a look at it."""
    source, library = os.path.join(folder, name + "_run.metal"), os.path.join(folder, name + ".so")
    with open(source, "w") as file:
        file.write(text)
    if looks:
        looks(name, source)
    done = subprocess.run([*MSL, "-Wno-unused-function", "-target", "x86_64-pc-linux-gnu", "-O1", "-mfma", "-fPIC", "-c", source, "-o", library + ".o"], capture_output=True, text=True)
    if not check(not done.returncode, f"{name}: {done.stderr[:800]}"):
        return None
    done = subprocess.run([CLANG, "-shared", "-O2", "-fPIC", os.path.join(SHIM, "harness.c"), library + ".o", "-lm", "-o", library], capture_output=True, text=True)
    return ctypes.CDLL(library) if check(not done.returncode, f"{name}: {done.stderr[:800]}") else None


class Arguments(ctypes.Structure):
    _fields_ = [("buffers", ctypes.POINTER(ctypes.c_void_p)), ("scalars", ctypes.c_void_p)]


class Metal(Host):
    def __init__(self, manifest, folder, library, text):
        super().__init__(manifest, folder)
        self.library, self.barriers, self.status = library, "threadgroup_barrier" in text, np.zeros(1, "u4")

    def scalars(self, dtypes, values):
        """A structure of C: symbols have 64 bits, f16 and the like are passed as f32."""
        fields = [(f"f{i}", DTYPES.get(d.replace("f16", "f32"), "f4")) for i, d in enumerate(dtypes)]
        out = np.zeros((), np.dtype(fields, align=True))
        for (name, _), value in zip(fields, values):
            out[name] = value
        return out

    def launch(self, name, buffers, scalars, groups):
        assert all(b.flags.c_contiguous for b in buffers)
        grid, given = self.kernels[name]["grid"], [p.get("type", {"scalar": "i64"}) for p in self.kernels[name]["parameters"]]
        dtypes = [t["scalar"] for t in given if "scalar" in t]
        scalars = self.scalars(dtypes + ["i64"] * (len(scalars) - len(dtypes)), scalars)
        if not all(groups):
            return
        pointers = (ctypes.c_void_p * (len(buffers) + 1))(*(b.ctypes.data for b in buffers), self.status.ctypes.data)
        data = Arguments(pointers, scalars.ctypes.data)
        self.status[0] = 0xffffffff
        status = self.library.msl_launch(getattr(self.library, "item_" + grid["entry"]), ctypes.byref(data), (ctypes.c_int64 * 3)(*groups),
                                         (ctypes.c_uint32 * 3)(*grid["local"]), int(self.barriers))
        check(status == 0, f"{grid['entry']}: barriers diverge")


def translated(folder, name, source, *options):
    """SOURCE, a text or the name of a file."""
    path, target, manifest = (os.path.join(folder, name + ending) for ending in (".rill", ".metal", ".json"))
    if source.startswith("/"):
        path = source
    else:
        with open(path, "w") as file:
            file.write(source)
    done = tool("ir-translate", "--to-msl", *options, "--exact", path, "-o", target, "--manifest=" + manifest)
    if not check(not done.returncode, f"{name}: {done.stderr[-800:]}"):
        return None
    with open(target) as file:
        text = file.read()
    library = compiled(folder, name, text + entries(text))
    with open(manifest) as file:
        return library and Metal(json.load(file), folder, library, text)


def known_results(folder, pool, rows):
    """Arrays for each size and row, and what the interpreter makes of them."""
    arrays = {s: {r.name: r.values(dict.fromkeys("nmbhw", s)) for r in rows} for s in SIZES}
    known = {s: dict(zip((r.name for r in rows), pool.map(lambda r, s=s: devices.run(folder, f"{r.name}_{s}", [r], arrays[s], ["--target=interp", "--checked=off"]), rows))) for s in SIZES}
    # Those that refuse a size stand together, so that the others are not left out with them.
    rows.sort(key=lambda r: [isinstance(known[s][r.name], str) for s in SIZES])
    return known, arrays


def compare(host, what, rows, known, arrays):
    for size in SIZES if host else ():
        fine = [r for r in rows if not isinstance(known[size][r.name], str)]
        if len(fine) < len(rows):
            continue  # something in it is refused at this size: the others run with other sizes
        found = host.call("main", [np.array(a) for r in rows for a in arrays[size][r.name]])
        found = found if isinstance(found, list) else [found]
        at = 0
        for row in rows:
            for i, array in enumerate(known[size][row.name]):
                check(devices.bits(found[at]) == devices.bits(array), f"{what}, size {size}: {row.op}: result {i} has other bits than the interpreter's")
                at += 1


def main():
    rows = devices.rows(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        known, arrays = known_results(folder, pool, rows)
        parts = [rows[i:i + devices.BATCH] for i in range(0, len(rows), devices.BATCH)]
        list(pool.map(lambda p: compare(translated(folder, p[0].name, devices.joined(p), "--opt"), "msl", p, known, arrays), parts))
        if os.path.exists(devices.MODEL) and not sys.argv[1:]:
            text = os.path.join(folder, "model.rill")
            tool("ir-translate", "--import-onnx", devices.MODEL, "-o", text)
            host, (x, expected) = translated(folder, "model", text, "--opt"), devices.model_input(folder, (1, 3, 48, 96))
            check(host and devices.bits(host.call("main", [np.load(x)])[0]) == devices.bits(expected), "a model has other bits than on the interpreter")
        host = translated(folder, "tile", os.path.join(ROOT, "test/lit/passes/transform-loops/cache.rill"), "--opt")
        p, q = np.random.default_rng(7).integers(-9, 9, (2, 37, 37)).astype("f4"), np.random.default_rng(8).integers(-9, 9, (2, 37, 35)).astype("f4")
        check(host and np.array_equal(host.call("tiled", [p, q])[0], p @ q), "tiles in workgroup memory")
        host = translated(folder, "tiles", os.path.join(ROOT, "test/lit/passes/transform-loops/workgroup-tile.rill"), "--opt")
        if check(host, "tiles that a rule chooses"):
            for n in (1, 33, 45):
                p, q, r = (np.random.default_rng(i).integers(-9, 9, shape).astype("f4") for i, shape in enumerate([(3, n, 67), (3, 67, 190), (190,)]))
                check(np.array_equal(host.call("rows", [p, q, r])[0], np.maximum(p @ q + r, 0)), f"tiles of {n} rows that a rule chooses")
        host = translated(folder, "barriers", REDUCTION)
        x = np.arange(48, dtype="f4")
        check(host and np.array_equal(host.call("main", [x])[0], x.reshape(3, 16).sum(1)), "a reduction with barriers")
        host = translated(folder, "assertions", ASSERTIONS)
        for x, status in (([1, 2, 3], 0xffffffff), ([1, -2, 3], 0), ([1, 200, 3], 1), ([200, 2, -3], 0)):
            x = np.array(x, "f4")
            if check(host, "assertions"):
                found = host.call("main", [x])[0]
                check(host.status[0] == status and np.array_equal(found, x), f"assertions of {x}: status {host.status[0]}, expected {status}")
    return report("msl")


if __name__ == "__main__":
    sys.exit(main())
