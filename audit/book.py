"""What the rules read: rows of published tables and quoted lines, by document and table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .finding import Finding, Place
from .interval import Printed
from .reading import Detected

if TYPE_CHECKING:
    from ..schema.warehouse import Warehouse


@dataclass(slots=True)
class Row:
    """A row as stated; `unshifted` once its cells were put back under their headings."""

    uri: str
    line: int
    run_id: str
    origin: str
    table_id: str | None
    number: int | None
    status: str
    kind: str
    flags: tuple[str, ...]
    model: str | None
    params_b: float | None
    layers: int | None
    hidden: int | None
    heads: int | None
    kv_heads: int | None
    ffn_hidden: int | None
    seq_len: int | None
    vocab: int | None
    swiglu: bool | None
    device: str | None
    dtype: str | None
    framework: str | None
    recompute: str | None
    nodes: int | None
    devices: int | None
    ranks: int | None
    devices_per_node: int | None
    procs_per_node: int | None
    procs_stated: bool
    world: int | None
    dp: int | None
    tp: int | None
    pp: int | None
    cp: int | None
    ep: int | None
    vpp: int | None
    mbs: int | None
    gbs: int | None
    grad_accum: int | None
    zero_stage: int | None
    sharded: bool
    dp_replicate: int | None
    dp_shard: int | None
    date: str | None
    env: tuple[str, ...] = ()
    printed: dict[str, Printed] = field(default_factory=dict)
    besides: tuple[str, ...] = ()  # the texts of its notes, and of cells under unknown headings
    words: tuple[str, ...] = ()  # the words among them: they may set the row apart from others
    misfits: bool = False
    unshifted: bool = False
    vocab_fitted: int | None = None  # of the reading that its table's TFLOPs follow

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
        """Whether its processes a node are what most rows of the table multiply out to."""
        stated = self.devices or self.ranks or self.devices_per_node or self.procs_stated
        return not stated

    @property
    def product(self) -> int | None:
        """DP x TP x PP x CP, where all are stated."""
        if self.dp is None or self.tp is None or self.pp is None:
            return None
        return self.dp * self.tp * self.pp * (self.cp or 1)

    @property
    def data_parallel(self) -> int | None:
        """DP as stated, else what the other sizes leave of the world."""
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
    """A published table and its rows; quoted lines stand in one without an id."""

    uri: str
    table_id: str | None
    header_line: int
    columns: tuple[str, ...]
    headings: tuple[str, ...]
    path: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)
    groups: dict[Any, list[Row]] = field(default_factory=dict)  # by model; see work.py
    detected: Detected | None = None
    counted: dict[Any, Any] = field(default_factory=dict)  # what rules count once, by their own key

    def near(self, row: Row, reach: int = 60) -> list[Row]:
        """The rows around one, the nearest first, itself left out."""
        places = self._places()
        at = places.get(row.run_id, 0)
        around = self.rows[max(0, at - reach) : at + reach + 1]
        return sorted(
            (other for other in around if other is not row),
            key=lambda one: abs(one.line - row.line),
        )

    def _places(self) -> dict[str, int]:
        if len(self.order) != len(self.rows):
            self.order = {one.run_id: place for place, one in enumerate(self.rows)}
        return self.order


@dataclass(slots=True)
class Document:
    """A source with its tables in order, and what its lines state: (field, value, line)."""

    uri: str
    tables: list[Table] = field(default_factory=list)
    stated: list[tuple[str, str, int]] = field(default_factory=list)
    counted: dict[str, Any] = field(default_factory=dict)  # what rules count once, by their own key

    @property
    def rows(self) -> Iterator[Row]:
        for table in self.tables:
            yield from table.rows


@dataclass(slots=True)
class Book:
    """All that is audited; `findings` grows rule by rule."""

    warehouse: Warehouse
    documents: list[Document]
    findings: list[Finding] = field(default_factory=list)

    def doubted(self) -> set[tuple[str, int]]:
        """Lines that have an error already: no evidence against others."""
        return {row for one in self.findings if one.severity == "error" for row in one.rows()}

    @property
    def tables(self) -> Iterator[Table]:
        for document in self.documents:
            yield from document.tables
