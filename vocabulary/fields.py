"""Every field of a run as declared in `fields.toml`: type, role, other names, formats."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .package_toml import declared

LEVELS = ("brief", "listings", "answers")  # from the narrowest listing to the widest
NUMBERS = frozenset({"INTEGER", "BIGINT", "DOUBLE"})


@dataclass(frozen=True, slots=True)
class Field:
    """One field; `fields.toml` documents its attributes."""

    name: str
    type: str
    role: str
    meaning: str
    table: str | None = None
    required: bool = False
    stated_by: Collection[str] = ()
    axis: bool = False
    configuration: bool = False
    compared_as: str | None = None
    shown: str | None = None
    among_settings: bool = False
    neutral: object = None
    also: Sequence[str] = ()
    words: Mapping[str, Sequence[str]] | None = None
    range: tuple[int, int] | None = None
    title: str | None = None
    cell: str | None = None
    headings: Sequence[str] = ()
    worded: bool = False
    arguments: Sequence[str | Mapping[str, Any]] = ()
    options: Sequence[str] = ()
    settings: Sequence[str] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is a count, as INTEGER."""
        return self.type == "INTEGER"

    @property
    def is_number(self) -> bool:
        """Whether its type is numeric; booleans are not."""
        return self.type in NUMBERS


@cache
def fields() -> Mapping[str, Field]:
    """Every field by name, in the order of listings."""
    found = declared(__package__ or "bench.vocabulary", "fields.toml")
    return {name: Field(name, **entry) for name, entry in found.items()}


@cache
def stored(table: str) -> tuple[Field, ...]:
    """The columns of raw.runs or raw.topology, without the ids that join them."""
    return tuple(field for field in fields().values() if field.table == table)


@cache
def stated_by(source: str) -> tuple[Field, ...]:
    """The fields that a source may state: log, row, text or user."""
    return tuple(field for field in fields().values() if source in field.stated_by)


@cache
def named(where: str) -> Mapping[str, str]:
    """The fields by their other names: `also`, `options` or `settings`."""
    return {name: field.name for field in fields().values() for name in getattr(field, where)}


@cache
def axes() -> tuple[str, ...]:
    """The sizes whose product is the processes of a job: DP x TP x PP x CP."""
    return tuple(field.name for field in fields().values() if field.axis)


@cache
def configuration() -> tuple[Field, ...]:
    """The fields that make a configuration, as sources state them."""
    return tuple(field for field in fields().values() if field.configuration)


@cache
def compared() -> tuple[str, ...]:
    """The columns that make a configuration where runs are compared: derived, not as stated.

    The processes of a job represent its ranks, its system the device, and the global batch the
    gradient accumulation, which sources may leave to arithmetic.
    """
    return tuple(dict.fromkeys(field.compared_as or field.name for field in configuration()))


@cache
def shown(level: str) -> tuple[str, ...]:
    """The columns in listings of a level: brief, listings or answers."""
    wide = LEVELS[: LEVELS.index(level) + 1]
    return tuple(field.name for field in fields().values() if field.shown in wide)


_PYTHON = {"INTEGER": "int", "BIGINT": "int", "DOUBLE": "float", "BOOLEAN": "bool"}


def stated_class() -> str:
    """The source of `run_fields.py`: the fields that describe a run, for the type checker."""
    lines = [
        '"""What a source states of a run: `python -m bench.vocabulary.fields` makes this file."""',
        "",
        "from dataclasses import dataclass",
        "",
        "",
        "@dataclass(slots=True)",
        "class Stated:",
        '    """Fields of a run by name; None: not stated. Units as `fields.toml` has them."""',
        "",
        *(
            f"    {field.name}: {_PYTHON.get(field.type, 'str')} | None"
            for field in fields().values()
            if field.table and field.role not in ("identity", "outcome")
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "run_fields.py").write_text(stated_class(), "utf-8")
