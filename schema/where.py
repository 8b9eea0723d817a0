"""Conditions in a small grammar over columns, compiled to read-only DuckDB SQL.

No part of the text is copied: every word is recognised, and SQL is written anew for it, so anything
unknown here cannot reach the database. DuckDB would notice `name > 3` only at the first row that
fails to convert, and integers overflow with an error: so the kinds of both sides are checked here,
and arithmetic is done in DOUBLE.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from .errors import BenchError
from .where_words import HINT, Token, refused, tokenize

MAX_DEPTH = 60
BOOL = "true or false"
KINDS = {
    "number": r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|INT\d|DOUBLE|FLOAT\d?|REAL"
    r"|(DECIMAL|NUMERIC)(\([^)]*\))?",
    "text": r"VARCHAR(\(\d+\))?|TEXT|STRING|CHAR|BPCHAR",
    BOOL: r"BOOL(EAN)?",
    "time": r"DATE|DATETIME|TIMESTAMP(_S|_MS|_NS|TZ)?|TIMESTAMP WITH TIME ZONE",
}
COMPARE = {"=": "=", "==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# Precedence of operators, as in SQL; the operands in between bind tighter.
OR, AND, NOT, COMPARISON, PREDICATE, SUM, PRODUCT, SIGN = range(1, 9)
BINDING = {
    "or": OR, "and": AND, **dict.fromkeys(COMPARE, COMPARISON),
    **dict.fromkeys(("in", "between", "like", "ilike", "is", "not"), PREDICATE),
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT,
}  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?", re.ASCII)
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class _Value:
    """A part of the condition: its kind, its SQL, and its place in the text."""

    kind: str
    sql: str
    start: int
    end: int
    literal: str | None = None  # the text of a literal as written
    joined: str = ""  # AND or OR for such a chain without parentheses
    compares: bool = False  # whether it is a comparison without parentheses

    @property
    def closed(self) -> str:
        """The SQL as an operand."""
        return f"({self.sql})" if self.joined else self.sql


def compile_where(
    expr: str, columns: Mapping[str, str], values: Mapping[str, str] | None = None
) -> str:
    """The condition as DuckDB SQL; `columns` maps the names allowed to their DuckDB types, `values`
    names that are not columns to the SQL of their value."""
    return _Parser(expr, columns, values or {}).condition()


class _Parser:
    """Precedence climbing over the tokens; every method returns the SQL of what it has parsed."""

    def __init__(self, expr: str, columns: Mapping[str, str], values: Mapping[str, str]) -> None:
        self.expr, self.columns, self.values = expr, columns, values
        self.tokens = tokenize(expr, columns)
        self.at = 0

    def condition(self) -> str:
        if len(self.tokens) == 1:
            raise BenchError("there is no condition", hint="one is: tp = 4 and mbs > 1")
        value = self._expression(OR, 0)
        if self._next.kind != "end":
            raise self._unexpected()
        return self._bool(value).sql

    @property
    def _next(self) -> Token:
        return self.tokens[self.at]

    def _take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def _skip(self, *words: str) -> str:
        """Skip the next token if it is one of the words, and return its text; else ''."""
        token = self._next
        if token.kind != "word" or token.text not in words:
            return ""
        return self._take().text

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            raise self._unexpected()

    def _expression(self, least: int, depth: int) -> _Value:
        """An expression of operators with at least this precedence."""
        if depth > MAX_DEPTH:
            why = f"parentheses and signs nest more than {MAX_DEPTH} deep"
            raise BenchError("the condition cannot be read", why=why, where=self.expr,
                             hint="use fewer parentheses")  # fmt: skip
        value = self._operand(depth + 1)
        while self._next.kind == "word" and BINDING.get(self._next.text, 0) >= least:
            operator = self._take().text
            binding = BINDING[operator]
            if binding == PREDICATE:
                value = self._predicate(operator, value, depth)
                continue
            # Left to right: the right side binds tighter than the operator.
            right = self._expression(binding + 1, depth + 1)
            if binding <= AND:
                value = self._joined(operator.upper(), value, right)
            elif binding == COMPARISON:
                value = self._comparison(COMPARE[operator], value, right)
            else:
                value = self._arithmetic(operator, value, right)
        return value

    def _operand(self, depth: int) -> _Value:
        token = self._take()
        start, end = token.start, token.end
        if token.kind == "number":
            return _Value("number", token.text, start, end, token.text)
        if token.kind == "text":
            return _Value("text", _quote(token.text), start, end, token.text)
        if token.kind == "column":
            name = token.text
            sql = f"({self.values[name]})" if name in self.values else _identifier(name)
            return _Value(_kind(self.columns[name]), sql, start, end)
        match token.text:
            case "true" | "false":
                return _Value(BOOL, token.text.upper(), start, end)
            case "null":
                value = _Value("", "", start, end)
                raise self._wrong(value, "equals nothing, not even itself", "write name is null")
            case "not":
                value = self._bool(self._expression(NOT, depth))
                return _Value(BOOL, f"(NOT {value.closed})", start, value.end)
            case "-" | "+":
                return self._signed(token, self._expression(SIGN, depth))
            case "(":
                value = self._expression(OR, depth)
                close = self._next
                self._expect(")")
                return replace(value, start=start, end=close.end, compares=False)
        self.at -= 1
        raise self._unexpected()

    def _signed(self, sign: Token, value: _Value) -> _Value:
        whole = replace(value, start=sign.start)
        self._double(value)  # raises if it is no number
        if sign.text == "+":
            return whole
        if value.literal is not None and value.kind == "number" and value.literal[0] != "-":
            return replace(whole, literal=f"-{value.literal}")
        return replace(whole, kind="number", sql=f"(-{self._double(value)})", literal=None)

    def _joined(self, operator: str, left: _Value, right: _Value) -> _Value:
        # A long chain stays flat, so that only real nesting is deep for the database too.
        sides = [side.sql if side.joined == operator else side.closed
                 for side in (self._bool(left), self._bool(right))]  # fmt: skip
        sql = f" {operator} ".join(sides)
        return _Value(BOOL, sql, left.start, right.end, joined=operator)

    def _comparison(self, operator: str, left: _Value, right: _Value) -> _Value:
        whole = _Value(BOOL, "", left.start, right.end, compares=True)
        if left.compares or right.compares:
            raise self._wrong(whole, "compares twice", "write a < b and b < c")
        first, second = self._same_kind(whole, [left, right], ordered=operator not in ("=", "<>"))
        return replace(whole, sql=f"({first} {operator} {second})")

    def _predicate(self, operator: str, this: _Value, depth: int) -> _Value:
        negated = "NOT " if operator == "not" else ""
        if negated:
            operator = self._skip("in", "between", "like", "ilike")
            if not operator:
                raise self._unexpected()
        if operator == "is":
            return self._identity(this)
        if operator in ("like", "ilike"):
            sides = [this, self._expression(SUM, depth + 1)]
            whole = _Value(BOOL, "", this.start, sides[1].end)
            if any(side.kind != "text" for side in sides):
                raise self._wrong(whole, f"needs text on both sides of {operator}")
            sql = f"({sides[0].closed} {negated}{operator.upper()} {sides[1].closed})"
            return replace(whole, sql=sql)
        if operator == "between":
            low = self._expression(SUM, depth + 1)
            self._expect("and")
            high = self._expression(SUM, depth + 1)
            whole = _Value(BOOL, "", this.start, high.end)
            one, two, three = self._same_kind(whole, [this, low, high], ordered=True)
            return replace(whole, sql=f"({one} {negated}BETWEEN {two} AND {three})")
        return self._member(negated, this, depth)

    def _member(self, negated: str, this: _Value, depth: int) -> _Value:
        self._expect("(")
        listed: list[_Value] = []
        while not self._skip(")"):
            if listed:
                self._expect(",")
            listed.append(self._expression(OR, depth + 1))
        whole = _Value(BOOL, "", this.start, self.tokens[self.at - 1].end)
        if not listed:
            raise self._wrong(whole, "lists nothing", "write tp in (1, 2)")
        first, *others = self._same_kind(whole, [this, *listed], ordered=False)
        return replace(whole, sql=f"({first} {negated}IN ({', '.join(others)}))")

    def _identity(self, this: _Value) -> _Value:
        negated = "NOT " if self._skip("not") else ""
        keyword = self._skip("null", "true", "false")
        end = self._next.end if not keyword else self.tokens[self.at - 1].end
        whole = _Value(BOOL, f"({this.closed} IS {negated}{keyword.upper()})", this.start, end)
        if not keyword or (keyword != "null" and this.kind != BOOL):
            raise self._wrong(whole, "compares with other than null, true or false")
        return whole

    def _arithmetic(self, operator: str, left: _Value, right: _Value) -> _Value:
        first, second = self._double(left), self._double(right)
        if operator in "/%":  # by zero: no value, as for any unknown
            second = f"NULLIF({second}, 0e0)"
        return _Value("number", f"({first} {operator} {second})", left.start, right.end)

    def _double(self, value: _Value) -> str:
        """A number as DOUBLE: integers of DuckDB overflow with an error."""
        if value.kind != "number":
            raise self._wrong(value, f"is {_a(value.kind)}, not a number")
        return f"CAST({self._as_kind(value, value, 'number', ordered=True)} AS DOUBLE)"

    def _bool(self, value: _Value) -> _Value:
        if value.kind != BOOL:
            raise self._wrong(value, f"is {_a(value.kind)}, not a condition")
        return value

    def _same_kind(self, whole: _Value, parts: list[_Value], *, ordered: bool) -> list[str]:
        """The parts as one kind: that of the first non-literal."""
        kind = next((part.kind for part in parts if part.literal is None), parts[0].kind)
        if kind not in KINDS:
            raise self._wrong(whole, "can only be tested for null")
        return [self._as_kind(whole, part, kind, ordered=ordered) for part in parts]

    def _as_kind(self, whole: _Value, value: _Value, kind: str, *, ordered: bool) -> str:
        text = value.literal
        if kind == "number" and text is not None and _NUMBER.fullmatch(text):
            return self._number(whole, text)
        if value.kind == kind:
            return value.closed
        if kind == "text" and text is not None and not ordered:
            return _quote(text)
        if kind == "time" and text is not None and value.kind == "text" and _is_time(text):
            return f"CAST({_quote(text)} AS TIMESTAMP)"
        hint = "times are written 'YYYY-MM-DD' or 'YYYY-MM-DD HH:MM'" if kind == "time" else ""
        if {kind, value.kind} == {"text", "number"}:
            hint = "quote text, dates of tables too: date = '02-25'"
        raise self._wrong(whole, f"compares {_a(kind)} with {_a(value.kind)}", hint)

    def _number(self, whole: _Value, text: str) -> str:
        if not math.isfinite(float(text)):
            raise self._wrong(whole, "is not a number that can be used")
        digits = _digits(text.lstrip("-"))
        return f"(-{digits})" if text.startswith("-") else digits

    def _wrong(self, value: _Value, what: str, hint: str = "") -> BenchError:
        part = " ".join(self.expr[value.start : value.end].split())
        message = f"the condition is wrong: {part} {what}"
        return BenchError(message, where=self.expr, hint=hint or HINT)

    def _unexpected(self) -> BenchError:
        token = self._next
        if token.kind == "end":
            return refused(self.expr, "not a whole condition", max(token.start - 1, 0))
        raw = self.expr[token.start : token.end]
        return refused(self.expr, f"{raw!r} is not part of this grammar here", token.start)


def _kind(duckdb_type: str) -> str:
    name = duckdb_type.strip().upper()
    return next((kind for kind, form in KINDS.items() if re.fullmatch(form, name)), name)


def _is_time(text: str) -> bool:
    try:
        return bool(_TIME.fullmatch(text)) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def _digits(text: str) -> str:
    # With an exponent it is a DOUBLE in DuckDB; without, a DECIMAL, which overflows.
    if re.fullmatch(r"\d{1,18}", text):
        return str(int(text))
    shown = repr(float(text))
    return shown if "e" in shown else f"{shown}e0"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _a(kind: str) -> str:
    return {"number": "a number", "time": "a time"}.get(kind, kind)
