"""What can be changed in a module: one operator or one number at a time, as a replacement of bytes.

Annotations, decorators and f-strings are left alone: the first two change nothing that runs, and Python 3.11 does not
say where in an f-string an operator stands.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
COMPARISON = {
    "<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
ARITHMETIC = {
    "+": "-", "-": "+", "*": "//", "/": "*", "//": "*", "%": "*", "**": "*",
    "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<",
}  # fmt: skip
LOGIC = {"and": "or", "or": "and"}

SIGNS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One replacement in one module. `around` is the expression it is in, by its bytes; `at_import`: it runs only once.

    `text` is the line on which it is made. `two`: the expression is one sign between two operands.
    """

    path: str
    start: int
    end: int
    old: str
    new: str
    kind: str
    line: int
    column: int
    text: str
    around: tuple[int, int]
    two: bool
    at_import: bool

    def apply(self, source: bytes) -> bytes:
        """The source with this change."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    def words(self) -> str:
        """Place and change on one line."""
        return f"{self.path}:{self.line}:{self.column} [{self.kind}] {self.old} → {self.new or 'nothing'}"


@dataclass(frozen=True, slots=True)
class _Place:
    """The expression that is looked at."""

    at_import: bool
    around: tuple[int, int] = (0, 0)
    two: bool = False


class _Module:
    """The source of one module, with the byte at which each line begins."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.source = source
        self.begins = [0, *(found.end() for found in re.finditer(rb"\n", source))]

    def start(self, node: ast.expr) -> int:
        return self.begins[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr) -> int:
        return self.begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def span(self, node: ast.expr) -> tuple[int, int]:
        return self.start(node), self.end(node)

    def line(self, at: int) -> int:
        return self.source.count(b"\n", 0, at) + 1

    def text(self, line: int) -> str:
        return self.source.splitlines()[line - 1].decode().strip()

    def replaced(self, place: _Place, kind: str, span: tuple[int, int], new: str) -> Change:
        start, end = span
        old = self.source[start:end].decode()
        line = self.line(start)
        return Change(
            path=self.path, start=start, end=end, old=old, new=new, kind=kind,
            line=line, column=start - self.begins[line - 1] + 1, text=self.text(line),
            around=place.around, two=place.two, at_import=place.at_import,
        )  # fmt: skip

    def between(self, first: int, last: int, sign: str) -> tuple[int, int]:
        """Where the sign stands between two operands; comments between them are not looked at."""
        gap = re.sub(rb"#[^\n]*", lambda found: b" " * len(found.group()), self.source[first:last])
        found = re.search(rb"\s+".join(re.escape(word.encode()) for word in sign.split()), gap)
        if found is None:
            raise ValueError(f"{self.path}:{self.line(first)}: no {sign} found")
        return first + found.start(), first + found.end()


def changes(path: str, source: bytes) -> list[Change]:
    """Every change that can be made in a module, in the order of the text."""
    tree = ast.parse(source)
    found = list(_walk(_Module(path, source), tree, at_import=True))
    return sorted(found, key=lambda change: (change.start, change.end, change.new))


def _walk(module: _Module, node: ast.AST, at_import: bool) -> Iterator[Change]:
    if isinstance(node, ast.JoinedStr) or _only_for_types(node):
        return
    yield from _here(module, node, at_import)
    for name, child in _children(node):
        inside = isinstance(node, Function) and name == "body"
        yield from _walk(module, child, at_import and not inside)


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "type_comment"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield name, child


def _here(module: _Module, node: ast.AST, at_import: bool) -> Iterator[Change]:
    """The changes of a node itself, without those of its parts."""
    place = _place(module, node, at_import)
    match node:
        case ast.Compare():
            operands = pairwise([node.left, *node.comparators])
            for (left, right), sign in zip(operands, node.ops, strict=True):
                yield from _sign(module, place, left, right, sign, {"boundary": BOUNDARY, "comparison": COMPARISON})
        case ast.BoolOp():
            for left, right in pairwise(node.values):
                yield from _sign(module, place, left, right, node.op, {"logic": LOGIC})
        case ast.BinOp() if not (_no_number(node.left) or _no_number(node.right)):
            yield from _sign(module, place, node.left, node.right, node.op, {"arithmetic": ARITHMETIC})
        case ast.AugAssign() if not _no_number(node.value):
            yield from _sign(module, place, node.target, node.value, node.op, {"arithmetic": ARITHMETIC})
        case ast.UnaryOp(op=ast.Not()):
            yield module.replaced(place, "not", (module.start(node), module.start(node) + len("not")), "")
        case ast.UnaryOp(op=ast.USub()):
            yield module.replaced(place, "arithmetic", (module.start(node), module.start(node) + 1), "+")
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            yield from _number(module, place, node, value)


def _place(module: _Module, node: ast.AST, at_import: bool) -> _Place:
    expression = node.value if isinstance(node, ast.AugAssign) else node
    if not isinstance(expression, ast.expr):
        return _Place(at_import)
    two = isinstance(node, ast.BinOp) or (isinstance(node, ast.Compare) and len(node.ops) == 1)
    return _Place(at_import, module.span(expression), two)


def _no_number(node: ast.expr) -> bool:
    """A text or None: a changed sign beside it raises at once, or is part of a type."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | None))


def _sign(
    module: _Module, place: _Place, left: ast.expr, right: ast.expr, sign: ast.AST, tables: dict[str, dict[str, str]]
) -> Iterator[Change]:
    text = SIGNS.get(type(sign), "")
    for kind, table in tables.items():
        if text in table:
            span = module.between(module.end(left), module.start(right), text)
            yield module.replaced(place, kind, span, table[text])


def _number(module: _Module, place: _Place, node: ast.Constant, value: float) -> Iterator[Change]:
    span = module.span(node)
    for new in (value + 1, value - 1):
        yield module.replaced(place, "number", span, str(new) if new >= 0 else f"({new})")
