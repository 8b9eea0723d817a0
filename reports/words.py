"""Cells and sentences of pages: times, topologies, budgets, devices, annotations of users."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..decide.budget import Budget
from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.fields import axes
from ..vocabulary.format import counted, number, significant
from .escape import Markdown, markdown_cell, markdown_text, pipe_table

MARK = "‡"
# The columns behind the content of a cell on a page.
DEVICE = ("device",)
SIZE = ("nodes", "devices", "ranks", "devices_per_node", "procs_per_node")
SPLIT = axes()
MODEL = ("model", "params_b", "params_stated")
SHAPE = ("layers", "hidden", "heads")
MOST_SOURCES = 4  # listed in a cell or a sentence
# What tells runs of one line apart, the plainest first; so many of them in a sentence.
_APART = (
    "size", "system", "nodes", "devices", *axes(), "mbs", "gbs", "seq_len", "device_batch",
    "zero_stage", "recompute", "dtype", "framework", "settings",
)  # fmt: skip
_FEW = 2
# The names of single values of a configuration in charts and diffs, without the column's heading.
_LABELS: dict[str, Callable[[Any], str]] = {
    "nodes": lambda v: counted(v, "node"),
    "devices": lambda v: counted(v, "device"),
    "world_size": lambda v: counted(v, "process", "processes"),
    "procs_per_node": lambda v: f"{counted(v, 'process', 'processes')} a node",
    **{name: partial("{}{}".format, name.upper()) for name in axes()},
    "mbs": "MBS {}".format, "gbs": "GBS {}".format, "seq_len": "seq {}".format,
    "device_batch": lambda v: f"batch {number(v)} per device",
    "grad_accum": "{} accumulations".format, "date": lambda v: str(v)[:10],
    "zero_stage": "ZeRO-{}".format, "layers": "{} layers".format, "hidden": "hidden {}".format,
    "heads": "{} heads".format, "scaling": "{} scaling".format,
    "recompute": lambda v: f"{'no' if v == 'none' else v} recompute",
}  # fmt: skip

_WORDED = {"recompute", "mbs", "gbs", "seq_len", "zero_stage", *axes()}  # of the compared columns


def label_of(name: str, value: object) -> str:
    """A value of a configuration by itself: MBS 4, 2 nodes, TP8, full recompute."""
    return _LABELS.get(name, str)(value)


def apart_words(one: Row, other: Row) -> str:
    """What tells a run from another one of its line: MBS 4."""
    apart = [
        label_of(name, value)
        for name in _APART
        if (value := one.get(name)) is not None and value != other.get(name)
    ]
    return ", ".join(apart[:_FEW])


def level_words(level: str, title: str) -> str:
    """One value of what is compared, for a sentence: no recompute, LD_PRELOAD=libtcmalloc.so."""
    if not title or (title == "framework" and level != "not stated"):
        return level
    if title in _WORDED and level != "not stated":
        return label_of(title, level)
    if level == "none":
        return f"no {title}"
    return f"{title}={level}" if title.isupper() and level != "not stated" else f"{title} {level}"


def budget_words(names: ShortNames, plan: Budget) -> Markdown:
    """The origin of the budget."""
    if plan.origin == "stated" and plan.uri:
        return Markdown(f"stated in {markdown_text(names.short(plan.uri))}:{plan.line}")
    if plan.is_unit:
        stated = ", ".join(
            f"{one.in_words} in {markdown_text(names.short(one.uri or ''))}:{one.line}"
            for one in plan.others
        )
        return Markdown(f"{plan.lacking}: {stated}" if stated else "no source here states a budget")
    return Markdown(f"`{plan.origin}`")


def boundary_note(names: ShortNames, rows: Sequence[Row]) -> Markdown:
    """Changes after which numbers do not compare, each with its statement in the source."""
    stated = [
        f"{markdown_text(names.short(row['uri']))} {markdown_text(row['regime'])}: "
        f'"{markdown_text(row["boundary"].strip())}"'
        for row in rows
        if row["regime"].startswith("since ")
    ]
    return Markdown(
        f"Rows before and since a boundary are not comparable: {'; '.join(stated)}"
        if stated
        else ""
    )


def device_note(names: ShortNames, rows: Sequence[Row]) -> Markdown:
    """The meaning of a device in these rows."""
    processes = sorted({names.short(row["uri"]) for row in rows if row["devices"] is None})
    if not processes:
        return Markdown("Device = GPU or accelerator, as the source counts them.")
    if all(row["devices"] is None for row in rows):
        return Markdown("Device = one process: no source here states devices.")
    listed = ", ".join(markdown_text(name) for name in processes[:MOST_SOURCES])
    if len(processes) > MOST_SOURCES:
        listed += f" and {len(processes) - MOST_SOURCES} more"
    states = "states" if len(processes) == 1 else "state"
    return Markdown(
        f"Device = one process in {listed}, which {states} no devices;"
        " GPU or accelerator elsewhere."
    )


def no_results(rows: Sequence[Row]) -> Markdown:
    """Rows without a result, by reason: first cell, topology and line of each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        reason = "" if row["status"] == "not_run" else row["status_reason"] or ""
        groups.setdefault((row["status"], reason), []).append(_empty_row(row))
    parts = []
    for (status, reason), listed in groups.items():
        described = (
            status if reason.casefold() in ("", status) else f"{status} ({markdown_text(reason)})"
        )
        parts.append(f"{'not measured' if status == 'not_run' else described}: {'; '.join(listed)}")
    return Markdown(". ".join(parts))


def step_time(row: Row) -> str:
    """A step time with its printed digits; for a log, and the median of several jobs, four
    digits: the ends of the latter are those of the jobs, not of the digits."""
    low, high = row["step_time_low"], row["step_time_high"]
    several = (row.get("jobs") or 1) > 1
    if several or row["basis"] != "cell" or low is None or not high > low:
        return significant(row["step_time_s"], 4)
    return number(row["step_time_s"], max(0, round(-math.log10(high - low))))


def speed_words(row: Row) -> Markdown:
    """A step time with its unit; the tokens a second if only a rate is stated."""
    if row["step_time_s"] is None:
        return Markdown(f"{significant(row['tokens_per_s'], 4)} tokens/s")
    return Markdown(f"{step_time(row)} s/it{' ^' if row['time_is_marked'] else ''}")


def topology_words(row: Row) -> Markdown:
    """DP8 x TP4 x PP12, micro batch 2."""
    parts = [f"{name.upper()}{row[name]}" for name in axes() if row.get(name) is not None]
    batch = f", MBS {row['mbs']}" if row.get("mbs") is not None else ""
    return Markdown((" x ".join(parts) or "topology not stated") + batch)


def topology_short(row: Row) -> str:
    """8/4/12, with unstated ones as a dash; followed by context parallelism."""
    parts = [text_of(row[name]) or "-" for name in ("dp", "tp", "pp")]
    return "/".join(parts) if set(parts) != {"-"} else ""


def recompute_words(row: Row) -> Markdown:
    """How the run recomputes activations."""
    words = {"none": "no recompute", "selective": "selective recompute", "full": "full recompute"}
    kind = row["recompute"]
    return Markdown(
        words.get(kind) or (markdown_text(f"recompute {kind}") if kind else "recompute not stated")
    )


def text_of(value: object) -> str:
    """A value as written; '' if it is not stated."""
    return "" if value is None else str(value)


def _empty_row(row: Row) -> str:
    first = ", ".join(markdown_text(one) for one in _row_name(row["cells"]))
    split = topology_short(row)
    batch = f" MBS {row['mbs']}" if row["mbs"] is not None else ""
    warn = " ⚠" if row["left_out"] else ""
    return f"{first}{f', {split}' if split else ''}{batch} line {row['line']}{warn}"


def _row_name(cells: Sequence[Row]) -> list[str]:
    """The first cell of a row, and the next one if that is a name too: of a method."""
    second = [
        cell["raw"]
        for cell in cells[1:2]
        if not cell["name"] and re.search("[^\\W\\d]", cell["raw"])
    ]
    return [*(cell["raw"] for cell in cells[:1]), *second]


def with_mark(text: str, row: Row, *names: str) -> str:
    """A cell, marked if one of its columns is annotated."""
    is_annotated = not set(names).isdisjoint(row.get("annotated") or ())
    return f"{text}{MARK}" if text and is_annotated else text


def annotation_table(names: ShortNames, rows: Sequence[Row]) -> Markdown:
    """Each annotation: its sources, its author and reason, and what takes precedence over it."""
    body = [
        [
            f"{row['field']} = {markdown_cell(row['value'])}",
            markdown_cell(_listed(names, row["uris"])),
            number(row["runs"]),
            markdown_cell(_by(row)),
            "" if row["stated"] is None else f"{markdown_cell(row['stated'])} (used)",
        ]
        for row in rows
    ]
    header = ["Annotation", "Source", "Runs", "By"]
    if any(row["stated"] is not None for row in rows):
        header.append("Stated by the source")
    side = ["left", "left", "right", "left", "left"]
    return pipe_table(header, [row[: len(header)] for row in body], side[: len(header)])


def _by(row: Row) -> str:
    """File and line, reason, author and date."""
    if row["origin"] == "record":
        return str(row["reason"])
    place = "" if row["origin"] == "set" else f"{row['file']}:{row['line']}: "
    when = row["stated_on"].isoformat() if row["stated_on"] else ""
    by = ", ".join(filter(None, (row["author"], when)))
    return f"{place}{row['reason']}" + (f" ({by})" if by else "")


def _listed(names: ShortNames, uris: Sequence[str]) -> str:
    listed = ", ".join(map(names.short, uris[:MOST_SOURCES]))
    return listed + (f" and {len(uris) - MOST_SOURCES} more" if len(uris) > MOST_SOURCES else "")
