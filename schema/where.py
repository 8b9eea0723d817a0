"""Conditions in one small grammar over columns, from text to DuckDB SQL that can only read.

Two walls: here every word is checked before parsing, so that an error can point at it; then
`conditions.py` builds the SQL anew from the parsed tree, so that nothing unknown is carried along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .errors import BenchError, did_you_mean

if TYPE_CHECKING:
    from sqlglot import Token
    from sqlglot.expressions import Expr

MAX_WORDS = 2000
OPERATORS = re.compile(
    r"EQ|NEQ|LTE?|GTE?|AND|OR|NOT|IN|BETWEEN|I?LIKE|IS|NULL|TRUE|FALSE|PLUS|DASH|STAR|SLASH|MOD"
    r"|[LR]_PAREN|COMMA|NUMBER|STRING"
)


def compile_where(
    expr: str, columns: Mapping[str, str], values: Mapping[str, str] | None = None
) -> str:
    """The condition as DuckDB SQL; `columns` maps the names allowed to their DuckDB types, `values`
    those that are no column to the SQL of their value."""
    from .conditions import Reader, too_deep

    try:
        tree = Reader(expr, columns, values or {}).condition(_parse(expr, columns), 0)
    except RecursionError as error:
        raise too_deep(expr) from error
    return tree.sql(dialect="duckdb", comments=False)


def _parse(expr: str, columns: Mapping[str, str]) -> Expr:
    from sqlglot import exp
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.errors import ParseError

    tokens = _tokens(expr, columns)
    try:
        trees = DuckDB().parser().parse_into(exp.Condition, tokens, expr)
    except ParseError as error:
        told = error.errors[0] if error.errors else {}
        place = (told.get("line"), told.get("col"))
        at = next((t.start for t in tokens if (t.line, t.col) == place), len(expr) - 1)
        raise _refused(expr, "not a whole condition", at) from error
    if len(trees) != 1 or trees[0] is None:
        raise BenchError("there is no condition", hint="one is: tp = 4 and mbs > 1")
    return trees[0]


def _tokens(expr: str, columns: Mapping[str, str]) -> list[Token]:
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.errors import TokenError

    odd = re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", re.sub(r"[\t\r\n]", " ", expr))
    if odd:
        raise _refused(expr, f"the character {odd[0]!r} is not allowed", odd.start())
    try:
        tokens = DuckDB().tokenize(expr)
    except TokenError as error:
        raise _refused(expr, "a quote or a comment is not closed", len(expr) - 1) from error
    if len(tokens) > MAX_WORDS:
        what = f"the condition has more than {MAX_WORDS} words"
        raise BenchError(what, hint="say less, or use sql")
    known = {name.casefold(): name for name in columns}
    checked = [_token(expr, token, known, columns) for token in tokens]
    _check_gaps(expr, checked)
    return checked


def _check_gaps(expr: str, tokens: list[Token]) -> None:
    # Whatever stands between the words is a blank or a comment, and a comment can hide things.
    end = 0
    for start, stop in [*((t.start, t.end + 1) for t in tokens), (len(expr), len(expr))]:
        gap = expr[end:start]
        if gap.strip():
            at = end + len(gap) - len(gap.lstrip())
            raise _refused(expr, "comments and other marks are not allowed", at)
        end = stop


def _token(expr: str, token: Token, known: dict[str, str], columns: Mapping[str, str]) -> Token:
    from sqlglot import Token as New
    from sqlglot import TokenType

    raw = expr[token.start : token.end + 1]
    kind, text = token.token_type, token.text
    quoted = raw.startswith('"') and kind == TokenType.IDENTIFIER
    if not OPERATORS.fullmatch(kind.name) or raw == "!":
        name = text if quoted else raw
        if name.casefold() in known:
            kind, text = TokenType.IDENTIFIER, known[name.casefold()]
        elif quoted:
            kind = TokenType.STRING
        else:
            raise _unknown(expr, token, raw, columns)
    return New(kind, text, token.line, token.col, token.start, token.end)


def _unknown(expr: str, token: Token, raw: str, columns: Mapping[str, str]) -> BenchError:
    if not re.fullmatch(r"[^\W\d]\w*", raw):
        return _refused(expr, f"{raw!r} is not part of this grammar", token.start)
    if expr[token.end + 1 :].lstrip().startswith("("):
        return _refused(expr, f"functions such as {raw!r} are not allowed", token.start)
    hint = f"{did_you_mean(raw, columns)}; text stands in quotes: '{raw}'"
    return BenchError(f"unknown column {raw!r}", where=_place(expr, token.start), hint=hint)


def _refused(expr: str, why: str, at: int) -> BenchError:
    from .conditions import HINT

    hint = f"use {HINT}"
    return BenchError("the condition cannot be read", why=why, where=_place(expr, at), hint=hint)


def _place(expr: str, at: int) -> str:
    return f"character {at + 1} of: {expr}"
