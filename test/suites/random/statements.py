# SPDX-License-Identifier: Apache-2.0
"""Kinds of statements of random graph functions: each makes one, or returns None where nothing fits."""

import re

import numpy as np

import reference as ref
from nodes import Dataflow, If, Loop, Op, Value, number

MOST_ELEMENTS = 4000
KINDS, WEIGHTS = [], []


def kind(weight):
    def add(function):
        KINDS.append(function)
        WEIGHTS.append(weight)
        return function
    return add


UNARY = {  # operator: dtypes, element, whether to the bit
    "abs": (ref.NUMBERS, np.abs, True), "negative": (ref.NUMBERS, np.negative, True), "sign": (ref.NUMBERS, ref.sign, True),
    "floor": (ref.NUMBERS, np.floor, True), "ceil": (ref.NUMBERS, np.ceil, True), "round": (ref.NUMBERS, np.rint, True),
    "trunc": (ref.NUMBERS, np.trunc, True), "sqrt": (ref.FLOATS, np.sqrt, True),
    "rsqrt": (ref.FLOATS, lambda x: x.dtype.type(1) / np.sqrt(x), True), "square": (ref.NUMBERS, np.square, True),
    "nn.relu": (ref.NUMBERS, lambda x: ref.greater(x.dtype.type(0), x), True),
    "nn.relu6": (ref.NUMBERS, lambda x: ref.lesser(x.dtype.type(6), ref.greater(x.dtype.type(0), x)), True),
    "nn.leakyrelu": (ref.FLOATS, lambda x: np.where(x >= 0, x, x.dtype.type(0.01) * x), True),
    "exp": (ref.FLOATS, np.exp, False), "log": (ref.FLOATS, np.log, False), "tanh": (ref.FLOATS, np.tanh, False),
    "erf": (ref.FLOATS, np.tanh, False), "sigmoid": (ref.FLOATS, np.tanh, False), "nn.gelu": (ref.FLOATS, np.tanh, False),
    "nn.gelu_tanh": (ref.FLOATS, np.tanh, False), "nn.silu": (ref.FLOATS, np.tanh, False), "nn.selu": (ref.FLOATS, np.tanh, False),
    "nn.softplus": (ref.FLOATS, np.tanh, False),
    "nn.hard_sigmoid": (ref.FLOATS, lambda x: ref.ramp(x, 0.2), True),
    "nn.hard_swish": (ref.FLOATS, lambda x: x * ref.ramp(x, 1 / 6), True),
}
ROUNDERS = {"floor", "ceil", "round", "trunc"}
BINARY = {
    "add": (ref.NUMBERS, np.add), "subtract": (ref.NUMBERS, np.subtract), "multiply": (ref.NUMBERS, np.multiply),
    "divide": (ref.NUMBERS, ref.divide), "floor_divide": (ref.NUMBERS, ref.floordiv), "mod": (ref.NUMBERS, ref.truncmod),
    "floor_mod": (ref.NUMBERS, ref.floormod), "maximum": (ref.NUMBERS, ref.greater), "minimum": (ref.NUMBERS, ref.lesser),
    "left_shift": (ref.INTS, ref.shift_left), "right_shift": (ref.INTS, ref.shift_right),
    "bitwise_and": (ref.INTS + ("bool",), np.bitwise_and), "bitwise_or": (ref.INTS + ("bool",), np.bitwise_or),
    "bitwise_xor": (ref.INTS + ("bool",), np.bitwise_xor), "log_add_exp": (ref.FLOATS, np.logaddexp),
}
COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
           "greater_equal": np.greater_equal}
LOGIC = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


@kind(14)
def unary(f):
    name = f.rng.choice(list(UNARY))
    dtypes, function, exact = UNARY[name]
    x = f.pick(dtypes)
    if not x:
        return None
    function = (lambda a: a) if name in ROUNDERS and not ref.is_float(x.dtype) else function
    element = ref.element(function)
    return f.emit(f"{name}({x.name})", [x], [(x.dtype, x.dims)], lambda a: element(x.dtype, a), exact)


@kind(14)
def binary(f):
    name = f.rng.choice(list(BINARY))
    dtypes, function = BINARY[name]
    x = f.pick(dtypes)
    if not x:
        return None
    element, exact = ref.element(function), name != "log_add_exp"
    if f.rng.random() < 0.15 and x.dtype != "bool":
        value = np.asarray(f.rng.choice((0, 1, 2, 3, 5, 7)), ref.STORE[x.dtype])
        text, flip = number(value, x.dtype), f.rng.random() < 0.3
        call = f"{name}({text}, {x.name})" if flip else f"{name}({x.name}, {text})"
        return f.emit(call, [x], [(x.dtype, x.dims)], lambda a: element(x.dtype, *((value, a) if flip else (a, value))), exact)
    y = f.partner(x)
    if f.rng.random() < 0.5:
        x, y = y, x
    return f.emit(f"{name}({x.name}, {y.name})", [x, y], [(x.dtype, f.broadcast(x, y))], lambda a, b: element(x.dtype, a, b), exact)


@kind(5)
def compare(f):
    table = f.rng.choice((COMPARE, COMPARE, LOGIC, TESTS))
    name = f.rng.choice(list(table))
    x = f.pick(("bool",) if table is LOGIC else ref.NUMBERS)
    if not x:
        return None
    if table is TESTS:
        return f.emit(f"{name}({x.name})", [x], [("bool", x.dims)], table[name])
    y = f.partner(x)
    return f.emit(f"{name}({x.name}, {y.name})", [x, y], [("bool", f.broadcast(x, y))], table[name])


@kind(2)
def invert(f):
    x = f.pick(ref.INTS + ("bool",))
    return x and f.emit(f"bitwise_not({x.name})", [x], [(x.dtype, x.dims)], np.invert)


@kind(3)
def where(f):
    x = f.pick()
    y = f.partner(x)
    dims = f.broadcast(x, y)
    c = f.pick(("bool",), good=lambda v: v.dims == tuple(dims) or v.rank == 0) if "bool" in f.dtypes else None
    if not c or c.dtype != "bool" or (c.dims != tuple(dims) and c.rank):
        return None
    return f.emit(f"where({c.name}, {x.name}, {y.name})", [c, x, y], [(x.dtype, dims)], lambda c, a, b: np.where(c, a, b).astype(a.dtype))


@kind(2)
def multiply_add(f):
    x = f.pick(ref.NUMBERS)
    y, z = f.partner(x), f.partner(x)
    try:
        dims = f.broadcast(x, y, z)
        if np.prod(np.broadcast_shapes(x.shape, y.shape, z.shape), dtype=np.int64) > MOST_ELEMENTS:
            return None
    except ValueError:
        return None
    element = ref.element(lambda a, b, c: a * b + c)
    return f.emit(f"ewise_fma({x.name}, {y.name}, {z.name})", [x, y, z], [(x.dtype, dims)], lambda *a: element(x.dtype, *a))


@kind(6)
def cast(f):
    x = f.pick()
    to = f.rng.choice(f.dtypes + ["bf16"])
    return f.emit(f"astype({x.name}, dtype={to})", [x], [(to, x.dims)], lambda a: ref.cast(a, x.dtype, to))


@kind(2)
def clip(f):
    x = f.pick(ref.NUMBERS)
    low, high = sorted((f.rng.randint(0, 5), f.rng.randint(0, 99)))
    low, high = ref.cast(np.asarray(low / 2 if ref.is_float(x.dtype) else low), None, x.dtype), ref.cast(np.asarray(high), None, x.dtype)
    call = f"clip({x.name}, min={number(low, x.dtype)}, max={number(high, x.dtype)})"
    return f.emit(call, [x], [(x.dtype, x.dims)], lambda a: ref.lesser(high, ref.greater(low, a)).astype(a.dtype))


def some_axes(f, rank):
    """Text and list of distinct axes, some counted from the end."""
    axes = f.rng.sample(range(rank), f.rng.randint(0 if rank and f.rng.random() < 0.1 else min(rank, 1), rank))
    axes = [a - rank if f.rng.random() < 0.3 else a for a in axes]
    return "[" + ", ".join(map(str, axes)) + "]", axes


@kind(8)
def reduce(f):
    name = f.rng.choice(("sum", "mean", "max", "min"))
    x = f.pick(ref.FLOATS if name == "mean" else ref.NUMBERS)
    if not x:
        return None
    keep, text, axes = f.rng.random() < 0.4, "", None
    if f.rng.random() < 0.8:
        written, axes = some_axes(f, x.rank)
        text = f", axis={written}"
    gone = set(range(x.rank)) if axes is None else {a % x.rank for a in axes}
    dims = [("1" if i in gone else d) for i, d in enumerate(x.dims) if keep or i not in gone]
    text += ", keepdims=true" if keep else ""
    return f.emit(f"{name}({x.name}{text})", [x], [(x.dtype, dims)], lambda a: ref.reduce(name, x.dtype, a, axes, keep))


@kind(3)
def matmul(f):
    x = f.pick(ref.NUMBERS, (1, 2, 3), largest=600)
    if not x:
        return None
    depth, wide = x.dims[-1], f.rng.choice((1, 1, 0, 2)) if x.rank > 1 else f.rng.choice((0, 1))
    columns = [f.dim()[0] for _ in range(min(wide, 1))]
    batch = list(x.dims[:-2])[:1] if wide == 2 and x.rank == 3 else []
    if not wide:
        columns, batch = [], []
    dims = batch + [depth] + columns
    known = [v for v in f.visible() if v.dtype == x.dtype and list(v.dims) == dims]
    if not known and x.dtype not in f.dtypes:
        return None
    y = f.rng.choice(known) if known else f.param(x.dtype, dims)
    result = list(x.dims[:-1]) + columns
    if np.prod([f.size(d) for d in result], dtype=np.int64) > MOST_ELEMENTS:
        return None
    return f.emit(f"matmul({x.name}, {y.name})", [x, y], [(x.dtype, result)], lambda a, b: ref.matmul(x.dtype, a, b))


@kind(3)
def reshape(f):
    x = f.pick()
    if f.rng.random() < 0.4:
        dims = [" * ".join(f"({d})" for d in x.dims) or "1"]
        return f.emit(f"flatten({x.name})", [x], [(x.dtype, dims)], lambda a: a.reshape(-1))
    dims = list(x.dims)
    if len(dims) > 1 and f.rng.random() < 0.6:
        at = f.rng.randrange(len(dims) - 1)
        dims[at : at + 2] = [f"({dims[at]}) * ({dims[at + 1]})"]
    else:
        dims.insert(f.rng.randint(0, len(dims)), "1")
    shape = [f.size(d) for d in dims]
    return f.emit(f"reshape({x.name}, shape=[{', '.join(dims)}])", [x], [(x.dtype, dims)], lambda a: a.reshape(shape))


@kind(4)
def permute(f):
    x = f.pick()
    order = list(range(x.rank))
    f.rng.shuffle(order)
    text = f", axes=[{', '.join(str(a - x.rank if f.rng.random() < 0.2 else a) for a in order)}]"
    if f.rng.random() < 0.2:
        order, text = list(range(x.rank))[::-1], ""
    return f.emit(f"permute_dims({x.name}{text})", [x], [(x.dtype, [x.dims[a] for a in order])], lambda a: np.transpose(a, order))


@kind(3)
def expand(f):
    x = f.pick(ranks=range(4))
    rank = x.rank + f.rng.randint(1, 2)
    axes = f.rng.sample(range(rank), rank - x.rank)
    dims = iter(x.dims)
    dims = ["1" if i in axes else next(dims) for i in range(rank)]
    text = ", ".join(str(a - rank if f.rng.random() < 0.3 else a) for a in axes)
    return f.emit(f"expand_dims({x.name}, axis=[{text}])", [x], [(x.dtype, dims)], lambda a: np.expand_dims(a, tuple(axes)))


@kind(2)
def squeeze(f):
    x = f.pick(good=lambda v: "1" in v.dims)
    if not x or "1" not in x.dims:
        return None
    axes = [i for i, d in enumerate(x.dims) if d == "1"][: f.rng.randint(1, 2)]
    dims = [d for i, d in enumerate(x.dims) if i not in axes]
    text = ", ".join(str(a - x.rank if f.rng.random() < 0.3 else a) for a in axes)
    return f.emit(f"squeeze({x.name}, axis=[{text}])", [x], [(x.dtype, dims)], lambda a: np.squeeze(a, tuple(axes)))


@kind(3)
def spread(f):
    x = f.pick(ranks=range(4), largest=300)
    dims = [f.dim()[0] if d == "1" and f.rng.random() < 0.7 else d for d in x.dims]
    if f.rng.random() < 0.5:
        dims.insert(0, f.dim()[0])
    shape = [f.size(d) for d in dims]
    if np.prod(shape, dtype=np.int64) > MOST_ELEMENTS:
        return None
    return f.emit(f"broadcast_to({x.name}, shape=[{', '.join(dims)}])", [x], [(x.dtype, dims)], lambda a: np.broadcast_to(a, shape).copy())


@kind(4)
def concat(f):
    x = f.pick(ranks=range(1, 5), largest=1000)
    axis = f.rng.randrange(x.rank)
    others = [v for v in f.visible() if v.dtype == x.dtype and v.rank == x.rank and v.array.size <= 1000
              and all(a == b for i, (a, b) in enumerate(zip(v.dims, x.dims)) if i != axis)]
    parts = [x] + [f.rng.choice(others) for _ in range(f.rng.randint(0, 2))]
    f.rng.shuffle(parts)
    dims = list(x.dims)
    dims[axis] = " + ".join(f"({p.dims[axis]})" for p in parts)
    text = axis - x.rank if f.rng.random() < 0.3 else axis
    return f.emit(f"concat({', '.join(p.name for p in parts)}, axis={text})", parts, [(x.dtype, dims)], lambda *a: np.concatenate(a, axis))


@kind(3)
def split(f):
    x = f.pick(ranks=range(1, 5), good=lambda v: any(d.isdigit() for d in v.dims))
    if not x:
        return None
    axes = [i for i, d in enumerate(x.dims) if d.isdigit()]
    if not axes:
        return None
    axis = f.rng.choice(axes)
    extent = x.shape[axis]
    cuts = sorted(f.rng.randint(0, extent) for _ in range(f.rng.randint(1, 2)))
    parts, text = np.diff([0] + cuts + [extent]), f"indices={cuts}"
    if f.rng.random() < 0.4 and extent:
        sections = f.rng.choice([s for s in range(1, extent + 1) if extent % s == 0][:3])
        cuts, text = [extent // sections * i for i in range(1, sections)], f"sections={sections}"
        parts = [extent // sections] * sections
    results = [(x.dtype, [str(p) if i == axis else d for i, d in enumerate(x.dims)]) for p in parts]
    return f.emit(f"split({x.name}, {text}, axis={axis})", [x], results, lambda a: tuple(np.split(a, cuts, axis)))


@kind(5)
def slice_(f):
    x = f.pick(ranks=range(1, 5))
    axes = f.rng.sample(range(x.rank), f.rng.randint(1, x.rank))
    begin, end, strides, dims, cut = [], [], [], list(x.dims), [slice(None)] * x.rank
    for a in axes:
        extent, step = x.shape[a], f.rng.choice((1, 1, 1, 2, 3, -1, -2))
        known = x.dims[a].isdigit()
        if known:
            first, last = f.rng.randint(-extent - 2, extent + 2), f.rng.randint(-extent - 2, extent + 2)
        else:
            first, last = (0, 2**63 - 1) if step > 0 else (-1, -(2**63))
        cut[a] = slice(first, None if abs(last) > 2**62 else last, step)
        count = len(range(extent)[cut[a]])
        dims[a] = str(count) if known else f"floordiv({x.dims[a]} + {abs(step) - 1}, {abs(step)})"
        begin, end, strides = begin + [first], end + [last], strides + [step]
    text = f"begin={begin}, end={end}, strides={strides}, axes={[a - x.rank if f.rng.random() < 0.2 else a for a in axes]}"
    return f.emit(f"strided_slice({x.name}, {text})", [x], [(x.dtype, dims)], lambda a: a[tuple(cut)].copy())


@kind(4)
def take(f):
    x = f.pick(ranks=range(1, 4), good=lambda v: all(v.shape), largest=1000)
    if not x or 0 in x.shape:
        return None
    axis = f.rng.randrange(x.rank)
    shape = [f.rng.choice((0, 1, 2, 3, 5)) for _ in range(f.rng.randint(0, 2))]
    extent = x.shape[axis]
    if "i64" not in f.dtypes:
        return None
    array = np.array([f.rng.randint(-extent, extent - 1) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
    index = Value(f"%{f.prefix}p{len(f.params)}", "i64", [str(e) for e in shape], array, True)
    f.params.append(index)
    dims = list(x.dims[:axis]) + list(index.dims) + list(x.dims[axis + 1 :])
    return f.emit(f"take({x.name}, {index.name}, axis={axis - x.rank if f.rng.random() < 0.3 else axis})", [x, index], [(x.dtype, dims)],
                  lambda a, i: ref.take(a, i, axis))


@kind(3)
def make(f):
    dims = [d for d, _ in f.dims(f.rng.randint(0, 3))]
    dtype, shape = f.rng.choice(f.dtypes), [f.size(d) for d in dims]
    name = f.rng.choice(("zeros", "ones", "full", "zeros_like", "ones_like", "full_like"))
    value = {"z": 0, "o": 1, "f": f.rng.choice((0, 1, 2, 3))}[name[0]]
    array = ref.cast(np.asarray(value), None, dtype)
    if name == "full":
        call = f"full({number(array, dtype)}, shape=[{', '.join(dims)}], dtype={dtype})"
    elif name.endswith("_like"):
        x = f.pick()
        dims, shape = x.dims, x.shape
        fill = f", {dtype}({number(array, dtype)})" if name[0] == "f" and dtype != "bool" else ""
        if name[0] == "f" and not fill:
            return None
        call = f"{name}({x.name}{fill}, dtype={dtype})"
        return f.emit(call, [x], [(dtype, dims)], lambda a: np.full(shape, array, ref.STORE[dtype]))
    else:
        call = f"{name}(shape=[{', '.join(dims)}], dtype={dtype})"
    return f.emit(call, [], [(dtype, dims)], lambda: np.full(shape, array, ref.STORE[dtype]))


@kind(2)
def pad(f):
    x = f.pick(ranks=range(1, 5), largest=600)
    mode = f.rng.choice(("constant", "constant", "reflect", "replicate", "circular"))
    width = []
    for e in x.shape:
        most = {"constant": 2, "reflect": min(2, e - 1), "replicate": 2 if e else 0, "circular": min(2, e)}[mode]
        width += [f.rng.randint(0, max(most, 0)) for _ in range(2)]
    if mode != "constant" and any(not e for e in x.shape):
        return None
    value = f.rng.choice((0, 1, 3))
    dims = [f"{d} + {width[2 * i] + width[2 * i + 1]}" if width[2 * i] + width[2 * i + 1] else d for i, d in enumerate(x.dims)]
    dims = [str(f.size(d)) if re.fullmatch(r"[\d +]+", d) else d for d in dims]
    text = f", pad_mode=\"{mode}\"" + (f", pad_value={value}" if mode == "constant" else "")
    return f.emit(f"nn.pad({x.name}, pad_width={width}{text})", [x], [(x.dtype, dims)], lambda a: ref.pad(x.dtype, a, width, mode, value))


def image(f, dtypes):
    """A value of four axes whose last two have constant extents."""
    x = f.pick(dtypes, (4,), lambda v: v.dims[2].isdigit() and v.dims[3].isdigit() and v.shape[2] and v.shape[3], 600)
    if x and x.rank == 4 and x.dims[2].isdigit() and x.dims[3].isdigit() and x.shape[2] and x.shape[3]:
        return x
    possible = [d for d in f.dtypes if d in dtypes]
    if not possible:
        return None
    batch = f.dim()[0] if f.rng.random() < 0.4 else "2"
    return f.param(f.rng.choice(possible), [batch, str(f.rng.choice((1, 2, 4)))] + [str(e) for e in two(f, 1, 7)])


def two(f, low, high):
    return [f.rng.randint(low, high), f.rng.randint(low, high)]


@kind(2)
def conv(f):
    x = image(f, ref.NUMBERS)
    if not x or not x.dims[1].isdigit() or not x.shape[1] or x.dtype not in f.dtypes:
        return None
    groups = f.rng.choice([g for g in range(1, x.shape[1] + 1) if x.shape[1] % g == 0][:3])
    stride, dilation, padding = two(f, 1, 2), two(f, 1, 2), f.rng.choice(([0, 0], [1, 1], [2, 0, 1, 1], [1]))
    pad4 = ref.padding_of(padding)
    kernel = [f.rng.randint(1, min(3, (x.shape[2 + i] + pad4[i] + pad4[i + 2] - 1) // dilation[i] + 1)) for i in range(2)]
    if any(x.shape[2 + i] + pad4[i] + pad4[i + 2] < dilation[i] * (kernel[i] - 1) + 1 for i in range(2)):
        return None
    w = f.param(x.dtype, [str(groups * f.rng.randint(1, 3)), str(x.shape[1] // groups), str(kernel[0]), str(kernel[1])])
    call = f"nn.conv2d({x.name}, {w.name}, strides={stride}, padding={padding}, dilation={dilation}, groups={groups})"
    out = [(x.shape[2 + i] + pad4[i] + pad4[i + 2] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    return f.emit(call, [x, w], [(x.dtype, [x.dims[0], w.dims[0], str(out[0]), str(out[1])])],
                  lambda a, b: ref.conv2d(x.dtype, a, b, stride, padding, dilation, groups))


@kind(2)
def pool(f):
    name = f.rng.choice(("max", "avg", "adaptive"))
    x = image(f, ref.NUMBERS if name == "max" else ref.FLOATS)
    if not x:
        return None
    if name == "adaptive":
        sizes = two(f, 1, 5)
        return f.emit(f"nn.adaptive_avg_pool2d({x.name}, output_size={sizes})", [x],
                      [(x.dtype, list(x.dims[:2]) + [str(s) for s in sizes])], lambda a: ref.adaptive_avg_pool2d(x.dtype, a, sizes))
    size, stride, dilation = two(f, 1, 3), two(f, 1, 3), two(f, 1, 2)
    padding = f.rng.choice(([0, 0], [0, 0], [1, 0], [1, 1, 0, 1]))
    pad4, ceil_mode, include = ref.padding_of(padding), f.rng.random() < 0.4, f.rng.random() < 0.5
    for i in range(2):
        if x.shape[2 + i] + pad4[i] + pad4[i + 2] < dilation[i] * (size[i] - 1) + 1 or max(pad4[i], pad4[i + 2]) > size[i] // 2:
            return None
    out, _ = ref.windows(x.array, size, stride, padding, dilation, ceil_mode)
    text = f"pool_size={size}, strides={stride}, padding={padding}, dilation={dilation}, ceil_mode={str(ceil_mode).lower()}"
    results = [(x.dtype, list(x.dims[:2]) + [str(e) for e in out])]
    if name == "max":
        return f.emit(f"nn.max_pool2d({x.name}, {text})", [x], results,
                      lambda a: ref.max_pool2d(x.dtype, a, size, stride, padding, dilation, ceil_mode))
    text += f", count_include_pad={str(include).lower()}"
    return f.emit(f"nn.avg_pool2d({x.name}, {text})", [x], results,
                  lambda a: ref.avg_pool2d(x.dtype, a, size, stride, padding, dilation, ceil_mode, include))


@kind(1)
def batch_norm(f):
    x = f.pick(ref.FLOATS, range(2, 5))
    if not x or x.dtype not in f.dtypes:
        return None
    axis = f.rng.randrange(x.rank)
    parameters = [f.param(x.dtype, [x.dims[axis]]) for _ in range(4)]
    call = f"nn.batch_norm({', '.join(v.name for v in [x] + parameters)}, axis={axis - x.rank if f.rng.random() < 0.3 else axis})"
    channel = (x.dtype, [x.dims[axis]])
    return f.emit(call, [x] + parameters, [(x.dtype, x.dims), channel, channel],
                  lambda a, g, b, m, v: (ref.batch_norm(x.dtype, a, g, b, m, v, axis, 1e-5), m, v))


@kind(2)
def softmax(f):
    x = f.pick(ref.FLOATS, range(1, 5))
    return x and f.emit(f"nn.softmax({x.name}, axis={f.rng.randrange(-x.rank, x.rank)})", [x], [(x.dtype, x.dims)], np.tanh, False)


@kind(1)
def quantize(f):
    if not {"f32", "i8"} <= set(f.dtypes):
        return None
    back = f.rng.random() < 0.4
    x = f.pick(("i8", "u8") if back else ("f32",), range(0, 4))
    if not x:
        return None
    axis = f.rng.randrange(-x.rank, x.rank) if x.rank else -1
    dims = [x.dims[axis]] if x.rank and f.rng.random() < 0.5 else []
    zero = x.dtype if back else f.rng.choice([d for d in ("i8", "u8") if d in f.dtypes])
    if zero not in f.dtypes:
        return None
    s, z = f.param("f32", dims), f.param(zero, dims)
    if back:
        return f.emit(f"dequantize({x.name}, {s.name}, {z.name}, axis={axis})", [x, s, z], [("f32", x.dims)],
                      lambda a, s, z: ref.dequantize(a, s, z, axis))
    return f.emit(f"quantize({x.name}, {s.name}, {z.name}, out_dtype={zero}, axis={axis})", [x, s, z], [(zero, x.dims)],
                  lambda a, s, z: ref.quantize(a, s, z, axis, zero))


@kind(2)
def shape_of(f):
    x = f.pick(ranks=range(1, 5))
    name = f.name()
    f.current.nodes.append(Op(f"{name} = shape_of({x.name})", [], [], lambda: ()))
    return f.emit(f"shape_to_tensor({name})", [x], [("i64", [str(x.rank)])], lambda a: np.array(a.shape, np.int64))


@kind(1)
def fields(f):
    x, y = f.pick(), f.pick()
    name = f.name()
    f.current.nodes.append(Op(f"{name} = tuple({x.name}, {y.name})", [], [], lambda: ()))
    which = f.rng.randrange(2)
    v = (x, y)[which]
    return f.emit(f"{name}[{which}]", [v], [(v.dtype, v.dims)], lambda a: a)


@kind(2)
def dataflow(f):
    if f.depth:
        return None
    f.straight = True
    block, inside = f.region(f.rng.randint(2, 5))
    f.straight = False
    return finish(f, block, inside, Dataflow)


def finish(f, block, inside, make):
    inside = [v for node in block.nodes for v in node.outputs if v in inside]
    if not inside:
        return None
    block.yields = inside[-f.rng.randint(1, 2):]
    outputs = [Value(f.name(), v.dtype, v.dims, v.array, v.exact) for v in block.yields]
    f.current.nodes.append(make(block, outputs))
    f.scopes[-1].extend(outputs)
    return outputs


@kind(2)
def branch(f):
    if f.straight or f.depth > 1:
        return None
    c = f.pick(("bool",), (0,)) if "bool" in f.dtypes else None
    if not c or c.rank or c.dtype != "bool":
        return None
    first, inside = f.region(f.rng.randint(1, 3))
    inside = [v for node in first.nodes for v in node.outputs if v in inside]
    if not inside:
        return None
    result = inside[-1]
    second, others = f.region(f.rng.randint(1, 3))
    same = [v for v in others + f.visible() if v.dtype == result.dtype and v.dims == result.dims]
    if not same:
        if result.dtype not in f.dtypes:
            return None
        outer, f.current = f.current, second
        f.scopes.append([])
        same = [f.param(result.dtype, result.dims)]
        f.scopes.pop()
        f.current = outer
    first.yields, second.yields = [result], [same[0]]
    chosen = result if bool(c.array) else same[0]
    exact = c.exact and result.exact and same[0].exact
    output = Value(f.name(), result.dtype, result.dims, chosen.array, exact)
    f.current.nodes.append(If(c, [first, second], [output]))
    f.scopes[-1].append(output)
    return output


@kind(2)
def loop(f):
    if f.straight or f.depth > 1:
        return None
    start = f.pick(largest=500)
    trip = f.rng.choice((1, 2, 3, 5))
    carried = Value(f.name(), start.dtype, start.dims, start.array, start.exact)
    counter = Value(f.name(), "i64", [], np.asarray(0, np.int64), True)
    block, inside = f.region(f.rng.randint(1, 4), [carried])
    same = [v for v in inside if v.dtype == start.dtype and v.dims == start.dims]
    block.yields = [same[-1]]
    stacked = [v for v in inside if v is not carried and v.array.size <= 300]
    block.stacks = stacked[-1:] if f.rng.random() < 0.4 else []
    carried_exact = start.exact and all(v.exact for v in inside)
    outputs = [Value(f.name(), start.dtype, start.dims, start.array, carried_exact)]
    outputs += [Value(f.name(), v.dtype, (str(trip),) + v.dims, v.array, carried_exact) for v in block.stacks]
    node = Loop(counter, trip, [carried], [start], block, outputs)
    env = {v: v.array for v in f.visible() + f.params}
    node.run(env)
    for v in outputs:
        v.array = env[v]
    f.current.nodes.append(node)
    f.scopes[-1].extend(outputs)
    return outputs
