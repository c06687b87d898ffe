# SPDX-License-Identifier: Apache-2.0
"""Writes arrays: `%npy x.npy 'np.ones((2, 3), "f4")' y.npy '...'`. Expressions may use np, rng (always the same), and
load(FILE)."""

import sys

import numpy as np

names = {"np": np, "rng": np.random.default_rng(1), "load": np.load}
for path, expression in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    np.save(path, eval(expression, names))
