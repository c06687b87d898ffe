# SPDX-License-Identifier: Apache-2.0
"""Shared libraries that ir-translate writes, called from Python as docs/spec/host.md says: tensors, a host that counts what it
gives, models."""

import ctypes as c
import threading

import numpy as np

OK, INVALID, MEMORY, FAILED = range(4)


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32), ("code", c.c_uint8),
                ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
                ("byte_offset", c.c_uint64)]


ALLOC = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t)
FREE = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)
ERROR = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p)
BODY = c.CFUNCTYPE(None, c.c_void_p, c.c_size_t)
PARALLEL = c.CFUNCTYPE(None, c.c_void_p, c.c_size_t, BODY, c.c_void_p)


class Env(c.Structure):
    _fields_ = [("version", c.c_uint32), ("user", c.c_void_p), ("alloc", ALLOC), ("free", FREE), ("parallel_for", PARALLEL), ("error", ERROR)]


class Host:
    """Counts what is allocated and fills it with NaN; keeps the last message. FAIL_AT: that allocation is refused; ORDER: of the bodies that parallel_for runs."""

    def __init__(self, threads=0):
        self.threads, self.chunks, self.order = threads, 0, lambda count: range(count)[::-1]
        self.live, self.total, self.fail_at, self.messages = {}, 0, None, []
        self.env = Env(1, None, ALLOC(self.alloc), FREE(self.free), PARALLEL(self.parallel) if threads else PARALLEL(0), ERROR(self.error))

    def alloc(self, _, size, align):
        self.total += 1
        if self.total == self.fail_at:
            return None
        raw = (c.c_uint8 * (size + align))()
        c.memset(raw, 0xFF, size + align)
        at = (c.addressof(raw) + align - 1) // align * align
        self.live[at] = raw
        return at

    def free(self, _, memory):
        del self.live[memory]

    def parallel(self, _, count, body, data):
        self.chunks += count
        order = list(self.order(count))
        workers = [threading.Thread(target=lambda part: [body(data, i) for i in part], args=(order[k::self.threads],)) for k in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def error(self, _, code, message):
        self.messages.append((code, message.decode()))


CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def tensor(array=None, shape=None, dtype=None, strides=None, offset=0):
    """Of an array, or an empty one to be filled."""
    dtype = np.dtype(dtype or array.dtype)
    dims = list(array.shape if shape is None else shape)
    t = Tensor()
    t.keep = [array, (c.c_int64 * max(len(dims), 1))(*dims)]
    t.data = None if array is None else array.ctypes.data - offset
    t.device_type, t.ndim, t.code, t.bits, t.lanes = 1, len(dims), CODES[dtype.kind], dtype.itemsize * 8, 1
    t.shape = c.cast(t.keep[1], c.POINTER(c.c_int64))
    t.byte_offset = offset
    if strides is not None:
        t.keep.append((c.c_int64 * max(len(strides), 1))(*strides))
        t.strides = c.cast(t.keep[2], c.POINTER(c.c_int64))
    return t


def listed(tensors):
    return (c.POINTER(Tensor) * max(len(tensors), 1))(*[c.pointer(t) if t is not None else None for t in tensors])


def read(t, dtype):
    dims = [t.shape[i] for i in range(t.ndim)]
    size = int(np.prod(dims, dtype=np.int64)) * np.dtype(dtype).itemsize
    return np.frombuffer(c.string_at(t.data + t.byte_offset, size), dtype).reshape(dims)


class Model:
    def __init__(self, library, name, host, side=None):
        self.host = host
        self.opener, self.shaper, self.runner, self.closer = [getattr(library, f"rill_{name}{e}") for e in ("_open", "_shapes", "", "_close")]
        self.handle = c.c_void_p()
        self.status = self.opener(c.byref(host.env) if host else None, side and side.encode(), c.byref(self.handle))

    def shapes(self, inputs, outputs):
        return self.shaper(self.handle, listed(inputs), listed(outputs))

    def run(self, inputs, outputs):
        return self.runner(self.handle, listed(inputs), listed(outputs))

    def close(self):
        self.closer(self.handle)


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
