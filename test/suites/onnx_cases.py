#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Runs ONNX's own test cases (package libonnx-testdata) through ir-run on both executors. A model whose operators, types or
# forms are not implemented is counted as skipped: ir-run says so by name. Everything else has to fit.
#
# Cases pass shapes, axes and scales as inputs, where models have constants. What is refused because such an input is only
# known when it runs is tried again with the inputs behind the first as initializers, and counted apart.
import glob
import os
import re
import subprocess
import sys
import tempfile

import onnx

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
DATA = "/usr/share/libonnx-testdata/data"
FOLDERS = ("node", "pytorch-converted", "pytorch-operator", "simple")
# The data of these holds bf16 as u16, whose bits ir-run does not take for another type.
AS_U16 = "BFLOAT16"
NOT_THERE = re.compile(r"error: (\S+: )*not implemented: |error: unsupported operators at opset|: not implemented: ")

AT_RUN_TIME = re.compile(r"not implemented: .* only known when it runs")

# Runs that fit today, both executors together: coverage does not shrink unnoticed.
LEAST = 1478
LEAST_WITH_CONSTANTS = 150


def numbered(data, kind):
    return sorted(glob.glob(os.path.join(data, kind + "_*.pb")), key=lambda f: int(f.rsplit("_", 1)[1][:-3]))


def run(model, inputs, outputs, target):
    """True where it fits, None where something is not there, else what is wrong; and whether an input should be constant."""
    if not outputs:
        return None, False
    command = [os.path.join(BUILD, "bin/ir-run"), model, "--target=" + target, "--rtol=1e-3", "--atol=1e-5"]
    done = subprocess.run(command + ["--input=" + f for f in inputs] + ["--expect=" + f for f in outputs],
                          capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode == 0:
        return True, False
    if done.returncode == 1 and NOT_THERE.search(done.stderr):
        return None, bool(AT_RUN_TIME.search(done.stderr))
    return f"exit status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}", False


def with_constants(model, inputs, path):
    """The model with the inputs behind the first as initializers; the inputs that are left."""
    proto = onnx.load(model)
    names = [i.name for i in proto.graph.input]
    for name, file in list(zip(names, inputs))[1:]:
        tensor = onnx.TensorProto()
        with open(file, "rb") as data:
            tensor.ParseFromString(data.read())
        tensor.name = name
        proto.graph.initializer.append(tensor)
    del proto.graph.input[1:]
    onnx.save(proto, path)
    return inputs[:1]


def main():
    passed = failed = skipped = bound = 0
    words = sys.argv[1:]
    folder_of_models = tempfile.TemporaryDirectory()
    for folder in FOLDERS:
        for case in sorted(glob.glob(os.path.join(DATA, folder, "*"))):
            if AS_U16 in case or (words and not any(w in case for w in words)):
                skipped += AS_U16 in case
                continue
            model, data = os.path.join(case, "model.onnx"), os.path.join(case, "test_data_set_0")
            inputs, outputs, constants = numbered(data, "input"), numbered(data, "output"), False
            for target in ("interp", "llvm"):
                result, at_run_time = run(model, inputs, outputs, target)
                if at_run_time and not constants and len(inputs) > 1:
                    constants, path = True, os.path.join(folder_of_models.name, "model.onnx")
                    inputs = with_constants(model, inputs, path)
                    model = path
                    result, _ = run(model, inputs, outputs, target)
                if result is True:
                    bound += constants
                    passed += not constants
                elif result is None:
                    skipped += 1
                    break
                else:
                    failed += 1
                    print(f"{case} on {target}: {result}")
    for what, count, least in (("", passed, LEAST), (" with constants", bound, LEAST_WITH_CONSTANTS)):
        if not words and count < least:
            failed += 1
            print(f"{count} runs{what} fit, at least {least} did before")
    print(f"{passed} runs of cases as they are fit, {bound} with constants")
    print(f"onnx_cases: {passed + bound} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


sys.exit(main())
