"""Input of the rules: rows of published tables, quoted lines, and the intervals of logs.

A table also has the reading of its TFLOPs: how they were probably computed, and how sure that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..vocabulary.headings import columns
from ..vocabulary.run_fields import Stated
from .finding import Finding, Place
from .interval import Printed

if TYPE_CHECKING:
    from ..schema.warehouse import Warehouse


_TITLES = {"devices": "GPUs", "dp_shard": "shards", "agg_pflops": "Aggr."}
_FACTORS = {3: "without recompute (factor 3)", 4: "with recompute (factor 4)"}


def title(name: str) -> str:
    """The name of one of our columns in findings: its heading, or a shorter form."""
    known = columns().get(name)
    return _TITLES.get(name) or (known.title if known else name)


@dataclass(frozen=True, slots=True)
class Reading:
    """How TFLOPs may have been computed; factor 0 means it depends on the row's recompute."""

    formula: str
    factor: int | None = None
    divisor: str = "world"
    vocab: int | None = None
    exact: bool = False  # the vocabulary is not padded to a multiple of 128 x TP
    fitted: bool = False  # the vocabulary most rows imply, not a known one

    def __str__(self) -> str:
        name = self.formula if self.factor in (None, 0) else f"{self.formula} x{self.factor}"
        word = "vocabulary fitted to" if self.fitted else "vocabulary"
        vocab = f", {word} {self.vocab}" if self.vocab else ""
        return f"{name}{vocab}, per {'process' if self.divisor == 'world' else self.divisor}"

    @property
    def long(self) -> str:
        """The reading and the meaning of its factor."""
        return f"{self} {_FACTORS.get(self.factor or 0, '')}".strip()


@dataclass(frozen=True, slots=True)
class Detected:
    """The reading of a table; `agree` of `tested` rows fit it, and `around` in its document."""

    reading: Reading
    agree: int
    tested: int
    around: int

    @property
    def certain(self) -> bool:
        """Whether a row that does not fit contradicts a clear majority."""
        return 3 * self.agree >= 2 * self.tested and (self.agree >= 3 or self.around >= 4)


@dataclass(slots=True)
class Row(Stated):
    """A row as stated; `unshifted` if its cells were moved back under their headings."""

    uri: str
    line: int
    run_id: str
    origin: str
    table_id: str | None
    number: int | None
    status: str
    status_reason: str | None
    kind: str
    flags: tuple[str, ...]
    world: int | None  # processes
    procs_stated: bool
    sharded: bool
    env: tuple[str, ...] = ()
    printed: dict[str, Printed] = field(default_factory=dict)
    other_cells: tuple[str, ...] = ()  # notes, and cells under unknown headings
    notes_tokens: tuple[str, ...] = ()  # words of the notes: they may mark a different context
    invalid: bool = False
    unshifted: bool = False
    vocab_fitted: int | None = None  # from the reading of its table

    @property
    def time(self) -> Printed | None:
        return self.printed.get("step_time_s")

    @property
    def tflops(self) -> Printed | None:
        return self.printed.get("tflops")

    @property
    def memory(self) -> Printed | None:
        return self.printed.get("memory")

    @property
    def per_node_guessed(self) -> bool:
        """Whether processes per node are inferred from most rows of the table, not stated."""
        stated = self.devices or self.ranks or self.devices_per_node or self.procs_stated
        return not stated

    @property
    def product(self) -> int | None:
        """DP x TP x PP x CP, times EP where DP counts copies of experts; None unless all stated."""
        if self.dp is None or self.tp is None or self.pp is None:
            return None
        product = self.dp * self.tp * self.pp * (self.cp or 1)
        by_experts = product * (self.ep or 1)
        return by_experts if by_experts == self.world else product

    @property
    def data_parallel(self) -> int | None:
        """DP as stated, else world size over the other sizes.

        Some tables count the copies of each expert as DP; of the other layers there are EP times as
        many.
        """
        if self.dp is not None and self.product == self.world and self.tp and self.pp:
            return (self.world or 0) // (self.tp * self.pp * (self.cp or 1))
        if self.dp is not None or self.world is None or self.tp is None:
            return self.dp
        model = self.tp * (self.pp or 1) * (self.cp or 1)
        return self.world // model if model and self.world % model == 0 else None

    @property
    def measured(self) -> bool:
        """Whether it prints a speed."""
        return any(name != "memory" for name in self.printed)

    def at(self, name: str = "") -> Place:
        """A cell of the row as a place."""
        return Place(self.uri, self.line, name, self.run_id)


@dataclass(slots=True)
class Table:
    """A published table and its rows; quoted lines form a table without an id."""

    uri: str
    table_id: str | None
    header_line: int
    columns: tuple[str, ...]
    headings: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)
    detected: Detected | None = None
    counted: dict[Any, Any] = field(default_factory=dict)  # cache of the rules, by their own keys

    def near(self, row: Row, limit: int = 60) -> list[Row]:
        """Up to `limit` rows on either side of a row, the nearest first, without the row itself."""
        places = self._places()
        at = places.get(row.run_id, 0)
        around = self.rows[max(0, at - limit) : at + limit + 1]
        return sorted(
            (other for other in around if other is not row),
            key=lambda other: abs(other.line - row.line),
        )

    def _places(self) -> dict[str, int]:
        if len(self.order) != len(self.rows):
            self.order = {one.run_id: place for place, one in enumerate(self.rows)}
        return self.order


@dataclass(slots=True)
class Document:
    """A source: its tables in order, and the statements of its lines as (field, value, line)."""

    uri: str
    tables: list[Table] = field(default_factory=list)
    stated: list[tuple[str, str, int]] = field(default_factory=list)
    counted: dict[str, Any] = field(default_factory=dict)  # cache of the rules, by their own keys

    @property
    def rows(self) -> Iterator[Row]:
        for table in self.tables:
            yield from table.rows


@dataclass(slots=True)
class AuditInput:
    """Everything to audit; each rule appends to `findings`."""

    warehouse: Warehouse
    documents: list[Document]
    findings: list[Finding] = field(default_factory=list)

    def doubted(self) -> set[tuple[str, int]]:
        """Lines that already have an error: no evidence against others."""
        return {
            row
            for finding in self.findings
            if finding.severity == "error"
            for row in finding.rows()
        }

    @property
    def tables(self) -> Iterator[Table]:
        for document in self.documents:
            yield from document.tables


_QUERY = """
    SELECT r.uri, i.run_id, i.segment, i.iteration, coalesce(i.interval_length, 1), i.line,
        i.step_time_s, i.samples_per_s, i.tokens_per_s, i.tflops, i.consumed_samples,
        i.consumed_tokens, i.gbs, i.seq_len
    FROM iterations i JOIN runs r USING (run_id)
    WHERE r.origin = 'log' AND r.uri IN (SELECT unnest($uris::VARCHAR[]))
    ORDER BY r.uri, r.line, i.line"""


class Step(NamedTuple):
    """One logged interval."""

    uri: str
    run_id: str
    segment: int
    iteration: int
    length: int
    line: int
    time: float | None
    samples: float | None
    tokens: float | None
    tflops: float | None
    consumed: int | None
    consumed_tokens: int | None
    gbs: int | None
    seq_len: int | None


@dataclass(frozen=True, slots=True)
class Log:
    """A run of a log: the settings of its header, and its intervals."""

    uri: str
    run_id: str
    gbs: int | None
    seq_len: int | None
    world: int | None
    steps: tuple[Step, ...]


def logs(data: AuditInput) -> Iterator[Log]:
    """Every run of a log that the data covers, in order."""
    wanted = [document.uri for document in data.documents]
    head = {
        run_id: (uri, gbs, seq_len, world)
        for run_id, uri, gbs, seq_len, world in data.warehouse.rows(
            "SELECT run_id, uri, gbs, seq_len, world_size FROM configurations WHERE origin = 'log'"
        )
    }
    steps = map(Step._make, data.warehouse.rows(_QUERY, {"uris": wanted}))
    for run_id, found in groupby(steps, key=attrgetter("run_id")):
        if run_id in head:
            uri, gbs, seq_len, world = head[run_id]
            yield Log(uri, run_id, gbs, seq_len, world, tuple(found))
