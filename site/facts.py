"""Stated facts and computed numbers of a run, with their lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

from ..explain.bulk import PrefetchedRun, known_runs
from ..explain.columns import derive, heads, of_column
from ..explain.output import text_of
from ..explain.run import Lines
from ..explain.tree import Node, SourceSpan
from ..schema.sql import named_statements
from ..schema.warehouse import Row
from ..vocabulary.fields import fields
from ..vocabulary.format import number, significant
from .load import Content
from .series import Series, series_of

Part = Mapping[str, Any]
_TITLES = {
    "days": "Days to train",
    "step_time_s": "Step time",
    "tokens_per_s": "Tokens/s",
    "tokens_per_s_per_device": "Tokens/s",
    "model_tflops": "Model TFLOP/s",
    "aggregate_pflops": "Aggregate PFLOP/s",
    "tflops": "TFLOP/s as printed",
    "memory": "Memory",
    "mfu": "MFU",
    "hfu": "HFU",
    "params_computed": "Parameters",
    "world_size": "Processes",
    "train_iters": "Planned steps",
    "tokens_per_step": "Tokens a step",
    "vocab_used": "Vocabulary",
    "params_b": "Parameters, billions",
    "procs_per_node": "Processes/node",
    "device_days": "Device-days",
    "recompute": "Recompute",
    "zero_stage": "ZeRO stage",
    "grad_accum": "Accumulation",
    "seq_len": "Sequence length",
}
_GROUPS = {
    "cell": "Cells of the row",
    "arguments": "Arguments",
    "header": "Header of the log",
    "environment": "Environment",
    "user": "Stated by users",
    "bundle": "Companion files",
}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{1,16}(?=>)")
_FIRST = ("step_time_s", "mfu")  # numbers of a run, before those that lead its explanation
_ASIDE = ("system", "device_count")  # redundant with device and devices
_AS_READ = "as the source was read"  # the text of an explanation without a line
_NO_LINE = "read from the source; its line is not recorded"
_OF_A_ROW = "read with the row"
_OF_A_LOG = {
    "framework": "by the format of the log",
    "date": "the first time that the run prints",
    "train_iters": "printed with the steps",
    "size": "computed: from the number of parameters",
}
_NOT_SHOWN = ("first_step",)  # a digest for detecting copies of a log


@dataclass(frozen=True, slots=True)
class Details:
    """Data of run pages other than the rows, by run."""

    known: Mapping[str, PrefetchedRun]
    series: Mapping[str, Sequence[Series]]
    facts: Mapping[str, Sequence[Part]]
    events: Mapping[str, Sequence[Part]]
    annotations: Mapping[str, Sequence[Part]]
    companions: Mapping[str, Sequence[Part]]
    continuations: Mapping[str, Sequence[Part]]


class Fact(NamedTuple):
    """One stated fact of a run with its place; `value` is set for a number."""

    key: str
    title: str
    text: str
    value: float | int | None = None
    href: str | None = None
    place: str | None = None
    note: str = ""
    computed: bool = False
    line: int | None = None  # of the run's own source


def details(content: Content, runs: Sequence[str], lines: Lines) -> Details:
    """The details of these runs, with one query per kind; the lines are those of their sources."""
    text = (files(__package__ or "bench.site") / "runs.sql").read_text("utf-8")
    groups: dict[str, dict[str, list[Part]]] = {}
    for name, query in named_statements(text).items():
        parts: dict[str, list[Part]] = defaultdict(list)
        for row in content.warehouse.dicts(query, {"runs": list(runs)}):
            parts[row["run_id"]].append(row)
        groups[name] = parts
    warehouse = content.warehouse
    warehouse.rows("CREATE OR REPLACE TEMP TABLE selected AS FROM site_runs")
    known = {
        prefetched_run.run_id: prefetched_run
        for prefetched_run in known_runs(warehouse, lines, runs)
    }
    return Details(known, series_of(warehouse, runs), **groups)


@dataclass(frozen=True, slots=True)
class Stated:
    """Content shared by page and data of a run: numbers, and facts by group."""

    numbers: Sequence[Node]
    groups: Sequence[tuple[str, Sequence[Fact]]]


def stated(content: Content, row: Row, details: Details) -> Stated:
    """The numbers of a run as derivations, and its facts by group."""
    run, plan = details.known[row["run"]], content.plan_of(row)
    first = [node for name in _FIRST if (node := derive(run, plan, name)).value is not None]
    rest = (node for node in heads(run, plan) if node.name not in _FIRST)
    return Stated((*first, *rest), tuple(fact_groups(content, row, details)))


def title_of(name: str) -> str:
    """The title of a run's value on pages."""
    field = fields().get(name)
    return (
        _TITLES.get(name) or (field.title if field else None) or name.replace("_", " ").capitalize()
    )


def value_text(value: object) -> str:
    """A number as in explanations, with at most six digits."""
    if not isinstance(value, float) or not value or value.is_integer():
        return text_of(value)
    text = significant(value, 6)
    return text if "e" in text else text.rstrip("0").rstrip(".")


def fact_groups(content: Content, row: Row, details: Details) -> Iterator[tuple[str, list[Fact]]]:
    """All stated facts of a run, grouped by their origin; the configuration first."""
    run = details.known[row["run"]]
    facts = [
        _column(content, run, name)
        for name, field in fields().items()
        if run.row.get(name) is not None
        and name not in _ASIDE
        and field.role not in ("identity", "outcome")
    ]
    yield "Configuration", facts
    stated: dict[str, list[Fact]] = defaultdict(list)
    for one in details.facts.get(row["run"], ()):
        if one["name"] in _NOT_SHOWN:
            continue
        stated[_GROUPS.get(one["part"], one["part"].replace("_", " ").capitalize())].append(
            _stated(content, row, one)
        )
    yield from stated.items()
    annotations = [_annotation(content, one) for one in details.annotations.get(row["run"], ())]
    if annotations:
        yield "Annotations", annotations


def _column(content: Content, run: PrefetchedRun, name: str) -> Fact:
    node = of_column(run, name)
    value = run.row[name]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # A fraction of a second says nothing about when a job ran.
    words = str(value).partition(".")[0] if name == "date" and ":" in str(value) else str(value)
    text = number(value) if is_number else {True: "yes", False: "no"}.get(value, words)
    place, note = _origin(node, run)
    return Fact(
        name,
        title_of(name),
        content.text.line(text),
        value if is_number else None,
        content.line_href(place.uri, place.line) if place else None,
        content.text.line(content.names.at(place.uri, place.line), 120) if place else None,
        content.text.line(note, 160),
        note.startswith("computed"),
        place.line if place and place.uri == run.row["uri"] else None,
    )


def _origin(node: Node, run: PrefetchedRun) -> tuple[SourceSpan | None, str]:
    """Where a value stands, and what it is made of; or why it has no line of its own."""
    if node.how:
        return node.place, f"computed: {node.how.expression}"
    if node.place or node.note not in ("", _AS_READ):
        return node.place, "" if node.place else node.note
    # What the text around a table states has its line: the rest is of the row and its headings.
    if run.row["origin"] == "row" and run.row["line"]:
        return SourceSpan(run.row["uri"], run.row["line"]), _OF_A_ROW
    is_named = node.name == "size" and run.row["size"] == run.row["model"]
    return None, _NO_LINE if is_named else _OF_A_LOG.get(node.name, _NO_LINE)


def _stated(content: Content, row: Row, part: Part) -> Fact:
    uri, name = part["file"] or row["uri"], str(part["name"])
    value = part["value"] if part["value"] is not None else "stated as absent"
    # An address in memory is another one in each run.
    text = content.text.named(name, _ADDRESS.sub("", str(value)))
    title, at = content.text.line(name, 120), part["line"]
    return Fact(
        f"{part['part']}.{title}",
        title,
        text,
        _numeric(text),
        content.line_href(uri, at),
        content.text.line(content.names.at(uri, at), 120),
        line=at if uri == row["uri"] else None,
    )


def _annotation(content: Content, part: Part) -> Fact:
    by = ", ".join(filter(None, (part["reason"], part["author"], str(part["stated_on"] or ""))))
    note = f"{part['outcome']}; {by}" if by else part["outcome"]
    text = content.text.named(part["field"], part["value"])
    return Fact(
        f"told.{part['field']}",
        content.text.line(part["field"], 120),
        text,
        None,
        content.line_href(part["file"], part["line"]),
        content.text.line(content.names.at(part["file"], part["line"]), 120),
        content.text.line(note),
    )


def _numeric(text: str) -> float | None:
    if text[-1:].isalpha():
        return None  # nearly all of the words, sooner
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None
