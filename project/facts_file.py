"""facts.toml: user annotations of sources; docs/facts.schema.json is generated from this.

Imported only if there is such a file: pydantic takes as long to import as DuckDB.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..schema.annotatable import annotatable_fields, parse_value, unknown_field
from ..schema.annotation import BOUNDARY, FINDING, Annotation, Match
from ..schema.errors import BenchError, did_you_mean
from ..vocabulary.regular_files import read_text
from ..vocabulary.validation import plain_reason
from .configuration import SCHEMA_ID

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NAME = "facts.toml"
Text = Annotated[str, Field(min_length=1, strict=True)]
Whole = Annotated[int, Field(ge=1, strict=True)]
VALUES = ("exception", "corrected")
FIELDS = (FINDING, BOUNDARY, *annotatable_fields())


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WrongKey(ValueError):
    """An error in a fact that involves several keys, with the key to report."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key


class MatchOf(_Section):
    """The runs that a fact applies to; all given conditions must hold."""

    file: Text | None = Field(default=None, description="A source: path, name, prefix or pattern.")
    line: Whole | list[Whole] | None = Field(default=None, description="Line or lines.")
    table: Whole | None = Field(default=None, description="N-th benchmark table, from 1.")
    model: Text | None = Field(default=None, description="Size label, e.g. 1.3B.")
    label: Text | None = Field(default=None, description="Same as model.")
    sha256: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{8,64}$",
        description="SHA-256 of a source, or its prefix: follows the content.",
    )
    run: Text | None = Field(default=None, description="Run id or its prefix.")
    rule: str | None = Field(
        default=None, pattern=r"^R\d+[a-z]?$", description="Audit rule, e.g. R6 (findings only)."
    )


class Entry(_Section):
    """One fact."""

    match: MatchOf = Field(description="What the fact applies to.")
    field: Text = Field(
        json_schema_extra={"enum": list(FIELDS)},
        description="finding closes audit findings; boundary marks a change after which numbers "
        "are not comparable; any other field states a column missing from the source.",
    )
    value: bool | Text | Whole | float = Field(
        description="For a finding: exception (known and correct) or corrected (suggestion "
        "accepted); for a boundary: what changed; otherwise the value."
    )
    reason: Text = Field(description="Why.")
    author: Text = Field(description="Who states it.")
    date: datetime.date = Field(
        description="When it was stated; for a boundary without a line, when it changed."
    )
    known_since: datetime.date | None = Field(
        default=None, description="From when it has been known, if not from `date` on."
    )
    withdrawn: datetime.date | None = Field(
        default=None, description="When it was taken back: it stays listed and no longer counts."
    )
    withdrawn_because: Text | None = Field(default=None, description="Why it was taken back.")

    @model_validator(mode="after")
    def _fits(self) -> Entry:
        if self.field == FINDING and self.value not in VALUES:
            raise WrongKey("value", f"value of a finding must be one of {', '.join(VALUES)}")
        if self.field == FINDING and self.match == MatchOf():
            raise WrongKey("match", "match of a finding needs a file, line or rule")
        if (self.withdrawn is None) != (self.withdrawn_because is None):
            key = "withdrawn_because" if self.withdrawn is None else "withdrawn"
            raise WrongKey(key, "withdrawn and withdrawn_because go together: when, and why")
        if self.match.rule and self.field != FINDING:
            raise WrongKey("rule", "only findings can match a rule")
        if self.match.label and self.match.model:
            raise WrongKey("label", "model and label are synonyms: set only one")
        return self


class Facts(_Section):
    """User annotations of sources; nothing here changes a printed value."""

    fact: list[Entry] = Field(default=[], description="Facts, one [[fact]] table each.")


def read_facts(file: Path) -> list[Annotation]:
    """Read the facts of one file; raises BenchError, with the line, for the first invalid one."""
    from ..vocabulary.toml import TOMLDecodeError, loads

    try:
        text = read_text(file)
        values: Mapping[str, Any] = loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"cannot read {file.name}", why=str(error), where=str(file)) from error
    except TOMLDecodeError as error:
        raise BenchError(
            f"{file.name} is not valid TOML", why=str(error), where=str(file), hint=_EXAMPLE
        ) from error
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines, 1) if re.match(r"\s*\[\[fact\]\]", line)]
    try:
        found = Facts.model_validate(values)
    except ValidationError as error:
        raise _refused(file, lines, starts, error.errors()[0]) from error
    where = starts if len(starts) == len(found.fact) else [1] * len(found.fact)
    return [
        _fact(entry, file, line, partial(_line_of, lines=lines, starts=starts, number=n))
        for n, (entry, line) in enumerate(zip(found.fact, where, strict=True))
    ]


def _fact(
    entry: Entry, file: Path, line: int, line_of: Callable[[list[str]], int | None]
) -> Annotation:
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
    if entry.field in annotatable_fields():
        value = parse_value(entry.field, value, f"{file}:{line_of(['value'])}")
    return Annotation(
        made, entry.field, value, _reason(entry), entry.author, entry.date, file.name, line,
        known_since=entry.known_since, withdrawn=entry.withdrawn,
    )  # fmt: skip


def _reason(entry: Entry) -> str:
    """The reason of a fact, with its details other than author and date."""
    parts = [entry.reason]
    parts += [f"known since {entry.known_since}"] if entry.known_since else []
    if entry.withdrawn:
        parts.append(f"withdrawn on {entry.withdrawn}: {entry.withdrawn_because}")
    return "; ".join(parts)


_EXAMPLE = (
    'a fact is a [[fact]] table with match = { file = "README.md", line = 44 }, field, value, '
    "reason, author, date = 2026-01-31"
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
        return BenchError(f"a fact in {file.name} lacks {key.split('.')[-1]!r}", where=where,
                          hint=_EXAMPLE)  # fmt: skip
    why = plain_reason(error["msg"])
    known = {*Entry.model_fields, *MatchOf.model_fields}  # a place has names of types, too
    if error["type"] != "value_error" and (key := next((n for n in names[::-1] if n in known), "")):
        why = f"{key}: {why}"
    return BenchError(f"invalid fact in {file.name}", why=why, where=where, hint=_EXAMPLE)


def _line_of(
    names: list[str], lines: list[str], starts: list[int], number: int | None
) -> int | None:
    """The line of the innermost key found in the fact; that of the fact for a missing key."""
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
    """A line without quoted texts and comment."""
    return re.sub(r"#.*", "", re.sub(r"(?<==)\s*(\"[^\"]*\"|'[^']*')", " _", line))


def json_schema() -> str:
    """The JSON schema that is published as docs/facts.schema.json."""
    import json

    schema = Facts.model_json_schema() | {"$schema": SCHEMA_ID, "title": NAME}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
