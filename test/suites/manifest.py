#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Manifests: they fit their schema; a host of a few lines, which knows docs/spec/manifest.md and nothing of Rill, gets the
bits of ir-run from one (it launches kernels by running them alone); importing gives the host program back; changed ones are
refused."""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile

import jsonschema
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
sys.path[:0] = [os.path.join(ROOT, "test/suites/lib")]
from host import Host, Stop  # noqa: E402

MODEL = """rill 1
module {
  resource @scale: f32[2] = base64("AACAPwAAAEA=")
  private func @twice(%x: f32[n]) -> f32[n] {
    %0 = add(%x, %x)
    return %0
  }
  impure func @main(%x: f32[n, m], %w: f32[m, 4], %t: i64[1], %c: bool[]) -> (f32[n, 4], f32[?], f32[m], i64[2], f32[2, m], f32[m, n]) where n <= 100 {
    %b = const([0.5, -1.0, 2.0, 0.25]) : f32[4]
    %0 = matmul(%x, %w)
    %1 = add(%0, %b)
    %2 = nn.softmax(%1)
    %3 = sum(%x, axis=[0])
    %4 = call(@twice, %3)
    %5 = if %c {
      %6 = exp(%4)
      yield %6
    } else {
      yield %4
    }
    %7 = loop (%i < 3; %a: f32[m] = %5) {
      %8 = multiply(%a, 0.5)
      %9 = add(%8, %4)
      yield %9
    }
    %s = tensor_to_shape(%t)
    %k = match_cast(%s) : shape[k]
    assert(k <= 5, "too many")
    %10 = sum(%x, axis=[1])
    %11 = zeros(shape=[k], dtype=f32)
    %12 = concat(%10, %11, axis=0)
    %13 = shape_of(%x)
    %14 = shape_to_tensor(%13)
    %15 = const(@scale) : f32[2]
    %16 = reshape(%15, shape=[2, 1])
    %17 = multiply(%16, %7)
    %18 = permute_dims(%x)
    %19 = nn.softmax(%18)
    %20 = cumsum(%19, axis=0)
    return %2, %12, %7, %14, %17, %20
  }
}
"""


def tool(*command):
    done = subprocess.run([os.path.join(BUILD, "bin", command[0]), *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Alone(Host):
    """Launches a kernel by running it alone, with ir-run, between files."""

    def __init__(self, manifest, folder, kernels_text):
        super().__init__(manifest, folder)
        self.text = kernels_text

    def launch(self, name, buffers, scalars, groups):
        """The kernel alone, by ir-run, between files."""
        kernel, buffers, scalars = self.kernels[name], iter(buffers), iter(scalars)
        arguments = [next(buffers if "dtype" in p.get("type", {}) else scalars) for p in kernel["parameters"]]
        params, call, given, outs = [], [], [], []
        for parameter, argument in zip(kernel["parameters"], arguments):
            if "symbol" in parameter:
                call.append(str(int(argument)))
                continue
            type = "%s[%s]" % (parameter["type"]["dtype"], ", ".join(map(str, argument.shape))) if "dtype" in parameter["type"] else parameter["type"]["scalar"]
            if parameter["access"] != "in":
                outs.append((type, argument, parameter["access"]))
            if parameter["access"] != "out":
                value = "%%a%d" % len(given)
                path = os.path.join(self.folder, "in%d.npy" % len(given))
                np.save(path, argument)
                params.append(f"{value}: {type}")
                call.append(value)
                given.append("--input=" + path)
        inout = [i for i, p in enumerate(p for p in kernel["parameters"] if p.get("access") != "out") if p.get("access") == "inout"]
        operator = f"call_tir_inplace(@{name}, {', '.join(call)}, inplace={inout})" if inout else f"call_tir({', '.join(['@' + name, *call])})"
        names = ", ".join("%%r%d" % i for i in range(len(outs)))
        order = sorted(outs, key=lambda o: o[2] == "out")  # results: first what is overwritten, then what is fresh
        text = f"func @run({', '.join(params)}) -> ({', '.join(o[0] for o in order)}) {{\n {names} = {operator} : {', '.join(o[0] for o in order)}\n return {names}\n}}\n}}\n"
        path = os.path.join(self.folder, "kernel.rill")
        with open(path, "w") as file:
            file.write(self.text + text)
        results = [os.path.join(self.folder, "out%d.npy" % i) for i in range(len(order))]
        status, _, errors = tool("ir-run", path, "--exact", "--entry=run", *given, *("--output=" + r for r in results))
        if status:
            raise Stop(errors)
        for (_, argument, _), result in zip(order, results):
            argument[...] = np.load(result)


def walk(manifest, path):
    for key in path[:-1]:
        manifest = manifest[key]
    return manifest, path[-1]


MAIN, DELETE = ("functions", "main"), object()
# Where, what stands there then, what is said.
CHANGES = [
    (("manifest",), 1, "version 1, only 2 is known here"),
    (("manifest",), "1", "manifest: expected an integer, found a string"),
    (("extra",), 1, "unknown member 'extra'"),
    (("functions",), DELETE, "'functions' is missing"),
    (("functions", "twice"), 3, "functions.twice: expected an object"),
    (("constants_file",), DELETE, "there are constants, and no constants_file"),
    (("constants_file", "name"), "../m.bin", "'../m.bin' leaves this file's folder"),
    (("constants_file", "name"), "", "constants_file.name: expected a name"),
    (("constants_file", "bytes"), 7, "constants_file: the file has"),
    (("constants_file",), "m.bin", "constants_file: expected an object, found a string"),
    (("artifact",), DELETE, "'artifact' is missing"),
    (("artifact", "bytes"), "7", "artifact.bytes: expected an integer, found a string"),
    (("artifact", "sha256"), DELETE, "artifact: 'sha256' is missing"),
    (("functions", ""), {}, "expected a name"),
    ((*MAIN, "steps", "launch", "buffers"), [], "takes more"),
    ((*MAIN, "steps", "launch", "scalars"), ["n", ["no", "n"]], "expected an operator, found no"),
    ((*MAIN, "steps", "launch", "groups"), [1, 1], "groups: expected three axes"),
    ((*MAIN, "steps", "launch", "groups"), [1, 1, 1, 1], "groups: expected three axes"),
    ((*MAIN, "steps", "launch", "buffers"), ["%x"] * 9, "buffers, found 9"),
    ((*MAIN, "steps", "launch", "callee"), "twice", "no kernel is called 'twice'"),
    (("constants", "b", "offset"), 4, "it does not lie in the constants' file, at a multiple of 64"),
    (("constants", "b", "offset"), -64, "'offset' is -64"),
    (("constants", "b", "offset"), 1 << 40, "it does not lie in the constants' file, at a multiple of 64"),
    (("constants", "b", "bytes"), 12, "12 bytes, its elements take 16"),
    (("constants", "b", "type", "shape"), ["n"], "a constant has a tensor type with a dtype and constant extents"),
    (("constants", "b", "sha256"), "0" * 64, "the constants' file holds other bytes: their SHA-256 is"),
    (("kernels", "b"), {"symbols": [], "where": [], "parameters": []}, "the name 'b' is taken"),
    (("kernels", "add", "parameters", 0, "access"), "write", "'access' is in, out or inout"),
    (("kernels", "add", "parameters", 0, "type", "dtype"), "f33", "expected a dtype, found f33"),
    (("kernels", "add", "parameters", 0, "type"), {"shape": ["n"]}, "expected a dtype, found nothing"),
    (("kernels", "add", "parameters", 0, "type"), {"dtype": 4, "shape": ["n"]}, "expected a dtype, found an integer"),
    (("kernels", "add", "parameters", 0, "type"), "tensor", "expected a type"),
    (("kernels", "add", "parameters", 0, "type", "shape"), 4, "expected a list of extents or null"),
    (("kernels", "add", "parameters", 0, "type", "shape"), [1] * 2000, "2000 extents, at most 1024"),
    (("kernels", "add", "parameters", 0, "type", "shape"), [True], "an extent is an i64"),
    (("kernels", "add", "parameters", 0, "type", "lanes"), 4, "not implemented: buffers of vectors"),
    (("kernels", "add", "parameters", 0, "name"), "x", "a value's name begins with %: 'x'"),
    ((*MAIN, "where", 0), "n", "expected a condition"),
    ((*MAIN, "where", 0), ["<=", "n"], "'<=' takes 2 operands"),
    ((*MAIN, "where", 0), ["near", "n", 1], "expected an operator, found near"),
    ((*MAIN, "where", 0), [["<="], "n", 1], "expected an operator, found something else"),
    ((*MAIN, "where", 0), ["<=", "n", True], "'<=' takes"),
    ((*MAIN, "where", 0), ["<=", "n", None], "expected an expression, found null"),
    ((*MAIN, "where", 0), ["<=", "%x", 1], "'%x' is a value, expected an expression over symbols"),
    ((*MAIN, "where", 0), ["<=", "", 1], "'' is no name of a symbol"),
    ((*MAIN, "where", 0), ["<=", "n n", 1], "'n n' is no name of a symbol"),
    ((*MAIN, "where", 0), ["<=", "for", 1], "'for' is no name of a symbol"),
    (("kernels", "add", "parameters", 0, "type", "shape"), ["9x"], "'9x' is no name of a symbol"),
    ((*MAIN, "parameters", 0), {"symbol": "i64"}, "'i64' is no name of a symbol"),
    ((*MAIN, "where", 0), ["const", "bool", "0x2"], 'expected ["const", dtype, "0x..."], the bits of an element'),
    ((*MAIN, "where", 0), ["==", 1, ["bitcast", "i64", ["const", "f32", "0x0"]]], "bitcast between dtypes of different width"),
    ((*MAIN, "where", 0), "deep", "nested too deeply"),
    ((*MAIN, "where", 0), "wide", "an expression of more than 256 nodes"),
    ((*MAIN, "where", 0), "unbound", "unbound"),
    ((*MAIN, "attributes"), {"a": {"b": 1}}, "expected an attribute"),
    ((*MAIN, "steps", 0, "step"), "jump", "no step is called 'jump'"),
    ((*MAIN, "steps", 0, "more"), 1, "unknown member 'more'"),
    ((*MAIN, "steps", 0, "at"), 7, "'at' is [file, line, column]"),
    ((*MAIN, "steps", "launch", "buffers", 0), "%nothing", "no value is called '%nothing' here"),
    ((*MAIN, "steps", "launch", "buffers", 0), ["+", "%x", 1], "'%x' is no scalar"),
    ((*MAIN, "steps", "launch", "buffers"), DELETE, "'buffers' is missing"),
    ((*MAIN, "steps", "launch", "callee"), "nothing", "nothing"),
    ((*MAIN, "steps", "tensor", "storage"), DELETE, "'storage' is missing"),
    ((*MAIN, "steps", "tensor", "storage"), "%x", "operand 'storage'"),
    ((*MAIN, "steps", "tensor", "results", 0, "name"), "%x", "the name '%x' is taken"),
    ((*MAIN, "steps", "constant", "constant"), "nothing", "no constant is called 'nothing'"),
    ((*MAIN, "steps", "if", "condition"), "%x", "condition"),
    ((*MAIN, "steps", "result", "index"), 9, "host.result"),
]


def step_at(steps, kind):
    return next(i for i, s in enumerate(steps) if s["step"] == kind)


def changed(manifest, path, value):
    manifest = copy.deepcopy(manifest)
    path = list(path)
    if len(path) > 3 and path[2] == "steps" and isinstance(path[3], str):
        path[3] = step_at(manifest[path[0]][path[1]]["steps"], path[3])
    if value == "deep":
        value = "n"
        for _ in range(300):
            value = ["-", value]
    elif value == "wide":
        value = "n"
        for _ in range(9):
            value = ["+", value, value]
        value = ["<=", value, 1]
    elif value == "unbound":
        value = ["<=", "unbound", 1]
    holder, key = walk(manifest, path)
    if value is DELETE:
        del holder[key]
    else:
        holder[key] = value
    return manifest


def main():
    if not os.path.exists(os.path.join(BUILD, "lib/rill/rill-llvm.so")):
        print("manifest: 0 passed, 0 failed, 1 skipped")
        return 0
    passed, failed = 0, []

    def check(fine, text):
        nonlocal passed
        passed += bool(fine)
        if not fine:
            failed.append(text)

    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        with open(at("m.rill"), "w") as file:
            file.write(MODEL)
        status, _, errors = tool("ir-opt", "--default{target=llvm}", at("m.rill"), "-o", at("low.rill"))
        check(not status, errors)
        for name in ("m.json", "n.json"):
            status, _, errors = tool("ir-translate", "--to-llvm", at("low.rill"), "-o", "/dev/null", "--manifest=" + at(name))
            check(not status, errors)
        text = open(at("m.json")).read()
        check(text.replace("m.constants", "n.constants") == open(at("n.json")).read(), "two runs give different manifests")
        manifest = json.loads(text)
        with open(os.path.join(ROOT, "docs/spec/manifest.schema.json")) as file:
            schema = json.load(file)
        validator = jsonschema.Draft7Validator(schema)
        check(not list(validator.iter_errors(manifest)), "the manifest does not fit its schema")

        low = open(at("low.rill")).read()
        status, back, errors = tool("ir-translate", "--import-manifest", at("m.json"), "-o", "-")
        check(not status, errors)
        main_of = lambda t: re.sub(r"const\((\[.*?\]|@\w+)\)", "const(_)", re.search(r"\n  impure func @main.*?\n  }\n", t, re.S)[0])
        check(main_of(back) == main_of(low), "importing gives another host program")

        kernels = re.findall(r"\n  (?:private )?(?:prim_func|reducer) .*?\n  }\n", low, re.S)
        host = Alone(manifest, folder, low[: low.index("{\n") + 2] + "".join(kernels))
        rng = np.random.default_rng(3)
        for n, m, k, c in ((3, 5, 2, True), (1, 1, 0, False), (17, 2, 5, True), (2, 33, 1, False), (2, 3, 6, True), (101, 1, 0, True)):
            inputs = [rng.standard_normal((n, m)).astype("f4"), rng.standard_normal((m, 4)).astype("f4"), np.array([k]), np.array(c)]
            paths = [at("x%d.npy" % i) for i in range(4)]
            for path, array in zip(paths, inputs):
                np.save(path, array)
            outputs = [at("y%d.npy" % i) for i in range(6)]
            status, _, errors = tool("ir-run", at("low.rill"), "--exact", *("--input=" + p for p in paths), *("--output=" + o for o in outputs))
            try:
                results = host.call("main", [a.copy() for a in inputs])
            except Stop as stop:
                check(status == 1 and (str(stop) in errors or str(stop) == "where"), f"the host stops: {stop}; ir-run: {status} {errors}")
                continue
            check(not status, errors)
            for i, (result, path) in enumerate(zip(results, outputs)):
                wanted = np.load(path)
                check(result.dtype == wanted.dtype and result.shape == wanted.shape and result.tobytes() == wanted.tobytes(), f"{n}, {m}, {k}: output {i} differs")

        for path, value, message in CHANGES:
            with open(at("bad.json"), "w") as file:
                json.dump(changed(manifest, path, value), file, indent=1)
            status, out, errors = tool("ir-translate", "--import-manifest", at("bad.json"), "-o", at("bad.rill"))
            check(status == 1 and message in errors and re.match(r"[^\n]*bad\.json(:\d+:\d+)?: error: ", errors) and not os.path.exists(at("bad.rill")), f"{path}: expected '{message}', found {status} {errors}")
        for cut in range(0, len(text), max(1, len(text) // 150)):
            with open(at("bad.json"), "w") as file:
                file.write(text[:cut])
            status, _, errors = tool("ir-translate", "--import-manifest", at("bad.json"))
            check(status == 1 and "error: " in errors, f"cut at {cut}: {status} {errors}")
    for text in failed[:20]:
        print(text)
    print(f"manifest: {passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
