"""The claim file: an in-toto Statement v1; docs/claim.schema.json is generated from this.

The file is untrusted: everything in it has a type and a size limit, and its paths are not opened.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from ..project.configuration import SCHEMA_ID
from ..schema.errors import BenchError
from ..vocabulary.printable import json_text
from ..vocabulary.regular_files import read_regular
from ..vocabulary.validation import plain_reason
from .question import Part, Question

LARGEST = 16 << 20  # bytes of a claim
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Uri = Annotated[str, Field(min_length=1, max_length=4096)]
Line = Annotated[int, Field(ge=1, lt=2**53)]
Text = Annotated[str, Field(max_length=100_000)]
Short = Annotated[str, Field(max_length=2000)]
Number = Annotated[int | float | str | bool | None, Field(union_mode="left_to_right")]


class Digest(Part):
    """The digest of a source."""

    sha256: Sha256


class Size(Part):
    """The size of a source, which distinguishes lost lines from changed ones."""

    lines: Annotated[int, Field(ge=0, lt=2**53)]


class Subject(Part):
    """A source that could have answered, by its digest; the name is where the claimant had it."""

    name: Uri
    digest: Digest
    annotations: Size


class Row(Part):
    """A row of the answer: its line as printed, without secrets."""

    source: Sha256
    line: Line
    text: Text


class Place(Part):
    """The place of a number."""

    source: Sha256 | None = None
    line: Line | None = None
    column: Line | None = None
    text: Text = ""


class Derivation(Part):
    """A number, how it was made, and from what."""

    name: Short
    value: Number
    unit: Short = ""
    expression: Short = ""
    formula: Short = ""
    note: Short = ""
    place: Place | None = None
    inputs: tuple[Derivation, ...] = ()

    def flat(self) -> list[tuple[object, ...]]:
        """The tree as a list of what must be the same for whoever computes it."""
        place = self.place or Place()
        where = (place.source, place.line, place.column, place.text)
        this = (self.name, self.value, self.unit, self.expression, self.formula, self.note, *where)
        return [this, *(one for child in self.inputs for one in child.flat())]


class Result(Part):
    """The answer, rounded to twelve digits: the last bits depend on the order of adding."""

    value: float
    unit: Short
    low: float | None = None
    high: float | None = None
    runs: Annotated[int, Field(ge=1, description="Rows that the answer was chosen from.")]


class Stated(Part):
    """An annotation of a source that the answer may depend on."""

    source: Sha256
    lines: tuple[Line, ...] = ()
    table: Line | None = None
    model: Short | None = None
    field: Short
    value: Short
    reason: Short
    author: Short
    date: datetime.date | None = None
    origin: Literal["facts.toml", "set", "path"]


class Tool(Part):
    """The versions of the program that computed the answer."""

    name: Literal["bench"] = "bench"
    version: Short
    reading: Annotated[int, Field(ge=0, lt=2**53, description="Version of the reading code.")]
    rules: Annotated[int, Field(ge=0, lt=2**53, description="Version of the rules of the audit.")]


class Predicate(Part):
    """The claim itself."""

    question: Question
    result: Result
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    derivation: Derivation
    formulas: dict[Short, Sha256] = Field(description="SQL of each formula and metric used.")
    stated: tuple[Stated, ...] = ()
    tool: Tool


class Statement(Part):
    """A claim about the results that sources hold, as an in-toto Statement v1."""

    type: Literal["https://in-toto.io/Statement/v1"] = Field(
        alias="_type", default="https://in-toto.io/Statement/v1"
    )
    subject: Annotated[tuple[Subject, ...], Field(min_length=1)]
    predicate_type: Literal["urn:bench-warehouse:claim:v1"] = Field(
        alias="predicateType", default="urn:bench-warehouse:claim:v1"
    )
    predicate: Predicate

    @model_validator(mode="after")
    def _closed(self) -> Statement:
        known = {one.digest.sha256 for one in self.subject}
        if len(known) < len(self.subject):
            raise ValueError("duplicate source among the subjects")
        rows, stated = self.predicate.rows, self.predicate.stated
        if {*(row.source for row in rows), *(one.source for one in stated)} - known:
            raise ValueError("it cites a source that is not among the subjects")
        return self

    @property
    def names(self) -> Mapping[str, str]:
        """The claimant's name of each source, by its digest."""
        return {one.digest.sha256: one.name for one in self.subject}


def as_text(statement: Statement) -> str:
    """The claim as it is written and signed."""
    return (
        json_text(statement.model_dump(by_alias=True, mode="json", exclude_none=True), indent=1)
        + "\n"
    )


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """A file that is not larger than that; raises BenchError."""
    try:
        return read_regular(path, most)
    except OSError as error:
        raise BenchError(f"cannot read {path}", why=error.strerror or str(error)) from error


def parse(data: bytes) -> Statement:
    """Parse the bytes of a claim file; raises BenchError with the location and reason of the first
    error."""
    try:
        return Statement.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        why = plain_reason(first["msg"])
        raise BenchError("not a claim of bench", why=f"{place}: {why}" if place else why) from error


def json_schema() -> str:
    """The JSON schema that is published as docs/claim.schema.json."""
    schema = Statement.model_json_schema() | {"$schema": SCHEMA_ID, "title": "bench claim"}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
