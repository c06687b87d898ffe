#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One real model on its way from ONNX to every target and executor: `make demo`.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${RILL_BIN:-$root/build/bin}
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
model=${1:-$data/pytorch-operator/test_operator_conv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$bin:$PATH

step() {
  echo
  echo "== $1"
  shift
  echo "\$ $*"
  "$@"
}

[ -f "$model/model.onnx" ] || { echo "no model at $model: install the package libonnx-testdata" >&2; exit 1; }
set -- "$model"/test_data_set_0/input_*.pb
inputs=()
for file in "$@"; do inputs+=("--input=$file"); done
expect=$model/test_data_set_0/output_0.pb

step "the model, as text" ir-translate --import-onnx "$model/model.onnx" -o "$work/model.rill"
sed -n '1,40p' "$work/model.rill" | cut -c1-160
step "reading it back gives the same bytes" ir-opt "$work/model.rill" -o "$work/again.rill"
cmp "$work/model.rill" "$work/again.rill" && echo "same"
step "simplified" ir-opt --canonicalize --decompose-ops --fold-constants --cse --dce --stats --elide-above=64 "$work/model.rill"
step "as tensor programs, fused" ir-opt --pipeline='decompose-ops,legalize,annotate-op-pattern,fuse-ops,fuse-tir,dce' --elide-above=64 "$work/model.rill"
step "as loops for the CPU" ir-opt --pipeline='default{target=llvm}' --elide-above=64 "$work/model.rill" -o "$work/loops.rill"
sed -n '1,60p' "$work/loops.rill" | cut -c1-160
step "as LLVM IR" ir-translate --to-llvm --opt "$work/model.rill" -o "$work/model.ll"
grep -c '^define' "$work/model.ll" | sed 's/$/ functions/'
step "as loops for devices" ir-opt --pipeline='default{target=opencl}' --elide-above=64 "$work/model.rill" -o "$work/device.rill"
sed -n '1,40p' "$work/device.rill" | cut -c1-160
step "as OpenCL C" ir-translate --to-opencl --opt "$work/model.rill" -o "$work/model.cl" --manifest="$work/model.json"
grep -c '^__kernel' "$work/model.cl" | sed 's/$/ kernels/'
step "as Metal Shading Language" ir-translate --to-msl --opt "$work/model.rill" -o "$work/model.metal"
grep '^kernel' "$work/model.metal" | cut -c1-160
step "interpreted" ir-run "$work/model.rill" --target=interp "${inputs[@]}" --expect="$expect"
step "compiled" ir-run "$work/model.rill" --target=llvm "${inputs[@]}" --expect="$expect" --stats
step "devices" ir-run --list-devices
if ir-run --list-devices | grep -q '^opencl'; then
  step "on an OpenCL device" ir-run "$work/model.rill" --target=opencl "${inputs[@]}" --expect="$expect"
fi
