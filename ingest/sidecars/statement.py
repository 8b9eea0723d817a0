"""The statements of a sidecar, line by line; columns only where it gives one value."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...schema.annotatable import parse_value
from ...schema.errors import BenchError
from ...vocabulary.declared import declared
from ...vocabulary.fields import named
from ...vocabulary.secrets import redact, redact_text
from ..cast import is_absent
from ..logs.header import declared_arguments

COLUMN = "column"  # the scope of a value of a typed column
LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Statement:
    """A name and its value, the part of the file that states it, and the line."""

    name: str
    value: str
    scope: str
    line: int


@functools.cache
def names(section: str) -> Mapping[str, str]:
    """A section of sidecars.toml."""
    found: Mapping[str, str] = declared(__package__ or "bench.ingest.sidecars", "sidecars.toml")[
        section
    ]
    return found


@dataclass(slots=True)
class Statements:
    """The statements of a file, in order; a column with two values has none."""

    statements: list[Statement] = field(default_factory=list)
    columns: dict[str, list[Statement]] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)  # that were read

    def add(self, name: str, value: str, scope: str, line: int) -> None:
        """Add a statement; secrets are redacted."""
        plain = redact(name, redact_text(value.strip())[:LONGEST])
        self.statements.append(Statement(name, plain, scope, line))
        self.lines.add(line)

    def column(self, name: str, value: str, line: int) -> None:
        """A column; a value of another type is ignored."""
        try:
            text = parse_value(name, value)
        except BenchError:
            return
        self.columns.setdefault(name, []).append(Statement(name, redact_text(text), COLUMN, line))
        self.lines.add(line)

    def arguments(self, given: Mapping[str, tuple[str, int]], block: str = "") -> None:
        """Arguments of a trainer by name, as text with a line: the columns that they give."""
        seen: set[str] = set()
        for argument in declared_arguments():
            scope, _, own = argument.name.rpartition(".")
            if own not in given or scope not in ("", block) or (scope and scope != block):
                continue
            text, line = given[own]
            other, _ = given.get(argument.when or "", (None, 0))
            if not argument.applies(other) or argument.column in seen or is_absent(text):
                continue
            value = argument.value({"true": "True", "false": "False"}.get(text.lower(), text))
            if value is not None:
                seen.add(argument.column)
                self.column(argument.column, str(value), line)
        for name, column in named("options").items():
            if name in given:
                self.column(column, *given[name])

    def every(self) -> Iterable[Statement]:
        """Every statement; the columns last."""
        yield from self.statements
        for column in self.columns.values():
            if len({one.value for one in column}) == 1:
                yield column[0]

    def doubtful(self) -> list[tuple[str, list[Statement]]]:
        """Columns with several values."""
        return [
            (name, given)
            for name, given in self.columns.items()
            if len({s.value for s in given}) > 1
        ]
