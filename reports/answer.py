"""An answer: its summary, the rows in order, the excluded ones last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..decide.budget import Budget
from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.fields import axes, shown
from ..vocabulary.format import counted, number, percent
from ..vocabulary.secret_commands import REDACTED
from .words import DEVICE, SIZE, SPLIT, apart_words, step_time, text_of, topology_short, with_mark

# Of every answer; each report adds its own columns before and after.
RUN = ("where", "run", *shown("answers"), "settings", "date", "annotated")
MEASURED = (
    "jobs", "step_time_s", "step_time_low", "step_time_high", "tokens_per_step", "tokens_per_s",
    "tokens_per_s_low", "tokens_per_s_high", "tokens_per_s_per_device", "mfu", "hfu", "peak_name",
    "tflops", "model_tflops", "memory_gb",
)  # fmt: skip
# Shown before the settings, but only if rows differ in it.
_DISTINGUISHING = (("seq_len", "Seq len"), ("dtype", "Dtype"), ("framework", "Framework"))
# Shown with them, but only if rows would else look alike.
_TELLING = (("grad_accum", "Accumulation"), ("dtype_printed", "Precision"), ("device", "Device"))
# Places that a sentence lists, of rows and of repeats; letters of a name that may be repeated.
_MOST, _REPEATS, _SHORT = 12, 4, 8
_REASONS = 6  # that are written out, with the places of their rows
_LONGEST = 80  # characters of settings in a sentence or cell


@dataclass(frozen=True, slots=True)
class Answer:
    """`rows` hold `columns`; people see `shown` of them, headed as the pairs say."""

    summary: tuple[str, ...]
    columns: tuple[str, ...]
    shown: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    left_out: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    cells: tuple[Row, ...] = field(default=())  # `rows` formatted for people, where that differs
    keep: tuple[str, ...] = ()  # headings that a narrow terminal drops last
    derived: tuple[str, ...] = ()  # and first: they follow from others and tell no rows apart
    chosen: bool = False  # by the user: no column is dropped

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
        summary = (*self.summary, f"Shown: the first row for each value of {', '.join(names)}.")
        rows = tuple(self.rows[at] for at in seen.values())
        return replace(self, summary=summary, rows=rows, cells=cells)

    def records(self) -> list[list[Any]]:
        """Every row and column, excluded rows last."""
        return [[row.get(name) for name in self.columns] for row in (*self.rows, *self.left_out)]

    def display_rows(self) -> tuple[list[str], list[list[Any]], str]:
        """Headings, rows without the excluded ones, and the values common to all rows, stated
        once."""
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
        shown = self._with_distinguishing(rows)
        filled = [
            (name, head)
            for name, head in shown
            if any(row.get(name) not in (None, "") for row in rows)
        ]
        common = [] if len(rows) < 2 else [(n, h) for n, h in filled if _shared(rows, n)]
        kept = [one for one in filled if one not in common]
        words = ", ".join(
            [f"{head} {rows[0][name]}" for name, head in common]
            + ([f"Settings {shared}"] if shared else [])
        )
        return [head for _, head in kept], [[row.get(n) for n, _ in kept] for row in rows], words

    def _with_distinguishing(self, rows: Sequence[Row]) -> list[tuple[str, str]]:
        """The columns shown, with those that few answers need (pairs have `also_differs`)."""
        # A number of heads that belongs to a model is said by its name.
        shown = [one for one in self.shown if one[0] != "heads" or not _is_of_models(rows, "heads")]
        names = [name for name, _ in shown]
        if "settings" in names:
            at = names.index("settings")
            shown[at:at] = [one for one in _DISTINGUISHING if _differs(rows, one[0])]
            at = next(at for at, (name, _) in enumerate(shown) if name == "settings")
            looks = [_look(row, shown) for row in rows]
            shown[at:at] = [one for one in _TELLING if _tells(rows, looks, one[0])]
        return shown


def _look(row: Row, shown: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What people see of a row's configuration."""
    return tuple(
        str(row.get(name)) for name, _ in shown if name in (*RUN, "split") and name != "where"
    )


def _tells(rows: Sequence[Row], looks: Sequence[tuple[str, ...]], name: str) -> bool:
    """Whether a column differs between rows that look alike."""
    seen: dict[tuple[str, ...], object] = {}
    return any(
        seen.setdefault(look, row.get(name)) != row.get(name)
        for look, row in zip(looks, rows, strict=True)
    )


def _differs(rows: Sequence[Row], name: str) -> bool:
    return len({row.get(name) for row in rows}) > 1


def _is_of_models(rows: Sequence[Row], name: str) -> bool:
    """Whether a column differs, but not between rows of one model."""
    pairs = {(row.get("size"), row.get(name)) for row in rows}
    return _differs(rows, name) and len({size for size, _ in pairs}) == len(pairs)


def _labelled(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows with their models' labels as written, if size alone would merge two models."""
    labels: dict[object, set[object]] = {}
    for row in rows:
        labels.setdefault(row.get("size"), set()).add(row.get("model"))
    if all(len(label) == 1 for label in labels.values()):
        return rows
    return [{**row, "size": row.get("model") or row.get("size")} for row in rows]


def _shared(rows: Sequence[Row], name: str) -> bool:
    """Whether a column of the configuration is the same in all rows."""
    alike = name in (*RUN, "split", "base", "level", "verdict", "goodput", "goodput_from",
                     "range_from", "rank_from")  # fmt: skip
    return alike and name != "where" and len({str(row.get(name)) for row in rows}) == 1


def days_headed(shown: Sequence[tuple[str, str]], plan: Budget) -> tuple[tuple[str, str], ...]:
    """Columns as shown, days headed by their budget if that is a unit."""
    return tuple(
        (name, f"{head} {plan.purpose}" if name == "days" and plan.is_unit else head)
        for name, head in shown
    )


def place(names: ShortNames, row: Row) -> str:
    """The location of a row: 002:155."""
    return f"{names.short(row['uri'])}:{row['line']}"


def with_words(names: ShortNames, row: Row) -> dict[str, Any]:
    """A row with cells for display: location, topology, nodes, times with their printed digits."""
    nodes, count = number(row["nodes"]), number(row["device_count"])
    many = f"{nodes} ({count})" if nodes and count else nodes or (count and f"({count})")
    split = topology_short(row) + (f"/CP{row['cp']}" if (row["cp"] or 1) > 1 else "")
    more = max(len(row.get("places", ())) - 1, 0)
    return {
        **row,
        "where": place(names, row) + (f" +{more}" if more else ""),
        "system": with_mark(names.system(row["system"]), row, *DEVICE),
        "settings": settings_words(row),
        "nodes": with_mark(many, row, *SIZE),
        "split": with_mark(split, row, *SPLIT),
        "device_batch": number(row["device_batch"]),
        "mfu": percent(row["mfu"], 1),
        "hfu": percent(row["hfu"], 1),
        "step_time_s": step_time(row) + ("^" if row["time_is_marked"] else ""),
    }


def configuration_words(row: Row) -> str:
    """A configuration for a sentence: 48 nodes (384 devices), DP4 x TP8 x PP12, MBS 1, GBS 2048."""
    parts = []
    if row["nodes"]:
        parts.append(counted(row["nodes"], "node"))
    if row["device_count"] and row["device_count"] != row["nodes"]:
        inside = devices_words(row)
        parts = [f"{parts[0]} ({inside})"] if parts else [inside]
    split = [f"{name.upper()}{row[name]}" for name in axes() if row[name] is not None]
    parts += [" x ".join(split)] if split else []
    parts += [
        f"{name.upper()} {text_of(row[name])}" for name in ("mbs", "gbs") if row[name] is not None
    ]
    parts += [f"batch {number(row['device_batch'])} per device"] if row["device_batch"] else []
    parts += [settings_words(row)] if row["settings"] else []
    # A recipe of a number format may be all that a row states.
    return ", ".join(parts) or row.get("dtype_printed") or "configuration not stated"


def settings_words(row: Row) -> str:
    """The flags of a run, shortened: NCCL_DEBUG=INFO and 8 more."""
    return _shortened(_settings(row["settings"]))


def settings_apart(settings: Sequence[str | None]) -> tuple[list[str], str]:
    """The settings in which each of several runs differs from the others, and the shared ones."""
    items = [_settings(text) for text in settings]
    shared = [one for one in items[0] if all(one in other for other in items)] if items else []
    apart = [", ".join(one for one in own if one not in shared) for own in items]
    short = [_shortened([one for one in own if one not in shared]) for own in items]
    return (short if len(set(short)) == len(set(apart)) else apart), _shortened(shared)


def _settings(text: str | None) -> list[str]:
    """Single settings; redacted ones come last, as they are the least informative."""
    items = [one for one in (text or "").split(", ") if one]
    return sorted(items, key=lambda item: item.endswith(f"={REDACTED}"))


def _shortened(items: Sequence[str]) -> str:
    """As many settings as fit, and the number of the others."""
    shown = ", ".join(items)
    if len(shown) <= _LONGEST:
        return shown
    fits = max((n for n in range(len(items)) if len(", ".join(items[:n])) <= _LONGEST), default=0)
    first = ", ".join(items[:fits]) or items[0][:_LONGEST]
    more = len(items) - max(fits, 1)
    return f"{first} and {more} more" if more else f"{first}..."


def devices_words(row: Row) -> str:
    """The number of devices: 1 device, 384 devices."""
    return counted(row["device_count"], "device")


def places(names: ShortNames, rows: Sequence[Row]) -> str:
    """Several locations in one list, cut to the first few."""
    return _listed(((names.short(row["uri"]), row["line"]) for row in rows), _MOST)


def rivals(names: ShortNames, rows: Sequence[Row], first: Row) -> str:
    """Locations of rows tied with a first one; those of its line with what tells them from it."""
    at = place(names, first)
    named = [f"{at} ({apart_words(row, first)})" for row in rows if place(names, row) == at]
    rest = places(names, [row for row in rows if place(names, row) != at])
    return ", ".join(filter(None, [*named, rest]))


def repeats(names: ShortNames, wheres: Sequence[str]) -> str:
    """The places URI:LINE of repeats, as `places` lists rows."""
    return _listed((names.place(where).rpartition(":")[::2] for where in wheres), _REPEATS)


def _listed(every: Iterable[tuple[str, object]], most: int) -> str:
    # Several runs of one line, as columns of a table, are one place.
    found = list(dict.fromkeys(every))
    shown, last = [], ""
    for name, line in found[:most]:
        again = name == last and len(name) > _SHORT
        shown.append(f":{line}" if again else f"{name}:{line}")
        last = name
    more = len(found) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def by_reason(names: ShortNames, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Excluded rows, by reason."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(names.within(str(row["left_out"])), []).append(row)
    return groups


def by_kind(names: ShortNames, rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Excluded rows by reason; many reasons by their kind, as "oom" and "doubted", the most
    frequent first."""
    groups = by_reason(names, rows)
    if len(groups) <= _REASONS:
        return list(groups.items())
    kinds: dict[str, list[Row]] = {}
    for reason, of in groups.items():
        kind = re.sub(r" \([^()]*\)$", "", reason.partition(":")[0])
        kinds.setdefault("copy" if kind.startswith("copy of ") else kind, []).extend(of)
    return sorted(kinds.items(), key=lambda item: -len(item[1]))


def by_frequency(names: ShortNames, rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The same, the most frequent reason first."""
    return sorted(by_reason(names, rows).items(), key=lambda item: -len(item[1]))
