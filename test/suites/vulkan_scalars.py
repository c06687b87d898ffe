#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every scalar operator on every element type, over special values and random bits: SPIR-V on lavapipe against the
interpreter, bit for bit, as llvm_scalars does for compiled code. Without fma, which lavapipe rounds twice. The validation
layer watches."""

import os
import re
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
sys.path[:0] = [os.path.join(ROOT, "test/suites")]
import llvm_scalars as scalars  # noqa: E402


def main():
    if not os.path.exists(os.path.join(BUILD, "lib/rill/rill-vulkan.so")) or not os.path.exists(LAVAPIPE):
        print("vulkan_scalars: 0 passed, 0 failed, 1 skipped")
        return 0
    os.environ.update(VK_ICD_FILENAMES=LAVAPIPE, RILL_VULKAN_VALIDATION="1")
    passed = failed = 0
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for dtype in scalars.BITS:
            if (wanted and dtype not in wanted) or scalars.BITS[dtype] < 8:
                continue  # devices have no elements of 4 bits
            arrays = [scalars.data(dtype, seed) for seed in range(3)]
            inputs = [os.path.join(folder, name + ".npy") for name in "xyz"]
            for path, array in zip(inputs, arrays):
                np.save(path, array)
            cases = [c for c in scalars.cases_of(dtype) if not c.text.startswith("fma(") and not re.search(r"\b[iu]4\b", c.text + " " + str(c.result))]
            text = scalars.module(cases, False, True)
            want = scalars.run(folder, text, inputs, len(cases), "interp")
            # One invocation an element: lavapipe leaves loops after 65,535 rounds of one invocation.
            got = scalars.run(folder, text.replace("for i < n {", "for i < n bind(group.x) {"), inputs, len(cases), "vulkan")
            if want is None or got is None:
                print(f"{dtype}: did not run")
                failed += len(cases)
                continue
            for case, g, w in zip(cases, got, want):
                bad = scalars.differing(case, g, w)
                passed += not len(bad)
                failed += bool(len(bad))
                if len(bad):
                    i = bad[0]
                    print(f"{dtype}: {case.text}, to {case.result}: {len(bad)} differ; a={arrays[0][i]:#x} b={arrays[1][i]:#x} c={arrays[2][i]:#x}: "
                          f"{g[i]:#x}, expected {w[i]:#x}")
    print(f"vulkan_scalars: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
