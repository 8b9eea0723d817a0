"""A parsed condition as safe SQL: built anew node by node, with the kinds of both sides checked.

DuckDB would notice `name > 3` only at the first row that fails to convert, and integers overflow
with an error: so kinds are checked here, and arithmetic is done in DOUBLE.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp, parse_one

from .errors import BenchError

MAX_DEPTH = 60
HINT = (
    "columns, numbers, 'text', true, false, = != < <= > >=, + - * / %, and, or, not, in (...),"
    " between, like, ilike, is null, parentheses"
)
BOOL = "true or false"
KINDS = {
    "number": r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|INT\d|DOUBLE|FLOAT\d?|REAL"
    r"|(DECIMAL|NUMERIC)(\([^)]*\))?",
    "text": r"VARCHAR(\(\d+\))?|TEXT|STRING|CHAR|BPCHAR",
    BOOL: r"BOOL(EAN)?",
    "time": r"DATE|DATETIME|TIMESTAMP(_S|_MS|_NS|TZ)?|TIMESTAMP WITH TIME ZONE",
}
COMPARE = {"eq", "neq", "lt", "lte", "gt", "gte"}
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?", re.ASCII)


@dataclass(frozen=True)
class _Typed:
    kind: str
    sql: exp.Expr
    literal: str | None = None  # the text of a number or a string as written


class Reader:
    """Builds the safe tree: each method turns one parsed node into one of ours."""

    def __init__(self, expr: str, columns: Mapping[str, str], values: Mapping[str, str]) -> None:
        self.expr, self.columns, self.values = expr, columns, values

    def condition(self, node: exp.Expr, depth: int) -> exp.Expr:
        typed = self.value(node, depth)
        if typed.kind != BOOL:
            raise self.wrong(node, f"is {_a(typed.kind)}, not a condition")
        return typed.sql

    def value(self, node: exp.Expr, depth: int) -> _Typed:
        if depth > MAX_DEPTH:
            raise too_deep(self.expr)
        given = {name for name, value in node.args.items() if value not in (None, [], False)}
        build = _BUILD.get(node.key)
        if node.key == "null":
            raise self.wrong(node, "equals nothing, not even itself", "write name is null")
        if build is None or not given <= build[1]:
            raise self.wrong(node, "is not part of this grammar")
        return build[0](self, node, depth + 1)

    def paren(self, node: exp.Expr, depth: int) -> _Typed:
        return self.value(node.this, depth)

    def connector(self, node: exp.Expr, depth: int) -> _Typed:
        # A long chain is a deep tree: taken flat, so that only real nesting counts as depth.
        parts = [_wrap(self.condition(part, depth)) for part in node.flatten(unnest=False)]
        joined = (exp.and_ if node.key == "and" else exp.or_)(*parts, wrap=False)
        return _Typed(BOOL, joined)

    def negation(self, node: exp.Expr, depth: int) -> _Typed:
        return _Typed(BOOL, exp.Not(this=_wrap(self.condition(node.this, depth))))

    def comparison(self, node: exp.Expr, depth: int) -> _Typed:
        if {node.this.key, node.expression.key} & {*COMPARE}:
            raise self.wrong(node, "compares twice", "write a < b and b < c")
        left, right = self.alike(node, [node.this, node.expression], depth)
        return _Typed(BOOL, type(node)(this=left, expression=right))

    def between(self, node: exp.Expr, depth: int) -> _Typed:
        this, low, high = self.alike(node, [node.this, node.args["low"], node.args["high"]], depth)
        return _Typed(BOOL, type(node)(this=this, low=low, high=high))

    def member(self, node: exp.Expr, depth: int) -> _Typed:
        if not node.expressions:
            raise self.wrong(node, "lists nothing", "write tp in (1, 2)")
        this, *listed = self.alike(node, [node.this, *node.expressions], depth)
        return _Typed(BOOL, type(node)(this=this, expressions=listed))

    def pattern(self, node: exp.Expr, depth: int) -> _Typed:
        sides = [self.value(node.this, depth), self.value(node.expression, depth)]
        if any(side.kind != "text" for side in sides):
            raise self.wrong(node, f"needs text on both sides of {node.key}")
        like = type(node)(this=_wrap(sides[0].sql), expression=_wrap(sides[1].sql))
        return _Typed(BOOL, exp.Not(this=_wrap(like)) if node.args.get("negate") else like)

    def identity(self, node: exp.Expr, depth: int) -> _Typed:
        asked = node.expression.key
        this = self.value(node.this, depth)
        if asked not in ("null", "boolean") or (asked == "boolean" and this.kind != BOOL):
            raise self.wrong(node, "asks for something else than null, true or false")
        return _Typed(BOOL, type(node)(this=_wrap(this.sql), expression=node.expression.copy()))

    def minus(self, node: exp.Expr, depth: int) -> _Typed:
        text = str(node.this.this)
        if node.this.key == "literal" and not node.this.args.get("is_string"):
            return _Typed("number", self.number(node, f"-{text}"), f"-{text}")
        return _Typed("number", type(node)(this=self.double(node.this, depth)))

    def arithmetic(self, node: exp.Expr, depth: int) -> _Typed:
        left, right = self.double(node.this, depth), self.double(node.expression, depth)
        if node.key in ("div", "mod"):  # by zero: no value, as anything else that is not known
            right = exp.Nullif(this=right, expression=exp.Literal.number("0e0"))
        return _Typed("number", type(node)(this=left, expression=right))

    def double(self, node: exp.Expr, depth: int) -> exp.Expr:
        """A number as DOUBLE: integers of DuckDB overflow with an error."""
        typed = self.value(node, depth)
        if typed.kind != "number":
            raise self.wrong(node, f"is {_a(typed.kind)}, not a number")
        return exp.cast(typed.sql, "DOUBLE", dialect="duckdb")

    def column(self, node: exp.Expr, depth: int) -> _Typed:
        name = node.name
        if name not in self.columns:
            raise self.wrong(node, "is no column")
        sql = (
            parse_one(self.values[name], dialect="duckdb")
            if name in self.values
            else exp.column(name, quoted=True)
        )
        return _Typed(_kind(self.columns[name]), sql)

    def boolean(self, node: exp.Expr, depth: int) -> _Typed:
        return _Typed(BOOL, type(node)(this=bool(node.this)))

    def literal(self, node: exp.Expr, depth: int) -> _Typed:
        text = str(node.this)
        if node.args.get("is_string"):
            return _Typed("text", exp.Literal.string(text), text)
        return _Typed("number", self.number(node, text), text)

    def number(self, node: exp.Expr, text: str) -> exp.Expr:
        if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            raise self.wrong(node, "is not a number that can be used")
        literal = exp.Literal.number(_digits(text.lstrip("-")))
        return exp.Paren(this=exp.Neg(this=literal)) if text.startswith("-") else literal

    def alike(self, node: exp.Expr, parts: list[exp.Expr], depth: int) -> list[exp.Expr]:
        """The parts as one kind: that of the first which is not a literal."""
        typed = [self.value(part, depth) for part in parts]
        kind = next((each.kind for each in typed if each.literal is None), typed[0].kind)
        if kind not in KINDS:
            raise self.wrong(node, "can only be asked whether it is null")
        ordered = node.key not in ("eq", "neq", "in")
        return [_wrap(self.as_kind(node, each, kind, ordered)) for each in typed]

    def as_kind(self, node: exp.Expr, typed: _Typed, kind: str, ordered: bool) -> exp.Expr:
        text = typed.literal
        if typed.kind == kind:
            return typed.sql
        if kind == "number" and text is not None and NUMBER.fullmatch(text):
            return self.number(node, text)
        if kind == "text" and text is not None and not ordered:
            return exp.Literal.string(text)
        if kind == "time" and text is not None and typed.kind == "text" and _is_time(text):
            return exp.cast(exp.Literal.string(text), "TIMESTAMP", dialect="duckdb")
        hint = "times are written 'YYYY-MM-DD' or 'YYYY-MM-DD HH:MM'" if kind == "time" else ""
        if {kind, typed.kind} == {"text", "number"}:
            hint = "text stands in quotes, dates of tables too: date = '02-25'"
        raise self.wrong(node, f"compares {_a(kind)} with {_a(typed.kind)}", hint)

    def wrong(self, node: exp.Expr, what: str, hint: str = "") -> BenchError:
        part = node.sql(dialect="duckdb", comments=False)
        told = f"the condition is wrong: {part} {what}"
        return BenchError(told, where=self.expr, hint=hint or HINT)


# What a node may be, and the parts that it may have: anything else is refused.
_PAIR = {"this", "expression"}
_BUILD: dict[str, tuple[Callable[[Reader, exp.Expr, int], _Typed], set[str]]] = {
    "paren": (Reader.paren, {"this"}),
    "and": (Reader.connector, _PAIR),
    "or": (Reader.connector, _PAIR),
    "not": (Reader.negation, {"this"}),
    **dict.fromkeys(COMPARE, (Reader.comparison, _PAIR)),
    "between": (Reader.between, {"this", "low", "high"}),
    "in": (Reader.member, {"this", "expressions"}),
    "like": (Reader.pattern, _PAIR | {"negate"}),
    "ilike": (Reader.pattern, _PAIR | {"negate"}),
    "is": (Reader.identity, _PAIR),
    "neg": (Reader.minus, {"this"}),
    **dict.fromkeys(("add", "sub", "mul"), (Reader.arithmetic, _PAIR)),
    **{key: (Reader.arithmetic, _PAIR | {"typed", "safe"}) for key in ("div", "mod")},
    "column": (Reader.column, {"this"}),
    "boolean": (Reader.boolean, {"this"}),
    "literal": (Reader.literal, {"this", "is_string"}),
}


def too_deep(expr: str) -> BenchError:
    """The error for a condition nested beyond reason."""
    why = f"parentheses and signs nest more than {MAX_DEPTH} deep"
    return BenchError("the condition cannot be read", why=why, where=expr, hint="say it flatter")


def _kind(duckdb_type: str) -> str:
    name = duckdb_type.strip().upper()
    return next((kind for kind, form in KINDS.items() if re.fullmatch(form, name)), name)


def _is_time(text: str) -> bool:
    try:
        return bool(TIME.fullmatch(text)) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def _digits(text: str) -> str:
    # With an exponent it is a DOUBLE for DuckDB; without, a DECIMAL, which overflows.
    if re.fullmatch(r"\d{1,18}", text):
        return str(int(text))
    shown = repr(float(text))
    return shown if "e" in shown else f"{shown}e0"


def _a(kind: str) -> str:
    return {"number": "a number", "time": "a time"}.get(kind, kind)


def _wrap(tree: exp.Expr) -> exp.Expr:
    # The tree decides what binds to what, never the precedence of another grammar.
    plain = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Cast, exp.Paren)
    return tree if isinstance(tree, plain) else exp.Paren(this=tree)
