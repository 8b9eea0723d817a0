"""The shape of a line of a step: what differs in others of it are numbers in known places.

A line that the careful reader has just read is the template. A line of the same words at the same
places gives the same row with other numbers; whatever is not plainly that is left to the careful
reader. The declaration is the dialect's: columns, types and units come from its layout.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from .cast import LIMITS
from .dialect import Dialect
from .digits import outline
from .lines import printed_at
from .ranks import voice_of
from .record import Field, Fields, Record
from .secrets import is_secret_name, redact_name
from .segments import LOSS_NOTATION, Segments

NUMBER = r"^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$"  # without thousands separators
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
LONGEST_KEPT = 12  # letters of a value kept as printed: no secret is as short and a number
# Whole numbers and runs of blanks that stand for all others.
NUMBERS = tuple(digit * length for length in range(1, 19) for digit in "0159")
BLANKS = tuple(length * " " for length in range(1, 100))
WHOLE = LIMITS | {"count": LIMITS["bigint"]}


@dataclass(frozen=True, slots=True)
class Slot:
    """A number of the template: its place among the pieces of the line, and what it becomes."""

    piece: int
    lead: str  # what stands in the piece before it
    kind: str  # column, loss, kept
    name: str
    field: Field
    exponent: bool = False  # a loss by its notation alone: 1.234E+00

    @property
    def column(self) -> str:
        """Its column where steps are read many at once."""
        if self.kind == "column":
            return self.field.column or self.name
        return f"{'more' if self.kind == 'kept' else 'loss'}:{self.name}"


@dataclass(frozen=True, slots=True)
class Template:
    """The shape of a line, taken from one that `dialect` has read."""

    dialect: Dialect
    head: str  # regular expression of the first piece
    groups: tuple[tuple[str, Field], ...]
    goal: object  # train_iters, the same on each line
    slots: tuple[Slot, ...]
    main: str | None  # the loss that is ours
    voice: str  # what tells the process apart that prints it

    @property
    def shape(self) -> Template:
        """What runs of different length have in common."""
        return replace(self, goal=None)

    def keys(self, kind: str) -> list[str]:
        """The keys of one kind, as printed."""
        return [slot.name for slot in self.slots if slot.kind == kind]


def template_of(
    dialect: Dialect, line: str, peeled: tuple[tuple[str, ...], str], record: Record
) -> Template | None:
    """The shape of a line; None where it holds what only the careful reader knows to treat.

    `peeled`: the prefixes of the line, and what is left of it.
    """
    reader, (prefixes, text) = dialect.reader, peeled
    if printed_at(prefixes):
        return None
    if not isinstance(reader, Segments) or not _is_plain(dialect, reader):
        return None
    if record.before.strip() or record.after.strip() or record.misfits or not line.endswith(text):
        return None
    head, *pieces = line.split("|")
    keys = [piece.partition(reader.assign)[0].strip() for piece in pieces[:-1]]
    layout = reader.layout(tuple(keys))
    found = reader.anchor.search(text)
    if layout is None or layout.memory or len(set(keys)) < len(keys) or found is None:
        return None
    if len(line) - len(text) + found.end() != len(head) + 1:
        return None
    if not {"loss", "losses"} & record.fields.keys() or "epoch" in record.fields:
        return None
    groups = _groups(found, reader.groups, record.fields)
    slots = _slots(reader, layout.losses, layout.kept, pieces[:-1], keys)
    if groups is None or slots is None:
        return None
    if not _loose(reader.anchor, _least(found)):
        return None
    pattern = _head(head, len(line) - len(text), found, [name for name, _ in groups])
    losses = {slot.name for slot in slots if slot.kind == "loss"}
    mains = reader.losses.main if reader.losses else ()
    main = next((name for name in mains if name in losses), None)
    goal = record.fields.get("train_iters")
    return Template(dialect, pattern, groups, goal, slots, main, voice_of(prefixes))


def _is_plain(dialect: Dialect, reader: Segments) -> bool:
    # A number without a mark in front (`bare`) makes no slot: see `_slots`.
    odd = reader.open_end or reader.ends or reader.doubled or dialect.set
    return (
        not odd
        and dialect.within is None
        and reader.separator == "|"
        and not dialect.every_rank
        and not dialect.planned
    )


@functools.lru_cache(maxsize=256)
def _loose(anchor: re.Pattern[str], text: str) -> bool:
    """Whether an anchor reads a text as well with other whole numbers and more blanks."""
    found = anchor.search(text)
    if found is None:
        return False
    numbers = [(*found.span(n), NUMBERS) for n, t in found.groupdict().items() if t and t.isdigit()]
    blanks = [(*run.span(), BLANKS) for run in re.finditer(" +", text)]
    return all(
        _spans(anchor.search(text[:start] + other + text[end:]))
        == [
            tuple(at + (at >= end) * (len(other) - end + start) for at in span)
            for span in _spans(found)
        ]
        for start, end, others in (*numbers, *blanks)
        for other in others
    )


def _least(found: re.Match[str]) -> str:
    """What was read with single digits for whole numbers and single blanks."""
    text, at = "", 0
    spans = sorted(found.span(n) for n, t in found.groupdict().items() if t and t.isdigit())
    for start, end in spans:
        text, at = text + outline(found.string[at:start]) + "0", end
    return re.sub(" +", " ", text + outline(found.string[at : found.end()]))


def _spans(found: re.Match[str] | None) -> list[tuple[int, ...]]:
    """Where all of a match and its groups stand."""
    return [found.span(number) for number in range(found.re.groups + 1)] if found else []


def _groups(
    found: re.Match[str], declared: dict[str, Field], fields: Fields
) -> tuple[tuple[str, Field], ...] | None:
    groups = []
    for name, text in found.groupdict().items():
        if text is None:
            continue
        field = declared[name]
        plain = field.type in WHOLE and text.isascii() and text.isdigit()
        stamp = field.type == "timestamp" and re.fullmatch(TIME, text)
        if not (plain or stamp) or field.shift or field.add or (field.column or name) not in fields:
            return None
        groups.append((field.column or name, field))
    return tuple(groups) if "iteration" in {name for name, _ in groups} else None


def _slots(
    reader: Segments,
    losses: tuple[int, ...],
    kept: tuple[int, ...],
    pieces: list[str],
    keys: list[str],
) -> tuple[Slot, ...] | None:
    slots = []
    for place, (piece, key) in enumerate(zip(pieces, keys, strict=True)):
        before, assigned, value = piece.partition(reader.assign)
        field = reader.keys.get(key, Field(None))
        if field.type == "instant":  # of one number it is that
            field = replace(field, type="double")
        kind = "loss" if place in losses else "kept" if place in kept else "column"
        if not assigned or not key or re.match(NUMBER, value.strip()) is None or field.add:
            return None
        if kind == "column" and field.type not in ("double", *WHOLE):
            return None
        if redact_name(key) != key or (kind == "kept" and is_secret_name(key)):
            return None
        exponent = kind == "loss" and reader.by_notation(key)
        if exponent and LOSS_NOTATION.match(value.strip()) is None:
            return None
        slots.append(Slot(place + 1, before + assigned, kind, key, field, exponent))
    columns = [slot.field.column for slot in slots if slot.kind == "column"]
    return tuple(slots) if len(set(columns)) == len(columns) else None


def _head(head: str, start: int, found: re.Match[str], names: list[str]) -> str:
    """The first piece as an expression: numbers and blanks vary, all else stands as it is."""
    pattern, at = "^", 0
    spans = sorted(
        (start + found.start(name), start + found.end(name), text)
        for name, text in found.groupdict().items()
        if text is not None
    )
    for begin, end, text in spans:
        inner = r"(\d+)" if text.isdigit() else f"({TIME})"
        pattern += _words(head[at:begin]) + inner
        at = end
    assert len(spans) == len(names)
    return pattern + _words(head[at:]) + "$"


def _words(text: str) -> str:
    return "".join(
        " {1,99}" if part.isspace() else re.escape(part) for part in re.findall(r" +|[^ ]+", text)
    )
