"""Readers of a record on a line: one pattern, pairs of names and numbers, or one object.

The reader of segments between bars is in segments.py.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..cast import double
from .record import Field, Fields, Record, is_inexact, is_invalid

MOST_PAIRS = 200
LONGEST = 1 << 16  # letters of an object
# What `print` of a dict makes of floats that are no numbers.
NOT_A_NUMBER = re.compile(r"(?<=: )(?:nan|inf|-inf)\b")
SIMPLE = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class PatternReader:
    """The reader of one pattern declaration."""

    pattern: re.Pattern[str]
    groups: dict[str, Field]

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The first record on this line."""
        match = self.pattern.search(text)
        if match is None:
            return None
        fields, invalid = group_fields(match, self.groups)
        before, after = text[: match.start()], text[match.end() :]
        return Record(dialect, reads, fields, match.group(), before, after, invalid)

    def cut_off(self, text: str) -> bool:
        """Whether text after a record is the start of a segment that was cut off."""
        return False


@dataclass(frozen=True, slots=True)
class PairsReader:
    """After an anchor, consecutive pairs."""

    anchor: re.Pattern[str]
    groups: dict[str, Field]
    pair: re.Pattern[str]  # groups `key` and `value`

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The first record on this line."""
        match = self.anchor.search(text)
        if match is None:
            return None
        fields, invalid = group_fields(match, self.groups)
        values: dict[str, float] = {}
        end = match.end()
        while len(values) < MOST_PAIRS and (pair := self.pair.match(text, end)):
            if pair.end() == end:
                break
            value = double(pair["value"])
            if value is not None:
                values.setdefault(pair["key"].strip(), value)
            end = pair.end()
        fields["values"] = values
        raw = text[match.start() : end]
        return Record(dialect, reads, fields, raw, text[: match.start()], text[end:], invalid)

    def cut_off(self, text: str) -> bool:
        """Whether text after a record is the start of a pair that was cut off."""
        return False


@dataclass(frozen=True, slots=True)
class ObjectReader:
    """After an anchor, an object; keys of inner objects are joined with a dot."""

    anchor: re.Pattern[str]
    groups: dict[str, Field]
    keys: dict[str, Field]
    requires: tuple[frozenset[str], ...]
    form: str  # json or python

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The first record on this line."""
        match = self.anchor.search(text)
        if match is None:
            return None
        start = text.find("{", match.start())
        if start < 0:
            return None
        taken = self._object(text[start : start + LONGEST])
        if taken is None:
            return None
        members, length = taken
        flat = dict(_flat(members))
        if not all(group & flat.keys() for group in self.requires):
            return None
        own, damaged = group_fields(match, self.groups)
        fields, invalid = self._fields(flat)
        fields, invalid = own | fields, damaged + invalid
        end = start + length
        raw = text[match.start() : end]
        return Record(dialect, reads, fields, raw, text[: match.start()], text[end:], invalid)

    def _object(self, text: str) -> tuple[Mapping[str, object], int] | None:
        try:
            if self.form == "json":
                members, length = json.JSONDecoder().raw_decode(text)
            else:
                body = SIMPLE.match(text)
                if body is None:
                    return None
                members = ast.literal_eval(NOT_A_NUMBER.sub(_quoted, body.group()))
                length = body.end()
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        return (members, length) if isinstance(members, dict) else None

    def _fields(self, flat: dict[str, object]) -> tuple[Fields, tuple[str, ...]]:
        fields: Fields = {}
        readings: dict[str, object] = {}
        more: dict[str, str] = {}
        invalid: tuple[str, ...] = ()
        for key, value in flat.items():
            spec, text = self.keys.get(key), _text(value)
            if spec is not None and spec.memory and (size := spec.cast(text)) is not None:
                readings[spec.memory] = [size, spec.unit]
                continue
            typed = spec.cast(text) if spec is not None and spec.column else None
            if typed is not None and spec is not None and spec.column:
                fields.setdefault(spec.column, typed)
                continue
            if spec is not None and spec.column and is_invalid(text, spec):
                invalid += (key,)
            more[key] = text
        if readings:
            fields["memory"] = readings
        if more:
            fields["more"] = more
        return fields, invalid

    def cut_off(self, text: str) -> bool:
        """Whether text after a record is the start of a value that was cut off."""
        return False


def group_fields(match: re.Match[str], groups: dict[str, Field]) -> tuple[Fields, tuple[str, ...]]:
    """The named groups of a match as typed fields, and the names of those that do not fit."""
    fields: Fields = {}
    readings: dict[str, object] = {}
    more: dict[str, str] = {}
    invalid: tuple[str, ...] = ()
    for name, text in match.groupdict().items():
        if text is None:
            continue
        spec = groups[name]
        if spec.column and spec.column.startswith("more."):
            more[spec.column.removeprefix("more.")] = text.strip()
            continue
        value = spec.cast(text.strip())
        if value is None:
            invalid += (name,) if is_invalid(text.strip(), spec) else ()
            inexact = is_inexact(text.strip(), spec)
            if inexact or text.strip().lower().lstrip("+-") in ("nan", "inf"):
                more[name] = text.strip()
        elif spec.memory:
            readings[spec.memory] = [value, spec.unit]
        else:
            fields[spec.column or name] = value
    if readings:
        fields["memory"] = readings
    if more:
        fields["more"] = more
    return fields, invalid


def _quoted(match: re.Match[str]) -> str:
    return f"'{match.group()}'"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _flat(members: Mapping[str, object], front: str = "") -> Iterator[tuple[str, object]]:
    for key, value in members.items():
        if isinstance(value, dict) and front.count(".") < 3:
            yield from _flat(value, f"{front}{key}.")
        else:
            yield f"{front}{key}", value
