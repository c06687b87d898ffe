# SPDX-License-Identifier: Apache-2.0
"""How the tests below this folder run: `test/run lit`, or lit.py on a file or folder here. RILL_BUILD names the build
folder, `build` where it is not set."""

import json
import os

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
build = os.path.abspath(os.environ.get("RILL_BUILD", os.path.join(root, "build")))
llvm = "/usr/lib/llvm-19/bin"
models = os.path.join(os.path.dirname(root), "shared", "models")
lavapipe = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
onnx_data = "/usr/share/libonnx-testdata/data"

config.name = "rill"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".rill", ".test"]  # .onnx.test ends in .test
config.excludes = ["Inputs", "lit.cfg.py"]
config.test_source_root = os.path.join(root, "test", "lit")
config.test_exec_root = os.path.join(build, "test", "lit")

# The tools of this build first, then FileCheck, not, count and split-file, then the system (opt-19, cc, spirv-val).
path = [os.path.join(build, "bin"), llvm, "/usr/local/bin", "/usr/bin", "/bin"]
config.environment = {
    "PATH": os.pathsep.join(path),
    "LC_ALL": "C",
    "TZ": "UTC",
    "HOME": "/nonexistent",
    "POCL_CACHE_DIR": os.path.join(build, "test", "pocl"),
    "FILECHECK_OPTS": "--enable-var-scope --allow-unused-prefixes=false",
}
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

for tool in ("FileCheck", "not", "count", "split-file"):
    if not os.path.exists(os.path.join(llvm, tool)):
        lit_config.fatal(f"{tool} is missing: install the package llvm-19-tools, or run `make setup`")

config.substitutions += [
    ("%models", models),
    ("%onnxdata", onnx_data),
    ("%examples", os.path.join(root, "examples")),
    ("%npy", "/usr/bin/python3 " + os.path.join(root, "test/lit/Inputs/npy.py")),
    ("%exits", "/usr/bin/python3 " + os.path.join(root, "test/lit/Inputs/exits.py")),
    ("%safetensors", "/usr/bin/python3 " + os.path.join(root, "test/lit/Inputs/safetensors.py")),
    (r"\bpython\b", "/usr/bin/python3"),
    # On lavapipe, with the validation layer, whose messages are errors.
    ("%vulkan", f"env VK_ICD_FILENAMES={lavapipe} RILL_VULKAN_VALIDATION=1"),
    # OpenCL C 1.2 as strictly as there is a compiler for it: no extension but f64, no warning.
    ("%strict-cl", "/usr/lib/llvm-19/bin/clang -x cl -cl-std=CL1.2 -target spir64 -Xclang -cl-ext=-all,+cl_khr_fp64,+__opencl_c_fp64 -Xclang -finclude-default-header "
                   "-fsyntax-only -Wall -Wextra -Wconversion -Wno-unused-function -Wno-unused-parameter -Wno-unused-but-set-parameter -Werror"),
]

with open(os.path.join(build, "test", "build.json")) as file:
    sanitizers = json.load(file)["sanitizers"]
features = {
    "models": os.path.isdir(models),
    "onnx-testdata": os.path.isdir(onnx_data),
    "opencl": os.path.exists(os.path.join(build, "lib", "rill", "rill-opencl.so")) and os.path.exists("/etc/OpenCL/vendors/pocl.icd"),
    "spirv": os.path.exists(os.path.join(build, "lib", "rill", "rill-spirv.so")),
    "vulkan": os.path.exists(os.path.join(build, "lib", "rill", "rill-vulkan.so")) and os.path.exists(lavapipe),
    "llvm": os.path.exists(os.path.join(build, "lib", "rill", "rill-llvm.so")),
    "asan": "address" in sanitizers,
}
config.available_features.update(name for name, present in features.items() if present)
for name in ("ways", "entries"):
    script = "/usr/bin/python3 " + os.path.join(root, "test/lit/Inputs", name + ".py")
    config.substitutions += [("%" + name, script if features["llvm"] else script + " --no-llvm")]
targets = "interp,llvm" if features["llvm"] else "interp"
models_in = os.path.join(root, "test/lit/frontends/Inputs")
config.substitutions += [("%import", f"env PYTHONPATH={models_in} PYTHONDONTWRITEBYTECODE=1 RILL_TARGETS={targets} /usr/bin/python3")]
