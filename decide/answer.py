"""An answer: what is said, the rows in order, those left out last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..ingest.secrets import REDACTED
from ..reports.format import number, significant
from ..reports.short import Names
from ..reports.told import DEVICE, SIZE, SPLIT, with_mark
from ..reports.words import step_time, text_of, topology_short
from .rows import Row

# What every row of an answer is for a program, beside what the answer adds in front and behind.
RUN = (
    "where", "run", "size", "model", "system", "device", "framework", "nodes", "devices",
    "device_count", "world_size", "dp", "tp", "pp", "cp", "ep", "vpp", "mbs", "gbs",
    "device_batch", "seq_len", "zero_stage", "recompute", "dtype", "layers", "hidden", "heads",
    "settings", "date", "told",
)  # fmt: skip
MEASURED = (
    "jobs", "step_time_s", "step_time_low", "step_time_high", "tokens_per_step", "tokens_per_s",
    "tokens_per_s_low", "tokens_per_s_high", "tokens_per_s_per_device", "tflops", "model_tflops",
    "memory_gb",
)  # fmt: skip
# What is shown before the settings where rows differ in it.
_TELLING = (("seq_len", "Seq len"), ("dtype", "Dtype"))
_MOST = 12  # places that a sentence lists
_LONGEST = 80  # letters of settings in a sentence or cell


@dataclass(frozen=True, slots=True)
class Answer:
    """`rows` hold `columns`; people see `shown` of them, headed as the pairs say."""

    said: tuple[str, ...]
    columns: tuple[str, ...]
    shown: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    left_out: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    cells: tuple[Row, ...] = field(default=())  # `rows` as people read them, where that differs
    keep: tuple[str, ...] = ()  # headings that a narrow terminal drops after all others
    chosen: bool = False  # the columns were asked for: none is dropped

    def only(self, names: Sequence[str]) -> Answer:
        """The answer with these columns alone, in this order."""
        shown = tuple((name, name) for name in names)
        return replace(self, columns=tuple(names), shown=shown, chosen=True)

    def first_of(self, names: Sequence[str]) -> Answer:
        """The answer with the first row of each value of these columns."""
        seen: dict[tuple[str, ...], int] = {}
        for at, row in enumerate(self.rows):
            seen.setdefault(tuple(str(row[name]) for name in names), at)
        cells = tuple(self.cells[at] for at in seen.values() if at < len(self.cells))
        said = (*self.said, f"Shown is the first row for each value of {', '.join(names)}.")
        rows = tuple(self.rows[at] for at in seen.values())
        return replace(self, said=said, rows=rows, cells=cells)

    def for_programs(self) -> list[list[Any]]:
        """Every row and column, rows left out last."""
        return [[row.get(name) for name in self.columns] for row in (*self.rows, *self.left_out)]

    def for_people(self) -> tuple[list[str], list[list[Any]], str]:
        """Headings, rows without what was left out, and what all rows share, said once."""
        rows: Sequence[Row] = self.cells or self.rows
        if self.chosen:
            names = [name for name, _ in self.shown]
            return names, [[row.get(name) for name in names] for row in rows], ""
        apart, shared = settings_apart([row.get("settings") for row in self.rows[: len(rows)]])
        if any(name == "settings" for name, _ in self.shown) and len(rows) > 1:
            rows = [{**row, "settings": text} for row, text in zip(rows, apart, strict=True)]
        else:
            shared = ""
        rows = _labelled(rows)
        shown = self._with_telling(rows)
        told = [(name, head) for name, head in shown if any(_says(row, name) for row in rows)]
        common = [] if len(rows) < 2 else [(n, h) for n, h in told if _shared(rows, n)]
        kept = [one for one in told if one not in common]
        words = ", ".join(
            [f"{head} {rows[0][name]}" for name, head in common]
            + ([f"Settings {shared}"] if shared else [])
        )
        return [head for _, head in kept], [[row.get(n) for n, _ in kept] for row in rows], words

    def _with_telling(self, rows: Sequence[Row]) -> list[tuple[str, str]]:
        """The columns shown, with those that few answers need; of pairs `also_differs` tells it."""
        shown = list(self.shown)
        names = [name for name, _ in shown]
        if "settings" in names:
            at = names.index("settings")
            shown[at:at] = [one for one in _TELLING if _differs(rows, one[0])]
        return shown


def _differs(rows: Sequence[Row], name: str) -> bool:
    return len({row.get(name) for row in rows}) > 1


def _labelled(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows with their models' labels as written, where size alone would show two models as one."""
    labels: dict[object, set[object]] = {}
    for row in rows:
        labels.setdefault(row.get("size"), set()).add(row.get("model"))
    if all(len(one) == 1 for one in labels.values()):
        return rows
    return [{**row, "size": row.get("model") or row.get("size")} for row in rows]


def _says(row: Row, name: str) -> bool:
    return row.get(name) not in (None, "")


def _shared(rows: Sequence[Row], name: str) -> bool:
    """Whether a column of the configuration is the same in all rows."""
    alike = name in (
        *RUN,
        "split",
        "base",
        "level",
        "goodput",
        "goodput_from",
        "range_from",
        "rank_from",
    )
    return alike and name != "where" and len({str(row.get(name)) for row in rows}) == 1


def place(names: Names, row: Row) -> str:
    """Where a row stands, as text: 002 l.155."""
    return f"{names.short(row['uri'])} l.{row['line']}"


def with_words(names: Names, row: Row) -> dict[str, Any]:
    """A row with the cells that people read: where, topology, nodes, times with their digits."""
    nodes, count = number(row["nodes"]), number(row["device_count"])
    many = f"{nodes} ({count})" if nodes and count else nodes or (count and f"({count})")
    split = topology_short(row) + (f"/CP{row['cp']}" if (row["cp"] or 1) > 1 else "")
    more = max(len(row.get("places", ())) - 1, 0)
    return {
        **row,
        "size": row["size"] or row["model"],
        "where": f"{names.short(row['uri'])}:{row['line']}" + (f" +{more}" if more else ""),
        "system": with_mark(names.system(row["system"]), row, *DEVICE),
        "settings": settings_words(row),
        "nodes": with_mark(many, row, *SIZE),
        "split": with_mark(split, row, *SPLIT),
        "device_batch": number(row["device_batch"]),
        "step_time_s": time_words(row) + ("^" if row["time_is_marked"] else ""),
    }


def time_words(row: Row) -> str:
    """A step time with its printed digits; of logs, and of several jobs, four digits."""
    return significant(row["step_time_s"], 4) if row.get("jobs", 1) > 1 else step_time(row)


def configuration_words(row: Row) -> str:
    """A configuration for a sentence: 48 nodes (384 devices), DP4 x TP8 x PP12, MBS 1, GBS 2048."""
    parts = []
    if row["nodes"]:
        parts.append(f"{number(row['nodes'])} {'node' if row['nodes'] == 1 else 'nodes'}")
    if row["device_count"] and row["device_count"] != row["nodes"]:
        inside = devices_words(row)
        parts = [f"{parts[0]} ({inside})"] if parts else [inside]
    split = [
        f"{name.upper()}{row[name]}" for name in ("dp", "tp", "pp", "cp") if row[name] is not None
    ]
    parts += [" x ".join(split)] if split else []
    parts += [
        f"{name.upper()} {text_of(row[name])}" for name in ("mbs", "gbs") if row[name] is not None
    ]
    parts += [f"batch {number(row['device_batch'])} a device"] if row["device_batch"] else []
    parts += [settings_words(row)] if row["settings"] else []
    return ", ".join(parts) or "configuration not stated"


def settings_words(row: Row) -> str:
    """The flags of a run, as many as there is room for: NCCL_DEBUG=INFO and 8 more."""
    return _shortened(_settings(row["settings"]))


def settings_apart(settings: Sequence[str | None]) -> tuple[list[str], str]:
    """In which settings each of several runs differs from the others, and those of all."""
    items = [_settings(text) for text in settings]
    shared = [one for one in items[0] if all(one in other for other in items)] if items else []
    apart = [", ".join(one for one in own if one not in shared) for own in items]
    short = [_shortened([one for one in own if one not in shared]) for own in items]
    return (short if len(set(short)) == len(set(apart)) else apart), _shortened(shared)


def _settings(text: str | None) -> list[str]:
    """Single settings; those whose value nobody may see come last."""
    items = [one for one in (text or "").split(", ") if one]
    return sorted(items, key=lambda one: one.endswith(f"={REDACTED}"))


def _shortened(items: Sequence[str]) -> str:
    """As many settings as have room, and how many more there are."""
    shown = ", ".join(items)
    if len(shown) <= _LONGEST:
        return shown
    fits = max((n for n in range(len(items)) if len(", ".join(items[:n])) <= _LONGEST), default=0)
    first = ", ".join(items[:fits]) or items[0][:_LONGEST]
    more = len(items) - max(fits, 1)
    return f"{first} and {more} more" if more else f"{first}..."


def devices_words(row: Row) -> str:
    """How many devices: 1 device, 384 devices."""
    return f"{number(row['device_count'])} {'device' if row['device_count'] == 1 else 'devices'}"


def places(names: Names, rows: Sequence[Row]) -> str:
    """Several places in one list, the first of too many."""
    told = [place(names, row) for row in rows[:_MOST]]
    more = len(rows) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")


def left_out_words(names: Names, rows: Sequence[Row]) -> tuple[str, ...]:
    """What was left out, by reason."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(names.within(str(row["left_out"])), []).append(row)
    told = [f"{reason} ({places(names, found)})" for reason, found in groups.items()]
    return (f"Left out: {'; '.join(told)}.",) if told else ()
