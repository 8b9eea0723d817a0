"""facts.toml: what users state beside the sources; docs/facts.schema.json is made from this.

Imported only where there is such a file: pydantic takes as long to import as DuckDB.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..schema.errors import BenchError
from ..schema.tellable import parse_told, tellable, unknown_field
from ..schema.user_facts import BOUNDARY, FINDING, Match, UserFact
from .configuration import SCHEMA_ID
from .messages import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NAME = "facts.toml"
Text = Annotated[str, Field(min_length=1, strict=True)]
Whole = Annotated[int, Field(ge=1, strict=True)]
VALUES = ("exception", "corrected")
FIELDS = (FINDING, BOUNDARY, *tellable())


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WrongKey(ValueError):
    """A value that does not go with the others of its fact, and its key."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key


class MatchOf(_Section):
    """What a fact is about; all that is given has to hold."""

    file: Text | None = Field(
        default=None, description="A source: its path, name, the beginning of it, or a pattern."
    )
    line: Whole | list[Whole] | None = Field(default=None, description="Its line or lines.")
    table: Whole | None = Field(default=None, description="Its N-th benchmark table, from 1.")
    model: Text | None = Field(default=None, description="A size label, such as 1.3B.")
    label: Text | None = Field(default=None, description="The same as model.")
    sha256: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{8,64}$",
        description="A source's SHA-256, or its beginning: it goes with the bytes.",
    )
    run: Text | None = Field(default=None, description="A run's id, or the beginning of it.")
    rule: str | None = Field(
        default=None, pattern=r"^R\d+[a-z]?$", description="Of findings: their rule, such as R6."
    )


class Entry(_Section):
    """One fact."""

    match: MatchOf = Field(description="What it is about.")
    field: Text = Field(
        json_schema_extra={"enum": list(FIELDS)},
        description="finding closes findings of the audit; boundary tells a change after which "
        "numbers do not compare; the others state a column where the source is silent.",
    )
    value: bool | Text | Whole | float = Field(
        description="Of a finding: exception (known, and as it should be) or corrected (the "
        "suggestion is accepted); of a boundary: what changed; else the value."
    )
    reason: Text = Field(description="Why.")
    author: Text = Field(description="Who says so.")
    date: datetime.date = Field(
        description="When it was stated; of a boundary without a line, when it changed."
    )

    @model_validator(mode="after")
    def _fits(self) -> Entry:
        if self.field == FINDING and self.value not in VALUES:
            raise WrongKey("value", f"value of a finding is one of {', '.join(VALUES)}")
        if self.field == FINDING and self.match == MatchOf():
            raise WrongKey("match", "match of a finding names a file, a line or a rule")
        if self.match.rule and self.field != FINDING:
            raise WrongKey("rule", "only findings have a rule")
        if self.match.label and self.match.model:
            raise WrongKey("label", "model and label are the same: one is enough")
        return self


class Facts(_Section):
    """What users state beside the sources; nothing here changes what a source prints."""

    fact: list[Entry] = Field(default=[], description="The facts, each as [[fact]].")


def read_facts(file: Path) -> list[UserFact]:
    """The facts of one file; raises BenchError, with its line, for the first that is wrong."""
    import tomllib

    try:
        text = file.read_text("utf-8-sig")
        values: Mapping[str, Any] = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"{file.name} cannot be read", why=str(error), where=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise BenchError(
            f"{file.name} is not valid TOML", why=str(error), where=str(file), hint=_EXAMPLE
        ) from error
    starts = [
        n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[fact\]\]", line)
    ]
    try:
        found = Facts.model_validate(values)
    except ValidationError as error:
        raise _refused(file, text.splitlines(), starts, error.errors()[0]) from error
    where = starts if len(starts) == len(found.fact) else [1] * len(found.fact)
    return [
        _fact(
            entry, file, line, partial(_line_of, lines=text.splitlines(), starts=starts, number=n)
        )
        for n, (entry, line) in enumerate(zip(found.fact, where, strict=True))
    ]


def _fact(
    entry: Entry, file: Path, line: int, line_of: Callable[[list[str]], int | None]
) -> UserFact:
    match, named = entry.match, entry.match.line
    lines = (named,) if isinstance(named, int) else tuple(named or ())
    label = match.model or match.label
    made = Match(match.file, lines, match.table, label, match.run, match.rule, match.sha256)
    value = str(entry.value)
    if entry.field not in FIELDS:
        near = did_you_mean(entry.field, FIELDS)
        hint = near if near.startswith("did") else unknown_field(entry.field).hint
        what = f"unknown field {entry.field!r} in {file.name}"
        raise BenchError(what, where=f"{file}:{line_of(['field'])}", hint=hint)
    if entry.field in tellable():
        value = parse_told(entry.field, value, f"{file}:{line_of(['value'])}")
    return UserFact(made, entry.field, value, entry.reason, entry.author, entry.date,
                    file.name, line)  # fmt: skip


_EXAMPLE = (
    'a fact is [[fact]], then match = { file = "README.md", line = 44 }, field, value, reason, '
    "author, date = 2026-01-31"
)


def _refused(file: Path, lines: list[str], starts: list[int], error: ErrorDetails) -> BenchError:
    place = error["loc"]
    number = next((part for part in place if isinstance(part, int)), None)
    wrong = error.get("ctx", {}).get("error")
    names = [part for part in place if isinstance(part, str) and part != "fact"]
    names += [wrong.key] if isinstance(wrong, WrongKey) else []
    line = _line_of(names, lines, starts, number)
    key = ".".join(str(part) for part in place if isinstance(part, str))
    where = f"{file}:{line}" if line else str(file)
    if error["type"] == "extra_forbidden":
        section = MatchOf if "match" in place else Entry if len(place) > 1 else Facts
        hint = did_you_mean(str(place[-1]), list(section.model_fields))
        return BenchError(f"unknown key {key!r} in {file.name}", where=where, hint=hint)
    if error["type"] == "missing":
        return BenchError(f"a fact in {file.name} has no {key.split('.')[-1]!r}", where=where,
                          hint=_EXAMPLE)  # fmt: skip
    why = error["msg"].removeprefix("Value error, ")
    return BenchError(f"a fact in {file.name} is wrong", why=why, where=where, hint=_EXAMPLE)


def _line_of(
    names: list[str], lines: list[str], starts: list[int], number: int | None
) -> int | None:
    """The line of the innermost key that stands in the fact; of a missing one that of the fact."""
    first, last = 1, len(lines)
    if number is not None and number < len(starts):
        first = starts[number]
        last = next((start - 1 for start in starts if start > first), last)
    for name in reversed(names):
        key = re.compile(rf"(?:^|[\s{{,.])[\"']?{re.escape(name)}[\"']?\s*=")
        found = [n for n in range(first, last + 1) if key.search(_code(lines[n - 1]))]
        if found:
            return found[0]
    return first if number is not None and starts else None


def _code(line: str) -> str:
    """A line without what stands in quotes and without its comment."""
    return re.sub(r"#.*", "", re.sub(r"(?<==)\s*(\"[^\"]*\"|'[^']*')", " _", line))


def json_schema() -> str:
    """The JSON schema that is published as docs/facts.schema.json."""
    import json

    schema = Facts.model_json_schema() | {"$schema": SCHEMA_ID, "title": NAME}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
