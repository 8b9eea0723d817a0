"""Log lines that a document quotes: runs of one interval, tied to the configuration above."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache

from ...schema.rows import Row, Rows, content_id
from ...vocabulary.fields import stated_by
from ...vocabulary.sizes import parse_size
from ..cast import integer
from ..logs.dialect import Dialect, dialects
from ..logs.finder import Candidates
from ..logs.lines import peel
from ..logs.record import Record
from .applicable_facts import resolve, stated
from .context import INTEGERS
from .fact import Fact
from .row import MODEL
from .sections import Quote
from .subjects import of_table
from .warehouse_rows import add_facts

_WORDS = tuple(
    one.name for one in stated_by("text") if one.table == "runs" and one.type == "VARCHAR"
)
# The line itself may print the global batch; nodes and DP are in the text around it.
_TOPOLOGY = (
    "nodes",
    "dp",
    *(one.name for one in stated_by("text") if one.table == "topology" and one.name != "gbs"),
)
OF_STEPS = frozenset(("iteration", "part"))  # what formats of steps and their parts read
_OF_THE_RUN = ("train_iters",)
_NO_COLUMNS = frozenset(("memory", "epoch"))
# Quote marks, list bullets and code fences before the line, back quotes around it.
_MARKDOWN = re.compile(r"^[\s>]*(?:[-*+]\s+)?`*")


def add_quote(
    rows: Rows, quote: Quote, everywhere: Sequence[Fact], source_id: str, seen: Counter[str]
) -> bool:
    """Add the run of a quoted iteration line; False for any other line."""
    record = read_quoted(quote.line.text)
    if record is None or record.reads != "iteration" or "iteration" not in record.fields:
        return False
    around = _around(quote.facts, everywhere)
    value = {name: _typed(fact) for name, fact in around.items()}
    line = quote.line.line
    raw = record.raw.strip()
    seen[raw] += 1
    run_id = content_id(source_id, "quote", raw, seen[raw])
    rows.add(
        "runs",
        source_id=source_id,
        run_id=run_id,
        origin="quote",
        line=line,
        last_line=line,
        model=value.get("size"),
        **{name: value.get(name) for name in (*MODEL, *_WORDS)},
        status="ok",
        kind="measured",
        flags=[],
        job_ids=[],
        train_iters=record.fields.get("train_iters"),
    )
    gbs = record.fields.get("gbs") or value.get("gbs")
    topology = {name: value.get(name) for name in _TOPOLOGY}
    rows.add("topology", run_id=run_id, gbs=gbs, **topology)
    fields = {name: item for name, item in record.fields.items() if name not in _OF_THE_RUN}
    rows.add("iterations", run_id=run_id, segment=1, interval_length=1, line=line, **fields)
    add_facts(rows, run_id, around)
    return True


def add_settings(
    rows: Rows, run: Row, topology: Row | None, quote: Quote, everywhere: Sequence[Fact]
) -> None:
    """Add to the run of a quoted log the facts of the document that the log does not state."""
    around = _around(quote.facts, everywhere)
    run.setdefault("model", None)
    own = run | (topology or {})
    inherited = {name: fact for name, fact in around.items()
            if own.get("model" if name == "size" else name) is None}  # fmt: skip
    value = {name: _typed(fact) for name, fact in inherited.items()}
    run |= {name: value[name] for name in (*MODEL, *_WORDS) if name in value}
    if "size" in value:
        run["model"] = value["size"]
    settings = {name: value[name] for name in (*_TOPOLOGY, "gbs") if name in value}
    if topology is not None:
        topology |= settings
    elif settings:
        rows.add("topology", run_id=run["run_id"], **settings)
    add_facts(rows, str(run["run_id"]), inherited)


def read_quoted(text: str, reads: Collection[str] = ("iteration",)) -> Record | None:
    """The record on a quoted line: format, fields by our columns, its text; None: no log line.

    Only the step line of a framework counts as a quoted result.
    """
    _, text = peel(_MARKDOWN.sub("", text, count=1).rstrip().rstrip("`"))
    formats, candidates = _formats()
    for dialect in (formats[order] for order in candidates.of(text)):
        if dialect.reads not in reads:
            continue
        if (record := dialect.read(text)) is not None:
            fields = {name: record.fields[name] for name in record.fields.keys() - _NO_COLUMNS}
            return replace(record, fields=fields)
    return None


@cache
def _formats() -> tuple[tuple[Dialect, ...], Candidates]:
    """The formats of steps, and those that a line may have by its words."""
    steps = tuple(one for one in dialects() if one.reads in OF_STEPS and not one.secondary)
    return steps, Candidates(steps)


def _around(facts: Sequence[Fact], everywhere: Sequence[Fact]) -> dict[str, Fact]:
    facts, everywhere = of_table(facts, ()), of_table(everywhere, ())
    size = resolve(facts, "size", None)
    params = parse_size(size.value) if size and size.value else None
    return stated(facts, everywhere, (*MODEL, *_TOPOLOGY, *_WORDS, "gbs", "size"), params)


def _typed(fact: Fact) -> object:
    return integer(fact.value) if fact.field in INTEGERS and fact.value else fact.value
