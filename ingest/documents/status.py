"""How a published row ended: its cells' words, its marks' legends, or its lack of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...vocabulary.cell import Cell
from ...vocabulary.cell_numbers import BOUND
from ...vocabulary.headings import Column
from ...vocabulary.outcome_words import failure_of, risk_of
from .results import Result
from .statements import DASH, Statement

_ROUGH = re.compile(r"^\s*[~≈]|\best(?:\.|imated?\b)", re.I)
_MEANS = (
    ("hang", re.compile(r"\b(?:stuck|hangs?|hung)\b", re.I)),
    ("oom", re.compile(r"\boom\b|out of memory", re.I)),
    ("fail", re.compile(r"\b(?:fail\w*|crash\w*)\b", re.I)),
)
_NOT_RUN = re.compile(r"\W*(?:skip\w*|not[ _-]?run|pending|queued|planned|to ?do|tbd|n/a)\b", re.I)
_DONE = re.compile(
    r"\W*(?:done|ok|pass(?:ed)?|success(?:ful|fully)?|succeeded|completed?|finished|完成|成功)\b",
    re.I,
)
_SOME_RESULT = re.compile(  # also at the end of a sum or product: `17.23 * 2048 / 8 = 4410 tok/s`
    r"[\W_]*+(?:\d[\d.,]*+\s?[*x×/÷+=]\s?){0,8}\d[\d.,]*+\s?(?:m?s|min|h|[GM]i?B|[TP]FLOP|tok|samp|seq|it)",
    re.I,
)
_SHORT = 60  # characters of a cell that states a failure
_DASHES = frozenset("-–—")
_ESTIMATED = re.compile(r"\bestimat", re.I)


class Footnotes:
    """The legends of one document by mark."""

    def __init__(self, legends: Iterable[Statement] = ()) -> None:
        self._legends: Mapping[str, Statement] = {
            legend.subject or "": legend for legend in legends
        }

    def flags(self, marks: Iterable[str]) -> set[str]:
        """The flags of a number by its marks: estimated, doubtful, or unexplained."""
        return {flag for mark in marks for flag in self._flags(mark)}

    def failure(self, mark: str) -> tuple[str, Statement] | None:
        """The failure stated in a mark's legend (hang, oom, fail), and the legend."""
        legend = self._legends.get(mark)
        if legend is None:
            return None
        text = legend.detail["text"]
        return next(((kind, legend) for kind, words in _MEANS if words.search(text)), None)

    def _flags(self, mark: str) -> Iterator[str]:
        legend = self._legends.get(mark)
        if legend is None:
            yield "doubtful" if set(mark) == {"?"} else "unexplained_mark"
        elif _ESTIMATED.search(legend.detail["text"]):
            yield "estimated"


@dataclass(frozen=True, slots=True)
class Status:
    """Status with the reason and the line that states it; `kind` is measured or planned."""

    status: str
    reason: str | None = None
    line: int | None = None
    kind: str = "measured"


def status_of(
    by_name: Mapping[str, Cell],
    columns: Sequence[Column | None],
    results: Sequence[Result],
    footnotes: Footnotes,
    unread: bool = False,
    measured: bool = False,
    words: str = "",
) -> Status:
    """The status of a row; a failure in the notes does not undo a measured speed.

    `words`: the cells under unknown headings, of which one may state a failure.

    `unread`: the table has a result that its heading does not name well enough; `measured`: it has
    numbers under headings of unknown results.
    """
    failures = [
        (name, cell, kind) for name, cell in by_name.items() if (kind := _failure(name, cell))
    ]
    cells = [item for item in failures if item[0] != "notes"]
    speed = any(result.metric != "memory" for result in results)
    if cells or (failures and not speed):
        _, cell, kind = (cells or failures)[0]
        # `(failed)`, and `OOM` in another column
        why = _told_failure(words) if kind == "fail" else None
        return Status(*why) if why and why[0] != kind else Status(kind, cell.raw)
    stated = by_name.get("status")
    if stated and _NOT_RUN.match(stated.raw.replace("_", " ")):
        return Status("not_run", stated.raw)
    done = bool(stated and _DONE.match(stated.raw))
    if results or done or any(cell.invalid for cell in by_name.values()):
        return Status("ok")
    for mark in (mark for cell in by_name.values() for mark in cell.marks):
        if failed := footnotes.failure(mark):
            kind, legend = failed
            return Status(kind, f"{mark} {legend.detail['text']}", legend.line)
    if failure := _told_failure(words):
        return Status(*failure)
    if _has_range(by_name, columns):
        return Status("ok", "its result is a range")
    if _has_bound(by_name, columns):
        return Status("ok", "its result is a bound")
    if _is_dashed(by_name, columns) and (failed := footnotes.failure(DASH)):
        kind, legend = failed
        return Status(kind, legend.raw, legend.line)
    if told := _told_result(by_name, columns):
        return Status("ok", told)
    if unread:
        return Status("not_run", "its result column is not read")
    if remark := _remark_on_results(by_name, columns):
        return Status("not_run", remark)
    if any(column and column.role in ("result", "remark") for column in columns):
        return Status("not_run", "no measured cell")
    if measured:
        return Status("ok", "its result column is not read")
    return Status("not_run", "a plan: the table has no result column", kind="planned")


def _told_failure(words: str) -> tuple[str, str] | None:
    """The failure that a cell under an unknown heading states, and its words."""
    for part in words.split("; "):
        if len(part) <= _SHORT and (kind := failure_of(part)):
            return kind, part
    return None


def flags_of(
    cells: Sequence[Cell], columns: Sequence[Column | None], footnotes: Footnotes
) -> list[str]:
    """The flags of a row: risks, marks, damage."""
    marks = [mark for cell in cells for mark in cell.marks]
    flags = footnotes.flags(marks)
    flags |= {f"{failed[0]}_noted" for mark in marks if (failed := footnotes.failure(mark))}
    flags |= {flag for cell in cells if cell.kind == "number" for flag in rough(cell.raw)}
    flags |= {
        risk for cell in cells if cell.kind in ("text", "words") and (risk := risk_of(cell.raw))
    }
    missing = [column for column in columns[len(cells) :] if column and column.role != "remark"]
    if missing or len(cells) > len(columns):
        flags.add("ragged")
    if any(cell.invalid for cell in cells):
        flags.add("misfit")
    if any(cell.kind == "words" for cell in cells):
        flags.add("worded")
    return sorted(flags)


def _result_cells(by_name: Mapping[str, Cell], columns: Sequence[Column | None]) -> Iterator[Cell]:
    for column in columns:
        if column and column.role == "result" and (cell := by_name.get(column.name)):
            yield cell


def _has_range(by_name: Mapping[str, Cell], columns: Sequence[Column | None]) -> bool:
    """Whether a result of a row is a range, of which no value is stored."""
    return any(cell.kind == "range" for cell in _result_cells(by_name, columns))


def _has_bound(by_name: Mapping[str, Cell], columns: Sequence[Column | None]) -> bool:
    """Whether a result of a row is a bound, of which no value is stored: `>250`."""
    return any(BOUND.fullmatch(cell.raw) for cell in _result_cells(by_name, columns))


def _is_dashed(by_name: Mapping[str, Cell], columns: Sequence[Column | None]) -> bool:
    """Whether a result of a row is a dash."""
    return any(cell.raw.strip("*` ") in _DASHES for cell in _result_cells(by_name, columns))


def _remark_on_results(by_name: Mapping[str, Cell], columns: Sequence[Column | None]) -> str | None:
    """The remark in place of a result."""
    return next((c.raw for c in _result_cells(by_name, columns) if c.kind == "words"), None)


def _told_result(by_name: Mapping[str, Cell], columns: Sequence[Column | None]) -> str | None:
    """A result with more than a number: `0.26s (alone) / 0.47s (two at once)`."""
    remark = _remark_on_results(by_name, columns)
    return remark if remark and _SOME_RESULT.match(remark) else None


def rough(raw: str) -> set[str]:
    """`estimated`, if the cell states that of its number."""
    return {"estimated"} if _ROUGH.search(raw) else set()


def _failure(name: str, cell: Cell) -> str | None:
    """The failure stated in a cell."""
    if name == "size" or cell.kind not in ("failure", "number", "text", "settings"):
        return None
    return failure_of((cell.text or "") if cell.kind == "number" else cell.raw)
