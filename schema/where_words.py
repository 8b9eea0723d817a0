"""The tokens of a condition: anything outside of its grammar is refused, with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .errors import BenchError, did_you_mean

MAX_WORDS = 2000
HINT = (
    "columns, numbers, 'text', true, false, = != < <= > >=, + - * / %, and, or, not, in (...),"
    " between, like, ilike, is null, parentheses"
)
KEYWORDS = frozenset(
    ("and", "or", "not", "in", "between", "like", "ilike", "is", "null", "true", "false")
)
_WORD = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    |(?P<comment>--|/\*.*?\*/)
    |(?P<odd>[bBeEnNxX]'|[uU]&'|\$\$.*?\$\$|::|\|\||->)
    |(?P<number>(?:[0-9](?:_?[0-9])*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")|(?P<open>['"]|/\*)
    |(?P<name>[^\W\d]\w*)
    |(?P<mark><>|[=!<>]=|[=<>+\-*/%(),])""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    kind: str  # number, text, column, word (a keyword or a mark), end
    text: str  # a column's name, a literal's content, a keyword in lower case
    start: int
    end: int


def tokenize(expr: str, columns: Mapping[str, str]) -> list[Token]:
    """The tokens of the text, and the end; raises BenchError for the first invalid one."""
    odd = re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", re.sub(r"[\t\r\n]", " ", expr))
    if odd:
        raise refused(expr, f"the character {odd[0]!r} is not allowed", odd.start())
    known = {name.casefold(): name for name in columns}
    tokens: list[Token] = []
    at = 0
    while at < len(expr):
        match = _WORD.match(expr, at)
        if match is None or match.lastgroup != "blank":
            tokens.append(_token(expr, at, match, known))
        at = match.end() if match is not None and match.end() > at else tokens[-1].end
    if len(tokens) > MAX_WORDS:
        what = f"the condition has more than {MAX_WORDS} words"
        raise BenchError(what, hint="shorten it, or use sql")
    return [*tokens, Token("end", "", len(expr), len(expr))]


def _token(expr: str, at: int, match: re.Match[str] | None, known: Mapping[str, str]) -> Token:
    if match is None:  # a mark outside of the grammar
        raise refused(expr, f"{expr[at]!r} is not part of this grammar", at)
    raw, end = match[0], match.end()
    match match.lastgroup:
        case "odd":
            raise refused(expr, f"{raw!r} is not part of this grammar", at)
        case "comment":  # it could hide parts of the condition
            raise refused(expr, "comments and other marks are not allowed", at)
        case "open":
            raise refused(expr, "a quote or a comment is not closed", len(expr) - 1)
        case "text":
            return Token("text", raw[1:-1].replace("''", "'"), at, end)
        case "quoted":
            text = raw[1:-1].replace('""', '"')
            column = known.get(text.casefold())
            return Token("column", column, at, end) if column else Token("text", text, at, end)
        case "number":
            return Token("number", raw.replace("_", ""), at, end)
        case "mark":
            return Token("word", raw, at, end)
    word = raw.casefold()
    if word in KEYWORDS:
        return Token("word", word, at, end)
    if word in known:
        return Token("column", known[word], at, end)
    if expr[end:].lstrip().startswith("("):
        raise refused(expr, f"functions such as {raw!r} are not allowed", at)
    hint = f"{did_you_mean(raw, list(known.values()))} (text needs quotes: '{raw}')"
    raise BenchError(f"unknown column {raw!r}", where=_place(expr, at), hint=hint)


def refused(expr: str, why: str, at: int) -> BenchError:
    """The error for an invalid condition, at the character of this index."""
    hint = f"use {HINT}"
    return BenchError("the condition cannot be read", why=why, where=_place(expr, at), hint=hint)


def _place(expr: str, at: int) -> str:
    return f"character {at + 1} of: {expr}"
