# SPDX-License-Identifier: Apache-2.0
"""What suites of random modules have in common: running tools, comparing bits, going through seeds."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
OPT, RUN = os.path.join(BUILD, "bin/ir-opt"), os.path.join(BUILD, "bin/ir-run")
LLVM = os.path.exists(os.path.join(BUILD, "lib/rill/rill-llvm.so"))
LIMIT = 20
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


def main(name, check, number):
    """CHECK(seed, folder) says whether the module was valid, and raises a Failure; of NUMBER seeds nine in ten have to be valid."""
    seconds, first, keep = (sys.argv[1:] + [None] * 3)[:3]
    seed = int(first or 1)
    start, passed, failed, refused = time.monotonic(), 0, 0, 0
    while time.monotonic() - start < float(seconds) if seconds else seed <= number:
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
    if not seconds and refused > number // 10:
        failed += 1
        print(f"{refused} modules were not valid")
    print(f"{name}: {passed} passed, {failed} failed, {refused} skipped")
    return 1 if failed or not passed else 0
