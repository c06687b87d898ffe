#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs ONNX's own test cases (package libonnx-testdata) through ir-run on both executors. A model whose operators, types or
# forms are not implemented is counted as skipped: ir-run says so by name. Everything else has to fit.
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
DATA = "/usr/share/libonnx-testdata/data"
FOLDERS = ("node", "pytorch-converted", "pytorch-operator", "simple")
# The data of these holds bf16 as u16, whose bits ir-run does not take for another type.
AS_U16 = "BFLOAT16"
NOT_THERE = re.compile(r"error: (\S+: )*not implemented: |error: unsupported operators at opset|: not implemented: ")

# Runs that fit today, both executors together: coverage does not shrink unnoticed.
LEAST = 1092


def run(case, target):
    data = os.path.join(case, "test_data_set_0")
    inputs = sorted(glob.glob(os.path.join(data, "input_*.pb")), key=lambda f: int(f.rsplit("_", 1)[1][:-3]))
    outputs = sorted(glob.glob(os.path.join(data, "output_*.pb")), key=lambda f: int(f.rsplit("_", 1)[1][:-3]))
    if not outputs:
        return None
    command = [os.path.join(BUILD, "bin/ir-run"), os.path.join(case, "model.onnx"), "--target=" + target, "--rtol=1e-3", "--atol=1e-5"]
    done = subprocess.run(command + ["--input=" + f for f in inputs] + ["--expect=" + f for f in outputs],
                          capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode == 0:
        return True
    if done.returncode == 1 and NOT_THERE.search(done.stderr):
        return None
    return f"exit status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}"


def main():
    passed = failed = skipped = 0
    words = sys.argv[1:]
    for folder in FOLDERS:
        for case in sorted(glob.glob(os.path.join(DATA, folder, "*"))):
            if AS_U16 in case or (words and not any(w in case for w in words)):
                skipped += AS_U16 in case
                continue
            for target in ("interp", "llvm"):
                result = run(case, target)
                if result is True:
                    passed += 1
                elif result is None:
                    skipped += 1
                    break
                else:
                    failed += 1
                    print(f"{case} on {target}: {result}")
    if not words and passed < LEAST:
        failed += 1
        print(f"{passed} runs fit, at least {LEAST} did before")
    print(f"onnx_cases: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


sys.exit(main())
