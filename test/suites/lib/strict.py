# SPDX-License-Identifier: Apache-2.0
"""Kernels in C-like languages as their compiler takes them, without a warning: clang with address spaces."""

import os
import subprocess

CLANG = "/usr/lib/llvm-19/bin/clang"
SHIM = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "msl")
# OpenCL C 1.2 without extensions but f64. Helpers of a file may have no caller.
OPENCL = [CLANG, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-cl-ext=-all,+cl_khr_fp64,+__opencl_c_fp64", "-Xclang", "-finclude-default-header", "-Wconversion"]
MSL = [CLANG, "-x", "clcpp", "-cl-std=CLC++2021", "-Xclang", "-cl-ext=-cl_khr_fp64,-__opencl_c_fp64,+cl_khr_fp16", "-cl-no-stdinc", "-cl-single-precision-constant",
       "-I" + SHIM, "-Wno-unknown-attributes", "-ffp-contract=off"]


def warnings(compiler, path):
    """What the compiler, OPENCL or MSL, says of a file; nothing is wanted."""
    done = subprocess.run([*compiler, "-target", "spir64", "-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror", path], capture_output=True, text=True)
    return done.stderr or ("no message" if done.returncode else "")
