#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` writes is whole: each header compiles by itself, and examples/library builds against the installed
library as its comment says. Not with sanitizers, whose flags a program of others does not have."""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
TEXT = """rill 1
module {
  func @f(%x: f32[n]) -> f32[n] {
    %y = abs(%x) : f32[n]
    return %y
  }
}
"""


def sanitized():
    with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
        return any(line.startswith("RILL_SANITIZE") and line.rstrip().split("=", 1)[1] for line in file)


def run(command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def headers(prefix):
    """Names of installed headers, and what the compiler says of those that do not compile."""
    include = os.path.join(prefix, "include")
    names = [os.path.relpath(os.path.join(at, f), include) for at, _, files in os.walk(include) for f in files if f.endswith(".h")]
    for name in sorted(names):
        status, _, errors = run(["cc", "-std=c11", "-fsyntax-only", "-x", "c", "-I" + include, "-"], f"#include <{name}>\n")
        yield name, errors if status else None


def program(prefix):
    binary = os.path.join(prefix, "library")
    source = os.path.join(ROOT, "examples/library/library.c")
    built, _, errors = run(["cc", "-std=c11", f"-I{prefix}/include", source, f"-L{prefix}/lib", "-lrill", "-lm", "-o", binary])
    if built:
        return errors
    status, out, errors = run([binary], TEXT)
    if status or out != TEXT:
        return f"status {status}, printed {out!r} {errors}"
    status, out, errors = run([binary], TEXT.replace("abs", "abz"))
    return None if status == 1 and not out and "unknown operator 'abz'" in errors else f"bad text: status {status}, {errors}"


def main():
    if sanitized():
        print("installed: 0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as prefix:
        status, _, errors = run(["cmake", "--install", BUILD, "--prefix", prefix])
        found = [("install", errors if status else None), *headers(prefix), ("examples/library", program(prefix))]
    failed = [(name, errors) for name, errors in found if errors is not None]
    for name, errors in failed:
        print(f"{name}: {errors}")
    print(f"installed: {len(found) - len(failed)} passed, {len(failed)} failed")
    return len(failed) > 0


sys.exit(main())
