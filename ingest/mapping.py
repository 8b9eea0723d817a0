"""Records that are one JSON object or one Python dict: MLPerf's lines, HF Trainer's."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .record import Field, Fields, Record, misfit

LONGEST = 1 << 16
# What `print` of a dict makes of floats that are no numbers.
NOT_A_NUMBER = re.compile(r"(?<=: )(?:nan|inf|-inf)\b")
SIMPLE = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Mapped:
    """Behind an anchor, an object; keys of inner objects are joined with a dot."""

    anchor: re.Pattern[str]
    keys: dict[str, Field]
    requires: tuple[frozenset[str], ...]
    form: str  # json or python

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The first record on this line."""
        found = self.anchor.search(text)
        if found is None:
            return None
        start = text.find("{", found.start())
        if start < 0:
            return None
        taken = self._object(text[start : start + LONGEST])
        if taken is None:
            return None
        members, length = taken
        flat = dict(_flat(members))
        if not all(group & flat.keys() for group in self.requires):
            return None
        fields, misfits = self._fields(flat)
        end = start + length
        raw = text[found.start() : end]
        return Record(dialect, reads, fields, raw, text[: found.start()], text[end:], misfits)

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
        more: dict[str, str] = {}
        misfits: tuple[str, ...] = ()
        for key, value in flat.items():
            spec, text = self.keys.get(key), _text(value)
            typed = spec.cast(text) if spec is not None and spec.column else None
            if typed is not None and spec is not None and spec.column:
                fields.setdefault(spec.column, typed)
                continue
            if spec is not None and spec.column and misfit(text):
                misfits += (key,)
            more[key] = text
        if more:
            fields["more"] = more
        return fields, misfits

    def cut_off(self, text: str) -> bool:
        """Whether text behind a record is the start of a value that was cut off."""
        return False


def _quoted(found: re.Match[str]) -> str:
    return f"'{found.group()}'"


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
