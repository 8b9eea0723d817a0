"""Equations and conditions as text: arithmetic over names, with intervals for printed numbers.

Compiled to functions of a table and a row, they test thousands of rows without any dict.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import CodeType
from typing import Any

from .formula_fixes import number
from .input import Row, Table
from .interval import Interval
from .quantities import reader_of

_COMPARED = {ast.Eq: "_equal", ast.LtE: "_at_most", ast.GtE: "_at_least"}


def _equal(one: Any, two: Any) -> bool:
    """Whether some number is in both, of printed numbers; else whether they are the same."""
    if isinstance(one, Interval):
        return one.meets(two)
    return two.meets(one) if isinstance(two, Interval) else bool(one == two)


def _at_most(one: Any, two: Any) -> bool:
    """Whether some number that prints as the first is at most one that prints as the second."""
    low = one.low if isinstance(one, Interval) else one
    return bool(low <= (two.high if isinstance(two, Interval) else two))


def _at_least(one: Any, two: Any) -> bool:
    return _at_most(two, one)


# Comparisons compile to calls of these, so every mapping of names must contain them.
FUNCTIONS = {"_equal": _equal, "_at_most": _at_most, "_at_least": _at_least}
_NOTHING: dict[str, Any] = {
    "__builtins__": {}
}  # expressions come from our own files; no builtins as defence in depth


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression, and the names that it requires."""

    code: CodeType
    tree: ast.expr  # with its comparisons as calls
    conjuncts: frozenset[str]  # names that must be true
    columns: frozenset[str]  # names that must be `in columns`
    names: frozenset[str]  # all names that it looks up

    def value(self, names: Mapping[str, Any]) -> Any:
        """Evaluate it; names are looked up lazily. `names` must contain FUNCTIONS."""
        return eval(self.code, _NOTHING, names)


@cache
def expression(text: str) -> Expression:
    """Compile an expression; `==`, `<=` and `>=` compare within the printed digits."""
    parsed = ast.parse(text, mode="eval")
    conjuncts, columns, names = _needs(parsed)
    tree = _Comparisons().visit(parsed)
    code = compile(ast.fix_missing_locations(tree), text, "eval")
    return Expression(code, tree.body, conjuncts, columns, names)


def _needs(tree: ast.Expression) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    match tree.body:
        case ast.BoolOp(ast.And(), parts):
            pass
        case body:
            parts = [body]
    columns = set()
    for part in parts:
        match part:
            case ast.Compare(ast.Constant(str() as name), [ast.In()], [ast.Name("columns")]):
                columns.add(name)
    nodes = list(ast.walk(tree))
    # A short-circuited operand may never be looked up.
    sure = not any(_may_stop_early(node) for node in nodes)
    names = {node.id for node in nodes if isinstance(node, ast.Name)} if sure else set()
    conjuncts = {part.id for part in parts if isinstance(part, ast.Name)}
    return frozenset(conjuncts), frozenset(columns), frozenset(names)


def _may_stop_early(node: ast.AST) -> bool:
    chain = isinstance(node, ast.Compare) and len(node.ops) > 1
    return chain or isinstance(node, (ast.BoolOp, ast.IfExp, ast.comprehension))


class _Comparisons(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        pairs = pairwise([node.left, *node.comparators])
        parts = [_compared(op, *pair) for op, pair in zip(node.ops, pairs, strict=True)]
        # Of a chain, `low <= value <= high`, each part compares within the printed digits.
        return ast.BoolOp(ast.And(), parts) if len(parts) > 1 else parts[0]


def _compared(op: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
    name = _COMPARED.get(type(op))
    if name is None:
        return ast.Compare(left, [op], [right])
    return ast.Call(ast.Name(name, ast.Load()), [left, right], [])


Doubted = set[tuple[str, int]]
# Whether an equation holds for a row; None if it does not apply. Raises Unknown.
Test = Callable[[Table, Row, Doubted, bool], bool | None]
_LINE = "(row.uri, row.line) in doubted_lines"


class Unknown(Exception):
    """A name used by an equation has no value for a row."""


class _Unset:
    """The value of a quantity that was not looked up yet."""


def compiled(rows: Expression, holds: Expression, let: Mapping[str, Expression]) -> Test:
    """A function that tests `holds` where `rows` is true; `let` are names for expressions. A name
    without a value is None in `rows`, and Unknown in `holds`."""
    made = _Inlined(let)
    condition = made.inlined(rows.tree, strict=False)
    wanted = made.inlined(holds.tree, strict=True)
    cached = [ast.arg(name) for name in made.cached]
    code = ast.Expression(
        ast.Lambda(
            ast.arguments(
                [],
                [*map(ast.arg, ("table", "row", "doubted_lines", "document_measured")), *cached],
                None, [], [], None, [ast.Name("_Unset", ast.Load()) for _ in cached],
            ),
            ast.IfExp(condition, _true_or_false(wanted), ast.Constant(None)),
        )
    )  # fmt: skip
    text = compile(ast.fix_missing_locations(code), "equation", "eval")
    test: Test = eval(text, {"__builtins__": {}, **_KNOWN, **made.readers})  # our own files
    return test


def _unknown() -> None:
    raise Unknown


_KNOWN = {**FUNCTIONS, "number": number, "_Unset": _Unset, "_unknown": _unknown}


class _Inlined(ast.NodeTransformer):
    """Names replaced by what they stand for: an expression, a column, a quantity read once."""

    def __init__(self, let: Mapping[str, Expression]) -> None:
        self.let, self.strict = let, False
        self.readers: dict[str, Any] = {}
        self.cached: list[str] = []

    def inlined(self, tree: ast.expr, *, strict: bool) -> ast.expr:
        """A new expression over `table` and `row`."""
        self.strict = strict
        made: ast.expr = self.visit(_copied(tree))
        return made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name in ("row", "document_measured") or name in _KNOWN:
            return node
        if name == "doubted":
            return _copied(ast.parse(_LINE, mode="eval").body)
        if name in self.let:
            made: ast.expr = self.visit(_copied(self.let[name].tree))
            return made
        value = self._column(name) if name in Row.__dataclass_fields__ else self._quantity(name)
        return (
            _parsed(f"({value} if {value} is not None else _unknown())")
            if self.strict
            else (_parsed(value))
        )

    def _column(self, name: str) -> str:
        return f"row.{name}"

    def _quantity(self, name: str) -> str:
        reader, kept = f"_read_{name}", f"_{name}"
        if kept not in self.cached:
            self.cached.append(kept)
            self.readers[reader] = reader_of(name)
        return f"({kept} if {kept} is not _Unset else ({kept} := {reader}(table, row)))"


def _true_or_false(value: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), value))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _copied(tree: ast.expr) -> ast.expr:
    return _parsed(ast.unparse(tree))
