"""Fields of a run that users may annotate: columns of the schema with type, unit and meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache

from ..vocabulary.fields import Field, named, stated_by
from .errors import BenchError, did_you_mean

_SUFFIXES = {"": 0, "M": 6, "B": 9, "T": 12}
_LONGEST = 200


@cache
def annotatable_fields() -> Mapping[str, Field]:
    """Every field that users may annotate, in the order of listings."""
    return {field.name: field for field in stated_by("user")}


def parse_value(field: str, text: str, where: str = "") -> str:
    """The stored text of a value: checked and typed.

    Raises BenchError for a field that cannot be annotated, and for an invalid value.
    """
    column = annotatable_fields().get(field)
    if column is None:
        raise unknown_field(field, where)
    value = text.strip()
    made = _WRITERS.get(column.type, _word)(column, value) if 0 < len(value) <= _LONGEST else None
    if made is None:
        meaning = f": {column.meaning}" if column.meaning != field else ""
        why = f"{field} is {_KINDS.get(column.type, 'a text')}{meaning}"
        hint = f"{field}={_example(column)}"
        raise BenchError(f"{field} cannot be {text!r}", why=why, where=where, hint=hint)
    return made


def unknown_field(field: str, where: str = "") -> BenchError:
    """The error for an unknown name, with the field that may be meant."""
    plain = field.strip().casefold().replace("-", "_")
    meant = named("also").get(plain)
    known = list(annotatable_fields())
    hint = f"did you mean {meant!r}?" if meant else did_you_mean(plain, known)
    return BenchError(f"unknown field {field!r}", where=where, hint=hint)


def _example(column: Field) -> str:
    if column.words:
        return "|".join(column.words)
    return {"BOOLEAN": "yes", "DOUBLE": "1.3", "VARCHAR": "TEXT"}.get(column.type, "64")


def _whole(column: Field, text: str) -> str | None:
    """A positive whole number, 1_024 and 1,024 alike; a stage of ZeRO is 0 to 3."""
    bare = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text)
    match = re.fullmatch(r"(\d{1,18}(?:\.\d{1,12})?)([MBT]?)", bare)
    value = Decimal(match[1]).scaleb(_SUFFIXES[match[2]]) if match else Decimal(-1)
    if value != int(value) or (match and match[2] and column.name != "params_stated"):
        return None
    least, most = column.range or (1, 2**63 - 1 if column.type == "BIGINT" else 2**31 - 1)
    return str(int(value)) if least <= value <= most else None


def _number(column: Field, text: str) -> str | None:
    """A positive number; parameters are in 1e9, with or without the letter for their size."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?)\s*([MBT]?)", text)
    if not match:
        return None
    value = Decimal(match[1]).scaleb(_SUFFIXES[match[2] or "B"] - 9)
    return f"{value.normalize():f}" if value > 0 else None


def _truth(column: Field, text: str) -> str | None:
    words = {"yes": "true", "true": "true", "on": "true", "1": "true",
             "no": "false", "false": "false", "off": "false", "0": "false"}  # fmt: skip
    return words.get(text.casefold())


def _word(column: Field, text: str) -> str | None:
    """A text; for a field with a vocabulary one of its words, also by synonyms."""
    if column.words is None:
        return text if text.isprintable() else None
    low = text.casefold().removeprefix("torch.")
    return next((name for name, also in column.words.items() if low in (name, *also)), None)


_KINDS = {
    "INTEGER": "a whole number",
    "BIGINT": "a whole number",
    "DOUBLE": "a number",
    "BOOLEAN": "yes or no",
}
_WRITERS: dict[str, Callable[[Field, str], str | None]] = {
    "INTEGER": _whole,
    "BIGINT": _whole,
    "DOUBLE": _number,
    "BOOLEAN": _truth,
}
