"""Equations as functions of a table and a row: thousands of rows are tested without any dict."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from .expression import FUNCTIONS, Expression
from .formula_fixes import number
from .input import Row, Table
from .quantities import reader_of

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
