#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example of every operator, and kernels of every dtype and scalar operator, on each executor for devices that this
machine has, many functions to a program; the bits have to be the interpreter's. Sizes are 0, 1, odd, and more than a
workgroup has."""

import concurrent.futures
import os
import re
import shutil
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
from strict import OPENCL, warnings  # noqa: E402

# name: plugin, options of ir-run, environment, sizes
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
DEVICES = {
    "pocl": ("opencl", ["--target=opencl", "--device=Portable"], {"POCL_CACHE_DIR": os.path.join(BUILD, "test/pocl")}, (0, 1, 17, 65)),
    "rusticl": ("opencl", ["--target=opencl", "--device=rusticl"], {"RUSTICL_ENABLE": "llvmpipe", "MESA_SHADER_CACHE_DIR": os.path.join(BUILD, "test/mesa")}, (1, 17)),
    # A simulator that finds races, accesses outside of buffers and what nobody has written. It knows no `freeze`, which optimizing makes.
    "oclgrind": ("opencl", ["--target=opencl"], {}, (3,)),
    "lavapipe": ("vulkan", ["--target=vulkan"], {"VK_ICD_FILENAMES": LAVAPIPE, "RILL_VULKAN_VALIDATION": "1"}, (0, 1, 17)),
}
PREFIXES = {"oclgrind": ["oclgrind", "--build-options", "-cl-opt-disable -w", "--data-races", "--uninitialized", "--check-api"]}
BATCH = 16


def tool(*command, env=None, prefix=()):
    return subprocess.run([*prefix, os.path.join(BIN, command[0]), *command[1:]], capture_output=True, text=True, errors="replace", env={**os.environ, **(env or {})})


# Extents that the rules for loops of devices have something to do for: rounds side by side and a rest, workgroups for reductions.
LARGER = [
    ("matmul", "%p: f32[b, 13, 5], %q: f32[b, 5, 7]", "%y = matmul(%p, %q) : f32[b, 13, 7]"),
    ("matmul", "%p: f32[129, 5], %q: f32[5, 131]", "%y = matmul(%p, %q) : f32[129, 131]"),
    ("nn.conv2d", "%x: f32[n, 3, 7, 6], %w: f32[11, 3, 3, 3]", "%y = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]) : f32[n, 11, 7, 6]"),
    ("nn.conv2d", "%x: f32[n, 5, 3, 7], %w: f32[6, 5, 1, 1]", "%y = nn.conv2d(%x, %w) : f32[n, 6, 3, 7]"),
    ("sum", "%x: f32[n, 130]", "%y = sum(%x, axis=[1]) : f32[n]"),
    ("max", "%x: f32[n, 300]", "%y = max(%x, axis=[1]) : f32[n]"),
    ("nn.softmax", "%x: f32[n, 300]", "%y = nn.softmax(%x) : f32[n, 300]"),
    ("nn.layer_norm", "%x: f32[n, 130], %weights: f32[130], %c: f32[130]", "%y = nn.layer_norm(%x, %weights, %c, axes=[1]) : f32[n, 130]"),
]


class Row:
    """A function of its own, and a part of one that holds several."""

    def __init__(self, number, op, params, statements):
        self.name, self.op = f"e{number}", op
        self.params, self.statements = (re.sub(r"%(\w+)", rf"%{self.name}_\1", t) for t in (params, statements))
        self.types = examples.result_types(statements)
        self.values = lambda sizes: [v for _, v in examples.inputs(np.random.default_rng(len(op)), params, sizes)]


def joined(rows):
    body = "\n    ".join(r.statements for r in rows)
    results = ", ".join(r.statements.split(" = ")[0] for r in rows)
    types = ", ".join(t for r in rows for t in r.types)
    params = ", ".join(r.params for r in rows if r.params)
    return f"rill 1\nmodule {{\n  func @main({params}) -> ({types}) {{\n    {body}\n    return {results}\n  }}\n}}\n"


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def run(folder, name, rows, arrays, options, env=None, prefix=()):
    """The results of ROWS in one program, or its message; under PREFIX there must be none."""
    source = write(folder, name + ".rill", joined(rows))
    command = ["ir-run", source, "--exact", *options]
    for i, array in enumerate(a for r in rows for a in arrays[r.name]):
        path = os.path.join(folder, f"{name}_{i}.npy")
        np.save(path, array)
        command.append("--input=" + path)
    outputs = [os.path.join(folder, f"{name}_out{i}.npy") for i, _ in enumerate(t for r in rows for t in r.types)]
    done = tool(*command, *("--output=" + o for o in outputs), env=env, prefix=prefix)
    said = re.sub(r"\d+ warnings? generated\.\s*", "", done.stderr)  # by the compiler of the simulator, which is not asked for any
    return said or "no message" if done.returncode or (prefix and said) else [np.load(o) for o in outputs]


def bits(array):
    array = np.array(array)
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array.shape, array.dtype.str, array.tobytes()


def compare(folder, device, number, size, rows, arrays, expected):
    _, options, env, _ = DEVICES[device]
    what = f"{device}, size {size}: "
    found = run(folder, f"{device}_{number}_{size}", rows, arrays, options, env, PREFIXES.get(device, ()))
    if isinstance(found, str):
        return check(False, what + ", ".join(f"{r.name} {r.op}" for r in rows) + ": " + found[-1500:])
    at = 0
    for row in rows:
        for i, array in enumerate(expected[row.name]):
            check(bits(found[at]) == bits(array), f"{what}{row.op}: result {i} has other bits than the interpreter's: {found[at].reshape(-1)[:4]}, expected {array.reshape(-1)[:4]}")
            at += 1


def rows(wanted):
    """The examples and what is larger, or those of the operators WANTED."""
    all_rows = [row[:3] for row in examples.examples()] + LARGER
    return [Row(i, *row) for i, row in enumerate(all_rows) if not wanted or row[0] in wanted]


def strict(folder, rows):
    """OpenCL C 1.2 without extensions but f64, and without a warning."""
    source, target = write(folder, "all.rill", joined(rows)), os.path.join(folder, "all.cl")
    done = tool("ir-translate", "--to-opencl", "--opt", source, "-o", target)
    check(not done.returncode, done.stderr[-600:])
    said = warnings(OPENCL, target)
    check(not said, f"strict OpenCL C: {said[:800]}")


MODEL = os.path.join(os.path.dirname(ROOT), "shared/models/ppocr_cls/model.onnx")
MODEL_SIZES = {"pocl": [(1, 3, 48, 96), (5, 3, 48, 320)], "rusticl": [(1, 3, 48, 96)], "lavapipe": [(1, 3, 48, 96)]}


def model_input(folder, shape):
    """A file with an input of the model, and its result on the interpreter."""
    x, y = (os.path.join(folder, f"model_{name}{shape[3]}.npy") for name in "xy")
    if not os.path.exists(y):
        np.save(x, np.random.default_rng(5).normal(size=shape).astype("f4"))
        done = tool("ir-run", MODEL, "--exact", "--input=" + x, "--output=" + y)
        check(not done.returncode, done.stderr[-600:])
    return x, np.load(y)


def run_model(folder, device):
    """A model of many kernels has equal bits as well."""
    _, options, env, _ = DEVICES[device]
    for shape in MODEL_SIZES.get(device, ()):
        x, expected = model_input(folder, shape)
        y = os.path.join(folder, f"{device}{shape[3]}.npy")
        done = tool("ir-run", MODEL, "--exact", *options, "--input=" + x, "--output=" + y, env=env)
        if check(not done.returncode, f"{device}: {MODEL}: {done.stderr[-600:]}"):
            check(bits(np.load(y)) == bits(expected), f"{device}, {shape}: {MODEL} has other bits than on the interpreter")


SYMBOLS = 20  # more than push constants have room for


def run_concat(folder, device):
    """A concat of more operands than a kernel may have buffers; some of their extents are symbols."""
    _, options, env, _ = DEVICES[device]
    arrays = [np.full((3, 1 + i % 5), i, "f4") + np.arange(3, dtype="f4")[:, None] / 4 for i in range(100)]
    extents = [f"n{i}" if i % 5 == 2 and i // 5 < SYMBOLS else str(a.shape[1]) for i, a in enumerate(arrays)]
    values = ", ".join(f"%x{i}" for i in range(100))
    params = ", ".join(f"%x{i}: f32[3, {e}]" for i, e in enumerate(extents))
    source = write(folder, "concat.rill", f"rill 1\nmodule {{\n  func @main({params}) -> (f32[3, {' + '.join(extents)}]) {{\n"
                                          f"    %y = concat({values}, axis=1)\n    return %y\n  }}\n}}\n")
    paths, y = [os.path.join(folder, f"concat{i}.npy") for i in range(100)], os.path.join(folder, f"concat_{device}.npy")
    for path, array in zip(paths, arrays):
        np.save(path, array)
    done = tool("ir-run", source, *options, *("--input=" + p for p in paths), "--output=" + y, env=env, prefix=PREFIXES.get(device, ()))
    if check(not done.returncode, f"{device}: concat of 100: {done.stderr[-600:]}"):
        check(np.array_equal(np.load(y), np.concatenate(arrays, 1)), f"{device}: concat of 100 gives other numbers than NumPy's")


def run_tiles(folder, device):
    """Products by tiles in workgroup memory."""
    _, options, env, _ = DEVICES[device]
    p, q = (np.random.default_rng(i).integers(-9, 9, shape).astype("f4") for i, shape in enumerate([(1, 33, 19), (1, 19, 35)]))
    names = [os.path.join(folder, f"{device}_{n}.npy") for n in ("p", "q", "r")]
    np.save(names[0], p)
    np.save(names[1], q)
    done = tool("ir-run", os.path.join(ROOT, "test/lit/passes/transform-loops/cache.rill"), "--exact", "--entry=tiled", *options, *("--input=" + n for n in names[:2]),
                "--output=" + names[2], env=env, prefix=PREFIXES.get(device, ()))
    said = re.sub(r"\d+ warnings? generated\.\s*", "", done.stderr) if device in PREFIXES else ""
    if check(not done.returncode and not said, f"{device}: tiles: {done.stderr[-600:]}"):
        check(np.array_equal(np.load(names[2]), p @ q), f"{device}: tiles")


def main():
    devices = [d for d, row in DEVICES.items() if os.path.exists(os.path.join(BUILD, f"lib/rill/rill-{row[0]}.so"))]
    if not os.path.exists("/etc/OpenCL/vendors/rusticl.icd"):
        devices.remove("rusticl")
    if not shutil.which("oclgrind"):
        devices.remove("oclgrind")
    all_rows = rows(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        strict(folder, all_rows)
        for device in devices if os.path.exists(MODEL) and not sys.argv[1:] else ():
            run_model(folder, device)
        for device in devices if not sys.argv[1:] or "concat" in sys.argv[1:] else ():
            run_concat(folder, device)
        for device in devices:
            run_tiles(folder, device)
        for size in sorted({s for d in devices for s in DEVICES[d][3]}):
            arrays = {r.name: r.values(dict.fromkeys("nmbhw", size)) for r in all_rows}
            known = dict(zip((r.name for r in all_rows), pool.map(lambda r: run(folder, r.name, [r], arrays, ["--target=interp", "--checked=off"]), all_rows)))
            fine = [r for r in all_rows if not isinstance(known[r.name], str)]
            for device in devices:
                if size not in DEVICES[device][3]:
                    continue
                parts = [fine[i:i + BATCH] for i in range(0, len(fine), BATCH)]
                list(pool.map(lambda p: compare(folder, device, all_rows.index(p[0]), size, p, arrays, known), parts))
    return report("devices", skipped=int(not devices))


if __name__ == "__main__":
    sys.exit(main())
