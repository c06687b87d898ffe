#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every public function without parameters of a module in several ways, fails where two ways do not give the same,
and prints what they give: `%ways %s %t`.

The ways: on the interpreter as it stands; folded (fold-constants) and then run; and with the constants of the function
as inputs, so that nothing folds: as tensor programs on the interpreter, and compiled where there is the LLVM plugin.
NaN of either sign prints as `nan`, since arithmetic may give any."""

import os
import re
import subprocess
import sys

FUNCTION = re.compile(r"^  func @(\w+)\(\) -> ([^\n]*) \{\n(.*?)^  \}\n", re.M | re.S)
CONSTANT = re.compile(r"^    (%\w+) = const\((.*)\) : (\w+)(\[.*\])\n", re.M)
# What .npy holds; constants of other dtypes stay in the text.
ARRAYS = {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"}


def tool(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def types(results):
    """The result types of a signature, split at the commas outside brackets."""
    inner = results[1:-1] if results.startswith("(") else results
    return [t for t in re.split(r", (?![^\[]*\])", inner) if t]


def entry(functions):
    """A function that returns the results of all of them."""
    lines, values, kinds, count = [], [], [], 0
    for name, params, results in functions:
        own = [f"%r{count + i}" for i in range(len(results))]
        count += len(own)
        arguments = "".join(f", %{name}_{p}" for p, _ in params)
        lines.append(f"    {', '.join(own)} = call(@{name}{arguments}) : {', '.join(results)}\n")
        values += own
        kinds += results
    inputs = ", ".join(f"%{name}_{p}: {t}" for name, params, _ in functions for p, t in params)
    return f"  func @entry({inputs}) -> ({', '.join(kinds)}) {{\n{''.join(lines)}    return {', '.join(values)}\n  }}\n}}\n"


def with_inputs(text, scratch):
    """The module with the constants of its functions as parameters, and the files that hold them."""
    functions, files = [], []

    def opened(match):
        name, results, body = match.groups()
        moved = [m.groups() for m in CONSTANT.finditer(body) if m[3] in ARRAYS]
        if moved:
            kinds = [dtype + dims for _, _, dtype, dims in moved]
            lines = "".join(f"    {v} = const({literal}) : {kind}\n" for (v, literal, _, _), kind in zip(moved, kinds))
            own = [f"{scratch}.{name}.{v[1:]}.npy" for v, *_ in moved]
            module = f"rill 1\nmodule {{\n  func @main() -> ({', '.join(kinds)}) {{\n{lines}    return {', '.join(v for v, *_ in moved)}\n  }}\n}}\n"
            tool("ir-run", write(scratch + ".consts.rill", module), *(f"--output={f}" for f in own))
            files.extend(own)
        functions.append((name, [(v[1:], dtype + dims) for v, _, dtype, dims in moved], types(results)))
        params = ", ".join(f"{v}: {dtype}{dims}" for v, _, dtype, dims in moved)
        rest = CONSTANT.sub(lambda m: "" if m[3] in ARRAYS else m[0], body)
        return f"  func @{name}({params}) -> {results} {{\n{rest}  }}\n"

    module = FUNCTION.sub(opened, text)
    return module.rstrip().removesuffix("}") + entry(functions), files


def run(way, *options):
    text = tool("ir-run", *options, "--exact", "--entry=entry")
    return way, re.sub(r"-nan(?!\()", "nan", re.sub(r"^\d+: ", "", text, flags=re.M)).splitlines()


def main():
    path, scratch = [a for a in sys.argv[1:] if a != "--no-llvm"]
    with open(path) as file:
        text = file.read()
    functions = [(name, [], types(results)) for name, results, _ in FUNCTION.findall(text)]
    if not functions:
        sys.exit(f"{path}: no function without parameters")
    plain = write(scratch + ".plain.rill", text.rstrip().removesuffix("}") + entry(functions))
    folded, legal = scratch + ".folded.rill", scratch + ".legal.rill"
    tool("ir-opt", "--exact", "--fold-constants", "--dce", plain, "-o", folded)
    module, files = with_inputs(text, scratch)
    inputs = [f"--input={f}" for f in files]
    opened = write(scratch + ".inputs.rill", module)
    tool("ir-opt", "--exact", "--decompose-ops", "--legalize", opened, "-o", legal)
    ways = [run("as it stands", plain, "--checked=off"), run("folded", folded, "--checked=off"),
            run("as tensor programs", legal, "--checked=off", *inputs)]
    if "--no-llvm" not in sys.argv:
        ways.append(run("compiled", opened, "--target=llvm", *inputs))
    names = [name for name, _, results in functions for _ in results]
    first, failed = ways[0][1], False
    for i, name in enumerate(names):
        if i == 0 or names[i - 1] != name:
            print("@" + name)
        print(first[i])
        for way, lines in ways[1:]:
            if lines[i] != first[i]:
                failed = True
                print(f"{way}: {lines[i]}")
    sys.exit(failed)


main()
