#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Drivers that lack something, refuse something or lose their device: ir-run names what is wrong and ends with status 1. A
preloaded library (lib/faults.c) makes the drivers of this machine be so."""

import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/suites/lib")]
from checks import check, report  # noqa: E402

BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
ENV = {"opencl": {"POCL_CACHE_DIR": os.path.join(BUILD, "test/pocl")}, "vulkan": {"VK_ICD_FILENAMES": "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"}}
MODULE = """rill 1
module {
  func @main(%x: f32[n]) -> f32[n] {
    %0 = exp(%x)
    %1 = flip(%0, axis=0)
    return %1
  }
  func @wide(%x: f32[n]) -> f64[n] {
    %0 = astype(%x, dtype=f64)
    %1 = exp(%0)
    return %1
  }
  func @less(%x: f32[n]) -> bool[n] {
    %0 = less(%x, %x)
    return %0
  }
  func @half(%x: f32[n]) -> f16[n] {
    %0 = astype(%x, dtype=f16)
    return %0
  }
  prim_func @turned(%x: f32[n], out %y: f32[n]) {
    for g < ceildiv(n, 64) bind(group.x) {
      %t = alloc(scope=shared) : f32[64]
      for l < 64 bind(local.x) {
        if g * 64 + l < n {
          %t[l] = %x[g * 64 + l]
        }
        barrier()
        if g * 64 + l < n {
          %y[g * 64 + l] = %t[l]
        }
      }
    }
  }
  func @shared(%x: f32[n]) -> f32[n] {
    %0 = alloc() : f32[n]
    call(@turned, %x, %0)
    return %0
  }
  prim_func @sum(PARAMS, %x: f32[n], out %y: f32[n]) {
    for g < n bind(group.x) {
      %y[g] = f32(SUM)
    }
  }
  func @scalars(%x: f32[n]) -> f32[n] {
    %0 = alloc() : f32[n]
    call(@sum, VALUES, %x, %0)
    return %0
  }
}
"""
for name, join, form in (("PARAMS", ", ", "s{}: i64"), ("SUM", " + ", "s{}"), ("VALUES", ", ", "{}")):
    MODULE = MODULE.replace(name, join.join(form.format(i) for i in range(20)))
# Executor, function, FAULT, what is said.
ROWS = [
    ("vulkan", "main", "devices=0", "vulkan: error: no driver has a device"),
    ("vulkan", "main", "version=0", "has Vulkan 1.0: 1.1 is needed"),
    ("vulkan", "main", "shaderInt64", "vulkan: error: the device has no shaderInt64, which the kernels need"),
    ("vulkan", "wide", "shaderFloat64", "vulkan: error: the device has no shaderFloat64, which the kernels need"),
    ("vulkan", "less", "storageBuffer8BitAccess", "vulkan: error: the device has no storageBuffer8BitAccess, which the kernels need"),
    ("vulkan", "half", "storageBuffer16BitAccess", "vulkan: error: the device has no storageBuffer16BitAccess, which the kernels need"),
    ("vulkan", "main", "shaderSignedZeroInfNanPreserveFloat32", "vulkan: error: the device has no shaderSignedZeroInfNanPreserveFloat32"),
    ("vulkan", "wide", "shaderSignedZeroInfNanPreserveFloat64", "vulkan: error: the device has no shaderSignedZeroInfNanPreserveFloat64"),
    ("vulkan", "main", "maxMemoryAllocationSize=16", "vulkan: error: a buffer of 280 bytes: the device takes 16 at most (maxMemoryAllocationSize)"),
    ("vulkan", "scalars", "maxUniformBufferRange=160", "m.rill:40:13: error: vulkan: @sum has scalars in bytes of 168, the device takes 160 at most (maxUniformBufferRange)"),
    ("vulkan", "main", "vkCreateBuffer=-2", "vulkan: error: vkCreateBuffer: no memory is left on the device (-2)"),
    ("vulkan", "main", "vkAllocateMemory=-1", "vulkan: error: vkAllocateMemory: no memory is left on the host (-1)"),
    ("vulkan", "main", "vkCreateShaderModule=-1000012000", "vulkan: error: vkCreateShaderModule: the driver refuses the kernels (-1000012000)"),
    ("vulkan", "main", "vkCreateComputePipelines=-13", "m.rill:5:10: error: vulkan: @fused_exp_flip: vkCreateComputePipelines: unknown error (-13)"),
    ("vulkan", "main", "vkQueueSubmit=-4", "vulkan: error: vkQueueSubmit: the device was lost (-4)"),
    ("vulkan", "main", "vkWaitForFences=-4", "vulkan: error: vkWaitForFences: the device was lost (-4)"),
    ("opencl", "main", "clGetDeviceIDs=-1", "opencl: error: no driver has a device"),
    ("opencl", "wide", "cl_khr_fp64", "opencl: error: the device has no f64 (cl_khr_fp64), which the kernels compute with"),
    ("opencl", "main", "CL_DEVICE_MAX_MEM_ALLOC_SIZE=16", "opencl: error: a buffer of 280 bytes: the device takes 16 at most (CL_DEVICE_MAX_MEM_ALLOC_SIZE)"),
    ("opencl", "shared", "CL_DEVICE_MAX_WORK_GROUP_SIZE=32", "m.rill:21:13: error: opencl: @turned has a workgroup of 64, the device takes 32 at most (CL_DEVICE_MAX_WORK_GROUP_SIZE)"),
    ("opencl", "shared", "CL_DEVICE_MAX_WORK_ITEM_SIZES=32", "m.rill:21:13: error: opencl: @turned has a workgroup of 64, the device takes 32 at most (CL_DEVICE_MAX_WORK_ITEM_SIZES)"),
    ("opencl", "shared", "clEnqueueNDRangeKernel=-54", "m.rill:21:13: error: opencl: @turned: clEnqueueNDRangeKernel: CL_INVALID_WORK_GROUP_SIZE (-54)"),
    ("opencl", "shared", "CL_DEVICE_LOCAL_MEM_SIZE=255", "m.rill:21:13: error: opencl: @turned has workgroup memory of 256, the device takes 255 at most (CL_DEVICE_LOCAL_MEM_SIZE)"),
    ("opencl", "main", "clBuildProgram=-11", "opencl: error: the driver's compiler refuses the kernels: CL_BUILD_PROGRAM_FAILURE (-11)"),
    ("opencl", "main", "clBuildProgram=-3", "opencl: error: the driver's compiler refuses the kernels: CL_COMPILER_NOT_AVAILABLE (-3)"),
    ("opencl", "main", "clEnqueueNDRangeKernel=-5", "m.rill:5:10: error: opencl: @fused_exp_flip: clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5)"),
    ("opencl", "main", "clEnqueueReadBuffer=-14", "opencl: error: clEnqueueReadBuffer: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14)"),
]


def shim(folder):
    path = os.path.join(folder, "faults.so")
    done = subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", os.path.join(ROOT, "test/suites/lib/faults.c"), "-o", path],
                          capture_output=True, text=True)
    return path if check(not done.returncode, done.stderr) else None


def run(folder, library, executor, function, fault):
    command = [os.path.join(BUILD, "bin/ir-run"), "m.rill", "--entry=" + function, "--target=" + executor, "--input=x.npy", "--output=y.npy"]
    preload = f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=60,
                          env={**os.environ, **ENV[executor], "LD_PRELOAD": preload, "FAULT": fault})


def main():
    there = [e for e in ENV if os.path.exists(os.path.join(BUILD, f"lib/rill/rill-{e}.so"))]
    if not there:
        print("device_faults: 0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "x.npy"), np.linspace(-1, 1, 70).astype("f4"))
        with open(os.path.join(folder, "m.rill"), "w") as file:
            file.write(MODULE)
        library = shim(folder)
        for executor, function, fault, said in ROWS if library else ():
            if executor in there:
                done = run(folder, library, executor, function, fault)
                check(done.returncode == 1 and said in done.stderr, f"{executor}, {fault}: status {done.returncode}, {done.stderr[:200]!r}, expected {said!r}")
        if library and "vulkan" in there:
            # What the device can do about accesses that miss a buffer is turned on, and nothing is asked for that it cannot.
            for fault, said in (("asked", "robustBufferAccess: 1\n"), ("robustBufferAccess", "robustBufferAccess: 0\n")):
                done = run(folder, library, "vulkan", "main", fault)
                check(done.returncode == 0 and done.stderr == said, f"{fault}: status {done.returncode}, {done.stderr!r}")
    return report("device_faults")


sys.exit(main())
