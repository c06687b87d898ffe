#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""OpenCL C and Metal Shading Language without a warning: the example of every operator with extents of 0, 1, 2 and 65 written in
the place of its symbols, random programs, and kernels with comparisons that always come out the same, with what nothing reads and
with loops that have no rounds.

`clean.py [NUMBER [SEED]]`: so many random programs, from SEED on."""

import concurrent.futures
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
sys.path[:0] = [os.path.join(ROOT, "test/suites", folder) for folder in ("lib", "random", "")]
import examples  # noqa: E402
import programs  # noqa: E402
from checks import check, report  # noqa: E402
from strict import MSL, OPENCL, warnings  # noqa: E402

NUMBER = 48
BATCH = 16
TARGETS = {"opencl": OPENCL, "msl": MSL}
# What the languages do not have.
REFUSED = ("the msl target cannot compute with f64",)

HAND = os.path.join(ROOT, "test/lit/targets/opencl/always.rill")


def translated(folder, name, target, text):
    source, path = os.path.join(folder, f"{name}.{target}.rill"), os.path.join(folder, f"{name}.{target}")
    with open(source, "w") as file:
        file.write(text)
    done = subprocess.run([os.path.join(BUILD, "bin/ir-translate"), "--to-" + target, "--opt", source, "-o", path], capture_output=True, text=True)
    return path, done.stderr if done.returncode else ""


def look(folder, name, text, may_be_wrong=False):
    """How many of the languages have a text for it; a program that MAY_BE_WRONG need not be valid."""
    texts = 0
    for target, compiler in TARGETS.items():
        path, message = translated(folder, name, target, text)
        if message and (may_be_wrong or any(r in message for r in REFUSED)):
            continue
        texts += 1
        said = message or warnings(compiler, path)
        check(not said, f"{name}, {target}: {said[:1500]}")
    return texts


def module(functions):
    return "rill 1\nmodule {\n" + "".join(functions) + "}\n"


def sized(size):
    """The examples with SIZE for every symbol, but for those that the verifier refuses then."""
    sizes = dict.fromkeys("nmbhw", size)
    for number, (op, params, statements, *_) in enumerate(examples.examples()):
        text = examples.function(f"e{number}", examples.numbers(params, sizes), examples.numbers(statements, sizes))
        done = subprocess.run([os.path.join(BUILD, "bin/ir-opt"), "-", "-o", "/dev/null"], input=module([text]), capture_output=True, text=True)
        if not done.returncode:
            yield text


def main():
    number, seed = (int(a) for a in (sys.argv[1:] + [str(NUMBER), "0"][len(sys.argv) - 1:])[:2])
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        with open(HAND) as file:
            work = [("hand", file.read())]
        for size in (0, 1, 2, 65):
            texts = list(sized(size))
            check(len(texts) > 100, f"{len(texts)} examples have a form of size {size}")
            work += [(f"size{size}_{i}", module(texts[i:i + BATCH])) for i in range(0, len(texts), BATCH)]
        list(pool.map(lambda w: look(folder, *w), work))
        texts = sum(pool.map(lambda s: look(folder, f"random{s}", programs.Program(s).text(), True), range(seed, seed + number)))
        check(texts > number, f"{texts} texts of {number} random programs in {len(TARGETS)} languages")
    return report("clean")


sys.exit(main())
