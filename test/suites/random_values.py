#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random modules whose values NumPy says to the bit, the same modules every time: graph functions of mixed dtypes and
extents, and tensor programs as nests and loops. Each runs in the interpreter as it stands; then after random sequences of
exact passes, after the default pipelines, compiled, with sizes in the place of its symbols, and with its inputs as
constants. All must give the same bits, every text on the way must read back, and passes that settle must settle.

`random_values.py graph|nest SEED...` runs these seeds alone; what fails is kept in the folder RILL_KEEP."""

import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/suites/random"))
import graphs  # noqa: E402
import nests  # noqa: E402

BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
OPT, RUN = os.path.join(BUILD, "bin/ir-opt"), os.path.join(BUILD, "bin/ir-run")
LLVM = os.path.exists(os.path.join(BUILD, "lib/rill/rill-llvm.so"))
SETTLED = ["canonicalize", "cse", "dce", "fold-constants"]
GRAPH = SETTLED + ["normalize", "decompose-ops", "to-non-dataflow"]
LOWER = ["decompose-ops", "legalize", "annotate-op-pattern", "fuse-ops", "fuse-tir", "to-non-dataflow", "call-tir-rewrite",
         "schedule{target=llvm}", "split-kernels", "dce", "rewrite-dataflow-reshape", "plan-memory", "kill-after-last-use"]
KINDS = {"graph": graphs.Module, "nest": nests.Module}
NUMBER = 6  # modules of each kind


class Failure(Exception):
    pass


def call(command, what):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: took more than a minute") from None
    if done.returncode:
        raise Failure(f"{what}: status {done.returncode}\n{done.stderr[:1500]}")
    return done.stdout


def difference(got, want):
    """None, or what is wrong."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"is {got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    if got.dtype.kind == "f":
        word = f"u{got.dtype.itemsize}"
        bits = [np.ascontiguousarray(a).reshape(-1).view(word).reshape(a.shape) for a in (got, want)]
        fits = (bits[0] == bits[1]) | (np.isnan(got) & np.isnan(want))
    else:
        fits = got == want
    wrong = np.argwhere(~np.asarray(fits))
    if not len(wrong):
        return None
    first = tuple(wrong[0])
    return f"{len(wrong)} of {got.size} differ, the first at {list(map(int, first))}: {got[first]!r}, expected {want[first]!r}"


class Runner:
    def __init__(self, kind, seed, folder):
        self.rng, self.folder, self.kind = random.Random(seed), folder, kind
        self.module = KINDS[kind](self.rng)
        if kind == "graph":
            self.module.settle(call([OPT, self.write("loose", self.module.text())], "inference"))
        self.inputs = []
        for name, array in self.module.inputs():
            self.inputs.append(os.path.join(folder, name + ".npy"))
            np.save(self.inputs[-1], array)
        self.path = self.write("module", self.module.text())
        self.static = self.write("static", self.module.text(static=True))
        self.base = None

    def write(self, name, text):
        path = os.path.join(self.folder, name + ".rill")
        with open(path, "w") as file:
            file.write(text)
        return path

    def opt(self, path, passes, name):
        out = os.path.join(self.folder, name + ".rill")
        what = f"passes {' '.join(passes)} on {os.path.basename(path)}"
        call([OPT, path, "--exact", "--roundtrip-each", *["--" + p for p in passes], "-o", out], what)
        return out

    def run(self, path, target, inputs, *options):
        outputs = [os.path.join(self.folder, f"out{i}.npy") for i in range(len(self.module.results()))]
        command = [RUN, path, "--target=" + target, "--exact", "--checked=off", *options]
        command += [f"--input={i}" for i in inputs] + [f"--output={o}" for o in outputs]
        call(command, f"{os.path.basename(path)} on {target}")
        return [np.load(o) for o in outputs]

    def same(self, path, target="interp", inputs=None, *options):
        """PATH gives what the module as it stands gave."""
        got = self.run(path, target, self.inputs if inputs is None else inputs, *options)
        for g, want, (where, _, _) in zip(got, self.base, self.module.results()):
            problem = difference(g, want)
            if problem:
                raise Failure(f"{os.path.basename(path)} on {target}: {where}: {problem}")

    def as_it_stands(self):
        base = self.run(self.path, "interp", self.inputs)
        for got, (where, array, exact) in zip(base, self.module.results()):
            problem = difference(got, array)
            if problem and (exact or problem.startswith("is ")):
                raise Failure(f"{where}: {problem}, as NumPy says")
        self.base = base

    def prints(self):
        printed = self.opt(self.path, [], "printed")
        if read(printed) != read(self.opt(printed, [], "again")):
            raise Failure("printing twice gives two texts")

    def settles(self, path):
        for p in SETTLED:
            once = self.opt(path, [p], "once")
            if read(once) != read(self.opt(once, [p], "twice")):
                raise Failure(f"{p} does something when it runs again on {os.path.basename(path)}")

    def steps(self):
        yield self.as_it_stands
        yield self.prints
        yield lambda: self.settles(self.path)
        yield lambda: self.same(self.static)
        for k in range(2):
            yield lambda: self.same(self.opt(self.path, self.some_graph(), f"graph{k}"))
            yield lambda: self.same(self.opt(self.path, self.some_lower(), f"lower{k}"))
        yield lambda: self.same(self.opt(self.static, self.some_graph() + self.some_lower(), "static-lower"))
        for target in ("interp", "llvm"):
            yield lambda: self.same(self.opt(self.path, [f"default{{target={target}}}"], "default-" + target))
        if self.kind == "graph":
            constant = self.write("constant", self.module.text(static=True, constant=True))
            yield lambda: self.settles(constant)
            yield lambda: self.same(constant, "interp", [])
            yield lambda: self.same(self.opt(constant, ["fold-constants", "dce"], "folded"), "interp", [])
        if LLVM:
            yield lambda: self.same(self.path, "llvm", None, "--threads=1")
            yield lambda: self.same(self.static, "llvm", None, "--threads=3")

    def some_graph(self):
        return [self.rng.choice(GRAPH) for _ in range(self.rng.randint(1, 6))]

    def some_lower(self):
        """The way down, cut somewhere, with passes between that may stand anywhere."""
        passes = []
        for p in LOWER[: self.rng.randint(2, len(LOWER))]:
            passes.append(p)
            if self.rng.random() < 0.3:
                passes.append(self.rng.choice(SETTLED + ["normalize"]))
        return passes


def read(path):
    with open(path) as file:
        return file.read()


def run_seed(kind, seed, keep=None):
    """How many checks passed, and what was wrong."""
    passed, problems = 0, []
    with tempfile.TemporaryDirectory() as folder:
        try:
            runner = Runner(kind, seed, folder)
            for step in runner.steps():
                try:
                    step()
                    passed += 1
                except Failure as failure:
                    problems.append(str(failure))
                if runner.base is None:
                    break
        except Failure as failure:
            problems.append(str(failure))
        if keep and problems:
            shutil.copytree(folder, os.path.join(keep, f"{kind}{seed}"), dirs_exist_ok=True)
    return passed, problems


def main():
    chosen = sys.argv[1:]
    kinds, seeds = [chosen[0]] if chosen else list(KINDS), [int(a) for a in chosen[1:]] or range(NUMBER)
    passed = failed = 0
    for kind in kinds:
        for seed in seeds:
            good, problems = run_seed(kind, seed, os.environ.get("RILL_KEEP"))
            passed, failed = passed + good, failed + len(problems)
            for problem in problems:
                print(f"{kind} {seed}: {problem}", flush=True)
    print(f"random_values: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
