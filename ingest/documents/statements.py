"""Other numbers and words that a document states: plans, days, constraints, legends, summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...vocabulary.cell_pieces import MARK
from ...vocabulary.headings import column_of
from .fact import Fact

_DAYS = re.compile(
    r"(?<![\d.])(?P<time>\d{1,9}(?:\.\d{1,9})?)\s*(?:s|secs?|seconds)\s*/\s*it\w*\s*(?:=+>|-+>|→|:|=+)\s*(?P<days>\d+(?:\.\d+)?)\s*days?",
    re.I,
)
_SUMMARY = re.compile(
    r"(?<![\d.])(?P<time>\d{1,9}(?:\.\d{1,9})?)\s*(?:s|secs?|seconds)\s*/\s*it\w*\s*\|\s*(?P<tflops>\d+(?:\.\d+)?)\s*TFLOP",
    re.I,
)
_SETTING = re.compile(r"\b([A-Z]{2,})\s*=\s*0*(\d+)")
_CONSTRAINT = re.compile(r"[A-Za-z(][\w()/*+ ]{0,80}?\s%\s\d+\s*=\s*0")
_TOKENS = re.compile(r"\b(?P<number>\d+(?:\.\d+)?)\s?(?P<scale>[BT])\s+tokens\b", re.I)
# What makes tokens a plan: a data set has tokens too, and other models were trained on some.
_PLANNED = re.compile(
    r"\b(?:budget|goal|target|plan\w*|to (?:pre-?)?train|"
    r"(?:pre-?)?train(?:s|ing|ed)?(?:\s+\w+){0,3}?\s+for)\b",
    re.I,
)
_OF_DATA = re.compile(r"\b(?:was|were|been|data ?sets?|corpus|corpora)\b", re.I)
_LEGEND = re.compile(rf"^\s*(?:[-*]\s+)?(?P<mark>{MARK})\s*(?:[:=]\s*)?(?P<text>[^\s*^†‡§¶|/].*)$")
# `- in the table means out of memory`
_DASH = re.compile(
    r"^\s*(?:[-*+•]\s+)?[*_`'\"“(]{0,4}[-–—][*_`'\"”)]{0,4}\s"
    r"(?:(?:in|within) (?:the|this|these) \w+\s)?"
    r"(?:means?|denotes?|indicates?|stands for|marks?|[=:])\s"
    r"(?P<text>.{0,60}?(?:out of memory|\bOOM\b|fail|crash|hang|hung).{0,60})$",
    re.I,
)
DASH = "-"  # the mark of a cell without a number
_BULLET = re.compile(r"^\s*\*\s+(?![:=])")  # of a list, unless what follows explains the mark
_NOTATION = re.compile(
    r"^\s*+[-*]?\s*+(?P<name>[A-Za-z#][\w ./()%-]{0,80}?)\s+={1,2}\s+(?P<text>[^=].*)$"
)
# A change after which numbers do not compare: `from here on`, or by an explicit statement.
_FROM_HERE = re.compile(r"\bfrom (?:here|now|this point) on\b", re.I)
_APART = re.compile(r"\b(?:today|yesterday|earlier|previous|older|above|below|before)\b", re.I)
_ELSEWHERE = re.compile(r"\b(?:work|works|papers?|publications?|literature|versions? of)\b", re.I)
_RESULTS = re.compile(
    r"\b(?:T\w*FLOPs?|TLOPs?|FLOPS|numbers|results|speeds?|throughputs?|step times?|timings?|rows"
    r"|measurements|tables)\b",
    re.I,
)
_OTHERS = re.compile(
    r"\b(?:higher|lower|faster|slower|improved|changed|better|worse|formula)\b", re.I
)
_NOT_COMPARED = re.compile(
    r"\b(?:do not|don't|can ?not|can't|cannot|should not|shouldn't|not)\s+(?:\w+\s+){0,2}compar",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of the statements table, without its load."""

    line: int
    kind: str
    raw: str
    subject: str | None = None
    value: float | None = None
    unit: str | None = None
    detail: dict[str, str] = field(default_factory=dict)


def statements_in(text: str, line: int, facts: list[Fact]) -> Iterator[Statement]:
    """The statements of one line outside tables; `facts` are its configuration, if it is one."""
    raw = text.strip()
    yield from _plan(raw, line, facts)
    for match in _DAYS.finditer(raw):
        yield Statement(
            line, "days", raw, "days", float(match["days"]), "days", {"step_time_s": match["time"]}
        )
    if _is_boundary(raw):
        yield Statement(line, "boundary", raw)
    summary = _SUMMARY.search(raw)
    if summary:
        detail = {name.lower(): value for name, value in _SETTING.findall(raw)}
        detail |= {"step_time_s": summary["time"], "tflops": summary["tflops"]}
        yield Statement(line, "summary", raw, detail=detail)
    for match in _CONSTRAINT.finditer(raw.replace("`", " ` ")):
        yield Statement(line, "constraint", raw, match[0].strip())
    notation = None if facts or summary else _NOTATION.match(raw)
    if notation and column_of(notation["name"]):
        yield Statement(
            line,
            "notation",
            raw,
            notation["name"].strip(),
            detail={"text": notation["text"].strip()},
        )


def _is_boundary(raw: str) -> bool:
    if not _RESULTS.search(raw):
        return False
    compared = bool(_NOT_COMPARED.search(raw))
    if _FROM_HERE.search(raw):
        return compared or bool(_OTHERS.search(raw))
    return compared and bool(_APART.search(raw)) and not _ELSEWHERE.search(raw)


def formula_statement(text: str, line: int, facts: list[Fact]) -> Statement | None:
    """The statement of a one-line TFLOPs formula; None when the line is none."""
    if not facts:
        return None
    return Statement(
        line, "formula", text.strip(), "tflops", detail={f.field: f.value or "" for f in facts}
    )


def legend_in(text: str, line: int) -> Statement | None:
    """A footnote: mark and meaning; the caller checks whether a table uses the mark."""
    if dash := _DASH.match(text):
        detail = {"text": dash["text"].strip()}
        return Statement(line, "legend", text.strip(), DASH, detail=detail)
    match = _LEGEND.match(text)
    bullet = _BULLET.match(text)
    if not match or match["text"].strip().startswith("=") or (bullet and match["mark"] == "*"):
        return None
    return Statement(
        line, "legend", text.strip(), match["mark"], detail={"text": match["text"].strip()}
    )


def _plan(raw: str, line: int, facts: list[Fact]) -> Iterator[Statement]:
    stated = {fact.field: fact.value or "" for fact in facts}
    if "steps" in stated:
        yield Statement(line, "plan", raw, "steps", float(stated["steps"]), "steps", stated)
        return
    if not _PLANNED.search(raw) or _OF_DATA.search(raw) or "?" in raw:
        return
    tokens = {(match["number"], match["scale"].upper()) for match in _TOKENS.finditer(raw)}
    if len(tokens) == 1:
        number, scale = tokens.pop()
        value = float(number) * {"B": 1e9, "T": 1e12}[scale]
        yield Statement(line, "plan", raw, "tokens", value, "tokens", {"tokens": f"{value:.0f}"})
