# SPDX-License-Identifier: Apache-2.0
"""Writes a safetensors file of NumPy expressions: `%safetensors w.safetensors a 'np.ones(3, "f4")' b '...'`."""

import json
import struct
import sys

import numpy as np

header, data = {}, b""
for name, expression in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
    array = np.ascontiguousarray(eval(expression, {"np": np}))
    dtype = {"f": "F", "i": "I", "u": "U"}[array.dtype.kind] + str(8 * array.dtype.itemsize)
    header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
    data += array.tobytes()
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
