"""The query of a reading command, a region of a page or an explanation: one object for all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..vocabulary.prices import NO_PRICES, Prices
from ..vocabulary.sizes import Length

_CONDITION = re.compile(r"[=<>]|\s(?:in|is|like|ilike|between)\s", re.I)
_RUN = re.compile(r".+:\d+|[0-9a-f]{6,}")
# What `bench best --by` takes.
RANKED_BY = (
    "tokens_per_s", "tokens_per_s_per_device", "samples_per_s", "mfu", "tflops", "mem",
    "device_hours", "cost", "energy",
)  # fmt: skip
MOST = 20  # rows shown by default


@dataclass(frozen=True)
class TableRef:
    """A published table: the file as named, and which of its tables (None: all)."""

    file: str
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which runs, for which training, set against what, and how much of the answer is shown.

    Made once from the command line (or a region's marker) and handed down whole; a command leaves
    what it has no option for at its default.
    """

    # Which runs: conditions that all have to be true. `where` is the text of `--where`.
    model: str | None = None
    table: TableRef | None = None
    where: str | None = None
    since: datetime | None = None
    document: str | None = None
    # The training that days are for: at most one of the two, else what bench.toml has for a model.
    tokens: int | None = None
    steps: int | None = None
    lengths: Mapping[float, Length] = field(
        default_factory=dict
    )  # of bench.toml, by parameters in 1e9
    prices: Prices = NO_PRICES  # of a device-hour: --price, else those of bench.toml
    # Days: on so many nodes, the share of the time that trains, a ramp-up of the batch, and whether
    # sizes that were not measured are fitted.
    nodes: int | None = None
    goodput: float | None = None
    ramp_up: str | None = None
    extrapolate: bool = False
    # What runs are compared or ranked by, and the value that the others are set against.
    by: str | None = None
    base: str | None = None
    # How much is shown.
    all_rows: bool = False
    columns: str | None = None
    group: str | None = None

    @property
    def most(self) -> int:
        """How many rows people are shown; 0: all."""
        return 0 if self.all_rows or self.group else MOST

    @property
    def ranked_by(self) -> str | None:
        """What `bench best` ranks by, where `by` names that and nothing to compare by."""
        return self.by if self.by in RANKED_BY else None

    @property
    def compared_by(self) -> str | None:
        """What `bench compare` compares by."""
        return None if self.ranked_by else self.by

    def also(self, condition: str) -> Query:
        """The same query with a further condition."""
        both = f"({self.where}) and ({condition})" if self.where else condition
        return replace(self, where=both)

    def of_days(self) -> bool:
        """Whether an option is set that only `bench days` has."""
        return bool(self.extrapolate) or (self.nodes, self.goodput, self.ramp_up) != (None,) * 3


EVERYTHING = Query()


def is_condition(word: str) -> bool:
    """Whether a side of a comparison is a condition: mbs = 1."""
    return bool(_CONDITION.search(word))


def may_be_run(word: str) -> bool:
    """Whether a side of a comparison has the form of a run: 001:27, or an id."""
    return bool(_RUN.fullmatch(word))
