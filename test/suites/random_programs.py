#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random modules keep their bits on every way from the graph to machine code, and broken ones are refused politely.

`random_programs.py [SECONDS [SEED [KEEP]]]`: without arguments a fixed number of modules from fixed seeds; with SECONDS as many as fit,
from SEED on; failing cases are kept in the folder KEEP."""

import os
import random
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "random"))
import programs  # noqa: E402
from ways import LLVM, NOT_THERE, OPT, RUN, Failure, compare, main, run, tool, write  # noqa: E402

NUMBER = 130
LOWERING = ["decompose-ops", "legalize", "annotate-op-pattern", "fuse-ops", "fuse-tir", "to-non-dataflow", "call-tir-rewrite", "schedule",
            "split-kernels", "rewrite-dataflow-reshape", "plan-memory", "kill-after-last-use"]
TIDY = ["normalize", "canonicalize", "fold-constants", "cse", "dce"]


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


if __name__ == "__main__":
    sys.exit(main("random_programs", check, NUMBER))
