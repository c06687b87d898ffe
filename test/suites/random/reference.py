# SPDX-License-Identifier: Apache-2.0
"""What graph operators compute, in NumPy, to the bit, as docs/spec/semantics.md and operators.md define it: the oracle of
the random programs. bf16 is held as float32 with values of bf16; NaN is any NaN."""

import numpy as np

STORE = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
         "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}
FLOATS, INTS = ("f16", "bf16", "f32", "f64"), ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
NUMBERS = FLOATS + INTS


def is_float(dtype):
    return dtype in FLOATS


def wide(dtype):
    """What floats compute in."""
    return np.float64 if dtype == "f64" else np.float32


def to_bf16(a):
    a = np.asarray(a)
    if a.dtype.kind != "f" or a.dtype == np.float16:  # rounding may pass what f16 holds
        a = a.astype(np.float32)
    mantissa, exponent = np.frexp(np.where(np.isfinite(a), a, 0))
    least = np.maximum(exponent, -125)
    whole = np.rint(np.ldexp(mantissa, 8 + exponent - least))
    rounded = np.ldexp(whole, least - 8)
    rounded = np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, rounded), rounded)
    return np.where(np.isfinite(a), np.copysign(rounded, a), a).astype(np.float32)


def cast(a, source, to):
    """The values of dtype TO next to those of SOURCE."""
    a = np.asarray(a)
    if to == "bool":
        return a != 0
    if to == "bf16":
        return to_bf16(a)
    if is_float(to):
        return a.astype(STORE[to])
    if a.dtype.kind != "f":
        return a.astype(STORE[to])
    info = np.iinfo(STORE[to])
    whole = np.trunc(np.where(np.isnan(a), 0, a).astype(np.longdouble))
    return np.clip(whole, np.longdouble(info.min), np.longdouble(info.max)).astype(STORE[to])


def rounded(value, dtype):
    return cast(value, None, dtype) if is_float(dtype) else np.asarray(value).astype(STORE[dtype])


def element(function):
    """A function of floats, computed in f32 for the shorter ones and rounded once."""
    def call(dtype, *arrays):
        if is_float(dtype):
            arrays = [np.asarray(a).astype(wide(dtype)) for a in arrays]
        return rounded(function(*arrays), dtype)
    return call


def greater(a, b):
    return np.where((a > b) | (a != a), a, b)


def lesser(a, b):
    return np.where((a < b) | (a != a), a, b)


def truncdiv(a, b):
    b1 = np.where(b == 0, 1, b).astype(a.dtype)
    quotient = np.floor_divide(a, b1)
    rest = a - quotient * b1
    quotient = np.where((rest != 0) & ((a < 0) != (b1 < 0)), quotient + 1, quotient)
    if a.dtype.kind == "i":
        quotient = np.where((b == -1), np.negative(a), quotient)
    return np.where(b == 0, 0, quotient).astype(a.dtype)


def floordiv(a, b):
    if a.dtype.kind == "f":
        return np.floor_divide(a, b)
    quotient = np.floor_divide(a, np.where(b == 0, 1, b).astype(a.dtype))
    if a.dtype.kind == "i":
        quotient = np.where((b == -1), np.negative(a), quotient)
    return np.where(b == 0, 0, quotient).astype(a.dtype)


def truncmod(a, b):
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, 0, a - truncdiv(a, b) * b).astype(a.dtype)


def floormod(a, b):
    if a.dtype.kind == "f":
        return np.mod(a, b)
    return np.where(b == 0, 0, a - floordiv(a, b) * b).astype(a.dtype)


def divide(a, b):
    return a / b if a.dtype.kind == "f" else truncdiv(a, b)


def shift_left(a, b):
    width = a.dtype.itemsize * 8
    amount = b.view(f"u{a.dtype.itemsize}")
    return np.where(amount >= width, 0, np.left_shift(a, np.minimum(amount, width - 1).astype(a.dtype))).astype(a.dtype)


def shift_right(a, b):
    width = a.dtype.itemsize * 8
    amount = b.view(f"u{a.dtype.itemsize}")
    shifted = np.right_shift(a, np.minimum(amount, width - 1).astype(a.dtype))
    return np.where(amount >= width, np.where(a < 0, -1, 0) if a.dtype.kind == "i" else 0, shifted).astype(a.dtype)


def sign(a):
    return np.where((a > 0), 1, np.where(a < 0, -1, a)).astype(a.dtype)


def ramp(x, alpha):
    """max(0, min(1, alpha * x + 0.5))."""
    number = x.dtype.type
    return greater(number(0), lesser(number(1), number(alpha) * x + number(0.5)))


# --- reductions ---
def accumulator(dtype):
    if is_float(dtype):
        return wide(dtype)
    return np.int32 if dtype in ("i8", "u8") else STORE[dtype]


def lanes(rows, count, combine, identity):
    """ROWS: [..., k], reduced in the order that semantics.md calls lanes, with COUNT of them."""
    while True:
        blocks = [rows[..., i : i + 4096] for i in range(0, rows.shape[-1], 4096)]
        done = [lanes_of_block(b, count, combine, identity) for b in blocks]
        if not done:
            return np.full(rows.shape[:-1], identity, rows.dtype)
        if len(done) == 1:
            return done[0]
        rows = np.stack(done, -1)


def lanes_of_block(block, count, combine, identity):
    lane = np.full(block.shape[:-1] + (count,), identity, block.dtype)
    for i in range(0, block.shape[-1], count):
        part = block[..., i : i + count]
        lane[..., : part.shape[-1]] = combine(lane[..., : part.shape[-1]], part)
    while count > 1:
        count //= 2
        lane = combine(lane[..., :count], lane[..., count : 2 * count])
    return lane[..., 0]


def reduce(kind, dtype, x, axes, keepdims=False):
    """Axes as the operator has them; None: all."""
    axes = set(range(x.ndim)) if axes is None else {a % x.ndim for a in axes}
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = [1 if i in axes else e for i, e in enumerate(x.shape)]
    final = shape if keepdims else [x.shape[i] for i in kept]
    if not axes:
        return x.reshape(final) if kind != "mean" else rounded(x.astype(wide(dtype)) / wide(dtype)(1), dtype)
    count = int(np.prod([x.shape[i] for i in sorted(axes)], dtype=np.int64))
    rows = np.transpose(x, kept + sorted(axes)).reshape([x.shape[i] for i in kept] + [count])
    width = 32 if x.ndim - 1 in axes else 1
    if kind in ("sum", "mean"):
        total = lanes(rows.astype(accumulator(dtype)), width, np.add, 0)
        if kind == "mean":
            total = total / accumulator(dtype)(count)
        return rounded(total, dtype).reshape(final)
    info = None if is_float(dtype) else np.iinfo(STORE[dtype])
    identity = (-np.inf if kind == "max" else np.inf) if info is None else (info.min if kind == "max" else info.max)
    return lanes(rows, width, greater if kind == "max" else lesser, identity).reshape(final)


# --- products and windows ---
def matmul(dtype, a, b):
    row, column = a.ndim == 1, b.ndim == 1
    a, b = (a[None] if row else a), (b[:, None] if column else b)
    acc = accumulator(dtype)
    a, b = a.astype(acc), b.astype(acc)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = np.zeros(batch + (a.shape[-2], b.shape[-1]), acc)
    for k in range(a.shape[-1]):
        total = total + a[..., :, k, None] * b[..., k, None, :]
    total = total[..., 0, :] if row else total
    total = total[..., 0] if column else total
    return rounded(total, dtype)


def padding_of(padding):
    return list(padding) * (4 // len(padding))


def taps(x, out, offset, stride, pad):
    """For the tap at OFFSET: the elements that each window reads and whether they are inside; x: [n, c, h, w]."""
    places, inside = [], []
    for i in range(2):
        at = np.arange(out[i]) * stride[i] + offset[i] - pad[i]
        extent = x.shape[2 + i]
        inside.append((at >= 0) & (at < extent))
        places.append(np.clip(at, 0, max(extent - 1, 0)))
    ok = inside[0][:, None] & inside[1][None, :]
    if 0 in x.shape[2:]:
        return np.zeros(x.shape[:2] + tuple(out), x.dtype), ok
    return x[:, :, places[0][:, None], places[1][None, :]], ok


def conv2d(dtype, x, w, stride, padding, dilation, groups):
    pad, acc = padding_of(padding), accumulator(dtype)
    x, w = x.astype(acc), w.astype(acc)
    out = [(x.shape[2 + i] + pad[i] + pad[i + 2] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    total = np.zeros((x.shape[0], w.shape[0], *out), acc)
    per_group = w.shape[0] // groups
    for c in range(w.shape[1]):
        channel = np.arange(w.shape[0]) // max(per_group, 1) * w.shape[1] + c
        for r in range(w.shape[2]):
            for s in range(w.shape[3]):
                values, ok = taps(x, out, (r * dilation[0], s * dilation[1]), stride, pad)
                total = np.where(ok, total + values[:, channel] * w[None, :, c, r, s, None, None], total)
    return rounded(total, dtype)


def windows(x, size, stride, padding, dilation, ceil_mode):
    pad, out = padding_of(padding), []
    for i in range(2):
        room = x.shape[2 + i] + pad[i] + pad[i + 2] - dilation[i] * (size[i] - 1) - 1
        count = (-(-room // stride[i]) if ceil_mode else room // stride[i]) + 1
        if ceil_mode and (count - 1) * stride[i] >= x.shape[2 + i] + pad[i]:
            count -= 1
        out.append(count)
    return out, pad


def max_pool2d(dtype, x, size, stride, padding, dilation, ceil_mode):
    out, pad = windows(x, size, stride, padding, dilation, ceil_mode)
    least = -np.inf if is_float(dtype) else np.iinfo(STORE[dtype]).min
    best = np.full(x.shape[:2] + tuple(out), least, x.dtype)
    for r in range(size[0]):
        for s in range(size[1]):
            values, ok = taps(x, out, (r * dilation[0], s * dilation[1]), stride, pad)
            best = np.where(ok, greater(best, values), best)
    return best.astype(x.dtype)


def avg_pool2d(dtype, x, size, stride, padding, dilation, ceil_mode, include):
    out, pad = windows(x, size, stride, padding, dilation, ceil_mode)
    x = x.astype(wide(dtype))
    padded = np.ones((1, 1, x.shape[2] + pad[0] + pad[2], x.shape[3] + pad[1] + pad[3]), x.dtype)
    total, count = np.zeros(x.shape[:2] + tuple(out), x.dtype), np.zeros(out, x.dtype)
    for r in range(size[0]):
        for s in range(size[1]):
            offset = (r * dilation[0], s * dilation[1])
            values, ok = taps(x, out, offset, stride, pad)
            total = np.where(ok, total + values, total)
            count += taps(padded, out, offset, stride, (0, 0))[1] if include else ok
    return rounded(total / count, dtype)


def adaptive_avg_pool2d(dtype, x, sizes):
    x = x.astype(wide(dtype))
    out = np.zeros(x.shape[:2] + tuple(sizes), x.dtype)
    parts = [[(i * e // k, -(-(i + 1) * e // k)) for i in range(k)] for e, k in zip(x.shape[2:], sizes)]
    for i, (top, bottom) in enumerate(parts[0]):
        for j, (left, right) in enumerate(parts[1]):
            total = np.zeros(x.shape[:2], x.dtype)
            for r in range(top, bottom):
                for s in range(left, right):
                    total = total + x[:, :, r, s]
            out[:, :, i, j] = total / x.dtype.type((bottom - top) * (right - left))
    return rounded(out, dtype)


def batch_norm(dtype, x, gamma, beta, mean, var, axis, epsilon):
    at = [1] * x.ndim
    at[axis] = -1
    x, gamma, beta, mean, var = (a.astype(wide(dtype)) for a in (x, gamma, beta, mean, var))
    gamma, beta, mean, var = (a.reshape(at) for a in (gamma, beta, mean, var))
    return rounded((x - mean) / np.sqrt(var + wide(dtype)(epsilon)) * gamma + beta, dtype)


# --- moving data ---
def take(x, indices, axis):
    """Out of range: the clamped index."""
    extent = x.shape[axis]
    at = np.where(indices < 0, indices.astype(np.int64) + extent, indices.astype(np.int64)) if indices.dtype.kind == "i" else indices
    return np.take(x, np.clip(at, 0, extent - 1).astype(np.int64), axis=axis)


def pad(dtype, x, width, mode, value):
    pairs = [(width[2 * i], width[2 * i + 1]) for i in range(x.ndim)]
    if mode == "constant":
        return np.pad(x, pairs, constant_values=cast(np.asarray(value), None, dtype))
    return np.pad(x, pairs, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def along(parameter, rank, axis):
    if parameter.ndim == 0:
        return parameter
    shape = [1] * rank
    shape[axis] = -1
    return parameter.reshape(shape)


def quantize(x, scale, zero, axis, to):
    zero = along(zero, x.ndim, axis).astype(np.float32)
    return cast(np.rint(x.astype(np.float32) / along(scale, x.ndim, axis).astype(np.float32)) + zero, None, to)


def dequantize(x, scale, zero, axis):
    zero = along(zero, x.ndim, axis)
    return (x.astype(np.float32) - zero.astype(np.float32)) * along(scale, x.ndim, axis).astype(np.float32)
