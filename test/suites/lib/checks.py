# SPDX-License-Identifier: Apache-2.0
"""Checks that a suite counts, and the line with which it ends (test/run reads it)."""

counts = {True: 0, False: 0}


def check(condition, what):
    """Counts, and says of what fails what it is, at most 3,000 characters of it; CONDITION."""
    counts[bool(condition)] += 1
    if not condition:
        print("failed:", what[:3000])
    return condition


def report(name, skipped=0):
    """The suite's last line; its exit status."""
    print(f"{name}: {counts[True]} passed, {counts[False]} failed" + (f", {skipped} skipped" if skipped else ""))
    return counts[False] > 0
