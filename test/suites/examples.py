#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example of every operator in the interpreter and compares the results with its check, a Python expression over
the parameters. Symbols get small sizes, inputs are random with a few special values. scipy and torch are not needed:
the functions that checks use are written down here in NumPy, as their documentation defines them.

Each example runs as it stands, where the interpreter executes its operator, and as a tensor program, once there are
passes that make it one."""

import math
import os
import re
import subprocess
import sys
import tempfile
import types

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
SIZES = {"n": 5, "m": 4, "b": 2, "h": 6, "w": 7}
DTYPES = {"bool": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "f16": np.float16, "f32": np.float32}
# 4 ULP of a function, times a few operations; integers and data movement are exact by dtype.
RTOL, ATOL = 4e-6, 1e-6


# --- references ---
def softmax(x, axis):
    e = np.exp(x.astype(np.float64) - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def each(value, count):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    axes, kernel = x.ndim - 2, weight.shape[2:]
    stride, padding, dilation = each(stride, axes), each(padding, axes), each(dilation, axes)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0)) + tuple((p, p) for p in padding))
    extents = [(e + 2 * p - d * (k - 1) - 1) // s + 1 for e, p, d, k, s in zip(x.shape[2:], padding, dilation, kernel, stride)]
    y = np.zeros((x.shape[0], weight.shape[0], *extents))
    for o in range(weight.shape[0]):
        first = o // (weight.shape[0] // groups) * weight.shape[1]
        for at in np.ndindex(*extents):
            taps = tuple(slice(i * s, i * s + d * (k - 1) + 1, d) for i, s, d, k in zip(at, stride, dilation, kernel))
            window = padded[(slice(None), slice(first, first + weight.shape[1])) + taps]
            y[(slice(None), o) + at] = np.sum(window * weight[o], axis=tuple(range(1, x.ndim)))
    return y


def conv_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Scatters every element of x over the result, as the definition says, and cuts the padding off."""
    axes, kernel = x.ndim - 2, weight.shape[2:]
    stride, padding, dilation, extra = each(stride, axes), each(padding, axes), each(dilation, axes), each(output_padding, axes)
    whole = [(e - 1) * s + d * (k - 1) + 1 + a for e, s, d, k, a in zip(x.shape[2:], stride, dilation, kernel, extra)]
    y = np.zeros((x.shape[0], weight.shape[1] * groups, *whole))
    for c in range(x.shape[1]):
        first = c // (x.shape[1] // groups) * weight.shape[1]
        for at in np.ndindex(*x.shape[2:]):
            taps = tuple(slice(i * s, i * s + d * (k - 1) + 1, d) for i, s, d, k in zip(at, stride, dilation, kernel))
            values = x[(slice(None), c) + at].astype(np.float64).reshape((-1,) + (1,) * (axes + 1))
            y[(slice(None), slice(first, first + weight.shape[1])) + taps] += values * weight[c]
    return y[(slice(None), slice(None)) + tuple(slice(p, w - p) for p, w in zip(padding, whole))]


def windows(extent, size, stride, padding, ceil_mode):
    room = extent + 2 * padding - size
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= extent + padding:
        count -= 1  # it would start in the padding behind
    starts = [i * stride - padding for i in range(count)]
    return [(max(s, 0), min(s + size, extent)) for s in starts]


def pool(reduce, x, *axes):
    y = np.zeros(x.shape[:2] + tuple(len(a) for a in axes))
    for at in np.ndindex(*y.shape[2:]):
        part = x[(slice(None), slice(None)) + tuple(slice(*a[i]) for a, i in zip(axes, at))]
        y[(slice(None), slice(None)) + at] = reduce(part, axis=tuple(range(2, x.ndim)))
    return y


def max_pool(x, size, stride, padding=0):
    return pool(np.max, x, *(windows(e, size, stride, padding, False) for e in x.shape[2:]))


def avg_pool(x, size, stride, padding=0, ceil_mode=False, count_include_pad=True):
    assert not count_include_pad
    return pool(np.mean, x.astype(np.float64), *(windows(e, size, stride, padding, ceil_mode) for e in x.shape[2:]))


def adaptive_avg_pool(x, sizes):
    parts = [[(i * e // k, -(-(i + 1) * e // k)) for i in range(k)] for e, k in zip(x.shape[2:], sizes)]
    return pool(np.mean, x.astype(np.float64), *parts)


def batch_norm(x, mean, var, weight, bias, eps=1e-5):
    shape = (1, -1) + (1,) * (x.ndim - 2)
    scaled = (x.astype(np.float64) - mean.reshape(shape)) / np.sqrt(var.astype(np.float64).reshape(shape) + eps)
    return scaled * weight.reshape(shape) + bias.reshape(shape), mean, var


def log_softmax(x, axis):
    shifted = x.astype(np.float64) - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def standardized(x, axes, eps):
    return (x - np.mean(x, axis=axes, keepdims=True)) / np.sqrt(np.var(x, axis=axes, keepdims=True) + eps)


def layer_norm(x, shape, weight, bias, eps=1e-5):
    return standardized(x.astype(np.float64), tuple(range(-len(shape), 0)), eps) * weight + bias


def group_norm(x, groups, weight, bias, eps=1e-5):
    parts = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    along = (1, -1) + (1,) * (x.ndim - 2)
    return standardized(parts, (2,), eps).reshape(x.shape) * weight.reshape(along) + bias.reshape(along)


def instance_norm(x, weight, bias, eps=1e-5):
    return group_norm(x, x.shape[1], weight, bias, eps)


def rms_norm(x, shape, weight, eps):
    wide = x.astype(np.float64)
    return wide / np.sqrt(np.mean(wide * wide, axis=tuple(range(-len(shape), 0)), keepdims=True) + eps) * weight


def interpolate(x, sizes, mode, align_corners):
    """Bilinear, by the places of the centres of elements."""
    assert mode == "bilinear" and not align_corners
    y = x.astype(np.float64)
    for axis, size in zip((2, 3), sizes):
        place = np.clip((np.arange(size) + 0.5) * y.shape[axis] / size - 0.5, 0, y.shape[axis] - 1)
        first = np.minimum(place.astype(int), y.shape[axis] - 2)
        part = (place - first).reshape((-1,) + (1,) * (3 - axis))
        y = np.take(y, first, axis) * (1 - part) + np.take(y, first + 1, axis) * part
    return y


def nll_loss(x, targets, weights, ignore_index=-100):
    """The mean, weighted; every target is a class."""
    losses = [(-x[n, t][i] * weights[t], weights[t]) for (n, *i), t in np.ndenumerate(targets) for i in [tuple(i)] if t != ignore_index]
    return sum(a.astype(np.float64) for a, _ in losses) / sum(w.astype(np.float64) for _, w in losses)


def cross_entropy(x, targets, weights, ignore_index=-100, label_smoothing=0.0):
    log = log_softmax(x, 1)
    spread = -np.sum(log * weights, axis=1)
    counts = targets != ignore_index
    total = np.sum(weights[targets][counts].astype(np.float64))
    plain = nll_loss(log, targets, weights, ignore_index)
    return (1 - label_smoothing) * plain + label_smoothing / x.shape[1] * np.sum(spread[counts]) / total


def attention(query, key, value, bias=0.0, is_causal=False):
    """For arrays [batch, heads, sequence, depth]; what sees nothing is 0."""
    scores = query.astype(np.float64) @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]) + bias
    if is_causal:
        scores[..., np.arange(key.shape[-2]) > np.arange(query.shape[-2])[:, None]] = -np.inf
    parts = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=-1e300))
    sums = np.sum(parts, axis=-1, keepdims=True)
    return parts / np.where(sums == 0, 1, sums) @ value


functional = types.SimpleNamespace(layer_norm=layer_norm, group_norm=group_norm, instance_norm=instance_norm, rms_norm=rms_norm,
                                   batch_norm=batch_norm, interpolate=interpolate, nll_loss=nll_loss, cross_entropy=cross_entropy,
                                   scaled_dot_product_attention=attention)
for axes in (1, 2, 3):
    for name, reference in {"conv{}d": conv, "conv_transpose{}d": conv_transpose, "max_pool{}d": max_pool, "avg_pool{}d": avg_pool,
                            "adaptive_avg_pool{}d": adaptive_avg_pool}.items():
        setattr(functional, name.format(axes), reference)
special = types.SimpleNamespace(erf=np.vectorize(math.erf), softmax=softmax, log_softmax=log_softmax, expit=lambda x: 1 / (1 + np.exp(-x.astype(np.float64))))
NAMES = {"np": np, "scipy": types.SimpleNamespace(special=special),
         "torch": types.SimpleNamespace(nn=types.SimpleNamespace(functional=functional))}


# --- examples ---
def examples():
    """Operator, parameters, statements and check of each example, from the documentation that the tool writes."""
    done = subprocess.run([os.path.join(BUILD, "bin/ir-opt"), "--list-ops=md"], check=True, capture_output=True, text=True)
    for section in done.stdout.split("\n## ")[1:]:
        found = re.search(r"Example(?: with `(.*)`)?:\n\n    (.*)\n\nChecked by `(.*)`\.", section)
        if found:
            yield (section.split("`")[1],) + found.groups(default="")


def random_input(random, dtype, shape, name):
    if name == "targets":
        return random.integers(0, 3, shape)
    if name == "weights":
        return random.uniform(0.5, 2, shape).astype(DTYPES[dtype])
    if name == "indices":
        return random.integers(-shape[0], shape[0], shape)
    kind = np.dtype(DTYPES[dtype]).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        low = 0 if kind == "u" else -9
        return random.integers(low, 10, shape).astype(DTYPES[dtype])
    x = (random.normal(size=shape) * 3).astype(DTYPES[dtype])
    if name in ("moving_var", "scale"):
        return np.abs(x) + DTYPES[dtype](0.1)
    flat = x.reshape(-1)
    if name in ("x", "x1") and flat.size > 8:
        flat[:5] = [0.0, -0.0, 20.5, -30.0, 1e-7]
    return x


def inputs(random, params, sizes=SIZES):
    for name, dtype, dims in re.findall(r"%(\w+): (\w+)\[([^\]]*)\]", params):
        shape = [sizes[d] if d in sizes else int(d) for d in dims.split(", ") if d]
        yield name, random_input(random, dtype, shape, name)


def close(found, expected):
    if found.shape != np.shape(expected):
        return False
    if found.dtype.kind in "biu":
        return np.array_equal(found, expected)
    tolerance = 1e-3 if found.dtype == np.float16 else RTOL
    return np.allclose(found.astype(np.float64), np.asarray(expected, np.float64), tolerance, ATOL, equal_nan=True)




def lowering_passes():
    done = subprocess.run([os.path.join(BUILD, "bin/ir-opt"), "--list-passes"], check=True, capture_output=True, text=True)
    return ["--" + p for p in ("decompose-ops", "legalize") if re.search(rf"^\s*(--)?{p}\b", done.stdout, re.M)]


def result_types(statements):
    return re.split(r", (?=\w+\[)", statements.split(" : ")[1])


def function(name, params, statements):
    """The text of an example as a function."""
    results = ", ".join(result_types(statements))
    return f"  func @{name}({params}) -> ({results}) {{\n    {statements}\n    return {statements.split(' = ')[0]}\n  }}\n"


def run(folder, op, params, statements, check, passes, target):
    values = dict(inputs(np.random.default_rng(len(op)), params))
    types_ = result_types(statements)
    module = os.path.join(folder, "m.rill")
    with open(module, "w") as file:
        file.write(f"rill 1\nmodule {{\n{function('main', params, statements)}}}\n")
    if passes:
        lowered = os.path.join(folder, "lowered.rill")
        done = subprocess.run([os.path.join(BUILD, "bin/ir-opt"), module, *passes, "-o", lowered], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
        module = lowered
    command = [os.path.join(BUILD, "bin/ir-run"), module, "--exact", "--target=" + target]
    for name, value in values.items():
        np.save(os.path.join(folder, name + ".npy"), value)
        command.append(f"--input={name}={os.path.join(folder, name)}.npy")
    outputs = [os.path.join(folder, f"out{i}.npy") for i in range(len(types_))]
    done = subprocess.run(command + ["--output=" + o for o in outputs], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    with np.errstate(all="ignore"):
        expected = eval(check, dict(NAMES, **values))
    expected = expected if isinstance(expected, (tuple, list)) else [expected]
    for i, output in enumerate(outputs):
        found = np.load(output)
        if not close(found, expected[i]):
            return f"result {i} is\n{found}\nexpected\n{expected[i]}"
    return None


def literal(value):
    if isinstance(value, np.ndarray) and value.ndim:
        return "[" + ", ".join(literal(v) for v in value) + "]"
    if value.dtype.kind == "b":
        return "true" if value else "false"
    return repr(float(value)) if value.dtype.kind == "f" else str(int(value))


def numbers(text, sizes=SIZES):
    return re.sub(r"(?<![%.\w])[a-z]\w*\b(?!\[|=|\()", lambda m: str(sizes.get(m.group(0), m.group(0))), text)


def run_folded(folder, op, params, statements):
    """Folding equals running, bit for bit: the operator on constants, as it is and after fold-constants."""
    values = dict(inputs(np.random.default_rng(len(op)), params))
    dtypes = dict(re.findall(r"%(\w+): (\w+)\[", params))
    lines = [f"%{k} = const({literal(v)}) : {dtypes[k]}[{', '.join(map(str, v.shape))}]" for k, v in values.items()]
    names, results = statements.split(" = ")[0], numbers(statements.split(" : ")[1])
    types_ = re.split(r", (?=\w+\[)", results)
    plain, folded = os.path.join(folder, "plain.rill"), os.path.join(folder, "folded.rill")
    body = "\n    ".join(lines + [numbers(statements.split(" : ")[0]), f"return {names}"])
    with open(plain, "w") as file:
        file.write(f"rill 1\nmodule {{\n  func @main() -> ({', '.join(types_)}) {{\n    {body}\n  }}\n}}\n")
    done = subprocess.run([os.path.join(BUILD, "bin/ir-opt"), plain, "--fold-constants", "--dce", "-o", folded], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    with open(folded) as file:
        left = f" {op}(" in file.read()
    kept = []
    for module in (plain, folded):
        outputs = [os.path.join(folder, f"fold{i}.npy") for i in range(len(types_))]
        command = [os.path.join(BUILD, "bin/ir-run"), module, "--exact", "--fp=fma=false"] + ["--output=" + o for o in outputs]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
        kept.append([open(o, "rb").read() for o in outputs])
    if left and "?" not in results:
        return "was not folded"
    return None if kept[0] == kept[1] else "folding gives other bits than running"


def main():
    passed = failed = 0
    passes = lowering_passes()
    with tempfile.TemporaryDirectory() as folder:
        for op, params, statements, check in examples():
            for pipeline, target in [([], "interp"), (passes, "interp"), ([], "llvm")]:
                problem = run(folder, op, params, statements, check, pipeline, target)
                passed += problem is None
                if problem is None:
                    continue
                failed += 1
                print(f"{op} on {target}: {statements}\n{problem}")
            problem = run_folded(folder, op, params, statements)
            passed += problem is None
            if problem is not None:
                failed += 1
                print(f"{op} folded: {statements}\n{problem}")
    print(f"examples: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
