#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random tensor programs give equal bits on the interpreter as written, scheduled and split, and compiled for one thread and for more.

`random_kernels.py [SECONDS [SEED [KEEP]]]`: without arguments a fixed number from fixed seeds; failing ones are kept in the folder KEEP."""

import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "random"))
import kernels  # noqa: E402
import ways  # noqa: E402

NUMBER = 90


def check(seed, folder):
    """Whether the program was valid; raises a Failure where two ways differ."""
    kernel = kernels.Kernel(seed)
    path = ways.write(os.path.join(folder, "m.rill"), kernel.text())
    if ways.tool(ways.OPT, "--roundtrip-each", "--normalize", path)[0]:
        return False
    inputs = []
    for i, array in enumerate(kernel.feeds()):
        np.save(os.path.join(folder, f"in{i}.npy"), array)
        inputs.append(f"--input={folder}/in{i}.npy")
    count = len(kernel.outs)
    wanted = ways.run(path, inputs, count, folder)
    lowered = os.path.join(folder, "lowered.rill")
    for passes in ("canonicalize,annotate-op-pattern,call-tir-rewrite,schedule{target=llvm},split-kernels,plan-memory",
                   "annotate-op-pattern,fuse-ops,fuse-tir,schedule{target=llvm}"):
        status, _, err = ways.tool(ways.OPT, "--exact", "--roundtrip-each", "--pipeline=" + passes, path, "-o", lowered)
        if status:
            raise ways.Failure(f"--pipeline={passes}:\n{err}")
        ways.compare("--pipeline=" + passes, ways.run(lowered, inputs, count, folder), wanted)
    for threads in (1, 3) if ways.LLVM else ():
        ways.compare(f"llvm, {threads} threads", ways.run(path, inputs, count, folder, "--target=llvm", f"--threads={threads}"), wanted)
    return True


if __name__ == "__main__":
    sys.exit(ways.main("random_kernels", check, NUMBER))
