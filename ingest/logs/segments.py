"""Records of `key: value |` segments after an anchor.

One declaration serves two ways of reading: line by line (here), and whole files in bulk: split on
`|`, look the keys up once with `layout`, cast the slices by their `Field`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ..cast import NUMBER, double
from .readers import group_fields
from .record import Field, Fields, Record, is_invalid

Cast = Callable[[str], object]
LAYOUTS_KEPT = 256
MOST_KEYS = 200
LOSS_NOTATION = re.compile(r"[-+]?\d\.\d+[eE][-+]?\d+\Z")


@dataclass(frozen=True, slots=True)
class Losses:
    """Undeclared keys after the last of `after` are losses: in E-notation, or ending in `_loss`.

    `main` is the main loss.
    """

    after: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    named: str | None = None  # every undeclared key with this word in it is a loss, in any notation


@dataclass(frozen=True, slots=True)
class Layout:
    """The kind of each segment of lines with the same keys: a column, a loss, or as printed."""

    keys: tuple[str, ...]
    columns: tuple[tuple[int, str, Cast], ...]
    losses: tuple[int, ...]
    kept: tuple[int, ...]
    memory: tuple[tuple[int, Field], ...] = ()


@dataclass(frozen=True, slots=True)
class Segments:
    """The reader of one segment declaration."""

    anchor: re.Pattern[str]
    groups: dict[str, Field]
    keys: dict[str, Field]
    requires: tuple[frozenset[str], ...]
    losses: Losses | None = None
    assign: str = ":"
    separator: str = "|"
    unterminated: bool = False  # the last segment is not closed
    unmarked: bool = False  # the number may follow its key without a mark
    nested_key: dict[str, str] = field(default_factory=dict)  # within the value of a key
    ends: str | None = None  # what closes the record
    _layouts: dict[tuple[str, ...], Layout | None] = field(default_factory=dict)

    def layout(self, keys: tuple[str, ...]) -> Layout | None:
        """How to read lines with these keys in this order; None: they are not of this dialect."""
        if keys not in self._layouts:
            if len(self._layouts) >= LAYOUTS_KEPT:
                self._layouts.clear()
            self._layouts[keys] = self._new_layout(keys)
        return self._layouts[keys]

    def _new_layout(self, keys: tuple[str, ...]) -> Layout | None:
        if not all(group & set(keys) for group in self.requires):
            return None
        columns, losses, kept, memory = [], [], [], []
        start = self._losses_start(keys)
        for index, key in enumerate(keys):
            declared = self.keys.get(key)
            if key in keys[:index]:
                continue
            if declared is not None and declared.memory is not None:
                memory.append((index, declared))
            elif declared is not None and declared.column is not None:
                columns.append((index, declared.column, declared.cast))
            elif self._is_loss(key, declared is None, index > start):
                losses.append(index)
            else:
                kept.append(index)
        return Layout(keys, tuple(columns), tuple(losses), tuple(kept), tuple(memory))

    def _losses_start(self, keys: tuple[str, ...]) -> int:
        after = self.losses.after if self.losses else ()
        return max((keys.index(key) for key in after if key in keys), default=-1)

    def _is_loss(self, key: str, undeclared: bool, behind: bool) -> bool:
        if self.losses is None:
            return False
        if key in self.losses.main:
            return True
        named = self.losses.named
        return undeclared and (behind if named is None else named in key)

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The first record on this line; segments count only when closed by `|`."""
        # Most lines of an anchor are other dialects': those lack a word that this one needs.
        if not all(any(key in text for key in group) for group in self.requires):
            return None
        match = self.anchor.search(text)
        if match is None:
            return None
        keys: list[str] = []
        values: list[str] = []
        body, closing, rest = text[match.end() :], "", ""
        if self.ends:
            body, closing, rest = body.partition(self.ends)
        elif self.unmarked and (glued := self.anchor.search(body)):
            # Without a mark between key and number, what begins the next record reads as one.
            body, rest = body[: glued.start()], body[glued.start() :]
        pieces = body.split(self.separator, MOST_KEYS)
        used = 0
        for piece in pieces if self.unterminated else pieces[:-1]:
            if not self._take(piece, keys, values):
                break
            used += 1
        layout = self.layout(tuple(keys))
        if layout is None:
            return None
        after = self.separator.join(pieces[used:])
        after = after + closing + rest if after else rest
        raw = text[match.start() : len(text) - len(after)]
        fields, invalid = self._fields(match, layout, values)
        return Record(dialect, reads, fields, raw, text[: match.start()], after, invalid)

    def _take(self, piece: str, keys: list[str], values: list[str]) -> bool:
        key, assigned, value = piece.partition(self.assign)
        if not assigned:
            if not self.unmarked:
                return False
            key, _, value = piece.strip().rpartition(" ")
            key = key.rstrip(": ")
            if not key or NUMBER.match(value) is None:
                return False
        key, value = key.strip(), value.strip()
        if key in self.nested_key:
            value, _, second = value.partition(self.nested_key[key] + self.assign)
            keys.append(self.nested_key[key])
            values.append(second.strip())
        keys.append(key)
        values.append(value.strip())
        return True

    def _fields(
        self, match: re.Match[str], layout: Layout, values: list[str]
    ) -> tuple[Fields, tuple[str, ...]]:
        fields, invalid = group_fields(match, self.groups)
        more: dict[str, str] = {}
        for index, column, cast in layout.columns:
            value = cast(values[index])
            if value is not None:
                fields[column] = value
            else:
                more[layout.keys[index]] = values[index]
        readings: dict[str, object] = {}
        for index, spec in layout.memory:
            value = spec.cast(values[index])
            if value is not None:
                readings[str(spec.memory)] = [value, spec.unit]
            else:
                more[layout.keys[index]] = values[index]
        invalid += tuple(key for key, text in more.items() if is_invalid(text))
        losses = self._losses(layout, values, more)
        for index in layout.kept:
            more[layout.keys[index]] = values[index]
        if losses:
            fields["losses"] = losses
            fields.update(self._main(losses))
        if readings:
            fields["memory"] = readings
        if more:
            of_groups = fields.get("more", {})
            fields["more"] = (of_groups if isinstance(of_groups, dict) else {}) | more
        return fields, invalid

    def _losses(self, layout: Layout, values: list[str], more: dict[str, str]) -> dict[str, float]:
        losses: dict[str, float] = {}
        for index in layout.losses:
            key, text = layout.keys[index], values[index]
            value = None
            if not self.by_notation(key) or LOSS_NOTATION.match(text):
                value = double(text)
            if value is not None:
                losses[key] = value
            else:
                more[key] = text
        return losses

    def by_notation(self, key: str) -> bool:
        """Whether only the notation shows that the value of a key is a loss."""
        # Those of experts have two decimals, from core 0.18.
        declared = self.losses is not None and (key in self.losses.main or self.losses.named)
        return not declared and not key.endswith("_loss")

    def _main(self, losses: dict[str, float]) -> Fields:
        main = self.losses.main if self.losses else ()
        return next(({"loss": losses[key]} for key in main if key in losses), {})

    def cut_off(self, text: str) -> bool:
        """Whether text after a record is the start of a segment that was cut off."""
        key = text.partition(self.assign)[0].strip()
        known = [*self.keys, *(self.losses.main if self.losses else ())]
        return bool(key) and any(name.startswith(key) for name in known)
