#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random modules keep their bits on every way from the graph to machine code, and broken ones are refused politely.

`random_programs.py [SECONDS [SEED [KEEP]]]`: without arguments a fixed number of modules from fixed seeds; with SECONDS as many as fit,
from SEED on; failing cases are kept in the folder KEEP."""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "random"))
import programs  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
OPT, RUN = os.path.join(BUILD, "bin/ir-opt"), os.path.join(BUILD, "bin/ir-run")
LLVM = os.path.exists(os.path.join(BUILD, "lib/rill/rill-llvm.so"))
NUMBER = 130
LIMIT = 20
PASSES = ["normalize", "canonicalize", "decompose-ops", "fold-constants", "cse", "dce", "to-non-dataflow", "legalize", "annotate-op-pattern",
          "fuse-ops", "fuse-tir", "call-tir-rewrite", "schedule", "split-kernels", "rewrite-dataflow-reshape", "plan-memory",
          "kill-after-last-use"]
LOWERING = ["decompose-ops", "legalize", "annotate-op-pattern", "fuse-ops", "fuse-tir", "to-non-dataflow", "call-tir-rewrite", "schedule",
            "split-kernels", "rewrite-dataflow-reshape", "plan-memory", "kill-after-last-use"]
TIDY = ["normalize", "canonicalize", "fold-constants", "cse", "dce"]
# What a pass or a target says that it does not take is no fault.
NOT_THERE = re.compile(r"error: .*(not implemented|must be lowered first)")
LOCATED = re.compile(r"^[^\n]*:\d+:\d+: error: |^ir-(opt|run): error: |^[^\n:]*: error: ", re.M)


class Failure(Exception):
    pass


def tool(*command):
    """Status, output and errors; a signal, a hang or a status that no tool has is a failure."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failure(f"no answer in {LIMIT} s: {' '.join(command)}") from None
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1, 2):
        raise Failure(f"status {done.returncode}: {' '.join(command)}\n{err[-1500:]}")
    if (done.returncode != 0) != ("error: " in err):
        raise Failure(f"status {done.returncode} does not go with what was said: {' '.join(command)}\n{err[-1500:]}")
    if done.returncode and not LOCATED.search(err):
        raise Failure(f"the error has no place: {' '.join(command)}\n{err[-1500:]}")
    return done.returncode, out, err


def run(path, inputs, count, folder, *options):
    """Results as arrays, or the error."""
    outputs = [os.path.join(folder, f"out{i}.npy") for i in range(count)]
    status, _, err = tool(RUN, path, "--exact", "--checked=off", *options, *inputs, *(f"--output={o}" for o in outputs))
    return err if status else [np.load(o) for o in outputs]


def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    word = f"u{a.dtype.itemsize}"
    return bool(np.all((np.ascontiguousarray(a).view(word) == np.ascontiguousarray(b).view(word)) | (np.isnan(a) & np.isnan(b))))


def compare(what, found, wanted):
    if any(isinstance(x, str) and NOT_THERE.search(x) for x in (found, wanted)):
        return
    if isinstance(found, str) or isinstance(wanted, str):
        if isinstance(found, str) != isinstance(wanted, str):
            raise Failure(f"{what}: {found if isinstance(found, str) else 'runs'}\nwhere the graph: {wanted if isinstance(wanted, str) else 'runs'}")
        return
    for i, (a, b) in enumerate(zip(found, wanted)):
        if not same(a, b):
            raise Failure(f"{what}: result {i} differs:\n{a.dtype}{a.shape} {a}\nwhere the graph gives\n{b.dtype}{b.shape} {b}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def pipelines(rng):
    """Random sequences of passes: tidying between lowering steps, in their order or, seldom, in none."""
    steps = []
    for step in LOWERING[:rng.randint(0, len(LOWERING))]:
        steps += rng.sample(TIDY, rng.choice([0, 0, 1, 2])) + [step]
    steps += rng.sample(TIDY, rng.choice([0, 1, 2]))
    if rng.random() < 0.2:
        rng.shuffle(steps)
    return ",".join(steps)


def static(text, symbols):
    """The module with numbers for symbols."""
    lines = re.sub(r" where [^{\n]*\{", " {", text)
    return re.sub(r"(?<![%@\w.\"])\b([nmk])\b(?!\s*=[^=])", lambda m: str(symbols[m[1]]), lines)


def check(seed, folder):
    """Whether the module was valid; raises a Failure where two ways differ."""
    rng = random.Random(seed * 7 + 1)
    program = programs.Program(seed)
    path = write(os.path.join(folder, "m.rill"), program.text())
    status, out, err = tool(OPT, path)
    if status:
        return False
    if rng.random() < 0.7:
        types = re.findall(r"^    (%v\d+(?:, %v\d+)*) = .*?\) : (.*)$", out, re.M)
        known = {n: t for names, kinds in types for n, t in zip(names.split(", "), re.split(r", (?![^\[]*\])", kinds))}
        results = [known.get(r.name, f"{r.dtype}[{', '.join('?' for _ in r.shape)}]") for r in program.results]
        again = write(os.path.join(folder, "typed.rill"), program.text(results=results))
        if tool(OPT, again)[0] == 0:
            path = again
    inputs = []
    for i, array in enumerate(program.arrays):
        np.save(os.path.join(folder, f"in{i}.npy"), array)
        inputs.append(f"--input={folder}/in{i}.npy")
    count = len(program.results)
    wanted = run(path, inputs, count, folder)
    with open(path) as file:
        fixed = write(os.path.join(folder, "static.rill"), static(file.read(), program.symbols))
    if tool(OPT, fixed)[0] == 0:
        compare("with numbers for symbols", run(fixed, inputs, count, folder), wanted)
    lowered = os.path.join(folder, "lowered.rill")
    for _ in range(2):
        passes = pipelines(rng)
        status, _, err = tool(OPT, "--exact", "--roundtrip-each", "--pipeline=" + passes, path, "-o", lowered)
        if status:
            if not NOT_THERE.search(err):
                raise Failure(f"--pipeline={passes}:\n{err}")
            continue
        compare(f"--pipeline={passes}", run(lowered, inputs, count, folder), wanted)
    source = rng.choice([path, fixed] if tool(OPT, fixed)[0] == 0 else [path])
    status, _, err = tool(OPT, "--exact", "--roundtrip-each", "--default{target=llvm}", source, "-o", lowered)
    if status and not NOT_THERE.search(err):
        raise Failure("--default{target=llvm}: " + err)
    if not status:
        compare(f"--default{{target=llvm}} of {os.path.basename(source)}", run(lowered, inputs, count, folder), wanted)
    if LLVM:
        for threads in (1, 3):
            compare(f"llvm, {threads} threads", run(path, inputs, count, folder, "--target=llvm", f"--threads={threads}"), wanted)
            if rng.random() < 0.7:
                break
    mutate(rng, lowered if os.path.exists(lowered) and rng.random() < 0.5 else path, folder, inputs)
    return True


TOKEN = re.compile(r'"[^"\n]*"|[%@]?[A-Za-z_][\w.]*|[%@]\d+|\d[\w.+-]*|\s+|&&|\|\||[<>=!]=|->|.')
SPARE = ["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "281474976710656", "1e308", "nan", "%nope", "@nope", "f32[*]", "?[3]", "any",
         "f32[?]", "bool", "i64", "f16", "tuple[f32[], i64]", "storage", "shape[*]", "fn", "none", "[]", "{}", "()", ",", "loc(\"a\":1:2)", "with {a=1}",
         "i4", "f8e4m3", "n", "0.5", "true", "\"\"", "dataflow", "alloc(scope=local)", "%0", "return", "yield", "impure"]


def mutate(rng, path, folder, inputs):
    with open(path) as file:
        tokens = TOKEN.findall(file.read())
    words = [i for i, t in enumerate(tokens) if not t.isspace()]
    for _ in range(3):
        broken = list(tokens)
        for _ in range(rng.choice([1, 1, 2, 4])):
            at, other = rng.choice(words), rng.choice(words)
            kind = rng.randrange(5)
            if kind == 0:
                broken[at] = ""
            elif kind == 1:
                broken[at] += " " + tokens[at]
            elif kind == 2:
                broken[at], broken[other] = broken[other], broken[at]
            elif kind == 3:
                broken[at] = tokens[other]
            else:
                broken[at] = rng.choice(SPARE)
        mutant = write(os.path.join(folder, "mutant.rill"), "".join(broken))
        passes = rng.choice(["default{target=llvm}", "default{target=interp}", "simplify", pipelines(rng)])
        status, _, _ = tool(OPT, "--roundtrip-each", "--pipeline=" + passes, mutant, "-o", os.path.join(folder, "after.rill"))
        if status == 0 and rng.random() < 0.3:
            tool(RUN, mutant, *inputs)
        if status == 0 and LLVM and rng.random() < 0.15:
            tool(RUN, "--target=llvm", mutant, *inputs)


def main():
    seconds, first, keep = (sys.argv[1:] + [None] * 3)[:3]
    seed = int(first or 1)
    start, passed, failed, refused = time.monotonic(), 0, 0, 0
    while time.monotonic() - start < float(seconds) if seconds else seed <= NUMBER:
        with tempfile.TemporaryDirectory() as folder:
            try:
                valid = check(seed, folder)
                passed += valid
                refused += not valid
            except Failure as failure:
                failed += 1
                print(f"seed {seed}: {failure}", flush=True)
                if keep:
                    shutil.copytree(folder, os.path.join(keep, str(seed)), dirs_exist_ok=True)
        seed += 1
    if not seconds and refused > NUMBER // 10:
        failed += 1
        print(f"{refused} modules were not valid")
    print(f"random_programs: {passed} passed, {failed} failed, {refused} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
