"""What is asked of which runs: filters, the length of a training, and how much is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from ..reports.table_ref import TableRef

_CONDITION = re.compile(r"[=<>]|\s(?:in|is|like|ilike|between)\s", re.I)
_RUN = re.compile(r".+:\d+|[0-9a-f]{6,}")
RANKED_BY = ("tokens_per_s", "tflops", "mem", "device_hours")  # what `bench best --by` takes
MOST = 20  # rows that people are shown, unless they ask for all


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs a decision is about, as given on the command line or in a region."""

    model: str | None = None
    table: TableRef | None = None
    where: str | None = None
    since: datetime | None = None
    document: str | None = None
    all_rows: bool = False
    tokens: int | None = None
    steps: int | None = None
    columns: str | None = None
    group: str | None = None

    @property
    def most(self) -> int:
        """How many rows people are shown; 0: all."""
        return 0 if self.all_rows or self.group else MOST

    def also(self, condition: str) -> Asked:
        """The same question with a further condition."""
        both = f"({self.where}) and ({condition})" if self.where else condition
        return replace(self, where=both)


@dataclass(frozen=True, slots=True)
class Length:
    """What `bench days` asks beside the runs: sizes, goodput, ramp-up, sizes never measured."""

    nodes: int | None = None
    goodput: float | None = None
    ramp_up: str | None = None
    extrapolate: bool = False


def is_condition(word: str) -> bool:
    """Whether a side of a comparison is a condition: mbs = 1."""
    return bool(_CONDITION.search(word))


def may_be_run(word: str) -> bool:
    """Whether a side of a comparison has the form of a run: 001:27, or an id."""
    return bool(_RUN.fullmatch(word))
