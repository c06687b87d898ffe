#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Translate the formulas of ir/expand.def to C: usage expand_to_c.py ir/expand.def expand_rows.h

Independent of the formula reader in ir/, so that the accuracy test judges the text of the table and nothing else.
Every row becomes two C functions, NAME_DTYPE_split (mad = multiply, then add) and NAME_DTYPE_fused (mad = fma), and a
line ROWn(NAME, DTYPE, bound, operations) of EACH_ROW, n being the number of operands. Needs expand_ops.h.
Without the second path the number of distinct operations of every row is printed instead.
"""
import re
import sys

TOKEN = re.compile(r"\s*(?:(0x[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?p[+-]?\d+)|(0x[0-9a-fA-F]+)"
                   r"|(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)|(\d+)|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|[-+*/()<>,;=!]))")
KINDS = ("float", "int", "float", "int", "name", "punct")
C_TYPE = {"f32": "float", "f64": "double", "i32": "int32_t", "i64": "int64_t", "u32": "uint32_t", "u64": "uint64_t"}
LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"))
LOGIC, COMPARE = ("||", "&&"), LEVELS[2]
UNARY = ("sqrt", "rint", "floor", "ceil", "trunc", "abs")
SAME = ("min", "max", "copysign", "shl", "shr", "bitand", "bitor", "bitxor", "mad", "fma")
CASTS = ("i32", "i64", "u32", "u64", "f32", "f64")
OPERANDS = {"pow": ("x", "y"), "atan2": ("x", "y")}  # the others have x alone
STRING = r'"(?:[^"\\]|\\.)*"'


class Node:
    """One operation: `head` names it, `args` are nodes; a literal has no args and gets its type from its context."""

    def __init__(self, head, args=(), dtype=None):
        self.head, self.args, self.dtype = head, tuple(args), dtype

    def is_literal(self):
        return self.head[0] == "literal"


class Reader:
    """Recursive descent over one formula; types are settled bottom-up, open literals take the other operand's."""

    def __init__(self, text, dtype, operands, defined):
        self.tokens, self.place, self.dtype, self.defined = [], 0, dtype, defined
        self.names = {name: Node(("operand", name), (), dtype) for name in operands}
        at = 0
        text = text.rstrip()
        while at < len(text):
            m = TOKEN.match(text, at)
            if not m:
                raise SyntaxError("cannot read '%s'" % text[at:at + 20])
            self.tokens.append((KINDS[m.lastindex - 1], m.group(m.lastindex)))
            at = m.end()
        self.tokens.append(("end", ""))

    def peek(self, ahead=0):
        return self.tokens[min(self.place + ahead, len(self.tokens) - 1)]

    def take(self, want=None):
        token = self.peek()
        if want is not None and token[1] != want:
            raise SyntaxError("expected '%s', found '%s'" % (want, token[1]))
        self.place += 1
        return token

    def formula(self):
        while self.peek()[0] == "name" and self.peek(1)[1] == "=":
            name = self.take()[1]
            if name in self.names:
                raise SyntaxError("'%s' is defined twice" % name)
            self.take("=")
            self.names[name] = settle(self.level(0), self.dtype)
            self.take(";")
        result = settle(self.level(0), self.dtype)
        self.take("")
        if result.dtype != self.dtype:
            raise TypeError("the result has type %s, expected %s" % (result.dtype, self.dtype))
        return result

    def level(self, depth):
        if depth == len(LEVELS):
            return self.prefix()
        left = self.level(depth + 1)
        while self.peek()[1] in LEVELS[depth] and self.peek()[0] == "punct":
            op = self.take()[1]
            pair = unify((left, self.level(depth + 1)), self.dtype)
            left = Node(("infix", op), pair, "bool" if op in LOGIC + COMPARE else pair[0].dtype)
        return left

    def prefix(self):
        if self.peek()[1] in ("-", "!"):
            op = self.take()[1]
            inner = self.prefix()
            if op == "-" and inner.is_literal():
                return Node(("literal", "-" + inner.head[1], inner.head[2]))
            return Node(("prefix", op), (inner,), inner.dtype)
        kind, text = self.take()
        if text == "(":
            inner = self.level(0)
            self.take(")")
            return inner
        if kind in ("float", "int"):
            return Node(("literal", text, kind))
        if kind != "name":
            raise SyntaxError("unexpected '%s'" % text)
        if text in ("inf", "nan"):
            return Node(("literal", text, "float"))
        return self.call(text) if self.peek()[1] == "(" else self.names[text]

    def call(self, name):
        self.take("(")
        target = None
        if name == "bitcast":
            target = self.take()[1]
            self.take(",")
        args = [self.level(0)]
        while self.peek()[1] == ",":
            self.take()
            args.append(self.level(0))
        self.take(")")
        if name in CASTS and args[0].is_literal():
            return Node(args[0].head, (), name)
        if name in ("bitcast",) + CASTS:
            return Node(("cast", name), (settle(args[0], self.dtype),), target or name)
        if name == "select":
            return Node(("call", name), (args[0],) + unify(args[1:], self.dtype), unify(args[1:], self.dtype)[0].dtype)
        if name in ("isnan", "isinf"):
            return Node(("call", name), (settle(args[0], self.dtype),), "bool")
        if name in UNARY + SAME:
            args = unify(args, self.dtype)
            return Node(("call", name), args, args[0].dtype)
        if (name.upper(), self.dtype) in self.defined:
            return Node(("row", name), tuple(settle(a, self.dtype) for a in args), self.dtype)
        raise NameError("unknown function '%s'" % name)


def settle(node, dtype):
    return Node(node.head, node.args, dtype) if node.dtype is None else node


def unify(nodes, default):
    known = {n.dtype for n in nodes if n.dtype is not None}
    if len(known) > 1:
        raise TypeError("operands of types %s" % ", ".join(sorted(known)))
    dtype = known.pop() if known else default
    for n in nodes:
        if n.is_literal() and n.head[2] == "float" and dtype[0] != "f":
            raise TypeError("the float '%s' stands where %s is needed" % (n.head[1], dtype))
    return tuple(settle(n, dtype) for n in nodes)


def emit_literal(text, dtype):
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text)
    if digits in ("inf", "nan"):
        return "(%s%s)" % (sign, {"inf": "INFINITY", "nan": "NAN"}[digits])
    if dtype[0] == "f":
        if digits.isdigit():
            digits += ".0"
        return "(%s%s%s)" % (sign, digits, "f" if dtype == "f32" else "")
    return "(%s)(%s%s)" % (C_TYPE[dtype], sign, digits)


class Emitter:
    """Writes one C statement per distinct operation; the number of statements is the size of the DAG."""

    def __init__(self, mode):
        self.mode, self.lines, self.seen, self.known, self.count = mode, [], {}, {}, 0

    def value(self, node):
        if node.head[0] == "operand":
            return node.head[1]
        if node.head[0] == "literal":
            return emit_literal(node.head[1], node.dtype)
        if node not in self.known:  # parts are shared: paths to them can be many
            self.known[node] = self.named(node, self.expression(node, [self.value(a) for a in node.args]))
        return self.known[node]

    def named(self, node, text):
        if text not in self.seen:
            self.seen[text] = "v%d" % len(self.seen)
            self.count += node.head != ("cast", "bitcast")
            c_type = C_TYPE.get(node.dtype, "bool")
            self.lines.append("  const %s %s = %s;" % (c_type, self.seen[text], text))
        return self.seen[text]

    def expression(self, node, args):
        kind, name = node.head
        source = node.args[0].dtype
        if kind == "infix":
            return "(%s)(%s %s %s)" % (C_TYPE.get(node.dtype, "bool"), args[0], name, args[1])
        if kind == "prefix":
            return "%s%s" % (name, args[0])
        if kind == "cast":
            return "%s_%s_%s(%s)" % (name if name == "bitcast" else "cast", source, node.dtype, args[0])
        if kind == "row":
            return "%s_%s_%s(%s)" % (name, node.dtype, self.mode, ", ".join(args))
        if name == "select":
            return "%s ? %s : %s" % tuple(args)
        if name == "mad":
            name = "mad_" + self.mode
        return "%s_%s(%s)" % (name, source, ", ".join(args))


def joined(text, macros):
    """The text that string literals and names of macros, one behind the other, stand for."""
    return "".join(macros[part] if part in macros else part[1:-1] for part in re.findall(r"%s|\w+" % STRING, text))


def rows(path):
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"^\s*//[^\n]*", "", f.read(), flags=re.M)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
    macros = {}
    for name, parts in re.findall(r"^#define (\w+) (.*)$", text, flags=re.M):
        macros[name] = joined(parts, macros)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    strings = r"((?:(?:%s|\w+)\s*)+)" % STRING
    row = re.compile(r"EXPAND\(\s*(\w+)\s*,\s*(\w+)\s*,\s*([\d.]+)\s*,\s*%s,\s*%s\)" % (strings, strings))
    for m in row.finditer(text):
        yield m.group(1), m.group(2).lower(), m.group(3), joined(m.group(5), macros)
    if row.sub("", text).strip():
        sys.exit("not a row: '%s'" % row.sub("", text).strip()[:60])


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    defined, size = set(), {}
    out = ["// Generated from ir/expand.def by expand_to_c.py."]
    for name, dtype, bound, formula in rows(sys.argv[1]):
        try:
            operands = OPERANDS.get(name.lower(), ("x",))
            result = Reader(formula, dtype, operands, defined).formula()
        except (SyntaxError, TypeError, NameError, KeyError) as error:
            sys.exit("EXPAND(%s, %s): %s" % (name, dtype.upper(), error))
        for mode in ("split", "fused"):
            emitter = Emitter(mode)
            value = emitter.value(result)
            params = ", ".join("%s %s" % (C_TYPE[dtype], operand) for operand in operands)
            function = "static inline %s %s_%s_%s(%s)" % (C_TYPE[dtype], name.lower(), dtype, mode, params)
            out += [function + " {"] + emitter.lines + ["  return %s;" % value, "}"]
        inlined = sum(size[f, dtype] - 1 for f in set(re.findall(r"(\w+)\(", formula)) if (f, dtype) in size)
        size[name.lower(), dtype] = emitter.count + inlined
        defined.add((name, dtype))
        row = (name.lower(), dtype, bound, size[name.lower(), dtype])
        out.append("#define ROW_%s_%s ROW%d(%s, %s, %s, %d)" % ((name, dtype, len(operands)) + row))
        if len(sys.argv) == 2:
            print("%-8s %s %3d operations" % (name.lower(), dtype, size[name.lower(), dtype]))
    out.append("#define EACH_ROW " + " ".join("ROW_%s_%s" % d for d in sorted(defined)))
    if len(sys.argv) == 3:
        with open(sys.argv[2], "w", encoding="utf-8") as f:
            f.write("\n".join(out) + "\n")


main()
