#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of CONTRIBUTING.md that a program can check: who includes whom, who allocates, who may end the process,
sizes and licence lines of files, and, in the binaries, what tools link and whether a library holds mutable state."""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
C_FILES = (".c", ".h", ".re", ".y", ".def")
SOURCES = C_FILES + (".py", ".sh", ".cmake", "CMakeLists.txt", "Makefile")
LONGEST = 1000

# A folder, and what nothing in it may include. `parser` and below are the library; a target is a folder of targets/.
FORBIDDEN = [
    ("base", r"(?!base/)"),
    ("ir", r"(passes|targets|runtime|frontends|tools|test)/"),
    ("parser", r"(passes|targets|runtime|frontends|tools|test)/"),
    ("passes", r"(targets/[^/]*/|frontends/|tools/|test/)"),
    ("runtime", r"(frontends|tools|test)/"),
    ("frontends", r"(targets|tools|test)/"),
    ("targets", r"(frontends|tools|test)/"),
]
# Headers of libraries, and the folders that may include them.
LIBRARIES = [
    (r"llvm(-c)?/", ("targets/llvm/", "runtime/llvm/")),
    (r"vulkan/", ("runtime/vulkan/", "examples/device/vulkan.c")),
    (r"CL/", ("runtime/opencl/", "examples/device/opencl.c")),
    (r"spirv/", ("targets/spirv/", "runtime/vulkan/")),
    (r"spirv-tools/", ("runtime/spirv/",)),
    (r"protobuf-c/", ("frontends/onnx/",)),
]
ALLOCATION = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|aligned_alloc|strdup|strndup|free)\s*\(")
ENDING = re.compile(r"(?<![\w.>])(exit|_exit|_Exit|quick_exit|abort)\s*\(")

passed = failed = skipped = 0


def check(rule, violations):
    """One rule; VIOLATIONS are lines that say where it is broken."""
    global passed, failed
    violations = list(violations)
    if not violations:
        passed += 1
        return
    failed += 1
    print(f"broken: {rule}")
    for line in violations[:20]:
        print("  " + line)
    if len(violations) > 20:
        print(f"  and {len(violations) - 20} more")


def skip(count=1):
    global skipped
    skipped += count


def output(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


def files():
    """What is tracked, or would be; in a tree without git everything but build folders."""
    if os.path.exists(os.path.join(ROOT, ".git")):
        names = output("git", "ls-files", "-co", "--exclude-standard", "-z").split("\0")
        return sorted({n for n in names if n and os.path.isfile(os.path.join(ROOT, n))})
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith(("build", "."))]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return sorted(found)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def code(text):
    """TEXT without comments and the insides of literals; lines keep their numbers."""
    def blank(match):
        piece = match.group()
        return "\n" * piece.count("\n") if piece.startswith("/") else piece[0] * 2
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def matches(names, pattern):
    for name in names:
        for number, line in enumerate(code(read(name)).split("\n"), 1):
            if pattern.search(line):
                yield f"{name}:{number}: {line.strip()}"


def includes(names):
    """File, line, whether in quotes, whether beside the file, and the path: from the root of the tree, or as written."""
    for name in names:
        for number, line in enumerate(read(name).split("\n"), 1):
            match = re.match(r"\s*#\s*include\s*([\"<])([^\">]+)", line)
            if not match:
                continue
            beside = os.path.normpath(os.path.join(os.path.dirname(name), match.group(2)))
            inside = match.group(1) == '"' and os.path.exists(os.path.join(ROOT, beside))
            yield name, number, match.group(1) == '"', inside, beside if inside else match.group(2)


def check_includes(names):
    found = list(includes(names))
    own = [(f"{name}:{number}: includes {path}", name, path) for name, number, quoted, _, path in found if quoted]
    for folder, pattern in FORBIDDEN:
        check(f"{folder}/ includes nothing above it",
              (text for text, name, path in own if name.startswith(folder + "/") and re.match(pattern, path)))
    target = re.compile(r"targets/([^/]+)/")
    check("a target includes no other target (but cfamily)",
          (text for text, name, path in own if (a := target.match(name)) and (b := target.match(path))
           and b.group(1) not in (a.group(1), "cfamily")))
    for pattern, folders in LIBRARIES:
        check(f"only {' and '.join(folders)} includes <{pattern}>",
              (f"{name}:{number}: includes {path}" for name, number, quoted, _, path in found
               if not quoted and re.match(pattern, path) and not name.startswith(folders + ("test/",))))
    check("the library's headers include each other by relative paths, so that they can be installed",
          (f"{name}:{number}: includes {path}" for name, number, quoted, inside, path in found
           if quoted and not inside and name.endswith(".h") and not name.startswith(("tools/", "test/"))
           and os.path.exists(os.path.join(ROOT, path))))


def check_files(names):
    own = [n for n in names if n.endswith(SOURCES) or read(n).startswith("#!")]
    check(f"no source has more than {LONGEST} lines",
          (f"{n}: {count} lines" for n in own if (count := read(n).count("\n")) > LONGEST))
    check("every source names its licence in its first lines",
          (n for n in own if not any("SPDX-License-Identifier: Apache-2.0" in line
                                     for line in read(n).split("\n")[:3])))


def check_calls(names):
    library = [n for n in names if not n.startswith(("test/", "bench/", "examples/", "utils/"))]
    check("nothing allocates from the heap outside base/ and runtime/",
          matches((n for n in library if not n.startswith(("base/", "runtime/"))), ALLOCATION))
    check("no library ends the process",
          matches((n for n in library if not n.startswith("tools/") and n != "base/arena.c"), ENDING))


def check_linking(tools):
    """Start-up must not pay for a backend that nobody asked for."""
    for tool in tools:
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", tool))
        check(f"{os.path.basename(tool)} loads backends on demand only",
              (f"linked with {n}" for n in needed if re.match(r"lib(LLVM|vulkan|OpenCL|SPIRV)", n)))


def symbols(path, which):
    return {line.split()[-1].split("@")[0] for line in output("nm", "-D", which, path).split("\n") if line}


def check_plugins(plugins, tools):
    """A plugin takes functions of the library from the tool that loads it."""
    for plugin in plugins:
        needed = {s for s in symbols(plugin, "--undefined-only") if s.startswith("ir_")}
        for tool in tools:
            missing = sorted(needed - symbols(tool, "--defined-only"))
            check(f"{os.path.basename(tool)} has what {os.path.basename(plugin)} needs", missing)


def mutable_sections(archive):
    member = ""
    for line in output("objdump", "-h", archive).split("\n"):
        if match := re.match(r"(\S+):\s+file format", line):
            member = match.group(1)
        match = re.match(r"\s*\d+ (\.t?(?:data|bss)\S*)\s+([0-9a-f]+)", line)
        if match and int(match.group(2), 16) and not match.group(1).startswith(".data.rel.ro"):
            yield f"{member}: {match.group(1)} holds {int(match.group(2), 16)} bytes"


def check_binaries():
    with open(os.path.join(BUILD, "test/build.json")) as file:
        build = json.load(file)
    folder = os.path.join(BUILD, "bin")
    tools = [os.path.join(folder, n) for n in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
    check_linking(tools)
    folder = os.path.join(BUILD, "lib/rill")
    plugins = [os.path.join(folder, n) for n in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
    static = build["shared"] == "OFF"
    if static:
        check_plugins(plugins, tools)
    # Sanitizers add data of their own, and Lemon's template a trace stream in debug builds.
    if static and not build["sanitizers"] and build["type"] == "Release":
        check("the library has no global mutable state", mutable_sections(os.path.join(BUILD, "lib/librill.a")))
    else:
        skip()


def main():
    names = files()
    sources = [n for n in names if n.endswith(C_FILES)]
    check_includes(sources)
    check_files(names)
    check_calls(sources)
    check_binaries()
    print(f"layers: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
