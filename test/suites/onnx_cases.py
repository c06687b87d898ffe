#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX's own test cases (package libonnx-testdata) through ir-run on both executors: the plain ones, which have tensors
of numbers as inputs and outputs and operators of the default domain. onnx_refused.txt lists those that do not run, each with
what ir-run says of it; every other case has to fit, and a listed one that fits is a failure too: the list is what is true.

Cases pass shapes, axes and scales as inputs, where models have constants. What is refused because such an input is only
known when it runs is tried again with the inputs behind the first as initializers: the list marks those that fit then.

onnx_cases.py --write    writes the list anew, for what has been added since; read the difference before it is committed
onnx_cases.py WORD...    only the cases whose paths hold one of these"""

import concurrent.futures
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
LIST = os.path.join(ROOT, "test/suites/onnx_refused.txt")
FOLDERS = ("node", "pytorch-converted", "pytorch-operator", "simple")
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Plain cases of libonnx-testdata that do not run as they are, each with what ir-run says of it. "constants:" stands before
# what runs when the inputs behind the first are constants. Written by onnx_cases.py --write.
"""
AT_RUN_TIME = re.compile(r"not implemented: .* only known when it runs")
# The data of these cases holds bf16 as u16, whose bits ir-run does not take for another type.
AS_U16 = "dtype u16 instead of bf16", "expected u16"


def numbered(data, kind):
    return sorted(glob.glob(os.path.join(data, kind + "_*.pb")), key=lambda f: int(f.rsplit("_", 1)[1][:-3]))


def nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes(attribute.g)


def is_plain(model):
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.WhichOneof("value") != "tensor_type" or value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            return False
    return all(node.domain in ("", "ai.onnx") for node in nodes(model.graph))


def run(model, inputs, outputs, target):
    """None where it fits; else what ir-run says, and its exit status."""
    command = [os.path.join(BUILD, "bin/ir-run"), model, "--target=" + target, "--rtol=1e-3", "--atol=1e-5"]
    done = subprocess.run(command + ["--input=" + f for f in inputs] + ["--expect=" + f for f in outputs],
                          capture_output=True, text=True, errors="replace", timeout=120)
    return None if done.returncode == 0 else (done.returncode, done.stdout[-300:] + done.stderr[-1500:])


def reason(text):
    """The message without the names of the model and its nodes."""
    line = re.search(r"error: (.*)", text)
    return re.sub(r" \(\d+ nodes?: [^)]*\)", "", line[1]) if line else text[:200]


def with_constants(proto, inputs, path):
    """Writes the model with the inputs behind the first as initializers."""
    for name, file in list(zip([i.name for i in proto.graph.input], inputs))[1:]:
        tensor = onnx.TensorProto()
        with open(file, "rb") as data:
            tensor.ParseFromString(data.read())
        tensor.name = name
        proto.graph.initializer.append(tensor)
    del proto.graph.input[1:]
    onnx.save(proto, path)


def try_case(case, folder):
    """Runs, and what the list would say: "" where the case fits as it is; None where it is no plain case. Raises ValueError on
    what is neither right nor refused."""
    model, data = os.path.join(case, "model.onnx"), os.path.join(case, "test_data_set_0")
    proto = onnx.load(model)
    if not is_plain(proto):
        return 0, None
    inputs, outputs, line = numbered(data, "input"), numbered(data, "output"), ""
    path = os.path.join(folder, case.replace("/", "_") + ".onnx")
    for target in ("interp", "llvm"):
        problem = run(path if line else model, inputs, outputs, target)
        if problem and not line and AT_RUN_TIME.search(problem[1]) and len(inputs) > 1:
            line = reason(problem[1])
            with_constants(proto, inputs, path)
            inputs = inputs[:1]
            problem = run(path, inputs, outputs, target)
            line = ("" if problem else "constants: ") + line
            if problem and problem[0] == 1 and "not implemented" in problem[1]:
                return 0, line
        if problem:
            status, text = problem
            known = status == 1 and (re.search("not implemented|unsupported operators", text) or any(w in text for w in AS_U16))
            if not known:
                raise ValueError(f"on {target}: exit status {status}\n{text}")
            return 0, reason(text)
    return 2, line


def read_list():
    with open(LIST) as file:
        lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def main():
    write, words = sys.argv[1:] == ["--write"], [w for w in sys.argv[1:] if w != "--write"]
    cases = [c for f in FOLDERS for c in sorted(glob.glob(os.path.join(DATA, f, "*"))) if not words or any(w in c for w in words)]
    wanted = {} if write else read_list()
    found, counts, failed = {}, [0, 0, 0], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [(case[len(DATA) + 1:], pool.submit(try_case, case, folder)) for case in cases]
        for name, job in running:
            try:
                runs, line = job.result()
            except (ValueError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"{name}: {error}")
                continue
            if line is None:
                continue
            counts[0 if not line else 1 if runs else 2] += 1
            if line:
                found[name] = line
            if not write and line != wanted.get(name, ""):
                failed += 1
                print(f"{name}: {line or 'fits now'}; the list has: {wanted.get(name, 'nothing of it')}")
    if write:
        with open(LIST, "w") as file:
            file.write(HEAD + "".join(f"{name}: {line}\n" for name, line in found.items()))
    missing = [] if words or write else sorted(set(wanted) - set(found) - {name for name, _ in running})
    for name in missing:
        print(f"{name}: the list has a case that is not there")
    print(f"{sum(counts)} plain cases: {counts[0]} fit on both executors as they are, {counts[1]} with constants, {counts[2]} are refused as listed")
    print(f"onnx_cases: {counts[0] + counts[1] + counts[2]} passed, {failed + len(missing)} failed")
    return 1 if failed or missing or not counts[0] else 0


sys.exit(main())
