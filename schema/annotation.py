"""Annotations: statements about runs made outside of their sources, and the runs they match."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from .warehouse import Warehouse

_Day = date  # a field of that name hides the type
FINDING, BOUNDARY = "finding", "boundary"
# Kinds of sources, as the view source_kinds ranks them.
FILE, SET, PATH = "facts.toml", "set", "path"
# The size as the source alone states it: else an annotation could change what it matches.
_RUNS = """SELECT r.source_id, r.run_id, r.line, t.number, coalesce(
        size_label(coalesce(r.params_b, label_params_b(r.model))),
        short_size(coalesce(r.params_stated, CASE
            WHEN NOT coalesce(r.swiglu, false)
                AND coalesce(r.ffn_hidden = 4 * r.hidden::BIGINT, true)
            THEN p1(r.layers, r.hidden,
                    coalesce(r.vocab, v1(50257, coalesce(o.tp, 1))), r.seq_len) END))),
        r.date
    FROM runs r LEFT JOIN topology o USING (run_id)
    LEFT JOIN tables t ON t.table_id = r.table_id ORDER BY r.uri, r.line, r.run_id"""


@dataclass(frozen=True, slots=True)
class Match:
    """What an annotation matches: all fields that are not None.

    `file` is a pattern, or a prefix of the source's name; `model` a size label.
    """

    file: str | None = None
    lines: tuple[int, ...] = ()
    table: int | None = None
    model: str | None = None
    run: str | None = None
    rule: str | None = None
    sha256: str | None = None  # SHA-256 of the source's bytes, or a prefix of it
    source: str | None = None  # the id of a source
    uri: str | None = None  # the exact path of a source

    def names(self, uri: str) -> bool:
        """Whether the path of a source matches."""
        if self.uri is not None:
            return self.uri == uri
        if self.file is None:
            return True
        last = uri.rsplit("/", 1)[-1]
        exact = self.file in (uri, last, last.rsplit(".", 1)[0])
        return exact or fnmatchcase(uri, self.file) or last.startswith(self.file)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One statement about the runs that it matches, and its place."""

    match: Match
    field: str
    value: str
    reason: str
    author: str
    date: date | None
    file: str = FILE
    line: int = 1
    origin: str = FILE
    known_since: _Day | None = None
    withdrawn: _Day | None = None  # from this day on it is listed, and no longer counts

    @property
    def signed(self) -> str:
        """The reason, with author and date."""
        when = self.date.isoformat() if self.date else ""
        by = ", ".join(filter(None, (self.author, when)))
        return f"{self.reason} ({by})" if by else self.reason


def digest(annotations: Sequence[Annotation]) -> str:
    """A digest that identifies a list of annotations."""
    return hashlib.sha256(repr(tuple(annotations)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Run:
    """A run with the attributes that annotations match."""

    run_id: str
    line: int
    table: int | None
    size: str | None
    day: str | None

    def fits(self, match: Match) -> bool:
        """Whether an annotation of its source matches, apart from lines."""
        if match.run and not self.run_id.startswith(match.run):
            return False
        if match.table is not None and match.table != self.table:
            return False
        return match.model is None or match.model.casefold() == str(self.size).casefold()


def annotated_runs(
    warehouse: Warehouse, annotations: Sequence[Annotation]
) -> list[tuple[Any, ...]]:
    """A row for each pair of annotation and matching run, as annotations.sql reads them."""
    if not annotations:
        return []
    runs: dict[str, list[_Run]] = defaultdict(list)
    for source, *columns in warehouse.rows(_RUNS):
        runs[source].append(_Run(*columns))
    sources = warehouse.rows("SELECT source_id, uris, sha256 FROM sources ORDER BY uri")
    rows: list[tuple[Any, ...]] = []
    for number, one in enumerate(annotations):
        for source, uris, sha256 in sources:
            if sha256.startswith(one.match.sha256 or "") and any(map(one.match.names, uris)):
                fitting = [run for run in runs[source] if run.fits(one.match)]
                rows += [(*row, number) for row in _rows(one, fitting)]
    return rows


def _rows(annotation: Annotation, runs: Sequence[_Run]) -> Iterator[tuple[Any, ...]]:
    about = repr(annotation.match)
    for run in runs:
        if annotation.field == BOUNDARY:
            value = _boundary(annotation, run.line, run.day)
        else:
            value = (
                annotation.value if run.line in (annotation.match.lines or (run.line,)) else None
            )
        if value is not None:
            yield (
                run.run_id, annotation.field, value, annotation.file, annotation.line,
                annotation.reason, annotation.author, annotation.date, annotation.origin,
                annotation.known_since, annotation.withdrawn, about,
            )  # fmt: skip


def _boundary(annotation: Annotation, line: int, day: str | None) -> str | None:
    """`since|at|place|text`: the side of the change that a run is on; None if unknown."""
    if annotation.match.lines:
        at = annotation.match.lines[0]
        side, place = ("since" if line > at else "before"), f"l.{at}"
    else:
        known = day_of(day, annotation.date) if annotation.date else None
        if known is None or annotation.date is None:
            return None
        at, place = annotation.date.toordinal(), annotation.date.isoformat()
        side = "since" if known >= annotation.date else "before"
    return f"{side}|{at}|{place}|{annotation.value}"


def day_of(text: str | None, like: date) -> date | None:
    """A date as printed in tables and logs; without a year it is of the year of `like`."""
    if not text:
        return None
    whole = re.match(r"(\d{4})-(\d\d)-(\d\d)", text)
    short = re.match(r"(\d{1,2})[-/](\d{1,2})$", text)
    numbers = [int(part) for part in whole.groups()] if whole else []
    numbers = [like.year, *(int(part) for part in short.groups())] if short else numbers
    try:
        return date(*numbers) if numbers else None
    except ValueError:
        return None
