#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Models for other processors, linked with examples/embed and run under qemu: under --exact they give the bits of this machine.
Needs qemu-user, lld-19, libc6-dev-arm64-cross and libc6-dev-riscv64-cross (`make check-all` installs them)."""

import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
BIN = os.path.join(BUILD, "bin")
ARCHES = {
    "aarch64": (["generic-aarch64", "neoverse-n1", "cortex-a72"], "ld-linux-aarch64.so.1"),
    "riscv64": (["rv64gc"], "ld-linux-riscv64-lp64d.so.1"),
}
MODELS = {
    "functions": """
    %1 = exp(%x)
    %2 = tanh(%x)
    %3 = erf(%x)
    %4 = sigmoid(%x)
    %a = abs(%x)
    %5 = sqrt(%a)
    %6 = log(%a)
    %7 = divide(%1, %a)
    %8 = add(%2, %3)
    %9 = add(%4, %5)
    %10 = add(%6, %7)
    %11 = add(%8, %9)
    %y = add(%10, %11)""",
    "dtypes": """
    %h = astype(%x, dtype=f16)
    %h2 = multiply(%h, %h)
    %i = astype(%x, dtype=i32)
    %three = const(3) : i32[]
    %q = floor_divide(%i, %three)
    %r = floor_mod(%i, %three)
    %b = greater(%h2, 1.0)
    %d = astype(%x, dtype=f64)
    %d2 = exp(%d)
    %0 = astype(%h2, dtype=f32)
    %1 = astype(%q, dtype=f32)
    %2 = astype(%r, dtype=f32)
    %3 = astype(%b, dtype=f32)
    %4 = astype(%d2, dtype=f32)
    %5 = add(%0, %1)
    %6 = add(%2, %3)
    %7 = add(%5, %6)
    %y = add(%4, %7)""",
    "reductions": """
    %t = permute_dims(%x)
    %g = matmul(%x, %t)
    %s = nn.softmax(%g)
    %z = matmul(%s, %x)
    %m = mean(%z, axis=[1], keepdims=true)
    %n = max(%z, axis=[0], keepdims=true)
    %0 = subtract(%z, %m)
    %1 = divide(%0, %n)
    %y = round(%1)""",
}


def text_of(body):
    return "rill 1\nmodule {\n  func @main(%%x: f32[n, m]) -> f32[n, m] where n >= 1, m >= 1 {%s\n    return %%y\n  }\n}\n" % body


def missing():
    need = ["clang-19", "ld.lld-19"] + [f"qemu-{arch}" for arch in ARCHES]
    found = all(shutil.which(tool) for tool in need) and all(os.path.isdir(f"/usr/{arch}-linux-gnu/lib") for arch in ARCHES)
    return not found or not os.path.exists(os.path.join(BUILD, "lib/rill/rill-llvm.so"))


def link(folder, arch, cpu, loader):
    system = f"/usr/{arch}-linux-gnu"
    program = os.path.join(folder, "embed-" + cpu)
    host, model = os.path.join(folder, "embed.o"), os.path.join(folder, "model.o")
    run([os.path.join(BIN, "ir-translate"), "--to-llvm", "--opt", "--exact", "--cpu=" + cpu, "--emit=obj", os.path.join(folder, "m.rill"), "-o", model])
    run(["clang-19", f"--target={arch}-linux-gnu", "-isystem", system + "/include", "-I" + folder, "-O1", "-c",
         os.path.join(ROOT, "examples/embed/embed.c"), "-o", host])
    run(["ld.lld-19", "-dynamic-linker", "/lib/" + loader, "-o", program, system + "/lib/crt1.o", system + "/lib/crti.o", host, model,
         "-L" + system + "/lib", "-lc", "-lm", system + "/lib/crtn.o"])
    return [f"qemu-{arch}", "-L", system, program]


def run(command, **more):
    return subprocess.run(command, check=True, **more)


def main():
    if missing():
        print("qemu-user, lld-19 or a C library for another processor is missing")
        print(f"cross: 0 passed, 0 failed, {len(MODELS) * 4} skipped")
        return 0
    passed = failed = 0
    for name, body in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            path, data = os.path.join(folder, "m.rill"), os.path.join(folder, "x.npy")
            with open(path, "w") as file:
                file.write(text_of(body))
            run([os.path.join(BIN, "ir-translate"), "--to-llvm", "--emit=header", path, "-o", os.path.join(folder, "model.h")])
            x = (np.random.default_rng(5).standard_normal((13, 21)) * 4).astype(np.float32)
            np.save(data, x)
            run([os.path.join(BIN, "ir-run"), path, "--target=llvm", "--exact", "--input=" + data, "--output=" + data])
            expected = np.load(data)
            for arch, (cpus, loader) in ARCHES.items():
                for cpu in cpus:
                    program = link(folder, arch, cpu, loader)
                    output = run(program + ["13", "21"], input=x.tobytes(), capture_output=True).stdout
                    same = output == expected.tobytes()
                    passed += same
                    failed += not same
                    if not same:
                        print(f"{name} on {cpu}: {np.frombuffer(output, np.float32)} instead of {expected}")
    print(f"cross: {passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
