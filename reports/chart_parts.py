"""A chart in progress, and parts common to charts of answers: names of rows, titles, cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..decide.scaling_curves import grows_by_nodes
from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..schema.warehouse import Row
from ..vocabulary.format import counted
from .answer import devices_words, settings_apart
from .words import label_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SERIES, MOST_BARS = 7, 11  # of a chart; more cannot be distinguished
_MOST_NAMED = 4
_FURTHER = ("model", "heads", "layers", "hidden", "seq_len", "dtype", "zero_stage", "mbs", "gbs",
            "grad_accum")  # fmt: skip
SETTING = ("size", "system", "tp", "pp", "recompute", "settings")


@dataclass(frozen=True, slots=True)
class ChartDraft:
    """A chart in progress: its drawing function, its rows, its omissions and its message."""

    draw: Callable[[str], Figure]
    rows: tuple[Row, ...]
    left: tuple[str, ...] = ()
    message: str = ""

    @property
    def note(self) -> str:
        """The omissions, for a line below the chart."""
        return f"Not drawn: {'; '.join(self.left)}." if self.left else ""


def subject(names: ShortNames, rows: Sequence[Row]) -> str:
    """Model, machine and batch, if the rows share them: `176B on A100, GBS 2048: `."""

    def one(name: str) -> str | None:
        found = {row.get(name) for row in rows}
        value = found.pop() if len(found) == 1 else None
        return None if value is None else str(value)

    model, system, gbs = one("size") or one("model"), one("system"), one("gbs")
    # A document without a device says nothing about the machine.
    known = system if system and names.system(system) == system else None
    machine = f"on {known}" if model and known else known
    words = [" ".join(filter(None, (model, machine)))] + ([f"GBS {gbs}"] if gbs else [])
    return f"{', '.join(filter(None, words))}: " if any(words) else ""


def counts_nodes(groups: Iterable[Sequence[Row]]) -> bool:
    """Whether charts count nodes: each group grows by whole nodes, and all have as many devices on
    each.

    Ranks count as devices within a group alone: another may run more of them on the same node.
    """
    each = list(groups)
    known = {row["devices"] / row["nodes"] for rows in each for row in rows
             if row.get("devices") and row["nodes"]}  # fmt: skip
    return len(known) < 2 and all(map(grows_by_nodes, each))


def is_estimated(row: Row) -> bool:
    """Whether it is an estimate: a fit, or marked so by the authors."""
    return row.get("basis") == "fit" or bool(row.get("time_is_marked"))


def bar_labels(names: ShortNames, rows: Sequence[Row]) -> list[str]:
    """A name for each bar; equal names are completed by their line."""
    columns = (*SETTING[:2], "dp", *SETTING[2:], "mbs", "gbs", "device_batch", "date")
    labels = labels_of(
        names, [{**row, "size": row["size"] or row["model"]} for row in rows], columns
    )
    labels = told_apart(rows, labels)
    alone = len({row["uri"] for row in rows}) == 1
    lines = [f"line {row['line']}" if alone else names.place(row["where"]) for row in rows]
    # Charts of several sizes add the devices.
    own = [(label, row.get("device_count")) for label, row in zip(labels, rows, strict=True)]
    return [
        label if own.count(name) == 1 else ", ".join(filter(None, (label, line)))
        for label, name, line in zip(labels, own, lines, strict=True)
    ]


def of_one_origin(rows: Sequence[Row]) -> list[Row]:
    """The rows with an MFU as printed, and those of models and systems whose source prints none.

    One table of a document may print the rates of runs, and another their MFU: a chart would have
    each twice.
    """

    def of(row: Row) -> tuple[object, ...]:
        return row["uri"], row["size"], row["system"]

    printed = {of(row) for row in rows if row["mfu_from"] == "printed"}
    return [row for row in rows if row["mfu_from"] == "printed" or of(row) not in printed]


def sized_labels(names: ShortNames, rows: Sequence[Row]) -> list[str]:
    """A name for each bar, with its devices where these differ."""
    labels = bar_labels(names, rows)
    if len({row["device_count"] for row in rows}) == 1:
        return labels
    return [
        f"{label}, {devices_words(row)}" if row["device_count"] else label
        for label, row in zip(labels, rows, strict=True)
    ]


def told_apart(rows: Sequence[Row], labels: Sequence[str]) -> list[str]:
    """The labels, equal ones completed by what their rows differ in besides."""
    made = list(labels)
    for label in dict.fromkeys(label for label in labels if labels.count(label) > 1):
        places = [at for at, one in enumerate(labels) if one == label]
        for name in _FURTHER:
            values = [rows[at].get(name) for at in places]
            if len(set(map(str, values))) > 1:
                for at, value in zip(places, values, strict=True):
                    if value is not None:
                        made[at] = ", ".join(filter(None, (made[at], label_of(name, value))))
                break
    return made


def placed(names: ShortNames, rows: Sequence[Row], labels: Sequence[str]) -> list[str]:
    """The labels, equal ones completed by their place: series that differ have different names."""
    return [
        f"{label}, {names.place(row['where'])}" if labels.count(label) > 1 else label
        for row, label in zip(rows, labels, strict=True)
    ]


def cut(what: str, labels: Sequence[str], most: int) -> list[str]:
    """The labels without room in a chart, by their number if they are many."""
    if len(labels) <= most:
        return []
    more = [label for label in labels[most:] if label]
    named = f" ({', '.join(map(repr, more))})" if 0 < len(more) <= _MOST_NAMED else ""
    return [f"{len(labels) - most} of {len(labels)} {what}{named}"]


def left_over(count: int, what: str) -> list[str]:
    noun, *rest = what.split(" ", 1)
    return [" ".join([counted(count, noun), *rest])] if count else []


def require(rows: Sequence[object], why: str) -> None:
    if not rows:
        raise BenchError("nothing to draw", why=why, hint="bench runs lists what there is")


def labels_of(
    names: ShortNames, rows: Sequence[Row], columns: Sequence[str], named: bool = True
) -> list[str]:
    """Labels that distinguish rows; common values are omitted.

    Without differences, a row is `named` by its model, or has no label. Flags and unknown columns
    are named only where the rest is equal: they are long, and often follow from the machine.
    """
    differ = [name for name in dict.fromkeys(columns) if len({row[name] for row in rows}) > 1]
    if "nodes" in differ and "dp" in differ:
        differ.remove("dp")  # follows
    if "settings" in differ:
        apart, _ = settings_apart([row["settings"] for row in rows])
        rows = [{**row, "settings": text or None} for row, text in zip(rows, apart, strict=True)]
        plain = [name for name in differ if name != "settings"]
        values = [{tuple(row[name] for name in names) for row in rows} for names in (plain, differ)]
        differ = plain if len(values[0]) == len(values[1]) else differ
    found = []
    for row in rows:
        system = names.system(row["system"])
        words = [
            system if name == "system" else label_of(name, row[name])
            for name in differ
            if row[name] is not None
        ]
        found.append(", ".join(words) or (str(row["size"] or system) if named else ""))
    return found
