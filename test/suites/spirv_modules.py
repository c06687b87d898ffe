#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The example of every operator as SPIR-V, for each environment: spirv-val accepts what the tool's own validator did,
spirv-opt can do something with them, the bytes are the same twice, and RADV, a driver of real devices, makes pipelines of
them (a process of its own: drivers abort)."""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
TRANSLATE = os.path.join(BUILD, "bin/ir-translate")
sys.path[:0] = [os.path.join(ROOT, "test/suites/lib"), os.path.join(ROOT, "test/suites")]
import examples  # noqa: E402
from checks import check, report  # noqa: E402

ENVIRONMENTS = ("vulkan1.1", "vulkan1.2", "vulkan1.3")
BATCH = 8
RADV = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"
DRIVER = {"VK_ICD_FILENAMES": RADV, "RADV_FORCE_FAMILY": "navi21"}


def run(*command, env=None):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, **(env or {})})


def read(path):
    with open(path, "rb") as file:
        return file.read()


def translate(folder, number, rows, environment, pipelines):
    functions = "".join(examples.function(f"e{i}", params, statements) for i, (_, params, statements) in enumerate(rows))
    base = os.path.join(folder, f"{number}_{environment}")
    with open(base + ".rill", "w") as file:
        file.write("rill 1\nmodule {\n" + functions + "}\n")
    what = f"{environment}, {', '.join(r[0] for r in rows)}: "
    for name in ("a", "b"):
        done = run(TRANSLATE, "--to-spirv", "--opt", "--exact", "--target-env=" + environment, base + ".rill", "-o", f"{base}{name}.spv")
        if not check(not done.returncode, what + done.stderr):
            return
    check(read(base + "a.spv") == read(base + "b.spv"), what + "other bytes the second time")
    done = run("spirv-val", "--target-env", environment, base + "a.spv")
    check(not done.returncode, what + "spirv-val: " + done.stderr)
    if environment != ENVIRONMENTS[0]:
        return
    done = run("spirv-opt", "--target-env=" + environment, "-O", base + "a.spv", "-o", base + "o.spv")
    check(not done.returncode and not run("spirv-val", "--target-env", environment, base + "o.spv").returncode, what + "spirv-opt: " + done.stderr)
    if pipelines:
        done = run(pipelines, base + "a.spv", env=DRIVER)
        check(not done.returncode and int(done.stdout) > 0, what + f"RADV: {done.returncode} " + done.stderr)


def build_pipelines(folder):
    """The program that asks a driver for pipelines; None where there is no such driver."""
    if not os.path.exists(RADV):
        return None
    target = os.path.join(folder, "pipelines")
    source = os.path.join(ROOT, "test/suites/lib/pipelines.c")
    done = run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", target, "-lvulkan")
    return target if check(not done.returncode, "pipelines.c: " + done.stderr) else None


def main():
    if not os.path.exists(os.path.join(BUILD, "lib/rill/rill-spirv.so")) or not shutil.which("spirv-val"):
        print("spirv_modules: 0 passed, 0 failed, 1 skipped")
        return 0
    rows = [row[:3] for row in examples.examples()]
    parts = [rows[i:i + BATCH] for i in range(0, len(rows), BATCH)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pipelines = build_pipelines(folder)
        work = [pool.submit(translate, folder, i, part, e, pipelines) for i, part in enumerate(parts) for e in ENVIRONMENTS]
        for done in work:
            done.result()
    return report("spirv_modules")


if __name__ == "__main__":
    sys.exit(main())
