#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/device: a program that knows nothing of Rill but the manifest runs models on devices and gets the bits of ir-run."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/suites/lib")]
from checks import check, report  # noqa: E402

BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
EXAMPLE = os.path.join(ROOT, "examples/device")
MODEL = os.path.join(os.path.dirname(ROOT), "shared/models/ppocr_cls/model.onnx")
# The backend, its direction and libraries, where the code goes, the environment; extents that the large model runs with.
BACKENDS = {
    "opencl": ("--to-opencl", ["-lOpenCL"], "m.cl", {"POCL_CACHE_DIR": os.path.join(BUILD, "test/pocl")}, [(2, 3, 48, 192), (1, 3, 48, 96)]),
    "vulkan": ("--to-spirv", ["-lvulkan"], "m.spv", {"VK_ICD_FILENAMES": "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"}, [(1, 3, 48, 48)]),
}
# Storage of sizes that only the run knows, views, constants, a kernel with a symbol of its own.
SMALL = """rill 1
module {
  func @main(%x: f32[n, m]) -> f32[n, 4] {
    %w = const([[1.0, 2.0, -3.0, 0.5], [0.25, -1.0, 4.0, 2.0]]) : f32[2, 4]
    %0 = sum(%x, axis=[1])
    %1 = mean(%x, axis=[1])
    %2 = stack(%0, %1, axis=1)
    %3 = matmul(%2, %w)
    %4 = reshape(%3, shape=[n * 2, 2])
    %5 = nn.softmax(%4)
    %6 = reshape(%5, shape=[n, 4])
    return %6
  }
}
"""


def run(*command, env=None, data=None):
    done = subprocess.run(command, input=data, capture_output=True, env={**os.environ, **(env or {})})
    return check(not done.returncode, f"{' '.join(command)[:200]}: {done.stderr.decode(errors='replace')[-600:]}") and done.stdout


def symbols(manifest, extents):
    """The values of the symbols of @main, in their order, and where its constants are."""
    with open(manifest) as file:
        whole = json.load(file)
    main = whole["functions"]["main"]
    given = {d: str(e) for d, e in zip(main["parameters"][0]["type"]["shape"], extents) if isinstance(d, str)}
    constants = whole.get("constants_file", {"name": "/dev/null"})["name"]
    return [os.path.join(os.path.dirname(manifest), constants), *(given[s] for s in main["symbols"])]


def compare(folder, backend, host, source, extents):
    direction, _, code, env, _ = BACKENDS[backend]
    code, manifest = os.path.join(folder, code), os.path.join(folder, "m.json")
    if run(os.path.join(BUILD, "bin/ir-translate"), direction, "--opt", "--exact", source, "-o", code, "--manifest=" + manifest) is False:
        return
    for shape in extents:
        x = np.random.default_rng(3).normal(size=shape).astype("f4")
        x_path, y_path = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
        np.save(x_path, x)
        run(os.path.join(BUILD, "bin/ir-run"), source, "--exact", "--input=" + x_path, "--output=" + y_path)
        found = run(host, manifest, code, *symbols(manifest, shape), env=env, data=x.tobytes())
        check(found is not False and found == np.load(y_path).tobytes(), f"{backend} {shape}: other bits than ir-run's")


def refuses(host, manifest, code, constants, env, data, what):
    """Whatever is wrong, the host says something and ends; also where it finds nothing wrong, it ends."""
    done = subprocess.run([host, manifest, code, constants, "5", "7"], input=data, capture_output=True, timeout=60, env={**os.environ, **env})
    fine = done.returncode == 1 and done.stderr.strip()
    return check(fine or (what.startswith("perhaps") and not done.returncode), f"{os.path.basename(host)}: {what}: status {done.returncode}, {done.stderr[-200:]!r}")


def mutations(node, path=()):
    """Ways to spoil a manifest: each member and item removed, or made a number, an empty list, a word."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield (*path, key)
        if isinstance(node[key], (dict, list)):
            yield from mutations(node[key], (*path, key))


def spoiled(manifest, path, how):
    copy = json.loads(json.dumps(manifest))
    node = copy
    for key in path[:-1]:
        node = node[key]
    if how == "gone":
        del node[path[-1]]
    else:
        node[path[-1]] = how
    return copy


def failures(folder, backend, host, small):
    """Pieces of kernels, kernels that are none, spoiled manifests, no driver."""
    direction, _, code, env, _ = BACKENDS[backend]
    code, manifest, bad, blob = (os.path.join(folder, n) for n in (code, "m.json", "bad", "m.constants.bin"))
    if run(os.path.join(BUILD, "bin/ir-translate"), direction, "--opt", small, "-o", code, "--manifest=" + manifest) is False:
        return
    data = np.zeros((5, 7), "f4").tobytes()
    with open(code, "rb") as file:
        kernels = file.read()
    with open(manifest) as file:
        text = file.read()
    for length in (0, 3, 4, 19, 20, 24, len(kernels) // 3, len(kernels) // 2, len(kernels) - 4):
        with open(bad, "wb") as file:
            file.write(kernels[:length])
        refuses(host, manifest, bad, blob, env, data, f"{length} bytes of the kernels")
    with open(bad, "wb") as file:
        file.write(b"no kernels at all " * 10)
    refuses(host, manifest, bad, blob, env, data, "kernels that are none")
    refuses(host, manifest, code, bad, env, data, "constants that are none")
    refuses(host, manifest, os.path.join(folder, "missing"), blob, env, data, "no kernels")
    refuses(host, manifest, code, blob, env, data[:-4], "an input too short")
    none = {"OCL_ICD_VENDORS": "/nowhere", "VK_ICD_FILENAMES": "/nowhere"}
    refuses(host, manifest, code, blob, {**env, **none}, data, "no driver")
    with open(bad, "w") as file:
        file.write(text[:len(text) // 2])
    refuses(host, bad, code, blob, env, data, "half a manifest")
    whole = json.loads(text)
    for kernel in whole["kernels"].values():
        kernel["grid"]["asserts"] = [{"message": "never"}]
    with open(bad, "w") as file:
        json.dump(whole, file)
    refuses(host, bad, code, blob, env, data, "kernels that check something")
    whole = json.loads(text)
    broken = [(p, how) for p in mutations(whole) for how in ("gone", 7, [], "x") if p[0] in ("kernels", "functions", "constants", "artifact", "constants_file")]
    for path, how in broken[::max(1, len(broken) // 60)]:
        with open(bad, "w") as file:
            json.dump(spoiled(whole, path, how), file)
        refuses(host, bad, code, blob, env, data, f"perhaps: {path} = {how}")


def main():
    skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        small, large = os.path.join(folder, "small.rill"), os.path.join(folder, "large.rill")
        with open(small, "w") as file:
            file.write(SMALL)
        for backend, (_, libraries, _, _, extents) in BACKENDS.items():
            source = os.path.join(EXAMPLE, backend + ".c")
            if not os.path.exists(source):
                continue
            host = os.path.join(folder, backend)
            lines = sum(len(open(os.path.join(EXAMPLE, n)).readlines()) for n in ("device.h", "host.c", backend + ".c"))
            check(lines <= 300, f"the {backend} program has {lines} lines, at most 300 are promised")
            if run("cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-o", host, os.path.join(EXAMPLE, "host.c"), source, "-ljansson", *libraries) is False:
                continue
            compare(folder, backend, host, small, [(1, 1), (5, 7), (70, 3), (0, 4)])
            failures(folder, backend, host, small)
            if not os.path.exists(MODEL):
                skipped += 1
            elif run(os.path.join(BUILD, "bin/ir-translate"), "--import-onnx", MODEL, "-o", large) is not False:
                compare(folder, backend, host, large, extents)
    return report("device_host", skipped)


sys.exit(main())
