#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SPIR-V and our own MSL say the same: kernels in SPIR-V that spirv-cross, which knows nothing of Rill, has made MSL of run on
the CPU as those of the suite msl do, and have the interpreter's bits."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/suites")]
import devices  # noqa: E402
import msl  # noqa: E402
from checks import check, report  # noqa: E402
from host import DTYPES  # noqa: E402

# Metal's sqrt is the precise one where fast math is off.
HEAD = "#include <metal_stdlib>\n#include <simd/simd.h>\nnamespace metal { using precise::sqrt; }\nusing namespace metal;\n"
PARAM = re.compile(r"(const device|device|constant) (\w+)& (?:__restrict )?\w+ \[\[buffer\((\d+)\)\]\]|uint3 \w+ \[\[(\w+)\]\]")
PLACES = {"threadgroup_position_in_grid": "(uint3)(g[0], g[1], g[2])", "thread_position_in_threadgroup": "(uint3)(l[0], l[1], l[2])"}


class Metal(msl.Metal):
    def scalars(self, dtypes, values):
        """Push constants: all but 64 bits are words, whose low bits count."""
        out = []
        for dtype, value in zip(dtypes, values):
            dtype = np.dtype(DTYPES[dtype])
            bits = np.array(value, dtype).view(f"u{dtype.itemsize}")
            out.append(bits.astype("u8" if dtype.itemsize == 8 else "u4"))
        block = np.zeros((), np.dtype([(f"f{i}", b.dtype) for i, b in enumerate(out)], align=True))
        for i, bits in enumerate(out):
            block[f"f{i}"] = bits
        return block


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def without_no_contraction(base):
    """The fma(a, b, 0) that spirv-cross makes of a product that must not be contracted has +0 where the product has -0; nothing
    is contracted here."""
    text = "\n".join(line for line in run("spirv-dis", base + ".spv").stdout.split("\n") if not line.strip().endswith(" NoContraction"))
    with open(base + ".asm", "w") as file:
        file.write(text)
    return run("spirv-as", "--preserve-numeric-ids", "--target-env", "vulkan1.1", base + ".asm", "-o", base + "_plain.spv")


def kernel(base, number, entry):
    """One kernel in a namespace of its own, and its entry as the harness calls it."""
    done = run("spirv-cross", "--msl", "--msl-version", "20300", "--msl-decoration-binding", "--msl-force-native-arrays", base + "_plain.spv", "--entry", entry)
    if not check(not done.returncode, f"{entry}: spirv-cross: {done.stdout[-300:]}{done.stderr[-300:]}"):
        return ""
    text = re.sub(r"^(#include|using namespace).*$", "", done.stdout, flags=re.M)
    params = re.search(rf"^kernel void {entry}\((.*)\)$", text, re.M).group(1)
    args = []
    for space, kind, buffer, place in PARAM.findall(params):
        data = "a->scalars" if space == "constant" else f"a->buffers[{buffer}]"
        args.append(PLACES[place] if place else f"*({space} k{number}::{kind} *){data}")
    check(len(args) == len(params.split(", ")) or not params, f"{entry}: parameters {params}")
    return (f"namespace k{number} {{\n{text}}}\n"
            f'extern "C" void item_{entry}(device const msl_arguments *a, device const uint *g, device const uint *l) {{ k{number}::{entry}({", ".join(args)}); }}\n')


def translated(folder, name, source):
    base = os.path.join(folder, name + "_cross")
    if not source.startswith("/"):
        source = devices.write(folder, name + "_cross.rill", source)
    done = devices.tool("ir-translate", "--to-spirv", "--opt", "--exact", source, "-o", base + ".spv", "--manifest=" + base + ".json")
    if not check(not done.returncode, f"{name}: {done.stderr[-600:]}"):
        return None
    done = without_no_contraction(base)
    check(not done.returncode, f"{name}: spirv-as: {done.stderr[-300:]}")
    with open(base + ".json") as file:
        manifest = json.load(file)
    entries = sorted({k["grid"]["entry"] for k in manifest["kernels"].values()})
    text = HEAD + "struct msl_arguments { device char *device *buffers; constant char *scalars; };\n" + "".join(kernel(base, i, e) for i, e in enumerate(entries))
    library = msl.compiled(folder, name + "_cross", text, None)
    return library and Metal(manifest, folder, library, text)


def main():
    if not all(map(shutil.which, ("spirv-cross", "spirv-dis", "spirv-as"))) or not os.path.exists(os.path.join(devices.BUILD, "lib/rill/rill-spirv.so")):
        print("msl_cross: 0 passed, 0 failed, 1 skipped")
        return 0
    rows = devices.rows(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        known, arrays = msl.known_results(folder, pool, rows)
        parts = [rows[i:i + devices.BATCH] for i in range(0, len(rows), devices.BATCH)]
        list(pool.map(lambda p: msl.compare(translated(folder, p[0].name, devices.joined(p)), "spirv-cross", p, known, arrays), parts))
        if os.path.exists(devices.MODEL) and not sys.argv[1:]:
            text = os.path.join(folder, "model.rill")
            devices.tool("ir-translate", "--import-onnx", devices.MODEL, "-o", text)
            host, (x, expected) = translated(folder, "model", text), devices.model_input(folder, (1, 3, 48, 96))
            check(host and devices.bits(host.call("main", [np.load(x)])[0]) == devices.bits(expected), "a model has other bits than on the interpreter")
        host = translated(folder, "barriers", msl.REDUCTION)
        x = np.arange(48, dtype="f4")
        check(host and np.array_equal(host.call("main", [x])[0], x.reshape(3, 16).sum(1)), "a reduction with barriers")
    return report("msl_cross")


if __name__ == "__main__":
    sys.exit(main())
