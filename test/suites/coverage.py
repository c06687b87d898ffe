# SPDX-License-Identifier: Apache-2.0
"""Everything that has a name has a lit test that names it: each pass a folder with its options, statistics and whether it
is exact; each preset, operator, target and option of a tool; each message of the parser, the verifier, inference, the
passes and the tools. Read from the tools and the sources: what is added without a test is found here."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("RILL_BUILD", os.path.join(ROOT, "build")))
LIT = os.path.join(ROOT, "test", "lit")
TOOLS = ("ir-opt", "ir-run", "ir-translate")
# Forms of their own: what a test of them holds.
FORMS = {"scalar": " : i64", "tuple_get": "[0]", "func": "func(", "if": "if ", "loop": "loop (", "dataflow": "dataflow {",
         "yield": "yield", "return": "return", "compute": "compute (", "guard": ") where", "store": "] = ", "for": "for ",
         "while": "while "}
# What only a fault of our own can bring about, or a machine without memory, disk or a linker.
UNREACHABLE = ("internal error", "failed without saying why", "the module is not valid after this pass", "syntax error",
               "an inline scalar that loads", "an operation of an unknown kind", "has no type", " results, expected ", "a broken expression", "a conversion of another number of operands",
               "a part of its type is missing", "is defined already", "no temporary folder", "is not a resource",
               "const: no resource", "nothing here can read files", "elements of tensors can be read",
               # excluded by inference already
               "a scalar operand", "a slope of more than one axis", "a fill value with axes", "more than 8 operands")
REPORTS = re.compile(r"\b(?:\w*_(?:error|error_in|warning|remark|note|fail|fail_op|missing)|fail|report|skip|problem|bad)\s*\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
FORMAT = re.compile(r"\{\{|%%|%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z)?[a-zA-Z]")

passed, failed = 0, []


def check(fine, text):
    global passed
    passed += bool(fine)
    if not fine:
        failed.append(text)


def run(*command):
    return subprocess.run([os.path.join(BUILD, "bin", command[0]), *command[1:]], check=True, stdout=subprocess.PIPE).stdout.decode()


def read(folder, endings=(".rill", ".test")):
    texts = []
    for path, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(endings):
                with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                    texts.append(file.read())
    return "\n".join(texts)


def check_passes(lit):
    text = run("ir-opt", "--list-passes=md")
    passes, presets = text.split("\n# Presets\n")
    for section in passes.split("\n## ")[1:]:
        name = section.split("\n", 1)[0]
        own = read(os.path.join(LIT, "passes", name))
        check(re.search(r"RUN:.*--" + name, own), f"pass {name}: no test in test/lit/passes/{name}/ runs it")
        options = section.split("```")[1] if "```" in section else ""
        for option in re.findall(r"^  ([a-z-]+)", options, re.M):
            check(f"{name}{{{option}=" in own or re.search(rf"{name}='?{option}=", own) or f"{name} {{ {option} =" in own,
                  f"pass {name}: no test sets its option '{option}'")
        for statistic in re.findall(r"^- `([^`]*)`: ", section, re.M):
            check(f"{name}: {statistic}: " in own, f"pass {name}: no test looks at its statistic '{statistic}'")
        if "Inexact:" in section:
            check("--exact" in own and "remark" in own, f"pass {name} is inexact: no test looks at its remarks and at --exact")
    for name, target in re.findall(r"^## ([a-z-]+)(?:\{target=([a-z0-9]+)\})?", presets, re.M):
        wanted = f"{name}{{target={target}}}" if target else f"--{name} "
        check(wanted in lit, f"preset {name}: no test runs it for target '{target}'")


def check_options():
    listed = set(re.findall(r"^  --([a-z-]+)", run("ir-opt", "--list-passes"), re.M))
    for tool in TOOLS:
        own = read(os.path.join(LIT, "tools", tool)) + read(os.path.join(LIT, "targets"))
        runs = "\n".join(line for line in own.splitlines() if "RUN:" in line and tool in line) + "\n"
        for option in re.findall(r"^  (?:-\w, )?--([a-z-]+)", run(tool, "--help"), re.M):
            if tool == "ir-opt" and option in listed:
                continue
            check(re.search(rf"--{option}[^a-z-]", runs), f"{tool}: no test in test/lit/tools/{tool}/ uses --{option}")


def check_operators(lit):
    for name in re.findall(r"^## `([^`]*)`", run("ir-opt", "--list-ops=md"), re.M):
        wanted = FORMS.get(name, f"{name}(")
        check(wanted in lit, f"operator {name}: no lit test has it")


def check_targets():
    for name in sorted(os.listdir(os.path.join(ROOT, "targets"))):
        if not os.path.isfile(os.path.join(ROOT, "targets", name, "target.c")):
            continue
        own = read(os.path.join(LIT, "targets", name))
        check(name in own and "RUN:" in own, f"target {name}: no test in test/lit/targets/{name}/")


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text)


def messages(text):
    """The format strings of reports: literals behind the opening bracket of a call, neighbours joined."""
    for call in REPORTS.finditer(text):
        depth, at, last, parts = 0, call.end() - 1, None, []
        while at < len(text):
            if text[at] == '"':
                literal = STRING.match(text, at)
                if last is not None and not text[last:at].strip():
                    parts[-1] += literal[1]
                else:
                    parts.append(literal[1])
                at = last = literal.end()
                continue
            if text[at] == "'":
                at = re.compile(r"'(?:[^'\\]|\\.)+'|'").match(text, at).end()
                continue
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            if not depth:
                break
            at += 1
        line = text.count("\n", 0, call.start()) + 1
        yield from ((line, part) for part in parts)


def check_messages(tests):
    for folder, wanted in (("parser", r"."), ("ir", r"^(infer|verify)"), ("passes", r"."), ("tools", r".")):
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if not name.endswith((".c", ".y", ".re")) or not re.search(wanted, name):
                    continue
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    text = file.read()
                for line, message in messages(text):
                    message = unescaped(message)
                    part = max(FORMAT.split(message), key=len).strip()
                    if len(part) < 6 or " " not in part or any(word in message for word in UNREACHABLE):
                        continue
                    where = os.path.relpath(os.path.join(path, name), ROOT)
                    check(part in tests, f"{where}:{line}: no test has the message '{message}'")


def main():
    lit = read(LIT)
    check_passes(lit)
    check_options()
    check_operators(lit)
    check_targets()
    everything = lit + read(os.path.join(ROOT, "test", "unit"), (".c", ".h")) + read(os.path.join(ROOT, "test", "suites"), (".py", ".sh"))
    check_messages(everything + unescaped(everything))
    for text in failed:
        print(text)
    print(f"coverage: {passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
