#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""einsum against NumPy's: subscripts of every kind and random ones, integers, floats and halves, extents of 1 that broadcast,
on both executors, as it stands and lowered; what NumPy refuses is refused."""

import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RILL_BUILD", os.path.join(ROOT, "build"))
DTYPES = {"f4": "f32", "f8": "f64", "f2": "f16", "i4": "i32", "u1": "u8", "i8": "i64"}

CASES = [
    ("ij,jk->ik", [(3, 4), (4, 5)]), ("ij,jk", [(3, 4), (4, 5)]), ("ba,cb", [(3, 4), (5, 3)]), ("i,j->ij", [(3,), (4,)]),
    ("ij->ji", [(3, 4)]), ("ij->", [(3, 4)]), ("ij->i", [(3, 0)]), ("ij->j", [(0, 3)]), ("ii", [(4, 4)]), ("ii->i", [(4, 4)]),
    ("iij->ji", [(3, 3, 2)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]), ("...i->...", [(2, 3)]), ("...", [(2, 3)]),
    ("i...,i...->...", [(3, 2), (3, 4, 2)]), ("b...i,...i->b...", [(2, 3, 4), (3, 4)]), (" ij , jk -> k i ", [(2, 3), (3, 4)]),
    ("a,b,c->abc", [(2,), (3,), (4,)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]), ("ij,ij,ij->", [(3, 4)] * 3),
    (",->", [(), ()]), (",i->i", [(), (3,)]), ("ij,ij->ij", [(1, 4), (3, 1)]), ("ij,jk->ik", [(3, 1), (4, 5)]), ("i,i->", [(1,), (5,)]),
    ("Ba,aB->aB", [(2, 3), (3, 2)]), ("Ba,ab", [(2, 3), (3, 2)]), ("i->i", [(0,)]), ("ij,j->i", [(17, 33), (33,)]),
]
REFUSED = [
    ("ij,jk->ik", [(3, 4), (5, 6)], "axis 0 of operand 1 has extent 5, where others have 4"), ("ij->i", [(3,)], "operand 0 has 1 axis, its term 'ij' 2"),
    ("i->i", [(3, 4)], "operand 0 has 2 axes, its term 'i' 1"), ("ij...->i", [(3,)], "operand 0 has 1 axis, its term 'ij...' at least 2"),
    ("i,j->ij", [(3,)], "more terms than operands"), ("i->i", [(3,), (3,)], "the term of operand 1 is missing"),
    ("i->ii", [(3,)], "'i' stands twice in the result"), ("i->j", [(3,)], "no operand has the 'j' of the result"),
    ("i......->i", [(3,)], "'...' stands twice in a term"), ("...i->i", [(2, 3)], "the result has no '...', which operands have"),
    ("i1->i", [(3,)], "unexpected '1'"), ("i->i->", [(3,)], "unexpected '-'"), ("i-i", [(3,)], "unexpected '-'"), ("i..->i", [(3,)], "unexpected '.'"),
    ("ii->i", [(3, 4)], "axis 1 of operand 0 has extent 4, where others have 3"),
]


def random_case(random):
    sizes = {letter: int(random.integers(1, 5)) for letter in "abcde"}
    terms = ["".join(random.choice(list(sizes), random.integers(0, 4))) for _ in range(random.integers(1, 4))]
    letters = sorted(set("".join(terms)))
    random.shuffle(letters)
    result = "".join(letters[: int(random.integers(0, len(letters) + 1))])
    shapes = [tuple(1 if random.random() < 0.1 and term.count(letter) == 1 else sizes[letter] for letter in term) for term in terms]
    return ",".join(terms) + "->" + result, shapes


def module(subscripts, shapes, dtype, rank=0):
    params = ", ".join(f"%x{i}: {dtype}[{', '.join(map(str, s))}]" for i, s in enumerate(shapes))
    unknown = ", ".join("?" * rank)
    names = ", ".join(f"%x{i}" for i in range(len(shapes)))
    return f'rill 1\nmodule {{\n  func @main({params}) -> {dtype}[{unknown}] {{\n    %y = einsum({names}, subscripts="{subscripts}")\n    return %y\n  }}\n}}\n'


def symbolic(text, shapes):
    """The same with a symbol for each extent."""
    names = iter("n%d" % i for i in range(100))
    for i, shape in enumerate(shapes):
        old = f"%x{i}: "
        start = text.index(old)
        end = text.index("]", start)
        text = text[: text.index("[", start) + 1] + ", ".join(next(names) for _ in shape) + text[end:]
    return text


def run(folder, text, arrays, target):
    source, output = os.path.join(folder, "m.rill"), os.path.join(folder, "y.npy")
    with open(source, "w") as file:
        file.write(text)
    command = [os.path.join(BUILD, "bin/ir-run"), source, "--target=" + target, "--output=" + output]
    for i, array in enumerate(arrays):
        np.save(os.path.join(folder, f"x{i}.npy"), array)
        command.append("--input=" + os.path.join(folder, f"x{i}.npy"))
    done = subprocess.run(command, capture_output=True, text=True)
    return np.load(output) if not done.returncode else f"exit status {done.returncode}: {done.stderr}"


def fits(found, expected, dtype):
    if isinstance(found, str) or found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if dtype[0] != "f":
        return np.array_equal(found, expected)
    return np.allclose(found.astype(np.float64), expected.astype(np.float64), 2e-3 if dtype == "f2" else 1e-5, 1e-5)


def main():
    passed = failed = 0
    random = np.random.default_rng(11)
    cases = [(*case, list(DTYPES)) for case in CASES] + [(*random_case(random), [list(DTYPES)[i % 6]]) for i in range(120)]
    with tempfile.TemporaryDirectory() as folder:
        for subscripts, shapes, dtypes in cases:
            for dtype in dtypes:
                arrays = [(random.integers(0, 5, s) if dtype[0] != "f" else random.normal(size=s)).astype(dtype) for s in shapes]
                wide = [a.astype("f8") for a in arrays] if dtype[0] == "f" else arrays
                with np.errstate(all="ignore"):
                    expected = np.asarray(np.einsum(subscripts, *wide)).astype(dtype)
                text = module(subscripts, shapes, DTYPES[dtype], expected.ndim)
                for target, source in (("interp", text), ("llvm", symbolic(text, shapes))):
                    found = run(folder, source, arrays, target)
                    fine = fits(found, expected, dtype)
                    passed += fine
                    failed += not fine
                    if not fine:
                        print(f"{subscripts} {shapes} {dtype} on {target}: {found}\nexpected {expected}\n{source}")
        for subscripts, shapes, message in REFUSED:
            found = run(folder, module(subscripts, shapes, "f32"), [np.zeros(s, "f4") for s in shapes], "interp")
            fine = isinstance(found, str) and "exit status 1" in found and message in found
            passed += fine
            failed += not fine
            if not fine:
                print(f"{subscripts} {shapes}: expected '{message}', found {found}")
    print(f"einsum: {passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
