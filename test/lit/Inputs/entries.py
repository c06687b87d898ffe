#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs public functions of a module, each without the others, on the same arrays and on every executor there is:
`%entries FILE.rill refused|fine NAME,NAME,... [--option ...] X.npy ...`. `refused`: each run ends with one error that points into the
function, or into a private one. `fine`: the executors give the same."""

import os
import re
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r"^  func @(\w+)\(.*?^  \}\n", re.M | re.S)


def alone(text, name):
    """The module with that public function alone, on its lines."""
    return FUNCTION.sub(lambda m: m[0] if m[1] == name else "\n" * m[0].count("\n"), text)


def refusal(done, module):
    where = re.match(r"[^:]*:(\d+):\d+: error: ", done.stderr)
    once = done.stderr.count("error: ") == 1
    return done.returncode == 1 and not done.stdout and once and where and module.splitlines()[int(where[1]) - 1].strip()


def main():
    path, wish, names, *arrays = [a for a in sys.argv[1:] if a != "--no-llvm"]
    targets = ["interp"] if "--no-llvm" in sys.argv else ["interp", "llvm"]
    with open(path) as file:
        text = file.read()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "module.rill")
        for name in names.split(","):
            part = alone(text, name)
            with open(module, "w") as file:
                file.write(part)
            results = set()
            for target in targets:
                command = ["ir-run", module, "--exact", "--target=" + target, "--entry=" + name, *(a if a.startswith("--") else "--input=" + a for a in arrays)]
                done = subprocess.run(command, capture_output=True, text=True)
                results.add(done.stdout)
                if (not refusal(done, part)) if wish == "refused" else done.returncode:
                    print(f"@{name} on {target}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
                    failed = True
            if len(results) > 1:
                print(f"@{name}: executors differ:\n" + "".join(results))
                failed = True
    sys.exit(failed)


main()
